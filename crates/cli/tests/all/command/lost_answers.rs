//! Answers that came late, seen by the client alone: lost and sent again, or late, as the server's identifications tell.

use super::capture;
use crate::kit::{file, parsed, said};
use serde_json::Value;
use testkit::{Conversation, TestPacket, rpc};

const MS: i64 = 1_000_000;

/// Sixty calls, of which every tenth of the last forty is answered after 230 ms, the others at once; with each packet
/// that the server sent meanwhile, which acknowledges the request.
fn calls() -> (Vec<TestPacket>, Vec<TestPacket>) {
    let mut c = Conversation::nfs();
    c.syn().after(MS).syn_ack().after(MS / 100).client_ack();
    let mut meanwhile = Vec::new();
    for xid in 0..60 {
        c.after(10 * MS)
            .client(&rpc::record(&rpc::getattr_call(xid, b"file")));
        c.after(MS).server_ack();
        if xid >= 20 && xid % 10 == 0 {
            meanwhile.extend(c.packets().pop());
            c.after(229 * MS);
        }
        c.server(&rpc::record(&rpc::getattr_reply(xid)));
        c.after(MS / 100).client_ack();
    }
    (c.packets(), meanwhile)
}

fn judged(test: &str, packets: &[TestPacket]) -> Value {
    let path = file(test, "client.pcap", &capture(packets));
    let path = path.to_str().expect("UTF-8");
    parsed(&said(["diagnose", "--client", path, "--format", "json"]))
}

#[test]
fn a_server_that_was_heard_meanwhile_is_slow() {
    let (all, _) = calls();
    let diagnosis = judged("lost-answers-none", &all);
    assert_eq!(diagnosis["verdict"]["side"], "server");
    assert_eq!(diagnosis["verdict"]["cause"], "server-slow");
}

#[test]
fn behind_packets_that_never_came_nobody_is_accused() {
    let (all, meanwhile) = calls();
    assert_eq!(meanwhile.len(), 4);
    let heard: Vec<_> = (all.into_iter())
        .filter(|packet| !meanwhile.contains(packet))
        .collect();
    let diagnosis = judged("lost-answers-some", &heard);
    assert_eq!(diagnosis["verdict"]["side"], "undetermined");
    let sentence = diagnosis["verdict"]["sentence"].to_string();
    assert!(
        sentence.contains("4 answers came behind packets of the server that never did")
            && sentence.contains("after 920 ms in all"),
        "{sentence}"
    );
}
