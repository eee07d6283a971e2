//! What TCP went through: per connection what was counted, and the stretches of time in which a
//! direction did not flow.

use crate::sqlnet::SqlNetSession;
use crate::{
    Close, ConnectionId, Direction, DirectionAccount, Endpoint, Line, Mark, PacketRef, Protocol,
    Stuck, Time, TimeClass, Transport,
};
use serde::{Deserialize, Serialize};

/// What held a direction up.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum EpisodeKind {
    /// Segments were sent again: from the first sending of the oldest one (or, where that was not
    /// seen, from when its absence showed) until it was acknowledged.
    Recovery,
    /// The receiver's window was closed.
    ZeroWindow,
    /// The window was full and did not move on with what was acknowledged, or not by half of it: it was
    /// closing.
    ClosingWindow,
    /// The window was full until an acknowledgement moved it on.
    SmallWindow,
    /// The same, while round trips took twice as long as the path does, or longer: what filled it waited before a line that was
    /// full, or for its reader, and in a larger one more would only have waited for longer.
    QueuedWindow,
    /// A small segment was held back (RFC 896) for a delayed acknowledgement (RFC 1122).
    NagleDelayedAck,
    /// Any other segment waited for a delayed acknowledgement.
    DelayedAck,
    /// Everything sent had been acknowledged, the window was open, and nothing left: TCP may always send then,
    /// so the sender's application, or what it waited for, held the next byte. From when the sender can have
    /// known until that byte. A full segment came before it, and a message's end is a short one: it lies within
    /// a message.
    SenderPause,
    /// The same behind a segment that may have ended a message: within one only where a protocol says so.
    SenderSilence,
    /// A segment that may be the first of a message came later than others of its direction, by its sender's own time stamps
    /// (RFC 7323): the path kept it. From when it would have come until it did, at least.
    Late,
    /// So did segments each of which had left before the one before it came: all of that time they were on the path.
    Kept,
    /// And they came one after another all along: they stood in a queue, before a line that was full.
    Queued,
    /// What was sent was acknowledged by data alone, and later than a host acknowledges by its timer as a rule: nothing was
    /// heard of it meanwhile.
    Unheard,
}

impl EpisodeKind {
    pub const COUNT: usize = 13;
    pub const ALL: [EpisodeKind; EpisodeKind::COUNT] = [
        EpisodeKind::Recovery,
        EpisodeKind::ZeroWindow,
        EpisodeKind::ClosingWindow,
        EpisodeKind::SmallWindow,
        EpisodeKind::QueuedWindow,
        EpisodeKind::NagleDelayedAck,
        EpisodeKind::DelayedAck,
        EpisodeKind::SenderPause,
        EpisodeKind::SenderSilence,
        EpisodeKind::Late,
        EpisodeKind::Kept,
        EpisodeKind::Queued,
        EpisodeKind::Unheard,
    ];

    /// Whether its sender's time stamps tell it, where its bytes come to: next to the sender there is nothing to tell.
    #[must_use]
    pub fn is_of_stamps(self) -> bool {
        matches!(
            self,
            EpisodeKind::Late | EpisodeKind::Kept | EpisodeKind::Queued
        )
    }

    /// What a wait of this kind is for: as the account of a connection has it.
    #[must_use]
    pub fn class(self) -> TimeClass {
        match self {
            EpisodeKind::Recovery => TimeClass::LossRecovery,
            EpisodeKind::ZeroWindow | EpisodeKind::ClosingWindow => TimeClass::ReceiverApplication,
            EpisodeKind::SmallWindow | EpisodeKind::QueuedWindow => TimeClass::SmallWindow,
            EpisodeKind::NagleDelayedAck | EpisodeKind::DelayedAck => TimeClass::NagleDelayedAck,
            EpisodeKind::SenderPause | EpisodeKind::SenderSilence => TimeClass::SenderApplication,
            EpisodeKind::Late | EpisodeKind::Kept => TimeClass::Transfer,
            EpisodeKind::Queued => TimeClass::Bandwidth,
            EpisodeKind::Unheard => TimeClass::Unknown,
        }
    }
}

/// A segment that was sent again.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Resent {
    /// The packet that brought its bytes first, if it was captured.
    pub original: Option<Mark>,
    pub again: Mark,
    /// The sequence number of its first byte, as it stands in the packet.
    pub sequence: u32,
    pub bytes: u32,
    /// Everything in it had been acknowledged before: it was not lost.
    pub needless: bool,
}

/// A stretch of time of one direction of a connection.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Episode {
    /// The order of the packet that ended it.
    pub order: u64,
    pub connection: ConnectionId,
    pub client: Endpoint,
    pub server: Endpoint,
    pub kind: EpisodeKind,
    /// The direction whose bytes waited.
    pub direction: Direction,
    /// Its first and last packets.
    pub first: Mark,
    pub last: Mark,
    /// When the receiver first acknowledged any of it.
    pub heard: Time,
    /// Segments sent again in it (0 for other kinds), and how often the retransmission timer ran
    /// out (a resend after at least 200 ms without progress).
    pub retransmissions: u32,
    pub timeouts: u32,
    /// Whether acknowledgements showed that the receiver had the bytes already: nothing was lost.
    pub spurious: bool,
    /// Whether acknowledgements were cut off before what they may have said of that (RFC 2883).
    pub duplicates_cut_off: bool,
    /// Bytes that the window offered while it was full (0 for other kinds).
    pub window: u64,
    /// The first of the segments sent again.
    pub resent: Vec<Resent>,
}

/// The three packets that open a connection, as far as they were seen. The last SYN and the last
/// SYN/ACK count, as only they belong together when some were sent again.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Handshake {
    pub syn: Option<Time>,
    pub syn_ack: Option<Time>,
    pub ack: Option<Time>,
    pub syn_retries: u32,
    pub syn_ack_retries: u32,
    /// A SYN/ACK had passed when the client first sent its SYN again.
    pub answered_before_retry: bool,
    /// How often the server answered the SYN with what belongs to an earlier connection between these ports, which it still holds
    /// (its challenge, RFC 5961 section 4.2), and how often the client reset that (RFC 9293 section 3.10.7.3).
    pub challenges: u32,
    pub challenge_resets: u32,
    /// The first SYN/ACK that passed echoes the timestamp of the first SYN, not of a later one: that one had arrived
    /// (RFC 7323 section 4.3), and what passed was not the first answer to it.
    pub echoes_first_syn: bool,
    /// Initial sequence numbers.
    pub client_isn: Option<u32>,
    pub server_isn: Option<u32>,
    /// Whether the client's and the server's SYN offered to scale windows (RFC 7323 section 2).
    pub scaling: [Option<bool>; 2],
}

/// The reset that ended a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ResetSeen {
    /// Which way it went: it claims to be from that direction's sender.
    pub direction: Direction,
    pub at: Mark,
    /// Its time to live lies outside what that direction's other packets had.
    pub odd_ttl: bool,
    /// Its IP identification is the next of that direction's, or one of the next: it is its host's own.
    pub counts_on: bool,
    /// It answers a SYN.
    pub refuses: bool,
    /// Its sender had ended its data before (FIN), or may have with bytes that never came by: a closed socket answers so to what
    /// still comes.
    pub after_fin: bool,
    /// When the other side first acknowledged that, if it had.
    pub end_heard: Option<Time>,
    /// The other side had ended its data, or may have with bytes that never came by: nobody waits to send more.
    pub after_peers_fin: bool,
    /// Nothing else was heard of its sender, nor how the connection opened: it may have had none.
    pub sender_unheard: bool,
}

/// What a sender lets go while acknowledgements come, as far as the capture stands next to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum Pace {
    /// Nothing tells, or it seldom waited for them.
    #[default]
    Unknown,
    /// More in each round trip: its congestion window begins small (RFC 5681 section 3.1).
    Grows,
    /// Never more than so many bytes, in many round trips, though the receiver had room: what its buffer holds.
    Kept(u32),
}

/// Counts of one direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct DirectionSummary {
    pub packets: u64,
    /// The last of them.
    pub last: Mark,
    /// When payload passed for the first time, and for the last time that had not been sent before; TCP only.
    pub first_data: Option<Time>,
    pub last_data: Option<Time>,
    /// When it said that it ends (FIN), and whether it had then acknowledged all that the other side had sent; TCP only.
    pub ended: Option<Time>,
    pub end_heard_all: bool,
    /// What its receiver had not acknowledged when the connection ended, or the capture did; TCP only.
    pub unacknowledged_bytes: u64,
    pub pace: Pace,
    /// Of a hundred round trips of what was acknowledged as it came, how many took much longer than the shortest; TCP only.
    pub queued_percent: Option<u8>,
    /// What was being sent in vain when it did; TCP only.
    pub stuck: Option<Stuck>,
    /// Payload bytes on the wire, retransmitted ones included, copies made by the capture not.
    pub payload_bytes: u64,
    pub retransmitted_packets: u64,
    pub retransmitted_bytes: u64,
    /// Bytes that this capture holds more than once because they were sent more than once.
    pub repeated_bytes: u64,
    /// Of those, bytes that their receiver said it lacked when this capture held them: where that is next to it, they arrived and
    /// it threw them away.
    pub lacked_bytes: u64,
    /// Bytes that their receiver says it got more than once (RFC 2883).
    pub received_twice_bytes: u64,
    /// Packets that the capture holds twice (a mirror port, or all interfaces of one host).
    pub duplicate_packets: u64,
    /// Those whose time to live was lower than before: a router lies between the two places. Packets
    /// that came again and again, lower each time, as those do that routers send in a circle.
    pub duplicates_routed: u64,
    pub looped_packets: u64,
    /// The first that was there twice, and its copy.
    pub first_duplicate: Option<[PacketRef; 2]>,
    pub out_of_order_packets: u64,
    /// Holes in the stream that the receiver acknowledged and nobody sent again: lost by the
    /// capture.
    pub missing_from_capture_gaps: u64,
    /// How many packets that will have been, by the size of this direction's largest.
    pub missing_from_capture_packets: u64,
    /// And how many segments on the wire, which are smaller where offloading joins them.
    pub missing_from_capture_segments: u64,
    pub missing_from_capture_bytes: u64,
    /// Of what this direction acknowledges, and so of the other one's data.
    pub duplicate_acks: u64,
    /// How often the window that this direction's packets advertise closed.
    pub zero_windows: u64,
    /// Segments below the maximum size that left within 200 µs after an acknowledgement of an earlier
    /// such segment, and those that left while one was unacknowledged. A sender with Nagle's
    /// algorithm does only the former, one without does both.
    pub small_released_by_ack: u64,
    pub small_while_unacknowledged: u64,
    /// Bare acknowledgements of everything sent that came late, by a timer: those that let the next
    /// segment go, and those that it did not wait for.
    pub late_acks_awaited: u64,
    pub late_acks_ignored: u64,
    /// Lowest time to live (hop limit) and the highest.
    pub ttl_min: u8,
    pub ttl_max: u8,
    /// Time from the last byte of data to the first acknowledgement that covers exactly it, sent
    /// once and acknowledged without data riding along: the path from the point of capture to the
    /// receiver and back. Nanoseconds; `None` without a sample.
    pub ack_rtt_min_ns: Option<i64>,
    pub ack_rtt_count: u64,
    pub ack_rtt_sum_ns: i64,
    /// Of those that did not wait for a timer, for all that their time tells: how many, and the longest.
    pub ack_prompt_count: u64,
    pub ack_prompt_max_ns: i64,
    /// The longest of those that no timer can have held back, as they acknowledged more than one full
    /// segment (RFC 5681 section 4.2), with nothing lost.
    pub ack_at_once_max_ns: i64,
    /// The longest round trip from the receiver of this direction's data to its sender and back that time stamps show
    /// (RFC 7323 section 4.1), of data that came all along; where timelines were asked for.
    pub echoed_max_ns: i64,
}

/// A connection as known when it ended (or the capture did).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ConnectionSummary {
    pub id: ConnectionId,
    pub transport: Transport,
    pub client: Endpoint,
    pub server: Endpoint,
    pub first: Mark,
    pub last: Mark,
    pub close: Close,
    pub handshake: Handshake,
    pub reset: Option<ResetSeen>,
    /// Indexed by [`Direction::index`].
    pub directions: [DirectionSummary; 2],
    /// What it waited for, where that was asked for; TCP only. Indexed like `directions`.
    pub accounts: Option<Box<[DirectionAccount; 2]>>,
    /// The line before which each direction's bytes queued, where timelines were asked for and there is one.
    pub lines: [Option<Box<Line>>; 2],
    /// Whether it was found out what it speaks: its calls then have accounts of their own, made of their times.
    pub is_known: bool,
    /// What its first call spoke.
    pub protocol: Option<Protocol>,
    /// What it speaks, of which nothing is told, as several requests that cannot be told apart are under way at a time.
    pub pipelined: Option<Protocol>,
    /// Whether its server came to send a log that nobody answers message by message, as replicas copy it: that is what its accounts are
    /// of.
    pub copies: bool,
    /// Requests of a known protocol that waited for an answer when the connection ended, and those of them that the server
    /// had received when it ended it.
    pub left_open: u32,
    pub unanswered: u32,
    /// Those that were sent when the server had ended it.
    pub late_requests: u32,
    /// What was agreed on for its packets, where that is SQL*Net.
    pub sqlnet: Option<SqlNetSession>,
}
