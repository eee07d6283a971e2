//! A call as one capture saw it, compact enough to wait by the hundred thousand for its twin.

use crate::work::work_of;
use hashbrown::HashMap;
use model::{Call, ConnectionId, Endpoint, Field, InnerTrips, Mark, Name, Outcome, Protocol};
use std::hash::BuildHasher;

/// Numbers protocol and operation pairs, so that a waiting call need not hold names.
#[derive(Default, Debug)]
pub struct OpTable {
    numbers: HashMap<(Protocol, Name), u16, foldhash::fast::FixedState>,
    names: Vec<(Protocol, Name)>,
}

impl OpTable {
    /// The number of an operation; past 65,535 different ones they share the last number.
    pub fn number(&mut self, protocol: Protocol, op: Name) -> u16 {
        if let Some(&n) = self.numbers.get(&(protocol, op)) {
            return n;
        }
        let n = self.names.len().min(usize::from(u16::MAX)) as u16;
        if usize::from(n) == self.names.len() {
            self.names.push((protocol, op));
        }
        self.numbers.insert((protocol, op), n);
        n
    }

    #[must_use]
    pub fn name(&self, number: u16) -> (Protocol, Name) {
        self.names[usize::from(number)]
    }

    #[must_use]
    pub fn len(&self) -> usize {
        self.names.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }
}

/// How much of a call a capture holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Completeness {
    Complete,
    /// But for the beginning of its request, or the certainty that its response is its own.
    NearlyTimed,
    /// But for its response, of which is known where it may lie.
    Hidden,
    /// But for the end of its response.
    CutOff,
    /// It [still waited](Call::is_unanswered) when its connection ended, or the capture did.
    Unanswered,
    NoResponse,
    Incomplete,
}

/// A call with a request, as one capture saw it.
#[derive(Clone, Debug)]
pub struct Half {
    pub connection: ConnectionId,
    pub client: Endpoint,
    pub server: Endpoint,
    pub id: u32,
    pub request_sequence: u32,
    /// Of the first byte of the response, where that was seen.
    pub response_sequence: Option<u32>,
    pub request_bytes: u32,
    pub response_bytes: u32,
    pub op: u16,
    pub completeness: Completeness,
    pub offset: u64,
    pub request_first: Mark,
    pub request_last: Mark,
    /// Only meaningful when complete; the earliest of one that is hidden or unanswered, otherwise the request's.
    pub response_first: Mark,
    pub response_last: Mark,
    pub request_held_ns: i64,
    pub response_held_ns: i64,
    /// Of few.
    pub inner: Option<Box<InnerTrips>>,
    /// How much longer it may have waited, where its response is hidden; how much longer it did, where none came.
    pub hidden_ns: i64,
    /// Which of its capture's calls it is, and of which [work](work_of).
    pub row: u64,
    pub work: u64,
    /// The number of its [attributes](crate::attributes).
    pub attributes: u32,
}

/// A server as a number, the same for the same end.
#[must_use]
pub fn number_of(end: Endpoint) -> u64 {
    foldhash::fast::FixedState::default().hash_one(end)
}

impl Half {
    /// `op` is the number of its operation, `attributes` that of its attributes, `row` that of the call. `None` for a response without a request: nothing identifies it in another capture.
    #[must_use]
    pub fn of(call: &Call, op: u16, row: u64, attributes: u32) -> Option<Half> {
        let request_first = call.request_first?;
        let request_last = call.request_last.unwrap_or(request_first);
        let earliest = call.hidden.map(|h| h.earliest);
        let response = (call.response_first, call.response_last, earliest);
        let (completeness, first, last) = match response {
            (Some(first), Some(last), _) if call.is_timed() => {
                (Completeness::Complete, first, last)
            }
            (Some(first), Some(last), _) if call.is_nearly_timed() => {
                (Completeness::NearlyTimed, first, last)
            }
            (Some(first), _, Some(last)) => (Completeness::CutOff, first, last),
            (None, _, Some(earliest)) if call.is_unanswered() => {
                (Completeness::Unanswered, earliest, earliest)
            }
            (None, _, Some(earliest)) => (Completeness::Hidden, earliest, earliest),
            _ if matches!(call.outcome, Outcome::NoResponse(_)) => {
                (Completeness::NoResponse, request_last, request_last)
            }
            _ => (Completeness::Incomplete, request_last, request_last),
        };
        Some(Half {
            connection: call.connection,
            client: call.client,
            server: call.server,
            id: call.id,
            request_sequence: call.request_sequence,
            response_sequence: call.response_first.map(|_| call.response_sequence),
            request_bytes: u32::try_from(call.request_bytes).unwrap_or(u32::MAX),
            response_bytes: u32::try_from(call.response_bytes).unwrap_or(u32::MAX),
            op,
            completeness,
            offset: call.detail.get(Field::Offset).unwrap_or(0),
            request_first,
            request_last,
            response_first: first,
            response_last: last,
            request_held_ns: call.request_held_ns,
            response_held_ns: call.response_held_ns,
            inner: call.inner.clone(),
            hidden_ns: call.hidden.map_or(0, |h| h.longer_ns()),
            row,
            work: work_of(call),
            attributes,
        })
    }

    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.completeness == Completeness::Complete
    }

    /// Whether it can be divided: it lacks nothing that its times need. A capture that
    /// begins with the same byte as the other one's call lacks nothing either.
    #[must_use]
    pub fn has_times(&self) -> bool {
        self.is_complete() || self.completeness == Completeness::NearlyTimed
    }

    /// Whether it is known how long it waited, at least.
    #[must_use]
    pub fn has_bounds(&self) -> bool {
        let partly = [Completeness::Hidden, Completeness::CutOff];
        self.has_times() || partly.contains(&self.completeness)
    }

    /// Of one that still waited at the end, how long until then.
    #[must_use]
    pub fn waited_ns(&self) -> i64 {
        self.response_time_ns().saturating_add(self.hidden_ns)
    }

    /// The same as if its answer came then.
    #[must_use]
    pub fn until_the_end(&self) -> Half {
        let later = |mark: Mark| Mark {
            time: mark.time + self.hidden_ns,
            ..mark
        };
        Half {
            response_first: later(self.response_first),
            response_last: later(self.response_last),
            ..self.clone()
        }
    }

    /// UDP has no sequence numbers.
    #[must_use]
    pub fn is_datagram(&self) -> bool {
        self.request_sequence == 0
    }

    #[must_use]
    pub fn response_time_ns(&self) -> i64 {
        self.response_last.time - self.request_first.time
    }

    #[must_use]
    pub fn wait_ns(&self) -> i64 {
        self.response_first.time - self.request_last.time
    }

    #[must_use]
    pub fn inner(&self) -> InnerTrips {
        self.inner.as_deref().copied().unwrap_or_default()
    }
}
