//! # What it says
//! A link on the way is full: the sender sends as acknowledgements come, and round
//! trips are longer than the path needs because packets queue before that link.
//!
//! # Why it costs time
//! Bytes pass at the rate of the slowest link, or of what others leave of it.
//!
//! # How sure
//! Time counts in which each segment was released by an acknowledgement, the
//! window had room, and round trips were a quarter and 2 ms above the shortest. It
//! needs a capture at the sender. Of calls seen there it counts where all that was
//! in flight passed at one rate, how much ever that was: the rate of a link. A
//! request is charged with how much later its own bytes were acknowledged than the
//! soonest, a message longer than a round trip with what it took to leave. Of
//! calls seen in both captures it counts how long a message took to leave and to
//! arrive: where most arrive twice as slowly as they left, all at one rate, that
//! is the rate of a link. It is charged with the bytes' time on it and, if it was
//! busy half of the time, with the queue before it. Where bytes come to, time
//! counts in which segment after segment came later than else by its sender's own
//! time stamps, each of which had left before the one before it came.
//!
//! # What to check next
//! The utilization of every link on the way at that time; rate limits and policers
//! (virtual machines and clouds have them); whose traffic shares the link.
//!
//! # When it is wrong
//! A receiver that becomes slow to acknowledge stretches round trips as well.

use super::under_way::UnderWay;
use super::{Entry, Of, Rule, evidence, numbers, whole};
use crate::diagnose::Kind;
use crate::facts::Facts;
use crate::narrowest::Link;
use crate::results::{Finding, Side};
use crate::streams::{receiver, sender};
use crate::text::{Value, text};
use ledger::FullLine;
use model::{Direction, EpisodeKind, TimeClass};

pub(super) const ENTRY: Entry = Entry {
    code: "network-bandwidth",
    title: "a link on the way is full",
    side: Some(Side::Network),
    of: Of::Bytes,
    sure: [0.85, 0.85],
    page: page!("network_bandwidth.rs"),
    check,
};

pub(super) const CLASS: TimeClass = TimeClass::Bandwidth;
pub(super) const SHOWS: &str =
    "the beginning and the end of the longest stretch in which packets queued";

const REMEDY: &str = "find the link that is full at that time, or the limit set on it (policer, virtual machine, cloud), and who shares it";

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let of = |d: Direction| facts.under_way(d, CLASS);
    let cost = Direction::BOTH.into_iter().map(of).sum();
    if !facts.holds_up(cost) {
        return None;
    }
    let worst = Direction::BOTH.into_iter().max_by_key(|d| of(*d))?;
    let found = match facts.kind {
        Kind::Turns => of_streams(facts),
        Kind::Calls => of_calls(facts, worst),
    };
    Some(Finding {
        title: "A link on the way is full".into(),
        cost_ns: Some(cost),
        remedy: vec![REMEDY.into()],
        ..found.or_else(|| of_queue(facts, worst))?
    })
}

/// What the connections' accounts say of plain streams.
fn of_streams(facts: &Facts<'_>) -> Option<Finding> {
    let waits = UnderWay::most(facts, CLASS, |d| facts.under_way(d, CLASS))?;
    let (rate, round_trips) = (whole(waits.goodput_bps), waits.round_trips);
    Some(Finding {
        facts: numbers([
            ("goodput_bps", rate),
            ("round_trip_min_ns", round_trips.min_ns),
            ("round_trip_p50_ns", round_trips.p50_ns),
        ]),
        why: text!(
            "The sender was held back by the path alone, {rate} passed, and round trips took {usual} instead of {least}.",
            rate = Value::Rate(rate),
            usual = Value::Duration(round_trips.p50_ns),
            least = Value::Duration(round_trips.min_ns),
        ),
        ..waits.finding(Rule::NetworkBandwidth, SHOWS)
    })
}

/// What the messages of matched calls say, and what acknowledgements say at their senders.
fn of_calls(facts: &Facts<'_>, worst: Direction) -> Option<Finding> {
    match facts.links.iter().find(|link| link.direction == worst) {
        Some(link) => of_messages(facts, link),
        None => of_line(facts, worst),
    }
}

fn of_line(facts: &Facts<'_>, d: Direction) -> Option<Finding> {
    let paced = facts.at_sender(d).paced.values();
    let lines = paced.filter_map(|paced| {
        let paced = paced[d.index()]?;
        Some((paced.line?, paced.round_trip_ns))
    });
    // The widest alone, before those that are shared.
    let (line, least_ns) = lines.reduce(|a, b| match (a.0, b.0) {
        (FullLine::Alone(one), FullLine::Alone(other)) => {
            (FullLine::Alone(one.max(other)), a.1.min(b.1))
        }
        (FullLine::Shared(_), line) | (line, FullLine::Shared(_)) => (line, a.1.min(b.1)),
    })?;
    let waiting = match d {
        Direction::ToServer => "requests",
        Direction::ToClient => "responses",
    };
    let least = ("round_trip_min_ns", least_ns);
    let (known, why) = match line {
        FullLine::Alone(rate) => (
            numbers([("link_bps", rate), least]),
            text!(
                "Whatever the {from} has in flight is acknowledged at {rate}: the rate of a link, before which {waiting} wait for what was sent before.",
                from = sender(d),
                rate = Value::Rate(rate),
                waiting = waiting,
            ),
        ),
        FullLine::Shared(_) => (
            numbers([least]),
            text!(
                "The {from} sends as acknowledgements come, with room in the window, and round trips are longer than the {least} that the path needs: {waiting} wait in a queue before a link on the way, which others share.",
                from = sender(d),
                waiting = waiting,
                least = Value::Duration(least_ns),
            ),
        ),
    };
    let slowest = facts.worst.network;
    Some(Finding {
        confidence: 0.85,
        first: slowest.first,
        last: slowest.last,
        facts: known,
        evidence: evidence::of_calls(
            facts,
            slowest,
            "request and reply of calls that waited longest",
        ),
        why,
        ..Rule::NetworkBandwidth.finding()
    })
}

/// Where bytes come to, by their sender's time stamps.
fn of_queue(facts: &Facts<'_>, d: Direction) -> Option<Finding> {
    let seen = facts
        .captures
        .iter()
        .map(|c| &c.episodes[d.index()][EpisodeKind::Queued]);
    let longest = seen
        .max_by_key(|queued| queued.ns)
        .filter(|queued| queued.ns > 0)?;
    Some(Finding {
        confidence: 0.85,
        first: longest.worst.first,
        last: longest.worst.last,
        facts: numbers([("queued_ns", longest.ns)]),
        evidence: evidence::of_calls(facts, &longest.worst, SHOWS),
        why: text!(
            "By its own time stamps what the {from} sends had left it when it came to the {to}, later than else and segment after segment, for {queued}: it stood in a queue before a link on the way.",
            from = sender(d),
            to = receiver(d),
            queued = Value::Duration(longest.ns),
        ),
        ..Rule::NetworkBandwidth.finding()
    })
}

fn of_messages(facts: &Facts<'_>, link: &Link) -> Option<Finding> {
    let slowest = facts.matched?.narrowest[link.direction.index()].slowest();
    let busy = link.busy_ns.saturating_mul(100) / link.elapsed_ns.max(1);
    Some(Finding {
        first: slowest.first,
        last: slowest.last,
        facts: numbers([("link_bps", link.rate_bps), ("link_busy_ns", link.busy_ns)]),
        evidence: evidence::of_calls(
            facts,
            slowest,
            "the first and the last packet of messages that passed slowest",
        ),
        why: text!(
            "What the {from} sends at once reaches the {to} at {rate}, message after message: the rate of a link, which the connections kept busy {busy} of the time.",
            from = sender(link.direction),
            to = receiver(link.direction),
            rate = Value::Rate(link.rate_bps),
            busy = Value::Percent(busy),
        ),
        ..Rule::NetworkBandwidth.finding()
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{TOTAL_NS, found};
    use super::*;
    use ledger::Paced;
    use model::{ConnectionId, Direction, Pace};

    fn full(cost_ns: i64) -> Option<Finding> {
        found(Rule::NetworkBandwidth, |f| {
            f.links = vec![Link {
                direction: Direction::ToClient,
                rate_bps: 10_000_000,
                busy_ns: TOTAL_NS / 2,
                elapsed_ns: TOTAL_NS,
            }];
            f.account.under_way[Direction::ToClient.index()][CLASS] = cost_ns;
        })
    }

    #[test]
    fn a_link_that_holds_calls_up_is_full() {
        let f = full(TOTAL_NS / 2).unwrap();
        assert_eq!((f.side, f.cost_ns), (Side::Network, Some(TOTAL_NS / 2)));
        let why = f.why.to_string();
        assert!(
            why.contains("reaches the client at 10.0 Mbit/s") && why.contains("50 %"),
            "{why}"
        );
    }

    #[test]
    fn what_comes_late_segment_after_segment_stood_in_a_queue() {
        let queued = |ns| {
            found(Rule::NetworkBandwidth, |f| {
                f.held(Direction::ToClient, EpisodeKind::Queued, 10, ns);
            })
        };
        let f = queued(TOTAL_NS / 2).unwrap();
        assert_eq!((f.side, f.cost_ns), (Side::Network, Some(TOTAL_NS / 2)));
        let why = f.why.to_string();
        assert!(
            why.contains("By its own time stamps what the server sends had left it"),
            "{why}"
        );
        assert!(queued(TOTAL_NS / 5).is_none());
    }

    #[test]
    fn a_line_that_paces_its_sender_is_full() {
        let f = found(Rule::NetworkBandwidth, |f| {
            let paced = Paced::of(Pace::Unknown, 2_000_000, Some(FullLine::Alone(50_000_000)));
            f.captures[1].paced.insert(ConnectionId(1), [None, paced]);
            f.account.under_way[Direction::ToClient.index()][CLASS] = TOTAL_NS / 2;
        });
        let why = f.unwrap().why.to_string();
        assert!(
            why.contains("Whatever the server has in flight is acknowledged at 50.0 Mbit/s")
                && why.contains("before which responses wait"),
            "{why}"
        );
    }

    #[test]
    fn a_line_that_others_share_has_no_rate() {
        let f = found(Rule::NetworkBandwidth, |f| {
            let paced = Paced::of(Pace::Unknown, 2_000_000, Some(FullLine::Shared(5_000_000)));
            f.captures[0].paced.insert(ConnectionId(1), [paced, None]);
            f.account.under_way[Direction::ToServer.index()][CLASS] = TOTAL_NS / 2;
        });
        let why = f.unwrap().why.to_string();
        assert!(
            why.contains("requests wait in a queue before a link on the way"),
            "{why}"
        );
    }

    #[test]
    fn without_a_link_none_is() {
        assert!(found(Rule::NetworkBandwidth, |_| ()).is_none());
    }

    #[test]
    fn a_quarter_of_the_time_is_enough() {
        assert!(full(TOTAL_NS / 4).is_some());
        assert!(full(TOTAL_NS / 4 - 1).is_none());
    }
}
