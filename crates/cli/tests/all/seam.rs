//! What strangers wrote, in names of files, users, statements, modules and errors: every command shows it,
//! on standard output and standard error, and none of it does anything there.

use crate::command::COMMANDS;
use crate::kit::{command, folder, slowside};
use model::LinkType;
use std::fs;
use std::path::{Path, PathBuf};
use testkit::{Conversation, Format, pcap};

/// Fills a clipboard, clears a screen, turns text around, hides what follows, ends a line.
const EVIL: &str =
    "e\u{1b}]52;c;eA==\u{7}\u{9b}2J\u{202e}\u{2066}\u{2028}\u{200b}\u{e0041}\u{7f}\r\nVIL";

/// A message of PostgreSQL.
fn message(kind: u8, body: &str) -> Vec<u8> {
    let mut out = vec![kind];
    out.extend(((body.len() + 4) as u32).to_be_bytes());
    out.extend(body.as_bytes());
    out
}

/// A session in which all that a client or a server may choose is a stranger's.
fn capture() -> Vec<u8> {
    let mut c = Conversation::new(
        ([10, 0, 0, 1], 40_000).into(),
        ([10, 0, 0, 2], 5_432).into(),
    );
    c.at(1_700_000_000_000_000_000).handshake();
    let names = ["user", "database", "application_name"].map(|n| format!("{n}\0=1+{EVIL}\0"));
    let startup = format!("\0\u{3}\0\0{}\0", names.concat());
    c.client(&message(0, &startup)[1..]);
    let ready = message(b'Z', "I");
    let welcome = [message(b'R', "\0\0\0\0"), ready.clone()].concat();
    c.after(1_000_000).server(&welcome);
    for answer in [
        "CSELECT 0\0".to_owned(),
        format!("ESERROR\0C=\u{1b}[2J\0M{EVIL}\0\0"),
    ] {
        for verb in ["select 1 from", "=1+evil"] {
            let query = format!("{verb} \"{EVIL}\" where x\u{202e}y = 1\0");
            c.after(100_000).client(&message(b'Q', &query));
            let (kind, body) = answer.split_at(1);
            let answer = [message(kind.as_bytes()[0], body), ready.clone()].concat();
            c.after(30_000_000).server(&answer);
        }
    }
    c.finish();
    pcap(&c.packets(), LinkType(1), Format::default())
}

fn trace() -> String {
    let line = EVIL.replace(['\r', '\n'], "");
    let named = [
        "CLIENT ID",
        "SERVICE NAME",
        "MODULE NAME",
        "ACTION NAME",
        "CLIENT DRIVER",
    ];
    let heads = named.map(|name| format!("*** {name}:(=1+{line}) 2026-01-01 00:00:00.000\n"));
    format!(
        "Oracle Database {line} Release 19.0.0.0.0\nNode name: {line}\nInstance name: {line}\n{}\
         PARSING IN CURSOR #7 len=9 dep=0 uid=1 oct=3 lid=1 tim=1 hv=4 ad='b3' sqlid='=1+{line}'\n\
         select \"{line}\"\nEND OF STMT\n\
         WAIT #7: nam='=1+{line}' ela= 600 file#=4 block#=20 blocks=1 obj#=1 tim=1900\n\
         EXEC #7:c=1,e=10,p=1,cr=2,cu=0,mis=0,r=0,dep=0,og=1,plh=7,tim=2000\n\
         [03-FEB-2014 10:56:17:936] nscall: connecting to {line}\n\
         WAIT #7: nam='{line}",
        heads.concat()
    )
}

/// Every command, in every form that it has: `C` and `T` are a capture and a trace, `O` a file to write.
const LINES: &[&str] = &[
    "diagnose C",
    "diagnose C --format markdown",
    "diagnose C --format csv",
    "diagnose C --format json",
    "calls C",
    "calls C --format jsonl",
    "calls C --raw-cells",
    "calls C --format parquet -o O.parquet",
    "ops C --by op,client",
    "ops C --format markdown",
    "ops C --format csv",
    "ops C --format openmetrics --by client,file",
    "ops C --format json",
    "conns C",
    "conns C --connection 1",
    "conns C --format markdown",
    "conns C --format csv",
    "conns C --format json",
    "conns C --format csv --series 1s",
    "conns C --connection 1 --series 1s",
    "sql C --by user,service,program,statement --show-literals",
    "sql C --by user --format csv",
    "sql C --by statement --format csv --raw-cells",
    "sql C --show-literals --format markdown",
    "sql C --show-literals --format json",
    "startup C --client 10.0.0.1",
    "startup C --format json",
    "info C",
    "info C --format markdown",
    "info C --format json",
    "stat C",
    "stat C --format csv",
    "stat C --format jsonl",
    "live C --format text",
    "live C --format json --when max>1ms --write O",
    "capture --client C --server X",
    "capture --client local --server local:1 --remote-dir /nowhere --dry-run",
    "whatif C --rtt 1ms",
    "whatif C --rtt 1ms --format json",
    "whatif C --rtt 1ms --format markdown",
    "compare C C",
    "compare C C --format json",
    "compare C C --format markdown",
    "report C -o -",
    "report C -o O.html",
    "cut C --connection 1 -o O",
    "trace T",
    "trace T --all --show-literals",
    "trace T --format markdown",
    "trace T --format json",
    "trace T --format csv",
    "trace T --format csv --by event",
    "trace T --packets",
    "trace T --packets --format csv",
    "probe C --connect-only",
    "demo --list",
    "explain C",
    "completions bash",
    "completions C",
    "man",
    "man C",
    "diagnose X",
    "calls X",
    "live X",
    "trace X",
    "info C T",
    "ops C --where op=X",
    "cut C -o X/x --frames 1",
    "demo reset-by-server --dir X",
];

/// That text holds nothing that acts, but line ends and tabs.
fn shows(bytes: &[u8], line: &str) {
    let text = std::str::from_utf8(bytes).unwrap_or_else(|e| panic!("{line}: {e}"));
    let acts = |c: char| report::acts(c) && !matches!(c, '\n' | '\t');
    if let Some(at) = text.find(acts) {
        let behind: String = text[at..].chars().take(20).collect();
        panic!("{line}: {behind:?}");
    }
}

/// Neither does a value begin a line, as if it were slowside's, but where the line before is full.
fn keeps_lines(bytes: &[u8], line: &str) {
    let text = String::from_utf8_lossy(bytes);
    let lines: Vec<&str> = text.lines().collect();
    for pair in lines.windows(2) {
        let word = pair[1].split_whitespace().next().unwrap_or_default();
        let full = pair[0].chars().count() + 1 + word.chars().count() > 80;
        assert!(!word.starts_with("VIL") || full, "{line}: {pair:?}");
    }
}

fn strangers(test: &str) -> (PathBuf, [PathBuf; 4]) {
    let folder = folder(test);
    let name = |end: &str| folder.join(format!("=1+{EVIL}{end}"));
    let paths = [name(".pcap"), name(".trc"), name(".out"), name(".missing")];
    fs::write(&paths[0], capture()).expect("a file");
    fs::write(&paths[1], trace()).expect("a file");
    (folder, paths)
}

fn words(line: &str, [capture, trace, out, missing]: &[PathBuf; 4]) -> Vec<String> {
    let path = |p: &Path| p.display().to_string();
    let word = |word: &str| match word {
        "C" => path(capture),
        "T" => path(trace),
        "O" => path(out),
        "O.html" => path(out) + ".html",
        "O.parquet" => path(out) + ".parquet",
        "X" => path(missing),
        "X/x" => path(missing) + "/x",
        "op=X" => format!("op = {EVIL}"),
        word => word.to_owned(),
    };
    line.split_whitespace().map(word).collect()
}

#[test]
fn no_command_writes_what_acts() {
    for name in COMMANDS {
        let line = |l: &&&str| l.split(' ').next() == Some(name);
        assert!(LINES.iter().any(|l| line(&l)), "{name} is not in the list");
    }
    let (folder, paths) = strangers("seam");
    for line in LINES {
        let output = command(words(line, &paths)).current_dir(&folder).output();
        let output = output.expect("an end");
        assert!(output.status.code().is_some(), "{line}");
        for bytes in [&output.stdout, &output.stderr] {
            shows(bytes, line);
            keeps_lines(bytes, line);
        }
        if !line.contains('X') {
            assert_eq!(
                output.stdout.is_empty(),
                line.contains(" O.") || output.status.code() == Some(2),
                "{line}"
            );
        }
    }
    let page = fs::read(folder.join(format!("=1+{EVIL}.out.html"))).expect("a page");
    shows(&page, "the page");
}

#[test]
fn colors_are_those_of_slowside() {
    let (_, paths) = strangers("seam-colors");
    for line in ["diagnose C", "sql C --by user", "trace T", "info C"] {
        let line = format!("{line} --color always");
        let output = slowside(words(&line, &paths));
        let text = String::from_utf8(output.stdout).expect("UTF-8");
        let mut parts = text.split('\u{1b}');
        shows(parts.next().unwrap_or_default().as_bytes(), &line);
        let mut styles = 0;
        for part in parts {
            let (style, text) = part.split_once('m').expect("a style");
            assert!(
                ["[0", "[1", "[2", "[31", "[32", "[33", "[1;31"].contains(&style),
                "{line}: {style:?}"
            );
            shows(text.as_bytes(), &line);
            styles += 1;
        }
        assert!(styles > 0, "{line}");
    }
}

#[test]
fn cells_that_would_be_calculated_are_text_unless_programs_want_them() {
    let (_, paths) = strangers("seam-cells");
    let cells =
        |line: &str| String::from_utf8(slowside(words(line, &paths)).stdout).expect("UTF-8");
    for line in [
        "sql C --by user --format csv",
        "trace T --format csv --by event",
    ] {
        let guarded = cells(line);
        let raw = cells(&format!("{line} --raw-cells"));
        let begin = |text: &str, sign: &str| {
            text.split([',', '\n', '"'])
                .any(|cell| cell.starts_with(sign))
        };
        assert!(
            begin(&guarded, "'=1+e") && !begin(&guarded, "=1+e"),
            "{guarded}"
        );
        assert!(begin(&raw, "=1+e") && !begin(&raw, "'=1+e"), "{raw}");
        // Names, and the codes of errors, whose first characters are others'.
        assert_eq!(guarded.replace("'=", "="), raw);
    }
}
