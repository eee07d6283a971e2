//! What every layer is read through: its captured bytes, its length on the wire, and its place.
//!
//! A capture with a snap length holds less than was sent, and Ethernet pads to more, so a layer's
//! length never comes from the number of bytes at hand: it starts as the frame's length on the wire
//! and is replaced by whatever the headers inside say. The captured bytes only shrink.

/// Why nothing more is read from a packet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Skip {
    /// ARP, LLDP, spanning tree: nothing an IP host's application sent.
    NotIp,
    /// ARP for IPv4 over Ethernet; boxed like problems.
    Arp(Box<[u8; super::link::ARP_BYTES]>),
    /// ICMP, ESP, routing protocols: with the IP protocol's number.
    NotTcpOrUdp(u8),
    /// Boxed, as it is rare and every layer's result would be as large.
    Problem(Box<Note>),
}

/// Something odd about a packet: which field, what it said, and where it stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Note {
    pub(super) kind: &'static str,
    pub(super) what: &'static str,
    pub(super) value: u32,
    /// Offset in the batch's bytes of the header in question.
    pub(super) start: u32,
}

/// One layer of a packet: header and payload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct View<'a> {
    /// The captured bytes; never more than `wire`.
    pub(super) data: &'a [u8],
    /// How many there were on the wire.
    pub(super) wire: u32,
    /// Where `data` stands in the batch's bytes.
    pub(super) start: u32,
}

impl<'a> View<'a> {
    /// The first `N` bytes, and what follows them. `name` is for the problem when they are not there.
    #[inline]
    pub(super) fn header<const N: usize>(
        self,
        name: &'static str,
    ) -> Result<(&'a [u8; N], View<'a>), Skip> {
        match self.data.split_first_chunk::<N>() {
            Some((header, rest)) => Ok((
                header,
                View {
                    data: rest,
                    wire: self.wire - N as u32,
                    start: self.start.saturating_add(N as u32),
                },
            )),
            None => Err(self.short(name, N as u32)),
        }
    }

    /// The problem of a header of `length` bytes that is not there: cut by the snap length, or sent
    /// too short.
    #[cold]
    pub(super) fn short(self, name: &'static str, length: u32) -> Skip {
        let captured = self.data.len() as u32;
        if self.wire < length {
            self.problem("bogus-header", name, self.wire)
        } else {
            self.problem("header-cut", name, captured)
        }
    }

    #[cold]
    pub(super) fn note(self, kind: &'static str, what: &'static str, value: u32) -> Note {
        Note {
            kind,
            what,
            value,
            start: self.start,
        }
    }

    #[cold]
    pub(super) fn problem(self, kind: &'static str, what: &'static str, value: u32) -> Skip {
        Skip::Problem(Box::new(self.note(kind, what, value)))
    }

    /// What follows the first `length` bytes; nothing where there are fewer.
    #[inline]
    pub(super) fn skip(self, length: u32) -> View<'a> {
        let captured = (length as usize).min(self.data.len());
        View {
            data: self.data.get(captured..).unwrap_or_default(),
            wire: self.wire.saturating_sub(length),
            start: self.start.saturating_add(captured as u32),
        }
    }

    /// The same layer, with the length that a header gave it. More than there was is believed too:
    /// mirrors and packet slicers shorten frames without saying so.
    #[inline]
    pub(super) fn with_length(self, length: u32) -> View<'a> {
        View {
            data: self.data.get(..length as usize).unwrap_or(self.data),
            wire: length,
            start: self.start,
        }
    }

    #[inline]
    pub(super) fn u8_at(self, at: usize) -> Option<u8> {
        self.data.get(at).copied()
    }

    #[inline]
    pub(super) fn u16_at(self, at: usize) -> Option<u16> {
        let bytes = self.data.get(at..)?.first_chunk()?;
        Some(u16::from_be_bytes(*bytes))
    }
}

impl Note {
    /// In words, with the offset relative to the packet's first byte.
    pub(super) fn text(&self, packet_start: u32) -> String {
        let Note { what, value, .. } = self;
        let at = self.start.saturating_sub(packet_start);
        match self.kind {
            "header-cut" => format!("{what} at byte {at} of the packet: {value} bytes captured"),
            _ => format!("{what} {value}, at byte {at} of the packet"),
        }
    }
}
