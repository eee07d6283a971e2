//! Literal bytes, conversations over UDP and TCP, and random bytes.

use super::message::{self, Kind, Question};
use crate::kit::{DOWN, Event, UP, connection, datagrams, down, seen, segments, up};
use model::{Change, Close, Field, Outcome, Protocol, Reason, Transport};
use proptest::prelude::*;

/// `A example.com`, number 0x1234, recursion desired (RFC 1035 section 4).
const QUERY: [u8; 29] = [
    0x12, 0x34, 0x01, 0x00, 0, 1, 0, 0, 0, 0, 0, 0, // header: one question
    7, b'e', b'x', b'a', b'm', b'p', b'l', b'e', 3, b'c', b'o', b'm', 0, // name
    0, 1, 0, 1, // A, IN
];

/// The same name, and the name of its answer by a pointer to it.
fn response(rcode: u8, answers: u8) -> Vec<u8> {
    let mut bytes = QUERY.to_vec();
    bytes[2] = 0x81;
    bytes[3] = 0x80 | rcode;
    bytes[7] = answers;
    for host in 0..answers {
        bytes.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 192, 0, 2, host]);
    }
    bytes
}

#[test]
fn a_query_is_its_header_and_a_name() {
    let m = message::parse(&QUERY).unwrap();
    assert_eq!((m.id, m.response, m.opcode, m.rcode), (0x1234, false, 0, 0));
    let Question { name, kind } = m.question.unwrap();
    assert_eq!(message::text(&name), "example.com");
    assert_eq!(kind, Kind(1));
    assert!(m.sane && m.certain);
    for end in 0..12 {
        assert!(message::parse(&QUERY[..end]).is_none(), "{end} bytes");
    }
}

#[test]
fn names_may_point_back_and_never_in_circles() {
    let bytes = response(0, 1);
    let answers: Vec<_> = message::answers(&bytes).collect();
    assert_eq!(answers.len(), 1);
    assert_eq!(message::text(&answers[0].0), "example.com");
    // A pointer to itself, and one behind the end.
    assert_eq!(message::name(&[0xc0, 0], 0), None);
    assert_eq!(message::name(&[0xc0, 9], 0), None);
    assert_eq!(message::text(&[4, b'a', b'.', 0, 200]), "a\\.\\000\\200");
    assert_eq!(message::text(&[]), ".");
}

#[test]
fn an_answer_ends_a_question() {
    let answer = response(0, 2);
    let events = [up(&QUERY), down(&answer)];
    let calls = datagrams(53, &events, Close::Expired);
    assert_eq!(calls.len(), 1);
    let call = &calls[0];
    assert_eq!((call.protocol, call.op.as_str()), (Protocol::Dns, "A"));
    assert_eq!((call.id, call.outcome), (0x1234, Outcome::Ok));
    assert_eq!(call.text.as_deref(), Some("example.com"));
    assert_eq!(call.detail.get(Field::Answers), Some(2));
    assert_eq!(call.response_time_ns(), Some(1_000_000));
}

/// That a name is asked for is told once, and its answer if one comes; neither counts as outstanding.
#[test]
fn what_is_asked_and_told_is_said() {
    let told = |events: &[Event]| -> Vec<Change> {
        let seen = seen(&connection(Transport::Udp, 53), events, Close::Expired);
        assert!(seen.outstanding.iter().all(|o| !o.counts()));
        seen.outstanding.iter().map(|o| o.change).collect()
    };
    let answer = response(0, 1);
    let answered = [up(&QUERY), up(&QUERY), down(&answer)];
    assert_eq!(told(&answered), [Change::Asked, Change::Told]);
    assert_eq!(told(&answered[..2]), [Change::Asked]);
    assert_eq!(told(&answered[2..]), []);
}

#[test]
fn a_question_sent_again_is_one_call_from_its_first_sending() {
    let answer = response(3, 0);
    let events = [
        up(&QUERY),
        up(&QUERY),
        down(&answer),
        // The answer to the second sending.
        down(&answer),
    ];
    let calls = datagrams(53, &events, Close::Expired);
    assert_eq!(calls.len(), 1);
    assert_eq!(calls[0].outcome, Outcome::Error("NXDOMAIN"));
    assert_eq!(calls[0].retransmits, 1);
    assert_eq!(calls[0].response_time_ns(), Some(2_000_000));
}

#[test]
fn what_is_not_answered_says_so() {
    let silent = datagrams(53, &[up(&QUERY)], Close::Expired);
    assert_eq!(silent[0].outcome, Outcome::NoResponse(Reason::NoAnswer));
    let answer = response(0, 1);
    let stray = datagrams(53, &[down(&answer)], Close::Expired);
    assert_eq!(stray[0].outcome, Outcome::NoRequest(Reason::BeforeCapture));
}

#[test]
fn the_port_says_which_of_the_three_it_is() {
    let of = |port| datagrams(port, &[up(&QUERY)], Close::Expired)[0].protocol;
    assert_eq!(of(5353), Protocol::Mdns);
    assert_eq!(of(5355), Protocol::Llmnr);
    // Also elsewhere a whole query about a name is one.
    assert_eq!(of(10_053), Protocol::Dns);
}

#[test]
fn messages_over_tcp_have_a_length_before_them() {
    let framed = |bytes: &[u8]| {
        let mut all = (bytes.len() as u16).to_be_bytes().to_vec();
        all.extend_from_slice(bytes);
        all
    };
    let (query, answer) = (framed(&QUERY), framed(&response(0, 1)));
    let whole = segments(53, &[up(&query), down(&answer)], Close::Finished);
    assert_eq!(whole.len(), 1);
    assert_eq!(whole[0].outcome, Outcome::Ok);
    // The answer in any two pieces.
    for at in 1..answer.len() {
        let (head, rest) = answer.split_at(at);
        let events = [up(&query), down(head), down(rest)];
        let split = segments(53, &events, Close::Finished);
        assert_eq!((split.len(), split[0].outcome), (1, Outcome::Ok), "at {at}");
    }
}

#[test]
fn a_length_in_a_segment_of_its_own_begins_a_message() {
    let (query, answer) = (QUERY, response(0, 1));
    let lengths = [&query[..], &answer].map(|m| (m.len() as u16).to_be_bytes());
    let events = [
        up(&lengths[0]),
        up(&query),
        down(&lengths[1]),
        down(&answer),
    ];
    let calls = segments(53, &events, Close::Finished);
    assert_eq!((calls.len(), calls[0].outcome), (1, Outcome::Ok));
    assert!(calls[0].request_first < calls[0].request_last);
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(
        told in prop::collection::vec((any::<bool>(), prop::collection::vec(any::<u8>(), 0..80)), 0..20),
        port in prop::sample::select(vec![53u16, 137, 5353, 5355, 40_000]),
    ) {
        let events: Vec<Event> = told
            .iter()
            .map(|(up, bytes)| Event::Bytes(if *up { UP } else { DOWN }, bytes.clone()))
            .collect();
        datagrams(port, &events, Close::Expired);
    }

    #[test]
    fn damaged_messages_are_survived(at in 0usize..45, value in any::<u8>(), cut in 0usize..46) {
        let mut bytes = response(0, 1);
        if let Some(byte) = bytes.get_mut(at) {
            *byte = value;
        }
        bytes.truncate(cut);
        datagrams(53, &[up(&QUERY), down(&bytes)], Close::Expired);
    }
}
