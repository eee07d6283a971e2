//! Frames of the page against tshark: the packets that it names are those that it says they are.

use super::page::{Page, plain};
use super::{lab, report, said};
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

/// What a ladder says was sent again: the frame, its file, and where the same bytes had been sent before.
fn sent_again(words: &str) -> Vec<(u64, String, Option<u64>)> {
    let all = words.split(" sent again meanwhile: ").skip(1);
    let all = all.flat_map(|w| {
        w.split(".</figcaption>")
            .next()
            .unwrap_or_default()
            .split("; ")
    });
    let number = |text: &str| text.split(' ').next().and_then(|n| n.parse().ok());
    let one = |w: &str| -> Option<(u64, String, Option<u64>)> {
        let (_, again) = w.split_once("in frame ")?;
        let (_, file) = again.split_once(" of ")?;
        let before = w
            .split_once("before in frame ")
            .and_then(|(_, b)| number(b));
        Some((
            number(again)?,
            file.split(" at ").next()?.to_owned(),
            before,
        ))
    };
    all.filter_map(one).collect()
}

#[test]
fn what_was_sent_again_while_a_call_was_under_way_stands_where_it_was() {
    if !has("tshark") {
        return;
    }
    let find = |name| lab().into_iter().find(|(n, _)| n == name);
    let (_, captures) = find("packet-loss").expect("a case");
    let page = report(&captures);
    let files = files(&page);
    let segments: Vec<_> = files.iter().map(|f| tshark(Path::new(f), "tcp")).collect();
    let again = sent_again(&page.words);
    assert!(again.len() >= 3, "{again:?}");
    let mut had_before = 0;
    for (frame, label, before) in again {
        let file = files
            .iter()
            .position(|f| f.ends_with(&label))
            .expect("a file");
        let (time, sequence, length) = segments[file][&frame];
        assert!(length > 0, "frame {frame} of {label} has no bytes");
        let Some(before) = before else { continue };
        had_before += 1;
        let (earlier, first, bytes) = segments[file][&before];
        assert!(
            earlier < time,
            "frame {before} of {label} is not before {frame}"
        );
        let is_same = first < sequence + length && sequence < first + bytes;
        assert!(
            is_same,
            "frames {before} and {frame} of {label} hold other bytes"
        );
    }
    assert!(had_before >= 3, "{had_before}");
    assert!(page.words.contains("<line class=\"resent\""));
    assert!(page.words.contains("<path class=\"cross\""));
    // Sent again although it had arrived, as the other end's capture shows: that was no loss.
    let (_, captures) = find("server-cap").expect("a case");
    let page = report(&captures);
    let again = sent_again(&page.words);
    assert!(
        !again.is_empty() && again.iter().all(|(.., before)| before.is_none()),
        "{again:?}"
    );
    assert!(!page.words.contains("class=\"cross\""));
    let (_, captures) = find("healthy").expect("a case");
    let page = report(&captures);
    assert_eq!(sent_again(&page.words), [], "nothing was lost");
    assert!(!page.words.contains("class=\"resent\""));
}

#[test]
fn a_slow_call_s_lines_are_those_of_its_ledger() {
    for name in ["packet-loss", "server-cap", "slow-turns"] {
        let (_, captures) = lab().into_iter().find(|(n, _)| n == name).expect("a case");
        for captures in [captures.clone(), captures[..1].to_vec()] {
            let page = report(&captures);
            let rows = said(&["calls", "--format", "jsonl"], &captures);
            let rows: Vec<Value> = rows
                .lines()
                .map(|l| serde_json::from_str(l).expect("JSON"))
                .collect();
            let ladders = page
                .words
                .split("<details class=\"ladder\" id=\"call-")
                .skip(1);
            let mut seen = 0;
            for ladder in ladders {
                let anchor = ladder.split('"').next().expect("an id");
                let (frame, id) = anchor.split_once('-').expect("a frame and an id");
                let frame: u64 = frame.parse().expect("a number");
                let named = |r: &Value| match r["id"].as_str() {
                    Some(named) => named == id,
                    None => r["id"].as_u64() == id.parse().ok(),
                };
                let is_it = |r: &&Value| {
                    r["request_first_frame"] == frame && named(r) && !r["ledger"].is_null()
                };
                let row = rows
                    .iter()
                    .find(is_it)
                    .unwrap_or_else(|| panic!("{name}: no {anchor}"));
                let lines = row["ledger"].as_array().expect("lines");
                let table = ladder.split("by its ledger</caption>").nth(1);
                let table = table.unwrap_or_else(|| panic!("{name}: {anchor} has no ledger"));
                let body = table
                    .split("<tbody>")
                    .nth(1)
                    .and_then(|t| t.split("</tbody>").next());
                let body = body.unwrap_or_default();
                assert_eq!(body.matches("<tr").count(), lines.len(), "{name}: {anchor}");
                for line in lines {
                    let word = |key: &str| line[key].as_str().expect("a word").to_owned();
                    let told = body.split("<tr").skip(1).any(|tr| {
                        plain(tr).contains(&word("cause"))
                            && tr.contains(&format!("</span>{}</th>", word("place")))
                            && tr.contains(&format!("<td>{}</td>", word("side")))
                            && tr.contains(&format!("data-value=\"{}\"", line["lo_ns"]))
                    });
                    assert!(told, "{name}: {anchor} lacks {line}");
                }
                seen += 1;
            }
            assert!(seen > 0, "{name}");
        }
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
