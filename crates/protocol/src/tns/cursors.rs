//! Cursors into the statements they belong to: a cursor has one from the call that parses it until it
//! is closed or parsed again, so that its executions and fetches carry the same record; and the rows
//! it has given out, so that each fetch's own can be told.

use crate::session::Kept;
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use model::{Problems, Sql, SqlSession, Statement, Where, limits};
use std::sync::Arc;

/// What is known of an open cursor.
#[derive(Clone, Default, Debug)]
struct Cursor {
    /// Of its statement; `None` when that was not seen.
    sql: Option<Arc<Sql>>,
    /// Rows since it was executed; `None` when that was not seen.
    rows: Option<u64>,
}

/// The open cursors of a session.
#[derive(Default)]
pub(super) struct Cursors {
    by_id: HashMap<u32, Cursor, FixedState>,
}

impl Cursors {
    /// What it keeps of statements; several cursors may have the same.
    pub(super) fn kept(&self, kept: Kept) -> Kept {
        let statements = self.by_id.values().filter_map(|c| c.sql.as_ref());
        kept.and(self.by_id.len(), size_of::<(u32, Cursor)>())
            .and_each(statements.map(|sql| sql.kept_bytes()))
    }

    /// `id` has been parsed from `statement`.
    pub(super) fn parsed(&mut self, id: u32, sql: Arc<Sql>, problems: &mut Problems) {
        self.make_room(id, problems);
        let rows = None;
        let sql = Some(sql);
        self.by_id.insert(id, Cursor { sql, rows });
    }

    /// The statement of a cursor, in the session as it is known now.
    pub(super) fn statement(&mut self, id: u32, session: &Arc<SqlSession>) -> Option<Arc<Sql>> {
        let sql = self.by_id.get_mut(&id)?.sql.as_mut()?;
        if !Arc::ptr_eq(&sql.session, session) {
            *sql = of(session, sql.statement.clone());
        }
        Some(Arc::clone(sql))
    }

    /// The cursor stands at `rows` now, counted from its last execution; returns how many came since
    /// it was looked at last, where that is known.
    pub(super) fn count(
        &mut self,
        id: u32,
        executed: bool,
        rows: u64,
        problems: &mut Problems,
    ) -> Option<u64> {
        self.make_room(id, problems);
        let cursor = self.by_id.entry(id).or_default();
        let before = match executed {
            true => Some(0),
            false => cursor.rows,
        };
        cursor.rows = Some(rows);
        rows.checked_sub(before?)
    }

    /// A response is missing: where the cursor stands is not known.
    pub(super) fn uncount(&mut self, id: u32) {
        if let Some(cursor) = self.by_id.get_mut(&id) {
            cursor.rows = None;
        }
    }

    pub(super) fn close(&mut self, id: u32) {
        self.by_id.remove(&id);
    }

    pub(super) fn clear(&mut self) {
        self.by_id.clear();
    }

    fn make_room(&mut self, id: u32, problems: &mut Problems) {
        if self.by_id.len() >= limits::CURSORS && !self.by_id.contains_key(&id) {
            problems.note("cursors-forgotten", || {
                let text = "a session has more open cursors than are remembered";
                (text.to_owned(), Where::default())
            });
            self.by_id.clear();
        }
    }
}

/// A record for the calls of a statement.
pub(super) fn of(session: &Arc<SqlSession>, statement: Option<Arc<Statement>>) -> Arc<Sql> {
    Arc::new(Sql {
        session: Arc::clone(session),
        statement,
    })
}
