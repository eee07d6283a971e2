//! What packets say of the names of files: `name` in a directory is the file with this handle.
//!
//! A handle is known by its hash ([`Field::File`](crate::Field)). A name stands below another handle, or
//! below the root of what a server exports; so a path is put together from several packets, which may
//! come on several connections. Who does that takes them in the order of packets.

use crate::ConnectionId;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What a name is in.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Directory {
    /// Of this handle.
    File(u64),
    /// Where the server's paths begin.
    Root,
}

/// What a packet said.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Naming {
    /// The file with this handle is called so: a name in its directory, or several with slashes between
    /// them; of a root itself, nothing.
    Is {
        file: u64,
        within: Directory,
        name: Arc<str>,
    },
    /// It is called so as well: a hard link.
    Also {
        file: u64,
        within: Directory,
        name: Arc<str>,
    },
    /// What was the one is the other now.
    Moved {
        from: (Directory, Arc<str>),
        to: (Directory, Arc<str>),
    },
}

/// The same with its place among the capture's records.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FileName {
    /// The order of the packet that said it.
    pub order: u64,
    pub connection: ConnectionId,
    pub naming: Naming,
}
