//! Load: calls outstanding over time, and what more of them do to a call.

use super::figure;
use super::places::Places;
use analysis::charts::{LatencyByOutstanding, OutstandingOverTime};
use analysis::results::Report;
use maud::{Markup, html};
use model::{Endpoint, format_duration};
use std::cmp::Reverse;
use std::collections::HashMap;

/// Outstanding calls of a server in one capture.
pub(super) struct Server {
    pub(super) capture: usize,
    pub(super) server: Endpoint,
    pub(super) series: OutstandingOverTime,
}

/// Servers, and operations, with so small a part of the time of the largest are left out: one in so many.
const WORTH: i128 = 100;

/// The servers that are drawn, the busiest first, each as the client's capture and as the server's saw it.
pub(super) fn servers(report: &Report, places: &Places<'_>) -> Vec<Server> {
    let captures = report.charts.captures.iter().enumerate();
    let mut all: Vec<Server> = captures
        .flat_map(|(capture, c)| {
            c.servers().into_iter().map(move |(server, series)| Server {
                capture,
                server,
                series,
            })
        })
        .collect();
    let time = |s: &Server| s.series.total_ns();
    let most = all.iter().map(time).max().unwrap_or(0);
    all.retain(|s| time(s) >= most / WORTH);
    let of = |server: Endpoint| all.iter().filter(|s| s.server == server).map(time).max();
    let mut keys: HashMap<Endpoint, i128> = HashMap::new();
    for s in &all {
        keys.insert(s.server, of(s.server).unwrap_or(0));
    }
    all.sort_by_key(|s| {
        let time = keys.get(&s.server).copied().unwrap_or(0);
        (Reverse(time), s.server, places.rank(s.capture))
    });
    all
}

/// Waits by outstanding calls, those of one operation next to each other: the client's, the server's.
pub(super) fn load<'a>(report: &'a Report, places: &Places<'_>) -> Vec<&'a LatencyByOutstanding> {
    let all = &report.charts.load;
    let same = |a: &LatencyByOutstanding, b: &LatencyByOutstanding| {
        (a.server, a.protocol, a.op) == (b.server, b.protocol, b.op)
    };
    let time = |l: &LatencyByOutstanding| -> i128 {
        let each = l.levels.iter();
        each.map(|a| i128::from(a.mean_ns) * i128::from(a.calls))
            .sum()
    };
    let most = all.iter().map(time).max().unwrap_or(0);
    // One level is a number, and no curve.
    let curves = all
        .iter()
        .filter(|l| l.levels.len() > 1 && time(l) >= most / WORTH);
    let mut ordered: Vec<&LatencyByOutstanding> = curves.collect();
    ordered.sort_by_key(|l| {
        let first = all.iter().position(|other| same(l, other));
        (first, places.rank(l.capture))
    });
    ordered
}

pub(super) fn scope(server: Endpoint) -> String {
    format!("all clients → {server}")
}

pub(super) fn section(report: &Report, places: &Places<'_>) -> Option<Markup> {
    let servers = servers(report, places);
    let load = load(report, places);
    let unseen: u64 = report
        .charts
        .captures
        .iter()
        .map(|c| c.left_out_changes)
        .sum();
    if servers.is_empty() && load.is_empty() {
        return None;
    }
    // Where there is one capture, all is what it saw.
    let seen_by = |capture: usize| match report.diagnosis.captures.len() {
        0..=1 => String::new(),
        _ => format!(", {}", places.label(capture)),
    };
    Some(html! {
        div.charts {
            @for (i, s) in servers.iter().enumerate() {
                @let title = format!("Calls outstanding, {}{}", scope(s.server), seen_by(s.capture));
                (figure("outstanding", i, &title, &most(s)))
            }
            @for (i, l) in load.iter().enumerate() {
                @let title = format!(
                    "Wait of {} {} by calls outstanding, {}{}",
                    l.protocol, l.op, scope(l.server), seen_by(l.capture)
                );
                (figure("load", i, &title, &by_outstanding(l)))
            }
        }
        @if unseen > 0 { p.note { "Servers seen after many others are not drawn." } }
    })
}

fn most(s: &Server) -> String {
    let most = s.series.most.iter().max().copied().unwrap_or(0);
    let columns = s.series.mean_thousandths.len().max(1) as i64;
    let mean = s.series.mean_thousandths.iter().sum::<i64>() / columns;
    format!(
        "At most {most} at once, {:.1} on average.",
        mean as f64 / 1e3
    )
}

/// Calls of one level that its text speaks of.
const MANY: u64 = 5;

fn by_outstanding(l: &LatencyByOutstanding) -> String {
    let at = |level: Option<&analysis::charts::AtOutstanding>| {
        level.map_or_else(String::new, |a| {
            format!(
                "{} with {} outstanding",
                format_duration(a.mean_ns),
                a.outstanding
            )
        })
    };
    // A handful of calls says nothing.
    let many = l.levels.iter().filter(|a| a.calls >= MANY);
    let mut levels: Vec<_> = many.collect();
    if levels.is_empty() {
        levels = l.levels.iter().collect();
    }
    let mut text = match levels.as_slice() {
        [one] => format!("{}.", at(Some(one))),
        [first, .., last] => format!("{}, {}.", at(Some(first)), at(Some(last))),
        [] => String::new(),
    };
    if let Some(cap) = l.server_cap {
        text.push_str(&format!(
            " The server works on about {} at a time ({}).",
            cap.outstanding, cap.rule
        ));
    }
    if let Some(cap) = l.client_cap {
        text.push_str(&format!(
            " The client keeps at most {} outstanding ({}).",
            cap.outstanding, cap.rule
        ));
    }
    text
}
