//! The view: the engine in a thread of its own, the terminal here, and the totals when it is left.

use super::names::told;
use super::{done, file, said, window};
use crate::args::Live;
use crate::command::print;
use crate::exit::Done;
use crate::out::complain;
use crate::view::{self, Event, Message, Screen, Shared, State};
use analysis::live::{LiveResult, Past};
use anyhow::Context;
use jiff::tz::TimeZone;

use pseudonyms::{Anonymiser, NameKind};
use report::{Anonymise, LiveText, crossed, written_words};
use slowside::{Config, Control, Error, LiveEvent, LiveOptions, Source};
use std::io;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

pub(super) fn run(
    args: &Live,
    source: Source,
    config: &Config,
    options: &LiveOptions,
    control: &Control,
) -> anyhow::Result<Done> {
    let names = options.anonymiser.clone();
    let name = match &source {
        Source::Stream { name, .. } if name == "-" => "standard input".to_owned(),
        Source::Stream { name, .. } => name.clone(),
        Source::Files(files) => files.first().map(|f| f.display().to_string()).map_or_else(
            String::new,
            |f| match &names {
                Some(names) => names.name(NameKind::File, &f),
                None => f,
            },
        ),
    };
    let mut screen = Screen::take().context("cannot use the terminal; give --format text")?;
    let shared = Arc::new(Shared::default());
    let past = Arc::new(Mutex::new(Past::new(options.interval_ns)));
    let options = LiveOptions {
        past: Some(Arc::clone(&past)),
        ..options.clone()
    };
    let engine = start(source, config, &options, control, &shared, names.clone())
        .context("no thread is to be had for the view; give --format text")?;
    let look = (TimeZone::system(), report::has_colors());
    let mut state = State::new(&name, look, past, names);
    let shown = view::show(&mut screen, &mut state, &shared, control);
    control.stop();
    drop(screen);
    let result = engine
        .join()
        .map_err(|_| anyhow::anyhow!("the engine stopped; please report this"))??;
    shown.context("cannot use the terminal; give --format text")?;
    let mut text = LiveText::new(TimeZone::system(), window(args));
    print(|out| text.total(&result, out))?;
    if let Some(why) = &result.unwritten {
        complain(why);
    }
    Ok(done(&result, args.quiet))
}

fn start(
    source: Source,
    config: &Config,
    options: &LiveOptions,
    control: &Control,
    shared: &Arc<Shared>,
    names: Option<Anonymiser>,
) -> io::Result<JoinHandle<Result<LiveResult, Error>>> {
    let (config, options) = (config.clone(), options.clone());
    let (control, shared) = (control.clone(), Arc::clone(shared));
    thread::Builder::new().spawn(move || {
        let mut sink = |event: LiveEvent<'_>| {
            told(&event, names.as_ref(), |e| tell(e, &shared));
            Ok(())
        };
        let result = slowside::live(source, &config, &options, &control, &mut sink);
        shared.tell(Event::Ended(result.as_ref().err().map(ToString::to_string)));
        match &names {
            Some(names) => result.map(|r| r.anonymised(names)),
            None => result,
        }
    })
}

/// Leaves what is to be shown of an event.
pub(crate) fn tell(event: &LiveEvent<'_>, shared: &Shared) {
    match event {
        LiveEvent::Moment { moment, held, .. } => {
            shared.tell(Event::Moment(Box::new((*moment).clone()), *held));
        }
        LiveEvent::Findings { found, .. } => shared.tell(Event::Found((*found).clone())),
        LiveEvent::Crossing {
            crossing,
            written,
            at,
        } => {
            let mut short = format!("{} crossed", crossing.when);
            let mut full = format!("{short}: {}", crossed(&crossing.row));
            if let Some(written) = written {
                let written = said(written);
                full = format!("{full}; {}", written_words(file(&written)));
                short = match &written {
                    Ok((path, ..)) => format!("{short}: {path}"),
                    Err(_) => format!("{short}: not written"),
                };
            }
            shared.tell(Event::Message(Message {
                at: Some(*at),
                short,
                full,
            }));
        }
        LiveEvent::Written(written) => {
            let written = said(written);
            let full = written_words(file(&written));
            shared.tell(Event::Message(Message {
                at: None,
                short: full.clone(),
                full,
            }));
        }
    }
}
