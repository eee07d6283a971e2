//! The pictures of connections into what was sent again while each slow call was under way.

use analysis::charts::{Ladder, Resent, Rung};
use analysis::results::{ConnectionPlot, ConnectionResult, ConnsResult, PlotView};
use model::{Direction, Mark, PlotSegment, SegmentKind};

/// Segments sent again that are drawn of a call: more are a band.
const RESENT: usize = 40;

/// The connections to follow: those that are shown, and behind them those of slow calls.
pub(super) fn with_connections(
    shown: &[ConnectionResult],
    ladders: &[Ladder],
    conns: &ConnsResult,
) -> Vec<ConnectionResult> {
    let mut followed = shown.to_vec();
    let missing = |l: &&Ladder| !shown.iter().any(|c| is_its(c, l, conns));
    let missing: Vec<&Ladder> = ladders.iter().filter(missing).collect();
    if !missing.is_empty() {
        let theirs = |c: &ConnectionResult| missing.iter().any(|l| is_its(c, l, conns));
        followed.extend(conns.connections.iter().filter(theirs));
    }
    followed
}

/// Whether the call went over this connection: between its ends, while it was there.
fn is_its(c: &ConnectionResult, l: &Ladder, conns: &ConnsResult) -> bool {
    (c.client, c.server) == (l.client, l.server)
        && l.seen.first().is_some_and(|rung| {
            let own = of_conns(rung.capture, conns);
            let is_within = |first: &Mark, last: &Mark| {
                first.time <= rung.request_first.time && rung.response_last.time <= last.time
            };
            c.ends
                .iter()
                .any(|(capture, first, last)| *capture == own && is_within(first, last))
        })
}

/// How `conns` counts a capture of the diagnosis.
fn of_conns(capture: usize, conns: &ConnsResult) -> usize {
    match conns.captures.len() {
        2 => capture ^ usize::from(conns.exchanged),
        _ => capture,
    }
}

/// Fills in what was sent again while each call was under way. Of two captures the sender's own has what was lost
/// on the way, so each direction is taken from there.
pub(super) fn resent(
    ladders: &mut [Ladder],
    followed: &[ConnectionResult],
    plots: &[ConnectionPlot],
    conns: &ConnsResult,
) {
    for l in ladders {
        let of = followed.iter().zip(plots);
        let Some((_, plot)) = of.into_iter().find(|(c, _)| is_its(c, l, conns)) else {
            continue;
        };
        for d in [Direction::ToServer, Direction::ToClient] {
            let sender = match (l.seen.as_slice(), d) {
                ([_, server, ..], Direction::ToClient) => Some(server),
                (seen, _) => seen.first(),
            };
            let Some(rung) = sender else { continue };
            let own = of_conns(rung.capture, conns);
            let (here, there): (Vec<_>, Vec<_>) = plot.views.iter().partition(|v| v.capture == own);
            let again = segments(&here, d).filter(|s| is_under_way(s, rung));
            // What had arrived was not lost, which the other end may know better.
            let had_arrived = |s: &PlotSegment| {
                let bytes = |s: &PlotSegment| (s.from, s.to);
                is_spurious(s)
                    || segments(&there, d).any(|o| is_spurious(o) && bytes(o) == bytes(s))
            };
            l.resent.extend(again.map(|s| Resent {
                capture: rung.capture,
                direction: d,
                before: s.before.filter(|_| !had_arrived(s)),
                again: Mark {
                    time: s.time,
                    packet: s.packet,
                },
            }));
        }
        l.resent.truncate(RESENT);
    }
}

fn segments<'a>(views: &[&'a PlotView], d: Direction) -> impl Iterator<Item = &'a PlotSegment> {
    let directions = views
        .iter()
        .filter_map(move |v| v.plot.directions.get(d.index()));
    directions.flat_map(|d| &d.segments.points)
}

fn is_spurious(s: &PlotSegment) -> bool {
    s.kind == SegmentKind::SpuriousRetransmission
}

/// Whether it was sent again, what mattered to a call: between its first byte and its last.
fn is_under_way(s: &PlotSegment, rung: &Rung) -> bool {
    let is_again = is_spurious(s) || s.kind == SegmentKind::Retransmission;
    is_again && rung.request_first.time <= s.time && s.time <= rung.response_last.time
}
