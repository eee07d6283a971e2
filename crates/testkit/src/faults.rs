//! What happens to packets between hosts, and between the wire and a capture file. Each function
//! takes packets in order and gives them in the order of time; apply [`snap`] last, as cut packets
//! cannot be taken apart any more.

use crate::{Frame, Random, TestPacket};
use std::net::SocketAddr;

/// Leaves out packets, as a capture that cannot keep up does.
#[must_use]
pub fn lose(packets: &[TestPacket], per_mille: u32, random: &mut Random) -> Vec<TestPacket> {
    let mut kept = packets.to_vec();
    kept.retain(|_| !random.chance(per_mille));
    kept
}

/// Adds a copy of packets `delay_ns` later, as a mirror port of both directions does.
#[must_use]
pub fn duplicate(
    packets: &[TestPacket],
    per_mille: u32,
    delay_ns: i64,
    random: &mut Random,
) -> Vec<TestPacket> {
    let copies = chosen(packets, per_mille, random).map(|packet| later(packet, delay_ns));
    sorted(packets.iter().cloned().chain(copies).collect())
}

/// Sends data segments again `delay_ns` later, with another IP identification.
#[must_use]
pub fn retransmit(
    packets: &[TestPacket],
    per_mille: u32,
    delay_ns: i64,
    random: &mut Random,
) -> Vec<TestPacket> {
    let copies = chosen(packets, per_mille, random).filter_map(|packet| {
        let mut frame = Frame::read(packet).filter(|f| f.tcp.is_some() && !f.payload.is_empty())?;
        frame.ip_id = frame.ip_id.wrapping_add(10_000);
        Some(TestPacket::new(packet.time + delay_ns, frame.write()))
    });
    sorted(packets.iter().cloned().chain(copies).collect())
}

/// Exchanges neighbouring packets; their times stay in order.
#[must_use]
pub fn swap_neighbours(
    packets: &[TestPacket],
    per_mille: u32,
    random: &mut Random,
) -> Vec<TestPacket> {
    let mut swapped = packets.to_vec();
    for pair in swapped.chunks_exact_mut(2) {
        if let [a, b] = pair
            && random.chance(per_mille)
        {
            std::mem::swap(&mut a.bytes, &mut b.bytes);
            std::mem::swap(&mut a.length, &mut b.length);
        }
    }
    swapped
}

/// Joins data segments that follow each other directly into ones of at most `bytes` payload bytes
/// (below 65,000), at the time of the first: what a sender with segmentation offload captures.
#[must_use]
pub fn merge(packets: &[TestPacket], bytes: usize) -> Vec<TestPacket> {
    let mut merged: Vec<TestPacket> = Vec::new();
    for packet in packets {
        let joined = merged.last().and_then(|last| join(last, packet, bytes));
        match (joined, merged.last_mut()) {
            (Some(joined), Some(last)) => *last = joined,
            _ => merged.push(packet.clone()),
        }
    }
    merged
}

fn join(last: &TestPacket, packet: &TestPacket, bytes: usize) -> Option<TestPacket> {
    let (mut frame, next) = (Frame::read(last)?, Frame::read(packet)?);
    let (first, second) = (frame.tcp.as_mut()?, next.tcp.as_ref()?);
    let end = first
        .sequence_number
        .wrapping_add(frame.payload.len() as u32);
    let follows = (frame.source, frame.destination) == (next.source, next.destination)
        && !frame.payload.is_empty()
        && !next.payload.is_empty()
        && frame.payload.len() + next.payload.len() <= bytes
        && end == second.sequence_number;
    if !follows {
        return None;
    }
    first.psh |= second.psh;
    first.acknowledgment_number = second.acknowledgment_number;
    frame.payload.extend(next.payload);
    Some(TestPacket::new(last.time, frame.write()))
}

/// Splits data segments into ones of at most `bytes` payload bytes, all at the same time: what the
/// wire sees of a sender with segmentation offload.
#[must_use]
pub fn split(packets: &[TestPacket], bytes: usize) -> Vec<TestPacket> {
    let mut out = Vec::new();
    for packet in packets {
        let frame = Frame::read(packet).filter(|frame| frame.payload.len() > bytes);
        let Some((frame, tcp)) = frame.and_then(|frame| Some((frame.clone(), frame.tcp?))) else {
            out.push(packet.clone());
            continue;
        };
        let last = frame.payload.len().div_ceil(bytes) - 1;
        for (i, piece) in frame.payload.chunks(bytes).enumerate() {
            let mut header = tcp.clone();
            header.sequence_number = tcp.sequence_number.wrapping_add((i * bytes) as u32);
            header.psh &= i == last;
            header.fin &= i == last;
            let segment = Frame {
                ip_id: frame.ip_id.wrapping_add(i as u16),
                tcp: Some(header),
                payload: piece.to_vec(),
                ..frame.clone()
            };
            out.push(TestPacket::new(packet.time, segment.write()));
        }
    }
    out
}

/// Cuts packets to `bytes` captured bytes.
#[must_use]
pub fn snap(packets: &[TestPacket], bytes: usize) -> Vec<TestPacket> {
    let mut cut = packets.to_vec();
    for packet in &mut cut {
        packet.bytes.truncate(bytes);
    }
    cut
}

/// Times by another clock, ahead by `offset_ns` at the first packet and faster by `drift_ppm`.
#[must_use]
pub fn clock(packets: &[TestPacket], offset_ns: i64, drift_ppm: i64) -> Vec<TestPacket> {
    let start = packets.first().map_or(0, |packet| packet.time);
    let mut moved = packets.to_vec();
    for packet in &mut moved {
        let drift = i128::from(packet.time - start) * i128::from(drift_ppm) / 1_000_000;
        packet.time += offset_ns + drift as i64;
    }
    moved
}

/// Replaces one end, address and port, wherever it stands.
#[must_use]
pub fn translate(packets: &[TestPacket], from: SocketAddr, to: SocketAddr) -> Vec<TestPacket> {
    let translated = |packet: &TestPacket| {
        let Some(mut frame) = Frame::read(packet) else {
            return packet.clone();
        };
        for end in [&mut frame.source, &mut frame.destination] {
            if *end == from {
                *end = to;
            }
        }
        TestPacket::new(packet.time, frame.write())
    };
    packets.iter().map(translated).collect()
}

/// The packets as seen `delay_ns` later on their way (earlier where negative), for those that `from`
/// sent: a second point of capture.
#[must_use]
pub fn delay(packets: &[TestPacket], from: SocketAddr, delay_ns: i64) -> Vec<TestPacket> {
    let moved = packets.iter().map(|packet| {
        let is_from = Frame::read(packet).is_some_and(|frame| frame.source == from);
        later(packet, if is_from { delay_ns } else { 0 })
    });
    sorted(moved.collect())
}

fn chosen<'a>(
    packets: &'a [TestPacket],
    per_mille: u32,
    random: &'a mut Random,
) -> impl Iterator<Item = &'a TestPacket> {
    packets.iter().filter(move |_| random.chance(per_mille))
}

fn later(packet: &TestPacket, ns: i64) -> TestPacket {
    TestPacket {
        time: packet.time + ns,
        ..packet.clone()
    }
}

fn sorted(mut packets: Vec<TestPacket>) -> Vec<TestPacket> {
    packets.sort_by_key(|packet| packet.time);
    packets
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Conversation;

    fn packets() -> Vec<TestPacket> {
        let mut c = Conversation::nfs();
        c.handshake().client(&[7; 10_000]).server(&[8; 3_000]);
        c.packets()
    }

    fn bytes_sent(packets: &[TestPacket]) -> usize {
        let frames = packets.iter().filter_map(Frame::read);
        frames.map(|frame| frame.payload.len()).sum()
    }

    #[test]
    fn loss_copies_and_retransmissions_are_as_many_as_asked_for() {
        let packets = packets();
        let random = || Random::new(1);
        assert_eq!(lose(&packets, 0, &mut random()), packets);
        assert!(lose(&packets, 1000, &mut random()).is_empty());
        assert_eq!(duplicate(&packets, 1000, 10, &mut random()).len(), 26);
        let again = retransmit(&packets, 1000, 200_000_000, &mut random());
        // All but the three of the handshake, with identifications of their own.
        assert_eq!(again.len(), 23);
        let (old, new) = (
            Frame::read(&again[3]).unwrap(),
            Frame::read(&again[13]).unwrap(),
        );
        assert_eq!(old.payload, new.payload);
        assert_ne!(old.ip_id, new.ip_id);
        let few = lose(&packets, 500, &mut random());
        assert!(!few.is_empty() && few.len() < packets.len());
    }

    #[test]
    fn swapping_keeps_times_in_order() {
        let packets = packets();
        let swapped = swap_neighbours(&packets, 1000, &mut Random::new(1));
        assert_eq!(swapped[1].bytes, packets[0].bytes);
        assert_eq!(swapped[1].time, packets[1].time);
        assert!(swapped.is_sorted_by_key(|packet| packet.time));
    }

    #[test]
    fn merging_and_splitting_keep_the_stream() {
        let packets = packets();
        let merged = merge(&packets, 64_000);
        assert_eq!(merged.len(), 5);
        let split = split(&merged, 1460);
        assert_eq!(split.len(), packets.len());
        for (a, b) in split.iter().zip(&packets) {
            let (a, b) = (Frame::read(a).unwrap(), Frame::read(b).unwrap());
            assert_eq!((a.payload, a.tcp), (b.payload, b.tcp));
        }
        assert_eq!(bytes_sent(&merged), 13_000);
    }

    #[test]
    fn snapping_keeps_the_length_on_the_wire() {
        let cut = snap(&packets(), 96);
        assert_eq!((cut[3].bytes.len(), cut[3].length), (96, 1514));
        assert_eq!(cut[2].bytes.len(), 54);
    }

    #[test]
    fn clocks_drift_addresses_change_and_delays_move_one_direction() {
        let packets = packets();
        let moved = clock(&packets, 500, 1_000);
        assert_eq!(moved[0].time - packets[0].time, 500);
        assert_eq!(moved[10].time - packets[10].time, 510);

        let (inside, outside) = (
            ([10, 0, 0, 1], 1000).into(),
            ([192, 0, 2, 9], 40_000).into(),
        );
        let translated = translate(&packets, inside, outside);
        assert_eq!(Frame::read(&translated[0]).unwrap().source, outside);
        assert_eq!(Frame::read(&translated[1]).unwrap().destination, outside);

        let delayed = delay(&packets, inside, 400);
        assert_eq!(delayed[0].time - packets[0].time, 400);
        assert_eq!(delayed[1].time, packets[1].time);
    }
}
