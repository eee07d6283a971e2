//! Questions over datagrams into calls: each datagram asks or answers something, and is one message.
//!
//! Who answers need not be who was asked: a question to everybody on the link (mDNS, LLMNR, NetBIOS
//! names) goes to one address, and the answer comes from another, or goes to everybody in its turn. So
//! questions wait in what the connections of a thread share; `net` brings all such conversations of a
//! capture to one thread. A protocol only reads a [`Message`] from bytes.
//!
//! The same question sent again, before an answer came, is one call from its first sending. Questions
//! are not counted as outstanding, as nobody limits them; that they are asked and answered is said all the same,
//! for whoever asks may do so for somebody else's request.

use crate::session::{
    Both, ConnectionInfo, Context, Hole, Kept, More, Session as SessionTrait, Span, Step,
};
use arrayvec::ArrayVec;
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use model::{
    Call, Change, Close, Detail, Direction, Endpoint, Field, Name, Outcome, Outstanding, Protocol,
    Reason, Time, Where, limits,
};
use std::collections::VecDeque;
use std::hash::BuildHasher;
use std::sync::Arc;

/// Who may answer a question.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Answerer {
    /// Whom it was sent to, and to whence it came.
    Asked,
    /// Anybody who answers to whence it came.
    Anybody,
    /// Anybody, to everybody.
    Everybody,
}

/// What a datagram says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Says {
    Asks {
        op: Name,
        name: Option<Arc<str>>,
        answerer: Answerer,
    },
    Answers {
        outcome: Outcome,
        /// What was found, where that says more than what was asked.
        name: Option<Arc<str>>,
        /// A status without a name.
        status: Option<u64>,
        records: u64,
        /// Whether an answer to a question nobody was seen to ask is worth a call.
        stray: Option<Name>,
    },
}

/// A question or an answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Message {
    pub protocol: Protocol,
    pub id: u32,
    /// What is asked, by [`question`]; an answer may answer several. Empty where it cannot be told.
    pub questions: Vec<u64>,
    pub says: Says,
}

/// A name and a type as one number; names are compared without case.
pub(crate) fn question(name: &[u8], kind: u16) -> u64 {
    let lower: Vec<u8> = name.iter().map(u8::to_ascii_lowercase).collect();
    FixedState::default().hash_one((lower, kind))
}

/// What a question takes up that waits, with a name of some length.
const QUESTION_BYTES: usize = size_of::<Key>() + size_of::<Waiting>() + 320;

/// What a question waits under.
type Key = (Protocol, u32, u64);

#[derive(Clone, Debug)]
struct Waiting {
    connection: ConnectionInfo,
    from: Endpoint,
    to: Endpoint,
    answerer: Answerer,
    op: Name,
    name: Option<Arc<str>>,
    span: Span,
    retransmits: u32,
    outstanding: u32,
}

impl Waiting {
    fn change(&self, order: u64, id: u32, time: Time, change: Change) -> Outstanding {
        Outstanding {
            order,
            time,
            connection: self.connection.id,
            client: self.from,
            server: self.to,
            id,
            change,
        }
    }
}

/// The questions of one thread that wait for an answer.
#[derive(Default, Debug)]
pub struct Asked {
    waiting: HashMap<Key, Vec<Waiting>, FixedState>,
}

impl Asked {
    /// Takes out those under `key` that `fits`.
    fn take(&mut self, key: Key, fits: impl Fn(&Waiting) -> bool) -> Vec<Waiting> {
        let Some(of_key) = self.waiting.get_mut(&key) else {
            return Vec::new();
        };
        let (taken, rest): (Vec<_>, Vec<_>) = std::mem::take(of_key).into_iter().partition(fits);
        *of_key = rest;
        if of_key.is_empty() {
            self.waiting.remove(&key);
        }
        taken
    }
}

/// Reads a datagram, or a message of a stream.
pub(crate) type Read = fn(&ConnectionInfo, Direction, &[u8]) -> Option<Message>;

/// One conversation.
pub(crate) struct Session {
    read: Read,
    /// What this conversation asked and has, perhaps, not been told, oldest first.
    keys: VecDeque<Key>,
    /// What it asked last and was told, to know a second answer.
    told: ArrayVec<(u32, u64), 16>,
    /// Over TCP: what is passing, and what may have hidden messages.
    passing: Both<Option<Message>>,
    holes: Both<Option<Reason>>,
}

impl Session {
    pub(crate) fn new(read: Read) -> Session {
        Session {
            read,
            keys: VecDeque::new(),
            told: ArrayVec::new(),
            passing: Both::default(),
            holes: Both::default(),
        }
    }

    fn message(&mut self, cx: &mut Context<'_>, d: Direction, message: Message, span: &Span) {
        let (from, to) = cx.connection.ends(d);
        let Message {
            protocol,
            id,
            questions,
            says,
        } = message;
        match says {
            Says::Asks { op, name, answerer } => {
                let asked = questions.first().copied().unwrap_or_default();
                let key = (protocol, id, asked);
                self.ask(cx, key, |connection, outstanding| Waiting {
                    connection,
                    from,
                    to,
                    answerer,
                    op,
                    name,
                    span: *span,
                    retransmits: 0,
                    outstanding,
                });
            }
            Says::Answers {
                outcome,
                name,
                status,
                records,
                stray,
            } => {
                let mut detail = Detail::default();
                detail.set(Field::Answers, records);
                if let Some(status) = status {
                    detail.set(Field::Status, status);
                }
                let answer = Answer {
                    from,
                    to,
                    span: *span,
                    outcome,
                    name,
                    detail,
                };
                self.answer(cx, (protocol, id, questions), &answer, stray);
            }
        }
    }

    fn ask(
        &mut self,
        cx: &mut Context<'_>,
        key: Key,
        waiting: impl FnOnce(ConnectionInfo, u32) -> Waiting,
    ) {
        let new = waiting(*cx.connection, self.keys.len() as u32 + 1);
        let of_key = cx.shared.asked.waiting.entry(key).or_default();
        let same = |w: &&mut Waiting| w.connection.id == new.connection.id && w.from == new.from;
        if let Some(asked_before) = of_key.iter_mut().find(same) {
            asked_before.retransmits += 1;
            return;
        }
        let change = new.change(cx.order, key.1, new.span.first.time, Change::Asked);
        cx.output.change(|| change);
        of_key.push(new);
        self.told.retain(|t| *t != (key.1, key.2));
        // One that another conversation was told the answer of may stand here still.
        if !self.keys.contains(&key) {
            self.keys.push_back(key);
        }
        if self.keys.len() > limits::QUESTIONS
            && let Some(oldest) = self.keys.pop_front()
        {
            cx.problems.note("requests-evicted", || {
                let text = "a question was forgotten, too many wait for an answer";
                (text.into(), Where::default())
            });
            give_up(cx, oldest, Reason::Evicted);
        }
    }

    fn answer(
        &mut self,
        cx: &mut Context<'_>,
        (protocol, id, mut questions): (Protocol, u32, Vec<u64>),
        answer: &Answer,
        stray: Option<Name>,
    ) {
        if questions.is_empty() {
            // An error without a word of what was asked: the number must do.
            let of_id = self.keys.iter().find(|k| k.0 == protocol && k.1 == id);
            questions.extend(of_id.map(|k| k.2));
        }
        let mut any = false;
        for asked in &questions {
            let key = (protocol, id, *asked);
            let fits = |w: &Waiting| match w.answerer {
                Answerer::Asked => w.from == answer.to && w.to == answer.from,
                Answerer::Anybody => w.from == answer.to,
                Answerer::Everybody => true,
            };
            for waiting in cx.shared.asked.take(key, fits) {
                any = true;
                if waiting.connection.id == cx.connection.id {
                    self.keys.retain(|k| *k != key);
                    if self.told.is_full() {
                        self.told.pop_at(0);
                    }
                    self.told.push((id, *asked));
                }
                report(cx, protocol, id, waiting, Some(answer), answer.outcome);
            }
        }
        let again = questions.iter().any(|q| self.told.contains(&(id, *q)));
        if let Some(op) = stray
            && !any
            && !again
        {
            let hole = self.holes.to_server;
            stray_answer(
                cx,
                protocol,
                id,
                op,
                answer,
                hole.unwrap_or(Reason::BeforeCapture),
            );
        }
    }
}

/// An answer, and who gave it to whom.
struct Answer {
    from: Endpoint,
    to: Endpoint,
    span: Span,
    outcome: Outcome,
    name: Option<Arc<str>>,
    detail: Detail,
}

/// A question of this conversation will not be answered.
fn give_up(cx: &mut Context<'_>, key: Key, reason: Reason) {
    let id = cx.connection.id;
    for waiting in cx.shared.asked.take(key, |w| w.connection.id == id) {
        report(cx, key.0, key.1, waiting, None, Outcome::NoResponse(reason));
    }
}

fn report(
    cx: &mut Context<'_>,
    protocol: Protocol,
    id: u32,
    waiting: Waiting,
    answer: Option<&Answer>,
    outcome: Outcome,
) {
    // When somebody who is not answered stops waiting no packet says.
    if let Some(answer) = answer {
        let at = answer.span.last.time;
        cx.output
            .change(|| waiting.change(cx.order, id, at, Change::Told));
    }
    if cx.output.counts(outcome) {
        return;
    }
    let (order, request) = (cx.order, waiting.span);
    cx.output.call(|| Call {
        order,
        connection: waiting.connection.id,
        protocol,
        op: waiting.op,
        client: waiting.from,
        server: answer.map_or(waiting.to, |a| a.from),
        id,
        request_sequence: request.sequence,
        response_sequence: answer.map_or(0, |a| a.span.sequence),
        request_first: Some(request.first),
        request_last: Some(request.last),
        response_first: answer.map(|a| a.span.first),
        response_last: answer.map(|a| a.span.last),
        request_bytes: request.bytes,
        response_bytes: answer.map_or(0, |a| a.span.bytes),
        outcome,
        outstanding: waiting.outstanding,
        retransmits: waiting.retransmits,
        request_held_ns: 0,
        response_held_ns: 0,
        inner: None,
        hidden: None,
        detail: answer.map_or_else(Detail::default, |a| a.detail),
        text: answer.and_then(|a| a.name.clone()).or(waiting.name),
        sql: None,
    });
}

/// An answer whose question was not seen.
fn stray_answer(
    cx: &mut Context<'_>,
    protocol: Protocol,
    id: u32,
    op: Name,
    answer: &Answer,
    reason: Reason,
) {
    let (order, connection) = (cx.order, cx.connection.id);
    cx.output.call(|| Call {
        order,
        connection,
        protocol,
        op,
        client: answer.to,
        server: answer.from,
        id,
        request_sequence: 0,
        response_sequence: answer.span.sequence,
        request_first: None,
        request_last: None,
        response_first: Some(answer.span.first),
        response_last: Some(answer.span.last),
        request_bytes: 0,
        response_bytes: answer.span.bytes,
        outcome: Outcome::NoRequest(reason),
        outstanding: 0,
        retransmits: 0,
        request_held_ns: 0,
        response_held_ns: 0,
        inner: None,
        hidden: None,
        detail: answer.detail,
        text: None,
        sql: None,
    });
}

/// Bytes of the length before each message over TCP (RFC 1035 section 4.2.2).
const LENGTH: usize = 2;

impl SessionTrait for Session {
    fn step(&mut self, cx: &mut Context<'_>, d: Direction, bytes: &[u8], more: More) -> Step {
        let Some((length, rest)) = bytes.split_first_chunk::<LENGTH>() else {
            return match more {
                More::Yes => Step::Need(LENGTH),
                More::No => Step::Lost,
            };
        };
        let length = usize::from(u16::from_be_bytes(*length));
        let wanted = length.min(limits::HEAD_BYTES - LENGTH);
        if rest.len() < wanted && more == More::Yes {
            return Step::Need(LENGTH + wanted);
        }
        let message = rest.get(..wanted).unwrap_or(rest);
        match (self.read)(cx.connection, d, message) {
            Some(message) => {
                *self.passing.of_mut(d) = Some(message);
                Step::End((LENGTH + length) as u64)
            }
            None => Step::Lost,
        }
    }

    fn complete(&mut self, cx: &mut Context<'_>, d: Direction, span: &Span) {
        if let Some(message) = self.passing.of_mut(d).take() {
            self.message(cx, d, message, span);
        }
    }

    fn resync(
        &mut self,
        cx: &mut Context<'_>,
        d: Direction,
        bytes: &[u8],
        at_start: bool,
        _wire: u64,
    ) -> Option<usize> {
        // The length for itself, as the probe takes it.
        if at_start && bytes.len() == LENGTH {
            return Some(0);
        }
        (0..bytes.len()).find(|at| {
            let message = bytes.get(at + LENGTH..).unwrap_or_default();
            let read = (self.read)(cx.connection, d, message);
            read.is_some_and(|m| match m.says {
                Says::Asks { .. } => at_start && *at == 0,
                Says::Answers { .. } => {
                    at_start && *at == 0
                        || self.keys.iter().any(|k| (k.0, k.1) == (m.protocol, m.id))
                }
            })
        })
    }

    fn abandon(
        &mut self,
        cx: &mut Context<'_>,
        d: Direction,
        span: Option<Span>,
        _close: Option<Close>,
    ) {
        if let (Some(message), Some(span)) = (self.passing.of_mut(d).take(), span) {
            self.message(cx, d, message, &span);
        }
    }

    fn hole(&mut self, d: Direction, hole: Hole, _at: Time) {
        *self.holes.of_mut(d) = Some(hole.reason());
    }

    fn datagram(&mut self, cx: &mut Context<'_>, d: Direction, bytes: &[u8], span: Span) {
        if let Some(message) = (self.read)(cx.connection, d, bytes) {
            self.message(cx, d, message, &span);
        }
    }

    /// With what waits in its name.
    fn kept(&self) -> Kept {
        Kept::of(self).and(self.keys.len(), size_of::<Key>() + QUESTION_BYTES)
    }

    fn close(&mut self, cx: &mut Context<'_>, why: Close) {
        let reason = (*self.holes.of(Direction::ToClient)).unwrap_or(why.reason());
        for key in std::mem::take(&mut self.keys) {
            give_up(cx, key, reason);
        }
    }
}
