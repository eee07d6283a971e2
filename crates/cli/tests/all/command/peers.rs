//! Captures of several clients and of their server, the clients' clocks hours apart: each is read with the server's, and
//! nobody reads them as one.

use crate::kit::{folder, parsed, refused, root, said, slowside};
use std::fs;

const CASE: &str = "tests/field/k34-clients-captured";

fn files() -> Vec<String> {
    let file = |name| format!("{}/{CASE}/{name}.pcap.zst", root().display());
    ["client", "client2", "server"].map(file).to_vec()
}

fn line<'a>(words: &[&'a str], files: &'a [String]) -> Vec<&'a str> {
    let files = files.iter().map(String::as_str);
    words.iter().copied().chain(files).collect()
}

#[test]
fn each_is_a_diagnosis_of_its_own() {
    let files = files();
    let said = parsed(&said(line(
        &["diagnose", "--quiet", "--format", "json"],
        &files,
    )));
    let peers = said["peers"].as_array().expect("a list");
    assert_eq!(peers.len(), 2);
    for peer in peers {
        let own = peer["capture"].as_u64().expect("an index") as usize;
        let d = &peer["diagnosis"];
        let file = d["captures"][own]["files"][0].as_str().expect("a name");
        assert!(file.contains("client"), "{file}");
        // By its own clock no way is less than nothing.
        for part in ["network_out_ns", "network_back_ns"] {
            assert!(
                d["budget"][part].as_i64().is_some_and(|ns| ns > 0),
                "{part}"
            );
        }
    }
    assert_eq!(
        said["verdict"]["cause"],
        peers[0]["diagnosis"]["verdict"]["cause"]
    );
}

#[test]
fn it_is_enough_that_one_of_them_is_held_up() {
    let files = files();
    for (rule, code) in [
        ("network-delay", 1),
        ("server-slow", 1),
        ("network-loss", 0),
    ] {
        let out = slowside(line(&["diagnose", "--quiet", "--fail-on", rule], &files));
        assert_eq!(out.status.code(), Some(code), "{rule}");
    }
}

#[test]
fn their_page_says_who_is_held_up() {
    let page = folder("peers").join("page.html");
    let page = page.to_str().expect("a name");
    let files = files();
    said(line(&["report", "--quiet", "-o", page], &files));
    let text = fs::read_to_string(page).expect("a page");
    assert!(text.contains("id=\"peers\""), "no section");
    assert!(text.contains("2 clients, most held up first"));
}

#[test]
fn who_reads_one_pair_says_which_files_to_give() {
    let files = files();
    for (words, why) in [
        (
            ["calls", "--quiet"],
            "different hosts, each with a clock of its own",
        ),
        (["ops", "--quiet"], "hold the same packets"),
    ] {
        let said = refused(line(&words, &files));
        assert!(said.contains(why), "{said}");
    }
    let saved = folder("peers-saved").join("run");
    let saved = saved.to_str().expect("a name");
    let said = refused(line(&["diagnose", "--quiet", "--save", saved], &files));
    assert!(said.contains("one pair of captures"), "{said}");
}

#[test]
fn an_application_s_rows_are_those_of_the_client_that_they_name() {
    let all = files();
    let [one, other, server] = all.as_slice() else {
        panic!("three files");
    };
    // What each application noted: half a millisecond on either side of each call, and a millisecond of the second one's.
    let columns = "protocol,op,client,request_first_ns,response_last_ns";
    let mut rows = "client,op,start_ns,end_ns\n".to_owned();
    for (file, beyond_ns) in [(one, 500_000), (other, 1_000_000)] {
        let ends = ["--client", file, "--server", server];
        let calls = line(
            &["calls", "--quiet", "--format", "csv", "--columns", columns],
            &[],
        );
        for row in said(calls.into_iter().chain(ends)).lines().skip(1) {
            let cells: Vec<&str> = row.split(',').collect();
            let [protocol, op, client, first, last] = cells.as_slice() else {
                panic!("{row}");
            };
            let times = first.parse::<i64>().ok().zip(last.parse::<i64>().ok());
            let (Some((first, last)), true) = (times, *protocol == "nfs3") else {
                continue;
            };
            let (host, _) = client.rsplit_once(':').expect("a port");
            rows += &format!("{host},{op},{},{}\n", first - beyond_ns, last + beyond_ns);
        }
    }
    let app = folder("peers-app").join("app.csv");
    fs::write(&app, rows).expect("a file");
    let app = app.to_str().expect("a name");
    let d = parsed(&said(line(
        &["diagnose", "--quiet", "--format", "json", "--app", app],
        &all,
    )));
    let mut above: Vec<i64> = Vec::new();
    for peer in d["peers"].as_array().expect("a list") {
        let ns = &peer["diagnosis"]["budget"]["client_host_ns"];
        above.push(ns.as_i64().unwrap_or_else(|| panic!("{ns}")) / 10_000);
    }
    above.sort_unstable();
    assert_eq!(above, [100, 200]);
}
