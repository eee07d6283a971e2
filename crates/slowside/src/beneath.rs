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
use analysis::tiers::{Beneath, Tiers};
use model::Call;
use std::net::IpAddr;
use std::path::PathBuf;

/// Whose calls are followed.
pub(crate) struct Followed<'a> {
    /// Hosts that are asked and ask.
    pub(crate) hosts: &'a [IpAddr],
    /// Addresses that are one host's.
    pub(crate) own: &'a [IpAddr],
}

impl Followed<'_> {
    /// Shows each call that is looked at, in the order in which they were over.
    pub(crate) fn each(
        &self,
        inputs: &[PathBuf],
        config: &Config,
        sink: &mut dyn FnMut(&Call, Option<Beneath>),
        events: &mut dyn FnMut(Event),
    ) -> Result<(), Error> {
        let mut tiers = Tiers::default();
        tiers.own(self.own);
        tiers.follow(self.hosts);
        let share = run::share_for_calls(config);
        let mut stream = Stream::start(run::open(inputs)?, share, Wanted::Followed);
        let mut selection = Selection::new(config);
        let mut records = Answers::default();
        loop {
            let more = stream.next(&mut records);
            selection.starts_at(stream.first_time());
            let mut changes = records.outstanding().peekable();
            for call in records.calls() {
                while let Some(change) = changes.next_if(|c| c.order <= call.order) {
                    tiers.change(change);
                }
                let beneath = tiers.beneath((call.connection, call.id));
                if selection.takes(call) {
                    sink(call, beneath);
                }
            }
            changes.for_each(|change| tiers.change(change));
            records.connections().for_each(|c| tiers.connection(c));
            run::report(&stream, events);
            if !more {
                break;
            }
        }
        stream.take_finished()?;
        Ok(())
    }

    /// The same by row; nothing where no host is followed.
    pub(crate) fn rows(
        &self,
        inputs: &[PathBuf],
        config: &Config,
        events: &mut dyn FnMut(Event),
    ) -> Result<Rows, Error> {
        let mut rows = Rows::default();
        if !self.hosts.is_empty() {
            let mut add = |_: &Call, beneath| rows.0.push(beneath);
            self.each(inputs, config, &mut add, events)?;
        }
        Ok(rows)
    }
}

/// What lies beneath each call, by the number of its row.
#[derive(Default)]
pub(crate) struct Rows(Vec<Option<Beneath>>);

impl Rows {
    pub(crate) fn get(&self, row: u64) -> Option<Beneath> {
        *self.0.get(usize::try_from(row).ok()?)?
    }
}
