//! Streams with holes, and datagrams, through `protocol::Conversation`: of RPC, of databases, and of
//! nothing known.

use arbitrary::{Result, Unstructured};
use model::{
    Change, Chunk, Close, ConnectionId, Direction, Endpoint, Field, HeldSince, Mark, PacketRef,
    Problems, Time, Transport,
};
use protocol::{ConnectionInfo, Context, Conversation, Output, Shared};
use std::collections::HashMap;

pub(crate) const CLOSES: [Close; 4] = [
    Close::Finished,
    Close::Reset,
    Close::Replaced,
    Close::Forgotten,
];

/// All connections of two hosts.
pub(crate) struct Run {
    pub(crate) info: ConnectionInfo,
    conversation: Conversation,
    output: Output,
    problems: Problems,
    shared: Shared,
    order: u64,
    now: i64,
    pub(crate) sequences: [u32; 2],
}

impl Run {
    pub(crate) fn new(transport: Transport) -> Run {
        let end = |host, port| Endpoint {
            address: [10, 0, 0, host].into(),
            port,
        };
        Run {
            info: ConnectionInfo {
                id: ConnectionId(0),
                transport,
                client: end(1, 700),
                server: end(2, 2_049),
                roles_known: true,
            },
            conversation: Conversation::default(),
            output: Output::default(),
            problems: Problems::default(),
            shared: Shared::default(),
            order: 0,
            now: 0,
            sequences: [1, u32::MAX - 100],
        }
    }

    pub(crate) fn with(&mut self, f: impl FnOnce(&mut Conversation, &mut Context<'_>)) {
        let mut context = Context {
            connection: &self.info,
            output: &mut self.output,
            problems: &mut self.problems,
            shared: &mut self.shared,
            order: self.order,
            now: Time(self.now),
        };
        f(&mut self.conversation, &mut context);
    }

    fn mark(&self) -> Mark {
        let packet = PacketRef {
            file: 0,
            frame: self.order as u32 + 1,
        };
        Mark {
            time: Time(self.now),
            packet,
        }
    }

    pub(crate) fn chunk<'a>(
        &self,
        d: Direction,
        data: &'a [u8],
        cut: u32,
        held: bool,
    ) -> Chunk<'a> {
        Chunk {
            data,
            cut,
            mark: self.mark(),
            sequence: self.sequences[d.index()],
            order: self.order,
            now: Time(self.now),
            held_since: held.then_some(HeldSince::troubled(Time(self.now - 500_000))),
            heard_all: true,
            peer_ended: None,
        }
    }

    /// The next packet comes.
    pub(crate) fn step(&mut self, ns: i64) {
        self.order += 1;
        self.now += ns;
    }

    pub(crate) fn close(&mut self, why: Close) {
        self.with(|conversation, cx| conversation.close(cx, why));
        self.conversation = Conversation::default();
        self.info.id = ConnectionId(self.order + 1);
    }

    pub(crate) fn finish(mut self) {
        self.close(Close::EndOfCapture);
        self.shared.finish(&mut self.output, u64::MAX);
        check(&self.output);
    }
}

/// What must be true of calls whatever the bytes were.
fn check(output: &Output) {
    let mut waiting: HashMap<_, i64> = HashMap::new();
    for change in &output.outstanding {
        let count = waiting
            .entry((change.connection, change.client, change.id))
            .or_default();
        *count += match change.change {
            Change::Sent => 1,
            Change::Settled => -1,
            // The others are not about the number.
            _ => 0,
        };
        assert!(*count >= 0, "answered before it was sent: {change:?}");
    }
    assert!(
        waiting.values().all(|&count| count == 0),
        "outstanding for ever: {waiting:?}"
    );
    for call in &output.calls {
        let marks = [
            call.request_first,
            call.request_last,
            call.response_first,
            call.response_last,
        ];
        let is_inferred = call.detail.get(Field::Inferred).is_some();
        if call.is_complete() {
            assert!(
                marks.iter().all(Option::is_some),
                "a mark is missing: {call:?}"
            );
            assert!(
                call.outstanding > 0 || is_inferred,
                "a call counts itself: {call:?}"
            );
        }
        assert!(marks.iter().any(Option::is_some), "neither half: {call:?}");
        for [first, last] in [[marks[0], marks[1]], [marks[2], marks[3]]] {
            // The end may be missing, and packets may stand in the wrong order.
            let later = first
                .zip(last)
                .is_none_or(|(first, last)| first.time <= last.time);
            assert!(later && first.is_some() >= last.is_some(), "{call:?}");
        }
        // Who connects to a server that greets asks without a byte.
        let is_greeting = call.op.as_str() == "CONNECT" && call.request_bytes == 0;
        assert_eq!(
            call.request_bytes > 0,
            call.request_first.is_some() && !is_greeting,
            "{call:?}"
        );
        assert_eq!(
            call.response_bytes > 0,
            call.response_first.is_some(),
            "{call:?}"
        );
        assert!(
            call.request_held_ns >= 0 && call.response_held_ns >= 0,
            "{call:?}"
        );
        assert!(!call.op.is_empty());
    }
}

/// Per packet: what it is, and its bytes behind their number.
fn streams(run: &mut Run, data: &[u8]) -> Result<()> {
    let mut u = Unstructured::new(data);
    while !u.is_empty() {
        let what: u8 = u.arbitrary()?;
        let d = if what & 1 == 0 {
            Direction::ToServer
        } else {
            Direction::ToClient
        };
        let length = usize::from(u.arbitrary::<u16>()?);
        let mut passed = length as u64;
        match what >> 1 & 7 {
            // Bytes, perhaps cut, perhaps with a record mark that is right.
            kind @ (0..=4 | 7) => {
                let mut bytes = u.bytes(length.min(u.len()))?.to_vec();
                let cut = match kind {
                    2 => u32::from(u.arbitrary::<u16>()?),
                    _ => 0,
                };
                if kind == 3 || kind == 4 {
                    let last = if kind == 3 { 1 << 31 } else { 0 };
                    let mark = bytes.len() as u32 | last;
                    bytes.splice(0..0, mark.to_be_bytes());
                }
                if bytes.is_empty() && cut == 0 {
                    continue;
                }
                passed = bytes.len() as u64 + u64::from(cut);
                let mut chunk = run.chunk(d, &bytes, cut, kind == 7);
                chunk.heard_all = what & 0x80 == 0;
                run.with(|conversation, cx| conversation.data(cx, d, &chunk));
            }
            5 if length > 0 => {
                passed <<= what >> 5 & 4;
                run.with(|conversation, cx| conversation.gap(cx, d, passed));
            }
            6 => run.close(CLOSES[length % 4]),
            _ => {}
        }
        let next = &mut run.sequences[d.index()];
        *next = next.wrapping_add(passed as u32);
        run.step([1_000, 1_000_000, 40_000_000, 60_000_000_000][usize::from(what >> 4 & 3)]);
    }
    Ok(())
}

pub fn rpc_tcp(data: &[u8]) {
    let mut run = Run::new(Transport::Tcp);
    // A file that ends in mid-packet is one like any other.
    let _ = streams(&mut run, data);
    run.finish();
}

/// The same on ports of nothing known, from the first byte or joined later.
pub fn turns(data: &[u8]) {
    let mut run = Run::new(Transport::Tcp);
    (run.info.client.port, run.info.server.port) = (40_000, 9_000);
    run.info.roles_known = data.len().is_multiple_of(2);
    let _ = streams(&mut run, data);
    run.finish();
}

/// The same of a session of PostgreSQL, from its start.
pub fn pgsql(data: &[u8]) {
    const STARTUP: &[u8] = b"\0\0\0\x10\0\x03\0\0user\0x\0\0";
    let mut run = Run::new(Transport::Tcp);
    (run.info.client.port, run.info.server.port) = (40_000, 5_432);
    let d = Direction::ToServer;
    let chunk = run.chunk(d, STARTUP, 0, false);
    run.with(|conversation, cx| conversation.data(cx, d, &chunk));
    run.sequences[d.index()] += STARTUP.len() as u32;
    run.step(1_000_000);
    let _ = streams(&mut run, data);
    run.finish();
}

/// The same on MySQL's port, with the handshake seen or not.
pub fn mysql(data: &[u8]) {
    let mut run = Run::new(Transport::Tcp);
    (run.info.client.port, run.info.server.port) = (40_000, 3_306);
    if data.len().is_multiple_of(2) {
        run.conversation.opened(run.mark());
    }
    let _ = streams(&mut run, data);
    run.finish();
}

/// The same of a session of SMB 2, from its start.
pub fn smb2(data: &[u8]) {
    let mut start = b"\0\0\0\x44\xfeSMB\x40".to_vec();
    start.resize(0x48, 0);
    let mut run = Run::new(Transport::Tcp);
    (run.info.client.port, run.info.server.port) = (40_000, 445);
    let d = Direction::ToServer;
    let chunk = run.chunk(d, &start, 0, false);
    run.with(|conversation, cx| conversation.data(cx, d, &chunk));
    run.sequences[d.index()] += start.len() as u32;
    run.step(1_000_000);
    let _ = streams(&mut run, data);
    run.finish();
}

/// Datagrams on the ports where names are asked for.
pub fn names(data: &[u8]) {
    let mut run = Run::new(Transport::Udp);
    let port = [53, 137, 5353, 5355][data.len() % 4];
    let client = if port == 53 { 40_000 } else { port };
    (run.info.client.port, run.info.server.port) = (client, port);
    let _ = datagrams(&mut run, data);
    run.finish();
}

fn datagrams(run: &mut Run, data: &[u8]) -> Result<()> {
    let mut u = Unstructured::new(data);
    while !u.is_empty() {
        let what: u8 = u.arbitrary()?;
        let d = if what & 1 == 0 {
            Direction::ToServer
        } else {
            Direction::ToClient
        };
        let length = usize::from(u.arbitrary::<u16>()?).min(u.len());
        let bytes = u.bytes(length)?;
        let cut = if what & 2 == 0 { 0 } else { 100 };
        let first = run.mark();
        run.step([0, 1_000, 1_000_000, 130_000_000_000][usize::from(what >> 2 & 3)]);
        let mut chunk = run.chunk(d, bytes, cut, false);
        chunk.sequence = 0;
        run.with(|conversation, cx| conversation.datagram(cx, d, &chunk, first));
        if what & 0x80 != 0 {
            run.close(Close::Forgotten);
        }
        run.step(1_000);
    }
    Ok(())
}

pub fn rpc_udp(data: &[u8]) {
    let mut run = Run::new(Transport::Udp);
    // As above.
    let _ = datagrams(&mut run, data);
    run.finish();
}
