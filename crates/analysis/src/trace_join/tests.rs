//! Waits and READs made from one truth, with clocks that differ and noise on both sides.

use super::align::TraceClock;
use super::joining::LISTED;
use super::*;
use crate::results::{TraceJoinResult, Vantage};
use crate::text::Text;
use model::{ConnectionId, Detail, Endpoint, Name, Protocol};
use proptest::prelude::*;
use trace::ReadEvent;

const MS: i64 = 1_000_000;
const START: i64 = 1_700_000_000_000 * MS;
const BLOCK: u64 = 8_192;

/// What the database and the capture have in common, and what not.
#[derive(Clone, Copy, Debug)]
struct Plan {
    reads: u32,
    /// Different blocks; fewer than reads are read again and again.
    blocks: u32,
    gap_ns: i64,
    offset_ns: i64,
    drift_ppm: f64,
    /// Largest delay before the request and behind the response.
    noise_ns: i64,
    /// Of a thousand, missing in the trace and in the capture.
    missing: u64,
    seed: u64,
}

const PLAN: Plan = Plan {
    reads: 500,
    blocks: 100_000,
    gap_ns: 2 * MS,
    offset_ns: -1_234_567 * MS,
    drift_ppm: 37.0,
    noise_ns: 300_000,
    missing: 0,
    seed: 1,
};

struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 8) % bound.max(1)
    }

    /// Mostly small, sometimes as large as may be.
    fn delay(&mut self, most: i64) -> i64 {
        let bound = self.below(most.unsigned_abs());
        self.below(bound) as i64
    }
}

impl Plan {
    fn trace_time(&self, t: i64) -> i64 {
        t + self.offset_ns + ((t - START) as f64 * self.drift_ppm * 1e-6) as i64
    }

    fn waits_and_calls(&self) -> (Vec<BlockWait>, Vec<Call>) {
        let mut random = Random(self.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let (mut waits, mut calls) = (Vec::new(), Vec::new());
        let mut now = START;
        for i in 0..self.reads {
            let block = random.below(u64::from(self.blocks)) as u32 + 2;
            let begin = now;
            let request = begin + 5_000 + random.delay(self.noise_ns);
            let response = request + 200_000 + random.below(3 * MS as u64) as i64;
            let end = response + 8_000 + random.delay(self.noise_ns);
            now = end + random.below(self.gap_ns as u64) as i64;
            let (a, b) = (self.trace_time(begin), self.trace_time(end));
            if random.below(1000) >= self.missing {
                waits.push(wait(a, b, block, 1, ReadEvent::Sequential));
            }
            if random.below(1000) >= self.missing {
                calls.push(call(i, u64::from(block) * BLOCK, 8_192, request, response));
            }
        }
        (waits, calls)
    }
}

/// As the trace notes it: cut to microseconds.
fn wait(start: i64, end: i64, block: u32, blocks: u32, event: ReadEvent) -> BlockWait {
    BlockWait {
        end_ns: end.div_euclid(1_000) * 1_000,
        elapsed_ns: (end - start) / 1_000 * 1_000,
        file: 5,
        block,
        blocks,
        event,
    }
}

pub(crate) fn call(id: u32, offset: u64, count: u64, request: i64, response: i64) -> Call {
    let end = |host, port| Endpoint {
        address: [10, 0, 0, host].into(),
        port,
    };
    let mark = |at, frame| {
        Some(Mark {
            time: Time(at),
            packet: PacketRef { file: 0, frame },
        })
    };
    let mut detail = Detail::default();
    detail.set(Field::File, 0xabcd);
    detail.set(Field::Offset, offset);
    detail.set(Field::Count, count);
    Call {
        order: u64::from(id),
        connection: ConnectionId(0),
        protocol: Protocol::Nfs3,
        op: Name::of("READ"),
        client: end(1, 700),
        server: end(2, 2049),
        id,
        request_sequence: id,
        response_sequence: id,
        request_first: mark(request, 2 * id + 1),
        request_last: mark(request, 2 * id + 1),
        response_first: mark(response, 2 * id + 2),
        response_last: mark(response, 2 * id + 2),
        request_bytes: 100,
        response_bytes: count + 100,
        outcome: Outcome::Ok,
        outstanding: 1,
        retransmits: 0,
        request_held_ns: 0,
        response_held_ns: 0,
        inner: None,
        hidden: None,
        detail,
        text: None,
        sql: None,
    }
}

fn join(waits: Vec<BlockWait>, calls: &[Call]) -> (Option<AppFacts>, Vec<Text>) {
    let mut join = TraceJoin::new(Arc::new(BlockWaits {
        waits,
        unit_ns: 1_000,
        ..BlockWaits::default()
    }));
    for c in calls {
        join.call(c);
    }
    let times = || calls.iter().filter_map(|c| c.request_first);
    let capture = CaptureResult {
        files: vec!["client.pcap".into()],
        side: Some(Vantage::Client),
        first: times().map(|m| m.time).min(),
        last: calls
            .iter()
            .filter_map(|c| c.response_last)
            .map(|m| m.time)
            .max(),
        ..CaptureResult::default()
    };
    join.finish(0, &[capture], "Oracle trace")
}

fn joined(plan: Plan) -> (AppFacts, TraceJoinResult) {
    let (waits, calls) = plan.waits_and_calls();
    let (facts, notes) = join(waits, &calls);
    let facts = facts.unwrap_or_else(|| panic!("{notes:?} {plan:?}"));
    let result = facts.join.clone().expect("a join");
    (facts, result)
}

/// How far the clock that was found is from the truth.
fn miss(plan: Plan, clock: &TraceClock) -> i64 {
    let truth = plan.trace_time(clock.origin) - clock.origin;
    (clock.offset_ns - truth).abs()
}

#[test]
fn every_wait_meets_its_read() {
    let (facts, result) = joined(PLAN);
    assert_eq!((result.waits, result.during), (500, 500));
    assert_eq!(result.joined, 500);
    assert_eq!(result.block_bytes, BLOCK);
    assert_eq!(
        (result.files[0].file, result.files[0].handle),
        (5, Some(0xabcd))
    );
    assert!(miss(PLAN, &result.clock) <= result.clock.uncertainty_ns);
    assert!(result.clock.uncertainty_ns < 30_000, "{:?}", result.clock);
    let worst = &result.worst[0];
    assert!(worst.wire_ns < worst.oracle_ns && worst.oracle_ns < worst.wire_ns + MS);
    assert_eq!(result.worst.len(), LISTED);
    let frames = &worst.evidence[0].frames;
    assert_eq!((frames.len(), frames[1] - frames[0]), (2, 1));
    assert_eq!(facts.matched, 500);
    let sum = &result.events[0];
    let above = sum.oracle.total_ns - sum.wire.total_ns;
    assert_eq!(facts.host_total_ns, above);
}

#[test]
fn a_wait_for_many_blocks_is_served_by_several_reads() {
    let (mut waits, mut calls) = PLAN.waits_and_calls();
    let from = PLAN.trace_time(START + 700 * MS);
    let to = PLAN.trace_time(START + 720 * MS);
    waits.push(wait(from, to, 500_000, 16, ReadEvent::Scattered));
    for piece in 0..4 {
        let request = START + (701 + i64::from(piece)) * MS;
        let offset = 500_000 * BLOCK + u64::from(piece) * 32_768;
        calls.push(call(
            9_000 + piece,
            offset,
            32_768,
            request,
            request + 12 * MS,
        ));
    }
    let (facts, _) = join(waits, &calls);
    let result = facts.and_then(|f| f.join).expect("a join");
    let large = &result.worst[0];
    assert_eq!((large.event, large.reads), ("db file scattered read", 4));
    assert_eq!(large.wire_ns, 15 * MS);
    assert!((large.oracle_ns - 20 * MS).abs() < 2_000);
    assert_eq!(large.evidence[0].frames.len(), 8);
    assert_eq!(result.events[1].waits, 1);
}

#[test]
fn reads_past_the_cache_are_joined_by_their_end() {
    let (mut waits, mut calls) = PLAN.waits_and_calls();
    // Under way for 30 ms, waited for in the last 4.
    calls.push(call(
        9_000,
        500_000 * BLOCK,
        1 << 20,
        START + 690 * MS,
        START + 720 * MS,
    ));
    let (from, to) = (
        PLAN.trace_time(START + 716 * MS),
        PLAN.trace_time(START + 720 * MS + 9_000),
    );
    waits.push(wait(from, to, 500_000, 128, ReadEvent::Direct));
    let (facts, _) = join(waits, &calls);
    let facts = facts.expect("a join");
    let result = facts.join.expect("a join");
    let sum = result.events.iter().find(|e| e.event == "direct path read");
    assert_eq!(sum.map(|e| e.wire.total_ns), Some(30 * MS));
    // They do not tell what the host adds.
    assert_eq!(facts.matched + 1, result.joined);
}

#[test]
fn other_sizes_of_a_block_are_found() {
    for size in BLOCK_BYTES {
        let (waits, mut calls) = PLAN.waits_and_calls();
        for c in &mut calls {
            let block = c.detail.get(Field::Offset).unwrap() / BLOCK;
            c.detail.set(Field::Offset, block * size);
            c.detail.set(Field::Count, size);
        }
        let (facts, _) = join(waits, &calls);
        let result = facts.and_then(|f| f.join).expect("a join");
        assert_eq!((result.block_bytes, result.joined), (size, 500));
    }
}

#[test]
fn a_trace_of_another_time_is_left_out() {
    let (waits, _) = PLAN.waits_and_calls();
    let (_, calls) = Plan { seed: 77, ..PLAN }.waits_and_calls();
    // The same blocks in the same order, at other moments.
    let again: Vec<BlockWait> = waits
        .iter()
        .zip(&calls)
        .filter_map(|(w, c)| {
            let block = c.detail.get(Field::Offset)? / BLOCK;
            Some(BlockWait {
                block: u32::try_from(block).ok()?,
                ..*w
            })
        })
        .collect();
    assert_eq!(again.len(), 500);
    let (facts, notes) = join(again, &calls);
    assert!(facts.is_none(), "{facts:?}");
    assert!(
        notes[0].to_string().contains("clock could not be found"),
        "{notes:?}"
    );
    // Other blocks.
    let elsewhere = waits.iter().map(|w| BlockWait {
        block: w.block + 2_000_000,
        ..*w
    });
    let (facts, notes) = join(elsewhere.collect(), &calls);
    assert!(
        facts.is_none() && notes[0].to_string().contains("no NFS READ"),
        "{notes:?}"
    );
}

/// Only one of three equal scans was traced: it is the one whose times agree.
#[test]
fn a_scan_that_is_repeated_is_found_by_its_times() {
    let scan = Plan {
        reads: 300,
        blocks: 1_000_000,
        gap_ns: MS / 2,
        ..PLAN
    };
    let (waits, traced) = scan.waits_and_calls();
    let mut calls = traced.clone();
    for turn in [-1i64, 1] {
        let (_, again) = Plan { seed: 99, ..scan }.waits_and_calls();
        calls.extend(again.iter().zip(&traced).map(|(times, place)| {
            let mut c = place.clone();
            c.id += 10_000 * (turn + 2) as u32;
            let shift = |m: Option<Mark>| {
                m.map(|m| Mark {
                    time: m.time + turn * 1_500 * MS,
                    ..m
                })
            };
            c.request_first = shift(times.request_first);
            c.request_last = shift(times.request_last);
            c.response_first = shift(times.response_first);
            c.response_last = shift(times.response_last);
            c
        }));
    }
    let (facts, notes) = join(waits, &calls);
    let result = facts
        .and_then(|f| f.join)
        .unwrap_or_else(|| panic!("{notes:?}"));
    assert_eq!(result.joined, 300);
    assert!(miss(scan, &result.clock) <= result.clock.uncertainty_ns);
}

#[test]
fn too_few_waits_have_no_clock() {
    let (waits, calls) = Plan { reads: 8, ..PLAN }.waits_and_calls();
    let (facts, notes) = join(waits, &calls);
    assert!(
        facts.is_none() && notes[0].to_string().contains("8 of 8"),
        "{notes:?}"
    );
}

#[test]
fn hot_blocks_and_strangers_are_told_apart() {
    let plan = Plan {
        blocks: 20,
        reads: 2_000,
        ..PLAN
    };
    let (waits, mut calls) = plan.waits_and_calls();
    // A process that is not traced reads the same blocks at its own times.
    let (_, others) = Plan { seed: 5, ..plan }.waits_and_calls();
    calls.extend(others.into_iter().map(|mut c| {
        c.id += 100_000;
        c.request_first = c.request_first.map(|m| Mark {
            packet: PacketRef {
                file: 0,
                frame: m.packet.frame + 100_000,
            },
            ..m
        });
        c
    }));
    let of = waits.len() as u64;
    let (facts, notes) = join(waits, &calls);
    let result = facts
        .and_then(|f| f.join)
        .unwrap_or_else(|| panic!("{notes:?}"));
    assert!(result.joined * 100 >= of * 98, "{} of {of}", result.joined);
    let clock = result.clock;
    assert!(miss(plan, &clock) <= clock.uncertainty_ns, "{clock:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_true_clock_is_inside_the_stated_uncertainty(
        offset_ns in -1_800_000_000_000_000_000i64..4_000_000_000_000_000_000,
        drift_ppm in -200.0..200.0f64,
        noise_ns in 20_000i64..2_000_000,
        gap_ms in 1i64..400,
        blocks in prop_oneof![50u32..200, 10_000u32..1_000_000],
        missing in 0u64..150,
        seed in 1u64..1_000_000,
    ) {
        let plan = Plan { reads: 400, blocks, gap_ns: gap_ms * MS, offset_ns, drift_ppm, noise_ns, missing, seed };
        let (facts, result) = joined(plan);
        let clock = &result.clock;
        prop_assert!(miss(plan, clock) <= clock.uncertainty_ns, "{clock:?} misses by {}", miss(plan, clock));
        let drift = (clock.drift - drift_ppm * 1e-6).abs();
        prop_assert!(drift <= clock.drift_uncertainty + 1e-8, "{clock:?}");
        // What both hold is joined, but for the ends.
        let (waits, calls) = plan.waits_and_calls();
        let both = (waits.len() + calls.len()).saturating_sub(400) as u64;
        prop_assert!(result.joined * 100 >= both * 95, "{} of {both}", result.joined);
        prop_assert!(facts.host_mean_ns < 2 * noise_ns + 100_000);
    }

    #[test]
    fn any_waits_and_reads_are_survived(
        waits in prop::collection::vec((any::<i64>(), any::<i64>(), 0u32..6, any::<u32>(), 1u32..70), 0..60),
        reads in prop::collection::vec((0u64..6, 1u64..100_000, any::<i64>(), 0i64..1_000_000_000), 0..60),
    ) {
        let waits = waits
            .into_iter()
            .map(|(end_ns, ela, file, block, blocks)| BlockWait {
                end_ns,
                elapsed_ns: ela.saturating_abs(),
                file,
                block: if block % 3 == 0 { block } else { block % 6 },
                blocks,
                event: ReadEvent::ALL[block as usize % 5],
            })
            .collect();
        let calls: Vec<Call> = reads
            .into_iter()
            .zip(0..)
            .map(|((block, count, at, took), id)| call(id, block * BLOCK, count, at.min(i64::MAX - took), at.min(i64::MAX - took) + took))
            .collect();
        let _ = join(waits, &calls);
    }
}
