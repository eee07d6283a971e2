//! One connection's turns: where each begins and ends, and whether they may be told at all.

use super::marked::Marked;
use super::turn::{Answer, Part, Turn};
use crate::session::{ConnectionInfo, Context};
use crate::sql::Opaque;
use model::{Chunk, Close, Direction, Mark, Protocol, Reason, Time, Where, limits};
use serde::{Deserialize, Serialize};

/// More than one turn in so many that overlaps: the connection is not half-duplex (below a score of
/// 0.8, nothing may be told of it).
const OVERLAPS: u32 = 5;

/// Turns after which half of them are forgotten, so that a connection that changes its ways is
/// noticed.
const TURNS: u32 = 64;

/// A server that is still asked when the capture ends would have answered later: when it was asked
/// less than this before (the time after which an NFS client asks again).
const ANSWER_WAIT_NS: i64 = 60_000_000_000;

/// A response is over when it has been silent for this long at the end of the capture: longer than a
/// retransmission timer of a path that works.
const SILENCE_NS: i64 = 1_000_000_000;

/// Linux's first ephemeral port, and the first that is not privileged: who has a lower one is the
/// server.
const LOWER_PORTS: [u16; 2] = [32_768, 1_024];

/// What comes so many times sooner after one thing than after another is for that: one in a hundred does by chance.
const SOONER: i64 = 100;

/// A clock of several receive queues steps back by less than this.
const OUT_OF_ORDER_NS: i64 = 1_000_000;

/// What may be told.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
enum State {
    /// Nothing yet: turns are held back.
    Watching,
    HalfDuplex,
    Pipelined,
    /// The same, but paired by the order of its messages.
    Ordered,
    /// Nobody knows who is the client.
    RolesUnknown,
}

/// The turns of one connection.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Turns {
    /// The turn under way.
    turn: Option<Turn>,
    /// Those before it that are not reported yet.
    held: Vec<Turn>,
    state: State,
    /// Whether the client's next bytes are known to begin a request, and whether no bytes were seen before.
    may_open: bool,
    is_new: bool,
    /// Turns opened, and those that overlapped with the one before.
    turns: u32,
    overlaps: u32,
    /// Those of RPC, whose headers were not captured: clients ask again before they are answered, so what is several
    /// packets may be several calls.
    marked: Option<Box<Marked>>,
    /// The protocol that was spoken before it became unreadable. Never of turns that rest.
    #[serde(skip)]
    of: Option<Box<Opaque>>,
}

impl Turns {
    pub(crate) fn new(connection: &ConnectionInfo) -> Turns {
        let (client, server) = (connection.client.port, connection.server.port);
        let ports_tell = LOWER_PORTS.iter().any(|&p| server < p && client >= p);
        Turns {
            turn: None,
            held: Vec::new(),
            state: match connection.roles_known || ports_tell {
                true => State::Watching,
                false => State::RolesUnknown,
            },
            may_open: connection.roles_known,
            is_new: true,
            turns: 0,
            overlaps: 0,
            marked: None,
            of: None,
        }
    }

    /// The turns are those of a protocol that cannot be read from here on. It was in the middle of
    /// a conversation, and knew who is the client.
    pub(crate) fn are_of(&mut self, of: Opaque) {
        self.of = Some(Box::new(of));
        self.state = State::Watching;
        self.may_open = true;
    }

    /// The turns are those of RPC, of whose messages no header was captured.
    pub(crate) fn are_of_rpc(&mut self) {
        let (is_new, is_opened) = (self.is_new, self.may_open);
        self.marked.get_or_insert_with(|| {
            let mut marked = Box::<Marked>::default();
            // Who answers what was asked before cannot be told by order.
            if !(is_new && is_opened) {
                marked.lose();
            }
            marked
        });
    }

    /// What the client has said that was not answered, of a connection whose beginning was not captured.
    pub(crate) fn rest_of_request(&self) -> Option<Part> {
        let turn = self.turn.as_ref().filter(|turn| turn.begun_before)?;
        turn.unanswered().filter(|_| self.held.is_empty()).copied()
    }

    /// Bytes that are held back until the connection is over.
    pub(crate) fn kept_bytes(&self) -> usize {
        self.marked.as_ref().map_or(0, |m| m.kept_bytes())
    }

    /// What they are known to be turns of.
    pub(crate) fn protocol(&self) -> Protocol {
        match &self.of {
            Some(of) => of.protocol,
            None if self.marked.is_some() => Protocol::Rpc,
            None => Protocol::Tcp,
        }
    }

    /// Whether they come out as they were, packed and unpacked.
    pub(crate) fn may_rest(&self) -> bool {
        self.of.is_none()
    }

    /// Whether turns of this connection have been, or may now be, reported.
    pub(crate) fn is_judged(&self) -> bool {
        self.state == State::HalfDuplex
    }

    fn is_told(&self) -> bool {
        matches!(self.state, State::Watching | State::HalfDuplex)
    }

    /// The next bytes of a direction.
    pub(crate) fn data(&mut self, cx: &mut Context<'_>, d: Direction, chunk: &Chunk<'_>) {
        if chunk.data.is_empty() && chunk.cut == 0 {
            return;
        }
        if let Some(marked) = &mut self.marked {
            marked.data(d, chunk);
        }
        if !self.is_told() {
            return;
        }
        if d == Direction::ToClient && self.answers_the_end(chunk) {
            return;
        }
        if d == Direction::ToClient {
            // What its client says next is a request of its own.
            (self.may_open, self.is_new) = (true, false);
        }
        match (d, &mut self.turn) {
            (Direction::ToServer, Some(turn)) if !turn.is_answered() => turn.ask(chunk),
            (Direction::ToServer, _) => self.open(chunk),
            (Direction::ToClient, Some(turn)) if turn.is_answered() => turn.answer(chunk),
            (Direction::ToClient, Some(_)) => self.answer(cx, chunk),
            (Direction::ToClient, None) => {}
        }
    }

    /// The client speaks, for the first time or again.
    fn open(&mut self, chunk: &Chunk<'_>) {
        if is_alert(chunk) {
            return;
        }
        let turn = match self.may_open {
            true => Turn::open(chunk),
            false if self.is_new => Turn::in_the_middle(chunk),
            false => return,
        };
        self.is_new = false;
        self.over();
        self.turn = Some(turn);
        if self.turns >= TURNS {
            self.turns /= 2;
            self.overlaps /= 2;
        }
        self.turns += 1;
        self.change(chunk);
    }

    /// Whether the server says this as its client has ended, and not for what that asked for: it comes many times
    /// sooner after the end than that came after the last of the turn.
    fn answers_the_end(&self, chunk: &Chunk<'_>) -> bool {
        let last = self.turn.as_ref().map(Turn::last);
        let ended = last.zip(chunk.peer_ended);
        let soon = |ended: Time| (chunk.mark.time - ended).saturating_mul(SOONER);
        ended.is_some_and(|(last, ended)| soon(ended) < ended - last.time)
    }

    /// The server begins to answer.
    fn answer(&mut self, cx: &mut Context<'_>, chunk: &Chunk<'_>) {
        let Some(turn) = &mut self.turn else { return };
        if turn.asked().time - chunk.mark.time > OUT_OF_ORDER_NS {
            // It was captured before the request, and had to wait for what the capture lacks.
            turn.hide_answer();
            if let Some(before) = self.held.last_mut() {
                before.doubt_end();
            }
        }
        turn.answer(chunk);
        self.change(chunk);
        self.report(cx);
    }

    /// The speaker changes with `chunk`: has he waited for what the other said?
    fn change(&mut self, chunk: &Chunk<'_>) {
        if chunk.heard_all {
            return;
        }
        let known = self.turn.is_some_and(|t| t.overlaps);
        self.overlaps += u32::from(!known);
        for turn in self.held.last_mut().into_iter().chain(&mut self.turn) {
            turn.overlaps = true;
        }
    }

    /// The turn under way is over.
    fn over(&mut self) {
        if let Some(mut turn) = self.turn.take() {
            if self.marked.is_some() && turn.is_several_packets() && !turn.overlaps {
                turn.overlaps = true;
                self.overlaps += 1;
            }
            // Most connections hold one at a time.
            self.held.reserve_exact(1);
            self.held.push(turn);
        }
    }

    /// Bytes of a direction that the capture lacks.
    pub(crate) fn gap(&mut self, cx: &mut Context<'_>, d: Direction, length: u64) {
        if let Some(marked) = &mut self.marked {
            marked.lose();
        }
        if !self.is_told() {
            return;
        }
        match (d, &mut self.turn) {
            (Direction::ToServer, Some(turn)) if !turn.is_answered() => turn.ask_unseen(length),
            (Direction::ToServer, turn) => {
                // A request began in it, and what came since may be its answer.
                if let Some(turn) = turn {
                    turn.doubt_end();
                }
                self.over();
                (self.may_open, self.is_new) = (false, false);
            }
            (Direction::ToClient, Some(turn)) => {
                if !turn.is_answered()
                    && let Some(before) = self.held.last_mut()
                {
                    before.doubt_end();
                }
                turn.answer_unseen(length, cx.now);
                self.report(cx);
            }
            (Direction::ToClient, None) => self.is_new = false,
        }
    }

    /// The turns before the one under way are over: reports them, if they may be told.
    fn report(&mut self, cx: &mut Context<'_>) {
        // A few turns say little while all are held back.
        if !self.is_judged() && self.held.len() < limits::TURNS_HELD {
            return;
        }
        if self.is_pipelined() {
            self.state = State::Pipelined;
            self.held = Vec::new();
            self.turn = None;
        } else {
            self.state = State::HalfDuplex;
            for turn in std::mem::take(&mut self.held) {
                tell(cx, &turn, self.protocol(), self.of.as_deref());
            }
            if let (Some(marked), Some(turn)) = (&mut self.marked, &self.turn) {
                marked.told_before(turn.sequence());
            }
        }
    }

    fn is_pipelined(&self) -> bool {
        self.overlaps * OVERLAPS > self.turns
    }

    /// Whether that was found, so that none is told.
    pub(crate) fn are_untold(&self) -> bool {
        self.state == State::Pipelined
    }

    /// The connection is over.
    pub(crate) fn close(&mut self, cx: &mut Context<'_>, why: Close) {
        if let Some(turn) = &mut self.turn {
            turn.ended = ended(turn, why, cx.now);
            // A database's session ends with a message that nobody answers.
            if self.of.is_some() && why == Close::Finished && !turn.is_answered() {
                self.turn = None;
            }
        }
        self.over();
        if self.state == State::Watching && self.is_pipelined() {
            self.state = State::Pipelined;
        }
        match self.state {
            State::Watching | State::HalfDuplex => {
                for turn in std::mem::take(&mut self.held) {
                    tell(cx, &turn, self.protocol(), self.of.as_deref());
                }
            }
            State::Pipelined => {
                let marked = self.marked.as_ref();
                match marked.is_some_and(|m| m.tell(cx, why.reason())) {
                    true => {
                        self.state = State::Ordered;
                        note(cx, "paired-in-order", |ends| {
                            format!(
                                "{ends}: calls are paired by their order, single times may be another's"
                            )
                        });
                    }
                    false => note(cx, "pipelined-turns", |ends| {
                        format!("{ends}: not half-duplex, no turns are told")
                    }),
                }
            }
            State::Ordered => {}
            State::RolesUnknown => note(cx, "turns-roles-unknown", |ends| {
                format!(
                    "{ends}: joined in mid-connection, and the ports do not say who is the client"
                )
            }),
        }
    }
}

/// Reports a turn, or counts that it cannot be told.
fn tell(cx: &mut Context<'_>, turn: &Turn, protocol: Protocol, of: Option<&Opaque>) {
    if turn.overlaps {
        note(cx, "overlapping-turns", |ends| {
            format!("{ends}: both sides spoke at the same time, the turn is left out")
        });
    } else if !turn.begun_before || matches!(turn.answer, Answer::Seen(_)) {
        let call = turn.call(cx, protocol, of);
        cx.output.calls.push(call);
    }
}

fn note(cx: &mut Context<'_>, kind: &'static str, text: impl FnOnce(String) -> String) {
    let (client, server) = (cx.connection.client, cx.connection.server);
    let example = || (text(format!("{client} to {server}")), Where::default());
    cx.problems.note(kind, example);
}

/// Why the turn that was under way when the connection ended lacks its answer, or its end.
fn ended(turn: &Turn, why: Close, now: Time) -> Option<Reason> {
    let since = |mark: Mark| now - mark.time;
    let cut_short = why.is_of_looking()
        && match &turn.answer {
            Answer::None => since(turn.asked()) < ANSWER_WAIT_NS,
            Answer::Seen(part) => since(part.last) < SILENCE_NS,
            Answer::Hidden(_) => false,
        };
    cut_short.then_some(why.reason())
}

/// Whether a chunk is one TLS alert (RFC 8446 section 5.1): how a connection is closed.
fn is_alert(chunk: &Chunk<'_>) -> bool {
    const ALERT: u8 = 21;
    let Some(&[kind, 3, minor, high, low]) = chunk.data.first_chunk() else {
        return false;
    };
    let length = u32::from(u16::from_be_bytes([high, low])) + 5;
    kind == ALERT && minor <= 4 && chunk.data.len() as u32 + chunk.cut == length
}
