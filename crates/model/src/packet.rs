//! Packets as a capture file holds them: time, lengths, where they stand, and the captured bytes.

use crate::Time;
use serde::{Deserialize, Serialize};

/// Where a packet stands: the file within the capture (0 for the first) and the frame number within
/// that file, counted from 1 as Wireshark shows it.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
#[serde(from = "u64", into = "u64")]
pub struct PacketRef {
    pub file: u16,
    pub frame: u32,
}

/// As one number it is packed (`pack`) into a byte where it comes again.
impl From<PacketRef> for u64 {
    fn from(packet: PacketRef) -> u64 {
        u64::from(packet.file) << 32 | u64::from(packet.frame)
    }
}

impl From<u64> for PacketRef {
    fn from(packet: u64) -> PacketRef {
        PacketRef {
            file: (packet >> 32) as u16,
            frame: packet as u32,
        }
    }
}

/// A link-layer type as in the pcap registry (LINKTYPE_ETHERNET is 1).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct LinkType(pub u16);

/// One captured packet; its bytes are `start..start + captured` of the batch it stands in.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Packet {
    pub time: Time,
    /// Grows through the whole capture, from 0, in the order in which packets are handed on. One
    /// number is left out behind each batch, for what is decided there and not at a packet.
    pub order: u64,
    pub at: PacketRef,
    pub link_type: LinkType,
    /// Offset of the first captured byte in [`Batch::bytes`].
    pub start: u32,
    /// Bytes captured.
    pub captured: u32,
    /// Bytes on the wire; more than `captured` where the capture was taken with a snap length.
    pub length: u32,
}

/// Some packets and the memory their bytes stand in. The bytes between packets mean nothing.
#[derive(Clone, Default, Debug)]
pub struct Batch {
    pub bytes: Vec<u8>,
    pub packets: Vec<Packet>,
}

impl Batch {
    /// The captured bytes of a packet of this batch; empty for a packet that is not of this batch.
    #[must_use]
    pub fn bytes_of(&self, packet: &Packet) -> &[u8] {
        let start = packet.start as usize;
        self.bytes
            .get(start..start + packet.captured as usize)
            .unwrap_or_default()
    }

    pub fn clear(&mut self) {
        self.bytes.clear();
        self.packets.clear();
    }
}
