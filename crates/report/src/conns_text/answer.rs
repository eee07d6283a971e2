//! What connections waited for, in a sentence.

use crate::classes::{Party, words};
use crate::conns::fields::own;
use crate::text::{counted, spoken};
use analysis::connections::Connections;
use analysis::results::ConnectionResult;
use model::{Direction, TimeClass};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

/// The answer: how long was waited, and what for most of all.
pub(crate) fn answer(connections: &Connections) -> String {
    let count = counted(connections.len() as u64, "TCP connection");
    if connections.is_empty() {
        return "No TCP connections.".to_owned();
    }
    match waited(connections.iter()) {
        Some(waited) => format!("{count}, {waited}"),
        None if connections.iter().any(|c| is_measured(&c)) => {
            format!("{count} without a wait: whoever had something to send could send it.")
        }
        None => format!("{count}; what was waited for was not measured."),
    }
}

/// Whether the time of a connection was divided into classes.
fn is_measured(c: &ConnectionResult) -> bool {
    let mut accounts = c.directions.iter().map(|d| &d.account);
    accounts.any(|a| a.time_ns.iter().any(|(_, ns)| *ns > 0))
}

/// "4 min 12 s of waiting; 61 % of it: …"; `None` when nothing was waited for.
pub(crate) fn waited(
    connections: impl Iterator<Item = ConnectionResult> + Clone,
) -> Option<String> {
    let mut total = 0_i64;
    // Of each class in the direction in which more was waited. Only what is the longest wait of some
    // connection can be that of all.
    let mut longest = BTreeSet::new();
    let mut sums: BTreeMap<(Direction, TimeClass), i64> = BTreeMap::new();
    for c in connections.clone() {
        total = total.saturating_add(c.at_stake_ns);
        let Some((direction, class, _)) = c.top else {
            continue;
        };
        longest.insert((direction, class));
        for (class, ns) in own(&c, direction).account.time_ns.iter() {
            let sum = sums.entry((direction, class)).or_default();
            *sum = sum.saturating_add(*ns);
        }
    }
    let (ns, direction, class) = longest
        .into_iter()
        .map(|(direction, class)| {
            let ns = sums.get(&(direction, class)).copied().unwrap_or(0);
            (ns, direction, class)
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

/// Whose doing a wait is, in parentheses: a host, how many hosts, or the way between them.
fn whose(
    connections: impl Iterator<Item = ConnectionResult>,
    direction: Direction,
    class: TimeClass,
) -> String {
    let client = match (words(class).party, direction) {
        // Neither direction is open before both are.
        _ if class == TimeClass::Handshake => return String::new(),
        (Party::Path, Direction::ToServer) => return " (client to server)".to_owned(),
        (Party::Path, Direction::ToClient) => return " (server to client)".to_owned(),
        (Party::Sender, d) => d == Direction::ToServer,
        (Party::Receiver, d) => d == Direction::ToClient,
    };
    let hosts: BTreeSet<IpAddr> = connections
        .filter(|c| c.top.is_some_and(|(d, ..)| d == direction))
        .filter(|c| own(c, direction).account.time_ns[class] > 0)
        .map(|c| if client { c.client } else { c.server })
        .map(|end| end.address)
        .collect();
    let role = if client { "client" } else { "server" };
    match hosts.first() {
        Some(host) if hosts.len() == 1 => format!(" ({role} {host})"),
        _ => format!(" ({})", counted(hosts.len() as u64, role)),
    }
}
