//! A capture read once more, into how long of each call, calls of its server's own were under way.
//!
//! It is done where a host is asked and asks, which is known when the capture was read: what others pay for it is to
//! look whether there is one.

use crate::Error;
use crate::config::{Config, Event};
use crate::link::Wanted;
use crate::merge::Answers;
use crate::run::{self, Selection};
use crate::stream::Stream;
use analysis::tiers::{Beneath, Followed};
use model::Call;
use std::path::PathBuf;

/// Reads it; the calls that are looked at come in the order in which they were over, each with the number that it is to
/// have.
pub(crate) fn read(
    mut followed: Followed,
    inputs: &[PathBuf],
    config: &Config,
    mut number: impl FnMut(&Call) -> Option<u64>,
    events: &mut dyn FnMut(Event),
) -> Result<Followed, Error> {
    let share = run::share(config, 1);
    let mut stream = Stream::start(run::input(inputs, config, 1)?, share, Wanted::Grouped);
    let mut selection = Selection::new(config);
    let mut records = Answers::default();
    loop {
        let more = stream.next(&mut records);
        selection.starts_at(stream.first_time());
        for call in records.calls() {
            let number = match selection.takes(call) {
                true => number(call),
                false => None,
            };
            followed.call(call, number);
        }
        run::report(&stream, events);
        if !more {
            break;
        }
    }
    stream.take_finished()?;
    Ok(followed)
}

/// What lies beneath each call, by the number of its row.
#[derive(Default)]
pub(crate) struct Rows(Vec<Option<Beneath>>);

impl Rows {
    pub(crate) fn read(
        followed: Followed,
        inputs: &[PathBuf],
        config: &Config,
        events: &mut dyn FnMut(Event),
    ) -> Result<Rows, Error> {
        let mut calls = 0;
        let number = |_: &Call| {
            calls += 1;
            Some(calls - 1)
        };
        let followed = read(followed, inputs, config, number, events)?;
        let mut rows = vec![None; calls as usize];
        followed.told(|row, beneath| {
            if let Some(of) = rows.get_mut(row as usize) {
                *of = Some(beneath.whole);
            }
        });
        Ok(Rows(rows))
    }

    pub(crate) fn get(&self, row: u64) -> Option<Beneath> {
        *self.0.get(usize::try_from(row).ok()?)?
    }
}
