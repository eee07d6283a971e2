//! How a host gets its address (RFC 2131): a `DISCOVER` is answered by an offer, a `REQUEST` or an `INFORM`
//! by an acknowledgement or a refusal. Questions go to everybody from no address, and answers come from
//! anywhere, so that only the transaction's number says what belongs together.
//!
//! ```text
//! op:1 hardware type:1 hardware length:1 hops:1 xid:4 seconds:2 flags:2
//! client address:4 your address:4 server address:4 relay address:4
//! hardware address:16 server name:64 boot file:128
//! 99 130 83 99, then options: code:1 length:1 data; 0 is padding, 255 the end
//!              50 the address asked for, 53 the message's type
//! ```
//!
//! The name of a call is the address that is given, or else asked for, or else the hardware address of who
//! asks.

use crate::asked::{Answerer, Message, Says, Session};
use crate::list::Entry;
use crate::session::ConnectionInfo;
use model::{Direction, Name, Outcome, Protocol, Transport};
use std::net::Ipv4Addr;

/// DHCP in the list of protocols.
pub const ENTRY: Entry = Entry {
    name: "dhcp",
    probe: |connection, _, bytes| {
        connection.transport == Transport::Udp && Packet::parse(bytes).is_some()
    },
    session: |_| Box::new(Session::new(read)),
};

const DISCOVER: u8 = 1;
const OFFER: u8 = 2;
const REQUEST: u8 = 3;
const ACK: u8 = 5;
const NAK: u8 = 6;
const INFORM: u8 = 8;

/// What is read of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Packet {
    reply: bool,
    xid: u32,
    kind: u8,
    hardware: [u8; 6],
    /// The client's address: its own, given or asked for.
    address: Option<Ipv4Addr>,
}

impl Packet {
    fn parse(bytes: &[u8]) -> Option<Packet> {
        const COOKIE: [u8; 4] = [99, 130, 83, 99];
        let fixed: &[u8; 240] = bytes.first_chunk()?;
        let [op @ 1..=2, _, 0..=16, ..] = *fixed else {
            return None;
        };
        if !fixed.ends_with(&COOKIE) {
            return None;
        }
        let address = |at: usize| {
            let four: [u8; 4] = *fixed.get(at..)?.first_chunk()?;
            Some(Ipv4Addr::from(four)).filter(|a| !a.is_unspecified())
        };
        let mut kind = None;
        let mut wanted = None;
        let mut options = bytes.get(240..)?;
        while let Some((&code, rest)) = options.split_first() {
            if code == 255 {
                break;
            }
            let Some((&length, rest)) = rest.split_first().filter(|_| code != 0) else {
                options = rest;
                continue;
            };
            let (data, rest) = rest.split_at_checked(length.into())?;
            match (code, data) {
                (53, [k]) => kind = Some(*k),
                (50, [a, b, c, d]) => wanted = Some(Ipv4Addr::from([*a, *b, *c, *d])),
                _ => {}
            }
            options = rest;
        }
        Some(Packet {
            reply: op == 2,
            xid: u32::from_be_bytes(*fixed.get(4..)?.first_chunk()?),
            kind: kind.filter(|k| (1..=18).contains(k))?,
            hardware: *fixed.get(28..)?.first_chunk()?,
            address: address(16).or(address(12)).or(wanted),
        })
    }

    fn name(&self) -> String {
        let [a, b, c, d, e, f] = self.hardware;
        match self.address {
            Some(address) => address.to_string(),
            None => format!("{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{f:02x}"),
        }
    }
}

fn read(_connection: &ConnectionInfo, _d: Direction, bytes: &[u8]) -> Option<Message> {
    let packet = Packet::parse(bytes)?;
    let asks = |op| Says::Asks {
        op: Name::of(op),
        name: Some(packet.name().into()),
        answerer: Answerer::Everybody,
    };
    let answers = |outcome| Says::Answers {
        outcome,
        name: packet.address.map(|a| a.to_string().into()),
        status: None,
        records: u64::from(outcome == Outcome::Ok),
        stray: None,
    };
    let (questions, says): (&[u8], Says) = match (packet.reply, packet.kind) {
        (false, DISCOVER) => (&[DISCOVER], asks("DISCOVER")),
        (false, REQUEST) => (&[REQUEST], asks("REQUEST")),
        (false, INFORM) => (&[INFORM], asks("INFORM")),
        (true, OFFER) => (&[DISCOVER], answers(Outcome::Ok)),
        (true, ACK) => (&[REQUEST, INFORM], answers(Outcome::Ok)),
        (true, NAK) => (&[REQUEST], answers(Outcome::Error("NAK"))),
        _ => return None,
    };
    Some(Message {
        protocol: Protocol::Dhcp,
        id: packet.xid,
        questions: questions.iter().map(|q| u64::from(*q)).collect(),
        says,
    })
}

#[cfg(test)]
mod tests;
