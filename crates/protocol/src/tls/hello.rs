//! The wire format (RFC 8446 sections 4.1 and 5.1), big-endian:
//!
//! ```text
//! record       kind:1 3:1 minor:1 length:2     kind: 20 change cipher spec, 21 alert, 22 handshake, 23 data
//! ClientHello  1:1 length:3 version:2 random:32 session:1+ ciphers:2+ compressions:1+ extensions:2+
//! ServerHello  2:1 length:3 version:2 random:32 session:1+ cipher:2 compression:1 extensions:2+
//! extension    type:2 length:2 data
//!              0: server names: length:2 (type:1 length:2 name)…, 43 of a ServerHello: the version
//! ```

use super::HANDSHAKE;

const SERVER_NAME: u16 = 0;
const SUPPORTED_VERSIONS: u16 = 43;

/// The kind of the record that starts here, and its bytes with its header.
pub(super) fn record(bytes: &[u8]) -> Option<(u8, usize)> {
    let [kind, 3, 0..=4, high, low] = *bytes.first_chunk::<5>()? else {
        return None;
    };
    let length = usize::from(u16::from_be_bytes([high, low]));
    ((20..=23).contains(&kind) && length > 0).then_some((kind, 5 + length))
}

/// Bytes that are taken one after another.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.0.split_at_checked(n)?;
        self.0 = rest;
        Some(head)
    }

    fn u8(&mut self) -> Option<usize> {
        self.take(1)?.first().map(|b| usize::from(*b))
    }

    fn u16(&mut self) -> Option<u16> {
        self.take(2)?.first_chunk().map(|b| u16::from_be_bytes(*b))
    }

    /// The body of this extension, among those that follow, as far as it was captured.
    fn extension(&mut self, wanted: u16) -> Option<&'a [u8]> {
        self.u16()?;
        loop {
            let (kind, length) = (self.u16()?, usize::from(self.u16()?));
            if kind == wanted {
                return Some(self.0.get(..length).unwrap_or(self.0));
            }
            self.take(length)?;
        }
    }
}

/// A hello of this kind: its version, and a reader behind its random bytes.
fn hello(bytes: &[u8], kind: usize) -> Option<(u16, Reader<'_>)> {
    let (HANDSHAKE, _) = record(bytes)? else {
        return None;
    };
    let mut r = Reader(bytes.get(5..)?);
    if r.u8()? != kind {
        return None;
    }
    r.take(3)?;
    let version = r.u16()?;
    r.take(32)?;
    (version >> 8 == 3).then_some((version, r))
}

/// What is read of a client's hello.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct ClientHello {
    pub name: Option<String>,
}

impl ClientHello {
    pub(super) fn parse(bytes: &[u8]) -> Option<ClientHello> {
        let (_, mut r) = hello(bytes, 1)?;
        let mut name = || {
            let session = r.u8()?;
            r.take(session)?;
            let ciphers = r.u16()?;
            r.take(ciphers.into())?;
            let compressions = r.u8()?;
            r.take(compressions)?;
            let mut names = Reader(r.extension(SERVER_NAME)?);
            // The length of the list, and of its first name the type.
            names.take(3)?;
            let length = names.u16()?;
            let name = names.take(length.into())?;
            let plain = name.iter().all(u8::is_ascii_graphic);
            plain.then(|| String::from_utf8_lossy(name).into_owned())
        };
        Some(ClientHello { name: name() })
    }
}

/// What is read of a server's hello.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ServerHello {
    /// `0x0303` is TLS 1.2, `0x0304` 1.3.
    pub version: u16,
}

impl ServerHello {
    pub(super) fn parse(bytes: &[u8]) -> Option<ServerHello> {
        let (version, mut r) = hello(bytes, 2)?;
        let mut chosen = || {
            let session = r.u8()?;
            r.take(session)?;
            r.take(3)?;
            Reader(r.extension(SUPPORTED_VERSIONS)?).u16()
        };
        Some(ServerHello {
            version: chosen().unwrap_or(version),
        })
    }
}
