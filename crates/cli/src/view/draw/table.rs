//! Rows and columns into the lines of a pane: what fits its width, from the first row that is shown.

use super::Spot;
use super::tone::{Tone, style};
use crate::view::order::{CONNECTION_ORDERS, OPERATION_ORDERS};
use crate::view::state::{Pane, State};
use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::style::Modifier;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use report::{columns, grouped, pad_left, shortened};

/// A column: its heading, how wide it is, and from which width of the pane on it is shown.
pub(super) struct Column<R> {
    pub name: &'static str,
    pub width: usize,
    pub from: u16,
    pub cell: fn(&R) -> (Tone, String),
}

/// The columns that fit, and the room of the name before them.
fn fitting<R>(columns: &[Column<R>], width: u16) -> (usize, Vec<&Column<R>>) {
    let shown: Vec<&Column<R>> = columns.iter().filter(|c| width >= c.from).collect();
    let taken: usize = shown.iter().map(|c| c.width).sum();
    (usize::from(width).saturating_sub(taken), shown)
}

/// Which of a pane's rows stand where: below the title and the headings.
pub(super) struct Place {
    area: Rect,
    rows: usize,
    first: usize,
    /// The row that is marked.
    marked: Option<usize>,
    /// The heading that rows are sorted by.
    order: &'static str,
}

/// Lines above the rows: the title, and the headings.
const ABOVE: u16 = 2;

/// The place of a pane of so many rows: the chosen one is among those that are shown.
pub(super) fn place(state: &State, pane: Pane, rows: usize, area: Rect) -> Place {
    let chosen = state.chosen(pane);
    let space = usize::from(area.height.saturating_sub(ABOVE));
    let order = match (pane, &state.places) {
        (Pane::Operations, [p, ..]) => OPERATION_ORDERS.get(p.order).map(|(name, _)| *name),
        (Pane::Connections, [_, p, _]) => CONNECTION_ORDERS.get(p.order).map(|(name, _)| *name),
        (Pane::Findings, _) => None,
    };
    Place {
        area,
        rows,
        first: (chosen + 1).saturating_sub(space.max(1)),
        marked: (state.pane == pane).then_some(chosen),
        order: order.unwrap_or_default(),
    }
}

impl Place {
    /// Rows of which none is chosen, from `first` on.
    pub(super) fn from(first: usize, rows: usize, area: Rect) -> Place {
        Place {
            area,
            rows,
            first: first.min(rows.saturating_sub(1)),
            marked: None,
            order: "",
        }
    }

    pub(super) fn order(&self) -> &'static str {
        self.order
    }

    /// What is at a place of the screen; `order` says which order a heading names.
    pub(super) fn spot<R>(
        &self,
        columns: &[Column<R>],
        at: Position,
        order: impl Fn(&str) -> Option<usize>,
    ) -> Spot {
        let line = at.y.saturating_sub(self.area.y);
        let row = self.first + usize::from(line.saturating_sub(ABOVE));
        match line {
            0 => Spot::Elsewhere,
            1 => {
                let (room, shown) = fitting(columns, self.area.width);
                let x = usize::from(at.x.saturating_sub(self.area.x));
                let mut end = room;
                let under = shown.iter().find(|c| {
                    end += c.width;
                    x >= room && x < end
                });
                // The name stands for the order in which rows come.
                let order = order(under.map_or("time", |c| c.name));
                order.map_or(Spot::Elsewhere, Spot::Heading)
            }
            _ if row < self.rows => Spot::Row(row),
            _ => Spot::Elsewhere,
        }
    }
}

/// Rows below each other: the name takes what the columns leave.
pub(super) fn table<R>(
    frame: &mut Frame<'_>,
    state: &State,
    place: &Place,
    (title, heading, nothing): (Line<'static>, &str, &str),
    rows: &[&R],
    name: fn(&R, usize) -> String,
    columns: &[Column<R>],
) {
    let (room, shown) = fitting(columns, place.area.width);
    let mut lines = vec![title];
    let faint = style(state, Tone::Faint);
    let mut heads = vec![Span::styled(pad(heading, room), faint)];
    for c in &shown {
        let (name, style) = match c.name == place.order {
            true => (format!("▾{}", c.name), style(state, Tone::Title)),
            false => (c.name.to_owned(), faint),
        };
        heads.push(Span::styled(pad_left(&name, c.width), style));
    }
    lines.push(Line::from(heads));
    let space = usize::from(place.area.height.saturating_sub(ABOVE));
    let beyond = rows.len().saturating_sub(place.first + space);
    for (i, r) in rows.iter().enumerate().skip(place.first).take(space) {
        let text = name(r, room.saturating_sub(1));
        let mut spans = vec![Span::raw(pad(&text, room))];
        for c in &shown {
            let (tone, cell) = (c.cell)(r);
            let cell = pad_left(&cell, c.width);
            spans.push(Span::styled(cell, style(state, tone)));
        }
        let line = Line::from(spans);
        lines.push(match place.marked == Some(i) {
            true => line.patch_style(Modifier::REVERSED),
            false => line,
        });
    }
    if rows.is_empty() {
        lines.push(Line::styled(nothing.to_owned(), faint));
    } else if beyond > 0
        && let Some(line) = lines.first_mut()
    {
        let text = format!(" {} more ", grouped(beyond as u64));
        shorten_rule(line, &text);
    }
    frame.render_widget(Paragraph::new(lines), place.area);
}

/// Puts a text at the end of a title's rule.
pub(super) fn shorten_rule(line: &mut Line<'static>, text: &str) {
    let cut = report::columns(text);
    if let Some(rule) = line.spans.get_mut(1) {
        let kept = rule.content.chars().count().saturating_sub(cut + 1);
        rule.content = format!("{}{text}─", "─".repeat(kept)).into();
    }
}

pub(super) fn pad(text: &str, width: usize) -> String {
    let text = shortened(text, width);
    let spaces = width.saturating_sub(columns(&text));
    format!("{text}{}", " ".repeat(spaces))
}

/// A text in lines of so many columns, between words.
pub(super) fn wrapped(text: &str, room: usize) -> Vec<String> {
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
