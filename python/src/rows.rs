//! An Arrow stream that was written into batches, and these into Arrow's C stream, for whoever asks for them.

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchIterator};
use arrow_ipc::reader::StreamReader;
use arrow_schema::{ArrowError, SchemaRef};
use pyo3::exceptions::{PyKeyError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::collections::HashMap;

/// Rows with columns that have types, as `pyarrow.table(rows)`, `polars.DataFrame(rows)` and DuckDB take them without a
/// copy, as often as they like.
#[pyclass(frozen, module = "slowside")]
pub(crate) struct Rows {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

impl Rows {
    pub(crate) fn read(stream: &[u8]) -> PyResult<Rows> {
        let lost = |e: ArrowError| PyRuntimeError::new_err(format!("no rows: {e}"));
        let reader = StreamReader::try_new(stream, None).map_err(lost)?;
        Ok(Rows {
            schema: reader.schema(),
            batches: reader.collect::<Result<_, _>>().map_err(lost)?,
        })
    }
}

#[pymethods]
impl Rows {
    /// Arrow's PyCapsule interface. Another schema than that of the rows may be asked for, and is not given.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let batches = self.batches.clone().into_iter().map(Ok);
        let reader = RecordBatchIterator::new(batches, SchemaRef::clone(&self.schema));
        let stream = FFI_ArrowArrayStream::new(Box::new(reader));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    fn __len__(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    fn __repr__(&self) -> String {
        let schema = self.schema.metadata().get("slowside.schema");
        let schema = schema.map_or("rows", String::as_str);
        format!("<slowside.Rows: {} of {schema}>", self.__len__())
    }

    /// The names of the columns.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.schema
            .fields()
            .iter()
            .map(|f| f.name().clone())
            .collect()
    }

    /// What is said of all of it, such as `slowside.schema`.
    #[getter]
    fn metadata(&self) -> HashMap<String, String> {
        self.schema.metadata().clone().into()
    }

    /// What a column says, and its unit (`ns`, `bytes`) where it has one.
    fn describe(&self, column: &str) -> PyResult<HashMap<String, String>> {
        let unknown = |e: ArrowError| PyKeyError::new_err(e.to_string());
        let field = self.schema.field_with_name(column).map_err(unknown)?;
        Ok(field.metadata().clone().into())
    }
}
