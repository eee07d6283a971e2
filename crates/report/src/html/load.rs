//! Load: calls outstanding over time, and what more of them do to a call.

use super::figure;
use super::places::Places;
use analysis::charts::{LatencyByOutstanding, OutstandingOverTime};
use analysis::results::Report;
use maud::{Markup, html};
use model::{Endpoint, format_duration};

/// Outstanding calls of a server in one capture.
pub(super) struct Server {
    pub(super) capture: usize,
    pub(super) server: Endpoint,
    pub(super) series: OutstandingOverTime,
}

pub(super) fn servers(report: &Report) -> Vec<Server> {
    let captures = report.charts.captures.iter().enumerate();
    captures
        .flat_map(|(capture, c)| {
            c.servers().into_iter().map(move |(server, series)| Server {
                capture,
                server,
                series,
            })
        })
        .collect()
}

pub(super) fn scope(server: Endpoint) -> String {
    format!("all clients → {server}")
}

pub(super) fn section(report: &Report, places: &Places<'_>) -> Option<Markup> {
    let servers = servers(report);
    let load = &report.charts.load;
    if servers.is_empty() && load.is_empty() {
        return None;
    }
    Some(html! {
        div.charts {
            @for (i, s) in servers.iter().enumerate() {
                @let title = format!("Calls outstanding, {}, {}", scope(s.server), places.label(s.capture));
                (figure("outstanding", i, &title, &most(s)))
            }
            @for (i, l) in load.iter().enumerate() {
                @let title = format!(
                    "Wait of {} {} by calls outstanding, {}, {}",
                    l.protocol, l.op, scope(l.server), places.label(l.capture)
                );
                (figure("load", i, &title, &by_outstanding(l)))
            }
        }
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
    let mut text = match l.levels.as_slice() {
        [one] => format!("{}.", at(Some(one))),
        levels => format!("{}, {}.", at(levels.first()), at(levels.last())),
    };
    if let Some(cap) = l.server_cap {
        text.push_str(&format!(
            " The server works on about {} at a time ({}).",
            cap.outstanding, cap.code
        ));
    }
    if let Some(cap) = l.client_cap {
        text.push_str(&format!(
            " The client keeps at most {} outstanding ({}).",
            cap.outstanding, cap.code
        ));
    }
    text
}
