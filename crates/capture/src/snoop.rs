//! snoop files (RFC 1761; link types from RFC 1761, `dlpi.h` and Wireshark's `wiretap/snoop.c`)
//! into packets. No crate reads them. Records count the packets dropped so far, which becomes the
//! file's drop counter. All fields are big-endian.

use crate::error::CaptureError;
use crate::file::{Outcome, Sink, View};
use crate::pcap::cut;
use crate::resync::{Believed, DAY, Lost};
use model::limits::PACKET_BYTES;
use model::{LinkType, Time};

const MAGIC: &[u8; 8] = b"snoop\0\0\0";
const FILE_HEADER: usize = 16;
const RECORD_HEADER: usize = 24;

/// Shomiti's analyzers write this many bytes and more behind each packet, and use link types of
/// their own; nothing else tells their files apart.
const SHOMITI_TRAILER: usize = 16;

/// Padding that is believed without a look at the next record.
const PADDING: usize = 64;

/// A record header (RFC 1761, "Packet Record Format").
#[derive(Clone, Copy, Debug)]
struct Record {
    original: u32,
    included: u32,
    /// Bytes of the record: this header, the packet, padding.
    whole: u32,
    /// Packets dropped since the first one of the file.
    drops: u32,
    seconds: u32,
    microseconds: u32,
}

impl Record {
    fn decode(rest: &[u8]) -> Option<Record> {
        let (words, _) = rest.get(..RECORD_HEADER)?.as_chunks::<4>();
        let mut words = words.iter().map(|&w| u32::from_be_bytes(w));
        Some(Record {
            original: words.next()?,
            included: words.next()?,
            whole: words.next()?,
            drops: words.next()?,
            seconds: words.next()?,
            microseconds: words.next()?,
        })
    }

    fn padding(&self) -> Option<usize> {
        (self.whole as usize).checked_sub(RECORD_HEADER + self.included as usize)
    }

    fn is_possible(&self) -> bool {
        self.included <= PACKET_BYTES
            && self.padding().is_some_and(|p| p <= PACKET_BYTES as usize)
            && (self.seconds, self.original) != (0, 0)
    }
}

/// Reads the records of one snoop file.
#[derive(Debug)]
pub(crate) struct Snoop {
    network: u32,
    /// Known once the first record was seen.
    link_type: Option<LinkType>,
    seconds: Option<u32>,
}

impl Snoop {
    /// Whether these are the first bytes of a snoop file.
    pub(crate) fn recognizes(head: &[u8]) -> bool {
        head.starts_with(MAGIC)
    }

    /// Reads the file header; gives its length too.
    pub(crate) fn open(head: &[u8], name: &str) -> Result<(Snoop, usize), CaptureError> {
        let word = |at: usize| Some(u32::from_be_bytes(*head.get(at..)?.first_chunk::<4>()?));
        let (Some(version), Some(network)) = (word(8), word(12)) else {
            return Err(CaptureError::HeaderCut {
                file: name.to_owned(),
                bytes: FILE_HEADER,
            });
        };
        // 3 to 5 are Shomiti's.
        if !(2..=5).contains(&version) {
            return Err(CaptureError::Version {
                file: name.to_owned(),
                format: "snoop",
                major: version,
                minor: 0,
            });
        }
        let snoop = Snoop {
            network,
            link_type: None,
            seconds: None,
        };
        Ok((snoop, FILE_HEADER))
    }

    /// Second of the last packet.
    pub(crate) fn seconds(&self) -> Option<u32> {
        self.seconds
    }

    /// Takes records from `at` on.
    pub(crate) fn records(
        &mut self,
        view: &View<'_>,
        mut at: usize,
        sink: &mut Sink<'_>,
    ) -> (usize, Outcome) {
        loop {
            let rest = view.bytes.get(at..).unwrap_or_default();
            let Some(record) = Record::decode(rest) else {
                if view.last && !rest.is_empty() {
                    return (at, Outcome::Lost(cut(rest.len(), RECORD_HEADER)));
                }
                return (at, Outcome::More);
            };
            let Some(padding) = record.padding().filter(|_| record.is_possible()) else {
                return (at, Outcome::Lost(senseless(&record)));
            };
            let whole = record.whole as usize;
            let near = self
                .seconds
                .is_none_or(|s| s.abs_diff(record.seconds) <= DAY);
            if padding > PADDING || !near {
                // Taken when the next record makes sense.
                match rest.get(whole..).and_then(Record::decode) {
                    Some(next) if next.is_possible() => {}
                    Some(_) => return (at, Outcome::Lost(senseless(&record))),
                    None if !view.last => return (at, Outcome::More),
                    None if rest.len() < whole && padding > PADDING => {
                        return (at, Outcome::Lost(cut(rest.len(), whole)));
                    }
                    None => {}
                }
            }
            if rest.len() < whole {
                if !view.last {
                    return (at, Outcome::More);
                }
                // The last record's padding may be missing.
                if rest.len() < RECORD_HEADER + record.included as usize {
                    return (at, Outcome::Lost(cut(rest.len(), whole)));
                }
            }
            let offset = view.offset + at as u64;
            let link_type = match self.link_type {
                Some(known) => known,
                None => {
                    let link_type = link_type(self.network, padding >= SHOMITI_TRAILER);
                    sink.file.add_interface(link_type, 0);
                    *self.link_type.insert(link_type)
                }
            };
            let mut length = record.original;
            if record.included > length {
                sink.note("captured-beyond-length", offset, || {
                    format!(
                        "a packet of {length} bytes has {} captured bytes",
                        record.included
                    )
                });
                length = record.included;
            }
            self.seconds = Some(record.seconds);
            let ns =
                i64::from(record.seconds) * 1_000_000_000 + i64::from(record.microseconds) * 1_000;
            sink.push(
                Time(ns),
                link_type,
                at + RECORD_HEADER,
                record.included,
                length,
                offset,
            );
            sink.file.dropped_by_os = Some(u64::from(record.drops));
            at += whole.min(rest.len());
            if sink.is_full() {
                return (at, Outcome::Full);
            }
        }
    }

    /// For the search after damage.
    pub(crate) fn believe(rest: &[u8]) -> Option<Believed> {
        let record = Record::decode(rest)?;
        let usual = record.is_possible()
            && record.padding().is_some_and(|p| p <= PADDING)
            && record.included <= record.original
            && record.original <= PACKET_BYTES
            && record.microseconds < 1_000_000;
        usual.then_some(Believed {
            length: record.whole as usize,
            seconds: Some(record.seconds),
        })
    }
}

fn senseless(record: &Record) -> Lost {
    if record.included > PACKET_BYTES || record.whole > 2 * PACKET_BYTES {
        let longest = record.included.max(record.whole);
        return Lost {
            kind: "absurd-length",
            what: format!("a record says it holds {longest} bytes"),
        };
    }
    Lost {
        kind: "damaged-record",
        what: format!(
            "a record of {} bytes cannot hold a packet of {}",
            record.whole, record.included
        ),
    }
}

/// The pcap link type of a snoop network type; a number that pcap never assigned
/// for those it does not know.
fn link_type(network: u32, shomiti: bool) -> LinkType {
    const UNKNOWN: u16 = u16::MAX;
    LinkType(match (network, shomiti) {
        // IEEE 802.3 and Ethernet.
        (0 | 4, _) | (10 | 12 | 19, true) => 1,
        // IEEE 802.5 token ring.
        (2, _) | (11 | 13 | 14, true) => 6,
        (8, _) => 10,            // FDDI
        (9 | 14, false) => 0,    // "other" and the software loopback: BSD loopback
        (16, false) => 122,      // IP over Fibre Channel
        (18, false) => 123,      // SunATM
        (0x8000_0005, _) => 226, // Solaris ipnet(7D)
        _ => UNKNOWN,
    })
}
