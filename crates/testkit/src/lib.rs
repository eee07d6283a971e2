//! Conversation scripts into packets and captures, splitters and fault injection; for tests only.
//!
//! A [`Conversation`] writes what two TCP hosts would send; [`datagram`] and [`fragments`] do so for
//! UDP; [`faults`] turns the packets into what real captures hold (loss, copies, reordering,
//! offload, snap lengths, other clocks, NAT); [`pcap`], [`pcapng`] and [`batch`] hand them on.
//! [`path`] is two hosts and what lies between them, for captures of both.
//! [`stream`] is a script for those who see a connection's bytes and no packets, [`at_hand`] what may be missing.
//! Everything is deterministic: randomness comes from a seeded [`Random`].
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot be set up should fail"
)]

pub mod at_hand;
mod conversation;
pub mod faults;
mod file;
mod frame;
pub mod path;
mod random;
pub mod rpc;
pub mod stream;
mod udp;

pub use conversation::Conversation;
pub use file::{Format, pcap, pcapng};
pub use frame::Frame;
pub use random::Random;
pub use udp::{datagram, fragments};

use model::{Batch, LinkType, Packet, PacketRef, Time};

/// Ethernet, which all packets made here have.
pub const ETHERNET: LinkType = LinkType(1);

/// A packet as a capture would hold it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TestPacket {
    /// Nanoseconds since the epoch.
    pub time: i64,
    /// The captured bytes.
    pub bytes: Vec<u8>,
    /// Bytes on the wire; more than were captured after [`faults::snap`].
    pub length: u32,
}

impl TestPacket {
    #[must_use]
    pub fn new(time: i64, bytes: Vec<u8>) -> TestPacket {
        let length = bytes.len() as u32;
        TestPacket {
            time,
            bytes,
            length,
        }
    }
}

/// All packets in one batch.
#[must_use]
pub fn batch(packets: &[TestPacket], link_type: LinkType) -> Batch {
    batches(packets, packets.len().max(1), link_type)
        .pop()
        .unwrap_or_default()
}

/// Batches of `size` packets; orders and frame numbers count through.
#[must_use]
pub fn batches(packets: &[TestPacket], size: usize, link_type: LinkType) -> Vec<Batch> {
    let mut order = 0;
    packets
        .chunks(size)
        .map(|chunk| {
            let mut batch = Batch::default();
            for packet in chunk {
                batch.packets.push(Packet {
                    time: Time(packet.time),
                    order,
                    at: PacketRef {
                        file: 0,
                        frame: order as u32 + 1,
                    },
                    link_type,
                    start: batch.bytes.len() as u32,
                    captured: packet.bytes.len() as u32,
                    length: packet.length,
                });
                batch.bytes.extend(&packet.bytes);
                order += 1;
            }
            batch
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_count_orders_and_frames_through() {
        let packets: Vec<_> = (0..5).map(|i| TestPacket::new(i, vec![i as u8])).collect();
        let batches = batches(&packets, 2, ETHERNET);
        assert_eq!(batches.len(), 3);
        let last = &batches[2].packets[0];
        assert_eq!((last.order, last.at.frame, last.start), (4, 5, 0));
        assert_eq!(batches[2].bytes_of(last), [4]);
        assert_eq!(batch(&packets, ETHERNET).packets.len(), 5);
    }
}
