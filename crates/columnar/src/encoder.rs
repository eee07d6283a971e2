//! Rows into a file or a pipe, batch by batch. Encoders write into memory, and from there it goes out: an error of the
//! system stays what it is, so that whoever runs this can tell a full disk from a reader that has gone.

use crate::batch::Batch;
use arrow_array::RecordBatch;
use arrow_ipc::writer::StreamWriter;
use report::TypedColumn;
use std::io::{self, Write};
use std::mem;

/// Rows of a batch: a few megabytes.
const BATCH_ROWS: usize = 8192;

/// What rows are written as.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ColumnarFormat {
    /// An Arrow IPC stream.
    Arrow,
    Parquet,
}

impl ColumnarFormat {
    /// Whether a file that begins so is one.
    #[must_use]
    pub fn is(self, head: &[u8]) -> bool {
        match self {
            // The continuation before a message's length.
            ColumnarFormat::Arrow => head.starts_with(&[0xff; 4]),
            ColumnarFormat::Parquet => head.starts_with(b"PAR1"),
        }
    }
}

/// Writes packed rows. Nothing is whole before [`finish`](ColumnarWriter::finish).
pub struct ColumnarWriter<W> {
    batch: Batch,
    encoder: Box<dyn Encoder>,
    out: W,
}

/// Batches into bytes, in memory.
pub(crate) trait Encoder {
    fn write(&mut self, batch: &RecordBatch) -> io::Result<()>;
    fn finish(&mut self) -> io::Result<()>;
    fn encoded(&mut self) -> &mut Vec<u8>;
}

impl<W: Write> ColumnarWriter<W> {
    /// Writes rows with these columns to `out`. What is said of the whole, such as the schema's name and version,
    /// stands in the metadata of the file or stream.
    ///
    /// # Errors
    /// When the columns cannot be written so.
    pub fn new(
        format: ColumnarFormat,
        columns: &[TypedColumn],
        metadata: &[(&str, &str)],
        out: W,
    ) -> io::Result<ColumnarWriter<W>> {
        let said = |&(key, value): &(&str, &str)| (key.to_owned(), value.to_owned());
        let batch = Batch::new(columns, metadata.iter().map(said).collect());
        let schema = batch.schema();
        let encoder: Box<dyn Encoder> = match format {
            ColumnarFormat::Arrow => {
                let writer = StreamWriter::try_new(Vec::new(), schema);
                Box::new(writer.map_err(io::Error::other)?)
            }
            #[cfg(feature = "parquet")]
            ColumnarFormat::Parquet => Box::new(crate::parquet::writer(schema)?),
            #[cfg(not(feature = "parquet"))]
            ColumnarFormat::Parquet => {
                let cure = "no Parquet is written here; write the rows by what reads them";
                return Err(io::Error::new(io::ErrorKind::Unsupported, cure));
            }
        };
        Ok(ColumnarWriter {
            batch,
            encoder,
            out,
        })
    }

    /// Takes a row as [`RowWriter`](report::RowWriter) packs it.
    ///
    /// # Errors
    /// Those of the output; and when the row is none of these columns.
    pub fn row(&mut self, packed: &[u8]) -> io::Result<()> {
        self.batch.push(packed).map_err(io::Error::other)?;
        match self.batch.rows() {
            ..BATCH_ROWS => Ok(()),
            _ => self.write(),
        }
    }

    /// Writes what is left, and gives the output back, flushed.
    ///
    /// # Errors
    /// Those of the output.
    pub fn finish(mut self) -> io::Result<W> {
        if self.batch.rows() > 0 {
            self.write()?;
        }
        self.encoder.finish()?;
        self.hand_on()?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn write(&mut self) -> io::Result<()> {
        let batch = self.batch.finish().map_err(io::Error::other)?;
        self.encoder.write(&batch)?;
        self.hand_on()
    }

    /// What was encoded goes out.
    fn hand_on(&mut self) -> io::Result<()> {
        let bytes = mem::take(self.encoder.encoded());
        self.out.write_all(&bytes)
    }
}

impl Encoder for StreamWriter<Vec<u8>> {
    fn write(&mut self, batch: &RecordBatch) -> io::Result<()> {
        StreamWriter::write(self, batch).map_err(io::Error::other)
    }

    fn finish(&mut self) -> io::Result<()> {
        StreamWriter::finish(self).map_err(io::Error::other)
    }

    fn encoded(&mut self) -> &mut Vec<u8> {
        self.get_mut()
    }
}

#[cfg(feature = "parquet")]
#[cfg(test)]
mod tests {
    use super::*;
    use crate::parquet::GROUP_ROWS;
    use ::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Int32Type, Int64Type, TimestampNanosecondType};
    use arrow_array::{Array, ArrayAccessor};
    use arrow_ipc::reader::StreamReader;
    use report::CellKind;

    fn column(name: &str, kind: CellKind) -> TypedColumn {
        TypedColumn {
            name: name.to_owned(),
            kind,
            unit: Some("ns"),
            help: "what it is",
        }
    }

    fn columns() -> Vec<TypedColumn> {
        let parts = vec![column("lo_ns", CellKind::Integer)];
        vec![
            column("time", CellKind::Time),
            column("op", CellKind::Name),
            column("detail", CellKind::Map),
            column("ledger", CellKind::List(parts)),
        ]
    }

    /// Its bytes as `report` packs them: a time, a name or none, a map of one value, a list of one or two elements.
    fn row(n: u32) -> Vec<u8> {
        let integer = |n: u32| [&[3][..], &i64::from(n).to_le_bytes()].concat();
        let text = |text: &str| [&[5, text.len() as u8, 0, 0, 0], text.as_bytes()].concat();
        let op = match n % 3 {
            0 => vec![0],
            _ => text(["READ", "WRITE"][n as usize % 2]),
        };
        let elements = n % 2 + 1;
        let map = [vec![6, 1, 0, 0, 0], text("count"), text(&n.to_string())].concat();
        let list = vec![6, elements as u8, 0, 0, 0];
        let list = (0..elements).fold(list, |list, e| [list, integer(n + e)].concat());
        [integer(n), op, map, list].concat()
    }

    fn written(format: ColumnarFormat, rows: u32) -> Vec<u8> {
        let metadata = [("slowside.schema", "slowside.calls/1")];
        let writer = ColumnarWriter::new(format, &columns(), &metadata, Vec::new());
        let mut writer = writer.expect("columns");
        (0..rows).for_each(|n| writer.row(&row(n)).expect("a row"));
        writer.finish().expect("memory")
    }

    fn assert_rows(batches: &[RecordBatch], rows: u32) {
        let mut expected = 0..rows;
        for batch in batches {
            let times = batch.column(0).as_primitive::<TimestampNanosecondType>();
            let names = batch.column(1).as_dictionary::<Int32Type>();
            let names = names
                .downcast_dict::<arrow_array::StringArray>()
                .expect("texts");
            let details = batch.column(2).as_map();
            let ledgers = batch.column(3).as_list::<i32>();
            for (i, n) in expected.by_ref().take(batch.num_rows()).enumerate() {
                assert_eq!(times.value(i), i64::from(n));
                let name = (!names.is_null(i)).then(|| names.value(i));
                let expected = (n % 3 > 0).then(|| ["READ", "WRITE"][n as usize % 2]);
                assert_eq!(name, expected, "{n}");
                let entry = details.value(i);
                assert_eq!(entry.column(0).as_string::<i32>().value(0), "count");
                assert_eq!(entry.column(1).as_string::<i32>().value(0), n.to_string());
                let elements = ledgers.value(i);
                let parts = elements.as_struct().column(0);
                let parts = parts.as_primitive::<Int64Type>().values();
                let all: Vec<i64> = (0..=n % 2).map(|e| (n + e).into()).collect();
                assert_eq!(**parts, *all);
            }
        }
        assert_eq!(expected.len(), 0, "all rows");
    }

    #[test]
    fn rows_come_back_from_parquet_in_groups() {
        let rows = GROUP_ROWS as u32 + 10;
        let bytes = written(ColumnarFormat::Parquet, rows);
        assert!(ColumnarFormat::Parquet.is(&bytes));
        let reader = ParquetRecordBatchReaderBuilder::try_new(bytes::Bytes::from(bytes));
        let reader = reader.expect("Parquet");
        let about = reader.metadata();
        let groups: Vec<i64> = about.row_groups().iter().map(|g| g.num_rows()).collect();
        assert_eq!(groups, [GROUP_ROWS as i64, 10]);
        let said = about
            .file_metadata()
            .key_value_metadata()
            .expect("metadata");
        let said = said.iter().find(|k| k.key == "slowside.schema");
        assert_eq!(
            said.and_then(|k| k.value.as_deref()),
            Some("slowside.calls/1")
        );
        let batches: Result<Vec<_>, _> = reader.build().expect("a reader").collect();
        assert_rows(&batches.expect("batches"), rows);
    }

    #[test]
    fn rows_come_back_from_a_stream_with_names_of_each_batch() {
        for rows in [0, 1, BATCH_ROWS as u32, 2 * BATCH_ROWS as u32 + 1] {
            let bytes = written(ColumnarFormat::Arrow, rows);
            assert!(ColumnarFormat::Arrow.is(&bytes));
            let stream = StreamReader::try_new(&*bytes, None).expect("a stream");
            let batches: Result<Vec<_>, _> = stream.collect();
            assert_rows(&batches.expect("batches"), rows);
        }
    }

    #[test]
    fn a_row_of_another_table_is_refused() {
        let writer = ColumnarWriter::new(ColumnarFormat::Parquet, &columns(), &[], Vec::new());
        let mut writer = writer.expect("columns");
        let long = [row(1), vec![0]].concat();
        for wrong in [&long[..], &long[..9], &[], &[9], &[5, 255, 255, 255, 255]] {
            assert!(writer.row(wrong).is_err(), "{wrong:?}");
        }
    }

    /// Has room for so many bytes.
    struct Full(usize);

    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            match self.0.checked_sub(bytes.len()) {
                Some(left) => {
                    self.0 = left;
                    Ok(bytes.len())
                }
                None => Err(io::ErrorKind::StorageFull.into()),
            }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn an_error_of_the_output_stays_what_it_is() {
        for format in [ColumnarFormat::Arrow, ColumnarFormat::Parquet] {
            let writer = ColumnarWriter::new(format, &columns(), &[], Full(2_000));
            let mut writer = writer.expect("columns");
            let rows = (0..BATCH_ROWS as u32).try_for_each(|n| writer.row(&row(n)));
            let done = rows.and_then(|()| writer.finish().map(drop));
            let error = done.expect_err("no room");
            assert_eq!(error.kind(), io::ErrorKind::StorageFull, "{format:?}");
        }
    }
}
