//! A call as a sequence diagram: time runs downwards, the client stands on the left, the server on the right. What was
//! sent again meanwhile stands where it was sent, and a cross where the same had been sent before. Made of plain SVG, so
//! that it needs no script and prints as it is.

use super::{Ends, marks, parts};
use crate::html::places::Places;
use analysis::charts::{Ladder, Resent, Rung};
use maud::{Markup, html};
use model::{Direction, Mark, format_duration};
use std::collections::BTreeMap;

/// Where the two lines stand, in the units of the drawing, and where time begins and ends.
const CLIENT_X: i64 = 180;
const SERVER_X: i64 = 460;
const WIDTH: i64 = 640;
const TOP: i64 = 34;
const HEIGHT: i64 = 170;

/// Labels nearer to each other than this would overlap.
const LABEL: i64 = 15;

/// Heights by time.
struct Scale {
    first: i64,
    last: i64,
}

impl Scale {
    fn y(&self, ns: i64) -> i64 {
        let all = i128::from((self.last - self.first).max(1));
        let since = i128::from((ns - self.first).max(0));
        TOP + (since * i128::from(HEIGHT) / all) as i64
    }
}

pub(super) fn drawing(l: &Ladder, places: &Places<'_>, label: &str) -> Markup {
    let ends = Ends::of(l, places);
    let at = |r: Option<&Rung>| {
        r.map(|r| marks(r).map(|(_, m): (_, Mark)| places.since(r.capture, m.time)))
    };
    let (client, server) = (at(ends.client), at(ends.server));
    let all: Vec<i64> = [client, server].into_iter().flatten().flatten().collect();
    let (Some(first), Some(last)) = (all.iter().min(), all.iter().max()) else {
        return html! {};
    };
    let scale = Scale {
        first: *first,
        last: *last,
    };
    // An end that was not captured is drawn at the times of the other.
    let both = |own: Option<[i64; 4]>, other: Option<[i64; 4]>| own.or(other).unwrap_or_default();
    let [c1, c2, c3, c4] = both(client, server).map(|ns| scale.y(ns));
    let [s1, s2, s3, s4] = both(server, client).map(|ns| scale.y(ns));
    let zero = both(client, server)[0];
    let labels = |own: Option<[i64; 4]>| {
        let mut heights: BTreeMap<i64, String> = BTreeMap::new();
        let mut free = i64::MIN;
        for ns in own.into_iter().flatten() {
            let y = scale.y(ns).max(free);
            if heights.values().last() == Some(&format_duration(ns - zero)) {
                continue;
            }
            heights.insert(y, format_duration(ns - zero));
            free = y + LABEL;
        }
        heights
    };
    // A message is as thick as it took to pass, and thick enough to be seen.
    let band = |from: (i64, i64, i64), to: (i64, i64, i64)| {
        let thick = |y: i64, until: i64| until.max(y + 2);
        let ((x1, a1, a2), (x2, b1, b2)) = (from, to);
        format!(
            "{x1},{a1} {x2},{b1} {x2},{} {x1},{}",
            thick(b1, b2),
            thick(a1, a2)
        )
    };
    let wait = match (ends.client, ends.server) {
        (Some(_), None) => ("client", CLIENT_X, c2, c3),
        _ => ("server", SERVER_X, s2, s3),
    };
    let part = parts(l, places);
    let waited = part.get(1).map_or_else(String::new, |p| {
        format!("{} {}", p.name, format_duration(p.ns))
    });
    // In the middle of the wait, or, where that is too short, beside the server's line where no message is.
    let (_, x, from, until) = wait;
    let place = match until - from {
        LABEL.. => (
            (CLIENT_X + SERVER_X) / 2,
            i64::midpoint(from, until) + 4,
            "middle",
        ),
        _ if from - TOP < TOP + HEIGHT - until => (x - 12, s1 - 8, "end"),
        _ => (x - 12, s4 + LABEL, "end"),
    };
    let bottom = TOP + HEIGHT + LABEL;
    let line = |seen: bool| if seen { "" } else { " unseen" };
    html! {
        svg.ladder viewBox={ "0 0 " (WIDTH) " " (bottom + LABEL) } width=(WIDTH) role="img" aria-label=(label) {
            text.ladder-name x=(CLIENT_X) y="14" text-anchor="middle" {
                "client " (l.client.address) @if client.is_none() { " (not captured)" }
            }
            text.ladder-name x=(SERVER_X) y="14" text-anchor="middle" {
                "server " (l.server.address) @if server.is_none() { " (not captured)" }
            }
            line class={ "ladder-line client" (line(client.is_some())) } x1=(CLIENT_X) x2=(CLIENT_X) y1="22" y2=(bottom) {}
            line class={ "ladder-line server" (line(server.is_some())) } x1=(SERVER_X) x2=(SERVER_X) y1="22" y2=(bottom) {}
            polygon.message.request points=(band((CLIENT_X, c1, c2), (SERVER_X, s1, s2))) {}
            rect class={ "wait " (wait.0) } x=(wait.1 - 4) width="8" y=(wait.2) height=((wait.3 - wait.2).max(1)) {}
            polygon.message.response points=(band((SERVER_X, s3, s4), (CLIENT_X, c3, c4))) {}
            @for r in &l.resent { (resent(r, l, places, &scale)) }
            @for (y, text) in labels(client) {
                text.ladder-time x=(CLIENT_X - 10) y=(y + 4) text-anchor="end" { (text) }
            }
            @for (y, text) in labels(server) {
                text.ladder-time x=(SERVER_X + 10) y=(y + 4) { (text) }
            }
            text.ladder-part x=(place.0) y=(place.1) text-anchor=(place.2) { (waited) }
        }
    }
}

/// How far down a packet gets that needs no time, so that it is seen which way it went.
const SLOPE: i64 = 5;

/// A segment that was sent again; what had been sent before ends half-way. Times are those of one capture: where it
/// was not taken at the sender, those of arriving.
fn resent(r: &Resent, l: &Ladder, places: &Places<'_>, scale: &Scale) -> Markup {
    let (from, to) = match r.direction {
        Direction::ToServer => (CLIENT_X, SERVER_X),
        Direction::ToClient => (SERVER_X, CLIENT_X),
    };
    let ends = Ends::of(l, places);
    let at_client = ends.client.is_some_and(|c| c.capture == r.capture);
    let is_leaving = at_client == (r.direction == Direction::ToServer);
    let half = i64::midpoint(from, to);
    let y = |m: Mark| scale.y(places.since(r.capture, m.time));
    let again = y(r.again);
    let (leaves, arrives) = match is_leaving {
        true => (again, again + SLOPE),
        false => (again - SLOPE, again),
    };
    // What the receiver's side saw was not lost on the way to it; what was sent before the call is above the drawing.
    let lost = r.before.filter(|_| is_leaving);
    let lost = lost.filter(|m| places.since(r.capture, m.time) >= scale.first);
    html! {
        @if let Some(before) = lost {
            @let y = y(before);
            line.lost x1=(from) y1=(y) x2=(half) y2=(y + SLOPE / 2) {}
            path.cross d={ "M" (half - 4) " " (y + SLOPE / 2 - 4) "l8 8m0 -8l-8 8" } {}
        }
        line.resent x1=(from) y1=(leaves) x2=(to) y2=(arrives) {}
    }
}
