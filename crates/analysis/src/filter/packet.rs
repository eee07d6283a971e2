//! Comparisons of packets: hosts and ports of either end or of one, what they hold, how long they are.

use super::compared::{Compared, Kind, Unit};
use super::{Comparison, Fault, Operator, nearest};
use model::{Cast, Sight, SightKind};

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
    compared: Compared,
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
fn word(name: &str, text: &str, words: &[&str]) -> Result<(), Fault> {
    match words.iter().any(|w| w.eq_ignore_ascii_case(text)) {
        true => Ok(()),
        false => Err(Fault::Value(format!(
            "`{name}` is one of {}, not `{text}`",
            words.join(", ")
        ))),
    }
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
    fn kind(self) -> Kind {
        match self {
            Subject::Host(_) => Kind::End,
            Subject::Protocol | Subject::Cast => Kind::Text,
            _ => Kind::Number(Unit::Binary),
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
        let subject = find(name).map_err(Fault::Name)?;
        let compared = Compared::new(name, subject.kind(), operator, text)?;
        match subject {
            _ if operator == Operator::Like => {}
            Subject::Protocol => word(name, text, &SightKind::NAMES)?,
            Subject::Cast => word(name, text, &CASTS)?,
            _ => {}
        }
        Ok(PacketTest { subject, compared })
    }

    /// Of both ends `!=` asks that neither is the one given, all others that one of them compares so.
    fn matches(&self, s: &Sight) -> bool {
        let compared = &self.compared;
        let number = |n: i128| compared.any_number(std::iter::once(n));
        let text = |text: &str| compared.any_text(std::iter::once(text));
        match self.subject {
            Subject::Host(ends) => {
                compared.any_end(chosen(ends, s.addresses).zip(chosen_ports(ends, s.ports)))
            }
            Subject::Port(ends) => compared.any_number(chosen(ends, s.ports).map(i128::from)),
            Subject::Length => number(s.length.into()),
            Subject::Captured => number(s.captured.into()),
            Subject::Vlan => s.vlan.is_some_and(|vlan| number(vlan.into())),
            Subject::Frame => number(s.at.packet.frame.into()),
            Subject::Protocol => text(s.kind.name()),
            Subject::Cast => text(cast_name(s.cast)),
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
