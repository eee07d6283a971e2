//! What a client sends before anything else, without a tag (section 55.7: StartupMessage, SSLRequest,
//! GSSENCRequest, CancelRequest), and what it sends instead: a TLS ClientHello.
//!
//! ```text
//! length:4  itself included
//! code:4    the protocol's version, or what is asked for
//! body      of a StartupMessage: name, value, name, value, … and an empty name
//! ```

use super::message::Reader;
use model::SqlSession;
use std::sync::Arc;

const SSL_REQUEST: u32 = 80_877_103;
const GSSENC_REQUEST: u32 = 80_877_104;
const CANCEL_REQUEST: u32 = 80_877_102;

/// Protocol 3.0 to 3.9999: PostgreSQL 7.4 and younger.
const MAJOR: u32 = 3;

/// Longest StartupMessage that a server takes (MAX_STARTUP_PACKET_LENGTH).
const LONGEST: u32 = 10_000;

/// A cancel key has up to 256 bytes since protocol 3.2.
const LONGEST_CANCEL: u32 = 12 + 256;

/// What opens a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Opening {
    Startup,
    Ssl,
    Gss,
    Cancel,
}

/// Its kind and length in bytes.
pub(super) fn parse(bytes: &[u8]) -> Option<(Opening, u64)> {
    let (&length, rest) = bytes.split_first_chunk()?;
    let (&code, body) = rest.split_first_chunk()?;
    let (length, code) = (u32::from_be_bytes(length), u32::from_be_bytes(code));
    let opening = match (code, length) {
        (SSL_REQUEST, 8) => Opening::Ssl,
        (GSSENC_REQUEST, 8) => Opening::Gss,
        (CANCEL_REQUEST, 16..=LONGEST_CANCEL) => Opening::Cancel,
        (_, 9..=LONGEST) if code >> 16 == MAJOR && is_name(body) => Opening::Startup,
        _ => return None,
    };
    Some((opening, u64::from(length)))
}

/// How many bytes of it to look at.
pub(super) const BYTES: usize = 8;

/// Whether a parameter's name begins a body, as far as it was captured; one without any is of no use,
/// as the user must be named.
fn is_name(body: &[u8]) -> bool {
    let name = Reader(body).string_or_rest();
    let letters = name
        .iter()
        .all(|&b| b.is_ascii_lowercase() || matches!(b, b'_' | b'.' | b'-') || b.is_ascii_digit());
    letters && (!name.is_empty() || body.is_empty())
}

/// Whose session it will be, from the body of a StartupMessage.
pub(super) fn session(body: &[u8]) -> SqlSession {
    let mut session = SqlSession::default();
    let mut reader = Reader(body);
    while let (Ok(name), Ok(value)) = (reader.string(), reader.string()) {
        let text = || Some(Arc::from(String::from_utf8_lossy(value).as_ref()));
        match name {
            b"user" => session.user = text(),
            b"database" => session.database = text(),
            b"application_name" => session.program = text(),
            b"" => break,
            _ => {}
        }
    }
    if session.database.is_none() {
        session.database.clone_from(&session.user);
    }
    session
}

/// Whether a TLS record that holds a ClientHello starts here.
pub(super) fn is_client_hello(bytes: &[u8]) -> bool {
    matches!(bytes, [22, 3, 0..=4, _, _, 1, ..])
}

/// Whether it asks for PostgreSQL by name (ALPN, RFC 7301), as clients that begin with TLS do
/// (`sslnegotiation=direct`, PostgreSQL 17).
pub(super) fn asks_for_postgresql(bytes: &[u8]) -> bool {
    // Extension 16 with a list of this one name.
    const ALPN: &[u8] = b"\x00\x10\x00\x0d\x00\x0b\x0apostgresql";
    is_client_hello(bytes) && bytes.windows(ALPN.len()).any(|w| w == ALPN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_without_a_tag_are_told_by_their_code() {
        assert_eq!(
            parse(&[0, 0, 0, 8, 4, 210, 22, 47]),
            Some((Opening::Ssl, 8))
        );
        assert_eq!(
            parse(&[0, 0, 0, 8, 4, 210, 22, 48]),
            Some((Opening::Gss, 8))
        );
        let cancel = [0, 0, 0, 16, 4, 210, 22, 46, 0, 0, 1, 2, 3, 4, 5, 6];
        assert_eq!(parse(&cancel), Some((Opening::Cancel, 16)));
        assert_eq!(parse(&[0, 0, 0, 9, 4, 210, 22, 47]), None);
        assert_eq!(parse(&[0, 0, 0, 8, 4, 210, 22]), None);
    }

    #[test]
    fn a_startup_message_names_user_database_and_program() {
        let body = b"user\0ann\0database\0shop\0application_name\0psql\0\0";
        let message = [&[0, 0, 0, 53, 0, 3, 0, 0][..], body].concat();
        assert_eq!(parse(&message), Some((Opening::Startup, 53)));
        let session = session(body);
        assert_eq!(session.user.as_deref(), Some("ann"));
        assert_eq!(session.database.as_deref(), Some("shop"));
        assert_eq!(session.program.as_deref(), Some("psql"));
        // Of a cut message what is there.
        let cut = super::session(b"user\0ann\0datab");
        assert_eq!(cut.database.as_deref(), Some("ann"));
        // Version 2, and a version 3 of something else.
        assert_eq!(parse(b"\0\0\x01\x28\0\x02\0\0user"), None);
        assert_eq!(parse(b"\0\0\0\x28\0\x03\0\0\x80\x81"), None);
    }

    #[test]
    fn a_hello_may_ask_for_postgresql() {
        let hello = |alpn: &[u8]| [&[22, 3, 1, 0, 200, 1, 0, 0, 196, 3, 3][..], alpn].concat();
        assert!(asks_for_postgresql(&hello(
            b"\x00\x10\x00\x0d\x00\x0b\x0apostgresql"
        )));
        assert!(!asks_for_postgresql(&hello(
            b"\x00\x10\x00\x05\x00\x03\x02h2"
        )));
    }
}
