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
//! disk is a cap of one.
//!
//! # When it is wrong
//! A storage that saturates looks the same as a pool of threads: both serve N at a
//! time. When the capture holds no call that found the server unloaded, the service
//! time is not known and server-slow is said instead.

use super::{Entry, Of, Rule, evidence, numbers, whole};
use crate::facts::Facts;
use crate::results::{Finding, Side};
use crate::text::{Value, text};

pub(super) const ENTRY: Entry = Entry {
    code: "server-concurrency-cap",
    title: "the server works on a limited number of calls at a time",
    side: Some(Side::Server),
    of: Of::Calls,
    source: include_str!("server_concurrency_cap.rs"),
    check,
};

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let a = &facts.account;
    let (cap, server) = a.cap?;
    if !facts.is_guilty_of(a.queue_ns, a.server_ns(), facts.server_part()) {
        return None;
    }
    let n = cap.cap.round().max(1.0) as i64;
    let n = n.unsigned_abs();
    let why = text!(
        "{server} answers about {n} calls at a time: {how} {time}, and with {busy} outstanding a call takes {wait}.",
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
    );
    Some(Finding {
        title: text!("The server works on about {n} calls at a time", n = n),
        cost_ns: Some(a.queue_ns),
        confidence: if cap.sure { 0.85 } else { 0.65 },
        first: facts.worst.server.first,
        last: facts.worst.server.last,
        facts: numbers([("cap", whole(n)), ("service_ns", cap.service_ns), ("busy_outstanding", cap.busy_level.round() as i64), ("busy_wait_ns", cap.busy_wait_ns)]),
        evidence: evidence::of_calls(facts, facts.worst.server, "request and reply of the longest waits"),
        why,
        remedy: vec![
            "raise the server's NFS threads (Linux: echo 64 > /proc/fs/nfsd/threads; illumos: sharectl set -p servers=1024 nfs)".into(),
            "or find what those few are waiting for: one busy disk is a cap of one".into(),
        ],
        ..Rule::ServerConcurrencyCap.finding()
    })
}
