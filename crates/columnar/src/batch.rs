//! Packed rows into Arrow's record batches: a builder for each column, by its type.

use arrow_array::builder::{
    BooleanBuilder, Float64Builder, Int64Builder, StringBuilder, StringDictionaryBuilder,
    TimestampNanosecondBuilder,
};
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, ListArray, MapArray, RecordBatch, StructArray};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Fields, Schema, SchemaRef, TimeUnit};
use report::{CellKind, Cells, PackedCell};
use std::collections::HashMap;
use std::sync::Arc;

/// Gathers rows.
pub(crate) struct Batch {
    schema: SchemaRef,
    columns: Vec<Column>,
    rows: usize,
}

impl Batch {
    /// `metadata` is what is said of the whole.
    pub(crate) fn new(columns: &[report::TypedColumn], metadata: HashMap<String, String>) -> Batch {
        let typed: Fields = columns.iter().map(typed).collect();
        Batch {
            columns: typed.iter().map(|f| Column::of(f.data_type())).collect(),
            schema: Arc::new(Schema::new_with_metadata(typed, metadata)),
            rows: 0,
        }
    }

    pub(crate) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Takes a row.
    ///
    /// # Errors
    /// When it is none of these columns.
    pub(crate) fn push(&mut self, row: &[u8]) -> Result<(), ArrowError> {
        let mut cells = Cells::of(row);
        let taken = self
            .columns
            .iter_mut()
            .all(|c| c.take(&mut cells).is_some());
        if !taken || cells.next().is_some() {
            let what = "a row has other columns than its table";
            return Err(ArrowError::InvalidArgumentError(what.to_owned()));
        }
        self.rows += 1;
        Ok(())
    }

    /// The rows that were gathered, which are forgotten.
    pub(crate) fn finish(&mut self) -> Result<RecordBatch, ArrowError> {
        self.rows = 0;
        let columns: Result<_, _> = self.columns.iter_mut().map(Column::finish).collect();
        RecordBatch::try_new(Arc::clone(&self.schema), columns?)
    }
}

fn typed(column: &report::TypedColumn) -> Field {
    let mut metadata = HashMap::new();
    metadata.extend(column.unit.map(|unit| ("unit".to_owned(), unit.to_owned())));
    if !column.help.is_empty() {
        metadata.insert("description".to_owned(), column.help.to_owned());
    }
    let data = match &column.kind {
        CellKind::Name => DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8)),
        CellKind::Text => DataType::Utf8,
        CellKind::Flag => DataType::Boolean,
        CellKind::Integer => DataType::Int64,
        CellKind::Number => DataType::Float64,
        CellKind::Time => DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into())),
        CellKind::Map => {
            let entry = ["key", "value"].map(|name| Field::new(name, DataType::Utf8, false));
            let entry = DataType::Struct(Fields::from(entry.to_vec()));
            DataType::Map(Arc::new(Field::new("entries", entry, false)), false)
        }
        CellKind::List(parts) => {
            let parts = DataType::Struct(parts.iter().map(typed).collect());
            DataType::List(Arc::new(Field::new("item", parts, false)))
        }
    };
    // All may be unknown: a column that is declared otherwise, and is not, shall not cost anybody a run of hours.
    Field::new(&column.name, data, true).with_metadata(metadata)
}

/// A column's cells.
enum Column {
    Name(StringDictionaryBuilder<Int32Type>),
    Text(StringBuilder),
    Flag(BooleanBuilder),
    Integer(Int64Builder),
    Number(Float64Builder),
    Time(TimestampNanosecondBuilder),
    /// Of each row, how many elements it has; all of them, part by part.
    Many {
        lengths: Vec<usize>,
        parts: Vec<Column>,
        element: FieldRef,
        is_map: bool,
    },
}

impl Column {
    fn of(data: &DataType) -> Column {
        match data {
            DataType::Dictionary(..) => Column::Name(StringDictionaryBuilder::new()),
            DataType::Boolean => Column::Flag(BooleanBuilder::new()),
            DataType::Int64 => Column::Integer(Int64Builder::new()),
            DataType::Float64 => Column::Number(Float64Builder::new()),
            DataType::Timestamp(..) => {
                Column::Time(TimestampNanosecondBuilder::new().with_data_type(data.clone()))
            }
            DataType::Map(element, _) | DataType::List(element) => Column::Many {
                lengths: Vec::new(),
                parts: fields(element)
                    .iter()
                    .map(|f| Column::of(f.data_type()))
                    .collect(),
                element: Arc::clone(element),
                is_map: matches!(data, DataType::Map(..)),
            },
            _ => Column::Text(StringBuilder::new()),
        }
    }

    /// Takes a cell, with all that stands in it.
    fn take(&mut self, cells: &mut Cells<'_>) -> Option<()> {
        use PackedCell::{Flag, Integer, Many, Number, Text, Unknown};
        match (self, cells.next()?) {
            (Column::Name(b), Text(text)) => b.append_value(text),
            (Column::Name(b), Unknown) => b.append_null(),
            (Column::Text(b), Text(text)) => b.append_value(text),
            (Column::Text(b), Unknown) => b.append_null(),
            (Column::Flag(b), Flag(flag)) => b.append_value(flag),
            (Column::Flag(b), Unknown) => b.append_null(),
            (Column::Integer(b), Integer(n)) => b.append_value(n),
            (Column::Integer(b), Unknown) => b.append_null(),
            (Column::Number(b), Number(n)) => b.append_value(n),
            // Whole ones, and those with so many digits as CSV has.
            (Column::Number(b), Integer(n)) => b.append_value(n as f64),
            (Column::Number(b), Text(text)) => b.append_value(text.parse().ok()?),
            (Column::Number(b), Unknown) => b.append_null(),
            (Column::Time(b), Integer(ns)) => b.append_value(ns),
            (Column::Time(b), Unknown) => b.append_null(),
            (Column::Many { lengths, parts, .. }, Many(count)) => {
                let count = usize::try_from(count).ok()?;
                for _ in 0..count {
                    parts.iter_mut().try_for_each(|part| part.take(cells))?;
                }
                lengths.push(count);
            }
            _ => return None,
        }
        Some(())
    }

    fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        Ok(match self {
            Column::Name(b) => Arc::new(b.finish()),
            Column::Text(b) => Arc::new(b.finish()),
            Column::Flag(b) => Arc::new(b.finish()),
            Column::Integer(b) => Arc::new(b.finish()),
            Column::Number(b) => Arc::new(b.finish()),
            Column::Time(b) => Arc::new(b.finish()),
            Column::Many {
                lengths,
                parts,
                element,
                is_map,
            } => {
                let offsets = OffsetBuffer::from_lengths(lengths.drain(..));
                let parts: Result<_, _> = parts.iter_mut().map(Column::finish).collect();
                let elements = StructArray::try_new(fields(element), parts?, None)?;
                let element = Arc::clone(element);
                match is_map {
                    true => Arc::new(MapArray::try_new(element, offsets, elements, None, false)?),
                    false => Arc::new(ListArray::try_new(
                        element,
                        offsets,
                        Arc::new(elements),
                        None,
                    )?),
                }
            }
        })
    }
}

/// What each element has.
fn fields(element: &Field) -> Fields {
    match element.data_type() {
        DataType::Struct(fields) => fields.clone(),
        _ => Fields::empty(),
    }
}
