//! What is counted, for a collector of OpenTelemetry to whom it is pushed while the capture goes on, and once
//! more at its end.

use super::metrics::Shown;
use crate::args::Otlp as Arguments;
use crate::command::{TOKEN_FILE_BYTES, token_bytes};
use crate::out::complain;
use anyhow::Context;
use jiff::Timestamp;
use pseudonyms::NameKind;
use push::{ENDING, Headers, Pusher, Target, Url};
use report::{Harmless, OTLP_TYPE, OtlpSource};
use std::io::Write;
use std::time::Duration;

/// Where to, before rights are given up: the file of headers may be for root alone.
pub(super) struct Prepared {
    target: Target,
    every: Duration,
}

pub(super) fn prepare(args: &Arguments) -> anyhow::Result<Option<Prepared>> {
    let Some(url) = &args.url else {
        return Ok(None);
    };
    let url: Url = url.parse().context("--otlp")?;
    let headers = match &args.headers {
        None => Headers::default(),
        Some(path) => {
            let bytes = token_bytes(path, "--otlp-headers")?;
            anyhow::ensure!(
                (bytes.len() as u64) < TOKEN_FILE_BYTES,
                "{} is too large for a few headers; check --otlp-headers",
                path.display()
            );
            Headers::new(&bytes).with_context(|| format!("--otlp-headers {}", path.display()))?
        }
    };
    let target = Target {
        url,
        headers,
        content_type: OTLP_TYPE,
    };
    let every = Duration::from_nanos(args.every.unsigned_abs());
    Ok(Some(Prepared { target, every }))
}

impl Prepared {
    /// To which port a connection will be made.
    pub(super) fn port(&self) -> u16 {
        self.target.url.port()
    }

    /// Begins to push what is counted from now on. Where the terminal is a view, only the end is told of.
    pub(super) fn start(self, name: String, shown: Shown, view: bool) -> anyhow::Result<Pushes> {
        let url = self.target.url.to_string();
        let host = rustix::system::uname();
        let host = host.nodename().to_string_lossy();
        let host = shown.name(NameKind::Host, &host);
        let start_ns = now_ns();
        let make = move || {
            let source = OtlpSource {
                version: env!("CARGO_PKG_VERSION"),
                host: host.clone(),
                instance: format!("{host}/{name}"),
                start_ns,
                now_ns: now_ns(),
            };
            let mut text = Vec::new();
            let mut out = Harmless::new(&mut text);
            // Nothing fails that writes into memory.
            let _ = report::otlp(&shown.now(), &source, &mut out).and_then(|()| out.flush());
            text
        };
        let tell = {
            let url = url.clone();
            move |why: &str| {
                if !view {
                    complain(&format!(
                        "--otlp {url}: {why}; it goes on, and this is said once until a push is taken"
                    ));
                }
            }
        };
        let pusher = Pusher::start(self.target, self.every, make, tell).context("--otlp")?;
        Ok(Pushes { pusher, url })
    }
}

/// The host's clock: times of packets are no times of pushes.
fn now_ns() -> i64 {
    i64::try_from(Timestamp::now().as_nanosecond()).unwrap_or(i64::MAX)
}

pub(super) struct Pushes {
    pusher: Pusher,
    url: String,
}

impl Pushes {
    /// Pushes for the last time, and tells how many were not taken, if any.
    pub(super) fn end(self) {
        let Pushes { pusher, url } = self;
        let Some(tally) = pusher.end() else {
            return complain(&format!(
                "--otlp {url}: the last push had no end within {} s",
                ENDING.as_secs()
            ));
        };
        if let Some(why) = tally.why {
            let rest = match tally.last {
                Some(_) => "the last one, too: the collector lacks what was counted since",
                None => "the last one was taken, with all that was counted",
            };
            complain(&format!(
                "--otlp {url}: {} of {} pushes failed ({why}); {rest}",
                tally.failed, tally.pushes
            ));
        }
    }
}
