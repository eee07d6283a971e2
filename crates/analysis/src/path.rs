//! Handshakes and acknowledgements of one capture at the client into what the path to the server and
//! back takes: how long at least, and how long on average at most.
//!
//! The fastest of them is certain, unless a call was answered sooner. Their mean is not: the receiver
//! delays acknowledgements (RFC 1122 section 4.2.3.2), and a request that is waited for is acknowledged
//! by its answer unless that is slow, so that hardly any but delayed ones are measured. It bounds the
//! path from above. A call crosses the path too, so that calls which take less than that on average,
//! the server's work with it, bound it closer. What lies between the bounds is nobody's for certain.

use crate::text::{Text, Value, text};
use crate::vantage::FAR_NS;
use crate::ways::Ways;
use ledger::{Bounds, Half};
use model::{ConnectionSummary, Direction};

/// Fewer acknowledgements than this have no mean.
const FEW: u64 = 10;
/// What is beyond so many times the fastest is no variation of a path of which only that is known.
const VARIES: i64 = 4;
/// An acknowledgement is sent before its host has woken anybody up: no path is known better.
pub(crate) const HOST_NS: i64 = 100_000;
/// No timer that delays acknowledgements is shorter.
const TIMER_NS: i64 = 20_000_000;
/// And it has woken up after this, as a rule.
const WOKEN_NS: i64 = 1_000_000;

/// No path takes longer where nothing waits on it: what does was answered late, or its times were rewritten.
pub(crate) const LONGEST_PATH_NS: i64 = 1_000_000_000;

/// How long the network takes from a client and from a server to what answers each in the other's stead, and back, as far as
/// captures at both tell.
#[must_use]
pub fn ways_to_proxy(client: &Ways, server: &Ways) -> [Bounds; 2] {
    let [[to_server, _], [_, to_client]] = [client, server].map(Ways::near);
    [to_server, to_client].map(|a| match a.half(Crossed::default()) {
        Half::Here => Bounds::exactly(0),
        Half::Away(bounds) => bounds,
    })
}

/// Of a half of which nothing is known, where something is of others: it is some path.
pub(crate) fn some_way(half: Half) -> Half {
    match half {
        Half::ANY => Half::Away(Bounds::between(0, LONGEST_PATH_NS)),
        known => known,
    }
}

/// Where all times are whole multiples of this, the clock does not show how long a path takes: nothing or this.
const COARSE_NS: i64 = 100_000_000;

/// Handshakes and acknowledgements of connections.
#[derive(Clone, Copy, Default, Debug)]
pub struct Acknowledged {
    /// Whether any time is told more finely than that.
    fine: bool,
    count: u64,
    sum_ns: i64,
    min_ns: Option<i64>,
    /// From the capture to that host and back as handshakes show it, the fastest.
    half_ns: Option<i64>,
    /// And how many there are, and the slowest, but for what waited for something that was sent again.
    halves: u64,
    half_most_ns: i64,
    prompt_count: u64,
    prompt_max_ns: i64,
    /// The longest of those that no timer held back, and of those that time stamps show of what came from there all along.
    at_once_max_ns: i64,
}

/// Calls that bound the path, as they crossed it.
#[derive(Clone, Copy, Default, Debug)]
pub struct Crossed {
    /// The shortest wait.
    pub min_ns: Option<i64>,
    /// The mean wait of those that wait least on average, seen all along.
    pub mean_ns: Option<i64>,
}

/// The path to the server and back as one capture at the client shows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PathEstimate {
    /// It takes this long at least: this much of a wait is the network's.
    pub min_ns: i64,
    /// Of the acknowledgements, delayed ones too, or of the calls that bound them.
    pub mean_ns: i64,
    /// It takes no longer than this on average: what waits take beyond is the server's.
    pub most_ns: i64,
    /// Acknowledgements measured; without any, the handshake is all there is.
    pub samples: u64,
    /// Whether calls bound the mean, and not acknowledgements; and whether one shows the least.
    pub by_calls: bool,
    pub by_answer: bool,
}

impl Acknowledged {
    /// What the half of the path takes of any one call, there and back: at least what the fastest took, less
    /// what its host may have been quicker than with a call, and at most what the slowest did that did not
    /// wait for a timer. Anything at all, where something on the way answers.
    #[must_use]
    pub fn half(&self, calls: Crossed) -> Half {
        let acknowledged = [self.min_ns, self.half_ns].into_iter().flatten().min();
        let known = [acknowledged, calls.min_ns];
        let Some(fastest) = known.into_iter().flatten().min() else {
            return Half::ANY;
        };
        if fastest > LONGEST_PATH_NS || self.is_coarse() {
            return Half::ANY;
        }
        if self.is_empty() {
            // Datagrams are not acknowledged: calls alone bound it.
            let most = fastest.saturating_mul(VARIES).saturating_add(WOKEN_NS);
            return Half::Away(Bounds::between(0, most));
        }
        if self.on_the_way(self.mean_ns(fastest), calls.min_ns) {
            return Half::ANY;
        }
        // Next to a faster handshake or call all of them waited for a timer.
        let waited = |ns| ns > (fastest + TIMER_NS).max(fastest.saturating_mul(2));
        let late = waited(self.prompt_max_ns);
        // The slowest of many may be an accident.
        let slowest_half = match self.halves {
            0..FEW => self.half_most_ns,
            _ => 0,
        };
        let usual = fastest.saturating_mul(VARIES).max(slowest_half);
        let varies = match self.prompt_count {
            _ if late => usual,
            0..FEW => usual.max(self.prompt_max_ns),
            _ => self.prompt_max_ns + self.prompt_max_ns / 10 * 3,
        };
        let most = calls.mean_ns.map_or(i64::MAX, |quick| quick + quick / 2);
        // Where bytes queue, all that crosses it may.
        let varies = varies.max(self.at_once_max_ns);
        let most = varies
            .min(most)
            .max(fastest)
            .max(self.slow_handshake(fastest));
        let most = most.saturating_add(WOKEN_NS);
        // A call may have been quicker yet: by the less the more have been seen of what varies so much.
        let varies_ns = self.prompt_max_ns.saturating_sub(fastest).max(0);
        let quicker = match late {
            true => 0,
            false => varies_ns / (self.prompt_count / FEW).max(1) as i64,
        };
        let least = match acknowledged {
            // A message behind another is as far from it as who sends it likes, and so is an acknowledgement that waited.
            Some(ns) if waited(ns) || (self.prompt_count == 0 && self.half_ns.is_none()) => 0,
            _ => fastest - quicker.max(2 * HOST_NS),
        };
        Half::Away(Bounds::between(least.max(0), most))
    }

    fn mean_ns(&self, fastest: i64) -> i64 {
        match self.count {
            0..FEW => fastest,
            n => self.sum_ns / n as i64,
        }
    }

    /// What they tell of the path between a capture at the server and its clients. Only a handshake, which a
    /// host answers at once, bounds it from below: what carries data may be acknowledged late each time. From
    /// above the soonest next request after an answer bounds it too, where clients have one call at a time.
    /// Nothing, where something on the way acknowledges.
    pub(crate) fn path_to_client(&self, soonest_request_ns: Option<i64>) -> Option<PathEstimate> {
        let known = [self.min_ns, self.half_ns, soonest_request_ns];
        let fastest = known.into_iter().flatten().min()?;
        if self.is_coarse() {
            return None;
        }
        let measured = match self.count {
            0..FEW => fastest.saturating_mul(VARIES),
            n => self.sum_ns / n as i64,
        };
        if self.on_the_way(measured, soonest_request_ns) {
            return None;
        }
        let least = self.half_ns.map_or(0, |half| half.min(fastest) - HOST_NS);
        let most = match self.half_ns {
            Some(_) => measured.min(fastest.saturating_mul(VARIES)),
            None => measured,
        };
        Some(PathEstimate {
            min_ns: least.max(0),
            mean_ns: measured,
            most_ns: most.max(fastest + HOST_NS),
            samples: self.count,
            by_calls: false,
            by_answer: false,
        })
    }

    /// What the end that is sent to in this direction acknowledged of a connection that is over.
    #[must_use]
    pub fn of(c: &ConnectionSummary, d: Direction) -> Acknowledged {
        let sent = &c.directions[d.index()];
        let echoed = &c.directions[d.reverse().index()];
        let h = &c.handshake;
        let (asked, answered) = match d {
            Direction::ToServer => (h.syn, h.syn_ack),
            Direction::ToClient => (h.syn_ack, h.ack),
        };
        let half = match h.syn_retries + h.syn_ack_retries {
            0 => asked.zip(answered).map(|(asked, answer)| answer - asked),
            _ => None,
        };
        let known = [
            h.syn,
            h.syn_ack,
            h.ack,
            Some(c.first.time),
            Some(c.last.time),
        ];
        let datas = c.directions.iter().flat_map(|d| [d.last_data, d.ended]);
        let mut times = known.into_iter().chain(datas).flatten();
        Acknowledged {
            fine: times.any(|at| at.0 % COARSE_NS != 0),
            count: sent.ack_rtt_count,
            sum_ns: sent.ack_rtt_sum_ns,
            min_ns: sent.ack_rtt_min_ns,
            half_ns: half.filter(|&ns| ns >= 0),
            halves: u64::from(half.is_some()),
            half_most_ns: half.filter(|&ns| ns < LONGEST_PATH_NS).unwrap_or(0),
            prompt_count: sent.ack_prompt_count,
            prompt_max_ns: sent.ack_prompt_max_ns,
            at_once_max_ns: sent.ack_at_once_max_ns.max(echoed.echoed_max_ns),
        }
    }

    /// Takes those of a connection that is over.
    pub fn add(&mut self, c: &ConnectionSummary, d: Direction) {
        self.merge(&Acknowledged::of(c, d));
    }

    /// Takes what others acknowledged.
    pub fn merge(&mut self, other: &Acknowledged) {
        let least = |a: Option<i64>, b: Option<i64>| [a, b].into_iter().flatten().min();
        *self = Acknowledged {
            fine: self.fine || other.fine,
            count: self.count + other.count,
            sum_ns: self.sum_ns.saturating_add(other.sum_ns),
            min_ns: least(self.min_ns, other.min_ns),
            half_ns: least(self.half_ns, other.half_ns),
            halves: self.halves + other.halves,
            half_most_ns: self.half_most_ns.max(other.half_most_ns),
            prompt_count: self.prompt_count + other.prompt_count,
            prompt_max_ns: self.prompt_max_ns.max(other.prompt_max_ns),
            at_once_max_ns: self.at_once_max_ns.max(other.at_once_max_ns),
        };
    }

    /// Nothing but a handshake, of which the half took so long.
    #[cfg(test)]
    pub(crate) fn of_handshake(half_ns: Option<i64>) -> Acknowledged {
        Acknowledged {
            fine: true,
            half_ns,
            ..Acknowledged::default()
        }
    }

    /// Whether the clock is too coarse to show a path.
    fn is_coarse(&self) -> bool {
        !self.fine && !self.is_empty()
    }

    /// The mean, or what a handshake took.
    pub(crate) fn usual_ns(&self) -> Option<i64> {
        match self.count {
            0 => self.half_ns,
            n => Some((self.sum_ns / n as i64).max(self.half_ns.unwrap_or(0))),
        }
    }

    /// The fastest of all.
    #[must_use]
    pub fn fastest_ns(&self) -> Option<i64> {
        [self.min_ns, self.half_ns].into_iter().flatten().min()
    }

    /// Whether it is far, as a handshake and acknowledgements show alike: what ends the one may be missing, and the others be
    /// as late as a timer makes them.
    pub(crate) fn is_shown_twice(&self) -> bool {
        let both = self.half_ns.zip(self.min_ns);
        both.is_some_and(|(half, least)| {
            half.min(least) >= FAR_NS && half.max(least) <= half.min(least).saturating_mul(2)
        })
    }

    /// Whether anything is known of the path.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.min_ns.is_none() && self.half_ns.is_none()
    }

    /// What they tell of the path beside the calls that crossed it; nothing where none was seen, or
    /// where something on the way sends them.
    #[must_use]
    pub fn path(&self, calls: Crossed) -> Option<PathEstimate> {
        let fastest = self.fastest_ns()?;
        let measured = match self.count {
            0..FEW => fastest,
            n => self.sum_ns / n as i64,
        };
        if self.is_coarse() || self.on_the_way(measured, calls.min_ns) {
            return None;
        }
        // A call that was answered sooner shows that a handshake met a queue or a slow accept.
        let min_ns = [Some(fastest), calls.min_ns].into_iter().flatten().min()?;
        let bound = calls.mean_ns.unwrap_or(i64::MAX);
        let mean_ns = measured.min(bound).max(min_ns);
        let most = match self.count {
            0..FEW => fastest.saturating_mul(VARIES).min(bound),
            _ => mean_ns,
        };
        Some(PathEstimate {
            min_ns,
            mean_ns,
            most_ns: most
                .max(min_ns.saturating_add(HOST_NS))
                .max(self.slow_handshake(min_ns)),
            samples: self.count,
            by_calls: bound < measured,
            by_answer: min_ns < fastest,
        })
    }

    /// Whether acknowledgements come so much sooner than the answer to a SYN that something near the
    /// client sends them (a proxy, a firewall, an adapter): then they say nothing of the path to the
    /// server. Unless calls are answered as soon: who does that is the server, and the SYN was answered late.
    fn on_the_way(&self, mean_ns: i64, answered_ns: Option<i64>) -> bool {
        let sooner = |ns: i64| self.half_ns.is_some_and(|half| is_far_sooner(ns, half));
        self.count > 0 && sooner(mean_ns) && !answered_ns.is_some_and(sooner)
    }

    /// What answers some calls so much sooner than the SYN may have them at hand, and ask for others as far away
    /// as the answer to the SYN came from: no half takes longer.
    fn slow_handshake(&self, fastest: i64) -> i64 {
        let slow = self.half_ns.filter(|half| is_far_sooner(fastest, *half));
        slow.map_or(0, |half| half.saturating_mul(VARIES))
    }
}

/// Whether this comes so much sooner than a handshake's half that it came from elsewhere.
fn is_far_sooner(ns: i64, half_ns: i64) -> bool {
    const TIMES: i64 = 4;
    const FAR_NS: i64 = 1_000_000;
    half_ns >= FAR_NS && half_ns / TIMES > ns
}

impl PathEstimate {
    /// How long it takes, and how that is known, in words.
    #[must_use]
    pub fn words(&self) -> Text {
        let (min, mean) = (Value::Duration(self.min_ns), Value::Duration(self.mean_ns));
        let samples = match self.samples {
            _ if self.by_answer => "as its soonest answer shows".into(),
            0 => "the handshake alone shows it".into(),
            n => text!("{n} acknowledgement{n||s}", n = n),
        };
        match self.samples {
            0 => text!("{min} ({samples})", min = min, samples = samples),
            _ if self.by_calls => text!(
                "{min} at best ({samples}) and {mean} on average at most, as the quickest calls take no longer",
                min = min,
                samples = samples,
                mean = mean,
            ),
            1..FEW => text!("{min} at best ({samples})", min = min, samples = samples),
            _ => text!(
                "{mean} on average, {min} at best ({samples})",
                mean = mean,
                min = min,
                samples = samples,
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    /// Acknowledgements with these times; the handshake took 10 ms.
    fn acknowledged(times_ms: &[i64]) -> Acknowledged {
        Acknowledged {
            fine: true,
            count: times_ms.len() as u64,
            sum_ns: times_ms.iter().sum::<i64>() * MS,
            min_ns: times_ms.iter().min().map(|ms| ms * MS),
            half_ns: Some(10 * MS),
            ..Acknowledged::default()
        }
    }

    fn bounds(times_ms: &[i64], calls: Crossed) -> Option<(i64, i64)> {
        let path = acknowledged(times_ms).path(calls)?;
        Some((path.min_ns, path.most_ns))
    }

    #[test]
    fn a_clock_of_whole_seconds_shows_no_path() {
        let mut coarse = acknowledged(&[0; 20]);
        coarse.fine = false;
        assert_eq!(coarse.half(Crossed::default()), Half::ANY);
        assert!(coarse.path(Crossed::default()).is_none());
        assert!(coarse.path_to_client(None).is_none());
        // One connection whose times are finer shows that the clock is.
        coarse.merge(&acknowledged(&[10; 20]));
        assert!(coarse.path(Crossed::default()).is_some());
    }

    #[test]
    fn delayed_acknowledgements_widen_the_bounds_and_quick_calls_narrow_them() {
        let delayed = [[10; 8].as_slice(), &[50; 8]].concat();
        let none = Crossed::default();
        assert_eq!(bounds(&delayed, none), Some((10 * MS, 30 * MS)));
        let quick = Crossed {
            min_ns: Some(10 * MS),
            mean_ns: Some(11 * MS),
        };
        assert_eq!(bounds(&delayed, quick), Some((10 * MS, 11 * MS)));
        // Calls that take longer say nothing.
        let slow = Crossed {
            min_ns: Some(40 * MS),
            mean_ns: Some(60 * MS),
        };
        assert_eq!(bounds(&delayed, slow), bounds(&delayed, none));
    }

    #[test]
    fn of_a_handshake_alone_the_path_may_take_a_multiple() {
        assert_eq!(
            bounds(&[], Crossed::default()),
            Some((10 * MS, 10 * MS * VARIES))
        );
        let sooner = Crossed {
            min_ns: Some(8 * MS),
            mean_ns: None,
        };
        assert_eq!(bounds(&[], sooner).map(|b| b.0), Some(8 * MS));
    }

    #[test]
    fn who_acknowledges_on_the_way_says_nothing_of_the_path() {
        assert_eq!(bounds(&[1; 20], Crossed::default()), None);
        let late = Crossed {
            min_ns: Some(9 * MS),
            mean_ns: None,
        };
        assert_eq!(bounds(&[1; 20], late), None);
    }

    #[test]
    fn where_calls_are_answered_as_soon_the_syn_was_answered_late() {
        let sooner = Crossed {
            min_ns: Some(MS),
            mean_ns: None,
        };
        // Other calls may be answered from as far away.
        assert_eq!(bounds(&[1; 20], sooner), Some((MS, 10 * MS * VARIES)));
        let half = acknowledged(&[1; 20]).half(sooner).bounds();
        assert_eq!(half.hi_ns, Some(10 * MS * VARIES + WOKEN_NS));
    }

    #[test]
    fn few_handshakes_bound_a_path_by_the_slowest_of_them() {
        let few = |most_ms| {
            let few = Acknowledged {
                half_most_ns: most_ms * MS,
                ..Acknowledged::of_handshake(Some(10 * MS))
            };
            few.half(Crossed::default()).bounds().hi_ns
        };
        assert_eq!(few(10), Some(10 * MS * VARIES + WOKEN_NS));
        assert_eq!(few(70), Some(70 * MS + WOKEN_NS));
    }

    #[test]
    fn an_acknowledgement_that_a_timer_held_back_bounds_nothing_from_below() {
        let asked = Crossed {
            min_ns: Some(11 * MS),
            mean_ns: None,
        };
        let half = |ack_ms, prompt_count| {
            let late = Acknowledged {
                fine: true,
                half_ns: None,
                prompt_count,
                ..acknowledged(&[ack_ms])
            };
            late.half(asked).bounds().lo_ns
        };
        assert_eq!(half(42, 1), 0);
        assert_eq!(half(12, 1), 11 * MS - 2 * HOST_NS);
        // Nor do those of a host whose buffer is full.
        assert_eq!(half(12, 0), 0);
    }
}
