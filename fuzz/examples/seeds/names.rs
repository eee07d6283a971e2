//! Datagrams for `names`: questions and answers of DNS (RFC 1035), mDNS (RFC 6762), LLMNR (RFC 4795) and of NetBIOS
//! names (RFC 1002), on whichever port the number of bytes says.

use crate::messages::part;
use crate::write;

/// A port, a question that is asked there, and its answer.
pub fn pairs() -> Vec<(u16, Vec<u8>, Vec<u8>)> {
    let evil = b"e\x1b]52;\x07\xe2\x80\xae=1+1";
    vec![
        (
            53,
            question(1, 0x100, &[b"example", b"com"], 1),
            answer(1, 0x8180, &[b"example", b"com"], 1, 2),
        ),
        (
            53,
            question(2, 0x100, &[evil, b"com"], 28),
            answer(2, 0x8183, &[evil, b"com"], 28, 0),
        ),
        (
            53,
            question(3, 0x100, &[b"big"], 16),
            answer(3, 0x8380, &[b"big"], 16, 0),
        ),
        (
            5_353,
            question(0, 0, &[b"printer", b"local"], 255),
            answer(0, 0x8400, &[b"printer", b"local"], 1, 1),
        ),
        (
            5_355,
            question(9, 0, &[b"host"], 1),
            answer(9, 0x8000, &[b"host"], 1, 1),
        ),
        (137, netbios(0x110, false), netbios(0x8500, true)),
        (137, netbios(0x110, false), netbios(0x8503, true)),
        // A registration, and its refusal.
        (137, netbios(0x2910, false), netbios(0xad86, true)),
    ]
}

pub fn write_all() {
    const UP: u8 = 0;
    const DOWN: u8 = 1;
    const LATER: u8 = 2 << 2;
    const MUCH_LATER: u8 = 3 << 2;
    const CUT: u8 = 2;
    const CLOSED: u8 = 0x80;
    let pairs = pairs();
    for (name, [up, down]) in [
        ("answered", [UP, DOWN | LATER]),
        ("late", [UP, DOWN | MUCH_LATER]),
        ("cut", [UP | CUT, DOWN | CUT]),
        ("again", [UP, UP | LATER]),
        ("closed", [UP | CLOSED, DOWN | CLOSED]),
    ] {
        let said: Vec<u8> = pairs
            .iter()
            .flat_map(|(_, question, answer)| {
                let second = if name == "again" { question } else { answer };
                [part(up, question), part(down, second)].concat()
            })
            .collect();
        // The number of bytes decides which port it is, so each comes with as many as are for each.
        for more in 0..4 {
            let input = [&said[..], &vec![0; more]].concat();
            write("names", &format!("{name}-{}", input.len() % 4), &input);
        }
    }
    // Without questions, as who crosses; all at once; and the answers first.
    let questions: Vec<u8> = pairs.iter().flat_map(|(_, q, _)| part(UP, q)).collect();
    let answers: Vec<u8> = pairs
        .iter()
        .rev()
        .flat_map(|(_, _, a)| part(DOWN, a))
        .collect();
    write("names", "all-at-once", &[&questions[..], &answers].concat());
    write(
        "names",
        "answers-first",
        &[&answers[..], &questions, &[0]].concat(),
    );
    // A name that points at itself, and one that points behind the end.
    for (name, pointer) in [("circle", [0xc0, 12]), ("beyond", [0xc0, 200])] {
        let header = header(7, 0x100, 1, 0);
        let question = [&header[..], &pointer, &[0, 1, 0, 1]].concat();
        write("names", name, &[part(UP, &question), vec![0; 3]].concat());
    }
}

fn header(id: u16, flags: u16, questions: u16, answers: u16) -> Vec<u8> {
    let words = [id, flags, questions, answers, 0, 0];
    words.iter().flat_map(|w| w.to_be_bytes()).collect()
}

fn name(labels: &[&[u8]]) -> Vec<u8> {
    let label = |l: &&[u8]| [&[l.len() as u8], *l].concat();
    [labels.iter().flat_map(label).collect(), vec![0]].concat()
}

fn question(id: u16, flags: u16, labels: &[&[u8]], kind: u16) -> Vec<u8> {
    let asked = [kind, 1].map(u16::to_be_bytes).concat();
    [header(id, flags, 1, 0), name(labels), asked].concat()
}

/// Records whose name points back at the question's.
fn answer(id: u16, flags: u16, labels: &[&[u8]], kind: u16, records: u16) -> Vec<u8> {
    let mut bytes = question(id, flags, labels, kind);
    bytes[6..8].copy_from_slice(&records.to_be_bytes());
    for host in 0..records {
        bytes.extend([
            0xc0, 12, 0, kind as u8, 0, 1, 0, 0, 0, 60, 0, 4, 192, 0, 2, host as u8,
        ]);
    }
    bytes
}

/// `FILESERVER<20>`, sixteen bytes as two letters each.
fn netbios(flags: u16, is_answer: bool) -> Vec<u8> {
    let mut bytes = header(0x8001, flags, u16::from(!is_answer), u16::from(is_answer));
    bytes.push(32);
    bytes.extend(
        b"FILESERVER     \x20"
            .iter()
            .flat_map(|b| [b'A' + (b >> 4), b'A' + (b & 15)]),
    );
    bytes.extend([0, 0, 32, 0, 1]);
    if is_answer {
        bytes.extend([0, 0, 0, 60, 0, 6, 0, 0, 192, 0, 2, 7]);
    }
    bytes
}
