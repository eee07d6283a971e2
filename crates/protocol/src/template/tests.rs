//! Conversations in literal bytes, whole, split at every byte, and with holes.

use super::message::GREETING;
use crate::{ConnectionInfo, Context, Conversation, Output, Shared};
use model::{
    Call, Change, Chunk, Close, ConnectionId, Direction, Endpoint, Mark, Outcome, PacketRef,
    Problems, Reason, Time, Transport,
};
use proptest::prelude::*;

const UP: Direction = Direction::ToServer;
const DOWN: Direction = Direction::ToClient;

/// Message 7, a request with a body of three bytes, and its response with one of two.
const REQUEST: [u8; 12] = [0, 0, 0, 8, 1, 0, 0, 0, 7, b'a', b'b', b'c'];
const RESPONSE: [u8; 11] = [0, 0, 0, 7, 2, 0, 0, 0, 7, b'x', b'y'];

/// What a connection carries, in order.
enum Event<'a> {
    Bytes(Direction, &'a [u8]),
    /// Bytes of a segment of which so many more were cut off.
    Cut(Direction, &'a [u8], u32),
    Gap(Direction, u64),
}
use Event::{Bytes, Cut, Gap};

/// The calls of one connection; event n, counted from 1, is frame n and comes at n milliseconds.
fn calls(events: &[Event<'_>], end: Close) -> Vec<Call> {
    let endpoint = |host| Endpoint {
        address: [10, 0, 0, host].into(),
        port: 7007,
    };
    let connection = ConnectionInfo {
        id: ConnectionId(0),
        transport: Transport::Tcp,
        client: endpoint(1),
        server: endpoint(2),
        roles_known: true,
    };
    let mut conversation = Conversation::default();
    let (mut output, mut problems, mut shared) =
        (Output::default(), Problems::default(), Shared::default());
    let mut order = 0;
    for event in events.iter().map(Some).chain([None]) {
        order += 1;
        let now = Time(order as i64 * 1_000_000);
        let mut cx = Context {
            connection: &connection,
            output: &mut output,
            problems: &mut problems,
            shared: &mut shared,
            order,
            now,
        };
        let mut feed = |d, data, cut| {
            let packet = PacketRef {
                file: 0,
                frame: order as u32,
            };
            let chunk = Chunk {
                data,
                cut,
                mark: Mark { time: now, packet },
                sequence: order as u32,
                order,
                now,
                held_since: None,
                heard_all: true,
            };
            conversation.data(&mut cx, d, &chunk);
        };
        match event {
            Some(Bytes(d, data)) => feed(*d, data, 0),
            Some(Cut(d, data, cut)) => feed(*d, data, *cut),
            Some(Gap(d, length)) => conversation.gap(&mut cx, *d, *length),
            None => conversation.close(&mut cx, end),
        }
    }
    let waiting: i64 = output
        .outstanding
        .iter()
        .map(|o| match o.change {
            Change::Sent => 1,
            Change::Settled => -1,
            Change::Stray | Change::Spoke => 0,
        })
        .sum();
    assert_eq!(waiting, 0, "what was sent is settled in the end");
    output.calls
}

/// Frames of request first and last byte, response first and last byte.
fn frames(call: &Call) -> [Option<u32>; 4] {
    [
        call.request_first,
        call.request_last,
        call.response_first,
        call.response_last,
    ]
    .map(|mark| mark.map(|m| m.packet.frame))
}

#[test]
fn a_request_and_its_response_are_a_call() {
    let events = [
        Bytes(UP, &GREETING),
        Bytes(UP, &REQUEST),
        Bytes(DOWN, &RESPONSE),
    ];
    let calls = calls(&events, Close::Finished);
    assert_eq!(calls.len(), 1);
    let call = &calls[0];
    assert_eq!(
        (call.id, call.op.as_str(), call.outcome),
        (7, "CALL", Outcome::Ok)
    );
    assert_eq!(frames(call), [Some(2), Some(2), Some(3), Some(3)]);
    assert_eq!((call.request_bytes, call.response_bytes), (12, 11));
    assert_eq!(call.response_time_ns(), Some(1_000_000));
    assert_eq!(call.outstanding, 1);
}

#[test]
fn without_its_greeting_it_is_not_recognised() {
    let events = [Bytes(UP, &REQUEST), Bytes(DOWN, &RESPONSE)];
    let calls = calls(&events, Close::Finished);
    assert!(calls.iter().all(|call| call.op.as_str() == "TURN"));
}

#[test]
fn any_cut_into_segments_gives_the_same_call() {
    for up in 1..REQUEST.len() {
        for down in 1..RESPONSE.len() {
            let (a, b) = REQUEST.split_at(up);
            let (c, d) = RESPONSE.split_at(down);
            let calls = calls(
                &[
                    Bytes(UP, &GREETING),
                    Bytes(UP, a),
                    Bytes(UP, b),
                    Bytes(DOWN, c),
                    Bytes(DOWN, d),
                ],
                Close::Finished,
            );
            assert_eq!(calls.len(), 1, "split at {up} and {down}");
            assert_eq!(frames(&calls[0]), [Some(2), Some(3), Some(4), Some(5)]);
            assert_eq!(calls[0].outcome, Outcome::Ok);
        }
    }
}

#[test]
fn a_hole_within_a_body_costs_nothing_but_an_unknown_end() {
    // Header of the request, then the snap length; the next request is found all the same.
    let second = [0, 0, 0, 5, 1, 0, 0, 0, 8];
    let cut = [
        Bytes(UP, &GREETING),
        Cut(UP, &REQUEST[..9], 3),
        Bytes(UP, &second),
        Bytes(DOWN, &RESPONSE),
    ];
    let found = calls(&cut, Close::Reset);
    let outcomes: Vec<_> = found.iter().map(|c| (c.id, c.outcome)).collect();
    assert_eq!(
        outcomes,
        [(7, Outcome::Ok), (8, Outcome::NoResponse(Reason::NoAnswer))]
    );
    // The same bytes in a packet that the capture lacks: when they came is not known.
    let gap = [
        Bytes(UP, &GREETING),
        Bytes(UP, &REQUEST[..9]),
        Gap(UP, 3),
        Bytes(DOWN, &RESPONSE),
    ];
    let found = calls(&gap, Close::Finished);
    assert_eq!(found[0].outcome, Outcome::Incomplete(Reason::CaptureGap));
    assert_eq!(frames(&found[0]), [Some(2), None, Some(4), Some(4)]);
}

#[test]
fn behind_a_hole_the_next_message_is_found_in_the_middle_of_a_segment() {
    let next = [0, 0, 0, 5, 1, 0, 0, 0, 8];
    let segment = [&[9, 9, 9, 9, 9][..], &next].concat();
    let answer = [0, 0, 0, 5, 2, 0, 0, 0, 8];
    let events = [
        Bytes(UP, &GREETING),
        Bytes(UP, &REQUEST),
        Gap(UP, 100),
        Bytes(UP, &segment),
        Bytes(DOWN, &answer),
    ];
    let found = calls(&events, Close::EndOfCapture);
    let outcomes: Vec<_> = found.iter().map(|c| (c.id, c.outcome)).collect();
    let unanswered = Outcome::NoResponse(Reason::AfterCapture);
    assert_eq!(outcomes, [(8, Outcome::Ok), (7, unanswered)]);
}

#[test]
fn a_response_to_a_request_in_a_hole_says_so() {
    let next = [0, 0, 0, 5, 1, 0, 0, 0, 9];
    let answers = [[0, 0, 0, 5, 2, 0, 0, 0, 7], [0, 0, 0, 5, 2, 0, 0, 0, 8]];
    let events = [
        Bytes(UP, &GREETING),
        Bytes(UP, &REQUEST),
        Gap(UP, 9),
        Bytes(UP, &next),
        Bytes(DOWN, &answers[0]),
        Bytes(DOWN, &answers[1]),
    ];
    let found = calls(&events, Close::Finished);
    let outcomes: Vec<_> = found.iter().map(|c| (c.id, c.outcome)).collect();
    assert_eq!(
        outcomes,
        [
            (7, Outcome::Ok),
            (8, Outcome::NoRequest(Reason::CaptureGap)),
            (9, Outcome::NoResponse(Reason::NoAnswer)),
        ]
    );
}

proptest! {
    #[test]
    fn any_bytes_behind_the_greeting_do_no_harm(
        chunks in proptest::collection::vec((any::<bool>(), proptest::collection::vec(0u8..10, 1..40), 0u32..20), 0..20)
    ) {
        let events: Vec<Event<'_>> = std::iter::once(Bytes(UP, &GREETING))
            .chain(chunks.iter().map(|(up, data, cut)| Cut(if *up { UP } else { DOWN }, data, *cut)))
            .collect();
        for call in calls(&events, Close::Finished) {
            prop_assert!(call.request_first.is_some() || call.response_first.is_some());
            prop_assert!(!call.is_complete() || call.wait_ns().is_some());
        }
    }
}
