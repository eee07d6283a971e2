//! ICMP errors into the connections whose packets were given back, and by whom.

use super::{LeftOut, SHOWN};
use model::{ConnectionSummary, Endpoint, IcmpError, IcmpReason, Mark, Time, Transport, limits};
use pseudonyms::Anonymiser;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// An error may come this long behind the packet it is about.
const LATE_NS: i64 = 10_000_000_000;

/// A connection that it concerns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Concern {
    pub transport: Transport,
    pub client: Endpoint,
    pub server: Endpoint,
    /// Whether the client's packets were given back.
    pub to_server: bool,
    /// Whether the server ever answered.
    pub answered: bool,
    /// Whether something of it was sent again, or it never came about.
    pub harmed: bool,
    /// How long its last segment was sent again and again in vain.
    pub stuck_ns: i64,
    /// Whether what it speaks is known.
    pub known: bool,
}

/// Packets of one flow that one host gave back for one reason.
#[derive(Clone, Debug)]
pub struct Returned {
    pub from: IpAddr,
    pub reason: IcmpReason,
    pub flow: Option<(Transport, [Endpoint; 2])>,
    /// From whom to whom they went.
    pub hosts: [IpAddr; 2],
    pub count: u64,
    /// The longest of them, in bytes.
    pub length: u32,
    pub first: Mark,
    pub last: Mark,
    pub shown: Vec<Mark>,
    pub concerns: Option<Concern>,
}

type Flow = (Transport, [Endpoint; 2]);
type Cause = (IpAddr, IcmpReason, [IpAddr; 2], Option<Flow>);

/// What came back.
#[derive(Clone, Debug, Default)]
pub struct Undelivered {
    /// By flow, the lower end first; what belongs to none stands by its hosts alone. Then by who gave
    /// packets back, why, and whose.
    flows: BTreeMap<(Option<Flow>, [IpAddr; 2]), BTreeMap<Cause, Returned>>,
    count: usize,
    /// All errors, by the reason's name.
    pub reasons: BTreeMap<&'static str, u64>,
    pub(super) left_out: LeftOut,
}

fn ordered([a, b]: [Endpoint; 2]) -> [Endpoint; 2] {
    if a <= b { [a, b] } else { [b, a] }
}

impl Undelivered {
    /// Puts pseudonyms in place of the hosts that are shown.
    pub(super) fn anonymise(&mut self, names: &Anonymiser) {
        for r in self.flows.values_mut().flat_map(BTreeMap::values_mut) {
            r.from = names.address(r.from);
            r.hosts = r.hosts.map(|h| names.address(h));
            r.flow = r
                .flow
                .map(|(transport, ends)| (transport, ends.map(|e| names.endpoint(e))));
            if let Some(c) = &mut r.concerns {
                c.client = names.endpoint(c.client);
                c.server = names.endpoint(c.server);
            }
        }
    }

    pub(super) fn add(&mut self, e: &IcmpError, at: Mark) {
        *self.reasons.entry(e.reason.name()).or_default() += 1;
        let [source, destination] = e.hosts;
        let hosts = [source.min(destination), source.max(destination)];
        let flow = e.flow.map(|(transport, ends)| (transport, ordered(ends)));
        let key = (flow, hosts);
        let cause = (e.from, e.reason, e.hosts, e.flow);
        let known = self.flows.get_mut(&key);
        if let Some(r) = known.and_then(|causes| causes.get_mut(&cause)) {
            r.count += 1;
            r.length = r.length.max(e.length);
            r.last = at;
            if r.shown.len() < SHOWN {
                r.shown.push(at);
            }
            return;
        }
        if self.count >= limits::RETURNED_FLOWS {
            self.left_out.add(at);
            return;
        }
        self.count += 1;
        let returned = Returned {
            from: e.from,
            reason: e.reason,
            flow: e.flow,
            hosts: e.hosts,
            count: 1,
            length: e.length,
            first: at,
            last: at,
            shown: vec![at],
            concerns: None,
        };
        self.flows.entry(key).or_default().insert(cause, returned);
    }

    /// Takes a connection that is over.
    pub(super) fn connection(&mut self, c: &ConnectionSummary) {
        if self.flows.is_empty() {
            return;
        }
        let (client, server) = (c.client, c.server);
        let hosts = [
            client.address.min(server.address),
            client.address.max(server.address),
        ];
        let flow = Some((c.transport, ordered([client, server])));
        let [out, back] = &c.directions;
        let unopened = c.handshake.syn.is_some() && c.handshake.syn_ack.is_none();
        let again = out.retransmitted_packets + back.retransmitted_packets > 0
            || c.handshake.syn_retries + c.handshake.syn_ack_retries > 0;
        let within = |at: Time| at >= c.first.time && at - c.last.time <= LATE_NS;
        let causes = self.flows.get_mut(&(flow, hosts));
        for r in causes.into_iter().flat_map(BTreeMap::values_mut) {
            if !within(r.first.time) && !within(r.last.time) {
                continue;
            }
            let to_server = r.flow.is_some_and(|(_, [source, _])| source == client);
            let given_back = if to_server { out } else { back };
            r.concerns = Some(Concern {
                transport: c.transport,
                client,
                server,
                to_server,
                stuck_ns: given_back.stuck.map_or(0, |stuck| stuck.lasted_ns()),
                answered: back.packets > 0 && !unopened,
                harmed: match c.transport {
                    Transport::Tcp => unopened || again,
                    Transport::Udp => back.packets == 0,
                },
                known: c.protocol.is_some(),
            });
        }
    }

    /// All, in order of time.
    #[must_use]
    pub fn all(&self) -> Vec<&Returned> {
        let mut all: Vec<&Returned> = self.flows.values().flat_map(BTreeMap::values).collect();
        all.sort_by_key(|r| r.first);
        all
    }
}
