//! One connection of ONC-RPC: finds messages on the stream, pairs calls with replies.

use super::header::{self, CallHeader, Header, RecordMark, ReplyHeader, ReplyStatus};
use super::pending::Pending;
use super::program::{Arguments, HEAD, Program};
use super::programs;
use crate::list::Entry;
use crate::session::{ConnectionInfo, Context, Hole, More, Session as SessionTrait, Span, Step};
use arrayvec::ArrayVec;
use model::{
    Call, Close, Detail, Direction, Field, Name, Outcome, Outstanding, Protocol, Reason, Time, Transport,
    limits,
};
use std::collections::VecDeque;
use std::fmt::Write;

/// ONC-RPC in the list of protocols.
pub const ENTRY: Entry = Entry {
    name: "rpc",
    probe,
    session,
};

/// Ports on which anything but RPC is unlikely: portmap, NFS, and what NFS servers use for MOUNT, NLM,
/// NSM and rquota by default or habit.
const PORTS: &[u16] = &[
    111, 2049, 20048, 4045, 4046, 635, 32765, 32766, 32767, 32768, 32803, 662, 875, 892,
];

/// Requests at the beginning of a connection that may be repetitions from the one before.
const FIRST_REQUESTS: u32 = 64;

/// Shortest message: an accepted reply without results (RFC 5531 section 9).
const SHORTEST: u32 = 24;

/// A header this long can be told from chance by its own words.
const WHOLE_HEADER: usize = 24;

fn session(cx: &ConnectionInfo) -> Box<dyn SessionTrait> {
    Box::new(Session::new(cx))
}

fn probe(c: &ConnectionInfo, _d: Direction, bytes: &[u8]) -> bool {
    if PORTS.contains(&c.server.port) || PORTS.contains(&c.client.port) {
        return true;
    }
    let message = match c.transport {
        Transport::Udp => bytes,
        Transport::Tcp => match RecordMark::parse(bytes) {
            Some(mark) if mark.is_believable() => {
                bytes.get(RecordMark::BYTES..).unwrap_or_default()
            }
            _ => return false,
        },
    };
    // A reply alone is too little to go by: it says nothing that chance does not.
    matches!(header::parse(message), Some(Header::Call(call))
        if message.len() >= 32 && header::word(message, 8) == Some(2) && header::call_is_believable(&call))
}

/// A message whose header has been read and whose end has not passed.
#[derive(Debug)]
enum Message {
    Call {
        header: CallHeader,
        arguments: Arguments,
    },
    Reply {
        header: ReplyHeader,
        results: Vec<u8>,
        call: Option<Box<Pending>>,
        outcome: Outcome,
    },
}

/// A message in several fragments, or the data behind which a compound goes on.
#[derive(Debug)]
enum Phase {
    /// At a record mark.
    Mark,
    /// Behind the data of a compound's WRITE; so many bytes of the record are left.
    Tail { left: u64 },
}

#[derive(Debug)]
struct Lane {
    phase: Phase,
    message: Option<Message>,
    /// The start of a message in several fragments, and what of it has passed.
    fragments: Option<(Vec<u8>, Option<Span>)>,
    /// Whether the fragment that is passing is the record's last.
    last: bool,
    /// When headers were last hidden in a hole, by kind.
    last_cut: Option<Time>,
    last_gap: Option<Time>,
}

impl Lane {
    fn new() -> Lane {
        Lane {
            phase: Phase::Mark,
            message: None,
            fragments: None,
            last: true,
            last_cut: None,
            last_gap: None,
        }
    }
}

/// A reply whose call has not been seen, in case it stands behind it in the file.
#[derive(Debug)]
struct Early {
    header: ReplyHeader,
    results: Vec<u8>,
    span: Span,
    direction: Direction,
}

#[derive(Debug)]
struct Session {
    lanes: [Lane; 2],
    early: VecDeque<Early>,
    /// XIDs in the order of their requests, to forget the oldest when there are too many.
    order: VecDeque<u32>,
    /// Those of them whose reply is probably hidden in a hole.
    doubtful: VecDeque<u32>,
    outstanding: u32,
    /// A running mean of response times.
    usual_ns: i64,
    requests: u32,
    /// XIDs answered last, to tell a second reply from one whose call was not seen.
    answered: ArrayVec<u32, 32>,
    answered_next: usize,
    /// Whether RPC was seen for certain, so that less of a header will do.
    confirmed: bool,
    opened: bool,
    tls: bool,
}

impl Session {
    fn new(_c: &ConnectionInfo) -> Session {
        Session {
            lanes: [Lane::new(), Lane::new()],
            early: VecDeque::new(),
            order: VecDeque::new(),
            doubtful: VecDeque::new(),
            outstanding: 0,
            usual_ns: 0,
            requests: 0,
            answered: ArrayVec::new(),
            answered_next: 0,
            confirmed: false,
            opened: false,
            tls: false,
        }
    }

    fn lane(&mut self, d: Direction) -> &mut Lane {
        let [to_server, to_client] = &mut self.lanes;
        match d {
            Direction::ToServer => to_server,
            Direction::ToClient => to_client,
        }
    }

    /// Reads the start of a message. `None`: it is not one.
    fn read(&mut self, cx: &mut Context<'_>, d: Direction, head: &[u8]) -> Option<Message> {
        let header = match header::parse(head)? {
            // Only the direction can tell which half this is.
            Header::XidOnly { xid } if d == Direction::ToServer => Header::Call(CallHeader::with_xid(xid)),
            Header::XidOnly { xid } => Header::Reply(ReplyHeader::with_xid(xid)),
            header => header,
        };
        Some(match header {
            Header::XidOnly { .. } => return None,
            Header::Call(call) => Message::Call {
                header: call,
                arguments: arguments(&call, head),
            },
            Header::Reply(reply) => {
                let results = reply.body.and_then(|at| head.get(at..)).unwrap_or_default();
                match cx.shared.rpc.remove(cx.connection.id, reply.xid) {
                    Some(mut call) => {
                        let outcome = outcome(&reply, results, &mut call);
                        Message::Reply {
                            header: reply,
                            results: Vec::new(),
                            call: Some(Box::new(call)),
                            outcome,
                        }
                    }
                    None => Message::Reply {
                        header: reply,
                        results: results.to_vec(),
                        call: None,
                        outcome: Outcome::Ok,
                    },
                }
            }
        })
    }

    /// A whole message has passed.
    fn finish(&mut self, cx: &mut Context<'_>, d: Direction, message: Message, span: Span) {
        self.confirmed = true;
        match message {
            Message::Call { header, arguments } => self.request(cx, d, header, arguments, span),
            Message::Reply {
                header,
                results,
                call,
                outcome,
            } => match call {
                Some(call) => self.reply(cx, *call, outcome, span),
                None => self.early_reply(
                    cx,
                    Early {
                        header,
                        results,
                        span,
                        direction: d,
                    },
                ),
            },
        }
    }

    fn request(
        &mut self,
        cx: &mut Context<'_>,
        d: Direction,
        header: CallHeader,
        arguments: Arguments,
        span: Span,
    ) {
        let (client, server) = cx.connection.ends(d);
        if !self.opened {
            self.opened = true;
            cx.shared
                .rpc
                .opened(cx.connection.id, cx.connection.client, cx.connection.server);
        }
        let mut pending = Pending {
            connection: cx.connection.id,
            xid: header.xid,
            client,
            server,
            request: span,
            program: header.program.unwrap_or(0),
            version: header.version.unwrap_or(0),
            procedure: header.procedure.unwrap_or(0),
            security: header.security,
            arguments,
            outstanding: self.outstanding + 1,
            retransmits: 0,
            counted: true,
        };
        if let Some(first) = cx.shared.rpc.get_mut(cx.connection.id, header.xid) {
            if first.is_repeated_by(&pending) {
                first.retransmits += 1;
                return;
            }
            if let Some(old) = cx.shared.rpc.remove(cx.connection.id, header.xid) {
                self.settle(cx, &old, span.first.time);
                cx.problems.note("xid-reused", || {
                    (
                        format!("XID 0x{:08x} used again before it was answered", header.xid),
                        model::Where::default(),
                    )
                });
                let call = old.into_call(
                    cx.order,
                    Outcome::NoResponse(Reason::NoAnswer),
                    &mut cx.shared.rpc.texts,
                );
                cx.output.calls.push(call);
                pending.outstanding = self.outstanding + 1;
            }
        } else if self.requests < FIRST_REQUESTS
            && let Some(first) = cx.shared.rpc.take_first_sending(&pending)
        {
            pending.request.first = first.request.first;
            pending.retransmits = first.retransmits + 1;
        }
        self.requests = self.requests.saturating_add(1);
        if self.requests == FIRST_REQUESTS {
            cx.shared.rpc.settle(
                cx.connection.client,
                cx.connection.server,
                cx.output,
                cx.order,
            );
        }
        self.outstanding += 1;
        cx.output.outstanding.push(change(cx, &pending, span.first.time, true));
        self.remember(cx, header.xid);
        let early = self.early.iter().position(|e| {
            e.header.xid == header.xid && e.direction != d && e.span.first.time >= span.first.time
        });
        match early.and_then(|i| self.early.remove(i)) {
            Some(e) => {
                let outcome = outcome(&e.header, &e.results, &mut pending);
                self.reply(cx, pending, outcome, e.span);
            }
            None => cx.shared.rpc.insert(pending),
        }
    }

    /// Keeps the order of requests, and gives up the oldest when too many wait.
    fn remember(&mut self, cx: &mut Context<'_>, xid: u32) {
        self.order.push_back(xid);
        while self.outstanding as usize > limits::OUTSTANDING {
            let Some(oldest) = self.order.pop_front() else {
                return;
            };
            if let Some(p) = cx.shared.rpc.remove(cx.connection.id, oldest) {
                let now = cx.now;
                self.settle(cx, &p, now);
                cx.problems.note("requests-evicted", || {
                    (
                        format!(
                            "more than {} requests without a reply on one connection",
                            limits::OUTSTANDING
                        ),
                        model::Where::default(),
                    )
                });
                let call = p.into_call(
                    cx.order,
                    Outcome::NoResponse(Reason::Evicted),
                    &mut cx.shared.rpc.texts,
                );
                cx.output.calls.push(call);
            }
        }
        if self.order.len() > 2 * self.outstanding as usize + 1024 {
            let (shared, id) = (&cx.shared.rpc, cx.connection.id);
            self.order.retain(|&xid| shared.contains(id, xid));
        }
    }

    /// A call is no longer waited for.
    fn settle(&mut self, cx: &mut Context<'_>, call: &Pending, at: Time) {
        if call.counted {
            self.outstanding = self.outstanding.saturating_sub(1);
            cx.output.outstanding.push(change(cx, call, at, false));
        }
    }

    /// Reports a call without a response, with what hides it as the reason.
    fn give_up(&mut self, cx: &mut Context<'_>, p: Pending) {
        let replies = if p.client == cx.connection.client {
            self.lane(Direction::ToClient)
        } else {
            self.lane(Direction::ToServer)
        };
        let since = |hole: Option<Time>| hole.is_some_and(|at| at >= p.request.last.time);
        let reason = if since(replies.last_gap) {
            Reason::CaptureGap
        } else if since(replies.last_cut) {
            Reason::SnapLength
        } else {
            Reason::AfterCapture
        };
        let call = p.into_call(cx.order, Outcome::NoResponse(reason), &mut cx.shared.rpc.texts);
        cx.output.calls.push(call);
    }

    /// Replies have been hidden in a hole: stops counting calls sent before it that have waited many
    /// times longer than calls usually do. Should their reply come after all, they are paired.
    fn doubt(&mut self, cx: &mut Context<'_>, answered: &Pending, at: Time) {
        let took = (at - answered.request.first.time).max(0);
        self.usual_ns += (took - self.usual_ns) / 16;
        let replies = if answered.client == cx.connection.client {
            self.lane(Direction::ToClient)
        } else {
            self.lane(Direction::ToServer)
        };
        let Some(hole) = replies.last_cut.max(replies.last_gap) else {
            return;
        };
        while let Some(&oldest) = self.order.front() {
            if let Some(p) = cx.shared.rpc.get_mut(cx.connection.id, oldest) {
                let sent = p.request.last.time;
                if sent >= hole || at - sent <= 8 * self.usual_ns {
                    return;
                }
                let p = p.clone();
                self.settle(cx, &p, at);
                if let Some(p) = cx.shared.rpc.get_mut(cx.connection.id, oldest) {
                    p.counted = false;
                }
                self.doubtful.push_back(oldest);
            }
            self.order.pop_front();
            if self.doubtful.len() > limits::DOUBTFUL
                && let Some(xid) = self.doubtful.pop_front()
                && let Some(p) = cx.shared.rpc.remove(cx.connection.id, xid)
            {
                self.give_up(cx, p);
            }
        }
    }

    fn reply(&mut self, cx: &mut Context<'_>, pending: Pending, outcome: Outcome, span: Span) {
        self.settle(cx, &pending, span.last.time);
        self.doubt(cx, &pending, span.last.time);
        if self.answered.is_full() {
            if let Some(slot) = self.answered.get_mut(self.answered_next) {
                *slot = pending.xid;
            }
            self.answered_next = (self.answered_next + 1) % self.answered.capacity();
        } else {
            self.answered.push(pending.xid);
        }
        let incomplete = pending.request.end_missing || span.end_missing;
        let outcome = if incomplete {
            Outcome::Incomplete(Reason::CaptureGap)
        } else {
            outcome
        };
        let request_last = pending.request.last.time;
        let mut call = pending.into_call(cx.order, outcome, &mut cx.shared.rpc.texts);
        let held = |until: Time, from: Time, since: Option<Time>| {
            since.map_or(0, |s| (until - s.max(from)).max(0))
        };
        call.response_held_ns = held(span.first.time, request_last, span.first_held_since)
            + held(span.last.time, span.first.time, span.last_held_since);
        call.response_sequence = span.sequence;
        call.response_first = Some(span.first);
        call.response_last = (!span.end_missing).then_some(span.last);
        call.response_bytes = span.bytes;
        cx.output.calls.push(call);
    }

    /// A reply without a call: kept for a while, as packets may stand in the wrong order.
    fn early_reply(&mut self, cx: &mut Context<'_>, early: Early) {
        if self.answered.contains(&early.header.xid) {
            cx.problems.note("duplicate-reply", || {
                (
                    format!("XID 0x{:08x} was answered twice", early.header.xid),
                    model::Where::default(),
                )
            });
            return;
        }
        if self.early.len() >= limits::EARLY_RESPONSES
            && let Some(oldest) = self.early.pop_front()
        {
            self.no_request(cx, oldest);
        }
        self.early.push_back(early);
    }

    fn no_request(&mut self, cx: &mut Context<'_>, early: Early) {
        let (server, client) = cx.connection.ends(early.direction);
        let requests = self.lane(early.direction.reverse());
        let reason = match (requests.last_gap, requests.last_cut) {
            (Some(gap), cut) if cut.is_none_or(|cut| gap >= cut) => Reason::CaptureGap,
            (_, Some(_)) => Reason::SnapLength,
            _ => Reason::BeforeCapture,
        };
        let Early { header, span, .. } = early;
        cx.output.calls.push(Call {
            order: cx.order,
            connection: cx.connection.id,
            protocol: Protocol::Rpc,
            op: Name::from("REPLY").unwrap_or_default(),
            client,
            server,
            id: header.xid,
            request_sequence: 0,
            response_sequence: span.sequence,
            request_first: None,
            request_last: None,
            response_first: Some(span.first),
            response_last: (!span.end_missing).then_some(span.last),
            request_bytes: 0,
            response_bytes: span.bytes,
            outcome: Outcome::NoRequest(reason),
            outstanding: 0,
            retransmits: 0,
            request_held_ns: 0,
            response_held_ns: 0,
            detail: Detail::default(),
            text: None,
        });
    }

    /// Whether a record that starts at these bytes is believable, knowing nothing else.
    fn starts_record(
        &self,
        cx: &Context<'_>,
        d: Direction,
        bytes: &[u8],
        at_start: bool,
        wire: u64,
    ) -> bool {
        let Some(mark) = RecordMark::parse(bytes) else {
            return false;
        };
        if !mark.last || !mark.is_believable() || mark.length < SHORTEST {
            return false;
        }
        let whole = bytes.get(RecordMark::BYTES..).unwrap_or_default();
        let message = whole.get(..mark.length as usize).unwrap_or(whole);
        let Some(header) = header::parse(message) else {
            return false;
        };
        let known = |xid| cx.shared.rpc.contains(cx.connection.id, xid);
        let fills_segment = u64::from(mark.length) + RecordMark::BYTES as u64 >= wire;
        match header {
            Header::Call(call) if message.len() >= WHOLE_HEADER => {
                header::call_is_believable(&call)
            }
            Header::Reply(reply) if message.len() >= WHOLE_HEADER => {
                known(reply.xid)
                    || (at_start && (reply.body.is_some() || reply.status != ReplyStatus::Success))
            }
            Header::Call(_) => self.confirmed_or_likely(cx) && at_start && d == Direction::ToServer,
            Header::Reply(reply) => known(reply.xid) && at_start,
            Header::XidOnly { xid } if message.len() >= 4 => {
                at_start
                    && self.confirmed_or_likely(cx)
                    && match d {
                        Direction::ToServer => fills_segment || mark.length < 1024,
                        Direction::ToClient => known(xid),
                    }
            }
            Header::XidOnly { .. } => false,
        }
    }

    fn confirmed_or_likely(&self, cx: &Context<'_>) -> bool {
        self.confirmed || PORTS.contains(&cx.connection.server.port)
    }

    /// One fragment of a record of several: collects the start of the message.
    fn fragment(
        &mut self,
        cx: &mut Context<'_>,
        d: Direction,
        mark: RecordMark,
        bytes: &[u8],
        more: More,
    ) -> Step {
        let held = self
            .lane(d)
            .fragments
            .as_ref()
            .map_or(0, |(head, _)| head.len());
        let wanted = RecordMark::BYTES + (mark.length as usize).min(HEAD.saturating_sub(held));
        if bytes.len() < wanted && more == More::Yes {
            return Step::Need(wanted);
        }
        let part = bytes
            .get(RecordMark::BYTES..wanted.min(bytes.len()))
            .unwrap_or_default();
        let lane = self.lane(d);
        lane.fragments
            .get_or_insert_with(|| (Vec::new(), None))
            .0
            .extend_from_slice(part);
        lane.last = mark.last;
        if mark.last {
            let head = self
                .lane(d)
                .fragments
                .as_mut()
                .map(|(head, _)| std::mem::take(head))
                .unwrap_or_default();
            let Some(message) = self.read(cx, d, &head) else {
                return Step::Lost;
            };
            self.lane(d).message = Some(message);
        }
        Step::End(RecordMark::BYTES as u64 + u64::from(mark.length))
    }
}

/// The change that a call makes to the number of outstanding calls.
fn change(cx: &Context<'_>, call: &Pending, time: Time, sent: bool) -> Outstanding {
    Outstanding {
        order: cx.order,
        time,
        connection: call.connection,
        client: call.client,
        server: call.server,
        id: call.xid,
        sent,
    }
}

/// Reads a call's arguments, as far as its header and protection let them be read.
fn arguments(call: &CallHeader, head: &[u8]) -> Arguments {
    let Some(number) = call.program else {
        return unnamed(call, Name::from("CALL").unwrap_or_default());
    };
    let (version, procedure) = (call.version.unwrap_or(0), call.procedure.unwrap_or(0));
    let Some(program) = programme_of(number, call, head) else {
        let mut name = Name::new();
        // Twice ten digits and a dot always fit.
        let _ = write!(name, "{number}.{procedure}");
        return unnamed(call, name);
    };
    let body = call
        .security
        .wrapper()
        .and_then(|skip| head.get(call.body? + skip..))
        .unwrap_or_default();
    if call.procedure.is_none() {
        let mut a = program.arguments(version, 0, &[]);
        a.op = Name::from("CALL").unwrap_or_default();
        return a;
    }
    let mut a = program.arguments(version, procedure, body);
    if let (Some(skip), Some(at)) = (call.security.wrapper(), call.body) {
        a.tail_at = a.tail_at.map(|tail| tail + (at + skip) as u64);
    }
    a
}

/// Programmes by number; a transient number (RFC 5531 section 13) is taken for the NFSv4 callback,
/// which is the one that clients register.
fn programme_of(number: u32, _call: &CallHeader, _head: &[u8]) -> Option<&'static dyn Program> {
    programs::program(number).or_else(|| {
        (0x4000_0000..0x6000_0000)
            .contains(&number)
            .then_some(crate::nfs::CALLBACK)
    })
}

/// A call of a programme without a folder of its own.
fn unnamed(call: &CallHeader, op: Name) -> Arguments {
    let mut detail = Detail::default();
    let fields = [
        (Field::Program, call.program),
        (Field::Version, call.version),
        (Field::Procedure, call.procedure),
    ];
    for (field, value) in fields {
        if let Some(value) = value {
            detail.set(field, u64::from(value));
        }
    }
    Arguments {
        protocol: Protocol::Rpc,
        op,
        detail,
        operations: ArrayVec::new(),
        tail_at: None,
        note: 0,
    }
}

/// How the call ended, and what its results say.
fn outcome(reply: &ReplyHeader, results: &[u8], call: &mut Pending) -> Outcome {
    if let ReplyStatus::Error(name) = reply.status {
        return Outcome::Error(name);
    }
    let Some(results) = call.security.wrapper().and_then(|skip| results.get(skip..)) else {
        return Outcome::Ok;
    };
    let program = programs::program(call.program).or_else(|| {
        (call.arguments.protocol == Protocol::NfsCallback).then_some(crate::nfs::CALLBACK)
    });
    program.map_or(Outcome::Ok, |p| {
        p.results(call.version, call.procedure, &mut call.arguments, results)
    })
}

impl SessionTrait for Session {
    fn step(&mut self, cx: &mut Context<'_>, d: Direction, bytes: &[u8], more: More) -> Step {
        if let Phase::Tail { left } = self.lane(d).phase {
            let wanted = left.min(HEAD as u64) as usize;
            if bytes.len() < wanted && more == More::Yes {
                return Step::Need(wanted);
            }
            let lane = self.lane(d);
            lane.phase = Phase::Mark;
            if let Some(Message::Call { header, arguments }) = &mut lane.message
                && let Some(program) = header.program.and_then(|n| programme_of(n, header, bytes))
            {
                program.arguments_tail(arguments, bytes.get(..wanted).unwrap_or(bytes));
            }
            return Step::End(left);
        }
        let Some(mark) = RecordMark::parse(bytes) else {
            return if more == More::Yes {
                Step::Need(RecordMark::BYTES)
            } else {
                Step::Lost
            };
        };
        if !mark.is_believable() {
            return Step::Lost;
        }
        if !mark.last || self.lane(d).fragments.is_some() {
            return self.fragment(cx, d, mark, bytes, more);
        }
        let wanted = RecordMark::BYTES + (mark.length as usize).min(HEAD);
        if bytes.len() < wanted && more == More::Yes {
            return Step::Need(wanted);
        }
        let head = bytes
            .get(RecordMark::BYTES..wanted.min(bytes.len()))
            .unwrap_or_default();
        let Some(message) = self.read(cx, d, head) else {
            return Step::Lost;
        };
        let tail = match &message {
            Message::Call { arguments, .. } => arguments.tail_at,
            Message::Reply { .. } => None,
        };
        let length = u64::from(mark.length);
        let lane = self.lane(d);
        lane.message = Some(message);
        lane.last = true;
        match tail {
            Some(at) if at < length => {
                lane.phase = Phase::Tail { left: length - at };
                Step::Pass(RecordMark::BYTES as u64 + at)
            }
            _ => Step::End(RecordMark::BYTES as u64 + length),
        }
    }

    fn complete(&mut self, cx: &mut Context<'_>, d: Direction, span: Span) {
        let lane = self.lane(d);
        let mut span = span;
        if let Some((_, passed)) = &mut lane.fragments {
            match passed {
                Some(whole) => {
                    whole.extend(&span);
                    span = *whole;
                }
                None => *passed = Some(span),
            }
            if !lane.last {
                return;
            }
            lane.fragments = None;
        }
        if let Some(message) = lane.message.take() {
            self.finish(cx, d, message, span);
        }
    }

    fn resync(
        &mut self,
        cx: &mut Context<'_>,
        d: Direction,
        bytes: &[u8],
        at_start: bool,
        wire: u64,
    ) -> Option<usize> {
        if self.tls {
            return None;
        }
        if at_start && self.starts_record(cx, d, bytes, true, wire) {
            return Some(0);
        }
        // Record mark, XID, message type: the type's zeros are what tells most positions off.
        let found = bytes.windows(12).enumerate().find(|(at, w)| {
            matches!(w, [mark, _, _, _, _, _, _, _, 0, 0, 0, kind] if mark & 0x80 != 0 && *kind <= 1)
                && self.starts_record(cx, d, bytes.get(*at..).unwrap_or_default(), false, wire.saturating_sub(*at as u64))
        });
        found.map(|(at, _)| at)
    }

    fn abandon(&mut self, cx: &mut Context<'_>, d: Direction, span: Option<Span>) {
        let lane = self.lane(d);
        lane.phase = Phase::Mark;
        let passed = lane.fragments.take().and_then(|(_, passed)| passed);
        let message = lane.message.take();
        let (Some(message), Some(mut span)) = (message, span.or(passed)) else {
            return;
        };
        span.end_missing = true;
        self.finish(cx, d, message, span);
    }

    fn hole(&mut self, d: Direction, hole: Hole, at: Time) {
        let lane = self.lane(d);
        match hole {
            Hole::Cut => lane.last_cut = Some(at),
            Hole::Gap => lane.last_gap = Some(at),
        }
    }

    fn datagram(&mut self, cx: &mut Context<'_>, d: Direction, bytes: &[u8], span: Span) {
        let head = bytes.get(..HEAD).unwrap_or(bytes);
        let believable = match header::parse(head) {
            Some(Header::Call(call)) => {
                head.len() < WHOLE_HEADER || header::call_is_believable(&call)
            }
            Some(Header::Reply(_)) => true,
            _ => false,
        };
        if believable && let Some(mut message) = self.read(cx, d, head) {
            if let Message::Call { arguments, .. } = &mut message {
                arguments.tail_at = None;
            }
            self.finish(cx, d, message, span);
        }
    }

    fn close(&mut self, cx: &mut Context<'_>, why: Close) {
        while let Some(early) = self.early.pop_front() {
            self.no_request(cx, early);
        }
        if why == Close::EndOfCapture {
            let mut order: Vec<u32> = self.doubtful.drain(..).chain(self.order.drain(..)).collect();
            order.dedup();
            for xid in order {
                if let Some(p) = cx.shared.rpc.remove(cx.connection.id, xid) {
                    self.give_up(cx, p);
                }
            }
        }
        if self.opened {
            let c = cx.connection;
            if self.requests < FIRST_REQUESTS {
                cx.shared
                    .rpc
                    .settle(c.client, c.server, cx.output, cx.order);
            }
            cx.shared
                .rpc
                .closed(c.id, c.client, c.server, self.outstanding as usize + self.doubtful.len());
        }
    }
}
