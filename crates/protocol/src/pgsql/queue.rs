//! Requests in the order in which they were sent, and what the server says in the order in which it
//! answers: pairs of them into calls. The protocol has no ids, so a hole may leave two possibilities:
//! - A client that waits for each answer before it asks on has one request under way. Where the snap
//!   length cuts headers off, all that the server says until the client speaks again answers it, as
//!   with turns; where the end was not seen, the call is marked as inferred.
//! - A client of which everything was seen since its logon, and that was never seen to begin a round trip before the last one
//!   was answered, waits, whatever the snap length hides of what the server said.
//! - Of a client that was seen to send on without waiting nothing is paired behind such a hole until
//!   both sides have been silent for a while, when everything has been answered. Of one of which too
//!   little is known, until it has waited for its answers for a while.
//! - Packets missing from the capture may hide any number of requests and answers, so calls that were
//!   under way then never become complete, but for those of which the beginning and the end of the
//!   answer were seen.

mod holes;
mod pending;
mod replies;
mod requests;

pub(super) use pending::RequestKind;

use super::reply::Reply;
use crate::session::{Both, Context, Hole, Kept, Span};
use model::{Close, Mark, Reason, Sql, SqlSession, Time};
use pending::Pending;
use std::collections::VecDeque;
use std::sync::Arc;

/// A silence after which everything that was asked is taken to be answered, where nothing better
/// tells.
const SILENCE_NS: i64 = 1_000_000_000;

/// A client that has waited for so many answers in a row is one that waits.
const WAITED: u32 = 8;

/// What the server said before its request was seen.
#[derive(Debug)]
struct Early {
    reply: Reply,
    span: Span,
}

impl Queue {
    /// What it keeps of calls under way.
    pub(super) fn kept(&self, kept: Kept) -> Kept {
        let statements = self.pending.iter().map(|p| p.exchange.sql.kept_bytes());
        kept.and(self.pending.len(), size_of::<Pending>())
            .and(self.early.len(), size_of::<Early>())
            .and_each(statements)
    }
}

/// What the server says before its client is heard: it answers what had been asked before the capture began.
#[derive(Clone, Copy, Default, Debug)]
enum Before {
    #[default]
    Nothing,
    /// So much has come of an answer.
    Said(Span),
    /// The client has spoken, or may have in what the capture lost.
    Over,
}

/// The calls of a session.
#[derive(Default, Debug)]
pub(super) struct Queue {
    pending: VecDeque<Pending>,
    early: Vec<Early>,
    /// Whose session it is; the record of a call without a statement.
    pub sql: Arc<Sql>,
    /// Messages of the extended protocol were sent since the last Sync.
    in_cycle: bool,
    /// Of which calls were told.
    told_in_cycle: bool,
    /// The server ignores everything until the next Sync.
    skipping: bool,
    /// START_REPLICATION and the like: both sides stream, and nobody answers.
    streaming: bool,
    holes: Both<Option<Hole>>,
    /// Answers the client waited for in a row; those it did not wait for at all.
    waited: u32,
    pipelines: bool,
    /// Everything that the client has said since the connection began was seen; and it began a round trip before the last one
    /// was answered.
    heard_all: bool,
    runs_ahead: bool,
    /// Requests and answers cannot be told apart any more, and why.
    deaf: Option<Reason>,
    /// Answers that ended since the client last spoke, while that is so; whether any of their bytes had no header.
    ended: u32,
    unread: bool,
    /// Whether the server has spoken since the last request, or may have.
    spoken: bool,
    last: Option<Time>,
    /// Whether an exchange was seen from its start to its end; whether headers were ever hidden.
    in_step: bool,
    torn: bool,
    /// The same since an answer was last seen that was waited for, while nobody knows what answers what.
    torn_since: bool,
    /// When the client last spoke.
    asked: Option<Time>,
    /// The server has said something since the last request that was seen, and nobody had asked.
    unasked: bool,
    before: Before,
    /// A request may be hidden in front of the next one.
    doubt: bool,
    /// A call that is over, but for bytes of its answer that may yet turn out to be no header.
    settled: Option<Pending>,
    /// What came early is looked at again.
    replaying: bool,
    /// When the server last said anything, and by when the capture lacked something of that.
    heard: Option<Time>,
    lacked: Option<(Time, Hole)>,
    /// The last of what was said to calls that a hole took the end of.
    said: Option<Mark>,
}

impl Queue {
    pub(super) fn is_negotiating(&self) -> bool {
        self.pending
            .front()
            .is_some_and(|p| p.kind == RequestKind::Negotiation)
    }

    /// Whether both sides stream: a standby copies what the server writes.
    pub(super) fn is_streaming(&self) -> bool {
        self.streaming
    }

    /// Whether nothing is under way.
    pub(super) fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    /// What became known of the session belongs to the calls that are under way too.
    pub(super) fn set_session(&mut self, session: SqlSession) {
        let session = Arc::new(session);
        self.sql = Arc::new(Sql {
            session,
            statement: None,
        });
        for p in &mut self.pending {
            if matches!(p.kind, RequestKind::Startup | RequestKind::Negotiation) {
                p.exchange.sql = Arc::clone(&self.sql);
            }
        }
    }

    /// The connection is over.
    pub(super) fn close(&mut self, cx: &mut Context<'_>, why: Close) {
        self.heal(cx);
        let silent = self.last.is_some_and(|last| cx.now - last >= SILENCE_NS);
        let reason = why.reason();
        for p in std::mem::take(&mut self.pending) {
            let begun = p.exchange.response.is_some();
            let over =
                p.blurred && !p.gapped && p.hurt.is_none() && (!why.is_of_looking() || silent);
            if begun && (p.failed || over) {
                self.pending.push_front(p);
                self.settle_front(cx, None);
            } else {
                // What the capture lacks behind its request may have answered it.
                let asked = p.exchange.request.last.time;
                let lacked = self.lacked.filter(|(at, _)| *at >= asked);
                let hidden = lacked.filter(|_| reason == Reason::NoAnswer);
                p.give_up(cx, hidden.map_or(reason, |(_, hole)| hole.reason()));
            }
        }
        self.tell_settled(cx);
        self.early.clear();
    }
}
