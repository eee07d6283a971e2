//! What a server says, of which only what calls need is read: never a row's values.

use super::message::{Header, Reader};
use super::tag::{self, Tag};
use model::Code;

/// A message of the server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Reply {
    /// Whether the password is asked for in plain text.
    Authentication {
        plaintext: bool,
    },
    /// See [`parameter`].
    ParameterStatus,
    BackendKeyData,
    Notice,
    Notification,
    /// Its SQLSTATE, and whether it ends the session.
    Error {
        code: Code,
        fatal: bool,
    },
    /// Whether no transaction is open.
    ReadyForQuery {
        idle: bool,
    },
    /// One step of the extended protocol was done: parsed, bound, closed, or described.
    Step,
    /// The parameters of a statement; what it returns follows.
    ParameterDescription,
    RowDescription,
    /// So many rows.
    Rows(u64),
    Complete(Tag),
    PortalSuspended,
    EmptyQuery,
    FunctionResult,
    CopyIn,
    CopyOut,
    CopyBoth,
    CopyData,
    CopyDone,
}

impl Reply {
    /// Whether the server may say so at any time, and nobody waits for it.
    pub(super) fn is_unasked(self) -> bool {
        matches!(
            self,
            Reply::Notice
                | Reply::Notification
                | Reply::ParameterStatus
                | Reply::Error { fatal: true, .. }
        )
    }
}

/// How much of a message [`parse`] wants to see.
pub(super) fn wanted(header: Header) -> usize {
    let most = match header.tag {
        b'C' => 69,
        b'Z' => Header::BYTES + 1,
        b'R' => Header::BYTES + 4,
        // Severity and SQLSTATE come first.
        b'E' => Header::BYTES + 128,
        b'S' => Header::BYTES + 512,
        _ => Header::BYTES,
    };
    header.bytes.min(most as u64) as usize
}

/// AuthenticationCleartextPassword.
const CLEARTEXT: i32 = 3;

/// Reads a message from its tag and its body, as far as that was captured. Rows and CopyData are not
/// read.
pub(super) fn parse(tag: u8, body: &[u8]) -> Option<Reply> {
    let mut r = Reader(body);
    Some(match tag {
        b'R' => Reply::Authentication {
            plaintext: r.int32() == Ok(CLEARTEXT),
        },
        b'S' => Reply::ParameterStatus,
        b'K' | b'v' => Reply::BackendKeyData,
        b'N' => Reply::Notice,
        b'A' => Reply::Notification,
        b'E' => error(r),
        b'Z' => Reply::ReadyForQuery {
            idle: r.byte() == Ok(b'I'),
        },
        b'1' | b'2' | b'3' | b'n' => Reply::Step,
        b't' => Reply::ParameterDescription,
        b'T' => Reply::RowDescription,
        b'C' => Reply::Complete(tag::parse(r.string_or_rest())),
        b's' => Reply::PortalSuspended,
        b'I' => Reply::EmptyQuery,
        b'V' => Reply::FunctionResult,
        b'G' => Reply::CopyIn,
        b'H' => Reply::CopyOut,
        b'W' => Reply::CopyBoth,
        b'c' => Reply::CopyDone,
        _ => return None,
    })
}

/// The name and value in the body of a ParameterStatus.
pub(super) fn parameter(body: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut r = Reader(body);
    Some((r.string().ok()?, r.string().ok()?))
}

/// An ErrorResponse: fields of a letter and a string each (section 55.8).
fn error(mut r: Reader<'_>) -> Reply {
    let (mut code, mut fatal) = (None, false);
    while let Ok(field) = r.byte() {
        let Ok(value) = r.string() else { break };
        match field {
            // `S` is translated, `V` is not (since 9.6).
            b'S' | b'V' => fatal |= matches!(value, b"FATAL" | b"PANIC"),
            b'C' => code = std::str::from_utf8(value).ok().map(state),
            0 => break,
            _ => {}
        }
    }
    Reply::Error {
        code: code.unwrap_or_else(|| Code::public("error")),
        fatal,
    }
}

/// Classes of PostgreSQL's states (appendix A).
const CLASSES: [&str; 43] = [
    "00", "01", "02", "03", "08", "09", "0A", "0B", "0F", "0L", "0P", "0Z", "20", "21", "22", "23",
    "24", "25", "26", "27", "28", "2B", "2D", "2F", "34", "38", "39", "3B", "3D", "3F", "40", "42",
    "44", "53", "54", "55", "57", "58", "72", "F0", "HV", "P0", "XX",
];

/// A state. Functions may raise any of five letters and digits (section 41.9.1): public is what is of
/// PostgreSQL's classes and has one letter more at most, as all of its own have.
fn state(code: &str) -> Code {
    let own = code.split_at_checked(2).is_some_and(|(class, rest)| {
        let letters = rest.bytes().filter(|b| !b.is_ascii_digit()).count();
        CLASSES.contains(&class) && rest.len() == 3 && letters <= 1
    });
    match own {
        true => Code::public(code),
        false => Code::new(code),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_function_may_have_chosen_is_not_public() {
        for known in [
            "23505", "42P01", "2200L", "57014", "P0001", "XX000", "HV00N", "0LP01",
        ] {
            assert!(state(known).is_public(), "{known}");
        }
        for chosen in [
            "ZZ123",
            "42SEC",
            "ACME1",
            "",
            "4",
            "23505x",
            "23\u{e9}5",
            "\u{e9}",
        ] {
            assert!(!state(chosen).is_public(), "{chosen}");
        }
    }

    #[test]
    fn an_error_has_a_state_and_may_be_fatal() {
        let body = b"SERROR\0VERROR\0C42P01\0Mrelation \"x\" does not exist\0P15\0\0";
        assert_eq!(
            parse(b'E', body),
            Some(Reply::Error {
                code: Code::public("42P01"),
                fatal: false
            })
        );
        // In German, as a server may speak.
        let body = b"SFATAL\0VFATAL\0C28P01\0MPasswort-Authentifizierung\0\0";
        assert_eq!(
            parse(b'E', body),
            Some(Reply::Error {
                code: Code::public("28P01"),
                fatal: true
            })
        );
        let body = b"SERROR\0VERROR\0C428";
        assert!(
            matches!(parse(b'E', body), Some(Reply::Error { code, .. }) if code.as_str() == "error")
        );
    }

    #[test]
    fn what_a_logon_says_is_read() {
        assert_eq!(
            parse(b'R', &[0, 0, 0, 3]),
            Some(Reply::Authentication { plaintext: true })
        );
        assert_eq!(
            parse(b'R', &[0, 0, 0, 10]),
            Some(Reply::Authentication { plaintext: false })
        );
        assert_eq!(
            parameter(b"server_version\x0015.4\0"),
            Some((&b"server_version"[..], &b"15.4"[..]))
        );
    }

    #[test]
    fn rows_are_not_read() {
        assert_eq!(parse(b'D', b"\0\x01\0\0\0\x01x"), None);
        assert_eq!(parse(b'd', b"x"), None);
    }
}
