//! Packets that a SQL*Net trace dumps into calls, by the readers of captures: a dump is what passed on the wire.

use analysis::packets::CallPackets;
use model::{Chunk, Close, ConnectionId, Direction, Endpoint, Mark, Problems, Transport, limits};
use protocol::{ConnectionInfo, Context, Conversation, Output, Shared};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use trace::oracle::Packet;

/// The connections of traces.
#[derive(Default)]
pub(crate) struct Dumps {
    conversations: BTreeMap<u64, Said>,
    /// The last packet, with its connection and place among all, until it is known whether it is dumped.
    waits: Option<(Packet, u64, Mark)>,
    output: Output,
    shared: Shared,
    /// What was wrong with what was said is no fault of the trace.
    problems: Problems,
    calls: BTreeMap<u64, Vec<CallPackets>>,
    taken: usize,
}

#[derive(Default)]
struct Said {
    conversation: Conversation,
    /// Bytes so far by direction.
    sequence: [u32; 2],
}

impl Dumps {
    /// A packet came; its dump, if there is one, is behind it.
    pub(crate) fn packet(&mut self, packet: &Packet, (connection, mark): (u64, Mark)) {
        self.take(&[]);
        self.waits = Some((*packet, connection, mark));
    }

    /// The dump of the last packet, or of none.
    pub(crate) fn take(&mut self, bytes: &[u8]) {
        let Some((packet, number, mark)) = self.waits.take() else {
            return;
        };
        // Before anything is dumped there is nothing to read.
        if bytes.is_empty() && !self.conversations.contains_key(&number)
            || !self.conversations.contains_key(&number)
                && self.conversations.len() >= limits::TRACE_CONNECTIONS
        {
            return;
        }
        let data = match packet.bytes {
            Some(length) => bytes.get(..length as usize).unwrap_or(bytes),
            None => bytes,
        };
        let cut = packet.bytes.unwrap_or(0).saturating_sub(data.len() as u32);
        // Who is the client is seen in what they say.
        let d = match packet.sent {
            true => Direction::ToServer,
            false => Direction::ToClient,
        };
        let said = self.conversations.entry(number).or_default();
        let sequence = &mut said.sequence[d.index()];
        let chunk = Chunk {
            data,
            cut,
            mark,
            sequence: *sequence,
            order: mark.packet.into(),
            now: mark.time,
            held_since: None,
            heard_all: true,
            peer_ended: None,
        };
        *sequence = sequence.wrapping_add(data.len() as u32).wrapping_add(cut);
        let info = connection(number);
        said.conversation.data(
            &mut Context {
                connection: &info,
                output: &mut self.output,
                problems: &mut self.problems,
                shared: &mut self.shared,
                order: chunk.order,
                now: chunk.now,
            },
            d,
            &chunk,
        );
        self.collect();
    }

    fn collect(&mut self) {
        for call in self.output.calls.drain(..) {
            if self.taken < limits::LISTED_PACKETS {
                self.taken += 1;
                let calls = self.calls.entry(call.connection.0).or_default();
                calls.extend(CallPackets::of(&call));
            }
        }
        self.output.outstanding.clear();
    }

    /// A trace is over, and with it its connections.
    pub(crate) fn end(&mut self, (_, mark): (u64, Mark)) {
        self.take(&[]);
        for (number, mut said) in std::mem::take(&mut self.conversations) {
            let info = connection(number);
            let mut context = Context {
                connection: &info,
                output: &mut self.output,
                problems: &mut self.problems,
                shared: &mut self.shared,
                order: u64::MAX,
                now: mark.time,
            };
            said.conversation.close(&mut context, Close::Finished);
            self.collect();
        }
    }

    /// The calls of each connection, in the order in which they began.
    pub(crate) fn finish(mut self) -> BTreeMap<u64, Vec<CallPackets>> {
        for calls in self.calls.values_mut() {
            calls.sort_by_key(CallPackets::begun);
        }
        self.calls
    }
}

/// Nothing of it is shown: it tells connections apart.
fn connection(number: u64) -> ConnectionInfo {
    let end = |port| Endpoint {
        address: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        port,
    };
    ConnectionInfo {
        id: ConnectionId(number),
        transport: Transport::Tcp,
        client: end(1_024),
        server: end(1_521),
        roles_known: false,
    }
}
