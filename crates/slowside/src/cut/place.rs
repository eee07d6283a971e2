//! Packets that are wanted into stretches of connections: whose packets they are, and where in the
//! capture's order they stand.

use super::wanted::{Span, Wanted};
use crate::Error;
use crate::config::{Config, Event};
use crate::run::Selection;
use analysis::results::Vantage;
use model::{PacketRef, Problems, Time, Where, limits};
use net::{Flow, Outline};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;

/// Frames that belong to no call are taken to show one thing, with what is between them, when they are no
/// further apart.
const TOGETHER_NS: i64 = 10_000_000_000;

/// A stretch of a connection, by the orders of its first and last packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Window {
    pub(super) first: u64,
    pub(super) last: u64,
    pub(super) opening: usize,
    pub(super) lead: usize,
    pub(super) clip: bool,
}

/// Where everything stands.
pub(super) struct Placed<'a> {
    pub(super) inputs: Vec<PathBuf>,
    pub(super) files: Vec<String>,
    pub(super) side: Option<Vantage>,
    pub(super) why: BTreeMap<PacketRef, Vec<String>>,
    pub(super) frames: Vec<(u16, u32, u32)>,
    /// In order, without overlap.
    pub(super) windows: HashMap<Flow, Vec<Window>>,
    /// What times are asked for.
    pub(super) times: Selection<'a>,
    /// Whether all packets in them are.
    pub(super) time: bool,
    pub(super) problems: Problems,
    /// What the readings so far could not read.
    pub(super) unread: Problems,
}

/// Reads a capture for where the wanted packets stand.
pub(super) fn place<'a>(
    wanted: Wanted,
    config: &'a Config,
    only: bool,
    events: &mut dyn FnMut(Event),
) -> Result<Placed<'a>, Error> {
    let mut placed = Placed {
        inputs: wanted.inputs,
        files: wanted.files,
        side: wanted.side,
        why: wanted.why,
        frames: wanted.frames,
        windows: HashMap::new(),
        times: Selection::new(config),
        time: wanted.time,
        problems: Problems::default(),
        unread: wanted.unread,
    };
    // Of a connection everything was named.
    let spans: Vec<Span> = wanted
        .spans
        .into_iter()
        .filter(|s| s.clip || !only)
        .collect();
    if spans.is_empty() && only {
        return Ok(placed);
    }
    let ends: HashSet<PacketRef> = spans.iter().flat_map(|s| [s.first, s.last]).collect();
    let mut orders: HashMap<PacketRef, (u64, Flow)> = HashMap::with_capacity(ends.len());
    // Frames that are no ends, and the last window of each connection made of such.
    let mut loose: Vec<(Flow, u64, Time)> = Vec::new();
    let mut rows: HashMap<Flow, (Window, Time)> = HashMap::new();
    let Placed {
        inputs,
        why,
        frames,
        windows,
        times,
        time,
        problems,
        unread,
        ..
    } = &mut placed;
    let capture = super::each_packet(inputs, events, &mut |_, batch, packet| {
        times.starts_at(Some(packet.time));
        let end = ends.contains(&packet.at);
        let row = named(frames, packet.at) || *time && times.covers(packet.time);
        let single = !end && !only && why.contains_key(&packet.at);
        if !end && (only || !row && !single) {
            return Ok(());
        }
        let outline = Outline::of(packet.link_type, batch.bytes_of(packet), packet.length);
        let Some(Outline { flow, .. }) = outline else {
            return Ok(());
        };
        if end {
            orders.insert(packet.at, (packet.order, flow));
        }
        if single {
            loose.push((flow, packet.order, packet.time));
        }
        if row {
            if rows.len() >= limits::CUT_FLOWS && !rows.contains_key(&flow) {
                note_beyond(problems);
                return Ok(());
            }
            let fresh = match *time {
                // An opening and then a hole is worse than none: sessions of databases cannot be read behind it.
                true => Window {
                    opening: 0,
                    ..window(packet.order)
                },
                false => window(packet.order),
            };
            if *time && !rows.contains_key(&flow) {
                let first = "first packet of its connection in the time that was asked for";
                why.entry(packet.at).or_default().push(first.into());
            }
            let (open, at) = rows.entry(flow).or_insert((fresh, packet.time));
            if !*time && packet.time - *at > TOGETHER_NS {
                windows.entry(flow).or_default().push(*open);
                *open = fresh;
            }
            (open.last, *at) = (packet.order, packet.time);
        }
        Ok(())
    })?;
    unread.merge_unread(capture.problems());
    for (flow, (window, _)) in rows {
        windows.entry(flow).or_default().push(window);
    }
    for span in spans {
        if let (Some((first, flow)), Some((last, _))) =
            (orders.get(&span.first), orders.get(&span.last))
        {
            let opening = if only { 0 } else { span.opening };
            let window = spanned([*first, *last], opening, &span);
            windows.entry(*flow).or_default().push(window);
        }
    }
    add_loose(windows, loose);
    windows.values_mut().for_each(join);
    Ok(placed)
}

fn note_beyond(problems: &mut Problems) {
    problems.note("connections-without-opening", || {
        let text = "more connections than are remembered".to_owned();
        (text, Where::default())
    });
}

/// From one of a span's ends to the other, which may stand in either order.
fn spanned([a, b]: [u64; 2], opening: usize, span: &Span) -> Window {
    Window {
        first: a.min(b),
        last: a.max(b),
        opening,
        lead: span.lead,
        clip: span.clip,
    }
}

/// Frames in no window so far have windows of their own, one where they are close together.
fn add_loose(windows: &mut HashMap<Flow, Vec<Window>>, mut loose: Vec<(Flow, u64, Time)>) {
    let mut before: HashMap<Flow, (Window, Time)> = HashMap::new();
    loose.retain(|(flow, order, _)| {
        !windows
            .get(flow)
            .is_some_and(|all| all.iter().any(|w| w.holds(*order)))
    });
    for (flow, order, time) in loose {
        let (open, at) = before.entry(flow).or_insert((window(order), time));
        if time - *at > TOGETHER_NS {
            windows.entry(flow).or_default().push(*open);
            *open = window(order);
        }
        (open.last, *at) = (order, time);
    }
    for (flow, (window, _)) in before {
        windows.entry(flow).or_default().push(window);
    }
}

/// Whether a frame was named by its number.
pub(super) fn named(frames: &[(u16, u32, u32)], at: PacketRef) -> bool {
    let holds = |&(file, first, last): &(u16, u32, u32)| {
        file == at.file && (first..=last).contains(&at.frame)
    };
    frames.iter().any(holds)
}

fn window(order: u64) -> Window {
    Window {
        first: order,
        last: order,
        opening: 3,
        lead: 0,
        clip: false,
    }
}

impl Window {
    pub(super) fn holds(&self, order: u64) -> bool {
        (self.first..=self.last).contains(&order)
    }
}

/// Sorts windows and makes one of those that overlap.
fn join(windows: &mut Vec<Window>) {
    windows.sort_by_key(|w| (w.first, w.last));
    windows.dedup_by(|next, before| {
        let overlap = next.first <= before.last;
        if overlap {
            before.last = before.last.max(next.last);
            before.clip &= next.clip;
            if next.first == before.first {
                before.lead = before.lead.max(next.lead);
            }
            before.opening = before.opening.max(next.opening);
        }
        overlap
    });
}
