//! What client and listener say while they find each other: CONNECT, ACCEPT, REFUSE, REDIRECT, and
//! the text of nested `(NAME=value)` in them. Numbers are big-endian; offsets count from the start
//! of the packet.

use super::packet::LONG_FROM;

/// ORA-65535.
const HIGHEST_ERROR: u32 = 65_535;

fn u16_at(packet: &[u8], at: usize) -> Option<u16> {
    let bytes = packet.get(at..)?.first_chunk()?;
    Some(u16::from_be_bytes(*bytes))
}

fn u32_at(packet: &[u8], at: usize) -> Option<u32> {
    let bytes = packet.get(at..)?.first_chunk()?;
    Some(u32::from_be_bytes(*bytes))
}

/// A CONNECT without its text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Connect {
    /// The highest version the client speaks.
    pub version: u16,
    pub sdu_bytes: u32,
    pub tdu_bytes: u32,
    /// Where the text begins. It may come in a DATA packet of its own instead.
    pub text_at: usize,
    pub text_bytes: usize,
}

impl Connect {
    pub(super) fn parse(packet: &[u8]) -> Option<Connect> {
        let text_at = usize::from(u16_at(packet, 26)?);
        let wide = |at| {
            let there = (text_at >= 0x46).then(|| u32_at(packet, at));
            there.flatten().filter(|&n| n > 0)
        };
        Some(Connect {
            version: u16_at(packet, 8)?,
            sdu_bytes: wide(58).unwrap_or(u16_at(packet, 14)?.into()),
            tdu_bytes: wide(62).unwrap_or(u16_at(packet, 16)?.into()),
            text_at,
            text_bytes: u16_at(packet, 24)?.into(),
        })
    }

    /// The text, when it is in the packet.
    pub(super) fn text<'a>(&self, packet: &'a [u8]) -> Option<&'a [u8]> {
        let text = packet.get(self.text_at..)?;
        let text = text.get(..self.text_bytes).unwrap_or(text);
        (!text.is_empty()).then_some(text)
    }
}

/// An ACCEPT.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Accept {
    pub version: u16,
    pub sdu_bytes: u32,
    pub tdu_bytes: u32,
    /// Whether the server marks the end of each response (23ai).
    pub marks_ends: bool,
}

impl Accept {
    pub(super) fn parse(packet: &[u8]) -> Option<Accept> {
        const MARKS_ENDS: u32 = 0x0200_0000;
        let version = u16_at(packet, 8)?;
        let wide = |at| {
            let value = (version >= LONG_FROM).then(|| u32_at(packet, at));
            value.flatten().filter(|&n| n > 0)
        };
        let flags = (version >= 318).then(|| u32_at(packet, 41)).flatten();
        Some(Accept {
            version,
            sdu_bytes: wide(32).unwrap_or(u16_at(packet, 12)?.into()),
            tdu_bytes: wide(36).unwrap_or(u16_at(packet, 14)?.into()),
            marks_ends: version >= 319 && flags.is_some_and(|f| f & MARKS_ENDS != 0),
        })
    }
}

/// The text of a REFUSE or an ABORT, or of a REDIRECT. Empty when it comes in a DATA packet of its own.
pub(super) fn reason(packet: &[u8]) -> &[u8] {
    packet.get(12..).unwrap_or_default()
}

pub(super) fn address(packet: &[u8]) -> &[u8] {
    packet.get(10..).unwrap_or_default()
}

/// The value of the first `(NAME=value)` in the text, wherever it stands; nested ones have none.
pub(super) fn value<'a>(text: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let mut rest = text;
    loop {
        let open = rest.iter().position(|&b| b == b'(')?;
        rest = rest.get(open + 1..)?;
        let end = rest.iter().position(|b| b"(=)".contains(b))?;
        let key = rest.get(..end)?.trim_ascii();
        if rest.get(end) != Some(&b'=') || !key.eq_ignore_ascii_case(name.as_bytes()) {
            continue;
        }
        let value = rest.get(end + 1..)?;
        let end = value.iter().position(|b| b"()".contains(b));
        let value = value.get(..end.unwrap_or(value.len()))?.trim_ascii();
        return (!value.is_empty()).then_some(value);
    }
}

/// A value in words, where it says something.
pub(super) fn word(text: &[u8], name: &str) -> Option<String> {
    let word = String::from_utf8_lossy(value(text, name)?).into_owned();
    // What JDBC says when it does not know.
    (word != "__jdbc__").then_some(word)
}

/// Whether the listener itself is asked for something: no session comes of it.
pub(super) fn is_for_listener(text: &[u8]) -> bool {
    value(text, "COMMAND").is_some()
}

/// The error that a refusal names.
pub(super) fn error(text: &[u8]) -> Option<u32> {
    ["ERR", "CODE"].into_iter().find_map(|name| {
        let digits = std::str::from_utf8(value(text, name)?).ok()?;
        let code = digits.parse().ok()?;
        (1..=HIGHEST_ERROR).contains(&code).then_some(code)
    })
}

/// A version as servers put it into a number: 186647552 is 11.2.0.4.0. From 18c on the digits are
/// of other lengths.
pub(super) fn version(number: u32) -> Option<String> {
    let part = |shift: u32, bits: u32| number >> shift & ((1 << bits) - 1);
    let parts = match number >> 24 {
        0..7 => return None,
        major @ 7..18 => [major, part(20, 4), part(12, 8), part(8, 4), part(0, 8)],
        major @ 18..60 => [major, part(16, 8), part(12, 4), part(4, 8), part(0, 4)],
        _ => return None,
    };
    let [a, b, c, d, e] = parts;
    Some(format!("{a}.{b}.{c}.{d}.{e}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// sqlplus 12.1, 212 bytes.
    fn connect() -> Vec<u8> {
        let mut packet = vec![
            0x00, 0xd4, 0, 0, 1, 0, 0, 0, // header
            0x01, 0x3b, 0x01, 0x2c, // version 315, 300 at least
            0x0c, 0x41, 0x20, 0x00, 0xff, 0xff, // options, SDU 8192, TDU 65535
            0x7f, 0x08, 0, 0, 0x01, 0x00, // little-endian client
            0x00, 0x8e, 0x00, 0x46, // 142 bytes of text at 70
            0, 0, 8, 0, 0x41, 0x41,
        ];
        packet.resize(58, 0);
        packet.extend([0, 0, 0x20, 0, 0, 0x20, 0, 0, 0, 0, 0, 0]);
        packet.extend(TEXT);
        packet
    }

    const TEXT: &[u8] = b"(DESCRIPTION=(CONNECT_DATA=(SID=igor)(CID=(PROGRAM=sqlplus@kali)\
        (HOST=kali)(USER=root)))(ADDRESS=(PROTOCOL=TCP)(HOST=10.0.72.139)(PORT=1521)))";

    #[test]
    fn a_connect_offers_a_version_and_names_what_is_wanted() {
        let packet = connect();
        assert_eq!(packet.len(), 212);
        let connect = Connect::parse(&packet).unwrap();
        assert_eq!(
            (connect.version, connect.sdu_bytes, connect.text_bytes),
            (315, 8_192, 142)
        );
        assert_eq!(connect.tdu_bytes, 2_097_152);
        let text = connect.text(&packet).unwrap();
        assert_eq!(text, TEXT);
        assert_eq!(value(text, "sid"), Some(&b"igor"[..]));
        assert_eq!(word(text, "PROGRAM").as_deref(), Some("sqlplus@kali"));
        assert_eq!(word(text, "HOST").as_deref(), Some("kali"), "the CID's");
        assert_eq!(value(text, "SERVICE_NAME"), None);
        assert_eq!(value(text, "CID"), None, "it has parts, not a value");
    }

    #[test]
    fn an_accept_says_what_holds() {
        let twelve = [
            0x00, 0x29, 0, 0, 2, 0, 0, 0, 0x01, 0x3b, 0x0c, 0x41, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0x29,
            0x41, 0x41, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x20, 0, 0, 0x20, 0, 0, 0,
        ];
        let accept = Accept {
            version: 315,
            sdu_bytes: 8_192,
            tdu_bytes: 2_097_152,
            marks_ends: false,
        };
        assert_eq!(Accept::parse(&twelve), Some(accept));
        let ten = [
            0x00, 0x20, 0, 0, 2, 0, 0, 0, 0x01, 0x39, 0, 0, 8, 0, 0x7f, 0xff, 1, 0, 0, 0, 0, 0x20,
        ];
        let accept = Accept::parse(&ten).unwrap();
        assert_eq!(
            (accept.version, accept.sdu_bytes, accept.tdu_bytes),
            (313, 2_048, 32_767)
        );
        for end in 0..16 {
            assert_eq!(Accept::parse(&ten[..end]), None);
        }
        // 23ai, as sources have it.
        let mut newest = twelve.to_vec();
        newest[9] = 0x3f;
        newest.extend([2, 0, 0, 0]);
        assert!(Accept::parse(&newest).unwrap().marks_ends);
    }

    #[test]
    fn a_refusal_names_an_error() {
        let text = b"(DESCRIPTION=(TMP=)(VSNNUM=186647552)(ERR=12514)\
            (ERROR_STACK=(ERROR=(CODE=12514)(EMFI=4))))";
        let packet = [&[0, 106, 0, 0, 4, 0, 0, 0, 0x22, 0, 0, 94][..], text].concat();
        assert_eq!(error(reason(&packet)), Some(12_514));
        assert_eq!(error(b"(ERROR=(CODE=1189))"), Some(1_189));
        assert_eq!(error(b"(ERR=)"), None);
    }

    #[test]
    fn a_redirection_names_an_address() {
        let text = b"(ADDRESS=(PROTOCOL=tcp)(HOST=192.168.0.4)(PORT=2143))";
        let packet = [&[0, 0x3f, 0, 0, 5, 0, 0, 0, 0, 0x35][..], text].concat();
        assert_eq!(packet.len(), 0x3f);
        let text = address(&packet);
        assert_eq!(value(text, "HOST"), Some(&b"192.168.0.4"[..]));
        assert_eq!(value(text, "PORT"), Some(&b"2143"[..]));
    }

    #[test]
    fn the_listener_may_be_asked_for_itself() {
        assert!(is_for_listener(
            b"(CONNECT_DATA=(CID=(PROGRAM=)(HOST=h)(USER=u))(COMMAND = status))"
        ));
        assert!(!is_for_listener(TEXT));
    }

    #[test]
    fn texts_without_end_do_no_harm() {
        for text in [&b""[..], b"(", b"((((", b"(SID", b"(SID=", b"(SID=)", b"="] {
            assert_eq!(value(text, "SID"), None, "{text:?}");
        }
        assert_eq!(value(b"(SID=cut of", "SID"), Some(&b"cut of"[..]));
    }

    #[test]
    fn versions_are_packed_in_two_ways() {
        assert_eq!(version(186_647_552).as_deref(), Some("11.2.0.4.0"));
        assert_eq!(version(202_375_680).as_deref(), Some("12.1.0.2.0"));
        assert_eq!(version(169_869_568).as_deref(), Some("10.2.0.1.0"));
        assert_eq!(version(0x1303_0000).as_deref(), Some("19.3.0.0.0"));
        assert_eq!(version(1), None);
    }
}
