//! What a database's call says beyond its times: whose session it belongs to and which statement it
//! works on. One record is shared by all calls of a cursor, so that a call carries a pointer.

use crate::word::Word;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The operations of databases, by one name each whatever the protocol calls them.
pub mod op {
    use crate::Name;

    /// Finding the server: startup, greeting, TNS CONNECT with its ACCEPT, REDIRECT or REFUSE.
    pub const CONNECT: Name = Name::of("CONNECT");
    /// Agreeing on protocol, types, encryption.
    pub const NEGOTIATE: Name = Name::of("NEGOTIATE");
    /// Authentication.
    pub const LOGON: Name = Name::of("LOGON");
    /// Parsing a statement without executing it.
    pub const PREPARE: Name = Name::of("PREPARE");
    /// Executing a statement, and whatever came with it in the same round trip: parsing it before,
    /// the first rows after.
    pub const EXECUTE: Name = Name::of("EXECUTE");
    /// Fetching further rows.
    pub const FETCH: Name = Name::of("FETCH");
    /// Closing cursors or prepared statements.
    pub const CLOSE: Name = Name::of("CLOSE");
    pub const BEGIN: Name = Name::of("BEGIN");
    pub const COMMIT: Name = Name::of("COMMIT");
    pub const ROLLBACK: Name = Name::of("ROLLBACK");
    /// Reading or writing a large object apart from its row.
    pub const LOB: Name = Name::of("LOB");
    /// Bulk data: PostgreSQL's COPY, MySQL's LOCAL INFILE.
    pub const COPY: Name = Name::of("COPY");
    pub const PING: Name = Name::of("PING");
    /// Asking the server to stop what another call does.
    pub const CANCEL: Name = Name::of("CANCEL");
    pub const LOGOFF: Name = Name::of("LOGOFF");
    /// A request and its response of which no more than that is known: encrypted, compressed, or
    /// joined too late.
    pub const TURN: Name = Name::of("TURN");
    pub const OTHER: Name = Name::of("OTHER");
}

/// Why no statements are shown of a session.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Hidden {
    Tls,
    /// GSSAPI encryption.
    Gss,
    /// Oracle's native network encryption.
    NativeEncryption,
    Compression,
    /// The session was joined too late, or the capture lost too much of it, to read its messages.
    Unreadable,
}

impl Hidden {
    /// The word in machine output.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Hidden::Tls => "tls",
            Hidden::Gss => "gss",
            Hidden::NativeEncryption => "native-encryption",
            Hidden::Compression => "compression",
            Hidden::Unreadable => "unreadable",
        }
    }
}

/// What a session is for, where it is no application's.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Purpose {
    /// Oracle Data Guard ships redo to a standby database.
    RedoTransport,
    /// Oracle Data Guard's broker speaks with the broker of another database.
    DataGuardBroker,
    /// Oracle GoldenGate reads or applies changes.
    GoldenGate,
}

impl Purpose {
    /// The word in machine output.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Purpose::RedoTransport => "redo-transport",
            Purpose::DataGuardBroker => "data-guard-broker",
            Purpose::GoldenGate => "goldengate",
        }
    }
}

/// A database session, as far as its logon was seen. It never holds a password or a key.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug, Serialize, Deserialize)]
pub struct SqlSession {
    pub user: Option<Arc<str>>,
    /// PostgreSQL's and MySQL's database; Oracle's service name or SID.
    pub database: Option<Arc<str>>,
    /// The client's program: `application_name`, `program_name`, `PROGRAM=`.
    pub program: Option<Arc<str>>,
    /// The client's host and operating system user, as the client names them.
    pub client_host: Option<Arc<str>>,
    pub client_user: Option<Arc<str>>,
    /// The server's version, as it names it.
    pub server_version: Option<Arc<str>>,
    /// Oracle's session data unit and transport data unit that were agreed on, bytes; and those that
    /// the client offered.
    pub sdu_bytes: Option<u32>,
    pub tdu_bytes: Option<u32>,
    pub sdu_offered_bytes: Option<u32>,
    pub tdu_offered_bytes: Option<u32>,
    pub hidden: Option<Hidden>,
    pub purpose: Option<Purpose>,
    /// What Oracle's native services agreed on: the cipher, and the hash of integrity.
    #[serde(with = "crate::word::maybe")]
    pub cipher: Option<Word>,
    #[serde(with = "crate::word::maybe")]
    pub checksum: Option<Word>,
    /// Whether a password crossed the wire readable (it is not kept).
    pub plaintext_password: bool,
    /// Whether it is a native client of Oracle's whose numbers have their largest byte first: cursors and rows of its
    /// calls are not read.
    pub big_endian: bool,
    /// Whether the protocol's version is one whose layouts were only read in sources, never proved on
    /// a capture.
    pub unproven: bool,
}

/// Where a statement's text was found.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug, Serialize, Deserialize,
)]
pub enum Found {
    /// In its place in the message.
    #[default]
    Structured,
    /// By looking for SQL in a message that could not be read.
    Scanned,
}

/// A statement.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Statement {
    /// A stable hash of the normal form.
    pub id: u64,
    /// The normal form: without literals, comments and superfluous white space.
    pub normal: Arc<str>,
    /// As it was sent, literals and all: only shown when asked for.
    pub text: Arc<str>,
    /// Whether its end was not captured, or was too long to keep.
    pub truncated: bool,
    pub found: Found,
}

impl Statement {
    /// Bytes that it takes up.
    #[must_use]
    pub fn kept_bytes(&self) -> usize {
        size_of::<Statement>() + self.normal.len() + self.text.len()
    }
}

impl Sql {
    /// Bytes that it takes up beside its session.
    #[must_use]
    pub fn kept_bytes(&self) -> usize {
        size_of::<Sql>() + self.statement.as_deref().map_or(0, Statement::kept_bytes)
    }
}

/// Whose call it is, and what it works on.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug, Serialize, Deserialize)]
pub struct Sql {
    pub session: Arc<SqlSession>,
    /// `None`: the call has none, or it was not seen.
    pub statement: Option<Arc<Statement>>,
}
