//! Where packets that were kept are written: into files that were not there, numbered, and whole.

use super::ring::{Comments, Count, Snapshot};
use pseudonyms::Anonymiser;
use replace::Replacement;
use std::ffi::OsString;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

/// Further numbers are not tried.
const NUMBERS: u32 = 100_000;

/// Bytes written at once.
const PIECE_BYTES: usize = 64 << 10;

/// A file of packets.
#[derive(Clone, Debug)]
pub struct Written {
    pub path: PathBuf,
    pub packets: u64,
    /// From the first packet to the last.
    pub ns: i64,
}

/// Why packets are in no file.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Unwritten {
    #[error("no packets are kept")]
    NothingKept,
    /// What failed, in a sentence.
    #[error("{0}")]
    Failed(String),
}

/// Writes them as `NAME-1.pcapng`, or with the next number that is free.
pub(super) fn write(
    snapshot: Snapshot,
    path: &Path,
    (name, why): (&str, &str),
    comments: &Comments,
    names: Option<&Anonymiser>,
) -> io::Result<Written> {
    let file = Replacement::unnamed(path, "--write")?;
    let out = BufWriter::with_capacity(PIECE_BYTES, file.writer()?);
    let (_, count) = snapshot.write(out, name, why, comments, names)?;
    let path = file.commit_as((1..NUMBERS).map(|number| numbered(path, number)))?;
    let Count {
        packets,
        first,
        last,
    } = count;
    Ok(Written {
        path,
        packets,
        ns: first.zip(last).map_or(0, |(first, last)| last - first),
    })
}

/// `evidence.pcapng` as `evidence-3.pcapng`.
fn numbered(path: &Path, number: u32) -> PathBuf {
    let mut name = OsString::from(path.file_stem().unwrap_or_default());
    name.push(format!("-{number}"));
    if let Some(extension) = path.extension() {
        name.push(".");
        name.push(extension);
    }
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_numbered_before_their_extension() {
        let numbered = |path| numbered(Path::new(path), 2);
        assert_eq!(numbered("a/b.pcapng"), Path::new("a/b-2.pcapng"));
        assert_eq!(numbered("b"), Path::new("b-2"));
        assert_eq!(numbered("b.c.pcap"), Path::new("b.c-2.pcap"));
    }
}
