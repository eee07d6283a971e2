//! Answers to requests that had been sent before the capture began into calls that have waited since then, at least.
//!
//! Who is called because something hangs begins to capture while it does: of all calls the longest are those of which no
//! request was captured. When they were sent is not known, but that they had been: what they waited before the capture is
//! not counted.

use super::alone::Brief;
use crate::capture_facts::CaptureFacts;
use crate::work::{is_sql, work_of};
use model::{Call, ConnectionId, ConnectionSummary, Mark, Outcome, Reason, limits};
use std::collections::BTreeMap;

impl Brief {
    /// Whether the end of its request was seen.
    fn has_end(&self) -> bool {
        self.request_last.packet != self.response_first.packet
    }
}

/// Of one capture, by connection, in the order in which they were answered.
#[derive(Default)]
pub(super) struct Begun {
    answered: BTreeMap<ConnectionId, Vec<Brief>>,
    kept: usize,
}

impl Begun {
    /// Whether it was answered and had not been asked in the capture: over TCP, where it shows what the capture lacks.
    pub(super) fn began_before(call: &Call) -> bool {
        call.outcome == Outcome::NoRequest(Reason::BeforeCapture) && call.response_sequence != 0
    }

    /// Takes one. Beyond so many nothing is said of them.
    pub(super) fn call(&mut self, call: &Call, row: u64, attributes: u32) {
        let (Some(response_first), Some(response)) = (call.response_first, call.response_last)
        else {
            return;
        };
        if self.kept >= limits::BEGUN_BEFORE {
            return;
        }
        self.kept += 1;
        let brief = Brief {
            connection: call.connection,
            server: call.server,
            // When the capture begins is known when it is over.
            request: call.request_first.unwrap_or(response_first),
            // Of one whose client went on with it the end is.
            request_last: call.request_last.unwrap_or(response_first),
            response_first,
            response,
            request_held_ns: 0,
            response_held_ns: call.response_held_ns,
            inner: model::InnerTrips::default(),
            bytes: [call.request_bytes, call.response_bytes],
            row,
            work: work_of(call),
            attributes,
            is_datagram: false,
            may_queue: false,
            asked_again: false,
            hidden_ns: None,
            is_unanswered: false,
            began_before: true,
        };
        self.answered
            .entry(call.connection)
            .or_default()
            .push(brief);
    }

    /// Of a connection that was opened in the capture, or whose client it does not show, a request may be missing that was
    /// sent at any time. And databases' answers are told from others by their order alone: what came behind anything that
    /// its client said may answer that; and the first may have begun before it was known for one.
    pub(super) fn closed(&mut self, c: &ConnectionSummary) {
        let Some(answers) = self.answered.get_mut(&c.id) else {
            return;
        };
        let [asked, answered] = &c.directions;
        let is_opened = c.handshake.syn.is_some() || c.handshake.syn_ack.is_some();
        if is_opened || asked.packets == 0 {
            answers.clear();
        }
        let said = |b: &Brief| {
            asked
                .first_data
                .is_some_and(|at| at <= b.response_first.time)
        };
        answers.retain(|b| !is_sql(b.work) || b.has_end() || !said(b));
        if let Some(b) = answers.first_mut().filter(|b| is_sql(b.work))
            && let Some(answered) = answered.first_data
        {
            b.response_first.time = b.response_first.time.min(answered);
        }
    }

    pub(super) fn count(&self) -> u64 {
        self.answered.values().map(|list| list.len() as u64).sum()
    }

    /// Once the capture is over. Where it lacks packets it may have lost requests that were sent in it: how long before
    /// its answer each was is not known then.
    pub(super) fn take(&mut self, capture: &CaptureFacts) -> impl Iterator<Item = Brief> {
        let begins = capture.begins;
        let is_lossy = capture.tcp.missing_gaps > 0;
        let answered = std::mem::take(&mut self.answered).into_values().flatten();
        answered.filter_map(move |brief| {
            let waited_ns = brief.response_first.time - begins?;
            let has_end = brief.has_end();
            let asked = Mark {
                time: match is_lossy {
                    true => brief.request.time,
                    false => begins?,
                },
                ..brief.request
            };
            (waited_ns >= 0).then_some(Brief {
                request: asked,
                request_last: if has_end { brief.request_last } else { asked },
                hidden_ns: (is_lossy && !has_end).then_some(waited_ns),
                ..brief
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::testing::summary;
    use crate::trace_join::tests::call;
    use model::{PacketRef, Time};

    fn at(ns: i64) -> Option<Mark> {
        Some(Mark {
            time: Time(ns),
            packet: PacketRef { file: 0, frame: 9 },
        })
    }

    /// Answered at 700, on connection 7.
    fn answered() -> Call {
        Call {
            connection: ConnectionId(7),
            request_first: None,
            request_last: None,
            response_first: at(700),
            response_last: at(720),
            response_sequence: 1,
            outcome: Outcome::NoRequest(Reason::BeforeCapture),
            ..call(1, 0, 0, 0, 0)
        }
    }

    /// What is taken of it where the connection was so, and the capture begins at 100.
    fn taken(change: impl Fn(&mut ConnectionSummary, &mut CaptureFacts)) -> Vec<[i64; 2]> {
        taken_of(answered(), change)
    }

    fn taken_of(
        of: Call,
        change: impl Fn(&mut ConnectionSummary, &mut CaptureFacts),
    ) -> Vec<[i64; 2]> {
        let (mut begun, mut facts) = (Begun::default(), CaptureFacts::new(0));
        facts.begins = Some(Time(100));
        let mut connection = summary(0);
        connection.id = ConnectionId(7);
        connection.handshake = Default::default();
        connection.directions[0].packets = 1;
        change(&mut connection, &mut facts);
        begun.call(&of, 3, 0);
        begun.closed(&connection);
        let taken = begun.take(&facts);
        taken
            .map(|b| [b.request.time.0, b.response_first.time.0])
            .collect()
    }

    #[test]
    fn a_call_that_had_begun_before_the_capture_waits_since_its_first_packet() {
        assert_eq!(taken(|_, _| {}), [[100, 700]]);
        // Its first packet may be the answer.
        assert_eq!(
            taken(|_, facts| facts.begins = Some(Time(700))),
            [[700, 700]]
        );
    }

    #[test]
    fn what_the_capture_may_have_lost_had_not_begun_before_it() {
        let none: [[i64; 2]; 0] = [];
        assert_eq!(taken(|c, _| c.handshake.syn = at(90).map(|m| m.time)), none);
        assert_eq!(taken(|c, _| c.directions[0].packets = 0), none);
        // Or it had: it waited for no longer than the capture lasted.
        assert_eq!(taken(|_, facts| facts.tcp.missing_gaps = 1), [[700, 700]]);
    }

    #[test]
    fn a_databases_answer_may_have_begun_before_it_was_known_and_answers_what_its_client_said_last()
    {
        let of = |said, answered| {
            let sql = Call {
                protocol: model::Protocol::Pgsql,
                ..self::answered()
            };
            taken_of(sql, |c, _| {
                c.directions[0].first_data = said;
                c.directions[1].first_data = answered;
            })
        };
        let at = |ns| Some(Time(ns));
        assert_eq!(of(None, at(700)), [[100, 700]]);
        assert_eq!(of(at(800), at(400)), [[100, 400]]);
        assert!(of(at(699), at(400)).is_empty());
    }

    #[test]
    fn what_its_client_went_on_with_is_the_rest_of_its_request() {
        let of = |gaps| {
            let copied = Call {
                protocol: model::Protocol::Pgsql,
                request_first: at(300),
                request_last: Some(Mark {
                    time: Time(600),
                    packet: PacketRef { file: 0, frame: 8 },
                }),
                ..self::answered()
            };
            let (mut begun, mut facts) = (Begun::default(), CaptureFacts::new(0));
            facts.begins = Some(Time(100));
            facts.tcp.missing_gaps = gaps;
            let mut connection = summary(0);
            connection.id = ConnectionId(7);
            connection.handshake = Default::default();
            connection.directions[0].packets = 1;
            connection.directions[0].first_data = Some(Time(300));
            begun.call(&copied, 3, 0);
            begun.closed(&connection);
            assert_eq!(begun.count(), 1);
            let taken = begun.take(&facts).map(|b| {
                let times = [b.request, b.request_last, b.response_first];
                (times.map(|m| m.time.0), b.hidden_ns)
            });
            taken.collect::<Vec<_>>()
        };
        assert_eq!(of(0), [([100, 600, 700], None)]);
        // What was seen of it, where the capture lost some.
        assert_eq!(of(1), [([300, 600, 700], None)]);
    }

    #[test]
    fn only_streams_show_what_a_capture_lacks() {
        assert!(Begun::began_before(&answered()));
        let datagram = Call {
            response_sequence: 0,
            ..answered()
        };
        let hidden = Call {
            outcome: Outcome::NoRequest(Reason::SnapLength),
            ..answered()
        };
        assert!(!Begun::began_before(&datagram) && !Begun::began_before(&hidden));
    }
}
