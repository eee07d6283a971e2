//! `slowside live`: a capture while it goes on, as lines or as a view.

mod lines;

use super::check_standard_input;
use crate::args::{Live, LiveFormat};
use crate::exit::{Done, complain};
use anyhow::Context;
use signal_hook::consts::{SIGINT, SIGTERM};
use slowside::{Config, Control, Keep, LiveInput, LiveOptions, Written};
use std::io::{self, IsTerminal};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

pub(crate) fn run(args: &Live) -> anyhow::Result<Done> {
    check_standard_input(&args.captures)?;
    anyhow::ensure!(
        args.window >= args.interval,
        "--window is shorter than --interval; give at least {}",
        model::format_duration(args.interval)
    );
    if args.write.is_some() && args.keep == 0 {
        anyhow::bail!("--write needs packets that are kept; leave --keep out");
    }
    if let Some(path) = &args.write {
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty());
        anyhow::ensure!(
            folder.is_none_or(|f| f.is_dir()),
            "--write names a folder that is not there: {}",
            path.display()
        );
    }
    let control = Control::default();
    stop_on_signals(&control)?;
    if let Some(ns) = args.lasts {
        stop_after(&control, ns);
    }
    let config = Config {
        threads: args.threads,
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
    };
    let input = input(args)?;
    lines::run(args, input, &config, &options, &control)
}

/// Where packets come from.
fn input(args: &Live) -> anyhow::Result<LiveInput> {
    let stdin = args.captures.iter().any(|p| p.as_os_str() == "-");
    if !stdin {
        return Ok(LiveInput::Files(args.captures.clone()));
    }
    anyhow::ensure!(
        args.captures.len() == 1,
        "standard input is watched alone; leave out the files, or `-`"
    );
    Ok(LiveInput::Stream {
        name: "-".to_owned(),
        reader: Box::new(io::stdin()),
        clock,
    })
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

fn stop_after(control: &Control, ns: i64) {
    let control = control.clone();
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_nanos(ns.unsigned_abs()));
        control.stop();
    });
}

/// A file as outputs say it.
fn said(written: &Result<Written, String>) -> Result<(String, u64, i64), String> {
    match written {
        Ok(w) => Ok((w.path.display().to_string(), w.packets, w.ns)),
        Err(why) => Err(why.clone()),
    }
}
