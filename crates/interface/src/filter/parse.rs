//! Words into a shape of primitives, by the grammar of pcap-filter(7):
//!
//! ```text
//! expression  = term { ("and" | "or") term }          both bind alike, from the left
//! term        = ("not" | "!") term | "(" expression ")" | primitive | value
//! primitive   = network | transport | "vlan" [ID]
//!             | [network] [end] ["host"] ADDRESS | [network] [end] "net" NETWORK
//!             | [transport] [end] ("port" N | "portrange" A-B)
//! end         = "src" | "dst" | "src or dst" | "src and dst"
//! ```
//!
//! A value alone takes the qualifiers before it: `port 80 or 443`. Values may stand in parentheses behind
//! their qualifiers: `port (80 or 443)`. `vlan` is counted in the order of the text: what stands behind it
//! looks behind the tag, wherever the parentheses are.

use super::shape::{End, Network, Primitive, Shape, Transport, What};
use super::words::{Word, words};
use super::{Refused, SUPPORTED};
use std::net::{Ipv4Addr, Ipv6Addr};

/// Deepest nesting; each takes some stack.
const DEEPEST: usize = 100;

/// The shape; `None` for a text without words, which means all packets.
pub(super) fn parse(text: &str) -> Result<Option<Shape<Primitive>>, Refused> {
    let words = words(text)?;
    if words.is_empty() {
        return Ok(None);
    }
    let mut parser = Parser {
        words: &words,
        at: 0,
        end: text.chars().count() + 1,
        tags: 0,
        depth: 0,
        before: None,
    };
    let shape = parser.expression()?;
    match parser.peek() {
        None => Ok(Some(shape)),
        Some(word) if word.text == ")" => Err(refuse(word.column, "no ( belongs to this )")),
        Some(word) => Err(refuse(
            word.column,
            format!("and or or is missing before {:?}", word.text),
        )),
    }
}

/// What stands before a value and says what it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Qualifiers {
    network: Option<Network>,
    transport: Option<Transport>,
    end: End,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Host,
    Net,
    Port,
    PortRange,
}

struct Parser<'a> {
    words: &'a [Word<'a>],
    at: usize,
    /// The column behind the text.
    end: usize,
    tags: u32,
    depth: usize,
    /// Of the latest primitive, for values that stand alone.
    before: Option<Qualifiers>,
}

type Parsed = Result<Shape<Primitive>, Refused>;

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<Word<'a>> {
        self.words.get(self.at).copied()
    }

    fn text(&self) -> &'a str {
        self.peek().map_or("", |word| word.text)
    }

    fn behind(&self, words: usize) -> &'a str {
        self.words.get(self.at + words).map_or("", |word| word.text)
    }

    fn column(&self) -> usize {
        self.peek().map_or(self.end, |word| word.column)
    }

    fn take(&mut self, text: &str) -> bool {
        let is = self.text() == text;
        self.at += usize::from(is);
        is
    }

    fn expression(&mut self) -> Parsed {
        let mut shape = self.term()?;
        loop {
            if self.take("and") || self.take("&&") {
                shape = shape.and(self.term()?);
            } else if self.take("or") || self.take("||") {
                shape = shape.or(self.term()?);
            } else {
                return Ok(shape);
            }
        }
    }

    fn term(&mut self) -> Parsed {
        self.depth += 1;
        if self.depth > DEEPEST {
            let what = format!("nested deeper than {DEEPEST}");
            return Err(refuse(self.column(), what));
        }
        let shape = if self.take("not") || self.take("!") {
            self.term()?.not()
        } else if self.take("(") {
            let shape = self.expression()?;
            self.close()?;
            shape
        } else {
            self.primitive()?
        };
        self.depth -= 1;
        Ok(shape)
    }

    fn close(&mut self) -> Result<(), Refused> {
        if self.take(")") {
            return Ok(());
        }
        let what = match self.peek() {
            None => "a ) is missing".to_owned(),
            Some(word) => format!("and, or or ) is missing before {:?}", word.text),
        };
        Err(refuse(self.column(), what))
    }

    fn primitive(&mut self) -> Parsed {
        let column = self.column();
        if self.take("vlan") {
            let id = match self.text().parse::<u16>() {
                Ok(id) if id < 4096 => Some(id),
                Ok(_) => return Err(refuse(self.column(), "VLANs are 0 to 4095")),
                Err(_) => None,
            };
            self.at += usize::from(id.is_some());
            self.before = None;
            let shape = self.is(column, What::Vlan(id));
            self.tags += 1;
            return Ok(shape);
        }
        let network = network(self.text());
        let transport = transport(self.text());
        self.at += usize::from(network.is_some() || transport.is_some());
        let end = self.direction();
        let kind = match self.text() {
            "host" => Some(Kind::Host),
            "net" => Some(Kind::Net),
            "port" => Some(Kind::Port),
            "portrange" => Some(Kind::PortRange),
            _ => None,
        };
        let kind_column = self.column();
        self.at += usize::from(kind.is_some());
        let qualifiers = match (network, transport, end, kind) {
            (Some(network), _, None, None) => {
                self.before = None;
                return Ok(self.is(column, What::Network(network)));
            }
            (_, Some(transport), None, None) => {
                self.before = None;
                return Ok(self.is(column, What::Transport(transport)));
            }
            (None, None, None, None) => {
                // What is no value of the kind before is a primitive that is not known.
                return match self.before.map(|before| self.value(before)) {
                    Some(Ok(shape)) => Ok(shape),
                    Some(Err(e)) if self.text().starts_with(|c: char| c.is_ascii_digit()) => Err(e),
                    _ => Err(self.unknown()),
                };
            }
            _ => Qualifiers {
                network,
                transport,
                end: end.unwrap_or(End::Either),
                kind: kind.unwrap_or(Kind::Host),
            },
        };
        let ports = matches!(qualifiers.kind, Kind::Port | Kind::PortRange);
        let fits = if ports {
            network.is_none() && !matches!(transport, Some(Transport::Icmp | Transport::Icmp6))
        } else {
            transport.is_none()
        };
        if !fits {
            let what = if ports {
                "ports are of tcp, udp and sctp"
            } else {
                "addresses are of ip, ip6, arp and rarp: say tcp and host ADDRESS"
            };
            return Err(refuse(kind_column, what));
        }
        self.before = Some(qualifiers);
        self.values(qualifiers)
    }

    fn direction(&mut self) -> Option<End> {
        let (end, other) = match self.text() {
            "src" => (End::Source, "dst"),
            "dst" => (End::Destination, "src"),
            _ => return None,
        };
        let both = self.behind(2) == other;
        let (end, words) = match self.behind(1) {
            "or" | "||" if both => (End::Either, 3),
            "and" | "&&" if both => (End::Both, 3),
            _ => (end, 1),
        };
        self.at += words;
        Some(end)
    }

    /// A value, or several in parentheses.
    fn values(&mut self, qualifiers: Qualifiers) -> Parsed {
        if self.text() == "(" {
            return self.term();
        }
        self.value(qualifiers)
    }

    fn value(&mut self, qualifiers: Qualifiers) -> Parsed {
        let Some(word) = self.peek() else {
            let what = match qualifiers.kind {
                Kind::Host => "an address is missing",
                Kind::Net => "a network is missing",
                Kind::Port => "a port is missing",
                Kind::PortRange => "a range of ports is missing",
            };
            return Err(refuse(self.end, what));
        };
        let what = match qualifiers.kind {
            Kind::Host => host(word, qualifiers)?,
            Kind::Net => {
                let mask = (self.behind(1) == "mask").then(|| self.behind(2));
                let what = net(word, mask, qualifiers)?;
                self.at += if mask.is_some() { 2 } else { 0 };
                what
            }
            Kind::Port => {
                let port = port(word, word.text)?;
                ports(qualifiers, port, port)
            }
            Kind::PortRange => {
                let (first, last) = word
                    .text
                    .split_once('-')
                    .ok_or_else(|| refuse(word.column, "a range of ports is written FIRST-LAST"))?;
                let (a, b) = (port(word, first)?, port(word, last)?);
                ports(qualifiers, a.min(b), a.max(b))
            }
        };
        self.at += 1;
        Ok(self.is(word.column, what))
    }

    fn is(&self, column: usize, what: What) -> Shape<Primitive> {
        Shape::Is(Primitive {
            tags: self.tags,
            column,
            what,
        })
    }

    fn unknown(&self) -> Refused {
        let what = match self.text() {
            "" => format!("something is missing here; supported are {SUPPORTED}"),
            text => format!("{text:?} is not supported; supported are {SUPPORTED}"),
        };
        refuse(self.column(), what)
    }
}

fn network(text: &str) -> Option<Network> {
    Some(match text {
        "ip" => Network::Ip,
        "ip6" => Network::Ip6,
        "arp" => Network::Arp,
        "rarp" => Network::Rarp,
        _ => return None,
    })
}

fn transport(text: &str) -> Option<Transport> {
    Some(match text {
        "tcp" => Transport::Tcp,
        "udp" => Transport::Udp,
        "sctp" => Transport::Sctp,
        "icmp" => Transport::Icmp,
        "icmp6" => Transport::Icmp6,
        _ => return None,
    })
}

fn host(word: Word<'_>, qualifiers: Qualifiers) -> Result<What, Refused> {
    if let Ok(address) = word.text.parse::<Ipv4Addr>() {
        v4(word, qualifiers, address, Ipv4Addr::BROADCAST)
    } else if let Ok(address) = word.text.parse::<Ipv6Addr>() {
        v6(word, qualifiers, address, 128)
    } else if word.text.contains('/') {
        Err(refuse(
            word.column,
            format!("a network: say net {}", word.text),
        ))
    } else {
        let what = format!(
            "{:?} is no address; names are not looked up: getent hosts {}",
            word.text, word.text
        );
        Err(refuse(word.column, what))
    }
}

fn net(word: Word<'_>, mask: Option<&str>, qualifiers: Qualifiers) -> Result<What, Refused> {
    let (address, bits) = match word.text.split_once('/') {
        Some((address, bits)) => (address, Some(bits)),
        None => (word.text, None),
    };
    let bad = |what: &str| Err(refuse(word.column, format!("{:?}: {what}", word.text)));
    let bits = match bits.map(str::parse::<u8>) {
        None => None,
        Some(Ok(bits)) => Some(bits),
        Some(Err(_)) => return bad("a mask is a number of bits"),
    };
    if let Ok(address) = address.parse::<Ipv6Addr>() {
        let bits = bits.unwrap_or(128);
        if bits > 128 || mask.is_some() {
            return bad("at most 128 bits, and no mask");
        }
        let of = u128::MAX.checked_shl(128 - u32::from(bits)).unwrap_or(0);
        if address.to_bits() & !of != 0 {
            return bad("bits are set that are not of the network");
        }
        return v6(word, qualifiers, address, bits);
    }
    let Some((address, natural)) = partial(address) else {
        return bad("no network; one is written 10.1.0.0/16 or fd00::/8");
    };
    let of = match (bits, mask.map(str::parse::<Ipv4Addr>)) {
        (None, Some(Ok(mask))) => mask,
        (_, Some(_)) => return bad("a mask is written mask 255.255.0.0 or /16"),
        (None, None) => Ipv4Addr::from_bits(high_bits(natural)),
        (Some(bits), None) if bits <= 32 => Ipv4Addr::from_bits(high_bits(bits)),
        (Some(_), None) => return bad("at most 32 bits"),
    };
    if address.to_bits() & !of.to_bits() != 0 {
        return bad("bits are set that are not of the network");
    }
    v4(word, qualifiers, address, of)
}

/// One to four numbers from the left, and how many bits they are.
fn partial(text: &str) -> Option<(Ipv4Addr, u8)> {
    let mut bytes = [0_u8; 4];
    let mut bits = 0_u8;
    let mut places = bytes.iter_mut();
    for part in text.split('.') {
        if part.is_empty() || !part.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        *places.next()? = part.parse().ok()?;
        bits += 8;
    }
    Some((bytes.into(), bits))
}

fn high_bits(bits: u8) -> u32 {
    u32::MAX.checked_shl(32 - u32::from(bits)).unwrap_or(0)
}

fn v4(
    word: Word<'_>,
    qualifiers: Qualifiers,
    address: Ipv4Addr,
    mask: Ipv4Addr,
) -> Result<What, Refused> {
    if qualifiers.network == Some(Network::Ip6) {
        return Err(refuse(word.column, "ip6 has no such address"));
    }
    Ok(What::V4 {
        of: qualifiers.network,
        end: qualifiers.end,
        address,
        mask,
    })
}

fn v6(
    word: Word<'_>,
    qualifiers: Qualifiers,
    address: Ipv6Addr,
    bits: u8,
) -> Result<What, Refused> {
    match qualifiers.network {
        None | Some(Network::Ip6) => Ok(What::V6 {
            end: qualifiers.end,
            address,
            bits,
        }),
        Some(_) => Err(refuse(word.column, "only ip6 has such an address")),
    }
}

fn port(word: Word<'_>, text: &str) -> Result<u16, Refused> {
    text.parse().map_err(|_| {
        let what = format!("{text:?} is no port; ports are 0 to 65535, by number");
        refuse(word.column, what)
    })
}

fn ports(qualifiers: Qualifiers, first: u16, last: u16) -> What {
    What::Ports {
        of: qualifiers.transport,
        end: qualifiers.end,
        first,
        last,
    }
}

fn refuse(column: usize, what: impl Into<String>) -> Refused {
    Refused {
        column,
        what: what.into(),
    }
}
