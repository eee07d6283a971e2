//! Calls that wait for their reply, for all connections of a thread.
//!
//! They live here and not with their connection so that a request sent again on a new connection
//! between the same hosts finds its first sending. Every decision depends only on the connections
//! of one pair of hosts and the order of their packets, so it is the same for any number of threads.

use super::header::Security;
use super::program::Arguments;
use crate::output::Output;
use crate::session::Span;
use arrayvec::ArrayVec;
use hashbrown::{HashMap, HashTable};
use model::{Call, ConnectionId, Endpoint, Field, Outcome, Reason};
use std::hash::BuildHasher;
use std::net::IpAddr;
use std::sync::Arc;

/// A request that was seen, its reply not yet.
#[derive(Clone, Debug)]
pub(super) struct Pending {
    pub connection: ConnectionId,
    pub xid: u32,
    pub client: Endpoint,
    pub server: Endpoint,
    pub request: Span,
    pub program: u32,
    pub version: u32,
    pub procedure: u32,
    pub security: Security,
    pub arguments: Arguments,
    pub outstanding: u32,
    pub retransmits: u32,
    /// Whether it still counts as outstanding; not when the capture probably hides its answer.
    pub counted: bool,
}

impl Pending {
    /// Whether `other` is this request, sent again.
    pub(super) fn is_repeated_by(&self, other: &Pending) -> bool {
        (self.program, self.version, self.procedure)
            == (other.program, other.version, other.procedure)
            && self.request.bytes == other.request.bytes
            && self.arguments.detail == other.arguments.detail
    }

    /// The call, as far as the request tells it.
    pub(super) fn into_call(self, order: u64, outcome: Outcome, texts: &mut Texts) -> Call {
        let mut detail = self.arguments.detail;
        if !matches!(self.security, Security::None | Security::Sys) {
            detail.set(Field::Security, self.security.word());
        }
        let text = texts.of(self.program, &self.arguments.operations);
        let held = |since: Option<model::Time>| {
            since.map_or(0, |s| {
                (self.request.last.time - s.max(self.request.first.time)).max(0)
            })
        };
        Call {
            order,
            connection: self.connection,
            protocol: self.arguments.protocol,
            op: self.arguments.op,
            client: self.client,
            server: self.server,
            id: self.xid,
            request_sequence: self.request.sequence,
            response_sequence: 0,
            request_first: Some(self.request.first),
            request_last: (!self.request.end_missing).then_some(self.request.last),
            response_first: None,
            response_last: None,
            request_bytes: self.request.bytes,
            response_bytes: 0,
            outcome,
            outstanding: self.outstanding,
            retransmits: self.retransmits,
            request_held_ns: held(self.request.last_held_since),
            response_held_ns: 0,
            detail,
            text,
        }
    }
}

/// The operation lists of compounds. A capture has few different ones, so they are made once each.
#[derive(Default, Debug)]
pub(super) struct Texts {
    known: HashMap<ArrayVec<u8, 32>, Arc<str>, foldhash::fast::FixedState>,
}

/// More different operation lists than any client makes; from there on they are made each time.
const TEXTS: usize = 10_000;

impl Texts {
    fn of(&mut self, program: u32, operations: &ArrayVec<u8, 32>) -> Option<Arc<str>> {
        if operations.is_empty() {
            return None;
        }
        if let Some(text) = self.known.get(operations) {
            return Some(Arc::clone(text));
        }
        let programme = super::programs::program(program).unwrap_or(crate::nfs::CALLBACK);
        let text: Arc<str> = programme.operations_text(operations).into();
        if self.known.len() < TEXTS {
            self.known.insert(operations.clone(), Arc::clone(&text));
        }
        Some(text)
    }
}

/// What the connections between the same client host and server share.
#[derive(Default, Debug)]
struct Peer {
    /// Connections that are open.
    open: Vec<ConnectionId>,
    /// Requests without a reply whose connection is closed.
    orphans: Vec<Pending>,
}

/// State shared by all RPC connections of a thread.
#[derive(Default, Debug)]
pub struct Shared {
    waiting: HashTable<Pending>,
    peers: HashMap<(IpAddr, Endpoint), Peer, foldhash::fast::FixedState>,
    pub(super) texts: Texts,
    hasher: foldhash::fast::FixedState,
}

impl Shared {
    fn hash(&self, connection: ConnectionId, xid: u32) -> u64 {
        self.hasher.hash_one((connection.0, xid))
    }

    pub(super) fn insert(&mut self, pending: Pending) {
        let hash = self.hash(pending.connection, pending.xid);
        let hasher = &self.hasher;
        self.waiting
            .insert_unique(hash, pending, |p| hasher.hash_one((p.connection.0, p.xid)));
    }

    pub(super) fn get_mut(&mut self, connection: ConnectionId, xid: u32) -> Option<&mut Pending> {
        let hash = self.hash(connection, xid);
        self.waiting
            .find_mut(hash, |p| p.connection == connection && p.xid == xid)
    }

    pub(super) fn contains(&self, connection: ConnectionId, xid: u32) -> bool {
        let hash = self.hash(connection, xid);
        self.waiting
            .find(hash, |p| p.connection == connection && p.xid == xid)
            .is_some()
    }

    pub(super) fn remove(&mut self, connection: ConnectionId, xid: u32) -> Option<Pending> {
        let hash = self.hash(connection, xid);
        let entry = self
            .waiting
            .find_entry(hash, |p| p.connection == connection && p.xid == xid);
        entry.ok().map(|e| e.remove().0)
    }

    /// The first sending, on another connection of the same client to the same server, of a request
    /// now seen on a connection that has just been opened. Its connection is closed, or it names the
    /// same bytes of the same file, which two calls with one XID do not do by chance.
    pub(super) fn take_first_sending(&mut self, again: &Pending) -> Option<Pending> {
        let peer = self.peers.get_mut(&(again.client.address, again.server))?;
        if let Some(i) = peer
            .orphans
            .iter()
            .position(|p| p.xid == again.xid && p.is_repeated_by(again))
        {
            return Some(peer.orphans.remove(i));
        }
        again.arguments.detail.get(Field::File)?;
        let siblings: ArrayVec<ConnectionId, 16> = peer
            .open
            .iter()
            .rev()
            .copied()
            .filter(|&c| c != again.connection)
            .take(16)
            .collect();
        siblings.into_iter().find_map(|c| {
            self.get_mut(c, again.xid)
                .filter(|p| p.is_repeated_by(again))?;
            self.remove(c, again.xid)
        })
    }

    /// A connection that speaks RPC has been found.
    pub(super) fn opened(&mut self, id: ConnectionId, client: Endpoint, server: Endpoint) {
        self.peers
            .entry((client.address, server))
            .or_default()
            .open
            .push(id);
    }

    /// A connection is closed: what it still waited for may be sent again on the next one.
    pub(super) fn closed(
        &mut self,
        id: ConnectionId,
        client: Endpoint,
        server: Endpoint,
        waiting: usize,
    ) {
        let mut left: Vec<Pending> = if waiting > 0 {
            self.waiting.extract_if(|p| p.connection == id).collect()
        } else {
            Vec::new()
        };
        left.sort_by_key(|p| (p.request.first, p.xid));
        if let Some(peer) = self.peers.get_mut(&(client.address, server)) {
            peer.open.retain(|&c| c != id);
            peer.orphans.append(&mut left);
        }
    }

    /// Gives up what closed connections of these two ends waited for.
    pub(super) fn settle(
        &mut self,
        client: Endpoint,
        server: Endpoint,
        output: &mut Output,
        order: u64,
    ) {
        if let Some(peer) = self.peers.get_mut(&(client.address, server)) {
            for p in std::mem::take(&mut peer.orphans) {
                output.calls.push(p.into_call(
                    order,
                    Outcome::NoResponse(Reason::NoAnswer),
                    &mut self.texts,
                ));
            }
            if peer.open.is_empty() {
                self.peers.remove(&(client.address, server));
            }
        }
    }

    /// The capture is over: gives up what closed connections waited for, oldest first.
    pub fn finish(&mut self, output: &mut Output, order: u64) {
        let mut left: Vec<Pending> = self
            .peers
            .drain()
            .flat_map(|(_, peer)| peer.orphans)
            .collect();
        left.sort_by_key(|p| (p.request.first, p.xid));
        for p in left {
            output.calls.push(p.into_call(
                order,
                Outcome::NoResponse(Reason::NoAnswer),
                &mut self.texts,
            ));
        }
    }
}
