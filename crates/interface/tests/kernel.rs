//! Captures from real interfaces: the loopback of the machine and, in network namespaces of their own, pairs
//! of virtual Ethernets and tunnels. Where that is not allowed the tests say so and are left out.

#![cfg(target_os = "linux")]
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::indexing_slicing,
    reason = "tests fail by panicking, and say what was left out"
)]

use capture::{Capture, CaptureSummary};
use interface::{Error, Interface, Options};
use model::{Batch, Packet};
use std::io::{Read, Write};
use std::net::UdpSocket;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

/// Opens, unless it is not allowed here.
fn open(options: &Options) -> Option<Interface> {
    match Interface::open(options) {
        Ok(interface) => Some(interface),
        Err(e @ Error::NotAllowed { .. }) => {
            eprintln!("left out: {e}");
            None
        }
        Err(e) => panic!("{e}"),
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Seen {
    link_type: u16,
    time: i64,
    length: u32,
    bytes: Vec<u8>,
}

fn seen_of(batch: &Batch, packet: &Packet) -> Seen {
    Seen {
        link_type: packet.link_type.0,
        time: packet.time.0,
        length: packet.length,
        bytes: batch.bytes_of(packet).to_vec(),
    }
}

/// Captures while `during` runs, and a little longer.
fn capture(
    interface: Interface,
    during: impl FnOnce(),
) -> (Vec<Seen>, CaptureSummary, Vec<String>) {
    let stop = interface.stopper();
    capture_to_end(interface, || {
        during();
        thread::sleep(Duration::from_millis(50));
        stop.stop();
    })
}

/// Captures until the interface ends by itself.
fn capture_to_end(
    interface: Interface,
    during: impl FnOnce(),
) -> (Vec<Seen>, CaptureSummary, Vec<String>) {
    let reader = thread::spawn(move || {
        let mut capture = Capture::from_reader("interface", Box::new(interface)).expect("pcapng");
        let mut batch = Batch::default();
        let mut seen = Vec::new();
        while capture.next_batch(&mut batch).expect("goes on") {
            for packet in &batch.packets {
                seen.push(seen_of(&batch, packet));
            }
        }
        let problems = capture
            .problems()
            .iter()
            .map(|p| format!("{p:?}"))
            .collect();
        (seen, capture.summary(), problems)
    });
    during();
    reader.join().expect("reads")
}

/// Datagrams on the loopback with `n` as their contents.
fn datagrams(count: u32) -> (u16, impl FnOnce()) {
    let to = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let port = to.local_addr().expect("bound").port();
    let send = move || {
        let from = UdpSocket::bind("127.0.0.1:0").expect("a port");
        for n in 0..count {
            from.send_to(&n.to_be_bytes(), to.local_addr().expect("bound"))
                .expect("sent");
        }
    };
    (port, send)
}

fn options(name: &str, filter: &str) -> Options {
    Options {
        filter: Some(filter.parse().expect("supported")),
        ..Options::of(name)
    }
}

#[test]
fn each_packet_of_the_loopback_is_seen_once_in_order_with_its_bytes() {
    for (name, link_type, header) in [("lo", 1, 14), ("any", 276, 20)] {
        let (port, send) = datagrams(1000);
        let Some(interface) = open(&options(name, &format!("udp dst port {port}"))) else {
            return;
        };
        let (seen, summary, problems) = capture(interface, send);
        let numbers: Vec<_> = seen
            .iter()
            .map(|p| u32::from_be_bytes(*p.bytes.last_chunk().expect("four bytes")))
            .collect();
        assert_eq!(numbers, (0..1000).collect::<Vec<_>>(), "{name}");
        assert!(
            seen.iter()
                .all(|p| p.link_type == link_type && p.length == header + 32),
            "{name}"
        );
        // The kernel stamps on the processor that sends, which may be another one from packet to packet: their clocks
        // are a little apart.
        let back_ns = seen.windows(2).map(|two| two[0].time - two[1].time);
        assert!(back_ns.max() < Some(1_000_000), "{name}");
        assert_eq!(summary.dropped_by_os, Some(0));
        assert_eq!(problems, Vec::<String>::new());
    }
}

/// Whether this process is the one that was started again in a network namespace of its own, with a pair
/// of virtual Ethernets `va` and `vb`; otherwise starts it for the test of this name.
fn in_namespace(test: &str) -> bool {
    const INSIDE: &str = "SLOWSIDE_INSIDE_NAMESPACE";
    if std::env::var_os(INSIDE).is_some() {
        let set_up = "ip link set lo up && ip link add name va type veth peer name vb && \
             sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.va.disable_ipv6=1 \
             net.ipv6.conf.vb.disable_ipv6=1 2>/dev/null; \
             ip link set va up && ip link set vb up";
        assert!(sh(set_up), "a pair of virtual Ethernets");
        return true;
    }
    let may = Command::new("unshare").args(["-n", "ip", "link"]).output();
    if !may.is_ok_and(|out| out.status.success()) {
        eprintln!("left out: network namespaces are not allowed");
        return false;
    }
    let own = std::env::current_exe().expect("a path");
    let out = Command::new("unshare")
        .arg("-n")
        .arg(own)
        .args(["--exact", test, "--nocapture"])
        .env(INSIDE, "1")
        .output()
        .expect("starts");
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success() && !said.contains("left out"), "{said}");
    false
}

fn sh(line: &str) -> bool {
    let status = Command::new("sh").args(["-c", line]).status();
    status.is_ok_and(|status| status.success())
}

/// Runs a Python program that has `send(interface, frame)`.
fn python(program: &str) {
    // To close a packet socket takes the kernel long.
    let head = "import socket, struct, time, os, fcntl\n\
        sockets = {}\n\
        def send(interface, frame):\n    \
            if interface not in sockets:\n        \
                sockets[interface] = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)\n        \
                sockets[interface].bind((interface, 0))\n    \
            sockets[interface].send(frame)\n";
    let mut child = Command::new("python3")
        .arg("-")
        .stdin(Stdio::piped())
        .spawn()
        .expect("python3");
    let mut into = child.stdin.take().expect("piped");
    into.write_all(format!("{head}{program}").as_bytes())
        .expect("taken");
    drop(into);
    assert!(child.wait().expect("ends").success());
}

/// UDP to ports 53 and 2049 without a tag, in VLAN 7, in VLAN 8, and in VLAN 7 of VLAN 8; an ARP; one long.
const FRAMES: &str = r#"
def udp(port, size):
    return struct.pack("!BBHHHBBHIIHHHH", 0x45, 0, 28 + size, 1, 0, 64, 17, 0, 0x0a010001, 0x0a010002,
                       40000, port, 8 + size, 0) + bytes(size)
def frame(tags, kind, packet):
    return b"\x02" * 5 + b"\x0b" + b"\x02" * 5 + b"\x0a" + b"".join(struct.pack("!HH", *t) for t in tags) + struct.pack("!H", kind) + packet
for n in range(20):
    for tags in ([], [(0x8100, 7)], [(0x8100, 0x2008)], [(0x88a8, 8), (0x8100, 7)]):
        for port in (53, 2049):
            send("va", frame(tags, 0x0800, udp(port, n * 60)))
    send("va", frame([], 0x0806, struct.pack("!HHBBH6sI6sI", 1, 0x0800, 6, 4, 1, b"\x02" * 6, 0x0a010001, bytes(6), 0x0a010002)))
"#;

/// tcpdump on the same interface, once it listens, until it has so many packets.
fn tcpdump(name: &str, snaplen: u32, filter: &str, count: usize) -> Child {
    let mut child = Command::new("timeout")
        .args([
            "20",
            "tcpdump",
            "-c",
            &count.to_string(),
            "-i",
            name,
            "-s",
            &snaplen.to_string(),
            "-U",
            "--immediate-mode",
            "-B",
            "65536",
            "--time-stamp-precision=nano",
            "-w",
            "-",
            filter,
        ])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("tcpdump");
    let mut said = child.stderr.take().expect("piped");
    let mut line = [0; 1];
    let mut text = Vec::new();
    while !text.ends_with(b"listening on") && said.read(&mut line).is_ok_and(|n| n > 0) {
        text.extend(line);
    }
    // What it says at its end must not meet a closed pipe.
    thread::spawn(move || said.read_to_end(&mut Vec::new()));
    child
}

fn packets(file: &[u8]) -> Vec<Seen> {
    let mut capture =
        Capture::from_reader("tcpdump", Box::new(std::io::Cursor::new(file.to_vec())))
            .expect("a capture");
    let mut batch = Batch::default();
    let mut seen = Vec::new();
    while capture.next_batch(&mut batch).expect("goes on") {
        seen.extend(batch.packets.iter().map(|packet| seen_of(&batch, packet)));
    }
    seen
}

#[test]
fn frames_are_those_that_tcpdump_writes_beside_it() {
    if !in_namespace("frames_are_those_that_tcpdump_writes_beside_it") {
        return;
    }
    // Frames that come in have lost their outer tag to the kernel, those that leave have it in their bytes.
    for name in ["va", "vb"] {
        for (snaplen, filter, count) in [
            (262_144, "", 180),
            (60, "", 180),
            (262_144, "vlan", 120),
            (262_144, "vlan 7", 40),
            (96, "vlan 8 and udp port 53", 20),
            (262_144, "vlan 8 and vlan 7 and host 10.1.0.1", 40),
            (262_144, "arp host 10.1.0.2", 20),
        ] {
            let other = tcpdump(name, snaplen, filter, count);
            let interface = open(&Options {
                snaplen,
                ..options(name, filter)
            })
            .expect("root");
            let (ours, _, problems) = capture(interface, || python(FRAMES));
            let theirs = packets(&other.wait_with_output().expect("ends").stdout);
            assert_eq!(ours.len(), count, "{name} {filter}");
            assert_eq!(theirs.len(), count, "{name} {filter}");
            for (a, b) in ours.iter().zip(&theirs) {
                assert_eq!(a.length, b.length, "{name} {snaplen} {filter}");
                assert_eq!(a.bytes.len(), a.length.min(snaplen) as usize);
                // tcpdump's rings may hold some bytes less than it was asked for.
                assert!(a.bytes.starts_with(&b.bytes), "{name} {snaplen} {filter}");
                assert!(a.bytes.len() - b.bytes.len() < 8);
            }
            // The kernel stamps each packet once; with more than one listener too.
            assert!(
                ours.iter().zip(&theirs).all(|(a, b)| a.time == b.time),
                "{name} {filter}"
            );
            assert_eq!(problems, Vec::<String>::new());
        }
    }
}

#[test]
fn a_tunnel_without_a_link_header_gives_ip() {
    if !in_namespace("a_tunnel_without_a_link_header_gives_ip") {
        return;
    }
    assert!(sh(
        "ip tuntap add dev t0 mode tun && ip addr add 10.9.0.1/24 dev t0 && ip link set t0 up"
    ));
    let interface = open(&options("t0", "udp port 9 and host 10.9.0.2")).expect("root");
    let (seen, _, _) = capture(interface, || {
        python(
            "tun = os.open('/dev/net/tun', os.O_RDWR)\n\
             fcntl.ioctl(tun, 0x400454ca, struct.pack('16sH', b't0', 0x1001))\n\
             time.sleep(0.1)\n\
             s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n\
             for port in (8, 9, 9): s.sendto(b'hello', ('10.9.0.2', port))\n",
        );
    });
    assert_eq!(seen.len(), 2);
    assert!(
        seen.iter()
            .all(|p| p.link_type == 101 && p.bytes[0] == 0x45 && p.length == 33)
    );
}

#[test]
fn what_the_kernel_drops_is_counted() {
    if !in_namespace("what_the_kernel_drops_is_counted") {
        return;
    }
    let mut interface = open(&Options {
        buffer: 4096,
        ..options("vb", "udp")
    })
    .expect("root");
    let stop = interface.stopper();
    // Nobody reads meanwhile, so that the buffer overflows.
    python(FRAMES);
    stop.stop();
    let mut file = Vec::new();
    interface.read_to_end(&mut file).expect("ends");
    let mut capture =
        Capture::from_reader("vb", Box::new(std::io::Cursor::new(file))).expect("pcapng");
    let mut batch = Batch::default();
    while capture.next_batch(&mut batch).expect("goes on") {}
    let summary = capture.summary();
    assert_eq!(summary.received, Some(120));
    let dropped = summary.dropped_by_os.expect("said");
    assert!(dropped > 0 && summary.packets + dropped == 120, "{dropped}");
}

#[test]
fn an_interface_that_is_down_or_goes_away_is_said() {
    if !in_namespace("an_interface_that_is_down_or_goes_away_is_said") {
        return;
    }
    let interface = open(&Options::of("vb")).expect("root");
    // Down and up again goes on.
    let (seen, _, problems) = capture(interface, || {
        assert!(sh(
            "ip link set vb down; sleep 0.3; ip link set vb up; sleep 0.3"
        ));
        python("send('va', bytes(60))\n");
    });
    assert_eq!((seen.len(), problems), (1, Vec::new()));
    // It goes away: told by itself, and where the capture is ended at the same moment.
    let remove = || assert!(sh("ip link del vb"));
    for ended in [false, true] {
        let interface = open(&Options::of("vb")).expect("root");
        let (_, _, problems) = if ended {
            capture(interface, remove)
        } else {
            let gone = capture_to_end(interface, remove);
            assert!(sh(
                "ip link add name va type veth peer name vb && ip link set vb up"
            ));
            gone
        };
        assert!(
            problems
                .iter()
                .any(|p| p.contains("the interface vb was removed")),
            "{problems:?}"
        );
    }
    assert!(sh("ip link add name va type veth peer name vb"));
    assert!(matches!(
        Interface::open(&Options::of("vb")),
        Err(Error::Down { .. })
    ));
    let there = match Interface::open(&Options::of("nope")) {
        Err(Error::NoSuchInterface { there, .. }) => there,
        other => panic!("{other:?}"),
    };
    assert!(
        there.contains(&"vb".to_owned()) && there.contains(&"any".to_owned()),
        "{there:?}"
    );
}

#[test]
fn a_silent_interface_beats_and_ends_by_itself() {
    let options = Options {
        duration: Some(Duration::from_millis(450)),
        ..options("lo", "udp port 1 and tcp")
    };
    let Some(mut interface) = open(&options) else {
        return;
    };
    let mut file = Vec::new();
    interface.read_to_end(&mut file).expect("ends");
    // Statistics blocks of 52 bytes behind the section's and the interface's.
    let beats = file
        .windows(8)
        .filter(|w| w == &[5, 0, 0, 0, 52, 0, 0, 0])
        .count();
    assert!((2..=6).contains(&beats), "{beats}");
}
