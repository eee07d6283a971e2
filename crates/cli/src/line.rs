//! Command lines that are run within another process, as often as one likes, and what each wrote: for fuzzing, which
//! has no time to start a process for each input.
//!
//! All is as in a process of its own, but for what there is one of: signals are left alone, there is no terminal, and
//! files are read by name only, as standard input is the other's.

use crate::command::live::tell;
use crate::view::{Picture, Shared, State};
use crate::{answer, args, out};
use jiff::tz::TimeZone;
use slowside::{Config, Control, Error, LiveOptions, Source};
use std::io::Cursor;

/// A command line that was understood.
pub struct Line(args::Arguments);

/// How it ended and what it wrote.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Said {
    pub code: u8,
    pub out: Vec<u8>,
    pub err: Vec<u8>,
}

impl Line {
    /// Words behind the name of the program.
    ///
    /// # Errors
    /// When they are not understood.
    pub fn parse(words: &[&str]) -> Result<Line, String> {
        let words = ["slowside"].iter().chain(words).map(Into::into);
        args::parse(words).map(Line).map_err(|e| e.to_string())
    }

    #[must_use]
    pub fn run(&self) -> Said {
        let (code, caught) = out::catch(|| answer(&self.0));
        let (out, err) = (caught.out, caught.err);
        Said { code, out, err }
    }
}

/// What the view of `slowside live` shows of a capture as it comes through a pipe, on a screen of so many columns and
/// lines: one after each thing that is told, and when all is over after each key.
///
/// # Errors
/// When it is no capture.
pub fn screens(
    capture: &[u8],
    options: &LiveOptions,
    config: &Config,
    size: (u16, u16),
    keys: &str,
) -> Result<Vec<String>, Error> {
    let source = Source::Stream {
        name: "-".to_owned(),
        reader: Box::new(Cursor::new(capture.to_vec())),
    };
    let mut state = State::new("standard input", TimeZone::UTC, false);
    let mut picture = Picture::new(size);
    let mut screens = Vec::new();
    let (shared, control) = (Shared::default(), Control::default());
    let mut sink = |event: slowside::LiveEvent<'_>| {
        tell(&event, &shared);
        shared.take().into_iter().for_each(|e| state.take(e));
        screens.push(picture.of(&state));
        Ok(())
    };
    slowside::live(source, config, options, &control, &mut sink)?;
    state.take(crate::view::Event::Ended(None));
    for key in keys.chars() {
        crate::view::press(key, &mut state, &control);
        screens.push(picture.of(&state));
    }
    Ok(screens)
}
