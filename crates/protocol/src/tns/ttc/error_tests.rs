//! Error blocks of all layouts, as captures of those versions hold them.

use super::*;
use crate::tns::tests::hex;

fn block(rows: u64, error: u32, cursor: u32, statement: u8) -> Option<Block> {
    Some(Block {
        rows,
        error,
        cursor,
        statement,
    })
}

/// The block is found behind whatever comes before it, and only for its own call.
fn is(tail: &str, call: u8, expected: Option<Block>) {
    let tail = hex(tail);
    let behind_rows = [&[7, 4, b'D', b'A', b'T', 1, 4, 1][..], &tail].concat();
    for response in [&tail, &behind_rows] {
        assert_eq!(find(response, Some(call)), expected, "{response:02x?}");
        assert_eq!(find(response, Some(call + 1)), None);
    }
    for end in 0..tail.len() {
        let _ = find(&tail[..end], Some(call));
        let _ = find(&tail[end..], Some(call));
    }
}

#[test]
fn structures_of_12_1_servers() {
    // sqlplus on Linux, Oracle 12.1: a query's first row, 15 more, the last 11.
    is(
        "04 01 00*3 0a 00 01 01 00*9 06 00 1f 00 03 00*26 0c 00 00 01 00*3 36 01 00*14 \
         a0 93 8f 87 47 7f 00*58 01 00*7",
        0x0c,
        block(1, 0, 6, 3),
    );
    is(
        "04 01 00*3 0b 00 01 10 00*9 06 00*3 03 00*26 0d 00*6 36 01 00*14 \
         a0 93 8f 87 47 7f 00*58 10 00*7",
        0x0d,
        block(16, 0, 6, 3),
    );
    let last = "04 01 00*3 12 00 01 75 00*3 7b 05 00*4 06 00*3 03 00*26 14 00*6 36 01 00*14 \
         a0 93 8f 87 47 7f 00*54 7b 05 00 00 75 00*7 2c 'ORA-01403: ' \
         d0 b4 d0 b0 d0 bd d0 bd d1 8b d0 b5 20 d0 bd d0 b5 20 d0 bd d0 b0 d0 b9 d0 b4 d0 b5 d0 \
         bd d1 8b 0a";
    is(last, 0x14, block(117, 1_403, 6, 3));
    let last = find(&hex(last), None).unwrap();
    assert!(last.is_end_of_rows() && last.is_query() && !last.changes_rows());
    // What a user may not be called.
    is(
        "04 01 00*3 06 00 01 00*4 48 fe 00*4 01 00 0c 00 33 00*26 08 00*6 36 01 00*14 \
         a0 93 8f 87 47 7f 00*54 48 fe 00*10 13 'ORA-65096: invalid' 0a",
        8,
        block(0, 65_096, 1, 0x33),
    );
}

#[test]
fn structures_of_10_2_and_11_2_servers() {
    is(
        "04 01 00*3 0a 00 01 01 00*9 05 00 1f 00 03 00*26 0c 00 00 01 00*3 36 01 00*14 \
         e0 93 58 06 00*60",
        0x0c,
        block(1, 0, 5, 3),
    );
    is(
        "04 01 00*3 04 00 01 00*4 88 03 00*4 02 00 20 00 03 00*26 06 00*6 36 01 00*14 \
         e0 93 58 06 00*60 30 'ORA-00904: ' 22 'XS_SYS_CONTEXT' 22 ': invalid identifier' 0a",
        6,
        block(0, 904, 2, 3),
    );
}

#[test]
fn structures_of_32_bits() {
    // 10.2 on Windows, and 9.2, which has no number in front.
    is(
        "04 01 00*5 01 00*4 f9 03 00*35 03 00*6 36 01 00*6 18 3f 82 07 00*28 \
         33 'ORA-01017: invalid username/password; logon denied' 0a",
        3,
        block(0, 1_017, 0, 0),
    );
    is(
        "04 01 00*3 01 00*10 01 00*3 2c 00*26 08 00*6 36 01 00*6 04 94 14 05 00*28",
        8,
        block(0, 0, 1, 0x2c),
    );
    is(
        "04 01 00*3 01 00*4 79 05 00 00 79 05 01 00 1d 00 02 00*5 ff*4 00*17 0c 00*6 36 01 00*6 \
         04 94 14 05 00*28 19 'ORA-01401: value too lo!' 0a",
        0x0c,
        block(0, 1_401, 1, 2),
    );
}

#[test]
fn packed_blocks() {
    // Between different platforms: 11.1 on Windows; and Oracle 9 clients.
    is(
        "04 01 00*3 04 00 01 00*9 02 00 11 00 03 00*23 06 00 00 01 00*17",
        6,
        block(1, 0, 2, 3),
    );
    is(
        "04 01 00*3 01 00*9 01 00*3 03 00*23 08 00 00 01 00*17",
        8,
        block(1, 0, 1, 3),
    );
    is(
        "04 01 00*3 00*4 ae 03 00*4 02 00 19 00 03 00*23 12 00 00 01 00*17 \
         28 'ORA-00942: table or view does not exist' 0a",
        0x12,
        block(0, 942, 2, 3),
    );
}

#[test]
fn universal_blocks() {
    // JDBC to 12.1, which repeats error and rows.
    is(
        "04 01 01 01 04 01 01 02 05 7b 00 00 01 01 01 0e 03 00*12 04 00 01 01 00*4 02 05 7b 01 01 \
         19 'ORA-01403: no data found' 0a",
        4,
        block(1, 1_403, 1, 3),
    );
    is(
        "04 01 01 01 37 01 14 00*3 01 01 00 03 00*12 37 00*7 01 14",
        0x37,
        block(20, 0, 1, 3),
    );
    // A flag is set.
    is(
        "04 01 01 01 36 01 0a 00*3 01 01 00 03 00 01 20 00*10 36 00 01 01 00*4 00 01 0a",
        0x36,
        block(10, 0, 1, 3),
    );
    // To 10.2, which does not.
    is(
        "04 01 01 01 29 01 15 02 05 7b 00 00 01 01 00 03 00*12 29 00 01 01 00*4 \
         19 'ORA-01403: no data found' 0a",
        0x29,
        block(21, 1_403, 1, 3),
    );
    // To 11.1, without a status: a number, no row, 1403.
    is(
        "04 01 05 00 02 05 7b 00 00 01 01 00 03 00*12 05 00 01 01 00*4 \
         19 'ORA-01403: no data found' 0a",
        5,
        block(0, 1_403, 1, 3),
    );
    // To 23ai, as sources have it: the statement's kind and a checksum behind.
    is(
        "04 01 01 01 01 01 05 02 05 7b 00 00 01 01 00 03 00*12 01 00 01 01 00*4 02 05 7b 01 05 \
         01 03 00 19 'ORA-01403: no data found' 0a",
        1,
        block(5, 1_403, 1, 3),
    );
}

/// As sources of python-oracledb, node-oracledb and go-ora have them; no capture shows one.
#[test]
fn universal_blocks_by_sources() {
    // A procedure with compilation errors: a warning, and the error's place is none.
    is(
        "04 01 01 01 07 00 00 00 00 01 02 81 01 18 00*4 20 00*7 07 00*2 00*4 00 00",
        7,
        block(0, 0, 2, 0x18),
    );
    // Flags in a byte.
    is(
        "04 01 01 01 08 01 03 00*3 01 02 00 03 00 20 00*10 08 00*2 00*4 00 01 03",
        8,
        block(3, 0, 2, 3),
    );
    // Two rows of an array of five failed.
    is(
        "04 01 01 01 09 01 03 02 5f 3d 00 00 01 04 00 02 00*12 09 00 01 05 00 \
         01 02 05 01 01 02 05 7c 01 02 04 01 01 01 03 \
         01 02 20 01 08 08 'ORA-1' 20 20 0a 00 00 01 08 08 'ORA-2' 20 20 0a 00 00 02 5f 3d 01 03 \
         21 'ORA-24381: error(s) in array DML' 0a",
        9,
        block(3, 24_381, 4, 2),
    );
    // From 20c on the kind of the statement stands behind alone.
    is(
        "04 01 01 01 0a 01 05 02 05 7b 00 00 01 01 00 00 00*12 0a 00 01 01 00*4 02 05 7b 01 05 \
         01 03 00 19 'ORA-01403: no data found' 0a",
        0x0a,
        block(5, 1_403, 1, 3),
    );
}

#[test]
fn a_mark_of_the_end_may_follow() {
    let tail = hex("04 01 01 01 38 01 15 00 00 00 01 01 00 03 00*12 38 00*7 01 15 1d");
    assert_eq!(find(&tail, Some(0x38)), block(21, 0, 1, 3));
    assert!(is_over(&tail));
}

#[test]
fn long_texts_come_in_chunks() {
    let mut tail = hex("04 01 01 01 04 00 02 19 76 00 00 01 01 00 2f 00*12 04 00 01 01 00*4");
    tail.extend(hex("fe 40 'ORA-06502: PL/SQL: numeric or value error' 0a"));
    tail.extend(hex("'ORA-06512: at line 21'"));
    tail.extend(hex("0a 'ORA-06512: at 22' 0a 00"));
    // The chunk's length covers 64 bytes.
    let from = tail.iter().position(|&b| b == 0xfe).unwrap() + 2;
    let text: Vec<u8> = tail[from..tail.len() - 1].to_vec();
    tail.truncate(from - 1);
    for chunk in text.chunks(64) {
        tail.push(chunk.len() as u8);
        tail.extend(chunk);
    }
    tail.push(0);
    assert_eq!(text_error(&tail), Some(6_502));
}

#[test]
fn without_a_block_the_text_says_the_error() {
    let tail = hex("aa bb cc 19 'ORA-01403: no data found' 0a");
    assert_eq!(find(&tail, Some(1)), None);
    assert_eq!(text_error(&tail), Some(1_403));
    // A row that talks of errors ends differently.
    assert_eq!(
        text_error(&hex("07 19 'ORA-01403: no data found' 0a 09 01 01")),
        None
    );
}

#[test]
fn a_status_ends_a_response() {
    // Commit, logoff, Oracle 9, a ping of JDBC, a mark.
    for over in [
        "09 05 00*3 04 00",
        "09 01 00*5",
        "08 01 00*3 09 01 00*3",
        "09 01 01 01 74",
        "1d",
    ] {
        assert!(is_over(&hex(over)), "{over}");
    }
    assert!(!is_over(&hex("07 04 'DATA'")));
    assert!(!is_over(b""));
}

#[test]
fn no_data_found_is_an_error_of_a_program() {
    let block = Block {
        error: 1_403,
        statement: PLSQL,
        ..Block::default()
    };
    assert!(!block.is_end_of_rows());
}
