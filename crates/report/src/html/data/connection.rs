//! A connection's pictures as columns of numbers.

use super::super::places::Places;
use analysis::results::{ConnectionPlot, ConnectionResult, PlotView};
use model::{
    DirectionPlot, PacketRef, PlotStretch, PlotThroughput, Points, SegmentKind, Time, TimeClass,
};
use serde::Serialize;

#[derive(Serialize)]
pub(super) struct Connection {
    number: u64,
    client: String,
    server: String,
    protocol: &'static str,
    why: String,
    views: Vec<View>,
}

impl Connection {
    pub(super) fn of(
        c: &ConnectionResult,
        plot: &ConnectionPlot,
        why: String,
        places: &Places<'_>,
    ) -> Connection {
        Connection {
            number: c.number,
            client: c.client.to_string(),
            server: c.server.to_string(),
            protocol: c.protocol.map_or("tcp", |p| p.name()),
            why,
            views: plot.views.iter().map(|v| View::of(v, places)).collect(),
        }
    }
}

#[derive(Serialize)]
struct View {
    capture: usize,
    packets: u64,
    points: u64,
    points_seen: u64,
    bucket_ns: Option<i64>,
    directions: [Lane; 2],
}

impl View {
    fn of(v: &PlotView, places: &Places<'_>) -> View {
        let w = Writer {
            places,
            capture: places.of_conns(v.capture),
        };
        let (points, points_seen) = v.plot.points();
        View {
            capture: w.capture,
            packets: v.plot.packets,
            points,
            points_seen,
            bucket_ns: v.plot.bucket_ns(),
            directions: v.plot.directions.each_ref().map(|d| w.lane(d)),
        }
    }
}

#[derive(Serialize)]
struct Lane {
    segments: Segments,
    acks: Acks,
    rtt: RoundTrips,
    flight: Flight,
    throughput: Throughput,
    band: Band,
}

/// When and in which packet each point was seen; files only where there are several.
#[derive(Serialize)]
struct Seen {
    time_ns: Vec<i64>,
    frame: Vec<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<Vec<u32>>,
}

#[derive(Serialize)]
struct Segments {
    #[serde(flatten)]
    seen: Seen,
    from: Vec<u64>,
    to: Vec<u64>,
    kind: Vec<usize>,
}

#[derive(Serialize)]
struct Acks {
    #[serde(flatten)]
    seen: Seen,
    acknowledged: Vec<u64>,
    window_end: Vec<Option<u64>>,
}

#[derive(Serialize)]
struct RoundTrips {
    #[serde(flatten)]
    seen: Seen,
    ns: Vec<i64>,
}

#[derive(Serialize)]
struct Flight {
    #[serde(flatten)]
    seen: Seen,
    bytes: Vec<u64>,
    window: Vec<Option<u64>>,
}

#[derive(Serialize)]
struct Throughput {
    width_ns: i64,
    time_ns: Vec<i64>,
    payload_bps: Vec<i64>,
    segments: Vec<u64>,
    segment_min: Vec<u32>,
    segment_mean: Vec<u64>,
    segment_max: Vec<u32>,
    retransmitted: Vec<u64>,
}

#[derive(Serialize)]
struct Band {
    first_ns: i64,
    until_ns: Vec<i64>,
    class: Vec<usize>,
}

/// How numbers of one view are written.
struct Writer<'a> {
    places: &'a Places<'a>,
    capture: usize,
}

impl Writer<'_> {
    fn since(&self, t: Time) -> i64 {
        self.places.since(self.capture, t)
    }

    fn seen<T>(&self, points: &Points<T>, at: fn(&T) -> (Time, PacketRef)) -> Seen {
        let several = self.places.several_files(self.capture);
        Seen {
            time_ns: column(points, |p| self.since(at(p).0)),
            frame: column(points, |p| at(p).1.frame),
            file: several.then(|| column(points, |p| at(p).1.file.into())),
        }
    }

    fn lane(&self, d: &DirectionPlot) -> Lane {
        Lane {
            segments: Segments {
                seen: self.seen(&d.segments, |s| (s.time, s.packet)),
                from: column(&d.segments, |s| s.from),
                to: column(&d.segments, |s| s.to),
                kind: column(&d.segments, |s| kind(s.kind)),
            },
            acks: Acks {
                seen: self.seen(&d.acks, |a| (a.time, a.packet)),
                acknowledged: column(&d.acks, |a| a.acknowledged),
                window_end: column(&d.acks, |a| a.window_end),
            },
            rtt: RoundTrips {
                seen: self.seen(&d.round_trips, |r| (r.time, r.packet)),
                ns: column(&d.round_trips, |r| r.ns),
            },
            flight: Flight {
                seen: self.seen(&d.flight, |f| (f.time, f.packet)),
                bytes: column(&d.flight, |f| f.bytes),
                window: column(&d.flight, |f| f.window),
            },
            throughput: self.throughput(&d.throughput),
            band: self.band(&d.band.stretches),
        }
    }

    fn throughput(&self, t: &PlotThroughput) -> Throughput {
        let bps = |bytes: u64| {
            let bits = i128::from(bytes) * 8_000_000_000;
            (bits / i128::from(t.width_ns.max(1))) as i64
        };
        let used = || t.used().map(|(_, interval)| interval);
        Throughput {
            width_ns: t.width_ns,
            time_ns: t.used().map(|(at, _)| self.since(at)).collect(),
            payload_bps: used().map(|i| bps(i.payload_bytes)).collect(),
            segments: used().map(|i| i.segments).collect(),
            segment_min: used().map(|i| i.segment_min_bytes).collect(),
            segment_mean: used()
                .map(|i| i.payload_bytes / i.segments.max(1))
                .collect(),
            segment_max: used().map(|i| i.segment_max_bytes).collect(),
            retransmitted: used().map(|i| i.retransmitted_packets).collect(),
        }
    }

    fn band(&self, band: &[PlotStretch]) -> Band {
        Band {
            first_ns: band.first().map_or(0, |s| self.since(s.first)),
            until_ns: band.iter().map(|s| self.since(s.until)).collect(),
            class: band.iter().map(|s| class(s.class)).collect(),
        }
    }
}

fn column<T, V>(points: &Points<T>, of: impl Fn(&T) -> V) -> Vec<V> {
    points.points.iter().map(of).collect()
}

/// As `data.ts` counts them.
fn kind(kind: SegmentKind) -> usize {
    SegmentKind::ALL
        .iter()
        .position(|k| *k == kind)
        .unwrap_or(0)
}

fn class(class: TimeClass) -> usize {
    TimeClass::ALL.iter().position(|c| *c == class).unwrap_or(0)
}
