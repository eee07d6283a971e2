//! What can be read only once, standard input or a named pipe, into a file that can be read as often
//! as is needed, for the rest of the process. The file has no name, so that nothing stays behind
//! however the process ends.
//!
//! There is one standard input for a process, and so there is one list of what is kept.

use crate::CaptureError;
use crate::inputs::is_stdin;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes copied at once.
const PIECE_BYTES: usize = 1 << 20;

static KEPT: Mutex<Vec<(PathBuf, Arc<Kept>)>> = Mutex::new(Vec::new());

#[derive(Debug)]
struct Kept {
    file: File,
    /// Where the input begins in it, and how long it is.
    start: u64,
    bytes: u64,
}

/// Whether an input is read only once and has not been kept.
#[must_use]
pub fn is_read_once(input: &Path) -> bool {
    let lasting = |about: fs::Metadata| about.is_file() || about.is_dir();
    // What is not there has its error when it is read.
    again(input).is_none()
        && (is_stdin(input) || fs::metadata(input).is_ok_and(|about| !lasting(about)))
}

/// Reads an input to its end and keeps it, so that it can be read again. `progress` is told how many
/// bytes have been copied.
///
/// # Errors
/// When it cannot be read, or there is no room for it.
pub fn keep(input: &Path, progress: &mut dyn FnMut(u64)) -> Result<(), CaptureError> {
    let file = input.display().to_string();
    let kept = if is_stdin(input) {
        match seekable_stdin() {
            Some(kept) => kept,
            None => copy(&mut io::stdin().lock(), file, progress)?,
        }
    } else {
        match File::open(input) {
            Ok(mut open) => copy(&mut open, file, progress)?,
            Err(error) => return Err(CaptureError::Open { file, error }),
        }
    };
    let mut all = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    all.push((input.to_owned(), Arc::new(kept)));
    Ok(())
}

fn copy(
    from: &mut dyn Read,
    name: String,
    progress: &mut dyn FnMut(u64),
) -> Result<Kept, CaptureError> {
    copy_to(unlinked_file(), from, name, progress)
}

fn copy_to(
    file: io::Result<File>,
    from: &mut dyn Read,
    name: String,
    progress: &mut dyn FnMut(u64),
) -> Result<Kept, CaptureError> {
    let no_room = |error| CaptureError::Keep {
        file: name.clone(),
        folder: std::env::temp_dir().display().to_string(),
        error,
    };
    let mut file = file.map_err(no_room)?;
    let mut piece = vec![0; PIECE_BYTES];
    let mut bytes = 0;
    loop {
        let read = match from.read(&mut piece) {
            Ok(0) => break,
            Ok(read) => read,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(CaptureError::Read { file: name, error }),
        };
        let piece = piece.get(..read).unwrap_or_default();
        file.write_all(piece).map_err(no_room)?;
        bytes += read as u64;
        progress(bytes);
    }
    Ok(Kept {
        file,
        start: 0,
        bytes,
    })
}

/// Standard input, where it is a file that somebody redirected.
#[cfg(unix)]
fn seekable_stdin() -> Option<Kept> {
    use std::io::Seek;
    use std::os::fd::AsFd;
    let mut file = File::from(io::stdin().as_fd().try_clone_to_owned().ok()?);
    let length = file.metadata().ok().filter(fs::Metadata::is_file)?.len();
    let start = file.stream_position().ok()?;
    Some(Kept {
        file,
        start,
        bytes: length.saturating_sub(start),
    })
}

#[cfg(not(unix))]
fn seekable_stdin() -> Option<Kept> {
    None
}

/// An input that is kept, from its beginning.
pub(crate) struct Again {
    kept: Arc<Kept>,
    at: u64,
}

impl Again {
    /// Its length.
    pub(crate) fn bytes(&self) -> u64 {
        self.kept.bytes
    }
}

impl Read for Again {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let Kept { file, start, bytes } = &*self.kept;
        let left = bytes.saturating_sub(self.at);
        let most = usize::try_from(left).map_or(into.len(), |left| left.min(into.len()));
        let read = read_at(
            file,
            into.get_mut(..most).unwrap_or_default(),
            start + self.at,
        )?;
        self.at += read as u64;
        Ok(read)
    }
}

#[cfg(unix)]
fn read_at(file: &File, into: &mut [u8], at: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, into, at)
}

#[cfg(windows)]
fn read_at(file: &File, into: &mut [u8], at: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, into, at)
}

pub(crate) fn again(input: &Path) -> Option<Again> {
    let all = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let (_, kept) = all.iter().find(|(path, _)| path == input)?;
    Some(Again {
        kept: Arc::clone(kept),
        at: 0,
    })
}

/// A new file without a name in the folder for temporary files, readable by its owner alone: it tells
/// what a capture holds.
///
/// # Errors
/// When there is no such folder, or it cannot be written to.
pub fn unlinked_file() -> io::Result<File> {
    tempfile::tempfile()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_read_from_its_beginning_each_time() {
        let bytes: Vec<u8> = (0..3 * PIECE_BYTES + 7).map(|i| (i / 5) as u8).collect();
        let mut told = 0;
        let kept = copy(&mut &bytes[..], "-".into(), &mut |n| told = n).expect("room");
        assert_eq!((told, kept.bytes), (bytes.len() as u64, bytes.len() as u64));
        let kept = Arc::new(kept);
        for _ in 0..2 {
            let kept = Arc::clone(&kept);
            let mut read = Vec::new();
            Again { kept, at: 0 }
                .read_to_end(&mut read)
                .expect("a file");
            assert!(read == bytes);
        }
    }

    #[test]
    fn a_full_disk_is_told_with_the_cure() {
        let full = fs::OpenOptions::new().write(true).open("/dev/full");
        let error = copy_to(full, &mut &[1; 100][..], "-".into(), &mut |_| ());
        let error = error.expect_err("no room").to_string();
        assert!(
            error.contains("cannot keep -") && error.contains("set TMPDIR"),
            "{error}"
        );
    }
}
