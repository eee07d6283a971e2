//! Packets of SQL*Net traces into a [list](crate::packets), where one is asked for.
//!
//! Which way packets went follows from whose trace it is, which its end knows. Calls are on a clock that counts
//! packets: not every trace has times.

use crate::packets::{CallPackets, ListedPacket, PacketList, Place, Way};
use model::{Mark, PacketRef, Time};
use std::collections::BTreeMap;
use trace::oracle::{Packet, TraceFile};

#[derive(Default)]
pub(super) struct Listing {
    /// Of files that are over, and of the one that is read.
    all: PacketList,
    of_file: PacketList,
    /// Packets so far, and the connection of the last.
    packets: u32,
    connection: u64,
}

impl Listing {
    pub(super) fn packet(&mut self, packet: &Packet, connection: u64, file: usize) {
        self.packets = self.packets.saturating_add(1);
        self.connection = connection;
        let way = match packet.sent {
            true => Way::Sent,
            false => Way::Received,
        };
        let mark = self.mark();
        self.of_file.add(ListedPacket::new(
            connection,
            packet.local_ns.map(Time),
            way,
            packet.kind,
            packet.bytes.map(u64::from),
            Place::Line(file, packet.line),
            (mark, mark),
        ));
    }

    /// The connection of the last packet, and where it stands among all.
    pub(super) fn last(&self) -> (u64, Mark) {
        (self.connection, self.mark())
    }

    fn mark(&self) -> Mark {
        Mark {
            time: Time(self.packets.into()),
            packet: PacketRef {
                file: 0,
                frame: self.packets,
            },
        }
    }

    pub(super) fn file(&mut self, file: &TraceFile) {
        let of_file = std::mem::take(&mut self.of_file);
        self.all.take(of_file.of_side(file.net.side), file.net.sdu);
    }

    /// With the calls of each connection, in the order in which they began.
    pub(super) fn finish(mut self, calls: &BTreeMap<u64, Vec<CallPackets>>) -> PacketList {
        self.all.finish(calls);
        self.all
    }
}
