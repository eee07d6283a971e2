//! One sentence out of the findings: the side that time was lost on, and its largest cause.

use crate::facts::{Basis, Facts};
use crate::findings::{Of, Rule};
use crate::results::{Finding, Side, Verdict};
use crate::streams::word;
use model::{format_duration, grouped};

/// A second side with this share of the first's cost makes the verdict `mixed`.
const MIXED: f64 = 0.67;

/// The verdict over `findings`, which are in order.
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
    let sum = |side: Side| -> i64 {
        let own = costed.iter().filter(|f| f.side == side);
        let found: i64 = own.filter_map(|f| f.cost_ns).sum();
        match side {
            // With one of its causes the rest of what the server holds counts too.
            Side::Server if found > 0 => found.max(facts.account.server_ns()),
            _ => found,
        }
    };
    let mut sides = [Side::Client, Side::Network, Side::Server].map(|s| (sum(s), s));
    sides.sort_by_key(|(cost, _)| std::cmp::Reverse(*cost));
    let mixed = !top.fatal && sides[1].0 as f64 >= MIXED * sides[0].0 as f64;
    let side = if mixed {
        Side::Mixed
    } else if top.fatal {
        top.side
    } else {
        sides[0].1
    };
    if top.side == Side::Undetermined {
        return nobodys(top);
    }
    if a_side_is_unknown(facts, sides[0].0, sides[0].1) {
        return undetermined(facts);
    }
    if !top.fatal && !mixed && as_much_is_unknown(facts, sides) {
        return one_part_is_known(facts, top);
    }
    if !top.fatal && facts.are_few_turns() && facts.account.server_ns() > sides[0].0 {
        return few_turns(facts, top);
    }
    // The cause is the largest finding of the side that is named.
    let cause = costed
        .iter()
        .find(|f| mixed || f.side == side)
        .unwrap_or(top);
    Verdict {
        side,
        cause: Some(cause.rule),
        confidence: cause.confidence,
        sentence: match side {
            Side::Mixed if !cause.fatal && facts.app.is_none() => shared(facts, sides, cause),
            side => sentence(facts, side, cause),
        },
    }
}

/// With one capture, whether more time is nobody's for certain than the worst side has.
fn a_side_is_unknown(facts: &Facts<'_>, worst_ns: i64, worst: Side) -> bool {
    facts.account.basis != Basis::Matched
        && unknown_ns(facts, worst) > worst_ns
        && facts.app.is_none()
}

/// What may be another's than this side's. Beyond what one capture at the server shows is the path alone: that
/// is no excuse for the network, nor for who crosses it for little.
fn unknown_ns(facts: &Facts<'_>, side: Side) -> i64 {
    let a = &facts.account;
    // Messages that passed for no reason that shows may have waited for the path.
    let hosts = a.unknown_ns.saturating_add(a.transfer_ns);
    match side {
        Side::Server => hosts.saturating_add(a.beyond_ns),
        Side::Client => hosts,
        _ => a.unknown_ns,
    }
}

/// With one capture, whether what is nobody's for certain may be another side's, which would then share the
/// blame.
fn as_much_is_unknown(facts: &Facts<'_>, [(worst_ns, worst), ..]: [(i64, Side); 3]) -> bool {
    let a = &facts.account;
    // What is certain of the path counts, also where it is too little to be accused by itself.
    let path = match worst {
        Side::Server => a.network_ns(),
        _ => 0,
    };
    let others = unknown_ns(facts, worst).saturating_add(path);
    a.basis != Basis::Matched && others > (MIXED * worst_ns as f64) as i64 && facts.app.is_none()
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
        cause: None,
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
fn shared(facts: &Facts<'_>, sides: [(i64, Side); 3], cause: &Finding) -> String {
    let a = &facts.account;
    let n = a.calls.max(1) as i64;
    let [(first_ns, first), (second_ns, second), _] = sides;
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
