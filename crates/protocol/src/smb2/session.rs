//! One connection: cuts its two directions into messages, those into requests and responses, and pairs
//! them by message id, which a connection uses once.

mod files;

use super::header::{
    CANCEL, CHANGE_NOTIFY, CLOSE, COMMANDS, CREATE, Carried, HEADER, Header, LOCK, NEGOTIATE,
    OPLOCK_BREAK, TRANSPORT, TREE_CONNECT, UNASKED, is_certain, offers_smb2, transport,
};
use super::opens::{self, Opens, Told};
use super::{create, status};
use crate::session::{
    Both, Context, Hole, Kept, More, Session as SessionTrait, Span, Step, held_ns,
};
use model::{
    Call, Change, Close, Detail, Direction, Field, Name, Outcome, Outstanding, Protocol, Reason,
    Time, Where, limits,
};
use std::collections::BTreeMap;
use std::sync::Arc;

static NAMES: [Name; 20] = Name::all(COMMANDS);
const UNLOCK: Name = Name::of("UNLOCK");

/// Requests in one message: clients send a handful.
const COMPOUND: usize = 64;

/// A request that waits for its response, or will once its message has passed.
#[derive(Clone, Debug)]
struct Request {
    command: u16,
    span: Span,
    bytes: u64,
    outstanding: u32,
    detail: Detail,
    name: Option<Arc<str>>,
    /// Whether all of that was captured.
    is_whole: bool,
    tree: Option<u32>,
    /// It works on what the CREATE before it in the same message opens; of a CREATE: one behind it closes that.
    is_related: bool,
    is_closed: bool,
    unlocks: bool,
    /// The lease that a CREATE asks for.
    lease: Option<u64>,
    told: Option<Told>,
}

/// A request or a response in the message that passes.
#[derive(Clone, Debug)]
enum Part {
    Request(u64, Request),
    Response {
        header: Header,
        bytes: u64,
        detail: Detail,
        /// Of a CREATE: the oplock that it was given.
        level: u8,
    },
    Break {
        told: Told,
        bytes: u64,
    },
    /// The server says that it will answer this later.
    Promised(u64),
}

impl Part {
    fn create(&mut self) -> Option<&mut Request> {
        match self {
            Part::Request(_, request) => Some(request).filter(|r| r.command == CREATE),
            _ => None,
        }
    }
}

/// One connection.
#[derive(Default, Debug)]
pub(super) struct Session {
    /// What is in the message that passes.
    parts: Both<Vec<Part>>,
    holes: Both<Option<Reason>>,
    /// By message id, so that what is left at the end comes out in the order of sending.
    waiting: BTreeMap<u64, Request>,
    /// The highest message id that was asked with.
    asked: u64,
    client: Option<Direction>,
    opens: Opens,
}

impl Session {
    /// The requests and responses of a message, of which `message` was captured.
    fn read(&mut self, d: Direction, message: &[u8], length: usize) -> bool {
        let mut parts = Vec::new();
        let (mut rest, mut left) = (message, length);
        for _ in 0..COMPOUND {
            let Some(header) = Header::parse(rest) else {
                break;
            };
            let next = header.next as usize;
            let bytes = if next == 0 { left } else { next.min(left) };
            let own = rest.get(..bytes).unwrap_or(rest);
            let is_client = header.response == (d == Direction::ToClient);
            self.client.get_or_insert(match is_client {
                true => Direction::ToServer,
                false => Direction::ToClient,
            });
            let part = part(&header, own, bytes as u64);
            if let Some(Part::Request(
                _,
                Request {
                    command: CLOSE,
                    is_related: true,
                    ..
                },
            )) = &part
                && let Some(create) = parts.iter_mut().rev().find_map(Part::create)
            {
                create.is_closed = true;
            }
            parts.extend(part);
            if next < HEADER || next >= left {
                break;
            }
            rest = rest.get(next..).unwrap_or_default();
            left -= next;
        }
        let any = Header::parse(message).is_some();
        *self.parts.of_mut(d) = parts;
        any
    }

    fn request(&mut self, cx: &mut Context<'_>, id: u64, mut request: Request, span: &Span) {
        self.asked = self.asked.max(id);
        if self.waiting.len() >= limits::OUTSTANDING
            && let Some((oldest, waiting)) = self.waiting.pop_first()
        {
            cx.problems.note("requests-evicted", || {
                let text = format!("message {oldest} was forgotten, too many wait for a response");
                (text, Where::default())
            });
            self.report(
                cx,
                oldest,
                Some(waiting),
                None,
                Outcome::NoResponse(Reason::Evicted),
            );
        }
        if let Some(former) = self.waiting.remove(&id) {
            let outcome = Outcome::NoResponse(Reason::NoAnswer);
            self.report(cx, id, Some(former), None, outcome);
        }
        request.span = *span;
        self.gives_back(cx, &mut request);
        request.outstanding = self.waiting.len() as u32 + 1;
        self.count(cx, request.command, id, span.first.time, Change::Sent);
        self.waiting.insert(id, request);
    }

    fn response(
        &mut self,
        cx: &mut Context<'_>,
        header: &Header,
        (bytes, detail, level): (u64, Detail, u8),
        span: &Span,
    ) {
        let request = self.waiting.remove(&header.message_id);
        let (mut outcome, unknown) = status::outcome(header.status);
        let mut all = request.as_ref().map_or_else(Detail::default, |r| r.detail);
        detail
            .iter()
            .for_each(|(field, value)| all.set(field, value));
        if let Some(number) = unknown {
            all.set(Field::Status, number);
        }
        if header.command == CREATE
            && let Some(request) = &request
        {
            self.opened(cx, request, &mut all, level);
        }
        if header.command == TREE_CONNECT
            && let (Some(tree), Some(path)) =
                (header.tree, request.as_ref().and_then(|r| r.name.as_ref()))
        {
            self.opens.connected(tree, path);
        }
        let lost = |span: &Span| span.end_missing;
        match &request {
            None => {
                let hole = *self.holes.of(self.requests());
                outcome = Outcome::NoRequest(hole.unwrap_or(Reason::BeforeCapture));
            }
            Some(r) if lost(&r.span) || lost(span) => {
                outcome = Outcome::Incomplete(Reason::CaptureGap);
            }
            Some(_) => {}
        }
        let response = Response {
            command: header.command,
            span: *span,
            bytes,
            detail: all,
        };
        self.report(cx, header.message_id, request, Some(&response), outcome);
    }

    /// The direction of requests.
    fn requests(&self) -> Direction {
        self.client.unwrap_or(Direction::ToServer)
    }

    /// The number of outstanding calls changes. Who asks to be told of changes waits for somebody to make
    /// one, not for the server.
    fn count(&self, cx: &mut Context<'_>, command: u16, id: u64, time: Time, change: Change) {
        if command == CHANGE_NOTIFY {
            return;
        }
        let (order, connection) = (cx.order, cx.connection.id);
        let (client, server) = cx.connection.ends(self.requests());
        cx.output.change(|| Outstanding {
            order,
            time,
            connection,
            client,
            server,
            id: id as u32,
            change,
        });
    }

    /// A call is over.
    fn report(
        &self,
        cx: &mut Context<'_>,
        id: u64,
        request: Option<Request>,
        response: Option<&Response>,
        outcome: Outcome,
    ) {
        let change = match request {
            Some(_) => Change::Settled,
            None => Change::Stray,
        };
        let time = response.map_or(cx.now, |r| r.span.last.time);
        let command = request.as_ref().map(|r| r.command);
        let command = command.or(response.map(|r| r.command)).unwrap_or_default();
        self.count(cx, command, id, time, change);
        if cx.output.counts(outcome) {
            return;
        }
        let (order, connection) = (cx.order, cx.connection.id);
        let (client, server) = cx.connection.ends(self.requests());
        let asked = request.as_ref().map(|r| r.span);
        let told = response.map(|r| r.span);
        let held = |span: Option<Span>, from: Option<Span>| match (span, from) {
            (Some(s), Some(f)) => held_ns(s.last_held_since, f.last.time, s.last.time),
            _ => 0,
        };
        cx.output.call(|| Call {
            order,
            connection,
            protocol: Protocol::Smb2,
            op: match &request {
                Some(r) if r.unlocks => UNLOCK,
                _ => NAMES.get(usize::from(command)).copied().unwrap_or_default(),
            },
            client,
            server,
            id: id as u32,
            request_sequence: asked.map_or(0, |s| s.sequence),
            response_sequence: told.map_or(0, |s| s.sequence),
            request_first: asked.map(|s| s.first),
            request_last: asked.filter(|s| !s.end_missing).map(|s| s.last),
            response_first: told.map(|s| s.first),
            response_last: told.filter(|s| !s.end_missing).map(|s| s.last),
            request_bytes: request.as_ref().map_or(0, |r| r.bytes),
            response_bytes: response.map_or(0, |r| r.bytes),
            outcome,
            outstanding: request.as_ref().map_or(0, |r| r.outstanding),
            retransmits: 0,
            request_held_ns: asked.map_or(0, |s| s.request_held_ns()),
            response_held_ns: held(told, asked),
            inner: None,
            hidden: None,
            detail: match (response, &request) {
                (Some(r), _) => r.detail,
                (None, Some(r)) => r.detail,
                (None, None) => Detail::default(),
            },
            text: request.and_then(|r| r.name),
            sql: None,
        });
    }

    /// What the message that passed, or began to, said.
    fn passed(&mut self, cx: &mut Context<'_>, d: Direction, span: &Span) {
        // The file that the last CREATE of this message opens.
        let mut created = None;
        for part in std::mem::take(self.parts.of_mut(d)) {
            match part {
                Part::Request(id, mut request) => {
                    if request.command == CREATE {
                        created = self.path(&request).as_deref().map(opens::number);
                    } else if let Some(file) = created.filter(|_| request.is_related) {
                        request.detail.set(Field::File, file);
                    }
                    self.request(cx, id, request, span);
                }
                Part::Response {
                    header,
                    bytes,
                    detail,
                    level,
                } => self.response(cx, &header, (bytes, detail, level), span),
                Part::Promised(id) => {
                    if let Some(request) = self.waiting.get_mut(&id) {
                        request.detail.set(Field::Pending, 1);
                    }
                }
                Part::Break { told, bytes } => self.opens.breaks(told, *span, bytes),
            }
        }
    }
}

#[derive(Debug)]
struct Response {
    command: u16,
    span: Span,
    bytes: u64,
    detail: Detail,
}

/// What one header of a message is; `None` for what neither asks nor answers.
fn part(header: &Header, own: &[u8], bytes: u64) -> Option<Part> {
    if header.response {
        let interim = header.asynchronous && header.status == status::PENDING;
        if header.message_id == UNASKED && header.command == OPLOCK_BREAK {
            return Told::read(own).map(|told| Part::Break { told, bytes });
        }
        if interim {
            return Some(Part::Promised(header.message_id));
        }
        if header.message_id == UNASKED {
            return None;
        }
        let mut detail = Detail::default();
        if !status::outcome(header.status).0.is_error() {
            create::response(header.command, own, &mut detail);
        }
        return Some(Part::Response {
            header: *header,
            bytes,
            detail,
            level: opens::level(own),
        });
    }
    if header.command == CANCEL {
        return None;
    }
    let (name, is_whole) = create::name(header.command, own).unzip();
    let request = Request {
        command: header.command,
        span: Span::NOTHING,
        bytes,
        outstanding: 0,
        detail: create::request(header.command, own),
        name: name.map(Into::into),
        is_whole: is_whole.unwrap_or(false),
        tree: header.tree,
        is_related: header.related,
        is_closed: false,
        unlocks: header.command == LOCK && create::unlocks(own),
        lease: if header.command == CREATE {
            opens::lease(own)
        } else {
            None
        },
        told: if header.command == OPLOCK_BREAK {
            Told::read(own)
        } else {
            None
        },
    };
    Some(Part::Request(header.message_id, request))
}

impl SessionTrait for Session {
    fn step(&mut self, cx: &mut Context<'_>, d: Direction, bytes: &[u8], more: More) -> Step {
        let need = |n: usize| match more {
            More::Yes if bytes.len() < n => Some(Step::Need(n)),
            _ => None,
        };
        let Some((carried, length)) = transport(bytes) else {
            return need(TRANSPORT + 4).unwrap_or(Step::Lost);
        };
        let message = bytes.get(TRANSPORT..).unwrap_or_default();
        let end = Step::End((TRANSPORT + length) as u64);
        match carried {
            Carried::Netbios | Carried::Compressed => end,
            Carried::Encrypted => Step::Opaque,
            Carried::Smb1 => {
                let wanted = (TRANSPORT + length).min(limits::HEAD_BYTES);
                if let Some(step) = need(wanted) {
                    return step;
                }
                if !offers_smb2(message) {
                    // The server chose SMB 1.
                    for (id, request) in std::mem::take(&mut self.waiting) {
                        self.count(cx, request.command, id, cx.now, Change::Settled);
                    }
                    return Step::Opaque;
                }
                self.client.get_or_insert(d);
                let request = Request {
                    command: NEGOTIATE,
                    span: Span::NOTHING,
                    bytes: length as u64,
                    outstanding: 0,
                    detail: Detail::default(),
                    name: None,
                    is_whole: false,
                    tree: None,
                    is_related: false,
                    is_closed: false,
                    unlocks: false,
                    lease: None,
                    told: None,
                };
                // The answer, of SMB 2, has the first id.
                *self.parts.of_mut(d) = vec![Part::Request(0, request)];
                end
            }
            Carried::Smb2 => {
                if let Some(step) = need(TRANSPORT + length.min(HEADER + create::BODY)) {
                    return step;
                }
                let whole = Header::parse(message).is_some_and(|h| {
                    h.next != 0
                        || !h.response && create::has_name(h.command)
                        || h.response && h.command == CREATE
                });
                if whole && let Some(step) = need((TRANSPORT + length).min(limits::HEAD_BYTES)) {
                    return step;
                }
                let message = message.get(..length).unwrap_or(message);
                match self.read(d, message, length) {
                    true => end,
                    false => Step::Lost,
                }
            }
        }
    }

    fn complete(&mut self, cx: &mut Context<'_>, d: Direction, span: &Span) {
        self.passed(cx, d, span);
    }

    fn resync(
        &mut self,
        _cx: &mut Context<'_>,
        _d: Direction,
        bytes: &[u8],
        at_start: bool,
        _wire: u64,
    ) -> Option<usize> {
        // SMB 1 is an answer to the offer of SMB 2.
        let other = matches!(
            transport(bytes),
            Some((Carried::Smb1 | Carried::Encrypted, _))
        );
        if at_start && (other || is_certain(bytes)) {
            return Some(0);
        }
        bytes
            .windows(TRANSPORT + Header::READ)
            .enumerate()
            .find_map(|(at, window)| {
                let (carried, _) = transport(window)?;
                let header = Header::parse(window.get(TRANSPORT..)?)?;
                // Five bytes in a row that say what they are, and an id that can come next.
                let near = |id: u64| id <= self.asked.saturating_add(8_192);
                let believable = match header.response {
                    true => header.message_id == UNASKED || near(header.message_id),
                    false => near(header.message_id) || at_start && at == 0,
                };
                (carried == Carried::Smb2 && believable).then_some(at)
            })
    }

    fn abandon(
        &mut self,
        cx: &mut Context<'_>,
        d: Direction,
        span: Option<Span>,
        _close: Option<Close>,
    ) {
        match span {
            Some(mut span) => {
                span.end_missing = true;
                self.passed(cx, d, &span);
            }
            None => self.parts.of_mut(d).clear(),
        }
    }

    fn hole(&mut self, d: Direction, hole: Hole, _at: Time) {
        *self.holes.of_mut(d) = Some(hole.reason());
    }

    fn datagram(&mut self, _cx: &mut Context<'_>, _d: Direction, _bytes: &[u8], _span: Span) {
        // Only spoken over TCP: the probe takes no datagrams.
    }

    fn kept(&self) -> Kept {
        let names = self.waiting.values().filter_map(|r| r.name.as_ref());
        let (files, each) = self.opens.kept();
        Kept::of(self)
            .and(self.waiting.len(), size_of::<(u64, Request)>())
            .and(files, each)
            .and_each(names.map(|name| name.len()))
    }

    fn close(&mut self, cx: &mut Context<'_>, why: Close) {
        let reason = (*self.holes.of(self.requests().reverse())).unwrap_or(why.reason());
        for (id, waiting) in std::mem::take(&mut self.waiting) {
            self.report(cx, id, Some(waiting), None, Outcome::NoResponse(reason));
        }
        // What is not known may have been given back on another connection of the same client.
        for asked in self
            .opens
            .take_breaks()
            .into_iter()
            .filter(|b| b.file.is_some())
        {
            self.report_break(cx, &asked, None, Outcome::NoResponse(reason));
        }
    }
}
