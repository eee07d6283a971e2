//! The calls of a capture into the exchanges of a probe: their sizes, and the pauses between them.

use crate::progress::Progress;
use analysis::filter::Filter;
use anyhow::Context;
use model::limits::CONNECTIONS;
use model::{Call, ConnectionId, Time};
use probe::{Mix, RESERVOIR, Reservoir};
use slowside::Config;
use std::collections::HashMap;
use std::path::PathBuf;

/// Exchanges like the calls in `captures`.
pub(super) fn mix(
    captures: &[PathBuf],
    filter: Option<Filter>,
    quiet: bool,
) -> anyhow::Result<Mix> {
    super::super::check_standard_input(captures)?;
    let config = Config {
        filter,
        ..Config::default()
    };
    let mut calls = Calls::default();
    let mut progress = Progress::new(quiet, false);
    let mut sink = |call: &Call, _: &[String]| {
        calls.add(call);
        Ok(())
    };
    slowside::each_call(captures, &config, &mut sink, &mut |e| progress.event(e))?;
    drop(progress);
    calls.exchanges.mix().context(
        "--like has no calls with request and response; `slowside calls` shows what is in it",
    )
}

struct Calls {
    exchanges: Reservoir,
    /// The end of each connection's last answer. Of connections beyond the bound pauses are not known,
    /// and none are made.
    answered: HashMap<ConnectionId, Time>,
}

impl Default for Calls {
    fn default() -> Self {
        Calls {
            exchanges: Reservoir::new(RESERVOIR),
            answered: HashMap::new(),
        }
    }
}

impl Calls {
    fn add(&mut self, call: &Call) {
        if !call.is_complete() {
            return;
        }
        let pause = call
            .request_first
            .filter(|_| call.outstanding == 1)
            .zip(self.answered.get(&call.connection))
            .map_or(0, |(request, before)| request.time - *before);
        let think = u64::try_from(pause).unwrap_or(0);
        self.exchanges
            .add(call.request_bytes, call.response_bytes, think);
        if let Some(answer) = call.response_last
            && (self.answered.len() < CONNECTIONS || self.answered.contains_key(&call.connection))
        {
            self.answered.insert(call.connection, answer.time);
        }
    }
}
