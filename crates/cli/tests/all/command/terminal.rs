//! The command among other commands: examples that can be typed, pipes that close, disks that are full,
//! colors, completions, manual pages, and files that another command reads.

use super::{COMMANDS, conversation};
use crate::kit::{self, file, refused, slowside, text};
use std::fs::{self, OpenOptions};
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// A command line that writes much, for each command; `CAPTURE` and `TRACE` stand for files.
const WRITING: &[&str] = &[
    "diagnose CAPTURE",
    "diagnose CAPTURE --format json",
    "diagnose CAPTURE --format csv",
    "diagnose CAPTURE --format markdown",
    "calls CAPTURE",
    "calls CAPTURE --sort start --format jsonl",
    "ops CAPTURE",
    "ops CAPTURE --format json",
    "conns CAPTURE",
    "conns CAPTURE --series 1ms --format csv",
    "conns --fields",
    "sql CAPTURE",
    "startup CAPTURE",
    "info CAPTURE",
    "info CAPTURE --format json",
    "info CAPTURE --format markdown",
    "stat CAPTURE --interval 1ms",
    "live CAPTURE --interval 10ms",
    "live CAPTURE --format json",
    "stat CAPTURE --interval 1ms --format csv",
    "whatif CAPTURE",
    "whatif CAPTURE --format markdown",
    "startup CAPTURE --format markdown",
    "report CAPTURE -o -",
    "compare CAPTURE CAPTURE",
    "compare CAPTURE CAPTURE --format json",
    "compare CAPTURE CAPTURE --format markdown",
    "compare CAPTURE CAPTURE -o -",
    "cut CAPTURE --from @0 -o -",
    "trace TRACE",
    "demo --list",
    "explain",
    "explain nagle",
    "completions bash",
    "man",
    "probe --help",
    "capture --help",
    "diagnose --help",
];

const TRACE: &str = "Trace file /u01/trace/orcl_ora_4711.trc
Oracle Database 19c Enterprise Edition Release 19.0.0.0.0 - Production
PARSE #1:c=10,e=20,p=0,cr=0,cu=0,mis=1,r=0,dep=0,og=1,plh=1,tim=1000100
";

/// The command of such a line.
fn command(line: &str, test: &str) -> Command {
    let capture = file(test, "reads.pcap", &conversation());
    let trace = file(test, "orcl.trc", TRACE.as_bytes());
    let mut command = kit::command([""; 0]);
    for word in line.split_whitespace() {
        match word {
            "CAPTURE" => command.arg(&capture),
            "TRACE" => command.arg(&trace),
            word => command.arg(word),
        };
    }
    command
}

fn finished(command: &mut Command, out: impl Into<Stdio>) -> Output {
    let command = command.stdout(out).stderr(Stdio::piped());
    let child = command.spawn().expect("the binary that cargo built");
    child.wait_with_output().expect("an end")
}

#[test]
fn every_command_writes_in_these_tests() {
    for command in COMMANDS {
        assert!(
            WRITING.iter().any(|line| line.starts_with(command)),
            "{command}"
        );
    }
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    for line in WRITING {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let output = finished(&mut command(line, "broken-pipe"), writer);
        assert_eq!(output.status.code(), Some(0), "{line}");
        assert_eq!(text(&output.stderr), "", "{line}");
    }
}

#[test]
fn a_full_disk_is_told_and_exits_2() {
    let full = Path::new("/dev/full");
    if !full.exists() {
        return;
    }
    for line in WRITING {
        let out = OpenOptions::new().write(true).open(full).expect("a device");
        let output = finished(&mut command(line, "full-disk"), out);
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{line}: {told}");
        assert_eq!(told.lines().count(), 1, "{line}: {told}");
        assert!(told.starts_with("slowside: cannot write"), "{line}: {told}");
    }
}

#[test]
fn damage_exits_3_whatever_is_asked() {
    let mut bytes = conversation();
    bytes.truncate(bytes.len() - 5);
    let cut = file("damage-3", "cut.pcap", &bytes);
    let trace = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let packed = {
        let mut encoder = trace;
        std::io::Write::write_all(&mut encoder, TRACE.as_bytes()).expect("memory");
        encoder.finish().expect("memory")
    };
    let torn = file("damage-3", "orcl.trc.gz", &packed[..packed.len() - 4]);
    let reading = WRITING
        .iter()
        .filter(|line| line.contains("CAPTURE") || line.contains("TRACE"));
    for line in reading {
        let words = line.split_whitespace().map(|word| match word {
            "CAPTURE" => cut.to_str().expect("UTF-8"),
            "TRACE" => torn.to_str().expect("UTF-8"),
            word => word,
        });
        let output = slowside(words);
        assert_eq!(output.status.code(), Some(3), "{line}: {output:?}");
    }
}

/// The examples at the end of a command's help.
fn examples(help: &str) -> Vec<String> {
    let examples = help.split("\nExamples:\n").nth(1).expect("examples");
    let lines = examples.lines().take_while(|l| l.starts_with("  "));
    lines.map(|l| l.trim().to_owned()).collect()
}

/// The words of a line as a shell reads them, without what it pipes where.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for c in line.chars() {
        match c {
            '\'' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            c => words.last_mut().expect("a word").push(c),
        }
    }
    let end = words.iter().position(|w| w == "|" || w == ">");
    words.truncate(end.unwrap_or(words.len()));
    words.retain(|w| !w.is_empty());
    words
}

/// Two examples each, of which clap takes every word: files and interfaces that are not there stop the run,
/// not wrong arguments.
#[test]
fn examples_can_be_typed() {
    for name in COMMANDS {
        let help = text(&slowside([name, "--help"]).stdout);
        let examples = examples(&help);
        assert!(examples.len() >= 2, "{name}");
        for example in examples {
            let words = words(&example);
            assert_eq!(words[0], "slowside", "{example}");
            // A folder where nothing is, so that nothing is written or found.
            let folder = file("examples", "none", b"");
            let folder = folder.parent().expect("a folder").join(name);
            fs::create_dir_all(&folder).expect("cargo's folder for tests");
            let mut given: Vec<&str> = words[1..].iter().map(String::as_str).collect();
            if let Some(at) = given.iter().position(|w| w.starts_with("/usr")) {
                given[at] = "pages";
            }
            // One that is there would be captured from.
            if let Some(at) = given.iter().position(|w| *w == "-i") {
                given[at + 1] = "nowhere";
            }
            let mut command = kit::command(&given);
            if name == &"capture" {
                // Nobody's hosts: neither ssh nor its like is found.
                command.env("PATH", "/nowhere");
            }
            let output = command
                .current_dir(&folder)
                .output()
                .expect("the binary that cargo built");
            let told = text(&output.stderr);
            assert!(!told.contains("--help"), "{example}: {told}");
            let missing = output.status.code() == Some(2)
                && [
                    "cannot open",
                    "no interface nowhere",
                    "may not capture",
                    "cannot be reached",
                ]
                .iter()
                .any(|why| told.contains(why));
            assert!(missing || output.status.success(), "{example}: {told}");
        }
    }
}

#[test]
fn colors_are_for_those_who_want_them() {
    let colored = |line: &str, set: &[(&str, &str)]| {
        let mut command = command(line, "colors");
        for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE"] {
            command.env_remove(name);
        }
        let output = command.envs(set.iter().copied()).output().expect("an end");
        text(&output.stdout).contains('\u{1b}')
    };
    for command in [
        "diagnose CAPTURE",
        "ops CAPTURE",
        "conns CAPTURE",
        "trace TRACE",
    ] {
        let asked = |when: &str| format!("{command} --color {when}");
        assert!(!colored(command, &[]), "{command}");
        assert!(colored(&asked("always"), &[]), "{command}");
        assert!(colored(&asked("always"), &[("NO_COLOR", "1")]), "{command}");
        assert!(colored(command, &[("CLICOLOR_FORCE", "1")]), "{command}");
        let both = [("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")];
        assert!(!colored(command, &both), "{command}");
        assert!(
            !colored(&asked("never"), &[("CLICOLOR_FORCE", "1")]),
            "{command}"
        );
    }
    for format in ["json", "csv", "markdown"] {
        let line = format!("diagnose CAPTURE --color always --format {format}");
        assert!(!colored(&line, &[]), "{format}");
    }
}

/// Colors stand around words and change none.
#[test]
fn without_its_colors_text_is_the_same() {
    for line in [
        "diagnose CAPTURE",
        "ops CAPTURE --histogram",
        "conns CAPTURE",
        "trace TRACE",
    ] {
        let plain = command(line, "colors").output().expect("an end");
        let colored = command(&format!("{line} --color always"), "colors").output();
        let colored = colored.expect("an end");
        let mut stripped = String::new();
        for (i, part) in text(&colored.stdout).split('\u{1b}').enumerate() {
            let part = if i == 0 {
                part
            } else {
                part.split_once('m').expect("a style").1
            };
            stripped.push_str(part);
        }
        assert_eq!(stripped, text(&plain.stdout), "{line}");
    }
}

#[test]
fn completions_know_commands_and_options() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = slowside(["completions", shell]);
        assert_eq!(script.status.code(), Some(0), "{shell}");
        let script = text(&script.stdout);
        for word in ["diagnose", "whatif", "histogram", "clock-offset"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
    let path = file(
        "completions",
        "slowside.bash",
        &slowside(["completions", "bash"]).stdout,
    );
    if let Ok(bash) = Command::new("bash").arg("-n").arg(&path).output() {
        assert!(bash.status.success(), "{}", text(&bash.stderr));
    }
}

#[test]
fn every_command_has_a_manual_page() {
    let folder = file("man", "none", b"");
    let folder = folder.parent().expect("a folder").join("man1");
    let done = slowside(["man".as_ref(), "--dir".as_ref(), folder.as_os_str()]);
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    let page = |name: &str| fs::read_to_string(folder.join(name)).expect("a page");
    assert!(
        page("slowside.1").contains("slowside\\-diagnose"),
        "{}",
        page("slowside.1")
    );
    for command in COMMANDS {
        let page = page(&format!("slowside-{command}.1"));
        for section in ["NAME", "SYNOPSIS", "OPTIONS", "EXAMPLES", "EXIT STATUS"] {
            assert!(
                page.contains(&format!("\n.SH {section}\n")),
                "{command}: {section}"
            );
        }
        assert_eq!(text(&slowside(["man", command]).stdout), page, "{command}");
    }
    assert_eq!(
        fs::read_dir(&folder).expect("a folder").count(),
        1 + COMMANDS.len()
    );
    // groff tells on standard error what it does not understand.
    for entry in fs::read_dir(&folder).expect("a folder").flatten() {
        let mut groff = Command::new("groff");
        groff
            .args(["-man", "-Tutf8", "-ww", "-z"])
            .arg(entry.path());
        let Ok(output) = groff.output() else {
            return;
        };
        assert_eq!(text(&output.stderr), "", "{}", entry.path().display());
    }
}

#[test]
fn a_file_for_another_command_is_told_which() {
    let capture = file("wrong-files", "reads.pcap", &conversation());
    let trace = file("wrong-files", "orcl.trc", TRACE.as_bytes());
    let notes = file("wrong-files", "notes.txt", b"Meeting at ten.\n");
    let name = |path: &Path| path.to_str().expect("UTF-8").to_owned();
    for (arguments, said) in [
        (
            ["trace", &name(&capture)],
            "is a packet capture; slowside FILE",
        ),
        (["diagnose", &name(&trace)], "a trace of Oracle"),
        (["ops", &name(&trace)], "slowside trace reads it"),
        (
            ["trace", &name(&notes)],
            "is no trace of an Oracle database or client",
        ),
        (["diagnose", &name(&notes)], "is not a capture but text"),
    ] {
        let message = refused(arguments);
        assert!(message.contains(said), "{message}");
    }
}

#[test]
fn times_outside_the_capture_are_the_reason_of_an_empty_answer() {
    for line in ["calls", "ops", "conns", "sql", "startup", "whatif"] {
        for (option, said) in [
            ("--from 1h", "--from is behind the end"),
            ("--to 0", "--to is not behind"),
        ] {
            let line = format!("{line} CAPTURE {option}");
            let output = command(&line, "outside").output().expect("an end");
            assert_eq!(output.status.code(), Some(0), "{line}");
            assert!(text(&output.stderr).contains(said), "{line}: {output:?}");
            let quiet = command(&format!("{line} --quiet"), "outside").output();
            assert_eq!(text(&quiet.expect("an end").stderr), "", "{line}");
        }
    }
    let page = command("diagnose CAPTURE --from 1h", "outside").output();
    let page = text(&page.expect("an end").stdout);
    assert!(
        page.contains("Nothing is left, as --from is behind the end"),
        "{page}"
    );
}

/// Where a trace stands and whose it is, what it asked for, and the pseudonyms of both.
#[test]
fn a_trace_with_pseudonyms_names_nobody() {
    const TRACE: &str = "Trace file /u01/secretpath/orcl_ora_4711.trc
Oracle Database 19c Enterprise Edition Release 19.0.0.0.0 - Production
Node name:\tsecrethost
Instance name: secretinstance
*** SERVICE NAME:(secretservice) 2026-01-01 00:00:00.000
*** MODULE NAME:(secretmodule) 2026-01-01 00:00:00.000
*** CLIENT DRIVER:(secretdriver) 2026-01-01 00:00:00.000
PARSING IN CURSOR #7 len=49 dep=0 uid=1 oct=3 lid=1 tim=10 hv=4 ad='b3' sqlid='secretsqlid'
select * from secrettable where x='secretvalue'
END OF STMT
PARSE #7:c=10,e=20,p=0,cr=0,cu=0,mis=1,r=0,dep=0,og=1,plh=1,tim=1000100
EXEC #7:c=1,e=2,p=0,cr=0,cu=0,mis=0,r=0,dep=0,og=1,plh=0,tim=1000200
PARSING IN CURSOR secretbroken
";
    let trace = file("anonymised-trace", "secretfile.trc", TRACE.as_bytes());
    let run = |more: &[&str]| {
        let mut arguments = vec![
            "trace".into(),
            "--quiet".into(),
            trace.clone().into_os_string(),
        ];
        arguments.extend(more.iter().map(std::ffi::OsString::from));
        text(&slowside(arguments).stdout)
    };
    let plain = run(&["--format=json", "--show-literals"]);
    for word in [
        "host", "instance", "service", "module", "driver", "table", "value", "sqlid", "file",
    ] {
        assert!(plain.contains(&format!("secret{word}")), "{word}: {plain}");
    }
    for format in ["text", "json", "csv", "markdown"] {
        let hidden = run(&[
            "--anonymise=a key for tests",
            "--show-literals",
            "--format",
            format,
        ]);
        assert!(hidden.len() > 40, "{hidden}");
        assert!(!hidden.contains("secret"), "{format}: {hidden}");
    }
}

/// The note on a capture that was given twice names it.
#[test]
fn notes_on_captures_have_pseudonyms_too() {
    let capture = file("anonymised-note", "secretcapture.pcap", &conversation());
    let name = capture.as_os_str();
    for format in ["text", "json", "markdown"] {
        let run = |key: &str| {
            let arguments = [
                name,
                name,
                "--format".as_ref(),
                format.as_ref(),
                key.as_ref(),
            ];
            text(&slowside(arguments).stdout)
        };
        let hidden = run("--anonymise=a key for tests");
        assert!(hidden.contains("was given twice"), "{hidden}");
        assert!(!hidden.contains("secretcapture"), "{hidden}");
    }
}
