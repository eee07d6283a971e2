//! Conversations in literal bytes, whole and split at every byte.

use super::header::{HEADER, Header};
use crate::kit::{Bytes, DOWN, Event, Gap, UP, down, segments, up};
use model::{Close, Field, Outcome, Protocol, Reason};
use proptest::prelude::*;

const CREATE: u16 = 5;
const READ: u16 = 8;
const NOT_FOUND: u32 = 0xc000_0034;
const PENDING: u32 = 0x103;

/// A header ([MS-SMB2] 2.2.1) and a body behind it.
fn message(command: u16, id: u64, flags: u32, status: u32, next: u32, body: &[u8]) -> Vec<u8> {
    let mut bytes = b"\xfeSMB\x40\0\0\0".to_vec();
    bytes.extend(status.to_le_bytes());
    bytes.extend(command.to_le_bytes());
    bytes.extend([1, 0]);
    bytes.extend(flags.to_le_bytes());
    bytes.extend(next.to_le_bytes());
    bytes.extend(id.to_le_bytes());
    bytes.resize(HEADER, 0);
    bytes.extend_from_slice(body);
    bytes
}

fn framed(message: &[u8]) -> Vec<u8> {
    let mut all = (message.len() as u32).to_be_bytes().to_vec();
    all.extend_from_slice(message);
    all
}

/// The body of a CREATE for `a.ora`.
fn create() -> Vec<u8> {
    let name: Vec<u8> = "a.ora".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let mut body = vec![57, 0];
    body.resize(44, 0);
    body.extend((HEADER as u16 + 56).to_le_bytes());
    body.extend((name.len() as u16).to_le_bytes());
    body.resize(56, 0);
    body.extend(name);
    body
}

/// The body of a READ: 8 KiB at 4096.
fn read() -> Vec<u8> {
    let mut body = vec![49, 0, 0, 0];
    body.extend(8_192_u32.to_le_bytes());
    body.extend(4_096_u64.to_le_bytes());
    body.extend([7; 16]);
    body
}

fn of(events: &[Event]) -> Vec<model::Call> {
    segments(445, events, Close::Finished)
}

#[test]
fn a_header_is_64_bytes() {
    let bytes = message(READ, 9, 1, NOT_FOUND, 0, &[]);
    let header = Header::parse(&bytes).unwrap();
    assert_eq!((header.command, header.message_id), (READ, 9));
    assert!(header.response && !header.asynchronous);
    assert_eq!(header.status, NOT_FOUND);
    for end in 0..Header::READ {
        assert!(Header::parse(&bytes[..end]).is_none(), "{end} bytes");
    }
}

#[test]
fn a_file_that_is_not_there_is_found_missing_by_name() {
    let request = framed(&message(CREATE, 3, 0, 0, 0, &create()));
    let response = framed(&message(
        CREATE,
        3,
        1,
        NOT_FOUND,
        0,
        &[9, 0, 0, 0, 0, 0, 0, 0],
    ));
    let calls = of(&[up(&request), down(&response)]);
    assert_eq!(calls.len(), 1);
    let call = &calls[0];
    assert_eq!(
        (call.protocol, call.op.as_str()),
        (Protocol::Smb2, "CREATE")
    );
    assert_eq!(call.outcome, Outcome::Error("OBJECT_NAME_NOT_FOUND"));
    assert_eq!(call.text.as_deref(), Some("a.ora"));
    assert_eq!(call.response_time_ns(), Some(1_000_000));
}

#[test]
fn an_interim_response_is_not_the_answer() {
    let request = framed(&message(READ, 4, 0, 0, 0, &read()));
    let interim = framed(&message(READ, 4, 3, PENDING, 0, &[9, 0, 0, 0, 0, 0, 0, 0]));
    let answer = framed(&message(READ, 4, 3, 0, 0, &[17, 0, 80, 0, 0, 16, 0, 0]));
    let calls = of(&[up(&request), down(&interim), down(&answer)]);
    assert_eq!(calls.len(), 1);
    assert_eq!(calls[0].outcome, Outcome::Ok);
    assert_eq!(calls[0].response_time_ns(), Some(2_000_000));
    let get = |field| calls[0].detail.get(field);
    assert_eq!(
        (get(Field::Offset), get(Field::Count)),
        (Some(4_096), Some(8_192))
    );
    assert_eq!(get(Field::Returned), Some(4_096));
}

#[test]
fn requests_in_one_message_are_a_call_each() {
    let pad = |mut bytes: Vec<u8>| {
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        bytes
    };
    let chain = |first: Vec<u8>, second: Vec<u8>| {
        let mut first = pad(first);
        let next = first.len() as u32;
        first[20..24].copy_from_slice(&next.to_le_bytes());
        first.extend(second);
        framed(&first)
    };
    let request = chain(
        message(CREATE, 5, 0, 0, 0, &create()),
        message(READ, 6, 4, 0, 0, &read()),
    );
    let response = chain(
        message(CREATE, 5, 1, NOT_FOUND, 0, &[9, 0]),
        message(READ, 6, 5, 0xc000_0008, 0, &[9, 0]),
    );
    let calls = of(&[up(&request), down(&response)]);
    let seen: Vec<_> = calls
        .iter()
        .map(|c| (c.op.as_str(), c.id, c.outcome.name()))
        .collect();
    assert_eq!(
        seen,
        [
            ("CREATE", 5, "OBJECT_NAME_NOT_FOUND"),
            ("READ", 6, "INVALID_HANDLE")
        ]
    );
}

#[test]
fn smb_1_may_ask_for_smb_2_and_be_refused_it() {
    let mut ask = b"\xffSMB\x72".to_vec();
    ask.resize(32, 0);
    ask.extend(b"\0\x0b\0\x02SMB 2.???\0");
    let ask = framed(&ask);
    let granted = framed(&message(0, 0, 1, 0, 0, &[65, 0]));
    let calls = of(&[up(&ask), down(&granted)]);
    assert_eq!(calls.len(), 1);
    assert_eq!(
        (calls[0].op.as_str(), calls[0].outcome),
        ("NEGOTIATE", Outcome::Ok)
    );
    let mut refused = b"\xffSMB\x72\0\0\0\0\x80".to_vec();
    refused.resize(40, 0);
    let refused = framed(&refused);
    let calls = of(&[up(&ask), down(&refused)]);
    assert!(
        calls.iter().all(|c| c.protocol == Protocol::Tcp),
        "{calls:?}"
    );
}

#[test]
fn any_split_gives_the_same_calls() {
    let request = framed(&message(CREATE, 3, 0, 0, 0, &create()));
    let response = framed(&message(CREATE, 3, 1, 0, 0, &[0; 88]));
    for at in 1..response.len() {
        let (head, rest) = response.split_at(at);
        let calls = of(&[up(&request), down(head), down(rest)]);
        assert_eq!(calls.len(), 1, "at {at}");
        assert_eq!(calls[0].outcome, Outcome::Ok, "at {at}");
    }
}

#[test]
fn behind_a_hole_pairs_are_found_again_and_none_is_made_up() {
    let request = |id| framed(&message(READ, id, 0, 0, 0, &read()));
    let response = |id| framed(&message(READ, id, 1, 0, 0, &[17, 0, 80, 0, 0, 16, 0, 0]));
    let (r1, r2, a1, a2) = (request(1), request(2), response(1), response(2));
    let calls = of(&[up(&r1), Gap(DOWN, a1.len() as u64), up(&r2), down(&a2)]);
    let seen: Vec<_> = calls.iter().map(|c| (c.id, c.outcome)).collect();
    assert_eq!(
        seen,
        [
            (2, Outcome::Ok),
            (1, Outcome::NoResponse(Reason::CaptureGap))
        ]
    );
}

const CLOSE: u16 = 6;
const LOCK: u16 = 10;
const BREAK: u16 = 18;
const BATCH: u8 = 9;

/// A server's answer to a CREATE: this oplock, and the file's id.
fn opened(id: u64, level: u8) -> Vec<u8> {
    let mut body = vec![89, 0, level];
    body.resize(64, 0);
    body.extend([7; 16]);
    body.resize(88, 0);
    framed(&message(CREATE, id, 1, 0, 0, &body))
}

/// The body of a break and its acknowledgement, and of a CLOSE: the id stands at the same place.
fn about_file(structure: u8) -> Vec<u8> {
    [&[structure, 0, 1, 0, 0, 0, 0, 0][..], &[7; 16]].concat()
}

fn asks_back() -> Vec<u8> {
    framed(&message(BREAK, u64::MAX, 1, 0, 0, &about_file(24)))
}

/// What of a file that was opened with this oplock is asked back, and given back so.
fn given_back(level: u8, answer: &[u8]) -> Vec<model::Call> {
    let asked = framed(&message(CREATE, 3, 0, 0, 0, &create()));
    let calls = of(&[
        up(&asked),
        down(&opened(3, level)),
        down(&asks_back()),
        up(answer),
    ]);
    calls
        .into_iter()
        .filter(|c| c.protocol == Protocol::Smb2Callback)
        .collect()
}

#[test]
fn what_the_server_asks_back_is_a_call_of_its_own() {
    let acknowledged = framed(&message(BREAK, 4, 0, 0, 0, &about_file(24)));
    let closed = framed(&message(CLOSE, 4, 0, 0, 0, &about_file(24)));
    for answer in [&acknowledged, &closed] {
        let calls = given_back(BATCH, answer);
        assert_eq!(calls.len(), 1);
        let call = &calls[0];
        assert_eq!(
            (call.op.as_str(), call.outcome),
            ("OPLOCK_BREAK", Outcome::Ok)
        );
        assert_eq!(call.response_time_ns(), Some(1_000_000));
        // The server asks.
        assert_eq!(call.client.port, 445);
        assert!(call.detail.get(Field::File).is_some());
        // Others may read it as well: no answer is wanted.
        assert!(given_back(1, answer).is_empty());
    }
}

#[test]
fn a_lease_is_given_back_with_the_last_that_has_it() {
    // CREATE with the context "RqLs": its name at 16, its data at 24.
    let with_lease = |id: u64| {
        let mut body = create();
        body.resize(72, 0);
        let at = (HEADER + 72) as u32;
        body[48..52].copy_from_slice(&at.to_le_bytes());
        body[52..56].copy_from_slice(&40_u32.to_le_bytes());
        body.extend([0, 0, 0, 0, 16, 0, 4, 0, 0, 0, 24, 0, 16, 0, 0, 0]);
        body.extend(b"RqLs\0\0\0\0");
        body.extend([9; 16]);
        framed(&message(CREATE, id, 0, 0, 0, &body))
    };
    let breaks = |flags: u8| {
        let body = [&[44, 0, 0, 0, flags, 0, 0, 0][..], &[9; 16]].concat();
        framed(&message(BREAK, u64::MAX, 1, 0, 0, &body))
    };
    // Two files of the same lease.
    let opened = |id: u64, file: u8| {
        let mut answer = opened(id, 255);
        let at = answer.len() - 24;
        answer[at..at + 16].fill(file);
        answer
    };
    let closes = |id: u64, file: u8| {
        let body = [&[24, 0, 0, 0, 0, 0, 0, 0][..], &[file; 16]].concat();
        framed(&message(CLOSE, id, 0, 0, 0, &body))
    };
    let calls = |flags: u8, closed: &[u8]| {
        let mut events = vec![
            up(&with_lease(3)),
            down(&opened(3, 7)),
            up(&with_lease(4)),
            down(&opened(4, 8)),
            down(&breaks(flags)),
        ];
        let closed: Vec<_> = closed
            .iter()
            .zip(5..)
            .map(|(file, id)| closes(id, *file))
            .collect();
        events.extend(closed.iter().map(|c| up(c)));
        let calls = of(&events).into_iter();
        let mut back = calls.filter(|c| c.protocol == Protocol::Smb2Callback);
        (back.next().map(|c| c.outcome), back.count())
    };
    assert_eq!(calls(1, &[7, 8]), (Some(Outcome::Ok), 0));
    let kept = Outcome::NoResponse(Reason::NoAnswer);
    assert_eq!(calls(1, &[7]), (Some(kept), 0));
    // No answer is wanted.
    assert_eq!(calls(0, &[7, 8]), (None, 0));
}

#[test]
fn who_is_gone_gives_nothing_back() {
    let calls = given_back(BATCH, &[]);
    assert_eq!(calls.len(), 1);
    assert_eq!(calls[0].outcome, Outcome::NoResponse(Reason::NoAnswer));
}

#[test]
fn a_file_is_known_by_its_name_and_a_lock_by_what_it_does() {
    let lock = |id: u64, flags: u8| {
        let mut body = about_file(48);
        body.extend([
            5, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, flags, 0, 0, 0,
        ]);
        framed(&message(LOCK, id, 0, 0, 0, &body))
    };
    let done = |id| framed(&message(LOCK, id, 1, 0, 0, &[4, 0, 0, 0]));
    let later = framed(&message(LOCK, 4, 3, PENDING, 0, &[9, 0]));
    let asked = framed(&message(CREATE, 3, 0, 0, 0, &create()));
    let calls = of(&[
        up(&asked),
        down(&opened(3, 0)),
        up(&lock(4, 2)),
        down(&later),
        down(&done(4)),
        up(&lock(5, 4)),
        down(&done(5)),
    ]);
    let seen: Vec<_> = calls
        .iter()
        .map(|c| {
            let get = |field| c.detail.get(field);
            (
                c.op.as_str(),
                get(Field::Offset),
                get(Field::Count),
                get(Field::Pending),
            )
        })
        .collect();
    assert_eq!(
        seen,
        [
            ("CREATE", None, None, None),
            ("LOCK", Some(5), Some(1), Some(1)),
            ("UNLOCK", Some(5), Some(1), None)
        ]
    );
    let files: Vec<_> = calls.iter().map(|c| c.detail.get(Field::File)).collect();
    assert!(files[0].is_some() && files.iter().all(|f| *f == files[0]));
}

/// The numbers of files in a conversation of these messages.
fn files(messages: &[(bool, Vec<u8>)]) -> Vec<Option<u64>> {
    let events: Vec<_> = messages
        .iter()
        .map(|(is_up, m)| if *is_up { up(m) } else { down(m) })
        .collect();
    of(&events)
        .iter()
        .map(|c| c.detail.get(Field::File))
        .collect()
}

#[test]
fn what_is_related_to_a_create_works_on_its_file_and_what_closes_it_leaves_nothing() {
    let pad = |mut bytes: Vec<u8>| {
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        let next = (bytes.len() as u32).to_le_bytes();
        bytes[20..24].copy_from_slice(&next);
        bytes
    };
    let closes = [&[24, 0, 0, 0, 0, 0, 0, 0][..], &[255; 16]].concat();
    let mut request = pad(message(CREATE, 3, 0, 0, 0, &create()));
    request.extend(message(CLOSE, 4, 4, 0, 0, &closes));
    let mut body = vec![89, 0, BATCH];
    body.resize(64, 0);
    body.extend([7; 16]);
    body.resize(88, 0);
    let mut answer = pad(message(CREATE, 3, 1, 0, 0, &body));
    answer.extend(message(CLOSE, 4, 5, 0, 0, &[60, 0]));
    let seen = files(&[(true, framed(&request)), (false, framed(&answer))]);
    assert!(seen[0].is_some() && seen == [seen[0]; 2], "{seen:?}");
    // It is not open any more: nothing can be asked back.
    let calls = of(&[
        up(&framed(&request)),
        down(&framed(&answer)),
        down(&asks_back()),
    ]);
    assert!(calls.iter().all(|c| c.protocol == Protocol::Smb2));
}

#[test]
fn a_file_is_told_by_its_share_too_and_not_by_a_part_of_its_name() {
    const TREE_CONNECT: u16 = 3;
    let tree = |mut message: Vec<u8>, tree: u8| {
        message[36] = tree;
        message
    };
    let connects = |id: u64, to: u8, path: &str| {
        let path: Vec<u8> = path.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let mut body = vec![9, 0, 0, 0, HEADER as u8 + 8, 0, path.len() as u8, 0];
        body.extend(path);
        let request = framed(&message(TREE_CONNECT, id, 0, 0, 0, &body));
        let answer = framed(&tree(message(TREE_CONNECT, id, 1, 0, 0, &[16, 0]), to));
        [(true, request), (false, answer)]
    };
    let opens = |id: u64, on: u8| {
        let request = framed(&tree(message(CREATE, id, 0, 0, 0, &create()), on));
        [(true, request), (false, opened(id, 0))]
    };
    let all = [
        connects(1, 1, "\\\\srv\\ann"),
        connects(2, 2, "\\\\srv\\bob"),
        opens(3, 1),
        opens(4, 2),
        opens(5, 1),
    ];
    let seen = files(&all.concat());
    assert!(
        seen[2].is_some() && seen[2] == seen[4] && seen[2] != seen[3],
        "{seen:?}"
    );
    // The snap length cuts the name.
    let mut cut = message(CREATE, 3, 0, 0, 0, &create());
    cut[64 + 46] = 200;
    let seen = files(&[
        (true, framed(&cut)),
        (false, framed(&message(CREATE, 3, 1, NOT_FOUND, 0, &[9, 0]))),
    ]);
    assert_eq!(seen, [None]);
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(
        segments in prop::collection::vec((any::<bool>(), prop::collection::vec(any::<u8>(), 0..120)), 0..12),
    ) {
        let start = framed(&message(READ, 1, 0, 0, 0, &read()));
        let mut events = vec![up(&start)];
        events.extend(segments.iter().map(|(up, bytes)| Bytes(if *up { UP } else { DOWN }, bytes.clone())));
        of(&events);
    }

    #[test]
    fn damaged_messages_are_survived(at in 0usize..150, value in any::<u8>()) {
        let mut request = framed(&message(CREATE, 3, 0, 0, 0, &create()));
        if let Some(byte) = request.get_mut(at) {
            *byte = value;
        }
        let response = framed(&message(CREATE, 3, 1, 0, 0, &[0; 88]));
        of(&[up(&request), down(&response)]);
    }
}
