//! Connections: those that waited most as a table, and in full those that findings name and the worst.

use super::places::Places;
use super::{anchors, cell, head, scroll, table};
use crate::classes::arrow;
use crate::conns::fields::own;
use crate::conns_text::{answer, conn_text, waited_by};
use crate::text::{bytes, counted, grouped};
use analysis::results::{ConnectionResult, DirectionResult, Report};
use jiff::tz::TimeZone;
use maud::{Markup, html};
use model::{Direction, format_duration};

/// Rows of the table.
const ROWS: usize = 200;

pub(super) fn section(report: &Report, places: &Places<'_>, zone: &TimeZone) -> Option<Markup> {
    let conns = &report.conns;
    let all = conns.connections.len();
    if all == 0 {
        return None;
    }
    let shown = |c: &ConnectionResult| report.shown.iter().any(|s| s.number == c.number);
    let rows_shown = || conns.connections.iter().take(ROWS);
    let anchors = anchors::Connections::new(rows_shown().chain(report.shown.iter().cloned()));
    let heads = html! {
        tr {
            (head("no.", true)) (head("client", false)) (head("server", false)) (head("protocol", false))
            @for name in ["lasted", "bytes→", "bytes←", "sent again", "waited"] { (head(name, true)) }
            (head("most of it", false))
        }
    };
    let rows = html! {
        @for c in rows_shown() {
            @let payload = |d| own(&c, d).counts.payload_bytes;
            @let again = Direction::BOTH.map(|d| own(&c, d).counts.retransmitted_packets).iter().sum::<u64>();
            @let anchor = anchors.of(c.number);
            tr id=[(!shown(&c)).then_some(anchor)] {
                th.number scope="row" data-value=(c.number) { a href={ "#" (anchor) } { (c.number) } }
                td { (c.client) } td { (c.server) }
                td { @if let Some(p) = c.protocol { (p) } }
                (cell(&format_duration(c.last - c.first), Some(c.last - c.first)))
                (size(payload(Direction::ToServer))) (size(payload(Direction::ToClient)))
                (cell(&grouped(again), Some(again as i64)))
                (cell(&format_duration(c.at_stake_ns), Some(c.at_stake_ns)))
                td { (top(&c)) }
            }
        }
    };
    let beyond = all.saturating_sub(ROWS);
    Some(html! {
        p { (answer(&conns.connections)) }
        (table("Connections that waited most", &heads, &rows))
        @if beyond > 0 {
            p.note { "… and " (counted(beyond as u64, "further connection")) " that waited less (slowside conns --all lists them)" }
        }
        @if conns.left_out > 0 {
            p.note { (counted(conns.left_out, "connection")) " beyond what is remembered are not listed." }
        }
        p.note {
            @if report.shown.len() < all {
                (counted(report.shown.len() as u64, "connection")) " of " (grouped(all as u64))
                " in full: first those whose packets findings name, then those that waited longest. \
                 --connection N shows another one."
            } @else { "All of them in full:" }
        }
        @for (i, c) in report.shown.iter().enumerate() {
            (one(i, c, report, places, zone, anchors.of(c.number)))
        }
    })
}

fn size(n: u64) -> Markup {
    cell(&bytes(n), Some(i64::try_from(n).unwrap_or(i64::MAX)))
}

/// The class with most of its time at stake.
fn top(c: &ConnectionResult) -> String {
    let name = |(d, class, _): (Direction, model::TimeClass, i64)| {
        format!("{} {}", arrow(d), class.name())
    };
    c.top.map_or_else(String::new, name)
}

/// Why it is shown, in words.
pub(super) fn why(c: &ConnectionResult) -> String {
    let lasted = format_duration(c.last - c.first);
    match waited_by(c) {
        Some(waited) => format!("Lasted {lasted}, with {waited}."),
        None => format!("Lasted {lasted}; nothing was waited for."),
    }
}

fn one(
    index: usize,
    c: &ConnectionResult,
    report: &Report,
    places: &Places<'_>,
    zone: &TimeZone,
    anchor: &str,
) -> Markup {
    let plot = report.plots.get(index);
    let mut text = Vec::new();
    // Writing into memory does not fail.
    drop(conn_text(&report.conns, c, zone, &mut text));
    let text = String::from_utf8_lossy(&text).into_owned();
    html! {
        article.connection id=(anchor) data-index=(index) aria-labelledby={ (anchor) "-title" } {
            h3 id={ (anchor) "-title" } {
                span.number { (c.number) } " " (c.client) " → " (c.server) " "
                @if let Some(p) = c.protocol { span.protocol { (p) } }
            }
            p.why { (why(c)) }
            (numbers(c))
            details.all {
                summary { "All its numbers, and the packets of its longest waits" }
                pre tabindex="0" { (text) }
            }
            @for (v, view) in plot.iter().flat_map(|p| p.views.iter().enumerate()) {
                @let (kept, seen) = view.plot.points();
                figure.chart.connection-chart data-chart="connection" data-index=(index) data-view=(v) {
                    figcaption {
                        span.title { "As " (places.label(places.of_conns(view.capture))) " has it" } " "
                        span.text {
                            (counted(view.plot.packets, "packet")) ". "
                            @match view.plot.bucket_ns() {
                                Some(ns) => {
                                    (grouped(kept)) " of " (counted(seen, "point"))
                                    " are drawn: the smallest and largest of each " (format_duration(ns)) "."
                                }
                                None => { "All of " (counted(seen, "point")) " are drawn." }
                            }
                            @let again = view.plot.directions.iter().map(|d| d.retransmissions).sum::<u64>();
                            @let drawn = view.plot.directions.iter().map(|d| d.retransmissions_kept).sum::<u64>();
                            @if drawn < again {
                                " Of " (counted(again, "packet")) " sent again " (grouped(drawn)) " are."
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Known where there is at least one.
fn round_trip(ns: i64, d: &DirectionResult) -> Option<i64> {
    (d.account.rtt.count > 0).then_some(ns)
}

/// The counts that matter most, by direction.
fn numbers(c: &ConnectionResult) -> Markup {
    let directions = Direction::BOTH.map(|d| own(c, d));
    let known = |n: Option<i64>| n.map_or("-".to_owned(), format_duration);
    html! {
        (scroll(&format!("Connection {} by direction", c.number), &html! { table.parts {
            caption.hidden { "By direction" }
            thead {
                tr { td {} @for name in ["client → server", "server → client"] { th.number scope="col" { (name) } } }
            }
            tbody {
                tr { th scope="row" { "payload" } @for d in directions { (size(d.counts.payload_bytes)) } }
                tr { th scope="row" { "packets" } @for d in directions { (cell(&grouped(d.counts.packets), Some(d.counts.packets as i64))) } }
                tr { th scope="row" { "sent again" } @for d in directions { (cell(&grouped(d.counts.retransmitted_packets), Some(d.counts.retransmitted_packets as i64))) } }
                tr { th scope="row" { "lost on the network" }
                    @for d in directions {
                        @let lost = d.lost_on_network_packets;
                        (cell(&lost.map_or("-".to_owned(), grouped), lost.map(|n| n as i64)))
                    }
                }
                tr { th scope="row" { "round trip, shortest" } @for d in directions { @let ns = round_trip(d.account.rtt.min_ns, d); (cell(&known(ns), ns)) } }
                tr { th scope="row" { "round trip, median" } @for d in directions { @let ns = round_trip(d.account.rtt.p50_ns, d); (cell(&known(ns), ns)) } }
            }
        }}))
    }
}
