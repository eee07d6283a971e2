//! Conversations in literal words, and the calls that come of them.

mod framing;
mod halves;
mod hidden;
mod pairing;
mod properties;
mod protection;

use crate::kit::{DOWN, UP, chunk, connection, endpoint, weight};
use crate::{ConnectionInfo, Context, Conversation, Output, Shared};
use model::{Call, Change, Close, ConnectionId, Direction, Outstanding, Problems, Time, Transport};

const MS: i64 = 1_000_000;
const NFS: u32 = 100_003;
const READ: u32 = 6;

/// What one thread sees of some connections of one client to one server.
struct Wire {
    connections: Vec<(ConnectionInfo, Conversation)>,
    shared: Shared,
    output: Output,
    problems: Problems,
    order: u64,
    sequence: u32,
}

impl Wire {
    fn new() -> Wire {
        Wire {
            connections: Vec::new(),
            shared: Shared::default(),
            output: Output::default(),
            problems: Problems::default(),
            order: 0,
            sequence: 1,
        }
    }

    /// One TCP connection to port 2049.
    fn tcp() -> Wire {
        let mut wire = Wire::new();
        wire.open(Transport::Tcp, 2049);
        wire
    }

    fn open(&mut self, transport: Transport, port: u16) -> usize {
        let id = self.connections.len();
        let mut info = ConnectionInfo {
            id: ConnectionId(id as u64),
            ..connection(transport, port)
        };
        info.client.port = 700 + id as u16;
        self.connections.push((info, Conversation::default()));
        id
    }

    fn with(&mut self, id: usize, now: Time, f: impl FnOnce(&mut Context<'_>, &mut Conversation)) {
        let (info, conversation) = &mut self.connections[id];
        self.order += 1;
        let mut cx = Context {
            connection: info,
            output: &mut self.output,
            problems: &mut self.problems,
            shared: &mut self.shared,
            order: self.order,
            now,
        };
        f(&mut cx, conversation);
    }

    /// One packet at `ms` milliseconds, with `cut` bytes not captured. Its frame number is the count
    /// of packets, gaps and closes so far.
    fn packet(&mut self, id: usize, d: Direction, ms: i64, data: &[u8], cut: u32) {
        let (now, order) = (Time(ms * MS), self.order + 1);
        let sequence = self.sequence;
        self.sequence += data.len() as u32 + cut;
        self.with(id, now, |cx, conversation| {
            let chunk = chunk(data, cut, (order, now), sequence);
            match cx.connection.transport {
                Transport::Tcp => conversation.data(cx, d, &chunk),
                Transport::Udp => conversation.datagram(cx, d, &chunk, chunk.mark),
            }
        });
    }

    fn send(&mut self, d: Direction, ms: i64, data: &[u8]) {
        self.packet(0, d, ms, data, 0);
    }

    fn gap(&mut self, d: Direction, ms: i64, length: u64) {
        self.with(0, Time(ms * MS), |cx, c| c.gap(cx, d, length));
    }

    fn close(&mut self, id: usize, ms: i64, why: Close) {
        self.with(id, Time(ms * MS), |cx, c| c.close(cx, why));
    }

    /// The capture ends; all calls.
    fn end(mut self, ms: i64) -> Vec<Call> {
        for id in 0..self.connections.len() {
            self.close(id, ms, Close::EndOfCapture);
        }
        self.shared.finish(&mut self.output, u64::MAX);
        self.output.calls
    }

    fn problem(&self, kind: &str) -> u64 {
        let found = self.problems.iter().find(|(k, _)| *k == kind);
        found.map_or(0, |(_, p)| p.count)
    }
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|w| w.to_be_bytes()).collect()
}

/// A record of one fragment (RFC 5531 section 11).
fn record(message: &[u8]) -> Vec<u8> {
    [&words(&[0x8000_0000 | message.len() as u32]), message].concat()
}

/// A call without credentials.
fn call(xid: u32, program: u32, version: u32, procedure: u32, arguments: &[u32]) -> Vec<u8> {
    let header = [xid, 0, 2, program, version, procedure, 0, 0, 0, 0];
    words(&[&header, arguments].concat())
}

/// NFSv3 READ of 8 KiB at `offset` of the file with the 4-byte handle 0xfeed.
fn read_call(xid: u32, offset: u32) -> Vec<u8> {
    call(xid, NFS, 3, READ, &[4, 0xfeed, 0, offset, 8192])
}

/// NFSv3 READ reply without attributes: status, no attributes, count, eof, data of `length` bytes.
fn read_reply(xid: u32, length: u32) -> Vec<u8> {
    let mut reply = words(&[xid, 1, 0, 0, 0, 0, 0, 0, length, 1, length]);
    reply.resize(reply.len() + length as usize, 0xdd);
    reply
}

/// An accepted reply with an empty verifier.
fn reply(xid: u32, results: &[u32]) -> Vec<u8> {
    words(&[&[xid, 1, 0, 0, 0, 0], results].concat())
}

/// Times in milliseconds: request first and last byte, response first and last byte.
fn times(call: &Call) -> [Option<i64>; 4] {
    let marks = [
        call.request_first,
        call.request_last,
        call.response_first,
        call.response_last,
    ];
    marks.map(|m| m.map(|m| m.time.0 / MS))
}

fn ids(calls: &[Call]) -> Vec<u32> {
    calls.iter().map(|c| c.id).collect()
}
