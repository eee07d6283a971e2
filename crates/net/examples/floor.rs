//! A capture into packets and bytes of each flow, by well-kept crates alone: the least that any reader of
//! captures does, against which `scripts/bench.py` holds what slowside takes.
//!
//! `floor CAPTURE.pcap`, of Ethernet with IPv4 or IPv6.

use etherparse::{LaxNetSlice, LaxSlicedPacket, TransportSlice};
use hashbrown::HashMap;
use pcap_parser::traits::PcapReaderIterator;
use pcap_parser::{LegacyPcapReader, PcapBlockOwned, PcapError};
use std::io::Write;
use std::net::IpAddr;

const BUFFER_BYTES: usize = 1 << 20;

/// Addresses and ports of both ends, the lower first.
type Flow = [(IpAddr, u16); 2];
type Flows = HashMap<Flow, (u64, u64), foldhash::fast::FixedState>;

#[expect(clippy::disallowed_methods, reason = "it writes nothing but numbers")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args_os().nth(1).ok_or("floor CAPTURE.pcap")?;
    let mut reader = LegacyPcapReader::new(BUFFER_BYTES, std::fs::File::open(path)?)?;
    let mut flows = Flows::default();
    loop {
        match reader.next() {
            Ok((length, block)) => {
                if let PcapBlockOwned::Legacy(packet) = block
                    && let Some(flow) = flow(packet.data)
                {
                    let (packets, bytes) = flows.entry(flow).or_default();
                    *packets += 1;
                    *bytes += u64::from(packet.origlen);
                }
                reader.consume(length);
            }
            Err(PcapError::Incomplete(_)) => reader.refill().map_err(|e| e.to_string())?,
            Err(PcapError::Eof) => break,
            Err(error) => return Err(error.to_string().into()),
        }
    }
    let packets: u64 = flows.values().map(|(packets, _)| packets).sum();
    let bytes: u64 = flows.values().map(|(_, bytes)| bytes).sum();
    writeln!(
        std::io::stdout(),
        "{} flows, {packets} packets, {bytes} bytes",
        flows.len()
    )?;
    Ok(())
}

fn flow(frame: &[u8]) -> Option<Flow> {
    let packet = LaxSlicedPacket::from_ethernet(frame).ok()?;
    let (source, destination): (IpAddr, IpAddr) = match packet.net? {
        LaxNetSlice::Ipv4(ip) => (
            ip.header().source_addr().into(),
            ip.header().destination_addr().into(),
        ),
        LaxNetSlice::Ipv6(ip) => (
            ip.header().source_addr().into(),
            ip.header().destination_addr().into(),
        ),
        LaxNetSlice::Arp(_) => return None,
    };
    let (from, to) = match packet.transport? {
        TransportSlice::Tcp(tcp) => (tcp.source_port(), tcp.destination_port()),
        TransportSlice::Udp(udp) => (udp.source_port(), udp.destination_port()),
        _ => return None,
    };
    let mut ends = [(source, from), (destination, to)];
    ends.sort_unstable();
    Some(ends)
}
