//! A file, pipe or reader into a stream of uncompressed bytes. gzip (RFC 1952, several members),
//! zstd (RFC 8878) and lz4 frames are recognized by their magic numbers and decompressed as they
//! are read; what was consumed is counted before decompression, for progress.

use serde::{Deserialize, Serialize};
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How a file is compressed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Compression {
    None,
    Gzip,
    Zstd,
    Lz4,
}

impl Compression {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Compression::None => "none",
            Compression::Gzip => "gzip",
            Compression::Zstd => "zstd",
            Compression::Lz4 => "lz4",
        }
    }

    fn of(head: &[u8]) -> Compression {
        match head {
            [0x1f, 0x8b, ..] => Compression::Gzip,
            // RFC 8878 3.1.1, and 3.1.2: parallel compressors start with a skippable frame.
            [0x28, 0xb5, 0x2f, 0xfd] | [0x50..=0x5f, 0x2a, 0x4d, 0x18] => Compression::Zstd,
            [0x04, 0x22, 0x4d, 0x18] => Compression::Lz4,
            _ => Compression::None,
        }
    }
}

/// Compressed bytes read at once.
const COMPRESSED_BYTES: usize = 128 << 10;

/// Bytes decompressed at once. A decompressor that meets damage takes what it has written in the same
/// call with it, so this is also what damage costs before its own place.
const PIECE_BYTES: usize = 32 << 10;

/// What a reader may be: anything that can move to another thread.
pub(crate) type Raw = Box<dyn Read + Send>;

/// A stream of uncompressed bytes.
pub(crate) struct Source {
    reader: Raw,
    pub(crate) compression: Compression,
    /// Bytes may come slowly: what is there is handed on without waiting for more.
    pub(crate) live: bool,
    /// That nothing came for a while is told, too: [`io::ErrorKind::TimedOut`] is no failure.
    pub(crate) beats: bool,
}

impl Source {
    /// Looks at the first bytes of `raw`, and adds the bytes read from it to `consumed`.
    pub(crate) fn open(raw: Raw, live: bool, consumed: Arc<AtomicU64>) -> io::Result<Source> {
        let mut raw = Counting {
            inner: raw,
            consumed,
        };
        let mut head = Vec::with_capacity(4);
        raw.by_ref().take(4).read_to_end(&mut head)?;
        let compression = Compression::of(&head);
        let whole = Cursor::new(head).chain(raw);
        let buffered = |whole| BufReader::with_capacity(COMPRESSED_BYTES, whole);
        let reader: Raw = match compression {
            Compression::None => Box::new(whole),
            Compression::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(buffered(whole))),
            Compression::Zstd => {
                Box::new(zstd::stream::read::Decoder::with_buffer(buffered(whole))?)
            }
            Compression::Lz4 => Box::new(Lz4Frames(lz4_flex::frame::FrameDecoder::new(buffered(
                whole,
            )))),
        };
        Ok(Source {
            reader,
            compression,
            live,
            beats: false,
        })
    }

    /// Reads some bytes; 0 is the end. A pipe whose writer died ends there.
    pub(crate) fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let most = match self.compression {
            Compression::None => into.len(),
            _ => into.len().min(PIECE_BYTES),
        };
        let into = into.get_mut(..most).unwrap_or_default();
        loop {
            match self.reader.read(into) {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) if self.live && e.kind() == io::ErrorKind::BrokenPipe => return Ok(0),
                result => return result,
            }
        }
    }
}

struct Counting {
    inner: Raw,
    consumed: Arc<AtomicU64>,
}

impl Read for Counting {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(into)?;
        self.consumed.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }
}

/// Frame after frame: the decoder reports an end after each.
struct Lz4Frames<R: Read>(lz4_flex::frame::FrameDecoder<R>);

impl<R: BufRead> Read for Lz4Frames<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            let n = self.0.read(into)?;
            if n > 0 || into.is_empty() || self.0.get_mut().fill_buf()?.is_empty() {
                return Ok(n);
            }
        }
    }
}
