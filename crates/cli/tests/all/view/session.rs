//! A session of the view, typed and written down: docs/live-session.md is what stands on a terminal of 80 columns and 24
//! lines after each key. `UPDATE_EXPECT=1 cargo test -p cli --test all session` records it anew.

use super::{PATIENCE, Run};
use crate::kit::{folder, root};
use expect_test::expect_file;
use std::fmt::Write;
use std::time::{Duration, Instant};
use std::{fs, thread};

/// Keys, what was done with them, and what is waited for until they are answered.
type Step = (&'static str, &'static str, &'static str);

/// A server that stands still for a tenth of a second every two seconds.
const STALLS: &[Step] = &[
    (
        "",
        "What is wrong, in one sentence; below it operations, connections, findings.",
        "3 Findings",
    ),
    (
        "\r",
        "Enter opens the marked row: READ. Most calls take half a millisecond; every two seconds some take 50 to 100. The \
         slowest are listed with their packets.",
        "Slowest calls",
    ),
    (
        "\x1b2\r",
        "Esc closes it, 2 goes to the connections, and Enter opens the first: READ and WRITE wait at the same moments, and \
         nothing is sent meanwhile.",
        "payload",
    ),
    (
        "\x1b3",
        "Esc, and 3 for the findings: what it is, and what to do.",
        "Do: ",
    ),
    ("?", "All keys.", "pause the view"),
];

/// Two sessions of a database, one of which waits.
const STATEMENTS: &[Step] = &[
    (
        "o",
        "o: statements instead of operations.",
        "Statements by time",
    ),
    (
        "\r",
        "The one that takes the time, opened.",
        "Slowest calls",
    ),
];

/// Once it stands still.
fn still(run: &Run, words: &str) -> String {
    run.shows(words);
    let begun = Instant::now();
    let mut before = run.text();
    loop {
        thread::sleep(Duration::from_millis(300));
        let text = run.text();
        if text == before && text.contains(words) {
            return text;
        }
        before = text;
        assert!(
            begun.elapsed() < PATIENCE,
            "it never stands still:\n{before}"
        );
    }
}

fn record(page: &mut String, case: &str, interval: &str, steps: &[Step]) {
    let folder = folder(&format!("view-session-{case}"));
    let capture = root()
        .join("tests/field")
        .join(case)
        .join("client.pcap.zst");
    fs::copy(capture, folder.join("client.pcap")).expect("the repository's own file");
    let arguments = [
        "live",
        "client.pcap",
        "--interval",
        interval,
        "--window",
        "10s",
    ];
    let run = Run::start(24, 80, &arguments, &folder);
    run.shows_all(&["the capture has ended", "3 Findings"]);
    for (keys, what, words) in steps {
        run.keys(keys);
        let text = still(&run, words);
        let lines = text.lines().map(str::trim_end);
        let screen: String = lines.fold(String::new(), |text, line| text + line + "\n");
        let _ = write!(page, "\n{what}\n\n```text\n{}\n```\n", screen.trim_end());
    }
    run.keys("qq");
    assert_eq!(run.end().0, 0);
}

#[test]
fn a_session_is_what_the_documentation_shows() {
    let mut page = String::from(
        "# A session of live\n\nWhat stands on a terminal, key by key; a test types it, and this page is what it sees \
         ([live.md](live.md) says what all of it means). The file was recorded before; an interface shows the same while it goes \
         on.\n\n```sh\nslowside live client.pcap --interval 200ms --window 10s\n```\n",
    );
    record(&mut page, "j32-stands-still", "200ms", STALLS);
    page += "\n## Statements\n\nOf a database, statements take the place of operations.\n";
    record(&mut page, "e18-hidden-session", "100ms", STATEMENTS);
    expect_file!["../../../../../docs/live-session.md"].assert_eq(&page);
}
