//! `ss -ti` of Linux (iproute2 4.9 to 6.1, with `-n`, `-m`, `-e`, `-O` or without) into what TCP says of its connections.
//!
//! A line has the state, the queues and both ends; behind it, or on the next line, stand `name:value` of `tcp_info`:
//! `rto:208 rtt:5.382/6.179 cwnd:230 busy:852ms rwnd_limited:852ms(100.0%) retrans:0/3`. Listening sockets have no peer.

use super::TcpSample;
use super::gather::{Gather, Now, Reader};
use crate::lines::Skips;
use crate::number::scaled;
use std::net::{IpAddr, SocketAddr};

#[derive(Default)]
pub(super) struct Read {
    ends: Option<(SocketAddr, SocketAddr)>,
}

impl Reader for Read {
    fn begin(&mut self) {
        self.ends = None;
    }

    fn line(&mut self, line: &str, now: Now<'_>, into: &mut Gather) {
        let text = line.trim();
        if text.starts_with("State") || text.starts_with("Netid") {
            return;
        }
        let mut info = text;
        if !line.starts_with([' ', '\t']) {
            let words: Vec<&str> = text.split_whitespace().take(8).collect();
            let pair = words.windows(2).find_map(|w| match w {
                [a, b] => Some((end(a)?, end(b)?)),
                _ => None,
            });
            self.ends = pair;
            if pair.is_none() && !text.contains(":*") && !text.contains("*:") {
                into.skip(
                    now.at,
                    "a connection whose ends cannot be read; take ss with -n",
                );
            }
            // With -O all stands in one line.
            info = text.split_once(" rto:").map_or("", |_| text);
        }
        if !info.contains("rto:") {
            return;
        }
        if let Some(ends) = self.ends.take() {
            into.connection(ends, sample(info, now.header_ns));
        }
    }
}

/// `10.77.0.1:49212`, `[::ffff:10.0.0.1]:2049`, `10.0.0.1%eth0:22`.
fn end(text: &str) -> Option<SocketAddr> {
    let (address, port) = text.rsplit_once(':')?;
    let address = address.trim_start_matches('[').trim_end_matches(']');
    let address = address.split('%').next()?.trim_end_matches(']');
    let address: IpAddr = address.parse().ok()?;
    Some(SocketAddr::new(address.to_canonical(), port.parse().ok()?))
}

fn sample(info: &str, at_ns: Option<i64>) -> TcpSample {
    let value = |name: &str| {
        let mut words = info.split_whitespace();
        words.find_map(|w| w.strip_prefix(name)?.strip_prefix(':'))
    };
    let ms = |text: &str| scaled(text.split('/').next()?, 6).filter(|ns| *ns >= 0);
    // `852ms(100.0%)`
    let spent = |name: &str| {
        let text = value(name)?.split("ms").next()?;
        scaled(text, 6).filter(|ns| *ns >= 0)
    };
    let count = |name: &str| value(name)?.parse::<u64>().ok();
    // Now under way, and in all.
    let retransmits = value("retrans").and_then(|t| t.rsplit('/').next()?.parse().ok());
    let window_shifts = value("wscale").and_then(|t| {
        let (sent, own) = t.split_once(',')?;
        let bits = |t: &str| t.parse::<u8>().ok().filter(|n| *n <= 14);
        Some([bits(own)?, bits(sent)?])
    });
    TcpSample {
        at_ns,
        busy_ns: spent("busy").unwrap_or(0),
        rwnd_limited_ns: spent("rwnd_limited").unwrap_or(0),
        sndbuf_limited_ns: spent("sndbuf_limited").unwrap_or(0),
        rto_ns: value("rto").and_then(ms),
        rtt_ns: value("rtt").and_then(ms),
        min_rtt_ns: value("minrtt").and_then(ms),
        cwnd: count("cwnd"),
        mss: count("mss"),
        retransmits: retransmits.unwrap_or(0),
        bytes_sent: count("bytes_sent"),
        window_shifts,
    }
}
