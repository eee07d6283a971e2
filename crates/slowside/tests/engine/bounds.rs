//! The same conversation from both ends, from each end alone, from one end and the middle of the path, and cut short:
//! what less evidence says of each side of a call holds what more does.

use crate::kit::{MILLISECOND, TempFile};
use ledger::{Bounds, Cause, Ledger, Place, Sums};
use proptest::prelude::*;
use slowside::{Captures, Config, Moment, calls};
use std::collections::BTreeMap;
use testkit::path::{Ends, Path};
use testkit::{Conversation, Random, TestPacket, faults, rpc};

const CALLS: u32 = 40;

const SIDES: [Place; 3] = [Place::Client, Place::Network, Place::Server];

/// Clocks and what joins packets are no finer.
const SLACK_NS: i64 = 2_000;

/// READs and WRITEs, one after the other, with pauses within messages.
fn conversation(path: Path, paused_per_mille: u32, seed: u64) -> [Vec<TestPacket>; 3] {
    let mut random = Random::new(seed);
    let mut ends = Ends::open(path, Random::new(seed ^ 1));
    let upto = |random: &mut Random, ms: i64| random.below((ms * MILLISECOND) as u64) as i64;
    for id in 0..CALLS {
        let data = vec![7; 1 + random.below(9_000) as usize];
        let messages = match random.chance(500) {
            true => [
                rpc::read_call(id, &[1; 32], 0, data.len() as u32),
                rpc::read_reply(id, &data, false),
            ],
            false => [
                rpc::write_call(id, &[1; 32], 0, &data, 2),
                rpc::write_reply(id, data.len() as u32),
            ],
        };
        let think = upto(&mut random, 20);
        ends.passes(true, think);
        for (is_client, message) in [true, false].into_iter().zip(messages) {
            let bytes = rpc::record(&message);
            let at = match random.chance(paused_per_mille) {
                true => bytes.len() / 2,
                false => bytes.len(),
            };
            let (now, later) = bytes.split_at(at);
            if !is_client {
                let service = upto(&mut random, 30);
                ends.passes(false, 50_000 + service);
            }
            ends.write(is_client, now);
            if !later.is_empty() {
                let pause = 40 * MILLISECOND + upto(&mut random, 300);
                ends.passes(is_client, pause);
                ends.write(is_client, later);
            }
        }
    }
    ends.three_captures()
}

/// Each call's, by its id.
fn ledgers(captures: &Captures) -> BTreeMap<u32, Ledger> {
    ledgers_until(captures, None)
}

/// Of those that began until so long after the first packet.
fn ledgers_until(captures: &Captures, to_ns: Option<i64>) -> BTreeMap<u32, Ledger> {
    let config = Config {
        threads: 1,
        to: to_ns.map(Moment::AfterStart),
        ..Config::default()
    };
    let mut all = BTreeMap::new();
    let mut sink = |seen: &slowside::CallSeen<'_>| {
        if let Some(judged) = &seen.judged {
            all.insert(seen.call.id, judged.ledger.clone());
        }
        Ok(())
    };
    calls(captures, &config, &mut sink, &mut |_| ()).expect("readable captures");
    all
}

/// What may be a side's.
fn of(ledger: &Ledger, side: Place) -> Bounds {
    let mut sums = Sums::new();
    sums.add(ledger);
    sums.side(side)
}

/// How long the client's TCP held it back.
fn nagle_ns(ledger: &Ledger) -> i64 {
    let lines = ledger.lines();
    let nagle = lines.iter().filter(|l| l.cause == Cause::Nagle);
    nagle.map(|l| l.ns.lo_ns).sum()
}

/// `more` may be above, or below, by so much.
fn holds(less: Bounds, more: Bounds, [above_ns, below_ns]: [i64; 2]) -> bool {
    let above = match (less.hi_ns, more.hi_ns) {
        (Some(less), Some(more)) => less + SLACK_NS + above_ns >= more,
        (less, _) => less.is_none(),
    };
    less.lo_ns <= more.lo_ns + SLACK_NS + below_ns && above
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn less_evidence_holds_what_more_says(
        seed: u64, way_ns in [20_000..40 * MILLISECOND, 20_000..40 * MILLISECOND], varies_ns in 0..2 * MILLISECOND as u64,
        lost in prop_oneof![Just([0u32, 0]), (1..30u32).prop_map(|n| [n, 0]), (1..30u32).prop_map(|n| [0, n])], paused_per_mille in prop_oneof![Just(0u32), 0..300u32],
    ) {
        let path = Path { way_ns, varies_ns, lost_per_mille: lost };
        let [client, midway, server] = conversation(path, paused_per_mille, seed);
        let file = |packets: &[TestPacket]| TempFile::capture(packets);
        let (c, s) = (file(&client), file(&server));
        let pair = |c: &TempFile, s: &TempFile| Captures::Sides { client: c.paths(), server: s.paths() };
        let two = |a: &TempFile, b: &TempFile| Captures::Two(a.paths(), b.paths());
        let both = ledgers(&pair(&c, &s));
        prop_assert_eq!(both.len(), CALLS as usize);
        let (short_c, short_s) = (file(&faults::snap(&client, 300)), file(&faults::snap(&server, 300)));
        // What was lost before a capture, and was all that left, that cannot see: it looks like a silence of the host.
        let [lost_to_server, lost_to_client] = lost.map(|n| n > 0);
        // On a short path nothing tells the middle from either end.
        let is_far = way_ns.iter().sum::<i64>() > 2 * MILLISECOND;
        let m = file(&midway);
        for (what, captures, sees) in [
            ("client and the middle", two(&c, &m), is_far && !lost_to_client),
            ("the middle and server", two(&m, &s), is_far && !lost_to_server),
            ("client alone", Captures::Client(c.paths()), !lost_to_client),
            ("server alone", Captures::Server(s.paths()), !lost_to_server),
            ("snap length 300", pair(&short_c, &short_s), true),
        ] {
            if !sees {
                continue;
            }
            let less = ledgers(&captures);
            prop_assert_eq!(less.len(), CALLS as usize, "{}", what);
            for (id, more) in &both {
                let less = &less[id];
                for side in SIDES {
                    // A segment that was held back may have crossed faster than those before it, which its server does
                    // not see.
                    let varies_ns = varies_ns as i64;
                    let apart = match (what, side) {
                        ("server alone", Place::Client) => [nagle_ns(more).min(varies_ns), 0],
                        // A part of the path that is not between both captures is known as it was for others.
                        ("client and the middle" | "the middle and server", _) => [varies_ns; 2],
                        _ => [0; 2],
                    };
                    let is_held = holds(of(less, side), of(more, side), apart);
                    prop_assert!(is_held, "{what}, call {id}, {side:?}: {:#?} does not hold {:#?}", less.lines(), more.lines());
                }
            }
        }
    }
}

#[test]
fn what_held_a_call_counts_though_it_ended_behind_the_times_asked_for() {
    let mut c = Conversation::nfs();
    c.syn().after(2 * MILLISECOND).syn_ack().client_ack();
    let ask = |c: &mut Conversation, id, waited_ns| {
        c.after(MILLISECOND)
            .client(&rpc::record(&rpc::getattr_call(id, &[1; 32])));
        c.after(waited_ns)
            .server(&rpc::record(&rpc::getattr_reply(id)));
    };
    (0..20).for_each(|id| ask(&mut c, id, 2 * MILLISECOND));
    ask(&mut c, 20, 1_402 * MILLISECOND);
    let mut packets = c.packets();
    // The last request was lost three times.
    let lost = packets.len() - 2;
    let asked_ns = packets[lost].time - packets[0].time;
    for ms in [1_400, 600, 200] {
        let again = faults::retransmit(
            &packets[lost..=lost],
            1_000,
            ms * MILLISECOND,
            &mut Random::new(1),
        );
        packets.insert(lost + 1, again[1].clone());
    }
    let file = TempFile::capture(&packets);
    let all = ledgers_until(
        &Captures::One(file.paths()),
        Some(asked_ns + 100 * MILLISECOND),
    );
    let held = of(&all[&20], Place::Network);
    assert!(held.lo_ns > 1_300 * MILLISECOND, "{held:?}");
}
