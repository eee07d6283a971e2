//! The loop from a packet's first header to its TCP segment, UDP datagram or IP fragment.

use super::fragment::Fragment;
use super::ip::{self, Ip};
use super::transport::{self, Ports, TcpParts};
use super::view::{Note, Skip, View};
use super::{link, tunnel};
use etherparse::ip_number;

/// Headers followed in one packet: more than any network stacks, few enough to end quickly.
const HEADERS: usize = 32;

/// What a view's bytes are.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Layer {
    Ethernet,
    /// What this EtherType says, or an IEEE 802.3 length.
    EtherType(u16),
    Cooked,
    Cooked2,
    Loopback,
    Ppp,
    Mpls,
    /// IPv4 or IPv6, by the version in its first byte.
    Ip,
    /// Boxed, so that all others are words.
    Fragment(Box<Fragment>),
    /// The payload of IP, by protocol number.
    Payload(u8),
}

/// Where a packet's headers end.
pub(super) enum Innermost<'a> {
    Tcp(TcpParts<'a>),
    Udp(Ports, View<'a>),
    Fragment(Fragment, View<'a>),
}

/// Follows the headers. `ip` becomes the innermost IP header's, `notes` what was odd on the way.
#[inline(always)]
pub(super) fn walk<'a>(
    layer: Layer,
    view: View<'a>,
    ip: &mut Ip,
    notes: &mut Vec<Note>,
) -> Result<Innermost<'a>, Skip> {
    walk_past(layer, view, ip, notes, |_, _| {})
}

/// The same, and shows `seen` each layer before it is read.
#[inline(always)]
pub(super) fn walk_past<'a>(
    mut layer: Layer,
    mut view: View<'a>,
    ip: &mut Ip,
    notes: &mut Vec<Note>,
    mut seen: impl FnMut(&Layer, View<'a>),
) -> Result<Innermost<'a>, Skip> {
    const TCP: u8 = ip_number::TCP.0;
    const UDP: u8 = ip_number::UDP.0;
    for _ in 0..HEADERS {
        seen(&layer, view);
        (layer, view) = match layer {
            Layer::Ethernet => link::ethernet(view)?,
            Layer::EtherType(value) => link::ether_type(value, view)?,
            Layer::Cooked => link::cooked(view)?,
            Layer::Cooked2 => link::cooked2(view)?,
            Layer::Loopback => link::loopback(view)?,
            Layer::Ppp => link::ppp(view)?,
            Layer::Mpls => tunnel::mpls(view)?,
            Layer::Ip => ip::header(view, ip, notes)?,
            Layer::Fragment(fragment) => return Ok(Innermost::Fragment(*fragment, view)),
            Layer::Payload(TCP) => return Ok(Innermost::Tcp(transport::tcp(view)?)),
            Layer::Payload(UDP) => {
                let (ports, payload) = transport::udp(view, notes)?;
                match tunnel::in_udp(ports, payload) {
                    Some(inner) => inner,
                    None => return Ok(Innermost::Udp(ports, payload)),
                }
            }
            Layer::Payload(number) => in_ip(number, view, ip)?,
        };
    }
    Err(view.problem("too-many-headers", "headers:", HEADERS as u32))
}

/// Tunnels and extension headers by IP protocol number.
fn in_ip<'a>(number: u8, view: View<'a>, ip: &Ip) -> Result<(Layer, View<'a>), Skip> {
    const IPV4: u8 = ip_number::IPV4.0;
    const IPV6: u8 = ip_number::IPV6.0;
    const GRE: u8 = ip_number::GRE.0;
    const AUTHENTICATION: u8 = ip_number::AUTHENTICATION_HEADER.0;
    const ETHER_IP: u8 = ip_number::ETHER_IP.0;
    const MPLS_IN_IP: u8 = ip_number::MPLS_IN_IP.0;
    match number {
        IPV4 | IPV6 => Ok((Layer::Ip, view)),
        GRE => tunnel::gre(view),
        MPLS_IN_IP => Ok((Layer::Mpls, view)),
        ETHER_IP => tunnel::ether_ip(view),
        AUTHENTICATION => ip::authentication(view),
        _ if ip.source.is_ipv6() => ip::extension(number, view),
        _ => Err(Skip::NotTcpOrUdp(number)),
    }
}
