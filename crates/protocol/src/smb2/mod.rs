//! SMB 2 and 3 ([MS-SMB2]), of Windows file servers and Samba: [`header`] reads the start of each
//! message, [`create`] what the common ones say, [`status`] names how they ended, and [`session`] makes
//! calls of requests and responses.
//!
//! - A call's operation is the command; its outcome the NTSTATUS of the response without `STATUS_`
//!   ([MS-ERREF] 2.3). Only errors are errors: `MORE_PROCESSING_REQUIRED` of a logon and warnings such
//!   as `NO_MORE_FILES` are `ok`.
//! - A response that says `STATUS_PENDING` promises another one with the same message id; that one is the
//!   answer.
//! - A `LOCK` that lets go is `UNLOCK`. What the server asks its client to give back (an oplock, a lease) is a call of the
//!   server's: `OPLOCK_BREAK` of `smb2.cb`, which the client answers by saying so or by closing the file.
//! - A file is told by its name where it was seen to be opened, so that it is the same for all who open it.
//! - Several requests in one message (a compound) are a call each. All begin and end with the message.
//! - An SMB 1 `NEGOTIATE` that offers SMB 2 is the first call; when the server chooses SMB 1 nothing
//!   further is read. Encrypted messages are not either: from the first of them on there are turns.

mod create;
mod header;
mod opens;
mod session;
mod status;
#[cfg(test)]
mod tests;

use crate::list::Entry;
use model::Transport;

/// SMB 2 in the list of protocols.
pub const ENTRY: Entry = Entry {
    name: "smb2",
    probe: |connection, _, bytes| {
        connection.transport == Transport::Tcp && header::is_certain(bytes)
    },
    session: |_| Box::new(session::Session::default()),
};
