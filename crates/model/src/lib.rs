//! The shared vocabulary: what every crate of slowside means by time, endpoint, packet, connection,
//! call and problem. Plain data, no I/O, no behaviour beyond arithmetic and naming.
//!
//! Data flows one way: `capture` makes [`Batch`]es of packets, `net` turns them into connections and
//! [`Chunk`]s, `protocol` turns chunks into [`Call`]s, `analysis` turns calls into findings.

mod account;
mod call;
mod chunk;
mod count;
mod detail;
mod endpoint;
mod episode;
mod file_name;
mod gap;
mod habits;
mod knock;
pub mod limits;
mod name;
mod notice;
mod packet;
mod plot;
mod problem;
mod queue;
mod series;
mod sight;
pub mod sql;
pub mod sqlnet;
mod time;
mod timeline;
pub mod word;

pub use account::{DirectionAccount, PerClass, RoundTrips, Stuck, TimeClass, Vanished, Wait};
pub use call::{
    Call, Change, Code, HiddenResponse, InnerTrips, Mark, Outcome, Outstanding, Protocol, Reason,
};
pub use chunk::{Chunk, Close, Direction, HeldSince};
pub use count::{counted, grouped};
pub use detail::{Detail, Field, FieldKind};
pub use endpoint::{ConnectionId, Endpoint, Transport};
pub use episode::{
    ConnectionSummary, DirectionSummary, Episode, EpisodeKind, Handshake, Pace, Resent, ResetSeen,
};
pub use file_name::{Directory, FileName, Naming};
pub use gap::{Gap, Lacks};
pub use habits::{Answered, CongestionWindow, EcnCounts, Pauses, Retransmissions, SegmentSizes};
pub use knock::{Arp, Knock, KnockKind};
pub use name::Name;
pub use notice::{
    ArpFault, Bpdu, Bridge, ChecksumOf, Checksums, Flooded, Fragments, IcmpError, IcmpReason,
    InvalidArp, LostFragments, Notice, NoticeKind, SHOWN_CHECKSUMS, Tagged, Tree,
};
pub use packet::{Batch, LinkType, Packet, PacketRef};
pub use plot::{
    DirectionPlot, Plot, PlotAck, PlotBand, PlotFlight, PlotInterval, PlotRequest, PlotRoundTrip,
    PlotSegment, PlotStretch, PlotThroughput, Points, SegmentKind,
};
pub use problem::{HEADERS_CUT, Problem, Problems, Where};
pub use queue::{Line, Queue};
pub use series::{Interval, IntervalCounts};
pub use sight::{Cast, Sight, SightKind};
pub use sql::{Found, Hidden, Purpose, Sql, SqlSession, Statement};
pub use time::{Time, format_duration};
pub use timeline::Timeline;
