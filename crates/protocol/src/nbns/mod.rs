//! NetBIOS's name service (RFC 1002 section 4.2): which machine has this name, asked of everybody on the
//! link or of a name server.
//!
//! ```text
//! header    as in DNS: id:2 flags:2 questions:2 answers:2 authorities:2 additionals:2
//!           flags: response:1 opcode:4 AA TC RD RA 0 0 broadcast:1 rcode:4
//! question  name type:2 class:2    32 for NB, 33 for NBSTAT
//! name      a label of 32 letters A to P, two for each of 16 bytes, then a scope in further labels;
//!           the last of the bytes says what kind of service it is: shown as `NAME<20>`
//! ```
//!
//! A query's operation is `NB` or `NBSTAT`; those by which a host claims, keeps or gives up a name are
//! `REGISTRATION`, `REFRESH`, `RELEASE`. Nobody answers a claim that nobody disputes, as it should be:
//! such questions are calls only when they are answered or were sent to one server.

use crate::asked::{Answerer, Message, Says, Session, question};
use crate::dns::message::{self as dns, Parsed};
use crate::list::Entry;
use crate::session::ConnectionInfo;
use model::{Direction, Name, Outcome, Protocol, Transport};

/// NetBIOS names in the list of protocols.
pub const ENTRY: Entry = Entry {
    name: "nbns",
    probe: |connection, _, bytes| {
        let ports = [connection.client.port, connection.server.port];
        connection.transport == Transport::Udp && ports.contains(&PORT) && parse(bytes).is_some()
    },
    session: |_| Box::new(Session::new(read)),
};

const PORT: u16 = 137;
const NB: u16 = 32;
const NBSTAT: u16 = 33;
const BROADCAST: u16 = 0x0010;

/// A message, its flags, and the first name in it.
struct Packet {
    header: Parsed,
    flags: u16,
    name: Vec<u8>,
    kind: u16,
}

/// Responses repeat no question: their first record has its name.
fn parse(bytes: &[u8]) -> Option<Packet> {
    const HEADER: usize = 12;
    let header = dns::parse(bytes)?;
    let flags = u16::from_be_bytes(*bytes.get(2..)?.first_chunk()?);
    let (name, at) = dns::name(bytes, HEADER)?;
    let kind = u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?);
    let encoded = name.split_first_chunk::<33>()?.0;
    let is_name =
        encoded.first() == Some(&32) && encoded.iter().skip(1).all(|b| (b'A'..=b'P').contains(b));
    is_name.then_some(Packet {
        header,
        flags,
        name,
        kind,
    })
}

/// `NAME<20>` of the 32 letters.
fn text(labels: &[u8]) -> String {
    let letters = labels.get(1..33).unwrap_or_default();
    let (pairs, _) = letters.as_chunks::<2>();
    let decoded = pairs
        .iter()
        .map(|[high, low]| (high - b'A') << 4 | (low - b'A'));
    let decoded: Vec<u8> = decoded.collect();
    let (service, name) = decoded.split_last().unwrap_or((&0, &[]));
    let mut out = String::new();
    let end = name
        .iter()
        .rposition(|b| !matches!(b, b' ' | 0))
        .map_or(0, |i| i + 1);
    for &b in name.get(..end).unwrap_or_default() {
        match b {
            b'!'..=b'~' | b' ' => out.push(char::from(b)),
            _ => out.push_str(&format!("\\{b:03}")),
        }
    }
    out.push_str(&format!("<{service:02x}>"));
    if let Some(scope) = labels.get(33..).filter(|s| !s.is_empty()) {
        out.push('.');
        out.push_str(&dns::text(scope));
    }
    out
}

fn operation(opcode: u8, kind: u16) -> Option<Name> {
    Some(Name::of(match opcode {
        0 if kind == NBSTAT => "NBSTAT",
        0 => "NB",
        5 => "REGISTRATION",
        6 => "RELEASE",
        7 => "WACK",
        8 | 9 => "REFRESH",
        15 => "MULTIHOMED",
        _ => return None,
    }))
}

fn read(connection: &ConnectionInfo, d: Direction, bytes: &[u8]) -> Option<Message> {
    let packet = parse(bytes)?;
    let Parsed {
        id, opcode, rcode, ..
    } = packet.header;
    let op = operation(opcode, packet.kind)?;
    // A status response names NBSTAT, a positive name response NB, a negative one may name NULL.
    let kind = if packet.kind == NBSTAT { NBSTAT } else { NB };
    let says = if packet.header.response {
        // "Wait for acknowledgement" is not yet an answer.
        if opcode == 7 {
            return None;
        }
        Says::Answers {
            outcome: match rcode {
                0 => Outcome::Ok,
                1 => Outcome::Error("FMT_ERR"),
                2 => Outcome::Error("SRV_ERR"),
                3 => Outcome::Error("NAM_ERR"),
                4 => Outcome::Error("IMP_ERR"),
                5 => Outcome::Error("RFS_ERR"),
                6 => Outcome::Error("ACT_ERR"),
                7 => Outcome::Error("CFT_ERR"),
                _ => Outcome::Error("error"),
            },
            name: None,
            status: (rcode > 7).then_some(rcode.into()),
            records: packet.header.answers.into(),
            stray: None,
        }
    } else {
        let broadcast = packet.flags & BROADCAST != 0 || {
            let to = connection.ends(d).1;
            matches!(to.address, std::net::IpAddr::V4(a) if a.is_broadcast() || a.is_multicast())
        };
        if broadcast && opcode != 0 {
            return None;
        }
        Says::Asks {
            op,
            name: Some(text(&packet.name).into()),
            answerer: match broadcast {
                true => Answerer::Anybody,
                false => Answerer::Asked,
            },
        }
    };
    Some(Message {
        protocol: Protocol::Nbns,
        id: id.into(),
        questions: vec![question(&packet.name, kind)],
        says,
    })
}

#[cfg(test)]
mod tests;
