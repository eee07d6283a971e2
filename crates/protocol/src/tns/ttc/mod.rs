//! TTC, what a session says inside DATA packets: a request or a response is a chain of messages
//! without lengths, each a type and fields in the representation that the two ends agreed on:
//!
//! - *universal* (U): a count of bytes before each number, pointers of one byte. All thin drivers.
//! - native, fixed little-endian numbers: pointers of one byte (NM: 32-bit and 64-bit mixed), four
//!   (N32) or eight; with eight, structures packed (NP8) or as they stand in memory (NS64).
//!
//! A message that cannot be read hides all behind it in its half, so nothing is read that need not
//! be: of a request its function, its cursor and its text; of a response the error block, which ends
//! it and is found from the end.
//!
//! - [`reader`] reads numbers and texts; [`scan`] looks for SQL where structure fails.
//! - [`request`] finds the function behind the piggybacks, [`execute`] reads the bundled call of
//!   parsing, executing and fetching (OALL8), [`logon`] what a logon says of both sides.
//! - [`big_endian`] tells clients whose numbers are the other way round, which are not read.
//! - [`error`] finds and reads the error block, [`rows`] the header of the rows.

mod big_endian;
mod error;
mod execute;
mod logon;
mod reader;
mod request;
mod rows;
mod scan;

pub(super) use big_endian::says as says_big_endian;
pub(super) use error::{Block, find as find_block, is_over, text_error};
pub(super) use logon::{find as find_logon, server_version};
pub(super) use reader::Reader;
pub(super) use request::{Request, is_one_way, is_start, sequence};
pub(super) use rows::{Header as RowHeader, repeats_columns};

use model::{Name, sql::op};

/// Types of messages.
pub(super) mod message {
    pub(in crate::tns) const PROTOCOL: u8 = 0x01;
    pub(in crate::tns) const DATA_TYPES: u8 = 0x02;
    pub(in crate::tns) const FUNCTION: u8 = 0x03;
    pub(in crate::tns) const ERROR: u8 = 0x04;
    pub(in crate::tns) const ROW_HEADER: u8 = 0x06;
    pub(in crate::tns) const ROW: u8 = 0x07;
    pub(in crate::tns) const STATUS: u8 = 0x09;
    pub(in crate::tns) const PIGGYBACK: u8 = 0x11;
    /// Asks the client for room for what a statement gives out; the client answers with the same.
    pub(in crate::tns) const FLUSH_OUT_BINDS: u8 = 0x13;
    pub(in crate::tns) const BIT_VECTOR: u8 = 0x15;
    pub(in crate::tns) const ONE_WAY: u8 = 0x1a;
    pub(in crate::tns) const END_OF_RESPONSE: u8 = 0x1d;
    pub(in crate::tns) const FAST_AUTHENTICATION: u8 = 0x22;
}

/// Numbers of functions.
pub(super) mod function {
    pub(in crate::tns) const PARSE: u8 = 0x03;
    pub(in crate::tns) const EXECUTE: u8 = 0x04;
    pub(in crate::tns) const FETCH: u8 = 0x05;
    pub(in crate::tns) const CLOSE: u8 = 0x08;
    pub(in crate::tns) const LOGOFF: u8 = 0x09;
    pub(in crate::tns) const COMMIT: u8 = 0x0e;
    pub(in crate::tns) const ROLLBACK: u8 = 0x0f;
    pub(in crate::tns) const OALL: u8 = 0x3e;
    pub(in crate::tns) const OALL7: u8 = 0x47;
    pub(in crate::tns) const FETCH7: u8 = 0x48;
    pub(in crate::tns) const OSQL7: u8 = 0x4a;
    pub(in crate::tns) const EXECUTE_FETCH: u8 = 0x4e;
    pub(in crate::tns) const AUTHENTICATE: u8 = 0x76;
    pub(in crate::tns) const LOGON: [u8; 5] = [0x51, 0x52, 0x54, 0x73, 0x76];
    pub(in crate::tns) const OALL8: u8 = 0x5e;
    pub(in crate::tns) const LOB: u8 = 0x60;
    pub(in crate::tns) const CLOSE_CURSORS: u8 = 0x69;
    pub(in crate::tns) const SESSION_SWITCH: u8 = 0x6b;
    pub(in crate::tns) const CANCEL_CURSORS: u8 = 0x78;
    pub(in crate::tns) const PING: u8 = 0x93;
    pub(in crate::tns) const SESSION_RELEASE: u8 = 0xa3;

    /// Those that sources name, in requests and piggybacks.
    pub(in crate::tns) fn is_known(function: u8) -> bool {
        matches!(
            function,
            0x02..=0x05
                | 0x08 | 0x09 | 0x0c..=0x0f
                | 0x14 | 0x2b | 0x3b | 0x3e
                | 0x47 | 0x48 | 0x4a | 0x4e
                | 0x51 | 0x52 | 0x54
                | 0x5e | 0x60 | 0x62 | 0x67..=0x69 | 0x6b
                | 0x73 | 0x76..=0x7a
                | 0x80..=0x82 | 0x87 | 0x93 | 0x98 | 0x9a
                | 0xa2 | 0xa3 | 0xb0 | 0xbb | 0xc7 | 0xc8 | 0xcc | 0xcd
        )
    }
}

/// The operation of a function whose name alone says it.
fn op_of(function: u8) -> Name {
    match function {
        function::EXECUTE | function::EXECUTE_FETCH => op::EXECUTE,
        function::FETCH | function::FETCH7 => op::FETCH,
        function::PARSE => op::PREPARE,
        function::CLOSE => op::CLOSE,
        function::LOGOFF => op::LOGOFF,
        function::COMMIT => op::COMMIT,
        function::ROLLBACK => op::ROLLBACK,
        function::LOB => op::LOB,
        function::PING => op::PING,
        f if function::LOGON.contains(&f) => op::LOGON,
        _ => op::OTHER,
    }
}
