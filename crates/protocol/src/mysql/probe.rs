//! Bytes at the start of a segment into whether they are MySQL's, or a command's: by content alone.

use super::command::{self, Answer};
use super::logon::{Greeting, is_refusal};
use super::packet::Header;
use crate::sql::begins_like_sql;
use model::Direction;

/// Whether a segment is MySQL's for certain.
pub(super) fn is_mysql(d: Direction, bytes: &[u8]) -> bool {
    match d {
        Direction::ToClient => Greeting::parse(bytes).is_some() || is_refusal(bytes),
        Direction::ToServer => is_statement(bytes) && chain(bytes) != Chain::Broken,
    }
}

/// Whether these bytes begin with a command that may be believed where none is known to stand: it is
/// SQL in its place, or it ends where the segment does.
pub(super) fn is_believable(bytes: &[u8]) -> bool {
    match chain(bytes) {
        Chain::Exact => true,
        Chain::GoesOn => is_statement(bytes),
        Chain::Broken => false,
    }
}

/// Whether the command that starts here is SQL, or the execution of a prepared statement.
fn is_statement(bytes: &[u8]) -> bool {
    let Some((&code, rest)) = bytes.get(Header::BYTES..).and_then(<[u8]>::split_first) else {
        return false;
    };
    let Some(header) = Header::parse(bytes) else {
        return false;
    };
    // Of this command, not of the next.
    let rest = rest
        .get(..header.length.saturating_sub(1) as usize)
        .unwrap_or(rest);
    header.sequence == 0
        && match code {
            command::QUERY | command::STMT_PREPARE => command::query_text(rest)
                .is_some_and(|text| begins_like_sql(text) && !text.contains(&0)),
            command::STMT_EXECUTE => {
                header.bytes() <= bytes.len() as u64 && command::is_execution(rest)
            }
            _ => false,
        }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Chain {
    /// Commands, the last of which ends where the bytes do.
    Exact,
    /// Commands, the last of which goes on beyond.
    GoesOn,
    Broken,
}

/// Follows the commands that start here from one to the next.
fn chain(bytes: &[u8]) -> Chain {
    let mut rest = bytes;
    while !rest.is_empty() {
        let Some(header) = Header::parse(rest) else {
            return Chain::Broken;
        };
        let code = rest.get(Header::BYTES);
        let is_known = code.is_none_or(|&c| command::known(c).is_some());
        if header.sequence != 0 || header.length == 0 || !is_known {
            return Chain::Broken;
        }
        // Those that nobody answers, and those with fixed lengths, are told from noise by them.
        let is_sane = match code.and_then(|&c| command::known(c)) {
            Some((_, Answer::Nothing)) if code == Some(&command::QUIT) => header.length == 1,
            Some((_, Answer::Rows)) => header.length == 9,
            _ => true,
        };
        if !is_sane {
            return Chain::Broken;
        }
        match usize::try_from(header.bytes())
            .ok()
            .and_then(|n| rest.get(n..))
        {
            Some(behind) => rest = behind,
            None => return Chain::GoesOn,
        }
    }
    Chain::Exact
}

#[cfg(test)]
mod tests {
    use super::*;
    use Direction::{ToClient, ToServer};

    #[test]
    fn a_greeting_is_certain() {
        let greeting = b"\x4a\0\0\0\x0a5.5.5-10.11.6-MariaDB\0\x05\0\0\0abcdefgh\0\xfe\xf7\x2d\x02\0\xff\x81\x15\0\0\0\0\0\0\x1d\0\0\0abcdefghijkl\0mysql\0\0";
        assert!(is_mysql(ToClient, greeting));
        // Also when its end was cut off; not from the other side.
        assert!(is_mysql(ToClient, &greeting[..45]));
        assert!(!is_mysql(ToServer, greeting));
        // Not with more than it says, another number, or without a version.
        assert!(!is_mysql(ToClient, &[&greeting[..], b"x"].concat()));
        let mut other = greeting.to_vec();
        other[3] = 1;
        assert!(!is_mysql(ToClient, &other));
        let mut other = greeting.to_vec();
        other[5] = b'x';
        assert!(!is_mysql(ToClient, &other));
    }

    #[test]
    fn a_refusal_is_certain() {
        let refusal = b"\x1b\0\0\0\xff\x10\x04Too many connections....";
        assert!(is_mysql(ToClient, refusal));
        assert!(!is_mysql(ToClient, &refusal[..20]));
    }

    #[test]
    fn sql_in_its_place_is_certain() {
        assert!(is_mysql(ToServer, b"\x09\0\0\0\x03select 1"));
        assert!(is_mysql(ToServer, b"\x0b\0\0\0\x03\0\x01select 1"));
        assert!(is_mysql(ToServer, b"\x09\0\0\0\x16select ?"));
        // The rest is in the next segment, or was cut off.
        assert!(is_mysql(ToServer, b"\x40\0\0\0\x03select 1"));
        assert!(is_mysql(ToServer, b"\x0a\0\0\0\x17\x01\0\0\0\0\x01\0\0\0"));
        // Two commands in one segment.
        assert!(is_mysql(ToServer, b"\x07\0\0\0\x03commit\x01\0\0\0\x01"));
        // A length that does not fit, another number, no verb, another protocol's query.
        assert!(!is_mysql(ToServer, b"\x08\0\0\0\x03select 1"));
        assert!(!is_mysql(ToServer, b"\x09\0\0\x01\x03select 1"));
        assert!(!is_mysql(ToServer, b"\x09\0\0\0\x03sevenths"));
        assert!(!is_mysql(ToServer, b"Q\0\0\0\x0dselect 1\0"));
        // What is too short to be certain.
        assert!(!is_mysql(ToServer, b"\x01\0\0\0\x0e"));
    }
}
