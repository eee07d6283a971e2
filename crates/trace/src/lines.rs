//! A file into lines of text: unpacked, bounded in length,
//! with the bytes of an unfinished or damaged end counted. The beginning is kept so that the format
//! can be told before reading on, which works for pipes too.

use crate::Error;
use crate::unpack::{is_damage, unpacked};
use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::{Path, PathBuf};

/// A longer line is none of a latency log.
const LINE_BYTES: usize = 65_536;

/// Bytes looked at to tell the format.
const HEAD_BYTES: u64 = 16_384;

/// Where a line stands, for messages.
#[derive(Clone, Copy)]
pub(crate) struct At<'a> {
    pub(crate) file: &'a str,
    pub(crate) line: u64,
}

/// Who counts lines that cannot be read.
pub(crate) trait Skips {
    fn skip(&mut self, at: At<'_>, reason: impl fmt::Display);
}

/// The lines of one file.
pub(crate) struct Lines {
    name: String,
    head: Vec<u8>,
    rest: Box<dyn BufRead>,
    /// Where it can be read again.
    path: Option<PathBuf>,
}

impl Lines {
    pub(crate) fn open(path: &Path) -> Result<Lines, Error> {
        let name = path.display().to_string();
        match File::open(path) {
            Ok(file) => {
                let plain = file.metadata().is_ok_and(|m| m.is_file());
                let mut lines = Lines::new(name, file)?;
                lines.path = plain.then(|| path.to_owned());
                Ok(lines)
            }
            Err(error) => Err(Error::Open { file: name, error }),
        }
    }

    pub(crate) fn new(name: String, file: impl Read + 'static) -> Result<Lines, Error> {
        let mut head = Vec::new();
        let result = unpacked(file).and_then(|mut rest| {
            rest.by_ref().take(HEAD_BYTES).read_to_end(&mut head)?;
            Ok(rest)
        });
        match result {
            Ok(rest) => Ok(Lines {
                name,
                head,
                rest,
                path: None,
            }),
            // What was decompressed before the damage is still worth reading; the damage itself
            // comes up again behind it.
            Err(error) if is_damage(&error) && !head.is_empty() => Ok(Lines {
                name,
                head,
                rest: Box::new(BufReader::new(Damaged(error.kind()))),
                path: None,
            }),
            Err(error) => Err(Error::Read { file: name, error }),
        }
    }

    pub(crate) fn name(&self) -> String {
        self.name.clone()
    }

    /// Where it can be read again, if it is no pipe.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Its bytes, unpacked.
    pub(crate) fn into_reader(self) -> impl Read + 'static {
        Cursor::new(self.head).chain(self.rest)
    }

    pub(crate) fn head(&self) -> &[u8] {
        &self.head
    }

    /// Hands every line that is not blank to `take`, without its line end.
    pub(crate) fn each<C: Skips>(
        self,
        into: &mut C,
        mut take: impl FnMut(&mut C, At<'_>, &str) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let Lines {
            name, head, rest, ..
        } = self;
        let mut reader = Cursor::new(head).chain(rest);
        let mut buffer = Vec::new();
        let mut at = At {
            file: &name,
            line: 0,
        };
        loop {
            buffer.clear();
            at.line += 1;
            let read = reader
                .by_ref()
                .take(LINE_BYTES as u64)
                .read_until(b'\n', &mut buffer)
                .and_then(|bytes| {
                    let cut = bytes == LINE_BYTES && !buffer.ends_with(b"\n");
                    let rest = if cut { reader.skip_until(b'\n')? } else { 0 };
                    Ok((bytes, rest > 0))
                });
            match read {
                Ok((0, _)) => return Ok(()),
                Ok((_, true)) => into.skip(at, format_args!("longer than {LINE_BYTES} bytes")),
                Ok((_, false)) => {
                    let text = String::from_utf8_lossy(&buffer);
                    let text = text.trim_end_matches(['\n', '\r']);
                    if !text.trim().is_empty() {
                        take(into, at, text)?;
                    }
                }
                Err(error) if is_damage(&error) => {
                    into.skip(
                        at,
                        format_args!("the compressed file is damaged here: {error}"),
                    );
                    return Ok(());
                }
                Err(error) => {
                    let file = name.clone();
                    return Err(Error::Read { file, error });
                }
            }
        }
    }
}

/// Repeats a damage that was met while the head was read.
struct Damaged(io::ErrorKind);

impl Read for Damaged {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(self.0.into())
    }
}
