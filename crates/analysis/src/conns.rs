//! Connections as one or two captures saw them into one account each.
//!
//! A direction is told from the capture nearest to its sender, as only that knows what the sender
//! knew. What the network lost shows by subtraction: bytes that were sent more than once and that the
//! other capture holds fewer times. No clock is needed for any of this.

use crate::capture_facts::TcpFacts;
use crate::connections::{Connections, Lister};
use crate::packed::Packed;
use crate::results::{
    Arrived, ConnectionResult, DirectionResult, HandshakeResult, Vantage, VantageFrom,
};
use crate::vantage;
use model::{
    ConnectionSummary, Direction, DirectionAccount, DirectionSummary, Endpoint, Time, TimeClass,
    Transport,
};
use std::collections::{HashMap, VecDeque};

/// A connection that one capture has, of which it is the first.
#[must_use]
pub fn alone(c: &ConnectionSummary) -> ConnectionResult {
    result(&[(0, c)])
}

/// The connections of one capture.
#[must_use]
pub fn of_one(summaries: &Packed<ConnectionSummary>) -> Connections {
    summaries
        .iter()
        .map(|c| alone(&c))
        .collect::<Lister>()
        .list()
}

/// The connections of a capture at the client and one at the server, each with the number of its
/// capture. Those that only one of them has are told from that one.
#[must_use]
pub fn of_two(
    (at_client, client): (usize, &Packed<ConnectionSummary>),
    (at_server, server): (usize, &Packed<ConnectionSummary>),
) -> Connections {
    let mut twins: HashMap<Key, VecDeque<usize>> = HashMap::new();
    for (i, c) in server.iter().enumerate() {
        twins.entry(Key::of(&c)).or_default().push_back(i);
    }
    let mut list = Lister::default();
    for c in client.iter() {
        let twin = twins.get_mut(&Key::of(&c)).and_then(|alike| {
            let is_same = |i: &usize| server.get(*i).is_some_and(|t| t.client == c.client);
            // Clones of a machine may begin with the same numbers.
            let own = match alike.len() {
                0 | 1 => None,
                _ => alike.iter().position(is_same),
            };
            alike.remove(own.unwrap_or(0))
        });
        list.add(&match twin.and_then(|i| server.get(i)) {
            Some(twin) => result(&[(at_client, &c), (at_server, &twin)]),
            None => result(&[(at_client, &c)]),
        });
    }
    let mut alone: Vec<_> = twins
        .into_values()
        .flatten()
        .filter_map(|i| Some((server.get(i)?.id, i)))
        .collect();
    alone.sort_unstable();
    for c in alone.into_iter().filter_map(|(_, i)| server.get(i)) {
        list.add(&result(&[(at_server, &c)]));
    }
    list.list()
}

/// Whether of two captures the second was taken at the client: servers answer later there. `None` where no connection of both
/// tells.
#[must_use]
pub fn are_exchanged(
    one: &Packed<ConnectionSummary>,
    other: &Packed<ConnectionSummary>,
) -> Option<bool> {
    let half = |c: &ConnectionSummary| {
        let whole = c.handshake.syn.zip(c.handshake.syn_ack).map(|(a, b)| b - a);
        whole.or(c.directions[Direction::ToServer.index()].ack_rtt_min_ns)
    };
    let there: HashMap<Key, i64> = other
        .iter()
        .filter_map(|c| Some((Key::of(&c), half(&c)?)))
        .collect();
    let longer: i64 = one
        .iter()
        .filter_map(|c| Some(half(&c)? - there.get(&Key::of(&c))?))
        .map(i64::signum)
        .sum();
    (longer != 0).then_some(longer < 0)
}

/// What a connection has in common in two captures: its initial sequence numbers, also behind address
/// translation; where its beginning was not captured, its ends.
#[derive(PartialEq, Eq, Hash)]
enum Key {
    Numbers(u32, u32),
    Ends(Transport, Endpoint, Endpoint),
}

impl Key {
    fn of(c: &ConnectionSummary) -> Key {
        match (c.handshake.client_isn, c.handshake.server_isn) {
            (Some(client), Some(server)) => Key::Numbers(client, server),
            _ => Key::Ends(c.transport, c.client, c.server),
        }
    }
}

/// One connection, from the captures that have it: first the client's where there are two.
fn result(seen: &[(usize, &ConnectionSummary)]) -> ConnectionResult {
    let (_, main) = seen[0];
    let sender_side = |d: Direction| match (d, seen) {
        (Direction::ToClient, [_, (_, server)]) => *server,
        _ => main,
    };
    let other_side = |d: Direction| match (d, seen) {
        (Direction::ToServer, [_, (_, server)]) => Some(*server),
        (Direction::ToClient, [(_, client), _]) => Some(*client),
        _ => None,
    };
    let lifetime = (main.last.time - main.first.time).max(0);
    let lifetime = match &main.accounts {
        Some(accounts) => total(&accounts[0]).max(lifetime),
        None => lifetime,
    };
    let directions = Direction::BOTH.map(|d| {
        let near = sender_side(d);
        let mut account = match &near.accounts {
            Some(accounts) => accounts[d.index()].clone(),
            None => DirectionAccount::default(),
        };
        fit(&mut account, lifetime);
        let mut counts = near.directions[d.index()];
        let lost = other_side(d).map(|far| lost_between(d, near, far));
        // What arrives at the other end may have skipped numbers because the network lost them.
        let nothing_lost = counts.retransmitted_packets == 0 && lost.unwrap_or(0) == 0;
        let at_sender = vantage_of(near).vantage == nearest(d) || seen.len() == 2;
        let at_receiver = other_side(d).or_else(|| {
            let is_next_to_it = vantage_of(near).vantage == nearest(d.reverse());
            is_next_to_it.then_some(near)
        });
        if at_sender || nothing_lost {
            counts.missing_from_capture_packets += missing_without_data(d, near);
        }
        if let Some(far) = other_side(d) {
            let far_counts = &far.directions[d.index()];
            // The sender's capture has them in their order.
            counts.out_of_order_packets = counts
                .out_of_order_packets
                .max(far_counts.out_of_order_packets);
            counts.missing_from_capture_gaps += far_counts.missing_from_capture_gaps;
            counts.missing_from_capture_packets += far_counts.missing_from_capture_packets;
            counts.missing_from_capture_bytes += far_counts.missing_from_capture_bytes;
            if nothing_lost {
                counts.missing_from_capture_packets += missing_without_data(d, far);
            }
        }
        let full = u64::from(account.mss.unwrap_or(1460)).max(1);
        // What is lost is as large as what is sent again for it, and several segments of it if that left in one.
        let segment = match counts.retransmitted_packets {
            0 => full,
            n => counts.retransmitted_bytes.div_ceil(n).clamp(1, full),
        };
        DirectionResult {
            goodput_bps: goodput(&counts, &account),
            lost_on_network_packets: lost.map(|bytes| bytes.div_ceil(segment)),
            lost_on_network_bytes: lost,
            discarded_packets: at_receiver
                .map_or(0, |at| discarded(d, at))
                .div_ceil(segment),
            stuck_arrived: other_side(d).and_then(|far| stuck_arrived(d, near, far)),
            counts,
            account,
        }
    });
    let (at_stake_ns, top) = stake(&directions);
    let conclusion = vantage_of(main);
    let (vantage, vantage_from, vantage_confidence) = match seen {
        [_, _] => (Vantage::Client, VantageFrom::BothEnds, 1.0),
        _ => (conclusion.vantage, conclusion.from, conclusion.confidence),
    };
    let h = main.handshake;
    ConnectionResult {
        number: 0,
        client: main.client,
        server: main.server,
        protocol: seen.iter().find_map(|(_, c)| c.protocol),
        pipelined: seen.iter().find_map(|(_, c)| c.pipelined),
        copies: seen.iter().any(|(_, c)| c.copies),
        is_known: seen.iter().any(|(_, c)| c.is_known),
        sqlnet: seen.iter().find_map(|(_, c)| c.sqlnet),
        first: main.first.time,
        last: main.first.time + lifetime,
        ends: seen.iter().map(|(i, c)| (*i, c.first, c.last)).collect(),
        ids: seen.iter().map(|(_, c)| c.id).collect(),
        close: main.close,
        openings: seen.iter().map(|(_, c)| c.handshake).collect(),
        resets: seen.iter().map(|(_, c)| c.reset).collect(),
        last_data: seen.iter().map(|(_, c)| last_data(c)).collect(),
        left_open: of_known(seen, |c| c.left_open),
        // What one of two captures shows to be otherwise is not so.
        unanswered: u64::from(seen.iter().map(|(_, c)| c.unanswered).min().unwrap_or(0)),
        late_requests: of_known(seen, |c| c.late_requests),
        ended_by_server: seen.iter().all(|(_, c)| is_ended_by_server(c)),
        vantage,
        vantage_from,
        vantage_confidence,
        handshake: HandshakeResult {
            seen: h.syn.is_some() && h.syn_ack.is_some(),
            syn_retries: h.syn_retries,
            syn_ack_retries: h.syn_ack_retries,
            syn_to_syn_ack_ns: h.syn.zip(h.syn_ack).map(|(syn, syn_ack)| syn_ack - syn),
            syn_ack_to_ack_ns: h.syn_ack.zip(h.ack).map(|(syn_ack, ack)| ack - syn_ack),
        },
        directions,
        at_stake_ns,
        top,
    }
}

/// Of the client and of the server.
fn last_data(c: &ConnectionSummary) -> [Option<Time>; 2] {
    Direction::BOTH.map(|d| c.directions[d.index()].last_data)
}

/// What was counted of requests, where what is one is known.
fn of_known(
    seen: &[(usize, &ConnectionSummary)],
    count: fn(&ConnectionSummary) -> u32,
) -> Option<u64> {
    let known = seen.iter().filter(|(_, c)| c.is_known);
    known.map(|(_, c)| u64::from(count(c))).max()
}

fn is_ended_by_server(c: &ConnectionSummary) -> bool {
    let [client, server] = c.directions.each_ref().map(|d| d.ended);
    server.is_some_and(|server| client.is_none_or(|client| server < client))
}

fn nearest(d: Direction) -> Vantage {
    match d {
        Direction::ToServer => Vantage::Client,
        Direction::ToClient => Vantage::Server,
    }
}

/// Packets that are missing beyond those that held the missing bytes. Some hosts count packets of all
/// their connections together, so this is only asked where data is missing too, and not believed
/// beyond twice as much.
fn missing_without_data(d: Direction, c: &ConnectionSummary) -> u64 {
    let seen_missing: u64 = c
        .directions
        .iter()
        .map(|d| d.missing_from_capture_packets)
        .sum();
    let account = c.accounts.as_ref().map(|a| &a[d.index()]);
    let skipped = account.and_then(|a| a.skipped_identifications);
    let with_data = c.directions[d.index()].missing_from_capture_segments;
    skipped
        .unwrap_or(0)
        .saturating_sub(with_data)
        .min(2 * seen_missing)
}

fn total(account: &DirectionAccount) -> i64 {
    account.time_ns.iter().map(|(_, ns)| *ns).sum()
}

/// Makes an account of the other capture last as long as the connection: what one of them has more is
/// the first packet's way to it, or the last one's.
fn fit(account: &mut DirectionAccount, lifetime: i64) {
    let more = lifetime - total(account);
    if more >= 0 {
        account.time_ns[TimeClass::Transfer] += more;
        return;
    }
    let mut excess = -more;
    let idle_first = [TimeClass::Idle, TimeClass::Handshake, TimeClass::Transfer];
    for class in idle_first.into_iter().chain(TimeClass::ALL) {
        let taken = excess.min(account.time_ns[class]);
        account.time_ns[class] -= taken;
        excess -= taken;
    }
}

/// Payload that left `near` and did not arrive at `far`, every copy counted.
///
/// What was sent again arrived fewer times by what was lost. What was never sent again was not lost by
/// the network: if `far` lacks it, its capture lost it. Only what nobody acknowledged in the end may
/// have been lost at its first sending and at every other.
fn lost_between(d: Direction, near: &ConnectionSummary, far: &ConnectionSummary) -> u64 {
    let [near_counts, far_counts] = [near, far].map(|c| &c.directions[d.index()]);
    let again = near_counts.repeated_bytes;
    let lost = again.saturating_sub(far_counts.repeated_bytes);
    let once = |counts: &DirectionSummary| {
        let once = counts.payload_bytes.saturating_sub(counts.repeated_bytes);
        once + counts.missing_from_capture_bytes
    };
    let both_began = near.handshake.syn.is_some() && far.handshake.syn.is_some();
    let never = once(near_counts).saturating_sub(once(far_counts));
    lost + match (both_began, near.directions[d.index()].stuck) {
        (false, _) => 0,
        // Until the end nothing got through.
        (true, Some(_)) => never,
        (true, None) => never.min(again),
    }
}

/// Bytes that came to a place next to their receiver, which then said that it lacked them, and not that it had them when they
/// came again.
fn discarded(d: Direction, at_receiver: &ConnectionSummary) -> u64 {
    let counts = &at_receiver.directions[d.index()];
    (counts.lacked_bytes).saturating_sub(counts.received_twice_bytes)
}

/// How the segment that `near` sent in vain came to `far`: whatever is new of it, every byte counted once.
fn stuck_arrived(
    d: Direction,
    near: &ConnectionSummary,
    far: &ConnectionSummary,
) -> Option<Arrived> {
    let once = |c: &ConnectionSummary| {
        let counts = &c.directions[d.index()];
        let seen = counts
            .payload_bytes
            .saturating_sub(counts.retransmitted_bytes);
        seen + counts.missing_from_capture_bytes
    };
    let stuck = near.directions[d.index()].stuck?;
    let both_began = near.handshake.syn.is_some() && far.handshake.syn.is_some();
    match once(near).checked_sub(once(far))? {
        _ if !both_began => None,
        0 => {
            let counts = &far.directions[d.index()];
            // The handshake's packet was under way as this one is, or the way back on top.
            let ahead = far.first.time - near.first.time;
            let came_again = counts.last.time - stuck.first.time >= ahead;
            Some(match came_again && counts.unacknowledged_bytes > 0 {
                true => Arrived::Again,
                false => Arrived::Once,
            })
        }
        never => (never >= stuck.bytes).then_some(Arrived::Never),
    }
}

/// New payload per second from the first data to the last.
fn goodput(counts: &DirectionSummary, account: &DirectionAccount) -> Option<u64> {
    let ns = account.last_data? - account.first_data?;
    let bytes = counts
        .payload_bytes
        .saturating_sub(counts.retransmitted_bytes);
    let bits = u128::from(bytes) * 8 * 1_000_000_000;
    (ns > 0).then(|| u64::try_from(bits / ns.unsigned_abs() as u128).unwrap_or(u64::MAX))
}

/// Whether time in this class could have been spared by somebody.
pub(crate) fn is_wait(class: TimeClass) -> bool {
    !matches!(
        class,
        TimeClass::Idle | TimeClass::Transfer | TimeClass::Handshake | TimeClass::Unknown
    )
}

fn stake(directions: &[DirectionResult; 2]) -> (i64, Option<(Direction, TimeClass, i64)>) {
    let waits = |r: &DirectionResult| -> i64 {
        let of = r
            .account
            .time_ns
            .iter()
            .filter(|(class, _)| is_wait(*class));
        of.map(|(_, ns)| *ns).sum()
    };
    let (d, r) = match directions {
        [out, back] if waits(back) > waits(out) => (Direction::ToClient, back),
        [out, _] => (Direction::ToServer, out),
    };
    let most = r
        .account
        .time_ns
        .iter()
        .filter(|(class, _)| is_wait(*class));
    let most = most.max_by_key(|(class, ns)| (**ns, std::cmp::Reverse(*class)));
    let top = most
        .filter(|(_, ns)| **ns > 0)
        .map(|(class, ns)| (d, class, *ns));
    (waits(r), top)
}

pub(crate) fn vantage_of(c: &ConnectionSummary) -> vantage::Conclusion {
    let h = &c.handshake;
    let clean = h.syn_retries == 0 && h.syn_ack_retries == 0;
    let half = |from: Option<model::Time>, to: Option<model::Time>| {
        from.zip(to).filter(|_| clean).map(|(a, b)| b - a)
    };
    let facts = TcpFacts {
        server_half_ns: half(h.syn, h.syn_ack),
        client_half_ns: half(h.syn_ack, h.ack),
        ack_rtt_min_ns: c.directions.each_ref().map(|d| d.ack_rtt_min_ns),
        ..TcpFacts::default()
    };
    vantage::conclude(&facts)
}
