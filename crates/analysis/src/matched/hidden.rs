//! Calls of which one capture or both hide the response, or its end, into what is known of them: how long their clients
//! waited at least, whose of it that was, and how much longer they may have waited.

use super::asking::Asking;
use super::{MatchedFacts, Unsettled};
use crate::capture_facts::{CaptureFacts, Trouble};
use crate::half::{Completeness, Half};
use crate::ledgers::AtServer;
use ledger::{Both, Held, Lost};
use model::{Direction, Time};

/// How long a call took of which a response is hidden: at least, how much longer at most, and how much of the least it was
/// not at the server, whenever that answered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounded {
    pub(super) least_ns: i64,
    longer_ns: i64,
    on_the_way_ns: i64,
    /// Whether only its end is hidden: what was seen of it can be divided.
    pub(super) is_cut_off: bool,
    /// Of one that was never answered, whether the server's own time is known, whatever its connection went through; and
    /// what became of the answer that it had sent.
    pub(super) is_unanswered: bool,
    pub(super) answer_lost: Lost,
}

/// Whether its server's capture shows that an answer was sent again that its client is not seen to have, as timers that have
/// measured round trips do with what nobody acknowledges, if the capture goes on for so long.
fn was_sent_again(call: &Unsettled, server: &CaptureFacts) -> bool {
    let answered = call.server.response_last.time;
    let again = |t: &Trouble| t.direction == Direction::ToClient && t.is_loss();
    let is_over = server
        .last
        .is_some_and(|last| last - answered < crate::lost::OUTAGE_NS);
    let mut later = (server.troubles).overlapping(call.server.connection, answered, Time::MAX);
    is_over || later.any(again)
}

impl MatchedFacts {
    /// Adds a call of which a capture hides the response, or both do. It is divided as far as it is known how long
    /// it waited, and has no part in what is told of times, nor in the clock.
    pub fn add_hidden(&mut self, client: &Half, server: &Half) {
        let (c, s) = (client.response_time_ns(), server.response_time_ns());
        // The client cannot have had it before the server sent it.
        let least_ns = match client.has_times() {
            true => c,
            false => c.max(s),
        };
        let at_server_ns = s.saturating_add(server.hidden_ns);
        self.waited(client, least_ns);
        self.unsettled.push_back(Unsettled {
            hidden: Some(Bounded {
                least_ns: least_ns.max(0),
                longer_ns: (c + client.hidden_ns - least_ns).max(0),
                on_the_way_ns: (least_ns - at_server_ns).max(0),
                is_cut_off: [client, server]
                    .iter()
                    .all(|h| h.completeness != Completeness::Hidden),
                is_unanswered: false,
                answer_lost: Lost::Nothing,
            }),
            ..Unsettled::of(usize::from(client.op), client, server)
        });
    }

    /// Adds a call that the client still waited for at the end of its capture, or of its connection. As long as its server
    /// had not answered, it was the server's; what that had sent, and never came, was lost. It has no part in what is told
    /// of times, nor in the clock.
    pub fn add_unanswered(&mut self, client: &Half, server: &Half) {
        let least_ns = client.waited_ns().max(0);
        let (server, on_the_way_ns) = match server.has_times() {
            true => (
                server.clone(),
                (least_ns - server.response_time_ns()).max(0),
            ),
            false => (server.until_the_end(), 0),
        };
        let is_lost = server.has_times() && on_the_way_ns > 0;
        self.waited(client, least_ns);
        self.unsettled.push_back(Unsettled {
            hidden: Some(Bounded {
                least_ns,
                longer_ns: 0,
                on_the_way_ns,
                is_cut_off: false,
                is_unanswered: true,
                answer_lost: match is_lost {
                    true if on_the_way_ns >= crate::lost::OUTAGE_NS => Lost::Outage,
                    true => Lost::Segments,
                    false => Lost::Nothing,
                },
            }),
            ..Unsettled::of(usize::from(client.op), client, &server)
        });
    }

    /// A call was under way for so long at least.
    fn waited(&mut self, client: &Half, least_ns: i64) {
        let from = client.request_first.time;
        self.lasted(from, Time(from.0.saturating_add(least_ns.max(0))));
    }

    /// How long of a wait at the server that never ended another session still held what it wants.
    pub(super) fn still_held_ns(
        &mut self,
        call: &Unsettled,
        client: &CaptureFacts,
        server: &CaptureFacts,
    ) -> i64 {
        // Whoever was answered waited for nobody any more, whatever became of that.
        let waits = |h: &Bounded| h.is_unanswered && h.answer_lost == Lost::Nothing;
        if !call.hidden.as_ref().is_some_and(waits) {
            return 0;
        }
        let asking = Asking::of(call, client, server);
        let (from, to) = asking.life;
        let least_ns = call.hidden.map_or(0, |h| h.least_ns);
        let to = match asking.is_at_client {
            true => Time(call.client.request_first.time.0.saturating_add(least_ns)),
            false => to,
        };
        let (connection, work) = (asking.connection, asking.work);
        let ns = (asking.locks).still_held_ns(call.server_end, connection, work, (from, to));
        self.lock_waits.add_still(ns);
        ns
    }

    /// A call whose response is hidden: what is not certain to be the server's own, or to have been on the way, is nobody's.
    pub(super) fn keep_hidden(
        &mut self,
        call: &Unsettled,
        (own, locked_ns): ([i64; 4], i64),
        held: Held,
        (lost, (beyond, recovery_ns)): (Lost, (Lost, i64)),
        [client, server]: [&CaptureFacts; 2],
    ) {
        let [service_ns, stall_ns, behind_ns, transfer_ns] = own;
        let Some(mut hidden) = call.hidden else {
            return;
        };
        if hidden.answer_lost == Lost::Outage && !was_sent_again(call, server) {
            // Its client's capture lacks it.
            let on_the_way_ns = std::mem::take(&mut hidden.on_the_way_ns);
            hidden.least_ns -= on_the_way_ns;
            hidden.longer_ns += on_the_way_ns;
            hidden.answer_lost = Lost::Nothing;
        }
        let (c, longer_ns) = (&call.client, hidden.longer_ns);
        let until = Time(c.request_first.time.0.saturating_add(hidden.least_ns));
        let lost = match hidden.answer_lost {
            Lost::Nothing => lost,
            lost => lost,
        };
        if let Some(rows) = &mut self.at_server {
            rows.push(AtServer {
                row: call.server_row,
                seen: None,
            });
        }
        self.kept.push(&Both {
            response_ns: hidden.least_ns,
            service_ns,
            locked_ns,
            stall_ns,
            behind_ns,
            transfer_ns,
            path_ns: hidden.on_the_way_ns,
            lost,
            beyond: match beyond {
                // Nothing shows what became of it behind a capture that lies on the way.
                Lost::Nothing if hidden.is_unanswered => Lost::Perhaps,
                beyond => beyond,
            },
            recovery_ns,
            held,
            hidden_ns: Some(longer_ns),
            hidden_unread_ns: (client.troubles).unread_ns(c.connection, until, longer_ns),
            sending_at_ns: [c.request_first.time.0; 2],
            ..call.called()
        });
    }
}
