//! Whatever a capture makes of the packets, a connection's account stays the same: its totals are
//! those of the stream, and its classes of time those of what the hosts did.

use super::*;
use Direction::{ToClient, ToServer};
use model::{DirectionAccount, DirectionSummary, PerClass, RoundTrips, TimeClass, limits};
use proptest::collection::vec;
use proptest::prelude::*;

/// What one side says at a moment, and when the other acknowledges it.
#[derive(Clone, Debug)]
struct Burst {
    d: Direction,
    /// After the packet before it.
    after: i64,
    bytes: u32,
    acknowledged: Option<i64>,
    /// What the acknowledgement offers.
    window: u16,
    /// Which of its segments the capture holds twice, and in which order it has them.
    copied: u8,
    shuffled: u64,
}

/// Far from every limit by which an account decides, so that a microsecond does not matter.
const GAPS: [i64; 6] = [20 * US, 120 * US, 400 * US, 5 * MS, 40 * MS, 1_500 * MS];

fn burst() -> impl Strategy<Value = Burst> {
    (
        any::<bool>(),
        prop::sample::select(&GAPS[..]),
        prop_oneof![1..200u32, 1_000..6_000u32, 6_000..40_000u32],
        prop::option::weighted(0.8, prop::sample::select(&GAPS[..5])),
        prop_oneof![4 => Just(500u16), 1 => Just(0), 1 => 20..100u16],
        any::<(u8, u64)>(),
    )
        .prop_map(
            |(c, after, bytes, acknowledged, window, (copied, shuffled))| Burst {
                d: if c { ToServer } else { ToClient },
                after,
                bytes,
                acknowledged,
                window,
                copied,
                shuffled,
            },
        )
}

/// What the hosts' offloading, the path and the capture do to the segments of a burst.
#[derive(Clone, Copy, Default)]
struct Wire {
    /// Bytes of a segment, at most.
    bytes: u32,
    /// Between two segments of a burst on the wire.
    spread: i64,
    /// Whether a super-segment has the time of the last segment that was joined in it, as a receiver's
    /// has, or that of the first, as a sender's has.
    joined_late: bool,
    copies: bool,
    disorder: bool,
}

const FULL: u32 = 1_460;
const SCALE: u8 = 7;
/// Segments of the maximum size, as without offloading.
const SEGMENTS: Wire = Wire {
    bytes: FULL,
    spread: 0,
    joined_late: false,
    copies: false,
    disorder: false,
};

/// The packets, and how many of them are copies.
fn packets(bursts: &[Burst], wire: Wire) -> (Script, u64) {
    let mut t = Script::new();
    t.step = 0;
    let mut copies = 0;
    for (d, flags, ack) in [
        (ToServer, SYN, 0),
        (ToClient, SYN | ACK, 1),
        (ToServer, ACK, 1),
    ] {
        let seq = u32::from(flags == ACK);
        let s = t.send(d, flags, seq, ack, b"");
        if flags & SYN != 0 {
            (s.tcp.mss, s.tcp.window_scale) = (Some(FULL as u16), Some(SCALE));
        }
        s.tcp.window = u16::MAX;
        t.wait(300 * US);
    }
    // Windows of a SYN are not scaled.
    t.send(ToClient, ACK, 1, 1, b"").tcp.window = u16::MAX;
    t.wait(GAPS[3]);
    let mut sent = [1u32; 2];
    let mut windows = [u16::MAX; 2];
    // Up to where each may send.
    let mut edges = [1 + (u32::from(u16::MAX) << SCALE); 2];
    for b in bursts {
        let (own, other) = (b.d.index(), b.d.reverse().index());
        t.wait(b.after);
        let end = sent[own] + b.bytes;
        if end > edges[own] {
            // The receiver makes room first, as nobody sends into a closed window.
            (windows[other], edges[own]) = (u16::MAX, sent[own] + (u32::from(u16::MAX) << SCALE));
            t.send(b.d.reverse(), ACK, sent[other], sent[own], b"")
                .tcp
                .window = u16::MAX;
            t.wait(GAPS[1]);
        }
        let start = t.segments.len();
        for (i, from) in (sent[own]..end)
            .step_by(wire.bytes.min(b.bytes) as usize)
            .enumerate()
        {
            let to = end.min(from.saturating_add(wire.bytes));
            let payload = vec![0; (to - from) as usize];
            let flags = if to == end { ACK | PSH } else { ACK };
            let joined = i64::from((to - from).div_ceil(FULL) - 1) * wire.spread;
            let (before, behind) = if wire.joined_late {
                (joined, 0)
            } else {
                (0, joined)
            };
            t.now += before + if i > 0 { wire.spread } else { 0 };
            t.send(b.d, flags, from, sent[other], &payload).tcp.window = windows[own];
            t.now += behind;
        }
        sent[own] = end;
        if wire.disorder {
            let mut order = b.shuffled;
            for i in (start + 1..t.segments.len()).rev() {
                t.segments
                    .swap(i, start + (order % (i - start + 1) as u64) as usize);
                order = order.rotate_right(7);
            }
        }
        if wire.copies && b.copied < 128 {
            let i = start + usize::from(b.copied) % (t.segments.len() - start);
            let segment = t.segments[i];
            t.copy_of(segment, 0);
            copies += 1;
        }
        if let Some(delay) = b.acknowledged {
            t.wait(delay);
            (windows[other], edges[own]) = (b.window, end + (u32::from(b.window) << SCALE));
            let seq = sent[other];
            t.send(b.d.reverse(), ACK, seq, end, b"").tcp.window = b.window;
        }
    }
    t.wait(GAPS[3]);
    for (d, own, other) in [(ToServer, 0, 1), (ToClient, 1, 0)] {
        t.send(d, ACK | FIN, sent[own], sent[other], b"");
    }
    for (d, own, other) in [(ToServer, 0, 1), (ToClient, 1, 0)] {
        t.send(d, ACK, sent[own] + 1, sent[other] + 1, b"");
    }
    for (i, s) in t.segments.iter_mut().enumerate() {
        (s.order, s.mark.packet.frame) = (i as u64, i as u32 + 1);
        s.first = s.mark;
    }
    (t, copies)
}

/// What does not depend on how a stream was cut.
#[derive(PartialEq, Debug)]
struct Totals {
    lifetime: i64,
    payload: u64,
    retransmitted: u64,
    spurious: u64,
    repeated: u64,
    missing: u64,
    flight: u64,
    windows: (Option<u64>, Option<u64>, u64, i64),
    round_trips: RoundTrips,
    delayed: (u64, Option<i64>),
}

struct Told {
    totals: [Totals; 2],
    times: [PerClass<i64>; 2],
    copies: u64,
}

fn told(t: &Script) -> Result<Told, TestCaseError> {
    let mut tracker = Tracker::new(Recorder::default()).with_accounts();
    for s in &t.segments {
        tracker.segment(s, &t.bytes);
    }
    let (recorder, _) = tracker.finish(u64::MAX);
    prop_assert_eq!(recorder.connections.len(), 1);
    let summary = recorder.connections[0].summary();
    let accounts = summary.accounts.as_deref().unwrap();
    let lifetime = summary.last.time - summary.first.time;
    let totals = |a: &DirectionAccount, s: &DirectionSummary, back: &DirectionSummary| Totals {
        lifetime,
        payload: s.payload_bytes,
        retransmitted: s.retransmitted_packets,
        spurious: a.spurious_retransmissions,
        repeated: s.repeated_bytes,
        missing: s.missing_from_capture_bytes,
        flight: a.flight_max_bytes,
        windows: (
            a.window_min_bytes,
            a.window_max_bytes,
            back.zero_windows,
            a.zero_window_ns,
        ),
        round_trips: a.rtt,
        delayed: (a.delayed_acks, a.delayed_ack_ns),
    };
    for account in accounts {
        prop_assert_eq!(sum(&account.time_ns), lifetime);
    }
    let [out, back] = &summary.directions;
    Ok(Told {
        totals: [
            totals(&accounts[0], out, back),
            totals(&accounts[1], back, out),
        ],
        times: accounts.each_ref().map(|a| a.time_ns),
        copies: out.duplicate_packets + back.duplicate_packets,
    })
}

fn sum(times: &PerClass<i64>) -> i64 {
    times.iter().map(|(_, ns)| ns).sum()
}

/// The server's 3,000 bytes never come by: its next packet counts them.
#[test]
fn bytes_that_only_a_number_tells_of_have_vanished_until_they_come_or_are_acknowledged() {
    let vanished = |then: &dyn Fn(&mut Script)| {
        let mut t = Script::new();
        t.open().c(1, 1, b"request");
        t.send(ToClient, ACK, 1, 8, b"");
        t.wait(3_000 * MS).send(ToServer, ACK | FIN, 8, 1, b"");
        t.send(ToClient, ACK, 3_001, 9, b"");
        then(&mut t);
        let seen = t.measured(0);
        let account = &seen.summary().accounts.as_ref().unwrap()[ToClient.index()];
        account.vanished.map(|v| (v.bytes, v.told.time - v.since))
    };
    assert_eq!(vanished(&|_| ()), Some((3_000, 3_000 * MS + 20 * US)));
    let acknowledged = vanished(&|t| {
        t.send(ToServer, ACK, 9, 3_001, b"");
    });
    let came_late = vanished(&|t| {
        t.s(1, 9, &[0; 1_000]);
    });
    let went_on = vanished(&|t| {
        t.s(3_001, 9, &[0; 1_000]);
    });
    assert_eq!([acknowledged, came_late, went_on], [None; 3]);
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 300,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn copies_and_disorder_change_no_account(bursts in vec(burst(), 1..30)) {
        let plain = told(&packets(&bursts, SEGMENTS).0)?;
        let wire = Wire { copies: true, disorder: true, ..SEGMENTS };
        let (captured, copies) = packets(&bursts, wire);
        let captured = told(&captured)?;
        prop_assert_eq!(&captured.totals, &plain.totals);
        prop_assert_eq!(captured.times, plain.times);
        prop_assert_eq!((plain.copies, captured.copies), (0, copies));
    }

    #[test]
    fn any_segmentation_gives_the_same_totals(
        bursts in vec(burst(), 1..30),
        bytes in prop_oneof![Just(u32::MAX), 8..FULL, FULL..60_000],
    ) {
        let plain = told(&packets(&bursts, SEGMENTS).0)?;
        let cut = told(&packets(&bursts, Wire { bytes, ..SEGMENTS }).0)?;
        prop_assert_eq!(&cut.totals, &plain.totals);
        prop_assert!(plain.totals.iter().all(|t| (t.retransmitted, t.missing) == (0, 0)));
        // How long a segment is says whether Nagle's algorithm held it, and whether what a window
        // left was too little for it. These trade with the time of who did not send otherwise.
        for class in [TimeClass::Handshake, TimeClass::LossRecovery] {
            prop_assert_eq!(
                cut.times.each_ref().map(|t| t[class]),
                plain.times.each_ref().map(|t| t[class]),
                "{}", class.name()
            );
        }
    }

    #[test]
    fn super_segments_have_the_account_of_what_they_were_joined_from(
        mut bursts in vec(burst(), 1..30),
        spread in 0..20i64,
        joined_late: bool,
    ) {
        bursts.iter_mut().for_each(|b| b.window = u16::MAX);
        let wire = Wire { spread, ..SEGMENTS };
        let apart = told(&packets(&bursts, wire).0)?;
        let joined = Wire { bytes: u32::MAX, joined_late, ..wire };
        let joined = told(&packets(&bursts, joined).0)?;
        // The longest took this long to pass, less than a microsecond, and has one time when joined:
        // a burst's time is that much in doubt, and so is the round trip by which it is judged.
        let passes = bursts.iter().map(|b| i64::from(b.bytes.div_ceil(FULL) - 1) * spread);
        let doubt = 2 * bursts.len() as i64 * passes.max().unwrap_or(0);
        for (apart, joined) in apart.times.iter().zip(&joined.times) {
            for ((class, a), (_, b)) in apart.iter().zip(joined.iter()) {
                prop_assert!((a - b).abs() <= doubt, "{}: {a}, {b}, ±{doubt}", class.name());
            }
        }
    }

    #[test]
    fn every_nanosecond_is_in_one_class_also_of_those_that_were_forgotten(
        segments in vec(
            (
                prop_oneof![8 => 0..10 * MS, 1 => Just(12_000 * MS), 1 => Just(limits::IDLE_NS + 1)],
                (any::<bool>(), 0..2u8),
                prop_oneof![12 => Just(ACK), 2 => Just(SYN), 1 => Just(ACK | FIN), 1 => Just(RST)],
                (0..6_000u32, 0..6_000u32, prop_oneof![Just(0u32), 0..3_000u32]),
                prop_oneof![Just(0u16), 1..500u16],
            ),
            1..80,
        ),
        sweeps in 1..5usize,
    ) {
        let mut t = Script::new();
        t.step = 0;
        for (after, (to_server, port), flags, (seq, ack, length), window) in segments {
            t.wait(after);
            t.client.port = 40_000 + u16::from(port);
            let d = if to_server { ToServer } else { ToClient };
            let payload = vec![0; length as usize];
            t.send(d, flags, seq, ack, &payload).tcp.window = window;
        }
        let mut tracker = Tracker::new(Recorder::default()).with_accounts();
        for (i, s) in t.segments.iter().enumerate() {
            tracker.segment(s, &t.bytes);
            if i % sweeps == 0 {
                tracker.sweep(s.order, s.mark.time);
            }
        }
        let (recorder, _) = tracker.finish(u64::MAX);
        for summary in recorder.connections.iter().map(Seen::summary) {
            for account in summary.accounts.iter().flat_map(|a| a.iter()) {
                prop_assert_eq!(sum(&account.time_ns), summary.last.time - summary.first.time);
            }
        }
    }
}
