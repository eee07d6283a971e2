//! What was found, and what was noted meanwhile, into the pane below.

use super::table::{pad, wrapped};
use super::title;
use super::tone::{Tone, style};
use crate::view::state::{Pane, State};
use analysis::live::FoundRow;
use analysis::results::Side;
use model::format_duration;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use report::{clock, harmless};

pub(super) fn findings_pane(frame: &mut Frame<'_>, state: &State, found: &[&FoundRow], area: Rect) {
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
pub(super) fn finding_lines(state: &State, f: &FoundRow, width: u16) -> Vec<Line<'static>> {
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
