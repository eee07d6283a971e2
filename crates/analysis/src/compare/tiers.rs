//! Hosts that worked for others with calls of their own, in both runs, into what of their work lies beneath those now.
//!
//! A host is known by its address, and where each run has one that the other has not, these are the same that moved.

use super::compared;
use super::kept::{Kept, KeptTier};
use super::result::TierChange;

pub(super) fn changes(runs: [&Kept; 2]) -> Vec<TierChange> {
    let [mut before, mut now] = runs.map(|r| r.tiers.iter().collect::<Vec<_>>());
    let mut pairs = Vec::new();
    now.retain(|b| {
        let known = before.iter().position(|a| a.tier.host == b.tier.host);
        let Some(a) = known.map(|at| before.remove(at)) else {
            return true;
        };
        pairs.push([Some(a), Some(*b)]);
        false
    });
    match (before.as_slice(), now.as_slice()) {
        ([a], [b]) => pairs.push([Some(*a), Some(*b)]),
        _ => {
            pairs.extend(now.into_iter().map(|b| [None, Some(b)]));
            pairs.extend(before.into_iter().map(|a| [Some(a), None]));
        }
    }
    let beneath = |of: &Option<&KeptTier>| of.map(|t| t.tier.least_ns);
    pairs.sort_by_key(|[a, b]| std::cmp::Reverse((beneath(b), beneath(a))));
    pairs.into_iter().map(change).collect()
}

fn change(pair: [Option<&KeptTier>; 2]) -> TierChange {
    let own = pair.map(|of| of.and_then(|t| t.own.as_ref()));
    TierChange {
        tiers: pair.map(|of| of.map(|t| t.tier.clone())),
        own: match own {
            [Some(a), Some(b)] => Some(Box::new(compared([a, b], None, Vec::new()))),
            _ => None,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::tests::plain;
    use crate::tiers::{Asks, Tier};
    use model::Endpoint;

    fn of(host: u8, asked: u64, beneath_ms: [i64; 2]) -> KeptTier {
        let [least_ns, most_ns] = beneath_ms.map(|ms| ms * 1_000_000);
        KeptTier {
            tier: Tier {
                host: [10, 0, 0, host].into(),
                below: Endpoint {
                    address: [10, 9, 0, 3].into(),
                    port: 2049,
                },
                what: Asks::Calls,
                others: 0,
                asked,
                asks: asked,
                calls: asked,
                names: 0,
                unanswered: 0,
                work_ns: 2 * most_ns,
                least_ns,
                most_ns,
            },
            own: None,
        }
    }

    fn changed(before: Vec<KeptTier>, now: Vec<KeptTier>) -> Vec<TierChange> {
        let [before, now] = [before, now].map(|tiers| Kept {
            tiers,
            ..Kept::from(plain())
        });
        changes([&before, &now])
    }

    #[test]
    fn a_host_is_known_by_its_address_and_else_as_the_only_one_that_moved() {
        let known = |c: &TierChange| c.tiers.each_ref().map(Option::is_some);
        let same = changed(vec![of(1, 10, [10, 10])], vec![of(1, 10, [60, 60])]);
        assert_eq!(same.iter().map(known).collect::<Vec<_>>(), [[true, true]]);
        let moved = changed(vec![of(1, 10, [10, 10])], vec![of(2, 10, [60, 60])]);
        assert_eq!(moved.iter().map(known).collect::<Vec<_>>(), [[true, true]]);
        let others = changed(
            vec![of(1, 10, [10, 10])],
            vec![of(2, 10, [60, 60]), of(3, 10, [90, 90])],
        );
        let known: Vec<_> = others.iter().map(known).collect();
        assert_eq!(known, [[false, true], [false, true], [true, false]]);
    }

    #[test]
    fn what_lies_beneath_more_for_certain_is_what_bounds_leave() {
        let added = |before, now| {
            let changes = changed(vec![of(1, 10, before)], vec![of(1, 20, now)]);
            changes[0].added_each_ns()
        };
        // 1 ms a request, then 3 ms.
        assert_eq!(added([10, 10], [60, 60]), 2_000_000);
        assert_eq!(added([60, 60], [20, 20]), -5_000_000);
        // 1 to 2 ms, then 2 to 3.
        assert_eq!(added([10, 20], [40, 60]), 0);
        assert_eq!(added([10, 20], [50, 60]), 500_000);
    }
}
