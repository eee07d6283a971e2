//! A command whose response is not complete, or not yet certain, into a call.

use super::prepared::Statement;
use super::response::Response;
use crate::session::{Context, Span};
use crate::sql::Exchange;
use model::{Code, Field, Outcome, Protocol, Reason};
use std::sync::Arc;

/// What a command changes when it succeeds.
#[derive(Clone, Default, Debug)]
pub(super) enum Effect {
    #[default]
    Nothing,
    /// The statement gets a number.
    Prepares(Statement),
    /// COM_INIT_DB.
    Uses(Arc<str>),
    /// The session begins, or begins anew.
    LogsOn,
}

/// How far its response has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Progress {
    /// In step: what comes next of the server is its response, or goes on with it.
    InStep,
    /// Where packets of the response stand is not known any more; what the server sends until the
    /// client speaks again is its end.
    Adrift,
    /// It was adrift, and the client has spoken. The end was seen unless a gap says otherwise.
    Over,
    /// Complete, if it was its response at all.
    Complete,
}

#[derive(Debug)]
pub(super) struct Waiting {
    pub exchange: Exchange,
    pub response: Response,
    pub effect: Effect,
    pub cursor: Option<u32>,
    pub rows_asked: Option<u32>,
    pub progress: Progress,
    /// A gap may hold its response, so that what follows may be another's: only the next command,
    /// without a gap before it, shows that it was not.
    pub doubtful: bool,
    /// A gap hides a part of the response.
    pub gap: bool,
}

impl Waiting {
    pub(super) fn new(exchange: Exchange, response: Response) -> Waiting {
        Waiting {
            exchange,
            response,
            effect: Effect::Nothing,
            cursor: None,
            rows_asked: None,
            progress: Progress::InStep,
            doubtful: false,
            gap: false,
        }
    }

    /// Whether anything of its response was seen.
    pub(super) fn has_begun(&self) -> bool {
        self.exchange.response.is_some() || !self.response.is_new()
    }

    /// More of the response, in or out of step.
    pub(super) fn answer(&mut self, span: &Span) {
        self.exchange.answer(span);
    }

    /// Fields and outcome; what counts the whole response only where `whole` was seen.
    fn describe(&mut self, whole: bool) {
        let detail = &mut self.exchange.detail;
        let mut set = |field, value: Option<u64>| {
            if let Some(value) = value {
                detail.set(field, value);
            }
        };
        set(Field::Cursor, self.cursor.map(u64::from));
        set(Field::RowsAsked, self.rows_asked.map(u64::from));
        if whole {
            set(Field::Rows, self.response.rows);
            set(Field::Affected, self.response.affected);
            set(Field::Eof, self.response.last_row_sent.then_some(1));
        }
        if self.progress == Progress::Over && !self.gap {
            set(Field::Inferred, Some(1));
        }
        if let Some(error) = self.response.error {
            set(Field::Status, Some(error.into()));
            self.exchange.outcome = Outcome::Code(Code::public(&format!("ER-{error}")));
        }
    }

    /// The response is over.
    pub(super) fn finish(mut self, cx: &mut Context<'_>) {
        let whole = matches!(self.progress, Progress::InStep | Progress::Complete);
        self.describe(whole);
        if self.gap {
            self.exchange
                .give_up(cx, Protocol::Mysql, Reason::CaptureGap);
        } else {
            self.exchange.finish(cx, Protocol::Mysql);
        }
    }

    /// Nothing more is seen of it, or nothing certain.
    pub(super) fn give_up(mut self, cx: &mut Context<'_>, reason: Reason) {
        if self.progress == Progress::Complete {
            // Whose response that was is not known.
            self.exchange.response = None;
            self.response.error = None;
        }
        self.describe(false);
        self.exchange.give_up(cx, Protocol::Mysql, reason);
    }
}
