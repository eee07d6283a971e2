//! MySQL's log of slow statements (5.6 to 9, with or without `log_slow_extra`; Percona's; MariaDB 10 and 11) into
//! operations:
//!
//! ```text
//! # Time: 2026-11-24T13:37:29.123456Z
//! # User@Host: app[app] @ client1 [10.0.0.1]  Id:     8
//! # Query_time: 0.020220  Lock_time: 0.000000 Rows_sent: 1  Rows_examined: 0
//! SET timestamp=1795527449;
//! select sleep(0.02);
//! ```
//!
//! - From 5.7 on `# Time:` is when the statement had ended, to the microsecond; with `log_slow_extra` its start and end stand
//!   in the line of its times.
//! - MariaDB, and MySQL before that, note the second in which a statement began (`SET timestamp`) and no more: what is known
//!   is the mean of each second.

use super::{From, SECOND_NS, Statements, When, some};
use crate::Error;
use crate::collector::Collector;
use crate::lines::{At, Lines};
use crate::number::scaled;
use crate::oracle::Stamp;
use std::net::IpAddr;

const CURE: &str = "set long_query_time = 0 and slow_query_log = 1 for the time in question";

/// Whether a line is one of the log's own.
pub(crate) fn is_entry(line: &str) -> bool {
    line.starts_with("# User@Host: ") || line.starts_with("# Query_time: ")
}

pub(crate) fn read(files: Vec<Lines>, into: &mut Collector) -> Result<(), Error> {
    let first = files.first().map(Lines::name).unwrap_or_default();
    let mut words = "";
    for file in files {
        let name = file.name();
        let mut statements = Statements::default();
        let mut open = Open::default();
        let mut last = 0;
        file.each(into, |into, at, line| {
            last = at.line;
            if begins(line) && open.took.is_some() {
                std::mem::take(&mut open).close(&mut statements, into, at.file);
            }
            open.line(line, at, into);
            Ok(())
        })?;
        open.close(&mut statements, into, &name);
        words = statements.words();
    }
    into.grain(1_000);
    into.format(format!("MySQL's log of slow statements{words}"));
    some(first, CURE, into)
}

fn begins(line: &str) -> bool {
    line.starts_with("# Time: ") || line.starts_with("# User@Host: ")
}

/// A statement that is being read.
#[derive(Default)]
struct Open {
    /// Its duration, and the line that says it.
    took: Option<(i64, u64)>,
    ended_ns: Option<i64>,
    second_ns: Option<i64>,
    client: Option<IpAddr>,
}

impl Open {
    fn line(&mut self, line: &str, at: At<'_>, into: &mut Collector) {
        if let Some(time) = line.strip_prefix("# Time: ") {
            self.ended_ns = utc_ns(time.trim());
        } else if let Some(who) = line.strip_prefix("# User@Host: ") {
            // `app[app] @ client1 [10.0.0.1]  Id:     8`
            let host = who.rsplit_once('[').and_then(|(_, h)| h.split(']').next());
            self.client = host.and_then(|h| h.parse().ok());
        } else if let Some(times) = line.strip_prefix("# Query_time: ") {
            match times.split_whitespace().next().and_then(|t| scaled(t, 9)) {
                Some(ns) if ns >= 0 => self.took = Some((ns, at.line)),
                _ => into.skip(at, "its Query_time is no number of seconds"),
            }
            if let Some((_, end)) = times.split_once(" End: ") {
                self.ended_ns = end.split_whitespace().next().and_then(utc_ns);
            }
        } else if let Some(second) = line.strip_prefix("SET timestamp=")
            && self.second_ns.is_none()
        {
            let second = second
                .split([';', '.'])
                .next()
                .and_then(|s| s.parse::<i64>().ok());
            self.second_ns = second.and_then(|s| s.checked_mul(SECOND_NS));
        }
    }

    fn close(self, statements: &mut Statements, into: &mut Collector, file: &str) {
        let Some((took_ns, line)) = self.took else {
            return;
        };
        let at = At { file, line };
        let from = self.client.map_or(From::Unknown, From::Host);
        match (self.ended_ns, self.second_ns) {
            (Some(end_ns), _) => {
                statements.add(When::Ended(end_ns), took_ns, from, into, at);
            }
            (None, Some(second)) => {
                statements.add(When::Second(second), took_ns, from, into, at);
            }
            (None, None) => into.skip(
                at,
                "neither a # Time: with a date nor SET timestamp says when it was",
            ),
        }
    }
}

/// `2026-11-24T13:37:29.123456Z`, or with the zone's distance.
fn utc_ns(text: &str) -> Option<i64> {
    let (stamp, length) = Stamp::iso(text)?;
    let offset_s = match text.get(length..)? {
        "Z" => 0,
        _ => stamp.offset_s?,
    };
    stamp
        .local_ns
        .checked_sub(i64::from(offset_s).checked_mul(SECOND_NS)?)
}
