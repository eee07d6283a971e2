//! Every command that a page shows, typed: in a folder with the files that pages name, line by line, as a reader does.
//!
//! What answers is run to its end. What would capture from an interface or on other hosts, or measure a path, is only understood.

use crate::kit::{SLOWSIDE, folder, root};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Commands that stand in tables.
const TABLES: [&str; 2] = ["README.md", "docs/questions.md"];

/// Those of `docs/cases.md` are typed in the folders of its cases, by the tests of `field`.
const ELSEWHERE: [&str; 1] = ["docs/cases.md"];

/// What pages call a file, and what it is in these tests.
const FILES: &[(&str, &str)] = &[
    ("client.pcap", "tests/lab/server-cap/client.pcap.zst"),
    ("server.pcap", "tests/lab/server-cap/server.pcap.zst"),
    ("client.pcapng.zst", "tests/lab/server-cap/client.pcap.zst"),
    ("server.pcapng.zst", "tests/lab/server-cap/server.pcap.zst"),
    ("evidence-1.pcapng", "tests/lab/server-cap/client.pcap.zst"),
    ("rows.csv", "tests/lab/client-cap/client_ops.csv.gz"),
    (
        "averages.csv.gz",
        "tests/field/a2-client-slots/app-averages.csv",
    ),
    (
        "orcl_ora_4711.trc",
        "tests/field/a2-client-slots/orcl_ora_4711.trc",
    ),
    (
        "orcl_ora_4712.trc.gz",
        "tests/field/a2-client-slots/orcl_ora_4712.trc",
    ),
    (
        "dtrace.txt",
        "tests/field/a1-server-threads/server-dtrace.txt",
    ),
    ("postgresql.csv", "tests/statements/postgresql.csv.gz"),
    ("sadf.json", "crates/trace/src/host/recorded/sadf.json"),
    ("ss-server.txt", "crates/trace/src/host/recorded/ss"),
    ("c.pcap", "tests/lab/chatty/client.pcap.zst"),
    ("s.pcap", "tests/lab/chatty/server.pcap.zst"),
    ("good.pcap", "tests/lab/healthy/client.pcap.zst"),
    ("good-c.pcap", "tests/lab/healthy/client.pcap.zst"),
    ("good-s.pcap", "tests/lab/healthy/server.pcap.zst"),
    ("bad-c.pcap", "tests/lab/server-cap/client.pcap.zst"),
    ("bad-s.pcap", "tests/lab/server-cap/server.pcap.zst"),
    ("login.pcap", "tests/field/f20-login/client.pcap.zst"),
    ("office.pcap", "tests/field/f20-login/client.pcap.zst"),
    ("c.pcap0", "tests/lab/healthy/client.pcap.zst"),
    ("c.pcap1", "tests/lab/slow-server/client.pcap.zst"),
    ("array/s.pcap0", "tests/lab/healthy/server.pcap.zst"),
    ("array/s.pcap1", "tests/lab/slow-server/server.pcap.zst"),
    ("ring/r.pcap0", "tests/lab/healthy/server.pcap.zst"),
    ("ring/r.pcap1", "tests/lab/slow-server/server.pcap.zst"),
    (
        "app1.pcap",
        "tests/field/k34-clients-captured/client.pcap.zst",
    ),
    (
        "app2.pcap",
        "tests/field/k34-clients-captured/client2.pcap.zst",
    ),
    (
        "array.pcap",
        "tests/field/k34-clients-captured/server.pcap.zst",
    ),
    ("tuesday/t.pcap", "tests/lab/slow-server/client.pcap.zst"),
];

/// Databases have other captures.
const DATABASES: &[(&str, &str)] = &[
    (
        "client.pcap",
        "tests/field/e16-fetch-sizes/fetch-10-client.pcap.zst",
    ),
    (
        "server.pcap",
        "tests/field/e16-fetch-sizes/fetch-10-server.pcap.zst",
    ),
];

/// And so have paths of several capture points.
const PATHS: &[(&str, &str)] = &[
    (
        "client.pcap",
        "tests/field/k33-three-points/client.pcap.zst",
    ),
    (
        "firewall.pcap",
        "tests/field/k33-three-points/middle.pcap.zst",
    ),
    (
        "core-switch/mirror.pcap",
        "tests/field/k33-three-points/middle.pcap.zst",
    ),
    (
        "server.pcap",
        "tests/field/k33-three-points/server.pcap.zst",
    ),
];

/// A client, its database, and the storage under that.
const BENEATH: &[(&str, &str)] = &[
    (
        "client.pcap",
        "tests/field/k66-storage-beneath/client.pcap.zst",
    ),
    (
        "server.pcap",
        "tests/field/k66-storage-beneath/server.pcap.zst",
    ),
    (
        "storage.pcap",
        "tests/field/k66-storage-beneath/below.pcap.zst",
    ),
];

/// What the client's system measured itself: two READs that took 1 and 2 ms.
const WRITTEN: &[(&str, &str)] = &[
    (
        "fio_clat.1.log",
        "1, 1000000, 0, 8192, 0\n2, 2000000, 0, 8192, 8192\n",
    ),
    (
        "mountstats.txt",
        "device array:/export mounted on /data with fstype nfs4 statvers=1.1\n\tage:\t100\n\
         \tRPC iostats version: 1.1  p/v: 100003/4 (nfs)\n\tper-op statistics\n\
         \tREAD: 2 2 0 240 16640 1 3 4 0\n",
    ),
    (
        "biolatency.txt",
        "Tracing block device I/O... Hit Ctrl-C to end.\n usecs : count distribution\n 256 -> 511 : 7 |**|\n",
    ),
    (
        "operations.csv",
        "op,offset,t_start_ns,t_end_ns\nREAD,0,1795366702403934341,1795366702403999012\n",
    ),
    ("token", "a token of the tests that nobody else has\n"),
];

/// A page's own folder, with what it names.
fn desk(page: &str) -> PathBuf {
    let folder = folder(&format!("typed-{}", page.replace(['/', '.'], "-")));
    let of_page: &[_] = if page.ends_with("databases.md") {
        DATABASES
    } else if page.ends_with("answers.md") {
        PATHS
    } else if page.ends_with("questions.md") {
        BENEATH
    } else {
        &[]
    };
    for (name, from) in FILES.iter().chain(of_page) {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("the test's own folder");
        fs::copy(root().join(from), path).expect("the repository's own file");
    }
    for (name, text) in WRITTEN {
        fs::write(folder.join(name), text).expect("the test's own folder");
    }
    #[cfg(unix)]
    std::os::unix::fs::symlink(root().join("tests"), folder.join("tests")).expect("a link");
    folder
}

/// A command, and what the page shows of its answer.
struct Typed {
    line: String,
    shown: Vec<String>,
}

/// In the order of the page: those of blocks, and where asked for those in cells of tables.
fn commands(text: &str, tables: bool) -> Vec<Typed> {
    let mut all: Vec<Typed> = Vec::new();
    let mut fence: Option<&str> = None;
    let mut joined = String::new();
    for line in text.lines() {
        let opened = line.trim_start().strip_prefix("```");
        match (fence, opened) {
            (None, Some(kind)) => fence = Some(kind),
            (Some(_), Some(_)) => fence = None,
            (Some("sh"), None) => match line.strip_suffix('\\') {
                Some(begun) => joined += begun,
                None => {
                    let line = std::mem::take(&mut joined) + line;
                    all.push(Typed {
                        line,
                        shown: Vec::new(),
                    });
                }
            },
            // A block of an answer begins with its command.
            (Some(kind @ ("console" | "")), None) => {
                match (line.strip_prefix("$ "), all.last_mut()) {
                    (Some(command), _) if kind != "in" => {
                        fence = Some("in");
                        all.push(Typed {
                            line: command.to_owned(),
                            shown: Vec::new(),
                        });
                    }
                    _ => fence = Some("other"),
                }
            }
            (Some("in"), None) => {
                let last = all.last_mut().expect("the block's command");
                last.shown.push(line.to_owned());
            }
            (None, None) if tables && line.starts_with('|') => {
                let line = line.replace("\\|", "|");
                let spans = line.split('`').skip(1).step_by(2);
                all.extend(spans.map(|s| Typed {
                    line: s.to_owned(),
                    shown: Vec::new(),
                }));
            }
            _ => {}
        }
    }
    all
}

/// The part of a line that is slowside's, and whether something is piped into it; without remarks and without what
/// its output is piped into.
fn own(line: &str) -> Option<(String, bool)> {
    let mut parts = vec![String::new()];
    let mut quoted = false;
    for c in line.chars() {
        quoted ^= c == '\'';
        match c {
            '|' if !quoted => parts.push(String::new()),
            '#' if !quoted
                && parts
                    .last()
                    .is_some_and(|p| p.is_empty() || p.ends_with(' ')) =>
            {
                break;
            }
            c => parts.last_mut().expect("one at least").push(c),
        }
    }
    let at = parts
        .iter()
        .position(|p| p.trim_start().starts_with("slowside "))?;
    Some((parts.swap_remove(at).trim().to_owned(), at > 0))
}

/// What would wait for packets, or for the other end of a path.
fn is_only_understood(line: &str) -> bool {
    line.contains(" -i ")
        || ["slowside probe", "slowside capture"]
            .iter()
            .any(|c| line.starts_with(c))
}

fn run(line: &str, piped: bool, folder: &Path) -> Output {
    // Nobody's interfaces, addresses and folders; TEST-NET-1 (RFC 5737) is nobody's.
    let line = line.replace("-i eth0", "-i nowhere0");
    let line = line.replace("--listen 10.0.0.5", "--listen 192.0.2.1");
    let line = line.replace(" 10.0.0.5:5201", " 127.0.0.1:1");
    let line = line.replace(" 10.0.0.5:1521", " 127.0.0.1:1");
    let line = line.replace(" db.example.com:1521", " 127.0.0.1:1");
    let line = line
        .replace("/var/tmp/", "")
        .replace("/run/capture", "server.pcap");
    let line = line.replace("/captures/array", "array");
    let program = Path::new(SLOWSIDE).parent().expect("a folder");
    let others = match line.starts_with("slowside capture") {
        // Nobody's hosts: neither ssh nor its like is found.
        true => "/nowhere".to_owned(),
        false => std::env::var("PATH").unwrap_or_default(),
    };
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", &line]).current_dir(folder);
    shell
        .env("PATH", format!("{}:{others}", program.display()))
        .env("TZ", "UTC");
    match piped {
        true => shell.stdin(File::open(folder.join("server.pcap")).expect("it is there")),
        false => shell.stdin(Stdio::null()),
    };
    shell.output().expect("a shell")
}

/// Whether all that is shown stands in the answer: runs of lines in their order, `…` between them for what is left out.
fn stands_in(shown: &[String], answer: &str) -> Result<(), String> {
    let answer: Vec<&str> = answer.lines().collect();
    let mut at = 0;
    for part in shown.split(|line| line == "…") {
        let part: Vec<&str> = part.iter().map(String::as_str).collect();
        let trimmed: &[&str] = &part;
        let blank = |line: &&&str| line.is_empty();
        let begins = trimmed.iter().take_while(blank).count();
        let ends = trimmed.len() - trimmed.iter().rev().take_while(blank).count();
        let Some(part) = trimmed.get(begins..ends).filter(|p| !p.is_empty()) else {
            continue;
        };
        let found = answer.get(at..).unwrap_or_default();
        let found = found.windows(part.len()).position(|lines| lines == part);
        at += found.ok_or_else(|| {
            format!(
                "{}\nstands nowhere in\n{}",
                part.join("\n"),
                answer.join("\n")
            )
        })?;
        at += part.len();
    }
    Ok(())
}

/// Whether a line was understood and did what it is for, and the page shows what it said.
fn holds(line: &str, output: &Output, shown: &[String]) -> Result<(), String> {
    let told = String::from_utf8_lossy(&output.stderr);
    let said = String::from_utf8_lossy(&output.stdout);
    let code = output.status.code();
    let fails_on = line.contains("--fail-on") && code == Some(1);
    let fine = matches!(code, Some(0 | 3)) || fails_on || is_only_understood(line);
    match fine && !told.contains("(see --help)") {
        true => stands_in(shown, &format!("{said}{told}")),
        false => Err(format!("{code:?}: {told}")),
    }
}

#[test]
fn what_pages_show_can_be_typed() {
    let (mut typed, mut wrong) = (0, Vec::new());
    for (path, text) in super::pages() {
        let page = path.strip_prefix(root()).expect("a page of the repository");
        let page = page.to_str().expect("UTF-8");
        let is_of_the_site = page == "README.md" || page.starts_with("docs/");
        if !is_of_the_site || ELSEWHERE.contains(&page) {
            continue;
        }
        let commands = commands(&text, TABLES.contains(&page));
        let own: Vec<_> = commands
            .iter()
            .filter_map(|c| Some((c, own(&c.line)?)))
            .collect();
        if own.is_empty() {
            continue;
        }
        let folder = desk(page);
        for (command, (line, piped)) in own {
            let output = run(&line, piped, &folder);
            if let Err(why) = holds(&line, &output, &command.shown) {
                wrong.push(format!("{page}: {line}: {why}"));
            }
            typed += 1;
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(typed > 80, "{typed} commands");
}
