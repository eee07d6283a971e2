//! Two connections.

use super::{START, endpoint, mark};
use analysis::results::{
    CaptureResult, ConnectionResult, ConnsResult, DirectionResult, HandshakeResult, Vantage,
    VantageFrom,
};
use model::{
    Close, CongestionWindow, Direction, DirectionAccount, DirectionSummary, EcnCounts, Pauses,
    Protocol, Retransmissions, RoundTrips, SegmentSizes, Time, TimeClass, Wait,
};

/// A direction of a connection that took so many nanoseconds: what it waited for, the rest idle.
fn direction(duration_ns: i64, waits: &[(TimeClass, i64)]) -> DirectionResult {
    let mut account = DirectionAccount::default();
    let mut rest = duration_ns;
    for (i, (class, ns)) in waits.iter().enumerate() {
        let frame = 10 * (i as u32 + 1);
        account.time_ns[*class] = *ns;
        account.stretches[*class] = i as u32 + 1;
        account.longest[*class] = Some(Wait {
            first: mark(0, frame),
            last: mark(ns / 2, frame + 4),
            ns: ns / 2,
        });
        rest -= ns;
    }
    account.time_ns[TimeClass::Idle] = rest;
    DirectionResult {
        counts: DirectionSummary::default(),
        account,
        lost_on_network_packets: None,
        discarded_packets: 0,
        lost_on_network_bytes: None,
        stuck_arrived: None,
        goodput_bps: None,
    }
}

/// Two connections: a server that does not read, and one over IPv6 of which little is known.
pub(crate) fn conns() -> ConnsResult {
    const SECOND: i64 = 1_000_000_000;
    let mut upload = direction(
        4 * SECOND,
        &[
            (TimeClass::Handshake, 2_100_000),
            (TimeClass::ReceiverApplication, 2_400_000_000),
            (TimeClass::LossRecovery, 612_000_000),
            (TimeClass::Transfer, 900_000_000),
        ],
    );
    upload.counts = DirectionSummary {
        packets: 1_245,
        payload_bytes: 1_504_344,
        retransmitted_packets: 3,
        retransmitted_bytes: 4_344,
        missing_from_capture_gaps: 1,
        missing_from_capture_bytes: 2_000,
        missing_from_capture_packets: 2,
        ..DirectionSummary::default()
    };
    upload.lost_on_network_packets = Some(2);
    upload.lost_on_network_bytes = Some(2_896);
    upload.goodput_bps = Some(3_050_512);
    upload.account = DirectionAccount {
        rtt: RoundTrips {
            count: 128,
            min_ns: 2_100_000,
            p50_ns: 2_210_000,
            p90_ns: 2_900_000,
            p99_ns: 11_000_000,
            max_ns: 20_300_000,
        },
        flight_max_bytes: 64_512,
        window_min_bytes: Some(5_792),
        window_max_bytes: Some(64_512),
        zero_window_ns: 2_100_000_000,
        spurious_retransmissions: 1,
        segments_acknowledged: 240,
        acknowledgements: 195,
        delayed_ack_ns: Some(40_100_000),
        delayed_acks: 13,
        write_size_bytes: Some(8_192),
        writes_of_that_size: 170,
        writes: 183,
        mss: Some(1_460),
        window_scale: Some(7),
        sack: Some(true),
        timestamps: Some(true),
        ecn_negotiated: Some(true),
        ecn: EcnCounts {
            capable_packets: 1_200,
            ce_packets: 7,
            ece_packets: 0,
            cwr_packets: 4,
        },
        segment_sizes: SegmentSizes([2, 0, 1, 140, 60, 37]),
        retransmissions: Retransmissions {
            fast: 1,
            timeout: 1,
            tail_probe: 0,
            other: 1,
        },
        pauses: Pauses {
            count: 2,
            total_ns: 85_000_000,
            longest: Some(Wait {
                first: mark(0, 51),
                last: mark(60_000_000, 53),
                ns: 60_000_000,
            }),
        },
        congestion_window: CongestionWindow {
            count: 3,
            sum_bytes: 121_632,
            min_bytes: 14_480,
            max_bytes: 64_512,
            last_bytes: 42_640,
        },
        stretch_acks: 12,
        ..upload.account
    };
    let mut replies = direction(4 * SECOND, &[(TimeClass::Handshake, 2_100_000)]);
    // These packets say that the other direction's window is closed.
    replies.counts = DirectionSummary {
        packets: 198,
        payload_bytes: 1,
        zero_windows: 64,
        duplicate_acks: 3,
        ..DirectionSummary::default()
    };
    let number_1 = ConnectionResult {
        number: 1,
        client: endpoint("10.0.0.1", 41_818),
        server: endpoint("10.0.0.2", 2_049),
        protocol: Some(Protocol::Nfs41),
        pipelined: None,
        copies: false,
        is_known: false,
        sqlnet: None,
        first: Time(START),
        last: Time(START + 4 * SECOND),
        ends: vec![(0, mark(0, 1), mark(4 * SECOND, 1_443))],
        ids: vec![model::ConnectionId(0)],
        close: Close::Finished,
        openings: Vec::new(),
        last_data: Vec::new(),
        left_open: None,
        unanswered: 0,
        late_requests: None,
        ended_by_server: false,
        resets: Vec::new(),
        vantage: Vantage::Client,
        vantage_from: VantageFrom::Handshake {
            server_ns: 2_100_000,
            client_ns: 20_000,
        },
        vantage_confidence: 0.95,
        handshake: HandshakeResult {
            seen: true,
            syn_retries: 1,
            syn_ack_retries: 0,
            syn_to_syn_ack_ns: Some(2_100_000),
            syn_ack_to_ack_ns: Some(20_000),
        },
        directions: [upload, replies],
        at_stake_ns: 3_914_100_000,
        top: Some((
            Direction::ToServer,
            TimeClass::ReceiverApplication,
            2_400_000_000,
        )),
    };
    let number_2 = ConnectionResult {
        number: 2,
        client: endpoint("2001:db8:1111:2222:3333:4444:5555:6666", 50_000),
        server: endpoint("2001:db8:aaaa:bbbb:cccc:dddd:eeee:ffff", 5_432),
        protocol: None,
        pipelined: None,
        copies: false,
        is_known: false,
        sqlnet: None,
        first: Time(START + SECOND),
        last: Time(START + 2 * SECOND),
        ends: vec![(0, mark(SECOND, 300), mark(2 * SECOND, 700))],
        ids: vec![model::ConnectionId(299)],
        close: Close::EndOfCapture,
        openings: Vec::new(),
        last_data: Vec::new(),
        left_open: None,
        unanswered: 0,
        late_requests: None,
        ended_by_server: false,
        resets: Vec::new(),
        vantage: Vantage::Unknown,
        vantage_from: VantageFrom::Nothing,
        vantage_confidence: 0.0,
        handshake: HandshakeResult::default(),
        directions: [
            direction(SECOND, &[]),
            direction(SECOND, &[(TimeClass::SenderApplication, 80_000_000)]),
        ],
        at_stake_ns: 80_000_000,
        top: Some((
            Direction::ToClient,
            TimeClass::SenderApplication,
            80_000_000,
        )),
    };
    ConnsResult {
        order: analysis::results::Order::default(),
        captures: vec![CaptureResult {
            files: vec!["client.pcap".into()],
            side: Some(Vantage::Client),
            ..CaptureResult::default()
        }],
        connections: [number_1, number_2].into_iter().collect(),
        left_out: 0,
        not_asked: 0,
        exchanged: false,
    }
}
