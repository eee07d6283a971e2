//! Who is the client, and what the packets that open a connection tell (RFC 9293 section 3.5).
//!
//! Without a SYN or SYN/ACK the ports decide: the side at a well-known service port, else the one at
//! a port below 1,024 or below the ephemeral range, is the server; else who was seen first is the
//! client.

use super::sequence::{ack_position, before, data_position};
use super::stream::{Start, Stream};
use crate::Segment;
use model::{Direction, Endpoint, Handshake, Time, Transport};
use serde::{Deserialize, Serialize};

/// Service ports that say who is the server even against a lower port: NFS clients send from ports
/// below 1,024.
const SERVICES: [u16; 17] = [
    111, 1433, 1521, 1522, 1525, 1526, 1527, 1529, 2049, 2050, 2483, 2484, 3306, 4045, 5432, 5433,
    6432,
];
/// Linux's first ephemeral port.
const EPHEMERAL: u16 = 32_768;

/// Client and server by a connection's first segment, and whether that is certain.
pub(super) fn roles(s: &Segment) -> (Endpoint, Endpoint, bool) {
    let flags = s.tcp.flags;
    let opening = s.transport == Transport::Tcp && flags.syn();
    let source_is_server = if opening {
        flags.ack()
    } else {
        rank(s.source.port) < rank(s.destination.port)
    };
    if source_is_server {
        (s.destination, s.source, opening)
    } else {
        (s.source, s.destination, opening)
    }
}

/// The lower, the more a port looks like a server's.
fn rank(port: u16) -> u8 {
    match port {
        _ if SERVICES.contains(&port) => 0,
        0..1_024 => 1,
        1_024..EPHEMERAL => 2,
        _ => 3,
    }
}

/// What a side's SYN offered.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Offer {
    mss: Option<u16>,
    /// Not known where the snap length cut the options off before it; in it, nothing where it was not offered.
    window_scale: Option<Option<u8>>,
    /// Not known where the options are cut off, unless they stand before.
    sack: Option<bool>,
    timestamps: Option<bool>,
    /// AE, CWR and ECE.
    ecn: u8,
}

/// How both sides use explicit congestion notification.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Ecn {
    No,
    /// RFC 3168.
    Classic,
    /// RFC 9768: the flags count marks.
    Accurate,
}

/// The opening of a connection, as far as it was seen.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Opening {
    pub summary: Handshake,
    /// A SYN that came after a SYN/ACK: it belongs to the next one, if there is one.
    late_syn: Option<Time>,
    /// The timestamps of the first and the last SYN.
    stamps: Option<[u32; 2]>,
    offers: [Option<Offer>; 2],
}

impl Opening {
    /// Whether a segment with SYN belongs to this connection; if not, a new connection has taken its
    /// place.
    pub(super) fn is_ours(&self, s: &Segment, stream: &Stream, peer: &Stream) -> bool {
        let sequence = s.tcp.sequence;
        let after = sequence.wrapping_add(1);
        if let Some(isn) = stream.isn {
            return isn == sequence;
        }
        match stream.start {
            Start::Unknown if s.tcp.flags.ack() => match peer.isn {
                // It may also acknowledge data that came with the SYN.
                Some(_) => {
                    let acknowledged = ack_position(peer.sent, s.tcp.acknowledgement);
                    (peer.first..=peer.sent).contains(&acknowledged)
                }
                None => peer.start == Start::Unknown || acknowledges(s, peer),
            },
            // Both sides open at the same time, or these are the connection's first packets.
            Start::Unknown => {
                peer.start == Start::Unknown
                    || (peer.isn.is_some() && peer.summary.payload_bytes == 0)
            }
            Start::Acknowledged => stream.acknowledged.is_some_and(|a| a as u32 == after),
            // The SYN comes a little late in the file.
            Start::Provisional | Start::Certain => {
                stream.summary.packets < 4 && stream.first as u32 == after
            }
        }
    }

    /// Whether a segment of the server's is none of this connection, which it was asked to open and has not answered: of one
    /// between these ports that it still holds, so that it challenges the SYN (RFC 5961 section 4.2), and may send again what
    /// was not acknowledged there. What acknowledges the SYN, or more, is ours, whether the capture has the SYN/ACK or not.
    pub(super) fn is_challenge(&mut self, s: &Segment, d: Direction, client: &Stream) -> bool {
        let flags = s.tcp.flags;
        let waits = client.isn.is_some() && self.summary.server_isn.is_none();
        if d != Direction::ToClient || !waits || flags.syn() || flags.rst() || !flags.ack() {
            return false;
        }
        // Initial sequence numbers mostly lie beyond those of earlier connections between the same ports (RFC 6528). What lies
        // ahead may acknowledge what the capture lacks.
        let is_earlier = ack_position(client.sent, s.tcp.acknowledgement) < client.first;
        self.summary.challenges += u32::from(is_earlier && s.payload_length == 0);
        is_earlier
    }

    /// Whether both sides offered selective acknowledgements (RFC 2018), as far as that was seen.
    pub(super) fn has_sack(&self) -> Option<bool> {
        self.both(|o| o.sack)
    }

    /// Whether both sides offered timestamps (RFC 7323), as far as that was seen.
    pub(super) fn has_timestamps(&self) -> Option<bool> {
        self.both(|o| o.timestamps)
    }

    fn both(&self, offered: fn(&Offer) -> Option<bool>) -> Option<bool> {
        let [client, server] = self.offers.map(|o| o.as_ref().and_then(offered));
        match (client, server) {
            (Some(false), _) | (_, Some(false)) => Some(false),
            (both, other) => both.and(other),
        }
    }

    /// Whether both sides agreed on explicit congestion notification (RFC 3168 section 6.1.1, RFC 9768
    /// section 3.1.1); `None` where either SYN was not seen. An answer with the flags of the SYN agrees
    /// to nothing: some hosts return what they do not know.
    pub(super) fn ecn(&self) -> Option<Ecn> {
        let [client, server] = self.offers;
        Some(match (client?.ecn, server?.ecn) {
            (0b011 | 0b111, 0b001 | 0b101) => Ecn::Classic,
            (0b111, 0b010 | 0b011 | 0b100 | 0b110) => Ecn::Accurate,
            _ => Ecn::No,
        })
    }

    /// Takes in a segment with SYN that is ours.
    pub(super) fn syn(&mut self, s: &Segment, d: Direction, streams: &mut [Stream; 2]) {
        let now = s.mark.time;
        let h = &mut self.summary;
        match (d, s.tcp.flags.ack()) {
            (Direction::ToServer, false) => {
                if h.syn.is_some() {
                    h.answered_before_retry |= h.syn_retries == 0 && h.syn_ack.is_some();
                    h.syn_retries += 1;
                }
                if let Some((stamp, _)) = s.tcp.timestamps {
                    let [first, _] = self.stamps.unwrap_or([stamp; 2]);
                    self.stamps = Some([first, stamp]);
                }
                if h.syn_ack.is_some() {
                    self.late_syn = Some(now);
                } else {
                    h.syn = Some(now);
                }
            }
            (Direction::ToClient, true) => {
                if h.syn_ack.is_some() {
                    h.syn_ack_retries += 1;
                } else if let (Some([first, last]), Some((_, echo))) =
                    (self.stamps, s.tcp.timestamps)
                {
                    h.echoes_first_syn = first != last && echo == first;
                }
                h.syn_ack = Some(now);
                h.syn = self.late_syn.take().or(h.syn);
                h.ack = None;
                if let (Some(syn), 0, 0) = (h.syn, h.syn_retries, h.syn_ack_retries) {
                    let [to_server, to_client] = streams;
                    to_client.held.answered(now - syn, 2);
                    to_server.held.took_at_most(now - syn);
                }
            }
            // Simultaneous opening: the other side's SYN, and the SYN/ACK to it.
            (Direction::ToClient, false) | (Direction::ToServer, true) => {}
        }
        let [by_client, by_server] = &mut h.scaling;
        let window_scale = match (s.tcp.window_scale, s.tcp.options_cut) {
            (None, true) => None,
            (scale, _) => Some(scale),
        };
        let scaling = window_scale.map(|scale| scale.is_some());
        match d {
            Direction::ToServer => (h.client_isn, *by_client) = (Some(s.tcp.sequence), scaling),
            Direction::ToClient => (h.server_isn, *by_server) = (Some(s.tcp.sequence), scaling),
        }
        let seen = |is: bool| (is || window_scale.is_some()).then_some(is);
        let [client, server] = &mut self.offers;
        *match d {
            Direction::ToServer => &mut *client,
            Direction::ToClient => &mut *server,
        } = Some(Offer {
            mss: s.tcp.mss,
            window_scale,
            sack: seen(s.tcp.sack_permitted),
            timestamps: seen(s.tcp.timestamps.is_some()),
            ecn: u8::from(s.tcp.accurate_ecn) << 2
                | u8::from(s.tcp.flags.cwr()) << 1
                | u8::from(s.tcp.flags.ece()),
        });
        self.tell(streams);
    }

    /// The segment size and the window scales follow from both offers.
    fn tell(&self, streams: &mut [Stream; 2]) {
        let [client, server] = self.offers;
        let mss = [client, server]
            .into_iter()
            .flatten()
            .filter_map(|offer| offer.mss)
            .min();
        let scales = match (
            client.and_then(|offer| offer.window_scale),
            server.and_then(|offer| offer.window_scale),
        ) {
            (Some(Some(client)), Some(Some(server))) => {
                Some((client.min(LARGEST_SCALE), server.min(LARGEST_SCALE)))
            }
            (Some(None), _) | (_, Some(None)) => Some((0, 0)),
            _ => None,
        };
        let [to_server, to_client] = streams;
        to_server.mss = mss;
        to_client.mss = mss;
        to_server.window.scale = scales.map(|(_, server)| server);
        to_client.window.scale = scales.map(|(client, _)| client);
    }

    /// The client's acknowledgement of the SYN/ACK, if `s` is that.
    pub(super) fn acknowledged(
        &mut self,
        s: &Segment,
        d: Direction,
        stream: &mut Stream,
        peer: &mut Stream,
    ) -> bool {
        let h = &mut self.summary;
        let (Direction::ToServer, None, Some(syn_ack), Some(isn)) =
            (d, h.ack, h.syn_ack, h.server_isn)
        else {
            return false;
        };
        let completes = before(isn, s.tcp.acknowledgement);
        if completes {
            h.ack = Some(s.mark.time);
            if h.syn_ack_retries == 0 {
                stream.held.answered(s.mark.time - syn_ack, 2);
                peer.held.took_at_most(s.mark.time - syn_ack);
            }
        }
        completes
    }
}

/// RFC 7323 section 2.3.
const LARGEST_SCALE: u8 = 14;

/// Whether a SYN/ACK acknowledges what its peer was seen to begin with.
fn acknowledges(s: &Segment, peer: &Stream) -> bool {
    let acknowledged = ack_position(peer.sent, s.tcp.acknowledgement);
    let begins = data_position(peer.sent, peer.first as u32);
    acknowledged == begins && peer.summary.packets < 4
}
