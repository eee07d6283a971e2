//! What connections' own accounts say: of calls that are nothing but turns of a byte stream, and of
//! streams that nobody answers.

use crate::held::Held;
use crate::{Bounds, Cause, Ledger};
use model::{Direction, EpisodeKind, PerClass, TimeClass};

/// What each direction's bytes waited for, in a stretch of time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Classes {
    /// Nanoseconds by direction and class, at least and at most.
    pub least_ns: [PerClass<i64>; 2],
    pub most_ns: [PerClass<i64>; 2],
    /// Whether something was lost of the connection: a congestion window that lost is small because it
    /// lost.
    pub is_lossy: bool,
    /// Whose doing it is that acknowledgements let each direction's bytes go, where that is known.
    pub released_by: [Option<Cause>; 2],
    /// Whether silences of each direction's sender may lie between messages.
    pub may_idle: [bool; 2],
}

/// The causes of classes in which bytes wait, those that are surest first. The sender's application comes
/// last: its pauses lie between messages as well as inside them; but for what its account cannot tell.
const ORDER: [TimeClass; 8] = [
    TimeClass::NagleDelayedAck,
    TimeClass::ReceiverApplication,
    TimeClass::SmallWindow,
    TimeClass::LossRecovery,
    TimeClass::Bandwidth,
    TimeClass::Congestion,
    TimeClass::SenderApplication,
    TimeClass::Unknown,
];

impl Classes {
    fn cause(&self, class: TimeClass, d: Direction) -> Option<Cause> {
        Some(match class {
            TimeClass::NagleDelayedAck => Cause::NagleDelayedAck,
            TimeClass::ReceiverApplication => Cause::NotReading,
            TimeClass::SmallWindow => Cause::SmallWindow,
            // What was sent again had arrived: whether it was acknowledged late, or came late, does not show.
            TimeClass::LossRecovery if !self.is_lossy => Cause::Unknown,
            TimeClass::LossRecovery => Cause::Loss,
            TimeClass::Bandwidth => Cause::Bandwidth,
            TimeClass::Congestion if self.is_lossy => Cause::Loss,
            TimeClass::Congestion => return self.released_by[d.index()],
            TimeClass::SenderApplication => Cause::NotWriting,
            TimeClass::Unknown => Cause::Unknown,
            _ => return None,
        })
    }

    /// One direction's.
    #[must_use]
    pub fn only(mut self, d: Direction) -> Classes {
        self.set(d.reverse(), [PerClass::default(); 2]);
        self
    }

    pub fn set(&mut self, d: Direction, [least, most]: [PerClass<i64>; 2]) {
        self.least_ns[d.index()] = least;
        self.most_ns[d.index()] = most;
    }

    /// Charges them out of what there is to explain; what episodes have told is not told again. Each may be
    /// less by `slack_ns`. Gives what they do not explain.
    pub(crate) fn divide(
        &self,
        told: &Held,
        whole_ns: i64,
        slack_ns: i64,
        ledger: &mut Ledger,
    ) -> Bounds {
        let whole_ns = whole_ns.max(0);
        let (mut left_least, mut left_most) = (whole_ns, whole_ns);
        for class in ORDER {
            for d in Direction::BOTH {
                let Some(cause) = self.cause(class, d) else {
                    continue;
                };
                let kinds = EpisodeKind::ALL.into_iter().filter(|k| k.class() == class);
                let told = kinds.fold(0i64, |sum, k| sum.saturating_add(told.of(d)[k]));
                let own =
                    |time: &[PerClass<i64>; 2]| (time[d.index()][class] - told).clamp(0, left_most);
                let (least, most) = (own(&self.least_ns), own(&self.most_ns));
                let ns = Bounds::between((least - slack_ns).max(0), most);
                match cause {
                    Cause::NotWriting => ledger.charge_silence(d, ns, self.may_idle[d.index()]),
                    _ => ledger.charge(cause, d, ns),
                }
                left_most -= least;
                left_least = (left_least - most).max(0);
            }
        }
        Bounds::between(left_least, left_most)
    }
}

/// Silences around a stream that may lie between messages, nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Between {
    /// Of its sender, where the other side had sent last: whether it had anything to send nothing tells.
    pub own_ns: i64,
    /// Of a server that had been sent something, while a client's stream waited: whether it worked on that nothing tells.
    pub server_ns: i64,
}

/// Divides the time in which one direction's bytes were under way that nobody answers: what a connection
/// was idle is not part of it. `spared` is what larger writes would have spared of what they took to pass. A sender that
/// pauses by itself, too, may have caught up with what there was to write by then: so much longer it would have paused.
pub fn divide_stream(
    d: Direction,
    classes: &Classes,
    between: Between,
    spared: Bounds,
    ledger: &mut Ledger,
) {
    let mut own = classes.only(d);
    for time in [&mut own.least_ns, &mut own.most_ns] {
        time[d.index()][TimeClass::SenderApplication] -= between.own_ns;
    }
    let time = own.least_ns[d.index()];
    let waited = time
        .iter()
        .filter(|(class, _)| !matches!(class, TimeClass::Idle | TimeClass::Handshake));
    let all = waited.fold(0i64, |sum, (_, ns)| sum.saturating_add(*ns));
    let silent = between.own_ns.saturating_add(between.server_ns);
    ledger.clear(Bounds::exactly(all.saturating_add(silent)));
    let asked = match d {
        Direction::ToServer => {
            ledger.charge(Cause::Idle, d, Bounds::exactly(between.own_ns));
            between.server_ns
        }
        Direction::ToClient => silent,
    };
    ledger.charge(Cause::Event, d, Bounds::exactly(asked));
    // Of whole lives nothing lies at an edge.
    let left = own.divide(&Held::default(), all, 0, ledger).lo_ns;
    let most = spared.hi_ns.map_or(left, |hi| hi.min(left));
    let waited = Bounds::between(spared.lo_ns.min(most), most);
    let absorbed = waited.lo_ns.min(time[TimeClass::SenderApplication]);
    let spared = Bounds::between(waited.lo_ns - absorbed, most);
    ledger.charge(Cause::SmallWrites, d, spared);
    ledger.charge_silence(d, Bounds::between(0, absorbed), own.may_idle[d.index()]);
    let passed = Bounds::between(left - most, left - waited.lo_ns);
    ledger.charge(Cause::Transfer, d, passed);
}
