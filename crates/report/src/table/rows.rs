//! Rows for programs: CSV (RFC 4180) and JSON, from columns.
//!
//! A capture has millions of calls: rows go into a buffer that the caller reuses, and nothing here
//! allocates for one.

use super::{Cell, Column, Get, Table};
use crate::harmless::{acts, harmless, write_json};
use crate::page::has_raw_cells;
use std::borrow::Cow;
use std::io::{self, Write};

/// How rows are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    Csv,
    /// A JSON object per line.
    Jsonl,
}

/// Writes rows with these columns.
pub struct RowWriter<T: Table> {
    form: Form,
    columns: Vec<Column<T>>,
    /// JSON that CSV has to quote.
    json: Vec<u8>,
}

impl<T: Table> RowWriter<T> {
    pub(crate) fn of(columns: &[Column<T>], form: Form) -> RowWriter<T> {
        let of_form = |c: &&Column<T>| match form {
            Form::Csv => c.csv,
            Form::Jsonl => c.json,
        };
        RowWriter {
            form,
            columns: columns.iter().filter(of_form).copied().collect(),
            json: Vec::new(),
        }
    }

    /// What stands before the first row: the columns' names, or nothing.
    #[must_use]
    pub fn head(&self) -> String {
        if self.form == Form::Jsonl {
            return String::new();
        }
        let names: Vec<String> = self.columns.iter().map(Column::word).collect();
        names.join(",") + "\n"
    }

    /// Appends a row, with its line end.
    pub fn write<'a>(&mut self, row: &'a T::Row<'a>, out: &mut Vec<u8>) {
        self.row(row, out);
        out.push(b'\n');
    }

    fn row<'a>(&mut self, row: &'a T::Row<'a>, out: &mut Vec<u8>) {
        if self.form == Form::Jsonl {
            return object(&self.columns, row, out);
        }
        for (i, column) in self.columns.iter().enumerate() {
            if i > 0 {
                out.push(b',');
            }
            csv(column, row, &mut self.json, out);
        }
    }
}

fn csv<'a, T: Table>(
    column: &Column<T>,
    row: &'a T::Row<'a>,
    json: &mut Vec<u8>,
    out: &mut Vec<u8>,
) {
    match column.get {
        Get::Cell(get) => csv_cell(&get(row), out),
        Get::Of(get) => csv_cell(&get(row, column), out),
        Get::Plain(write) => write(row, out),
        Get::Json(write) => {
            json.clear();
            write(row, json);
            quoted(if json == b"null" { b"" } else { json }, out);
        }
    }
}

/// Writes rows as CSV.
pub(crate) fn csv_table<'a, T: Table>(
    columns: &[Column<T>],
    rows: &'a [T::Row<'a>],
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut writer = RowWriter::of(columns, Form::Csv);
    out.write_all(writer.head().as_bytes())?;
    let mut line = Vec::new();
    for row in rows {
        line.clear();
        writer.write(row, &mut line);
        out.write_all(&line)?;
    }
    Ok(())
}

/// A JSON list with an object per line: there may be hundreds of thousands.
pub(crate) struct JsonList<'o, T: Table> {
    writer: RowWriter<T>,
    line: Vec<u8>,
    out: &'o mut dyn Write,
    begun: bool,
}

impl<'o, T: Table> JsonList<'o, T> {
    pub(crate) fn new(columns: &[Column<T>], out: &'o mut dyn Write) -> JsonList<'o, T> {
        JsonList {
            writer: RowWriter::of(columns, Form::Jsonl),
            line: Vec::new(),
            out,
            begun: false,
        }
    }

    pub(crate) fn write<'a>(&mut self, row: &'a T::Row<'a>) -> io::Result<()> {
        self.line.clear();
        self.line
            .extend_from_slice(if self.begun { b",\n" } else { b"[\n" });
        self.begun = true;
        self.writer.row(row, &mut self.line);
        self.out.write_all(&self.line)
    }

    pub(crate) fn end(self) -> io::Result<()> {
        self.out
            .write_all(if self.begun { b"\n]" } else { b"[\n]" })
    }
}

/// Writes rows as a JSON list.
pub(crate) fn json_list<'a, T: Table>(
    columns: &[Column<T>],
    rows: &'a [T::Row<'a>],
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut list = JsonList::new(columns, out);
    rows.iter().try_for_each(|row| list.write(row))?;
    list.end()
}

/// A row as a JSON object.
pub(crate) fn object<'a, T: Table>(columns: &[Column<T>], row: &'a T::Row<'a>, out: &mut Vec<u8>) {
    out.push(b'{');
    for group in columns.chunk_by(|a, b| a.object() == b.object()) {
        let object = group.first().map_or("", Column::object);
        if object.is_empty() {
            fields(group, row, out);
            continue;
        }
        key(object, out);
        let known = |c: &Column<T>| match c.get {
            Get::Cell(get) => get(row) != Cell::Unknown,
            _ => true,
        };
        if group.iter().any(known) {
            out.push(b'{');
            fields(group, row, out);
            out.push(b'}');
        } else {
            out.extend_from_slice(b"null");
        }
    }
    out.push(b'}');
}

fn fields<'a, T: Table>(columns: &[Column<T>], row: &'a T::Row<'a>, out: &mut Vec<u8>) {
    for column in columns {
        match column.within {
            _ if column.nested => key(column.name, out),
            "" => key(column.name, out),
            _ => key(&column.word(), out),
        }
        match column.get {
            Get::Cell(get) => json_cell(&get(row), out),
            Get::Of(get) => json_cell(&get(row, column), out),
            Get::Plain(write) => {
                out.push(b'"');
                write(row, out);
                out.push(b'"');
            }
            Get::Json(write) => write(row, out),
        }
    }
}

/// The name of an object's next value, which needs no quoting.
pub(crate) fn key(name: &str, out: &mut Vec<u8>) {
    if out.last() != Some(&b'{') {
        out.push(b',');
    }
    out.push(b'"');
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\":");
}

fn csv_cell(cell: &Cell<'_>, out: &mut Vec<u8>) {
    match cell {
        Cell::Unknown => {}
        Cell::Text(text) => csv_field(text, out),
        other => json_cell(other, out),
    }
}

fn json_cell(cell: &Cell<'_>, out: &mut Vec<u8>) {
    match cell {
        Cell::Unknown => out.extend_from_slice(b"null"),
        Cell::Flag(true) => out.extend_from_slice(b"true"),
        Cell::Flag(false) => out.extend_from_slice(b"false"),
        Cell::Integer(n) => integer(*n, out),
        Cell::Natural(n) => integer(*n, out),
        // Writing to memory cannot fail.
        Cell::Number(n) => drop(write_json(out, n)),
        Cell::Text(text) => json_string(text, out),
    }
}

pub(crate) fn integer(value: impl itoa::Integer, out: &mut Vec<u8>) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

pub(crate) fn json_string(text: &str, out: &mut Vec<u8>) {
    // Nearly every text is an operation's name.
    let plain = |b| matches!(b, b' '..=b'~') && b != b'"' && b != b'\\';
    if text.bytes().all(plain) {
        out.push(b'"');
        out.extend_from_slice(text.as_bytes());
        out.push(b'"');
    } else {
        // Writing text to memory cannot fail.
        drop(write_json(out, text));
    }
}

/// A field of text: what acts is a space, and what a spreadsheet would calculate has an apostrophe before it,
/// which spreadsheets read as "this is text".
pub(crate) fn csv_field(text: &str, out: &mut Vec<u8>) {
    // Nearly every text is an operation's name.
    let letters = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b' ' | b'.' | b'/');
    if text.bytes().all(letters) {
        return out.extend_from_slice(text.as_bytes());
    }
    let text = match text.contains(acts) {
        true => Cow::Owned(harmless(text)),
        false => Cow::Borrowed(text),
    };
    if is_formula(&text) && !has_raw_cells() {
        quoted(format!("'{text}").as_bytes(), out);
    } else {
        quoted(text.as_bytes(), out);
    }
}

/// Whether a spreadsheet may take a text for a formula: by its first sign, which may be as wide as East Asian
/// letters. Numbers are none, and a sign alone says nothing.
fn is_formula(text: &str) -> bool {
    let text = text.trim();
    let signs = ['=', '+', '-', '@', '＝', '＋', '－', '＠'];
    let number = || text.parse::<f64>().is_ok_and(f64::is_finite);
    text.len() > 1 && text.starts_with(signs) && !number()
}

/// A field as RFC 4180 section 2 quotes it: only where it must.
fn quoted(field: &[u8], out: &mut Vec<u8>) {
    if !field.iter().any(|b| b",\"\r\n".contains(b)) {
        out.extend_from_slice(field);
        return;
    }
    out.push(b'"');
    for &b in field {
        if b == b'"' {
            out.push(b'"');
        }
        out.push(b);
    }
    out.push(b'"');
}
