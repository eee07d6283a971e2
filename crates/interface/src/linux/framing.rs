//! What the kernel gives of a packet into what a capture file holds of its link layer.
//!
//! Link types: <https://www.tcpdump.org/linktypes.html>; hardware types: ARPHRD_* of `linux/if_arp.h`.

use super::control::Tag;
use super::sys::From;
use crate::Layout;
use model::LinkType;

/// Of the header of Linux's cooked captures, version 2 (LINKTYPE_LINUX_SLL2).
const COOKED_BYTES: usize = 20;

/// Behind both addresses.
const TAG_AT: usize = 12;

/// How the packets of an interface stand in the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Framing {
    /// With their link header, as they are.
    Ethernet,
    /// IP alone.
    Ip,
    /// With a header that says what the kernel knew, in place of their own.
    Cooked,
}

impl Framing {
    /// Of an interface's hardware type.
    pub(super) fn of(hardware: u16) -> Framing {
        match hardware {
            libc::ARPHRD_ETHER | libc::ARPHRD_LOOPBACK => Framing::Ethernet,
            // tun and WireGuard; modems; IP in IP, in four ways.
            libc::ARPHRD_NONE
            | 519
            | libc::ARPHRD_TUNNEL
            | libc::ARPHRD_TUNNEL6
            | libc::ARPHRD_SIT
            | libc::ARPHRD_IPGRE => Framing::Ip,
            _ => Framing::Cooked,
        }
    }

    pub(super) fn link_type(self) -> LinkType {
        LinkType(match self {
            Framing::Ethernet => 1,
            Framing::Ip => 101,
            Framing::Cooked => 276,
        })
    }

    /// Whether the kernel is to give the link header too.
    pub(super) fn has_header(self) -> bool {
        self == Framing::Ethernet
    }

    /// What a filter sees.
    pub(super) fn layout(self) -> Layout {
        match self {
            Framing::Ethernet => Layout::Ethernet,
            Framing::Ip | Framing::Cooked => Layout::Network,
        }
    }

    /// Bytes that are put before what the kernel gives.
    pub(super) fn added(self) -> u32 {
        match self {
            Framing::Ethernet | Framing::Ip => 0,
            Framing::Cooked => COOKED_BYTES as u32,
        }
    }

    /// Puts the packet together in `frame`; gives the bytes by which it became longer on the wire.
    pub(super) fn frame(
        self,
        bytes: &[u8],
        from: &From,
        tag: Option<Tag>,
        frame: &mut Vec<u8>,
    ) -> u32 {
        frame.clear();
        let before = match self {
            Framing::Ethernet => {
                let at = bytes.len().min(TAG_AT);
                let (addresses, rest) = bytes.split_at(at);
                frame.extend(addresses);
                if let Some(tag) = tag {
                    frame.extend(tag.tpid.to_be_bytes());
                    frame.extend(tag.tci.to_be_bytes());
                }
                frame.extend(rest);
                return tag.map_or(0, |_| 4);
            }
            Framing::Ip => 0,
            Framing::Cooked => {
                let protocol = tag.map_or_else(|| told(from.protocol, bytes), |tag| tag.tpid);
                frame.extend(protocol.to_be_bytes());
                frame.extend([0; 2]);
                frame.extend(from.interface.to_be_bytes());
                frame.extend(from.hardware.to_be_bytes());
                frame.extend([from.kind, from.address_bytes]);
                frame.extend(from.address);
                let tagged = tag.map_or(0, |tag| {
                    frame.extend(tag.tci.to_be_bytes());
                    frame.extend(from.protocol.to_be_bytes());
                    4
                });
                COOKED_BYTES as u32 + tagged
            }
        };
        frame.extend(bytes);
        before
    }
}

/// What follows a cooked header. Frames that leave with a tag in front of them are said to be tagged, though
/// what is given of them begins behind the tag (before Linux 6.10): then IP is told by its version.
fn told(protocol: u16, bytes: &[u8]) -> u16 {
    match (protocol, bytes.first().map(|b| b >> 4)) {
        (0x8100 | 0x88a8, Some(4)) => 0x0800,
        (0x8100 | 0x88a8, Some(6)) => 0x86dd,
        _ => protocol,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TAG: Option<Tag> = Some(Tag {
        tpid: 0x8100,
        tci: 0x2007,
    });

    #[test]
    fn a_tag_that_was_taken_off_is_put_back_behind_the_addresses() {
        let bytes: Vec<u8> = (0..12).chain([0x08, 0x00, 0x45]).collect();
        let mut frame = Vec::new();
        let longer = Framing::Ethernet.frame(&bytes, &From::default(), TAG, &mut frame);
        let expected: Vec<u8> = (0..12)
            .chain([0x81, 0x00, 0x20, 0x07, 0x08, 0x00, 0x45])
            .collect();
        assert_eq!((longer, frame), (4, expected));
    }

    #[test]
    fn a_cooked_header_is_that_of_the_registry() {
        let from = From {
            protocol: 0x0800,
            interface: 3,
            hardware: 1,
            kind: 4,
            address_bytes: 6,
            address: [2, 0, 0, 0, 0, 9, 0, 0],
        };
        let mut frame = Vec::new();
        let longer = Framing::Cooked.frame(&[0x45], &from, None, &mut frame);
        #[rustfmt::skip]
        let expected = [
            0x08, 0x00, 0, 0, 0, 0, 0, 3, 0, 1, 4, 6, 2, 0, 0, 0, 0, 9, 0, 0, 0x45,
        ];
        assert_eq!((longer, frame.as_slice()), (20, &expected[..]));
        let longer = Framing::Cooked.frame(&[0x45], &from, TAG, &mut frame);
        #[rustfmt::skip]
        let expected = [
            0x81, 0x00, 0, 0, 0, 0, 0, 3, 0, 1, 4, 6, 2, 0, 0, 0, 0, 9, 0, 0, 0x20, 0x07, 0x08, 0x00, 0x45,
        ];
        assert_eq!((longer, frame.as_slice()), (24, &expected[..]));
    }
}
