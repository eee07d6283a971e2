//! What a turn that is over says: its operation, statement, rows and error, and what it tells of the
//! session. Only here are requests and responses read.

use super::connect::{self, Accept, Connect};
use super::cursors::{self, Cursors};
use super::packet::LONG_FROM;
use super::purpose;
use super::services::{self, Agreed};
use super::ttc::{self, Block, Request, RowHeader};
use super::turn::{Stage, Turn};
use crate::session::{Context, Kept};
use model::{
    Code, Field, Found, Hidden, Outcome, Problems, Sql, SqlSession, Statement, Where, sql::op,
};
use statement::Dialect;
use std::sync::Arc;

/// Turns in a row that cannot be read before a session that never could is taken to be encrypted, or
/// joined too late.
const UNREADABLE: u32 = 3;

/// The calls of one logon, by their place among the words of [`Field::Step`].
mod step {
    use super::super::ttc::message;
    use model::{Name, sql::op};

    pub(super) const NATIVE_SERVICES: u64 = 0;
    const PROTOCOL: u64 = 1;
    const DATA_TYPES: u64 = 2;
    const SESSION_KEY: u64 = 3;
    const PASSWORD: u64 = 4;
    const ALL_IN_ONE: u64 = 5;

    /// What a request is of a logon; it may begin with piggybacks, and those of Oracle 7 have one call alone.
    pub(super) fn of(payload: &[u8], op: Name) -> Option<u64> {
        match payload {
            [message::PROTOCOL, ..] => Some(PROTOCOL),
            [message::DATA_TYPES, ..] => Some(DATA_TYPES),
            [message::FAST_AUTHENTICATION, ..] => Some(ALL_IN_ONE),
            [message::FUNCTION, 0x76, ..] => Some(SESSION_KEY),
            [message::FUNCTION, 0x73, ..] if op == op::LOGON => Some(PASSWORD),
            _ => None,
        }
    }
}

/// The session, its cursors, and how its turns are read.
#[derive(Default)]
pub(super) struct Calls {
    /// The record of calls without a statement.
    base: Arc<Sql>,
    cursors: Cursors,
    /// Why payloads are not read any more.
    hidden: Option<Hidden>,
    /// Whether the text of a CONNECT asked the listener for something.
    for_listener: bool,
    /// Turns that could not be read since one could.
    unreadable: u32,
    any_read: bool,
}

impl Calls {
    pub(super) fn kept(&self, kept: Kept) -> Kept {
        self.cursors.kept(kept)
    }

    pub(super) fn session(&self) -> Arc<Sql> {
        Arc::clone(&self.base)
    }

    fn learn(&mut self, what: impl FnOnce(&mut SqlSession)) {
        let mut session = (*self.base.session).clone();
        what(&mut session);
        if session != *self.base.session {
            self.base = cursors::of(&Arc::new(session), None);
        }
    }

    /// A CONNECT begins a session, or repeats what began it.
    pub(super) fn connect(&mut self, connect: &Connect) {
        self.cursors.clear();
        self.hidden = None;
        self.for_listener = false;
        self.learn(|s| {
            *s = SqlSession {
                sdu_offered_bytes: Some(connect.sdu_bytes),
                tdu_offered_bytes: Some(connect.tdu_bytes),
                ..SqlSession::default()
            };
        });
    }

    pub(super) fn accept(&mut self, accept: &Accept) {
        self.learn(|s| {
            s.sdu_bytes = Some(accept.sdu_bytes);
            s.tdu_bytes = Some(accept.tdu_bytes);
            // 12.1 is the last version of which captures were read.
            s.unproven |= accept.version > LONG_FROM || accept.marks_ends;
        });
    }

    /// From here on payloads are encrypted, or have something behind them.
    pub(super) fn protect(&mut self, hidden: Option<Hidden>, agreed: Agreed) {
        self.hidden = self.hidden.or(hidden);
        self.learn(|s| {
            s.hidden = s.hidden.or(hidden);
            s.cipher = agreed.cipher_name();
            s.checksum = agreed.hash_name();
            s.unproven = true;
        });
    }

    pub(super) fn compressed(&mut self) {
        self.learn(|s| s.hidden = s.hidden.or(Some(Hidden::Compression)));
    }

    /// Whether payloads are encrypted.
    pub(super) fn is_hidden(&self) -> bool {
        self.hidden.is_some()
    }

    /// Whether the end of the response was seen, for all that it says.
    pub(super) fn is_over(&self, turn: &Turn) -> bool {
        if turn.stage == Stage::Connect {
            return true;
        }
        let call = Request::parse(&turn.bytes.request).and_then(|r| r.sequence);
        let tail = &turn.bytes.tail;
        self.hidden.is_none()
            && turn.tail_seen
            && (ttc::find_block(tail, call).is_some() || ttc::is_over(tail))
    }

    /// Reads what was said in `turn`, which is over, and completes its exchange.
    pub(super) fn read(&mut self, cx: &mut Context<'_>, turn: &mut Turn) {
        match turn.stage {
            Stage::Connect => self.read_connect(cx, turn),
            Stage::Data => self.read_data(cx, turn),
        }
        // What fits into one says nothing of what cuts them.
        if turn.packets.iter().any(|&n| n > 1) {
            let detail = &mut turn.exchange.detail;
            detail.set(Field::LargestPacket, turn.largest_packet);
        }
    }

    fn read_connect(&mut self, cx: &mut Context<'_>, turn: &mut Turn) {
        let text = &turn.bytes.request;
        self.for_listener = connect::is_for_listener(text);
        self.learn(|s| {
            let word = |name| connect::word(text, name).map(Into::into);
            s.database = word("SERVICE_NAME").or_else(|| word("SID"));
            s.program = word("PROGRAM");
            s.client_user = word("USER");
            // An address has a host too: that of the server.
            let cid = text
                .windows(4)
                .position(|w| w.eq_ignore_ascii_case(b"(CID"));
            let cid = cid.and_then(|at| text.get(at..));
            let host = cid.and_then(|cid| connect::word(cid, "HOST"));
            s.client_host = host.map(Into::into);
            s.purpose = purpose::of(s.program.as_deref(), s.database.as_deref());
        });
        let answer = &turn.bytes.response;
        if turn.redirected {
            turn.exchange.detail.set(Field::Redirected, 1);
            cx.problems.note("redirected-connections", || {
                let part = |name| connect::word(answer, name).unwrap_or_else(|| "?".to_owned());
                let (client, server) = (cx.connection.client, cx.connection.server);
                let (host, port) = (part("HOST"), part("PORT"));
                let text = format!("{server} sent {client} on to {host}:{port}");
                (text, Where::default())
            });
        } else if turn.refused.is_some() {
            turn.exchange.outcome = match connect::error(answer) {
                Some(code) => oracle(code),
                None => Outcome::Error("REFUSED"),
            };
        }
        if self.for_listener {
            turn.exchange.op = op::OTHER;
        }
        turn.exchange.sql = self.session();
    }

    fn read_data(&mut self, cx: &mut Context<'_>, turn: &mut Turn) {
        turn.exchange.sql = self.session();
        if turn.bytes.request.starts_with(&services::MAGIC) {
            turn.exchange.op = op::NEGOTIATE;
            turn.exchange.detail.set(Field::Step, step::NATIVE_SERVICES);
            return;
        }
        if self.for_listener {
            turn.exchange.op = op::OTHER;
            return;
        }
        if self.hidden.is_some() || turn.unreadable {
            return;
        }
        let bytes = std::mem::take(&mut turn.bytes);
        match Request::parse(&bytes.request) {
            Some(request) => {
                self.any_read = true;
                self.unreadable = 0;
                self.readable(true);
                if !self.base.session.big_endian && ttc::says_big_endian(&bytes.request) {
                    self.learn(|s| {
                        s.big_endian = true;
                        s.unproven = true;
                    });
                }
                self.request(
                    cx,
                    turn,
                    &request,
                    &bytes.request,
                    &bytes.response,
                    &bytes.tail,
                );
            }
            None => {
                self.unreadable += 1;
                if self.unreadable >= UNREADABLE && !self.any_read {
                    self.readable(false);
                    turn.exchange.sql = self.session();
                }
            }
        }
        turn.bytes = bytes;
    }

    fn readable(&mut self, is: bool) {
        let hidden = self.base.session.hidden;
        match (is, hidden) {
            (true, Some(Hidden::Unreadable)) => self.learn(|s| s.hidden = None),
            (false, None) => self.learn(|s| s.hidden = Some(Hidden::Unreadable)),
            _ => {}
        }
    }

    fn request(
        &mut self,
        cx: &mut Context<'_>,
        turn: &mut Turn,
        request: &Request<'_>,
        payload: &[u8],
        response: &[u8],
        tail: &[u8],
    ) {
        let exchange = &mut turn.exchange;
        exchange.op = request.op;
        for &closed in &request.closes {
            if Some(closed) != request.cursor && !self.base.session.big_endian {
                self.cursors.close(closed);
            }
        }
        let big_endian = self.base.session.big_endian;
        let block = (turn.tail_seen && !big_endian)
            .then(|| ttc::find_block(tail, request.sequence))
            .flatten();
        exchange.outcome = match &block {
            Some(block) if block.error == 0 || block.is_end_of_rows() => Outcome::Ok,
            Some(block) => oracle(block.error),
            None => match turn.tail_seen.then(|| ttc::text_error(tail)).flatten() {
                // Without its block nobody knows whether it is the end of rows.
                Some(1_403) | None => Outcome::Ok,
                Some(code) => oracle(code),
            },
        };
        if let Some(step) = step::of(payload, request.op) {
            exchange.detail.set(Field::Step, step);
        }
        if request.op == op::LOGON {
            exchange.sql = self.logon(cx, payload, response);
        } else {
            exchange.sql = self.session();
        }
        if let Some(function) = request.function {
            exchange.detail.set(Field::Function, function.into());
        }
        let works_on_cursor =
            [op::PREPARE, op::EXECUTE, op::FETCH, op::CLOSE].contains(&request.op);
        if big_endian {
            if let Some((text, found)) = &request.text {
                let statement = statement(cx, &text.bytes, text.cut, *found);
                turn.exchange.sql = cursors::of(&self.base.session, Some(statement));
            }
        } else if works_on_cursor {
            self.cursor(cx, turn, request, block.as_ref(), response);
        }
        if request.op == op::CLOSE
            && !big_endian
            && let Some(id) = request.cursor
        {
            self.cursors.close(id);
        }
    }

    fn logon(&mut self, cx: &mut Context<'_>, payload: &[u8], response: &[u8]) -> Arc<Sql> {
        let logon = ttc::find_logon(payload);
        let version = ttc::server_version(response).and_then(connect::version);
        self.learn(|s| {
            let set = |place: &mut Option<Arc<str>>, value: Option<&str>| {
                if let Some(value) = value {
                    *place = Some(value.into());
                }
            };
            set(&mut s.user, logon.user.as_deref());
            set(&mut s.server_version, version.as_deref());
            s.purpose = s.purpose.or(purpose::of(logon.program.as_deref(), None));
            // The descriptor says more of programs than they themselves do, if it says anything.
            let or = |place: &mut Option<Arc<str>>, value: Option<&str>| {
                if place.is_none() {
                    *place = value.map(Into::into);
                }
            };
            or(&mut s.program, logon.program.as_deref());
            or(&mut s.client_host, logon.host.as_deref());
            or(&mut s.client_user, logon.client_user.as_deref());
        });
        let statement = logon
            .statement
            .map(|(text, found)| statement(cx, &text.bytes, text.cut, found));
        match statement {
            Some(_) => cursors::of(&self.base.session, statement),
            None => self.session(),
        }
    }

    /// The statement, rows and cursor of a call.
    fn cursor(
        &mut self,
        cx: &mut Context<'_>,
        turn: &mut Turn,
        request: &Request<'_>,
        block: Option<&Block>,
        response: &[u8],
    ) {
        let given = request.cursor.filter(|&id| id != 0);
        let id = given.or(block.map(|b| b.cursor).filter(|&id| id != 0));
        if let Some((text, found)) = &request.text {
            let statement = statement(cx, &text.bytes, text.cut, *found);
            let sql = cursors::of(&self.base.session, Some(statement));
            if let Some(id) = id {
                self.cursors.parsed(id, Arc::clone(&sql), cx.problems);
            }
            turn.exchange.sql = sql;
        } else if let Some(sql) = id.and_then(|id| self.cursors.statement(id, &self.base.session)) {
            turn.exchange.sql = sql;
        }
        let rows = id.zip(block).and_then(|(id, block)| {
            let executed = request.executes;
            let rows = self.cursors.count(id, executed, block.rows, cx.problems);
            rows.filter(|_| block.is_query())
        });
        if let (Some(id), None) = (id, block) {
            self.cursors.uncount(id);
        }
        let header = RowHeader::parse(response);
        let asked = request
            .rows_asked
            .or(header.map(|h| h.rows_asked.into()))
            .filter(|_| block.is_none_or(Block::is_query));
        let detail = &mut turn.exchange.detail;
        let mut set = |field, value: Option<u64>| {
            if let Some(value) = value {
                detail.set(field, value);
            }
        };
        set(Field::Cursor, id.map(u64::from));
        set(Field::RowsAsked, asked);
        set(Field::Rows, rows);
        if let Some(block) = block {
            let changed = request.executes && block.changes_rows() && block.error == 0;
            set(Field::Affected, changed.then_some(block.rows));
            let at_end = block.is_query() && block.is_end_of_rows();
            set(Field::Eof, at_end.then_some(1));
        }
        let repeats = ttc::repeats_columns(response);
        set(Field::DuplicateColumns, repeats.then_some(1));
    }
}

fn oracle(code: u32) -> Outcome {
    Outcome::Code(Code::public(&format!("ORA-{code:05}")))
}

fn statement(cx: &mut Context<'_>, text: &[u8], cut: bool, found: Found) -> Arc<Statement> {
    let end = text.iter().rposition(|&b| b != 0).map_or(0, |at| at + 1);
    let text = text.get(..end).unwrap_or(text);
    let statement = cx.shared.statements.of(Dialect::Oracle, text, cut, found);
    if statement.truncated {
        note_truncated(cx.problems);
    }
    statement
}

#[cold]
fn note_truncated(problems: &mut Problems) {
    problems.note("statements-truncated", || {
        let text = "the end of a statement was not captured, or is longer than is kept";
        (text.to_owned(), Where::default())
    });
}
