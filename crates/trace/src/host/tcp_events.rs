//! Rows of BCC's `tcpretrans` (`TIME PID IP LADDR:LPORT T> RADDR:RPORT STATE`, `R` is a retransmit, `L` a tail loss probe),
//! `tcplife` (`PID COMM LADDR LPORT RADDR RPORT TX_KB RX_KB MS`) and `tcpconnlat -L` (`PID COMM IP SADDR LPORT DADDR DPORT
//! LAT(ms)`), bcc 0.12 to 0.31, into retransmits of connections, the round trip of their handshakes, and the host's own
//! addresses.
//!
//! Their times are of the wall without a date, or since they were started: what they say is of a connection, and not placed
//! in time. Written from the tools' own examples, as no kernel with their probes was at hand.

use super::TcpSample;
use super::gather::{Gather, Now, Reader};
use super::table::Heading;
use crate::lines::Skips;
use crate::number::scaled;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

/// Connections whose retransmits are counted.
const CONNECTIONS: usize = 100_000;

#[derive(Default)]
pub(super) struct Read {
    heading: Heading,
    retransmits: BTreeMap<(SocketAddr, SocketAddr), u64>,
}

impl Reader for Read {
    fn line(&mut self, line: &str, now: Now<'_>, into: &mut Gather) {
        let text = line.trim();
        if text.starts_with("Tracing") {
            return;
        }
        let heading = Heading::new(text);
        if ["LADDR", "LADDR:LPORT", "SADDR"]
            .iter()
            .any(|c| heading.has(c))
        {
            self.heading = heading;
            return;
        }
        let found = if self.heading.has("SADDR") {
            self.connect(text, into)
        } else if self.heading.has("LADDR") {
            self.life(text).map(|end| into.address(end))
        } else {
            self.retransmit(text, into)
        };
        match found {
            Some(()) if self.heading.has("SADDR") && !self.heading.has("LPORT") => {
                into.skip(
                    now.at,
                    "without a port it is of no connection; run tcpconnlat -L",
                );
            }
            Some(()) => {}
            None => into.skip(now.at, "not a row of tcpretrans, tcplife or tcpconnlat"),
        }
    }
}

impl Read {
    /// From the SYN that was sent to the SYN/ACK that came, by the client's kernel.
    fn connect(&self, text: &str, into: &mut Gather) -> Option<()> {
        let row = self.heading.row(text)?;
        let host = |name| row.word(name)?.parse::<IpAddr>().ok();
        let port = |name| row.word(name)?.parse::<u16>().ok();
        let (local, peer) = (host("SADDR")?.to_canonical(), host("DADDR")?.to_canonical());
        let peer = SocketAddr::new(peer, port("DPORT")?);
        let rtt_ns = scaled(row.word("LAT(ms)")?, 6).filter(|ns| *ns >= 0)?;
        let Some(port) = port("LPORT") else {
            into.address(SocketAddr::new(local, 0));
            return Some(());
        };
        let sample = TcpSample {
            rtt_ns: Some(rtt_ns),
            ..TcpSample::default()
        };
        into.connection((SocketAddr::new(local, port), peer), sample);
        Some(())
    }

    fn life(&self, text: &str) -> Option<SocketAddr> {
        let row = self.heading.row(text)?;
        let address: IpAddr = row.word("LADDR")?.parse().ok()?;
        Some(SocketAddr::new(address, row.word("LPORT")?.parse().ok()?))
    }

    fn retransmit(&mut self, text: &str, into: &mut Gather) -> Option<()> {
        let words: Vec<&str> = text.split_whitespace().take(16).collect();
        let (kind, ends) = words.windows(3).find_map(|w| match w {
            [local, kind @ ("R>" | "L>"), peer] => Some((*kind, (end(local)?, end(peer)?))),
            _ => None,
        })?;
        if kind == "R>"
            && (self.retransmits.len() < CONNECTIONS || self.retransmits.contains_key(&ends))
        {
            let count = self.retransmits.entry(ends).or_default();
            *count += 1;
            let sample = TcpSample {
                retransmits: *count,
                ..TcpSample::default()
            };
            into.connection(ends, sample);
        }
        Some(())
    }
}

/// `10.153.223.157:22`; IPv6 without brackets.
fn end(text: &str) -> Option<SocketAddr> {
    let (address, port) = text.rsplit_once(':')?;
    let address = address.trim_start_matches('[').trim_end_matches(']');
    let address: IpAddr = address.parse().ok()?;
    Some(SocketAddr::new(address.to_canonical(), port.parse().ok()?))
}
