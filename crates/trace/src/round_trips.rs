//! An extended SQL trace of Oracle (event 10046) into what its server takes of each round trip: the server's own times of what
//! clients call over SQL*Net.
//!
//! A server that has answered waits in `SQL*Net message from client`. A round trip begins when that wait is over, and ends with
//! the last thing that was done before the next one: the answer leaves behind that.
//!
//! `tim` counts on a clock of its own. Where it counts microseconds since 1970, as most did until 11g, it is the time; else the
//! dates say it that are written before the next line (`*** 2023-05-19T05:28:00.339263+02:00`), where they have a zone. Without
//! either only means can be compared.

use crate::collector::Collector;
use crate::oracle::{Record, Stamp, TraceFile};
use crate::{Operation, OperationKind};
use model::limits::TRACE_ROUND_TRIPS;
use std::collections::BTreeMap;

/// The wait of a server for what it is asked next.
const IDLE: &str = "SQL*Net message from client";

/// Local time is that of some zone: `tim` and a date that are further apart are no moments of one clock.
const ZONES_NS: i64 = 15 * 3_600_000_000_000;

/// Sessions of one file; `trcsess` puts those of many into one.
const SESSIONS: usize = 10_000;

/// Those of one file, as it is read.
#[derive(Default)]
pub(crate) struct RoundTrips {
    sessions: BTreeMap<u64, Session>,
    current: u64,
    /// A date that no line with `tim` followed so far.
    date: Option<Stamp>,
    /// How far the wall's clock is ahead of `tim`: a date is written as soon as what it stands before was done, but for that on
    /// top of the file, which may be older.
    ahead_ns: Option<i64>,
    /// A date of local time and the moment behind it.
    local: Option<(Stamp, i64)>,
    /// How many are kept, and how many were too many.
    kept: usize,
    beyond_limit: u64,
}

#[derive(Default)]
struct Session {
    /// When what it works on arrived, once that is known.
    began_ns: Option<i64>,
    last_ns: i64,
    done: Vec<(i64, i64)>,
}

impl RoundTrips {
    pub(crate) fn take(&mut self, record: &Record<'_>) {
        let (tim_ns, idle_ns) = match record {
            Record::Process(process) => {
                self.current = *process;
                return;
            }
            Record::Date(date) => {
                self.date = Some(*date);
                return;
            }
            Record::Wait(wait) if wait.event == IDLE => (wait.tim_ns, Some(wait.elapsed_ns)),
            Record::Wait(wait) => (wait.tim_ns, None),
            Record::Call(call) => (Some(call.tim_ns), None),
            Record::Transaction(end) => (end.tim_ns, None),
            _ => return,
        };
        let Some(tim_ns) = tim_ns else { return };
        if let Some(date) = self.date.take() {
            self.dated(date, tim_ns);
        }
        if self.sessions.len() >= SESSIONS && !self.sessions.contains_key(&self.current) {
            return;
        }
        let session = self.sessions.entry(self.current).or_default();
        let Some(idle_ns) = idle_ns else {
            session.last_ns = session.last_ns.max(tim_ns);
            return;
        };
        if let Some(began_ns) = session.began_ns {
            let until_ns = tim_ns.saturating_sub(idle_ns);
            let last_ns = session.last_ns.clamp(began_ns, until_ns.max(began_ns));
            match self.kept < TRACE_ROUND_TRIPS {
                true => session.done.push((began_ns, last_ns)),
                false => self.beyond_limit += 1,
            }
            self.kept += 1;
        }
        (session.began_ns, session.last_ns) = (Some(tim_ns), tim_ns);
    }

    fn dated(&mut self, date: Stamp, tim_ns: i64) {
        match date.utc_ns() {
            Some(utc_ns) => {
                let ahead_ns = utc_ns.saturating_sub(tim_ns);
                let most = self.ahead_ns.get_or_insert(ahead_ns);
                *most = ahead_ns.max(*most);
            }
            None => {
                self.local.get_or_insert((date, tim_ns));
            }
        }
    }

    /// How far the wall's clock is ahead; `None` where nothing tells.
    fn ahead(&self) -> Option<i64> {
        self.ahead_ns.or_else(|| {
            let (date, tim_ns) = self.local?;
            (date.local_ns.saturating_sub(tim_ns).abs() <= ZONES_NS).then_some(0)
        })
    }

    /// Hands them on, each session's as one connection's of which nothing says the client's end.
    pub(crate) fn end(self, file: &TraceFile, into: &mut Collector) {
        let ahead_ns = self.ahead();
        into.grain(file.unit_ns);
        into.leave_out(self.beyond_limit);
        for session in self.sessions.into_values().filter(|s| !s.done.is_empty()) {
            let number = into.unnamed_session();
            for (from_ns, until_ns) in session.done {
                let on_wall = |ns: i64| ns.saturating_add(ahead_ns.unwrap_or(0));
                into.operation(Operation {
                    start_ns: on_wall(from_ns),
                    end_ns: on_wall(until_ns),
                    absolute: ahead_ns.is_some(),
                    kind: OperationKind::Other,
                    offset: None,
                    size: None,
                    client: None,
                    session: number,
                });
            }
        }
    }
}
