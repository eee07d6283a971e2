//! Scripted NFSv3 conversations with their truth, and the engine's view of their packets.
//!
//! All bytes of a message leave at one moment, and bare acknowledgements part messages that leave at
//! different ones; so however a stream is cut into segments, every byte keeps its time.

use analysis::results::Diagnosis;
use model::{Call, Detail, Field, LinkType, Name};
use slowside::{Captures, Config, diagnose, each_call};
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use testkit::{Conversation, Format, Frame, Random, TestPacket, faults, pcap, rpc};

pub(crate) const MILLISECOND: i64 = 1_000_000;
pub(crate) const SECOND: i64 = 1_000 * MILLISECOND;

/// Added to times where clocks are set back: a file cannot hold times before 1970.
pub(crate) const EPOCH: i64 = 1_700_000_000 * SECOND;

/// A file that is gone with the test.
pub(crate) struct TempFile(pub(crate) PathBuf);

impl TempFile {
    pub(crate) fn new(bytes: &[u8]) -> TempFile {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("engine-{}-{number}.pcap", std::process::id());
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::write(&path, bytes).expect("cargo's folder for tests");
        TempFile(path)
    }

    /// The packets as a file with nanoseconds.
    pub(crate) fn capture(packets: &[TestPacket]) -> TempFile {
        let format = Format {
            nanoseconds: true,
            ..Format::default()
        };
        TempFile::new(&pcap(packets, LinkType(1), format))
    }

    pub(crate) fn paths(&self) -> Vec<PathBuf> {
        vec![self.0.clone()]
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        // A file that stays behind is overwritten by the next run.
        let _ = fs::remove_file(&self.0);
    }
}

/// A call as it should be, or as the engine says it is.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Row {
    pub(crate) id: u32,
    pub(crate) op: String,
    pub(crate) outcome: String,
    /// Request first and last byte, response first and last byte.
    pub(crate) times: [Option<i64>; 4],
    pub(crate) request_bytes: u64,
    pub(crate) response_bytes: u64,
    pub(crate) outstanding: u32,
    pub(crate) offset: Option<u64>,
}

impl Row {
    fn of(c: &Call) -> Row {
        let marks = [
            c.request_first,
            c.request_last,
            c.response_first,
            c.response_last,
        ];
        let op: &Name = &c.op;
        let detail: &Detail = &c.detail;
        Row {
            id: c.id,
            op: op.to_string(),
            outcome: c.outcome.name().to_owned(),
            times: marks.map(|m| m.map(|m| m.time.0)),
            request_bytes: c.request_bytes,
            response_bytes: c.response_bytes,
            outstanding: c.outstanding,
            offset: detail.get(Field::Offset),
        }
    }

    pub(crate) fn is_complete(&self) -> bool {
        !matches!(
            self.outcome.as_str(),
            "no-request" | "no-response" | "incomplete"
        )
    }

    /// What does not depend on when packets came.
    pub(crate) fn without_times(&self) -> Row {
        Row {
            times: [None; 4],
            outstanding: 0,
            ..self.clone()
        }
    }
}

/// The calls the engine finds, in the order of request and id.
pub(crate) fn rows(inputs: &[PathBuf], threads: usize) -> Vec<Row> {
    let config = Config {
        threads,
        ..Config::default()
    };
    let mut rows = Vec::new();
    let mut sink = |call: &Call, _: &[String]| {
        rows.push(Row::of(call));
        Ok(())
    };
    each_call(inputs, &config, &mut sink, &mut |_| ()).expect("a readable capture");
    rows.sort_by_key(|r| (r.times, r.id));
    rows
}

/// What `diagnose` says of these captures.
pub(crate) fn diagnosis(captures: &Captures) -> Diagnosis {
    let config = Config {
        threads: 1,
        ..Config::default()
    };
    diagnose(captures, &config, &mut |_| ()).expect("readable captures")
}

/// What `diagnose` says of two captures of which nobody said where they were taken.
pub(crate) fn diagnosis_of(a: &[TestPacket], b: &[TestPacket]) -> Diagnosis {
    let (a, b) = (TempFile::capture(a), TempFile::capture(b));
    diagnosis(&Captures::Two(a.paths(), b.paths()))
}

pub(crate) fn rows_of(packets: &[TestPacket]) -> Vec<Row> {
    rows(&TempFile::capture(packets).paths(), 1)
}

/// What one host says at a moment: messages of which each is one record.
struct Burst {
    from_client: bool,
    at: i64,
    bytes: Vec<u8>,
}

/// A conversation and what is true of it.
pub(crate) struct Script {
    client: SocketAddr,
    server: SocketAddr,
    bursts: Vec<Burst>,
    round_trip_ns: i64,
    /// In the order of request and id.
    pub(crate) truth: Vec<Row>,
}

/// How a script's bytes are cut into segments.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wire {
    pub(crate) mss: usize,
    /// Initial sequence numbers.
    pub(crate) sequences: (u32, u32),
    pub(crate) handshake: bool,
}

impl Default for Wire {
    fn default() -> Wire {
        Wire {
            mss: 1460,
            sequences: (1000, 70_000),
            handshake: true,
        }
    }
}

/// What a script is made of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) calls: u32,
    /// Outstanding at the same time.
    pub(crate) pipelined: usize,
    /// XIDs before they begin again.
    pub(crate) ids: u32,
    /// Bytes of READs and WRITEs, at most.
    pub(crate) bytes: u64,
    /// Requests that leave in one moment, at most.
    pub(crate) at_once: u64,
    /// Calls of a thousand that fail.
    pub(crate) failing: u32,
    /// From the point of capture to the client and back. Nobody answers what cannot have arrived.
    pub(crate) round_trip_ns: i64,
}

impl Default for Plan {
    fn default() -> Plan {
        Plan {
            calls: 30,
            pipelined: 6,
            ids: u32::MAX,
            bytes: 20_000,
            at_once: 3,
            failing: 100,
            round_trip_ns: 0,
        }
    }
}

/// A call that waits for its reply.
struct Open {
    row: Row,
    reply: Vec<u8>,
}

impl Script {
    /// READs, WRITEs and GETATTRs, some answered with an error, between two hosts.
    pub(crate) fn new(plan: Plan, random: &mut Random) -> Script {
        let (client, server) = (([10, 0, 0, 1], 1000).into(), ([10, 0, 0, 2], 2049).into());
        Script::between(client, server, plan, random)
    }

    pub(crate) fn between(
        client: SocketAddr,
        server: SocketAddr,
        plan: Plan,
        random: &mut Random,
    ) -> Script {
        let mut script = Script {
            client,
            server,
            bursts: Vec::new(),
            round_trip_ns: plan.round_trip_ns,
            truth: Vec::new(),
        };
        let mut open: Vec<Open> = Vec::new();
        let (mut sent, mut id, mut at) = (0, 0, 2 * SECOND);
        while sent < plan.calls || !open.is_empty() {
            at += plan.round_trip_ns + 1_000 + random.below(5 * MILLISECOND as u64) as i64;
            let room = plan.pipelined - open.len();
            let ask = sent < plan.calls && room > 0 && (open.is_empty() || random.chance(500));
            let mut bytes = Vec::new();
            if ask {
                let left = u64::from(plan.calls - sent);
                for _ in 0..=random.below(left.min(room as u64).min(plan.at_once)) {
                    // Clients do not use an id again that waits for its reply.
                    while open.iter().any(|o| o.row.id == id) {
                        id = (id + 1) % plan.ids;
                    }
                    let (request, call) = ask_for(id, at, plan, random);
                    bytes.extend(request);
                    open.push(call);
                    id = (id + 1) % plan.ids;
                    let outstanding = open.len() as u32;
                    if let Some(call) = open.last_mut() {
                        call.row.outstanding = outstanding;
                    }
                    sent += 1;
                }
            } else {
                for _ in 0..=random.below(open.len().min(3) as u64) {
                    let Open { mut row, reply } =
                        open.remove(random.below(open.len() as u64) as usize);
                    row.times[2] = Some(at);
                    row.times[3] = Some(at);
                    bytes.extend(reply);
                    script.truth.push(row);
                }
            }
            script.bursts.push(Burst {
                from_client: ask,
                at,
                bytes,
            });
        }
        script.truth.sort_by_key(|r| (r.times, r.id));
        script
    }

    /// The packets that say it.
    pub(crate) fn packets(&self, wire: Wire) -> Vec<TestPacket> {
        let mut c = Conversation::new(self.client, self.server);
        c.mss(wire.mss)
            .sequences(wire.sequences.0, wire.sequences.1);
        c.spacing(0);
        if wire.handshake {
            c.syn().syn_ack().after(self.round_trip_ns).client_ack();
        }
        for burst in &self.bursts {
            c.at(burst.at);
            if burst.from_client {
                c.client(&burst.bytes).server_ack();
            } else {
                c.server(&burst.bytes);
                c.after(self.round_trip_ns).client_ack();
            }
        }
        c.packets()
    }

    /// What captures at the client and at the server hold, with the script's times at the server
    /// and `out_ns` of its round trip on the way there.
    pub(crate) fn ends(&self, wire: Wire, out_ns: i64) -> [Vec<TestPacket>; 2] {
        let at_server = faults::clock(&self.packets(wire), EPOCH, 0);
        let left = faults::delay(&at_server, self.client, -out_ns);
        let at_client = faults::delay(&left, self.server, self.round_trip_ns - out_ns);
        [at_client, at_server]
    }
}

/// A request with its record mark, and what is to come of it.
fn ask_for(id: u32, at: i64, plan: Plan, random: &mut Random) -> (Vec<u8>, Open) {
    let file = [random.below(4) as u8; 32];
    let offset = random.below(1 << 40);
    let data = vec![random.below(256) as u8; random.below(plan.bytes) as usize];
    let count = data.len() as u32;
    let fails = random.chance(plan.failing);
    let (op, procedure, request, reply) = match random.below(3) {
        0 => (
            "GETATTR",
            rpc::GETATTR,
            rpc::getattr_call(id, &file),
            rpc::getattr_reply(id),
        ),
        1 => (
            "READ",
            rpc::READ,
            rpc::read_call(id, &file, offset, count),
            rpc::read_reply(id, &data, false),
        ),
        _ => (
            "WRITE",
            rpc::WRITE,
            rpc::write_call(id, &file, offset, &data, 2),
            rpc::write_reply(id, count),
        ),
    };
    let reply = if fails {
        rpc::error_reply(id, procedure, 5)
    } else {
        reply
    };
    let (request, reply) = (rpc::record(&request), rpc::record(&reply));
    let row = Row {
        id,
        op: op.into(),
        outcome: if fails { "NFS3ERR_IO" } else { "ok" }.to_owned(),
        times: [Some(at), Some(at), None, None],
        request_bytes: request.len() as u64,
        response_bytes: reply.len() as u64,
        outstanding: 0,
        offset: (op != "GETATTR").then_some(offset),
    };
    (request, Open { row, reply })
}

/// Brings packets of one moment and one sender into another order.
pub(crate) fn shuffle_moments(packets: &[TestPacket], random: &mut Random) -> Vec<TestPacket> {
    let sender = |p: &TestPacket| {
        let frame = Frame::read(p);
        frame.map(|f| (f.source, f.payload.is_empty()))
    };
    let mut shuffled = Vec::new();
    for moment in packets.chunk_by(|a, b| a.time == b.time && sender(a) == sender(b)) {
        let mut moment = moment.to_vec();
        for i in (1..moment.len()).rev() {
            moment.swap(i, random.below(i as u64 + 1) as usize);
        }
        shuffled.extend(moment);
    }
    shuffled
}
