//! Handshakes in literal bytes.

use super::*;
use crate::kit::{self, Bytes, DOWN, Event, Told, UP, down, tell, up};
use model::Reason;
use proptest::prelude::*;

/// A record with a handshake message.
fn record_of(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![22, 3, 1];
    bytes.extend((body.len() as u16 + 4).to_be_bytes());
    bytes.extend([kind, 0]);
    bytes.extend((body.len() as u16).to_be_bytes());
    bytes.extend_from_slice(body);
    bytes
}

/// Version 1.2, random bytes, no session, and the rest.
fn hello(kind: u8, rest: &[u8]) -> Vec<u8> {
    let mut body = vec![3, 3];
    body.extend([7; 32]);
    body.push(0);
    body.extend_from_slice(rest);
    record_of(kind, &body)
}

fn client_hello() -> Vec<u8> {
    let mut rest = vec![0, 2, 0x13, 0x01, 1, 0]; // ciphers, compressions
    let name = b"db.example.com";
    rest.extend([0, 27, 0, 43, 0, 5, 4, 3, 4, 3, 3]); // extensions, supported versions
    rest.extend([
        0,
        0,
        0,
        name.len() as u8 + 5,
        0,
        name.len() as u8 + 3,
        0,
        0,
        name.len() as u8,
    ]);
    rest.extend(name);
    hello(1, &rest)
}

fn server_hello() -> Vec<u8> {
    hello(2, &[0x13, 0x01, 0, 0, 6, 0, 43, 0, 2, 3, 4])
}

fn calls(events: &[Event]) -> Vec<Call> {
    let mut handshakes = Handshakes::default();
    let connection = kit::opened(443);
    let between = (connection.id, connection.client, connection.server);
    let mut calls = Vec::new();
    let (order, _) = tell(events, |d, _, told| {
        if let Told::Chunk(chunk) = told {
            calls.extend(handshakes.data(between, d, &chunk));
        }
    });
    calls.extend(handshakes.close(between, order, Close::EndOfCapture));
    calls
}

#[test]
fn a_hello_names_the_server_and_the_version() {
    let hello = ClientHello::parse(&client_hello());
    assert_eq!(hello.unwrap().name.as_deref(), Some("db.example.com"));
    assert_eq!(ServerHello::parse(&server_hello()).unwrap().version, 0x0304);
    assert!(ClientHello::parse(&server_hello()).is_none());
    // Cut within the name, the name is not known.
    let whole = client_hello();
    assert_eq!(
        ClientHello::parse(&whole[..whole.len() - 1]).unwrap().name,
        None
    );
}

#[test]
fn a_handshake_ends_with_what_the_server_said_before_the_first_data() {
    let (client, server) = (client_hello(), server_hello());
    let more = [23, 3, 3, 0, 1, 9];
    let finished = [20, 3, 3, 0, 1, 1, 23, 3, 3, 0, 1, 9];
    let calls = calls(&[
        up(b"\0\0\0\x08\x04\xd2\x16\x2f"),
        down(b"S"),
        up(&client),
        down(&server),
        down(&more),
        up(&finished),
    ]);
    assert_eq!(calls.len(), 1);
    let call = &calls[0];
    assert_eq!(
        (call.outcome, call.text.as_deref()),
        (Outcome::Ok, Some("db.example.com"))
    );
    assert_eq!(call.response_time_ns(), Some(2_000_000));
    assert_eq!(call.detail.get(Field::Version), Some(0x0304));
}

#[test]
fn a_handshake_may_fail_or_get_no_answer() {
    let client = client_hello();
    let failed = calls(&[up(&client), down(&[21, 3, 3, 0, 2, 2, 40])]);
    assert_eq!(failed[0].outcome, Outcome::Error("alert"));
    let silent = calls(&[up(&client)]);
    assert_eq!(silent[0].outcome, Outcome::NoResponse(Reason::AfterCapture));
    assert!(calls(&[up(b"GET / HTTP/1.1\r\n"), down(b"HTTP/1.1 200 OK\r\n")]).is_empty());
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(
        segments in prop::collection::vec((any::<bool>(), prop::collection::vec(any::<u8>(), 0..60)), 0..8),
        cut in 0usize..90,
    ) {
        let hello = client_hello();
        let mut events = vec![up(&hello[..cut.min(hello.len())])];
        events.extend(segments.iter().map(|(is_up, bytes)| Bytes(if *is_up { UP } else { DOWN }, bytes.clone())));
        calls(&events);
    }
}
