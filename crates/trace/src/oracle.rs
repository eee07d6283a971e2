//! Traces that an Oracle database or client wrote, into records: the extended SQL trace (event 10046),
//! SQL*Net traces of either side, the bytes that event 10079 notes. One file may hold all of them, and
//! each line tells what it is.
//!
//! A file is read once, from front to back, and nothing of it is kept but what [`read`] hands on.
//! Values of bind variables, dumped packets of data and lines that mean nothing are passed over. What
//! is cut or damaged is counted with its file, line and byte offset; a record that lacks one of its
//! times is left out whole, so that sums are over records that are whole.
//!
//! - `text.rs`: a file into lines
//! - `record.rs`: what is handed on
//! - `header.rs`: what a file says of itself, and the unit of its times
//! - `extended.rs`: lines of event 10046
//! - `sqlnet.rs`: lines of SQL*Net, `outcomes.rs`: those that say what came of something
//! - `stamp.rs`: dates of both

mod extended;
mod header;
mod outcomes;
mod reader;
mod record;
mod sqlnet;
mod stamp;
mod text;

pub use header::{Attempts, NetFacts, Side, TraceFile};
pub use reader::{read, read_counted, read_from};
pub use record::{
    Call, CallKind, NetBytes, Packet, PacketKind, Record, Statement, TransactionEnd, Wait,
};
pub use stamp::Stamp;
pub(crate) use stamp::days;
