//! One connection's way from bytes to calls: which protocol it speaks is found out from its first
//! bytes, ports only hint; then its driver and session take over. A TCP connection that speaks nothing
//! known has turns, which are followed from its first byte and dropped when a protocol claims it; so
//! has one whose protocol goes on encrypted.

use crate::driver::{Driver, Unread};
use crate::list::{Entry, PROTOCOLS};
use crate::rpc;
use crate::session::{Context, Kept, Span};
use crate::tcp::{Part, Turns};
use model::sqlnet::SqlNetSession;
use model::{Chunk, Close, Direction, Mark, Outcome, Protocol, Reason, Transport, Where};
use prefetch::prefetch;
use serde::{Deserialize, Serialize};

/// How many chunks of a connection are looked at before it is taken to speak nothing known.
const CHUNKS_LOOKED_AT: u32 = 256;

/// A message of which the capture holds less, as the rest lies behind the snap length, shows nothing of its header,
/// whatever its port hints at.
const TOLD_BY: usize = 8;

/// What a connection speaks, as far as known.
#[derive(Default)]
pub struct Conversation {
    speaks: Speaks,
    /// The client's packet that completed the handshake, for the session. In a box, as there is none of
    /// a connection that rests.
    opened: Option<Box<Mark>>,
}

/// What of a conversation is kept apart while the connection is quiet: its turns, and the packet that
/// completed the handshake.
#[derive(Serialize, Deserialize)]
pub struct Rest(Option<Box<Turns>>, Option<Box<Mark>>);

enum Speaks {
    /// Its turns, from the first bytes on that nobody claimed.
    Undecided {
        looked_at: u32,
        /// Of those, how many showed no header, as it lies behind the snap length.
        hidden: u32,
        turns: Option<Box<Turns>>,
    },
    Known(Box<Driver>),
    /// TCP that nobody claims. None only while they are kept apart.
    Turns(Option<Box<Turns>>),
    /// UDP that nobody claims.
    Unknown,
}

impl Default for Speaks {
    fn default() -> Speaks {
        Speaks::Undecided {
            looked_at: 0,
            hidden: 0,
            turns: None,
        }
    }
}

impl Conversation {
    /// Finds out what it speaks, if this shows it. Who is known by his first answer alone answers what his client has said
    /// so far, which is returned: the rest of a request that began before the capture.
    #[cold]
    fn decide(&mut self, cx: &mut Context<'_>, d: Direction, chunk: &Chunk<'_>) -> Option<Part> {
        let Speaks::Undecided {
            looked_at,
            hidden,
            turns,
        } = &mut self.speaks
        else {
            return None;
        };
        // What was told of turns cannot be taken back.
        let judged = turns.as_ref().is_some_and(|t| t.is_judged());
        *looked_at += 1;
        if judged || *looked_at > CHUNKS_LOOKED_AT {
            tell_hidden(cx, *hidden, *looked_at);
            self.speaks = match turns.take() {
                Some(turns) => Speaks::Turns(Some(turns)),
                None => Speaks::Unknown,
            };
            return None;
        }
        if chunk.cut > 0 && chunk.data.len() < TOLD_BY {
            *hidden += 1;
            if rpc::is_usual_port(cx.connection) && cx.connection.transport == Transport::Tcp {
                let turns = turns.get_or_insert_with(|| Box::new(Turns::new(cx.connection)));
                turns.are_of_rpc();
            }
            return None;
        }
        let speaks = |p: &&Entry| (p.probe)(cx.connection, d, chunk.data);
        let protocol = PROTOCOLS.iter().find(speaks)?;
        let mut session = (protocol.session)(cx.connection);
        if let Some(at) = self.opened.take() {
            session.opened(*at);
        }
        let turns = turns.take().filter(|_| d == Direction::ToClient);
        self.speaks = Speaks::Known(Box::new(Driver::new(session)));
        turns?.rest_of_request()
    }

    /// The first bytes of which it is known what they are: the server's, which answer this.
    #[cold]
    #[inline(never)]
    fn answers(&mut self, cx: &mut Context<'_>, d: Direction, chunk: &Chunk<'_>, asked: &Part) {
        let told = cx.output.calls.len();
        self.data(cx, d, chunk);
        let new = cx.output.calls.get_mut(told..).unwrap_or_default();
        if let Some(call) = new.first_mut()
            && call.outcome == Outcome::NoRequest(Reason::BeforeCapture)
        {
            call.request_first = Some(asked.first);
            call.request_last = Some(asked.last);
            call.request_bytes = asked.bytes;
        }
    }

    /// The turns, where no protocol is known to be spoken.
    fn turns(&mut self, cx: &Context<'_>) -> Option<&mut Turns> {
        match &mut self.speaks {
            Speaks::Undecided { turns, .. } if cx.connection.transport == Transport::Tcp => {
                Some(turns.get_or_insert_with(|| Box::new(Turns::new(cx.connection))))
            }
            Speaks::Turns(turns) => turns.as_deref_mut(),
            _ => None,
        }
    }

    /// Bytes of it come soon: asks the processor for what they need; `near` when what was asked for first is there.
    pub fn prefetch(&self, near: bool) {
        match &self.speaks {
            Speaks::Known(driver) if near => prefetch(&*driver.session),
            Speaks::Known(driver) => prefetch(&**driver),
            Speaks::Undecided { turns, .. } | Speaks::Turns(turns) if !near => {
                if let Some(turns) = turns {
                    prefetch(&**turns);
                }
            }
            Speaks::Undecided { .. } | Speaks::Turns(_) | Speaks::Unknown => {}
        }
    }

    /// What is kept of it.
    #[must_use]
    pub fn kept(&self) -> Kept {
        match &self.speaks {
            Speaks::Known(driver) => driver.kept(),
            // Turns are packed with the connection, but for records that are held back.
            Speaks::Undecided { turns, .. } | Speaks::Turns(turns) => Kept {
                bytes: turns.as_ref().map_or(0, |t| t.kept_bytes()),
                things: 0,
            },
            Speaks::Unknown => Kept::default(),
        }
    }

    /// Nothing is expected to come for long: gives back memory that is not used, and what can be kept
    /// apart.
    pub fn rest(&mut self) -> Rest {
        let turns = match &mut self.speaks {
            Speaks::Undecided { turns, .. } | Speaks::Turns(turns) => {
                turns.take_if(|turns| turns.may_rest())
            }
            Speaks::Known(driver) => {
                driver.rest();
                None
            }
            Speaks::Unknown => None,
        };
        Rest(turns, self.opened.take())
    }

    /// Puts back what was kept apart, before anything else comes.
    pub fn wake(&mut self, rest: Rest) {
        if let Speaks::Undecided { turns, .. } | Speaks::Turns(turns) = &mut self.speaks
            && rest.0.is_some()
        {
            *turns = rest.0;
        }
        self.opened = rest.1;
    }

    /// Whether it was found out what the connection speaks.
    #[must_use]
    pub fn is_known(&self) -> bool {
        matches!(self.speaks, Speaks::Known(_))
    }

    /// Of a connection of which nothing is told, as several requests are under way at a time, what it speaks.
    #[must_use]
    pub fn pipelined(&self) -> Option<Protocol> {
        match &self.speaks {
            Speaks::Undecided { turns, .. } | Speaks::Turns(turns) => {
                let untold = turns.as_ref().filter(|turns| turns.are_untold());
                untold.map(|turns| turns.protocol())
            }
            Speaks::Known(_) | Speaks::Unknown => None,
        }
    }

    /// What was agreed on for its packets, where that is SQL*Net.
    #[must_use]
    pub fn agreed(&self) -> Option<SqlNetSession> {
        match &self.speaks {
            Speaks::Known(driver) => driver.session.agreed(),
            Speaks::Undecided { .. } | Speaks::Turns(_) | Speaks::Unknown => None,
        }
    }

    /// The client's packet that completed the TCP handshake has come.
    pub fn opened(&mut self, at: Mark) {
        if !self.is_known() {
            self.opened = Some(Box::new(at));
        }
    }

    /// The next bytes of a TCP direction.
    pub fn data(&mut self, cx: &mut Context<'_>, d: Direction, chunk: &Chunk<'_>) {
        if let Speaks::Undecided { .. } = self.speaks
            && let Some(asked) = self.decide(cx, d, chunk)
        {
            return self.answers(cx, d, chunk, &asked);
        }
        if let Speaks::Known(driver) = &mut self.speaks {
            if let Some(unread) = driver.data(cx, d, chunk) {
                self.close_eyes(cx, d, chunk, &unread);
            }
        } else if let Some(turns) = self.turns(cx) {
            turns.data(cx, d, chunk);
        }
    }

    /// The protocol goes on with bytes that nobody can read, from `unread` on: its turns are followed.
    #[cold]
    fn close_eyes(
        &mut self,
        cx: &mut Context<'_>,
        d: Direction,
        chunk: &Chunk<'_>,
        unread: &Unread,
    ) {
        let Speaks::Known(driver) = &mut self.speaks else {
            return;
        };
        let of = driver.session.opaque();
        // What still waits for an answer will not be seen to get one.
        driver.close(cx, Close::EndOfCapture);
        let mut turns = Box::new(Turns::new(cx.connection));
        if let Some(of) = of {
            turns.are_of(of);
        }
        if let Some(first) = &unread.first {
            let held = Chunk {
                data: &unread.held,
                cut: 0,
                mark: first.mark,
                sequence: first.sequence,
                held_since: first.held_since,
                ..*chunk
            };
            turns.data(cx, d, &held);
        }
        let read = chunk.data.len().saturating_sub(unread.of_chunk);
        let rest = Chunk {
            data: chunk.data.get(read..).unwrap_or_default(),
            sequence: chunk.sequence.wrapping_add(read as u32),
            ..*chunk
        };
        turns.data(cx, d, &rest);
        self.speaks = Speaks::Turns(Some(turns));
    }

    /// Bytes of a TCP direction that the capture does not hold.
    pub fn gap(&mut self, cx: &mut Context<'_>, d: Direction, length: u64) {
        if let Speaks::Known(driver) = &mut self.speaks {
            driver.gap(cx, d, length);
        } else if let Some(turns) = self.turns(cx) {
            turns.gap(cx, d, length);
        }
    }

    /// One UDP datagram whose first fragment came with the packet `first`.
    pub fn datagram(&mut self, cx: &mut Context<'_>, d: Direction, chunk: &Chunk<'_>, first: Mark) {
        if let Speaks::Undecided { .. } = self.speaks {
            self.decide(cx, d, chunk);
        }
        if let Speaks::Known(driver) = &mut self.speaks {
            let span = Span {
                first,
                last: chunk.mark,
                sequence: 0,
                bytes: chunk.data.len() as u64 + u64::from(chunk.cut),
                end_missing: false,
                first_held_since: None,
                last_held_since: None,
            };
            driver.session.datagram(cx, d, chunk.data, span);
        }
    }

    pub fn close(&mut self, cx: &mut Context<'_>, why: Close) {
        if let Speaks::Undecided {
            looked_at, hidden, ..
        } = self.speaks
        {
            tell_hidden(cx, hidden, looked_at);
        }
        match &mut self.speaks {
            Speaks::Known(driver) => driver.close(cx, why),
            Speaks::Undecided { turns, .. } | Speaks::Turns(turns) => {
                if let Some(turns) = turns {
                    turns.close(cx, why);
                }
            }
            Speaks::Unknown => {}
        }
    }
}

/// Says that a connection's protocol is not known because of the snap length: of most of its messages nothing is there.
fn tell_hidden(cx: &mut Context<'_>, hidden: u32, looked_at: u32) {
    if hidden > looked_at / 2 {
        let (client, server) = (cx.connection.client, cx.connection.server);
        let example = || {
            let text =
                format!("{client} to {server}: the snap length cuts the headers of messages off");
            (text, Where::default())
        };
        cx.problems.note(model::HEADERS_CUT, example);
    }
}
