//! Where a capture was taken.
//!
//! One capture: at the client the SYN/ACK takes a round trip and the ACK none; at the server it is
//! the other way round. Without a handshake, acknowledgements tell the same: those of the near host
//! come at once. Two captures: the one in which the same calls take longer is nearer to the client,
//! as every nanosecond of the network lies between the two.

use crate::capture_facts::TcpFacts;
use crate::results::Vantage;

/// A conclusion, what it rests on, and how sure it is (0 to 1).
#[derive(Clone, Debug)]
pub struct Conclusion {
    pub vantage: Vantage,
    pub from: String,
    pub confidence: f64,
}

/// A path this short may as well be the host's own turnaround: nothing can be told from it.
const SHORT_NS: i64 = 20_000;

/// Halves this short are a host talking to itself, or a clock too coarse.
const TELLING_NS: i64 = 5_000;

/// Where one capture was taken, from its own packets.
#[must_use]
pub fn conclude(tcp: &TcpFacts) -> Conclusion {
    if let (Some(server), Some(client)) = (tcp.server_half_ns, tcp.client_half_ns) {
        return halves(server, client, "the handshake's two halves");
    }
    if let [Some(server), Some(client)] = tcp.ack_rtt_min_ns {
        return halves(server, client, "the fastest acknowledgements of both sides");
    }
    Conclusion {
        vantage: Vantage::Unknown,
        from: "no handshake and no acknowledgements to go by".into(),
        confidence: 0.0,
    }
}

fn halves(server: i64, client: i64, what: &str) -> Conclusion {
    let whole = (server + client).max(1);
    let share = server as f64 / whole as f64;
    let from = format!(
        "{what}: {} to the server and back, {} to the client and back",
        model::format_duration(server),
        model::format_duration(client)
    );
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
    let middle = whole > 1_000_000 && server.min(client) > 300_000 && (0.1..0.9).contains(&share);
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
