//! Between connections and protocols: hands what the tracker delivers to each connection's
//! conversation, and keeps what comes out.

mod records;
mod wanted;

pub(crate) use records::{
    END, Number, Records, call_key, connection_key, episode_key, file_name_key, gap_key,
    outstanding_key,
};
pub(crate) use wanted::Wanted;

use crate::firsts::{Firsts, ThreadProblems};
use crate::run::CallTally;
use analysis::live::Stretch;
use model::{
    Change, Chunk, Close, ConnectionSummary, Direction, Episode, Gap, Interval, Knock, KnockKind,
    Lacks, Mark, Outstanding, PacketRef, PerClass, Problems, Protocol, Time, TimeClass, Transport,
    Where,
};
use net::{Connection, Handler, Segment};
use protocol::tls::Handshakes;
use protocol::{ConnectionInfo, Context, Conversation, Output, Shared};

/// Serves the connections of one thread.
#[derive(Default)]
pub(crate) struct Link {
    shared: Shared,
    output: Output,
    /// Where calls are counted and not kept.
    tally: Option<CallTally>,
    /// Whether all connections have an account, whatever they speak.
    accounts: bool,
    /// Whether those have one that come to copy a log.
    copies: bool,
    /// Whether these say what time went to by when, whatever they speak.
    timelines: bool,
    episodes: Vec<Episode>,
    connections: Vec<(u64, ConnectionSummary)>,
    gaps: Vec<Gap>,
    intervals: Vec<Interval>,
    /// Where they are wanted.
    knocks: Option<Vec<Knock>>,
    stretches: Option<Vec<Stretch>>,
    handshakes: bool,
    problems: Problems,
    firsts: Firsts,
    /// The packet being looked at; none where connections end because time has passed.
    at: Option<PacketRef>,
    /// Up to when packets have been looked at, of whatever connection.
    reached: Time,
}

/// One connection: how the protocol sees it, and what it speaks.
pub(crate) struct OpenConnection {
    conversation: Conversation,
    /// Where they are wanted.
    handshakes: Option<Handshakes>,
    /// When the server last sent anything, and when it was last told that it does.
    sent: Time,
    spoke: Time,
    /// It was opened, and nobody has said anything yet.
    is_silent: bool,
    /// Of its first call.
    protocol: Option<Protocol>,
    /// Its server sends a log that nobody answers message by message.
    copies: bool,
    /// What its time had gone to when that was last told, where stretches are.
    spent: Option<Box<[PerClass<i64>; 2]>>,
}

/// How often it is told that the server sends: silences that matter are several times longer, and more
/// often would cost more than the calls.
const SPOKE_NS: i64 = 10_000_000;

/// Connections that are closed at once, from which on room for more is made little by little.
const MANY_CLOSED: usize = 1_024;

/// Ports of UDP where names are asked for.
const LOOKUPS: [u16; 4] = [53, 137, 5353, 5355];

impl Link {
    pub(crate) fn new(wanted: Wanted) -> Link {
        let mut link = Link::default();
        link.output.wanted = match wanted {
            Wanted::Grouped
            | Wanted::Calls
            | Wanted::Named
            | Wanted::Sessions
            | Wanted::SqlNet
            | Wanted::Startup
            | Wanted::Packets
            | Wanted::Worth => protocol::Wanted::Calls,
            Wanted::Accounts => protocol::Wanted::Counts,
            Wanted::Everything
            | Wanted::Reported
            | Wanted::Measured(_)
            | Wanted::Series(_)
            | Wanted::Live(_) => protocol::Wanted::Everything,
        };
        let counts = matches!(wanted, Wanted::Accounts | Wanted::Series(_));
        link.tally = counts.then(CallTally::default);
        let knocks = wanted == Wanted::Startup || wanted.is_of_everything();
        link.knocks = knocks.then(Vec::new);
        link.handshakes = wanted == Wanted::Startup;
        link.output.names = wanted == Wanted::Startup;
        let named = wanted == Wanted::Named || wanted.is_of_everything();
        link.output.file_names = named.then(Vec::new);
        link.output.packets = (wanted == Wanted::SqlNet).then(Vec::new);
        link.accounts = counts
            || matches!(
                wanted,
                Wanted::Reported | Wanted::Measured(_) | Wanted::Live(_)
            );
        link.copies = wanted.is_of_everything();
        link.timelines = matches!(wanted, Wanted::Measured(_));
        link.stretches = matches!(wanted, Wanted::Live(_)).then(Vec::new);
        link
    }

    /// Moves out what was completed since the last time; from `order` on, it was decided behind the
    /// packets.
    pub(crate) fn take(&mut self, order: u64, into: &mut Records) {
        into.clear();
        self.count();
        if let Some(tally) = &mut self.tally {
            std::mem::swap(&mut into.tally, tally);
        }
        std::mem::swap(&mut into.calls, &mut self.output.calls);
        std::mem::swap(&mut into.outstanding, &mut self.output.outstanding);
        if let Some(names) = &mut self.output.file_names {
            std::mem::swap(&mut into.file_names, names);
        }
        if let Some(packets) = &mut self.output.packets {
            std::mem::swap(&mut into.packets, packets);
        }
        std::mem::swap(&mut into.episodes, &mut self.episodes);
        std::mem::swap(&mut into.connections, &mut self.connections);
        std::mem::swap(&mut into.gaps, &mut self.gaps);
        std::mem::swap(&mut into.intervals, &mut self.intervals);
        if let Some(knocks) = &mut self.knocks {
            std::mem::swap(&mut into.knocks, knocks);
        }
        if let Some(stretches) = &mut self.stretches {
            std::mem::swap(&mut into.stretches, stretches);
        }
        into.sort_from(order);
    }

    /// A segment that opens or refuses a connection, before it is tracked.
    pub(crate) fn knock(&mut self, s: &Segment) {
        let (Some(knocks), Transport::Tcp) = (&mut self.knocks, s.transport) else {
            return;
        };
        let flags = s.tcp.flags;
        let kind = match (flags.rst(), flags.syn(), flags.ack()) {
            (true, ..) => KnockKind::Reset,
            (_, true, false) => KnockKind::Syn,
            (_, true, true) => KnockKind::SynAck,
            _ => return,
        };
        knocks.push(Knock {
            order: s.order,
            at: s.mark,
            source: s.source,
            destination: s.destination,
            kind,
            id: 0,
        });
    }

    /// Counts the calls that nobody looks at, so that they go to no other thread.
    fn count(&mut self) {
        if let Some(tally) = &mut self.tally {
            self.output.calls.iter().for_each(|call| tally.add(call));
            self.output.calls.clear();
            tally.complete(std::mem::take(&mut self.output.complete));
        }
    }

    /// What follows comes of this packet.
    pub(crate) fn look_at(&mut self, packet: Option<PacketRef>) {
        self.at = packet;
    }

    /// All packets up to `now` have been looked at, whose connection they are of or not.
    pub(crate) fn reach(&mut self, now: Time) {
        self.reached = now;
    }

    /// The capture is over and every connection closed: moves out the last of what was completed.
    pub(crate) fn finish(&mut self, into: &mut Records) {
        self.shared.finish(&mut self.output, END);
        // Connections were closed one after another, and what each still held comes with the order of
        // its own last packet: all of it is to be put in order.
        self.take(0, into);
    }

    /// What was wrong with what connections said.
    pub(crate) fn told(&self) -> ThreadProblems {
        ThreadProblems::new(&self.problems, &self.firsts)
    }

    /// Moves out the connections that the end of the capture has closed so far, and the number of calls
    /// where they are only counted. For those who [take parts](Wanted::takes_parts): they look at nothing
    /// else of this but calls.
    pub(crate) fn take_closed(&mut self, into: &mut Records) {
        into.clear();
        self.episodes.clear();
        self.gaps.clear();
        self.count();
        if let Some(tally) = &mut self.tally {
            std::mem::swap(&mut into.tally, tally);
        }
        std::mem::swap(&mut into.connections, &mut self.connections);
    }

    /// What changes on a connection, but for its calls.
    fn lacks(&mut self, c: &Connection, lacks: Lacks, at: Mark, order: u64) {
        self.gaps.push(Gap {
            order,
            at,
            connection: c.id,
            lacks,
        });
    }

    fn change(&mut self, c: &Connection, order: u64, time: Time, change: Change) {
        self.output.change(|| Outstanding {
            order,
            time,
            connection: c.id,
            client: c.client,
            server: c.server,
            id: 0,
            change,
        });
    }

    /// The server sends again, after `last`. A silence lasts from then until this left, or until its TCP would have held it.
    fn spoke(&mut self, c: &Connection, s: &mut OpenConnection, chunk: &Chunk<'_>, last: Time) {
        let now = chunk.mark.time;
        let mut tell = |time, change| self.change(c, chunk.order, time, change);
        if last > s.spoke && now - last >= SPOKE_NS {
            tell(last, Change::Spoke);
        }
        match chunk.held_since {
            Some(held) => {
                if held.at - last >= SPOKE_NS {
                    tell(held.at, Change::Spoke);
                }
                tell(now, Change::Released);
            }
            None => tell(now, Change::Spoke),
        }
        s.spoke = now;
    }

    fn with<R>(
        &mut self,
        c: &Connection,
        order: u64,
        now: Time,
        f: impl FnOnce(&mut Context<'_>) -> R,
    ) -> R {
        let info = ConnectionInfo {
            id: c.id,
            transport: c.transport,
            client: c.client,
            server: c.server,
            roles_known: c.roles_known,
        };
        let answer = f(&mut Context {
            connection: &info,
            output: &mut self.output,
            problems: &mut self.problems,
            shared: &mut self.shared,
            order,
            now,
        });
        self.firsts.look(&self.problems, (order, info.id), self.at);
        answer
    }
}

impl Handler for Link {
    type State = OpenConnection;
    type Rest = protocol::Rest;

    fn open(&mut self, _c: &Connection) -> OpenConnection {
        OpenConnection {
            conversation: Conversation::default(),
            handshakes: self.handshakes.then(Handshakes::default),
            sent: Time::MIN,
            spoke: Time::MIN,
            is_silent: false,
            protocol: None,
            copies: false,
            spent: None,
        }
    }

    fn prefetch(&self, s: &OpenConnection, near: bool) {
        s.conversation.prefetch(near);
    }

    fn opened(&mut self, c: &Connection, s: &mut OpenConnection, at: Mark, order: u64) {
        s.conversation.opened(at);
        s.is_silent = true;
        self.change(c, order, at.time, Change::Opened);
    }

    fn data(&mut self, c: &Connection, s: &mut OpenConnection, d: Direction, chunk: &Chunk<'_>) {
        if d == Direction::ToClient {
            let last = s.sent;
            s.sent = last.max(chunk.mark.time);
            if chunk.mark.time - s.spoke >= SPOKE_NS {
                self.spoke(c, s, chunk, last);
            }
        }
        if std::mem::take(&mut s.is_silent) {
            let change = match d {
                Direction::ToClient => Change::Greeted,
                Direction::ToServer => Change::Ungreeted,
            };
            self.change(c, chunk.order, chunk.mark.time, change);
        }
        if let Some(handshakes) = &mut s.handshakes {
            let between = (c.id, c.client, c.server);
            let told = handshakes.data(between, d, chunk);
            self.output.calls.extend(told);
        }
        let conversation = &mut s.conversation;
        if s.protocol.is_some() {
            self.with(c, chunk.order, chunk.now, |cx| {
                conversation.data(cx, d, chunk)
            });
            if self.output.copies {
                s.copies = std::mem::take(&mut self.output.copies);
            }
            return;
        }
        // Its first call says what it speaks.
        let calls = self.output.calls.len();
        let wanted = self.output.wanted;
        if wanted == protocol::Wanted::Counts {
            self.output.wanted = protocol::Wanted::Calls;
        }
        self.with(c, chunk.order, chunk.now, |cx| {
            conversation.data(cx, d, chunk)
        });
        self.output.wanted = wanted;
        s.copies |= std::mem::take(&mut self.output.copies);
        s.protocol = self.output.calls.get(calls).map(|c| c.protocol);
    }

    fn gap(
        &mut self,
        c: &Connection,
        s: &mut OpenConnection,
        d: Direction,
        length: u64,
        at: Mark,
        order: u64,
    ) {
        self.lacks(c, Lacks::Bytes(d), at, order);
        self.with(c, order, at.time, |cx| s.conversation.gap(cx, d, length));
    }

    fn datagram(
        &mut self,
        c: &Connection,
        s: &mut OpenConnection,
        d: Direction,
        chunk: &Chunk<'_>,
        first: Mark,
    ) {
        self.with(c, chunk.order, chunk.now, |cx| {
            s.conversation.datagram(cx, d, chunk, first)
        });
        let (source, destination) = match d {
            Direction::ToServer => (c.client, c.server),
            Direction::ToClient => (c.server, c.client),
        };
        let kind = match s.conversation.is_known() {
            false => KnockKind::Datagram,
            true if LOOKUPS
                .iter()
                .any(|p| [source.port, destination.port].contains(p)) =>
            {
                KnockKind::Lookup
            }
            true => return,
        };
        if let Some(knocks) = &mut self.knocks {
            let id = chunk.data.first_chunk().map(|id| u16::from_be_bytes(*id));
            knocks.push(Knock {
                order: chunk.order,
                at: chunk.mark,
                source,
                destination,
                kind,
                id: id.unwrap_or_default(),
            });
        }
    }

    /// In a diagnosis calls of a known protocol have an account of their own, made of their times: that of
    /// the connection would cost a seventh of the run and say little new.
    fn wants_account(&self, s: &OpenConnection) -> bool {
        self.accounts || s.copies || !s.conversation.is_known()
    }

    fn begins_account(&self, s: &OpenConnection) -> bool {
        s.copies && self.copies
    }

    fn wants_timeline(&self, s: &OpenConnection) -> bool {
        self.timelines || s.copies || !s.conversation.is_known()
    }

    fn kept(&self, s: &OpenConnection) -> net::Kept {
        let protocol::Kept { bytes, things } = s.conversation.kept();
        net::Kept { bytes, things }
    }

    fn rest(&mut self, s: &mut OpenConnection) -> protocol::Rest {
        s.conversation.rest()
    }

    fn wake(&mut self, s: &mut OpenConnection, rest: protocol::Rest) {
        s.conversation.wake(rest);
    }

    fn interval(
        &mut self,
        c: &Connection,
        s: &mut OpenConnection,
        interval: Interval,
        spent: &[PerClass<i64>; 2],
    ) {
        let Some(stretches) = &mut self.stretches else {
            self.intervals.push(interval);
            return;
        };
        let before = s.spent.get_or_insert_default();
        let mut since = *spent;
        for (since, before) in since.iter_mut().zip(before.iter()) {
            for class in TimeClass::ALL {
                since[class] -= before[class];
            }
        }
        **before = *spent;
        stretches.push(Stretch {
            client: c.client,
            server: c.server,
            protocol: s.protocol,
            interval,
            spent: since,
        });
    }

    fn skipped(&mut self, c: &Connection, at: Mark, order: u64) {
        self.lacks(c, Lacks::Packets, at, order);
    }

    fn episode(&mut self, _c: &Connection, _s: &mut OpenConnection, episode: Episode) {
        self.episodes.push(episode);
    }

    fn close(
        &mut self,
        c: &Connection,
        s: OpenConnection,
        summary: ConnectionSummary,
        order: u64,
        now: Time,
    ) {
        let OpenConnection {
            mut conversation,
            handshakes,
            protocol,
            copies,
            is_silent,
            ..
        } = s;
        let is_known = conversation.is_known();
        let summary = ConnectionSummary {
            is_known,
            protocol,
            copies,
            accounts: (summary.accounts).filter(|_| self.accounts || copies || !is_known),
            ..summary
        };
        let why = summary.close;
        if is_silent {
            self.change(c, order, now, Change::Ungreeted);
        }
        if let Some(mut handshakes) = handshakes {
            let between = (c.id, c.client, c.server);
            self.output
                .calls
                .extend(handshakes.close(between, order, why));
        }
        // What its end shows is told of its last packet, not of the one that came long after.
        let at = self.at.replace(summary.last.packet);
        let reached = self.reached.max(now);
        let left = self.with(c, order, now, |cx| {
            let before = cx.output.calls.len();
            conversation.close(cx, why);
            let untold = std::mem::take(&mut cx.output.left);
            let calls = cx.output.calls.get_mut(before..).unwrap_or_default();
            protocol::unanswered(calls, &summary, reached);
            let left = protocol::left(calls, &untold, &summary);
            if matches!(why, Close::Forgotten | Close::Evicted) {
                let place = Where {
                    frame: Some(summary.last.packet.frame),
                    ..Where::default()
                };
                let (client, server) = (c.client, c.server);
                let (kind, what) = match why {
                    Close::Evicted => ("connections-evicted", "was given up, as memory was full"),
                    _ => ("connections-forgotten", "fell silent"),
                };
                let example = || (format!("{client} to {server} {what}"), place);
                cx.problems.note(kind, example);
            }
            left
        });
        self.at = at;
        let summary = ConnectionSummary {
            pipelined: conversation.pipelined(),
            left_open: left.open,
            unanswered: left.unanswered,
            late_requests: left.late,
            sqlnet: conversation.agreed(),
            ..summary
        };
        // To double would ask for more at once than all else takes: a summary is some 4 KB, and the end of a capture has thousands.
        let closed = self.connections.len();
        if closed >= MANY_CLOSED && closed == self.connections.capacity() {
            self.connections.reserve_exact(closed / 8);
        }
        self.connections.push((order, summary));
    }
}
