//! A connection in the table: whose it is, when it was last heard of, and its TCP or UDP part.

use super::Wanted;
use super::attic::{Attic, Place};
use super::handshake::roles;
use super::output::Output;
use super::rest::Resting;
use super::tcp::Tcp;
use super::weight::Weight;
use crate::{Connection, Handler, Segment};
use model::{
    Chunk, Close, ConnectionId, ConnectionSummary, Direction, DirectionSummary, Handshake, Mark,
    Problems, Time, Transport, limits,
};
use prefetch::prefetch;
use serde::{Deserialize, Serialize};

/// What a segment means for the connection it was given to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Verdict {
    Goes,
    /// It ended the connection.
    Over(Close),
    /// It opens a new connection in this one's place.
    Replaced,
}

#[derive(Debug)]
pub(super) enum Body {
    Tcp(Box<Tcp>),
    Udp(Box<Udp>),
    /// Either, packed.
    Resting(Resting),
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Udp {
    /// The packet that began it.
    first: Mark,
    directions: [DirectionSummary; 2],
}

#[derive(Debug)]
pub(super) struct Entry<S> {
    pub hash: u64,
    pub connection: Connection,
    pub last: Mark,
    state: S,
    pub body: Body,
    pub weight: Weight,
    /// Whether a segment came since the entry was last looked at for whether it may rest.
    pub used: bool,
}

/// How long a connection may be silent before it is over, and how it then ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Patience {
    /// Both sides have ended their data.
    Closing,
    /// One has, and of the other nothing was seen.
    HalfClosed,
    Unanswered,
    Open,
    Udp,
}

impl Patience {
    pub(super) fn silence(self) -> (i64, Close) {
        match self {
            Patience::Closing => (limits::CLOSING_IDLE_NS, Close::Finished),
            Patience::HalfClosed => (limits::CLOSING_IDLE_NS, Close::Expired),
            Patience::Unanswered => (limits::UNANSWERED_IDLE_NS, Close::Expired),
            Patience::Open => (limits::IDLE_NS, Close::Forgotten),
            Patience::Udp => (limits::UDP_IDLE_NS, Close::Expired),
        }
    }
}

/// What is kept of a direction that is over, to know its last packets from new ones.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Last {
    pub isn: Option<u32>,
    /// The position after everything it sent.
    pub next: u64,
}

impl<S> Entry<S> {
    pub(super) fn open<H: Handler<State = S>>(
        handler: &mut H,
        s: &Segment,
        wanted: &Wanted,
    ) -> Entry<S> {
        let (client, server, roles_known) = roles(s);
        let connection = Connection {
            id: ConnectionId(s.order),
            transport: s.transport,
            client,
            server,
            roles_known,
        };
        Entry {
            hash: s.flow_hash,
            state: handler.open(&connection),
            connection,
            last: s.mark,
            body: match s.transport {
                Transport::Tcp => Body::Tcp(Box::new(Tcp::new(s, wanted))),
                Transport::Udp => Body::Udp(Box::new(Udp {
                    first: s.first,
                    directions: Default::default(),
                })),
            },
            weight: Weight::of(s, wanted),
            used: true,
        }
    }

    /// What it takes up, if that is to be known anew.
    pub(super) fn weigh<H: Handler<State = S>>(&mut self, handler: &H) -> Option<isize> {
        let waiting = match &self.body {
            Body::Tcp(tcp) => tcp.waiting_bytes(),
            // Nothing waits of what rests.
            Body::Udp(_) | Body::Resting(_) => 0,
        };
        self.weight
            .is_due(waiting)
            .then(|| self.weight.set(waiting, handler.kept(&self.state)))
    }

    /// Says what it did in its last interval, if one that holds `now` comes behind it.
    pub(super) fn tell_interval<H: Handler<State = S>>(
        &mut self,
        handler: &mut H,
        problems: &mut Problems,
        now: Time,
    ) {
        if let Body::Tcp(tcp) = &mut self.body
            && let Some((interval, spent)) = tcp.interval_before(now)
        {
            let mut out = Output {
                handler,
                connection: &self.connection,
                state: &mut self.state,
                problems,
            };
            out.interval(interval, &spent);
        }
    }

    /// Packs what is known of it, if nothing is under way; whether it did.
    pub(super) fn rest<H: Handler<State = S>>(
        &mut self,
        handler: &mut H,
        attic: &mut Attic,
    ) -> bool {
        let resting = Resting::of(&self.body, &mut self.state, handler, attic);
        let rests = resting.is_some();
        if let Some(resting) = resting {
            self.body = Body::Resting(resting);
        }
        rests
    }

    /// A segment of it comes soon: asks the processor for what it needs; `near` when what was asked for first is there.
    pub(super) fn prefetch<H: Handler<State = S>>(&self, handler: &H, near: bool) {
        match &self.body {
            Body::Tcp(tcp) if near => tcp.prefetch(),
            Body::Tcp(tcp) => prefetch(&**tcp),
            Body::Udp(udp) if !near => prefetch(&**udp),
            Body::Udp(_) | Body::Resting(_) => {}
        }
        handler.prefetch(&self.state, near);
    }

    /// Where it is, if it is packed.
    pub(super) fn place(&mut self) -> Option<&mut Place> {
        match &mut self.body {
            Body::Resting(resting) => Some(&mut resting.place),
            Body::Tcp(_) | Body::Udp(_) => None,
        }
    }

    /// Unpacks it, if it was packed; whether it was.
    #[inline]
    pub(super) fn wake<H: Handler<State = S>>(
        &mut self,
        handler: &mut H,
        attic: &mut Attic,
        problems: &mut Problems,
    ) -> bool {
        let Body::Resting(resting) = &self.body else {
            return false;
        };
        let transport = self.connection.transport;
        self.body = resting.wake(transport, &mut self.state, handler, attic, problems);
        true
    }

    /// Which way a segment goes, if it is of this connection.
    #[inline]
    pub(super) fn direction(&self, s: &Segment) -> Option<Direction> {
        let c = &self.connection;
        if self.hash != s.flow_hash || c.transport != s.transport {
            None
        } else if s.source == c.client && s.destination == c.server {
            Some(Direction::ToServer)
        } else if s.source == c.server && s.destination == c.client {
            Some(Direction::ToClient)
        } else {
            None
        }
    }

    /// How it ended, if it has been silent for too long at `now`.
    pub(super) fn expired(&self, now: Time) -> Option<Close> {
        let silence = now - self.last.time;
        if silence <= limits::CLOSING_IDLE_NS {
            return None;
        }
        let (patience, close) = match &self.body {
            Body::Tcp(tcp) => tcp.patience().silence(),
            Body::Udp(_) => Patience::Udp.silence(),
            Body::Resting(resting) => resting.patience.silence(),
        };
        (silence > patience).then_some(close)
    }

    pub(super) fn segment<H: Handler<State = S>>(
        &mut self,
        handler: &mut H,
        problems: &mut Problems,
        s: &Segment,
        bytes: &[u8],
        d: Direction,
    ) -> Verdict {
        let mut out = Output {
            handler,
            connection: &self.connection,
            state: &mut self.state,
            problems,
        };
        self.used = true;
        let verdict = match &mut self.body {
            Body::Tcp(tcp) => tcp.segment(&mut out, s, bytes, d),
            Body::Udp(udp) => {
                datagram(&mut out, &mut udp.directions, s, bytes, d);
                Verdict::Goes
            }
            // Woken before.
            Body::Resting(_) => Verdict::Goes,
        };
        if verdict != Verdict::Replaced {
            self.last = s.mark;
        }
        verdict
    }

    /// Delivers what is still held and says that it is over. It is to be awake.
    pub(super) fn close<H: Handler<State = S>>(
        mut self,
        handler: &mut H,
        problems: &mut Problems,
        close: Close,
        order: u64,
        now: Time,
    ) -> [Last; 2] {
        let mut out = Output {
            handler,
            connection: &self.connection,
            state: &mut self.state,
            problems,
        };
        let mut ending = [Last::default(); 2];
        let (mut accounts, mut reset, mut lines) = (None, None, [None, None]);
        let (first, handshake, directions) = match self.body {
            Body::Tcp(mut tcp) => {
                tcp.finish(&mut out, self.last, order);
                if let Some((interval, spent)) = tcp.last_interval() {
                    out.interval(interval, &spent);
                }
                if let Some(measured) = tcp.measured(self.last) {
                    accounts = Some(measured.accounts);
                    if let Some(plot) = measured.plot {
                        out.plot(plot);
                    }
                }
                reset = tcp.reset;
                for stream in &mut tcp.streams {
                    stream.summary.queued_percent = stream
                        .queue
                        .as_ref()
                        .and_then(|queue| queue.queued_percent());
                }
                lines = tcp.streams.each_mut().map(|s| s.queue.take()?.finish());
                ending = tcp.streams.each_ref().map(|stream| Last {
                    isn: stream.isn,
                    next: stream.sent,
                });
                (
                    tcp.first,
                    tcp.opening.summary,
                    tcp.streams.map(|stream| DirectionSummary {
                        unacknowledged_bytes: stream.unacknowledged(),
                        ended: stream.fin_at,
                        ..stream.summary
                    }),
                )
            }
            Body::Udp(udp) => (udp.first, Handshake::default(), udp.directions),
            Body::Resting(_) => Default::default(),
        };
        let summary = ConnectionSummary {
            id: self.connection.id,
            transport: self.connection.transport,
            client: self.connection.client,
            server: self.connection.server,
            first,
            last: self.last,
            close,
            handshake,
            reset,
            directions,
            accounts,
            lines,
            is_known: false,
            protocol: None,
            pipelined: None,
            copies: false,
            left_open: 0,
            unanswered: 0,
            late_requests: 0,
            sqlnet: None,
        };
        handler.close(&self.connection, self.state, summary, order, now);
        ending
    }
}

fn datagram<H: Handler>(
    out: &mut Output<'_, H>,
    summaries: &mut [DirectionSummary; 2],
    s: &Segment,
    bytes: &[u8],
    d: Direction,
) {
    let [to_server, to_client] = summaries;
    let summary = match d {
        Direction::ToServer => to_server,
        Direction::ToClient => to_client,
    };
    if summary.packets == 0 {
        (summary.ttl_min, summary.ttl_max) = (s.ttl, s.ttl);
    }
    summary.ttl_min = summary.ttl_min.min(s.ttl);
    summary.ttl_max = summary.ttl_max.max(s.ttl);
    summary.packets += 1;
    summary.payload_bytes += u64::from(s.payload_length);
    let captured = s.payload_captured.min(s.payload_length) as usize;
    let from = s.payload_start as usize;
    let data = bytes.get(from..from + captured).unwrap_or_default();
    let chunk = Chunk {
        data,
        cut: s.payload_length - data.len() as u32,
        mark: s.mark,
        sequence: 0,
        order: s.order,
        now: s.mark.time,
        held_since: None,
        heard_all: true,
        peer_ended: None,
    };
    out.datagram(d, &chunk, s.first);
}
