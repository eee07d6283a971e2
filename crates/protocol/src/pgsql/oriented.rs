//! One connection of which it may have to be found out who is the client: a session, and which way it lies.

use super::chain;
use super::session::Session;
use crate::session::{
    ConnectionInfo, Context, Hole, Kept, More, Run, Session as SessionTrait, Span, Step,
};
use crate::sql::Opaque;
use model::{Close, Direction, Time};

/// Turns what is said the other way round where the client is the other one than was taken for it.
#[derive(Debug)]
pub(super) struct Oriented {
    session: Session,
    /// Whether the client is the other one than was taken for it, once that is known.
    reversed: Option<bool>,
}

impl Oriented {
    pub(super) fn new(connection: &ConnectionInfo) -> Oriented {
        Oriented {
            session: Session::new(),
            reversed: connection.roles_known.then_some(false),
        }
    }

    fn turned(&self, d: Direction) -> Direction {
        match self.reversed {
            Some(true) => d.reverse(),
            _ => d,
        }
    }

    /// Calls `f` with the connection and direction as they are.
    fn with<R>(
        &mut self,
        cx: &mut Context<'_>,
        d: Direction,
        f: impl FnOnce(&mut Session, &mut Context<'_>, Direction) -> R,
    ) -> R {
        if self.reversed != Some(true) {
            return f(&mut self.session, cx, d);
        }
        let connection = ConnectionInfo {
            client: cx.connection.server,
            server: cx.connection.client,
            ..*cx.connection
        };
        let mut turned = Context {
            connection: &connection,
            output: &mut *cx.output,
            problems: &mut *cx.problems,
            shared: &mut *cx.shared,
            ..*cx
        };
        f(&mut self.session, &mut turned, d.reverse())
    }
}

impl SessionTrait for Oriented {
    fn step(&mut self, cx: &mut Context<'_>, d: Direction, bytes: &[u8], more: More) -> Step {
        self.with(cx, d, |s, cx, d| s.step(cx, d, bytes, more))
    }

    fn complete(&mut self, cx: &mut Context<'_>, d: Direction, span: &Span) {
        self.with(cx, d, |s, cx, d| s.complete(cx, d, span));
    }

    fn resync(
        &mut self,
        cx: &mut Context<'_>,
        d: Direction,
        bytes: &[u8],
        at_start: bool,
        wire: u64,
    ) -> Option<usize> {
        if self.reversed.is_none() {
            // The first bytes are those that were certain.
            let known = chain::orientation(cx.connection, d, bytes);
            self.reversed = known.map(|as_it_is| as_it_is != d);
        }
        self.with(cx, d, |s, cx, d| s.resync(cx, d, bytes, at_start, wire))
    }

    fn abandon(
        &mut self,
        cx: &mut Context<'_>,
        d: Direction,
        span: Option<Span>,
        close: Option<Close>,
    ) {
        self.with(cx, d, |s, cx, d| s.abandon(cx, d, span, close));
    }

    fn skipped(&mut self, cx: &mut Context<'_>, d: Direction, run: &Run) {
        self.with(cx, d, |s, cx, d| s.skipped(cx, d, run));
    }

    fn hole(&mut self, d: Direction, hole: Hole, at: Time) {
        let d = self.turned(d);
        self.session.hole(d, hole, at);
    }

    fn datagram(&mut self, cx: &mut Context<'_>, d: Direction, bytes: &[u8], span: Span) {
        self.with(cx, d, |s, cx, d| s.datagram(cx, d, bytes, span));
    }

    fn opaque(&self) -> Option<Opaque> {
        self.session.opaque()
    }

    fn kept(&self) -> Kept {
        self.session.kept()
    }

    fn close(&mut self, cx: &mut Context<'_>, why: Close) {
        self.with(cx, Direction::ToServer, |s, cx, _| s.close(cx, why));
    }
}
