//! What a capture is worth and its statistics by interval, held against capinfos, tshark and tcpstat, on
//! the captures of `tests/lab` and on the public ones where they are at hand (`../shared/samples`); and
//! findings about the link on public captures that show them, and on some that must not.

use crate::kit::{
    SLOWSIDE, answer, folder, has, lab, nanoseconds, said, sample, slowside, text, with,
};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What another program says; `None` where there is none.
fn other(program: &str, arguments: &[&str], path: &Path) -> Option<String> {
    if !has(program) {
        return None;
    }
    let mut command = Command::new(program);
    command.args(arguments).arg(path).env("TZ", "UTC");
    let output = command.stdin(Stdio::null()).output().expect("it runs");
    Some(text(&output.stdout))
}

/// Captures of the lab, which capinfos and tshark read as they are packed.
fn packed() -> Vec<PathBuf> {
    let cases = ["server-cap", "packet-loss", "slow-turns", "outage"];
    cases.map(|case| lab(case, "client")).to_vec()
}

/// Of several seconds, kinds of packets, link types, cut and out of order.
const TIMED: [&str; 8] = [
    "nfs/nfs_bad_stalls.cap",
    "l2/stp.pcap",
    "l2/arp-storm.pcap",
    "l2/smb-browser-elections.pcapng",
    "l2/STP_UplinkFast.pcapng",
    "formats/microsecs_big_endian.pcap",
    "formats/many_interfaces-1.pcapng",
    "tcp/double-vision.pcap",
];

fn captures() -> Vec<PathBuf> {
    let mut captures = packed();
    captures.extend(TIMED.iter().filter_map(|name| sample(name)));
    captures
}

#[test]
fn a_capture_has_the_numbers_that_capinfos_tells() {
    for path in captures() {
        let fields = ["-T", "-r", "-M", "-c", "-d", "-u", "-a", "-e", "-o", "-S"];
        let Some(theirs) = other("capinfos", &fields, &path) else {
            return;
        };
        let [_, packets, bytes, duration, first, last, ordered] =
            theirs.trim().split('\t').collect::<Vec<_>>()[..]
        else {
            panic!("{theirs}");
        };
        let mine = answer("info", [&path]);
        let what = path.display();
        let number = |text: &str| text.parse::<u64>().ok();
        assert_eq!(mine["packets"].as_u64(), number(packets), "{what}");
        assert_eq!(mine["bytes"].as_u64(), number(bytes), "{what}");
        for (name, seconds) in [
            ("duration_ns", duration),
            ("first_ns", first),
            ("last_ns", last),
        ] {
            let ns = nanoseconds(seconds);
            assert_eq!(mine[name].as_i64(), Some(ns), "{what}: {name}");
        }
        let backwards = mine["backwards"]["packets"].as_u64();
        assert_eq!(backwards == Some(0), ordered == "True", "{what}");
    }
}

/// Columns of the CSV by name, empty ones too.
fn columns(csv: &str, names: &[&str]) -> Vec<Vec<String>> {
    let mut lines = csv.lines();
    let heads: Vec<&str> = lines.next().expect("headings").split(',').collect();
    let at = |name: &&str| heads.iter().position(|h| h == name).expect("a column");
    let at: Vec<usize> = names.iter().map(at).collect();
    let row = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        at.iter().map(|i| cells[*i].to_owned()).collect()
    };
    lines.map(row).collect()
}

#[test]
fn intervals_are_those_of_tshark_with_and_without_a_filter() {
    for (theirs, mine) in [
        ("frame", "bytes > 0"),
        ("tcp", "protocol = tcp"),
        ("udp", "protocol = udp"),
        ("arp", "protocol = arp"),
        ("tcp.port==2049", "port = 2049 and protocol = tcp"),
        ("eth.dst==ff:ff:ff:ff:ff:ff", "cast = broadcast"),
        ("frame.len>100", "bytes > 100"),
    ] {
        for path in captures() {
            let asked = format!("io,stat,1,{theirs}");
            let Some(told) = other("tshark", &["-q", "-z", &asked, "-r"], &path) else {
                return;
            };
            // `|  0 <>  1 |   3388 | 3351472 |`; a long filter makes one more column.
            let rows = told.lines().filter_map(|line| {
                let cells: Vec<&str> = line.split('|').map(str::trim).collect();
                match cells[..] {
                    ["", span, packets, bytes, "", ..] if span.contains("<>") => {
                        Some(vec![packets.to_owned(), bytes.to_owned()])
                    }
                    _ => None,
                }
            });
            let rows: Vec<Vec<String>> = rows.collect();
            let csv = said(with(&["stat", "--format", "csv", "--packets", mine], &path));
            let mut mine_rows = columns(&csv, &["packets", "bytes"]);
            // Behind the last packet that passes there are no rows.
            let nothing = vec!["0".to_owned(), "0".to_owned()];
            mine_rows.resize(rows.len().max(mine_rows.len()), nothing);
            assert_eq!(mine_rows, rows, "{}: {mine}", path.display());
        }
    }
}

#[test]
fn sizes_are_those_of_tcpstat() {
    /// tcpstat does not count the header of the link.
    const ETHERNET: u64 = 14;
    // It does not read several interfaces.
    let readable = |p: &PathBuf| !p.ends_with("many_interfaces-1.pcapng");
    let timed = TIMED.iter().filter_map(|name| sample(name));
    for path in timed.filter(readable) {
        let form = ["-o", "%n %N %d %m %M\n", "-r"];
        let Some(theirs) = other("tcpstat", &form, &path) else {
            return;
        };
        let csv = said(with(
            &["stat", "--format", "csv", "--interval", "5s"],
            &path,
        ));
        let names = [
            "packets",
            "bytes",
            "size_deviation",
            "size_min_bytes",
            "size_max_bytes",
        ];
        let mine = columns(&csv, &names);
        let theirs: Vec<Vec<f64>> = theirs
            .lines()
            .map(|l| l.split(' ').map(|n| n.parse().expect("a number")).collect())
            .collect();
        let what = path.display();
        assert_eq!(mine.len(), theirs.len(), "{what}");
        for (mine, theirs) in mine.iter().zip(&theirs) {
            let mine: Vec<f64> = mine.iter().map(|n| n.parse().unwrap_or(0.0)).collect();
            let packets = mine[0];
            let header = if packets > 0.0 { ETHERNET as f64 } else { 0.0 };
            // Big-endian files of this kind are of a link without a header.
            let header = if what.to_string().contains("big_endian") {
                0.0
            } else {
                header
            };
            let mine = [
                packets,
                mine[1] - packets * header,
                mine[2],
                mine[3] - header,
                mine[4] - header,
            ];
            for (a, b) in mine.iter().zip(theirs) {
                assert!((a - b).abs() < 0.011, "{what}: {mine:?} {theirs:?}");
            }
        }
    }
}

#[test]
fn intervals_add_up_to_the_calls() {
    for path in packed() {
        let calls = said(with(&["calls"], &path)).lines().count() - 1;
        let csv = said(with(
            &["stat", "--format", "csv", "--interval", "100ms"],
            &path,
        ));
        let sum: usize = columns(&csv, &["calls", "half_calls"])
            .iter()
            .flatten()
            .map(|n| n.parse::<usize>().expect("a count"))
            .sum();
        assert_eq!(sum, calls, "{}", path.display());
        let reads = said(with(&["calls", "--where", "op = READ"], &path));
        let csv = said(with(
            &["stat", "--format", "csv", "--where", "op = READ"],
            &path,
        ));
        let sum: usize = columns(&csv, &["calls", "half_calls"])
            .iter()
            .flatten()
            .map(|n| n.parse::<usize>().expect("a count"))
            .sum();
        assert_eq!(sum, reads.lines().count() - 1, "{}", path.display());
    }
}

/// Codes of what limits a capture.
fn limits(info: &Value) -> Vec<String> {
    let limits = info["limits"].as_array().expect("limits").iter();
    limits
        .map(|l| l["code"].as_str().expect("a code").to_owned())
        .collect()
}

#[test]
fn what_limits_a_capture_is_told() {
    for path in packed() {
        let info = answer("info", [&path]);
        assert_ne!(info["worth"], "poor", "{}", path.display());
    }
    let cases = [
        ("l2/arp-storm.pcap", "poor", "nothing-to-judge"),
        ("nfs/eth-ipv4-tcp-nfsv41.pcap", "limited", "no-handshakes"),
        ("nfs/nfs_bad_stalls.cap", "limited", "packets-missing"),
        ("nfs/nfs_bad_stalls.cap", "limited", "packets-cut"),
        ("tcp/double-vision.pcap", "poor", "nothing-to-judge"),
    ];
    for (name, worth, code) in cases {
        if let Some(path) = sample(name) {
            let info = answer("info", [&path]);
            assert_eq!(info["worth"], worth, "{name}: {}", info["sentence"]);
            let limits = limits(&info);
            assert!(limits.iter().any(|l| l == code), "{name}: {limits:?}");
        }
    }
}

/// Findings by code.
fn findings(path: &Path) -> Vec<Value> {
    let diagnosis = answer("diagnose", [&path]);
    // What ARP says has no cost and decides no side.
    assert!(diagnosis["verdict"]["cause"].is_null());
    diagnosis["findings"].as_array().expect("findings").clone()
}

fn found<'a>(findings: &'a [Value], code: &str) -> Option<&'a Value> {
    findings.iter().find(|f| f["code"] == code)
}

#[test]
fn an_address_that_two_hosts_hold_is_found() {
    // Frames 1, 5 and 6 say that 192.168.6.1 is at bc:d1:77:09:14:15, at 00:0c:29:f1:1a:95, and at the
    // first again; so it is with 192.168.6.113 in 3, 4 and 8.
    if let Some(path) = sample("l2/arp-spoof-v2.pcap") {
        let findings = findings(&path);
        let f = found(&findings, "duplicate-address").expect("the finding");
        assert_eq!(f["facts"]["addresses"], 2);
        assert!(f["cost_ns"].is_null());
        assert_eq!(f["side"], "network");
    }
    for path in [
        "l2/arp-storm.pcap",
        "l2/l2-loop.pcap",
        "l2/arp_gratuitous.pcapng",
        "l2/dhcp-nak-decline-arp-conflict.pcapng",
        "formats/zeek-linuxsll-arp.pcap",
    ]
    .into_iter()
    .filter_map(sample)
    {
        let findings = findings(&path);
        assert!(found(&findings, "duplicate-address").is_none(), "{path:?}");
    }
}

#[test]
fn hosts_that_ask_for_very_many_addresses_are_found() {
    // tshark counts 622 questions of 00:07:0d:af:f4:54 for 303 addresses, and 2,524 for one.
    for (name, questions, targets) in [
        ("l2/arp-storm.pcap", 622, 303),
        ("l2/220703_arp-storm.pcapng", 622, 303),
        ("l2/l2-loop.pcap", 2_524, 1),
        ("l2/l2-loop-2.pcap", 2_908, 1),
    ] {
        if let Some(path) = sample(name) {
            let findings = findings(&path);
            let f = found(&findings, "arp-storm").expect("the finding");
            assert_eq!(f["facts"]["questions"], questions, "{name}");
            assert_eq!(f["facts"]["targets"], targets, "{name}");
        }
    }
    // Its server asks for 75 addresses, 31 within ten seconds at most.
    for path in [
        "nfs/eth-ipv4-tcp-nfsv4-incorrect_mount.pcap",
        "l2/arp-spoof-v2.pcap",
        "formats/zeek-linuxsll-arp.pcap",
    ]
    .into_iter()
    .filter_map(sample)
    {
        assert!(found(&findings(&path), "arp-storm").is_none(), "{path:?}");
    }
}

/// 400 datagrams on a loopback of its own, of which slowside and tcpdump capture what a filter says; Ctrl-C
/// ends both.
const BESIDE_TCPDUMP: &str = r#"
set -e
cd "$FOLDER"
ip link set lo up
tcpdump -i lo -B 65536 -U --time-stamp-precision=nano -w file.pcap 'udp dst portrange 5-9' 2>tcpdump.txt &
tcpdump=$!
"$SLOWSIDE" stat -i lo --filter 'udp dst portrange 5-9' --interval 100ms --format csv >live.csv &
live=$!
while [ "$(grep -c ' 0003 ' /proc/net/packet)" -lt 2 ]; do kill -0 $tcpdump; kill -0 $live; sleep 0.05; done
python3 -c '
import socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for n in range(400):
    s.sendto(bytes(n), ("127.0.0.1", n % 10 + 1))
    time.sleep(0.001)'
sleep 1
kill -INT $live $tcpdump
wait $live
wait $tcpdump
"$SLOWSIDE" stat --interval 100ms --format csv file.pcap >file.csv
"#;

#[test]
#[allow(clippy::print_stderr, reason = "says that nothing was tested")]
fn an_interface_has_the_figures_of_tcpdumps_file_beside_it() {
    let may = Command::new("unshare").args(["-n", "true"]).status();
    let tcpdump = Command::new("tcpdump").arg("--version").output();
    if !may.is_ok_and(|s| s.success()) || tcpdump.is_err() {
        eprintln!("left out: needs tcpdump, and the right to make network namespaces");
        return;
    }
    let folder = folder("beside-tcpdump");
    let out = Command::new("unshare")
        .args(["-n", "sh", "-c", BESIDE_TCPDUMP])
        .env("FOLDER", &folder)
        .env("SLOWSIDE", SLOWSIDE)
        .output()
        .expect("starts");
    assert!(
        out.status.success(),
        "{}",
        String::from_utf8_lossy(&out.stderr)
    );
    let read = |name: &str| fs::read_to_string(folder.join(name)).expect("written");
    let live = read("live.csv");
    assert_eq!(live, read("file.csv"));
    let packets = columns(&live, &["packets"]).concat();
    let sum: u64 = packets
        .iter()
        .map(|n| n.parse::<u64>().expect("a number"))
        .sum();
    assert_eq!(sum, 200);
}

#[test]
fn a_filter_that_is_not_supported_is_refused_with_its_column() {
    let out = slowside(["stat", "-i", "lo", "--filter", "tcp[13] & 2 != 0"]);
    let said = String::from_utf8_lossy(&out.stderr);
    assert_eq!(out.status.code(), Some(2), "{said}");
    assert!(
        said.contains("column 4: '[': comparisons of bytes are not supported"),
        "{said}"
    );
}
