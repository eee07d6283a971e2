//! The view of `slowside live` on a pseudo-terminal: keys, what then stands there, and a terminal that is
//! given back.

mod session;

use crate::kit::{SLOWSIDE, folder, lab, rows, said, with};
use pty_process::Size;
use pty_process::blocking::{Command, Pty, open};
use std::io::{Read, Write};
use std::num::NonZero;
use std::path::Path;
use std::process::Child;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use std::{fs, thread};

/// Nothing is waited for longer; how long it takes is not looked at.
const PATIENCE: Duration = Duration::from_secs(60);

/// A run, and the terminal it is on.
struct Run {
    pty: Arc<Pty>,
    child: Child,
    screen: Arc<Mutex<vt100::Parser<Picture>>>,
}

/// The last whole picture, while the next is being drawn (synchronized update, DEC private mode 2026).
#[derive(Default)]
struct Picture {
    whole: Option<String>,
    drawn: u32,
}

impl vt100::Callbacks for Picture {
    fn unhandled_csi(
        &mut self,
        screen: &mut vt100::Screen,
        _: Option<u8>,
        _: Option<u8>,
        params: &[&[u16]],
        letter: char,
    ) {
        if params == [&[2026]] {
            self.whole = (letter == 'h').then(|| screen.contents());
            self.drawn += u32::from(letter == 'l');
        }
    }
}

fn parser(rows: u16, columns: u16) -> vt100::Parser<Picture> {
    let size = |n| NonZero::new(n).expect("a size");
    vt100::Parser::new_with_callbacks(size(rows), size(columns), 0, Picture::default())
}

fn capture(case: &str) -> String {
    lab(case, "client").display().to_string()
}

impl Run {
    fn start(rows: u16, columns: u16, arguments: &[&str], folder: &Path) -> Run {
        Run::of(
            Command::new(SLOWSIDE).args(arguments),
            rows,
            columns,
            folder,
        )
    }

    fn of(command: Command, rows: u16, columns: u16, folder: &Path) -> Run {
        let (pty, pts) = open().expect("a pseudo-terminal");
        pty.resize(Size::new(rows, columns)).expect("a size");
        let child = command
            .env("TERM", "xterm-256color")
            .env("TZ", "UTC")
            .env_remove("NO_COLOR")
            .current_dir(folder)
            .spawn(pts)
            .expect("a program that is there");
        let screen = Arc::new(Mutex::new(parser(rows, columns)));
        let (pty, to) = (Arc::new(pty), Arc::clone(&screen));
        let from = Arc::clone(&pty);
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            // The end of a terminal is an error.
            while let Ok(n @ 1..) = (&*from).read(&mut bytes) {
                to.lock().expect("a screen").process(&bytes[..n]);
            }
        });
        Run { pty, child, screen }
    }

    fn keys(&self, keys: &str) {
        (&*self.pty).write_all(keys.as_bytes()).expect("a terminal");
    }

    fn text(&self) -> String {
        let parser = self.screen.lock().expect("a screen");
        let whole = parser.callbacks().whole.clone();
        whole.unwrap_or_else(|| parser.screen().contents())
    }

    /// Waits until what stands there is as wanted.
    fn until(&self, what: &str, wanted: impl Fn(&str) -> bool) -> String {
        let begun = Instant::now();
        loop {
            let text = self.text();
            if wanted(&text) {
                return text;
            }
            assert!(begun.elapsed() < PATIENCE, "{what} never came:\n{text}");
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn shows(&self, words: &str) -> String {
        self.until(words, |text| text.contains(words))
    }

    /// All of them: what stands above is there before what is painted after it.
    fn shows_all(&self, words: &[&str]) -> String {
        let missing = |text: &str| words.iter().find(|w| !text.contains(**w)).copied();
        self.until(&words.join(", "), |text| missing(text).is_none())
    }

    fn end(mut self) -> (i32, String) {
        let begun = Instant::now();
        let code = loop {
            if let Some(status) = self.child.try_wait().expect("a process") {
                break status.code().expect("a code");
            }
            assert!(
                begun.elapsed() < PATIENCE,
                "it does not end:\n{}",
                self.text()
            );
            thread::sleep(Duration::from_millis(20));
        };
        // What it wrote last may still be on its way.
        thread::sleep(Duration::from_millis(200));
        let on_main = !self
            .screen
            .lock()
            .expect("a screen")
            .screen()
            .alternate_screen();
        assert!(on_main, "the screen is given back");
        let hidden = self.screen.lock().expect("a screen").screen().hide_cursor();
        assert!(!hidden, "so is the cursor");
        (code, self.text())
    }
}

#[test]
fn keys_do_what_the_help_says() {
    let folder = folder("view-keys");
    let run = Run::start(24, 80, &["live", &capture("server-cap")], &folder);
    let text = run.shows_all(&[
        "server-concurrency-cap",
        "1 Operations by time",
        "2 Connections by time",
        "nfs3 READ",
        "3 Findings",
    ]);
    assert!(text.starts_with("The SERVER is slow: "), "{text}");
    assert!(text.lines().all(|l| l.chars().count() <= 80), "{text}");
    run.keys("?");
    run.shows("pause the view; the capture goes on");
    run.keys("x");
    run.until("no help", |t| !t.contains("pause the view"));
    run.keys("s");
    run.shows("Operations by calls");
    run.keys("2s");
    run.shows("Connections by rate");
    run.keys("\t");
    run.shows("Do: raise the server's NFS threads");
    run.keys("1/write");
    run.until("WRITE alone", |t| {
        t.contains("nfs3 WRITE") && !t.contains("nfs3 READ")
    });
    run.keys("\r");
    run.shows("only “write”");
    run.keys("\x1b");
    run.shows("nfs3 READ");
    run.keys("o");
    run.shows("no statements in the window");
    run.keys("o ");
    run.shows("PAUSED");
    let drawn = run.screen.lock().expect("a screen").callbacks().drawn;
    assert!(drawn > 10, "{drawn} pictures");
    run.keys(" q");
    let (code, text) = run.end();
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("909 calls in all"), "{text}");
}

#[test]
fn enter_opens_a_row_and_escape_closes_it() {
    let folder = folder("view-opened");
    let run = Run::start(24, 80, &["live", &capture("server-cap")], &folder);
    run.shows_all(&["the capture has ended", "nfs3 READ", "3 Findings"]);
    run.keys("\r");
    // The slowest READ and its packets, as `calls` says them.
    let text = run.shows("Slowest calls");
    let calls = rows(
        "calls",
        [capture("server-cap"), "--where=op=READ".to_owned()],
    );
    let slowest = calls.iter().max_by_key(|c| c["response_time_ns"].as_i64());
    let slowest = slowest.expect("calls");
    let frames = format!(
        "{}–{}",
        slowest["request_first_frame"], slowest["response_last_frame"]
    );
    let line = text.lines().find(|l| l.contains(&frames));
    assert!(
        line.is_some_and(|l| l.contains("51.2ms")),
        "{frames}: {text}"
    );
    assert!(text.lines().all(|l| l.chars().count() <= 80), "{text}");
    assert!(
        text.contains("642 calls") && text.contains("≤ 20.0 ms"),
        "{text}"
    );
    run.keys("\x1b");
    run.shows("1 Operations by time");
    // The second row, and a connection with both its ports.
    run.keys("j\r");
    run.shows(" nfs3 WRITE ─");
    run.keys("\t");
    run.shows_all(&["2 Connections by time", "10.0.0.1:723 > 10.0.0.2:2049"]);
    run.keys("\r");
    run.shows_all(&[" 10.0.0.1:723 > 10.0.0.2:2049 ─", "payload", "resent"]);
    run.keys("wq");
    let (code, text) = run.end();
    assert_eq!(code, 0, "{text}");
}

#[test]
fn a_mouse_chooses_opens_sorts_and_scrolls() {
    let folder = folder("view-mouse");
    let run = Run::start(24, 80, &["live", &capture("server-cap")], &folder);
    let text = run.shows_all(&["the capture has ended", "nfs3 COMMIT", "3 Findings"]);
    let line_of = |text: &str, words: &str| {
        let line = text.lines().position(|l| l.contains(words));
        line.unwrap_or_else(|| panic!("{words}: {text}")) + 1
    };
    let click = |column: usize, line: usize| run.keys(&format!("\x1b[<0;{column};{line}M"));
    // A heading sorts by its column.
    let heads = line_of(&text, "operation  ");
    click(36, heads);
    run.shows("Operations by calls/s");
    click(3, heads);
    run.shows("Operations by time");
    // A click chooses a row, another one opens it.
    let write = line_of(&text, "nfs3 WRITE");
    click(3, write);
    click(3, write);
    run.shows(" nfs3 WRITE ─");
    // The right button closes it.
    run.keys("\x1b[<2;3;3M");
    run.shows("1 Operations by time");
    // The wheel: three rows on, of ten.
    run.keys(&format!("\x1b[<65;3;{heads}M\r"));
    run.until("another row", |t| {
        !t.contains("Operations by") && !t.contains(" nfs3 WRITE ─")
    });
    run.keys("\x1bq");
    assert_eq!(run.end().0, 0);
}

#[test]
fn a_wide_screen_shows_more() {
    let run = Run::start(
        50,
        160,
        &["live", &capture("server-cap")],
        &folder("view-wide"),
    );
    run.shows_all(&["server-concurrency-cap", "calls an interval"]);
    run.until("operations and connections side by side", |text| {
        let mut rows = text.lines().filter(|l| l.contains("nfs3 READ"));
        rows.any(|l| l.contains("0.0.1:723 > 10.0.0.2:2049"))
    });
    run.keys("q");
    assert_eq!(run.end().0, 0);
}

#[test]
fn packets_are_written_by_a_key_while_they_come() {
    let folder = folder("view-write");
    let path = capture("server-cap");
    let fifo = folder.join("fifo");
    let made = std::process::Command::new("mkfifo").arg(&fifo).status();
    assert!(made.expect("mkfifo").success());
    let command = format!("exec {} live - < {}", SLOWSIDE, fifo.display());
    let run = Run::of(Command::new("sh").args(["-c", &command]), 24, 80, &folder);
    // The writer keeps the pipe open: the capture has not ended.
    let mut pipe = fs::OpenOptions::new()
        .write(true)
        .open(&fifo)
        .expect("a reader");
    run.shows("Waiting for packets from standard input");
    pipe.write_all(&fs::read(&path).expect("a capture"))
        .expect("a reader");
    // All of it has been read.
    run.shows("kept (844 kB)");
    run.keys("w");
    run.shows("slowside-1.pcapng");
    // Control and C.
    run.keys("\x03");
    let (code, text) = run.end();
    assert_eq!(code, 0, "{text}");
    drop(pipe);
    let kept = folder.join("slowside-1.pcapng");
    let text = said(with(&["ops", "--format=json"], &kept));
    assert!(text.contains("\"op\":\"READ\",\"count\":642"), "{text}");
}

#[test]
fn no_color_is_shown_where_none_is_wanted() {
    let arguments = ["live", &capture("server-cap"), "--color=never"];
    let run = Run::start(24, 80, &arguments, &folder("view-plain"));
    run.shows("server-concurrency-cap");
    {
        let parser = run.screen.lock().expect("a screen");
        let cells = (0..24).flat_map(|r| (0..80).map(move |c| (r, c)));
        for (row, column) in cells {
            let cell = parser.screen().cell(row, column).expect("a cell");
            assert_eq!(cell.fgcolor(), vt100::Color::Default, "{row} {column}");
        }
    }
    run.keys("q");
    assert_eq!(run.end().0, 0);
    let run = Run::start(
        24,
        80,
        &["live", &capture("server-cap")],
        &folder("view-color"),
    );
    run.shows("server-concurrency-cap");
    let first = run
        .screen
        .lock()
        .expect("a screen")
        .screen()
        .cell(0, 0)
        .map(vt100::Cell::fgcolor);
    assert_ne!(first, Some(vt100::Color::Default));
    run.keys("q");
    assert_eq!(run.end().0, 0);
}

#[test]
fn what_cannot_be_read_is_said_when_the_screen_is_given_back() {
    let run = Run::start(
        24,
        80,
        &["live", "no-such-file.pcap"],
        &folder("view-error"),
    );
    run.shows("cannot open no-such-file.pcap");
    run.keys("q");
    let (code, text) = run.end();
    assert_eq!(code, 2, "{text}");
    assert!(
        text.contains("slowside: cannot open no-such-file.pcap"),
        "{text}"
    );
}
