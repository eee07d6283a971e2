//! The exposition, letter by letter.

use super::*;
use analysis::findings::Rule;
use analysis::metrics::{
    CallCounts, CallsRow, FindingRow, LiveMetrics, PacketCounts, ServerCounts,
};
use analysis::results::{KeyValue, Side};
use expect_test::expect;
use model::{Name, Protocol, Time};

pub(crate) fn times(sum_ns: i64, counts: &[(usize, u64)]) -> Times {
    let mut times = Times {
        sum_ns,
        ..Times::default()
    };
    for (class, n) in counts {
        times.counts[*class] = *n;
    }
    times
}

pub(crate) fn sample() -> MetricsResult {
    let counts = CallCounts {
        calls: 4,
        errors: 1,
        no_response: 1,
        retransmits: 2,
        request_bytes: 400,
        response_bytes: 131_072,
        held_ns: 250_000_000,
        response_times: times(3_002_500_000, &[(4, 2), (18, 1), (19, 0)]),
        waits: times(1_002_500_000, &[(4, 2), (12, 1)]),
        transfers: times(2_000_000_000, &[(0, 2), (13, 1)]),
        ..CallCounts::default()
    };
    let text = |text: &str| KeyValue::Text(text.into());
    MetricsResult {
        calls: vec![CallsRow {
            protocol: Protocol::Nfs41,
            op: Some(Name::of("READ")),
            keys: vec![
                ("server", text("10.0.0.2")),
                ("step", KeyValue::Unknown),
                ("client", text("a\\b\"} 1\nslowside_evil{x=\"\u{1b}[2J")),
                ("file", KeyValue::File(0xdead_beef)),
                ("size", KeyValue::Number(65_536)),
            ],
            counts,
        }],
        other_calls: 7,
        databases: Vec::new(),
        capture: PacketCounts {
            packets: 10,
            bytes: 140_000,
            dropped: Some(3),
            missing_bytes: 0,
            last: Some(Time(1_700_000_000_500_000_000)),
        },
        live: Some(LiveMetrics {
            servers: vec![(
                text("10.0.0.2"),
                ServerCounts {
                    packets: [6, 4],
                    payload_bytes: [400, 131_072],
                    retransmitted_packets: [0, 1],
                    round_trips: [3, 2],
                    round_trips_ns: [3_000_000, 500],
                },
            )],
            outstanding: vec![(Protocol::Nfs41, text("10.0.0.2"), 5)],
            findings: vec![FindingRow {
                rule: Rule::Nagle,
                side: Side::Client,
                is_now: true,
            }],
            verdict: Some(Side::Server),
        }),
    }
}

fn written(result: MetricsResult) -> String {
    let mut out = Vec::new();
    openmetrics(result, &mut out).expect("memory");
    String::from_utf8(out).expect("UTF-8")
}

#[test]
fn what_strangers_said_stays_within_its_label() {
    let text = written(sample());
    let calls = text.lines().find(|l| l.starts_with("slowside_calls_total"));
    expect![[r#"slowside_calls_total{protocol="nfs4.1",op="READ",server="10.0.0.2",step="",client="a\\b\"} 1 slowside_evil{x=\" [2J",file="00000000deadbeef",size="65536"} 4"#]].assert_eq(calls.expect("a line"));
    assert!(!text.contains('\u{1b}'));
    assert!(!text.lines().any(|l| l.starts_with("slowside_evil")));
    assert!(text.ends_with("# EOF\n"));
}

#[test]
fn families_have_help_types_units_and_samples() {
    let mut result = sample();
    for row in &mut result.calls {
        row.keys.truncate(1);
    }
    expect![[r##"
        # HELP slowside_calls Calls, those in part too.
        # TYPE slowside_calls counter
        slowside_calls_total{protocol="nfs4.1",op="READ",server="10.0.0.2"} 4
        # HELP slowside_errors Calls that the server answered with an error.
        # TYPE slowside_errors counter
        slowside_errors_total{protocol="nfs4.1",op="READ",server="10.0.0.2"} 1
        # HELP slowside_no_response Calls without a response.
        # TYPE slowside_no_response counter
        slowside_no_response_total{protocol="nfs4.1",op="READ",server="10.0.0.2"} 1
        # HELP slowside_no_request Responses without a request.
        # TYPE slowside_no_request counter
        slowside_no_request_total{protocol="nfs4.1",op="READ",server="10.0.0.2"} 0
        # HELP slowside_incomplete Calls that the capture cut.
        # TYPE slowside_incomplete counter
        slowside_incomplete_total{protocol="nfs4.1",op="READ",server="10.0.0.2"} 0
        # HELP slowside_retransmits Requests that their clients sent again.
        # TYPE slowside_retransmits counter
        slowside_retransmits_total{protocol="nfs4.1",op="READ",server="10.0.0.2"} 2
        # HELP slowside_request_bytes Bytes of requests.
        # TYPE slowside_request_bytes counter
        # UNIT slowside_request_bytes bytes
        slowside_request_bytes_total{protocol="nfs4.1",op="READ",server="10.0.0.2"} 400
        # HELP slowside_response_bytes Bytes of responses.
        # TYPE slowside_response_bytes counter
        # UNIT slowside_response_bytes bytes
        slowside_response_bytes_total{protocol="nfs4.1",op="READ",server="10.0.0.2"} 131072
        # HELP slowside_held_seconds How long TCP held messages of calls back: for what was lost, a closed window, Nagle.
        # TYPE slowside_held_seconds counter
        # UNIT slowside_held_seconds seconds
        slowside_held_seconds_total{protocol="nfs4.1",op="READ",server="10.0.0.2"} 0.25
        # HELP slowside_response_time_seconds From a request's first byte to its response's last, where packets were captured.
        # TYPE slowside_response_time_seconds histogram
        # UNIT slowside_response_time_seconds seconds
        slowside_response_time_seconds_sum{protocol="nfs4.1",op="READ",server="10.0.0.2"} 3.0025
        slowside_response_time_seconds_count{protocol="nfs4.1",op="READ",server="10.0.0.2"} 3
        slowside_response_time_seconds_bucket{le="0.0001",protocol="nfs4.1",op="READ",server="10.0.0.2"} 0
        slowside_response_time_seconds_bucket{le="0.00025",protocol="nfs4.1",op="READ",server="10.0.0.2"} 0
        slowside_response_time_seconds_bucket{le="0.0005",protocol="nfs4.1",op="READ",server="10.0.0.2"} 0
        slowside_response_time_seconds_bucket{le="0.001",protocol="nfs4.1",op="READ",server="10.0.0.2"} 0
        slowside_response_time_seconds_bucket{le="0.0025",protocol="nfs4.1",op="READ",server="10.0.0.2"} 2
        slowside_response_time_seconds_bucket{le="0.005",protocol="nfs4.1",op="READ",server="10.0.0.2"} 2
        slowside_response_time_seconds_bucket{le="0.01",protocol="nfs4.1",op="READ",server="10.0.0.2"} 2
        slowside_response_time_seconds_bucket{le="0.02",protocol="nfs4.1",op="READ",server="10.0.0.2"} 2
        slowside_response_time_seconds_bucket{le="0.05",protocol="nfs4.1",op="READ",server="10.0.0.2"} 2
        slowside_response_time_seconds_bucket{le="0.1",protocol="nfs4.1",op="READ",server="10.0.0.2"} 2
        slowside_response_time_seconds_bucket{le="0.25",protocol="nfs4.1",op="READ",server="10.0.0.2"} 2
        slowside_response_time_seconds_bucket{le="0.5",protocol="nfs4.1",op="READ",server="10.0.0.2"} 2
        slowside_response_time_seconds_bucket{le="1.0",protocol="nfs4.1",op="READ",server="10.0.0.2"} 2
        slowside_response_time_seconds_bucket{le="2.5",protocol="nfs4.1",op="READ",server="10.0.0.2"} 2
        slowside_response_time_seconds_bucket{le="5.0",protocol="nfs4.1",op="READ",server="10.0.0.2"} 2
        slowside_response_time_seconds_bucket{le="10.0",protocol="nfs4.1",op="READ",server="10.0.0.2"} 2
        slowside_response_time_seconds_bucket{le="30.0",protocol="nfs4.1",op="READ",server="10.0.0.2"} 2
        slowside_response_time_seconds_bucket{le="60.0",protocol="nfs4.1",op="READ",server="10.0.0.2"} 2
        slowside_response_time_seconds_bucket{le="300.0",protocol="nfs4.1",op="READ",server="10.0.0.2"} 3
        slowside_response_time_seconds_bucket{le="+Inf",protocol="nfs4.1",op="READ",server="10.0.0.2"} 3
        # HELP slowside_wait_seconds Of the response time, from the request's last byte to the response's first: next to the server, the server's part; elsewhere with the path to it and back.
        # TYPE slowside_wait_seconds histogram
        # UNIT slowside_wait_seconds seconds
        slowside_wait_seconds_sum{protocol="nfs4.1",op="READ",server="10.0.0.2"} 1.0025
        slowside_wait_seconds_count{protocol="nfs4.1",op="READ",server="10.0.0.2"} 3
        slowside_wait_seconds_bucket{le="0.0001",protocol="nfs4.1",op="READ",server="10.0.0.2"} 0
        slowside_wait_seconds_bucket{le="0.00025",protocol="nfs4.1",op="READ",server="10.0.0.2"} 0
        slowside_wait_seconds_bucket{le="0.0005",protocol="nfs4.1",op="READ",server="10.0.0.2"} 0
        slowside_wait_seconds_bucket{le="0.001",protocol="nfs4.1",op="READ",server="10.0.0.2"} 0
        slowside_wait_seconds_bucket{le="0.0025",protocol="nfs4.1",op="READ",server="10.0.0.2"} 2
        slowside_wait_seconds_bucket{le="0.005",protocol="nfs4.1",op="READ",server="10.0.0.2"} 2
        slowside_wait_seconds_bucket{le="0.01",protocol="nfs4.1",op="READ",server="10.0.0.2"} 2
        slowside_wait_seconds_bucket{le="0.02",protocol="nfs4.1",op="READ",server="10.0.0.2"} 2
        slowside_wait_seconds_bucket{le="0.05",protocol="nfs4.1",op="READ",server="10.0.0.2"} 2
        slowside_wait_seconds_bucket{le="0.1",protocol="nfs4.1",op="READ",server="10.0.0.2"} 2
        slowside_wait_seconds_bucket{le="0.25",protocol="nfs4.1",op="READ",server="10.0.0.2"} 2
        slowside_wait_seconds_bucket{le="0.5",protocol="nfs4.1",op="READ",server="10.0.0.2"} 2
        slowside_wait_seconds_bucket{le="1.0",protocol="nfs4.1",op="READ",server="10.0.0.2"} 3
        slowside_wait_seconds_bucket{le="2.5",protocol="nfs4.1",op="READ",server="10.0.0.2"} 3
        slowside_wait_seconds_bucket{le="5.0",protocol="nfs4.1",op="READ",server="10.0.0.2"} 3
        slowside_wait_seconds_bucket{le="10.0",protocol="nfs4.1",op="READ",server="10.0.0.2"} 3
        slowside_wait_seconds_bucket{le="30.0",protocol="nfs4.1",op="READ",server="10.0.0.2"} 3
        slowside_wait_seconds_bucket{le="60.0",protocol="nfs4.1",op="READ",server="10.0.0.2"} 3
        slowside_wait_seconds_bucket{le="300.0",protocol="nfs4.1",op="READ",server="10.0.0.2"} 3
        slowside_wait_seconds_bucket{le="+Inf",protocol="nfs4.1",op="READ",server="10.0.0.2"} 3
        # HELP slowside_transfer_seconds Of the response time, in which request and response passed: the network's part, unless an end wrote or read slowly.
        # TYPE slowside_transfer_seconds histogram
        # UNIT slowside_transfer_seconds seconds
        slowside_transfer_seconds_sum{protocol="nfs4.1",op="READ",server="10.0.0.2"} 2.0
        slowside_transfer_seconds_count{protocol="nfs4.1",op="READ",server="10.0.0.2"} 3
        slowside_transfer_seconds_bucket{le="0.0001",protocol="nfs4.1",op="READ",server="10.0.0.2"} 2
        slowside_transfer_seconds_bucket{le="0.00025",protocol="nfs4.1",op="READ",server="10.0.0.2"} 2
        slowside_transfer_seconds_bucket{le="0.0005",protocol="nfs4.1",op="READ",server="10.0.0.2"} 2
        slowside_transfer_seconds_bucket{le="0.001",protocol="nfs4.1",op="READ",server="10.0.0.2"} 2
        slowside_transfer_seconds_bucket{le="0.0025",protocol="nfs4.1",op="READ",server="10.0.0.2"} 2
        slowside_transfer_seconds_bucket{le="0.005",protocol="nfs4.1",op="READ",server="10.0.0.2"} 2
        slowside_transfer_seconds_bucket{le="0.01",protocol="nfs4.1",op="READ",server="10.0.0.2"} 2
        slowside_transfer_seconds_bucket{le="0.02",protocol="nfs4.1",op="READ",server="10.0.0.2"} 2
        slowside_transfer_seconds_bucket{le="0.05",protocol="nfs4.1",op="READ",server="10.0.0.2"} 2
        slowside_transfer_seconds_bucket{le="0.1",protocol="nfs4.1",op="READ",server="10.0.0.2"} 2
        slowside_transfer_seconds_bucket{le="0.25",protocol="nfs4.1",op="READ",server="10.0.0.2"} 2
        slowside_transfer_seconds_bucket{le="0.5",protocol="nfs4.1",op="READ",server="10.0.0.2"} 2
        slowside_transfer_seconds_bucket{le="1.0",protocol="nfs4.1",op="READ",server="10.0.0.2"} 2
        slowside_transfer_seconds_bucket{le="2.5",protocol="nfs4.1",op="READ",server="10.0.0.2"} 3
        slowside_transfer_seconds_bucket{le="5.0",protocol="nfs4.1",op="READ",server="10.0.0.2"} 3
        slowside_transfer_seconds_bucket{le="10.0",protocol="nfs4.1",op="READ",server="10.0.0.2"} 3
        slowside_transfer_seconds_bucket{le="30.0",protocol="nfs4.1",op="READ",server="10.0.0.2"} 3
        slowside_transfer_seconds_bucket{le="60.0",protocol="nfs4.1",op="READ",server="10.0.0.2"} 3
        slowside_transfer_seconds_bucket{le="300.0",protocol="nfs4.1",op="READ",server="10.0.0.2"} 3
        slowside_transfer_seconds_bucket{le="+Inf",protocol="nfs4.1",op="READ",server="10.0.0.2"} 3
        # HELP slowside_other_calls Calls that count as other, as there are too many labels.
        # TYPE slowside_other_calls counter
        slowside_other_calls_total 7
        # HELP slowside_captured_packets Packets that were captured.
        # TYPE slowside_captured_packets counter
        slowside_captured_packets_total 10
        # HELP slowside_captured_bytes Bytes of these packets on the wire.
        # TYPE slowside_captured_bytes counter
        # UNIT slowside_captured_bytes bytes
        slowside_captured_bytes_total 140000
        # HELP slowside_dropped_packets Packets that the kernel of the capturing host dropped: figures are too low.
        # TYPE slowside_dropped_packets counter
        slowside_dropped_packets_total 3
        # HELP slowside_missing_bytes Bytes that their receivers had and the capture lacks, of connections that are over.
        # TYPE slowside_missing_bytes counter
        # UNIT slowside_missing_bytes bytes
        slowside_missing_bytes_total 0
        # HELP slowside_reached_timestamp_seconds Until when packets have been looked at, since the epoch.
        # TYPE slowside_reached_timestamp_seconds gauge
        # UNIT slowside_reached_timestamp_seconds seconds
        slowside_reached_timestamp_seconds 1700000000.5
        # HELP slowside_outstanding Calls without their answer yet, when the last interval ended.
        # TYPE slowside_outstanding gauge
        slowside_outstanding{protocol="nfs4.1",server="10.0.0.2"} 5
        # HELP slowside_tcp_packets Packets of TCP with this server, by whom they go to.
        # TYPE slowside_tcp_packets counter
        slowside_tcp_packets_total{server="10.0.0.2",to="server"} 6
        slowside_tcp_packets_total{server="10.0.0.2",to="client"} 4
        # HELP slowside_tcp_payload_bytes Bytes that TCP carried.
        # TYPE slowside_tcp_payload_bytes counter
        # UNIT slowside_tcp_payload_bytes bytes
        slowside_tcp_payload_bytes_total{server="10.0.0.2",to="server"} 400
        slowside_tcp_payload_bytes_total{server="10.0.0.2",to="client"} 131072
        # HELP slowside_tcp_retransmitted_packets Packets that TCP sent again: lost, or taken to be.
        # TYPE slowside_tcp_retransmitted_packets counter
        slowside_tcp_retransmitted_packets_total{server="10.0.0.2",to="server"} 0
        slowside_tcp_retransmitted_packets_total{server="10.0.0.2",to="client"} 1
        # HELP slowside_round_trips Round trips from the point of capture to the server or to its clients, as acknowledgements show them.
        # TYPE slowside_round_trips counter
        slowside_round_trips_total{server="10.0.0.2",to="server"} 3
        slowside_round_trips_total{server="10.0.0.2",to="client"} 2
        # HELP slowside_round_trips_seconds The sum of these round trips.
        # TYPE slowside_round_trips_seconds counter
        # UNIT slowside_round_trips_seconds seconds
        slowside_round_trips_seconds_total{server="10.0.0.2",to="server"} 0.003
        slowside_round_trips_seconds_total{server="10.0.0.2",to="client"} 5e-7
        # HELP slowside_verdict 1 for the side that the verdict on the last packets names, none where nothing is wrong.
        # TYPE slowside_verdict gauge
        slowside_verdict{side="client"} 0
        slowside_verdict{side="network"} 0
        slowside_verdict{side="server"} 1
        slowside_verdict{side="mixed"} 0
        slowside_verdict{side="none"} 0
        slowside_verdict{side="undetermined"} 0
        # HELP slowside_finding 1 where the last packets have this finding, 0 where earlier ones had; slowside explain CODE says more.
        # TYPE slowside_finding gauge
        slowside_finding{code="nagle",side="client"} 1
        # EOF
    "##]].assert_eq(&written(result));
}

#[test]
fn of_files_there_is_no_present() {
    let mut result = sample();
    result.live = None;
    result.capture.dropped = None;
    let text = written(result);
    for name in ["outstanding", "tcp_packets", "verdict", "dropped_packets"] {
        assert!(!text.contains(name), "{name}");
    }
}
