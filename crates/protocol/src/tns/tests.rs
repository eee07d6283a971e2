//! Conversations, whole and joined in the middle.

mod big_endian;
mod holes;
mod purpose;

use crate::kit::{self, Bytes, Cut, DOWN, Event, Gap, Seen, UP, frames};
use model::{Call, Close, Field, Found, Hidden, Outcome, Protocol, Reason, sql::op};

/// Bytes in the notation of these tests: `00*3` is three of them, and `'text'` its characters.
pub(super) fn hex(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        if let Some(quoted) = rest.strip_prefix('\'') {
            let (text, behind) = quoted.split_once('\'').expect("a closing quote");
            bytes.extend(text.bytes());
            rest = behind.trim_start();
            continue;
        }
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        let (word, behind) = rest.split_at(end);
        let (byte, times) = word.split_once('*').unwrap_or((word, "1"));
        let byte = u8::from_str_radix(byte, 16).expect("two digits");
        bytes.extend(vec![byte; times.parse().expect("a number")]);
        rest = behind.trim_start();
    }
    bytes
}

/// A packet with a short header.
fn short(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = (8 + body.len()) as u16;
    let mut packet = length.to_be_bytes().to_vec();
    packet.extend([0, 0, kind, 0, 0, 0]);
    packet.extend(body);
    packet
}

/// A packet with a long header.
fn long(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = (8 + body.len()) as u32;
    let mut packet = length.to_be_bytes().to_vec();
    packet.extend([kind, 0x20, 0, 0]);
    packet.extend(body);
    packet
}

/// The form of a connection's DATA packets.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    Short,
    Long,
}

fn flagged(form: Form, flags: u16, payload: &[u8]) -> Vec<u8> {
    let body = [&flags.to_be_bytes()[..], payload].concat();
    match form {
        Form::Short => short(6, &body),
        Form::Long => long(6, &body),
    }
}

fn data(form: Form, payload: &str) -> Vec<u8> {
    flagged(form, 0, &hex(payload))
}

fn marker(form: Form, what: u8) -> Vec<u8> {
    match form {
        Form::Short => short(12, &[1, 0, what]),
        Form::Long => long(12, &[1, 0, what]),
    }
}

const DESCRIPTOR: &str = "(DESCRIPTION=(ADDRESS=(PROTOCOL=TCP)(HOST=db1)(PORT=1521))\
    (CONNECT_DATA=(SERVICE_NAME=orders)(CID=(PROGRAM=app)(HOST=web7)(USER=svc))))";

/// A CONNECT that offers `version` and SDU 8192.
fn connect(version: u16, text: &str) -> Vec<u8> {
    let mut body = version.to_be_bytes().to_vec();
    body.extend(hex("01 2c 0c 41 20 00 ff ff 7f 08 00 00 01 00"));
    body.extend((text.len() as u16).to_be_bytes());
    body.extend(hex("00 3a 00 00 08 00 41 41 00*24"));
    assert_eq!(body.len(), 50);
    body.extend(text.bytes());
    short(1, &body)
}

/// An ACCEPT of `version`: SDU 8192 and TDU 65535, or 2 MiB.
fn accept(version: u16) -> Vec<u8> {
    let mut body = version.to_be_bytes().to_vec();
    if version < 315 {
        body.extend(hex("08 41 20 00 ff ff 01 00 00 00 00 20 41 41 00*8"));
    } else {
        body.extend(hex(
            "0c 41 00*4 01 00 00 00 00 29 41 41 00*8 00 00 20 00 00 20 00 00 00",
        ));
    }
    short(2, &body)
}

const EXECUTE: &str = "03 5e 04 02 80 21 00 01 01 12 01 01 0d 00 00 04 ff*4 01 0a 04 7f ff*3 \
     00*11 01 00*8 'select a from t999' 01 01 00*6 01 01 00 02 80 00*4";

/// A universal error block: rows, error, request's number; cursor 1, a query.
fn block(call: u8, rows: u8, end: bool) -> String {
    let (error, text) = match end {
        true => ("02 05 7b", "19 'ORA-01403: no data found' 0a"),
        false => ("00", ""),
    };
    let rows = match rows {
        0 => "00".to_owned(),
        n => format!("01 {n:02x}"),
    };
    format!(
        "04 01 01 01 {call:02x} {rows} {error} 00 00 01 01 00 03 00*12 {call:02x} 00 01 01 00*4 \
         {error} {rows} {text}"
    )
}

/// Rows of one column, `n` of them, and the block behind.
fn rows(call: u8, n: u8, total: u8, end: bool) -> String {
    let row = "07 04 'DATA' ".repeat(n.into());
    format!(
        "06 02 01 01 00 01 0a 00*3 {row} {}",
        block(call, total, end)
    )
}

fn run(events: &[Event], end: Close, opened: bool) -> Seen {
    let connection = if opened { kit::opened } else { kit::joined };
    kit::seen(&connection(1_521), events, end)
}

fn calls(events: &[Event]) -> Vec<Call> {
    run(events, Close::Finished, true).calls
}

fn ops(calls: &[Call]) -> Vec<&str> {
    calls.iter().map(|c| c.op.as_str()).collect()
}

fn text(call: &Call) -> Option<&str> {
    let statement = call.sql.as_ref()?.statement.as_ref()?;
    Some(&statement.text)
}

/// Connected, and a query of 25 rows fetched by 10.
fn session(form: Form) -> Vec<Event> {
    let version = match form {
        Form::Short => 314,
        Form::Long => 315,
    };
    vec![
        Bytes(UP, connect(version, DESCRIPTOR)),
        Bytes(DOWN, short(11, &[])),
        Bytes(UP, connect(version, DESCRIPTOR)),
        Bytes(DOWN, accept(version)),
        Bytes(UP, data(form, EXECUTE)),
        Bytes(DOWN, data(form, &rows(4, 10, 10, false))),
        Bytes(UP, data(form, "03 05 05 01 01 01 0a")),
        Bytes(DOWN, data(form, &rows(5, 10, 20, false))),
        Bytes(UP, data(form, "03 05 06 01 01 01 0a")),
        Bytes(DOWN, data(form, &rows(6, 5, 25, true))),
        Bytes(UP, data(form, "11 69 07 01 01 01 01 01 03 0e 08")),
        Bytes(DOWN, data(form, "09 01 01 01 08")),
        Bytes(UP, data(form, "03 05 09 01 01 01 0a")),
        Bytes(DOWN, data(form, "09 01 01 01 09")),
        Bytes(UP, data(form, "03 09 0a")),
        Bytes(DOWN, data(form, "09 01 01 01 0a")),
        Bytes(UP, flagged(form, 0x40, &[])),
    ]
}

const SESSION_OPS: [&str; 8] = [
    "CONNECT", "CONNECT", "EXECUTE", "FETCH", "FETCH", "COMMIT", "FETCH", "LOGOFF",
];

#[test]
fn a_session_is_a_call_for_each_round_trip() {
    for form in [Form::Short, Form::Long] {
        let calls = calls(&session(form));
        assert_eq!(ops(&calls), SESSION_OPS);
        let all = calls.iter();
        assert!(
            all.clone()
                .all(|c| c.protocol == Protocol::Tns && c.outcome == Outcome::Ok)
        );
        for (call, first) in calls.iter().zip([1, 3, 5, 7, 9, 11, 13, 15]) {
            let both = [first, first, first + 1, first + 1].map(Some);
            assert_eq!(frames(call), both);
        }
        let query = "select a from t999";
        let texts: Vec<_> = calls[2..5].iter().map(text).collect();
        assert_eq!(
            texts,
            [Some(query); 3],
            "fetches carry the cursor's statement"
        );
        assert_eq!(text(&calls[6]), None, "the cursor was closed");
        let rows: Vec<_> = calls[2..5]
            .iter()
            .map(|c| [Field::RowsAsked, Field::Rows, Field::Eof].map(|f| c.detail.get(f)))
            .collect();
        assert_eq!(
            rows,
            [
                [Some(10), Some(10), None],
                [Some(10), Some(10), None],
                [Some(10), Some(5), Some(1)]
            ]
        );
        let sql = calls[2].sql.as_ref().unwrap();
        assert_eq!(sql.statement.as_ref().unwrap().found, Found::Structured);
        let s = &sql.session;
        assert_eq!(s.database.as_deref(), Some("orders"));
        assert_eq!(s.program.as_deref(), Some("app"));
        assert_eq!(s.client_host.as_deref(), Some("web7"));
        assert_eq!(s.client_user.as_deref(), Some("svc"));
        assert_eq!(
            (s.sdu_bytes, s.sdu_offered_bytes),
            (Some(8_192), Some(8_192))
        );
        assert!(!s.unproven && s.hidden.is_none());
    }
}

#[test]
fn sessions_of_later_versions_are_said_to_be_unproven() {
    let mut events = session(Form::Long);
    events[3] = Bytes(DOWN, accept(318));
    let calls = calls(&events);
    assert_eq!(ops(&calls), SESSION_OPS);
    assert!(calls[2].sql.as_ref().unwrap().session.unproven);
}

#[test]
fn breaks_and_resets_belong_to_the_call_they_interrupt() {
    for form in [Form::Short, Form::Long] {
        let mut events = session(form)[..5].to_vec();
        let both = [marker(form, 1), marker(form, 2)].concat();
        events.extend([
            Bytes(DOWN, both),
            Bytes(UP, marker(form, 2)),
            Bytes(
                DOWN,
                data(
                    form,
                    "04 01 01 01 04 00 02 03 ae 00 00 01 01 01 0e 03 00*12 04 00 01 01 00*4 \
                     02 03 ae 00 28 'ORA-00942: table or view does not exist' 0a",
                ),
            ),
            Bytes(UP, data(form, "03 0f 05")),
            Bytes(DOWN, data(form, "09 01 01 01 05")),
        ]);
        let calls = calls(&events);
        assert_eq!(ops(&calls), ["CONNECT", "CONNECT", "EXECUTE", "ROLLBACK"]);
        let failed = &calls[2];
        assert_eq!(failed.outcome.name(), "ORA-00942");
        assert_eq!(frames(failed), [Some(5), Some(5), Some(6), Some(8)]);
        assert_eq!(failed.detail.get(Field::InnerTrips), Some(1));
        // From the markers to the reset, and from there to the error: an event of the kit a step.
        let times = [failed.response_first, failed.response_last].map(|m| m.expect("seen").time);
        let (asked, answered) = (failed.inner().client_ns, failed.inner().server_ns);
        assert!(asked > 0 && answered > 0, "{:?}", failed.inner());
        assert_eq!(asked + answered, times[1] - times[0]);
    }
}

#[test]
fn an_interrupt_is_a_byte_between_packets() {
    let mut events = session(Form::Short)[..5].to_vec();
    events.extend([
        Bytes(UP, [b"!".to_vec(), marker(Form::Short, 3)].concat()),
        Bytes(DOWN, marker(Form::Short, 2)),
        Bytes(UP, marker(Form::Short, 2)),
        Bytes(
            DOWN,
            data(
                Form::Short,
                "04 01 01 01 04 00 02 03 f5 00 00 01 01 00 03 00*12 04 00 01 01 00*4 \
                 02 03 f5 00 36 'ORA-01013: user requested cancel of current operation' 0a",
            ),
        ),
    ]);
    let calls = calls(&events);
    assert_eq!(calls[2].outcome.name(), "ORA-01013");
    assert_eq!(calls[2].detail.get(Field::InnerTrips), Some(1));
}

#[test]
fn a_refusal_is_an_outcome() {
    let refusal = "(DESCRIPTION=(TMP=)(VSNNUM=186647552)(ERR=12514)\
        (ERROR_STACK=(ERROR=(CODE=12514)(EMFI=4))))";
    let whole = [hex("22 00 00 5e"), refusal.as_bytes().to_vec()].concat();
    let apart = [
        short(4, &hex("22 00 00 5e")),
        flagged(Form::Short, 0, refusal.as_bytes()),
    ]
    .concat();
    for answer in [short(4, &whole), apart] {
        let events = [Bytes(UP, connect(314, DESCRIPTOR)), Bytes(DOWN, answer)];
        let calls = calls(&events);
        assert_eq!(calls.len(), 1);
        assert_eq!(
            (calls[0].op.as_str(), calls[0].outcome.name()),
            ("CONNECT", "ORA-12514")
        );
    }
}

#[test]
fn a_redirection_says_where_to() {
    let address = "(ADDRESS=(PROTOCOL=tcp)(HOST=192.168.0.4)(PORT=2143))";
    let body = [hex("00 35"), address.as_bytes().to_vec()].concat();
    let events = [
        Bytes(UP, connect(314, DESCRIPTOR)),
        Bytes(DOWN, short(5, &body)),
    ];
    let Seen {
        calls, problems, ..
    } = run(&events, Close::Finished, true);
    assert_eq!(calls[0].outcome, Outcome::Ok);
    assert_eq!(calls[0].detail.get(Field::Redirected), Some(1));
    let (kind, note) = problems.iter().next().unwrap();
    assert_eq!(kind, "redirected-connections");
    assert_eq!(
        note.example,
        "10.0.0.2:1521 sent 10.0.0.1:40000 on to 192.168.0.4:2143"
    );
}

#[test]
fn a_long_descriptor_comes_in_a_packet_of_its_own() {
    let text = DESCRIPTOR.replace("orders", &"o".repeat(200));
    let mut head = connect(314, &text);
    head.truncate(58);
    head[0..2].copy_from_slice(&58_u16.to_be_bytes());
    let events = [
        Bytes(UP, head),
        Bytes(UP, flagged(Form::Short, 0, text.as_bytes())),
        Bytes(DOWN, accept(314)),
    ];
    let calls = calls(&events);
    assert_eq!(frames(&calls[0]), [Some(1), Some(2), Some(3), Some(3)]);
    let database = calls[0].sql.as_ref().unwrap().session.database.clone();
    assert_eq!(database.unwrap().len(), 200);
}

#[test]
fn the_listener_s_own_business_is_no_session() {
    let events = [
        Bytes(
            UP,
            connect(314, "(CONNECT_DATA=(COMMAND=status)(VERSION=1))"),
        ),
        Bytes(DOWN, accept(314)),
    ];
    let calls = calls(&events);
    assert!(calls.iter().all(|c| c.protocol == Protocol::Tcp));
}

/// The server's answer to the negotiation of services.
fn services(cipher: u8, hash: u8) -> String {
    format!(
        "de ad be ef 00 33 00*4 00 02 00 00 02 00 02 00*4 00 04 00 05 0c 10 02 00 00 01 00 02 \
         {cipher:02x} 00 03 00 02 00*4 00 04 00 05 0c 10 02 00 00 01 00 02 {hash:02x}"
    )
}

#[test]
fn encrypted_sessions_have_times_alone() {
    for (cipher, hidden) in [(17, Hidden::NativeEncryption), (21, Hidden::Tls)] {
        let mut events = session(Form::Long);
        let negotiation = [
            Bytes(UP, data(Form::Long, &services(0, 0))),
            Bytes(DOWN, data(Form::Long, &services(cipher, 1))),
        ];
        events.splice(4..4, negotiation);
        let calls = calls(&events);
        assert_eq!(ops(&calls)[..3], ["CONNECT", "CONNECT", "NEGOTIATE"]);
        assert!(ops(&calls)[3..].iter().all(|&op| op == "TURN"));
        assert_eq!(calls.len(), 9);
        let session = &calls[4].sql.as_ref().unwrap().session;
        assert_eq!(session.hidden, Some(hidden));
        let name = if cipher == 17 { "AES256" } else { "TLS" };
        assert_eq!(
            (session.cipher, session.checksum),
            (Some(name), Some("MD5"))
        );
        assert_eq!(session.database.as_deref(), Some("orders"));
        assert!(calls.iter().all(|c| text(c).is_none()));
    }
}

#[test]
fn what_is_only_protected_is_read() {
    let mut events = session(Form::Long);
    for event in &mut events[4..16] {
        let Bytes(_, packet) = event else { continue };
        packet.extend([0x5a; 17]);
        let length = packet.len() as u32;
        packet[..4].copy_from_slice(&length.to_be_bytes());
    }
    let negotiation = [
        Bytes(UP, data(Form::Long, &services(0, 0))),
        Bytes(DOWN, data(Form::Long, &services(0, 1))),
    ];
    events.splice(4..4, negotiation);
    let calls = calls(&events);
    assert_eq!(ops(&calls)[3..6], ["EXECUTE", "FETCH", "FETCH"]);
    assert_eq!(calls[5].detail.get(Field::Rows), Some(5));
    let session = &calls[5].sql.as_ref().unwrap().session;
    assert_eq!((session.cipher, session.checksum), (None, Some("MD5")));
}

#[test]
fn a_server_may_ask_for_tls() {
    let mut resend = short(11, &[]);
    resend[5] = 8;
    let mut hello = hex("16 03 01 00 40 01");
    hello.resize(69, 0xaa);
    let events = [
        Bytes(UP, connect(314, DESCRIPTOR)),
        Bytes(DOWN, resend),
        Bytes(UP, hello.clone()),
        Bytes(DOWN, hello.clone()),
        Bytes(UP, hello.clone()),
        Bytes(DOWN, hello),
    ];
    let calls = calls(&events);
    assert_eq!(ops(&calls), ["CONNECT", "TURN", "TURN"]);
    let session = &calls[2].sql.as_ref().unwrap().session;
    assert_eq!(session.hidden, Some(Hidden::Tls));
    assert_eq!(calls[2].protocol, Protocol::Tns);
}

#[test]
fn compressed_payloads_are_not_read() {
    let mut events = session(Form::Long)[..6].to_vec();
    events[4] = Bytes(UP, flagged(Form::Long, 0x400, &hex(EXECUTE)));
    let calls = calls(&events);
    assert_eq!(calls[2].op.as_str(), "TURN");
    let session = &calls[2].sql.as_ref().unwrap().session;
    assert_eq!(session.hidden, Some(Hidden::Compression));
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    const LAST: u16 = 0x0800;
    const END: u16 = 0x2000;
    let mut events = session(Form::Long)[..4].to_vec();
    events[3] = Bytes(DOWN, accept(319));
    let up = |flags, payload: &str| Bytes(UP, flagged(Form::Long, flags, &hex(payload)));
    let down = |flags, payload: &str| Bytes(DOWN, flagged(Form::Long, flags, &hex(payload)));
    events.extend([
        up(0x1000 | LAST, EXECUTE),
        up(LAST, "03 05 05 01 01 01 0a"),
        up(LAST, "03 0e 06"),
        down(END, &(rows(4, 10, 10, false) + " 1d")),
        down(0, &rows(5, 10, 20, false)),
        down(END, "1d"),
        down(END, "09 01 01 01 06 1d"),
    ]);
    let calls = calls(&events);
    assert_eq!(ops(&calls)[2..], ["EXECUTE", "FETCH", "COMMIT"]);
    let found: Vec<_> = calls[2..]
        .iter()
        .map(|c| (frames(c), c.outstanding))
        .collect();
    assert_eq!(found[0], ([5, 5, 8, 8].map(Some), 1));
    assert_eq!(found[1], ([6, 6, 9, 10].map(Some), 2));
    assert_eq!(found[2], ([7, 7, 11, 11].map(Some), 3));
    assert_eq!(calls[3].detail.get(Field::Rows), Some(10));
    assert_eq!(text(&calls[3]), Some("select a from t999"));
}

#[test]
fn what_nobody_answers_is_no_call() {
    let mut events = session(Form::Short)[..4].to_vec();
    events.extend([
        Bytes(UP, data(Form::Short, "03 a3 05 00")),
        Bytes(UP, data(Form::Short, "03 93 06")),
        Bytes(DOWN, data(Form::Short, "09 01 01 01 06")),
    ]);
    let calls = calls(&events);
    assert_eq!(ops(&calls), ["CONNECT", "CONNECT", "PING"]);
    assert_eq!(frames(&calls[2])[0], Some(6));
}

#[test]
fn the_client_may_be_asked_within_a_call() {
    let mut events = session(Form::Short)[..5].to_vec();
    events.extend([
        Bytes(DOWN, data(Form::Short, "0b 05 13")),
        Bytes(UP, data(Form::Short, "13")),
        Bytes(DOWN, data(Form::Short, &block(4, 1, false))),
    ]);
    let calls = calls(&events);
    assert_eq!(ops(&calls), ["CONNECT", "CONNECT", "EXECUTE"]);
    assert_eq!(frames(&calls[2]), [5, 5, 6, 8].map(Some));
    assert_eq!(calls[2].detail.get(Field::InnerTrips), Some(1));
}

#[test]
fn raw_bytes_behind_a_data_descriptor_are_the_response_s() {
    let mut events = session(Form::Long)[..5].to_vec();
    let mut descriptor = long(15, &hex("00*4 00 00 01 00 00 00 00 01 01 00"));
    descriptor.extend([0xee; 256]);
    events.extend([
        Bytes(DOWN, descriptor),
        Bytes(DOWN, data(Form::Long, &block(4, 1, false))),
        Bytes(UP, data(Form::Long, "03 0e 05")),
    ]);
    let calls = calls(&events);
    assert_eq!(frames(&calls[2]), [5, 5, 6, 7].map(Some));
    assert_eq!(calls[2].detail.get(Field::Rows), Some(1));
}

#[test]
fn joined_in_the_middle_calls_begin_with_a_request() {
    for form in [Form::Short, Form::Long] {
        for roles_known in [true, false] {
            // In the middle of a response, then as it is.
            let events = session(form)[5..].to_vec();
            let mut calls = run(&events, Close::EndOfCapture, roles_known).calls;
            let before = calls.remove(0);
            let before_capture = Outcome::NoRequest(Reason::BeforeCapture);
            assert_eq!((before.op, before.outcome), (op::OTHER, before_capture));
            assert_eq!(frames(&before)[..2], [None, None]);
            assert!(before.response_first.is_some() && before.response_last.is_some());
            assert_eq!(ops(&calls), ["FETCH", "FETCH", "COMMIT", "FETCH", "LOGOFF"]);
            assert_eq!(
                calls[0].detail.get(Field::Rows),
                None,
                "of how many is not known"
            );
            assert_eq!(calls[1].detail.get(Field::Rows), Some(5));
            assert_eq!(text(&calls[0]), None);
        }
    }
}

#[test]
fn the_side_that_asks_is_the_client_whatever_the_ports_say() {
    let flip = |event: &Event| match event {
        Bytes(d, bytes) => Bytes(d.reverse(), bytes.clone()),
        other => other.clone(),
    };
    let events: Vec<Event> = session(Form::Long)[6..].iter().map(flip).collect();
    let calls = run(&events, Close::Finished, false).calls;
    assert_eq!(ops(&calls), ["FETCH", "FETCH", "COMMIT", "FETCH", "LOGOFF"]);
    assert!(calls.iter().all(|c| c.client.port == 1_521));
    assert_eq!(calls[1].detail.get(Field::Rows), Some(5));
}

#[test]
fn sessions_that_are_encrypted_from_before_are_turns() {
    let noise = |n: u8| -> Vec<u8> {
        (0..64_u8)
            .map(|i| n.wrapping_mul(37) ^ i.wrapping_mul(11) ^ 0xc3)
            .collect()
    };
    let mut events = vec![Bytes(DOWN, marker(Form::Long, 1))];
    for n in 0..6 {
        events.push(Bytes(UP, flagged(Form::Long, 0, &noise(n))));
        events.push(Bytes(DOWN, flagged(Form::Long, 0, &noise(n + 100))));
    }
    let calls = calls(&events);
    assert!(calls.len() >= 5 && ops(&calls).iter().all(|&op| op == "TURN"));
    let last = calls.last().unwrap().sql.clone().unwrap();
    assert_eq!(last.session.hidden, Some(Hidden::Unreadable));
}
