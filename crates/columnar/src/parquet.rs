//! Batches into Parquet: zstd, and row groups of a size that readers work on at once.

use crate::encoder::Encoder;
use ::parquet::arrow::ArrowWriter;
use ::parquet::basic::{Compression, ZstdLevel};
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::KeyValue;
use ::parquet::file::properties::{WriterProperties, WriterVersion};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use std::collections::HashMap;
use std::io;

/// Rows of a row group: what DuckDB reads with one thread, a multiple of its vectors. Larger ones would only take
/// memory here.
pub(crate) const GROUP_ROWS: usize = 122_880;

/// Bytes of a row group that is being written, whichever comes first: statements are long.
const GROUP_BYTES: usize = 32 << 20;

pub(crate) fn writer(schema: &SchemaRef) -> io::Result<ArrowWriter<Vec<u8>>> {
    // Arrow's schema, with all metadata, is in the file too; these are for readers that know nothing of Arrow.
    let said = |(key, value): (&String, &String)| KeyValue::new(key.clone(), value.clone());
    let sorted: HashMap<_, _> = schema.metadata().iter().collect();
    let mut metadata: Vec<KeyValue> = sorted.into_iter().map(said).collect();
    metadata.sort_by(|a, b| a.key.cmp(&b.key));
    let properties = WriterProperties::builder()
        .set_writer_version(WriterVersion::PARQUET_1_0)
        .set_created_by(concat!("slowside ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_max_row_group_row_count(Some(GROUP_ROWS))
        .set_key_value_metadata(Some(metadata))
        .build();
    ArrowWriter::try_new(Vec::new(), schema.clone(), Some(properties)).map_err(failed)
}

impl Encoder for ArrowWriter<Vec<u8>> {
    fn write(&mut self, batch: &RecordBatch) -> io::Result<()> {
        ArrowWriter::write(self, batch).map_err(failed)?;
        match self.in_progress_size() {
            ..GROUP_BYTES => Ok(()),
            _ => self.flush().map_err(failed),
        }
    }

    fn finish(&mut self) -> io::Result<()> {
        ArrowWriter::finish(self).map(drop).map_err(failed)
    }

    fn encoded(&mut self) -> &mut Vec<u8> {
        self.inner_mut()
    }
}

/// Into memory nothing fails but what the writer itself finds wrong.
fn failed(error: ParquetError) -> io::Error {
    io::Error::other(error)
}
