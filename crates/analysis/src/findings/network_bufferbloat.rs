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

use super::Rule;
use super::network_bandwidth::{CLASS, SHOWS};
use super::under_way::{Said, UnderWay};
use crate::facts::Facts;
use crate::results::{Finding, Side};
use model::format_duration;

pub(super) const RULE: Rule = Rule {
    code: "network-bufferbloat",
    title: "a queue on the way is far too long",
    source: include_str!("network_bufferbloat.rs"),
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
    Some(waits.finding(
        &RULE,
        Said {
            title: "A queue on the way is far too long".into(),
            side: Side::Network,
            // Its cost is that of whoever else uses the link.
            cost_ns: None,
            confidence: 0.8,
            numbers: &[
                ("round_trip_min_ns", round_trips.min_ns),
                ("round_trip_p50_ns", round_trips.p50_ns),
            ],
            shows: SHOWS,
            why: format!(
                "While the link was full, round trips took {}, {} more than the path needs: so long is the queue.",
                format_duration(round_trips.p50_ns),
                format_duration(above)
            ),
            remedy: "shorten the queue before the full link: active queue management (fq_codel, CAKE), or a rate limit just below the link's".into(),
        },
    ))
}
