//! The driver: feeds a direction's chunks, cuts and gaps to a [`Session`] and does for every protocol
//! what each would otherwise write again: holding back the start of a frame until enough of it is
//! there, letting bodies pass uncopied, carrying on over holes whose size is known, and finding the
//! next header when position was lost.
//!
//! A hole inside bytes that the session lets pass costs nothing. A hole inside bytes that it wants to
//! see ends what it will see ([`More::No`]); when it knows the frame's length all the same, position
//! is kept. Only a hole that reaches beyond the end of a frame hides where the next one starts.
//!
//! Bytes are lent from the packet while nothing is held back (the common case) and copied otherwise:
//! the most that is ever held back is what one [`Step::Need`] asked for. While position is lost, the
//! end of each chunk is kept for the header that may straddle it and the next.

use crate::session::{Both, Context, Hole, Kept, More, Run, Session, Span, Step};
use model::{Chunk, Direction, limits};

/// How far a header that is searched for may stand on either side of the border of two chunks.
/// Longer than what [`Session::resync`] wants to see of a header.
const SEAM: usize = 64;

/// Where a direction stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Position {
    /// At the start of a frame, or where the session wants to look again.
    Look,
    /// Letting this many bytes pass; then the frame ends, or the session looks again.
    Passing { left: u64, ends: bool },
    /// Nobody knows.
    Lost,
    /// Behind what the session skipped: the next packet is looked at from its start.
    Skipping,
    /// Behind the last frame that can be read.
    Opaque,
}

/// One direction of one connection.
#[derive(Debug)]
struct Lane {
    position: Position,
    /// The frame so far.
    span: Option<Span>,
    /// The start of what the session wants to see, held back until it is enough; while position is
    /// lost, the end of the last chunk.
    held: Vec<u8>,
    /// The packets of the held bytes.
    runs: Vec<Run>,
    /// How many held bytes the session asked for.
    wanted: usize,
}

impl Lane {
    fn new() -> Lane {
        Lane {
            position: Position::Lost,
            span: None,
            held: Vec::new(),
            runs: Vec::new(),
            wanted: 0,
        }
    }

    /// Gives back what is not used.
    fn shrink(&mut self) {
        self.held.shrink_to_fit();
        self.runs.shrink_to_fit();
    }

    fn drop_held(&mut self) {
        self.held.clear();
        self.runs.clear();
    }

    /// Adds `run` to the frame's span.
    fn cover(&mut self, run: &Run) {
        let next = Span::of(run);
        match &mut self.span {
            Some(span) => span.extend(&next),
            None => self.span = Some(next),
        }
    }

    /// Holds back `bytes`, which stand `skip` bytes from the start of `run`.
    fn hold(&mut self, bytes: &[u8], run: Run, skip: usize) {
        if bytes.is_empty() {
            return;
        }
        self.held.extend_from_slice(bytes);
        self.runs.push(Run {
            length: bytes.len() as u64,
            sequence: run.sequence.wrapping_add(skip as u32),
            ..run
        });
    }

    /// Takes `n` held bytes out of the front, handing their packets to `each`.
    fn take_held(&mut self, n: usize, mut each: impl FnMut(&mut Lane, &Run)) {
        let mut left = n as u64;
        let mut used = 0;
        while left > 0 {
            let Some(mut run) = self.runs.get(used).copied() else {
                break;
            };
            let part = run.length.min(left);
            left -= part;
            if part == run.length {
                used += 1;
            } else {
                if let Some(rest) = self.runs.get_mut(used) {
                    *rest = rest.after(part);
                }
                run.length = part;
            }
            each(self, &run);
        }
        self.runs.drain(..used);
        self.held.drain(..n.min(self.held.len()));
    }

    /// Takes `n` held bytes out of the front, adding them to the span.
    fn consume_held(&mut self, n: usize) {
        self.take_held(n, |lane, run| lane.cover(run));
    }
}

/// What was fed to a driver that has ended, and not dealt with.
#[derive(Debug)]
pub struct Unread {
    /// Bytes of earlier chunks, and where the first of them came.
    pub held: Vec<u8>,
    pub first: Option<Run>,
    /// How many at the end of the last chunk.
    pub of_chunk: usize,
}

/// Both directions of one connection, feeding one session.
pub struct Driver {
    pub session: Box<dyn Session>,
    lanes: Both<Lane>,
}

impl Driver {
    /// What it and its session take up.
    #[must_use]
    pub fn kept(&self) -> Kept {
        let held = [Direction::ToServer, Direction::ToClient].map(|d| {
            let lane = self.lanes.of(d);
            lane.held.capacity() + lane.runs.capacity() * size_of::<Run>()
        });
        let session = self.session.kept().and_each(held.into_iter());
        session.and(1, size_of::<Driver>())
    }
}

impl Driver {
    /// Starts without knowing where the next frame starts; the first bytes are searched for one, so
    /// that a connection's beginning and its middle are the same case.
    pub fn new(session: Box<dyn Session>) -> Driver {
        Driver {
            session,
            lanes: Both {
                to_server: Lane::new(),
                to_client: Lane::new(),
            },
        }
    }

    /// Nothing is expected to come for long.
    pub fn rest(&mut self) {
        self.lanes.to_server.shrink();
        self.lanes.to_client.shrink();
    }

    fn lane(&mut self, d: Direction) -> &mut Lane {
        self.lanes.of_mut(d)
    }

    /// The next bytes of a direction, and the cut that may follow them. When the session said
    /// [`Step::Opaque`], the driver has ended: what it has not dealt with is returned.
    pub fn data(
        &mut self,
        cx: &mut Context<'_>,
        d: Direction,
        chunk: &Chunk<'_>,
    ) -> Option<Unread> {
        let run = Run {
            length: chunk.data.len() as u64,
            mark: chunk.mark,
            sequence: chunk.sequence,
            held_since: chunk.held_since,
        };
        let unread = self.feed(cx, d, chunk.data, run, u64::from(chunk.cut));
        let lane = self.lane(d);
        if lane.position == Position::Opaque {
            return Some(Unread {
                held: std::mem::take(&mut lane.held),
                first: lane.runs.first().copied(),
                of_chunk: unread,
            });
        }
        if chunk.cut > 0 {
            let cut = Run {
                length: u64::from(chunk.cut),
                sequence: chunk.sequence.wrapping_add(chunk.data.len() as u32),
                ..run
            };
            self.hole(cx, d, Hole::Cut, Some(cut), u64::from(chunk.cut));
        }
        None
    }

    /// The next `length` bytes of a direction are not in the capture.
    pub fn gap(&mut self, cx: &mut Context<'_>, d: Direction, length: u64) {
        self.hole(cx, d, Hole::Gap, None, length);
    }

    /// The connection is over.
    pub fn close(&mut self, cx: &mut Context<'_>, why: model::Close) {
        for d in [Direction::ToServer, Direction::ToClient] {
            self.show_held(cx, d);
            let lane = self.lane(d);
            let span = lane.span.take();
            if lane.position != Position::Lost {
                self.session.abandon(cx, d, span, Some(why));
            }
        }
        self.session.close(cx, why);
    }

    /// Feeds captured bytes; `cut` bytes of the same packet follow that were not captured. Returns
    /// how many were not dealt with: none, unless the session said [`Step::Opaque`].
    fn feed(
        &mut self,
        cx: &mut Context<'_>,
        d: Direction,
        data: &[u8],
        run: Run,
        cut: u64,
    ) -> usize {
        let mut rest = data;
        let mut at = run;
        // What the session sees of a segment that was cut is all there will be.
        let more = if cut > 0 { More::No } else { More::Yes };
        // Where the last search ended, as the number of bytes from there on.
        let mut found_at = 0;
        while !rest.is_empty() {
            at.length = rest.len() as u64;
            at.sequence = run.sequence.wrapping_add((data.len() - rest.len()) as u32);
            let lane = self.lane(d);
            match lane.position {
                Position::Lost if !lane.held.is_empty() => {
                    let taken = self.search_seam(cx, d, rest, at, cut);
                    rest = rest.get(taken..).unwrap_or_default();
                }
                Position::Lost => {
                    if rest.len() == found_at {
                        // A header was found here, and was none.
                        self.skip(cx, d, at, 1);
                        rest = rest.get(1..).unwrap_or_default();
                        at = at.after(1);
                    }
                    let at_start = rest.len() == data.len();
                    let wire = rest.len() as u64 + cut;
                    let Some(skip) = self.session.resync(cx, d, rest, at_start, wire) else {
                        let end = rest.len().saturating_sub(SEAM);
                        self.skip(cx, d, at, end);
                        self.lane(d)
                            .hold(rest.get(end..).unwrap_or_default(), at, end);
                        return 0;
                    };
                    self.skip(cx, d, at, skip);
                    rest = rest.get(skip..).unwrap_or_default();
                    found_at = rest.len();
                    let lane = self.lane(d);
                    lane.position = Position::Look;
                    lane.span = None;
                }
                Position::Passing { .. } => {
                    let passed = self.pass(cx, d, at);
                    rest = rest.get(passed as usize..).unwrap_or_default();
                }
                Position::Skipping if rest.len() == data.len() => lane.position = Position::Look,
                Position::Skipping => {
                    self.session.skipped(cx, d, &at);
                    return 0;
                }
                Position::Look if lane.held.is_empty() => {
                    let step = self.session.step(cx, d, rest, more);
                    if step == Step::Skip {
                        self.lane(d).position = Position::Skipping;
                        self.session.skipped(cx, d, &at);
                        return 0;
                    }
                    // The common frame begins and ends here: what `turn` and `pass` make of it, in one step.
                    if let Step::End(n) = step
                        && let Some((frame, behind)) = whole(rest, n)
                        && self.lane(d).span.is_none()
                    {
                        at.length = frame.len() as u64;
                        self.session.complete(cx, d, &Span::of(&at));
                        rest = behind;
                        continue;
                    }
                    if let Step::Need(n) = step
                        && more == More::Yes
                        && n > rest.len()
                        && n <= limits::HEAD_BYTES
                    {
                        let lane = self.lane(d);
                        lane.hold(rest, at, 0);
                        lane.wanted = n;
                        return 0;
                    }
                    self.turn(cx, d, step);
                }
                Position::Look => {
                    let take = lane.wanted.saturating_sub(lane.held.len()).min(rest.len());
                    let (head, tail) = rest.split_at(take);
                    lane.hold(head, at, 0);
                    rest = tail;
                    if lane.held.len() >= lane.wanted {
                        self.look_at_held(cx, d, More::Yes);
                        self.skip_if_lost(cx, d);
                    }
                }
                Position::Opaque => return rest.len(),
            }
        }
        0
    }

    /// Position is lost: searches for a header that starts in the end of the last chunk and goes on
    /// in `data`. Returns how many bytes of `data` have been dealt with.
    fn search_seam(
        &mut self,
        cx: &mut Context<'_>,
        d: Direction,
        data: &[u8],
        run: Run,
        cut: u64,
    ) -> usize {
        let lane = self.lane(d);
        let kept = lane.held.len();
        let head = data.get(..SEAM).unwrap_or(data);
        lane.hold(head, run, 0);
        let held = std::mem::take(&mut lane.held);
        let wire = kept as u64 + data.len() as u64 + cut;
        let found = self.session.resync(cx, d, &held, false, wire);
        let lane = self.lane(d);
        lane.held = held;
        match found {
            Some(skip) if skip < kept => {
                self.skip_held(cx, d, skip);
                let lane = self.lane(d);
                lane.position = Position::Look;
                lane.span = None;
                lane.wanted = 0;
                // The last run is of `data`, which is fed again when this was no header.
                let mut rest = lane.runs.clone();
                rest.pop();
                self.look_at_held(cx, d, More::Yes);
                if self.lane(d).position != Position::Lost {
                    return head.len();
                }
                for run in &rest {
                    self.session.skipped(cx, d, run);
                }
            }
            None if head.len() == data.len() && cut == 0 => {
                // A short chunk: a header may need more than these two.
                let excess = (kept + head.len()).saturating_sub(SEAM);
                self.skip_held(cx, d, excess);
                return head.len();
            }
            _ => self.skip_held(cx, d, kept),
        }
        self.lane(d).drop_held();
        0
    }

    /// The first `n` bytes of `run` are not part of a frame, as far as could be seen.
    fn skip(&mut self, cx: &mut Context<'_>, d: Direction, run: Run, n: usize) {
        if n > 0 {
            let length = n as u64;
            self.session.skipped(cx, d, &Run { length, ..run });
        }
    }

    /// So are the first `n` held bytes.
    fn skip_held(&mut self, cx: &mut Context<'_>, d: Direction, n: usize) {
        let session = &mut self.session;
        let lane = self.lanes.of_mut(d);
        lane.take_held(n, |_, run| session.skipped(cx, d, run));
    }

    /// What is held back is not a frame.
    fn skip_if_lost(&mut self, cx: &mut Context<'_>, d: Direction) {
        let lane = self.lane(d);
        if lane.position == Position::Lost && !lane.held.is_empty() {
            let n = lane.held.len();
            self.skip_held(cx, d, n);
        }
    }

    /// Shows the session what is held back, as often as it makes progress. When it is lost, the rest
    /// stays for the caller to dispose of.
    fn look_at_held(&mut self, cx: &mut Context<'_>, d: Direction, more: More) {
        loop {
            let lane = self.lane(d);
            if lane.held.is_empty() {
                return;
            }
            match lane.position {
                Position::Look => {
                    let held = std::mem::take(&mut lane.held);
                    let step = self.session.step(cx, d, &held, more);
                    let lane = self.lane(d);
                    lane.held = held;
                    match step {
                        Step::Need(n)
                            if more == More::Yes
                                && n > lane.held.len()
                                && n <= limits::HEAD_BYTES =>
                        {
                            lane.wanted = n;
                            return;
                        }
                        Step::Skip => {
                            lane.position = Position::Skipping;
                            let n = lane.held.len();
                            self.skip_held(cx, d, n);
                            return;
                        }
                        step => self.turn(cx, d, step),
                    }
                }
                Position::Passing { left, .. } => {
                    let n = left.min(lane.held.len() as u64);
                    lane.consume_held(n as usize);
                    self.passed(cx, d, n);
                }
                Position::Lost | Position::Skipping | Position::Opaque => return,
            }
        }
    }

    /// A hole follows what is held back: shows it as it is.
    fn show_held(&mut self, cx: &mut Context<'_>, d: Direction) {
        if !self.lane(d).held.is_empty() {
            self.look_at_held(cx, d, More::No);
            self.skip_if_lost(cx, d);
        }
    }

    /// Acts on a step other than [`Step::Need`].
    fn turn(&mut self, cx: &mut Context<'_>, d: Direction, step: Step) {
        let lane = self.lane(d);
        match step {
            Step::Pass(n) if n > 0 => {
                lane.position = Position::Passing {
                    left: n,
                    ends: false,
                }
            }
            Step::End(n) if n > 0 => {
                lane.position = Position::Passing {
                    left: n,
                    ends: true,
                }
            }
            Step::Opaque => lane.position = Position::Opaque,
            // A session that asks for what it cannot get, or makes no progress, is lost.
            Step::Need(_) | Step::Pass(_) | Step::End(_) | Step::Lost | Step::Skip => {
                lane.position = Position::Lost;
                let span = lane.span.take();
                self.session.abandon(cx, d, span, None);
            }
        }
    }

    /// Lets bytes of `run` pass, and returns how many did.
    fn pass(&mut self, cx: &mut Context<'_>, d: Direction, mut run: Run) -> u64 {
        let lane = self.lane(d);
        let Position::Passing { left, .. } = lane.position else {
            return 0;
        };
        run.length = run.length.min(left);
        lane.cover(&run);
        self.passed(cx, d, run.length);
        run.length
    }

    /// `n` bytes have passed and are in the span.
    fn passed(&mut self, cx: &mut Context<'_>, d: Direction, n: u64) {
        let lane = self.lanes.of_mut(d);
        let Position::Passing { left, ends } = lane.position else {
            return;
        };
        let left = left.saturating_sub(n);
        if left > 0 {
            lane.position = Position::Passing { left, ends };
            return;
        }
        lane.position = Position::Look;
        // Lent, not taken: spans are large, and there is one for every message.
        if ends && let Some(span) = &lane.span {
            self.session.complete(cx, d, span);
            lane.span = None;
        }
    }

    /// `length` bytes of a direction cannot be seen; `run` is their packet, where it is known.
    fn hole(
        &mut self,
        cx: &mut Context<'_>,
        d: Direction,
        kind: Hole,
        run: Option<Run>,
        length: u64,
    ) {
        self.show_held(cx, d);
        let mut left = length;
        let mut run = run;
        while left > 0 {
            if self.lane(d).position == Position::Look && self.lane(d).span.is_some() {
                // In the middle of a frame the session wants to look where there is nothing to see.
                let step = self.session.step(cx, d, &[], More::No);
                self.turn(cx, d, step);
            }
            let lane = self.lane(d);
            let Position::Passing { left: passing, .. } = lane.position else {
                break;
            };
            let n = passing.min(left);
            match &mut run {
                Some(run) => {
                    lane.cover(&Run { length: n, ..*run });
                    *run = run.after(n);
                }
                None => {
                    if let Some(span) = &mut lane.span {
                        span.bytes += n;
                        span.end_missing = true;
                    }
                }
            }
            left -= n;
            self.passed(cx, d, n);
        }
        if left > 0 {
            let lane = self.lane(d);
            let was = lane.position;
            let span = lane.span.take();
            // Whoever follows its turns takes what comes behind.
            if was == Position::Opaque {
                return;
            }
            if was != Position::Skipping {
                lane.position = Position::Lost;
            }
            if !matches!(was, Position::Lost | Position::Skipping) {
                self.session.abandon(cx, d, span, None);
            }
            if let Some(run) = run {
                self.session.skipped(cx, d, &run);
            }
            self.session.hole(d, kind, cx.now);
        }
    }
}

/// The first `n` bytes and those behind them, if so many are there.
fn whole(bytes: &[u8], n: u64) -> Option<(&[u8], &[u8])> {
    let n = usize::try_from(n).ok().filter(|n| *n > 0)?;
    bytes.split_at_checked(n)
}

#[cfg(test)]
mod tests;
