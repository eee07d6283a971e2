//! A session's prepared statements by their numbers: what COM_STMT_EXECUTE and the like work on.

use super::command::LAST_PREPARED;
use crate::session::{Context, Kept};
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use model::{Name, Sql, SqlSession, Where, limits, sql::op};
use std::sync::Arc;

/// What was prepared, and the operation that executing it is.
#[derive(Clone, Debug)]
pub(super) struct Statement {
    pub sql: Arc<Sql>,
    pub op: Name,
}

#[derive(Default, Debug)]
pub(super) struct Prepared {
    known: HashMap<u32, Statement, FixedState>,
    /// The one that was asked for last, whatever its number will be.
    last: Option<Statement>,
}

impl Prepared {
    /// What it keeps of statements; the same may have several numbers.
    pub(super) fn kept(&self, kept: Kept) -> Kept {
        kept.and(self.known.len(), size_of::<(u32, Statement)>())
            .and_each(self.known.values().map(|s| s.sql.kept_bytes()))
    }

    pub(super) fn asked(&mut self, statement: Statement) {
        self.last = Some(statement);
    }

    /// The server gave it this number.
    pub(super) fn add(&mut self, cx: &mut Context<'_>, number: u32, statement: Statement) {
        if self.known.len() >= limits::SQL_NAMES {
            self.known.clear();
            cx.problems.note("names-forgotten", || {
                let text = format!(
                    "{} prepared more than {} statements",
                    cx.connection.client,
                    limits::SQL_NAMES
                );
                (text, Where::default())
            });
        }
        self.known.insert(number, statement);
    }

    pub(super) fn close(&mut self, number: u32) {
        self.known.remove(&number);
    }

    /// All of them are gone.
    pub(super) fn clear(&mut self) {
        self.known.clear();
        self.last = None;
    }

    /// What was asked for last may have been something else.
    pub(super) fn forget_last(&mut self) {
        self.last = None;
    }

    /// The statement with this number, in a session as it is now.
    pub(super) fn get(&mut self, number: u32, session: &Arc<SqlSession>) -> Option<Statement> {
        let statement = match number {
            LAST_PREPARED => self.last.as_mut(),
            number => self.known.get_mut(&number),
        }?;
        if !Arc::ptr_eq(&statement.sql.session, session) {
            statement.sql = Arc::new(Sql {
                session: Arc::clone(session),
                statement: statement.sql.statement.clone(),
            });
        }
        Some(statement.clone())
    }
}

impl Statement {
    /// Of which the text was not seen.
    pub(super) fn unknown(sql: &Arc<Sql>) -> Statement {
        Statement {
            sql: Arc::clone(sql),
            op: op::EXECUTE,
        }
    }
}
