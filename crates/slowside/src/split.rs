//! One capture into rows by several processes, each with a part of its connections: what threads are to a capture that one
//! process reads ([`stream`](mod@crate::stream)), processes are here, and what they hand on is bytes.
//!
//! ```text
//! files ─► Pieces ─► pieces, by share ─► Shard, one a share ─► told ─► judge() ─► seen ─► calls(), each a part
//! ```
//!
//! [`Pieces`] reads one file of the capture, or those that [overlap](span) in time, and gives of each batch a piece to each
//! share: the packets of its connections, all fragments, as only their datagram says whose they are, and what packets of
//! others say of the time. A [`Shard`] takes the pieces of one share in the order of files and batches, decodes and follows
//! connections as a thread does, and tells what a thread tells. All that shards told, in the order of batches, is a file
//! ([`TOLD`]) that [`judge`] reads as [`calls`](crate::calls()) reads a capture: what only all of it says is said there. Rows are
//! written by whoever has a part of what it hands on ([`SEEN`]).
//!
//! What goes from one to another is for the same version of slowside.

mod piece;
mod pieces;
mod seen;
mod shard;
mod telling;
mod told;

pub use pieces::{Pieces, span};
pub use seen::{Part, SEEN, judge};
pub use shard::Shard;
pub use telling::TOLD;

pub(crate) use seen::Seen;
pub(crate) use telling::Telling;

use crate::{Ends, Error, ends, run};
use std::path::PathBuf;

/// Shares at most: as many as there are partitions of connections.
pub const SHARES: usize = net::PARTITIONS;

/// The files of a capture, in the order in which they are read, and what cannot be read of it; `as_one`: whatever they hold.
///
/// # Errors
/// When nothing of it can be read, or it is more captures than one.
pub fn files(inputs: &[PathBuf], as_one: bool) -> Result<(Vec<String>, Vec<String>), Error> {
    let capture = run::open(inputs)?;
    if !as_one && ends(inputs) != Ends::One {
        let what = "files of it hold the same packets, so they are captures of several ends; give each as a capture point of \
                    its own, or say that they are one (as_one)";
        return Err(Error::Message(what.into()));
    }
    let damage = capture.problems().iter().filter(|(_, p)| p.damage);
    let damage = damage.map(|(_, p)| format!("{}: {}", p.first.file, p.example));
    Ok((capture.files().to_vec(), damage.collect()))
}

/// What another process handed on is not what it was.
fn not_ours() -> Error {
    Error::Message(
        "what another process handed on cannot be read; is it another version of slowside?".into(),
    )
}
