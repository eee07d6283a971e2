//! Any bytes at all, valid packets cut anywhere, and etherparse's opinion of plain packets.

use super::*;
use crate::Whose;
use etherparse::{PacketBuilder, SlicedPacket, TcpOptionElement, TransportSlice};
use proptest::prelude::*;

fn is_sound(run: &Run) -> bool {
    run.segments.iter().all(|s| {
        s.payload_captured <= s.payload_length
            && u64::from(s.payload_start) + u64::from(s.payload_captured)
                <= run.batch.bytes.len() as u64
    })
}

#[test]
fn every_encapsulation_may_be_cut_anywhere() {
    for (name, link_type, packet) in encapsulation::all() {
        for length in 0..packet.len() {
            // Cut by the snap length, and cut on the wire.
            let cut = Run::new(link_type, std::slice::from_ref(&packet), length);
            assert!(is_sound(&cut), "{name} cut to {length}");
            // A tunnel whose own header is cut is just a datagram.
            let is_tunnel = |s: &&Segment| matches!(s.destination.port, 4789 | 8472 | 6081);
            for segment in cut.segments.iter().filter(|s| !is_tunnel(s)) {
                assert_eq!(segment.payload_length, 3, "{name} cut to {length}");
            }
            let short = one(link_type, packet[..length].to_vec());
            assert!(is_sound(&short), "{name} of {length}");
        }
    }
}

/// Who is to see a packet before it is decoded is who has the segment that it becomes.
fn is_known_whose(link_type: LinkType, packet: &[u8], snap: usize) -> bool {
    let run = Run::new(link_type, &[packet.to_vec()], snap);
    let bytes = packet.get(..snap).unwrap_or(packet);
    let own = run.segments.first().map(crate::partition);
    match Whose::of(link_type, bytes, packet.len() as u32) {
        Whose::Partition(partition) => own == Some(partition),
        Whose::Everybody => run.decoder.counts().fragments == 1,
        Whose::Nobody => own.is_none() && run.decoder.counts().fragments == 0,
    }
}

#[test]
fn whose_a_packet_is_is_known_in_every_encapsulation() {
    for (name, link_type, packet) in encapsulation::all() {
        for snap in 0..=packet.len() {
            assert!(
                is_known_whose(link_type, &packet, snap),
                "{name} cut to {snap}"
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn random_bytes_never_panic(
        link_type in prop::sample::select(vec![0u16, 1, 9, 12, 50, 51, 101, 108, 113, 228, 276]),
        packets in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..120), 1..8),
        snap in 0..150usize,
    ) {
        prop_assert!(is_sound(&Run::new(LinkType(link_type), &packets, snap).finish()));
    }

    /// Close to valid packets reach further than random ones.
    #[test]
    fn damaged_packets_never_panic(
        which in any::<prop::sample::Index>(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        snap in 0..150usize,
    ) {
        let all = encapsulation::all();
        let (_, link_type, packet) = which.get(&all);
        let mut packet = packet.clone();
        for (at, byte) in damage {
            let at = at.index(packet.len());
            packet[at] = byte;
        }
        prop_assert!(is_known_whose(*link_type, &packet, snap));
        let run = Run::new(*link_type, &[packet], snap).finish();
        prop_assert!(is_sound(&run));
    }

    /// However a datagram is cut into fragments and shuffled, it comes out whole, once.
    #[test]
    fn any_fragments_in_any_order_give_the_datagram(
        (cuts, copies) in (
            prop::collection::btree_set(1..25usize, 0..8),
            prop::collection::vec(any::<prop::sample::Index>(), 0..4),
        ),
        seed in any::<u64>(),
    ) {
        let datagram = udp(700, 2049, &(0..200).collect::<Vec<u8>>());
        let ends: Vec<usize> = cuts.iter().map(|c| c * 8).chain([datagram.len()]).collect();
        let mut start = 0;
        let mut packets = Vec::new();
        for end in ends {
            let mut packet = outer_v4(17, &datagram[start..end]);
            let more = if end < datagram.len() { 0x2000 } else { 0 };
            packet[6..8].copy_from_slice(&((start / 8) as u16 | more).to_be_bytes());
            packets.push(packet);
            start = end;
        }
        if packets.len() > 1 {
            for copy in copies {
                packets.push(copy.get(&packets).clone());
            }
        }
        let mut state = seed | 1;
        for i in (1..packets.len()).rev() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            packets.swap(i, (state >> 33) as usize % (i + 1));
        }
        let run = Run::new(RAW, &packets, usize::MAX).finish();
        prop_assert_eq!(run.segments.len(), 1);
        prop_assert_eq!(run.payload(0), &datagram[8..]);
        prop_assert_eq!(run.problems(), []);
    }

    /// etherparse builds and reads the same packets.
    #[test]
    fn plain_packets_read_as_etherparse_reads_them(
        v4 in any::<bool>(),
        ports in any::<(u16, u16)>(),
        sequence in any::<u32>(),
        window in any::<u16>(),
        timestamps in any::<(u32, u32)>(),
        mss in any::<u16>(),
        payload in prop::collection::vec(any::<u8>(), 0..60),
    ) {
        let builder = PacketBuilder::ethernet2([2; 6], [4; 6]);
        let builder = if v4 {
            builder.ipv4([10, 1, 2, 3], [10, 4, 5, 6], 33)
        } else {
            builder.ipv6([1; 16], [2; 16], 33)
        };
        let mut packet = Vec::new();
        builder
            .tcp(ports.0, ports.1, sequence, window)
            .ack(77)
            .options(&[
                TcpOptionElement::MaximumSegmentSize(mss),
                TcpOptionElement::Timestamp(timestamps.0, timestamps.1),
            ])
            .unwrap()
            .write(&mut packet, &payload)
            .unwrap();
        let run = one(ETHERNET, packet.clone());
        let ours = &run.segments[0];
        let sliced = SlicedPacket::from_ethernet(&packet).unwrap();
        let Some(TransportSlice::Tcp(theirs)) = sliced.transport else {
            panic!("not TCP");
        };
        prop_assert_eq!(ours.source.port, theirs.source_port());
        prop_assert_eq!(ours.destination.port, theirs.destination_port());
        prop_assert_eq!(ours.tcp.sequence, theirs.sequence_number());
        prop_assert_eq!(ours.tcp.acknowledgement, theirs.acknowledgment_number());
        prop_assert_eq!(ours.tcp.window, theirs.window_size());
        prop_assert_eq!(ours.tcp.flags.ack(), theirs.ack());
        prop_assert_eq!(ours.tcp.timestamps, Some(timestamps));
        prop_assert_eq!(ours.tcp.mss, Some(mss));
        prop_assert_eq!(ours.ttl, 33);
        prop_assert_eq!(run.payload(0), theirs.payload());
    }
}
