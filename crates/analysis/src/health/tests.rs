//! Notices into facts: what is a change, an error, a hint, and what is none.

use super::*;
use model::{
    Bpdu, Bridge, Cast, ChecksumOf, Checksums, Endpoint, Flooded, IcmpError, IcmpReason, PacketRef,
    SHOWN_CHECKSUMS, SightKind, Tagged, Time, Transport, Tree, limits,
};
use std::net::IpAddr;

fn mark(n: u32, ms: i64) -> Mark {
    Mark {
        time: Time(ms * 1_000_000),
        packet: PacketRef { file: 0, frame: n },
    }
}

fn notice(n: u32, ms: i64, kind: NoticeKind) -> Notice {
    Notice {
        order: n.into(),
        at: mark(n, ms),
        kind,
    }
}

fn of(notices: &[NoticeKind]) -> Health {
    let mut health = Health::default();
    for (n, kind) in notices.iter().enumerate() {
        health.notice(&notice(n as u32 + 1, n as i64 * 1000, *kind));
    }
    health
}

fn bridge(n: u8) -> Bridge {
    Bridge {
        priority: 0x1000 * u16::from(n),
        hardware: [2, 0, 0, 0, 0, n],
    }
}

/// Bridge `by` says that `root` is the root.
fn says(by: u8, root: u8, changing: bool) -> NoticeKind {
    NoticeKind::Bridge(Bpdu {
        vlan: None,
        version: 2,
        tree: Some(Tree {
            root: bridge(root),
            bridge: bridge(by),
            port: 1,
            changing,
            max_age_ns: 20_000_000_000,
            hello_ns: 1_000_000_000,
            forward_delay_ns: 15_000_000_000,
        }),
    })
}

fn roots(notices: &[NoticeKind]) -> Vec<(u8, u8)> {
    let changes = of(notices).bridges.root_changes();
    changes
        .iter()
        .map(|c| (c.old.hardware[5], c.new.hardware[5]))
        .collect()
}

#[test]
fn another_root_is_a_change_and_two_trees_are_none() {
    // One port speaks for another root than before.
    assert_eq!(roots(&[says(3, 1, false), says(3, 2, false)]), [(1, 2)]);
    // Another bridge does, and the first never speaks again.
    let taken = [1, 1, 2, 2, 2].map(|by| says(by, by, false));
    assert_eq!(roots(&taken), [(1, 2)]);
    // There was no time to hear whether it does.
    assert_eq!(roots(&taken[..3]), []);
    // Two links of a mirror, each with its own tree.
    let both = [says(1, 1, false), says(2, 2, false), says(1, 1, false)];
    assert_eq!(roots(&both), []);
    // It only changes its priority.
    let mut lower = says(1, 1, false);
    if let NoticeKind::Bridge(Bpdu { tree: Some(t), .. }) = &mut lower {
        t.root.priority = 0;
    }
    assert_eq!(roots(&[says(1, 1, false), lower]), []);
    // There and back are two.
    let back = [says(3, 1, false), says(3, 2, false), says(3, 1, false)];
    assert_eq!(roots(&back), [(1, 2), (2, 1)]);
}

#[test]
fn what_is_repeated_of_a_change_is_one() {
    let notification = NoticeKind::Bridge(Bpdu {
        vlan: None,
        version: 0,
        tree: None,
    });
    let said = [
        says(1, 1, false),
        notification,
        says(1, 1, true),
        says(1, 1, true),
        says(1, 1, false),
    ];
    let mut health = of(&said);
    let [change] = health.bridges.topology_changes() else {
        panic!("{health:?}");
    };
    assert_eq!(
        (change.first.packet.frame, change.last.packet.frame),
        (2, 4)
    );
    assert_eq!(change.forward_delay_ns, Some(15_000_000_000));
    health.notice(&notice(9, 120_000, says(1, 1, true)));
    assert_eq!(health.bridges.topology_changes().len(), 2);
}

fn sums(right: u64, unfinished: u64, joined: u64, wrong: u64) -> NoticeKind {
    let mut shown = [None; SHOWN_CHECKSUMS];
    for (n, place) in shown.iter_mut().enumerate().take(wrong as usize) {
        *place = Some(mark(n as u32, 0));
    }
    NoticeKind::Checksums(Checksums {
        of: ChecksumOf::Udp,
        source: [10, 0, 0, 1].into(),
        right,
        unfinished,
        joined,
        wrong,
        shown,
    })
}

#[test]
fn damage_is_told_from_cards_and_from_changed_captures() {
    for (right, unfinished, joined, wrong, meaning) in [
        (100, 0, 0, 0, Meaning::Right),
        (100, 0, 0, 1, Meaning::Damaged),
        (10, 0, 0, 1, Meaning::Damaged),
        // Too few that hold to say that most do.
        (9, 0, 0, 1, Meaning::Rewritten),
        (100, 0, 0, 20, Meaning::Rewritten),
        (0, 0, 0, 50, Meaning::Rewritten),
        (0, 500, 0, 0, Meaning::Offload),
        // What a host hands to its card may be of any form.
        (500, 500, 0, 5, Meaning::Offload),
        (500, 0, 40, 0, Meaning::Offload),
        (100, 0, 40, 1, Meaning::Damaged),
    ] {
        let health = of(&[sums(right, unfinished, joined, wrong)]);
        let found: Vec<Meaning> = health.checksums.iter().map(|(.., v)| v.meaning()).collect();
        assert_eq!(found, [meaning], "{right} {unfinished} {joined} {wrong}");
    }
    // Batches add up.
    let health = of(&[sums(50, 0, 0, 2), sums(50, 0, 0, 6)]);
    let (.., v) = health.checksums.iter().next().expect("a sender");
    assert_eq!((v.right, v.wrong, v.shown.len()), (100, 8, SHOWN));
}

#[test]
fn tcp_sends_damaged_packets_again_or_they_were_whole() {
    let tcp = |wrong| match sums(1000, 0, 0, wrong) {
        NoticeKind::Checksums(c) => NoticeKind::Checksums(Checksums {
            of: ChecksumOf::Tcp,
            ..c
        }),
        other => other,
    };
    let meaning = |resent: u64| {
        let mut health = of(&[tcp(3)]);
        let mut c = connection(10, 2, resent);
        c.directions[0].retransmitted_packets = resent;
        health.connection(&c);
        let found = health.checksums.iter().map(|(.., v)| v.meaning());
        found.collect::<Vec<_>>()
    };
    assert_eq!(meaning(3), [Meaning::Damaged]);
    assert_eq!(meaning(2), [Meaning::Rewritten]);
}

fn address(n: u8) -> IpAddr {
    [10, 0, 0, n].into()
}

fn tagged(vlan: u16, from: u8, to: u8, hardware: [u8; 2]) -> NoticeKind {
    NoticeKind::Tagged(Tagged {
        vlans: [Some(vlan), None],
        hosts: [address(from), address(to)],
        hardware: hardware.map(|n| [2, 0, 0, 0, 0, n]),
        routed: false,
    })
}

#[test]
fn a_host_in_two_vlans_is_a_hint_and_a_router_between_them_is_none() {
    let kinds = |notices: &[NoticeKind]| {
        let hints = of(notices).tags.hints();
        hints.iter().map(|h| (h.kind, h.vlans)).collect::<Vec<_>>()
    };
    let several = [tagged(10, 1, 2, [1, 2]), tagged(20, 1, 2, [1, 2])];
    assert_eq!(kinds(&several), [(HintKind::Several, [10, 20])]);
    let own = [tagged(10, 1, 2, [1, 2]), tagged(20, 2, 1, [2, 1])];
    assert_eq!(kinds(&own), [(HintKind::EachItsOwn, [10, 20])]);
    // Both sides of a router (9): the addresses of the cards differ.
    let routed = [
        tagged(10, 1, 2, [1, 9]),
        tagged(20, 1, 2, [9, 2]),
        tagged(20, 2, 1, [2, 9]),
        tagged(10, 2, 1, [9, 1]),
    ];
    assert_eq!(kinds(&routed), []);
    // Two routers with two VLANs between them speak for many hosts.
    let between = [
        tagged(10, 1, 2, [8, 9]),
        tagged(20, 1, 2, [8, 9]),
        tagged(20, 3, 2, [8, 9]),
    ];
    assert_eq!(kinds(&between), []);
    // They carry one flow alone, there in one VLAN and back in the other.
    let on = |notice| match notice {
        NoticeKind::Tagged(t) => NoticeKind::Tagged(Tagged { routed: true, ..t }),
        other => other,
    };
    assert_eq!(kinds(&own.map(on)), []);
    // A provider's tag around it changes nothing.
    let NoticeKind::Tagged(plain) = tagged(10, 1, 2, [1, 2]) else {
        unreachable!()
    };
    let wrapped = NoticeKind::Tagged(Tagged {
        vlans: [Some(500), Some(10)],
        ..plain
    });
    assert_eq!(kinds(&[NoticeKind::Tagged(plain), wrapped]), []);
}

fn end(n: u8, port: u16) -> Endpoint {
    Endpoint {
        address: address(n),
        port,
    }
}

/// A TCP connection of host 1 to 2 that was answered `back` packets, `again` of the client's twice.
fn connection(out: u64, back: u64, again: u64) -> ConnectionSummary {
    let direction = |packets| model::DirectionSummary {
        packets,
        ..Default::default()
    };
    let mut c = ConnectionSummary {
        id: model::ConnectionId(1),
        transport: Transport::Tcp,
        client: end(1, 1000),
        server: end(2, 2049),
        first: mark(1, 0),
        last: mark(9, 5000),
        close: model::Close::EndOfCapture,
        handshake: Default::default(),
        reset: None,
        directions: [direction(out), direction(back)],
        accounts: None,
        lines: [None, None],
        is_known: false,
        protocol: None,
        pipelined: None,
        copies: false,
        left_open: 0,
        unanswered: 0,
        late_requests: 0,
        sqlnet: None,
    };
    c.directions[0].retransmitted_packets = again;
    c
}

fn given_back(ends: [Endpoint; 2], reason: IcmpReason) -> NoticeKind {
    NoticeKind::Icmp(IcmpError {
        from: address(99),
        reason,
        flow: Some((Transport::Tcp, ends)),
        hosts: ends.map(|e| e.address),
        length: 1500,
    })
}

#[test]
fn what_is_given_back_is_found_again_among_connections() {
    let ends = [end(1, 1000), end(2, 2049)];
    let reason = IcmpReason::TooBig(1400);
    let mut health = of(&[given_back(ends, reason), given_back(ends, reason)]);
    health.connection(&connection(10, 10, 1));
    let all = health.undelivered.all();
    let [r] = all.as_slice() else {
        panic!("{all:?}");
    };
    assert_eq!((r.count, r.length), (2, 1500));
    let concern = r.concerns.expect("its connection");
    assert!(concern.to_server && concern.answered && concern.harmed);
    // Packets of another port, or long before it began, are not its own.
    let mut other = of(&[given_back([end(1, 1001), end(2, 2049)], reason)]);
    other.connection(&connection(10, 10, 1));
    assert_eq!(other.undelivered.all()[0].concerns, None);
    let mut late = connection(10, 10, 1);
    (late.first, late.last) = (mark(50, 50_000), mark(51, 51_000));
    let mut health = of(&[given_back(ends, reason)]);
    health.connection(&late);
    assert_eq!(health.undelivered.all()[0].concerns, None);
}

#[test]
fn who_floods_is_counted_by_sender_and_second() {
    let flooded = |n: u8, cast| {
        NoticeKind::Flooded(Flooded {
            cast,
            source: [2, 0, 0, 0, 0, n],
            holds: SightKind::Arp,
            bytes: 60,
        })
    };
    let mut health = Health::default();
    for (n, ms, kind) in [
        (1, 0, flooded(1, Cast::Broadcast)),
        (2, 900, flooded(2, Cast::Broadcast)),
        (3, 1000, flooded(2, Cast::Broadcast)),
        (4, 1001, flooded(2, Cast::Multicast)),
        (5, 1999, flooded(2, Cast::Broadcast)),
        (6, 1999, flooded(2, Cast::Broadcast)),
    ] {
        health.notice(&notice(n, ms, kind));
    }
    let floods = &health.floods;
    assert_eq!((floods.broadcast.packets, floods.multicast.bytes), (5, 60));
    let (most, ends) = floods.busiest().expect("broadcasts");
    assert_eq!((most, ends.map(|m| m.packet.frame)), (3, [3, 6]));
    let senders = floods.senders();
    assert_eq!(senders[0].hardware[5], 2);
    assert_eq!(senders[0].broadcast.packets, 4);
    assert_eq!(senders[0].holds(), Some(SightKind::Arp));
}

#[test]
fn what_bounds_leave_out_is_counted_with_its_first_place() {
    let mut health = Health::default();
    for n in 0..limits::BROADCASTERS as u32 + 3 {
        let [a, b, c, d] = n.to_be_bytes();
        let kind = NoticeKind::Flooded(Flooded {
            cast: Cast::Broadcast,
            source: [2, 0, a, b, c, d],
            holds: SightKind::Udp,
            bytes: 60,
        });
        health.notice(&notice(n + 1, 0, kind));
    }
    let mut problems = Problems::default();
    health.note_bounds(&["a.pcap".into()], &mut problems);
    let all: Vec<_> = problems.iter().collect();
    let [(kind, problem)] = all.as_slice() else {
        panic!("{all:?}");
    };
    assert_eq!((*kind, problem.count), ("broadcasters-left-out", 3));
    assert!(!problem.damage);
    let frame = limits::BROADCASTERS as u32 + 1;
    assert_eq!(problem.first.frame, Some(frame));
    assert_eq!(problem.first.file, "a.pcap");
    // Everything was counted all the same.
    assert_eq!(health.floods.broadcast.packets, u64::from(frame) + 2);
}
