//! The forms in which packets travel through this crate: a decoded segment, and what a connection
//! delivers.

use model::{
    Chunk, ConnectionId, ConnectionSummary, Direction, Endpoint, Episode, Interval, Mark, PerClass,
    Plot, Time, Transport,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// One TCP segment or UDP datagram, decoded. Its payload's captured bytes are
/// `payload_start..payload_start + payload_captured` of the batch's bytes.
#[derive(Clone, Copy, Debug)]
pub struct Segment {
    /// The packet that completed it (the only one, unless IP fragments were joined).
    pub mark: Mark,
    /// The earliest of its packets.
    pub first: Mark,
    pub order: u64,
    pub transport: Transport,
    pub source: Endpoint,
    pub destination: Endpoint,
    /// Hash of transport and both endpoints, the same for both directions.
    pub flow_hash: u64,
    /// Hash of what decides which thread owns it, the same for both directions: both addresses, and both ports where
    /// connections have nothing to do with each other.
    pub owner_hash: u64,
    pub payload_start: u32,
    pub payload_captured: u32,
    /// Payload bytes on the wire.
    pub payload_length: u32,
    /// IPv4 identification; `None` for IPv6, and for IPv4 where it is 0 with don't-fragment set.
    pub ip_id: Option<u16>,
    /// Time to live, or hop limit.
    pub ttl: u8,
    pub ecn: Ecn,
    /// All zero for UDP.
    pub tcp: Tcp,
}

/// TCP header fields (RFC 9293) and options.
#[derive(Clone, Copy, Default, Debug)]
pub struct Tcp {
    pub sequence: u32,
    pub acknowledgement: u32,
    pub flags: Flags,
    /// The flag before those: AE (RFC 9768), once NS (RFC 3540).
    pub accurate_ecn: bool,
    /// As in the header, not scaled.
    pub window: u16,
    pub mss: Option<u16>,
    pub window_scale: Option<u8>,
    pub sack_permitted: bool,
    /// RFC 7323 timestamps: value and echo reply.
    pub timestamps: Option<(u32, u32)>,
    /// RFC 2018 selective acknowledgements, `sack_count` of them: the first two, which may tell of
    /// bytes that came twice (RFC 2883).
    pub sack: [(u32, u32); 2],
    pub sack_count: u8,
    /// Bytes of options in the header, with padding, whether captured or not: so much less data fits.
    pub options_length: u8,
    /// Some of the options were not captured: those that were not read are unknown, not absent.
    pub options_cut: bool,
}

/// Bytes that time stamps take in each segment, with their padding (RFC 7323 appendix A).
pub(crate) const STAMPS: u8 = 12;

impl Tcp {
    /// Bytes of data that do not fit into this segment for its options (RFC 6691 section 2): selective
    /// acknowledgements make it shorter than others of its connection.
    pub(crate) fn options_take(&self) -> u32 {
        self.options_length.max(self.stamps_take()).into()
    }

    /// The same of what all segments of its connection have.
    pub(crate) fn stamps_take(&self) -> u8 {
        self.timestamps.map_or(0, |_| STAMPS)
    }

    /// And of what others of its connection may lack.
    pub(crate) fn others_take(&self) -> u32 {
        self.options_take() - u32::from(self.stamps_take())
    }
}

/// TCP flags: the header's low eight bits.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Flags(pub u8);

impl Flags {
    #[must_use]
    pub fn fin(self) -> bool {
        self.0 & 0x01 != 0
    }
    #[must_use]
    pub fn syn(self) -> bool {
        self.0 & 0x02 != 0
    }
    #[must_use]
    pub fn rst(self) -> bool {
        self.0 & 0x04 != 0
    }
    #[must_use]
    pub fn psh(self) -> bool {
        self.0 & 0x08 != 0
    }
    #[must_use]
    pub fn ack(self) -> bool {
        self.0 & 0x10 != 0
    }
    /// Congestion was experienced (RFC 3168 section 6.1).
    #[must_use]
    pub fn ece(self) -> bool {
        self.0 & 0x40 != 0
    }
    /// Either of them.
    pub(crate) fn is_about_congestion(self) -> bool {
        self.0 & 0xc0 != 0
    }
    /// The congestion window was reduced.
    #[must_use]
    pub fn cwr(self) -> bool {
        self.0 & 0x80 != 0
    }
}

/// Explicit congestion notification: the two bits of the IP header (RFC 3168 section 5).
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Ecn(pub u8);

impl Ecn {
    /// Whether a router may mark the packet instead of dropping it.
    pub(crate) fn is_capable(self) -> bool {
        self.0 & 0x03 != 0
    }
    /// Whether one did.
    pub(crate) fn experienced(self) -> bool {
        self.0 & 0x03 == 0x03
    }
}

/// What a connection is known by.
#[derive(Clone, Copy, Debug)]
pub struct Connection {
    pub id: ConnectionId,
    pub transport: Transport,
    /// Who sent the SYN; without one, who is taken to have (see `roles_known`).
    pub client: Endpoint,
    pub server: Endpoint,
    /// Whether a SYN or SYN/ACK was seen, so that client and server are certain.
    pub roles_known: bool,
}

/// What the state of a connection takes up.
#[derive(Clone, Copy, Default, Debug)]
pub struct Kept {
    pub bytes: usize,
    pub things: usize,
}

/// Takes what connections deliver. One handler serves all connections of a thread; `State` is what
/// it keeps per connection, and `Rest` what of that is packed while the connection is quiet.
pub trait Handler {
    type State;
    type Rest: Serialize + DeserializeOwned;

    fn open(&mut self, connection: &Connection) -> Self::State;

    /// The client's packet that completes the handshake of a TCP connection: before it, nobody can
    /// have sent anything.
    fn opened(&mut self, _c: &Connection, _s: &mut Self::State, _at: Mark, _order: u64) {}

    /// The next bytes of a TCP direction, in stream order, each byte once.
    fn data(&mut self, c: &Connection, s: &mut Self::State, d: Direction, chunk: &Chunk<'_>);

    /// The next `length` bytes of a TCP direction are not in the capture. `at` and `order` are of
    /// the packet that proved it.
    fn gap(
        &mut self,
        c: &Connection,
        s: &mut Self::State,
        d: Direction,
        length: u64,
        at: Mark,
        order: u64,
    );

    /// The server's identifications skip some before this packet: what had them never came past the capture, and if it had
    /// bytes, they came when they were sent again.
    fn skipped(&mut self, _c: &Connection, _at: Mark, _order: u64) {}

    /// One UDP datagram. `first` is the packet of its first fragment, `chunk.mark` that of its last.
    fn datagram(
        &mut self,
        c: &Connection,
        s: &mut Self::State,
        d: Direction,
        chunk: &Chunk<'_>,
        first: Mark,
    );

    /// A stretch of time in which a direction was held up has ended, perhaps some packets ago: a
    /// recovery waits a round trip for what shows it to have been spurious.
    fn episode(&mut self, c: &Connection, s: &mut Self::State, episode: Episode);

    /// What a connection did in an interval in which at least one packet of it was seen, where the
    /// tracker keeps that. Comes when a packet of another interval does, or when it is over; where the
    /// capture's clock steps back, an interval may come again, with what else was in it. `spent` is what
    /// each class of each direction's time had from the beginning until now.
    fn interval(
        &mut self,
        _c: &Connection,
        _s: &mut Self::State,
        _interval: Interval,
        _spent: &[PerClass<i64>; 2],
    ) {
    }

    /// A connection of which a picture was wanted is over; comes before `close`.
    fn plot(&mut self, _c: &Connection, _s: &mut Self::State, _plot: Plot) {}

    /// Whether the account of this connection's time is to say what it went to by when, where the tracker keeps that.
    /// Once it is not, that is dropped.
    fn wants_timeline(&self, _s: &Self::State) -> bool {
        true
    }

    /// Whether an account of this connection's time is wanted, where the tracker keeps accounts. Once
    /// it is not, the account is dropped.
    fn wants_account(&self, _s: &Self::State) -> bool {
        true
    }

    /// Whether an account is wanted after all of what the connection waits for from here on.
    fn begins_account(&self, _s: &Self::State) -> bool {
        false
    }

    /// Bytes of memory that the state takes up beside itself, and what a walk over that costs, in things looked
    /// at. Both follow from what came for the connection alone.
    fn kept(&self, _s: &Self::State) -> Kept {
        Kept::default()
    }

    /// A segment of the connection comes soon: asks the processor for what [`data`](Handler::data) will look at, `near`
    /// the second time, when what the first asked for is there.
    fn prefetch(&self, _s: &Self::State, _near: bool) {}

    /// The connection is quiet while many others are open: takes out of the state what is to be packed
    /// with all else that is known of it.
    fn rest(&mut self, s: &mut Self::State) -> Self::Rest;

    /// Puts that back, before anything else comes for the connection.
    fn wake(&mut self, _s: &mut Self::State, _rest: Self::Rest) {}

    /// The connection is over; nothing more comes for it. `order` and `now` are of the packet at
    /// which that was decided.
    fn close(
        &mut self,
        c: &Connection,
        s: Self::State,
        summary: ConnectionSummary,
        order: u64,
        now: Time,
    );
}
