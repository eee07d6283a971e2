//! Bytes into a capture of hosts that say them: so what a protocol reads, and commands show, is changed without the file's,
//! the packets' and the segments' own headers, in which most changes of a capture end.

use arbitrary::{Result, Unstructured};
use testkit::{Conversation, ETHERNET, Format, TestPacket, datagram, pcap};

/// Where a server listens. Of the last three, what is said comes in datagrams.
pub const PORTS: [u16; 8] = [5_432, 3_306, 445, 2_049, 9_000, 53, 137, 2_049];
const FIRST_UDP: usize = 5;

const START: i64 = 1_700_000_000_000_000_000;

/// What becomes of it.
pub const HEARD: u8 = 0;
pub const LOST: u8 = 1;
pub const AGAIN: u8 = 2;
pub const RESET: u8 = 3;

/// Something said, as [`capture()`] reads it: on which of the ports, whether by the client, how long after what was said
/// before (1 µs, 1 ms, 40 ms, an hour), and what becomes of it.
#[must_use]
pub fn written(port: u8, is_client: bool, pause: u8, fate: u8, bytes: &[u8]) -> Vec<u8> {
    let what = port | u8::from(!is_client) << 3 | pause << 4 | fate << 6;
    let length = (bytes.len() as u16).to_le_bytes();
    [&[what], &length[..], bytes].concat()
}

/// A capture of all that is said.
#[must_use]
pub fn capture(data: &[u8]) -> Vec<u8> {
    let mut packets = Vec::new();
    // What ends in mid-word is said as far as it goes.
    let _ = all(data, &mut packets);
    packets.sort_by_key(|p| p.time);
    pcap(&packets, ETHERNET, Format::default())
}

fn all(data: &[u8], packets: &mut Vec<TestPacket>) -> Result<()> {
    let mut u = Unstructured::new(data);
    let mut open: [Option<Conversation>; FIRST_UDP] = Default::default();
    let mut lost: [Vec<usize>; FIRST_UDP] = Default::default();
    let mut now = START;
    while !u.is_empty() {
        let what: u8 = u.arbitrary()?;
        let length = usize::from(u.arbitrary::<u16>()?).min(u.len());
        let bytes = u.bytes(length)?;
        let port = usize::from(what & 7);
        let is_client = what & 8 == 0;
        let fate = what >> 6;
        now += [1_000, 1_000_000, 40_000_000, 3_600_000_000_000][usize::from(what >> 4 & 3)];
        let ends = [([10, 0, 0, 1], 40_000), ([10, 0, 0, 2], PORTS[port])].map(Into::into);
        let Some(connection) = open.get_mut(port) else {
            let [client, server] = ends;
            let (from, to) = if is_client {
                (client, server)
            } else {
                (server, client)
            };
            let times = [1, 0, 2, 1][usize::from(fate)];
            packets.extend((0..times).map(|n| datagram(now + n, from, to, 1, bytes)));
            continue;
        };
        let [client, server] = ends;
        let c = connection.get_or_insert_with(|| {
            let mut c = Conversation::new(client, server);
            c.at(now).handshake();
            c
        });
        let before = c.at(now).packets().len();
        match (is_client, fate) {
            (true, RESET) => c.client_rst(),
            (false, RESET) => c.server_rst(),
            (true, _) => c.client(bytes),
            (false, _) => c.server(bytes),
        };
        match fate {
            LOST => lost[port].extend(before..c.packets().len()),
            AGAIN => packets.extend(c.packets().drain(before..).map(|p| later(p, 200_000_000))),
            _ => {}
        }
    }
    for (c, lost) in open.iter().zip(&lost) {
        let sent = c.iter().flat_map(Conversation::packets).enumerate();
        packets.extend(sent.filter(|(n, _)| !lost.contains(n)).map(|(_, p)| p));
    }
    Ok(())
}

fn later(packet: TestPacket, ns: i64) -> TestPacket {
    let time = packet.time + ns;
    TestPacket { time, ..packet }
}
