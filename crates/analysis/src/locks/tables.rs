//! A statement's normal form into the table that it wants, and what it wants of it; or what else sessions keep from each other.

use crate::session_locks::SessionLock;
use std::hash::BuildHasher;

/// What whoever speaks a protocol that is not known may want.
pub(super) const ANYTHING: u64 = 0;
/// A lock that clients name: which is a value, and not in the normal form.
const NAMED: u64 = 1;
/// All tables of a server, but for reading.
const ALL_TABLES: u64 = 2;
/// What a transaction has changed, to be seen by others.
const COMMITTED: u64 = 3;

/// What a statement wants of a table, and a transaction then has of it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Access {
    Reads,
    /// Of its rows some, which nobody else may change.
    Changes,
    /// What the table is: it may keep everybody away, and wait for everybody (ACCESS EXCLUSIVE, a metadata lock).
    Defines,
}

/// A table, or what else may be held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Touched {
    /// 0 where it is not known.
    pub(super) database: u64,
    pub(super) table: u64,
    pub(super) access: Access,
}

impl Touched {
    pub(super) fn changes(table: u64) -> Touched {
        Touched {
            database: 0,
            table,
            access: Access::Changes,
        }
    }

    /// The same of this database. Locks that clients name are of all of them, but PostgreSQL's.
    pub(super) fn of(self, database: u64) -> Touched {
        match self.table {
            NAMED | ALL_TABLES => self,
            _ => Touched { database, ..self },
        }
    }

    /// The same, with all others kept away.
    pub(super) fn alone(self) -> Touched {
        Touched {
            access: Access::Defines,
            ..self
        }
    }

    /// Whether who has this may keep from it whoever wants that.
    pub(super) fn keeps(self, wanted: Touched) -> bool {
        let accesses = [self.access, wanted.access];
        let is_alone = accesses.contains(&Access::Defines);
        let keeps = is_alone || accesses == [Access::Changes; 2];
        if self.table == ALL_TABLES {
            // Several may keep them from being changed.
            return keeps
                && wanted.access != Access::Reads
                && ![NAMED, ALL_TABLES].contains(&wanted.table);
        }
        let databases = [self.database, wanted.database];
        let is_there = databases.contains(&0) || self.database == wanted.database;
        keeps && is_there && self.table == wanted.table
    }
}

/// What a statement asks for.
#[derive(Clone, Copy, Default)]
pub(super) struct Asks {
    pub(super) touched: Option<Touched>,
    /// What it does with a lock of its session.
    pub(super) lock: Option<SessionLock>,
}

impl Asks {
    /// Of a statement in its normal form.
    pub(super) fn of(normal: &str) -> Asks {
        let lock = SessionLock::of(normal);
        let touched = match lock {
            Some(SessionLock::Named { .. }) => Some(Touched::changes(NAMED)),
            Some(SessionLock::AllTables) => Some(Touched::changes(ALL_TABLES)),
            Some(SessionLock::LetsGo | SessionLock::LetsAllGo) => None,
            None if normal == "commit" => Some(Touched::changes(COMMITTED)),
            Some(SessionLock::Table) | None => wanted_table(normal).map(|(name, access)| Touched {
                access,
                ..Touched::changes(number_of(&name))
            }),
        };
        Asks { touched, lock }
    }
}

/// A number for a name.
pub(super) fn number_of(name: &str) -> u64 {
    foldhash::fast::FixedState::default().hash_one(name)
}

/// The table that a statement wants, by the first words of its normal form, without quotes and schema. Of several the first
/// is taken.
fn wanted_table(normal: &str) -> Option<(String, Access)> {
    use Access::{Changes, Defines, Reads};
    let mut words = normal.split_ascii_whitespace();
    let first = words.next()?;
    let (name, access) = match first {
        _ if is(first, &["update"]) => (next(words)?, Changes),
        _ if is(first, &["insert", "replace", "merge"]) => (behind(words, "into")?, Changes),
        _ if is(first, &["delete"]) => (behind(words, "from")?, Changes),
        _ if is(first, &["select"]) => {
            let has = |wanted: &[&str]| words.clone().any(|w| is(w, wanted));
            let locks = has(&["for", "lock"]) && has(&["update", "share"]);
            (behind(words, "from")?, if locks { Changes } else { Reads })
        }
        _ if is(first, &["alter", "drop"]) => (behind(words, "table")?, Defines),
        _ if is(first, &["create"]) => {
            words.find(|w| is(w, &["index"]))?;
            (behind(words, "on")?, Defines)
        }
        _ if is(first, &["lock", "truncate", "rename", "optimize"]) => (next(words)?, Defines),
        _ => return None,
    };
    let end = name.find(['(', ',', ';']).unwrap_or(name.len());
    let name = name.get(..end)?;
    // A name with blanks in it is not known to its end.
    let quotes = name.bytes().filter(|b| matches!(b, b'"' | b'`')).count();
    let name = name.rsplit('.').next()?.trim_matches(['"', '`']);
    let is_known = quotes % 2 == 0 && !name.is_empty();
    is_known.then(|| (name.to_ascii_lowercase(), access))
}

fn is(word: &str, others: &[&str]) -> bool {
    others.iter().any(|other| word.eq_ignore_ascii_case(other))
}

/// Words that stand before a name.
const BEFORE: [&str; 12] = [
    "only",
    "if",
    "exists",
    "table",
    "tables",
    "ignore",
    "low_priority",
    "delayed",
    "quick",
    "high_priority",
    "local",
    "no_write_to_binlog",
];

/// The first of these words that may be a name.
fn next<'a>(mut words: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    words.find(|word| !is(word, &BEFORE))
}

fn behind<'a>(mut words: impl Iterator<Item = &'a str>, wanted: &str) -> Option<&'a str> {
    words.find(|word| is(word, &[wanted]))?;
    next(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_statements_want_of_which_table() {
        use Access::{Changes, Defines, Reads};
        for (normal, name, access) in [
            ("select * from stock where id = ?", "stock", Reads),
            (
                "SELECT n FROM stock WHERE id = ? FOR UPDATE",
                "stock",
                Changes,
            ),
            ("update only stock set n = ?", "stock", Changes),
            ("insert into stock(id, n) values (?, ?)", "stock", Changes),
            ("delete from only stock", "stock", Changes),
            (
                "alter table if exists only stock add c int",
                "stock",
                Defines,
            ),
            ("drop table if exists stock, other", "stock", Defines),
            ("create unique index i on stock (n)", "stock", Defines),
            ("update Public.\"Stock\" set n = ?", "stock", Changes),
            (
                "select n from stock where id = ? lock in share mode",
                "stock",
                Changes,
            ),
            ("lock table stock in row exclusive mode", "stock", Defines),
            ("lock tables stock write", "stock", Defines),
            (
                "update low_priority ignore stock set n = ?",
                "stock",
                Changes,
            ),
            ("select n from stock for no key update", "stock", Changes),
            (
                "lock table stock in access exclusive mode",
                "stock",
                Defines,
            ),
            ("truncate stock", "stock", Defines),
        ] {
            assert_eq!(
                wanted_table(normal),
                Some((name.to_owned(), access)),
                "{normal}"
            );
        }
        for normal in [
            "",
            "select ?",
            "select (select ?)",
            "create table stock (n int)",
            "begin",
            "alter role x",
            "insert",
            "select from",
            "update `my stock` set n = ?",
        ] {
            assert_eq!(wanted_table(normal), None, "{normal}");
        }
    }

    #[test]
    fn who_keeps_whom_away() {
        use Access::{Changes, Defines, Reads};
        let of = |access| Touched {
            access,
            ..Touched::changes(11)
        };
        let keeps = |has, wants| of(has).keeps(of(wants));
        assert!(
            keeps(Changes, Changes)
                && !keeps(Changes, Reads)
                && !keeps(Reads, Changes)
                && !keeps(Reads, Reads)
        );
        assert!(
            [Reads, Changes, Defines]
                .iter()
                .all(|a| keeps(Defines, *a) && keeps(*a, Defines))
        );
        let other = Touched {
            table: 12,
            ..of(Defines)
        };
        assert!(!of(Defines).keeps(other));
        // Tables of two databases are two; of one that is not known it may be.
        let [here, there] = [7, 8].map(|database| of(Changes).of(database));
        assert!(here.keeps(here) && !here.keeps(there) && here.keeps(of(Changes)));
    }
}
