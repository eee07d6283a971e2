//! A file into its bytes, unpacked if it is packed: gzip (RFC 1952), xz, and the first member of a zip
//! file, told by their magic numbers.

use flate2::bufread::{DeflateDecoder, MultiGzDecoder};
use model::limits::XZ_DICTIONARY_BYTES;
use std::io::{self, BufRead, BufReader, Read};
use std::num::NonZeroUsize;
use xz4rust::{XzDecoder, XzReader};

const BUFFER_BYTES: usize = 64 << 10;

/// The bytes that the file holds.
pub(crate) fn unpacked(file: impl Read + 'static) -> io::Result<Box<dyn BufRead>> {
    let mut raw = BufReader::with_capacity(BUFFER_BYTES, Uninterrupted(file));
    // A pipe may give few bytes at first, but not fewer than a magic number in one write.
    Ok(match raw.fill_buf()? {
        [0x1f, 0x8b, ..] => buffered(MultiGzDecoder::new(raw)),
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => {
            let decoder =
                XzDecoder::in_heap_with_alloc_dict_size(BUFFER_BYTES, XZ_DICTIONARY_BYTES);
            let buffer = NonZeroUsize::new(BUFFER_BYTES).unwrap_or(NonZeroUsize::MIN);
            buffered(XzReader::new_with_buffer_size_and_decoder(
                raw, buffer, decoder,
            ))
        }
        [b'P', b'K', 3, 4, ..] => zip(raw)?,
        _ => Box::new(raw),
    })
}

/// Reads again what a signal interrupted: not all that reads through it does.
struct Uninterrupted<R>(R);

impl<R: Read> Read for Uninterrupted<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.0.read(into) {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                result => return result,
            }
        }
    }
}

fn buffered(reader: impl Read + 'static) -> Box<dyn BufRead> {
    Box::new(BufReader::with_capacity(BUFFER_BYTES, reader))
}

/// The first member of a zip file (APPNOTE.TXT 4.3.7): its local header, name and extra field, then
/// the data.
fn zip(mut raw: impl BufRead + 'static) -> io::Result<Box<dyn BufRead>> {
    let mut header = [0; 30];
    raw.read_exact(&mut header)?;
    let [_, _, _, _, _, _, flags, _, method, _, .., n0, n1, e0, e1] = header;
    let [.., s0, s1, s2, s3, _, _, _, _, _, _, _, _] = header;
    let skipped = u64::from(u16::from_le_bytes([n0, n1])) + u64::from(u16::from_le_bytes([e0, e1]));
    io::copy(&mut raw.by_ref().take(skipped), &mut io::sink())?;
    let stored = u64::from(u32::from_le_bytes([s0, s1, s2, s3]));
    match method {
        _ if flags & 1 != 0 => Err(io::Error::other("it is encrypted; unzip it first")),
        8 => Ok(buffered(DeflateDecoder::new(raw))),
        0 => Ok(Box::new(BufReader::new(raw.take(stored)))),
        _ => Err(io::Error::other(
            "its compression is not known; unzip it first",
        )),
    }
}

/// Whether the bytes are wrong, not the reading of them.
pub(crate) fn is_damage(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput | io::ErrorKind::UnexpectedEof
    )
}
