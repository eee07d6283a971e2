//! # What it says
//! A queue on the way is so long that everything behind it waits a multiple of the
//! path's own round trip (bufferbloat).
//!
//! # Why it costs time
//! Not the transfer that fills the queue: that one runs at the link's rate either
//! way. But every other call over the same link waits for the whole queue, each
//! time.
//!
//! # How sure
//! Said of connections that fill a link (network-bandwidth) and whose median round
//! trip is four times and 50 ms above the shortest.
//!
//! # What to check next
//! The buffer of the device before the full link; active queue management
//! (fq_codel, CAKE, RED) there, or a rate limit a little below the link's at the
//! sender.
//!
//! # When it is wrong
//! Links that send nothing for a while (wireless, satellite) stretch round trips
//! too.

use super::network_bandwidth::{CLASS, SHOWS};
use super::under_way::UnderWay;
use super::{Entry, Of, Rule, numbers};
use crate::facts::Facts;
use crate::results::{Finding, Side};
use crate::text::{Value, text};

pub(super) const ENTRY: Entry = Entry {
    code: "network-bufferbloat",
    title: "a queue on the way is far too long",
    side: Some(Side::Network),
    of: Of::Bytes,
    sure: [0.8, 0.8],
    page: page!("network_bufferbloat.rs"),
    check,
};

const TIMES: i64 = 4;
const ABOVE_NS: i64 = 50_000_000;

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let (waits, _) = UnderWay::guilty(facts, CLASS)?;
    let round_trips = waits.round_trips;
    let above = round_trips.p50_ns - round_trips.min_ns;
    if round_trips.p50_ns < round_trips.min_ns.saturating_mul(TIMES) || above < ABOVE_NS {
        return None;
    }
    Some(Finding {
        title: "A queue on the way is far too long".into(),
        // Its cost is that of whoever else uses the link.
        facts: numbers([
            ("round_trip_min_ns", round_trips.min_ns),
            ("round_trip_p50_ns", round_trips.p50_ns),
        ]),
        why: text!(
            "While the link was full, round trips took {usual}, {above} more than the path needs: so long is the queue.",
            usual = Value::Duration(round_trips.p50_ns),
            above = Value::Duration(above),
        ),
        remedy: vec!["shorten the queue before the full link: active queue management (fq_codel, CAKE), or a rate limit just below the link's".into()],
        ..waits.finding(Rule::NetworkBufferbloat, SHOWS)
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{MS, TOTAL_NS, connection, found, mark};
    use super::*;
    use crate::diagnose::Kind;
    use model::{RoundTrips, Wait};

    fn queue(least_ns: i64, usual_ns: i64) -> Option<Finding> {
        found(Rule::NetworkBufferbloat, |f| {
            let mut c = connection();
            let account = &mut c.directions[1].account;
            account.longest[CLASS] = Some(Wait {
                first: mark(1),
                last: mark(9),
                ns: 8 * MS,
            });
            account.rtt = RoundTrips {
                min_ns: least_ns,
                p50_ns: usual_ns,
                ..RoundTrips::default()
            };
            f.kind = Kind::Turns;
            f.streams.connections = vec![c];
            f.account.under_way[1][CLASS] = TOTAL_NS / 2;
        })
    }

    #[test]
    fn a_queue_many_times_the_path_is_far_too_long() {
        let f = queue(20 * MS, 400 * MS).unwrap();
        assert_eq!((f.side, f.cost_ns), (Side::Network, None));
        assert!(f.why.to_string().contains("400 ms, 380 ms more"));
    }

    #[test]
    fn a_short_one_is_as_it_should_be() {
        assert!(queue(20 * MS, 30 * MS).is_none());
    }

    #[test]
    fn four_times_the_path_and_50_ms_are_enough() {
        assert!(queue(20 * MS, 80 * MS).is_some());
        assert!(queue(20 * MS, 80 * MS - 1).is_none());
        assert!(queue(MS, 51 * MS).is_some());
        assert!(queue(MS, 51 * MS - 1).is_none());
    }
}
