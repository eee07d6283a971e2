//! Files that commands write: whole or not at all, whatever ends the run. Limits, full disks and kills here, single
//! writes in the tests of `replace`.

use crate::kit::{self, SLOWSIDE, command, lab, may_mount, may_trace, refused, slowside, text};
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Every command that writes a file, and which: `CAPTURE`, `HOST` and `FOLDER` stand for what their names say.
const WRITERS: [(&str, &str); 8] = [
    (
        "out.parquet",
        "calls CAPTURE --format parquet -o FOLDER/out.parquet",
    ),
    ("out.html", "report CAPTURE -o FOLDER/out.html"),
    ("out.html", "compare CAPTURE CAPTURE -o FOLDER/out.html"),
    ("out.saved", "diagnose CAPTURE --save FOLDER/out.saved"),
    ("out.pcapng", "cut CAPTURE --from @0 -o FOLDER/out.pcapng"),
    (
        "out.hgrm",
        "probe HOST --connect-only --duration=50ms --warm-up=0 --histogram FOLDER/out.hgrm",
    ),
    ("slowside.1", "man --dir FOLDER"),
    (
        "out-1.pcapng",
        "live CAPTURE --interval=100ms --format=json --when=p99>20ms --files=1 --write FOLDER/out.pcapng",
    ),
];

/// A writer with a folder of its own.
struct Writer {
    words: Vec<String>,
    folder: PathBuf,
    file: PathBuf,
    /// What it writes undisturbed.
    new: Vec<u8>,
    /// What lies there before, where the writer replaces files.
    old: Option<Vec<u8>>,
    _host: TcpListener,
}

impl Writer {
    fn all(test: &str) -> impl Iterator<Item = Writer> {
        WRITERS
            .iter()
            .enumerate()
            .map(move |(number, (name, line))| {
                let folder = kit::folder(&format!("files-{test}-{number}"));
                let host = TcpListener::bind("127.0.0.1:0").expect("a port");
                let address = host.local_addr().expect("an address").to_string();
                let capture = lab("server-cap", "client").display().to_string();
                let words = line.split(' ').map(|word| {
                    let word = word.replace("FOLDER", folder.to_str().expect("UTF-8"));
                    word.replace("CAPTURE", &capture).replace("HOST", &address)
                });
                let words: Vec<String> = words.collect();
                let done = slowside(&words);
                assert_eq!(done.status.code(), Some(0), "{line}: {done:?}");
                let file = folder.join(name);
                let new = fs::read(&file).expect("it was written");
                let replaces = !line.starts_with("live");
                // It begins as what is written: it may be replaced.
                let old = replaces.then(|| [&new[..new.len().min(2_000)], b"old"].concat());
                Writer {
                    words,
                    folder,
                    file,
                    new,
                    old,
                    _host: host,
                }
            })
    }

    /// Puts the old file there, and nothing else.
    fn prepare(&self) {
        for name in names(&self.folder) {
            fs::remove_file(self.folder.join(name)).expect("the test's own folder");
        }
        if let Some(old) = &self.old {
            fs::write(&self.file, old).expect("the test's own folder");
        }
    }

    /// Asserts that the old file is whole, if there was one, and alone.
    fn is_as_it_was(&self, said: &str) {
        let known: Vec<_> = self.old.iter().map(|_| file_name(&self.file)).collect();
        assert_eq!(names(&self.folder), known, "{said}");
        if let Some(old) = &self.old {
            assert!(fs::read(&self.file).expect("a file") == *old, "{said}");
        }
    }
}

fn file_name(path: &Path) -> String {
    let name = path.file_name().expect("a file");
    name.to_str().expect("UTF-8").to_owned()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("the test's own folder");
    let mut names: Vec<String> = entries
        .map(|e| file_name(&e.expect("an entry").path()))
        .collect();
    names.sort();
    names
}

/// Runs a script of the shell, with these arguments.
fn shell(script: &str, arguments: &[&str]) -> Output {
    let mut command = Command::new("sh");
    command.args(["-c", script, "sh"]).args(arguments);
    command.stdin(Stdio::null()).output().expect("a shell")
}

/// Exit code 2, and a line that says what could not be written and what to do.
fn says_what_and_where(output: &Output, said: &str) {
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}: {told}");
    assert_eq!(told.lines().count(), 1, "{said}: {told}");
    assert!(
        told.starts_with("slowside: cannot write "),
        "{said}: {told}"
    );
    assert!(
        told.contains("name another place with --") || told.contains("place with -o"),
        "{told}"
    );
}

#[test]
fn whatever_size_a_file_may_have_the_old_one_or_the_new_one_is_there() {
    for writer in Writer::all("limit") {
        let said = writer.words.join(" ");
        let mut failed = 0;
        for blocks in std::iter::once(0).chain((0..20).map(|n| 1 << n)) {
            writer.prepare();
            let limit = format!("ulimit -f {blocks}; exec {SLOWSIDE} \"$@\"");
            let words: Vec<&str> = writer.words.iter().map(String::as_str).collect();
            let output = shell(&limit, &words);
            if output.status.success() {
                assert!(fs::read(&writer.file).ok() != writer.old, "{said}");
                break;
            }
            says_what_and_where(&output, &said);
            writer.is_as_it_was(&said);
            if said.starts_with("live ") {
                let told = text(&output.stdout);
                let total = told.lines().last().expect("totals");
                assert!(total.contains("\"kind\":\"total\""), "{told}");
            }
            failed += 1;
        }
        assert!(failed > 0, "{said}");
        let written = fs::read(&writer.file).expect("a file");
        let measured = said.starts_with("probe ");
        assert!(measured || written == writer.new, "{said}");
    }
}

/// With strace: the first write fails, in another run the second, and so on; so do the other calls by which a file comes
/// to the disk and into its place.
#[test]
fn whichever_call_to_the_system_fails_no_file_is_half_there() {
    const CALLS: [&str; 4] = ["write", "fsync", "linkat", "?rename,?renameat,?renameat2"];
    if !may_trace() {
        return;
    }
    for writer in Writer::all("calls") {
        let said = writer.words.join(" ");
        // What is measured is another each time, and the manual has a page for each command.
        if said.starts_with("probe ") || said.starts_with("man ") {
            continue;
        }
        let log = writer.folder.with_extension("log");
        for call in CALLS {
            let mut failed = 0;
            loop {
                writer.prepare();
                let inject = format!("inject={call}:error=ENOSPC:when={}", failed + 1);
                let output = Command::new("strace")
                    .args([
                        "-f",
                        "-qq",
                        "-e",
                        &format!("trace={call}"),
                        "-e",
                        &inject,
                        "-o",
                    ])
                    .arg(&log)
                    .arg(SLOWSIDE)
                    .args(&writer.words)
                    .stdin(Stdio::null())
                    .output();
                let output = output.expect("strace");
                let traced = fs::read_to_string(&log).expect("a log");
                if !traced.contains("(INJECTED)") {
                    break;
                }
                failed += 1;
                let said = format!("{said}: {call} {failed}");
                let there = fs::read(&writer.file).ok();
                let is_new = there.as_ref() == Some(&writer.new);
                assert!(is_new || there == writer.old, "{said}: a stump");
                let known = there.map(|_| file_name(&writer.file));
                assert_eq!(names(&writer.folder), Vec::from_iter(known), "{said}");
                // That a folder is not brought to the disk is no failure.
                let code = output.status.code();
                assert!(
                    code == Some(2) || code == Some(0) && is_new,
                    "{said}: {output:?}"
                );
            }
            // Not every file system has files without a name.
            assert!(failed > 0 || call == "linkat", "{said}: {call}");
        }
    }
}

/// Root, or namespaces of users: a small disk is mounted.
#[test]
fn a_full_disk_leaves_the_old_file_whole_and_alone() {
    const SCRIPT: &str = "
        folder=$1 old=$2 file=$3 free=$4; shift 4
        mount -t tmpfs -o size=2m none \"$folder\" || exit 90
        test -z \"$old\" || cp \"$old\" \"$folder/$file\" || exit 91
        cat /dev/zero > \"$folder/other\" 2>/dev/null
        truncate -s -$((4096 * free)) \"$folder/other\"
        \"$@\"; code=$?
        echo; ls -A \"$folder\" | tr '\\n' ' '
        test $code = 0 || test -z \"$old\" || cmp \"$old\" \"$folder/$file\" || exit 92
        exit $code";
    if !may_mount() {
        return;
    }
    for writer in Writer::all("full") {
        let said = writer.words.join(" ");
        let old = writer.old.as_ref().map(|old| {
            let path = writer.folder.with_extension("old");
            fs::write(&path, old).expect("cargo's folder for tests");
            path.display().to_string()
        });
        // So many pages are free: some runs fail at once, some in the middle.
        for free in ["0", "1", "3"] {
            let mut words = vec!["-rm", "sh", "-c", SCRIPT, "sh"];
            words.push(writer.folder.to_str().expect("UTF-8"));
            let name = file_name(&writer.file);
            words.extend([old.as_deref().unwrap_or_default(), &name, free, SLOWSIDE]);
            words.extend(writer.words.iter().map(String::as_str));
            let output = Command::new("unshare")
                .args(&words)
                .stdin(Stdio::null())
                .output();
            let output = output.expect("unshare");
            if output.status.success() {
                assert!(free != "0", "{said}: nothing was written");
                continue;
            }
            says_what_and_where(&output, &said);
            let there = text(&output.stdout);
            let there = there.lines().last().expect("names").trim();
            let mut known = vec!["other"];
            known.extend(old.as_ref().map(|_| name.as_str()));
            known.sort_unstable();
            assert!(there.split(' ').eq(known), "{said}: {there}");
        }
    }
}

#[test]
fn a_kill_at_any_moment_leaves_the_old_file_or_the_new_one() {
    const MOMENTS: u32 = 12;
    for writer in Writer::all("kill") {
        let said = writer.words.join(" ");
        writer.prepare();
        let begun = Instant::now();
        assert!(slowside(&writer.words).status.success(), "{said}");
        let lasts = begun.elapsed();
        for moment in 0..MOMENTS {
            writer.prepare();
            let mut child = command(&writer.words);
            let child = child.stdout(Stdio::null()).stderr(Stdio::null());
            let mut child = child.spawn().expect("the binary that cargo built");
            // Wherever it is by then; what must hold holds everywhere.
            std::thread::sleep(lasts * moment / MOMENTS + Duration::from_millis(1));
            child.kill().expect("it may be over");
            child.wait().expect("an end");
            let there = fs::read(&writer.file).ok();
            let measured = said.starts_with("probe ") && there.is_some();
            let whole = there == writer.old || there.as_ref() == Some(&writer.new) || measured;
            assert!(whole, "{said}: a stump at moment {moment}");
            let known = |name: &String| {
                // Between its hidden name and its own there is a moment, in which it is whole.
                *name == file_name(&writer.file)
                    || name.starts_with(".slowside-")
                    || said.starts_with("man ")
            };
            let names = names(&writer.folder);
            assert!(names.iter().all(known), "{said}: {names:?}");
        }
    }
}

#[test]
fn captures_are_not_written_over() {
    let folder = kit::folder("files-captures");
    let at = |name: &str| folder.join(name).display().to_string();
    let (capture, link, other) = (at("a.pcap.zst"), at("b.pcap.zst"), at("other.pcap.zst"));
    let bytes = fs::read(lab("server-cap", "client")).expect("a capture");
    fs::write(&capture, &bytes).expect("the test's own folder");
    fs::write(&other, &bytes).expect("the test's own folder");
    fs::hard_link(&capture, &link).expect("the test's own folder");
    symlink(&capture, at("c")).expect("the test's own folder");
    let cut = |to: &str| {
        vec![
            "cut".to_owned(),
            capture.clone(),
            "--frames=1".into(),
            "-o".into(),
            to.into(),
        ]
    };
    for (to, why) in [
        (&capture, "is one of the captures"),
        (&link, "is one of the captures"),
        (&at("c"), "is one of the captures"),
        (&other, "exists and is no capture that was cut"),
    ] {
        let message = refused(cut(to));
        assert!(
            message.contains(why) && message.contains("name"),
            "{to}: {message}"
        );
    }
    let folder_of = ["cut", folder.to_str().expect("UTF-8"), "--frames=1", "-o"];
    let elsewhere = kit::folder("files-captures-elsewhere").join("hard");
    fs::hard_link(&capture, &elsewhere).expect("one file system");
    let elsewhere = elsewhere.to_str().expect("UTF-8");
    assert!(refused(folder_of.iter().chain([&elsewhere])).contains("is one of the captures"));
    let host = TcpListener::bind("127.0.0.1:0").expect("a port");
    let host = host.local_addr().expect("an address").to_string();
    for line in [
        ["report", &capture, "-o", &other],
        ["diagnose", &capture, "--save", &other],
        [
            "probe",
            &host,
            "--connect-only",
            &format!("--histogram={other}"),
        ],
    ] {
        let message = refused(line);
        assert!(message.contains("exists and is no "), "{message}");
    }
    for file in [&capture, &link, &other] {
        assert!(fs::read(file).expect("a file") == bytes, "{file}");
    }
    // What was cut may be cut again.
    for frames in ["--frames=1", "--frames=1-3"] {
        let line = ["cut", &capture, frames, "-o", &at("own.pcapng")];
        assert_eq!(slowside(line).status.code(), Some(0));
    }
    let said = kit::said(["calls", &link, &capture, "--format=jsonl"]);
    let alone = kit::said(["calls", &capture, "--format=jsonl"]);
    assert_eq!(
        said.lines().count(),
        alone.lines().count(),
        "one file by two names"
    );
}

#[test]
fn pipes_links_and_what_is_open_are_written_to_as_they_are() {
    let folder = kit::folder("files-pipes");
    let at = |name: &str| folder.join(name).display().to_string();
    let capture = lab("server-cap", "client").display().to_string();
    let (pipe, file) = (at("pipe"), at("file"));
    let made = Command::new("mkfifo").arg(&pipe).status();
    assert!(made.expect("mkfifo").success());
    for line in [
        vec!["report", &capture, "-q", "-o"],
        vec!["cut", &capture, "-q", "--frames=1-9", "-o"],
    ] {
        let with = |to: &str| [&line[..], &[to]].concat().join(" ");
        let whole = slowside([&line[..], &["-"]].concat()).stdout;
        assert!(whole.len() > 500);
        // A page says how it was made, and so where to.
        let same = |got: &[u8]| got.len().abs_diff(whole.len()) < 200;
        let piped = shell(
            &format!("cat {pipe} & {SLOWSIDE} {} && wait", with(&pipe)),
            &[],
        );
        assert!(
            same(&piped.stdout) || line[0] == "cut",
            "{}",
            text(&piped.stderr)
        );
        assert!(fs::metadata(&pipe).expect("a pipe").file_type().is_fifo());
        let open = shell(&format!("{SLOWSIDE} {} | cat", with("/dev/stdout")), &[]);
        assert!(
            same(&open.stdout) || line[0] == "cut",
            "{}",
            text(&open.stderr)
        );
        // Redirected, what others wrote stays.
        let into = format!("(echo first; {SLOWSIDE} {}) > {file}", with("/dev/stdout"));
        assert!(shell(&into, &[]).status.success());
        assert!(fs::read(&file).expect("a file").starts_with(b"first\n"));
    }
    let (link, page) = (at("link"), at("page"));
    symlink("page", &link).expect("the test's own folder");
    for _ in 0..2 {
        assert_eq!(
            slowside(["report", &capture, "-o", &link]).status.code(),
            Some(0)
        );
        fs::set_permissions(&page, fs::Permissions::from_mode(0o640)).expect("a file");
    }
    assert!(Path::new(&link).is_symlink());
    let mode = fs::metadata(&page).expect("a file").permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
}

/// As root it runs as somebody else, whom permissions hold, and who has to be let as far as the binary.
#[test]
#[allow(clippy::print_stderr, reason = "says that nothing was tested")]
fn a_folder_that_may_not_be_written_to_leaves_the_old_file() {
    for writer in Writer::all("read-only") {
        let said = writer.words.join(" ");
        writer.prepare();
        let mode = |mode| {
            let permissions = fs::Permissions::from_mode(mode);
            fs::set_permissions(&writer.folder, permissions).expect("the test's own folder");
        };
        if writer.old.is_some() {
            let all = fs::Permissions::from_mode(0o666);
            fs::set_permissions(&writer.file, all).expect("the test's own folder");
        }
        mode(0o555);
        let try_it = writer.folder.join("root may");
        let output = if fs::write(&try_it, "").is_ok() {
            fs::remove_file(&try_it).expect("the test's own folder");
            let other = ["--reuid=65534", "--regid=65534", "--clear-groups"];
            let known = |words: &[&str]| Command::new("setpriv").args(other).args(words).output();
            let may = |words: &[&str]| known(words).is_ok_and(|o| o.status.success());
            let captures = crate::kit::root().join("Cargo.toml").display().to_string();
            if !may(&[SLOWSIDE, "--version"]) || !may(&["test", "-r", &captures]) {
                mode(0o755);
                eprintln!(
                    "skipped: nobody else may run {SLOWSIDE} and read what it is given, or there is no setpriv"
                );
                return;
            }
            let words = writer.words.iter().map(String::as_str);
            known(&std::iter::once(SLOWSIDE).chain(words).collect::<Vec<_>>()).expect("setpriv")
        } else {
            slowside(&writer.words)
        };
        mode(0o755);
        says_what_and_where(&output, &said);
        writer.is_as_it_was(&said);
    }
}
