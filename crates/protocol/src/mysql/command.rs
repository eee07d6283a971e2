//! A command's payload into what it asks for: the byte that names it, then what belongs to it.
//!
//! ```text
//! 01 COM_QUIT    02 COM_INIT_DB    03 COM_QUERY    16 COM_STMT_PREPARE: the text
//! 17 COM_STMT_EXECUTE    statement:4  flags:1  iterations:4 (always 1) …
//! 18 COM_STMT_SEND_LONG_DATA, 19 COM_STMT_CLOSE, 1a COM_STMT_RESET    statement:4 …
//! 1c COM_STMT_FETCH      statement:4  rows:4
//! fa COM_STMT_BULK_EXECUTE (MariaDB)    statement:4  flags:2 …
//! ```
//!
//! With CLIENT_QUERY_ATTRIBUTES a query's text stands behind its attributes: their number, the number
//! of sets (1), then, where there are any, a bitmap of NULLs, types with names, and values. A text
//! never begins like this, so that it needs no capabilities to tell.
//!
//! Sources: MySQL's internals manual, "Command Phase"; MariaDB's "Client/Server Protocol".

use super::packet::Values;
use model::{Name, sql::op};

pub(super) const QUIT: u8 = 0x01;
pub(super) const INIT_DB: u8 = 0x02;
pub(super) const QUERY: u8 = 0x03;
pub(super) const FIELD_LIST: u8 = 0x04;
pub(super) const STATISTICS: u8 = 0x09;
pub(super) const PROCESS_INFO: u8 = 0x0a;
pub(super) const CHANGE_USER: u8 = 0x11;
pub(super) const BINLOG_DUMP: u8 = 0x12;
pub(super) const TABLE_DUMP: u8 = 0x13;
pub(super) const STMT_PREPARE: u8 = 0x16;
pub(super) const STMT_EXECUTE: u8 = 0x17;
pub(super) const STMT_SEND_LONG_DATA: u8 = 0x18;
pub(super) const STMT_CLOSE: u8 = 0x19;
pub(super) const STMT_RESET: u8 = 0x1a;
pub(super) const STMT_FETCH: u8 = 0x1c;
pub(super) const BINLOG_DUMP_GTID: u8 = 0x1e;
pub(super) const RESET_CONNECTION: u8 = 0x1f;
pub(super) const STMT_BULK_EXECUTE: u8 = 0xfa;

/// The statement that was prepared last, by MariaDB's connectors before they know its number.
pub(super) const LAST_PREPARED: u32 = u32::MAX;

/// What comes back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Answer {
    /// OK, an error, or result sets.
    Results,
    /// The number of a statement, its parameters and columns.
    Prepared,
    /// Rows, without columns before them.
    Rows,
    /// Columns, without rows after them.
    Columns,
    /// One packet, whatever it says.
    Packet,
    /// Steps of authentication.
    Logon,
    /// Packets without end.
    Stream,
    Nothing,
}

/// The operation and the answer of a command; `None`: there is no such command. Those that other
/// databases have under another name have the common one, the others keep their own.
pub(super) fn known(command: u8) -> Option<(Name, Answer)> {
    let known = match command {
        QUIT => (op::LOGOFF, Answer::Nothing),
        INIT_DB => (Name::of("INIT_DB"), Answer::Packet),
        QUERY => (op::EXECUTE, Answer::Results),
        FIELD_LIST => (Name::of("FIELD_LIST"), Answer::Columns),
        0x05 => (Name::of("CREATE_DB"), Answer::Packet),
        0x06 => (Name::of("DROP_DB"), Answer::Packet),
        0x07 => (Name::of("REFRESH"), Answer::Packet),
        0x08 => (Name::of("SHUTDOWN"), Answer::Packet),
        STATISTICS => (Name::of("STATISTICS"), Answer::Packet),
        PROCESS_INFO => (Name::of("PROCESS_INFO"), Answer::Results),
        0x0c => (op::CANCEL, Answer::Packet),
        0x0d => (Name::of("DEBUG"), Answer::Packet),
        0x0e => (op::PING, Answer::Packet),
        CHANGE_USER => (op::LOGON, Answer::Logon),
        BINLOG_DUMP | BINLOG_DUMP_GTID => (Name::of("BINLOG_DUMP"), Answer::Stream),
        TABLE_DUMP => (Name::of("TABLE_DUMP"), Answer::Stream),
        0x15 => (Name::of("REGISTER_SLAVE"), Answer::Packet),
        STMT_PREPARE => (op::PREPARE, Answer::Prepared),
        STMT_EXECUTE | STMT_BULK_EXECUTE => (op::EXECUTE, Answer::Results),
        STMT_SEND_LONG_DATA => (op::LOB, Answer::Nothing),
        STMT_CLOSE => (op::CLOSE, Answer::Nothing),
        STMT_RESET => (op::CLOSE, Answer::Packet),
        0x1b => (Name::of("SET_OPTION"), Answer::Packet),
        STMT_FETCH => (op::FETCH, Answer::Rows),
        RESET_CONNECTION => (Name::of("RESET_CONNECTION"), Answer::Packet),
        _ => return None,
    };
    Some(known)
}

/// The number of the prepared statement that these commands begin with.
pub(super) fn statement_number(rest: &[u8]) -> Option<u32> {
    Values(rest).u32()
}

/// Rows that COM_STMT_FETCH asks for.
pub(super) fn rows_asked(rest: &[u8]) -> Option<u32> {
    let mut values = Values(rest);
    values.skip(4)?;
    values.u32()
}

/// Whether the rest of a COM_STMT_EXECUTE is as it must be: flags that exist, one iteration.
pub(super) fn is_execution(rest: &[u8]) -> bool {
    /// A kind of cursor, and whether the number of parameters is sent although there are none.
    const FLAGS: u8 = 0x0f;
    let mut values = Values(rest);
    let (Some(_), Some(flags), Some(iterations)) = (values.u32(), values.u8(), values.u32()) else {
        return false;
    };
    flags & !FLAGS == 0 && iterations == 1
}

/// A query's text behind its attributes; `None` where they could not be read.
pub(super) fn query_text(rest: &[u8]) -> Option<&[u8]> {
    let mut values = Values(rest);
    let (count, sets) = (values.lenenc(), values.u8());
    match (count, sets) {
        (Some(0), Some(1)) => Some(values.0),
        (Some(count), Some(1)) => behind_attributes(values, count),
        _ => Some(rest),
    }
}

fn behind_attributes(mut values: Values<'_>, count: u64) -> Option<&[u8]> {
    let count = usize::try_from(count).ok()?;
    let nulls = values.bytes(count.div_ceil(8))?;
    // Types are always sent with a query.
    if values.u8()? != 1 {
        return None;
    }
    let mut types = Vec::new();
    for _ in 0..count {
        let [kind, _unsigned] = *values.bytes(2)? else {
            return None;
        };
        values.lenenc_text()?;
        types.push(kind);
    }
    for (n, kind) in types.into_iter().enumerate() {
        let is_null = nulls.get(n / 8).is_some_and(|b| b >> (n % 8) & 1 == 1);
        if !is_null {
            skip_value(&mut values, kind)?;
        }
    }
    Some(values.0)
}

/// Lets a value of the binary protocol pass, by MySQL's number of its type.
fn skip_value(values: &mut Values<'_>, kind: u8) -> Option<()> {
    match kind {
        // NULL.
        6 => Some(()),
        // TINY; SHORT, YEAR; LONG, FLOAT, INT24; DOUBLE, LONGLONG.
        1 => values.skip(1),
        2 | 13 => values.skip(2),
        3 | 4 | 9 => values.skip(4),
        5 | 8 => values.skip(8),
        // TIMESTAMP, DATE, TIME, DATETIME: their length is one byte.
        7 | 10 | 11 | 12 => {
            let length = values.u8()?;
            values.skip(length.into())
        }
        _ => values.lenenc_text().map(|_| ()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_its_text() {
        assert_eq!(query_text(b"select 1"), Some(&b"select 1"[..]));
        // CLIENT_QUERY_ATTRIBUTES, and none of them.
        assert_eq!(query_text(b"\0\x01select 1"), Some(&b"select 1"[..]));
    }

    #[test]
    fn a_query_stands_behind_its_attributes() {
        let query = [
            3, 1,     // three attributes, one set
            0b010, // the second is NULL
            1,     // types follow
            3, 0, 1, b'n', // LONG "n"
            6, 0, 1, b'x', // NULL "x"
            0xfd, 0, 5, b't', b'r', b'a', b'c', b'e', // VAR_STRING "trace"
            7, 0, 0, 0, // 7
            2, b'a', b'b', // "ab"
            b'd', b'o',
        ];
        assert_eq!(query_text(&query), Some(&b"do"[..]));
        for end in 2..query.len() - 2 {
            assert_eq!(query_text(&query[..end]), None, "{end} bytes");
        }
    }

    #[test]
    fn statements_have_numbers() {
        let execute = [
            5, 0, 0, 0, // statement 5
            1, // a read-only cursor
            1, 0, 0, 0, // one iteration
        ];
        assert_eq!(statement_number(&execute), Some(5));
        assert!(is_execution(&execute));
        assert!(!is_execution(&[5, 0, 0, 0, 0x80, 1, 0, 0, 0]));
        assert!(!is_execution(&[5, 0, 0, 0, 1, 2, 0, 0, 0]));
        assert!(!is_execution(&execute[..8]));
        let fetch = [5, 0, 0, 0, 100, 0, 0, 0];
        assert_eq!(rows_asked(&fetch), Some(100));
        assert_eq!(rows_asked(&fetch[..7]), None);
    }

    #[test]
    fn every_command_of_the_manual_is_known() {
        let unknown: Vec<u8> = (1..=0x1f).filter(|&c| known(c).is_none()).collect();
        // Internal to the server: CONNECT, TIME, DELAYED_INSERT, CONNECT_OUT, DAEMON.
        assert_eq!(unknown, [0x0b, 0x0f, 0x10, 0x14, 0x1d]);
        assert_eq!(known(0), None);
    }
}
