//! A segment's size, against what its connection may carry.

use crate::Segment;

/// How a segment stands to the largest that its connection may carry.
#[derive(Clone, Copy, Debug)]
pub(super) struct Size {
    pub is_small: bool,
    /// Whether all segments so far may have been small, where nothing says how large they can be.
    pub may_be_small: bool,
    /// Whether its last byte fills a segment; of one that was joined from several that shows where their size is
    /// known.
    pub ends_full: bool,
    /// Whether that largest is known, and not just the largest so far.
    pub is_known: bool,
}

/// What every host accepts, at least (RFC 9293 section 3.7.1).
pub(super) const EVERY_HOST_ACCEPTS: u32 = 536;
/// What a segment carries on Ethernet (RFC 6691 section 2): larger ones were joined from several.
pub(super) const ETHERNET: u32 = 1_460;

impl Size {
    /// A segment is small below what both sides' options allow, less its own options, or below the largest
    /// segment seen, but at least what every host must accept.
    pub(super) fn of(s: &Segment, mss: Option<u16>, largest: u32) -> Size {
        let bytes = s.payload_length;
        let options = s.tcp.options_take();
        let Some(mss) = mss else {
            let is_small = bytes + s.tcp.others_take() < largest.max(EVERY_HOST_ACCEPTS);
            return Size {
                is_small,
                may_be_small: largest <= ETHERNET,
                ends_full: !is_small,
                is_known: false,
            };
        };
        let most = u32::from(mss).saturating_sub(options).max(1);
        Size {
            is_small: bytes < most,
            may_be_small: false,
            ends_full: bytes >= most && bytes.is_multiple_of(most),
            is_known: true,
        }
    }
}
