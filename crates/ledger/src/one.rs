//! A call that one capture saw into its ledger.
//!
//! What lies between the capture and each host is known in bounds: handshakes and acknowledgements cross
//! the same half of the path there and back. Where the capture was taken at a host, that half takes no
//! time. So one rule serves a capture at the client, at the server, and anywhere between:
//!
//! - What passes while a message does is its sender's or the path's. At the sender's own end what held
//!   its bytes shows; further on there is only the time it took.
//! - Of a wait for the answer, the half towards the server takes its least at least, and its most at
//!   most; the rest is the server's.
//! - The half towards the client comes on top: its client waited longer than the capture shows.

use crate::classes::Classes;
use crate::half::Half;
use crate::held::{Held, HeldUp};
use crate::inner::inner;
use crate::kept::Pack;
use crate::late::Late;
use crate::paced::{Paced, behind_others};
use crate::spared::{Share, path};
use crate::untaken::Untaken;
use crate::{Bounds, Cause, Ledger, Locked};
use model::{Direction, EpisodeKind, InnerTrips, TimeClass};

/// By how much a message's end may stand later in its sender's capture than it was.
const JOINED_NS: i64 = 100_000;

/// Whether something was lost while a call was under way.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Lost {
    #[default]
    Nothing,
    /// Something was, and sent again.
    Segments,
    /// Nothing came through for long.
    Outage,
    /// Something may have been: datagrams that were asked again, as one of them was lost, or dropped by the server, or not
    /// answered in time.
    Perhaps,
    /// The capture lost something of it: what it shows may be another call's.
    Hidden,
}

impl Lost {
    pub(crate) fn number(self) -> u64 {
        match self {
            Lost::Nothing => 0,
            Lost::Segments => 1,
            Lost::Outage => 2,
            Lost::Hidden => 3,
            Lost::Perhaps => 4,
        }
    }

    pub(crate) fn of(number: u64) -> Lost {
        match number {
            1 => Lost::Segments,
            2 => Lost::Outage,
            3 => Lost::Hidden,
            4 => Lost::Perhaps,
            _ => Lost::Nothing,
        }
    }

    /// What a message's passing is charged to that nothing explains better.
    fn passing(self) -> Cause {
        match self {
            Lost::Nothing | Lost::Perhaps => Cause::Transfer,
            lost => lost.cause(),
        }
    }

    pub(crate) fn cause(self) -> Cause {
        match self {
            Lost::Outage => Cause::Outage,
            _ => Cause::Loss,
        }
    }
}

/// A call as one capture saw it. All times in nanoseconds.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct One {
    /// Which row of `calls` it is.
    pub row: u64,
    /// Number of its connection, and of its kind of work (statement or operation).
    pub connection: u64,
    pub work: u64,
    /// Number of what it has in common with others: who asked whom for what.
    pub attributes: u64,
    /// Number of its server, to find whether that has a cap.
    pub server: u64,
    /// When its request's first byte passed.
    pub at_ns: i64,
    pub request_bytes: u64,
    pub request_passing_ns: i64,
    pub wait_ns: i64,
    pub response_passing_ns: i64,
    /// Of the request's passing, and of the wait and the response's, what the sender's TCP held back.
    pub request_held_ns: i64,
    pub response_held_ns: i64,
    /// Of its messages' passing.
    pub inner: InnerTrips,
    /// How much later than usual its request's first byte, and its response's, came to the capture by its sender's own time
    /// stamps: the path kept it so long.
    pub late_ns: [i64; 2],
    /// Of the wait, what the server was silent on all its connections.
    pub stall_ns: i64,
    /// Of the wait, how long it was sent again and again and nothing was acknowledged, though nothing was lost: the path, or
    /// the server's host, kept all of it.
    pub unheard_ns: i64,
    /// Of the wait, how much may have been one for locks that other sessions held while their clients thought.
    pub locked_ns: i64,
    /// Of that, what was one beyond chance.
    pub lock_ns: i64,
    pub lost: Lost,
    /// Whether all of that were requests of which the capture holds both copies.
    pub came_twice: bool,
    /// Whether the capture lacks bytes of its messages: when these passed nobody knows.
    pub has_holes: bool,
    /// Whether it was sent in datagrams; and whether its request may have waited in its sender's own line behind others, which
    /// nothing acknowledges.
    pub is_datagram: bool,
    pub may_queue: bool,
    /// Whether its request had been sent before the capture began: it waited since then at least, and `at_ns` is when that was.
    pub began_before: bool,
    /// How long recoveries overlapped its wait, and those of responses its response's passing; and how long the
    /// wait lay behind requests that had been lost before it.
    pub recovery_ns: i64,
    pub response_recovery_ns: i64,
    pub behind_ns: i64,
    /// Where its response is hidden, how much longer it may have waited than until the first bytes that may hold it.
    pub hidden_ns: i64,
    /// Of that, how long its client did not read.
    pub hidden_unread_ns: i64,
    /// Of one during which something was lost, of a client that waits for each answer: how long after its end that asked for
    /// something else; or that it did not, and the capture was over.
    pub went_on_ns: Option<i64>,
    pub was_last: bool,
    /// Whether a server that had answered may not have sent as fast as it answers.
    pub may_be_held: bool,
    /// Of one that was never answered, how long it waited on with nothing heard any more on its connection: beyond the
    /// parts above.
    pub silent_ns: i64,
    pub held: HeldUp,
}

impl One {
    #[must_use]
    pub fn response_ns(&self) -> i64 {
        self.request_passing_ns + self.wait_ns + self.response_passing_ns
    }

    /// What is known of the halves of the path for it: a request that was sent before the capture began may have been with
    /// its server by then.
    #[must_use]
    pub fn halves(&self, halves: [Half; 2]) -> [Half; 2] {
        match self.began_before {
            true => halves.map(Half::perhaps_crossed),
            false => halves,
        }
    }
}

/// What divides a call of one capture, known when that is over.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct OneFacts {
    pub to_server: Half,
    pub to_client: Half,
    /// How much longer than that a request may have been on its way to the server, as answers were.
    pub varies_ns: i64,
    /// Whether what a call waits beyond the path is the server's; else it may wait behind others' replies.
    pub waits_tell: bool,
    /// What the server takes for a call that finds nothing to queue behind, where it has a cap.
    pub unloaded_ns: Option<i64>,
    /// Of what the path takes, what fewer calls would spare.
    pub spared: Option<Share>,
    /// How long fragments of its datagrams were missing.
    pub fragments_ns: i64,
    /// Whether silences of each direction's sender may lie between messages.
    pub may_idle: [bool; 2],
    /// Of turns of a byte stream: what their connection's account says of the time in which they passed.
    pub classes: Option<Classes>,
    pub queued: Queued,
    /// How each direction of its connection was sent.
    pub paced: [Option<Paced>; 2],
    /// Of what it waited on in silence, how long its server is known not to have answered.
    pub unanswered_ns: i64,
    /// Of the wait, how long its server's own capture had some of its request that was not taken until it was sent again.
    pub request_again_ns: i64,
    /// How long after its end some of its answer was sent again that had been lost behind the capture, or that its client had
    /// not taken.
    pub sent_again_ns: i64,
    /// Why a host had not taken what its own capture has.
    pub untaken: Untaken,
}

impl OneFacts {
    /// Of a capture, before anything is known of a call.
    #[must_use]
    pub fn of(to_server: Half, to_client: Half, waits_tell: bool) -> OneFacts {
        OneFacts {
            to_server,
            to_client,
            varies_ns: 0,
            waits_tell,
            unloaded_ns: None,
            spared: None,
            fragments_ns: 0,
            may_idle: [false; 2],
            classes: None,
            queued: Queued::default(),
            paced: [None; 2],
            unanswered_ns: 0,
            request_again_ns: 0,
            sent_again_ns: 0,
            untaken: Untaken::Either,
        }
    }
}

/// What a line took of a call that was full: of its request's passing, and of the wait until its request had
/// passed and that was known, at least.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Queued {
    pub passing_ns: i64,
    pub wait_ns: i64,
}

/// Divides a call's time.
pub fn divide_one(call: &One, facts: &OneFacts, ledger: &mut Ledger) {
    let response = call.response_ns().max(0);
    let is_lossy = match call.lost {
        Lost::Nothing => false,
        // What comes to the server twice was left without an answer there.
        Lost::Perhaps => !facts.to_server.is_here(),
        // What came to its host was not lost.
        Lost::Segments | Lost::Outage if call.came_twice && facts.to_server.is_here() => {
            facts.untaken != Untaken::Dropped
        }
        Lost::Segments | Lost::Outage | Lost::Hidden => true,
    };
    let mut beyond = facts.to_client.bounds();
    // What TCP loses further on it sends again, past the capture.
    let is_lost_before = call.lost == Lost::Perhaps && !call.is_datagram;
    if is_lossy && !is_lost_before && !facts.to_client.is_here() && !call.was_last {
        // What was sent again may have been lost again further on, until the client went on.
        beyond.hi_ns = call.went_on_ns.filter(|ns| *ns >= beyond.lo_ns);
    }
    let again = Bounds {
        lo_ns: facts.sent_again_ns,
        // Further on it may have been lost again; next to its host all that came is seen.
        hi_ns: (facts.sent_again_ns == 0 || facts.to_client.is_here())
            .then_some(facts.sent_again_ns),
    };
    let late = Late::of(call, facts.to_server, facts.to_client);
    let waited = Bounds::exactly(call.waited_ns()).plus(beyond).plus(again);
    ledger.clear(waited.plus(late.before()));
    if call.lost == Lost::Hidden {
        ledger.charge(Cause::Unknown, Direction::ToServer, ledger.response);
        return;
    }
    let wait = call.wait_ns.clamp(0, response);
    let mut request = call.request_passing_ns.clamp(0, response - wait);
    let mut reply = response - wait - request;
    let own = match call.inner.of_request {
        true => &mut request,
        false => &mut reply,
    };
    inner(call, facts, own, ledger);
    let (d, back) = (Direction::ToServer, Direction::ToClient);
    let beside;
    let held = match is_lossy {
        true => {
            beside = call.held.passing.beside_loss();
            &beside
        }
        false => &call.held.passing,
    };
    let missing = facts.fragments_ns.clamp(0, request);
    ledger.charge(Cause::Fragments, d, Bounds::exactly(missing));
    request -= missing;
    let known = held.sum(d).min(request);
    let (client, server) = (facts.to_client, facts.to_server);
    let mut own = |d, ends, ns: &mut i64| match held.is_free(d) {
        true => 0,
        false => passing(held, d, ends, is_lossy, facts.may_idle, ns, ledger),
    };
    let request_unsure = own(d, [client, server], &mut request);
    let reply_unsure = own(back, [server, client], &mut reply);
    if facts.to_client.is_here() && facts.classes.is_none() {
        // Only next to a sender it shows that its TCP held something back.
        let nagle = (call.request_held_ns - known).clamp(0, request);
        ledger.charge(Cause::Nagle, d, Bounds::exactly(nagle));
        request -= nagle;
    }
    // Segments that the host joins stand in its capture a little later than they were.
    let full = (facts.queued.passing_ns).clamp(0, (request - JOINED_NS).max(0));
    ledger.charge(Cause::Bandwidth, d, Bounds::exactly(full));
    request -= full;
    let mut passed = |ns, unsure, way: Direction, sender: Half, recovery_ns| {
        let own = facts.classes.is_none() && sender.is_here();
        let paced = facts.paced[way.index()].filter(|_| own);
        if let Some(paced) = paced
            && is_lossy
            && paced.line.is_some()
        {
            // It was full whether or not something was lost.
            let lost = call.held.passing.of(way)[EpisodeKind::Recovery].min(ns);
            ledger.charge(
                Cause::Bandwidth,
                way,
                Bounds::between(0, ns - lost + unsure),
            );
            ledger.charge(call.lost.passing(), way, Bounds::between(lost, ns + unsure));
            return;
        }
        let ns = match paced.filter(|_| !is_lossy) {
            Some(paced) => {
                let bytes = (way == d).then_some(call.request_bytes);
                paced.charge(way, bytes, ns, ledger)
            }
            None => ns,
        };
        // Most messages are one segment.
        if ns == 0 && unsure == 0 && facts.classes.is_none() {
            return;
        }
        let rest = match &facts.classes {
            Some(classes) => by_classes(classes, held, way, sender, ns, ledger),
            None => Bounds::exactly(ns),
        };
        let mut rest = rest.plus(Bounds::between(0, unsure));
        if call.has_holes {
            rest.lo_ns = 0;
            ledger.charge(Cause::Unknown, way, rest);
        }
        rest_of(call.lost.passing(), rest, recovery_ns, way, sender, ledger);
    };
    passed(request, request_unsure, d, client, 0);
    passed(reply, reply_unsure, back, server, call.response_recovery_ns);
    waiting(call, wait, late, facts, ledger);
    silence(call, facts, ledger);
    if facts.sent_again_ns > 0 {
        match facts.to_client {
            Half::Here => facts.untaken.charge(Lost::Segments, back, again, ledger),
            Half::Away(_) => ledger.charge(Cause::Loss, back, again),
        }
    }
    // What is not in this capture is taken for what trips take: nothing shows that they varied.
    path(beyond, Bounds::exactly(i64::MAX), facts.spared, ledger);
    late.charge_before(ledger);
    if call.may_be_held {
        ledger.doubt_sending();
    }
    ledger.hide(call.hidden_ns, call.hidden_unread_ns);
}

/// What held a message up while it passed. Further on than its sender's end a stretch shows as much longer
/// or shorter as the way there varies, and a pause is told there from when the sender can have known at the
/// earliest: gives how much of it may have been the path's. What was lost before the capture, and was all that
/// was in flight, looks like a pause from there.
fn passing(
    held: &Held,
    d: Direction,
    [sender, receiver]: [Half; 2],
    is_lossy: bool,
    may_idle: [bool; 2],
    left: &mut i64,
    ledger: &mut Ledger,
) -> i64 {
    let whole = *left;
    let mut unsure = 0;
    let own = match sender {
        Half::Here => held.beside_stamps(),
        Half::Away(_) => *held,
    };
    let taken = own.only(d).take_from(left);
    for (kind, ns) in taken.each(d) {
        let held = match (sender, kind) {
            (Half::Here, _) => Bounds::exactly(ns),
            // What more of it there may be, to the ticks of its sender's clock, is in what is left.
            (Half::Away(_), kind) if kind.is_of_stamps() => Bounds::exactly(ns),
            (Half::Away(way), EpisodeKind::SenderPause | EpisodeKind::SenderSilence) => {
                let sure = match is_lossy {
                    true => 0,
                    false => (ns - varies(way)).max(0),
                };
                // What more of it there may be is in what is left, which may be its sender's as well.
                match kind == EpisodeKind::SenderSilence && may_idle[d.index()] {
                    true => Bounds::between(sure, ns),
                    false => Bounds::between(sure, whole.saturating_add(varies(way))),
                }
            }
            // Its receiver's windows show at the receiver as they were.
            (Half::Away(way), EpisodeKind::ZeroWindow | EpisodeKind::ClosingWindow)
                if receiver.is_here() =>
            {
                Bounds::between(ns, whole.saturating_add(varies(way)))
            }
            (Half::Away(way), _) => {
                let sure = way.hi_ns.map_or(0, |hi| (ns - hi).max(0));
                Bounds::between(sure, whole.saturating_add(varies(way)))
            }
        };
        unsure += (ns - held.lo_ns).max(0);
        match kind {
            EpisodeKind::SenderSilence => ledger.charge_silence(d, held, may_idle[d.index()]),
            _ => ledger.charge(Cause::of_episode(kind), d, held),
        }
    }
    unsure
}

/// By how much what passes after a way may have taken more or less time before it.
fn varies(way: Bounds) -> i64 {
    way.hi_ns.map_or(0, |hi| hi - way.lo_ns)
}

/// What the connection's account says of a message's passing. What its sender's application held is only
/// told apart from the path at its end.
fn by_classes(
    classes: &Classes,
    told: &Held,
    d: Direction,
    sender: Half,
    ns: i64,
    ledger: &mut Ledger,
) -> Bounds {
    let mut own = classes.only(d);
    let Half::Away(way) = sender else {
        if ns > 0 && d == Direction::ToServer {
            ledger.charge(Cause::Service, d, Bounds::between(0, JOINED_NS.min(ns)));
        }
        return own.divide(told, ns, JOINED_NS, ledger);
    };
    let [application, untold] = [TimeClass::SenderApplication, TimeClass::Unknown];
    let paused = own.least_ns[d.index()][application];
    // What cannot be told from here the path's bounds hold.
    for class in [application, untold] {
        own.least_ns[d.index()][class] = 0;
        own.most_ns[d.index()][class] = 0;
    }
    // What episodes have told is not told again; and it may have paused for less, by what the way varies.
    let told_ns = told.of(d)[EpisodeKind::SenderPause] + told.of(d)[EpisodeKind::SenderSilence];
    let paused = paused - told_ns;
    let rest = own.divide(told, ns, 0, ledger);
    let most = rest.hi_ns.unwrap_or(ns);
    let sure = way.hi_ns.map_or(0, |hi| (paused - hi).clamp(0, most));
    ledger.charge_silence(d, Bounds::exactly(sure), own.may_idle[d.index()]);
    Bounds::between((rest.lo_ns - sure).max(0), most - sure)
}

/// The rest of a message's passing: at its sender TCP let it out as the path took it; elsewhere the
/// sender may have written it no faster, but for what was missing of it.
fn rest_of(
    cause: Cause,
    ns: Bounds,
    missing_ns: i64,
    d: Direction,
    sender: Half,
    ledger: &mut Ledger,
) {
    let most = ns.hi_ns.unwrap_or(ns.lo_ns);
    if ns.hi_ns == Some(0) {
        return;
    }
    if sender.is_here() && d == Direction::ToServer {
        // Segments that the host joins stand in its capture a little later than they were: the server may
        // have had them by then.
        let least = (ns.lo_ns - JOINED_NS).max(0);
        ledger.charge(cause, d, Bounds::between(least, most));
        ledger.charge(Cause::Service, d, Bounds::between(0, most.min(JOINED_NS)));
    } else if sender.is_here() {
        ledger.charge(cause, d, ns);
    } else {
        let missing = missing_ns.clamp(0, ns.lo_ns);
        ledger.charge(cause, d, Bounds::between(missing, most));
        // It may have taken a little longer to leave than to come.
        let longer = most.saturating_add(most.min(JOINED_NS));
        ledger.charge(Cause::NotWriting, d, Bounds::between(0, longer - missing));
    }
}

/// The wait for the answer.
fn waiting(call: &One, wait: i64, late: Late, facts: &OneFacts, ledger: &mut Ledger) {
    let (d, back) = (Direction::ToServer, Direction::ToClient);
    let half = facts.to_server.bounds();
    // What the answer was under way for nobody worked on it; it may have been as long again, to its clock's steps.
    let late_ns = late.answer_ns.min(wait);
    let mut left = wait - late_ns;
    ledger.charge(Cause::Path, d, Bounds::exactly(late_ns));
    // What it had not taken its host neither worked on nor held back.
    let again = facts.request_again_ns.clamp(0, left);
    if again > 0 {
        let exactly = Bounds::exactly(again);
        facts.untaken.charge(Lost::Segments, d, exactly, ledger);
        left -= again;
    }
    let mut waited = |way, left: &mut i64| {
        if call.held.waiting.is_free(way) {
            return;
        }
        let taken = call.held.waiting.only(way).take_from(left);
        for (kind, ns) in taken.each(way) {
            ledger.charge(Cause::of_episode(kind), way, Bounds::exactly(ns));
        }
    };
    // Who may not send is silent, and not stalled for that; who does not read while he is silent is.
    waited(back, &mut left);
    let stall = (call.stall_ns - again).clamp(0, left);
    left -= stall;
    waited(d, &mut left);
    // What else TCP held of it shows at its sender's end; from elsewhere it may be the server's own time.
    let known = call.held.waiting.sum(back) + call.held.passing.sum(back);
    let mut resent = (call.response_held_ns - known).clamp(0, left);
    if facts.to_server.is_here() {
        let behind = call.behind_ns.clamp(0, left - resent);
        let rest = behind_others(facts.paced[back.index()], call.lost, back, resent, ledger);
        ledger.charge(call.lost.passing(), back, Bounds::exactly(rest));
        ledger.charge(Cause::Loss, d, Bounds::exactly(behind));
        left -= resent + behind;
        resent = 0;
    }
    let missing = (facts.fragments_ns - call.request_passing_ns.max(0)).clamp(0, left);
    left -= missing;
    ledger.charge(Cause::Fragments, d, Bounds::exactly(missing));
    let own = left + stall;
    if call.lost != Lost::Nothing && !facts.to_server.is_here() {
        // Whatever was lost, one crossing is not lost time.
        let lost = (call.recovery_ns - half.lo_ns).clamp(0, own);
        ledger.charge(call.lost.cause(), d, Bounds::between(lost, own));
        ledger.charge(Cause::Service, d, Bounds::between(0, own - lost));
        return;
    }
    let before_line = facts.queued.wait_ns.clamp(0, own);
    ledger.charge(Cause::Bandwidth, d, Bounds::exactly(before_line));
    let own = own - before_line;
    let hi_ns = half
        .hi_ns
        .filter(|_| facts.waits_tell || facts.to_server.is_here())
        .map(|hi| (hi - before_line).max(half.lo_ns));
    let resent = resent.min(left);
    ledger.charge(Cause::Transfer, back, Bounds::between(0, resent));
    let unheard = match facts.to_server {
        Half::Here => 0,
        Half::Away(_) => call.unheard_ns.clamp(0, own),
    };
    ledger.charge(Cause::Outage, d, Bounds::between(0, unheard));
    let longer_ns = late_ns.saturating_add(facts.varies_ns);
    let hi_ns = hi_ns.map(|hi| hi.saturating_add(longer_ns));
    let least = hi_ns.map_or(0, |hi| (own - hi - resent - unheard).max(0));
    let most = (own - half.lo_ns).max(0);
    let (mut least, mut stall) = (least, stall);
    if call.has_holes && !call.held.waiting.is_free(back) {
        // It may have been held for all of it: since when does not show behind bytes that are missing.
        (least, stall) = (0, 0);
        ledger.charge(Cause::Unknown, d, Bounds::between(0, own));
    }
    let lock = call.lock_ns.clamp(0, least);
    ledger.charge(Cause::Lock, d, Bounds::exactly(lock));
    let (least, most, stall) = (least - lock, most - lock, (stall - lock).max(0));
    // What is still held is held at the end.
    let locked_ns = call.locked_ns - lock - call.locked_ns.clamp(0, call.silent_ns.max(0));
    // A stall is the server's as far as anything is.
    let stalled = stall.min(least);
    let (of_stall, locked) = Locked::of(locked_ns.min(most)).out_of(stalled);
    ledger.charge(Cause::Stall, d, of_stall);
    let (least, most) = (least - stalled, most - stalled);
    let least = locked.out_of(least).0.lo_ns;
    ledger.charge(
        Cause::Event,
        d,
        Bounds::between(0, locked_ns.min(most + stalled)),
    );
    let work = |ns: i64| facts.unloaded_ns.map_or(ns, |unloaded| ns.min(unloaded));
    let served = Bounds::between(work(least), work(most));
    ledger.charge(Cause::Service, d, served);
    let queued = Bounds::between(least - work(least), most - work(most));
    ledger.charge(Cause::Queue, d, queued);
    let crossing = Bounds::between(half.lo_ns.min(own), hi_ns.map_or(own, |hi| hi.min(own)));
    // What it took longer than others is no distance.
    let least = Bounds {
        hi_ns: half.hi_ns.filter(|_| longer_ns > 0),
        ..half
    };
    path(crossing, least, facts.spared, ledger);
}

/// What it waited on with nothing heard any more: a host that answers is heard in its own capture. From elsewhere the answer
/// may have been sent, and lost again and again.
fn silence(call: &One, facts: &OneFacts, ledger: &mut Ledger) {
    let (d, ns) = (Direction::ToServer, call.silent_ns.max(0));
    let sure = match facts.to_server {
        Half::Here => ns,
        Half::Away(_) => facts.unanswered_ns.clamp(0, ns),
    };
    let (served, _) = Locked::of(call.locked_ns).out_of(sure);
    let locked_ns = call.locked_ns.clamp(0, ns);
    ledger.charge(Cause::Service, d, Bounds::between(served.lo_ns, ns));
    ledger.charge(Cause::Outage, d, Bounds::between(0, ns - sure));
    ledger.charge(Cause::Event, d, Bounds::between(0, locked_ns));
}
