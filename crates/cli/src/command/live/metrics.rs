//! What is counted while the capture goes on, for those who ask for it over HTTP and those to whom it is pushed.

use crate::args::{Live, Metrics as Arguments, labels};
use crate::command::token_bytes;
use crate::out::complain;
use analysis::metrics::{Metrics, MetricsResult};
use anyhow::Context;
use pseudonyms::{Anonymiser, NameKind};
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

/// What counts, where anybody wants to know.
pub(super) fn counted(args: &Live) -> anyhow::Result<Option<Arc<Mutex<Metrics>>>> {
    let is_pushed = args.otlp.url.is_some();
    if args.metrics.address.is_none() && !is_pushed {
        return Ok(None);
    }
    let mut metrics = Metrics::new(&labels(&args.metrics.by)?);
    if is_pushed {
        metrics = metrics.with_databases();
    }
    Ok(Some(Arc::new(Mutex::new(metrics))))
}

/// What is counted as others may see it.
#[derive(Clone)]
pub(super) struct Shown {
    counted: Arc<Mutex<Metrics>>,
    names: Arc<Mutex<Option<Anonymiser>>>,
}

impl Shown {
    pub(super) fn new(counted: &Arc<Mutex<Metrics>>, names: &Option<Anonymiser>) -> Shown {
        Shown {
            counted: Arc::clone(counted),
            names: Arc::new(Mutex::new(names.clone())),
        }
    }

    /// A name that others may see.
    pub(super) fn name(&self, kind: NameKind, name: &str) -> String {
        match &*self.names.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(names) => names.name(kind, name),
            None => name.to_owned(),
        }
    }

    pub(super) fn now(&self) -> MetricsResult {
        // Whoever counts waits for a copy, not for the text.
        let counted = &self.counted;
        let result = counted.lock().unwrap_or_else(PoisonError::into_inner).now();
        match &*self.names.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(names) => result.anonymised(names),
            None => result,
        }
    }
}

/// Begins to answer with what is counted from now on.
pub(super) fn answer(scrape: Scrape, quiet: bool, shown: Shown) -> anyhow::Result<()> {
    if !quiet {
        complain(&format!(
            "metrics are at http://{}/metrics",
            scrape.address()
        ));
    }
    scrape.answer(OPENMETRICS_TYPE, move || {
        let mut text = Vec::new();
        let mut out = Harmless::new(&mut text);
        // Nothing fails that writes into memory.
        let _ = report::openmetrics(shown.now(), &mut out).and_then(|()| out.flush());
        text
    })?;
    Ok(())
}
