//! How a run ends: the exit codes that scripts rely on, and the one line on standard error.

use crate::command::CANNOT_WRITE;
use crate::out::complain;
use analysis::filter::nearest;
use anyhow::Context;
use std::io;

/// A run that did what it was asked to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Done {
    Fine,
    /// Some input was damaged; what and how much is in the output.
    Damaged,
    /// A finding at or above `--fail-on` exists.
    Found,
    /// Packets that were to be kept as evidence are in no file, which was said.
    Unwritten,
}

impl Done {
    pub(crate) fn with_damage(damaged: bool) -> Done {
        if damaged { Done::Damaged } else { Done::Fine }
    }
}

/// The exit code of a run, after saying on standard error why it could not be done.
pub(crate) fn code(result: anyhow::Result<Done>) -> u8 {
    match result {
        Ok(Done::Fine) => 0,
        Ok(Done::Found) => 1,
        Ok(Done::Damaged) => 3,
        Ok(Done::Unwritten) => 2,
        // Whoever reads the output has seen enough of it.
        Err(e) if is_broken_pipe(&e) => 0,
        Err(e) => {
            complain(&format!("{e:#}"));
            2
        }
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<io::Error>()
            .is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe)
    })
}

/// What an option or a value that there is not may have been meant for. Of what clap suggests, what is as near as other
/// words have to be.
fn meant(error: &clap::Error) -> Option<String> {
    use clap::error::{ContextKind, ContextValue};
    let word = |kind| match error.get(kind)? {
        ContextValue::String(one) => Some(one.clone()),
        ContextValue::Strings(several) => several.first().cloned(),
        _ => None,
    };
    let near = |given, suggested| {
        let (given, suggested) = (word(given)?, word(suggested)?);
        let is_near = !nearest(&given, [suggested.as_str()]).is_empty();
        is_near.then_some(suggested)
    };
    near(ContextKind::InvalidArg, ContextKind::SuggestedArg)
        .or_else(|| near(ContextKind::InvalidValue, ContextKind::SuggestedValue))
}

/// Help and version as asked for; wrong arguments as one line that says where to look.
pub(crate) fn usage(error: &clap::Error) -> u8 {
    use clap::error::ErrorKind;
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            code(error.print().context(CANNOT_WRITE).map(|()| Done::Fine))
        }
        _ => {
            // clap lists missing arguments on lines of their own; its usage follows an empty line.
            let text = error.to_string();
            let what = text.split("\n\n").next().unwrap_or_default();
            let what = what.strip_prefix("error: ").unwrap_or(what);
            let meant = meant(error).map_or_else(String::new, |m| format!("; did you mean `{m}`?"));
            complain(&format!("{what}{meant} (see --help)"));
            2
        }
    }
}
