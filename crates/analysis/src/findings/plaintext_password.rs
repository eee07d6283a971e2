//! # What it says
//! A login crossed the network with its password readable.
//!
//! # Why it costs time
//! It costs none. Whoever can take such a capture can log in.
//!
//! # How sure
//! The authentication method is read from the messages. The password itself is
//! neither kept nor shown.
//!
//! # What to check next
//! PostgreSQL: pg_hba.conf with method password instead of scram-sha-256. MySQL:
//! mysql_clear_password. Turn on TLS, and treat this capture as a secret.
//!
//! # When it is wrong
//! A method may be called a clear password and carry a token that is used once.

use super::{Entry, Of, Rule, evidence, numbers};
use crate::facts::Facts;
use crate::results::{Finding, Side};
use crate::text::text;

pub(super) const ENTRY: Entry = Entry {
    code: "plaintext-password",
    title: "a password crosses the network readable",
    side: Some(Side::Client),
    of: Of::Connects,
    sure: [0.95, 0.95],
    page: page!("plaintext_password.rs"),
    check,
};

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let sessions = facts.sql?.sessions.iter();
    let readable: Vec<_> = sessions.filter(|s| s.session.plaintext_password).collect();
    let first = readable.iter().min_by_key(|s| (s.first, s.client))?;
    let capture = facts.sql_capture();
    Some(Finding {
        title: "A password is readable on the wire".into(),
        first: first.first,
        last: first.last,
        facts: numbers([("sessions", readable.len() as i64)]),
        evidence: evidence::of_packets(
            facts,
            first
                .slowest_opening
                .iter()
                .flat_map(|w| [(capture, w.request), (capture, w.response)]),
            "the longest call of its logon",
        ),
        why: text!(
            "{n} session{n||s} sent it unencrypted, {client} to {server} first.",
            n = readable.len(),
            client = first.client,
            server = first.server,
        ),
        remedy: vec!["use TLS, or a method that does not send the password".into()],
        ..Rule::PlaintextPassword.finding()
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{found, session, statement};
    use super::*;
    use model::SqlSession;

    fn logons(plaintext_password: bool) -> Option<Finding> {
        found(Rule::PlaintextPassword, |f| {
            let known = SqlSession {
                plaintext_password,
                ..SqlSession::default()
            };
            f.profile(statement(), session(known));
        })
    }

    #[test]
    fn a_readable_password_is_told_with_the_hosts_and_costs_nothing() {
        let f = logons(true).unwrap();
        assert_eq!((f.side, f.cost_ns), (Side::Client, None));
        assert_eq!(
            f.why.to_string(),
            "1 session sent it unencrypted, 10.0.0.1:40000 to 10.0.0.2:1521 first."
        );
    }

    #[test]
    fn without_one_nothing_is_told() {
        assert!(logons(false).is_none());
        assert!(found(Rule::PlaintextPassword, |_| ()).is_none());
    }
}
