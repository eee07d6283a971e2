//! A file through a whole command: the first byte says which line, the others are the capture or the trace. Where its
//! highest bit is set, they are what hosts say, of which a capture is made first ([`said`]).
//!
//! Whatever the file: the exit code is one that is documented, an input that is refused is refused in one line, no
//! thread ended by itself, and what is written is bounded and acts on nothing that shows it
//! ([`crate::outputs`]). The number of threads makes no difference.

use crate::outputs::{self, Kind};
use crate::{said, scratch};
use cli::{Line, Said};
use slowside::{Config, Keep, LiveOptions};
use std::cell::RefCell;
use std::collections::HashMap;
use std::fs;
use std::path::Path;

/// Memory that commands are given: far below the fuzzer's ceiling, and far above what an input needs.
const BUDGET: &str = "--memory 64M";

/// The bit of the first byte that says so.
pub const SAID: u8 = 0x80;

pub const DIAGNOSE: &[&str] = &[
    "diagnose C",
    "diagnose C --format json",
    "diagnose C --format csv",
    "diagnose C --format markdown",
    "diagnose C C --format json",
    "diagnose --client C --format json --anonymise=a-longer-key",
    "diagnose --server C --fast-enough 1ms",
    "compare C C",
    "compare C C --format json",
    "compare C C --format markdown",
    "compare C C -o H",
];

pub const CALLS: &[&str] = &[
    "calls C",
    "calls C --format jsonl",
    "calls C --sort start --anonymise=a-longer-key",
    "calls C --where 'response_time>1ms'",
    "calls C --format parquet -o P",
    "calls C --top 3 --columns connection,op,path,sql,user",
];

pub const SQL: &[&str] = &[
    "sql C",
    "sql C --by user,service,program,statement --show-literals --all",
    "sql C --by user,statement --format csv",
    "sql C --show-literals --format json",
    "sql C --session 1 --packets --format csv",
    "sql C --by user,statement --format parquet -o P",
    "sql C --format markdown --anonymise=a-longer-key",
];

pub const ROWS: &[&str] = &[
    "ops C --by op,client,file",
    "ops C --by op,client,file --format csv",
    "ops C --format json",
    "ops C --format openmetrics --by client,file",
    "conns C",
    "conns C --connection 1",
    "conns C --format csv",
    "conns C --format json",
    "conns C --format csv --series 1s",
    "conns C --format parquet -o P",
    "info C",
    "info C --format json",
    "stat C",
    "stat C --format csv",
    "stat C --format jsonl --interval 100ms",
    "startup C",
    "startup C --format json",
    "whatif C --rtt 1ms",
    "whatif C --rtt 1ms --format json",
];

pub const LIVE: &[&str] = &[
    "live C --format json",
    "live C --format text",
    "live C --format json --interval 10ms --window 100ms --when max>1ms --write O --files 1",
    "live C --format text --when calls>1 --anonymise=a-longer-key",
];

pub const CUT: &[&str] = &[
    "cut C --connection 1 -o O",
    "cut C --frames 2-5 --only -o O",
    "cut C --where 'response_time>1ms' -o O",
    "cut C --finding 1 -o O",
    "cut C --connection 1 --anonymise=a-longer-key -o O",
    "cut C --from 1ms --anonymise=a-longer-key -o O",
];

pub const REPORT: &[&str] = &[
    "report C -o H",
    "report C C -o H",
    "report C --anonymise=a-longer-key -o H",
];

pub const TRACE: &[&str] = &[
    "trace C",
    "trace C --all --show-literals",
    "trace C --format markdown",
    "trace C --format json",
    "trace C --format csv",
    "trace C --format csv --by event --anonymise=a-longer-key",
];

pub fn diagnose(data: &[u8]) {
    each(data, DIAGNOSE);
}

pub fn calls(data: &[u8]) {
    each(data, CALLS);
}

pub fn sql(data: &[u8]) {
    each(data, SQL);
}

pub fn rows(data: &[u8]) {
    each(data, ROWS);
}

pub fn trace(data: &[u8]) {
    each(data, TRACE);
}

pub fn report(data: &[u8]) {
    each(data, REPORT);
}

/// The packets that were kept are a capture without damage.
pub fn live(data: &[u8]) {
    let evidence = scratch::path("out-1");
    let _ = fs::remove_file(&evidence);
    each(data, LIVE);
    is_whole(&evidence);
}

/// So are those that were cut.
pub fn cut(data: &[u8]) {
    let _ = fs::remove_file(scratch::path("out"));
    each(data, CUT);
    is_whole(&scratch::path("out"));
}

/// The same on a terminal: two bytes are its size, the second also says whether hosts speak, a third says how many of those behind it are keys.
pub fn view(data: &[u8]) {
    let Some((&[columns, lines, keys], rest)) = data.split_first_chunk() else {
        return;
    };
    let (keys, capture) = rest.split_at(usize::from(keys % 16).min(rest.len()));
    if is_compressed(capture) {
        return;
    }
    let made = (lines & SAID != 0).then(|| said::capture(capture));
    let capture = made.as_deref().unwrap_or(capture);
    // Larger ones take longer and show no more.
    let (columns, lines) = (columns % 160, lines & !SAID);
    let keys: String = keys
        .iter()
        .map(|&k| char::from(k))
        .filter(|&k| k != 'w')
        .collect();
    let options = LiveOptions {
        interval_ns: 1_000_000_000,
        window_ns: 10_000_000_000,
        keep: Keep {
            ns: 1_000_000_000,
            bytes: 1 << 20,
        },
        when: Vec::new(),
        write: None,
        files: 0,
        anonymiser: None,
        metrics: None,
        past: None,
        clock: || 0,
    };
    let config = Config {
        threads: 1,
        ..Config::default()
    };
    let size = (u16::from(columns), u16::from(lines));
    // What is no capture is refused.
    let Ok(screens) = cli::screens(capture, &options, &config, size, &keys) else {
        return;
    };
    for screen in &screens {
        outputs::check(screen.as_bytes(), Kind::Text);
        assert_eq!(
            screen.lines().count(),
            if columns == 0 { 0 } else { usize::from(lines) }
        );
    }
    // A silence is one picture, however long it lasts.
    assert!(
        screens.len() <= 100 + capture.len(),
        "{} pictures",
        screens.len()
    );
}

/// What is saved of a run is read as what it was, and the same run has not changed. The first byte only says whether
/// the others are what hosts say.
pub fn save(data: &[u8]) {
    let Some((&which, rest)) = data.split_first() else {
        return;
    };
    if is_compressed(rest) {
        return;
    }
    let made = (which & SAID != 0).then(|| said::capture(rest));
    scratch::file("capture", made.as_deref().unwrap_or(rest));
    let saved = scratch::path("saved");
    let _ = fs::remove_file(&saved);
    let said = run("diagnose C --save S --quiet --threads 1");
    let Ok(bytes) = fs::read(&saved) else {
        assert_eq!(said.code, 2);
        return;
    };
    let run_again = analysis::compare::saved::load(&bytes).expect("what was saved is read");
    assert!(
        analysis::compare::saved::save(&run_again) == bytes,
        "it is saved as it was"
    );
    let from_file = run("compare S S --format json");
    let from_captures = run("compare C C --format json");
    assert_eq!(text(&from_file.out), text(&from_captures.out));
}

/// A saved run that anybody wrote.
pub fn saved(data: &[u8]) {
    const FORMATS: [&str; 4] = [
        "compare S S",
        "compare S S --format json",
        "compare S S --format markdown",
        "compare S S -o H",
    ];
    let Some((&which, file)) = data.split_first() else {
        return;
    };
    if let Ok(run) = analysis::compare::saved::load(file) {
        let again = analysis::compare::saved::load(&analysis::compare::saved::save(&run));
        assert!(again.as_ref() == Ok(&run), "it is read as it was saved");
    }
    scratch::file("saved", file);
    held(FORMATS[usize::from(which) % FORMATS.len()], file.len());
}

/// The line that the first byte says, over the others.
fn each(data: &[u8], lines: &[&str]) {
    let Some((&which, rest)) = data.split_first() else {
        return;
    };
    if is_compressed(rest) {
        return;
    }
    let made = (which & SAID != 0).then(|| said::capture(rest));
    let which = which & !SAID;
    let file = made.as_deref().unwrap_or(rest);
    scratch::file("capture", file);
    let line = lines[usize::from(which) % lines.len()];
    if line.starts_with("trace") {
        held(line, file.len());
        return;
    }
    let one = held(&format!("{line} {BUDGET} --threads 1"), file.len());
    // Some of the inputs are enough for what is rarely wrong.
    if file.len().is_multiple_of(4) {
        let _ = fs::remove_file(scratch::path("out-1"));
        let two = held(&format!("{line} {BUDGET} --threads 2"), file.len());
        assert_eq!(
            (one.code, text(&one.out)),
            (two.code, text(&two.out)),
            "the number of threads shows"
        );
        assert_eq!(
            text(&one.err),
            text(&two.err),
            "the number of threads shows"
        );
    }
}

/// Runs a line over an input of so many bytes, and holds what it says against what is promised.
fn held(line: &str, input: usize) -> Said {
    let page = scratch::path("page.html");
    let _ = fs::remove_file(&page);
    let said = run(line);
    let err = text(&said.err);
    match said.code {
        0 | 1 | 3 => {}
        2 => assert!(err.lines().count() >= 1, "{line}: refused without a word"),
        code => panic!("{line}: exit code {code}"),
    }
    assert!(!err.contains("internal-error"), "{line}: {err}");
    let kind = match line {
        _ if said.code == 2 => Kind::Text,
        l if l.contains("jsonl") || l.starts_with("live") && l.contains("json") => Kind::JsonLines,
        l if l.contains("json") => Kind::Json,
        l if l.contains("csv") || l.starts_with("calls") => Kind::Csv,
        _ => Kind::Text,
    };
    outputs::check(&said.err, Kind::Text);
    outputs::check(&said.out, kind);
    outputs::bounded(said.out.len() + said.err.len(), input, line);
    if let Ok(page) = fs::read(&page) {
        outputs::check(&page, Kind::Page);
        outputs::bounded(page.len(), input, line);
    }
    said
}

/// A capture that was written, if it was, has nothing wrong.
fn is_whole(file: &Path) {
    if file.exists() {
        let name = file.display();
        let said = run(&format!("info {name} --format json"));
        let out = text(&said.out);
        // Packets were cut where they stood; that the file ends in the midst of one would be ours.
        assert!(matches!(said.code, 0 | 3), "{name}: {}", text(&said.err));
        assert!(!out.contains("file-cut-short"), "{out}");
    }
}

thread_local! {
    /// Lines that were understood: it takes as long as a small capture does.
    static LINES: RefCell<HashMap<String, Line>> = RefCell::default();
}

fn run(line: &str) -> Said {
    LINES.with_borrow_mut(|lines| {
        let known = lines.entry(line.to_owned()).or_insert_with(|| {
            let words: Vec<String> = line.split_whitespace().map(word).collect();
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            Line::parse(&words).unwrap_or_else(|e| panic!("{line}: {e}"))
        });
        known.run()
    })
}

/// The name of a file for what stands for it.
fn word(word: &str) -> String {
    let name = match word {
        "C" => "capture",
        "O" => "out",
        "S" => "saved",
        "H" => "page.html",
        "P" => "rows.parquet",
        _ => return word.trim_matches('\'').to_owned(),
    };
    scratch::path(name).display().to_string()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// What is compressed may say a thousand times as much; `compressed` is about that.
fn is_compressed(file: &[u8]) -> bool {
    let magics: [&[u8]; 4] = [
        &[0x1f, 0x8b],
        &[0x28, 0xb5],
        &[4, 0x22, 0x4d],
        &[0xfd, b'7', b'z'],
    ];
    let skippable = matches!(file, [0x50..=0x5f, 0x2a, ..]);
    skippable || magics.iter().any(|m| file.starts_with(m))
}
