//! Files of a capture into pieces: of each batch as many as there are shares, in their order. Files that overlap in time are
//! read together, as one capture's are; all others each by itself.

use super::SHARES;
use super::piece::{End, Head, Point, Problem};
use crate::sweeps::stretch;
use crate::{Error, run};
use capture::Capture;
use model::{Batch, Packet, Time};
use net::{PARTITIONS, Whose};
use std::path::PathBuf;

/// Files that are being read.
pub struct Pieces {
    capture: Capture,
    /// The first of them, of those of the capture.
    file: u16,
    shares: usize,
    batch: Batch,
    /// The last packet, and how many there were.
    last: Option<Point>,
    packets: u64,
    is_over: bool,
}

/// What one share is given of a batch.
#[derive(Default)]
struct Given {
    packets: Vec<Packet>,
    bytes: Vec<u8>,
}

impl Pieces {
    /// Opens files of a capture that follow each other in it, `file` and those behind it, counted from 0.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn open(paths: &[PathBuf], file: u16, shares: usize) -> Result<Pieces, Error> {
        Ok(Pieces {
            capture: run::open(paths)?,
            file,
            shares: shares.clamp(1, SHARES),
            batch: Batch::default(),
            last: None,
            packets: 0,
            is_over: false,
        })
    }

    /// A piece for each share; `None` when all are given.
    ///
    /// # Errors
    /// When a file cannot be read.
    #[expect(clippy::should_implement_trait, reason = "it fails")]
    pub fn next(&mut self) -> Result<Option<Vec<Vec<u8>>>, Error> {
        if self.is_over {
            return Ok(None);
        }
        let more = self.capture.next_batch(&mut self.batch);
        if !more.map_err(|e| Error::Message(e.to_string()))? {
            self.is_over = true;
            return Ok(Some(self.end()));
        }
        let points = self.points();
        let behind = self.batch.packets.last().map_or(0, |p| p.order + 1);
        let pieces = self.given().into_iter().map(|given| {
            let head = Head {
                file: self.file,
                packets: given.packets,
                behind,
                points: points.clone(),
                last: self.last,
                end: None,
            };
            head.write(&given.bytes)
        });
        Ok(Some(pieces.collect()))
    }

    /// Which packets are whose.
    fn given(&self) -> Vec<Given> {
        let mut all: Vec<Given> = Vec::new();
        all.resize_with(self.shares, Given::default);
        for packet in &self.batch.packets {
            let bytes = self.batch.bytes_of(packet);
            let shares = match Whose::of(packet.link_type, bytes, packet.length) {
                Whose::Partition(partition) => {
                    let share = partition * self.shares / PARTITIONS;
                    share..share + 1
                }
                Whose::Everybody => 0..self.shares,
                Whose::Nobody => 0..1,
            };
            for given in all.get_mut(shares).unwrap_or_default() {
                let mut own = *packet;
                own.at.file = own.at.file.saturating_add(self.file);
                own.start = given.bytes.len() as u32;
                given.packets.push(own);
                given.bytes.extend_from_slice(bytes);
            }
        }
        all
    }

    /// The first two packets of the file, and those that pass on into another stretch of the clock.
    fn points(&mut self) -> Vec<Point> {
        let mut points = Vec::new();
        for p in &self.batch.packets {
            let before = self.last;
            let point = Point {
                order: p.order,
                time: p.time,
                reached: before.map_or(p.time, |before| p.time.min(before.time)),
            };
            let passes = |before: Point| stretch(before.reached) != stretch(point.reached);
            if self.packets < 2 || before.is_none_or(passes) {
                points.push(point);
            }
            self.last = Some(point);
            self.packets += 1;
        }
        points
    }

    fn end(&self) -> Vec<Vec<u8>> {
        let head = Head {
            file: self.file,
            end: Some(End {
                files: self.capture.summary().files,
                problems: Problem::all(self.capture.problems()),
            }),
            ..Head::default()
        };
        vec![head.write(&[]); self.shares]
    }
}

/// When the first packet of a file came, and the latest time of one: a file that begins no later than that may be merged with it, packet
/// by packet, and is to be read together with it.
///
/// # Errors
/// When it cannot be read.
pub fn span(path: PathBuf) -> Result<Option<[Time; 2]>, Error> {
    let mut capture = run::open(&[path])?;
    let mut batch = Batch::default();
    let mut span: Option<[Time; 2]> = None;
    loop {
        let more = capture.next_batch(&mut batch);
        if !more.map_err(|e| Error::Message(e.to_string()))? {
            return Ok(span);
        }
        for p in &batch.packets {
            let [first, last] = span.unwrap_or([p.time; 2]);
            span = Some([first, last.max(p.time)]);
        }
    }
}
