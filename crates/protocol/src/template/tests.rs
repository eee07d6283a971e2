//! Conversations in literal bytes, whole, split at every byte, and with holes.

use super::message::GREETING;
use crate::kit::{Cut, DOWN, Event, Gap, UP, down, frames, opened, seen, up};
use model::{Call, Close, Outcome, Reason};
use proptest::prelude::*;

/// Message 7, a request with a body of three bytes, and its response with one of two.
const REQUEST: [u8; 12] = [0, 0, 0, 8, 1, 0, 0, 0, 7, b'a', b'b', b'c'];
const RESPONSE: [u8; 11] = [0, 0, 0, 7, 2, 0, 0, 0, 7, b'x', b'y'];

fn calls(events: &[Event], end: Close) -> Vec<Call> {
    seen(&opened(7007), events, end).calls
}

#[test]
fn a_request_and_its_response_are_a_call() {
    let events = [up(&GREETING), up(&REQUEST), down(&RESPONSE)];
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
    let events = [up(&REQUEST), down(&RESPONSE)];
    let calls = calls(&events, Close::Finished);
    assert!(calls.iter().all(|call| call.op.as_str() == "TURN"));
}

#[test]
fn any_cut_into_segments_gives_the_same_call() {
    for sent in 1..REQUEST.len() {
        for answered in 1..RESPONSE.len() {
            let (a, b) = REQUEST.split_at(sent);
            let (c, d) = RESPONSE.split_at(answered);
            let calls = calls(
                &[up(&GREETING), up(a), up(b), down(c), down(d)],
                Close::Finished,
            );
            assert_eq!(calls.len(), 1, "split at {sent} and {answered}");
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
        up(&GREETING),
        Cut(UP, REQUEST[..9].to_vec(), 3),
        up(&second),
        down(&RESPONSE),
    ];
    let found = calls(&cut, Close::Reset);
    let outcomes: Vec<_> = found.iter().map(|c| (c.id, c.outcome)).collect();
    assert_eq!(
        outcomes,
        [(7, Outcome::Ok), (8, Outcome::NoResponse(Reason::NoAnswer))]
    );
    // The same bytes in a packet that the capture lacks: when they came is not known.
    let gap = [
        up(&GREETING),
        up(&REQUEST[..9]),
        Gap(UP, 3),
        down(&RESPONSE),
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
        up(&GREETING),
        up(&REQUEST),
        Gap(UP, 100),
        up(&segment),
        down(&answer),
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
        up(&GREETING),
        up(&REQUEST),
        Gap(UP, 9),
        up(&next),
        down(&answers[0]),
        down(&answers[1]),
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
        let events: Vec<Event> = std::iter::once(up(&GREETING))
            .chain(chunks.iter().map(|(is_up, data, cut)| Cut(if *is_up { UP } else { DOWN }, data.clone(), *cut)))
            .collect();
        for call in calls(&events, Close::Finished) {
            prop_assert!(call.request_first.is_some() || call.response_first.is_some());
            prop_assert!(!call.is_complete() || call.wait_ns().is_some());
        }
    }
}
