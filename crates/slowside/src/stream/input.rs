//! What a capture is read from, how far that has come, and what is known in the end.

use crate::split::Telling;
use capture::{Capture, CaptureSummary};
use model::{Problems, Time};
use net::Counts;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

/// What the reader knows when it has come to the end.
pub(crate) struct Finished {
    pub summary: CaptureSummary,
    pub problems: Problems,
    pub counts: Counts,
    pub error: Option<String>,
}

/// What a capture is read from: its packets, or what others told of them.
pub(crate) enum Input {
    Packets(Box<Capture>),
    Told(Box<Telling>),
}

impl Input {
    /// The names of the capture's files.
    pub(crate) fn files(&self) -> Vec<String> {
        match self {
            Input::Packets(capture) => capture.files().to_vec(),
            Input::Told(told) => told.files.clone(),
        }
    }
}

impl From<Capture> for Input {
    fn from(capture: Capture) -> Input {
        Input::Packets(Box::new(capture))
    }
}

/// How far the reader has come.
pub(crate) struct Progress {
    pub read: AtomicU64,
    pub total: AtomicU64,
    pub packets: AtomicU64,
    /// Time of the first packet in the order of reading; `i64::MIN` before it.
    pub(super) first: AtomicI64,
}

impl Progress {
    pub(super) fn new() -> Progress {
        Progress {
            read: AtomicU64::new(0),
            total: AtomicU64::new(0),
            packets: AtomicU64::new(0),
            first: AtomicI64::new(i64::MIN),
        }
    }

    pub(super) fn first_time(&self) -> Option<Time> {
        let first = self.first.load(Ordering::Relaxed);
        (first != i64::MIN).then_some(Time(first))
    }
}
