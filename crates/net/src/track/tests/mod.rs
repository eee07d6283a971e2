//! Conversations as lists of segments, and what a tracker makes of them.

mod accounts;
mod again;
mod bytes;
mod connections;
mod copies;
mod habits;
mod measures;
mod paced;
mod plots;
mod random;
mod stamps;
mod tshark;
mod unscaled;
mod waits;
mod windows;

use super::Tracker;
use crate::segment::Tcp;
use crate::{Connection, Ecn, Flags, Handler, Segment};
use model::{
    Chunk, Close, ConnectionSummary, Direction, Endpoint, Episode, HeldSince, Interval, Mark,
    PacketRef, PerClass, Plot, Problems, Time, Transport,
};
use std::hash::{BuildHasher, Hash};

const FIN: u8 = 0x01;
const SYN: u8 = 0x02;
const RST: u8 = 0x04;
const PSH: u8 = 0x08;
const ACK: u8 = 0x10;

const US: i64 = 1_000;
const MS: i64 = 1_000_000;

/// Something a direction delivered.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Item {
    Data(Vec<u8>),
    Cut(u64),
    Gap(u64),
}

#[derive(Clone, Debug)]
struct Delivered {
    data: Vec<u8>,
    frame: u32,
    sequence: u32,
    order: u64,
    held_since: Option<HeldSince>,
    heard_all: bool,
    peer_ended: Option<Time>,
}

/// All that was seen of one connection.
#[derive(Debug)]
struct Seen {
    connection: Connection,
    items: [Vec<Item>; 2],
    chunks: Vec<Delivered>,
    episodes: Vec<Episode>,
    /// Orders of packets of the server before which some are missing.
    skips: Vec<u64>,
    datagrams: Vec<(Direction, Vec<u8>)>,
    intervals: Vec<Interval>,
    plot: Option<Plot>,
    end: Option<(ConnectionSummary, u64, Time)>,
}

impl Seen {
    fn items(&self, d: Direction) -> &[Item] {
        &self.items[d.index()]
    }

    /// What came of its bytes: not what held them up.
    fn bytes_alone(&self) -> String {
        let chunks: Vec<_> = (self.chunks.iter())
            .map(|chunk| Delivered {
                held_since: None,
                ..chunk.clone()
            })
            .collect();
        let end = self.end.as_ref().map(|(summary, order, now)| {
            let gaps = summary.directions.each_ref().map(|d| {
                let again = (d.retransmitted_packets, d.out_of_order_packets);
                let copies = (d.packets, d.duplicate_packets, again);
                (
                    d.missing_from_capture_gaps,
                    d.missing_from_capture_bytes,
                    copies,
                )
            });
            (summary.close, summary.last, gaps, *order, *now)
        });
        format!(
            "{:?} {:?} {chunks:?} {:?} {end:?}",
            self.connection, self.items, self.datagrams
        )
    }

    fn summary(&self) -> &ConnectionSummary {
        &self.end.as_ref().unwrap().0
    }

    fn close(&self) -> Close {
        self.summary().close
    }
}

#[derive(Default)]
struct Recorder {
    connections: Vec<Seen>,
    closed: Vec<u64>,
}

fn bytes_alone(recorder: &Recorder) -> Vec<String> {
    recorder.connections.iter().map(Seen::bytes_alone).collect()
}

impl Recorder {
    fn push(&mut self, index: usize, d: Direction, item: Item) {
        let items = &mut self.connections[index].items[d.index()];
        match (items.last_mut(), item) {
            (Some(Item::Data(bytes)), Item::Data(more)) => bytes.extend(more),
            (Some(Item::Cut(n)), Item::Cut(more)) => *n += more,
            (Some(Item::Gap(n)), Item::Gap(more)) => *n += more,
            (_, item) => items.push(item),
        }
    }
}

impl Handler for Recorder {
    type State = usize;
    type Rest = ();

    fn rest(&mut self, _: &mut usize) {}

    fn open(&mut self, connection: &Connection) -> usize {
        self.connections.push(Seen {
            connection: *connection,
            items: [Vec::new(), Vec::new()],
            chunks: Vec::new(),
            episodes: Vec::new(),
            skips: Vec::new(),
            datagrams: Vec::new(),
            intervals: Vec::new(),
            plot: None,
            end: None,
        });
        self.connections.len() - 1
    }

    fn data(&mut self, _: &Connection, s: &mut usize, d: Direction, chunk: &Chunk<'_>) {
        self.connections[*s].chunks.push(Delivered {
            data: chunk.data.to_vec(),
            frame: chunk.mark.packet.frame,
            sequence: chunk.sequence,
            order: chunk.order,
            held_since: chunk.held_since,
            heard_all: chunk.heard_all,
            peer_ended: chunk.peer_ended,
        });
        if !chunk.data.is_empty() {
            self.push(*s, d, Item::Data(chunk.data.to_vec()));
        }
        if chunk.cut > 0 {
            self.push(*s, d, Item::Cut(u64::from(chunk.cut)));
        }
    }

    fn gap(&mut self, _: &Connection, s: &mut usize, d: Direction, length: u64, _: Mark, _: u64) {
        self.push(*s, d, Item::Gap(length));
    }

    fn datagram(
        &mut self,
        _: &Connection,
        s: &mut usize,
        d: Direction,
        chunk: &Chunk<'_>,
        _: Mark,
    ) {
        let datagram = (d, chunk.data.to_vec());
        self.connections[*s].datagrams.push(datagram);
    }

    fn skipped(&mut self, c: &Connection, _: Mark, order: u64) {
        let ours = self
            .connections
            .iter_mut()
            .find(|seen| seen.connection.id == c.id);
        ours.unwrap().skips.push(order);
    }

    fn episode(&mut self, _: &Connection, s: &mut usize, episode: Episode) {
        self.connections[*s].episodes.push(episode);
    }

    fn interval(
        &mut self,
        _: &Connection,
        s: &mut usize,
        interval: Interval,
        _: &[PerClass<i64>; 2],
    ) {
        self.connections[*s].intervals.push(interval);
    }

    fn plot(&mut self, _: &Connection, s: &mut usize, plot: Plot) {
        self.connections[*s].plot = Some(plot);
    }

    fn close(
        &mut self,
        c: &Connection,
        s: usize,
        summary: ConnectionSummary,
        order: u64,
        now: Time,
    ) {
        self.closed.push(c.id.0);
        self.connections[s].end = Some((summary, order, now));
    }
}

fn endpoint(host: u8, port: u16) -> Endpoint {
    Endpoint {
        address: [10, 0, 0, host].into(),
        port,
    }
}

fn hash(a: Endpoint, b: Endpoint, transport: Transport) -> u64 {
    let pair = if a < b { (a, b) } else { (b, a) };
    let hasher = foldhash::fast::FixedState::with_seed(1);
    let mut state = hasher.build_hasher();
    (pair, transport).hash(&mut state);
    std::hash::Hasher::finish(&state)
}

/// A capture in the making: segments between one client and one server, unless changed. Sequence
/// numbers of the client count from `isn`, those of the server from `isn + 1,000,000`.
#[derive(Debug)]
struct Script {
    segments: Vec<Segment>,
    bytes: Vec<u8>,
    now: i64,
    step: i64,
    client: Endpoint,
    server: Endpoint,
    isn: u32,
    /// Of each side, by what it sent last.
    ip_ids: [u16; 2],
    identified: bool,
}

const SERVER_ISN: u32 = 1_000_000;

impl Script {
    fn new() -> Script {
        Script {
            segments: Vec::new(),
            bytes: Vec::new(),
            now: 1_000_000 * MS,
            step: 10 * US,
            client: endpoint(1, 40_000),
            server: endpoint(2, 2_049),
            isn: 1_000,
            ip_ids: [0, 1 << 15],
            identified: true,
        }
    }

    fn wait(&mut self, ns: i64) -> &mut Script {
        self.now += ns;
        self
    }

    /// A segment; `seq` and `ack` count from each side's initial sequence number.
    fn send(
        &mut self,
        d: Direction,
        flags: u8,
        seq: u32,
        ack: u32,
        payload: &[u8],
    ) -> &mut Segment {
        let server_isn = self.isn.wrapping_add(SERVER_ISN);
        let (own, other) = match d {
            Direction::ToServer => (self.isn, server_isn),
            Direction::ToClient => (server_isn, self.isn),
        };
        self.raw(
            d,
            flags,
            own.wrapping_add(seq),
            other.wrapping_add(ack),
            payload,
        )
    }

    fn raw(&mut self, d: Direction, flags: u8, seq: u32, ack: u32, payload: &[u8]) -> &mut Segment {
        let (source, destination) = match d {
            Direction::ToServer => (self.client, self.server),
            Direction::ToClient => (self.server, self.client),
        };
        let order = self.segments.len() as u64;
        let mark = Mark {
            time: Time(self.now),
            packet: PacketRef {
                file: 0,
                frame: order as u32 + 1,
            },
        };
        self.now += self.step;
        let ip_id = &mut self.ip_ids[d.index()];
        *ip_id = ip_id.wrapping_add(1);
        let ip_id = self.identified.then_some(*ip_id);
        let payload_start = self.bytes.len() as u32;
        self.bytes.extend_from_slice(payload);
        self.segments.push(Segment {
            mark,
            first: mark,
            order,
            transport: Transport::Tcp,
            source,
            destination,
            flow_hash: hash(source, destination, Transport::Tcp),
            owner_hash: 0,
            payload_start,
            payload_captured: payload.len() as u32,
            payload_length: payload.len() as u32,
            ip_id,
            ttl: 64,
            ecn: Ecn(0),
            tcp: Tcp {
                sequence: seq,
                acknowledgement: if flags & ACK == 0 { 0 } else { ack },
                flags: Flags(flags),
                window: 60_000,
                ..Tcp::default()
            },
        });
        self.segments.last_mut().unwrap()
    }

    fn c(&mut self, seq: u32, ack: u32, payload: &[u8]) -> &mut Segment {
        self.send(Direction::ToServer, ACK | PSH, seq, ack, payload)
    }

    fn s(&mut self, seq: u32, ack: u32, payload: &[u8]) -> &mut Segment {
        self.send(Direction::ToClient, ACK | PSH, seq, ack, payload)
    }

    /// The three packets that open a connection.
    fn open(&mut self) -> &mut Script {
        self.send(Direction::ToServer, SYN, 0, 0, b"").tcp.mss = Some(1_460);
        self.send(Direction::ToClient, SYN | ACK, 0, 1, b"").tcp.mss = Some(1_460);
        self.send(Direction::ToServer, ACK, 1, 1, b"");
        self
    }

    /// The last packet once more, `after` ns later.
    fn copy(&mut self, after: i64) -> &mut Script {
        let last = *self.segments.last().unwrap();
        self.copy_of(last, after)
    }

    fn copy_of(&mut self, mut segment: Segment, after: i64) -> &mut Script {
        let order = self.segments.len() as u64;
        segment.mark.time = segment.mark.time + after;
        segment.mark.packet.frame = order as u32 + 1;
        segment.order = order;
        self.segments.push(segment);
        self.now = self.now.max(segment.mark.time.0 + self.step);
        self
    }

    fn run(&self) -> Vec<Seen> {
        self.run_with_problems().0
    }

    /// What comes out, which is to be the same where every connection is packed behind each segment.
    fn through(&self, tracker: impl Fn() -> Tracker<Recorder>) -> (Recorder, Problems) {
        let run = |mut tracker: Tracker<Recorder>| {
            let segments: Vec<&Segment> = self.segments.iter().collect();
            tracker.segments(&segments, &self.bytes, |_, _| {}, |_, _| {});
            tracker.finish(u64::MAX)
        };
        let (awake, problems) = run(tracker());
        let (rested, same_problems) = run(tracker().with_little_awake());
        assert_eq!(
            format!("{:#?} {problems:?}", awake.connections),
            format!("{:#?} {same_problems:?}", rested.connections)
        );
        let (unasked, same_problems) = run(tracker().with_bytes_alone());
        assert_eq!(
            format!("{:#?} {problems:?}", bytes_alone(&awake)),
            format!("{:#?} {same_problems:?}", bytes_alone(&unasked))
        );
        (awake, problems)
    }

    fn run_with_problems(&self) -> (Vec<Seen>, Vec<(&'static str, u64)>) {
        let (recorder, problems) = self.through(|| Tracker::new(Recorder::default()));
        let problems = problems.iter().map(|(kind, p)| (kind, p.count)).collect();
        (recorder.connections, problems)
    }

    /// The only connection as a diagnosis looks at it.
    fn timed(&self) -> Seen {
        let tracker = || Tracker::new(Recorder::default()).with_timelines();
        let mut seen = self.through(tracker).0.connections;
        assert_eq!(seen.len(), 1, "{seen:#?}");
        seen.remove(0)
    }

    /// The only connection, with its account, and its intervals of that width.
    fn measured(&self, width_ns: i64) -> Seen {
        let tracker = || Tracker::new(Recorder::default()).with_intervals(width_ns);
        let mut seen = self.through(tracker).0.connections;
        assert_eq!(seen.len(), 1, "{seen:#?}");
        seen.remove(0)
    }

    /// The only connection.
    fn one(&self) -> Seen {
        let mut seen = self.run();
        assert_eq!(seen.len(), 1, "{seen:#?}");
        seen.remove(0)
    }
}

fn data(bytes: &[u8]) -> Vec<Item> {
    vec![Item::Data(bytes.to_vec())]
}
