//! Packets, held against tshark's: the driver and the session of the engine, with a session around it
//! that counts what passes.

use crate::{all, name};
use capture::Capture;
use model::{Batch, Chunk, Close, Direction, Episode, Mark, Problems, Time};
use net::{Connection, Decoder, Handler, Tracker};
use protocol::driver::Driver;
use protocol::session::{Hole, Kept, More, Run, Session, Span, Step};
use protocol::{ConnectionInfo, Context, Output, Shared};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};

/// What passed: packets by type, their bytes, and bytes that were in none.
#[derive(Default, Debug)]
struct Passed {
    packets: BTreeMap<u8, u64>,
    framed: u64,
    skipped: u64,
}

/// Counts what the session it wraps says.
struct Counting {
    inner: Box<dyn Session>,
    kinds: [Option<u8>; 2],
    passed: Arc<Mutex<Passed>>,
}

impl Session for Counting {
    fn step(&mut self, cx: &mut Context<'_>, d: Direction, bytes: &[u8], more: More) -> Step {
        let step = self.inner.step(cx, d, bytes, more);
        let kind = &mut self.kinds[d.index()];
        if kind.is_none() && matches!(step, Step::Pass(_) | Step::End(_)) {
            *kind = bytes.get(4).copied();
        }
        step
    }

    fn complete(&mut self, cx: &mut Context<'_>, d: Direction, span: &Span) {
        let kind = self.kinds[d.index()].take().expect("a packet began");
        let mut passed = self.passed.lock().expect("one thread");
        *passed.packets.entry(kind).or_default() += 1;
        passed.framed += span.bytes;
        drop(passed);
        self.inner.complete(cx, d, span);
    }

    fn resync(
        &mut self,
        cx: &mut Context<'_>,
        d: Direction,
        bytes: &[u8],
        at_start: bool,
        wire: u64,
    ) -> Option<usize> {
        self.inner.resync(cx, d, bytes, at_start, wire)
    }

    fn abandon(
        &mut self,
        cx: &mut Context<'_>,
        d: Direction,
        span: Option<Span>,
        close: Option<Close>,
    ) {
        self.kinds[d.index()] = None;
        self.passed.lock().expect("one thread").skipped += span.map_or(0, |s| s.bytes);
        self.inner.abandon(cx, d, span, close);
    }

    fn skipped(&mut self, cx: &mut Context<'_>, d: Direction, run: &Run) {
        self.passed.lock().expect("one thread").skipped += run.length;
        self.inner.skipped(cx, d, run);
    }

    fn hole(&mut self, d: Direction, hole: Hole, at: Time) {
        self.inner.hole(d, hole, at);
    }

    fn datagram(&mut self, _: &mut Context<'_>, _: Direction, _: &[u8], _: Span) {}

    fn kept(&self) -> Kept {
        self.inner.kept()
    }

    fn close(&mut self, cx: &mut Context<'_>, why: Close) {
        self.inner.close(cx, why);
    }
}

/// Hands the bytes of TCP connections to the session, whatever they speak.
#[derive(Default)]
struct Feed {
    passed: Arc<Mutex<Passed>>,
    output: Output,
    problems: Problems,
    shared: Shared,
    bytes: u64,
    /// What clients sent, or servers, if the capture has it the other way round.
    sent: Vec<u8>,
}

fn info(c: &Connection) -> ConnectionInfo {
    ConnectionInfo {
        id: c.id,
        transport: c.transport,
        client: c.client,
        server: c.server,
        roles_known: c.roles_known,
    }
}

impl Feed {
    fn with(
        &mut self,
        c: &Connection,
        (order, now): (u64, Time),
        f: impl FnOnce(&mut Context<'_>),
    ) {
        f(&mut Context {
            connection: &info(c),
            output: &mut self.output,
            problems: &mut self.problems,
            shared: &mut self.shared,
            order,
            now,
        });
    }
}

impl Handler for Feed {
    type State = Driver;
    type Rest = ();

    fn rest(&mut self, _: &mut Driver) {}

    fn open(&mut self, connection: &Connection) -> Driver {
        Driver::new(Box::new(Counting {
            inner: (protocol::tns::ENTRY.session)(&info(connection)),
            kinds: [None; 2],
            passed: Arc::clone(&self.passed),
        }))
    }

    fn data(&mut self, c: &Connection, driver: &mut Driver, d: Direction, chunk: &Chunk<'_>) {
        self.bytes += chunk.data.len() as u64 + u64::from(chunk.cut);
        if d == Direction::ToServer {
            self.sent.extend_from_slice(chunk.data);
        }
        self.with(c, (chunk.order, chunk.now), |cx| {
            assert!(driver.data(cx, d, chunk).is_none(), "nothing is encrypted");
        });
    }

    fn gap(
        &mut self,
        c: &Connection,
        driver: &mut Driver,
        d: Direction,
        length: u64,
        at: Mark,
        order: u64,
    ) {
        self.with(c, (order, at.time), |cx| driver.gap(cx, d, length));
    }

    fn datagram(&mut self, _: &Connection, _: &mut Driver, _: Direction, _: &Chunk<'_>, _: Mark) {}

    fn episode(&mut self, _: &Connection, _: &mut Driver, _: Episode) {}

    fn close(
        &mut self,
        c: &Connection,
        mut driver: Driver,
        summary: model::ConnectionSummary,
        order: u64,
        now: Time,
    ) {
        let _ = summary;
        self.with(c, (order, now), |cx| driver.close(cx, Close::EndOfCapture));
    }
}

/// What clients sent, one after the other.
pub(crate) fn client_bytes(path: &Path) -> Vec<u8> {
    feed(path).sent
}

/// What passed, and the bytes that the connections carried.
fn framed(path: &Path) -> (Passed, u64) {
    let feed = feed(path);
    let passed = std::mem::take(&mut *feed.passed.lock().expect("one thread"));
    (passed, feed.bytes)
}

fn feed(path: &Path) -> Feed {
    let mut capture = Capture::open(&[path.to_owned()]).expect("a capture");
    let (mut decoder, mut tracker) = (Decoder::new(&[]), Tracker::new(Feed::default()));
    let (mut batch, mut segments) = (Batch::default(), Vec::new());
    let mut order = 0;
    while capture.next_batch(&mut batch).expect("a batch") {
        segments.clear();
        decoder.decode(&mut batch, &mut segments);
        for segment in &segments {
            order = segment.order;
            tracker.segment(segment, &batch.bytes);
        }
    }
    tracker.finish(order + 1).0
}

/// Packets by type, as tshark dissects them. Retransmitted ones are not dissected again.
fn tshark(path: &Path) -> Option<BTreeMap<u8, u64>> {
    if !testkit::at_hand::has("tshark") {
        return None;
    }
    let output = Command::new("tshark")
        .args(["-r"])
        .arg(path)
        // Sessions on the port of another service.
        .args(["-d", "tcp.port==49161,tns"])
        .args(["-Y", "tns", "-T", "fields", "-e", "tns.type"])
        .output()
        .expect("tshark runs");
    let mut packets = BTreeMap::new();
    for kind in String::from_utf8_lossy(&output.stdout)
        .split([',', '\n'])
        .filter(|k| !k.is_empty())
    {
        *packets.entry(kind.parse().expect("a type")).or_default() += 1;
    }
    Some(packets)
}

/// Captures in which tshark counts other packets, and why.
const DIFFERS: [(&str, &str); 1] = [(
    "trex-tun_oracle_0_fixed.pcap",
    "frame 6: behind the CONNECT of 246 bytes stands one byte too many, which tshark takes for the start \
     of a packet that never ends: it reads nothing more of the client",
)];

/// Captures with bytes that are in no packet: how many, and why.
const ASTRAY: [(&str, u64, &str); 3] = [
    (
        "trex-delay_10_oracle_0.pcap",
        9,
        "frame 5: the byte behind the CONNECT, and frame 6, a RESEND that the client sends: the two \
         connections of a redirection were written as one",
    ),
    ("trex-delay_oracle_0.pcap", 9, "as above"),
    (
        "trex-tun_oracle_0_fixed.pcap",
        1,
        "frame 6: the byte behind the CONNECT",
    ),
];

#[test]
fn every_byte_is_in_a_packet() {
    for path in all() {
        let (passed, bytes) = framed(&path);
        let astray = ASTRAY.iter().find(|(file, ..)| *file == name(&path));
        let astray = astray.map_or(0, |(_, bytes, _)| *bytes);
        assert_eq!(
            (passed.framed, passed.skipped),
            (bytes - astray, astray),
            "{}: {passed:?}",
            name(&path)
        );
    }
}

#[test]
fn packets_are_those_of_tshark() {
    for path in all() {
        let (ours, _) = framed(&path);
        let Some(theirs) = tshark(&path) else { return };
        let differs = DIFFERS.iter().any(|(file, _)| *file == name(&path));
        assert_eq!(
            ours.packets != theirs,
            differs,
            "{}: {ours:?} {theirs:?}",
            name(&path)
        );
    }
}
