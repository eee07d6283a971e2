//! A database's waits beside the READs that served them: sums by event, the longest one by one, and how
//! well the trace's clock is known.

use crate::page::{self, Tone, pad};
use crate::text::{Grid, Unit, counted, grouped, wrap};
use analysis::app::AppFacts;
use analysis::results::{JoinedRead, TraceJoinResult};
use analysis::stats::Summary;
use model::format_duration;

/// Waits that are listed one by one.
const WAITS: usize = 10;

pub(super) fn joined(app: &AppFacts) -> String {
    let Some(join) = &app.join else {
        return String::new();
    };
    let title = format!(
        "Oracle's waits for blocks of {} bytes and the READs that served them",
        grouped(join.block_bytes)
    );
    let mut text = Tone::Title.paint(&title) + "\n";
    text.push_str(&sums(join));
    text.push_str(&longest(&join.worst));
    text.push_str(&wrap("  ", 2, &clock(join)));
    text
}

/// Means by event.
fn sums(join: &TraceJoinResult) -> String {
    let most = join.events.iter().map(|e| e.oracle.mean_ns).max();
    let unit = Unit::for_duration(most.unwrap_or(0));
    let heads = ["", "waits", "joined", "Oracle", "client", "server", "sum"];
    let mut rows = vec![heads.map(str::to_owned).to_vec()];
    let mean = |s: Option<&Summary>| match s {
        Some(s) if s.count > 0 => unit.number(s.mean_ns),
        _ => "-".to_owned(),
    };
    for e in &join.events {
        rows.push(vec![
            format!("  {}", e.event),
            grouped(e.waits),
            grouped(e.oracle.count),
            mean(Some(&e.oracle)),
            mean(Some(&e.wire)),
            mean(e.server.as_ref()),
            format_duration(e.oracle.total_ns),
        ]);
    }
    let mut first = rows.iter_mut().filter_map(|r| r.first_mut());
    if let Some(head) = first.next() {
        *head = format!("  mean, in {}", unit.name);
    }
    Grid::fitting(rows).text()
}

/// A line each.
fn longest(worst: &[JoinedRead]) -> String {
    let unit = Unit::for_duration(worst.first().map_or(0, |r| r.oracle_ns));
    let heads = ["", "block", "blocks", "Oracle", "client", "server"];
    let mut rows = vec![heads.map(str::to_owned).to_vec()];
    for r in worst.iter().take(WAITS) {
        rows.push(vec![
            format!("  file {}", r.file),
            r.block.to_string(),
            r.blocks.to_string(),
            unit.number(r.oracle_ns),
            unit.number(r.wire_ns),
            r.server_ns
                .map_or_else(|| "-".to_owned(), |ns| unit.number(ns)),
        ]);
    }
    if let Some(head) = rows.first_mut().and_then(|r| r.first_mut()) {
        *head = format!("  longest, in {}", unit.name);
    }
    let lines = Grid::fitting(rows);
    let width = lines.width();
    let room = page::width().saturating_sub(width + 2);
    let frames =
        std::iter::once(Tone::Faint.paint("frames")).chain(worst.iter().map(|r| frames(r, room)));
    let lines = lines.lines().into_iter().zip(frames);
    lines
        .map(|(line, frames)| {
            let line = format!("{}  {frames}", pad(&line, width));
            format!("{}\n", line.trim_end())
        })
        .collect()
}

/// `10,12`, as many as there is room for.
fn frames(read: &JoinedRead, room: usize) -> String {
    let all: Vec<String> = read
        .evidence
        .iter()
        .flat_map(|e| e.frames.iter().map(u32::to_string))
        .collect();
    let text = |n: usize| {
        let rest = if n < all.len() { ",…" } else { "" };
        format!("{}{rest}", all.get(..n).unwrap_or_default().join(","))
    };
    let mut fits = (1..=all.len()).rev().map(text);
    fits.find(|t| t.chars().count() <= room).unwrap_or_default()
}

fn clock(join: &TraceJoinResult) -> String {
    let c = &join.clock;
    let which = if c.offset_ns < 0 {
        "behind"
    } else {
        "ahead of"
    };
    format!(
        "{} of {} while the capture ran were joined. The trace's clock is {} {which} the client capture's (±{}) and drifts by {:.1} ppm (±{:.1}), by {}.",
        grouped(join.joined),
        counted(join.during, "wait"),
        format_duration(c.offset_ns.saturating_abs()),
        format_duration(c.uncertainty_ns),
        c.drift * 1e6,
        c.drift_uncertainty * 1e6,
        counted(c.pairs, "pair")
    )
}
