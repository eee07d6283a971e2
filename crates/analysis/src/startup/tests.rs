//! Clients in a few packets.

use super::*;
use model::{KnockKind, Mark};
use proptest::prelude::*;

const MS: i64 = 1_000_000;

fn mark(ms: i64) -> Mark {
    Mark {
        time: Time(ms * MS),
        packet: PacketRef {
            file: 0,
            frame: ms as u32 + 1,
        },
    }
}

fn end(text: &str) -> Endpoint {
    let socket: std::net::SocketAddr = text.parse().expect("an address and a port");
    Endpoint {
        address: socket.ip(),
        port: socket.port(),
    }
}

fn knock(ms: i64, source: &str, destination: &str, kind: KnockKind) -> Knock {
    Knock {
        order: ms as u64,
        at: mark(ms),
        source: end(source),
        destination: end(destination),
        kind,
        id: 0,
    }
}

fn question(ms: i64, sender: u8, target: u8) -> Arp {
    Arp {
        order: ms as u64,
        at: mark(ms),
        operation: 1,
        sender: [10, 0, 0, sender].into(),
        sender_hardware: [2, 0, 0, 0, 0, sender],
        target: [10, 0, 0, target].into(),
        target_hardware: [0; 6],
    }
}

fn finish(startup: Startup) -> ClientStartup {
    let result = startup.finish(CaptureResult::default());
    result.client.expect("a client that waited")
}

fn cost(c: &ClientStartup, kind: WaitKind, ending: Ending) -> i64 {
    let of = c
        .reasons
        .iter()
        .filter(|s| (s.kind, s.ending) == (kind, ending));
    of.map(|s| s.cost_ns).sum::<i64>() / MS
}

use KnockKind::{Datagram, Reset, Syn, SynAck};

#[test]
fn a_refusal_costs_the_pause_before_the_next_attempt() {
    let mut s = Startup::new(&[]);
    for at in [0, 500] {
        let port = format!("10.0.0.1:{}", 40_000 + at);
        s.knock(&knock(at, &port, "10.0.0.2:1521", Syn));
        s.knock(&knock(at + 1, "10.0.0.2:1521", &port, Reset));
    }
    // Something else follows: the second refusal cost nothing beyond itself.
    s.knock(&knock(2_000, "10.0.0.1:50000", "10.0.0.3:80", Syn));
    s.knock(&knock(2_010, "10.0.0.3:80", "10.0.0.1:50000", SynAck));
    let c = finish(s);
    assert_eq!(c.elapsed_ns(), 2_010 * MS);
    assert_eq!(cost(&c, WaitKind::Connect, Ending::Refused), 501);
    assert_eq!(cost(&c, WaitKind::Connect, Ending::Answered), 10);
    assert_eq!(cost(&c, WaitKind::Client, Ending::Itself), 1_499);
    assert_eq!(
        c.waits[0].ended_by.to_string(),
        "refused; tried again after 499 ms"
    );
}

#[test]
fn a_client_with_two_addresses_goes_back_to_ipv4() {
    let addresses = ["2001:db8::1", "10.0.0.1"].map(|a| a.parse().expect("an address"));
    let mut s = Startup::new(&addresses);
    s.knock(&knock(0, "[2001:db8::1]:40000", "[2001:db8::2]:443", Syn));
    s.knock(&knock(
        1_000,
        "[2001:db8::1]:40000",
        "[2001:db8::2]:443",
        Syn,
    ));
    s.knock(&knock(3_000, "10.0.0.1:40000", "10.0.0.2:443", Syn));
    s.knock(&knock(3_010, "10.0.0.2:443", "10.0.0.1:40000", SynAck));
    let c = finish(s);
    assert_eq!(cost(&c, WaitKind::Connect, Ending::NoAnswer), 3_000);
    assert_eq!(c.waits[0].ended_by.to_string(), "sent again");
    assert!(
        c.waits[1]
            .ended_by
            .to_string()
            .ends_with("10.0.0.2:443 (back to IPv4)")
    );
}

#[test]
fn what_began_last_is_charged_and_broadcasts_come_behind() {
    let mut s = Startup::new(&[]);
    s.arp(&question(0, 1, 9));
    // Asked for while the address is waited for.
    s.knock(&knock(100, "10.0.0.1:40000", "10.0.0.255:5093", Datagram));
    s.arp(&question(1_000, 1, 9));
    s.knock(&knock(2_000, "10.0.0.1:40001", "10.0.0.2:80", Syn));
    s.knock(&knock(2_001, "10.0.0.2:80", "10.0.0.1:40001", SynAck));
    let c = finish(s);
    assert_eq!(cost(&c, WaitKind::Arp, Ending::NoAnswer), 2_000);
    assert_eq!(cost(&c, WaitKind::Broadcast, Ending::NoAnswer), 0);
}

#[test]
fn announcements_and_checks_of_a_neighbour_are_no_waits() {
    let mut s = Startup::new(&[]);
    s.knock(&knock(
        0,
        "10.0.0.1:17500",
        "255.255.255.255:17500",
        Datagram,
    ));
    let mut check = question(10, 1, 2);
    check.target_hardware = [2, 0, 0, 0, 0, 2];
    s.arp(&check);
    s.knock(&knock(20, "10.0.0.1:514", "10.0.0.2:514", Datagram));
    assert!(s.finish(CaptureResult::default()).client.is_none());
}

#[test]
fn who_only_asks_for_addresses_is_no_client_to_be_shown() {
    let mut s = Startup::new(&[]);
    for at in 0..9 {
        s.arp(&question(at * 1_000, 3, 100 + at as u8));
    }
    s.knock(&knock(100, "10.0.0.1:40000", "10.0.0.2:80", Syn));
    s.knock(&knock(110, "10.0.0.2:80", "10.0.0.1:40000", SynAck));
    let c = finish(s);
    assert_eq!(c.addresses, [end("10.0.0.1:0").address]);
}

#[test]
fn who_sweeps_waits_for_nobody_and_copies_of_a_loop_are_one_question() {
    let mut s = Startup::new(&[]);
    for target in 2..200 {
        s.arp(&question(i64::from(target) * 300, 1, target));
    }
    assert!(s.finish(CaptureResult::default()).client.is_none());

    let mut s = Startup::new(&[]);
    for at in 0..50 {
        s.arp(&question(at, 1, 9));
    }
    s.knock(&knock(1_000, "10.0.0.1:40000", "10.0.0.2:80", Syn));
    s.knock(&knock(1_010, "10.0.0.2:80", "10.0.0.1:40000", SynAck));
    let c = finish(s);
    assert_eq!(
        c.waits.iter().filter(|w| w.kind == WaitKind::Arp).count(),
        1
    );
}

#[test]
fn a_client_that_is_not_there_is_named() {
    let absent = "192.0.2.1".parse().expect("an address");
    let mut s = Startup::new(&[absent]);
    s.knock(&knock(0, "10.0.0.1:40000", "10.0.0.2:80", Syn));
    let result = s.finish(CaptureResult::default());
    assert!(result.client.is_none());
    assert_eq!(result.asked, [absent]);
}

#[test]
fn a_broadcast_is_answered_from_another_address() {
    let mut s = Startup::new(&[]);
    s.knock(&knock(0, "10.0.0.1:40000", "10.0.0.255:5093", Datagram));
    s.knock(&knock(1_000, "10.0.0.1:40000", "10.0.0.255:5093", Datagram));
    s.knock(&knock(1_020, "10.0.0.7:5093", "10.0.0.1:40000", Datagram));
    let c = finish(s);
    assert_eq!(cost(&c, WaitKind::Broadcast, Ending::NoAnswer), 1_000);
    assert_eq!(cost(&c, WaitKind::Broadcast, Ending::Answered), 20);
}

proptest! {
    #[test]
    fn every_nanosecond_is_somebody_s_and_only_once(
        events in prop::collection::vec((0i64..20_000, 1u8..4, 1u8..4, 0u8..5, 0u16..3), 1..60),
    ) {
        let mut s = Startup::new(&[]);
        let mut events = events;
        events.sort_unstable();
        for (ms, from, to, what, port) in events {
            let (a, b) = (format!("10.0.0.{from}:{}", 40_000 + port), format!("10.0.0.{to}:80"));
            match what {
                0 => s.knock(&knock(ms, &a, &b, Syn)),
                1 => s.knock(&knock(ms, &b, &a, SynAck)),
                2 => s.knock(&knock(ms, &b, &a, Reset)),
                3 => s.knock(&knock(ms, &a, "10.0.0.255:5093", Datagram)),
                _ => s.arp(&question(ms, from, to)),
            }
        }
        for c in s.all() {
            let sum = |costs: &mut dyn Iterator<Item = i64>| costs.sum::<i64>();
            prop_assert_eq!(sum(&mut c.waits.iter().map(|w| w.cost_ns)), c.elapsed_ns());
            prop_assert_eq!(sum(&mut c.reasons.iter().map(|r| r.cost_ns)), c.elapsed_ns());
            prop_assert_eq!(sum(&mut c.servers.iter().map(|r| r.cost_ns)), c.elapsed_ns());
            for w in &c.waits {
                prop_assert!(w.cost_ns >= 0 && w.cost_ns <= w.elapsed_ns, "{:?}", w);
            }
        }
    }
}
