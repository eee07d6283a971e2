//! What hosts noted themselves, and what tools said of them, held against the calls that are settled.

use super::Diagnoser;
use super::seen::Seen;
use crate::app::{Compared, RowMatch, Whose};
use crate::pressure::{self, Against, Load};
use crate::results::{CaptureResult, HostResult};
use crate::streams::Gathered;
use crate::text::Text;
use ledger::{Certain, Kept};
use std::sync::Arc;

/// What hosts noted themselves of the calls.
pub(super) struct Noted {
    pub(super) app: Option<Compared>,
    pub(super) server: Option<Compared>,
    /// What the client's own system counted, beside what its application noted.
    pub(super) kernel: Option<Compared>,
}

impl Diagnoser {
    /// What hosts noted themselves, held against the calls. `notes` takes what that says.
    pub(super) fn held_against_hosts(
        &mut self,
        seen: &Seen,
        results: &[CaptureResult],
        notes: &mut Vec<Text>,
    ) -> Noted {
        Noted {
            app: self.held_against_application(seen, results, notes),
            server: self.held_against_server(seen, results, notes),
            kernel: self.held_against_kernel(seen, results, notes),
        }
    }

    /// What the client's system counted of its queue, given beside what its application noted.
    fn held_against_kernel(
        &self,
        seen: &Seen,
        results: &[CaptureResult],
        notes: &mut Vec<Text>,
    ) -> Option<Compared> {
        let sums = self.options.hosts.iter().find_map(|h| h.sums.as_ref())?;
        let is_given = self
            .options
            .app
            .as_ref()
            .is_some_and(|a| !Arc::ptr_eq(a, sums));
        let client = seen.client.filter(|_| is_given)?;
        let rows = RowMatch::new(sums, Whose::Application, 0);
        let (kernel, said) = rows.finish(client, results);
        notes.extend(said);
        kernel
    }

    /// What tools said of the hosts, held against what the calls are certain of.
    pub(super) fn held_against_tools(
        &self,
        seen: &Seen,
        gathered: &Gathered,
        results: &[CaptureResult],
        certain: &Kept<Certain>,
    ) -> Vec<HostResult> {
        if self.options.hosts.is_empty() {
            return Vec::new();
        }
        let mut load = Load::new();
        if let Some(app) = &self.options.app {
            let own = Whose::Application.own(app);
            let timed = own.operations.iter().filter(|o| o.absolute);
            load.application(timed.map(|o| (o.start_ns, o.end_ns)));
        }
        certain.each(|call| load.call(call));
        let server = seen.server.unwrap_or(seen.main());
        let against = Against {
            results,
            captures: [seen.main(), server].map(|i| &results[i]),
            server_ahead_ns: seen.offset_ns(),
            load: load.finished(),
            fast_enough_ns: self.options.thresholds.fast_enough_ns,
        };
        pressure::held(&self.options.hosts, &gathered.ends, &against)
    }

    /// The application's own times held against the calls of its host. `notes` takes what that says.
    fn held_against_application(
        &mut self,
        seen: &Seen,
        results: &[CaptureResult],
        notes: &mut Vec<Text>,
    ) -> Option<Compared> {
        let given = self.app[seen.main()].take()?;
        let Some(client) = seen.client else {
            notes.push("The application's latencies were left out: above the wire can only be known with a capture at the client.".into());
            return None;
        };
        let (app, said) = given.finish(client, results);
        notes.extend(said);
        app
    }

    /// The server's own times held against the calls of its capture, or of the only one: they lie within its calls
    /// wherever those were seen.
    fn held_against_server(
        &mut self,
        seen: &Seen,
        results: &[CaptureResult],
        notes: &mut Vec<Text>,
    ) -> Option<Compared> {
        let capture = seen.server.unwrap_or(seen.main());
        let given = self.server_app[capture].take()?;
        let (rows, said) = given.finish(capture, results);
        notes.extend(said);
        rows
    }
}
