//! What both sides say before the first command: the server's greeting and the client's response to
//! it, or COM_CHANGE_USER later, into capabilities and who the client is. Passwords and their
//! scrambles pass unread.
//!
//! ```text
//! greeting  0a  version\0  thread:4  scramble:8  0  capabilities:2  charset:1  status:2
//!           capabilities:2  scramble length:1  10 bytes  scramble  plugin\0
//! response  capabilities:4  longest packet:4  charset:1  23 bytes  user\0  scramble
//!           [database\0]  [plugin\0]  [attributes]  [zstd level:1]
//! ```
//!
//! A response with CLIENT_SSL that ends behind the 23 bytes is the request to go on with TLS.
//! Source: MySQL's internals manual, "Connection Phase"; MariaDB's "Connecting" for its capabilities.

use super::packet::{Header, Values};
use model::SqlSession;
use std::sync::Arc;

/// Capability flags.
pub(super) mod capability {
    pub(in super::super) const CONNECT_WITH_DB: u32 = 1 << 3;
    pub(in super::super) const COMPRESS: u32 = 1 << 5;
    pub(in super::super) const PROTOCOL_41: u32 = 1 << 9;
    pub(in super::super) const SSL: u32 = 1 << 11;
    pub(in super::super) const SECURE_CONNECTION: u32 = 1 << 15;
    pub(in super::super) const PLUGIN_AUTH: u32 = 1 << 19;
    pub(in super::super) const CONNECT_ATTRS: u32 = 1 << 20;
    pub(in super::super) const LENENC_AUTH: u32 = 1 << 21;
    pub(in super::super) const DEPRECATE_EOF: u32 = 1 << 24;
    pub(in super::super) const OPTIONAL_METADATA: u32 = 1 << 25;
    pub(in super::super) const ZSTD: u32 = 1 << 26;
}

/// What the server says first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Greeting<'a> {
    pub version: &'a [u8],
    /// `None`: not captured.
    pub capabilities: Option<u32>,
}

/// Longest version that is believed.
const VERSION: usize = 64;

impl<'a> Greeting<'a> {
    /// Reads the packet that starts here, if it is a greeting of protocol 10, as far as it was
    /// captured.
    pub(super) fn parse(bytes: &'a [u8]) -> Option<Greeting<'a>> {
        let header = Header::parse(bytes)?;
        let rest = bytes.get(Header::BYTES..)?;
        let length = usize::try_from(header.length).ok()?;
        // Version, thread, scramble and capabilities are always there.
        if header.sequence != 0 || !(20..512).contains(&length) || rest.len() > length {
            return None;
        }
        let mut values = Values(rest);
        if values.u8()? != 10 {
            return None;
        }
        let cut = rest.len() < length;
        let Some(version) = values.zero_text() else {
            let is_likely = cut && is_version(values.0) && values.0.len() >= 8;
            return is_likely.then_some(Greeting {
                version: values.0,
                capabilities: None,
            });
        };
        let filler = values.skip(12).and_then(|()| values.u8());
        let is_greeting = is_version(version) && filler.map_or(cut, |b| b == 0);
        is_greeting.then(|| Greeting {
            version,
            capabilities: capabilities(values),
        })
    }
}

/// Whether a text, or its beginning, is a version: `8.0.36`, `5.5.5-10.11.6-MariaDB`.
fn is_version(text: &[u8]) -> bool {
    let mut parts = text.split(|&b| b == b'.');
    let is_number = |part: Option<&[u8]>| {
        part.is_some_and(|p| !p.is_empty() && p.len() <= 3 && p.iter().all(u8::is_ascii_digit))
    };
    let rest_begins =
        |part: Option<&[u8]>| part.and_then(<[u8]>::first).is_some_and(u8::is_ascii_digit);
    text.len() <= VERSION
        && is_number(parts.next())
        && is_number(parts.next())
        && rest_begins(parts.next())
        && text.iter().all(u8::is_ascii_graphic)
}

fn capabilities(mut values: Values<'_>) -> Option<u32> {
    let low = values.u16()?;
    // Character set and status.
    values.skip(3)?;
    let high = values.u16()?;
    Some(u32::from(high) << 16 | u32::from(low))
}

/// An error instead of a greeting: the host may not connect, or too many are connected.
pub(super) fn is_refusal(bytes: &[u8]) -> bool {
    let Some(header) = Header::parse(bytes) else {
        return false;
    };
    let mut values = Values(bytes.get(Header::BYTES..).unwrap_or_default());
    let is_error = values.u8() == Some(0xff);
    let Some(code) = values.u16() else {
        return false;
    };
    let is_text = |text: &[u8]| text.len() >= 10 && text.iter().all(|&b| (b' '..0x7f).contains(&b));
    header.sequence == 0
        && u64::from(header.length) + 4 == bytes.len() as u64
        && is_error
        && (1_000..5_000).contains(&code)
        && is_text(values.0)
}

/// A client's response to the greeting, as far as it was captured.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Response {
    pub capabilities: u32,
    /// It goes on with TLS, and says who it is there.
    pub asks_for_tls: bool,
    pub who: Who,
}

/// Who logs on.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Who {
    pub user: Option<Arc<str>>,
    pub database: Option<Arc<str>>,
    pub program: Option<Arc<str>>,
    /// Its password stands there as it is.
    pub plaintext_password: bool,
}

impl Response {
    /// Reads the payload of which `length` bytes were sent.
    pub(super) fn parse(payload: &[u8], length: u32) -> Option<Response> {
        let mut values = Values(payload);
        let low = values.u16()?;
        if u32::from(low) & capability::PROTOCOL_41 == 0 {
            return Some(Response::before_41(values, low));
        }
        let capabilities = u32::from(values.u16()?) << 16 | u32::from(low);
        let mut response = Response {
            capabilities,
            asks_for_tls: capabilities & capability::SSL != 0 && length == 32,
            who: Who::default(),
        };
        if !response.asks_for_tls && values.skip(4 + 1 + 23).is_some() {
            response.who.read_response(values, capabilities);
        }
        Some(response)
    }

    /// The response of clients before MySQL 4.1: capabilities of two bytes, then three and the user.
    fn before_41(mut values: Values<'_>, capabilities: u16) -> Response {
        let user = values.skip(3).and_then(|()| values.zero_text());
        Response {
            capabilities: capabilities.into(),
            asks_for_tls: false,
            who: Who {
                user: user.map(text),
                ..Who::default()
            },
        }
    }
}

impl Who {
    fn read_response(&mut self, mut values: Values<'_>, capabilities: u32) -> Option<()> {
        let has = |flag: u32| capabilities & flag != 0;
        self.user = Some(text(values.zero_text()?));
        let secret = if has(capability::LENENC_AUTH) {
            values.lenenc_text()?
        } else if has(capability::SECURE_CONNECTION) {
            let length = values.u8()?;
            values.bytes(length.into())?
        } else {
            values.zero_text()?
        };
        if has(capability::CONNECT_WITH_DB) {
            self.database = name(values.zero_text()?);
        }
        self.read_plugin_and_attributes(values, capabilities, !secret.is_empty())
    }

    /// Reads COM_CHANGE_USER behind its command byte.
    pub(super) fn change_user(rest: &[u8], capabilities: u32) -> Who {
        let mut who = Who::default();
        who.read_change_user(Values(rest), capabilities);
        who
    }

    fn read_change_user(&mut self, mut values: Values<'_>, capabilities: u32) -> Option<()> {
        self.user = Some(text(values.zero_text()?));
        // Nobody speaks this without CLIENT_SECURE_CONNECTION.
        let length = values.u8()?;
        values.skip(length.into())?;
        self.database = name(values.zero_text()?);
        // Character set.
        values.skip(2)?;
        self.read_plugin_and_attributes(values, capabilities, length > 0)
    }

    fn read_plugin_and_attributes(
        &mut self,
        mut values: Values<'_>,
        capabilities: u32,
        has_secret: bool,
    ) -> Option<()> {
        if capabilities & capability::PLUGIN_AUTH != 0 {
            self.plaintext_password = has_secret && is_plaintext(values.zero_text()?);
        }
        if capabilities & capability::CONNECT_ATTRS != 0 {
            // Their length is not needed: what was not captured ends them as well.
            values.lenenc()?;
            while let (Some(key), Some(value)) = (values.lenenc_text(), values.lenenc_text()) {
                // What the program calls itself is better than what its library is called.
                let is_program = key == b"program_name";
                if is_program || key == b"_client_name" && self.program.is_none() {
                    self.program = name(value);
                }
                if is_program {
                    break;
                }
            }
        }
        Some(())
    }

    /// Puts it into what is known of the session.
    pub(super) fn tell(self, session: &mut SqlSession) {
        session.user = self.user.or(session.user.take());
        session.database = self.database;
        session.program = self.program.or(session.program.take());
        session.plaintext_password |= self.plaintext_password;
    }
}

/// Whether a plugin sends passwords as they are: MySQL's, and MariaDB's for PAM.
pub(super) fn is_plaintext(plugin: &[u8]) -> bool {
    matches!(plugin, b"mysql_clear_password" | b"dialog")
}

pub(super) fn text(bytes: &[u8]) -> Arc<str> {
    String::from_utf8_lossy(bytes).into()
}

/// An empty name is none.
fn name(bytes: &[u8]) -> Option<Arc<str>> {
    (!bytes.is_empty()).then(|| text(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GREETING: &[u8] = b"\x4a\0\0\0\x0a5.5.5-10.11.6-MariaDB\0\x05\0\0\0abcdefgh\0\xfe\xf7\x2d\x02\0\xff\x81\x15\0\0\0\0\0\0\x1d\0\0\0abcdefghijkl\0mysql\0\0";

    #[test]
    fn a_greeting_has_a_version_and_capabilities() {
        let greeting = Greeting::parse(GREETING).unwrap();
        assert_eq!(greeting.version, b"5.5.5-10.11.6-MariaDB");
        assert_eq!(greeting.capabilities, Some(0x81ff_f7fe));
        // Cut behind the scramble, or within the version.
        let cut = Greeting::parse(&GREETING[..40]).unwrap();
        assert_eq!((cut.version, cut.capabilities), (greeting.version, None));
        let cut = Greeting::parse(&GREETING[..20]).unwrap();
        assert_eq!(cut.version, b"5.5.5-10.11.6-M");
        assert_eq!(Greeting::parse(&GREETING[..12]), None);
    }

    /// Capabilities, the longest packet, the character set and 23 bytes.
    fn head(capabilities: u32) -> Vec<u8> {
        let mut head = capabilities.to_le_bytes().to_vec();
        head.extend([0, 0, 0, 1, 45]);
        head.extend([0; 23]);
        head
    }

    const ALL: u32 = capability::PROTOCOL_41
        | capability::CONNECT_WITH_DB
        | capability::SECURE_CONNECTION
        | capability::PLUGIN_AUTH
        | capability::CONNECT_ATTRS;

    #[test]
    fn a_response_says_who_logs_on() {
        let mut payload = head(ALL);
        payload.extend(b"app\0\x03\x01\x02\x03shop\0mysql_native_password\0");
        payload.extend(b"\x2a\x0c_client_name\x07pymysql\x0cprogram_name\x09report.py");
        let length = payload.len() as u32;
        let response = Response::parse(&payload, length).unwrap();
        let who = &response.who;
        assert_eq!(who.user.as_deref(), Some("app"));
        assert_eq!(who.database.as_deref(), Some("shop"));
        assert_eq!(who.program.as_deref(), Some("report.py"));
        assert!(!who.plaintext_password && !response.asks_for_tls);
        // Whatever was cut off is not known, and what was not is.
        for end in 4..payload.len() {
            let cut = Response::parse(&payload[..end], length).unwrap();
            assert_eq!(cut.capabilities, ALL);
            assert!(cut.who.user.is_none() || cut.who.user == who.user);
        }
        let library = payload.len() - b"\x0cprogram_name\x09report.py".len();
        let cut = Response::parse(&payload[..library], length).unwrap();
        assert_eq!(cut.who.program.as_deref(), Some("pymysql"));
    }

    #[test]
    fn a_readable_password_is_noted() {
        let mut payload = head(ALL & !capability::CONNECT_ATTRS);
        payload.extend(b"app\0\x07secret\0\0mysql_clear_password\0");
        let response = Response::parse(&payload, payload.len() as u32).unwrap();
        assert!(response.who.plaintext_password);
        assert_eq!(response.who.database, None);
        let mut payload = head(ALL & !capability::CONNECT_ATTRS);
        payload.extend(b"app\0\0\0mysql_clear_password\0");
        let response = Response::parse(&payload, payload.len() as u32).unwrap();
        assert!(!response.who.plaintext_password, "none was sent");
    }

    #[test]
    fn a_request_for_tls_ends_early() {
        let payload = head(ALL | capability::SSL);
        assert!(Response::parse(&payload, 32).unwrap().asks_for_tls);
        // Who sends more goes on without.
        let mut longer = payload.clone();
        longer.extend(b"app\0\0\0\0\0");
        assert!(
            !Response::parse(&longer, longer.len() as u32)
                .unwrap()
                .asks_for_tls
        );
    }

    #[test]
    fn clients_of_old_say_less() {
        let payload = b"\x05\x20\0\0\0app\0scramble";
        let response = Response::parse(payload, payload.len() as u32).unwrap();
        assert_eq!(response.who.user.as_deref(), Some("app"));
    }

    #[test]
    fn a_user_may_be_changed() {
        let rest = b"other\0\x02xyshop\0\x2d\0mysql_native_password\0";
        let who = Who::change_user(rest, capability::PLUGIN_AUTH);
        assert_eq!(who.user.as_deref(), Some("other"));
        assert_eq!(who.database.as_deref(), Some("shop"));
        let mut session = SqlSession {
            program: Some("report.py".into()),
            ..SqlSession::default()
        };
        who.tell(&mut session);
        assert_eq!(session.user.as_deref(), Some("other"));
        assert_eq!(session.program.as_deref(), Some("report.py"));
    }
}
