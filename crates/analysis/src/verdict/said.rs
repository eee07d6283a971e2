//! The verdict in a sentence or two. All of its numbers are sums of the ledger, or a finding's cost.

mod nobody;

use super::{Blame, Ground, is_beside_calls};
use crate::facts::{Basis, Facts};
use crate::findings::{Of, Rule, broken_off_ns, meanwhile, tier, waited_in_vain_ns};
use crate::results::{Concentrated, Finding, Side, What};
use crate::stats::FewLong;
use crate::text::{Text, Value, text};
use ledger::{Line, Place};
use nobody::{cut, few_turns, locked, no_calls, not_slow, overlap, silent, unexplained, untold};
use std::net::IpAddr;

pub(super) fn sentence(facts: &Facts<'_>, findings: &[Finding], ground: &Ground<'_>) -> Text {
    let judged = text!(
        "{judged}{few_long}{broken_off}",
        judged = judged(facts, findings, ground),
        few_long = few_long(facts, ground),
        broken_off = broken_off(facts, findings, ground),
    );
    let mut vain = findings.iter().filter_map(waited_in_vain_ns);
    match vain.find(|waited| *waited > facts.account.total_ns) {
        Some(waited) if facts.account.calls > 0 => text!(
            "{judged} Before it was served a client waited {waited} in vain, more than for all calls ({code}).",
            judged = judged,
            waited = Value::Duration(waited),
            code = Rule::SlowConnect.code(),
        ),
        _ => judged,
    }
}

/// Where what each call takes is said, and that is no call's, as a few take most of the time.
fn few_long(facts: &Facts<'_>, ground: &Ground<'_>) -> Text {
    let is_of_calls = match ground {
        Ground::Outweighs(_, Some(cause)) => {
            !is_beside_calls(cause) && cause.rule.of() != Of::Application
        }
        Ground::Outweighs(_, None)
        | Ground::Shared(..)
        | Ground::Locked(_)
        | Ground::Unexplained(_)
        | Ground::Overlap(..) => true,
        _ => false,
    };
    match facts.few_long().filter(|_| is_of_calls) {
        Some(few) => text!(" {few}", few = few.told()),
        None => Text::default(),
    }
}

impl FewLong {
    /// `8 calls took 3.51 s on average, 448 others 635 µs.`
    #[must_use]
    pub fn told(&self) -> Text {
        let [each, others] = self.each_ns();
        text!(
            "{n,} call{n||s} took {each}{mean}, {others,} others {short}.",
            n = self.count,
            each = Value::Duration(each),
            mean = match self.count {
                1 => "",
                _ => " on average",
            },
            others = self.others,
            short = Value::Duration(others),
        )
    }
}

/// Most of the time went to calls that the server broke off: then it is a limit, not how long the work takes.
fn broken_off(facts: &Facts<'_>, findings: &[Finding], ground: &Ground<'_>) -> Text {
    let Ground::Outweighs(_, Some(cause)) = ground else {
        return Text::default();
    };
    let are_most =
        |f: &&Finding| broken_off_ns(f).is_some_and(|ns| ns >= facts.account.total_ns / 2);
    let found = findings.iter().find(are_most);
    match found.filter(|_| cause.rule != Rule::LockWait) {
        Some(f) => text!(
            " {title} ({code}).",
            title = f.title.clone(),
            code = f.rule.code()
        ),
        None => Text::default(),
    }
}

/// Whether it is told of locks that others hold.
fn is_of_locks(facts: &Facts<'_>, top: &Finding) -> bool {
    let capture = facts.at_client().or(facts.captures.first());
    top.rule == Rule::RetryLater && capture.is_some_and(|c| c.deferred.are_denied())
}

fn judged(facts: &Facts<'_>, findings: &[Finding], ground: &Ground<'_>) -> Text {
    match ground {
        Ground::Ended(cause) if cause.side == Side::Undetermined => text!(
            "The work ended here: {title} ({code}). These packets do not say whether the host or the path is to blame{cure}.",
            title = cause.title.decapitalised(),
            code = cause.rule.code(),
            cure = match facts.captures.len() {
                1 => "; a capture of the other end would",
                _ => "",
            },
        ),
        Ground::Ended(cause) => blamed(cause.side, cause),
        Ground::Nobodys(top) => text!(
            "{title} ({code}), but {what}.{cost}{cure}",
            title = top.title.clone(),
            code = top.rule.code(),
            what = match facts.captures.len() {
                _ if is_of_locks(facts, top) =>
                    "packets do not tell why whoever has them does not let go",
                1 => "one capture cannot tell who is to blame",
                _ => "these captures do not tell who is to blame",
            },
            cost = its_cost(top),
            cure = match facts.captures.len() {
                _ if is_of_locks(facts, top) => " Find out which client that is.",
                1 => " Capture the other end too.",
                _ => "",
            },
        ),
        Ground::Outweighs(blame, Some(cause)) if is_beside_calls(cause) => {
            blamed(blame.side, cause)
        }
        Ground::Outweighs(blame, cause) => accused(facts, findings, blame, *cause),
        Ground::Shared(blames, cause) => shared(facts, findings, blames, *cause),
        Ground::FewTurns(known) => few_turns(facts, *known),
        Ground::Silent(known) => silent(facts, *known),
        Ground::Untold(known) => untold(facts, *known),
        Ground::Cut(known) => cut(facts, *known),
        Ground::Locked(known) => locked(facts, *known),
        Ground::Unexplained(blame) => unexplained(facts, blame),
        Ground::Overlap(blames, beside, known) => overlap(facts, blames, beside.as_ref(), *known),
        Ground::NotSlow => not_slow(facts, findings),
        Ground::NoCalls => no_calls(facts),
    }
}

/// Of the calls, each; of streams that nobody answers, all of it.
fn each(facts: &Facts<'_>, ns: i64) -> Value {
    let a = &facts.account;
    Value::Duration(match a.basis {
        Basis::Streams => ns,
        _ => ns / a.calls.max(1) as i64,
    })
}

/// A side that is accused.
fn who(side: Side) -> &'static str {
    match side {
        Side::Client => "CLIENT",
        Side::Network => "NETWORK",
        _ => "SERVER",
    }
}

/// Connections that did not come to be, or ended; calls that were put off.
fn blamed(side: Side, cause: &Finding) -> Text {
    text!(
        "The {who} is to blame: {title} ({code}).{cost}",
        who = who(side),
        title = cause.title.decapitalised(),
        code = cause.rule.code(),
        cost = its_cost(cause),
    )
}

fn its_cost(cause: &Finding) -> Text {
    cause.cost_ns.map_or_else(Text::default, |ns| {
        text!(" It costs {cost}.", cost = Value::Duration(ns))
    })
}

/// The finding's code; where another falls on other clients, whose each is.
fn cited(cause: &Finding, findings: &[Finding]) -> Text {
    let own = clients(cause);
    let falls_on = |f: &Finding| {
        let clients = clients(f).into_iter();
        let each = clients.map(|client| text!("{client}", client = client));
        text!(
            "{code} on client {clients}",
            code = f.rule.code(),
            clients = Value::List(each.collect(), " and "),
        )
    };
    let is_apart = |f: &&Finding| {
        let theirs = clients(f);
        !theirs.is_empty() && theirs.iter().all(|client| !own.contains(client))
    };
    match findings.iter().find(is_apart) {
        Some(other) if !own.is_empty() => text!(
            "{cause}, {other}",
            cause = falls_on(cause),
            other = falls_on(other),
        ),
        _ => cause.rule.code().into(),
    }
}

/// On which its cost concentrates.
fn clients(f: &Finding) -> Vec<IpAddr> {
    let client = |place: &Concentrated| match place.what {
        What::Client(address) => Some(address),
        _ => None,
    };
    f.places.iter().filter_map(client).collect()
}

fn accused(
    facts: &Facts<'_>,
    findings: &[Finding],
    blame: &Blame,
    cause: Option<&Finding>,
) -> Text {
    text!(
        "The {who} is slow{part}{cause}.{cost}{beneath}",
        who = who(blame.side),
        part = part(facts, blame, cause),
        cause = match cause {
            Some(cause) => text!(" ({cited})", cited = cited(cause, findings)),
            None => largest(facts, blame.side),
        },
        cost = cause.map_or_else(Text::default, |cause| cost(facts, cause)),
        beneath = match blame.side {
            Side::Server => beneath(facts, cause),
            _ => Text::default(),
        },
    )
}

/// What of it a server waits for a server of its own.
fn beneath(facts: &Facts<'_>, cause: Option<&Finding>) -> Text {
    let is_told = cause.is_some_and(|f| f.rule == Rule::DownstreamWait);
    tier(facts).map_or_else(Text::default, |t| {
        text!(
            " For {least} of each, {meanwhile}{code}.",
            least = Value::Duration(t.least_ns / t.asked.max(1) as i64),
            meanwhile = meanwhile(t),
            code = match is_told {
                true => Text::default(),
                false => text!(" ({code})", code = Rule::DownstreamWait.code()),
            },
        )
    })
}

/// What a call takes, and what of it is that side's.
fn part(facts: &Facts<'_>, blame: &Blame, cause: Option<&Finding>) -> Text {
    let a = &facts.account;
    let title = |f: &Finding| f.title.decapitalised();
    let rule = cause.map(|f| f.rule);
    match (facts.app, cause) {
        (Some(app), Some(f)) if f.rule.of() == Of::Application => {
            return text!(
                ": of {all} per operation {part} are above the wire",
                all = app.own(),
                part = match f.rule {
                    Rule::ClientConcurrencyCap | Rule::ClientHostSlow => app.above().into(),
                    _ => Value::Duration(f.cost_ns.unwrap_or(0) / app.operations.max(1) as i64),
                },
            );
        }
        // The title says more than sums by side.
        (_, Some(f)) if f.rule.of() == Of::Bytes || a.basis == Basis::Streams => {
            return text!(": {title}", title = title(f));
        }
        (_, None) if a.basis == Basis::Streams => {
            return text!(
                ": of {total} in which bytes were under way {part} are its doing",
                total = Value::Duration(a.total_ns),
                part = Value::Duration(blame.calls.lo_ns),
            );
        }
        _ => {}
    }
    text!(
        ": of {mean} per call {holds}{detail}",
        mean = each(facts, a.total_ns),
        holds = match (blame.side, rule) {
            (Side::Server, _) => text!("it holds {part}", part = each(facts, blame.calls.lo_ns)),
            (Side::Network, _) => text!("it takes {part}", part = each(facts, blame.calls.lo_ns)),
            (_, Some(Rule::Chatty | Rule::SmallFetch | Rule::SmallWrites)) => text!(
                "{part} are the path, crossed for little",
                part = each(facts, a.chatty_ns + a.small_fetch_ns + a.small_writes_ns),
            ),
            _ => text!(
                "{part} are its doing",
                part = each(facts, blame.calls.lo_ns)
            ),
        },
        detail = match (rule, cause) {
            (Some(Rule::ServerConcurrencyCap), Some(f)) =>
                text!(", mostly queueing: {title}", title = title(f)),
            (Some(Rule::ServerStall | Rule::Nagle | Rule::LockWait), Some(f)) =>
                text!(": {title}", title = title(f)),
            (Some(Rule::NetworkLoss | Rule::NetworkOutage), Some(f)) =>
                text!("; {title}", title = title(f)),
            _ => Text::default(),
        },
    )
}

/// What a side's largest line means, where no finding has a quarter of the time.
fn largest(facts: &Facts<'_>, side: Side) -> Text {
    largest_of(facts, side).map_or_else(Text::default, |line| {
        text!(
            ", most of it {cause}, {ns} in all",
            cause = line.cause.name(),
            ns = Value::Duration(line.ns.lo_ns),
        )
    })
}

fn largest_of(facts: &Facts<'_>, side: Side) -> Option<Line> {
    let place = match side {
        Side::Client => Place::Client,
        Side::Network => Place::Network,
        _ => Place::Server,
    };
    let lines = facts.account.sums.lines();
    let own = lines.into_iter().filter(|s| s.line.side == place);
    own.max_by_key(|s| s.line.ns.lo_ns).map(|s| s.line)
}

fn cost(facts: &Facts<'_>, cause: &Finding) -> Text {
    let a = &facts.account;
    let Some(ns) = cause.cost_ns else {
        return Text::default();
    };
    let cost = Value::Duration(ns);
    match facts.app {
        Some(app) if cause.rule.of() == Of::Application => text!(
            " It costs {least}{cost} of {total} that the application waits.",
            // What lies between bounds is charged by its least.
            least = if app.bounds.is_some() {
                "at least "
            } else {
                ""
            },
            cost = cost,
            total = app.own().times(app.operations),
        ),
        _ if a.basis == Basis::Streams => text!(
            " It costs {cost} of {total} in which bytes were under way.",
            cost = cost,
            total = Value::Duration(a.total_ns),
        ),
        _ => text!(
            " It costs {cost} of {total} of call time, in {calls,} call{calls||s}.",
            cost = cost,
            total = Value::Duration(a.total_ns),
            calls = a.calls,
        ),
    }
}

/// Two sides, most first.
fn shared(
    facts: &Facts<'_>,
    findings: &[Finding],
    blames: &[Blame; 2],
    cause: Option<&Finding>,
) -> Text {
    let mut blames = *blames;
    // As ever, the server before the network.
    if blames[0].side == Side::Network && blames[1].side == Side::Server {
        blames.reverse();
    }
    let [one, other] = blames;
    let are_streams = facts.account.basis == Basis::Streams;
    let part = |ns| match are_streams {
        true => Value::Duration(ns),
        false => each(facts, ns),
    };
    text!(
        "{one} and {other} share the blame: of {whole}{of} the {a} holds {a_ns} and the {b} {b_ns}{cause}.{cost}",
        one = who(one.side),
        other = who(other.side),
        whole = part(facts.account.total_ns),
        of = match are_streams {
            true => " in which bytes were under way",
            false => " per call",
        },
        a = one.side,
        a_ns = part(one.sure_ns()),
        b = other.side,
        b_ns = part(other.sure_ns()),
        cause = cause.map_or_else(Text::default, |f| text!(
            " ({cited})",
            cited = cited(f, findings)
        )),
        cost = cause.map_or_else(Text::default, |f| cost(facts, f)),
    )
}
