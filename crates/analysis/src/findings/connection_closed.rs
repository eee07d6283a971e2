//! # What it says
//! The server ended connections in order (FIN) while requests that it had received
//! were not answered.
//!
//! # Why it costs time
//! Whatever was asked is lost; the application sees "connection closed", "server
//! has gone away" or an unexpected end of file, and has to connect and ask again,
//! if it does.
//!
//! # How sure
//! The requests had been acknowledged, nothing of the answers is missing from the
//! capture, and the server's end came before the client's. That the process there
//! did it is likely: when one dies, its host ends its connections like this. A
//! proxy or load balancer in the server's place looks the same.
//!
//! # What to check next
//! The log of the process on the server at that time (crash, kill, restart, a limit
//! on time or memory); where a proxy is between, its time-outs.
//!
//! # When it is wrong
//! A request that asks for no answer, such as a farewell that slowside does not
//! know. Of protocols that it cannot read this is never said.

use super::{Entry, Of, Rule, evidence, numbers};
use crate::facts::Facts;
use crate::results::{ConnectionResult, Finding, Side};
use crate::text::text;

pub(super) const ENTRY: Entry = Entry {
    code: "connection-closed",
    title: "connections that the server ended before it answered",
    side: Some(Side::Server),
    of: Of::Connects,
    sure: [0.9, 0.7],
    page: page!("connection_closed.rs"),
    check,
};

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let all = &facts.streams.connections;
    let hung_up = |c: &&ConnectionResult| c.unanswered > 0 && c.ended_by_server;
    let closed: Vec<&ConnectionResult> = all.iter().filter(hung_up).collect();
    let requests: u64 = closed.iter().map(|c| c.unanswered).sum();
    let server = closed.first()?.server;
    let life = |c: &ConnectionResult| (c.last - c.first).max(0);
    let add = |sum: i64, ns: i64| sum.saturating_add(ns);
    let lost = closed.iter().map(|c| life(c)).fold(0, add);
    let others = closed.iter().any(|c| c.server != server);
    Some(Finding {
        title: text!(
            "{server}{others} ends connections before it answers",
            server = server,
            others = if others { " and others" } else { "" }
        ),
        // It ends the work where it ends a good part of what there was.
        fatal: lost >= all.iter().map(life).fold(0, add) / 4,
        first: closed.iter().map(|c| c.last).min(),
        last: closed.iter().map(|c| c.last).max(),
        facts: numbers([
            ("connections", closed.len() as i64),
            ("requests", requests as i64),
        ]),
        evidence: evidence::of_packets(
            facts,
            closed.iter().take(3).filter_map(|c| {
                let (capture, _, last) = c.ends.first()?;
                Some((*capture, last.packet))
            }),
            "the last packet of the connection",
        ),
        why: text!(
            "{n} connection{n||s} ended with {requests} request{requests||s} that had been received and {requests|was|were} not answered.",
            n = closed.len(),
            requests = requests,
        ),
        remedy: vec![text!(
            "read the log of the process on the server at that time"
        )],
        ..Rule::ConnectionClosed.finding()
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{connection, found};
    use super::*;

    fn closed(unanswered: u64, ended_by_server: bool) -> Option<Finding> {
        found(Rule::ConnectionClosed, |f| {
            let mut c = connection();
            (c.unanswered, c.ended_by_server) = (unanswered, ended_by_server);
            f.streams.connections = vec![c];
        })
    }

    #[test]
    fn a_server_that_hangs_up_is_said_with_what_it_left() {
        let f = closed(2, true).unwrap();
        assert_eq!((f.side, f.fatal), (Side::Server, true));
        assert_eq!(
            f.why.to_string(),
            "1 connection ended with 2 requests that had been received and were not answered."
        );
    }

    #[test]
    fn who_goes_away_itself_or_was_answered_is_not_left_alone() {
        assert!(closed(1, false).is_none());
        assert!(closed(0, true).is_none());
        assert!(closed(1, true).is_some());
    }
}
