//! The last packets of a capture, in bounded memory: for so many seconds or so many bytes, whichever is
//! less. They are written as pcapng, into a file or for somebody who reads them again at once.

use super::batches::append;
use capture::{Interface, PacketBlock, PcapNgWriter};
use model::{Batch, LinkType, Packet, PacketRef, Time};
use net::PacketAnonymiser;
use pseudonyms::Anonymiser;
use std::collections::{BTreeMap, VecDeque};
use std::io::{self, Read, Write};
use std::sync::Arc;

/// Small batches are put together up to so many bytes, so that each costs little.
const CHUNK_BYTES: usize = 64 << 10;

/// How much is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Keep {
    pub ns: i64,
    /// Of memory, bookkeeping included.
    pub bytes: usize,
}

/// How full the ring is.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct RingFill {
    pub packets: u64,
    /// Of memory, bookkeeping included.
    pub bytes: u64,
    /// From the oldest packet to the newest.
    pub ns: i64,
    /// Whether there is less than was asked for, as the bytes did not suffice.
    pub short: bool,
}

#[derive(Debug)]
pub(super) struct Ring {
    keep: Keep,
    chunks: VecDeque<Arc<Batch>>,
    bytes: usize,
    newest: Time,
    short: bool,
}

fn cost(batch: &Batch) -> usize {
    batch.bytes.capacity() + batch.packets.capacity() * size_of::<Packet>()
}

fn last(batch: &Batch) -> Time {
    let times = batch.packets.iter().map(|p| p.time);
    times.max().unwrap_or(Time::MIN)
}

impl Ring {
    pub(super) fn new(keep: Keep) -> Ring {
        Ring {
            keep,
            chunks: VecDeque::new(),
            bytes: 0,
            newest: Time::MIN,
            short: false,
        }
    }

    pub(super) fn push(&mut self, batch: &Arc<Batch>) {
        let newest = last(batch);
        if newest < self.oldest() {
            // The clock was set back: what came before would never be old.
            self.chunks.clear();
            self.bytes = 0;
            self.newest = newest;
        }
        self.newest = self.newest.max(newest);
        let small = |chunk: &Batch| chunk.bytes.len() + batch.bytes.len() <= CHUNK_BYTES;
        // One that somebody reads stays as it is.
        let behind = self.chunks.back_mut().and_then(Arc::get_mut);
        match behind.filter(|chunk| small(chunk)) {
            Some(chunk) => {
                self.bytes -= cost(chunk);
                append(chunk, batch);
                self.bytes += cost(chunk);
            }
            None => {
                // A copy of a small one may grow; a large one is shared.
                let chunk = match small(&Batch::default()) {
                    true => Arc::new(Batch::clone(batch)),
                    false => Arc::clone(batch),
                };
                self.bytes += cost(&chunk);
                self.chunks.push_back(chunk);
            }
        }
        let oldest = self.oldest();
        while let Some(chunk) = self.chunks.front() {
            let old = last(chunk) < oldest;
            let full = self.bytes > self.keep.bytes;
            if !old && !full {
                break;
            }
            if full && !old {
                self.short = true;
            }
            self.bytes -= cost(chunk);
            self.chunks.pop_front();
        }
    }

    fn oldest(&self) -> Time {
        self.newest + -self.keep.ns
    }

    pub(super) fn held(&self) -> RingFill {
        let first = self.chunks.front().and_then(|c| c.packets.first());
        let ns = first.map_or(0, |p| (self.newest - p.time).clamp(0, self.keep.ns));
        RingFill {
            packets: self.chunks.iter().map(|c| c.packets.len() as u64).sum(),
            bytes: self.bytes as u64,
            ns,
            short: self.short && ns < self.keep.ns,
        }
    }

    /// What it holds now, to be written while it goes on.
    pub(super) fn snapshot(&self) -> Snapshot {
        Snapshot {
            chunks: self.chunks.iter().cloned().collect(),
            oldest: self.oldest(),
            newest: self.newest,
        }
    }
}

/// Packets that are kept while the ring goes on.
#[derive(Clone, Debug)]
pub(super) struct Snapshot {
    chunks: VecDeque<Arc<Batch>>,
    oldest: Time,
    pub(super) newest: Time,
}

/// Comments by packet.
pub(super) type Comments = BTreeMap<PacketRef, Vec<String>>;

/// How much was written.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Count {
    pub(super) packets: u64,
    pub(super) first: Option<Time>,
    pub(super) last: Option<Time>,
}

impl Snapshot {
    pub(super) fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// Writes all of it as pcapng.
    pub(super) fn write<W: Write>(
        self,
        out: W,
        name: &str,
        why: &str,
        comments: &Comments,
        names: Option<&Anonymiser>,
    ) -> io::Result<(W, Count)> {
        let mut writer = Writer::new(out, name, why)?;
        let mut hider = names.map(PacketAnonymiser::new);
        for chunk in &self.chunks {
            writer.chunk(chunk, self.oldest, comments, hider.as_mut())?;
        }
        let count = writer.count;
        Ok((writer.out.finish()?, count))
    }

    /// The same, made while it is read.
    pub(super) fn into_reader(self, name: &str) -> impl Read + Send + use<> {
        Reader {
            writer: Writer::new(Vec::new(), name, "").ok(),
            snapshot: self,
            made: Vec::new(),
            read: 0,
        }
    }
}

/// Packets into pcapng, with an interface for each link type.
struct Writer<W> {
    out: PcapNgWriter<W>,
    /// A packet as it is written.
    bytes: Vec<u8>,
    interfaces: Vec<LinkType>,
    name: String,
    count: Count,
}

impl<W: Write> Writer<W> {
    fn new(out: W, name: &str, why: &str) -> io::Result<Writer<W>> {
        let application = concat!("slowside ", env!("CARGO_PKG_VERSION"));
        Ok(Writer {
            out: PcapNgWriter::new(out, application, why)?,
            bytes: Vec::new(),
            interfaces: Vec::new(),
            name: name.to_owned(),
            count: Count::default(),
        })
    }

    /// `hider` changes what it takes away names from.
    fn chunk(
        &mut self,
        chunk: &Batch,
        oldest: Time,
        comments: &Comments,
        mut hider: Option<&mut PacketAnonymiser<'_>>,
    ) -> io::Result<()> {
        for p in chunk.packets.iter().filter(|p| p.time >= oldest) {
            let known = self.interfaces.iter().position(|l| *l == p.link_type);
            let interface = match known {
                Some(i) => i as u32,
                None => {
                    self.interfaces.push(p.link_type);
                    self.out.interface(&Interface {
                        link_type: p.link_type,
                        snaplen: 0,
                        name: &self.name,
                        description: "",
                    })?
                }
            };
            self.bytes.clear();
            self.bytes.extend_from_slice(chunk.bytes_of(p));
            if let Some(hider) = &mut hider {
                hider.packet(p.link_type, &mut self.bytes, p.length);
            }
            self.out.packet(&PacketBlock {
                interface,
                time: p.time,
                bytes: &self.bytes,
                length: p.length,
                flags: None,
                comments: comments.get(&p.at).map_or(&[], Vec::as_slice),
            })?;
            self.count.packets += 1;
            self.count.first = Some(self.count.first.map_or(p.time, |t| t.min(p.time)));
            self.count.last = self.count.last.max(Some(p.time));
        }
        Ok(())
    }
}

/// Makes pcapng of one chunk at a time.
struct Reader {
    writer: Option<Writer<Vec<u8>>>,
    snapshot: Snapshot,
    made: Vec<u8>,
    read: usize,
}

impl Read for Reader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.read >= self.made.len() {
            let Some(writer) = &mut self.writer else {
                return Ok(0);
            };
            self.made.clear();
            self.read = 0;
            match self.snapshot.chunks.pop_front() {
                Some(chunk) => {
                    writer.chunk(&chunk, self.snapshot.oldest, &Comments::new(), None)?;
                    std::mem::swap(writer.out.out(), &mut self.made);
                }
                None => {
                    std::mem::swap(writer.out.out(), &mut self.made);
                    self.writer = None;
                }
            }
        }
        let rest = self.made.get(self.read..).unwrap_or_default();
        let n = rest.len().min(into.len());
        if let (Some(to), Some(from)) = (into.get_mut(..n), rest.get(..n)) {
            to.copy_from_slice(from);
        }
        self.read += n;
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use capture::Capture;

    fn batch(times: std::ops::Range<i64>, size: usize) -> Arc<Batch> {
        let mut batch = Batch::default();
        for t in times {
            let start = batch.bytes.len() as u32;
            batch.bytes.extend(vec![t as u8; size]);
            batch.packets.push(Packet {
                time: Time(t * 1_000_000),
                order: t as u64,
                at: PacketRef {
                    file: 0,
                    frame: t as u32 + 1,
                },
                link_type: LinkType(1),
                start,
                captured: size as u32,
                length: size as u32 + 4,
            });
        }
        Arc::new(batch)
    }

    fn times(snapshot: Snapshot) -> Vec<i64> {
        let reader = Box::new(snapshot.into_reader("lo"));
        let mut capture = Capture::from_reader("ring", reader).expect("pcapng");
        let (mut batch, mut times) = (Batch::default(), Vec::new());
        while capture.next_batch(&mut batch).expect("memory") {
            for p in &batch.packets {
                assert!(
                    batch
                        .bytes_of(p)
                        .iter()
                        .all(|b| *b == (p.time.0 / 1_000_000) as u8)
                );
                times.push(p.time.0 / 1_000_000);
            }
        }
        assert!(capture.problems().is_empty(), "{:?}", capture.problems());
        times
    }

    #[test]
    fn the_last_milliseconds_stay() {
        let keep = Keep {
            ns: 20_000_000,
            bytes: 1 << 20,
        };
        let mut ring = Ring::new(keep);
        for t in 0..100 {
            ring.push(&batch(t..t + 1, 60));
        }
        assert_eq!(times(ring.snapshot()), (79..100).collect::<Vec<_>>());
        assert!(!ring.held().short);
    }

    #[test]
    fn bytes_bite_before_time_and_it_is_said() {
        let keep = Keep {
            ns: 1_000_000_000,
            bytes: 256 << 10,
        };
        let mut ring = Ring::new(keep);
        for t in 0..200 {
            ring.push(&batch(t * 10..t * 10 + 10, 900));
            assert!(ring.held().bytes <= 256 << 10);
        }
        let held = ring.held();
        assert!(held.short && held.ns < keep.ns, "{held:?}");
        let kept = times(ring.snapshot());
        assert!(kept.len() > 50, "{}", kept.len());
        assert_eq!(kept.last(), Some(&1_999));
        assert!(kept.windows(2).all(|w| w[0] + 1 == w[1]));
    }

    #[test]
    fn what_is_read_is_not_changed_by_what_comes() {
        let mut ring = Ring::new(Keep {
            ns: 1_000_000_000,
            bytes: 1 << 20,
        });
        ring.push(&batch(0..5, 60));
        let snapshot = ring.snapshot();
        ring.push(&batch(5..9, 60));
        assert_eq!(times(snapshot), (0..5).collect::<Vec<_>>());
        assert_eq!(times(ring.snapshot()), (0..9).collect::<Vec<_>>());
    }

    #[test]
    fn comments_stand_on_their_packets() {
        let mut ring = Ring::new(Keep {
            ns: 1_000_000_000,
            bytes: 1 << 20,
        });
        ring.push(&batch(0..5, 60));
        let at = PacketRef { file: 0, frame: 3 };
        let comments = Comments::from([(at, vec!["this one".to_owned()])]);
        let written = ring
            .snapshot()
            .write(Vec::new(), "lo", "why", &comments, None);
        let (bytes, count) = written.expect("memory");
        assert_eq!((count.packets, count.first), (5, Some(Time(0))));
        assert_eq!(bytes.windows(8).filter(|w| w == b"this one").count(), 1);
    }
}
