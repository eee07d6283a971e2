//! Whose times rows are, which says what encloses what.
//!
//! An application asks before the first byte of its request leaves and is done after the last of the reply came: its
//! row encloses the call. A server begins an operation once it has the request and is done before its reply leaves:
//! its row is enclosed by the call, seen at the server or anywhere before it.

use super::SLACK_NS;
use super::span::Span;
use std::sync::Arc;
use trace::Application;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Whose {
    Application,
    Server,
}

impl Whose {
    /// The word in sentences.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Whose::Application => "application",
            Whose::Server => "server",
        }
    }

    /// Of a report or trace of both, what is told of these operations.
    pub(crate) fn own(self, app: &Arc<Application>) -> Arc<Application> {
        if !app.of_servers {
            return Arc::clone(app);
        }
        let mut own = Application::clone(app);
        match self {
            Whose::Application => {
                own.samples.clear();
                own.operations.clear();
            }
            Whose::Server => {
                own.histograms.clear();
                own.blocks = None;
            }
        }
        Arc::new(own)
    }

    /// Of a row and a call, what encloses, and what is enclosed.
    pub(super) fn outer_inner<T>(self, row: T, call: T) -> (T, T) {
        match self {
            Whose::Application => (row, call),
            Whose::Server => (call, row),
        }
    }

    /// How much earlier what is enclosed may begin, and how much later it may end, where rows note their times up to
    /// `grain_ns` too early.
    pub(super) fn slack(self, grain_ns: i64) -> Slack {
        let (early_ns, late_ns) = match self {
            Whose::Application => (SLACK_NS, SLACK_NS.saturating_add(grain_ns)),
            Whose::Server => (SLACK_NS.saturating_add(grain_ns), SLACK_NS),
        };
        Slack { early_ns, late_ns }
    }

    /// How much longer what encloses took; clocks of different steps may make it less than nothing.
    pub(super) fn between_ns(self, row: &Span, call: &Span) -> i64 {
        let (outer, inner) = self.outer_inner(row, call);
        outer.took().saturating_sub(inner.took()).max(0)
    }
}

/// By how much clocks of one host may differ.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Slack {
    pub(super) early_ns: i64,
    pub(super) late_ns: i64,
}

impl Slack {
    pub(super) fn begins_within(self, outer: &Span, inner: &Span) -> bool {
        inner.from >= outer.from.saturating_sub(self.early_ns)
    }

    pub(super) fn ends_within(self, outer: &Span, inner: &Span) -> bool {
        inner.until <= outer.until.saturating_add(self.late_ns)
    }
}
