//! Checksums of IPv4 (RFC 791), TCP (RFC 9293) and UDP (RFC 768, 8200) of packets that were captured
//! whole: right, not yet finished by the sender's card, or wrong.
//!
//! A system that leaves checksums to its card puts the sum over addresses, protocol and length there (as
//! Linux, Windows and the BSDs do; without the length where the card divides the packet), or zero. So the
//! packet looks wherever it is captured before it comes to the card: on the sender itself, and between
//! hosts that share a machine. What is not of that form is wrong.

use super::super::ip::Ip;
use super::super::view::View;
use etherparse::checksum::Sum16BitWords;
use model::{ChecksumOf, Checksums, Mark, SHOWN_CHECKSUMS};
use std::net::IpAddr;

/// How a checksum was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ChecksumState {
    Right,
    Unfinished,
    /// Of several packets that the receiver's card joined.
    Joined,
    Wrong,
}

/// A sender's checksums in a batch.
#[derive(Debug, Default)]
pub(super) struct Sums([Sum; 3]);

#[derive(Debug, Default)]
struct Sum {
    right: u64,
    unfinished: u64,
    joined: u64,
    wrong: u64,
    shown: [Option<Mark>; SHOWN_CHECKSUMS],
}

impl Sums {
    pub(super) fn add(&mut self, of: ChecksumOf, found: ChecksumState, at: Mark) {
        let [ip, tcp, udp] = &mut self.0;
        let sum = match of {
            ChecksumOf::Ip => ip,
            ChecksumOf::Tcp => tcp,
            ChecksumOf::Udp => udp,
        };
        match found {
            ChecksumState::Right => sum.right += 1,
            ChecksumState::Unfinished => sum.unfinished += 1,
            ChecksumState::Joined => sum.joined += 1,
            ChecksumState::Wrong => {
                sum.wrong += 1;
                if let Some(place) = sum.shown.iter_mut().find(|s| s.is_none()) {
                    *place = Some(at);
                }
            }
        }
    }

    pub(super) fn told(self, source: IpAddr) -> impl Iterator<Item = Checksums> {
        let kinds = [ChecksumOf::Ip, ChecksumOf::Tcp, ChecksumOf::Udp];
        let told = kinds.into_iter().zip(self.0).map(move |(of, s)| Checksums {
            of,
            source,
            right: s.right,
            unfinished: s.unfinished,
            joined: s.joined,
            wrong: s.wrong,
            shown: s.shown,
        });
        told.filter(|c| c.right + c.unfinished + c.joined + c.wrong > 0)
    }
}

/// Of an IPv4 header; `None` for IPv6, which has none, and for one that was not captured whole.
pub(super) fn of_ip(view: View<'_>) -> Option<ChecksumState> {
    let first = view.u8_at(0).filter(|b| b >> 4 == 4)?;
    let header = view.data.get(..usize::from(first & 15) * 4)?;
    let (fixed, options) = header.split_first_chunk::<16>()?;
    let mut sum = Sum16BitWords::new().add_16bytes(*fixed);
    let sum = match options {
        // Without options, as nearly all are: no loop over four bytes.
        [a, b, c, d] => sum.add_4bytes([*a, *b, *c, *d]),
        options => sum.add_slice(options),
    };
    Some(match (sum.ones_complement(), view.u16_at(10)?) {
        (0, _) => ChecksumState::Right,
        (_, 0) => ChecksumState::Unfinished,
        _ => ChecksumState::Wrong,
    })
}

/// Of a TCP segment or UDP datagram, by IP's protocol number; `None` where there is none or it was not
/// captured whole.
pub(super) fn of_payload(
    number: u8,
    view: View<'_>,
    ip: &Ip,
) -> Option<(ChecksumOf, ChecksumState)> {
    let (of, at, length) = match number {
        6 => (ChecksumOf::Tcp, 16, view.wire),
        17 => {
            let length = u32::from(view.u16_at(4)?);
            (
                ChecksumOf::Udp,
                6,
                if length == 0 { view.wire } else { length },
            )
        }
        _ => return None,
    };
    let bytes = view.data.get(..length as usize)?;
    let field = view.u16_at(at)?;
    if of == ChecksumOf::Udp && (field == 0 || length > view.wire) {
        return None;
    }
    let addresses = match (ip.source, ip.destination) {
        (IpAddr::V4(a), IpAddr::V4(b)) => Sum16BitWords::new()
            .add_4bytes(a.octets())
            .add_4bytes(b.octets()),
        (IpAddr::V6(a), IpAddr::V6(b)) => Sum16BitWords::new()
            .add_16bytes(a.octets())
            .add_16bytes(b.octets()),
        _ => return None,
    };
    let mut without_length = addresses.add_2bytes([0, number]);
    let pseudo = without_length.add_4bytes(length.to_be_bytes());
    let field = field.to_be_bytes();
    let is = |sum: Sum16BitWords| sum.ones_complement().to_ne_bytes().map(|b| !b) == field;
    let found = if pseudo.clone().add_slice(bytes).ones_complement() == 0 {
        ChecksumState::Right
    } else if field == [0, 0] || is(pseudo) || is(without_length) {
        ChecksumState::Unfinished
    } else {
        ChecksumState::Wrong
    };
    Some((of, found))
}
