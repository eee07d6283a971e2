//! `slowside live`: a capture while it goes on, as lines or as a view.

mod lines;
mod metrics;
mod names;
#[cfg_attr(not(feature = "otlp"), path = "live/without_otlp.rs")]
mod otlp;
mod silence;
mod terminal;

pub(crate) use terminal::tell;

use super::{check_standard_input, tell_damage};
use crate::args::Live;
use crate::exit::Done;
use crate::out;
use crate::view::has_terminal;
use analysis::live::LiveResult;
use anyhow::Context;
use model::limits;
use pseudonyms::NameKind;
use report::LiveFile;
use signal_hook::consts::{SIGINT, SIGTERM};
use slowside::{Config, Control, Keep, LiveOptions, Source, Unwritten, Written};
use std::io;
use std::path::Path;
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

pub(crate) fn run(args: &Live) -> anyhow::Result<Done> {
    anyhow::ensure!(
        args.window >= args.interval,
        "--window is shorter than --interval; give at least {}",
        model::format_duration(args.interval)
    );
    if args.write.is_some() && args.keep == 0 {
        anyhow::bail!("--write needs packets that are kept; leave --keep out");
    }
    if let Some(path) = &args.write {
        anyhow::ensure!(
            folder(args).is_dir(),
            "--write names a folder that is not there: {}",
            path.display()
        );
    }
    // Whoever asks for a format wants lines.
    let view = args.format.is_none() && has_terminal();
    let anonymiser = args.names.anonymiser()?;
    // With the rights that there are before packets come.
    let scrape = metrics::bind(&args.metrics)?;
    let prepared = otlp::prepare(&args.otlp)?;
    let metrics = metrics::counted(args)?;
    let (source, control) = source(args, view, prepared.as_ref().map(otlp::Prepared::port))?;
    // With none of them, and threads of their own.
    let mut pushes = None;
    if let Some(metrics) = &metrics {
        let shown = metrics::Shown::new(metrics, &anonymiser);
        if let Some(scrape) = scrape {
            metrics::answer(scrape, args.quiet, shown.clone())?;
        }
        if let Some(prepared) = prepared {
            pushes = Some(prepared.start(source_name(&source, &shown), shown, view)?);
        }
    }
    // Signals are for the process, and what was registered for them stays.
    if !out::is_caught() {
        stop_on_signals(&control)?;
    }
    if let Some(ns) = args.from_interface.lasting {
        stop_after(&control, ns)?;
    }
    let config = Config {
        threads: args.threads,
        memory_bytes: args.memory.bytes,
        filter: args.filter.clone(),
        ..Config::default()
    };
    let options = LiveOptions {
        interval_ns: args.interval,
        window_ns: args.window,
        keep: Keep {
            ns: args.keep,
            bytes: args.keep_bytes,
        },
        when: args.when.clone(),
        write: args.write.clone(),
        files: args.files,
        anonymiser,
        metrics,
        past: None,
        clock,
    };
    let run = match view {
        true => terminal::run,
        false => lines::run,
    };
    let done = run(args, source, &config, &options, &control);
    // Also what was counted before something failed.
    if let Some(pushes) = pushes {
        pushes.end();
    }
    done
}

/// An interface, whose name is nobody's, `-`, or the first file.
fn source_name(source: &Source, shown: &metrics::Shown) -> String {
    match source {
        Source::Stream { name, .. } => name.clone(),
        Source::Files(files) => {
            let first = files.first().map(|f| f.display().to_string());
            shown.name(NameKind::File, &first.unwrap_or_default())
        }
    }
}

/// The window as it is kept: a whole number of intervals, and not too many.
fn window(args: &Live) -> i64 {
    let width = args.interval.max(1);
    (args.window - args.window % width).min(width.saturating_mul(limits::LIVE_SLOTS))
}

/// Where files of packets are written; without --write by a key.
fn folder(args: &Live) -> &Path {
    let folder = args.write.as_deref().and_then(Path::parent);
    folder
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

/// Where packets come from, and how that is stopped.
fn source(args: &Live, view: bool, connect: Option<u16>) -> anyhow::Result<(Source, Control)> {
    if let Some(name) = &args.from_interface.interface {
        let words: Option<Vec<&str>> = args.captures.iter().map(|w| w.to_str()).collect();
        let words = words.unwrap_or_default().join(" ");
        let also = match words.as_str() {
            "" => None,
            words => Some(words.parse().map_err(|e| anyhow::anyhow!("{words}: {e}"))?),
        };
        anyhow::ensure!(
            also.is_none() || args.from_interface.expression.is_none(),
            "packets are chosen by --filter and by {words}; give one of them"
        );
        let write = args.write.as_deref();
        // Without either no file is ever written.
        let folder = (view || write.is_some()).then(|| folder(args));
        let opened = args.from_interface.open_for(also, folder, write, connect)?;
        if let Some(interface) = opened {
            let control = Control::of_reader(interface.stopper().flag());
            let source = Source::Stream {
                name: name.clone(),
                reader: Box::new(interface),
            };
            return Ok((source, control));
        }
    }
    check_standard_input(&args.captures)?;
    if !args.captures.iter().any(|p| p.as_os_str() == "-") {
        return Ok((Source::Files(args.captures.clone()), Control::default()));
    }
    anyhow::ensure!(
        args.captures.len() == 1,
        "standard input is watched alone; leave out the files, or `-`"
    );
    let source = Source::Stream {
        name: "-".to_owned(),
        reader: Box::new(io::stdin()),
    };
    Ok((source, Control::default()))
}

/// Nanoseconds since the first time that anybody asked.
fn clock() -> i64 {
    static BEGUN: OnceLock<Instant> = OnceLock::new();
    let ns = BEGUN.get_or_init(Instant::now).elapsed().as_nanos();
    i64::try_from(ns).unwrap_or(i64::MAX)
}

/// The first Ctrl-C ends with the totals; the second ends the program.
fn stop_on_signals(control: &Control) -> anyhow::Result<()> {
    let stop = control.stop_flag();
    let register = || -> io::Result<()> {
        for signal in [SIGINT, SIGTERM] {
            signal_hook::flag::register_conditional_shutdown(signal, 2, stop.clone())?;
            signal_hook::flag::register(signal, stop.clone())?;
        }
        Ok(())
    };
    register().context("cannot wait for Ctrl-C; leave it to --for")
}

fn stop_after(control: &Control, ns: i64) -> anyhow::Result<()> {
    let control = control.clone();
    let wait = move || {
        thread::sleep(Duration::from_nanos(ns.unsigned_abs()));
        control.stop();
    };
    let waiting = thread::Builder::new().spawn(wait);
    waiting.context("no thread is to be had for --for; leave it to Ctrl-C")?;
    Ok(())
}

/// How it ended, after saying on standard error what was damaged.
fn done(result: &LiveResult, quiet: bool) -> Done {
    let captures = &result.ops.captures;
    captures.iter().filter(|_| !quiet).for_each(tell_damage);
    match result.unwritten {
        Some(_) => Done::Unwritten,
        None => Done::with_damage(captures.iter().any(|c| c.problems.any_damage())),
    }
}

/// A file as outputs say it.
fn said(written: &Result<Written, Unwritten>) -> Result<(String, u64, i64), String> {
    match written {
        Ok(w) => Ok((w.path.display().to_string(), w.packets, w.ns)),
        Err(why) => Err(why.to_string()),
    }
}

fn file(written: &Result<(String, u64, i64), String>) -> LiveFile<'_> {
    match written {
        Ok((path, packets, ns)) => Ok((path, *packets, *ns)),
        Err(why) => Err(why),
    }
}
