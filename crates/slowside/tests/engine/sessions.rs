//! Sessions of databases whose client waits for each answer, in a capture that lost packets: no call gets the times
//! of another, a loss costs the calls around it and no more, and what is said of an answer that nobody saw is true.

use crate::kit::{EPOCH, MILLISECOND, TempFile};
use model::{Call, Outcome, Protocol};
use proptest::prelude::*;
use slowside::{Config, each_call};
use std::collections::BTreeMap;
use testkit::{Conversation, Frame, Random, TestPacket, faults};

/// Of a session.
const CALLS: usize = 120;

/// A loss hides a request, an answer, and whose what stands beside them is.
const EACH_LOSS: usize = 3;

/// Until it is known that a client waits.
const UNTIL_KNOWN: usize = 12;

fn pgsql(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = (body.len() as u32 + 4).to_be_bytes();
    [&[kind], &length[..], body].concat()
}

fn mysql(number: u8, body: &[u8]) -> Vec<u8> {
    let [a, b, c, _] = (body.len() as u32).to_le_bytes();
    [&[a, b, c, number], body].concat()
}

/// A request, and an answer of about so many bytes.
fn exchange(protocol: Protocol, bytes: usize) -> [Vec<u8>; 2] {
    match protocol {
        Protocol::Pgsql => [
            pgsql(b'Q', b"select 1\0"),
            [
                pgsql(b'D', &vec![b'x'; bytes]),
                pgsql(b'C', b"SELECT 1\0"),
                pgsql(b'Z', b"I"),
            ]
            .concat(),
        ],
        _ => [
            mysql(0, b"\x03select 1"),
            mysql(
                1,
                &[b"\0\x01\0\x02\0\0\0", &vec![b'x'; bytes.min(200)][..]].concat(),
            ),
        ],
    }
}

fn session(protocol: Protocol, random: &mut Random) -> Vec<TestPacket> {
    let port = match protocol {
        Protocol::Pgsql => 5_432,
        _ => 3_306,
    };
    let mut c = Conversation::new(([10, 0, 0, 1], 40_000).into(), ([10, 0, 0, 2], port).into());
    c.at(EPOCH).handshake();
    for _ in 0..CALLS {
        let [request, answer] = exchange(protocol, 100 + 1_000 * random.below(3) as usize);
        c.after(random.below(20 * MILLISECOND as u64) as i64 + 1_000);
        c.client(&request);
        c.after(random.below(5 * MILLISECOND as u64) as i64 + 1_000);
        c.server(&answer);
    }
    c.finish();
    c.packets()
}

fn is_client(packet: &TestPacket) -> bool {
    Frame::read(packet).is_some_and(|f| f.source.port() == 40_000)
}

/// Without so many packets in a thousand, so many answers, and some in a row. Where the bytes begin that a server sends is
/// known from the handshake.
fn lossy(
    whole: &[TestPacket],
    (share, of_answers, burst): (u32, u32, usize),
    random: &mut Random,
) -> Vec<TestPacket> {
    let (opening, rest) = whole.split_at(3);
    let mut kept = faults::lose(rest, share, random);
    // What a card or a switch drops may be one direction.
    kept.retain(|p| is_client(p) || !random.chance(of_answers));
    let from = random.below(kept.len().saturating_sub(burst) as u64) as usize;
    kept.drain(from..from + burst);
    [opening, &kept].concat()
}

/// By the sequence number of the request's first byte.
fn calls(packets: &[TestPacket]) -> BTreeMap<u32, Call> {
    let file = TempFile::capture(packets);
    let mut calls = BTreeMap::new();
    let mut sink = |call: &Call, _: &[String]| {
        if call.request_first.is_some() && call.protocol != Protocol::Tcp {
            calls.insert(call.id, call.clone());
        }
        Ok(())
    };
    let config = Config::default();
    each_call(&file.paths(), &config, &mut sink, &mut |_| ()).expect("a readable capture");
    calls
}

fn times(call: &Call) -> [Option<i64>; 4] {
    let marks = [
        call.request_first,
        call.request_last,
        call.response_first,
        call.response_last,
    ];
    marks.map(|m| m.map(|m| m.time.0))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn a_loss_costs_the_calls_around_it(
        seed: u64,
        is_mysql: bool,
        share in 0u32..30,
        of_answers in 0u32..300,
        burst in 0usize..40,
    ) {
        let protocol = if is_mysql { Protocol::Mysql } else { Protocol::Pgsql };
        let mut random = Random::new(seed);
        let whole = session(protocol, &mut random);
        let truth = calls(&whole);
        prop_assert!(truth.len() >= CALLS, "{} calls", truth.len());
        let kept = lossy(&whole, (share, of_answers, burst), &mut random);
        let lost = whole.len() - kept.len();
        let found = calls(&kept);
        let mut complete = 0;
        for call in found.values() {
            let Some(true_call) = truth.get(&call.id) else {
                prop_assert!(!call.is_complete(), "nobody made {call:?}");
                continue;
            };
            if call.is_complete() {
                complete += 1;
                prop_assert_eq!(times(call), times(true_call), "{:?}", call.outcome);
            }
            let (true, Some(hidden)) = (
                matches!(call.outcome, Outcome::NoResponse(_)),
                call.hidden,
            ) else {
                continue;
            };
            let came = true_call.response_last.map(|m| m.time);
            prop_assert!(
                came.is_some_and(|came| (hidden.earliest.time..=hidden.latest).contains(&came)),
                "{came:?} {hidden:?}"
            );
        }
        let most = EACH_LOSS * lost + if lost > 0 { UNTIL_KNOWN } else { 0 };
        prop_assert!(complete + most >= CALLS, "{complete} of {CALLS}, {lost} packets lost");
    }
}
