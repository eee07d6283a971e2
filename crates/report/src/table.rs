//! What an output holds, declared once: a list of columns, each with its name, kind, help and value.
//! Every format knows columns only ([`rows`] and [`people`]), and the schemas of `docs/schemas` are
//! written from them ([`schema`]).

pub(crate) mod rows;
#[cfg(test)]
pub(crate) mod schema;

use std::borrow::Cow;

/// An output of rows: what a row is made from.
pub trait Table: 'static {
    type Row<'a>;
}

/// What a column's values are, and so their unit, their type in JSON, and how people read them.
#[derive(Clone, Copy, PartialEq, Debug)]
#[allow(
    dead_code,
    reason = "kinds of outputs that do not follow from columns yet"
)]
pub(crate) enum Kind {
    Text,
    /// One of these words.
    Word(&'static [&'static str]),
    /// 16 hexadecimal digits.
    Hash,
    Flag,
    Count,
    /// The number of a packet, from 1.
    Frame,
    Bytes,
    /// Nanoseconds.
    Duration,
    /// Nanoseconds since the epoch.
    Time,
    /// JSON of its own, as text in CSV; the schema says by hand what is in it.
    Json(&'static str),
}

/// A value as every format can write it.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Cell<'a> {
    Unknown,
    Flag(bool),
    Integer(i64),
    Natural(u64),
    Text(Cow<'a, str>),
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
    String => |v| Cell::Text(v.into());
    &'a str => |v| Cell::Text(v.into());
}

impl<'a, T: Into<Cell<'a>>> From<Option<T>> for Cell<'a> {
    fn from(value: Option<T>) -> Cell<'a> {
        value.map_or(Cell::Unknown, Into::into)
    }
}

/// Where a column's value comes from.
pub(crate) enum Get<T: Table> {
    Cell(for<'a> fn(&'a T::Row<'a>) -> Cell<'a>),
    /// Text without anything that a format would have to quote, written where it goes.
    Plain(for<'a> fn(&'a T::Row<'a>, &mut Vec<u8>)),
    /// JSON, written where it goes.
    Json(for<'a> fn(&'a T::Row<'a>, &mut Vec<u8>)),
}

/// A column of an output.
#[cfg_attr(
    not(test),
    allow(dead_code, reason = "kind and help are for the schema")
)]
pub struct Column<T: Table> {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    /// What it says, without its unit.
    pub(crate) help: &'static str,
    pub(crate) get: Get<T>,
    /// Whether it may be unknown: `null` in JSON, empty in CSV.
    pub(crate) nullable: bool,
}

impl<T: Table> Column<T> {
    const fn with(name: &'static str, kind: Kind, help: &'static str, get: Get<T>) -> Column<T> {
        Column {
            name,
            kind,
            help,
            get,
            nullable: false,
        }
    }

    pub(crate) const fn new(
        name: &'static str,
        kind: Kind,
        help: &'static str,
        get: for<'a> fn(&'a T::Row<'a>) -> Cell<'a>,
    ) -> Column<T> {
        Column::with(name, kind, help, Get::Cell(get))
    }

    /// Of text that needs no quoting: addresses, numbers in hexadecimal.
    pub(crate) const fn plain(
        name: &'static str,
        help: &'static str,
        write: for<'a> fn(&'a T::Row<'a>, &mut Vec<u8>),
    ) -> Column<T> {
        Column::with(name, Kind::Text, help, Get::Plain(write))
    }

    /// Of JSON's type `kind`, written by hand.
    pub(crate) const fn json(
        name: &'static str,
        kind: &'static str,
        help: &'static str,
        write: for<'a> fn(&'a T::Row<'a>, &mut Vec<u8>),
    ) -> Column<T> {
        Column::with(name, Kind::Json(kind), help, Get::Json(write))
    }

    pub(crate) const fn or_null(mut self) -> Column<T> {
        self.nullable = true;
        self
    }
}

impl<T: Table> Clone for Get<T> {
    fn clone(&self) -> Get<T> {
        *self
    }
}

impl<T: Table> Copy for Get<T> {}

impl<T: Table> Clone for Column<T> {
    fn clone(&self) -> Column<T> {
        *self
    }
}

impl<T: Table> Copy for Column<T> {}
