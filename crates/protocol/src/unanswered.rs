//! Calls that still waited when their connection ended, or the capture did, into how long they waited.
//!
//! A TCP connection whose client's bytes were all acknowledged has brought the request to its server's host. And what a
//! server sends comes in order: as long as its packets went on, acknowledgements among them, with nothing missing, it had
//! not answered. From then on it is not known whether it has, and what it sent was lost.

use model::sql::op;
use model::{
    Call, Close, ConnectionSummary, HiddenResponse, Mark, Outcome, Reason, Time, Transport,
};

/// What a connection of a known protocol left when it was over.
#[derive(Clone, Copy, Default, Debug)]
pub struct Left {
    /// Requests that waited for an answer.
    pub open: u32,
    /// Of them those that the server had received when it ended the connection.
    pub unanswered: u32,
    /// Those that were sent when the server had ended it.
    pub late: u32,
}

/// Counts what nothing answered before `connection` ended: of its `calls`, and what was sent at these times and is no call yet.
pub fn left(calls: &[Call], left: &[Time], connection: &ConnectionSummary) -> Left {
    let mut all = Left::default();
    if !matches!(connection.close, Close::Finished | Close::Reset) {
        return all;
    }
    let [asked, answered] = &connection.directions;
    // Who cancels is answered by the end of the connection, and not every turn of an unknown protocol asks for something.
    let asks = |c: &&Call| c.op != op::TURN && c.op != op::CANCEL;
    let own = calls.iter().filter(|c| c.connection == connection.id);
    let is_left = |c: &&Call| c.outcome == Outcome::NoResponse(Reason::NoAnswer);
    let unanswered = own.filter(asks).filter(is_left);
    let sent = unanswered.filter_map(|c| Some(c.request_last?.time));
    for at in sent.chain(left.iter().copied()) {
        // Behind its end a server answers nothing, and a client that has ended expects nothing.
        if answered.ended.is_some_and(|ended| at > ended) {
            all.late += 1;
        } else if asked.ended.is_none_or(|ended| ended > at) {
            all.open += 1;
        }
    }
    // What crosses the server's end is nobody's doing.
    let received = came(connection) && answered.ended.is_some() && answered.end_heard_all;
    all.unanswered = if received { all.open } else { 0 };
    all
}

/// Whether all that the client sent came, and all that the server sent is in the capture.
fn came(connection: &ConnectionSummary) -> bool {
    let [asked, answered] = &connection.directions;
    let came = asked.unacknowledged_bytes == 0 && answered.packets > 0;
    // What the capture lacks may have been the answer.
    let lacks = (connection.directions.iter()).any(|d| d.missing_from_capture_gaps > 0);
    connection.transport == Transport::Tcp && came && !lacks
}

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
    let [_, answered] = directions;
    if !came(connection) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use model::Handshake;

    /// A connection in whose course the client and the server ended at these times.
    fn over(ended: [Option<i64>; 2], close: Close, missing: u64) -> Left {
        heard(ended, close, missing, true)
    }

    /// The same, where each end had all that the other had sent by then, or had not.
    fn heard(ended: [Option<i64>; 2], close: Close, missing: u64, heard: bool) -> Left {
        let at = |t: i64| Time(t * 1_000);
        let ends = crate::kit::connection(Transport::Tcp, 2_049);
        let mut c = ConnectionSummary {
            id: ends.id,
            transport: Transport::Tcp,
            client: ends.client,
            server: ends.server,
            first: Mark::default(),
            last: Mark::default(),
            close,
            handshake: Handshake::default(),
            reset: None,
            directions: Default::default(),
            accounts: None,
            lines: [None, None],
            is_known: true,
            protocol: None,
            pipelined: None,
            copies: false,
            left_open: 0,
            unanswered: 0,
            late_requests: 0,
            sqlnet: None,
        };
        for (d, ended) in c.directions.iter_mut().zip(ended) {
            d.packets = 5;
            d.ended = ended.map(at);
            d.end_heard_all = heard;
            d.missing_from_capture_gaps = missing;
        }
        left(&[], &[at(5), at(7)], &c)
    }

    fn counted(left: Left) -> (u32, u32) {
        (left.unanswered, left.late)
    }

    #[test]
    fn what_a_server_leaves_is_told_from_what_comes_behind_its_end() {
        let finished = |ended| counted(over(ended, Close::Finished, 0));
        assert_eq!(finished([None, Some(9)]), (2, 0));
        assert_eq!(finished([None, Some(6)]), (1, 1));
        assert_eq!(finished([Some(6), Some(9)]), (1, 0));
        assert_eq!(finished([Some(4), None]), (0, 0));
        // They crossed its end, or the capture does not hold one.
        let crossed = heard([None, Some(9)], Close::Finished, 0, false);
        assert_eq!((crossed.open, crossed.unanswered), (2, 0));
        assert_eq!(over([None, None], Close::Reset, 0).open, 2);
    }

    #[test]
    fn what_goes_on_or_lacks_packets_leaves_nothing_for_certain() {
        assert_eq!(
            counted(over([None, Some(9)], Close::EndOfCapture, 0)),
            (0, 0)
        );
        assert_eq!(counted(over([None, Some(9)], Close::Finished, 1)), (0, 0));
    }
}
