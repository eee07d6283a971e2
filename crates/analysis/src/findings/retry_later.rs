//! # What it says
//! The server answered calls with an error that is none: ask again later
//! (NFS3ERR_JUKEBOX, NFS4ERR_DELAY, NFS4ERR_GRACE), or that another client has the
//! lock that was asked for (NFS4ERR_DENIED, NLM_DENIED). Until they did, the
//! clients waited, with nothing on the wire.
//!
//! # Why it costs time
//! Each of these calls is quick, and nothing looks slow: the time passes between an
//! answer and the next try. Clients do not know when it is worth asking again, so
//! they wait for fixed times: Linux 5 s for NFSv3 and 0.1 s, doubled up to 15 s,
//! for NFSv4, others 10 s. The application waits for all of it.
//!
//! # How sure
//! That the server said so is in the packets. A call counts as asked again when the
//! same client sends the same operation, of the same file and offset, within a
//! minute. How long it waits is the client's own timer, and that it has to is the
//! server's answer. Why it says so is another matter with NFS4ERR_DELAY: a server
//! that calls back what it delegated to another client waits for that client, or
//! for the way to it. Nobody is accused then, nor where only a client was captured,
//! nor where a lock was denied: whoever has it may work, think, or be gone.
//!
//! # What to check next
//! GRACE: the server was restarted or failed over, and lets clients claim their
//! locks for so long; its log says when, its lease and grace times how long. DELAY:
//! another client holds a delegation that is called back (the capture shows
//! CB_RECALL), or the server lacks threads or memory. JUKEBOX: the file is on tape
//! or in a cloud tier and is being fetched, or the file system is frozen by a
//! snapshot. DENIED: who has the lock the server knows (nfsd:
//! /proc/fs/nfsd/clients/*/states), and whether that client is still there.
//!
//! # When it is wrong
//! Where only headers are captured, the answer's error is not seen, and nothing is
//! said. A program that polls a file that is offline, or a lock, asks at its own
//! pace.

use super::{Entry, Of, Rule, evidence, numbers, whole};
use crate::facts::Facts;
use crate::results::{Finding, Side};
use crate::text::{Text, Value, text};

pub(super) const ENTRY: Entry = Entry {
    code: "retry-later",
    title: "the server tells its clients to ask again later",
    side: Some(Side::Server),
    of: Of::Retries,
    sure: [0.9, 0.9],
    page: page!("retry_later.rs"),
    check,
};

/// Less is soon forgotten, as with connections.
const WORTH_NS: i64 = 500_000_000;

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let capture = facts.at_client().or(facts.captures.first())?;
    let deferred = &capture.deferred;
    let again = deferred.waits.count();
    // Seen from elsewhere, the answer's way and that of the next request are no waiting.
    let path = match facts.client {
        Some(_) => 0,
        None => capture.path_to_client_ns().unwrap_or(0),
    };
    let ns = deferred.waits.total_ns() - path.saturating_mul(again as i64);
    if ns < WORTH_NS {
        return None;
    }
    let calls = deferred.calls();
    let listed = |list: Vec<(String, u64)>| {
        let mut list = list;
        list.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
        let each = list.into_iter().take(3);
        let each = each.map(|(what, n)| text!("{what} {n,}", what = what, n = n));
        Text::list(each.collect(), ", ")
    };
    let answer = deferred.answers.iter().max_by_key(|(_, n)| *n);
    let half = |part: i64, of: i64| part.saturating_mul(2) > of;
    let are_delays = half(deferred.delayed_ns, deferred.waits.total_ns());
    let are_denied = deferred.are_denied();
    // Callbacks pass between the server and others than who waits: its own capture has them, or none were sent.
    let seen = facts.at_server().map_or(deferred, |c| &c.deferred);
    let are_recalled = half(seen.recalled_ns, seen.delayed_ns);
    let is_own = !are_denied && (!are_delays || facts.at_server().is_some() && !are_recalled);
    let recalled = match seen.recalls.of.filter(|_| are_delays && are_recalled) {
        Some(holder) => text!(
            " Meanwhile what {holder} holds was called back ({n} CB_RECALL).",
            holder = holder,
            n = seen.recalls.count,
        ),
        None => Text::default(),
    };
    Some(Finding {
        side: match is_own {
            true => Side::Server,
            false => Side::Undetermined,
        },
        title: text!(
            "{what}, {n} time{n||s} {answer}",
            what = match are_denied {
                true => "Clients wait for locks that others hold",
                false => "The server tells its clients to ask again later",
            },
            n = answer.map_or(0, |(_, n)| *n),
            answer = answer.map_or("", |(answer, _)| answer),
        ),
        cost_ns: Some(ns),
        first: deferred.longest.first,
        last: deferred.longest.last,
        facts: numbers([
            ("calls", whole(calls)),
            ("asked_again", whole(again)),
            ("waited_ns", ns),
            ("longest_ns", deferred.waits.max_ns()),
        ]),
        evidence: evidence::of_calls(
            facts,
            &deferred.longest,
            "the answer that says so, and the next request of the same, of the longest waits",
        ),
        why: text!(
            "{calls,} call{calls||s} {calls|was|were} answered with that ({answers}; {ops}). {again,} of them {again|was|were} asked again, {each} later on average, {longest} at most.{recalled}",
            calls = calls,
            answers = listed(
                deferred
                    .answers
                    .iter()
                    .map(|(a, n)| ((*a).to_owned(), *n))
                    .collect()
            ),
            ops = listed(
                deferred
                    .ops
                    .iter()
                    .map(|(op, n)| (op.to_string(), *n))
                    .collect()
            ),
            again = again,
            each = Value::Duration(ns / again.max(1) as i64),
            longest = Value::Duration(deferred.waits.max_ns()),
            recalled = recalled,
        ),
        remedy: deferred
            .answers
            .iter()
            .filter_map(|(answer, _)| cure(answer))
            .collect(),
        ..Rule::RetryLater.finding()
    })
}

/// What is to be done about an answer; of those that have the same cause one alone says it.
fn cure(answer: &str) -> Option<Text> {
    Some(match answer.rsplit_once("ERR_").map_or(answer, |(_, name)| name) {
        "DENIED" | "NLM_DENIED" | "NLM4_DENIED" => "find out which client has the lock, and whether it still lives (nfsd: /proc/fs/nfsd/clients/*/states; on clients lslocks)".into(),
        "GRACE" => "find out what restarted the server; it is in its grace period, until clients had time to claim their locks: shorten that and the lease (nfsd: /proc/fs/nfsd/nfsv4gracetime, nfsv4leasetime)".into(),
        "DELAY" => "see whether delegations of other clients are called back (CB_RECALL), and switch them off if so (Linux: sysctl fs.leases-enable=0); else look at the server's threads and memory".into(),
        "JUKEBOX" => "see whether the file is offline (tape, cloud tier) or its file system frozen by a snapshot".into(),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Fixture, MS, end, found};
    use super::*;
    use crate::results::Vantage;
    use crate::trace_join::tests::call;
    use crate::ways::Ways;
    use model::{Call, Name, Outcome};

    fn asked(at_ms: i64, outcome: Outcome) -> Call {
        Call {
            outcome,
            ..call(1, 4_096, 512, at_ms * MS, (at_ms + 1) * MS)
        }
    }

    fn deferred(f: &mut Fixture, times: i64, after_ms: i64) {
        for n in 0..times {
            let at = n * 100_000;
            for (at, outcome) in [
                (at, Outcome::Error("NFS3ERR_JUKEBOX")),
                (at + 1 + after_ms, Outcome::Ok),
            ] {
                f.captures[0].deferred.call(&asked(at, outcome), 0);
            }
        }
    }

    #[test]
    fn who_is_told_to_ask_again_later_waits_because_of_the_server() {
        let f = found(Rule::RetryLater, |f| deferred(f, 3, 5_000)).unwrap();
        assert_eq!((f.side, f.cost_ns), (Side::Server, Some(15_000 * MS)));
        assert!(
            f.title
                .to_string()
                .ends_with("later, 3 times NFS3ERR_JUKEBOX")
        );
        assert_eq!(
            f.why.to_string(),
            "3 calls were answered with that (NFS3ERR_JUKEBOX 3; READ 3). 3 of them were asked again, 5.00 s later on average, 5.00 s at most."
        );
    }

    /// An OPEN that is put off for 5 s, three times; before that something is called back, and returned in the end.
    fn delayed(f: &mut Fixture, recalls: bool, capture: usize) {
        let named = |at_ms, op, [from, to]: [u8; 2], outcome| Call {
            op: Name::of(op),
            client: end(from, 900),
            server: end(to, 2_049),
            ..asked(at_ms, outcome)
        };
        let mut calls = Vec::new();
        for n in 0..3 {
            let at = 100_000 * n;
            if recalls {
                calls.push(named(at, "CB_RECALL", [2, 3], Outcome::Ok));
            }
            calls.push(named(
                at + 1,
                "OPEN",
                [1, 2],
                Outcome::Error("NFS4ERR_DELAY"),
            ));
            if recalls {
                calls.push(named(at + 4_900, "DELEGRETURN", [3, 2], Outcome::Ok));
            }
            calls.push(named(at + 5_002, "OPEN", [1, 2], Outcome::Ok));
        }
        for call in &calls {
            f.captures[capture].deferred.call(call, capture);
        }
    }

    #[test]
    fn what_another_client_has_to_return_is_not_the_server_s() {
        let found = |vantage, recalls| {
            let mut f = Fixture::alone(vantage);
            delayed(&mut f, recalls, 0);
            f.finds(Rule::RetryLater).unwrap()
        };
        let seen = found(Vantage::Server, true);
        assert_eq!(
            (seen.side, seen.cost_ns),
            (Side::Undetermined, Some(15_000 * MS))
        );
        let why = seen.why.to_string();
        assert!(
            why.ends_with("Meanwhile what 10.0.0.3 holds was called back (3 CB_RECALL)."),
            "{why}"
        );
        assert_eq!(found(Vantage::Server, false).side, Side::Server);
        // From a client alone it cannot be seen whether there were callbacks.
        assert_eq!(found(Vantage::Client, false).side, Side::Undetermined);
    }

    #[test]
    fn a_lock_that_another_has_is_not_the_server_s() {
        let found = |op: &str| {
            let mut f = Fixture::alone(Vantage::Server);
            for n in 0..3 {
                for (at, outcome) in [(0, Outcome::Error("NFS4ERR_DENIED")), (2_000, Outcome::Ok)] {
                    let call = Call {
                        op: Name::of(op),
                        ..asked(n * 100_000 + at, outcome)
                    };
                    f.captures[0].deferred.call(&call, 0);
                }
            }
            f.finds(Rule::RetryLater)
        };
        let f = found("LOCK").unwrap();
        assert_eq!((f.side, f.cost_ns), (Side::Undetermined, Some(5_997 * MS)));
        assert!(
            f.title
                .to_string()
                .ends_with("that others hold, 3 times NFS4ERR_DENIED")
        );
        assert!(
            f.remedy[0]
                .to_string()
                .contains("which client has the lock")
        );
        // Whether there is one is a question, and that an answer.
        assert!(found("LOCKT").is_none());
    }

    #[test]
    fn what_was_returned_before_holds_nobody_up() {
        let mut f = Fixture::alone(Vantage::Server);
        let deferred = &mut f.captures[0].deferred;
        for (at, op, outcome) in [
            (0, "CB_RECALL", Outcome::Ok),
            (10, "DELEGRETURN", Outcome::Ok),
            (100, "OPEN", Outcome::Error("NFS4ERR_DELAY")),
            (5_200, "OPEN", Outcome::Ok),
        ] {
            let hosts = if op == "CB_RECALL" { [2, 3] } else { [3, 2] };
            let [client, server] = hosts.map(|host| end(host, 900));
            let call = Call {
                op: Name::of(op),
                client,
                server,
                ..asked(at, outcome)
            };
            deferred.call(&call, 0);
        }
        assert_eq!(f.finds(Rule::RetryLater).unwrap().side, Side::Server);
    }

    #[test]
    fn other_errors_and_calls_that_nobody_asks_again_are_none() {
        let none = |calls: &[(i64, Outcome)]| {
            found(Rule::RetryLater, |f| {
                let calls = calls.iter().map(|(at, outcome)| asked(*at, *outcome));
                calls.for_each(|call| f.captures[0].deferred.call(&call, 0));
            })
            .is_none()
        };
        let later = Outcome::Error("NFS4ERR_DELAY");
        assert!(none(&[
            (0, Outcome::Error("NFS3ERR_STALE")),
            (5_000, Outcome::Ok)
        ]));
        assert!(none(&[(0, later)]));
        assert!(none(&[(0, later), (61_002, Outcome::Ok)]));
        assert!(!none(&[(0, later), (60_001, Outcome::Ok)]));
    }

    #[test]
    fn half_a_second_is_worth_a_word() {
        let of = |after_ms| found(Rule::RetryLater, |f| deferred(f, 1, after_ms));
        assert!(of(500).is_some());
        assert!(of(499).is_none());
    }

    #[test]
    fn the_way_to_the_client_is_no_waiting() {
        let mut f = Fixture::alone(Vantage::Server);
        deferred(&mut f, 10, 5_000);
        f.captures[0].ways = Ways::of_one([1, 2], [None, Some(80 * MS)]);
        let found = f.finds(Rule::RetryLater).unwrap();
        assert_eq!(found.cost_ns, Some(49_200 * MS));
    }
}
