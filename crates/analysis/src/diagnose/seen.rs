//! Captures that are read to their end into what their ends are: where each was taken, how their clocks
//! stand to each other, what the path between capture and hosts takes.

use super::midway::halves_beyond;
use super::{Diagnoser, FEW_CALLS};
use crate::clock::Aligned;
use crate::facts::{Basis, outages_to};
use crate::half::Half as HalfCall;
use crate::path::{Acknowledged, Crossed, LONGEST_PATH_NS, PathEstimate, some_way};
use crate::results::{CaptureResult, Clock, Vantage};
use crate::sql::{self, SqlResult};
use crate::stats::Distribution;
use crate::streams::Gathered;
use crate::text::{Text, Value, text};
use crate::vantage::{self, VantageFrom};
use crate::ways::ByHosts;
use ledger::Half;
use model::{Direction, Time};
use std::collections::BTreeSet;
use std::net::IpAddr;

/// Calls that take so much less at the client than at the server were stated the wrong way round.
const EXCHANGED_NS: i64 = 50_000;

/// What is known of one or two captures as a whole.
pub(super) struct Seen {
    /// Which capture was taken at the client, which at the server.
    pub client: Option<usize>,
    pub server: Option<usize>,
    pub basis: Basis,
    /// Of two captures with calls in common.
    pub clock: Option<Clock>,
    /// Where one of two clocks was set, the alignments before and behind, and the calls within these, with their mean network
    /// out, server's wait and network back.
    pub clocks: Vec<(Time, Clock)>,
    pub ways: Option<(u64, [i64; 3])>,
    /// When one of two clocks was set, or may have been.
    pub unsure: Vec<(Time, Time)>,
    /// From a single capture to the server and back, and to the client and back; of two, from the server's and from the
    /// client's, which are none unless they were taken on the way.
    pub halves: [Half; 2],
    /// The same between hosts that are further apart than the nearest.
    pub further: ByHosts<[Half; 2]>,
    pub path: Option<PathEstimate>,
    /// What the path takes of a call at least and at most, beyond what its calls' own times know of it.
    pub crossing_ns: (i64, i64),
    pub sql: Option<SqlResult>,
    /// Whether captures were stated the wrong way round.
    pub are_exchanged: bool,
    /// Whether a proxy ends connections between the captures.
    pub is_proxied: bool,
    pub notes: Vec<Text>,
}

impl Seen {
    /// The capture whose calls are judged.
    pub(super) fn main(&self) -> usize {
        self.client.unwrap_or(0)
    }

    /// Whether one of two captures was taken between their hosts.
    pub(super) fn is_on_the_way(&self) -> bool {
        self.basis == Basis::Matched && !self.halves.iter().all(|half| half.is_here())
    }

    /// The alignment that holds at this time of the client's.
    pub(super) fn clock_at(&self, at: Time) -> Option<&Clock> {
        let part = self.clocks.iter().rev().find(|(from, _)| *from <= at);
        let part = part.or(self.clocks.first()).map(|(_, clock)| clock);
        self.clock.as_ref().or(part)
    }

    /// How far the server's clock is ahead, and where one of both was set, how far it was in the beginning.
    pub(super) fn offset_ns(&self) -> i64 {
        self.clock_at(Time::MIN).map_or(0, |c| c.offset_ns)
    }
}

/// A few by name.
fn named(clients: &BTreeSet<IpAddr>) -> Text {
    const FEW: usize = 3;
    match clients.len() {
        n if n > FEW => text!("{n,} clients", n = n),
        _ => {
            let name = |host: &IpAddr| text!("{host}", host = *host);
            Text::list(clients.iter().map(name).collect(), " and ")
        }
    }
}

impl Diagnoser {
    pub(super) fn see_two(&mut self, results: &mut [CaptureResult], gathered: &Gathered) -> Seen {
        let left: [Vec<HalfCall>; 2] = self.join.finish(&mut self.pairs);
        self.take_pairs();
        let own = [0, 1].map(|i| vantage::conclude(&self.captures[i].tcp).vantage);
        let exchanged = gathered.are_exchanged();
        if self.client.is_none() {
            // A clock that was set changes a few calls, and no handshakes of the same connections.
            match exchanged.filter(|_| self.undecided.len() < FEW_CALLS) {
                Some(exchanged) => self.decided(usize::from(exchanged)),
                None => self.decide(),
            }
        }
        let stated = self.options.stated.iter().any(Option::is_some);
        let mut are_told = false;
        if self.matched.client.count() == 0 && !stated {
            // Without a call in both, connections of both say where they were taken, or their own packets.
            are_told = exchanged.is_some();
            if exchanged.unwrap_or(own == [Vantage::Server, Vantage::Client]) {
                self.client = Some(1);
            }
        }
        let client = self.client.unwrap_or(0);
        let server = 1 - client;
        self.matched
            .settle(&self.captures[client], &self.captures[server], None);
        let Aligned {
            clock,
            is_torn,
            steps,
            parts,
            ways,
            unsure,
        } = (self.matched.corridor).align(self.options.clock_offset_ns);
        // Behind other addresses each client's calls may be those that matched.
        let by_address = !self.join.translated && self.join.proxied == 0;
        if self.matched.client.count() > 0 && by_address {
            let of_matched = [&self.matched.client, &self.matched.server_wait];
            self.others
                .finish(&self.captures[server], server, of_matched);
        }
        // Where no call is in both, whose capture is whose is a guess if nobody said it.
        if by_address && (self.matched.client.count() > 0 || stated || are_told) {
            self.alone
                .finish(&self.captures[server], &mut self.begun[server]);
            self.begin_with(client);
        }
        let difference_ns = self.matched.mean_difference_ns();
        for (i, side) in [(client, Vantage::Client), (server, Vantage::Server)] {
            results[i].side = Some(side);
            results[i].concluded = Some(own[i]);
            results[i].side_from = if stated {
                "stated".into()
            } else if self.matched.client.count() > 0 {
                let than_there = match (side == Vantage::Client) == (difference_ns >= 0) {
                    true => "longer",
                    false => "less",
                };
                text!(
                    "the same calls take {difference} {than_there} here",
                    difference = Value::Duration(difference_ns.abs()),
                    than_there = than_there,
                )
            } else if are_told {
                match side {
                    Vantage::Client => "the server answers on the same connections later here",
                    _ => "the server answers on the same connections sooner here",
                }
                .into()
            } else {
                "a guess: no call is in both captures".into()
            };
        }
        let mut notes = Vec::new();
        if self.join.translated {
            notes.push("Addresses differ between the captures (NAT): connections were matched by XID and TCP sequence number.".into());
        }
        if self.join.proxied > 0 {
            notes.push(text!(
                "A proxy ends connections between the captures and opens others: {connections,} {connections|is|are} the same by {connections|its|their} bytes and times. What passes between both captures is the network's or the proxy's.",
                connections = self.join.proxied
            ));
        }
        notes.extend(self.seen_at_server_alone());
        let begun = self.captures[client].first;
        notes.extend(steps.iter().map(|step| {
            text!(
                "A clock was set {into} after the client's first call: from then on the server's is {by} further {way} than before. Captures are aligned before and behind that each for itself.",
                into = Value::Duration(begun.map_or(0, |begun| step.after - begun)),
                by = Value::Duration(step.by_ns.abs()),
                way = if step.by_ns < 0 { "behind" } else { "ahead" },
            )
        }));
        if is_torn {
            notes.push("No two clocks that run fit the calls that both captures hold: one was set meanwhile, and they are too few to tell when. How long they take on either way is not known.".into());
        }
        let evicted: u64 = self.join.evicted().iter().sum();
        if evicted > 0 {
            notes.push(text!(
                "{calls,} calls waited too long for their twin and were left out.",
                calls = evicted
            ));
        }
        let both = [client, server].map(|i| &self.captures[i]);
        let halves = halves_beyond(both, &self.matched.servers, stated);
        for (i, half) in [server, client].into_iter().zip(halves) {
            if let Half::Away(way) = half {
                let before = std::mem::take(&mut results[i].side_from);
                results[i].is_on_the_way = true;
                results[i].side_from = match way.lo_ns {
                    0 => before,
                    least => text!(
                        "{before}, and it takes {least} at least to get there and back",
                        before = before,
                        least = Value::Duration(least),
                    ),
                };
            }
        }
        let [to_server, to_client] = halves.map(Half::bounds);
        let beyond = to_server.plus(to_client);
        let seen = Seen {
            client: Some(client),
            server: Some(server),
            basis: Basis::Matched,
            clock,
            clocks: parts,
            ways,
            halves,
            further: ByHosts::default(),
            path: None,
            crossing_ns: (beyond.lo_ns, beyond.hi_ns.unwrap_or(LONGEST_PATH_NS)),
            sql: self.profile_of_two(client),
            are_exchanged: stated && steps.is_empty() && difference_ns < -EXCHANGED_NS,
            is_proxied: self.join.proxied > 0,
            unsure,
            notes,
        };
        self.count_unmatched(client, &left, &seen, results);
        seen
    }

    /// Where calls had begun before the captures, they pass from the first packet of the one whose clock counts.
    fn begin_with(&mut self, which: usize) {
        let begins = self.captures[which].begins;
        if let Some(begins) = begins.filter(|_| self.alone.some_began_before) {
            let first = &mut self.captures[which].first;
            *first = first.map(|at| at.min(begins));
            self.matched.first = self.matched.first.map(|at| at.min(begins));
        }
    }

    /// Clients at whose hosts nobody captured.
    fn seen_at_server_alone(&self) -> Option<Text> {
        let judged = self.others.judged.as_ref()?;
        Some(text!(
            "Of {clients} only the server's capture holds calls ({calls,}): they are judged as it sees them.",
            clients = named(&judged.clients.iter().map(|c| c.host).collect()),
            calls = judged.calls(),
        ))
    }

    /// The statements of both captures, told from the client's.
    fn profile_of_two(&mut self, client: usize) -> Option<SqlResult> {
        let mut both = std::mem::take(&mut self.sql);
        if client == 1 {
            both.reverse();
        }
        let server = both.pop()?;
        let client = both.pop().filter(|p| !p.is_empty())?;
        Some(sql::of_two(client, &server, Vec::new()))
    }

    pub(super) fn see_one(&mut self, results: &mut [CaptureResult], gathered: &Gathered) -> Seen {
        self.alone.finish(&self.captures[0], &mut self.begun[0]);
        self.begin_with(0);
        let own = &self.captures[0];
        // A request that does not wait for an answer may have left before it came.
        let alternating = self.is_alternating();
        let soonest = |d: &Distribution| (alternating && d.count() > 0).then(|| d.quantile(0.0));
        let pause_ns = soonest(&own.think.pauses);
        let answer_ns = soonest(&own.wait);
        let concluded = vantage::conclude(&own.tcp);
        let mut concluded = vantage::with_turnarounds(concluded, answer_ns, pause_ns);
        if concluded.vantage == Vantage::Unknown {
            let answers = vantage::by_turnarounds(answer_ns, pause_ns);
            let checksums = &gathered.health[0].checksums;
            let sums = || vantage::by_checksums(checksums, &self.attributes[0].pairs());
            concluded = answers.or_else(sums).unwrap_or(concluded);
        }
        let stated = self.options.stated[0];
        let side = stated.unwrap_or(concluded.vantage);
        results[0].side = Some(side);
        results[0].side_from = match stated {
            Some(_) => "stated".into(),
            None => concluded.from.words(),
        };
        let profiler = self.sql.pop().filter(|p| !p.is_empty());
        let crossed = Crossed {
            min_ns: own.soonest_answer_ns(),
            mean_ns: profiler.as_ref().and_then(|p| p.crossed().mean_ns),
        };
        let asked = Crossed {
            min_ns: pause_ns,
            mean_ns: None,
        };
        let is_one_host = concluded.from == VantageFrom::OneHost;
        let halves = |[by_server, by_client]: [Acknowledged; 2], crossed, asked| match side {
            _ if is_one_host => [Half::Here; 2],
            Vantage::Server => [Half::Here, by_client.half(asked)],
            Vantage::Client => [by_server.half(crossed), Half::Here],
            _ => [by_server.half(crossed), by_client.half(asked)],
        };
        let near = own.ways.near();
        let near_halves = halves(near, crossed, asked);
        // The quickest calls crossed the shortest path: of a longer one its own say more.
        let none = Crossed::default();
        let far: ByHosts<[Acknowledged; 2]> = own.ways.apart().collect();
        let soonest = match far.is_empty() {
            true => ByHosts::default(),
            false => self.attributes[0].soonest(),
        };
        let own_calls = |hosts| Crossed {
            min_ns: soonest.get(hosts).copied(),
            mean_ns: None,
        };
        let further = far
            .iter()
            .map(|(hosts, known)| (*hosts, halves(*known, own_calls(hosts), none).map(some_way)));
        let further: ByHosts<[Half; 2]> = further.collect();
        // What is said of the path as a whole is of that of most calls.
        let busiest = (self.attributes[0].busiest()).filter(|hosts| far.contains_key(hosts));
        let ([by_server, by_client], crossed, pause_ns, [to_server, to_client]) = match busiest {
            Some(hosts) => (far[&hosts], own_calls(&hosts), None, further[&hosts]),
            None => (near, crossed, pause_ns, near_halves),
        };
        let (path, basis) = match side {
            _ if is_one_host => (None, Basis::Server),
            Vantage::Server => (by_client.path_to_client(pause_ns), Basis::Server),
            Vantage::Client => (by_server.path(crossed), Basis::Client),
            _ => (by_server.path(crossed), Basis::Unknown),
        };
        let mut notes: Vec<Text> = vec![match side {
            _ if is_one_host => "Client and server are one host: there is no network between them.".into(),
            Vantage::Server => "One capture, at the server: the server's own time is exact; what the client sees beyond it is not in this capture.".into(),
            Vantage::Client => "One capture, at the client: server and network can only be told apart by an estimate of the path.".into(),
            _ => "One capture, of which it is not known where it was taken: state it with --client or --server.".into(),
        }];
        if concluded.confidence > 0.9
            && matches!(
                (stated, concluded.vantage),
                (Some(Vantage::Client), Vantage::Server) | (Some(Vantage::Server), Vantage::Client)
            )
        {
            notes.push(text!(
                "The packets say otherwise than stated: this looks like a capture at the {vantage}.",
                vantage = concluded.vantage.name()
            ));
        }
        match (side, path) {
            (Vantage::Client, Some(path)) => notes.push(text!(
                "The path to the server and back takes {path}.",
                path = path.words()
            )),
            (Vantage::Server, Some(path)) => notes.push(text!(
                "The path to the client and back takes {path}: what clients wait beyond this capture.",
                path = path.words()
            )),
            _ => {}
        }
        let (times, longest_ns) = outages_to(own, Direction::ToClient);
        if side == Vantage::Server && times > 0 {
            notes.push(text!(
                "Answers were sent again for up to {longest} before they were acknowledged ({times,} time{times||s}): how long clients waited for them is not in this capture.",
                longest = Value::Duration(longest_ns),
                times = times as u64,
            ));
        }
        let crossing = to_server.bounds().plus(to_client.bounds());
        let at = |vantage| (side == vantage).then_some(0);
        Seen {
            client: at(Vantage::Client),
            server: at(Vantage::Server),
            basis,
            clock: None,
            clocks: Vec::new(),
            ways: None,
            unsure: Vec::new(),
            halves: near_halves,
            further,
            path,
            crossing_ns: (crossing.lo_ns, crossing.hi_ns.unwrap_or(LONGEST_PATH_NS)),
            sql: profiler.map(|p| sql::of_one(p, Vec::new(), side)),
            are_exchanged: false,
            is_proxied: false,
            notes,
        }
    }
}
