//! A statement's normal form into the table that it wants, and what it wants of it.

/// What a statement wants of a table, and a transaction then has of it: whoever changes what it is keeps everybody away
/// (ACCESS EXCLUSIVE, a metadata lock), and waits for everybody; who changes rows keeps those away that change the same.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Access {
    Reads,
    Changes,
    Defines,
}

/// A table, or what else may be held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Touched {
    pub(super) table: u64,
    pub(super) access: Access,
}

impl Touched {
    pub(super) fn changes(table: u64) -> Touched {
        Touched {
            table,
            access: Access::Changes,
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
        self.table == wanted.table && (is_alone || accesses == [Access::Changes; 2])
    }
}

/// The table that a statement wants, by the first words of its normal form. Of several the first is taken.
pub(super) fn wanted_table(normal: &str) -> Option<(&str, Access)> {
    use Access::{Changes, Defines, Reads};
    let mut words = normal.split_ascii_whitespace();
    let first = words.next()?;
    let (name, access) = match first {
        _ if is(first, &["update"]) => (next(words)?, Changes),
        _ if is(first, &["insert", "replace", "merge"]) => (behind(words, "into")?, Changes),
        _ if is(first, &["delete"]) => (behind(words, "from")?, Changes),
        _ if is(first, &["select"]) => {
            let locks = normal.to_ascii_lowercase().contains(" for update");
            (behind(words, "from")?, if locks { Changes } else { Reads })
        }
        _ if is(first, &["alter", "drop"]) => (behind(words, "table")?, Defines),
        _ if is(first, &["create"]) => {
            words.find(|w| is(w, &["index"]))?;
            (behind(words, "on")?, Defines)
        }
        _ if is(
            first,
            &["lock", "truncate", "rename", "optimize", "reindex"],
        ) =>
        {
            (next(words)?, Defines)
        }
        _ => return None,
    };
    let end = name.find(['(', ',', ';']).unwrap_or(name.len());
    let name = name.get(..end).filter(|name| !name.is_empty())?;
    Some((name, access))
}

fn is(word: &str, others: &[&str]) -> bool {
    others.iter().any(|other| word.eq_ignore_ascii_case(other))
}

/// The first of these words that may be a name.
fn next<'a>(mut words: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    words.find(|word| !is(word, &["only", "if", "exists", "table", "tables"]))
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
            (
                "lock table stock in access exclusive mode",
                "stock",
                Defines,
            ),
            ("truncate stock", "stock", Defines),
        ] {
            assert_eq!(wanted_table(normal), Some((name, access)), "{normal}");
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
        ] {
            assert_eq!(wanted_table(normal), None, "{normal}");
        }
    }

    #[test]
    fn who_keeps_whom_away() {
        use Access::{Changes, Defines, Reads};
        let of = |access| Touched { table: 1, access };
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
        assert!(!of(Defines).keeps(Touched {
            table: 2,
            access: Defines
        }));
    }
}
