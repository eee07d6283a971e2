//! A statement's normal form into what it does with locks that its session asks for by a name, or keeps beyond its transactions.
//!
//! PostgreSQL's advisory locks (manual, "Advisory Lock Functions"), named locks of MySQL and MariaDB ("Locking Functions"), and
//! theirs on tables: LOCK TABLES, FLUSH TABLES WITH READ LOCK, BACKUP STAGE; Oracle's DBMS_LOCK.

/// What a statement does with such a lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SessionLock {
    /// Waits for a lock that clients name; its transaction then has it, or its session.
    Named {
        by_transaction: bool,
    },
    /// Keeps a table until that is unlocked.
    Table,
    /// Keeps all tables from being changed.
    AllTables,
    LetsGo,
    LetsAllGo,
}

const OF_SESSION: SessionLock = SessionLock::Named {
    by_transaction: false,
};
const OF_TRANSACTION: SessionLock = SessionLock::Named {
    by_transaction: true,
};

const FUNCTIONS: [(&str, SessionLock); 10] = [
    ("get_lock", OF_SESSION),
    ("pg_advisory_lock", OF_SESSION),
    ("pg_advisory_lock_shared", OF_SESSION),
    ("pg_advisory_xact_lock", OF_TRANSACTION),
    ("pg_advisory_xact_lock_shared", OF_TRANSACTION),
    ("pg_advisory_unlock", SessionLock::LetsGo),
    ("pg_advisory_unlock_shared", SessionLock::LetsGo),
    ("release_lock", SessionLock::LetsGo),
    ("pg_advisory_unlock_all", SessionLock::LetsAllGo),
    ("release_all_locks", SessionLock::LetsAllGo),
];

/// What is left of a name is told from others by so much of it.
const CUT: usize = "pg_advisory".len();

impl SessionLock {
    #[must_use]
    pub fn of(normal: &str) -> Option<SessionLock> {
        let (first, rest) = normal.split_once(' ')?;
        match first {
            "select" | "do" => SessionLock::of_function(rest),
            "flush" if rest.contains(" with") => Some(SessionLock::AllTables),
            "backup" if rest.starts_with("stage block_c") => Some(SessionLock::AllTables),
            "lock" if is_until_unlocked(rest) => Some(SessionLock::Table),
            "unlock" | "discard" | "backup" => {
                let is_all = matches!(rest, "tables" | "table" | "all" | "stage end");
                is_all.then_some(SessionLock::LetsAllGo)
            }
            "begin" | "declare" | "call" => SessionLock::of_block(rest),
            _ => None,
        }
    }

    /// Oracle's locks by name are asked for in blocks of PL/SQL, which may do anything beside. One that asks for a lock and
    /// lets it go has it while it works.
    fn of_block(rest: &str) -> Option<SessionLock> {
        match ["dbms_lock.request", "dbms_lock.release"].map(|name| rest.contains(name)) {
            [true, false] => Some(OF_SESSION),
            [false, true] => Some(SessionLock::LetsGo),
            _ => None,
        }
    }

    fn of_function(rest: &str) -> Option<SessionLock> {
        let (name, behind) = rest.split_once('(').unwrap_or((rest, ""));
        // What is read beside it is work.
        if behind.contains(" from ") {
            return None;
        }
        let name = name.trim_end().rsplit('.').next()?;
        let is_whole = rest.contains('(');
        // The snap length may cut a name.
        let is_it = |known: &str| match is_whole {
            true => known == name,
            false => name.len() >= CUT && known.starts_with(name),
        };
        let found = FUNCTIONS.iter().find(|(known, _)| is_it(known));
        found.map(|(_, does)| *does)
    }

    /// Whether a statement does nothing but wait for a lock.
    #[must_use]
    pub fn is_asked_for_alone(normal: &str) -> bool {
        // Few are, and this is asked of each call. A block may do anything beside.
        let may_be = matches!(
            normal.as_bytes(),
            [b's', _, _, _, _, _, b' ', b'p' | b'g', ..] | [b'd', b'o', b' ', ..]
        );
        may_be && matches!(SessionLock::of(normal), Some(SessionLock::Named { .. }))
    }
}

/// Of MySQL a lock on a table says what for; PostgreSQL's, which a transaction has, ends otherwise.
fn is_until_unlocked(tables: &str) -> bool {
    [" read", " read local", " write"]
        .iter()
        .any(|end| tables.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_statements_do_with_locks_of_their_sessions() {
        let named = |by_transaction| SessionLock::Named { by_transaction };
        for (normal, does) in [
            ("select pg_advisory_lock(?)", named(false)),
            ("select pg_catalog.pg_advisory_lock(?, ?)", named(false)),
            ("select pg_advisory_lock_shared($1)", named(false)),
            ("select pg_advisory_xact_lock(hashtext(?))", named(true)),
            ("select get_lock(?, ?)", named(false)),
            ("do get_lock(?, ?)", named(false)),
            ("select pg_advisory_xact_l", named(true)),
            ("select pg_advisory_un", SessionLock::LetsGo),
            ("flush tables with read lo", SessionLock::AllTables),
            ("select pg_advisory_unlock(?)", SessionLock::LetsGo),
            ("do release_lock(?)", SessionLock::LetsGo),
            ("select release_all_locks()", SessionLock::LetsAllGo),
            ("flush tables with read lock", SessionLock::AllTables),
            ("backup stage block_commit", SessionLock::AllTables),
            ("backup stage end", SessionLock::LetsAllGo),
            ("lock tables stock write", SessionLock::Table),
            ("lock tables stock read, bin write", SessionLock::Table),
            ("unlock tables", SessionLock::LetsAllGo),
            ("discard all", SessionLock::LetsAllGo),
            ("begin :r := dbms_lock.request(:h, ?); end", named(false)),
            (
                "declare r number; begin r := dbms_lock.release(:h); end",
                SessionLock::LetsGo,
            ),
        ] {
            assert_eq!(SessionLock::of(normal), Some(does), "{normal}");
        }
        for normal in [
            "",
            "select",
            "select ?",
            "select pg_try_advisory_lock(?)",
            "select pg_adv",
            "select pg_sleep",
            "flush tables stock for export",
            "select pg_advisory_lock(id) from job limit ?",
            "lock table stock in share mode",
            "lock stock",
            "flush tables",
            "backup stage start",
            "begin r := dbms_lock.request(:h); work(); r := dbms_lock.release(:h); end",
            "update stock set n = ?",
        ] {
            assert_eq!(SessionLock::of(normal), None, "{normal}");
        }
    }

    #[test]
    fn who_asks_for_a_lock_alone_works_on_nothing() {
        for (normal, alone) in [
            ("select pg_advisory_xact_lock(?)", true),
            ("select get_lock(?, ?)", true),
            ("do get_lock(?, ?)", true),
            ("select get_lock(?, ?) from dual", false),
            ("select pg_advisory_unlock(?)", false),
            ("select pg_sleep(?)", false),
            ("begin :r := dbms_lock.request(:h, ?); end", false),
            ("flush tables with read lock", false),
            ("", false),
        ] {
            assert_eq!(SessionLock::is_asked_for_alone(normal), alone, "{normal}");
        }
    }
}
