//! One capture into its TCP connections. A start: counts and handshakes are there, what connections
//! waited for is not measured yet, and two captures are not put together.

use crate::Error;
use crate::config::{Captures, Config, Event, Moment};
use crate::merge::Answers;
use crate::run::{self, Tally};
use crate::stream::Stream;
use analysis::capture_facts::TcpFacts;
use analysis::results::{ConnectionResult, ConnsResult, DirectionResult, HandshakeResult, Vantage};
use analysis::vantage;
use model::{ConnectionSummary, Time, Transport};

/// Reads a capture and lists its TCP connections.
///
/// # Errors
/// When no input can be read.
pub fn conns(
    captures: &Captures,
    config: &Config,
    events: &mut dyn FnMut(Event),
) -> Result<ConnsResult, Error> {
    let (inputs, stated) = match captures {
        Captures::One(inputs) => (inputs, None),
        Captures::Client(inputs) => (inputs, Some(Vantage::Client)),
        Captures::Server(inputs) => (inputs, Some(Vantage::Server)),
        Captures::Two(..) | Captures::Sides { .. } => {
            return Err(Error::Message(
                "conns does not put two captures together yet; give it one".into(),
            ));
        }
    };
    let mut stream = Stream::start(run::open(inputs)?, run::threads(config, 1));
    let mut records = Answers::default();
    let mut tally = Tally::default();
    let mut found: Vec<ConnectionSummary> = Vec::new();
    loop {
        let more = stream.next(&mut records);
        for c in records.connections() {
            tally.connection(c);
            if c.transport == Transport::Tcp {
                found.push(c.clone());
            }
        }
        run::report(&stream, events);
        if !more {
            break;
        }
    }
    let start = stream.first_time().unwrap_or_default();
    let Some(finished) = stream.finished.take() else {
        return Err(Error::Message(
            "the reading thread stopped; see the message above".into(),
        ));
    };
    let mut capture = tally.result(&finished);
    capture.side = stated;
    let at = |moment: Moment| match moment {
        Moment::Absolute(t) => t,
        Moment::AfterStart(ns) => start + ns,
    };
    let from = config.from.map_or(Time::MIN, at);
    let to = config.to.map_or(Time::MAX, at);
    // A connection's name is the order of its first packet.
    found.sort_by_key(|c| c.id);
    let connections = found
        .iter()
        .zip(1..)
        .filter(|(c, _)| c.last.time >= from && c.first.time < to)
        .map(|(c, number)| connection(number, c, stated))
        .collect();
    Ok(ConnsResult {
        captures: vec![capture],
        connections,
        left_out: 0,
    })
}

fn connection(number: u64, c: &ConnectionSummary, stated: Option<Vantage>) -> ConnectionResult {
    let h = &c.handshake;
    let between = |a: Option<Time>, b: Option<Time>| Some(b? - a?);
    let handshake = HandshakeResult {
        seen: h.syn.is_some() && h.syn_ack.is_some(),
        syn_retries: h.syn_retries,
        syn_ack_retries: h.syn_ack_retries,
        syn_to_syn_ack_ns: between(h.syn, h.syn_ack),
        syn_ack_to_ack_ns: between(h.syn_ack, h.ack),
    };
    let concluded = vantage::conclude(&TcpFacts {
        server_half_ns: handshake.syn_to_syn_ack_ns,
        client_half_ns: handshake.syn_ack_to_ack_ns,
        ack_rtt_min_ns: c.directions.map(|d| d.ack_rtt_min_ns),
        ..TcpFacts::default()
    });
    let accounts = c.accounts.as_deref().cloned().unwrap_or_default();
    let [to_server, to_client] = accounts;
    let [sent, answered] = c.directions;
    let direction = |counts, account| DirectionResult {
        counts,
        account,
        lost_on_network_packets: None,
        lost_on_network_bytes: None,
        goodput_bps: None,
    };
    ConnectionResult {
        number,
        client: c.client,
        server: c.server,
        protocol: c.protocol,
        first: c.first.time,
        last: c.last.time,
        ends: vec![(0, c.first, c.last)],
        close: c.close,
        vantage: stated.unwrap_or(concluded.vantage),
        vantage_from: if stated.is_some() {
            "stated".to_owned()
        } else {
            concluded.from
        },
        handshake,
        directions: [direction(sent, to_server), direction(answered, to_client)],
        at_stake_ns: 0,
        top: None,
    }
}
