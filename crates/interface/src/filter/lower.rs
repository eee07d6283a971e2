//! Primitives into tests of single fields, as libpcap's `gencode.c` means them.
//!
//! The kernel takes the outer VLAN tag off frames that come in, and knows it beside the bytes; a frame that
//! leaves may carry it in its bytes. So what stands behind `vlan` is asked twice: of frames whose tag was
//! taken off, one tag less deep. Without `vlan`, a frame whose tag was taken off is judged as if it had
//! none, as by libpcap.

use super::shape::{End, Network, Primitive, Shape, Transport, What};
use super::{Layout, Refused};

/// Where a field is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Field {
    /// From the first byte that the program sees.
    Byte(u32),
    Half(u32),
    Word(u32),
    /// Behind the IPv4 header, whose own length says where it ends: where that begins, and how far behind.
    BehindIp(u32, u32),
    /// What the kernel knows beside the bytes: SKF_AD_* of `linux/filter.h`.
    Known(u32),
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Is {
    Equal(u32),
    AtLeast(u32),
    AtMost(u32),
    /// Any of these bits.
    With(u32),
}

/// A field, under a mask, compared.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Test {
    pub(super) field: Field,
    pub(super) mask: u32,
    pub(super) is: Is,
}

type Tests = Shape<Test>;

const PROTOCOL: Field = Field::Known(0);
const PACKET_TYPE: Field = Field::Known(4);
const HARDWARE_TYPE: Field = Field::Known(28);
const VLAN_TAG: Field = Field::Known(44);
const VLAN_TAG_PRESENT: Field = Field::Known(48);

const ARPHRD_LOOPBACK: u32 = 772;
const PACKET_OUTGOING: u32 = 4;

/// EtherTypes of tags, as libpcap has them: 802.1Q, 802.1ad, and one from before.
const TAGS: [u32; 3] = [0x8100, 0x88a8, 0x9100];
const VLAN_ID: u32 = 0x0fff;

/// Next header of IPv6 (RFC 8200, 4.5).
const FRAGMENT: u32 = 44;
const IPV6_BYTES: u32 = 40;
/// Of IPv4's flags and fragment offset (RFC 791).
const FRAGMENT_OFFSET: u32 = 0x1fff;

/// What a program has to test; `None` for nothing.
pub(super) fn lower(
    shape: Option<&Shape<Primitive>>,
    layout: Layout,
    twice: bool,
) -> Result<Option<Tests>, Refused> {
    let asked = shape.map(|shape| walk(shape, layout)).transpose()?;
    if !twice {
        return Ok(asked);
    }
    let comes_back = all([
        is(HARDWARE_TYPE, ARPHRD_LOOPBACK),
        is(PACKET_TYPE, PACKET_OUTGOING),
    ])
    .not();
    Ok(Some(match asked {
        Some(asked) => all([comes_back, asked]),
        None => comes_back,
    }))
}

fn walk(shape: &Shape<Primitive>, layout: Layout) -> Result<Tests, Refused> {
    let each = |shapes: &[Shape<Primitive>]| -> Result<Vec<Tests>, Refused> {
        shapes.iter().map(|s| walk(s, layout)).collect()
    };
    Ok(match shape {
        Shape::Not(shape) => walk(shape, layout)?.not(),
        Shape::All(shapes) => Shape::All(each(shapes)?),
        Shape::Any(shapes) => Shape::Any(each(shapes)?),
        Shape::Is(primitive) => lower_one(primitive, layout)?,
    })
}

fn lower_one(primitive: &Primitive, layout: Layout) -> Result<Tests, Refused> {
    let Primitive { tags, column, what } = primitive;
    if layout == Layout::Network && (*tags > 0 || matches!(what, What::Vlan(_))) {
        return Err(Refused {
            column: *column,
            what: "vlan can be asked of an Ethernet interface alone".to_owned(),
        });
    }
    let behind = |tags: u32| Place { layout, tags };
    let present = || is(VLAN_TAG_PRESENT, 1);
    Ok(match (what, tags.checked_sub(1)) {
        (What::Vlan(id), None) => {
            let known = all([present()]
                .into_iter()
                .chain(id.map(|id| vlan(VLAN_TAG, id))));
            any([known, all([present().not(), behind(0).tagged(*id)])])
        }
        (What::Vlan(id), Some(less)) => any([
            all([present(), behind(less).tagged(*id)]),
            all([present().not(), behind(*tags).tagged(*id)]),
        ]),
        (what, None) => behind(0).tests(what),
        (what, Some(less)) => any([
            all([present(), behind(less).tests(what)]),
            all([present().not(), behind(*tags).tests(what)]),
        ]),
    })
}

/// Behind how many tags in the bytes.
#[derive(Clone, Copy)]
struct Place {
    layout: Layout,
    tags: u32,
}

impl Place {
    fn ether_type(self) -> Field {
        match self.layout {
            Layout::Ethernet => Field::Half(12_u32.saturating_add(self.tags.saturating_mul(4))),
            Layout::Network => PROTOCOL,
        }
    }

    fn network(self) -> u32 {
        match self.layout {
            Layout::Ethernet => 14_u32.saturating_add(self.tags.saturating_mul(4)),
            Layout::Network => 0,
        }
    }

    fn tagged(self, id: Option<u16>) -> Tests {
        let tagged = any(TAGS.map(|tag| is(self.ether_type(), tag)));
        match id {
            Some(id) => all([tagged, vlan(Field::Half(self.network()), id)]),
            None => tagged,
        }
    }

    fn is(self, network: Network) -> Tests {
        let value = match network {
            Network::Ip => 0x0800,
            Network::Ip6 => 0x86dd,
            Network::Arp => 0x0806,
            Network::Rarp => 0x8035,
        };
        is(self.ether_type(), value)
    }

    fn tests(self, what: &What) -> Tests {
        match *what {
            What::Network(network) => self.is(network),
            What::Transport(transport) => self.transport(transport),
            What::V4 {
                of,
                end,
                address,
                mask,
            } => {
                let addresses = |source: u32, destination: u32| {
                    ends(end, source, destination, |at| {
                        masked(self.network() + at, address.to_bits(), mask.to_bits())
                    })
                };
                // RFC 791 3.1; RFC 826, of IPv4 over Ethernet.
                let of_ip = || all([self.is(Network::Ip), addresses(12, 16)]);
                let of_arp = |network| all([self.is(network), addresses(14, 24)]);
                match of {
                    Some(Network::Arp | Network::Rarp) => of_arp(of.unwrap_or(Network::Arp)),
                    Some(_) => of_ip(),
                    None => any([of_ip(), of_arp(Network::Arp), of_arp(Network::Rarp)]),
                }
            }
            What::V6 { end, address, bits } => {
                let network = u128::MAX.checked_shl(128 - u32::from(bits)).unwrap_or(0);
                // RFC 8200 3.
                let addresses = ends(end, 8, 24, |at| {
                    all((0..4).map(|word| {
                        let of = |value: u128| (value >> (96 - 32 * word)) as u32;
                        let at = self.network() + at + 4 * word;
                        masked(at, of(address.to_bits()), of(network))
                    }))
                });
                all([self.is(Network::Ip6), addresses])
            }
            What::Ports {
                of,
                end,
                first,
                last,
            } => self.ports(of, end, u32::from(first), u32::from(last)),
            What::Vlan(id) => self.tagged(id),
        }
    }

    fn next_header(self) -> Field {
        Field::Byte(self.network() + 6)
    }

    fn protocol(self) -> Field {
        Field::Byte(self.network() + 9)
    }

    fn transport(self, transport: Transport) -> Tests {
        let number = number(transport);
        let v4 = || all([self.is(Network::Ip), is(self.protocol(), number)]);
        let in_fragment = Field::Byte(self.network() + IPV6_BYTES);
        let v6 = || {
            all([
                self.is(Network::Ip6),
                any([
                    is(self.next_header(), number),
                    all([is(self.next_header(), FRAGMENT), is(in_fragment, number)]),
                ]),
            ])
        };
        match transport {
            Transport::Icmp => v4(),
            Transport::Icmp6 => v6(),
            Transport::Tcp | Transport::Udp | Transport::Sctp => any([v6(), v4()]),
        }
    }

    fn ports(self, of: Option<Transport>, end: End, first: u32, last: u32) -> Tests {
        let transports = |field| match of {
            Some(transport) => is(field, number(transport)),
            None => any([Transport::Sctp, Transport::Tcp, Transport::Udp]
                .map(|transport| is(field, number(transport)))),
        };
        let within = |field| {
            if first == last {
                return is(field, first);
            }
            all([Is::AtLeast(first), Is::AtMost(last)].map(|is| test(field, u32::MAX, is)))
        };
        let at = self.network();
        let v6 = ends(end, 0, 2, |port| {
            within(Field::Half(at + IPV6_BYTES + port))
        });
        let v4 = ends(end, 0, 2, |port| within(Field::BehindIp(at, port)));
        let later_fragment = test(Field::Half(at + 6), u32::MAX, Is::With(FRAGMENT_OFFSET));
        any([
            all([self.is(Network::Ip6), transports(self.next_header()), v6]),
            all([
                self.is(Network::Ip),
                transports(self.protocol()),
                later_fragment.not(),
                v4,
            ]),
        ])
    }
}

/// IANA's protocol numbers.
fn number(transport: Transport) -> u32 {
    match transport {
        Transport::Icmp => 1,
        Transport::Tcp => 6,
        Transport::Udp => 17,
        Transport::Icmp6 => 58,
        Transport::Sctp => 132,
    }
}

fn ends(end: End, source: u32, destination: u32, of: impl Fn(u32) -> Tests) -> Tests {
    match end {
        End::Source => of(source),
        End::Destination => of(destination),
        End::Either => any([of(source), of(destination)]),
        End::Both => all([of(source), of(destination)]),
    }
}

fn masked(at: u32, value: u32, mask: u32) -> Tests {
    test(Field::Word(at), mask, Is::Equal(value))
}

fn vlan(field: Field, id: u16) -> Tests {
    test(field, VLAN_ID, Is::Equal(u32::from(id)))
}

fn is(field: Field, value: u32) -> Tests {
    test(field, u32::MAX, Is::Equal(value))
}

fn test(field: Field, mask: u32, is: Is) -> Tests {
    Shape::Is(Test { field, mask, is })
}

fn all(tests: impl IntoIterator<Item = Tests>) -> Tests {
    Shape::All(tests.into_iter().collect())
}

fn any(tests: impl IntoIterator<Item = Tests>) -> Tests {
    Shape::Any(tests.into_iter().collect())
}
