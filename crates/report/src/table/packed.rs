//! A row's cells as bytes, and back, for formats of columns with types: those gather many rows before they write any,
//! and rows that are sorted lie on the disk in between. What JSON says of a row, without its names:
//!
//! ```text
//! 0                        unknown
//! 1, 2                     no, yes
//! 3, 8 bytes               an integer, the lowest byte first
//! 4, 8 bytes               a number with a fraction (IEEE 754), the lowest byte first
//! 5, 4 bytes n, n bytes    text
//! 6, 4 bytes n             n values with their names: for each two texts
//! 6, 4 bytes n             n elements: for each as many cells as it has parts
//! ```
//!
//! They never leave the process, and are read by [`Cells`].

use super::rows::{hexadecimal, json_cell, nested};
use super::{Cell, Column, ColumnKind, Get, Part, Table};

/// A column, as formats need it whose columns have types.
#[derive(Clone, PartialEq, Debug)]
pub struct TypedColumn {
    pub name: String,
    pub kind: CellKind,
    /// Of numbers: what they count, such as `ns`.
    pub unit: Option<&'static str>,
    pub help: &'static str,
}

/// What its cells are.
#[derive(Clone, PartialEq, Debug)]
pub enum CellKind {
    /// Text that many rows have in common.
    Name,
    /// Any text.
    Text,
    Flag,
    Integer,
    Number,
    /// Nanoseconds since the epoch.
    Time,
    /// Texts by their names.
    Map,
    /// Elements with these parts.
    List(Vec<TypedColumn>),
}

/// A cell of a row that was packed.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum PackedCell<'a> {
    Unknown,
    Flag(bool),
    Integer(i64),
    Number(f64),
    Text(&'a str),
    /// So many elements follow: of a map a name and a text each, of a list its parts.
    Many(u32),
}

/// The cells of a row that was packed, nested ones behind what they stand in. It ends where bytes are none of a row.
#[derive(Clone, Debug)]
pub struct Cells<'a>(&'a [u8]);

impl<'a> Cells<'a> {
    #[must_use]
    pub fn of(row: &'a [u8]) -> Cells<'a> {
        Cells(row)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (array, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*array)
    }
}

impl<'a> Iterator for Cells<'a> {
    type Item = PackedCell<'a>;

    fn next(&mut self) -> Option<PackedCell<'a>> {
        let [tag] = self.array()?;
        Some(match tag {
            UNKNOWN => PackedCell::Unknown,
            NO | YES => PackedCell::Flag(tag == YES),
            INTEGER => PackedCell::Integer(i64::from_le_bytes(self.array()?)),
            NUMBER => PackedCell::Number(f64::from_le_bytes(self.array()?)),
            TEXT => {
                let length = u32::from_le_bytes(self.array()?);
                let (text, rest) = self.0.split_at_checked(usize::try_from(length).ok()?)?;
                self.0 = rest;
                PackedCell::Text(std::str::from_utf8(text).ok()?)
            }
            MANY => PackedCell::Many(u32::from_le_bytes(self.array()?)),
            _ => return None,
        })
    }
}

const UNKNOWN: u8 = 0;
const NO: u8 = 1;
const YES: u8 = 2;
const INTEGER: u8 = 3;
const NUMBER: u8 = 4;
const TEXT: u8 = 5;
const MANY: u8 = 6;

pub(super) fn typed<T: Table>(column: &Column<T>) -> TypedColumn {
    let kind = match (kind(column.kind), column.unique) {
        (CellKind::Name, true) => CellKind::Text,
        (kind, _) => kind,
    };
    TypedColumn {
        name: column.word(),
        unit: unit(column.kind),
        help: column.help,
        kind,
    }
}

fn part(part: &Part) -> TypedColumn {
    TypedColumn {
        name: part.name.to_owned(),
        kind: kind(part.kind),
        unit: unit(part.kind),
        help: "",
    }
}

fn kind(kind: ColumnKind) -> CellKind {
    match kind {
        ColumnKind::Text => CellKind::Name,
        ColumnKind::Flag => CellKind::Flag,
        ColumnKind::Number => CellKind::Number,
        ColumnKind::Time => CellKind::Time,
        ColumnKind::Json(_) => CellKind::Text,
        ColumnKind::Map => CellKind::Map,
        ColumnKind::List(parts) => CellKind::List(parts.iter().map(part).collect()),
        ColumnKind::Integer
        | ColumnKind::Count
        | ColumnKind::Ordinal
        | ColumnKind::Bytes
        | ColumnKind::Rate
        | ColumnKind::Duration => CellKind::Integer,
    }
}

/// That of a time is its type's.
fn unit(kind: ColumnKind) -> Option<&'static str> {
    kind.unit().filter(|_| kind != ColumnKind::Time)
}

/// Appends what a column says of a row.
pub(super) fn pack<'a, T: Table>(column: &Column<T>, row: &'a T::Row<'a>, out: &mut Vec<u8>) {
    match column.get {
        Get::Cell(get) => cell(&get(row), out),
        Get::Of(get) => cell(&get(row, column), out),
        Get::Plain(_) | Get::Json(_) => text(out, |out| nested(column, row, out)),
        Get::Map(each) => many(out, |out, count| {
            each(row, &mut |name, value| {
                *count += 1;
                text(out, |out| out.extend_from_slice(name.as_bytes()));
                text(out, |out| match &value {
                    Cell::Text(text) => out.extend_from_slice(text.as_bytes()),
                    Cell::Hash(hash) => hexadecimal(*hash, 16, out),
                    other => json_cell(other, out),
                });
            });
        }),
        Get::List(each) => many(out, |out, count| {
            each(row, &mut |cells| {
                *count += 1;
                cells.iter().for_each(|part| cell(part, out));
            });
        }),
    }
}

fn cell(value: &Cell<'_>, out: &mut Vec<u8>) {
    match value {
        Cell::Unknown => out.push(UNKNOWN),
        Cell::Flag(flag) => out.push(if *flag { YES } else { NO }),
        Cell::Integer(n) => integer(*n, out),
        // Nothing that is counted comes near.
        Cell::Natural(n) => integer(i64::try_from(*n).unwrap_or(i64::MAX), out),
        Cell::Number(n) => {
            out.push(NUMBER);
            out.extend_from_slice(&n.to_le_bytes());
        }
        Cell::Hash(hash) => text(out, |out| hexadecimal(*hash, 16, out)),
        Cell::Text(is) => text(out, |out| out.extend_from_slice(is.as_bytes())),
    }
}

fn integer(n: i64, out: &mut Vec<u8>) {
    out.push(INTEGER);
    out.extend_from_slice(&n.to_le_bytes());
}

/// What `write` appends, as text.
fn text(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let place = counted(TEXT, out);
    let start = out.len();
    write(out);
    let length = out.len() - start;
    count_is(length, place, out);
}

/// What `write` appends and counts.
fn many(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>, &mut usize)) {
    let place = counted(MANY, out);
    let mut count = 0;
    write(out, &mut count);
    count_is(count, place, out);
}

/// A tag, and room for a number that is known later; where that is.
fn counted(tag: u8, out: &mut Vec<u8>) -> usize {
    out.extend_from_slice(&[tag, 0, 0, 0, 0]);
    out.len() - size_of::<u32>()
}

/// No row is as large as 4 GiB.
fn count_is(count: usize, place: usize, out: &mut [u8]) {
    let count = u32::try_from(count).unwrap_or(u32::MAX).to_le_bytes();
    if let Some(room) = out.get_mut(place..place + count.len()) {
        room.copy_from_slice(&count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Part;
    use crate::table::rows::{Form, RowWriter};
    use std::collections::BTreeMap;

    struct Samples;

    impl Table for Samples {
        type Row<'a> = (i64, Option<&'a str>);
    }

    type C = Column<Samples>;

    const PARTS: &[Part] = &[
        Part::new("word", ColumnKind::Text),
        Part::new("hi_ns", ColumnKind::Duration),
    ];

    fn columns() -> Vec<C> {
        vec![
            C::new("t_ns", ColumnKind::Time, "when", |r| r.0.into()),
            C::new("who", ColumnKind::Text, "who", |r| r.1.into()).or_null(),
            C::new("half", ColumnKind::Number, "of it", |r| {
                (r.0 as f64 / 2.0).into()
            }),
            C::plain("hex", "as such", |r, out| {
                out.extend(format!("{:x}", r.0).bytes())
            })
            .unique(),
            C::map("more", "what else", |r, each| {
                each("flag", true.into());
                each("hash", Cell::Hash(r.0 as u64));
                each("text", "a \"b\"".into());
            }),
            C::list("lines", PARTS, "all", |r, each| {
                each(&["x".into(), r.0.into()]);
                each(&["y".into(), Cell::Unknown]);
            }),
            C::new("hidden", ColumnKind::Flag, "", |_| false.into()).only_json(),
        ]
    }

    #[test]
    fn a_row_comes_back_cell_by_cell() {
        let mut writer = RowWriter::of(&columns(), Form::Packed);
        let mut row = Vec::new();
        writer.write(&(7, None), &mut row);
        let cells: Vec<PackedCell<'_>> = Cells::of(&row).collect();
        use PackedCell::{Integer, Many, Number, Text, Unknown};
        let more = [
            Text("flag"),
            Text("true"),
            Text("hash"),
            Text("0000000000000007"),
        ];
        let expected = [
            &[Integer(7), Unknown, Number(3.5), Text("7"), Many(3)][..],
            &more,
            &[Text("text"), Text("a \"b\"")],
            &[Many(2), Text("x"), Integer(7), Text("y"), Unknown],
        ];
        assert_eq!(cells, expected.concat());
        // Of what is cut, the cells before come back.
        let cut = row.get(..row.len() - 3).expect("a row");
        assert_eq!(Cells::of(cut).count(), cells.len() - 2);
    }

    #[test]
    fn types_say_what_columns_do() {
        let typed = RowWriter::of(&columns(), Form::Packed).columns();
        let kinds: Vec<(&str, &CellKind)> =
            typed.iter().map(|f| (f.name.as_str(), &f.kind)).collect();
        let CellKind::List(parts) = &typed[5].kind else {
            panic!("{:?}", typed[5]);
        };
        assert_eq!(
            (parts[1].unit, parts[1].name.as_str()),
            (Some("ns"), "hi_ns")
        );
        assert_eq!(
            kinds[..5],
            [
                ("t_ns", &CellKind::Time),
                ("who", &CellKind::Name),
                ("half", &CellKind::Number),
                ("hex", &CellKind::Text),
                ("more", &CellKind::Map),
            ]
        );
        assert_eq!(typed.len(), 6, "what CSV has");
    }

    #[test]
    fn a_row_as_json_says_the_same() {
        let mut json = Vec::new();
        RowWriter::of(&columns(), Form::Jsonl).write(&(7, Some("me")), &mut json);
        assert_eq!(
            String::from_utf8(json).expect("UTF-8"),
            "{\"t_ns\":7,\"who\":\"me\",\"half\":3.5,\"hex\":\"7\",\
             \"more\":{\"flag\":true,\"hash\":\"0000000000000007\",\"text\":\"a \\\"b\\\"\"},\
             \"lines\":[{\"word\":\"x\",\"hi_ns\":7},{\"word\":\"y\",\"hi_ns\":null}],\"hidden\":false}\n"
        );
    }

    fn type_of(column: &TypedColumn) -> String {
        let word = match &column.kind {
            CellKind::Name => "dictionary of text",
            CellKind::Text => "text",
            CellKind::Flag => "bool",
            CellKind::Integer => "int64",
            CellKind::Number => "double",
            CellKind::Time => "timestamp, ns, UTC",
            CellKind::Map => "map of text to text",
            CellKind::List(parts) => {
                let part = |p: &TypedColumn| format!("{} {}", p.name, type_of(p));
                let parts: Vec<String> = parts.iter().map(part).collect();
                return format!("list of struct ({})", parts.join(", "));
            }
        };
        column
            .unit
            .map_or_else(|| word.to_owned(), |unit| format!("{word}, {unit}"))
    }

    fn listed<T: Table>(schema: &str, columns: &[Column<T>]) -> String {
        let columns = RowWriter::of(columns, Form::Packed).columns();
        let line = |c: &TypedColumn| format!("{schema}\t{}\t{}\t{}\n", c.name, type_of(c), c.help);
        columns.iter().map(line).collect()
    }

    /// `UPDATE_EXPECT=1 cargo test -p report` writes the list anew.
    #[test]
    fn types_are_listed() {
        use crate::{calls, conns, followed, ops, packets, series, sql, startup, stat, whatif};
        let ops_by = [
            "op",
            "step",
            "client",
            "server",
            "connection",
            "file",
            "size",
            "time",
        ];
        let sql_by = ["client", "program", "user", "service", "connection"];
        let text = [
            "schema\tcolumn\ttype\twhat it says\n".to_owned(),
            listed("slowside.calls/1", &calls::COLUMNS),
            listed("slowside.conns/1", &conns::fields::columns()),
            listed("slowside.series/1", &series::columns()),
            listed("slowside.ops/1", &ops::columns(ops_by)),
            listed("slowside.sql/1", &sql::columns(&sql_by, false)),
            listed("slowside.followed/1", followed::COLUMNS),
            listed("slowside.packets/1", packets::COLUMNS),
            listed("slowside.stat/1", stat::COLUMNS),
            listed("slowside.startup/1", &startup::columns()),
            listed("slowside.whatif/1", &whatif::columns()),
        ];
        let list = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/columns.tsv");
        let (before, now) = (std::fs::read_to_string(list).unwrap(), text.concat());
        assert_eq!(moved(&before, &now), Vec::<String>::new());
        expect_test::expect_file![list].assert_eq(&now);
    }

    /// Columns that programs found by their place, or by their name, and would not find there now.
    fn moved(before: &str, now: &str) -> Vec<String> {
        let of = |list: &str| {
            let mut columns: BTreeMap<String, Vec<String>> = BTreeMap::new();
            for line in list.lines().skip(1) {
                let (schema, rest) = line.split_once('\t').unwrap();
                let name = rest.split('\t').next().unwrap_or_default();
                let of_schema = columns.entry(schema.to_owned()).or_default();
                of_schema.push(name.to_owned());
            }
            columns
        };
        let now = of(now);
        let mut moved = Vec::new();
        for (schema, before) in of(before) {
            let now = now.get(&schema).map_or(&[][..], Vec::as_slice);
            for (place, name) in before.iter().enumerate() {
                if now.get(place) != Some(name) {
                    moved.push(format!("{schema} {name}: was column {}", place + 1));
                }
            }
        }
        moved
    }

    #[test]
    fn a_column_stands_behind_those_that_programs_have() {
        let of = |names: [&str; 3]| {
            let lines = names.map(|n| format!("a/1\t{n}\tint64\twhat it is\n"));
            format!("schema\tcolumn\n{}b/1\tx\ttext\ty\n", lines.concat())
        };
        let before = of(["one", "two", "three"]);
        assert!(moved(&before, &before).is_empty());
        let longer = before.replace("b/1\tx", "a/1\tfour\tint64\tnew\nb/1\tx");
        assert!(moved(&before, &longer).is_empty());
        let swapped = of(["one", "three", "two"]);
        assert_eq!(
            moved(&before, &swapped),
            ["a/1 two: was column 2", "a/1 three: was column 3"]
        );
        assert_eq!(moved(&longer, &before), ["a/1 four: was column 4"]);
        assert_eq!(
            moved(&before, &before.replace("b/1\tx", "b/1\tz")),
            ["b/1 x: was column 1"]
        );
    }
}
