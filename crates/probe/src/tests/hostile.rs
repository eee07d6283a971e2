//! Clients that a listener must survive: malformed, slow and excessive ones.

use super::*;
use crate::listener::{HANDSHAKES, OF_A_NETWORK};
use crate::{End, Refusal};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::net::Shutdown;
use std::time::Instant;

fn refusals(events: &[Event]) -> Vec<Refusal> {
    let why = |e: &Event| match e {
        Event::Refused { why, .. } => Some(*why),
        _ => None,
    };
    events.iter().filter_map(why).collect()
}

fn ends(events: &[Event]) -> Vec<End> {
    let why = |e: &Event| match e {
        Event::Ended { why, .. } => Some(*why),
        _ => None,
    };
    events.iter().filter_map(why).collect()
}

/// Whatever a stranger sends, it is sent no more than that back, and is cut off.
#[test]
fn garbage_is_cut_off_and_gets_no_more_than_it_sent() {
    with_listener(limits(), |address| {
        let mut runner = TestRunner::new(Config {
            cases: 64,
            failure_persistence: None,
            ..Config::default()
        });
        let valid = Greeting {
            version: VERSION,
            nonce: [3; 16],
        };
        let valid = valid.encode(wire::End::Client);
        let garbage = (any::<bool>(), prop::collection::vec(any::<u8>(), 0..300));
        runner
            .run(&garbage, |(greets, noise)| {
                let mut stream = TcpStream::connect(address).unwrap();
                let mut sent = noise.len();
                if greets {
                    sent += valid.len();
                    stream.write_all(&valid).unwrap();
                }
                // It may have been cut off already.
                let _ = stream.write_all(&noise);
                let _ = stream.shutdown(Shutdown::Write);
                let got = rest(&mut stream).len();
                prop_assert!(got <= sent, "{} for {}", got, sent);
                Ok(())
            })
            .unwrap();
        still_serves(address);
    });
}

#[test]
fn another_version_is_told_ours_and_cut_off() {
    let (_, events) = with_listener(limits(), |address| {
        let mut stream = TcpStream::connect(address).unwrap();
        let hello = Greeting {
            version: 9,
            nonce: [0; 16],
        };
        stream.write_all(&hello.encode(wire::End::Client)).unwrap();
        let answer = rest(&mut stream);
        let answer: [u8; 32] = answer.try_into().unwrap();
        let challenge = Greeting::decode(&answer, wire::End::Listener).unwrap();
        assert_eq!(challenge.version, VERSION);
    });
    assert_eq!(refusals(&events), [Refusal::Malformed]);
}

/// A byte now and then keeps nobody in: the handshake has a time, not each of its bytes.
#[test]
fn a_slow_client_is_cut_off_by_the_hello_s_timeout() {
    let limits = Limits {
        hello: Duration::from_secs(1),
        ..limits()
    };
    let (_, events) = with_listener(limits, |address| {
        let mut stream = TcpStream::connect(address).unwrap();
        let hello = Greeting {
            version: VERSION,
            nonce: [3; 16],
        };
        let bytes = hello.encode(wire::End::Client);
        // 32 bytes would take 3.2 s.
        for byte in bytes {
            if stream.write_all(&[byte]).is_err() {
                break;
            }
            thread::sleep(Duration::from_millis(100));
        }
        assert_eq!(rest(&mut stream), []);
        still_serves(address);
    });
    assert_eq!(refusals(&events), [Refusal::Handshake]);
}

#[test]
fn sessions_that_trickle_or_do_not_read_are_ended() {
    let limits = Limits {
        idle: Duration::from_secs(1),
        ..unlimited()
    };
    let (_, events) = with_listener(limits, |address| {
        // A request that never comes to its end.
        let (mut slow, _) = admitted(address);
        slow.write_all(&request(1_000_000, 100)).unwrap();
        while slow.write_all(&[0]).is_ok() {
            thread::sleep(Duration::from_millis(50));
        }
        // One who asks and does not read: the listener's buffer is all that it can fill.
        let (mut deaf, _) = admitted(address);
        deaf.set_write_timeout(Some(Duration::from_secs(20)))
            .unwrap();
        while deaf.write_all(&request(16, 2 << 20)).is_ok() {}
        still_serves(address);
    });
    let mut ends = ends(&events);
    ends.retain(|e| *e != End::Closed);
    assert_eq!(ends, [End::Idle, End::Idle]);
}

#[test]
fn messages_beyond_the_limit_end_the_session() {
    let limits = Limits {
        size: 1_000,
        ..limits()
    };
    let (counts, events) = with_listener(limits, |address| {
        for (up, down) in [
            (1_001, 100),
            (100, 1_001),
            (u32::MAX, u32::MAX),
            (15, 100),
            (16, 31),
        ] {
            let (mut stream, _) = admitted(address);
            stream.write_all(&request(up, down)).unwrap();
            assert_eq!(rest(&mut stream), []);
        }
        still_serves(address);
    });
    assert_eq!(ends(&events)[..5], [End::Size; 5]);
    assert_eq!(counts.sessions, 6);
}

#[test]
fn a_session_lasts_no_longer_than_allowed() {
    let limits = Limits {
        duration: Duration::from_millis(500),
        ..limits()
    };
    let (_, events) = with_listener(limits, |address| {
        let (mut stream, _) = admitted(address);
        let mut answer = [0; 32];
        while stream.write_all(&request(16, 32)).is_ok() && stream.read_exact(&mut answer).is_ok() {
        }
    });
    assert_eq!(ends(&events), [End::Duration]);
}

#[test]
fn sessions_beyond_the_limit_are_told_that_it_is_busy() {
    let limits = Limits {
        connections: 2,
        idle: Duration::from_secs(60),
        ..limits()
    };
    let (counts, events) = with_listener(limits, |address| {
        let (first, second) = (admitted(address), admitted(address));
        assert_eq!((first.1, second.1), (wire::Status::Go, wire::Status::Go));
        assert_eq!(admitted(address).1, wire::Status::Busy);
        let busy = run(&plan(address, ping_pong(64, 64)));
        assert!(matches!(busy, Err(ProbeError::Busy(_))));
        // A place that is given back is taken again, soon.
        drop(first);
        while admitted(address).1 == wire::Status::Busy {
            thread::sleep(Duration::from_millis(10));
        }
    });
    assert_eq!(counts.sessions, 3);
    assert!(refusals(&events).iter().all(|r| *r == Refusal::Busy));
}

/// Those who say nothing fill the handshake's places, not the sessions', and not for long.
#[test]
fn more_connections_than_may_greet_are_closed_at_once() {
    let limits = Limits {
        hello: Duration::from_secs(2),
        ..limits()
    };
    let (_, events) = with_listener(limits, |address| {
        let (mut session, _) = admitted(address);
        // Of many addresses: one alone has fewer places.
        let silent: Vec<TcpStream> = (0..HANDSHAKES + 20)
            .map(|i| connect_from([127, 0, 1, i as u8], address))
            .collect();
        // Who is in is not disturbed.
        session.write_all(&request(16, 32)).unwrap();
        session.read_exact(&mut [0; 32]).unwrap();
        for mut stream in silent {
            assert_eq!(rest(&mut stream), []);
        }
        still_serves(address);
    });
    let refusals = refusals(&events);
    let crowded = refusals.iter().filter(|r| **r == Refusal::Crowded).count();
    // Who was admitted may be welcomed a moment before the place among those who greet is given back.
    assert!((1..=21).contains(&crowded), "{crowded}");
    assert_eq!(refusals.len(), HANDSHAKES + 20);
}

/// A slow stranger takes a few places, and who comes from elsewhere is served meanwhile.
#[test]
fn one_address_does_not_keep_others_out() {
    let (_, events) = with_listener(limits(), |address| {
        let silent: Vec<TcpStream> = (0..HANDSHAKES)
            .map(|_| connect_from([127, 0, 0, 9], address))
            .collect();
        still_serves(address);
        drop(silent);
    });
    let refusals = refusals(&events);
    let crowded = refusals.iter().filter(|r| **r == Refusal::Crowded).count();
    assert_eq!(crowded, HANDSHAKES - OF_A_NETWORK);
}

/// A connection from an address of this host's own network.
fn connect_from(from: [u8; 4], to: SocketAddr) -> TcpStream {
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    socket.bind(&SocketAddr::from((from, 0)).into()).unwrap();
    socket.connect(&to.into()).unwrap();
    socket.into()
}

/// Who asks more often than allowed waits, and is told for how long.
#[test]
fn a_rate_above_the_limit_is_held() {
    let limits = Limits {
        rate: 40,
        ..limits()
    };
    with_listener(limits, |address| {
        let begun = Instant::now();
        let r = run(&plan(address, ping_pong(64, 64))).unwrap();
        let most = begun.elapsed().as_secs_f64() * 40.0 + 5.0;
        let count = r.uncorrected.count();
        assert!((count as f64) < most, "{count} of {most}");
        assert!(r.held.count > 0 && r.held.total_ns > 0);
        // What the limit held is not the listener's own time.
        assert!(r.service.mean_ns() < r.uncorrected.mean_ns());
    });
}

#[test]
fn a_bandwidth_above_the_limit_is_held() {
    let limits = Limits {
        bandwidth_bps: 8_000_000,
        ..limits()
    };
    with_listener(limits, |address| {
        let begun = Instant::now();
        let r = run(&plan(address, ping_pong(64, 20_000))).unwrap();
        let most = begun.elapsed().as_secs_f64() * 1e6 + 120_000.0;
        assert!((r.received_bytes as f64) < most);
        assert!(r.held.count > 0);
    });
}
