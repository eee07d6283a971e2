//! `slowside report`: one page of HTML that shows it all.

use super::noted::Noted;
use super::{html, inputs, tell_missing};
use crate::args::Report;
use crate::exit::Done;
use crate::progress::Progress;
use jiff::tz::TimeZone;
use report::Anonymise;
use slowside::{Config, ReportOptions};

pub(crate) fn run(args: &Report) -> anyhow::Result<Done> {
    let output = html::Output::open(&args.output)?;
    let inputs::Diagnosed {
        captures,
        between,
        peers,
        beneath,
        mut notes,
    } = inputs::diagnosed(&args.inputs, &args.between, args.reading.as_one)?;
    let noted = Noted::read(&args.app, &args.server_app, &args.host, &mut notes)?;
    let config = Config {
        between,
        peers,
        beneath,
        app: noted.app,
        server_app: noted.server_app,
        hosts: noted.hosts,
        fast_enough_ns: args.judging.fast_enough,
        tail_ns: args.judging.tail,
        clock_offset_ns: args.judging.clock_offset,
        ..args.reading.config(&captures)?
    };
    let options = ReportOptions {
        connections: args.connections,
        chosen: args.connection.clone(),
        ..ReportOptions::default()
    };
    let mut progress = Progress::new(args.reading.quiet, false);
    let mut result = slowside::report(&captures, &config, &options, &mut |e| progress.event(e))?;
    drop(progress);
    if args.reading.calls.filter.is_some() {
        notes.push(
            "Calls were selected with --where; connections are shown with all they did.".into(),
        );
    }
    result.diagnosis.notes.append(&mut notes);

    if let Some(names) = args.reading.anonymiser()? {
        result = result.anonymised(&names);
    }
    let made = html::made("report", &args.reading);
    let mut page = Vec::new();
    report::report_html(&result, &made, &TimeZone::system(), &mut page)?;
    output.write(&page, args.reading.quiet)?;
    let captures = &result.diagnosis.captures;
    if !args.reading.quiet {
        captures.iter().for_each(tell_missing);
    }
    let damaged = captures.iter().any(|c| c.problems.any_damage());
    Ok(Done::with_damage(damaged))
}
