//! Frames of the page against tshark: the packets that it names are those that it says they are.

use super::page::{Page, plain};
use super::{lab, report};
use crate::kit::{has, nanoseconds};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

/// Packets of a file that a filter shows: frame number, time, relative sequence number, payload length.
fn tshark(file: &Path, filter: &str) -> BTreeMap<u64, (i64, u64, u64)> {
    let fields = ["frame.number", "frame.time_epoch", "tcp.seq", "tcp.len"];
    let output = Command::new("tshark")
        .arg("-r")
        .arg(file)
        .args(["-Y", filter, "-T", "fields"])
        .args(fields.iter().flat_map(|f| ["-e", f]))
        .stdin(Stdio::null())
        .output()
        .expect("tshark");
    assert!(output.status.success(), "{filter}: {output:?}");
    let text = String::from_utf8(output.stdout).expect("text");
    let packet = |line: &str| {
        let mut words = line.split('\t');
        let mut next = || words.next().unwrap_or_default().to_owned();
        let (frame, time) = (next(), next());
        let number = |text: String| text.parse().unwrap_or(0);
        (
            number(frame),
            (nanoseconds(&time), number(next()), number(next())),
        )
    };
    text.lines().map(packet).collect()
}

/// The files of a page's captures.
fn files(page: &Page) -> Vec<String> {
    let captures = page.data["captures"].as_array().expect("captures");
    captures
        .iter()
        .map(|c| c["files"][0].as_str().expect("a file").to_owned())
        .collect()
}

const CASES: [&str; 3] = ["server-cap", "packet-loss", "small-window"];

#[test]
fn packets_are_what_the_page_says_they_are() {
    if !has("tshark") {
        return;
    }
    let mut points = 0;
    for (name, captures) in lab()
        .into_iter()
        .filter(|(n, _)| CASES.contains(&n.as_str()))
    {
        let page = report(&captures);
        evidence(&name, &page);
        ladders(&name, &page);
        points += plots(&name, &page);
    }
    assert!(points > 1_000, "{points} points");
}

/// Each command to cut packets out does what its line says.
fn evidence(name: &str, page: &Page) {
    let folder = super::folder("evidence");
    for part in page.words.split("<div class=\"evidence\">").skip(1).take(3) {
        let codes: Vec<String> = part
            .split("<code>")
            .skip(1)
            .filter_map(|c| Some(plain(c.split_once("</code>")?.0)))
            .take(3)
            .collect();
        let [filter, tshark_line, editcap_line] = codes.as_slice() else {
            panic!("{name}: {codes:?}");
        };
        assert!(
            tshark_line.contains(filter.as_str()),
            "{name}: {tshark_line}"
        );
        let cut = |line: &str| {
            let done = Command::new("sh")
                .args(["-c", line])
                .current_dir(&folder)
                .stdin(Stdio::null())
                .output()
                .expect("a shell");
            assert!(done.status.success(), "{line}: {done:?}");
            let packets = tshark(&folder.join("evidence.pcapng"), "frame");
            packets.values().map(|p| p.0).collect::<Vec<_>>()
        };
        let by_filter = cut(tshark_line);
        let by_number = cut(editcap_line);
        assert!(!by_number.is_empty(), "{name}: {editcap_line}");
        let missing: Vec<_> = by_number
            .iter()
            .filter(|t| !by_filter.contains(t))
            .collect();
        assert!(
            missing.is_empty(),
            "{name}: {filter} does not show {missing:?}"
        );
    }
}

/// The times of slow calls are those of the frames that are named.
fn ladders(name: &str, page: &Page) {
    let files = files(page);
    let start: i64 = page.data["start"]["epoch_ns"]
        .as_str()
        .and_then(|t| t.parse().ok())
        .expect("a time");
    let all: Vec<_> = files
        .iter()
        .map(|file| tshark(Path::new(file), "tcp"))
        .collect();
    for (i, ladder) in page.data["ladders"]
        .as_array()
        .expect("ladders")
        .iter()
        .enumerate()
    {
        for seen in ladder["seen"].as_array().expect("captures") {
            let capture = seen["capture"].as_u64().expect("an index") as usize;
            let filter = seen["filter"].as_str().expect("a filter");
            let shown = (i == 0).then(|| tshark(Path::new(&files[capture]), filter));
            let packets = shown.as_ref().unwrap_or(&all[capture]);
            let keys = [
                "request_first",
                "request_last",
                "response_first",
                "response_last",
            ];
            // The clock of the page may be another one, which is as far off for all four.
            let mut off = None;
            for key in keys {
                let frame = seen["frames"][key].as_u64().expect("a frame");
                let (time, ..) = packets
                    .get(&frame)
                    .unwrap_or_else(|| panic!("{name}: {ladder}"));
                let ns = seen[format!("{key}_ns")].as_i64().expect("a time");
                let off = *off.get_or_insert(time - start - ns);
                assert!(
                    (time - start - ns - off).abs() <= 1_000,
                    "{name}: {key} {ladder}"
                );
            }
            let side = &page.data["captures"][capture]["side"];
            assert!(side == "server" || off == Some(0), "{name}: {off:?}");
        }
        let parts = ladder["parts"].as_array().expect("parts").iter();
        let sum: i64 = parts.filter_map(|p| p["ns"].as_i64()).sum();
        let took = ladder["response_time_ns"].as_i64().expect("a time");
        assert!((sum - took).abs() <= 1_000, "{name}: {ladder}");
    }
}

/// Segments of plots have the time, the sequence numbers and the length of their frames.
fn plots(name: &str, page: &Page) -> usize {
    let files = files(page);
    let start: i64 = page.data["start"]["epoch_ns"]
        .as_str()
        .and_then(|t| t.parse().ok())
        .expect("a time");
    let mut checked = 0;
    for c in page.data["connections"]
        .as_array()
        .expect("connections")
        .iter()
        .take(2)
    {
        for view in c["views"].as_array().expect("views") {
            let capture = view["capture"].as_u64().expect("an index") as usize;
            if page.data["captures"][capture]["side"] == "server"
                && page.data["captures"].as_array().map(Vec::len) == Some(2)
            {
                // On the client's clock.
                continue;
            }
            let packets = tshark(Path::new(&files[capture]), "tcp");
            for d in view["directions"].as_array().expect("directions") {
                let s = &d["segments"];
                let column = |key: &str| -> Vec<i64> {
                    let numbers = s[key].as_array().expect("a column");
                    numbers.iter().filter_map(Value::as_i64).collect()
                };
                let (time, frame, from, to) = (
                    column("time_ns"),
                    column("frame"),
                    column("from"),
                    column("to"),
                );
                assert!(
                    [&frame, &from, &to].iter().all(|c| c.len() == time.len()),
                    "{name}"
                );
                for (((time, frame), from), to) in time.iter().zip(&frame).zip(&from).zip(&to) {
                    let (at, sequence, length) = packets.get(&(*frame as u64)).expect("a packet");
                    assert_eq!(at - start, *time, "{name}: frame {frame}");
                    assert_eq!(*length as i64, to - from, "{name}: frame {frame}");
                    // tshark counts the SYN.
                    assert_eq!(*sequence as i64, from + 1, "{name}: frame {frame}");
                    checked += 1;
                }
            }
        }
    }
    checked
}
