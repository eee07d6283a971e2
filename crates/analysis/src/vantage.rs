//! Where a capture was taken.
//!
//! One capture: at the client the SYN/ACK takes a round trip and the ACK none; at the server it is
//! the other way round. Without a handshake, acknowledgements tell the same: those of the near host
//! come at once. Where neither tells, checksums may: a host that leaves them to its card sends packets
//! whose checksums are not finished where they are captured on it. Two captures: the one in which the
//! same calls take longer is nearer to the client, as every nanosecond of the network lies between the
//! two.

use crate::capture_facts::TcpFacts;
use crate::health::SenderChecksums;
use crate::results::Vantage;
use crate::text::{Text, Value, text};
use crate::ways::Hosts;
use serde::{Deserialize, Serialize};

/// A conclusion, what it rests on, and how sure it is (0 to 1).
#[derive(Clone, Debug)]
pub struct Conclusion {
    pub vantage: Vantage,
    pub from: VantageFrom,
    pub confidence: f64,
}

/// What it was concluded from where a capture was taken; shown in words. Nanoseconds from the capture to
/// the server and back, and to the client and back.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub enum VantageFrom {
    #[default]
    Nothing,
    BothEnds,
    /// Client and server are one host.
    OneHost,
    Handshake {
        server_ns: i64,
        client_ns: i64,
    },
    Acknowledgements {
        server_ns: i64,
        client_ns: i64,
    },
    Turnarounds {
        server_ns: i64,
        client_ns: i64,
    },
    /// Packets of the hosts on that side were captured before their cards finished the checksums.
    Checksums,
}

impl VantageFrom {
    /// As it follows the place.
    #[must_use]
    pub fn words(self) -> Text {
        let (what, server, client) = match self {
            VantageFrom::Nothing => return "no handshake and no acknowledgements to go by".into(),
            VantageFrom::BothEnds => return "captured at both ends".into(),
            VantageFrom::OneHost => return "client and server are one host".into(),
            VantageFrom::Checksums => {
                return "checksums that the cards of the hosts here had not finished".into();
            }
            VantageFrom::Handshake {
                server_ns,
                client_ns,
            } => ("the handshake's two halves", server_ns, client_ns),
            VantageFrom::Acknowledgements {
                server_ns,
                client_ns,
            } => (
                "the fastest acknowledgements of both sides",
                server_ns,
                client_ns,
            ),
            VantageFrom::Turnarounds {
                server_ns,
                client_ns,
            } => ("the soonest answers of both sides", server_ns, client_ns),
        };
        text!(
            "{what}: {server} to the server and back, {client} to the client and back",
            what = what,
            server = Value::Duration(server),
            client = Value::Duration(client),
        )
    }
}

/// A path this short may as well be the host's own turnaround: nothing can be told from it.
const SHORT_NS: i64 = 20_000;

/// Few hosts take longer to answer at once.
pub(crate) const FAR_NS: i64 = 300_000;

/// Halves this short are a host talking to itself, or a clock too coarse.
const TELLING_NS: i64 = 5_000;

/// Where one capture was taken, from its own packets.
#[must_use]
pub fn conclude(tcp: &TcpFacts) -> Conclusion {
    if tcp.connections > 0 && tcp.within_host == tcp.connections {
        return Conclusion {
            vantage: Vantage::Server,
            from: VantageFrom::OneHost,
            confidence: 1.0,
        };
    }
    if let (Some(server), Some(client)) = (tcp.server_half_ns, tcp.client_half_ns) {
        let from = VantageFrom::Handshake {
            server_ns: server,
            client_ns: client,
        };
        return halves(server, client, from);
    }
    if let [Some(server), Some(client)] = tcp.ack_rtt_min_ns {
        let from = VantageFrom::Acknowledgements {
            server_ns: server,
            client_ns: client,
        };
        return halves(server, client, from);
    }
    Conclusion {
        vantage: Vantage::Unknown,
        from: VantageFrom::Nothing,
        confidence: 0.0,
    }
}

/// A host that answers this soon is where the capture was taken: a round trip to it takes no longer.
const HERE_NS: i64 = 100_000;

/// Where a capture was taken that holds neither handshakes nor acknowledgements of both sides, from the soonest
/// answer of the server to a request and of the client, with its next request, to an answer. Each is a bound of
/// the path to that side and back; of the side that answers later nothing is known but that it is not nearer.
pub(crate) fn by_turnarounds(server: Option<i64>, client: Option<i64>) -> Option<Conclusion> {
    let (server, client) = (server?, client?);
    let vantage = match (server, client) {
        (HERE_NS.., 0..HERE_NS) => Vantage::Client,
        (0..HERE_NS, HERE_NS..) => Vantage::Server,
        _ => return None,
    };
    Some(Conclusion {
        vantage,
        from: VantageFrom::Turnarounds {
            server_ns: server,
            client_ns: client,
        },
        confidence: 0.8,
    })
}

/// The same from checksums that cards are to finish: of all calls the clients' packets were captured before their cards and the servers' behind, or the
/// other way round.
pub(crate) fn by_checksums(sums: &SenderChecksums, calls: &[Hosts]) -> Option<Conclusion> {
    let (mut at_clients, mut at_servers) = (0, 0);
    for &(client, server) in calls {
        let there = [client, server].map(|host| sums.is_captured_there(host));
        at_clients += u32::from(there == [Some(true), Some(false)]);
        at_servers += u32::from(there == [Some(false), Some(true)]);
        // Hosts on one machine.
        if there == [Some(true); 2] {
            return None;
        }
    }
    let vantage = match (at_clients, at_servers) {
        (1.., 0) => Vantage::Client,
        (0, 1..) => Vantage::Server,
        _ => return None,
    };
    Some(Conclusion {
        vantage,
        from: VantageFrom::Checksums,
        confidence: 0.9,
    })
}

/// The same where acknowledgements told it: an answer acknowledges too, and no host is further than its soonest comes from.
pub(crate) fn with_turnarounds(
    concluded: Conclusion,
    server: Option<i64>,
    client: Option<i64>,
) -> Conclusion {
    let VantageFrom::Acknowledgements {
        server_ns,
        client_ns,
    } = concluded.from
    else {
        return concluded;
    };
    let sooner = |ns: i64, answer: Option<i64>| answer.map_or(ns, |answer| ns.min(answer.max(0)));
    let (server_ns, client_ns) = (sooner(server_ns, server), sooner(client_ns, client));
    let from = VantageFrom::Acknowledgements {
        server_ns,
        client_ns,
    };
    halves(server_ns, client_ns, from)
}

fn halves(server: i64, client: i64, from: VantageFrom) -> Conclusion {
    let whole = (server + client).max(1);
    let share = server as f64 / whole as f64;
    let far = whole >= SHORT_NS;
    let (vantage, confidence) = match share {
        _ if whole < TELLING_NS => (Vantage::Unknown, 0.0),
        s if s >= 0.95 && far => (Vantage::Client, 0.95),
        s if s <= 0.05 && far => (Vantage::Server, 0.95),
        s if s >= 0.6 => (Vantage::Client, if whole > 1_000_000 { 0.5 } else { 0.6 }),
        s if s <= 0.4 => (Vantage::Server, if whole > 1_000_000 { 0.5 } else { 0.6 }),
        _ if whole > 1_000_000 => (Vantage::Middle, 0.8),
        _ => (Vantage::Unknown, 0.0),
    };
    // Far between the two ends neither host is near.
    let middle = whole > 1_000_000 && server.min(client) > FAR_NS && (0.1..0.9).contains(&share);
    let (vantage, confidence) = if middle {
        (Vantage::Middle, 0.8)
    } else {
        (vantage, confidence)
    };
    Conclusion {
        vantage,
        from,
        confidence,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{ChecksumOf, Checksums, Mark, SHOWN_CHECKSUMS};
    use std::net::IpAddr;

    fn host(n: u8) -> IpAddr {
        [10, 0, 0, n].into()
    }

    /// Of hosts, how many of their packets had right checksums and how many had unfinished ones; of calls from 1 to 2.
    fn told(hosts: &[(u8, u64, u64)]) -> Option<Vantage> {
        let mut sums = SenderChecksums::default();
        for &(n, right, unfinished) in hosts {
            let of = Checksums {
                of: ChecksumOf::Udp,
                source: host(n),
                right,
                unfinished,
                joined: 0,
                wrong: 0,
                shown: [None; SHOWN_CHECKSUMS],
            };
            sums.add(&of, Mark::default());
        }
        by_checksums(&sums, &[(host(1), host(2))]).map(|c| c.vantage)
    }

    #[test]
    fn whose_packets_a_card_had_yet_to_finish_was_captured_there() {
        assert_eq!(told(&[(1, 4, 400), (2, 300, 0)]), Some(Vantage::Client));
        assert_eq!(told(&[(1, 300, 0), (2, 0, 8)]), Some(Vantage::Server));
    }

    #[test]
    fn where_both_were_or_neither_was_they_do_not_say() {
        assert_eq!(told(&[(1, 4, 400), (2, 0, 400)]), None, "on one machine");
        assert_eq!(
            told(&[(1, 400, 0), (2, 400, 0)]),
            None,
            "between them, or no card does it"
        );
        assert_eq!(told(&[(1, 0, 1), (2, 400, 0)]), None, "too few");
        assert_eq!(
            told(&[(1, 0, 400)]),
            None,
            "of one of them nothing is known"
        );
    }
}
