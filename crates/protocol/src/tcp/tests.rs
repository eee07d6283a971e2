//! Streams of unknown protocols: who spoke when, and what the turns are.

use crate::ConnectionInfo;
use crate::kit::{
    self, Crossing, Cut, DOWN, Event, Gap, Late, Pause, UP, down, frames, joined, opened, up,
};
use model::{Call, Close, Outcome, Reason, limits};
use proptest::prelude::*;

const PORT: u16 = 9_000;

/// The calls of a connection, and the kinds of problems.
fn run(
    connection: &ConnectionInfo,
    events: &[Event],
    end: Close,
) -> (Vec<Call>, Vec<&'static str>) {
    let seen = kit::seen(connection, events, end);
    assert!(seen.outstanding.is_empty(), "turns are not waited for");
    let kinds = seen.problems.iter().map(|(kind, _)| kind).collect();
    (seen.calls, kinds)
}

fn calls(events: &[Event]) -> Vec<Call> {
    run(&opened(PORT), events, Close::Finished).0
}

fn outcomes(events: &[Event]) -> Vec<Outcome> {
    calls(events).iter().map(|c| c.outcome).collect()
}

fn bytes(n: usize) -> Vec<u8> {
    vec![b'x'; n]
}

/// So many turns of a request and a response each.
fn turns(n: usize) -> Vec<Event> {
    (0..n)
        .flat_map(|_| [up(&bytes(10)), down(&bytes(20))])
        .collect()
}

#[test]
fn a_turn_is_what_the_client_says_and_what_the_server_says_to_it() {
    let calls = calls(&[
        up(&bytes(3)),
        up(&bytes(4)),
        down(&bytes(5)),
        down(&bytes(6)),
        up(&bytes(1)),
        down(&bytes(2)),
    ]);
    assert_eq!(calls.len(), 2);
    let (a, b) = (&calls[0], &calls[1]);
    assert_eq!(frames(a), [Some(1), Some(2), Some(3), Some(4)]);
    assert_eq!((a.request_bytes, a.response_bytes), (7, 11));
    assert_eq!((a.op.as_str(), a.outcome), ("TURN", Outcome::Ok));
    assert_eq!(frames(b), [Some(5), Some(5), Some(6), Some(6)]);
    // The id is the place in the client's stream, whatever came before.
    assert_eq!((a.id, b.id), (1_000, 1_007));
    assert_eq!((b.request_sequence, b.response_sequence), (1_007, 5_011));
}

#[test]
fn a_greeting_of_the_server_opens_no_turn() {
    let greeted = calls(&[down(&bytes(30)), up(&bytes(3)), down(&bytes(5))]);
    assert_eq!(greeted.len(), 1);
    assert_eq!(frames(&greeted[0]), [Some(2), Some(2), Some(3), Some(3)]);
    assert!(calls(&[down(&bytes(30)), down(&bytes(30))]).is_empty());
}

#[test]
fn what_a_server_says_as_its_client_ends_answers_no_request() {
    // One that was not answered, one that was, and an answer that takes longer than its client stays open.
    let last = |events: &[Event]| calls(events).pop().map(|c| (c.outcome, c.response_bytes));
    let asked = [up(&bytes(3)), Pause(900), Event::End, down(&bytes(5))];
    let nothing = Outcome::NoResponse(Reason::NoAnswer);
    assert_eq!(last(&asked), Some((nothing, 0)));
    let answered = [
        up(&bytes(3)),
        down(&bytes(7)),
        Pause(900),
        Event::End,
        down(&bytes(5)),
    ];
    assert_eq!(last(&answered), Some((Outcome::Ok, 7)));
    let slow = [up(&bytes(3)), Event::End, Pause(900), down(&bytes(5))];
    assert_eq!(last(&slow), Some((Outcome::Ok, 5)));
}

#[test]
fn a_transfer_one_way_is_one_turn() {
    let mut upload: Vec<_> = (0..500).map(|_| up(&bytes(1_448))).collect();
    upload.push(down(&bytes(1)));
    let calls = calls(&upload);
    assert_eq!(calls.len(), 1);
    assert_eq!(
        frames(&calls[0]),
        [Some(1), Some(500), Some(501), Some(501)]
    );
}

#[test]
fn what_nobody_answered_says_why() {
    let unanswered = [up(&bytes(3)), down(&bytes(1)), up(&bytes(9))];
    let last = |why, wait| {
        let events = [&unanswered[..], &[Pause(wait)]].concat();
        let (calls, _) = run(&opened(PORT), &events, why);
        (calls.len(), calls[calls.len() - 1].outcome)
    };
    let no = |reason| (2, Outcome::NoResponse(reason));
    assert_eq!(last(Close::Reset, 0), no(Reason::NoAnswer));
    assert_eq!(last(Close::EndOfCapture, 0), no(Reason::AfterCapture));
    assert_eq!(last(Close::EndOfCapture, 100_000), no(Reason::NoAnswer));
    let hidden = [up(&bytes(3)), Gap(DOWN, 5), up(&bytes(9)), down(&bytes(1))];
    assert_eq!(
        outcomes(&hidden),
        [Outcome::NoResponse(Reason::CaptureGap), Outcome::Ok]
    );
}

#[test]
fn a_response_that_the_end_of_the_capture_cuts_short_has_no_end() {
    let events = [up(&bytes(3)), down(&bytes(100))];
    let (short, _) = run(&opened(PORT), &events, Close::EndOfCapture);
    assert_eq!(short[0].outcome, Outcome::Incomplete(Reason::AfterCapture));
    assert_eq!(frames(&short[0]), [Some(1), Some(1), Some(2), None]);
    let (silent, _) = run(
        &opened(PORT),
        &[&events[..], &[Pause(2_000)]].concat(),
        Close::EndOfCapture,
    );
    assert_eq!(silent[0].outcome, Outcome::Ok);
}

#[test]
fn a_gap_within_a_message_costs_nothing_but_an_unknown_end() {
    let lost = Outcome::Incomplete(Reason::CaptureGap);
    let c = || up(&bytes(3));
    let s = || down(&bytes(5));
    assert_eq!(outcomes(&[c(), Gap(UP, 9), c(), s()]), [Outcome::Ok]);
    assert_eq!(outcomes(&[c(), s(), Gap(DOWN, 9), s()]), [Outcome::Ok]);
    let ends = [c(), Gap(UP, 9), s(), Gap(DOWN, 9)];
    let call = &calls(&ends)[0];
    assert_eq!(call.outcome, lost);
    assert_eq!(frames(call), [Some(1), None, Some(3), None]);
    assert_eq!((call.request_bytes, call.response_bytes), (12, 14));
    // The answer's beginning, and perhaps the end of the one before.
    let hidden = [c(), s(), c(), Gap(DOWN, 9), s()];
    let no_response = Outcome::NoResponse(Reason::CaptureGap);
    assert_eq!(outcomes(&hidden), [lost, no_response]);
}

#[test]
fn a_request_in_a_gap_is_paired_with_nothing() {
    let c = || up(&bytes(3));
    let s = || down(&bytes(5));
    let events = [c(), s(), Gap(UP, 9), c(), s(), c(), s()];
    let found = calls(&events);
    assert_eq!(found[0].outcome, Outcome::Incomplete(Reason::CaptureGap));
    assert_eq!(frames(&found[1]), [Some(6), Some(6), Some(7), Some(7)]);
    // Bytes of a response that had to wait behind a gap until the next request was there.
    let waited = [c(), s(), c(), Late(DOWN, bytes(5), 3), s()];
    let complete = calls(&waited).iter().filter(|c| c.is_complete()).count();
    assert_eq!(complete, 0);
}

#[test]
fn in_mid_connection_the_first_turn_may_lack_its_beginning() {
    let events = [
        up(&bytes(3)),
        down(&bytes(5)),
        up(&bytes(3)),
        down(&bytes(5)),
    ];
    let (calls, _) = run(&joined(PORT), &events, Close::Finished);
    assert_eq!(calls.len(), 2);
    assert_eq!(calls[0].outcome, Outcome::Incomplete(Reason::BeforeCapture));
    assert!(calls[0].is_nearly_timed() && !calls[0].is_timed());
    assert_eq!(frames(&calls[0]), [Some(1), Some(1), Some(2), Some(2)]);
    assert!(calls[1].is_timed());
    assert_eq!(frames(&calls[1]), [Some(3), Some(3), Some(4), Some(4)]);
    // Of a response nobody knows what asked for it.
    let (calls, _) = run(&joined(PORT), &events[1..], Close::Finished);
    assert_eq!(calls.len(), 1);
    let mut nobody_knows = joined(PORT);
    nobody_knows.server.port = 40_001;
    let (calls, problems) = run(&nobody_knows, &events, Close::Finished);
    assert!(calls.is_empty());
    assert_eq!(problems, ["turns-roles-unknown"]);
}

#[test]
fn a_connection_whose_sides_do_not_wait_has_no_turns() {
    for overlapping in [Crossing(UP, bytes(10)), Crossing(DOWN, bytes(20))] {
        let pair = match overlapping {
            Crossing(UP, _) => [overlapping, down(&bytes(20))],
            _ => [up(&bytes(10)), overlapping],
        };
        for n in [3, 100] {
            let events: Vec<_> = (0..n).flat_map(|_| pair.clone()).collect();
            let (calls, problems) = run(&opened(PORT), &events, Close::Finished);
            assert!(calls.is_empty());
            assert_eq!(problems, ["pipelined-turns"]);
        }
    }
}

#[test]
fn an_overlap_now_and_then_costs_the_turns_beside_it() {
    let mut events = turns(20);
    events[20] = Crossing(UP, bytes(10));
    let (calls, problems) = run(&opened(PORT), &events, Close::Finished);
    assert_eq!(calls.len(), 18);
    assert_eq!(problems, ["overlapping-turns"]);
    // The server goes on with its last answer, not knowing of the next request.
    events[20] = up(&bytes(10));
    events[21] = Crossing(DOWN, bytes(10));
    assert_eq!(super::tests::calls(&events).len(), 18);
}

#[test]
fn a_connection_that_becomes_pipelined_is_told_no_further() {
    let mut events = turns(50);
    events.extend((0..500).flat_map(|_| [Crossing(UP, bytes(10)), down(&bytes(20))]));
    let (calls, problems) = run(&opened(PORT), &events, Close::Finished);
    assert_eq!(calls.len(), 49);
    assert_eq!(problems, ["overlapping-turns", "pipelined-turns"]);
}

#[test]
fn a_protocol_that_claims_the_connection_leaves_no_turns() {
    let greeting = b"SLOWtpl\x01".to_vec();
    let before = limits::TURNS_HELD - 1;
    let mut events = turns(before);
    events.push(up(&greeting.clone()));
    assert!(calls(&events).is_empty(), "claimed in time");
    let mut events = turns(before + 2);
    events.push(up(&greeting));
    assert_eq!(calls(&events).len(), before + 3, "not asked any more");
}

#[test]
fn a_tls_alert_opens_no_turn() {
    let mut events = turns(2);
    let mut alert = vec![21, 3, 3, 0, 26];
    alert.extend(bytes(26));
    events.push(up(&alert));
    assert_eq!(outcomes(&events), [Outcome::Ok, Outcome::Ok]);
}

#[test]
fn cut_bytes_are_as_good_as_captured_ones() {
    let calls = calls(&[Cut(UP, vec![], 100), Cut(DOWN, bytes(3), 200)]);
    assert_eq!(
        (calls[0].request_bytes, calls[0].response_bytes),
        (100, 203)
    );
    assert_eq!(calls[0].outcome, Outcome::Ok);
}

#[test]
fn ports_of_nfs_have_turns_where_headers_lie_behind_the_snap_length_only() {
    let mut nfs = opened(PORT);
    nfs.server.port = 2_049;
    let (calls, problems) = run(&nfs, &turns(30), Close::Finished);
    assert!(calls.is_empty() && problems.is_empty());
    let cut = [Cut(UP, vec![], 9), Cut(DOWN, vec![], 9)];
    let (calls, problems) = run(&nfs, &cut, Close::Finished);
    assert_eq!(calls.len(), 1);
    assert_eq!(problems, [model::HEADERS_CUT]);
}

#[test]
fn a_connection_of_unknown_protocol_costs_little() {
    let size = size_of::<super::Turns>();
    assert!(size <= 208, "{size} bytes");
}

/// A message in one packet or several.
fn message() -> impl Strategy<Value = Vec<usize>> {
    proptest::collection::vec(1usize..50, 1..4)
}

proptest! {
    #[test]
    fn any_split_into_segments_gives_the_same_turns(
        script in proptest::collection::vec((message(), message()), 1..30)
    ) {
        let mut split = Vec::new();
        let mut whole = Vec::new();
        for (request, response) in &script {
            split.extend(request.iter().map(|&n| up(&bytes(n))));
            split.extend(response.iter().map(|&n| down(&bytes(n))));
            whole.push(up(&bytes(request.iter().sum())));
            whole.push(down(&bytes(response.iter().sum())));
        }
        let of = |events: &[Event]| -> Vec<_> {
            let key = |c: &Call| (c.id, c.request_bytes, c.response_sequence, c.response_bytes, c.outcome);
            calls(events).iter().map(key).collect()
        };
        prop_assert_eq!(of(&split), of(&whole));
        prop_assert_eq!(of(&whole).len(), script.len());
    }

    #[test]
    fn whatever_is_lost_makes_no_turns_that_are_not_there(
        lost in proptest::collection::vec((0usize..40, any::<bool>()), 0..12)
    ) {
        // Each message is one packet; the capture lacks some.
        let mut events = turns(20);
        for (i, _) in lost {
            let d = if i % 2 == 0 { UP } else { DOWN };
            events[i] = Gap(d, if i % 2 == 0 { 10 } else { 20 });
        }
        for call in calls(&events).iter().filter(|c| c.is_complete()) {
            let [a, b, c, d] = frames(call).map(Option::unwrap);
            prop_assert_eq!((a, b, c, d), (a, a, a + 1, a + 1));
        }
    }

    #[test]
    fn any_bytes_do_no_harm(
        events in proptest::collection::vec((0..7, proptest::collection::vec(any::<u8>(), 0..40), 0u32..20), 0..60),
        known: bool,
    ) {
        let events: Vec<_> = events.into_iter().map(|(kind, data, n)| match kind {
            0 => up(&data),
            1 => down(&data),
            2 => Crossing(UP, data),
            3 => Crossing(DOWN, data),
            4 => Late(DOWN, data, n),
            5 => Cut(UP, data, n),
            _ => Gap(if n % 2 == 0 { UP } else { DOWN }, u64::from(n) + 1),
        }).collect();
        let connection = if known { opened(PORT) } else { joined(PORT) };
        for call in run(&connection, &events, Close::EndOfCapture).0 {
            prop_assert!(call.request_first.is_some());
            prop_assert!(!call.is_complete() || call.wait_ns().is_some());
            prop_assert_eq!(call.id, call.request_sequence);
        }
    }
}
