//! Messages of both sides in literal bytes.

use crate::kit::{Event, down, up};

pub(super) fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    let length = body.len() as u32 + 4;
    [&[tag][..], &length.to_be_bytes(), body].concat()
}

pub(super) fn query(text: &str) -> Vec<u8> {
    message(b'Q', format!("{text}\0").as_bytes())
}

pub(super) fn row(value: &str) -> Vec<u8> {
    let length = value.len() as u32;
    message(
        b'D',
        &[&[0, 1][..], &length.to_be_bytes(), value.as_bytes()].concat(),
    )
}

pub(super) fn description() -> Vec<u8> {
    message(
        b'T',
        b"\0\x01x\0\0\0\0\0\0\0\0\0\0\x17\0\x04\xff\xff\xff\xff\0\0",
    )
}

pub(super) fn complete(tag: &str) -> Vec<u8> {
    message(b'C', format!("{tag}\0").as_bytes())
}

pub(super) fn ready() -> Vec<u8> {
    message(b'Z', b"I")
}

pub(super) fn error(code: &str) -> Vec<u8> {
    message(b'E', format!("SERROR\0VERROR\0C{code}\0Mno\0\0").as_bytes())
}

pub(super) fn answer(n: usize) -> Vec<u8> {
    let rows: Vec<u8> = (0..n).flat_map(|i| row(&format!("value {i}"))).collect();
    [
        description(),
        rows,
        complete(&format!("SELECT {n}")),
        ready(),
    ]
    .concat()
}

pub(super) fn parse(name: &str, text: &str) -> Vec<u8> {
    message(b'P', format!("{name}\0{text}\0\0\0").as_bytes())
}

pub(super) fn bind(portal: &str, name: &str) -> Vec<u8> {
    message(b'B', format!("{portal}\0{name}\0\0\0\0\0\0\0").as_bytes())
}

pub(super) fn execute(portal: &str, rows: u8) -> Vec<u8> {
    message(b'E', &[portal.as_bytes(), &[0, 0, 0, 0, rows]].concat())
}

pub(super) fn sync() -> Vec<u8> {
    message(b'S', b"")
}

pub(super) fn startup() -> Event {
    let body = b"\0\x03\0\0user\0ann\0database\0shop\0application_name\0app\0\0";
    let length = body.len() as u32 + 4;
    up(&[&length.to_be_bytes()[..], body].concat())
}

pub(super) fn welcome() -> Event {
    let version = message(b'S', b"server_version\x0015.4\0");
    down(
        &[
            message(b'R', &[0; 4]),
            version,
            message(b'K', &[1; 8]),
            ready(),
        ]
        .concat(),
    )
}

/// Startup and its answer, then these.
pub(super) fn logged_on(events: &[Event]) -> Vec<Event> {
    [&[startup(), welcome()], events].concat()
}
