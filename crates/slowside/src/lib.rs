//! The engine: wires captures, connections, protocols and analysis together and owns the threads.
//!
//! Nothing in here prints; what is worth telling while it runs leaves as [`Event`]s.

mod config;

pub use config::{Captures, Config, Event, Moment};

use analysis::group::Key;
use analysis::results::{CaptureResult, Diagnosis, OpsResult};
use model::Call;
use std::path::PathBuf;

/// Why a run could not be done.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{0}")]
    Message(String),
}

/// Reads one capture and hands every call to `sink`, in order of completion. The second argument of
/// `sink` names the capture's files by [`PacketRef::file`](model::PacketRef).
pub fn calls(
    _inputs: &[PathBuf],
    _config: &Config,
    _sink: &mut dyn FnMut(&Call, &[String]) -> std::io::Result<()>,
    _events: &mut dyn FnMut(Event),
) -> Result<CaptureResult, Error> {
    Err(Error::Message("not wired".into()))
}

/// Reads one capture and groups its calls.
pub fn ops(
    _inputs: &[PathBuf],
    _config: &Config,
    _keys: &[Key],
    _events: &mut dyn FnMut(Event),
) -> Result<OpsResult, Error> {
    Err(Error::Message("not wired".into()))
}

/// Reads one or two captures and says which side is slow.
pub fn diagnose(
    _captures: &Captures,
    _app: Option<&trace::Application>,
    _config: &Config,
    _events: &mut dyn FnMut(Event),
) -> Result<Diagnosis, Error> {
    Err(Error::Message("not wired".into()))
}
