//! Inputs as given into files in the order of their first packets. A directory stands for the
//! captures in it; every file is opened once to see what it is and when it begins.

use crate::error::CaptureError;
use crate::file::FileReader;
use crate::kept;
use crate::name;
use crate::source::{Raw, Source};
use crate::summary::FileSummary;
use model::{Batch, Problems, Time, Where};
use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// Bytes read to see when a file begins.
const PROBE_BYTES: usize = 64 << 10;

/// A file whose turn has not come.
pub(crate) struct Pending {
    pub(crate) first: Time,
    pub(crate) held: QueuedFile,
    pub(crate) summary: FileSummary,
}

/// How a file is kept until its turn.
pub(crate) enum QueuedFile {
    /// Closed, to be opened again: a capture may have more files than a process may open.
    Path(PathBuf),
    /// Open, with its first packets: what cannot be read twice, and a single file.
    Open(Box<(FileReader, Batch)>),
}

/// What the inputs come to.
pub(crate) struct Files {
    pub(crate) pending: Vec<Pending>,
    pub(crate) problems: Problems,
    /// Bytes of all files, if known.
    pub(crate) total: Option<u64>,
}

/// One file to look at.
struct Candidate {
    path: PathBuf,
    name: String,
    from_directory: bool,
}

/// Looks at all inputs.
pub(crate) fn look(inputs: &[PathBuf], consumed: &Arc<AtomicU64>) -> Result<Files, CaptureError> {
    if inputs.is_empty() {
        return Err(CaptureError::NoInput);
    }
    let mut problems = Problems::default();
    let mut failures = Vec::new();
    let candidates = expand(inputs, &mut problems, &mut failures);
    if candidates.len() > usize::from(u16::MAX) + 1 {
        return Err(CaptureError::TooManyFiles {
            count: candidates.len(),
        });
    }
    let single = candidates.len() == 1;
    let mut pending = Vec::new();
    let mut total = Some(0_u64);
    let mut strangers = Vec::new();
    for candidate in &candidates {
        match candidate.probe(single, consumed, &mut problems) {
            Ok((file, size)) => {
                pending.push(file);
                total = total.zip(size).map(|(a, b)| a.saturating_add(b));
            }
            Err(e @ CaptureError::NotACapture { .. }) if candidate.from_directory => {
                strangers.push((candidate.name.as_str(), e));
            }
            Err(e) => failures.push((candidate.name.clone(), e)),
        }
    }
    if pending.is_empty() {
        return Err(nothing(inputs, failures, strangers.len()));
    }
    // A capture of a rotated set that was written over is missing; what has another name was none.
    let captures = pending
        .iter()
        .map(|p| name::without_number(&p.summary.name));
    let captures: HashSet<String> = captures.collect();
    let lost =
        |file: &str| name::is_of_capture(file) || captures.contains(&name::without_number(file));
    strangers.sort_by_key(|(file, _)| !lost(file));
    for (file, e) in strangers {
        problems.add(e.kind(), lost(file), 1, || (e.to_string(), at(file)));
    }
    for (name, e) in failures {
        problems.damage(e.kind(), || (e.to_string(), at(&name)));
    }
    // A stable sort: files that begin together stay in the order given.
    pending.sort_by_key(|f| f.first);
    Ok(Files {
        pending,
        problems,
        total,
    })
}

/// A stream that is already open.
pub(crate) fn look_at_reader(
    name: &str,
    raw: Raw,
    consumed: &Arc<AtomicU64>,
) -> Result<Files, CaptureError> {
    let mut problems = Problems::default();
    let file = open(name, raw, true, Arc::clone(consumed))?;
    Ok(Files {
        pending: vec![hold(file, None, &mut problems)],
        problems,
        total: None,
    })
}

/// The same of one that goes on, and says so when nothing comes.
pub(crate) fn look_at_live(
    name: &str,
    raw: Raw,
    consumed: &Arc<AtomicU64>,
) -> Result<Files, CaptureError> {
    let mut problems = Problems::default();
    let mut source = read_from(name, raw, true, Arc::clone(consumed))?;
    source.beats = true;
    let file = FileReader::open(name, source)?;
    Ok(Files {
        pending: vec![hold(file, None, &mut problems)],
        problems,
        total: None,
    })
}

/// Opens a file again whose turn has come.
pub(crate) fn reopen(
    path: &Path,
    name: &str,
    consumed: &Arc<AtomicU64>,
) -> Result<FileReader, CaptureError> {
    let (raw, _) = open_raw(path, name)?;
    open(name, raw, false, Arc::clone(consumed))
}

/// Files, and the files of directories, each once.
fn expand(
    inputs: &[PathBuf],
    problems: &mut Problems,
    failures: &mut Vec<(String, CaptureError)>,
) -> Vec<Candidate> {
    let mut seen = HashSet::new();
    let mut candidates = Vec::new();
    let mut add = |path: PathBuf, from_directory, problems: &mut Problems| {
        let name = path.display().to_string();
        if seen.insert(Identity::of(&path)) {
            candidates.push(Candidate {
                path,
                name,
                from_directory,
            });
        } else {
            problems.note("same-file-twice", || {
                ("the same file is read once".to_owned(), at(&name))
            });
        }
    };
    for input in inputs {
        if is_stdin(input) || !input.is_dir() {
            add(input.clone(), false, problems);
            continue;
        }
        match list(input) {
            Ok(entries) => {
                for path in entries {
                    if path.is_dir() {
                        problems.note("directory-not-entered", || {
                            let what = "directories within a directory are not read";
                            (what.to_owned(), at(&path.display().to_string()))
                        });
                    } else {
                        add(path, true, problems);
                    }
                }
            }
            Err(error) => {
                let file = input.display().to_string();
                failures.push((file.clone(), CaptureError::Open { file, error }));
            }
        }
    }
    candidates
}

fn list(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut entries = fs::read_dir(directory)?
        .map(|entry| entry.map(|e| e.path()))
        .collect::<io::Result<Vec<_>>>()?;
    entries.sort();
    Ok(entries)
}

/// The error when nothing can be read; `others` files of directories are no captures.
fn nothing(
    inputs: &[PathBuf],
    mut failures: Vec<(String, CaptureError)>,
    others: usize,
) -> CaptureError {
    let count = failures.len() + others;
    if failures.is_empty() {
        let directory = inputs.first().map(|i| i.display().to_string());
        return CaptureError::EmptyDirectory {
            directory: directory.unwrap_or_default(),
        };
    }
    let (_, first) = failures.swap_remove(0);
    if count == 1 {
        first
    } else {
        CaptureError::NothingReadable {
            count,
            first: Box::new(first),
        }
    }
}

impl Candidate {
    /// Opens it and reads to its first packet; gives its size too.
    fn probe(
        &self,
        single: bool,
        consumed: &Arc<AtomicU64>,
        problems: &mut Problems,
    ) -> Result<(Pending, Option<u64>), CaptureError> {
        let name = &self.name;
        let (raw, size) = open_raw(&self.path, name)?;
        // What has no size cannot be opened twice.
        let once = size.is_none();
        let keep = single || once;
        let counter = if keep {
            Arc::clone(consumed)
        } else {
            Arc::default()
        };
        let file = open(name, raw, once, counter)?;
        let pending = if keep {
            hold(file, None, problems)
        } else {
            let mut seen = Problems::default();
            let pending = hold(file, Some(self.path.clone()), &mut seen);
            if let QueuedFile::Open(_) = pending.held {
                problems.merge(&seen);
            }
            pending
        };
        Ok((pending, size))
    }
}

fn open(
    name: &str,
    raw: Raw,
    live: bool,
    consumed: Arc<AtomicU64>,
) -> Result<FileReader, CaptureError> {
    FileReader::open(name, read_from(name, raw, live, consumed)?)
}

fn read_from(
    name: &str,
    raw: Raw,
    live: bool,
    consumed: Arc<AtomicU64>,
) -> Result<Source, CaptureError> {
    Source::open(raw, live, consumed).map_err(|error| CaptureError::Read {
        file: name.to_owned(),
        error,
    })
}

/// Its bytes, and how many there are if it can be opened again.
fn open_raw(path: &Path, name: &str) -> Result<(Raw, Option<u64>), CaptureError> {
    if let Some(kept) = kept::again(path) {
        let bytes = kept.bytes();
        return Ok((Box::new(kept), Some(bytes)));
    }
    if is_stdin(path) {
        return Ok((Box::new(io::stdin()), None));
    }
    let file = File::open(path).map_err(|error| CaptureError::Open {
        file: name.to_owned(),
        error,
    })?;
    let about = file.metadata().ok().filter(fs::Metadata::is_file);
    Ok((Box::new(file), about.map(|about| about.len())))
}

/// Reads to the first packet; keeps the file open unless it can be opened again.
fn hold(mut reader: FileReader, path: Option<PathBuf>, problems: &mut Problems) -> Pending {
    let summary = reader.summary();
    let mut batch = Batch::default();
    reader.fill(&mut batch, PROBE_BYTES, problems);
    Pending {
        // A file without packets waits for the end.
        first: batch.packets.first().map_or(Time::MAX, |p| p.time),
        held: match path {
            // What could not be read is told by who failed: another try might succeed, behind others' packets.
            _ if reader.has_failed() => QueuedFile::Open(Box::new((reader, batch))),
            Some(path) => QueuedFile::Path(path),
            None => QueuedFile::Open(Box::new((reader, batch))),
        },
        summary,
    }
}

/// What makes two names the same file.
#[derive(PartialEq, Eq, Hash)]
enum Identity {
    #[cfg(unix)]
    Inode(u64, u64),
    Path(PathBuf),
}

impl Identity {
    fn of(path: &Path) -> Identity {
        if is_stdin(path) {
            return Identity::Path(path.to_owned());
        }
        #[cfg(unix)]
        if let Ok(about) = fs::metadata(path) {
            use std::os::unix::fs::MetadataExt;
            return Identity::Inode(about.dev(), about.ino());
        }
        Identity::Path(fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()))
    }
}

/// Whether two names are those of one file, through links of either kind.
#[must_use]
pub fn same_file(a: &Path, b: &Path) -> bool {
    Identity::of(a) == Identity::of(b)
}

pub(crate) fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == OsStr::new("-")
}

fn at(file: &str) -> Where {
    Where {
        file: file.to_owned(),
        ..Where::default()
    }
}
