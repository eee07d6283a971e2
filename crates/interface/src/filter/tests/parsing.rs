//! Expressions into shapes; refusals with their columns; anything without a panic.

use super::super::{Expression, Layout, Refused};
use super::machine::{Packet, run};
use proptest::prelude::*;

fn refused(text: &str) -> (usize, String) {
    match text.parse::<Expression>() {
        Err(Refused { column, what }) => (column, what),
        Ok(_) => panic!("{text} is taken"),
    }
}

#[test]
fn what_is_not_supported_is_refused_with_its_column_and_what_is() {
    for (text, column, says) in [
        (
            "tcp[13] & 2 != 0",
            4,
            "comparisons of bytes are not supported; supported are [src|dst] host",
        ),
        (
            "tcp and ether host 1:2:3:4:5:6",
            9,
            "\"ether\" is not supported; supported are",
        ),
        ("host db1", 6, "names are not looked up: getent hosts db1"),
        ("host 10.0.0.0/8", 6, "say net 10.0.0.0/8"),
        (
            "port nfs",
            6,
            "\"nfs\" is no port; ports are 0 to 65535, by number",
        ),
        ("port 65536", 6, "is no port"),
        ("portrange 1", 11, "FIRST-LAST"),
        (
            "net 10.1.0.0/8",
            5,
            "bits are set that are not of the network",
        ),
        ("net 10.0.0.0/33", 5, "at most 32 bits"),
        ("net fe80::1/16", 5, "bits are set"),
        ("ip6 host 10.0.0.1", 10, "ip6 has no such address"),
        ("arp host ::1", 10, "only ip6 has such an address"),
        ("icmp port 1", 6, "ports are of tcp, udp and sctp"),
        ("tcp host 10.0.0.1", 5, "say tcp and host ADDRESS"),
        ("(port 80", 9, "a ) is missing"),
        ("port 80)", 8, "no ( belongs to this )"),
        ("port 80 port 81", 9, "and or or is missing before \"port\""),
        ("port 80 or", 11, "something is missing here"),
        ("port", 5, "a port is missing"),
        ("10.0.0.1", 1, "\"10.0.0.1\" is not supported"),
        ("tcp or 80", 8, "\"80\" is not supported"),
        ("vlan 4096", 6, "VLANs are 0 to 4095"),
        ("port 80 und 81", 9, "and or or is missing before \"und\""),
        ("port 8ü", 7, "'ü' is not of a filter"),
    ] {
        let (at, what) = refused(text);
        assert_eq!(at, column, "{text}: {what}");
        assert!(what.contains(says), "{text}: {what}");
    }
    let deep = format!("{}port 1", "not ".repeat(200));
    assert!(refused(&deep).1.contains("nested deeper"));
}

#[test]
fn of_packets_without_their_link_header_a_tag_cannot_be_asked() {
    let vlan: Expression = "ip and vlan 7".parse().expect("supported");
    let refused = vlan
        .program(Layout::Network, 100, false)
        .expect_err("refused");
    assert_eq!(refused.column, 8);
}

#[test]
fn the_program_of_no_expression_keeps_what_is_asked_for() {
    let all = Expression::all()
        .program(Layout::Ethernet, 96, false)
        .expect("short");
    assert_eq!(run(&all, &Packet::default()), 96);
    assert_eq!("  ".parse::<Expression>().expect("empty").shape, None);
}

#[test]
fn packets_that_leave_through_the_loopback_are_left_out_and_no_others() {
    let program = Expression::all()
        .program(Layout::Ethernet, 96, true)
        .expect("short");
    for (hardware, kind, kept) in [(772, 4, 0), (772, 0, 96), (1, 4, 96)] {
        let packet = Packet {
            hardware,
            kind,
            ..Packet::default()
        };
        assert_eq!(run(&program, &packet), kept, "{hardware} {kind}");
    }
}

#[test]
fn programs_of_many_alternatives_reach_their_ends() {
    let ports: Vec<_> = (1000..1100).map(|p| format!("port {p}")).collect();
    let many: Expression = ports.join(" or ").parse().expect("supported");
    let program = many.program(Layout::Ethernet, 96, false).expect("fits");
    let mut frame = [0_u8; 60];
    frame[12..15].copy_from_slice(&[8, 0, 0x45]);
    frame[23] = 6;
    for (port, kept) in [(999_u16, 0), (1000, 96), (1050, 96), (1099, 96), (1100, 0)] {
        frame[36..38].copy_from_slice(&port.to_be_bytes());
        let packet = Packet {
            bytes: &frame,
            ..Packet::default()
        };
        assert_eq!(run(&program, &packet), kept, "{port}");
    }
    let too_many: Expression = (0..900)
        .map(|p| format!("port {p}"))
        .collect::<Vec<_>>()
        .join(" or ")
        .parse()
        .expect("supported");
    assert!(too_many.program(Layout::Ethernet, 96, false).is_err());
}

/// Words that expressions are made of, and some that they are not.
const WORDS: [&str; 33] = [
    "host",
    "net",
    "port",
    "portrange",
    "src",
    "dst",
    "tcp",
    "udp",
    "icmp",
    "icmp6",
    "sctp",
    "arp",
    "rarp",
    "ip",
    "ip6",
    "vlan",
    "and",
    "or",
    "not",
    "!",
    "&&",
    "||",
    "(",
    ")",
    "10.0.0.1",
    "10.0.0.0/8",
    "fe80::1",
    "fe80::/16",
    "80",
    "80-90",
    "mask",
    "255.0.0.0",
    "x",
];

proptest! {
    #[test]
    fn no_text_panics(text in "\\PC{0,60}") {
        let _ = text.parse::<Expression>();
    }

    /// What is taken makes a program that ends, on any bytes, in either layout.
    #[test]
    fn no_words_panic_and_programs_end(
        words in prop::collection::vec(prop::sample::select(&WORDS[..]), 0..14),
        bytes in prop::collection::vec(any::<u8>(), 0..80),
        tag in any::<Option<u16>>(),
    ) {
        if let Ok(expression) = words.join(" ").parse::<Expression>() {
            for layout in [Layout::Ethernet, Layout::Network] {
                if let Ok(program) = expression.program(layout, 96, true) {
                    let packet = Packet { bytes: &bytes, tag, ..Packet::default() };
                    prop_assert!([0, 96].contains(&run(&program, &packet)));
                }
            }
        }
    }
}
