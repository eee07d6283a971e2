//! A verdict over two captures, into what is true of it where a proxy ends connections between them and opens others: what
//! calls take from one capture to the other is the network's or the proxy's, and how long the network takes from either end
//! to the proxy and back is what its hosts acknowledge.

use super::HARDLY;
use crate::facts::Facts;
use crate::findings::Rule;
use crate::path::ways_to_proxy;
use crate::results::{Finding, Side, Verdict};
use crate::text::{Text, Value, text};
use ledger::Bounds;

/// What lies between both captures of a call, and how long the ways to the proxy and back take, from the client and from the
/// server.
struct Between {
    ns: i64,
    ways: [Bounds; 2],
}

impl Between {
    fn of(facts: &Facts<'_>) -> Option<Between> {
        let ways = |capture: Option<usize>| facts.captures.get(capture?).map(|c| &c.ways);
        Some(Between {
            ns: facts.matched?.mean_difference_ns(),
            ways: ways_to_proxy(ways(facts.client)?, ways(facts.server)?),
        })
    }

    /// How long the network takes of it, at most.
    fn network_most_ns(&self) -> Option<i64> {
        self.ways.iter().map(|way| way.hi_ns).sum()
    }

    fn network_least_ns(&self) -> i64 {
        self.ways.iter().map(|way| way.lo_ns).sum()
    }

    /// Whose it is, where its ways tell.
    fn told(&self, all_ns: i64) -> Option<Text> {
        let most_ns = self.network_most_ns()?;
        let held_ns = self.ns - most_ns;
        let [Some(to_client), Some(to_server)] = self.ways.map(|way| way.hi_ns) else {
            return None;
        };
        (held_ns > self.ns / 2).then(|| {
            text!(
                "The PROXY between both captures is slow: of {all} per call it holds {held} at least. To it and back the network takes {client} from the client and {server} from the server, at most.",
                all = Value::Duration(all_ns),
                held = Value::Duration(held_ns),
                client = Value::Duration(to_client),
                server = Value::Duration(to_server),
            )
        })
    }
}

/// What must be said instead.
#[must_use]
pub fn across_proxy(verdict: Verdict, facts: &Facts<'_>) -> Verdict {
    // What was lost where packets were captured is the network's all the same.
    let is_lost = matches!(verdict.cause, Some(Rule::NetworkLoss | Rule::NetworkOutage));
    let all_ns = facts.response().mean_ns();
    let is_most = |between: &Between| between.ns > all_ns / 2;
    let is_told = matches!(verdict.side, Side::Network | Side::Undetermined) && !is_lost;
    match Between::of(facts).filter(is_most) {
        Some(between) if is_told => of_between(verdict, &between, all_ns),
        _ => verdict,
    }
}

/// The same of calls that take so long on average.
fn of_between(verdict: Verdict, between: &Between, all_ns: i64) -> Verdict {
    if between.network_least_ns() > between.ns / 2 {
        return verdict;
    }
    let sentence = between.told(all_ns).unwrap_or_else(|| {
        text!(
            "Of {all} per call {between} lie between both captures, where a proxy ends connections and opens others: it is the proxy or the network. Capture at the proxy, too.",
            all = Value::Duration(all_ns),
            between = Value::Duration(between.ns),
        )
    });
    Verdict {
        side: Side::Undetermined,
        cause: None,
        confidence: verdict.confidence.min(HARDLY),
        sentence,
    }
}

/// Findings where a proxy is between both captures: what lies between them may be its.
#[must_use]
pub fn nobodys_delay(mut findings: Vec<Finding>) -> Vec<Finding> {
    let delays = findings.iter_mut().filter(|f| f.rule == Rule::NetworkDelay);
    delays.for_each(|f| f.side = Side::Undetermined);
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    /// What becomes of an accusation of the network for 40 ms of 42, where its ways take so long.
    fn told(ways: [(i64, Option<i64>); 2]) -> (Side, String) {
        let accused = Verdict {
            side: Side::Network,
            cause: Some(Rule::NetworkDelay),
            confidence: 0.9,
            sentence: "The NETWORK is slow.".into(),
        };
        let between = Between {
            ns: 40 * MS,
            ways: ways.map(|(lo, hi)| Bounds {
                lo_ns: lo * MS,
                hi_ns: hi.map(|hi| hi * MS),
            }),
        };
        let verdict = of_between(accused, &between, 42 * MS);
        (verdict.side, verdict.sentence.to_string())
    }

    #[test]
    fn the_ways_to_a_proxy_tell_whether_it_is_the_proxy() {
        let (side, said) = told([(0, Some(2)), (1, Some(3))]);
        assert_eq!(side, Side::Undetermined);
        assert!(said.starts_with("The PROXY between both captures is slow: of 42.0 ms per call it holds 35.0 ms at least."), "{said}");
        let network = (Side::Network, "The NETWORK is slow.".to_owned());
        assert_eq!(told([(25, Some(41)), (0, Some(1))]), network);
    }

    #[test]
    fn where_the_ways_are_not_known_it_is_either() {
        for ways in [
            [(0, None), (0, None)],
            [(0, None), (0, Some(1))],
            // At most most of it, at least little.
            [(1, Some(30)), (0, Some(1))],
        ] {
            let (side, said) = told(ways);
            assert_eq!(side, Side::Undetermined);
            assert!(
                said.starts_with("Of 42.0 ms per call 40.0 ms lie between both captures"),
                "{said}"
            );
        }
    }
}
