//! Events with pseudonyms, for those who show them.

use pseudonyms::{Anonymiser, NameKind};
use report::Anonymise;
use slowside::{LiveEvent, Unwritten, Written};
use std::path::Path;

/// Gives `event` to `sink`, with pseudonyms where there are `names`.
pub(super) fn told<R>(
    event: &LiveEvent<'_>,
    names: Option<&Anonymiser>,
    sink: impl FnOnce(&LiveEvent<'_>) -> R,
) -> R {
    let Some(names) = names else {
        return sink(event);
    };
    match event {
        LiveEvent::Moment {
            moment,
            held,
            found,
        } => sink(&LiveEvent::Moment {
            moment: &(*moment).clone().anonymised(names),
            held: *held,
            found: &(*found).clone().anonymised(names),
        }),
        LiveEvent::Findings { found, rules, at } => sink(&LiveEvent::Findings {
            found: &(*found).clone().anonymised(names),
            rules: rules.clone(),
            at: *at,
        }),
        LiveEvent::Crossing {
            crossing,
            written,
            at,
        } => sink(&LiveEvent::Crossing {
            crossing: &(*crossing).clone().anonymised(names),
            written: written.clone().map(|w| hidden(w, names)),
            at: *at,
        }),
        LiveEvent::Written(written) => sink(&LiveEvent::Written(hidden(written.clone(), names))),
    }
}

/// What became of a file.
fn hidden(written: Result<Written, Unwritten>, names: &Anonymiser) -> Result<Written, Unwritten> {
    let name = |path: &Path| names.name(NameKind::File, &path.display().to_string());
    match written {
        Ok(w) => Ok(Written {
            path: name(&w.path).into(),
            ..w
        }),
        // That says which file.
        Err(Unwritten::Failed(_)) => Err(Unwritten::Failed("it could not be written".to_owned())),
        Err(Unwritten::NothingKept) => Err(Unwritten::NothingKept),
    }
}
