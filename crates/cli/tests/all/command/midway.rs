//! Two captures that are not alike: one was taken in the middle of the path, or its snap length hides what was asked.

use super::capture;
use super::contract::json;
use crate::kit::{file, folder, root, slowside, text};
use serde_json::Value;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use testkit::path::{Ends, Path as Way};
use testkit::{Random, rpc};

const MS: i64 = 1_000_000;

/// READs one after the other over 10 ms each way, each of which the server takes so long for: at the client, in the middle,
/// at the server.
fn captures(test: &str, service_ns: i64, lost_per_mille: [u32; 2]) -> [PathBuf; 3] {
    let way = Way {
        way_ns: [10 * MS; 2],
        varies_ns: 200_000,
        lost_per_mille,
    };
    let mut ends = Ends::open(way, Random::new(7));
    for id in 0..150 {
        ends.passes(true, 3 * MS);
        let offset = 8_192 * u64::from(id);
        ends.write(
            true,
            &rpc::record(&rpc::read_call(id, &[1; 32], offset, 8_192)),
        );
        ends.passes(false, service_ns);
        ends.write(
            false,
            &rpc::record(&rpc::read_reply(id, &[7; 8_192], false)),
        );
    }
    let mut names = ["client.pcap", "middle.pcap", "server.pcap"].into_iter();
    ends.three_captures().map(|packets| {
        let name = names.next().unwrap_or_default();
        file(test, name, &capture(&packets))
    })
}

fn words(files: [&Path; 2], format: &str) -> Vec<OsString> {
    let mut words: Vec<OsString> = vec!["diagnose".into(), format!("--format={format}").into()];
    words.extend(files.map(|file| file.as_os_str().to_owned()));
    words
}

fn diagnosed(files: [&Path; 2]) -> (Value, String) {
    let d = json(words(files, "json"));
    let said = text(&slowside(words(files, "text")).stdout);
    let said: Vec<&str> = said.split_whitespace().collect();
    (d["verdict"].clone(), said.join(" "))
}

#[test]
fn what_is_lost_behind_a_capture_on_the_way_is_not_its_servers() {
    let [client, middle, server] = captures("midway-lost", 100_000, [120, 0]);
    let (both, _) = diagnosed([&client, &server]);
    assert_eq!(both["side"], "network", "{both}");
    let (verdict, said) = diagnosed([&client, &middle]);
    assert_eq!(verdict["side"], "network", "{said}");
    assert!(said.contains("on the way to the server"), "{said}");
}

#[test]
fn a_server_that_is_slow_is_slow_beside_a_capture_on_the_way() {
    let [client, middle, _] = captures("midway-slow", 60 * MS, [0; 2]);
    let (verdict, said) = diagnosed([&client, &middle]);
    assert_eq!(verdict["side"], "server", "{said}");
    assert!(said.contains("on the way to the server"), "{said}");
}

#[test]
fn a_client_waits_for_the_way_to_the_first_capture_too() {
    let [_, middle, server] = captures("midway-first", 100_000, [0; 2]);
    let (verdict, said) = diagnosed([&middle, &server]);
    assert!(said.contains("taken on the way to the client"), "{said}");
    // 10 ms pass between the captures, and as much before them.
    let sentence = verdict["sentence"].as_str().unwrap_or_default();
    assert!(sentence.contains("of 20.0 ms per call"), "{sentence}");
}

/// `slowside` reads what editcap writes.
#[test]
fn locks_are_known_by_the_capture_that_has_what_was_asked() {
    let case = root().join("tests/field/k38-lock-held");
    let whole = ["client", "server"].map(|side| case.join(format!("{side}.pcap.zst")));
    let [client, server] = whole.each_ref().map(PathBuf::as_path);
    let (both, _) = diagnosed([client, server]);
    assert_eq!(both["cause"], "lock-wait", "{both}");
    for (which, of) in [client, server].into_iter().enumerate() {
        let cut = folder("midway-locks").join(format!("{which}.pcap"));
        let mut editcap = Command::new("editcap");
        let done = editcap
            .args(["-s", "96", "-F", "nsecpcap"])
            .arg(of)
            .arg(&cut);
        assert!(done.status().expect("editcap").success());
        let files = match which {
            0 => [cut.as_path(), server],
            _ => [client, cut.as_path()],
        };
        let (verdict, said) = diagnosed(files);
        assert_eq!(verdict["cause"], "lock-wait", "{which}: {said}");
    }
}
