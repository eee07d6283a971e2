//! A call that both captures saw into its ledger: every part is measured.
//!
//! Between the last byte of the request and the first of the response at the server lies the server's own
//! time, but for what its TCP held back and for what kept the request from it. What passes at the server
//! while messages do, and what the client waited beyond all that, is the network's, as far as no stretch
//! in which a direction was held up says whose it is.

use crate::classes::Classes;
use crate::half::Half;
use crate::held::Held;
use crate::one::Lost;
use crate::paced::{Paced, behind_others};
use crate::spared::{Share, path};
use crate::untaken::Untaken;
use crate::{Bounds, Cause, Ledger, Locked};
use model::{Direction, EpisodeKind};

/// A call as both captures saw it. All times in nanoseconds; `service_ns`, `stall_ns`, `behind_ns`,
/// `transfer_ns`, `path_ns`, `inner_ns` and `held` add up to `response_ns`.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Both {
    pub row: u64,
    pub connection: u64,
    pub work: u64,
    pub attributes: u64,
    pub server: u64,
    pub at_ns: i64,
    pub bytes: [u64; 2],
    pub response_ns: i64,
    /// The server's own.
    pub service_ns: i64,
    /// Of that, how long what the server says was being sent again: its answer may have stood behind that.
    pub behind_loss_ns: i64,
    pub stall_ns: i64,
    /// Of both, how much may have been a wait for locks that other sessions held while their clients thought.
    pub locked_ns: i64,
    /// Of that, what was one beyond chance.
    pub lock_ns: i64,
    /// Until bytes before the request came, that had been lost.
    pub behind_ns: i64,
    /// Messages passing at the server, as far as nothing below explains it; of requests only.
    pub transfer_ns: i64,
    pub request_passing_ns: i64,
    /// The client's TCP held the request back.
    pub nagle_ns: i64,
    pub path_ns: i64,
    /// Inside its messages, how long its server waited for it, and it for its server.
    pub inner_ns: [i64; 2],
    pub lost: Lost,
    /// If all of that had come to its receiver's own capture, the direction of it.
    pub came_twice: Option<Direction>,
    /// What was while the server's capture shows it waiting, and how long of that time recoveries took: where that was taken on
    /// the way, it may have been behind it.
    pub beyond: Lost,
    pub recovery_ns: i64,
    /// Whether a capture lacks bytes of its messages: when these passed nobody knows.
    pub has_holes: bool,
    /// Whether it was sent in datagrams.
    pub is_datagram: bool,
    /// Where its response is hidden, how much longer than `response_ns` it may have waited. What is above is certain then,
    /// and does not add up to that.
    pub hidden_ns: Option<i64>,
    /// Of that, how long its client did not read.
    pub hidden_unread_ns: i64,
    pub held: Held,
    /// Where its connections' accounts are to be asked: its connection at the server, when its request began
    /// to leave, when its response did by the server's clock, and how long each took to leave.
    pub server_connection: u64,
    pub sending_at_ns: [i64; 2],
    pub sending_ns: [i64; 2],
}

/// A line that is narrow for the messages of one direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NarrowLink {
    pub direction: Direction,
    pub rate_bps: i64,
    /// Whether it is busy enough that messages queue before it: what the path takes beyond its least is
    /// that queue.
    pub is_busy: bool,
    /// Whether it was full from the beginning to the end, so that the least that the path takes holds a queue, too.
    pub is_never_empty: bool,
    /// What a round trip over it took at least, where that is known besides.
    pub least_ns: Option<i64>,
}

/// What divides a call of both captures, known when they are over.
#[derive(Clone, Copy, Debug)]
pub struct BothFacts<'a> {
    /// What lies between the capture nearer to the server and that: nothing, unless it was taken on the way.
    pub to_server: Half,
    /// The same of the capture nearer to the client: its client waited so much longer than is shown.
    pub to_client: Half,
    /// What the path takes of a call of which nothing is lost, as a rule and at least.
    pub usual_path_ns: i64,
    pub least_path_ns: i64,
    /// Narrow lines, the busier first.
    pub links: &'a [NarrowLink],
    pub unloaded_ns: Option<i64>,
    /// How long fragments of its datagrams were missing.
    pub fragments_ns: i64,
    /// How each direction of its connection was sent.
    pub paced: [Option<Paced>; 2],
    pub spared: Option<Share>,
    /// How long its server's capture had some of its request that was not taken there until it was sent again.
    pub request_again_ns: i64,
    /// How long after its end some of its answer was sent again that its client had not taken.
    pub sent_again_ns: i64,
    /// Why the server's host, and the client's, had not taken what its own capture has.
    pub untaken: [Untaken; 2],
    /// Whether silences of each direction's sender may lie between messages.
    pub may_idle: [bool; 2],
    /// Of turns of a byte stream: what their connections' accounts say of the time in which they passed.
    pub classes: Option<Classes>,
}

impl BothFacts<'_> {
    /// What a call takes to cross where nothing is lost: no less than its bytes need to pass a line that is full. Of turns
    /// their classes say that.
    fn usual_ns(&self, call: &Both) -> i64 {
        if self.classes.is_some() {
            return self.usual_path_ns;
        }
        let passing = |d: Direction| {
            let line = self.paced[d.index()]?.line?;
            Some(line.passing_ns(call.bytes[d.index()]))
        };
        let ways = [Direction::ToServer, Direction::ToClient];
        let full = ways.into_iter().filter_map(passing).max();
        self.usual_path_ns.max(full.unwrap_or(0))
    }

    /// How long a request's sender was silent: a capture on the way to it sees that from when the sender can have known of what
    /// was acknowledged, by what the way varies, and it may have had nothing to send before.
    fn seen_silent(&self, d: Direction, ns: Bounds) -> Bounds {
        match (d, self.to_client) {
            (Direction::ToServer, Half::Away(before)) => {
                let most_ns = before.hi_ns.unwrap_or(i64::MAX);
                Bounds {
                    lo_ns: ns.lo_ns.saturating_sub(most_ns - before.lo_ns).max(0),
                    hi_ns: ns.hi_ns.map(|hi| hi.saturating_add(most_ns)),
                }
            }
            _ => ns,
        }
    }

    /// What was lost for whom it was: one crossing to the client is not lost time.
    fn seen_lost(&self, ns: Bounds) -> Bounds {
        let before = self.to_client.bounds();
        Bounds {
            lo_ns: (ns.lo_ns - before.hi_ns.unwrap_or(i64::MAX)).max(0),
            ..ns
        }
    }

    /// What of its messages' passing is certain to be the path's: on the way they pass as slowly as they were written, which at
    /// their sender's own end shows.
    fn passed(&self, call: &Both, passing: Bounds, ledger: &mut Ledger) -> Bounds {
        let held_ns = call.held.sum(Direction::ToServer);
        let request_ns = call
            .request_passing_ns
            .saturating_sub(held_ns)
            .clamp(0, passing.lo_ns.max(0));
        let ways = [
            (Direction::ToServer, self.to_client, request_ns),
            (
                Direction::ToClient,
                self.to_server,
                passing.lo_ns - request_ns,
            ),
        ];
        let mut sure = passing;
        for (d, sender, ns) in ways {
            if !sender.is_here() {
                ledger.charge(Cause::NotWriting, d, Bounds::between(0, ns));
                sure.lo_ns -= ns;
            }
        }
        sure
    }

    /// Charges what its server waited for it inside its messages: seen from the way to the client, some of that is the way.
    fn asked(&self, ns: i64, ledger: &mut Ledger) {
        let (d, most) = (Direction::ToServer, Bounds::between(0, ns));
        match self.to_client {
            Half::Here => ledger.charge(Cause::NotWriting, d, Bounds::exactly(ns)),
            Half::Away(_) => {
                ledger.charge(Cause::NotWriting, d, most);
                ledger.charge(Cause::Path, d, most);
            }
        }
    }
}

/// Divides a call's time.
pub fn divide_both(call: &Both, facts: &BothFacts<'_>, ledger: &mut Ledger) {
    let mut before = facts.to_client.bounds();
    if call.lost != Lost::Nothing && !facts.to_client.is_here() {
        // What was lost between both captures may have been lost again further on.
        before.hi_ns = None;
    }
    let again = Bounds::exactly(facts.sent_again_ns);
    ledger.clear(Bounds::exactly(call.response_ns).plus(before).plus(again));
    if call.lost == Lost::Hidden {
        return ledger.charge(Cause::Unknown, Direction::ToServer, ledger.response);
    }
    if facts.sent_again_ns > 0 {
        let [_, by_client] = facts.untaken;
        by_client.charge(Lost::Segments, Direction::ToClient, again, ledger);
    }
    // What is not in these captures is taken for what trips take: nothing shows that they varied.
    path(before, Bounds::exactly(i64::MAX), facts.spared, ledger);
    match facts.to_server {
        Half::Here => between(call, facts, ledger),
        Half::Away(way) => beyond(call, way, facts, ledger),
    }
}

/// A call as captures at its server, and next to its client, show it.
fn between(call: &Both, facts: &BothFacts<'_>, ledger: &mut Ledger) {
    let (d, back) = (Direction::ToServer, Direction::ToClient);
    // What it waited for a lock it stood still for, and then took long for.
    let of_stall = call.lock_ns.clamp(0, call.stall_ns.max(0));
    let of_service = (call.lock_ns - of_stall).clamp(0, call.service_ns.max(0));
    let (all_stall, all_service) = (call.stall_ns - of_stall, call.service_ns - of_service);
    // Behind what it had not taken nothing else held it up.
    let most = call.behind_ns.max(0) + all_stall.max(0) + all_service.max(0);
    let again = facts.request_again_ns.clamp(0, most);
    if again > 0 {
        let [by_server, _] = facts.untaken;
        by_server.charge(Lost::Segments, d, Bounds::exactly(again), ledger);
    }
    let behind = again.min(call.behind_ns.max(0));
    let stalled = (again - behind).min(all_stall.max(0));
    let (all_stall, all_service) = (
        all_stall - stalled,
        all_service - (again - behind - stalled),
    );
    ledger.charge(Cause::Lock, d, Bounds::exactly(of_stall + of_service));
    let locked_ns = (call.locked_ns - call.lock_ns).max(0);
    let service = match facts.unloaded_ns {
        Some(unloaded) => all_service.min(unloaded),
        None => all_service,
    };
    let (stall, locked) = Locked::of(locked_ns).out_of(all_stall);
    let (queue, locked) = locked.out_of(all_service - service);
    let (mut service, _) = locked.out_of(service);
    let behind_loss = Bounds::between(0, call.behind_loss_ns.clamp(0, service.lo_ns));
    service.lo_ns -= call.behind_loss_ns.clamp(0, service.lo_ns);
    ledger.charge(Cause::Service, d, service);
    ledger.charge(Cause::Loss, back, behind_loss);
    ledger.charge(Cause::Queue, d, queue);
    ledger.charge(Cause::Stall, d, stall);
    let own = call.service_ns + call.stall_ns;
    let may_be_event = locked_ns.min(all_service + all_stall);
    ledger.charge(Cause::Event, d, Bounds::between(0, may_be_event));
    let mut charge = |cause, d, ns| ledger.charge(cause, d, Bounds::exactly(ns));
    charge(Cause::Loss, d, call.behind_ns - behind);
    let [client, server] = call.inner_ns;
    charge(Cause::Service, d, server);
    facts.asked(client, ledger);
    let mut charge = |cause, d, ns| ledger.charge(cause, d, Bounds::exactly(ns));
    if let Some(longer) = call.hidden_ns {
        let (transfer, path) = match call.lost {
            Lost::Nothing => (Cause::Transfer, Cause::Path),
            lost => (lost.cause(), lost.cause()),
        };
        charge(path, d, call.path_ns);
        let paced = facts.paced[back.index()];
        let rest = behind_others(paced, call.lost, back, call.transfer_ns, ledger);
        let mut charge = |cause, d, ns| ledger.charge(cause, d, Bounds::exactly(ns));
        charge(transfer, back, rest);
        let mut known = own + call.behind_ns + call.transfer_ns + call.path_ns;
        for way in [d, back] {
            for (kind, ns) in call.held.each(way) {
                charge(Cause::of_episode(kind), way, ns);
                known += ns;
            }
        }
        charge(Cause::Hidden, d, (call.response_ns - known).max(0));
        return ledger.hide(longer, call.hidden_unread_ns);
    }
    // What holds turns of a stream back, their connections' accounts say.
    let nagle = match facts.classes {
        Some(_) => 0,
        None => call.nagle_ns,
    };
    charge(Cause::Nagle, d, nagle);
    for way in [d, back] {
        for (kind, ns) in call.held.each(way) {
            let ns = Bounds::exactly(ns);
            match kind {
                EpisodeKind::SenderSilence => {
                    let ns = facts.seen_silent(way, ns);
                    ledger.charge_silence(way, ns, facts.may_idle[way.index()]);
                }
                _ => ledger.charge(Cause::of_episode(kind), way, ns),
            }
        }
    }
    let (mut transfer, mut left) = (call.transfer_ns + call.nagle_ns - nagle, call.path_ns);
    // Of what messages waited for under way, some may be no more than bounds.
    let mut unsure = 0;
    if call.lost != Lost::Nothing {
        // What is beyond a crossing as usual waited for what was lost.
        let lost = (left + transfer - facts.usual_ns(call)).max(0);
        let beyond = lost.min(left);
        left -= beyond;
        transfer -= lost - beyond;
        let mut rest = match &facts.classes {
            Some(classes) => classes.divide(&call.held, lost, 0, ledger),
            None => Bounds::exactly(lost),
        };
        if call.has_holes {
            // What else it waited for, these captures do not show.
            rest.lo_ns = 0;
            ledger.charge(Cause::Unknown, d, rest);
        }
        let lost = facts.seen_lost(rest);
        match call.came_twice {
            Some(way) => facts.untaken[way.index()].charge(call.lost, way, lost, ledger),
            None => ledger.charge(call.lost.cause(), d, lost),
        }
    } else if let Some(classes) = &facts.classes {
        let rest = classes.divide(&call.held, transfer, 0, ledger);
        transfer = rest.lo_ns;
        unsure = rest.hi_ns.map_or(0, |hi| hi - rest.lo_ns);
    }
    let waited = facts.fragments_ns.clamp(0, transfer + left);
    ledger.charge(Cause::Fragments, d, Bounds::exactly(waited));
    let of_transfer = waited.min(transfer);
    transfer -= of_transfer;
    left -= waited - of_transfer;
    if facts.classes.is_none() && facts.links.is_empty() {
        for way in [d, back] {
            // After a loss, a small congestion window is the loss's.
            let tells = |paced: &Paced| call.lost == Lost::Nothing || paced.line.is_some();
            if let Some(paced) = facts.paced[way.index()].filter(tells) {
                let own = call.sending_ns[way.index()].min(transfer);
                let bytes = Some(call.bytes[way.index()]);
                transfer -= own - paced.charge(way, bytes, own, ledger);
            }
        }
    }
    let mut charge = |cause, d, ns| ledger.charge(cause, d, Bounds::exactly(ns));
    let least = facts.links.iter().filter_map(|link| link.least_ns);
    let least_path_ns = least.fold(facts.least_path_ns, i64::min);
    let mut queue = (left - least_path_ns).max(0);
    for link in facts.links {
        let bytes = call.bytes[link.direction.index()];
        let passing = passing_ns(bytes, link.rate_bps);
        // A request passes the server's capture as slowly as the line lets it; a response only the client's.
        let here = match link.direction {
            Direction::ToServer => passing.min(transfer).min(call.request_passing_ns),
            Direction::ToClient => 0,
        };
        let mut on_path = (passing - here).min(left);
        if link.is_busy {
            on_path = on_path.max(queue.min(left));
        }
        queue = (queue - on_path).max(0);
        transfer -= here;
        left -= on_path;
        charge(Cause::Bandwidth, link.direction, here + on_path);
    }
    let mut transfer = Bounds::between(transfer, transfer + unsure);
    if call.has_holes {
        transfer.lo_ns = 0;
        ledger.charge(Cause::Unknown, d, transfer);
    }
    let transfer = facts.passed(call, transfer, ledger);
    ledger.charge(Cause::Transfer, d, transfer);
    // How much of the least is the way, and how much a queue that was always there, nothing tells.
    let never_empty = facts.links.iter().find(|link| link.is_never_empty);
    let least = match never_empty {
        Some(link) => {
            let rest = Bounds::between(0, left);
            ledger.charge(Cause::Bandwidth, link.direction, rest);
            rest
        }
        None => Bounds::exactly(left),
    };
    path(
        least,
        Bounds::exactly(facts.least_path_ns),
        facts.spared,
        ledger,
    );
}

/// A call of which the second capture was taken on the way: what lies behind it takes part in what would
/// be the server's own, and in how long its sender seems to pause.
fn beyond(call: &Both, way: Bounds, facts: &BothFacts<'_>, ledger: &mut Ledger) {
    let (d, back) = (Direction::ToServer, Direction::ToClient);
    let [client, server] = call.inner_ns;
    let nagle = match facts.classes {
        Some(_) => 0,
        None => call.nagle_ns,
    };
    facts.asked(client, ledger);
    let mut charge = |cause, d, ns| ledger.charge(cause, d, Bounds::exactly(ns));
    charge(Cause::Nagle, d, nagle);
    let mut known = client + nagle;
    let mut crossing = Bounds::exactly(0);
    let mut own_ns = (call.service_ns + call.stall_ns).saturating_add(call.behind_ns);
    if call.beyond != Lost::Nothing {
        // Whatever was lost behind it, one crossing is not lost time.
        let lost = (call.recovery_ns.saturating_sub(way.lo_ns)).clamp(0, own_ns.max(0));
        ledger.charge(call.beyond.cause(), d, Bounds::between(lost, own_ns));
        ledger.charge(Cause::Service, d, Bounds::between(0, own_ns - lost));
        known += own_ns;
        own_ns = 0;
    }
    for own in [own_ns, server] {
        let least = way.hi_ns.map_or(0, |hi| (own - hi).max(0));
        let most = (own - way.lo_ns).max(0);
        ledger.charge(Cause::Service, d, Bounds::between(least, most));
        crossing = crossing.plus(Bounds::between(own - most, own - least));
        known += own;
    }
    let varies_ns = way.hi_ns.map_or(i64::MAX, |hi| hi - way.lo_ns);
    for way in [d, back] {
        for (kind, ns) in call.held.each(way) {
            let is_afar = way == back && kind == EpisodeKind::SenderSilence;
            let least = match is_afar {
                true => (ns - varies_ns).max(0),
                false => ns,
            };
            let held = Bounds::between(least, ns);
            match kind {
                EpisodeKind::SenderSilence => {
                    let held = facts.seen_silent(way, held);
                    ledger.charge_silence(way, held, facts.may_idle[way.index()]);
                }
                _ => ledger.charge(Cause::of_episode(kind), way, held),
            }
            crossing = crossing.plus(Bounds::between(0, ns - least));
            known += ns;
        }
    }
    let left = match call.hidden_ns {
        Some(_) => call.transfer_ns + call.path_ns,
        None => (call.response_ns - known).max(0),
    };
    if let Some(longer) = call.hidden_ns {
        let rest = (call.response_ns - known - left).max(0);
        ledger.charge(Cause::Hidden, d, Bounds::exactly(rest));
        ledger.hide(longer, call.hidden_unread_ns);
    }
    let passing_ns = (call.transfer_ns + call.nagle_ns - nagle).clamp(0, left);
    let mut passing = match &facts.classes {
        Some(classes) if call.lost == Lost::Nothing => {
            classes.divide(&call.held, passing_ns, 0, ledger)
        }
        _ => Bounds::exactly(passing_ns),
    };
    if call.has_holes {
        passing.lo_ns = 0;
        ledger.charge(Cause::Unknown, d, passing);
    }
    let passing = facts.passed(call, passing, ledger);
    crossing = crossing
        .plus(passing)
        .plus(Bounds::exactly(left - passing_ns));
    if call.lost != Lost::Nothing {
        // What is beyond a crossing as usual waited for what was lost.
        let usual = Bounds::exactly(facts.usual_ns(call)).plus(way);
        let least = usual.hi_ns.map_or(0, |hi| (crossing.lo_ns - hi).max(0));
        let most = crossing.hi_ns.map(|hi| (hi - usual.lo_ns).max(0));
        let lost = Bounds {
            lo_ns: least,
            hi_ns: most,
        };
        ledger.charge(call.lost.cause(), d, facts.seen_lost(lost));
        crossing = Bounds {
            lo_ns: crossing.lo_ns.min(usual.lo_ns),
            hi_ns: crossing
                .hi_ns
                .map(|hi| usual.hi_ns.map_or(hi, |u| hi.min(u))),
        };
    }
    path(crossing, Bounds::exactly(i64::MAX), facts.spared, ledger);
}

/// How long so many bytes take to pass, a byte of eight bits.
#[must_use]
pub fn passing_ns(bytes: u64, rate_bps: i64) -> i64 {
    let ns = u128::from(bytes) * 8_000_000_000 / u128::try_from(rate_bps.max(1)).unwrap_or(1);
    i64::try_from(ns).unwrap_or(i64::MAX)
}
