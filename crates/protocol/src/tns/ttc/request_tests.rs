//! Requests of all representations, as captures hold them.

use super::*;
use crate::tns::tests::hex;

fn sql(request: &Request<'_>) -> Option<(String, Found)> {
    let (text, found) = request.text.as_ref()?;
    let text = String::from_utf8_lossy(&text.bytes).into_owned();
    Some((text.trim_end_matches('\0').to_owned(), *found))
}

fn structured(text: &str) -> Option<(String, Found)> {
    Some((text.to_owned(), Found::Structured))
}

/// sqlplus 12.1 on Linux to its like.
pub(in crate::tns) const STRUCTURES_12: &str = "11 69 0b fe ff*7 01 00*7 03 00*3 \
     03 5e 0c 61 80 00*6 fe ff*7 6c 00*7 fe ff*7 0d 00*7 fe ff*7 fe ff*7 00*4 01 00*35 \
     fe ff*7 00*8 fe ff*7 fe ff*7 c8 68 2b 01 00*12 fe ff*7 fe ff*7 00*56 \
     '$select name, password from sys.user$' 01 00*27 01 00*8 80 00*14";

#[test]
fn structures_of_12_1_clients() {
    let bytes = hex(STRUCTURES_12);
    assert_eq!(bytes.len(), 341 - 10);
    let request = Request::parse(&bytes).unwrap();
    assert_eq!(request.op, op::EXECUTE);
    assert_eq!(
        sql(&request),
        structured("select name, password from sys.user$")
    );
    assert_eq!(request.closes, [3]);
    assert_eq!((request.cursor, request.sequence), (Some(0), Some(0x0c)));
    assert_eq!(request.rows_asked, Some(1));
    assert!(request.executes && is_start(&bytes));
    // No end of it makes more of it.
    for end in 0..bytes.len() {
        if let Some(cut) = Request::parse(&bytes[..end])
            && let Some((text, _)) = sql(&cut)
        {
            assert!(
                "select name, password from sys.user$".starts_with(&text),
                "{text}"
            );
        }
    }
    // A table that does not exist, and no query: nothing is asked.
    let create = hex(
        "03 5e 08 21 80 00*6 fe ff*7 87 00*7 fe ff*7 0d 00*7 fe ff*7 fe ff*7 00*4 01 00*35 \
         fe ff*7 00*8 fe ff*7 fe ff*7 c8 68 2b 01 00*12 fe ff*7 fe ff*7 00*56 \
         '-create user hackerman identified by hackerman' 01 00*3 01 00*23 05 00*8 80 00*14",
    );
    let request = Request::parse(&create).unwrap();
    let text = "create user hackerman identified by hackerman";
    assert_eq!(sql(&request), structured(text));
    assert_eq!(request.rows_asked, None);
}

#[test]
fn structures_of_10_2_clients() {
    let bytes = hex(
        "11 69 0b fe ff*7 01 00*7 04 00*3 03 5e 0c 61 80 00*6 fe ff*7 24 00*3 fe ff*7 0d 00*3 \
         fe ff*7 fe ff*7 00*4 01 00*27 fe ff*7 00*8 fe ff*7 fe ff*7 fe ff*7 00*8 fe ff*7 fe ff*7 \
         '$select name, password from sys.user$' 01 00*27 01 00*8 80 00*14",
    );
    assert_eq!(bytes.len(), 269 - 10);
    let request = Request::parse(&bytes).unwrap();
    assert_eq!(
        sql(&request),
        structured("select name, password from sys.user$")
    );
    assert_eq!((request.closes, request.rows_asked), (vec![4], Some(1)));
}

#[test]
fn packed_64_bits() {
    let bytes = hex(
        "03 5e 06 61 80 00*6 fe ff*7 16 00*3 fe ff*7 0d 00*3 fe ff*7 fe ff*7 00*4 01 00*27 \
         fe ff*7 00*8 fe ff*7 fe ff*7 fe ff*7 00*8 fe ff*7 fe ff*7 00*28 16 'SELECT USER FROM DUAL' \
         00 01 00*27 01 00*23",
    );
    let request = Request::parse(&bytes).unwrap();
    assert_eq!(sql(&request), structured("SELECT USER FROM DUAL"));
}

#[test]
fn pointers_of_four_bytes() {
    let bytes = hex(
        "03 5e 06 61 80 00*6 1c c4 29 06 16 00*3 30 a0 27 06 0d 00*7 64 a0 27 06 00*4 01 00*31 \
         66 a0 27 06 7c c4 29 06 00*12 74 a0 27 06 16 'SELECT USER FROM DUAL' 00 01 00*27 01 00*23",
    );
    let request = Request::parse(&bytes).unwrap();
    assert_eq!(sql(&request), structured("SELECT USER FROM DUAL"));
    // Oracle 9: twelve numbers, and a text that grew when it was converted.
    let bytes = hex(
        "11 6b 0b 09 00*3 db 03 00 00 01 00*3 03 5e 0c 21 80 00*6 14 ee da 00 9c 00*3 \
         c8 4e d9 00 0c 00*7 f8 4e d9 00*5 01 00*31 fa 4e d9 00 94 ee da 00*5 \
         '>insert into newtable values (' 27 e5 a4 a7 e5 ae b6 e5 a5 bd ef bc 8c e8 a6 81 e4 b8 8b \
         e9 9b a8 e4 ba 86 e5 93 a6 ef bc 81 27 29 01 00*3 01 00*23 04 00*19",
    );
    let request = Request::parse(&bytes).unwrap();
    let (text, found) = sql(&request).unwrap();
    assert!(text.starts_with("insert into newtable values ('") && text.ends_with("')"));
    assert_eq!((text.len(), found), (62, Found::Structured));
}

#[test]
fn pointers_of_one_byte_and_chunks() {
    // 348 bytes, counted three times each: a 32-bit client of a 64-bit server.
    let text = "select ".to_owned() + &"x".repeat(341);
    let mut bytes = hex(
        "03 5e 07 61 80 00*6 01 14 04 00*2 01 0d 00*3 01 01 00*4 14 00*3 00*4 01 00*4 01*5 01 00*4 \
         00*4 01 00 01 00*4 01 00*4 00*2",
    );
    bytes.resize(70, 0);
    bytes.push(0xfe);
    for chunk in text.as_bytes().chunks(64) {
        bytes.push(chunk.len() as u8);
        bytes.extend(chunk);
    }
    bytes.extend(hex("00 01 00*27 01 00*23"));
    let request = Request::parse(&bytes).unwrap();
    assert_eq!(sql(&request), structured(&text));
    assert_eq!(request.rows_asked, Some(20));
}

#[test]
fn jdbc_sends_its_text_bare() {
    let bytes = hex(
        "11 78 05 01 01 01 01 01 11 69 06 01 01 01 01 01 03 5e 07 02 80 21 00 01 01 34 01 01 0d \
         00 00 04 ff*4 01 0a 04 7f ff*3 00*11 01 00*8 'select * from v$version where banner like ' \
         27 '%Oracle%' 27 01 01 00*6 01 01 00 02 80 00*4",
    );
    let request = Request::parse(&bytes).unwrap();
    let text = "select * from v$version where banner like '%Oracle%'";
    assert_eq!(sql(&request), structured(text));
    assert_eq!((&*request.closes, request.rows_asked), (&[1][..], Some(10)));
    assert_eq!((request.op, request.sequence), (op::EXECUTE, Some(7)));
    // 23ai: a token behind each number; the text with its length.
    let newest = hex(
        "03 5e 01 00 02 80 21 00 01 01 12 01 01 0d 00 00 04 ff*4 01 14 04 7f ff*3 00*9 00*18 \
         12 'select 1 from dual' 01 01 00*6 01 01 00 02 80 00*4",
    );
    let request = Request::parse(&newest).unwrap();
    assert_eq!(sql(&request), structured("select 1 from dual"));
    assert_eq!(request.rows_asked, Some(20));
}

#[test]
fn fetches_name_their_cursor_and_rows() {
    for (bytes, cursor, rows) in [
        ("03 05 3b 05 00*3 0a 00*3", 5, 10),
        ("03 05 01 05 00*3 f4 01 00 00", 5, 500),
        ("03 05 37 01 01 01 0a", 1, 10),
        ("03 05 02 00 01 02 02 01 f4", 2, 500),
        // Pipelined, as sources of thin clients have it: the token numbers what was asked.
        ("03 05 03 01 07 01 02 02 01 f4", 2, 500),
    ] {
        let bytes = hex(bytes);
        let request = Request::parse(&bytes).unwrap();
        assert_eq!(request.op, op::FETCH);
        let found = (request.cursor, request.rows_asked);
        assert_eq!(found, (Some(cursor), Some(rows)));
        assert!(is_start(&bytes));
    }
}

#[test]
fn tokens_of_a_pipeline_are_no_options_or_cursors() {
    let execute = hex(
        "11 69 02 01 03 01 01 01 01 04 03 5e 03 01 03 02 80 21 00 01 01 12 01 01 0d 00 00 00 01 14 \
         04 7f ff*3 00*9 00*18 12 'select 1 from dual' 01 01 00*6 01 01 00 02 80 00*4",
    );
    let request = Request::parse(&execute).unwrap();
    assert_eq!(sql(&request), structured("select 1 from dual"));
    assert_eq!((request.cursor, request.rows_asked), (Some(0), Some(20)));
    assert_eq!(request.closes, [4]);
    // Executing again: with and without a token, and bound values behind.
    for bytes in [
        "03 04 02 01 05 01 01 00 00",
        "03 04 02 00 01 05 01 01 00 00 07 01 'x'",
        "03 04 02 01 03 01 05 01 01 00 00 07 01 'x'",
    ] {
        let bytes = hex(bytes);
        let request = Request::parse(&bytes).unwrap();
        assert_eq!((request.op, request.cursor), (op::EXECUTE, Some(5)));
    }
}

#[test]
fn calls_without_arguments() {
    for (bytes, what) in [
        ("03 0e 06", op::COMMIT),
        ("03 0f 11", op::ROLLBACK),
        ("03 93 74", op::PING),
        ("03 09 15", op::LOGOFF),
        // Closing a cursor on the way: NM and 64 bits.
        ("11 69 10 01 01 00*3 02 00*3 03 0f 11", op::ROLLBACK),
        ("11 69 11 fe ff*7 01 00*7 01 00*3 03 0e 12", op::COMMIT),
    ] {
        let bytes = hex(bytes);
        let request = Request::parse(&bytes).unwrap();
        assert_eq!(request.op, what);
        assert!(is_start(&bytes), "{bytes:02x?}");
    }
    let version = hex("11 6b 04 26 00*3 24 21 00 00 01 00*3 03 3b 05 fe ff*7 dc 05 00 00");
    let request = Request::parse(&version).unwrap();
    assert_eq!((request.op, request.function), (op::OTHER, Some(0x3b)));
}

#[test]
fn older_calls() {
    let parse = hex("03 03 08 01 00*3 bc 73 46 00 12 00*3 06 'commit'");
    let request = Request::parse(&parse).unwrap();
    assert_eq!((request.op, request.cursor), (op::PREPARE, Some(1)));
    assert_eq!(sql(&request), structured("commit"));
    let execute = hex("03 04 09 01 00*3 01 00*7");
    let request = Request::parse(&execute).unwrap();
    assert_eq!((request.op, request.cursor), (op::EXECUTE, Some(1)));
    let close = hex("03 08 0a 01 00*3");
    let request = Request::parse(&close).unwrap();
    assert_eq!((request.op, request.cursor), (op::CLOSE, Some(1)));
}

#[test]
fn what_nobody_answers_and_what_is_no_request() {
    assert!(is_one_way(&hex("1a 05 00")));
    assert!(is_one_way(&hex("03 a3 07 00")));
    assert!(!is_one_way(&hex("03 05 07")));
    // The middle of a request: data types.
    for bytes in ["02 45 02 45", "", "07 01 'x'", "ff*8", "03 ff 01", "11"] {
        assert!(!is_start(&hex(bytes)), "{bytes}");
    }
}
