//! What holds for all input.

use super::build::*;
use crate::Capture;
use proptest::collection::vec;
use proptest::prelude::*;
use std::io::Cursor;

/// Files of each format with some packets.
fn samples() -> Vec<Vec<u8>> {
    let mut pcapng = section(false);
    pcapng.extend(interface(false, 1, 96, &[]));
    let mut snoop = b"snoop\0\0\0\0\0\0\x02\0\0\0\x04".to_vec();
    for i in 0..30_u32 {
        pcapng.extend(enhanced(
            false,
            0,
            u64::from(i),
            &vec![i as u8; i as usize],
            90,
        ));
        for value in [60_u32, 60, 84, 0, SECOND, i] {
            snoop.extend(value.to_be_bytes());
        }
        snoop.extend([i as u8; 60]);
    }
    vec![pcap(&(0..30).collect::<Vec<_>>()), pcapng, snoop]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_bytes_are_read_or_refused(kind in 0..4_usize, bytes in vec(any::<u8>(), 0..400)) {
        let mut file = match samples().get(kind) {
            Some(sample) => sample[..24.min(sample.len())].to_vec(),
            None => Vec::new(),
        };
        file.extend(bytes);
        if let Ok(capture) = open(&file) {
            Whole::all(capture);
        }
    }

    #[test]
    fn how_bytes_arrive_makes_no_difference(kind in 0..3_usize, step in 1..200_usize, cut in 0..60_usize) {
        let mut file = samples().swap_remove(kind);
        file.truncate(file.len() - cut);
        let whole = Whole::of(&file);
        let bytes = Cursor::new(file);
        let pieces = Whole::all(Capture::from_reader("t", Box::new(Dribble { bytes, step })).unwrap());
        prop_assert_eq!(whole.times(), pieces.times());
        prop_assert_eq!(whole.bytes, pieces.bytes);
        prop_assert_eq!(whole.capture.summary(), pieces.capture.summary());
        prop_assert_eq!(whole.capture.problems(), pieces.capture.problems());
    }

    #[test]
    fn overwritten_bytes_cost_only_packets_near_them(
        kind in 0..3_usize,
        place in 0.2..0.6_f64,
        noise in vec(any::<u8>(), 1..100),
    ) {
        let mut file = samples().swap_remove(kind);
        let at = (file.len() as f64 * place) as usize;
        file[at..at + noise.len()].copy_from_slice(&noise);
        let read = Whole::of(&file);
        let undamaged = Whole::of(&samples().swap_remove(kind));
        prop_assert_eq!(read.bytes.last(), undamaged.bytes.last());
        prop_assert!(read.packets.len() >= 15, "{} packets", read.packets.len());
    }
}
