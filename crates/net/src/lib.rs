//! Packets into connections: [`Decoder`] strips link layers, tunnels and IP from each packet of a
//! batch and leaves TCP and UDP [`Segment`]s; [`Tracker`] sorts segments into connections, puts each
//! direction's bytes in order and hands them to a [`Handler`] as chunks, or as gaps of n bytes.
//!
//! Knows nothing of application protocols.
#![warn(clippy::indexing_slicing)]

mod account;
mod decode;
mod identifications;
mod segment;
mod track;

pub use decode::{Counts, Decoder, Flow, Outline, PacketAnonymiser, Whose};
pub use segment::{Connection, Ecn, Flags, Handler, Kept, Segment, Tcp};
pub use track::{PARTITIONS, Tracker, partition};
