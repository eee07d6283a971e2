//! One connection of ONC-RPC: cuts its stream into messages (RFC 5531 section 11) and reads as much
//! of each as its kind needs.

use super::body;
use super::header::{self, CALL, Header, REPLY, RecordMark, ReplyHeader};
use super::pairing::{Early, Pairing};
use super::pending::Pending;
use super::program::HEAD;
use super::resync::{self, WHOLE_HEADER};
use super::tls::{Record, Turns};
use crate::list::Entry;
use crate::nfs;
use crate::session::{Both, Context, Hole, Kept, More, Run, Session as SessionTrait, Span, Step};
use model::{Close, Direction, Outcome, Protocol, Reason, Time};

/// ONC-RPC in the list of protocols.
pub const ENTRY: Entry = Entry {
    name: "rpc",
    probe: resync::probe,
    session: |_| Box::new(Session::default()),
};

/// What is collected of an NFSv2 or NFSv3 call: credentials of 400 bytes at most and a WRITE's own
/// fields. Less than [`HEAD`], so that fewer messages that start at the end of a segment are copied.
const SMALL_CALL: usize = 576;
/// What is collected of a reply where no compounds were seen: a verifier and a READ's own fields.
const SMALL_REPLY: usize = 256;
/// Message type, programme and version decide which of these it is, and the procedure where names are
/// wanted: two of them take more than a READ's or WRITE's own fields.
const KIND: usize = 20;
const KIND_OF_NAMED: usize = 24;

/// Bytes that one entry of a directory may take.
const ENTRY_BYTES: usize = 4_096;

/// Segments that look like TLS from which on a connection that the capture joins is taken for it.
const TLS_SEGMENTS: u8 = 4;

/// A message whose header has been read and whose end has not passed; its span is filled in then.
#[derive(Debug)]
enum Message {
    Call(Box<Pending>),
    /// The call that it answers.
    Reply(Box<Pending>),
    /// A reply whose call has not been seen, or that is to tell what its call is.
    Early(Box<Early>),
}

/// Where in a record a direction stands.
#[derive(Clone, Copy, Default, Debug)]
enum Phase {
    /// At a record mark.
    #[default]
    Mark,
    /// Behind the data of a compound's WRITE, `at` bytes into a message of `length`.
    Tail { at: u64, length: u64 },
    /// At an entry of a directory, likewise.
    Entry { at: u64, length: u64 },
}

/// A message in several fragments: its start, and what of it has passed.
#[derive(Default, Debug)]
struct Fragments {
    head: Vec<u8>,
    passed: Option<Span>,
    /// Whether the fragment that is passing is the record's last.
    last: bool,
}

#[derive(Default, Debug)]
struct Lane {
    phase: Phase,
    message: Option<Message>,
    fragments: Option<Fragments>,
}

/// One connection.
#[derive(Default, Debug)]
pub(super) struct Session {
    lanes: Both<Lane>,
    pairing: Pairing,
    /// Whether RPC was seen for certain, so that less of a header will do.
    pub(super) confirmed: bool,
    /// Whether NFSv4 was seen, whose replies are long.
    compounds: bool,
    tls: Option<Turns>,
    tls_segments: u8,
}

impl Session {
    /// How much of a message, of which `message` is the start, is collected before it is read.
    fn wanted(&self, message: &[u8], names: bool) -> usize {
        let word = |at| header::word(message, at);
        match (word(4), word(12), word(16)) {
            (Some(REPLY), ..) if !self.compounds => SMALL_REPLY,
            (Some(CALL), Some(100_003), Some(version @ (2 | 3))) if names => {
                match (version, word(20)) {
                    (2, Some(6 | 8)) | (3, Some(6 | 7)) => SMALL_CALL,
                    (_, Some(_)) => HEAD,
                    _ => KIND_OF_NAMED,
                }
            }
            (Some(CALL), Some(100_003), Some(2 | 3)) => SMALL_CALL,
            (Some(_), Some(_), Some(_)) => HEAD,
            _ => KIND,
        }
    }

    /// Reads the start of a message. `None`: it is not one.
    fn read(&mut self, cx: &mut Context<'_>, d: Direction, head: &[u8]) -> Option<Message> {
        let header = match header::parse(head)? {
            // Only the direction can tell which half this is.
            Header::XidOnly { xid } if d == Direction::ToServer => {
                Header::Call(header::CallHeader::with_xid(xid))
            }
            Header::XidOnly { xid } => Header::Reply(ReplyHeader::with_xid(xid)),
            header => header,
        };
        Some(match header {
            Header::XidOnly { .. } => return None,
            Header::Call(call) => {
                let mut pending = cx.shared.rpc.blank();
                pending.connection = cx.connection.id;
                pending.direction = d;
                pending.xid = call.xid;
                pending.program = call.program.unwrap_or(0);
                pending.version = call.version.unwrap_or(0);
                pending.procedure = call.procedure.unwrap_or(0);
                pending.security = call.security;
                body::arguments(&call, head, cx.output, &mut pending);
                self.compounds |= matches!(
                    pending.arguments.protocol,
                    Protocol::Nfs40 | Protocol::Nfs41 | Protocol::Nfs42 | Protocol::NfsCallback
                );
                Message::Call(pending)
            }
            Header::Reply(header) => {
                let results = header
                    .body
                    .and_then(|at| head.get(at..))
                    .unwrap_or_default();
                let key = (cx.connection.id, d.reverse(), header.xid);
                let named = |call: &Pending| !(self.pairing.watching && call.is_unnamed());
                match cx.shared.rpc.remove_if(key, named) {
                    Some(mut call) => {
                        call.outcome = body::outcome(&header, results, &mut call);
                        if call.walk.is_some() {
                            let from = (cx.order, cx.connection.id);
                            body::file_names(&header, results, &mut call, from, cx.output);
                        }
                        Message::Reply(call)
                    }
                    None => Message::Early(Box::new(Early {
                        header,
                        results: results.to_vec(),
                        span: Span::NOTHING,
                        direction: d,
                        missing: Reason::CaptureGap,
                        inferred: false,
                    })),
                }
            }
        })
    }

    /// A whole message has passed; or all there will be of it, with its end missing for a reason.
    fn finish(&mut self, cx: &mut Context<'_>, message: Message, span: &Span, missing: Reason) {
        self.confirmed = true;
        match message {
            Message::Call(mut call) => {
                call.request = *span;
                self.pairing
                    .passed(cx, call.direction, true, call.xid, span);
                self.pairing.request(cx, call);
            }
            Message::Reply(mut call) => {
                let d = call.direction.reverse();
                self.pairing.passed(cx, d, false, call.xid, span);
                self.pairing.learn(&call, span);
                self.pairing.reply(cx, &mut call, span, missing);
                if call.security == header::Security::Tls && call.outcome == Outcome::Ok {
                    self.tls = Some(Turns::begin(cx));
                }
                cx.shared.rpc.recycle(call);
            }
            Message::Early(mut early) => {
                early.span = *span;
                early.missing = missing;
                let (d, xid) = (early.direction, early.header.xid);
                self.pairing.passed(cx, d, false, xid, span);
                if !self.pairing.names(cx, &early) {
                    self.pairing.early_reply(cx, early);
                }
            }
        }
    }

    /// One fragment of a record of several: collects the start of the message.
    fn fragment(
        &mut self,
        cx: &mut Context<'_>,
        d: Direction,
        mark: RecordMark,
        bytes: &[u8],
        more: More,
    ) -> Step {
        let fragments = self.lanes.of_mut(d).fragments.get_or_insert_default();
        let missing = HEAD.saturating_sub(fragments.head.len());
        let wanted = RecordMark::BYTES + missing.min(mark.length as usize);
        if bytes.len() < wanted && more == More::Yes {
            return Step::Need(wanted);
        }
        let shown = bytes.get(..wanted).unwrap_or(bytes);
        let part = shown.get(RecordMark::BYTES..).unwrap_or_default();
        fragments.head.extend_from_slice(part);
        fragments.last = mark.last;
        if mark.last {
            let head = std::mem::take(&mut fragments.head);
            let Some(message) = self.read(cx, d, &head) else {
                return Step::Lost;
            };
            self.lanes.of_mut(d).message = Some(message);
        }
        Step::End(RecordMark::BYTES as u64 + u64::from(mark.length))
    }

    /// The compound goes on behind the data of its WRITE.
    fn tail(&mut self, d: Direction, at: u64, length: u64, bytes: &[u8], more: More) -> Step {
        let wanted = (length - at).min(HEAD as u64) as usize;
        if bytes.len() < wanted && more == More::Yes {
            return Step::Need(wanted);
        }
        let lane = self.lanes.of_mut(d);
        if let Some(Message::Call(call)) = &mut lane.message {
            body::arguments_tail(call, bytes.get(..wanted).unwrap_or(bytes));
            match call.arguments.tail_at {
                Some(next) if at < next && next < length => {
                    lane.phase = Phase::Tail { at: next, length };
                    return Step::Pass(next - at);
                }
                _ => {}
            }
        }
        lane.phase = Phase::Mark;
        Step::End(length - at)
    }

    /// The reply goes on with entries of a directory.
    fn entries(
        &mut self,
        cx: &mut Context<'_>,
        d: Direction,
        (at, length): (u64, u64),
        bytes: &[u8],
        more: More,
    ) -> Step {
        let left = (length - at).min(usize::MAX as u64) as usize;
        let shown = bytes.get(..left).unwrap_or(bytes);
        let lane = self.lanes.of_mut(d);
        let from = (cx.order, cx.connection.id);
        let listing = match &lane.message {
            Some(Message::Reply(call)) => call.listing.as_deref(),
            _ => None,
        };
        let read = listing.and_then(|listing| {
            (cx.output).name_files(from, |tell| nfs::entries(listing, shown, tell))
        });
        let (read, goes_on) = read.unwrap_or((0, false));
        if goes_on && read > 0 && read < left {
            let at = at + read as u64;
            lane.phase = Phase::Entry { at, length };
            return Step::Pass(read as u64);
        }
        let wanted = (2 * shown.len()).clamp(HEAD, ENTRY_BYTES).min(left);
        if goes_on && wanted > shown.len() && more == More::Yes {
            return Step::Need(wanted);
        }
        lane.phase = Phase::Mark;
        Step::End(length - at)
    }

    fn record(&mut self, cx: &mut Context<'_>, d: Direction, bytes: &[u8], more: More) -> Step {
        let Some(mark) = RecordMark::parse(bytes) else {
            return match more {
                More::Yes => Step::Need(RecordMark::BYTES),
                More::No => Step::Lost,
            };
        };
        let in_fragments = self.lanes.of(d).fragments.is_some();
        let ends_fragments = in_fragments && mark.length == 0;
        if !mark.is_believable() && !ends_fragments {
            return Step::Lost;
        }
        if !mark.last || in_fragments {
            return self.fragment(cx, d, mark, bytes, more);
        }
        let message = bytes.get(RecordMark::BYTES..).unwrap_or_default();
        let names = cx.output.file_names.is_some();
        let wanted = self.wanted(message, names).min(mark.length as usize);
        if message.len() < wanted && more == More::Yes {
            return Step::Need(RecordMark::BYTES + wanted);
        }
        let head = message.get(..wanted).unwrap_or(message);
        let Some(message) = self.read(cx, d, head) else {
            return Step::Lost;
        };
        let (tail, entries) = match &message {
            Message::Call(call) => (call.arguments.tail_at, None),
            Message::Reply(call) => (None, call.listing.as_ref().map(|l| l.at as u64)),
            Message::Early(_) => (None, None),
        };
        let length = u64::from(mark.length);
        let lane = self.lanes.of_mut(d);
        lane.message = Some(message);
        let mark = RecordMark::BYTES as u64;
        match (tail, entries) {
            (Some(at), _) if at < length => {
                lane.phase = Phase::Tail { at, length };
                Step::Pass(mark + at)
            }
            (_, Some(at)) if at < length => {
                lane.phase = Phase::Entry { at, length };
                Step::Pass(mark + at)
            }
            _ => Step::End(mark + length),
        }
    }

    /// Whether a connection on which RPC was never seen looks like TLS: the capture may have begun
    /// after the switch.
    fn looks_like_tls(&mut self, cx: &mut Context<'_>, bytes: &[u8], at_start: bool) -> bool {
        if self.confirmed || !at_start || self.tls_segments == TLS_SEGMENTS {
            return false;
        }
        if Record::parse(bytes).is_none() {
            self.tls_segments = 0;
            return false;
        }
        self.tls_segments += 1;
        if self.tls_segments == TLS_SEGMENTS {
            self.tls = Some(Turns::join(cx));
        }
        self.tls.is_some()
    }
}

impl SessionTrait for Session {
    fn step(&mut self, cx: &mut Context<'_>, d: Direction, bytes: &[u8], more: More) -> Step {
        if more == More::No {
            self.pairing.watch();
        }
        if let Some(turns) = &mut self.tls {
            let switched = turns.has_begun()
                || bytes.is_empty()
                || matches!(bytes, [22, 3, ..] | [22])
                || Record::parse(bytes).is_some_and(Record::is_handshake);
            if switched {
                return turns.step(d, bytes, more);
            }
            self.tls = None;
        }
        match self.lanes.of(d).phase {
            Phase::Tail { at, length } => self.tail(d, at, length, bytes, more),
            Phase::Entry { at, length } => self.entries(cx, d, (at, length), bytes, more),
            Phase::Mark => self.record(cx, d, bytes, more),
        }
    }

    fn complete(&mut self, cx: &mut Context<'_>, d: Direction, span: &Span) {
        if let Some(turns) = &mut self.tls
            && turns.has_begun()
        {
            return turns.complete(cx, d, span);
        }
        let lane = self.lanes.of_mut(d);
        let mut whole = None;
        if let Some(fragments) = &mut lane.fragments {
            match &mut fragments.passed {
                Some(passed) => passed.extend(span),
                None => fragments.passed = Some(*span),
            }
            if !fragments.last {
                return;
            }
            whole = fragments.passed;
            lane.fragments = None;
        }
        if let Some(message) = lane.message.take() {
            let span = whole.as_ref().unwrap_or(span);
            self.finish(cx, message, span, Reason::CaptureGap);
        }
    }

    fn resync(
        &mut self,
        cx: &mut Context<'_>,
        d: Direction,
        bytes: &[u8],
        at_start: bool,
        wire: u64,
    ) -> Option<usize> {
        if self.tls.is_some() || self.looks_like_tls(cx, bytes, at_start) {
            return (at_start && Record::parse(bytes).is_some()).then_some(0);
        }
        resync::find(self, cx, d, bytes, at_start, wire)
    }

    fn abandon(
        &mut self,
        cx: &mut Context<'_>,
        d: Direction,
        span: Option<Span>,
        close: Option<Close>,
    ) {
        let lane = self.lanes.of_mut(d);
        lane.phase = Phase::Mark;
        let passed = lane.fragments.take().and_then(|f| f.passed);
        let message = lane.message.take();
        let Some(mut span) = span.or(passed) else {
            return;
        };
        let Some(message) = message else {
            return self.pairing.lose(d, cx.now);
        };
        span.end_missing = true;
        let missing = match close {
            None => self.pairing.last_hole(d).unwrap_or(Reason::CaptureGap),
            Some(close) => close.reason(),
        };
        self.finish(cx, message, &span, missing);
        self.pairing.lose(d, cx.now);
    }

    fn skipped(&mut self, cx: &mut Context<'_>, d: Direction, run: &Run) {
        self.pairing.skipped(cx, d, run);
    }

    fn hole(&mut self, d: Direction, hole: Hole, at: Time) {
        self.pairing.hole(d, hole, at);
        if let Some(turns) = &mut self.tls {
            turns.hole(hole);
        }
    }

    fn datagram(&mut self, cx: &mut Context<'_>, d: Direction, bytes: &[u8], span: Span) {
        let head = bytes.get(..HEAD).unwrap_or(bytes);
        let believable = match header::parse(head) {
            Some(Header::Call(call)) => {
                head.len() < WHOLE_HEADER || header::call_is_believable(&call)
            }
            Some(Header::Reply(_)) => true,
            _ => false,
        };
        if believable && let Some(message) = self.read(cx, d, head) {
            if let Message::Reply(call) = &message
                && let Some(listing) = &call.listing
            {
                let rest = bytes.get(listing.at..).unwrap_or_default();
                let from = (cx.order, cx.connection.id);
                (cx.output).name_files(from, |tell| nfs::entries(listing, rest, tell));
            }
            self.finish(cx, message, &span, Reason::CaptureGap);
        }
    }

    /// With the calls that wait in its name.
    fn kept(&self) -> Kept {
        self.pairing.kept(Kept::of(self))
    }

    fn close(&mut self, cx: &mut Context<'_>, why: Close) {
        if let Some(turns) = &mut self.tls {
            turns.finish(cx);
        }
        self.pairing.close(cx, why);
    }
}
