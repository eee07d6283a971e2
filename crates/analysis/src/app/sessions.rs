//! Rows that name the connection over which they were asked for, with the calls of that connection: both follow each
//! other there, so that each call takes the next row, if the one can enclose the other.
//!
//! A log's clock may be coarser than its statements are long: of those that nest by time alone any could be a call's, of
//! those of its connection it is the next.

use super::nesting::Pair;
use super::span::Span;
use super::whose::{Slack, Whose};
use hashbrown::HashMap;
use std::collections::VecDeque;

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

#[cfg(test)]
mod tests {
    use super::*;
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
}
