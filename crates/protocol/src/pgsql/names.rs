//! What names stand for: prepared statements, portals, cursors. So that a later message that only
//! names one is known by its statement.

use super::verb::Verb;
use crate::session::Kept;
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use model::{Sql, limits};
use std::sync::Arc;

/// A statement, and what executing it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Work {
    pub sql: Arc<Sql>,
    pub verb: Verb,
}

/// A portal: a statement with its parameters, ready to run.
#[derive(Clone, Default, Debug)]
pub(super) struct Portal {
    /// `None`: it was prepared before the capture, or the capture lost it.
    pub work: Option<Arc<Work>>,
    /// Whether it was executed before: what comes now are further rows.
    pub started: bool,
}

type Map<V> = HashMap<Box<[u8]>, V, FixedState>;

/// The names of a session.
#[derive(Default, Debug)]
pub(super) struct Names {
    /// The prepared statement and the portal without a name, which nearly all use.
    statement: Option<Arc<Work>>,
    portal: Portal,
    statements: Map<Arc<Work>>,
    portals: Map<Portal>,
    cursors: Map<Arc<Sql>>,
    /// How often all names of a kind were forgotten.
    pub forgotten: u64,
}

/// Adds a name, for which there may have to be room made; says whether that was so.
fn add<V>(map: &mut Map<V>, name: &[u8], value: V) -> bool {
    let full = map.len() >= limits::SQL_NAMES && !map.contains_key(name);
    if full {
        map.clear();
    }
    map.insert(name.into(), value);
    full
}

impl Names {
    /// What the names stand for; the statements of other names may be the same.
    pub(super) fn kept(&self, kept: Kept) -> Kept {
        let work = |work: &Arc<Work>| size_of::<Work>() + work.sql.kept_bytes();
        let statements = self
            .statements
            .iter()
            .map(|(name, of)| name.len() + work(of));
        let portals = self.portals.keys().map(|name| name.len());
        let cursors = self
            .cursors
            .iter()
            .map(|(name, sql)| name.len() + sql.kept_bytes());
        let entries = self.statements.len() + self.portals.len() + self.cursors.len();
        kept.and(entries, size_of::<(Box<[u8]>, Portal)>())
            .and_each(statements.chain(portals).chain(cursors))
    }

    pub(super) fn prepare(&mut self, name: &[u8], work: Arc<Work>) {
        if name.is_empty() {
            self.statement = Some(work);
        } else {
            self.forgotten += u64::from(add(&mut self.statements, name, work));
        }
    }

    /// What a prepared statement or a portal is.
    pub(super) fn described(&self, statement: bool, name: &[u8]) -> Option<Arc<Work>> {
        match (statement, name) {
            (true, []) => self.statement.clone(),
            (true, name) => self.statements.get(name).cloned(),
            (false, []) => self.portal.work.clone(),
            (false, name) => self.portals.get(name)?.work.clone(),
        }
    }

    /// Makes a portal of a prepared statement.
    pub(super) fn bind(&mut self, portal: &[u8], statement: &[u8]) -> Option<Arc<Work>> {
        let work = self.described(true, statement);
        let bound = Portal {
            work: work.clone(),
            started: false,
        };
        if portal.is_empty() {
            self.portal = bound;
        } else {
            self.forgotten += u64::from(add(&mut self.portals, portal, bound));
        }
        work
    }

    /// The portal is executed: as it was before.
    pub(super) fn execute(&mut self, portal: &[u8]) -> Portal {
        let bound = match portal {
            [] => Some(&mut self.portal),
            name => self.portals.get_mut(name),
        };
        let Some(bound) = bound else {
            return Portal::default();
        };
        let before = bound.clone();
        bound.started = true;
        before
    }

    pub(super) fn close(&mut self, statement: bool, name: &[u8]) {
        match (statement, name) {
            (true, []) => self.statement = None,
            (true, name) => {
                self.statements.remove(name);
            }
            (false, []) => self.portal = Portal::default(),
            (false, name) => {
                self.portals.remove(name);
            }
        }
    }

    /// The transaction has ended, and portals with it.
    pub(super) fn end_transaction(&mut self) {
        if !self.portals.is_empty() {
            self.portals.clear();
        }
    }

    pub(super) fn declare(&mut self, cursor: &[u8], sql: Arc<Sql>) {
        self.forgotten += u64::from(add(&mut self.cursors, cursor, sql));
    }

    pub(super) fn cursor(&self, name: &[u8]) -> Option<&Arc<Sql>> {
        self.cursors.get(name)
    }
}

#[cfg(test)]
mod tests {
    use super::super::verb;
    use super::*;

    fn work(text: &str) -> Arc<Work> {
        Arc::new(Work {
            sql: Arc::default(),
            verb: verb::parse(text.as_bytes()),
        })
    }

    #[test]
    fn a_portal_is_of_the_statement_that_was_bound() {
        let mut names = Names::default();
        let (one, two) = (work("select"), work("commit"));
        names.prepare(b"s1", Arc::clone(&one));
        names.prepare(b"", Arc::clone(&two));
        names.bind(b"", b"s1");
        names.bind(b"p", b"");
        let first = names.execute(b"");
        assert!(Arc::ptr_eq(&first.work.unwrap(), &one) && !first.started);
        assert!(names.execute(b"").started);
        assert!(Arc::ptr_eq(&names.execute(b"p").work.unwrap(), &two));
        // Bound anew, it starts anew; what was closed is unknown.
        names.close(true, b"s1");
        names.bind(b"", b"s1");
        let unknown = names.execute(b"");
        assert!(unknown.work.is_none() && !unknown.started);
        names.end_transaction();
        assert!(names.execute(b"p").work.is_none());
    }

    #[test]
    fn names_are_bounded() {
        let mut names = Names::default();
        let one = work("select");
        for i in 0..=limits::SQL_NAMES {
            names.prepare(i.to_string().as_bytes(), Arc::clone(&one));
        }
        assert_eq!(names.forgotten, 1);
        names.bind(b"", b"0");
        assert!(names.execute(b"").work.is_none());
    }
}
