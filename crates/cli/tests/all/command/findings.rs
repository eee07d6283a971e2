//! Findings on conversations made for them, each beside one that looks alike and has none.

use super::capture;
use crate::kit::{file, slowside, text};
use serde_json::Value;
use testkit::{Conversation, TestPacket, rpc};

const MS: i64 = 1_000_000;

/// What `diagnose` says of packets taken at the server.
fn diagnosis(test: &str, packets: &[TestPacket]) -> Value {
    let path = file(test, "server.pcap", &capture(packets));
    let path = path.to_str().expect("a path of UTF-8");
    let output = slowside(["diagnose", "--server", path, "--format", "json"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn finding<'a>(d: &'a Value, code: &str) -> Option<&'a Value> {
    let found = d["findings"].as_array().expect("findings");
    found.iter().find(|f| f["code"] == code)
}

fn ask(xid: u32) -> Vec<u8> {
    rpc::record(&rpc::getattr_call(xid, b"file"))
}

fn answer(xid: u32) -> Vec<u8> {
    rpc::record(&rpc::getattr_reply(xid))
}

/// Thirty reads are asked for; each reply leaves so long after the late acknowledgement of the one
/// before.
fn replies_that_follow_late_acknowledgements(pause: i64) -> Vec<TestPacket> {
    let mut c = Conversation::nfs();
    c.handshake();
    c.after(MS).client(&ask(1));
    c.after(MS / 10).server(&answer(1));
    c.after(MS / 10).client_ack();
    for xid in 2..32 {
        c.client(&rpc::record(&rpc::read_call(xid, b"file", 0, 4_000)));
    }
    c.server_ack();
    for xid in 2..32 {
        let reply = rpc::record(&rpc::read_reply(xid, &[0; 4_000], false));
        let (two_segments, rest) = reply.split_at(2 * 1_460);
        c.after(pause).server(two_segments);
        c.after(MS / 10).client_ack();
        c.server(rest);
        c.after(40 * MS).client_ack();
    }
    c.finish();
    c.packets()
}

#[test]
fn replies_that_wait_for_late_acknowledgements_are_the_receivers() {
    let d = diagnosis("late", &replies_that_follow_late_acknowledgements(MS / 20));
    let f = finding(&d, "ack-frequency").expect("the finding");
    assert_eq!(d["verdict"]["cause"], "ack-frequency");
    assert_eq!(
        (&f["side"], &d["verdict"]["side"]),
        (&"client".into(), &"client".into())
    );
    assert_eq!(f["facts"]["waits"], 29);
    let mean = f["facts"]["wait_mean_ns"].as_i64().expect("a time");
    assert!((39 * MS..42 * MS).contains(&mean), "{mean}");
    assert!(finding(&d, "nagle-delayed-ack").is_none());
}

#[test]
fn a_server_that_is_slow_by_itself_does_not_wait_for_acknowledgements() {
    let d = diagnosis("own", &replies_that_follow_late_acknowledgements(20 * MS));
    assert!(finding(&d, "ack-frequency").is_none());
    assert_eq!(d["verdict"]["side"], "server");
}

/// Calls one after another, each so long after the answer to the last.
fn calls(pause: i64, wait: i64) -> Vec<TestPacket> {
    let mut c = Conversation::nfs();
    c.handshake();
    for xid in 1..61 {
        c.after(pause).client(&ask(xid));
        c.after(wait).server(&answer(xid));
        c.after(MS / 10).client_ack();
    }
    c.finish();
    c.packets()
}

#[test]
fn think_time_is_told_and_nobody_is_to_blame_for_it() {
    let d = diagnosis("think", &calls(50 * MS, MS / 2));
    let f = finding(&d, "client-think").expect("the finding");
    assert_eq!(f["side"], "client");
    assert!(f["cost_ns"].is_null());
    let ns = f["facts"]["think_ns"].as_i64().expect("a time");
    assert!((2_900 * MS..2_960 * MS).contains(&ns), "{ns}");
    assert_eq!(d["verdict"]["side"], "none");
    assert!(d["verdict"]["cause"].is_null());
    // Calls that take longer than the pauses between them, and pauses that are few or short.
    for (pause, wait) in [(50 * MS, 60 * MS), (MS, MS / 2)] {
        let d = diagnosis("busy", &calls(pause, wait));
        assert!(finding(&d, "client-think").is_none());
    }
}

/// Every packet of these calls `times` over, with so much less time to live at each.
fn copied(times: u8, less: u8) -> Vec<TestPacket> {
    const TTL: usize = 14 + 8;
    let mut packets = Vec::new();
    for p in calls(5 * MS, MS / 2) {
        for i in 0..=times {
            let mut copy = p.clone();
            copy.time += i64::from(i) * 200_000;
            copy.bytes[TTL] -= i * less;
            packets.push(copy);
        }
    }
    packets.sort_by_key(|p| p.time);
    packets
}

#[test]
fn copies_of_a_mirror_are_told_from_packets_that_go_round() {
    let d = diagnosis("mirror", &copied(1, 0));
    let f = finding(&d, "duplicate-packets").expect("the finding");
    assert_eq!(f["side"], "undetermined");
    assert!(f["facts"]["copies"].as_u64() > Some(100));
    assert_eq!(f["facts"]["looped"], 0);
    assert_eq!(d["verdict"]["side"], "none");
    let d = diagnosis("router", &copied(1, 1));
    let f = finding(&d, "duplicate-packets").expect("the finding");
    assert_eq!(f["facts"]["copies"], f["facts"]["routed"]);
    assert_eq!(f["side"], "undetermined");
    let d = diagnosis("circle", &copied(6, 2));
    let f = finding(&d, "duplicate-packets").expect("the finding");
    assert_eq!(f["side"], "network");
    let d = diagnosis("once", &copied(0, 0));
    assert!(finding(&d, "duplicate-packets").is_none());
}
