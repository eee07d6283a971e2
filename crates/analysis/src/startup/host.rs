//! One client: what it asks and what it is answered, as packets and calls come, into waits.

use super::wait::{self, Asked, Ending, Until, Wait, WaitKind};
use crate::text::{Text, Value, text};
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use model::{Call, Endpoint, Knock, KnockKind, Mark, Outcome, Time};
use std::net::IpAddr;

type Map<K, V> = HashMap<K, V, FixedState>;

/// A SYN after so long a silence is another attempt: no timer backs off for longer.
const ATTEMPT_NS: i64 = 130_000_000_000;
/// Datagrams, or questions for an address, that follow each other so fast are one question.
const BURST_NS: i64 = 200_000_000;

/// Who asks for more addresses than this which nobody has looks for whoever there is (a sweep, a scan), and
/// waits for none of them.
const SWEPT: usize = 64;

/// Ports of which it is known that a datagram to them wants an answer: Kerberos, NTP, SNMP, CLDAP,
/// changes of passwords, RADIUS.
const WANTS_ANSWER: [u16; 6] = [88, 123, 161, 389, 464, 1812];

/// Something that the client begins.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub at: Mark,
    pub kind: WaitKind,
    pub server: Endpoint,
    pub what: Asked,
}

/// One client's waits in the making.
#[derive(Debug)]
pub(super) struct Host {
    pub first: Time,
    /// The last packet that was its own or for it.
    pub last: Mark,
    pub goes_on: bool,
    /// Whether it asked for more than names and addresses: a connection, or a call. A router only asks
    /// who has an address.
    pub is_client: bool,
    pub waits: Vec<Wait>,
    pub steps: Vec<Step>,
    /// What is not answered yet, with each sending.
    connects: Map<(Endpoint, Endpoint), Vec<Mark>>,
    datagrams: Map<(Endpoint, Endpoint), Vec<Mark>>,
    addresses: Map<IpAddr, Vec<Mark>>,
    /// Every datagram about names that the client sent, by its ports and the question's number.
    lookups: Map<(Endpoint, u16, u16), Vec<Mark>>,
}

/// An address of which nobody else can be the owner. Which address is a subnet's own is not known; .255
/// nearly always is.
fn is_everybody(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(a) => a.is_broadcast() || a.is_multicast() || a.octets()[3] == 255,
        IpAddr::V6(a) => a.is_multicast(),
    }
}

impl Host {
    pub(super) fn new(first: Time) -> Host {
        Host {
            first,
            last: Mark {
                time: first,
                ..Mark::default()
            },
            goes_on: false,
            is_client: false,
            waits: Vec::new(),
            steps: Vec::new(),
            connects: Map::default(),
            datagrams: Map::default(),
            addresses: Map::default(),
            lookups: Map::default(),
        }
    }

    fn saw(&mut self, at: Mark) {
        self.first = self.first.min(at.time);
        if at.time >= self.last.time {
            self.last = at;
        }
    }

    fn step(&mut self, at: Mark, kind: WaitKind, server: Endpoint, what: &Asked) {
        self.steps.push(Step {
            at,
            kind,
            server,
            what: what.clone(),
        });
    }

    /// A question that was sent at these times, and how the last of them ended. The others ended with the
    /// next.
    fn asked(&mut self, sends: &[Mark], last: &Wait) {
        for (i, begun) in sends.iter().enumerate() {
            let next = sends.get(i + 1);
            self.waits.push(Wait {
                begun: *begun,
                ending: next.map_or(last.ending, |_| Ending::NoAnswer),
                answer: next.map_or_else(|| last.answer.clone(), |_| "sent again".into()),
                until: next.map_or(last.until, |next| Until::At(*next)),
                ..last.clone()
            });
        }
    }

    /// `names`: whether a call to a file server has a name in its text.
    pub(super) fn call(&mut self, call: &Call, begun: Mark, names: bool) {
        self.saw(begun);
        let (kind, what) = (wait::kind(call), wait::what(call, names));
        let ending = wait::ending(call);
        let answered = call.response_last.or(call.response_first);
        if let Some(at) = answered {
            self.saw(at);
        }
        if answered.is_none() && !matches!(call.outcome, Outcome::NoResponse(_)) {
            return;
        }
        let lookup = call.protocol.is_lookup();
        self.is_client |= !lookup;
        if lookup {
            self.step(begun, kind, call.server, &what);
        }
        let mut sends = vec![begun];
        if lookup && call.retransmits > 0 {
            // Who answers may be another than who was asked.
            let question = (call.client, call.server.port, call.id as u16);
            let all = self.lookups.get(&question).map_or(&[][..], |m| m);
            let after =
                |m: &&Mark| m.time > begun.time && answered.is_none_or(|until| m.time < until.time);
            sends.extend(all.iter().filter(after).take(call.retransmits as usize));
        }
        let until = match (answered, sends.last()) {
            (Some(at), _) => Until::At(at),
            // It holds a name until somebody objects: nothing waits for that.
            (None, Some(last)) if wait::is_claim(call) => Until::At(*last),
            (None, _) => Until::NextStep,
        };
        let last = Wait {
            kind,
            ending,
            server: call.server,
            what,
            answer: match call.outcome {
                Outcome::Ok if ending == Ending::NotFound => "no such record".into(),
                Outcome::Ok => "answered".into(),
                Outcome::NoResponse(_) => Text::default(),
                Outcome::Code(code) => text!("{code}", code = Value::Code(code)),
                o => text!("{outcome}", outcome = o.name().to_owned()),
            },
            begun,
            until,
        };
        self.asked(&sends, &last);
    }

    /// A packet of the client's own.
    pub(super) fn knocks(&mut self, k: &Knock) {
        self.saw(k.at);
        let flow = (k.source, k.destination);
        match k.kind {
            KnockKind::Syn => {
                self.is_client = true;
                let sends = self.connects.entry(flow).or_default();
                let fresh = sends.last().is_none_or(|s| k.at.time - s.time > ATTEMPT_NS);
                let lost = if fresh {
                    std::mem::take(sends)
                } else {
                    Vec::new()
                };
                sends.push(k.at);
                self.unconnected(&lost, k.destination, Until::NextStep, Ending::NoAnswer);
                if fresh {
                    self.step(k.at, WaitKind::Connect, k.destination, &CONNECT.into());
                }
            }
            // Who still waits for an answer ends nothing by a reset but what an answer to something else was of.
            KnockKind::Reset | KnockKind::SynAck => {}
            KnockKind::Lookup => {
                let question = (k.source, k.destination.port, k.id);
                self.lookups.entry(question).or_default().push(k.at);
            }
            KnockKind::Datagram => self.sends_datagram(k),
        }
    }

    fn sends_datagram(&mut self, k: &Knock) {
        let everybody = is_everybody(k.destination.address);
        if everybody && k.source.port == k.destination.port {
            // An announcement.
            return;
        }
        let sends = self.datagrams.entry((k.source, k.destination)).or_default();
        if sends.last().is_some_and(|s| k.at.time - s.time < BURST_NS) {
            return;
        }
        sends.push(k.at);
        if everybody {
            self.step(k.at, WaitKind::Broadcast, k.destination, &BROADCAST.into());
        }
    }

    /// A packet for the client.
    pub(super) fn is_answered(&mut self, k: &Knock) {
        let flow = (k.destination, k.source);
        match k.kind {
            KnockKind::SynAck | KnockKind::Reset => {
                if let Some(sends) = self.connects.remove(&flow) {
                    self.saw(k.at);
                    let (until, ending) = match k.kind {
                        KnockKind::SynAck => (Until::At(k.at), Ending::Answered),
                        _ => (Until::NextAttempt(k.at), Ending::Refused),
                    };
                    self.unconnected(&sends, k.source, until, ending);
                }
            }
            KnockKind::Datagram => {
                let asked = match self.datagrams.contains_key(&flow) {
                    true => Some(flow),
                    // The answer to a question to everybody.
                    false => {
                        let fits = |(from, to): &&(Endpoint, Endpoint)| {
                            *from == k.destination
                                && to.port == k.source.port
                                && is_everybody(to.address)
                        };
                        self.datagrams.keys().filter(fits).min().copied()
                    }
                };
                if let Some((from, to)) = asked
                    && let Some(sends) = self.datagrams.remove(&(from, to))
                {
                    self.saw(k.at);
                    let last = Wait {
                        ending: Ending::Answered,
                        server: k.source,
                        answer: "answered".into(),
                        until: Until::At(k.at),
                        ..datagram(to, k.at)
                    };
                    self.asked(&sends, &last);
                }
            }
            KnockKind::Syn | KnockKind::Lookup => {}
        }
    }

    fn unconnected(&mut self, sends: &[Mark], server: Endpoint, until: Until, ending: Ending) {
        let Some(begun) = sends.first() else {
            return;
        };
        let last = Wait {
            kind: WaitKind::Connect,
            ending,
            server,
            what: CONNECT.into(),
            answer: match (ending, until) {
                (Ending::Answered, _) => "connected".into(),
                (Ending::Refused, _) => "refused".into(),
                (_, Until::At(_)) => "given up".into(),
                _ => Text::default(),
            },
            begun: *begun,
            until,
        };
        self.asked(sends, &last);
    }

    pub(super) fn asks_for_address(&mut self, target: IpAddr, at: Mark) {
        self.saw(at);
        let sends = self.addresses.entry(target).or_default();
        // No host asks again so soon: copies of a loop.
        if sends.last().is_some_and(|s| at.time - s.time < BURST_NS) {
            return;
        }
        sends.push(at);
        self.step(at, WaitKind::Arp, of(target), &ARP.into());
    }

    pub(super) fn has_address(&mut self, target: IpAddr, at: Mark) {
        if let Some(sends) = self.addresses.remove(&target) {
            self.saw(at);
            let last = Wait {
                ending: Ending::Answered,
                answer: "answered".into(),
                until: Until::At(at),
                ..address(target, at)
            };
            self.asked(&sends, &last);
        }
    }

    /// Nothing more comes: what is not answered will not be.
    pub(super) fn finish(&mut self) {
        for ((_, server), sends) in std::mem::take(&mut self.connects) {
            self.unconnected(&sends, server, Until::NextStep, Ending::NoAnswer);
        }
        for ((_, to), sends) in std::mem::take(&mut self.datagrams) {
            let wanted = is_everybody(to.address) || WANTS_ANSWER.contains(&to.port);
            if let (true, Some(begun)) = (wanted, sends.first()) {
                self.asked(&sends, &datagram(to, *begun));
            }
        }
        let sweeps = self.addresses.len() > SWEPT;
        for (target, sends) in std::mem::take(&mut self.addresses) {
            if let (false, Some(begun)) = (sweeps, sends.first()) {
                self.asked(&sends, &address(target, *begun));
            }
        }
        // Tables have no order.
        self.waits.sort_by(|a, b| {
            let key = |w: &Wait| (w.begun, w.kind, w.server, w.ending);
            key(a).cmp(&key(b)).then_with(|| a.what.cmp(&b.what))
        });
        self.steps.sort_by_key(|s| s.at);
    }
}

const CONNECT: &str = "TCP connection";
const BROADCAST: &str = "broadcast";
const ARP: &str = "hardware address";

/// An address that has no port.
fn of(address: IpAddr) -> Endpoint {
    Endpoint { address, port: 0 }
}

/// A datagram that nobody has answered yet.
fn datagram(to: Endpoint, begun: Mark) -> Wait {
    let everybody = is_everybody(to.address);
    Wait {
        kind: match everybody {
            true => WaitKind::Broadcast,
            false => WaitKind::Datagram,
        },
        ending: Ending::NoAnswer,
        server: to,
        what: if everybody { BROADCAST } else { "datagram" }.into(),
        answer: Text::default(),
        begun,
        until: Until::NextStep,
    }
}

fn address(target: IpAddr, begun: Mark) -> Wait {
    Wait {
        kind: WaitKind::Arp,
        ending: Ending::NoAnswer,
        server: of(target),
        what: ARP.into(),
        answer: Text::default(),
        begun,
        until: Until::NextStep,
    }
}
