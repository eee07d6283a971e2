//! What is known of a capture and of each of its files besides the packets. Plain data.

use crate::source::Compression;
use model::{LinkType, Time};
use serde::{Deserialize, Serialize};

/// How packets are stored in a file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Format {
    Pcap,
    PcapNg,
    Snoop,
}

impl Format {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Format::Pcap => "pcap",
            Format::PcapNg => "pcapng",
            Format::Snoop => "snoop",
        }
    }
}

/// One file of a capture, as far as it was read.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FileSummary {
    /// As given.
    pub name: String,
    pub format: Format,
    pub compression: Compression,
    pub packets: u64,
    /// Bytes of packets in the file, and on the wire.
    pub captured_bytes: u64,
    pub wire_bytes: u64,
    /// Lowest and highest packet time.
    pub first: Option<Time>,
    pub last: Option<Time>,
    /// The different snap lengths its header or interfaces name, ascending; 0 is "no limit".
    pub snaplens: Vec<u32>,
    /// The different link types its header or interfaces name, ascending.
    pub link_types: Vec<LinkType>,
    /// Packets the interfaces say they received before any was dropped; `None` where the file does
    /// not say.
    pub received: Option<u64>,
    /// Packets dropped by the network interface, and by the operating system for lack of buffers;
    /// `None` where the file does not say.
    pub dropped_by_interface: Option<u64>,
    pub dropped_by_os: Option<u64>,
}

impl FileSummary {
    pub(crate) fn new(name: String, format: Format, compression: Compression) -> FileSummary {
        FileSummary {
            name,
            format,
            compression,
            packets: 0,
            captured_bytes: 0,
            wire_bytes: 0,
            first: None,
            last: None,
            snaplens: Vec::new(),
            link_types: Vec::new(),
            received: None,
            dropped_by_interface: None,
            dropped_by_os: None,
        }
    }

    pub(crate) fn add_interface(&mut self, link_type: LinkType, snaplen: u32) {
        insert(&mut self.link_types, link_type);
        insert(&mut self.snaplens, snaplen);
    }

    /// Packets known to be missing; `None` where the file does not say.
    #[must_use]
    pub fn dropped(&self) -> Option<u64> {
        add(self.dropped_by_interface, self.dropped_by_os)
    }
}

/// A whole capture, as far as it was read: the sums and extremes of its files.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CaptureSummary {
    /// In the order of [`PacketRef::file`](model::PacketRef).
    pub files: Vec<FileSummary>,
    pub packets: u64,
    pub captured_bytes: u64,
    pub wire_bytes: u64,
    pub first: Option<Time>,
    pub last: Option<Time>,
    pub snaplens: Vec<u32>,
    pub link_types: Vec<LinkType>,
    pub received: Option<u64>,
    pub dropped_by_interface: Option<u64>,
    pub dropped_by_os: Option<u64>,
}

impl CaptureSummary {
    /// Of all of these.
    #[must_use]
    pub fn of(files: Vec<FileSummary>) -> CaptureSummary {
        let mut sum = CaptureSummary::default();
        for f in &files {
            sum.packets += f.packets;
            sum.captured_bytes += f.captured_bytes;
            sum.wire_bytes += f.wire_bytes;
            sum.first = [sum.first, f.first].into_iter().flatten().min();
            sum.last = sum.last.max(f.last);
            for &snaplen in &f.snaplens {
                insert(&mut sum.snaplens, snaplen);
            }
            for &link_type in &f.link_types {
                insert(&mut sum.link_types, link_type);
            }
            sum.received = add(sum.received, f.received);
            sum.dropped_by_interface = add(sum.dropped_by_interface, f.dropped_by_interface);
            sum.dropped_by_os = add(sum.dropped_by_os, f.dropped_by_os);
        }
        sum.files = files;
        sum
    }

    /// Packets known to be missing; `None` where no file says.
    #[must_use]
    pub fn dropped(&self) -> Option<u64> {
        add(self.dropped_by_interface, self.dropped_by_os)
    }
}

fn insert<T: Ord>(sorted: &mut Vec<T>, value: T) {
    if let Err(place) = sorted.binary_search(&value) {
        sorted.insert(place, value);
    }
}

/// The sum of what is known.
fn add(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.saturating_add(b)),
        (known, None) | (None, known) => known,
    }
}
