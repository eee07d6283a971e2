//! Packets that the capture holds twice: a mirror port that copies at ingress and egress, or a
//! capture on all interfaces of a host that has the packet on a bridge and on its port.
//!
//! A sender that sends again gives the packet a new IP identification and, with RFC 7323 timestamps,
//! mostly a new timestamp; a copy has the same header throughout. Where neither is there to tell, an
//! equal header within 1 ms counts as a copy unless there was a reason to send it again.

use super::MILLISECOND;
use crate::Segment;
use model::Time;

/// How many packets of a direction are remembered, and how long a copy may come after its original.
const REMEMBERED: usize = 32;
const WITHIN_NS: i64 = 5 * MILLISECOND;
const WITHIN_WITHOUT_IDENTITY_NS: i64 = MILLISECOND;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Header {
    sequence: u32,
    acknowledgement: u32,
    length: u32,
    timestamp: Option<u32>,
    first_sack_end: u32,
    window: u16,
    ip_id: Option<u16>,
    flags: u8,
}

impl Header {
    fn of(s: &Segment) -> Header {
        let [(_, first_sack_end), _] = s.tcp.sack;
        Header {
            sequence: s.tcp.sequence,
            acknowledgement: s.tcp.acknowledgement,
            length: s.payload_length,
            timestamp: s.tcp.timestamps.map(|(value, _)| value),
            first_sack_end: if s.tcp.sack_count > 0 {
                first_sack_end
            } else {
                0
            },
            window: s.tcp.window,
            ip_id: s.ip_id,
            flags: s.tcp.flags.0,
        }
    }
}

/// The last packets of a direction. It grows with the first packets, as most connections of a
/// capture with many are short.
#[derive(Debug, Default)]
pub(super) struct Recent {
    packets: Vec<(Time, Header)>,
    oldest: usize,
}

impl Recent {
    pub(super) fn remember(&mut self, s: &Segment) {
        let packet = (s.mark.time, Header::of(s));
        if self.packets.len() < REMEMBERED {
            self.packets.push(packet);
        } else if let Some(slot) = self.packets.get_mut(self.oldest) {
            *slot = packet;
            self.oldest = (self.oldest + 1) % REMEMBERED;
        }
    }

    /// Whether `s` is a copy of a remembered packet. `reason` says that its sender may have had one
    /// to send the same again at once.
    pub(super) fn has(&self, s: &Segment, reason: bool) -> bool {
        let header = Header::of(s);
        let within = match (header.ip_id, header.timestamp) {
            (Some(_), _) => WITHIN_NS,
            (None, _) if reason => return false,
            (None, Some(_)) => WITHIN_NS,
            (None, None) => WITHIN_WITHOUT_IDENTITY_NS,
        };
        self.packets.iter().any(|(time, packet)| {
            *packet == header && (s.mark.time - *time).saturating_abs() <= within
        })
    }
}
