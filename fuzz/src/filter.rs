//! Texts through `analysis::filter::Filter`.

use analysis::filter::Filter;
use model::{
    Call, ConnectionId, Detail, Endpoint, Field, Mark, Name, Outcome, PacketRef, Protocol, Reason,
    Time,
};

fn mark(ns: i64, frame: u32) -> Option<Mark> {
    let packet = PacketRef { file: 0, frame };
    Some(Mark {
        time: Time(1_700_000_000_000_000_000 + ns),
        packet,
    })
}

/// A READ of 64 KiB that took 25 ms, and one that nobody answered.
fn calls() -> [Call; 2] {
    let end = |host, port| Endpoint {
        address: [10, 0, 0, host].into(),
        port,
    };
    let mut detail = Detail::default();
    for (i, &field) in (0..).zip(Field::ALL) {
        detail.set(field, i);
    }
    let call = Call {
        order: 7,
        connection: ConnectionId(1),
        protocol: Protocol::Nfs41,
        op: Name::of("READ"),
        client: end(1, 700),
        server: end(2, 2_049),
        id: 0x4ecb_8123,
        request_sequence: 1,
        response_sequence: 2,
        request_first: mark(0, 10),
        request_last: mark(1_000_000, 11),
        response_first: mark(21_000_000, 12),
        response_last: mark(25_000_000, 13),
        request_bytes: 180,
        response_bytes: 65_700,
        outcome: Outcome::Ok,
        outstanding: 4,
        retransmits: 0,
        request_held_ns: 0,
        response_held_ns: 0,
        inner: None,
        hidden: None,
        detail,
        text: Some("SEQUENCE,PUTFH,READ".into()),
        sql: None,
    };
    let unanswered = Call {
        response_first: None,
        response_last: None,
        outcome: Outcome::NoResponse(Reason::NoAnswer),
        detail: Detail::default(),
        ..call.clone()
    };
    [call, unanswered]
}

pub fn filter(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    match Filter::parse(text) {
        Ok(filter) => {
            let not = Filter::parse(&format!("not ({text})"));
            for call in calls() {
                let matches = filter.matches(&call);
                // One more level may be one too many.
                assert!(
                    not.as_ref()
                        .map_or(true, |not| not.matches(&call) != matches)
                );
            }
        }
        Err(error) => {
            assert!(
                (1..=text.chars().count() + 1).contains(&error.column),
                "{error:?}"
            );
            assert!(!error.message.is_empty());
        }
    }
}
