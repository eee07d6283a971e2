//! IP fragments: order, copies, overlaps, snap lengths, loss, and the bounds.

use super::*;
use model::limits;

/// A UDP datagram of 8 + 40 bytes, whose payload counts up from 0.
fn datagram() -> Vec<u8> {
    udp(700, 2049, &payload())
}

fn payload() -> Vec<u8> {
    (0..40).collect()
}

/// Bytes `range` of a datagram as an IPv4 fragment.
fn v4_fragment(id: u16, datagram: &[u8], range: std::ops::Range<usize>) -> Vec<u8> {
    let mut packet = outer_v4(17, &datagram[range.clone()]);
    packet[4..6].copy_from_slice(&id.to_be_bytes());
    let more = if range.end < datagram.len() {
        0x2000
    } else {
        0
    };
    let position = (range.start / 8) as u16 | more;
    packet[6..8].copy_from_slice(&position.to_be_bytes());
    packet
}

fn v6_fragment(id: u8, datagram: &[u8], range: std::ops::Range<usize>) -> Vec<u8> {
    let more = u16::from(range.end < datagram.len());
    let [a, b] = (range.start as u16 | more).to_be_bytes();
    v6(44, &join(&[&[17, 0, a, b, 0, 0, 0, id], &datagram[range]]))
}

#[test]
fn fragments_join_in_any_order() {
    let d = datagram();
    for (a, b, c) in [(0, 1, 2), (2, 1, 0), (1, 2, 0), (2, 0, 1)] {
        for version in [4, 6] {
            let piece = |range| match version {
                4 => v4_fragment(7, &d, range),
                _ => v6_fragment(7, &d, range),
            };
            let pieces = [piece(0..16), piece(16..32), piece(32..48)];
            let packets = [&pieces[a], &pieces[b], &pieces[c]].map(Clone::clone);
            let run = Run::new(RAW, &packets, usize::MAX);
            assert_eq!(run.segments.len(), 1);
            assert_eq!(run.payload(0), payload());
            let segment = &run.segments[0];
            assert_eq!((segment.source.port, segment.destination.port), (700, 2049));
            assert_eq!(segment.first.packet.frame, 1);
            assert_eq!((segment.mark.packet.frame, segment.order), (3, 2));
            assert_eq!(segment.ip_id, (version == 4).then_some(7));
            assert_eq!(run.problems(), []);
            assert_eq!(run.decoder.counts().fragments, 3);
        }
    }
}

#[test]
fn datagrams_with_other_identifications_or_addresses_do_not_mix() {
    let d = datagram();
    let mut elsewhere = v4_fragment(1, &d, 24..48);
    elsewhere[15] = 9;
    let packets = [
        v4_fragment(1, &d, 0..24),
        v4_fragment(2, &d, 24..48),
        elsewhere,
        v4_fragment(2, &d, 0..24),
    ];
    let run = Run::new(RAW, &packets, usize::MAX);
    assert_eq!(run.segments.len(), 1);
    assert_eq!(run.segments[0].ip_id, Some(2));
}

#[test]
fn the_first_copy_of_a_byte_counts() {
    let d = datagram();
    let mut other = d.clone();
    other[8..].fill(0xff);
    let packets = [
        v4_fragment(7, &d, 16..32),
        v4_fragment(7, &other, 8..40),
        v4_fragment(7, &d, 0..24),
        v4_fragment(7, &d, 40..48),
    ];
    let run = Run::new(RAW, &packets, usize::MAX);
    let mut expected = payload();
    expected[0..8].fill(0xff);
    expected[24..32].fill(0xff);
    assert_eq!(run.payload(0), expected);
}

#[test]
fn copies_are_counted_and_dropped_also_after_the_datagram_is_complete() {
    let d = datagram();
    let (a, b) = (v4_fragment(7, &d, 0..24), v4_fragment(7, &d, 24..48));
    let run = Run::new(RAW, &[a.clone(), a, b.clone(), b], usize::MAX).finish();
    assert_eq!(run.segments.len(), 1);
    assert_eq!(run.decoder.counts().duplicate_fragments, 2);
    assert_eq!(run.problems(), []);
}

#[test]
fn an_identification_used_again_later_starts_a_new_datagram() {
    let d = datagram();
    let mut other = d.clone();
    other[8..].fill(0xff);
    let second = 1_000_000_000;
    let packets = [
        (0, v4_fragment(7, &d, 0..24)),
        (second, v4_fragment(7, &other, 0..24)),
        (second, v4_fragment(7, &other, 24..48)),
        (2 * second, v4_fragment(7, &d, 0..24)),
        (2 * second, v4_fragment(7, &d, 24..48)),
    ];
    let run = Run::timed(RAW, &packets, usize::MAX);
    // The first, as far as it came, at the packet that showed it to be over.
    assert_eq!(run.payload(0), &payload()[..16]);
    assert_eq!(
        (run.segments[0].mark.packet.frame, run.segments[0].order),
        (1, 1)
    );
    assert_eq!(run.payload(1), [0xff; 40]);
    assert_eq!(run.payload(2), payload());
    assert_eq!(run.problems(), [("fragments-incomplete", 1)]);
}

#[test]
fn cut_fragments_give_the_bytes_up_to_the_first_hole() {
    let d = datagram();
    let packets = [v4_fragment(7, &d, 0..24), v4_fragment(7, &d, 24..48)];
    // 20 bytes of IP header and 18 of the fragment, 8 of which are UDP's header.
    let run = Run::new(RAW, &packets, 38);
    assert_eq!(run.payload(0), &payload()[..10]);
    assert_eq!(run.segments[0].payload_length, 40);
    // Only the second fragment is cut.
    let packets = [v4_fragment(7, &d, 0..16), v4_fragment(7, &d, 16..48)];
    let run = Run::new(RAW, &packets, 20 + 20);
    assert_eq!(run.payload(0), &payload()[..28]);
}

#[test]
fn a_datagram_without_its_tail_is_handed_on_at_the_end_by_its_udp_length() {
    let d = datagram();
    let packets = [
        v4_fragment(7, &d, 0..24),
        V4.to_vec(),
        v4_fragment(8, &d, 24..48),
    ];
    let run = Run::new(RAW, &packets, usize::MAX).finish();
    assert_eq!(run.segments.len(), 2);
    assert_eq!(run.payload(1), &payload()[..16]);
    let segment = &run.segments[1];
    assert_eq!(segment.payload_length, 40);
    // Order 3 is behind the batch and no packet's.
    assert_eq!((segment.mark.packet.frame, segment.order), (1, 4));
    assert_eq!(run.problems(), [("fragments-incomplete", 2)]);
    assert!(!run.decoder.problems().any_damage());
}

#[test]
fn only_so_many_datagrams_wait_and_only_so_long() {
    let d = datagram();
    let bound = limits::FRAGMENTED_DATAGRAMS;
    let packets: Vec<_> = (0..=bound as u16)
        .map(|id| v4_fragment(id, &d, 0..24))
        .collect();
    let run = Run::new(RAW, &packets, usize::MAX);
    assert_eq!(run.segments.len(), 1);
    assert_eq!(run.segments[0].ip_id, Some(0));
    assert_eq!(run.segments[0].order, bound as u64);
    assert_eq!(
        run.problems(),
        [("fragments-evicted", 1), ("fragments-incomplete", 1)]
    );

    let late = limits::FRAGMENT_WAIT_NS + 1;
    let packets = [
        (0, v4_fragment(7, &d, 0..24)),
        (late, v4_fragment(7, &d, 24..48)),
    ];
    let run = Run::timed(RAW, &packets, usize::MAX);
    assert_eq!(run.segments[0].payload_captured, 16);
    assert_eq!(
        run.problems(),
        [("fragments-evicted", 1), ("fragments-incomplete", 1)]
    );
}

#[test]
fn fragments_that_cannot_be_are_noted() {
    let d = datagram();
    let mut beyond = v4_fragment(7, &d, 40..48);
    beyond[6..8].copy_from_slice(&0x1fff_u16.to_be_bytes());
    let mut empty = v4_fragment(7, &d, 0..24);
    empty.truncate(20);
    empty[3] = 20;
    let mut ends_early = v4_fragment(7, &d, 0..24);
    ends_early[6] = 0;
    ends_early[7] = 1;
    let packets = [beyond, empty, v4_fragment(7, &d, 16..48), ends_early];
    let run = Run::new(RAW, &packets, usize::MAX);
    assert_eq!(run.problems(), [("bogus-fragment", 3)]);
}

#[test]
fn a_tunnels_datagram_in_fragments_is_joined_and_followed() {
    let whole = outer_v4(4, &V4);
    let piece = |range: std::ops::Range<usize>| {
        let mut packet = v4_fragment(7, &whole[20..], range);
        packet[9] = 4;
        packet
    };
    let run = Run::new(RAW, &[piece(24..55), piece(0..24)], usize::MAX);
    assert_eq!(run.segments[0].source.to_string(), "10.0.0.1:1000");
    assert_eq!(run.segments[0].ip_id, Some(0x1234));
    assert_eq!(run.payload(0), b"abc");
}

#[test]
fn a_datagram_that_lacks_a_part_and_is_sent_again_takes_from_its_first_sending_on() {
    let mut d = datagram();
    d[6..8].copy_from_slice(&[0x12, 0x34]);
    let packets = [
        v4_fragment(7, &d, 0..16),
        v4_fragment(7, &d, 32..48),
        v4_fragment(8, &d, 0..16),
        v4_fragment(8, &d, 16..48),
    ];
    let run = Run::new(RAW, &packets, usize::MAX).finish();
    assert_eq!(run.segments.len(), 1);
    let segment = &run.segments[0];
    assert_eq!(segment.first.packet.frame, 1);
    assert_eq!((segment.mark.packet.frame, segment.order), (4, 3));
    assert_eq!(run.payload(0), payload());
    assert_eq!(run.problems(), [("fragments-incomplete", 1)]);
}
