//! Where readers put what they found and what they could not read, within the bound on operations.

use crate::lines::{At, Skips};
use crate::{Application, BlockWaits, Error, Histogram, Operation, OperationSummary, Sample};
use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

pub(crate) struct Collector {
    application: Application,
    sessions: BTreeMap<SocketAddr, u32>,
    limit: usize,
}

/// Connections that rows may name.
const SESSIONS: usize = 1_000_000;

impl Skips for Collector {
    fn skip(&mut self, at: At<'_>, reason: impl fmt::Display) {
        Collector::skip(self, at, reason);
    }
}

impl Collector {
    pub(crate) fn new(limit: usize) -> Collector {
        Collector {
            application: Application::default(),
            sessions: BTreeMap::new(),
            limit,
        }
    }

    pub(crate) fn operation(&mut self, operation: Operation) {
        if self.is_full() {
            self.application.beyond_limit += 1;
        } else {
            self.application.operations.push(operation);
        }
    }

    pub(crate) fn sample(&mut self, sample: Sample) {
        if self.is_full() {
            self.application.beyond_limit += sample.count;
        } else {
            self.application.samples.push(sample);
        }
    }

    fn is_full(&self) -> bool {
        let kept = &self.application;
        kept.operations.len() + kept.samples.len() >= self.limit
    }

    /// The number of a host that a row names as its own; `None` when there are too many.
    pub(crate) fn client(&mut self, address: IpAddr) -> Option<u16> {
        let clients = &mut self.application.clients;
        let known = clients.iter().position(|c| *c == address);
        let number = u16::try_from(known.unwrap_or(clients.len())).ok()?;
        if known.is_none() {
            clients.push(address);
        }
        Some(number)
    }

    /// The number of a connection that a row names by its client's end; `None` when there are too many.
    pub(crate) fn session(&mut self, end: SocketAddr) -> Option<u32> {
        if let Some(number) = self.sessions.get(&end) {
            return Some(*number);
        }
        let number = u32::try_from(self.application.sessions.len()).ok()?;
        if self.application.sessions.len() >= SESSIONS {
            return None;
        }
        self.sessions.insert(end, number);
        self.application.sessions.push(Some(end));
        Some(number)
    }

    /// So many operations are too many.
    pub(crate) fn leave_out(&mut self, operations: u64) {
        self.application.beyond_limit += operations;
    }

    /// The number of a connection of which nothing says the client's end; `None` when there are too many.
    pub(crate) fn unnamed_session(&mut self) -> Option<u32> {
        let sessions = &mut self.application.sessions;
        let number = u32::try_from(sessions.len()).ok()?;
        (sessions.len() < SESSIONS).then(|| sessions.push(None))?;
        Some(number)
    }

    /// Starts and ends are noted up to so much too early.
    pub(crate) fn grain(&mut self, ns: i64) {
        self.application.grain_ns = ns;
    }

    /// Operations collected so far.
    pub(crate) fn operations(&mut self) -> &mut Vec<Operation> {
        &mut self.application.operations
    }

    /// Samples collected so far.
    pub(crate) fn samples(&mut self) -> &mut Vec<Sample> {
        &mut self.application.samples
    }

    pub(crate) fn summaries(&mut self, summaries: Vec<OperationSummary>) {
        self.application.summaries = summaries;
    }

    pub(crate) fn histograms(&mut self, mut histograms: Vec<Histogram>) {
        self.application.histograms.append(&mut histograms);
    }

    /// Operations that took less are not in the log.
    pub(crate) fn slower_than(&mut self, ns: i64) {
        let least = self.application.slower_than_ns.get_or_insert(ns);
        *least = ns.max(*least);
    }

    /// The times are those of who asks.
    pub(crate) fn of_clients(&mut self) {
        self.application.of_clients = true;
    }

    /// Samples are those of who serves.
    pub(crate) fn of_servers(&mut self) {
        self.application.of_servers = true;
    }

    /// The times are those of disks, not of operations.
    pub(crate) fn of_disks(&mut self) {
        self.application.of_disks = true;
    }

    pub(crate) fn unfinished(&mut self) {
        self.application.unfinished += 1;
    }

    /// Says how the files were understood.
    pub(crate) fn format(&mut self, words: String) {
        self.application.format = words;
    }

    /// Counts a line that cannot be read; the reason is only put into words for the first.
    pub(crate) fn skip(&mut self, at: At<'_>, reason: impl fmt::Display) {
        self.application.skipped_lines += 1;
        self.application
            .first_skipped
            .get_or_insert_with(|| format!("{}, line {}: {reason}", at.file, at.line));
    }

    /// Counts what cannot be read of a trace; the place and reason are only put into words for the first.
    pub(crate) fn skip_many(&mut self, count: u64, first: impl FnOnce() -> String) {
        self.application.skipped_lines += count;
        self.application.first_skipped.get_or_insert_with(first);
    }

    pub(crate) fn blocks(&mut self, waits: Arc<BlockWaits>) {
        self.application.blocks = Some(waits);
    }

    pub(crate) fn has_histograms(&self) -> bool {
        !self.application.histograms.is_empty()
    }

    /// Whether no operation or sample was found so far.
    pub(crate) fn is_empty(&self) -> bool {
        self.application.operations.is_empty() && self.application.samples.is_empty()
    }

    /// Why the first line that was left out was, in words that go on with a sentence.
    pub(crate) fn first_skipped(&self) -> String {
        let first = self.application.first_skipped.as_ref();
        first.map_or_else(String::new, |first| format!(" ({first})"))
    }

    /// What was collected; an error, which names the first file, when that is nothing.
    pub(crate) fn finish(self, file: String) -> Result<Application, Error> {
        let found = self.application;
        let rows = !found.operations.is_empty() || !found.samples.is_empty();
        let sums = !found.summaries.is_empty() || !found.histograms.is_empty();
        if rows || sums || found.blocks.is_some() {
            return Ok(found);
        }
        let reason = match (found.first_skipped, found.unfinished) {
            (Some(first), _) => format!("check the first line that could not be read: {first}"),
            (None, 0) => "take it again while the application works".to_string(),
            (None, n) => format!("all {n} are without an end; let the application finish them"),
        };
        Err(Error::Nothing { file, reason })
    }
}
