//! `slowside conns`: TCP connections and what they waited for.

use super::{inputs, print, tell_damage};
use crate::args::{Conns, GroupFormat};
use crate::exit::{Done, complain};
use crate::progress::Progress;
use analysis::results::ConnsResult;
use jiff::tz::TimeZone;

pub(crate) fn run(args: &Conns) -> anyhow::Result<Done> {
    if args.fields {
        print(|out| report::conns_fields(out))?;
        return Ok(Done::Fine);
    }
    anyhow::ensure!(
        args.reading.filter.is_none(),
        "--where compares calls, which conns does not list; leave it out, or use slowside calls"
    );
    let config = args.reading.config()?;
    let (captures, notes) = inputs::captures(&args.inputs)?;
    if !args.reading.quiet {
        notes.iter().for_each(|note| complain(note));
    }
    let mut progress = Progress::new(args.reading.quiet, false);
    let mut result = slowside::conns(&captures, &config, &mut |e| progress.event(e))?;
    drop(progress);
    if let Some(number) = args.connection {
        keep(number, &mut result)?;
    }

    print(|out| match (args.format, result.connections.as_slice()) {
        (GroupFormat::Json, _) => report::conns_json(&result, out),
        (GroupFormat::Csv, _) => report::conns_csv(&result, out),
        (GroupFormat::Text, [one]) if args.connection.is_some() => {
            report::conn_text(&result, one, &TimeZone::system(), out)
        }
        (GroupFormat::Text, _) => report::conns_text(&result, args.all, out),
    })?;
    if args.format == GroupFormat::Csv {
        for capture in &result.captures {
            tell_damage(capture, args.reading.quiet);
        }
    }
    let damaged = result.captures.iter().any(|c| c.problems.any_damage());
    Ok(Done::with_damage(damaged))
}

/// Leaves only the connection of that number.
fn keep(number: u64, result: &mut ConnsResult) -> anyhow::Result<()> {
    let known = result.connections.len();
    result.connections.retain(|c| c.number == number);
    result.left_out = 0;
    anyhow::ensure!(
        !result.connections.is_empty(),
        "there is no connection {number} among the {known} listed; slowside conns --all shows \
         their numbers"
    );
    Ok(())
}
