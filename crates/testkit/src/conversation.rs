//! A TCP connection as a script: who says what, when. Sequence numbers, acknowledgements, IP
//! identifications and timestamps follow by themselves.
//!
//! Nothing is sent that the script does not say; in particular acknowledgements without data are
//! the script's. Each packet is `spacing` later than the one before, unless `at` or `after` say
//! otherwise.

use crate::{Frame, TestPacket};
use etherparse::{TcpHeader, TcpOptionElement};
use std::net::SocketAddr;

/// A TCP connection between a client and a server, and the packets it sent so far.
#[derive(Clone, Debug)]
pub struct Conversation {
    /// Client, server.
    hosts: [Host; 2],
    now: i64,
    spacing: i64,
    mss: usize,
    timestamps: bool,
    packets: Vec<TestPacket>,
}

#[derive(Clone, Debug)]
struct Host {
    address: SocketAddr,
    /// Of the next byte.
    sequence: u32,
    window: u16,
    ip_id: u16,
}

#[derive(Clone, Copy, Default)]
struct Flags {
    syn: bool,
    ack: bool,
    psh: bool,
    fin: bool,
    rst: bool,
}

const CLIENT: usize = 0;
const SERVER: usize = 1;

const ACK: Flags = Flags {
    syn: false,
    ack: true,
    psh: false,
    fin: false,
    rst: false,
};

impl Conversation {
    /// Starts 1 s after the epoch, with 1 µs between packets, an MSS of 1460, without timestamps.
    #[must_use]
    pub fn new(client: SocketAddr, server: SocketAddr) -> Conversation {
        let host = |address, sequence, ip_id| Host {
            address,
            sequence,
            window: 65_000,
            ip_id,
        };
        Conversation {
            hosts: [host(client, 1000, 100), host(server, 0xffff_f000, 40_000)],
            now: 1_000_000_000,
            spacing: 1_000,
            mss: 1460,
            timestamps: false,
            packets: Vec::new(),
        }
    }

    /// Between 10.0.0.1:1000 and 10.0.0.2:2049.
    #[must_use]
    pub fn nfs() -> Conversation {
        Conversation::new(([10, 0, 0, 1], 1000).into(), ([10, 0, 0, 2], 2049).into())
    }

    /// Payload bytes per segment from here on.
    pub fn mss(&mut self, bytes: usize) -> &mut Self {
        self.mss = bytes;
        self
    }

    /// Whether segments carry the timestamps option, in milliseconds.
    pub fn timestamps(&mut self, on: bool) -> &mut Self {
        self.timestamps = on;
        self
    }

    /// Nanoseconds between packets.
    pub fn spacing(&mut self, ns: i64) -> &mut Self {
        self.spacing = ns;
        self
    }

    /// The time of the next packet.
    pub fn at(&mut self, ns: i64) -> &mut Self {
        self.now = ns;
        self
    }

    /// Makes the next packet later.
    pub fn after(&mut self, ns: i64) -> &mut Self {
        self.now += ns;
        self
    }

    /// Sets the sequence numbers of the next bytes; before the handshake, the initial ones.
    pub fn sequences(&mut self, client: u32, server: u32) -> &mut Self {
        self.hosts[CLIENT].sequence = client;
        self.hosts[SERVER].sequence = server;
        self
    }

    /// The window in the client's packets from here on.
    pub fn client_window(&mut self, bytes: u16) -> &mut Self {
        self.hosts[CLIENT].window = bytes;
        self
    }

    pub fn server_window(&mut self, bytes: u16) -> &mut Self {
        self.hosts[SERVER].window = bytes;
        self
    }

    /// SYN, SYN/ACK, ACK.
    pub fn handshake(&mut self) -> &mut Self {
        self.syn().syn_ack().client_ack()
    }

    pub fn syn(&mut self) -> &mut Self {
        let syn = Flags {
            syn: true,
            ..Flags::default()
        };
        self.send(CLIENT, syn, &[])
    }

    pub fn syn_ack(&mut self) -> &mut Self {
        self.send(SERVER, Flags { syn: true, ..ACK }, &[])
    }

    /// The client sends bytes, in segments of the MSS.
    pub fn client(&mut self, bytes: &[u8]) -> &mut Self {
        self.data(CLIENT, bytes.chunks(self.mss))
    }

    pub fn server(&mut self, bytes: &[u8]) -> &mut Self {
        self.data(SERVER, bytes.chunks(self.mss))
    }

    /// The client sends bytes in segments that end at `splits` (offsets in `bytes`, rising) and at
    /// the end.
    pub fn client_split(&mut self, bytes: &[u8], splits: &[usize]) -> &mut Self {
        self.data(CLIENT, pieces(bytes, splits))
    }

    pub fn server_split(&mut self, bytes: &[u8], splits: &[usize]) -> &mut Self {
        self.data(SERVER, pieces(bytes, splits))
    }

    /// The client acknowledges all that the server sent.
    pub fn client_ack(&mut self) -> &mut Self {
        self.send(CLIENT, ACK, &[])
    }

    pub fn server_ack(&mut self) -> &mut Self {
        self.send(SERVER, ACK, &[])
    }

    pub fn client_fin(&mut self) -> &mut Self {
        self.send(CLIENT, Flags { fin: true, ..ACK }, &[])
    }

    pub fn server_fin(&mut self) -> &mut Self {
        self.send(SERVER, Flags { fin: true, ..ACK }, &[])
    }

    pub fn client_rst(&mut self) -> &mut Self {
        self.send(CLIENT, Flags { rst: true, ..ACK }, &[])
    }

    pub fn server_rst(&mut self) -> &mut Self {
        self.send(SERVER, Flags { rst: true, ..ACK }, &[])
    }

    /// FIN, FIN, ACK, begun by the client.
    pub fn finish(&mut self) -> &mut Self {
        self.client_fin().server_fin().client_ack()
    }

    /// The packets sent so far.
    #[must_use]
    pub fn packets(&self) -> Vec<TestPacket> {
        self.packets.clone()
    }

    fn data<'a>(&mut self, from: usize, segments: impl Iterator<Item = &'a [u8]>) -> &mut Self {
        let mut segments = segments.peekable();
        while let Some(segment) = segments.next() {
            let psh = segments.peek().is_none();
            self.send(from, Flags { psh, ..ACK }, segment);
        }
        self
    }

    fn send(&mut self, from: usize, flags: Flags, payload: &[u8]) -> &mut Self {
        let [sender, receiver] = match from {
            CLIENT => [&self.hosts[CLIENT], &self.hosts[SERVER]],
            _ => [&self.hosts[SERVER], &self.hosts[CLIENT]],
        };
        let mut tcp = TcpHeader::new(0, 0, sender.sequence, sender.window);
        (tcp.syn, tcp.ack, tcp.psh) = (flags.syn, flags.ack, flags.psh);
        (tcp.fin, tcp.rst) = (flags.fin, flags.rst);
        if flags.ack {
            tcp.acknowledgment_number = receiver.sequence;
        }
        let mut options = Vec::new();
        if flags.syn {
            options.push(TcpOptionElement::MaximumSegmentSize(self.mss as u16));
            options.push(TcpOptionElement::SelectiveAcknowledgementPermitted);
            options.push(TcpOptionElement::WindowScale(0));
        }
        if self.timestamps {
            let now = (self.now / 1_000_000) as u32;
            let echo = if flags.ack { now } else { 0 };
            options.extend([TcpOptionElement::Noop, TcpOptionElement::Noop]);
            options.push(TcpOptionElement::Timestamp(now, echo));
        }
        tcp.set_options(&options).unwrap();
        let frame = Frame {
            source: sender.address,
            destination: receiver.address,
            ip_id: sender.ip_id,
            ttl: 64,
            tcp: Some(tcp),
            payload: payload.to_vec(),
        };
        self.packets.push(TestPacket::new(self.now, frame.write()));
        self.now += self.spacing;
        let sender = &mut self.hosts[from];
        sender.sequence = frame.next_sequence();
        sender.ip_id = sender.ip_id.wrapping_add(1);
        self
    }
}

/// `bytes` cut at rising offsets; empty pieces are left out.
fn pieces<'a>(bytes: &'a [u8], splits: &[usize]) -> impl Iterator<Item = &'a [u8]> {
    let ends: Vec<usize> = splits.iter().copied().chain([bytes.len()]).collect();
    let starts = [0].into_iter().chain(splits.to_vec());
    starts
        .zip(ends)
        .map(|(start, end)| &bytes[start..end])
        .filter(|piece| !piece.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(conversation: &Conversation) -> Vec<Frame> {
        let packets = conversation.packets();
        packets.iter().map(|p| Frame::read(p).unwrap()).collect()
    }

    #[test]
    fn numbers_follow_the_script() {
        let mut c = Conversation::nfs();
        c.timestamps(true).mss(2).handshake().after(5_000);
        c.client(b"abc").server(b"xy").client_ack().finish();
        let times: Vec<_> = c.packets().iter().map(|p| p.time - 1_000_000_000).collect();
        assert_eq!(times[..5], [0, 1_000, 2_000, 8_000, 9_000]);
        let seen: Vec<_> = frames(&c)
            .iter()
            .map(|f| {
                let tcp = f.tcp.as_ref().unwrap();
                (
                    f.source.port(),
                    tcp.sequence_number,
                    tcp.acknowledgment_number,
                    f.payload.len(),
                )
            })
            .collect();
        let s = 0xffff_f000;
        assert_eq!(
            seen,
            [
                (1000, 1000, 0, 0),
                (2049, s, 1001, 0),
                (1000, 1001, s + 1, 0),
                (1000, 1001, s + 1, 2),
                (1000, 1003, s + 1, 1),
                (2049, s + 1, 1004, 2),
                (1000, 1004, s + 3, 0),
                (1000, 1004, s + 3, 0),
                (2049, s + 3, 1005, 0),
                (1000, 1005, s + 4, 0),
            ]
        );
        assert_eq!(frames(&c)[4].ip_id, 103);
    }

    #[test]
    fn given_splits_are_kept_and_only_the_last_segment_is_pushed() {
        let mut c = Conversation::nfs();
        c.server_split(b"abcdef", &[1, 1, 4]);
        let seen: Vec<_> = frames(&c)
            .into_iter()
            .map(|f| (f.payload, f.tcp.unwrap().psh))
            .collect();
        let expected = [(&b"a"[..], false), (b"bcd", false), (b"ef", true)];
        assert_eq!(seen, expected.map(|(payload, psh)| (payload.to_vec(), psh)));
    }
}
