//! Two hosts that take turns over a path which takes time, varies and loses: what captures at both ends hold.
//!
//! Whoever has written waits for the acknowledgement before it writes again or listens; what is lost is sent
//! again by the timer. The windows hold all that is written at once.

use crate::{Frame, Random, TestPacket};
use etherparse::{TcpHeader, TcpOptionElement};
use std::net::SocketAddr;

const CLIENT: usize = 0;
const SERVER: usize = 1;

const MSS: usize = 1_460;
const WINDOW: u16 = 65_000;

/// Between segments that leave in one go, and until a host acknowledges what came.
const STEP_NS: i64 = 5_000;

/// Until what was lost is sent again, at first.
const TIMEOUT_NS: i64 = 250_000_000;

/// What lies between the hosts.
#[derive(Clone, Copy, Debug)]
pub struct Path {
    /// What a packet takes at least: to the server, to the client.
    pub way_ns: [i64; 2],
    /// And so much more at most: every other one finds nothing to queue behind.
    pub varies_ns: u64,
    /// Segments with data that are lost, likewise.
    pub lost_per_mille: [u32; 2],
}

struct Host {
    address: SocketAddr,
    /// Of the next byte.
    sequence: u32,
    ip_id: u16,
    /// Packets that it saw.
    capture: Vec<TestPacket>,
    /// When the last packet came: none overtakes another.
    reached: i64,
    /// Up to when it has been busy.
    now: i64,
}

/// A connection from 10.0.0.1 to 10.0.0.2's port 2049 over a path.
pub struct Ends {
    hosts: [Host; 2],
    /// What passes half the way: of what is lost, half of it.
    midway: Vec<TestPacket>,
    path: Path,
    random: Random,
}

impl Ends {
    /// Opens it.
    #[must_use]
    pub fn open(path: Path, random: Random) -> Ends {
        let host = |address, sequence| Host {
            address,
            sequence,
            ip_id: 1,
            capture: Vec::new(),
            reached: 0,
            now: 1_700_000_000_000_000_000,
        };
        let hosts = [
            host(([10, 0, 0, 1], 1000).into(), 1_000),
            host(([10, 0, 0, 2], 2049).into(), 500_000),
        ];
        let mut ends = Ends {
            hosts,
            midway: Vec::new(),
            path,
            random,
        };
        for from in [CLIENT, SERVER] {
            let mut tcp = ends.header(from);
            (tcp.syn, tcp.ack) = (true, from == SERVER);
            let options = [
                TcpOptionElement::MaximumSegmentSize(MSS as u16),
                TcpOptionElement::WindowScale(0),
            ];
            tcp.set_options(&options).unwrap();
            ends.exchange(from, tcp);
        }
        ends.acknowledge(CLIENT);
        ends
    }

    /// A host is busy, or thinks.
    pub fn passes(&mut self, is_client: bool, ns: i64) {
        self.hosts[usize::from(!is_client)].now += ns;
    }

    /// A host writes; at the end the other one has all of it, and this one knows that.
    pub fn write(&mut self, is_client: bool, bytes: &[u8]) {
        let from = usize::from(!is_client);
        let mut missing: Vec<(TcpHeader, &[u8])> = Vec::new();
        let mut header = self.header(from);
        for segment in bytes.chunks(MSS) {
            missing.push((header.clone(), segment));
            header.sequence_number = header.sequence_number.wrapping_add(segment.len() as u32);
        }
        if let Some((last, _)) = missing.last_mut() {
            last.psh = true;
        }
        let first = missing
            .first()
            .map_or(0, |(header, _)| header.sequence_number);
        self.hosts[from].sequence = header.sequence_number;
        let mut timeout = TIMEOUT_NS;
        loop {
            let mut lost: Vec<(TcpHeader, &[u8])> = Vec::new();
            let mut hole = None;
            for (header, segment) in missing {
                let at = self.hosts[from].now;
                if self.random.chance(self.path.lost_per_mille[from]) {
                    let frame = self.frame(from, header.clone(), segment);
                    if self.random.chance(500) {
                        let half = at + self.path.way_ns[from] / 2;
                        self.midway.push(TestPacket::new(half, frame.clone()));
                    }
                    self.hosts[from].capture.push(TestPacket::new(at, frame));
                    hole.get_or_insert(header.sequence_number);
                    lost.push((header, segment));
                } else {
                    self.send(from, header, segment);
                    if let Some(hole) = hole {
                        self.acknowledge_up_to(1 - from, hole);
                    }
                }
                self.hosts[from].now = at + STEP_NS;
            }
            if lost.is_empty() {
                break;
            }
            let came = hole.filter(|hole| *hole != first);
            if let (Some(hole), 1) = (came, lost.len()) {
                // The receiver tells how far it has come.
                self.acknowledge_up_to(1 - from, hole);
            }
            missing = lost;
            self.hosts[from].now += timeout;
            timeout *= 2;
        }
        self.acknowledge(1 - from);
        self.hosts[from].now = self.hosts[from].now.max(self.hosts[from].reached);
    }

    /// What captures at the client and at the server hold.
    #[must_use]
    pub fn captures(self) -> [Vec<TestPacket>; 2] {
        let [client, _, server] = self.three_captures();
        [client, server]
    }

    /// The same with one that was taken half the way between them.
    #[must_use]
    pub fn three_captures(self) -> [Vec<TestPacket>; 3] {
        let [client, server] = self.hosts.map(|host| host.capture);
        [client, self.midway, server].map(|mut packets| {
            packets.sort_by_key(|p| p.time);
            packets
        })
    }

    fn header(&self, from: usize) -> TcpHeader {
        let [sender, receiver] = [&self.hosts[from], &self.hosts[1 - from]];
        let mut tcp = TcpHeader::new(0, 0, sender.sequence, WINDOW);
        tcp.ack = true;
        tcp.acknowledgment_number = receiver.sequence;
        tcp
    }

    fn acknowledge(&mut self, from: usize) {
        let up_to = self.hosts[1 - from].sequence;
        self.acknowledge_up_to(from, up_to);
    }

    /// At once when the last packet came.
    fn acknowledge_up_to(&mut self, from: usize, position: u32) {
        let mut tcp = self.header(from);
        tcp.acknowledgment_number = position;
        self.exchange(from, tcp);
    }

    /// A packet without data, as the answer to what came.
    fn exchange(&mut self, from: usize, tcp: TcpHeader) {
        let host = &mut self.hosts[from];
        host.now = host.now.max(host.reached) + STEP_NS;
        let is_syn = tcp.syn;
        self.send(from, tcp, &[]);
        self.hosts[from].sequence += u32::from(is_syn);
    }

    fn frame(&mut self, from: usize, tcp: TcpHeader, payload: &[u8]) -> Vec<u8> {
        let destination = self.hosts[1 - from].address;
        let host = &mut self.hosts[from];
        host.ip_id = host.ip_id.wrapping_add(1);
        let frame = Frame {
            source: host.address,
            destination,
            ip_id: host.ip_id,
            ttl: 64,
            tcp: Some(tcp),
            payload: payload.to_vec(),
        };
        frame.write()
    }

    /// Leaves now, and arrives behind all that left before.
    fn send(&mut self, from: usize, tcp: TcpHeader, payload: &[u8]) {
        let bytes = self.frame(from, tcp, payload);
        let at = self.hosts[from].now;
        let varies = match self.random.chance(500) {
            true => self.random.below(self.path.varies_ns.max(1)) as i64,
            false => 0,
        };
        let receiver = &mut self.hosts[1 - from];
        let arrives = (at + self.path.way_ns[from] + varies).max(receiver.reached + 1_000);
        receiver.reached = arrives;
        receiver
            .capture
            .push(TestPacket::new(arrives, bytes.clone()));
        let half = at + (arrives - at) / 2;
        self.midway.push(TestPacket::new(half, bytes.clone()));
        self.hosts[from].capture.push(TestPacket::new(at, bytes));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lost_is_seen_at_its_sender_only_and_comes_again() {
        let path = Path {
            way_ns: [3_000_000, 4_000_000],
            varies_ns: 1_000_000,
            lost_per_mille: [300; 2],
        };
        let mut ends = Ends::open(path, Random::new(5));
        for _ in 0..20 {
            ends.write(true, &[1; 5_000]);
            ends.passes(false, 10_000_000);
            ends.write(false, &[2; 3_000]);
        }
        let bytes = |packets: &[TestPacket], port: u16| {
            let frames = packets.iter().filter_map(Frame::read);
            let own = frames.filter(|f| f.source.port() == port);
            own.map(|f| f.payload.len()).sum::<usize>()
        };
        let [client, server] = ends.captures();
        assert_eq!(bytes(&server, 1000), 20 * 5_000);
        assert_eq!(bytes(&client, 2049), 20 * 3_000);
        assert!(bytes(&client, 1000) > 20 * 5_000);
        assert!(client.windows(2).all(|p| p[0].time <= p[1].time));
    }
}
