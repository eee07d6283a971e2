//! What findings look at: one account of where the time went, and the facts behind it.
//!
//! The account is made before any finding is, so that no nanosecond is charged twice: a finding only
//! decides whether its line of the account is worth accusing anybody.

pub use crate::account::{Account, Basis};
use crate::app::{AppFacts, ServerFacts};
use crate::capture_facts::{CaptureFacts, Trouble, Varied};
use crate::concurrency::{Scope, ServerCap};
use crate::diagnose::Kind;
use crate::health::Health;
use crate::locks::LockWaits;
use crate::matched::MatchedFacts;
use crate::narrowest::Link;
use crate::path::PathEstimate;
use crate::results::{CaptureResult, HostResult, Side};
use crate::sql::SqlResult;
use crate::startup::ClientStartup;
use crate::stats::{Distribution, FewLong};
use crate::streams::Streams;
use crate::tiers::Tier;
use crate::worst::Worst;
use ledger::{Cause, Half};
use model::{Direction, EpisodeKind, Protocol, TimeClass};

/// Fewer turns of an unknown protocol than this are held against nobody: one that waits for an event
/// makes the mean of a handful.
pub(crate) const FEW_TURNS: u64 = 20;

/// A stream that was under way for less is nothing to look into.
const LONG_NS: i64 = 1_000_000_000;

/// Only a part of so large a share of the time is accused: a quarter.
pub(crate) const ACCUSED_SHARE: i64 = 4;

/// Fewer, larger calls that would spare less are not worth a change.
pub(crate) const WORTH_NS: i64 = 500_000_000;

/// The same of writes, which go on: of a short capture, what would spare less than may be accused.
pub(crate) fn worth_of_writes_ns(captured_ns: Option<i64>) -> i64 {
    captured_ns.map_or(WORTH_NS, |ns| WORTH_NS.min(ns / ACCUSED_SHARE))
}

/// Below what nobody is accused.
#[derive(Clone, Copy, Debug)]
pub struct Thresholds {
    pub fast_enough_ns: i64,
    pub tail_ns: i64,
}

impl Thresholds {
    /// Whether these times are slow: on average, or in a tail that recurs (one call in a hundred) and
    /// matters (a tenth of the time). A single hiccup is neither.
    pub(crate) fn are_passed(self, times: &Distribution) -> bool {
        if times.count() == 0 {
            return false;
        }
        let (beyond, count) = times.beyond(self.tail_ns);
        let recurs = count >= 3 && count * 100 >= times.count();
        times.mean_ns() >= self.fast_enough_ns || (recurs && beyond / 10 >= times.total_ns() / 100)
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
    /// How far it is to the server from the capture next to it, and to the client from the one next to that: of two captures
    /// none, unless they were taken on the way.
    pub halves: [Half; 2],
    pub matched: Option<&'a MatchedFacts>,
    /// Response times and waits of all calls that are judged, where the server's capture alone holds some.
    pub others: Option<[&'a Distribution; 2]>,
    pub app: Option<&'a AppFacts>,
    pub server_app: Option<&'a ServerFacts>,
    /// What tools said of the hosts.
    pub hosts: &'a [HostResult],
    pub path: Option<PathEstimate>,
    pub account: Account,
    pub streams: &'a Streams,
    /// Links that messages of known protocols pass slowly, the busier first.
    pub links: Vec<Link>,
    /// How long calls took that one of two captures has whole, and of which the other lacks something.
    pub cut_ns: i64,
    /// How long the client waited for slow servers that the other capture does not show.
    pub elsewhere_ns: i64,
    /// How long calls of a single capture waited while their host did not even acknowledge them.
    pub unheard_ns: i64,
    /// Whether requests of some calls had been sent before the capture began.
    pub some_began_before: bool,
    /// How late their messages came.
    pub varied: &'a Varied,
    /// Of a single capture, answers that came behind packets of their servers that never did, and how long they were waited for.
    pub behind_skips: (u64, i64),
    /// The statements, where databases speak.
    pub sql: Option<&'a SqlResult>,
    /// What the client that waited longest before it was served waited for; of its calls only lookups,
    /// logons, and those that found nothing. And in which capture.
    pub startup: Option<(usize, &'a ClientStartup)>,
    /// Hosts that work for others with calls of their own, by capture.
    pub tiers: &'a [Vec<Tier>; 2],
    /// What packets say of the network's health, by capture.
    pub health: &'a [Health; 2],
    pub worst: Exhibits<'a>,
}

/// The worst calls by kind.
#[derive(Clone, Copy)]
pub struct Exhibits<'a> {
    pub server: &'a Worst,
    pub stall: &'a Worst,
    /// Of each the other transaction's end, and the answer.
    pub locked: &'a Worst,
    pub lock_waits: LockWaits,
    /// Whose server waited for its client inside them.
    pub asked: &'a Worst,
    pub network: &'a Worst,
    pub loss: &'a Worst,
    pub outage: &'a Worst,
    pub held: &'a Worst,
}

impl<'a> Facts<'a> {
    /// The health of the network as each capture shows it, with the capture's index.
    pub(crate) fn healths(&self) -> impl Iterator<Item = (usize, &'a Health)> {
        self.health.iter().enumerate().take(self.captures.len())
    }

    /// From the first call to the last; of streams, how long they were under way.
    pub(crate) fn captured_ns(&self) -> Option<i64> {
        match self.account.basis {
            Basis::Streams => Some(self.account.total_ns),
            // Of other clients the server's has the calls.
            _ if self.others.is_some() => {
                let all = self.captures.iter();
                all.filter_map(CaptureFacts::captured_ns).max()
            }
            _ => self.captures[self.client.unwrap_or(0)].captured_ns(),
        }
    }

    /// The distribution of the response times that the account divides.
    #[must_use]
    pub fn response(&self) -> &Distribution {
        match (self.others, self.matched) {
            (Some([response, _]), _) => response,
            (None, Some(m)) => &m.client,
            (None, None) => &self.captures[0].response,
        }
    }

    /// Calls of which a few took most of the time that the account divides, so that the mean is no call's.
    pub(crate) fn few_long(&self) -> Option<FewLong> {
        let response = self.response();
        // Of those that are seen in part there is no response time.
        let are_most = response.count() >= self.account.calls / 10 * 9;
        let few = response.few_long()?;
        let is_of_calls = self.account.basis != Basis::Streams && are_most;
        (is_of_calls && few.total_ns >= self.account.total_ns / 2).then_some(few)
    }

    /// The distribution of the server's own part of calls, as far as it is known.
    pub(crate) fn server_part(&self) -> &Distribution {
        match (self.others, self.matched) {
            (Some([_, wait]), _) => wait,
            (None, Some(m)) => &m.server_wait,
            (None, None) => &self.captures[0].wait,
        }
    }

    /// The distribution of the network's part of calls, as far as it is known.
    pub(crate) fn network_part(&self) -> &Distribution {
        match self.matched {
            Some(m) => &m.clean_network,
            None => &self.captures[0].response,
        }
    }

    /// Whether these times are [slow](Thresholds::are_passed).
    pub(crate) fn is_slow(&self, times: &Distribution) -> bool {
        self.thresholds.are_passed(times)
    }

    /// Whether calls take long for their clients: as the captures have them, or with the path that one at the
    /// server does not show. Streams are judged by elapsed time.
    pub(crate) fn calls_are_slow(&self) -> bool {
        let a = &self.account;
        if a.basis == Basis::Streams {
            return a.total_ns >= LONG_NS;
        }
        // All of them together take no longer than one may.
        if a.most_ns() <= self.thresholds.tail_ns {
            return false;
        }
        let mean = a.total_ns / a.calls.max(1) as i64;
        let is_timed_there = a.basis != Basis::Server && self.halves[1].is_here();
        let beyond = !is_timed_there && a.path_ns + a.chatty_ns > 0;
        // Those that were never answered, or had been asked before, have no response time, nor have those that are paired by
        // their order alone, or were seen in part; and of clients without a capture the path is beside what was timed, as is
        // what passed behind a capture.
        let seen = &self.captures[self.client.unwrap_or(0)];
        let untimed = seen.unanswered.0 > 0
            || self.others.is_some()
            || a.dropped.iter().any(|(ns, _)| *ns > 0)
            || seen.in_order > 0
            || seen.response.count() == 0
            || seen.partly.0 * 10 >= a.calls
            || self.some_began_before;
        let whole = self.response();
        let most_ns = a.most_ns() / a.calls.max(1) as i64;
        let are_slow = match self.are_few_whole() && most_ns < self.thresholds.fast_enough_ns {
            true => self.is_slow_tail(whole.beyond(self.thresholds.tail_ns)),
            false => self.is_slow(whole),
        };
        are_slow
            || ((beyond || untimed) && mean >= self.thresholds.fast_enough_ns)
            || (a.basis == Basis::Server
                && self.is_slow_tail(self.varied.beyond(self.thresholds.tail_ns)))
    }

    /// Whether so few calls were seen whole, logons among them, that they say nothing of the others.
    pub(crate) fn are_few_whole(&self) -> bool {
        self.response().count().saturating_mul(10) < self.account.calls
    }

    /// Whether calls that took longer than one may, in all and so many, are a tail that recurs and matters.
    fn is_slow_tail(&self, (beyond_ns, count): (i64, u64)) -> bool {
        let a = &self.account;
        count >= 3 && count * 100 >= a.calls && beyond_ns / 10 >= a.total_ns / 100
    }

    /// How long nothing got through at most, if that is a good part of all and the hosts that were asked did not even
    /// acknowledge it: else answers may have been lost on their way back.
    pub(crate) fn most_unheard_ns(&self) -> Option<i64> {
        let most = self.account.sums.of(Cause::Outage).hi_ns?;
        // What waited for something lost has a line of its own.
        let is_worth = most > 0 && most >= self.account.total_ns / ACCUSED_SHARE;
        (is_worth && self.unheard_ns >= most / 5 * 4).then_some(most)
    }

    /// How long calls waited at most for locks that other sessions held while their clients thought.
    pub(crate) fn most_locked_ns(&self) -> i64 {
        let most = self.account.sums.of(Cause::Event).hi_ns;
        match self.kind {
            // They may have waited for anything.
            Kind::Turns if self.are_few_turns() => 0,
            Kind::Turns | Kind::Calls => most.unwrap_or(i64::MAX).min(self.account.total_ns),
        }
    }

    /// How long connections were busy whose turns are not told, beside those whose are: of the protocols that are judged.
    pub(crate) fn untold_ns(&self) -> i64 {
        match (self.kind, self.account.basis) {
            (Kind::Turns, basis) if basis != Basis::Streams => {
                self.streams.untold_ns(Protocol::Tcp)
            }
            // What is RPC's is no stream that nobody answers.
            _ => self.streams.untold_ns(Protocol::Rpc),
        }
    }

    /// Whether headers lie behind the snap length, so that protocols are not known.
    pub(crate) fn headers_are_cut(&self) -> bool {
        let mut problems = self.results.iter().flat_map(|r| r.problems.iter());
        problems.any(|(kind, _)| kind == model::HEADERS_CUT)
    }

    /// Whether a few turns of an unknown protocol make most of what the server took, which are held against
    /// nobody.
    pub(crate) fn are_few_turns(&self) -> bool {
        self.kind == Kind::Turns
            && (self.account.calls < FEW_TURNS || rarely_beyond_ns(self.server_part()).is_some())
    }

    /// Whether one of the captures was taken there.
    pub(crate) fn has_capture_at(&self, side: Side) -> bool {
        match side {
            Side::Client => self.client.is_some(),
            Side::Server => self.server.is_some(),
            _ => false,
        }
    }

    /// Whether a part of the account may be accused: calls are slow, it is a quarter of their time, and
    /// it is slow by itself.
    pub(crate) fn is_guilty(&self, part_ns: i64, times: &Distribution) -> bool {
        self.is_guilty_of(part_ns, part_ns, times)
    }

    /// The same of one of a side's causes, where all that the side holds is slow: of what one cause explains
    /// of a slow server no other is innocent.
    pub(crate) fn is_guilty_of(&self, part_ns: i64, whole_ns: i64, times: &Distribution) -> bool {
        let mean = whole_ns / self.account.calls.max(1) as i64;
        // Half of what is slow is to blame for it, however fast by itself.
        let slow = mean >= self.thresholds.fast_enough_ns
            || whole_ns >= self.account.total_ns / 2
            || (self.response().mean_ns() < self.thresholds.fast_enough_ns && self.is_slow(times));
        let large = part_ns >= self.account.total_ns / ACCUSED_SHARE;
        part_ns > 0 && self.calls_are_slow() && slow && large
    }

    /// Whether calls are slow for what some of them waited for lost packets alone: what else each takes is fast enough.
    pub(crate) fn are_fast_but_for_losses(&self) -> bool {
        let a = &self.account;
        let lost_ns = a.loss_ns.saturating_add(a.outage_ns);
        let mean = (a.total_ns - lost_ns) / a.calls.max(1) as i64;
        // What one capture knows of the network has the losses in it.
        let is_steady = self.matched.is_none_or(|m| !self.is_slow(&m.clean_network));
        let is_lossy = lost_ns >= (a.total_ns / ACCUSED_SHARE).max(1);
        is_lossy && is_steady && mean < self.thresholds.fast_enough_ns
    }

    /// Whether a part of what messages waited for under way may be accused: calls are slow, and it is a
    /// quarter of their time.
    pub(crate) fn holds_up(&self, part_ns: i64) -> bool {
        let total = self.account.total_ns;
        part_ns > 0 && part_ns >= total / ACCUSED_SHARE && self.calls_are_slow()
    }

    /// What messages waited for under way in this direction.
    #[must_use]
    pub fn under_way(&self, d: Direction, class: TimeClass) -> i64 {
        self.account.under_way[d.index()][class]
    }

    /// How long full windows held this direction up, over all connections.
    pub(crate) fn small_window_ns(&self, d: Direction) -> i64 {
        self.at_sender(d).episodes[d.index()][EpisodeKind::SmallWindow].ns
    }

    /// The capture nearest to where this direction's bytes come from.
    pub(crate) fn at_sender(&self, d: Direction) -> &'a CaptureFacts {
        let nearest = match d {
            Direction::ToServer => self.client,
            Direction::ToClient => self.server,
        };
        &self.captures[nearest.unwrap_or(0)]
    }

    /// The capture whose packets [`Facts::sql`] names.
    pub(crate) fn sql_capture(&self) -> usize {
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

/// What turns of an unknown protocol wait beyond this may be for events, as a few of them make most of all
/// waits; none where waits are more alike.
pub(crate) fn rarely_beyond_ns(waits: &Distribution) -> Option<i64> {
    if waits.count() == 0 {
        return None;
    }
    let few = FEW_TURNS.min(waits.count() / 8).max(1);
    let usual_ns = waits.quantile(1.0 - few as f64 / waits.count() as f64);
    (waits.beyond(usual_ns).0 > waits.total_ns() / 2).then_some(usual_ns)
}

/// The server with the longest queue.
#[must_use]
pub fn server_cap(facts: &CaptureFacts) -> Option<(ServerCap, model::Endpoint)> {
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

/// How many recoveries are [outages](crate::lost::is_outage), and how long the longest lasted.
pub(crate) fn outages(facts: &CaptureFacts) -> (usize, i64) {
    outages_of(facts, |_| true)
}

/// The same of what went one way.
pub(crate) fn outages_to(facts: &CaptureFacts, d: Direction) -> (usize, i64) {
    outages_of(facts, |t| t.direction == d)
}

fn outages_of(facts: &CaptureFacts, is_one: impl Fn(&Trouble) -> bool) -> (usize, i64) {
    let long = facts.longest.iter().filter(|t| {
        t.is_loss() && is_one(t) && crate::lost::is_outage(t.timeouts, t.last - t.first)
    });
    long.fold((0, 0), |(n, longest), t| {
        (n + 1, longest.max(t.last - t.first))
    })
}
