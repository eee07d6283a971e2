//! What hosts timed themselves in both runs, into which layer takes longer now: packets know nothing of what lies above the
//! wire, or within a server.
//!
//! Chance is not told: of rows only means and quantiles are kept. What is said has to matter ([`FEW`]), and where bounds are
//! all that is known, they must be apart.

use super::kept::Kept;
use super::result::LayerChange;
use crate::app::Range;
use crate::results::{Layer, LayerOf};
use crate::text::{Text, Value, text};

/// A layer that takes less than one in so many more than before takes as long.
const FEW: i64 = 10;

/// So many layers are told of in the sentence.
const SAID: usize = 2;

/// From the application down; nothing where no host noted anything.
pub(super) fn changes(runs: [&Kept; 2]) -> Vec<LayerChange> {
    let is_noted = |l: LayerOf| !matches!(l, LayerOf::ClientWire | LayerOf::ServerWire);
    let all = || runs.iter().flat_map(|run| &run.layers).map(|l| l.layer);
    if !all().any(is_noted) {
        return Vec::new();
    }
    let mut layers: Vec<LayerOf> = all().collect();
    layers.sort_unstable();
    layers.dedup();
    let of = |layer| LayerChange {
        layer,
        layers: runs.map(|run| run.layers.iter().find(|l| l.layer == layer).cloned()),
    };
    layers.into_iter().map(of).collect()
}

/// What a layer takes beyond the one that it encloses, or all that the innermost takes.
fn own(change: &LayerChange) -> Option<[Range; 2]> {
    let [Some(before), Some(now)] = change.layers.each_ref().map(Option::as_ref) else {
        return None;
    };
    let own = |l: &Layer| match l.layer {
        // All of them enclose the disk, but not call by call.
        LayerOf::ServerOperation | LayerOf::Disk => Some(l.mean()),
        _ => l.beyond_next(),
    };
    Some([own(before)?, own(now)?])
}

/// How much more it takes now for certain, or less.
fn added_ns([before, now]: [Range; 2]) -> i64 {
    let above = |a: Range, b: Range| b.most_ns.map_or(0, |most| a.least_ns.saturating_sub(most));
    above(now, before).max(0) - above(before, now).max(0)
}

/// Which layers take longer or shorter now, by more than `floor_ns`; what the packets of both ends show is told elsewhere.
pub(super) fn said(changes: &[LayerChange], floor_ns: i64) -> Option<Text> {
    let is_both = |of: LayerOf| {
        let mut both = changes.iter().filter(|c| c.layer == of);
        both.any(|c| c.layers.iter().all(Option::is_some))
    };
    let mut all: Vec<(i64, Text)> = Vec::new();
    for change in changes {
        let Some(own) = own(change) else { continue };
        let [before, now] = own;
        let added = added_ns(own).abs();
        if added < floor_ns.max(before.least_ns / FEW).max(1) {
            continue;
        }
        let what = match change.layer {
            LayerOf::Application => "what lies above the wire",
            LayerOf::ClientKernel => "the queue of the client's system",
            LayerOf::ClientWire if is_both(LayerOf::ServerWire) => continue,
            LayerOf::ClientWire => "what lies between the client's wire and the operation",
            LayerOf::ServerWire => "what the server does around the operation",
            LayerOf::ServerOperation => "the server's operation",
            LayerOf::Disk => "an I/O of its disks",
        };
        let said = text!(
            "{what} takes {now} instead of {before}",
            what = what,
            now = words(now),
            before = words(before),
        );
        all.push((added, said));
    }
    // All of them stand in the table.
    all.sort_by_key(|(added, _)| std::cmp::Reverse(*added));
    let mut all: Vec<Text> = all.into_iter().take(SAID).map(|(_, said)| said).collect();
    let outermost = changes.iter().find(|c| c.layer == LayerOf::Application);
    let waits = outermost.map(|c| c.layers.each_ref().map(|l| l.as_ref().map(Layer::mean)));
    if let (Some([Some(before), Some(now)]), false) = (waits, all.is_empty()) {
        let waits = text!(
            "the application waits {now} instead of {before} for an operation",
            now = words(now),
            before = words(before),
        );
        all.insert(0, waits);
    }
    (!all.is_empty()).then(|| {
        text!(
            "By the hosts' own times, on average: {layers}.",
            layers = Value::List(all, "; ")
        )
    })
}

/// "2.12 ms", or "2.12 ms to 4.25 ms" where only bounds are known.
fn words(range: Range) -> Text {
    let least = Value::Duration(range.least_ns);
    match range.most_ns {
        Some(most) if most == range.least_ns => text!("{ns}", ns = least),
        Some(most) => text!(
            "{least} to {most}",
            least = least,
            most = Value::Duration(most)
        ),
        None => text!("{least} or more", least = least),
    }
}

/// Of which run alone hosts' own times were given.
pub(super) fn only_one(changes: &[LayerChange]) -> Option<Text> {
    let noted = changes
        .iter()
        .filter(|c| !matches!(c.layer, LayerOf::ClientWire | LayerOf::ServerWire));
    let of = |run: usize| {
        let mut noted = noted.clone();
        noted.any(|c| c.layers.get(run).is_some_and(Option::is_some))
    };
    let (which, other) = match (of(0), of(1)) {
        (true, false) => ("baseline", "problem"),
        (false, true) => ("problem", "baseline"),
        _ => return None,
    };
    Some(text!(
        "Hosts' own times were used of the {which} alone: there is nothing in the {other} to hold them against.",
        which = which,
        other = other,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::tests::plain;
    use crate::results::{LayerBounds, LayerSource};

    const MS: i64 = 1_000_000;

    fn layer(layer: LayerOf, mean_ns: i64, beyond_next_ns: Option<i64>) -> Layer {
        Layer {
            layer,
            source: LayerSource::Rows("CSV".into()),
            calls: 100,
            joined: Some(100),
            mean_ns,
            bounds: None,
            p50_ns: None,
            p99_ns: None,
            beyond_next_ns,
            beyond_next: None,
        }
    }

    fn told(before: Vec<Layer>, now: Vec<Layer>) -> [Option<String>; 2] {
        let runs = [before, now].map(|layers| Kept {
            layers,
            ..Kept::from(plain())
        });
        let changes = changes([&runs[0], &runs[1]]);
        [said(&changes, MS / 4), only_one(&changes)].map(|said| said.map(|s| s.to_string()))
    }

    /// An application above a wire of 2 ms.
    fn above(ns: i64) -> Vec<Layer> {
        vec![
            layer(LayerOf::Application, 2 * MS + ns, Some(ns)),
            layer(LayerOf::ClientWire, 2 * MS, None),
        ]
    }

    #[test]
    fn what_an_application_waits_for_more_is_said_though_the_wire_is_as_it_was() {
        let [said, alone] = told(above(MS / 10), above(50 * MS));
        assert_eq!(
            said.as_deref(),
            Some(
                "By the hosts' own times, on average: the application waits 52.0 ms instead of 2.10 ms for an operation; what lies above the wire takes 50.0 ms instead of 100 µs."
            )
        );
        assert_eq!(alone, None);
        // At the border of what matters: a quarter of a millisecond, and a tenth of what it was.
        assert!(told(above(MS), above(MS + MS / 4))[0].is_some());
        assert_eq!(told(above(MS), above(MS + MS / 4 - 1))[0], None);
        assert!(told(above(50 * MS), above(55 * MS))[0].is_some());
        assert_eq!(told(above(50 * MS), above(55 * MS - 1))[0], None);
    }

    #[test]
    fn bounds_that_meet_say_nothing() {
        let of = |least_ms: i64, most_ms: i64| {
            let mean = Range {
                least_ns: least_ms * MS,
                most_ns: Some(most_ms * MS),
            };
            let bounds = LayerBounds {
                mean,
                p50: mean,
                p99: mean,
            };
            vec![Layer {
                bounds: Some(bounds),
                ..layer(LayerOf::ServerOperation, mean.middle_ns(), None)
            }]
        };
        assert_eq!(told(of(2, 4), of(4, 8))[0], None);
        assert!(told(of(2, 4), of(8, 16))[0].is_some());
    }

    #[test]
    fn what_one_run_alone_has_is_held_against_nothing() {
        let wire = || vec![layer(LayerOf::ClientWire, 2 * MS, None)];
        assert_eq!(
            told(wire(), above(50 * MS)),
            [
                None,
                Some("Hosts' own times were used of the problem alone: there is nothing in the baseline to hold them against.".into())
            ]
        );
        assert_eq!(told(wire(), wire()), [None, None]);
    }
}
