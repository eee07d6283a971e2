//! Packets of SQL*Net (TNS), as captures and traces have them.

use crate::{ConnectionId, Mark, Name, Purpose, SqlSession};
use serde::{Deserialize, Serialize};

/// The type in a packet's header.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PacketKind(pub u8);

impl PacketKind {
    pub const CONNECT: PacketKind = PacketKind(1);
    pub const ACCEPT: PacketKind = PacketKind(2);
    pub const REFUSE: PacketKind = PacketKind(4);
    pub const REDIRECT: PacketKind = PacketKind(5);
    pub const DATA: PacketKind = PacketKind(6);

    /// The number, its name, and how a trace calls it.
    const NAMES: [(u8, &'static str, &'static str); 13] = [
        (1, "connect", "NSPTCN"),
        (2, "accept", "NSPTAC"),
        (3, "ack", "NSPTAK"),
        (4, "refuse", "NSPTRF"),
        (5, "redirect", "NSPTRD"),
        (6, "data", "NSPTDA"),
        (7, "null", "NSPTNL"),
        (9, "abort", "NSPTAB"),
        (11, "resend", "NSPTRS"),
        (12, "marker", "NSPTMK"),
        (13, "attention", "NSPTAT"),
        (14, "control", "NSPTCNL"),
        (15, "data-descriptor", "NSPTDD"),
    ];

    /// As a trace names it: `NSPTDA`.
    #[must_use]
    pub fn of(word: &str) -> Option<PacketKind> {
        let found = PacketKind::NAMES.iter().find(|(_, _, w)| *w == word);
        found.map(|(kind, _, _)| PacketKind(*kind))
    }

    #[must_use]
    pub fn name(self) -> Name {
        let found = PacketKind::NAMES.iter().find(|(k, _, _)| *k == self.0);
        found.map_or_else(
            || Name::of(&format!("type {}", self.0)),
            |(_, name, _)| Name::of(name),
        )
    }
}

/// What a session agreed on for its packets, and what it is for.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct SqlNetSession {
    /// The session and transport data units that were agreed on, and those that the client offered, bytes.
    pub sdu_bytes: Option<u32>,
    pub tdu_bytes: Option<u32>,
    pub sdu_offered_bytes: Option<u32>,
    pub tdu_offered_bytes: Option<u32>,
    pub purpose: Option<Purpose>,
}

impl SqlNetSession {
    /// What is known of `session`.
    #[must_use]
    pub fn of(session: &SqlSession) -> SqlNetSession {
        SqlNetSession {
            sdu_bytes: session.sdu_bytes,
            tdu_bytes: session.tdu_bytes,
            sdu_offered_bytes: session.sdu_offered_bytes,
            tdu_offered_bytes: session.tdu_offered_bytes,
            purpose: session.purpose,
        }
    }
}

/// A packet that passed on a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SqlNetPacket {
    pub connection: ConnectionId,
    pub by_client: bool,
    pub kind: PacketKind,
    /// With its header, as that says; of a data descriptor without what it describes.
    pub bytes: u64,
    /// What brought its first byte and its last.
    pub first: Mark,
    pub last: Mark,
}
