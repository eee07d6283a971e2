//! Latencies that nothing identifies against the calls of the same time: mean against mean.
//!
//! An application waits for its calls, so that its mean cannot be less than theirs; a server's operations lie within
//! the calls that they serve, so that theirs cannot be more. How much lies between is known on average; of a single
//! operation it says nothing. Where the capture has more calls than there were operations, others made, or served, some
//! of them: an application's own may have been the longest, a server's the shortest, and only what lies between those
//! and the operations is certain.

use super::span::{Span, mean_ns};
use super::whose::Whose;
use super::words::Refusal;
use trace::{Operation, OperationKind, Sample};

/// Means, and numbers of operations and calls, that differ by less may be those of the same work: a tenth.
const ALIKE: u64 = 10;

/// So many operations, and when they ended where that is known.
#[derive(Clone, Copy)]
pub(super) struct Sampled {
    from: Option<i64>,
    until: Option<i64>,
    count: u64,
    latency_ns: i64,
}

impl Sampled {
    pub(super) fn of(s: &Sample) -> Sampled {
        Sampled {
            from: s.from_ns,
            until: s.until_ns,
            count: s.count,
            latency_ns: s.latency_ns,
        }
    }

    /// An operation of which nobody knows when it was.
    pub(super) fn of_operation(o: &Operation) -> Sampled {
        Sampled {
            from: None,
            until: None,
            count: 1,
            latency_ns: o.end_ns - o.start_ns,
        }
    }

    /// So many, of which nobody knows when they were.
    pub(super) fn untimed(count: u64, latency_ns: i64) -> Sampled {
        Sampled {
            from: None,
            until: None,
            count,
            latency_ns,
        }
    }

    fn is_timed(&self) -> bool {
        self.from.is_some() || self.until.is_some()
    }

    fn holds_any(&self, (first, last): (i64, i64)) -> bool {
        self.from.is_none_or(|from| from <= last) && self.until.is_none_or(|until| until > first)
    }
}

/// Two means, and of what they are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Means {
    pub(super) operations: u64,
    pub(super) own_ns: i64,
    whose: Whose,
    /// Of the calls in the same time, and of so many of them, which is what the operations are held against:
    /// the longest, or of a server's the shortest, where others' are among them.
    pub(super) calls: u64,
    pub(super) held_against: u64,
    pub(super) calls_ns: i64,
    /// Intervals that the capture does not reach, and all.
    pub(super) outside: u64,
    pub(super) intervals: u64,
    /// Whether it is known when the operations were.
    pub(super) timed: bool,
}

impl Means {
    /// `ran`: from when to when the capture has packets; `kinds`: what the operations are.
    pub(super) fn of(
        samples: &[Sampled],
        calls: &[Span],
        ran: Option<(i64, i64)>,
        kinds: Vec<OperationKind>,
        whose: Whose,
    ) -> Result<Means, Refusal> {
        let within = |s: &Sampled| !s.is_timed() || ran.is_some_and(|ran| s.holds_any(ran));
        let inside: Vec<Sampled> = samples.iter().copied().filter(within).collect();
        let intervals = samples.len() as u64;
        if inside.is_empty() && intervals > 0 {
            let begin = samples.iter().filter_map(|s| s.from.or(s.until)).min();
            return Err(Refusal::elsewhere("intervals", intervals, begin, ran));
        }
        let operations: u64 = inside.iter().fold(0, |n, s| n.saturating_add(s.count));
        if operations == 0 {
            return Err(Refusal::NoOperations);
        }
        let of = |s: &Sampled| i128::from(s.latency_ns) * i128::from(s.count);
        let sum = inside.iter().map(of).fold(0, i128::saturating_add);
        let own_ns = (sum / i128::from(operations)) as i64;
        let mut took = took_within(&inside, calls);
        let (count, calls_ns) = (took.len() as u64, mean_ns(took.iter().copied()));
        if took.is_empty() {
            return Err(Refusal::NoCalls { kinds });
        }
        let tenth = calls_ns / ALIKE as i64;
        let contradicts = match whose {
            Whose::Application => own_ns < calls_ns - tenth,
            Whose::Server => own_ns > calls_ns.saturating_add(tenth),
        };
        if contradicts {
            return Err(Refusal::Contradicts {
                operations,
                own_ns,
                calls: count,
                calls_ns,
            });
        }
        let mut means = Means {
            operations,
            own_ns,
            whose,
            calls: count,
            held_against: count,
            calls_ns,
            outside: intervals - inside.len() as u64,
            intervals,
            timed: inside.iter().any(Sampled::is_timed),
        };
        if count > alike(operations) {
            took.sort_unstable();
            if whose == Whose::Application {
                took.reverse();
            }
            took.truncate(operations as usize);
            means.held_against = operations;
            means.calls_ns = mean_ns(took.into_iter());
        }
        Ok(means)
    }

    pub(super) fn host_mean_ns(&self) -> i64 {
        let (outer, inner) = self.whose.outer_inner(self.own_ns, self.calls_ns);
        outer.saturating_sub(inner).max(0)
    }

    /// The operations whose calls the capture may hold: those of an hour are not all in a minute.
    pub(super) fn captured(&self) -> u64 {
        self.operations.min(alike(self.calls))
    }
}

/// The largest number that may be as many.
fn alike(n: u64) -> u64 {
    n + n / ALIKE
}

/// Response times of the calls that ended in the time of the samples.
fn took_within(samples: &[Sampled], calls: &[Span]) -> Vec<i64> {
    // A sample that is open to one side, or has no time at all, leaves it open.
    let open = samples.iter().any(|s| s.from.is_none());
    let from = samples.iter().filter_map(|s| s.from).min();
    let from = from.filter(|_| !open);
    let open = samples.iter().any(|s| s.until.is_none());
    let until = samples.iter().filter_map(|s| s.until).max();
    let until = until.filter(|_| !open);
    let during = |c: &&Span| {
        from.is_none_or(|from| c.until >= from) && until.is_none_or(|until| c.until < until)
    };
    calls.iter().filter(during).map(Span::took).collect()
}
