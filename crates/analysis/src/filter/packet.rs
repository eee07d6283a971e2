//! Comparisons of packets: hosts and ports of either end or of one, what they hold, how long they are.

use super::subject::{Unit, Value, compare, network, number, within};
use super::{Comparison, Fault, Operator, glob, nearest};
use model::{Cast, Sight, SightKind};
use std::net::IpAddr;

/// What a comparison looks at. Of what has two ends, either may be meant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Subject {
    Host(Ends),
    Port(Ends),
    Protocol,
    /// Bytes on the wire, and captured.
    Length,
    Captured,
    Vlan,
    Cast,
    Frame,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Ends {
    Either,
    Source,
    Destination,
}

const SUBJECTS: [(&str, Subject); 13] = [
    ("host", Subject::Host(Ends::Either)),
    ("source", Subject::Host(Ends::Source)),
    ("source.address", Subject::Host(Ends::Source)),
    ("destination", Subject::Host(Ends::Destination)),
    ("destination.address", Subject::Host(Ends::Destination)),
    ("port", Subject::Port(Ends::Either)),
    ("source.port", Subject::Port(Ends::Source)),
    ("destination.port", Subject::Port(Ends::Destination)),
    ("protocol", Subject::Protocol),
    ("bytes", Subject::Length),
    ("captured", Subject::Captured),
    ("vlan", Subject::Vlan),
    ("cast", Subject::Cast),
];

/// One comparison, ready to be asked.
#[derive(Clone, Debug)]
pub(super) struct PacketTest {
    subject: Subject,
    operator: Operator,
    value: Value,
}

fn find(name: &str) -> Result<Subject, String> {
    if name.eq_ignore_ascii_case("frame") {
        return Ok(Subject::Frame);
    }
    let is = |(known, _): &&(&str, Subject)| known.eq_ignore_ascii_case(name);
    SUBJECTS.iter().find(is).map(|s| s.1).ok_or_else(|| {
        let names = SUBJECTS.iter().map(|(n, _)| *n);
        let near = nearest(name, names.clone());
        if near.is_empty() {
            let all: Vec<&str> = names.collect();
            format!(
                "packets have no `{name}`; there are {}, frame",
                all.join(", ")
            )
        } else {
            format!(
                "packets have no `{name}`; did you mean `{}`?",
                near.join("`, `")
            )
        }
    })
}

/// One of these words.
fn word(name: &str, text: &str, words: &[&str]) -> Result<Value, String> {
    if words.iter().any(|w| w.eq_ignore_ascii_case(text)) {
        return Ok(Value::Text(text.to_owned()));
    }
    Err(format!(
        "`{name}` is one of {}, not `{text}`",
        words.join(", ")
    ))
}

fn cast_name(cast: Cast) -> &'static str {
    match cast {
        Cast::Unicast => "unicast",
        Cast::Multicast => "multicast",
        Cast::Broadcast => "broadcast",
        Cast::Unknown => "unknown",
    }
}

const CASTS: [&str; 4] = ["unicast", "multicast", "broadcast", "unknown"];

impl Subject {
    fn is_number(self) -> bool {
        use Subject::{Captured, Frame, Length, Port, Vlan};
        matches!(self, Port(_) | Length | Captured | Vlan | Frame)
    }

    fn value(self, name: &str, text: &str) -> Result<Value, String> {
        match self {
            Subject::Host(_) => network(text),
            Subject::Protocol => word(name, text, &SightKind::NAMES),
            Subject::Cast => word(name, text, &CASTS),
            _ => number(name, text, Unit::Binary).map(Value::Number),
        }
    }
}

impl Comparison for PacketTest {
    type Of<'a> = Sight;
    const SUCH_AS: &'static str = "`host` or `port`";

    fn known(name: &str) -> Result<(), String> {
        find(name).map(drop)
    }

    fn new(name: &str, operator: Operator, text: &str) -> Result<PacketTest, Fault> {
        use Operator::{Equal, Like, NotEqual};
        let subject = find(name).map_err(Fault::Name)?;
        let number = subject.is_number();
        if !number && !matches!(operator, Equal | NotEqual | Like) {
            return Err(Fault::Operator(format!(
                "`{name}` has no order; use `=`, `!=` or `~`"
            )));
        }
        if number && operator == Like {
            return Err(Fault::Operator(format!(
                "`~` compares text, and `{name}` is a number"
            )));
        }
        let value = match operator {
            Like => Value::Text(text.to_owned()),
            _ => subject.value(name, text).map_err(Fault::Value)?,
        };
        Ok(PacketTest {
            subject,
            operator,
            value,
        })
    }

    /// Of both ends `!=` asks that neither is the one given, all others that one of them compares so.
    fn matches(&self, s: &Sight) -> bool {
        let is_not = self.operator == Operator::NotEqual;
        match self.subject {
            Subject::Host(ends) => {
                let mut hosts = chosen(ends, s.addresses)
                    .zip(chosen_ports(ends, s.ports))
                    .peekable();
                if hosts.peek().is_none() {
                    return false;
                }
                hosts.any(|(host, port)| self.is_host(host, port)) != is_not
            }
            Subject::Port(ends) => {
                let mut ports = chosen(ends, s.ports).peekable();
                match is_not {
                    true => ports.peek().is_some() && ports.all(|p| self.number(p.into())),
                    false => ports.any(|p| self.number(p.into())),
                }
            }
            Subject::Length => self.number(s.length.into()),
            Subject::Captured => self.number(s.captured.into()),
            Subject::Vlan => s.vlan.is_some_and(|vlan| self.number(vlan.into())),
            Subject::Frame => self.number(s.at.packet.frame.into()),
            Subject::Protocol => self.is_text(s.kind.name()) != is_not,
            Subject::Cast => self.is_text(cast_name(s.cast)) != is_not,
        }
    }
}

/// The values of the ends that are meant.
fn chosen<T: Copy>(ends: Ends, of: Option<[T; 2]>) -> impl Iterator<Item = T> {
    let (source, destination) = match of {
        Some([source, destination]) => (Some(source), Some(destination)),
        None => (None, None),
    };
    let source = source.filter(|_| ends != Ends::Destination);
    let destination = destination.filter(|_| ends != Ends::Source);
    source.into_iter().chain(destination)
}

/// The same of ports, which not every packet has.
fn chosen_ports(ends: Ends, ports: Option<[u16; 2]>) -> impl Iterator<Item = Option<u16>> {
    chosen(ends, Some(ports.map_or([None; 2], |p| p.map(Some))))
}

impl PacketTest {
    fn number(&self, n: i128) -> bool {
        match self.value {
            Value::Number(wanted) => compare(self.operator, n, wanted),
            _ => false,
        }
    }

    fn is_text(&self, text: &str) -> bool {
        match (&self.value, self.operator) {
            (Value::Text(wanted), Operator::Like) => glob::matches(wanted, text),
            (Value::Text(wanted), _) => wanted.eq_ignore_ascii_case(text),
            _ => false,
        }
    }

    fn is_host(&self, host: IpAddr, port: Option<u16>) -> bool {
        match &self.value {
            Value::Network {
                address,
                bits,
                port: wanted,
            } => within(host, *address, *bits) && wanted.is_none_or(|wanted| Some(wanted) == port),
            Value::Text(wanted) => glob::matches(wanted, &host.to_string()),
            Value::Number(_) => false,
        }
    }
}
