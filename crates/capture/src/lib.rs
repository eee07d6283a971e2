//! Packet captures into batches of packets: files, directories and standard input become one stream
//! of [`model::Batch`]es in time order, with drop counters and snap lengths.
//!
//! Formats are recognized by their first bytes, never by name: pcap, pcapng and snoop (a module
//! each), perhaps compressed (`source`). A file is read in large pieces straight into the batch and
//! its packets are found in place (`file`); several files become one capture by a merge that opens
//! each file when its time has come (`inputs`, `capture`). Damage is counted and stepped over
//! (`resync`), never fatal while anything can be read. Packets are written as pcapng (`pcapng::write`).

#![warn(clippy::indexing_slicing)]

mod capture;
mod error;
mod file;
mod inputs;
mod kept;
mod name;
mod pcap;
mod pcapng;
mod resync;
mod snoop;
mod source;
mod summary;
#[cfg(test)]
mod tests;

pub use capture::Capture;
pub use error::CaptureError;
pub use inputs::same_file;
pub use kept::{is_read_once, keep, unlinked_file};
pub use pcapng::beside::Beside;
pub use pcapng::write::{Interface, PacketBlock, PcapNgWriter};
pub use source::Compression;
pub use summary::{CaptureSummary, FileSummary, Format};
