//! Rows for programs: CSV (RFC 4180) and JSON, from columns.
//!
//! A capture has millions of calls: rows go into a buffer that the caller reuses, and nothing here
//! allocates for one.

use super::{Cell, Column, Get, Table};

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
    columns: &'static [Column<T>],
    /// JSON that CSV has to quote.
    json: Vec<u8>,
}

impl<T: Table> RowWriter<T> {
    pub(crate) fn of(columns: &'static [Column<T>], form: Form) -> RowWriter<T> {
        RowWriter {
            form,
            columns,
            json: Vec::new(),
        }
    }

    /// What stands before the first row: the columns' names, or nothing.
    #[must_use]
    pub fn head(&self) -> String {
        if self.form == Form::Jsonl {
            return String::new();
        }
        let names: Vec<&str> = self.columns.iter().map(|c| c.name).collect();
        names.join(",") + "\n"
    }

    /// Appends a row, with its line end.
    pub fn write<'a>(&mut self, row: &'a T::Row<'a>, out: &mut Vec<u8>) {
        match self.form {
            Form::Csv => {
                for (i, column) in self.columns.iter().enumerate() {
                    if i > 0 {
                        out.push(b',');
                    }
                    csv(column, row, &mut self.json, out);
                }
            }
            Form::Jsonl => object(self.columns, row, out),
        }
        out.push(b'\n');
    }
}

fn csv<'a, T: Table>(
    column: &Column<T>,
    row: &'a T::Row<'a>,
    json: &mut Vec<u8>,
    out: &mut Vec<u8>,
) {
    match column.get {
        Get::Cell(get) => match get(row) {
            Cell::Unknown => {}
            Cell::Text(text) => csv_field(text.as_bytes(), out),
            other => json_cell(&other, out),
        },
        Get::Plain(write) => write(row, out),
        Get::Json(write) => {
            json.clear();
            write(row, json);
            csv_field(if json == b"null" { b"" } else { json }, out);
        }
    }
}

/// A row as a JSON object.
pub(crate) fn object<'a, T: Table>(columns: &[Column<T>], row: &'a T::Row<'a>, out: &mut Vec<u8>) {
    out.push(b'{');
    for column in columns {
        key(column.name, out);
        match column.get {
            Get::Cell(get) => json_cell(&get(row), out),
            Get::Plain(write) => {
                out.push(b'"');
                write(row, out);
                out.push(b'"');
            }
            Get::Json(write) => write(row, out),
        }
    }
    out.push(b'}');
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

fn json_cell(cell: &Cell<'_>, out: &mut Vec<u8>) {
    match cell {
        Cell::Unknown => out.extend_from_slice(b"null"),
        Cell::Flag(true) => out.extend_from_slice(b"true"),
        Cell::Flag(false) => out.extend_from_slice(b"false"),
        Cell::Integer(n) => integer(*n, out),
        Cell::Natural(n) => integer(*n, out),
        Cell::Text(text) => json_string(text, out),
    }
}

pub(crate) fn integer(value: impl itoa::Integer, out: &mut Vec<u8>) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

pub(crate) fn json_string(text: &str, out: &mut Vec<u8>) {
    // Nearly every text is an operation's name.
    if text.bytes().all(|b| b >= b' ' && b != b'"' && b != b'\\') {
        out.push(b'"');
        out.extend_from_slice(text.as_bytes());
        out.push(b'"');
    } else {
        // Writing text to memory cannot fail.
        drop(serde_json::to_writer(out, text));
    }
}

/// A field as RFC 4180 section 2 quotes it: only where it must.
pub(crate) fn csv_field(field: &[u8], out: &mut Vec<u8>) {
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
