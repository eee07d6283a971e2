//! What the client measures, and how it says that it cannot.

use super::*;
use crate::{ConnectPlan, Correction, End, Ended, Measured, Refusal, Reservoir, measure_connects};
use std::net::TcpListener;

#[test]
fn exchanges_have_their_sizes_and_add_up() {
    let mut told = Vec::new();
    let (counts, events) = with_listener(unlimited(), |address| {
        let plan = plan(address, ping_pong(200, 8_192));
        let r = measure(&plan, &AtomicBool::new(false), &mut |i| {
            told.push(i.clone());
        })
        .unwrap();
        let count = r.uncorrected.count();
        assert!(count > 0);
        assert_eq!((r.measured, r.ended), (Measured::Exchanges, Ended::Done));
        assert_eq!(r.sent_bytes, count * 200);
        assert_eq!(r.received_bytes, count * 8_192);
        assert_eq!((r.unanswered, r.unsent, r.held.count), (0, 0, 0));
        assert_eq!(r.duration_ns, 300_000_000);
        assert_eq!(r.intervals, told);
        assert_eq!(told.iter().map(|i| i.count).sum::<u64>(), count);
        assert_eq!(told.len(), 3);
        assert!(matches!(r.correction, Correction::Expected(ns) if ns > 0));
        assert!(r.corrected.count() >= count);
        assert_eq!(r.service.count(), count);
        assert!(r.connect_ns.is_some_and(|ns| ns > 0));
        assert!(r.client_options.nodelay && r.listener_options.is_some_and(|o| o.nodelay));
    });
    assert_eq!(counts.sessions, 1);
    let [Event::Started { .. }, Event::Ended { why, exchanges, .. }] = events[..] else {
        panic!("{events:?}");
    };
    assert_eq!((why, exchanges), (End::Closed, counts.exchanges));
}

#[test]
fn sizes_of_a_capture_are_made_in_turn_with_several_outstanding() {
    let mut sizes = Reservoir::new(10);
    sizes.add(100, 50_000, 0);
    sizes.add(300_000, 64, 1_000);
    sizes.add(20, 5 << 20, 0);
    let work = Work::Exchange {
        mix: sizes.mix().unwrap(),
        pacing: Pacing::Closed,
        outstanding: 8,
    };
    with_listener(unlimited(), |address| {
        let mut plan = plan(address, work);
        plan.options.send_buffer = 100_000;
        plan.options.nodelay = false;
        let r = run(&plan).unwrap();
        assert!(r.uncorrected.count() > 0);
        // The longest is cut to what the listener allows.
        assert_eq!((r.cut_sizes, r.mix.largest()), (1, 2 << 20));
        assert!(!r.client_options.nodelay && r.client_options.send_buffer >= 100_000);
        assert!(
            r.listener_options
                .is_some_and(|o| !o.nodelay && o.send_buffer >= 100_000)
        );
    });
}

#[test]
fn streams_count_the_bytes_that_arrived() {
    with_listener(limits(), |address| {
        for (work, up) in [(Work::StreamUp, true), (Work::StreamDown, false)] {
            let r = run(&plan(address, work)).unwrap();
            assert!(r.throughput_bps().is_some_and(|bps| bps > 0));
            assert_eq!(r.sent_bytes > r.received_bytes, up);
            let bytes: u64 = r.intervals.iter().map(|i| i.sent_bytes).sum();
            assert_eq!(bytes, r.sent_bytes);
        }
    });
}

#[test]
fn a_rate_is_kept_and_counted_from_when_it_was_due() {
    with_listener(limits(), |address| {
        let work = Work::Exchange {
            mix: Mix::fixed(64, 64),
            pacing: Pacing::rate(100.0),
            outstanding: 4,
        };
        let r = run(&plan(address, work)).unwrap();
        // 30 are due in 0.3 s, whatever the host does.
        assert_eq!(r.uncorrected.count() + r.unsent + r.unanswered, 30);
        assert_eq!(r.correction, Correction::Due);
        assert!(r.corrected.mean_ns() >= r.uncorrected.mean_ns());
    });
}

#[test]
fn connecting_alone_needs_no_listener() {
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let plan = ConnectPlan {
        target: other.local_addr().unwrap().to_string(),
        every: Duration::from_millis(10),
        duration: Duration::from_millis(200),
        warm_up: Duration::from_millis(50),
        interval: Duration::from_millis(100),
        timeout: Duration::from_secs(20),
    };
    let r = measure_connects(&plan, &AtomicBool::new(false), &mut |_| {}).unwrap();
    assert!(r.uncorrected.count() > 0 && r.uncorrected.count() <= 20);
    assert_eq!((r.measured, r.failures.total()), (Measured::Connects, 0));

    drop(other);
    let refused = measure_connects(&plan, &AtomicBool::new(false), &mut |_| {});
    assert!(matches!(refused, Err(ProbeError::Refused(_))));
}

#[test]
fn a_measurement_that_is_stopped_has_what_was_measured() {
    with_listener(limits(), |address| {
        let stop = AtomicBool::new(false);
        let mut plan = plan(address, ping_pong(64, 64));
        plan.duration = Duration::from_secs(500);
        let r = measure(&plan, &stop, &mut |_| stop.store(true, Ordering::Relaxed)).unwrap();
        assert_eq!(r.ended, Ended::Stopped);
        assert!(r.uncorrected.count() > 0 && r.duration_ns < 400_000_000_000);
    });
}

#[test]
fn a_wrong_token_is_told_and_nothing_else() {
    let (counts, events) = with_listener(limits(), |address| {
        let mut plan = plan(address, ping_pong(64, 64));
        plan.token = Token::new(b"another token for tests").unwrap();
        assert!(matches!(run(&plan), Err(ProbeError::WrongToken(_))));
    });
    assert_eq!((counts.sessions, counts.refused), (0, 1));
    assert!(matches!(
        events[..],
        [Event::Refused {
            why: Refusal::WrongToken,
            ..
        }]
    ));
}

#[test]
fn what_is_beyond_a_limit_is_refused_with_the_option_to_change() {
    let limits = Limits {
        size: 1_000,
        rate: 50,
        duration: Duration::from_secs(1),
        ..limits()
    };
    with_listener(limits, |address| {
        let beyond = |work, seconds| {
            let mut plan = plan(address, work);
            plan.duration = Duration::from_secs(seconds);
            run(&plan).unwrap_err().to_string()
        };
        let rate = Work::Exchange {
            mix: Mix::fixed(64, 64),
            pacing: Pacing::rate(51.0),
            outstanding: 1,
        };
        for (text, option) in [
            (beyond(ping_pong(200, 1_001), 0), "--max-size"),
            (beyond(rate, 0), "--max-rate"),
            (beyond(Work::StreamUp, 1), "--max-time"),
        ] {
            assert!(text.contains(option), "{text}");
        }
    });
}

#[test]
fn what_is_no_listener_is_told_from_one() {
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = other.local_addr().unwrap();
    let banners: [&[u8]; 3] = [b"", b"SSH-2.0-OpenSSH_9.2\r\n", &[0; 200]];
    let serve = thread::spawn(move || {
        for banner in banners {
            let mut stream = other.accept().unwrap().0;
            stream.write_all(banner).unwrap();
            let mut hello = [0; 32];
            stream.read_exact(&mut hello).unwrap();
        }
        // Somebody who repeats the client's own greeting, and somebody who says nothing at all.
        let mut stream = other.accept().unwrap().0;
        let mut hello = [0; 32];
        stream.read_exact(&mut hello).unwrap();
        stream.write_all(&hello).unwrap();
        let _silent = other.accept().unwrap().0;
        let _end = other.accept();
    });
    for _ in 0..5 {
        let mut plan = plan(address, ping_pong(64, 64));
        plan.timeout = Duration::from_millis(500);
        assert!(matches!(run(&plan), Err(ProbeError::NotAListener(_))));
    }
    let _last = TcpStream::connect(address).unwrap();
    serve.join().unwrap();
}
