//! A host's counter that goes with the slow calls of its side, into what the findings about hosts say: each names its
//! counters, and none costs anything by itself, as the calls' time is some other finding's already.

use super::{Finding, Rule, evidence, numbers, whole};
use crate::facts::Facts;
use crate::results::{Fit, Pressed, SeriesResult, Side};
use crate::text::{Text, Value, text};
use trace::host::{Counter, Unit};

/// A counter that explains a side.
pub(super) struct Told<'a> {
    pub(super) side: Side,
    pub(super) series: &'a SeriesResult,
    pub(super) pressed: Pressed,
}

/// The one of these that goes best with the calls of its side, which packets accuse.
pub(super) fn explains<'a>(facts: &Facts<'a>, counters: &[Counter]) -> Option<Told<'a>> {
    let sides = facts.hosts.iter().filter_map(|h| Some((h.side?, h)));
    let accused = sides.filter(|(side, _)| is_accused(facts, *side));
    let all = accused.flat_map(|(side, host)| host.series.iter().map(move |s| (side, s)));
    best(all, counters)
}

/// The same of what is on neither side by itself: lost on the way.
pub(super) fn loses<'a>(facts: &Facts<'a>, counters: &[Counter]) -> Option<Told<'a>> {
    let a = &facts.account;
    let is_lossy = facts.holds_up(a.loss_ns + a.outage_ns + a.fragments_ns);
    let sides = facts.hosts.iter().filter_map(|h| Some((h.side?, h)));
    let all = sides.flat_map(|(side, host)| host.series.iter().map(move |s| (side, s)));
    best(all, counters).filter(|_| is_lossy)
}

fn best<'a>(
    all: impl Iterator<Item = (Side, &'a SeriesResult)>,
    counters: &[Counter],
) -> Option<Told<'a>> {
    let told = all.filter_map(|(side, series)| {
        let pressed = series.held.filter(|p| p.fit == Fit::Goes)?;
        counters.contains(&series.counter).then_some(Told {
            side,
            series,
            pressed,
        })
    });
    told.max_by_key(|t| {
        let [under, beside] = t.pressed.mean_ns;
        // Of two that fit alike, what was asked for first.
        let rank = counters.iter().position(|c| *c == t.series.counter);
        (
            t.pressed.share,
            under / beside.max(1),
            std::cmp::Reverse(rank),
        )
    })
}

/// What the kernel's NFS server says of its threads itself: whether requests wait for one.
pub(super) struct Threads {
    pub(super) is_limit: bool,
    pub(super) said: Text,
}

/// So often a second, in thousandths, does a connection find no thread before that means anything.
const QUEUED_MILLI: i64 = 1_000;

/// Of `pool_stats` of the server, and `/proc/net/rpc/nfsd` beside it; nothing where it says neither clearly.
pub(super) fn threads(facts: &Facts<'_>) -> Option<Threads> {
    let servers = facts.hosts.iter().filter(|h| h.side == Some(Side::Server));
    let host = servers
        .clone()
        .find(|h| h.series.iter().any(|s| s.counter == Counter::NfsdQueued))?;
    let of = |counter: Counter| host.series.iter().filter(move |s| s.counter == counter);
    let queued = of(Counter::NfsdQueued).map(|s| s.mean_milli).sum::<i64>();
    let never = of(Counter::NfsdQueued).all(|s| s.max_milli == 0);
    let number = servers
        .flat_map(|h| &h.series)
        .filter(|s| s.counter == Counter::NfsdThreads)
        .map(|s| s.max_milli / 1_000)
        .max();
    let has = number.map_or_else(Text::default, |n| {
        text!(" has {n} thread{n||s} and", n = n.max(0).unsigned_abs())
    });
    let file = Value::File(host.file.as_str().into());
    let (is_limit, said) = match (never, queued >= QUEUED_MILLI) {
        (true, _) => (
            false,
            text!(
                " Its nfsd{has} always found one free ({file}): it is not their number that holds calls up.",
                has = has,
                file = file
            ),
        ),
        (false, true) => (
            true,
            text!(
                " Its nfsd{has} let connections wait for one {times} times a second, on average ({file}).",
                has = has,
                times = amount(Counter::NfsdThreads, queued),
                file = file,
            ),
        ),
        _ => return None,
    };
    Some(Threads { is_limit, said })
}

/// Whether packets, or the application's own times, hold a quarter of the time against it for certain.
fn is_accused(facts: &Facts<'_>, side: Side) -> bool {
    let place = match side {
        Side::Client => ledger::Place::Client,
        Side::Server => ledger::Place::Server,
        _ => return false,
    };
    let above = side == Side::Client && Rule::ClientHostSlow.check(facts).is_some();
    above || facts.holds_up(facts.account.side(place).lo_ns)
}

impl Told<'_> {
    /// How much of it is much.
    fn high(&self) -> Value {
        amount(self.series.counter, self.pressed.high_milli)
    }

    /// The same of the side's own time.
    pub(super) fn why_own(&self, what: &'static str) -> Text {
        let taking = match self.side {
            Side::Server => "The server took",
            _ => "The client took",
        };
        self.why(what, taking)
    }

    /// What was so while calls were slow. `what` is high, in words.
    pub(super) fn why(&self, what: &'static str, taking: &'static str) -> Text {
        let Pressed {
            high,
            intervals,
            mean_ns: [under, beside],
            share,
            as_good,
            ..
        } = self.pressed;
        text!(
            "In {high} of {intervals} intervals {what} of the {side}'s host was {least} or more, at most {most}. {taking} {under} of a call that began then, and {beside} of others: {share} of what is slow lies there. Shifted against the calls, it fits as well in {others} of {shifts}.",
            high = high,
            intervals = intervals,
            what = what,
            side = self.side,
            least = self.high(),
            most = amount(self.series.counter, self.series.max_milli),
            taking = taking,
            under = Value::Duration(under),
            beside = Value::Duration(beside),
            share = Value::Percent(share),
            others = as_good - 1,
            shifts = intervals.saturating_sub(1),
        )
    }

    /// All of it but the words.
    pub(super) fn finding(&self, rule: Rule, facts: &Facts<'_>) -> Finding {
        let p = &self.pressed;
        let worst = match self.side {
            Side::Server => facts.worst.server,
            _ => &facts.at_client().unwrap_or(&facts.captures[0]).slowest,
        };
        Finding {
            side: self.side,
            first: Some(self.series.max_at),
            last: worst.last,
            facts: numbers([
                ("high_intervals", whole(p.high)),
                ("intervals", whole(p.intervals)),
                ("calls_while_high", whole(p.calls[0])),
                ("mean_while_high_ns", p.mean_ns[0]),
                ("mean_else_ns", p.mean_ns[1]),
                ("per_cent_of_slow", p.share),
            ]),
            evidence: evidence::of_calls(facts, worst, "the longest calls"),
            ..rule.finding()
        }
    }
}

/// Thousandths of a counter's unit.
pub(super) fn amount(counter: Counter, milli: i64) -> Value {
    match counter.unit() {
        Unit::Percent => Value::Percent(milli / 1_000),
        Unit::Milliseconds => Value::Duration(milli.saturating_mul(1_000)),
        Unit::KilobytesPerSecond => Value::Text(text!(
            "{bytes} a second",
            bytes = Value::Bytes(milli.max(0).unsigned_abs())
        )),
        Unit::PerSecond => Value::Text(text!(
            "{n} a second",
            n = (milli.max(0).unsigned_abs()).div_ceil(1_000)
        )),
        Unit::Count => Value::Count((milli / 1_000).max(0).unsigned_abs()),
    }
}
