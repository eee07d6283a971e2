//! What is kept has bounds, whatever comes; and windows slide.

use super::*;
use crate::metrics::Metrics;
use crate::results::KeyValue;
use model::{
    Change, ConnectionId, Detail, Mark, Name, Outcome, PacketRef, Sql, SqlSession, Statement,
    Transport,
};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

const SECOND: i64 = 1_000_000_000;

fn end(host: u32, port: u16) -> Endpoint {
    Endpoint {
        address: IpAddr::V4(Ipv4Addr::from(0x0a00_0000 + host)),
        port,
    }
}

fn mark(ns: i64) -> Mark {
    Mark {
        time: Time(ns),
        packet: PacketRef { file: 0, frame: 1 },
    }
}

/// A call of connection `id` that ends at `ns` and took `took_ns`.
fn call(id: u64, op: &str, ns: i64, took_ns: i64) -> Call {
    Call {
        order: id,
        connection: ConnectionId(id),
        protocol: Protocol::Pgsql,
        op: Name::of(op),
        client: end(id as u32, 1_000),
        server: end(0, 5_432),
        id: 0,
        request_sequence: 0,
        response_sequence: 0,
        request_first: Some(mark(ns - took_ns)),
        request_last: Some(mark(ns - took_ns)),
        response_first: Some(mark(ns)),
        response_last: Some(mark(ns)),
        request_bytes: 100,
        response_bytes: 100,
        outcome: Outcome::Ok,
        outstanding: 1,
        retransmits: 0,
        request_held_ns: 0,
        response_held_ns: 0,
        inner: None,
        hidden: None,
        detail: Detail::default(),
        text: None,
        sql: None,
    }
}

fn statement(n: u64) -> Option<Arc<Sql>> {
    let text: Arc<str> = format!("select {n}").into();
    Some(Arc::new(Sql {
        session: Arc::new(SqlSession::default()),
        statement: Some(Arc::new(Statement {
            id: n + 1,
            normal: Arc::clone(&text),
            text,
            truncated: false,
            found: model::Found::Structured,
        })),
    }))
}

fn sent(id: u64, ns: i64, change: Change) -> Outstanding {
    Outstanding {
        order: id,
        time: Time(ns),
        connection: ConnectionId(id),
        client: end(id as u32, 1_000),
        server: end(0, 5_432),
        id: 0,
        change,
    }
}

fn pass(live: &mut Live, ns: i64) -> Vec<Moment> {
    let mut moments = Vec::new();
    let one = Traffic {
        packets: 1,
        bytes: 100,
    };
    live.traffic(Time(ns / SECOND * SECOND), one);
    moments.extend(std::iter::from_fn(|| live.over(Time(ns))));
    moments
}

#[test]
fn names_that_never_come_again_fill_no_memory() {
    let mut live = Live::new(SECOND, 10 * SECOND);
    let mut moments = 0;
    for n in 0..60_000_u64 {
        let ns = n as i64 * SECOND / 500;
        moments += pass(&mut live, ns).len();
        let mut c = call(n, &format!("OP{n}"), ns, 1_000_000);
        c.sql = statement(n);
        live.outstanding(&sent(n, ns, Change::Sent));
        live.call(&c);
        let [operations, statements, connections, _] = live.remembered();
        // One more for the line that the others share.
        assert!(operations <= limits::LIVE_OPERATIONS + 1);
        assert!(statements <= limits::LIVE_STATEMENTS + 1);
        assert!(connections <= limits::LIVE_CONNECTIONS);
    }
    assert!(moments > 100);
    let totals = live.finish();
    assert!(totals.groups.len() <= limits::LIVE_OPERATIONS);
    let all: u64 = totals
        .statements
        .iter()
        .map(|s| s.figures.stats.count)
        .sum();
    assert_eq!(all, 60_000, "those that share a line count");
    for kind in [
        "operations-left-out",
        "statements-left-out",
        "connections-not-shown",
        "groups-full",
    ] {
        assert!(totals.problems.iter().any(|(k, _)| k == kind), "{kind}");
    }
}

#[test]
fn labels_that_never_come_again_count_as_others() {
    let mut metrics = Metrics::new(&[Key::Op, Key::Server]).with_databases();
    for n in 0..2_000_u64 {
        metrics.call(&call(n, &format!("OP{n}"), n as i64, 1));
        let mut stretch = Stretch {
            client: end(1, 1_000),
            server: end(n as u32, 5_432),
            protocol: Some(Protocol::Pgsql),
            interval: Interval::holding(ConnectionId(n), Time(0), SECOND),
            spent: [PerClass::of(0); 2],
        };
        stretch.interval.directions[1].packets = 3;
        metrics.stretch(&stretch);
    }
    let result = metrics.now();
    assert_eq!(result.calls.len(), limits::METRICS_LABELS + 1);
    assert_eq!(result.other_calls, 2_000 - limits::METRICS_LABELS as u64);
    let all: u64 = result.calls.iter().map(|row| row.counts.calls).sum();
    assert_eq!(all, 2_000);
    let other = result
        .calls
        .iter()
        .find(|row| row.op == Some(Name::of("other")));
    let other = other.expect("the line that they share");
    assert_eq!(other.counts.response_times.count(), result.other_calls);
    assert_eq!(other.keys, [("server", KeyValue::Text("other".into()))]);
    let databases = result.databases;
    assert_eq!(databases.len(), limits::METRICS_LABELS + 1);
    let timed: u64 = databases.iter().map(|row| row.times.count()).sum();
    assert_eq!(timed, 2_000);
    let others = databases.iter().find(|row| row.server.is_none());
    let others = others.expect("the line that they share");
    assert_eq!(others.op, Name::of("other"));
    assert_eq!(others.times.count(), result.other_calls);
    let servers = result.live.expect("it goes on").servers;
    assert_eq!(servers.len(), limits::METRICS_LABELS + 1);
    let packets: u64 = servers.iter().map(|(_, s)| s.packets[1]).sum();
    assert_eq!(packets, 6_000);
}

#[test]
fn the_window_slides() {
    let mut live = Live::new(SECOND, 3 * SECOND);
    let mut rows = Vec::new();
    for second in 0..8_i64 {
        for moment in pass(&mut live, second * SECOND) {
            let of = |m: &Moment| m.operations.first().map(|r| (r.now.stats.count, r.window));
            rows.push(of(&moment).map(|(now, w)| (now, w.stats.count, w.stats.max_ns)));
        }
        if second < 4 {
            for n in 0..=second {
                let took = (second + 1) * 10_000_000;
                live.call(&call(1, "EXECUTE", second * SECOND + n, took));
            }
        }
    }
    while live.left().is_some() {}
    let ms = 1_000_000;
    assert_eq!(
        rows,
        [
            Some((1, 1, 10 * ms)),
            Some((2, 3, 20 * ms)),
            Some((3, 6, 30 * ms)),
            Some((4, 9, 40 * ms)),
            Some((0, 7, 40 * ms)),
            Some((0, 4, 40 * ms)),
            None,
        ]
    );
}

#[test]
fn a_silence_with_calls_outstanding_is_told_until_one_is_answered() {
    let mut live = Live::new(SECOND, 5 * SECOND);
    live.call(&call(7, "EXECUTE", 100, 50));
    pass(&mut live, 100);
    for n in 0..3 {
        live.outstanding(&sent(7, SECOND / 2 + n, Change::Sent));
    }
    let mut told = Vec::new();
    for second in 1..20 {
        if second == 15 {
            live.outstanding(&sent(7, 14 * SECOND, Change::Settled));
        }
        for m in pass(&mut live, second * SECOND + 1) {
            told.push((m.outstanding, m.silence.map(|s| s.ns / SECOND)));
        }
    }
    assert_eq!(told.first(), Some(&(3, None)));
    assert!(told.contains(&(3, Some(13))), "{told:?}");
    assert!(told.contains(&(2, Some(4))), "{told:?}");
    assert_eq!(told.iter().filter(|(n, _)| *n == 2).count(), 5);
}

#[test]
fn a_threshold_is_told_once_for_each_crossing() {
    let filter = crate::filter::LiveFilter::parse("op=EXECUTE and max>15ms").expect("one");
    let mut triggers = Triggers::new(vec![filter]);
    let mut live = Live::new(SECOND, SECOND);
    let mut crossed = Vec::new();
    // Slow in seconds 2, 3, 5 (told with 2: no three quiet ones between), and 12.
    for second in 0..16_i64 {
        for moment in pass(&mut live, second * SECOND) {
            if !triggers.check(&moment).is_empty() {
                crossed.push(moment.start.0 / SECOND);
            }
        }
        let slow = [2, 3, 5, 12].contains(&second);
        let took = if slow { 20_000_000 } else { 1_000_000 };
        live.call(&call(1, "EXECUTE", second * SECOND + 100_000_000, took));
    }
    assert_eq!(crossed, [2, 12]);
}

#[test]
fn a_clock_that_jumps_makes_no_million_intervals() {
    let mut live = Live::new(SECOND, 10 * SECOND);
    pass(&mut live, 0);
    live.call(&call(1, "EXECUTE", 100, 50));
    let told = pass(&mut live, 365 * 86_400 * SECOND);
    assert!(told.len() < 100, "{}", told.len());
    assert_eq!(told.first().map(|m| m.all.stats.count), Some(1));
    // Set back, it goes on from there.
    let told = pass(&mut live, 20 * SECOND);
    assert!(told.len() < 100, "{}", told.len());
    pass(&mut live, 21 * SECOND);
    let told = pass(&mut live, 22 * SECOND);
    assert_eq!(told.first().map(|m| m.start), Some(Time(21 * SECOND)));
    assert_eq!(told.first().map(|m| m.window.packets), Some(1));
}

#[test]
fn a_silence_of_hours_is_one_moment() {
    const HOURS: i64 = 2 * 3_600;
    let mut live = Live::new(SECOND, 10 * SECOND);
    pass(&mut live, 0);
    live.call(&call(7, "EXECUTE", 100, 50));
    live.outstanding(&sent(7, SECOND / 2, Change::Sent));
    let told = pass(&mut live, HOURS * SECOND);
    let spans: Vec<_> = told
        .iter()
        .map(|m| (m.start, m.width_ns, m.intervals))
        .collect();
    assert_eq!(
        spans,
        [
            (Time(0), SECOND, 1),
            (Time(SECOND), (HOURS - 1) * SECOND, HOURS as u64 - 1)
        ]
    );
    let [first, silent] = &told[..] else {
        panic!("{spans:?}");
    };
    assert!(!first.is_silent() && silent.is_silent());
    // What waits for an answer is told with how long it has waited, and the window is empty.
    let waits = silent.silence.map(|s| (s.outstanding, s.ns / SECOND));
    assert_eq!(waits, Some((1, HOURS - 1)));
    assert!(silent.operations.is_empty());
    assert_eq!(silent.window_ns, 10 * SECOND);
}

#[test]
fn a_threshold_is_quiet_for_as_many_intervals_as_a_silence_has() {
    let filter = crate::filter::LiveFilter::parse("op=EXECUTE and max>15ms").expect("one");
    let mut triggers = Triggers::new(vec![filter]);
    let mut live = Live::new(SECOND, SECOND);
    let mut crossed = Vec::new();
    for second in [0, 1, 2, 4, 5, 30, 31] {
        for moment in pass(&mut live, second * SECOND) {
            if !triggers.check(&moment).is_empty() {
                crossed.push(moment.start.0 / SECOND);
            }
        }
        live.call(&call(1, "EXECUTE", second * SECOND + 1, 20_000_000));
    }
    assert_eq!(crossed, [0, 30], "not behind the second without a packet");
}

#[test]
fn one_packet_of_the_future_does_not_stay_the_last() {
    let mut live = Live::new(SECOND, 10 * SECOND);
    pass(&mut live, 0);
    let stray = Traffic {
        packets: 1,
        bytes: 100,
    };
    live.traffic(Time(365 * 86_400 * SECOND), stray);
    assert_eq!(pass(&mut live, 2 * SECOND).len(), 2);
    let left: Vec<u64> = std::iter::from_fn(|| live.left().map(|m| m.traffic.packets)).collect();
    assert_eq!(
        left,
        [1, 0, 1],
        "what was open, a silence, and the stray one"
    );
}

#[test]
fn connections_are_listed_up_to_a_bound_and_the_others_counted() {
    let mut live = Live::new(SECOND, SECOND);
    let summary = |n: u64| model::ConnectionSummary {
        id: ConnectionId(n),
        transport: Transport::Tcp,
        client: end(n as u32, 1),
        server: end(0, 2),
        first: mark(n as i64),
        last: mark(n as i64 + 1),
        close: model::Close::Finished,
        handshake: model::Handshake::default(),
        reset: None,
        directions: Default::default(),
        accounts: None,
        lines: [None, None],
        is_known: false,
        protocol: None,
        pipelined: None,
        copies: false,
        left_open: 0,
        unanswered: 0,
        late_requests: 0,
        sqlnet: None,
    };
    for n in 0..limits::LIVE_LISTED as u64 + 5 {
        live.connection(&summary(n));
    }
    let totals = live.finish();
    assert_eq!(totals.connections.len(), limits::LIVE_LISTED);
    assert_eq!(totals.left_out, 5);
}

#[test]
fn a_row_that_is_opened_has_its_calls_by_interval_and_the_slowest() {
    let mut past = Past::new(SECOND);
    for second in 0..4_i64 {
        for n in 1..=10_i64 {
            let at = second * SECOND + n;
            past.call(&call(7, "EXECUTE", at, n * 1_000_000 * (second + 1)));
            past.call(&call(8, "FETCH", at, 900_000_000));
        }
    }
    past.call(&call(8, "FETCH", 6 * SECOND, 1_000));
    let key = RowKey::Operation(Protocol::Pgsql, Name::of("EXECUTE"));
    let opened = past.of(key, Time(4 * SECOND), 100);
    assert_eq!((opened.start, opened.intervals.len()), (Time(0), 4));
    let sums = opened.intervals.iter().map(|i| i.calls.iter().sum::<u32>());
    assert_eq!(sums.collect::<Vec<_>>(), [10; 4]);
    // Of one second: 1 ms, 2 ms, 3 to 5 ms, 6 to 10 ms, each with its bound.
    let of_first: Vec<(i64, u32)> = BOUNDS_NS
        .into_iter()
        .zip(opened.intervals[0].calls)
        .collect();
    let some: Vec<(i64, u32)> = of_first.into_iter().filter(|(_, n)| *n > 0).collect();
    assert_eq!(
        some,
        [
            (1_000_000, 1),
            (2_000_000, 1),
            (5_000_000, 3),
            (10_000_000, 5)
        ]
    );
    let slowest: Vec<i64> = opened.slowest().iter().map(|c| c.ns / 1_000_000).collect();
    assert_eq!(slowest, [40, 36, 32, 30, 27, 24, 20, 18, 16, 10, 9, 8]);
    // What was not yet shown is not there, and what is older than asked for neither.
    assert_eq!(past.of(key, Time(2 * SECOND), 1).slowest().len(), 3);
    // Of a row that did nothing in it, the interval is there too.
    let later = past.of(key, Time(7 * SECOND), 100);
    assert_eq!(later.intervals.len(), 7);
    assert_eq!(later.intervals[6], PastInterval::default());
}

#[test]
fn what_rows_did_is_remembered_up_to_a_bound() {
    let mut past = Past::new(SECOND);
    let kept = |past: &Past| past.slowest().count();
    for n in 0..60_000_u64 {
        let ns = n as i64 * SECOND / 5_000;
        past.call(&call(n, &format!("OP{n}"), ns, 1_000_000));
        // Each has a row as operation, and one as connection.
        if n % 1_000 == 0 {
            assert!(kept(&past) <= limits::LIVE_PAST / 2);
        }
    }
    assert!(kept(&past) > limits::LIVE_PAST / 4);
    // The newest are there, the oldest made room.
    let of = |n: u64| RowKey::Operation(Protocol::Pgsql, Name::of(&format!("OP{n}")));
    let end = Time(12 * SECOND);
    assert_eq!(past.of(of(59_999), end, 20).slowest().len(), 1);
    assert_eq!(past.of(of(0), end, 20).slowest().len(), 0);
    // More than fits in one interval is not remembered either; and hours are not.
    for n in 0..2 * limits::LIVE_PAST as u64 {
        past.call(&call(n, &format!("OP{n}"), 20 * SECOND, 1_000_000));
    }
    assert!(kept(&past) <= limits::LIVE_PAST / 2);
    for second in 0..10_000 {
        past.call(&call(1, "OP", second * SECOND, 1_000_000));
    }
    let most = limits::LIVE_PAST_INTERVALS;
    assert!((most..=most + 1).contains(&kept(&past)), "{}", kept(&past));
    // Those of a clock that was set back are of no time.
    past.reached(Time(9_800 * SECOND));
    assert!(
        past.of(of(1), Time(10_000 * SECOND), 240)
            .slowest()
            .is_empty()
    );
}
