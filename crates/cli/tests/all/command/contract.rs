//! What scripts rely on: columns, keys, integers, selections, exit codes.

use super::{capture, conversation};
use crate::kit::{file, refused, slowside, text};
use model::LinkType;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::PathBuf;
use testkit::{Conversation, Format, faults, pcap, rpc};

const CALLS_HEADER: &str = "capture,protocol,op,client,server,id,request_first_frame,request_last_frame,response_first_frame,response_last_frame,request_first_ns,request_last_ns,response_first_ns,response_last_ns,response_time_ns,request_transfer_ns,wait_ns,response_transfer_ns,request_bytes,response_bytes,outcome,outstanding,retransmits,detail,server_capture,server_request_first_frame,server_request_last_frame,server_response_first_frame,server_response_last_frame,client_response_lo_ns,client_response_hi_ns,in_diagnosis,network_out_ns,server_ns,network_back_ns,server_request_first_ns,server_response_last_ns,ledger,connection,order,request_sequence,response_sequence,request_held_ns,response_held_ns,server_request_last_ns,server_response_first_ns,statement,sql,user,database,program,path,unmatched,side,hops,beneath_lo_ns,beneath_hi_ns,application_ns,before_wire_ns,after_wire_ns,host_pressure";

const STATS: [&str; 10] = [
    "count", "total_ns", "mean_ns", "min_ns", "p50_ns", "p90_ns", "p95_ns", "p99_ns", "p999_ns",
    "max_ns",
];

pub(crate) fn json<S: AsRef<std::ffi::OsStr>>(arguments: impl IntoIterator<Item = S>) -> Value {
    let output = slowside(arguments);
    let value: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {output:?}"));
    super::schema::assert_described(value["schema"].as_str().expect("a schema's name"), &value);
    value
}

/// All of these keys, in this order, perhaps with others between.
pub(crate) fn assert_keys(value: &Value, keys: &[&str]) {
    let object = value.as_object().unwrap_or_else(|| panic!("{value}"));
    let there: Vec<&str> = object.keys().map(String::as_str).collect();
    let known: Vec<&str> = there.into_iter().filter(|k| keys.contains(k)).collect();
    assert_eq!(known, keys, "{value}");
}

/// Numbers are integers, except those whose names say otherwise.
pub(crate) fn assert_integers(name: &str, value: &Value) {
    match value {
        Value::Number(n) => {
            let any = ["_ppm", "_bps", "confidence"]
                .iter()
                .any(|unit| name.ends_with(unit))
                || name == "segments_per_ack";
            assert!(any || n.is_i64() || n.is_u64(), "{name} is {n}");
        }
        Value::Array(items) => items.iter().for_each(|item| assert_integers(name, item)),
        Value::Object(fields) => fields.iter().for_each(|(k, v)| assert_integers(k, v)),
        Value::Null | Value::Bool(_) => {}
        Value::String(_) => assert!(!name.ends_with("_ns"), "{name} is {value}"),
    }
}

/// 100 calls that take the server 50 ms each, at the client and at the server, 1 ms away.
fn slow_server(test: &str) -> [PathBuf; 2] {
    let mut c = Conversation::nfs();
    c.handshake().after(2_000_000).spacing(0);
    for id in 0..100 {
        c.client(&rpc::record(&rpc::read_call(id, b"file", 0, 512)));
        c.server_ack().after(50_000_000);
        c.server(&rpc::record(&rpc::read_reply(id, &[1; 512], false)));
        c.after(2_000_000).client_ack();
    }
    let server = c.packets();
    let (from, to) = (([10, 0, 0, 1], 1000).into(), ([10, 0, 0, 2], 2049).into());
    let client = faults::delay(&faults::delay(&server, from, -1_000_000), to, 1_000_000);
    [("client.pcap", client), ("server.pcap", server)]
        .map(|(name, packets)| file(test, name, &capture(&packets)))
}

#[test]
fn rows_of_calls_have_the_columns_of_the_contract() {
    let path = file("columns", "reads.pcap", &conversation());
    let csv = slowside(["calls".as_ref(), path.as_os_str(), "--format=csv".as_ref()]);
    let csv = text(&csv.stdout);
    let mut lines = csv.lines();
    assert_eq!(lines.next(), Some(CALLS_HEADER));
    let name = path.to_str().expect("UTF-8");
    let row = lines.next().expect("a row");
    let rest = ",nfs3,READ,10.0.0.1:1000,10.0.0.2:2049,0x00000002,5,5,6,6,1000004000,1000004000,\
                1003005000,1003005000,3001000,0,3001000,0,96,232,ok,2,0,";
    let detail = row
        .strip_prefix(name)
        .and_then(|row| row.strip_prefix(rest))
        .unwrap_or_else(|| panic!("{row}"));
    // What a pair has is empty; then come what the client waited, and its ledger.
    let (detail, judged) = detail.split_once("}\",").expect("more than the detail");
    assert!(judged.starts_with(",,,,,3001000,"), "{judged}");
    assert!(judged.contains("\"\"cause\"\":\"\"service\"\""), "{judged}");
    let detail = format!("{detail}}}")
        .trim_matches('"')
        .replace("\"\"", "\"");
    let detail: Value = serde_json::from_str(&detail).expect("JSON");
    assert_keys(&detail, &["file", "offset", "count", "returned", "eof"]);
    assert_eq!(detail["offset"], 4096);
    assert_eq!(detail["eof"], true);

    let jsonl = slowside([
        "calls".as_ref(),
        path.as_os_str(),
        "--format=jsonl".as_ref(),
    ]);
    let columns: Vec<&str> = CALLS_HEADER.split(',').collect();
    for line in text(&jsonl.stdout).lines() {
        let row: Value = serde_json::from_str(line).expect("a line of JSON");
        let object = row.as_object().expect("an object");
        assert!(object.keys().eq(columns.iter()), "{row}");
        assert_integers("", &row);
    }
}

#[test]
fn groups_have_the_keys_of_the_contract() {
    let path = file("groups", "reads.pcap", &conversation());
    let ops = json(["ops".as_ref(), path.as_os_str(), "--format=json".as_ref()]);
    assert_eq!(ops["schema"], "slowside.ops/1");
    let groups = ops["groups"].as_array().expect("groups");
    assert_eq!(groups.len(), 2);
    let ends = [
        "errors",
        "retransmits",
        "request_bytes",
        "response_bytes",
        "histogram",
    ];
    let keys = [&["protocol", "op"][..], &STATS, &ends].concat();
    for group in groups {
        assert_keys(group, &keys);
        assert_integers("", group);
        for stat in STATS {
            assert!(group[stat].is_i64() || group[stat].is_u64(), "{stat}");
        }
        let histogram = group["histogram"].as_array().expect("a histogram");
        let counted: u64 = histogram.iter().filter_map(|h| h[1].as_u64()).sum();
        assert_eq!(group["count"], counted);
    }
}

#[test]
fn diagnoses_have_the_keys_of_the_contract() {
    let [client, server] = slow_server("diagnoses");
    let d = json([
        client.as_os_str(),
        server.as_os_str(),
        "--format=json".as_ref(),
    ]);
    assert_integers("", &d);
    assert_eq!(d["schema"], "slowside.diagnosis/1");
    assert_keys(
        &d,
        &[
            "schema", "captures", "verdict", "budget", "ops", "clock", "findings",
        ],
    );
    for capture in d["captures"].as_array().expect("captures") {
        assert_keys(
            capture,
            &[
                "files",
                "side",
                "side_from",
                "packets",
                "bytes",
                "first_ns",
                "last_ns",
                "snaplen",
                "link_types",
                "dropped",
                "problems",
            ],
        );
        assert!(capture["packets"].is_u64() && capture["first_ns"].is_u64());
    }
    assert_keys(&d["verdict"], &["side", "cause", "confidence", "sentence"]);
    assert_eq!(d["verdict"]["side"], "server");
    assert_eq!(d["verdict"]["cause"], "server-slow");
    let parts = [
        "client_host_ns",
        "network_out_ns",
        "server_ns",
        "network_back_ns",
    ];
    assert_keys(&d["budget"], &[&["calls"][..], &parts].concat());
    let sum: i64 = parts.iter().filter_map(|p| d["budget"][p].as_i64()).sum();
    let op = &d["ops"][0];
    assert_keys(
        op,
        &["protocol", "op", "client", "server", "matched", "unmatched"],
    );
    assert_keys(&op["client"], &STATS);
    assert_keys(&op["server"], &STATS);
    assert_keys(
        &op["matched"],
        &[
            "count",
            "client_mean_ns",
            "server_mean_ns",
            "difference_mean_ns",
            "client_p50_ns",
            "server_p50_ns",
            "difference_p50_ns",
            "request_path_mean_ns",
            "reply_path_mean_ns",
        ],
    );
    assert_eq!(op["matched"]["count"], 100);
    assert_eq!(op["matched"]["client_mean_ns"], 52_000_000);
    assert_eq!(op["matched"]["server_mean_ns"], 50_000_000);
    assert_eq!(sum, 52_000_000);
    assert_keys(
        &op["unmatched"],
        &[
            "outside_overlap",
            "not_in_client_capture",
            "not_in_server_capture",
            "no_response",
            "incomplete",
            "evicted",
        ],
    );
    assert_keys(
        &d["clock"],
        &[
            "basis",
            "offset_ns",
            "drift_ppm",
            "uncertainty_ns",
            "offset_at_ns",
        ],
    );
    let findings = d["findings"].as_array().expect("findings");
    assert!(!findings.is_empty());
    for finding in findings {
        assert_keys(
            finding,
            &[
                "code",
                "title",
                "side",
                "cost_ns",
                "elapsed_cost_ns",
                "confidence",
                "first_ns",
                "last_ns",
                "facts",
                "evidence",
                "why",
                "remedy",
            ],
        );
        for evidence in finding["evidence"].as_array().expect("evidence") {
            assert_keys(evidence, &["capture", "file", "frames", "filter"]);
            let index = evidence["capture"].as_u64().expect("an index") as usize;
            let files = d["captures"][index]["files"].as_array().expect("files");
            assert!(files.contains(&evidence["file"]), "{evidence}");
        }
    }
}

#[test]
fn nothing_in_common_is_undetermined_and_null() {
    let [client, _] = slow_server("undetermined");
    let mut c = Conversation::new(([10, 9, 0, 1], 900).into(), ([10, 9, 0, 2], 2049).into());
    c.sequences(77, 777).handshake().spacing(100_000_000);
    for id in 7000..7040 {
        c.client(&rpc::record(&rpc::getattr_call(id, b"other")));
        c.server(&rpc::record(&rpc::getattr_reply(id)));
    }
    let other = file("undetermined", "other.pcap", &capture(&c.packets()));
    let d = json([
        client.as_os_str(),
        other.as_os_str(),
        "--format=json".as_ref(),
    ]);
    assert_eq!(d["captures"].as_array().map(Vec::len), Some(2), "{d}");
    assert_eq!(d["verdict"]["side"], "undetermined");
    assert_eq!(d["verdict"]["cause"], Value::Null);
    assert_eq!(d["clock"], Value::Null);
    assert_eq!(d["budget"]["calls"], 0);
    assert_eq!(d["budget"]["server_ns"], Value::Null);
    let accuses = |f: &Value| f["side"] != "undetermined" || !f["cost_ns"].is_null();
    let findings = d["findings"].as_array().expect("findings");
    assert!(!findings.iter().any(accuses), "{findings:?}");
}

#[test]
fn groups_by_every_key_hold_every_call_once() {
    let path = file("keys", "reads.pcap", &conversation());
    let path = path.to_str().expect("UTF-8");
    for (by, key, values) in [
        ("op", "op", &["READ", "GETATTR"][..]),
        ("client", "client", &["10.0.0.1"]),
        ("server", "server", &["10.0.0.2"]),
        (
            "connection",
            "connection",
            &["10.0.0.1:1000 > 10.0.0.2:2049"],
        ),
        ("size", "size", &["4096", "null"]),
        ("time=1s", "time", &["1000000000"]),
        ("time=1ms", "time", &["1000000000", "1005000000"]),
    ] {
        let ops = json(["ops", path, "--by", by, "--format", "json"]);
        let groups = ops["groups"].as_array().expect("groups");
        let count: u64 = groups.iter().filter_map(|g| g["count"].as_u64()).sum();
        assert_eq!(count, 3, "{by}");
        let found: BTreeSet<String> = groups
            .iter()
            .map(|g| g[key].to_string().trim_matches('"').to_owned())
            .collect();
        let expected = values.iter().map(|v| (*v).to_owned()).collect();
        assert_eq!(found, expected, "{by}");
    }
    let ops = json(["ops", path, "--by", "file,op", "--format", "json"]);
    let groups = ops["groups"].as_array().expect("groups");
    assert_eq!(groups.len(), 2);
    let file = groups[0]["file"].as_str().expect("a hash of the handle");
    assert!(
        file.len() == 16 && file.bytes().all(|b| b.is_ascii_hexdigit()),
        "{file}"
    );
    assert_eq!(groups[0]["file"], groups[1]["file"]);
}

#[test]
fn histograms_are_shown_when_asked_for() {
    let path = file("histogram", "reads.pcap", &conversation());
    let path = path.to_str().expect("UTF-8");
    let plain = text(&slowside(["ops", path]).stdout);
    let with = text(&slowside(["ops", path, "--histogram"]).stdout);
    assert!(with.lines().count() > plain.lines().count(), "{with}");
    assert!(with.contains('█'), "{with}");
}

/// The ids of the calls that are selected, in order.
fn selected(path: &str, arguments: &[&str]) -> Vec<u64> {
    let output = slowside(["calls", path, "--format=jsonl"].iter().chain(arguments));
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let id = |line: &str| {
        let row: Value = serde_json::from_str(line).expect("a line of JSON");
        let id = row["id"].as_str().expect("an XID").trim_start_matches("0x");
        u64::from_str_radix(id, 16).expect("a number")
    };
    text(&output.stdout).lines().map(id).collect()
}

#[test]
fn stretches_of_time_share_out_the_calls() {
    let [_, server] = slow_server("stretches");
    let path = server.to_str().expect("UTF-8");
    let all = selected(path, &[]);
    assert_eq!(all.len(), 100);
    for middle in [
        "+2s",
        "2s",
        "@3",
        "1970-01-01T00:00:03Z",
        "1970-01-01 00:00:03",
    ] {
        let before = selected(path, &["--to", middle]);
        let after = selected(path, &["--from", middle]);
        // A call each 52 ms, the first 2 ms after the handshake.
        assert_eq!(before.len(), 39, "{middle}");
        assert_eq!([before, after].concat(), all, "{middle}");
    }
    assert!(selected(path, &["--from", "1s", "--to", "1s"]).is_empty());
    assert!(selected(path, &["--from", "1h"]).is_empty());
    let within = json(["ops", path, "--from", "1s", "--to", "2s", "--format=json"]);
    assert_eq!(within["groups"][0]["count"], 19);
    let diagnosis = json(["diagnose", path, "--to", "2s", "--format=json"]);
    assert_eq!(diagnosis["captures"][0]["calls"], 39);
}

#[test]
fn filters_compare_columns_and_details() {
    let path = file("filters", "reads.pcap", &conversation());
    let path = path.to_str().expect("UTF-8");
    for (filter, ids) in [
        ("op = READ", &[2, 1][..]),
        ("op != READ", &[3]),
        ("not op = READ", &[3]),
        ("op = GETATTR or offset = 0", &[1, 3]),
        ("response_time > 4ms and op = READ", &[1]),
        ("response_time_ns <= 3001000", &[2, 3]),
        ("client = 10.0.0.0/8", &[2, 1, 3]),
        ("client = 10.1.0.0/16", &[]),
        ("server ~ '*:2049'", &[2, 1, 3]),
        ("id = 0x00000002", &[2]),
        ("eof = true", &[2]),
        ("outcome = ok and count >= 4k", &[2, 1]),
        ("protocol = nfs3 && (id = 1 || id = 3)", &[1, 3]),
    ] {
        assert_eq!(selected(path, &["--where", filter]), ids, "{filter}");
    }
    let ops = json(["ops", path, "--where", "op ~ R*", "--format=json"]);
    assert_eq!(ops["groups"].as_array().map(Vec::len), Some(1));
    assert_eq!(ops["groups"][0]["count"], 2);
}

/// Of calls that take 50 ms at the server and 52 at the client, a limit between chooses them all, in both captures.
#[test]
fn of_both_ends_a_call_is_asked_once_as_its_client_saw_it() {
    let [client, server] = slow_server("asked-once");
    let pair = [
        client.to_str().expect("UTF-8"),
        server.to_str().expect("UTF-8"),
    ];
    let rows = |arguments: &[&str]| {
        let output = slowside(["calls"].iter().chain(&pair).chain(arguments));
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        text(&output.stdout)
            .lines()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let all = rows(&[]);
    assert_eq!(all.len(), 101);
    assert_eq!(rows(&["--where", "response_time > 51ms"]), all);
    // The heading alone.
    assert_eq!(rows(&["--where", "response_time < 51ms"]).len(), 1);
    let some = rows(&[
        "--where",
        "id < 10",
        "--columns",
        "id,side,unmatched,server_ns",
    ]);
    assert_eq!(some.len(), 11);
    let of_all = rows(&["--columns", "id,side,unmatched,server_ns"]);
    assert_eq!(some[..], of_all[..11]);
    let told = |filter: &str| {
        let mut arguments = vec!["diagnose", "--format=json", "--where", filter];
        arguments.extend(pair);
        let d = json(arguments);
        (
            d["verdict"]["side"].clone(),
            d["ops"][0]["matched"]["count"].clone(),
        )
    };
    assert_eq!(told("response_time > 51ms"), ("server".into(), 100.into()));
    assert_eq!(told("id < 10"), ("server".into(), 10.into()));
}

#[test]
fn rows_by_start_are_the_same_rows() {
    let path = file("by-start", "reads.pcap", &conversation());
    let path = path.to_str().expect("UTF-8");
    let lines = |arguments: &[&str]| {
        let output = slowside(["calls", path].iter().chain(arguments));
        let mut lines: Vec<String> = text(&output.stdout).lines().map(str::to_owned).collect();
        assert_eq!(lines.remove(0), CALLS_HEADER);
        lines
    };
    let (completed, mut started) = (lines(&[]), lines(&["--sort", "start"]));
    let start = |row: &String| row.split(',').nth(10).and_then(|t| t.parse::<i64>().ok());
    assert!(started.is_sorted_by_key(start), "{started:?}");
    assert_ne!(completed, started);
    started.sort();
    let mut completed = completed;
    completed.sort();
    assert_eq!(completed, started);
}

#[test]
fn exit_codes_say_found_before_damaged_before_fine() {
    let [client, server] = slow_server("exit-codes");
    let (client, server) = (
        client.to_str().expect("UTF-8"),
        server.to_str().expect("UTF-8"),
    );
    let mut bytes = std::fs::read(client).expect("the test's own file");
    bytes.truncate(bytes.len() - 3);
    let cut = file("exit-codes", "cut.pcap", &bytes);
    let cut = cut.to_str().expect("UTF-8");
    for (limit, found) in [
        ("server-slow", true),
        ("network-loss", false),
        ("4.9", true),
        ("4s", true),
        ("5.5", false),
    ] {
        for (first, otherwise) in [(client, 0), (cut, 3)] {
            let output = slowside([first, server, "--fail-on", limit]);
            let code = if found { 1 } else { otherwise };
            assert_eq!(output.status.code(), Some(code), "{limit} {first}");
        }
    }
    let plain = slowside([client, server]);
    assert_eq!(plain.status.code(), Some(0));
    refused([client, "no/such/file.pcap", "--fail-on", "1"]);
}

#[test]
fn addresses_of_six_groups_stand_in_brackets() {
    let (client, server) = ("[fd00::1]:900", "[fd00::2]:2049");
    let mut c = Conversation::new(
        client.parse().expect("an address"),
        server.parse().expect("an address"),
    );
    c.handshake();
    c.client(&rpc::record(&rpc::getattr_call(9, b"file")));
    c.server(&rpc::record(&rpc::getattr_reply(9)));
    let bytes = pcap(&c.packets(), LinkType(1), Format::ALL[3]);
    let path = file("v6", "v6.pcap", &bytes);
    let rows = text(&slowside(["calls".as_ref(), path.as_os_str()]).stdout);
    let row = rows.lines().nth(1).expect("a row");
    assert!(
        row.contains(&format!(",GETATTR,{client},{server},0x00000009,4,4,5,5,")),
        "{row}"
    );
}
