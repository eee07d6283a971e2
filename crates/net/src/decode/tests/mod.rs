//! What the tests share: one TCP segment in IPv4 and in IPv6, wrappers, and a decoder run.

mod anonymise;
mod encapsulation;
mod fragments;
mod health;
mod lengths;
mod plain;
mod robustness;

use super::*;
use model::{PacketRef, Time};

/// 10.0.0.1:1000 to 10.0.0.2:2049, sequence 1000, identification 0x1234, TTL 64, with timestamps
/// 42 and 43, and the payload "abc".
pub(super) const V4: [u8; 55] = *b"\
    \x45\x00\x00\x37\x12\x34\x40\x00\x40\x06\x00\x00\x0a\x00\x00\x01\x0a\x00\x00\x02\
    \x03\xe8\x08\x01\x00\x00\x03\xe8\x00\x00\x07\xd0\x80\x18\x01\xf6\x00\x00\x00\x00\
    \x01\x01\x08\x0a\x00\x00\x00\x2a\x00\x00\x00\x2babc";

/// The same segment from 2001:db8::1 to 2001:db8::2.
pub(super) const V6: [u8; 75] = *b"\
    \x60\x00\x00\x00\x00\x23\x06\x40\
    \x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x01\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x02\
    \x03\xe8\x08\x01\x00\x00\x03\xe8\x00\x00\x07\xd0\x80\x18\x01\xf6\x00\x00\x00\x00\
    \x01\x01\x08\x0a\x00\x00\x00\x2a\x00\x00\x00\x2babc";

/// The TCP segment of [`V4`] and [`V6`].
pub(super) fn tcp_segment() -> &'static [u8] {
    static PACKET: [u8; 55] = V4;
    &PACKET[20..]
}

pub(super) const ETHERNET: LinkType = LinkType(1);
pub(super) const RAW: LinkType = LinkType(101);

/// An IPv4 packet between two hosts that are not the inner ones.
pub(super) fn outer_v4(protocol: u8, payload: &[u8]) -> Vec<u8> {
    let mut packet = b"\x45\0\0\0\0\x01\0\0\x40\0\0\0\xc0\0\x02\x01\xc0\0\x02\x02".to_vec();
    packet[2..4].copy_from_slice(&(20 + payload.len() as u16).to_be_bytes());
    packet[9] = protocol;
    packet.extend(payload);
    packet
}

/// An IPv6 packet from 2001:db8::1 to 2001:db8::2.
pub(super) fn v6(next_header: u8, payload: &[u8]) -> Vec<u8> {
    let mut packet = V6[..40].to_vec();
    packet[4..6].copy_from_slice(&(payload.len() as u16).to_be_bytes());
    packet[6] = next_header;
    packet.extend(payload);
    packet
}

pub(super) fn udp(source: u16, destination: u16, payload: &[u8]) -> Vec<u8> {
    let length = 8 + payload.len() as u16;
    let mut datagram = Vec::new();
    for field in [source, destination, length, 0] {
        datagram.extend(field.to_be_bytes());
    }
    datagram.extend(payload);
    datagram
}

pub(super) fn join(parts: &[&[u8]]) -> Vec<u8> {
    parts.concat()
}

/// What a capture of one link type gives.
pub(super) struct Run {
    pub(super) decoder: Decoder,
    pub(super) batch: Batch,
    pub(super) segments: Vec<Segment>,
}

impl Run {
    /// Packets a microsecond apart, cut to `snap` bytes.
    pub(super) fn new(link_type: LinkType, packets: &[Vec<u8>], snap: usize) -> Run {
        let timed: Vec<_> = (0..).step_by(1000).zip(packets.iter().cloned()).collect();
        Run::timed(link_type, &timed, snap)
    }

    pub(super) fn timed(link_type: LinkType, packets: &[(i64, Vec<u8>)], snap: usize) -> Run {
        let mut batch = Batch::default();
        for (i, (time, bytes)) in packets.iter().enumerate() {
            let captured = bytes.len().min(snap);
            batch.packets.push(Packet {
                time: Time(*time),
                order: i as u64,
                at: PacketRef {
                    file: 0,
                    frame: i as u32 + 1,
                },
                link_type,
                start: batch.bytes.len() as u32,
                captured: captured as u32,
                length: bytes.len() as u32,
            });
            batch.bytes.extend(&bytes[..captured]);
        }
        let files = ["a.pcap".to_owned()];
        let (mut plain, mut same, mut segments) = (Decoder::new(&files), batch.clone(), Vec::new());
        let mut run = Run {
            decoder: Decoder::new(&files).with_sights().with_notices(),
            batch,
            segments: Vec::new(),
        };
        run.decoder.decode(&mut run.batch, &mut run.segments);
        // Looking at the network's health changes nothing else.
        plain.decode(&mut same, &mut segments);
        assert_eq!(plain.problems(), run.decoder.problems());
        assert_eq!(same.bytes, run.batch.bytes);
        assert_eq!(format!("{segments:?}"), format!("{:?}", run.segments));
        run
    }

    /// What packets say of the network's health.
    pub(super) fn notices(&mut self) -> Vec<Notice> {
        let mut notices = Vec::new();
        self.decoder.take_notices(&mut notices);
        notices
    }

    pub(super) fn finish(mut self) -> Run {
        self.decoder.finish(&mut self.batch, &mut self.segments);
        self
    }

    pub(super) fn payload(&self, index: usize) -> &[u8] {
        let segment = &self.segments[index];
        let start = segment.payload_start as usize;
        &self.batch.bytes[start..start + segment.payload_captured as usize]
    }

    /// Kinds and counts of problems.
    pub(super) fn problems(&self) -> Vec<(&'static str, u64)> {
        let problems = self.decoder.problems().iter();
        problems.map(|(kind, p)| (kind, p.count)).collect()
    }
}

pub(super) fn one(link_type: LinkType, packet: Vec<u8>) -> Run {
    Run::new(link_type, &[packet], usize::MAX)
}
