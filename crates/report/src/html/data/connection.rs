//! A connection's pictures as columns of numbers.

use super::super::places::Places;
use analysis::results::{ConnectionPlot, ConnectionResult, PlotView};
use model::{DirectionPlot, PacketRef, Points, SegmentKind, Time, TimeClass};
use serde_json::{Map, Value, json};

pub(super) fn json(
    c: &ConnectionResult,
    plot: &ConnectionPlot,
    why: String,
    places: &Places<'_>,
) -> Value {
    json!({
        "number": c.number,
        "client": c.client.to_string(),
        "server": c.server.to_string(),
        "protocol": c.protocol.map_or("tcp", |p| p.name()),
        "why": why,
        "views": plot.views.iter().map(|v| view(v, places)).collect::<Vec<_>>(),
    })
}

/// How numbers of one view are written.
struct Writer<'a> {
    places: &'a Places<'a>,
    capture: usize,
}

fn view(v: &PlotView, places: &Places<'_>) -> Value {
    let w = Writer {
        places,
        capture: places.of_conns(v.capture),
    };
    let (points, seen) = v.plot.points();
    json!({
        "capture": w.capture,
        "packets": v.plot.packets,
        "points": points,
        "points_seen": seen,
        "bucket_ns": v.plot.bucket_ns(),
        "directions": v.plot.directions.iter().map(|d| w.direction(d)).collect::<Vec<_>>(),
    })
}

impl Writer<'_> {
    fn since(&self, t: Time) -> i64 {
        self.places.since(self.capture, t)
    }

    /// When and in which packet each point was seen; files only where there are several.
    fn places<T>(&self, points: &Points<T>, at: fn(&T) -> (Time, PacketRef)) -> Map<String, Value> {
        let column = |f: &dyn Fn((Time, PacketRef)) -> Value| {
            points
                .points
                .iter()
                .map(|p| f(at(p)))
                .collect::<Vec<Value>>()
        };
        let mut object = Map::new();
        object.insert(
            "time_ns".to_owned(),
            column(&|(t, _)| self.since(t).into()).into(),
        );
        object.insert("frame".to_owned(), column(&|(_, p)| p.frame.into()).into());
        if self.places.several_files(self.capture) {
            object.insert("file".to_owned(), column(&|(_, p)| p.file.into()).into());
        }
        object
    }

    fn direction(&self, d: &DirectionPlot) -> Value {
        let mut segments = self.places(&d.segments, |s| (s.time, s.packet));
        put(&mut segments, "from", &d.segments, |s| s.from.into());
        put(&mut segments, "to", &d.segments, |s| s.to.into());
        put(&mut segments, "kind", &d.segments, |s| kind(s.kind).into());
        let mut acks = self.places(&d.acks, |a| (a.time, a.packet));
        put(&mut acks, "acknowledged", &d.acks, |a| {
            a.acknowledged.into()
        });
        put(&mut acks, "window_end", &d.acks, |a| a.window_end.into());
        let mut rtt = self.places(&d.round_trips, |r| (r.time, r.packet));
        put(&mut rtt, "ns", &d.round_trips, |r| r.ns.into());
        let mut flight = self.places(&d.flight, |f| (f.time, f.packet));
        put(&mut flight, "bytes", &d.flight, |f| f.bytes.into());
        put(&mut flight, "window", &d.flight, |f| f.window.into());
        let t = &d.throughput;
        let column = |f: &dyn Fn(&model::PlotInterval) -> Value| {
            t.used().map(|(_, i)| f(i)).collect::<Vec<_>>()
        };
        let bps = |bytes: u64| {
            let bits = i128::from(bytes) * 8_000_000_000;
            (bits / i128::from(t.width_ns.max(1))) as i64
        };
        let band = &d.band.stretches;
        json!({
            "segments": segments,
            "acks": acks,
            "rtt": rtt,
            "flight": flight,
            "throughput": {
                "width_ns": t.width_ns,
                "time_ns": t.used().map(|(at, _)| self.since(at)).collect::<Vec<_>>(),
                "payload_bps": column(&|i| bps(i.payload_bytes).into()),
                "segments": column(&|i| i.segments.into()),
                "segment_min": column(&|i| i.segment_min_bytes.into()),
                "segment_mean": column(&|i| (i.payload_bytes / i.segments.max(1)).into()),
                "segment_max": column(&|i| i.segment_max_bytes.into()),
                "retransmitted": column(&|i| i.retransmitted_packets.into()),
            },
            "band": {
                "first_ns": band.first().map_or(0, |s| self.since(s.first)),
                "until_ns": band.iter().map(|s| self.since(s.until)).collect::<Vec<_>>(),
                "class": band.iter().map(|s| class(s.class)).collect::<Vec<_>>(),
            },
        })
    }
}

fn put<T>(to: &mut Map<String, Value>, name: &str, points: &Points<T>, of: fn(&T) -> Value) {
    to.insert(
        name.to_owned(),
        points.points.iter().map(of).collect::<Vec<_>>().into(),
    );
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
