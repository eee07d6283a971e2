//! Which of calls, turns and lookups are judged, and which are listed.

use super::*;
use crate::facts::Thresholds;
use model::{ConnectionId, Detail, Endpoint, Mark, Name, Outcome, PacketRef};

const MS: i64 = 1_000_000;

/// So many calls of a protocol, one after another, that wait so long each for the server.
fn feed(d: &mut Diagnosers, protocol: Protocol, count: u32, wait_ms: i64) {
    feed_to(d, 0, 9_000, protocol, count, wait_ms);
}

/// The same as capture `which` has them, of a server's port.
fn feed_to(
    d: &mut Diagnosers,
    which: usize,
    port: u16,
    protocol: Protocol,
    count: u32,
    wait_ms: i64,
) {
    let end = |host, port| Endpoint {
        address: [10, 0, 0, host].into(),
        port,
    };
    for i in 0..count {
        let first = i64::from(i) * (wait_ms + 1) * MS;
        let mark = |at| {
            Some(Mark {
                time: Time(at),
                packet: PacketRef { file: 0, frame: i },
            })
        };
        let call = Call {
            order: u64::from(i),
            connection: ConnectionId(0),
            protocol,
            op: Name::of("X"),
            client: end(1, 40_000),
            server: end(2, port),
            id: i,
            request_sequence: i,
            response_sequence: i,
            request_first: mark(first),
            request_last: mark(first),
            response_first: mark(first + wait_ms * MS),
            response_last: mark(first + wait_ms * MS),
            request_bytes: 10,
            response_bytes: 10,
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
        };
        d.call(which, &call);
    }
    // The client is a microsecond away.
    let mut c = crate::sql::tests::connection();
    c.handshake.syn = Some(Time(0));
    c.handshake.syn_ack = Some(Time(1_000));
    c.handshake.ack = Some(Time(2_000));
    d.connection(which, &c);
}

fn diagnosis(fill: impl FnOnce(&mut Diagnosers)) -> Diagnosis {
    diagnosis_of([Some(Vantage::Server), None], 1, fill)
}

fn diagnosis_of(
    stated: [Option<Vantage>; 2],
    captures: usize,
    fill: impl FnOnce(&mut Diagnosers),
) -> Diagnosis {
    let options = Options {
        thresholds: Thresholds {
            fast_enough_ns: 2 * MS,
            tail_ns: 20 * MS,
        },
        stated,
        clock_offset_ns: None,
        statements_bytes: u64::MAX,
        whole: true,
        app: None,
        server_app: None,
        hosts: Arc::default(),
        passes_on: false,
        has_peers: false,
    };
    let mut d = Diagnosers::new(captures, options);
    fill(&mut d);
    let result = CaptureResult {
        files: vec!["a".into()],
        first: Some(Time(0)),
        last: Some(Time(3_600_000 * MS)),
        ..CaptureResult::default()
    };
    d.finish(vec![result; captures])
}

#[test]
fn turns_are_judged_where_there_is_nothing_else_and_they_are_more_than_a_handful() {
    let slow = |n| diagnosis(|d| feed(d, Protocol::Tcp, n, 100));
    assert_eq!(slow(30).verdict.side, Side::Server);
    assert_eq!(slow(5).verdict.side, Side::Undetermined);
}

#[test]
fn lookups_are_listed_and_never_judged() {
    let d = diagnosis(|d| {
        feed(d, Protocol::Dns, 100, 5_000);
        feed(d, Protocol::Nfs3, 30, 1);
    });
    assert_eq!(d.verdict.side, Side::None);
    assert_eq!(d.ops.len(), 2);
    assert!(
        d.notes
            .iter()
            .any(|n| n.to_string().starts_with("100 lookups"))
    );
}

/// Pages and their pictures beside what a database is asked for them.
#[test]
fn slow_calls_are_judged_however_many_turns_pass_beside_them() {
    let of = |turns: u32, turn_ms, call_ms| {
        diagnosis(|d| {
            feed(d, Protocol::Tcp, turns, turn_ms);
            feed(d, Protocol::Pgsql, 20, call_ms);
        })
    };
    let d = of(4_000, 1, 200);
    assert_eq!(d.verdict.side, Side::Server);
    assert!(
        d.verdict
            .sentence
            .to_string()
            .contains("of 200 ms per call")
    );
    // Neither is slow: there are more turns.
    let d = of(4_000, 1, 1);
    assert_eq!(d.verdict.side, Side::None);
    assert!(d.verdict.sentence.to_string().contains("4,000 calls"));
    let notes: Vec<String> = d.notes.iter().map(ToString::to_string).collect();
    assert!(
        notes.iter().any(|n| n.contains("20 calls of known ones")),
        "{notes:?}"
    );
    // Both are, and calls are less than a hundredth of it.
    let d = of(4_000, 100, 100);
    assert!(
        d.verdict
            .sentence
            .to_string()
            .contains("of 100 ms per call")
    );
    assert_eq!(d.verdict.side, Side::Server);
    // Calls take next to nothing of what passes.
    assert_eq!(of(4_000, 1, 3).verdict.side, Side::Server);
    let d = of(8_000, 1, 3);
    assert_eq!(d.verdict.side, Side::None);
    let said = d.verdict.sentence.to_string();
    assert!(
        said.ends_with("20 calls of protocols that are known, 3.00 ms each."),
        "{said}"
    );
}

#[test]
fn turns_beside_calls_of_a_known_protocol_are_listed_and_not_judged() {
    let d = diagnosis(|d| {
        feed(d, Protocol::Tcp, 100, 5_000);
        feed(d, Protocol::Nfs3, 30, 1);
    });
    assert_eq!(d.verdict.side, Side::None);
    assert_eq!(d.ops.len(), 2);
    assert_eq!(d.ops[0].protocol, Protocol::Tcp);
    assert!(
        d.notes
            .iter()
            .any(|n| n.to_string().starts_with("100 turns"))
    );
    let said = d.verdict.sentence.to_string();
    let beside = "Not judged beside them: 100 turns of a protocol that is not known, 5.00 s each.";
    assert!(said.ends_with(beside), "{said}");
    // A few say nothing.
    let d = diagnosis(|d| {
        feed(d, Protocol::Tcp, 19, 5_000);
        feed(d, Protocol::Nfs3, 30, 1);
    });
    assert!(!d.verdict.sentence.to_string().contains("beside"));
}

/// Of the two servers that a client asks the other capture shows one.
#[test]
fn slow_calls_of_a_server_that_the_other_capture_does_not_show_are_not_acquitted() {
    let of = |elsewhere_ms| {
        let stated = [Some(Vantage::Client), Some(Vantage::Server)];
        diagnosis_of(stated, 2, |d| {
            for which in [0, 1] {
                feed_to(d, which, 2_049, Protocol::Nfs3, 200, 1);
            }
            feed_to(d, 0, 5_432, Protocol::Pgsql, 30, elsewhere_ms);
        })
    };
    let d = of(50);
    let said = d.verdict.sentence.to_string();
    assert_eq!(d.verdict.side, Side::Undetermined, "{said}");
    assert!(
        said.contains("Calls that took 1.50 s are not whole in both captures"),
        "{said}"
    );
    assert_eq!(of(1).verdict.side, Side::None);
}
