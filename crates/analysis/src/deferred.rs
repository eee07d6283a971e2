//! Calls that a server answered with "ask again later", and how long it was until their clients did.
//!
//! What the protocols' standards say of these answers is that nothing is wrong with the call: what the client waits for
//! then is no thought of its own. Clients know nothing of when it is worth asking again, so they wait for fixed times:
//! Linux 5 s for NFSv3, 0.1 to 15 s for NFSv4, others 10 s.
//!
//! NFS4ERR_DELAY may be another client's doing: a server that calls back what it delegated (CB_RECALL) says so until that is
//! returned (RFC 8881 section 10.2). Who sees the callbacks can tell. A lock that is denied is another client's: whoever wants
//! it asks again as well, by timers of his own (RFC 8881 section 9.8).

use crate::stats::Distribution;
use crate::worst::{Exhibit, Worst};
use hashbrown::HashMap;
use model::{Call, Field, Mark, Name, Outcome, Time, limits};
use std::hash::{BuildHasher, Hash, Hasher};
use std::net::IpAddr;

/// The answers that say so: RFC 1813 section 2.6, RFC 8881 sections 15.1.1.3, 15.1.9.2 and 15.1.10.4, XNFS (NLM).
const LATER: [&str; 6] = [
    "NFS3ERR_JUKEBOX",
    "NFS4ERR_DELAY",
    "NFS4ERR_GRACE",
    "NFS4ERR_LAYOUTTRYLATER",
    "NLM_DENIED_GRACE_PERIOD",
    "NLM4_DENIED_GRACE_PERIOD",
];

/// The same of a LOCK that another client's stands in the way of.
const DENIED: [&str; 3] = ["NFS4ERR_DENIED", "NLM_DENIED", "NLM4_DENIED"];
const LOCK: &str = "LOCK";

/// The one that may be another client's doing; the callback that says so, and what ends it.
const DELAY: &str = "NFS4ERR_DELAY";
const CALLS_BACK: &str = "CB_RECALL";
const RETURNS: &str = "DELEGRETURN";

/// No client waits for longer, and what asks the same later does so for reasons of its own.
const LONGEST_NS: i64 = 60_000_000_000;

type Fixed = foldhash::fast::FixedState;

/// Such calls of one capture.
#[derive(Default)]
pub struct Deferred {
    /// When each was answered so, by what it asked, until it is asked again; and how.
    told: HashMap<u64, Vec<(Mark, &'static str)>, Fixed>,
    remembered: usize,
    /// Each answer, and each operation, how often; in the order in which they came.
    pub answers: Vec<(&'static str, u64)>,
    pub ops: Vec<(Name, u64)>,
    /// From such an answer to the next request of the same.
    pub waits: Distribution,
    pub longest: Worst,
    /// Of the waits, those behind NFS4ERR_DELAY; and of these, those while something was called back.
    pub delayed_ns: i64,
    pub recalled_ns: i64,
    /// Those for locks of others.
    pub denied_ns: i64,
    pub recalls: Recalls,
}

/// Callbacks for what clients were delegated.
#[derive(Default)]
pub struct Recalls {
    /// How many there were, and from whom the first.
    pub count: u64,
    pub of: Option<IpAddr>,
    /// How many each client has not returned; when one was returned last.
    pending: HashMap<IpAddr, u64, Fixed>,
    returned: Option<Time>,
}

impl Recalls {
    /// Takes a call, if it calls something back or returns it.
    fn call(&mut self, call: &Call, at: Time) {
        if call.op.as_str() == CALLS_BACK {
            self.count += 1;
            self.of.get_or_insert(call.server.address);
            if self.pending.len() < limits::DEFERRED {
                *self.pending.entry(call.server.address).or_default() += 1;
            }
        } else if call.op.as_str() == RETURNS
            && let Some(open) = self.pending.get_mut(&call.client.address)
        {
            *open -= 1;
            if *open == 0 {
                self.pending.remove(&call.client.address);
            }
            self.returned = self.returned.max(Some(at));
        }
    }

    /// Whether anything was called back, and not returned before then.
    fn are_since(&self, then: Time) -> bool {
        !self.pending.is_empty() || self.returned >= Some(then)
    }
}

/// The answer, if it is one that says "later".
#[must_use]
pub fn answer(call: &Call) -> Option<&'static str> {
    match call.outcome {
        Outcome::Error(name) => {
            let denied = DENIED.iter().filter(|_| call.op.as_str() == LOCK);
            LATER
                .iter()
                .chain(denied)
                .copied()
                .find(|later| *later == name)
        }
        _ => None,
    }
}

impl Deferred {
    /// Takes a call of this capture; in the order of answers.
    pub fn call(&mut self, call: &Call, capture: usize) {
        let answer = answer(call);
        if matches!(call.op.as_str(), CALLS_BACK | RETURNS)
            && let Some(request) = call.request_first
        {
            self.recalls.call(call, request.time);
        }
        if answer.is_none() && self.remembered == 0 {
            return;
        }
        let (Some(request), Some(response)) = (call.request_first, call.response_last) else {
            return;
        };
        let asked = asked(call);
        self.again(asked, request, capture);
        let Some(answer) = answer else { return };
        count(&mut self.answers, answer);
        count(&mut self.ops, call.op);
        if self.remembered < limits::DEFERRED {
            let told = self.told.entry(asked).or_default();
            told.push((response, answer));
            self.remembered += 1;
        }
    }

    /// Somebody asks this: the first of those that were told to.
    fn again(&mut self, asked: u64, request: Mark, capture: usize) {
        let Some(told) = self.told.get_mut(&asked) else {
            return;
        };
        let all = told.len();
        told.retain(|(at, _)| request.time - at.time <= LONGEST_NS);
        if told.first().is_some_and(|(at, _)| at.time <= request.time) {
            let (at, answer) = told.remove(0);
            let waited = request.time - at.time;
            if DENIED.contains(&answer) {
                self.denied_ns = self.denied_ns.saturating_add(waited);
            }
            if answer == DELAY {
                self.delayed_ns = self.delayed_ns.saturating_add(waited);
                if self.recalls.are_since(at.time) {
                    self.recalled_ns = self.recalled_ns.saturating_add(waited);
                }
            }
            self.waits.add(waited);
            self.longest.add(Exhibit::of(waited, capture, at, request));
        }
        self.remembered -= all - told.len();
        if told.is_empty() {
            self.told.remove(&asked);
        }
    }

    /// Whether most of what was waited was for locks of others.
    pub(crate) fn are_denied(&self) -> bool {
        self.denied_ns.saturating_mul(2) > self.waits.total_ns()
    }

    /// How many calls were answered so.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.answers.iter().map(|(_, n)| n).sum()
    }
}

/// What is asked, by whom and of whom, as one number; the same when it is asked again.
fn asked(call: &Call) -> u64 {
    let mut hasher = Fixed::default().build_hasher();
    let object = [Field::File, Field::Offset].map(|f| call.detail.get(f));
    (call.client.address, call.server, call.protocol, call.op).hash(&mut hasher);
    (object, &call.text).hash(&mut hasher);
    hasher.finish()
}

/// Protocols have fewer operations and answers than this.
const KINDS: usize = 256;

fn count<T: PartialEq>(list: &mut Vec<(T, u64)>, what: T) {
    let known = list.len();
    match list.iter_mut().find(|(known, _)| *known == what) {
        Some((_, n)) => *n += 1,
        None if known < KINDS => list.push((what, 1)),
        None => {}
    }
}
