//! The stages of a capture that several processes read ([`slowside::split`]), for whoever hands on what they tell
//! (`slowside/_split.py`). Bytes in, bytes out; other threads of Python go on meanwhile.

use crate::LOOK;
use cli::{Line, Said};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use slowside::Error;
use slowside::split;
use std::io;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread;

fn refused(e: Error) -> PyErr {
    PyValueError::new_err(e.to_string())
}

fn over() -> PyErr {
    PyRuntimeError::new_err("it is over")
}

/// The files of a capture, in the order in which they are read, and what cannot be read of it; `as_one`: also where some hold
/// the same packets.
#[pyfunction]
pub(crate) fn capture_files(
    py: Python<'_>,
    path: PathBuf,
    as_one: bool,
) -> PyResult<(Vec<String>, Vec<String>)> {
    py.detach(|| split::files(&[path], as_one)).map_err(refused)
}

/// How many bytes `memory` is, such as `"4G"`; without one, what a command takes.
#[pyfunction]
#[pyo3(signature = (memory=None))]
pub(crate) fn memory_bytes(memory: Option<&str>) -> PyResult<u64> {
    cli::memory_bytes(memory).map_err(PyValueError::new_err)
}

/// When the first packet of a file came, and the latest time of one, ns since the epoch: a file that begins before that is read
/// together with it. None of a file without packets.
#[pyfunction]
pub(crate) fn file_span(py: Python<'_>, path: PathBuf) -> PyResult<Option<(i64, i64)>> {
    let span = py.detach(|| split::span(path)).map_err(refused)?;
    Ok(span.map(|[first, last]| (first.0, last.0)))
}

/// Files of a capture that are read together, into a list of pieces for each of their batches: one piece a share.
#[pyclass(frozen, module = "slowside._slowside")]
pub(crate) struct Pieces(Mutex<split::Pieces>);

#[pymethods]
impl Pieces {
    #[new]
    fn new(py: Python<'_>, paths: Vec<PathBuf>, file: u16, shares: usize) -> PyResult<Pieces> {
        let open = || split::Pieces::open(&paths, file, shares);
        let pieces = py.detach(open).map_err(refused)?;
        Ok(Pieces(Mutex::new(pieces)))
    }

    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Vec<Bound<'py, PyBytes>>>> {
        let next = || self.0.lock().unwrap_or_else(PoisonError::into_inner).next();
        let pieces = py.detach(next).map_err(refused)?;
        Ok(pieces.map(|pieces| pieces.iter().map(|piece| PyBytes::new(py, piece)).collect()))
    }
}

/// What is told of a batch, with the number by which it is put in order.
type Told<'py> = Vec<(u64, Bound<'py, PyBytes>)>;

/// One share of a capture: takes its pieces in the order of files and batches, and tells what its connections say.
#[pyclass(frozen, module = "slowside._slowside")]
pub(crate) struct Shard(Mutex<Option<split::Shard>>);

#[pymethods]
impl Shard {
    #[new]
    fn new(
        share: usize,
        shares: usize,
        files: Vec<String>,
        memory_bytes: u64,
        accounts: bool,
    ) -> Shard {
        let shard = split::Shard::new(share, shares, files, memory_bytes, accounts);
        Shard(Mutex::new(Some(shard)))
    }

    fn take<'py>(&self, py: Python<'py>, piece: &[u8]) -> PyResult<Told<'py>> {
        let take = || {
            let mut shard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            shard.as_mut().map(|shard| shard.take(piece))
        };
        let told = py.detach(take).ok_or_else(over)?;
        Ok(bytes(py, &told.map_err(refused)?))
    }

    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Told<'py>> {
        let finish = || {
            let shard = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
            shard.map(split::Shard::finish)
        };
        let told = py.detach(finish).ok_or_else(over)?;
        Ok(bytes(py, &told.map_err(refused)?))
    }
}

fn bytes<'py>(py: Python<'py>, told: &[(u64, Vec<u8>)]) -> Told<'py> {
    let bytes = |(number, told): &(u64, Vec<u8>)| (*number, PyBytes::new(py, told));
    told.iter().map(bytes).collect()
}

/// What is judged, one after the other, and what is to be said of it in the end.
enum Judged {
    Calls(split::Part),
    Over(Said),
}

/// Parts of what is judged that wait for whoever takes them.
const WAITING: usize = 2;

/// The line of a command on what shards told, into its calls, some thousands at a time, for those who write rows.
#[pyclass(frozen, module = "slowside._slowside")]
pub(crate) struct Judge {
    told: Mutex<Option<Receiver<Judged>>>,
    over: Mutex<Option<(u8, String)>>,
}

#[pymethods]
impl Judge {
    #[new]
    fn new(words: Vec<String>) -> PyResult<Judge> {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let line = Line::parse(&words).map_err(PyValueError::new_err)?;
        let (tell, told) = sync_channel(WAITING);
        thread::Builder::new().spawn(move || {
            // Nobody waits for it any more where that fails.
            let gone = |_| io::Error::from(io::ErrorKind::BrokenPipe);
            let said = line.judge(&mut |calls| tell.send(Judged::Calls(calls)).map_err(gone));
            let _ = tell.send(Judged::Over(said));
        })?;
        Ok(Judge {
            told: Mutex::new(Some(told)),
            over: Mutex::new(None),
        })
    }

    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    /// Once it is over: the exit code, and what was said.
    #[getter]
    fn over(&self) -> Option<(u8, String)> {
        self.over
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        loop {
            let next = || {
                let told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
                told.as_ref().map(|told| told.recv_timeout(LOOK))
            };
            match py.detach(next) {
                None => return Ok(None),
                Some(Ok(Judged::Calls(calls))) => {
                    let bytes = py.detach(|| calls.write());
                    return Ok(Some(PyBytes::new(py, &bytes)));
                }
                Some(Ok(Judged::Over(said))) => {
                    *self.told.lock().unwrap_or_else(PoisonError::into_inner) = None;
                    let over = (said.code, crate::text(&said.err));
                    *self.over.lock().unwrap_or_else(PoisonError::into_inner) = Some(over);
                    return Ok(None);
                }
                Some(Err(RecvTimeoutError::Timeout)) => py.check_signals()?,
                Some(Err(RecvTimeoutError::Disconnected)) => return Err(over()),
            }
        }
    }
}
