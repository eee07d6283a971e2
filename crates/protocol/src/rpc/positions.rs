//! Where the messages of a direction stand and how their XIDs count: what was seen to its end, and the
//! packets of what came between without being seen.

use crate::session::{Run, Span};
use model::{Time, limits};

/// XIDs further apart than this are not counted from one to the other.
pub(super) const FAR: u32 = limits::HIDDEN_CALLS as u32;

/// The byte order in which a sender's XIDs count: Linux sends them as they stand in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ByteOrder {
    Big,
    Little,
}

impl ByteOrder {
    /// From an XID to the counter and back.
    pub(super) fn turn(self, xid: u32) -> u32 {
        match self {
            ByteOrder::Big => xid,
            ByteOrder::Little => xid.swap_bytes(),
        }
    }

    pub(super) fn steps(self, from: u32, to: u32) -> u32 {
        self.turn(to).wrapping_sub(self.turn(from))
    }
}

/// How the XIDs of messages that were seen beside each other follow each other in one byte order.
#[derive(Clone, Copy, Default, Debug)]
struct Steps {
    /// Forward steps since the last that was none.
    forward: u32,
    /// Whether any of them was longer than one.
    sparse: bool,
}

impl Steps {
    fn add(&mut self, step: u32) {
        if (1..=FAR).contains(&step) {
            self.forward = self.forward.saturating_add(1);
            self.sparse |= step > 1;
        } else {
            *self = Steps::default();
        }
    }
}

/// A message that was seen to its end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    pub is_call: bool,
    pub xid: u32,
    pub bytes: u64,
}

/// Packets of bytes that were not seen.
#[derive(Default, Debug)]
pub(super) struct Runs {
    pub runs: Vec<Run>,
    pub bytes: u64,
}

impl Runs {
    /// When the last of them passed.
    pub(super) fn last(&self) -> Option<Time> {
        self.runs.iter().map(|run| run.mark.time).max()
    }
}

/// What one direction of the connection hides.
#[derive(Default, Debug)]
pub(super) struct Tracker {
    /// The last message that was seen; `None` where it is not known where one ended.
    pub last: Option<Seen>,
    /// What came since.
    pub runs: Runs,
    big: Steps,
    little: Steps,
}

/// Bytes between two messages.
pub(super) struct Between {
    pub before: Seen,
    pub after: Seen,
    pub runs: Runs,
}

impl Tracker {
    pub(super) fn lose(&mut self) {
        self.last = None;
        self.runs = Runs::default();
    }

    pub(super) fn passed(&mut self, seen: Seen) -> Option<Between> {
        let before = self.last.replace(seen);
        if self.runs.bytes == 0 {
            if let Some(before) = before.filter(|b| b.is_call == seen.is_call) {
                let step = |order: ByteOrder| order.steps(before.xid, seen.xid);
                self.big.add(step(ByteOrder::Big));
                self.little.add(step(ByteOrder::Little));
            }
            return None;
        }
        let runs = std::mem::take(&mut self.runs);
        let before = before.filter(|b| b.is_call == seen.is_call)?;
        Some(Between {
            before,
            after: seen,
            runs,
        })
    }

    /// How the sender counts, and whether it leaves numbers out; `None` when it is not known to.
    pub(super) fn counting(&self, enough: u32) -> Option<(ByteOrder, bool)> {
        let (order, steps) = if self.big.forward > self.little.forward {
            (ByteOrder::Big, self.big)
        } else {
            (ByteOrder::Little, self.little)
        };
        (steps.forward >= enough).then_some((order, steps.sparse))
    }
}

/// Cuts runs into messages.
pub(super) struct Cursor<'a> {
    runs: std::slice::Iter<'a, Run>,
    rest: Option<Run>,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(runs: &'a [Run]) -> Cursor<'a> {
        Cursor {
            runs: runs.iter(),
            rest: None,
        }
    }

    /// The next `length` bytes; `None` where there are not as many.
    pub(super) fn take(&mut self, length: u64) -> Option<Span> {
        let mut left = length;
        let mut span: Option<Span> = None;
        while left > 0 {
            let run = self.rest.take().or_else(|| self.runs.next().copied())?;
            let part = Run {
                length: run.length.min(left),
                ..run
            };
            left -= part.length;
            match &mut span {
                Some(span) => span.extend(&Span::of(&part)),
                None => span = Some(Span::of(&part)),
            }
            if part.length < run.length {
                self.rest = Some(run.after(part.length));
            }
        }
        span
    }
}
