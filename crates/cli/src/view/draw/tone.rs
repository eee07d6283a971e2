//! What words mean, into their style: as in text for people, nothing is said by a color alone.

use crate::view::state::State;
use ratatui::style::{Color, Modifier, Style};

/// What words mean, as in text for people. Nothing is said by a color alone.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Tone {
    Plain,
    Accused,
    Severe,
    Notable,
    Fine,
    Title,
    Faint,
}

pub(super) fn style(state: &State, tone: Tone) -> Style {
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

/// Calls that take so long are worth a look: what a diagnosis judges by, too.
const SLOW_NS: i64 = 20_000_000;

pub(super) fn slow(ns: i64) -> Tone {
    match ns >= SLOW_NS {
        true => Tone::Notable,
        false => Tone::Plain,
    }
}
