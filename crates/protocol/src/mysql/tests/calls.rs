//! What is said without anything missing.

use super::*;
use crate::mysql::replication::tests::{CONFIRMED, EVENT, ROTATION};
use model::{Change, Hidden, SqlSession};

const GREETING: &[u8] = b"\x4a\0\0\0\x0a5.5.5-10.11.6-MariaDB\0\x05\0\0\0abcdefgh\0\xfe\xf7\x2d\x02\0\xff\x81\x15\0\0\0\0\0\0\x1d\0\0\0abcdefghijkl\0mysql\0\0";

/// A response to the greeting without attributes.
fn response(capabilities: u32, plugin: &str) -> Vec<u8> {
    let mut payload = (capabilities | 0x8_8208).to_le_bytes().to_vec();
    payload.extend([0, 0, 0, 1, 45]);
    payload.extend([0; 23]);
    payload.extend(b"app\0\x02xyshop\0");
    payload.extend(plugin.as_bytes());
    payload.push(0);
    packets(1, &[&payload])
}

fn session(call: &Call) -> &SqlSession {
    &call.sql.as_ref().unwrap().session
}

#[test]
fn a_session_from_greeting_to_quit() {
    let events = [
        down(GREETING),
        up(&response(0, "mysql_native_password")),
        down(&packets(2, &[OK])),
        up(&query("select a from t where a = 1")),
        down(&result(3)),
        up(&query("select b from t")),
        down(&error()),
        up(&command(1, b"")),
    ];
    let calls = seen(&events, Close::Finished).calls;
    assert_eq!(
        summaries(&calls),
        [
            // Its request is the packet that completed the handshake.
            (
                "CONNECT".into(),
                "ok".into(),
                [Some(0), Some(0), Some(1), Some(1)]
            ),
            expected("LOGON", "ok", [2, 2, 3, 3]),
            expected("EXECUTE", "ok", [4, 4, 5, 5]),
            expected("EXECUTE", "ER-1146", [6, 6, 7, 7]),
        ]
    );
    assert_eq!(rows(&calls[2]), Some(3));
    assert_eq!(text(&calls[2]), Some("select a from t where a = 1"));
    let about = session(&calls[2]);
    assert_eq!(about.user.as_deref(), Some("app"));
    assert_eq!(about.database.as_deref(), Some("shop"));
    assert_eq!(
        about.server_version.as_deref(),
        Some("5.5.5-10.11.6-MariaDB")
    );
    assert_eq!(calls[3].detail.get(Field::Status), Some(1146));
    assert!(!about.plaintext_password);
}

#[test]
fn where_the_server_says_that_a_backslash_is_a_letter_it_escapes_nothing() {
    let asks = |status: &[u8]| {
        let events = [
            down(GREETING),
            up(&response(0, "mysql_native_password")),
            down(&packets(2, &[&[b"\0\0\0", status, b"\0\0"].concat()])),
            up(&query("select '\\', 'secret', 1")),
            down(&result(1)),
        ];
        let calls = seen(&events, Close::Finished).calls;
        let statement = calls[2].sql.as_ref().unwrap().statement.clone();
        statement.unwrap().normal.to_string()
    };
    assert_eq!(asks(&[2, 2]), "select ?, ?, ?");
    assert_eq!(asks(&[2, 0]), "select ?");
}

#[test]
fn a_readable_password_is_noted_and_not_kept() {
    let events = [
        down(GREETING),
        up(&response(0, "mysql_native_password")),
        down(&packets(2, &[b"\xfemysql_clear_password\0"])),
        up(&packets(3, &[b"hunter2\0"])),
        down(&packets(4, &[OK])),
    ];
    let calls = seen(&events, Close::Finished).calls;
    assert_eq!(
        summary(&calls[1]),
        expected("LOGON", "ok", [2, 4, 5, 5]),
        "the logon asks until it was asked for nothing more"
    );
    assert_eq!(calls[1].detail.get(Field::InnerTrips), Some(1));
    assert!(session(&calls[1]).plaintext_password);
    assert!(!format!("{calls:?}").contains("hunter2"));
}

#[test]
fn behind_a_request_for_tls_turns_are_followed() {
    let mut request = (0x8_8a08_u32).to_le_bytes().to_vec();
    request.extend([0; 28]);
    let events = [
        down(GREETING),
        up(&packets(1, &[&request])),
        up(b"\x16\x03\x01\0\x05hello"),
        down(b"\x16\x03\x03\0\x05hello"),
        up(b"\x17\x03\x03\0\x04quit"),
    ];
    let calls = seen(&events, Close::Finished).calls;
    assert_eq!(
        summaries(&calls)[1..],
        [expected("TURN", "ok", [3, 3, 4, 4])],
        "what is said last is not answered, and not missed"
    );
    assert_eq!(session(&calls[1]).hidden, Some(Hidden::Tls));
    assert_eq!(calls[1].protocol, model::Protocol::Mysql);
}

#[test]
fn what_is_compressed_is_not_read() {
    let events = [
        down(GREETING),
        up(&response(0x20, "mysql_native_password")),
        down(&packets(2, &[OK])),
        up(b"\x0d\0\0\0\0\0\0\x09\0\0\0\x03select 1"),
        down(b"\x10\0\0\x01\0\0\0whatever it says"),
        up(b"\x05\0\0\0\0\0\0\x01\0\0\0\x01"),
    ];
    let calls = seen(&events, Close::Finished).calls;
    assert_eq!(
        summaries(&calls)[1..],
        [
            expected("LOGON", "ok", [2, 2, 3, 3]),
            expected("TURN", "ok", [4, 4, 5, 5])
        ]
    );
    assert_eq!(session(&calls[2]).hidden, Some(Hidden::Compression));
    assert_eq!(session(&calls[2]).user.as_deref(), Some("app"));
}

#[test]
fn a_host_may_be_refused() {
    let refusal = packets(
        0,
        &[b"\xff\x6a\x04Host '10.0.0.1' is not allowed to connect"],
    );
    let calls = seen(&[down(&refusal)], Close::Finished).calls;
    assert_eq!(calls.len(), 1);
    assert_eq!(
        (calls[0].op.as_str(), calls[0].outcome.name()),
        ("CONNECT", "ER-1130")
    );
}

#[test]
fn executions_have_the_text_that_was_prepared() {
    let events = [
        up(&command(0x16, b"update t set a = ?")),
        down(&packets(
            1,
            &[&[0, 5, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0], DEFINITION, EOF],
        )),
        up(&command(
            0x17,
            &[5, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 3, 0, 7, 0, 0, 0],
        )),
        down(&packets(1, &[&[0, 4, 0, 2, 0, 0, 0]])),
        // Nobody answers a close, so that the next command comes with it.
        up(&[command(0x19, &[5, 0, 0, 0]), command(0x0e, b"")].concat()),
        down(&ok()),
        up(&command(0x17, &[5, 0, 0, 0, 0, 1, 0, 0, 0])),
        down(&error()),
    ];
    let calls = joined(&events, Close::Finished).calls;
    let ops: Vec<_> = calls.iter().map(|c| (c.op.to_string(), text(c))).collect();
    assert_eq!(
        ops,
        [
            ("PREPARE".into(), Some("update t set a = ?")),
            ("EXECUTE".into(), Some("update t set a = ?")),
            ("PING".into(), None),
            ("EXECUTE".into(), None),
        ]
    );
    assert_eq!(calls[1].detail.get(Field::Cursor), Some(5));
    assert_eq!(calls[1].detail.get(Field::Affected), Some(4));
}

#[test]
fn long_data_is_the_first_part_of_an_execution() {
    let piece = command(0x18, &[&[5, 0, 0, 0, 0, 0][..], &[b'x'; 100]].concat());
    let events = [
        up(&query("select 1")),
        down(&result(1)),
        up(&piece),
        up(&piece),
        up(&command(0x17, &[5, 0, 0, 0, 0, 1, 0, 0, 0])),
        down(&ok()),
    ];
    let calls = joined(&events, Close::Finished).calls;
    assert_eq!(summary(&calls[1]), expected("EXECUTE", "ok", [3, 5, 6, 6]));
    assert_eq!(calls[1].request_bytes, 2 * 111 + 14);
}

#[test]
fn a_file_is_part_of_the_request() {
    let events = [
        up(&query("load data local infile 'f' into table t")),
        down(&packets(1, &[b"\xfbf"])),
        up(&packets(2, &[b"1\n2\n3\n"])),
        up(&packets(3, &[b""])),
        down(&packets(4, &[&[0, 3, 0, 2, 0, 0, 0]])),
        up(&query("select 1")),
        down(&result(1)),
    ];
    let calls = joined(&events, Close::Finished).calls;
    assert_eq!(
        summaries(&calls),
        [
            expected("COPY", "ok", [1, 4, 5, 5]),
            expected("EXECUTE", "ok", [6, 6, 7, 7])
        ]
    );
    assert_eq!(calls[0].detail.get(Field::Affected), Some(3));
    assert_eq!(calls[0].detail.get(Field::InnerTrips), Some(1));
}

#[test]
fn commands_may_be_sent_without_waiting() {
    let events = [
        up(&[
            query("insert into t values (1)"),
            query("insert into t values (2)"),
        ]
        .concat()),
        up(&query("select 1")),
        down(&[ok(), error()].concat()),
        down(&result(1)),
    ];
    let calls = joined(&events, Close::Finished).calls;
    assert_eq!(
        summaries(&calls),
        [
            expected("EXECUTE", "ok", [1, 1, 3, 3]),
            expected("EXECUTE", "ER-1146", [1, 1, 3, 3]),
            expected("EXECUTE", "ok", [2, 2, 4, 4]),
        ]
    );
    let outstanding: Vec<_> = calls.iter().map(|c| c.outstanding).collect();
    assert_eq!(outstanding, [1, 2, 3]);
}

#[test]
fn the_binary_log_is_a_stream() {
    let events = [
        up(&query("select 1")),
        down(&result(1)),
        up(&command(0x12, &[4, 0, 0, 0, 0, 0, 1, 0, 0, 0, b'b'])),
        down(&packets(1, &[&[0; 40]])),
        down(&packets(2, &[&[0; 40], &[0; 50]])),
        down(&packets(4, &[&[0; 60]])),
    ];
    let seen = joined(&events, Close::EndOfCapture);
    assert_eq!(
        summaries(&seen.calls)[1..],
        [expected("BINLOG_DUMP", "ok", [3, 3, 4, 4])]
    );
    let kinds: Vec<_> = seen.problems.iter().map(|(kind, _)| kind).collect();
    assert_eq!(kinds, ["mysql-binlog-stream"]);
}

/// Where that was agreed on, a commit may wait for what a replica is to confirm.
#[test]
fn a_replica_confirms_what_it_has_of_the_binary_log() {
    let events = [
        up(&query("select 1")),
        down(&result(1)),
        up(&command(0x12, &[4, 0, 0, 0, 0, 0, 1, 0, 0, 0, b'b'])),
        down(&[ROTATION, EVENT].concat()),
        up(CONFIRMED),
        down(EVENT),
    ];
    let seen = joined(&events, Close::EndOfCapture);
    assert_eq!(seen.calls.len(), 2);
    let copied = seen.outstanding.iter().map(|o| (o.change, o.time.0));
    let copied: Vec<_> = copied
        .filter(|(change, _)| matches!(change, Change::Shipped | Change::Confirmed))
        .map(|(change, _)| change)
        .collect();
    let [s, c] = [Change::Shipped, Change::Confirmed];
    assert_eq!(copied, [s, c, s, c]);
}

#[test]
fn any_cut_into_segments_gives_the_same_calls() {
    let ups = [query("select a from t"), command(0x0e, b"")];
    let downs = [result(4), ok()];
    let whole = |n: usize| expected(["EXECUTE", "PING"][n], "ok", [0; 4]).1;
    for at_up in 1..ups[0].len() {
        for at_down in 1..downs[0].len() {
            let (a, b) = ups[0].split_at(at_up);
            let (c, d) = downs[0].split_at(at_down);
            let events = [
                // It is recognised by a command that came in one piece.
                up(&query("select 1")),
                down(&result(1)),
                up(a),
                up(b),
                down(c),
                down(d),
                up(&ups[1]),
                down(&downs[1]),
            ];
            let calls = joined(&events, Close::Finished).calls;
            assert_eq!(
                summaries(&calls)[1..],
                [
                    expected("EXECUTE", &whole(0), [3, 4, 5, 6]),
                    expected("PING", "ok", [7, 7, 8, 8])
                ],
                "split at {at_up} and {at_down}"
            );
            assert_eq!(rows(&calls[1]), Some(4));
        }
    }
}
