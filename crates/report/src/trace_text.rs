//! Profiles of traces for people: where the time went, then events, statements, packets, and at the end
//! what was read.

mod packets;

use crate::page::{Tone, pad, prose};
use crate::text::{Grid, bar, bytes, counted, grouped, problem, share, tight, wrap};
use crate::trace::{
    TraceBy, TraceStyle, events as listed_events, hex, statements as listed_statements, text,
};
use analysis::stats::Summary;
use analysis::trace_profile::{DatabaseTime, FROM_CLIENT, StatementRow, TraceResult};
use model::format_duration;
use std::io::{self, Write};

/// Rows of a table without `all`.
const EVENTS: usize = 20;
const STATEMENTS: usize = 10;
/// Characters of a statement without `all`.
const SQL_CHARACTERS: usize = 240;

/// Writes the page.
///
/// # Errors
/// Those of `out`.
pub fn trace_text(result: &TraceResult, style: &TraceStyle, out: &mut dyn Write) -> io::Result<()> {
    let mut page = String::new();
    if let Some(database) = &result.database {
        answer(database, &mut page);
        parts(database, &mut page);
        if style.by != Some(TraceBy::Statement) {
            events(database, style, &mut page);
        }
        if style.by != Some(TraceBy::Event) {
            calls(database, &mut page);
            statements(database, style, &mut page);
        }
        reads(database, &mut page);
        if database.events.iter().any(|e| !e.waits.exact)
            || database.calls.iter().any(|c| !c.elapsed.exact)
        {
            page.push_str("\nPercentiles of more than 4,096 samples are within 1 %.\n");
        }
    }
    if let Some(net) = &result.net {
        if !page.is_empty() {
            page.push('\n');
        }
        packets::packets(net, result, style, &mut page);
    }
    if let Some(not_opened) = packets::not_opened(result) {
        page.insert_str(0, &wrap("", 0, &not_opened));
    }
    if page.is_empty() {
        page.push_str("No calls, waits or packets are in the trace.\n");
    }
    files(result, &mut page);
    out.write_all(page.as_bytes())
}

/// The sentence that most readers want.
fn answer(d: &DatabaseTime, page: &mut String) {
    let response = d.response_ns;
    let longest = d.events.first();
    let waits = longest.map_or(0, |e| e.waits.total_ns);
    let part = |ns: i64| {
        format!(
            "{} of {} ({})",
            format_duration(ns),
            format_duration(response),
            share(ns, response)
        )
    };
    let text = if response == 0 && d.sent.1 + d.received.1 > 0 {
        format!("{}; the trace has no times.", exchanged(d))
    } else if response == 0 {
        "No time passed in the calls and waits of the trace.".to_owned()
    } else if d.unaccounted_ns > waits.max(d.cpu_ns) {
        format!(
            "{} are unaccounted: neither CPU time nor a wait of the trace. The process waited for a \
             CPU, or for something that has no event.",
            part(d.unaccounted_ns)
        )
    } else if d.cpu_ns >= waits {
        format!("{} are CPU time of the database process.", part(d.cpu_ns))
    } else if let Some(e) = longest.filter(|e| e.name == FROM_CLIENT) {
        let trips = &e.waits;
        let least = trips
            .min_ns
            .saturating_mul(i64::try_from(trips.count).unwrap_or(i64::MAX));
        format!(
            "{} are waits for the client and the network between calls: {} of {} on average. The \
             fastest took {}; if that is the network, it has {} of them and the client the rest.",
            part(trips.total_ns),
            counted(trips.count, "round trip"),
            format_duration(trips.mean_ns),
            format_duration(trips.min_ns),
            format_duration(least.min(trips.total_ns)),
        )
    } else if let Some(e) = longest {
        format!(
            "{} are {} for {}, {} on average.",
            part(e.waits.total_ns),
            counted(e.waits.count, "wait"),
            e.name,
            format_duration(e.waits.mean_ns)
        )
    } else {
        String::new()
    };
    page.push_str(&wrap("", 0, &text));
}

/// Parts of the response time with bars.
fn parts(d: &DatabaseTime, page: &mut String) {
    const PARTS: usize = 6;
    let response = d.response_ns;
    if response <= 0 {
        return;
    }
    title(
        &format!("Where the {} went", format_duration(response)),
        page,
    );
    let rest = if d.unaccounted_ns < 0 {
        "CPU and waits overlap"
    } else {
        "unaccounted"
    };
    let mut rows: Vec<(&str, i64)> = vec![("CPU", d.cpu_ns), (rest, d.unaccounted_ns)];
    let named = d.events.iter().take(PARTS);
    rows.extend(named.clone().map(|e| (e.name.as_str(), e.waits.total_ns)));
    let rest = d
        .events
        .iter()
        .skip(PARTS)
        .fold(0, |sum: i64, e| sum.saturating_add(e.waits.total_ns));
    rows.sort_by_key(|(_, ns)| std::cmp::Reverse(*ns));
    if rest > 0 {
        rows.push(("other waits", rest));
    }
    let cells = rows.iter().map(|(name, ns)| {
        vec![
            format!("  {name}"),
            format_duration(*ns),
            if *ns < 0 {
                "-".to_owned()
            } else {
                share(*ns, response)
            },
        ]
    });
    let grid = Grid::headless(cells.collect(), 2);
    let room = prose().saturating_sub(grid.width() + 2).min(30);
    for (line, (_, ns)) in grid.lines().iter().zip(&rows) {
        let bar = bar(*ns as f64, response as f64, room);
        page.push_str(format!("{}  {bar}", pad(line, grid.width())).trim_end());
        page.push('\n');
    }
    let outside = d.span_ns.saturating_sub(response);
    let mut notes = Vec::new();
    if d.recursive_ns > 0 {
        notes.push(format!(
            "{} of it are recursive calls",
            format_duration(d.recursive_ns)
        ));
    }
    if outside > response / 100 {
        notes.push(format!(
            "{} more passed between the first and the last record, of which none says anything",
            format_duration(outside)
        ));
    }
    if !notes.is_empty() {
        page.push_str(&wrap("  ", 2, &format!("{}.", notes.join("; "))));
    }
}

/// A quantile that the count carries, or `-`.
fn carried(s: &Summary, ns: i64, needs: u64) -> String {
    if s.count >= needs {
        tight(ns)
    } else {
        "-".to_owned()
    }
}

/// Mean, p50, p99 and max.
fn quantiles(s: &Summary) -> [String; 4] {
    [
        carried(s, s.mean_ns, 1),
        carried(s, s.p50_ns, 1),
        carried(s, s.p99_ns, Summary::P99_NEEDS),
        carried(s, s.max_ns, 1),
    ]
}

/// The title of a section, behind an empty line.
fn title(text: &str, page: &mut String) {
    page.push_str(&format!(
        "\n{}",
        Tone::Title.paint_lines(&wrap("", 2, text))
    ));
}

fn left_out(rows: usize, shown: usize, style: &TraceStyle, noun: &str, page: &mut String) {
    if rows > shown {
        let more = counted((rows - shown) as u64, noun);
        let cure = match style.order.top {
            None => " (all with --all)",
            Some(_) => "",
        };
        page.push_str(&format!("… and {more}{cure}\n"));
    }
}

/// How many of the listed rows are shown: those that are asked for, or the first.
fn shown(style: &TraceStyle, by: TraceBy, listed: usize, first: usize) -> usize {
    let asked = style.order.top.is_some() && style.by.unwrap_or(TraceBy::Statement) == by;
    match style.all || asked {
        true => listed,
        false => listed.min(first),
    }
}

fn events(d: &DatabaseTime, style: &TraceStyle, page: &mut String) {
    if d.events.is_empty() {
        return;
    }
    let listed = listed_events(d, style);
    let shown = shown(style, TraceBy::Event, listed.len(), EVENTS);
    let head = [
        "event", "share", "total", "waits", "mean", "p50", "p99", "max",
    ];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for e in listed.iter().take(shown).map(|l| l.0) {
        let name: String = e.name.chars().take(34).collect();
        let mut row = vec![
            name,
            share(e.waits.total_ns, d.response_ns),
            tight(e.waits.total_ns),
            grouped(e.waits.count),
        ];
        row.extend(quantiles(&e.waits));
        rows.push(row);
    }
    title("Waits by event", page);
    page.push_str(&Grid::fitting(rows).text());
    left_out(d.events.len(), shown, style, "further event", page);
}

/// What event 10079 noted.
fn exchanged(d: &DatabaseTime) -> String {
    format!(
        "{} with {} sent and {} with {} received over SQL*Net",
        counted(d.sent.0, "message"),
        bytes(d.sent.1),
        counted(d.received.0, "message"),
        bytes(d.received.1)
    )
}

fn calls(d: &DatabaseTime, page: &mut String) {
    if d.calls.is_empty() {
        return;
    }
    let head = [
        "call", "count", "own time", "CPU", "rest", "mean", "p50", "p99", "max", "rows",
    ];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for c in &d.calls {
        let mut row = vec![
            c.kind.to_owned(),
            grouped(c.elapsed.count),
            tight(c.own_ns),
            tight(c.cpu_ns),
            tight(c.unaccounted.total_ns),
        ];
        row.extend(quantiles(&c.elapsed));
        row.push(grouped(c.rows));
        rows.push(row);
    }
    title(
        "Database calls (own time: without recursive calls; rest: unaccounted)",
        page,
    );
    page.push_str(&Grid::fitting(rows).text());
    let worst = d.calls.iter().max_by_key(|c| c.unaccounted.max_ns);
    if let Some(c) = worst.filter(|c| c.unaccounted.max_ns > 0) {
        page.push_str(&wrap(
            "",
            0,
            &format!(
                "At most, a call left {} unaccounted ({}).",
                format_duration(c.unaccounted.max_ns),
                c.kind
            ),
        ));
    }
    let mut facts = Vec::new();
    for (count, noun) in [
        (d.commits, "commit"),
        (d.rollbacks, "rollback"),
        (d.errors, "error"),
        (d.parse_errors, "parse error"),
    ] {
        if count > 0 {
            facts.push(counted(count, noun));
        }
    }
    if d.sent.1 + d.received.1 > 0 {
        facts.push(exchanged(d));
    }
    if !facts.is_empty() {
        page.push_str(&wrap("", 0, &format!("{}.", facts.join(", "))));
    }
}

fn statements(d: &DatabaseTime, style: &TraceStyle, page: &mut String) {
    if d.statements.is_empty() {
        return;
    }
    let listed = listed_statements(d, style);
    let shown = shown(style, TraceBy::Statement, listed.len(), STATEMENTS);
    title(
        "Statements, with the waits for the client between their calls",
        page,
    );
    for (rank, s) in (1..).zip(listed.iter().take(shown).map(|l| l.row)) {
        let number = format!("{rank:<3}");
        let recursive = match s.depth {
            Some(depth) if depth > 0 => ", recursive",
            _ => "",
        };
        let names = [
            s.id.map(hex),
            s.sql_id.as_ref().map(|id| format!("sql_id {id}")),
        ];
        let names: Vec<String> = names.into_iter().flatten().collect();
        page.push_str(&wrap(
            &number,
            3,
            &format!(
                "{} {}{recursive}  {}",
                format_duration(s.total_ns),
                share(s.total_ns, d.response_ns),
                names.join(" ")
            ),
        ));
        for text in [shown_text(s, style), work(s), time(s)] {
            if !text.is_empty() {
                page.push_str(&wrap("   ", 3, &text));
            }
        }
    }
    left_out(d.statements.len(), shown, style, "further statement", page);
}

fn shown_text(s: &StatementRow, style: &TraceStyle) -> String {
    let text = text(s, style.show_literals);
    if style.all || text.chars().count() <= SQL_CHARACTERS {
        return text;
    }
    let head: String = text.chars().take(SQL_CHARACTERS).collect();
    format!("{head} …")
}

/// How often it did what.
fn work(s: &StatementRow) -> String {
    let mut words = Vec::new();
    if s.parses > 0 {
        let hard = match s.hard_parses {
            0 => String::new(),
            n => format!(" ({} hard)", grouped(n)),
        };
        words.push(format!("{}{hard}", counted(s.parses, "parse")));
    }
    if s.executions > 0 {
        words.push(counted(s.executions, "execution"));
    }
    if s.fetches > 0 {
        let typical = match (s.rows_per_fetch_p50, s.rows_per_fetch_max) {
            (Some(p50), Some(max)) if max > 0 => format!(
                " of {:.1} rows on average (p50 {}, max {})",
                s.rows as f64 / s.fetches as f64,
                grouped(p50),
                grouped(max)
            ),
            _ => String::new(),
        };
        let noun = if s.fetches == 1 { "fetch" } else { "fetches" };
        words.push(format!("{} {noun}{typical}", grouped(s.fetches)));
    }
    if s.rows > 0 {
        words.push(counted(s.rows, "row"));
    }
    if s.physical_reads + s.consistent_reads > 0 {
        words.push(format!(
            "{} read, {} from disk",
            counted(s.consistent_reads, "block"),
            grouped(s.physical_reads)
        ));
    }
    if s.errors > 0 {
        words.push(counted(s.errors, "error"));
    }
    words.join(", ")
}

/// Where its time went.
fn time(s: &StatementRow) -> String {
    let mut words = Vec::new();
    if s.elapsed.count > 0 {
        let rest = match s.unaccounted_ns {
            ..0 => format!("less an overlap of {}", format_duration(-s.unaccounted_ns)),
            ns => format!("unaccounted {}", format_duration(ns)),
        };
        words.push(format!(
            "in calls {}: CPU {}, waits {}, {rest}",
            format_duration(s.own_ns),
            format_duration(s.cpu_ns),
            format_duration(s.waited_ns),
        ));
        let [mean, p50, p99, max] = quantiles(&s.elapsed);
        words.push(format!(
            "a call mean {mean}, p50 {p50}, p99 {p99}, max {max}"
        ));
    }
    if s.round_trips.count > 0 {
        let [mean, p50, p99, max] = quantiles(&s.round_trips);
        words.push(format!(
            "{} of {}: mean {mean}, p50 {p50}, p99 {p99}, max {max}",
            counted(s.round_trips.count, "round trip"),
            format_duration(s.round_trips.total_ns)
        ));
    }
    let waits = s
        .events
        .iter()
        .filter(|(name, _, ns)| name != FROM_CLIENT && *ns > 0);
    let waits: Vec<String> = waits
        .take(3)
        .map(|(name, count, ns)| format!("{name} {} ({})", format_duration(*ns), grouped(*count)))
        .collect();
    if !waits.is_empty() {
        words.push(format!("waits: {}", waits.join(", ")));
    }
    words.join("; ")
}

fn reads(d: &DatabaseTime, page: &mut String) {
    if !d.reads.is_empty() {
        let head = [
            "reads", "waits", "blocks", "per wait", "total", "mean", "p50", "p99", "max",
        ];
        let mut rows = vec![head.map(str::to_owned).to_vec()];
        for r in &d.reads {
            let per_wait = r
                .blocks
                .map(|b| format!("{:.1}", b as f64 / r.waits.count.max(1) as f64));
            let mut row = vec![
                r.path.name().to_owned(),
                grouped(r.waits.count),
                r.blocks.map_or("-".to_owned(), grouped),
                per_wait.unwrap_or("-".to_owned()),
                tight(r.waits.total_ns),
            ];
            row.extend(quantiles(&r.waits));
            rows.push(row);
        }
        title("How blocks were read", page);
        page.push_str(&Grid::fitting(rows).text());
        if d.reads.iter().any(|r| r.path.name().starts_with("direct")) {
            page.push_str(&wrap(
                "",
                0,
                "Direct reads overlap: their waits are neither their number nor their latency.",
            ));
        }
    }
    if !d.decisions.is_empty() {
        page.push_str("\nHow full scans were decided to read (NSMTIO)\n");
        for c in &d.decisions {
            let way = if c.direct {
                "direct path"
            } else {
                "through the buffer cache"
            };
            let line = format!("{} {way}, {} {}", grouped(c.count), c.function, c.reason);
            page.push_str(&wrap("  ", 4, &line));
        }
    }
}

/// What was read, and what could not be.
fn files(result: &TraceResult, page: &mut String) {
    title("Traces", page);
    for f in &result.files {
        let mut words = vec![counted(f.lines, "line")];
        words.extend(f.product.clone());
        let named = [
            ("host", &f.host),
            ("instance", &f.instance),
            ("service", &f.service),
            ("module", &f.module),
            ("driver", &f.driver),
        ];
        for (name, value) in named {
            words.extend(value.as_ref().map(|v| format!("{name} {v}")));
        }
        words.extend(f.process.map(|p| format!("process {p}")));
        if f.sessions > 1 {
            words.push(counted(f.sessions, "session"));
        }
        page.push_str(&wrap("  ", 4, &format!("{}: {}", f.name, words.join(", "))));
        let net = &f.net;
        let mut words = Vec::new();
        words.extend(net.side.map(|s| format!("written by the {}", s.name())));
        words.extend(net.level.map(|l| format!("level {l}")));
        words.extend(net.sdu.map(|n| format!("SDU {} agreed", bytes_exact(n))));
        words.extend(net.tdu.map(|n| format!("TDU {} agreed", bytes_exact(n))));
        if net.sdu.is_none() {
            words.extend(
                net.proposed_sdu
                    .map(|n| format!("SDU {} proposed", bytes_exact(n))),
            );
        }
        words.extend(net.version.map(|v| format!("version {v}")));
        words.extend(net.peer.as_ref().map(|p| format!("with {p}")));
        // So that it can be broken into lines.
        words.extend(net.descriptor.as_ref().map(|d| d.replace(")(", ") (")));
        words.extend(packets::outcomes(net));
        if !words.is_empty() && f.net_lines > 0 {
            page.push_str(&wrap("    SQL*Net: ", 6, &words.join(", ")));
        }
        if f.unit_ns == 1_024 {
            page.push_str(&wrap(
                "    ",
                6,
                "its clock counts units of 1,024 ns, by the dates in it",
            ));
        }
    }
    for (kind, p) in result.problems.iter() {
        let (tone, head) = match p.damage {
            true => (Tone::Severe, "  Damaged: "),
            false => (Tone::Notable, "  Note: "),
        };
        page.push_str(&wrap(&tone.paint(head), 4, &problem(kind, p)));
    }
}

fn bytes_exact(n: u64) -> String {
    format!("{} B", grouped(n))
}

#[cfg(test)]
mod tests;
