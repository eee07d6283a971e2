//! Packets, calls and connections into what a capture is worth.

use super::*;
use model::{PacketRef, Time};
use std::net::IpAddr;

const SECOND: i64 = 1_000_000_000;

fn mark(frame: u32, file: u16, ns: i64) -> Mark {
    Mark {
        time: Time(1_700_000_000 * SECOND + ns),
        packet: PacketRef { file, frame },
    }
}

fn sight(frame: u32, ns: i64, length: u32) -> Sight {
    Sight {
        order: frame.into(),
        at: mark(frame, 0, ns),
        length,
        captured: length.min(256),
        kind: SightKind::Tcp,
        cast: Cast::Unicast,
        vlan: None,
        addresses: Some([
            IpAddr::from([10, 0, 0, 1]),
            IpAddr::from([10, 0, 0, 2 + (frame % 2) as u8]),
        ]),
        ports: None,
    }
}

fn of(sights: &[Sight]) -> InfoResult {
    let mut info = Info::default();
    for s in sights {
        info.packet(s);
    }
    info.finish(CaptureResult::default(), FilesFacts::default())
}

fn codes(info: &InfoResult) -> Vec<&'static str> {
    info.worth.limits.iter().map(|l| l.code).collect()
}

#[test]
fn nothing_is_worth_nothing() {
    let info = of(&[]);
    assert_eq!(info.worth.name(), "poor");
    assert_eq!(codes(&info)[0], "no-packets");
    assert_eq!((info.duration_ns(), info.per_second(7)), (0, None));
}

#[test]
fn packets_are_counted_by_what_they_hold_and_how_large_they_are() {
    let mut arp = sight(5, 4 * SECOND, 60);
    (arp.kind, arp.cast, arp.vlan) = (SightKind::Arp, Cast::Broadcast, Some(7));
    arp.addresses = None;
    let sights = [
        sight(1, 0, 100),
        sight(2, SECOND, 1_522),
        sight(3, 2 * SECOND, 1_523),
        sight(4, 3 * SECOND, 65_000),
        arp,
    ];
    let info = of(&sights);
    assert_eq!((info.total.packets, info.total.bytes), (5, 68_205));
    assert_eq!(info.captured_bytes, 100 + 3 * 256 + 60);
    assert_eq!((info.cut_packets, info.largest_bytes), (3, 65_000));
    assert_eq!((info.over_ethernet, info.over_jumbo), (2, 1));
    assert_eq!(info.kinds[0].0, SightKind::Tcp);
    assert_eq!(info.casts.len(), 2);
    assert_eq!(info.vlans, [7]);
    assert_eq!(info.pair_count, 2);
    assert_eq!(info.pairs[0].bytes(), 66_522);
    assert_eq!(info.duration_ns(), 4 * SECOND);
    assert_eq!(info.per_second(8), Some(2.0));
    assert!(codes(&info).contains(&"packets-cut"));
    assert!(codes(&info).contains(&"offload"));
}

#[test]
fn time_that_steps_back_is_told_from_packets_out_of_order() {
    let at = |frame, ns| sight(frame, ns, 60);
    let disorder = of(&[at(1, 0), at(2, 5_000), at(3, 4_000), at(4, 2 * SECOND)]);
    assert_eq!(
        (disorder.backwards.packets, disorder.backwards.steps),
        (1, 0)
    );
    assert!(codes(&disorder).contains(&"disorder"));
    let step = of(&[at(1, 9 * SECOND), at(2, 0), at(3, SECOND / 2)]);
    let b = step.backwards;
    assert_eq!((b.packets, b.steps, b.largest_ns), (1, 1, 9 * SECOND));
    assert_eq!(b.largest_at.map(|m| m.packet.frame), Some(2));
    assert!(codes(&step).contains(&"clock-steps"));
    // Another file may begin before the one ends.
    let mut other = at(2, 0);
    other.at = mark(1, 1, 0);
    assert_eq!(of(&[at(1, 9 * SECOND), other]).backwards.packets, 0);
}

#[test]
fn the_longest_silences_are_kept_longest_first() {
    let mut ns = 0;
    let mut sights = vec![sight(1, 0, 60)];
    for (n, seconds) in [1, 3, 2, 5, 4].into_iter().enumerate() {
        ns += seconds * SECOND;
        sights.push(sight(n as u32 + 2, ns, 60));
    }
    let info = of(&sights);
    let silences: Vec<i64> = info.silences.iter().map(|s| s.ns / SECOND).collect();
    assert_eq!(silences, [5, 4, 3]);
    assert_eq!(info.silences[0].from.packet.frame, 4);
    assert!(!info.silences[0].between_files());
}

fn connection(out: u64, back: u64) -> ConnectionSummary {
    let end = |n, port| model::Endpoint {
        address: IpAddr::from([10, 0, 0, n]),
        port,
    };
    let direction = |packets| model::DirectionSummary {
        packets,
        payload_bytes: packets * 100,
        ..Default::default()
    };
    ConnectionSummary {
        id: model::ConnectionId(1),
        transport: Transport::Tcp,
        client: end(1, 1000),
        server: end(2, 2049),
        first: mark(1, 0, 0),
        last: mark(2, 0, SECOND),
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
    }
}

#[test]
fn connections_of_one_direction_and_without_handshake_limit_it() {
    let mut info = Info::default();
    info.packet(&sight(1, 0, 60));
    let mut whole = connection(5, 5);
    whole.handshake.syn = Some(Time(0));
    whole.handshake.syn_ack = Some(Time(1));
    whole.handshake.ack = Some(Time(2));
    info.connection(&whole);
    info.connection(&connection(5, 5));
    info.connection(&connection(5, 0));
    let mut udp = connection(5, 5);
    udp.transport = Transport::Udp;
    info.connection(&udp);
    let info = info.finish(CaptureResult::default(), FilesFacts::default());
    let n = &info.connections;
    assert_eq!((n.tcp, n.udp, n.with_data, n.one_sided), (3, 1, 3, 1));
    assert_eq!((n.handshakes_complete, n.handshakes_scaled), (1, 1));
    assert_eq!(n.payload_bytes, 2_500);
    let found = codes(&info);
    assert!(
        found.contains(&"one-sided") && found.contains(&"no-handshakes"),
        "{found:?}"
    );
    assert_eq!(info.worth.name(), "limited");
}

#[test]
fn of_connections_that_were_refused_no_handshake_is_missing() {
    let mut info = Info::default();
    info.packet(&sight(1, 0, 60));
    let mut refused = connection(0, 0);
    refused.handshake.syn = Some(Time(0));
    info.connection(&refused);
    let info = info.finish(CaptureResult::default(), FilesFacts::default());
    assert_eq!(info.connections.never_opened, 1);
    let found = codes(&info);
    assert!(!found.contains(&"no-handshakes"), "{found:?}");
}

#[test]
fn checksums_of_cards_are_no_damage() {
    let sums = |right, unfinished, wrong| {
        model::NoticeKind::Checksums(model::Checksums {
            of: model::ChecksumOf::Udp,
            source: [10, 0, 0, 1].into(),
            right,
            unfinished,
            joined: 0,
            wrong,
            shown: [None; model::SHOWN_CHECKSUMS],
        })
    };
    for (right, unfinished, wrong, code) in [
        (10, 0, 0, None),
        (0, 10, 0, Some("checksum-offload")),
        (0, 0, 10, Some("checksums-rewritten")),
    ] {
        let mut info = Info::default();
        info.packet(&sight(1, 0, 60));
        info.notice(&Notice {
            order: 1,
            at: mark(1, 0, 0),
            kind: sums(right, unfinished, wrong),
        });
        let info = info.finish(CaptureResult::default(), FilesFacts::default());
        let found = codes(&info);
        let checksums: Vec<_> = found.iter().filter(|c| c.contains("checksum")).collect();
        assert_eq!(checksums, code.iter().collect::<Vec<_>>());
    }
}
