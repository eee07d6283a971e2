//! The calls that operations may have waited for, kept until all are known.

use super::span::{self, Span, kind_of};
use super::whose::Whose;
use super::words::{self, Refusal};
use crate::text::Text;
use hashbrown::HashMap;
use model::Call;
use model::limits::APP_CALLS;
use std::net::{IpAddr, SocketAddr};
use trace::{Application, OperationKind};

/// Clients of the capture that are named where none of them is the application's.
const NAMED: usize = 3;

#[derive(Default)]
pub(super) struct Calls {
    kept: Vec<Span>,
    /// Of the kinds that count, also those that found their operation by its offset.
    count: u64,
    other_count: u64,
    beyond_limit: u64,
    /// What the application noted: kinds of operations, and whether any is of an unsaid kind.
    kinds: Vec<OperationKind>,
    /// Whether there is an operation that only its time identifies.
    unplaced: bool,
    /// Whether means may be compared, which are those of all calls.
    means: bool,
    /// All rows name their host; and which of those hosts made calls.
    all_named: bool,
    met: Vec<bool>,
    /// Numbers of connections by their client's end.
    sessions: HashMap<SocketAddr, u32, foldhash::fast::FixedState>,
    strangers: Vec<IpAddr>,
}

impl Calls {
    /// For what an application noted.
    pub(super) fn wanted_by(app: &Application) -> Calls {
        let operations = app.operations.iter().map(|o| (o.kind, o.client, o.offset));
        let samples = app.samples.iter().map(|s| (s.kind, s.client, None));
        let mut calls = Calls {
            all_named: !app.clients.is_empty(),
            means: app.operations.iter().any(|o| !o.absolute) || app.operations.is_empty(),
            met: vec![false; app.clients.len()],
            sessions: (0..)
                .zip(&app.sessions)
                .filter_map(|(n, end)| Some(((*end)?, n)))
                .collect(),
            ..Calls::default()
        };
        let histograms = span::held_against_calls(&app.histograms);
        let histograms = histograms.map(|h| (h.kind, None, None));
        for (kind, client, offset) in operations.chain(samples).chain(histograms) {
            if !calls.kinds.contains(&kind) {
                calls.kinds.push(kind);
            }
            calls.all_named &= client.is_some();
            calls.unplaced |= offset.is_none();
        }
        calls
    }

    /// The call, which is the one with this number, if an operation may have waited for it.
    pub(super) fn see(&mut self, call: &Call, row: u64, app: &Application) -> Option<Span> {
        let address = call.client.address;
        let number = app.clients.iter().position(|c| *c == address);
        match number.and_then(|n| self.met.get_mut(n)) {
            Some(met) => *met = true,
            None if self.strangers.len() < NAMED && !self.strangers.contains(&address) => {
                self.strangers.push(address);
            }
            None => {}
        }
        if self.all_named && number.is_none() {
            return None;
        }
        let kind = kind_of(call);
        let wanted = self.kinds.contains(&kind) || self.kinds.contains(&OperationKind::Unsaid);
        call.response_time_ns().filter(|_| wanted)?;
        let (first, last) = call.request_first.zip(call.response_last)?;
        match self.kinds.contains(&kind) || kind != OperationKind::Other {
            true => self.count += 1,
            false => self.other_count += 1,
        }
        Some(Span {
            from: first.time.0,
            until: last.time.0,
            kind,
            client: number.and_then(|n| u16::try_from(n).ok()),
            session: match self.sessions.is_empty() {
                true => None,
                false => {
                    let end = SocketAddr::new(address, call.client.port);
                    self.sessions.get(&end).copied()
                }
            },
            placed: call.detail.get(model::Field::Offset).is_some(),
            connection: call.connection,
            call: row,
        })
    }

    /// Keeps a call if anything may still ask for it; `joined` if it found its operation by offset.
    pub(super) fn keep(&mut self, call: Span, joined: bool) {
        // A row and a call of other places are not of each other.
        if !self.means && (joined || !self.unplaced && call.placed) {
            return;
        }
        match self.kept.len() < APP_CALLS {
            true => self.kept.push(call),
            false => self.beyond_limit += 1,
        }
    }

    /// Calls that operations may have waited for. An operation of which nothing is said reads or writes,
    /// where anything was read or written.
    pub(super) fn count(&self) -> u64 {
        match self.count {
            0 => self.other_count,
            n => n,
        }
    }

    /// Those that are left, of the kinds that count.
    pub(super) fn take(&mut self) -> Vec<Span> {
        let others = self.count == 0 || self.kinds.contains(&OperationKind::Other);
        let mut kept = std::mem::take(&mut self.kept);
        kept.retain(|c| others || c.kind != OperationKind::Other);
        kept
    }

    /// What the operations are, for words.
    pub(super) fn wanted(&self) -> Vec<OperationKind> {
        self.kinds.clone()
    }

    /// Whether the capture has calls of the hosts that rows name, if all do.
    pub(super) fn of_this_host(&self, app: &Application) -> Result<(), Refusal> {
        let met = self.met.contains(&true);
        if met || !self.all_named || self.strangers.is_empty() {
            return Ok(());
        }
        Err(Refusal::OtherHost {
            rows: app.clients.iter().take(NAMED).copied().collect(),
            more: app.clients.len().saturating_sub(NAMED),
            calls: self.strangers.clone(),
        })
    }

    /// What was left out on the way.
    pub(super) fn notes(&self, whose: Whose) -> Vec<Text> {
        let beyond = (self.beyond_limit > 0).then(|| words::beyond_limit(self.beyond_limit, whose));
        beyond.into_iter().collect()
    }
}
