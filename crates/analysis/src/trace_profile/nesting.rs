//! Which waits and recursive calls a call holds.
//!
//! A trace writes a record when something is over, so what happened within a call stands before it. A
//! call at depth d holds the calls of greater depth, and the waits, that lie in its time; those of them
//! that an earlier call holds already are no longer loose. What is still loose when a call of depth 0 has
//! come is held by none: waits between calls, and recursive calls whose caller the trace does not have.
//!
//! Waits of 9i have no time of their own: they belong to the next call, but for the wait for the client,
//! which is never within one.

use model::limits::TRACE_PENDING;
use std::collections::VecDeque;

/// A wait, or a call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    /// Of a call; operations on LOBs do not have one.
    pub(super) depth: Option<u32>,
    pub(super) start_ns: Option<i64>,
    pub(super) end_ns: Option<i64>,
    pub(super) elapsed_ns: i64,
    pub(super) cpu_ns: i64,
    pub(super) statement: usize,
    /// Of a wait.
    pub(super) event: Option<usize>,
    /// A wait for the client.
    pub(super) idle: bool,
}

/// What a call holds, without what its recursive calls hold.
#[derive(Default, Debug)]
pub(super) struct Claimed {
    pub(super) calls_ns: i64,
    pub(super) calls_cpu_ns: i64,
    pub(super) waits_ns: i64,
    pub(super) waits: Vec<(usize, i64)>,
}

#[derive(Default)]
pub(super) struct Nesting {
    loose: VecDeque<Piece>,
    given_up: u64,
}

impl Nesting {
    /// Takes a wait; gives back what can no longer be held by a call.
    pub(super) fn wait(&mut self, wait: Piece) -> Vec<Piece> {
        self.loose.push_back(wait);
        self.bound()
    }

    /// Takes a call; gives back what it holds, and pieces that none does.
    pub(super) fn call(&mut self, call: Piece) -> (Claimed, Vec<Piece>) {
        let mut claimed = Claimed::default();
        while let Some(last) = self.loose.back()
            && holds(&call, last)
        {
            claimed.take(last);
            self.loose.pop_back();
        }
        if call.depth == Some(0) {
            let mut settled = self.rest();
            settled.push(call);
            return (claimed, settled);
        }
        self.loose.push_back(call);
        (claimed, self.bound())
    }

    /// Pieces that no call holds yet.
    pub(super) fn len(&self) -> usize {
        self.loose.len()
    }

    /// What is still loose; nothing comes that could hold it.
    pub(super) fn rest(&mut self) -> Vec<Piece> {
        self.loose.drain(..).collect()
    }

    /// How many pieces were taken as loose for want of room, since this was last asked.
    pub(super) fn given_up(&mut self) -> u64 {
        std::mem::take(&mut self.given_up)
    }

    fn bound(&mut self) -> Vec<Piece> {
        let excess = self.loose.len().saturating_sub(TRACE_PENDING);
        if excess == 0 {
            return Vec::new();
        }
        self.given_up += excess as u64;
        self.loose.drain(..excess).collect()
    }
}

/// Whether a call holds the last loose piece.
fn holds(call: &Piece, piece: &Piece) -> bool {
    if piece.event.is_none()
        && let (Some(outer), Some(inner)) = (call.depth, piece.depth)
        && inner <= outer
    {
        return false;
    }
    match (call.start_ns, call.end_ns, piece.start_ns, piece.end_ns) {
        // Times are rounded: what lies in it for more than half does.
        (Some(from), Some(to), Some(start), Some(end)) => {
            start <= to && (start >= from || start.midpoint(end) >= from && end > from)
        }
        _ => !piece.idle,
    }
}

impl Claimed {
    fn take(&mut self, piece: &Piece) {
        match piece.event {
            Some(event) => {
                self.waits_ns = self.waits_ns.saturating_add(piece.elapsed_ns);
                self.waits.push((event, piece.elapsed_ns));
            }
            None => {
                self.calls_ns = self.calls_ns.saturating_add(piece.elapsed_ns);
                self.calls_cpu_ns = self.calls_cpu_ns.saturating_add(piece.cpu_ns);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(depth: u32, start: i64, end: i64) -> Piece {
        Piece {
            depth: Some(depth),
            start_ns: Some(start),
            end_ns: Some(end),
            elapsed_ns: end - start,
            cpu_ns: (end - start) / 2,
            statement: 0,
            event: None,
            idle: false,
        }
    }

    fn wait(start: i64, end: i64) -> Piece {
        Piece {
            depth: None,
            event: Some(7),
            cpu_ns: 0,
            ..call(0, start, end)
        }
    }

    #[test]
    fn recursive_calls_and_waits_belong_to_the_call_around_them() {
        let mut nesting = Nesting::default();
        nesting.wait(wait(0, 90));
        nesting.wait(wait(110, 120));
        nesting.call(call(2, 105, 125));
        let (inner, _) = nesting.call(call(1, 102, 130));
        assert_eq!((inner.calls_ns, inner.waits_ns), (20, 0));
        nesting.wait(wait(150, 160));
        nesting.call(call(1, 170, 175));
        let (outer, settled) = nesting.call(call(0, 100, 200));
        assert_eq!(
            (outer.calls_ns, outer.calls_cpu_ns, outer.waits_ns),
            (33, 16, 10)
        );
        let settled: Vec<_> = settled.iter().map(|p| p.elapsed_ns).collect();
        assert_eq!(settled, [90, 100]);
    }

    #[test]
    fn recursive_calls_beside_their_caller_stand_alone() {
        let mut nesting = Nesting::default();
        nesting.call(call(1, 10, 20));
        let (claimed, settled) = nesting.call(call(0, 21, 30));
        assert_eq!((claimed.calls_ns, settled.len()), (0, 2));
    }

    #[test]
    fn waits_without_a_time_belong_to_the_next_call() {
        let untimed = |idle| Piece {
            start_ns: None,
            end_ns: None,
            idle,
            ..wait(0, 5)
        };
        let mut nesting = Nesting::default();
        nesting.wait(untimed(false));
        nesting.wait(untimed(true));
        nesting.wait(untimed(false));
        nesting.wait(untimed(false));
        let (claimed, settled) = nesting.call(call(0, 21, 30));
        assert_eq!((claimed.waits_ns, settled.len()), (10, 3));
    }
}
