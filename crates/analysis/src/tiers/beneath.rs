//! Calls to a host that asks as well into how long calls of its own were under way meanwhile.
//!
//! While the host worked on one request alone, what it asked is the least of what that may have waited for; what it asked
//! while the request was there at all is the most. What it asked on a connection that carries one session's work (whose.rs) is
//! that session's alone. When a call was over is told late where the snap length cuts its answer:
//! so they are held against each other when the capture is over, by their own times. A name that nobody answers for is
//! perhaps waited for until what was asked meanwhile is answered.

use super::spans::{Span, Spans};
use super::whose::{self, ByConnection};
use super::{asks, first_of};
use foldhash::fast::FixedState;
use hashbrown::{HashMap, HashSet};
use model::{Call, ConnectionId, limits};
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
    connection: ConnectionId,
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

/// What a session waits for by connections of its own, and what of that passes while the host waits by others as well.
struct Session {
    own: Spans,
    besides: Spans,
}

impl Session {
    fn of(own: Vec<Span>, shared: &Spans) -> Session {
        let own = Spans::any(own);
        Session {
            besides: own.among(shared),
            own,
        }
    }

    /// What it waited within this span, by its own connections or those that all `share`.
    fn within(&self, span: Span, shared: &Spans) -> i64 {
        self.own.within(span) + shared.within(span) - self.besides.within(span)
    }
}

/// Calls of a host's own that go on for more than one part in so many of the time in which nobody asks it anything are no
/// part of its work for certain.
const BACKGROUND: i64 = 20;

#[derive(Default)]
struct Host {
    asked: Vec<Asked>,
    /// When it waited for calls of its own: for certain, and perhaps; by which connection, which lookups share.
    surely: Vec<(Option<ConnectionId>, Span)>,
    perhaps: Vec<(Option<ConnectionId>, Span)>,
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
                connection: call.connection,
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
            let by = (!is_name).then_some(call.connection);
            host.surely.push((by, (from, surely)));
            if surely < perhaps {
                host.perhaps.push((by, (surely, perhaps)));
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

    /// What lies beneath each call that has a number; gives how many each host has of these, and how long it waited in all,
    /// at least none where nothing is certain.
    pub fn told(self, mut each: impl FnMut(u64, Told)) -> Vec<(IpAddr, u64, Beneath)> {
        let until = self.until;
        let mut waited = Vec::new();
        for (address, mut host) in self.hosts {
            let (mut calls, mut sum) = (0, Beneath::default());
            host.wait_in_vain();
            let of_session = host.of_sessions();
            let is_shared =
                |by: &Option<ConnectionId>| by.is_none_or(|by| !of_session.contains_key(&by));
            let of = |own: &[(Option<ConnectionId>, Span)], shared: bool| {
                let those = own.iter().filter(|(by, _)| !shared || is_shared(by));
                those.map(|(_, span)| *span).collect::<Vec<Span>>()
            };
            let alone = Spans::one(host.asked.iter().map(|a| a.whole));
            let is_for_work = host.is_for_work(&Spans::any(of(&host.surely, false)));
            let any =
                |shared| Spans::any([of(&host.surely, shared), of(&host.perhaps, shared)].concat());
            let least = alone.and(&Spans::any(of(&host.surely, true)));
            // Of whom nothing is known, any of them may be for.
            let (shared, most) = (any(true), any(false));
            // What a session's own connection carries is for it, whether or not the host ever rests.
            let none = Spans::default();
            let waited_for = if is_for_work { &least } else { &none };
            let [of_any, of_work] =
                [&least, waited_for].map(|least| host.by_session(&of_session, [least, &shared]));
            let within = |connection: ConnectionId, span: Span, for_work: bool| {
                let (sessions, least) = match for_work {
                    true => (&of_work, waited_for),
                    false => (&of_any, &least),
                };
                match sessions.get(&connection) {
                    Some([surely, all]) => Beneath {
                        lo_ns: surely.within(span, least),
                        hi_ns: all.within(span, &shared),
                    },
                    None => Beneath {
                        lo_ns: least.within(span),
                        hi_ns: most.within(span),
                    },
                }
            };
            for asked in host.asked.iter().filter(|a| a.whole.1 <= until) {
                let Some(number) = asked.number else {
                    continue;
                };
                let wait = within(asked.connection, asked.wait, true);
                let whole = within(asked.connection, asked.whole, false);
                calls += 1;
                sum.add(within(asked.connection, asked.whole, true));
                each(number, Told { whole, wait });
            }
            waited.push((address, calls, sum));
        }
        waited
    }
}

impl Host {
    /// For which of its clients' connections each of its own works, where that is known.
    fn of_sessions(&self) -> ByConnection<ConnectionId> {
        let asked = self.asked.iter().map(|a| (a.connection, a.whole));
        let asked = spans(whose::by_connection(asked));
        // Of one that is alone there is nothing to tell apart.
        if asked.len() < 2 {
            return ByConnection::default();
        }
        let own = self.surely.iter().chain(&self.perhaps);
        let own = own.filter_map(|(by, span)| Some(((*by)?, *span)));
        whose::whose(&asked, &spans(whose::by_connection(own)))
    }

    /// What each of those waits for that have connections of their own: by these alone.
    fn by_session(
        &self,
        of_session: &ByConnection<ConnectionId>,
        [least, shared]: [&Spans; 2],
    ) -> ByConnection<[Session; 2]> {
        let own = |all: &[(Option<ConnectionId>, Span)]| {
            let those = all.iter().filter_map(|(by, span)| {
                let session = of_session.get(&(*by)?)?;
                Some((*session, *span))
            });
            whose::by_connection(those)
        };
        let mut perhaps = own(&self.perhaps);
        let each = own(&self.surely).into_iter().map(|(session, surely)| {
            let perhaps = perhaps.remove(&session).unwrap_or_default();
            let all = [&surely[..], &perhaps].concat();
            let both = [Session::of(surely, least), Session::of(all, shared)];
            (session, both)
        });
        each.collect()
    }

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
                self.perhaps.push((None, (from, until)));
            }
        }
    }
}

fn spans(by: ByConnection<Vec<Span>>) -> ByConnection<Spans> {
    by.into_iter()
        .map(|(connection, spans)| (connection, Spans::any(spans)))
        .collect()
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
