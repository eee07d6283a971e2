//! The screen: three panes of tables below what is wrong now, or one of their rows, fitted to 80 columns and 24
//! lines, and with more columns and rows where there is room. What is where ([`spot`]) is for the mouse.

mod connections;
mod findings;
mod now;
mod opened;
mod operations;
mod table;
mod tone;

use super::keys::KEYS;
use super::order::{CONNECTION_ORDERS, OPERATION_ORDERS, order_named};
use super::state::{Mode, Mood, Pane, State};
use analysis::live::FoundRow;
use connections::{CONNECTIONS, connections_pane};
use findings::{finding_lines, findings_pane};
use now::now_lines;
use opened::opened;
use operations::{OPERATIONS, operations_pane, with_curve};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Position, Rect};
use ratatui::style::Modifier;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Paragraph, Wrap};
use report::columns;
use table::{pad, wrapped};
use tone::{Tone, style};

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
    let [head, now, main, foot] = bands(&headline, area);
    let tone = match mood {
        Mood::Bad => Tone::Accused,
        Mood::Fine => Tone::Fine,
        Mood::Waiting => Tone::Title,
    };
    let text = Paragraph::new(headline).style(style(state, tone));
    frame.render_widget(text.wrap(Wrap { trim: true }), head);
    frame.render_widget(Paragraph::new(now_lines(state, now.width)), now);
    match &state.opened {
        Some(row) => opened(frame, state, row, main),
        None => {
            let panes = Panes::of(state, main);
            operations_pane(frame, state, panes.operations, panes.curve);
            connections_pane(frame, state, panes.connections);
            findings_pane(frame, state, &state.findings(), panes.findings);
        }
    }
    frame.render_widget(Paragraph::new(foot_line(state, foot.width)), foot);
    if state.mode == Mode::Help {
        help(frame, state, area);
    }
}

/// What is wrong, the interval in figures, all else, and the keys.
fn bands(headline: &str, area: Rect) -> [Rect; 4] {
    // What is wrong is never cut where there is a line more for it.
    let lines = wrapped(headline, usize::from(area.width)).len();
    Layout::vertical([
        Constraint::Length(lines.clamp(1, 3) as u16),
        Constraint::Length(2),
        Constraint::Min(5),
        Constraint::Length(1),
    ])
    .areas(area)
}

/// Where the panes are.
struct Panes {
    operations: Rect,
    /// Below them where there is room.
    curve: Rect,
    connections: Rect,
    findings: Rect,
}

impl Panes {
    fn of(state: &State, area: Rect) -> Panes {
        let here = |pane| state.pane == pane;
        let lines = |f: &&FoundRow| finding_lines(state, f, area.width).len();
        let found = state.findings();
        let wanted = 1 + found.iter().map(lines).sum::<usize>().clamp(1, 30) as u16;
        let [tables, findings] = match here(Pane::Findings) {
            true => Layout::vertical([Constraint::Length(6), Constraint::Min(4)]).areas(area),
            false => {
                let most = (area.height / 4).max(3);
                Layout::vertical([Constraint::Min(4), Constraint::Length(wanted.min(most))])
                    .areas(area)
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
        let [operations, curve] = with_curve(state, operations);
        Panes {
            operations,
            curve,
            connections,
            findings,
        }
    }
}

/// What of a pane is at a place of the screen.
pub(super) enum Spot {
    /// A column, by its place among the orders.
    Heading(usize),
    Row(usize),
    Elsewhere,
}

/// What is at a place of the screen, while no row is open.
pub(super) fn spot(state: &State, at: Position) -> Option<(Pane, Spot)> {
    if state.area.width < LEAST.0 || state.area.height < LEAST.1 {
        return None;
    }
    let (_, headline) = state.headline();
    let [_, _, main, _] = bands(&headline, state.area);
    let panes = Panes::of(state, main);
    if panes.operations.contains(at) {
        let rows = state.operations().len();
        let place = table::place(state, Pane::Operations, rows, panes.operations);
        let spot = place.spot(&OPERATIONS, at, |name| order_named(&OPERATION_ORDERS, name));
        Some((Pane::Operations, spot))
    } else if panes.connections.contains(at) {
        let rows = state.connections().len();
        let place = table::place(state, Pane::Connections, rows, panes.connections);
        let spot = place.spot(&CONNECTIONS, at, |name| {
            order_named(&CONNECTION_ORDERS, name)
        });
        Some((Pane::Connections, spot))
    } else {
        let findings = panes.findings.contains(at);
        findings.then_some((Pane::Findings, Spot::Elsewhere))
    }
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
    let keys = match &state.opened {
        Some(_) => {
            "Esc back  ↑ ↓ its calls  w write packets, slow calls marked  space pause  ? help"
        }
        None => "q quit  space pause  Tab pane  Enter open  s sort  / filter  w write  ? help",
    };
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
