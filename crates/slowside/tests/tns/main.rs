//! Public captures of SQL*Net, where they are at hand (`../shared/samples/tns`, some in `verdicts`): every byte is in a
//! packet, packets are those of tshark, statements those that stand in the bytes, and rows those that
//! were counted by hand.

#![allow(clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

mod framing;
mod statements;

use model::{Call, Protocol};
use std::path::PathBuf;

/// All captures, by name.
fn all() -> Vec<PathBuf> {
    let Some(folder) = testkit::at_hand::sample("tns") else {
        return Vec::new();
    };
    let entries = std::fs::read_dir(folder).expect("a folder");
    let mut paths: Vec<_> = entries.map(|e| e.expect("an entry").path()).collect();
    paths.extend(ELSEWHERE.iter().filter_map(|name| {
        let folder = testkit::at_hand::sample("verdicts")?;
        Some(folder.join(name))
    }));
    paths.sort();
    assert_eq!(paths.len(), 24);
    paths
}

/// Those that are held for their first sentence, too.
const ELSEWHERE: [&str; 4] = [
    "TNS_Oracle5.pcap",
    "john-Oracle-2.pcap",
    "john-Oracle-WinWin-1.pcap",
    "john-try-1-simple",
];

fn name(path: &std::path::Path) -> String {
    let name = path.file_name().expect("a name");
    name.to_str().expect("UTF-8").to_owned()
}

/// The calls of a capture, in order of completion.
fn calls(path: &std::path::Path) -> Vec<Call> {
    let mut calls = Vec::new();
    let mut sink = |call: &Call, _: &[String]| {
        calls.push(call.clone());
        Ok(())
    };
    let config = slowside::Config::default();
    slowside::each_call(&[path.to_owned()], &config, &mut sink, &mut |_| {}).expect("a capture");
    calls
}

fn tns(path: &std::path::Path) -> Vec<Call> {
    let mut calls = calls(path);
    calls.retain(|c| c.protocol == Protocol::Tns);
    calls
}
