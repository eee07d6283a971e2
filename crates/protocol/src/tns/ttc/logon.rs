//! What a logon says in clear: who, from which program and host, and the session's first statement.
//! Keys are looked for by name, as the messages differ in nothing else between representations; a
//! password or a key of any kind is never read.

use super::reader::{Reader, Text};
use super::{message, scan};
use model::Found;
use std::borrow::Cow;

/// Longest name of a user; and of one whose length is repeated wrongly, which no byte of a name can be.
const USER: usize = 128;
const LONGEST_GUESS: usize = b' ' as usize - 1;

/// What is read of a logon's request.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(in crate::tns) struct Logon<'a> {
    pub user: Option<Cow<'a, str>>,
    pub program: Option<Cow<'a, str>>,
    pub host: Option<Cow<'a, str>>,
    pub client_user: Option<Cow<'a, str>>,
    /// The ALTER SESSION that is executed with it.
    pub statement: Option<(Text<'a>, Found)>,
}

/// Reads what there is in the payload of an authentication call.
pub(in crate::tns) fn find(payload: &[u8]) -> Logon<'_> {
    let statement = raw(payload, b"AUTH_ALTER_SESSION");
    let statement = statement.filter(|text| scan::is_statement(&text.bytes));
    Logon {
        user: user(call(payload)),
        program: word(payload, b"AUTH_PROGRAM_NM"),
        host: word(payload, b"AUTH_MACHINE"),
        client_user: word(payload, b"AUTH_SID"),
        statement: statement.map(|text| (text, Found::Structured)),
    }
}

/// The server's version, in the answer to a logon.
pub(in crate::tns) fn server_version(payload: &[u8]) -> Option<u32> {
    word(payload, b"AUTH_VERSION_NO")?.parse().ok()
}

/// Where the name of a key begins, its length before it.
fn position(payload: &[u8], key: &[u8]) -> Option<usize> {
    let length = u8::try_from(key.len()).ok()?;
    let at = payload
        .windows(key.len() + 1)
        .position(|w| w.split_first() == Some((&length, key)))?;
    Some(at + 1)
}

/// The value of a key: its length twice, once as a number and once before the text.
fn raw<'a>(payload: &'a [u8], key: &[u8]) -> Option<Text<'a>> {
    let behind = payload.get(position(payload, key)? + key.len()..)?;
    let universal = || {
        let mut r = Reader::new(behind);
        let length = r.universal(4)?;
        let text = r.text()?;
        (text.cut || text.bytes.len() as u64 == length).then_some(text)
    };
    let native = || {
        let mut r = Reader::new(behind);
        let length = u64::from(r.u32_le()?);
        let text = r.text()?;
        // Counted before the client converted it, perhaps times the bytes of the largest character.
        let bytes = text.bytes.len() as u64;
        (text.cut || bytes <= length + bytes / 8 && length <= bytes * 4).then_some(text)
    };
    universal().or_else(native).map(|mut text| {
        while text.bytes.last() == Some(&0) {
            text.bytes = match text.bytes {
                Cow::Borrowed(b) => Cow::Borrowed(b.split_last().map_or(b, |(_, rest)| rest)),
                Cow::Owned(mut b) => {
                    b.pop();
                    Cow::Owned(b)
                }
            };
        }
        text
    })
}

fn word<'a>(payload: &'a [u8], key: &[u8]) -> Option<Cow<'a, str>> {
    let text = raw(payload, key).filter(|text| !text.cut && !text.bytes.is_empty())?;
    Some(match text.bytes {
        Cow::Borrowed(b) => String::from_utf8_lossy(b),
        Cow::Owned(b) => String::from_utf8_lossy(&b).into_owned().into(),
    })
}

/// The authentication call; 23ai clients send it behind the negotiation, in one request.
fn call(payload: &[u8]) -> &[u8] {
    const CALL: [u8; 2] = [message::FUNCTION, 0x76];
    match payload.first() {
        Some(&message::FAST_AUTHENTICATION) => {
            let at = payload.windows(2).position(|w| w == CALL);
            at.and_then(|at| payload.get(at..)).unwrap_or_default()
        }
        _ => payload,
    }
}

/// The user stands right before the first key, with its length or, from JDBC, without; the header
/// repeats that length, for native clients times the bytes of the largest character. Scripts that try passwords repeat
/// another one: of theirs the length before the name is the only one.
fn user(payload: &[u8]) -> Option<Cow<'_, str>> {
    // 03 76|73 and a number; then a pointer and the length.
    let body = payload.get(3..)?;
    let key = payload.windows(5).position(|w| w == b"AUTH_")?;
    let length = |at: usize| {
        let bytes = body.get(at..)?.first_chunk()?;
        usize::try_from(u32::from_le_bytes(*bytes)).ok()
    };
    let mut r = Reader::new(body);
    if body.first() == Some(&0) {
        r.u8()?;
    }
    let universal = r
        .pointer()
        .and_then(|_| r.universal(4))
        .and_then(|n| usize::try_from(n).ok());
    if let Some(n) = universal.filter(|n| (1..=USER).contains(n)) {
        // A key of up to 255 bytes has two bytes of length and one more before its text.
        let end = key.checked_sub(3)?;
        let name = payload.get(end.checked_sub(n)?..end)?;
        if let Some(name) = printable(name) {
            return Some(name);
        }
    }
    let end = key.checked_sub(5)?;
    let counted = [8, 4, 1].into_iter().filter_map(|pointer| {
        let n = length(pointer)?;
        (1..=4 * USER).contains(&n).then_some(n)
    });
    let named = |n: usize| {
        let from = end.checked_sub(n)?;
        let says = payload.get(from.checked_sub(1)?).copied().map(usize::from);
        (says == Some(n)).then(|| printable(payload.get(from..end)?))?
    };
    let agreed = counted.clone().find_map(|counted| {
        let mut lengths = (1..=counted.min(USER)).filter(|n| (1..=4).any(|t| n * t == counted));
        lengths.find_map(named)
    });
    agreed.or_else(|| {
        counted.clone().next()?;
        (1..=LONGEST_GUESS).find_map(named)
    })
}

fn printable(name: &[u8]) -> Option<Cow<'_, str>> {
    let clean = name.iter().all(|&b| b >= b' ' && b != 0x7f);
    clean.then(|| String::from_utf8_lossy(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jdbc_names_its_user_bare() {
        let payload = b"\x03\x76\x01\x01\x01\x03\x01\x21\x01\x01\x05\x01\x01SYS\
            \x01\x0d\x0dAUTH_TERMINAL\x01\x07\x07unknown\x00\
            \x01\x0f\x0fAUTH_PROGRAM_NM\x01\x0d\x0dSQL Developer\x00\
            \x01\x0c\x0cAUTH_MACHINE\x01\x0f\x0fWIN-TDVDNUNE730\x00\
            \x01\x08\x08AUTH_SID\x01\x05\x05visor\x00";
        let logon = find(payload);
        assert_eq!(logon.user.as_deref(), Some("SYS"));
        assert_eq!(logon.program.as_deref(), Some("SQL Developer"));
        assert_eq!(logon.host.as_deref(), Some("WIN-TDVDNUNE730"));
        assert_eq!(logon.client_user.as_deref(), Some("visor"));
        for end in 0..payload.len() {
            let _ = find(&payload[..end]);
        }
    }

    #[test]
    fn native_clients_count_the_largest_characters() {
        // sqlplus 12.1: 9 bytes for `sys`, 39 for a key of 13.
        let payload = [
            b"\x03\x76\x02\xfe\xff\xff\xff\xff\xff\xff\xff\x09\0\0\0\x21\0\0\0",
            &b"\xfe\xff\xff\xff\xff\xff\xff\xff\x05\0\0\0\0\0\0\0"[..],
            b"\xfe\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff\xff\xff\xff\xff\x03sys",
            b"\x27\0\0\0\x0dAUTH_TERMINAL\x0f\0\0\0\x05pts/0\0\0\0\0",
            b"\x24\0\0\0\x0cAUTH_MACHINE\x0c\0\0\0\x04kali\0\0\0\0",
        ]
        .concat();
        let logon = find(&payload);
        assert_eq!(logon.user.as_deref(), Some("sys"));
        assert_eq!(logon.host.as_deref(), Some("kali"));
    }

    #[test]
    fn a_script_may_repeat_a_wrong_length() {
        // Four for every name.
        let payload = b"\x03\x76\x02\x01\x04\0\0\0\x01\0\0\0\x01\x05\0\0\0\x01\x01\x05guest\
            \x0d\0\0\0\x0dAUTH_TERMINAL\x07\0\0\0\x07pts/189\0\0\0\0";
        assert_eq!(find(payload).user.as_deref(), Some("guest"));
    }

    #[test]
    fn a_logon_may_execute_a_statement() {
        let payload = b"\x03\x73\x03\x01\x01\x03\x12\0\0\0\x12AUTH_ALTER_SESSION\
            \x25\0\0\0\x25ALTER SESSION SET TIME_ZONE='-05:00'\0\x01\0\0\0";
        let (text, found) = find(payload).statement.unwrap();
        assert_eq!(&*text.bytes, b"ALTER SESSION SET TIME_ZONE='-05:00'");
        assert_eq!(found, Found::Structured);
    }

    #[test]
    fn the_server_says_its_version() {
        let answer = b"\x08\x01\x2b\x01\x0f\x0fAUTH_VERSION_NO\x01\x09\x09202375680\x00";
        assert_eq!(server_version(answer), Some(202_375_680));
        let native = b"\x0f\0\0\0\x0fAUTH_VERSION_NO\x09\0\0\0\x09202375680\0\0\0\0";
        assert_eq!(server_version(native), Some(202_375_680));
    }
}
