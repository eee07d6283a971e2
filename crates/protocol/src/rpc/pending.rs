//! Calls that wait for their reply, for all connections of a thread.
//!
//! They live here and not with their connection so that a request sent again on a new connection
//! between the same hosts finds its first sending. Every decision depends only on the connections
//! of one pair of hosts and the order of their packets, so it is the same for any number of threads.
//!
//! They are boxed, and the boxes used again: a call is three hundred bytes and changes hands several
//! times, and there may be a million in a second.

use super::body;
use super::header::Security;
use super::program::Arguments;
use super::unseen::Reply;
use super::walk::{Listing, Walk};
use crate::output::Output;
use crate::session::Span;
use arrayvec::ArrayVec;
use hashbrown::{HashMap, HashTable};
use model::limits;
use model::{
    Call, Change, ConnectionId, Direction, Endpoint, Field, HiddenResponse, Mark, Name, Outcome,
    Outstanding, Protocol, Reason, Time,
};
use std::hash::BuildHasher;
use std::net::IpAddr;
use std::sync::Arc;

/// What a reply finds its call by: both directions of a connection number their calls.
pub(super) type Key = (ConnectionId, Direction, u32);

/// A request that was seen, its reply not yet.
#[derive(Clone, Debug)]
pub(super) struct Pending {
    pub connection: ConnectionId,
    /// The direction of the request.
    pub direction: Direction,
    pub xid: u32,
    pub request: Span,
    pub program: u32,
    pub version: u32,
    pub procedure: u32,
    pub security: Security,
    pub arguments: Arguments,
    /// Where names are wanted: empty if the arguments have none.
    pub name: Option<Arc<str>>,
    /// Where names of files are wanted: what its reply may say of them.
    pub walk: Option<Box<Walk>>,
    /// What it still says: the entries of a directory.
    pub listing: Option<Box<Listing>>,
    pub outstanding: u32,
    pub retransmits: u32,
    /// How many calls of this connection had been answered when this one was sent.
    pub answered_before: u64,
    /// Whether it still counts as outstanding; not when the capture probably hides its answer.
    pub counted: bool,
    /// What its reply's header and results say, once they have been seen.
    pub outcome: Outcome,
    /// Which bytes of the other direction were the first to pass unseen behind it, by their number.
    pub unseen: u64,
    /// The reply that nobody saw and that is taken to be its own.
    pub claimed: Option<Reply>,
    /// Where its answer may lie, once it is doubted that it will be seen.
    pub hidden: Option<HiddenResponse>,
}

/// What a reply says of itself; nothing of one that was not seen.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Response {
    pub sequence: u32,
    pub first: Option<Mark>,
    pub last: Option<Mark>,
    pub bytes: u64,
    pub held_ns: i64,
}

/// Who sent a request, and to whom.
pub(super) type Ends = (Endpoint, Endpoint);

/// A request without a reply whose connection is closed.
#[derive(Debug)]
pub(super) struct Orphan {
    pub call: Box<Pending>,
    pub ends: Ends,
    pub reason: Reason,
}

impl Pending {
    fn blank() -> Pending {
        Pending {
            connection: ConnectionId(0),
            direction: Direction::ToServer,
            xid: 0,
            request: Span::NOTHING,
            program: 0,
            version: 0,
            procedure: 0,
            security: Security::None,
            arguments: Arguments::new(Protocol::Rpc, Name::default()),
            name: None,
            walk: None,
            listing: None,
            outstanding: 0,
            retransmits: 0,
            answered_before: 0,
            counted: true,
            outcome: Outcome::Ok,
            unseen: 0,
            claimed: None,
            hidden: None,
        }
    }

    pub(super) fn key(&self) -> Key {
        (self.connection, self.direction, self.xid)
    }

    /// Whether its header was cut before the procedure.
    pub(super) fn is_unnamed(&self) -> bool {
        self.arguments.op == body::UNNAMED
    }

    /// Whether `other` is this request, sent again.
    pub(super) fn is_repeated_by(&self, other: &Pending) -> bool {
        (self.program, self.version, self.procedure)
            == (other.program, other.version, other.procedure)
            && self.request.bytes == other.request.bytes
            && self.arguments.detail == other.arguments.detail
    }

    /// The change that this call makes to the number of outstanding calls.
    pub(super) fn change(&self, ends: Ends, order: u64, time: Time, change: Change) -> Outstanding {
        Outstanding {
            order,
            time,
            connection: self.connection,
            client: ends.0,
            server: ends.1,
            id: self.xid,
            change,
        }
    }

    /// The call. Always inlined, so that it is built where it stays: [`Output::call`].
    #[inline(always)]
    pub(super) fn call(
        &self,
        ends: Ends,
        order: u64,
        outcome: Outcome,
        response: Response,
        texts: &mut Texts,
    ) -> Call {
        let mut detail = self.arguments.detail;
        if !matches!(self.security, Security::None | Security::Sys) {
            detail.set(Field::Security, self.security.word());
        }
        let text = match &self.name {
            Some(name) => Some(Arc::clone(name)).filter(|name| !name.is_empty()),
            None => texts.of(self),
        };
        let hidden = match outcome {
            Outcome::NoResponse(Reason::SnapLength | Reason::CaptureGap) => self.hidden,
            _ => None,
        };
        let Span { first, last, .. } = self.request;
        Call {
            order,
            connection: self.connection,
            protocol: self.arguments.protocol,
            op: self.arguments.op,
            client: ends.0,
            server: ends.1,
            id: self.xid,
            request_sequence: self.request.sequence,
            response_sequence: response.sequence,
            request_first: Some(first),
            request_last: (!self.request.end_missing).then_some(last),
            response_first: response.first,
            response_last: response.last,
            request_bytes: self.request.bytes,
            response_bytes: response.bytes,
            outcome,
            outstanding: self.outstanding,
            retransmits: self.retransmits,
            request_held_ns: self.request.request_held_ns(),
            response_held_ns: hidden.map_or(response.held_ns, |hidden| hidden.held_ns),
            inner: None,
            hidden,
            detail,
            text,
            sql: None,
        }
    }
}

/// The operation lists of one programme's compounds.
type Lists = HashMap<ArrayVec<u8, 32>, Arc<str>, foldhash::fast::FixedState>;

/// The operation lists of compounds. A capture has few different ones, so they are made once each.
#[derive(Default, Debug)]
pub(super) struct Texts {
    compounds: Lists,
    /// Callbacks number their operations anew.
    callbacks: Lists,
}

impl Texts {
    #[inline]
    fn of(&mut self, call: &Pending) -> Option<Arc<str>> {
        match call.arguments.operations.is_empty() {
            true => None,
            false => self.of_compound(call),
        }
    }

    fn of_compound(&mut self, call: &Pending) -> Option<Arc<str>> {
        let operations = &call.arguments.operations;
        let (known, program) = match call.arguments.protocol {
            Protocol::NfsCallback => (&mut self.callbacks, crate::nfs::CALLBACK),
            _ => (&mut self.compounds, super::programs::program(call.program)?),
        };
        if let Some(text) = known.get(operations) {
            return Some(Arc::clone(text));
        }
        let text: Arc<str> = program.operations_text(operations).into();
        if known.len() < limits::OPERATION_LISTS {
            known.insert(operations.clone(), Arc::clone(&text));
        }
        Some(text)
    }
}

/// What the connections between the same client host and server share.
#[derive(Default, Debug)]
struct Peer {
    /// Connections that are open, and their client.
    open: Vec<(ConnectionId, Endpoint)>,
    /// Oldest first.
    orphans: Vec<Orphan>,
}

/// State shared by all RPC connections of a thread.
#[derive(Default, Debug)]
pub struct Shared {
    waiting: HashTable<Box<Pending>>,
    peers: HashMap<(IpAddr, Endpoint), Peer, foldhash::fast::FixedState>,
    /// Calls that moved to another connection, until the one they came from has heard of it.
    moved: Vec<(ConnectionId, Direction)>,
    pub(super) texts: Texts,
    /// Boxes of calls that are over.
    #[expect(clippy::vec_box, reason = "the boxes are what is kept")]
    spare: Vec<Box<Pending>>,
    hasher: foldhash::fast::FixedState,
}

/// Boxes kept for calls to come.
const SPARE: usize = 256;

impl Shared {
    /// A new call, in a box that may have been used before.
    pub(super) fn blank(&mut self) -> Box<Pending> {
        match self.spare.pop() {
            Some(mut call) => {
                call.name = None;
                call.walk = None;
                call.listing = None;
                call.outstanding = 0;
                call.retransmits = 0;
                call.counted = true;
                call.outcome = Outcome::Ok;
                call.claimed = None;
                call.hidden = None;
                call
            }
            None => Box::new(Pending::blank()),
        }
    }

    /// A call is over: its box may serve another.
    pub(super) fn recycle(&mut self, call: Box<Pending>) {
        if self.spare.len() < SPARE {
            self.spare.push(call);
        }
    }

    fn hash(&self, (connection, direction, xid): Key) -> u64 {
        hash(&self.hasher, connection, direction, xid)
    }

    pub(super) fn insert(&mut self, pending: Box<Pending>) {
        let hasher = &self.hasher;
        let of = |p: &Pending| hash(hasher, p.connection, p.direction, p.xid);
        self.waiting.insert_unique(of(&pending), pending, |p| of(p));
    }

    pub(super) fn get_mut(&mut self, key: Key) -> Option<&mut Box<Pending>> {
        let hash = self.hash(key);
        self.waiting.find_mut(hash, |p| p.key() == key)
    }

    pub(super) fn get(&self, key: Key) -> Option<&Pending> {
        let hash = self.hash(key);
        self.waiting.find(hash, |p| p.key() == key).map(|p| &**p)
    }

    pub(super) fn contains(&self, key: Key) -> bool {
        let hash = self.hash(key);
        self.waiting.find(hash, |p| p.key() == key).is_some()
    }

    pub(super) fn remove(&mut self, key: Key) -> Option<Box<Pending>> {
        self.remove_if(key, |_| true)
    }

    pub(super) fn remove_if(
        &mut self,
        key: Key,
        accepts: impl FnOnce(&Pending) -> bool,
    ) -> Option<Box<Pending>> {
        let hash = self.hash(key);
        let entry = self.waiting.find_entry(hash, |p| p.key() == key).ok()?;
        accepts(entry.get()).then(|| entry.remove().0)
    }

    /// The first sending, on another connection of the same client to the same server, of a request
    /// now seen on a connection that has just been opened. Its connection is closed, or it names the
    /// same bytes of the same file, which two calls with one XID do not do by chance.
    pub(super) fn take_first_sending(
        &mut self,
        again: &Pending,
        ends: Ends,
        output: &mut Output,
        order: u64,
    ) -> Option<Box<Pending>> {
        let (client, server) = ends;
        let peer = self.peers.get_mut(&(client.address, server))?;
        if let Some(i) = peer
            .orphans
            .iter()
            .position(|o| o.call.xid == again.xid && o.call.is_repeated_by(again))
        {
            return Some(peer.orphans.remove(i).call);
        }
        again.arguments.detail.get(Field::File)?;
        let siblings: ArrayVec<(ConnectionId, Endpoint), 16> = peer
            .open
            .iter()
            .rev()
            .copied()
            .filter(|&(c, _)| c != again.connection)
            .take(16)
            .collect();
        let (first, client) = siblings.into_iter().find_map(|(c, client)| {
            let key = (c, again.direction, again.xid);
            self.get_mut(key).filter(|p| p.is_repeated_by(again))?;
            Some((self.remove(key)?, client))
        })?;
        if first.counted {
            let now = again.request.first.time;
            output.change(|| first.change((client, server), order, now, Change::Settled));
            self.moved.push((first.connection, first.direction));
        }
        Some(first)
    }

    /// How many calls of this connection and direction have moved to another since last asked.
    pub(super) fn take_moved(&mut self, connection: ConnectionId, direction: Direction) -> u32 {
        if self.moved.is_empty() {
            return 0;
        }
        let before = self.moved.len();
        self.moved.retain(|&m| m != (connection, direction));
        (before - self.moved.len()) as u32
    }

    /// A connection that speaks RPC has been found.
    pub(super) fn opened(&mut self, id: ConnectionId, (client, server): Ends) {
        let peer = self.peers.entry((client.address, server)).or_default();
        peer.open.push((id, client));
    }

    /// A connection is closed: what it still waited for may be sent again on the next one.
    pub(super) fn closed(&mut self, id: ConnectionId, (client, server): Ends, left: Vec<Orphan>) {
        self.moved.retain(|&(c, _)| c != id);
        if let Some(peer) = self.peers.get_mut(&(client.address, server)) {
            peer.open.retain(|&(c, _)| c != id);
            peer.orphans.extend(left);
            if peer.open.is_empty() && peer.orphans.is_empty() {
                self.peers.remove(&(client.address, server));
            }
        }
    }

    /// Gives up what closed connections of these two ends waited for.
    pub(super) fn settle(&mut self, (client, server): Ends, output: &mut Output, order: u64) {
        if let Some(peer) = self.peers.get_mut(&(client.address, server)) {
            let orphans = std::mem::take(&mut peer.orphans);
            self.give_up(orphans, output, order);
        }
    }

    /// The capture is over: gives up what closed connections waited for.
    pub fn finish(&mut self, output: &mut Output, order: u64) {
        let peers = self.peers.drain();
        let orphans = peers.flat_map(|(_, peer)| peer.orphans).collect();
        self.give_up(orphans, output, order);
    }

    /// Reports calls without a response, oldest first.
    fn give_up(&mut self, mut orphans: Vec<Orphan>, output: &mut Output, order: u64) {
        orphans.sort_by_key(|o| (o.call.request.first, o.call.key()));
        for Orphan { call, ends, reason } in orphans {
            let outcome = Outcome::NoResponse(reason);
            let texts = &mut self.texts;
            output.call(|| call.call(ends, order, outcome, Response::default(), texts));
        }
    }
}

fn hash(
    hasher: &foldhash::fast::FixedState,
    connection: ConnectionId,
    direction: Direction,
    xid: u32,
) -> u64 {
    // Connections are numbered from 0, so that one word holds all three.
    let word = (connection.0 << 33) ^ ((direction.index() as u64) << 32) ^ u64::from(xid);
    hasher.hash_one(word)
}
