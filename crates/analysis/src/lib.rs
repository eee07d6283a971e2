//! Calls into answers: groups, matches of two captures, clock alignment, findings and the verdict.
//!
//! Pure: no I/O, no bytes, no output formats.

pub mod filter;
pub mod findings;
pub mod group;
pub mod results;
pub mod stats;
