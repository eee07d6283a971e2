//! Byte chunks into calls: one folder per protocol.
#![warn(clippy::indexing_slicing)]

pub mod rpc;
