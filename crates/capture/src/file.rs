//! One file into batches of packets. Large pieces are read straight into the batch's memory and the
//! packets are found in place, without a copy; only the record that a piece cuts in two is carried
//! over to the next. Memory follows the bytes that came, never a length that was read.

use crate::error::CaptureError;
use crate::pcap::Pcap;
use crate::pcapng::{self, PcapNg};
use crate::resync::{self, Believed, Found, Lost};
use crate::snoop::Snoop;
use crate::source::{Compression, Source};
use crate::summary::{FileSummary, Format};
use model::{Batch, LinkType, Packet, PacketRef, Problems, Time, Where};
use std::io;

/// Bytes and packets of a usual batch: they fit in a second-level cache, and one batch is worth a
/// message between threads.
pub(crate) const BATCH_BYTES: usize = 512 << 10;
pub(crate) const BATCH_PACKETS: usize = 8_192;

/// A batch that had to grow beyond this, for a long record or a search, gives its memory back.
const KEEP_BYTES: usize = 8 * BATCH_BYTES;

/// Bytes needed to tell the format, and to read any file header.
const HEAD_BYTES: usize = 64;

/// Some consecutive bytes of a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View<'a> {
    pub(crate) bytes: &'a [u8],
    /// Where in the file they begin.
    pub(crate) offset: u64,
    /// Nothing follows them.
    pub(crate) last: bool,
}

/// Why taking records stopped.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// More bytes are needed, or the file is at its end.
    More,
    /// The batch is full.
    Full,
    /// The record makes no sense.
    Lost(Lost),
}

/// What is counted from packet to packet.
#[derive(Debug)]
pub(crate) struct Tally {
    /// Index of the file in the capture, and order of the next packet.
    pub(crate) file: u16,
    pub(crate) order: u64,
    /// Number of the last packet.
    frame: u32,
    previous: Time,
    low: Time,
    high: Time,
    /// Drops that stand beside single packets.
    pub(crate) dropped_beside_packets: Option<u64>,
}

impl Tally {
    /// The highest time so far.
    pub(crate) fn high(&self) -> Time {
        self.high
    }
}

/// Where records put what they hold.
pub(crate) struct Sink<'a> {
    packets: &'a mut Vec<Packet>,
    pub(crate) file: &'a mut FileSummary,
    pub(crate) tally: &'a mut Tally,
    problems: &'a mut Problems,
}

impl Sink<'_> {
    /// The next packet of the file. Its bytes begin at `start` of the batch, its record at `offset`
    /// of the file.
    #[inline]
    pub(crate) fn push(
        &mut self,
        time: Time,
        link_type: LinkType,
        start: usize,
        captured: u32,
        length: u32,
        offset: u64,
    ) {
        if time < self.tally.previous {
            self.step_back(time, offset);
        }
        let tally = &mut *self.tally;
        tally.frame = tally.frame.saturating_add(1);
        tally.previous = time;
        tally.low = tally.low.min(time);
        tally.high = tally.high.max(time);
        self.packets.push(Packet {
            time,
            order: tally.order,
            at: PacketRef {
                file: tally.file,
                frame: tally.frame,
            },
            link_type,
            start: start as u32,
            captured,
            length,
        });
        tally.order += 1;
    }

    /// The next packet has a number but cannot be handed on.
    pub(crate) fn skip(&mut self) {
        self.tally.frame = self.tally.frame.saturating_add(1);
    }

    pub(crate) fn is_full(&self) -> bool {
        self.packets.len() >= BATCH_PACKETS
    }

    /// Time of the last packet.
    pub(crate) fn previous(&self) -> Option<Time> {
        (self.tally.previous > Time::MIN).then_some(self.tally.previous)
    }

    #[cold]
    fn step_back(&mut self, time: Time, offset: u64) {
        let ns = self.tally.previous - time;
        self.note("time-steps-back", offset, || {
            let by = model::format_duration(ns);
            format!("a packet is {by} earlier than the one before it")
        });
    }

    /// Notes something about the next packet, whose record is at `offset`.
    pub(crate) fn note(&mut self, kind: &'static str, offset: u64, what: impl FnOnce() -> String) {
        let place = || (what(), self.file.at(Some(next(self.tally.frame)), offset));
        self.problems.note(kind, place);
    }

    /// Counts damage at `offset`, of the next packet when `packet`.
    pub(crate) fn damage(
        &mut self,
        kind: &'static str,
        offset: u64,
        packet: bool,
        what: impl FnOnce() -> String,
    ) {
        let frame = packet.then(|| next(self.tally.frame));
        self.problems
            .damage(kind, || (what(), self.file.at(frame, offset)));
    }
}

impl FileSummary {
    fn count(&mut self, packets: &[Packet]) {
        self.packets += packets.len() as u64;
        for packet in packets {
            self.captured_bytes += u64::from(packet.captured);
            self.wire_bytes += u64::from(packet.length);
        }
    }

    fn at(&self, frame: Option<u32>, offset: u64) -> Where {
        Where {
            file: self.name.clone(),
            frame,
            line: None,
            offset: Some(offset),
        }
    }
}

fn next(frame: u32) -> u32 {
    frame.saturating_add(1)
}

#[derive(Debug)]
enum Records {
    Pcap(Pcap),
    PcapNg(PcapNg),
    Snoop(Snoop),
}

impl Records {
    fn take(&mut self, view: &View<'_>, at: usize, sink: &mut Sink<'_>) -> (usize, Outcome) {
        match self {
            Records::Pcap(r) => r.records(view, at, sink),
            Records::PcapNg(r) => r.records(view, at, sink),
            Records::Snoop(r) => r.records(view, at, sink),
        }
    }

    fn search(&self, view: &View<'_>, from: usize) -> Found {
        // A pcapng block has its length at both ends, so two in a row are enough.
        let (links, near) = match self {
            Records::Pcap(r) => (3, r.seconds()),
            Records::PcapNg(_) => (2, None),
            Records::Snoop(r) => (3, r.seconds()),
        };
        let believe = |rest: &[u8]| -> Option<Believed> {
            match self {
                Records::Pcap(r) => r.believe(rest),
                Records::PcapNg(r) => r.believe(rest),
                Records::Snoop(_) => Snoop::believe(rest),
            }
        };
        resync::search(view.bytes, from, view.last, links, near, believe)
    }
}

/// A place that made no sense, from which a believable record is searched.
struct Search {
    lost: Lost,
    offset: u64,
}

/// Reads one file.
pub(crate) struct FileReader {
    source: Source,
    records: Records,
    /// Bytes that were read and not taken yet, and where in the file they begin.
    carry: Vec<u8>,
    offset: u64,
    ended: bool,
    /// The end is an error that was counted.
    failed: bool,
    search: Option<Search>,
    file: FileSummary,
    pub(crate) tally: Tally,
}

impl FileReader {
    /// Reads the file header.
    pub(crate) fn open(name: &str, mut source: Source) -> Result<FileReader, CaptureError> {
        let mut head = vec![0; HEAD_BYTES];
        let mut filled = 0;
        while let Some(space) = head.get_mut(filled..).filter(|s| !s.is_empty()) {
            match source.read(space) {
                Ok(0) => break,
                Ok(n) => filled += n,
                Err(e) if e.kind() == io::ErrorKind::TimedOut => {}
                Err(error) => {
                    return Err(CaptureError::Read {
                        file: name.to_owned(),
                        error,
                    });
                }
            }
        }
        head.truncate(filled);
        let new = |format| FileSummary::new(name.to_owned(), format, source.compression);
        let (records, header, file) = if Pcap::recognizes(&head) {
            let mut file = new(Format::Pcap);
            let (pcap, header) = Pcap::open(&head, &mut file)?;
            (Records::Pcap(pcap), header, file)
        } else if PcapNg::recognizes(&head) {
            let (pcapng, header) = PcapNg::open(&head, name)?;
            (Records::PcapNg(pcapng), header, new(Format::PcapNg))
        } else if Snoop::recognizes(&head) {
            let (snoop, header) = Snoop::open(&head, name)?;
            (Records::Snoop(snoop), header, new(Format::Snoop))
        } else {
            return Err(not_a_capture(name, &head, source.compression));
        };
        Ok(FileReader {
            source,
            records,
            carry: head.split_off(header.min(filled)),
            offset: header as u64,
            ended: false,
            failed: false,
            search: None,
            file,
            tally: Tally {
                file: 0,
                order: 0,
                frame: 0,
                previous: Time::MIN,
                low: Time::MAX,
                high: Time::MIN,
                dropped_beside_packets: None,
            },
        })
    }

    /// Replaces what the batch holds by the next packets, about `target` bytes of them; none at the
    /// end of the file.
    pub(crate) fn fill(&mut self, batch: &mut Batch, target: usize, problems: &mut Problems) {
        let Batch { bytes, packets } = batch;
        packets.clear();
        if bytes.capacity() > KEEP_BYTES {
            *bytes = Vec::new();
        }
        let mut end = self.carry.len();
        if bytes.len() < target.max(end) {
            bytes.resize(target.max(end), 0);
        }
        if let Some(space) = bytes.get_mut(..end) {
            space.copy_from_slice(&self.carry);
        }
        let mut at = 0;
        let mut read = false;
        loop {
            let view = View {
                bytes: bytes.get(..end).unwrap_or_default(),
                offset: self.offset,
                last: self.ended,
            };
            let full;
            (at, full) = self.take(&view, at, packets, problems);
            let enough = end >= target || self.source.live;
            let beat = self.source.beats && read;
            if full || self.ended || beat || (enough && !packets.is_empty()) {
                break;
            }
            if end == bytes.len() {
                // Packets already found must stay where they are.
                if at > 0 && packets.is_empty() {
                    bytes.copy_within(at..end, 0);
                    self.offset += at as u64;
                    end -= at;
                    at = 0;
                } else {
                    bytes.resize(end + target, 0);
                }
            }
            read = true;
            match self.source.read(bytes.get_mut(end..).unwrap_or_default()) {
                Ok(0) => self.ended = true,
                Ok(n) => end += n,
                Err(e) if self.source.beats && e.kind() == io::ErrorKind::TimedOut => {}
                Err(error) => {
                    self.ended = true;
                    self.failed = true;
                    self.count_failure(&error, self.offset + end as u64, problems);
                }
            }
        }
        self.carry.clear();
        self.carry
            .extend_from_slice(bytes.get(at..end).unwrap_or_default());
        self.offset += at as u64;
    }

    /// Takes records from `at` on; gives where it stopped, and whether the batch is full.
    fn take(
        &mut self,
        view: &View<'_>,
        mut at: usize,
        packets: &mut Vec<Packet>,
        problems: &mut Problems,
    ) -> (usize, bool) {
        loop {
            if self.search.is_some() {
                let found = self.records.search(view, at);
                let (to, again) = match found {
                    Found::More(to) => return (to, false),
                    Found::Record(to) => (to, true),
                    Found::Nothing => (view.bytes.len(), false),
                };
                at = to;
                if let Some(search) = self.search.take() {
                    self.count_loss(search, view.offset + to as u64, again, problems);
                }
            }
            let mut sink = Sink {
                packets,
                file: &mut self.file,
                tally: &mut self.tally,
                problems,
            };
            let before = sink.packets.len();
            let taken = self.records.take(view, at, &mut sink);
            self.file.count(packets.get(before..).unwrap_or_default());
            match taken {
                (to, Outcome::More) => return (to, false),
                (to, Outcome::Full) => return (to, true),
                (to, Outcome::Lost(lost)) => {
                    let offset = view.offset + to as u64;
                    self.search = Some(Search { lost, offset });
                    at = to + 1;
                }
            }
        }
    }

    /// Reading got lost at one place; it goes on at `to`, which is a record if `again`, else the end.
    fn count_loss(&self, search: Search, to: u64, again: bool, problems: &mut Problems) {
        let Search { mut lost, offset } = search;
        if lost.kind == "cut-in-mid-record" {
            if again {
                // The record only seemed to reach beyond the end of the file.
                lost.kind = "damaged-record";
                lost.what = "a record's length is wrong".to_owned();
            } else if self.failed {
                return;
            }
        }
        let skipped = to - offset;
        problems.damage(lost.kind, || {
            let frame = Some(next(self.tally.frame));
            let what = format!("{}; {skipped} bytes skipped", lost.what);
            (what, self.file.at(frame, offset))
        });
    }

    /// Whether reading ended with an error, not with the file.
    pub(crate) fn has_failed(&self) -> bool {
        self.failed
    }

    fn count_failure(&self, error: &io::Error, offset: u64, problems: &mut Problems) {
        let (kind, what) = match self.file.compression {
            // The system's own word: there is nothing wrong with what is in the file.
            _ if error.raw_os_error().is_some() => ("read-error", "reading failed".to_owned()),
            Compression::None => ("read-error", "reading failed".to_owned()),
            c => {
                let what = format!("the {} data cannot be decompressed further", c.name());
                ("compressed-data-damaged", what)
            }
        };
        let frame = Some(next(self.tally.frame));
        problems.damage(kind, || {
            (format!("{what}: {error}"), self.file.at(frame, offset))
        });
    }

    /// The record of a packet, with what stands beside it, and how much of that is before the packet.
    pub(crate) fn record_of<'a>(&self, batch: &'a Batch, packet: &Packet) -> (usize, &'a [u8]) {
        let (start, captured) = (packet.start as usize, packet.captured as usize);
        if matches!(self.records, Records::PcapNg(_))
            && let Some((_, block)) = pcapng::beside::block_of(&batch.bytes, start, captured)
        {
            return (pcapng::PACKET_OFFSET, block);
        }
        (0, batch.bytes_of(packet))
    }

    /// Whether there may be packets although none came.
    pub(crate) fn goes_on(&self) -> bool {
        self.source.beats && !self.ended
    }

    /// Packets known to be missing so far; `None` where the file does not say.
    pub(crate) fn dropped(&self) -> Option<u64> {
        let file = &self.file;
        let by_os = file.dropped_by_os.or(self.tally.dropped_beside_packets);
        match (file.dropped_by_interface, by_os) {
            (None, None) => None,
            (a, b) => Some(a.unwrap_or(0).saturating_add(b.unwrap_or(0))),
        }
    }

    /// What is known of the file so far.
    pub(crate) fn summary(&self) -> FileSummary {
        let mut file = self.file.clone();
        if file.packets > 0 {
            file.first = Some(self.tally.low);
            file.last = Some(self.tally.high);
        }
        // Statistics of an interface count the same drops again.
        file.dropped_by_os = file.dropped_by_os.or(self.tally.dropped_beside_packets);
        file
    }

    /// The highest time so far.
    pub(crate) fn high(&self) -> Time {
        self.tally.high()
    }
}

/// Says what a file is that is no capture.
fn not_a_capture(name: &str, head: &[u8], compression: Compression) -> CaptureError {
    let file = name.to_owned();
    if head.is_empty() && compression == Compression::None {
        return CaptureError::Empty { file };
    }
    let (what, cure) = match head {
        [] => ("empty once decompressed", ""),
        [0x1f, 0x8b, ..] | [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x04, 0x22, 0x4d, 0x18, ..] => {
            ("compressed twice", "; decompress it once")
        }
        [b'B', b'Z', b'h', ..] => ("bzip2 data", "; decompress it with bunzip2"),
        [0xfd, b'7', b'z', b'X', b'Z', ..] => ("xz data", "; decompress it with unxz"),
        [b'P', b'K', 3, 4, ..] => ("a zip archive", "; unpack it"),
        [b'i', b'p', b't', b'r', b'a', b'c', b'e', ..] => {
            ("an AIX iptrace file", "; convert it with editcap -F pcapng")
        }
        [b'G', b'M', b'B', b'U', ..] | [b'R', b'T', b'S', b'S', ..] => (
            "a Microsoft Network Monitor file",
            "; convert it with editcap -F pcapng",
        ),
        _ if is_text(head) && is_trace(head) => (
            "a trace of Oracle",
            "; slowside trace reads it, and --app FILE holds it against a capture",
        ),
        _ if is_text(head) => (
            "text",
            "; packets are saved with tcpdump -w FILE or snoop -o FILE",
        ),
        _ => ("unknown data", ""),
    };
    CaptureError::NotACapture { file, what, cure }
}

/// Whether text opens like a trace of an Oracle database, or of SQL*Net.
fn is_trace(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(head);
    let first = text.trim_start_matches(|c: char| !c.is_ascii_graphic());
    first.starts_with("Trace file ")
        || first.starts_with("Dump file ")
        || text.contains("TRACE CONFIGURATION INFORMATION")
        || text.contains("PARSING IN CURSOR #")
        || text.contains("\n*** SESSION ID")
}

fn is_text(head: &[u8]) -> bool {
    // The head may cut the last character.
    let whole = match std::str::from_utf8(head) {
        Ok(_) => head.len(),
        Err(e) => e.valid_up_to(),
    };
    whole + 3 >= head.len()
        && head
            .iter()
            .all(|&b| b >= b' ' || matches!(b, b'\t' | b'\n' | b'\r' | 0x0c | 0x1b))
}
