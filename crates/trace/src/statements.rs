//! What databases note of their own statements, into operations: PostgreSQL's log (`postgresql.rs`), MySQL's and
//! MariaDB's log of slow statements (`mysql.rs`), and sums by statement (`digests.rs`).
//!
//! A statement is an operation that neither reads nor writes: which file and offset it touched nobody says. It lies within
//! the call that asked for it: the next of its connection, where the log names the client's port, else by time. Where times
//! are cut to more than statements last, and no port is named, nothing tells statements from each other: each is a
//! latency of its time, which is held against the mean.

pub(crate) mod digests;
pub(crate) mod mysql;
pub(crate) mod postgresql;

use crate::collector::Collector;
use crate::lines::At;
use crate::{Error, Operation, OperationKind, Sample};
use std::net::{IpAddr, SocketAddr};

const SECOND_NS: i64 = 1_000_000_000;

/// When a statement was.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum When {
    /// It ended then.
    Ended(i64),
    /// It ended in the millisecond that begins then.
    Millisecond(i64),
    /// It began, or ended, in the second that begins then.
    Second(i64),
}

/// The client of a statement, as far as the log names it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum From {
    Unknown,
    /// A socket of the host itself, which no capture holds.
    Local,
    Host(IpAddr),
    Port(SocketAddr),
}

/// The statements of one file; all of them are told from each other, or none.
#[derive(Default)]
struct Statements {
    /// How they are understood, in words.
    words: Option<&'static str>,
}

impl Statements {
    fn add(&mut self, when: When, took_ns: i64, from: From, into: &mut Collector, at: At<'_>) {
        if from == From::Local {
            return into.skip(at, "a socket of the host itself, which no capture holds");
        }
        let words = match (when, from) {
            (When::Second(_), _) => ", in whole seconds",
            (_, From::Port(_)) => ", by connection",
            (When::Ended(_), _) => "",
            (When::Millisecond(_), _) => ", in milliseconds without clients' ports",
        };
        if *self.words.get_or_insert(words) != words {
            return into.skip(at, "its time or client is told otherwise than those before");
        }
        let (host, session) = match from {
            From::Port(end) => (Some(end.ip()), into.session(end)),
            From::Host(host) => (Some(host), None),
            From::Unknown | From::Local => (None, None),
        };
        let client = host.and_then(|address| into.client(address));
        let kind = OperationKind::Other;
        let (from_ns, step_ns) = match when {
            When::Second(ns) => (ns, SECOND_NS.saturating_add(took_ns)),
            When::Millisecond(ns) | When::Ended(ns) => (ns, 1_000_000),
        };
        if matches!(when, When::Ended(_)) || session.is_some() && !matches!(when, When::Second(_)) {
            return into.operation(Operation {
                start_ns: from_ns.saturating_sub(took_ns),
                end_ns: from_ns,
                absolute: true,
                kind,
                offset: None,
                size: None,
                client,
                session,
            });
        }
        into.sample(Sample {
            from_ns: Some(from_ns),
            until_ns: Some(from_ns.saturating_add(step_ns)),
            kind,
            count: 1,
            latency_ns: took_ns,
            client,
        });
    }

    fn words(&self) -> &'static str {
        self.words.unwrap_or_default()
    }
}

/// Whether files of which this was the first held any statement with a time.
fn some(first: String, cure: &'static str, into: &Collector) -> Result<(), Error> {
    match into.is_empty() {
        false => Ok(()),
        true => Err(Error::NoStatements {
            file: first,
            cure,
            skipped: into.first_skipped(),
        }),
    }
}
