//! # What it says
//! Statements waited, or may have waited, for a lock that another session held
//! while its client thought, or while what that said was on its way: that session
//! had the same table, asked nothing for a while, and the answers came as soon as
//! its transaction ended. Locks are also those that clients ask for by a name or
//! number (`pg_advisory_lock`, `GET_LOCK`, `DBMS_LOCK`), and those that keep whole
//! tables (`LOCK TABLES`, `FLUSH TABLES WITH READ LOCK`, as backups take). Of a
//! protocol that cannot be read neither tables nor transactions are known: there,
//! answers came as another session asked on after a pause, far more often than by
//! chance. Of SMB: calls waited for a part of a file that another client had
//! locked, or to open a file that another kept for itself (an oplock, a lease)
//! until it had given back what the server asked for.
//!
//! # Why it costs time
//! Whoever wants to change what a transaction has changed waits until it ends. What
//! the client of that transaction does before it commits, all others wait for too.
//! Who changes what a table is (ALTER TABLE, TRUNCATE, LOCK TABLE) waits for
//! whoever has so much as read it in a transaction, and all that come later wait
//! behind that: one client that thinks stops everybody.
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
//! Who asks for a lock by its name asks for nothing else: the server works on
//! nothing while it waits for whoever has it. Where nobody was seen to let go of
//! it, it is nobody's for certain.
//!
//! Where the server broke calls off and says that they waited for others
//! (broken-off), all that they took may have been that. It does not say for whom
//! they waited, nor what that one did, so that it is nobody's for certain.
//!
//! A statement that is never answered, as when the capture ends before, may wait
//! for a transaction on the same table whose client asks nothing any more ("idle in
//! transaction"): the server may as well work on it, so that it is nobody's for
//! certain.
//!
//! SMB says who locks what, and what the server asks back of whom (`smb2.cb`): an
//! answer that the server had promised for later (STATUS_PENDING), and that comes
//! within 5 ms of when that was let go, had waited for it. What the server worked
//! for whoever held it meanwhile, as when that writes back what it kept, is no
//! thought of its client. Where the capture shows nobody who held it, it may have
//! waited so.
//!
//! # What to check next
//! What the client did between its last statement and the end of its transaction:
//! the packets shown are that end, and the answer that came then. Of files: which
//! program on that client has them open (Windows: Get-SmbOpenFile, Samba:
//! smbstatus), and whether it needs them for itself alone. The server's own view of
//! its locks (`pg_locks` and `log_lock_waits`, `sys.innodb_lock_waits`,
//! `v$session`'s blocking session) names who waited for whom.
//!
//! # When it is wrong
//! Locks of SMB that overlap and do not begin and end alike are not seen to wait
//! for each other, and several connections of one client (multichannel) are held to
//! be several clients. One program that asks over several sessions may commit in
//! one of them just as it knows that another will be answered. A pooler that gives
//! a session to a client for a whole transaction makes others wait in the same way,
//! without any lock: what to do is the same.

use super::{Entry, Of, Rule, evidence, numbers};
use crate::broken_off::Why;
use crate::diagnose::Kind;
use crate::facts::Facts;
use crate::locks::LockWaits;
use crate::results::{Finding, Side};
use crate::text::{Text, Value, text};
use ledger::Cause;

pub(super) const ENTRY: Entry = Entry {
    code: "lock-wait",
    title: "calls waited, or may have, for what another client held while it thought",
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
    if facts.worst.lock_waits.are_files() {
        return Some(told_of_files(facts, ns, is_sure));
    }
    let LockWaits {
        unseen,
        broken_off,
        still,
        ..
    } = facts.worst.lock_waits;
    // Where nobody was seen to let go there is none.
    let seen = worst.exhibits.first().filter(|_| worst.count > 0);
    let longest = seen.map(|e| e.value_ns);
    let waits = worst.count + unseen + broken_off + still;
    let mut known = numbers([("waits", waits as i64), ("most_ns", ns)]);
    let further = [
        ("longest_ns", longest),
        ("unseen", Some(unseen as i64).filter(|n| *n > 0)),
        ("broken_off", Some(broken_off as i64).filter(|n| *n > 0)),
        ("still", Some(still as i64).filter(|n| *n > 0)),
    ];
    for (name, value) in further {
        known.extend(value.into_iter().flat_map(|value| numbers([(name, value)])));
    }
    let came: Option<Text> = longest.map(|longest| {
        text!(
            "{n,} answer{n||s} came as another session {did}: up to {longest} of a wait.",
            n = worst.count,
            did = match facts.kind {
                Kind::Calls =>
                    "let go of the same table or lock, for which the server had worked on nothing meanwhile",
                Kind::Turns => "asked on whose client had thought, far more often than by chance",
            },
            longest = Value::Duration(longest),
        )
    });
    let alone: Option<Text> = (unseen > 0).then(|| text!(
        "{n,} call{n||s} asked for nothing but a lock that clients name, and nobody was seen to let go of it then.",
        n = unseen,
    ));
    let said: Option<Text> = (broken_off > 0).then(|| text!(
        "{n,} call{n||s} the server broke off, and says that {n|it|they} waited for what another session held ({code}).",
        n = broken_off,
        code = Rule::BrokenOff.code(),
    ));
    let goes_on: Option<Text> = (still > 0).then(|| text!(
        "{n,} call{n||s} {n|was|were} never answered for a table that other sessions had meanwhile, in transactions for which nothing was asked any more.",
        n = still,
    ));
    if came.is_none() && alone.is_none() && said.is_none() && goes_on.is_none() {
        return None;
    }
    let sum = text!(
        "{ns} in all {is}.",
        ns = Value::Duration(ns),
        is = match is_sure {
            true => "were a lock's, as that is far more than chance makes",
            false => "may be a lock's",
        },
    );
    // What is sure is what came as others let go.
    let beside = alone.into_iter().chain(said).chain(goes_on);
    let sentences = match is_sure {
        true => came.into_iter().chain([sum]).chain(beside).collect(),
        false => came.into_iter().chain(beside).chain([sum]).collect(),
    };
    Some(Finding {
        title: match (is_sure, most_broken_off(facts)) {
            (true, _) => "Statements wait for locks that other clients hold while they think".into(),
            (false, Some(Why::Deadlock)) => {
                "Transactions wait for each other, until the server finds the deadlock and breaks one off".into()
            }
            (false, Some(_)) => "Statements wait for locks of other sessions until they are broken off".into(),
            (false, None) => "Statements may have waited for a lock that another session held while nothing was asked for it".into(),
        },
        first: worst.first,
        last: worst.last,
        facts: known,
        evidence: evidence::of_calls(
            facts,
            worst,
            match is_sure {
                true => "the request of another session by which it let go, and the answer that came then",
                false => "the request of another session that may have let go, and the answer that came then",
            },
        ),
        why: Text::list(sentences, " "),
        remedy: vec![
            "see what the other client does before it commits; end transactions before anything that waits for people, files or other hosts".into(),
            "hold locks for fewer round trips: change last what all change, or send the transaction as one request (a function, a batch, a pipeline)".into(),
            "have the server log its lock waits to see who waited for whom".into(),
        ],
        ..Rule::LockWait.finding()
    })
}

/// Why most of them were broken off, where most that waited were, as the server says.
fn most_broken_off(facts: &Facts<'_>) -> Option<Why> {
    let waits = facts.worst.lock_waits;
    if waits.broken_off < waits.answered() + waits.still || waits.broken_off == 0 {
        return None;
    }
    let capture = facts.at_client().or(facts.captures.first())?;
    let codes = capture.broken_off.by_code.iter();
    let of_locks = codes.filter(|b| b.why.is_of_lock());
    Some(of_locks.max_by_key(|b| b.took.total_ns())?.why)
}

/// The same of files.
fn told_of_files(facts: &Facts<'_>, ns: i64, is_sure: bool) -> Finding {
    let worst = facts.worst.locked;
    let waits = facts.worst.lock_waits.files;
    let mut known = numbers([("waits", waits as i64), ("most_ns", ns)]);
    // Where nobody was seen to let go there is none.
    let seen = worst.exhibits.first().filter(|_| worst.count > 0);
    let longest = seen.map(|e| e.value_ns);
    known.extend(
        longest
            .map(|ns| numbers([("longest_ns", ns)]))
            .unwrap_or_default(),
    );
    Finding {
        title: match is_sure {
            true => "Calls wait for files that other clients keep for themselves while they think".into(),
            false => "Calls may have waited for a file that another client kept for itself while it thought".into(),
        },
        first: worst.first,
        last: worst.last,
        facts: known,
        evidence: evidence::of_calls(
            facts,
            worst,
            "the request of another client by which it let go, and the answer that came then",
        ),
        why: match longest {
            None => text!(
                "{n,} call{n||s} {n|was|were} told that the answer would come later, as servers say when somebody else has the file; nobody was seen to let go of it. They waited {ns} in all.",
                n = waits,
                ns = Value::Duration(ns),
            ),
            Some(longest) => text!(
                "{n,} answer{n||s} came as another client let go of the file: up to {longest} of a wait, {ns} in all, {is}.",
                n = worst.count,
                longest = Value::Duration(longest),
                ns = Value::Duration(ns),
                is = match is_sure {
                    true => "passed while that had it and asked for nothing",
                    false => "may have passed while others had it",
                },
            ),
        },
        remedy: vec![
            "see which program keeps the file open or locked on the other client, and whether it has to".into(),
            "where many clients use the same files: oplocks or leases off for these, as each is asked back".into(),
        ],
        ..Rule::LockWait.finding()
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{MS, TOTAL_NS, found};
    use super::*;
    use ledger::{Bounds, Ledger};
    use model::Direction;

    /// A wait for a file, which was let go or of which nobody was seen to have it.
    fn of_files(sure_ns: i64, may_be_ns: i64, seen: u64) -> Option<Finding> {
        let lock_waits = LockWaits {
            calls: 3,
            files: 3,
            ..LockWaits::default()
        };
        of_waits(sure_ns, may_be_ns, seen, lock_waits)
    }

    fn of_waits(sure_ns: i64, may_be_ns: i64, seen: u64, lock_waits: LockWaits) -> Option<Finding> {
        found(Rule::LockWait, |f| {
            let mut ledger = Ledger::default();
            ledger.clear(Bounds::exactly(TOTAL_NS));
            ledger.charge(Cause::Lock, Direction::ToServer, Bounds::exactly(sure_ns));
            ledger.charge(
                Cause::Event,
                Direction::ToServer,
                Bounds::between(0, may_be_ns),
            );
            f.account.sums.add(&ledger);
            f.worst.count = seen;
            f.lock_waits = lock_waits;
        })
    }

    #[test]
    fn a_file_that_another_client_has_is_that_client_s_doing_where_it_was_seen() {
        let f = of_files(TOTAL_NS / 2, 0, 3).unwrap();
        assert_eq!((f.side, f.cost_ns), (Side::Client, Some(TOTAL_NS / 2)));
        assert!(f.title.to_string().starts_with("Calls wait for files"));
        let f = of_files(0, TOTAL_NS / 2, 0).unwrap();
        assert_eq!((f.side, f.cost_ns), (Side::Undetermined, None));
        assert!(f.facts.iter().all(|fact| fact.name != "longest_ns"));
        let why = f.why.to_string();
        assert!(
            why.starts_with("3 calls were told that the answer"),
            "{why}"
        );
    }

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
            why.starts_with("3 answers came as another session let go of the same table"),
            "{why}"
        );
    }

    #[test]
    fn who_asked_for_a_lock_that_nobody_was_seen_to_let_go_of_is_said() {
        let lock_waits = LockWaits {
            asked: 3,
            unseen: 2,
            ..LockWaits::default()
        };
        let f = of_waits(0, TOTAL_NS / 2, 0, lock_waits);
        let why = f.unwrap().why.to_string();
        assert!(
            why.starts_with("2 calls asked for nothing but a lock that clients name"),
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
