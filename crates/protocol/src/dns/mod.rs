//! The Domain Name System: [`message`] reads its wire format (RFC 1035), which multicast DNS (RFC 6762)
//! and link-local multicast name resolution (RFC 4795) share, and says what each datagram asks or
//! answers; [`asked`](crate::asked) makes calls of them.
//!
//! A call's operation is the type that is asked for (`A`, `AAAA`, `PTR`), its name stands in the detail,
//! and its outcome is the answer's code (`NXDOMAIN`, `SERVFAIL`). `ok` without records (`answers` is 0)
//! is a name that has none of that type.

pub(crate) mod message;
#[cfg(test)]
mod tests;

use crate::asked::{Answerer, Message, Says, Session, question};
use crate::list::Entry;
use crate::session::ConnectionInfo;
use message::{Kind, Parsed};
use model::{Direction, Name, Outcome, Protocol, Transport};

/// DNS, mDNS and LLMNR in the list of protocols.
pub const ENTRY: Entry = Entry {
    name: "dns",
    probe,
    session: |_| Box::new(Session::new(read)),
};

const DNS: u16 = 53;
const MDNS: u16 = 5353;
const LLMNR: u16 = 5355;
const NBNS: u16 = 137;
/// Bytes of a header (RFC 1035 section 4.1.1).
const HEADER: u16 = 12;

/// On the well-known ports a header that can be is enough, elsewhere it takes a whole query or response
/// about a name, and nothing behind it.
fn probe(connection: &ConnectionInfo, _d: Direction, bytes: &[u8]) -> bool {
    let ports = [connection.client.port, connection.server.port];
    if ports.contains(&NBNS) {
        return false;
    }
    let well_known = ports.iter().any(|p| [DNS, MDNS, LLMNR].contains(p));
    let bytes = match connection.transport {
        Transport::Udp => bytes,
        Transport::Tcp => match bytes.split_first_chunk::<2>() {
            // Some write the length for itself; no message is shorter than its header.
            Some((length, [])) => return well_known && u16::from_be_bytes(*length) >= HEADER,
            // The first segment has the whole message, or its start.
            Some((length, rest)) if usize::from(u16::from_be_bytes(*length)) >= rest.len() => rest,
            _ => return false,
        },
    };
    match message::parse(bytes) {
        Some(m) if well_known => m.sane,
        Some(m) => connection.transport == Transport::Udp && m.certain,
        None => false,
    }
}

fn read(connection: &ConnectionInfo, _d: Direction, bytes: &[u8]) -> Option<Message> {
    let m = message::parse(bytes).filter(|m| m.sane)?;
    let ports = [connection.client.port, connection.server.port];
    let protocol = match ports {
        p if p.contains(&MDNS) => Protocol::Mdns,
        p if p.contains(&LLMNR) => Protocol::Llmnr,
        _ => Protocol::Dns,
    };
    // A question to everybody from another port than theirs wants the answer for itself (RFC 6762
    // section 6.7).
    let answerer = match protocol {
        Protocol::Mdns if ports == [MDNS, MDNS] => Answerer::Everybody,
        Protocol::Mdns | Protocol::Llmnr => Answerer::Anybody,
        _ => Answerer::Asked,
    };
    let asked = m.question.as_ref();
    let id = match answerer {
        Answerer::Everybody => 0,
        _ => u32::from(m.id),
    };
    if m.response {
        return Some(Message {
            protocol,
            id,
            questions: answered(&m, protocol, bytes),
            says: answer(&m, protocol),
        });
    }
    let (op, name) = match asked {
        Some(q) => (q.kind.name(), Some(message::text(&q.name))),
        None if m.opcode == 0 => return None,
        None => (m.operation(), None),
    };
    Some(Message {
        protocol,
        id,
        questions: asked
            .map(|q| question(&q.name, q.kind.0))
            .into_iter()
            .collect(),
        says: Says::Asks {
            op: if m.opcode == 0 { op } else { m.operation() },
            name: name.map(Into::into),
            answerer,
        },
    })
}

/// Which questions a response answers: the one it repeats, or, of mDNS, those about its records.
fn answered(m: &Parsed, protocol: Protocol, bytes: &[u8]) -> Vec<u64> {
    match (&m.question, protocol) {
        (Some(q), _) => vec![question(&q.name, q.kind.0)],
        (None, Protocol::Mdns) => message::answers(bytes)
            .flat_map(|(name, kind)| [question(&name, kind.0), question(&name, Kind::ANY.0)])
            .collect(),
        (None, _) => Vec::new(),
    }
}

fn answer(m: &Parsed, protocol: Protocol) -> Says {
    let outcome = match (m.code(), m.rcode) {
        (_, 0) => Outcome::Ok,
        (Some(name), _) => Outcome::Error(name),
        (None, _) => Outcome::Error("error"),
    };
    let stray = m.question.as_ref().map(|q| match m.opcode {
        0 => q.kind.name(),
        _ => m.operation(),
    });
    Says::Answers {
        outcome,
        name: None,
        status: (m.rcode != 0 && m.code().is_none()).then_some(m.rcode.into()),
        records: m.answers.into(),
        stray: stray
            .or(Some(Name::of("QUERY")))
            .filter(|_| protocol == Protocol::Dns),
    }
}
