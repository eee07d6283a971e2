//! Calls of clients at whose hosts nobody captured, of the services that both captures show: of two captures
//! only the server's can hold them, and they are judged as it alone sees them.
//!
//! Which clients these are is known when both captures are over. Until then calls are kept by client and
//! service, and dropped when the other capture shows that client too: what it lacks of it then is unmatched.

use super::alone::OneSided;
use crate::capture_facts::CaptureFacts;
use crate::locks::Coincidences;
use crate::path::{Acknowledged, Crossed};
use crate::rounds::Rounds;
use crate::stats::Distribution;
use hashbrown::HashSet;
use ledger::{Half, Kept, One};
use model::limits;
use model::{Call, ConnectionSummary, Direction, Time};
use std::collections::BTreeMap;
use std::net::IpAddr;

#[derive(Default)]
pub(super) struct Others {
    captures: [Seen; 2],
    /// What is left of them when the captures are over.
    pub(super) judged: Option<Judged>,
}

/// What one capture shows.
#[derive(Default)]
struct Seen {
    clients: HashSet<IpAddr, foldhash::fast::FixedState>,
    /// The ports of what was asked; the server may have several addresses.
    services: HashSet<u16, foldhash::fast::FixedState>,
    /// Calls of clients that the other capture has not shown so far, by client and service.
    alone: BTreeMap<(IpAddr, u16), OneSided>,
    /// What acknowledgements of each of them say of the path to it.
    acknowledged: BTreeMap<IpAddr, Acknowledged>,
}

/// The calls that are judged as the server's capture sees them.
#[derive(Default)]
pub(super) struct Judged {
    pub clients: Vec<Client>,
    /// Response times and waits, of matched calls too.
    pub response: Distribution,
    pub wait: Distribution,
}

/// Those of a client's calls.
pub(super) struct Client {
    pub host: IpAddr,
    pub kept: Kept<One>,
    pub coincidence: Coincidences,
    /// How its connections ask, by their number in the server's capture.
    pub rounds: Rounds,
    /// From the server's capture to it and back.
    pub half: Half,
}

impl Judged {
    pub(super) fn calls(&self) -> u64 {
        self.clients.iter().map(|c| c.kept.len()).sum()
    }
}

impl Others {
    /// Takes note of a call of capture `which`; whether its client may be one of them.
    pub(super) fn may_be(&mut self, which: usize, call: &Call) -> bool {
        let client = call.client.address;
        let [own, other] = match &mut self.captures {
            [a, b] if which == 0 => [a, b],
            [a, b] => [b, a],
        };
        own.services.insert(call.server.port);
        if own.clients.len() < limits::HOST_PAIRS && own.clients.insert(client) {
            other.alone.retain(|(host, _), _| *host != client);
            other.acknowledged.remove(&client);
        }
        own.clients.contains(&client) && !other.clients.contains(&client)
    }

    pub(super) fn call(&mut self, which: usize, call: &Call, row: u64, attributes: u32) {
        let of = (call.client.address, call.server.port);
        let alone = self.captures[which].alone.entry(of).or_default();
        alone.call(call, row, attributes);
    }

    /// Takes a connection of capture `which` that is over.
    pub(super) fn connection(&mut self, which: usize, c: &ConnectionSummary) {
        let host = c.client.address;
        let is_known = self.captures[1 - which].clients.contains(&host);
        let known = &mut self.captures[which].acknowledged;
        if !is_known && (known.len() < limits::HOST_PAIRS || known.contains_key(&host)) {
            let own = known.entry(host).or_default();
            own.add(c, Direction::ToClient);
        }
    }

    pub(super) fn settle(&mut self, which: usize, facts: &CaptureFacts, reached: Option<Time>) {
        for alone in self.captures[which].alone.values_mut() {
            alone.settle(facts, reached);
        }
    }

    /// The captures are over, and `server` is the server's. `matched` are the response times and waits of
    /// calls that both hold.
    pub(super) fn finish(
        &mut self,
        server: &CaptureFacts,
        at_server: usize,
        [response, wait]: [&Distribution; 2],
    ) {
        self.settle(at_server, server, None);
        let services = std::mem::take(&mut self.captures[1 - at_server].services);
        let mut judged = Judged {
            response: response.clone(),
            wait: wait.clone(),
            ..Judged::default()
        };
        let Seen {
            alone,
            acknowledged,
            ..
        } = &mut self.captures[at_server];
        for ((host, service), alone) in std::mem::take(alone) {
            if !services.contains(&service) {
                continue;
            }
            alone.kept.each(|call| {
                judged.response.add(call.response_ns());
                judged.wait.add(call.wait_ns);
            });
            let crossed = acknowledged.get(&host);
            judged.clients.push(Client {
                host,
                kept: alone.kept,
                coincidence: alone.coincidence,
                rounds: alone.rounds,
                half: crossed.map_or(Half::ANY, |c| c.half(Crossed::default())),
            });
        }
        self.judged = (judged.calls() > 0).then_some(judged);
    }
}
