//! Fields of pcapng blocks in the byte order of their section: the packet blocks, and options that
//! are integers.

use pcap_parser::PcapError;
use pcap_parser::pcapng::{PcapNGOption, parse_option_be, parse_option_le};

/// Bytes of an enhanced or obsolete packet block before the packet.
pub(crate) const PACKET_OFFSET: usize = 28;

#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) enum ByteOrder {
    #[default]
    Little,
    Big,
}

impl ByteOrder {
    /// Of the section that begins with this block.
    pub(super) fn of(section_header: &[u8]) -> Option<ByteOrder> {
        match section_header.get(8..)?.first_chunk::<4>()? {
            [0x4d, 0x3c, 0x2b, 0x1a] => Some(ByteOrder::Little),
            [0x1a, 0x2b, 0x3c, 0x4d] => Some(ByteOrder::Big),
            _ => None,
        }
    }

    pub(super) fn half(self, bytes: [u8; 2]) -> u16 {
        match self {
            ByteOrder::Little => u16::from_le_bytes(bytes),
            ByteOrder::Big => u16::from_be_bytes(bytes),
        }
    }

    pub(super) fn word(self, bytes: [u8; 4]) -> u32 {
        match self {
            ByteOrder::Little => u32::from_le_bytes(bytes),
            ByteOrder::Big => u32::from_be_bytes(bytes),
        }
    }

    /// The 64-bit integer option `code`.
    pub(super) fn integer(self, options: &[PcapNGOption<'_>], code: u16) -> Option<u64> {
        let option = options.iter().find(|o| o.code.0 == code)?;
        let bytes = *option.as_bytes().ok()?.first_chunk::<8>()?;
        Some(match self {
            ByteOrder::Little => u64::from_le_bytes(bytes),
            ByteOrder::Big => u64::from_be_bytes(bytes),
        })
    }
}

/// What a packet block says of its packet, which stands at [`PACKET_OFFSET`].
pub(super) struct PacketFields {
    pub(super) interface: u32,
    pub(super) ticks: u64,
    pub(super) captured: u32,
    pub(super) length: u32,
    /// Packets lost just before it, where the block says.
    pub(super) drops: Option<u64>,
}

impl PacketFields {
    /// Of an enhanced packet block; `None` when the packet does not fit in it.
    #[inline(always)]
    pub(super) fn enhanced(block: &[u8], order: ByteOrder) -> Option<PacketFields> {
        let (id, mut fields, behind) = PacketFields::common(block, order)?;
        fields.interface = order.word(id);
        // Less than four bytes are the packet's padding.
        if behind.len() > 3 {
            fields.drops = drop_count(behind, fields.captured, order);
        }
        Some(fields)
    }

    /// Of the packet block of the first drafts (type 2), in which interface and drop count share a
    /// word.
    pub(super) fn obsolete(block: &[u8], order: ByteOrder) -> Option<PacketFields> {
        let ([i0, i1, d0, d1], mut fields, _) = PacketFields::common(block, order)?;
        fields.interface = u32::from(order.half([i0, i1]));
        // All ones: not known.
        fields.drops = Some(order.half([d0, d1]))
            .filter(|&n| n != u16::MAX)
            .map(u64::from);
        Some(fields)
    }

    /// The first word, the fields that both have, and what stands behind the packet.
    #[inline(always)]
    fn common(block: &[u8], order: ByteOrder) -> Option<([u8; 4], PacketFields, &[u8])> {
        let (words, _) = block.get(8..PACKET_OFFSET)?.as_chunks::<4>();
        let &[first, high, low, captured, length] = words.first_chunk::<5>()?;
        let captured = order.word(captured);
        let (body, _closing_length) = block.get(PACKET_OFFSET..)?.split_last_chunk::<4>()?;
        let behind = body.get(captured as usize..)?;
        let fields = PacketFields {
            interface: 0,
            ticks: u64::from(order.word(high)) << 32 | u64::from(order.word(low)),
            captured,
            length: order.word(length),
            drops: None,
        };
        Some((first, fields, behind))
    }
}

/// `epb_dropcount`: packets lost between this one and the one before.
fn drop_count(behind: &[u8], captured: u32, order: ByteOrder) -> Option<u64> {
    let padding = (captured.wrapping_neg() % 4) as usize;
    let mut bytes = behind.get(padding..)?;
    while !bytes.is_empty() {
        let (rest, option) = match order {
            ByteOrder::Little => parse_option_le::<PcapError<&[u8]>>(bytes),
            ByteOrder::Big => parse_option_be(bytes),
        }
        .ok()?;
        if option.code.0 == 4 {
            return order.integer(&[option], 4);
        }
        bytes = rest;
    }
    None
}
