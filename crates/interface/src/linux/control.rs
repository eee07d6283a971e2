//! What the kernel writes beside a packet: control messages (cmsg(3)) into a time, a length and a VLAN tag.

use model::Time;

/// Enough for both messages that are asked for.
pub(super) const CONTROL_BYTES: usize = 256;

/// `tp_status` of `struct tpacket_auxdata`.
const TP_STATUS_VLAN_VALID: u32 = 1 << 4;
const TP_STATUS_VLAN_TPID_VALID: u32 = 1 << 6;

/// A tag that the kernel took off a frame: IEEE 802.1Q's type and control information.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Tag {
    pub(super) tpid: u16,
    pub(super) tci: u16,
}

/// What stood beside a packet.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct BesidePacket {
    pub(super) time: Option<Time>,
    /// Before the filter cut it.
    pub(super) length: Option<u32>,
    pub(super) tag: Option<Tag>,
}

impl BesidePacket {
    /// Reads `struct cmsghdr { size_t len; int level; int type; }` with its data, one after the other, each
    /// aligned as a `size_t` is.
    pub(super) fn of(mut rest: &[u8]) -> BesidePacket {
        const WORD: usize = size_of::<usize>();
        let mut found = BesidePacket::default();
        while let Some((length, behind)) = rest.split_first_chunk::<WORD>() {
            let length = usize::from_ne_bytes(*length);
            let (Some(level), Some(kind)) = (int(behind, 0), int(behind, 4)) else {
                break;
            };
            let header = (WORD + 8).next_multiple_of(WORD);
            let Some(data) = rest.get(header..length) else {
                break;
            };
            match (level, kind) {
                (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) => found.time = time(data),
                (libc::SOL_PACKET, libc::PACKET_AUXDATA) => found.auxiliary(data),
                _ => {}
            }
            rest = rest
                .get(length.next_multiple_of(WORD)..)
                .unwrap_or_default();
        }
        found
    }

    /// `struct tpacket_auxdata`: status, length, captured length, where link and network headers begin,
    /// and the tag.
    fn auxiliary(&mut self, data: &[u8]) {
        let Some(
            &[
                s0,
                s1,
                s2,
                s3,
                l0,
                l1,
                l2,
                l3,
                _,
                _,
                _,
                _,
                _,
                _,
                _,
                _,
                c0,
                c1,
                t0,
                t1,
            ],
        ) = data.first_chunk::<20>()
        else {
            return;
        };
        let status = u32::from_ne_bytes([s0, s1, s2, s3]);
        self.length = Some(u32::from_ne_bytes([l0, l1, l2, l3]));
        if status & TP_STATUS_VLAN_VALID != 0 {
            let tpid = match status & TP_STATUS_VLAN_TPID_VALID {
                0 => 0x8100,
                _ => u16::from_ne_bytes([t0, t1]),
            };
            let tci = u16::from_ne_bytes([c0, c1]);
            self.tag = Some(Tag { tpid, tci });
        }
    }
}

/// `struct timespec`, of two words of 64 bits or, on old systems of 32 bits, two of 32.
fn time(data: &[u8]) -> Option<Time> {
    let (seconds, ns) =
        if let Some(&[a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p]) = data.first_chunk::<16>() {
            (
                i64::from_ne_bytes([a, b, c, d, e, f, g, h]),
                i64::from_ne_bytes([i, j, k, l, m, n, o, p]),
            )
        } else {
            (i64::from(int(data, 0)?), i64::from(int(data, 4)?))
        };
    Some(Time(seconds.checked_mul(1_000_000_000)?.checked_add(ns)?))
}

fn int(bytes: &[u8], at: usize) -> Option<i32> {
    let bytes = bytes.get(at..)?.first_chunk::<4>()?;
    Some(i32::from_ne_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As Linux 6.12 gave it on x86-64 for a frame of VLAN 7.
    #[cfg(all(target_pointer_width = "64", target_endian = "little"))]
    #[test]
    fn messages_are_those_of_the_kernel() {
        #[rustfmt::skip]
        let mut bytes = vec![
            // SOL_SOCKET, SO_TIMESTAMPNS: 1,700,000,000.000000005 s
            32, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 35, 0, 0, 0,
            0x00, 0xf1, 0x53, 0x65, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0,
            // SOL_PACKET, PACKET_AUXDATA: status, 98 bytes of which 96 are here
            36, 0, 0, 0, 0, 0, 0, 0, 7, 1, 0, 0, 8, 0, 0, 0,
            0x51, 0, 0, 0, 98, 0, 0, 0, 96, 0, 0, 0, 0, 0, 14, 0, 7, 0, 0x00, 0x81,
        ];
        let expected = BesidePacket {
            time: Some(Time(1_700_000_000_000_000_005)),
            length: Some(98),
            tag: Some(Tag {
                tpid: 0x8100,
                tci: 7,
            }),
        };
        bytes.extend([0; 4]);
        assert_eq!(BesidePacket::of(&bytes), expected);
        // Cut short anywhere, nothing panics.
        for end in 0..bytes.len() {
            let _ = BesidePacket::of(bytes.get(..end).unwrap_or_default());
        }
    }
}
