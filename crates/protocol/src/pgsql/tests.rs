//! Conversations in literal bytes, whole, split, cut, and with holes.

mod messages;
mod properties;
mod replication;

use crate::kit::{self, Bytes, Cut, DOWN, Event, Gap, Pause, UP, down, frames, up};
use messages::{
    answer, bind, complete, error, execute, logged_on, message, parse, query, ready, row, startup,
    sync, welcome,
};
use model::{Call, Close, Direction, Field, Outcome, Protocol, Reason};

/// The calls of one connection, in the order of their requests.
fn run(events: &[Event], end: Close, opened: bool) -> Vec<Call> {
    let connection = if opened { kit::opened } else { kit::joined };
    let mut calls = kit::seen(&connection(5_432), events, end).calls;
    calls.sort_by_key(|c| c.request_sequence);
    calls
}

/// Of which so many bytes were captured.
fn snapped(d: Direction, data: &[u8], captured: usize) -> Event {
    let (head, rest) = data.split_at(captured);
    Cut(d, head.to_vec(), rest.len() as u32)
}

fn calls(events: &[Event]) -> Vec<Call> {
    run(events, Close::Finished, true)
}

/// Operation and outcome.
fn told(calls: &[Call]) -> Vec<(&str, &str)> {
    let of = calls.iter();
    of.map(|c| (c.op.as_str(), c.outcome.name())).collect()
}

fn rows(call: &Call) -> Option<u64> {
    call.detail.get(Field::Rows)
}

#[test]
fn what_was_cut_off_behind_a_request_may_have_answered_it_when_its_connection_ends() {
    let asked: Vec<u8> = (0..3).flat_map(|_| query("select 1")).collect();
    let answers = answer(1).repeat(3);
    let captured = answer(1).len() + 3;
    let of = |last: Event| {
        let calls = calls(&logged_on(&[up(&asked), last]));
        let reasons = calls.iter().map(|c| c.outcome.reason());
        reasons.collect::<Vec<_>>()
    };
    let cut = Some(Reason::SnapLength);
    let seen = of(snapped(Direction::ToClient, &answers, captured));
    assert_eq!(seen, [None, None, cut, cut]);
    let left = Some(Reason::NoAnswer);
    let seen = of(down(&answer(1)));
    assert_eq!(seen, [None, None, left, left]);
}

#[test]
fn a_logon_says_whose_session_it_is() {
    let calls = calls(&logged_on(&[up(&query("select 1")), down(&answer(1))]));
    assert_eq!(told(&calls), [("LOGON", "ok"), ("EXECUTE", "ok")]);
    for call in &calls {
        assert_eq!(call.protocol, Protocol::Pgsql);
        let session = &call.sql.as_ref().unwrap().session;
        assert_eq!(session.user.as_deref(), Some("ann"));
        assert_eq!(session.database.as_deref(), Some("shop"));
        assert_eq!(session.program.as_deref(), Some("app"));
        assert_eq!(session.server_version.as_deref(), Some("15.4"));
    }
    let statement = calls[1].sql.as_ref().unwrap().statement.clone().unwrap();
    assert_eq!(&*statement.text, "select 1");
    assert_eq!(frames(&calls[1]), [Some(3), Some(3), Some(4), Some(4)]);
    assert_eq!(rows(&calls[1]), Some(1));
}

#[test]
fn a_password_is_an_inner_trip_and_never_kept() {
    let ask = message(b'R', &[0, 0, 0, 3]);
    let password = message(b'p', b"secret\0");
    let events = [
        startup(),
        Pause(7),
        down(&ask),
        Pause(9),
        up(&password),
        welcome(),
    ];
    let calls = calls(&events);
    assert_eq!(told(&calls), [("LOGON", "ok")]);
    assert_eq!(calls[0].detail.get(Field::InnerTrips), Some(1));
    // The server took 7 ms to ask for it, and the client 9 to say it, beside the one that passes with each packet.
    let inner = calls[0].inner();
    assert_eq!(
        (inner.of_request, inner.server_ns, inner.client_ns),
        (true, 8_000_000, 10_000_000)
    );
    assert_eq!(frames(&calls[0]), [Some(1), Some(3), Some(4), Some(4)]);
    let sql = calls[0].sql.as_ref().unwrap();
    assert!(sql.session.plaintext_password);
    assert!(!format!("{:?}", calls[0]).contains("secret"));
    // A wrong one ends the logon.
    let refused = message(b'E', b"SFATAL\0VFATAL\0C28P01\0Mno\0\0");
    let calls = run(
        &[startup(), down(&ask), up(&password), down(&refused)],
        Close::Finished,
        true,
    );
    assert_eq!(told(&calls), [("LOGON", "28P01")]);
}

#[test]
fn what_a_server_says_beside_asks_for_nothing() {
    // It gets its table after 7 ms, and asks for rows then; of the first it says something, as the client is at the next.
    let copy_in = message(b'G', &[0, 0, 0]);
    let notice = message(b'N', b"SNOTICE\0Mrow\0\0");
    let rows = message(b'd', b"1\n");
    let events = logged_on(&[
        up(&query("copy t from stdin")),
        down(&notice),
        Pause(7),
        down(&copy_in),
        Pause(9),
        up(&rows),
        down(&notice),
        Pause(20),
        up(&rows),
        up(&message(b'c', b"")),
        down(&[complete("COPY 2"), ready()].concat()),
    ]);
    let calls = calls(&events);
    let inner = calls[1].inner();
    assert_eq!(
        (inner.of_request, inner.server_ns, inner.client_ns),
        (true, 9_000_000, 10_000_000)
    );
}

#[test]
fn encryption_that_is_refused_or_not() {
    let request = [0, 0, 0, 8, 4, 210, 22, 47];
    let events = [up(&request), down(b"N"), startup(), welcome()];
    assert_eq!(
        told(&calls(&events)),
        [("NEGOTIATE", "ok"), ("LOGON", "ok")]
    );
    let hello = [22, 3, 1, 0, 5, 1, 0, 0, 1, 0];
    let events = [
        up(&request),
        down(b"S"),
        up(&hello),
        down(&[22, 3, 3, 0, 1, 2]),
    ];
    let calls = calls(&events);
    assert_eq!(told(&calls), [("NEGOTIATE", "ok"), ("TURN", "ok")]);
    assert_eq!(calls[1].protocol, Protocol::Pgsql);
    let hidden = calls[1].sql.as_ref().unwrap().session.hidden;
    assert_eq!(hidden.map(|h| h.name()), Some("tls"));
}

/// What a client sent too early gets no answer that anybody can read.
#[test]
fn what_waits_when_encryption_begins_is_settled() {
    let request = [0, 0, 0, 8, 4, 210, 22, 47];
    let hello = [22, 3, 1, 0, 5, 1, 0, 0, 1, 0];
    let events = [
        up(&request),
        startup(),
        down(b"S"),
        up(&hello),
        down(&[22, 3, 3, 0, 1, 2]),
    ];
    let calls = calls(&events);
    assert!(
        told(&calls).contains(&("LOGON", "no-response")),
        "{calls:?}"
    );
}

#[test]
fn each_execute_is_a_call_and_its_cycle_ends_with_the_last() {
    let cycle = [
        parse("", "select 1"),
        bind("", ""),
        execute("", 0),
        parse("", "select 2"),
        bind("", ""),
        execute("", 0),
        sync(),
    ]
    .concat();
    let one = [
        message(b'1', b""),
        message(b'2', b""),
        row("1"),
        complete("SELECT 1"),
    ]
    .concat();
    let events = logged_on(&[
        up(&cycle),
        down(&one),
        down(&[one.clone(), ready()].concat()),
    ]);
    let calls = calls(&events);
    assert_eq!(
        told(&calls),
        [("LOGON", "ok"), ("EXECUTE", "ok"), ("EXECUTE", "ok")]
    );
    assert_eq!(frames(&calls[1]), [Some(3), Some(3), Some(4), Some(4)]);
    assert_eq!(frames(&calls[2]), [Some(3), Some(3), Some(5), Some(5)]);
    assert_eq!(calls[2].response_bytes, one.len() as u64 + 6);
    assert_eq!((rows(&calls[1]), rows(&calls[2])), (Some(1), Some(1)));
    assert_eq!(calls[2].outstanding, 2);
}

#[test]
fn a_portal_that_is_executed_again_fetches() {
    let begin = [
        parse("s", "select x"),
        bind("p", "s"),
        execute("p", 2),
        message(b'H', b""),
    ]
    .concat();
    let rows = [row("1"), row("2")].concat();
    let some = [
        message(b'1', b""),
        message(b'2', b""),
        rows.clone(),
        message(b's', b""),
    ]
    .concat();
    let more = [execute("p", 2), sync()].concat();
    let rest = [row("3"), complete("SELECT 1"), ready()].concat();
    let calls = calls(&logged_on(&[
        up(&begin),
        down(&some),
        up(&more),
        down(&rest),
    ]));
    assert_eq!(told(&calls)[1..], [("EXECUTE", "ok"), ("FETCH", "ok")]);
    assert_eq!(calls[2].detail.get(Field::RowsAsked), Some(2));
    assert_eq!(self::rows(&calls[2]), Some(1));
    let text = |c: &Call| {
        c.sql
            .as_ref()
            .unwrap()
            .statement
            .as_ref()
            .unwrap()
            .text
            .clone()
    };
    assert_eq!(
        (&*text(&calls[1]), &*text(&calls[2])),
        ("select x", "select x")
    );
}

#[test]
fn what_is_skipped_after_an_error_says_so() {
    let one = [parse("", "select 1"), bind("", ""), execute("", 0)].concat();
    let cycle = [one.clone(), one.clone(), one.clone(), sync()].concat();
    let failed = [
        message(b'1', b""),
        message(b'2', b""),
        error("22012"),
        ready(),
    ]
    .concat();
    let calls = calls(&logged_on(&[up(&cycle), down(&failed)]));
    assert_eq!(
        told(&calls)[1..],
        [
            ("EXECUTE", "22012"),
            ("EXECUTE", "skipped"),
            ("EXECUTE", "skipped")
        ]
    );
}

#[test]
fn what_the_server_says_unasked_is_no_call() {
    let notification = message(b'A', b"\0\0\0\x01news\0text\0");
    let fatal = message(b'E', b"SFATAL\0VFATAL\0C57P01\0Mbye\0\0");
    let calls = calls(&logged_on(&[
        down(&notification),
        up(&query("select 1")),
        down(&answer(1)),
        down(&fatal),
    ]));
    assert_eq!(told(&calls), [("LOGON", "ok"), ("EXECUTE", "ok")]);
}

#[test]
fn a_cancel_request_is_a_call_without_an_answer() {
    let request = [0, 0, 0, 16, 4, 210, 22, 46, 0, 0, 0, 9, 1, 2, 3, 4];
    assert_eq!(told(&calls(&[up(&request)])), [("CANCEL", "no-response")]);
}

#[test]
fn a_session_joined_in_the_middle_is_recognised_whoever_is_taken_for_the_client() {
    let turn = |d: Direction, bytes: Vec<u8>, reverse: bool| match reverse {
        true => Bytes(d.reverse(), bytes),
        false => Bytes(d, bytes),
    };
    for reverse in [false, true] {
        let events = [
            turn(DOWN, answer(3), reverse),
            turn(UP, query("select 2"), reverse),
            turn(DOWN, answer(2), reverse),
        ];
        let calls = run(&events, Close::EndOfCapture, false);
        let both = [("OTHER", "no-request"), ("EXECUTE", "ok")];
        assert_eq!(told(&calls), both, "{reverse}");
        assert_eq!(rows(&calls[1]), Some(2));
        let client = if reverse { 2 } else { 1 };
        for call in &calls {
            assert_eq!(
                call.client.address,
                std::net::IpAddr::from([10, 0, 0, client])
            );
        }
    }
}

#[test]
fn what_was_asked_before_the_capture_is_answered_without_a_request() {
    let (rows, end) = (answer(3), [complete("SELECT 0"), ready()].concat());
    let calls = run(&[down(&rows), down(&end)], Close::EndOfCapture, false);
    assert_eq!(told(&calls), [("OTHER", "no-request"); 2]);
    for (call, frame) in calls.iter().zip([1, 2]) {
        assert_eq!(call.outcome.reason(), Some(Reason::BeforeCapture));
        assert_eq!(frames(call), [None, None, Some(frame), Some(frame)]);
    }
    assert_eq!(calls[0].response_bytes, rows.len() as u64);
    // Where the snap length hides its end, it is over as its client goes on.
    let cut = [
        down(&answer(1)),
        snapped(DOWN, &rows, rows.len() - 8),
        up(&query("select 1")),
        down(&answer(1)),
    ];
    let calls = run(&cut, Close::EndOfCapture, false);
    let before = ("OTHER", "no-request");
    assert_eq!(told(&calls), [before, before, ("EXECUTE", "ok")]);
    // Once its client has spoken, what nobody asked for answers what the capture lost.
    let lost = [up(&query("select 1")), down(&answer(1)), down(&answer(1))];
    let calls = run(&lost, Close::EndOfCapture, false);
    assert_eq!(told(&calls), [("EXECUTE", "ok")]);
}

#[test]
fn headers_in_a_cut_are_inferred_where_the_client_waits() {
    // Two packets, of each the head only; what the second one begins with is the middle of a row.
    let (first, second) = (
        answer(40),
        [&row("more")[3..], &complete("SELECT 41"), &ready()].concat(),
    );
    let calls = calls(&logged_on(&[
        up(&query("select x")),
        snapped(DOWN, &first[..first.len() - 20], 60),
        snapped(DOWN, &second, 10),
        up(&query("select y")),
        down(&answer(1)),
    ]));
    assert_eq!(told(&calls)[1..], [("EXECUTE", "ok"), ("EXECUTE", "ok")]);
    assert_eq!(frames(&calls[1]), [Some(3), Some(3), Some(4), Some(5)]);
    assert_eq!(calls[1].detail.get(Field::Inferred), Some(1));
    assert_eq!(rows(&calls[1]), None, "nobody saw how many");
    assert_eq!(calls[2].detail.get(Field::Inferred), None);
}

#[test]
fn an_extended_request_that_was_cut_is_known_by_its_parse() {
    let text = format!("select '{}'", "x".repeat(300));
    let cycle = [parse("", &text), bind("", ""), execute("", 0), sync()].concat();
    let reply = [message(b'1', b""), message(b'2', b""), answer(1)].concat();
    let calls = calls(&logged_on(&[
        snapped(UP, &cycle, 100),
        down(&reply),
        snapped(UP, &cycle, 100),
        down(&reply),
    ]));
    assert_eq!(told(&calls)[1..], [("PREPARE", "ok"), ("PREPARE", "ok")]);
    let statement = calls[2].sql.as_ref().unwrap().statement.clone().unwrap();
    assert!(statement.truncated);
    assert_eq!(calls[2].request_bytes, cycle.len() as u64);
}

#[test]
fn lost_packets_leave_calls_incomplete() {
    let (q, a) = (query("select 1"), answer(1));
    let turn = [up(&q), down(&a)];
    // It has to be known of the client that it waits.
    let known = logged_on(&vec![turn; 8].concat());
    let holes = [
        up(&q),
        down(&a[..40]),
        Gap(DOWN, a.len() as u64 - 40),
        up(&q),
        down(&a),
        Gap(UP, q.len() as u64),
        down(&a),
        up(&q),
        down(&a),
    ];
    let found = calls(&[&known[..], &holes].concat());
    assert_eq!(found[9].outcome, Outcome::Incomplete(Reason::CaptureGap));
    // Its client waited for what was seen of the answer.
    let seen = found[9].hidden.expect("what was seen");
    assert!(seen.earliest.time >= found[9].response_first.expect("a beginning").time);
    assert_eq!((found[9].response_last, seen.longer_ns()), (None, 0));
    assert!(found[10..].iter().all(|c| c.hidden.is_none()));
    assert!(found[10..].iter().all(|c| c.outcome == Outcome::Ok));
    assert_eq!(found.len(), 12);
    // Of one that does not wait nothing is paired until a pause.
    let ahead = logged_on(&[up(&q), up(&q), down(&a), down(&a)]);
    let holes = [
        up(&q),
        up(&q),
        down(&a[..40]),
        Gap(DOWN, a.len() as u64 - 40),
        down(&a),
    ];
    let later = [up(&q), down(&a), Pause(2_000), up(&q), down(&a)];
    let found = calls(&[&ahead[..], &holes, &later].concat());
    let complete: Vec<_> = found.iter().map(Call::is_complete).collect();
    assert_eq!(complete, [true, true, true, false, false, false, true]);
}

/// A statement of the extended protocol, and its answer.
fn executed(text: &str) -> Vec<u8> {
    [parse("", text), bind("", ""), execute("", 0)].concat()
}

fn said() -> Vec<u8> {
    [
        message(b'1', b""),
        message(b'2', b""),
        row("1"),
        complete("SELECT 1"),
    ]
    .concat()
}

/// A pipeline of three, whose answers stand behind one another: of the third nothing was captured.
#[test]
fn what_a_cut_hides_of_a_pipeline_comes_after_what_was_said_before_it() {
    let turn = [up(&query("select 1")), down(&answer(1))];
    let known = logged_on(&vec![turn; 8].concat());
    let one = executed("select 2");
    let said = said();
    let answers = [&said[..], &said, &said, &ready()].concat();
    let pipeline = [
        up(&one),
        up(&one),
        up(&[&one[..], &sync()].concat()),
        Pause(90),
        snapped(DOWN, &answers, said.len() + 8),
        Pause(500),
        up(&query("select 1")),
        down(&answer(1)),
    ];
    let found = calls(&[&known[..], &pipeline].concat());
    let [first, second, third, next] = &found[9..] else {
        panic!("{found:?}");
    };
    assert_eq!((first.outcome, next.outcome), (Outcome::Ok, Outcome::Ok));
    assert_eq!(second.outcome, Outcome::Incomplete(Reason::SnapLength));
    assert_eq!(third.outcome, Outcome::NoResponse(Reason::SnapLength));
    for call in [second, third] {
        let hidden = call.hidden.expect("it was answered");
        assert_eq!(Some(hidden.earliest), first.response_last);
        assert_eq!(hidden.longer_ns(), 0);
    }
}

/// Its client may say nothing for hours, and hear of events.
#[test]
fn an_event_behind_an_answer_whose_end_was_cut_off_is_none_of_it() {
    let said = [complete("LISTEN"), ready()].concat();
    let event = message(b'A', b"\0\0\0\x01channel\0what\0");
    let found = |end: Event| {
        calls(&logged_on(&[
            up(&query("listen channel")),
            end,
            Pause(5_000),
            snapped(DOWN, &event, 14),
            Pause(5_000),
            down(&event),
            up(&query("select 1")),
            down(&answer(1)),
        ]))
    };
    for end in [down(&said), snapped(DOWN, &said, 14)] {
        let found = found(end);
        assert_eq!(told(&found)[1..], [("EXECUTE", "ok"); 2]);
        assert_eq!(frames(&found[1])[2..], [Some(4); 2]);
        assert_eq!(frames(&found[2])[2..], [Some(8); 2]);
    }
    // What was seen of the answer came with it.
    let together = [complete("LISTEN"), event.clone(), ready()].concat();
    let found = found(snapped(DOWN, &together, together.len() - 3));
    assert_eq!(told(&found)[1..], [("EXECUTE", "ok"); 2]);
}

/// Whose what comes behind a cut is nobody knows, but for the end of the cycle: then all have come.
#[test]
fn an_answer_behind_what_was_cut_of_a_pipeline_is_not_the_first_ones() {
    let one = executed("select 2");
    let said = said();
    let found = calls(&logged_on(&[
        up(&one),
        up(&[&one[..], &sync()].concat()),
        snapped(DOWN, &said, 12),
        Pause(500),
        down(&[&said[..], &ready()].concat()),
        up(&query("select 1")),
        down(&answer(1)),
    ]));
    let [_, first, second, next] = &found[..] else {
        panic!("{found:?}");
    };
    assert_eq!(next.outcome, Outcome::Ok);
    let begun = first.response_first.expect("it began");
    for call in [first, second] {
        let hidden = call.hidden.expect("it was answered");
        assert_eq!(hidden.earliest, begun);
        assert!(hidden.longer_ns() >= 500_000_000, "{call:?}");
    }
}

/// The rest of an answer comes behind the next round trip: that client does not wait, and no more is told of what it asks.
#[test]
fn a_client_that_asks_on_in_the_middle_of_an_answer_runs_ahead() {
    let one = executed("select 2");
    let pipeline = [&one[..], &one, &sync()].concat();
    let said = said();
    let cut = |from: usize| snapped(DOWN, &said[from..], 12);
    let found = calls(&logged_on(&[
        up(&pipeline),
        cut(0),
        up(&pipeline),
        cut(13),
        up(&pipeline),
        cut(0),
        up(&pipeline),
    ]));
    assert!(found[5..].iter().all(|c| c.hidden.is_none()), "{found:?}");
}
