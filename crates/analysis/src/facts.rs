//! What findings look at: one account of where the time went, and the facts behind it.
//!
//! The account is made before any finding is, so that no nanosecond is charged twice: a finding only
//! decides whether its line of the account is worth accusing anybody.

use crate::app::AppFacts;
use crate::capture_facts::CaptureFacts;
use crate::concurrency::{Scope, ServerCap};
use crate::diagnose::Kind;
use crate::health::Health;
use crate::matched::MatchedFacts;
use crate::narrowest::Link;
use crate::path::PathEstimate;
use crate::results::{CaptureResult, Vantage};
use crate::rounds::Chatter;
use crate::sql::SqlResult;
use crate::startup::ClientStartup;
use crate::stats::Distribution;
use crate::streams::{self, DIRECTIONS, Streams};
use crate::waits::{Held, HeldUp};
use crate::worst::Worst;
use model::{Direction, EpisodeKind, PerClass, TimeClass};
use serde::{Deserialize, Serialize};

/// Fewer turns of an unknown protocol than this are held against nobody: one that waits for an event
/// makes the mean of a handful.
const FEW_TURNS: u64 = 20;

/// A stream that was under way for less is nothing to look into.
const LONG_NS: i64 = 1_000_000_000;

/// Only a part of so large a share of the time is accused: a quarter.
const ACCUSED_SHARE: i64 = 4;

/// Fewer, larger calls that would spare less are not worth a change.
const WORTH_NS: i64 = 500_000_000;

/// Below what nobody is accused.
#[derive(Clone, Copy, Debug)]
pub struct Thresholds {
    pub fast_enough_ns: i64,
    pub tail_ns: i64,
}

/// What the account rests on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Basis {
    /// Calls seen in both captures: every part is measured.
    Matched,
    /// One capture at the server: its own time is exact, the rest is not seen.
    Server,
    /// One capture at the client: server and network together, divided by an estimate.
    Client,
    /// One capture of which nobody knows where it was taken.
    Unknown,
    /// No calls, but streams that nobody answers: elapsed time in which their bytes were under way, as their
    /// connections' accounts have it.
    Streams,
}

/// Where the response time of all calls went. The parts add up to `total_ns`.
#[derive(Clone, Debug)]
pub struct Account {
    pub basis: Basis,
    pub calls: u64,
    pub total_ns: i64,
    pub service_ns: i64,
    pub queue_ns: i64,
    pub stall_ns: i64,
    pub outage_ns: i64,
    pub loss_ns: i64,
    pub nagle_ns: i64,
    /// Of the path's time, what fewer, larger turns would have spared.
    pub chatty_ns: i64,
    /// The same of what larger fetches would have spared.
    pub small_fetch_ns: i64,
    /// The same of small writes that wait for a confirmation each.
    pub small_writes_ns: i64,
    /// Until datagrams of which fragments were lost were sent again.
    pub fragments_ns: i64,
    pub path_ns: i64,
    /// Messages passing, first byte to last, where nothing above explains it.
    pub transfer_ns: i64,
    /// Neither network nor server for certain.
    pub unknown_ns: i64,
    /// What messages waited for under way, by direction of the bytes: out of the transfer (or, at the
    /// server, the unknown). Of plain byte streams as their connections have it; loss stands above as
    /// well. Of known protocols as [`waits`](crate::waits) has it.
    pub under_way: [PerClass<i64>; 2],
    /// Of the waits for delayed acknowledgements, those in which nothing small was held back.
    pub delayed_ack_ns: [i64; 2],
    pub cap: Option<(ServerCap, model::Endpoint)>,
    /// What is asked, and written, in more calls than it needs.
    pub chatter: [Chatter; 2],
    /// Of one capture at the server, what the path to the client may take beyond what it takes for certain:
    /// in none of the lines above.
    pub beyond_ns: i64,
}

impl Account {
    #[must_use]
    pub fn server_ns(&self) -> i64 {
        self.service_ns + self.queue_ns + self.stall_ns
    }

    /// What the path takes, also of what fewer, larger calls would have spared.
    #[must_use]
    pub fn path_total_ns(&self) -> i64 {
        self.path_ns + self.chatty_ns + self.small_fetch_ns + self.small_writes_ns
    }

    #[must_use]
    pub fn network_ns(&self) -> i64 {
        self.outage_ns + self.loss_ns + self.fragments_ns + self.path_ns
    }

    /// Takes what fewer, larger calls would have spared out of the path, where statements do not say it
    /// better.
    pub fn charge_chatter(&mut self, chatter: [Chatter; 2]) {
        self.chatter = chatter;
        if self.chatty_ns > 0 || self.small_fetch_ns > 0 {
            return;
        }
        let [questions, writes] = chatter;
        for (line, spared) in [
            (&mut self.chatty_ns, questions.saved_ns),
            (&mut self.small_writes_ns, writes.saved_ns),
        ] {
            let spared = spared.clamp(0, self.path_ns.max(0));
            // Less than may be accused stays the path's.
            if spared >= (self.total_ns / ACCUSED_SHARE).max(WORTH_NS) {
                *line = spared;
                self.path_ns -= spared;
            }
        }
    }

    /// Takes what calls waited for lost fragments out of the passing of messages, of which it is a part
    /// where that is known, and out of what is nobody's for certain.
    pub fn charge_fragments(&mut self, waited_ns: i64) {
        let mut left = waited_ns.max(0);
        for from in [&mut self.transfer_ns, &mut self.unknown_ns] {
            let part = left.min((*from).max(0));
            *from -= part;
            self.fragments_ns += part;
            left -= part;
        }
    }

    /// Gives each cause that held calls up its line. What holds up turns of a plain stream, their
    /// connections' own accounts say, but for kinds that those do not tell apart or take for idleness: the
    /// rest goes into `left`, where they divide it.
    fn charge(&mut self, held: &Held, kind: Kind, left: fn(&mut Account) -> &mut i64) {
        for d in DIRECTIONS {
            for (episodes, &ns) in held.of(d).iter() {
                if episodes == EpisodeKind::DelayedAck {
                    self.delayed_ack_ns[d.index()] += ns;
                }
                let own = matches!(episodes, EpisodeKind::DelayedAck | EpisodeKind::SenderPause);
                match kind {
                    Kind::Turns if !own => *left(self) += ns,
                    _ => self.under_way[d.index()][episodes.class()] += ns,
                }
            }
        }
    }
}

/// Everything a finding may look at.
pub struct Facts<'a> {
    pub kind: Kind,
    pub thresholds: Thresholds,
    pub captures: &'a [CaptureFacts],
    pub results: &'a [CaptureResult],
    /// Which capture was taken at the client, which at the server.
    pub client: Option<usize>,
    pub server: Option<usize>,
    pub matched: Option<&'a MatchedFacts>,
    pub app: Option<&'a AppFacts>,
    pub path: Option<PathEstimate>,
    pub account: Account,
    pub streams: &'a Streams,
    /// Links that messages of known protocols pass slowly, the busier first.
    pub links: Vec<Link>,
    /// The statements, where databases speak.
    pub sql: Option<&'a SqlResult>,
    /// What the client that waited longest before it was served waited for; of its calls only lookups,
    /// logons, and those that found nothing. And in which capture.
    pub startup: Option<(usize, &'a ClientStartup)>,
    /// What packets say of the network's health, by capture.
    pub health: &'a [Health; 2],
    pub worst: Exhibits<'a>,
}

/// The worst calls by kind.
#[derive(Clone, Copy)]
pub struct Exhibits<'a> {
    pub server: &'a Worst,
    pub stall: &'a Worst,
    pub network: &'a Worst,
    pub loss: &'a Worst,
    pub outage: &'a Worst,
    pub held: &'a Worst,
}

impl<'a> Facts<'a> {
    /// The health of the network as each capture shows it, with the capture's index.
    pub fn healths(&self) -> impl Iterator<Item = (usize, &'a Health)> {
        self.health.iter().enumerate().take(self.captures.len())
    }

    /// The distribution of the response times that the account divides.
    #[must_use]
    pub fn response(&self) -> &Distribution {
        match self.matched {
            Some(m) => &m.client,
            None => &self.captures[0].response,
        }
    }

    /// The distribution of the server's own part of calls, as far as it is known.
    #[must_use]
    pub fn server_part(&self) -> &Distribution {
        match self.matched {
            Some(m) => &m.server_wait,
            None => &self.captures[0].wait,
        }
    }

    /// The distribution of the network's part of calls, as far as it is known.
    #[must_use]
    pub fn network_part(&self) -> &Distribution {
        match self.matched {
            Some(m) => &m.clean_network,
            None => &self.captures[0].response,
        }
    }

    /// Whether these times are slow: on average, or in a tail that recurs (one call in a hundred) and
    /// matters (a tenth of the time). A single hiccup is neither.
    #[must_use]
    pub fn is_slow(&self, times: &Distribution) -> bool {
        if times.count() == 0 {
            return false;
        }
        let (beyond, count) = times.beyond(self.thresholds.tail_ns);
        let recurs = count >= 3 && count * 100 >= times.count();
        times.mean_ns() >= self.thresholds.fast_enough_ns
            || (recurs && beyond / 10 >= times.total_ns() / 100)
    }

    /// Whether calls take long for their clients: as the captures have them, or with the path that one at the
    /// server does not show. Streams are judged by elapsed time.
    #[must_use]
    pub fn calls_are_slow(&self) -> bool {
        let a = &self.account;
        if a.basis == Basis::Streams {
            return a.total_ns >= LONG_NS;
        }
        let mean = a.total_ns / a.calls.max(1) as i64;
        let beyond = a.basis == Basis::Server && a.path_ns + a.chatty_ns > 0;
        self.is_slow(self.response()) || (beyond && mean >= self.thresholds.fast_enough_ns)
    }

    /// Whether there are only a few turns of an unknown protocol, whose waits are held against nobody.
    #[must_use]
    pub fn are_few_turns(&self) -> bool {
        self.kind == Kind::Turns && self.account.calls < FEW_TURNS
    }

    /// Whether a part of the account may be accused: calls are slow, it is a quarter of their time, and
    /// it is slow by itself.
    #[must_use]
    pub fn is_guilty(&self, part_ns: i64, times: &Distribution) -> bool {
        self.is_guilty_of(part_ns, part_ns, times)
    }

    /// The same of one of a side's causes, where all that the side holds is slow: of what one cause explains
    /// of a slow server no other is innocent.
    #[must_use]
    pub fn is_guilty_of(&self, part_ns: i64, whole_ns: i64, times: &Distribution) -> bool {
        if self.are_few_turns() {
            return false;
        }
        let mean = whole_ns / self.account.calls.max(1) as i64;
        // Half of what is slow is to blame for it, however fast by itself.
        let slow = mean >= self.thresholds.fast_enough_ns
            || whole_ns >= self.account.total_ns / 2
            || (self.response().mean_ns() < self.thresholds.fast_enough_ns && self.is_slow(times));
        let large = part_ns >= self.account.total_ns / ACCUSED_SHARE;
        part_ns > 0 && self.calls_are_slow() && slow && large
    }

    /// Whether a part of what messages waited for under way may be accused: calls are slow, and it is a
    /// quarter of their time.
    #[must_use]
    pub fn holds_up(&self, part_ns: i64) -> bool {
        let total = self.account.total_ns;
        part_ns > 0 && part_ns >= total / ACCUSED_SHARE && self.calls_are_slow()
    }

    /// What messages waited for under way in this direction.
    #[must_use]
    pub fn under_way(&self, d: Direction, class: TimeClass) -> i64 {
        self.account.under_way[d.index()][class]
    }

    /// How long full windows held this direction up, over all connections.
    #[must_use]
    pub fn small_window_ns(&self, d: Direction) -> i64 {
        self.at_sender(d).episodes[d.index()][EpisodeKind::SmallWindow].ns
    }

    /// The capture nearest to where this direction's bytes come from.
    #[must_use]
    pub fn at_sender(&self, d: Direction) -> &'a CaptureFacts {
        let nearest = match d {
            Direction::ToServer => self.client,
            Direction::ToClient => self.server,
        };
        &self.captures[nearest.unwrap_or(0)]
    }

    /// The capture whose packets [`Facts::sql`] names.
    #[must_use]
    pub fn sql_capture(&self) -> usize {
        self.client.unwrap_or(0)
    }

    /// The capture nearest to the server, and its facts.
    #[must_use]
    pub fn at_server(&self) -> Option<&'a CaptureFacts> {
        self.server.map(|i| &self.captures[i])
    }

    #[must_use]
    pub fn at_client(&self) -> Option<&'a CaptureFacts> {
        self.client.map(|i| &self.captures[i])
    }
}

/// The account of matched calls.
#[must_use]
pub fn account_of_matched(m: &MatchedFacts, server: &CaptureFacts, kind: Kind) -> Account {
    let s = &m.shares;
    // What a call takes when nothing is lost is the path's, the rest is the loss's.
    let usual = m.clean_network.quantile(0.5);
    let excess =
        |ns: i64, calls: u64| (ns - usual.saturating_mul(calls as i64)).clamp(0, ns.max(0));
    let (outage, loss) = (
        excess(s.outage_ns, s.outage_calls),
        excess(s.loss_ns, s.loss_calls),
    );
    // Of what is usual of them, the path takes as much as of the others, and the rest passed.
    let usual_ns = s.outage_ns + s.loss_ns - outage - loss;
    let lossy = s.outage_calls + s.loss_calls;
    let clean = s.calls.saturating_sub(lossy);
    let way = match i64::try_from(clean) {
        Ok(clean) if clean > 0 => (s.path_ns / clean).saturating_mul(lossy as i64),
        _ => usual_ns,
    };
    let way = way.clamp(0, usual_ns.max(0));
    let cap = server_cap(server);
    let queue = cap.map_or(0, |(c, _)| c.queue_ns).min(s.service_ns);
    let mut account = Account {
        basis: Basis::Matched,
        calls: s.calls,
        total_ns: s.total_ns,
        service_ns: s.service_ns - queue,
        queue_ns: queue,
        stall_ns: s.stall_ns,
        outage_ns: outage,
        loss_ns: loss,
        nagle_ns: s.nagle_ns,
        chatty_ns: 0,
        small_fetch_ns: 0,
        small_writes_ns: 0,
        fragments_ns: 0,
        path_ns: s.path_ns + way,
        transfer_ns: s.transfer_ns + usual_ns - way,
        unknown_ns: 0,
        under_way: Default::default(),
        delayed_ack_ns: [0; 2],
        cap,
        chatter: Default::default(),
        beyond_ns: 0,
    };
    account.charge(&s.held, kind, |a| &mut a.transfer_ns);
    account
}

/// The server with the longest queue.
fn server_cap(facts: &CaptureFacts) -> Option<(ServerCap, model::Endpoint)> {
    let mut caps: Vec<(ServerCap, model::Endpoint)> = facts
        .concurrency
        .levels()
        .filter_map(|(scope, level)| match scope {
            Scope::Server(e) => Some((level.server_cap()?, *e)),
            Scope::Pair(..) => None,
        })
        .collect();
    caps.sort_by_key(|(c, e)| (std::cmp::Reverse(c.queue_ns), *e));
    caps.first().copied()
}

/// Sums of one capture alone that need the episodes: made after it was read.
#[derive(Clone, Copy, Debug, Default)]
pub struct Alone {
    pub loss_ns: i64,
    pub outage_ns: i64,
    pub stall_ns: i64,
    /// What TCP held calls up for, and how much of that beyond what the calls themselves say was held
    /// of their waits.
    passing: Held,
    waiting: Held,
    beyond_ns: i64,
}

impl Alone {
    /// A call was held up; `known_ns` is what it says was held of its wait for the server, and
    /// `stalled_ns` what the server was silent of it.
    pub fn held(&mut self, call: &HeldUp, known_ns: i64, stalled_ns: i64) {
        let reply = call.waiting.sum(Direction::ToClient);
        let unread = call.waiting.sum(Direction::ToServer);
        let mut all = (reply + unread - stalled_ns).max(0);
        self.beyond_ns = self.beyond_ns.saturating_add((all - known_ns).max(0));
        self.waiting += call.waiting.take_from(&mut all);
        self.passing += call.passing;
    }
}

/// An account of nothing.
fn empty(basis: Basis) -> Account {
    Account {
        basis,
        calls: 0,
        total_ns: 0,
        service_ns: 0,
        queue_ns: 0,
        stall_ns: 0,
        outage_ns: 0,
        loss_ns: 0,
        nagle_ns: 0,
        chatty_ns: 0,
        small_fetch_ns: 0,
        small_writes_ns: 0,
        fragments_ns: 0,
        path_ns: 0,
        transfer_ns: 0,
        unknown_ns: 0,
        under_way: Default::default(),
        delayed_ack_ns: [0; 2],
        cap: None,
        chatter: Default::default(),
        beyond_ns: 0,
    }
}

/// The account of streams that nobody answers: the direction that carries most, while it was not idle.
#[must_use]
pub fn account_of_streams(streams: &Streams) -> Account {
    let mut account = empty(Basis::Streams);
    let Some(d) = streams.direction() else {
        return account;
    };
    let time = &streams.plain[d.index()];
    for (class, &ns) in time.iter() {
        match class {
            TimeClass::Idle => continue,
            TimeClass::Unknown => account.unknown_ns += ns,
            _ => account.transfer_ns += ns,
        }
        account.total_ns += ns;
    }
    streams::divide(&mut account, streams);
    account
}

/// The account of one capture. `alternating`: its clients wait for each answer before they ask on.
#[must_use]
pub fn account_of_one(
    facts: &CaptureFacts,
    vantage: Vantage,
    path: Option<PathEstimate>,
    alone: Alone,
    alternating: bool,
    kind: Kind,
) -> Account {
    let calls = facts.response.count();
    let total = facts.response.total_ns();
    let mut account = Account {
        calls,
        total_ns: total,
        unknown_ns: total,
        ..empty(Basis::Unknown)
    };
    let wait = facts.wait.total_ns().clamp(0, total.max(0));
    match vantage {
        Vantage::Server => {
            let others = alone.loss_ns + alone.outage_ns + alone.beyond_ns;
            let own = (wait - facts.response_held_ns - others).max(0);
            account.basis = Basis::Server;
            account.cap = server_cap(facts);
            account.stall_ns = alone.stall_ns.min(own);
            account.queue_ns = account
                .cap
                .map_or(0, |(c, _)| c.queue_ns)
                .min(own - account.stall_ns);
            account.service_ns = own - account.stall_ns - account.queue_ns;
            account.unknown_ns = total - own;
            let mut all = alone.waiting;
            all += alone.passing;
            let held = all.take_from(&mut account.unknown_ns);
            account.charge(&held, kind, |a| &mut a.unknown_ns);
            if let Some(path) = path {
                // Clients wait for the path as well, which no call here shows.
                account.path_ns = path.min_ns.saturating_mul(calls as i64);
                account.total_ns = account.total_ns.saturating_add(account.path_ns);
                let most = path.most_ns - path.min_ns;
                account.beyond_ns = most.max(0).saturating_mul(calls as i64);
            }
        }
        Vantage::Client => {
            account.basis = Basis::Client;
            account.outage_ns = alone.outage_ns.min(total);
            account.loss_ns = alone.loss_ns.min(total - account.outage_ns);
            let explained = account.outage_ns + account.loss_ns;
            // Only waits can be the server's; messages passing are held up by windows and timers too.
            let mut waits = wait.min(total - explained);
            account.transfer_ns = total - explained - waits;
            let passing = alone.passing.take_from(&mut account.transfer_ns);
            let nagle = facts.request_held_ns - passing.sum(Direction::ToServer);
            account.nagle_ns = nagle.clamp(0, account.transfer_ns.max(0));
            account.transfer_ns -= account.nagle_ns;
            for held in [passing, alone.waiting.take_from(&mut waits)] {
                account.charge(&held, kind, |a| &mut a.transfer_ns);
            }
            let Some(path) = path else {
                account.unknown_ns = waits;
                return account;
            };
            // The mean holds delayed acknowledgements, so the network is accused of four times the
            // minimum at most, and where requests are waited for of no more than the minimum; the server
            // only of what is left beyond the whole mean.
            let certain = match alternating {
                false => path.min_ns.saturating_mul(4),
                true => path.min_ns,
            };
            let mean = path.mean_ns.saturating_mul(calls as i64).min(waits);
            account.path_ns = mean.min(certain.saturating_mul(calls as i64));
            let rest = waits - mean;
            account.unknown_ns = waits - account.path_ns;
            // What is left is the server's only where it is more than the path's own variation: as much as
            // its mean, unless quick calls were seen to cross it all along.
            let varies = match path.by_calls {
                true => mean - account.path_ns,
                false => mean,
            };
            let telling = !facts.waits_behind_others();
            if telling && rest >= total / 2 && rest / 3 > varies.max(account.loss_ns) {
                account.unknown_ns -= rest;
                account.cap = server_cap(facts);
                account.stall_ns = alone.stall_ns.min(rest);
                account.queue_ns = account
                    .cap
                    .map_or(0, |(c, _)| c.queue_ns)
                    .min(rest - account.stall_ns);
                account.service_ns = rest - account.stall_ns - account.queue_ns;
            }
        }
        // Wherever that is, a silence inside a message is its sender's.
        Vantage::Middle | Vantage::Unknown => {
            let pauses = alone.passing.by_pauses();
            let held = pauses.take_from(&mut account.unknown_ns);
            account.charge(&held, kind, |a| &mut a.unknown_ns);
        }
    }
    account
}

/// Longest time that recoveries with two or more timeouts in a row lasted, and how many there were.
#[must_use]
pub fn outages(facts: &CaptureFacts) -> (usize, i64) {
    let long = facts.longest.iter().filter(|t| {
        t.kind == EpisodeKind::Recovery
            && !t.spurious
            && crate::matched::is_outage(t.timeouts, t.last - t.first)
    });
    long.fold((0, 0), |(n, longest), t| {
        (n + 1, longest.max(t.last - t.first))
    })
}
