//! One capture into what a client waited for while it started.

use crate::Error;
use crate::config::{Config, Event};
use crate::link::Wanted;
use crate::merge::Answers;
use crate::run::{self, Selection, Tally};
use crate::stream::Stream;
use analysis::startup::{Startup, StartupResult};
use std::net::IpAddr;
use std::path::PathBuf;

/// Reads one capture and divides the time of the client with these addresses; without any, of the host
/// that waited longest.
///
/// # Errors
/// When no input can be read.
pub fn startup(
    inputs: &[PathBuf],
    config: &Config,
    client: &[IpAddr],
    events: &mut dyn FnMut(Event),
) -> Result<StartupResult, Error> {
    let capture = run::open(inputs)?;
    let mut stream = Stream::start(capture, run::share(config, 1), Wanted::Startup);
    let mut records = Answers::default();
    let mut tally = Tally::default();
    let mut selection = Selection::new(config);
    let mut startup = Startup::new(client);
    loop {
        let more = stream.next(&mut records);
        selection.starts_at(stream.first_time());
        let (from, to) = selection.stretch();
        startup.within(from, to);
        for knock in records.knocks() {
            startup.knock(knock);
        }
        for arp in records.arps() {
            startup.arp(arp);
        }
        for call in records.calls().filter(|c| selection.takes(c)) {
            tally.call(call);
            startup.call(call);
        }
        for c in records.connections() {
            tally.connection(c);
        }
        run::report(&stream, events);
        if !more {
            break;
        }
    }
    let finished = stream.take_finished()?;
    Ok(startup.finish(tally.result(&finished)))
}
