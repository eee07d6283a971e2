//! # What it says
//! Connections took long to open: the first packets (SYN, SYN/ACK) had to be sent
//! again, or were answered late.
//!
//! Or the server still held an earlier connection from the same port, of which the
//! client's host knows no more (it was restarted, or its end got lost): it answers
//! a SYN with that one's acknowledgement (RFC 5961), which the client resets. Where
//! these resets do not get through, no SYN is ever answered: mounts hang like this
//! after a failover, as NFS clients come back from the same port.
//!
//! Or the packets were quick, and the logon behind them took a second or more:
//! finding the database, agreeing with it, authenticating.
//!
//! Or the client was not served before it got there: names that no server knew or
//! none answered for, addresses that nobody has, broadcasts without answer,
//! refused connections, files that are not there. `slowside startup` shows each.
//!
//! # Why it costs time
//! Nothing is asked before a connection is open. A SYN that is lost or ignored is
//! sent again after 1 s, then 3, 7, 15 s.
//!
//! # How sure
//! With captures of both ends it is certain who failed: SYNs that never reached the
//! server, answers that never reached the client, or a server that had them and
//! said nothing (its queue of new connections is full). At the server alone, SYNs
//! that came and were not answered are the server's; one that was answered, and
//! came again all the same, had its answer lost. A client that goes on was
//! answered, and where none of a server's packets are captured nobody is named.
//! At the client alone a lost answer shows where it echoes the first SYN's
//! timestamp, so that this had arrived; else nobody is named. Nor is it where an
//! earlier connection is in the way, but for resets that left the client and did
//! not arrive, which is the network's.
//!
//! # What to check next
//! An earlier connection: ss -nt on the server; firewalls that drop resets of what
//! they have forgotten; keep-alives, so that the server forgets it, too.
//! Server: the listen queue (ss -lnt, "SYNs to LISTEN sockets dropped" in netstat
//! -s), whether the process accepts. Network: firewalls, load balancers, loss.
//!
//! # When it is wrong
//! A host that was being started, or a port that opened only then; a filter on the
//! client's own host that drops answers.

use super::{Entry, Of, Rule, evidence, numbers};
use crate::facts::Facts;
use crate::results::{ConnectionResult, Fact, Finding, Side};
use crate::startup::{Ending, Sum, WaitKind, reason};
use crate::text::{Text, Value, text};
use model::{Direction, Handshake, TimeClass};

pub(super) const ENTRY: Entry = Entry {
    code: "slow-connect",
    title: "connections that are slow to open",
    side: None,
    of: Of::Connects,
    sure: [0.9, 0.9],
    page: page!("slow_connect.rs"),
    check,
};

/// Less than the first timer of any host is another matter.
const SLOW_NS: i64 = 500_000_000;

fn check(facts: &Facts<'_>) -> Option<Finding> {
    if let Some(found) = by_startup(facts) {
        return Some(found);
    }
    let slow: Vec<(&ConnectionResult, i64, Side)> = facts
        .streams
        .connections
        .iter()
        .filter_map(|c| Some((c, excess(c)?, culprit(facts, c))))
        .collect();
    let cost_of = |side: Side| {
        let own = slow.iter().filter(|(.., s)| *s == side);
        own.fold(0, |sum: i64, (_, ns, _)| sum.saturating_add(*ns))
    };
    // One of many whose packets do not tell takes nothing from what the others do.
    let sides = [Side::Undetermined, Side::Network, Side::Server];
    let side = sides.into_iter().max_by_key(|side| cost_of(*side))?;
    let own = slow.iter().filter(|(.., s)| *s == side);
    let Some(worst) = own.max_by_key(|(_, ns, _)| *ns) else {
        return by_logon(facts);
    };
    let cost = sides.map(cost_of).into_iter().fold(0, i64::saturating_add);
    let retries: u64 = slow.iter().map(|(c, ..)| retries(c)).sum();
    let unanswered = slow.iter().filter(|(c, ..)| !c.handshake.seen).count();
    let challenged = slow.iter().filter(|(c, ..)| is_challenged(c)).count();
    let title = match side {
        _ if is_challenged(worst.0) => "A server holds an earlier connection from the same port",
        Side::Server => "The server leaves attempts to connect unanswered",
        Side::Network => "Attempts to connect are lost on the way",
        _ => "Connections are slow to open",
    };
    Some(Finding {
        title: title.into(),
        side,
        cost_ns: Some(cost),
        first: slow.iter().map(|(c, ..)| c.first).min(),
        last: slow.iter().map(|(c, ..)| c.first).max(),
        facts: numbers([
            ("connections", slow.len() as i64),
            ("retries", retries as i64),
            ("longest_ns", worst.1),
            ("unanswered", unanswered as i64),
            ("challenged", challenged as i64),
        ]),
        evidence: evidence::of_packets(
            facts,
            slow.iter().take(3).flat_map(|(c, ..)| {
                let opened = c.directions[0].account.longest[TimeClass::Handshake];
                let first = c.ends.first().map(|(i, first, _)| (*i, first.packet));
                let last = first.zip(opened).map(|((i, _), wait)| (i, wait.last.packet));
                first.into_iter().chain(last)
            }),
            "the first SYN, and the packet that opened the connection or was its last",
        ),
        why: text!(
            "{n} connection{n||s} waited up to {longest} to open{vain}; SYN or SYN/ACK {retries|was|were} sent again {retries} time{retries||s}.{held}",
            n = slow.len(),
            longest = Value::Duration(worst.1),
            vain = match unanswered {
                0 => Text::default(),
                n if n == slow.len() => text!(", in vain"),
                n => text!(", {n} of them in vain", n = n),
            },
            retries = retries,
            held = held(worst.0),
        ),
        remedy: vec![match side {
            _ if is_challenged(worst.0) => "see which connections from that port the server still has (ss -nt), and end them there; let resets pass; let keep-alives find what is dead".into(),
            Side::Server => "let the server accept faster, or lengthen its listen queue (somaxconn, the application's backlog)".into(),
            _ => "look for what drops SYN or SYN/ACK: firewall, load balancer, a link with loss".into(),
        }],
        ..Rule::SlowConnect.finding()
    })
}

/// Whether the server answered its SYN for an earlier connection between the same ports.
fn is_challenged(c: &ConnectionResult) -> bool {
    c.openings.iter().any(|h| h.challenges > 0)
}

/// What is in the way of one that is.
fn held(c: &ConnectionResult) -> Text {
    if !is_challenged(c) {
        return Text::default();
    }
    let times = c.openings.iter().map(|h| h.challenges).max();
    let resets = c.openings.iter().map(|h| h.challenge_resets).max();
    text!(
        " {server} still holds an earlier connection from {client}: {times} time{times||s} it answered the SYN for that one, and {resets}.",
        server = c.server,
        client = c.client,
        times = times.unwrap_or(0),
        resets = match (c.openings.as_slice(), resets.unwrap_or(0)) {
            (_, 0) => text!("no reset of it came from the client"),
            ([client, server], n) if server.challenges >= client.challenges => text!(
                "of {n} reset{n||s} that the client sent for it {arrived} arrived",
                n = n,
                arrived = server.challenge_resets,
            ),
            (_, n) => text!("the client reset it {n} time{n||s}", n = n),
        },
    )
}

fn retries(c: &ConnectionResult) -> u64 {
    let each = c
        .openings
        .iter()
        .map(|h| u64::from(h.syn_retries) + u64::from(h.syn_ack_retries));
    each.max().unwrap_or(0)
}

/// What opening took beyond a round trip, where that was long and packets were sent again.
fn excess(c: &ConnectionResult) -> Option<i64> {
    let opening = c.openings.first()?;
    let opened = match (opening.syn, opening.syn_ack) {
        (Some(_), Some(_)) => opening.ack?,
        (Some(_), None) if speaks_on(c) => return None,
        (Some(_), None) => c.last,
        (None, _) => return None,
    };
    let took = opened - c.first;
    let usual = c.handshake.syn_to_syn_ack_ns.unwrap_or(0).min(took);
    let excess = took.saturating_sub(usual);
    (excess >= SLOW_NS && retries(c) > 0).then_some(excess)
}

/// Whether the client sent more than SYNs and a reset: it was answered, though that may not have been captured.
fn speaks_on(c: &ConnectionResult) -> bool {
    let sent = &c.direction(Direction::ToServer).counts;
    let opening = c.openings.first();
    let syns = opening.map_or(0, |h| {
        1 + u64::from(h.syn_retries) + u64::from(h.challenge_resets)
    });
    sent.packets > syns + u64::from(sent.payload_bytes == 0)
}

/// Whether what its server says is not in the captures: it was heard, as clients go on, and none of its packets is there.
fn is_server_mute(facts: &Facts<'_>, c: &ConnectionResult) -> bool {
    let mut own =
        (facts.streams.connections.iter()).filter(|o| o.server.address == c.server.address);
    let is_heard = |o: &ConnectionResult| o.direction(Direction::ToClient).counts.packets > 0;
    own.clone().any(speaks_on) && !own.any(is_heard)
}

fn culprit(facts: &Facts<'_>, c: &ConnectionResult) -> Side {
    match c.openings.as_slice() {
        _ if is_server_mute(facts, c) => Side::Undetermined,
        [client, server] if is_challenged(c) => {
            // A capture that began later, or lacks some, has fewer of both.
            let saw_all = server.challenges >= client.challenges;
            if saw_all && client.challenge_resets > server.challenge_resets {
                Side::Network
            } else {
                Side::Undetermined
            }
        }
        _ if is_challenged(c) => Side::Undetermined,
        [client, server] => {
            let arrived_all = server.syn_retries >= client.syn_retries;
            let is_silent = server.syn_ack_retries == 0 && !server.answered_before_retry;
            match arrived_all && is_silent && client.syn_retries > 0 {
                true if facts.halves[0].is_here() => Side::Server,
                // They passed a capture on the way, and may have been lost behind it.
                true => Side::Undetermined,
                false if !arrived_all && may_have_come_before(facts, c) => Side::Undetermined,
                false => Side::Network,
            }
        }
        [one] if facts.server == Some(0) && one.answered_before_retry => Side::Network,
        [one] if facts.server == Some(0) && one.syn_retries > 0 && one.syn_ack_retries == 0 => {
            Side::Server
        }
        [one] if facts.client == Some(0) && one.echoes_first_syn && answers_the_last(c, one) => {
            Side::Network
        }
        _ => Side::Undetermined,
    }
}

/// Whether the server's capture may have begun behind SYNs that it lacks: it shows the connection for the first time sooner
/// after its own beginning than the client waited, and lacks what passed before that as well.
fn may_have_come_before(facts: &Facts<'_>, c: &ConnectionResult) -> bool {
    let waited_ns = excess(c).unwrap_or(0);
    let at_server = c.ends.get(1);
    let is_near = at_server.is_some_and(|(capture, first, _)| {
        let began = facts.results.get(*capture).and_then(|r| r.first);
        began.is_some_and(|began| first.time - began <= waited_ns)
    });
    let is_lacking = |o: &ConnectionResult| match o.openings.as_slice() {
        [client, server] => client.syn.is_some() && server.syn.is_none(),
        [client] => client.syn_ack.is_some(),
        _ => false,
    };
    let mut before = facts.streams.connections.iter();
    is_near && before.any(|o| o.first <= c.first + waited_ns && is_lacking(o))
}

/// Whether the SYN/ACK came a round trip after the last SYN: it answers that one, and is no late answer to the first.
fn answers_the_last(c: &ConnectionResult, opening: &Handshake) -> bool {
    let took = opening
        .syn
        .zip(opening.syn_ack)
        .map(|(syn, answer)| answer - syn);
    let usual = c.direction(Direction::ToServer).counts.ack_rtt_min_ns;
    took.zip(usual)
        .is_some_and(|(took, usual)| took <= usual.saturating_mul(2))
}

/// What a client waited for in vain, as a fact's name.
fn in_vain(sum: &Sum) -> Option<&'static str> {
    Some(match (sum.kind, sum.ending) {
        (WaitKind::Dns, Ending::NoAnswer) => "dns_no_answer_ns",
        (WaitKind::Dns, Ending::NotFound) => "dns_not_found_ns",
        (WaitKind::Dns, Ending::Failed) => "dns_failed_ns",
        (WaitKind::Arp, Ending::NoAnswer) => "arp_no_answer_ns",
        (WaitKind::Broadcast, Ending::NoAnswer) => "broadcast_no_answer_ns",
        (WaitKind::Connect, Ending::NoAnswer) => "connect_no_answer_ns",
        (WaitKind::Connect, Ending::Refused) => "connect_refused_ns",
        (WaitKind::File, Ending::NotFound) => "file_not_found_ns",
        _ => return None,
    })
}

/// The fact of all that a client waited in vain.
const WAITED: &str = "waited_ns";

/// How long a client waited in vain, by a finding that says so.
pub(crate) fn waited_in_vain_ns(finding: &Finding) -> Option<i64> {
    let waited = finding.facts.iter().find(|fact| fact.name == WAITED)?;
    (finding.rule == Rule::SlowConnect).then_some(waited.value)
}

/// A client that waited in vain before it was served: for more than half of the time in which it was seen,
/// and longer than all calls took. Broadcasts and addresses that nobody has are often asked for by
/// something in the background, and connections without answer have a finding of their own, so that these are
/// not enough by themselves.
fn by_startup(facts: &Facts<'_>) -> Option<Finding> {
    let (capture, startup) = facts.startup?;
    let sums = || {
        startup
            .reasons
            .iter()
            .filter_map(|s| Some((s, in_vain(s)?)))
    };
    let cost: i64 = sums().map(|(s, _)| s.cost_ns).sum();
    let alone = |s: &Sum| matches!(s.kind, WaitKind::Dns | WaitKind::File);
    let others: i64 = sums()
        .filter(|(s, _)| alone(s))
        .map(|(s, _)| s.cost_ns)
        .sum();
    let calls = facts.account.calls > 0;
    if !startup.is_client
        || others < SLOW_LOGON_NS
        || cost < startup.elapsed_ns() / 2
        || calls && cost < facts.response().total_ns()
    {
        return None;
    }
    let named: Vec<Text> = sums()
        .filter(|(s, _)| s.cost_ns > cost / 100)
        .map(|(s, _)| {
            text!(
                "{time} {reason}",
                time = Value::Duration(s.cost_ns),
                reason = reason(s.kind, s.ending),
            )
        })
        .collect();
    let worst = sums().filter_map(|(s, _)| startup.waits.get(s.worst));
    let client = *startup.addresses.first()?;
    Some(Finding {
        title: "A client waited in vain before it was served".into(),
        side: Side::Undetermined,
        elapsed_cost_ns: Some(cost),
        first: Some(startup.first),
        last: Some(startup.last),
        facts: [(WAITED, cost)]
            .into_iter()
            .chain(sums().map(|(s, name)| (name, s.cost_ns)))
            .map(|(name, value)| Fact { name, value })
            .collect(),
        evidence: evidence::of_packets(
            facts,
            worst
                .take(6)
                .flat_map(|w| [(capture, w.begun), (capture, w.ended)]),
            "the longest wait of each kind: what began it, and what ended it",
        ),
        why: text!(
            "{client} waited {time} of {elapsed} in vain: {reasons}.",
            client = client,
            time = Value::Duration(cost),
            elapsed = Value::Duration(startup.elapsed_ns()),
            reasons = Value::List(named, ", "),
        ),
        remedy: vec![text!(
            "slowside startup --client {client} shows each wait with what ended it: correct the name, the name server, the address or the path that is asked for first",
            client = client,
        )],
        ..Rule::SlowConnect.finding()
    })
}

/// A logon that takes this long is noticed by its user.
const SLOW_LOGON_NS: i64 = 1_000_000_000;

/// Connections that opened at once to sessions of a database that did not. Their calls are charged where
/// they waited, so that this has no cost of its own.
fn by_logon(facts: &Facts<'_>) -> Option<Finding> {
    let profile = facts.sql?;
    let sessions = profile.sessions.iter();
    let slow: Vec<_> = sessions
        // Who tries again and again is slow for another reason.
        .filter(|s| s.opening_ns() >= SLOW_LOGON_NS && s.failed_logons <= 1)
        .collect();
    let worst = slow.iter().max_by_key(|s| (s.opening_ns(), s.client))?;
    let all = slow.iter().map(|s| s.opening_ns());
    let capture = facts.sql_capture();
    // What was not seen, or was not needed, has no time.
    let seen: Vec<(&'static str, &'static str, i64)> = [
        ("tcp_ns", "TCP", worst.tcp_ns),
        ("tls_ns", "TLS", worst.tls_ns),
        ("connect_ns", "reaching the server", worst.connect_ns),
        ("negotiate_ns", "agreeing with it", worst.negotiate_ns),
        ("logon_ns", "authenticating", worst.logon_ns),
    ]
    .into_iter()
    .filter(|(.., ns)| *ns > 0)
    .collect();
    let phases = seen
        .iter()
        .map(|(_, what, ns)| text!("{what} {time}", what = *what, time = Value::Duration(*ns)));
    let phases: Vec<Text> = phases.collect();
    Some(Finding {
        title: "Sessions of the database are slow to open".into(),
        side: Side::Undetermined,
        elapsed_cost_ns: Some(all.fold(0, i64::saturating_add)),
        first: slow.iter().filter_map(|s| s.first).min(),
        last: slow.iter().filter_map(|s| s.first).max(),
        facts: [
            ("sessions", slow.len() as i64),
            ("longest_ns", worst.opening_ns()),
        ]
        .into_iter()
        .chain(seen.iter().map(|(name, _, ns)| (*name, *ns)))
        .map(|(name, value)| Fact { name, value })
        .collect(),
        evidence: evidence::of_packets(
            facts,
            worst
                .slowest_opening
                .iter()
                .flat_map(|w| [(capture, w.request), (capture, w.response)]),
            "the longest call of the longest logon",
        ),
        why: text!(
            "{n} session{n||s} took a second or more to open; the longest {longest}: {phases}.",
            n = slow.len(),
            longest = Value::Duration(worst.opening_ns()),
            phases = Value::List(phases, ", "),
        ),
        remedy: vec![
            "look at what the server does at logon (name lookups of clients, authentication servers, process start), and at how often the application logs on: a pool spares it".into(),
        ],
        ..Rule::SlowConnect.finding()
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Fixture, MS, connection, found};
    use super::*;
    use crate::results::Vantage;
    use ledger::Half;
    use model::{Mark, Time};

    /// SYNs sent again, and how many of them arrived; and when the connection was open.
    fn connected(sent: u32, arrived: u32, at: i64) -> ConnectionResult {
        let opening = |retries| Handshake {
            syn: Some(Time(0)),
            syn_ack: Some(Time(at)),
            ack: Some(Time(at)),
            syn_retries: retries,
            ..Handshake::default()
        };
        let mut c = connection();
        c.handshake.seen = true;
        c.openings = vec![opening(sent), opening(arrived)];
        c
    }

    fn opened(sent: u32, arrived: u32, at: i64) -> Option<Finding> {
        found(Rule::SlowConnect, |f| {
            f.streams.connections = vec![connected(sent, arrived, at)];
            f.results[1].first = Some(Time(-10_000 * MS));
        })
    }

    #[test]
    fn attempts_that_arrive_and_are_not_answered_are_the_server_s() {
        let f = opened(1, 1, 1_000 * MS).unwrap();
        assert_eq!((f.side, f.cost_ns), (Side::Server, Some(1_000 * MS)));
        assert_eq!(
            f.why.to_string(),
            "1 connection waited up to 1.00 s to open; SYN or SYN/ACK was sent again 1 time."
        );
    }

    #[test]
    fn what_passed_a_capture_on_the_way_may_not_have_arrived() {
        let side = |to_server| {
            let found = found(Rule::SlowConnect, |f| {
                f.streams.connections = vec![connected(1, 1, 1_000 * MS)];
                f.halves[0] = to_server;
            });
            found.map(|f| f.side)
        };
        assert_eq!(
            [Half::Here, Half::ANY].map(side),
            [Some(Side::Server), Some(Side::Undetermined)]
        );
    }

    #[test]
    fn attempts_that_do_not_arrive_are_the_network_s() {
        assert_eq!(opened(2, 1, 3_000 * MS).unwrap().side, Side::Network);
    }

    /// One waited for 3 s, and both captures show two SYNs of it; of others, as many as are said, the server's lacks one.
    #[test]
    fn what_costs_most_says_whose_it_is_and_not_the_longest() {
        let side = |others: usize| {
            let found = found(Rule::SlowConnect, |f| {
                f.halves[0] = Half::ANY;
                f.streams.connections = vec![connected(1, 1, 3_000 * MS)];
                let lost = (0..others).map(|_| connected(1, 0, 1_000 * MS));
                f.streams.connections.extend(lost);
                f.results[1].first = Some(Time(-10_000 * MS));
            });
            found.map(|f| (f.side, f.cost_ns))
        };
        assert_eq!(side(2), Some((Side::Undetermined, Some(5_000 * MS))));
        assert_eq!(side(4), Some((Side::Network, Some(7_000 * MS))));
    }

    #[test]
    fn what_a_capture_that_began_later_lacks_may_have_arrived() {
        // The server's capture shows the connection so long after its own beginning; the client waited for 3 s.
        let side = |(began_before, lacks_another): (i64, bool)| {
            let found = found(Rule::SlowConnect, |f| {
                let mut c = connected(2, 0, 3_000 * MS);
                let first = Mark {
                    time: Time(9_000 * MS),
                    ..Mark::default()
                };
                c.ends = vec![(0, Mark::default(), Mark::default()), (1, first, first)];
                let mut other = connection();
                other.openings = c.openings[1..].to_vec();
                f.streams.connections = vec![c];
                f.streams.connections.extend(lacks_another.then_some(other));
                f.results[1].first = Some(first.time + -began_before);
            });
            found.map(|f| f.side)
        };
        assert_eq!(
            [(3_001 * MS, true), (3_000 * MS, true), (MS, false)].map(side),
            [Side::Network, Side::Undetermined, Side::Network].map(Some)
        );
    }

    #[test]
    fn what_was_answered_before_it_was_asked_again_had_its_answer_lost_though_the_next_is_not_captured()
     {
        let side = |answered_before_retry| {
            found(Rule::SlowConnect, |f| {
                let opening = |answered_before_retry| Handshake {
                    syn: Some(Time(0)),
                    syn_ack: Some(Time(1_000 * MS)),
                    ack: Some(Time(1_000 * MS)),
                    syn_retries: 1,
                    answered_before_retry,
                    ..Handshake::default()
                };
                let mut c = connection();
                c.handshake.seen = true;
                c.openings = vec![opening(false), opening(answered_before_retry)];
                f.streams.connections = vec![c];
            })
            .map(|f| f.side)
        };
        assert_eq!(
            [true, false].map(side),
            [Some(Side::Network), Some(Side::Server)]
        );
    }

    /// Of one capture, which says what `change` makes of the opening: a SYN, another one a second later, and an answer.
    fn alone(vantage: Vantage, change: fn(&mut Handshake)) -> Side {
        let mut f = Fixture::alone(vantage);
        let mut opening = Handshake {
            syn: Some(Time(1_000 * MS)),
            syn_ack: Some(Time(1_002 * MS)),
            ack: Some(Time(1_002 * MS)),
            syn_retries: 1,
            ..Handshake::default()
        };
        change(&mut opening);
        let mut c = connection();
        c.handshake.seen = true;
        c.handshake.syn_to_syn_ack_ns = Some(2 * MS);
        c.directions[0].counts.ack_rtt_min_ns = Some(2 * MS);
        c.openings = vec![opening];
        f.streams.connections = vec![c];
        f.finds(Rule::SlowConnect).unwrap().side
    }

    #[test]
    fn what_was_answered_and_is_asked_again_had_its_answer_lost() {
        use Vantage::{Client, Server};
        assert_eq!(alone(Server, |_| ()), Side::Server);
        assert_eq!(
            alone(Server, |h| h.answered_before_retry = true),
            Side::Network
        );
        assert_eq!(alone(Client, |_| ()), Side::Undetermined);
        assert_eq!(alone(Client, |h| h.echoes_first_syn = true), Side::Network);
        // It may be a late answer to the first.
        let late = |h: &mut Handshake| {
            h.echoes_first_syn = true;
            h.syn_ack = Some(Time(1_005 * MS));
        };
        assert_eq!(alone(Client, late), Side::Undetermined);
    }

    /// At the server, two SYNs without an answer, and so many packets behind them.
    fn unanswered(packets: u64) -> Option<Finding> {
        let mut f = Fixture::alone(Vantage::Server);
        let mut c = connection();
        c.last = Time(3_000 * MS);
        c.directions[0].counts.packets = 2 + packets;
        c.openings = vec![Handshake {
            syn: Some(Time(0)),
            syn_retries: 1,
            ..Handshake::default()
        }];
        f.streams.connections = vec![c];
        f.finds(Rule::SlowConnect)
    }

    #[test]
    fn who_goes_on_was_answered_where_the_capture_lacks_the_answer() {
        assert_eq!(unanswered(0).map(|f| f.side), Some(Side::Server));
        assert_eq!(unanswered(1).map(|f| f.side), Some(Side::Server), "a reset");
        assert_eq!(unanswered(2).map(|f| f.side), None);
    }

    #[test]
    fn nobody_is_named_where_the_server_s_packets_are_not_captured() {
        let side = |packets: u64| {
            let mut f = Fixture::alone(Vantage::Server);
            let (mut c, mut other) = (connection(), connection());
            c.last = Time(3_000 * MS);
            c.openings = vec![Handshake {
                syn: Some(Time(0)),
                syn_retries: 1,
                ..Handshake::default()
            }];
            other.directions[0].counts.packets = 3;
            other.directions[1].counts.packets = packets;
            f.streams.connections = vec![c, other];
            f.finds(Rule::SlowConnect).map(|f| f.side)
        };
        assert_eq!(side(1), Some(Side::Server));
        assert_eq!(side(0), Some(Side::Undetermined));
    }

    /// Of both ends or one: a SYN that is sent again for seconds, and what the server answers for an earlier connection.
    fn held_open(resets: &[u32]) -> Finding {
        let opening = |resets: &u32| Handshake {
            syn: Some(Time(0)),
            syn_retries: 5,
            challenges: 4,
            challenge_resets: *resets,
            ..Handshake::default()
        };
        let change = |f: &mut Fixture| {
            let mut c = connection();
            c.handshake.seen = false;
            c.last = Time(9_000 * MS);
            c.openings = resets.iter().map(opening).collect();
            f.streams.connections = vec![c];
        };
        found(Rule::SlowConnect, change).unwrap()
    }

    #[test]
    fn an_earlier_connection_that_the_server_holds_is_said_and_accuses_no_server() {
        let lost = held_open(&[4, 0]);
        assert_eq!(lost.side, Side::Network);
        let why = lost.why.to_string();
        assert!(
            why.contains("4 times it answered the SYN for that one, and of 4 resets that the client sent for it 0 arrived"),
            "{why}"
        );
        assert_eq!(held_open(&[4, 4]).side, Side::Undetermined);
        let one = held_open(&[0]);
        assert_eq!(one.side, Side::Undetermined);
        assert!(
            one.why.to_string().contains("no reset of it came"),
            "{}",
            one.why
        );
    }

    #[test]
    fn who_asks_once_is_not_kept_waiting() {
        assert!(opened(0, 0, 1_000 * MS).is_none());
    }

    #[test]
    fn half_a_second_is_enough() {
        assert!(opened(1, 1, SLOW_NS).is_some());
        assert!(opened(1, 1, SLOW_NS - 1).is_none());
    }
}
