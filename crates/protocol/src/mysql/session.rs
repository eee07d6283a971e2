//! One connection: its two directions into commands and responses, and what is known of its session.
//!
//! A frame of the client is a command, with all packets it goes on in; one step of a logon; or a file.
//! A frame of the server is a response with all its packets, or a step of one that the client has to
//! answer. Commands and responses begin with a segment, so that behind a hole the next one is looked
//! for there alone.

use super::command::{self, Answer};
use super::logon::{self, Greeting, Who, capability};
use super::packet::{CONTINUES, Header};
use super::pairing::{Pairing, Taker};
use super::prepared::{Prepared, Statement};
use super::probe;
use super::response::{Agreed, Next, Response};
use super::waiting::{Effect, Waiting};
use crate::session::{Context, Hole, More, Run, Session as SessionTrait, Span, Step};
use crate::sql::{self, Exchange, Opaque};
use model::{
    Close, Code, Direction, Found, Hidden, Mark, Name, Outcome, Protocol, Reason, Sql, SqlDialect,
    SqlSession, Time, Where, limits, sql::op,
};
use std::sync::Arc;

/// What the client sends next.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum Phase {
    #[default]
    Commands,
    /// Its response to the greeting.
    Greeted,
    /// Steps of authentication.
    Logon,
    /// The file that LOCAL INFILE asked for.
    File,
    /// Nothing that is read: the server sends its binary log.
    Stream,
}

/// A frame of the client that is passing.
#[derive(Debug)]
enum Sent {
    Command(Box<Asked>),
    Logon(Box<logon::Response>),
    TlsRequest,
    Step,
    File,
}

/// A command.
#[derive(Debug)]
struct Asked {
    op: Name,
    answer: Answer,
    sql: Arc<Sql>,
    code: u8,
    cursor: Option<u32>,
    rows_asked: Option<u32>,
    effect: Effect,
}

/// A frame of the server that is passing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Said {
    Greeting,
    /// An error in place of the greeting.
    Refusal(u16),
    /// A response, and what follows the packets told so far.
    Response(Next),
}

/// One connection.
#[derive(Default, Debug)]
pub(super) struct Session {
    phase: Phase,
    opened: Option<Mark>,
    greeted: bool,
    server_capabilities: Option<u32>,
    capabilities: u32,
    agreed: Agreed,
    about: Arc<SqlSession>,
    /// For calls without a statement.
    plain: Arc<Sql>,
    prepared: Prepared,
    pairing: Pairing,
    sent: Option<Sent>,
    said: Option<Said>,
    /// Where the client's next command starts is known.
    in_step: bool,
    /// COM_STMT_SEND_LONG_DATA, the first part of an execution.
    long_data: Option<Span>,
    hidden: Option<Hidden>,
}

impl Session {
    fn change(&mut self, change: impl FnOnce(&mut SqlSession)) {
        let mut about = (*self.about).clone();
        change(&mut about);
        self.about = Arc::new(about);
        self.plain = Arc::new(Sql {
            session: Arc::clone(&self.about),
            statement: None,
        });
    }

    /// The text of a statement, of which all was shown unless it was `cut`.
    fn statement(&self, cx: &mut Context<'_>, text: &[u8], cut: bool) -> Arc<Sql> {
        let statements = &mut cx.shared.statements;
        let statement = statements.of(SqlDialect::MySql, text, cut, Found::Structured);
        Arc::new(Sql {
            session: Arc::clone(&self.about),
            statement: Some(statement),
        })
    }

    // ---- the client ----

    fn client_step(&mut self, cx: &mut Context<'_>, bytes: &[u8], more: More) -> Step {
        let Some(header) = Header::parse(bytes) else {
            return match more {
                More::Yes => Step::Need(Header::BYTES),
                More::No => self.not_a_frame(),
            };
        };
        match &self.sent {
            Some(Sent::File) => return file_step(header),
            Some(_) if header.continues() => return Step::Pass(header.bytes()),
            Some(_) => return Step::End(header.bytes()),
            None => {}
        }
        if let Some(hidden) = self.hidden
            && hidden != Hidden::Unreadable
        {
            return Step::Opaque;
        }
        // Only commands have the number 0; a logon or file whose end was not seen is over.
        let phase = match header.sequence {
            0 if self.phase != Phase::Stream => Phase::Commands,
            _ => self.phase,
        };
        match phase {
            Phase::Commands => self.command_step(cx, header, bytes, more),
            Phase::Greeted => self.logon_step(header, bytes, more),
            Phase::Logon => {
                self.sent = Some(Sent::Step);
                Step::End(header.bytes())
            }
            Phase::File => {
                self.sent = Some(Sent::File);
                file_step(header)
            }
            Phase::Stream => Step::Skip,
        }
    }

    /// What is shown is no frame, or none that can be read: within one it is lost, else it is let go.
    fn not_a_frame(&self) -> Step {
        match self.sent {
            Some(_) => Step::Lost,
            None => Step::Skip,
        }
    }

    fn logon_step(&mut self, header: Header, bytes: &[u8], more: More) -> Step {
        if header.sequence != 1 || header.length < 5 {
            return Step::Skip;
        }
        let whole = usize::try_from(header.bytes()).unwrap_or(usize::MAX);
        let wanted = whole.min(limits::HEAD_BYTES);
        if bytes.len() < wanted && more == More::Yes {
            return Step::Need(wanted);
        }
        let payload = bytes.get(Header::BYTES..whole.min(bytes.len()));
        let response = payload.and_then(|p| logon::Response::parse(p, header.length));
        self.sent = Some(match response {
            Some(response) if response.asks_for_tls => Sent::TlsRequest,
            response => Sent::Logon(Box::new(response.unwrap_or_default())),
        });
        Step::End(header.bytes())
    }

    fn command_step(
        &mut self,
        cx: &mut Context<'_>,
        header: Header,
        bytes: &[u8],
        more: More,
    ) -> Step {
        /// Header, command, number of a statement and what follows it.
        const SHORT: usize = Header::BYTES + 1 + 9;
        let whole = usize::try_from(header.bytes()).unwrap_or(usize::MAX);
        let short = whole.min(SHORT);
        if bytes.len() < short && more == More::Yes && header.length > 0 {
            return Step::Need(short);
        }
        let code = bytes.get(Header::BYTES).copied();
        let known = code.and_then(|code| Some((code, command::known(code)?)));
        let Some((code, (op, answer))) =
            known.filter(|_| header.sequence == 0 && header.length > 0)
        else {
            return Step::Skip;
        };
        if !self.in_step && !probe::is_believable(bytes) {
            return Step::Skip;
        }
        let has_text = matches!(
            code,
            command::QUERY | command::STMT_PREPARE | command::INIT_DB | command::CHANGE_USER
        );
        let wanted = whole.min(limits::HEAD_BYTES);
        if has_text && bytes.len() < wanted && more == More::Yes {
            return Step::Need(wanted);
        }
        let rest = bytes
            .get(Header::BYTES + 1..whole.min(bytes.len()))
            .unwrap_or_default();
        let cut = whole > bytes.len() || header.length == CONTINUES;
        let mut asked = Asked {
            op,
            answer,
            sql: Arc::clone(&self.plain),
            code,
            cursor: None,
            rows_asked: None,
            effect: Effect::Nothing,
        };
        self.read(cx, &mut asked, rest, cut);
        self.sent = Some(Sent::Command(Box::new(asked)));
        match header.continues() {
            true => Step::Pass(header.bytes()),
            false => Step::End(header.bytes()),
        }
    }

    /// What a command asks for, by what stands behind its code.
    fn read(&mut self, cx: &mut Context<'_>, asked: &mut Asked, rest: &[u8], cut: bool) {
        match asked.code {
            command::QUERY => {
                if let Some(text) = command::query_text(rest) {
                    asked.sql = self.statement(cx, text, cut);
                    asked.op = sql::operation(text);
                }
            }
            command::STMT_PREPARE => {
                asked.sql = self.statement(cx, rest, cut);
                asked.effect = Effect::Prepares(Statement {
                    sql: Arc::clone(&asked.sql),
                    op: sql::operation(rest),
                });
            }
            command::STMT_EXECUTE
            | command::STMT_BULK_EXECUTE
            | command::STMT_FETCH
            | command::STMT_CLOSE
            | command::STMT_RESET
            | command::STMT_SEND_LONG_DATA => {
                asked.cursor = command::statement_number(rest);
                let statement = asked
                    .cursor
                    .and_then(|number| self.prepared.get(number, &self.about))
                    .unwrap_or_else(|| Statement::unknown(&self.plain));
                asked.sql = statement.sql;
                match asked.code {
                    command::STMT_EXECUTE | command::STMT_BULK_EXECUTE => asked.op = statement.op,
                    command::STMT_FETCH => asked.rows_asked = command::rows_asked(rest),
                    _ => {}
                }
                asked.cursor = asked.cursor.filter(|&n| n != command::LAST_PREPARED);
            }
            command::INIT_DB => asked.effect = Effect::Uses(logon::text(rest)),
            command::CHANGE_USER => {
                let who = Who::change_user(rest, self.capabilities);
                self.log_on(who);
                asked.sql = Arc::clone(&self.plain);
                asked.effect = Effect::LogsOn;
            }
            _ => {}
        }
    }

    /// Who logs on is known, whether or not the server will let him.
    fn log_on(&mut self, who: Who) {
        self.change(|about| who.tell(about));
    }

    /// A frame of the client has passed.
    fn client_frame(&mut self, cx: &mut Context<'_>, sent: Sent, span: &Span) {
        match sent {
            Sent::Command(asked) => {
                self.phase = Phase::Commands;
                self.pairing.client_speaks(cx, &self.plain);
                self.command(cx, *asked, *span);
            }
            Sent::Logon(response) => self.logon(cx, *response, *span),
            Sent::TlsRequest => self.hidden = Some(Hidden::Tls),
            Sent::Step => {
                let asks = |w: &mut Waiting| std::mem::take(&mut w.response.asks_plaintext);
                let first = self.pairing.first();
                // Four bytes are a header alone: an empty password.
                if span.bytes > 5 && first.is_some_and(asks) {
                    self.change(|about| about.plaintext_password = true);
                }
                self.goes_on(span);
            }
            Sent::File => {
                self.phase = Phase::Commands;
                self.goes_on(span);
            }
        }
        self.in_step = !span.end_missing;
    }

    /// The request that is being answered goes on.
    fn goes_on(&mut self, span: &Span) {
        if let Some(first) = self.pairing.first() {
            first.exchange.ask_further(span);
            first.response.goes_on();
        }
    }

    fn logon(&mut self, cx: &mut Context<'_>, response: logon::Response, span: Span) {
        self.capabilities = response.capabilities;
        let both = response.capabilities & self.server_capabilities.unwrap_or(u32::MAX);
        self.agreed = Agreed {
            no_eof: Some(both & capability::DEPRECATE_EOF != 0),
            metadata_flag: both & capability::OPTIONAL_METADATA != 0,
        };
        self.log_on(response.who);
        self.phase = Phase::Logon;
        self.command(
            cx,
            Asked {
                op: op::LOGON,
                answer: Answer::Logon,
                sql: Arc::clone(&self.plain),
                code: 0,
                cursor: None,
                rows_asked: None,
                effect: Effect::LogsOn,
            },
            span,
        );
    }

    fn command(&mut self, cx: &mut Context<'_>, asked: Asked, mut span: Span) {
        let long_data = self.long_data.take();
        match asked.code {
            command::STMT_CLOSE => {
                if let Some(number) = asked.cursor {
                    self.prepared.close(number);
                }
            }
            command::STMT_SEND_LONG_DATA => {
                self.long_data = Some(joined(long_data, span));
            }
            command::STMT_EXECUTE => span = joined(long_data, span),
            command::RESET_CONNECTION | command::CHANGE_USER => self.prepared.clear(),
            _ => {}
        }
        if asked.answer == Answer::Nothing || self.pairing.refuses(cx) {
            return;
        }
        if let Effect::Prepares(statement) = &asked.effect {
            self.prepared.asked(statement.clone());
        }
        let exchange = Exchange::open(cx, asked.op, span, asked.sql, self.pairing.len());
        let mut waiting = Waiting::new(exchange, Response::new(asked.answer));
        waiting.effect = asked.effect;
        waiting.cursor = asked.cursor;
        waiting.rows_asked = asked.rows_asked;
        self.pairing.push(cx, waiting);
        match asked.answer {
            Answer::Logon => self.phase = Phase::Logon,
            Answer::Stream => self.phase = Phase::Stream,
            _ => {}
        }
    }

    // ---- the server ----

    fn server_step(&mut self, cx: &mut Context<'_>, bytes: &[u8], more: More) -> Step {
        if self.said.is_none() {
            if let Some(hidden) = self.hidden
                && hidden != Hidden::Unreadable
            {
                return Step::Opaque;
            }
            match self.pairing.server_speaks(cx) {
                Taker::First => {}
                Taker::FirstAdrift => return Step::Skip,
                Taker::Nobody => return self.greeting_step(bytes, more),
            }
        }
        self.response_step(cx, bytes, more)
    }

    /// Nothing was asked: the greeting, or what cannot be read.
    fn greeting_step(&mut self, bytes: &[u8], more: More) -> Step {
        let Some(header) = Header::parse(bytes).filter(|_| !self.greeted) else {
            return Step::Skip;
        };
        let whole = usize::try_from(header.bytes()).unwrap_or(usize::MAX);
        let is_likely = header.sequence == 0 && whole < 1_024;
        if is_likely && bytes.len() < whole && more == More::Yes {
            return Step::Need(whole);
        }
        let shown = bytes.get(..whole).unwrap_or(bytes);
        if let Some(greeting) = Greeting::parse(shown) {
            self.server_capabilities = greeting.capabilities;
            let version = logon::text(greeting.version);
            self.change(|about| about.server_version = Some(version));
            self.said = Some(Said::Greeting);
        } else if logon::is_refusal(shown) {
            let code = shown.get(5..7).and_then(|b| b.first_chunk());
            self.said = Some(Said::Refusal(code.map_or(0, |b| u16::from_le_bytes(*b))));
        } else {
            return Step::Skip;
        }
        self.greeted = true;
        Step::End(header.bytes())
    }

    fn response_step(&mut self, cx: &mut Context<'_>, bytes: &[u8], more: More) -> Step {
        let begins = self.said.is_none();
        let mut passed = 0_u64;
        loop {
            let rest = usize::try_from(passed).ok().and_then(|n| bytes.get(n..));
            let rest = rest.unwrap_or_default();
            let Some(waiting) = self.pairing.first() else {
                return Step::Lost;
            };
            let header = Header::parse(rest);
            let payload = rest.get(Header::BYTES..).unwrap_or_default();
            let wanted = header.map_or(0, |h| waiting.response.wants(h, payload.first().copied()));
            let is_shown = header.is_some() && payload.len() >= wanted;
            if !is_shown && (passed > 0 || more == More::Yes) {
                // What is there already is let go, so that it need not be held back.
                return match passed {
                    0 => Step::Need(Header::BYTES + wanted.max(1)),
                    passed => Step::Pass(passed),
                };
            }
            let Some(header) = header else {
                return self.lose_step(cx, begins);
            };
            let head = payload.get(..wanted).unwrap_or(payload);
            let next = waiting.response.packet(header, head, &mut self.agreed);
            if next == Next::Wrong {
                return match passed {
                    0 => self.lose_step(cx, begins),
                    passed => Step::Pass(passed),
                };
            }
            self.said = Some(Said::Response(next));
            passed += header.bytes();
            match next {
                Next::Packet if passed >= bytes.len() as u64 => return Step::Pass(passed),
                Next::Packet => {}
                Next::EndOrEof => {
                    let behind = usize::try_from(passed).ok().and_then(|n| bytes.get(n..));
                    let eof = behind.unwrap_or_default().starts_with(&[5, 0, 0]);
                    if !eof {
                        self.agreed.no_eof = Some(true);
                        return Step::End(passed);
                    }
                    self.agreed.no_eof = Some(false);
                }
                Next::End | Next::Client | Next::File => return Step::End(passed),
                Next::Wrong => return Step::Lost,
            }
        }
    }

    /// What the server says is no packet of the response.
    fn lose_step(&mut self, cx: &mut Context<'_>, begins: bool) -> Step {
        self.pairing.lose_step(cx);
        match begins {
            true => Step::Skip,
            false => Step::Lost,
        }
    }

    /// A frame of the server has passed.
    fn server_frame(&mut self, cx: &mut Context<'_>, said: Said, span: &Span) {
        let next = match said {
            Said::Greeting => {
                self.phase = Phase::Greeted;
                return self.connected(cx, *span, Outcome::Ok);
            }
            Said::Refusal(code) => {
                let code = Code::new(&format!("ER-{code}"));
                return self.connected(cx, *span, Outcome::Code(code));
            }
            Said::Response(next) => next,
        };
        let Some(first) = self.pairing.first() else {
            return;
        };
        first.answer(span);
        match next {
            Next::Client => {}
            Next::File => {
                first.exchange.op = op::COPY;
                self.phase = Phase::File;
            }
            _ => self.answered(cx),
        }
    }

    fn connected(&self, cx: &mut Context<'_>, span: Span, outcome: Outcome) {
        let sql = Arc::clone(&self.plain);
        match self.opened {
            Some(opened) => sql::greeted(cx, Protocol::Mysql, opened, span, sql, outcome),
            None => {
                let reason = Reason::BeforeCapture;
                sql::unasked(cx, Protocol::Mysql, op::CONNECT, span, sql, reason);
            }
        }
    }

    /// A response is complete.
    fn answered(&mut self, cx: &mut Context<'_>) {
        let Some(mut call) = self.pairing.complete() else {
            return;
        };
        let succeeded = call.response.error.is_none();
        match std::mem::take(&mut call.effect) {
            Effect::LogsOn => {
                self.phase = Phase::Commands;
                call.exchange.sql = Arc::clone(&self.plain);
                let compressed = self.capabilities
                    & self.server_capabilities.unwrap_or(u32::MAX)
                    & (capability::COMPRESS | capability::ZSTD);
                if succeeded && compressed != 0 {
                    self.hidden = Some(Hidden::Compression);
                }
            }
            Effect::Prepares(statement) if succeeded => {
                call.cursor = call.response.statement;
                if let Some(number) = call.cursor {
                    self.prepared.add(cx, number, statement);
                }
            }
            Effect::Uses(name) if succeeded => self.change(|about| about.database = Some(name)),
            Effect::Prepares(_) | Effect::Uses(_) | Effect::Nothing => {}
        }
        if self.phase == Phase::Stream {
            self.streams(cx, succeeded);
        }
        call.finish(cx);
    }

    /// The server has begun to send its binary log, or will not.
    fn streams(&mut self, cx: &mut Context<'_>, succeeded: bool) {
        if !succeeded {
            self.phase = Phase::Commands;
            return;
        }
        let (client, server) = (cx.connection.client, cx.connection.server);
        cx.problems.note("mysql-binlog-stream", || {
            let text = format!("{client} reads the binary log of {server}: events make no calls");
            (text, Where::default())
        });
    }
}

/// Packets of a file, the last of which is empty.
fn file_step(header: Header) -> Step {
    match header.length {
        0 => Step::End(header.bytes()),
        _ => Step::Pass(header.bytes()),
    }
}

/// A request and what was sent of it before.
fn joined(before: Option<Span>, span: Span) -> Span {
    match before {
        Some(mut before) => {
            before.extend(&span);
            before
        }
        None => span,
    }
}

impl SessionTrait for Session {
    fn step(&mut self, cx: &mut Context<'_>, d: Direction, bytes: &[u8], more: More) -> Step {
        self.pairing.catch_up(cx);
        match d {
            Direction::ToServer => self.client_step(cx, bytes, more),
            Direction::ToClient => self.server_step(cx, bytes, more),
        }
    }

    fn complete(&mut self, cx: &mut Context<'_>, d: Direction, span: &Span) {
        match d {
            Direction::ToServer => {
                if let Some(sent) = self.sent.take() {
                    self.client_frame(cx, sent, span);
                }
            }
            Direction::ToClient => {
                if let Some(said) = self.said.take() {
                    self.server_frame(cx, said, span);
                }
            }
        }
    }

    /// What begins here is judged by [`Session::step`].
    fn resync(
        &mut self,
        _cx: &mut Context<'_>,
        _d: Direction,
        _bytes: &[u8],
        _at_start: bool,
        _wire: u64,
    ) -> Option<usize> {
        Some(0)
    }

    fn abandon(
        &mut self,
        cx: &mut Context<'_>,
        d: Direction,
        span: Option<Span>,
        close: Option<Close>,
    ) {
        self.pairing.catch_up(cx);
        let span = span.map(|mut span| {
            span.end_missing = true;
            span
        });
        match d {
            Direction::ToServer => {
                if let (Some(sent), Some(span)) = (self.sent.take(), span) {
                    self.client_frame(cx, sent, &span);
                }
                self.in_step = false;
            }
            Direction::ToClient => match (self.said.take(), span) {
                (Some(Said::Response(_)), Some(span)) => {
                    if let Some(first) = self.pairing.first() {
                        first.answer(&span);
                    }
                    if close.is_none() {
                        self.pairing.lose_step(cx);
                    }
                }
                (Some(said), Some(span)) => self.server_frame(cx, said, &span),
                _ => {}
            },
        }
    }

    fn skipped(&mut self, cx: &mut Context<'_>, d: Direction, run: &Run) {
        self.pairing.catch_up(cx);
        let span = Span::of(run);
        match (d, self.phase) {
            (Direction::ToServer, Phase::Logon | Phase::File) => self.goes_on(&span),
            (Direction::ToServer, _) => {
                self.pairing.hidden_command(cx, &self.plain);
                self.in_step = false;
            }
            (Direction::ToClient, Phase::Stream) if self.pairing.len() == 0 => {}
            (Direction::ToClient, _) => self.pairing.skipped(cx, &span),
        }
    }

    fn hole(&mut self, d: Direction, hole: Hole, _at: Time) {
        if d == Direction::ToServer {
            self.in_step = false;
            self.long_data = None;
            self.prepared.forget_last();
        }
        if hole == Hole::Gap {
            self.pairing.gap(d);
        }
    }

    fn datagram(&mut self, _cx: &mut Context<'_>, _d: Direction, _bytes: &[u8], _span: Span) {
        // Only spoken over TCP: the probe takes no datagrams.
    }

    fn opened(&mut self, at: Mark) {
        self.opened = Some(at);
    }

    fn opaque(&self) -> Option<Opaque> {
        let hidden = self.hidden?;
        Some(Opaque::hidden(Protocol::Mysql, &self.plain, hidden))
    }

    fn close(&mut self, cx: &mut Context<'_>, why: Close) {
        self.pairing.catch_up(cx);
        self.pairing.close(cx, why, &self.plain);
    }
}
