//! What runs on a host, in a shell here: with programs in the place of tcpdump, and short bounds.

use crate::facts::COMMON;
use crate::quote;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

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
    let bounds_of_all = include_str!("../scripts/bounds.sh").replace(
        "mv -f done.new done",
        &format!("cp done.new {last}; cat said >>{last}; mv -f done.new done"),
    );
    let body = format!("{bounds_of_all}{}", include_str!("../scripts/runner.sh"));
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

/// A ring of captures that each write the time of day, in hundredths of a second, while somebody waits for `waits`, and
/// then tells it to end; the numbers that it keeps, and the words of `done`.
fn ring(ring_s: &str, max_kb: &str, waits: Duration) -> (Vec<u64>, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().display().to_string();
    let capture = "sh -c 'echo listening on nothing >&2; trap exit TERM; while :; do date +%s%2N; sleep 0.05; done'";
    let one = quote::script(
        &[
            ("seconds", "60"),
            ("max_kb", max_kb),
            ("reserve_kb", "0"),
            ("keep_s", "60"),
            ("capture", capture),
            ("output", "capture.pcap"),
            ("port", "9"),
            ("interface", "lo"),
        ],
        &format!(
            "folder=$1\n{COMMON}{}{}",
            include_str!("../scripts/bounds.sh"),
            include_str!("../scripts/runner.sh")
        ),
    );
    let all = quote::script(
        &[
            ("folder", &path),
            ("seconds", "60"),
            ("ring_s", ring_s),
            ("max_kb", max_kb),
            ("keep_s", "60"),
        ],
        &format!(
            "{COMMON}{}{}",
            include_str!("../scripts/bounds.sh"),
            include_str!("../scripts/ring.sh")
        ),
    );
    fs::write(folder.path().join("one.sh"), one).expect("a script");
    let mut shell = Command::new("sh")
        .args(["-c", &all])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("a shell");
    thread::sleep(waits);
    fs::write(folder.path().join("stop"), "").expect("told to end");
    let done = folder.path().join("done");
    let begun = Instant::now();
    while !done.exists() && begun.elapsed() < Duration::from_secs(60) {
        thread::sleep(Duration::from_millis(50));
    }
    let done = fs::read_to_string(done).expect("it ended in order");
    let kept = fs::read_to_string(folder.path().join("capture.pcap")).expect("a capture");
    let numbered = |name: &std::ffi::OsStr| name.to_string_lossy().parse::<u32>();
    let files = fs::read_dir(folder.path()).expect("a folder");
    let others = files.filter(|f| numbered(&f.as_ref().expect("a file").file_name()).is_ok());
    assert!(others.count() <= 1, "one folder at most is left");
    drop(folder);
    assert!(shell.wait().expect("a shell").success());
    let numbers = kept.lines().filter_map(|line| line.parse().ok());
    (numbers.collect(), done)
}

#[test]
fn a_ring_keeps_what_passed_last_without_a_seam() {
    let (kept, done) = ring("2", "1000000", Duration::from_secs(8));
    assert!(done.starts_with("stopped "), "{done}");
    let (first, last) = (kept[0], kept[kept.len() - 1]);
    // What is asked for at least; not all that there was, which is eight seconds and more.
    assert!((150..700).contains(&(last - first)), "{}", last - first);
    let seams = kept.windows(2).filter(|w| w[1] - w[0] > 100).count();
    assert_eq!(seams, 0, "{kept:?}");
}
