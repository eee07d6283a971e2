//! pcapng files into packets (draft-ietf-opsawg-pcapng), found in place in the bytes as they were
//! read.
//!
//! Blocks are framed here, so that lengths are judged before their bytes are there and a lost place
//! can be found again. What is in a block is parsed by `pcap-parser`, but for what it lacks (the
//! obsolete packet block, type 2, and integers of options in big-endian sections) and for the five
//! fixed fields of the enhanced packet block: over 1.45 M packets without options, reading takes
//! 58 ms with them decoded here and 97 ms with `parse_enhancedpacketblock_le`.

pub(crate) mod beside;
mod clock;
mod fields;
pub(crate) mod write;

use self::clock::Clock;
pub(crate) use self::fields::PACKET_OFFSET;
use self::fields::{ByteOrder, PacketFields};
use crate::error::CaptureError;
use crate::file::{Outcome, Sink, View};
use crate::pcap::cut;
use crate::resync::{Believed, Lost};
use model::limits::PACKET_BYTES;
use model::{LinkType, Time};
use pcap_parser::pcapng::{
    InterfaceDescriptionBlock, InterfaceStatisticsBlock, parse_interfacedescriptionblock_be,
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

/// Blocks that are no packets and that Wireshark gives a frame number all the same: systemd journal
/// entries and custom blocks.
const NUMBERED: [u32; 3] = [9, 0x0bad, 0x4000_0bad];

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

/// Reads the blocks of one pcapng file.
#[derive(Default, Debug)]
pub(crate) struct PcapNg {
    /// Of the current section.
    order: ByteOrder,
    interfaces: Vec<Interface>,
}

/// A block that is well framed and still makes no sense.
struct Senseless {
    kind: &'static str,
    what: String,
    /// It holds a packet, which has a number even when it cannot be handed on.
    packet: bool,
}

impl PcapNg {
    /// Whether these are the first bytes of a pcapng file.
    pub(crate) fn recognizes(head: &[u8]) -> bool {
        head.starts_with(&SECTION_HEADER.to_le_bytes())
            && (head.len() < 12 || ByteOrder::of(head).is_some())
    }

    /// Looks at the first section's version.
    pub(crate) fn open(head: &[u8], name: &str) -> Result<(PcapNg, usize), CaptureError> {
        let Some(version) = head.get(12..).and_then(|v| v.first_chunk::<4>()) else {
            return Err(CaptureError::HeaderCut {
                file: name.to_owned(),
                bytes: 28,
            });
        };
        let order = ByteOrder::of(head).unwrap_or_default();
        let [m0, m1, n0, n1] = *version;
        let (major, minor) = (order.half([m0, m1]), order.half([n0, n1]));
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
            let damaged = |what| {
                (
                    at,
                    Outcome::Lost(Lost {
                        kind: "damaged-block",
                        what,
                    }),
                )
            };
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
            let order = if kind == SECTION_HEADER {
                ByteOrder::of(block)
            } else {
                Some(self.order)
            };
            let trailer = block.last_chunk::<4>().copied().unwrap_or_default();
            if order.is_none_or(|order| order.word(trailer) != length) {
                return damaged(format!(
                    "a block of {length} bytes does not end as it begins"
                ));
            }
            let offset = view.offset + at as u64;
            if let Err(senseless) = self.block(kind, block, at, offset, sink) {
                let Senseless { kind, what, packet } = senseless;
                sink.damage(kind, offset, packet, || what);
                if packet {
                    sink.skip();
                }
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
        let kind = self.order.word([t0, t1, t2, t3]);
        let order = if kind == SECTION_HEADER {
            ByteOrder::of(rest).unwrap_or(self.order)
        } else {
            self.order
        };
        Some((kind, order.word([l0, l1, l2, l3])))
    }

    /// For the search after damage: a known type and the same length in front and behind.
    pub(crate) fn believe(&self, rest: &[u8]) -> Option<Believed> {
        let (kind, length) = self.header(rest)?;
        if !KNOWN.contains(&kind) || length < 12 || length % 4 != 0 {
            return None;
        }
        let block = rest.get(..length as usize)?;
        let order = if kind == SECTION_HEADER {
            ByteOrder::of(block)?
        } else {
            self.order
        };
        (order.word(*block.last_chunk::<4>()?) == length).then_some(Believed {
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
                self.order = ByteOrder::of(block).unwrap_or_default();
                let (_, section) = parse_sectionheaderblock(block)
                    .map_err(|_| unparsed("section header", false))?;
                if section.major_version != 1 {
                    return Err(Senseless {
                        kind: "unknown-version",
                        what: format!("a section of version {}", section.major_version),
                        packet: false,
                    });
                }
            }
            INTERFACE_DESCRIPTION => {
                let (_, interface) = if self.order == ByteOrder::Big {
                    parse_interfacedescriptionblock_be(block)
                } else {
                    parse_interfacedescriptionblock_le(block)
                }
                .map_err(|_| unparsed("interface description", false))?;
                self.describe(&interface, sink)?;
            }
            INTERFACE_STATISTICS => {
                let (_, statistics) = if self.order == ByteOrder::Big {
                    parse_interfacestatisticsblock_be(block)
                } else {
                    parse_interfacestatisticsblock_le(block)
                }
                .map_err(|_| unparsed("interface statistics", false))?;
                self.count(&statistics, sink)?;
            }
            ENHANCED_PACKET => {
                let fields = PacketFields::enhanced(block, self.order);
                self.packet(fields, at, offset, sink)?;
            }
            OBSOLETE_PACKET => {
                let fields = PacketFields::obsolete(block, self.order);
                self.packet(fields, at, offset, sink)?;
            }
            SIMPLE_PACKET => {
                let (_, packet) = if self.order == ByteOrder::Big {
                    parse_simplepacketblock_be(block)
                } else {
                    parse_simplepacketblock_le(block)
                }
                .map_err(|_| unparsed("simple packet", true))?;
                // Always of the first interface, whose snap length is its only captured length.
                let Some(interface) = self.interfaces.first() else {
                    return Err(unknown_interface(0));
                };
                let limit = match interface.snaplen {
                    0 => u32::MAX,
                    n => n,
                };
                let there = u32::try_from(packet.data.len()).unwrap_or(u32::MAX);
                let captured = packet.origlen.min(limit).min(there);
                if captured > PACKET_BYTES {
                    return Err(absurd(captured));
                }
                sink.note("no-time-stamp", offset, || {
                    "a simple packet block has no time; it gets that of the packet before".into()
                });
                let (time, link_type) = (sink.previous().unwrap_or(Time(0)), interface.link_type);
                sink.push(time, link_type, at + 12, captured, packet.origlen, offset);
            }
            kind if NUMBERED.contains(&kind) => sink.skip(),
            _ => {}
        }
        Ok(())
    }

    /// Inlined so that the fields stay in registers: it is done for every packet.
    #[inline(always)]
    fn packet(
        &self,
        fields: Option<PacketFields>,
        at: usize,
        offset: u64,
        sink: &mut Sink<'_>,
    ) -> Result<(), Senseless> {
        let Some(mut fields) = fields else {
            return Err(unparsed("packet", true));
        };
        let Some(interface) = self.interfaces.get(fields.interface as usize) else {
            return Err(unknown_interface(fields.interface));
        };
        let captured = fields.captured;
        if captured > PACKET_BYTES {
            return Err(absurd(captured));
        }
        if let Some(drops) = fields.drops {
            let sum = &mut sink.tally.dropped_beside_packets;
            *sum = Some(sum.unwrap_or(0).saturating_add(drops));
        }
        let (time, clamped) = interface.clock.time(fields.ticks);
        if clamped {
            sink.note("time-out-of-range", offset, || {
                "a packet's time is not within the years 1677 to 2262".to_owned()
            });
        }
        if captured > fields.length {
            sink.note("captured-beyond-length", offset, || {
                format!(
                    "a packet of {} bytes has {captured} captured bytes",
                    fields.length
                )
            });
            fields.length = captured;
        }
        let (start, link_type) = (at + PACKET_OFFSET, interface.link_type);
        sink.push(time, link_type, start, captured, fields.length, offset);
        Ok(())
    }

    fn describe(
        &mut self,
        block: &InterfaceDescriptionBlock<'_>,
        sink: &mut Sink<'_>,
    ) -> Result<(), Senseless> {
        if self.interfaces.len() >= INTERFACES {
            return Err(Senseless {
                kind: "interfaces-full",
                what: format!("more than {INTERFACES} interfaces in a section"),
                packet: false,
            });
        }
        let link_type = LinkType(u16::try_from(block.linktype.0).unwrap_or(u16::MAX));
        let offset = self
            .order
            .integer(&block.options, 14)
            .unwrap_or(0)
            .cast_signed();
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
            [4, 5, 7].map(|code| self.order.integer(&block.options, code));
        let Some(interface) = self.interfaces.get_mut(block.if_id as usize) else {
            return Err(Senseless {
                kind: "unknown-interface",
                what: format!(
                    "statistics of interface {}, which was not described",
                    block.if_id
                ),
                packet: false,
            });
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
}

fn replace(sum: &mut Option<u64>, old: &mut Option<u64>, new: Option<u64>) {
    if let Some(value) = new {
        let others = sum.unwrap_or(0).saturating_sub(old.unwrap_or(0));
        *sum = Some(others.saturating_add(value));
        *old = new;
    }
}

fn unparsed(what: &str, packet: bool) -> Senseless {
    Senseless {
        kind: "damaged-block",
        what: format!("the fields of a block ({what}) do not fit in it"),
        packet,
    }
}

fn unknown_interface(interface: u32) -> Senseless {
    Senseless {
        kind: "unknown-interface",
        what: format!("a packet of interface {interface}, which was not described"),
        packet: true,
    }
}

fn absurd(captured: u32) -> Senseless {
    Senseless {
        kind: "absurd-length",
        what: format!("a packet says it holds {captured} bytes"),
        packet: true,
    }
}
