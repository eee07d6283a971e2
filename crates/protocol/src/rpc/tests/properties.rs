//! What must hold for any way in which a conversation may be cut into packets, and for any bytes.

use super::*;
use proptest::prelude::*;

/// A conversation of `n` calls, all requests before all replies, as two streams.
fn streams(n: u32, lengths: &[u32]) -> [Vec<u8>; 2] {
    let mut streams = [Vec::new(), Vec::new()];
    for (x, &length) in (0..n).zip(lengths.iter().cycle()) {
        streams[0].extend(record(&read_call(x, x)));
        streams[1].extend(record(&read_reply(x, length)));
    }
    streams
}

/// All that a call says but for its times.
fn content(c: &Call) -> (u32, String, u64, u64, String) {
    let detail = format!("{:?} {:?}", c.outcome, c.detail);
    (
        c.id,
        c.op.to_string(),
        c.request_bytes,
        c.response_bytes,
        detail,
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn any_segmentation_gives_the_same_calls(
        lengths in prop::collection::vec(0u32..3000, 1..6),
        sizes in prop::collection::vec(1usize..2000, 1..20),
    ) {
        let [up, down] = streams(12, &lengths);
        let mut whole = Wire::tcp();
        whole.send(UP, 1, &up);
        whole.send(DOWN, 2, &down);
        let mut parts = Wire::tcp();
        let mut sizes = sizes.iter().cycle();
        for (d, mut stream) in [(UP, &up[..]), (DOWN, &down[..])] {
            while !stream.is_empty() {
                let (part, rest) = stream.split_at((*sizes.next().unwrap()).min(stream.len()));
                parts.send(d, 3, part);
                stream = rest;
            }
        }
        let whole: Vec<_> = whole.end(9).iter().map(content).collect();
        let parts: Vec<_> = parts.end(9).iter().map(content).collect();
        prop_assert_eq!(whole.len(), 12);
        prop_assert_eq!(whole, parts);
    }

    #[test]
    fn holes_make_no_pairs_that_are_not_there(
        lengths in prop::collection::vec(0u32..3000, 1..6),
        sizes in prop::collection::vec(1usize..2000, 1..20),
        fates in prop::collection::vec(0u8..8, 1..40),
    ) {
        let streams = streams(30, &lengths);
        let mut w = Wire::tcp();
        let mut sizes = sizes.iter().cycle();
        let mut fates = fates.iter().cycle();
        for (d, mut stream) in [(UP, &streams[0][..]), (DOWN, &streams[1][..])] {
            while !stream.is_empty() {
                let (part, rest) = stream.split_at((*sizes.next().unwrap()).min(stream.len()));
                match fates.next().unwrap() {
                    0 => w.gap(d, 3, part.len() as u64),
                    1 => w.packet(0, d, 3, &part[..part.len() / 2], part.len().div_ceil(2) as u32),
                    _ => w.send(d, 3, part),
                }
                stream = rest;
            }
        }
        for c in w.end(9) {
            prop_assert!(c.id < 30, "0x{:08x} was never sent", c.id);
            let whole = record(&read_call(c.id, c.id)).len() as u64;
            if c.request_first.is_some() && c.is_complete() {
                prop_assert_eq!(c.request_bytes, whole);
            }
            if let Some(offset) = c.detail.get(model::Field::Offset) {
                prop_assert_eq!(offset, u64::from(c.id));
            }
        }
    }

    #[test]
    fn no_bytes_make_it_panic(
        packets in prop::collection::vec(
            (any::<bool>(), prop::collection::vec(any::<u8>(), 0..60), 0u32..50, 0usize..8),
            0..40,
        )
    ) {
        // Known starts in front of noise lead far into the code.
        let starts = [
            words(&[0x8000_0040, 7, 0, 2, NFS, 4, 1, 0, 0, 0, 0]),
            words(&[0x8000_0040, 7, 1, 0, 0, 0, 0]),
            words(&[0x0000_0010, 7, 0, 2, NFS]),
            words(&[0x8000_0028, 7, 0, 2, NFS, 3, 0, 7, 0, 0, 0]),
            words(&[0x8000_0018, 7, 1, 0, 0, 0, 0]),
            vec![22, 3, 3, 0, 9],
            vec![23, 3, 3, 0, 9],
        ];
        let mut w = Wire::tcp();
        let datagrams = w.open(Transport::Udp, 2049);
        for (ms, (up, noise, cut, start)) in packets.iter().enumerate() {
            let d = if *up { UP } else { DOWN };
            let start = starts.get(*start).cloned().unwrap_or_default();
            let bytes = [start, noise.clone()].concat();
            w.packet(0, d, ms as i64, &bytes, *cut);
            w.packet(datagrams, d, ms as i64, &bytes, 0);
            if *cut == 13 {
                w.gap(d, ms as i64, 17);
            }
        }
        for c in w.end(1000) {
            prop_assert!(c.request_first.is_some() || c.response_first.is_some());
        }
    }
}
