//! One share of a capture: pieces into what its connections say, batch by batch, as a thread of a capture says it
//! ([`shards`](crate::stream)).

use super::piece::{End, Head, Point, Problem};
use super::told::{self, Told};
use super::{SHARES, not_ours};
use crate::Error;
use crate::link::{Number, Records, Wanted};
use crate::room::Room;
use crate::stream::{Connections, Decoded};
use crate::sweeps::Sweeps;
use model::{NoticeKind, Packet, Problems, Time};
use net::{Decoder, PARTITIONS, Segment};

/// A share that is being read.
pub struct Shard {
    share: usize,
    shares: usize,
    /// Bytes that connections of the whole capture may take up.
    room: u64,
    decoder: Decoder,
    connections: Connections,
    decoded: Decoded,
    sweeps: Sweeps,
    /// The order at which the file begins, and the one behind its packets so far.
    base: u64,
    behind: u64,
    /// The file that is read, or the first of those that are read together.
    file: u16,
    first: Option<Time>,
    last: Option<Point>,
    ends: Vec<End>,
    /// Until they are told.
    files: Option<Vec<String>>,
}

impl Shard {
    /// Share `share` of so many of the capture with these files, in order; with what
    /// [`Config::memory_bytes`](crate::Config) is for all of them. What connections waited for is told where their calls do not
    /// tell, or `accounts` are asked for.
    #[must_use]
    pub fn new(
        share: usize,
        shares: usize,
        files: Vec<String>,
        memory_bytes: u64,
        accounts: bool,
    ) -> Shard {
        let room = crate::run::of_connections(memory_bytes);
        let wanted = match accounts {
            true => Wanted::Reported,
            false => Wanted::Everything,
        };
        Shard {
            share,
            shares: shares.clamp(1, SHARES),
            room,
            decoder: Decoder::new(&files).with_arps().with_notices(),
            connections: Connections::new(wanted, &Room::new(room, 1)),
            decoded: Decoded::default(),
            sweeps: Sweeps::default(),
            base: 0,
            behind: 0,
            file: 0,
            first: None,
            last: None,
            ends: Vec::new(),
            files: Some(files),
        }
    }

    /// Takes the next piece; gives what is told of it, with the number by which that is put in order.
    ///
    /// # Errors
    /// When it is no piece, or connections take up too much memory.
    pub fn take(&mut self, piece: &[u8]) -> Result<Vec<(u64, Vec<u8>)>, Error> {
        let (head, bytes) = Head::read(piece)?;
        self.begin(&head);
        if let Some(end) = head.end {
            self.ends.push(end);
            return Ok(Vec::new());
        }
        let mut all = Vec::new();
        let mut packets = head.packets;
        for p in &mut packets {
            p.order = p.order.saturating_add(self.base);
        }
        for point in head.points {
            let point = self.placed(point);
            let Some(silent) = self.sweeps.pass(point.reached) else {
                continue;
            };
            let behind = packets.partition_point(|p| p.order <= point.order);
            let rest = packets.split_off(behind);
            let reached = (point.order.saturating_add(1), point.time);
            all.push(self.batch(packets, bytes, reached, Some(silent))?);
            packets = rest;
        }
        let Some(last) = head.last else {
            return Ok(all);
        };
        let last = self.placed(last);
        self.sweeps.pass(last.reached);
        self.last = Some(last);
        self.behind = self.base.saturating_add(head.behind);
        // Where a sweep stands behind the last packet, nothing is left.
        if all.is_empty() || self.decoded.reached.0 <= last.order {
            all.push(self.batch(packets, bytes, (self.behind, last.time), None)?);
        }
        Ok(all)
    }

    /// Tells what was still open, as the capture is over.
    ///
    /// # Errors
    /// When connections take up too much memory.
    pub fn finish(mut self) -> Result<Vec<(u64, Vec<u8>)>, Error> {
        let mut all = Vec::new();
        self.decoded.batch.clear();
        self.decoded.segments.clear();
        let decoded = &mut self.decoded;
        let behind = (self.decoder).finish(&mut decoded.batch, &mut decoded.segments);
        let now = self.last.map_or(Time::default(), |last| last.time);
        let sweep = self.sweeps.end();
        if sweep.is_some() {
            all.push(self.tell((behind, now), sweep)?);
        }
        let mut records = Records::default();
        let mut problems = Problems::default();
        let of_fragments = |kind: &str| kind.contains("fragment");
        for (kind, p) in self.decoder.problems().iter() {
            if self.share == 0 || !of_fragments(kind) {
                problems.add(kind, p.damage, p.count, || {
                    (p.example.clone(), p.first.clone())
                });
            }
        }
        let files = self.ends.iter().flat_map(|end| &end.files);
        let names: Vec<String> = files.map(|f| f.name.clone()).collect();
        let head = self.head();
        let told = self.connections.finish(&mut records);
        problems.merge(&told.problems(&names));
        let mut told = Told {
            problems: Problem::all(&problems),
            ..head
        };
        if self.share == 0 {
            let counts = self.decoder.counts();
            (told.not_ip, told.not_tcp_or_udp) = (counts.not_ip, counts.not_tcp_or_udp);
            told.ends = self.ends;
        }
        all.push(told.write(&mut records, 0));
        Ok(all)
    }

    /// Where a piece is the first of further files, its packets come behind those before.
    fn begin(&mut self, head: &Head) {
        if self.file != head.file {
            (self.file, self.base) = (head.file, self.behind.saturating_add(1));
        }
        let first = head.points.first().filter(|first| first.order == 0);
        self.first = self.first.or(first.map(|first| first.time));
    }

    /// A packet of the file among those of the capture.
    fn placed(&self, point: Point) -> Point {
        let reached = match (point.order, self.last) {
            (0, Some(last)) => point.time.min(last.time),
            _ => point.reached,
        };
        Point {
            order: self.base.saturating_add(point.order),
            reached,
            ..point
        }
    }

    /// Follows the packets of a batch.
    fn batch(
        &mut self,
        mut packets: Vec<Packet>,
        bytes: &[u8],
        reached: (u64, Time),
        sweep: Option<Time>,
    ) -> Result<(u64, Vec<u8>), Error> {
        let decoded = &mut self.decoded;
        decoded.batch.clear();
        decoded.segments.clear();
        for p in &mut packets {
            let start = p.start as usize;
            let own = bytes.get(start..start + p.captured as usize);
            p.start = decoded.batch.bytes.len() as u32;
            decoded
                .batch
                .bytes
                .extend_from_slice(own.ok_or_else(not_ours)?);
        }
        decoded.batch.packets = packets;
        self.decoder
            .decode(&mut decoded.batch, &mut decoded.segments);
        self.decoder.reach(reached.0);
        self.tell(reached, sweep)
    }

    /// What the decoded packets say.
    fn tell(&mut self, reached: (u64, Time), sweep: Option<Time>) -> Result<(u64, Vec<u8>), Error> {
        let (share, shares) = (self.share, self.shares);
        let decoded = &mut self.decoded;
        self.decoder.take_arps(&mut decoded.arps);
        self.decoder.take_notices(&mut decoded.notices);
        // All have seen all fragments; one tells of them.
        let of_fragments = |kind: &NoticeKind| {
            matches!(
                kind,
                NoticeKind::Fragments(_) | NoticeKind::LostFragments(_)
            )
        };
        (decoded.notices).retain(|notice| share == 0 || !of_fragments(&notice.kind));
        (decoded.reached, decoded.sweep) = (reached, sweep);
        let owns = |s: &Segment| net::partition(s) * shares / PARTITIONS == share;
        let own: Vec<&Segment> = decoded.segments.iter().filter(|s| owns(s)).collect();
        self.connections.track(decoded, &own);
        let mut records = Records::default();
        self.connections.take(decoded, &mut records);
        Connections::take_loose(decoded, &mut records);
        let weight = self.connections.weight();
        told::fits(weight, self.room)?;
        Ok(self.head().write(&mut records, weight))
    }

    /// What is told of the capture as a whole.
    fn head(&mut self) -> Told {
        let files = self.files.take().filter(|_| self.share == 0);
        Told {
            first: self.first,
            files: files.unwrap_or_default(),
            ..Told::default()
        }
    }
}

/// The number by which it is put in order.
pub(super) fn number(records: &Records) -> u64 {
    match records.number {
        Some(Number::Batch(number)) => number,
        Some(Number::Part(_) | Number::Last) | None => u64::MAX,
    }
}
