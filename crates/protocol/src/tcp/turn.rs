//! One turn: what was seen of its request and its response, and the call it makes.

use crate::session::{Context, held_ns};
use crate::sql::Opaque;
use model::{
    Call, Chunk, Detail, HeldSince, HiddenResponse, Mark, Name, Outcome, Protocol, Reason, Time,
    sql,
};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A request or a response, as far as it has been seen.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Part {
    /// The packet of its first byte that was seen, and the latest of all.
    pub first: Mark,
    pub last: Mark,
    pub sequence: u32,
    pub bytes: u64,
    /// How long TCP held its first and its last packet.
    pub first_held_ns: i64,
    pub last_held_ns: i64,
    /// How much of that was by trouble, and not behind others, which were not acknowledged.
    pub last_troubled_ns: i64,
    /// Whether the capture lacks its last byte.
    pub end_missing: bool,
}

impl Part {
    /// Begins with `chunk`; the packet before it came with `before`.
    pub(super) fn of(chunk: &Chunk<'_>, before: Mark) -> Part {
        Part {
            first: chunk.mark,
            last: chunk.mark,
            sequence: chunk.sequence,
            bytes: length(chunk),
            first_held_ns: held_ns(chunk.held_since, before.time, chunk.mark.time),
            last_held_ns: 0,
            last_troubled_ns: 0,
            end_missing: false,
        }
    }

    /// Goes on with `chunk`.
    pub(super) fn extend(&mut self, chunk: &Chunk<'_>) {
        self.bytes += length(chunk);
        self.end_missing = false;
        if chunk.mark.time >= self.last.time {
            self.last = chunk.mark;
            let held = |since| held_ns(since, self.first.time, chunk.mark.time);
            let troubled = chunk.held_since.and_then(|s| s.troubled);
            self.last_held_ns = held(chunk.held_since);
            self.last_troubled_ns = held(troubled.map(HeldSince::troubled));
        }
    }

    /// Goes on with bytes that the capture lacks.
    fn lose(&mut self, length: u64) {
        self.bytes += length;
        self.end_missing = true;
    }
}

fn length(chunk: &Chunk<'_>) -> u64 {
    chunk.data.len() as u64 + u64::from(chunk.cut)
}

/// How far the answer is.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) enum Answer {
    None,
    /// It began in a gap, so that nobody knows when; by then it had passed.
    Hidden(Option<Time>),
    Seen(Part),
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Turn {
    request: Part,
    pub answer: Answer,
    /// Whether its request may have begun before the connection's first packet in the capture.
    pub begun_before: bool,
    /// Whether one side spoke while the other did: what belongs to which request is not known.
    pub overlaps: bool,
    /// Why it has no answer, or why the end of its answer is not known, where that is not a gap.
    pub ended: Option<Reason>,
}

impl Turn {
    /// Opened by the client's `chunk`.
    pub(super) fn open(chunk: &Chunk<'_>) -> Turn {
        Turn {
            request: Part::of(chunk, chunk.mark),
            answer: Answer::None,
            begun_before: false,
            overlaps: false,
            ended: None,
        }
    }

    /// The same, of which nobody knows whether those were its first bytes.
    pub(super) fn in_the_middle(chunk: &Chunk<'_>) -> Turn {
        Turn {
            begun_before: true,
            ..Turn::open(chunk)
        }
    }

    pub(super) fn is_answered(&self) -> bool {
        !matches!(self.answer, Answer::None)
    }

    /// Whether its request or its answer is several packets.
    pub(super) fn is_several_packets(&self) -> bool {
        let several = |part: &Part| part.first.packet != part.last.packet;
        let answer = match &self.answer {
            Answer::Seen(part) => several(part),
            Answer::None | Answer::Hidden(_) => false,
        };
        several(&self.request) || answer
    }

    /// Of its request's first byte.
    pub(super) fn sequence(&self) -> u32 {
        self.request.sequence
    }

    /// Its request so far, where no answer has come.
    pub(super) fn unanswered(&self) -> Option<&Part> {
        let is_whole = !self.is_answered() && !self.overlaps && !self.request.end_missing;
        is_whole.then_some(&self.request)
    }

    /// The last packet of its request so far.
    pub(super) fn asked(&self) -> Mark {
        self.request.last
    }

    /// Its last packet so far.
    pub(super) fn last(&self) -> Mark {
        match &self.answer {
            Answer::Seen(part) => part.last,
            Answer::None | Answer::Hidden(_) => self.request.last,
        }
    }

    /// The client goes on.
    pub(super) fn ask(&mut self, chunk: &Chunk<'_>) {
        self.request.extend(chunk);
    }

    /// The client goes on with bytes that the capture lacks.
    pub(super) fn ask_unseen(&mut self, length: u64) {
        self.request.lose(length);
    }

    /// The server answers, or goes on.
    pub(super) fn answer(&mut self, chunk: &Chunk<'_>) {
        match &mut self.answer {
            Answer::Seen(part) => part.extend(chunk),
            Answer::None => self.answer = Answer::Seen(Part::of(chunk, self.request.last)),
            Answer::Hidden(by) => *by = by.map(|by| by.max(chunk.mark.time)),
        }
    }

    /// The server answers, or goes on, with bytes that the capture lacks.
    pub(super) fn answer_unseen(&mut self, length: u64, at: Time) {
        match &mut self.answer {
            Answer::Seen(part) => part.lose(length),
            Answer::None => self.answer = Answer::Hidden(Some(at)),
            Answer::Hidden(by) => *by = by.map(|by| by.max(at)),
        }
    }

    /// The answer's first bytes are not known.
    pub(super) fn hide_answer(&mut self) {
        self.answer = Answer::Hidden(None);
    }

    /// What the capture lacks may have been the end of the answer.
    pub(super) fn doubt_end(&mut self) {
        if let Answer::Seen(part) = &mut self.answer {
            part.end_missing = true;
        }
    }

    fn outcome(&self) -> Outcome {
        match &self.answer {
            Answer::None => Outcome::NoResponse(self.ended.unwrap_or(Reason::NoAnswer)),
            Answer::Hidden(_) => Outcome::NoResponse(Reason::CaptureGap),
            Answer::Seen(a) if a.end_missing || self.request.end_missing => {
                Outcome::Incomplete(Reason::CaptureGap)
            }
            Answer::Seen(_) => match self.ended {
                Some(reason) => Outcome::Incomplete(reason),
                None if self.begun_before => Outcome::Incomplete(Reason::BeforeCapture),
                None => Outcome::Ok,
            },
        }
    }

    /// The call that it is.
    pub(super) fn call(&self, cx: &Context<'_>, protocol: Protocol, of: Option<&Opaque>) -> Call {
        let answer = match &self.answer {
            Answer::Seen(part) => Some(part),
            _ => None,
        };
        let ends_unseen = |a: &Part| a.end_missing || self.ended.is_some();
        let hidden = match self.answer {
            Answer::Hidden(by) if !self.request.end_missing => by,
            _ => None,
        };
        let asked = self.request.last;
        Call {
            response_last: answer.filter(|a| !ends_unseen(a)).map(|a| a.last),
            hidden: hidden.map(|by| HiddenResponse {
                earliest: asked,
                latest: by.max(asked.time),
                held_ns: 0,
            }),
            sql: of.map(|o| Arc::clone(&o.sql)),
            ..call(
                cx,
                (protocol, sql::op::TURN),
                (&self.request, answer),
                self.outcome(),
            )
        }
    }
}

/// The call of a request and its response, if it has one: nothing was read of either.
pub(super) fn call(
    cx: &Context<'_>,
    (protocol, op): (Protocol, Name),
    (request, answer): (&Part, Option<&Part>),
    outcome: Outcome,
) -> Call {
    Call {
        order: cx.order,
        connection: cx.connection.id,
        protocol,
        op,
        client: cx.connection.client,
        server: cx.connection.server,
        id: request.sequence,
        request_sequence: request.sequence,
        response_sequence: answer.map_or(0, |a| a.sequence),
        request_first: Some(request.first),
        request_last: (!request.end_missing).then_some(request.last),
        response_first: answer.map(|a| a.first),
        response_last: answer.map(|a| a.last),
        request_bytes: request.bytes,
        response_bytes: answer.map_or(0, |a| a.bytes),
        outcome,
        outstanding: 1,
        retransmits: 0,
        // What holds back the first byte of a request is not seen: it may not have been written.
        request_held_ns: request.last_troubled_ns,
        response_held_ns: answer.map_or(0, |a| a.first_held_ns + a.last_held_ns),
        inner: None,
        hidden: None,
        detail: Detail::default(),
        text: None,
        sql: None,
    }
}
