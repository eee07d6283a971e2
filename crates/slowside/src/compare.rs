//! Two runs, each of captures or saved before, into what changed between them.

use crate::config::{Captures, Config, Event};
use crate::{Error, diagnose};
use analysis::compare::saved::{self, Unreadable};
use analysis::compare::{Comparison, Kept};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// One side of a comparison.
#[derive(Clone, Debug)]
pub enum Run {
    Captures(Captures),
    /// A file of what [`saved()`] gave.
    Saved(PathBuf),
}

/// A saved run of more bytes than this is none: 32 operations of 128 blocks, as three captures have them,
/// take a third.
const SAVED_BYTES: u64 = 8 << 20;

impl Run {
    /// Whether what begins so is a saved run.
    #[must_use]
    pub fn begins(head: &[u8]) -> bool {
        saved::is_saved(head)
    }

    /// Whether a file holds a saved run, by its first bytes. What cannot be read holds none: whoever
    /// reads it as a capture says why.
    #[must_use]
    pub fn is_saved(path: &Path) -> bool {
        let mut start = Vec::new();
        let regular = path.metadata().is_ok_and(|m| m.is_file());
        regular
            && File::open(path)
                .and_then(|f| f.take(64).read_to_end(&mut start))
                .is_ok_and(|_| saved::is_saved(&start))
    }
}

/// Compares a baseline with a problem, each read as its configuration says.
///
/// # Errors
/// When an input cannot be read, or is a run saved by another version.
pub fn compare(
    baseline: &Run,
    problem: &Run,
    configs: &[Config; 2],
    events: &mut dyn FnMut(Event),
) -> Result<(Comparison, [Kept; 2]), Error> {
    let [mut a, mut b] = [None, None];
    let [of_a, of_b] = configs;
    for (run, config, into) in [(baseline, of_a, &mut a), (problem, of_b, &mut b)] {
        *into = Some(match run {
            Run::Saved(path) => load(path)?,
            Run::Captures(captures) => {
                let (diagnosis, kept) = diagnose::measure(captures, config, events)?;
                if config.has_noted() {
                    let notes = diagnosis.notes.into_iter();
                    notes.for_each(|note| events(Event::Note(note.to_string())));
                }
                kept
            }
        });
    }
    match (a, b) {
        (Some(a), Some(b)) => Ok((analysis::compare::compare(&a, &b), [a, b])),
        _ => Err(Error::Message("a run is missing".into())),
    }
}

/// A run as it is saved for later comparisons.
#[must_use]
pub fn saved(run: &Kept) -> Vec<u8> {
    saved::save(run)
}

fn load(path: &Path) -> Result<Kept, Error> {
    let failed = |e: std::io::Error| {
        let name = path.display();
        Error::Message(format!(
            "cannot read {name}: {e}; copy it, or save it again from its captures"
        ))
    };
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(failed)?;
    file.take(SAVED_BYTES)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    saved::load(&bytes).map_err(|why| {
        let name = path.display();
        Error::Message(match why {
            Unreadable::Version(found) => format!(
                "{name} was saved as {found}, and this slowside reads {}: save it again from its captures",
                saved::SCHEMA
            ),
            Unreadable::Damaged => {
                format!("{name} is damaged or cut short: save it again from its captures")
            }
            Unreadable::Other => format!("{name} is no saved run"),
        })
    })
}
