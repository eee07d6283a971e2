//! pcapng files into packets (draft-ietf-opsawg-pcapng), found in place in the bytes as they were
//! read.
//!
//! Blocks are framed here, so that lengths are judged before their bytes are there and a lost place
//! can be found again; what is in a block is parsed by `pcap-parser`. It lacks the obsolete packet
//! block (type 2) and integers of options in big-endian sections, which are read here.

use crate::error::CaptureError;
use crate::file::{Outcome, Sink, View};
use crate::pcap::cut;
use crate::pcapng_clock::Clock;
use crate::resync::{Believed, Lost};
use model::limits::PACKET_BYTES;
use model::{LinkType, Time};
use pcap_parser::pcapng::{
    InterfaceDescriptionBlock, InterfaceStatisticsBlock, PcapNGOption,
    parse_enhancedpacketblock_be, parse_enhancedpacketblock_le, parse_interfacedescriptionblock_be,
    parse_interfacedescriptionblock_le, parse_interfacestatisticsblock_be,
    parse_interfacestatisticsblock_le, parse_sectionheaderblock, parse_simplepacketblock_be,
    parse_simplepacketblock_le,
};

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const OBSOLETE_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const INTERFACE_STATISTICS: u32 = 5;
const ENHANCED_PACKET: u32 = 6;

/// Types found in files; only these are believed after damage.
const KNOWN: [u32; 13] = [
    SECTION_HEADER,
    INTERFACE_DESCRIPTION,
    OBSOLETE_PACKET,
    SIMPLE_PACKET,
    4, // name resolution
    INTERFACE_STATISTICS,
    ENHANCED_PACKET,
    9,           // systemd journal export
    10,          // decryption secrets
    0x0bad,      // custom
    0x4000_0bad, // custom, not to be copied
    0x8000_0001, // Apple's process information
    0x0000_0204, // sysdig event
];

/// Longest block that is believed: Wireshark's bound for blocks that are not packets, and a packet.
pub(crate) const BLOCK_BYTES: u32 = (16 << 20) + PACKET_BYTES;

/// Interfaces of a section that are remembered.
const INTERFACES: usize = 65_536;

/// Bytes of an enhanced or obsolete packet block before the packet.
const PACKET_OFFSET: usize = 28;

#[derive(Clone, Copy, Debug)]
struct Interface {
    link_type: LinkType,
    snaplen: u32,
    clock: Clock,
    /// Of its latest statistics block.
    received: Option<u64>,
    dropped_by_interface: Option<u64>,
    dropped_by_os: Option<u64>,
}

/// Where a packet stands in a block, and what the block says of it.
struct Placed {
    interface: u32,
    ticks: u64,
    captured: u32,
    length: u32,
}

/// Reads the blocks of one pcapng file.
#[derive(Default, Debug)]
pub(crate) struct PcapNg {
    /// Of the current section.
    big_endian: bool,
    interfaces: Vec<Interface>,
}

/// A block that is well framed and still makes no sense.
struct Senseless(&'static str, String);

impl PcapNg {
    /// Whether these are the first bytes of a pcapng file.
    pub(crate) fn recognizes(head: &[u8]) -> bool {
        head.first_chunk::<4>()
            .is_some_and(|&b| u32::from_le_bytes(b) == SECTION_HEADER)
            && byte_order(head).is_some()
    }

    /// Looks at the first section's version.
    pub(crate) fn open(head: &[u8], name: &str) -> Result<(PcapNg, usize), CaptureError> {
        let Some(version) = head.get(12..).and_then(|v| v.first_chunk::<4>()) else {
            return Err(CaptureError::HeaderCut {
                file: name.to_owned(),
                bytes: 28,
            });
        };
        let half = |b: [u8; 2]| match byte_order(head) {
            Some(true) => u16::from_be_bytes(b),
            _ => u16::from_le_bytes(b),
        };
        let [m0, m1, n0, n1] = *version;
        let (major, minor) = (half([m0, m1]), half([n0, n1]));
        if major != 1 {
            return Err(CaptureError::Version {
                file: name.to_owned(),
                format: "pcapng",
                major: u32::from(major),
                minor: u32::from(minor),
            });
        }
        Ok((PcapNg::default(), 0))
    }

    /// Takes blocks from `at` on.
    pub(crate) fn records(
        &mut self,
        view: &View<'_>,
        mut at: usize,
        sink: &mut Sink<'_>,
    ) -> (usize, Outcome) {
        loop {
            let rest = view.bytes.get(at..).unwrap_or_default();
            let Some((kind, length)) = self.header(rest) else {
                if view.last && !rest.is_empty() {
                    return (at, Outcome::Lost(cut(rest.len(), 12)));
                }
                return (at, Outcome::More);
            };
            let damaged = |what| (at, Outcome::Lost(Lost { kind: "damaged-block", what }));
            if length > BLOCK_BYTES {
                let lost = Lost {
                    kind: "absurd-length",
                    what: format!("a block says it holds {length} bytes"),
                };
                return (at, Outcome::Lost(lost));
            }
            if length < 12 || length % 4 != 0 {
                return damaged(format!("a block says it holds {length} bytes"));
            }
            let Some(block) = rest.get(..length as usize) else {
                if view.last {
                    return (at, Outcome::Lost(cut(rest.len(), length as usize)));
                }
                return (at, Outcome::More);
            };
            let big = if kind == SECTION_HEADER {
                byte_order(block)
            } else {
                Some(self.big_endian)
            };
            let trailer = block.last_chunk::<4>().copied().unwrap_or_default();
            if big.is_none_or(|big| word(trailer, big) != length) {
                return damaged(format!("a block of {length} bytes does not end as it begins"));
            }
            let offset = view.offset + at as u64;
            if let Err(Senseless(kind, what)) = self.block(kind, block, at, offset, sink) {
                sink.damage(kind, offset, || what);
            }
            at += length as usize;
            if sink.is_full() {
                return (at, Outcome::Full);
            }
        }
    }

    /// Type and length of the block at the start of `rest`.
    fn header(&self, rest: &[u8]) -> Option<(u32, u32)> {
        let [t0, t1, t2, t3, l0, l1, l2, l3, ..] = *rest.first_chunk::<12>()?;
        // A section header reads the same in both byte orders; its length follows its own.
        let kind = word([t0, t1, t2, t3], self.big_endian);
        let big = if kind == SECTION_HEADER {
            byte_order(rest).unwrap_or(self.big_endian)
        } else {
            self.big_endian
        };
        Some((kind, word([l0, l1, l2, l3], big)))
    }

    /// For the search after damage: a known type and the same length in front and behind.
    pub(crate) fn believe(&self, rest: &[u8]) -> Option<Believed> {
        let (kind, length) = self.header(rest)?;
        if !KNOWN.contains(&kind) || length < 12 || length % 4 != 0 {
            return None;
        }
        let block = rest.get(..length as usize)?;
        let big = if kind == SECTION_HEADER {
            byte_order(block)?
        } else {
            self.big_endian
        };
        (word(*block.last_chunk::<4>()?, big) == length).then_some(Believed {
            length: length as usize,
            seconds: None,
        })
    }

    fn block(
        &mut self,
        kind: u32,
        block: &[u8],
        at: usize,
        offset: u64,
        sink: &mut Sink<'_>,
    ) -> Result<(), Senseless> {
        match kind {
            SECTION_HEADER => {
                self.interfaces.clear();
                self.big_endian = byte_order(block).unwrap_or(false);
                let (_, section) =
                    parse_sectionheaderblock(block).map_err(|_| unparsed("section header"))?;
                if section.major_version != 1 {
                    return Err(Senseless(
                        "unknown-version",
                        format!("a section of version {}", section.major_version),
                    ));
                }
            }
            INTERFACE_DESCRIPTION => {
                let (_, interface) = if self.big_endian {
                    parse_interfacedescriptionblock_be(block)
                } else {
                    parse_interfacedescriptionblock_le(block)
                }
                .map_err(|_| unparsed("interface description"))?;
                self.describe(&interface, sink)?;
            }
            INTERFACE_STATISTICS => {
                let (_, statistics) = if self.big_endian {
                    parse_interfacestatisticsblock_be(block)
                } else {
                    parse_interfacestatisticsblock_le(block)
                }
                .map_err(|_| unparsed("interface statistics"))?;
                self.count(&statistics, sink)?;
            }
            ENHANCED_PACKET => {
                let (_, packet) = if self.big_endian {
                    parse_enhancedpacketblock_be(block)
                } else {
                    parse_enhancedpacketblock_le(block)
                }
                .map_err(|_| lost_packet(sink, "enhanced packet"))?;
                // epb_dropcount: packets lost between this one and the one before.
                if let Some(n) = self.integer(&packet.options, 4) {
                    add_drops(sink, n);
                }
                let placed = Placed {
                    interface: packet.if_id,
                    ticks: u64::from(packet.ts_high) << 32 | u64::from(packet.ts_low),
                    captured: packet.caplen,
                    length: packet.origlen,
                };
                self.packet(&placed, at, offset, sink)?;
            }
            OBSOLETE_PACKET => {
                let placed = self
                    .obsolete(block, sink)
                    .ok_or_else(|| lost_packet(sink, "packet"))?;
                self.packet(&placed, at, offset, sink)?;
            }
            SIMPLE_PACKET => {
                let (_, packet) = if self.big_endian {
                    parse_simplepacketblock_be(block)
                } else {
                    parse_simplepacketblock_le(block)
                }
                .map_err(|_| lost_packet(sink, "simple packet"))?;
                // Always of the first interface, whose snap length is its only captured length.
                let Some(interface) = self.interfaces.first() else {
                    return Err(unknown_interface(sink, 0));
                };
                let limit = match interface.snaplen {
                    0 => u32::MAX,
                    n => n,
                };
                let there = u32::try_from(packet.data.len()).unwrap_or(u32::MAX);
                let captured = packet.origlen.min(limit).min(there);
                if captured > PACKET_BYTES {
                    return Err(absurd(sink, captured));
                }
                sink.note("no-time-stamp", offset, || {
                    "a simple packet block has no time; it gets that of the packet before".into()
                });
                let (time, link_type) = (sink.previous().unwrap_or(Time(0)), interface.link_type);
                sink.push(time, link_type, at + 12, captured, packet.origlen, offset);
            }
            _ => {}
        }
        Ok(())
    }

    fn packet(
        &self,
        placed: &Placed,
        at: usize,
        offset: u64,
        sink: &mut Sink<'_>,
    ) -> Result<(), Senseless> {
        let Some(interface) = self.interfaces.get(placed.interface as usize) else {
            return Err(unknown_interface(sink, placed.interface));
        };
        if placed.captured > PACKET_BYTES {
            return Err(absurd(sink, placed.captured));
        }
        let (time, clamped) = interface.clock.time(placed.ticks);
        if clamped {
            sink.note("time-out-of-range", offset, || {
                "a packet's time is not within the years 1677 to 2262".into()
            });
        }
        let Placed {
            captured,
            mut length,
            ..
        } = *placed;
        if captured > length {
            sink.note("captured-beyond-length", offset, || {
                format!("a packet of {length} bytes has {captured} captured bytes")
            });
            length = captured;
        }
        let (start, link_type) = (at + PACKET_OFFSET, interface.link_type);
        sink.push(time, link_type, start, captured, length, offset);
        Ok(())
    }

    /// The packet block of the first drafts: interface and drop count are 16 bits each.
    fn obsolete(&self, block: &[u8], sink: &mut Sink<'_>) -> Option<Placed> {
        let (words, _) = block.get(8..PACKET_OFFSET)?.as_chunks::<4>();
        let &[ids, high, low, captured, length] = words.first_chunk::<5>()?;
        let word = |bytes| word(bytes, self.big_endian);
        let [i0, i1, d0, d1] = ids;
        let half = |b: [u8; 2]| {
            if self.big_endian {
                u16::from_be_bytes(b)
            } else {
                u16::from_le_bytes(b)
            }
        };
        let captured = word(captured);
        // The packet, padded, and the closing length.
        let needed = PACKET_OFFSET as u64 + u64::from(captured) + 4;
        if needed > block.len() as u64 {
            return None;
        }
        match half([d0, d1]) {
            // Not known.
            u16::MAX => {}
            n => add_drops(sink, u64::from(n)),
        }
        Some(Placed {
            interface: u32::from(half([i0, i1])),
            ticks: u64::from(word(high)) << 32 | u64::from(word(low)),
            captured,
            length: word(length),
        })
    }

    fn describe(
        &mut self,
        block: &InterfaceDescriptionBlock<'_>,
        sink: &mut Sink<'_>,
    ) -> Result<(), Senseless> {
        if self.interfaces.len() >= INTERFACES {
            return Err(Senseless(
                "interfaces-full",
                format!("more than {INTERFACES} interfaces in a section"),
            ));
        }
        let link_type = LinkType(u16::try_from(block.linktype.0).unwrap_or(u16::MAX));
        let offset = self.integer(&block.options, 14).unwrap_or(0).cast_signed();
        self.interfaces.push(Interface {
            link_type,
            snaplen: block.snaplen,
            clock: Clock::new(block.if_tsresol, offset),
            received: None,
            dropped_by_interface: None,
            dropped_by_os: None,
        });
        sink.file.add_interface(link_type, block.snaplen);
        Ok(())
    }

    /// The latest statistics of an interface replace its earlier ones, in the file's sums too.
    fn count(
        &mut self,
        block: &InterfaceStatisticsBlock<'_>,
        sink: &mut Sink<'_>,
    ) -> Result<(), Senseless> {
        let [received, by_interface, by_os] =
            [4, 5, 7].map(|code| self.integer(&block.options, code));
        let Some(interface) = self.interfaces.get_mut(block.if_id as usize) else {
            return Err(Senseless(
                "unknown-interface",
                format!("statistics of interface {}, which was not described", block.if_id),
            ));
        };
        let file = &mut *sink.file;
        replace(&mut file.received, &mut interface.received, received);
        replace(
            &mut file.dropped_by_interface,
            &mut interface.dropped_by_interface,
            by_interface,
        );
        replace(&mut file.dropped_by_os, &mut interface.dropped_by_os, by_os);
        Ok(())
    }

    /// The 64-bit integer option `code`.
    fn integer(&self, options: &[PcapNGOption<'_>], code: u16) -> Option<u64> {
        let option = options.iter().find(|o| o.code.0 == code)?;
        let bytes = *option.as_bytes().ok()?.first_chunk::<8>()?;
        Some(if self.big_endian {
            u64::from_be_bytes(bytes)
        } else {
            u64::from_le_bytes(bytes)
        })
    }
}

/// Whether the section that begins here is big-endian.
fn byte_order(section_header: &[u8]) -> Option<bool> {
    match section_header.get(8..)?.first_chunk::<4>()? {
        [0x4d, 0x3c, 0x2b, 0x1a] => Some(false),
        [0x1a, 0x2b, 0x3c, 0x4d] => Some(true),
        _ => None,
    }
}

fn word(bytes: [u8; 4], big_endian: bool) -> u32 {
    if big_endian {
        u32::from_be_bytes(bytes)
    } else {
        u32::from_le_bytes(bytes)
    }
}

fn replace(sum: &mut Option<u64>, old: &mut Option<u64>, new: Option<u64>) {
    if let Some(value) = new {
        let others = sum.unwrap_or(0).saturating_sub(old.unwrap_or(0));
        *sum = Some(others.saturating_add(value));
        *old = new;
    }
}

/// Drops that packets carry; where an interface has statistics too, those say the same again.
fn add_drops(sink: &mut Sink<'_>, drops: u64) {
    let sum = &mut sink.tally.dropped_beside_packets;
    *sum = Some(sum.unwrap_or(0).saturating_add(drops));
}

fn unparsed(what: &str) -> Senseless {
    Senseless("damaged-block", format!("the fields of a block ({what}) do not fit in it"))
}

/// A packet that cannot be handed on still has a number.
fn lost_packet(sink: &mut Sink<'_>, what: &str) -> Senseless {
    sink.skip();
    unparsed(what)
}

fn unknown_interface(sink: &mut Sink<'_>, interface: u32) -> Senseless {
    sink.skip();
    Senseless(
        "unknown-interface",
        format!("a packet of interface {interface}, which was not described"),
    )
}

fn absurd(sink: &mut Sink<'_>, captured: u32) -> Senseless {
    sink.skip();
    Senseless("absurd-length", format!("a packet says it holds {captured} bytes"))
}
