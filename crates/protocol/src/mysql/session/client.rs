//! The client's bytes into commands, steps of a logon and files; each into what now waits for the server.

use super::{Phase, Session};
use crate::copied::Copied;
use crate::mysql::command::{self, Answer};
use crate::mysql::logon::{self, Who, capability};
use crate::mysql::packet::{CONTINUES, Header};
use crate::mysql::prepared::Statement;
use crate::mysql::probe;
use crate::mysql::replication;
use crate::mysql::response::{Agreed, Response};
use crate::mysql::waiting::{Effect, Waiting};
use crate::session::{Context, More, Span, Step};
use crate::sql::{self, Exchange};
use model::{Found, Hidden, Name, Sql, limits, sql::op};
use statement::Dialect;
use std::sync::Arc;

/// A frame of the client that is passing.
#[derive(Debug)]
pub(super) enum Sent {
    Command(Box<Asked>),
    Logon(Box<logon::Response>),
    TlsRequest,
    Step,
    File,
    /// How far a replica is with the binary log.
    Confirmed(Copied),
}

/// A command.
#[derive(Debug)]
pub(super) struct Asked {
    op: Name,
    answer: Answer,
    sql: Arc<Sql>,
    code: u8,
    cursor: Option<u32>,
    rows_asked: Option<u32>,
    effect: Effect,
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

impl Session {
    /// The text of a statement, of which all was shown unless it was `cut`.
    fn statement(&self, cx: &mut Context<'_>, text: &[u8], cut: bool) -> Arc<Sql> {
        let statements = &mut cx.shared.statements;
        let dialect = match self.agreed.plain_strings {
            true => Dialect::MySqlPlain,
            false => Dialect::MySql,
        };
        let statement = statements.of(dialect, text, cut, Found::Structured);
        Arc::new(Sql {
            session: Arc::clone(&self.about),
            statement: Some(statement),
        })
    }

    pub(super) fn client_step(&mut self, cx: &mut Context<'_>, bytes: &[u8], more: More) -> Step {
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
        if self.phase == Phase::File && !self.in_step {
            return Step::Skip;
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
            Phase::Stream => self.confirmed_step(header, bytes, more),
        }
    }

    /// What is shown is no frame, or none that can be read: within one it is lost, else it is let go.
    fn not_a_frame(&self) -> Step {
        match self.sent {
            Some(_) => Step::Lost,
            None => Step::Skip,
        }
    }

    fn confirmed_step(&mut self, header: Header, bytes: &[u8], more: More) -> Step {
        let whole = usize::try_from(header.bytes()).unwrap_or(usize::MAX);
        if whole <= limits::HEAD_BYTES && bytes.len() < whole && more == More::Yes {
            return Step::Need(whole);
        }
        let payload = bytes.get(Header::BYTES..whole);
        match payload.and_then(replication::confirmed) {
            Some(confirmed) => {
                self.sent = Some(Sent::Confirmed(confirmed));
                Step::End(header.bytes())
            }
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
    pub(super) fn client_frame(&mut self, cx: &mut Context<'_>, sent: Sent, span: &Span) {
        match sent {
            Sent::Command(asked) => {
                self.phase = Phase::Commands;
                self.pairing.client_speaks(cx, &self.plain);
                self.command(cx, *asked, *span);
            }
            Sent::Logon(response) => self.logon(cx, *response, *span),
            Sent::TlsRequest => self.hidden = Some(Hidden::Tls),
            Sent::Confirmed(confirmed) => return self.copied(cx, confirmed, span),
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
                // Of one that is cut off more comes, until the server answers.
                if !span.end_missing {
                    self.phase = Phase::Commands;
                }
                self.goes_on(span);
            }
        }
        self.in_step = !span.end_missing;
    }

    /// The request that is being answered goes on.
    pub(super) fn goes_on(&mut self, span: &Span) {
        if let Some(first) = self.pairing.first() {
            if let Some(asked) = first.exchange.response {
                first.exchange.asks(&asked);
            }
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
            plain_strings: false,
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
}
