//! # What it says
//! Oracle sessions were opened with a session data unit (SDU) that their responses
//! fill many times over.
//!
//! # Why it costs time
//! Each SDU is a packet of SQL*Net with its own header, handed to TCP by itself. It
//! costs processing on both hosts, and small writes meet Nagle's algorithm and
//! delayed acknowledgements; what these cost is charged where it shows. The size
//! itself has no cost of its own.
//!
//! # How sure
//! The SDU is read from the ACCEPT packet, and held against what was written: where
//! no packet is nearly as large, or one is larger, it is not what cuts them, and
//! nothing is said. Said where 50 or more responses are four times as large or more
//! on average.
//!
//! # What to check next
//! DEFAULT_SDU_SIZE in sqlnet.ora, SDU= in the connect descriptor and in the
//! listener: the smaller side wins. slowside whatif --sdu.
//!
//! # When it is wrong
//! On fast hosts and paths the difference is not measurable.

use super::{Entry, Of, Rule, evidence, numbers};
use crate::facts::Facts;
use crate::results::{Finding, Side};
use crate::text::{Text, Value, text};

pub(super) const ENTRY: Entry = Entry {
    code: "small-sdu",
    title: "responses fill the session data unit many times",
    side: None,
    of: Of::Calls,
    sure: [0.9, 0.9],
    page: page!("small_sdu.rs"),
    check,
};

const MANY: u64 = 50;
const TIMES: u64 = 4;

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let profile = facts.sql?;
    let session = profile.sessions.iter().find(|s| {
        let sdu = s.session.sdu_bytes.map(u64::from).filter(|&sdu| sdu > 0);
        let mean = s.received_bytes / s.calls.max(1);
        let cuts = |sdu| {
            s.largest_packet_bytes
                .is_none_or(|p| p <= sdu && p * 4 >= sdu * 3)
        };
        s.calls >= MANY && sdu.is_some_and(|sdu| mean >= sdu.saturating_mul(TIMES) && cuts(sdu))
    })?;
    let sdu = session.session.sdu_bytes?;
    let mean = session.received_bytes / session.calls.max(1);
    let offered = session.session.sdu_offered_bytes.filter(|&o| o > sdu);
    let who = offered.map_or(Text::default(), |o| {
        text!(
            " The client offered {offered}, the server took less.",
            offered = Value::Bytes(o.into())
        )
    });
    let written = session.largest_packet_bytes;
    let written = written.map_or(Text::default(), |p| {
        text!(" The largest packet has {bytes}.", bytes = Value::Bytes(p))
    });
    let busiest = profile.statements.iter().max_by_key(|s| s.response_bytes)?;
    Some(Finding {
        title: "The session data unit is small for this traffic".into(),
        side: if offered.is_some() { Side::Server } else { Side::Client },
        first: session.first,
        last: session.last,
        facts: numbers([("sdu_bytes", sdu.into()), ("response_mean_bytes", mean as i64), ("calls", session.calls as i64)]),
        evidence: evidence::of_statement(
            facts,
            facts.sql_capture(),
            busiest,
            "a call of the statement with the largest responses",
        ),
        why: text!(
            "{responses} responses have {mean} on average, in units of {sdu,}.{written}{who}",
            responses = session.calls,
            mean = Value::Bytes(mean),
            sdu = sdu,
            written = written,
            who = who,
        ),
        remedy: vec![
            "set DEFAULT_SDU_SIZE (sqlnet.ora) on both sides to 65535, or SDU= in the connect descriptor and the listener".into(),
        ],
        ..Rule::SmallSdu.finding()
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{found, session, statement};
    use super::*;
    use crate::sql::SessionResult;
    use model::SqlSession;

    /// Calls, bytes of each response, and the unit that the client offered for one of 2,048.
    fn fills(calls: u64, each: u64, offered: Option<u32>) -> Option<Finding> {
        found(Rule::SmallSdu, |f| {
            let known = SqlSession {
                sdu_bytes: Some(2_048),
                sdu_offered_bytes: offered,
                ..SqlSession::default()
            };
            let filled = SessionResult {
                calls,
                received_bytes: calls * each,
                ..session(known)
            };
            f.profile(statement(), filled);
        })
    }

    #[test]
    fn responses_far_above_the_unit_are_told_of_whom_set_it() {
        let f = fills(100, 20_000, Some(65_535)).unwrap();
        assert_eq!((f.side, f.cost_ns), (Side::Server, None));
        assert_eq!(
            f.why.to_string(),
            "100 responses have 20,000 bytes on average, in units of 2,048. The client offered 65,535 \
             bytes, the server took less."
        );
        assert_eq!(fills(100, 20_000, None).unwrap().side, Side::Client);
    }

    #[test]
    fn a_unit_that_is_not_what_cuts_packets_is_not_blamed() {
        let writes = |largest: u64| {
            found(Rule::SmallSdu, |f| {
                let known = SqlSession {
                    sdu_bytes: Some(2_048),
                    ..SqlSession::default()
                };
                let filled = SessionResult {
                    calls: MANY,
                    received_bytes: MANY * 20_000,
                    largest_packet_bytes: Some(largest),
                    ..session(known)
                };
                f.profile(statement(), filled);
            })
        };
        // Servers stay a few bytes below it.
        let f = writes(2_011).unwrap();
        assert!(
            f.why
                .to_string()
                .ends_with("The largest packet has 2,011 bytes.")
        );
        assert!(writes(2_048 * 3 / 4).is_some());
        assert!(writes(2_048 * 3 / 4 - 1).is_none());
        assert!(writes(2_049).is_none());
    }

    #[test]
    fn responses_that_fit_are_not() {
        assert!(fills(100, 2_000, None).is_none());
    }

    #[test]
    fn fifty_calls_and_four_units_are_enough() {
        assert!(fills(MANY, 4 * 2_048, None).is_some());
        assert!(fills(MANY - 1, 4 * 2_048, None).is_none());
        assert!(fills(MANY, 4 * 2_048 - 1, None).is_none());
    }
}
