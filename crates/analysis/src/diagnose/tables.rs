//! What was counted of each operation into its row of the answer, and why calls have no twin.

use super::Diagnoser;
use super::seen::Seen;
use crate::half::{Completeness, Half};
use crate::results::{CaptureResult, OpResult, Unmatched, Unpaired, Why};
use crate::stats::Distribution;
use model::{Endpoint, limits};
use std::collections::BTreeMap;

impl Diagnoser {
    /// Why calls have no twin.
    pub(super) fn count_unmatched(
        &mut self,
        client: usize,
        left: &[Vec<Half>; 2],
        seen: &Seen,
        results: &[CaptureResult],
    ) {
        // Of servers at whose hosts nobody captured.
        let mut elsewhere = BTreeMap::<Endpoint, Distribution>::default();
        for (i, calls) in left.iter().enumerate() {
            let other = &results[1 - i];
            for call in calls {
                let at = call.request_first.time;
                let offset = seen.clock_at(at).map_or(0, |c| c.offset_ns);
                // From this capture's clock to the other's.
                let at = at + if i == client { offset } else { -offset };
                let inside =
                    other.first.is_some_and(|f| at >= f) && other.last.is_some_and(|l| at <= l);
                let why = match call.completeness {
                    _ if !inside => Why::OutsideOverlap,
                    Completeness::NoResponse | Completeness::Hidden | Completeness::Unanswered => {
                        Why::NoResponse
                    }
                    Completeness::Incomplete | Completeness::NearlyTimed | Completeness::CutOff => {
                        Why::Incomplete
                    }
                    Completeness::Complete if i == client => Why::NotInServerCapture,
                    Completeness::Complete => Why::NotInClientCapture,
                };
                // Its packets are missing there, and not only hidden.
                let is_absent = matches!(why, Why::NotInServerCapture | Why::NotInClientCapture);
                let of_both = self.of_both.contains(&(call.client.address, call.server));
                let is_known = is_absent || (why == Why::Incomplete && call.has_bounds());
                if is_known && of_both && !self.captures[1 - i].gaps.is_empty() {
                    self.cut(call);
                }
                let waited_ns = match (call.completeness, why) {
                    (_, Why::NotInServerCapture) => Some(call.response_time_ns()),
                    // Until the capture ended, at least.
                    (Completeness::Unanswered, Why::NoResponse) if i == client => {
                        let own = &results[i];
                        own.last.map(|last| last - call.request_first.time)
                    }
                    _ => None,
                };
                let is_kept =
                    elsewhere.len() < limits::HOST_PAIRS || elsewhere.contains_key(&call.server);
                if let Some(ns) = waited_ns.filter(|_| !of_both && is_kept) {
                    elsewhere.entry(call.server).or_default().add(ns);
                }
                self.unmatched(call.op).add(why);
                self.list(i, call.row, Some(why));
            }
        }
        // Where one of them is slow, what both captures have is not what the client waits for alone.
        if !self.of_both.is_empty() {
            let slow = elsewhere
                .values()
                .filter(|times| self.options.thresholds.are_passed(times));
            self.elsewhere_ns = slow
                .map(Distribution::total_ns)
                .fold(0, i64::saturating_add);
        }
    }

    /// One capture has this call whole, or knows how long it took at least, and the other lacks something of it.
    pub(super) fn cut(&mut self, call: &Half) {
        self.cut_ns = self.cut_ns.saturating_add(call.response_time_ns().max(0));
    }

    /// Lists a call that has no twin, or no row of its own, where rows are wanted.
    pub(super) fn list(&mut self, capture: usize, row: u64, why: Option<Why>) {
        if let Some(unpaired) = &mut self.unpaired {
            unpaired.push(Unpaired { capture, row, why });
        }
    }

    /// All of them, after [`Diagnoser::finish`].
    pub(crate) fn unpaired(&self) -> impl Iterator<Item = Unpaired> {
        let evicted = |capture| {
            let rows = self.join.evicted_rows(capture);
            rows.map(move |row| Unpaired {
                capture,
                row,
                why: Some(Why::Evicted),
            })
        };
        let listed = self.unpaired.iter().flatten().copied();
        listed.chain((0..2).flat_map(evicted))
    }

    pub(super) fn op_results(&self, seen: &Seen) -> Vec<OpResult> {
        let mut out = Vec::new();
        for op in 0..self.ops.len() {
            let (protocol, name) = self.ops.name(op as u16);
            let of = |capture: usize| {
                let facts = self.captures[capture].ops.get(op)?;
                (facts.response.count() > 0).then(|| facts.response.summary())
            };
            let (client, server) = match (seen.client, seen.server) {
                (None, Some(server)) => (None, of(server)),
                (client, server) => (of(client.unwrap_or(0)), server.and_then(of)),
            };
            let errors = self.captures[seen.main()].ops.get(op);
            let matched = self.matched.op(op, seen.clock.as_ref());
            let mut unmatched = self.unmatched.get(op).copied().unwrap_or_default();
            if self.captures.len() == 1 {
                let facts = self.captures[0].ops.get(op);
                unmatched.no_response = facts.map_or(0, |f| f.no_response);
                unmatched.incomplete = facts.map_or(0, |f| f.incomplete);
            }
            if client.is_none() && server.is_none() && unmatched == Unmatched::default() {
                continue;
            }
            out.push(OpResult {
                protocol,
                op: name.to_string(),
                client,
                server,
                matched,
                unmatched,
                errors: errors.map_or(0, |f| f.errors),
            });
        }
        out.sort_by(OpResult::by_time);
        out
    }
}
