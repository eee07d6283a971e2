//! One connection: says where messages end and hands what they are to the [`Queue`].
//!
//! Rows and CopyData that come together pass as one frame, so that a large result costs little more
//! than its packets.

use super::chain;
use super::message::Header;
use super::names::{Names, Portal, Work};
use super::queue::{Queue, RequestKind};
use super::replication;
use super::reply::{self, Reply};
use super::request::{self, Request, Text};
use super::startup::{self, Opening};
use super::verb::{self, Cursor};
use crate::copied::{self, Copied, Unconfirmed};
use crate::session::{Both, Context, Hole, Kept, More, Run, Session as SessionTrait, Span, Step};
use crate::sql::Opaque;
use model::{
    Close, Direction, Found, Hidden, Protocol, Sql, SqlSession, Statement, Time, Where, limits,
    sql::op,
};
use statement::Dialect;
use std::sync::Arc;

/// A message whose end has not passed, in what the queue needs of it.
#[derive(Debug)]
enum Message {
    Startup,
    Negotiation,
    Cancel,
    Query(Arc<Work>),
    /// By its object identifier.
    Function(u32),
    Parse(Arc<Work>),
    /// Bind and Describe, of which the portal is known by its Execute.
    Prepare(Option<Arc<Work>>),
    Close,
    Execute(Portal, u32),
    Flush,
    Sync,
    Copy,
    Password,
    Reply(Reply),
    /// The byte that answers a request for encryption.
    Negotiated(Option<Hidden>),
}

/// One connection, of which the directions are known.
#[derive(Debug)]
pub(super) struct Session {
    messages: Both<Option<Message>>,
    queue: Queue,
    names: Names,
    /// What is known of the session, and whether more than the queue knows.
    session: SqlSession,
    learned: bool,
    /// The statement sent last: programs repeat themselves.
    last: Option<Arc<Work>>,
    /// What was asked for: TLS or GSSAPI.
    asked: Hidden,
    hidden: Option<Hidden>,
    /// The server asks for a password in plain text.
    plaintext_asked: bool,
    /// What a standby has not confirmed, once there is one; and what the message that is passing says of it.
    unconfirmed: Option<Unconfirmed>,
    copied: Both<Option<Copied>>,
}

/// Object identifiers of the functions of large objects (pg_proc.dat).
const LARGE_OBJECT: &[u32] = &[
    715, 764, 765, 767, 952, 953, 954, 955, 956, 957, 958, 964, 1_004, 3_170, 3_171, 3_172,
];

impl Session {
    pub(super) fn new() -> Session {
        Session {
            messages: Both::default(),
            queue: Queue::default(),
            names: Names::default(),
            session: SqlSession::default(),
            learned: false,
            last: None,
            asked: Hidden::Tls,
            hidden: None,
            plaintext_asked: false,
            unconfirmed: None,
            copied: Both::default(),
        }
    }

    /// The step of a message of replication, where one can be read.
    fn copy_step(
        &mut self,
        d: Direction,
        bytes: &[u8],
        more: More,
        header: Header,
    ) -> Option<Step> {
        let is_likely = match d {
            Direction::ToServer => header.bytes == replication::UPDATE_BYTES,
            Direction::ToClient => self.unconfirmed.is_some() || self.queue.is_streaming(),
        };
        if !is_likely {
            return None;
        }
        let wanted = replication::wanted(header);
        if bytes.len() < wanted && more == More::Yes {
            return Some(Step::Need(wanted));
        }
        let body = bytes.get(Header::BYTES..wanted.min(bytes.len()))?;
        let copied = match d {
            Direction::ToServer => replication::flushed(header, body),
            Direction::ToClient => replication::shipped(header, body),
        };
        *self.copied.of_mut(d) = Some(copied?);
        let message = match d {
            Direction::ToServer => Message::Copy,
            Direction::ToClient => Message::Reply(Reply::CopyData),
        };
        Some(self.expect(d, message, header.bytes))
    }

    /// What of the log was sent, or confirmed, with the message that ends so.
    fn tell_copied(&mut self, cx: &mut Context<'_>, d: Direction, span: &Span) {
        if let Some(copied) = self.copied.of_mut(d).take() {
            cx.output.copies = true;
            let unconfirmed = self.unconfirmed.get_or_insert_default();
            unconfirmed.take(copied, |end, change| {
                copied::tell(cx, span.last.time, end, change)
            });
        }
    }

    fn expect(&mut self, d: Direction, message: Message, bytes: u64) -> Step {
        *self.messages.of_mut(d) = Some(message);
        Step::End(bytes)
    }

    fn opening(&mut self, bytes: &[u8], more: More) -> Step {
        if bytes.len() < startup::BYTES && more == More::Yes {
            return Step::Need(startup::BYTES);
        }
        let Some((opening, length)) = startup::parse(bytes) else {
            return Step::Lost;
        };
        let wanted = (length as usize).min(limits::HEAD_BYTES);
        if bytes.len() < wanted && more == More::Yes {
            return Step::Need(wanted);
        }
        let message = match opening {
            Opening::Startup => {
                let end = wanted.min(bytes.len());
                let body = bytes.get(startup::BYTES..end).unwrap_or_default();
                self.session = startup::session(body);
                self.queue.set_session(self.session.clone());
                Message::Startup
            }
            Opening::Ssl => {
                self.asked = Hidden::Tls;
                Message::Negotiation
            }
            Opening::Gss => {
                self.asked = Hidden::Gss;
                Message::Negotiation
            }
            Opening::Cancel => Message::Cancel,
        };
        self.expect(Direction::ToServer, message, length)
    }

    /// The statement of a text.
    fn work(&mut self, cx: &mut Context<'_>, text: Text<'_>) -> Arc<Work> {
        let statement = cx.shared.statements.of(
            Dialect::PostgreSql,
            text.bytes,
            !text.whole,
            Found::Structured,
        );
        if let Some(last) = &self.last
            && is_of(&last.sql, &statement, &self.queue.sql)
        {
            return Arc::clone(last);
        }
        let verb = verb::parse(text.bytes);
        let sql = match &verb.cursor {
            Cursor::Fetch(name) | Cursor::Close(name) => self.names.cursor(name).cloned(),
            Cursor::None | Cursor::Declare(_) => None,
        };
        let sql = sql.unwrap_or_else(|| {
            Arc::new(Sql {
                session: Arc::clone(&self.queue.sql.session),
                statement: Some(statement),
            })
        });
        if let Cursor::Declare(name) = &verb.cursor {
            self.names.declare(name, Arc::clone(&sql));
        }
        let work = Arc::new(Work { sql, verb });
        // What is declared or fetched anew may be another cursor of the same name.
        if work.verb.cursor == Cursor::None {
            self.last = Some(Arc::clone(&work));
        }
        work
    }

    fn step_of_client(&mut self, cx: &mut Context<'_>, bytes: &[u8], more: More) -> Step {
        let d = Direction::ToServer;
        match bytes.first() {
            Some(0) => return self.opening(bytes, more),
            Some(22) if startup::is_client_hello(bytes) => {
                self.hidden = Some(Hidden::Tls);
                return Step::Opaque;
            }
            _ => {}
        }
        if bytes.len() < Header::BYTES && more == More::Yes {
            return Step::Need(Header::BYTES);
        }
        let Some(header) = Header::parse(d, bytes) else {
            return Step::Lost;
        };
        if header.tag == b'd' {
            let step = self.copy_step(d, bytes, more, header);
            return step.unwrap_or_else(|| self.expect(d, Message::Copy, together(d, bytes).0));
        }
        let wanted = request::wanted(header);
        if bytes.len() < wanted && more == More::Yes {
            return Step::Need(wanted);
        }
        let end = wanted.min(bytes.len());
        let body = bytes.get(Header::BYTES..end).unwrap_or_default();
        let message = match request::parse(header.tag, body) {
            Some(Request::Query(text)) => Message::Query(self.work(cx, text)),
            Some(Request::Parse { name, text }) => {
                let work = self.work(cx, text);
                self.names.prepare(name, Arc::clone(&work));
                Message::Parse(work)
            }
            Some(Request::Bind { portal, statement }) => {
                Message::Prepare(self.names.bind(portal, statement))
            }
            Some(Request::Describe { statement, name }) => {
                Message::Prepare(self.names.described(statement, name))
            }
            Some(Request::Close { statement, name }) => {
                self.names.close(statement, name);
                Message::Close
            }
            Some(Request::Execute { portal, rows }) => {
                Message::Execute(self.names.execute(portal), rows)
            }
            Some(Request::Flush) => Message::Flush,
            Some(Request::Sync) => Message::Sync,
            Some(Request::Function(oid)) => Message::Function(oid),
            Some(Request::CopyDone | Request::CopyFail) => Message::Copy,
            Some(Request::Password) => {
                if self.plaintext_asked {
                    self.session.plaintext_password = true;
                    self.learned = true;
                }
                Message::Password
            }
            // Wants no answer, or was cut off before it says what it is.
            Some(Request::Terminate) | None => return Step::End(header.bytes),
        };
        self.expect(d, message, header.bytes)
    }

    fn step_of_server(&mut self, bytes: &[u8], more: More) -> Step {
        let d = Direction::ToClient;
        if self.queue.is_negotiating() {
            let answer = match bytes.first() {
                Some(b'S') => Some(Message::Negotiated(Some(Hidden::Tls))),
                Some(b'G') => Some(Message::Negotiated(Some(Hidden::Gss))),
                Some(b'N') => Some(Message::Negotiated(None)),
                _ => None,
            };
            if let Some(answer) = answer {
                return self.expect(d, answer, 1);
            }
        }
        if bytes.len() < Header::BYTES && more == More::Yes {
            return Step::Need(Header::BYTES);
        }
        let Some(header) = Header::parse(d, bytes) else {
            return Step::Lost;
        };
        if header.tag == b'd'
            && let Some(step) = self.copy_step(d, bytes, more, header)
        {
            return step;
        }
        if matches!(header.tag, b'D' | b'd') {
            let (length, count) = together(d, bytes);
            let message = match header.tag {
                b'D' => Reply::Rows(count),
                _ => Reply::CopyData,
            };
            return self.expect(d, Message::Reply(message), length);
        }
        let wanted = reply::wanted(header);
        if bytes.len() < wanted && more == More::Yes {
            return Step::Need(wanted);
        }
        let end = wanted.min(bytes.len());
        let body = bytes.get(Header::BYTES..end).unwrap_or_default();
        let Some(reply) = reply::parse(header.tag, body) else {
            return Step::Lost;
        };
        match reply {
            Reply::ParameterStatus => self.parameter(body),
            Reply::Authentication { plaintext } => self.plaintext_asked = plaintext,
            _ => {}
        }
        self.expect(d, Message::Reply(reply), header.bytes)
    }

    /// The server tells of a parameter.
    fn parameter(&mut self, body: &[u8]) {
        let Some((name, value)) = reply::parameter(body) else {
            return;
        };
        let known = match name {
            b"server_version" => &mut self.session.server_version,
            b"application_name" => &mut self.session.program,
            _ => return,
        };
        let value = String::from_utf8_lossy(value);
        if !value.is_empty() && known.as_deref() != Some(&*value) {
            *known = Some(Arc::from(&*value));
            self.learned = true;
        }
    }

    /// Puts what was learned of the session into the queue, for calls that come.
    fn learn(&mut self) {
        if std::mem::take(&mut self.learned) {
            self.queue.set_session(self.session.clone());
        }
    }

    fn request(&mut self, cx: &mut Context<'_>, message: Message, span: &Span) {
        if self.queue.is_late(span) {
            return;
        }
        match message {
            Message::Startup => self.queue.whole(cx, RequestKind::Startup, None, span),
            Message::Negotiation => self.queue.whole(cx, RequestKind::Negotiation, None, span),
            Message::Cancel => self.queue.whole(cx, RequestKind::Cancel, None, span),
            Message::Query(work) => self.queue.whole(cx, RequestKind::Simple, Some(&work), span),
            Message::Function(oid) => {
                self.queue.whole(cx, RequestKind::Simple, None, span);
                if LARGE_OBJECT.contains(&oid) {
                    self.queue.call_it(op::LOB);
                }
            }
            Message::Parse(work) => {
                self.queue.step(cx, op::PREPARE, span);
                self.queue.is_about(&work);
            }
            Message::Prepare(work) => {
                self.queue.step(cx, op::PREPARE, span);
                if let Some(work) = work {
                    self.queue.is_about(&work);
                }
            }
            Message::Close => self.queue.close_name(cx, span),
            Message::Execute(portal, rows) => self.queue.execute(cx, &portal, rows, span),
            Message::Flush => self.queue.flush(cx, span),
            Message::Sync => self.queue.sync(cx, span),
            Message::Copy => self.queue.more(cx, true, span),
            Message::Password => self.queue.more(cx, false, span),
            Message::Reply(_) | Message::Negotiated(_) => {}
        }
    }

    fn reply(&mut self, cx: &mut Context<'_>, message: Message, span: &Span) {
        match message {
            Message::Reply(reply) => {
                if let Reply::ReadyForQuery { .. } | Reply::Error { .. } = reply {
                    self.learn();
                }
                self.queue.reply(cx, reply, span);
                if let Reply::ReadyForQuery { idle } = reply {
                    self.end_cycle(cx, idle);
                }
            }
            Message::Negotiated(hidden) => {
                self.queue.negotiated(cx, span);
                self.hidden = hidden.map(|_| self.asked);
            }
            _ => {}
        }
    }

    fn end_cycle(&mut self, cx: &mut Context<'_>, idle: bool) {
        if idle && self.queue.is_empty() {
            self.names.end_transaction();
        }
        if self.names.forgotten > 0 {
            self.names.forgotten = 0;
            cx.problems.note("names-forgotten", || {
                let text = "too many prepared statements, portals or cursors in a session";
                (text.to_owned(), Where::default())
            });
        }
    }
}

/// Whether a record is of this statement in this session.
fn is_of(sql: &Sql, statement: &Arc<Statement>, now: &Sql) -> bool {
    sql.statement
        .as_ref()
        .is_some_and(|s| Arc::ptr_eq(s, statement))
        && Arc::ptr_eq(&sql.session, &now.session)
}

/// The messages in front that have the tag of the first: their length and number. The last one may
/// end beyond these bytes.
fn together(d: Direction, bytes: &[u8]) -> (u64, u64) {
    let (mut length, mut count) = (0, 0);
    let tag = bytes.first();
    loop {
        let rest = bytes.get(length as usize..).unwrap_or_default();
        match Header::parse(d, rest) {
            Some(header) if Some(&header.tag) == tag => {
                length += header.bytes;
                count += 1;
            }
            _ => return (length, count),
        }
    }
}

impl SessionTrait for Session {
    fn step(&mut self, cx: &mut Context<'_>, d: Direction, bytes: &[u8], more: More) -> Step {
        if self.hidden.is_some() {
            return Step::Opaque;
        }
        match d {
            Direction::ToServer => self.step_of_client(cx, bytes, more),
            Direction::ToClient => self.step_of_server(bytes, more),
        }
    }

    fn complete(&mut self, cx: &mut Context<'_>, d: Direction, span: &Span) {
        self.tell_copied(cx, d, span);
        let Some(message) = self.messages.of_mut(d).take() else {
            return;
        };
        match d {
            Direction::ToServer => self.request(cx, message, span),
            Direction::ToClient => self.reply(cx, message, span),
        }
    }

    fn resync(
        &mut self,
        _cx: &mut Context<'_>,
        d: Direction,
        bytes: &[u8],
        at_start: bool,
        wire: u64,
    ) -> Option<usize> {
        let begins = match d {
            Direction::ToServer => {
                startup::parse(bytes).is_some() || startup::is_client_hello(bytes)
            }
            Direction::ToClient => {
                self.queue.is_negotiating() && matches!(bytes, [b'S' | b'N' | b'G'])
                    || self.unconfirmed.is_some() && replication::ships(bytes)
            }
        };
        match at_start && begins || self.hidden.is_some() {
            true => Some(0),
            false => chain::find(d, bytes, at_start, wire),
        }
    }

    fn abandon(
        &mut self,
        cx: &mut Context<'_>,
        d: Direction,
        span: Option<Span>,
        _close: Option<Close>,
    ) {
        *self.copied.of_mut(d) = None;
        if let (Some(message), Some(mut span)) = (self.messages.of_mut(d).take(), span) {
            span.end_missing = true;
            match d {
                Direction::ToServer => self.request(cx, message, &span),
                Direction::ToClient => self.queue.reply_skipped(cx, &span),
            }
        }
    }

    fn skipped(&mut self, cx: &mut Context<'_>, d: Direction, run: &Run) {
        let span = Span::of(run);
        match d {
            Direction::ToServer => self.queue.request_skipped(cx, &span),
            Direction::ToClient => self.queue.reply_skipped(cx, &span),
        }
    }

    fn hole(&mut self, d: Direction, hole: Hole, at: Time) {
        self.queue.hole(d, hole, at);
    }

    fn datagram(&mut self, _cx: &mut Context<'_>, _d: Direction, _bytes: &[u8], _span: Span) {
        // Only spoken over TCP: the probe takes no datagrams.
    }

    fn opaque(&self) -> Option<Opaque> {
        let hidden = self.hidden.unwrap_or(Hidden::Tls);
        Some(Opaque::hidden(Protocol::Pgsql, &self.queue.sql, hidden))
    }

    fn kept(&self) -> Kept {
        let last = self.last.iter().map(|work| work.sql.kept_bytes());
        let kept = self.names.kept(self.queue.kept(Kept::of(self)));
        let unconfirmed = self.unconfirmed.as_ref().map_or(0, Unconfirmed::len);
        kept.and_each(last).and(unconfirmed, size_of::<u64>())
    }

    fn close(&mut self, cx: &mut Context<'_>, why: Close) {
        self.learn();
        if let Some(unconfirmed) = &mut self.unconfirmed {
            let now = cx.now;
            unconfirmed.end(|end, change| copied::tell(cx, now, end, change));
        }
        self.queue.close(cx, why);
    }
}
