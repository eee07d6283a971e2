//! What connections waited for, in a sentence.

use crate::classes::{Party, arrow, words};
use crate::text::counted;
use analysis::connections::{Connections, Totals};
use analysis::results::ConnectionResult;
use model::{Direction, TimeClass, format_duration};
use std::collections::BTreeSet;
use std::net::IpAddr;

/// The answer: how long was waited, and what for most of all.
pub(crate) fn answer(connections: &Connections) -> String {
    let count = counted(connections.len() as u64, "TCP connection");
    if connections.is_empty() {
        return "No TCP connections.".to_owned();
    }
    let totals = connections.totals();
    let refused = connections.iter().filter(refused).count() as u64;
    let reset = connections.iter().filter(|c| reset(c).is_some()).count() as u64 - refused;
    let ended = match (refused, reset) {
        (0, 0) => String::new(),
        (refused, 0) => format!(". {refused} refused"),
        (0, reset) => format!(". {reset} ended by a reset"),
        (refused, reset) => format!(". {refused} refused, {reset} ended by a reset"),
    };
    let waited = match waited(totals, connections.iter()) {
        Some(waited) => format!("{count}, {waited}"),
        None if totals.is_measured => {
            format!("{count} without a wait: whoever had something to send could send it.")
        }
        None => format!("{count}; what was waited for was not measured."),
    };
    match ended.is_empty() {
        true => waited,
        false => waited.trim_end_matches('.').to_owned() + &ended + ".",
    }
}

pub(super) fn refused(c: &ConnectionResult) -> bool {
    c.resets.iter().flatten().any(|r| r.refuses)
}

/// How a connection ended that was ended by a reset: refused, or whose reset it was.
pub(super) fn reset(c: &ConnectionResult) -> Option<String> {
    let reset = c.resets.iter().flatten().next()?;
    Some(match refused(c) {
        true => "refused".to_owned(),
        false => format!("{} reset", arrow(reset.direction)),
    })
}

/// The same of one connection; `None` when nothing was waited for.
pub(crate) fn waited_by(c: &ConnectionResult) -> Option<String> {
    waited(&Totals::of(c), std::iter::once(c.clone()))
}

/// "4 min 12 s of waiting; 61 % of it: …"; `None` when nothing was waited for.
fn waited(totals: &Totals, connections: impl Iterator<Item = ConnectionResult>) -> Option<String> {
    let (direction, class, ns) = totals.longest()?;
    let total = totals.at_stake_ns;
    let percent = 100.0 * ns as f64 / total as f64;
    Some(format!(
        "{} of waiting; {percent:.0} % of it: {}{}",
        format_duration(total),
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
        .filter(|c| c.direction(direction).account.time_ns[class] > 0)
        .map(|c| if client { c.client } else { c.server })
        .map(|end| end.address)
        .collect();
    let role = if client { "client" } else { "server" };
    // Not to be read as what somebody should have done sooner: TCP cannot know that.
    let then = match (class, client) {
        (TimeClass::SenderApplication, true) => ": nothing was asked then",
        (TimeClass::SenderApplication, false) => ": at work on what was asked",
        _ => "",
    };
    match hosts.first() {
        Some(host) if hosts.len() == 1 => format!(" ({role} {host}{then})"),
        _ => format!(" ({}{then})", counted(hosts.len() as u64, role)),
    }
}
