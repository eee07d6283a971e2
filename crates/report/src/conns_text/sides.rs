//! What was counted and measured of a connection, both directions side by side.

use super::NONE;
use crate::conns::fields::{back, own};
use crate::text::{Grid, bytes, counted, grouped, rate};
use analysis::results::ConnectionResult;
use model::{Direction, DirectionAccount, Retransmissions, format_duration};

/// A row of the side-by-side table: what it is, and the cell of a direction. It is left out where
/// nothing is known of either.
type Row = (&'static str, fn(&ConnectionResult, Direction) -> String);

fn known<T>(value: Option<T>, show: impl Fn(T) -> String) -> String {
    value.map_or(NONE.to_owned(), show)
}

/// Packets and their bytes in one cell.
fn amount(packets: u64, n: u64) -> String {
    if packets == 0 {
        return "0".to_owned();
    }
    format!("{} ({})", grouped(packets), bytes(n))
}

pub(super) fn account(c: &ConnectionResult, direction: Direction) -> &DirectionAccount {
    &own(c, direction).account
}

const SENT: [Row; 18] = [
    ("packets", |c, d| grouped(own(c, d).counts.packets)),
    ("payload", |c, d| bytes(own(c, d).counts.payload_bytes)),
    ("goodput", |c, d| known(own(c, d).goodput_bps, rate)),
    ("sent again", |c, d| {
        let counts = &own(c, d).counts;
        amount(counts.retransmitted_packets, counts.retransmitted_bytes)
    }),
    ("  asked for by ACKs", |c, d| again(c, d, |r| r.fast)),
    ("  as the timer ran out", |c, d| again(c, d, |r| r.timeout)),
    ("  as a tail probe", |c, d| again(c, d, |r| r.tail_probe)),
    ("  it is not known why", |c, d| again(c, d, |r| r.other)),
    ("  though it had arrived", |c, d| {
        grouped(account(c, d).spurious_retransmissions)
    }),
    ("lost on the network", |c, d| {
        let lost = own(c, d);
        known(lost.lost_on_network_packets, |packets| {
            amount(packets, lost.lost_on_network_bytes.unwrap_or(0))
        })
    }),
    ("missing from the capture", |c, d| {
        let counts = &own(c, d).counts;
        amount(
            counts.missing_from_capture_packets,
            counts.missing_from_capture_bytes,
        )
    }),
    ("out of order", |c, d| {
        grouped(own(c, d).counts.out_of_order_packets)
    }),
    ("twice in the capture", |c, d| {
        grouped(own(c, d).counts.duplicate_packets)
    }),
    ("most in flight", |c, d| {
        bytes(account(c, d).flight_max_bytes)
    }),
    ("written at once", |c, d| {
        let a = account(c, d);
        known(a.write_size_bytes, |size| {
            let (times, writes) = (grouped(a.writes_of_that_size), grouped(a.writes));
            format!("{} ({times} of {writes})", bytes(size))
        })
    }),
    ("congestion window, about", |c, d| {
        let w = &account(c, d).congestion_window;
        let seen = Some(w).filter(|w| w.count > 0);
        known(seen, |w| match (w.min_bytes, w.max_bytes) {
            (min, max) if min == max => bytes(max),
            (min, max) => format!("{} to {}", bytes(min), bytes(max)),
        })
    }),
    ("pauses", |c, d| {
        let pauses = &account(c, d).pauses;
        match pauses.count {
            0 => NONE.to_owned(),
            n => format!("{}, {}", grouped(n), format_duration(pauses.total_ns)),
        }
    }),
    ("  longest", |c, d| {
        known(account(c, d).pauses.longest, |p| format_duration(p.ns))
    }),
];

const SIZES: [Row; 6] = [
    ("up to 64 B", |c, d| sized(c, d, 0)),
    ("65 to 256 B", |c, d| sized(c, d, 1)),
    ("257 to 512 B", |c, d| sized(c, d, 2)),
    ("513 to 1,460 B", |c, d| sized(c, d, 3)),
    ("1,461 to 8,960 B", |c, d| sized(c, d, 4)),
    ("larger (offload)", |c, d| sized(c, d, 5)),
];

fn sized(c: &ConnectionResult, d: Direction, class: usize) -> String {
    let sizes = account(c, d).segment_sizes.0;
    some(sizes.get(class).copied().unwrap_or(0))
}

/// A count that is worth a line only where there is something to count.
fn some(n: u64) -> String {
    known(Some(n).filter(|&n| n > 0), grouped)
}

fn again(c: &ConnectionResult, d: Direction, get: fn(&Retransmissions) -> u64) -> String {
    some(get(&account(c, d).retransmissions))
}

const PATH: [Row; 6] = [
    ("round trips measured", |c, d| {
        grouped(account(c, d).rtt.count)
    }),
    ("  shortest", |c, d| rtt(c, d, |a| a.rtt.min_ns)),
    ("  median", |c, d| rtt(c, d, |a| a.rtt.p50_ns)),
    ("  90 % within", |c, d| rtt(c, d, |a| a.rtt.p90_ns)),
    ("  99 % within", |c, d| rtt(c, d, |a| a.rtt.p99_ns)),
    ("  longest", |c, d| rtt(c, d, |a| a.rtt.max_ns)),
];

/// Whether nothing tells how windows are scaled.
fn scale_is_unknown(c: &ConnectionResult, d: Direction) -> bool {
    let a = account(c, d);
    !c.handshake.seen && a.window_scale.is_none() && a.window_max_bytes.is_none()
}

const RECEIVER: [Row; 16] = [
    ("window, smallest", |c, d| {
        known(account(c, d).window_min_bytes, bytes)
    }),
    ("window, largest", |c, d| {
        known(account(c, d).window_max_bytes, bytes)
    }),
    // Nobody sends more than it is offered.
    ("window, at least", |c, d| {
        let flight = account(c, d).flight_max_bytes;
        let proven = Some(flight).filter(|&n| n > 0 && scale_is_unknown(c, d));
        known(proven, bytes)
    }),
    ("window closed", |c, d| match back(c, d).zero_windows {
        0 => "never".to_owned(),
        n => {
            let ns = account(c, d).zero_window_ns;
            format!("{}, {}", counted(n, "time"), format_duration(ns))
        }
    }),
    ("duplicate ACKs", |c, d| grouped(back(c, d).duplicate_acks)),
    ("data segments per ACK", |c, d| {
        let a = account(c, d);
        let acks = Some(a.acknowledgements).filter(|&n| n > 0);
        known(acks, |n| {
            format!("{:.2}", a.segments_acknowledged as f64 / n as f64)
        })
    }),
    ("stretch ACKs", |c, d| some(account(c, d).stretch_acks)),
    ("delayed ACKs", |c, d| {
        let a = account(c, d);
        match a.delayed_ack_ns {
            Some(ns) => format!("{} of {}", grouped(a.delayed_acks), format_duration(ns)),
            None => grouped(a.delayed_acks),
        }
    }),
    ("maximum segment", |c, d| {
        known(account(c, d).mss, |mss| {
            format!("{} B", grouped(mss.into()))
        })
    }),
    ("window scale", |c, d| match account(c, d).window_scale {
        Some(shift) => format!("{shift} (×{})", grouped(1 << shift.min(14))),
        None if scale_is_unknown(c, d) => "unknown".to_owned(),
        None => NONE.to_owned(),
    }),
    ("selective ACK", |c, d| agreed(account(c, d).sack)),
    ("timestamps", |c, d| agreed(account(c, d).timestamps)),
    ("congestion notification", |c, d| {
        known(account(c, d).ecn_negotiated.filter(|&is| is), yes)
    }),
    ("  packets marked on the way", |c, d| {
        some(account(c, d).ecn.ce_packets)
    }),
    ("  packets that say so", |c, d| {
        some(account(c, d.reverse()).ecn.ece_packets)
    }),
    ("  times slowed down for it", |c, d| {
        some(account(c, d).ecn.cwr_packets)
    }),
];

/// Nothing is known of what a handshake that was not seen offered.
fn agreed(is: Option<bool>) -> String {
    is.map_or_else(|| "unknown".to_owned(), yes)
}

fn yes(is: bool) -> String {
    if is { "yes" } else { "no" }.to_owned()
}

/// A round trip; there is none without a sample.
fn rtt(c: &ConnectionResult, d: Direction, get: fn(&DirectionAccount) -> i64) -> String {
    let a = account(c, d);
    known(Some(a).filter(|a| a.rtt.count > 0), |a| {
        format_duration(get(a))
    })
}

pub(super) fn counts(c: &ConnectionResult) -> String {
    let sections: [(&str, &[Row]); 4] = [
        ("Sent", &SENT),
        ("Segments with data", &SIZES),
        ("From the capture to the receiver and back", &PATH),
        ("What the receiver of the data says", &RECEIVER),
    ];
    let mut rows = vec![row("", "client → server", "server → client")];
    for (title, section) in sections {
        let cells = section.iter().map(|(name, cell)| {
            let [to_server, to_client] = Direction::BOTH.map(|d| cell(c, d));
            vec![format!("  {name}"), to_server, to_client]
        });
        let known: Vec<_> = cells
            .filter(|cells| cells.iter().skip(1).any(|cell| cell != NONE))
            .collect();
        if !known.is_empty() {
            rows.push(row(title, "", ""));
            rows.extend(known);
        }
    }
    Grid::fitting(rows).text()
}

pub(super) fn row(a: &str, b: &str, c: &str) -> Vec<String> {
    [a, b, c].map(str::to_owned).to_vec()
}
