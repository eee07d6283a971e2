//! The engine from capture files to calls and diagnoses: what must hold whatever happened to the
//! packets between the hosts and the files.
//!
//! Conversations are scripts whose truth is known (`kit`), so answers are held against what was
//! said and not against another run.

#![allow(clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

mod bounds;
mod kit;
mod loss;
mod places;
mod points;
mod rotation;
mod segments;
mod sessions;
mod sides;
mod split;
