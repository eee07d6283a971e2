//! # What it says
//! Statements waited, or may have waited, for a lock that another session held
//! while its client thought: that session had changed the same table, asked nothing
//! for a while, and the answers came as soon as its transaction ended. Of a
//! protocol that cannot be read neither tables nor transactions are known: there,
//! answers came as another session asked on after a pause, far more often than by
//! chance.
//!
//! # Why it costs time
//! Whoever wants to change what a transaction has changed waits until it ends. What
//! the client of that transaction does before it commits, all others wait for too.
//!
//! # How sure
//! Which rows a statement meant no packet says. But a client ends its transaction
//! when it wants to, not when the server is done with the work of others: where
//! eight answers or more came within 5 ms of that, and so many more than chance
//! makes (five standard deviations), they waited for it, and for whoever had kept
//! that one waiting in the same way. That is the clients' doing, for as long as
//! those thought that held it. Of fewer, of who held it before without such a link,
//! and of protocols that cannot be read it has no cost and accuses nobody; but what
//! may have been such a wait is not held against the server either.
//!
//! # What to check next
//! What the client did between its last statement and the end of its transaction:
//! the packets shown are that end, and the answer that came then. The server's own
//! view of its locks (`pg_locks` and `log_lock_waits`, `sys.innodb_lock_waits`,
//! `v$session`'s blocking session) names who waited for whom.
//!
//! # When it is wrong
//! One program that asks over several sessions may commit in one of them just as it
//! knows that another will be answered. A pooler that gives a session to a client
//! for a whole transaction makes others wait in the same way, without any lock:
//! what to do is the same.

use super::{Entry, Of, Rule, evidence, numbers};
use crate::diagnose::Kind;
use crate::facts::Facts;
use crate::results::{Finding, Side};
use crate::text::{Value, text};
use ledger::Cause;

pub(super) const ENTRY: Entry = Entry {
    code: "lock-wait",
    title: "statements waited, or may have, for a lock that another client held while it thought",
    side: None,
    of: Of::Calls,
    sure: [0.5, 0.5],
    page: page!("lock_wait.rs"),
    check,
};

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let sure = facts.account.sums.of(Cause::Lock).lo_ns;
    if !facts.is_guilty(sure, facts.server_part()) {
        return may_be(facts);
    }
    Some(Finding {
        title: "Statements wait for locks that other clients hold while they think".into(),
        side: Side::Client,
        cost_ns: Some(sure),
        ..told(facts, sure, true)?
    })
}

/// Where it is not beyond chance, or not much.
fn may_be(facts: &Facts<'_>) -> Option<Finding> {
    let most = facts.most_locked_ns();
    // As of a stall, a twentieth of the time is enough to say it.
    if most.saturating_mul(20) < facts.account.total_ns || most < facts.thresholds.tail_ns {
        return None;
    }
    told(facts, most, false)
}

/// What is said of waits of so long in all, which were for locks or may have been.
fn told(facts: &Facts<'_>, ns: i64, is_sure: bool) -> Option<Finding> {
    let worst = facts.worst.locked;
    let longest = worst.exhibits.first()?.value_ns;
    Some(Finding {
        title: "Statements may have waited for a lock that another client held while it thought".into(),
        first: worst.first,
        last: worst.last,
        facts: numbers([
            ("waits", worst.count as i64),
            ("longest_ns", longest),
            ("most_ns", ns),
        ]),
        evidence: evidence::of_calls(
            facts,
            worst,
            match is_sure {
                true => "the request of another session by which it let go, and the answer that came then",
                false => "the request of another session that may have let go, and the answer that came then",
            },
        ),
        why: text!(
            "{n,} answer{n||s} came as another session {did}: up to {longest} of a wait, {ns} in all, {is}.",
            n = worst.count,
            is = match is_sure {
                true => "were a lock's, as that is far more than chance makes",
                false => "may be a lock's",
            },
            did = match facts.kind {
                Kind::Calls => "ended a transaction that had changed the same table and in which its client had thought",
                Kind::Turns => "asked on whose client had thought, far more often than by chance",
            },
            longest = Value::Duration(longest),
            ns = Value::Duration(ns),
        ),
        remedy: vec![
            "see what the other client does before it commits; end transactions before anything that waits for people, files or other hosts".into(),
            "have the server log its lock waits to see who waited for whom".into(),
        ],
        ..Rule::LockWait.finding()
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{MS, TOTAL_NS, found};
    use super::*;
    use ledger::{Bounds, Ledger};
    use model::Direction;

    /// Calls of which so much may have been waits for locks.
    fn locked(most_ns: i64) -> Option<Finding> {
        found(Rule::LockWait, |f| {
            let mut ledger = Ledger::default();
            ledger.clear(Bounds::exactly(TOTAL_NS));
            let most = Bounds::between(0, most_ns);
            ledger.charge(Cause::Event, Direction::ToServer, most);
            f.account.sums.add(&ledger);
        })
    }

    #[test]
    fn waits_that_end_with_another_s_transaction_are_said_and_held_against_nobody() {
        let f = locked(TOTAL_NS / 2).unwrap();
        assert_eq!((f.side, f.cost_ns), (Side::Undetermined, None));
        assert!(!f.evidence.is_empty());
        let why = f.why.to_string();
        assert!(
            why.starts_with("3 answers came as another session ended"),
            "{why}"
        );
    }

    #[test]
    fn waits_beyond_chance_are_of_clients_that_think() {
        let locked = |ns| found(Rule::LockWait, |f| f.charge(Cause::Lock, ns));
        let f = locked(TOTAL_NS / 2).unwrap();
        assert_eq!((f.side, f.cost_ns), (Side::Client, Some(TOTAL_NS / 2)));
        let why = f.why.to_string();
        assert!(
            why.ends_with("were a lock's, as that is far more than chance makes."),
            "{why}"
        );
        assert!(locked(TOTAL_NS / 10).is_none());
    }

    /// Turns of an unknown protocol, so many of them.
    fn turns(calls: u64) -> Option<Finding> {
        found(Rule::LockWait, |f| {
            f.kind = Kind::Turns;
            f.account.calls = calls;
            let mut ledger = Ledger::default();
            ledger.clear(Bounds::exactly(TOTAL_NS));
            let most = Bounds::exactly(TOTAL_NS);
            ledger.charge(Cause::Event, Direction::ToServer, most);
            f.account.sums.add(&ledger);
        })
    }

    #[test]
    fn turns_that_end_as_others_ask_on_are_said_without_a_table() {
        let why = turns(1_000).unwrap().why.to_string();
        assert!(
            why.starts_with("3 answers came as another session asked on"),
            "{why}"
        );
    }

    #[test]
    fn a_few_turns_may_have_waited_for_anything() {
        assert!(turns(3).is_none());
    }

    #[test]
    fn a_twentieth_of_the_time_and_20_ms_are_enough() {
        assert!(locked(TOTAL_NS / 20).is_some());
        assert!(locked(TOTAL_NS / 20 - 1).is_none());
        let short = |ns| {
            found(Rule::LockWait, |f| {
                f.account.total_ns = 20 * MS;
                let mut ledger = Ledger::default();
                ledger.clear(Bounds::exactly(20 * MS));
                ledger.charge(Cause::Event, Direction::ToServer, Bounds::between(0, ns));
                f.account.sums.add(&ledger);
            })
        };
        assert!(short(20 * MS).is_some());
        assert!(short(20 * MS - 1).is_none());
    }
}
