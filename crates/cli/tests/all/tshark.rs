//! What tshark and slowside both say of a TCP connection, held against each other: on the captures of
//! `tests/lab`, and on the public ones where they are at hand (`../shared/samples/tcp`).
//!
//! Compared are the handshake's round trip, the window scale, closed windows, the most bytes in flight,
//! how many segments there are of each size, and what explicit congestion notification says; `net`
//! compares round trips and filled windows packet by packet. Where a capture lost packets, holds copies
//! or saw something sent again the two count by
//! other rules: tshark takes copies for retransmissions and what a capture lost for loss, and its bytes
//! in flight begin anew after each. Those connections are compared in what the rules leave alone.

use crate::kit::{file, has_known_tshark, nanoseconds, root, sample, slowside, with};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Where they differ on purpose: the capture, what, and the rule.
const ON_PURPOSE: [(&str, &str, &str); 5] = [
    (
        "tcp_handshake_synthetic.pcap",
        "handshake_ns",
        "frame 29: for tshark any packet behind the SYN/ACK ends the handshake, also the server's own",
    ),
    (
        "tcp_handshake_synthetic.pcap",
        "flight_max_bytes",
        "frame 29: the server's data leaves before its SYN was acknowledged, which tshark counts as a byte",
    ),
    (
        "zeek-payload-synack.pcap",
        "flight_max_bytes",
        "data in a SYN/ACK belongs to the handshake, not to what the window and the path hold",
    ),
    (
        "zeek-tcp-fast-open.pcap",
        "flight_max_bytes",
        "data in a SYN (RFC 7413) likewise",
    ),
    (
        "ftp-crack.pcap",
        "window_closed",
        "frame 11428: the window of a side that is closed says nothing of a receiver",
    ),
];

/// What tshark says of a direction of a stream.
#[derive(Default, Debug)]
struct Way {
    flight: u64,
    zero_windows: u64,
    packets: u64,
    /// Segments with data, by [`SIZES`].
    sizes: [u64; 6],
    /// Packets that a router may mark and that one did, that say so, and that answer it.
    capable: u64,
    marked: u64,
    echoed: u64,
    reduced: u64,
    /// What its SYN said: an exponent, or no such option.
    window_scale: Option<Option<i64>>,
}

/// The largest segments of each size but the last, and the names of all.
const SIZES: [u64; 5] = [64, 256, 512, 1_460, 8_960];
const SIZE_NAMES: [&str; 6] = [
    "up_to_64_bytes",
    "up_to_256_bytes",
    "up_to_512_bytes",
    "up_to_1460_bytes",
    "up_to_8960_bytes",
    "larger",
];

/// What tshark says of a stream.
#[derive(Default, Debug)]
struct Stream {
    initial_rtt_ns: Option<i64>,
    flagged: bool,
    reset: bool,
    /// By who sends.
    ways: BTreeMap<String, Way>,
}

/// By the stream's first sender and its peer, as `address:port`; streams that took over the ports of
/// another are left out.
fn tshark(path: &Path) -> BTreeMap<(String, String), Stream> {
    let fields = [
        "tcp.stream",
        "ip.src",
        "ipv6.src",
        "tcp.srcport",
        "ip.dst",
        "ipv6.dst",
        "tcp.dstport",
        "tcp.analysis.initial_rtt",
        "tcp.analysis.bytes_in_flight",
        "tcp.analysis.zero_window",
        "tcp.analysis.retransmission",
        "tcp.analysis.lost_segment",
        "tcp.analysis.ack_lost_segment",
        "tcp.analysis.out_of_order",
        "tcp.analysis.duplicate_ack",
        "tcp.analysis.keep_alive",
        "tcp.analysis.zero_window_probe",
        "tcp.flags.reset",
        "tcp.len",
        "tcp.flags.syn",
        "tcp.flags.ece",
        "tcp.flags.cwr",
        "ip.dsfield.ecn",
        "ipv6.tclass.ecn",
        "tcp.options.wscale.shift",
    ];
    let output = Command::new("tshark")
        .args(["-n", "-r"])
        .arg(path)
        .args([
            "-Y",
            "tcp && !icmp && !icmpv6",
            "-T",
            "fields",
            "-E",
            "occurrence=f",
        ])
        .args(fields.iter().flat_map(|f| ["-e", f]))
        .stderr(Stdio::null())
        .output()
        .expect("tshark");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut streams: BTreeMap<String, ((String, String), Stream)> = BTreeMap::new();
    for line in text.lines() {
        let f: Vec<&str> = line.split('\t').collect();
        let end = |a: usize| match f[a] {
            "" => format!("[{}]:{}", f[a + 1], f[a + 2]),
            v4 => format!("{v4}:{}", f[a + 2]),
        };
        let (source, destination) = (end(1), end(4));
        let (_, stream) = streams
            .entry(f[0].to_owned())
            .or_insert_with(|| ((source.clone(), destination), Stream::default()));
        if stream.initial_rtt_ns.is_none() && !f[7].is_empty() {
            stream.initial_rtt_ns = Some(nanoseconds(f[7]));
        }
        let way = stream.ways.entry(source).or_default();
        way.flight = way.flight.max(f[8].parse().unwrap_or(0));
        way.zero_windows += u64::from(!f[9].is_empty());
        way.packets += 1;
        let payload: u64 = f[18].parse().unwrap_or(0);
        if payload > 0 {
            way.sizes[SIZES.iter().filter(|&&up_to| payload > up_to).count()] += 1;
        }
        let is = |field: usize| matches!(f[field], "1" | "True");
        let ecn = if f[22].is_empty() { f[23] } else { f[22] };
        way.capable += u64::from(matches!(ecn, "1" | "2" | "3"));
        way.marked += u64::from(ecn == "3");
        way.echoed += u64::from(is(20) && !is(19));
        way.reduced += u64::from(is(21) && !is(19));
        stream.flagged |= f[10..17].iter().any(|flag| !flag.is_empty());
        stream.reset |= is(17);
        if is(19) {
            way.window_scale = Some(f[24].parse().ok());
        }
    }
    let mut by_ends: BTreeMap<(String, String), Option<Stream>> = BTreeMap::new();
    for (ends, stream) in streams.into_values() {
        by_ends
            .entry(ends)
            .and_modify(|s| *s = None)
            .or_insert(Some(stream));
    }
    by_ends
        .into_iter()
        .filter_map(|(ends, s)| Some((ends, s?)))
        .collect()
}

fn conns(path: &Path) -> Vec<Value> {
    let output = slowside(with(&["conns", "--format=json"], path));
    let Ok(value) = serde_json::from_slice::<Value>(&output.stdout) else {
        return Vec::new();
    };
    value["connections"].as_array().cloned().unwrap_or_default()
}

/// What was compared, by rule, and what differed.
#[derive(Default)]
struct Tally {
    compared: BTreeMap<&'static str, usize>,
    misses: Vec<String>,
}

impl Tally {
    fn hold(&mut self, rule: &'static str, what: &str, ours: impl Into<Option<i64>>, theirs: i64) {
        *self.compared.entry(rule).or_default() += 1;
        let ours = ours.into();
        let on_purpose =
            |(file, field, _): &(&str, &str, &str)| what.contains(file) && *field == rule;
        if ours != Some(theirs) && !ON_PURPOSE.iter().any(on_purpose) {
            self.misses
                .push(format!("{what}: {rule} {ours:?}, tshark says {theirs}"));
        }
    }
}

fn compare(path: &Path, tally: &mut Tally) {
    let streams = tshark(path);
    let mut seen: BTreeMap<(String, String), Vec<Value>> = BTreeMap::new();
    for c in conns(path) {
        let end = |key: &str| c[key].as_str().expect("an endpoint").to_owned();
        seen.entry((end("client"), end("server")))
            .or_default()
            .push(c.clone());
    }
    for ((a, b), stream) in streams {
        let twin = seen
            .get(&(a.clone(), b.clone()))
            .or_else(|| seen.get(&(b.clone(), a.clone())));
        let Some([c]) = twin.map(Vec::as_slice) else {
            continue;
        };
        let what = format!("{} {a} {b}", path.display());
        let h = &c["handshake"];
        let clean = h["syn_retries"] == 0 && h["synack_retries"] == 0 && h["seen"] == true;
        let halves = h["syn_to_synack_ns"]
            .as_i64()
            .zip(h["synack_to_ack_ns"].as_i64());
        let copies: u64 = ["client_to_server", "server_to_client"]
            .map(|d| {
                c["directions"][d]["duplicate_packets"]
                    .as_u64()
                    .unwrap_or(0)
            })
            .iter()
            .sum();
        if let (true, 0, Some((out, back)), Some(theirs)) =
            (clean, copies, halves, stream.initial_rtt_ns)
        {
            tally.hold("handshake_ns", &what, out + back, theirs);
        }
        for (direction, sender, receiver) in [
            ("client_to_server", "client", "server"),
            ("server_to_client", "server", "client"),
        ] {
            let r = &c["directions"][direction];
            let name = |side: &str| c[side].as_str().expect("an endpoint");
            let way = |end: &str| stream.ways.get(end);
            if copies == 0
                && let Some(acks) = way(name(receiver))
            {
                // tshark flags every packet of a closed window, slowside counts how often it closed.
                let theirs = i64::from(acks.zero_windows > 0);
                let ours = r["zero_windows"].as_i64().map(i64::signum);
                tally.hold("window_closed", &what, ours, theirs);
            }
            if let (Some(Some(own)), Some(Some(scale))) = (
                way(name(sender)).map(|w| w.window_scale),
                way(name(receiver)).map(|w| w.window_scale),
            ) {
                // RFC 7323 section 2.2: only where both sides have it.
                let theirs = own.and(scale).unwrap_or(0);
                tally.hold("window_scale", &what, r["window_scale"].as_i64(), theirs);
            }
            let packets = |side: &str| way(name(side)).map_or(0, |w| w.packets);
            let counted = |direction: &str| c["directions"][direction]["packets"].as_u64();
            let same_packets = counted("client_to_server") == Some(packets("client"))
                && counted("server_to_client") == Some(packets("server"));
            if same_packets {
                let data = way(name(sender));
                for (i, size) in SIZE_NAMES.into_iter().enumerate() {
                    let theirs = data.map_or(0, |w| w.sizes[i]) as i64;
                    tally.hold("segments", &what, r["segments"][size].as_i64(), theirs);
                }
                let acks = way(name(receiver));
                // Where the sides did not agree, the flags have no meaning.
                let agreed = r["ecn"]["negotiated"] != false;
                for (key, theirs) in [
                    ("capable_packets", data.map_or(0, |w| w.capable)),
                    ("ce_packets", data.map_or(0, |w| w.marked)),
                    ("ece_packets", acks.map_or(0, |w| w.echoed)),
                    ("cwr_packets", data.map_or(0, |w| w.reduced)),
                ] {
                    if agreed || !["ece_packets", "cwr_packets"].contains(&key) {
                        tally.hold("ecn", &what, r["ecn"][key].as_i64(), theirs as i64);
                    }
                }
            }
            // What follows a reset, a stream seen from its middle on and one side alone are not under way
            // for both; nor does slowside count the byte that a SYN stands for.
            let carried = r["payload_bytes"].as_u64() > Some(0);
            let both = way(name(sender)).is_some() && way(name(receiver)).is_some();
            if !stream.flagged
                && !stream.reset
                && (clean && carried && both)
                && let Some(data) = way(name(sender))
            {
                tally.hold(
                    "flight_max_bytes",
                    &what,
                    r["flight_max_bytes"].as_i64(),
                    data.flight as i64,
                );
            }
        }
    }
}

/// Unpacked where cargo lets tests write.
fn unpacked(path: &Path) -> PathBuf {
    let name = path
        .components()
        .rev()
        .take(2)
        .map(|c| c.as_os_str().to_string_lossy().into_owned());
    let name: Vec<String> = name.collect();
    let to = file("tshark", &format!("{}.pcap", name.join("-")), &[]);
    let done = Command::new("zstd")
        .args(["-q", "-d", "-f"])
        .arg(path)
        .arg("-o")
        .arg(&to)
        .status();
    assert!(done.is_ok_and(|s| s.success()), "zstd is needed here");
    to
}

#[test]
fn captures_of_the_lab_say_the_same_as_to_tshark() {
    if !has_known_tshark() {
        return;
    }
    let lab = root().join("tests/lab");
    let mut tally = Tally::default();
    for case in std::fs::read_dir(lab).expect("the lab").flatten() {
        for side in ["client", "server"] {
            let path = case.path().join(format!("{side}.pcap.zst"));
            if path.exists() {
                compare(&unpacked(&path), &mut tally);
            }
        }
    }
    assert!(tally.misses.is_empty(), "{}", tally.misses.join("\n"));
    assert!(
        tally.compared.values().all(|n| *n >= 20),
        "{:?}",
        tally.compared
    );
}

#[test]
fn public_captures_say_the_same_as_to_tshark() {
    let Some(samples) = sample("tcp") else { return };
    if !has_known_tshark() {
        return;
    }
    let mut tally = Tally::default();
    for file in std::fs::read_dir(samples).expect("the samples").flatten() {
        compare(&file.path(), &mut tally);
    }
    assert!(
        tally.misses.is_empty(),
        "{:?}\n{}",
        tally.compared,
        tally.misses.join("\n")
    );
}
