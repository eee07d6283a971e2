//! However a stream is cut, doubled and reordered, its calls stay the same.

use crate::kit::{MILLISECOND, Plan, Row, Script, Wire, rows_of, shuffle_moments};
use proptest::prelude::*;
use testkit::{Random, faults};

fn untimed(rows: &[Row]) -> Vec<Row> {
    let mut rows: Vec<Row> = rows.iter().map(Row::without_times).collect();
    rows.sort();
    rows
}

fn wire() -> impl Strategy<Value = Wire> {
    let size = prop_oneof![1usize..20, 20usize..1461, 1461usize..60_000];
    // Wrapping soon, or anywhere.
    let sequence = prop_oneof![any::<u32>(), (u32::MAX - 60_000)..=u32::MAX];
    (size, sequence.clone(), sequence, any::<bool>()).prop_map(|(mss, c, s, handshake)| Wire {
        mss: mss.max(8),
        sequences: (c, s),
        handshake,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_segmentation_gives_the_calls_that_were_made(seed: u64, wire in wire()) {
        // Tiny segments of large messages are many packets.
        let bytes = if wire.mss < 100 { 500 } else { 20_000 };
        // Ids that are used again at once belong to no two calls at a time.
        let ids = if wire.handshake { u32::MAX } else { 8 };
        let plan = Plan { bytes, ids, ..Plan::default() };
        let script = Script::new(plan, &mut Random::new(seed));
        prop_assert_eq!(rows_of(&script.packets(wire)), script.truth);
    }

    #[test]
    fn super_segments_and_what_the_wire_makes_of_them_are_the_same(seed: u64, bytes in 1_500usize..64_000) {
        let script = Script::new(Plan::default(), &mut Random::new(seed));
        let merged = faults::merge(&script.packets(Wire::default()), bytes);
        prop_assert_eq!(&rows_of(&merged), &script.truth);
        let split = faults::split(&merged, 536);
        prop_assert_eq!(&rows_of(&split), &script.truth);
    }

    #[test]
    fn copies_by_a_mirror_port_change_nothing(seed: u64, wire in wire(), delay in 0i64..300_000, share in 1u32..=1000) {
        let bytes = if wire.mss < 100 { 500 } else { 20_000 };
        let plan = Plan { bytes, ..Plan::default() };
        let mut random = Random::new(seed);
        let script = Script::new(plan, &mut random);
        let packets = faults::duplicate(&script.packets(wire), share, delay, &mut random);
        prop_assert_eq!(rows_of(&packets), script.truth);
    }

    #[test]
    fn segments_that_overtake_each_other_change_nothing(seed: u64, mss in 100usize..3_000) {
        let mut random = Random::new(seed);
        let script = Script::new(Plan::default(), &mut random);
        let packets = shuffle_moments(&script.packets(Wire { mss, ..Wire::default() }), &mut random);
        prop_assert_eq!(rows_of(&packets), script.truth);
    }

    #[test]
    fn packets_in_the_wrong_order_in_the_file_still_pair(seed: u64, share in 1u32..=1000) {
        let mut random = Random::new(seed);
        let script = Script::new(Plan::default(), &mut random);
        let packets = faults::swap_neighbours(&script.packets(Wire::default()), share, &mut random);
        prop_assert_eq!(untimed(&rows_of(&packets)), untimed(&script.truth));
    }

    #[test]
    fn segments_sent_again_change_nothing(seed: u64, share in 1u32..500, delay in 1i64..400) {
        let mut random = Random::new(seed);
        let script = Script::new(Plan::default(), &mut random);
        let packets = script.packets(Wire::default());
        let packets = faults::retransmit(&packets, share, delay * MILLISECOND, &mut random);
        prop_assert_eq!(rows_of(&packets), script.truth);
    }
}
