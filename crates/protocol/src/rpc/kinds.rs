//! Kinds of call that a connection was seen to make, each with the lengths of its request and reply,
//! so that a reply can tell what its request was.
//!
//! Learned only from calls of which both headers were captured, and only once a capture is known to
//! cut packets. A reply is of a kind when it is as long as that kind's replies (for READ: without
//! the data that it says it holds) and what was captured of its results can be that kind's.

use super::adding;
use super::body;
use super::header::{ReplyStatus, Security};
use super::pairing::Early;
use super::pending::Pending;
use super::program::Arguments;
use super::programs;
use super::unseen::UNKNOWN;
use crate::session::Span;
use arrayvec::ArrayVec;
use model::{Detail, Field, Name, Outcome};

/// So many lengths are told apart where requests are hidden.
const LENGTHS: usize = 3;

/// Of calls as long as each other, one in so many may have another reply: the bytes of many replies show if one has.
const RARELY: u32 = 10;

/// Kinds remembered per connection; the rarest gives way.
const KINDS: usize = 32;

const READ: Name = Name::of("READ");
const WRITE: Name = Name::of("WRITE");
/// A compound whose operations were cut.
const COMPOUND: Name = Name::of("COMPOUND");

/// Where the bulk data of a call goes, which decides what its lengths depend on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Data {
    None,
    /// In the request: this many bytes, where the arguments say so.
    Sent(Option<u64>),
    /// In the reply.
    Returned,
}

/// One kind of call.
#[derive(Debug)]
pub(super) struct CallKind {
    program: u32,
    version: u32,
    procedure: u32,
    security: Security,
    /// As of a call of this kind; without the fields that differ between two of them.
    arguments: Arguments,
    data: Data,
    /// Length of the request, record mark included.
    pub(super) request_bytes: u64,
    /// Length of the reply, record mark included, data not.
    reply_bytes: u64,
    /// Length of all replies, data included; `None` where they differ.
    whole_reply_bytes: Option<u64>,
    seen: u32,
}

/// Data with its padding (RFC 4506 section 4.10).
fn padded(length: u64) -> u64 {
    length.next_multiple_of(4)
}

impl CallKind {
    /// Whether a call is of this procedure.
    fn is_of(&self, call: &Pending) -> bool {
        (self.program, self.version, self.procedure) == (call.program, call.version, call.procedure)
            && self.arguments.op == call.arguments.op
            && self.arguments.operations == call.arguments.operations
            && self.security == call.security
    }

    /// Whether a call of which both halves were seen is of this kind, as long as its others are.
    fn is_seen_in(&self, call: &Pending, reply: &Span) -> bool {
        let detail = &call.arguments.detail;
        let has_data = || match self.data {
            Data::None => reply.bytes == self.reply_bytes,
            Data::Sent(sent) => reply.bytes == self.reply_bytes && detail.get(Field::Count) == sent,
            Data::Returned => {
                let returned = detail.get(Field::Returned).map(padded);
                returned.is_some_and(|n| self.reply_bytes + n == reply.bytes)
            }
        };
        self.request_bytes == call.request.bytes && has_data() && self.is_of(call)
    }

    /// Whether this and another kind differ in lengths only.
    fn is_same_procedure(&self, other: &CallKind) -> bool {
        (self.program, self.version, self.procedure)
            == (other.program, other.version, other.procedure)
            && self.arguments.op == other.arguments.op
            && self.arguments.operations == other.arguments.operations
    }

    /// Whether a reply can be to a call of this kind.
    fn is_answered_by(&self, reply: &Early, scratch: &mut Pending) -> bool {
        let bytes = reply.span.bytes;
        let as_long = match self.data {
            Data::Returned => bytes >= self.reply_bytes,
            Data::None | Data::Sent(_) => bytes == self.reply_bytes,
        };
        if !as_long || reply.span.end_missing || reply.header.status != ReplyStatus::Success {
            return false;
        }
        if reply.inferred {
            return self.data != Data::Returned;
        }
        // Without its status, a reply may be of any kind that is as long.
        let status_at = self.security.wrapper().unwrap_or(0);
        if reply.header.body.is_none() || reply.results.len() < status_at + 4 {
            return false;
        }
        self.fill(scratch);
        let is_compound = !self.arguments.operations.is_empty();
        if is_compound && let Some(program) = programs::program(self.program) {
            // Reading the results without knowing the operations tells which they were.
            program.read(self.version, self.procedure, &[], &mut scratch.arguments);
        }
        if body::outcome(&reply.header, &reply.results, scratch) != Outcome::Ok {
            return false;
        }
        let said = &scratch.arguments;
        if is_compound {
            let asked = &self.arguments;
            if said.op != asked.op || !asked.operations.starts_with(&said.operations) {
                return false;
            }
        }
        let returned = said.detail.get(Field::Returned);
        match self.data {
            Data::None => true,
            Data::Sent(sent) => returned.is_none() || returned == sent,
            Data::Returned => returned.is_some_and(|n| self.reply_bytes + padded(n) == bytes),
        }
    }

    /// Makes `call` one of this kind, of which its own arguments are not known.
    pub(super) fn fill(&self, call: &mut Pending) {
        call.program = self.program;
        call.version = self.version;
        call.procedure = self.procedure;
        call.security = self.security;
        call.arguments = self.arguments.clone();
    }
}

/// The length that all have, where they all have one.
fn the_same(mut lengths: impl Iterator<Item = Option<u64>>) -> Option<u64> {
    let first = lengths.next()??;
    lengths.all(|other| other == Some(first)).then_some(first)
}

/// The kinds of one connection and direction.
#[derive(Default, Debug)]
pub(super) struct Kinds {
    /// Those seen often come first.
    kinds: Vec<CallKind>,
}

impl Kinds {
    /// Learns from a call whose request and reply were seen.
    pub(super) fn learn(&mut self, call: &Pending, reply: &Span) {
        let whole = !reply.end_missing && !call.request.end_missing;
        if !whole || call.outcome != Outcome::Ok {
            return;
        }
        if let Some(i) = self.kinds.iter().position(|k| k.is_seen_in(call, reply)) {
            self.seen_again(i, reply.bytes);
            return;
        }
        let is_named = ![body::UNNAMED, COMPOUND].contains(&call.arguments.op);
        if !is_named || call.security.wrapper().is_none() {
            return;
        }
        let detail = &call.arguments.detail;
        let (data, returned) = match call.arguments.op {
            WRITE => (Data::Sent(detail.get(Field::Count)), 0),
            READ => match detail.get(Field::Returned) {
                Some(returned) => (Data::Returned, padded(returned)),
                None => return,
            },
            _ => (Data::None, 0),
        };
        let Some(reply_bytes) = reply.bytes.checked_sub(returned) else {
            return;
        };
        if self.kinds.len() >= KINDS {
            let rarest = self.kinds.iter().enumerate().min_by_key(|(_, k)| k.seen);
            if let Some((i, _)) = rarest {
                self.kinds.swap_remove(i);
            }
        }
        let mut own = Detail::default();
        if let Data::Sent(Some(count)) = data {
            own.set(Field::Count, count);
        }
        let mut arguments = call.arguments.clone();
        arguments.detail = own;
        self.kinds.push(CallKind {
            program: call.program,
            version: call.version,
            procedure: call.procedure,
            security: call.security,
            arguments,
            data,
            request_bytes: call.request.bytes,
            reply_bytes,
            whole_reply_bytes: Some(reply.bytes),
            seen: 1,
        });
    }

    fn seen_again(&mut self, i: usize, whole_reply_bytes: u64) {
        let Some(kind) = self.kinds.get_mut(i) else {
            return;
        };
        let same = |whole: &u64| *whole == whole_reply_bytes;
        kind.whole_reply_bytes = kind.whole_reply_bytes.filter(same);
        kind.seen = kind.seen.saturating_add(1);
        let seen = kind.seen;
        if let Some(before) = i.checked_sub(1)
            && self.kinds.get(before).is_some_and(|k| k.seen < seen)
        {
            self.kinds.swap(before, i);
        }
    }

    /// Length of the shortest and of the longest request that any reply, or this reply, may answer.
    pub(super) fn lengths(
        &self,
        reply: Option<&Early>,
        scratch: &mut Pending,
    ) -> Option<(u64, u64)> {
        let mut lengths = None;
        for kind in &self.kinds {
            if reply.is_none_or(|r| kind.is_answered_by(r, scratch)) {
                let n = kind.request_bytes;
                let (low, high) = lengths.unwrap_or((n, n));
                lengths = Some((n.min(low), n.max(high)));
            }
        }
        lengths
    }

    /// Whether requests of this length were seen.
    pub(super) fn has_length(&self, request_bytes: u64) -> bool {
        self.kinds.iter().any(|k| k.request_bytes == request_bytes)
    }

    /// The kind of a request of this length with this reply, where only one procedure fits.
    pub(super) fn only(
        &self,
        request_bytes: u64,
        reply: &Early,
        scratch: &mut Pending,
    ) -> Option<&CallKind> {
        let mut found: Option<&CallKind> = None;
        for kind in &self.kinds {
            if kind.request_bytes != request_bytes || !kind.is_answered_by(reply, scratch) {
                continue;
            }
            if found.is_some_and(|f| !f.is_same_procedure(kind)) {
                return None;
            }
            found = found.or(Some(kind));
        }
        found
    }

    /// How long the reply to a call is, record mark included, if it succeeds: as those to calls like it were; to one whose
    /// header is cut off, as those to nearly all calls of its length were.
    pub(super) fn reply_bytes(&self, call: &Pending) -> Option<u64> {
        let asked = call.arguments.detail.get(Field::Count).map(padded);
        let length = |kind: &CallKind| match kind.data {
            Data::Returned => asked.map_or(kind.whole_reply_bytes, |n| Some(kind.reply_bytes + n)),
            Data::None | Data::Sent(_) => Some(kind.reply_bytes),
        };
        let of = |kind: &&CallKind| kind.is_of(call) && kind.request_bytes == call.request.bytes;
        match self.kinds.iter().any(|kind| of(&kind)) {
            true => the_same(self.kinds.iter().filter(of).map(length)),
            // Not all of its header was captured.
            false => self.reply_to(call.request.bytes),
        }
    }

    /// The least that a request takes up; `None` where none was seen.
    pub(super) fn shortest_request_bytes(&self) -> Option<u64> {
        self.kinds.iter().map(|k| k.request_bytes).min()
    }

    /// How long the reply to a request of this length is; `None` where it is not as long nearly always.
    fn reply_to(&self, request_bytes: u64) -> Option<u64> {
        let as_long = || {
            self.kinds
                .iter()
                .filter(|k| k.request_bytes == request_bytes)
        };
        let usual = as_long().max_by_key(|k| k.seen)?;
        let all: u32 = as_long().fold(0, |sum, k| sum.saturating_add(k.seen));
        let is_usual = all - usual.seen <= usual.seen / RARELY;
        usual.whole_reply_bytes.filter(|_| is_usual)
    }

    /// How long the replies to so many requests are that take up so many bytes; `None` where nothing says which they are.
    pub(super) fn reply_lengths(&self, count: u32, bytes: u64) -> Option<Vec<u64>> {
        let mut requests: ArrayVec<u64, LENGTHS> = ArrayVec::new();
        // Those seen often come first.
        for kind in &self.kinds {
            if !requests.contains(&kind.request_bytes) && !requests.is_full() {
                requests.push(kind.request_bytes);
            }
        }
        let counts = adding::counts(&requests, bytes, u64::from(count))?;
        let each = requests.iter().zip(counts).flat_map(|(request, n)| {
            let length = self.reply_to(*request).unwrap_or(UNKNOWN);
            std::iter::repeat_n(length, n as usize)
        });
        Some(each.collect())
    }

    /// Whether replies to calls like this one are always `bytes` long.
    pub(super) fn answers(&self, call: &Pending, bytes: u64) -> bool {
        let mut same = (self.kinds.iter())
            .filter(|k| k.is_of(call) && k.request_bytes == call.request.bytes)
            .peekable();
        same.peek().is_some() && same.all(|k| k.data != Data::Returned && k.reply_bytes == bytes)
    }
}
