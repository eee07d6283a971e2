//! `slowside probe`: measures a path itself, or answers those who do.

mod like;
mod listen;

use super::{print, token_bytes};
use crate::args::{AnswerFormat, Probe, Stream, Switch};
use crate::exit::Done;
use crate::out::{self, complain};
use anyhow::Context;
use probe::{
    ConnectPlan, IntervalResult, Measured, Mix, Pacing, Plan, SocketOptions, Token, Work, measure,
    measure_connects,
};
use replace::{Kind, Replacement};
use signal_hook::consts::{SIGINT, SIGTERM};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// How long to wait for a connection or an answer.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Connects per second of --connect-only, unless told: no burden to any service.
const CONNECTS: f64 = 10.0;

const HISTOGRAM: Kind = Kind {
    name: "histogram",
    option: "--histogram",
    is: |head| head.trim_ascii_start().starts_with(b"Value "),
};

pub(crate) fn run(args: &Probe) -> anyhow::Result<Done> {
    if let Some(address) = args.listen {
        return listen::run(args, address);
    }
    let Some(target) = args.target.as_deref() else {
        anyhow::bail!("give HOST:PORT of the listener, or --listen to be one");
    };
    // Before anything is measured for nothing.
    let histogram = args.histogram.as_deref();
    let histogram = histogram.map(|file| Replacement::create(file, &HISTOGRAM));
    let histogram = histogram.transpose()?;
    let shown = (args.interval.is_some() || out::complaints_are_seen()) && !args.quiet;
    let measured = measured(args);
    let mut tell = |i: &IntervalResult| {
        if shown {
            complain(&report::probe_interval(i, measured));
        }
    };
    let result = if args.connect_only {
        let rate = args.rate.unwrap_or(CONNECTS);
        let plan = ConnectPlan {
            target: target.to_owned(),
            every: Duration::from_secs_f64(1.0 / rate),
            duration: duration(args.duration),
            warm_up: duration(args.warm_up),
            interval: duration(args.interval.unwrap_or(SECOND)),
            timeout: TIMEOUT,
        };
        measure_connects(&plan, &*stop()?, &mut tell)?
    } else {
        let plan = plan(args, target)?;
        measure(&plan, &*stop()?, &mut tell)?
    };
    if let Some(file) = histogram {
        let mut text = Vec::new();
        report::probe_hgrm(&result, &mut text)?;
        file.write(&text)?;
    }
    print(|out| match args.format {
        AnswerFormat::Text => report::probe_text(&result, out),
        AnswerFormat::Json => report::probe_json(&result, out),
        AnswerFormat::Markdown => report::as_markdown(|out| report::probe_text(&result, out), out),
    })?;
    Ok(Done::Fine)
}

const SECOND: i64 = 1_000_000_000;

fn measured(args: &Probe) -> Measured {
    match args.stream {
        _ if args.connect_only => Measured::Connects,
        None => Measured::Exchanges,
        Some(Stream::Up) => Measured::StreamUp,
        Some(Stream::Down) => Measured::StreamDown,
    }
}

fn plan(args: &Probe, target: &str) -> anyhow::Result<Plan> {
    let file = args.token_file.as_deref().context(
        "give the listener's token as --token-file, or measure connecting alone with --connect-only",
    )?;
    let token = token(file)?;
    let work = match args.stream {
        Some(Stream::Up) => Work::StreamUp,
        Some(Stream::Down) => Work::StreamDown,
        None => Work::Exchange {
            mix: if args.like.is_empty() {
                let (request, response) = args.size;
                Mix::fixed(request, response)
            } else {
                like::mix(&args.like, args.filter.clone(), args.quiet)?
            },
            pacing: args.rate.map_or(Pacing::Closed, Pacing::rate),
            outstanding: args.outstanding,
        },
    };
    Ok(Plan {
        target: target.to_owned(),
        token,
        work,
        duration: duration(args.duration),
        warm_up: duration(args.warm_up),
        interval: duration(args.interval.unwrap_or(SECOND)),
        timeout: TIMEOUT,
        options: SocketOptions {
            nodelay: args.nodelay == Switch::On,
            send_buffer: args.send_buffer.unwrap_or(0),
            receive_buffer: args.receive_buffer.unwrap_or(0),
        },
    })
}

/// The token in a file.
fn token(path: &Path) -> anyhow::Result<Token> {
    let bytes = token_bytes(path, "--token-file")?;
    Token::new(&bytes).with_context(|| format!("{} holds no token", path.display()))
}

/// A flag that the first Ctrl-C sets; the second ends the program.
pub(super) fn stop() -> anyhow::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    let register = || -> io::Result<()> {
        for signal in [SIGINT, SIGTERM] {
            signal_hook::flag::register_conditional_shutdown(signal, 2, Arc::clone(&stop))?;
            signal_hook::flag::register(signal, Arc::clone(&stop))?;
        }
        Ok(())
    };
    register().context("cannot wait for Ctrl-C; give a short time, and leave it to that")?;
    Ok(stop)
}

fn duration(ns: i64) -> Duration {
    Duration::from_nanos(ns.unsigned_abs())
}
