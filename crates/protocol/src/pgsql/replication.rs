//! Messages of streaming replication (section 55.4) into what a standby has not confirmed yet.
//!
//! ```text
//! XLogData               d length:4  w start:8  end of the server's log:8  clock:8  log …
//! standby status update  d 00000026  r written:8  flushed:8  applied:8  clock:8  reply wanted:1
//! ```
//!
//! Positions are bytes of the write-ahead log, big-endian. A commit that is to be on two hosts (synchronous_standby_names)
//! waits, as a rule, until its end is flushed there. An ordinary copy may have lines that begin with the same letters, so
//! nothing is followed until the server has said that both sides stream, or a standby has told how far it is.

use super::message::Header;
use crate::copied::Copied;
use model::Direction;

/// Of the longest message that is read.
pub(super) const UPDATE_BYTES: u64 = 1 + 4 + 1 + 3 * 8 + 8 + 1;
/// In front of the log.
const SHIPPED_BYTES: u64 = 1 + 3 * 8;
/// How much of a message is to be seen to read it.
pub(super) fn wanted(header: Header) -> usize {
    header.bytes.min(UPDATE_BYTES) as usize
}

/// A server's message, if it has a part of the log.
pub(super) fn shipped(header: Header, body: &[u8]) -> Option<Copied> {
    let [b'w', rest @ ..] = body else {
        return None;
    };
    let log_bytes = (header.bytes - Header::BYTES as u64).checked_sub(SHIPPED_BYTES)?;
    Some(Copied::Shipped(position(rest)?.wrapping_add(log_bytes)))
}

/// A standby's message, if it tells how far it is.
pub(super) fn flushed(header: Header, body: &[u8]) -> Option<Copied> {
    let [b'r', written @ ..] = body else {
        return None;
    };
    let is_update = header.bytes == UPDATE_BYTES;
    let flushed = position(written.get(8..)?)?;
    is_update.then_some(Copied::Confirmed(flushed))
}

/// Whether these bytes, a whole packet, are a standby's message for certain: what is flushed was written before.
pub(super) fn is_update(bytes: &[u8]) -> bool {
    let header = Header::parse(Direction::ToServer, bytes);
    let body = bytes.get(Header::BYTES..).unwrap_or_default();
    let Some(Copied::Confirmed(flushed)) = header.and_then(|h| flushed(h, body)) else {
        return false;
    };
    let written = body.get(1..).and_then(position);
    bytes.len() as u64 == UPDATE_BYTES
        && written >= Some(flushed)
        && matches!(bytes.last(), Some(0 | 1))
}

/// Whether a part of the log begins with these bytes of a server that ships it.
pub(super) fn ships(bytes: &[u8]) -> bool {
    let header = Header::parse(Direction::ToClient, bytes);
    let body = bytes.get(Header::BYTES..).unwrap_or_default();
    header.is_some_and(|h| h.tag == b'd' && shipped(h, body).is_some())
}

fn position(bytes: &[u8]) -> Option<u64> {
    bytes.first_chunk().map(|b| u64::from_be_bytes(*b))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 4 bytes of the log from 0x1000 on, as a walsender sends them.
    const LOG: &[u8] = b"d\0\0\0\x21w\0\0\0\0\0\0\x10\0\0\0\0\0\0\0\x20\0\0\0\0\0\0\0\0\x01WAL!";
    /// Written up to 0x2000, flushed to 0x1004, applied nothing.
    const UPDATE: &[u8] =
        b"d\0\0\0\x26r\0\0\0\0\0\0\x20\0\0\0\0\0\0\0\x10\x04\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01\0";

    fn body(d: Direction, bytes: &[u8]) -> (Header, &[u8]) {
        (Header::parse(d, bytes).unwrap(), &bytes[Header::BYTES..])
    }

    #[test]
    fn positions_are_where_the_log_of_a_message_ends_and_what_is_flushed() {
        let (header, log) = body(Direction::ToClient, LOG);
        assert_eq!(header.bytes, LOG.len() as u64);
        assert_eq!(shipped(header, log), Some(Copied::Shipped(0x1004)));
        assert_eq!(shipped(header, &log[..8]), None);
        let (header, update) = body(Direction::ToServer, UPDATE);
        assert_eq!(header.bytes, UPDATE_BYTES);
        assert_eq!(flushed(header, update), Some(Copied::Confirmed(0x1004)));
        assert_eq!(flushed(header, &update[..16]), None);
        // A line of an ordinary copy, and a keepalive.
        assert_eq!(flushed(header, log), None);
        assert_eq!(shipped(header, b"k\0\0\0\0\0\0\x10\0"), None);
        assert!(is_update(UPDATE) && !is_update(&UPDATE[..38]) && !is_update(LOG));
        assert!(ships(LOG) && ships(&LOG[..24]) && !ships(UPDATE));
        let ahead = [&UPDATE[..6], &[0; 8], &UPDATE[14..]].concat();
        assert!(!is_update(&ahead), "flushed beyond what was written");
        let line = Header {
            tag: b'd',
            bytes: 60,
        };
        assert_eq!(flushed(line, update), None);
    }
}
