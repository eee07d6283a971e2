//! What is counted, for those who ask for it over HTTP while the capture goes on.

use crate::args::{Live, Metrics as Arguments, labels};
use crate::command::token_bytes;
use crate::out::complain;
use analysis::metrics::Metrics;
use anyhow::Context;
use pseudonyms::Anonymiser;
use report::{Anonymise, Harmless, OPENMETRICS_TYPE};
use scrape::{Scrape, ScrapeError, Token};
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

/// Where it will be answered.
pub(super) fn bind(args: &Arguments) -> anyhow::Result<Option<Scrape>> {
    let Some(address) = args.address else {
        return Ok(None);
    };
    labels(&args.by)?;
    let token = match &args.token_file {
        None => None,
        Some(path) => {
            let bytes = token_bytes(path, "--metrics-token-file")?;
            let token = Token::new(&bytes);
            Some(token.with_context(|| format!("{} holds no token", path.display()))?)
        }
    };
    let scrape = Scrape::bind(address, token).map_err(|e| match e {
        ScrapeError::Open(_) => anyhow::anyhow!(
            "--metrics: {e}; give a token as --metrics-token-file FILE, or --metrics {} for this host alone",
            address.port()
        ),
        e => anyhow::Error::from(e).context("--metrics"),
    });
    scrape.map(Some)
}

/// Begins to answer with what is counted from now on.
pub(super) fn answer(
    scrape: Scrape,
    args: &Live,
    names: &Option<Anonymiser>,
) -> anyhow::Result<Arc<Mutex<Metrics>>> {
    let metrics = Arc::new(Mutex::new(Metrics::new(&labels(&args.metrics.by)?)));
    if !args.quiet {
        complain(&format!(
            "metrics are at http://{}/metrics",
            scrape.address()
        ));
    }
    let (counted, names) = (Arc::clone(&metrics), Mutex::new(names.clone()));
    scrape.answer(OPENMETRICS_TYPE, move || {
        // Whoever counts waits for a copy, not for the text.
        let result = counted.lock().unwrap_or_else(PoisonError::into_inner).now();
        let names = names.lock().unwrap_or_else(PoisonError::into_inner);
        let result = match &*names {
            Some(names) => result.anonymised(names),
            None => result,
        };
        let mut text = Vec::new();
        let mut out = Harmless::new(&mut text);
        // Nothing fails that writes into memory.
        let _ = report::openmetrics(result, &mut out).and_then(|()| out.flush());
        text
    })?;
    Ok(metrics)
}
