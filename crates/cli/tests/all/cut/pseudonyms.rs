//! With pseudonyms no output names anybody, and a cut holds the same calls.

use super::formats::conversation;
use super::{calls, cut, folder};
use crate::kit::{root, slowside, text};
use model::LinkType;
use std::collections::BTreeSet;
use std::fs;
use testkit::{Format, pcap};

#[test]
fn a_cut_with_pseudonyms_holds_no_name_and_the_same_calls() {
    let folder = folder("pseudonyms");
    let path = folder.join("secret-host.pcap");
    fs::write(&path, pcap(&conversation(), LinkType(1), Format::ALL[1])).expect("a file");
    let arguments = [
        "--where",
        "response_time > 20ms",
        "--anonymise=a key for tests",
    ];
    let files = cut("pseudonyms-out", &[&path], &arguments);
    let bytes = fs::read(&files[0]).expect("what was written");
    let holds = |part: &[u8]| bytes.windows(part.len()).any(|w| w == part);
    for secret in [
        &[10, 0, 0, 1][..],
        &[10, 0, 0, 2],
        b"secret-host",
        b"the handle",
        b"the data",
    ] {
        assert!(!holds(secret), "{}", String::from_utf8_lossy(secret));
    }
    let (plain, hidden) = (calls(&path, "response_time > 20ms"), calls(&files[0], ""));
    for (key, call) in &plain {
        let found = hidden.get(key).expect("the call");
        // Protocol, operation, times, bytes, outcome; not the two ends.
        assert_eq!((&found[..2], &found[4..]), (&call[..2], &call[4..]));
        assert_ne!(found[2..4], call[2..4]);
        let port = |end: &String| end.rsplit(':').next().map(str::to_owned);
        assert_eq!(port(&found[2]), port(&call[2]));
    }
    // The other outputs name the same hosts alike.
    let path = path.to_str().expect("UTF-8");
    let rows = slowside(["calls", path, "--anonymise=a key for tests"]);
    let client = &hidden.values().next().expect("a call")[2];
    assert!(text(&rows.stdout).contains(client.as_str()), "{client}");
}

#[test]
fn no_output_names_anybody_under_pseudonyms() {
    let session = fs::read_dir(root().join("tests/databases/pgsql"))
        .expect("captures")
        .map(|e| e.expect("one").path())
        .find(|p| {
            p.to_string_lossy().contains("client.pcap") || p.to_string_lossy().contains(".pcap")
        })
        .expect("a capture");
    let session = session.to_str().expect("UTF-8");
    let plain = slowside(["sql", session, "--format", "json", "--show-literals"]);
    let plain: serde_json::Value = serde_json::from_slice(&plain.stdout).expect("JSON");
    let mut secrets: BTreeSet<String> = BTreeSet::new();
    for s in plain["sessions"].as_array().expect("sessions") {
        for field in [
            "user",
            "database",
            "program",
            "client_host",
            "client",
            "server",
        ] {
            // The local host's address is everybody's.
            if let Some(name) = s[field]
                .as_str()
                .filter(|n| n.len() > 2 && !n.contains("127.0.0.1"))
            {
                let quoted = format!("\"{name}\"");
                secrets.insert(if field.len() > 6 || field == "user" {
                    quoted
                } else {
                    name.into()
                });
            }
        }
    }
    for s in plain["statements"].as_array().expect("statements") {
        secrets.extend(
            s["text"]
                .as_str()
                .map(str::to_owned)
                .filter(|t| t.contains(" from ")),
        );
        secrets.extend(s["statement"].as_str().map(str::to_owned));
    }
    assert!(secrets.len() > 3, "{secrets:?}");
    for command in [
        &["sql", "--format", "json", "--show-literals"][..],
        &[
            "sql",
            "--format",
            "csv",
            "--by",
            "user,service,program,client",
        ],
        &["sql"],
        &["calls"],
        &["calls", "--format", "jsonl"],
        &["ops", "--by", "client,server,connection"],
        &["conns", "--format", "json"],
        &["conns", "--series", "100ms", "--format", "csv"],
        &["whatif", "--rtt", "1ms"],
        &["whatif", "--rtt", "1ms", "--format", "markdown"],
        &["info"],
        &["info", "--format", "json"],
        &["diagnose", "--format", "json", session],
        &["diagnose"],
        &["diagnose", "--format", "json"],
    ] {
        let all = [command, &[session, "--anonymise=a key for tests"]].concat();
        let shown = text(&slowside(all).stdout);
        assert!(shown.len() > 40, "{command:?}: {shown}");
        for secret in &secrets {
            assert!(
                !shown.contains(secret.as_str()),
                "{command:?} shows {secret}"
            );
        }
        assert!(!shown.contains(session), "{command:?}");
    }
    // Without a key they are others each time.
    let run = || text(&slowside(["calls", session, "--anonymise"]).stdout);
    assert_ne!(run(), run());
}
