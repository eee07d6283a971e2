//! Segments that passed the capture and were sent again, as their receiver had not taken them, into how much later than that a
//! call's client had all of its answer, or its server all of its request, at least.

use crate::health::Verified;
use ledger::{Both, One, Untaken};
use model::{ConnectionId, ConnectionSummary, Direction, Episode, EpisodeKind, Time, limits};
use std::collections::HashMap;

/// A segment of a message.
#[derive(Clone, Copy, Debug)]
struct Segment {
    sent: Time,
    again: Time,
    /// When it or one before it was sent again for the last time: what is behind it in its stream waits for that, too.
    latest: Time,
    /// When all that was sent by then had been acknowledged, or its connection was over.
    until: Time,
}

/// Of one capture, by connection and direction, in the order in which they were sent first.
#[derive(Default)]
pub struct SentAgain {
    connections: HashMap<ConnectionId, [Sent; 2], foldhash::fast::FixedState>,
    kept: [usize; 2],
    untaken: Untaken,
}

/// Of one direction of a connection.
#[derive(Default)]
struct Sent {
    again: Vec<Segment>,
    /// Whether routers lie between the capture and its receiver.
    is_routed: bool,
}

/// The hops that systems give their packets (IPv4's time to live, RFC 791; IPv6's hop limit): each router takes one.
const INITIAL_HOPS: [u8; 6] = [30, 32, 60, 64, 128, 255];

impl SentAgain {
    /// Beyond so many nothing is known of them.
    pub fn episode(&mut self, e: &Episode) {
        let is_lost = e.kind == EpisodeKind::Recovery && !e.spurious && !e.duplicates_cut_off;
        if !is_lost {
            return;
        }
        let resent = e.resent.iter().filter(|r| !r.needless);
        let segments = resent.filter_map(|r| {
            Some(Segment {
                sent: r.original?.time,
                again: r.again.time,
                latest: r.again.time,
                until: e.last.time,
            })
        });
        for mut segment in segments {
            let d = e.direction.index();
            if self.kept[d] >= limits::SENT_AGAIN {
                return;
            }
            self.kept[d] += 1;
            let all = &mut self.connections.entry(e.connection).or_default()[d].again;
            if let Some(before) = all.last() {
                segment.latest = segment.latest.max(before.latest);
            }
            all.push(segment);
        }
    }

    /// What its receiver never acknowledged may have found nobody who waits for it.
    pub fn closed(&mut self, c: &ConnectionSummary) {
        let Some(connection) = self.connections.get_mut(&c.id) else {
            return;
        };
        let [asked, answered] = &c.directions;
        let ways = [(asked, answered), (answered, asked)];
        for (own, (sent, heard)) in connection.iter_mut().zip(ways) {
            own.is_routed = heard.ttl_max > 0 && !INITIAL_HOPS.contains(&heard.ttl_max);
            let segments = &mut own.again;
            if sent.unacknowledged_bytes > 0 {
                segments.retain(|s| s.until < c.last.time);
                let mut latest = Time(i64::MIN);
                for s in segments.iter_mut() {
                    latest = latest.max(s.again);
                    s.latest = latest;
                }
            }
        }
    }

    /// Once the capture is over: what of TCP's checksums held, and whether some were left to a card, as on a host itself.
    pub fn judge(&mut self, checksums: &Verified) {
        self.untaken = match checksums {
            // What is wrong of many was changed behind the capture, and says nothing of the way.
            v if v.wrong * 10 > v.right + v.unfinished + v.joined => Untaken::Either,
            v if v.wrong > 0 => Untaken::Lost,
            v if v.unfinished + v.joined > 0 => Untaken::Dropped,
            _ => Untaken::Either,
        };
    }

    /// Why the host of the capture had not taken what was sent again to it on a connection, in this direction.
    #[must_use]
    pub fn untaken(&self, connection: u64, d: Direction) -> Untaken {
        let of = self.connections.get(&ConnectionId(connection));
        match of.is_some_and(|of| of[d.index()].is_routed) {
            true => Untaken::Lost,
            false => self.untaken,
        }
    }

    /// Whether nothing was.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.connections.is_empty()
    }

    /// Whether anything of this direction was.
    #[must_use]
    pub fn has(&self, d: Direction) -> bool {
        self.kept[d.index()] > 0
    }

    /// Of a call that ended here with its answer's last byte: of that, or of what came before it, some is sent again later.
    #[must_use]
    pub fn later_ns(&self, call: &One) -> i64 {
        let until = Time(call.at_ns) + call.response_ns();
        self.behind(ConnectionId(call.connection), until)
    }

    /// The same of a call of two captures, by its client's.
    #[must_use]
    pub fn later_of_both_ns(&self, call: &Both) -> i64 {
        let until = Time(call.at_ns) + call.response_ns;
        self.behind(ConnectionId(call.connection), until)
    }

    fn behind(&self, connection: ConnectionId, until: Time) -> i64 {
        let segments = self.of(connection, Direction::ToClient);
        let sent = segments.partition_point(|s| s.sent <= until);
        let last = segments.get(..sent).and_then(<[Segment]>::last);
        last.map_or(0, |s| (s.latest - until).max(0))
    }

    /// How long a call waited at its server's own capture for its request to be taken there, which had come.
    #[must_use]
    pub fn request_ns(&self, call: &One) -> i64 {
        let since = Time(call.at_ns);
        let until = since + (call.request_passing_ns + call.wait_ns);
        let asked = since + call.request_passing_ns;
        self.taken(ConnectionId(call.connection), since, asked, until)
    }

    /// The same of a call of two captures, by its server's.
    #[must_use]
    pub fn request_of_both_ns(&self, call: &Both) -> i64 {
        let [_, until] = call.sending_at_ns.map(Time);
        let asked = Time(until.0 - (call.service_ns + call.stall_ns + call.behind_ns));
        let since = Time(asked.0 - call.request_passing_ns);
        self.taken(ConnectionId(call.server_connection), since, asked, until)
    }

    fn taken(&self, connection: ConnectionId, since: Time, asked: Time, until: Time) -> i64 {
        let segments = self.of(connection, Direction::ToServer);
        let first = segments.partition_point(|s| s.sent < since);
        let own = segments.iter().skip(first).take_while(|s| s.sent <= until);
        let again = own.map(|s| s.again).filter(|again| *again <= until);
        again.max().map_or(0, |again| (again - asked).max(0))
    }

    fn of(&self, connection: ConnectionId, d: Direction) -> &[Segment] {
        let of = self.connections.get(&connection);
        of.map_or(&[], |of| &of[d.index()].again)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::testing::{end, summary};
    use model::{Mark, PacketRef, Resent};

    fn at(ns: i64) -> Mark {
        Mark {
            time: Time(ns),
            packet: PacketRef { file: 0, frame: 1 },
        }
    }

    fn sent_again(sent: i64, again: i64) -> Episode {
        Episode {
            order: 0,
            connection: ConnectionId(7),
            client: end(1, 1_000),
            server: end(2, 5_432),
            kind: EpisodeKind::Recovery,
            direction: Direction::ToClient,
            first: at(sent),
            last: at(again + 1),
            heard: Time(again + 1),
            retransmissions: 1,
            timeouts: 1,
            spurious: false,
            duplicates_cut_off: false,
            window: 0,
            resent: vec![Resent {
                original: Some(at(sent)),
                again: at(again),
                sequence: 1,
                bytes: 59,
                needless: false,
            }],
        }
    }

    /// A call that began at 100, whose answer passed from 150 to 160.
    fn later_ns(episodes: &[Episode]) -> i64 {
        let mut all = SentAgain::default();
        episodes.iter().for_each(|e| all.episode(e));
        all.later_ns(&One {
            connection: 7,
            at_ns: 100,
            wait_ns: 50,
            response_passing_ns: 10,
            ..One::default()
        })
    }

    #[test]
    fn a_call_is_over_no_sooner_than_its_answer_is_sent_again() {
        assert_eq!(later_ns(&[sent_again(155, 370)]), 210);
        assert_eq!(later_ns(&[sent_again(160, 370)]), 210, "its last byte");
        let twice = [sent_again(155, 370), sent_again(155, 770)];
        assert_eq!(later_ns(&twice), 610);
    }

    #[test]
    fn what_nobody_acknowledged_waits_for_nobody() {
        let mut all = SentAgain::default();
        all.episode(&sent_again(155, 370));
        let call = One {
            connection: 7,
            at_ns: 100,
            wait_ns: 50,
            response_passing_ns: 10,
            ..One::default()
        };
        let mut closed = summary(0);
        (closed.id, closed.last) = (ConnectionId(7), at(371));
        all.closed(&closed);
        assert_eq!(all.later_ns(&call), 210);
        closed.directions[1].unacknowledged_bytes = 59;
        all.closed(&closed);
        assert_eq!(all.later_ns(&call), 0);
    }

    #[test]
    fn an_answer_waits_for_what_came_before_it_and_not_for_what_comes_behind() {
        assert_eq!(later_ns(&[sent_again(149, 370)]), 210);
        assert_eq!(later_ns(&[sent_again(149, 370), sent_again(155, 200)]), 210);
        assert_eq!(later_ns(&[sent_again(161, 370)]), 0);
    }

    /// The same call, whose request passed from 100 to 110 at its server's own capture.
    #[test]
    fn a_request_waits_until_it_is_sent_again() {
        let of = |sent, again| {
            let mut all = SentAgain::default();
            all.episode(&Episode {
                direction: Direction::ToServer,
                ..sent_again(sent, again)
            });
            all.request_ns(&One {
                connection: 7,
                at_ns: 100,
                request_passing_ns: 10,
                wait_ns: 40,
                response_passing_ns: 10,
                ..One::default()
            })
        };
        assert_eq!(of(105, 140), 30);
        assert_eq!(of(105, 108), 0, "before its last byte");
        assert_eq!(of(105, 151), 0, "behind its answer");
        assert_eq!(of(99, 140), 0, "another's");
    }

    #[test]
    fn checksums_say_why_a_host_did_not_take_it() {
        let of = |right, unfinished, wrong| {
            let mut all = SentAgain::default();
            all.judge(&Verified {
                right,
                unfinished,
                wrong,
                ..Verified::default()
            });
            all.untaken(7, Direction::ToClient)
        };
        assert_eq!(of(90, 10, 0), Untaken::Dropped);
        assert_eq!(of(89, 10, 1), Untaken::Lost);
        assert_eq!(of(5, 5, 2), Untaken::Either, "rewritten");
        assert_eq!(of(100, 0, 0), Untaken::Either, "not taken on a host");
        assert_eq!(of(0, 0, 0), Untaken::Either, "cut off");
    }

    #[test]
    fn where_routers_lie_between_it_was_lost_behind_the_capture() {
        let of = |hops| {
            let mut all = SentAgain::default();
            all.episode(&sent_again(155, 370));
            all.judge(&Verified {
                unfinished: 10,
                ..Verified::default()
            });
            let mut closed = summary(0);
            (closed.id, closed.last) = (ConnectionId(7), at(371));
            closed.directions[0].ttl_max = hops;
            all.closed(&closed);
            all.untaken(7, Direction::ToClient)
        };
        assert_eq!(of(64), Untaken::Dropped);
        assert_eq!(of(62), Untaken::Lost);
    }

    #[test]
    fn what_had_arrived_or_came_again_within_the_answer_held_nobody_up() {
        let spurious = Episode {
            spurious: true,
            ..sent_again(155, 370)
        };
        assert_eq!(later_ns(&[spurious]), 0);
        let unknown = Episode {
            duplicates_cut_off: true,
            ..sent_again(155, 370)
        };
        assert_eq!(later_ns(&[unknown]), 0);
        assert_eq!(later_ns(&[sent_again(151, 158)]), 0);
    }
}
