//! Connections of two captures, with a proxy between them that ended one and opened the other, into those in which the same
//! bytes passed: by what their calls are, one after the other, and by when they were made.
//!
//! A proxy that passes bytes on (of TCP, or of TLS that it does not end) leaves lengths and their places in the stream as
//! they are, but each host draws numbers of its own: between the streams lies one and the same difference. Pools of
//! connections that ask alike have alike bytes, so time has the last word: what passes from one to the other takes about as
//! long each time, and calls of two connections that have nothing to do with each other come as they like. Where they do
//! not (at a beat, or all waited for one lock), several go together about as well: the one that is meant goes better by far,
//! or none is. Once one is known, others are as far apart as that. Clocks play no part.

use crate::half::Half;
use crate::work::is_sql;

/// So many calls in a row have to agree: of two connections that come as they like each call agrees by chance in one of
/// [`STEADY`] cases.
pub(super) const LEAST: usize = 12;

/// So many calls in a row are held against each other at most.
const HELD: usize = 256;

/// What passes from one to the other varies by so many times less than what lies between calls.
const STEADY: i64 = 8;

/// And by so many times less than from the one to any third.
const BETTER: i64 = 4;

/// How numbers of one connection become those of the other: what is to be taken away from sequence numbers and from ids.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Shift {
    pub(super) sequence: u32,
    pub(super) id: u32,
}

/// Two connections with the same bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Same {
    pub(super) shift: Shift,
    /// From a call's beginning in the first to that in the second by their clocks, most of them, ns.
    apart_ns: (i64, i64),
    /// From one call's beginning to the next one's, most of them, ns.
    between_ns: (i64, i64),
}

impl Same {
    /// How much it varies how far they are apart, ns.
    fn varies_ns(&self) -> i64 {
        self.apart_ns.1 - self.apart_ns.0
    }

    fn is_steady(&self) -> bool {
        let (shortest, longest) = self.between_ns;
        self.varies_ns().saturating_mul(STEADY) < longest - shortest
    }

    /// Whether it goes better than a third, by far.
    fn is_better(&self, third: &Same) -> bool {
        self.varies_ns().saturating_mul(BETTER) < third.varies_ns()
    }

    /// Whether they are as far apart as others that are the same, give or take what these vary by or a part of what lies
    /// between calls.
    fn is_as(&self, other: &Same) -> bool {
        let slack_ns = other.varies_ns().max(self.between_ns.0 / STEADY);
        self.apart_ns.0 >= other.apart_ns.0 - slack_ns
            && self.apart_ns.1 <= other.apart_ns.1 + slack_ns
    }
}

/// Of all connections of both captures by their calls, in order, those that are the same.
pub(super) fn pairs<'e, E: Copy + PartialEq>(
    [first, second]: [&'e [(E, Vec<&Half>)]; 2],
) -> Vec<(E, E, Same)> {
    let mut found = Vec::new();
    for (a, of_a) in first {
        let same = |(b, of_b): &'e (E, Vec<&Half>)| Some((*a, *b, same(of_a, of_b)?));
        found.extend(second.iter().filter_map(same));
    }
    // The first of those that are alike stays the first, whichever way they are found.
    found.sort_by_key(|(.., same)| same.varies_ns());
    let thirds = |a: E, b: E| {
        let is_third = move |(c, d, _): &&(E, E, Same)| (*c == a) != (*d == b);
        found.iter().filter(is_third).map(|(.., same)| same)
    };
    let is_best = |(a, b, same): &&(E, E, Same)| {
        same.is_steady() && thirds(*a, *b).all(|third| same.is_better(third))
    };
    let best: Vec<_> = found.iter().filter(is_best).copied().collect();
    let Some((.., known)) = best.first().copied() else {
        return Vec::new();
    };
    let is_as_far = |(a, b, same): &&(E, E, Same)| {
        same.is_as(&known) && !thirds(*a, *b).any(|third| third.is_as(&known))
    };
    let mut all = best;
    for (a, b, same) in found.iter().filter(is_as_far) {
        if !all.iter().any(|(c, d, _)| c == a || d == b) {
            all.push((*a, *b, *same));
        }
    }
    all
}

/// Whether the second connection's calls are the first's.
fn same(first: &[&Half], second: &[&Half]) -> Option<Same> {
    let ways = (0..first.len())
        .map(|i| (i, 0))
        .chain((1..second.len()).map(|j| (0, j)));
    let mut found: Option<Same> = None;
    for (i, j) in ways {
        let pairs = first.iter().skip(i).zip(second.iter().skip(j));
        let Some(next) = agree(pairs.map(|(a, b)| (*a, *b)).take(HELD)) else {
            continue;
        };
        // A stream that repeats itself agrees in several places, of which the time tells which it is.
        if found.is_none_or(|before| next.varies_ns() < before.varies_ns()) {
            found = Some(next);
        }
    }
    found
}

/// What calls that would be the same have in common, if they are.
fn agree<'a>(pairs: impl Iterator<Item = (&'a Half, &'a Half)> + Clone) -> Option<Same> {
    let shift = |(a, b): (&Half, &Half)| Shift {
        sequence: b.request_sequence.wrapping_sub(a.request_sequence),
        id: b.id.wrapping_sub(a.id),
    };
    let first = shift(pairs.clone().next()?);
    let are_alike = pairs
        .clone()
        .all(|(a, b)| is_alike(a, b) && shift((a, b)) == first);
    let count = pairs.clone().count();
    if !are_alike || count < LEAST {
        return None;
    }
    // All that one capture has of a call lies within what the other has.
    let longer = |(a, b): &(&Half, &Half)| a.response_time_ns() >= b.response_time_ns();
    let longer = pairs.clone().filter(longer).count();
    if longer.min(count - longer) * 10 > count {
        return None;
    }
    let begun: Vec<i64> = pairs.clone().map(|(a, _)| a.request_first.time.0).collect();
    let apart = pairs.map(|(a, b)| b.request_first.time - a.request_first.time);
    Some(Same {
        shift: first,
        apart_ns: most(apart.collect()),
        between_ns: most(begun.windows(2).map(|w| w[1] - w[0]).collect()),
    })
}

/// Whether a proxy that changes nothing could make one of the other. What came of a call may be cut off in one.
fn is_alike(a: &Half, b: &Half) -> bool {
    let are_whole = a.is_complete() && b.is_complete();
    // Datagrams have no place in a stream.
    let have_places = a.request_sequence != 0 && b.request_sequence != 0;
    have_places
        && a.op == b.op
        && a.offset == b.offset
        && a.request_bytes == b.request_bytes
        && (a.work == b.work || !is_sql(a.work) && !is_sql(b.work))
        && (!are_whole || a.response_bytes == b.response_bytes)
}

/// Between which most of them lie: but for a tenth at either end.
fn most(mut values: Vec<i64>) -> (i64, i64) {
    values.sort_unstable();
    let tenth = values.len() / 10;
    let ends = values.get(tenth).zip(values.iter().nth_back(tenth));
    ends.map_or((0, 0), |(least, most)| (*least, *most))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace_join::tests;
    use proptest::prelude::*;

    /// A connection's calls that began at these times and took so long each; its numbers begin with `number`.
    fn calls(number: u32, took_ns: i64, begun: &[i64]) -> Vec<Half> {
        let call = |(i, &at): (usize, &i64)| {
            let call = tests::call(
                number.wrapping_add(100 * i as u32),
                0,
                4_096,
                at,
                at + took_ns,
            );
            Half::of(&call, 0, 0, 0).expect("it has a request")
        };
        begun.iter().enumerate().map(call).collect()
    }

    /// Which of the first capture's connections are which of the second's, and by what numbers.
    fn told(first: &[&[Half]], second: &[&[Half]]) -> Vec<(usize, usize, Shift)> {
        let [first, second] = [first, second].map(|all| {
            let numbered = all.iter().enumerate();
            numbered
                .map(|(i, calls)| (i, calls.iter().collect()))
                .collect::<Vec<(usize, Vec<&Half>)>>()
        });
        let mut told: Vec<_> = pairs([&first, &second])
            .into_iter()
            .map(|(a, b, same)| (a, b, same.shift))
            .collect();
        told.sort_by_key(|(a, ..)| *a);
        told
    }

    /// The same of one connection each.
    fn one(first: &[Half], second: &[Half]) -> Option<Shift> {
        let told = told(&[first], &[second]);
        told.first().map(|(.., shift)| *shift)
    }

    /// As a proxy passes calls on that began then: half a millisecond later, and a little.
    fn passed(begun: &[i64]) -> Vec<i64> {
        let later = |at: &i64| at + 500_000 + at % 300_000;
        begun.iter().map(later).collect()
    }

    /// Times with gaps of 1 to 40 ms, by a generator of its own.
    fn irregular(seed: u64, count: usize) -> Vec<i64> {
        let (mut state, mut at) = (seed, 0);
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            at += 1_000_000 + (state >> 33) as i64 % 39_000_000;
            at
        };
        (0..count).map(|_| next()).collect()
    }

    #[test]
    fn what_a_proxy_passed_on_is_the_same_wherever_captures_begin() {
        let begun = irregular(7, 40);
        let client = calls(5_000, 9_000_000, &begun);
        let server = calls(77, 8_000_000, &passed(&begun));
        let shift = Some(Shift {
            sequence: 77_u32.wrapping_sub(5_000),
            id: 77_u32.wrapping_sub(5_000),
        });
        assert_eq!(one(&client, &server), shift);
        // One began seven calls later, or ended before.
        assert_eq!(one(&client[7..], &server), shift);
        assert_eq!(one(&client, &server[9..]), shift);
        assert_eq!(one(&client[..LEAST], &server), shift);
        assert_eq!(one(&client[..LEAST - 1], &server), None);
    }

    #[test]
    fn calls_at_a_beat_and_others_calls_prove_nothing() {
        let beat: Vec<i64> = (0..40).map(|i| i * 10_000_000).collect();
        let at_a_beat = [calls(1, 9_000_000, &beat), calls(2, 8_000_000, &beat)];
        assert_eq!(one(&at_a_beat[0], &at_a_beat[1]), None);
        // But as far apart as others that are the same.
        let begun = irregular(3, 40);
        let shift: Vec<i64> = begun.iter().map(|at| at + 20_000).collect();
        let others = [calls(5, 9_000_000, &begun), calls(6, 8_000_000, &shift)];
        let found = told(&[&at_a_beat[0], &others[0]], &[&at_a_beat[1], &others[1]]);
        assert_eq!(
            found.iter().map(|(a, b, _)| (*a, *b)).collect::<Vec<_>>(),
            [(0, 0), (1, 1)]
        );
        // As long within a call as about it.
        let (client, mut server) = (calls(1, 9_000_000, &begun), calls(2, 8_000_000, &begun));
        for call in server.iter_mut().step_by(3) {
            call.response_last.time = call.response_last.time + 5_000_000;
        }
        assert_eq!(one(&client, &server), None);
        // Of another length.
        let mut server = calls(2, 8_000_000, &begun);
        server[20].request_bytes += 1;
        assert_eq!(one(&client, &server), None);
    }

    #[test]
    fn of_connections_that_wait_for_one_lock_each_has_its_own_or_none() {
        // All go on together, one behind the other.
        let together = irregular(5, 64);
        let begun = |i: u32| -> Vec<i64> {
            let behind = |at: &i64| at + 400_000 * i64::from(i) + at / i64::from(7 + i) % 70_000;
            together.iter().map(behind).collect()
        };
        let clients: Vec<_> = (0..4).map(|i| calls(1 + i, 9_000_000, &begun(i))).collect();
        let server = |i| {
            let passed: Vec<i64> = begun(i).iter().map(|at| at + 9_000 + at % 1_000).collect();
            calls(10 + i, 8_000_000, &passed)
        };
        let servers: Vec<_> = (0..4).map(server).collect();
        let of = |all: &[Vec<Half>], which: &[usize]| -> Vec<Vec<Half>> {
            which.iter().map(|&i| all[i].clone()).collect()
        };
        let ends = |first: &[usize], second: &[usize]| -> Vec<(usize, usize)> {
            let (first, second) = (of(&clients, first), of(&servers, second));
            let first: Vec<&[Half]> = first.iter().map(Vec::as_slice).collect();
            let second: Vec<&[Half]> = second.iter().map(Vec::as_slice).collect();
            told(&first, &second)
                .into_iter()
                .map(|(a, b, _)| (a, b))
                .collect()
        };
        assert_eq!(
            ends(&[0, 1, 2, 3], &[0, 1, 2, 3]),
            [(0, 0), (1, 1), (2, 2), (3, 3)]
        );
        // Those of two are in one capture alone, and no other is taken for them.
        assert_eq!(ends(&[0, 1], &[2, 3]), []);
    }

    proptest! {
        #[test]
        fn connections_that_ask_alike_as_they_like_are_not_the_same(a in any::<u64>(), b in any::<u64>()) {
            prop_assume!(a != b);
            let (client, server) = (calls(1, 9_000_000, &irregular(a, 64)), calls(2, 8_000_000, &irregular(b, 64)));
            prop_assert_eq!(one(&client, &server), None);
        }
    }
}
