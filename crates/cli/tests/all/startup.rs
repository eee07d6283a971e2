//! Start-ups of known waits (`tests/startup`), and the lookups of public captures against tshark's.

use crate::kit::{answer, has, parsed, root, rows, said, sample};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

fn recorded(more: &[&str]) -> String {
    let capture = root().join("tests/startup/capture.pcap.zst");
    let mut arguments = vec!["startup", capture.to_str().expect("a path in UTF-8")];
    arguments.extend(more);
    said(arguments)
}

/// Nanoseconds of a kind and ending.
fn cost(client: &Value, kind: &str, ending: &str) -> i64 {
    let reasons = client["reasons"].as_array().expect("reasons");
    let of_kind = reasons
        .iter()
        .filter(|r| r["kind"] == kind && r["ending"] == ending);
    of_kind.filter_map(|r| r["cost_ns"].as_i64()).sum()
}

#[test]
fn seconds_per_reason_are_those_that_were_put_in() {
    let truth = root().join("tests/startup/truth.json");
    let truth = parsed(&std::fs::read_to_string(truth).expect("the truth is there"));
    let answer = parsed(&recorded(&["--format", "json"]));
    let client = &answer["client"];
    assert_eq!(client["addresses"][0], truth["client"]);
    let reasons = [
        ("dns", "dns", "no-answer"),
        ("broadcast", "broadcast", "no-answer"),
        ("refused", "connect", "refused"),
        ("connect", "connect", "no-answer"),
        ("arp", "arp", "no-answer"),
        ("lookup", "file", "not-found"),
        ("logon", "logon", "answered"),
    ];
    for (name, kind, ending) in reasons {
        let put_in = truth["seconds"][name].as_f64().expect("seconds") * 1e9;
        let said = cost(client, kind, ending) as f64;
        assert!(
            (said - put_in).abs() <= 0.05 * put_in,
            "{name}: {said} instead of {put_in}"
        );
    }
}

#[test]
fn every_nanosecond_is_charged_once() {
    let answer = parsed(&recorded(&["--format", "json", "--client", "10.20.0.2"]));
    let client = &answer["client"];
    let sum = |rows: &Value| -> i64 {
        let rows = rows.as_array().expect("rows").iter();
        rows.filter_map(|r| r["cost_ns"].as_i64()).sum()
    };
    let elapsed = client["elapsed_ns"].as_i64().expect("elapsed");
    assert_eq!(
        elapsed,
        client["last_ns"].as_i64().expect("last") - client["first_ns"].as_i64().expect("first")
    );
    for rows in ["reasons", "servers", "waits"] {
        assert_eq!(sum(&client[rows]), elapsed, "{rows}");
    }
    for wait in client["waits"].as_array().expect("waits") {
        let (cost, lasted) = (wait["cost_ns"].as_i64(), wait["elapsed_ns"].as_i64());
        assert!(cost >= Some(0) && cost <= lasted, "{wait}");
    }
}

#[test]
fn waits_are_listed_as_they_are_asked_for() {
    let costs = |more: &[&str]| -> Vec<i64> {
        let answer = parsed(&recorded(&[&["--format", "json"], more].concat()));
        let waits = answer["client"]["waits"].as_array().expect("waits").clone();
        waits.iter().filter_map(|w| w["cost_ns"].as_i64()).collect()
    };
    let all = costs(&[]);
    let mut most = all.clone();
    most.sort_by_key(|&cost| std::cmp::Reverse(cost));
    assert_ne!(all, most);
    assert_eq!(costs(&["--sort", "cost"]), most);
    assert_eq!(costs(&["--top", "3"]), most[..3]);
    let page = recorded(&["--sort", "elapsed", "--top", "3"]);
    assert!(page.contains("\n3 waits by elapsed:\n"), "{page}");
}

#[test]
fn what_each_wait_was_for_and_what_ended_it_is_said() {
    let answer = parsed(&recorded(&["--format", "json"]));
    let waits = answer["client"]["waits"].as_array().expect("waits");
    let find = |kind: &str, ending: &str| {
        let mut of_kind = waits
            .iter()
            .filter(|w| w["kind"] == kind && w["ending"] == ending);
        of_kind.next().unwrap_or_else(|| panic!("{kind} {ending}"))
    };
    let dns = find("dns", "no-answer");
    assert_eq!(dns["server"], "10.20.0.54:53");
    assert_eq!(
        dns["what"],
        "A no-such-database.example.test (search suffix example.test)"
    );
    assert_eq!(find("dns", "not-found")["ended_by"], "NXDOMAIN");
    assert_eq!(find("broadcast", "no-answer")["server"], "10.20.0.255:5093");
    let refused = find("connect", "refused")["ended_by"]
        .as_str()
        .expect("words");
    assert!(
        refused.starts_with("refused; tried again after 500 ms"),
        "{refused}"
    );
    assert_eq!(find("connect", "no-answer")["ended_by"], "sent again");
    assert_eq!(find("arp", "no-answer")["server"], "10.20.0.77");
    let missing = find("file", "not-found");
    assert_eq!(missing["ended_by"], "NFS3ERR_NOENT");
    assert_eq!(missing["what"], "LOOKUP missing0.ora");
    assert_eq!(find("logon", "answered")["server"], "10.20.0.22:5432");
}

#[test]
fn the_answer_stands_first_and_is_the_same_for_any_number_of_threads() {
    let text = recorded(&[]);
    assert!(text.starts_with("17.3 s in all: 4.00 s "), "{text}");
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    for threads in ["1", "2", "4"] {
        assert_eq!(recorded(&["--threads", threads]), text);
    }
}

#[test]
fn a_stretch_can_be_chosen() {
    let answer = parsed(&recorded(&[
        "--format", "json", "--from", "8.02s", "--to", "9.4s",
    ]));
    let client = &answer["client"];
    let elapsed = client["elapsed_ns"].as_i64().expect("elapsed");
    assert!(elapsed <= 1_380_000_000, "{elapsed}");
    assert!(cost(client, "connect", "refused") > 400_000_000, "{client}");
}

#[test]
fn a_diagnosis_of_it_blames_nobody_for_names() {
    let capture = root().join("tests/startup/capture.pcap.zst");
    let path = capture.to_str().expect("a path in UTF-8");
    let diagnosis = answer("diagnose", [path]);
    let notes = diagnosis["notes"].to_string();
    assert!(notes.contains("lookups of names"), "{notes}");
    // It says where the time lies, all the same.
    let findings = diagnosis["findings"].as_array().expect("findings");
    let slow = findings.iter().find(|f| f["code"] == "slow-connect");
    let slow = slow.expect("slow-connect");
    let parts = slow["facts"].as_object().expect("facts");
    let part = |name: &str| parts[name].as_i64().expect("nanoseconds");
    assert!(
        (3_900_000_000..4_100_000_000).contains(&part("dns_no_answer_ns")),
        "{slow}"
    );
    assert!(
        (1_190_000_000..1_300_000_000).contains(&part("file_not_found_ns")),
        "{slow}"
    );
    assert!(
        (16_000_000_000..17_000_000_000).contains(&part("waited_ns")),
        "{slow}"
    );
}

/// What tshark pairs, by the frames of question and answer.
fn tshark(path: &Path, field: &str, to: &str) -> Vec<(String, String, i64)> {
    let output = Command::new("tshark")
        .args(["-n", "-r"])
        .arg(path)
        .args(["-Y", field, "-T", "fields", "-E", "occurrence=f"])
        .args(["-e", to, "-e", "frame.number", "-e", field])
        .output()
        .expect("tshark runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let row = |line: &str| {
        let mut columns = line.split('\t').map(str::to_owned);
        let (request, response) = (columns.next()?, columns.next()?);
        let seconds: f64 = columns.next()?.parse().ok()?;
        Some((request, response, (seconds * 1e9).round() as i64))
    };
    text.lines().filter_map(row).collect()
}

#[test]
fn lookups_and_files_take_as_long_as_for_tshark() {
    let Some(samples) = sample("") else { return };
    if !has("tshark") {
        return;
    }
    // Captures, tshark's field, its reference to the request, and how many pairs there are.
    let of = [
        ("l2/DNS2.pcap", "dns.time", "dns.response_to", 91),
        (
            "l2/bad-dns-traffic.pcap",
            "dns.time",
            "dns.response_to",
            162,
        ),
        (
            "l2/dns-udp-double-request-response.pcap",
            "dns.time",
            "dns.response_to",
            2,
        ),
        (
            "l2/zeek-long-connection.pcap",
            "dns.time",
            "dns.response_to",
            11,
        ),
        ("formats/v6.pcap", "dns.time", "dns.response_to", 18),
        (
            "tcp/PPPoE-WAN-real.pcap",
            "dns.time",
            "dns.response_to",
            122,
        ),
        ("tcp/syn_attack.pcap", "dns.time", "dns.response_to", 15),
        ("db/zeek-smb2.pcap", "smb2.time", "smb2.response_to", 48),
        (
            "db/zeek-smb3_multichannel.pcap",
            "smb2.time",
            "smb2.response_to",
            397,
        ),
        (
            "db/eth-ipv4-tcp-cifs2.pcap",
            "smb2.time",
            "smb2.response_to",
            30,
        ),
    ];
    for (name, field, to, pairs) in of {
        let path = samples.join(name);
        let theirs = tshark(&path, field, to);
        let protocols = "protocol = dns or protocol = smb2";
        let file = path.to_str().expect("a path in UTF-8");
        let ours: Vec<(String, String, i64)> = rows("calls", ["--where", protocols, file])
            .into_iter()
            .filter_map(|c| {
                let time = c["response_last_ns"].as_i64()? - c["request_last_ns"].as_i64()?;
                let frame = |key: &str| Some(c[key].as_i64()?.to_string());
                Some((
                    frame("request_last_frame")?,
                    frame("response_last_frame")?,
                    time,
                ))
            })
            .collect();
        let mut found = 0;
        for (request, response, ns) in &theirs {
            let of_pair = |(a, b, _): &&(String, String, i64)| a == request && b == response;
            if let Some((_, _, time)) = ours.iter().find(of_pair) {
                found += 1;
                assert!(
                    (time - ns).abs() <= 1_000,
                    "{name} {request} {response}: {time} {ns}"
                );
            }
        }
        assert_eq!((found, theirs.len()), (pairs, pairs), "{name}");
    }
}
