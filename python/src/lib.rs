//! Command lines into what Python takes: text, and rows as Arrow's C stream. Which words a line has, and what becomes of
//! an answer, is Python's part (`slowside/__init__.py`), so that functions there are the commands themselves.

mod rows;
mod split;

use cli::{Line, Said};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use rows::Rows;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// How soon Ctrl-C is seen.
const LOOK: Duration = Duration::from_millis(50);

/// Runs a command line in a thread of its own, while Python goes on with others. Where Ctrl-C is pressed meanwhile, the
/// answer is not waited for.
fn said(py: Python<'_>, words: &[String]) -> PyResult<Said> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let line = Line::parse(&words).map_err(PyValueError::new_err)?;
    let (tell, mut told) = channel();
    thread::Builder::new().spawn(move || {
        // Nobody waits for it any more where that fails.
        let _ = tell.send(line.ask());
    })?;
    loop {
        let told = &mut told;
        match py.detach(move || told.recv_timeout(LOOK)) {
            Ok(said) => return Ok(said),
            Err(RecvTimeoutError::Timeout) => py.check_signals()?,
            Err(RecvTimeoutError::Disconnected) => {
                let lost = "slowside stopped within; please report this";
                return Err(PyRuntimeError::new_err(lost));
            }
        }
    }
}

/// The exit code of a command line, and what it wrote to standard output and standard error.
#[pyfunction]
fn run(py: Python<'_>, words: Vec<String>) -> PyResult<(u8, Vec<u8>, String)> {
    let said = said(py, &words)?;
    Ok((said.code, said.out, text(&said.err)))
}

/// The same of a line that writes an Arrow stream: its rows, which are none where it could not be done.
#[pyfunction]
#[pyo3(name = "rows")]
fn run_rows(py: Python<'_>, words: Vec<String>) -> PyResult<(u8, Option<Rows>, String)> {
    let said = said(py, &words)?;
    let rows = match said.code {
        2 => None,
        _ => Some(py.detach(|| Rows::read(&said.out))?),
    };
    Ok((said.code, rows, text(&said.err)))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[pymodule]
fn _slowside(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<Rows>()?;
    module.add_class::<split::Pieces>()?;
    module.add_class::<split::Shard>()?;
    module.add_class::<split::Judge>()?;
    module.add("SEEN", PyBytes::new(module.py(), slowside::split::SEEN))?;
    module.add("SHARES", slowside::split::SHARES)?;
    module.add("TOLD", PyBytes::new(module.py(), slowside::split::TOLD))?;
    module.add_function(wrap_pyfunction!(split::capture_files, module)?)?;
    module.add_function(wrap_pyfunction!(split::file_span, module)?)?;
    module.add_function(wrap_pyfunction!(split::memory_bytes, module)?)?;
    module.add_function(wrap_pyfunction!(run, module)?)?;
    module.add_function(wrap_pyfunction!(run_rows, module)?)
}
