//! The command as tests run it, and the files that they give it.

pub(crate) use testkit::at_hand::{
    has, has_known_tshark, lab, lab_run, may_mount, may_trace, nanoseconds, root, sample, signal,
};

use serde_json::Value;
use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The binary that cargo built.
pub(crate) const SLOWSIDE: &str = env!("CARGO_BIN_EXE_slowside");

/// slowside with these arguments, an empty standard input, and nothing of the environment that changes
/// what it writes.
pub(crate) fn command<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new(SLOWSIDE);
    command.args(arguments).env("TZ", "UTC");
    for name in ["COLUMNS", "NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE"] {
        command.env_remove(name);
    }
    command.stdin(Stdio::null());
    command
}

/// Runs it to its end.
pub(crate) fn slowside<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Output {
    let output = command(arguments).output();
    output.expect("the binary that cargo built")
}

/// The same with this standard input.
pub(crate) fn slowside_with<const N: usize>(arguments: [&str; N], input: &[u8]) -> Output {
    let mut child = waiting(arguments);
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(input).expect("a reader");
    drop(stdin);
    child.wait_with_output().expect("an end")
}

/// Starts it, with pipes to and from it.
pub(crate) fn waiting<S: AsRef<OsStr>>(
    arguments: impl IntoIterator<Item = S>,
) -> std::process::Child {
    command(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary that cargo built")
}

/// What it writes to standard output where it does what it was asked to; the input may be damaged.
pub(crate) fn said<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> String {
    let mut command = command(arguments);
    let output = command.output().expect("the binary that cargo built");
    let told = String::from_utf8_lossy(&output.stderr);
    let code = output.status.code();
    assert!(matches!(code, Some(0 | 3)), "{command:?}: {code:?}: {told}");
    text(&output.stdout)
}

/// These arguments, and this file.
pub(crate) fn with<'a>(arguments: &[&'a str], path: &'a Path) -> Vec<&'a OsStr> {
    let mut all: Vec<&OsStr> = arguments.iter().map(|&a| OsStr::new(a)).collect();
    all.push(path.as_os_str());
    all
}

/// What a subcommand [`said`], as JSON.
pub(crate) fn answer<S: AsRef<OsStr>>(
    subcommand: &str,
    arguments: impl IntoIterator<Item = S>,
) -> Value {
    parsed(&asked(subcommand, "json", arguments))
}

/// The same of one that writes a line of JSON for each row.
pub(crate) fn rows<S: AsRef<OsStr>>(
    subcommand: &str,
    arguments: impl IntoIterator<Item = S>,
) -> Vec<Value> {
    let lines = asked(subcommand, "jsonl", arguments);
    lines.lines().map(parsed).collect()
}

fn asked<S: AsRef<OsStr>>(
    subcommand: &str,
    format: &str,
    arguments: impl IntoIterator<Item = S>,
) -> String {
    let mut all: Vec<_> = [subcommand, "--format", format, "-q"]
        .map(Into::into)
        .into();
    all.extend(arguments.into_iter().map(|a| a.as_ref().to_owned()));
    said::<std::ffi::OsString>(all)
}

pub(crate) fn parsed(json: &str) -> Value {
    serde_json::from_str(json).unwrap_or_else(|e| panic!("{e}: {json}"))
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

/// Exit code 2, nothing on standard output, and one line on standard error, which is returned.
pub(crate) fn refused<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> String {
    let output = slowside(arguments);
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert_eq!(text(&output.stdout), "");
    assert_eq!(message.lines().count(), 1, "{message}");
    assert!(message.starts_with("slowside: "), "{message}");
    message
}

/// A folder of the test's own, empty.
pub(crate) fn folder(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("cargo's folder for tests");
    folder
}

/// A file in a folder of the test's own, which others may be in.
pub(crate) fn file(test: &str, name: &str, bytes: &[u8]) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    fs::create_dir_all(&folder).expect("cargo's folder for tests");
    let path = folder.join(name);
    fs::write(&path, bytes).expect("cargo's folder for tests");
    path
}
