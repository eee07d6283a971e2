//! Files by name: what MOUNT, LOOKUP and READDIRPLUS say on one connection holds for READs on another.

use super::capture;
use super::contract::json;
use crate::kit::{file, slowside, text};
use serde_json::Value;
use std::path::{Path, PathBuf};
use testkit::{Conversation, TestPacket, rpc};

const MOUNT: (u32, u32) = (100_005, 3);
const ROOT: &[u8] = b"root";
const DIRECTORY: &[u8] = b"dir.";
/// Entries of the directory, whose listing takes several segments.
const ENTRIES: u8 = 200;

fn handle(n: u8) -> [u8; 8] {
    [b'f', b'i', b'l', b'e', 0, 0, 0, n]
}

fn words(values: &[u32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_be_bytes()).collect()
}

/// A connection from this port of a client, that begins so many milliseconds after the capture.
fn connection(port: u16, ms: i64) -> Conversation {
    let mut c = Conversation::new(([10, 0, 0, 1], port).into(), ([10, 0, 0, 2], 2049).into());
    c.at(1_000_000_000 + ms * 1_000_000).handshake();
    c
}

fn exchange(c: &mut Conversation, call: &[u8], reply: &[u8]) {
    c.client(&rpc::record(call)).after(1_000_000);
    // Segments end within entries.
    let reply = rpc::record(reply);
    let splits: Vec<usize> = (0..reply.len()).step_by(1_001).skip(1).collect();
    c.server_split(&reply, &splits).after(1_000_000);
}

/// MNT of /srv, LOOKUP of `data` in it, READDIRPLUS there, each on a connection of its own; READs before and
/// after that.
fn packets() -> Vec<TestPacket> {
    let mut reads = connection(700, 0);
    let read = |c: &mut Conversation, id: u32, file: &[u8]| {
        let call = rpc::read_call(id, file, 0, 64);
        exchange(c, &call, &rpc::read_reply(id, &[1; 64], false));
    };
    read(&mut reads, 1, &handle(7));
    reads.at(1_100_000_000);
    read(&mut reads, 2, &handle(7));
    read(&mut reads, 3, &handle(199));
    read(&mut reads, 4, b"unknown!");

    let mut mounts = connection(701, 10);
    let ok = [words(&[0]), rpc::opaque(ROOT), words(&[1, 1])].concat();
    let path = rpc::opaque(b"/srv");
    exchange(
        &mut mounts,
        &rpc::call(1, MOUNT, 1, &path),
        &rpc::reply(1, &ok),
    );

    let mut lookups = connection(702, 20);
    let arguments = [rpc::opaque(ROOT), rpc::opaque(b"data")].concat();
    let found = [words(&[0]), rpc::opaque(DIRECTORY), words(&[0, 0])].concat();
    exchange(
        &mut lookups,
        &rpc::call(1, rpc::NFS, 3, &arguments),
        &rpc::reply(1, &found),
    );

    let mut listings = connection(703, 30);
    let arguments = [rpc::opaque(DIRECTORY), words(&[0, 0, 0, 0, 8_192, 32_768])].concat();
    // No attributes, verifier.
    let mut list = words(&[0, 0, 0, 0]);
    for n in 0..ENTRIES {
        list.extend(words(&[1, 0, n.into()]));
        list.extend(rpc::opaque(format!("log{n}").as_bytes()));
        list.extend(words(&[0, n.into(), 0, 1]));
        list.extend(rpc::opaque(&handle(n)));
    }
    list.extend(words(&[0, 1]));
    exchange(
        &mut listings,
        &rpc::call(1, rpc::NFS, 17, &arguments),
        &rpc::reply(1, &list),
    );

    let all = [reads, mounts, lookups, listings];
    let mut packets: Vec<TestPacket> = all.iter().flat_map(Conversation::packets).collect();
    packets.sort_by_key(|p| p.time);
    packets
}

fn named(test: &str) -> PathBuf {
    file(test, "names.pcap", &capture(&packets()))
}

/// Path and calls of each file that was read, slowest first.
fn by_file(path: &Path, more: &[&str]) -> Vec<(Option<String>, u64)> {
    let words = [
        "ops",
        "--by",
        "file",
        "--format",
        "json",
        "--where",
        "op = READ",
    ];
    let words = words.iter().chain(more).map(std::ffi::OsStr::new);
    let ops = json(words.chain([path.as_os_str()]));
    let groups = ops["groups"].as_array().expect("groups").clone();
    let one = |g: &Value| {
        let path = g["path"].as_str().map(str::to_owned);
        (path, g["count"].as_u64().expect("a count"))
    };
    let mut files: Vec<_> = groups.iter().map(one).collect();
    files.sort();
    files
}

#[test]
fn names_of_other_connections_make_a_path() {
    let path = named("names-ops");
    let known = |name: &str| Some(format!("/srv/data/{name}"));
    let expected = [(None, 1), (known("log199"), 1), (known("log7"), 2)];
    for threads in ["1", "2", "3", "8"] {
        assert_eq!(by_file(&path, &["--threads", threads]), expected);
    }
    let table = text(&slowside(["ops".as_ref(), path.as_os_str(), "--by=file".as_ref()]).stdout);
    assert!(table.contains("/srv/data/log7"), "{table}");
    let csv = [
        "ops".as_ref(),
        path.as_os_str(),
        "--by=op,file".as_ref(),
        "--format=csv".as_ref(),
    ];
    let csv = text(&slowside(csv).stdout);
    assert!(
        csv.lines()
            .next()
            .is_some_and(|l| l.contains(",incomplete,path,")),
        "{csv}"
    );
    assert!(
        csv.lines().any(|l| l.contains(",/srv/data/log199,")),
        "{csv}"
    );
    // Without files there is no such column.
    let plain = text(&slowside(["ops".as_ref(), path.as_os_str(), "--format=csv".as_ref()]).stdout);
    assert!(!plain.contains("path"), "{plain}");
}

#[test]
fn a_row_has_the_path_that_was_known_when_the_call_was_complete() {
    let path = named("names-calls");
    let rows = |threads: &str| {
        let words = [
            "calls",
            "--format=jsonl",
            "--where=op = READ",
            "--threads",
            threads,
        ];
        let words = words.iter().map(std::ffi::OsStr::new);
        text(&slowside(words.chain([path.as_os_str()])).stdout)
    };
    let one = rows("1");
    let paths: Vec<Option<String>> = one
        .lines()
        .map(|line| {
            let row: Value = serde_json::from_str(line).expect("a line of JSON");
            row["detail"]["path"].as_str().map(str::to_owned)
        })
        .collect();
    let log = |n: u8| Some(format!("/srv/data/log{n}"));
    assert_eq!(paths, [None, log(7), log(199), None]);
    assert_eq!(rows("3"), one);
}

#[test]
fn a_listing_that_was_cut_names_what_is_left_of_it() {
    let cut = testkit::faults::snap(&packets(), 900);
    let path = file("names-cut", "names.pcap", &capture(&cut));
    let files = by_file(&path, &[]);
    assert_eq!(files.len(), 3);
    // What was captured of the first segment holds a few entries, not that of file 199.
    assert!(
        files
            .iter()
            .all(|(path, _)| path.as_deref() != Some("/srv/data/log199"))
    );
    assert!(
        files.contains(&(Some("/srv/data/log7".to_owned()), 2)),
        "{files:?}"
    );
}

#[test]
fn a_diagnosis_tells_the_files_by_name() {
    let path = named("names-diagnose");
    let d = json([
        "diagnose".as_ref(),
        path.as_os_str(),
        "--format=json".as_ref(),
    ]);
    let files = d["files"].as_array().expect("files");
    let log7 = files.iter().find(|f| f["path"] == "/srv/data/log7");
    let log7 = log7.unwrap_or_else(|| panic!("{files:?}"));
    assert_eq!(log7["calls"], 2);
    assert!(log7["total_ns"].as_i64() >= Some(2_000_000), "{log7}");
}

#[test]
fn pseudonyms_stand_for_names_and_keep_directories_apart() {
    let path = named("names-anonymise");
    for format in [
        &["ops", "--by", "file", "--format", "json"][..],
        &["ops", "--by", "file"],
        &["calls", "--format", "jsonl"],
        &["diagnose", "--format", "json"],
    ] {
        let words = format
            .iter()
            .copied()
            .chain(["--anonymise"])
            .map(std::ffi::OsStr::new);
        let out = text(&slowside(words.chain([path.as_os_str()])).stdout);
        assert!(!out.contains("log7") && !out.contains("srv"), "{out}");
        assert!(out.contains("/file-"), "{out}");
    }
}
