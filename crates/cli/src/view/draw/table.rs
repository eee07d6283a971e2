//! Rows and columns into the lines of a pane: what fits its width, from the first row that is shown.

use super::tone::{Tone, style};
use crate::view::state::State;
use ratatui::Frame;
use ratatui::layout::Rect;
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

/// Rows below each other: the name takes what the columns leave.
pub(super) fn table<R>(
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
