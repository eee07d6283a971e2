//! The wire format ([MS-SMB2] 2.1 and 2.2.1), little-endian but for the first four bytes:
//!
//! ```text
//! transport  0:1 length:3                       of all that follows
//! header     0xfe "SMB" 64:2 credit charge:2
//!            status:4                           of a request: the channel's sequence
//!            command:2 credits:2
//!            flags:4                            1 response, 2 asynchronous, 4 related to the one before
//!            next:4                             where the next header of a compound stands, or 0
//!            message id:8
//!            process id:4 tree id:4             of an asynchronous one together its number
//!            session id:8 signature:16
//! ```
//!
//! Instead of `0xfe`: `0xfd` is encrypted (2.2.41), `0xfc` compressed (2.2.42), `0xff` SMB 1.

/// Bytes of the transport's header.
pub(super) const TRANSPORT: usize = 4;
/// Bytes of a header.
pub(super) const HEADER: usize = 64;

/// A message id that no request has: of what the server says unasked (oplock breaks).
pub(super) const UNASKED: u64 = u64::MAX;

/// The commands by number ([MS-SMB2] 2.2.1.2).
pub(super) const COMMANDS: [&str; 20] = [
    "NEGOTIATE",
    "SESSION_SETUP",
    "LOGOFF",
    "TREE_CONNECT",
    "TREE_DISCONNECT",
    "CREATE",
    "CLOSE",
    "FLUSH",
    "READ",
    "WRITE",
    "LOCK",
    "IOCTL",
    "CANCEL",
    "ECHO",
    "QUERY_DIRECTORY",
    "CHANGE_NOTIFY",
    "QUERY_INFO",
    "SET_INFO",
    "OPLOCK_BREAK",
    "SERVER_TO_CLIENT",
];

pub(super) const NEGOTIATE: u16 = 0;
pub(super) const TREE_CONNECT: u16 = 3;
pub(super) const CREATE: u16 = 5;
pub(super) const CLOSE: u16 = 6;
pub(super) const FLUSH: u16 = 7;
pub(super) const READ: u16 = 8;
pub(super) const WRITE: u16 = 9;
pub(super) const LOCK: u16 = 10;
pub(super) const CANCEL: u16 = 12;
pub(super) const CHANGE_NOTIFY: u16 = 15;
pub(super) const OPLOCK_BREAK: u16 = 18;

/// What the transport carries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Carried {
    Smb2,
    Smb1,
    Encrypted,
    Compressed,
    /// A message of NetBIOS's session service of its own (RFC 1002 section 4.3): a request for a
    /// session, its answer, a keep-alive.
    Netbios,
}

/// Bytes of one message that are believed: 8 MiB of data and what stands before them.
const LONGEST: usize = (8 << 20) + 65_536;

/// Of a transport message: what is in it, and its length without the transport's header. Needs eight
/// bytes, or four of NetBIOS's own.
pub(super) fn transport(bytes: &[u8]) -> Option<(Carried, usize)> {
    let [kind, high, middle, low] = *bytes.first_chunk::<TRANSPORT>()?;
    let length = usize::from(high) << 16 | usize::from(middle) << 8 | usize::from(low);
    if matches!(kind, 0x81..=0x85) {
        return (length <= 1_024).then_some((Carried::Netbios, length));
    }
    let carried = match *bytes.get(TRANSPORT..)?.first_chunk::<4>()? {
        [0xfe, b'S', b'M', b'B'] if length >= HEADER => Carried::Smb2,
        [0xff, b'S', b'M', b'B'] => Carried::Smb1,
        [0xfd, b'S', b'M', b'B'] => Carried::Encrypted,
        [0xfc, b'S', b'M', b'B'] => Carried::Compressed,
        _ => return None,
    };
    (kind == 0 && length <= LONGEST).then_some((carried, length))
}

/// The fields of a header that are looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Header {
    pub status: u32,
    pub command: u16,
    pub response: bool,
    pub asynchronous: bool,
    /// It works on what the request before it in the same message opened.
    pub related: bool,
    /// The share, but for an asynchronous message.
    pub tree: Option<u32>,
    /// Where the next header stands, from this one; 0 for the last.
    pub next: u32,
    pub message_id: u64,
}

impl Header {
    /// Bytes of a header up to what is read of it.
    pub(super) const READ: usize = 40;

    /// Reads the header that starts here.
    pub(super) fn parse(bytes: &[u8]) -> Option<Header> {
        let header: &[u8; Header::READ] = bytes.first_chunk()?;
        let flags = u32_at(header, 16)?;
        let command = u16_at(header, 12)?;
        let is_header = header.starts_with(b"\xfeSMB")
            && u16_at(header, 4)? == HEADER as u16
            && usize::from(command) < COMMANDS.len();
        is_header.then_some(Header {
            status: u32_at(header, 8)?,
            command,
            response: flags & 1 != 0,
            asynchronous: flags & 2 != 0,
            related: flags & 4 != 0,
            tree: u32_at(header, 36).filter(|_| flags & 2 == 0),
            next: u32_at(header, 20)?,
            message_id: u64_at(header, 24)?,
        })
    }
}

pub(super) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes
        .get(at..)?
        .first_chunk()
        .map(|b| u16::from_le_bytes(*b))
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes
        .get(at..)?
        .first_chunk()
        .map(|b| u32::from_le_bytes(*b))
}

pub(super) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes
        .get(at..)?
        .first_chunk()
        .map(|b| u64::from_le_bytes(*b))
}

/// An SMB 1 `NEGOTIATE` request whose dialects name SMB 2.
pub(super) fn offers_smb2(message: &[u8]) -> bool {
    const SMB1_HEADER: usize = 32;
    const NEGOTIATE: u8 = 0x72;
    const RESPONSE: u8 = 0x80;
    let named = |dialects: &[u8]| {
        dialects
            .windows(7)
            .any(|w| w == b"SMB 2.0" || w == b"SMB 2.?")
    };
    message.starts_with(b"\xffSMB")
        && message.get(4) == Some(&NEGOTIATE)
        && message.get(9).is_some_and(|flags| flags & RESPONSE == 0)
        && message.get(SMB1_HEADER..).is_some_and(named)
}

/// Whether a segment begins with a message of SMB 2, or one of SMB 1 that asks for it.
pub(super) fn is_certain(bytes: &[u8]) -> bool {
    let message = bytes.get(TRANSPORT..).unwrap_or_default();
    match transport(bytes) {
        Some((Carried::Smb2, _)) => Header::parse(message).is_some(),
        Some((Carried::Smb1, _)) => offers_smb2(message),
        _ => false,
    }
}
