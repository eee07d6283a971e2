//! A call under way: what was asked and what was answered of it, into a call with its rows.

use crate::pgsql::tag::Tag;
use crate::session::{Context, Span};
use crate::sql::Exchange;
use model::{Field, Protocol, Reason, sql::op};

/// What opened a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::pgsql) enum RequestKind {
    /// SSLRequest or GSSENCRequest: answered with one byte.
    Negotiation,
    Startup,
    Cancel,
    /// Query or FunctionCall: over with ReadyForQuery.
    Simple,
    /// Messages of the extended protocol: over when each was answered.
    Extended,
    /// The header was not captured.
    Unknown,
}

/// A call under way.
#[derive(Clone, Debug)]
pub(super) struct Pending {
    pub exchange: Exchange,
    pub kind: RequestKind,
    /// Steps of the extended protocol that are still to be answered.
    pub steps: u32,
    /// A ReadyForQuery is to come.
    pub ready: bool,
    /// The client may add to it.
    pub building: bool,
    pub executes: bool,
    /// The server takes CopyData.
    pub copying: bool,
    pub rows: u64,
    /// From command tags.
    pub returned: Option<u64>,
    pub affected: Option<u64>,
    /// Headers of its own were cut off, or may have been in a hole.
    pub blurred: bool,
    /// Packets are missing that may have held part of it, or all of its answer.
    pub hurt: Option<Reason>,
    /// Packets are missing from the midst of its answer, or from its end.
    pub(super) gapped: bool,
    /// The server failed it, and will not say more of it than that.
    pub failed: bool,
    pub skipped: bool,
}

impl Pending {
    /// Whether the server has said something to it, and nothing shows where that ends.
    pub(super) fn was_answered_unseen(&self) -> bool {
        self.blurred && self.exchange.response.is_some()
    }

    /// Whether its end was hidden before these bytes, which tell of an event: sessions hear of events between their
    /// transactions (documentation of NOTIFY), and what was seen of its answer came earlier.
    pub(super) fn was_over_before(&self, event: &Span) -> bool {
        let said = self.exchange.response.as_ref();
        self.blurred && said.is_some_and(|said| said.last.time < event.first.time)
    }

    /// Whether its request was captured behind these bytes of the server, which then answer another.
    pub(super) fn is_younger(&self, span: &Span) -> bool {
        let (asked, said) = (self.exchange.request.first, span.first);
        let place = |m: model::Mark| (m.packet.file, m.packet.frame);
        said.time < asked.time && place(said) < place(asked)
    }

    /// A command has done its work.
    pub(super) fn completed(&mut self, tag: Tag) {
        if self.kind == RequestKind::Extended {
            self.steps = self.steps.saturating_sub(1);
        }
        self.copying = false;
        let (sum, n) = match tag {
            Tag::Returned(n) | Tag::Copied(n) => (&mut self.returned, n),
            Tag::Affected(n) => (&mut self.affected, n),
            Tag::Other => return,
        };
        *sum = Some(sum.unwrap_or(0).saturating_add(n));
    }

    /// The call is over.
    pub(super) fn finish(mut self, cx: &mut Context<'_>) {
        if let Some(reason) = self.hurt {
            self.give_up(cx, reason);
            return;
        }
        self.count();
        self.exchange.finish(cx, Protocol::Pgsql);
    }

    pub(super) fn give_up(mut self, cx: &mut Context<'_>, reason: Reason) {
        self.count();
        self.exchange.give_up(cx, Protocol::Pgsql, reason);
    }

    /// Writes down how many rows there were.
    pub(super) fn count(&mut self) {
        let detail = &mut self.exchange.detail;
        let blurred = self.blurred || self.hurt.is_some();
        match (self.rows, self.returned) {
            // CREATE TABLE AS returns nothing, and counts like a SELECT.
            (0, Some(n)) if n > 0 && !blurred && self.exchange.op == op::EXECUTE => {
                detail.set(Field::Affected, n);
            }
            (rows, Some(n)) => detail.set(Field::Rows, rows.max(n)),
            (rows, None) if rows > 0 && !blurred => detail.set(Field::Rows, rows),
            _ => {}
        }
        if let Some(affected) = self.affected {
            detail.set(Field::Affected, affected);
        }
    }
}
