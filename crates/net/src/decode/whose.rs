//! One packet by itself into who is to see it where connections are shared out: what [`partition`](crate::partition) says
//! of the segment that [`Decoder`](super::Decoder) makes of it, before anything is decoded.

use super::hash::hashes;
use super::ip::Ip;
use super::view::View;
use super::walk::{Innermost, Layer, walk};
use super::{link, plain};
use crate::track::partition_of;
use model::{Endpoint, LinkType, Transport};

/// Who is to see a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Whose {
    /// Those who have the connections of this partition.
    Partition(usize),
    /// Everybody: which connection a fragment is of, only all parts of its datagram say.
    Everybody,
    /// Anybody: it is of no connection.
    Nobody,
}

impl Whose {
    /// Of a packet's captured bytes and its length on the wire.
    #[must_use]
    pub fn of(link_type: LinkType, bytes: &[u8], length: u32) -> Whose {
        let Some(layer) = link::first(link_type) else {
            return Whose::Nobody;
        };
        let view = View {
            data: bytes,
            wire: length.max(bytes.len() as u32),
            start: 0,
        };
        let mut ip = Ip::NONE;
        let plain = (layer == Layer::Ethernet)
            .then(|| plain::read(view))
            .flatten();
        let (transport, (source, destination)) = match plain {
            Some(plain) => {
                ip = plain.ip;
                (Transport::Tcp, plain.tcp.ports())
            }
            None => match walk(layer, view, &mut ip, &mut Vec::new()) {
                Ok(Innermost::Tcp(header)) => (Transport::Tcp, header.ports()),
                Ok(Innermost::Udp(ports, _)) => (Transport::Udp, ports),
                Ok(Innermost::Fragment(..)) => return Whose::Everybody,
                Err(_) => return Whose::Nobody,
            },
        };
        let end = |address, port| Endpoint { address, port };
        let ends = [end(ip.source, source), end(ip.destination, destination)];
        Whose::Partition(partition_of(hashes(ends[0], ends[1], transport).1))
    }
}
