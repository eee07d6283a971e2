//! Events with pseudonyms, for those who show them.

use pseudonyms::Anonymiser;
use report::Anonymise;
use slowside::LiveEvent;

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
            written: written.clone(),
            at: *at,
        }),
        LiveEvent::Written(_) => sink(event),
    }
}
