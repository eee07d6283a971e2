//! Calls to a host that asks as well into how long calls of its own were under way meanwhile.
//!
//! While the host worked on one request alone, what it asked is the least of what that may have waited for; what it asked
//! while the request was there at all is the most. When a call was over is told late where the snap length cuts its answer:
//! so they are held against each other when the capture is over, by their own times. A name that nobody answers for is
//! perhaps waited for until what was asked meanwhile is answered.

use super::spans::{Span, Spans};
use super::{asks, first_of};
use foldhash::fast::FixedState;
use hashbrown::{HashMap, HashSet};
use model::{Call, limits};
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// How long of a time calls of a server's own were under way: at least while it worked on this one alone, and at most.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Beneath {
    pub lo_ns: i64,
    pub hi_ns: i64,
}

impl Beneath {
    pub(crate) fn add(&mut self, other: Beneath) {
        self.lo_ns = self.lo_ns.saturating_add(other.lo_ns);
        self.hi_ns = self.hi_ns.saturating_add(other.hi_ns);
    }

    /// Of so many, if there are any.
    pub(crate) fn mean(self, of: i64) -> Option<Beneath> {
        Some(Beneath {
            lo_ns: self.lo_ns.checked_div(of)?,
            hi_ns: self.hi_ns.checked_div(of)?,
        })
    }
}

/// Calls to hosts that are asked and ask, and of theirs.
pub struct Followed {
    own: Vec<IpAddr>,
    hosts: HashMap<IpAddr, Host, FixedState>,
    /// Which of a pair of hosts asks the other: callbacks go the other way.
    pairs: HashSet<[IpAddr; 2], FixedState>,
    /// How many calls there is room for, and when the first began for which there was none.
    room: usize,
    until: i64,
}

/// What a host was asked.
struct Asked {
    /// From its first byte until its answer's last.
    whole: Span,
    /// From its last byte until its answer's first.
    wait: Span,
    /// The number of who wants to know of it.
    number: Option<u64>,
}

/// What lies beneath a call.
#[derive(Clone, Copy, Default)]
pub struct Told {
    pub whole: Beneath,
    /// While its server had it and had not begun to answer; at least none, where such calls go on while nobody asks the
    /// server anything: what is for nobody may go on as well while it works.
    pub wait: Beneath,
}

/// Calls of a host's own that go on for more than one part in so many of the time in which nobody asks it anything are no
/// part of its work for certain.
const BACKGROUND: i64 = 20;

#[derive(Default)]
struct Host {
    asked: Vec<Asked>,
    /// When it waited for calls of its own: for certain, and perhaps.
    surely: Vec<Span>,
    perhaps: Vec<Span>,
    /// When it asked for names that nobody answered for.
    in_vain: Vec<i64>,
}

impl Followed {
    /// Those of these hosts; `own` are addresses that are one's, which is called by the first.
    #[must_use]
    pub fn new(hosts: &[IpAddr], own: &[IpAddr]) -> Followed {
        Followed {
            own: own.to_vec(),
            hosts: hosts.iter().map(|h| (*h, Host::default())).collect(),
            pairs: HashSet::default(),
            room: limits::TIER_CALLS,
            until: i64::MAX,
        }
    }

    /// Takes a call; who wants to know what lies beneath it gives it a number.
    pub fn call(&mut self, call: &Call, number: Option<u64>) {
        let is_name = call.protocol.is_lookup();
        let is_taken = is_name || asks(call.protocol);
        let Some((from, surely, perhaps)) = under_way(call).filter(|_| is_taken) else {
            return;
        };
        let [client, server] = [call.client, call.server].map(|e| first_of(&self.own, e.address));
        let is_followed = [client, server].iter().any(|h| self.hosts.contains_key(h));
        if !is_followed || self.is_back([client, server]) {
            return;
        }
        let Some(room) = self.room.checked_sub(1) else {
            self.until = self.until.min(from);
            return;
        };
        self.room = room;
        if let Some(host) = self.hosts.get_mut(&server).filter(|_| !is_name) {
            let number = number.filter(|_| call.response_time_ns().is_some());
            let wait = call.request_last.zip(call.response_first);
            host.asked.push(Asked {
                whole: (from, perhaps),
                wait: wait.map_or((from, from), |(sent, answered)| {
                    (sent.time.0, answered.time.0)
                }),
                number,
            });
        }
        if let Some(host) = self.hosts.get_mut(&client) {
            if is_name && call.response_last.is_none() {
                return host.in_vain.push(from);
            }
            host.surely.push((from, surely));
            if surely < perhaps {
                host.perhaps.push((surely, perhaps));
            }
        }
    }

    /// Whether it goes from a host to itself, or the other way than what was asked first.
    fn is_back(&mut self, [client, server]: [IpAddr; 2]) -> bool {
        let is_back = client == server || self.pairs.contains(&[server, client]);
        if !is_back && self.pairs.len() < limits::TIER_CONNECTIONS {
            self.pairs.insert([client, server]);
        }
        is_back
    }

    /// What lies beneath each call that has a number.
    pub fn told(self, mut each: impl FnMut(u64, Told)) {
        let until = self.until;
        for mut host in self.hosts.into_values() {
            host.wait_in_vain();
            let alone = Spans::one(host.asked.iter().map(|a| a.whole));
            let surely = Spans::any(std::mem::take(&mut host.surely));
            let least = alone.and(&surely);
            let is_for_work = host.is_for_work(&surely);
            let most = match host.perhaps.is_empty() {
                true => surely,
                false => {
                    let perhaps = std::mem::take(&mut host.perhaps);
                    Spans::any(surely.iter().chain(perhaps).collect())
                }
            };
            let within = |span: Span| Beneath {
                lo_ns: least.within(span),
                hi_ns: most.within(span),
            };
            for asked in host.asked.iter().filter(|a| a.whole.1 <= until) {
                let Some(number) = asked.number else {
                    continue;
                };
                let mut wait = within(asked.wait);
                if !is_for_work {
                    wait.lo_ns = 0;
                }
                let whole = within(asked.whole);
                each(number, Told { whole, wait });
            }
        }
    }
}

impl Host {
    /// Whether its own calls rest while nobody asks it anything; of a host that never rests nobody knows.
    fn is_for_work(&self, own: &Spans) -> bool {
        let work = Spans::any(self.asked.iter().map(|a| a.whole).collect());
        let idle = work.between();
        let all_ns: i64 = idle
            .iter()
            .map(|(from, to)| to - from)
            .fold(0, i64::saturating_add);
        let background_ns: i64 = idle
            .iter()
            .map(|s| own.within(*s))
            .fold(0, i64::saturating_add);
        all_ns > 0 && background_ns <= all_ns / BACKGROUND
    }

    /// Names that nobody answered for are waited for, perhaps, until the last of the requests is answered on which it
    /// worked when it asked.
    fn wait_in_vain(&mut self) {
        if self.in_vain.is_empty() {
            return;
        }
        let mut asked: Vec<Span> = self.asked.iter().map(|a| a.whole).collect();
        asked.sort_unstable();
        self.in_vain.sort_unstable();
        let (mut asked, mut until) = (asked.into_iter().peekable(), i64::MIN);
        for from in self.in_vain.drain(..) {
            while let Some((_, to)) = asked.next_if(|(begun, _)| *begun <= from) {
                until = until.max(to);
            }
            if until > from {
                self.perhaps.push((from, until));
            }
        }
    }
}

/// When a call was under way: from when, to when for certain, and to when perhaps; as far as was seen where the capture
/// lacks its answer.
fn under_way(call: &Call) -> Option<(i64, i64, i64)> {
    let from = call.request_first?.time;
    let sent = call.request_last.map_or(from, |m| m.time);
    let (surely, perhaps) = match (call.response_last, call.hidden) {
        (Some(last), _) => (last.time, last.time),
        (None, Some(hidden)) => (hidden.earliest.time, hidden.latest),
        (None, None) => {
            let seen = call.response_first.map_or(sent, |m| m.time);
            (seen, seen)
        }
    };
    let surely = surely.max(from);
    Some((from.0, surely.0, perhaps.max(surely).0))
}
