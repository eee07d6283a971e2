//! PostgreSQL's frontend/backend protocol, version 3, into calls (documentation, chapter 55).
//!
//! One call is one Query, one Execute with what was sent before it, one COPY, one logon. Choices:
//! - An Execute's response ends with its CommandComplete, PortalSuspended, EmptyQueryResponse or
//!   ErrorResponse. A Sync and its ReadyForQuery belong to the last call of the cycle, if that still
//!   waits; a Sync that comes later is a round trip of its own.
//! - What the server skips after an error until the Sync has the outcome `skipped` and ends with the
//!   ReadyForQuery, which is when the client knows.
//! - Where the server asks for more within a call (authentication, COPY FROM STDIN), the request goes
//!   on and the response begins with what follows: an inner trip.
//! - FETCH of a cursor carries the statement that declared it.
//! - Terminate and Flush want no answer and are no calls. A CancelRequest is one, though all it gets is
//!   the end of its connection. What the server says unasked (NOTIFY, changed parameters) is none.
//! - A connection that goes over to TLS or GSSAPI encryption has turns from there on.
//!
//! [`message`] cuts the stream, [`startup`], [`request`] and [`reply`] read messages, [`verb`] and
//! [`tag`] what statements do and did, [`names`] remembers prepared statements, portals and cursors;
//! [`session`] is a connection and [`queue`] pairs requests with replies. [`chain`] recognises the
//! protocol in the middle of a stream.

mod chain;
mod message;
mod names;
mod oriented;
mod queue;
mod replication;
mod reply;
mod request;
mod session;
mod startup;
mod tag;
mod verb;

#[cfg(test)]
mod tests;

use crate::list::Entry;
use model::Transport;

/// PostgreSQL in the list of protocols.
pub const ENTRY: Entry = Entry {
    name: "pgsql",
    probe: |connection, direction, bytes| {
        connection.transport == Transport::Tcp && chain::probe(connection, direction, bytes)
    },
    session: |connection| Box::new(oriented::Oriented::new(connection)),
};
