//! Rows of BCC's `tcpretrans` (`TIME PID IP LADDR:LPORT T> RADDR:RPORT STATE`, `R` is a retransmit, `L` a tail loss probe)
//! and `tcplife` (`PID COMM LADDR LPORT RADDR RPORT TX_KB RX_KB MS`), bcc 0.12 to 0.31, into retransmits of connections and
//! the host's own addresses.
//!
//! Their times are of the wall without a date: retransmits are counted by connection, and not placed in time. Written from
//! the tools' own examples, as no kernel with their probes was at hand.

use super::TcpSample;
use super::gather::{Gather, Now, Reader};
use super::table::Heading;
use crate::lines::Skips;
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
        if heading.has("LADDR") || heading.has("LADDR:LPORT") {
            self.heading = heading;
            return;
        }
        let found = match self.heading.has("LADDR") {
            true => self.life(text).map(|end| into.address(end)),
            false => self.retransmit(text, into),
        };
        if found.is_none() {
            into.skip(now.at, "not a row of tcpretrans or tcplife");
        }
    }
}

impl Read {
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
