//! A capture that goes on, on a terminal: what is wrong now on the first line, and below it operations,
//! connections and findings.
//!
//! The engine runs in a thread of its own and leaves what it has to say in [`Shared`]; the thread of the
//! terminal looks there ten times a second, takes keys, and draws ([`draw`]). What is on the screen is a
//! function of [`State`] alone.

mod draw;
mod keys;
mod mouse;
mod order;
mod state;
mod terminal;

pub(crate) use state::{Event, Message, State};
#[cfg(unix)]
pub(crate) use terminal::give_back_at_once;
pub(crate) use terminal::{Picture, Screen, has_terminal};

use ratatui::crossterm::event;
use slowside::Control;
use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// How often the screen is looked at anew.
const FRAME: Duration = Duration::from_millis(100);

/// What the engine's thread tells that of the terminal.
#[derive(Default)]
pub(crate) struct Shared {
    events: Mutex<Vec<Event>>,
}

/// Things told and not yet looked at: of more than these, while the terminal hangs, the oldest go.
/// Intervals have many rows, all else has one.
const INTERVALS: usize = 8;
const WAITING: usize = 1_000;

impl Shared {
    pub(crate) fn tell(&self, event: Event) {
        let mut events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        let is_interval = |e: &Event| matches!(e, Event::Moment(..));
        let intervals = events.iter().filter(|e| is_interval(e)).count();
        if intervals >= INTERVALS
            && let Some(oldest) = events.iter().position(is_interval)
        {
            events.remove(oldest);
        }
        if events.len() >= WAITING {
            events.remove(0);
        }
        events.push(event);
    }

    pub(crate) fn take(&self) -> Vec<Event> {
        std::mem::take(&mut *self.events.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Takes a key that writes a character.
pub(crate) fn press(key: char, state: &mut State, control: &Control) {
    let code = match key {
        '\r' | '\n' => event::KeyCode::Enter,
        '\u{1b}' => event::KeyCode::Esc,
        key => event::KeyCode::Char(key),
    };
    let event = event::Event::Key(code.into());
    keys::event(&event, state, control);
}

/// Shows what comes until somebody wants no more.
///
/// # Errors
/// When the terminal is gone.
pub(crate) fn show(
    screen: &mut Screen,
    state: &mut State,
    shared: &Shared,
    control: &Control,
) -> io::Result<()> {
    let mut drawn = false;
    loop {
        for event in shared.take() {
            state.take(event);
            drawn = false;
        }
        // A signal, or --for: the view goes with the capture. One that ended by itself stays.
        if control.is_stopped() {
            return Ok(());
        }
        if !drawn {
            screen.draw(|frame| {
                state.area = frame.area();
                draw::draw(frame, state);
            })?;
            drawn = true;
        }
        if event::poll(FRAME)? {
            let done = keys::event(&event::read()?, state, control);
            drawn = false;
            if done {
                return Ok(());
            }
        }
    }
}
