//! What machine output says of a connection: each column once.
//!
//! What the receiver of a direction's data says of that data (windows, acknowledgements) stands with the
//! direction of the data, as it governs how that flows. The tracker counts some of it with the
//! packets that carry it, which go the other way: those are taken from [`back`](ConnRow::back).

use super::{DIRECTIONS, capture_of, file_of};
use crate::classes::{self, words};
use crate::table::rows::{key, object};
use crate::table::{Cell, Column, Kind, Table};
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
pub(super) const CONNECTION: [C; 19] = [
    C::new(
        "number",
        Kind::Count,
        "counts from 1 in the order of first packets; what --connection takes",
        |r| r.c.number.into(),
    ),
    C::new("client", Kind::Text, "address:port of who opened it", |r| {
        r.c.client.to_string().into()
    }),
    C::new("server", Kind::Text, "address:port of the other end", |r| {
        r.c.server.to_string().into()
    }),
    C::new(
        "protocol",
        Kind::Text,
        "what it carries, as in the column of `slowside calls`",
        |r| r.c.protocol.map(|p| p.name()).into(),
    )
    .or_null(),
    C::new(
        "first_ns",
        Kind::Time,
        "time of its first packet, since the epoch",
        |r| r.c.first.0.into(),
    ),
    C::new(
        "last_ns",
        Kind::Time,
        "time of its last packet, since the epoch",
        |r| r.c.last.0.into(),
    ),
    C::new(
        "vantage",
        Kind::Text,
        "where it was captured: client, server, middle, unknown",
        |r| r.c.vantage.name().into(),
    ),
    C::new(
        "vantage_from",
        Kind::Text,
        "what that was concluded from, in words",
        |r| r.c.vantage_from.to_string().into(),
    ),
    C::new(
        "vantage_confidence",
        Kind::Number,
        "how sure that is, 0 to 1",
        |r| r.c.vantage_confidence.into(),
    ),
    C::new(
        "close",
        Kind::Text,
        "how it ended: finished, reset, replaced, forgotten, expired, end-of-capture",
        |r| r.c.close.name().into(),
    ),
    C::new(
        "seen",
        Kind::Flag,
        "whether SYN and SYN/ACK are in the capture",
        |r| r.c.handshake.seen.into(),
    )
    .within("handshake"),
    C::new("syn_retries", Kind::Count, "SYNs sent again", |r| {
        r.c.handshake.syn_retries.into()
    })
    .within("handshake"),
    C::new("synack_retries", Kind::Count, "SYN/ACKs sent again", |r| {
        r.c.handshake.syn_ack_retries.into()
    })
    .within("handshake"),
    C::new(
        "syn_to_synack_ns",
        Kind::Duration,
        "from the last SYN to the SYN/ACK: from the point of capture to the server and back",
        |r| r.c.handshake.syn_to_syn_ack_ns.into(),
    )
    .within("handshake")
    .or_null(),
    C::new(
        "synack_to_ack_ns",
        Kind::Duration,
        "from there to the client's acknowledgement: to the client and back",
        |r| r.c.handshake.syn_ack_to_ack_ns.into(),
    )
    .within("handshake")
    .or_null(),
    C::new(
        "at_stake_ns",
        Kind::Duration,
        "time not idle, of the direction with more of it; connections are sorted by it",
        |r| r.c.at_stake_ns.into(),
    ),
    C::new(
        "direction",
        Kind::Text,
        "the direction of the longest wait: client_to_server or server_to_client",
        |r| r.c.top.map(|(d, ..)| classes::direction(d)).into(),
    )
    .within("top"),
    C::new("class", Kind::Text, "its time class", |r| {
        r.c.top.map(|(_, class, _)| class.name()).into()
    })
    .within("top"),
    C::new(
        "ns",
        Kind::Duration,
        "how long it was, all stretches together",
        |r| r.c.top.map(|(.., ns)| ns).into(),
    )
    .within("top"),
];

/// JSON has both directions inside of the connection, CSV has a row for each.
const WHICH: [C; 2] = [
    C::json(
        "directions",
        "object",
        "client_to_server and server_to_client",
        directions,
    )
    .only_json(),
    C::new("direction", Kind::Text, "", |r| {
        classes::direction(r.d).into()
    })
    .only_csv(),
];

/// Of each direction, before its time by class.
const SENT: [C; 31] = [
    C::new("packets", Kind::Count, "packets sent this way", |r| {
        r.own().counts.packets.into()
    }),
    C::new(
        "payload_bytes",
        Kind::Bytes,
        "payload sent this way, retransmitted bytes included",
        |r| r.own().counts.payload_bytes.into(),
    ),
    C::new(
        "retransmitted_packets",
        Kind::Count,
        "packets with bytes that were sent before",
        |r| r.own().counts.retransmitted_packets.into(),
    ),
    C::new(
        "retransmitted_bytes",
        Kind::Bytes,
        "bytes that were sent before",
        |r| r.own().counts.retransmitted_bytes.into(),
    ),
    C::new(
        "spurious_retransmissions",
        Kind::Count,
        "packets sent again although the receiver had them",
        |r| r.own().account.spurious_retransmissions.into(),
    ),
    C::new(
        "lost_on_network_packets",
        Kind::Count,
        "packets the network dropped, every copy counted",
        |r| r.own().lost_on_network_packets.into(),
    )
    .or_null(),
    C::new(
        "lost_on_network_bytes",
        Kind::Bytes,
        "payload the network dropped, every copy counted",
        |r| r.own().lost_on_network_bytes.into(),
    )
    .or_null(),
    C::new(
        "missing_from_capture_packets",
        Kind::Count,
        "packets the receiver got and the capture lacks, of full size, at least one a gap",
        |r| r.own().counts.missing_from_capture_packets.into(),
    ),
    C::new(
        "missing_from_capture_bytes",
        Kind::Bytes,
        "bytes the receiver acknowledged and the capture lacks",
        |r| r.own().counts.missing_from_capture_bytes.into(),
    ),
    C::new(
        "out_of_order_packets",
        Kind::Count,
        "packets that others overtook on the way",
        |r| r.own().counts.out_of_order_packets.into(),
    ),
    C::new(
        "duplicate_packets",
        Kind::Count,
        "packets the capture holds twice",
        |r| r.own().counts.duplicate_packets.into(),
    ),
    C::new(
        "duplicate_acks",
        Kind::Count,
        "acknowledgements of this data by its receiver that say nothing new",
        |r| r.back().duplicate_acks.into(),
    ),
    C::new(
        "zero_windows",
        Kind::Count,
        "how often the receiver of this data closed its window",
        |r| r.back().zero_windows.into(),
    ),
    C::new(
        "zero_window_ns",
        Kind::Duration,
        "how long that window was closed",
        |r| r.own().account.zero_window_ns.into(),
    ),
    C::new("mss", Kind::Count, "maximum segment size, bytes", |r| {
        r.own().account.mss.into()
    })
    .or_null(),
    C::new(
        "window_scale",
        Kind::Count,
        "window scale as an exponent of 2",
        |r| r.own().account.window_scale.into(),
    )
    .or_null(),
    C::new(
        "sack",
        Kind::Flag,
        "selective acknowledgement offered",
        |r| r.own().account.sack.into(),
    )
    .or_null(),
    C::new("timestamps", Kind::Flag, "TCP timestamps offered", |r| {
        r.own().account.timestamps.into()
    })
    .or_null(),
    C::new(
        "count",
        Kind::Count,
        "round trips from the point of capture to the receiver: how many are certain",
        |r| r.own().account.rtt.count.into(),
    )
    .within("rtt"),
    C::new("min_ns", Kind::Duration, "the shortest of them", |r| {
        rtt(r, |r| r.min_ns)
    })
    .within("rtt")
    .or_null(),
    C::new(
        "p50_ns",
        Kind::Duration,
        "half are shorter (within 2 %)",
        |r| rtt(r, |r| r.p50_ns),
    )
    .within("rtt")
    .or_null(),
    C::new(
        "p90_ns",
        Kind::Duration,
        "90 % are shorter (within 2 %)",
        |r| rtt(r, |r| r.p90_ns),
    )
    .within("rtt")
    .or_null(),
    C::new(
        "p99_ns",
        Kind::Duration,
        "99 % are shorter (within 2 %)",
        |r| rtt(r, |r| r.p99_ns),
    )
    .within("rtt")
    .or_null(),
    C::new("max_ns", Kind::Duration, "the longest of them", |r| {
        rtt(r, |r| r.max_ns)
    })
    .within("rtt")
    .or_null(),
    C::new(
        "flight_max_bytes",
        Kind::Bytes,
        "most bytes sent and not yet acknowledged",
        |r| r.own().account.flight_max_bytes.into(),
    ),
    C::new(
        "window_min_bytes",
        Kind::Bytes,
        "smallest window above zero that the receiver of this data offered",
        |r| r.own().account.window_min_bytes.into(),
    )
    .or_null(),
    C::new(
        "window_max_bytes",
        Kind::Bytes,
        "largest window that it offered",
        |r| r.own().account.window_max_bytes.into(),
    )
    .or_null(),
    C::new(
        "goodput_bps",
        Kind::Rate,
        "new payload in bits per second, from the first data to the last",
        |r| r.own().goodput_bps.into(),
    )
    .or_null(),
    C::new(
        "segments_per_ack",
        Kind::Number,
        "data segments for each acknowledgement that came back without data",
        segments_per_ack,
    )
    .or_null(),
    C::new(
        "delayed_ack_ns",
        Kind::Duration,
        "median delay of acknowledgements that waited for a timer",
        |r| r.own().account.delayed_ack_ns.into(),
    )
    .or_null(),
    C::new(
        "write_size_bytes",
        Kind::Bytes,
        "what the application writes at once most often",
        |r| r.own().account.write_size_bytes.into(),
    )
    .or_null(),
];

const LONGEST: C = C::json(
    "longest",
    "array",
    "the longest stretch of each class: class, ns, first and last frame, index of the capture, files \
     of the frames (JSON only)",
    longest,
)
.only_json();

/// Of each direction, behind its time by class, as they came later and columns keep their places.
const HABITS: [C; 25] = [
    C::new(
        "writes",
        Kind::Count,
        "what it wrote at once, of any size: ended by a push and a pause or an answer",
        |r| r.own().account.writes.into(),
    ),
    C::new(
        "up_to_64_bytes",
        Kind::Count,
        "data segments of up to 64 bytes of payload, as the capture has them",
        |r| segments(r, 0),
    )
    .within("segments"),
    C::new("up_to_256_bytes", Kind::Count, "of 65 to 256", |r| {
        segments(r, 1)
    })
    .within("segments"),
    C::new("up_to_512_bytes", Kind::Count, "of 257 to 512", |r| {
        segments(r, 2)
    })
    .within("segments"),
    C::new("up_to_1460_bytes", Kind::Count, "of 513 to 1,460", |r| {
        segments(r, 3)
    })
    .within("segments"),
    C::new(
        "up_to_8960_bytes",
        Kind::Count,
        "of 1,461 to 8,960: jumbo frames, or joined by offloading",
        |r| segments(r, 4),
    )
    .within("segments"),
    C::new(
        "larger",
        Kind::Count,
        "larger ones: joined, or not yet cut, by offloading",
        |r| segments(r, 5),
    )
    .within("segments"),
    C::new(
        "fast",
        Kind::Count,
        "packets sent again because of duplicate or selective ACKs, and in the recovery after",
        |r| r.own().account.retransmissions.fast.into(),
    )
    .within("retransmissions"),
    C::new(
        "timeout",
        Kind::Count,
        "packets sent again after 200 ms without progress, and in the recovery after",
        |r| r.own().account.retransmissions.timeout.into(),
    )
    .within("retransmissions"),
    C::new(
        "tail_probe",
        Kind::Count,
        "last packets sent again sooner, to find out whether they arrived",
        |r| r.own().account.retransmissions.tail_probe.into(),
    )
    .within("retransmissions"),
    C::new(
        "other",
        Kind::Count,
        "packets sent again for which nothing tells why",
        |r| r.own().account.retransmissions.other.into(),
    )
    .within("retransmissions"),
    C::new(
        "count",
        Kind::Count,
        "how often the sender stopped though window and application had more, until an ACK came",
        |r| r.own().account.congestion_window.count.into(),
    )
    .within("congestion_window"),
    C::new(
        "min_bytes",
        Kind::Bytes,
        "what was in flight then, an estimate of the congestion window: the least",
        |r| congestion(r, |w| Some(w.min_bytes)),
    )
    .within("congestion_window")
    .or_null(),
    C::new("mean_bytes", Kind::Bytes, "the mean", |r| {
        congestion(r, |w| w.mean_bytes())
    })
    .within("congestion_window")
    .or_null(),
    C::new("max_bytes", Kind::Bytes, "the most", |r| {
        congestion(r, |w| Some(w.max_bytes))
    })
    .within("congestion_window")
    .or_null(),
    C::new("last_bytes", Kind::Bytes, "the last", |r| {
        congestion(r, |w| Some(w.last_bytes))
    })
    .within("congestion_window")
    .or_null(),
    C::new(
        "count",
        Kind::Count,
        "silences of the sender above 200 µs with nothing outstanding, until it sent again",
        |r| r.own().account.pauses.count.into(),
    )
    .within("pauses"),
    C::new("total_ns", Kind::Duration, "all of them together", |r| {
        r.own().account.pauses.total_ns.into()
    })
    .within("pauses"),
    C::new("longest_ns", Kind::Duration, "the longest", |r| {
        let longest = r.own().account.pauses.longest;
        longest.map(|wait| wait.ns).into()
    })
    .within("pauses")
    .or_null(),
    C::new(
        "stretch_acks",
        Kind::Count,
        "acknowledgements without data of more than two full segments",
        |r| r.own().account.stretch_acks.into(),
    ),
    C::new(
        "negotiated",
        Kind::Flag,
        "whether both sides agreed on explicit congestion notification",
        |r| r.own().account.ecn_negotiated.into(),
    )
    .within("ecn")
    .or_null(),
    C::new(
        "capable_packets",
        Kind::Count,
        "packets sent this way that routers may mark (ECT), marked ones included",
        |r| r.own().account.ecn.capable_packets.into(),
    )
    .within("ecn"),
    C::new(
        "ce_packets",
        Kind::Count,
        "packets sent this way that a router marked (CE)",
        |r| r.own().account.ecn.ce_packets.into(),
    )
    .within("ecn"),
    C::new(
        "ece_packets",
        Kind::Count,
        "packets by which the receiver of this data says that marks came (ECE, RFC 3168)",
        |r| own(r.c, r.d.reverse()).account.ecn.ece_packets.into(),
    )
    .within("ecn"),
    C::new(
        "cwr_packets",
        Kind::Count,
        "packets by which the sender says that it slowed down for them (CWR, RFC 3168)",
        |r| r.own().account.ecn.cwr_packets.into(),
    )
    .within("ecn"),
];

/// Of each direction.
pub(super) static DIRECTION: LazyLock<Vec<C>> = LazyLock::new(|| {
    let time = |class: TimeClass| {
        C::of(
            class.name(),
            Kind::Duration,
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
pub(super) fn columns() -> Vec<C> {
    let direction = DIRECTION.iter().map(|c| c.only_csv());
    CONNECTION
        .into_iter()
        .chain(WHICH)
        .chain(direction)
        .collect()
}

fn directions(r: &ConnRow<'_>, out: &mut Vec<u8>) {
    out.push(b'{');
    for d in DIRECTIONS {
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
    drop(serde_json::to_writer(out, &waits));
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
