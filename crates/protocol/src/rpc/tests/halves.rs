//! Requests without a reply and replies without a request, each for its reason.

use super::*;
use model::{Outcome, Reason};

/// The outcome of the call with the XID 7.
fn outcome(calls: &[Call]) -> Outcome {
    calls.iter().find(|c| c.id == 7).unwrap().outcome
}

#[test]
fn the_capture_ended_while_the_call_was_outstanding() {
    let mut w = Wire::tcp();
    w.send(UP, 1, &record(&read_call(7, 0)));
    let calls = w.end(50);
    assert_eq!(outcome(&calls), Outcome::NoResponse(Reason::AfterCapture));
    assert_eq!(times(&calls[0]), [Some(1), Some(1), None, None]);
}

#[test]
fn the_capture_went_on_long_after_and_no_answer_came() {
    let mut w = Wire::tcp();
    w.send(UP, 1, &record(&read_call(7, 0)));
    let calls = w.end(61_000);
    assert_eq!(outcome(&calls), Outcome::NoResponse(Reason::NoAnswer));
}

#[test]
fn very_many_later_calls_were_answered() {
    let mut w = Wire::tcp();
    w.send(UP, 1, &record(&read_call(7, 0)));
    for x in 100..1200 {
        w.send(UP, 2, &record(&read_call(x, 0)));
        w.send(DOWN, 3, &record(&read_reply(x, 8)));
    }
    let calls = w.end(4);
    assert_eq!(outcome(&calls), Outcome::NoResponse(Reason::NoAnswer));
}

#[test]
fn the_connection_ended_without_an_answer() {
    let mut w = Wire::tcp();
    w.send(UP, 1, &record(&read_call(7, 0)));
    w.close(0, 2, Close::Reset);
    let calls = w.end(3);
    assert_eq!(outcome(&calls), Outcome::NoResponse(Reason::NoAnswer));
}

#[test]
fn a_gap_may_hide_the_reply_also_of_a_connection_that_is_closed() {
    for close in [false, true] {
        let mut w = Wire::tcp();
        w.send(UP, 1, &record(&read_call(6, 0)));
        w.send(DOWN, 2, &record(&read_reply(6, 8)));
        w.send(UP, 3, &record(&read_call(7, 0)));
        w.gap(DOWN, 4, 56);
        w.send(UP, 5, &record(&read_call(8, 0)));
        w.send(DOWN, 6, &record(&read_reply(8, 8)));
        if close {
            w.close(0, 7, Close::Finished);
        }
        let calls = w.end(8);
        assert_eq!(outcome(&calls), Outcome::NoResponse(Reason::CaptureGap));
        // It passed between its request and what came behind the gap.
        let hidden = calls.iter().find(|c| c.id == 7).unwrap().hidden.unwrap();
        assert_eq!(
            (hidden.earliest.time, hidden.latest),
            (Time(3 * MS), Time(4 * MS))
        );
    }
}

#[test]
fn a_cut_may_hide_the_reply() {
    let mut w = Wire::tcp();
    w.send(UP, 1, &record(&read_call(6, 0)));
    w.send(UP, 1, &record(&read_call(7, 0)));
    w.packet(0, DOWN, 2, &record(&read_reply(6, 8)), 56);
    let calls = w.end(100_000);
    assert_eq!(outcome(&calls), Outcome::NoResponse(Reason::SnapLength));
}

#[test]
fn a_gap_before_the_request_hides_no_reply_to_it() {
    let mut w = Wire::tcp();
    w.send(UP, 1, &record(&read_call(6, 0)));
    w.send(DOWN, 2, &record(&read_reply(6, 8)));
    w.gap(DOWN, 3, 56);
    w.send(UP, 4, &record(&read_call(7, 0)));
    let calls = w.end(8);
    assert_eq!(outcome(&calls), Outcome::NoResponse(Reason::AfterCapture));
}

#[test]
fn the_request_was_sent_before_the_capture() {
    let mut w = Wire::tcp();
    w.send(DOWN, 1, &record(&read_reply(7, 8)));
    w.send(UP, 2, &record(&read_call(8, 0)));
    w.send(DOWN, 3, &record(&read_reply(8, 8)));
    let calls = w.end(8);
    assert_eq!(outcome(&calls), Outcome::NoRequest(Reason::BeforeCapture));
    assert_eq!(calls[1].op.as_str(), "REPLY");
    assert_eq!(calls[1].server, endpoint(2, 2049));
}

#[test]
fn a_gap_may_hide_the_request() {
    let mut w = Wire::tcp();
    w.send(UP, 1, &record(&read_call(6, 0)));
    w.send(DOWN, 2, &record(&read_reply(6, 8)));
    w.gap(UP, 3, 64);
    w.send(DOWN, 4, &record(&read_reply(7, 8)));
    let calls = w.end(8);
    assert_eq!(outcome(&calls), Outcome::NoRequest(Reason::CaptureGap));
}

#[test]
fn a_reply_whose_end_is_missing_is_incomplete() {
    let response = record(&read_reply(7, 4000));
    let reasons = [
        (None, Reason::AfterCapture),
        (Some(Close::Reset), Reason::NoAnswer),
    ];
    for (close, reason) in reasons {
        let mut w = Wire::tcp();
        w.send(UP, 1, &record(&read_call(7, 0)));
        w.send(DOWN, 2, &response[..1448]);
        if let Some(why) = close {
            w.close(0, 3, why);
        }
        let calls = w.end(8);
        assert_eq!(outcome(&calls), Outcome::Incomplete(reason));
        assert_eq!(times(&calls[0]), [Some(1), Some(1), Some(2), None]);
    }
    let mut w = Wire::tcp();
    w.send(UP, 1, &record(&read_call(7, 0)));
    w.send(DOWN, 2, &response[..1448]);
    w.gap(DOWN, 3, response.len() as u64 - 1448);
    let calls = w.end(8);
    assert_eq!(outcome(&calls), Outcome::Incomplete(Reason::CaptureGap));
}

#[test]
fn a_doubted_call_stops_counting_and_is_still_paired() {
    let mut w = Wire::tcp();
    w.send(UP, 1, &record(&read_call(7, 0)));
    w.gap(DOWN, 2, 100);
    for x in 0..200 {
        w.send(UP, 10 + 2 * x, &record(&read_call(100 + x as u32, 0)));
        w.send(DOWN, 11 + 2 * x, &record(&read_reply(100 + x as u32, 8)));
    }
    w.send(UP, 1000, &record(&read_call(8, 0)));
    w.send(DOWN, 1001, &record(&read_reply(7, 8)));
    w.send(DOWN, 1002, &record(&read_reply(8, 8)));
    let changes: i64 = (w.output.outstanding.iter()).map(weight).sum();
    assert_eq!(changes, 0);
    let calls = w.end(2000);
    assert_eq!(outcome(&calls), Outcome::Ok);
    assert_eq!(calls.iter().find(|c| c.id == 8).unwrap().outstanding, 1);
}

#[test]
fn too_many_outstanding_requests_give_up_the_oldest() {
    let mut w = Wire::tcp();
    let many = model::limits::OUTSTANDING as u32 + 3;
    for x in 0..many {
        w.send(UP, 1, &record(&read_call(x, 0)));
    }
    assert_eq!(w.problem("requests-evicted"), 3);
    let evicted = Outcome::NoResponse(Reason::Evicted);
    assert_eq!(ids(&w.output.calls), [0, 1, 2]);
    assert!(w.output.calls.iter().all(|c| c.outcome == evicted));
    assert_eq!(w.end(2).len() as u32, many);
}
