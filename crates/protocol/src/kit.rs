//! For the tests of protocols: what a connection carries ([`testkit::stream`]) into calls and problems.

use crate::{ConnectionInfo, Context, Conversation, Output, Shared};
use model::{
    Call, Change, Close, ConnectionId, Direction, Endpoint, Mark, Outstanding, PacketRef, Problems,
    Time, Transport,
};
pub(crate) use testkit::stream::Event::{self, Bytes, Crossing, Cut, Gap, Late, Pause};
pub(crate) use testkit::stream::{Told, chunk, down, tell, up};

pub(crate) const UP: Direction = Direction::ToServer;
pub(crate) const DOWN: Direction = Direction::ToClient;

pub(crate) fn endpoint(host: u8, port: u16) -> Endpoint {
    Endpoint {
        address: [10, 0, 0, host].into(),
        port,
    }
}

/// A connection of a client to this port, whose beginning was seen.
pub(crate) fn connection(transport: Transport, port: u16) -> ConnectionInfo {
    ConnectionInfo {
        id: ConnectionId(0),
        transport,
        client: endpoint(1, 40_000),
        server: endpoint(2, port),
        roles_known: true,
    }
}

/// The same over TCP.
pub(crate) fn opened(port: u16) -> ConnectionInfo {
    connection(Transport::Tcp, port)
}

/// One over TCP that was joined later.
pub(crate) fn joined(port: u16) -> ConnectionInfo {
    ConnectionInfo {
        roles_known: false,
        ..opened(port)
    }
}

/// What was found of one connection.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) calls: Vec<Call>,
    pub(crate) outstanding: Vec<Outstanding>,
    pub(crate) problems: Problems,
}

/// All that is found of a connection that ends behind the last event. What was sent is settled in the end, and
/// a connection that rests before each event is the same.
pub(crate) fn seen(connection: &ConnectionInfo, events: &[Event], end: Close) -> Seen {
    let awake = converse(connection, events, end, false);
    let rested = converse(connection, events, end, true);
    assert_eq!(format!("{awake:?}"), format!("{rested:?}"));
    awake
}

/// The calls of a client that asks this port over TCP.
pub(crate) fn segments(port: u16, events: &[Event], end: Close) -> Vec<Call> {
    seen(&opened(port), events, end).calls
}

/// The same over UDP.
pub(crate) fn datagrams(port: u16, events: &[Event], end: Close) -> Vec<Call> {
    seen(&connection(Transport::Udp, port), events, end).calls
}

fn converse(connection: &ConnectionInfo, events: &[Event], end: Close, rests: bool) -> Seen {
    let mut conversation = Conversation::default();
    let (mut output, mut problems, mut shared) =
        (Output::default(), Problems::default(), Shared::default());
    if connection.roles_known && connection.transport == Transport::Tcp {
        conversation.opened(Mark {
            time: Time(0),
            packet: PacketRef { file: 0, frame: 0 },
        });
    }
    let rest = |conversation: &mut Conversation| {
        if rests {
            let mut bytes = Vec::new();
            assert!(pack::pack(&conversation.rest(), &mut bytes));
            conversation.wake(pack::unpack(&bytes).expect("what was packed"));
        }
    };
    let (order, now) = tell(events, |d, (order, now), told| {
        rest(&mut conversation);
        let mut cx = Context {
            connection,
            output: &mut output,
            problems: &mut problems,
            shared: &mut shared,
            order,
            now,
        };
        match (told, connection.transport) {
            (Told::Chunk(chunk), Transport::Tcp) => conversation.data(&mut cx, d, &chunk),
            (Told::Chunk(chunk), Transport::Udp) => {
                conversation.datagram(&mut cx, d, &chunk, chunk.mark);
            }
            (Told::Gap(length), _) => conversation.gap(&mut cx, d, length),
        }
    });
    rest(&mut conversation);
    let mut cx = Context {
        connection,
        output: &mut output,
        problems: &mut problems,
        shared: &mut shared,
        order,
        now,
    };
    conversation.close(&mut cx, end);
    let waiting: i64 = output.outstanding.iter().map(weight).sum();
    assert_eq!(waiting, 0, "what was sent is settled in the end");
    Seen {
        calls: output.calls,
        outstanding: output.outstanding,
        problems,
    }
}

/// What a change adds to the number of outstanding calls.
pub(crate) fn weight(o: &Outstanding) -> i64 {
    match o.change {
        Change::Sent => 1,
        Change::Settled => -1,
        _ => 0,
    }
}

/// Frames of request first and last byte, response first and last byte.
pub(crate) fn frames(call: &Call) -> [Option<u32>; 4] {
    [
        call.request_first,
        call.request_last,
        call.response_first,
        call.response_last,
    ]
    .map(|mark| mark.map(|m| m.packet.frame))
}
