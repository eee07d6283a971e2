//! Packets, calls and connections of a capture into what the capture is worth: what it holds, and what
//! that limits.
//!
//! It takes records as they come, from files or from anywhere else, in memory that follows the pairs of
//! hosts. What follows for a verdict is in [`worth`]; here it is only counted.

mod pairs;
mod worth;

pub use pairs::Pair;
pub use worth::{Limit, Weight, Worth};

use crate::capture_facts::TcpFacts;
use crate::health::Health;
use crate::results::{CaptureResult, Vantage};
use crate::text::Text;
use crate::vantage;
use model::{
    Arp, Call, Cast, ConnectionSummary, Mark, Notice, Protocol, Sight, SightKind, Transport,
};
use pairs::Pairs;
use std::collections::{BTreeMap, BTreeSet};

/// Longer frames than these were not on an Ethernet as they are: 1,500 bytes of IP, and 9,000, with a
/// header and two VLAN tags.
pub const ETHERNET_BYTES: u32 = 1_522;
pub(crate) const JUMBO_BYTES: u32 = 9_022;

/// Time that steps back by more was set back; by less, packets came out of several queues.
pub const STEP_NS: i64 = 50_000_000;

/// Silences that are shown.
const SILENCES: usize = 3;
/// None of them shorter than this.
const SILENCE_NS: i64 = 1_000_000_000;

/// A file of the capture.
#[derive(Clone, Debug, Default)]
pub struct FileFacts {
    pub name: String,
    /// `pcap`, `pcapng`, `snoop`, and how it is compressed, if it is.
    pub format: &'static str,
    pub compression: &'static str,
    pub packets: u64,
}

/// What the files say about themselves.
#[derive(Clone, Debug, Default)]
pub struct FilesFacts {
    pub files: Vec<FileFacts>,
    /// Packets that the capturing host says it received, and that its interface and its operating
    /// system dropped; `None` where it does not say.
    pub received: Option<u64>,
    pub dropped_by_interface: Option<u64>,
    pub dropped_by_os: Option<u64>,
}

/// Packets and their bytes on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Amount {
    pub packets: u64,
    pub bytes: u64,
}

impl Amount {
    fn add(&mut self, s: &Sight) {
        self.count(u64::from(s.length));
    }

    pub(crate) fn count(&mut self, bytes: u64) {
        self.packets += 1;
        self.bytes += bytes;
    }
}

/// A stretch of time without packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Silence {
    pub ns: i64,
    /// The packets before and behind it.
    pub from: Mark,
    pub to: Mark,
}

impl Silence {
    #[must_use]
    pub fn between_files(&self) -> bool {
        self.from.packet.file != self.to.packet.file
    }
}

/// Times that step back from one packet of a file to the next.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Backwards {
    /// All of them, and those of [`STEP_NS`] and more.
    pub packets: u64,
    pub steps: u64,
    pub largest_ns: i64,
    pub largest_at: Option<Mark>,
}

/// TCP connections by what was seen of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Connections {
    pub tcp: u64,
    pub udp: u64,
    /// TCP: the three packets of the handshake; SYN and SYN/ACK at least, so that windows can be
    /// scaled; a part that does not do.
    pub handshakes_complete: u64,
    pub handshakes_scaled: u64,
    pub handshakes_partial: u64,
    /// TCP: a SYN, and neither its SYN/ACK nor data: refused or unanswered, of which nothing is missing.
    pub never_opened: u64,
    /// TCP connections with data of which only one direction is in the capture.
    pub one_sided: u64,
    /// TCP connections with data.
    pub with_data: u64,
    pub packets: u64,
    pub payload_bytes: u64,
    pub duplicates: u64,
    /// Packets that the IP identifications of senders skip, where those count packets.
    pub skipped_identifications: Option<u64>,
}

/// Connections and calls of an application protocol.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Spoken {
    pub connections: u64,
    pub calls: u64,
    /// Calls with both halves.
    pub whole: u64,
}

/// What is counted while packets come.
#[derive(Debug, Default)]
pub struct Info {
    total: Amount,
    captured_bytes: u64,
    cut_packets: u64,
    largest: u32,
    over_ethernet: u64,
    over_jumbo: u64,
    first: Option<Mark>,
    last: Option<Mark>,
    previous: Option<Mark>,
    backwards: Backwards,
    silences: Vec<Silence>,
    kinds: BTreeMap<SightKind, Amount>,
    casts: BTreeMap<Cast, Amount>,
    vlans: BTreeSet<u16>,
    pairs: Pairs,
    connections: Connections,
    spoken: BTreeMap<Protocol, Spoken>,
    tcp: TcpFacts,
    health: Health,
}

/// What a capture is worth.
#[derive(Clone, Debug)]
pub struct InfoResult {
    pub captures: Vec<CaptureResult>,
    pub files: FilesFacts,
    pub worth: Worth,
    pub total: Amount,
    pub captured_bytes: u64,
    /// Packets of which the end was not captured.
    pub cut_packets: u64,
    /// The largest packet, and how many are larger than frames of Ethernet and jumbo frames are.
    pub largest_bytes: u32,
    pub over_ethernet: u64,
    pub over_jumbo: u64,
    /// The earliest and the latest packet.
    pub first: Option<Mark>,
    pub last: Option<Mark>,
    pub backwards: Backwards,
    /// The longest, longest first.
    pub silences: Vec<Silence>,
    /// By bytes, most first.
    pub kinds: Vec<(SightKind, Amount)>,
    pub casts: Vec<(Cast, Amount)>,
    pub vlans: Vec<u16>,
    /// Hosts that talk to each other, by bytes, most first; how many pairs there are, and packets of
    /// pairs beyond the bound.
    pub pairs: Vec<Pair>,
    pub pair_count: u64,
    pub other_pairs: Amount,
    pub connections: Connections,
    /// By calls, most first.
    pub spoken: Vec<(Protocol, Spoken)>,
    pub vantage: Vantage,
    pub vantage_from: Text,
    /// What packets say of the network's health.
    pub health: Health,
}

impl InfoResult {
    /// From the first packet to the last.
    #[must_use]
    pub fn duration_ns(&self) -> i64 {
        self.first
            .zip(self.last)
            .map_or(0, |(first, last)| last.time - first.time)
    }

    /// So many per second; `None` where no time passed.
    #[must_use]
    pub fn per_second(&self, n: u64) -> Option<f64> {
        let seconds = self.duration_ns() as f64 / 1e9;
        (seconds > 0.0).then(|| n as f64 / seconds)
    }
}

impl Info {
    /// Takes the next packet, in the capture's order.
    pub fn packet(&mut self, s: &Sight) {
        self.total.add(s);
        self.captured_bytes += u64::from(s.captured);
        self.cut_packets += u64::from(s.captured < s.length);
        self.largest = self.largest.max(s.length);
        self.over_ethernet += u64::from(s.length > ETHERNET_BYTES);
        self.over_jumbo += u64::from(s.length > JUMBO_BYTES);
        self.time(s.at);
        self.kinds.entry(s.kind).or_default().add(s);
        self.casts.entry(s.cast).or_default().add(s);
        self.vlans.extend(s.vlan);
        self.pairs.add(s);
    }

    fn time(&mut self, at: Mark) {
        if self.first.is_none_or(|first| at.time < first.time) {
            self.first = Some(at);
        }
        if let Some(previous) = self.previous.replace(at) {
            let step = at.time - previous.time;
            if step < 0 && previous.packet.file == at.packet.file {
                let b = &mut self.backwards;
                b.packets += 1;
                b.steps += u64::from(-step >= STEP_NS);
                if -step > b.largest_ns {
                    (b.largest_ns, b.largest_at) = (-step, Some(at));
                }
            }
        }
        let Some(last) = self.last else {
            self.last = Some(at);
            return;
        };
        if at.time - last.time >= SILENCE_NS {
            let silence = Silence {
                ns: at.time - last.time,
                from: last,
                to: at,
            };
            let place = self.silences.partition_point(|s| s.ns >= silence.ns);
            if place < SILENCES {
                self.silences.insert(place, silence);
                self.silences.truncate(SILENCES);
            }
        }
        if at.time >= last.time {
            self.last = Some(at);
        }
    }

    pub fn call(&mut self, call: &Call) {
        let spoken = self.spoken.entry(call.protocol).or_default();
        spoken.calls += 1;
        spoken.whole += u64::from(call.is_timed());
    }

    /// What a packet says of the network's health, in the capture's order.
    pub fn notice(&mut self, n: &Notice) {
        self.health.notice(n);
    }

    /// Takes an ARP packet, in the capture's order.
    pub fn arp(&mut self, arp: &Arp) {
        self.health.arp(arp);
    }

    /// Takes a connection that is over.
    pub fn connection(&mut self, c: &ConnectionSummary) {
        self.health.connection(c);
        if let Some(protocol) = c.protocol {
            self.spoken.entry(protocol).or_default().connections += 1;
        }
        let n = &mut self.connections;
        if c.transport == Transport::Udp {
            n.udp += 1;
            return;
        }
        n.tcp += 1;
        self.tcp.add(c);
        let h = &c.handshake;
        match (h.syn, h.syn_ack, h.ack) {
            (Some(_), Some(_), Some(_)) => n.handshakes_complete += 1,
            (Some(_), Some(_), None) | (None, None, _) => {}
            _ => n.handshakes_partial += 1,
        }
        n.handshakes_scaled += u64::from(h.syn.is_some() && h.syn_ack.is_some());
        let data = |i: usize| c.directions.get(i).map_or(0, |d| d.payload_bytes);
        let packets = |i: usize| c.directions.get(i).map_or(0, |d| d.packets);
        n.never_opened +=
            u64::from(h.syn.is_some() && h.syn_ack.is_none() && data(0) + data(1) == 0);
        if data(0) + data(1) > 0 {
            n.with_data += 1;
            n.one_sided += u64::from(packets(0) == 0 || packets(1) == 0);
        }
        for d in &c.directions {
            n.packets += d.packets;
            n.payload_bytes += d.payload_bytes;
            n.duplicates += d.duplicate_packets;
        }
        for account in c.accounts.iter().flat_map(|a| a.iter()) {
            if let Some(skipped) = account.skipped_identifications {
                *n.skipped_identifications.get_or_insert(0) += skipped;
            }
        }
    }

    /// What it all is worth.
    #[must_use]
    pub fn finish(self, mut capture: CaptureResult, files: FilesFacts) -> InfoResult {
        let concluded = vantage::conclude(&self.tcp);
        capture.side = Some(concluded.vantage);
        capture.side_from = concluded.from.words();
        self.health
            .note_bounds(&capture.files, &mut capture.problems);
        let (pairs, pair_count, other_pairs) = self.pairs.finish();
        let mut result = InfoResult {
            captures: vec![capture],
            files,
            worth: Worth::default(),
            total: self.total,
            captured_bytes: self.captured_bytes,
            cut_packets: self.cut_packets,
            largest_bytes: self.largest,
            over_ethernet: self.over_ethernet,
            over_jumbo: self.over_jumbo,
            first: self.first,
            last: self.last,
            backwards: self.backwards,
            silences: self.silences,
            kinds: most(self.kinds, |a| a.bytes),
            casts: most(self.casts, |a| a.bytes),
            vlans: self.vlans.into_iter().collect(),
            pairs,
            pair_count,
            other_pairs,
            connections: self.connections,
            spoken: most(self.spoken, |s| s.calls),
            vantage: concluded.vantage,
            vantage_from: concluded.from.words(),
            health: self.health,
        };
        result.worth = worth::of(&result);
        result
    }
}

/// A map's entries, the largest first.
fn most<K: Ord + Copy, V: Copy>(map: BTreeMap<K, V>, by: impl Fn(&V) -> u64) -> Vec<(K, V)> {
    let mut list: Vec<(K, V)> = map.into_iter().collect();
    list.sort_by_key(|(_, v)| std::cmp::Reverse(by(v)));
    list
}

#[cfg(test)]
mod tests;
