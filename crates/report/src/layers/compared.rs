//! What each layer takes in two runs, side by side: as a table for people, and for programs.

use super::{TITLE, between, beyond, least, most, name};
use crate::text::Unit;
use analysis::app::Range;
use analysis::compare::Comparison;
use analysis::compare::result::LayerChange;
use analysis::results::{Layer, LayerOf};
use serde_json::{Value, json};

/// Title and rows with their heads; nothing where no host noted anything.
pub(crate) fn compared(c: &Comparison) -> Option<(String, Vec<Vec<String>>)> {
    let layers = || c.layers.iter().flat_map(|l| &l.layers).flatten();
    let longest = layers().map(|l| l.mean_ns).max()?;
    let unit = Unit::for_duration(longest);
    let number = |range: Option<Range>| range.map_or_else(|| "-".to_owned(), |r| between(r, unit));
    let heads = ["layer", "mean", "now", "beyond", "now", ""];
    let mut rows = vec![heads.map(str::to_owned).to_vec()];
    let next = c.layers.iter().skip(1).map(|l| Some(l.layer)).chain([None]);
    for (change, next) in c.layers.iter().zip(next) {
        let both = change.layers.each_ref().map(Option::as_ref);
        let shown = |of: &dyn Fn(&Layer) -> String| {
            both.map(|layer| layer.map_or_else(|| "-".to_owned(), of))
        };
        let own = both.map(|layer| layer.and_then(Layer::beyond_next));
        let mut row = vec![name(change.layer).to_owned()];
        row.extend(shown(&|l| number(Some(l.mean()))));
        row.extend(own.map(number));
        row.push(match (own, next) {
            ([None, None], _) | (_, None) => String::new(),
            (_, Some(next)) => beyond(change.layer, next, None).to_owned(),
        });
        rows.push(row);
    }
    let title = format!(
        "{TITLE} and beyond the next, in {}, before and now",
        unit.name
    );
    Some((title, rows))
}

pub(crate) fn compared_value(change: &LayerChange) -> Value {
    let [baseline, problem] = change.layers.each_ref().map(|l| l.as_ref().map(value));
    json!({
        "layer": LayerOf::name(change.layer),
        "baseline": baseline,
        "problem": problem,
    })
}

fn value(l: &Layer) -> Value {
    json!({
        "calls": l.calls,
        "joined": l.joined,
        "mean_ns": l.mean_ns,
        "p50_ns": l.p50_ns,
        "p99_ns": l.p99_ns,
        "beyond_next_ns": l.beyond_next_ns,
        "mean_least_ns": l.mean().least_ns,
        "mean_most_ns": l.mean().most_ns,
        "beyond_next_least_ns": least(l.beyond_next()),
        "beyond_next_most_ns": most(l.beyond_next()),
    })
}
