//! A protocol that nobody speaks: the smallest one that works, to be copied for a new one.
//!
//! The client opens a connection with eight bytes that say what follows. Then both sides send
//! messages: a length, a kind, an id, and a body that nobody looks at. A response carries the id of
//! its request; ids of requests count up by one. What it shows of every protocol:
//! - [`message`] reads the wire format and knows nothing of connections; its tests are literal bytes.
//! - [`session`] says where messages end and makes calls of them. It holds no bytes: the driver
//!   collects what it asks for, lets bodies pass, and carries on over holes.
//! - [`ENTRY`] is recognised by content alone, so that it is never found in traffic that is not its
//!   own. A greeting that is spread over segments is not recognised either.
//! - Its calls are `tcp` in the `protocol` column; a real protocol has its own [`model::Protocol`].

mod message;
mod session;

#[cfg(test)]
mod tests;

use crate::list::Entry;
use model::{Direction, Transport};

/// The template in the list of protocols.
pub const ENTRY: Entry = Entry {
    name: "template",
    probe: |connection, direction, bytes| {
        connection.transport == Transport::Tcp
            && direction == Direction::ToServer
            && bytes.starts_with(&message::GREETING)
    },
    session: |_| Box::new(session::Session::default()),
};
