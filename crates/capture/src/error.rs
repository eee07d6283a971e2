//! Why a capture cannot be read at all: one line each, with the file and the cure.

use std::io;

/// A capture cannot be read at all. Whatever leaves something to be read is counted in
/// [`Capture::problems`](crate::Capture::problems) instead.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    #[error("no capture given: name files, a directory, or - for standard input")]
    NoInput,
    #[error("cannot open {file}: {error}; check the path and its permissions")]
    Open { file: String, error: io::Error },
    #[error("cannot read {file}: {error}; copy or take the capture again")]
    Read { file: String, error: io::Error },
    #[error(
        "cannot keep {file} in {folder}: {error}; set TMPDIR to a folder with room, or name a file"
    )]
    Keep {
        file: String,
        folder: String,
        error: io::Error,
    },
    #[error("{file} is empty; the capture wrote nothing, or its disk was full")]
    Empty { file: String },
    #[error("{file} is not a capture but {what}; pcap, pcapng and snoop can be read{cure}")]
    NotACapture {
        file: String,
        what: &'static str,
        cure: &'static str,
    },
    #[error("{file} ends within its {bytes}-byte header; copy or take the capture again")]
    HeaderCut { file: String, bytes: usize },
    #[error(
        "{file} is {format} version {major}.{minor}, which is not known; rewrite it with a tool that reads it"
    )]
    Version {
        file: String,
        format: &'static str,
        major: u32,
        minor: u32,
    },
    #[error(
        "{directory} holds no captures; name the directory with the pcap, pcapng or snoop files itself, as those in it are not \
         looked into"
    )]
    EmptyDirectory { directory: String },
    #[error("none of {count} inputs can be read; the first: {first}")]
    NothingReadable {
        count: usize,
        first: Box<CaptureError>,
    },
    #[error(
        "{count} files are too many for one capture (65,536 at most); merge some with mergecap"
    )]
    TooManyFiles { count: usize },
}

impl CaptureError {
    /// The kind under which it is counted when other inputs can still be read.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            CaptureError::Empty { .. } => "empty-file",
            CaptureError::NotACapture { .. } => "not-a-capture",
            CaptureError::HeaderCut { .. } => "cut-in-mid-record",
            CaptureError::Version { .. } => "unknown-version",
            CaptureError::EmptyDirectory { .. } => "empty-directory",
            CaptureError::NoInput
            | CaptureError::Open { .. }
            | CaptureError::Read { .. }
            | CaptureError::Keep { .. }
            | CaptureError::NothingReadable { .. }
            | CaptureError::TooManyFiles { .. } => "unreadable-file",
        }
    }
}
