//! What an enhanced packet block says beside its packet: the interface, flags, and comments that somebody
//! made. Read only where packets are written again, from the block's bytes, which stand around the
//! packet's own in the batch.

use super::ENHANCED_PACKET;
use super::fields::{ByteOrder, PACKET_OFFSET};
use pcap_parser::PcapError;
use pcap_parser::pcapng::{parse_option_be, parse_option_le};

/// What stands beside a packet in its file.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Beside {
    /// The number of its interface in its section.
    pub interface: u32,
    /// `epb_flags`: direction and the like.
    pub flags: Option<u32>,
    pub comments: Vec<String>,
}

/// The block of the packet whose `captured` bytes begin at `start`, if it is one with options.
pub(crate) fn block_of(bytes: &[u8], start: usize, captured: usize) -> Option<(ByteOrder, &[u8])> {
    let from = start.checked_sub(PACKET_OFFSET)?;
    let head = bytes.get(from..)?.first_chunk::<8>()?;
    let [t0, t1, t2, t3, l0, l1, l2, l3] = *head;
    let order = [ByteOrder::Little, ByteOrder::Big];
    let order = order
        .into_iter()
        .find(|order| order.word([t0, t1, t2, t3]) == ENHANCED_PACKET)?;
    let length = order.word([l0, l1, l2, l3]) as usize;
    // Of a simple packet block, what looks like one stands there by chance.
    let holds = length >= PACKET_OFFSET + captured + 4;
    let block = bytes.get(from..from.checked_add(length)?)?;
    holds.then_some((order, block))
}

impl Beside {
    /// Of the packet whose `captured` bytes begin at `start`, in a pcapng file.
    pub(crate) fn of(bytes: &[u8], start: usize, captured: usize) -> Beside {
        let mut beside = Beside::default();
        let Some((order, block)) = block_of(bytes, start, captured) else {
            return beside;
        };
        if let Some(id) = block.get(8..).and_then(|b| b.first_chunk::<4>()) {
            beside.interface = order.word(*id);
        }
        let behind = PACKET_OFFSET + captured.next_multiple_of(4);
        let end = block.len().saturating_sub(4);
        let mut rest = block.get(behind..end).unwrap_or_default();
        while !rest.is_empty() {
            let parsed = match order {
                ByteOrder::Little => parse_option_le::<PcapError<&[u8]>>(rest),
                ByteOrder::Big => parse_option_be(rest),
            };
            let Ok((after, option)) = parsed else {
                break;
            };
            let value = option.as_bytes().unwrap_or_default();
            match option.code.0 {
                0 => break,
                1 => beside
                    .comments
                    .push(String::from_utf8_lossy(value).into_owned()),
                2 => beside.flags = value.first_chunk::<4>().map(|b| order.word(*b)),
                _ => {}
            }
            rest = after;
        }
        beside
    }
}
