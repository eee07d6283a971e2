//! Captures from real interfaces: the loopback of the machine and, in network namespaces of their own, pairs
//! of virtual Ethernets, VLANs and tunnels. Where that is not allowed the tests say so and are left out; with
//! `CI` set that is a failure.

#![cfg(target_os = "linux")]

use capture::{Capture, CaptureSummary};
use interface::{Error, Interface, Options};
use model::Batch;
use std::net::UdpSocket;
use std::process::Command;
use std::thread;
use std::time::Duration;

/// Opens, unless it is not allowed here.
fn open(options: &Options) -> Option<Interface> {
    match Interface::open(options) {
        Ok(interface) => Some(interface),
        Err(e @ Error::NotAllowed { .. }) => {
            assert!(std::env::var_os("CI").is_none(), "{e}");
            eprintln!("left out: {e}");
            None
        }
        Err(e) => panic!("{e}"),
    }
}

struct Seen {
    link_type: u16,
    time: i64,
    length: u32,
    bytes: Vec<u8>,
}

/// Captures while `during` runs, and a little longer.
fn capture(
    interface: Interface,
    during: impl FnOnce(),
) -> (Vec<Seen>, CaptureSummary, Vec<String>) {
    let stop = interface.stopper();
    let reader = thread::spawn(move || {
        let mut capture = Capture::from_reader("interface", Box::new(interface)).expect("pcapng");
        let mut batch = Batch::default();
        let mut seen = Vec::new();
        while capture.next_batch(&mut batch).expect("goes on") {
            for packet in &batch.packets {
                let start = packet.start as usize;
                seen.push(Seen {
                    link_type: packet.link_type.0,
                    time: packet.time.0,
                    length: packet.length,
                    bytes: batch.bytes[start..start + packet.captured as usize].to_vec(),
                });
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
    thread::sleep(Duration::from_millis(50));
    stop.stop();
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
        assert!(seen.is_sorted_by_key(|p| p.time));
        assert_eq!(summary.dropped_by_os, Some(0));
        assert_eq!(problems, Vec::<String>::new());
    }
}
