//! Lines of a SQL*Net trace (`sqlnet.trc`, `cli_*.trc`, `svr_*.trc`, a listener's, or inside a process
//! trace) into packets and what is known of the connection.
//!
//! A line is `PREFIX function: text`. The prefix is `(5304) [12-FEB-2019 17:25:10:804] `,
//! `[12-FEB-2019 17:25:10:804] `, `2014-11-15 16:12:24.300524 : ` or nothing. From level 6 on packets
//! have sizes:
//!
//! - `nsprecv: tlen=266, plen=266, type=1` and `nsbasic_brc: type=6, plen=298` behind the read
//!   (`nttrd: socket 17 had bytes read=266`), which began with `reading from transport` or `nttrd: entry`;
//! - `nspsend: plen=32, type=2` and `nsbasic_bsd: tot=0, plen=336.` before the write
//!   (`nttwr: socket 17 had bytes written=32`).
//!
//! Below that only `nscon: got NSPTCN packet` and the like tell of them. Dumps (level 16) are looked into
//! for the connect descriptor and which side speaks, and handed on.

use super::header::{NetFacts, Side};
use super::outcomes::Outcomes;
use super::record::{Packet, PacketKind, Record};
use super::stamp::Stamp;

/// Bytes of a dumped packet that are looked at for its descriptor, and that are kept.
const DUMP_BYTES: usize = 4_096;
const DUMP_KEPT: usize = 65_536;
/// Bytes of a descriptor that are kept.
const DESCRIPTOR_BYTES: usize = 1_024;

/// Functions whose lines are told from other text where there is no date.
const FUNCTIONS: [&str; 23] = [
    "nsprecv",
    "nspsend",
    "nsbasic_brc",
    "nsbasic_bsd",
    "nttrd",
    "nttfprd",
    "nttmrd",
    "nttwr",
    "nttfpwr",
    "nttmwr",
    "nsopen",
    "nsconneg",
    "nscon",
    "nsc2addr",
    "nsinh_hoff",
    "nserror",
    "nsdo",
    "nsdofls",
    "nsrdr",
    "nioqrc",
    "nioqer",
    "niotns",
    "na_tns",
];

/// A line without its prefix.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct NetLine<'a> {
    pub(super) stamp: Option<Stamp>,
    pub(super) function: &'a str,
    pub(super) text: &'a str,
}

/// Splits a line; `None` if it is none of SQL*Net. Lines without a date must name a function of it.
pub(super) fn split(line: &str) -> Option<NetLine<'_>> {
    let mut rest = line;
    if let Some(inside) = rest.strip_prefix('(')
        && let Some((digits, behind)) = inside.split_once(") ")
        && digits.bytes().all(|b| b.is_ascii_alphanumeric())
    {
        rest = behind;
    }
    let mut stamp = None;
    if let Some(inside) = rest.strip_prefix('[') {
        let (date, behind) = inside.split_once(']')?;
        stamp = Some(Stamp::oracle(date)?);
        rest = behind.trim_start();
    } else if let Some((date, length)) = Stamp::iso(rest) {
        rest = rest.get(length..)?.strip_prefix(" : ")?;
        stamp = Some(date);
    }
    let (function, text) = rest.split_once(':').unwrap_or(("", rest));
    let named = !function.is_empty()
        && function
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'_');
    match (named, stamp) {
        (true, None) if !FUNCTIONS.contains(&function) => None,
        (true, _) => Some(NetLine {
            stamp,
            function,
            text: text.trim_start(),
        }),
        (false, Some(_)) => Some(NetLine {
            stamp,
            function: "",
            text: rest,
        }),
        (false, None) => None,
    }
}

/// What is remembered between lines.
#[derive(Default)]
pub(super) struct SqlNet {
    /// The line that is read.
    pub(super) at: u64,
    /// When the process began to wait for data.
    waiting_since: Option<i64>,
    /// When data came, and on which socket.
    read_at: Option<i64>,
    socket: Option<u32>,
    /// A packet on its way out, until it is written.
    sending: Option<Packet>,
    /// A packet that was announced by name alone.
    announced: Option<Packet>,
    /// The packet whose dump follows, and its bytes.
    dumped: Option<(bool, PacketKind)>,
    dump: Vec<u8>,
    /// The last packet that was handed on with a size, if it was received.
    received: Option<PacketKind>,
    outcomes: Outcomes,
}

impl SqlNet {
    /// Takes a line; `emit` gets packets as they are complete.
    pub(super) fn line(
        &mut self,
        line: &NetLine<'_>,
        facts: &mut NetFacts,
        emit: &mut dyn FnMut(Record<'_>),
    ) {
        self.outcomes.line(line, facts);
        let now = line.stamp.map(|s| s.local_ns);
        let text = line.text;
        match line.function {
            "nsprecv" if text.starts_with("reading f") => self.waits(now),
            "nttrd" | "nttfprd" | "nttmrd" | "sntprd" if text == "entry" => self.waits(now),
            "nsbasic_brc" if text.starts_with("entry") => self.waits(now),
            "nttrd" | "nttfprd" | "nttmrd" => {
                if let Some(socket) = socket(text, "bytes read=") {
                    self.socket = Some(socket);
                    self.read_at = now;
                }
            }
            "nttwr" | "nttfpwr" | "nttmwr" => {
                if let Some(socket) = socket(text, "bytes written=") {
                    self.socket = Some(socket);
                    if let Some(packet) = &mut self.sending {
                        packet.socket = Some(socket);
                        packet.local_ns = now.or(packet.local_ns);
                    }
                    self.flush(facts, emit);
                }
            }
            "nsprecv" | "nsbasic_brc" if is_dump(text) => self.dump(text, facts),
            "nspsend" | "nsbasic_bsd" if is_dump(text) => self.dump(text, facts),
            "nsprecv" | "nsbasic_brc" => {
                if let (Some(kind), Some(bytes)) = (number(text, "type="), number(text, "plen=")) {
                    self.received(kind, bytes, now, facts, emit);
                }
            }
            "nspsend" | "nsbasic_bsd" => {
                if let Some(bytes) = number(text, "plen=") {
                    // Only data takes the fast way.
                    self.sends(number(text, "type=").unwrap_or(6), bytes, now, facts, emit);
                }
            }
            "nsopen" => {
                facts.proposed_sdu = number(text, "sdu=").or(facts.proposed_sdu);
                facts.proposed_tdu = number(text, "tdu=").or(facts.proposed_tdu);
            }
            "nsconneg" => {
                facts.sdu = number(text, "sdu=").or(facts.sdu);
                facts.tdu = number(text, "tdu=").or(facts.tdu);
                facts.version = number(text, "vsn=").or(facts.version);
            }
            "nsc2addr" if text.starts_with("(DESCRIPTION") => facts.descriptor = Some(public(text)),
            "nsinh_hoff" if text.starts_with("ADR=") => {
                facts.peer = address(text).or(facts.peer.take())
            }
            "nttcon" | "nttctl" if text.starts_with("set TCP_NODELAY") => {
                facts.nodelay = Some(true)
            }
            "niotns" if text.contains("listener bequeathed shadow") => facts.set_side(Side::Server),
            _ if text.contains("NSPT") => self.named(text, now, facts, emit),
            _ => {
                if let Some((_, level)) = text.split_once("New trace level is ") {
                    facts.level = level.trim().parse().ok();
                }
            }
        }
    }

    /// Hands on what waits for its end.
    pub(super) fn flush(&mut self, facts: &mut NetFacts, emit: &mut dyn FnMut(Record<'_>)) {
        for packet in [self.announced.take(), self.sending.take()]
            .into_iter()
            .flatten()
        {
            facts.saw(packet.sent, packet.kind);
            self.received = None;
            emit(Record::Packet(packet));
        }
        if !self.dump.is_empty() {
            emit(Record::Dump(&self.dump));
            self.dump.clear();
            self.dumped = None;
        }
    }

    fn waits(&mut self, now: Option<i64>) {
        if self.waiting_since.is_none() {
            self.waiting_since = now;
        }
    }

    fn received(
        &mut self,
        kind: u8,
        bytes: u32,
        now: Option<i64>,
        facts: &mut NetFacts,
        emit: &mut dyn FnMut(Record<'_>),
    ) {
        self.flush(facts, emit);
        let kind = PacketKind(kind);
        facts.saw(false, kind);
        self.expect_dump(false, kind);
        self.received = Some(kind);
        emit(Record::Packet(Packet {
            sent: false,
            kind,
            bytes: Some(bytes),
            socket: self.socket,
            local_ns: self.read_at.take().or(now),
            waiting_since_ns: self.waiting_since.take(),
            line: self.at,
        }));
    }

    fn sends(
        &mut self,
        kind: u8,
        bytes: u32,
        now: Option<i64>,
        facts: &mut NetFacts,
        emit: &mut dyn FnMut(Record<'_>),
    ) {
        // What was announced is this packet.
        self.announced = None;
        self.flush(facts, emit);
        self.waiting_since = None;
        self.expect_dump(true, PacketKind(kind));
        self.sending = Some(Packet {
            sent: true,
            kind: PacketKind(kind),
            bytes: Some(bytes),
            socket: self.socket,
            local_ns: now,
            waiting_since_ns: None,
            line: self.at,
        });
    }

    /// `sending NSPTAC packet` stands before the packet's own line, `got NSPTCN packet` behind it.
    fn named(
        &mut self,
        text: &str,
        now: Option<i64>,
        facts: &mut NetFacts,
        emit: &mut dyn FnMut(Record<'_>),
    ) {
        let sent = match text.split(' ').next() {
            Some("sending") => true,
            Some("got") => false,
            _ => return,
        };
        let word = text.split(' ').nth(1).unwrap_or_default();
        let Some(kind) = PacketKind::of(word) else {
            return;
        };
        if !sent && self.received.take() == Some(kind) {
            return;
        }
        self.flush(facts, emit);
        let packet = Packet {
            sent,
            kind,
            bytes: None,
            socket: self.socket,
            local_ns: now,
            waiting_since_ns: if sent {
                None
            } else {
                self.waiting_since.take()
            },
            line: self.at,
        };
        if sent {
            self.announced = Some(packet);
        } else {
            facts.saw(false, kind);
            emit(Record::Packet(packet));
        }
    }

    fn expect_dump(&mut self, sent: bool, kind: PacketKind) {
        self.dumped = Some((sent, kind));
        self.dump.clear();
    }

    /// `00 E3 00 00 01 00 00 00  |........|`.
    fn dump(&mut self, text: &str, facts: &mut NetFacts) {
        let Some((sent, kind)) = self.dumped else {
            return;
        };
        let before = self.dump.len();
        let enough = match kind {
            PacketKind::DATA => DUMP_KEPT,
            _ => DUMP_BYTES,
        };
        if before >= enough {
            return;
        }
        let hex = text.split('|').next().unwrap_or_default();
        let bytes = hex
            .split(' ')
            .filter_map(|h| u8::from_str_radix(h, 16).ok());
        self.dump.extend(bytes);
        match kind {
            PacketKind::DATA if before < 16 && self.dump.len() >= 16 => {
                // The first byte of two-task data (TTC): 3 a function is called, 17 one rides on it.
                if let Some(3 | 17) = self.dump.get(10) {
                    facts.set_side(if sent { Side::Client } else { Side::Server });
                }
            }
            PacketKind::CONNECT => {
                let text = String::from_utf8_lossy(&self.dump);
                if let Some(at) = text.find("(DESCRIPTION") {
                    facts.descriptor = text.get(at..).map(public);
                }
            }
            PacketKind::ACCEPT => self.accepted(facts),
            _ => {}
        }
    }

    /// ACCEPT: version, options, then SDU and TDU, all of two bytes (from version 315 on also of four
    /// bytes, far behind).
    fn accepted(&self, facts: &mut NetFacts) {
        let word = |at: usize| {
            let pair = self.dump.get(at..at + 2)?;
            Some(u32::from(*pair.first()?) << 8 | u32::from(*pair.get(1)?))
        };
        if self.dump.len() == 16 {
            facts.version = facts.version.or(word(8));
            facts.sdu = facts.sdu.or(word(12).map(u64::from));
            facts.tdu = facts.tdu.or(word(14).map(u64::from));
        }
    }
}

/// A line of a dump: two hexadecimal digits and a blank first.
fn is_dump(text: &str) -> bool {
    match text.as_bytes() {
        [a, b, b' ', ..] => a.is_ascii_hexdigit() && b.is_ascii_hexdigit(),
        _ => false,
    }
}

/// The number behind a name: of `tlen=266, plen=266, type=1`.
pub(super) fn number<T: std::str::FromStr>(text: &str, name: &str) -> Option<T> {
    let at = text.find(name)?;
    let rest = text.get(at + name.len()..)?;
    let end = rest
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(rest.len());
    rest.get(..end)?.parse().ok()
}

/// `socket 17 had bytes read=266`; a read that failed has -1.
fn socket(text: &str, what: &str) -> Option<u32> {
    number::<u64>(text, what)?;
    number(text, "socket ")
}

/// The last address: `ADR="(ADDRESS=(PROTOCOL=tcp)(DEV=17)(HOST=192.168.1.51)(PORT=1521))"`.
fn address(text: &str) -> Option<String> {
    let at = text.find("(HOST=")?;
    let host = text.get(at..)?.trim_end_matches(['"', ')']);
    Some(format!("{host})"))
}

/// A descriptor without what must not be shown, and not longer than one is.
fn public(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = find_ignoring_case(rest, "PASSWORD=") {
        let (head, tail) = rest
            .split_at_checked(at + "PASSWORD=".len())
            .unwrap_or((rest, ""));
        out.push_str(head);
        out.push('?');
        rest = tail.find(')').and_then(|end| tail.get(end..)).unwrap_or("");
    }
    out.push_str(rest);
    let mut depth = 0_i32;
    let shown = out
        .chars()
        .take(DESCRIPTOR_BYTES)
        .filter(|c| !c.is_control());
    let mut whole = String::new();
    for c in shown {
        depth += i32::from(c == '(') - i32::from(c == ')');
        whole.push(c);
        if depth == 0 {
            break;
        }
    }
    whole
}

fn find_ignoring_case(text: &str, word: &str) -> Option<usize> {
    text.to_ascii_uppercase().find(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packets(trace: &str) -> (Vec<Packet>, NetFacts) {
        let (mut net, mut facts, mut packets) =
            (SqlNet::default(), NetFacts::default(), Vec::new());
        for line in trace.lines() {
            if let Some(line) = split(line) {
                net.line(&line, &mut facts, &mut |r| packets.extend(packet(&r)));
            }
        }
        net.flush(&mut facts, &mut |r| packets.extend(packet(&r)));
        (packets, facts)
    }

    fn packet(record: &Record<'_>) -> Option<Packet> {
        match record {
            Record::Packet(packet) => Some(*packet),
            _ => None,
        }
    }

    /// A dump comes behind its packet, whether it stands before the write or behind it.
    #[test]
    fn dumps_follow_their_packets() {
        let (mut net, mut facts, mut told) = (SqlNet::default(), NetFacts::default(), Vec::new());
        let mut take = |record: Record<'_>| match record {
            Record::Packet(packet) => {
                told.push(format!("{} of {}", packet.bytes.unwrap(), packet.line))
            }
            Record::Dump(bytes) => told.push(format!("{bytes:02x?}")),
            _ => {}
        };
        let trace = "nsprecv: plen=12, type=6\n\
             nsprecv: packet dump\n\
             nsprecv: 00 0C 00 00 06 00 00 00  |........|\n\
             nsprecv: 00 00 03 93  |....|\n\
             nspsend: plen=11, type=12\n\
             nspsend: packet dump\n\
             nspsend: 00 0B 00  |...|\n\
             nttwr: socket 4 had bytes written=11\n\
             nsbasic_bsd: tot=0, plen=10.\n\
             nttwr: socket 4 had bytes written=10\n\
             nsbasic_bsd: packet dump\n\
             nsbasic_bsd: 00 0A  |..|\n";
        for (number, line) in (1..).zip(trace.lines()) {
            net.at = number;
            net.line(&split(line).unwrap(), &mut facts, &mut take);
        }
        net.flush(&mut facts, &mut take);
        assert_eq!(
            told,
            [
                "12 of 1",
                "[00, 0c, 00, 00, 06, 00, 00, 00, 00, 00, 03, 93]",
                "11 of 5",
                "[00, 0b, 00]",
                "10 of 9",
                "[00, 0a]",
            ]
        );
    }

    /// Direction, type, bytes, socket; milliseconds of the second it was seen and waited from.
    fn told(packet: &Packet) -> (bool, u8, Option<u32>, Option<u32>, Option<i64>, Option<i64>) {
        let ms = |ns: Option<i64>| ns.map(|ns| ns / 1_000_000 % 1_000);
        (
            packet.sent,
            packet.kind.0,
            packet.bytes,
            packet.socket,
            ms(packet.local_ns),
            ms(packet.waiting_since_ns),
        )
    }

    #[test]
    fn the_slow_way_of_a_server_at_level_6() {
        let (packets, facts) = packets(
            "[03-FEB-2014 10:56:17:935] nsinh_hoff: ADR=\"(ADDRESS=(PROTOCOL=tcp)(DEV=17)(HOST=192.168.1.51)(PORT=1521))\"\n\
             [03-FEB-2014 10:56:17:935] nsopen: lcl[0]=0xf4ffe9ff, lcl[1]=0x0, gbl[0]=0x7ebf, gbl[1]=0x0, tdu=65535, sdu=8192\n\
             [03-FEB-2014 10:56:17:936] nsprecv: reading from transport...\n\
             [03-FEB-2014 10:56:17:936] nttrd: entry\n\
             [03-FEB-2014 10:56:17:937] nttrd: socket 17 had bytes read=266\n\
             [03-FEB-2014 10:56:17:937] nsprecv: 266 bytes from transport\n\
             [03-FEB-2014 10:56:17:938] nsprecv: tlen=266, plen=266, type=1\n\
             [03-FEB-2014 10:56:17:938] nscon: got NSPTCN packet\n\
             [03-FEB-2014 10:56:17:938] nsconneg: vsn=314, gbl=0xc41, sdu=8192, tdu=65535\n\
             [03-FEB-2014 10:56:17:939] nscon: sending NSPTAC packet\n\
             [03-FEB-2014 10:56:17:939] nspsend: plen=32, type=2\n\
             [03-FEB-2014 10:56:17:940] nttwr: socket 17 had bytes written=32\n\
             [03-FEB-2014 10:56:17:940] nspsend: 32 bytes to transport\n",
        );
        let seen: Vec<_> = packets.iter().map(told).collect();
        assert_eq!(
            seen,
            [
                (false, 1, Some(266), Some(17), Some(937), Some(936)),
                (true, 2, Some(32), Some(17), Some(940), None),
            ]
        );
        assert_eq!(
            (facts.side, facts.sdu, facts.tdu),
            (Some(Side::Server), Some(8192), Some(65_535))
        );
        assert_eq!((facts.proposed_sdu, facts.version), (Some(8192), Some(314)));
        assert_eq!(
            facts.peer.as_deref(),
            Some("(HOST=192.168.1.51)(PORT=1521)")
        );
    }

    #[test]
    fn the_fast_way_of_a_client_at_level_16() {
        let (packets, facts) = packets(
            "(2100) [11-MAR-2019 07:04:24:529] nsbasic_bsd: entry\r\n\
             (2100) [11-MAR-2019 07:04:24:529] nsbasic_bsd: tot=0, plen=37.\n\
             (2100) [11-MAR-2019 07:04:24:529] nttfpwr: entry\n\
             (2100) [11-MAR-2019 07:04:24:530] nttfpwr: socket 1644 had bytes written=37\n\
             (2100) [11-MAR-2019 07:04:24:530] nsbasic_bsd: packet dump\n\
             (2100) [11-MAR-2019 07:04:24:530] nsbasic_bsd: 00 25 00 00 06 00 00 00  |.%......|\n\
             (2100) [11-MAR-2019 07:04:24:530] nsbasic_bsd: 00 00 03 5E 05 04 03 02  |........|\n\
             (2100) [11-MAR-2019 07:04:24:530] nsbasic_bsd: exit (0)\n\
             (2100) [11-MAR-2019 07:04:24:530] nsbasic_brc: entry: oln/tot=0\n\
             (2100) [11-MAR-2019 07:04:24:530] nttfprd: entry\n\
             (2100) [11-MAR-2019 07:04:24:542] nttfprd: socket 1644 had bytes read=298\n\
             (2100) [11-MAR-2019 07:04:24:542] nsbasic_brc: type=6, plen=298\n",
        );
        let seen: Vec<_> = packets.iter().map(told).collect();
        assert_eq!(
            seen,
            [
                (true, 6, Some(37), Some(1644), Some(530), None),
                (false, 6, Some(298), Some(1644), Some(542), Some(530)),
            ]
        );
        assert_eq!(facts.side, Some(Side::Client));
    }

    #[test]
    fn below_level_6_packets_have_names_alone() {
        let (packets, facts) = packets(
            "nscon: doing connect handshake...\n\
             nscon: sending NSPTCN packet\n\
             nscon: got NSPTRF packet\n\
             nserror: nsres: id=0, op=65, ns=12514, ns2=12560; nt[0]=0, nt[1]=0, nt[2]=0; ora[0]=0\n",
        );
        let seen: Vec<_> = packets.iter().map(told).collect();
        assert_eq!(
            seen,
            [
                (true, 1, None, None, None, None),
                (false, 4, None, None, None, None)
            ]
        );
        assert_eq!((facts.side, facts.refused), (Some(Side::Client), 1));
        assert_eq!(facts.errors.get(&12_514), Some(&1));
    }

    #[test]
    fn descriptors_show_no_passwords() {
        assert_eq!(
            public(
                "(DESCRIPTION=(CONNECT_DATA=(SID=X)(Password=tiger)(CID=(PROGRAM=p)))) and more"
            ),
            "(DESCRIPTION=(CONNECT_DATA=(SID=X)(Password=?)(CID=(PROGRAM=p))))"
        );
        let (_, facts) = packets(
            "nsprecv: tlen=60, plen=60, type=1\n\
             nsprecv: 00 00 28 44 45 53 43 52  |........|\n\
             nsprecv: 49 50 54 49 4F 4E 3D 29  |........|\n",
        );
        assert_eq!(facts.descriptor.as_deref(), Some("(DESCRIPTION=)"));
    }
}
