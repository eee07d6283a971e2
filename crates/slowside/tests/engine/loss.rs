//! What the capture did not keep: calls may go missing or be half known, but none is made up and
//! none gets the times of another.

use crate::kit::{Plan, Row, Script, Wire, rows_of};
use proptest::prelude::*;
use testkit::{Random, faults};

/// Complains of calls that nobody made and of complete ones with wrong times or results.
fn check(rows: &[Row], truth: &[Row]) -> Result<(), TestCaseError> {
    for row in rows {
        let mut same = truth.iter().filter(|t| t.id == row.id);
        prop_assert!(same.clone().next().is_some(), "nobody made {row:?}");
        if row.is_complete() {
            prop_assert!(
                same.any(|t| t.times == row.times
                    && (row.op == t.op || row.op.is_empty() || row.op == "CALL")),
                "no call has the times of {row:?}"
            );
        }
    }
    prop_assert!(
        rows.iter().filter(|r| r.is_complete()).count() <= truth.len(),
        "more calls than were made"
    );
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn no_snap_length_invents_calls(seed: u64, snaplen in 14usize..1_600, mss in 200usize..20_000) {
        let script = Script::new(Plan::default(), &mut Random::new(seed));
        let packets = script.packets(Wire { mss, ..Wire::default() });
        check(&rows_of(&faults::snap(&packets, snaplen)), &script.truth)?;
    }

    #[test]
    fn what_the_capture_lost_never_pairs_wrongly(
        seed: u64,
        share in 1u32..400,
    ) {
        let plan = Plan { calls: 80, ..Plan::default() };
        let mut random = Random::new(seed);
        let script = Script::new(plan, &mut random);
        let packets = faults::lose(&script.packets(Wire::default()), share, &mut random);
        check(&rows_of(&packets), &script.truth)?;
    }

    #[test]
    fn cut_and_incomplete_captures_never_pair_wrongly(
        seed: u64,
        // Record mark, XID and message type: with less, any data may look like a header.
        snaplen in 66usize..400,
        share in 1u32..200,
    ) {
        let plan = Plan { calls: 60, ..Plan::default() };
        let mut random = Random::new(seed);
        let script = Script::new(plan, &mut random);
        let packets = faults::merge(&script.packets(Wire::default()), 16_000);
        let packets = faults::snap(&faults::lose(&packets, share, &mut random), snaplen);
        check(&rows_of(&packets), &script.truth)?;
    }

    #[test]
    fn a_capture_that_starts_late_or_stops_early_has_the_calls_within(seed: u64, from in 0usize..200, to in 0usize..200) {
        let script = Script::new(Plan::default(), &mut Random::new(seed));
        let packets = script.packets(Wire::default());
        let end = packets.len().saturating_sub(to).max(1);
        let part = packets.get(from.min(end - 1)..end).unwrap_or_default();
        check(&rows_of(part), &script.truth)?;
    }
}

#[test]
fn headers_within_the_snap_length_are_enough_for_every_call() {
    let plan = Plan {
        pipelined: 1,
        ..Plan::default()
    };
    let script = Script::new(plan, &mut Random::new(3));
    let packets = script.packets(Wire::default());
    let rows = rows_of(&faults::snap(&packets, 256));
    assert_eq!(rows, script.truth);
}
