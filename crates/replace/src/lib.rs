//! Bytes into a file that is replaced whole, or not at all. They go into a file without a name in the target's folder,
//! which takes the target's place once all of it is on the disk. However a run ends before (an error, a full disk, a
//! kill), there lies what lay there, and nothing beside it.
//!
//! - What is replaced keeps its permissions and, as far as the process may give it away, its owner.
//! - Of a symbolic link the link stays, and what it points to is replaced.
//! - Devices, pipes and what is open already (`/dev/stdout`) are written to as they are: nothing of theirs can be lost.
//! - Nobody's file is lost by a slip of the pen: what is there is replaced only where it begins as what is written.
//! - Without a name (Linux, most file systems) nothing is left behind by a kill. Elsewhere it is a hidden file.

mod beside;

use beside::Beside;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// Bytes by which it is told what a file is.
const HEAD_BYTES: u64 = 256;

/// Links that are followed, as many as Linux follows.
const LINKS: usize = 40;

/// What is written.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// In words, such as `report`.
    pub name: &'static str,
    /// The option that names the file.
    pub option: &'static str,
    /// Whether a file that begins with these bytes is one, and may be replaced. An empty one always may.
    pub is: fn(&[u8]) -> bool,
}

/// Why a file cannot be written: one line, with the cure.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{file} is a folder; name a file with {option}")]
    Folder { file: String, option: &'static str },
    #[error("cannot write {file}: {folder} is no folder; name another place with {option}")]
    NoFolder {
        folder: String,
        file: String,
        option: &'static str,
    },
    #[error("{file} exists and is no {kind}; name another file with {option}")]
    Other {
        file: String,
        kind: &'static str,
        option: &'static str,
    },
    #[error("cannot write {file}: {error}; name another place with {option}")]
    Io {
        file: String,
        option: &'static str,
        error: io::Error,
    },
}

impl From<Error> for io::Error {
    /// With the same words.
    fn from(error: Error) -> io::Error {
        let kind = match &error {
            Error::Io { error, .. } => error.kind(),
            _ => io::ErrorKind::Other,
        };
        io::Error::new(kind, error)
    }
}

/// Whether `file` may be written, before there is anything to write.
///
/// # Errors
/// When it may not be replaced.
pub fn check(file: &Path, kind: &Kind) -> Result<(), Error> {
    place(file, kind).map(|_| ())
}

/// A file that is being written, in place of another or of none. Dropped before [`commit`](Replacement::commit), it
/// leaves nothing.
#[derive(Debug)]
pub struct Replacement {
    /// As it was given, for messages.
    file: String,
    option: &'static str,
    to: To,
}

#[derive(Debug)]
enum To {
    /// The file that is replaced, found behind all links.
    Beside(Beside, PathBuf),
    Device(File),
}

impl Replacement {
    /// Begins to write `file`. Refuses early what would fail late: a folder that cannot be written to, a target that
    /// may not be replaced.
    ///
    /// # Errors
    /// When it cannot be written, or is something else than `kind`.
    pub fn create(file: &Path, kind: &Kind) -> Result<Replacement, Error> {
        let failed = |error| Error::Io {
            file: file.display().to_string(),
            option: kind.option,
            error,
        };
        let to = match place(file, kind)? {
            Place::Open(target) => To::Device(appended(&target).map_err(failed)?),
            Place::File(target, there) => {
                let beside = Beside::new(folder(&target), there.as_ref());
                To::Beside(beside.map_err(failed)?, target)
            }
        };
        Ok(Replacement {
            file: file.display().to_string(),
            option: kind.option,
            to,
        })
    }

    /// Begins to write a file that takes a name that nobody has, which [`commit_as`](Replacement::commit_as) says.
    ///
    /// # Errors
    /// When the folder of `file` cannot be written to.
    pub fn unnamed(file: &Path, option: &'static str) -> Result<Replacement, Error> {
        let shown = file.display().to_string();
        match Beside::new(folder(file), None) {
            Ok(beside) => Ok(Replacement {
                file: shown,
                option,
                to: To::Beside(beside, file.to_owned()),
            }),
            Err(error) => Err(Error::Io {
                file: shown,
                option,
                error,
            }),
        }
    }

    /// Where the bytes go. What it hands on late has to be flushed before the file is committed.
    ///
    /// # Errors
    /// When the process has no room for another open file.
    pub fn writer(&self) -> io::Result<Writer> {
        let file = match &self.to {
            To::Beside(beside, _) => beside.file(),
            To::Device(file) => file,
        };
        let out = file.try_clone().map_err(|error| Error::Io {
            file: self.file.clone(),
            option: self.option,
            error,
        })?;
        Ok(Writer::to(out, &self.file, self.option))
    }

    /// Writes all of it at once, and puts it into its place.
    ///
    /// # Errors
    /// When it cannot be written; then all is as it was.
    pub fn write(self, bytes: &[u8]) -> io::Result<()> {
        self.writer()?.write_all(bytes)?;
        Ok(self.commit()?)
    }

    /// Puts the file into its place.
    ///
    /// # Errors
    /// When not all of it comes to the disk, or the place cannot be taken; then all is as it was.
    pub fn commit(self) -> Result<(), Error> {
        let Replacement { file, option, to } = self;
        match to {
            To::Beside(beside, target) => beside.replace(&target),
            To::Device(_) => Ok(()),
        }
        .map_err(|error| Error::Io {
            file,
            option,
            error,
        })
    }

    /// Puts the file into the first of these places that nobody has taken, and gives it.
    ///
    /// # Errors
    /// As [`commit`](Replacement::commit), and when all are taken.
    pub fn commit_as(self, names: impl Iterator<Item = PathBuf>) -> Result<PathBuf, Error> {
        let Replacement { file, option, to } = self;
        let taken = || io::Error::from(io::ErrorKind::AlreadyExists);
        match to {
            To::Beside(beside, _) => beside.take(names).and_then(|name| name.ok_or_else(taken)),
            To::Device(_) => Err(taken()),
        }
        .map_err(|error| Error::Io {
            file,
            option,
            error,
        })
    }
}

/// Bytes into something that has a name. Its errors are whole sentences.
#[derive(Debug)]
pub struct Writer<W = File> {
    out: W,
    name: String,
    option: &'static str,
}

impl<W: Write> Writer<W> {
    /// Into what is no file, such as `to standard output`: as one says it behind *cannot write*.
    pub fn to(out: W, name: &str, option: &'static str) -> Writer<W> {
        Writer {
            out,
            name: name.to_owned(),
            option,
        }
    }

    fn said(&self, error: io::Error) -> io::Error {
        match error.kind() {
            // `write_all` goes on.
            io::ErrorKind::Interrupted => error,
            _ => io::Error::from(Error::Io {
                file: self.name.clone(),
                option: self.option,
                error,
            }),
        }
    }
}

impl<W: Write> Write for Writer<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes).map_err(|e| self.said(e))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush().map_err(|e| self.said(e))
    }
}

/// Where bytes go.
enum Place {
    /// To a device, a pipe, or what is open already.
    Open(PathBuf),
    /// Into a file, with what is there.
    File(PathBuf, Option<Metadata>),
}

fn place(file: &Path, kind: &Kind) -> Result<Place, Error> {
    let (shown, option) = (file.display().to_string(), kind.option);
    let failed = |error| Error::Io {
        file: shown.clone(),
        option,
        error,
    };
    let target = target(file).map_err(failed)?;
    let there = about(&target).map_err(failed)?;
    match &there {
        Some(about) if about.is_dir() => Err(Error::Folder {
            file: shown,
            option,
        }),
        Some(about) if !about.is_file() || is_open(&target) => Ok(Place::Open(target)),
        None if !folder(&target).is_dir() => Err(Error::NoFolder {
            folder: folder(&target).display().to_string(),
            file: shown,
            option,
        }),
        Some(_) if !may_go(&target, kind).map_err(failed)? => Err(Error::Other {
            file: shown,
            kind: kind.name,
            option,
        }),
        _ => Ok(Place::File(target, there)),
    }
}

/// The file behind all symbolic links, also where it is not there yet. Those of the kernel's own (`/dev/stdout`) lead
/// to what is open, not to a name, and are the end.
fn target(file: &Path) -> io::Result<PathBuf> {
    let mut path = file.to_owned();
    for _ in 0..LINKS {
        let is_link = path
            .symlink_metadata()
            .is_ok_and(|about| about.is_symlink());
        if !is_link || is_open(&path) {
            return Ok(path);
        }
        path = folder(&path).join(fs::read_link(&path)?);
    }
    Err(io::Error::other("too many symbolic links"))
}

/// Whether it is a link that leads to an open file.
fn is_open(path: &Path) -> bool {
    path.is_symlink()
        && folder(path)
            .canonicalize()
            .is_ok_and(|f| f.starts_with("/proc"))
}

/// What there is, if there is something.
fn about(path: &Path) -> io::Result<Option<Metadata>> {
    match fs::metadata(path) {
        Ok(about) => Ok(Some(about)),
        // A folder that is missing is named for itself.
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(e) if e.kind() == io::ErrorKind::NotADirectory => Ok(None),
        Err(e) => Err(e),
    }
}

/// Behind what is in it: of a device that is all there is, and of a file that is open what others wrote stays.
fn appended(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).open(path)
}

/// Whether a file is of its kind, or empty. One that may not be written to may not be replaced.
fn may_go(path: &Path, kind: &Kind) -> io::Result<bool> {
    appended(path)?;
    let mut head = Vec::new();
    File::open(path)?.take(HEAD_BYTES).read_to_end(&mut head)?;
    Ok(head.is_empty() || (kind.is)(&head))
}

fn folder(file: &Path) -> &Path {
    match file.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

#[cfg(all(test, unix))]
mod tests;
