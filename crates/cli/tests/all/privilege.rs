//! With which rights an interface is captured from: the kernel's own word on each thread of a run. Root, with setpriv
//! for the rights that containers and files give; where that is not to be had the tests say so and are left out.

use crate::command::Collector;
use crate::kit::{SLOWSIDE, command, has, signal, slowside, text};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread;

const NOBODY: u32 = 65534;

/// Whether this process may do what these tests begin with.
#[allow(clippy::print_stderr, reason = "says what was left out")]
fn may_capture() -> bool {
    let tried = slowside(["info", "-i", "lo", "--for", "1ms", "-Z", "root", "-q"]);
    let may = fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0)
        && tried.status.code() == Some(0)
        && has("setpriv");
    if !may {
        eprintln!("left out: needs root, the right to capture, and setpriv");
    }
    may
}

/// What `/proc` says of a thread, by its name there.
fn said(status: &str, name: &str) -> String {
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let value = line.and_then(|line| line.strip_prefix(':'));
    let words: Vec<_> = value.expect(name).split_whitespace().collect();
    words.join(" ")
}

/// Calls on the loopback: a byte and its answer.
fn calls() {
    let host = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = host.local_addr().expect("bound");
    let server = thread::spawn(move || {
        let (mut client, _) = host.accept().expect("a client");
        let mut byte = [0];
        while client.read(&mut byte).expect("bytes") > 0 {
            client.write_all(&byte).expect("a client");
        }
    });
    let mut client = TcpStream::connect(address).expect("a server");
    for _ in 0..20 {
        client.write_all(&[1]).expect("a server");
        client.read_exact(&mut [0]).expect("an answer");
    }
    drop(client);
    server.join().expect("ends");
}

/// What a run that captures was seen to be, and how it ended.
struct Seen {
    /// Of each thread, after the first packets were parsed.
    threads: Vec<String>,
    output: Output,
}

impl Seen {
    /// Starts it, and ends it with a signal when it has said something of calls.
    fn of(mut command: Command) -> Seen {
        let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let mut lines = BufReader::new(child.stdout.take().expect("a pipe"));
        let said = thread::spawn(move || {
            let mut line = String::new();
            while !line.contains("\"calls\"") {
                line.clear();
                if lines.read_line(&mut line).expect("a pipe") == 0 {
                    return None;
                }
            }
            Some(lines)
        });
        // Those before the interface was open are not seen, and a silence behind them has no line before it ends.
        while !said.is_finished() {
            calls();
        }
        let Some(mut lines) = said.join().expect("ends") else {
            panic!("{:?}", ended(child));
        };
        let threads = threads(&child);
        interrupt(&child);
        let mut rest = Vec::new();
        lines.read_to_end(&mut rest).expect("a pipe");
        let mut output = ended(child);
        output.stdout = rest;
        Seen { threads, output }
    }

    /// Of all threads, which are several.
    fn all_have(&self, name: &str, value: &str) {
        assert!(self.threads.len() > 1, "{}", self.threads.len());
        for status in &self.threads {
            assert_eq!(said(status, name), value, "{name}: {status}");
        }
    }

    fn has_no_rights(&self) {
        for set in ["CapInh", "CapPrm", "CapEff", "CapAmb"] {
            self.all_have(set, "0000000000000000");
        }
        self.all_have("NoNewPrivs", "1");
    }

    fn ended_well(&self) {
        let told = text(&self.output.stderr);
        assert_eq!(self.output.status.code(), Some(0), "{told}");
        assert!(text(&self.output.stdout).contains("\"kind\":\"total\""));
    }
}

/// What `/proc` says of each thread of a run.
fn threads(run: &Child) -> Vec<String> {
    let tasks = fs::read_dir(format!("/proc/{}/task", run.id())).expect("it runs");
    let statuses = tasks.filter_map(|task| {
        let status = task.expect("a thread").path().join("status");
        match fs::read_to_string(status) {
            // It has ended meanwhile.
            Err(e) if matches!(e.raw_os_error(), Some(libc::ENOENT | libc::ESRCH)) => None,
            status => Some(status.expect("a thread")),
        }
    });
    statuses.collect()
}

fn interrupt(run: &Child) {
    assert!(signal("INT", run.id()), "it runs");
}

fn ended(child: Child) -> Output {
    child.wait_with_output().expect("an end")
}

const LIVE: [&str; 7] = [
    "live",
    "-i",
    "lo",
    "--format",
    "json",
    "--interval",
    "100ms",
];

/// The same with rights as setpriv leaves them.
fn with_rights(rights: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new("setpriv");
    command.args(rights.split(' ')).arg(SLOWSIDE);
    command.args(LIVE).args(arguments);
    command
}

#[test]
fn root_is_nobody_without_rights_in_all_threads_once_packets_come() {
    if !may_capture() {
        return;
    }
    for (user, uid) in [(None, "65534"), (Some("1234"), "1234")] {
        let mut command = command(LIVE);
        command.args(user.map(|user| ["-Z", user]).into_iter().flatten());
        let seen = Seen::of(command);
        seen.all_have("Uid", &[uid; 4].join(" "));
        seen.all_have("Gid", &["65534"; 4].join(" "));
        seen.all_have("Groups", "");
        seen.all_have("CapBnd", "0000000000000000");
        seen.has_no_rights();
        seen.ended_well();
    }
}

/// The port is bound before rights are given up, and answered at after.
#[test]
fn metrics_are_answered_without_rights() {
    if !may_capture() {
        return;
    }
    let mut command = command(LIVE);
    command.arg("--metrics=127.0.0.1:0");
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut line = String::new();
    let stderr = child.stderr.as_mut().expect("a pipe");
    BufReader::new(stderr).read_line(&mut line).expect("text");
    let address = line
        .split("http://")
        .nth(1)
        .and_then(|a| a.split('/').next());
    let address = address.unwrap_or_else(|| panic!("{line}")).to_owned();
    let mut answer = String::new();
    while !answer.contains("slowside_calls_total{") {
        calls();
        let mut stream = TcpStream::connect(&address).expect("it listens");
        let request = b"GET /metrics HTTP/1.1\r\n\r\n";
        stream.write_all(request).expect("it reads");
        answer.clear();
        stream.read_to_string(&mut answer).expect("text");
        assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
    }
    let threads = threads(&child);
    interrupt(&child);
    let output = ended(child);
    let seen = Seen { threads, output };
    seen.all_have("Uid", &["65534"; 4].join(" "));
    seen.has_no_rights();
    seen.ended_well();
}

/// The collector's port is what the kernel still lets it connect to.
#[test]
fn metrics_are_pushed_without_rights() {
    if !may_capture() {
        return;
    }
    let collector = Collector::new(&[]);
    let mut command = command(LIVE);
    command.args(["--otlp", &collector.url, "--otlp-every", "100ms"]);
    let seen = Seen::of(command);
    seen.all_have("Uid", &["65534"; 4].join(" "));
    seen.has_no_rights();
    seen.ended_well();
    let told = text(&seen.output.stderr);
    assert!(!told.contains("--otlp"), "{told}");
    assert!(collector.last().is_some());
}

/// That all others which capture do as `live` does: before their second thread, which the first packets start.
#[test]
fn info_and_stat_have_no_rights_either() {
    if !may_capture() {
        return;
    }
    for name in ["info", "stat"] {
        let mut command = command([name, "-i", "lo", "--for", "60s", "--threads", "2"]);
        let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        while threads(&child).len() < 2 {
            assert!(child.try_wait().expect("a child").is_none(), "{name}");
            calls();
        }
        // Again: what was said of the first thread may be older than the second one is.
        let threads = threads(&child);
        interrupt(&child);
        let output = ended(child);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let seen = Seen { threads, output };
        seen.all_have("Uid", &["65534"; 4].join(" "));
        seen.has_no_rights();
    }
}

#[test]
fn root_stays_root_where_that_is_asked_for() {
    if !may_capture() {
        return;
    }
    let mut command = command(LIVE);
    command.args(["-Z", "root"]);
    let seen = Seen::of(command);
    seen.all_have("Uid", "0 0 0 0");
    seen.all_have("NoNewPrivs", "0");
    seen.ended_well();
}

#[test]
fn who_may_only_capture_loses_that_and_goes_on() {
    if !may_capture() {
        return;
    }
    // A root that cannot become another user, as in a container.
    let container = "--bounding-set -all,+net_raw,+net_admin --inh-caps -all --ambient-caps -all --clear-groups";
    let seen = Seen::of(with_rights(container, &[]));
    seen.all_have("Uid", "0 0 0 0");
    seen.has_no_rights();
    seen.ended_well();
    let refused = with_rights(container, &["-Z", "nobody"]).output();
    let refused = refused.expect("setpriv");
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("-Z: cannot become nobody: "));
    // A user with the right alone, as `setcap` or a service gives it.
    let user = "--reuid 1234 --regid 1234 --groups 7 --inh-caps -all,+net_raw --ambient-caps -all,+net_raw";
    let seen = Seen::of(with_rights(user, &[]));
    seen.all_have("Uid", "1234 1234 1234 1234");
    seen.all_have("Groups", "7");
    seen.has_no_rights();
    seen.ended_well();
}

/// Runs until it has written a file of evidence.
fn with_evidence(folder: &Path) -> Output {
    let file = folder.join("evidence.pcapng");
    let mut command = command(LIVE);
    command.args([
        "--when", "calls>0", "--files", "1", "--for", "1s", "--write",
    ]);
    let command = command.arg(file).stdout(Stdio::piped());
    let child = command.stderr(Stdio::piped()).spawn().expect("it starts");
    let pid = child.id();
    let output = thread::spawn(|| ended(child));
    while !output.is_finished() && Path::new(&format!("/proc/{pid}")).exists() {
        calls();
    }
    output.join().expect("ends")
}

#[test]
fn evidence_is_written_by_nobody_or_refused_before_anything_is_captured() {
    if !may_capture() {
        return;
    }
    // Where nobody may go: what is built may lie in a home.
    let private = tempfile::tempdir().expect("a folder");
    let folder = private.path().to_owned();
    fs::set_permissions(&folder, PermissionsExt::from_mode(0o755)).expect("the test's own folder");
    let refused = with_evidence(&folder);
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    assert_eq!(text(&refused.stdout), "");
    let told = text(&refused.stderr);
    assert!(
        told.contains("or with -Z a user who may write there: root has become nobody"),
        "{told}"
    );
    chown(&folder, Some(NOBODY), None).expect("the test's own folder");
    let done = with_evidence(&folder);
    assert_eq!(done.status.code(), Some(0), "{done:?}");
    let written = folder.join("evidence-1.pcapng");
    assert_eq!(fs::metadata(&written).expect("evidence").uid(), NOBODY);
    assert_eq!(fs::read_dir(&folder).expect("its folder").count(), 1);
    assert_eq!(slowside([written]).status.code(), Some(0));
}

#[test]
fn a_user_who_is_not_there_is_refused() {
    if !may_capture() {
        return;
    }
    let refused = slowside(["stat", "-i", "lo", "-Z", "no-such-user"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("there is no user no-such-user in /etc/passwd"));
}
