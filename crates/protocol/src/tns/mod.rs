//! Oracle's TNS (Transparent Network Substrate) and what SQL*Net says in it.
//!
//! TNS frames everything: the search for the server, and DATA packets whose payloads, joined, are
//! TTC, the protocol of calls. A call is a round trip: what the client sends until the server
//! answers, and the answer.
//!
//! - [`packet`] reads the header of a packet in its two forms; [`connect`] what is said before there
//!   is a session; [`services`] whether it is encrypted.
//! - [`ttc`] reads requests and responses, as far as is needed.
//! - [`framing`] cuts bytes into packets, [`session`] makes turns of packets, [`turn`] keeps the little of each that is looked at,
//!   [`calls`] reads it, [`cursors`] know which statement a fetch belongs to.
//! - [`purpose`] tells what a session is for, where it is no application's.
//! - [`probe`] recognises a connection by what it carries, in its middle too.
//!
//! Oracle publishes none of this. Layouts are proven on captures of versions 9.2 to 12.1; those of
//! 12.2 to 23ai are from the sources of Oracle's open clients, and sessions that speak them say so
//! ([`SqlSession::unproven`](model::SqlSession)). Bind values, rows, passwords and keys are not read.

mod calls;
mod connect;
mod control;
mod cursors;
mod framing;
mod packet;
mod probe;
mod purpose;
mod services;
mod session;
mod ttc;
mod turn;

#[cfg(test)]
mod tests;

use crate::list::Entry;

/// TNS in the list of protocols.
pub const ENTRY: Entry = Entry {
    name: "tns",
    probe: probe::is_tns,
    session: |connection| Box::new(session::Session::new(connection)),
};
