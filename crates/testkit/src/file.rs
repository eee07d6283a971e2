//! Packets into the bytes of pcap and pcapng files.

use crate::TestPacket;
use model::LinkType;

/// How numbers and times are written.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Format {
    pub big_endian: bool,
    /// Nanoseconds instead of microseconds.
    pub nanoseconds: bool,
}

impl Format {
    /// All four.
    pub const ALL: [Format; 4] = [
        Format::new(false, false),
        Format::new(false, true),
        Format::new(true, false),
        Format::new(true, true),
    ];

    const fn new(big_endian: bool, nanoseconds: bool) -> Format {
        Format {
            big_endian,
            nanoseconds,
        }
    }

    fn u16(self, value: u16) -> [u8; 2] {
        if self.big_endian {
            value.to_be_bytes()
        } else {
            value.to_le_bytes()
        }
    }

    fn u32(self, value: u32) -> [u8; 4] {
        if self.big_endian {
            value.to_be_bytes()
        } else {
            value.to_le_bytes()
        }
    }

    fn units_per_second(self) -> i64 {
        if self.nanoseconds {
            1_000_000_000
        } else {
            1_000_000
        }
    }

    fn units(self, time: i64) -> i64 {
        time.div_euclid(1_000_000_000 / self.units_per_second())
    }
}

/// A pcap file (draft-ietf-opsawg-pcap).
#[must_use]
pub fn pcap(packets: &[TestPacket], link_type: LinkType, format: Format) -> Vec<u8> {
    let magic = if format.nanoseconds {
        0xa1b2_3c4d
    } else {
        0xa1b2_c3d4
    };
    let mut file = Vec::new();
    file.extend(format.u32(magic));
    file.extend(format.u16(2));
    file.extend(format.u16(4));
    for field in [0, 0, 262_144, u32::from(link_type.0)] {
        file.extend(format.u32(field));
    }
    for packet in packets {
        let units = format.units(packet.time);
        let per_second = format.units_per_second();
        for field in [
            units.div_euclid(per_second) as u32,
            units.rem_euclid(per_second) as u32,
            packet.bytes.len() as u32,
            packet.length,
        ] {
            file.extend(format.u32(field));
        }
        file.extend(&packet.bytes);
    }
    file
}

/// A pcapng file (draft-ietf-opsawg-pcapng): section header, one interface, enhanced packets.
#[must_use]
pub fn pcapng(packets: &[TestPacket], link_type: LinkType, format: Format) -> Vec<u8> {
    let mut file = Vec::new();
    let mut section = Vec::new();
    section.extend(format.u32(0x1a2b_3c4d));
    section.extend(format.u16(1));
    section.extend(format.u16(0));
    // The section's length is not given.
    section.extend([0xff; 8]);
    block(&mut file, 0x0a0d_0d0a, &section, format);

    let mut interface = Vec::new();
    interface.extend(format.u16(link_type.0));
    interface.extend(format.u16(0));
    interface.extend(format.u32(262_144));
    // if_tsresol: a power of ten.
    interface.extend(format.u16(9));
    interface.extend(format.u16(1));
    interface.extend([if format.nanoseconds { 9 } else { 6 }, 0, 0, 0]);
    interface.extend([0; 4]);
    block(&mut file, 1, &interface, format);

    for packet in packets {
        let units = format.units(packet.time) as u64;
        let mut body = Vec::new();
        for field in [
            0,
            (units >> 32) as u32,
            units as u32,
            packet.bytes.len() as u32,
            packet.length,
        ] {
            body.extend(format.u32(field));
        }
        body.extend(&packet.bytes);
        block(&mut file, 6, &body, format);
    }
    file
}

fn block(file: &mut Vec<u8>, kind: u32, body: &[u8], format: Format) {
    let padded = body.len().next_multiple_of(4);
    let total = format.u32(padded as u32 + 12);
    file.extend(format.u32(kind));
    file.extend(total);
    file.extend(body);
    file.resize(file.len() + padded - body.len(), 0);
    file.extend(total);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ETHERNET;

    fn packet() -> TestPacket {
        TestPacket {
            time: 0,
            bytes: b"abcde".to_vec(),
            length: 9,
        }
    }

    #[test]
    fn pcap_is_written_as_specified() {
        let packet = TestPacket {
            time: 3_000_005_007,
            ..packet()
        };
        let file = pcap(std::slice::from_ref(&packet), ETHERNET, Format::ALL[0]);
        assert_eq!(
            file,
            b"\xd4\xc3\xb2\xa1\x02\0\x04\0\0\0\0\0\0\0\0\0\0\0\x04\0\x01\0\0\0\
              \x03\0\0\0\x05\0\0\0\x05\0\0\0\x09\0\0\0abcde"
        );
        let file = pcap(&[packet], ETHERNET, Format::ALL[3]);
        assert_eq!(file[..4], *b"\xa1\xb2\x3c\x4d");
        assert_eq!(file[24..32], *b"\0\0\0\x03\0\0\x13\x8f");
    }

    #[test]
    fn pcapng_blocks_are_padded_and_say_their_length_twice() {
        let packet = TestPacket {
            time: 0x0000_0002_0000_0003,
            ..packet()
        };
        let file = pcapng(&[packet], ETHERNET, Format::ALL[3]);
        assert_eq!(file[..8], *b"\x0a\x0d\x0d\x0a\0\0\0\x1c");
        assert_eq!(file[28..36], *b"\0\0\0\x01\0\0\0\x20");
        assert_eq!(
            file[60..],
            *b"\0\0\0\x06\0\0\0\x28\0\0\0\0\0\0\0\x02\0\0\0\x03\0\0\0\x05\0\0\0\x09abcde\0\0\0\
               \0\0\0\x28"
        );
    }
}
