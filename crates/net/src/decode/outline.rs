//! One packet by itself into where its headers stand and whose it is: for those who select packets or
//! change them, where [`Decoder`](super::Decoder) is for those who read what they carry. Fragments are not
//! joined, and nothing is counted.

use super::ip::Ip;
use super::link;
use super::view::View;
use super::walk::{Innermost, walk};
use model::{LinkType, Transport};
use std::net::IpAddr;

/// Whose packet it is, the same for both directions; of a fragment the ports are not known.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Flow {
    /// The lower address first.
    pub hosts: [IpAddr; 2],
    /// Transport, and ports in the order of the hosts.
    pub ports: Option<(Transport, [u16; 2])>,
}

/// A packet's own headers.
#[derive(Clone, Copy, Debug)]
pub struct Outline {
    pub flow: Flow,
    /// Whether the lower address sent it.
    pub from_first: bool,
    /// TCP's flags and sequence number; none for UDP and fragments.
    pub tcp: Option<(crate::Flags, u32)>,
    /// Whether bytes of an application stand in it (or would, where the capture cut them off).
    pub payload: bool,
}

impl Outline {
    /// Of a packet's captured bytes and its length on the wire; `None` where it is no packet of TCP or
    /// UDP, or its headers were not captured.
    #[must_use]
    pub fn of(link_type: LinkType, bytes: &[u8], length: u32) -> Option<Outline> {
        let view = View {
            data: bytes,
            wire: length.max(bytes.len() as u32),
            start: 0,
        };
        let mut ip = Ip::NONE;
        let found = walk(link::first(link_type)?, view, &mut ip, &mut Vec::new()).ok()?;
        let (ports, tcp, payload) = match found {
            Innermost::Tcp(header) => {
                let fields = header.fields();
                let tcp = Some((fields.flags, fields.sequence));
                (
                    Some((Transport::Tcp, header.ports())),
                    tcp,
                    header.payload.wire > 0,
                )
            }
            Innermost::Udp(ports, payload) => {
                (Some((Transport::Udp, ports)), None, payload.wire > 0)
            }
            Innermost::Fragment(..) => (None, None, true),
        };
        let from_first = match ports {
            Some((_, (s, d))) => (ip.source, s) <= (ip.destination, d),
            None => ip.source <= ip.destination,
        };
        let turned = |pair: [IpAddr; 2]| if from_first { pair } else { [pair[1], pair[0]] };
        let flow = Flow {
            hosts: turned([ip.source, ip.destination]),
            ports: ports
                .map(|(transport, (s, d))| (transport, if from_first { [s, d] } else { [d, s] })),
        };
        Some(Outline {
            flow,
            from_first,
            tcp,
            payload,
        })
    }
}

impl Flow {
    /// Whether a packet of `other` may be one of this flow: its own, or a fragment between its hosts.
    #[must_use]
    pub fn covers(&self, other: &Flow) -> bool {
        let tcp = |f: &Flow| matches!(f.ports, Some((Transport::Tcp, _)));
        self == other
            || self.hosts == other.hosts
                && (self.ports.is_none() && !tcp(other) || other.ports.is_none() && !tcp(self))
    }
}
