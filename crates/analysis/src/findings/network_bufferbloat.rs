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

use super::{Rule, evidence, network_bandwidth};
use crate::facts::Facts;
use crate::results::{Fact, Finding, Side};
use crate::streams::DIRECTIONS;
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
    let class = network_bandwidth::CLASS;
    let d = DIRECTIONS
        .into_iter()
        .max_by_key(|d| facts.under_way(*d, class))?;
    let longest = facts.streams.longest(d, class);
    let rtt = longest.first()?.connection.directions[d.index()]
        .account
        .rtt;
    let above = rtt.p50_ns - rtt.min_ns;
    if !facts.holds_up(facts.under_way(d, class))
        || rtt.p50_ns < rtt.min_ns.saturating_mul(TIMES)
        || above < ABOVE_NS
    {
        return None;
    }
    Some(Finding {
        code: RULE.code,
        title: "A queue on the way is far too long".into(),
        side: Side::Network,
        // Its cost is that of whoever else uses the link.
        cost_ns: None,
        elapsed_cost_ns: None,
        fatal: false,
        confidence: 0.8,
        first: longest.iter().map(|l| l.wait.first.time).min(),
        last: longest.iter().map(|l| l.wait.last.time).max(),
        facts: vec![
            Fact { name: "round_trip_min_ns", value: rtt.min_ns },
            Fact { name: "round_trip_p50_ns", value: rtt.p50_ns },
        ],
        evidence: evidence::of_waits(facts, d, class, "the beginning and the end of the longest stretch in which packets queued"),
        why: format!(
            "While the link was full, round trips took {}, {} more than the path needs: so long is the queue.",
            format_duration(rtt.p50_ns),
            format_duration(above)
        ),
        remedy: vec!["shorten the queue before the full link: active queue management (fq_codel, CAKE), or a rate limit just below the link's".into()],
    })
}
