//! Names, addresses and statements into pseudonyms, so that results may be shown to others.
//!
//! Every pseudonym is a function of a key and of what it stands for (HMAC-SHA-256, RFC 2104): the same
//! name has the same pseudonym wherever it occurs, in every run with the same key, and without the key
//! nobody can tell whether a guessed name is behind one.
//!
//! - **Addresses** keep what they have in common, as in Crypto-PAn (Xu, Fan, Ammar, Moon 2002): two that
//!   share their first n bits share them afterwards, and no two become one. What says only what kind of
//!   address it is stays: private, loopback, link-local, multicast, broadcast.
//! - **Statements** are shown in their normal form, without literals; keywords and common functions stay,
//!   every other name becomes a pseudonym.
//! - **Findings** hold names as values, which become pseudonyms one by one before a sentence is written. What
//!   is text for people from the beginning is looked through for addresses, and must come without other names.
//!
//! What stays: times, sizes, counts, ports, operations, versions of servers, states that products have documented.

mod words;

use hmac_sha256::HMAC;
use model::{Call, Code, Endpoint, Field, Outcome, Protocol, Sql, SqlSession, Statement, limits};
use statement::normalise;
use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

/// What a name names. The same text as two kinds has two pseudonyms.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NameKind {
    /// A file, with or without directories.
    File,
    Host,
    /// Of a database or of an operating system.
    User,
    Program,
    /// A database or service.
    Database,
}

impl NameKind {
    /// What its pseudonyms begin with.
    #[must_use]
    pub fn prefix(self) -> &'static str {
        match self {
            NameKind::File => "file",
            NameKind::Host => "host",
            NameKind::User => "user",
            NameKind::Program => "program",
            NameKind::Database => "database",
        }
    }
}

/// What a pseudonym is made of besides the key: no two uses share one.
#[derive(Clone, Copy)]
enum Use {
    V4 = 1,
    V6,
    Mac,
    Identifier,
    File,
    Host,
    User,
    Program,
    Database,
    FileHandle,
    Statement,
    State,
}

impl From<NameKind> for Use {
    fn from(kind: NameKind) -> Use {
        match kind {
            NameKind::File => Use::File,
            NameKind::Host => Use::Host,
            NameKind::User => Use::User,
            NameKind::Program => Use::Program,
            NameKind::Database => Use::Database,
        }
    }
}

/// Endings of file names that say what a file is and not whose.
const ENDINGS: [&str; 14] = [
    ".pcap", ".pcapng", ".cap", ".snoop", ".dmp", ".gz", ".zst", ".lz4", ".xz", ".zip", ".trc",
    ".log", ".csv", ".json",
];

/// Prefixes of addresses, with their lengths in bits, that say what kind of address it is.
const KINDS_V4: [(Ipv4Addr, u32); 10] = [
    (Ipv4Addr::UNSPECIFIED, 32),
    (Ipv4Addr::new(0, 0, 0, 0), 8),
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    (Ipv4Addr::LOCALHOST, 32),
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    (Ipv4Addr::new(224, 0, 0, 0), 4),
    (Ipv4Addr::new(240, 0, 0, 0), 4),
    (Ipv4Addr::BROADCAST, 32),
];
const KINDS_V6: [(Ipv6Addr, u32); 6] = [
    (Ipv6Addr::UNSPECIFIED, 128),
    (Ipv6Addr::LOCALHOST, 128),
    (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3),
    (Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 0), 8),
    (Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0), 64),
    (Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 0), 16),
];

/// Makes pseudonyms with one key.
///
/// It remembers those of addresses, as each takes some microseconds to make; what it answers does not
/// depend on what it was asked before.
#[derive(Clone)]
pub struct Anonymiser {
    keyed: HMAC,
    addresses: RefCell<HashMap<IpAddr, IpAddr>>,
}

/// Nobody needs to see the key.
impl fmt::Debug for Anonymiser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Anonymiser")
    }
}

impl Anonymiser {
    /// `key` may be of any length; who knows it can tell whether a guess is right.
    #[must_use]
    pub fn new(key: &[u8]) -> Anonymiser {
        Anonymiser {
            keyed: HMAC::new(key),
            addresses: RefCell::default(),
        }
    }

    fn digest(&self, of: Use, parts: &[&[u8]]) -> [u8; 32] {
        let mut keyed = self.keyed.clone();
        keyed.update([of as u8]);
        parts.iter().for_each(|part| keyed.update(part));
        keyed.finalize()
    }

    fn number(&self, of: Use, parts: &[&[u8]]) -> u64 {
        let digest = self.digest(of, parts);
        u64::from_be_bytes(*digest.first_chunk().unwrap_or(&[0; 8]))
    }

    /// The pseudonym of an address.
    #[must_use]
    pub fn address(&self, address: IpAddr) -> IpAddr {
        if let Some(known) = self.addresses.borrow().get(&address) {
            return *known;
        }
        let new = match address {
            IpAddr::V4(a) => IpAddr::V4(self.v4(a)),
            IpAddr::V6(a) => IpAddr::V6(match a.to_ipv4_mapped() {
                Some(v4) => self.v4(v4).to_ipv6_mapped(),
                None => {
                    let kinds = KINDS_V6.map(|(a, bits)| (a.to_bits(), bits));
                    Ipv6Addr::from_bits(self.permute(Use::V6, a.to_bits(), 128, &kinds))
                }
            }),
        };
        let mut known = self.addresses.borrow_mut();
        if known.len() >= limits::PSEUDONYMS {
            known.clear();
        }
        known.insert(address, new);
        new
    }

    fn v4(&self, a: Ipv4Addr) -> Ipv4Addr {
        let left = |a: Ipv4Addr| u128::from(a.to_bits()) << 96;
        let kinds = KINDS_V4.map(|(a, bits)| (left(a), bits));
        let new = self.permute(Use::V4, left(a), 32, &kinds);
        Ipv4Addr::from_bits((new >> 96) as u32)
    }

    /// Turns each bit over or not, by the bits before it alone; none that leads to one of `kinds`. The
    /// address stands in the upper bits.
    fn permute(&self, of: Use, address: u128, bits: u32, kinds: &[(u128, u32)]) -> u128 {
        let mut new = address;
        for i in 0..bits {
            // The upper i bits.
            let before = address & !u128::MAX.checked_shr(i).unwrap_or(0);
            let leads = |&(kind, length): &(u128, u32)| {
                i < length && (kind ^ before) & !u128::MAX.checked_shr(i).unwrap_or(0) == 0
            };
            if kinds.iter().any(leads) {
                continue;
            }
            let turn = self.number(of, &[&[i as u8], &before.to_be_bytes()]) & 1;
            new ^= u128::from(turn) << (127 - i);
        }
        new
    }

    #[must_use]
    pub fn endpoint(&self, end: Endpoint) -> Endpoint {
        Endpoint {
            address: self.address(end.address),
            port: end.port,
        }
    }

    /// The pseudonym of an Ethernet address: one that is locally administered. Broadcast, and groups
    /// that are no hosts' business, stay; groups that are made of an IP address keep only their kind.
    #[must_use]
    pub fn mac(&self, mac: [u8; 6]) -> [u8; 6] {
        let [n0, n1, n2, n3, n4, n5, ..] = self.number(Use::Mac, &[&mac]).to_be_bytes();
        match mac {
            [0, 0, 0, 0, 0, 0] => mac,
            // RFC 1112 6.4 and RFC 2464 7.
            [0x01, 0x00, 0x5e, ..] => [0x01, 0x00, 0x5e, n3 & 0x7f, n4, n5],
            [0x33, 0x33, ..] => [0x33, 0x33, n2, n3, n4, n5],
            [group, ..] if group & 1 == 1 => mac,
            _ => [n0 & 0xfc | 2, n1, n2, n3, n4, n5],
        }
    }

    /// The pseudonym of a name, such as `user-5f0c11d2`; that of a file keeps endings such as `.pcap`.
    #[must_use]
    pub fn name(&self, kind: NameKind, name: &str) -> String {
        // Standard input is nobody's name.
        if name.is_empty() || (kind == NameKind::File && name == "-") {
            return name.to_owned();
        }
        let mut stem = name;
        while kind == NameKind::File
            && let Some(shorter) = ENDINGS.iter().find_map(|e| stem.strip_suffix(e))
        {
            stem = shorter;
        }
        let ending = name.get(stem.len()..).unwrap_or_default();
        let hash = self.number(kind.into(), &[name.as_bytes()]) >> 32;
        format!("{}-{hash:08x}{ending}", kind.prefix())
    }

    /// The path of a file on a server, with a pseudonym for each directory.
    #[must_use]
    pub fn path(&self, path: &str) -> String {
        let names = path.split('/').map(|n| self.name(NameKind::File, n));
        names.collect::<Vec<_>>().join("/")
    }

    fn shared(&self, kind: NameKind, name: Option<&Arc<str>>) -> Option<Arc<str>> {
        name.map(|name| self.name(kind, name).into())
    }

    /// A statement's normal form with pseudonyms for all names in it.
    #[must_use]
    pub fn sql(&self, sql: &str) -> String {
        statement::rename(&normalise(sql), &|name| {
            // `"Emp"` and `emp` may be two things, `EMP` and `emp` are one.
            let folded = match name.contains('"') {
                true => name.to_owned(),
                false => name.to_ascii_lowercase(),
            };
            if words::is_keyword(&folded) {
                return name.to_owned();
            }
            let hash = self.number(Use::Identifier, &[folded.as_bytes()]) >> 32;
            format!("n{hash:08x}")
        })
    }

    /// The pseudonym of a statement's id.
    #[must_use]
    pub fn statement_id(&self, id: u64) -> u64 {
        self.number(Use::Statement, &[&id.to_be_bytes()])
    }

    /// The pseudonym of a file handle's hash.
    #[must_use]
    pub fn file_handle(&self, hash: u64) -> u64 {
        self.number(Use::FileHandle, &[&hash.to_be_bytes()])
    }

    /// A statement without its literals: those are gone for good.
    #[must_use]
    pub fn statement(&self, s: &Statement) -> Statement {
        let normal: Arc<str> = self.sql(&s.normal).into();
        Statement {
            id: self.statement_id(s.id),
            text: Arc::clone(&normal),
            normal,
            truncated: s.truncated,
            found: s.found,
        }
    }

    #[must_use]
    pub fn session(&self, s: &SqlSession) -> SqlSession {
        SqlSession {
            user: self.shared(NameKind::User, s.user.as_ref()),
            database: self.shared(NameKind::Database, s.database.as_ref()),
            program: self.shared(NameKind::Program, s.program.as_ref()),
            client_host: self.shared(NameKind::Host, s.client_host.as_ref()),
            client_user: self.shared(NameKind::User, s.client_user.as_ref()),
            ..s.clone()
        }
    }

    /// How a call ended, with a pseudonym for a state that somebody chose.
    #[must_use]
    pub fn outcome(&self, outcome: Outcome) -> Outcome {
        match outcome {
            Outcome::Code(code) if !code.is_public() => {
                let hash = self.number(Use::State, &[code.as_str().as_bytes()]) >> 32;
                Outcome::Code(Code::public(&format!("state-{hash:08x}")))
            }
            known => known,
        }
    }

    /// A call as a row shows it.
    pub fn call(&self, call: &mut Call) {
        call.client = self.endpoint(call.client);
        call.server = self.endpoint(call.server);
        call.outcome = self.outcome(call.outcome);
        for (field, new) in [
            (
                Field::File,
                Anonymiser::file_handle as fn(&Anonymiser, u64) -> u64,
            ),
            (Field::Statement, Anonymiser::statement_id),
        ] {
            if let Some(value) = call.detail.get(field) {
                call.detail.set(field, new(self, value));
            }
        }
        if !call.protocol.has_public_text()
            && let Some(name) = &call.text
        {
            let kind = match call.protocol.is_lookup() || call.protocol == Protocol::Tls {
                true => NameKind::Host,
                false => NameKind::File,
            };
            let pseudonym = match name.parse() {
                Ok(address) => self.address(address).to_string(),
                Err(_) => self.name(kind, name),
            };
            call.text = Some(pseudonym.into());
        }
        if let Some(sql) = &call.sql {
            call.sql = Some(Arc::new(Sql {
                session: Arc::new(self.session(&sql.session)),
                statement: sql.statement.as_ref().map(|s| Arc::new(self.statement(s))),
            }));
        }
    }
}

#[cfg(test)]
mod tests;
