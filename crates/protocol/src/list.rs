//! The list of protocols: one line each.

use crate::session::{ConnectionInfo, Session};
use crate::{dhcp, dns, mysql, nbns, pgsql, rpc, smb2, template, tns};
use model::Direction;

/// A protocol as the rest of slowside knows it.
pub struct Entry {
    pub name: &'static str,
    /// Whether these bytes, the start of a segment or datagram, are this protocol for certain.
    pub probe: fn(&ConnectionInfo, Direction, &[u8]) -> bool,
    pub session: fn(&ConnectionInfo) -> Box<dyn Session>,
}

/// Asked in this order.
pub(crate) const PROTOCOLS: &[Entry] = &[
    rpc::ENTRY,
    tns::ENTRY,
    pgsql::ENTRY,
    mysql::ENTRY,
    smb2::ENTRY,
    nbns::ENTRY,
    dhcp::ENTRY,
    dns::ENTRY,
    template::ENTRY,
];
