//! One session's packets of SQL*Net: a capture is read once more, and of all packets only those of the session's
//! connection are followed, as for [pictures](mod@crate::plots).

use crate::Error;
use crate::config::{Config, Event};
use crate::link::{Records, Wanted};
use crate::plots::Flows;
use crate::room::Room;
use crate::run::{self, Selection};
use crate::stream::{Connections, Decoded, Reader};
use analysis::packets::{CallPackets, ListedPacket, PacketList, Place, Way};
use analysis::sql::SessionResult;
use model::limits;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

/// The packets of `session` within the times asked for; where calls are chosen, of those alone.
pub(crate) fn packets(
    inputs: &[PathBuf],
    config: &Config,
    session: &SessionResult,
    events: &mut dyn FnMut(Event),
) -> Result<PacketList, Error> {
    let mut taker = Taker {
        session,
        selection: Selection::new(config),
        calls: Vec::new(),
        list: PacketList::of_unit(session.session.sdu_bytes.map(u64::from)),
    };
    let mut flows = Flows::new(std::iter::once(session.connection));
    let mut reader = Reader::new(run::open(inputs)?);
    let room = Room::new(run::share(config, 1).connections_bytes, 1);
    let mut connections = Connections::new(Wanted::SqlNet, &room);
    let (mut decoded, mut records) = (Decoded::default(), Records::default());
    while reader.next(&mut decoded) {
        decoded.segments.retain(|s| flows.has(s));
        connections.track_all(&decoded);
        connections.take(&decoded, &mut records);
        let first = reader.first_time();
        taker.selection.starts_at(first);
        taker.take(&records);
        run::progress(&reader.progress, events);
    }
    connections.finish(&mut records);
    taker.take(&records);
    if reader.progress.packets.load(Ordering::Relaxed) > 0 && taker.list.packets.is_empty() {
        let chosen = !taker.selection.takes_all_calls() || !taker.selection.takes_all_times();
        if !chosen {
            let text = "cannot read the capture again for its packets; copy it, or take it again";
            return Err(Error::Message(text.into()));
        }
    }
    Ok(taker.finish())
}

/// Takes what is read of the session.
struct Taker<'a> {
    session: &'a SessionResult,
    selection: Selection<'a>,
    calls: Vec<CallPackets>,
    list: PacketList,
}

impl Taker<'_> {
    fn take(&mut self, records: &Records) {
        let own = self.session.connection;
        for call in records.calls.iter().filter(|c| c.connection == own) {
            if self.selection.takes(call) && self.calls.len() < limits::LISTED_PACKETS {
                self.calls.extend(CallPackets::of(call));
            }
        }
        for p in records.packets.iter().filter(|p| p.connection == own) {
            if !self.selection.covers(p.first.time) {
                continue;
            }
            self.list.add(ListedPacket::new(
                self.session.number as u64,
                Some(p.first.time),
                match p.by_client {
                    true => Way::ToServer,
                    false => Way::ToClient,
                },
                p.kind,
                Some(p.bytes),
                Place::Frames(p.first.packet, p.last.packet),
                (p.first, p.last),
            ));
        }
    }

    fn finish(self) -> PacketList {
        let Taker {
            session,
            selection,
            mut calls,
            mut list,
        } = self;
        calls.sort_by_key(CallPackets::begun);
        list.finish(&BTreeMap::from([(session.number as u64, calls)]));
        if !selection.takes_all_calls() {
            list.of_calls();
        }
        list
    }
}
