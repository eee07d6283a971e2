//! # What it says
//! Attempts to connect were refused at once: the answer to the SYN was a reset.
//!
//! # Why it costs time
//! Nothing listens at that port (or a firewall rejects it); clients try again,
//! often after a pause, or try another address.
//!
//! # How sure
//! Certain that it was refused; that the host itself did it, unless its time to
//! live differs from that of the host's other packets.
//!
//! # What to check next
//! Whether the service runs, on that address and port; firewall rules that reject.
//!
//! # When it is wrong
//! Clients that probe several ports on purpose, such as for another protocol
//! version.

use super::{Entry, Of, Rule, evidence, numbers};
use crate::facts::Facts;
use crate::results::{Finding, Side};
use crate::text::text;

pub(super) const ENTRY: Entry = Entry {
    code: "connection-refused",
    title: "attempts to connect that were refused",
    side: Some(Side::Server),
    of: Of::Connects,
    sure: [0.9, 0.9],
    source: include_str!("connection_refused.rs"),
    check,
};

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let refused: Vec<_> = facts
        .streams
        .connections
        .iter()
        .filter(|c| !facts.streams.is_forged(c))
        .filter_map(|c| {
            let seen = c.resets.iter().zip(&c.ends);
            let mut refusals = seen.filter_map(|(r, (i, ..))| Some((*i, r.filter(|r| r.refuses)?)));
            Some((c, refusals.next()?))
        })
        .collect();
    let (worst, _) = refused.first()?;
    Some(Finding {
        title: text!("{server} refuses connections", server = worst.server),
        fatal: refused.len() == facts.streams.connections.len(),
        first: refused.iter().map(|(c, _)| c.first).min(),
        last: refused.iter().map(|(c, _)| c.first).max(),
        facts: numbers([("attempts", refused.len() as i64)]),
        evidence: evidence::of_packets(
            facts,
            refused.iter().take(3).map(|(_, (i, r))| (*i, r.at.packet)),
            "the refusal",
        ),
        why: text!(
            "{n} attempt{n||s} to connect {n|was|were} answered by a reset.",
            n = refused.len(),
        ),
        remedy: vec![
            "check that the service listens on that address and port, and what firewalls reject"
                .into(),
        ],
        ..Rule::ConnectionRefused.finding()
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{connection, found, reset};
    use super::*;
    use model::ResetSeen;

    fn resets(refusals: &[bool]) -> Option<Finding> {
        found(Rule::ConnectionRefused, |f| {
            let connections = refusals.iter().map(|refuses| {
                let mut c = connection();
                c.resets[0] = Some(ResetSeen {
                    refuses: *refuses,
                    ..reset()
                });
                c
            });
            f.streams.connections = connections.collect();
        })
    }

    #[test]
    fn a_reset_in_answer_to_a_syn_refuses() {
        let f = resets(&[true, true]).unwrap();
        assert_eq!((f.side, f.fatal), (Side::Server, true));
        assert_eq!(f.title.to_string(), "10.0.0.2:2049 refuses connections");
        assert_eq!(
            f.why.to_string(),
            "2 attempts to connect were answered by a reset."
        );
    }

    #[test]
    fn a_reset_of_an_open_connection_does_not() {
        assert!(resets(&[false]).is_none());
        assert!(resets(&[]).is_none());
    }

    #[test]
    fn where_another_was_accepted_the_work_did_not_end() {
        assert!(!resets(&[true, false]).unwrap().fatal);
    }
}
