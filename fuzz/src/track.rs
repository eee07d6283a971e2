//! Segments of a few connections, legal or not, through `net::Tracker`.
//!
//! A payload's bytes follow from its sender and sequence number alone, so a handler can tell of each
//! byte that it gets whether it is the one that belongs there.

use arbitrary::{Result, Unstructured};
use model::{
    Chunk, Close, ConnectionId, ConnectionSummary, Direction, Endpoint, Episode, Mark, PacketRef,
    Plot, PlotRequest, Time, Transport,
};
use net::{Connection, Ecn, Flags, Handler, Segment, Tcp, Tracker};
use std::hash::BuildHasher;

const SYN: u8 = 0x02;
const ACK: u8 = 0x10;

fn byte(sender: Endpoint, sequence: u32) -> u8 {
    (sequence
        .wrapping_mul(31)
        .wrapping_add(u32::from(sender.port))
        >> 3) as u8
}

#[derive(Default)]
struct Checker {
    opened: u64,
    closed: u64,
}

struct State {
    /// Sequence number of each direction's next byte, once known.
    next: [Option<u32>; 2],
    delivered: [u64; 2],
    missing: [u64; 2],
    order: u64,
    plot: Option<Plot>,
}

fn sender(c: &Connection, d: Direction) -> Endpoint {
    match d {
        Direction::ToServer => c.client,
        Direction::ToClient => c.server,
    }
}

impl Handler for Checker {
    type State = State;
    type Rest = ();

    fn rest(&mut self, _: &mut State) {}

    fn open(&mut self, c: &Connection) -> State {
        self.opened += 1;
        State {
            next: [None; 2],
            delivered: [0; 2],
            missing: [0; 2],
            order: c.id.0,
            plot: None,
        }
    }

    fn data(&mut self, c: &Connection, s: &mut State, d: Direction, chunk: &Chunk<'_>) {
        let length = chunk.data.len() as u64 + u64::from(chunk.cut);
        assert!(length > 0, "an empty chunk");
        assert!(chunk.order >= s.order, "time goes back");
        assert!(
            u64::from(chunk.mark.packet.frame) <= chunk.order + 1,
            "a packet to come"
        );
        s.order = chunk.order;
        if let Some(next) = s.next[d.index()] {
            assert_eq!(chunk.sequence, next, "bytes twice, or not at all");
        }
        let from = sender(c, d);
        for (i, &b) in (0..).zip(chunk.data) {
            assert_eq!(
                b,
                byte(from, chunk.sequence.wrapping_add(i)),
                "another byte"
            );
        }
        s.next[d.index()] = Some(chunk.sequence.wrapping_add(length as u32));
        s.delivered[d.index()] += length;
    }

    fn gap(&mut self, _: &Connection, s: &mut State, d: Direction, n: u64, _: Mark, order: u64) {
        assert!(n > 0, "an empty gap");
        assert!(order >= s.order, "time goes back");
        s.order = order;
        s.next[d.index()] = s.next[d.index()].map(|next| next.wrapping_add(n as u32));
        s.missing[d.index()] += n;
    }

    fn datagram(
        &mut self,
        c: &Connection,
        s: &mut State,
        _: Direction,
        chunk: &Chunk<'_>,
        _: Mark,
    ) {
        assert_eq!(c.transport, Transport::Udp);
        assert!(chunk.order >= s.order);
        s.order = chunk.order;
    }

    fn episode(&mut self, c: &Connection, _: &mut State, e: Episode) {
        assert_eq!(e.connection, c.id);
        assert!(
            e.first.time <= e.last.time,
            "an episode that ends before it began"
        );
    }

    fn plot(&mut self, c: &Connection, s: &mut State, plot: Plot) {
        assert_eq!(plot.connection, c.id);
        s.plot = Some(plot);
    }

    fn close(&mut self, c: &Connection, s: State, end: ConnectionSummary, order: u64, _: Time) {
        self.closed += 1;
        assert!(order >= s.order);
        assert_eq!((end.id, end.client), (c.id, c.client));
        let lifetime = (end.last.time - end.first.time).max(0);
        for account in end.accounts.iter().flat_map(|a| a.iter()) {
            let times: Vec<i64> = account.time_ns.iter().map(|(_, ns)| *ns).collect();
            assert!(times.iter().all(|&ns| ns >= 0), "less than no time");
            assert!(
                times.iter().fold(0, |sum: i64, ns| sum.saturating_add(*ns)) >= lifetime,
                "time is lost"
            );
        }
        let plots = s.plot.iter().flat_map(|plot| &plot.directions);
        let counts = end.accounts.iter().flat_map(|a| a.iter());
        for ((plot, account), direction) in plots.zip(counts).zip(&end.directions) {
            assert_eq!(plot.band.time_ns, account.time_ns, "another band");
            assert_eq!(plot.round_trips.seen, account.rtt.count);
            assert_eq!(plot.retransmissions, direction.retransmitted_packets);
            let (kept, seen) = plot.points();
            assert!(
                kept <= seen && kept <= 4 * 2 * POINTS as u64,
                "too many points"
            );
            assert!(plot.band.stretches.len() <= POINTS, "too many stretches");
            let stretches = plot.band.stretches.windows(2);
            assert!(
                stretches.into_iter().all(|w| w[0].until == w[1].first),
                "a gap"
            );
        }
        for (i, direction) in end.directions.iter().enumerate() {
            if c.transport == Transport::Tcp {
                assert!(
                    s.delivered[i] <= direction.payload_bytes,
                    "more bytes than were sent"
                );
                assert!(
                    direction.missing_from_capture_bytes <= s.missing[i],
                    "uncounted gaps"
                );
            }
            assert!(direction.retransmitted_bytes <= direction.payload_bytes);
            assert!(direction.retransmitted_packets <= direction.packets);
        }
        assert!(end.close != Close::EndOfCapture || order + 1 >= u64::from(end.last.packet.frame));
    }
}

/// Nanoseconds between two packets.
const STEPS: [i64; 16] = [
    1_000,
    0,
    10_000,
    100_000,
    1_000_000,
    2_500_000,
    5_000_000,
    41_000_000,
    210_000_000,
    900_000_000,
    5_100_000_000,
    11_000_000_000,
    31_000_000_000,
    131_000_000_000,
    3_601_000_000_000,
    -3_000_000,
];

/// A segment as the bytes ask for it: mostly the next one of its direction, or one near it. `next`
/// holds the sequence number that each side of each connection sends next.
fn segment(
    u: &mut Unstructured<'_>,
    next: &mut [[u32; 2]; 4],
    time: &mut i64,
    order: u64,
    bytes: &mut Vec<u8>,
) -> Result<Segment> {
    let [who, what, step, flags] = u.arbitrary::<[u8; 4]>()?;
    let pair = usize::from(who >> 1 & 3);
    let own = usize::from(who & 1);
    let transport = if who & 0xf8 == 0xf8 {
        Transport::Udp
    } else {
        Transport::Tcp
    };
    *time = time.saturating_add(STEPS[usize::from(step & 15)]);
    let mut sequence = next[pair][own];
    let mut acknowledgement = next[pair][1 - own];
    if what & 1 != 0 {
        sequence = sequence.wrapping_add(i32::from(u.arbitrary::<i16>()?) as u32);
    }
    if what & 2 != 0 {
        acknowledgement = acknowledgement.wrapping_add(i32::from(u.arbitrary::<i16>()?) as u32);
    }
    if what & 4 != 0 {
        sequence = u.arbitrary()?;
    }
    let mut length = 0;
    if what & 8 != 0 {
        length = u32::from(u.arbitrary::<u16>()? % 3_000);
    }
    let mut captured = length;
    if what & 16 != 0 {
        captured = captured.min(u32::from(u.arbitrary::<u8>()?));
    }
    let mut tcp = Tcp {
        sequence,
        acknowledgement,
        flags: Flags(if what & 128 == 0 {
            flags & !0x07 | ACK
        } else {
            flags
        }),
        window: 60_000,
        ..Tcp::default()
    };
    if what & 32 != 0 {
        let [extra, count] = u.arbitrary::<[u8; 2]>()?;
        if extra & 1 != 0 {
            tcp.window = u.arbitrary::<u16>()? & 0x8fff;
        }
        if extra & 2 != 0 {
            tcp.timestamps = Some((u.arbitrary::<u16>()?.into(), u.arbitrary::<u16>()?.into()));
        }
        if extra & 4 != 0 {
            tcp.window_scale = Some(u.arbitrary()?);
            tcp.mss = Some(u.arbitrary()?);
        }
        tcp.sack_count = count % 5;
        for sack in tcp.sack.iter_mut().take(usize::from(tcp.sack_count)) {
            let [from, length] = u.arbitrary::<[i16; 2]>()?;
            let from = acknowledgement.wrapping_add(i32::from(from) as u32);
            *sack = (from, from.wrapping_add(i32::from(length) as u32));
        }
    }
    if what & 64 == 0 {
        let syn_fin = u32::from(tcp.flags.syn()) + u32::from(tcp.flags.fin());
        next[pair][own] = sequence.wrapping_add(length).wrapping_add(syn_fin);
    }
    let end = |own: usize| Endpoint {
        address: [10, 0, 0, 1 + own as u8].into(),
        port: if own == 0 {
            40_000 + pair as u16
        } else {
            2_049
        },
    };
    let (source, destination) = (end(own), end(1 - own));
    let first_byte = sequence.wrapping_add(u32::from(tcp.flags.0 & SYN != 0));
    let payload_start = 7;
    bytes.clear();
    bytes.resize(payload_start as usize, 0xee);
    bytes.extend((0..captured).map(|i| byte(source, first_byte.wrapping_add(i))));
    let ends = (source.min(destination), source.max(destination), transport);
    let hasher = foldhash::fast::FixedState::with_seed(1);
    let mark = Mark {
        time: Time(*time),
        packet: PacketRef {
            file: 0,
            frame: order as u32 + 1,
        },
    };
    Ok(Segment {
        mark,
        first: mark,
        order,
        transport,
        source,
        destination,
        flow_hash: hasher.hash_one(ends),
        owner_hash: 0,
        payload_start,
        payload_captured: captured,
        payload_length: length,
        ip_id: (step & 0x40 == 0).then_some(order as u16 ^ u16::from(step & 0x80)),
        ttl: 64,
        ecn: Ecn(order as u8),
        tcp: if transport == Transport::Tcp {
            tcp
        } else {
            Tcp::default()
        },
    })
}

/// Points of each curve: so few that most are left out.
const POINTS: usize = 20;

pub fn track(data: &[u8]) {
    let mut u = Unstructured::new(data);
    let requests = (0..data.len() as u64).map(|order| PlotRequest {
        connection: ConnectionId(order),
        first: Time(0),
        last: Time(1_000_000_000),
        concludes_scales: order % 2 == 0,
        points: POINTS,
    });
    let mut tracker = Tracker::new(Checker::default())
        .with_intervals(1_000_000)
        .with_plots(requests);
    let mut next = [[0_u32; 2]; 4];
    for (i, next) in (0..).zip(next.iter_mut().flatten()) {
        *next = 0x4000_0000_u32.wrapping_mul(i).wrapping_sub(1_000);
    }
    let (mut time, mut order) = (0, 0);
    let mut bytes = Vec::new();
    while !u.is_empty() {
        let Ok(segment) = segment(&mut u, &mut next, &mut time, order, &mut bytes) else {
            break;
        };
        tracker.segment(&segment, &bytes);
        if order % 8 == 7 {
            tracker.sweep(order, segment.mark.time);
        }
        order += 1;
    }
    let (checker, _) = tracker.finish(u64::MAX - 1);
    assert_eq!(checker.opened, checker.closed);
}
