//! The sentences of verdicts that accuse nobody: why, and what would tell.

use super::{each, largest, largest_of};
use crate::diagnose::Kind;
use crate::facts::{ACCUSED_SHARE, Basis, FEW_TURNS, Facts};
use crate::findings::Rule;
use crate::hosts::Hosts;
use crate::results::{CaptureResult, Finding, Side};
use crate::text::{Text, Value, text};
use crate::verdict::{Blame, answering_ns, silent_ns};
use ledger::Cause;
use model::Reason;

pub(super) fn few_turns(facts: &Facts<'_>, known: Option<&Finding>) -> Text {
    let a = &facts.account;
    let total = Value::Duration(a.total_ns);
    let server_ns = answering_ns(facts);
    let server = Value::Duration(server_ns.min(a.total_ns));
    if a.basis == Basis::Streams {
        return text!(
            "Nobody is to blame for certain. On {streams} the server was silent for {server} of {total} after it had been sent something, which does not say whether it worked or waited for an event.{known}",
            streams = streams(facts),
            server = server,
            total = total,
            known = beside(known),
        );
    }
    let few = match a.calls {
        0..FEW_TURNS => "and so few do not say",
        _ => "most of it in few of them, which does not say",
    };
    let sure = Cause::OF_SERVER.into_iter().chain([Cause::Event]);
    let sure_ns = sure.map(|c| a.sums.of(c).lo_ns).sum::<i64>();
    if facts.captures.len() == 1 && sure_ns.saturating_mul(2) < server_ns {
        return text!(
            "In {calls,} turn{calls||s} of a protocol that is not known up to {server} of {total} passed before the server answered, {few} whether it worked, waited for an event, or could not be reached.{known} Capture the other end too.",
            calls = a.calls,
            server = server,
            total = total,
            few = few,
            known = beside(known),
        );
    }
    text!(
        "In {calls,} turn{calls||s} of a protocol that is not known the server took {server} of {total} to answer, {few} whether it worked or waited for an event.{known} A longer capture would.",
        calls = a.calls,
        server = server,
        total = total,
        few = few,
        known = beside(known),
    )
}

/// Connections of a protocol that is not known, or with several requests under way at a time.
fn streams(facts: &Facts<'_>) -> Text {
    text!(
        "{connections,} connection{connections||s} whose requests cannot be told apart",
        connections = facts.account.calls
    )
}

/// Who was silent does not say that anybody waited for it.
pub(super) fn silent(facts: &Facts<'_>, known: Option<&Finding>) -> Text {
    let a = &facts.account;
    text!(
        "Nobody is to blame for certain. {where} a side was silent for {silent} of {total} with nothing on its way, which may be time between messages.{known}{cure}",
        where = match a.basis {
            Basis::Streams => text!("On {streams}", streams = streams(facts)),
            _ => text!("In {calls,} turn{calls||s} of a protocol that is not known", calls = a.calls),
        },
        silent = Value::Duration(silent_ns(facts)),
        total = Value::Duration(a.total_ns),
        known = beside(known),
        cure = match facts.headers_are_cut() {
            true => cure(facts),
            false => Text::default(),
        },
    )
}

/// Several requests are under way at a time.
pub(super) fn untold(facts: &Facts<'_>, known: Option<&Finding>) -> Text {
    text!(
        "Nobody is to blame for certain. Connections were busy for {busy} with several requests under way at a time, which cannot be told apart.{others}{known}{cure}",
        busy = Value::Duration(facts.untold_ns()),
        others = match facts.account.calls {
            0 => Text::default(),
            calls => text!(
                " Of others there {calls|is|are} {calls,} call{calls||s} only.",
                calls = calls
            ),
        },
        known = beside(known),
        cure = cure(facts),
    )
}

/// One capture alone has all of them.
pub(super) fn cut(facts: &Facts<'_>, known: Option<&Finding>) -> Text {
    let a = &facts.account;
    text!(
        "Nobody is to blame for certain. Calls that took {cut} are not whole in both captures, next to {total} of calls that are.{known} See what each capture says alone.",
        cut = Value::Duration(facts.cut_ns.saturating_add(facts.elsewhere_ns)),
        total = Value::Duration(a.total_ns),
        known = beside(known),
    )
}

/// Which rows a transaction held, no packet says.
pub(super) fn locked(facts: &Facts<'_>, known: Option<&Finding>) -> Text {
    let waits = facts.worst.lock_waits;
    let why: Text = match facts.kind {
        Kind::Calls if waits.are_files() => match facts.worst.locked.count {
            0 => "the server said that it would answer later, as it may when another client has the file".into(),
            _ => "other clients had the files, and the answers came when they let go".into(),
        },
        Kind::Calls if waits.broken_off > 0 && waits.broken_off >= waits.answered() + waits.still => {
            "the server broke calls off, and says that they waited for what other sessions held".into()
        }
        Kind::Calls if waits.cut_short > 0 && waits.cut_short >= waits.answered() + waits.still => {
            "the server broke calls off while other sessions had the same table, in transactions of which nothing tells that they let go".into()
        }
        Kind::Calls if waits.still > 0 && waits.still >= waits.answered() => {
            "other sessions had the same table meanwhile, in transactions for which nothing was asked any more".into()
        }
        Kind::Calls if waits.asked > waits.calls => {
            "calls asked for nothing but locks that clients name, which others may have had".into()
        }
        Kind::Calls => "other sessions had the same table or lock, nothing was worked for them meanwhile, and the answers came when they let go".into(),
        Kind::Turns => "clients of other sessions thought meanwhile, and far more often than by chance the answers came when one of them asked on".into(),
    };
    text!(
        "Nobody is to blame for certain: of {mean} per call up to {locked} may be waits for a lock, as {why} ({code}).{known} {cure}.",
        mean = each(facts, facts.account.total_ns),
        locked = each(facts, facts.most_locked_ns()),
        why = why,
        code = Rule::LockWait.code(),
        known = beside(known),
        cure = match (waits.are_files(), facts.account.basis) {
            (true, Basis::Client) => "Capture at the server, where all clients are seen",
            (true, _) =>
                "Who has it, a capture shows that began before, with a snap length of 512 or more",
            (false, _) => "See what clients do before they commit",
        },
    )
}

/// What is known beside what may be nobody's.
fn beside(known: Option<&Finding>) -> Text {
    known.map_or_else(Text::default, |f| {
        text!(
            " Of the rest {cost} are known: {title} ({code}).",
            cost = Value::Duration(f.cost_ns.unwrap_or(0)),
            title = f.title.decapitalised(),
            code = f.rule.code(),
        )
    })
}

/// What passed at a side, and why nobody is accused of it.
pub(super) fn unexplained(facts: &Facts<'_>, blame: &Blame) -> Text {
    let a = &facts.account;
    let (all, part) = match a.basis {
        Basis::Streams => (
            text!(
                "{total} in which bytes were under way",
                total = Value::Duration(a.total_ns)
            ),
            Value::Duration(blame.calls.lo_ns),
        ),
        _ => (
            text!("{mean} per call", mean = each(facts, a.total_ns)),
            each(facts, blame.calls.lo_ns),
        ),
    };
    text!(
        "Nobody is to blame for certain. Of {all} {part} passed {at} the {side}{most}; {why}.",
        all = all,
        part = part,
        at = match blame.side {
            Side::Network => "on",
            _ => "at",
        },
        side = blame.side,
        most = largest(facts, blame.side),
        why = match (
            largest_of(facts, blame.side).map(|line| line.cause),
            facts.kind
        ) {
            // Who waits for room has something to say.
            (Some(Cause::SmallWindow), _) if !facts.has_capture_at(blame.side) => text!(
                "the {side}'s window was full: whether its process reads slowly or the path is slow, a capture at the {side} tells",
                side = blame.side,
            ),
            (_, Kind::Turns) if !facts.streams.are_copies() => {
                "in a protocol that is not known that may be time between messages".into()
            }
            (_, Kind::Turns | Kind::Calls) => "why it did, these packets do not say".into(),
        },
    )
}

/// Bounds of two sides overlap: what is known of both, why no more is, and what would tell.
pub(super) fn overlap(
    facts: &Facts<'_>,
    blames: &[Blame; 2],
    third: Option<&Blame>,
    known: Option<&Finding>,
) -> Text {
    let a = &facts.account;
    let streams = a.basis == Basis::Streams;
    let held = |b: &Blame| match b.most_ns() {
        Some(most) if most > b.sure_ns() => text!(
            "the {side} {least} to {most}",
            side = b.side,
            least = each(facts, b.sure_ns()),
            // What may be this cause's or that one's is there once.
            most = each(facts, most.min(a.most_ns().saturating_add(b.beside_ns))),
        ),
        Some(_) => text!(
            "the {side} {least}",
            side = b.side,
            least = each(facts, b.sure_ns()),
        ),
        None => text!(
            "the {side} {least} or more",
            side = b.side,
            least = each(facts, b.sure_ns()),
        ),
    };
    let [first, other] = blames;
    let third = third.map_or_else(Text::default, |b| text!(", {third}", third = held(b)));
    if streams && known.is_none() {
        return text!(
            "There are no calls to time here. Bytes were under way for {total}, and no one side has most of it: {first}, {other}{third}.{cure}",
            total = Value::Duration(a.total_ns),
            first = held(first),
            other = held(other),
            third = third,
            cure = cure(facts),
        );
    }
    text!(
        "{what}: {first}{known}, {other}{third}.{untold}{cure}",
        what = match streams {
            true => text!(
                "Of {total} in which bytes were under way no one side has most",
                total = Value::Duration(a.total_ns),
            ),
            false => text!(
                "Of {mean} per call no one side is certain to have most",
                mean = each(facts, a.total_ns),
            ),
        },
        first = held(first),
        other = held(other),
        third = third,
        known = known.map_or_else(Text::default, |f| text!(
            " ({code} costs {cost})",
            code = f.rule.code(),
            cost = Value::Duration(f.cost_ns.unwrap_or(0)),
        )),
        untold = untold_waits(facts),
        cure = cure(facts),
    )
}

/// What the packets show and do not tell, where that is much: why a wait is nobody's.
fn untold_waits(facts: &Facts<'_>) -> Text {
    // At the server it is known what came there.
    if let [only] = facts.captures
        && facts.server.is_none()
        && only.datagrams_again.1 >= facts.account.total_ns / ACCUSED_SHARE
    {
        let (calls, ns) = only.datagrams_again;
        return text!(
            " {calls,} call{calls||s} over UDP {calls|was|were} asked again before {calls|it was|they were} answered, after {ns} in all: a datagram that is lost, and a server that drops it or takes long, look the same from here.",
            calls = calls,
            ns = Value::Duration(ns),
        );
    }
    let (calls, ns) = facts.behind_skips;
    if ns >= facts.account.total_ns / ACCUSED_SHARE {
        return text!(
            " {calls,} answer{calls||s} came behind packets of the server that never did, as its identifications show, after {ns} in all: an answer that is lost and sent again, and one that takes long, look the same from here.",
            calls = calls,
            ns = Value::Duration(ns),
        );
    }
    let spared = facts.account.sums.of(Cause::Chatty);
    let spared_ns = spared.hi_ns.map_or(0, |hi| hi - spared.lo_ns);
    if are_lossy(facts) && spared_ns >= facts.account.total_ns / ACCUSED_SHARE {
        return " How many turns there were, and whether they could be fewer, is not known, as packets are missing from the capture: capture with a larger buffer (tcpdump -B 65536).".into();
    }
    // Only where windows are not known it is not told whether a buffer or they held bytes back.
    let buffered = facts.account.sums.of(Cause::SendBuffer);
    let unsure_ns = buffered.hi_ns.map_or(0, |hi| hi - buffered.lo_ns);
    if unsure_ns >= facts.account.total_ns / ACCUSED_SHARE {
        return text!(
            " For up to {ns} in all bytes may have waited for a window whose size is not known, as the capture lacks the beginning of connections: begin it before them.",
            ns = Value::Duration(unsure_ns),
        );
    }
    facts.most_unheard_ns().map_or_else(Text::default, |ns| text!(
        " For up to {ns} in all not even an acknowledgement came: a path that keeps everything or loses what comes back, and a host that stands still, look the same from here.",
        ns = Value::Duration(ns),
    ))
}

/// Whether of much time nobody knows what it went to.
fn is_unknown(facts: &Facts<'_>) -> bool {
    let unknown = facts.account.sums.of(Cause::Unknown);
    let most_ns = unknown.hi_ns.unwrap_or(i64::MAX);
    most_ns >= facts.account.total_ns / ACCUSED_SHARE
}

fn are_lossy(facts: &Facts<'_>) -> bool {
    facts.captures.iter().any(|c| c.tcp.missing_gaps > 0)
}

/// What would tell, the cheapest first.
fn cure(facts: &Facts<'_>) -> Text {
    if facts.headers_are_cut() {
        return " The snap length cuts the headers of messages off: capture 256 bytes of each packet (-s 256).".into();
    }
    if facts.account.hidden_ns() >= facts.account.total_ns / ACCUSED_SHARE {
        let hidden = |by: Reason| {
            let of = facts.results.iter().flat_map(|r| &r.half_calls);
            let of = of.filter(|(kind, _)| kind.strip_prefix("no-response/") == Some(by.name()));
            of.map(|(_, n)| n).sum::<u64>()
        };
        return match hidden(Reason::CaptureGap) > hidden(Reason::SnapLength) {
            true => " The capture lacks packets with replies: capture with a larger buffer (tcpdump -B 65536).".into(),
            false => " The snap length hides replies that stand behind others in a packet: capture whole packets (-s 0).".into(),
        };
    }
    match facts.account.basis {
        Basis::Matched if are_lossy(facts) && is_unknown(facts) => {
            " Packets are missing from the captures: take them with a larger buffer (tcpdump -B 65536).".into()
        }
        Basis::Matched => Text::default(),
        Basis::Unknown => {
            " Say where it was taken (--client or --server), or capture the other end too.".into()
        }
        _ if facts.captures.len() > 1 => Text::default(),
        _ => " One capture tells no more: capture the other end too.".into(),
    }
}

pub(super) fn not_slow(facts: &Facts<'_>, findings: &[Finding]) -> Text {
    let a = &facts.account;
    let d = facts.response();
    if a.basis == Basis::Streams {
        return text!(
            "There are no calls to time here, and bytes were under way for {total} only.",
            total = Value::Duration(a.total_ns),
        );
    }
    // With a path between, clients waited for longer than what was seen.
    let beyond = a.basis == Basis::Server && a.sums.total.hi_ns != Some(a.sums.total.lo_ns);
    let what = match a.basis {
        Basis::Server => "The server is not slow: the",
        _ => "Nothing is slow on the wire: the",
    };
    // Work that fails is not slow.
    let failing = findings.iter().find(|f| {
        matches!(
            f.rule,
            Rule::LogonFailures
                | Rule::ConnectionReset
                | Rule::ConnectionClosed
                | Rule::StaleConnection
        )
    });
    let failing = failing.map_or_else(Text::default, |f| {
        text!(
            " But {title} ({code}).",
            title = f.title.decapitalised(),
            code = f.rule.code(),
        )
    });
    // What a single one took is not known.
    let are_in_order = facts.captures.iter().any(|c| c.in_order > 0);
    if are_in_order || facts.others.is_some() || d.count() == 0 || facts.are_few_whole() {
        return text!(
            "{what} {calls,} call{calls||s} take{calls|s|} {least}{mean} on average.{failing}",
            what = what,
            calls = a.calls,
            least = match facts.others {
                Some(_) => "at least ",
                None => "",
            },
            mean = each(facts, a.total_ns),
            failing = failing,
        );
    }
    text!(
        "{what} {calls,} call{calls||s} take{calls|s|} {mean} on average, {most} at most{beyond}.{failing}",
        what = what,
        calls = d.count(),
        mean = Value::Duration(d.mean_ns()),
        most = Value::Duration(d.max_ns()),
        beyond = match beyond {
            true => " (what the client sees beyond is not in this capture)",
            false => "",
        },
        failing = failing,
    )
}

pub(super) fn no_calls(facts: &Facts<'_>) -> Text {
    if let [a, b] = facts.captures {
        return none_in_both(facts.results, [&a.hosts, &b.hosts]);
    }
    let half = || facts.results.iter().flat_map(|r| &r.half_calls);
    let all: u64 = facts.results.iter().map(|r| r.calls).sum();
    let complete = all.saturating_sub(half().map(|(_, n)| n).sum());
    let unanswered = half().filter(|(kind, _)| kind.starts_with("no-response"));
    match unanswered.map(|(_, n)| n).sum::<u64>() {
        // Names that were asked for and the like: listed, but nobody's work waits on them for sure.
        _ if complete == 1 => "The one call here cannot be held against a side: it looks a name up, or tells of a change.".into(),
        _ if complete > 0 => text!(
            "None of the {complete,} calls here can be held against a side: they look names up, or tell of changes.",
            complete = complete,
        ),
        0 => "No complete call was found, so no side can be named.".into(),
        1 => "The one request has no answer in this capture, so no side can be named.".into(),
        n => text!(
            "None of {n} requests has an answer in this capture, so no side can be named.",
            n = n,
        ),
    }
}

/// Two captures without a call in common: what they do not share either.
fn none_in_both(captures: &[CaptureResult], [a, b]: [&Hosts; 2]) -> Text {
    const WHICH: [&str; 2] = ["first", "second"];
    let ends = |i: usize| captures.get(i).and_then(|c| c.first.zip(c.last));
    let pause = |i: usize, j: usize| {
        let ((_, last), (first, _)) = ends(i).zip(ends(j))?;
        (first > last).then(|| {
            text!(
                "the {one} ends {pause} before the {other} begins",
                one = WHICH[i],
                pause = Value::Duration(first - last),
                other = WHICH[j],
            )
        })
    };
    let apart = a.are_others_than(b).then(|| {
        text!(
            "no host is in both (the first has {first}, the second {second})",
            first = some(a),
            second = some(b),
        )
    });
    let why: Vec<Text> = (pause(0, 1).or_else(|| pause(1, 0)).into_iter())
        .chain(apart)
        .collect();
    match why.is_empty() {
        true => "No call is in both captures, so neither side can be named.".into(),
        false => text!(
            "No call is in both captures, so neither side can be named: {why}. Give captures of the same traffic, \
             taken at the same time, or each alone.",
            why = Value::List(why, ", and "),
        ),
    }
}

/// A few by name.
fn some(hosts: &Hosts) -> Text {
    const FEW: usize = 3;
    let one = |host| text!("{host}", host = Value::Address(host));
    let names: Vec<Text> = hosts.iter().take(FEW).map(one).collect();
    match hosts.iter().len() {
        n if n > FEW => text!(
            "{names} and {more,} more",
            names = Value::List(names, ", "),
            more = (n - FEW) as u64,
        ),
        _ => text!("{names}", names = Value::List(names, " and ")),
    }
}
