//! Keys into what is shown; what the mouse does is in [`mouse`](super::mouse).

use super::mouse::mouse;
use super::state::{Mode, Pane, State};
use ratatui::crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use slowside::Control;

/// Characters of the filter.
const FILTER: usize = 60;

/// Lines of a page.
const PAGE: isize = 10;

/// The keys, for the help.
pub(super) const KEYS: [(&str, &str); 13] = [
    ("q, Ctrl-C", "quit, and write the totals"),
    ("space", "pause the view; the capture goes on"),
    ("Tab, 1 2 3", "operations, connections, findings"),
    (
        "↑ ↓ j k",
        "choose a row; PgUp, PgDn by ten rows, Home the first",
    ),
    (
        "Enter",
        "open it: its calls over time, the slowest; Esc closes it",
    ),
    ("s S", "sort the pane by its next column, by the one before"),
    ("o", "statements instead of operations, and back"),
    (
        "/",
        "only rows that contain a text; Enter keeps it, Esc drops it",
    ),
    ("w", "write the kept packets into a file, slow calls marked"),
    (
        "mouse",
        "click: choose a row, again: open; a heading: sort; wheel",
    ),
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
        Event::Mouse(event) => {
            mouse(event, state);
            false
        }
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
        KeyCode::Char('w') => control.write(),
        KeyCode::Down | KeyCode::Char('j') => state.scroll(1),
        KeyCode::Up | KeyCode::Char('k') => state.scroll(-1),
        KeyCode::PageDown => state.scroll(PAGE),
        KeyCode::PageUp => state.scroll(-PAGE),
        KeyCode::Home => state.scroll(isize::MIN),
        _ if state.opened.is_some() => opened(key.code, state),
        KeyCode::Enter => state.open(),
        KeyCode::Char('s') => state.turn_order(1),
        KeyCode::Char('S') => state.turn_order(-1),
        KeyCode::Char('o') => {
            state.statements = !state.statements;
            state.pane = Pane::Operations;
            state.place().chosen = None;
        }
        KeyCode::Char('1') => state.pane = Pane::Operations,
        KeyCode::Char('2') => state.pane = Pane::Connections,
        KeyCode::Char('3') => state.pane = Pane::Findings,
        KeyCode::Tab | KeyCode::Right => turn(state, 1),
        KeyCode::BackTab | KeyCode::Left => turn(state, 2),
        KeyCode::Esc => state.filter.clear(),
        _ => {}
    }
    false
}

/// Keys while a row is open, but for those that are the same everywhere.
fn opened(key: KeyCode, state: &mut State) {
    match key {
        KeyCode::Esc | KeyCode::Backspace | KeyCode::Left => state.opened = None,
        // Other panes.
        KeyCode::Tab | KeyCode::BackTab | KeyCode::Char('1'..='3') => {
            state.opened = None;
            match key {
                KeyCode::Char('1') => state.pane = Pane::Operations,
                KeyCode::Char('2') => state.pane = Pane::Connections,
                KeyCode::Char(_) => state.pane = Pane::Findings,
                KeyCode::BackTab => turn(state, 2),
                _ => turn(state, 1),
            }
        }
        _ => {}
    }
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
        (place.first, place.chosen) = (0, None);
    }
}
