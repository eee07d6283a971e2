//! The command from outside, by topic: `cargo test -p cli --test all TOPIC::` runs one. One binary for all,
//! because each is linked with everything that the command is made of.

#![allow(clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

mod columns;
mod command;
mod compare;
mod cut;
mod docs;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod faults;
mod field;
#[cfg(unix)]
mod files;
mod first_hour;
mod health;
mod kernel;
mod kit;
mod lab;
mod memory;
mod mysql;
mod oracle;
mod packets;
mod pgsql;
#[cfg(target_os = "linux")]
mod privilege;
mod report;
mod samples;
mod seam;
mod sql;
mod startup;
mod traces;
mod tshark;
#[cfg(unix)]
mod view;
mod words;
