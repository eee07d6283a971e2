//! Rows for programs: CSV (RFC 4180), JSON, and [packed] for formats of columns, from columns.
//!
//! A capture has millions of calls: rows go into a buffer that the caller reuses, and nothing here
//! allocates for one.

use super::packed::{self, TypedColumn};
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
    /// For [`Cells`](crate::Cells) to read, without line ends: the columns of CSV.
    Packed,
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
            Form::Csv | Form::Packed => c.csv,
            Form::Jsonl => c.json,
        };
        RowWriter {
            form,
            columns: columns.iter().filter(of_form).copied().collect(),
            json: Vec::new(),
        }
    }

    /// With only the columns of these names, in this order.
    ///
    /// # Errors
    /// A name that no column has.
    pub fn only(mut self, names: &[String]) -> Result<RowWriter<T>, String> {
        let column = |name: &String| {
            let mut columns = self.columns.iter();
            let found = columns.find(|c| c.word() == *name);
            found.copied().ok_or_else(|| name.clone())
        };
        self.columns = names.iter().map(column).collect::<Result<_, _>>()?;
        Ok(self)
    }

    /// What stands before the first row: the columns' names, or nothing.
    #[must_use]
    pub fn head(&self) -> String {
        if self.form != Form::Csv {
            return String::new();
        }
        let names: Vec<String> = self.columns.iter().map(Column::word).collect();
        names.join(",") + "\n"
    }

    /// What its columns hold, for formats whose columns have types.
    #[must_use]
    pub fn columns(&self) -> Vec<TypedColumn> {
        self.columns.iter().map(packed::typed).collect()
    }

    /// Appends a row, with its line end.
    pub fn write<'a>(&mut self, row: &'a T::Row<'a>, out: &mut Vec<u8>) {
        self.row(row, out);
        if self.form != Form::Packed {
            out.push(b'\n');
        }
    }

    fn row<'a>(&mut self, row: &'a T::Row<'a>, out: &mut Vec<u8>) {
        match self.form {
            Form::Csv => {}
            Form::Jsonl => return object(&self.columns, row, out),
            Form::Packed => {
                let columns = self.columns.iter();
                return columns.for_each(|column| packed::pack(column, row, out));
            }
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
        Get::Json(_) => {
            json.clear();
            nested(column, row, json);
            quoted(if json == b"null" { b"" } else { json }, out);
        }
        // Quoted as it is written: half of a row of calls are their ledgers, which took 8 instructions a byte.
        Get::Map(_) | Get::List(_) => {
            let start = out.len();
            out.push(b'"');
            nested_in::<T, true>(column, row, out);
            match out.get(start + 1..) {
                // Of nothing there is nothing to quote.
                Some(b"[]" | b"{}") => drop(out.remove(start)),
                _ => out.push(b'"'),
            }
        }
    }
}

/// Who takes rows of one form.
pub trait TakeRows {
    fn form(&self) -> Form;

    /// Comes first, once: what stands before the first row, and what the columns hold.
    ///
    /// # Errors
    /// Those of where they go.
    fn begin(&mut self, head: String, columns: Vec<TypedColumn>) -> io::Result<()>;

    /// # Errors
    /// Those of where they go.
    fn row(&mut self, row: &[u8]) -> io::Result<()>;
}

/// Hands over rows of a table that is held in memory.
pub(crate) fn hand_over<'a, T: Table>(
    columns: &[Column<T>],
    rows: &'a [T::Row<'a>],
    to: &mut dyn TakeRows,
) -> io::Result<()> {
    let mut writer = RowWriter::of(columns, to.form());
    to.begin(writer.head(), writer.columns())?;
    let mut line = Vec::new();
    for row in rows {
        line.clear();
        writer.write(row, &mut line);
        to.row(&line)?;
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
            Get::Json(_) | Get::Map(_) | Get::List(_) => nested(column, row, out),
        }
    }
}

/// What is nested, as JSON; text and cells are not.
pub(crate) fn nested<'a, T: Table>(column: &Column<T>, row: &'a T::Row<'a>, out: &mut Vec<u8>) {
    nested_in::<T, false>(column, row, out);
}

/// The same, of maps and lists also within a quoted field of CSV.
fn nested_in<'a, T: Table, const CSV: bool>(
    column: &Column<T>,
    row: &'a T::Row<'a>,
    out: &mut Vec<u8>,
) {
    match column.get {
        Get::Cell(_) | Get::Of(_) => {}
        Get::Plain(write) | Get::Json(write) => write(row, out),
        Get::Map(each) => {
            out.push(b'{');
            each(row, &mut |name, cell| {
                key_in::<CSV>(name, out);
                json_cell_in::<CSV>(&cell, out);
            });
            out.push(b'}');
        }
        Get::List(each) => {
            out.push(b'[');
            each(row, &mut |cells| {
                if out.last() == Some(&b'}') {
                    out.push(b',');
                }
                out.push(b'{');
                for (part, cell) in column.kind.parts().iter().zip(cells) {
                    key_in::<CSV>(part.name, out);
                    json_cell_in::<CSV>(cell, out);
                }
                out.push(b'}');
            });
            out.push(b']');
        }
    }
}

/// A quote of JSON, which a quoted field of CSV holds twice (RFC 4180 section 2).
fn quote<const CSV: bool>(out: &mut Vec<u8>) {
    out.extend_from_slice(if CSV { b"\"\"" } else { b"\"" });
}

/// The name of an object's next value, which needs no quoting.
pub(crate) fn key(name: &str, out: &mut Vec<u8>) {
    key_in::<false>(name, out);
}

fn key_in<const CSV: bool>(name: &str, out: &mut Vec<u8>) {
    if out.last() != Some(&b'{') {
        out.push(b',');
    }
    quote::<CSV>(out);
    out.extend_from_slice(name.as_bytes());
    quote::<CSV>(out);
    out.push(b':');
}

fn csv_cell(cell: &Cell<'_>, out: &mut Vec<u8>) {
    match cell {
        Cell::Unknown => {}
        Cell::Hash(hash) => hexadecimal(*hash, 16, out),
        Cell::Text(text) => csv_field(text, out),
        other => json_cell(other, out),
    }
}

pub(crate) fn json_cell(cell: &Cell<'_>, out: &mut Vec<u8>) {
    json_cell_in::<false>(cell, out);
}

fn json_cell_in<const CSV: bool>(cell: &Cell<'_>, out: &mut Vec<u8>) {
    match cell {
        Cell::Unknown => out.extend_from_slice(b"null"),
        Cell::Flag(true) => out.extend_from_slice(b"true"),
        Cell::Flag(false) => out.extend_from_slice(b"false"),
        Cell::Integer(n) => integer(*n, out),
        Cell::Natural(n) => integer(*n, out),
        // Writing to memory cannot fail.
        Cell::Number(n) => drop(write_json(out, n)),
        Cell::Hash(hash) => {
            quote::<CSV>(out);
            hexadecimal(*hash, 16, out);
            quote::<CSV>(out);
        }
        Cell::Text(text) => json_string_in::<CSV>(text, out),
    }
}

/// The last digits of a number.
pub(crate) fn hexadecimal(value: u64, digits: u32, out: &mut Vec<u8>) {
    for i in (0..digits).rev() {
        let nibble = (value >> (4 * i) & 15) as u8;
        out.push(nibble + if nibble < 10 { b'0' } else { b'a' - 10 });
    }
}

pub(crate) fn integer(value: impl itoa::Integer, out: &mut Vec<u8>) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

fn json_string_in<const CSV: bool>(text: &str, out: &mut Vec<u8>) {
    // Nearly every text is an operation's name.
    let plain = |b| matches!(b, b' '..=b'~') && b != b'"' && b != b'\\';
    if text.bytes().all(plain) {
        quote::<CSV>(out);
        out.extend_from_slice(text.as_bytes());
        quote::<CSV>(out);
    } else if CSV {
        let mut json = Vec::new();
        // Writing text to memory cannot fail.
        drop(write_json(&mut json, text));
        doubled(&json, out);
    } else {
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
    // Nothing of ASCII acts but its control characters.
    let is_plain = text.bytes().all(|b| (b' '..=b'~').contains(&b));
    let text = match !is_plain && text.contains(acts) {
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
    // Looks at all bytes, as that goes by many at once.
    let is_special = |b: &u8| matches!(b, b',' | b'"' | b'\r' | b'\n');
    if !field.iter().fold(false, |any, b| any | is_special(b)) {
        return out.extend_from_slice(field);
    }
    out.push(b'"');
    doubled(field, out);
    out.push(b'"');
}

/// What stands between the quotes of such a field.
fn doubled(field: &[u8], out: &mut Vec<u8>) {
    for (i, piece) in field.split(|b| *b == b'"').enumerate() {
        if i > 0 {
            out.extend_from_slice(b"\"\"");
        }
        out.extend_from_slice(piece);
    }
}
