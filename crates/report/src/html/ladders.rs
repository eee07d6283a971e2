//! The slowest calls: each as a sequence diagram ([`drawing`]), what its time went to by the ledger ([`waited`]), what
//! was sent again meanwhile, and its packets.

mod drawing;
mod waited;

use super::places::Places;
use super::{anchors, copy, scroll};
use crate::calls;
use crate::text::counted;
use analysis::charts::{Ladder, Resent, Rung};
use analysis::results::{Report, Vantage};
use maud::{Markup, html};
use model::{Direction, Mark, Time, format_duration};

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
            // What its server took while a message was passing is the server's, too.
            let [asked, answered] = s.inner.server_ns_of(c.inner);
            let out = at(s, s.request_last) - at(c, c.request_first) - asked;
            let served = s.response_first.time - s.request_last.time + asked + answered;
            let back = at(c, c.response_last) - at(s, s.response_first) - answered;
            vec![
                part("network out", out, "network"),
                part("server", served, "server"),
                part("network back", back, "network"),
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
                (drawing::drawing(l, places, &format!(
                    "{} {} from {} to {}: {}", l.protocol, l.op, l.client, l.server, said.join(", ")
                )))
                figcaption { (said.join(", ")) "." @if let Some(again) = sent_again(l, places, zero) { " " (again) } }
            }
            @if let Some(ledger) = &l.ledger { (waited::table(ledger, &format!("{} {}", l.op, id(l)))) }
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

/// Of what was sent again, so many are told with their frames.
const AGAIN: usize = 6;

/// What was sent again on its connection while it was under way, with the frames.
fn sent_again(l: &Ladder, places: &Places<'_>, zero: i64) -> Option<String> {
    if l.resent.is_empty() {
        return None;
    }
    let one = |r: &Resent| {
        let at = format_duration(places.since(r.capture, r.again.time) - zero);
        let way = match r.direction {
            Direction::ToServer => "to the server",
            Direction::ToClient => "to the client",
        };
        let before = r.before.map_or_else(String::new, |before| {
            let at = match places.since(r.capture, before.time) - zero {
                ns @ ..0 => format!("{} before the call", format_duration(-ns)),
                ns => format!("at {}", format_duration(ns)),
            };
            format!(", before in frame {} {at}", before.packet.frame)
        });
        let label = places.label(r.capture);
        let frame = r.again.packet.frame;
        format!("{way} in frame {frame} of {label} at {at}{before}")
    };
    let all: Vec<String> = l.resent.iter().take(AGAIN).map(one).collect();
    let more = match l.resent.len().saturating_sub(AGAIN) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    Some(format!(
        "On its connection {} sent again meanwhile: {}{more}.",
        match l.resent.len() {
            1 => "one segment was".to_owned(),
            n => format!("{} were", counted(n as u64, "segment")),
        },
        all.join("; ")
    ))
}

/// For the page's data: a moment as it counts there.
pub(super) fn since(places: &Places<'_>, r: &Rung, t: Time) -> i64 {
    places.since(r.capture, t)
}
