//! Conversations packet by packet: whole, split at every byte, cut, with holes, and joined late.

mod calls;
mod holes;
mod properties;

use crate::kit::{self, Bytes, Cut, DOWN, Event, Gap, Seen, UP, down, frames, up};
use model::{Call, Close, Field};

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

/// Of a connection whose handshake was seen.
fn seen(events: &[Event], end: Close) -> Seen {
    kit::seen(&kit::opened(3_306), events, end)
}

/// The same, joined in mid-connection.
fn joined(events: &[Event], end: Close) -> Seen {
    kit::seen(&kit::joined(3_306), events, end)
}

/// Operation, outcome, and frames of request first and last byte, response first and last byte.
type Summary = (String, String, [Option<u32>; 4]);

fn summary(call: &Call) -> Summary {
    let outcome = match call.outcome.reason() {
        Some(reason) => format!("{} {}", call.outcome.name(), reason.name()),
        None => call.outcome.name().to_owned(),
    };
    (call.op.to_string(), outcome, frames(call))
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
