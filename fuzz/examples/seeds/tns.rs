//! TNS sessions for `tns`: one of each representation, written by hand.

use crate::messages::part;
use crate::write;

const CLIENT: u8 = 0;
const SERVER: u8 = 1;
const LONG: u8 = 2;
/// A payload in a DATA packet, or a packet of another kind.
const PAYLOAD: u8 = 3 << 2;
const PACKET: u8 = 6 << 2;

/// `00*3` is three bytes, `'text'` its characters.
fn hex(text: &str) -> Vec<u8> {
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

/// CONNECT, RESEND, CONNECT, ACCEPT.
fn connected(version: &str, accept: &str) -> Vec<u8> {
    let connect = format!(
        "01 {version} 01 2c 0c 41 20 00 ff ff 7f 08 00 00 01 00 00 5a 00 3a 00 00 08 00 41 41 00*24 \
         '(DESCRIPTION=(CONNECT_DATA=(SERVICE_NAME=orders)(CID=(PROGRAM=app)(HOST=web7)(USER=svc))))'"
    );
    let connect = part(CLIENT | PACKET, &hex(&connect));
    let accept = part(SERVER | PACKET, &hex(&format!("02 {version} {accept}")));
    [
        &connect[..],
        &part(SERVER | PACKET, &[11]),
        &connect,
        &accept,
    ]
    .concat()
}

fn conversation(form: u8, start: Vec<u8>, messages: &[(u8, &str)]) -> Vec<u8> {
    let mut all = start;
    for (d, payload) in messages {
        all.extend(part(d | form | PAYLOAD, &hex(payload)));
    }
    all
}

pub fn write_all() {
    let short = || connected("01 3a", "08 41 20 00 ff ff 01 00 00 00 00 20 41 41 00*8");
    let long = || {
        let accept = "0c 41 00*4 01 00 00 00 00 29 41 41 00*8 00 00 20 00 00 20 00 00 00";
        connected("01 3b", accept)
    };
    let universal = [
        (CLIENT, "de ad be ef 00 0d 00*4 00 00 00"),
        (
            SERVER,
            "de ad be ef 00 33 00*4 00 02 00 00 02 00 02 00*4 00 04 00 05 0c 10 02 00 00 01 00 02 00 \
             00 03 00 02 00*4 00 04 00 05 0c 10 02 00 00 01 00 02 00",
        ),
        (
            CLIENT,
            "03 76 01 01 01 03 01 21 01 01 05 01 01 'SYS' 01 0d 0d 'AUTH_TERMINAL' 01 03 03 'abc' 00 \
             01 0f 0f 'AUTH_PROGRAM_NM' 01 03 03 'app' 00",
        ),
        (
            SERVER,
            "08 01 01 01 0f 0f 'AUTH_VERSION_NO' 01 09 09 '202375680' 00",
        ),
        (
            CLIENT,
            "11 78 05 01 01 01 01 01 11 69 06 01 01 01 01 01 03 5e 07 02 80 21 00 01 01 12 01 01 0d \
             00 00 04 ff*4 01 0a 04 7f ff*3 00*11 01 00*8 'select a from t999' 01 01 00*6 01 01 00 02 \
             80 00*4",
        ),
        (
            SERVER,
            "06 02 01 02 00 01 0a 00*3 07 01 'a' 01 'b' 15 01 01 02 07 01 'c' 04 01 01 01 07 01 0a 00*3 \
             01 01 00 03 00*12 07 00*7 01 0a",
        ),
        (CLIENT, "03 05 08 01 01 01 0a"),
        (
            SERVER,
            "06 02 01 01 00 01 0a 00*3 07 01 'a' 04 01 01 01 08 01 15 02 05 7b 00 00 01 01 00 03 00*12 \
             08 00 01 01 00*4 02 05 7b 01 15 19 'ORA-01403: no data found' 0a",
        ),
        (CLIENT, "03 93 09"),
        (SERVER, "09 01 01 01 09 1d"),
        (CLIENT, "03 60 0a 01 01 28 00*8"),
        (SERVER, "0e fe 02 01 46 00"),
    ];
    write("tns", "universal", &conversation(LONG, long(), &universal));
    let native = [
        (
            CLIENT,
            "03 76 02 fe ff*7 09 00*3 21 00*3 fe ff*7 05 00*7 fe ff*7 fe ff*7 03 'sys' 27 00*3 0d \
             'AUTH_TERMINAL' 0f 00*3 05 'pts/0' 00*4 12 00*3 12 'AUTH_ALTER_SESSION' 24 00*3 24 \
             'ALTER SESSION SET TIME_ZONE=-05:0000' 01 00*3",
        ),
        (
            SERVER,
            "08 01 00 0f 00*3 0f 'AUTH_VERSION_NO' 09 00*3 09 '169869568' 00*4",
        ),
        (
            CLIENT,
            "11 69 0b fe ff*7 01 00*7 04 00*3 03 5e 0c 61 80 00*6 fe ff*7 24 00*3 fe ff*7 0d 00*3 \
             fe ff*7 fe ff*7 00*4 01 00*27 fe ff*7 00*8 fe ff*7 fe ff*7 fe ff*7 00*8 fe ff*7 fe ff*7 \
             '$select name, password from sys.user$' 01 00*27 01 00*8 80 00*14",
        ),
        (
            SERVER,
            "06 00 02 80 02 00*5 0f 00*39 03 07 03 'SYS' 00 15 01 00 01 07 01 'x' 04 01 00*3 0a 00 01 \
             01 00*9 05 00 1f 00 03 00*26 0c 00 00 01 00*3 36 01 00*14 e0 93 58 06 00*60",
        ),
        (CLIENT, "03 05 0d 05 00*3 0f 00*3"),
        (
            SERVER,
            "04 01 00*3 04 00 01 00*4 88 03 00*4 05 00 20 00 03 00*26 0d 00*6 36 01 00*14 \
             e0 93 58 06 00*60 12 'ORA-00904: x' 0a",
        ),
        (CLIENT, "11 69 10 fe ff*7 01 00*7 05 00*3 03 0e 11"),
        (SERVER, "09 05 00*3 04 00"),
        (CLIENT, "03 09 12"),
        (SERVER, "09 01 00*5"),
    ];
    write("tns", "native", &conversation(0, short(), &native));
    let older = [
        (CLIENT, "03 02 07 1c b6 12 00 00*4"),
        (SERVER, "08 01 00*3 09 01 00*3"),
        (CLIENT, "03 03 08 01 00*3 bc 73 46 00 12 00*3 06 'commit'"),
        (
            SERVER,
            "04 01 00*3 01 00*10 01 00*3 2c 00*26 08 00*6 36 01 00*6 04 94 14 05 00*28",
        ),
        (
            CLIENT,
            "03 5e 06 61 80 00*6 1c c4 29 06 16 00*3 30 a0 27 06 0d 00*7 64 a0 27 06 00*4 01 00*31 \
             66 a0 27 06 7c c4 29 06 00*12 74 a0 27 06 16 'SELECT USER FROM DUAL' 00 01 00*27 01 00*23",
        ),
        (
            SERVER,
            "06 02 01 00*3 19 00*11 07 01 'a' 00 00 04 01 00*3 01 00*9 01 00*3 03 00*23 06 00*2 01 00*17",
        ),
    ];
    let mut all = conversation(0, short(), &older);
    // A break and a reset on both sides; refused, redirected, in the middle of something.
    for (d, marker) in [(SERVER, 1), (SERVER, 2), (CLIENT, 2)] {
        all.extend(part(d | PACKET, &[12, 1, 0, marker]));
    }
    write("tns", "older", &all);
    let refused = part(SERVER | PACKET, &hex("04 22 00 00 0b '(ERR=12514)'"));
    write(
        "tns",
        "refused",
        &[&connected("01 3a", "")[..], &refused].concat(),
    );
    let away = part(
        SERVER | PACKET,
        &hex("05 00 20 '(ADDRESS=(HOST=10.0.0.9)(PORT=1))'"),
    );
    write(
        "tns",
        "redirected",
        &[&connected("01 3a", "")[..], &away].concat(),
    );
    let middle = conversation(LONG, Vec::new(), universal.get(5..).unwrap_or_default());
    write("tns", "middle", &middle);
}
