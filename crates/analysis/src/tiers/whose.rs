//! A host's own connections into whose work each carries: a session that has one of its own asks by that alone.
//!
//! All that passes on such a connection lies within the calls of one client's connection. Chance makes that as well, so
//! it counts only where chance would not: an own connection that is busy for much of the time rests in each pause of that
//! client, or one that is rarely busy never is while that client asks nothing, however often it asks nothing.

use super::spans::{Span, Spans};
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use model::ConnectionId;

/// Chance makes as much in one case of a million.
const BEYOND_CHANCE: f64 = 14.0;

/// Fewer calls of a connection prove nothing.
const LEAST: usize = 8;

/// Of more pairs of connections, the host's own and its clients', nothing is told.
const PAIRS: usize = 2_000_000;

/// Who has so much of an own connection's time beyond what chance gives may be whom it works for as well: the end of a
/// session's work may come behind its answer.
const NEARLY: f64 = 0.9;

/// So many spans tell how much of it somebody has.
const SAMPLE: usize = 64;

pub(super) type ByConnection<T> = HashMap<ConnectionId, T, FixedState>;

/// Spans by their connections.
pub(super) fn by_connection(
    all: impl Iterator<Item = (ConnectionId, Span)>,
) -> ByConnection<Vec<Span>> {
    let mut by: ByConnection<Vec<Span>> = HashMap::default();
    for (connection, span) in all {
        by.entry(connection).or_default().push(span);
    }
    by
}

/// For which of the clients' connections each own one works, where that is known. `asked` is when calls of each were under
/// way, `own` when own calls of each were.
pub(super) fn whose(
    asked: &ByConnection<Spans>,
    own: &ByConnection<Spans>,
) -> ByConnection<ConnectionId> {
    fn busy(of: &ByConnection<Spans>) -> Vec<(&ConnectionId, &Spans)> {
        of.iter()
            .filter(|(_, s)| s.iter().nth(LEAST - 1).is_some())
            .collect()
    }
    let (asked, own) = (busy(asked), busy(own));
    if asked.len().saturating_mul(own.len()) > PAIRS {
        return ByConnection::default();
    }
    let told = own.into_iter().filter_map(|(connection, spans)| {
        let holds_all = |of: &Spans| spans.iter().all(|span| of.holds(span));
        let (client, of) = asked.iter().find(|(_, of)| holds_all(of))?;
        let mut others = asked.iter().filter(|(other, _)| other != client);
        let is_sure = proof(of, spans) > BEYOND_CHANCE
            && !others.any(|(_, other)| has_nearly_all(other, spans));
        is_sure.then_some((*connection, **client))
    });
    told.collect()
}

/// Whether nearly all of `own` lies within this client's calls, or begins within them.
fn has_nearly_all(client: &Spans, own: &Spans) -> bool {
    let every = own.iter().count().div_ceil(SAMPLE);
    let (mut had, mut all, mut begun, mut count) = (0, 0, 0usize, 0usize);
    for span in own.iter().step_by(every) {
        had += client.within(span);
        all += span.1 - span.0;
        begun += usize::from(client.begun(span).is_some());
        count += 1;
    }
    // Who is asked nearly all the time has as much of anything.
    let usual = client.life().map_or(0.0, |life| busy(client, life));
    let nearly = usual + NEARLY * (1.0 - usual);
    had as f64 >= nearly * all as f64 || begun as f64 >= nearly * count as f64
}

/// For how much of this time these were.
fn busy(of: &Spans, (from, to): Span) -> f64 {
    let share = of.within((from, to)) as f64 / (to - from).max(1) as f64;
    share.clamp(0.0, 1.0)
}

/// How unlikely it is by chance that all of `own` lies within `client`: the negative logarithm.
fn proof(client: &Spans, own: &Spans) -> f64 {
    let (Some(life), Some(whole)) = (own.life(), client.life()) else {
        return 0.0;
    };
    let pauses = client.between();
    let pauses = pauses
        .iter()
        .filter(|(from, to)| life.0 <= *from && *to <= life.1);
    let rests = pauses.count() as f64 * -(1.0 - busy(own, life)).max(f64::EPSILON).ln();
    let begun: hashbrown::HashSet<i64, FixedState> =
        own.iter().filter_map(|span| client.begun(span)).collect();
    let comes = begun.len() as f64 * -busy(client, whole).max(f64::EPSILON).ln();
    rests.max(comes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connections(all: &[(u64, Vec<Span>)]) -> ByConnection<Spans> {
        let each = all
            .iter()
            .map(|(id, spans)| (ConnectionId(*id), Spans::any(spans.clone())));
        each.collect()
    }

    /// So many times from so long within each period, for so long.
    fn periodic(times: i64, period: i64, from: i64, long: i64) -> Vec<Span> {
        (0..times)
            .map(|i| (i * period + from, i * period + from + long))
            .collect()
    }

    fn found(asked: &[(u64, Vec<Span>)], own: &[(u64, Vec<Span>)]) -> Vec<(u64, u64)> {
        let told = whose(&connections(asked), &connections(own));
        let mut told: Vec<(u64, u64)> = told.into_iter().map(|(a, b)| (a.0, b.0)).collect();
        told.sort_unstable();
        told
    }

    #[test]
    fn each_session_s_own_connection_is_told() {
        // Two sessions of other periods, each busy for most of the time, as is what it asks.
        let asked = [
            (1, periodic(40, 100, 0, 90)),
            (2, periodic(30, 130, 7, 110)),
        ];
        let own = [
            (8, periodic(40, 100, 5, 80)),
            (9, periodic(30, 130, 9, 100)),
        ];
        assert_eq!(found(&asked, &own), [(8, 1), (9, 2)]);
        // One that asks rarely, of a session that is rarely busy.
        let rare = [
            (1, periodic(40, 100, 0, 10)),
            (2, periodic(30, 130, 7, 110)),
        ];
        assert_eq!(found(&rare, &[(8, periodic(40, 100, 5, 1))]), [(8, 1)]);
    }

    #[test]
    fn what_lies_within_one_by_chance_is_nobody_s() {
        let asked = [(1, periodic(40, 100, 0, 90))];
        // A few calls, within a session that is nearly always busy.
        assert_eq!(found(&asked, &[(8, periodic(4, 100, 5, 8))]), []);
        // A pool's: at times it works for another.
        let mut pool = periodic(40, 100, 5, 80);
        pool.push((4_095, 4_099));
        assert_eq!(found(&asked, &[(8, pool)]), []);
        // Another one has nearly all of it: it may be its, whose work goes on behind its answers.
        let longer = [(1, periodic(40, 100, 0, 90)), (2, periodic(40, 100, 0, 60))];
        let own = [(8, periodic(40, 100, 5, 56))];
        assert_eq!(found(&longer, &own), []);
        // Within both.
        let both = [(1, periodic(40, 100, 0, 90)), (2, periodic(40, 100, 0, 95))];
        assert_eq!(found(&both, &[(8, periodic(40, 100, 5, 80))]), []);
    }
}
