//! The screen: three panes of tables below what is wrong now, fitted to 80 columns and 24 lines, and with
//! more columns and rows where there is room.

use super::keys::KEYS;
use super::state::{CONNECTION_ORDERS, Mode, Mood, OPERATION_ORDERS, Pane, Past, State};
use analysis::live::{ConnectionRow, FoundRow, SubjectRow};
use analysis::results::Side;
use analysis::stats::Summary;
use model::{TimeClass, format_duration};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Paragraph, Sparkline, Wrap};
use report::{
    carried, clock, columns, counted, grouped, harmless, limit_words, per_second, rate, shortened,
    tight,
};
use std::net::IpAddr;

/// What words mean, as in text for people. Nothing is said by a color alone.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tone {
    Plain,
    Accused,
    Severe,
    Notable,
    Fine,
    Title,
    Faint,
}

fn style(state: &State, tone: Tone) -> Style {
    let plain = Style::new();
    let colored = |style: Style, color| match state.colors {
        true => style.fg(color),
        false => style,
    };
    match tone {
        Tone::Plain => plain,
        Tone::Accused => colored(plain.add_modifier(Modifier::BOLD), Color::Red),
        Tone::Severe => colored(plain, Color::Red),
        Tone::Notable => colored(plain, Color::Yellow),
        Tone::Fine => colored(plain, Color::Green),
        Tone::Title => plain.add_modifier(Modifier::BOLD),
        Tone::Faint => plain.add_modifier(Modifier::DIM),
    }
}

/// Screens that are smaller cannot hold the panes.
const LEAST: (u16, u16) = (60, 12);

/// Wide enough for panes side by side.
const WIDE: u16 = 150;

pub(crate) fn draw(frame: &mut Frame<'_>, state: &State) {
    let area = frame.area();
    if area.width < LEAST.0 || area.height < LEAST.1 {
        let (_, text) = state.headline();
        let text = format!(
            "{text} (the view needs {} columns, {} lines)",
            LEAST.0, LEAST.1
        );
        frame.render_widget(Paragraph::new(text).wrap(Wrap { trim: true }), area);
        return;
    }
    let (mood, headline) = state.headline();
    // What is wrong is never cut where there is a line more for it.
    let wrapped = lines_of(&headline, area.width).clamp(1, 3) as u16;
    let [head, now, main, foot] = Layout::vertical([
        Constraint::Length(wrapped),
        Constraint::Length(2),
        Constraint::Min(5),
        Constraint::Length(1),
    ])
    .areas(area);
    let tone = match mood {
        Mood::Bad => Tone::Accused,
        Mood::Fine => Tone::Fine,
        Mood::Waiting => Tone::Title,
    };
    let text = Paragraph::new(headline).style(style(state, tone));
    frame.render_widget(text.wrap(Wrap { trim: true }), head);
    frame.render_widget(Paragraph::new(now_lines(state, now.width)), now);
    panes(frame, state, main);
    frame.render_widget(Paragraph::new(foot_line(state, foot.width)), foot);
    if state.mode == Mode::Help {
        help(frame, state, area);
    }
}

/// How many lines a text takes, wrapped between words.
fn lines_of(text: &str, width: u16) -> usize {
    let (mut lines, mut at) = (1, 0);
    for word in text.split_whitespace() {
        let more = columns(word) + usize::from(at > 0);
        if at > 0 && at + more > usize::from(width) {
            lines += 1;
            at = columns(word);
        } else {
            at += more;
        }
    }
    lines
}

/// Messages stand above the panes for so long.
const RECENT_NS: i64 = 30_000_000_000;

/// The interval in figures, and what else is to be known of the capture.
fn now_lines(state: &State, width: u16) -> Vec<Line<'static>> {
    let Some((m, held)) = &state.shown else {
        return vec![Line::default()];
    };
    let per = 1e9 / m.width_ns.max(1) as f64;
    let figures = [
        format!("{} calls/s", per_second(m.all.rate())),
        format!("p50 {}", carried(&m.all_window, |s| s.p50_ns, 1)),
        format!(
            "p99 {}",
            carried(&m.all_window, |s| s.p99_ns, Summary::P99_NEEDS)
        ),
        format!("{} outstanding", grouped(m.outstanding)),
        rate((m.traffic.bytes as f64 * 8.0 * per).round() as u64),
    ];
    let mut first = vec![(Tone::Title, clock(m.start, &state.zone))];
    first.extend(figures.map(|f| (Tone::Plain, f)));
    if m.all_window.errors > 0 {
        let text = counted(m.all_window.errors, "error");
        first.push((Tone::Notable, text));
    }
    let mut second = Vec::new();
    let mut say = |tone: Tone, text: String| second.push((tone, text));
    if state.paused {
        say(Tone::Notable, "PAUSED, the capture goes on".to_owned());
    }
    if state.ended.is_some() {
        say(Tone::Notable, "the capture has ended".to_owned());
    }
    let packets = m.traffic.packets as f64 * per;
    say(Tone::Plain, format!("{} packets/s", per_second(packets)));
    match (state.lost(), m.dropped) {
        (0, Some(0)) => say(Tone::Faint, "no packets lost".to_owned()),
        (0, None) => {}
        (0, Some(n)) => say(
            Tone::Notable,
            format!("{} lost before", counted(n, "packet")),
        ),
        (n, _) => say(
            Tone::Severe,
            format!(
                "{} LOST by this host: figures are too low",
                counted(n, "packet")
            ),
        ),
    }
    let kept = format!(
        "{} kept ({}{})",
        report::spoken(held.ns),
        report::bytes(held.bytes),
        match held.short {
            true => ": more do not fit",
            false => "",
        }
    );
    say(
        if held.short {
            Tone::Notable
        } else {
            Tone::Faint
        },
        kept,
    );
    if !state.filter.is_empty() {
        say(Tone::Notable, format!("only “{}”", state.filter));
    }
    if let Some(message) = state.messages.back()
        && message.at.is_none_or(|at| m.start - at < RECENT_NS)
    {
        let room = usize::from(width).saturating_sub(wide(&second) + 2);
        second.push((Tone::Title, shortened(&harmless(&message.short), room)));
    }
    vec![
        words_that_fit(state, first, width),
        words_that_fit(state, second, width),
    ]
}

/// The columns of words with two spaces between them.
fn wide(words: &[(Tone, String)]) -> usize {
    let all: usize = words.iter().map(|(_, text)| columns(text) + 2).sum();
    all.saturating_sub(2)
}

/// A line of words. Where there is no room for all, the last of the least weight go whole: half a figure
/// would be another figure.
fn words_that_fit(state: &State, mut words: Vec<(Tone, String)>, width: u16) -> Line<'static> {
    for tone in [Tone::Faint, Tone::Plain] {
        while wide(&words) > usize::from(width)
            && let Some(last) = words.iter().rposition(|(t, _)| *t == tone)
        {
            words.remove(last);
        }
    }
    let mut spans = Vec::new();
    for (tone, text) in words {
        if !spans.is_empty() {
            spans.push(Span::raw("  "));
        }
        spans.push(Span::styled(text, style(state, tone)));
    }
    Line::from(spans)
}

fn panes(frame: &mut Frame<'_>, state: &State, area: Rect) {
    let here = |pane| state.pane == pane;
    let found = state.findings();
    let lines = |f: &&FoundRow| finding_lines(state, f, area.width).len();
    let wanted = 1 + found.iter().map(lines).sum::<usize>().clamp(1, 30) as u16;
    let [tables, findings] = match here(Pane::Findings) {
        true => Layout::vertical([Constraint::Length(6), Constraint::Min(4)]).areas(area),
        false => {
            let most = (area.height / 4).max(3);
            Layout::vertical([Constraint::Min(4), Constraint::Length(wanted.min(most))]).areas(area)
        }
    };
    let [operations, connections] = if area.width >= WIDE {
        Layout::horizontal([Constraint::Fill(1), Constraint::Fill(1)])
            .spacing(2)
            .areas(tables)
    } else {
        let of = |pane| match here(pane) {
            true => Constraint::Fill(2),
            false => Constraint::Fill(1),
        };
        Layout::vertical([of(Pane::Operations), of(Pane::Connections)]).areas(tables)
    };
    operations_pane(frame, state, operations);
    connections_pane(frame, state, connections);
    findings_pane(frame, state, &found, findings);
}

/// A pane's title, in which stands what it is sorted by.
fn title(state: &State, pane: Pane, text: &str, width: u16) -> Line<'static> {
    let number = 1 + Pane::ALL.iter().position(|p| *p == pane).unwrap_or(0);
    let here = state.pane == pane;
    let style = match here {
        true => style(state, Tone::Title).add_modifier(Modifier::REVERSED),
        false => style(state, Tone::Title),
    };
    let text = format!(" {number} {text} ");
    let rule = usize::from(width).saturating_sub(columns(&text));
    Line::from(vec![
        Span::styled(text, style),
        Span::styled("─".repeat(rule), self::style(state, Tone::Faint)),
    ])
}

/// A column: its heading, how wide it is, and from which width of the pane on it is shown.
struct Column<R> {
    name: &'static str,
    width: usize,
    from: u16,
    cell: fn(&R) -> (Tone, String),
}

/// Rows below each other: the name takes what the columns leave.
fn table<R>(
    frame: &mut Frame<'_>,
    state: &State,
    area: Rect,
    (title, heading, nothing): (Line<'static>, &str, &str),
    (rows, first): (&[&R], usize),
    name: fn(&R, usize) -> String,
    columns: &[Column<R>],
) {
    let width = usize::from(area.width);
    let shown: Vec<&Column<R>> = columns.iter().filter(|c| area.width >= c.from).collect();
    let taken: usize = shown.iter().map(|c| c.width).sum();
    let room = width.saturating_sub(taken);
    let mut lines = vec![title];
    let mut heads = pad(heading, room);
    for c in &shown {
        heads.push_str(&pad_left(c.name, c.width));
    }
    lines.push(Line::styled(heads, style(state, Tone::Faint)));
    let first = first.min(rows.len().saturating_sub(1));
    let space = usize::from(area.height).saturating_sub(lines.len());
    let beyond = rows.len().saturating_sub(first + space);
    for r in rows.iter().skip(first).take(space) {
        let text = name(r, room.saturating_sub(1));
        let mut spans = vec![Span::raw(pad(&text, room))];
        for c in &shown {
            let (tone, cell) = (c.cell)(r);
            let cell = pad_left(&cell, c.width);
            spans.push(Span::styled(cell, style(state, tone)));
        }
        lines.push(Line::from(spans));
    }
    if rows.is_empty() {
        lines.push(Line::styled(nothing.to_owned(), style(state, Tone::Faint)));
    } else if beyond > 0
        && let Some(line) = lines.first_mut()
    {
        let text = format!(" {} more ", grouped(beyond as u64));
        shorten_rule(line, &text);
    }
    frame.render_widget(Paragraph::new(lines), area);
}

/// Puts a text at the end of a title's rule.
fn shorten_rule(line: &mut Line<'static>, text: &str) {
    let cut = report::columns(text);
    if let Some(rule) = line.spans.get_mut(1) {
        let kept = rule.content.chars().count().saturating_sub(cut + 1);
        rule.content = format!("{}{text}─", "─".repeat(kept)).into();
    }
}

fn pad(text: &str, width: usize) -> String {
    let text = shortened(text, width);
    let spaces = width.saturating_sub(columns(&text));
    format!("{text}{}", " ".repeat(spaces))
}

fn pad_left(text: &str, width: usize) -> String {
    let spaces = width.saturating_sub(columns(text));
    format!("{}{text}", " ".repeat(spaces))
}

/// Calls that take so long are worth a look: what a diagnosis judges by, too.
const SLOW_NS: i64 = 20_000_000;

fn slow(ns: i64) -> Tone {
    match ns >= SLOW_NS {
        true => Tone::Notable,
        false => Tone::Plain,
    }
}

fn operations_pane(frame: &mut Frame<'_>, state: &State, area: Rect) {
    let rows = state.operations();
    let [place, ..] = state.places;
    let (what, heading) = match state.statements {
        true => ("Statements", "statement"),
        false => ("Operations", "operation"),
    };
    let order = OPERATION_ORDERS.get(place.order).copied().unwrap_or("time");
    let over = state.shown.as_ref().map_or(0, |(m, _)| m.window_ns);
    let text = format!("{what} by {order}, last {}", report::spoken(over));
    let columns: [Column<SubjectRow>; 9] = [
        Column {
            name: "calls/s",
            width: 9,
            from: 0,
            cell: |r| (Tone::Plain, per_second(r.window.rate())),
        },
        Column {
            name: "mean",
            width: 9,
            from: 100,
            cell: |r| (Tone::Plain, carried(&r.window, |s| s.mean_ns, 1)),
        },
        Column {
            name: "p50",
            width: 9,
            from: 0,
            cell: |r| {
                let text = carried(&r.window, |s| s.p50_ns, 1);
                (slow(r.window.stats.p50_ns), text)
            },
        },
        Column {
            name: "p90",
            width: 9,
            from: 90,
            cell: |r| {
                let text = carried(&r.window, |s| s.p90_ns, Summary::P90_NEEDS);
                (Tone::Plain, text)
            },
        },
        Column {
            name: "p99",
            width: 9,
            from: 0,
            cell: |r| {
                let text = carried(&r.window, |s| s.p99_ns, Summary::P99_NEEDS);
                (slow(r.window.stats.p99_ns), text)
            },
        },
        Column {
            name: "slowest",
            width: 9,
            from: 0,
            cell: |r| {
                let text = carried(&r.window, |s| s.max_ns, 1);
                (slow(r.window.stats.max_ns), text)
            },
        },
        Column {
            name: "out",
            width: 7,
            from: 0,
            cell: |r| (Tone::Plain, per_second(r.window.outstanding())),
        },
        Column {
            name: "errors",
            width: 8,
            from: 0,
            cell: |r| match r.window.errors {
                0 => (Tone::Plain, "0".to_owned()),
                n => (Tone::Notable, grouped(n)),
            },
        },
        Column {
            name: "halves",
            width: 8,
            from: 110,
            cell: |r| (Tone::Plain, grouped(r.window.half_calls)),
        },
    ];
    let nothing = match (&*state.filter, state.statements) {
        ("", true) => "no statements in the window (o: operations)",
        ("", false) => "no calls in the window",
        _ => "none contains that text (Esc shows all)",
    };
    let title = title(state, Pane::Operations, &text, area.width);
    // The curve of calls takes the last lines of a high pane.
    let [area, curve] = match usize::from(area.height) >= rows.len().max(1) + 2 + CURVE {
        true => {
            let lines = [Constraint::Min(3), Constraint::Length(CURVE as u16)];
            Layout::vertical(lines).areas(area)
        }
        false => [area, Rect::default()],
    };
    table(
        frame,
        state,
        area,
        (title, heading, nothing),
        (&rows, place.first),
        |r, room| shortened(&report::subject_name(r), room),
        &columns,
    );
    if curve.height > 0 {
        curves(frame, state, curve);
    }
}

/// Lines of a curve, with its heading.
const CURVE: usize = 7;

/// Calls and the slow ones of the last intervals, the newest at the right.
fn curves(frame: &mut Frame<'_>, state: &State, area: Rect) {
    let [calls, slow] = Layout::horizontal([Constraint::Fill(1), Constraint::Fill(1)])
        .spacing(2)
        .areas(area);
    let one =
        |frame: &mut Frame<'_>, area: Rect, name: &str, of: fn(&Past) -> u64, most: String| {
            let [head, curve] =
                Layout::vertical([Constraint::Length(1), Constraint::Min(1)]).areas(area);
            let text = format!("{name}, at most {most}");
            frame.render_widget(Line::styled(text, style(state, Tone::Faint)), head);
            let skip = state.history.len().saturating_sub(usize::from(area.width));
            let data: Vec<u64> = state.history.iter().skip(skip).map(of).collect();
            let tone = style(state, Tone::Plain);
            frame.render_widget(Sparkline::default().data(data).style(tone), curve);
        };
    let calls_most = state.history.iter().map(|p| p.calls).max();
    let slow_most = state.history.iter().map(|p| p.p99_ns).max();
    let text = grouped(calls_most.unwrap_or(0));
    one(frame, calls, "calls an interval", |p| p.calls, text);
    let text = format_duration(slow_most.unwrap_or(0));
    let of = |p: &Past| p.p99_ns.unsigned_abs() / 1_000;
    one(frame, slow, "their p99", of, text);
}

fn connections_pane(frame: &mut Frame<'_>, state: &State, area: Rect) {
    let rows = state.connections();
    let [_, place, _] = state.places;
    let order = CONNECTION_ORDERS
        .get(place.order)
        .copied()
        .unwrap_or("time");
    let text = format!("Connections by {order}");
    let columns: [Column<ConnectionRow>; 7] = [
        Column {
            name: "rate",
            width: 13,
            from: 0,
            cell: |c| (Tone::Plain, rate(c.bps())),
        },
        Column {
            name: "calls",
            width: 8,
            from: 95,
            cell: |c| (Tone::Plain, grouped(c.calls)),
        },
        Column {
            name: "slowest",
            width: 9,
            from: 104,
            cell: |c| match c.calls {
                0 => (Tone::Plain, "-".to_owned()),
                _ => (slow(c.max_ns), tight(c.max_ns)),
            },
        },
        Column {
            name: "rtt",
            width: 8,
            from: 0,
            cell: |c| (Tone::Plain, c.rtt_ns.map_or("-".to_owned(), tight)),
        },
        Column {
            name: "resent",
            width: 7,
            from: 0,
            cell: |c| match c.resent() {
                None => (Tone::Plain, "-".to_owned()),
                Some(0.0) => (Tone::Plain, "0%".to_owned()),
                Some(r) if r < 0.001 => (Tone::Notable, "<0.1%".to_owned()),
                Some(r) => (Tone::Notable, format!("{:.1}%", r * 100.0)),
            },
        },
        Column {
            name: "out",
            width: 5,
            from: 0,
            cell: |c| (Tone::Plain, grouped(c.outstanding_most)),
        },
        Column {
            name: "limited by",
            width: 20,
            from: 0,
            cell: |c| match &c.limit {
                None => (Tone::Faint, "-".to_owned()),
                Some(l) => {
                    let tone = match l.class {
                        TimeClass::SenderApplication => Tone::Plain,
                        _ => Tone::Notable,
                    };
                    (tone, limit_words(l))
                }
            },
        },
    ];
    let nothing = match &*state.filter {
        "" => "no TCP connection in the window",
        _ => "none contains that text (Esc shows all)",
    };
    table(
        frame,
        state,
        area,
        (
            title(state, Pane::Connections, &text, area.width),
            "client > server",
            nothing,
        ),
        (&rows, place.first),
        connection_name,
        &columns,
    );
}

/// Both ends; where there is no room the client's port goes first, as it says least, and then what both
/// addresses begin with.
fn connection_name(c: &ConnectionRow, room: usize) -> String {
    let full = format!("{} > {}", c.client, c.server);
    if columns(&full) <= room {
        return full;
    }
    let without = format!("{} > {}", c.client.address, c.server);
    if columns(&without) <= room {
        return without;
    }
    let port = c.server.port;
    if let (IpAddr::V4(client), IpAddr::V4(server)) = (c.client.address, c.server.address) {
        let ([a, b, c, _], [x, y, z, last]) = (client.octets(), server.octets());
        if [a, b, c] == [x, y, z] {
            return shortened(&format!("{client} > .{last}:{port}"), room);
        }
    }
    shortened(&without, room)
}

fn findings_pane(frame: &mut Frame<'_>, state: &State, found: &[&FoundRow], area: Rect) {
    let [.., place] = state.places;
    let seen = match state.found.verdict() {
        Some(_) => "Findings in the packets kept",
        None => "Findings (none looked for yet)",
    };
    let mut lines = vec![title(state, Pane::Findings, seen, area.width)];
    if found.is_empty() && state.found.verdict().is_some() {
        lines.push(Line::styled("none", style(state, Tone::Fine)));
    }
    for f in found.iter().skip(place.first) {
        lines.extend(finding_lines(state, f, area.width));
    }
    if state.pane == Pane::Findings {
        for message in state.messages.iter().rev() {
            let at = message.at.map(|at| clock(at, &state.zone));
            let mut at = pad(&at.unwrap_or_default(), 10);
            let room = usize::from(area.width).saturating_sub(10);
            for line in wrapped(&harmless(&message.full), room) {
                lines.push(Line::raw(format!("{at}{line}")));
                at = " ".repeat(10);
            }
        }
    }
    frame.render_widget(Paragraph::new(lines), area);
}

/// When it appeared, what it is and costs; below it why, and, where it is read, what to do.
fn finding_lines(state: &State, f: &FoundRow, width: u16) -> Vec<Line<'static>> {
    let tone = match (f.now, f.side) {
        (false, _) => Tone::Faint,
        (_, Side::None | Side::Undetermined) => Tone::Plain,
        _ => Tone::Notable,
    };
    let cost = f.cost_ns.map_or_else(String::new, |ns| {
        format!("  costs {} of call time", format_duration(ns))
    });
    let until = match f.now {
        true => String::new(),
        false => format!("  until {}", clock(f.last, &state.zone)),
    };
    let head = vec![
        Span::raw(format!("{}  ", clock(f.appeared, &state.zone))),
        Span::styled(f.rule.code(), style(state, tone)),
        Span::raw(format!("  {}{cost}{until}", f.side.name())),
    ];
    let mut lines = vec![Line::from(head)];
    let room = usize::from(width).saturating_sub(10);
    let mut say = |text: &str| {
        for line in wrapped(&harmless(text), room) {
            lines.push(Line::raw(format!("          {line}")));
        }
    };
    if f.now {
        say(&f.why.to_string());
        if let Some(remedy) = f.remedy.as_ref().filter(|_| state.pane == Pane::Findings) {
            say(&format!("Do: {remedy}"));
        }
    }
    lines
}

fn wrapped(text: &str, room: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        if let Some(line) = lines.last_mut() {
            if line.is_empty() {
                *line = word.to_owned();
                continue;
            }
            if columns(line) + 1 + columns(word) <= room {
                line.push(' ');
                line.push_str(word);
                continue;
            }
        }
        lines.push(word.to_owned());
    }
    lines
}

fn foot_line(state: &State, width: u16) -> Line<'static> {
    if state.mode == Mode::Filter {
        return Line::from(vec![
            Span::styled("/", style(state, Tone::Title)),
            Span::raw(state.filter.clone()),
            Span::styled("▏", style(state, Tone::Title)),
            Span::styled(
                "  Enter keeps it, Esc shows all again",
                style(state, Tone::Faint),
            ),
        ]);
    }
    let keys = "q quit  space pause  Tab pane  s sort  / filter  o statements  w write  ? help";
    let text = pad(keys, usize::from(width));
    Line::styled(text, style(state, Tone::Faint))
}

fn help(frame: &mut Frame<'_>, state: &State, area: Rect) {
    let width = area.width.min(76);
    let height = (KEYS.len() as u16 + 4).min(area.height);
    let place = Rect {
        x: (area.width - width) / 2,
        y: (area.height - height) / 2,
        width,
        height,
    };
    let mut lines = vec![Line::styled(
        pad(" slowside live", usize::from(width)),
        style(state, Tone::Title).add_modifier(Modifier::REVERSED),
    )];
    lines.push(Line::default());
    for (key, what) in KEYS {
        let text = format!(" {}{what}", pad(key, 16));
        lines.push(Line::raw(pad(&text, usize::from(width))));
    }
    lines.push(Line::default());
    lines.push(Line::styled(
        " slowside explain CODE says what a finding means.",
        style(state, Tone::Faint),
    ));
    frame.render_widget(Clear, place);
    frame.render_widget(Paragraph::new(lines), place);
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::tz::TimeZone;

    /// A row of 80 columns once ended with `58 erro`, another with `(37.0 M`.
    #[test]
    fn what_does_not_fit_goes_whole_and_the_least_weight_first() {
        let state = State::new("eth0", TimeZone::UTC, false);
        let words = || {
            vec![
                (Tone::Notable, "PAUSED".to_owned()),
                (Tone::Plain, "513 packets/s".to_owned()),
                (Tone::Faint, "30.0 s kept".to_owned()),
                (Tone::Notable, "58 errors".to_owned()),
            ]
        };
        let at = |width| words_that_fit(&state, words(), width).to_string();
        assert_eq!(at(45), "PAUSED  513 packets/s  30.0 s kept  58 errors");
        assert_eq!(at(44), "PAUSED  513 packets/s  58 errors");
        assert_eq!(at(31), "PAUSED  58 errors");
    }
}
