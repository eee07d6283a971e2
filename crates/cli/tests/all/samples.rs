//! Public captures of TCP in trouble, where they are at hand (`../shared/samples`), into what must be
//! said of them. What is expected was read off the packets, with frames where that helps.

use crate::kit::{answer, sample};
use serde_json::Value;
use std::path::Path;

/// The connections in the order in which they began.
fn connections(path: &Path) -> Vec<Value> {
    connections_of(&[path])
}

fn connections_of(paths: &[&Path]) -> Vec<Value> {
    let all = answer("conns", paths);
    let mut connections = all["connections"].as_array().expect("connections").clone();
    connections.sort_by_key(|c| c["number"].as_u64());
    connections
}

const OUT: &str = "client_to_server";
const BACK: &str = "server_to_client";

fn number(value: &Value) -> f64 {
    value
        .as_f64()
        .unwrap_or_else(|| panic!("{value} is no number"))
}

/// Seconds of a class.
fn seconds(c: &Value, direction: &str, class: &str) -> f64 {
    number(&c["directions"][direction]["time_ns"][class]) / 1e9
}

fn count(c: &Value, direction: &str, field: &str) -> u64 {
    c["directions"][direction][field]
        .as_u64()
        .unwrap_or_else(|| panic!("{field}"))
}

/// Codes and sides of findings.
fn findings(path: &Path) -> Vec<(String, String)> {
    findings_of(&answer("diagnose", [&path]))
}

fn findings_of(diagnosis: &Value) -> Vec<(String, String)> {
    let text = |v: &Value| v.as_str().expect("text").to_owned();
    let found = diagnosis["findings"].as_array().expect("findings").iter();
    found
        .map(|f| (text(&f["code"]), text(&f["side"])))
        .collect()
}

fn has(found: &[(String, String)], code: &str, side: &str) -> bool {
    found.iter().any(|(c, s)| c == code && s == side)
}

#[test]
fn a_mail_server_that_reads_slowly_closes_its_window() {
    let Some(path) = sample("tcp/suricata-mime-stream-depth.pcap") else {
        return;
    };
    let c = &connections(&path)[0];
    // tshark: 15 zero windows of the server, 579 segments that fill its window; nothing lost.
    assert_eq!(count(c, OUT, "zero_windows"), 15);
    let closed = count(c, OUT, "zero_window_ns") as f64 / 1e9;
    let limited = seconds(c, OUT, "receiver-application") + seconds(c, OUT, "small-window");
    // Closed for 554 ms, and that or too small for 590 ms of the 0.82 s in which it sent the mail.
    assert!((0.55..0.56).contains(&closed), "{closed}");
    assert!((closed..0.65).contains(&limited), "{limited}");
    assert_eq!(count(c, OUT, "retransmitted_packets"), 0);
    assert_eq!(seconds(c, OUT, "loss-recovery"), 0.0);
    // The client is a Windows host, whose IP identifications count other connections too.
    assert_eq!(count(c, OUT, "missing_from_capture_packets"), 0);
}

#[test]
fn copies_and_needless_resends_are_told_apart() {
    let Some(path) = sample("tcp/ndpi-fix2.pcap") else {
        return;
    };
    let all = connections(&path);
    let sum = |field: &str| -> u64 {
        all.iter()
            .flat_map(|c| [OUT, BACK].map(|d| count(c, d, field)))
            .sum()
    };
    let (copies, again) = (sum("duplicate_packets"), sum("retransmitted_packets"));
    let spurious = sum("spurious_retransmissions");
    assert!(
        copies > 800 && again > 100,
        "{copies} copies, {again} sent again"
    );
    assert!(
        spurious * 3 > again && spurious <= again,
        "{spurious} of {again}"
    );
}

#[test]
fn a_mirrored_request_in_two_writes_waits_for_its_acknowledgement() {
    let Some(path) = sample("tcp/wireshark-retrans.pcap") else {
        return;
    };
    let c = &connections(&path)[0];
    // Frames 8, 17 and 21: the head of the POST, its acknowledgement 66 ms later, the body at once.
    assert!(
        (0.19..0.30).contains(&seconds(c, OUT, "nagle-delayed-ack")),
        "{c}"
    );
    // Each frame is a packet or a copy of one.
    let frames = |field: &str| count(c, OUT, field) + count(c, BACK, field);
    assert_eq!(frames("packets") + frames("duplicate_packets"), 105);
    assert_eq!(frames("duplicate_packets"), 78);
    assert!(has(&findings(&path), "nagle-delayed-ack", "client"));
}

#[test]
fn a_session_captured_twice_lost_nothing() {
    let Some(path) = sample("tcp/zeek-ssh-dups.pcap") else {
        return;
    };
    let c = &connections(&path)[0];
    let frames = |field: &str| count(c, OUT, field) + count(c, BACK, field);
    assert_eq!(frames("packets") + frames("duplicate_packets"), 374);
    for d in [OUT, BACK] {
        assert!(count(c, d, "duplicate_packets") > 100);
        assert_eq!(count(c, d, "retransmitted_packets"), 0);
        assert_eq!(seconds(c, d, "loss-recovery"), 0.0);
    }
}

#[test]
fn a_marked_download_is_limited_by_a_full_link() {
    let Some(path) = sample("tcp/tcp-ecn-sample.pcap") else {
        return;
    };
    let c = &connections(&path)[0];
    // 52 packets with congestion experienced, none lost.
    assert!(seconds(c, BACK, "bandwidth") > 80.0, "{c}");
    assert_eq!(c["top"]["class"], "bandwidth");
    assert_eq!(count(c, BACK, "retransmitted_packets"), 0);
}

#[test]
fn small_writes_on_loopback_do_not_wait() {
    let Some(path) = sample("tcp/capture_nagle_delayed.pcap") else {
        return;
    };
    for c in connections(&path) {
        for d in [OUT, BACK] {
            assert_eq!(seconds(&c, d, "nagle-delayed-ack"), 0.0);
        }
    }
    assert!(findings(&path).is_empty());
}

#[test]
fn a_window_scale_is_known_absent_or_unknown() {
    let Some(path) = sample("tcp/200722_win_scale_examples_anon.pcapng") else {
        return;
    };
    let scales: Vec<[Option<u64>; 2]> = connections(&path)
        .iter()
        .map(|c| [OUT, BACK].map(|d| c["directions"][d]["window_scale"].as_u64()))
        .collect();
    assert_eq!(
        scales,
        [[Some(7), Some(8)], [Some(0), Some(0)], [None, None]]
    );
}

#[test]
fn one_direction_alone_accuses_nobody() {
    let Some(path) = sample("tcp/zeek-one-sided-2745.pcap") else {
        return;
    };
    for c in connections(&path) {
        assert_eq!(count(&c, OUT, "packets"), 0);
        assert!(c["top"].is_null());
    }
    assert!(findings(&path).is_empty());
}

#[test]
fn attempts_that_nobody_answers_are_slow_connects_of_nobody() {
    let Some(path) = sample("tcp/http_espn_fail.pcapng") else {
        return;
    };
    let diagnosis = answer("diagnose", [&path]);
    assert!(has(
        &findings_of(&diagnosis),
        "slow-connect",
        "undetermined"
    ));
    // tshark: 84 SYNs sent again, none of them answered.
    let facts = &diagnosis["findings"][0]["facts"];
    assert_eq!(
        [
            &facts["connections"],
            &facts["unanswered"],
            &facts["retries"]
        ],
        [9, 9, 84]
    );
}

#[test]
fn a_fast_and_a_slow_web_server() {
    let (Some(fast), Some(slow)) = (sample("tcp/latency1.pcapng"), sample("tcp/latency4.pcapng"))
    else {
        return;
    };
    let server = |path: &Path| seconds(&connections(path)[0], BACK, "sender-application");
    assert!(server(&fast) < 0.05, "{}", server(&fast));
    // Frame 6 comes 979 ms after the acknowledgement of the request.
    assert!((0.9..1.1).contains(&server(&slow)), "{}", server(&slow));
}

#[test]
fn a_syn_sent_again_costs_a_second() {
    let Some(path) = sample("tcp/suricata-syn_retransmit_with_ts.pcap") else {
        return;
    };
    let c = &connections(&path)[0];
    assert_eq!(c["handshake"]["syn_retries"], 1);
    assert!((0.99..1.01).contains(&seconds(c, OUT, "handshake")));
    assert!(has(&findings(&path), "slow-connect", "undetermined"));
    // What was lost is sent again from frame 233 on; frame 239 only when a timer has run out, 0.999 s
    // later.
    assert!((0.99..1.01).contains(&seconds(c, BACK, "loss-recovery")));
}

#[test]
fn a_receiver_that_never_reads_again_is_probed() {
    let Some(path) = sample("tcp/tcp_zerowindowdead.pcapng") else {
        return;
    };
    let c = &connections(&path)[0];
    // Frames 3, 5 and 7 are probes of the window that frame 2 closed.
    assert!((23.7..23.8).contains(&seconds(c, BACK, "receiver-application")));
    assert_eq!(count(c, BACK, "retransmitted_packets"), 0);
}

#[test]
fn what_the_capture_lost_is_not_the_network_s_loss() {
    let Some(path) = sample("tcp/zeek-gap-recovery.pcap") else {
        return;
    };
    let missing: u64 = connections(&path)
        .iter()
        .flat_map(|c| [OUT, BACK].map(|d| count(c, d, "missing_from_capture_packets")))
        .sum();
    assert!(missing > 0);
    let found = findings(&path);
    assert!(
        has(&found, "capture-incomplete", "undetermined"),
        "{found:?}"
    );
    assert!(!found.iter().any(|(code, _)| code == "network-loss"));
}

#[test]
fn a_forged_refusal_that_was_not_believed_is_not_what_ended_the_connection() {
    let Some(path) = sample("tcp/zeek-rst-inject-rae.pcap") else {
        return;
    };
    // Frame 2 refuses with the client's own IP identification; frame 3 is the server's SYN/ACK, and frame 7 its reset,
    // of the identification behind that of frame 6.
    let found = findings(&path);
    assert!(has(&found, "connection-reset", "server"), "{found:?}");
    assert!(
        !found.iter().any(|(_, side)| side == "network"),
        "{found:?}"
    );
}

#[test]
fn a_port_used_again_too_soon_makes_three_connections() {
    let Some(path) = sample("tcp/plantegg-syn_tw_reset.pcap") else {
        return;
    };
    let all = connections(&path);
    assert_eq!(all.len(), 3);
    // The second one's SYN is answered with an acknowledgement of the first.
    assert_eq!(all[1]["handshake"]["seen"], false);
}

#[test]
fn a_jumbogram_is_eighty_thousand_bytes() {
    let Some(path) = sample("tcp/bigtcp-ipv6-hbh.pcap") else {
        return;
    };
    let c = &connections(&path)[0];
    let bytes: u64 = [OUT, BACK]
        .map(|d| count(c, d, "payload_bytes"))
        .iter()
        .sum();
    assert_eq!(bytes, 80_000);
}

#[test]
fn a_client_that_delays_acknowledgements_stalls_its_replies() {
    let Some(path) = sample("nfs/nfs_bad_stalls.cap") else {
        return;
    };
    // 49 times the client acknowledges the odd last segment of a reply by its timer, and the server goes
    // on with a segment of full size some 190 µs later: frames 224 (after 33.3 ms), and from 400 (after
    // 37.1 ms) to 6915, 48 of them after 37 to 39 ms. Nothing follows frame 7034.
    let diagnosis = answer("diagnose", [&path]);
    assert_eq!(diagnosis["verdict"]["cause"], "ack-frequency");
    assert_eq!(diagnosis["verdict"]["side"], "client");
    let found = diagnosis["findings"].as_array().expect("findings");
    let f = found
        .iter()
        .find(|f| f["code"] == "ack-frequency")
        .expect("the finding");
    assert_eq!(f["facts"]["waits"], 49);
    assert_eq!(f["facts"]["not_awaited"], 0);
    let each = number(&f["facts"]["wait_mean_ns"]) / 1e6;
    assert!((37.5..38.5).contains(&each), "{each}");
    // The connection's account has the same waits, beside the round trips.
    let all = connections(&path);
    let nfs = all
        .iter()
        .find(|c| c["protocol"] == "nfs3")
        .expect("the connection of NFS");
    let waited = seconds(nfs, BACK, "nagle-delayed-ack");
    assert!((1.8..1.9).contains(&waited), "{waited}");
    assert_eq!(nfs["top"]["class"], "nagle-delayed-ack");
    // They are kept apart from the path, which takes 0.1 ms.
    assert!(number(&nfs["directions"][BACK]["rtt"]["max_ns"]) < 1e6);
    let delayed = number(&nfs["directions"][BACK]["delayed_ack_ns"]);
    assert!((37e6..39e6).contains(&delayed), "{delayed}");
}

#[test]
fn copies_are_named_as_what_they_are() {
    let names = [
        "tcp/zeek-ssh-dups.pcap",
        "tcp/ndpi-fix2.pcap",
        "tcp/wireshark-retrans.pcap",
    ];
    for name in names {
        let Some(path) = sample(name) else { return };
        let found = findings(&path);
        assert!(has(&found, "duplicate-packets", "undetermined"), "{name}");
    }
}

#[test]
fn a_server_that_does_not_read_is_no_slow_server() {
    let Some(path) = sample("nfs/eth-ipv4-tcp-nfsv3.pcap.gz") else {
        return;
    };
    // tshark: 1,796 zero windows of the server, while the client writes 100 MB.
    let found = findings(&path);
    assert!(has(&found, "receive-window-limited", "server"), "{found:?}");
    assert!(!has(&found, "server-slow", "server"), "{found:?}");
}

/// Two captures of `pairs`, at the client and at the server of what both saw: the connections that
/// both have, and the diagnosis.
fn pair(client: &str, server: &str) -> Option<(Vec<Value>, Value)> {
    let path = |name| sample(&format!("tcp/pairs/{name}.pcap"));
    let (client, server) = (path(client)?, path(server)?);
    let paths = [client.as_path(), server.as_path()];
    let mut both = connections_of(&paths);
    both.retain(|c| !c["directions"][OUT]["lost_on_network_packets"].is_null());
    Some((both, answer("diagnose", paths)))
}

/// Every packet of these connections is in both captures, though NAT gave them other addresses.
fn nothing_is_lost(both: &[Value]) {
    for (c, d) in both.iter().flat_map(|c| [(c, OUT), (c, BACK)]) {
        for field in ["lost_on_network_packets", "missing_from_capture_packets"] {
            assert_eq!(count(c, d, field), 0, "{field} of {c}");
        }
    }
}

/// The server's clock against the client's, in milliseconds: what is known of it must meet what the
/// fastest packets of either direction leave possible.
fn clock_is_within(diagnosis: &Value, least: f64, most: f64) {
    let clock = &diagnosis["clock"];
    let [offset, doubt] = ["offset_ns", "uncertainty_ns"].map(|key| number(&clock[key]) / 1e6);
    assert!(
        doubt < 0.3 && offset - doubt <= most && offset + doubt >= least,
        "{clock}"
    );
}

#[test]
fn a_tunnelled_server_sends_again_what_had_arrived() {
    let Some((both, diagnosis)) = pair("openvpn_tap_ftps.relay", "openvpn_tap_ftps.server") else {
        return;
    };
    assert_eq!(both.len(), 2);
    nothing_is_lost(&both);
    let sum = |field: &str| -> u64 { both.iter().map(|c| count(c, BACK, field)).sum() };
    // Frames 34, 50 and 85 of the server probe a tail whose acknowledgement was delayed; frames 35, 55
    // and 86 say that it came twice (RFC 2883).
    assert_eq!(
        [
            sum("retransmitted_packets"),
            sum("spurious_retransmissions")
        ],
        [3, 3]
    );
    let found = findings_of(&diagnosis);
    assert!(
        !found.iter().any(|(code, _)| code == "network-loss"),
        "{found:?}"
    );
    // Frame 95 closes in order; the reset of frame 97 answers the client's last words.
    assert!(!has(&found, "connection-reset", "server"), "{found:?}");
    clock_is_within(&diagnosis, -1.151, -0.720);
}

#[test]
fn a_tunnel_that_is_closed_in_order_is_not_cut_off() {
    let Some((both, diagnosis)) = pair("frp_tcp_ssh.server", "frp_tcp_ssh.relay") else {
        return;
    };
    let [tunnel] = both.as_slice() else {
        panic!("{} connections in both", both.len());
    };
    nothing_is_lost(&both);
    // 149 packets in both, of which the last is a second reset behind the end.
    let packets = count(tunnel, OUT, "packets") + count(tunnel, BACK, "packets");
    assert_eq!(packets, 148);
    // Nobody is kept waiting but by the application, for 25 s of 45 s.
    assert_eq!(tunnel["top"]["class"], "sender-application");
    assert!((24.0..26.0).contains(&seconds(tunnel, OUT, "sender-application")));
    let found = findings_of(&diagnosis);
    assert!(
        !found.iter().any(|(code, _)| code == "connection-reset"),
        "{found:?}"
    );
    clock_is_within(&diagnosis, -1.158, -1.022);
}

#[test]
fn a_clock_that_is_behind_and_slower_hides_no_path() {
    let Some((both, diagnosis)) = pair("xtunnel_custom_wss.server", "xtunnel_custom_wss.relay")
    else {
        return;
    };
    assert_eq!(both.len(), 1);
    nothing_is_lost(&both);
    // A message of 52 bytes a second: 57 s of 60 s are the application's.
    assert!((57.0..58.0).contains(&seconds(&both[0], OUT, "sender-application")));
    // The first packets leave no offset below -33.117 ms possible, the last none above -33.516 ms.
    clock_is_within(&diagnosis, -33.516, -33.117);
    let drift = number(&diagnosis["clock"]["drift_ppm"]);
    assert!((-20.0..-5.0).contains(&drift), "{drift}");
    let network = number(&diagnosis["ops"][0]["matched"]["difference_mean_ns"]);
    assert!((0.5e6..1.2e6).contains(&network), "{network}");
}

#[test]
fn attempts_that_arrived_and_got_no_answer_are_in_vain() {
    let Some((both, diagnosis)) = pair("softether_ftps.relay", "softether_ftps.server") else {
        return;
    };
    // 67 packets of the relay's 6,389 are in the server's capture too.
    assert_eq!(both.len(), 2);
    nothing_is_lost(&both);
    // Frames 194 and 197, 200 and 203, 204 and 207, 212 and 213 of the server: SYNs to port 4000.
    let found = diagnosis["findings"].as_array().expect("findings");
    let slow = found.iter().find(|f| f["code"] == "slow-connect");
    let facts = &slow.expect("slow-connect")["facts"];
    assert_eq!([&facts["connections"], &facts["unanswered"]], [4, 4]);
}

#[test]
fn a_few_turns_do_not_excuse_who_has_more_of_their_time() {
    let Some(path) = sample("tcp/7_LocalCtrl_AddDly_ok.pcapng") else {
        return;
    };
    // The server answers frame 13 after 966 ms and frame 17 after 671 ms; the client takes 710 ms to send
    // the turn of frames 21 to 224, of which it is silent for 10 ms at a time, all acknowledged, 70 times.
    let diagnosis = answer("diagnose", [&path]);
    assert_eq!(diagnosis["verdict"]["side"], "undetermined");
    assert_eq!(
        findings_of(&diagnosis),
        [("sender-application-limited".into(), "client".into())]
    );
    let evidence = &diagnosis["findings"][0]["evidence"][0]["frames"];
    assert_eq!(evidence, &serde_json::json!([41, 42, 122, 123, 197, 198]));
}

#[test]
fn an_answer_sooner_than_a_handshake_bounds_the_path() {
    let Some(path) = sample("db/9p.cap") else {
        return;
    };
    // The one handshake takes 158 ms, but frame 205 answers frame 204 within 130 ms.
    let diagnosis = answer("diagnose", [&path]);
    let f = &diagnosis["findings"][0];
    assert_eq!(f["code"], "network-delay");
    let each = number(&f["facts"]["network_mean_ns"]) / 1e6;
    assert!((129.0..131.0).contains(&each), "{each}");
    assert!(
        f["why"]
            .as_str()
            .is_some_and(|w| w.contains("130 ms (as its soonest answer")),
        "{f}"
    );
}
