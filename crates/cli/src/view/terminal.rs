//! The terminal, taken and given back: also when drawing fails, and when something panics.

use super::draw;
use super::state::State;
use crate::out;
use ratatui::backend::{CrosstermBackend, TestBackend};
use ratatui::crossterm::cursor::{Hide, Show};
use ratatui::crossterm::event::{DisableMouseCapture, EnableMouseCapture};
use ratatui::crossterm::terminal::{
    BeginSynchronizedUpdate, EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen,
    disable_raw_mode, enable_raw_mode,
};
use ratatui::crossterm::{execute, queue};
use ratatui::{Frame, Terminal};
use report::acts;
use std::io::{self, IsTerminal, Stdout};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether there is one to show something on and to take keys from, be it that packets come from
/// standard input.
pub(crate) fn has_terminal() -> bool {
    let keys = io::stdin().is_terminal() || std::fs::File::open("/dev/tty").is_ok();
    out::is_terminal() && keys
}

/// The terminal while it shows the view.
pub(crate) struct Screen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
}

/// Whether it is taken now.
static TAKEN: AtomicBool = AtomicBool::new(false);

fn give_back() {
    TAKEN.store(false, Ordering::Relaxed);
    // Nothing better can be done where this fails.
    let _ = execute!(
        out::terminal(),
        EndSynchronizedUpdate,
        DisableMouseCapture,
        LeaveAlternateScreen,
        Show
    );
    let _ = disable_raw_mode();
}

/// The same where memory has ended, so without what standard output holds back, and without its lock.
#[cfg(unix)]
pub(crate) fn give_back_at_once() {
    if TAKEN.swap(false, Ordering::Relaxed) {
        // Ends a picture, leaves the mouse and the other screen, and shows the cursor.
        let bytes = b"\x1b[?2026l\x1b[?1006l\x1b[?1015l\x1b[?1003l\x1b[?1002l\x1b[?1000l\x1b[?1049l\x1b[?25h";
        let _ = rustix::io::write(rustix::stdio::stdout(), bytes);
        let _ = disable_raw_mode();
    }
}

impl Screen {
    pub(crate) fn take() -> io::Result<Screen> {
        static HOOK: Once = Once::new();
        HOOK.call_once(|| {
            let told = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |info| {
                // The run goes on where a thread of the engine is gone, and says so at the end.
                let taken = TAKEN.load(Ordering::Relaxed);
                if taken && std::thread::current().name() != Some("main") {
                    return;
                }
                if taken {
                    give_back();
                }
                told(info);
            }));
        });
        enable_raw_mode()?;
        TAKEN.store(true, Ordering::Relaxed);
        let taken = execute!(
            out::terminal(),
            EnterAlternateScreen,
            Hide,
            EnableMouseCapture
        )
        .and_then(|()| Terminal::new(CrosstermBackend::new(out::terminal())));
        match taken {
            Ok(terminal) => Ok(Screen { terminal }),
            Err(e) => {
                give_back();
                Err(e)
            }
        }
    }

    /// A picture, which the terminal shows when it has all of it: over a slow line none is seen half old.
    pub(crate) fn draw(&mut self, draw: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        let drawn = |frame: &mut Frame<'_>| {
            draw(frame);
            only_what_shows(frame);
        };
        queue!(self.terminal.backend_mut(), BeginSynchronizedUpdate)?;
        let done = self.terminal.draw(drawn).map(drop);
        execute!(self.terminal.backend_mut(), EndSynchronizedUpdate)?;
        done
    }
}

/// What the terminal is told comes from these cells.
fn only_what_shows(frame: &mut Frame<'_>) {
    for cell in &mut frame.buffer_mut().content {
        if cell.symbol().contains(acts) {
            cell.set_symbol(" ");
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

/// What would stand on a terminal that is not there.
pub(crate) struct Picture {
    terminal: Option<Terminal<TestBackend>>,
}

impl Picture {
    pub(crate) fn new((columns, lines): (u16, u16)) -> Picture {
        let terminal = Terminal::new(TestBackend::new(columns, lines)).ok();
        Picture { terminal }
    }

    /// Its lines.
    pub(crate) fn of(&mut self, state: &mut State) -> String {
        let mut text = String::new();
        let drawn = |frame: &mut Frame<'_>| {
            state.area = frame.area();
            draw::draw(frame, state);
            only_what_shows(frame);
            let width = usize::from(frame.area().width.max(1));
            for line in frame.buffer_mut().content.chunks(width) {
                text.extend(line.iter().map(ratatui::buffer::Cell::symbol));
                text.push('\n');
            }
        };
        if let Some(terminal) = &mut self.terminal {
            let _ = terminal.draw(drawn);
        }
        text
    }
}
