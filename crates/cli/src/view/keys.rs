//! Keys into what is shown.

use super::state::{Mode, Pane, State};
use ratatui::crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use slowside::Control;

/// Characters of the filter.
const FILTER: usize = 60;

/// Lines of a page.
const PAGE: isize = 10;

/// The keys, for the help.
pub(super) const KEYS: [(&str, &str); 12] = [
    ("q, Ctrl-C", "quit, and write the totals"),
    ("space", "pause the view; the capture goes on"),
    ("Tab, 1 2 3", "operations, connections, findings"),
    ("s", "sort the pane by its next column"),
    ("o", "statements instead of operations, and back"),
    (
        "/",
        "only rows that contain a text; Enter keeps it, Esc drops it",
    ),
    (
        "↑ ↓ j k",
        "scroll; PgUp and PgDn by ten rows, Home to the first",
    ),
    ("w", "write the kept packets into a file"),
    ("?", "this help; any key leaves it"),
    (
        "calls/s, p50 …",
        "over the window; p99 where it has 299 calls",
    ),
    (
        "out",
        "calls outstanding: of operations the mean, else the most",
    ),
    ("resent", "packets that were sent again"),
];

/// Takes an event of the terminal; whether somebody wants no more.
pub(super) fn event(event: &Event, state: &mut State, control: &Control) -> bool {
    match event {
        Event::Key(key) if key.kind != KeyEventKind::Release => self::key(*key, state, control),
        _ => false,
    }
}

fn key(key: KeyEvent, state: &mut State, control: &Control) -> bool {
    let with_control = key.modifiers.contains(KeyModifiers::CONTROL);
    if with_control && matches!(key.code, KeyCode::Char('c' | 'd')) {
        return true;
    }
    match state.mode {
        Mode::Help => {
            state.mode = Mode::Keys;
            return false;
        }
        Mode::Filter => {
            typed(key, state);
            return false;
        }
        Mode::Keys => {}
    }
    match key.code {
        KeyCode::Char('q') => return true,
        KeyCode::Char(' ') => state.pause(),
        KeyCode::Char('?' | 'h') => state.mode = Mode::Help,
        KeyCode::Char('/') => state.mode = Mode::Filter,
        KeyCode::Char('s') => state.next_order(),
        KeyCode::Char('o') => {
            state.statements = !state.statements;
            state.pane = Pane::Operations;
            state.place().first = 0;
        }
        KeyCode::Char('w') => control.write(),
        KeyCode::Char('1') => state.pane = Pane::Operations,
        KeyCode::Char('2') => state.pane = Pane::Connections,
        KeyCode::Char('3') => state.pane = Pane::Findings,
        KeyCode::Tab | KeyCode::Right => turn(state, 1),
        KeyCode::BackTab | KeyCode::Left => turn(state, 2),
        KeyCode::Down | KeyCode::Char('j') => state.scroll(1),
        KeyCode::Up | KeyCode::Char('k') => state.scroll(-1),
        KeyCode::PageDown => state.scroll(PAGE),
        KeyCode::PageUp => state.scroll(-PAGE),
        KeyCode::Home => state.place().first = 0,
        KeyCode::Esc => state.filter.clear(),
        _ => {}
    }
    false
}

fn turn(state: &mut State, by: usize) {
    let here = Pane::ALL.iter().position(|p| *p == state.pane);
    let mut panes = Pane::ALL.iter().cycle().skip(here.unwrap_or(0) + by);
    state.pane = panes.next().copied().unwrap_or(Pane::Operations);
}

fn typed(key: KeyEvent, state: &mut State) {
    match key.code {
        KeyCode::Enter => state.mode = Mode::Keys,
        KeyCode::Esc => {
            state.filter.clear();
            state.mode = Mode::Keys;
        }
        KeyCode::Backspace => drop(state.filter.pop()),
        KeyCode::Char(c) if state.filter.chars().count() < FILTER && !c.is_control() => {
            state.filter.push(c);
        }
        _ => {}
    }
    for place in &mut state.places {
        place.first = 0;
    }
}
