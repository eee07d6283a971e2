//! Rows of calls that are joined with others, in other orders, and with fewer columns.

use super::capture;
use crate::kit::{file, folder, lab, refused, root, said};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::path::PathBuf;
use testkit::faults::delay;
use testkit::{Conversation, TestPacket, rpc};

fn path(path: PathBuf) -> String {
    path.display().to_string()
}

fn server_cap() -> [String; 2] {
    ["client", "server"].map(|end| path(lab("server-cap", end)))
}

fn database() -> String {
    path(root().join("tests/databases/pgsql/extended.pcap"))
}

/// What a command says in lines of JSON.
fn lines(words: &[&str]) -> Vec<Value> {
    let more = ["--format", "jsonl", "-q"];
    let text = said(words.iter().copied().chain(more));
    let line = |line: &str| serde_json::from_str(line).expect("JSON");
    text.lines().map(line).collect()
}

fn list<'a>(words: &[&str], json: &'a mut Value, key: &str) -> &'a [Value] {
    let more = ["--format", "json", "-q"];
    let text = said(words.iter().copied().chain(more));
    *json = serde_json::from_str(&text).expect("JSON");
    json[key].as_array().expect("a list")
}

#[test]
fn connections_are_those_of_conns() {
    let [client, server] = &server_cap();
    let database = database();
    let captures: [&[&str]; 4] = [
        &[client],
        &[client, server],
        &[server, client],
        &[&database],
    ];
    for captures in captures {
        let mut json = Value::Null;
        let words = [&["conns"], captures].concat();
        let conns = list(&words, &mut json, "connections");
        let ends: BTreeMap<u64, [&Value; 2]> = conns
            .iter()
            .map(|c| {
                (
                    c["number"].as_u64().expect("one"),
                    [&c["client"], &c["server"]],
                )
            })
            .collect();
        let calls = lines(&[&["calls"], captures].concat());
        assert!(calls.len() > 20 && !ends.is_empty(), "{captures:?}");
        for call in &calls {
            let number = call["connection"].as_u64().expect("TCP");
            assert_eq!(ends[&number], [&call["client"], &call["server"]], "{call}");
        }
    }
}

/// How many rows of two captures have each reason, and how many calls the diagnosis counts so.
fn unmatched(client: &str, server: &str) -> BTreeMap<String, [u64; 2]> {
    let mut json = Value::Null;
    let mut counts: BTreeMap<String, [u64; 2]> = BTreeMap::new();
    for op in list(&["diagnose", client, server], &mut json, "ops") {
        for (why, count) in op["unmatched"].as_object().expect("reasons") {
            let [_, counted] = counts.entry(why.replace('_', "-")).or_default();
            *counted += count.as_u64().expect("a count");
        }
    }
    for call in lines(&["calls", client, server]) {
        if let Some(why) = call["unmatched"].as_str() {
            let [rows, _] = counts.get_mut(why).expect("a reason of the diagnosis");
            *rows += 1;
            assert!(call["server_ns"].is_null(), "{call}");
        }
    }
    counts
}

#[test]
fn a_call_of_one_capture_says_why() {
    let [client, server] = ["client", "server"].map(|end| path(lab("outage", end)));
    let counts = unmatched(&client, &server);
    assert_eq!(counts["not-in-server-capture"], [4, 4]);
    assert_eq!(counts["no-response"], [8, 8]);

    // The server's capture ends before the client's.
    let [client, server] = server_cap();
    let ended = path(folder("rows-ended").join("server.pcapng"));
    said(["cut", &server, "--to", "+0.6s", "-o", &ended, "-q"]);
    for counts in [unmatched(&client, &ended), unmatched(&ended, &client)] {
        let [rows, counted] = counts["outside-overlap"];
        assert!(rows == counted && rows > 100, "{counts:?}");
        // Both have them, by half: they are two rows each.
        let [rows, counted] = counts["incomplete"];
        assert!(rows == 2 * counted && rows > 0, "{counts:?}");
    }
    let alone = lines(&["calls", &client]);
    assert!(alone.iter().all(|call| call["unmatched"].is_null()));
}

const CLIENT: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const SERVER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
const MS: i64 = 1_000_000;

/// At the host that asks: so many calls, 10 ms apart from `begin` on.
fn asked(ends: [(Ipv4Addr, u16); 2], begin: i64, calls: u32) -> Vec<TestPacket> {
    let [from, to] = ends;
    let mut c = Conversation::new(from.into(), to.into());
    c.at(begin)
        .syn()
        .after(MS)
        .syn_ack()
        .after(MS / 100)
        .client_ack();
    for xid in 1..=calls {
        c.after(10 * MS)
            .client(&rpc::record(&rpc::getattr_call(xid, b"file")));
        c.after(3 * MS)
            .server(&rpc::record(&rpc::getattr_reply(xid)));
        c.after(MS / 100).client_ack();
    }
    c.packets()
}

/// Lock grants and the like.
#[test]
fn what_a_server_asks_its_client_has_a_row_once() {
    let (client, server) = ((CLIENT, 1000), (SERVER, 2049));
    let (caller, called) = ((SERVER, 700), (CLIENT, 4045));
    let forth = asked([client, server], 0, 20);
    let back = asked([caller, called], 50 * MS, 5);
    // Where the other end captures, what it sends comes earlier, and what it is sent later.
    let seen_there = |packets: &[TestPacket], from: (Ipv4Addr, u16), to: (Ipv4Addr, u16)| {
        delay(&delay(packets, from.into(), MS / 2), to.into(), -MS / 2)
    };
    let at_server = seen_there(&forth, client, server);
    let at_client = seen_there(&back, caller, called);
    let captures = [
        ("client", [forth, at_client]),
        ("server", [at_server, back]),
    ];
    let [here, there] = captures.map(|(name, packets)| {
        let mut packets = packets.concat();
        packets.sort_by_key(|p| p.time);
        path(file(
            "rows-callbacks",
            &format!("{name}.pcap"),
            &capture(&packets),
        ))
    });
    for ends in [[&here, &there], [&there, &here]] {
        let rows = lines(&["calls", ends[0], ends[1]]);
        let of = |server: &str| rows.iter().filter(|r| r["server"] == server).count();
        assert_eq!([of("10.0.0.2:2049"), of("10.0.0.1:4045")], [20, 5]);
        assert!(rows.iter().all(|r| r["unmatched"].is_null()), "{rows:#?}");
    }
}

#[test]
fn datagrams_have_no_connection_and_no_sequence_numbers() {
    let login = path(root().join("tests/field/f20-login/client.pcap.zst"));
    let calls = lines(&["calls", &login, "--where", "protocol = dns"]);
    assert!(!calls.is_empty());
    for call in calls {
        let names = ["connection", "request_sequence", "response_sequence"];
        assert!(names.iter().all(|name| call[name].is_null()), "{call}");
    }
}

#[test]
fn statements_are_those_of_sql() {
    let database = database();
    let mut json = Value::Null;
    let statements = list(&["sql", &database, "--all"], &mut json, "statements");
    let known: BTreeSet<(&str, &str)> = statements
        .iter()
        .filter_map(|s| Some((s["statement"].as_str()?, s["sql"].as_str()?)))
        .collect();
    let calls = lines(&["calls", &database]);
    let found: BTreeSet<(&str, &str)> = calls
        .iter()
        .filter_map(|c| Some((c["statement"].as_str()?, c["sql"].as_str()?)))
        .collect();
    assert!(
        !known.is_empty() && known.is_subset(&found),
        "{known:?}\n{found:?}"
    );
    let sessions: BTreeSet<_> = calls
        .iter()
        .filter_map(|c| Some((c["user"].as_str()?, c["database"].as_str()?)))
        .collect();
    assert_eq!(sessions.len(), 1, "{sessions:?}");
}

#[test]
fn names_become_pseudonyms_in_every_column() {
    let database = database();
    let names: BTreeSet<String> = lines(&["calls", &database])
        .iter()
        .flat_map(|c| ["user", "database", "program"].map(|name| c[name].clone()))
        .filter_map(|name| name.as_str().map(str::to_owned))
        .collect();
    assert!(!names.is_empty());
    let hidden = said(["calls", &database, "--anonymise=a-long-key", "-q"]);
    for name in &names {
        assert!(!hidden.contains(&format!(",{name},")), "{name}");
    }
}

#[test]
fn the_longest_come_first_and_the_first_of_them_alone() {
    let [client, server] = &server_cap();
    let calls = ["calls", client, server, "-q"];
    let of = |more: &[&str]| said(calls.iter().chain(more).copied());
    let all = of(&["--sort", "time"]);
    let rows = lines(&["calls", client, server, "--sort", "time"]);
    let times: Vec<i64> = rows
        .iter()
        .map_while(|c| c["response_time_ns"].as_i64())
        .collect();
    assert!(times.len() > 100 && times.is_sorted_by(|a, b| a >= b));
    let unknown = rows.iter().skip(times.len());
    assert!(
        unknown.clone().all(|c| c["response_time_ns"].is_null()),
        "these come last"
    );
    let orders: BTreeSet<u64> = rows.iter().filter_map(|c| c["order"].as_u64()).collect();
    assert!(
        orders.into_iter().eq(1..=rows.len() as u64),
        "each has its place"
    );
    let head = |text: &str, rows| text.split_inclusive('\n').take(rows).collect::<String>();
    assert_eq!(of(&["--top", "5"]), head(&all, 6));
    assert_eq!(of(&["--top", "1000000"]), all);
    let by_start = of(&["--sort", "start"]);
    assert_eq!(of(&["--sort", "start", "--top", "7"]), head(&by_start, 8));
    let told = refused(
        calls
            .iter()
            .chain(&["--sort", "completion", "--top", "7"])
            .copied(),
    );
    assert!(told.contains("leave out --sort completion"), "{told}");
}

#[test]
fn columns_are_those_that_are_named_in_their_order() {
    let [client, _] = &server_cap();
    let calls = ["calls", client, "-q"];
    let of = |more: &[&str]| said(calls.iter().chain(more).copied());
    let all = of(&["--columns", "wait_ns,op"]);
    let first = lines(&["calls", client]).remove(0);
    let expected = format!(
        "{},{}",
        first["wait_ns"],
        first["op"].as_str().expect("a name")
    );
    let shown: Vec<&str> = all.lines().take(2).collect();
    assert_eq!(shown, ["wait_ns,op", &expected]);
    let json = lines(&["calls", client, "--columns", "op"]);
    assert_eq!(json[0], serde_json::json!({"op": first["op"]}));
    let told = refused(
        calls
            .iter()
            .chain(&["--columns", "op,respons_time_ns"])
            .copied(),
    );
    assert!(told.contains("did you mean `response_time_ns`?"), "{told}");
}
