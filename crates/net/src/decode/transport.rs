//! TCP (RFC 9293) and UDP (RFC 768) headers, and TCP options (RFC 7323, 2018).
//!
//! Own views: etherparse refuses a TCP header whose options were cut by the snap length, where the
//! fixed part is all that matters, and its option iterator ends at the first option it does not
//! know, which loses the timestamps of Multipath TCP and fast-open segments.

use super::view::{Note, Skip, View};
use crate::{Flags, Tcp};

/// Source and destination.
pub(super) type Ports = (u16, u16);

/// A TCP header as it stands in the packet.
pub(super) struct TcpParts<'a> {
    fixed: &'a [u8; 20],
    /// What was captured of the options.
    options: &'a [u8],
    /// Whether that is not all of them.
    options_cut: bool,
    pub(super) payload: View<'a>,
}

#[inline]
pub(super) fn tcp(view: View<'_>) -> Result<TcpParts<'_>, Skip> {
    TcpParts::read(view).ok_or_else(|| no_tcp(view))
}

/// What is wrong with a header that cannot be read.
#[cold]
fn no_tcp(view: View<'_>) -> Skip {
    const NAME: &str = "TCP header";
    match view.data.get(12) {
        Some(offset) if view.data.len() >= 20 => {
            let length = u32::from(offset >> 4) * 4;
            view.problem("bogus-tcp-header", "TCP header length", length)
        }
        _ if view.wire < 20 => view.problem("bogus-tcp-header", NAME, view.wire),
        _ => view.short(NAME, 20),
    }
}

impl<'a> TcpParts<'a> {
    /// The header, if its fixed part was captured and its length can be.
    #[inline(always)]
    pub(super) fn read(view: View<'a>) -> Option<TcpParts<'a>> {
        let fixed = view.data.first_chunk::<20>()?;
        let length = u32::from(fixed[12] >> 4) * 4;
        if length < 20 || length > view.wire {
            return None;
        }
        let options = view.data.get(20..length as usize);
        Some(TcpParts {
            fixed,
            options: options.unwrap_or(view.data.get(20..).unwrap_or_default()),
            options_cut: options.is_none(),
            payload: view.skip(length),
        })
    }
}

impl TcpParts<'_> {
    #[inline]
    pub(super) fn ports(&self) -> Ports {
        let &[s0, s1, d0, d1, ..] = self.fixed;
        (u16::from_be_bytes([s0, s1]), u16::from_be_bytes([d0, d1]))
    }

    /// The fields of the header, without those of its options.
    #[inline]
    pub(super) fn fields(&self) -> Tcp {
        let &[
            ..,
            q0,
            q1,
            q2,
            q3,
            a0,
            a1,
            a2,
            a3,
            offset,
            flags,
            w0,
            w1,
            _,
            _,
            _,
            _,
        ] = self.fixed;
        Tcp {
            sequence: u32::from_be_bytes([q0, q1, q2, q3]),
            acknowledgement: u32::from_be_bytes([a0, a1, a2, a3]),
            flags: Flags(flags),
            accurate_ecn: offset & 1 != 0,
            window: u16::from_be_bytes([w0, w1]),
            options_length: ((offset >> 4) * 4).saturating_sub(self.fixed.len() as u8),
            ..Tcp::default()
        }
    }

    /// Reads the options it knows, and ends quietly at one that is cut or cannot be.
    ///
    /// It writes where the segment will stay: building the options first and moving them there costs
    /// a fifth of the whole decoding.
    #[inline]
    pub(super) fn read_options(&self, tcp: &mut Tcp) {
        read_options(self.options, tcp);
        tcp.options_cut = self.options_cut;
    }
}

#[inline]
fn read_options(options: &[u8], tcp: &mut Tcp) {
    let u32_of = |bytes: &[u8; 4]| u32::from_be_bytes(*bytes);
    // Almost every segment has just this: two paddings, time stamps.
    if let Some((&[1, 1, 8, 10], &[v0, v1, v2, v3, e0, e1, e2, e3])) = options.split_first_chunk() {
        tcp.timestamps = Some((u32_of(&[v0, v1, v2, v3]), u32_of(&[e0, e1, e2, e3])));
        return;
    }
    let mut rest = options;
    loop {
        let (kind, body, after) = match *rest {
            [] | [0, ..] => return,
            [1, ref after @ ..] => {
                rest = after;
                continue;
            }
            [kind, length, ref after @ ..] => {
                let Some((body, after)) = usize::from(length)
                    .checked_sub(2)
                    .and_then(|length| after.split_at_checked(length))
                else {
                    return;
                };
                (kind, body, after)
            }
            [_] => return,
        };
        match (kind, body) {
            (2, &[a, b]) => tcp.mss = Some(u16::from_be_bytes([a, b])),
            (3, &[shift]) => tcp.window_scale = Some(shift),
            (4, &[]) => tcp.sack_permitted = true,
            (5, blocks) => {
                tcp.sack_count = 0;
                for (slot, block) in tcp.sack.iter_mut().zip(blocks.as_chunks::<8>().0) {
                    let &[l0, l1, l2, l3, r0, r1, r2, r3] = block;
                    *slot = (u32_of(&[l0, l1, l2, l3]), u32_of(&[r0, r1, r2, r3]));
                    tcp.sack_count += 1;
                }
            }
            (8, &[v0, v1, v2, v3, e0, e1, e2, e3]) => {
                tcp.timestamps = Some((u32_of(&[v0, v1, v2, v3]), u32_of(&[e0, e1, e2, e3])));
            }
            _ => {}
        }
        rest = after;
    }
}

#[inline]
pub(super) fn udp<'a>(view: View<'a>, notes: &mut Vec<Note>) -> Result<(Ports, View<'a>), Skip> {
    let (&[s0, s1, d0, d1, l0, l1, _, _], payload) = view.header::<8>("UDP header")?;
    let ports = (u16::from_be_bytes([s0, s1]), u16::from_be_bytes([d0, d1]));
    let length = u32::from(u16::from_be_bytes([l0, l1]));
    let payload = match length {
        // A jumbogram (RFC 2675 section 4), or a sender's offload.
        0 => {
            if view.wire <= u32::from(u16::MAX) {
                notes.push(view.note("bogus-udp-length", "UDP length", length));
            }
            payload
        }
        1..8 => return Err(view.problem("bogus-udp-length", "UDP length", length)),
        length if length > view.wire => {
            notes.push(view.note("bogus-udp-length", "UDP length", length));
            payload
        }
        length => payload.with_length(length - 8),
    };
    Ok((ports, payload))
}
