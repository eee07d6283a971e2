//! What tests want and may not have: captures of others beside the repository, and programs to compare with.
//! Where something is not there, they say a word about it and go on; in CI programs must be there.
#![allow(clippy::print_stderr, reason = "says that nothing was tested")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

/// The repository.
#[must_use]
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// One end's capture of a case of `tests/lab`.
#[must_use]
pub fn lab(case: &str, side: &str) -> PathBuf {
    root().join(format!("tests/lab/{case}/{side}.pcap.zst"))
}

/// A public capture, or a folder of them (`../shared/samples`).
#[must_use]
pub fn sample(name: &str) -> Option<PathBuf> {
    beside("../shared/samples", name)
}

/// What a run of the lab left (`../shared/lab/out`).
#[must_use]
pub fn lab_run(name: &str) -> Option<PathBuf> {
    beside("../shared/lab/out", name)
}

fn beside(folder: &str, name: &str) -> Option<PathBuf> {
    let folder = root().join(folder);
    if !folder.exists() {
        eprintln!("skipped {name}: there is no {}", folder.display());
        return None;
    }
    let path = folder.join(name);
    assert!(path.exists(), "{} is gone", path.display());
    Some(path)
}

/// Whether a program is there.
#[must_use]
pub fn has(program: &str) -> bool {
    is_there(program, "")
}

/// Whether the tshark is there whose rules tests know.
#[must_use]
pub fn has_known_tshark() -> bool {
    is_there("tshark", ") 4.0.")
}

/// Whether a shell may mount file systems of its own: as root, or where users may have namespaces.
#[must_use]
pub fn may_mount() -> bool {
    may("unshare", "-rm")
}

/// Whether programs may be traced.
#[must_use]
pub fn may_trace() -> bool {
    may("strace", "-qq")
}

/// Whether a program that runs another with more rights may do so.
fn may(program: &str, with: &str) -> bool {
    let tried = Command::new(program).args([with, "true"]).output();
    let may = tried.is_ok_and(|t| t.status.success());
    let in_ci = std::env::var_os("CI").is_some();
    assert!(may || !in_ci, "{program} {with} is needed here");
    if !may {
        eprintln!("skipped: there is no {program} {with}");
    }
    may
}

/// A program of which `--version` says this. It is asked once: tshark takes half a second to say so.
fn is_there(program: &str, says: &str) -> bool {
    static SAID: Mutex<BTreeMap<String, String>> = Mutex::new(BTreeMap::new());
    let ask = || {
        let shown = Command::new(program).arg("--version").output();
        shown.map_or_else(
            |_| String::new(),
            |s| String::from_utf8_lossy(&s.stdout).into_owned(),
        )
    };
    let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
    let found = said
        .entry(program.to_owned())
        .or_insert_with(ask)
        .contains(says);
    drop(said);
    if !found {
        let in_ci = std::env::var_os("CI").is_some();
        assert!(!in_ci, "{program} {says} is needed here");
        eprintln!("skipped: there is no {program} {says}");
    }
    found
}

/// Nanoseconds of a number of seconds as tshark writes it, with at most nine digits behind the point.
#[must_use]
pub fn nanoseconds(seconds: &str) -> i64 {
    let (whole, fraction) = seconds.split_once('.').unwrap_or((seconds, "0"));
    let parse = |digits: &str| digits.parse::<i64>().expect("digits");
    parse(whole) * 1_000_000_000 + parse(&format!("{fraction:0<9}"))
}
