//! What machine output says of a connection: each column once.
//!
//! What the receiver of a direction's data says of that data (windows, acknowledgements) stands with the
//! direction of the data, as it governs how that flows. The tracker counts some of it with the
//! packets that carry it, which go the other way: those are taken from [`back`](ConnRow::back).

use super::{capture_of, file_of};
use crate::classes::{self, words};
use crate::harmless::write_json;
use crate::table::rows::{key, object};
use crate::table::{Cell, Column, ColumnKind, Table, columns};
use analysis::results::{ConnectionResult, ConnsResult, DirectionResult};
use model::{CongestionWindow, Direction, DirectionSummary, Mark, RoundTrips, TimeClass};
use serde_json::{Value, json};
use std::sync::LazyLock;

/// The rows of `slowside conns`.
pub(crate) struct Conns;

impl Table for Conns {
    type Row<'a> = ConnRow<'a>;
}

/// A connection, and one of its directions.
#[derive(Clone, Copy)]
pub(crate) struct ConnRow<'a> {
    pub(crate) result: &'a ConnsResult,
    pub(crate) c: &'a ConnectionResult,
    pub(crate) d: Direction,
}

impl<'a> ConnRow<'a> {
    fn own(&self) -> &'a DirectionResult {
        own(self.c, self.d)
    }

    /// What is counted with the packets that come back: the receiver's windows and acknowledgements.
    fn back(&self) -> &'a DirectionSummary {
        back(self.c, self.d)
    }
}

type C = Column<Conns>;

/// Of the connection, before its directions.
pub(super) const CONNECTION: &[C] = &columns! {
    "number" Ordinal "counts from 1 in the order of first packets; what --connection takes"
        |r| r.c.number;
    "client" Text "address:port of who opened it" |r| r.c.client.to_string();
    "server" Text "address:port of the other end" |r| r.c.server.to_string();
    "protocol" Text "what it carries, as in the column of `slowside calls`"
        |r| r.c.protocol.map(|p| p.name()) => or_null;
    "first_ns" Time "time of its first packet, since the epoch" |r| r.c.first.0;
    "last_ns" Time "time of its last packet, since the epoch" |r| r.c.last.0;
    "vantage" Text "where it was captured: client, server, middle, unknown" |r| r.c.vantage.name();
    "vantage_from" Text "what that was concluded from, in words" |r| r.c.vantage_from.words().to_string();
    "vantage_confidence" Number "how sure that is, 0 to 1" |r| r.c.vantage_confidence;
    "close" Text "how it ended: finished, reset, replaced, forgotten, evicted, expired, end-of-capture"
        |r| r.c.close.name();
    "seen" Flag "whether SYN and SYN/ACK are in the capture"
        |r| r.c.handshake.seen => within("handshake");
    "syn_retries" Count "SYNs sent again" |r| r.c.handshake.syn_retries => within("handshake");
    "synack_retries" Count "SYN/ACKs sent again"
        |r| r.c.handshake.syn_ack_retries => within("handshake");
    "syn_to_synack_ns" Duration "from the last SYN to the SYN/ACK: from the point of capture to the server and back"
        |r| r.c.handshake.syn_to_syn_ack_ns => within("handshake") or_null;
    "synack_to_ack_ns" Duration "from there to the client's acknowledgement: to the client and back"
        |r| r.c.handshake.syn_ack_to_ack_ns => within("handshake") or_null;
    "at_stake_ns" Duration "time not idle, of the direction with more of it; connections are sorted by it"
        |r| r.c.at_stake_ns;
    "direction" Text "the direction of the longest wait: client_to_server or server_to_client"
        |r| r.c.top.map(|(d, ..)| classes::direction(d)) => within("top");
    "class" Text "its time class" |r| r.c.top.map(|(_, class, _)| class.name()) => within("top");
    "ns" Duration "how long it was, all stretches together"
        |r| r.c.top.map(|(.., ns)| ns) => within("top");
};

/// JSON has both directions inside of the connection, CSV has a row for each.
const WHICH: [C; 2] = [
    C::json(
        "directions",
        "object",
        "client_to_server and server_to_client",
        directions,
    )
    .only_json(),
    C::new("direction", ColumnKind::Text, "", |r| {
        classes::direction(r.d).into()
    })
    .only_csv(),
];

/// Of each direction, before its time by class.
const SENT: &[C] = &columns! {
    "packets" Count "packets sent this way" |r| r.own().counts.packets;
    "payload_bytes" Bytes "payload sent this way, retransmitted bytes included"
        |r| r.own().counts.payload_bytes;
    "retransmitted_packets" Count "packets with bytes that were sent before"
        |r| r.own().counts.retransmitted_packets;
    "retransmitted_bytes" Bytes "bytes that were sent before"
        |r| r.own().counts.retransmitted_bytes;
    "spurious_retransmissions" Count "packets sent again although the receiver had them"
        |r| r.own().account.spurious_retransmissions;
    "lost_on_network_packets" Count "packets the network dropped, every copy counted"
        |r| r.own().lost_on_network_packets => or_null;
    "lost_on_network_bytes" Bytes "payload the network dropped, every copy counted"
        |r| r.own().lost_on_network_bytes => or_null;
    "missing_from_capture_packets" Count "packets the receiver got and the capture lacks, of full size, at least one a gap"
        |r| r.own().counts.missing_from_capture_packets;
    "missing_from_capture_bytes" Bytes "bytes the receiver acknowledged and the capture lacks"
        |r| r.own().counts.missing_from_capture_bytes;
    "out_of_order_packets" Count "packets that others overtook on the way"
        |r| r.own().counts.out_of_order_packets;
    "duplicate_packets" Count "packets the capture holds twice"
        |r| r.own().counts.duplicate_packets;
    "duplicate_acks" Count "acknowledgements of this data by its receiver that say nothing new"
        |r| r.back().duplicate_acks;
    "zero_windows" Count "how often the receiver of this data closed its window"
        |r| r.back().zero_windows;
    "zero_window_ns" Duration "how long that window was closed" |r| r.own().account.zero_window_ns;
    "mss" Count "maximum segment size, bytes" |r| r.own().account.mss => or_null;
    "window_scale" Count "window scale as an exponent of 2"
        |r| r.own().account.window_scale => or_null;
    "sack" Flag "whether both sides agreed on selective acknowledgements; unknown without both SYNs" |r| r.own().account.sack => or_null;
    "timestamps" Flag "whether both sides agreed on timestamps; unknown without both SYNs" |r| r.own().account.timestamps => or_null;
    "count" Count "round trips from the point of capture to the receiver: how many are certain"
        |r| r.own().account.rtt.count => within("rtt");
    "min_ns" Duration "the shortest of them" |r| rtt(r, |r| r.min_ns) => within("rtt") or_null;
    "p50_ns" Duration "half are shorter (within 2 %)"
        |r| rtt(r, |r| r.p50_ns) => within("rtt") or_null;
    "p90_ns" Duration "90 % are shorter (within 2 %)"
        |r| rtt(r, |r| r.p90_ns) => within("rtt") or_null;
    "p99_ns" Duration "99 % are shorter (within 2 %)"
        |r| rtt(r, |r| r.p99_ns) => within("rtt") or_null;
    "max_ns" Duration "the longest of them" |r| rtt(r, |r| r.max_ns) => within("rtt") or_null;
    "flight_max_bytes" Bytes "most bytes sent and not yet acknowledged"
        |r| r.own().account.flight_max_bytes;
    "window_min_bytes" Bytes "smallest window above zero that the receiver of this data offered"
        |r| r.own().account.window_min_bytes => or_null;
    "window_max_bytes" Bytes "largest window that it offered"
        |r| r.own().account.window_max_bytes => or_null;
    "goodput_bps" Rate "new payload in bits per second, from the first data to the last"
        |r| r.own().goodput_bps => or_null;
    "segments_per_ack" Number "data segments for each acknowledgement that came back without data"
        |r| segments_per_ack(r) => or_null;
    "delayed_ack_ns" Duration "median delay of acknowledgements that waited for a timer"
        |r| r.own().account.delayed_ack_ns => or_null;
    "write_size_bytes" Bytes "what the application writes at once most often"
        |r| r.own().account.write_size_bytes => or_null;
};

const LONGEST: C = C::json(
    "longest",
    "array",
    "the longest stretch of each class: class, ns, first and last frame, index of the capture, files \
     of the frames (JSON only)",
    longest,
)
.only_json();

/// Of each direction, behind its time by class, as they came later and columns keep their places.
const HABITS: &[C] = &columns! {
    "writes" Count "what it wrote at once, of any size: ended by a push and a pause or an answer"
        |r| r.own().account.writes;
    "up_to_64_bytes" Bytes "data segments of up to 64 bytes of payload, as the capture has them"
        |r| segments(r, 0) => within("segments");
    "up_to_256_bytes" Bytes "of 65 to 256" |r| segments(r, 1) => within("segments");
    "up_to_512_bytes" Bytes "of 257 to 512" |r| segments(r, 2) => within("segments");
    "up_to_1460_bytes" Bytes "of 513 to 1,460" |r| segments(r, 3) => within("segments");
    "up_to_8960_bytes" Bytes "of 1,461 to 8,960: jumbo frames, or joined by offloading"
        |r| segments(r, 4) => within("segments");
    "larger" Count "larger ones: joined, or not yet cut, by offloading"
        |r| segments(r, 5) => within("segments");
    "fast" Count "packets sent again because of duplicate or selective ACKs, and in the recovery after"
        |r| r.own().account.retransmissions.fast => within("retransmissions");
    "timeout" Count "packets sent again after 200 ms without progress, and in the recovery after"
        |r| r.own().account.retransmissions.timeout => within("retransmissions");
    "tail_probe" Count "last packets sent again sooner, to find out whether they arrived"
        |r| r.own().account.retransmissions.tail_probe => within("retransmissions");
    "other" Count "packets sent again for which nothing tells why"
        |r| r.own().account.retransmissions.other => within("retransmissions");
    "count" Count "how often the sender stopped though window and application had more, until an ACK came"
        |r| r.own().account.congestion_window.count => within("congestion_window");
    "min_bytes" Bytes "what was in flight then, an estimate of the congestion window: the least"
        |r| congestion(r, |w| Some(w.min_bytes)) => within("congestion_window") or_null;
    "mean_bytes" Bytes "the mean"
        |r| congestion(r, |w| w.mean_bytes()) => within("congestion_window") or_null;
    "max_bytes" Bytes "the most"
        |r| congestion(r, |w| Some(w.max_bytes)) => within("congestion_window") or_null;
    "last_bytes" Bytes "the last"
        |r| congestion(r, |w| Some(w.last_bytes)) => within("congestion_window") or_null;
    "count" Count "silences of the sender above 200 µs with nothing outstanding, until it sent again"
        |r| r.own().account.pauses.count => within("pauses");
    "total_ns" Duration "all of them together"
        |r| r.own().account.pauses.total_ns => within("pauses");
    "longest_ns" Duration "the longest"
        |r| r.own().account.pauses.longest.map(|wait| wait.ns) => within("pauses") or_null;
    "stretch_acks" Count "acknowledgements without data of more than two full segments"
        |r| r.own().account.stretch_acks;
    "negotiated" Flag "whether both sides agreed on explicit congestion notification"
        |r| r.own().account.ecn_negotiated => within("ecn") or_null;
    "capable_packets" Count "packets sent this way that routers may mark (ECT), marked ones included"
        |r| r.own().account.ecn.capable_packets => within("ecn");
    "ce_packets" Count "packets sent this way that a router marked (CE)"
        |r| r.own().account.ecn.ce_packets => within("ecn");
    "ece_packets" Count "packets by which the receiver of this data says that marks came (ECE, RFC 3168)"
        |r| own(r.c, r.d.reverse()).account.ecn.ece_packets => within("ecn");
    "cwr_packets" Count "packets by which the sender says that it slowed down for them (CWR, RFC 3168)"
        |r| r.own().account.ecn.cwr_packets => within("ecn");
};

/// Of the connection, behind all that was there before.
pub(super) const SESSION: &[C] = &columns! {
    "sdu_bytes" Bytes "session data unit of SQL*Net that was agreed on"
        |r| r.c.sqlnet.and_then(|s| s.sdu_bytes) => within("sqlnet") or_null;
    "sdu_offered_bytes" Bytes "the one that the client asked for"
        |r| r.c.sqlnet.and_then(|s| s.sdu_offered_bytes) => within("sqlnet") or_null;
    "tdu_bytes" Bytes "transport data unit that was agreed on"
        |r| r.c.sqlnet.and_then(|s| s.tdu_bytes) => within("sqlnet") or_null;
    "tdu_offered_bytes" Bytes "the one that the client asked for"
        |r| r.c.sqlnet.and_then(|s| s.tdu_offered_bytes) => within("sqlnet") or_null;
    "purpose" Text "what the session is for, where it is no application's: redo-transport, data-guard-broker, goldengate"
        |r| r.c.sqlnet.and_then(|s| s.purpose).map(|p| p.name()) => within("sqlnet") or_null;
};

/// Of each direction.
pub(super) static DIRECTION: LazyLock<Vec<C>> = LazyLock::new(|| {
    let time = |class: TimeClass| {
        C::of(
            class.name(),
            ColumnKind::Duration,
            words(class).meaning,
            |r, c| {
                let mut times = r.own().account.time_ns.iter();
                let time = times.find(|(class, _)| class.name() == c.name);
                time.map(|(_, ns)| *ns).into()
            },
        )
        .within("time_ns")
    };
    let mut columns = SENT.to_vec();
    columns.extend(TimeClass::ALL.map(time));
    columns.push(LONGEST);
    columns.extend(HABITS);
    columns
});

/// All columns.
pub(crate) fn columns() -> Vec<C> {
    let direction = DIRECTION.iter().map(|c| c.only_csv());
    let connection = CONNECTION.iter().copied();
    let all = connection.chain(WHICH).chain(direction);
    all.chain(SESSION.iter().copied()).collect()
}

fn directions(r: &ConnRow<'_>, out: &mut Vec<u8>) {
    out.push(b'{');
    for d in Direction::BOTH {
        key(classes::direction(d), out);
        object(&DIRECTION, &ConnRow { d, ..*r }, out);
    }
    out.push(b'}');
}

fn longest(r: &ConnRow<'_>, out: &mut Vec<u8>) {
    let capture = capture_of(r.result, r.c, r.d);
    let file = |mark: Mark| file_of(r.result, capture, mark);
    let waits = r.own().account.longest.iter();
    let waits = waits.filter_map(|(class, wait)| Some((class, (*wait)?)));
    let waits: Value = waits
        .map(|(class, wait)| {
            json!({
                "class": class.name(),
                "ns": wait.ns,
                "frames": [wait.first.packet.frame, wait.last.packet.frame],
                "capture": capture,
                "files": [file(wait.first), file(wait.last)],
            })
        })
        .collect();
    // Writing to memory cannot fail.
    drop(write_json(out, &waits));
}

pub(crate) fn own(c: &ConnectionResult, direction: Direction) -> &DirectionResult {
    c.direction(direction)
}

/// What is counted with the packets that come back.
pub(crate) fn back(c: &ConnectionResult, direction: Direction) -> &DirectionSummary {
    &own(c, direction.reverse()).counts
}

/// A duration of the round trips; none is known without a sample.
fn rtt<'a>(r: &ConnRow<'_>, get: fn(&RoundTrips) -> i64) -> Cell<'a> {
    let rtt = &r.own().account.rtt;
    (rtt.count > 0).then(|| get(rtt)).into()
}

fn segments<'a>(r: &ConnRow<'_>, class: usize) -> Cell<'a> {
    let sizes = r.own().account.segment_sizes.0;
    sizes.get(class).copied().into()
}

/// What is known of the congestion window where it could be seen.
fn congestion<'a>(r: &ConnRow<'_>, get: fn(&CongestionWindow) -> Option<u64>) -> Cell<'a> {
    let window = &r.own().account.congestion_window;
    (window.count > 0).then(|| get(window)).flatten().into()
}

fn segments_per_ack<'a>(r: &ConnRow<'_>) -> Cell<'a> {
    let account = &r.own().account;
    if account.acknowledgements == 0 {
        return Cell::Unknown;
    }
    let exact = account.segments_acknowledged as f64 / account.acknowledgements as f64;
    ((exact * 1000.0).round() / 1000.0).into()
}
