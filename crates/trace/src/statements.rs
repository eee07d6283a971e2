//! What databases note of their own statements, into operations: PostgreSQL's log (`postgresql.rs`), MySQL's and
//! MariaDB's log of slow statements (`mysql.rs`), and sums by statement (`digests.rs`).
//!
//! A statement is an operation that neither reads nor writes: which file and offset it touched nobody says. It lies within
//! the call that asked for it, so that rows are held against calls by time. Where a log has whole seconds alone, nothing
//! tells its statements from each other: each is a latency of that second, which is held against the mean.

pub(crate) mod digests;
pub(crate) mod mysql;
pub(crate) mod postgresql;

use crate::collector::Collector;
use crate::lines::At;
use crate::{Operation, OperationKind, Sample};
use std::net::IpAddr;

const SECOND_NS: i64 = 1_000_000_000;

/// When a statement was.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum When {
    /// It ended then.
    Ended(i64),
    /// It began, or ended, in the second that begins then.
    Second(i64),
}

/// The statements of one file; all its times are of one precision.
#[derive(Default)]
struct Statements {
    seconds: Option<bool>,
}

impl Statements {
    fn add(
        &mut self,
        when: When,
        took_ns: i64,
        client: Option<IpAddr>,
        into: &mut Collector,
        at: At<'_>,
    ) {
        let is_second = matches!(when, When::Second(_));
        if *self.seconds.get_or_insert(is_second) != is_second {
            return into.skip(at, "its time is of another precision than those before");
        }
        let client = client.and_then(|address| into.client(address));
        let kind = OperationKind::Other;
        match when {
            When::Ended(end_ns) => into.operation(Operation {
                start_ns: end_ns.saturating_sub(took_ns),
                end_ns,
                absolute: true,
                kind,
                offset: None,
                size: None,
                client,
            }),
            When::Second(from_ns) => into.sample(Sample {
                from_ns: Some(from_ns),
                until_ns: Some(from_ns.saturating_add(SECOND_NS).saturating_add(took_ns)),
                kind,
                count: 1,
                latency_ns: took_ns,
                client,
            }),
        }
    }

    /// How the times are understood, in words.
    fn words(&self) -> &'static str {
        match self.seconds {
            Some(true) => ", in whole seconds",
            _ => "",
        }
    }
}
