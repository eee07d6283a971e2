//! Packets as evidence: frames by capture and file, with a display filter that shows them.

use crate::facts::Facts;
use crate::results::{CaptureResult, ConnectionResult, Evidence};
use crate::sql::StatementResult;
use crate::text::{Text, text};
use crate::worst::Worst;
use model::{Direction, PacketRef, Stuck};
use std::collections::BTreeMap;

/// Calls shown per finding.
const SHOWN: usize = 3;

/// The worst calls of a kind.
pub(super) fn of_calls(facts: &Facts<'_>, worst: &Worst, shows: &'static str) -> Vec<Evidence> {
    let worst = worst.exhibits.iter().take(SHOWN);
    of_packets(
        facts,
        worst.flat_map(|e| [(e.capture, e.request), (e.capture, e.response)]),
        shows,
    )
}

/// A whole connection.
pub(super) fn of_connection(facts: &Facts<'_>, c: &ConnectionResult) -> Vec<Evidence> {
    let ends = c.ends.iter();
    of_packets(
        facts,
        ends.flat_map(|(i, first, last)| [(*i, first.packet), (*i, last.packet)]),
        "the first and the last packet of the connection",
    )
}

/// Segments that were sent again in vain: their first and last copies, where their senders are nearest.
pub(super) fn of_stuck(
    facts: &Facts<'_>,
    stuck: &[(&ConnectionResult, Direction, Stuck)],
    shows: &'static str,
) -> Vec<Evidence> {
    let packets = stuck.iter().take(SHOWN).flat_map(|(c, d, s)| {
        let end = match d {
            Direction::ToServer => c.ends.first(),
            Direction::ToClient => c.ends.last(),
        };
        end.into_iter()
            .flat_map(|(i, ..)| [(*i, s.first.packet), (*i, s.last.packet)])
    });
    of_packets(facts, packets, shows)
}

/// The slowest call of a statement.
pub(super) fn of_statement(
    facts: &Facts<'_>,
    capture: usize,
    statement: &StatementResult,
    shows: &'static str,
) -> Vec<Evidence> {
    let worst = statement.worst.iter();
    let packets = worst.flat_map(|w| [(capture, w.request), (capture, w.response)]);
    of_packets(facts, packets, shows)
}

/// A statement in a sentence of its own.
pub(super) fn named(statement: &StatementResult) -> Text {
    match (&statement.statement, &statement.op) {
        (Some(s), _) => text!("{statement}", statement = s),
        (None, Some(op)) => text!("Statement not seen ({op}).", op = op.clone()),
        (None, None) => Text::default(),
    }
}

/// Any packets, by the index of their capture.
pub(super) fn of_packets(
    facts: &Facts<'_>,
    packets: impl Iterator<Item = (usize, PacketRef)>,
    shows: &'static str,
) -> Vec<Evidence> {
    by_file(facts.results, packets, shows)
}

/// The same before there are facts.
pub(crate) fn by_file(
    results: &[CaptureResult],
    packets: impl Iterator<Item = (usize, PacketRef)>,
    shows: &'static str,
) -> Vec<Evidence> {
    let mut by_file: BTreeMap<(usize, u16), Vec<u32>> = BTreeMap::new();
    for (capture, p) in packets {
        by_file.entry((capture, p.file)).or_default().push(p.frame);
    }
    let files = |capture: usize| results.get(capture).map_or(0, |c| c.files.len());
    let mut out: Vec<Evidence> = by_file
        .into_iter()
        .map(|((capture, file), mut frames)| {
            frames.sort_unstable();
            frames.dedup();
            let list: Vec<String> = frames.iter().map(u32::to_string).collect();
            Evidence {
                capture,
                file: usize::from(file).min(files(capture).saturating_sub(1)),
                filter: format!("frame.number in {{{}}}", list.join(",")),
                frames,
                shows,
            }
        })
        .collect();
    out.sort_by_key(|e| (std::cmp::Reverse(e.frames.len()), e.capture, e.file));
    out
}
