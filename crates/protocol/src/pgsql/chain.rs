//! Is this PostgreSQL, and where does a message start? Asked of a connection of unknown protocol, of
//! one that the capture joins in the middle, and behind every hole that hides where the next message
//! starts.
//!
//! A tag and a length are little to go by, so a message is only believed when its body has the shape
//! that its tag asks for, as far as it was captured, and the next one starts where it ends.

use super::message::{Header, Reader, Short};
use super::{replication, startup};
use crate::session::ConnectionInfo;
use crate::sql::begins_like_sql;
use model::Direction;

/// Columns of a table (MaxTupleAttributeNumber); a result has no more.
const COLUMNS: i16 = 1_664;

/// A window for a header that is searched for: that many messages are looked at.
const LOOKED_AT: usize = 8;

/// Messages that follow each other, from the start of some bytes on.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Chain {
    /// Messages of which all was there, and had its shape.
    whole: usize,
    /// Of which have a body that says more than its length.
    telling: usize,
    /// Whether a message follows of which the end is not there, and nothing contradicts it.
    begun: bool,
    /// Whether the last one ends where the packet ends.
    exact: bool,
    /// The tag of the last message.
    last: u8,
    /// The chain holds a row, and the description of rows or another one before it.
    rows: usize,
    /// Whether one of them is a description, of which rows have as many columns.
    describes: bool,
}

/// Follows the messages in `bytes`, of which the packet had `wire`.
pub(super) fn follow(d: Direction, bytes: &[u8], wire: u64, most: usize) -> Chain {
    let mut chain = Chain::default();
    let mut at = 0;
    let mut columns = None;
    for _ in 0..most {
        let rest = bytes.get(at..).unwrap_or_default();
        let Some(header) = Header::parse(d, rest) else {
            // A piece of a header does not contradict; something else does.
            let piece = rest.len() < Header::BYTES && !rest.is_empty();
            if !rest.is_empty() && !piece {
                return Chain::default();
            }
            break;
        };
        let body = rest.get(Header::BYTES..).unwrap_or_default();
        let length = header.bytes - Header::BYTES as u64;
        let whole = body.len() as u64 >= length;
        let body = body.get(..length as usize).unwrap_or(body);
        let mut reader = Reader(body);
        let shape = match d {
            Direction::ToServer => shape_of_request(header.tag, &mut reader),
            Direction::ToClient => shape_of_reply(header.tag, &mut reader, &mut columns),
        };
        match (shape, whole) {
            (Ok(true), true) if reader.is_empty() => chain.whole += 1,
            // All columns of a row are there, and it were to go on.
            (Ok(true), false) if d == Direction::ToClient && header.tag == b'D' => {
                return Chain::default();
            }
            (Ok(true), false) | (Err(Short), false) => chain.begun = true,
            _ => return Chain::default(),
        }
        chain.last = header.tag;
        if whole {
            chain.telling += usize::from(length > 0);
            chain.rows +=
                usize::from(d == Direction::ToClient && matches!(header.tag, b'D' | b'T'));
            chain.describes |= d == Direction::ToClient && header.tag == b'T' && length > 2;
        }
        let end = at as u64 + header.bytes;
        chain.exact = end == wire;
        if end >= bytes.len() as u64 {
            break;
        }
        at = end as usize;
    }
    chain
}

/// Printable text in any character set that servers speak to clients, or white space.
fn is_text(bytes: &[u8]) -> bool {
    bytes
        .iter()
        .all(|&b| b >= b' ' && b != 0x7f || matches!(b, b'\t' | b'\n' | b'\r' | 0x0c))
}

/// A string that is text.
fn text(r: &mut Reader<'_>) -> Result<bool, Short> {
    match r.string() {
        Ok(string) => Ok(is_text(string)),
        Err(Short) if is_text(r.0) => Err(Short),
        Err(Short) => Ok(false),
    }
}

fn values(r: &mut Reader<'_>, count: i16) -> Result<bool, Short> {
    for _ in 0..count {
        match r.int32()? {
            -1 => {}
            n if n >= 0 => {
                r.take(n as usize)?;
            }
            _ => return Ok(false),
        }
    }
    Ok(count >= 0)
}

/// A list of format codes: text or binary.
fn formats(r: &mut Reader<'_>) -> Result<bool, Short> {
    let count = r.int16()?;
    for _ in 0..count {
        if !(0..=1).contains(&r.int16()?) {
            return Ok(false);
        }
    }
    Ok(count >= 0)
}

fn shape_of_request(tag: u8, r: &mut Reader<'_>) -> Result<bool, Short> {
    Ok(match tag {
        b'Q' => !r.is_empty() && text(r)?,
        b'P' => {
            let named = text(r)? && text(r)?;
            let types = r.int16()?;
            named && types >= 0 && {
                r.take(4 * types as usize)?;
                true
            }
        }
        b'B' => {
            if !(text(r)? && text(r)? && formats(r)?) {
                return Ok(false);
            }
            let count = r.int16()?;
            values(r, count)? && formats(r)?
        }
        b'D' | b'C' => matches!(r.byte()?, b'S' | b'P') && text(r)?,
        b'E' => text(r)? && r.int32()? >= 0,
        b'F' => {
            r.int32()?;
            let known = formats(r)?;
            let count = r.int16()?;
            known && values(r, count)? && (0..=1).contains(&r.int16()?)
        }
        b'f' => text(r)?,
        b'd' | b'p' => {
            r.0 = &[];
            true
        }
        _ => true,
    })
}

fn shape_of_reply(tag: u8, r: &mut Reader<'_>, columns: &mut Option<i16>) -> Result<bool, Short> {
    Ok(match tag {
        b'D' => {
            let count = r.int16()?;
            let same = columns.is_none_or(|columns| columns == count);
            *columns = Some(count);
            same && (0..=COLUMNS).contains(&count) && values(r, count)?
        }
        b'T' => {
            let count = r.int16()?;
            *columns = Some(count);
            if !(0..=COLUMNS).contains(&count) {
                return Ok(false);
            }
            for _ in 0..count {
                if !text(r)? {
                    return Ok(false);
                }
                // Table, column, type, size and modifier of the type.
                r.take(16)?;
                if !(0..=1).contains(&r.int16()?) {
                    return Ok(false);
                }
            }
            true
        }
        b'C' => {
            let tag = r.string()?;
            *columns = None;
            tag.first().is_some_and(u8::is_ascii_uppercase) && is_text(tag)
        }
        b'Z' => matches!(r.byte()?, b'I' | b'T' | b'E'),
        b'E' | b'N' => {
            // The severity, and then other fields.
            if r.byte()? != b'S' {
                return Ok(false);
            }
            loop {
                if !text(r)? {
                    return Ok(false);
                }
                match r.byte()? {
                    0 => return Ok(true),
                    field if field.is_ascii_alphabetic() => {}
                    _ => return Ok(false),
                }
            }
        }
        b'R' => {
            let known = (0..=12).contains(&r.int32()?);
            r.0 = &[];
            known
        }
        b'S' => {
            let name = r.string()?;
            is_text(name) && !name.is_empty() && text(r)?
        }
        b'A' => {
            r.int32()?;
            text(r)? && text(r)?
        }
        b't' => {
            let count = r.int16()?;
            count >= 0 && {
                r.take(4 * count as usize)?;
                true
            }
        }
        b'G' | b'H' | b'W' => (0..=1).contains(&r.byte()?) && formats(r)?,
        b'd' | b'K' | b'V' | b'v' => {
            r.0 = &[];
            true
        }
        _ => true,
    })
}

impl Chain {
    /// Whether these are messages for certain, of a connection of which nothing else is known.
    fn is_certain(&self, d: Direction) -> bool {
        match d {
            // Statements end a packet with their NUL, or with the Sync behind them.
            Direction::ToServer => {
                self.exact
                    && match self.last {
                        b'Q' => self.telling > 0,
                        b'S' | b'H' => self.telling > 0 && self.whole > 1,
                        _ => false,
                    }
            }
            Direction::ToClient => {
                let ready = self.exact && self.last == b'Z' && self.whole > 1;
                let is_cut = self.describes && self.begun && self.last == b'D';
                ready && self.telling > 1 || self.rows > 1 && self.whole > 2 || is_cut
            }
        }
    }

    /// Whether a message starts here, in a connection that is known to speak so, at the start of a
    /// packet.
    fn is_likely(&self, d: Direction) -> bool {
        // Four bytes of length that end where the packet does are no chance, whatever was captured of what they measure.
        if self.exact && (self.whole > 0 || self.begun) || self.whole > 1 {
            return true;
        }
        // One message that is longer than what was captured: its shape must say something.
        self.begun
            && match d {
                Direction::ToServer => matches!(self.last, b'Q' | b'P' | b'B'),
                Direction::ToClient => matches!(self.last, b'D' | b'T' | b'E'),
            }
    }
}

/// Whether these bytes are the beginning of a statement that goes on: text behind a length that is longer.
fn is_long_statement(bytes: &[u8]) -> bool {
    let header = Header::parse(Direction::ToServer, bytes);
    let text = bytes.get(Header::BYTES..).unwrap_or_default();
    let goes_on = |h: Header| h.tag == b'Q' && h.bytes > bytes.len() as u64;
    header.is_some_and(goes_on) && is_text(text) && begins_like_sql(text)
}

/// Whether `bytes`, the start of a packet, are certain to be PostgreSQL going in this direction.
fn certain(d: Direction, bytes: &[u8]) -> bool {
    let tag = bytes.first().copied().unwrap_or_default();
    if d == Direction::ToServer && is_long_statement(bytes) {
        return true;
    }
    if tag == b'd' && d == Direction::ToServer {
        return replication::is_update(bytes);
    }
    let possible = match d {
        Direction::ToServer => b"QPBDEC",
        Direction::ToClient => b"TD12CE",
    };
    (possible.contains(&tag)
        || d == Direction::ToClient
            && matches!(tag, b'R' | b'S' | b'3' | b's' | b'n' | b'I' | b't'))
        && follow(d, bytes, bytes.len() as u64, 1_000).is_certain(d)
}

/// Whether a connection is opened by these bytes of its client.
fn opens(bytes: &[u8]) -> bool {
    match startup::parse(bytes) {
        Some((startup::Opening::Startup, length)) => {
            // It must say who; most clients say so first.
            let user: &[u8] = b"user\0";
            let begun = bytes
                .get(startup::BYTES..)
                .is_some_and(|b| b.starts_with(user));
            let whole = bytes.len() as u64 == length && bytes.ends_with(b"\0\0");
            begun || whole && bytes.windows(user.len()).any(|w| w == user)
        }
        Some((_, length)) => bytes.len() as u64 == length,
        None => startup::asks_for_postgresql(bytes),
    }
}

/// Whether these bytes, the start of a packet, are PostgreSQL for certain.
pub(super) fn probe(connection: &ConnectionInfo, d: Direction, bytes: &[u8]) -> bool {
    orientation(connection, d, bytes).is_some()
}

/// In which direction these bytes go: that of the packet, or, where it is not known who is the
/// client, perhaps the other.
pub(super) fn orientation(
    connection: &ConnectionInfo,
    d: Direction,
    bytes: &[u8],
) -> Option<Direction> {
    let is = |d| d == Direction::ToServer && opens(bytes) || certain(d, bytes);
    if is(d) {
        Some(d)
    } else if !connection.roles_known && is(d.reverse()) {
        Some(d.reverse())
    } else {
        None
    }
}

/// Searches `bytes`, of whose packet `wire` were on the wire, for the start of a message of a
/// connection that is known to speak so.
pub(super) fn find(d: Direction, bytes: &[u8], at_start: bool, wire: u64) -> Option<usize> {
    if at_start && follow(d, bytes, wire, LOOKED_AT).is_likely(d) {
        return Some(0);
    }
    (usize::from(at_start)..bytes.len()).find(|&at| {
        let rest = bytes.get(at..).unwrap_or_default();
        if Header::parse(d, rest).is_none() {
            return false;
        }
        let chain = follow(d, rest, wire.saturating_sub(at as u64), LOOKED_AT);
        let ends = matches!(
            (d, chain.last),
            (Direction::ToServer, b'S') | (Direction::ToClient, b'Z')
        );
        chain.whole > 2 && chain.telling > 1 || ends && chain.exact && chain.whole > 1
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use Direction::{ToClient, ToServer};

    const ANSWER: &[u8] = b"T\0\0\0\x1a\0\x01x\0\0\0\0\0\0\0\0\0\0\x17\0\x04\xff\xff\xff\xff\0\0\
        D\0\0\0\x0b\0\x01\0\0\0\x017C\0\0\0\x0dSELECT 1\0Z\0\0\0\x05I";

    #[test]
    fn a_statement_that_fills_its_packet_is_certain() {
        assert!(certain(ToServer, b"Q\0\0\0\x0eselect 1;\0"));
        // Another length, another end, control characters.
        assert!(!certain(ToServer, b"Q\0\0\0\x0fselect 1;\0"));
        assert!(!certain(ToServer, b"Q\0\0\0\x0dselect 1;\0"));
        assert!(!certain(ToServer, b"Q\0\0\0\x0eselect 1;x"));
        assert!(!certain(ToServer, b"Q\0\0\0\x0esel\x01ct 1;\0"));
        // One that goes on behind what was captured.
        assert!(certain(ToServer, b"Q\0\0\x01\x0eselect a, b from t where"));
        assert!(!certain(ToServer, b"Q\0\0\x01\x0equiet, please"));
        assert!(!certain(
            ToServer,
            b"Q\0\0\x01\x0eselect a, b\0from t where"
        ));
        // Too little is said by these.
        assert!(!certain(ToServer, b"S\0\0\0\x04"));
        assert!(!certain(ToServer, b"X\0\0\0\x04"));
        assert!(!certain(ToServer, b"Q\0\0\0\x04"));
        assert!(certain(
            ToServer,
            b"B\0\0\0\x0c\0\0\0\0\0\0\0\0E\0\0\0\x09\0\0\0\0\0S\0\0\0\x04"
        ));
    }

    #[test]
    fn an_answer_is_certain_by_its_shape() {
        assert!(certain(ToClient, ANSWER));
        assert!(certain(ToClient, b"C\0\0\0\x0aBEGIN\0Z\0\0\0\x05T"));
        assert!(!certain(ToClient, b"C\0\0\0\x0aBEGIN\0Z\0\0\0\x05t"));
        assert!(!certain(ToClient, b"Z\0\0\0\x05I"));
        assert!(!certain(ToServer, ANSWER));
        // The description of rows, and the first of them, which is cut off: it has as many columns.
        let long = [&ANSWER[..28], b"\0\0\x0b\xc2\0\x01\0\0\x0b\xb8aaaa"].concat();
        assert!(certain(ToClient, &long));
        let other = [&ANSWER[..28], b"\0\0\x0b\xc2\0\x02\0\0\x0b\xb8aaaa"].concat();
        assert!(!certain(ToClient, &other));
        assert!(!certain(ToClient, &ANSWER[..27]));
        let damaged = [&ANSWER[..28], b"\0\x02", &ANSWER[30..]].concat();
        assert!(!certain(ToClient, &damaged));
    }

    #[test]
    fn behind_a_hole_less_will_do() {
        // The end of a row, and what follows it.
        let end = &ANSWER[30..];
        let at = find(ToClient, end, true, end.len() as u64);
        assert_eq!(at, Some(9), "CommandComplete and ReadyForQuery");
        // The start of a row, of which the rest was cut off.
        assert_eq!(find(ToClient, &ANSWER[27..33], true, 4_000), Some(0));
        // An event that ends where its packet does, and not a byte before or behind that.
        let event = b"A\0\0\0\x0f\0\0\0\x01chan";
        let ends_with = |wire| find(ToClient, event, true, wire);
        assert_eq!([15, 16, 17].map(ends_with), [None, Some(0), None]);
        assert_eq!(find(ToClient, &ANSWER[28..], false, 2), None);
        assert_eq!(find(ToServer, b"S\0\0\0\x04", true, 5), Some(0));
        assert_eq!(find(ToServer, b"S\0\0\0\x04", false, 5), None);
    }

    #[test]
    fn a_startup_message_must_name_a_user() {
        assert!(opens(b"\0\0\0\x10\0\x03\0\0user\0x\0\0"));
        assert!(opens(b"\0\0\0\x14\0\x03\0\x02a\0b\0user\0x\0\0"));
        // The rest of it was cut off.
        assert!(opens(b"\0\0\0\x54\0\x03\0\0user\0postgr"));
        assert!(!opens(b"\0\0\0\x54\0\x03\0\0a\0b\0user\0postgr"));
        assert!(!opens(b"\0\0\0\x0d\0\x03\0\0a\0b\0\0"));
        assert!(opens(&[0, 0, 0, 8, 4, 210, 22, 47]));
        assert!(!opens(&[0, 0, 0, 8, 4, 210, 22, 47, 0]));
    }
}
