//! The network's health: captures of known faults (`tests/health`) into the finding that names each, tshark's
//! opinion of checksums, bridges and ICMP, and captures that must not be accused: the lab's, and public ones
//! where they are at hand (`../shared/samples`).

use crate::kit::{answer, file, has, root, said, sample, with};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use testkit::{Conversation, ETHERNET, Format, TestPacket, datagram, rpc};

/// Rows of tshark's fields, tab-separated; `None` where there is no tshark.
fn tshark(path: &Path, filter: &str, fields: &[&str]) -> Option<Vec<Vec<String>>> {
    if !has("tshark") {
        return None;
    }
    let mut command = Command::new("tshark");
    for check in ["tcp", "udp", "ip"] {
        command.args(["-o", &format!("{check}.check_checksum:TRUE")]);
    }
    // Of ICMP errors the innermost headers are those of the packet that was given back.
    command.args(["-E", "occurrence=f", "-T", "fields", "-Y", filter]);
    for field in fields {
        command.args(["-e", field]);
    }
    let output = command.arg("-r").arg(path).stdin(Stdio::null()).output();
    let output = output.expect("tshark runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let row = |line: &str| line.split('\t').map(str::to_owned).collect();
    Some(text.lines().map(row).collect())
}

fn ill(case: &str) -> PathBuf {
    root().join(format!("tests/health/{case}.pcap.zst"))
}

/// Findings about the network's health.
const CODES: [&str; 8] = [
    "broadcast-share",
    "checksum-errors",
    "fragments-lost",
    "invalid-arp",
    "mtu-mismatch",
    "stp-topology-change",
    "undeliverable",
    "wrong-vlan",
];

fn found(diagnosis: &Value) -> Vec<&str> {
    let findings = diagnosis["findings"].as_array().expect("findings").iter();
    let codes = findings.map(|f| f["code"].as_str().expect("a code"));
    codes.filter(|c| CODES.contains(c)).collect()
}

fn finding<'a>(diagnosis: &'a Value, code: &str) -> &'a Value {
    let findings = diagnosis["findings"].as_array().expect("findings");
    let found = findings.iter().find(|f| f["code"] == code);
    found.unwrap_or_else(|| panic!("no {code}: {findings:?}"))
}

fn frames(finding: &Value) -> Vec<u64> {
    let evidence = finding["evidence"].as_array().expect("evidence").iter();
    let frames = evidence.flat_map(|e| e["frames"].as_array().expect("frames"));
    frames.filter_map(Value::as_u64).collect()
}

/// Frames in which a filter of tshark's finds something.
fn frames_of(path: &Path, filter: &str) -> Option<Vec<u64>> {
    let rows = tshark(path, filter, &["frame.number"])?;
    Some(rows.iter().filter_map(|r| r[0].parse().ok()).collect())
}

#[test]
fn a_router_with_a_small_link_is_named_with_its_size() {
    let path = ill("mtu");
    let d = answer("diagnose", [&path]);
    assert_eq!(found(&d), ["mtu-mismatch"]);
    let f = finding(&d, "mtu-mismatch");
    assert_eq!(f["facts"]["mtu_bytes"], 1400);
    assert_eq!(f["facts"]["packet_bytes"], 1500);
    assert!(
        f["title"]
            .as_str()
            .expect("a title")
            .starts_with("10.1.0.1 ")
    );
    if let Some(told) = frames_of(
        &path,
        "icmp.type == 3 && icmp.code == 4 && icmp.mtu == 1400",
    ) {
        assert_eq!(frames(f), told);
    }
}

#[test]
fn a_router_without_a_way_ends_the_work() {
    let path = ill("unreachable");
    let d = answer("diagnose", [&path]);
    assert_eq!(d["verdict"]["cause"], "undeliverable");
    assert_eq!(d["verdict"]["side"], "network");
    let f = finding(&d, "undeliverable");
    assert_eq!(f["facts"]["connections"], 3);
    if let Some(told) = frames_of(&path, "icmp.type == 3") {
        assert_eq!(f["facts"]["packets"], told.len());
        assert!(frames(f).iter().all(|n| told.contains(n)));
    }
}

#[test]
fn a_wire_that_flips_bits_is_told_by_the_packets_that_suffer() {
    let path = ill("damaged");
    let d = answer("diagnose", [&path]);
    assert_eq!(found(&d), ["checksum-errors"]);
    // What it cost is the loss's.
    assert_eq!(d["verdict"]["cause"], "network-loss");
    let f = finding(&d, "checksum-errors");
    assert_eq!(f["cost_ns"], Value::Null);
    if let Some(told) = frames_of(&path, "tcp.checksum.status == 0") {
        assert_eq!(f["facts"]["packets"], told.len());
        assert!(frames(f).iter().all(|n| told.contains(n)));
        // None of them is taken for a needless one that was sent again: each was missing.
        let lost = finding(&d, "network-loss");
        let again = lost["facts"]["retransmitted_packets"].as_u64();
        assert!(again >= Some(told.len() as u64), "{lost}");
    }
}

#[test]
fn lost_fragments_cost_what_their_calls_waited_and_the_server_is_innocent() {
    let path = ill("fragments");
    // The client sends a WRITE again after half a second; tshark counts from the first sending too.
    for side in [&[][..], &["--server"], &["--client"]] {
        let d = answer("diagnose", with(side, &path));
        assert_eq!(found(&d), ["fragments-lost"], "{side:?}");
        let f = finding(&d, "fragments-lost");
        let resent = f["facts"]["resent"].as_i64().expect("a number");
        assert!(resent >= 6, "{f}");
        let cost = f["cost_ns"].as_i64().expect("a cost") as f64 / 1e9;
        // At the ends of the capture lost datagrams cost time and are not counted.
        let lost = (cost / 0.5).round() as i64;
        assert!((resent..resent + 4).contains(&lost), "{cost} s, {resent}");
        assert!((cost / lost as f64 - 0.5).abs() < 0.015, "{cost} s");
        let why = f["why"].as_str().expect("a reason");
        assert!(why.contains("after 50"), "ms each: {why}");
        assert_eq!(d["verdict"]["side"], "network", "{}", d["verdict"]);
        assert_eq!(d["verdict"]["cause"], "fragments-lost");
    }
}

#[test]
fn bridges_that_choose_another_root_are_named_with_what_waited() {
    let path = ill("bridges");
    let d = answer("diagnose", [&path]);
    assert_eq!(found(&d), ["stp-topology-change"]);
    let f = finding(&d, "stp-topology-change");
    // The old root keeps its place for a while with a higher priority; the other takes it once.
    assert_eq!(f["facts"]["root_changes"], 1);
    assert_eq!(f["facts"]["topology_changes"], 1);
    // The outage costs; the change does not cost it again.
    let outage = finding(&d, "network-outage");
    assert_eq!(
        f["facts"]["longest_resent_ns"],
        outage["facts"]["longest_ns"]
    );
    assert_eq!(f["cost_ns"], Value::Null);
    let info = answer("info", [&path]);
    let tree = &info["health"]["spanning_tree"];
    let fields = [
        "stp.root.hw",
        "stp.root.prio",
        "frame.number",
        "stp.flags.tc",
    ];
    if let Some(told) = tshark(&path, "stp", &fields) {
        assert_eq!(tree["packets"], told.len());
        let change = told
            .windows(2)
            .find(|w| w[0][0] != w[1][0])
            .expect("a change");
        let change_told = &tree["root_changes"][0];
        assert_eq!(change_told["old"]["hardware"], change[0][0]);
        assert_eq!(change_told["new"]["hardware"], change[1][0]);
        let number = |text: &str| text.parse::<u64>().ok();
        assert_eq!(
            change_told["new"]["priority"].as_u64(),
            number(&change[1][1])
        );
        assert_eq!(change_told["at"]["frame"].as_u64(), number(&change[1][2]));
        let first = told.iter().find(|r| r[3] == "1").expect("a change");
        let at = &tree["topology_changes"][0]["at"]["frame"];
        assert_eq!(at.as_u64(), number(&first[2]));
    }
}

#[test]
fn arp_that_cannot_be_is_found_and_nobody_is_two_hosts_by_it() {
    let d = answer("diagnose", [&ill("arp")]);
    assert_eq!(found(&d), ["invalid-arp"]);
    let f = finding(&d, "invalid-arp");
    assert_eq!(f["facts"]["packets"], 4);
    assert_eq!(f["facts"]["other_source"], 1);
    assert_eq!(frames(f), [2, 3, 4, 5]);
    let all = d["findings"].as_array().expect("findings").iter();
    assert!(!all.map(|f| &f["code"]).any(|c| c == "duplicate-address"));
}

#[test]
fn public_captures_of_ill_networks_are_found_to_be_so() {
    for (name, code) in [
        ("l2/802.1w_rapid_STP.cap", "stp-topology-change"),
        ("l2/STP-TCN-TCAck.pcapng.cap", "stp-topology-change"),
        ("l2/stp-TCN-TC-TCA.pcapng", "stp-topology-change"),
        ("l2/rstp-PA.pcapng", "stp-topology-change"),
        ("formats/zeek-vlan-collisions.pcap", "wrong-vlan"),
    ] {
        let Some(path) = sample(name) else { return };
        assert_eq!(found(&answer("diagnose", [&path])), [code], "{name}");
    }
}

#[test]
fn healthy_networks_are_not_accused() {
    let lab = root().join("tests/lab");
    let cases = std::fs::read_dir(lab).expect("the lab's captures");
    let mut captures: Vec<PathBuf> = Vec::new();
    for case in cases {
        let case = case.expect("a folder").path();
        let both = ["client.pcap.zst", "server.pcap.zst"].map(|f| case.join(f));
        captures.extend(both.into_iter().filter(|f| f.exists()));
    }
    assert!(captures.len() > 20, "{captures:?}");
    let samples = [
        // Steady trees, one for each VLAN, one with many instances.
        "l2/stp.pcap",
        "l2/802.1D_spanning_tree.cap",
        "l2/Spanning_Tree_-_MST.pcapng.cap",
        // A trunk's mirror, fragments that all arrive, offload, a way found by traceroute.
        "formats/VlanPackets.pcap",
        "nfs/eth-ipv4-udp-nfsv3-dup-retransm.pcap",
        "nfs/eth-ipv4-tcp-nfsv41.pcap",
        "tcp/icmp-tracert-slow.pcap",
        // Bytes that were changed by hand, and answered all the same.
        "nfs/nfs_getattr_bad_ftype.pcap",
        "db/arkime-mysql-allow.pcap",
        // A port that came up beside calls that nobody held up.
        "nfs/eth-ipv4-tcp-nfsv4-incorrect_mount.pcap",
    ];
    captures.extend(samples.iter().filter_map(|s| sample(s)));
    for path in captures {
        let d = answer("diagnose", [&path]);
        assert_eq!(found(&d), [""; 0], "{}", path.display());
    }
}

/// Whole packets over Ethernet without tunnels, where tshark and slowside look at the same headers: all
/// right, left to cards, changed, and damaged.
const SUMMED: [&str; 16] = [
    "nfs/eth-ipv4-tcp-nfsv41.pcap",
    "nfs/nfs_getattr_bad_ftype.pcap",
    "nfs/eth-ipv4-tcp-nfsv4-incorrect_mount.pcap",
    "nfs/beats-nfs_v3.pcap",
    "db/arkime-mysql-allow.pcap",
    "db/arkime-postgres-good.pcap",
    "db/beats-mysql_int_string_operations.pcap",
    "db/eth-ipv4-tcp-cifs2.pcap",
    "tcp/syn_attack.pcap",
    "tcp/ftp-crack.pcap",
    "tcp/zeek-ssh-dups.pcap",
    "tcp/zeek-gap-recovery.pcap",
    "tns/10_sqldeveloper10_2016.pcapng",
    "tns/john-Oracle-bunch-Nmap-11gR2",
    "formats/zeek-ip4-tcp-bad-chksum.pcap",
    "formats/pcapng-example.pcapng",
];

#[test]
fn checksums_hold_where_they_hold_for_tshark() {
    let mut captures = vec![ill("damaged"), ill("mtu")];
    captures.extend(SUMMED.iter().filter_map(|s| sample(s)));
    for path in captures {
        for (of, filter) in [
            ("tcp", "tcp && !icmp && !icmpv6"),
            ("udp", "udp && !icmp && !icmpv6"),
            ("ip", "ip"),
        ] {
            let field = format!("{of}.checksum.status");
            let addresses = ["ip.src", "ipv6.src", field.as_str()];
            let Some(rows) = tshark(&path, filter, &addresses) else {
                return;
            };
            // By sender: right and not right (1 and 0; what is cut or has none is 2 and 3).
            let mut theirs: BTreeMap<String, [u64; 2]> = BTreeMap::new();
            for row in rows {
                let sender = if row[0].is_empty() { &row[1] } else { &row[0] };
                let place = match row[2].as_str() {
                    "1" => 0,
                    "0" => 1,
                    _ => continue,
                };
                theirs.entry(sender.clone()).or_default()[place] += 1;
            }
            let info = answer("info", [&path]);
            let mut mine: BTreeMap<String, [u64; 2]> = BTreeMap::new();
            for c in info["health"]["checksums"].as_array().expect("checksums") {
                if c["checksum"] == of {
                    let n = |name: &str| c[name].as_u64().expect("a number");
                    let sender = c["sender"].as_str().expect("an address");
                    let wrong = n("unfinished") + n("joined") + n("wrong");
                    mine.insert(sender.to_owned(), [n("right"), wrong]);
                }
            }
            assert_eq!(mine, theirs, "{}: {of}", path.display());
        }
    }
}

#[test]
fn cards_are_told_from_damage() {
    // tshark: half of the packets do not hold, all of them from the host that captured.
    for (name, meaning) in [
        ("nfs/eth-ipv4-tcp-nfsv41.pcap", "offload"),
        ("nfs/nfs_getattr_bad_ftype.pcap", "rewritten"),
    ] {
        let Some(path) = sample(name) else { return };
        let info = answer("info", [&path]);
        let sums = info["health"]["checksums"].as_array().expect("checksums");
        assert!(
            sums.iter().any(|c| c["meaning"] == meaning),
            "{name}: {sums:?}"
        );
        assert!(!sums.iter().any(|c| c["meaning"] == "damaged"), "{name}");
    }
}

/// Packets made for a test, as a file.
fn made(name: &str, packets: &[TestPacket]) -> PathBuf {
    let bytes = testkit::pcap(packets, ETHERNET, Format::default());
    file("health", &format!("{name}.pcap"), &bytes)
}

/// Forty calls and their answers, a millisecond apart.
fn calls() -> Vec<TestPacket> {
    let mut c = Conversation::nfs();
    c.handshake();
    for xid in 1..41 {
        c.after(1_000_000)
            .client(&rpc::record(&rpc::getattr_call(xid, b"file")));
        c.after(100_000)
            .server(&rpc::record(&rpc::getattr_reply(xid)));
    }
    c.packets()
}

#[test]
fn a_thousand_broadcasts_a_second_are_worth_a_word_and_fewer_are_not() {
    for (count, expected) in [(1_100, vec!["broadcast-share"]), (900, Vec::new())] {
        let mut packets = calls();
        for n in 0..count {
            let from = ([10, 0, 0, 7], 138).into();
            let to = ([10, 0, 0, 255], 138).into();
            let time = 2_000_000_000 + n * 800_000;
            let mut packet = datagram(time, from, to, n as u16, b"is anybody there?");
            packet.bytes[..6].fill(0xff);
            packets.push(packet);
        }
        let path = made(&format!("broadcast-{count}"), &packets);
        let d = answer("diagnose", [&path]);
        assert_eq!(found(&d), expected, "{count}");
        let info = answer("info", [&path]);
        let sender = &info["health"]["to_everybody"][0];
        assert_eq!(sender["broadcast"]["packets"], count);
        assert_eq!(sender["holds"], "udp");
        if let Some(told) = frames_of(&path, "eth.dst == ff:ff:ff:ff:ff:ff") {
            assert_eq!(told.len() as u64, count as u64);
        }
    }
}

/// The conversation's packets with tags: by direction the VLAN and the last bytes of source and
/// destination hardware addresses.
fn tagged(ways: [(u8, [u8; 2]); 2]) -> Vec<TestPacket> {
    let mut packets = calls();
    for p in &mut packets {
        let (vlan, [source, destination]) = ways[usize::from(p.bytes[14 + 15] == 2)];
        p.bytes[5] = destination;
        p.bytes[11] = source;
        p.bytes.splice(12..12, [0x81, 0, 0, vlan]);
        p.length += 4;
    }
    packets
}

#[test]
fn hosts_that_answer_in_another_vlan_are_hinted_at_and_a_router_s_two_sides_are_not() {
    let one = made("vlan-one", &tagged([(10, [1, 2]), (10, [2, 1])]));
    assert_eq!(found(&answer("diagnose", [&one])), [""; 0]);
    let two = made("vlan-two", &tagged([(10, [1, 2]), (20, [2, 1])]));
    let d = answer("diagnose", [&two]);
    assert_eq!(found(&d), ["wrong-vlan"]);
    let why = finding(&d, "wrong-vlan")["why"].as_str().expect("why");
    assert!(why.contains("VLAN 10") && why.contains("VLAN 20"), "{why}");
    // A mirror of both sides of a router: every packet twice, with other cards and less to live.
    let mut both = tagged([(10, [1, 9]), (10, [9, 1])]);
    let mut behind = tagged([(20, [9, 2]), (20, [2, 9])]);
    for p in &mut behind {
        p.time += 20_000;
        p.bytes[18 + 8] -= 1;
    }
    both.extend(behind);
    both.sort_by_key(|p| p.time);
    let routed = made("vlan-routed", &both);
    assert_eq!(found(&answer("diagnose", [&routed])), [""; 0]);
    let info = answer("info", [&routed]);
    assert_eq!(info["vlans"], serde_json::json!([10, 20]));
}

/// Hosts and hardware stand in the facts of health alone, in no finding's sentence.
#[test]
fn the_facts_of_health_name_nobody_under_pseudonyms() {
    let folder = root().join("tests/health");
    let names = [
        ("arp", "02:00:00:00:00:09"),
        ("bridges", "3e:f0:67:44:87:c8"),
        ("damaged", "10.2.0.3"),
        ("mtu", "10.1.0.1"),
        ("unreachable", "10.3.0.2"),
    ];
    for (file, name) in names {
        let path = folder.join(format!("{file}.pcap.zst"));
        let told = |more: &[&str]| answer("info", with(more, &path))["health"].to_string();
        assert!(told(&[]).contains(name), "{file}");
        assert!(
            !told(&["--anonymise=a key for tests"]).contains(name),
            "{file}"
        );
    }
}

/// The verdict says that the network lost it; the time's parts once said that it was nobody's.
#[test]
fn time_that_losses_took_is_not_called_nobody_s() {
    let path = root().join("tests/health/damaged.pcap.zst");
    let text = said(with(&["-q"], &path));
    assert!(!text.contains("nobody's for certain"), "{text}");
}
