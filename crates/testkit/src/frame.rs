//! An Ethernet frame with IP and TCP or UDP, taken apart and put together by etherparse.

use crate::TestPacket;
use etherparse::{
    IpHeaders, IpNumber, Ipv4Header, Ipv6Header, NetHeaders, PacketBuilder, PacketHeaders,
    TcpHeader, TransportHeader,
};
use std::net::{IpAddr, SocketAddr};

/// What may be changed of a packet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Frame {
    pub source: SocketAddr,
    pub destination: SocketAddr,
    /// IPv4 identification; not sent in IPv6.
    pub ip_id: u16,
    pub ttl: u8,
    /// Ports in it are ignored; `None` is UDP.
    pub tcp: Option<TcpHeader>,
    pub payload: Vec<u8>,
}

impl Frame {
    /// Takes a packet apart. `None` for what is not TCP or UDP, is cut, or is an IP fragment.
    #[must_use]
    pub fn read(packet: &TestPacket) -> Option<Frame> {
        let headers = PacketHeaders::from_ethernet_slice(&packet.bytes).ok()?;
        let (source, destination, ip_id, ttl): (IpAddr, IpAddr, u16, u8) = match headers.net? {
            NetHeaders::Ipv4(h, _) => (
                h.source.into(),
                h.destination.into(),
                h.identification,
                h.time_to_live,
            ),
            NetHeaders::Ipv6(h, _) => (h.source.into(), h.destination.into(), 0, h.hop_limit),
            NetHeaders::Arp(_) => return None,
        };
        let (ports, tcp) = match headers.transport? {
            TransportHeader::Tcp(h) => ((h.source_port, h.destination_port), Some(h)),
            TransportHeader::Udp(h) => ((h.source_port, h.destination_port), None),
            _ => return None,
        };
        Some(Frame {
            source: SocketAddr::new(source, ports.0),
            destination: SocketAddr::new(destination, ports.1),
            ip_id,
            ttl,
            tcp,
            payload: headers.payload.slice().to_vec(),
        })
    }

    /// Puts it together, with lengths and checksums. Both addresses must be of one family.
    #[must_use]
    pub fn write(&self) -> Vec<u8> {
        let ip = match (self.source.ip(), self.destination.ip()) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => {
                let (a, b) = (source.octets(), destination.octets());
                // etherparse sets protocol and lengths.
                let header = Ipv4Header::new(0, self.ttl, IpNumber(0), a, b).unwrap();
                let header = Ipv4Header {
                    identification: self.ip_id,
                    dont_fragment: self.tcp.is_some(),
                    ..header
                };
                IpHeaders::Ipv4(header, Default::default())
            }
            (IpAddr::V6(source), IpAddr::V6(destination)) => {
                let header = Ipv6Header {
                    source: source.octets(),
                    destination: destination.octets(),
                    hop_limit: self.ttl,
                    ..Ipv6Header::default()
                };
                IpHeaders::Ipv6(header, Default::default())
            }
            mixed => unreachable!("addresses of two families: {mixed:?}"),
        };
        let builder = PacketBuilder::ethernet2([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]).ip(ip);
        let (source_port, destination_port) = (self.source.port(), self.destination.port());
        let mut bytes = Vec::new();
        match &self.tcp {
            Some(header) => {
                let header = TcpHeader {
                    source_port,
                    destination_port,
                    ..header.clone()
                };
                builder
                    .tcp_header(header)
                    .write(&mut bytes, &self.payload)
                    .unwrap();
            }
            None => builder
                .udp(source_port, destination_port)
                .write(&mut bytes, &self.payload)
                .unwrap(),
        }
        bytes
    }

    /// The sequence number after this segment's bytes, SYN and FIN; 0 for UDP.
    #[must_use]
    pub fn next_sequence(&self) -> u32 {
        self.tcp.as_ref().map_or(0, |tcp| {
            tcp.sequence_number
                .wrapping_add(self.payload.len() as u32)
                .wrapping_add(u32::from(tcp.syn) + u32::from(tcp.fin))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_survive_being_written_and_read() {
        for (source, destination) in [
            ("10.0.0.1:1000", "10.0.0.2:2049"),
            ("[fd00::1]:1000", "[fd00::2]:2049"),
        ] {
            let mut tcp = TcpHeader::new(1000, 2049, u32::MAX, 500);
            tcp.syn = true;
            for tcp in [None, Some(tcp)] {
                let source: SocketAddr = source.parse().unwrap();
                let mut frame = Frame {
                    source,
                    destination: destination.parse().unwrap(),
                    ip_id: if source.is_ipv4() { 7 } else { 0 },
                    ttl: 60,
                    tcp,
                    payload: b"abc".to_vec(),
                };
                let read = Frame::read(&TestPacket::new(0, frame.write())).unwrap();
                // Only writing knows the checksum.
                if let (Some(a), Some(b)) = (&mut frame.tcp, &read.tcp) {
                    a.checksum = b.checksum;
                    assert_eq!(read.next_sequence(), 3);
                }
                assert_eq!(read, frame);
            }
        }
    }
}
