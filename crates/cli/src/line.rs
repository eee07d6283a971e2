//! Command lines that are run within another process, as often as one likes, and what each wrote: for fuzzing, which
//! has no time to start a process for each input, and for Python, where each function is a command.
//!
//! All is as in a process of its own, but for what there is one of: signals are left alone, there is no terminal, and
//! files are read by name only, as standard input is the other's.

use crate::args::Command;
use crate::command::live::tell;
use crate::view::{Picture, Shared, State};
use crate::{answer, answer_by, args, ask, command, exit, out};
use analysis::live::Past;
use jiff::tz::TimeZone;
use slowside::split::Part;
use slowside::{Config, Control, Error, LiveOptions, Source};
use std::io::{self, Cursor};
use std::sync::{Arc, Mutex};

/// A command line that was understood.
pub struct Line(args::Arguments);

/// How many bytes `--memory` means, or its absence.
///
/// # Errors
/// When it is not understood.
pub fn memory_bytes(size: Option<&str>) -> Result<u64, String> {
    args::memory_bytes(size)
}

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
        said(|| answer(&self.0))
    }

    /// The same of questions alone: `diagnose`, `calls`, `ops`, `conns`, `sql` and `report`.
    #[must_use]
    pub fn ask(&self) -> Said {
        said(|| answer_by(ask, &self.0))
    }

    /// What a `calls` line asks of a file of what shards told ([`slowside::split`]): `sink` takes the calls that are handed on
    /// to those who write rows, some thousands at a time.
    #[must_use]
    pub fn judge(&self, sink: &mut dyn FnMut(Part) -> io::Result<()>) -> Said {
        said(|| {
            exit::code(match &self.0.command {
                Some(Command::Calls(args)) => command::calls::judge(args, sink),
                _ => Err(anyhow::anyhow!("rows of calls alone are made in shares")),
            })
        })
    }
}

fn said(answer: impl FnOnce() -> u8) -> Said {
    let (code, caught) = out::catch(answer);
    let (out, err) = (caught.out, caught.err);
    Said { code, out, err }
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
    let past = Arc::new(Mutex::new(Past::new(options.interval_ns)));
    let options = LiveOptions {
        past: Some(Arc::clone(&past)),
        ..options.clone()
    };
    let mut state = State::new("standard input", (TimeZone::UTC, false), past, None);
    let mut picture = Picture::new(size);
    let mut screens = Vec::new();
    let (shared, control) = (Shared::default(), Control::default());
    let mut sink = |event: slowside::LiveEvent<'_>| {
        tell(&event, &shared);
        shared.take().into_iter().for_each(|e| state.take(e));
        screens.push(picture.of(&mut state));
        Ok(())
    };
    slowside::live(source, config, &options, &control, &mut sink)?;
    state.take(crate::view::Event::Ended(None));
    for key in keys.chars() {
        crate::view::press(key, &mut state, &control);
        screens.push(picture.of(&mut state));
    }
    Ok(screens)
}

#[cfg(test)]
mod tests {
    use super::*;
    use slowside::Keep;
    use testkit::{Conversation, ETHERNET, Format, pcap};

    fn run(words: &[&str]) -> (u8, String, String) {
        let said = Line::parse(words).expect("a line").run();
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
        (said.code, text(said.out), text(said.err))
    }

    #[test]
    fn a_line_says_what_a_process_does_and_nothing_to_ours() {
        let (code, out, err) = run(&["explain", "nagle"]);
        assert!(
            code == 0 && out.contains("nagle") && err.is_empty(),
            "{out}{err}"
        );
        let (code, out, err) = run(&["calls", "/nowhere\u{1b}/a.pcap"]);
        assert!(code == 2 && out.is_empty(), "{out}");
        assert!(
            err.starts_with("slowside: ") && err.lines().count() == 1,
            "{err}"
        );
        assert!(!err.contains('\u{1b}') && !out::is_caught(), "{err}");
        assert!(Line::parse(&["calls", "--no-such-thing"]).is_err());
    }

    #[test]
    fn questions_alone_are_asked() {
        let ask = |words: &[&str]| Line::parse(words).expect("a line").ask();
        let words = ["calls", "/nowhere/a.pcap"];
        assert_eq!(ask(&words), Line::parse(&words).expect("a line").run());
        for words in [&["explain", "nagle"][..], &["demo"], &[]] {
            let Said { code, out, err } = ask(words);
            let err = String::from_utf8_lossy(&err);
            assert!(code == 2 && out.is_empty(), "{words:?}");
            assert!(err.contains("only the program"), "{words:?}: {err}");
        }
    }

    #[test]
    fn the_view_is_had_as_text() {
        let mut c = Conversation::nfs();
        c.handshake().client(b"get").after(2_000_000_000);
        c.server(b"value").finish();
        let capture = pcap(&c.packets(), ETHERNET, Format::default());
        let options = LiveOptions {
            interval_ns: 1_000_000_000,
            window_ns: 10_000_000_000,
            keep: Keep { ns: 0, bytes: 0 },
            when: Vec::new(),
            write: None,
            files: 0,
            anonymiser: None,
            metrics: None,
            past: None,
            clock: || 0,
        };
        let config = Config::default();
        let all = screens(&capture, &options, &config, (80, 24), "?").expect("a capture");
        assert!(all.iter().all(|s| s.lines().count() == 24), "{all:#?}");
        assert!(
            all.last()
                .is_some_and(|s| s.contains("quit, and write the totals"))
        );
        assert!(screens(b"no capture", &options, &config, (80, 24), "").is_err());
    }
}
