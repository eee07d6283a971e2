//! Bytes into a run of one reader or decoder: what each fuzz target does, as a function that panics
//! when something is wrong. `fuzz.rs` hands libFuzzer's bytes to these; the example
//! `replay` runs them over a corpus without libFuzzer.
//!
//! Readers of files get the bytes as a file. The others take them apart with [`Unstructured`], which
//! reads integers in little-endian order and zeros behind the end, so that the example `seeds` can
//! write what they read.
//!
//! [`Unstructured`]: arbitrary::Unstructured

mod app;
pub mod commands;
mod decode;
mod expression;
mod filter;
mod host;
mod kept;
mod outputs;
mod pipeline;
mod probe;
mod programmes;
mod readers;
mod rpc;
pub mod said;
mod scrape;
mod scratch;
mod tns;
mod traces;
mod track;

pub use app::app;
pub use decode::{LINK_TYPES, decode};
pub use expression::expression;
pub use filter::filter;
pub use host::host;
pub use kept::{inputs, read};
pub use pipeline::pipeline;
pub use probe::probe_wire;
pub use programmes::programmes;
pub use readers::{compressed, pcap, pcapng, snoop};
pub use rpc::{mysql, names, pgsql, rpc_tcp, rpc_udp, smb2, turns};
pub use scrape::scrape;
pub use scratch::sweep;
pub use tns::tns;
pub use traces::{oracle_trace, sqlnet_trace};
pub use track::track;

/// A target's name and what it does.
pub type Target = (&'static str, fn(&[u8]));

/// The most exposed first.
pub const ALL: &[Target] = &[
    ("pipeline", pipeline),
    ("diagnose", commands::diagnose),
    ("live", commands::live),
    ("view", commands::view),
    ("report", commands::report),
    ("cut", commands::cut),
    ("calls", commands::calls),
    ("sql", commands::sql),
    ("rows", commands::rows),
    ("trace", commands::trace),
    ("save", commands::save),
    ("saved", commands::saved),
    ("rpc_tcp", rpc_tcp),
    ("pgsql", pgsql),
    ("mysql", mysql),
    ("smb2", smb2),
    ("names", names),
    ("tns", tns),
    ("track", track),
    ("decode", decode),
    ("programmes", programmes),
    ("pcapng", pcapng),
    ("pcap", pcap),
    ("compressed", compressed),
    ("snoop", snoop),
    ("rpc_udp", rpc_udp),
    ("turns", turns),
    ("app", app),
    ("host", host),
    ("oracle_trace", oracle_trace),
    ("sqlnet_trace", sqlnet_trace),
    ("filter", filter),
    ("probe_wire", probe_wire),
    ("scrape", scrape),
    ("expression", expression),
];
