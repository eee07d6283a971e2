//! Whatever legally happens to packets, the bytes come out the same; whatever else, nothing breaks.

use super::*;
use Direction::{ToClient, ToServer};
use model::IntervalCounts;
use proptest::collection::vec;
use proptest::prelude::*;

/// A run of one side's stream that one packet carries, and what befalls that packet.
#[derive(Clone, Debug)]
struct Step {
    d: Direction,
    length: u32,
    /// Sends some of what was sent before once more, from so many bytes back.
    again: Option<u32>,
    /// The capture holds it twice.
    copied: bool,
    /// Places it may be moved to the back in the file.
    late: u8,
    /// The capture lacks it.
    lost: bool,
    /// The other side acknowledges at once.
    acknowledged: bool,
}

fn step() -> impl Strategy<Value = Step> {
    (
        any::<bool>(),
        1..3_000u32,
        prop::option::weighted(0.15, 1..4_000u32),
        prop::bool::weighted(0.1),
        0..4u8,
        prop::bool::weighted(0.15),
        any::<bool>(),
    )
        .prop_map(
            |(c, length, again, copied, late, lost, acknowledged)| Step {
                d: if c { ToServer } else { ToClient },
                length,
                again,
                copied,
                late,
                lost,
                acknowledged,
            },
        )
}

fn byte(d: Direction, position: u32) -> u8 {
    (position
        .wrapping_mul(31)
        .wrapping_add(d.index() as u32 * 97)
        >> 3) as u8
}

fn bytes(d: Direction, from: u32, to: u32) -> Vec<u8> {
    (from..to).map(|position| byte(d, position)).collect()
}

#[derive(Clone, Copy)]
struct Faults {
    disorder: bool,
    loss: bool,
}

struct Conversation {
    script: Script,
    /// Bytes each direction sent, and which of them the capture has.
    captured: [Vec<bool>; 2],
}

fn converse(steps: &[Step], isn: u32, faults: Faults) -> Conversation {
    let mut t = Script::new();
    t.isn = isn;
    t.open();
    let mut sent = [0u32; 2];
    let mut captured = [Vec::new(), Vec::new()];
    // Each packet with its place in the file.
    let mut packets: Vec<(usize, Segment)> = Vec::new();
    let mut place = 0;
    for step in steps {
        let (own, other) = (step.d.index(), step.d.reverse().index());
        let mut runs = vec![(sent[own], sent[own] + step.length)];
        sent[own] += step.length;
        if let Some(back) = step.again {
            let from = sent[own].saturating_sub(back);
            runs.push((from, (from + step.length).min(sent[own])));
        }
        captured[own].resize(sent[own] as usize, false);
        for (from, to) in runs {
            let payload = bytes(step.d, from, to);
            t.send(step.d, ACK, 1 + from, 1 + sent[other], &payload);
            let segment = t.segments.pop().unwrap();
            place += 1;
            if faults.loss && step.lost {
                continue;
            }
            captured[own][from as usize..to as usize].fill(true);
            let late = if faults.disorder {
                usize::from(step.late)
            } else {
                0
            };
            packets.push((place + late, segment));
            if step.copied {
                packets.push((place + late, segment));
            }
        }
        if step.acknowledged {
            t.send(step.d.reverse(), ACK, 1 + sent[other], 1 + sent[own], b"");
            place += 1;
            packets.push((place, t.segments.pop().unwrap()));
        }
    }
    packets.sort_by_key(|(place, _)| *place);
    for (i, (_, mut segment)) in packets.into_iter().enumerate() {
        segment.mark.time = Time(2_000_000 * MS + i as i64 * 50 * US);
        segment.order = 3 + i as u64;
        t.segments.push(segment);
    }
    t.now = 2_000_100 * MS;
    for (d, own, other) in [(ToServer, 0, 1), (ToClient, 1, 0)] {
        t.send(d, ACK | FIN, 1 + sent[own], 1 + sent[other], b"");
    }
    for (d, own, other) in [(ToServer, 0, 1), (ToClient, 1, 0)] {
        t.send(d, ACK, 2 + sent[own], 2 + sent[other], b"");
    }
    Conversation {
        script: t,
        captured,
    }
}

fn expected(d: Direction, captured: &[bool]) -> Vec<Item> {
    let mut items = Vec::new();
    let mut at = 0;
    for run in captured.chunk_by(|a, b| a == b) {
        let to = at + run.len();
        items.push(if run[0] {
            Item::Data(bytes(d, at as u32, to as u32))
        } else {
            Item::Gap(run.len() as u64)
        });
        at = to;
    }
    items
}

fn check(c: &Conversation) -> Result<Seen, TestCaseError> {
    let seen = c.script.run();
    prop_assert_eq!(seen.len(), 1);
    let one = seen.into_iter().next().unwrap();
    for d in [ToServer, ToClient] {
        let lacks = c.captured[d.index()].iter().filter(|has| !**has).count();
        prop_assert_eq!(one.items(d), expected(d, &c.captured[d.index()]));
        let summary = &one.summary().directions[d.index()];
        prop_assert_eq!(summary.missing_from_capture_bytes, lacks as u64);
    }
    Ok(one)
}

const SECONDS_3: i64 = 3_000 * MS;

/// Whether a connection's intervals hold what its account and summary do.
fn adds_up(seen: &Seen, width: i64) -> Result<(), TestCaseError> {
    let summary = seen.summary();
    let Some(accounts) = &summary.accounts else {
        return Ok(());
    };
    for interval in &seen.intervals {
        prop_assert_eq!(interval.start, Interval::start_of(interval.start, width));
        prop_assert!(interval.directions.iter().any(|d| d.packets > 0));
    }
    for (index, (counts, account)) in summary.directions.iter().zip(accounts.iter()).enumerate() {
        let all = || seen.intervals.iter().map(|i| i.directions[index]);
        let sum = |of: fn(IntervalCounts) -> u64| all().map(of).sum::<u64>();
        prop_assert_eq!(sum(|i| i.packets), counts.packets);
        prop_assert_eq!(sum(|i| i.payload_bytes), counts.payload_bytes);
        prop_assert_eq!(
            sum(|i| i.retransmitted_packets),
            counts.retransmitted_packets
        );
        prop_assert_eq!(sum(|i| i.rtt_count), account.rtt.count);
        let shortest = all().filter_map(|i| i.rtt_min_ns).min();
        prop_assert_eq!(
            shortest,
            (account.rtt.count > 0).then_some(account.rtt.min_ns)
        );
        let most = all().map(|i| i.flight_max_bytes).max();
        prop_assert_eq!(most, Some(account.flight_max_bytes));
        let window = all().filter_map(|i| i.congestion_window_bytes).max();
        let estimate = &account.congestion_window;
        prop_assert_eq!(window, (estimate.count > 0).then_some(estimate.max_bytes));
        let r = &account.retransmissions;
        prop_assert_eq!(
            r.fast + r.timeout + r.tail_probe + r.other,
            counts.retransmitted_packets
        );
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 300,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn segmentation_copies_overlaps_and_disorder_change_nothing(
        steps in vec(step(), 1..60),
        isn: u32,
    ) {
        let faults = Faults { disorder: true, loss: false };
        let seen = check(&converse(&steps, isn, faults))?;
        prop_assert_eq!(seen.close(), Close::Finished);
    }

    #[test]
    fn what_the_capture_lost_is_a_gap_of_its_length_in_its_place(
        steps in vec(step(), 1..60),
        back in 0..100_000u32,
    ) {
        let faults = Faults { disorder: false, loss: true };
        check(&converse(&steps, 0u32.wrapping_sub(back), faults))?;
    }

    #[test]
    fn without_faults_there_are_neither_retransmissions_nor_episodes(
        mut steps in vec(step(), 1..60),
    ) {
        steps.iter_mut().for_each(|step| step.again = None);
        let faults = Faults { disorder: true, loss: false };
        let seen = check(&converse(&steps, 7, faults))?;
        for summary in &seen.summary().directions {
            prop_assert_eq!(summary.retransmitted_packets, 0);
        }
        prop_assert!(seen.episodes.is_empty());
        let copies: u64 = seen.summary().directions.iter().map(|s| s.duplicate_packets).sum();
        prop_assert_eq!(copies, steps.iter().filter(|step| step.copied).count() as u64);
    }

    #[test]
    fn intervals_add_up_to_the_connection(
        steps in vec(step(), 1..60),
        width in prop_oneof![1i64..200 * US, US..MS, MS..SECONDS_3],
        isn: u32,
    ) {
        let faults = Faults { disorder: true, loss: true };
        let seen = converse(&steps, isn, faults).script.measured(width);
        adds_up(&seen, width)?;
    }

    /// Also where every connection is packed behind each segment, which changes nothing.
    #[test]
    fn any_list_of_segments_is_survived(
        segments in vec(
            (
                (any::<bool>(), 0..4u8, any::<u8>()),
                prop_oneof![any::<u32>(), 0..200u32, (u32::MAX - 100)..u32::MAX],
                prop_oneof![any::<u32>(), 0..200u32],
                (0..300u32, 0..300u32, prop_oneof![Just(0u16), any::<u16>()]),
                prop_oneof![any::<i64>(), 0..10_000_000i64],
                (any::<(u32, u32)>(), 0..5u8, prop::option::of(any::<(u32, u32)>())),
                (prop::option::of(0..20u8), prop::option::of(any::<u16>())),
            ),
            0..150,
        ),
    ) {
        let mut t = Script::new();
        t.bytes = vec![1; 100];
        let tracker = || Tracker::new(Recorder::default()).with_intervals(3 * MS);
        let mut unasked = tracker().with_bytes_alone();
        let (mut tracker, mut resting) = (tracker(), tracker().with_little_awake());
        for (who, seq, ack, (length, captured, window), time, (sack, sack_count, ts), (scale, mss))
            in segments
        {
            let (to_server, port, flags) = who;
            t.client.port = 1_000 + u16::from(port);
            let d = if to_server { ToServer } else { ToClient };
            let mut s = *t.raw(d, flags, seq, ack, b"");
            s.payload_start = captured;
            s.payload_length = length;
            s.payload_captured = captured;
            s.mark.time = Time(time);
            s.tcp.window = window;
            s.tcp.sack = [sack; 2];
            s.tcp.sack_count = sack_count;
            s.tcp.timestamps = ts;
            s.tcp.window_scale = scale;
            s.tcp.mss = mss;
            for tracker in [&mut tracker, &mut resting, &mut unasked] {
                tracker.segment(&s, &t.bytes);
                tracker.sweep(s.order, s.mark.time);
            }
        }
        let (recorder, problems) = tracker.finish(u64::MAX);
        let (rested, same_problems) = resting.finish(u64::MAX);
        prop_assert_eq!(
            format!("{:#?} {problems:?}", recorder.connections),
            format!("{:#?} {same_problems:?}", rested.connections)
        );
        prop_assert_eq!(bytes_alone(&recorder), bytes_alone(&unasked.finish(u64::MAX).0));
        prop_assert!(recorder.connections.iter().all(|seen| seen.end.is_some()));
        for seen in &recorder.connections {
            adds_up(seen, 3 * MS)?;
            let summary = seen.summary();
            let lifetime = (summary.last.time - summary.first.time).max(0);
            for account in summary.accounts.iter().flat_map(|a| a.iter()) {
                let times: Vec<i64> = account.time_ns.iter().map(|(_, ns)| *ns).collect();
                prop_assert!(times.iter().all(|&ns| ns >= 0));
                // More where the clock stepped back: an account does not.
                prop_assert!(times.iter().fold(0, |sum: i64, ns| sum.saturating_add(*ns)) >= lifetime);
            }
            let mut last = 0;
            for chunk in &seen.chunks {
                prop_assert!(chunk.order >= last && chunk.order.saturating_add(1) >= u64::from(chunk.frame));
                last = chunk.order;
            }
        }
    }
}
