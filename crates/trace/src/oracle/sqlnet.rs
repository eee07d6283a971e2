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
mod tests;
