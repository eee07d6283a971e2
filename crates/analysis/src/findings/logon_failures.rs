//! # What it says
//! Many logons to a database failed, ten or more within a minute from one host.
//!
//! # Why it costs time
//! A failed logon takes the server as many round trips as one that succeeds, and
//! Oracle answers wrong passwords ever later. Each call keeps its time in the
//! ledger; nothing is charged twice. A locked account stops its application.
//!
//! # How sure
//! The codes are those that the server answered. A refusal of Oracle's listener
//! (ORA-12514, ORA-12516 …) is a failed logon too. The side is the client's where
//! most codes say that user or password are wrong, or the account is locked;
//! nobody's otherwise: a server that takes no more connections (53300, ER-1040,
//! ORA-00020 …) may allow too few, or its clients hold too many.
//!
//! # What to check next
//! Which user with which program: slowside sql lists failures by code and user. A
//! password that was changed on one side alone, a pool that tries again without a
//! pause, a listener without a free handler, or somebody who guesses passwords.
//!
//! # When it is wrong
//! A monitor may fail on purpose to see whether the database answers.

use super::{Entry, Of, Rule, evidence, numbers};
use crate::facts::Facts;
use crate::results::{Finding, Side};
use crate::sql::LogonsResult;
use crate::text::{Text, Value, text};
use model::Outcome;
use std::sync::Arc;

pub(super) const ENTRY: Entry = Entry {
    code: "logon-failures",
    title: "many logons to a database fail",
    side: None,
    of: Of::Connects,
    sure: [0.9, 0.9],
    page: page!("logon_failures.rs"),
    check,
};

/// Kinds and users that are named.
const NAMED: usize = 3;

/// User or password are wrong, or the account is locked or expired.
fn is_of_credentials(code: Outcome) -> bool {
    const CODES: [&str; 9] = [
        "ORA-01005",
        "ORA-01017",
        "ORA-28000",
        "ORA-28001",
        "28000",
        "28P01",
        "ER-1045",
        "ER-3118",
        "ER-1820",
    ];
    CODES.contains(&code.name())
}

/// The server, or its listener, takes no more connections: all that it allows are taken.
fn is_of_limit(code: Outcome) -> bool {
    const CODES: [&str; 9] = [
        "ORA-00018",
        "ORA-00020",
        "ORA-12516",
        "ORA-12519",
        "ORA-12520",
        "53300",
        "ER-1040",
        "ER-1203",
        "ER-1226",
    ];
    CODES.contains(&code.name())
}

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let logons = facts.sql?.logons.iter();
    let bursts: Vec<&LogonsResult> = logons.filter(|l| l.burst).collect();
    let worst = *bursts.first()?;
    let failed: u64 = bursts.iter().map(|l| l.failed).sum();
    let succeeded: u64 = bursts.iter().map(|l| l.succeeded).sum();
    let all = || bursts.iter().flat_map(|l| &l.failures);
    let of =
        |is: fn(Outcome) -> bool| -> u64 { all().filter(|f| is(f.code)).map(|f| f.count).sum() };
    let (theirs, beyond) = (of(is_of_credentials), of(is_of_limit));
    let codes = worst.codes();
    let mut named: Vec<Text> = codes
        .iter()
        .take(NAMED)
        .map(|(code, n)| text!("{code} × {n,}", code = code.name().to_owned(), n = *n))
        .collect();
    if codes.len() > NAMED {
        named.push("…".into());
    }
    let capture = facts.sql_capture();
    let frames = worst.evidence.iter();
    Some(Finding {
        title: "Logons to the database fail again and again".into(),
        side: match theirs * 2 > failed {
            true => Side::Client,
            false => Side::Undetermined,
        },
        first: bursts.iter().filter_map(|l| l.first).min(),
        last: bursts.iter().filter_map(|l| l.last).max(),
        facts: numbers([
            ("failed", failed as i64),
            ("succeeded", succeeded as i64),
            ("users", worst.users as i64),
            ("took_ns", bursts.iter().map(|l| l.failed_ns).fold(0, i64::saturating_add)),
            ("hosts", bursts.len() as i64),
        ]),
        evidence: evidence::of_packets(
            facts,
            frames.flat_map(|w| [(capture, w.request), (capture, w.response)]),
            "the first logons that failed: what was asked, and the answer",
        ),
        why: text!(
            "{failed,} of {tried,} logons of {client} to {server} failed within {time}: {codes}{users}.{full}",
            failed = worst.failed,
            tried = worst.failed + worst.succeeded,
            client = worst.client,
            server = worst.server,
            time = Value::Duration(worst.first.zip(worst.last).map_or(0, |(a, b)| b - a)),
            codes = Value::List(named, ", "),
            users = users(worst),
            full = match beyond {
                0 => Text::default(),
                n => text!(" {n,} of them found all connections taken that the server allows.", n = n),
            },
        ),
        remedy: vec![match beyond * 2 > failed {
            true => "see who holds the server's connections, and whether they are used; let clients share fewer (a pool with a limit), or let the server take more (max_connections, processes)".into(),
            false => "slowside sql names the users and codes: correct the password where it is stored, let the application wait before it tries again, and find out whose host it is".into(),
        }],
        ..Rule::LogonFailures.finding()
    })
}

/// As whom, in words behind the codes.
fn users(logons: &LogonsResult) -> Text {
    let users = logons.named_users();
    if users.is_empty() {
        return Text::default();
    }
    let named = users.iter().take(NAMED);
    let named = named.map(|u| text!("{user}", user = Value::User(Arc::clone(u))));
    let beyond = logons.users.saturating_sub(NAMED as u64);
    let more = match (beyond, logons.has_more_users) {
        (0, _) => Text::default(),
        (n, false) => text!(" and {n,} more", n = n),
        (n, true) => text!(" and at least {n,} more", n = n),
    };
    text!(
        ", as {named}{more}",
        named = Value::List(named.collect(), ", "),
        more = more,
    )
}

#[cfg(test)]
mod tests {
    use super::super::testing::{MS, end, found, session, statement};
    use super::*;
    use crate::sql::Failure;
    use model::{Code, Protocol, SqlSession, Time};

    fn fails(code: &str, count: u64, burst: bool) -> Option<Finding> {
        found(Rule::LogonFailures, |f| {
            f.profile(statement(), session(SqlSession::default()));
            let failure = |user: &str, count| Failure {
                code: Outcome::Code(Code::public(code)),
                user: Some(user.into()),
                count,
            };
            let profile = f.sql.as_mut().unwrap();
            profile.logons = vec![LogonsResult {
                protocol: Protocol::Tns,
                client: end(1, 0).address,
                server: end(2, 1_521),
                succeeded: 1,
                failed: count,
                burst,
                failed_ns: 80 * MS,
                first: Some(Time(0)),
                last: Some(Time(2_900 * MS)),
                failures: vec![failure("SYS", count - 4), failure("SCOTT", 4)],
                users: 2,
                has_more_users: false,
                evidence: Vec::new(),
            }];
        })
    }

    #[test]
    fn wrong_passwords_in_a_burst_are_the_client_s_and_cost_nothing_twice() {
        let f = fails("ORA-01017", 672, true).unwrap();
        assert_eq!((f.side, f.cost_ns), (Side::Client, None));
        assert_eq!(
            f.why.to_string(),
            "672 of 673 logons of 10.0.0.1 to 10.0.0.2:1521 failed within 2.90 s: \
             ORA-01017 × 672, as SYS, SCOTT."
        );
    }

    #[test]
    fn a_listener_that_refuses_is_not_the_client_s() {
        let f = fails("ORA-12514", 10, true).unwrap();
        assert_eq!(f.side, Side::Undetermined);
        assert!(f.why.to_string().ends_with("as SYS, SCOTT."));
    }

    #[test]
    fn a_server_that_takes_no_more_is_said_so() {
        let f = fails("ER-1040", 55, true).unwrap();
        assert_eq!(f.side, Side::Undetermined);
        assert!(
            f.why
                .to_string()
                .ends_with("55 of them found all connections taken that the server allows.")
        );
        assert!(f.remedy[0].to_string().starts_with("see who holds"));
    }

    #[test]
    fn failures_here_and_there_are_none() {
        assert!(fails("ORA-01017", 672, false).is_none());
        assert!(found(Rule::LogonFailures, |_| ()).is_none());
    }
}
