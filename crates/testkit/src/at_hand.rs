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
    static SAID: Mutex<BTreeMap<String, Option<String>>> = Mutex::new(BTreeMap::new());
    let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
    let shown = said
        .entry(program.to_owned())
        .or_insert_with(|| version(program));
    let found = shown.as_ref().is_some_and(|shown| shown.contains(says));
    drop(said);
    if !found {
        let in_ci = std::env::var_os("CI").is_some();
        assert!(!in_ci, "{program} {says} is needed here");
        eprintln!("skipped: there is no {program} {says}");
    }
    found
}

/// What it says of itself, if it is there.
fn version(program: &str) -> Option<String> {
    let shown = Command::new(program).arg("--version").output().ok()?;
    Some(String::from_utf8_lossy(&shown.stdout).into_owned())
}

/// Sends a signal, such as `INT`, by a shell: the program that does so is not everywhere. Whether it was sent: the process may
/// have ended.
#[must_use]
pub fn signal(name: &str, process: u32) -> bool {
    let kill = format!("kill -s {name} {process}");
    let sent = Command::new("sh").args(["-c", &kill]).status();
    sent.is_ok_and(|status| status.success())
}

/// Nanoseconds of a number of seconds as tshark writes it, with at most nine digits behind the point.
#[must_use]
pub fn nanoseconds(seconds: &str) -> i64 {
    let (whole, fraction) = seconds.split_once('.').unwrap_or((seconds, "0"));
    let parse = |digits: &str| digits.parse::<i64>().expect("digits");
    parse(whole) * 1_000_000_000 + parse(&format!("{fraction:0<9}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_not_there_is_not() {
        assert!(version("sh-that-is-nowhere").is_none());
        assert!(version("cargo").is_some_and(|said| said.contains("cargo")));
    }
}
