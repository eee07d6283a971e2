//! The seam between the driver and a protocol: a session looks at the unread bytes of a direction
//! and says what they are; the driver owns buffering, holes and the search for the next header.

use crate::output::Output;
use crate::shared::Shared;
use crate::sql::Opaque;
use model::sqlnet::SqlNetSession;
use model::{
    Close, ConnectionId, Direction, Endpoint, HeldSince, Mark, Problems, Reason, Time, Transport,
};
use serde::{Deserialize, Serialize};

/// What a session says of the bytes it was shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// At least this many bytes are needed in one piece; more than were shown, and at most
    /// [`HEAD_BYTES`](model::limits::HEAD_BYTES).
    Need(usize),
    /// This many bytes are done with, also beyond those shown; then look again.
    Pass(u64),
    /// This many bytes end the frame; then [`Session::complete`] is called.
    End(u64),
    /// These bytes are not a frame: look for the next header.
    Lost,
    /// What came in this packet and the hole that may follow are not a frame, and none is looked for in
    /// them: they are told by [`Session::skipped`] at once, and the next packet is looked at from its
    /// start. For protocols whose messages begin with a packet. Only said at the start of a frame.
    Skip,
    /// From here on neither direction can be read: it is encrypted or compressed. Only said at the
    /// start of a frame. The driver ends, and turns are followed instead, as
    /// [`Session::opaque`] names them.
    Opaque,
}

/// Whether bytes that were not shown may still follow those that were.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum More {
    /// More may come: ask with [`Step::Need`].
    Yes,
    /// A hole follows; these bytes are all there will be.
    No,
}

/// Bytes that came in one packet.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    pub length: u64,
    pub mark: Mark,
    /// TCP sequence number of the first.
    pub sequence: u32,
    pub held_since: Option<HeldSince>,
}

impl Run {
    /// What is left of it behind the first `n` bytes.
    #[must_use]
    pub fn after(self, n: u64) -> Run {
        Run {
            length: self.length.saturating_sub(n),
            sequence: self.sequence.wrapping_add(n as u32),
            ..self
        }
    }
}

/// How much of `from..until` TCP held what came at `until`, by
/// [`Chunk::held_since`](model::Chunk::held_since).
#[must_use]
pub fn held_ns(since: Option<HeldSince>, from: Time, until: Time) -> i64 {
    since.map_or(0, |s| (until - s.at.max(from)).max(0))
}

/// A frame that has passed: when and where its first and last bytes came.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    /// The packet of the first byte.
    pub first: Mark,
    /// The latest packet that brought any byte of it.
    pub last: Mark,
    /// TCP sequence number of the first byte.
    pub sequence: u32,
    pub bytes: u64,
    /// Whether the packets that held its end are missing from the capture, so that `last` is only
    /// the last packet seen of it.
    pub end_missing: bool,
    /// [`Chunk::held_since`](model::Chunk) of the first and of the last packet.
    pub first_held_since: Option<HeldSince>,
    pub last_held_since: Option<HeldSince>,
}

impl Span {
    /// Of nothing yet.
    pub const NOTHING: Span = {
        let mark = Mark {
            time: Time(0),
            packet: model::PacketRef { file: 0, frame: 0 },
        };
        Span {
            first: mark,
            last: mark,
            sequence: 0,
            bytes: 0,
            end_missing: false,
            first_held_since: None,
            last_held_since: None,
        }
    };

    /// Of these bytes.
    #[must_use]
    pub fn of(run: &Run) -> Span {
        Span {
            first: run.mark,
            last: run.mark,
            sequence: run.sequence,
            bytes: run.length,
            end_missing: false,
            first_held_since: run.held_since,
            last_held_since: run.held_since,
        }
    }

    /// Of a request, how long TCP held its last bytes back; behind others of its bytes it waits as long as the path takes to
    /// carry those.
    #[must_use]
    pub fn request_held_ns(&self) -> i64 {
        let troubled = self.last_held_since.and_then(|s| s.troubled);
        held_ns(
            troubled.map(HeldSince::troubled),
            self.first.time,
            self.last.time,
        )
    }

    /// Joins the next part of the same message.
    pub fn extend(&mut self, next: &Span) {
        self.bytes += next.bytes;
        self.end_missing = next.end_missing;
        if next.last.time >= self.last.time {
            self.last = next.last;
            self.last_held_since = next.last_held_since;
        }
    }
}

/// What a session knows about its connection, and where what it finds goes.
pub struct Context<'a> {
    pub connection: &'a ConnectionInfo,
    pub output: &'a mut Output,
    pub problems: &'a mut Problems,
    /// What all connections of this thread share.
    pub shared: &'a mut Shared,
    /// The order and time of the packet now being looked at.
    pub order: u64,
    pub now: Time,
}

/// The connection, as a protocol may see it.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionInfo {
    pub id: ConnectionId,
    pub transport: Transport,
    pub client: Endpoint,
    pub server: Endpoint,
    /// Whether client and server are certain (a handshake was seen).
    pub roles_known: bool,
}

impl ConnectionInfo {
    /// Who sends and who receives in a direction.
    #[must_use]
    pub fn ends(&self, direction: Direction) -> (Endpoint, Endpoint) {
        match direction {
            Direction::ToServer => (self.client, self.server),
            Direction::ToClient => (self.server, self.client),
        }
    }
}

/// One of something for each direction.
#[derive(Clone, Copy, Default, Debug, Serialize, Deserialize)]
pub struct Both<T> {
    pub to_server: T,
    pub to_client: T,
}

impl<T> Both<T> {
    #[must_use]
    pub fn of(&self, d: Direction) -> &T {
        match d {
            Direction::ToServer => &self.to_server,
            Direction::ToClient => &self.to_client,
        }
    }
    pub(crate) fn of_mut(&mut self, d: Direction) -> &mut T {
        match d {
            Direction::ToServer => &mut self.to_server,
            Direction::ToClient => &mut self.to_client,
        }
    }
}

/// Why bytes of a direction were not seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hole {
    /// Cut off by the snap length.
    Cut,
    /// Packets missing from the capture.
    Gap,
}

impl Hole {
    /// Why what was in it is not known.
    #[must_use]
    pub fn reason(self) -> Reason {
        match self {
            Hole::Cut => Reason::SnapLength,
            Hole::Gap => Reason::CaptureGap,
        }
    }
}

/// One connection of one protocol.
pub trait Session: Send {
    /// Looks at the unread bytes of one direction, at the start of a frame or where the last
    /// [`Step::Pass`] ended. With [`More::No`] it may not answer [`Step::Need`].
    fn step(&mut self, cx: &mut Context<'_>, d: Direction, bytes: &[u8], more: More) -> Step;

    /// The frame of which [`Session::step`] said the end has passed.
    fn complete(&mut self, cx: &mut Context<'_>, d: Direction, span: &Span);

    /// Position lost: where does a believable header start in these bytes? `at_start`: they begin a
    /// segment, where headers are likely. `wire` is how many bytes the packet had from the start of
    /// `bytes` on.
    fn resync(
        &mut self,
        cx: &mut Context<'_>,
        d: Direction,
        bytes: &[u8],
        at_start: bool,
        wire: u64,
    ) -> Option<usize>;

    /// The unfinished frame of this direction is abandoned, `span` of it had passed: position was
    /// lost, or the connection is over for the reason `close`.
    fn abandon(
        &mut self,
        cx: &mut Context<'_>,
        d: Direction,
        span: Option<Span>,
        close: Option<Close>,
    );

    /// Position lost or [`Step::Skip`] said: these bytes passed, and no header was found in them, or
    /// they were cut off by the snap length.
    fn skipped(&mut self, _cx: &mut Context<'_>, _d: Direction, _run: &Run) {}

    /// Headers may have been in a hole of this direction.
    fn hole(&mut self, d: Direction, hole: Hole, at: Time);

    /// One datagram of a connection over UDP.
    fn datagram(&mut self, cx: &mut Context<'_>, d: Direction, bytes: &[u8], span: Span);

    /// The client's packet that completed the TCP handshake came. Said before anything else, if ever.
    fn opened(&mut self, _at: Mark) {}

    /// Whose turns follow a [`Step::Opaque`].
    fn opaque(&self) -> Option<Opaque> {
        None
    }

    /// What was agreed on for its packets, where that is SQL*Net.
    fn agreed(&self) -> Option<SqlNetSession> {
        None
    }

    /// What it keeps for this connection, itself and what others keep in its name.
    fn kept(&self) -> Kept;

    /// The connection is over.
    fn close(&mut self, cx: &mut Context<'_>, why: Close);
}

/// What a session takes up.
#[derive(Clone, Copy, Default, Debug)]
pub struct Kept {
    pub bytes: usize,
    /// Things looked at to find that out.
    pub things: usize,
}

impl Kept {
    /// Of a value and of what a collection of it holds.
    #[must_use]
    pub fn of<T>(_value: &T) -> Kept {
        Kept {
            bytes: size_of::<T>(),
            things: 0,
        }
    }

    /// And so many things of this size each.
    #[must_use]
    pub fn and(self, things: usize, each_bytes: usize) -> Kept {
        Kept {
            bytes: self.bytes + things * each_bytes,
            things: self.things,
        }
    }

    /// And things of any size.
    #[must_use]
    pub fn and_each(self, bytes: impl Iterator<Item = usize>) -> Kept {
        bytes.fold(self, |kept, bytes| Kept {
            bytes: kept.bytes + bytes,
            things: kept.things + 1,
        })
    }
}
