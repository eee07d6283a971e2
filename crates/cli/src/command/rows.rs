//! Where rows go: as text to standard output, in columns there or into a file.

use super::CANNOT_WRITE;
use crate::args::{Output, RowFormat};
use crate::out;
use anyhow::ensure;
use columnar::{ColumnarFormat, ColumnarWriter};
use replace::{Kind, Replacement};
use report::{Form, Harmless, RowWriter, Table, TakeRows, TypedColumn};
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Bytes written at once.
const PIECE_BYTES: usize = 64 << 10;

const PARQUET: Kind = Kind {
    name: "Parquet file",
    option: "-o",
    is: |head| ColumnarFormat::Parquet.is(head),
};

const ARROW: Kind = Kind {
    name: "Arrow stream",
    option: "-o",
    is: |head| ColumnarFormat::Arrow.is(head),
};

/// Takes the rows of a command.
pub(super) struct Rows {
    form: Form,
    /// Of what the rows are, such as `slowside.calls/1`.
    schema: &'static str,
    to: To,
    /// The engine may only say in words that its sink failed; what failed decides the exit code.
    failed: Option<io::Error>,
}

enum To {
    Text {
        out: BufWriter<Harmless<Box<dyn Write>>>,
        /// A header without a capture behind it would look like an answer: it waits for the first row.
        head: String,
    },
    Columns {
        format: ColumnarFormat,
        /// Until it is known what the columns hold.
        out: Option<Box<dyn Write>>,
        writer: Option<ColumnarWriter<Box<dyn Write>>>,
        file: Option<Replacement>,
        is_file: bool,
    },
}

impl Rows {
    /// Refuses, before all the work, where they cannot go.
    pub(super) fn open(
        format: RowFormat,
        output: &Output,
        schema: &'static str,
    ) -> anyhow::Result<Rows> {
        let (form, to) = match format {
            RowFormat::Csv => (Form::Csv, text(output)?),
            RowFormat::Jsonl => (Form::Jsonl, text(output)?),
            RowFormat::Parquet => (Form::Packed, columns(ColumnarFormat::Parquet, output)?),
            RowFormat::Arrow => (Form::Packed, columns(ColumnarFormat::Arrow, output)?),
        };
        Ok(Rows {
            form,
            schema,
            to,
            failed: None,
        })
    }

    /// The same for a command that has other formats too, which do not take `-o`.
    pub(super) fn open_if(
        format: Option<RowFormat>,
        output: &Output,
        schema: &'static str,
    ) -> anyhow::Result<Option<Rows>> {
        match format {
            Some(format) => Rows::open(format, output, schema).map(Some),
            None => no_file(output).map(|()| None),
        }
    }

    /// Takes all rows of what is held in memory.
    pub(super) fn all(
        mut self,
        hand_over: impl FnOnce(&mut dyn TakeRows) -> io::Result<()>,
    ) -> anyhow::Result<()> {
        let done = hand_over(&mut self);
        let done = done.and_then(|()| self.end());
        done.map_err(|error| self.told(error))
    }

    /// Keeps what failed, of which the engine is told the kind.
    pub(super) fn kept(&mut self, done: io::Result<()>) -> io::Result<()> {
        done.map_err(|error| {
            let kind = error.kind();
            self.failed = Some(error);
            io::Error::from(kind)
        })
    }

    /// What failed, if something did.
    pub(super) fn check(&mut self) -> anyhow::Result<()> {
        match self.failed.take() {
            Some(error) => Err(self.told(error)),
            None => Ok(()),
        }
    }

    /// After the last row.
    pub(super) fn finish(mut self) -> anyhow::Result<()> {
        self.end().map_err(|error| self.told(error))
    }

    /// Errors of files are whole sentences.
    fn told(&self, error: io::Error) -> anyhow::Error {
        match self.to {
            To::Columns { is_file: true, .. } => error.into(),
            _ => anyhow::Error::from(error).context(CANNOT_WRITE),
        }
    }

    fn end(&mut self) -> io::Result<()> {
        match &mut self.to {
            To::Text { out, head } => {
                out.write_all(std::mem::take(head).as_bytes())?;
                out.flush()
            }
            To::Columns { writer, file, .. } => {
                if let Some(writer) = writer.take() {
                    writer.finish()?;
                }
                Ok(file.take().map_or(Ok(()), Replacement::commit)?)
            }
        }
    }
}

impl TakeRows for Rows {
    fn form(&self) -> Form {
        self.form
    }

    fn begin(&mut self, head: String, columns: Vec<TypedColumn>) -> io::Result<()> {
        let metadata = [
            ("slowside.schema", self.schema),
            ("slowside.version", env!("CARGO_PKG_VERSION")),
        ];
        match &mut self.to {
            To::Text { head: waits, .. } => *waits = head,
            To::Columns {
                format,
                out,
                writer,
                ..
            } => {
                if let Some(out) = out.take() {
                    *writer = Some(ColumnarWriter::new(*format, &columns, &metadata, out)?);
                }
            }
        }
        Ok(())
    }

    fn row(&mut self, row: &[u8]) -> io::Result<()> {
        match &mut self.to {
            To::Text { out, head } => {
                if !head.is_empty() {
                    out.write_all(std::mem::take(head).as_bytes())?;
                }
                out.write_all(row)
            }
            To::Columns { writer, .. } => writer.as_mut().map_or(Ok(()), |w| w.row(row)),
        }
    }
}

/// Takes the rows of a table as they come.
pub(super) struct RowsOf<T: Table> {
    rows: Rows,
    writer: RowWriter<T>,
    row: Vec<u8>,
}

impl<T: Table> RowsOf<T> {
    pub(super) fn begin(
        mut rows: Rows,
        writer: fn(Form) -> RowWriter<T>,
    ) -> anyhow::Result<RowsOf<T>> {
        let writer = writer(rows.form());
        rows.begin(writer.head(), writer.columns())?;
        let row = Vec::new();
        Ok(RowsOf { rows, writer, row })
    }

    /// What fails is kept, and the engine told its kind.
    pub(super) fn write<'a>(&mut self, row: &'a T::Row<'a>) -> io::Result<()> {
        self.row.clear();
        self.writer.write(row, &mut self.row);
        let done = self.rows.row(&self.row);
        self.rows.kept(done)
    }

    /// What was written so far is seen now.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        let done = match &mut self.rows.to {
            To::Text { out, .. } => out.flush(),
            To::Columns { .. } => Ok(()),
        };
        self.rows.kept(done)
    }

    /// After the last row, or the engine's end: what failed, if something did.
    pub(super) fn check(&mut self) -> anyhow::Result<()> {
        self.rows.check()
    }

    pub(super) fn finish(self) -> anyhow::Result<()> {
        self.rows.finish()
    }
}

fn text(output: &Output) -> anyhow::Result<To> {
    no_file(output)?;
    let (out, head) = (out::text(), String::new());
    Ok(To::Text { out, head })
}

fn no_file(output: &Output) -> anyhow::Result<()> {
    let file = output.output.as_deref().filter(|to| !is_standard(to));
    ensure!(
        file.is_none(),
        "-o is for --format parquet and arrow; send text where it shall be with > FILE"
    );
    Ok(())
}

fn columns(format: ColumnarFormat, output: &Output) -> anyhow::Result<To> {
    let (kind, reader) = match format {
        ColumnarFormat::Parquet => (&PARQUET, "a file"),
        ColumnarFormat::Arrow => (&ARROW, "what reads Arrow"),
    };
    let file = match output.output.as_deref().filter(|to| !is_standard(to)) {
        Some(path) => Some(Replacement::create(path, kind)?),
        None => None,
    };
    let out: Box<dyn Write> = match &file {
        Some(file) => Box::new(BufWriter::with_capacity(PIECE_BYTES, file.writer()?)),
        None => {
            ensure!(
                !out::is_terminal(),
                "standard output is a terminal, and these are no letters; give -o FILE, or send \
                 them into {reader}"
            );
            Box::new(out::packets())
        }
    };
    Ok(To::Columns {
        format,
        out: Some(out),
        writer: None,
        is_file: file.is_some(),
        file,
    })
}

fn is_standard(path: &Path) -> bool {
    path.as_os_str() == "-"
}
