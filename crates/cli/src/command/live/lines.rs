//! A line for each interval, as text or JSON, and the totals at the end.

use super::names::told;
use super::silence::Silence;
use super::{done, file, said, window};
use crate::args::{Live, LiveFormat};
use crate::command::CANNOT_WRITE;
use crate::exit::Done;
use crate::out::{self, complain};
use analysis::live::{FoundRow, Moment};
use anyhow::Context;
use jiff::tz::TimeZone;
use report::{Anonymise, LiveKept, LiveText};
use slowside::{Config, Control, LiveEvent, LiveOptions, RingFill, Source, Unwritten, Written};
use std::io::{self, Write};

pub(super) fn run(
    args: &Live,
    source: Source,
    config: &Config,
    options: &LiveOptions,
    control: &Control,
) -> anyhow::Result<Done> {
    let names = options.anonymiser.as_ref();
    let json = args.format == Some(LiveFormat::Json);
    let mut out = out::text();
    let mut text = LiveText::new(TimeZone::system(), window(args));
    let mut lines = Lines {
        text: (!json).then_some(&mut text),
        silence: Silence::default(),
        missing: Missing::default(),
        top: args.top,
        keep_bytes: args.keep_bytes as u64,
        out: &mut out,
    };
    // The engine may only say in words that the sink failed; what failed decides the exit code.
    let mut failed = None;
    let mut sink = |event: LiveEvent<'_>| {
        told(&event, names, |e| lines.event(e)).map_err(|e| {
            let kind = e.kind();
            failed = Some(e);
            io::Error::from(kind)
        })
    };
    let result = slowside::live(source, config, options, control, &mut sink);
    if failed.is_none() {
        failed = lines.rest().err();
    }
    if let Some(e) = failed {
        return Err(e).context(CANNOT_WRITE);
    }
    let result = result?;
    let result = match names {
        Some(names) => result.anonymised(names),
        None => result,
    };
    let total = match json {
        true => report::live_total_json(&result, &mut out),
        false => text.total(&result, &mut out),
    };
    total.and_then(|()| out.flush()).context(CANNOT_WRITE)?;
    Ok(done(&result, args.quiet))
}

struct Lines<'a, W> {
    /// `None`: JSON.
    text: Option<&'a mut LiveText>,
    silence: Silence,
    missing: Missing,
    top: usize,
    keep_bytes: u64,
    out: &'a mut W,
}

impl<W: Write> Lines<'_, W> {
    fn moment(&mut self, moment: &Moment, held: &RingFill) -> io::Result<()> {
        let out = &mut *self.out;
        match &mut self.text {
            Some(text) => {
                text.moment(moment, out)?;
                text.kept(held.ns, self.keep_bytes, held.short, out)
            }
            None => report::live_moment_json(moment, kept(held), self.top, out),
        }
    }

    /// What was not told yet of a silence.
    fn rest(&mut self) -> io::Result<()> {
        match self.silence.rest() {
            Some((moment, held)) => self.moment(&moment, &held),
            None => Ok(()),
        }
    }

    fn event(&mut self, event: &LiveEvent<'_>) -> io::Result<()> {
        if let LiveEvent::Moment { moment, held, .. } = event {
            if !moment.is_silent() {
                self.rest()?;
                self.silence = Silence::default();
                self.moment(moment, held)?;
            } else if let Some((moment, held)) = self.silence.goes_on(moment, *held) {
                self.moment(&moment, &held)?;
            }
            return self.out.flush();
        }
        self.rest()?;
        let out = &mut *self.out;
        match (event, &mut self.text) {
            (LiveEvent::Moment { .. }, _) => {}
            (LiveEvent::Findings { found, rules, at }, text) => {
                let new = |f: &&FoundRow| rules.contains(&f.rule);
                let rows: Vec<&FoundRow> = found.rows().iter().filter(new).collect();
                match text {
                    Some(text) => text.findings(&rows, found.verdict(), *at, out)?,
                    None => {
                        for row in rows {
                            report::live_finding_json(row, found.verdict(), *at, out)?;
                        }
                    }
                }
            }
            (
                LiveEvent::Crossing {
                    crossing,
                    written,
                    at,
                },
                text,
            ) => {
                written.iter().for_each(|w| self.missing.look(w));
                let written = written.as_ref().map(said);
                let file = written.as_ref().map(file);
                match text {
                    Some(text) => text.crossing(crossing, file, *at, out)?,
                    None => report::live_crossing_json(crossing, file, *at, out)?,
                }
            }
            (LiveEvent::Written(written), text) => {
                self.missing.look(written);
                let written = said(written);
                match text {
                    Some(text) => text.written(file(&written), out)?,
                    None => report::live_written_json(file(&written), out)?,
                }
            }
        }
        // Somebody waits for each line.
        self.out.flush()
    }
}

/// Evidence that could not be written, on standard error at once: whoever keeps the lines may not look at them. Once for
/// each reason, until a file can be written again.
#[derive(Default)]
struct Missing(Option<String>);

impl Missing {
    fn look(&mut self, written: &Result<Written, Unwritten>) {
        match written {
            Ok(_) => self.0 = None,
            Err(Unwritten::NothingKept) => {}
            Err(Unwritten::Failed(why)) if self.0.as_ref() == Some(why) => {}
            Err(Unwritten::Failed(why)) => {
                complain(why);
                self.0 = Some(why.clone());
            }
        }
    }
}

fn kept(held: &RingFill) -> LiveKept {
    LiveKept {
        packets: held.packets,
        bytes: held.bytes,
        ns: held.ns,
        short: held.short,
    }
}
