//! What an output holds, declared once: a list of columns, each with its name, kind, help and value.
//! Every format knows columns only ([`rows`], [`packed`] and [`people`]), and the schemas of `docs/schemas` are
//! written from them (`schema`).

pub(crate) mod order;
pub(crate) mod packed;
pub(crate) mod people;
pub(crate) mod rows;
#[cfg(test)]
pub(crate) mod schema;
pub(crate) mod times;

use std::borrow::Cow;

/// An output of rows: what a row is made from.
pub trait Table: 'static {
    type Row<'a>;
}

/// What a column's values are, and so their unit, their type in JSON, and how people read them.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum ColumnKind {
    Text,
    Flag,
    Integer,
    Count,
    /// From 1, the number that tells a packet or a connection from others.
    Ordinal,
    Bytes,
    /// Bits per second.
    Rate,
    /// With a fraction, and without a unit that all formats know.
    Number,
    /// Nanoseconds.
    Duration,
    /// Nanoseconds since the epoch.
    Time,
    /// JSON of this type, as text in CSV; the schema says by hand what is in it.
    Json(&'static str),
    /// Values with names of their own, of which each row has others: a JSON object, as text in CSV.
    Map,
    /// Any number of elements with these parts: JSON objects, as text in CSV.
    List(&'static [Part]),
}

impl ColumnKind {
    /// What a number of this kind counts.
    pub(crate) fn unit(self) -> Option<&'static str> {
        match self {
            ColumnKind::Bytes => Some("bytes"),
            ColumnKind::Rate => Some("bits per second"),
            ColumnKind::Duration | ColumnKind::Time => Some("ns"),
            _ => None,
        }
    }

    /// Whether it is JSON in CSV.
    #[cfg(test)]
    pub(crate) fn is_nested(self) -> bool {
        use ColumnKind::{Json, List, Map};
        matches!(self, Json(_) | Map | List(_))
    }

    fn is_list(self) -> bool {
        matches!(self, ColumnKind::Json("array") | ColumnKind::List(_))
    }

    fn parts(self) -> &'static [Part] {
        match self {
            ColumnKind::List(parts) => parts,
            _ => &[],
        }
    }
}

/// What each element of a list has.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Part {
    pub(crate) name: &'static str,
    pub(crate) kind: ColumnKind,
}

impl Part {
    pub(crate) const fn new(name: &'static str, kind: ColumnKind) -> Part {
        Part { name, kind }
    }
}

/// A value as every format can write it.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Cell<'a> {
    Unknown,
    Flag(bool),
    Integer(i64),
    Natural(u64),
    Number(f64),
    /// A hash, as 16 hexadecimal digits.
    Hash(u64),
    Text(Cow<'a, str>),
}

impl<'a> Cell<'a> {
    pub(crate) fn text(self) -> Option<Cow<'a, str>> {
        match self {
            Cell::Text(text) => Some(text),
            _ => None,
        }
    }
}

macro_rules! cells {
    ($($from:ty => |$value:ident| $cell:expr;)*) => {$(
        impl<'a> From<$from> for Cell<'a> {
            fn from($value: $from) -> Cell<'a> {
                $cell
            }
        }
    )*};
}

cells! {
    bool => |v| Cell::Flag(v);
    i64 => |v| Cell::Integer(v);
    u64 => |v| Cell::Natural(v);
    u32 => |v| Cell::Natural(v.into());
    u16 => |v| Cell::Natural(v.into());
    u8 => |v| Cell::Natural(v.into());
    f64 => |v| match v.is_finite() {
        true => Cell::Number(v),
        false => Cell::Unknown,
    };
    String => |v| Cell::Text(v.into());
    &'a str => |v| Cell::Text(v.into());
}

impl<'a, T: Into<Cell<'a>>> From<Option<T>> for Cell<'a> {
    fn from(value: Option<T>) -> Cell<'a> {
        value.map_or(Cell::Unknown, Into::into)
    }
}

/// Takes values with their names, which need no quoting.
pub(crate) type EachValue<'e> = dyn FnMut(&str, Cell<'_>) + 'e;

/// Takes elements of a list: a cell for each of its parts.
pub(crate) type EachElement<'e> = dyn FnMut(&[Cell<'_>]) + 'e;

/// Where a column's value comes from.
pub(crate) enum Get<T: Table> {
    Cell(for<'a> fn(&'a T::Row<'a>) -> Cell<'a>),
    /// Of one of several columns that are alike.
    Of(for<'a> fn(&'a T::Row<'a>, &Column<T>) -> Cell<'a>),
    /// Text without anything that a format would have to quote, written where it goes.
    Plain(for<'a> fn(&'a T::Row<'a>, &mut Vec<u8>)),
    /// JSON, written where it goes.
    Json(for<'a> fn(&'a T::Row<'a>, &mut Vec<u8>)),
    Map(for<'a> fn(&'a T::Row<'a>, &mut EachValue<'_>)),
    List(for<'a> fn(&'a T::Row<'a>, &mut EachElement<'_>)),
}

/// A column of an output.
pub struct Column<T: Table> {
    /// What stands before the name: of a JSON object that holds it, or in front of it, as in
    /// `client_to_server_packets`.
    pub(crate) within: &'static str,
    pub(crate) nested: bool,
    pub(crate) name: &'static str,
    /// Which of several that are alike.
    pub(crate) index: usize,
    pub(crate) kind: ColumnKind,
    /// What it says, without its unit.
    pub(crate) help: &'static str,
    pub(crate) get: Get<T>,
    /// Whether it may be unknown: `null` in JSON, empty in CSV.
    pub(crate) nullable: bool,
    /// Whether there are outputs without it.
    pub(crate) optional: bool,
    /// Whether its text is another one in nearly every row.
    pub(crate) unique: bool,
    pub(crate) csv: bool,
    pub(crate) json: bool,
    /// How people are shown it, if they are.
    pub(crate) shown: Option<Shown<T>>,
}

/// What a row says of a column.
type Says<T> = for<'a> fn(&'a <T as Table>::Row<'a>) -> bool;

/// A column of a table for people.
pub(crate) struct Shown<T: Table> {
    pub(crate) heading: &'static str,
    /// What they see in place of the column's value.
    pub(crate) get: Option<Get<T>>,
    /// Shown only if one of the rows says so.
    pub(crate) only_if: Option<Says<T>>,
    /// On a narrow page it goes unless one of the rows says otherwise.
    pub(crate) needed_if: Option<Says<T>>,
    /// The whole number, in no larger unit.
    pub(crate) in_full: bool,
}

impl<T: Table> Column<T> {
    const fn with(
        name: &'static str,
        kind: ColumnKind,
        help: &'static str,
        get: Get<T>,
    ) -> Column<T> {
        Column {
            within: "",
            nested: false,
            name,
            index: 0,
            kind,
            help,
            get,
            nullable: false,
            optional: false,
            unique: false,
            csv: true,
            json: true,
            shown: None,
        }
    }

    pub(crate) const fn new(
        name: &'static str,
        kind: ColumnKind,
        help: &'static str,
        get: for<'a> fn(&'a T::Row<'a>) -> Cell<'a>,
    ) -> Column<T> {
        Column::with(name, kind, help, Get::Cell(get))
    }

    /// One of several that are alike, told apart by name or index.
    pub(crate) const fn of(
        name: &'static str,
        kind: ColumnKind,
        help: &'static str,
        get: for<'a> fn(&'a T::Row<'a>, &Column<T>) -> Cell<'a>,
    ) -> Column<T> {
        Column::with(name, kind, help, Get::Of(get))
    }

    /// Of text that needs no quoting: addresses, numbers in hexadecimal.
    pub(crate) const fn plain(
        name: &'static str,
        help: &'static str,
        write: for<'a> fn(&'a T::Row<'a>, &mut Vec<u8>),
    ) -> Column<T> {
        Column::with(name, ColumnKind::Text, help, Get::Plain(write))
    }

    /// Of JSON's type `kind`, written by hand.
    pub(crate) const fn json(
        name: &'static str,
        kind: &'static str,
        help: &'static str,
        write: for<'a> fn(&'a T::Row<'a>, &mut Vec<u8>),
    ) -> Column<T> {
        Column::with(name, ColumnKind::Json(kind), help, Get::Json(write))
    }

    /// Of values with names.
    pub(crate) const fn map(
        name: &'static str,
        help: &'static str,
        each: for<'a> fn(&'a T::Row<'a>, &mut EachValue<'_>),
    ) -> Column<T> {
        Column::with(name, ColumnKind::Map, help, Get::Map(each))
    }

    /// Of elements with these parts.
    pub(crate) const fn list(
        name: &'static str,
        parts: &'static [Part],
        help: &'static str,
        each: for<'a> fn(&'a T::Row<'a>, &mut EachElement<'_>),
    ) -> Column<T> {
        Column::with(name, ColumnKind::List(parts), help, Get::List(each))
    }

    /// Of a table for people alone.
    pub(crate) const fn people(
        heading: &'static str,
        kind: ColumnKind,
        get: for<'a> fn(&'a T::Row<'a>) -> Cell<'a>,
    ) -> Column<T> {
        let mut column = Column::new(heading, kind, "", get).shown(heading);
        (column.csv, column.json) = (false, false);
        column
    }

    /// Inside of a JSON object.
    pub(crate) const fn within(mut self, object: &'static str) -> Column<T> {
        (self.within, self.nested) = (object, true);
        self
    }

    /// One of several that are alike, with this in front of its name.
    pub(crate) const fn behind(mut self, prefix: &'static str, index: usize) -> Column<T> {
        (self.within, self.index) = (prefix, index);
        self
    }

    pub(crate) const fn or_null(mut self) -> Column<T> {
        self.nullable = true;
        self
    }

    /// There are outputs without it.
    pub(crate) const fn optional(mut self) -> Column<T> {
        self.optional = true;
        self
    }

    /// Its text is another one in nearly every row.
    pub(crate) const fn unique(mut self) -> Column<T> {
        self.unique = true;
        self
    }

    pub(crate) const fn only_csv(mut self) -> Column<T> {
        self.json = false;
        self
    }

    pub(crate) const fn only_json(mut self) -> Column<T> {
        self.csv = false;
        self
    }

    /// People see it, with its value as its kind is read.
    pub(crate) const fn shown(mut self, heading: &'static str) -> Column<T> {
        self.shown = Some(Shown {
            heading,
            get: None,
            only_if: None,
            needed_if: None,
            in_full: false,
        });
        self
    }

    /// People do not see it.
    pub(crate) const fn hidden(mut self) -> Column<T> {
        self.shown = None;
        self
    }

    /// What people see in place of the column's value.
    pub(crate) const fn seen_as(mut self, get: Get<T>) -> Column<T> {
        if let Some(shown) = &mut self.shown {
            shown.get = Some(get);
        }
        self
    }

    /// People see the whole number, in no larger unit.
    pub(crate) const fn in_full(mut self) -> Column<T> {
        if let Some(shown) = &mut self.shown {
            shown.in_full = true;
        }
        self
    }

    /// Shown only if one of the rows says so.
    pub(crate) const fn only_if(mut self, says: Says<T>) -> Column<T> {
        if let Some(shown) = &mut self.shown {
            shown.only_if = Some(says);
        }
        self
    }

    /// On a narrow page it goes unless one of the rows says otherwise.
    pub(crate) const fn needed_if(mut self, says: Says<T>) -> Column<T> {
        if let Some(shown) = &mut self.shown {
            shown.needed_if = Some(says);
        }
        self
    }
}

impl<T: Table> Column<T> {
    /// The JSON object that it stands in, or nothing.
    fn object(&self) -> &'static str {
        if self.nested { self.within } else { "" }
    }

    /// Its name in one word: `handshake_seen`, `time_small_window_ns` with its unit last.
    fn word(&self) -> String {
        let name = self.name.replace('-', "_");
        match (self.within, self.within.strip_suffix("_ns")) {
            ("", _) => name,
            (_, Some(within)) => format!("{within}_{name}_ns"),
            (within, None) => format!("{within}_{name}"),
        }
    }

    /// Its name in JSON with that of its object: `handshake.seen`, `longest[]`.
    pub(crate) fn path(&self) -> String {
        match self.object() {
            "" if self.kind.is_list() => format!("{}[]", self.name),
            "" => self.word(),
            object => format!("{object}.{}", self.name),
        }
    }
}

/// Columns, one after the other: `"name" Kind "help" |row| value => or_null shown("heading");`, where
/// what stands behind the arrow are functions of [`Column`].
macro_rules! columns {
    ($($name:literal $kind:ident $help:literal |$($row:pat_param),+| $get:expr
        $(=> $($also:ident $(($($with:tt)*))?)+)?;)*) => {
        [$($crate::table::columns!(
            @one ($name, $crate::table::ColumnKind::$kind, $help) |$($row),+| $get
        ) $($(.$also($($($with)*)?))+)?),*]
    };
    (@one ($($what:expr),*) |$row:pat_param| $get:expr) => {
        C::new($($what),*, |$row| $crate::table::Cell::from($get))
    };
    (@one ($($what:expr),*) |$row:pat_param, $column:pat_param| $get:expr) => {
        C::of($($what),*, |$row, $column| $crate::table::Cell::from($get))
    };
}
pub(crate) use columns;

macro_rules! copied {
    ($($name:ident)*) => {$(
        impl<T: Table> Clone for $name<T> {
            fn clone(&self) -> $name<T> {
                *self
            }
        }

        impl<T: Table> Copy for $name<T> {}
    )*};
}

copied! { Get Shown Column }
