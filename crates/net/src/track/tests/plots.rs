//! A connection's picture shows what its account counts, whatever the packets are, and whoever else is
//! in the capture.

use super::*;
use Direction::{ToClient, ToServer};
use model::{ConnectionId, Plot, PlotRequest, SegmentKind, limits};
use proptest::collection::vec;
use proptest::prelude::*;

/// What is known of a connection after a first reading, to ask for its picture.
fn request(summary: &ConnectionSummary, points: usize) -> PlotRequest {
    PlotRequest {
        concludes_scales: true,
        connection: summary.id,
        first: summary.first.time,
        last: summary.last.time,
        points,
    }
}

/// Summaries with accounts, as a first reading gives them.
fn read(t: &Script) -> Vec<ConnectionSummary> {
    let mut tracker = Tracker::new(Recorder::default()).with_accounts();
    for s in &t.segments {
        tracker.segment(s, &t.bytes);
    }
    let (recorder, _) = tracker.finish(u64::MAX);
    let summaries = recorder.connections.iter().map(|c| c.summary().clone());
    summaries
        .filter(|c| c.transport == Transport::Tcp)
        .collect()
}

/// The pictures that were asked for, of the segments that pass.
fn draw(
    t: &Script,
    requests: Vec<PlotRequest>,
    mut passes: impl FnMut(&Segment) -> bool,
) -> Vec<Plot> {
    let mut tracker = Tracker::new(Recorder::default()).with_plots(requests);
    for s in t.segments.iter().filter(|s| passes(s)) {
        tracker.segment(s, &t.bytes);
    }
    let (recorder, _) = tracker.finish(u64::MAX);
    let seen = recorder.connections;
    assert!(
        seen.iter()
            .all(|c| c.plot.is_some() == c.summary().accounts.is_some())
    );
    seen.into_iter().filter_map(|c| c.plot).collect()
}

/// Pictures of all connections that are as large as asked for.
fn pictures(t: &Script, points: usize) -> Vec<(ConnectionSummary, Plot)> {
    let read = read(t);
    let requests = read.iter().map(|c| request(c, points)).collect();
    let plots = draw(t, requests, |_| true);
    assert_eq!(read.len(), plots.len());
    read.into_iter().zip(plots).collect()
}

/// Segments of any kind over three pairs of ports.
fn segments() -> impl Strategy<Value = Script> {
    let one = (
        prop_oneof![8 => 0..10 * MS, 1 => Just(12_000 * MS), 1 => Just(limits::IDLE_NS + 1), 1 => Just(-3 * MS)],
        (any::<bool>(), 0..3u8),
        prop_oneof![12 => Just(ACK), 2 => Just(SYN), 1 => Just(ACK | FIN), 1 => Just(RST)],
        (
            prop_oneof![0..6_000u32, 0..6u32],
            0..6_000u32,
            prop_oneof![Just(0u32), Just(1u32), 0..3_000u32],
        ),
        prop_oneof![Just(0u16), 1..500u16],
    );
    vec(one, 1..200).prop_map(|segments| {
        let mut t = Script::new();
        t.step = 0;
        for (after, (to_server, port), flags, (seq, ack, length), window) in segments {
            t.wait(after);
            t.client.port = 40_000 + u16::from(port);
            let d = if to_server { ToServer } else { ToClient };
            let payload = vec![0; length as usize];
            let segment = t.send(d, flags, seq, ack, &payload);
            segment.tcp.window = window;
            if flags == SYN {
                segment.tcp.window_scale = (window % 3 > 0).then_some(3);
            }
        }
        t
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 300,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn pictures_show_what_accounts_count(t in segments(), points in 16..400usize) {
        for (summary, plot) in pictures(&t, points) {
            let accounts = summary.accounts.as_ref().expect("an account");
            let packets: u64 = summary.directions.iter().map(|d| d.packets).sum();
            prop_assert_eq!(plot.packets, packets);
            for ((d, account), counts) in plot.directions.iter().zip(accounts.iter()).zip(&summary.directions) {
                prop_assert_eq!(d.band.time_ns, account.time_ns);
                let mut at = summary.first.time;
                for stretch in &d.band.stretches {
                    prop_assert_eq!(stretch.first, at);
                    prop_assert!(stretch.until > at);
                    at = stretch.until;
                }
                if d.band.bucket_ns.is_none() {
                    for (class, ns) in account.time_ns.iter() {
                        let of_class = d.band.stretches.iter().filter(|s| s.class == class);
                        let (sum, stretches) = of_class.fold((0, 0), |(sum, n), s| (sum + (s.until - s.first), n + 1));
                        prop_assert_eq!((sum, stretches), (*ns, account.stretches[class]));
                    }
                }
                prop_assert_eq!(d.retransmissions, counts.retransmitted_packets);
                let sum = |f: &dyn Fn(&model::PlotInterval) -> u64| d.throughput.intervals.iter().map(f).sum::<u64>();
                prop_assert_eq!(sum(&|i| i.payload_bytes), counts.payload_bytes);
                prop_assert_eq!(sum(&|i| i.retransmitted_packets), counts.retransmitted_packets);
                prop_assert_eq!(sum(&|i| i.segments), account.segment_sizes.0.iter().sum::<u64>());
                prop_assert_eq!(d.round_trips.seen, account.rtt.count);
                let round_trips = d.round_trips.points.iter().map(|p| p.ns);
                let range = (round_trips.clone().min().unwrap_or(0), round_trips.max().unwrap_or(0));
                prop_assert_eq!(range, (account.rtt.min_ns, account.rtt.max_ns));
                let flight = d.flight.points.iter().map(|p| p.bytes).max();
                prop_assert_eq!(flight.unwrap_or(0), account.flight_max_bytes);
                let lists = [
                    (d.segments.points.len(), d.segments.seen, d.segments.bucket_ns),
                    (d.acks.points.len(), d.acks.seen, d.acks.bucket_ns),
                    (d.round_trips.points.len(), d.round_trips.seen, d.round_trips.bucket_ns),
                    (d.flight.points.len(), d.flight.seen, d.flight.bucket_ns),
                    (d.band.stretches.len(), 0, Some(0)),
                ];
                for (kept, seen, bucket) in lists {
                    prop_assert!(kept <= points.max(32));
                    prop_assert!(bucket.is_some() || kept as u64 == seen);
                }
                // Every frame is one of this capture's, at its time.
                for (time, packet) in d.segments.points.iter().map(|p| (p.time, p.packet))
                    .chain(d.acks.points.iter().map(|p| (p.time, p.packet)))
                    .chain(d.flight.points.iter().map(|p| (p.time, p.packet)))
                    .chain(d.round_trips.points.iter().map(|p| (p.time, p.packet)))
                {
                    let s = &t.segments[packet.frame as usize - 1];
                    prop_assert_eq!(s.mark, Mark { time, packet });
                }
            }
        }
    }

    #[test]
    fn a_picture_needs_the_packets_of_its_own_ends_only(t in segments(), which in any::<prop::sample::Index>()) {
        let all = pictures(&t, 100);
        let (summary, expected) = which.get(&all);
        let mut flow = None;
        let alone = draw(&t, vec![request(summary, 100)], |s| {
            if ConnectionId(s.order) == summary.id {
                flow = Some(s.flow_hash);
            }
            flow == Some(s.flow_hash)
        });
        prop_assert_eq!(&alone, std::slice::from_ref(expected));
    }
}

#[test]
fn each_segment_is_shown_as_what_it_was() {
    let mut t = Script::new();
    t.open();
    t.c(1, 1, &[0; 100]);
    t.wait(MS).s(1, 101, b"");
    t.wait(MS).c(101, 1, &[0; 1_460]);
    t.c(3_021, 1, &[0; 1_460]);
    t.c(1_561, 1, &[0; 1_460]);
    // What comes next is lost on the way: three duplicate acknowledgements, and it is sent again.
    t.wait(MS).s(1, 4_481, b"");
    t.wait(MS).c(4_481, 1, &[0; 1_460]);
    for after in 0..3u32 {
        t.c(5_941 + 1_460 * after, 1, &[0; 1_460]);
        t.wait(MS).s(1, 4_481, b"");
    }
    t.wait(MS).c(4_481, 1, &[0; 1_460]);
    t.wait(MS).s(1, 10_321, b"");
    // Acknowledged, and all the same sent again; then a keep-alive with a byte, and one without.
    t.wait(300 * MS).c(8_861, 1, &[0; 1_460]);
    t.wait(1_000 * MS).c(10_320, 1, &[0; 1]);
    t.wait(1_000 * MS).c(10_320, 1, b"");
    let [(summary, plot)] = &pictures(&t, 1_000)[..] else {
        panic!("one connection");
    };
    use SegmentKind::*;
    let shown: Vec<_> = plot.directions[0]
        .segments
        .points
        .iter()
        .map(|s| (s.from, s.to, s.kind))
        .collect();
    let expected = [
        (0, 100, New),
        (100, 1_560, New),
        (3_020, 4_480, New),
        (1_560, 3_020, OutOfOrder),
        (4_480, 5_940, New),
        (5_940, 7_400, New),
        (7_400, 8_860, New),
        (8_860, 10_320, New),
        (4_480, 5_940, Retransmission),
        (8_860, 10_320, SpuriousRetransmission),
        (10_319, 10_320, Probe),
        (10_319, 10_319, Probe),
    ];
    assert_eq!(shown, expected, "{summary:#?}");
    let acks: Vec<_> = plot.directions[0]
        .acks
        .points
        .iter()
        .map(|a| a.acknowledged)
        .collect();
    assert_eq!(acks, [0, 100, 4_480, 10_320]);
    let round_trips: Vec<_> = plot.directions[0]
        .round_trips
        .points
        .iter()
        .map(|r| r.ns)
        .collect();
    assert_eq!(round_trips.first(), Some(&(MS + 10 * US)));
}

#[test]
fn what_is_sent_again_tells_when_it_had_been_sent_unless_the_capture_lacks_that() {
    let mut t = Script::new();
    t.open();
    t.wait(MS).c(1, 1, &[0; 100]);
    t.wait(MS).c(101, 1, &[0; 100]);
    let lost = t.segments.len() as u32;
    t.wait(MS).c(201, 1, &[0; 100]);
    t.wait(MS).s(1, 101, b"");
    // It is lost again, and then sent in one piece with what is behind it.
    t.wait(300 * MS).c(101, 1, &[0; 100]);
    let again = t.segments.len() as u32;
    t.wait(600 * MS).c(101, 1, &[0; 200]);
    t.wait(MS).s(1, 301, b"");
    let [(_, plot)] = &pictures(&t, 64)[..] else {
        panic!("one connection");
    };
    let segments = plot.directions[0].segments.points.iter();
    let before: Vec<Option<u32>> = segments
        .map(|s| s.before.map(|mark| mark.packet.frame))
        .collect();
    assert_eq!(before, [None, None, None, Some(lost), Some(again)]);
}

#[test]
fn what_is_sent_again_and_closed_windows_survive_any_thinning() {
    let mut t = Script::new();
    t.open();
    let (mut seq, mut closed, mut again) = (1, Vec::new(), Vec::new());
    for i in 0..2_000 {
        t.wait(MS).c(seq, 1, &[0; 100]);
        if i % 500 == 250 {
            again.push(t.segments.len() as u32 + 1);
            t.wait(300 * MS).c(seq, 1, &[0; 100]);
        }
        seq += 100;
        t.wait(MS).s(1, seq, b"");
        if i % 500 == 100 {
            closed.push(t.segments.len() as u32 + 1);
            t.s(1, seq, b"").tcp.window = 0;
            t.wait(MS).s(1, seq, b"");
        }
    }
    let [(_, plot)] = &pictures(&t, 64)[..] else {
        panic!("one connection");
    };
    let there = &plot.directions[0];
    assert!(there.segments.points.len() <= 64 && there.segments.seen == 2_004);
    let frames = there.segments.points.iter();
    let frames = frames.filter(|s| s.kind == SegmentKind::Retransmission);
    assert_eq!(
        frames.clone().map(|s| s.packet.frame).collect::<Vec<_>>(),
        again
    );
    let before = frames.map(|s| s.before.map(|mark| mark.packet.frame + 1));
    let expected = again.iter().copied().map(Some);
    assert_eq!(before.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
    assert_eq!((there.retransmissions, there.retransmissions_kept), (4, 4));
    let frames = there.flight.points.iter().filter(|f| f.window == Some(0));
    assert_eq!(frames.map(|f| f.packet.frame).collect::<Vec<_>>(), closed);
    let frames = there.acks.points.iter();
    let frames = frames.filter(|a| a.window_end == Some(a.acknowledged));
    assert_eq!(frames.map(|a| a.packet.frame).collect::<Vec<_>>(), closed);
}
