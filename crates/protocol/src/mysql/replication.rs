//! Packets of the binary log, and how a replica confirms them where that was agreed on (semi-synchronous replication).
//!
//! ```text
//! event         00  [ef  confirm it:1]  time:4  type:1  server:4  length:4  where the next is:4  flags:2  …
//! rotation      … of type 4 …  position:8  name of the log's next file …
//! confirmation  ef  position:8  name of the file
//! ```
//!
//! Little-endian. What stands in brackets is there where the replica asked for it; the event's length says whether it is. Logs are
//! numbered in their names (`bin.000001`), and a position is one in a file: both together grow.
//!
//! Source: MySQL's internals manual, "Binlog Event header" and "Semi-Synchronous Replication"; MariaDB's knowledge base, "Replication
//! protocol" and "Semi-sync replication".

use super::packet::Header;
use crate::copied::Copied;

const MAGIC: u8 = 0xef;
const ROTATE: u8 = 4;
/// Of an event, before what is its own.
const HEAD_BYTES: usize = 19;
/// Of a packet, to be told to hold an event; of a rotation, so that the file's name is in it.
pub(super) const WANTED: usize = Header::BYTES + 3 + HEAD_BYTES;
pub(super) const WANTED_OF_NAME: usize = WANTED + 8 + 256;

/// An event that the replica may have to confirm.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Event {
    pub is_to_be_confirmed: bool,
    /// Where in its file it ends.
    pub end: u32,
    pub is_rotation: bool,
    /// The number of the file that comes next, as far as it was shown.
    pub file: Option<u32>,
}

/// A packet's payload, if it is an event of a stream that is confirmed.
pub(super) fn event(header: Header, payload: &[u8]) -> Option<Event> {
    let [0, MAGIC, wanted @ (0 | 1), event @ ..] = payload else {
        return None;
    };
    let length = number(event, 9)?;
    let kind = *event.get(4)?;
    let is_whole = u64::from(length) + 3 == u64::from(header.length);
    let name = event.get(HEAD_BYTES + 8..).unwrap_or_default();
    is_whole.then_some(Event {
        is_to_be_confirmed: *wanted == 1,
        end: number(event, 13)?,
        is_rotation: kind == ROTATE,
        file: (kind == ROTATE).then(|| file(name)).flatten(),
    })
}

/// A replica's packet, if it says how far it is.
pub(super) fn confirmed(payload: &[u8]) -> Option<Copied> {
    let [MAGIC, rest @ ..] = payload else {
        return None;
    };
    let (position, name) = rest.split_first_chunk()?;
    let position = u32::try_from(u64::from_le_bytes(*position)).ok()?;
    Some(Copied::Confirmed(place(file(name)?, position)))
}

/// Where in all files of the log.
pub(super) fn place(file: u32, position: u32) -> u64 {
    u64::from(file) << 32 | u64::from(position)
}

/// What a file's name ends in: a dot, of which there may be others before it, and six digits, behind which a checksum may stand.
fn file(name: &[u8]) -> Option<u32> {
    let mut all = name.windows(1 + 6).filter_map(|w| w.strip_prefix(b"."));
    let digits = all.find(|d| d.iter().all(u8::is_ascii_digit))?;
    std::str::from_utf8(digits).ok()?.parse().ok()
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..)?.first_chunk()?;
    Some(u32::from_le_bytes(*bytes))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// MariaDB 10.11 names the file it begins with, and sends an event that is to be confirmed; the replica confirms it.
    pub(in crate::mysql) const ROTATION: &[u8] =
        b"\x2c\0\0\x01\0\xef\0\0\0\0\0\x04\x01\0\0\0\x29\0\0\0\0\0\0\0\x20\0\
        \x04\0\0\0\0\0\0\0bin.000001\x73\x8f\x82\xa5";
    pub(in crate::mysql) const EVENT: &[u8] =
        b"\x1b\0\0\x02\0\xef\x01\x7c\xbf\x0a\x6b\x10\x01\0\0\0\x18\0\0\0\xdb\x06\0\0\0\0XID.\0";
    pub(in crate::mysql) const CONFIRMED: &[u8] = b"\x13\0\0\0\xef\xdb\x06\0\0\0\0\0\0bin.000001";

    fn parsed(packet: &[u8]) -> (Header, &[u8]) {
        (Header::parse(packet).unwrap(), &packet[Header::BYTES..])
    }

    #[test]
    fn events_and_confirmations_say_where_they_are() {
        let (header, payload) = parsed(ROTATION);
        let rotation = event(header, payload).unwrap();
        assert_eq!((rotation.is_rotation, rotation.file), (true, Some(1)));
        let (header, payload) = parsed(EVENT);
        assert_eq!(
            event(header, payload),
            Some(Event {
                is_to_be_confirmed: true,
                end: 0x6db,
                is_rotation: false,
                file: None
            })
        );
        let (_, payload) = parsed(CONFIRMED);
        assert_eq!(confirmed(payload), Some(Copied::Confirmed(place(1, 0x6db))));
        assert!(place(1, u32::MAX) < place(2, 4));
        assert_eq!(file(b"db.example.com-bin.000017.\x31\x82"), Some(17));
        assert_eq!(file(b"bin.17"), None);
    }

    #[test]
    fn what_is_not_confirmed_is_no_such_event() {
        // The same without what was agreed on, a length that is another's, and a row of a table.
        let (header, payload) = parsed(EVENT);
        let bare = [&[0], &payload[3..]].concat();
        assert_eq!(event(header, &bare), None);
        let longer = Header {
            length: header.length + 1,
            ..header
        };
        assert_eq!(event(longer, payload), None);
        for cut in 0..payload.len().min(3 + HEAD_BYTES - 2) {
            assert_eq!(event(header, &payload[..cut]), None);
        }
        assert_eq!(confirmed(b"\xef\x04\0\0\0\0\0\0\0bin"), None);
    }
}
