//! What machine output says of a connection: each field once, with its name, its meaning, and where
//! it is taken from.
//!
//! JSON makes an object of what stands before a dot; CSV has a column of its own for each. What the
//! receiver of a direction's data says of that data (windows, acknowledgements) stands with the
//! direction of the data, as it governs how that flows. The tracker counts some of it with the
//! packets that carry it, which go the other way: those fields are taken from [`back`].

use crate::classes;
use analysis::results::{ConnectionResult, DirectionResult};
use model::{CongestionWindow, Direction, DirectionSummary, RoundTrips, TimeClass};
use serde_json::Value;

pub(super) struct Field {
    pub(super) name: &'static str,
    pub(super) meaning: &'static str,
    /// The direction means nothing to the fields of the whole connection.
    pub(super) get: fn(&ConnectionResult, Direction) -> Value,
}

type Get = fn(&ConnectionResult, Direction) -> Value;

const fn field(name: &'static str, meaning: &'static str, get: Get) -> Field {
    Field { name, meaning, get }
}

/// Of the connection, before its directions.
pub(super) const CONNECTION: [Field; 19] = [
    field(
        "number",
        "counts from 1 in the order of first packets; what --connection takes",
        |c, _| c.number.into(),
    ),
    field("client", "address:port of who opened it", |c, _| {
        c.client.to_string().into()
    }),
    field("server", "address:port of the other end", |c, _| {
        c.server.to_string().into()
    }),
    field(
        "protocol",
        "what it carries, as in the column of `slowside calls`",
        |c, _| c.protocol.map(|p| p.name()).into(),
    ),
    field(
        "first_ns",
        "time of its first packet, since the epoch",
        |c, _| c.first.0.into(),
    ),
    field(
        "last_ns",
        "time of its last packet, since the epoch",
        |c, _| c.last.0.into(),
    ),
    field(
        "vantage",
        "where it was captured: client, server, middle, unknown",
        |c, _| c.vantage.name().into(),
    ),
    field(
        "vantage_from",
        "what that was concluded from, in words",
        |c, _| c.vantage_from.to_string().into(),
    ),
    field("vantage_confidence", "how sure that is, 0 to 1", |c, _| {
        c.vantage_confidence.into()
    }),
    field(
        "close",
        "how it ended: finished, reset, replaced, forgotten, expired, end-of-capture",
        |c, _| c.close.name().into(),
    ),
    field(
        "handshake.seen",
        "whether SYN and SYN/ACK are in the capture",
        |c, _| c.handshake.seen.into(),
    ),
    field("handshake.syn_retries", "SYNs sent again", |c, _| {
        c.handshake.syn_retries.into()
    }),
    field("handshake.synack_retries", "SYN/ACKs sent again", |c, _| {
        c.handshake.syn_ack_retries.into()
    }),
    field(
        "handshake.syn_to_synack_ns",
        "from the last SYN to the SYN/ACK: from the point of capture to the server and back",
        |c, _| c.handshake.syn_to_syn_ack_ns.into(),
    ),
    field(
        "handshake.synack_to_ack_ns",
        "from there to the client's acknowledgement: to the client and back",
        |c, _| c.handshake.syn_ack_to_ack_ns.into(),
    ),
    field(
        "at_stake_ns",
        "time not idle, of the direction with more of it; connections are sorted by it",
        |c, _| c.at_stake_ns.into(),
    ),
    field(
        "top.direction",
        "the direction of the longest wait: client_to_server or server_to_client",
        |c, _| c.top.map(|(d, ..)| classes::direction(d)).into(),
    ),
    field("top.class", "its time class", |c, _| {
        c.top.map(|(_, class, _)| class.name()).into()
    }),
    field(
        "top.ns",
        "how long it was, all stretches together",
        |c, _| c.top.map(|(.., ns)| ns).into(),
    ),
];

/// Of each direction, before its time by class.
pub(super) const DIRECTION: [Field; 31] = [
    field("packets", "packets sent this way", |c, d| {
        own(c, d).counts.packets.into()
    }),
    field(
        "payload_bytes",
        "payload sent this way, retransmitted bytes included",
        |c, d| own(c, d).counts.payload_bytes.into(),
    ),
    field(
        "retransmitted_packets",
        "packets with bytes that were sent before",
        |c, d| own(c, d).counts.retransmitted_packets.into(),
    ),
    field(
        "retransmitted_bytes",
        "bytes that were sent before",
        |c, d| own(c, d).counts.retransmitted_bytes.into(),
    ),
    field(
        "spurious_retransmissions",
        "packets sent again although the receiver had them",
        |c, d| own(c, d).account.spurious_retransmissions.into(),
    ),
    field(
        "lost_on_network_packets",
        "packets the network dropped, every copy counted",
        |c, d| own(c, d).lost_on_network_packets.into(),
    ),
    field(
        "lost_on_network_bytes",
        "payload the network dropped, every copy counted",
        |c, d| own(c, d).lost_on_network_bytes.into(),
    ),
    field(
        "missing_from_capture_packets",
        "packets the receiver got and the capture lacks, of full size, at least one a gap",
        |c, d| own(c, d).counts.missing_from_capture_packets.into(),
    ),
    field(
        "missing_from_capture_bytes",
        "bytes the receiver acknowledged and the capture lacks",
        |c, d| own(c, d).counts.missing_from_capture_bytes.into(),
    ),
    field(
        "out_of_order_packets",
        "packets that others overtook on the way",
        |c, d| own(c, d).counts.out_of_order_packets.into(),
    ),
    field(
        "duplicate_packets",
        "packets the capture holds twice",
        |c, d| own(c, d).counts.duplicate_packets.into(),
    ),
    field(
        "duplicate_acks",
        "acknowledgements of this data by its receiver that say nothing new",
        |c, d| back(c, d).duplicate_acks.into(),
    ),
    field(
        "zero_windows",
        "how often the receiver of this data closed its window",
        |c, d| back(c, d).zero_windows.into(),
    ),
    field(
        "zero_window_ns",
        "how long that window was closed",
        |c, d| own(c, d).account.zero_window_ns.into(),
    ),
    field("mss", "maximum segment size, bytes", |c, d| {
        own(c, d).account.mss.into()
    }),
    field(
        "window_scale",
        "window scale as an exponent of 2",
        |c, d| own(c, d).account.window_scale.into(),
    ),
    field("sack", "selective acknowledgement offered", |c, d| {
        own(c, d).account.sack.into()
    }),
    field("timestamps", "TCP timestamps offered", |c, d| {
        own(c, d).account.timestamps.into()
    }),
    field(
        "rtt.count",
        "round trips from the point of capture to the receiver: how many are certain",
        |c, d| own(c, d).account.rtt.count.into(),
    ),
    field("rtt.min_ns", "the shortest of them", |c, d| {
        rtt(c, d, |r| r.min_ns)
    }),
    field("rtt.p50_ns", "half are shorter (within 2 %)", |c, d| {
        rtt(c, d, |r| r.p50_ns)
    }),
    field("rtt.p90_ns", "90 % are shorter (within 2 %)", |c, d| {
        rtt(c, d, |r| r.p90_ns)
    }),
    field("rtt.p99_ns", "99 % are shorter (within 2 %)", |c, d| {
        rtt(c, d, |r| r.p99_ns)
    }),
    field("rtt.max_ns", "the longest of them", |c, d| {
        rtt(c, d, |r| r.max_ns)
    }),
    field(
        "flight_max_bytes",
        "most bytes sent and not yet acknowledged",
        |c, d| own(c, d).account.flight_max_bytes.into(),
    ),
    field(
        "window_min_bytes",
        "smallest window above zero that the receiver of this data offered",
        |c, d| own(c, d).account.window_min_bytes.into(),
    ),
    field(
        "window_max_bytes",
        "largest window that it offered",
        |c, d| own(c, d).account.window_max_bytes.into(),
    ),
    field(
        "goodput_bps",
        "new payload in bits per second, from the first data to the last",
        |c, d| own(c, d).goodput_bps.into(),
    ),
    field(
        "segments_per_ack",
        "data segments for each acknowledgement that came back without data",
        segments_per_ack,
    ),
    field(
        "delayed_ack_ns",
        "median delay of acknowledgements that waited for a timer",
        |c, d| own(c, d).account.delayed_ack_ns.into(),
    ),
    field(
        "write_size_bytes",
        "what the application writes at once most often",
        |c, d| own(c, d).account.write_size_bytes.into(),
    ),
];

/// Of each direction, behind its time by class, as they came later and columns keep their places.
pub(super) const HABITS: [Field; 25] = [
    field(
        "writes",
        "what it wrote at once, of any size: ended by a push and a pause or an answer",
        |c, d| own(c, d).account.writes.into(),
    ),
    field(
        "segments.up_to_64_bytes",
        "data segments of up to 64 bytes of payload, as the capture has them",
        |c, d| segments(c, d, 0),
    ),
    field("segments.up_to_256_bytes", "of 65 to 256", |c, d| {
        segments(c, d, 1)
    }),
    field("segments.up_to_512_bytes", "of 257 to 512", |c, d| {
        segments(c, d, 2)
    }),
    field("segments.up_to_1460_bytes", "of 513 to 1,460", |c, d| {
        segments(c, d, 3)
    }),
    field(
        "segments.up_to_8960_bytes",
        "of 1,461 to 8,960: jumbo frames, or joined by offloading",
        |c, d| segments(c, d, 4),
    ),
    field(
        "segments.larger",
        "larger ones: joined, or not yet cut, by offloading",
        |c, d| segments(c, d, 5),
    ),
    field(
        "retransmissions.fast",
        "packets sent again because of duplicate or selective ACKs, and in the recovery after",
        |c, d| own(c, d).account.retransmissions.fast.into(),
    ),
    field(
        "retransmissions.timeout",
        "packets sent again after 200 ms without progress, and in the recovery after",
        |c, d| own(c, d).account.retransmissions.timeout.into(),
    ),
    field(
        "retransmissions.tail_probe",
        "last packets sent again sooner, to find out whether they arrived",
        |c, d| own(c, d).account.retransmissions.tail_probe.into(),
    ),
    field(
        "retransmissions.other",
        "packets sent again for which nothing tells why",
        |c, d| own(c, d).account.retransmissions.other.into(),
    ),
    field(
        "congestion_window.count",
        "how often the sender stopped though window and application had more, until an ACK came",
        |c, d| own(c, d).account.congestion_window.count.into(),
    ),
    field(
        "congestion_window.min_bytes",
        "what was in flight then, an estimate of the congestion window: the least",
        |c, d| congestion(c, d, |w| Some(w.min_bytes)),
    ),
    field("congestion_window.mean_bytes", "the mean", |c, d| {
        congestion(c, d, |w| w.mean_bytes())
    }),
    field("congestion_window.max_bytes", "the most", |c, d| {
        congestion(c, d, |w| Some(w.max_bytes))
    }),
    field("congestion_window.last_bytes", "the last", |c, d| {
        congestion(c, d, |w| Some(w.last_bytes))
    }),
    field(
        "pauses.count",
        "silences of the sender above 200 µs with nothing outstanding, until it sent again",
        |c, d| own(c, d).account.pauses.count.into(),
    ),
    field("pauses.total_ns", "all of them together", |c, d| {
        own(c, d).account.pauses.total_ns.into()
    }),
    field("pauses.longest_ns", "the longest", |c, d| {
        let longest = own(c, d).account.pauses.longest;
        longest.map(|wait| wait.ns).into()
    }),
    field(
        "stretch_acks",
        "acknowledgements without data of more than two full segments",
        |c, d| own(c, d).account.stretch_acks.into(),
    ),
    field(
        "ecn.negotiated",
        "whether both sides agreed on explicit congestion notification",
        |c, d| own(c, d).account.ecn_negotiated.into(),
    ),
    field(
        "ecn.capable_packets",
        "packets sent this way that routers may mark (ECT), marked ones included",
        |c, d| own(c, d).account.ecn.capable_packets.into(),
    ),
    field(
        "ecn.ce_packets",
        "packets sent this way that a router marked (CE)",
        |c, d| own(c, d).account.ecn.ce_packets.into(),
    ),
    field(
        "ecn.ece_packets",
        "packets by which the receiver of this data says that marks came (ECE, RFC 3168)",
        |c, d| own(c, d.reverse()).account.ecn.ece_packets.into(),
    ),
    field(
        "ecn.cwr_packets",
        "packets by which the sender says that it slowed down for them (CWR, RFC 3168)",
        |c, d| own(c, d).account.ecn.cwr_packets.into(),
    ),
];

pub(crate) fn own(c: &ConnectionResult, direction: Direction) -> &DirectionResult {
    c.direction(direction)
}

/// What is counted with the packets that come back: the receiver's windows and acknowledgements.
pub(crate) fn back(c: &ConnectionResult, direction: Direction) -> &DirectionSummary {
    &own(c, direction.reverse()).counts
}

/// A duration of the round trips; none is known without a sample.
fn rtt(c: &ConnectionResult, direction: Direction, get: fn(&RoundTrips) -> i64) -> Value {
    let rtt = &own(c, direction).account.rtt;
    (rtt.count > 0).then(|| get(rtt)).into()
}

fn segments(c: &ConnectionResult, direction: Direction, class: usize) -> Value {
    let sizes = own(c, direction).account.segment_sizes.0;
    sizes.get(class).copied().into()
}

/// What is known of the congestion window where it could be seen.
fn congestion(
    c: &ConnectionResult,
    direction: Direction,
    get: fn(&CongestionWindow) -> Option<u64>,
) -> Value {
    let window = &own(c, direction).account.congestion_window;
    (window.count > 0).then(|| get(window)).flatten().into()
}

fn segments_per_ack(c: &ConnectionResult, direction: Direction) -> Value {
    let account = &own(c, direction).account;
    if account.acknowledgements == 0 {
        return Value::Null;
    }
    let exact = account.segments_acknowledged as f64 / account.acknowledgements as f64;
    ((exact * 1000.0).round() / 1000.0).into()
}

/// The CSV column of a field: `rtt.p50_ns` is `rtt_p50_ns`.
pub(super) fn column(name: &str) -> String {
    name.replace('.', "_")
}

/// The CSV column of a time class; its unit comes last, as everywhere.
pub(super) fn class_column(class: TimeClass) -> String {
    format!("time_{}_ns", class.name().replace('-', "_"))
}
