//! # What it says
//! A client sent requests on connections that the server had ended (FIN) before,
//! and got a reset for an answer.
//!
//! # Why it costs time
//! The request is lost, and the application sees "connection reset by peer" or
//! "server has gone away"; it has to connect and ask again, if it does. A pool with
//! many such connections fails as many times in a row.
//!
//! # How sure
//! The client's host had acknowledged the end, a tenth of a second or more before
//! the request: whoever looked at the connection before using it would have known.
//! A request that crosses the server's end is nobody's doing, and not counted.
//!
//! # What to check next
//! For how long the connections had been idle when the server ended them: that is
//! its limit (wait_timeout, idle_session_timeout, keepalive_timeout, a proxy's).
//! Let the pool give connections up sooner, or test them before use.
//!
//! # When it is wrong
//! A server that was stopped and ends all connections in order at that moment: then
//! its own log says so, and new connections are refused. Of protocols that slowside
//! cannot read this is never said: it may be a farewell.

use super::{Entry, Of, Rule, evidence, numbers};
use crate::facts::Facts;
use crate::results::{ConnectionResult, Finding, Side};
use crate::text::{Text, Value, text};
use model::{Direction, PacketRef, ResetSeen};

pub(super) const ENTRY: Entry = Entry {
    code: "stale-connection",
    title: "requests on connections that the server had ended",
    side: Some(Side::Client),
    of: Of::Connects,
    sure: [0.8, 0.8],
    page: page!("stale_connection.rs"),
    check,
};

/// Whoever looks before it sends knows of the end by then.
const NOTICED_NS: i64 = 100_000_000;

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let all = &facts.streams.connections;
    let stale: Vec<Stale<'_>> = all.iter().filter_map(stale).collect();
    let latest = stale.iter().max_by_key(|s| s.late_ns)?;
    // The server's limit, where they were idle for as long.
    let idle = |s: &Stale<'_>| s.idle_ns;
    let shortest = stale.iter().filter_map(idle).min();
    let longest = stale.iter().filter_map(idle).max();
    let server = latest.connection.server;
    Some(Finding {
        title: "Clients send requests on connections that the server had ended".into(),
        // It ends the work where it ends a good part of what there was.
        fatal: stale.len() >= all.len().div_ceil(4),
        first: stale.iter().map(|s| s.reset.at.time).min(),
        last: stale.iter().map(|s| s.reset.at.time).max(),
        facts: numbers([
            ("connections", stale.len() as i64),
            ("late_ns", latest.late_ns),
            ("idle_ns", shortest.unwrap_or(0)),
        ]),
        evidence: evidence::of_packets(
            facts,
            stale.iter().take(3).map(Stale::packet),
            "the reset that answers the request",
        ),
        why: text!(
            "{n} request{n||s} came on connections that {server} had ended before, up to {late} before, and {n|was|were} answered by a reset.{idle}",
            n = stale.len(),
            server = server,
            late = Value::Duration(latest.late_ns),
            idle = match shortest.zip(longest) {
                None => Text::default(),
                Some((a, b)) if b - a <= a / 10 => text!(
                    " It ends them after {idle} without data.",
                    idle = Value::Duration(a),
                ),
                Some((a, b)) => text!(
                    " They had been without data for {a} to {b} then.",
                    a = Value::Duration(a),
                    b = Value::Duration(b),
                ),
            },
        ),
        remedy: vec![
            "let the client's pool give connections up before the server's idle limit does, or test them before use".into(),
        ],
        ..Rule::StaleConnection.finding()
    })
}

/// A request behind its connection's end.
struct Stale<'a> {
    connection: &'a ConnectionResult,
    capture: usize,
    reset: ResetSeen,
    /// How long after the end it was sent, and how long before that no data had passed.
    late_ns: i64,
    idle_ns: Option<i64>,
}

impl Stale<'_> {
    fn packet(&self) -> (usize, PacketRef) {
        (self.capture, self.reset.at.packet)
    }
}

fn stale(c: &ConnectionResult) -> Option<Stale<'_>> {
    // Of protocols that are not known it may be a farewell.
    if c.late_requests.unwrap_or(0) == 0 {
        return None;
    }
    let mut seen = c.resets.iter().zip(&c.ends).zip(&c.last_data);
    seen.find_map(|((reset, (capture, ..)), [asked, answered])| {
        let reset = reset.filter(|r| r.direction == Direction::ToClient)?;
        let (ended, asked) = (reset.end_heard?, (*asked)?);
        let late_ns = asked - ended;
        // Some say why before they end: how long they had waited then is not known.
        let idle_ns = (*answered).map(|at| ended - at);
        (late_ns >= NOTICED_NS && asked <= reset.at.time).then_some(Stale {
            connection: c,
            capture: *capture,
            reset,
            late_ns,
            idle_ns: idle_ns.filter(|ns| *ns >= NOTICED_NS),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{connection, found, reset};
    use super::*;
    use model::Time;

    const MS: i64 = 1_000_000;

    /// Idle connections, which the server ends after 3 s, and requests so much later.
    fn requests(late_ns: &[i64], change: fn(&mut ResetSeen)) -> Option<Finding> {
        found(Rule::StaleConnection, |f| {
            let connections = late_ns.iter().map(|late| {
                let ended = Time(4_000 * MS);
                let mut seen = ResetSeen {
                    after_fin: true,
                    end_heard: Some(ended),
                    ..reset()
                };
                seen.at.time = ended + *late + MS;
                change(&mut seen);
                let mut c = connection();
                c.resets = vec![Some(seen)];
                c.last_data = vec![[Some(ended + *late), Some(Time(1_000 * MS))]];
                c.late_requests = Some(1);
                c
            });
            f.streams.connections = connections.collect();
        })
    }

    #[test]
    fn a_pool_that_does_not_look_is_the_client_s_and_the_server_s_limit_is_told() {
        let f = requests(&[2_000 * MS, 2_500 * MS], |_| ()).unwrap();
        assert_eq!((f.side, f.fatal), (Side::Client, true));
        let why = f.why.to_string();
        assert!(why.starts_with("2 requests came on connections"), "{why}");
        assert!(why.contains("up to 2.50 s before"), "{why}");
        assert!(why.ends_with("after 3.00 s without data."), "{why}");
    }

    #[test]
    fn how_long_it_was_idle_is_not_told_where_the_server_says_farewell() {
        let f = found(Rule::StaleConnection, |f| {
            let ended = Time(4_000 * MS);
            let mut c = connection();
            let mut seen = ResetSeen {
                after_fin: true,
                end_heard: Some(ended),
                ..reset()
            };
            seen.at.time = ended + 2_000 * MS;
            c.resets = vec![Some(seen)];
            c.last_data = vec![[Some(ended + 1_999 * MS), Some(ended)]];
            c.late_requests = Some(1);
            f.streams.connections = vec![c];
        });
        let why = f.unwrap().why.to_string();
        assert!(why.ends_with("answered by a reset."), "{why}");
    }

    #[test]
    fn what_crosses_the_end_is_nobody_s_doing() {
        assert!(requests(&[NOTICED_NS], |_| ()).is_some());
        assert!(requests(&[NOTICED_NS - 1], |_| ()).is_none());
    }

    #[test]
    fn an_end_that_the_client_s_host_did_not_hear_of_or_a_farewell_is_another_matter() {
        assert!(requests(&[2_000 * MS], |r| r.end_heard = None).is_none());
        assert!(requests(&[2_000 * MS], |r| r.direction = Direction::ToServer).is_none());
    }
}
