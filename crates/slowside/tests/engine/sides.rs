//! Two captures, one of each end: what may not depend on clocks, on the order of files or on
//! addresses.

use crate::kit::{
    EPOCH, MILLISECOND, Plan, SECOND, Script, TempFile, Wire, diagnosis, diagnosis_of,
};
use analysis::findings::Rule;
use analysis::results::{ClockBasis, Diagnosis, Side, Unmatched, Vantage};
use proptest::prelude::*;
use slowside::Captures;
use testkit::{Conversation, Random, faults, rpc};

const HOUR: i64 = 3600 * SECOND;

/// What must be the same whatever the clocks say.
fn clock_free(d: &Diagnosis) -> String {
    let mut text = format!("{:?} {:?}\n", d.verdict.side, d.verdict.cause);
    for op in &d.ops {
        let mut op = op.clone();
        if let Some(m) = &mut op.matched {
            m.request_path_mean_ns = None;
            m.reply_path_mean_ns = None;
        }
        text += &format!("{op:?}\n");
    }
    let network = d.budget.network_out_ns.zip(d.budget.network_back_ns);
    text += &format!(
        "{} {:?} {:?}\n",
        d.budget.calls,
        d.budget.server_ns,
        network.map(|(out, back)| out + back)
    );
    for f in &d.findings {
        text += &format!("{} {:?} {:?} {}\n", f.rule, f.side, f.cost_ns, f.fatal);
    }
    text += &format!("{} {}\n", d.call_time_ns, d.elapsed_ns);
    text
}

/// A client's mean response time over all operations, rounded as the budget is.
fn client_mean(d: &Diagnosis) -> i64 {
    let matched = d.ops.iter().filter_map(|o| o.matched.as_ref());
    let (sum, n) = matched.fold((0, 0), |(sum, n), m| {
        (sum + m.client_mean_ns * m.count as i64, n + m.count as i64)
    });
    sum / n
}

fn plan(random: &mut Random) -> Plan {
    Plan {
        calls: 40,
        bytes: 6_000,
        round_trip_ns: 1_000 + random.below(30 * MILLISECOND as u64) as i64,
        ..Plan::default()
    }
}

fn offset() -> impl Strategy<Value = i64> {
    let within = |ns: i64| -ns..=ns;
    prop_oneof![
        within(100_000),
        within(50 * MILLISECOND),
        within(10 * SECOND),
        within(30 * HOUR),
        within(20_000 * HOUR),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn no_clock_offset_changes_what_needs_no_clock(seed: u64, offset in offset(), of_server: bool) {
        let mut random = Random::new(seed);
        let plan = plan(&mut random);
        let script = Script::new(plan, &mut random);
        let out = random.below(plan.round_trip_ns as u64) as i64;
        let [client, server] = script.ends(Wire::default(), out);
        let straight = diagnosis_of(&client, &server);
        let [c, s] = if of_server { [0, offset] } else { [offset, 0] };
        let moved = diagnosis_of(&faults::clock(&client, c, 0), &faults::clock(&server, s, 0));
        prop_assert_eq!(clock_free(&straight), clock_free(&moved));

        // The truth lies within what is stated. Clocks that are taken for one may stand anywhere
        // in the corridor, and contradict each other by 20 µs.
        let clock = moved.clock.expect("matched calls");
        let error = (clock.offset_ns - (s - c)).abs();
        let bound = match clock.basis {
            ClockBasis::AssumedSynchronised => 2 * clock.uncertainty_ns + 20_010,
            _ => clock.uncertainty_ns + 1_000,
        };
        prop_assert!(error <= bound, "{:?}", clock);
    }

    #[test]
    fn the_network_is_what_the_wire_took(seed: u64, offset in offset()) {
        let mut random = Random::new(seed);
        let plan = plan(&mut random);
        let script = Script::new(plan, &mut random);
        let [client, server] = script.ends(Wire::default(), plan.round_trip_ns / 3);
        let d = diagnosis_of(&client, &faults::clock(&server, offset, 0));
        let matched: u64 = d.ops.iter().filter_map(|o| o.matched.as_ref()).map(|m| m.count).sum();
        prop_assert_eq!(matched, 40);
        for op in &d.ops {
            let m = op.matched.as_ref().expect("matched calls");
            prop_assert_eq!(m.difference_mean_ns, plan.round_trip_ns);
            prop_assert_eq!(m.difference_p50_ns, plan.round_trip_ns);
            let paths = m.request_path_mean_ns.zip(m.reply_path_mean_ns);
            let (request, reply) = paths.expect("an aligned clock");
            prop_assert!((request + reply - plan.round_trip_ns).abs() <= 1, "{:?}", m);
            prop_assert_eq!(op.unmatched, Unmatched::default());
        }
        prop_assert_eq!(d.captures[0].side, Some(Vantage::Client));
        prop_assert_eq!(d.captures[1].side, Some(Vantage::Server));
    }

    #[test]
    fn the_budget_adds_up_to_what_the_client_waits(seed: u64, offset in offset(), drift in -100i64..=100) {
        let mut random = Random::new(seed);
        let plan = plan(&mut random);
        let script = Script::new(plan, &mut random);
        let [client, server] = script.ends(Wire::default(), plan.round_trip_ns / 4);
        let d = diagnosis_of(&client, &faults::clock(&server, offset, drift));
        let b = &d.budget;
        let parts = [b.network_out_ns, b.server_ns, b.network_back_ns];
        let sum: i64 = parts.into_iter().map(|p| p.expect("a known part")).sum();
        // Means per operation and per part are rounded to whole nanoseconds.
        prop_assert!((sum - client_mean(&d)).abs() <= 4, "{} {}", sum, client_mean(&d));
    }

    #[test]
    fn the_order_of_two_captures_does_not_matter(seed: u64, offset in offset()) {
        let mut random = Random::new(seed);
        let plan = plan(&mut random);
        let script = Script::new(plan, &mut random);
        let [client, server] = script.ends(Wire::default(), plan.round_trip_ns / 2);
        let server = faults::clock(&server, offset, 0);
        let one = diagnosis_of(&client, &server);
        let other = diagnosis_of(&server, &client);
        prop_assert_eq!(clock_free(&one), clock_free(&other));
        prop_assert_eq!(one.verdict.sentence, other.verdict.sentence);
        prop_assert_eq!(one.clock, other.clock);
        prop_assert_eq!(other.captures[1].side, Some(Vantage::Client));
    }

    #[test]
    fn translated_addresses_are_matched_all_the_same(seed: u64, offset in offset()) {
        let mut random = Random::new(seed);
        let plan = plan(&mut random);
        let script = Script::new(plan, &mut random);
        let [client, server] = script.ends(Wire::default(), plan.round_trip_ns / 2);
        let straight = diagnosis_of(&client, &server);
        let (inside, outside) = (([10, 0, 0, 1], 1000).into(), ([192, 0, 2, 7], 61_000).into());
        let server = faults::translate(&faults::clock(&server, offset, 0), inside, outside);
        let translated = diagnosis_of(&client, &server);
        prop_assert_eq!(clock_free(&straight), clock_free(&translated));
        prop_assert!(translated.notes.iter().any(|n| n.to_string().contains("NAT")), "{:?}", translated.notes);
    }
}

#[test]
fn a_stated_side_is_taken_as_it_is() {
    let mut random = Random::new(1);
    let plan = plan(&mut random);
    let script = Script::new(plan, &mut random);
    let ends = script.ends(Wire::default(), plan.round_trip_ns / 2);
    let [client, server] = ends.map(|packets| TempFile::capture(&packets));
    let stated = diagnosis(&Captures::Sides {
        client: client.paths(),
        server: server.paths(),
    });
    let found = diagnosis(&Captures::Two(server.paths(), client.paths()));
    assert_eq!(clock_free(&stated), clock_free(&found));
    assert_eq!(stated.captures[0].side_from, "stated".into());
}

#[test]
fn a_given_offset_is_used_and_named() {
    let mut random = Random::new(2);
    let plan = plan(&mut random);
    let script = Script::new(plan, &mut random);
    let [client, server] = script.ends(Wire::default(), plan.round_trip_ns / 4);
    let server = faults::clock(&server, 5 * SECOND, 0);
    let (c, s) = (TempFile::capture(&client), TempFile::capture(&server));
    let config = slowside::Config {
        threads: 1,
        clock_offset_ns: Some(5 * SECOND),
        ..slowside::Config::default()
    };
    let captures = Captures::Two(c.paths(), s.paths());
    let d = slowside::diagnose(&captures, &config, &mut |_| ()).expect("readable captures");
    let clock = d.clock.expect("matched calls");
    assert_eq!(clock.basis, ClockBasis::Given);
    assert_eq!(clock.offset_ns, 5 * SECOND);
    for op in &d.ops {
        let m = op.matched.as_ref().expect("matched calls");
        let out = plan.round_trip_ns / 4;
        assert_eq!(m.request_path_mean_ns, Some(out));
        assert_eq!(m.reply_path_mean_ns, Some(plan.round_trip_ns - out));
    }
}

#[test]
fn captures_that_overlap_in_part_say_what_lies_outside() {
    let mut random = Random::new(4);
    let plan = plan(&mut random);
    let script = Script::new(plan, &mut random);
    let [client, server] = script.ends(Wire::default(), plan.round_trip_ns / 2);
    // The client's capture ends in the middle, the server's begins a quarter in.
    let early = client.get(..client.len() / 2).unwrap_or_default();
    let late = server.get(server.len() / 4..).unwrap_or_default();
    let d = diagnosis_of(early, late);
    let count = |f: fn(&Unmatched) -> u64| d.ops.iter().map(|o| f(&o.unmatched)).sum::<u64>();
    assert!(count(|u| u.outside_overlap) >= 10, "{:?}", d.ops);
    let lost = count(|u| u.not_in_client_capture + u.not_in_server_capture);
    assert_eq!(lost, 0, "{:?}", d.ops);
    assert!(
        d.findings.iter().all(|f| f.rule != Rule::CaptureIncomplete),
        "{:?}",
        d.findings
    );
}

#[test]
fn captures_without_common_traffic_accuse_nobody() {
    let mut random = Random::new(5);
    let slow = Plan {
        calls: 60,
        pipelined: 4,
        ..Plan::default()
    };
    let ends = |last: u8| {
        let client = ([10, 0, last, 1], 1000);
        (client.into(), ([10, 0, last, 2], 2049).into())
    };
    let [a, b] = [3, 4].map(|last| {
        let (client, server) = ends(last);
        let script = Script::between(client, server, slow, &mut random);
        let sequences = (u32::from(last) << 20, u32::from(last) << 24);
        let wire = Wire {
            sequences,
            ..Wire::default()
        };
        faults::clock(&script.packets(wire), EPOCH, 0)
    });
    let d = diagnosis_of(&a, &b);
    assert_eq!(d.captures.len(), 2, "{:?}", d.notes);
    assert_eq!(d.verdict.side, Side::Undetermined);
    assert_eq!(d.verdict.cause, None);
    assert!(
        d.findings.iter().all(|f| f.cost_ns.is_none() && !f.fatal),
        "{:?}",
        d.findings
    );
    assert_eq!(d.budget.calls, 0);
    assert!(d.clock.is_none());
}

/// Only MOUNT's few calls are turns then: they do not stand for what the large connection waited for.
#[test]
fn turns_do_not_stand_for_requests_that_cannot_be_told_apart() {
    let mut random = Random::new(6);
    let far = Plan {
        calls: 60,
        round_trip_ns: 10 * MILLISECOND,
        ..Plan::default()
    };
    let ends = |port: u16| {
        let client = ([10, 0, 0, 1], 600 + port % 100);
        (client.into(), ([10, 0, 0, 2], port).into())
    };
    let mut both = [Vec::new(), Vec::new()];
    for plan in [
        (
            20_048,
            Plan {
                calls: 4,
                pipelined: 1,
                ..far
            },
        ),
        (
            2_049,
            Plan {
                pipelined: 8,
                ..far
            },
        ),
    ] {
        let (client, server) = ends(plan.0);
        let script = Script::between(client, server, plan.1, &mut random);
        for (all, packets) in both
            .iter_mut()
            .zip(script.ends(Wire::default(), 5 * MILLISECOND))
        {
            all.extend(packets);
        }
    }
    let [client, server] = both.map(|mut packets| {
        packets.sort_by_key(|p| p.time);
        packets
    });
    assert_eq!(diagnosis_of(&client, &server).verdict.side, Side::Server);
    let [c, s] = [&client, &server].map(|packets| faults::snap(packets, 56));
    let d = diagnosis_of(&c, &s);
    assert_eq!(d.verdict.side, Side::Undetermined, "{:?}", d.verdict);
    let sentence = d.verdict.sentence.to_string();
    assert!(sentence.contains("-s 256"), "{sentence}");
}

/// Begun in the middle of a connection; the server answers most calls at once, and acknowledges by itself only the few that
/// take longer than its timer: it is no 40 ms from its capture.
#[test]
fn a_server_that_acknowledges_late_is_not_far_from_its_capture() {
    let mut c = Conversation::nfs();
    c.spacing(0).at(EPOCH);
    for id in 0..200 {
        c.client(&rpc::record(&rpc::getattr_call(id, &[1; 32])));
        match id % 10 {
            0 => c
                .after(40 * MILLISECOND)
                .server_ack()
                .after(20 * MILLISECOND),
            _ => c.after(MILLISECOND / 10),
        };
        c.server(&rpc::record(&rpc::getattr_reply(id)));
        c.after(MILLISECOND).client_ack().after(MILLISECOND);
    }
    let server = c.packets();
    let client = faults::delay(&server, ([10, 0, 0, 2], 2049).into(), MILLISECOND / 2);
    let d = diagnosis_of(&client, &server);
    assert_eq!(d.verdict.side, Side::Server, "{}", d.verdict.sentence);
    let alone = TempFile::capture(&server);
    let d = diagnosis(&Captures::One(alone.paths()));
    assert_eq!(d.verdict.side, Side::Server, "{}", d.verdict.sentence);
}

/// A call of 5 s, of which the server's capture lost the request: the short calls that both have say nothing of it.
#[test]
fn what_one_capture_lacks_is_not_outweighed_by_a_few_calls_of_both() {
    let mut c = Conversation::nfs();
    c.spacing(0).mss(1_000).at(EPOCH).handshake();
    let read = |c: &mut Conversation, id: u32, wait: i64, bytes: usize| {
        c.client(&rpc::record(&rpc::read_call(id, &[1; 32], 0, bytes as u32)));
        c.after(wait)
            .server(&rpc::record(&rpc::read_reply(id, &vec![7; bytes], true)));
        c.after(MILLISECOND).client_ack().after(MILLISECOND);
    };
    for id in 0..10 {
        read(&mut c, id, 8 * MILLISECOND, 100);
    }
    let before = c.packets().len();
    read(&mut c, 10, 5 * SECOND, 8_000);
    let server = c.packets();
    let client = faults::delay(&server, ([10, 0, 0, 2], 2049).into(), MILLISECOND / 2);
    let whole = diagnosis_of(&client, &server);
    assert_eq!(whole.verdict.side, Side::Server);
    let mut lost = server;
    lost.remove(before);
    let d = diagnosis_of(&client, &lost);
    assert_eq!(d.verdict.side, Side::Undetermined, "{:?}", d.verdict);
    let sentence = d.verdict.sentence.to_string();
    assert!(
        sentence.contains("5.00 s are not whole in both captures"),
        "{sentence}"
    );
}

/// Of a client far away only the server's capture shows the turns, one after another: that they cross for little is said with
/// the near client's capture as it is without.
#[test]
fn a_client_that_the_server_s_capture_alone_shows_may_ask_too_often() {
    // At the server: it answers at once, and the client asks on a round trip later.
    let of = |client: u8, turns: u32, round_trip_ns: i64| {
        let ends = (([10, 0, 0, client], 40_000), ([10, 0, 0, 2], 9_000));
        let mut c = Conversation::new(ends.0.into(), ends.1.into());
        c.spacing(0).at(EPOCH).syn().syn_ack();
        c.after(round_trip_ns).client_ack();
        for _ in 0..turns {
            c.client(&[b'?'; 60]).after(MILLISECOND / 10);
            c.server(&[b'!'; 90]).after(round_trip_ns).client_ack();
        }
        c.packets()
    };
    // Of few calls and of most.
    for turns in [60, 600] {
        let mut all = of(1, turns, MILLISECOND / 5);
        let near = faults::delay(&all, ([10, 0, 0, 2], 9_000).into(), MILLISECOND / 5);
        all.extend(of(3, 300, 20 * MILLISECOND));
        all.sort_by_key(|p| p.time);
        let alone = diagnosis(&Captures::One(TempFile::capture(&all).paths()));
        for d in [alone, diagnosis_of(&near, &all)] {
            assert_eq!(d.verdict.side, Side::Client, "{}", d.verdict.sentence);
            assert_eq!(d.verdict.cause.map(|rule| rule.code()), Some("chatty"));
        }
    }
}

/// A client's capture that lacks all of a connection from an answer on: had the client not had that, its server would have sent
/// it again.
#[test]
fn an_answer_that_is_not_sent_again_was_not_lost_though_the_client_s_capture_lacks_it() {
    let of = |port: u16, sent_again: bool| {
        let mut c = Conversation::new(([10, 0, 0, 1], port).into(), ([10, 0, 0, 2], 2049).into());
        c.spacing(0).mss(1_460).at(EPOCH);
        c.sequences(u32::from(port) * 1_000, u32::from(port) * 3_000);
        c.syn().after(MILLISECOND / 20).syn_ack();
        c.after(MILLISECOND).client_ack();
        for id in (0..300).map(|n| n + u32::from(port) * 1_000) {
            c.client(&rpc::record(&rpc::getattr_call(id, &[1; 32])));
            c.after(MILLISECOND / 20).server_ack();
            let answer = rpc::record(&rpc::getattr_reply(id));
            c.after(MILLISECOND / 10).server(&answer);
            c.after(10 * MILLISECOND);
            if sent_again && id % 1_000 == 20 {
                break;
            }
            c.client_ack();
        }
        c.packets()
    };
    let side = |sent_again: bool| {
        let mut server = of(700, sent_again);
        if sent_again {
            let answer = server[server.len() - 1].clone();
            for later in [300, 900, 2_100] {
                let mut again = answer.clone();
                again.time += later * MILLISECOND;
                server.push(again);
            }
        }
        // The last that the client's capture has of it is that the 21st request came.
        let lacks = server[3 + 20 * 4 + 1].time;
        let mut client: Vec<_> = server.iter().filter(|p| p.time <= lacks).cloned().collect();
        for all in [&mut client, &mut server] {
            all.extend(of(800, false));
            all.sort_by_key(|p| p.time);
        }
        let client = faults::delay(&client, ([10, 0, 0, 2], 2049).into(), MILLISECOND / 2);
        diagnosis_of(&client, &server).verdict.side
    };
    assert_eq!(side(true), Side::Network);
    assert_ne!(side(false), Side::Network);
}
