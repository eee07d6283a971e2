//! Matched calls: what the times of each say by themselves, the server's own time, what was held, and what
//! the path takes, kept until all is known that divides them into lines ([`ledgers`](crate::ledgers)).
//!
//! A call that TCP had to send again can only be told from others when that episode has ended, after
//! the call itself. So calls wait here until both captures are [`SETTLE_NS`] past them.

mod asking;
mod brief;
mod hidden;
mod servers;

use crate::capture_facts::{CaptureFacts, Trouble};
use crate::clock::Corridor;
use crate::compare::gather::Parts;
use crate::half::{Half, number_of};
use crate::ledgers::AtServer;
use crate::locks::{Coincidences, LockWaits};
use crate::lost::{lost_between, recovered};
use crate::narrowest::{Narrowest, Passing};
use crate::results::{Clock, Matched};
use crate::rounds::Rounds;
use crate::stats::Distribution;
use crate::waits::{Held, held_up};
use crate::work::is_sql;
use crate::worst::{Exhibit, Worst};
use asking::Asking;
use brief::Brief;
use hidden::Bounded;
use ledger::{Both, Kept, Lost};
use model::limits;
use model::{Direction, InnerTrips, Time};
pub use servers::Servers;
use std::collections::VecDeque;

/// Longer than a retransmission timer usually backs off to.
pub(crate) const SETTLE_NS: i64 = 4_000_000_000;

/// Sums of one operation's matched calls.
#[derive(Clone, Debug, Default)]
pub struct OpSums {
    /// Calls that are in the sums below: all but those made backwards.
    forward: u64,
    pub client: Distribution,
    pub server: Distribution,
    pub difference: Distribution,
    /// Server's clock minus client's clock, summed: request last byte to request last byte, request
    /// first byte to request last byte. Client's minus server's: reply last byte to reply last byte,
    /// reply first to last.
    request_path: i128,
    out: i128,
    reply_path: i128,
    back: i128,
    /// Client's clock relative to the first call, summed, to apply a drift to the sums.
    at: i128,
    pub server_wait_ns: i128,
}

impl OpSums {
    /// A call that waited for something to be sent again crossed as its first bytes did, if those were
    /// faster than its last.
    fn take_out_recovery(&mut self, c: &Brief, s: &Brief) {
        let faster = |first: i64, last: i64| i128::from((first - last).min(0));
        self.request_path += faster(
            s.request_first.time - c.request_first.time,
            s.request_last.time - c.request_last.time,
        );
        self.reply_path += faster(
            c.response_first.time - s.response_first.time,
            c.response_last.time - s.response_last.time,
        );
    }
}

#[derive(Clone, Copy, Debug)]
struct Unsettled {
    op: usize,
    client: Brief,
    server: Brief,
    request_held_ns: i64,
    response_held_ns: i64,
    server_end: model::Endpoint,
    bytes: [u64; 2],
    row: u64,
    server_row: u64,
    /// As each capture has it: one may hide what it asks.
    works: [u64; 2],
    attributes: u32,
    is_datagram: bool,
    /// Of one whose response, or its end, is hidden from a capture or both.
    hidden: Option<Bounded>,
}

impl Unsettled {
    fn of(op: usize, client: &Half, server: &Half) -> Unsettled {
        Unsettled {
            op,
            client: Brief::of(client),
            server: Brief::of(server),
            request_held_ns: client.request_held_ns,
            response_held_ns: server.response_held_ns,
            server_end: server.server,
            bytes: [client.request_bytes, client.response_bytes].map(u64::from),
            row: client.row,
            server_row: server.row,
            works: [client.work, server.work],
            attributes: client.attributes,
            is_datagram: client.is_datagram(),
            hidden: None,
        }
    }

    /// Which call it is, before it is said what its time was.
    fn called(&self) -> Both {
        Both {
            row: self.row,
            connection: self.client.connection.0,
            server_connection: self.server.connection.0,
            work: self.works[0],
            attributes: self.attributes.into(),
            server: number_of(self.server_end),
            at_ns: self.client.request_first.time.0,
            bytes: self.bytes,
            is_datagram: self.is_datagram,
            ..Both::default()
        }
    }
}

/// All matched calls.
#[derive(Default)]
pub struct MatchedFacts {
    pub ops: Vec<OpSums>,
    pub corridor: Corridor,
    origin: Option<Time>,
    unsettled: VecDeque<Unsettled>,
    /// Each of them, to be divided when all is known that bears on it.
    pub kept: Kept<Both>,
    /// Where rows are wanted: where the server's capture has each of them.
    pub at_server: Option<Vec<AtServer>>,
    pub rounds: Rounds,
    /// Rates at which messages came out of the path, client to server and back.
    pub narrowest: [Narrowest; 2],
    /// What the path took of the call that it took least of.
    pub least_path_ns: i64,
    pub clean_network: Distribution,
    pub server_wait: Distribution,
    pub client: Distribution,
    pub slow_server: Worst,
    pub stalled: Worst,
    /// Whose server waited for its client inside them.
    pub asked: Worst,
    pub locked: Worst,
    pub lock_waits: LockWaits,
    pub coincidence: Coincidences,
    pub slow_network: Worst,
    pub lost: Worst,
    pub outage: Worst,
    pub held: Worst,
    pub first: Option<Time>,
    pub last: Option<Time>,
    /// Hosts that serve them, as the server's capture names them.
    pub servers: Servers,
    /// Where a comparison is wanted.
    pub parts: Option<Box<Parts>>,
}

/// Takes out of what passed at the server while the response did how long it waited for the client to confirm
/// something, and the client for it: the first is the client's own as its capture has it and else the path's, the
/// second the server's.
fn inner(transfer: &mut i64, path: &mut i64, [at_client, at_server]: [InnerTrips; 2]) -> [i64; 2] {
    // One of the captures lacks what shows them.
    if at_client.is_none() != at_server.is_none() {
        return [0; 2];
    }
    let server = at_server.server_ns.clamp(0, (*transfer).max(0));
    let there = at_server.client_ns.clamp(0, (*transfer - server).max(0));
    let client = at_client.client_ns.clamp(0, there);
    *transfer -= server + there;
    *path += there - client;
    [client, server]
}

fn mean(sum: i128, count: u64) -> i64 {
    if count == 0 {
        0
    } else {
        (sum / i128::from(count)) as i64
    }
}

impl MatchedFacts {
    #[must_use]
    pub fn new() -> MatchedFacts {
        MatchedFacts {
            least_path_ns: i64::MAX,
            ..MatchedFacts::default()
        }
    }

    /// Adds a call of operation number `op` that both captures hold, but perhaps for what came before them.
    /// `backwards`: the host that serves the others
    /// made it (a callback), so `client` is of the server's capture. It has times, but no part in the
    /// account of the calls that the clients wait for, nor in the clock.
    pub fn add(&mut self, op: u16, client: &Half, server: &Half, backwards: bool) {
        let op = usize::from(op);
        if op >= self.ops.len() {
            self.ops.resize_with(op + 1, OpSums::default);
        }
        let origin = *self.origin.get_or_insert(client.request_first.time);
        let (c, s) = (client.response_time_ns(), server.response_time_ns());
        let sums = &mut self.ops[op];
        // What lacks its beginning has no response time, but what was seen of it is divided.
        let is_whole = client.is_complete() || server.is_complete();
        if is_whole {
            sums.client.add(c);
            sums.server.add(s);
            sums.difference.add(c.saturating_sub(s));
        }
        if backwards {
            return;
        }
        sums.forward += 1;
        sums.request_path += i128::from(server.request_last.time - client.request_last.time);
        // What its server took while the request went on is the server's, too.
        let [asked, answered] = server.inner().server_ns_of(client.inner());
        let out = server.request_last.time - client.request_first.time - asked;
        let back = client.response_last.time - server.response_first.time - answered;
        let served = server.wait_ns() + asked + answered;
        sums.out += i128::from(out);
        sums.reply_path += i128::from(client.response_last.time - server.response_last.time);
        sums.back += i128::from(back);
        sums.at += i128::from(client.request_first.time - origin);
        sums.server_wait_ns += i128::from(served);
        self.corridor.add(
            (client.request_last.time, server.request_last.time),
            (client.response_last.time, server.response_last.time),
        );
        self.corridor.add_ways(
            client.request_last.time,
            client.response_last.time,
            [out, served, back],
        );
        self.lasted(client.request_first.time, client.response_last.time);
        self.servers.add(server.server.address);
        if is_whole {
            self.client.add(c);
        }
        self.unsettled.push_back(Unsettled::of(op, client, server));
    }

    /// A call was under way for so long.
    fn lasted(&mut self, from: Time, to: Time) {
        self.first = Some(self.first.map_or(from, |first| first.min(from)));
        self.last = self.last.max(Some(to));
    }

    /// Settles calls that both captures have left behind; `reached` are their clocks. All, without.
    pub fn settle(
        &mut self,
        client: &CaptureFacts,
        server: &CaptureFacts,
        reached: Option<[Time; 2]>,
    ) {
        while let Some(next) = self.unsettled.front() {
            let left_behind = reached.is_none_or(|[c, s]| {
                c - next.client.response_last.time > SETTLE_NS
                    && s - next.server.response_last.time > SETTLE_NS
            });
            if !left_behind && self.unsettled.len() <= limits::UNSETTLED {
                return;
            }
            if let Some(call) = self.unsettled.pop_front() {
                self.settle_one(&call, client, server);
            }
        }
    }

    fn settle_one(&mut self, call: &Unsettled, client: &CaptureFacts, server: &CaptureFacts) {
        let (c, s) = (&call.client, &call.server);
        let total = match call.hidden {
            Some(hidden) => hidden.least_ns,
            None => c.response_last.time - c.request_first.time,
        };
        let wait = (s.response_first.time - s.request_last.time).clamp(0, total.max(0));
        // What a sender waited for is best known where it stands.
        let [near_client, near_server] = [(client, c), (server, s)].map(|(facts, b)| b.near(facts));
        // Captures at both ends need no stamps.
        let of = |near, b: &Brief| {
            let held = b.during(near).filter(|t| !t.kind.is_of_stamps());
            held_up(held, &b.times())
        };
        let at_client = of(&near_client, c);
        let at_server = of(&near_server, s);
        let reply_held = at_server.waiting.sum(Direction::ToClient);
        // What was held while the response passed, is told by stretches of that time.
        let passing_held = at_server.passing.sum(Direction::ToClient);
        let held = (call.response_held_ns - passing_held).max(reply_held);
        let held = held.clamp(0, wait);
        let (from, to) = (s.request_last.time, s.response_first.time);
        let mut stall = server.stalled(call.server_end, from, to).min(wait - held);
        let resent = |t: &&Trouble| t.is_loss() && t.direction == Direction::ToClient;
        let waiting = near_server.clone().filter(|t| t.overlaps(from, to));
        if stall > 0 && waiting.clone().any(|t| resent(&t)) {
            stall = 0;
        }
        // A server that does not read is not at work; while it is silent altogether it is stalled.
        let unread = at_server.waiting.sum(Direction::ToServer) - stall;
        let unread = unread.clamp(0, wait - held - stall);
        // Nor can it read a request behind bytes that were lost on their way to it. What was lost later
        // came after the request.
        let behind =
            |t: &&Trouble| t.is_loss() && t.direction == Direction::ToServer && t.first <= from;
        let overlap = |t: &Trouble| t.overlap_ns(from, to);
        let blocked = waiting
            .clone()
            .filter(behind)
            .map(overlap)
            .fold(0, i64::max);
        let blocked = blocked.clamp(0, wait - held - stall - unread);
        let service = wait - held - stall - unread - blocked;
        let again = waiting
            .filter(resent)
            .map(overlap)
            .fold(0, i64::saturating_add);
        // What passes at the server while one message does (and what its TCP held) is the path's, but for
        // what a window, a timer or a pause of either side did.
        let rest = total.max(0) - wait;
        let passing_there = (s.response_last.time - s.request_first.time).saturating_sub(wait);
        let passing = passing_there.clamp(0, rest);
        let mut transfer = passing + held + unread;
        let mut path = rest - passing;
        let shown = |value, capture: &CaptureFacts, b: &Brief| {
            Exhibit::of(value, capture.index, b.request_first, b.response_last)
        };
        if stall > 0 {
            self.stalled.add(shown(stall, server, s));
        }
        let (mut lost, came_twice) =
            lost_between(&[s.during(&near_server), c.during(&near_client)]);
        let lacks = |facts: &CaptureFacts, b: &Brief| {
            (facts.holes).may_hide_another(b.connection, &b.times())
        };
        let is_lossy = lost != Lost::Nothing;
        let beyond = recovered(s.during(&near_server), from, to);
        let is_cut_off = call.hidden.is_some_and(|h| h.is_cut_off);
        let has_holes = |facts: &CaptureFacts, b: &Brief| {
            let life = (b.request_first.time, b.response_last.time);
            facts.lacks_bytes(call.works[0], b.connection, life, is_cut_off)
        };
        let has_holes = has_holes(client, c) || has_holes(server, s);
        let inner = match is_lossy || call.hidden.is_some() {
            true => [0; 2],
            false => inner(&mut transfer, &mut path, [c, s].map(|b| b.inner)),
        };
        let [asked, answered] = inner;
        if call.hidden.is_none() {
            self.server_wait.add(service + stall + answered);
            self.slow_server.add(shown(service + answered, server, s));
        }
        if asked > 0 {
            self.asked.add(shown(asked, client, c));
        }
        // Databases' calls are told apart by their order alone.
        if is_sql(call.works[0]) && (lacks(client, c) || lacks(server, s)) {
            lost = Lost::Hidden;
        }
        if let Some(hidden) = call.hidden.filter(|h| !h.is_cut_off) {
            // Behind losses a server that has answered may not send as fast as it answers, or not before the capture ends.
            let quiet =
                || client.troubles.is_quiet(c.connection) && server.troubles.is_quiet(s.connection);
            let is_sure = hidden.is_unanswered && !is_lossy || quiet();
            let sure = if is_sure { service } else { 0 };
            let mut transfer = held + unread;
            let causes = at_server.waiting.take_from(&mut transfer);
            let own = [sure, stall, blocked, transfer];
            let own = (own, self.still_held_ns(call, client, server));
            return self.keep_hidden(call, own, causes, (lost, beyond), [client, server]);
        }
        let Asking {
            is_at_client,
            locks,
            connection,
            work,
            life,
        } = Asking::of(call, client, server);
        let coincidence = &mut self.coincidence;
        let lock = locks.waited(call.server_end, connection, work, life, coincidence);
        if let Some(lock) = lock {
            let (index, last) = match is_at_client {
                true => (client.index, c.response_last),
                false => (server.index, s.response_last),
            };
            if let Some(shown) = lock.exhibit(index, last) {
                self.locked.add(shown);
            }
            self.lock_waits.add(work, to - from, &lock);
        }
        let life = (c.request_first.time, c.response_last.time);
        if let Some(parts) = &mut self.parts {
            let path = if is_lossy { 0 } else { path };
            parts.call(life, service + stall, path, call.bytes);
        }
        let mut causes = Held::default();
        if !at_client.is_none() || !at_server.is_none() {
            let told = |held: Held| match is_lossy {
                true => held.beside_loss(),
                false => held,
            };
            // What held the client up shows at its own end: longer than the request passed at the server, where
            // its end was quicker on the way.
            let there = (s.request_last.time - s.request_first.time).clamp(0, transfer);
            let mut room = there + path;
            causes = told(at_client.sent(Direction::ToServer, &at_server)).take_from(&mut room);
            let on_the_way = (path - room).max(0);
            transfer -= there + path - room - on_the_way;
            path -= on_the_way;
            let mut others = at_server.waiting;
            others += at_server.sent(Direction::ToClient, &at_client);
            causes += told(others).take_from(&mut transfer);
        }
        let told = at_client.passing.sum(Direction::ToServer);
        // What recovery held back is loss.
        let recovers = || {
            let (from, to) = (c.request_first.time, c.request_last.time);
            let mut near = near_client.clone().filter(|t| t.overlaps(from, to));
            near.any(|t| t.is_loss() && t.direction == Direction::ToServer)
        };
        let held_back = call.request_held_ns - told;
        let nagle = if held_back > 0 && recovers() {
            0
        } else {
            held_back
        };
        // What the client's TCP held back, passes the server as it came, or before it came there.
        let nagle = nagle.clamp(0, (transfer + path).max(0));
        let held_there = nagle.min(transfer);
        transfer -= held_there;
        path -= nagle - held_there;
        if let Some(rows) = &mut self.at_server {
            rows.push(AtServer {
                row: call.server_row,
                seen: Some(s.at_server(c)),
            });
        }
        self.kept.push(&Both {
            response_ns: total.max(0),
            service_ns: service,
            behind_loss_ns: (again - held).clamp(0, service.max(0)),
            stall_ns: stall,
            locked_ns: lock.map_or(0, |lock| lock.ns),
            lock_ns: lock.map_or(0, |lock| lock.chain_ns),
            behind_ns: blocked,
            transfer_ns: transfer,
            request_passing_ns: s.request_passing_ns(),
            nagle_ns: nagle,
            path_ns: path,
            inner_ns: inner,
            lost,
            came_twice,
            beyond: beyond.0,
            recovery_ns: beyond.1,
            has_holes,
            held: causes,
            sending_at_ns: [life.0.0, s.response_first.time.0],
            sending_ns: [
                c.request_passing_ns(),
                s.response_last.time - s.response_first.time,
            ],
            ..call.called()
        });
        if call.hidden.is_some() {
            return;
        }
        if is_lossy {
            if let Some(sums) = self.ops.get_mut(call.op) {
                sums.take_out_recovery(c, s);
            }
            let worst = match lost {
                Lost::Outage => &mut self.outage,
                _ => &mut self.lost,
            };
            worst.add(shown(path + transfer, client, c));
            return;
        }
        self.least_path_ns = self.least_path_ns.min(path);
        let [request, response] = &mut self.narrowest;
        request.add(&Passing {
            bytes: call.bytes[0],
            sent: (c.request_first, c.request_last),
            received: (s.request_first, s.request_last),
            receiver: server.index,
        });
        response.add(&Passing {
            bytes: call.bytes[1],
            sent: (s.response_first, s.response_last),
            received: (c.response_first, c.response_last),
            receiver: client.index,
        });
        self.clean_network.add(path + transfer);
        self.slow_network.add(shown(path, client, c));
        self.rounds.add(
            (c.connection, call.attributes.into()),
            life,
            call.bytes,
            path,
        );
        if nagle > 0 {
            self.held.add(shown(nagle, client, c));
        }
    }

    /// How much longer calls take at the client than at the server, on average.
    #[must_use]
    pub fn mean_difference_ns(&self) -> i64 {
        let differences = self.ops.iter().map(|o| &o.difference);
        let (sum, n) = differences.fold((0, 0), |(sum, n), d| {
            (sum + i128::from(d.total_ns()), n + i128::from(d.count()))
        });
        (sum / n.max(1)) as i64
    }

    /// Calls in the budget.
    #[must_use]
    pub fn divided(&self) -> u64 {
        self.ops.iter().map(|o| o.forward).sum()
    }

    /// Mean network out, server and network back per call; they add up to the mean response time at
    /// the client, whatever the clock says.
    #[must_use]
    pub fn budget(&self, clock: &Clock) -> [i64; 3] {
        let n = self.divided();
        let sum = |f: fn(&OpSums) -> i128| self.ops.iter().map(f).sum::<i128>();
        let shift = self.offset_sum(clock, sum(|o| o.at), n);
        // Whatever the clock, both ways together are the same; each rounded down.
        let down = |ns: i128| ns.div_euclid(i128::from(n.max(1))) as i64;
        let (out, back) = (sum(|o| o.out) - shift, sum(|o| o.back) + shift);
        let ways = down(out + back);
        [down(out), down(sum(|o| o.server_wait_ns)), ways - down(out)]
    }

    /// How far the server's clock is ahead of the client's when that shows `at`.
    #[must_use]
    pub fn offset_ns(&self, clock: &Clock, at: Time) -> i64 {
        let Some(origin) = self.origin else { return 0 };
        self.offset_sum(clock, i128::from(at - origin), 1) as i64
    }

    /// The sum of the clock offset over `n` calls whose client times sum to `at`.
    fn offset_sum(&self, clock: &Clock, at: i128, n: u64) -> i128 {
        let Some(origin) = self.origin else { return 0 };
        // When the offset holds, on the client's clock, relative to the origin.
        let base = clock.offset_at.0 - clock.offset_ns - origin.0;
        let drifted = (at as f64 - base as f64 * n as f64) * clock.drift_ppm * 1e-6;
        i128::from(clock.offset_ns) * i128::from(n) + drifted as i128
    }

    /// What one operation's matched calls say.
    #[must_use]
    pub fn op(&self, op: usize, clock: Option<&Clock>) -> Option<Matched> {
        let sums = self.ops.get(op).filter(|o| o.client.count() > 0)?;
        let n = sums.client.count();
        let forward = sums.forward;
        let shift = clock
            .filter(|_| forward > 0)
            .map(|c| self.offset_sum(c, sums.at, forward));
        Some(Matched {
            count: n,
            client_mean_ns: sums.client.mean_ns(),
            server_mean_ns: sums.server.mean_ns(),
            difference_mean_ns: sums.difference.mean_ns(),
            client_p50_ns: sums.client.quantile(0.5),
            server_p50_ns: sums.server.quantile(0.5),
            difference_p50_ns: sums.difference.quantile(0.5),
            request_path_mean_ns: shift.map(|shift| mean(sums.request_path - shift, forward)),
            reply_path_mean_ns: shift.map(|shift| mean(sums.reply_path + shift, forward)),
        })
    }
}
