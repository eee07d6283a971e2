//! What a run is asked to do.

use analysis::filter::Filter;
use analysis::results::Vantage;
use model::Time;
use std::fmt;
use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;

/// A moment given by the user.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Moment {
    Absolute(Time),
    /// Nanoseconds after the capture's first packet.
    AfterStart(i64),
}

impl Moment {
    /// When that is in a capture whose first packet came at `start`.
    #[must_use]
    pub fn after(self, start: Time) -> Time {
        match self {
            Moment::Absolute(t) => t,
            Moment::AfterStart(ns) => start + ns,
        }
    }
}

/// What all that grows with the input may take up, unless another budget is given.
const MEMORY_BYTES: u64 = 1 << 30;

/// Settings common to every command that reads captures.
#[derive(Clone, Debug)]
pub struct Config {
    /// Threads for each capture: one reads, the others own connections. 0: as many as fit the
    /// machine. 1: everything in one thread.
    pub threads: usize,
    /// Bytes that all that grows with the input may take up.
    pub memory_bytes: u64,
    /// Only calls whose request (or, without one, response) starts within are counted.
    pub from: Option<Moment>,
    pub to: Option<Moment>,
    pub filter: Option<Filter>,
    /// Captures of the hosts beneath the second of two, a list of files each: it asks the first of these, which asks the next.
    pub beneath: Vec<Vec<PathBuf>>,
    /// Mean response time below which nobody is accused, and the tail that it must not have.
    pub fast_enough_ns: i64,
    pub tail_ns: i64,
    /// Server clock minus client clock, when the user knows it.
    pub clock_offset_ns: Option<i64>,
    /// What the client's application noted of its operations, and what the server did of its own; for a diagnosis.
    pub app: Option<Arc<trace::Application>>,
    pub server_app: Option<Arc<trace::Application>>,
    /// What tools said of the hosts, for a diagnosis.
    pub hosts: Arc<[trace::host::Host]>,
    /// Captures from between both ends, a list of files each, in any order; for a diagnosis.
    pub between: Vec<Vec<PathBuf>>,
    /// Captures of other clients of the same server, a list of files each, or of other servers of the same client: in
    /// place of the first of the two captures; for a diagnosis.
    pub peers: Vec<Vec<PathBuf>>,
    /// Whether what is read was handed on by other processes of slowside ([`split`](crate::split)), and is no capture: from
    /// strangers nothing is taken for that.
    pub handed_on: bool,
}

impl Config {
    /// Whether hosts noted anything, of which has to be said whether it was used.
    pub(crate) fn has_noted(&self) -> bool {
        self.app.is_some() || self.server_app.is_some() || !self.hosts.is_empty()
    }

    /// Without what hosts noted themselves, which is of others than those that are read so.
    pub(crate) fn unnoted(&self) -> Config {
        Config {
            app: None,
            server_app: None,
            hosts: Arc::default(),
            ..self.clone()
        }
    }
}

impl Default for Config {
    fn default() -> Config {
        Config {
            threads: 0,
            memory_bytes: MEMORY_BYTES,
            from: None,
            to: None,
            filter: None,
            beneath: Vec::new(),
            fast_enough_ns: 2_000_000,
            tail_ns: 20_000_000,
            clock_offset_ns: None,
            app: None,
            server_app: None,
            hosts: Arc::default(),
            between: Vec::new(),
            peers: Vec::new(),
            handed_on: false,
        }
    }
}

/// Where one capture is read from.
pub enum Source {
    Files(Vec<PathBuf>),
    /// Packets as they are captured; `name` stands for them in messages.
    Stream {
        name: String,
        reader: Box<dyn Read + Send>,
    },
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Files(files) => f.debug_tuple("Files").field(files).finish(),
            Source::Stream { name, .. } => f.debug_tuple("Stream").field(name).finish(),
        }
    }
}

/// What `diagnose` looks at. Each list of paths is one capture.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Captures {
    One(Vec<PathBuf>),
    /// Two captures; which is which is found out.
    Two(Vec<PathBuf>, Vec<PathBuf>),
    Sides {
        client: Vec<PathBuf>,
        server: Vec<PathBuf>,
    },
    /// One capture whose side is stated.
    Client(Vec<PathBuf>),
    Server(Vec<PathBuf>),
}

impl Captures {
    /// Whether any comes by way of standard input or a pipe, which can be read once only.
    #[must_use]
    pub fn are_piped(&self) -> bool {
        let is_pipe = |p: &PathBuf| std::fs::metadata(p).is_ok_and(|m| !m.is_file() && !m.is_dir());
        let mut all = self.lists().into_iter().flatten();
        all.any(|p| p.as_os_str() == "-" || is_pipe(p))
    }

    /// The files of each capture.
    pub(crate) fn inputs(&self) -> Vec<&[PathBuf]> {
        let [a, b] = self.lists();
        match self {
            Captures::Two(..) | Captures::Sides { .. } => vec![a, b],
            Captures::One(_) | Captures::Client(_) | Captures::Server(_) => vec![a],
        }
    }

    /// Where each was taken, if that is stated.
    pub(crate) fn stated(&self) -> [Option<Vantage>; 2] {
        match self {
            Captures::One(_) | Captures::Two(..) => [None, None],
            Captures::Sides { .. } => [Some(Vantage::Client), Some(Vantage::Server)],
            Captures::Client(_) => [Some(Vantage::Client), None],
            Captures::Server(_) => [Some(Vantage::Server), None],
        }
    }

    /// The files of each capture; of one capture the second list is empty.
    #[must_use]
    pub fn lists(&self) -> [&[PathBuf]; 2] {
        match self {
            Captures::One(a) | Captures::Client(a) | Captures::Server(a) => [a, &[]],
            Captures::Two(a, b) => [a, b],
            Captures::Sides { client, server } => [client, server],
        }
    }
}

/// What a run tells while it goes on.
#[derive(Clone, Debug)]
pub enum Event {
    /// Bytes read of all inputs, and how many there are where that is known; no packets in traces.
    Progress {
        read: u64,
        total: Option<u64>,
        packets: u64,
    },
    /// Something the user should know at once, such as that two files were taken for one capture.
    Note(String),
}

#[cfg(test)]
mod tests {
    use super::Captures;

    #[test]
    #[cfg(unix)]
    fn what_comes_by_a_pipe_is_read_once() {
        let piped = |file: &str| Captures::One(vec![file.into()]).are_piped();
        assert!(piped("-"));
        assert!(piped("/dev/null"));
        assert!(!piped("Cargo.toml"));
        assert!(!piped("."));
        assert!(!piped("what is not there"));
    }
}
