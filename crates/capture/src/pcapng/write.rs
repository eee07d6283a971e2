//! Packets into a pcapng file (draft-ietf-opsawg-pcapng): a section header, an interface description for
//! each kind of packet, and an enhanced packet block for each packet, little-endian, with times in
//! nanoseconds.
//!
//! Own code: `pcap-file` brings second versions of `syn` and `thiserror` along, and `pcap-parser` writes
//! with one crate more, from a structure for each block and each of its options. Three kinds of blocks are
//! written here, in fewer lines than would fill those in.

use model::{LinkType, Time};
use std::io::{self, Write};

const OPT_COMMENT: u16 = 1;
const SHB_USERAPPL: u16 = 4;
const IF_NAME: u16 = 2;
const IF_DESCRIPTION: u16 = 3;
const IF_TSRESOL: u16 = 9;
const EPB_FLAGS: u16 = 2;
const ISB_IFRECV: u16 = 4;
const ISB_OSDROP: u16 = 7;

/// Where packets were captured.
#[derive(Clone, Copy, Debug)]
pub struct Interface<'a> {
    pub link_type: LinkType,
    /// 0: no limit.
    pub snaplen: u32,
    pub name: &'a str,
    pub description: &'a str,
}

/// A packet as it is written.
#[derive(Clone, Copy, Debug)]
pub struct PacketBlock<'a> {
    /// As [`PcapNgWriter::interface`] numbered it.
    pub interface: u32,
    /// Times before 1970 cannot be said and become its first moment.
    pub time: Time,
    /// What was captured of it.
    pub bytes: &'a [u8],
    /// Its length on the wire.
    pub length: u32,
    /// `epb_flags`: its direction, how it was received, and errors of the link layer.
    pub flags: Option<u32>,
    pub comments: &'a [String],
}

/// Writes one section.
#[derive(Debug)]
pub struct PcapNgWriter<W> {
    out: W,
    block: Vec<u8>,
    interfaces: u32,
}

impl<W: Write> PcapNgWriter<W> {
    /// Begins the file. `application` is the program that writes it.
    ///
    /// # Errors
    /// When `out` fails.
    pub fn new(out: W, application: &str, comment: &str) -> io::Result<PcapNgWriter<W>> {
        let mut writer = PcapNgWriter {
            out,
            block: Vec::new(),
            interfaces: 0,
        };
        let block = &mut writer.block;
        block.extend(0x1a2b_3c4d_u32.to_le_bytes());
        block.extend(1_u16.to_le_bytes());
        block.extend(0_u16.to_le_bytes());
        // The section's length is not known yet.
        block.extend([0xff; 8]);
        text(block, SHB_USERAPPL, application);
        text(block, OPT_COMMENT, comment);
        end_of_options(block);
        writer.write(0x0a0d_0d0a)?;
        Ok(writer)
    }

    /// Describes an interface; gives its number.
    ///
    /// # Errors
    /// When the output fails.
    pub fn interface(&mut self, of: &Interface<'_>) -> io::Result<u32> {
        let block = &mut self.block;
        block.extend(of.link_type.0.to_le_bytes());
        block.extend([0; 2]);
        block.extend(of.snaplen.to_le_bytes());
        text(block, IF_NAME, of.name);
        text(block, IF_DESCRIPTION, of.description);
        option(block, IF_TSRESOL, &[9]);
        end_of_options(block);
        self.write(1)?;
        self.interfaces += 1;
        Ok(self.interfaces - 1)
    }

    /// # Errors
    /// When the output fails.
    pub fn packet(&mut self, packet: &PacketBlock<'_>) -> io::Result<()> {
        let ns = u64::try_from(packet.time.0).unwrap_or(0);
        let captured = packet.bytes.len() as u32;
        let block = &mut self.block;
        for word in [
            packet.interface,
            (ns >> 32) as u32,
            ns as u32,
            captured,
            packet.length.max(captured),
        ] {
            block.extend(word.to_le_bytes());
        }
        block.extend(packet.bytes);
        pad(block);
        if let Some(flags) = packet.flags {
            option(block, EPB_FLAGS, &flags.to_le_bytes());
        }
        for comment in packet.comments {
            text(block, OPT_COMMENT, comment);
        }
        if packet.flags.is_some() || !packet.comments.is_empty() {
            end_of_options(block);
        }
        self.write(6)
    }

    /// Says what an interface has received and the system has dropped so far, of what was asked for.
    ///
    /// # Errors
    /// When the output fails.
    pub fn statistics(
        &mut self,
        interface: u32,
        time: Time,
        received: u64,
        dropped: u64,
    ) -> io::Result<()> {
        let ns = u64::try_from(time.0).unwrap_or(0);
        let block = &mut self.block;
        for word in [interface, (ns >> 32) as u32, ns as u32] {
            block.extend(word.to_le_bytes());
        }
        option(block, ISB_IFRECV, &received.to_le_bytes());
        option(block, ISB_OSDROP, &dropped.to_le_bytes());
        end_of_options(block);
        self.write(5)
    }

    /// What is below, such as bytes that were written and can be taken.
    pub fn out(&mut self) -> &mut W {
        &mut self.out
    }

    /// Hands everything on to what is below.
    ///
    /// # Errors
    /// When the output fails.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }

    /// Writes the block whose body was put together, and empties it.
    fn write(&mut self, kind: u32) -> io::Result<()> {
        let length = (self.block.len() as u32 + 12).to_le_bytes();
        self.out.write_all(&kind.to_le_bytes())?;
        self.out.write_all(&length)?;
        self.out.write_all(&self.block)?;
        self.out.write_all(&length)?;
        self.block.clear();
        Ok(())
    }
}

/// An option that is text; nothing where that is empty.
fn text(block: &mut Vec<u8>, code: u16, text: &str) {
    let mut end = text.len().min(usize::from(u16::MAX));
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    match text.as_bytes().get(..end) {
        None | Some([]) => {}
        Some(bytes) => option(block, code, bytes),
    }
}

fn option(block: &mut Vec<u8>, code: u16, value: &[u8]) {
    block.extend(code.to_le_bytes());
    block.extend((value.len() as u16).to_le_bytes());
    block.extend(value);
    pad(block);
}

fn end_of_options(block: &mut Vec<u8>) {
    block.extend([0; 4]);
}

/// To a multiple of four bytes: what stands before in the block is one.
fn pad(block: &mut Vec<u8>) {
    block.resize(block.len().next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_those_of_the_draft() {
        let mut writer = PcapNgWriter::new(Vec::new(), "me", "why").expect("memory");
        let interface = Interface {
            link_type: LinkType(113),
            snaplen: 256,
            name: "a",
            description: "",
        };
        assert_eq!(writer.interface(&interface).expect("memory"), 0);
        let packet = PacketBlock {
            interface: 0,
            time: Time(0x0000_0001_0000_0002),
            bytes: &[1, 2, 3, 4, 5],
            length: 60,
            flags: Some(2),
            comments: &["x".to_owned()],
        };
        writer.packet(&packet).expect("memory");
        let plain = PacketBlock {
            flags: None,
            comments: &[],
            bytes: &[],
            ..packet
        };
        writer.packet(&plain).expect("memory");
        let at = Time(0x0000_0001_0000_0003);
        writer.statistics(0, at, 9, 1).expect("memory");
        let bytes = writer.finish().expect("memory");
        #[rustfmt::skip]
        let expected = [
            // Section header block: 48 bytes, byte order, version 1.0, unknown length.
            0x0a, 0x0d, 0x0d, 0x0a, 48, 0, 0, 0, 0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0,
            0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
            // shb_userappl, opt_comment, opt_endofopt
            4, 0, 2, 0, b'm', b'e', 0, 0, 1, 0, 3, 0, b'w', b'h', b'y', 0, 0, 0, 0, 0,
            48, 0, 0, 0,
            // Interface description block: SLL, snap length 256, if_name, if_tsresol.
            1, 0, 0, 0, 40, 0, 0, 0, 113, 0, 0, 0, 0, 1, 0, 0,
            2, 0, 1, 0, b'a', 0, 0, 0, 9, 0, 1, 0, 9, 0, 0, 0, 0, 0, 0, 0,
            40, 0, 0, 0,
            // Enhanced packet block with flags (outbound) and a comment.
            6, 0, 0, 0, 60, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 5, 0, 0, 0, 60, 0, 0, 0,
            1, 2, 3, 4, 5, 0, 0, 0,
            2, 0, 4, 0, 2, 0, 0, 0, 1, 0, 1, 0, b'x', 0, 0, 0, 0, 0, 0, 0,
            60, 0, 0, 0,
            // One without either.
            6, 0, 0, 0, 32, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 60, 0, 0, 0,
            32, 0, 0, 0,
            // Interface statistics block: isb_ifrecv, isb_osdrop.
            5, 0, 0, 0, 52, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0,
            4, 0, 8, 0, 9, 0, 0, 0, 0, 0, 0, 0, 7, 0, 8, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
            52, 0, 0, 0,
        ];
        assert_eq!(bytes, expected);
    }

    #[test]
    fn text_that_is_too_long_ends_with_a_whole_character() {
        let mut block = Vec::new();
        text(&mut block, 1, &"ü".repeat(40_000));
        assert_eq!(block.get(..4), Some(&[1, 0, 0xfe, 0xff][..]));
        assert_eq!(block.len() % 4, 0);
    }
}
