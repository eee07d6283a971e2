//! Packets into the two ends that they travel between: for a few packets that are known by number.

use crate::{Error, run};
use capture::Capture;
use model::{Batch, Endpoint, PacketRef, Time};
use net::Decoder;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// A packet's time and ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flow {
    pub(crate) at: Time,
    source: Endpoint,
    destination: Endpoint,
}

/// Of the same connection, as far as ends tell.
impl PartialEq for Flow {
    fn eq(&self, other: &Flow) -> bool {
        other.is_between(self.source, self.destination)
    }
}

impl Flow {
    pub(crate) fn is_between(&self, a: Endpoint, b: Endpoint) -> bool {
        [(a, b), (b, a)].contains(&(self.source, self.destination))
    }
}

/// Reads a capture until it has all of them. The other packets are not decoded: it would take twice as long, and tell only
/// of packets that IP had to divide.
pub(crate) fn of(
    inputs: &[PathBuf],
    wanted: &BTreeSet<PacketRef>,
) -> Result<BTreeMap<PacketRef, Flow>, Error> {
    let mut found = BTreeMap::new();
    if wanted.is_empty() {
        return Ok(found);
    }
    let mut capture: Capture = run::open(inputs)?;
    let mut decoder = Decoder::new(capture.files());
    let (mut batch, mut segments) = (Batch::default(), Vec::new());
    // What cannot be read was counted when it was read for the diagnosis.
    while found.len() < wanted.len() && capture.next_batch(&mut batch).unwrap_or(false) {
        batch.packets.retain(|packet| wanted.contains(&packet.at));
        segments.clear();
        decoder.decode(&mut batch, &mut segments);
        for s in &segments {
            let flow = Flow {
                at: s.mark.time,
                source: s.source,
                destination: s.destination,
            };
            found.insert(s.mark.packet, flow);
        }
    }
    Ok(found)
}
