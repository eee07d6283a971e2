//! Conversations packet by packet: whole, split at every byte, cut, with holes, and joined late.

mod calls;
mod holes;
mod properties;

use crate::{ConnectionInfo, Context, Conversation, Output, Shared};
use model::{
    Call, Change, Chunk, Close, ConnectionId, Direction, Endpoint, Field, Mark, PacketRef,
    Problems, Time, Transport,
};

const UP: Direction = Direction::ToServer;
const DOWN: Direction = Direction::ToClient;

/// What a connection carries, in order.
#[derive(Clone, Debug)]
enum Event {
    Bytes(Direction, Vec<u8>),
    /// Bytes of a segment of which so many more were cut off.
    Cut(Direction, Vec<u8>, u32),
    Gap(Direction, u64),
}
use Event::{Bytes, Cut, Gap};

fn up(bytes: &[u8]) -> Event {
    Bytes(UP, bytes.to_vec())
}

fn down(bytes: &[u8]) -> Event {
    Bytes(DOWN, bytes.to_vec())
}

/// Payloads into packets, numbered from `sequence` on.
fn packets(sequence: u8, payloads: &[&[u8]]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (n, payload) in payloads.iter().enumerate() {
        bytes.extend_from_slice(&(payload.len() as u32).to_le_bytes()[..3]);
        bytes.push(sequence.wrapping_add(n as u8));
        bytes.extend_from_slice(payload);
    }
    bytes
}

fn command(code: u8, rest: &[u8]) -> Vec<u8> {
    packets(0, &[&[&[code], rest].concat()])
}

fn query(text: &str) -> Vec<u8> {
    command(3, text.as_bytes())
}

const OK: &[u8] = &[0, 0, 0, 2, 0, 0, 0];
const EOF: &[u8] = &[0xfe, 0, 0, 2, 0];
const DEFINITION: &[u8] = b"\x03def\0\0\0\x01a\0\x0c\x3f\0\x01\0\0\0\x08\x81\0\0\0\0";

fn ok() -> Vec<u8> {
    packets(1, &[OK])
}

fn error() -> Vec<u8> {
    packets(1, &[b"\xff\x7a\x04#42S02Table 'x' doesn't exist"])
}

/// A result set of one column, with so many rows of `1`.
fn result(rows: usize) -> Vec<u8> {
    let mut payloads = vec![&[1][..], DEFINITION, EOF];
    payloads.extend(std::iter::repeat_n(&b"\x011"[..], rows));
    payloads.push(EOF);
    packets(1, &payloads)
}

/// What was found of one connection.
struct Seen {
    calls: Vec<Call>,
    problems: Problems,
}

/// A connection whose handshake was seen; event n, counted from 1, is frame n and comes at n
/// milliseconds.
fn seen(events: &[Event], end: Close) -> Seen {
    play(events, end, true)
}

/// The same, joined in mid-connection.
fn joined(events: &[Event], end: Close) -> Seen {
    play(events, end, false)
}

fn play(events: &[Event], end: Close, opened: bool) -> Seen {
    let endpoint = |host, port| Endpoint {
        address: [10, 0, 0, host].into(),
        port,
    };
    let connection = ConnectionInfo {
        id: ConnectionId(0),
        transport: Transport::Tcp,
        client: endpoint(1, 50_000),
        server: endpoint(2, 3_306),
        roles_known: opened,
    };
    let mut conversation = Conversation::default();
    let (mut output, mut problems, mut shared) =
        (Output::default(), Problems::default(), Shared::default());
    let mut sequences = [1_000, 2_000];
    let mark = |order: u64| Mark {
        time: Time(order as i64 * 1_000_000),
        packet: PacketRef {
            file: 0,
            frame: order as u32,
        },
    };
    if opened {
        conversation.opened(mark(0));
    }
    let mut order = 0;
    for event in events.iter().map(Some).chain([None]) {
        order += 1;
        let mut cx = Context {
            connection: &connection,
            output: &mut output,
            problems: &mut problems,
            shared: &mut shared,
            order,
            now: mark(order).time,
        };
        let mut feed = |d: Direction, data: &[u8], cut| {
            let sequence = &mut sequences[d.index()];
            let chunk = Chunk {
                data,
                cut,
                mark: mark(order),
                sequence: *sequence,
                order,
                now: mark(order).time,
                held_since: None,
                heard_all: true,
            };
            *sequence += data.len() as u32 + cut;
            conversation.data(&mut cx, d, &chunk);
        };
        match event {
            Some(Bytes(d, data)) => feed(*d, data, 0),
            Some(Cut(d, data, cut)) => feed(*d, data, *cut),
            Some(Gap(d, length)) => {
                sequences[d.index()] += *length as u32;
                conversation.gap(&mut cx, *d, *length);
            }
            None => conversation.close(&mut cx, end),
        }
    }
    let waiting: i64 = output
        .outstanding
        .iter()
        .map(|o| match o.change {
            Change::Sent => 1,
            Change::Settled => -1,
            Change::Stray | Change::Spoke => 0,
        })
        .sum();
    assert_eq!(waiting, 0, "what was sent is settled in the end");
    Seen {
        calls: output.calls,
        problems,
    }
}

/// Operation, outcome, and frames of request first and last byte, response first and last byte.
type Summary = (String, String, [Option<u32>; 4]);

fn summary(call: &Call) -> Summary {
    let frames = [
        call.request_first,
        call.request_last,
        call.response_first,
        call.response_last,
    ];
    let outcome = match call.outcome.reason() {
        Some(reason) => format!("{} {}", call.outcome.name(), reason.name()),
        None => call.outcome.name().to_owned(),
    };
    (
        call.op.to_string(),
        outcome,
        frames.map(|mark| mark.map(|m| m.packet.frame)),
    )
}

fn summaries(calls: &[Call]) -> Vec<Summary> {
    calls.iter().map(summary).collect()
}

fn expected(op: &str, outcome: &str, frames: [u32; 4]) -> Summary {
    let frames = frames.map(|f| (f > 0).then_some(f));
    (op.to_owned(), outcome.to_owned(), frames)
}

fn rows(call: &Call) -> Option<u64> {
    call.detail.get(Field::Rows)
}

fn text(call: &Call) -> Option<&str> {
    Some(&call.sql.as_ref()?.statement.as_ref()?.text)
}
