//! One sentence out of the findings: the side that time was lost on, and its largest cause.

use crate::facts::{Basis, Facts};
use crate::findings::{Of, Rule};
use crate::results::{Finding, Side, Verdict};
use crate::streams::word;
use ledger::{Bounds, Place};
use model::{format_duration, grouped};

/// A second side that has this share of the first's for certain makes the verdict `mixed`.
const MIXED: f64 = 0.8;

/// What may be another's is no more than this share of what is certain of the one that is accused: the
/// truth is not near half and half then.
const OUTWEIGHED: f64 = 0.99;

/// What is certain of a side, and what may be its, with what it costs beside calls.
#[derive(Clone, Copy)]
struct Blame {
    side: Side,
    sure_ns: i64,
    most_ns: Option<i64>,
}

impl Blame {
    fn of(facts: &Facts<'_>, findings: &[Finding], side: Side, place: Place) -> Blame {
        // Calls that cost nothing are nobody's fault, whatever else costs time.
        let of_calls = |f: &Finding| f.is_of_calls() && f.cost_ns.is_some_and(|ns| ns > 0);
        let bounds = match facts.calls_are_slow() || findings.iter().any(of_calls) {
            true => facts.account.side(place),
            false => Bounds::exactly(0),
        };
        let beside = findings
            .iter()
            .filter(|f| f.side == side && !f.is_of_calls());
        let beside = beside
            .filter_map(|f| f.cost_ns)
            .fold(0, i64::saturating_add);
        Blame {
            side,
            sure_ns: bounds.lo_ns.saturating_add(beside),
            most_ns: bounds.hi_ns.map(|hi| hi.saturating_add(beside)),
        }
    }

    /// Whether it has nearly as much as the one that has most, and not more: wherever in its bounds the truth
    /// lies, or as far as anything is certain where that one outweighs it.
    fn shares_with(&self, first: &Blame) -> bool {
        let nearly = |a: &Blame, b: &Blame| {
            b.most_ns
                .is_some_and(|most| a.sure_ns as f64 >= MIXED * most as f64)
        };
        let sure = self.sure_ns as f64 >= MIXED * first.sure_ns as f64;
        let everywhere = nearly(self, first) && nearly(first, self);
        self.sure_ns > 0 && (everywhere || (sure && first.outweighs(self)))
    }

    /// Whether what is certain of it outweighs all that may be another's.
    fn outweighs(&self, other: &Blame) -> bool {
        other
            .most_ns
            .is_some_and(|most| OUTWEIGHED * self.sure_ns as f64 > most as f64)
    }
}

/// The verdict over `findings`, which are in order.
///
/// A side is accused where what is certain of it outweighs what could at most be any other's. That rises
/// with what is certain of it, and falls with what may be another's: with less evidence bounds only widen,
/// so an accusation may go, and never moves to somebody else.
#[must_use]
pub fn verdict(facts: &Facts<'_>, findings: &[Finding]) -> Verdict {
    let calls = facts.response().count();
    let costed: Vec<&Finding> = findings
        .iter()
        .filter(|f| f.fatal || f.cost_ns.is_some_and(|c| c > 0))
        .collect();
    let Some(top) = costed.first() else {
        return without_cause(facts, calls);
    };
    if top.fatal {
        return Verdict {
            side: top.side,
            cause: Some(top.rule),
            confidence: top.confidence,
            sentence: sentence(facts, top.side, top),
        };
    }
    if top.side == Side::Undetermined {
        return nobodys(top);
    }
    let mut blames = [
        (Side::Client, Place::Client),
        (Side::Network, Place::Network),
        (Side::Server, Place::Server),
    ]
    .map(|(side, place)| Blame::of(facts, findings, side, place));
    blames.sort_by_key(|b| std::cmp::Reverse(b.sure_ns));
    let [first, second, third] = blames;
    let mixed = second.shares_with(&first);
    let sure = first.outweighs(&second) && first.outweighs(&third);
    if !mixed && !sure {
        return match costed.iter().find(|f| f.side == first.side) {
            Some(known) if first.sure_ns > facts.account.total_ns / 4 => {
                one_part_is_known(facts, known)
            }
            _ => undetermined(facts),
        };
    }
    if facts.are_few_turns() && facts.account.server_ns() > first.sure_ns {
        return few_turns(facts, top);
    }
    let side = if mixed { Side::Mixed } else { first.side };
    // The cause is the largest finding of the side that is named.
    let Some(cause) = costed.iter().find(|f| mixed || f.side == side) else {
        return undetermined(facts);
    };
    Verdict {
        side,
        cause: Some(cause.rule),
        confidence: cause.confidence,
        sentence: match side {
            Side::Mixed if facts.app.is_none() => shared(
                facts,
                [(first.sure_ns, first.side), (second.sure_ns, second.side)],
                cause,
            ),
            side => sentence(facts, side, cause),
        },
    }
}

/// The captures were stated the wrong way round.
#[must_use]
pub fn exchanged() -> Verdict {
    Verdict {
        side: Side::Undetermined,
        cause: None,
        confidence: 0.0,
        sentence: "The captures look exchanged: the same calls take longer in the one said to be the server's. Swap --client and --server.".into(),
    }
}

/// A cause is certain, but whose the rest is, is not, and it is as much.
fn one_part_is_known(facts: &Facts<'_>, top: &Finding) -> Verdict {
    let a = &facts.account;
    let n = a.calls.max(1) as i64;
    Verdict {
        side: Side::Undetermined,
        cause: None,
        confidence: 0.3,
        sentence: format!(
            "Of {} per call {} are known: {} ({}). One capture cannot tell whose {} of the rest are. Capture the other end too.",
            format_duration(a.total_ns / n),
            format_duration(top.cost_ns.unwrap_or(0) / n),
            decapitalise(&top.title.to_string()),
            top.rule,
            format_duration(a.unknown_ns / n),
        ),
    }
}

/// What costs most is certain, but not whose it is.
fn nobodys(top: &Finding) -> Verdict {
    Verdict {
        side: Side::Undetermined,
        cause: Some(top.rule),
        confidence: 0.3,
        sentence: format!(
            "{} ({}), but one capture cannot tell who is to blame. Capture the other end too.",
            top.title, top.rule
        ),
    }
}

/// A side can be named for a part of the time, but the server has a larger one, of which a few turns do not
/// say whether it worked or waited for an event.
fn few_turns(facts: &Facts<'_>, top: &Finding) -> Verdict {
    let a = &facts.account;
    Verdict {
        side: Side::Undetermined,
        cause: None,
        confidence: 0.3,
        sentence: format!(
            "In {} turns the server took {} of {} to answer, and so few do not say whether it worked or waited for an event. Of the rest {} are known: {} ({}).",
            grouped(a.calls),
            format_duration(a.server_ns()),
            format_duration(a.total_ns),
            format_duration(top.cost_ns.unwrap_or(0)),
            decapitalise(&top.title.to_string()),
            top.rule
        ),
    }
}

fn undetermined(facts: &Facts<'_>) -> Verdict {
    let mean = format_duration(facts.response().mean_ns());
    let a = &facts.account;
    let own = format_duration(a.server_ns() / a.calls.max(1) as i64);
    Verdict {
        side: Side::Undetermined,
        cause: None,
        confidence: 0.3,
        sentence: match a.basis {
            Basis::Server => format!(
                "Calls take {mean} on average, of which the server holds {own}; what the rest waits for, one capture at the server cannot tell. Capture the other end too."
            ),
            _ => format!(
                "Calls take {mean} on average; one capture cannot tell whether the server or the network holds them. Capture the other end too."
            ),
        },
    }
}

/// Nobody to blame: because nothing is slow, or because the evidence does not say.
fn without_cause(facts: &Facts<'_>, calls: u64) -> Verdict {
    let a = &facts.account;
    let d = facts.response();
    let mean = format_duration(d.mean_ns());
    let only = |side: &str| {
        format!(
            "{side} {} calls take {mean} on average, {} at most",
            grouped(calls),
            format_duration(d.max_ns())
        )
    };
    if a.basis == Basis::Streams && a.total_ns > 0 {
        return streams_alone(facts);
    }
    if calls == 0 {
        return Verdict {
            side: Side::Undetermined,
            cause: None,
            confidence: 0.0,
            sentence: if facts.captures.len() == 2 {
                "No call is in both captures, so neither side can be named.".into()
            } else {
                let half = facts.results.iter().flat_map(|r| &r.half_calls);
                let all: u64 = facts.results.iter().map(|r| r.calls).sum();
                let complete = all.saturating_sub(half.clone().map(|(_, n)| n).sum());
                let unanswered = half.filter(|(kind, _)| kind.starts_with("no-response"));
                match unanswered.map(|(_, n)| n).sum::<u64>() {
                    // Names that were asked for and the like: listed, but nobody's work waits on them for sure.
                    _ if complete == 1 => "The one call here cannot be held against a side: it looks a name up, or tells of a change.".into(),
                    _ if complete > 0 => format!(
                        "None of the {} calls here can be held against a side: they look names up, or tell of changes.",
                        grouped(complete)
                    ),
                    0 => "No complete call was found, so no side can be named.".into(),
                    1 => "The one request has no answer in this capture, so no side can be named.".into(),
                    n => format!(
                        "None of {n} requests has an answer in this capture, so no side can be named."
                    ),
                }
            },
        };
    }
    let (side, confidence, sentence) = if !facts.calls_are_slow() {
        let what = match a.basis {
            Basis::Matched => only("Nothing is slow on the wire: the"),
            Basis::Server => {
                only("The server is not slow: the")
                    + " (what the client sees beyond is not in this capture)"
            }
            Basis::Client | Basis::Unknown | Basis::Streams => {
                only("Nothing is slow on the wire: the")
            }
        };
        (
            Side::None,
            if a.basis == Basis::Matched { 0.9 } else { 0.7 },
            format!("{what}."),
        )
    } else if a.basis == Basis::Matched {
        (
            Side::Undetermined,
            0.3,
            format!("Calls take {mean} on average, but no one cause has a quarter of it."),
        )
    } else {
        return undetermined(facts);
    };
    Verdict {
        side,
        cause: None,
        confidence,
        sentence,
    }
}

/// Streams that nobody answers, of which no side can be named.
fn streams_alone(facts: &Facts<'_>) -> Verdict {
    let a = &facts.account;
    let took = format_duration(a.total_ns);
    let (side, confidence, sentence) = match facts.calls_are_slow() {
        true => (
            Side::Undetermined,
            0.3,
            format!(
                "No call was answered here. Bytes that nobody answers were under way for {took}, and no one cause has a quarter of it."
            ),
        ),
        false => (
            Side::None,
            0.5,
            format!(
                "No call was answered here, and bytes that nobody answers were under way for {took} only."
            ),
        ),
    };
    Verdict {
        side,
        cause: None,
        confidence,
        sentence,
    }
}

/// Two sides, of what they cost, most first.
fn shared(facts: &Facts<'_>, sides: [(i64, Side); 2], cause: &Finding) -> String {
    let a = &facts.account;
    let n = a.calls.max(1) as i64;
    let [(first_ns, first), (second_ns, second)] = sides;
    let name = |side: Side| word(side).to_uppercase();
    // Of the path, what a call takes there says more than what could be spared of it.
    let part = |side: Side, cost: i64| match side {
        Side::Server if cost <= a.server_ns() => ("the server", a.server_ns()),
        Side::Network => (
            "the network",
            (a.network_ns() + a.chatty_ns + a.small_fetch_ns + a.nagle_ns).max(cost),
        ),
        Side::Server => ("the server", cost),
        _ => ("the client", cost),
    };
    let mut parts = [part(first, first_ns), part(second, second_ns)];
    let mut names = [name(first), name(second)];
    // As ever, the server before the network.
    if first == Side::Network && second == Side::Server {
        parts.reverse();
        names.reverse();
    }
    let [(one, one_ns), (other, other_ns)] = parts;
    format!(
        "{} and {} share the blame: of {} per call {one} holds {} and {other} {} ({}). It costs {} of {} of call time.",
        names[0],
        names[1],
        format_duration(a.total_ns / n),
        format_duration(one_ns / n),
        format_duration(other_ns / n),
        cause.rule,
        format_duration(cause.cost_ns.unwrap_or(0)),
        format_duration(a.total_ns)
    )
}

fn sentence(facts: &Facts<'_>, side: Side, cause: &Finding) -> String {
    let a = &facts.account;
    let n = a.calls.max(1) as i64;
    let mean = format_duration(a.total_ns / n);
    if cause.fatal || cause.rule.of() == Of::Connects {
        let side = match side {
            Side::Client => "The CLIENT is to blame",
            Side::Network => "The NETWORK is to blame",
            Side::Server => "The SERVER is to blame",
            _ => "Several sides share the blame",
        };
        let cost = cause.cost_ns.map_or(String::new(), |c| {
            format!(" It costs {}.", format_duration(c))
        });
        let title = decapitalise(&cause.title.to_string());
        return format!("{side}: {title} ({}).{cost}", cause.rule);
    }
    let who = match side {
        Side::Client => "The CLIENT is slow",
        Side::Network => "The NETWORK is slow",
        Side::Server => "The SERVER is slow",
        _ => "Several sides share the blame",
    };
    let part = match side {
        // The title says more than the sums by side.
        _ if cause.rule.of() == Of::Bytes || a.basis == Basis::Streams => {
            format!(": {}", decapitalise(&cause.title.to_string()))
        }
        Side::Server => format!(
            ": of {mean} per call it holds {}",
            format_duration(a.server_ns() / n)
        ),
        Side::Network => format!(
            ": of {mean} per call it takes {}",
            format_duration(a.network_ns() / n)
        ),
        Side::Client => match facts.app {
            Some(app)
                if matches!(
                    cause.rule,
                    Rule::ClientConcurrencyCap | Rule::ClientHostSlow
                ) =>
            {
                format!(
                    ": of {} per operation {} are above the wire",
                    format_duration(app.application_mean_ns),
                    format_duration(app.host_mean_ns)
                )
            }
            _ if matches!(cause.rule, Rule::Chatty | Rule::SmallFetch) => format!(
                ": of {mean} per call {} are the path, crossed for little",
                format_duration((a.chatty_ns + a.small_fetch_ns + a.path_ns) / n)
            ),
            _ if a.nagle_ns == 0 => format!(": {}", decapitalise(&cause.title.to_string())),
            _ => format!(
                ": of {mean} per call it holds {} back",
                format_duration(a.nagle_ns / n)
            ),
        },
        _ => format!(
            ": of {mean} per call the server holds {} and the network {}",
            format_duration(a.server_ns() / n),
            format_duration((a.network_ns() + a.chatty_ns + a.small_fetch_ns + a.nagle_ns) / n)
        ),
    };
    let detail = match cause.rule {
        Rule::ServerConcurrencyCap => format!(
            ", mostly queueing: {}",
            decapitalise(&cause.title.to_string())
        ),
        Rule::ServerStall => format!(": {}", decapitalise(&cause.title.to_string())),
        Rule::NetworkLoss | Rule::NetworkOutage if a.basis != Basis::Streams => {
            format!("; {}", decapitalise(&cause.title.to_string()))
        }
        _ => String::new(),
    };
    let cost = cause.cost_ns.map_or(String::new(), |c| match facts.app {
        Some(app) if cause.side == Side::Client && c > a.nagle_ns.max(a.chatty_ns) => format!(
            " It costs {} of {} that the application waits.",
            format_duration(c),
            format_duration(
                app.application_mean_ns
                    .saturating_mul(app.operations as i64)
            )
        ),
        _ => format!(
            " It costs {} of {}{}.",
            format_duration(c),
            format_duration(a.total_ns),
            match a.basis {
                Basis::Streams => " in which bytes were under way that nobody answers",
                _ => " of call time",
            }
        ),
    });
    format!("{who}{part}{detail} ({}).{cost}", cause.rule)
}

fn decapitalise(s: &str) -> String {
    let mut chars = s.chars();
    chars
        .next()
        .map_or(String::new(), |c| c.to_lowercase().chain(chars).collect())
}
