//! Sessions of SMB 2 for `smb2`: requests and responses of each command ([MS-SMB2] 2.2), alone, chained, answered later,
//! in pieces and with holes.

use crate::messages::part;
use crate::write;

const CREATE: u16 = 5;
const CLOSE: u16 = 6;
const READ: u16 = 8;
const WRITE: u16 = 9;
const RESPONSE: u32 = 1;
const LATER: u32 = 2;
const RELATED: u32 = 4;
const PENDING: u32 = 0x103;
const NOT_FOUND: u32 = 0xc000_0034;

/// A header of 64 bytes, and a body.
fn message(command: u16, id: u64, flags: u32, status: u32, body: &[u8]) -> Vec<u8> {
    let mut bytes = b"\xfeSMB\x40\0\0\0".to_vec();
    bytes.extend(status.to_le_bytes());
    bytes.extend(command.to_le_bytes());
    bytes.extend([1, 0]);
    bytes.extend(flags.to_le_bytes());
    bytes.extend([0; 4]);
    bytes.extend(id.to_le_bytes());
    bytes.resize(64, 0);
    bytes.extend_from_slice(body);
    bytes
}

fn framed(message: &[u8]) -> Vec<u8> {
    [&(message.len() as u32).to_be_bytes()[..], message].concat()
}

/// Messages one behind the other in one frame.
fn chained(messages: &[Vec<u8>]) -> Vec<u8> {
    let mut all = Vec::new();
    for (n, message) in messages.iter().enumerate() {
        let mut message = message.clone();
        if n + 1 < messages.len() {
            message.resize(message.len().next_multiple_of(8), 0);
            let next = (message.len() as u32).to_le_bytes();
            message[20..24].copy_from_slice(&next);
        }
        all.extend(message);
    }
    framed(&all)
}

fn create(name: &str) -> Vec<u8> {
    let name: Vec<u8> = name.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let mut body = vec![57, 0];
    body.resize(44, 0);
    body.extend(120_u16.to_le_bytes());
    body.extend((name.len() as u16).to_le_bytes());
    body.resize(56, 0);
    body.extend(name);
    body
}

fn read() -> Vec<u8> {
    [
        &[49, 0, 0, 0][..],
        &8_192_u32.to_le_bytes(),
        &4_096_u64.to_le_bytes(),
        &[7; 16],
        &[0; 17],
    ]
    .concat()
}

fn write_request(data: &[u8]) -> Vec<u8> {
    let head = [
        &[49, 0, 112, 0][..],
        &(data.len() as u32).to_le_bytes(),
        &64_u64.to_le_bytes(),
        &[7; 16],
        &[0; 16],
    ];
    [&head.concat()[..], data].concat()
}

/// Whether the client says it, and what.
pub fn messages(name: &str) -> Vec<(bool, Vec<u8>)> {
    let opened = [&[89, 0][..], &[0; 62], &[7; 16], &[0; 8]].concat();
    let mut data = vec![17, 0, 80, 0];
    data.extend(64_u32.to_le_bytes());
    data.resize(16 + 64, 9);
    let error = [9, 0, 0, 0, 0, 0, 0, 0, 0];
    vec![
        (true, framed(&message(0, 0, 0, 0, &[36, 0, 1, 0]))),
        (false, framed(&message(0, 0, RESPONSE, 0, &[65, 0]))),
        (true, framed(&message(CREATE, 3, 0, 0, &create(name)))),
        (false, framed(&message(CREATE, 3, RESPONSE, 0, &opened))),
        (true, framed(&message(READ, 4, 0, 0, &read()))),
        (
            false,
            framed(&message(READ, 4, RESPONSE | LATER, PENDING, &error)),
        ),
        (false, framed(&message(READ, 4, RESPONSE | LATER, 0, &data))),
        (
            true,
            framed(&message(WRITE, 5, 0, 0, &write_request(&[8; 300]))),
        ),
        (
            false,
            framed(&message(
                WRITE,
                5,
                RESPONSE,
                0,
                &[17, 0, 0, 0, 44, 1, 0, 0, 0],
            )),
        ),
        (
            true,
            chained(&[
                message(CREATE, 6, 0, 0, &create("b.ora")),
                message(READ, 7, RELATED, 0, &read()),
                message(CLOSE, 8, RELATED, 0, &[24, 0]),
            ]),
        ),
        (
            false,
            chained(&[
                message(CREATE, 6, RESPONSE, NOT_FOUND, &error),
                message(READ, 7, RESPONSE | RELATED, 0xc000_0008, &error),
                message(CLOSE, 8, RESPONSE | RELATED, 0xdead_beef, &error),
            ]),
        ),
    ]
}

pub fn write_all() {
    const GAP: u8 = 5 << 1;
    let said = messages("a.ora");
    let d = |is_client: bool| u8::from(!is_client);
    let whole = |(is_client, bytes): &(bool, Vec<u8>)| part(d(*is_client), bytes);
    let session: Vec<u8> = said.iter().flat_map(whole).collect();
    write("smb2", "session", &session);
    let pieces = said
        .iter()
        .flat_map(|(c, bytes)| bytes.chunks(23).flat_map(|p| part(d(*c), p)));
    write("smb2", "pieces", &pieces.collect::<Vec<u8>>());
    // The middle of one message after the other is missing.
    for (n, (is_client, bytes)) in said.iter().enumerate() {
        let (head, rest) = bytes.split_at(bytes.len() / 3);
        let hidden = rest.len() / 2;
        let holed = [
            &part(d(*is_client), head)[..],
            &[d(*is_client) | GAP, hidden as u8, 0],
            &part(d(*is_client), &rest[hidden..]),
        ]
        .concat();
        let input: Vec<u8> = said
            .iter()
            .enumerate()
            .flat_map(|(m, one)| if n == m { holed.clone() } else { whole(one) })
            .collect();
        write("smb2", &format!("hole-{n}"), &input);
    }
    // Each command there is and some that are not, asked and refused.
    let every = (0..24_u16).flat_map(|command| {
        let id = 100 + u64::from(command);
        let ask = framed(&message(command, id, 0, 0, &[0; 64]));
        let answer = framed(&message(
            command,
            id,
            RESPONSE,
            u32::from(command) | 0xc000_0000,
            &[9; 9],
        ));
        [part(0, &ask), part(1, &answer)].concat()
    });
    write("smb2", "every-command", &every.collect::<Vec<u8>>());
    // Encrypted ([MS-SMB2] 2.2.41), compressed, and the older protocol.
    let hidden: Vec<u8> = [b"\xfdSMB", b"\xfcSMB", b"\xffSMB"]
        .iter()
        .flat_map(|magic| {
            let mut bytes = magic.to_vec();
            bytes.resize(80, 3);
            [part(0, &framed(&bytes)), part(1, &framed(&bytes))].concat()
        })
        .collect();
    write(
        "smb2",
        "hidden",
        &[&session[..], &hidden, &session].concat(),
    );
    // Ends without a word, is there again, and says nothing.
    write(
        "smb2",
        "closed",
        &[&session[..session.len() / 2], &[6 << 1, 0, 0], &session].concat(),
    );
    let keepalive = part(0, &[0; 4]);
    write(
        "smb2",
        "keepalive",
        &[&keepalive[..], &session, &keepalive].concat(),
    );
}
