//! MySQL's and MariaDB's client/server protocol into calls.
//!
//! A client's command and the server's response to it are a call. The wire format is read by
//! [`packet`], [`logon`], [`command`] and [`response`], which know nothing of connections;
//! [`session`] cuts the two directions into requests and responses, [`pairing`] makes calls of them,
//! [`waiting`] is one that is not complete. Choices:
//! - It is recognised by content: by the server's greeting, or in mid-connection by a command that
//!   cannot be anything else, which is SQL in its place or the execution of a prepared statement.
//! - The greeting is a call `CONNECT`, which the client's last packet of the TCP handshake asked for.
//!   All steps of an authentication are one call `LOGON`, its inner round trips counted; LOCAL INFILE
//!   is one call `COPY` whose request ends with the file.
//! - Commands without a response (COM_QUIT, COM_STMT_CLOSE) are no calls: nobody waits for them.
//!   COM_STMT_SEND_LONG_DATA is the first part of the request that executes its statement.
//! - Rows pass unread: only the header and first byte of each are looked at.
//! - A statement's text is kept where it stands, or as it was prepared; its session and statement are
//!   shared by all calls. Passwords are never kept.
//! - Behind the request for TLS, and when compression was agreed on, turns are followed.
//! - Who asks for the binary log gets a stream without end: the call ends with its first packet, and
//!   what follows is counted as `mysql-binlog-stream` and makes no calls; it has an account as streams have. What a replica is to
//!   confirm of it (semi-synchronous replication) a server's clients may wait for: [`replication`].
//!
//! Packets have no number that outlasts a command, so that pairing follows from order alone. Where a
//! hole leaves a doubt, the call is given up: see [`pairing`].

mod command;
mod logon;
mod packet;
mod pairing;
mod prepared;
mod probe;
mod replication;
mod response;
mod session;
mod waiting;

#[cfg(test)]
mod tests;

use crate::list::Entry;
use model::Transport;

/// MySQL in the list of protocols.
pub const ENTRY: Entry = Entry {
    name: "mysql",
    probe: |connection, direction, bytes| {
        connection.transport == Transport::Tcp && probe::is_mysql(direction, bytes)
    },
    session: |_| Box::new(session::Session::default()),
};
