//! What the capture did not keep: calls may go missing or be half known, but none is made up and
//! none gets the times of another.

use crate::kit::{MILLISECOND, Plan, Row, Script, Wire, diagnosis_of, rows_of};
use proptest::prelude::*;
use testkit::{Random, faults};

/// Complains of calls that nobody made and of complete ones with wrong times or results.
fn check(rows: &[Row], truth: &[Row]) -> Result<(), TestCaseError> {
    for row in rows {
        // Whose XID is hidden has a place in the stream in its stead, and is known by when it was sent.
        let is_hidden = row.op == "CALL";
        let sent = |t: &Row| is_hidden && t.times[0] == row.times[0];
        let mut same = truth.iter().filter(|t| t.id == row.id || sent(t));
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

    /// Two bytes of a segment show where messages begin, and of none its XID.
    #[test]
    fn calls_whose_ids_are_hidden_are_known_by_their_times(seed: u64, snaplen in 54usize..64) {
        let script = Script::new(Plan::default(), &mut Random::new(seed));
        let packets = script.packets(Wire { mss: 200, ..Wire::default() });
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

/// Replies that stand behind others in one packet, both ends: how long their calls waited in all is what is said of all,
/// though nobody saw which reply is whose. Each kind of reply has its length, which now and then another has as well.
#[test]
fn what_calls_waited_whose_replies_are_hidden_is_within_its_bounds() {
    let plan = Plan {
        calls: 60,
        bytes: 200,
        at_once: 1,
        failing: 0,
        round_trip_ns: 5 * MILLISECOND,
        ..Plan::default()
    };
    let wire = Wire {
        mss: 9_000,
        ..Wire::default()
    };
    let (mut all, mut least, mut most, mut far) = (0, 0, 0, 0);
    for seed in 0..100 {
        let mut random = Random::new(seed);
        let script = Script::new(plan, &mut random);
        let snaplen = 130 + random.below(170) as usize;
        let [client, server] =
            (script.ends(wire, 2 * MILLISECOND)).map(|packets| faults::snap(&packets, snaplen));
        let ledger = diagnosis_of(&client, &server).ledger;
        assert_eq!(ledger.calls, script.truth.len() as u64, "{seed}");
        let took = |r: &Row| Some(r.times[3]? - r.times[0]? + plan.round_trip_ns);
        let true_ns: i64 = script.truth.iter().filter_map(took).sum();
        let (lo, hi) = (ledger.total.lo_ns, ledger.total.hi_ns.expect("bounded"));
        let near = true_ns / 20;
        far += u32::from(lo - near > true_ns || hi + near < true_ns);
        (all, least, most) = (all + true_ns, least + lo, most + hi);
    }
    assert!((least..=most).contains(&all), "{least} {all} {most}");
    assert!(
        least > all * 9 / 10 && most < all * 4 / 3,
        "{least} {all} {most}"
    );
    assert!(far <= 3, "{far}");
}
