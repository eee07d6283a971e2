//! Calls that are over into their ledgers, when all is known that divides them; and the sums of these.
//!
//! What a call's own time says was settled when it was over ([`ledger::Both`], [`ledger::One`]). What only
//! the whole capture says comes here: the least and the most that the path takes, what a server takes
//! unloaded, how fast a line is, which trips could have been spared, what the connection's account says of
//! the time in which a message passed.

mod missing;
#[cfg(test)]
mod tests;

pub use missing::Missing;

use crate::attributes::AllAttributes;
use crate::capture_facts::{CaptureFacts, Varies};
use crate::facts::server_cap;
use crate::filled::Filled;
use crate::half::number_of;
use crate::locks::Coincidences;
use crate::matched::MatchedFacts;
use crate::narrowest::Link;
use crate::spared::Spared;
use crate::streams::Streams;
use crate::tiers::Beneath;
use crate::ways::ByHosts;
use hashbrown::HashMap;
use ledger::{
    Both, BothFacts, Certain, Classes, Half, Kept, Ledger, NarrowLink, One, OneFacts, Paced,
    Queued, Share, Sums, divide_both, divide_one,
};
use model::{ConnectionId, Direction, DirectionAccount, Mark, Time, TimeClass};
use serde::{Deserialize, Serialize};

/// What hosts timed themselves, by the number of the call.
pub type Operations = HashMap<u64, Timed, foldhash::fast::FixedState>;

/// An application's wait for a call, or a server's operation that serves one, by their own times.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Timed {
    pub ns: i64,
    /// From when what encloses the other began, where both are on one clock: of an application until its request was on the
    /// wire, of a server until it began to work on it.
    pub before_ns: Option<i64>,
}

/// How long calls of a server's own were under way while it had a call, by the number of that.
pub type WaitsBeneath = HashMap<u64, Beneath, foldhash::fast::FixedState>;

/// What divides the server's time further, by the numbers of its capture's calls.
#[derive(Clone, Copy, Default)]
pub struct AtWork<'a> {
    /// How long its operations took by its own times.
    pub operations: Option<&'a Operations>,
    pub beneath: Option<&'a WaitsBeneath>,
}

impl AtWork<'_> {
    fn divide(&self, row: u64, ledger: &mut Ledger) {
        if let Some(timed) = self.operations.and_then(|o| o.get(&row)) {
            ledger.time_operation(timed.ns);
        }
        if let Some(waits) = self.beneath.and_then(|b| b.get(&row)) {
            ledger.wait_downstream(waits.lo_ns, waits.hi_ns - waits.lo_ns);
        }
    }
}

/// Where the server's capture has a call: the number of its row there, and its packets, if none is hidden.
#[derive(Clone, Copy, Debug)]
pub struct AtServer {
    pub row: u64,
    pub seen: Option<SeenAtServer>,
}

/// How the server's capture has a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SeenAtServer {
    /// Request first and last, response first and last.
    pub marks: [Mark; 4],
    /// How long the server took inside the request, and inside the response, before that went on. Nanoseconds.
    pub inner_ns: [i64; 2],
}

/// A call's ledger, shown to who asks for each.
#[derive(Clone, Copy, Debug)]
pub struct Looked<'a> {
    /// The number of its row among the calls of the client's capture, or of the only one; or of the server's,
    /// if that alone can hold it.
    pub row: u64,
    pub is_at_server_alone: bool,
    pub ledger: &'a Ledger,
    /// Whether the judgement rests on it.
    pub is_judged: bool,
    /// Whether it is one of the slow calls that a report draws.
    pub is_drawn: bool,
    /// Where rows were [kept](crate::diagnosers::Diagnosers::keep_rows).
    pub server: Option<&'a AtServer>,
    /// How far the server's clock was ahead then.
    pub clock_offset_ns: i64,
    /// How long its application waited for it, as that noted itself.
    pub application: Option<Timed>,
}

/// What is known of a call once its captures were judged.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Judged {
    pub ledger: Ledger,
    /// Whether the judgement rests on it; turns beside calls of known protocols, and calls that a server makes for others, are only listed.
    pub in_diagnosis: bool,
    /// If there is a capture of the server's that has it.
    pub server: Option<SeenAtServer>,
    /// How far the server's clock was ahead then, in nanoseconds.
    pub clock_offset_ns: i64,
    /// How long its application waited for it, as that noted itself.
    pub application: Option<Timed>,
}

/// Who looks at them.
pub type Look<'a> = dyn FnMut(&Looked<'_>) + 'a;

/// Which call a ledger is of.
#[derive(Clone, Copy, Debug)]
pub struct Called {
    pub row: u64,
    pub is_at_server_alone: bool,
    /// When it began, on the clock of the client's capture or of the only one.
    pub at: Time,
    /// The number of its [attributes](crate::attributes).
    pub attributes: u64,
}

/// What only the whole of one or two captures says.
pub enum Whole<'a> {
    One(OneWhole<'a>),
    Both(BothWhole<'a>),
}

impl Whole<'_> {
    /// Shows each call's ledger: in the order in which calls were over, or were matched. What was kept of them is freed
    /// meanwhile.
    fn each(&mut self, spared: &Spared, mut look: impl FnMut(Called, &Ledger)) {
        let of_one = |c: &One| Called {
            row: c.row,
            is_at_server_alone: false,
            at: Time(c.at_ns),
            attributes: c.attributes,
        };
        match self {
            Whole::One(one) => one.each(spared, |c, ledger| look(of_one(c), ledger)),
            Whole::Both(both) => {
                both.each(spared, |c, ledger| {
                    let called = Called {
                        row: c.row,
                        is_at_server_alone: false,
                        at: Time(c.at_ns),
                        attributes: c.attributes,
                    };
                    look(called, ledger);
                });
                for other in &mut both.others {
                    let ahead_ns = other.ahead_ns;
                    other.calls.each(&other.spared, |c, ledger| {
                        let called = Called {
                            is_at_server_alone: true,
                            at: Time(c.at_ns) + -ahead_ns,
                            ..of_one(c)
                        };
                        look(called, ledger);
                    });
                }
            }
        }
    }

    /// What clients waited at least, as the sums have it: known before calls are divided.
    #[must_use]
    pub fn waited_ns(&self) -> i64 {
        match self {
            Whole::One(one) => one.waited_ns(),
            Whole::Both(both) => {
                let others = both.others.iter().map(|other| other.calls.waited_ns());
                others.fold(both.waited_ns(), i64::saturating_add)
            }
        }
    }

    /// The sums of all calls' ledgers, and what is certain of each: they are divided once. `look` sees each.
    pub fn divided(
        mut self,
        spared: &Spared,
        mut look: impl FnMut(Called, &Ledger),
    ) -> (Sums, Kept<Certain>) {
        let (mut sums, mut kept) = (Sums::new(), Kept::default());
        let mut certain = Certain::default();
        self.each(spared, |call, ledger| {
            sums.add(ledger);
            certain.attributes = call.attributes;
            certain.is_at_server_alone = call.is_at_server_alone;
            certain.take(call.at.0, ledger);
            kept.push(&certain);
            look(call, ledger);
        });
        (sums, kept)
    }
}

/// The calls of a client that the server's capture of two alone can hold.
pub struct OtherWhole<'a> {
    pub calls: OneWhole<'a>,
    /// How far that capture's clock is ahead.
    pub ahead_ns: i64,
    /// Which of its trips could have been spared.
    pub spared: Spared,
}

/// What only the whole of two captures says.
pub struct BothWhole<'a> {
    pub kept: Kept<Both>,
    pub matched: &'a MatchedFacts,
    pub client: &'a CaptureFacts,
    pub server: &'a CaptureFacts,
    /// How far it is from the server's capture to that, and from the client's to that.
    pub beyond: [Half; 2],
    pub client_capture: usize,
    pub links: &'a [Link],
    /// When a clock was set: what calls took then is not known.
    pub unsure: &'a [(Time, Time)],
    pub missing: Missing,
    /// Where calls are turns of byte streams.
    pub streams: Option<&'a Streams>,
    /// What calls wait beyond this may be for events.
    pub doubtful_ns: Option<i64>,
    /// Where a proxy is between both captures: how long the network takes to it and back at least, from both.
    pub to_proxy_ns: Option<i64>,
    /// Calls that the server's capture alone can hold, by client.
    pub others: Vec<OtherWhole<'a>>,
    pub at_work: AtWork<'a>,
}

impl BothWhole<'_> {
    /// What clients waited at least: of calls of which nothing is known it is not certain either.
    fn waited_ns(&self) -> i64 {
        let [_, to_client] = self.beyond;
        let beyond_ns = to_client.bounds().lo_ns;
        let are_late = to_client.is_here() && self.client.sent_again.has(Direction::ToClient);
        if self.unsure.is_empty() && !are_late {
            let calls = i64::try_from(self.kept.len()).unwrap_or(i64::MAX);
            let waited_ns = self.kept.waited_ns();
            return waited_ns.saturating_add(beyond_ns.saturating_mul(calls));
        }
        (self.kept).sum(|call| match self.is_stepped(call) {
            true => 0,
            false => {
                let later_ns = beyond_ns.saturating_add(self.sent_again_ns(call));
                call.response_ns.saturating_add(later_ns)
            }
        })
    }

    /// How much later than its end at the client a call's answer was sent again, which had not been taken there.
    fn sent_again_ns(&self, call: &Both) -> i64 {
        let [_, to_client] = self.beyond;
        match to_client.is_here() {
            true => self.client.sent_again.later_of_both_ns(call),
            false => 0,
        }
    }

    /// Shows each call's ledger, in the order in which they were matched.
    fn each(&mut self, spared: &Spared, mut look: impl FnMut(&Both, &Ledger)) {
        let mut kept = std::mem::take(&mut self.kept);
        let narrow: Vec<NarrowLink> = self.links.iter().map(Link::narrow).collect();
        let filled = self
            .streams
            .map(|s| Direction::BOTH.map(|d| Filled::of(s, d)));
        let filled: Vec<Filled<'_>> = filled.into_iter().flatten().flatten().collect();
        let mut links = Vec::new();
        let usual_path_ns = self.matched.clean_network.quantile(0.5);
        let least_path_ns = match self.matched.least_path_ns {
            i64::MAX => 0,
            least => least,
        };
        let cap = server_cap(self.server).map(|(cap, end)| (number_of(end), cap.service_ns));
        let [to_server, to_client] = self.beyond;
        let mut rows = self.matched.at_server.iter().flatten();
        let mut ledger = Ledger::default();
        kept.drain(|call| {
            let coincidence = &self.matched.coincidence;
            (call.locked_ns, call.lock_ns) =
                coincidence.judged(call.work, call.locked_ns, call.lock_ns);
            let call = &*call;
            let at_server = rows.next();
            let unloaded = cap.filter(|(server, _)| *server == call.server);
            let may_idle = Direction::BOTH.map(|d| {
                let at = self.at_sender(call, d);
                let [request_bytes, _] = call.bytes;
                let idle = self.streams.map(|s| s.may_idle(at, d, request_bytes));
                idle.unwrap_or(false)
            });
            links.clone_from(&narrow);
            links.extend(filled.iter().filter_map(|f| self.queued(f, call)));
            let is_behind = links.len() > narrow.len();
            let facts = BothFacts {
                to_server,
                to_client,
                usual_path_ns,
                least_path_ns,
                links: &links,
                unloaded_ns: unloaded.map(|(_, ns)| ns),
                fragments_ns: self
                    .missing
                    .within(call.is_datagram, call.at_ns, call.response_ns),
                paced: Direction::BOTH.map(|d| self.paced(call, d)),
                spared: within_queue(spared.of(call.connection, call.work), is_behind),
                request_again_ns: match to_server.is_here() {
                    true => self.server.sent_again.request_of_both_ns(call),
                    false => 0,
                },
                sent_again_ns: self.sent_again_ns(call),
                untaken: [
                    (self.server, call.server_connection, Direction::ToServer),
                    (self.client, call.connection, Direction::ToClient),
                ]
                .map(|(capture, connection, d)| capture.sent_again.untaken(connection, d)),
                may_idle,
                classes: self.streams.and_then(|s| self.classes(s, call, may_idle)),
            };
            divide_both(call, &facts, &mut ledger);
            if let Some(at_server) = at_server.filter(|_| to_server.is_here()) {
                self.at_work.divide(at_server.row, &mut ledger);
            }
            if self.is_stepped(call) {
                ledger.forget();
            }
            if self.client.has_unknown_window(call.connection)
                && self.server.has_unknown_window(call.server_connection)
            {
                ledger.doubt_reading();
            }
            if let Some(ns) = self.doubtful_ns {
                ledger.doubt_service(ns);
            }
            if let Some(ns) = self.to_proxy_ns {
                ledger.doubt_path(ns);
            }
            look(call, &ledger);
        });
    }

    /// The link before which a message of the call waited behind another connection's bytes.
    fn queued(&self, filled: &Filled<'_>, call: &Both) -> Option<NarrowLink> {
        let d = filled.direction();
        let from = Time(call.sending_at_ns[d.index()]);
        filled.before(
            self.at_sender(call, d),
            from,
            from + call.sending_ns[d.index()],
        )
    }

    /// Whether a clock may have been set while the call was under way.
    fn is_stepped(&self, call: &Both) -> bool {
        let (began, ended) = (Time(call.at_ns), Time(call.at_ns) + call.response_ns);
        let mut unsure = self.unsure.iter();
        unsure.any(|(from, to)| began <= *to && *from <= ended)
    }

    /// The capture at this direction's sender, and what that knows the call's connection by.
    fn at_sender(&self, call: &Both, d: Direction) -> (usize, u64) {
        match d {
            Direction::ToServer => (self.client_capture, call.connection),
            Direction::ToClient => (1 - self.client_capture, call.server_connection),
        }
    }

    fn paced(&self, call: &Both, d: Direction) -> Option<Paced> {
        let (own, other) = (call.connection, call.server_connection);
        let [(near, at_sender), (far, at_receiver)] = match d {
            Direction::ToServer => [(self.client, own), (self.server, other)],
            Direction::ToClient => [(self.server, other), (self.client, own)],
        };
        let is_at_receiver = self.beyond[d.index()].is_here();
        let paced = near.paced(at_sender, d);
        match is_at_receiver && far.is_acknowledged_late(at_receiver, d) {
            true => Some(paced.unwrap_or(Paced::blind(0)).kept_back()),
            false => paced,
        }
    }

    /// The accounts of both directions' senders, while their messages left.
    fn classes(&self, streams: &Streams, call: &Both, may_idle: [bool; 2]) -> Option<Classes> {
        let mut classes = Classes {
            may_idle,
            ..Classes::default()
        };
        for d in Direction::BOTH {
            let (capture, connection) = self.at_sender(call, d);
            let (at, ns) = (call.sending_at_ns[d.index()], call.sending_ns[d.index()]);
            let (account, is_lossy) = streams.account(capture, connection, d)?;
            let between = account.timeline.between(Time(at), Time(at) + ns);
            classes.set(d, between);
            classes.released_by[d.index()] = self.paced(call, d).and_then(|paced| paced.cause());
            classes.is_lossy |= is_lossy;
        }
        Some(classes)
    }
}

/// What could have been spared of a call that waited behind other bytes before a line that was full: how long the way takes
/// by itself does not show while that lasts.
fn within_queue(spared: Option<Share>, is_behind: bool) -> Option<Share> {
    let is_sure = |share: Share| share.is_sure && !is_behind;
    spared.map(|share| Share {
        is_sure: is_sure(share),
        ..share
    })
}

/// Pauses of a sender that is away from the capture begin, for its account, when that can have known of the last
/// acknowledgement: where nothing is known of the way at least, each of them may be the way's.
fn sure_pauses_ns(ns: i64, account: &DirectionAccount, sender: Half) -> i64 {
    let Half::Away(way) = sender else {
        return ns;
    };
    if way.lo_ns > 0 {
        return ns;
    }
    let class = TimeClass::SenderApplication;
    let unsure_ns = way.hi_ns.unwrap_or(i64::MAX);
    let (pauses, all_ns) = (account.stretches[class], account.time_ns[class].max(1));
    let unsure_ns = unsure_ns.saturating_mul(i64::from(pauses)).min(all_ns);
    (i128::from(ns) * i128::from(all_ns - unsure_ns) / i128::from(all_ns)) as i64
}

/// Of one capture, how far hosts are away that are further than the nearest.
#[derive(Clone, Copy, Default)]
pub struct Further<'a> {
    /// From the capture to the server and back, and to the client and back, by client and server.
    pub halves: Option<&'a ByHosts<[Half; 2]>>,
    pub attributes: Option<&'a AllAttributes>,
}

impl Further<'_> {
    fn is_empty(&self) -> bool {
        self.halves.is_none_or(|further| further.is_empty())
    }

    /// Of a call, by the number of its attributes.
    pub(crate) fn of(&self, attributes: u64) -> Option<[Half; 2]> {
        let hosts = self.attributes?.hosts(attributes)?;
        self.halves?.get(&hosts).copied()
    }
}

/// What only the whole of one capture says.
pub struct OneWhole<'a> {
    pub kept: Kept<One>,
    pub coincidence: Coincidences,
    pub capture: &'a CaptureFacts,
    /// From the capture to the server and back, and to the client and back.
    pub halves: [Half; 2],
    /// The same of calls between hosts that are further apart.
    pub further: Further<'a>,
    /// How much longer than that the way to the server may have taken at times.
    pub varies: Box<Varies>,
    /// Whether what a call waits beyond the path is the server's.
    pub waits_tell: bool,
    /// Whether requests of some had been sent before the capture began.
    pub some_began_before: bool,
    pub missing: Missing,
    /// Where calls are turns of byte streams.
    pub streams: Option<&'a Streams>,
    /// What calls wait beyond this may be for events.
    pub doubtful_ns: Option<i64>,
    pub at_work: AtWork<'a>,
}

impl OneWhole<'_> {
    /// What clients waited at least: beyond what was seen the way between them and the capture and back.
    fn waited_ns(&self) -> i64 {
        let [_, to_client] = self.halves;
        let seen_ns = match self.capture.may_lack_answers() {
            true => self.kept.sum(|call| call.response_ns().max(0)),
            false => self.kept.waited_ns(),
        };
        if to_client.is_here() && !self.capture.sent_again.has(Direction::ToClient) {
            return seen_ns;
        }
        let beyond = |[_, to_client]: [Half; 2]| to_client.bounds().lo_ns;
        let are_late =
            self.capture.sent_again.has(Direction::ToClient) || !self.capture.delays.is_empty();
        let are_alike = self.further.is_empty() && !are_late && !self.some_began_before;
        let beyond_ns = match are_alike {
            true => {
                let calls = i64::try_from(self.kept.len()).unwrap_or(i64::MAX);
                beyond(self.halves).saturating_mul(calls)
            }
            false => self.kept.sum(|call| {
                let halves = self.halves_of(call);
                let [_, to_client] = halves;
                let later_ns =
                    self.capture.sent_again.later_ns(call) + call.late_before_ns(to_client);
                beyond(halves).saturating_add(later_ns)
            }),
        };
        seen_ns.saturating_add(beyond_ns)
    }

    fn halves_of(&self, call: &One) -> [Half; 2] {
        call.halves(self.further.of(call.attributes).unwrap_or(self.halves))
    }

    /// Shows each call's ledger, in the order in which they were over.
    fn each(&mut self, spared: &Spared, mut look: impl FnMut(&One, &Ledger)) {
        let mut kept = std::mem::take(&mut self.kept);
        let cap = server_cap(self.capture).map(|(cap, end)| (number_of(end), cap.service_ns));
        let [to_server, to_client] = self.halves;
        let mut ledger = Ledger::default();
        let mut facts = OneFacts::of(to_server, to_client, self.waits_tell);
        let may_lack_answers = self.capture.may_lack_answers();
        kept.drain(|call| {
            (call.locked_ns, call.lock_ns) =
                (self.coincidence).judged(call.work, call.locked_ns, call.lock_ns);
            if may_lack_answers {
                // It may have been answered at once.
                call.hidden_ns += std::mem::take(&mut call.silent_ns);
            }
            let call = &*call;
            [facts.to_server, facts.to_client] = self.halves_of(call);
            facts.varies_ns = match call.may_queue && !facts.to_server.is_here() {
                true => call.wait_ns.max(0),
                false => self.varies.most_ns(call.wait_ns),
            };
            let unloaded = cap.filter(|(server, _)| *server == call.server);
            facts.unloaded_ns = unloaded.map(|(_, ns)| ns);
            facts.fragments_ns =
                (self.missing).within(call.is_datagram, call.at_ns, call.response_ns());
            facts.queued = self.queued(call);
            let spared = spared.of(call.connection, call.work);
            facts.spared = within_queue(spared, facts.queued != Queued::default());
            facts.paced = Direction::BOTH.map(|d| self.capture.paced(call.connection, d));
            facts.unanswered_ns = self.capture.unanswered_ns(call);
            if !self.capture.sent_again.is_empty() {
                self.sent_again(call, &mut facts);
            }
            if let Some(streams) = self.streams {
                let at = (0, call.connection);
                facts.may_idle =
                    Direction::BOTH.map(|d| streams.may_idle(at, d, call.request_bytes));
                facts.classes = self.classes(streams, call, facts.may_idle);
            }
            divide_one(call, &facts, &mut ledger);
            if to_server.is_here() {
                self.at_work.divide(call.row, &mut ledger);
            }
            if self.capture.has_unknown_window(call.connection) {
                ledger.doubt_reading();
            }
            if let Some(ns) = self.doubtful_ns {
                ledger.doubt_service(ns);
            }
            look(call, &ledger);
        });
    }

    /// What it waited for that a host had not taken, and what was lost behind the capture.
    #[cold]
    fn sent_again(&self, call: &One, facts: &mut OneFacts) {
        let again = &self.capture.sent_again;
        facts.sent_again_ns = again.later_ns(call);
        let own = match facts.to_server.is_here() {
            true => Direction::ToServer,
            false => Direction::ToClient,
        };
        facts.untaken = again.untaken(call.connection, own);
        facts.request_again_ns = match own {
            Direction::ToServer => again.request_ns(call),
            Direction::ToClient => 0,
        };
    }

    /// What a full line takes of it: what was sent before it passed first. Only next to the client it shows when
    /// bytes left; of turns their classes say what took them to pass.
    fn queued(&self, call: &One) -> Queued {
        let [_, to_client] = self.halves;
        let line = self.capture.lines.get(&ConnectionId(call.connection));
        let Some(line) = line.filter(|_| to_client.is_here()) else {
            return Queued::default();
        };
        let began = Time(call.at_ns);
        Queued {
            passing_ns: match self.streams {
                Some(_) => 0,
                None => line.waited_ns(began),
            },
            wait_ns: line.waited_ns(began + call.request_passing_ns),
        }
    }

    fn classes(&self, streams: &Streams, call: &One, may_idle: [bool; 2]) -> Option<Classes> {
        let request = Time(call.at_ns);
        let response = request + call.request_passing_ns + call.wait_ns;
        let mut classes = Classes {
            may_idle,
            ..Classes::default()
        };
        let [to_server, to_client] = self.halves_of(call);
        for (d, at, ns, sender) in [
            (
                Direction::ToServer,
                request,
                call.request_passing_ns,
                to_client,
            ),
            (
                Direction::ToClient,
                response,
                call.response_passing_ns,
                to_server,
            ),
        ] {
            let (account, is_lossy) = streams.account(self.capture.index, call.connection, d)?;
            let [mut least, most] = account.timeline.between(at, at + ns);
            let class = TimeClass::SenderApplication;
            least[class] = sure_pauses_ns(least[class], account, sender);
            classes.set(d, [least, most]);
            let paced = self.capture.paced(call.connection, d);
            classes.released_by[d.index()] = paced.and_then(|paced| paced.cause());
            classes.is_lossy |= is_lossy;
        }
        Some(classes)
    }
}
