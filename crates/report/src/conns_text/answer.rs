//! What connections waited for, in a sentence.

use crate::classes::{Party, words};
use crate::conns::fields::own;
use crate::text::{counted, spoken, wrap};
use analysis::results::ConnectionResult;
use model::{Direction, TimeClass};
use std::collections::BTreeSet;
use std::net::IpAddr;

/// The answer: how long was waited, and what for most of all.
pub(super) fn answer(connections: &[ConnectionResult]) -> String {
    let count = counted(connections.len() as u64, "TCP connection");
    if connections.is_empty() {
        return "No TCP connections.\n".to_owned();
    }
    let text = match waited(connections) {
        Some(waited) => format!("{count}, {waited}"),
        None if connections.iter().any(is_measured) => {
            format!("{count} without a wait: whoever had something to send could send it.")
        }
        None => format!("{count}; what was waited for was not measured."),
    };
    wrap("", 0, &text)
}

/// Whether the time of a connection was divided into classes.
fn is_measured(c: &ConnectionResult) -> bool {
    let mut accounts = c.directions.iter().map(|d| &d.account);
    accounts.any(|a| a.time_ns.iter().any(|(_, ns)| *ns > 0))
}

/// "4 min 12 s of waiting; 61 % of it: …"; `None` when nothing was waited for.
pub(super) fn waited(connections: &[ConnectionResult]) -> Option<String> {
    let total = connections
        .iter()
        .fold(0i64, |sum, c| sum.saturating_add(c.at_stake_ns));
    // Only what is the longest wait of some connection can be that of all.
    let kinds: BTreeSet<(Direction, TimeClass)> = connections
        .iter()
        .filter_map(|c| c.top)
        .map(|(direction, class, _)| (direction, class))
        .collect();
    let (ns, direction, class) = kinds
        .into_iter()
        .map(|(direction, class)| {
            let parts = with(connections, direction, class).map(|(_, ns)| ns);
            (parts.fold(0i64, i64::saturating_add), direction, class)
        })
        .max_by_key(|(ns, ..)| *ns)
        .filter(|(ns, ..)| *ns > 0 && total > 0)?;
    let percent = 100.0 * ns as f64 / total as f64;
    Some(format!(
        "{} of waiting; {percent:.0} % of it: {}{}",
        spoken(total),
        words(class).phrase,
        whose(connections, direction, class)
    ))
}

/// The connections that had such a wait in the direction in which they waited more, and how long.
fn with(
    connections: &[ConnectionResult],
    direction: Direction,
    class: TimeClass,
) -> impl Iterator<Item = (&ConnectionResult, i64)> {
    connections
        .iter()
        .filter(move |c| c.top.is_some_and(|(d, ..)| d == direction))
        .map(move |c| (c, own(c, direction).account.time_ns[class]))
        .filter(|(_, ns)| *ns > 0)
}

/// Whose doing a wait is, in parentheses: a host, how many hosts, or the way between them.
fn whose(connections: &[ConnectionResult], direction: Direction, class: TimeClass) -> String {
    let client = match (words(class).party, direction) {
        // Neither direction is open before both are.
        _ if class == TimeClass::Handshake => return String::new(),
        (Party::Path, Direction::ToServer) => return " (client to server)".to_owned(),
        (Party::Path, Direction::ToClient) => return " (server to client)".to_owned(),
        (Party::Sender, d) => d == Direction::ToServer,
        (Party::Receiver, d) => d == Direction::ToClient,
    };
    let hosts: BTreeSet<IpAddr> = with(connections, direction, class)
        .map(|(c, _)| if client { c.client } else { c.server })
        .map(|end| end.address)
        .collect();
    let role = if client { "client" } else { "server" };
    match hosts.first() {
        Some(host) if hosts.len() == 1 => format!(" ({role} {host})"),
        _ => format!(" ({})", counted(hosts.len() as u64, role)),
    }
}
