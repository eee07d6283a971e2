//! Waits into a timeline in which each moment belongs to one of them, and into sums.

use super::host::{Host, Step};
use super::wait::{Asked, Ending, Until, Wait, WaitKind};
use super::{ClientStartup, Sum, Waited};
use crate::text::{Text, Value, text};
use model::{Endpoint, Mark, Time};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;

/// Nobody waits longer for an answer without asking again: what comes later has other reasons.
const UNANSWERED_NS: i64 = 30_000_000_000;

/// How a wait ended.
struct End {
    at: Mark,
    by: Text,
}

/// The start-up of a client; `None` when it never waited.
pub(super) fn of(
    mut host: Host,
    addresses: Vec<IpAddr>,
    to: Option<Time>,
) -> Option<ClientStartup> {
    host.finish();
    if host.waits.is_empty() {
        return None;
    }
    let suffixes = suffixes(&host.waits);
    let ends: Vec<End> = host.waits.iter().map(|w| end(w, &host)).collect();
    let last = to.map_or(host.last.time, |to| host.last.time.min(to));
    let first = host.first.min(last);
    let (costs, gaps) = divide(&host.waits, &ends, first, last);
    let mut waits: Vec<Waited> = host
        .waits
        .iter()
        .zip(ends)
        .zip(costs)
        .map(|((wait, end), cost_ns)| Waited {
            kind: wait.kind,
            ending: wait.ending,
            server: Some(wait.server),
            what: match suffixes.get(&wait.what) {
                Some(suffix) => text!(
                    "{asked} (search suffix {suffix})",
                    asked = wait.what.words(),
                    suffix = Value::Host(Arc::clone(suffix)),
                ),
                None => wait.what.words(),
            },
            ended_by: end.by,
            first: wait.begun.time,
            elapsed_ns: (end.at.time - wait.begun.time).max(0),
            cost_ns,
            begun: wait.begun.packet,
            ended: end.at.packet,
        })
        .collect();
    waits.extend(gaps.into_iter().map(|(begun, ended)| Waited {
        kind: WaitKind::Client,
        ending: Ending::Itself,
        server: None,
        what: "nothing on the wire".into(),
        ended_by: Text::default(),
        first: begun.time,
        elapsed_ns: ended.time - begun.time,
        cost_ns: ended.time - begun.time,
        begun: begun.packet,
        ended: ended.packet,
    }));
    waits.sort_by_key(|w| (w.first, w.begun));
    Some(ClientStartup {
        addresses,
        first,
        last,
        goes_on: host.goes_on,
        is_client: host.is_client,
        reasons: sums(&waits, |_| None),
        servers: sums(&waits, |w| w.server),
        waits,
    })
}

/// When a wait was over, and by what.
fn end(wait: &Wait, host: &Host) -> End {
    let begun = wait.begun;
    let capped = |at: Mark| match at.time - begun.time > UNANSWERED_NS {
        true => Mark {
            time: begun.time + UNANSWERED_NS,
            packet: at.packet,
        },
        false => at,
    };
    let behind = |at: Mark| {
        let from = host.steps.partition_point(|s| s.at.time <= at.time);
        host.steps.get(from..).unwrap_or_default()
    };
    match wait.until {
        Until::At(at) => End {
            at,
            by: wait.answer.clone(),
        },
        Until::NextStep => match behind(begun).first() {
            Some(next) => End {
                at: capped(next.at),
                by: text!(
                    "no answer; went on with {next}",
                    next = describe(next, wait)
                ),
            },
            None => End {
                at: capped(host.last),
                by: "no answer; nothing new followed".into(),
            },
        },
        Until::NextAttempt(answered) => {
            let again = |s: &&Step| {
                s.kind == WaitKind::Connect
                    && s.server.port == wait.server.port
                    && s.at.time - answered.time <= UNANSWERED_NS
            };
            let pause = |s: &Step| Value::Duration(s.at.time - answered.time);
            let answer = wait.answer.clone();
            match behind(answered).iter().find(again) {
                Some(next) if next.server == wait.server => End {
                    at: next.at,
                    by: text!(
                        "{answer}; tried again after {pause}",
                        answer = answer,
                        pause = pause(next),
                    ),
                },
                Some(next) => End {
                    at: next.at,
                    by: text!(
                        "{answer}; went on with {next} after {pause}",
                        answer = answer,
                        next = describe(next, wait),
                        pause = pause(next),
                    ),
                },
                None => End {
                    at: answered,
                    by: wait.answer.clone(),
                },
            }
        }
    }
}

/// The next step, in words.
fn describe(next: &Step, after: &Wait) -> Text {
    let Endpoint { address, port } = next.server;
    match next.kind {
        WaitKind::Arp => text!("the hardware address of {address}", address = address),
        WaitKind::Connect => {
            let fell_back = after.kind == WaitKind::Connect
                && after.server.address.is_ipv6()
                && address.is_ipv4();
            let how = if fell_back { " (back to IPv4)" } else { "" };
            text!(
                "a connection to {server}{how}",
                server = next.server,
                how = how
            )
        }
        WaitKind::Broadcast => text!("a broadcast to port {port}", port = port),
        _ => text!(
            "{asked} at {address}",
            asked = next.what.words(),
            address = address
        ),
    }
}

/// Names that were also asked for without their end, and that end.
fn suffixes(waits: &[Wait]) -> BTreeMap<Asked, Arc<str>> {
    let dns = waits.iter().filter(|w| w.kind == WaitKind::Dns);
    let name = |w: &Asked| w.name.clone();
    let asked: BTreeSet<(&str, Arc<str>)> = dns
        .clone()
        .filter_map(|w| Some((&*w.what.op, name(&w.what)?)))
        .collect();
    let suffix = |what: &Asked| -> Option<Arc<str>> {
        let name = what.name.as_deref()?;
        let dots = name.match_indices('.');
        dots.map(|(at, _)| name.split_at(at))
            .find(|(head, _)| asked.contains(&(&*what.op, Arc::from(*head))))
            .map(|(_, rest)| rest.trim_start_matches('.').into())
    };
    dns.filter_map(|w| Some((w.what.clone(), suffix(&w.what)?)))
        .collect()
}

/// What each wait is charged with of the time from `first` to `last`, and the stretches in which there was
/// none.
fn divide(waits: &[Wait], ends: &[End], first: Time, last: Time) -> (Vec<i64>, Vec<(Mark, Mark)>) {
    // At each moment the ends come before the beginnings.
    let mut events: Vec<(Time, bool, usize, Mark)> = Vec::new();
    for (i, (wait, end)) in waits.iter().zip(ends).enumerate() {
        if end.at.time > wait.begun.time {
            events.push((wait.begun.time, true, i, wait.begun));
            events.push((end.at.time, false, i, end.at));
        }
    }
    events.sort_unstable();
    let mut costs = vec![0; waits.len()];
    let mut gaps = Vec::new();
    let mut active: BTreeSet<(u8, Reverse<Time>, Reverse<usize>)> = BTreeSet::new();
    let key = |i: usize| {
        let wait = waits.get(i)?;
        Some((wait.rank(), Reverse(wait.begun.time), Reverse(i)))
    };
    let packet = |e: &(Time, bool, usize, Mark)| e.3.packet;
    let mut reached = Mark {
        time: first,
        packet: events.first().map(packet).unwrap_or_default(),
    };
    let mut charge =
        |active: &BTreeSet<(u8, Reverse<Time>, Reverse<usize>)>, from: Mark, to: Mark| {
            if to.time <= from.time {
                return;
            }
            match active.first() {
                Some((_, _, Reverse(i))) => {
                    if let Some(cost) = costs.get_mut(*i) {
                        *cost += to.time - from.time;
                    }
                }
                None => gaps.push((from, to)),
            }
        };
    for (time, begins, i, mark) in events {
        let now = Mark {
            time: time.max(first).min(last),
            packet: mark.packet,
        };
        charge(&active, reached, now);
        if now.time >= reached.time {
            reached = now;
        }
        if let Some(key) = key(i) {
            match begins {
                true => active.insert(key),
                false => active.remove(&key),
            };
        }
    }
    let end = Mark {
        time: last,
        packet: reached.packet,
    };
    charge(&active, reached, end);
    (costs, gaps)
}

/// Sums by kind, ending and what `server` says, the costliest first.
fn sums(waits: &[Waited], server: impl Fn(&Waited) -> Option<Endpoint>) -> Vec<Sum> {
    let mut sums: BTreeMap<(WaitKind, Ending, Option<Endpoint>), Sum> = BTreeMap::new();
    let mut dearest: BTreeMap<(WaitKind, Ending, Option<Endpoint>), i64> = BTreeMap::new();
    for (i, wait) in waits.iter().enumerate() {
        let key = (wait.kind, wait.ending, server(wait));
        let sum = sums.entry(key).or_insert(Sum {
            kind: wait.kind,
            ending: wait.ending,
            server: key.2,
            count: 0,
            cost_ns: 0,
            worst: i,
        });
        sum.count += 1;
        sum.cost_ns += wait.cost_ns;
        let dearest = dearest.entry(key).or_insert(i64::MIN);
        if wait.cost_ns > *dearest {
            (*dearest, sum.worst) = (wait.cost_ns, i);
        }
    }
    let mut sums: Vec<Sum> = sums.into_values().collect();
    sums.sort_by_key(|s| (Reverse(s.cost_ns), s.kind, s.ending, s.server));
    sums
}
