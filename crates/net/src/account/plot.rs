//! A connection's packets into its picture ([`Plot`]).
//!
//! Follows what the account is told and judges nothing anew: what it shows is what the account counts.

mod band;
mod sampled;

pub(super) use band::Band;

use super::{Acknowledgement, Transmission};
use crate::Segment;
use model::{
    Direction, DirectionPlot, Mark, Plot, PlotAck, PlotFlight, PlotInterval, PlotRequest,
    PlotRoundTrip, PlotSegment, PlotThroughput, SegmentKind, Time, limits,
};
use sampled::{Marked, Point, Sampled};
use std::collections::VecDeque;

/// Intervals of throughput for each point of another curve: a bar takes more room than a point.
const POINTS_PER_BAR: usize = 4;

#[derive(Debug)]
pub(super) struct Plotter {
    request: PlotRequest,
    packets: u64,
    lanes: [Lane; 2],
}

/// One direction. Positions are those of the tracker until the plot is finished.
#[derive(Debug)]
struct Lane {
    segments: Marked<PlotSegment>,
    /// What was sent and is not acknowledged: its bytes, and when.
    sendings: VecDeque<(u64, u64, Mark)>,
    acks: Marked<PlotAck>,
    round_trips: Sampled<PlotRoundTrip>,
    flight: Marked<PlotFlight>,
    throughput: PlotThroughput,
    /// The lowest position of any point.
    lowest: Option<u64>,
    retransmissions: u64,
    sent: u64,
    acknowledged: u64,
    window: Option<u64>,
    /// What was told last, so that only changes are.
    ack: Option<(u64, Option<u64>)>,
    in_flight: Option<(u64, Option<u64>)>,
}

impl Point for PlotSegment {
    fn time(&self) -> Time {
        self.time
    }

    fn measures(&self) -> [u64; 2] {
        [self.from, self.to]
    }
}

impl Point for PlotAck {
    fn time(&self) -> Time {
        self.time
    }

    fn measures(&self) -> [u64; 2] {
        let end = self.window_end.unwrap_or(self.acknowledged);
        [self.acknowledged, end]
    }
}

impl Point for PlotRoundTrip {
    fn time(&self) -> Time {
        self.time
    }

    fn measures(&self) -> [u64; 2] {
        [self.ns.unsigned_abs(); 2]
    }
}

impl Point for PlotFlight {
    fn time(&self) -> Time {
        self.time
    }

    fn measures(&self) -> [u64; 2] {
        [self.bytes, self.window.unwrap_or(u64::MAX)]
    }
}

impl Plotter {
    pub(super) fn new(request: PlotRequest) -> Plotter {
        Plotter {
            request,
            packets: 0,
            lanes: [Lane::new(&request), Lane::new(&request)],
        }
    }

    /// A packet of direction `d` counts.
    pub(super) fn counted(&mut self, d: Direction, s: &Segment) {
        self.packets += 1;
        if s.payload_length > 0 {
            let bytes = s.payload_length;
            self.lane(d).count(s.mark.time, |interval| {
                interval.segment_min_bytes = match interval.segments {
                    0 => bytes,
                    _ => interval.segment_min_bytes.min(bytes),
                };
                interval.segment_max_bytes = interval.segment_max_bytes.max(bytes);
                interval.segments += 1;
                interval.payload_bytes += u64::from(bytes);
            });
        }
    }

    /// A segment of direction `d` with bytes `from..to`, or one that asks.
    pub(super) fn segment(
        &mut self,
        d: Direction,
        mark: Mark,
        from: u64,
        to: u64,
        kind: SegmentKind,
    ) {
        let lane = self.lane(d);
        if is_again(kind) {
            lane.retransmissions += 1;
            lane.count(mark.time, |interval| interval.retransmitted_packets += 1);
        }
        lane.lowest = Some(lane.lowest.map_or(from, |lowest| lowest.min(from)));
        let same = |(f, t, _): &&(u64, u64, Mark)| *f < to && *t > from;
        let before = match is_again(kind) {
            true => lane.sendings.iter().rev().find(same),
            false => None,
        };
        let segment = PlotSegment {
            time: mark.time,
            packet: mark.packet,
            from,
            to,
            kind,
            before: before.map(|(.., mark)| *mark),
        };
        if to > from {
            if lane.sendings.len() >= limits::PLOT_SENDINGS {
                lane.sendings.pop_front();
            }
            lane.sendings.push_back((from, to, mark));
        }
        lane.segments.push(segment, kind != SegmentKind::New);
    }

    /// Direction `d` sent data of which the sender knew that everything before `acknowledged` had
    /// arrived.
    pub(super) fn sent(&mut self, d: Direction, s: &Transmission, acknowledged: u64) {
        let lane = self.lane(d);
        lane.sent = lane.sent.max(s.data_end);
        lane.acknowledged = lane.acknowledged.max(acknowledged);
        lane.flight_is(s.mark, false);
    }

    /// Data of direction `d` was acknowledged, or its window changed.
    pub(super) fn acknowledged(&mut self, d: Direction, ack: &Acknowledgement) {
        let lane = self.lane(d);
        while lane
            .sendings
            .front()
            .is_some_and(|(_, to, _)| *to <= ack.position)
        {
            lane.sendings.pop_front();
        }
        let window = ack.window.map(u64::from);
        let shut = |window: Option<u64>| window == Some(0);
        let marked = shut(window) != shut(lane.window);
        lane.acknowledged = lane.acknowledged.max(ack.position);
        lane.window = window;
        let now = (ack.position, window.map(|bytes| ack.position + bytes));
        if lane.ack.replace(now) != Some(now) {
            let (acknowledged, window_end) = now;
            let lowest = lane.lowest.map_or(acknowledged, |l| l.min(acknowledged));
            lane.lowest = Some(lowest);
            let point = PlotAck {
                time: ack.mark.time,
                packet: ack.mark.packet,
                acknowledged,
                window_end,
            };
            lane.acks.push(point, marked);
        }
        lane.flight_is(ack.mark, marked);
    }

    /// A round trip of direction `d`'s data that counts ended.
    pub(super) fn round_trip(&mut self, d: Direction, mark: Mark, ns: i64) {
        self.lane(d).round_trips.push(PlotRoundTrip {
            time: mark.time,
            packet: mark.packet,
            ns,
        });
    }

    fn lane(&mut self, d: Direction) -> &mut Lane {
        let [to_server, to_client] = &mut self.lanes;
        match d {
            Direction::ToServer => to_server,
            Direction::ToClient => to_client,
        }
    }

    /// The picture. `begins` is where each direction begins, where its SYN was seen.
    pub(super) fn finish(self, begins: [Option<u64>; 2], bands: [Option<Box<Band>>; 2]) -> Plot {
        let [there, back] = self.lanes;
        let [there_begins, back_begins] = begins;
        let [there_band, back_band] = bands;
        Plot {
            connection: self.request.connection,
            packets: self.packets,
            directions: [
                there.finish(there_begins, there_band),
                back.finish(back_begins, back_band),
            ],
        }
    }
}

impl Lane {
    fn new(request: &PlotRequest) -> Lane {
        let PlotRequest {
            first,
            last,
            points,
            ..
        } = *request;
        let bars = (points / POINTS_PER_BAR).max(1);
        let width_ns = (last - first) / bars as i64;
        Lane {
            segments: Marked::new(points, first, last),
            sendings: VecDeque::new(),
            acks: Marked::new(points, first, last),
            round_trips: Sampled::new(points, first, last),
            flight: Marked::new(points, first, last),
            throughput: PlotThroughput {
                first,
                width_ns: width_ns.saturating_add(1).max(1),
                intervals: vec![PlotInterval::default(); bars],
            },
            lowest: None,
            retransmissions: 0,
            sent: 0,
            acknowledged: 0,
            window: None,
            ack: None,
            in_flight: None,
        }
    }

    /// Counts in the interval of that moment: the first or the last for what is outside of them all.
    fn count(&mut self, at: Time, count: impl FnOnce(&mut PlotInterval)) {
        let PlotThroughput {
            first,
            width_ns,
            intervals,
        } = &mut self.throughput;
        let last = intervals.len().saturating_sub(1);
        let place = (at - *first).div_euclid(*width_ns).clamp(0, last as i64);
        if let Some(interval) = intervals.get_mut(place as usize) {
            count(interval);
        }
    }

    /// So much is in flight now, and the window may have changed.
    fn flight_is(&mut self, mark: Mark, marked: bool) {
        let now = (self.sent.saturating_sub(self.acknowledged), self.window);
        if self.in_flight.replace(now) == Some(now) {
            return;
        }
        let (bytes, window) = now;
        let point = PlotFlight {
            time: mark.time,
            packet: mark.packet,
            bytes,
            window,
        };
        self.flight.push(point, marked);
    }

    fn finish(self, begins: Option<u64>, band: Option<Box<Band>>) -> DirectionPlot {
        let lowest = self.lowest.unwrap_or(0);
        let base = begins.map_or(lowest, |begins| begins.min(lowest));
        let mut segments = self.segments.finish();
        for s in &mut segments.points {
            s.from = s.from.saturating_sub(base);
            s.to = s.to.saturating_sub(base);
        }
        let mut acks = self.acks.finish();
        for a in &mut acks.points {
            a.acknowledged = a.acknowledged.saturating_sub(base);
            a.window_end = a.window_end.map(|end| end.saturating_sub(base));
        }
        let kept = segments.points.iter().filter(|s| is_again(s.kind));
        DirectionPlot {
            retransmissions: self.retransmissions,
            retransmissions_kept: kept.count() as u64,
            segments,
            acks,
            round_trips: self.round_trips.finish(),
            flight: self.flight.finish(),
            throughput: self.throughput,
            band: band.map(|band| band.finish()).unwrap_or_default(),
        }
    }
}

fn is_again(kind: SegmentKind) -> bool {
    matches!(
        kind,
        SegmentKind::Retransmission | SegmentKind::SpuriousRetransmission
    )
}
