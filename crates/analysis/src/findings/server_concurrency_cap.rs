//! # What it says
//! The server works on only N calls at a time; further ones queue inside it. N is
//! the rate at which replies leave times the time a call takes with nothing to
//! queue behind.
//!
//! # Why it costs time
//! A call that finds n others before it waits for n/N rounds of service. The cost
//! is the wait above the unloaded service time, summed over calls.
//!
//! # How sure
//! Said when time in the server grows with the number of calls outstanding, from a
//! few that found it unloaded to many that found it busy, on a straight line, while
//! replies leave at a steady rate.
//!
//! # What to check next
//! The number of NFS server threads (Linux: /proc/fs/nfsd/threads; illumos and
//! Solaris: sharectl get -p servers nfs), and what the threads wait for: one busy
//! disk is a cap of one. With --host, the kernel's own pool_stats say whether
//! connections wait for a thread, or always found one free.
//!
//! # When it is wrong
//! A storage that saturates looks the same as a pool of threads: both serve N at a
//! time. When the capture holds no call that found the server unloaded, the service
//! time is not known and server-slow is said instead.

use super::{Entry, Of, Rule, evidence, numbers, pressed, whole};
use crate::facts::Facts;
use crate::results::{Finding, Side};
use crate::text::{Text, Value, text};

pub(super) const ENTRY: Entry = Entry {
    code: "server-concurrency-cap",
    title: "the server works on a limited number of calls at a time",
    side: Some(Side::Server),
    of: Of::Calls,
    sure: [0.85, 0.65],
    page: page!("server_concurrency_cap.rs"),
    check,
};

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let a = &facts.account;
    let (cap, server) = a.cap?;
    if !facts.is_guilty_of(a.queue_ns, a.server_ns(), facts.server_part()) {
        return None;
    }
    let n = cap.cap.round().max(1.0) as u64;
    let threads = pressed::threads(facts);
    let why = text!(
        "{server} answers about {n} calls at a time: {how} {time}, and with {busy} outstanding a call takes {wait}.{threads}",
        server = server,
        n = n,
        how = if cap.sure {
            "a call that finds it unloaded takes"
        } else {
            "replies leave in rounds every"
        },
        time = Value::Duration(cap.service_ns),
        busy = cap.busy_level.round_ties_even() as u64,
        wait = Value::Duration(cap.busy_wait_ns),
        threads = threads
            .as_ref()
            .map_or_else(Text::default, |t| t.said.clone()),
    );
    // More threads do not help where one was always free.
    let raise = threads.is_none_or(|t| t.is_limit).then(|| {
        "raise the server's NFS threads (Linux: echo 64 > /proc/fs/nfsd/threads; illumos: sharectl set -p servers=1024 nfs)".into()
    });
    let find = "or find what those few are waiting for: one busy disk is a cap of one".into();
    Some(Finding {
        title: text!("The server works on about {n} calls at a time", n = n),
        cost_ns: Some(a.queue_ns),
        first: facts.worst.server.first,
        last: facts.worst.server.last,
        facts: numbers([
            ("cap", whole(n)),
            ("service_ns", cap.service_ns),
            ("busy_outstanding", cap.busy_level.round() as i64),
            ("busy_wait_ns", cap.busy_wait_ns),
        ]),
        evidence: evidence::of_calls(
            facts,
            facts.worst.server,
            "request and reply of the longest waits",
        ),
        why,
        remedy: raise.into_iter().chain([find]).collect(),
        ..Rule::ServerConcurrencyCap.finding()
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Fixture, TOTAL_NS, end, found, nfsd};
    use super::*;
    use crate::concurrency::ServerCap;

    /// What queues for so long before a server that works on four calls at a time.
    fn cap(f: &mut Fixture, queue_ns: i64) {
        let cap = ServerCap {
            cap: 3.9,
            service_ns: 4_000_000,
            queue_ns,
            calls: 100,
            busy_level: 32.0,
            busy_wait_ns: 33_000_000,
            sure: true,
        };
        f.account.queue_ns = queue_ns;
        f.account.cap = Some((cap, end(2, 2_049)));
    }

    fn capped(queue_ns: i64) -> Option<Finding> {
        found(Rule::ServerConcurrencyCap, |f| cap(f, queue_ns))
    }

    #[test]
    fn what_calls_queue_for_is_the_server_s() {
        let f = capped(TOTAL_NS / 2).unwrap();
        assert_eq!((f.side, f.cost_ns), (Side::Server, Some(TOTAL_NS / 2)));
        assert_eq!(
            f.title.to_string(),
            "The server works on about 4 calls at a time"
        );
        assert!(
            f.why
                .to_string()
                .starts_with("10.0.0.2:2049 answers about 4 calls")
        );
    }

    #[test]
    fn what_the_server_counts_of_its_threads_stands_beside_it() {
        let with = |milli: i64| {
            let f = found(Rule::ServerConcurrencyCap, |f| {
                cap(f, TOTAL_NS / 2);
                f.hosts = vec![nfsd(4, milli)];
            });
            let f = f.unwrap();
            (f.why.to_string(), f.remedy.len())
        };
        let (why, remedies) = with(230_000);
        assert!(
            why.ends_with(" Its nfsd has 4 threads and let connections wait for one 230 times a second, on average (psi)."),
            "{why}"
        );
        assert_eq!(remedies, 2);
        let (why, remedies) = with(0);
        assert!(
            why.ends_with(" Its nfsd has 4 threads and always found one free (psi): it is not their number that holds calls up."),
            "{why}"
        );
        assert_eq!(remedies, 1);
        // Now and then is neither.
        let (why, remedies) = with(999);
        assert!(!why.contains("nfsd"), "{why}");
        assert_eq!(remedies, 2);
    }

    #[test]
    fn without_a_cap_there_is_no_queue() {
        assert!(
            found(Rule::ServerConcurrencyCap, |f| f.account.queue_ns =
                TOTAL_NS / 2)
            .is_none()
        );
    }

    #[test]
    fn a_quarter_of_the_time_is_enough() {
        assert!(capped(TOTAL_NS / 4).is_some());
        assert!(capped(TOTAL_NS / 4 - 1).is_none());
    }
}
