//! Rows that name the connection over which they were asked for, with the calls of that connection: both follow each
//! other there, so that each call takes the next row, if the one can enclose the other.
//!
//! Where rows are of one connection and do not say which, it is the one whose calls they fit ([`named`]).
//!
//! A log's clock may be coarser than its statements are long: of those that nest by time alone any could be a call's, of
//! those of its connection it is the next.

use super::nesting::Pair;
use super::span::{self, Span};
use super::whose::{Slack, Whose};
use hashbrown::HashMap;
use model::ConnectionId;
use std::collections::{BTreeMap, VecDeque};

/// `rows` and `calls` in the order of their ends.
pub(super) fn in_order(rows: &[Span], calls: &[Span], whose: Whose, slack: Slack) -> Vec<Pair> {
    let mut waiting: HashMap<u32, VecDeque<Span>, foldhash::fast::FixedState> = HashMap::default();
    for row in rows {
        if let Some(session) = row.session {
            waiting.entry(session).or_default().push_back(*row);
        }
    }
    let mut pairs = Vec::new();
    for call in calls {
        let Some(rows) = call.session.and_then(|s| waiting.get_mut(&s)) else {
            continue;
        };
        while let Some(row) = rows.front() {
            let (outer, inner) = whose.outer_inner(row, call);
            if slack.begins_within(outer, inner) && slack.ends_within(outer, inner) {
                pairs.push((*row, *call));
                rows.pop_front();
                break;
            }
            // It may be a later call's, unless it was over before this one's end.
            if row.until > call.until {
                break;
            }
            rows.pop_front();
        }
    }
    pairs
}

/// Of a session's rows and a connection's calls while both were there, so many in a hundred are of each other.
const FITTING: usize = 80;

/// So many rows of a session tell its connection from others.
const TELLING: usize = 5;

/// Calls with the session that is theirs, of those whose rows do not name it; the sessions of `rows` that fit no connection
/// have none.
pub(super) fn named(rows: &[Span], calls: &[Span], whose: Whose, slack: Slack) -> Vec<Span> {
    let mut sessions: BTreeMap<u32, Vec<Span>> = BTreeMap::new();
    for row in rows {
        sessions
            .entry(row.session.unwrap_or(0))
            .or_default()
            .push(*row);
    }
    let mut connections: BTreeMap<ConnectionId, Vec<Span>> = BTreeMap::new();
    for call in calls {
        connections.entry(call.connection).or_default().push(*call);
    }
    let mut theirs: HashMap<ConnectionId, u32, foldhash::fast::FixedState> = HashMap::default();
    for (session, rows) in &sessions {
        let fit = |calls: &Vec<Span>| {
            let both = [rows, calls].map(|spans| {
                let first = spans.iter().map(|s| s.from).min()?;
                Some((first, spans.iter().map(|s| s.until).max()?))
            });
            let [Some(a), Some(b)] = both else { return 0 };
            let during = (a.0.max(b.0), a.1.min(b.1));
            let within = |spans: &[Span]| -> Vec<Span> {
                let within = spans.iter().filter(|s| span::overlaps(s, during));
                within.map(|s| s.of_session(*session)).collect()
            };
            let (rows, calls) = (within(rows), within(calls));
            let pairs = in_order(&rows, &calls, whose, slack).len();
            match pairs >= TELLING && pairs * 100 >= rows.len().max(calls.len()) * FITTING {
                true => pairs,
                false => 0,
            }
        };
        let free = connections.iter().filter(|(c, _)| !theirs.contains_key(*c));
        let mut fits: Vec<(usize, ConnectionId)> =
            free.map(|(c, calls)| (fit(calls), *c)).collect();
        fits.sort_unstable_by(|a, b| b.cmp(a));
        let second = fits.get(1).map_or(0, |(pairs, _)| *pairs);
        if let Some((pairs, connection)) = fits.first()
            && second * 100 < pairs * FITTING
        {
            theirs.insert(*connection, *session);
        }
    }
    let own = |call: &Span| Span {
        session: theirs.get(&call.connection).copied(),
        ..*call
    };
    calls.iter().map(own).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::ConnectionId;
    use trace::OperationKind;

    const MS: i64 = 1_000_000;

    /// Of session 0, in microseconds.
    fn span(from: i64, until: i64) -> Span {
        Span {
            from: from * 1_000,
            until: until * 1_000,
            kind: OperationKind::Other,
            client: None,
            session: Some(0),
            placed: false,
            connection: ConnectionId(1),
            call: until as u64,
        }
    }

    fn paired(rows: &[Span], calls: &[Span]) -> Vec<(i64, u64)> {
        let slack = Whose::Server.slack(MS);
        let pairs = in_order(rows, calls, Whose::Server, slack);
        pairs
            .iter()
            .map(|(row, call)| (row.took() / 1_000, call.call))
            .collect()
    }

    /// Ends of rows are cut to milliseconds, so that all lie in front of their calls.
    #[test]
    fn statements_within_one_millisecond_are_their_calls_in_order() {
        let calls = [span(100, 200), span(300, 900), span(910, 990)];
        let rows = [span(-80, 0), span(-500, 0), span(-60, 0)];
        assert_eq!(paired(&rows, &calls), [(80, 200), (500, 900), (60, 990)]);
    }

    #[test]
    fn a_row_without_its_call_and_a_call_without_its_row_stay_alone() {
        // The first row's call was before the capture; the second call is not in the log.
        let calls = [
            span(10_100, 12_300),
            span(12_400, 12_450),
            span(20_000, 25_900),
        ];
        let rows = [
            span(4_000, 5_000),
            span(10_200, 12_000),
            span(20_200, 25_000),
        ];
        assert_eq!(paired(&rows, &calls), [(1_800, 12_300), (4_800, 25_900)]);
    }

    #[test]
    fn other_connections_calls_are_none_of_its_own() {
        let other = Span {
            session: Some(1),
            ..span(0, 9_000)
        };
        let unknown = Span {
            session: None,
            ..span(0, 9_000)
        };
        assert_eq!(paired(&[span(1_000, 2_000)], &[other, unknown]), []);
    }

    /// Fifty calls of a connection, each 10 ms after the one before and a little longer, from so many microseconds on.
    fn calls_of(connection: u64, from: i64) -> Vec<Span> {
        let each = |i: i64| Span {
            connection: ConnectionId(connection),
            session: None,
            ..span(from + i * 10_000, from + i * 10_000 + 500 + i * i % 700)
        };
        (0..50).map(each).collect()
    }

    /// What a server notes of these: from 30 µs after a request came until 20 µs before its answer leaves.
    fn rows_of(session: u32, calls: &[Span]) -> Vec<Span> {
        let each = |call: &Span| Span {
            session: Some(session),
            connection: ConnectionId(0),
            from: call.from + 30_000,
            until: call.until - 20_000,
            ..*call
        };
        calls.iter().map(each).collect()
    }

    /// How many calls of each connection have a session.
    fn sessions(rows: &[Span], calls: &[Span]) -> BTreeMap<(u64, u32), usize> {
        let slack = Whose::Server.slack(0);
        let mut found = BTreeMap::new();
        for call in named(rows, calls, Whose::Server, slack) {
            if let Some(session) = call.session {
                *found.entry((call.connection.0, session)).or_default() += 1;
            }
        }
        found
    }

    #[test]
    fn a_session_is_the_connection_whose_calls_its_rows_fit() {
        let (a, b) = (calls_of(1, 0), calls_of(2, 4_000));
        let all: Vec<Span> = a.iter().chain(&b).copied().collect();
        let both: Vec<Span> = [rows_of(7, &b), rows_of(8, &a)].concat();
        assert_eq!(sessions(&both, &all), [((1, 8), 50), ((2, 7), 50)].into());
        // One in five calls may lack its row, as those of a trace that began later do.
        let of = |rows: &[Span]| sessions(rows, &all);
        let some: Vec<Span> = rows_of(7, &b).into_iter().step_by(2).collect();
        assert_eq!(of(&some), BTreeMap::new());
        let most: Vec<Span> = rows_of(7, &b)
            .into_iter()
            .enumerate()
            .filter(|(i, _)| i % 5 != 4)
            .map(|(_, row)| row)
            .collect();
        assert_eq!(of(&most), [((2, 7), 50)].into());
        // Of a connection that the capture does not have.
        assert_eq!(of(&rows_of(7, &calls_of(3, 7_500))), BTreeMap::new());
        // Few rows fit anything.
        assert_eq!(of(&rows_of(7, &b[..4])), BTreeMap::new());
    }

    #[test]
    fn rows_that_fit_two_connections_are_of_none() {
        let (a, mut b) = (calls_of(1, 0), calls_of(2, 0));
        for call in &mut b {
            call.from -= 1_000;
            call.until += 1_000;
        }
        let all: Vec<Span> = a.iter().chain(&b).copied().collect();
        assert_eq!(sessions(&rows_of(7, &a), &all), BTreeMap::new());
    }
}
