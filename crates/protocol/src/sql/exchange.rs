//! One request of a database's client and what the server answers, into a [`Call`].
//!
//! A session opens an exchange with the span of its request, adds what follows of either half, and
//! tells it when it is over. The call's id is the TCP sequence number of the request's first byte,
//! which is the same wherever it is captured; databases have none of their own, or one that repeats.

use crate::session::{Context, Span, held_ns};
use model::{
    Call, Change, Detail, Field, Hidden, HiddenResponse, InnerTrips, Mark, Name, Outcome,
    Outstanding, Protocol, Reason, Sql, Time, sql::op,
};
use std::sync::Arc;

/// A request that was sent, and its response as far as it has come.
#[derive(Clone, Debug)]
pub struct Exchange {
    pub op: Name,
    pub request: Span,
    pub response: Option<Span>,
    pub detail: Detail,
    pub sql: Arc<Sql>,
    /// What the server said of it so far.
    pub outcome: Outcome,
    outstanding: u32,
    inner: Option<Box<Inner>>,
    /// Between which moments the end of a response passed that nobody saw.
    answered: Option<(Mark, Time)>,
}

/// Round trips inside an exchange, which few have.
#[derive(Clone, Default, Debug)]
struct Inner {
    count: u32,
    waited: InnerTrips,
    /// When the server asked for more of the request, and when the client last confirmed.
    asked: Option<Time>,
    confirmed: Option<Time>,
}

impl Exchange {
    /// The request has begun with `request`, while `before` others wait for their response.
    pub fn open(
        cx: &mut Context<'_>,
        op: Name,
        request: Span,
        sql: Arc<Sql>,
        before: usize,
    ) -> Exchange {
        let id = request.sequence;
        cx.output.change(|| Outstanding {
            order: cx.order,
            time: request.first.time,
            connection: cx.connection.id,
            client: cx.connection.client,
            server: cx.connection.server,
            id,
            change: Change::Sent,
        });
        Exchange {
            op,
            request,
            response: None,
            detail: Detail::default(),
            sql,
            outcome: Outcome::Ok,
            outstanding: before as u32 + 1,
            inner: None,
            answered: None,
        }
    }

    /// The capture lacks bytes of the server, and these were the response, or its client would still wait: by `at` it had
    /// all of it, and not before what was `said` to those before it.
    pub fn answer_unseen(&mut self, said: Option<Mark>, at: Time) {
        if at >= self.request.last.time {
            let range = self.request.last.time..=at;
            let said = said.filter(|said| range.contains(&said.time));
            self.answered = Some((said.unwrap_or(self.request.last), at));
        }
    }

    /// The request goes on.
    pub fn ask(&mut self, span: &Span) {
        self.request.extend(span);
    }

    /// The server asks for more of the request: the client could not go on before.
    pub(crate) fn asks(&mut self, span: &Span) {
        self.inner.get_or_insert_default().asked = Some(span.last.time);
    }

    /// The request goes on after the server asked for more of it: what was taken for the response was
    /// an inner round trip, and who waited for whom in it is known.
    pub(crate) fn ask_further(&mut self, span: &Span) {
        if self.response.take().is_some() {
            let inner = self.inner.get_or_insert_default();
            inner.count += 1;
            if let Some(asked) = inner.asked.take() {
                inner.waited.of_request = true;
                inner.waited.server_ns += (asked - self.request.last.time).max(0);
                inner.waited.client_ns += (span.first.time - asked).max(0);
            }
        }
        self.request.extend(span);
    }

    /// The client confirms what the server asked for in its response, which then goes on.
    pub(crate) fn confirm(&mut self, span: &Span) {
        let inner = self.inner.get_or_insert_default();
        inner.count += 1;
        if let Some(response) = &self.response {
            inner.waited.client_ns += (span.first.time - response.last.time).max(0);
            inner.confirmed = Some(span.last.time);
        }
    }

    /// The response begins or goes on.
    pub fn answer(&mut self, span: &Span) {
        if let Some(inner) = &mut self.inner
            && let Some(confirmed) = inner.confirmed.take()
        {
            inner.waited.server_ns += (span.first.time - confirmed).max(0);
        }
        match &mut self.response {
            Some(response) => response.extend(span),
            None => self.response = Some(*span),
        }
    }

    /// The response is complete.
    pub fn finish(self, cx: &mut Context<'_>, protocol: Protocol) {
        let lost = |span: &Span| span.end_missing;
        let outcome = match &self.response {
            None => Outcome::NoResponse(Reason::NoAnswer),
            Some(response) if lost(response) || lost(&self.request) => {
                Outcome::Incomplete(Reason::CaptureGap)
            }
            Some(_) => self.outcome,
        };
        self.tell(cx, protocol, outcome);
    }

    /// Nothing more will be seen of the response, for this reason.
    pub fn give_up(mut self, cx: &mut Context<'_>, protocol: Protocol, reason: Reason) {
        let outcome = match &mut self.response {
            None => Outcome::NoResponse(reason),
            Some(response) => {
                response.end_missing = true;
                Outcome::Incomplete(reason)
            }
        };
        self.tell(cx, protocol, outcome);
    }

    /// It turns out that nobody answers such a request: it is no call.
    pub fn discard(self, cx: &mut Context<'_>) {
        settle(cx, self.request.sequence, self.request.last.time);
    }

    fn tell(self, cx: &mut Context<'_>, protocol: Protocol, outcome: Outcome) {
        let Exchange {
            op,
            request,
            response,
            mut detail,
            sql,
            outstanding,
            inner,
            answered,
            ..
        } = self;
        let inner = inner.filter(|inner| inner.count > 0);
        if let Some(inner) = &inner {
            detail.set(Field::InnerTrips, inner.count.into());
        }
        let settled = response.map_or(cx.now, |s| s.last.time);
        settle(cx, request.sequence, settled);
        let call = Halves {
            id: request.sequence,
            op,
            request: Some(request),
            response,
            outstanding,
            inner: inner.map(|inner| Box::new(inner.waited)),
            answered,
        };
        call.tell(cx, protocol, outcome, detail, sql);
    }
}

/// The request with this id is no longer waited for.
fn settle(cx: &mut Context<'_>, id: u32, time: Time) {
    cx.output.change(|| Outstanding {
        order: cx.order,
        time,
        connection: cx.connection.id,
        client: cx.connection.client,
        server: cx.connection.server,
        id,
        change: Change::Settled,
    });
}

/// What a server said without having been asked, as far as the capture shows, for this reason.
pub(crate) fn unasked(
    cx: &mut Context<'_>,
    protocol: Protocol,
    op: Name,
    response: Span,
    sql: Arc<Sql>,
    reason: Reason,
) {
    cx.output.change(|| Outstanding {
        order: cx.order,
        time: response.last.time,
        connection: cx.connection.id,
        client: cx.connection.client,
        server: cx.connection.server,
        id: response.sequence,
        change: Change::Stray,
    });
    let call = Halves {
        id: response.sequence,
        op,
        request: None,
        response: Some(response),
        outstanding: 0,
        inner: None,
        answered: None,
    };
    let outcome = Outcome::NoRequest(reason);
    call.tell(cx, protocol, outcome, Detail::default(), sql);
}

/// A server's greeting: the answer to a connection that was `opened`, a request without bytes. Its id
/// is the sequence number of the greeting.
pub(crate) fn greeted(
    cx: &mut Context<'_>,
    protocol: Protocol,
    opened: Mark,
    greeting: Span,
    sql: Arc<Sql>,
    outcome: Outcome,
) {
    let request = Span {
        first: opened,
        last: opened,
        ..Span::NOTHING
    };
    let call = Halves {
        id: greeting.sequence,
        op: op::CONNECT,
        request: Some(request),
        response: Some(greeting),
        outstanding: 1,
        inner: None,
        answered: None,
    };
    let outcome = match greeting.end_missing {
        true => Outcome::Incomplete(Reason::CaptureGap),
        false => outcome,
    };
    call.tell(cx, protocol, outcome, Detail::default(), sql);
}

/// What was seen of a call.
struct Halves {
    id: u32,
    op: Name,
    request: Option<Span>,
    response: Option<Span>,
    outstanding: u32,
    inner: Option<Box<InnerTrips>>,
    answered: Option<(Mark, Time)>,
}

impl Halves {
    fn tell(
        self,
        cx: &mut Context<'_>,
        protocol: Protocol,
        outcome: Outcome,
        mut detail: Detail,
        sql: Arc<Sql>,
    ) {
        let Halves {
            request, response, ..
        } = self;
        if let Some(statement) = &sql.statement {
            detail.set(Field::Statement, statement.id);
        }
        let first_to_last = |s: &Span| held_ns(s.last_held_since, s.first.time, s.last.time);
        let response_held_ns = response.map_or(0, |s| {
            let waited = request.map_or(0, |r| {
                held_ns(s.first_held_since, r.last.time, s.first.time)
            });
            waited + first_to_last(&s)
        });
        cx.output.call(|| Call {
            order: cx.order,
            connection: cx.connection.id,
            protocol,
            op: self.op,
            client: cx.connection.client,
            server: cx.connection.server,
            id: self.id,
            request_sequence: request.map_or(0, |s| s.sequence),
            response_sequence: response.map_or(0, |s| s.sequence),
            request_first: request.map(|s| s.first),
            request_last: request.filter(|s| !s.end_missing).map(|s| s.last),
            response_first: response.map(|s| s.first),
            response_last: response.filter(|s| !s.end_missing).map(|s| s.last),
            request_bytes: request.map_or(0, |s| s.bytes),
            response_bytes: response.map_or(0, |s| s.bytes),
            outcome,
            outstanding: self.outstanding,
            retransmits: 0,
            // What holds back the first byte of a request is not seen: it may not have been written.
            request_held_ns: request.map_or(0, |s| s.request_held_ns()),
            response_held_ns,
            inner: self.inner,
            hidden: match outcome {
                Outcome::Incomplete(_) => {
                    let halves = request.zip(response);
                    halves.and_then(|halves| cut_off(halves, self.answered))
                }
                Outcome::NoResponse(Reason::CaptureGap | Reason::SnapLength) => {
                    request.zip(self.answered).and_then(unseen)
                }
                _ => None,
            },
            detail,
            text: None,
            sql: Some(sql),
        });
    }
}

/// Of a response whose end was not seen: its client waited for what was, and until its end had passed.
fn cut_off(
    (request, response): (Span, Span),
    answered: Option<(Mark, Time)>,
) -> Option<HiddenResponse> {
    let is_asked = !request.end_missing && response.last.time >= request.last.time;
    let seen = response.last.time;
    is_asked.then_some(HiddenResponse {
        earliest: response.last,
        latest: answered.map_or(seen, |(_, by)| by.max(seen)),
        held_ns: 0,
    })
}

/// Of a response that nobody saw, which passed between these.
fn unseen((request, (earliest, latest)): (Span, (Mark, Time))) -> Option<HiddenResponse> {
    (!request.end_missing).then_some(HiddenResponse {
        earliest,
        latest,
        held_ns: 0,
    })
}

/// What is known of a session whose messages cannot be read.
#[derive(Clone, Debug)]
pub struct Opaque {
    pub protocol: Protocol,
    pub sql: Arc<Sql>,
}

impl Opaque {
    /// `sql`'s session, of which no more is seen for the reason `hidden`.
    #[must_use]
    pub fn hidden(protocol: Protocol, sql: &Sql, hidden: Hidden) -> Opaque {
        let mut session = (*sql.session).clone();
        session.hidden = Some(hidden);
        let sql = Arc::new(Sql {
            session: Arc::new(session),
            statement: None,
        });
        Opaque { protocol, sql }
    }
}
