//! What runs on a host, in a shell here: with programs in the place of tcpdump, and short bounds.

use crate::facts::COMMON;
use crate::quote;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

struct Bounds<'a> {
    seconds: &'a str,
    max_kb: &'a str,
    reserve_kb: &'a str,
    keep_s: &'a str,
    capture: &'a str,
}

/// Of two whole seconds of the host's clock one passes at least, in which what is started has begun.
const SHORT: &str = "2";

const USUAL: Bounds<'static> = Bounds {
    seconds: "60",
    max_kb: "1000000",
    reserve_kb: "0",
    keep_s: "0",
    capture: "sh -c 'echo listening on nothing >&2; trap \"echo 7 packets captured >&2; exit\" TERM; while :; do sleep 0.05; done'",
};

/// Runs it to its end; what is left of its folder is given, and the words of `done` as they stood there before.
fn run(bounds: &Bounds<'_>) -> (PathBuf, String) {
    let folder = tempfile::tempdir().expect("a folder").keep();
    let text = folder.display().to_string();
    // Its last words are kept beside it, as the folder goes.
    let last = format!("{text}.done");
    let body = include_str!("../scripts/runner.sh").replace(
        "mv -f done.new done",
        &format!("cp done.new {last}; cat said >>{last}; mv -f done.new done"),
    );
    let script = quote::script(
        &[
            ("folder", &text),
            ("seconds", bounds.seconds),
            ("max_kb", bounds.max_kb),
            ("reserve_kb", bounds.reserve_kb),
            ("keep_s", bounds.keep_s),
            ("capture", bounds.capture),
            ("output", "capture.pcap"),
            ("port", "9"),
            ("interface", "lo"),
        ],
        &format!("{COMMON}{body}"),
    );
    let status = Command::new("sh")
        .arg("-c")
        .arg(script)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .status();
    assert!(status.expect("a shell").success());
    let done = fs::read_to_string(&last).expect("it ended in order");
    fs::remove_file(last).expect("its last words");
    (folder, done)
}

#[test]
fn a_capture_that_nobody_stops_ends_by_itself_and_removes_what_nobody_fetches() {
    let (folder, done) = run(&Bounds {
        seconds: SHORT,
        ..USUAL
    });
    assert!(done.starts_with("time "), "{done}");
    assert!(done.contains("7 packets captured"), "{done}");
    assert!(!folder.exists());
}

#[test]
fn a_capture_that_is_large_enough_ends_in_order() {
    let capture =
        "sh -c 'head -c 3000000 /dev/zero; trap \"exit 0\" TERM; while :; do sleep 0.05; done'";
    let (folder, done) = run(&Bounds {
        max_kb: "2000",
        capture,
        ..USUAL
    });
    assert!(done.starts_with("size 0 "), "{done}");
    assert!(!folder.exists());
}

#[test]
fn a_disk_is_not_filled() {
    let (folder, done) = run(&Bounds {
        reserve_kb: "999999999999",
        ..USUAL
    });
    assert!(done.starts_with("disk "), "{done}");
    assert!(!folder.exists());
}

#[test]
fn a_program_that_ends_by_itself_is_told_with_its_code() {
    let capture = "sh -c 'echo it broke >&2; exit 3'";
    let (folder, done) = run(&Bounds { capture, ..USUAL });
    assert!(
        done.starts_with("died 3 ") && done.contains("it broke"),
        "{done}"
    );
    assert!(!folder.exists());
}

#[test]
fn a_program_that_will_not_end_is_killed() {
    let capture = "sh -c 'trap \"\" TERM; while :; do sleep 0.05; done'";
    let (folder, done) = run(&Bounds {
        seconds: SHORT,
        capture,
        ..USUAL
    });
    assert!(done.starts_with("time "), "{done}");
    assert!(!folder.exists());
}
