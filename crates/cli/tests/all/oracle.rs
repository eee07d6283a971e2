//! A logon to Oracle is told in the same words and with the same times by every command that tells of it:
//! public captures, whole from their first packet.

use crate::kit::{answer, root, rows, sample};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Nanoseconds by operation and step.
type Phases = BTreeMap<(String, String), i64>;

const LOGON: [&str; 3] = ["CONNECT", "NEGOTIATE", "LOGON"];

/// Sums of what belongs to a logon and took time.
fn phases(calls: impl Iterator<Item = (String, String, i64)>) -> Phases {
    let mut phases = Phases::new();
    for (op, step, ns) in calls {
        if LOGON.contains(&op.as_str()) && ns > 0 {
            *phases.entry((op, step)).or_default() += ns;
        }
    }
    phases
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn ns(value: &Value) -> i64 {
    value.as_i64().unwrap_or_default()
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().expect("a list").iter()
}

fn of_calls(capture: &Path) -> Phases {
    let calls = rows("calls", [capture]).into_iter();
    phases(calls.map(|c| {
        let took = ns(&c["response_time_ns"]);
        (text(&c["op"]), text(&c["detail"]["step"]), took)
    }))
}

fn of_ops(capture: &Path) -> Phases {
    let by = [capture, Path::new("--by"), Path::new("op,step")];
    let ops = answer("ops", by);
    phases(list(&ops["groups"]).map(|g| (text(&g["op"]), text(&g["step"]), ns(&g["total_ns"]))))
}

/// A wait's words are protocol, operation and step.
fn of_startup(capture: &Path) -> Phases {
    let startup = answer("startup", [capture]);
    let waits = list(&startup["client"]["waits"]).filter(|w| w["kind"] == "logon");
    phases(waits.map(|w| {
        let what = text(&w["what"]);
        let mut words = what.split(' ').skip(1).map(str::to_owned);
        let mut word = || words.next().unwrap_or_default();
        (word(), word(), ns(&w["elapsed_ns"]))
    }))
}

#[test]
fn calls_ops_startup_and_sql_agree_on_the_phases_of_a_logon() {
    for name in [
        "7_oracle10_2016.pcapng",
        "9_oracle12_2016.pcapng",
        "10_sqldeveloper10_2016.pcapng",
        "12_sqldeveloper12_2016.pcapng",
        "TNS_Oracle1.pcap",
        "john-11gR2-Nmap-sys-username-good",
        "john-Oracle-openwall-1.pcap",
        "john-try-2",
    ] {
        let Some(capture) = sample(&format!("tns/{name}")) else {
            return;
        };
        let called = of_calls(&capture);
        let steps = ["native-services", "protocol", "data-types", "session-key"];
        let step = |word: &str| called.keys().any(|(_, step)| step == word);
        assert!(steps.into_iter().any(step), "{name}: {called:?}");
        assert_eq!(of_ops(&capture), called, "{name}: ops");
        assert_eq!(of_startup(&capture), called, "{name}: startup");

        let sql = answer("sql", [&capture]);
        let sum = |name: &str| -> i64 { list(&sql["sessions"]).map(|s| ns(&s[name])).sum() };
        let names = ["connect_ns", "negotiate_ns", "logon_ns"];
        for (op, name_in_sql) in LOGON.into_iter().zip(names) {
            let of_op = called.iter().filter(|((o, _), _)| o == op);
            let of_op: i64 = of_op.map(|(_, ns)| ns).sum();
            assert_eq!(sum(name_in_sql), of_op, "{name}: {op} in sql");
        }
    }
}

/// Each call has its packets, from its first frame to its last, and gaps sum to the time that the session took.
#[test]
fn packets_of_a_session_are_those_of_its_calls() {
    for name in ["7_oracle10_2016.pcapng", "9_oracle12_2016.pcapng"] {
        let Some(capture) = sample(&format!("tns/{name}")) else {
            return;
        };
        let mut calls = rows("calls", [&capture]);
        let client = calls[0]["client"].clone();
        calls.retain(|c| c["client"] == client);
        let sql = |what: &str| {
            let arguments = [capture.as_path(), Path::new("--session"), Path::new("1")];
            let arguments = arguments.into_iter().chain([Path::new(what)]);
            answer("sql", arguments)
        };
        let listed = sql("--packets");
        let packets: Vec<&Value> = list(&listed["packets"]).collect();
        for c in &calls {
            let with = |frame: &str, of: &str| {
                let same = |p: &&&Value| p[frame] == c[of];
                packets
                    .iter()
                    .find(same)
                    .map(|p| (text(&p["op"]), text(&p["statement"])))
            };
            let own = Some((text(&c["op"]), text(&c["detail"]["statement"])));
            assert_eq!(
                with("first_frame", "request_first_frame"),
                own,
                "{name}: {c}"
            );
            assert_eq!(
                with("last_frame", "response_last_frame"),
                own,
                "{name}: {c}"
            );
        }
        let gaps: i64 = packets.iter().map(|p| ns(&p["gap_ns"])).sum();
        let ends = [packets.first(), packets.last()].map(|p| p.map_or(0, |p| ns(&p["time_ns"])));
        assert_eq!(gaps, ends[1] - ends[0], "{name}");
        let counted: i64 = list(&listed["packet_sizes"])
            .map(|s| ns(&s["packets"]))
            .sum();
        assert_eq!(counted, packets.len() as i64, "{name}");
        assert!(listed.get("followed").is_none(), "{name}");
    }
}

/// A server's trace of level 16 dumps what a capture has: statements are read by the same readers.
#[test]
fn packets_of_a_trace_have_the_statements_that_it_dumps() {
    let Some(trace) = sample("traces/sqlnet-level16-19c/cdb01_ora_26226.trc.gz") else {
        return;
    };
    let said = answer("trace", [trace.as_path(), Path::new("--packets")]);
    let packets: Vec<&Value> = list(&said["packets"]).collect();
    assert_eq!(packets.len(), 19);
    let ops: Vec<String> = packets.iter().step_by(2).map(|p| text(&p["op"])).collect();
    let logon = [
        "CONNECT",
        "NEGOTIATE",
        "NEGOTIATE",
        "NEGOTIATE",
        "LOGON",
        "LOGON",
    ];
    assert_eq!(
        ops,
        [&logon[..], &["PREPARE", "EXECUTE", "LOGOFF", ""]].concat()
    );
    for p in &packets {
        assert!(ns(&p["line"]) > 0 && p["first_frame"].is_null(), "{p}");
        let direction = text(&p["direction"]);
        assert!(direction == "to-server" || direction == "to-client", "{p}");
    }
    assert!(text(&packets[12]["sql"]).starts_with("select s.username, s.sid"));
}

/// The work is counted from the calls, and the span from the first packet and the last, by others than the
/// session's own sums; nothing is left untold in captures that lack nothing.
#[test]
fn the_parts_of_a_session_sum_to_its_time() {
    for name in [
        "7_oracle10_2016.pcapng",
        "9_oracle12_2016.pcapng",
        "12_sqldeveloper12_2016.pcapng",
        "john-Oracle-good.pcap",
        "TNS_Oracle1.pcap",
    ] {
        let Some(capture) = sample(&format!("tns/{name}")) else {
            return;
        };
        let calls = rows("calls", [&capture]);
        let sql = answer("sql", [&capture]);
        for s in list(&sql["sessions"]) {
            let own = || calls.iter().filter(|c| c["client"] == s["client"]);
            let is_work = |c: &&Value| !LOGON.contains(&text(&c["op"]).as_str());
            let work: i64 = own()
                .filter(is_work)
                .map(|c| ns(&c["response_time_ns"]))
                .sum();
            assert_eq!(ns(&s["work_ns"]), work, "{name}");
            let first = own().map(|c| ns(&c["request_first_ns"])).min();
            let last = own().map(|c| ns(&c["response_last_ns"])).max();
            let (first, last) = (first.expect("calls"), last.expect("calls"));
            let before = ns(&s["tcp_ns"]) + ns(&s["before_ns"]);
            assert_eq!(ns(&s["span_ns"]), last - first + before, "{name}");
            let parts = [
                "tcp_ns",
                "before_ns",
                "tls_ns",
                "connect_ns",
                "negotiate_ns",
                "logon_ns",
                "work_ns",
                "think_ns",
            ];
            let told: i64 = parts.iter().map(|part| ns(&s[part])).sum();
            assert_eq!(told, ns(&s["span_ns"]), "{name}: {s}");
            assert_eq!(s["untold_ns"], 0, "{name}");
        }
    }
}

/// In TNS_Oracle1, captured at the server, frames 31 and 32 break and reset, 35 confirms 187 ms later, and 36 is the
/// error: what the client's host took is not the network's. Its acknowledgement of the markers, 34, came within a
/// millisecond. In frames 30 and 71 a request goes on 16 and 15 ms after all of it was acknowledged. In
/// john-Oracle-bunch, captured at the client, tshark has 692 such confirmations in 4,925 ms, 688 of
/// them of calls that lack nothing, and requests of its clients go on later by 12 ms in all.
#[test]
fn what_a_client_takes_to_confirm_a_break_is_its_own() {
    for (name, least, most) in [
        ("TNS_Oracle1.pcap", 205_000_000, 220_000_000),
        ("john-Oracle-bunch-Nmap-11gR2", 4_900_000_000, 4_937_049_000),
    ] {
        let Some(capture) = sample(&format!("tns/{name}")) else {
            return;
        };
        let said = answer("diagnose", [&capture]);
        let lines = list(&said["ledger"]["lines"]);
        let clients: i64 = lines
            .filter(|l| l["side"] == "client" && l["cause"] == "not-writing")
            .map(|l| ns(&l["lo_ns"]))
            .sum();
        assert!((least..=most).contains(&clients), "{name}: {clients}");
    }
}

/// Users of a script that says of every name that it has four bytes; tshark shows a name in each of 11 requests.
#[test]
fn failed_logons_are_those_of_the_users_that_were_named() {
    let Some(capture) = sample("tns/john-try-2") else {
        return;
    };
    let sql = answer("sql", [&capture]);
    let failures = list(&sql["logons"]).flat_map(|l| list(&l["failures"]));
    let users: BTreeSet<String> = failures.map(|f| text(&f["user"])).collect();
    let named = ["guest", "netadmin", "root", "test", "user"];
    assert!(named.iter().all(|n| users.contains(*n)), "{users:?}");
    assert!(!users.contains(""), "{users:?}");
}

/// What `sql` says of a session's units and purpose, `conns` says of its connection.
#[test]
fn conns_has_the_units_of_sessions() {
    let Some(capture) = sample("tns/7_oracle10_2016.pcapng") else {
        return;
    };
    let conns = answer("conns", [&capture]);
    let sql = answer("sql", [&capture]);
    for s in list(&sql["sessions"]) {
        let own = list(&conns["connections"]).find(|c| c["client"] == s["client"]);
        let units = &own.expect("its connection")["sqlnet"];
        for unit in [
            "sdu_bytes",
            "tdu_bytes",
            "sdu_offered_bytes",
            "tdu_offered_bytes",
            "purpose",
        ] {
            assert_eq!(units[unit], s[unit], "{unit}");
        }
        assert_eq!(
            (ns(&units["sdu_bytes"]), ns(&units["sdu_offered_bytes"])),
            (2_048, 8_192)
        );
    }
}

/// The table of what is proven names each capture whose calls are held, and no other; what it names none for is
/// said to be unproven.
#[test]
fn each_line_of_the_table_has_its_proof() {
    let read = |path: &str| std::fs::read_to_string(root().join(path)).expect(path);
    let calls = read("tests/tns-calls.tsv");
    let held: BTreeSet<&str> = calls
        .lines()
        .skip(1)
        .filter_map(|l| l.split('\t').next())
        .collect();
    let page = read("docs/sqlnet.md");
    let (_, table) = page.split_once("| proven by |\n").expect("the table");
    let lines = table.lines().skip(1).take_while(|l| l.starts_with('|'));
    let mut named = BTreeSet::new();
    for line in lines {
        let (_, proof) = line
            .trim_end_matches(" |")
            .rsplit_once(" | ")
            .expect("cells");
        let captures: Vec<&str> = proof.split('`').skip(1).step_by(2).collect();
        let unproven = proof.starts_with("unproven");
        assert!(unproven == captures.is_empty(), "{line}");
        named.extend(captures);
    }
    assert_eq!(named, held);
}
