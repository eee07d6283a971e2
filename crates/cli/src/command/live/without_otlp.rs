//! A slowside that was built without OTLP says so.

use super::metrics::Shown;
use crate::args::Otlp as Arguments;
use std::convert::Infallible;

/// Never made.
pub(super) struct Prepared(Infallible);

pub(super) fn prepare(args: &Arguments) -> anyhow::Result<Option<Prepared>> {
    anyhow::ensure!(
        args.url.is_none(),
        "this slowside was built without OTLP; build it with --features otlp, or scrape --metrics"
    );
    Ok(None)
}

impl Prepared {
    pub(super) fn port(&self) -> u16 {
        match self.0 {}
    }

    pub(super) fn start(self, _: String, _: Shown, _: bool) -> anyhow::Result<Prepared> {
        Ok(self)
    }

    pub(super) fn end(self) {}
}
