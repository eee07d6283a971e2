//! What a mouse does: a click chooses a row, one more opens it, one on a heading sorts by that column; the wheel scrolls.

use super::draw::{Spot, spot};
use super::state::{Mode, State};
use ratatui::crossterm::event::{MouseButton, MouseEvent, MouseEventKind};

/// Rows of a turn of the wheel.
const TURN: isize = 3;

pub(super) fn mouse(event: &MouseEvent, state: &mut State) {
    if state.mode != Mode::Keys {
        if matches!(event.kind, MouseEventKind::Down(_)) && state.mode == Mode::Help {
            state.mode = Mode::Keys;
        }
        return;
    }
    let by = match event.kind {
        MouseEventKind::Down(MouseButton::Left) => None,
        MouseEventKind::Down(MouseButton::Right) => {
            state.opened = None;
            return;
        }
        MouseEventKind::ScrollDown => Some(TURN),
        MouseEventKind::ScrollUp => Some(-TURN),
        _ => return,
    };
    if state.opened.is_some() {
        by.into_iter().for_each(|by| state.scroll(by));
        return;
    }
    let Some((pane, spot)) = spot(state, (event.column, event.row).into()) else {
        return;
    };
    let was_here = state.pane == pane;
    state.pane = pane;
    match (by, spot) {
        (Some(by), _) => state.scroll(by),
        (None, Spot::Heading(order)) => state.sort(order),
        (None, Spot::Row(row)) => {
            if state.choose(row) && was_here {
                state.open();
            }
        }
        (None, Spot::Elsewhere) => {}
    }
}
