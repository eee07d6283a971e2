//! The ledger's sums and the findings into the side to blame and its largest cause.
//!
//! A side is accused where what is certain of it outweighs what could at most be any other's. That rises
//! with what is certain of it, and falls with what may be another's: with less evidence bounds only widen,
//! so an accusation may go, and never moves to somebody else. Its confidence is that comparison in numbers.

mod proxied;
mod said;

use crate::facts::{ACCUSED_SHARE, Basis, Facts};
use crate::findings::{Of, Rule};
use crate::results::{Finding, Side, Verdict};
use ledger::{Bounds, Cause, Place, Sum};
pub use proxied::{across_proxy, nobodys_delay};

/// A second side that has this share of the first's for certain makes the verdict `mixed`.
const MIXED: f64 = 0.8;

/// What may be another's is no more than this share of what is certain of the one that is accused: the
/// truth is not near half and half then.
const OUTWEIGHED: f64 = 0.99;

/// How sure it is at most: packets may lie.
const MOST_SURE: f64 = 0.99;

/// How sure nobody is to blame where the captures have no calls.
const HARDLY: f64 = 0.5;

/// What is certain of a side, and what may be its.
#[derive(Clone, Copy)]
struct Blame {
    side: Side,
    /// Of calls, or of streams where those are judged.
    calls: Bounds,
    /// What is left of these for it at most, where others have what is certain of them.
    left_ns: Option<i64>,
    /// What it costs beside them.
    beside_ns: i64,
}

impl Blame {
    fn of(facts: &Facts<'_>, findings: &[Finding], side: Side, place: Place) -> Blame {
        // Calls that cost nothing are nobody's fault, whatever else costs time.
        let of_calls = |f: &Finding| f.is_of_calls() && f.cost_ns.is_some_and(|ns| ns > 0);
        let calls = match facts.calls_are_slow() || findings.iter().any(of_calls) {
            true => facts.account.side(place),
            false => Bounds::exactly(0),
        };
        let beside = findings
            .iter()
            .filter(|f| f.side == side && !f.is_of_calls())
            .filter_map(|f| f.cost_ns);
        let on_the_way = findings
            .iter()
            .filter(|f| f.rule == Rule::WindowScalingOff && f.side == Side::Network);
        let sums = &facts.account.sums;
        let left_ns = sums.left_for_ns(place).map(|left| match side {
            // What it is charged in another's name is not certain of that one.
            Side::Network => (on_the_way.clone().flat_map(|f| f.lines(sums)))
                .filter(|s| s.line.side != Place::Network)
                .fold(left, |left, s| left.saturating_add(s.line.ns.lo_ns)),
            _ => left,
        });
        Blame {
            side,
            calls: on_the_way.fold(calls, |calls, f| in_its_name(calls, facts, f, side)),
            left_ns,
            beside_ns: beside.fold(0, i64::saturating_add),
        }
    }

    fn sure_ns(&self) -> i64 {
        self.calls.lo_ns.saturating_add(self.beside_ns)
    }

    /// What may be its by its own lines.
    fn alone_ns(&self) -> Option<i64> {
        let calls = self.calls.hi_ns?;
        Some(calls.saturating_add(self.beside_ns))
    }

    /// The same, as far as that is left for it.
    fn most_ns(&self) -> Option<i64> {
        let alone = self.alone_ns()?;
        let left = self.left_ns.map(|ns| ns.saturating_add(self.beside_ns));
        Some(alone.min(left.unwrap_or(alone)).max(self.sure_ns()))
    }

    /// What of it is certain by itself, and what more may be another's then: of bytes that pass for no known
    /// reason, and of what hosts do with them, a finding knows more than the line.
    fn plain(&self, facts: &Facts<'_>) -> (Blame, i64) {
        let lines = facts.account.sums.lines();
        let own = |s: &&Sum| s.line.side.name() == self.side.name();
        let rest = lines
            .iter()
            .filter(own)
            .filter(|s| !is_plain(facts, s.line.cause));
        let rest_ns = rest.fold(0i64, |sum, s| sum.saturating_add(s.line.ns.lo_ns));
        let mut plain = *self;
        plain.calls.lo_ns = (self.calls.lo_ns - rest_ns).max(0);
        (plain, rest_ns)
    }

    /// Whether it has nearly as much as the one that has most, wherever in their bounds the truth lies.
    fn shares_with(&self, first: &Blame) -> bool {
        let nearly = |a: &Blame, b: &Blame| {
            b.most_ns()
                .is_some_and(|most| a.sure_ns() as f64 >= MIXED * most as f64)
        };
        let has_no_more = nearly(first, self) || first.outweighs(self);
        self.sure_ns() > 0 && nearly(self, first) && has_no_more
    }

    /// The same, as far as is certain of either: with more seen they may share.
    fn may_share_with(&self, first: &Blame) -> bool {
        self.sure_ns() as f64 >= MIXED * first.sure_ns() as f64
    }

    /// Whether what is certain of it outweighs all that may be another's.
    fn outweighs(&self, other: &Blame) -> bool {
        self.outweighs_with(other, 0)
    }

    /// The same, where so much more may be the other's. What is only left for that may be anybody's: then both are not to be
    /// near each other either.
    fn outweighs_with(&self, other: &Blame, more_ns: i64) -> bool {
        let exceeds = |share: f64, most: Option<i64>| {
            let most = most.map(|ns| ns.saturating_add(more_ns) as f64);
            most.is_some_and(|most| share * self.sure_ns() as f64 > most)
        };
        exceeds(OUTWEIGHED, other.alone_ns()) || exceeds(MIXED, other.most_ns())
    }
}

/// What is certain of a side, where a device on the way made a receiver's window small in its name: what the receiver would
/// be charged is the network's.
fn in_its_name(calls: Bounds, facts: &Facts<'_>, device: &Finding, side: Side) -> Bounds {
    let lines = device.lines(&facts.account.sums).into_iter();
    let others = lines.filter(|s| s.line.side != Place::Network);
    others.fold(calls, |calls, s| match side {
        Side::Network => calls.plus(s.line.ns),
        _ if s.line.side.name() == side.name() => Bounds {
            lo_ns: (calls.lo_ns - s.line.ns.lo_ns).max(0),
            hi_ns: calls.hi_ns.map(|hi| (hi - s.line.ns.lo_ns).max(0)),
        },
        _ => calls,
    })
}

/// Whether the line alone says that its side is to blame. Nobody knows what is a message of a stream.
fn is_plain(facts: &Facts<'_>, cause: Cause) -> bool {
    if cause == Cause::NotWriting {
        return facts.account.basis != Basis::Streams;
    }
    let is_other = matches!(
        cause,
        Cause::Lock
            | Cause::Nagle
            | Cause::NagleDelayedAck
            | Cause::Path
            | Cause::Loss
            | Cause::Outage
            | Cause::Dropped
            | Cause::Fragments
    );
    is_other || Cause::OF_SERVER.contains(&cause)
}

/// What the verdict is, and what it rests on.
enum Ground<'a> {
    /// It ended the work.
    Ended(&'a Finding),
    /// What costs most is certain, and not whose it is.
    Nobodys(&'a Finding),
    /// A side outweighs the others.
    Outweighs(Blame, Option<&'a Finding>),
    /// Two sides have nearly the same.
    Shared([Blame; 2], Option<&'a Finding>),
    /// The server took longest over a few turns, which may have waited for an event. What is known beside.
    FewTurns(Option<&'a Finding>),
    /// Senders were silent for longest where a message may have ended. What is known beside.
    Silent(Option<&'a Finding>),
    /// Connections whose turns are not told were busy for longer than anything is known of. What is known beside.
    Untold(Option<&'a Finding>),
    /// Calls of which a capture lacks something took longer than anything is known of. What is known beside.
    Cut(Option<&'a Finding>),
    /// Most of the time may have been waited for locks that sessions held while their clients thought. What is known beside.
    Locked(Option<&'a Finding>),
    /// A side outweighs the others only by what its lines alone do not hold against it.
    Unexplained(Blame),
    /// Bounds of two sides overlap; the third, if what it has for certain is worth a word; the largest finding of the first.
    Overlap([Blame; 2], Option<Blame>, Option<&'a Finding>),
    /// Calls are not slow, or streams not busy.
    NotSlow,
    NoCalls,
}

/// The verdict over `findings`, which are in order.
#[must_use]
pub fn verdict(facts: &Facts<'_>, findings: &[Finding]) -> Verdict {
    let mut blames = [
        (Side::Client, Place::Client),
        (Side::Network, Place::Network),
        (Side::Server, Place::Server),
    ]
    .map(|(side, place)| Blame::of(facts, findings, side, place));
    let most = |b: &Blame| b.most_ns().unwrap_or(i64::MAX);
    blames.sort_by_key(|b| std::cmp::Reverse((b.sure_ns(), most(b))));
    let ground = ground(facts, findings, &blames);
    let [first, ..] = &blames;
    let (side, cause) = match &ground {
        Ground::Ended(f) => (f.side, Some(*f)),
        Ground::Nobodys(f) => (Side::Undetermined, Some(*f)),
        Ground::Outweighs(blame, cause) => (blame.side, *cause),
        Ground::Shared(_, cause) => (Side::Mixed, *cause),
        Ground::NotSlow => (Side::None, None),
        Ground::FewTurns(_)
        | Ground::Silent(_)
        | Ground::Untold(_)
        | Ground::Cut(_)
        | Ground::Locked(_)
        | Ground::Unexplained(_)
        | Ground::Overlap(..)
        | Ground::NoCalls => (Side::Undetermined, None),
    };
    let confidence = match &ground {
        Ground::NoCalls => 0.0,
        Ground::NotSlow => not_slow(facts),
        // What no call shows has no bounds: the finding says how sure it is.
        Ground::Ended(f) => f.confidence,
        Ground::Outweighs(_, Some(f)) if !f.is_of_calls() => f.confidence,
        Ground::Outweighs(..) | Ground::Shared(..) => sureness(first, &blames, &ground),
        // Less than a coin's, or it would not be undetermined.
        _ => sureness(first, &blames, &ground).min(HARDLY),
    };
    Verdict {
        side,
        cause: cause.map(|f| f.rule),
        // A hundredth is more than it is worth.
        confidence: (confidence * 100.0).round() / 100.0,
        sentence: said::sentence(facts, findings, &ground),
    }
}

/// Findings without what would explain a side that the verdict does not name: what goes on in a host is none of its business.
#[must_use]
pub fn explaining(mut findings: Vec<Finding>, verdict: &Verdict) -> Vec<Finding> {
    let is_named = |side: Side| verdict.side == side || verdict.side == Side::Mixed;
    findings.retain(|f| !f.rule.explains() || is_named(f.side));
    findings
}

/// The captures were stated the wrong way round.
#[must_use]
pub fn exchanged() -> Verdict {
    Verdict {
        side: Side::Undetermined,
        cause: None,
        confidence: 0.0,
        sentence: "The captures look exchanged: the same calls take longer in the one said to be the server's. Swap --client and --server.".into(),
    }
}

fn ground<'a>(facts: &Facts<'_>, findings: &'a [Finding], blames: &[Blame; 3]) -> Ground<'a> {
    let costs = |f: &&Finding| f.fatal || f.cost_ns.is_some_and(|c| c > 0);
    let top = findings.iter().find(costs);
    match top {
        Some(top) if top.fatal => return Ground::Ended(top),
        Some(top) if top.side == Side::Undetermined => return Ground::Nobodys(top),
        _ if facts.untold_ns() > sure_ns(facts, blames) => return Ground::Untold(top),
        _ if facts.cut_ns > sure_ns(facts, blames) => return Ground::Cut(top),
        Some(_) => {}
        None if facts.account.total_ns == 0 && facts.response().count() == 0 => {
            return Ground::NoCalls;
        }
        None if !facts.calls_are_slow() => {
            return match facts.elsewhere_ns {
                0 => Ground::NotSlow,
                _ => Ground::Cut(None),
            };
        }
        None => {}
    }
    let [first, second, third] = *blames;
    let of = |side: Side| findings.iter().find(|f| costs(f) && f.side == side);
    let silent = silent_ns(facts);
    if may_be_events(facts, blames) {
        return match silent > answering_ns(facts) {
            true => Ground::Silent(top),
            false => Ground::FewTurns(top),
        };
    }
    // Without a finding only what its lines say by themselves is held against a side.
    let [own, other] = [first, second].map(|blame| match of(blame.side) {
        Some(_) => blame,
        None => blame.plain(facts).0,
    });
    if other.shares_with(&own) || is_half_crossings(facts, blames) {
        return Ground::Shared([first, second], top);
    }
    let cause = of(first.side);
    let (sure, rest_ns) = match cause {
        Some(_) => (first, 0),
        None => first.plain(facts),
    };
    // Whether it is one side's or two sides' is not to depend on how much is seen.
    let alone = !second.may_share_with(&first);
    if alone && sure.outweighs_with(&second, rest_ns) && sure.outweighs_with(&third, rest_ns) {
        return Ground::Outweighs(first, cause);
    }
    if silent > first.sure_ns() {
        return Ground::Silent(top);
    }
    if alone && first.outweighs(&second) && first.outweighs(&third) {
        return Ground::Unexplained(first);
    }
    if facts.most_locked_ns() > first.sure_ns() {
        return Ground::Locked(top);
    }
    // Whoever may have most of the rest is what it cannot be told from.
    let most = |b: &Blame| b.most_ns().unwrap_or(i64::MAX);
    let (other, last) = if most(&third) > most(&second) {
        (third, second)
    } else {
        (second, third)
    };
    // Of whom it is certain that he has little the question is not, however certain: less than half of what is known.
    let has_little = first.sure_ns() < facts.account.total_ns / 2;
    let (first, other, last) = match has_little && most(&first) < most(&last) {
        true => (other, last, first),
        false => (first, other, last),
    };
    let beside = (last.sure_ns() >= facts.account.total_ns / ACCUSED_SHARE).then_some(last);
    Ground::Overlap([first, other], beside, of(first.side))
}

/// What is certain of the side of which most is, or of all calls.
fn sure_ns(facts: &Facts<'_>, blames: &[Blame; 3]) -> i64 {
    let [first, ..] = blames;
    first.sure_ns().max(facts.account.total_ns)
}

/// Whether what servers took to answer a few turns, if they worked at all, is more than what else is known of
/// anybody.
fn may_be_events(facts: &Facts<'_>, blames: &[Blame; 3]) -> bool {
    let known = blames.iter().map(|b| match b.side {
        Side::Server => b.sure_ns() - facts.account.server_ns(),
        _ => b.sure_ns(),
    });
    // What may have been lost was no event.
    let (_, skipped_ns) = facts.behind_skips;
    facts.are_few_turns()
        && skipped_ns < facts.account.total_ns / ACCUSED_SHARE
        && known.max().is_some_and(|known| answering_ns(facts) > known)
}

/// Whether a path that is crossed more often than it need be has nearly as much as the server that has most: of that,
/// one part is the client's and one the network's, and neither by itself says that it is half of the time.
fn is_half_crossings(facts: &Facts<'_>, [first, ..]: &[Blame; 3]) -> bool {
    let sure = |cause| facts.account.sums.of(cause).lo_ns;
    let spared = [Cause::Chatty, Cause::SmallFetch, Cause::SmallWrites];
    let spared_ns = spared.into_iter().map(sure).fold(0, i64::saturating_add);
    let crossings_ns = spared_ns.saturating_add(sure(Cause::Path));
    let nearly = |most: i64| crossings_ns as f64 >= MIXED * most as f64;
    first.side == Side::Server && spared_ns > 0 && first.most_ns().is_some_and(nearly)
}

/// How long senders were silent at most where that may lie between messages.
fn silent_ns(facts: &Facts<'_>) -> i64 {
    let sums = &facts.account.sums;
    let most = sums.of(Cause::Idle).hi_ns.or(sums.total.hi_ns);
    most.unwrap_or(i64::MAX).min(facts.account.total_ns)
}

/// How long the server took to answer at most: what it did meanwhile, if anything, is not asked.
fn answering_ns(facts: &Facts<'_>) -> i64 {
    let own = Cause::OF_SERVER.into_iter().chain([Cause::Event]);
    let own = own.map(|c| facts.account.sums.of(c));
    let most = own.map(|ns| ns.hi_ns.unwrap_or(ns.lo_ns));
    most.fold(0, i64::saturating_add)
}

/// What is certain of the sides that are named, against what may be another's.
fn sureness(first: &Blame, blames: &[Blame; 3], ground: &Ground<'_>) -> f64 {
    let (named, others) = match ground {
        Ground::Shared([first, second], _) => (first.sure_ns() + second.sure_ns(), &blames[2..]),
        _ => (first.sure_ns(), &blames[1..]),
    };
    let mut most = others.iter().map(Blame::most_ns);
    let most = most.try_fold(0, |most: i64, ns| Some(most.max(ns?)));
    match most {
        Some(most) if named > 0 => (named as f64 / (named as f64 + most as f64)).min(MOST_SURE),
        _ => 0.0,
    }
}

/// How much of what clients may have waited was seen.
fn not_slow(facts: &Facts<'_>) -> f64 {
    let total = facts.account.sums.total;
    match total.hi_ns {
        _ if facts.account.basis == Basis::Streams => HARDLY,
        Some(most) if most > 0 => (total.lo_ns as f64 / most as f64).min(MOST_SURE),
        _ => HARDLY,
    }
}

/// Whether it is one of those of which no call's time speaks.
fn is_beside_calls(f: &Finding) -> bool {
    f.fatal || matches!(f.rule.of(), Of::Connects | Of::Retries)
}

#[cfg(test)]
mod tests {
    use crate::findings::testing::{MS, judged, judged_alone, judged_of, judged_within};
    use crate::results::Side;
    use ledger::Bounds;
    use ledger::Cause::{Chatty, Nagle, NotWriting, Path, Service, SmallWindow, Transfer};

    #[test]
    fn calls_that_together_take_no_longer_than_one_may_are_not_slow() {
        let side = |calls| judged(calls, &[(Service, 4 * MS), (Path, MS)]).side;
        assert_eq!(side(4), Side::None);
        assert_eq!(side(5), Side::Server);
    }

    #[test]
    fn a_path_crossed_too_often_that_is_half_of_the_time_shares_the_blame() {
        let side = |service, chatty, path| {
            let lines = [(Service, service), (Chatty, chatty), (Path, path)];
            judged(100, &lines.map(|(cause, tenths)| (cause, tenths * MS / 10))).side
        };
        assert_eq!(side(50, 25, 25), Side::Mixed);
        assert_eq!(side(40, 31, 29), Side::Mixed, "most is the path");
        assert_eq!(side(56, 22, 22), Side::Server);
        // Nothing of it would have been spared.
        assert_eq!(side(56, 0, 44), Side::Server);
    }

    #[test]
    fn what_others_have_for_certain_is_nobody_else_s() {
        let side = |sure: i64| {
            let open = Bounds {
                lo_ns: 0,
                hi_ns: Some(10 * MS),
            };
            let lines = [(NotWriting, Bounds::exactly(sure)), (Service, open)];
            judged_within(10, 10 * MS, &lines).side
        };
        assert_eq!(side(9 * MS), Side::Client);
        // Five of ninths may be the server's four: that is near half and half.
        assert_eq!(side(11 * MS / 2), Side::Undetermined);
        assert_eq!(side(6 * MS), Side::Client);
    }

    #[test]
    fn a_window_that_was_full_far_away_is_asked_for_there() {
        let lines = [(SmallWindow, 9 * MS), (Path, MS)];
        let alone = judged_alone(10, &lines);
        assert_eq!(alone.side, Side::Undetermined);
        let asked = "a capture at the server tells";
        assert!(alone.sentence.to_string().contains(asked));
        assert!(!judged(10, &lines).sentence.to_string().contains(asked));
    }

    #[test]
    fn bytes_that_pass_for_no_known_reason_share_no_blame() {
        let side = |cause| judged(100, &[(cause, 5 * MS), (NotWriting, 5 * MS)]).side;
        assert_eq!(side(Path), Side::Mixed);
        assert_eq!(side(Transfer), Side::Undetermined);
    }

    #[test]
    fn where_the_mean_is_no_call_s_the_sentence_says_what_calls_take() {
        let said = |long: usize, short: usize| {
            let times = [vec![3_000 * MS; long], vec![MS; short]].concat();
            judged_of(Service, &times).sentence.to_string()
        };
        let few = said(2, 98);
        assert!(
            few.ends_with(" 2 calls took 3.00 s on average, 98 others 1.00 ms."),
            "{few}"
        );
        let one = said(1, 99);
        assert!(
            one.ends_with(" 1 call took 3.00 s, 99 others 1.00 ms."),
            "{one}"
        );
        assert!(!said(60, 40).contains(" others "));
        assert!(!said(100, 0).contains(" others "));
    }

    #[test]
    fn who_has_little_for_certain_is_not_among_those_of_whom_one_has_most() {
        let said = |nagle: i64| {
            let open = |ms| Bounds {
                lo_ns: 0,
                hi_ns: Some(ms * MS),
            };
            let lines = [
                (Nagle, Bounds::exactly(nagle * MS)),
                (Path, open(10 - nagle)),
                (Service, open(9 - nagle)),
            ];
            let verdict = judged_within(100, 10 * MS, &lines);
            assert_eq!(verdict.side, Side::Undetermined);
            verdict.sentence.to_string()
        };
        let is_named = |nagle, side: &str| said(nagle).contains(&format!("the {side} "));
        assert_eq!(
            ["client", "network", "server"].map(|s| is_named(1, s)),
            [false, true, true]
        );
        // Of 4 ms and more he may have most of the three.
        assert_eq!(
            ["client", "network", "server"].map(|s| is_named(5, s)),
            [true, true, false]
        );
    }
}
