//! A host that works for others with calls of its own, captured next to it: what it does for them is judged, and its own
//! calls apart.

use super::capture;
use crate::kit::{file, parsed, said};
use serde_json::Value;
use std::net::Ipv4Addr;
use testkit::faults::delay;
use testkit::{Conversation, TestPacket, rpc};

const MS: i64 = 1_000_000;
/// One way.
const WAY: i64 = MS / 5;
const NEAR: i64 = MS / 100;
const CLIENT: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const HOST: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
/// The host's address on the way to its storage, where it has another.
const BACK: Ipv4Addr = Ipv4Addr::new(9, 0, 0, 2);
const BELOW: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 3);
const CALLS: u32 = 40;

/// At the host: a client's calls, 30 ms apart, each answered after 12 ms.
fn above() -> Vec<TestPacket> {
    asked_by(CLIENT, 0, 12 * MS)
}

/// The same of another client, so much later, each answered after so long.
fn asked_by(client: Ipv4Addr, later: i64, took: i64) -> Vec<TestPacket> {
    let mut c = Conversation::new((client, 1000).into(), (HOST, 2049).into());
    c.at(0)
        .syn()
        .after(NEAR)
        .syn_ack()
        .after(2 * WAY)
        .client_ack();
    for i in 0..CALLS {
        c.at((100 + 30 * i64::from(i)) * MS + later);
        c.client(&rpc::record(&rpc::getattr_call(i + 1, b"file")));
        c.after(took);
        c.server(&rpc::record(&rpc::getattr_reply(i + 1)));
        c.after(2 * WAY).client_ack();
    }
    c.packets()
}

/// At the host: two calls of its own, of 5 ms each, so long after each of those began.
fn own(from: Ipv4Addr, later: impl Fn(u32) -> i64) -> Vec<TestPacket> {
    own_of(from, 5 * MS, later)
}

/// The same, of so long each.
fn own_of(from: Ipv4Addr, took: i64, later: impl Fn(u32) -> i64) -> Vec<TestPacket> {
    own_and(from, took, later, None)
}

/// The same, and one more of so long, at this time.
fn own_and(
    from: Ipv4Addr,
    took: i64,
    later: impl Fn(u32) -> i64,
    more: Option<i64>,
) -> Vec<TestPacket> {
    let mut c = Conversation::new((from, 900).into(), (BELOW, 2049).into());
    c.sequences(3_000_000, 4_000_000);
    c.at(0)
        .syn()
        .after(2 * WAY)
        .syn_ack()
        .after(NEAR)
        .client_ack();
    for i in 0..2 * CALLS {
        let [of, half] = [i / 2, i % 2];
        c.at((100 + 30 * i64::from(of)) * MS + later(of) + i64::from(half) * (took + MS / 10));
        c.client(&rpc::record(&rpc::getattr_call(i + 501, b"below")));
        c.after(took);
        c.server(&rpc::record(&rpc::getattr_reply(i + 501)));
        c.after(NEAR).client_ack();
    }
    if let Some(at) = more {
        c.at(at)
            .client(&rpc::record(&rpc::getattr_call(901, b"below")));
        c.after(took);
        c.server(&rpc::record(&rpc::getattr_reply(901)));
        c.after(NEAR).client_ack();
    }
    c.packets()
}

/// Calls of two clients, of which one comes when the host has worked for the other for 2 ms, and its own calls: by a
/// connection that it once uses for a third one too, so that it is nobody's own.
fn of_two() -> Vec<TestPacket> {
    const ONCE: i64 = 5_000 * MS;
    let other = Ipv4Addr::new(10, 0, 0, 4);
    let third = {
        let mut c = Conversation::new(
            (Ipv4Addr::new(10, 0, 0, 5), 1000).into(),
            (HOST, 2049).into(),
        );
        c.sequences(5_000_000, 6_000_000);
        c.at(0)
            .syn()
            .after(NEAR)
            .syn_ack()
            .after(2 * WAY)
            .client_ack();
        c.at(ONCE)
            .client(&rpc::record(&rpc::getattr_call(801, b"file")));
        c.after(7 * MS)
            .server(&rpc::record(&rpc::getattr_reply(801)));
        c.after(2 * WAY).client_ack();
        c.packets()
    };
    let own = own_and(HOST, 5 * MS, at_once, Some(ONCE + MS));
    let all = [above(), asked_by(other, 2 * MS, 12 * MS), third, own];
    all.into_iter().fold(Vec::new(), together)
}

/// The same connection, captured so much nearer its client (or, where less than nothing, nearer its server).
fn nearer(
    seen: &[TestPacket],
    client: (Ipv4Addr, u16),
    server: Ipv4Addr,
    way: i64,
) -> Vec<TestPacket> {
    let asked = delay(seen, client.into(), -way);
    delay(&asked, (server, 2049).into(), way)
}

fn together(mut a: Vec<TestPacket>, b: Vec<TestPacket>) -> Vec<TestPacket> {
    a.extend(b);
    a.sort_by_key(|p| p.time);
    a
}

fn diagnosis(test: &str, captures: &[Vec<TestPacket>]) -> Value {
    let paths = captures.iter().enumerate().map(|(i, packets)| {
        let path = file(test, &format!("{i}.pcap"), &capture(packets));
        path.to_str().expect("UTF-8").to_owned()
    });
    let command = ["diagnose", "--format", "json"].map(str::to_owned);
    parsed(&said(command.into_iter().chain(paths)))
}

fn at_once(_: u32) -> i64 {
    MS / 10
}

/// The cells of `calls` that say what lies beneath each call, by the port of whom it asks.
fn beneath(test: &str, captures: &[Vec<TestPacket>]) -> Vec<String> {
    let columns = "server,beneath_lo_ns,beneath_hi_ns";
    let paths = captures.iter().enumerate().map(|(i, packets)| {
        let path = file(test, &format!("{i}.pcap"), &capture(packets));
        path.to_str().expect("UTF-8").to_owned()
    });
    let command = ["calls", "--format", "csv", "--columns", columns].map(str::to_owned);
    let rows = said(command.into_iter().chain(paths));
    rows.lines().skip(1).map(str::to_owned).collect()
}

/// So many rows of whom is asked, and of each, what lies beneath it.
fn are(rows: &[String], asked: Ipv4Addr, cells: &str, count: u32) {
    let row = format!("{asked}:2049,{cells}");
    let n = rows.iter().filter(|r| **r == row).count();
    assert_eq!(n, count as usize, "{row} in {rows:#?}");
}

/// What is said where a host's own calls are part of its work.
fn is_told(d: &Value) {
    assert_eq!(d["verdict"]["side"], "server");
    let sentence = d["verdict"]["sentence"].as_str().expect("a sentence");
    assert!(
        sentence.contains("For 10.0 ms of each, calls of its own to 10.9.0.3:2049 are under way"),
        "{sentence}"
    );
    // Its own calls are none of those that are judged.
    assert_eq!(d["ledger"]["calls"], CALLS);
    // So much of each call's time, exactly.
    let lines = d["ledger"]["lines"].as_array().expect("lines");
    let beneath = lines.iter().find(|l| l["cause"] == "downstream");
    let beneath = beneath.expect("a line of what lies beneath");
    let all_ns = i64::from(CALLS) * 10_002_000;
    assert_eq!(
        (&beneath["lo_ns"], &beneath["hi_ns"], &beneath["side"]),
        (&all_ns.into(), &all_ns.into(), &"server".into())
    );
    let mut codes = d["findings"].as_array().expect("findings").iter();
    assert!(codes.any(|f| f["code"] == "downstream-wait" && f["cost_ns"] == all_ns));
    let tier = &d["tiers"][0];
    assert_eq!(
        (&tier["below"], &tier["requests"]),
        (&"10.9.0.3:2049".into(), &CALLS.into())
    );
    let [least, most] = ["least_ns", "most_ns"].map(|k| tier[k].as_i64().expect("ns") / MS);
    assert_eq!((least, most), (400, 400));
    let own = &tier["diagnosis"];
    assert_eq!(own["schema"], "slowside.diagnosis/1");
    assert_eq!(own["ledger"]["calls"], 2 * CALLS);
    assert_eq!(own["captures"][0]["side"], "client");
}

#[test]
fn what_a_host_asks_for_others_is_told_apart_from_what_it_does() {
    let host = together(above(), own(HOST, at_once));
    is_told(&diagnosis("tiers-one", &[host]));
}

#[test]
fn a_host_may_have_another_address_on_the_way_to_its_storage() {
    let host = together(above(), own(BACK, at_once));
    is_told(&diagnosis("tiers-two-addresses", &[host]));
}

#[test]
fn with_the_client_s_capture_beside_it() {
    let client = nearer(&above(), (CLIENT, 1000), HOST, WAY);
    let host = together(above(), own(HOST, at_once));
    let d = diagnosis("tiers-pair", &[client, host]);
    is_told(&d);
    assert_eq!(d["captures"].as_array().map(Vec::len), Some(2));
}

/// The original question, whole: the application's end, the database's, and the storage's.
#[test]
fn with_the_captures_of_its_client_and_of_its_storage() {
    let client = nearer(&above(), (CLIENT, 1000), HOST, WAY);
    let host = together(above(), own(HOST, at_once));
    let storage = nearer(&own(HOST, at_once), (HOST, 900), BELOW, -WAY);
    let orders = [
        [client.clone(), host.clone(), storage.clone()],
        [storage, client, host],
    ];
    for (i, captures) in orders.iter().enumerate() {
        let d = diagnosis(&format!("tiers-three-{i}"), captures);
        is_told(&d);
        assert_eq!(d["peers"], Value::Array(Vec::new()));
        // Its calls are known from both ends: 4.6 of 5 ms are the storage's.
        let own = &d["tiers"][0]["diagnosis"];
        assert_eq!(own["captures"].as_array().map(Vec::len), Some(2));
        assert_eq!(own["verdict"]["side"], "server");
        let server_ns = own["budget"]["server_ns"].as_i64().expect("ns");
        assert_eq!(server_ns / (MS / 10), 46);
    }
}

/// The client of an application, that, its database, and the storage below it: each capture has what its neighbours have.
#[test]
fn a_row_of_hosts_is_told_tier_by_tier() {
    const STORAGE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 8);
    // Each of its own calls takes the database 5 ms, 3 of which are the storage's.
    let deeper = || {
        let mut c = Conversation::new((BELOW, 901).into(), (STORAGE, 2049).into());
        c.sequences(7_000_000, 8_000_000);
        c.at(0)
            .syn()
            .after(2 * WAY)
            .syn_ack()
            .after(NEAR)
            .client_ack();
        for i in 0..2 * CALLS {
            let [of, half] = [i / 2, i % 2].map(i64::from);
            let asked = (100 + 30 * of) * MS + MS / 10 + half * (5 * MS + MS / 10);
            c.at(asked + MS);
            c.client(&rpc::record(&rpc::getattr_call(i + 1001, b"deep")));
            c.after(3 * MS);
            c.server(&rpc::record(&rpc::getattr_reply(i + 1001)));
            c.after(NEAR).client_ack();
        }
        c.packets()
    };
    let between = nearer(&own(HOST, at_once), (HOST, 900), BELOW, -WAY);
    let client = nearer(&above(), (CLIENT, 1000), HOST, WAY);
    let application = together(above(), own(HOST, at_once));
    let database = together(between, deeper());
    let storage = nearer(&deeper(), (BELOW, 901), STORAGE, -WAY);
    let all = [
        client,
        application.clone(),
        database.clone(),
        storage.clone(),
    ];
    let scrambled = [3, 0, 2, 1].map(|i: usize| all[i].clone());
    for (name, captures) in [("in-order", all), ("scrambled", scrambled)] {
        let d = diagnosis(&format!("tiers-row-{name}"), &captures);
        is_told(&d);
        let own = &d["tiers"][0]["diagnosis"];
        assert_eq!(own["captures"].as_array().map(Vec::len), Some(2), "{name}");
        assert_eq!(own["ledger"]["calls"], 2 * CALLS);
        let deep = own["tiers"].as_array().expect("tiers").iter();
        let mut deep = deep.filter(|t| t["host"] == BELOW.to_string());
        let deep = &deep.next().expect("the database works for others")["diagnosis"];
        assert_eq!(deep["captures"].as_array().map(Vec::len), Some(2), "{name}");
        assert_eq!(deep["ledger"]["calls"], 2 * CALLS);
    }
    // People see each tier below the one above it.
    let paths = ["0", "1", "2", "3"].map(|i| {
        format!(
            "{}/tiers-row-scrambled/{i}.pcap",
            env!("CARGO_TARGET_TMPDIR")
        )
    });
    let page = said(["diagnose".to_owned()].into_iter().chain(paths));
    let at = |words: &str| {
        page.find(words)
            .unwrap_or_else(|| panic!("{words}: {page}"))
    };
    assert!(
        at("10.0.0.2 works on each") < at("10.9.0.3 works on each"),
        "{page}"
    );
    // Of two neighbours neither works for whom the other does not know.
    let d = diagnosis("tiers-row-two", &[application, database]);
    assert_eq!(d["ledger"]["calls"], 2 * CALLS);
    assert_eq!(d["verdict"]["side"], "server");
}

/// Backups and the like.
#[test]
fn what_a_host_asks_at_other_times_is_not_for_others() {
    // Anywhere between two of the client's calls.
    let anywhere = |i: u32| i64::from(i * 7 % 19) * MS;
    let host = together(above(), own(HOST, anywhere));
    let d = diagnosis("tiers-apart", &[host]);
    assert_eq!(d["tiers"], Value::Array(Vec::new()));
    assert_eq!(d["ledger"]["calls"], 3 * CALLS);
}

#[test]
fn the_page_has_what_lies_beneath() {
    let host = together(above(), own(HOST, at_once));
    let path = file("tiers-page", "host.pcap", &capture(&host));
    let path = path.to_str().expect("UTF-8");
    let page = said(["diagnose", path].map(str::to_owned));
    assert!(page.contains("\nBeneath the server\n"), "{page}");
    let markdown = said(["diagnose", path, "--format", "markdown"].map(str::to_owned));
    assert!(markdown.contains("### Beneath the server\n"), "{markdown}");
    let html = said(["report", path, "-o", "-"].map(str::to_owned));
    assert!(html.contains("Of these alone"), "no section");
}

#[test]
fn of_each_call_alone_is_what_its_server_asked_meanwhile() {
    for (test, from) in [("tiers-each", HOST), ("tiers-each-two-addresses", BACK)] {
        let rows = beneath(test, &[together(above(), own(from, at_once))]);
        are(&rows, HOST, "10002000,10002000", CALLS);
        are(&rows, BELOW, ",", 2 * CALLS);
    }
}

#[test]
fn of_calls_at_a_time_there_are_bounds() {
    // A microsecond passes with each packet. The first is alone for 2 ms; then both are worked on until 12 ms, and the
    // host asks until 10.2 ms.
    let rows = beneath("tiers-each-of-two", &[of_two()]);
    are(&rows, HOST, "1900000,10002000", CALLS);
    are(&rows, HOST, "0,8102000", CALLS);
    are(&rows, BELOW, ",", 2 * CALLS + 1);
}

#[test]
fn what_a_session_asks_by_a_connection_of_its_own_is_for_it_alone() {
    let other = Ipv4Addr::new(10, 0, 0, 4);
    let host = together(
        together(above(), asked_by(other, 2 * MS, 12 * MS)),
        own(HOST, at_once),
    );
    let rows = beneath("tiers-each-its-own", &[host]);
    are(&rows, HOST, "10002000,10002000", CALLS);
    are(&rows, HOST, "0,8102000", CALLS);
}

/// What lies beneath calls by their ledgers: to hosts, and of them.
fn charged(path: &str, cause: &str) -> [i64; 2] {
    let columns = "server,in_diagnosis,ledger";
    let command = ["calls", path, "--format", "jsonl", "--columns", columns];
    let rows = said(command.map(str::to_owned));
    let mut ns = [0; 2];
    for row in rows.lines().map(parsed) {
        let is_work = row["server"] == format!("{HOST}:2049");
        assert_eq!(row["in_diagnosis"], is_work, "{row}");
        let lines = row["ledger"].as_array().expect("a ledger").iter();
        let of_cause = lines.filter(|l| l["cause"] == cause);
        let sum: i64 = of_cause.map(|l| l["lo_ns"].as_i64().expect("ns")).sum();
        ns[usize::from(!is_work)] += sum;
    }
    ns
}

#[test]
fn each_call_s_ledger_has_what_lies_beneath_it() {
    let calls = i64::from(CALLS);
    let alone = together(above(), own(HOST, at_once));
    for (name, packets, expected) in [
        // A microsecond passes with each packet.
        ("alone", alone, [calls * 10_002_000, 0]),
        (
            "of-two",
            of_two(),
            [
                calls * 1_900_000 + 5_001_000,
                calls * (10_002_000 - 1_900_000 + 8_102_000),
            ],
        ),
    ] {
        let path = file("tiers-ledger", &format!("{name}.pcap"), &capture(&packets));
        let path = path.to_str().expect("UTF-8");
        let causes = ["downstream", "downstream-shared"];
        for (cause, ns) in causes.into_iter().zip(expected) {
            assert_eq!(charged(path, cause), [ns, 0], "{name}: {cause}");
            let d = parsed(&said(
                ["diagnose", path, "--format", "json"].map(str::to_owned),
            ));
            let lines = d["ledger"]["lines"].as_array().expect("lines").iter();
            let line = lines.filter(|l| l["cause"] == cause);
            let sum: i64 = line.map(|l| l["lo_ns"].as_i64().expect("ns")).sum();
            assert_eq!(sum, ns, "{name}: {cause}");
        }
    }
}

#[test]
fn the_client_s_row_has_what_the_server_s_capture_shows() {
    let client = nearer(&above(), (CLIENT, 1000), HOST, WAY);
    let host = together(above(), own(HOST, at_once));
    for (test, ends) in [
        ("tiers-each-pair", [client.clone(), host.clone()]),
        ("tiers-each-pair-exchanged", [host, client]),
    ] {
        let rows = beneath(test, &ends);
        are(&rows, HOST, "10002000,10002000", CALLS);
        are(&rows, BELOW, ",", 2 * CALLS);
    }
}

#[test]
fn where_a_server_asks_nobody_the_cells_are_empty() {
    are(&beneath("tiers-each-none", &[above()]), HOST, ",", CALLS);
}

#[test]
fn operations_have_the_means_of_their_calls() {
    for (test, from) in [("tiers-ops", HOST), ("tiers-ops-two-addresses", BACK)] {
        let host = together(above(), own(from, at_once));
        let path = file(test, "host.pcap", &capture(&host));
        let path = path.to_str().expect("UTF-8");
        let by_server = ["ops", "--by", "op,server", path];
        let rows = parsed(&said(
            by_server
                .into_iter()
                .chain(["--format", "json"])
                .map(str::to_owned),
        ));
        let groups = rows["groups"].as_array().expect("groups");
        let cells = |server: Ipv4Addr| {
            let group = groups.iter().find(|g| g["server"] == server.to_string());
            let group = group.expect("a group");
            [&group["beneath_lo_mean_ns"], &group["beneath_hi_mean_ns"]].map(Value::as_i64)
        };
        assert_eq!(cells(HOST), [Some(10_002_000); 2]);
        assert_eq!(cells(BELOW), [None; 2]);
        let page = said(by_server.map(str::to_owned));
        assert!(
            page.contains("own calls") && page.contains(" 10.0ms "),
            "{page}"
        );
    }
    // Nobody is asked beneath.
    let path = file("tiers-ops-none", "host.pcap", &capture(&above()));
    let page = said(["ops", path.to_str().expect("UTF-8")].map(str::to_owned));
    assert!(!page.contains("own calls"), "{page}");
}

/// A host that answers after so long, most of which are two calls of its own.
fn host_of(took: i64, own_took: i64) -> Vec<TestPacket> {
    together(asked_by(CLIENT, 0, took), own_of(HOST, own_took, at_once))
}

#[test]
fn a_comparison_says_what_was_added_beneath() {
    let test = "tiers-compare";
    let paths = [
        ("good", host_of(4 * MS, MS)),
        ("bad", host_of(24 * MS, 11 * MS)),
    ];
    let paths = paths.map(|(name, packets)| {
        let path = file(test, &format!("{name}.pcap"), &capture(&packets));
        path.to_str().expect("UTF-8").to_owned()
    });
    let compared = |runs: &[String], more: &[&str]| {
        let command = ["compare".to_owned()].into_iter().chain(runs.to_vec());
        said(command.chain(more.iter().map(|m| (*m).to_owned())))
    };
    let json = compared(&paths, &["--format", "json"]);
    let c = parsed(&json);
    // Its own calls are no part of what its clients waited.
    assert_eq!(c["problem"]["calls"], CALLS);
    let [change] = c["tiers"].as_array().expect("tiers").as_slice() else {
        panic!("{json}");
    };
    // 22.1 ms where it was 2.1.
    assert_eq!(change["added_each_ns"].as_i64().map(|ns| ns / MS), Some(20));
    assert_eq!(change["comparison"]["problem"]["calls"], 2 * CALLS);
    let sentence = c["verdict"]["sentence"].as_str().expect("a sentence");
    let beneath = "seconds or more lie beneath 10.0.0.2, while calls of its own are under way, to 10.9.0.3:2049.";
    assert!(sentence.contains(beneath), "{sentence}");
    let page = compared(&paths, &[]);
    assert!(page.contains("\nBeneath the server\n"), "{page}");
    // From saved runs the same.
    let saved = paths.map(|path| {
        let saved = format!("{path}.slowside");
        said(["diagnose", &path, "--save", &saved].map(str::to_owned));
        saved
    });
    assert_eq!(compared(&saved, &["--format", "json"]), json);
}
