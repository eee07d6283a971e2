//! The packets of one response, told one after another, into when it is over and what it says.
//!
//! ```text
//! OK    00  affected:lenenc  insert id:lenenc  status:2  warnings:2 …
//! ERR   ff  code:2  ['#' SQLSTATE:5]  text          code ffff: MariaDB's progress, not an error
//! EOF   fe  warnings:2  status:2                    5 bytes; with CLIENT_DEPRECATE_EOF an OK
//!                                                   that begins with fe stands in its place
//! query       OK | ERR | fb file name | result set, and so on while the status says "more"
//! result set  columns:lenenc  definitions  [EOF]  rows  EOF
//! prepare     00  statement:4  columns:2  parameters:2  0  warnings:2
//!             definitions of parameters [EOF], of columns [EOF]
//! ```
//!
//! Of a row only the first byte is looked at. What ends a list is told by its length, so that nothing
//! of this needs the capabilities that were agreed on, but one: whether an EOF follows definitions
//! that nothing else follows. Where the logon was not seen, the connection's result sets tell.
//!
//! Source: MySQL's internals manual, "Text Protocol" and "Prepared Statements"; MariaDB's
//! "Server response packets".

use super::command::Answer;
use super::packet::{Header, Values};

/// Bytes of a payload that say all that is looked at: two integers of nine bytes, and their like.
const HEAD: u32 = 32;

/// Status flags of the server.
mod status {
    pub(super) const MORE_RESULTS: u16 = 1 << 3;
    pub(super) const CURSOR_EXISTS: u16 = 1 << 6;
    pub(super) const LAST_ROW_SENT: u16 = 1 << 7;
    pub(super) const NO_BACKSLASH_ESCAPES: u16 = 1 << 9;
}

/// What both sides agreed on, as far as it matters here.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Agreed {
    /// CLIENT_DEPRECATE_EOF; `None`: not seen yet.
    pub no_eof: Option<bool>,
    /// CLIENT_OPTIONAL_RESULTSET_METADATA: a flag stands before the number of columns.
    pub metadata_flag: bool,
    /// A backslash is a letter in strings, by the server's last status.
    pub plain_strings: bool,
}

impl Agreed {
    fn heed(&mut self, status: Option<u16>) {
        if let Some(status) = status {
            self.plain_strings = status & status::NO_BACKSLASH_ESCAPES != 0;
        }
    }
}

/// What follows a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Next {
    /// Another packet of this response.
    Packet,
    /// Nothing.
    End,
    /// If the next packet is an EOF it is the last; else this was.
    EndOrEof,
    /// The client's turn in an authentication.
    Client,
    /// The client sends a file.
    File,
    /// It was no packet of this response.
    Wrong,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    First,
    /// So many definitions, then what comes behind them.
    Definitions(u64, Behind),
    /// Behind the definitions, where an EOF may stand.
    Rows {
        first: bool,
    },
    /// Behind the parameters of a prepared statement, with so many columns to come.
    Prepared(u64),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Behind {
    Rows,
    Columns(u64),
    End,
}

/// A response as far as it has come.
#[derive(Clone, Copy, Debug)]
pub(super) struct Response {
    answer: Answer,
    state: State,
    /// The packet before had the greatest length: this one goes on with it.
    continued: bool,
    sequence: Option<u8>,
    /// Rows of all its result sets; `None`: it had none.
    pub rows: Option<u64>,
    /// `None`: it did not say.
    pub affected: Option<u64>,
    pub error: Option<u16>,
    /// The number of the statement that was prepared.
    pub statement: Option<u32>,
    /// The cursor has no rows left.
    pub last_row_sent: bool,
    /// A password is asked for as it is.
    pub asks_plaintext: bool,
}

impl Response {
    pub(super) fn new(answer: Answer) -> Response {
        Response {
            answer,
            state: match answer {
                Answer::Rows => State::Rows { first: false },
                Answer::Columns => State::Definitions(u64::MAX, Behind::End),
                _ => State::First,
            },
            continued: false,
            sequence: None,
            rows: (answer == Answer::Rows).then_some(0),
            affected: None,
            error: None,
            statement: None,
            last_row_sent: false,
            asks_plaintext: false,
        }
    }

    /// Whether no packet of it has been told.
    pub(super) fn is_new(&self) -> bool {
        self.sequence.is_none()
    }

    /// The client has spoken in between: packets count on from there.
    pub(super) fn goes_on(&mut self) {
        self.sequence = None;
        self.state = State::First;
    }

    /// How many bytes of the payload of the next packet are to be seen, by its first, if that is known.
    pub(super) fn wants(&self, header: Header, first: Option<u8>) -> usize {
        let is_list = match self.state {
            State::Definitions(..) | State::Rows { .. } | State::Prepared(_) => true,
            State::First => false,
        };
        let one = is_list && first.is_none_or(|b| b < 0xfe);
        let wanted = if self.continued {
            0
        } else if one {
            1
        } else if self.answer == Answer::Logon {
            // The name of a plugin.
            2 * HEAD
        } else {
            HEAD
        };
        wanted.min(header.length) as usize
    }

    /// The next packet, of which `head` is what was to be seen, or as much as was captured.
    pub(super) fn packet(&mut self, header: Header, head: &[u8], agreed: &mut Agreed) -> Next {
        let follows = self
            .sequence
            .is_none_or(|s| header.sequence == s.wrapping_add(1));
        if !follows {
            return Next::Wrong;
        }
        self.sequence = Some(header.sequence);
        let continued = std::mem::replace(&mut self.continued, header.continues());
        if continued {
            return Next::Packet;
        }
        let Some(&first) = head.first() else {
            return Next::Wrong;
        };
        if first == 0xff {
            return self.error(head);
        }
        match self.state {
            State::First => self.first(header, head, agreed),
            State::Definitions(..) if self.answer == Answer::Columns => match first {
                0xfe => Next::End,
                _ => Next::Packet,
            },
            State::Definitions(left, behind) => self.definition(left, behind, agreed),
            State::Rows { first } => self.row(header, head, first, agreed),
            State::Prepared(columns) => {
                // The EOF behind the parameters, or the first column.
                let eof = first == 0xfe;
                agreed.no_eof.get_or_insert(!eof);
                match (eof, columns) {
                    (true, 0) => Next::End,
                    (true, _) => {
                        self.state = State::Definitions(columns, Behind::End);
                        Next::Packet
                    }
                    (false, _) => self.definition(columns, Behind::End, agreed),
                }
            }
        }
    }

    fn error(&mut self, head: &[u8]) -> Next {
        /// MariaDB's progress reports.
        const PROGRESS: u16 = 0xffff;
        let code = Values(head.get(1..).unwrap_or_default()).u16();
        if code == Some(PROGRESS) {
            return Next::Packet;
        }
        self.error = Some(code.unwrap_or(0));
        Next::End
    }

    fn first(&mut self, header: Header, head: &[u8], agreed: &mut Agreed) -> Next {
        let mut values = Values(head);
        let first = values.u8();
        match (self.answer, first) {
            (Answer::Packet, _) => Next::End,
            (Answer::Stream, _) => Next::End,
            (Answer::Logon, Some(0)) => {
                self.asks_plaintext = false;
                agreed.heed(values.lenenc().and_then(|_affected| ok_status(values)));
                Next::End
            }
            (Answer::Logon, Some(kind)) => self.logon(header, kind, values.0),
            (Answer::Prepared, Some(0)) => self.prepared(values, agreed),
            (Answer::Results, Some(0)) if header.length >= OK_BYTES => {
                self.affected = Some(self.affected.unwrap_or(0) + values.lenenc().unwrap_or(0));
                self.more(ok_status(values), agreed)
            }
            (Answer::Results, Some(0xfb)) if header.length > 1 => Next::File,
            (Answer::Results, _) => self.columns(header, head, agreed),
            _ => Next::Wrong,
        }
    }

    fn logon(&mut self, header: Header, kind: u8, rest: &[u8]) -> Next {
        /// caching_sha2_password: the server knows the password, and its OK follows.
        const FAST: &[u8] = &[3];
        self.asks_plaintext = false;
        match kind {
            1 if header.length == 2 && rest == FAST => Next::Packet,
            0xfe => {
                let plugin = rest.split(|&b| b == 0).next().unwrap_or_default();
                self.asks_plaintext = super::logon::is_plaintext(plugin);
                Next::Client
            }
            1 | 2 => Next::Client,
            // What MariaDB's plugins send has no mark of its own.
            _ => Next::Client,
        }
    }

    fn prepared(&mut self, mut values: Values<'_>, agreed: &Agreed) -> Next {
        let (statement, columns, parameters) = (values.u32(), values.u16(), values.u16());
        self.statement = statement;
        let (Some(columns), Some(parameters)) = (columns, parameters) else {
            return Next::Wrong;
        };
        // A filler, warnings, and whether definitions follow at all.
        let hidden = values.skip(3).is_some() && agreed.metadata_flag && values.u8() == Some(0);
        let (columns, parameters) = (u64::from(columns), u64::from(parameters));
        self.state = match (parameters, columns) {
            _ if hidden => return Next::End,
            (0, 0) => return Next::End,
            (0, columns) => State::Definitions(columns, Behind::End),
            (parameters, columns) => State::Definitions(parameters, Behind::Columns(columns)),
        };
        Next::Packet
    }

    /// The number of columns of a result set.
    fn columns(&mut self, header: Header, head: &[u8], agreed: &Agreed) -> Next {
        let mut values = Values(head);
        let mut shown = true;
        if agreed.metadata_flag {
            shown = values.u8() != Some(0);
        }
        let Some(columns) = values.lenenc() else {
            return Next::Wrong;
        };
        if !agreed.metadata_flag {
            // MariaDB has its flag behind the number.
            shown = match values.0 {
                [] | [1] => true,
                [0] => false,
                _ => return Next::Wrong,
            };
        }
        /// MySQL has no more in a result.
        const COLUMNS: u64 = 4_096;
        if !(1..=COLUMNS).contains(&columns) || header.length > 10 {
            return Next::Wrong;
        }
        self.rows.get_or_insert(0);
        self.state = match shown {
            true => State::Definitions(columns, Behind::Rows),
            false => State::Rows { first: true },
        };
        Next::Packet
    }

    fn definition(&mut self, left: u64, behind: Behind, agreed: &Agreed) -> Next {
        if left > 1 {
            self.state = State::Definitions(left - 1, behind);
            return Next::Packet;
        }
        match behind {
            Behind::Rows => self.state = State::Rows { first: true },
            Behind::Columns(columns) if columns > 0 => self.state = State::Prepared(columns),
            Behind::Columns(columns) => {
                self.state = State::Prepared(columns);
                return self.end_of_definitions(agreed);
            }
            Behind::End => {
                self.state = State::Prepared(0);
                return self.end_of_definitions(agreed);
            }
        }
        Next::Packet
    }

    fn end_of_definitions(&self, agreed: &Agreed) -> Next {
        match agreed.no_eof {
            Some(true) => Next::End,
            Some(false) => Next::Packet,
            None => Next::EndOrEof,
        }
    }

    /// A row, or what ends the rows.
    fn row(&mut self, header: Header, head: &[u8], first: bool, agreed: &mut Agreed) -> Next {
        self.state = State::Rows { first: false };
        if head.first() != Some(&0xfe) || header.continues() {
            if first {
                agreed.no_eof.get_or_insert(true);
            }
            self.rows = Some(self.rows.unwrap_or(0).saturating_add(1));
            return Next::Packet;
        }
        let mut values = Values(head.get(1..).unwrap_or_default());
        let is_eof = header.length == EOF_BYTES;
        let status = if is_eof {
            values.u16().and_then(|_warnings| values.u16())
        } else {
            values.lenenc().and_then(|_affected| ok_status(values))
        };
        if first && is_eof {
            agreed.no_eof = Some(false);
            // The rows of a cursor are fetched later.
            let opens_cursor = status.is_some_and(|s| s & status::CURSOR_EXISTS != 0);
            return match opens_cursor {
                true => self.more(status, agreed),
                false => Next::Packet,
            };
        }
        if first {
            agreed.no_eof.get_or_insert(true);
        }
        self.more(status, agreed)
    }

    /// The end of a result, with the server's status.
    fn more(&mut self, status: Option<u16>, agreed: &mut Agreed) -> Next {
        agreed.heed(status);
        // A status that was not captured is taken not to say more.
        let status = status.unwrap_or(0);
        self.last_row_sent = status & status::LAST_ROW_SENT != 0;
        if status & status::MORE_RESULTS == 0 {
            return Next::End;
        }
        self.state = State::First;
        self.answer = Answer::Results;
        Next::Packet
    }
}

/// The shortest OK: what begins like it and is shorter is a number of columns.
const OK_BYTES: u32 = 7;
const EOF_BYTES: u32 = 5;

/// The status of an OK, behind the affected rows.
fn ok_status(mut values: Values<'_>) -> Option<u16> {
    let _insert_id = values.lenenc()?;
    values.u16()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tells the packets of `bytes`, and returns what followed the last.
    fn tell(response: &mut Response, mut bytes: &[u8], agreed: &mut Agreed) -> Next {
        loop {
            let header = Header::parse(bytes).unwrap();
            let rest = &bytes[Header::BYTES..];
            let wanted = response.wants(header, rest.first().copied());
            let next = response.packet(header, &rest[..wanted], agreed);
            bytes = &rest[header.length as usize..];
            if next != Next::Packet || bytes.is_empty() {
                assert!(bytes.is_empty(), "{next:?} before {bytes:?}");
                return next;
            }
        }
    }

    fn told(answer: Answer, bytes: &[u8], mut agreed: Agreed) -> (Next, Response, Agreed) {
        let mut response = Response::new(answer);
        let next = tell(&mut response, bytes, &mut agreed);
        (next, response, agreed)
    }

    const OK: [u8; 11] = [
        7, 0, 0, 1, // header
        0, 3, 0, // three rows affected, no insert id
        2, 0, // autocommit
        0, 0, // no warnings
    ];

    #[test]
    fn ok_says_how_many_rows_were_affected() {
        let (next, response, _) = told(Answer::Results, &OK, Agreed::default());
        assert_eq!(next, Next::End);
        assert_eq!((response.affected, response.rows), (Some(3), None));
        assert_eq!(response.error, None);
    }

    #[test]
    fn an_error_has_a_code() {
        let err = b"\x09\0\0\x01\xff\x7a\x04#42S02";
        let (next, response, _) = told(Answer::Results, err, Agreed::default());
        assert_eq!((next, response.error), (Next::End, Some(1146)));
    }

    #[test]
    fn progress_is_no_error() {
        let mut report = vec![8, 0, 0, 1, 0xff, 0xff, 0xff, 1, 1, 2, 0, 0];
        report.extend([7, 0, 0, 2, 0, 3, 0, 2, 0, 0, 0]);
        let (next, response, _) = told(Answer::Results, &report, Agreed::default());
        assert_eq!((next, response.error), (Next::End, None));
        assert_eq!(response.affected, Some(3));
    }

    /// A result set of one column `1` and rows "1", NULL, "".
    const COLUMN: &[u8] =
        b"\x01\0\0\x01\x01\x17\0\0\x02\x03def\0\0\0\x011\0\x0c\x3f\0\x01\0\0\0\x08\x81\0\0\0\0";

    #[test]
    fn a_result_set_with_eofs() {
        let mut set = COLUMN.to_vec();
        set.extend(b"\x05\0\0\x03\xfe\0\0\x02\0");
        set.extend(b"\x02\0\0\x04\x011\x01\0\0\x05\xfb\x01\0\0\x06\0");
        set.extend(b"\x05\0\0\x07\xfe\0\0\x02\0");
        let (next, response, agreed) = told(Answer::Results, &set, Agreed::default());
        assert_eq!((next, response.rows), (Next::End, Some(3)));
        assert_eq!(agreed.no_eof, Some(false));
    }

    #[test]
    fn a_result_set_without_eofs() {
        let mut set = COLUMN.to_vec();
        set.extend(b"\x02\0\0\x03\x011\x01\0\0\x04\xfb\x01\0\0\x05\0");
        set.extend(b"\x07\0\0\x06\xfe\0\0\x02\0\0\0");
        let (next, response, agreed) = told(Answer::Results, &set, Agreed::default());
        assert_eq!((next, response.rows), (Next::End, Some(3)));
        assert_eq!(agreed.no_eof, Some(true));
        // No row at all.
        let mut set = COLUMN.to_vec();
        set.extend(b"\x07\0\0\x03\xfe\0\0\x02\0\0\0");
        let (next, response, agreed) = told(Answer::Results, &set, Agreed::default());
        assert_eq!((next, response.rows), (Next::End, Some(0)));
        assert_eq!(agreed.no_eof, Some(true));
    }

    #[test]
    fn more_results_follow_while_the_status_says_so() {
        let mut sets = COLUMN.to_vec();
        sets.extend(b"\x02\0\0\x03\x011");
        sets.extend(b"\x07\0\0\x04\xfe\0\0\x0a\0\0\0");
        sets.extend(b"\x07\0\0\x05\0\x02\0\x0a\0\0\0");
        sets.extend(b"\x07\0\0\x06\0\x03\0\x02\0\0\0");
        let (next, response, _) = told(Answer::Results, &sets, Agreed::default());
        assert_eq!(next, Next::End);
        assert_eq!((response.rows, response.affected), (Some(1), Some(5)));
    }

    #[test]
    fn a_cursor_has_its_rows_later() {
        let mut set = COLUMN.to_vec();
        set.extend(b"\x05\0\0\x03\xfe\0\0\x42\0");
        let (next, response, _) = told(Answer::Results, &set, Agreed::default());
        assert_eq!((next, response.rows), (Next::End, Some(0)));
        let fetched = b"\x03\0\0\x01\0\0\x07\x03\0\0\x02\0\0\x08\x05\0\0\x03\xfe\0\0\xc2\0";
        let (next, response, _) = told(Answer::Rows, fetched, Agreed::default());
        assert_eq!((next, response.rows), (Next::End, Some(2)));
        assert!(response.last_row_sent);
    }

    #[test]
    fn columns_may_be_left_out() {
        // MariaDB's flag stands behind the number, MySQL's before it.
        let mariadb = b"\x02\0\0\x01\x03\0\x02\0\0\x02\0\0\x07\0\0\x03\xfe\0\0\x02\0\0\0";
        let (next, response, _) = told(Answer::Results, mariadb, Agreed::default());
        assert_eq!((next, response.rows), (Next::End, Some(1)));
        let agreed = Agreed {
            no_eof: Some(true),
            metadata_flag: true,
            ..Agreed::default()
        };
        let mysql = b"\x02\0\0\x01\0\x03\x02\0\0\x02\0\0\x07\0\0\x03\xfe\0\0\x02\0\0\0";
        let (next, response, _) = told(Answer::Results, mysql, agreed);
        assert_eq!((next, response.rows), (Next::End, Some(1)));
    }

    #[test]
    fn a_row_may_go_on_in_further_packets() {
        let mut response = Response::new(Answer::Rows);
        let mut agreed = Agreed::default();
        let mut packet = |length, sequence, head: &[u8]| {
            response.packet(Header { length, sequence }, head, &mut agreed)
        };
        // A first value of more than 16 MB begins with the byte of an EOF.
        assert_eq!(packet(0xff_ffff, 1, &[0xfe]), Next::Packet);
        assert_eq!(packet(0xff_ffff, 2, &[]), Next::Packet);
        assert_eq!(packet(0, 3, &[]), Next::Packet);
        assert_eq!(packet(5, 4, &[0xfe, 0, 0, 2, 0]), Next::End);
        assert_eq!(response.rows, Some(1));
    }

    #[test]
    fn a_prepared_statement_has_a_number_and_definitions() {
        let prepared = b"\x0c\0\0\x01\0\x09\0\0\0\x01\0\x02\0\0\0\0";
        let definitions = b"\x04\0\0\x02\x03def\x04\0\0\x03\x03def";
        let with_eof = [
            &prepared[..],
            definitions,
            b"\x05\0\0\x04\xfe\0\0\x02\0\x04\0\0\x05\x03def\x05\0\0\x06\xfe\0\0\x02\0",
        ]
        .concat();
        let (next, response, agreed) = told(Answer::Prepared, &with_eof, Agreed::default());
        assert_eq!((next, response.statement), (Next::End, Some(9)));
        assert_eq!(agreed.no_eof, Some(false));
        let without = [&prepared[..], definitions, b"\x04\0\0\x04\x03def"].concat();
        let (next, ..) = told(Answer::Prepared, &without, Agreed::default());
        assert_eq!(next, Next::End);
        // Nothing of the first tells, where there are only columns.
        let columns = b"\x0c\0\0\x01\0\x09\0\0\0\x01\0\0\0\0\0\0\x04\0\0\x02\x03def";
        let (next, ..) = told(Answer::Prepared, columns, Agreed::default());
        assert_eq!(next, Next::EndOrEof);
        let neither = b"\x0c\0\0\x01\0\x09\0\0\0\0\0\0\0\0\0\0";
        let (next, ..) = told(Answer::Prepared, neither, Agreed::default());
        assert_eq!(next, Next::End);
    }

    #[test]
    fn authentication_takes_turns() {
        let mut response = Response::new(Answer::Logon);
        let mut agreed = Agreed::default();
        let switch = b"\x16\0\0\x02\xfemysql_clear_password\0";
        assert_eq!(tell(&mut response, switch, &mut agreed), Next::Client);
        assert!(response.asks_plaintext);
        response.goes_on();
        let more = b"\x02\0\0\x04\x01\x04";
        assert_eq!(tell(&mut response, more, &mut agreed), Next::Client);
        assert!(!response.asks_plaintext);
        response.goes_on();
        let fast = b"\x02\0\0\x06\x01\x03\x07\0\0\x07\0\0\0\x02\0\0\0";
        assert_eq!(tell(&mut response, fast, &mut agreed), Next::End);
    }

    #[test]
    fn what_cannot_be_a_response_is_wrong() {
        let wrong = |answer, bytes: &[u8]| told(answer, bytes, Agreed::default()).0 == Next::Wrong;
        // A number of columns with something behind it; none; too short for an OK.
        assert!(wrong(Answer::Results, b"\x03\0\0\x01\x01ab"));
        assert!(wrong(Answer::Results, b"\x01\0\0\x01\0"));
        assert!(wrong(Answer::Prepared, b"\x01\0\0\x01\x05"));
        // An empty packet.
        assert!(wrong(Answer::Results, b"\0\0\0\x01"));
        // A number that does not follow the one before.
        let mut response = Response::new(Answer::Rows);
        let mut agreed = Agreed::default();
        let mut packet = |sequence| {
            response.packet(
                Header {
                    length: 1,
                    sequence,
                },
                &[0],
                &mut agreed,
            )
        };
        assert_eq!(packet(0xff), Next::Packet);
        assert_eq!(packet(0), Next::Packet);
        assert_eq!(packet(2), Next::Wrong);
    }
}
