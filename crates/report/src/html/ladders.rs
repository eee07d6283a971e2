//! The slowest calls as sequence diagrams: time runs downwards, the client stands on the left, the
//! server on the right. Made of plain SVG, so that they need no script and print as they are.

use super::places::Places;
use super::{anchors, copy, scroll};
use crate::calls;
use analysis::charts::{Ladder, Rung};
use analysis::results::{Report, Vantage};
use maud::{Markup, html};
use model::{Mark, Time, format_duration};
use std::collections::BTreeMap;

/// Where the two lines stand, in the units of the drawing, and where time begins and ends.
const CLIENT_X: i64 = 180;
const SERVER_X: i64 = 460;
const WIDTH: i64 = 640;
const TOP: i64 = 34;
const HEIGHT: i64 = 170;

/// Labels nearer to each other than this would overlap.
const LABEL: i64 = 15;

/// One part of a call's time; they add up to it.
pub(super) struct CallPart {
    pub(super) name: &'static str,
    pub(super) ns: i64,
    pub(super) side: &'static str,
}

/// Whose times a drawing shows.
struct Ends<'a> {
    client: Option<&'a Rung>,
    server: Option<&'a Rung>,
}

impl<'a> Ends<'a> {
    fn of(ladder: &'a Ladder, places: &Places<'_>) -> Ends<'a> {
        match ladder.seen.as_slice() {
            [client, server, ..] => Ends {
                client: Some(client),
                server: Some(server),
            },
            [one] => {
                let side = places.captures.get(one.capture).and_then(|c| c.side);
                match side {
                    Some(Vantage::Server) => Ends {
                        client: None,
                        server: Some(one),
                    },
                    _ => Ends {
                        client: Some(one),
                        server: None,
                    },
                }
            }
            [] => Ends {
                client: None,
                server: None,
            },
        }
    }
}

/// The four moments of a rung with their names.
pub(super) fn marks(r: &Rung) -> [(&'static str, Mark); 4] {
    [
        ("request_first", r.request_first),
        ("request_last", r.request_last),
        ("response_first", r.response_first),
        ("response_last", r.response_last),
    ]
}

/// Where the call's time went.
pub(super) fn parts(ladder: &Ladder, places: &Places<'_>) -> Vec<CallPart> {
    let part = |name, ns, side| CallPart { name, ns, side };
    let ends = Ends::of(ladder, places);
    match (ends.client, ends.server) {
        (Some(c), Some(s)) => {
            let at = |r: &Rung, m: Mark| places.since(r.capture, m.time);
            vec![
                part(
                    "network out",
                    at(s, s.request_last) - at(c, c.request_first),
                    "network",
                ),
                part(
                    "server",
                    s.response_first.time - s.request_last.time,
                    "server",
                ),
                part(
                    "network back",
                    at(c, c.response_last) - at(s, s.response_first),
                    "network",
                ),
            ]
        }
        (Some(r), None) | (None, Some(r)) => {
            let waited = if ends.server.is_some() {
                "server"
            } else {
                "unknown"
            };
            vec![
                part(
                    "request transfer",
                    r.request_last.time - r.request_first.time,
                    "network",
                ),
                part("wait", r.response_first.time - r.request_last.time, waited),
                part(
                    "response transfer",
                    r.response_last.time - r.response_first.time,
                    "network",
                ),
            ]
        }
        (None, None) => Vec::new(),
    }
}

/// The protocol's own identifier.
pub(super) fn id(ladder: &Ladder) -> String {
    let mut id = Vec::new();
    calls::id(ladder.protocol, ladder.id, &mut id);
    String::from_utf8_lossy(&id).into_owned()
}

pub(super) fn why(ladder: &Ladder) -> String {
    format!("slow {} {}", ladder.protocol, ladder.op)
}

/// A display filter that shows a call's packets in one capture: those of its first file.
pub(super) fn filter(r: &Rung) -> String {
    let file = r.request_first.packet.file;
    let mut frames: Vec<u32> = marks(r)
        .iter()
        .filter(|(_, m)| m.packet.file == file)
        .map(|(_, m)| m.packet.frame)
        .collect();
    frames.sort_unstable();
    frames.dedup();
    let frames: Vec<String> = frames.iter().map(u32::to_string).collect();
    format!("frame.number in {{{}}}", frames.join(","))
}

pub(super) fn section(report: &Report, places: &Places<'_>) -> Option<Markup> {
    let ladders = &report.charts.ladders;
    (!ladders.is_empty()).then(|| {
        html! {
            p { "The slowest calls of the operations that took most time. Time runs downwards." }
            @for (i, l) in ladders.iter().enumerate() { (one(l, places, i == 0)) }
        }
    })
}

fn one(l: &Ladder, places: &Places<'_>, open: bool) -> Markup {
    let parts = parts(l, places);
    let said: Vec<String> = parts
        .iter()
        .map(|p| format!("{} {}", p.name, format_duration(p.ns)))
        .collect();
    let zero = l
        .seen
        .first()
        .map_or(0, |r| places.since(r.capture, r.request_first.time));
    html! {
        details.ladder id=(anchors::call(l, places)) open[open] {
            summary {
                h3 { (l.protocol) " " (l.op) ": " (format_duration(l.response_time_ns())) } " "
                span.numbers { (id(l)) " " (l.client) " → " (l.server) }
            }
            figure {
                (drawing(l, places, &format!(
                    "{} {} from {} to {}: {}", l.protocol, l.op, l.client, l.server, said.join(", ")
                )))
                figcaption { (said.join(", ")) "." }
            }
            (scroll(&format!("Packets of {} {}", l.op, id(l)), &html! { table.numbers {
                caption { "Its packets, and when they passed, since the request began" }
                thead {
                    tr {
                        td {}
                        @for r in &l.seen { th scope="colgroup" colspan="2" { (places.label(r.capture)) } }
                    }
                    tr {
                        td {}
                        @for _ in &l.seen { th.number scope="col" { "frame" } th.number scope="col" { "time" } }
                    }
                }
                tbody {
                    @for (k, name) in ["request, first byte", "request, last byte", "response, first byte", "response, last byte"].iter().enumerate() {
                        tr {
                            th scope="row" { (name) }
                            @for r in &l.seen {
                                @if let Some((_, m)) = marks(r).get(k) {
                                    @let ns = places.since(r.capture, m.time) - zero;
                                    td.number data-value=(m.packet.frame) {
                                        (m.packet.frame)
                                        @if places.several_files(r.capture) {
                                            " of " (places.file(r.capture, m.packet.file.into()))
                                        }
                                    }
                                    td.number data-value=(ns) { (format_duration(ns)) }
                                }
                            }
                        }
                    }
                }
            } }))
            @for r in &l.seen {
                @let file = places.file(r.capture, r.request_first.packet.file.into());
                (copy("filter", &format!("Wireshark, {}", file), &filter(r)))
            }
        }
    }
}

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

fn drawing(l: &Ladder, places: &Places<'_>, label: &str) -> Markup {
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

/// For the page's data: a moment as it counts there.
pub(super) fn since(places: &Places<'_>, r: &Rung, t: Time) -> i64 {
    places.since(r.capture, t)
}
