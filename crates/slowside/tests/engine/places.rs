//! On whom, on what and when the cost of findings concentrates: clients with known waits.

use crate::kit::{EPOCH, MILLISECOND, SECOND, TempFile, diagnosis};
use analysis::findings::Rule;
use analysis::results::{Diagnosis, Finding, Side, What};
use slowside::Captures;
use std::net::IpAddr;
use testkit::{Conversation, Random, TestPacket, rpc};

/// What a call meets: on the path there and back, and at the server.
#[derive(Clone, Copy)]
struct Waits {
    path_ns: i64,
    server_ns: i64,
}

const FAST: Waits = Waits {
    path_ns: MILLISECOND / 5,
    server_ns: MILLISECOND / 5,
};

const CLIENTS: u8 = 4;
const CALLS: u32 = 200;

fn address(client: u8) -> IpAddr {
    [10, 0, 1, client].into()
}

/// Four clients of one server that read for ten seconds, as they see it and as the server does. `waits` are those of
/// client 0 to 3 at a time since the beginning.
fn reads(waits: impl Fn(u8, i64) -> Waits) -> [Vec<TestPacket>; 2] {
    let mut random = Random::new(1);
    let mut ends = [Vec::new(), Vec::new()];
    for client in 0..CLIENTS {
        let talk = || {
            let ends = ((address(client), 900), ([10, 0, 0, 9], 2049));
            Conversation::new(ends.0.into(), ends.1.into())
        };
        let mut own = [talk(), talk()];
        own[0]
            .at(EPOCH)
            .syn()
            .after(FAST.path_ns)
            .syn_ack()
            .client_ack();
        own[1].at(EPOCH + FAST.path_ns / 2).syn().syn_ack();
        own[1].after(FAST.path_ns).client_ack();
        let mut at = SECOND / 10 * i64::from(client);
        for call in 0..CALLS {
            let Waits { path_ns, server_ns } = waits(client, at);
            let server_ns = server_ns + random.below(server_ns as u64 / 4) as i64;
            let file = [b'a' + (call % 3) as u8; 8];
            let request = rpc::record(&rpc::read_call(call, &file, 0, 512));
            let reply = rpc::record(&rpc::read_reply(call, &[0; 512], false));
            let begin = EPOCH + SECOND + at;
            own[0].at(begin).client(&request);
            own[0]
                .at(begin + path_ns + server_ns)
                .server(&reply)
                .client_ack();
            own[1].at(begin + path_ns / 2).client(&request);
            own[1].at(begin + path_ns / 2 + server_ns).server(&reply);
            own[1].after(path_ns).client_ack();
            at += 10 * SECOND / i64::from(CALLS) + random.below(MILLISECOND as u64) as i64;
        }
        for (all, own) in ends.iter_mut().zip(own) {
            all.extend(own.packets());
        }
    }
    ends.map(|mut packets| {
        packets.sort_by_key(|p| p.time);
        packets
    })
}

/// What is said of both ends, and of the server's alone.
fn both_ways(ends: &[Vec<TestPacket>; 2]) -> [Diagnosis; 2] {
    let [client, server] = ends.each_ref().map(|packets| TempFile::capture(packets));
    [
        diagnosis(&Captures::Sides {
            client: client.paths(),
            server: server.paths(),
        }),
        diagnosis(&Captures::Server(server.paths())),
    ]
}

fn found(d: &Diagnosis, rule: Rule) -> &Finding {
    let found = d.findings.iter().find(|f| f.rule == rule);
    found.unwrap_or_else(|| panic!("{rule} is not among {:?}", d.findings))
}

#[test]
fn a_server_that_is_slow_to_everybody_all_the_time_has_no_place() {
    let slow = Waits {
        server_ns: 20 * MILLISECOND,
        ..FAST
    };
    for d in both_ways(&reads(|_, _| slow)) {
        assert_eq!(found(&d, Rule::ServerSlow).places, []);
    }
    for d in both_ways(&reads(|_, _| FAST)) {
        assert_eq!(d.verdict.side, Side::None);
        assert!(d.findings.iter().all(|f| f.places.is_empty()));
    }
}

#[test]
fn one_slow_client_of_several_is_named() {
    let slow = Waits {
        server_ns: 20 * MILLISECOND,
        ..FAST
    };
    for d in both_ways(&reads(|client, _| if client == 2 { slow } else { FAST })) {
        let finding = found(&d, Rule::ServerSlow);
        let [place] = &finding.places[..] else {
            panic!("{:?}", finding.places)
        };
        assert_eq!(place.what, What::Client(address(2)));
        assert_eq!(place.calls, u64::from(CALLS));
        assert!(place.share > 0.95 && place.cost_ns <= finding.cost_ns.unwrap_or(0));
        assert!((FAST.server_ns..2 * FAST.server_ns).contains(&place.rest_mean_ns));
    }
}

#[test]
fn a_problem_that_begins_halfway_says_since_when() {
    let later = |at: i64| at >= 5 * SECOND;
    let slow = Waits {
        server_ns: 20 * MILLISECOND,
        ..FAST
    };
    for d in both_ways(&reads(|_, at| if later(at) { slow } else { FAST })) {
        let places = &found(&d, Rule::ServerSlow).places;
        let [What::Since(from)] = &places.iter().map(|p| p.what.clone()).collect::<Vec<_>>()[..]
        else {
            panic!("{places:?}")
        };
        let off_ns = (from.0 - (EPOCH + 6 * SECOND)).abs();
        assert!(off_ns < SECOND / 4, "{off_ns}");
    }
}

#[test]
fn two_clients_with_problems_of_their_own_are_two_subjects_of_the_first_sentence() {
    let far = Waits {
        path_ns: 30 * MILLISECOND,
        ..FAST
    };
    let slow = Waits {
        server_ns: 30 * MILLISECOND,
        ..FAST
    };
    let waits = |client: u8, _| match client {
        0 => far,
        3 => slow,
        _ => FAST,
    };
    let [d, _] = both_ways(&reads(waits));
    let on = |rule| found(&d, rule).places.iter().map(|p| p.what.clone());
    assert!(on(Rule::NetworkDelay).eq([What::Client(address(0))]));
    assert!(on(Rule::ServerSlow).eq([What::Client(address(3))]));
    let sentence = d.verdict.sentence.to_string();
    let sentence = sentence.split(". ").next().unwrap_or_default();
    for said in [
        "network-delay on client 10.0.1.0",
        "server-slow on client 10.0.1.3",
    ] {
        assert!(sentence.contains(said), "{sentence}");
    }
}

/// A client at whose host nobody captured has its calls in the server's capture alone. What the client's capture
/// lacks of a client that it shows is not judged.
#[test]
fn calls_that_the_server_s_capture_alone_can_hold_are_judged_too() {
    let slow = Waits {
        server_ns: 20 * MILLISECOND,
        ..FAST
    };
    let [client, server] = reads(|client, _| if client == 2 { slow } else { FAST });
    let all = u64::from(CALLS) * u64::from(CLIENTS);
    let is_other = |p: &TestPacket| p.bytes.windows(4).any(|b| b == [10, 0, 1, 2]);
    let until = |until: i64| {
        let mut shown = client.clone();
        shown.retain(|p| !is_other(p) || p.time < until);
        let [d, _] = both_ways(&[shown, server.clone()]);
        d
    };
    let d = until(EPOCH);
    assert_eq!(d.ledger.calls, all);
    let places = found(&d, Rule::ServerSlow).places.iter();
    assert!(
        places
            .map(|p| p.what.clone())
            .eq([What::Client(address(2))])
    );
    assert!(until(EPOCH + 6 * SECOND).ledger.calls < all);
}
