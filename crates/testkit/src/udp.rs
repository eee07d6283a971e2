//! UDP datagrams, and IP fragments of them (or of any packet made here).

use crate::{Frame, TestPacket};
use std::net::SocketAddr;

const ETHERNET: usize = 14;

/// One UDP datagram in one packet, however long.
#[must_use]
pub fn datagram(
    time: i64,
    source: SocketAddr,
    destination: SocketAddr,
    ip_id: u16,
    payload: &[u8],
) -> TestPacket {
    let frame = Frame {
        source,
        destination,
        ip_id,
        ttl: 64,
        tcp: None,
        payload: payload.to_vec(),
    };
    TestPacket::new(time, frame.write())
}

/// The packet as IP fragments of at most `mtu` bytes each, IP header included, 1 µs apart. A packet
/// that fits stays whole. IPv6 fragments take their identification from `id`.
#[must_use]
pub fn fragments(packet: &TestPacket, mtu: usize, id: u32) -> Vec<TestPacket> {
    let (link, ip) = packet.bytes.split_at(ETHERNET);
    if ip.len() <= mtu {
        return vec![packet.clone()];
    }
    let is_v4 = ip[0] >> 4 == 4;
    let (header, payload) = ip.split_at(if is_v4 { 20 } else { 40 });
    let overhead = if is_v4 { 20 } else { 48 };
    let room = (mtu - overhead) & !7;
    let count = payload.len().div_ceil(room);
    let fragment = |(index, piece): (usize, &[u8])| {
        let more = index + 1 < count;
        let offset = index * room;
        let mut header = header.to_vec();
        if is_v4 {
            let position = (offset / 8) as u16 | if more { 0x2000 } else { 0 };
            header[2..4].copy_from_slice(&((20 + piece.len()) as u16).to_be_bytes());
            header[6..8].copy_from_slice(&position.to_be_bytes());
        } else {
            let position = offset as u16 | u16::from(more);
            header[4..6].copy_from_slice(&((8 + piece.len()) as u16).to_be_bytes());
            let next = std::mem::replace(&mut header[6], 44);
            header.extend([next, 0]);
            header.extend(position.to_be_bytes());
            header.extend(id.to_be_bytes());
        }
        let bytes = [link, &header, piece].concat();
        TestPacket::new(packet.time + index as i64 * 1_000, bytes)
    };
    payload.chunks(room).enumerate().map(fragment).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fragments_hold_the_whole_payload_in_steps_of_eight() {
        for (source, destination) in [("10.0.0.1:1", "10.0.0.2:2"), ("[fd00::1]:1", "[fd00::2]:2")]
        {
            let payload: Vec<u8> = (0..=255).cycle().take(5000).collect();
            let (source, destination) = (source.parse().unwrap(), destination.parse().unwrap());
            let whole = datagram(9, source, destination, 5, &payload);
            let parts = fragments(&whole, 1500, 77);
            assert_eq!(parts.len(), 4);
            let ip_length = if whole.bytes[14] >> 4 == 4 { 20 } else { 48 };
            let joined: Vec<u8> = parts
                .iter()
                .flat_map(|p| p.bytes[14 + ip_length..].to_vec())
                .collect();
            assert_eq!(joined[8..], payload);
            for part in &parts[..3] {
                assert_eq!((part.bytes.len() - 14 - ip_length) % 8, 0);
                assert!(part.bytes.len() <= 1514);
            }
            assert_eq!(fragments(&parts[3], 1500, 77), [parts[3].clone()]);
        }
    }
}
