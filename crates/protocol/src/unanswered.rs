//! Calls that still waited when their connection ended, or the capture did, into how long they waited.
//!
//! A TCP connection whose client's bytes were all acknowledged has brought the request to its server's host. And what a
//! server sends comes in order: as long as its packets went on, acknowledgements among them, with nothing missing, it had
//! not answered. From then on it is not known whether it has, and what it sent was lost.

use model::sql::op;
use model::{
    Call, Close, ConnectionSummary, HiddenResponse, Mark, Outcome, Reason, Time, Transport,
};

/// Says of those of `calls` that nothing answered before `connection` ended how long they waited; `reached` is the time of the
/// capture's last packet so far.
pub fn unanswered(calls: &mut [Call], connection: &ConnectionSummary, reached: Time) {
    let ended = match connection.close {
        Close::EndOfCapture => reached,
        Close::Finished | Close::Reset => connection.last.time,
        // Nobody knows until when its client waited.
        Close::Replaced | Close::Forgotten | Close::Evicted | Close::Expired => return,
    };
    let directions = &connection.directions;
    let [asked, answered] = directions;
    let came = asked.unacknowledged_bytes == 0 && answered.packets > 0;
    // What the capture lacks may have been the answer.
    let lacks = directions.iter().any(|d| d.missing_from_capture_gaps > 0);
    if connection.transport != Transport::Tcp || !came || lacks {
        return;
    }
    // Behind its end a server answers nothing, and a client that has ended expects nothing.
    let said = directions.iter().filter_map(|d| d.ended);
    let ended = said.fold(ended, Time::min);
    // Those of other connections may be asked again on yet another.
    for call in calls.iter_mut().filter(|c| c.connection == connection.id) {
        let waits = matches!(
            call.outcome,
            Outcome::NoResponse(Reason::AfterCapture | Reason::NoAnswer)
        );
        // Not every turn of an unknown protocol asks for something.
        if let (true, Some(request), None) =
            (waits && call.op != op::TURN, call.request_last, call.hidden)
            && ended > request.time
        {
            let heard = Mark {
                time: answered.last.time.min(ended),
                ..answered.last
            };
            let earliest = later(request, heard);
            call.hidden = Some(HiddenResponse {
                earliest,
                latest: ended.max(earliest.time),
                held_ns: 0,
            });
        }
    }
}

fn later(a: Mark, b: Mark) -> Mark {
    if b.time > a.time { b } else { a }
}
