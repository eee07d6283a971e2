//! RPC messages for `rpc_tcp`, `rpc_udp` and `programmes`, and bytes that are none for `turns`.

use crate::{words, write};
use testkit::rpc::{call, getattr_call, getattr_reply, read_call, read_reply, reply};
use testkit::rpc::{record, write_call, write_reply};

/// A packet of `targets::rpc_tcp` or `rpc_udp`.
pub fn part(what: u8, bytes: &[u8]) -> Vec<u8> {
    [&[what], &(bytes.len() as u16).to_le_bytes()[..], bytes].concat()
}

pub fn turns() {
    const CLIENT: u8 = 0;
    const SERVER: u8 = 1;
    const OVERLAPS: u8 = 0x80;
    let turn = [part(CLIENT, b"get"), part(SERVER, b"value")].concat();
    let many = turn.repeat(12);
    write("turns", "half-duplex", &many);
    let overlap = [part(CLIENT | OVERLAPS, b"get"), part(SERVER, b"value")].concat();
    write(
        "turns",
        "now-and-then",
        &[&many[..], &overlap, &many].concat(),
    );
    write("turns", "pipelined", &overlap.repeat(12));
    let gap = |d: u8| vec![d | 5 << 1, 30, 0];
    let holes = [
        &many[..],
        &gap(CLIENT),
        &many,
        &turn[..6],
        &gap(SERVER),
        &many,
    ]
    .concat();
    write("turns", "holes", &holes);
}

pub fn streams() {
    const CALL: u8 = 3 << 1;
    const REPLY: u8 = CALL | 1;
    let messages = [
        (CALL, getattr_call(1, b"handle")),
        (REPLY, getattr_reply(1)),
        (CALL, read_call(2, b"handle", 0, 100)),
        (CALL, write_call(3, b"handle", 0, &[7; 200], 2)),
        (CALL, write_call(3, b"handle", 0, &[7; 200], 2)),
        (REPLY, write_reply(3, 200)),
        (REPLY, read_reply(2, &[9; 100], true)),
        (
            CALL,
            call(
                4,
                (100_003, 4),
                1,
                &compound(1, &[(53, 32), (22, 4), (38, 32), (9, 4)]),
            ),
        ),
        (
            REPLY,
            reply(
                4,
                &words(&[0, 0, 2, 53, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 22, 0]),
            ),
        ),
        (REPLY, words(&[5, 1, 1, 0, 2, 3])),
        (CALL, call(6, (100_003, 9), 1, &[])),
        (REPLY, words(&[6, 1, 0, 0, 0, 2, 2, 4])),
        (
            CALL,
            call(7, (0x4000_0001, 1), 1, &words(&[0, 1, 7, 1, 11])),
        ),
        (CALL, call(8, (300_001, 1), 5, &words(&[1, 2]))),
    ];
    let all: Vec<u8> = messages
        .iter()
        .flat_map(|(what, m)| part(*what, m))
        .collect();
    write("rpc_tcp", "records", &all);
    let (mut secured, mut secured_udp) = (Vec::new(), Vec::new());
    for (what, message) in protected() {
        let what = if what == 0 { CALL } else { REPLY };
        secured.extend(part(what, &message));
        secured_udp.extend(part(what & 1, &message));
    }
    write("rpc_tcp", "protected", &secured);
    write("rpc_udp", "protected", &secured_udp);
    // The same stream in small segments, with a hole, a cut, a lost connection and two fragments.
    let bytes: Vec<u8> = messages[..7]
        .iter()
        .filter(|(w, _)| w & 1 == 0)
        .flat_map(|(_, m)| record(m))
        .collect();
    let mut pieces: Vec<u8> = bytes.chunks(37).flat_map(|piece| part(0, piece)).collect();
    write("rpc_tcp", "segments", &pieces);
    pieces.splice(80..80, [5 << 1, 30, 0]);
    pieces.extend(part(6 << 1, &[]));
    pieces.extend(part(CALL, &messages[2].1));
    pieces.extend([&part(2 << 1, &record(&messages[3].1)[..150])[..], &[100, 0]].concat());
    pieces.extend(part(CALL, &messages[0].1));
    write("rpc_tcp", "holes", &pieces);
    let (start, end) = messages[3].1.split_at(60);
    write(
        "rpc_tcp",
        "fragments",
        &[part(4 << 1, start), part(CALL, end)].concat(),
    );
    // A NULL call with AUTH_TLS (7) and its reply with the verifier "STARTTLS", then TLS records.
    let null = words(&[9, 0, 2, 100_003, 4, 0, 7, 0, 0, 0]);
    let mut start = words(&[9, 1, 0, 0, 8]);
    start.extend(b"STARTTLS\0\0\0\0");
    let mut tls = [part(CALL, &null), part(REPLY, &start)].concat();
    for (what, kind) in [
        (0, 22),
        (1, 22),
        (0, 20),
        (0, 23),
        (1, 23),
        (0, 23),
        (1, 23),
        (0, 21),
    ] {
        tls.extend(part(
            what | 0x10,
            &[&[kind, 3, 3, 0, 20][..], &[0xaa; 20]].concat(),
        ));
    }
    write("rpc_tcp", "tls", &tls);
    let joined: Vec<u8> = (0..12)
        .flat_map(|i| part(i & 1, &[&[23, 3, 3, 0, 9][..], &[0xbb; 9]].concat()))
        .collect();
    write("rpc_tcp", "tls-joined", &joined);

    let datagrams: Vec<u8> = messages
        .iter()
        .flat_map(|(what, m)| part(what & 1, m))
        .collect();
    write("rpc_udp", "messages", &datagrams);
    let cut: Vec<u8> = messages
        .iter()
        .flat_map(|(what, m)| part(what & 1 | 2, m))
        .collect();
    write("rpc_udp", "cut", &cut);
}

/// Calls (0) with credentials of RPCSEC_GSS (RFC 2203) for each of its services, and replies (1) that
/// refuse them for each reason (RFC 5531 section 9).
fn protected() -> Vec<(u8, Vec<u8>)> {
    let mut messages = Vec::new();
    for service in 0..4 {
        let xid = 50 + service;
        let mut call = words(&[xid, 0, 2, 100_003, 3, 1, 6]);
        let credentials = words(&[1, 0, 9, service, 4, 0xabcd]);
        call.extend(testkit::rpc::opaque(&credentials));
        call.extend(words(&[6, 4, 0x1234, 8, 9, 4, 0xfeed]));
        messages.push((0, call));
        messages.push((1, words(&[xid, 1, 0, 6, 4, 0x1234, 0, 8, 9, 0])));
    }
    for reason in 1..15 {
        messages.push((0, getattr_call(60 + reason, b"handle")));
        messages.push((1, words(&[60 + reason, 1, 1, 1, reason])));
    }
    messages
}

/// A compound of these operations, each with so many bytes of arguments, all zero.
fn compound(minor: u32, operations: &[(u32, usize)]) -> Vec<u8> {
    let mut bytes = words(&[0, minor, operations.len() as u32]);
    for &(operation, arguments) in operations {
        bytes.extend(words(&[operation]));
        bytes.resize(bytes.len() + arguments, 0);
    }
    bytes
}

pub fn programmes() {
    let input = |which: u8, version: u8, procedure: u8, call: &[u8], reply: &[u8]| {
        let head = [which, version, procedure, 40];
        let lengths = [call.len(), 0, reply.len()]
            .map(|n| (n as u16).to_le_bytes())
            .concat();
        [&head[..], &lengths, call, reply].concat()
    };
    // Every procedure with small numbers for arguments and results.
    let call = [
        testkit::rpc::opaque(b"handle00"),
        words(&[0, 1, 2, 3, 4, 0, 0, 1, 0, 0]),
    ]
    .concat();
    let results = words(&[0, 1, 0, 1, 2, 3, 0, 0, 1, 4]);
    for (which, versions, procedures) in [
        (0, 2..4, 22),
        (1, 2..4, 5),
        (2, 1..4, 6),
        (3, 2..5, 13),
        (4, 1..5, 24),
        (5, 1..2, 7),
        (6, 1..3, 5),
    ] {
        for version in versions {
            let all = (0..procedures).flat_map(|p| input(which, version, p, &call, &results));
            write(
                "programmes",
                &format!("{which}-{version}"),
                &all.collect::<Vec<u8>>(),
            );
        }
    }
    // Every operation of NFSv4 and of its callbacks, behind a SEQUENCE.
    for (which, sequence, first, last) in [(0, 53, 3, 40), (0, 53, 40, 77), (7, 11, 3, 16)] {
        let mut all = Vec::new();
        for operation in first..last {
            let minor = if operation < 40 { 0 } else { 2 };
            let mut call = compound(minor, &[(sequence, 32), (operation, 100)]);
            if which == 7 {
                call.splice(8..8, [0; 4]);
            }
            let mut reply = words(&[0, 0, 2, sequence, 0]);
            reply.extend([0; 36]);
            reply.extend(words(&[operation, 0]));
            reply.extend([0; 60]);
            all.extend(input(which, 4, 1, &call, &reply));
        }
        write("programmes", &format!("{which}-4-{first}"), &all);
    }
}
