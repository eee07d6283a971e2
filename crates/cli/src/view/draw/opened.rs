//! A row that was opened: its figures, how long its calls took in each of the last intervals, and the slowest of them
//! with their packets.

use super::connections::ends;
use super::table::{Column, Place, pad, shorten_rule, table};
use super::tone::{Tone, slow, style};
use crate::view::state::{OpenRow, State, connection};
use analysis::live::{BOUNDS_NS, Opened, PastInterval, RowKey, SlowestCall};
use analysis::stats::Summary;
use model::{Mark, format_duration};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Modifier;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use report::{
    carried, clock, columns, counted, grouped, limit_words, pad_left, per_second, rate, shortened,
    tight,
};

/// Columns before the curves: what a line of them means.
const LABEL: usize = 10;

/// From few to many.
const SHADES: [char; 5] = ['·', '░', '▒', '▓', '█'];
const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// A call of the list, and what stands before its figures.
struct Listed {
    call: SlowestCall,
    at: String,
    /// Of an operation its connection, of a connection the operation.
    of_connection: bool,
}

const CALLS: [Column<Listed>; 6] = [
    Column {
        name: "took",
        width: 10,
        from: 0,
        cell: |l| (slow(l.call.ns), tight(l.call.ns)),
    },
    Column {
        name: "request",
        width: 9,
        from: 100,
        cell: |l| part(l, 0),
    },
    Column {
        name: "wait",
        width: 9,
        from: 0,
        cell: |l| part(l, 1),
    },
    Column {
        name: "response",
        width: 10,
        from: 100,
        cell: |l| part(l, 2),
    },
    Column {
        name: "answered",
        width: 10,
        from: 0,
        cell: |l| (Tone::Plain, l.at.clone()),
    },
    Column {
        name: "frames",
        width: 20,
        from: 0,
        cell: |l| (Tone::Plain, frames(l.call.request, l.call.response)),
    },
];

fn part(l: &Listed, i: usize) -> (Tone, String) {
    let ns = l.call.parts_ns.get(i).copied().unwrap_or(0);
    (Tone::Plain, tight(ns))
}

/// The first and the last packet of a call, as Wireshark numbers them.
fn frames(request: Mark, response: Mark) -> String {
    let (first, last) = (request.packet, response.packet);
    match (first == last, first.file) {
        (true, 0) => format!("{}", first.frame),
        (false, 0) => format!("{}–{}", first.frame, last.frame),
        // Of several files.
        _ => {
            let of = |p: model::PacketRef| format!("{}:{}", p.file + 1, p.frame);
            format!("{}–{}", of(first), of(last))
        }
    }
}

pub(super) fn opened(frame: &mut Frame<'_>, state: &State, row: &OpenRow, area: Rect) {
    let room = usize::from(area.width).saturating_sub(LABEL).max(1);
    let past = state.past_of(row.key, room);
    let above = [
        title(state, row, area.width),
        figures(state, row, area.width),
    ];
    let curves = curves(state, row.key, &past, room);
    let fixed = above.len() + curves.len() + 3;
    // The list has what the map leaves, and at least a third of both.
    let both = usize::from(area.height).saturating_sub(fixed);
    let map = map(state, &past, room, (both * 2 / 3).max(1));
    let mut lines: Vec<Line<'static>> = above.into_iter().collect();
    lines.extend(map);
    lines.extend(curves);
    lines.push(axis(state, &past, room));
    let height = lines.len() as u16;
    let [picture, list] =
        Layout::vertical([Constraint::Length(height), Constraint::Min(2)]).areas(area);
    frame.render_widget(Paragraph::new(lines), picture);
    calls(frame, state, row, &past, list);
}

fn title(state: &State, row: &OpenRow, width: u16) -> Line<'static> {
    let width = usize::from(width);
    let back = " Esc back ";
    let name = shortened(&row.name, width.saturating_sub(back.len() + 4));
    let text = format!(" {name} ");
    let rule = width.saturating_sub(columns(&text));
    let bold = style(state, Tone::Title).add_modifier(Modifier::REVERSED);
    let mut line = Line::from(vec![
        Span::styled(text, bold),
        Span::styled("─".repeat(rule), style(state, Tone::Faint)),
    ]);
    shorten_rule(&mut line, back);
    line
}

/// What the table says of it, over the window: as much as fits.
fn figures(state: &State, row: &OpenRow, width: u16) -> Line<'static> {
    let Some((moment, _)) = &state.shown else {
        return Line::default();
    };
    let mut said = vec![format!("Last {}:", format_duration(moment.window_ns))];
    let mut subjects = moment.operations.iter().chain(&moment.statements);
    if let Some(r) = subjects.find(|r| r.key == row.key) {
        let w = &r.window;
        said.push(counted(w.stats.count, "call"));
        if w.errors > 0 {
            said.push(counted(w.errors, "error"));
        }
        said.push(format!("p50 {}", carried(w, |s| s.p50_ns, 1)));
        said.push(format!(
            "p99 {}",
            carried(w, |s| s.p99_ns, Summary::P99_NEEDS)
        ));
        said.push(format!("slowest {}", carried(w, |s| s.max_ns, 1)));
        said.push(format!("{} outstanding", per_second(w.outstanding())));
    } else if let Some(c) = moment.connections.iter().find(|c| connection(c) == row.key) {
        said.push(counted(c.calls, "call"));
        said.extend(c.limit.as_ref().map(limit_words));
        said.push(format!("rtt {}", c.rtt_ns.map_or("-".to_owned(), tight)));
        said.push(rate(c.bps()));
        said.push(format!("{} outstanding", grouped(c.outstanding_most)));
    } else {
        said.push("nothing".to_owned());
    }
    let mut text = String::new();
    for part in said {
        if columns(&text) + 2 + columns(&part) > usize::from(width) {
            break;
        }
        let gap = if text.is_empty() { "" } else { "  " };
        text = format!("{text}{gap}{part}");
    }
    Line::raw(text)
}

/// Columns that each interval takes.
fn scale(past: &Opened, room: usize) -> usize {
    (room / past.intervals.len().max(1)).clamp(1, 4)
}

/// Response times upwards, intervals to the right, and how many calls there are by shades; at most so many lines below
/// a heading.
fn map(state: &State, past: &Opened, room: usize, most: usize) -> Vec<Line<'static>> {
    let has = |bin: &usize| past.intervals.iter().any(|i| calls_of(i, *bin) > 0);
    let bins = 0..=BOUNDS_NS.len();
    let (Some(least), Some(greatest)) = (bins.clone().find(has), bins.rev().find(has)) else {
        let text = "no call of it is remembered: Esc, and other rows";
        return vec![Line::styled(text, style(state, Tone::Faint))];
    };
    // Where not all have a line of their own, the quickest share one.
    let lowest = least.max((greatest + 1).saturating_sub(most));
    let count = |interval: &PastInterval, bin: usize| -> u64 {
        let from = if bin == lowest { 0 } else { bin };
        let of = (from..=bin).map(|bin| u64::from(calls_of(interval, bin)));
        of.sum()
    };
    let each = past.intervals.iter();
    let counts = each.flat_map(|i| (lowest..=greatest).map(move |bin| count(i, bin)));
    let greatest_count = counts.max().unwrap_or(0);
    let heading = format!(
        "Calls by response time, {} a column; █ {}",
        format_duration(past.width_ns),
        counted(greatest_count, "call")
    );
    let mut lines = vec![Line::styled(heading, style(state, Tone::Faint))];
    let wide = scale(past, room);
    for bin in (lowest..=greatest).rev() {
        let (sign, bound) = match BOUNDS_NS.get(bin) {
            Some(bound) => ("≤", *bound),
            None => (">", BOUNDS_NS.last().copied().unwrap_or(0)),
        };
        let label = pad_left(&format!("{sign} {}", format_duration(bound)), LABEL - 1);
        let shades: String = past.intervals.iter().fold(String::new(), |mut text, i| {
            let shade = shade(count(i, bin), greatest_count);
            text.extend(std::iter::repeat_n(shade, wide));
            text
        });
        lines.push(Line::from(vec![
            Span::styled(format!("{label} "), style(state, Tone::Faint)),
            Span::styled(shades, style(state, slow(bound))),
        ]));
    }
    lines
}

fn calls_of(interval: &PastInterval, bin: usize) -> u32 {
    interval.calls.get(bin).copied().unwrap_or(0)
}

/// One call is seen beside thousands: shades follow magnitudes.
fn shade(n: u64, most: u64) -> char {
    let steps = SHADES.len() - 1;
    let step = match (n, most) {
        (0, _) => return ' ',
        (n, most) if n >= most => steps,
        _ => ((n as f64).ln() / (most as f64).ln() * steps as f64) as usize,
    };
    SHADES.get(step).copied().unwrap_or(' ')
}

/// What else a row did over time, a line each: of connections payload and what was sent again; errors where there are any.
fn curves(state: &State, key: RowKey, past: &Opened, room: usize) -> Vec<Line<'static>> {
    let wide = scale(past, room);
    let curve = |label: &str, of: &dyn Fn(&PastInterval) -> u64| {
        let most = past.intervals.iter().map(of).max().unwrap_or(0);
        let heights = past.intervals.iter().fold(String::new(), |mut text, i| {
            text.extend(std::iter::repeat_n(height(of(i), most), wide));
            text
        });
        let label = format!("{} ", pad_left(label, LABEL - 1));
        Line::from(vec![
            Span::styled(label, style(state, Tone::Faint)),
            Span::raw(heights),
        ])
    };
    let mut lines = Vec::new();
    let any = |of: fn(&PastInterval) -> u64| past.intervals.iter().any(|i| of(i) > 0);
    if matches!(key, RowKey::Connection(_)) {
        lines.push(curve("payload", &|i| i.bytes));
        if any(|i| i.resent) {
            lines.push(curve("resent", &|i| i.resent));
        }
    }
    if any(|i| i.errors.into()) {
        lines.push(curve("errors", &|i| i.errors.into()));
    }
    lines
}

fn height(n: u64, most: u64) -> char {
    if n == 0 || most == 0 {
        return ' ';
    }
    let steps = HEIGHTS.len() as u64;
    let step = (n.saturating_mul(steps)).div_ceil(most).clamp(1, steps) - 1;
    HEIGHTS.get(step as usize).copied().unwrap_or(' ')
}

/// When the first interval began, and when the last ended.
fn axis(state: &State, past: &Opened, room: usize) -> Line<'static> {
    let wide = past.intervals.len() * scale(past, room);
    let first = clock(past.start, &state.zone);
    let lasted = past.width_ns.saturating_mul(past.intervals.len() as i64);
    let last = clock(past.start + lasted, &state.zone);
    let last = match wide > columns(&first) + columns(&last) {
        true => pad_left(&last, wide - columns(&first)),
        false => format!(" – {last}"),
    };
    let text = format!("{}{first}{last}", " ".repeat(LABEL));
    Line::styled(text, style(state, Tone::Faint))
}

fn calls(frame: &mut Frame<'_>, state: &State, row: &OpenRow, past: &Opened, area: Rect) {
    let of_connection = matches!(row.key, RowKey::Connection(_));
    let listed = |call: SlowestCall| Listed {
        at: clock(call.response.time, &state.zone),
        call,
        of_connection,
    };
    let rows: Vec<Listed> = past.slowest().into_iter().map(listed).collect();
    let rows: Vec<&Listed> = rows.iter().collect();
    let text = " Slowest calls, of each interval three at most ";
    let rule = usize::from(area.width).saturating_sub(columns(text));
    let title = Line::from(vec![
        Span::styled(text, style(state, Tone::Title)),
        Span::styled("─".repeat(rule), style(state, Tone::Faint)),
    ]);
    let heading = match of_connection {
        true => "operation",
        false => "client > server",
    };
    table(
        frame,
        state,
        &Place::from(row.first, rows.len(), area),
        (title, heading, "none"),
        &rows,
        |l, room| match l.of_connection {
            true => {
                let error = if l.call.is_error { ", error" } else { "" };
                pad(&format!("{} {}{error}", l.call.protocol, l.call.op), room)
            }
            false => ends(&l.call.client, &l.call.server, room),
        },
        &CALLS,
    );
}
