//! What a connection sent again while a call of it was under way, into what that waited for: single segments, or an
//! outage.

use crate::capture_facts::Trouble;
use ledger::Lost;
use model::{Direction, Time};

/// An episode in which the timer ran out this often in a row, or that lasted this long with at least
/// one time-out, is an outage and not a lost segment: nothing got through for that long.
const OUTAGE_TIMEOUTS: u32 = 2;
pub(crate) const OUTAGE_NS: i64 = 700_000_000;

/// Whether nothing got through for so long that it was no mere loss.
#[must_use]
pub(crate) fn is_outage(timeouts: u32, lasted_ns: i64) -> bool {
    timeouts >= OUTAGE_TIMEOUTS || (timeouts > 0 && lasted_ns >= OUTAGE_NS)
}

/// The same with another recovery.
fn and(lost: Lost, t: &Trouble) -> Lost {
    match lost {
        _ if is_outage(t.timeouts, t.last - t.first) => Lost::Outage,
        Lost::Nothing => Lost::Segments,
        lost => lost,
    }
}

/// What the network lost of a call, from what its connection went through meanwhile in the capture at each direction's
/// receiver, the server's first. What the receiver's capture holds twice was not lost between the two: gives the direction of
/// it, too, where there is nothing else.
pub(crate) fn lost_between<'a, T>(receivers: &[T; 2]) -> (Lost, Option<Direction>)
where
    T: Iterator<Item = &'a Trouble> + Clone,
{
    let recoveries = |of: &T| {
        let of = of.clone();
        of.filter(|t| t.is_loss())
    };
    let all = |is: fn(&Trouble) -> bool| {
        Direction::BOTH.map(|d| {
            let of = recoveries(&receivers[d.index()]);
            let mut of = of.filter(|t| t.direction == d).peekable();
            of.peek().is_some() && of.all(is)
        })
    };
    let arrived = all(|t| t.arrived);
    let seen = receivers.iter().flat_map(recoveries);
    let (mut lost, mut ways) = (Lost::Nothing, [false; 2]);
    for t in seen.filter(|t| !arrived[t.direction.index()]) {
        lost = and(lost, t);
        ways[t.direction.index()] = true;
    }
    if lost == Lost::Nothing {
        return (lost, None);
    }
    let came = all(|t| t.came_twice);
    let all_came = ways
        .iter()
        .zip(came)
        .all(|(is_lost, came)| came || !is_lost);
    let way = match ways {
        [_, true] => Direction::ToClient,
        _ => Direction::ToServer,
    };
    (lost, all_came.then_some(way))
}

/// What was lost while one capture shows a call waiting for its answer, and how long of that time recoveries took: those of
/// both directions overlap each other.
pub(crate) fn recovered<'a>(
    near: impl Iterator<Item = &'a Trouble>,
    asked: Time,
    answered: Time,
) -> (Lost, i64) {
    let (mut lost, mut ns, mut reached) = (Lost::Nothing, 0, asked);
    for t in near.filter(|t| t.is_loss()) {
        lost = and(lost, t);
        // Behind its last resend a request crosses the path, and the server may answer at leisure.
        let last = match t.direction {
            Direction::ToServer => t.resent,
            Direction::ToClient => t.last,
        };
        ns = (last.min(answered) - t.first.max(reached))
            .max(0)
            .saturating_add(ns);
        reached = reached.max(last);
    }
    (lost, ns)
}
