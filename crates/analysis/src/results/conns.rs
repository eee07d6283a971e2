//! What `conns` and a report say of connections.

use super::{CaptureResult, Order, Vantage};
use crate::connections::Connections;
use crate::vantage::VantageFrom;
use model::sqlnet::SqlNetSession;
use model::{Protocol, Time};
use serde::{Deserialize, Serialize};

/// The opening of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct HandshakeResult {
    /// Whether SYN and SYN/ACK are in the capture.
    pub seen: bool,
    pub syn_retries: u32,
    pub syn_ack_retries: u32,
    /// From the last SYN to the SYN/ACK, and from there to the client's acknowledgement, as seen at
    /// the point of capture.
    pub syn_to_syn_ack_ns: Option<i64>,
    pub syn_ack_to_ack_ns: Option<i64>,
}

/// One direction of a connection, from the capture nearest to its sender.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DirectionResult {
    pub counts: model::DirectionSummary,
    pub account: model::DirectionAccount,
    /// Payload that the network dropped, every copy counted; `None` where one capture cannot tell.
    pub lost_on_network_packets: Option<u64>,
    pub lost_on_network_bytes: Option<u64>,
    /// Segments that came to their receiver and that it threw away, damaged ones among them, as a capture next to it shows.
    pub discarded_packets: u64,
    /// What of that which was being sent in vain at the end arrived at the other end; `None` where one capture cannot tell.
    pub stuck_arrived: Option<Arrived>,
    /// New payload bytes per second between the first and the last data, in bits.
    pub goodput_bps: Option<u64>,
}

impl DirectionResult {
    /// Segments that were lost: of two captures those that the network is known to have dropped and those that were thrown
    /// away behind it, of one those sent again at most, but for what their receiver says it had already (RFC 2883).
    pub(crate) fn lost_at_most(&self) -> u64 {
        let again = self.counts.retransmitted_packets;
        let segment = self
            .counts
            .retransmitted_bytes
            .div_ceil(again.max(1))
            .max(1);
        let twice = self.counts.received_twice_bytes / segment;
        match self.lost_on_network_packets {
            Some(lost) => lost.saturating_add(self.discarded_packets),
            None => again.saturating_sub(twice.max(self.account.spurious_retransmissions)),
        }
    }
}

/// How a segment that was sent again and again came to the other end.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Arrived {
    Never,
    /// It did, but was acknowledged in vain, or nothing came since.
    Once,
    /// Again and again, and was not acknowledged there.
    Again,
}

/// A TCP connection: who, how long, and what it waited for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ConnectionResult {
    /// Counts from 1 in the order of first packets: what `--connection` takes.
    pub number: u64,
    pub client: model::Endpoint,
    pub server: model::Endpoint,
    pub protocol: Option<Protocol>,
    /// What it speaks, of which nothing is told, as several requests that cannot be told apart are under way at a time.
    pub pipelined: Option<Protocol>,
    /// Whether its server came to send a log that nobody answers message by message.
    pub copies: bool,
    /// Whether it was found out what it speaks, though perhaps no call was seen whole.
    pub is_known: bool,
    /// What was agreed on for its packets, where that is SQL*Net.
    pub sqlnet: Option<SqlNetSession>,
    pub first: Time,
    pub last: Time,
    /// Frames of its first and last packet, by capture.
    pub ends: Vec<(usize, model::Mark, model::Mark)>,
    /// What each capture knows it by, in the order of `ends`.
    pub ids: Vec<model::ConnectionId>,
    pub close: model::Close,
    pub vantage: Vantage,
    /// What `vantage` was concluded from.
    pub vantage_from: VantageFrom,
    /// How sure that is, 0 to 1.
    pub vantage_confidence: f64,
    pub handshake: HandshakeResult,
    /// The opening and the reset as each capture has them, in the order of `ends`.
    pub openings: Vec<model::Handshake>,
    pub resets: Vec<Option<model::ResetSeen>>,
    /// The last data of the client and of the server, on each capture's own clock, in the order of `ends`.
    pub last_data: Vec<[Option<Time>; 2]>,
    /// Requests that waited for an answer when it ended; `None` where what is a request is not known.
    pub left_open: Option<u64>,
    /// Those of them that the server had received when it ended it; and whether it did so first.
    pub unanswered: u64,
    /// Those that were sent when the server had ended it; `None` where what is a request is not known.
    pub late_requests: Option<u64>,
    pub ended_by_server: bool,
    /// Client to server, server to client.
    pub directions: [DirectionResult; 2],
    /// What is charged to waits that could be avoided: everything but idleness, of the direction in
    /// which more of it fell. What connections are sorted by.
    pub at_stake_ns: i64,
    /// The class with most of `at_stake_ns` and its direction, if anything was waited for.
    pub top: Option<(model::Direction, model::TimeClass, i64)>,
}

impl ConnectionResult {
    #[must_use]
    pub fn direction(&self, direction: model::Direction) -> &DirectionResult {
        let [to_server, to_client] = &self.directions;
        match direction {
            model::Direction::ToServer => to_server,
            model::Direction::ToClient => to_client,
        }
    }
}

/// What a connection did in one interval, as one capture saw it.
#[derive(Clone, Copy, Debug)]
pub struct SeriesRow<'a> {
    /// Index of the capture.
    pub capture: usize,
    pub connection: &'a ConnectionResult,
    pub interval: model::Interval,
    pub width_ns: i64,
    /// Most calls outstanding; `None` where its protocol is not known.
    pub outstanding: Option<u64>,
}

/// What `conns` says.
#[derive(Clone, Debug, Default)]
pub struct ConnsResult {
    pub captures: Vec<CaptureResult>,
    /// By `at_stake_ns`, most first.
    pub connections: Connections,
    /// Connections beyond the bound that are not listed.
    pub left_out: u64,
    /// Connections that nobody asked for, by what they are.
    pub not_asked: u64,
    /// Whether the two captures were given in the other order.
    pub exchanged: bool,
    /// How connections are listed; sums are of all.
    pub order: Order,
}

/// A connection as a picture, by the captures that have it.
#[derive(Clone, Debug)]
pub struct ConnectionPlot {
    /// As [`ConnectionResult::number`].
    pub number: u64,
    /// In the order of [`ConnectionResult::ends`].
    pub views: Vec<PlotView>,
}

/// A connection as one capture saw it.
#[derive(Clone, Debug)]
pub struct PlotView {
    /// Index into [`ConnsResult::captures`].
    pub capture: usize,
    pub plot: model::Plot,
}

#[cfg(test)]
mod tests {
    use crate::findings::testing::connection;

    /// Ten segments of 100 bytes were sent again.
    fn lost(on_network: Option<u64>, discarded: u64, twice_bytes: u64, spurious: u64) -> u64 {
        let [mut r, _] = connection().directions;
        (r.counts.retransmitted_packets, r.counts.retransmitted_bytes) = (10, 1_000);
        (r.lost_on_network_packets, r.discarded_packets) = (on_network, discarded);
        r.counts.received_twice_bytes = twice_bytes;
        r.account.spurious_retransmissions = spurious;
        r.lost_at_most()
    }

    #[test]
    fn what_one_capture_does_not_show_to_be_needless_was_lost_at_most() {
        assert_eq!(lost(None, 0, 0, 0), 10);
        assert_eq!(lost(None, 0, 699, 0), 4);
        assert_eq!(lost(None, 0, 300, 5), 5);
        assert_eq!(lost(None, 0, 5_000, 0), 0);
    }

    #[test]
    fn two_captures_tell_what_the_network_dropped_and_the_receiver_threw_away() {
        assert_eq!(lost(Some(3), 4, 900, 9), 7);
    }
}
