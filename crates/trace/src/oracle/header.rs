//! What a trace says of itself: which database and session wrote it, and in which unit its times are.
//!
//! Until 8i times are hundredths of a second, from 9i on microseconds. 9.2 and 10.2 on Linux and Solaris
//! in truth count units of 1,024 ns: that shows where the trace's own dates (`*** 2005-03-01 …`) stand
//! far enough apart, and [`UnitFinder`] holds the two clocks against each other.

use super::record::PacketKind;
use super::stamp::Stamp;
use model::Problems;
use std::collections::BTreeMap;

/// A file that was read.
#[derive(Clone, Debug, Default)]
pub struct TraceFile {
    /// As given.
    pub name: String,
    pub lines: u64,
    /// Unpacked.
    pub bytes: u64,
    /// Lines that are records of the extended SQL trace, lines of SQL*Net, and lines that are neither.
    pub extended_lines: u64,
    pub net_lines: u64,
    pub other_lines: u64,
    /// `Oracle Database 19c Enterprise Edition Release 19.0.0.0.0 - Production`.
    pub product: Option<String>,
    /// The first two numbers of its release.
    pub release: Option<(u32, u32)>,
    /// `Linux`.
    pub system: Option<String>,
    pub host: Option<String>,
    pub instance: Option<String>,
    /// Number of the traced process in its operating system.
    pub process: Option<u64>,
    /// `SESSION ID`, `SERVICE NAME`, `MODULE NAME` and `CLIENT DRIVER`, as they were last.
    pub session: Option<String>,
    pub service: Option<String>,
    pub module: Option<String>,
    pub driver: Option<String>,
    /// Different sessions that the process served in turn.
    pub sessions: u64,
    pub first: Option<Stamp>,
    pub last: Option<Stamp>,
    /// Nanoseconds that one unit of its times stands for.
    pub unit_ns: i64,
    pub net: NetFacts,
    pub problems: Problems,
}

/// Which end of the connection wrote a SQL*Net trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    Client,
    Server,
    Listener,
}

impl Side {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Side::Client => "client",
            Side::Server => "server",
            Side::Listener => "listener",
        }
    }
}

/// Attempts that came to an end, and how long they took; 0 where lines have no dates.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Attempts {
    pub count: u64,
    pub total_ns: i64,
}

/// What a SQL*Net trace says of its connection; of several, of the last.
#[derive(Clone, Debug, Default)]
pub struct NetFacts {
    /// `New trace level is 16`.
    pub level: Option<u32>,
    pub side: Option<Side>,
    /// Bytes of session and transport data units that this side proposed (`nsopen`), and what was agreed
    /// (`nsconneg`).
    pub proposed_sdu: Option<u64>,
    pub proposed_tdu: Option<u64>,
    pub sdu: Option<u64>,
    pub tdu: Option<u64>,
    /// Version of SQL*Net agreed: 314 for 11g, 315 for 12c.
    pub version: Option<u32>,
    /// The connect descriptor, without passwords.
    pub descriptor: Option<String>,
    /// `(HOST=192.168.1.51)(PORT=1521)` of the other side.
    pub peer: Option<String>,
    /// Errors of the network layer by code: `nserror: nsres: … ns=12537`.
    pub errors: BTreeMap<u32, u64>,
    /// Errors of the operating system by its number: `nt[1]` of the same lines.
    pub system_errors: BTreeMap<u32, u64>,
    /// Errors that the application got, by ORA- code.
    pub returned: BTreeMap<u32, u64>,
    /// Attempts to open a transport that did, and that did not.
    pub opened: Attempts,
    pub not_opened: Attempts,
    /// What the native services agreed on, `none` where they said so.
    pub encryption: Option<String>,
    pub checksum: Option<String>,
    /// `nttcon: set TCP_NODELAY` was there: small packets are not held back.
    pub nodelay: Option<bool>,
    pub refused: u64,
    pub redirected: u64,
}

impl NetFacts {
    /// What a packet tells of which side wrote the trace: clients send CONNECT.
    pub(super) fn saw(&mut self, sent: bool, kind: PacketKind) {
        if kind == PacketKind::CONNECT {
            self.set_side(if sent { Side::Client } else { Side::Server });
        }
        self.refused += u64::from(kind == PacketKind::REFUSE);
        self.redirected += u64::from(kind == PacketKind::REDIRECT);
    }

    pub(super) fn set_side(&mut self, side: Side) {
        self.side.get_or_insert(side);
    }
}

/// `*** [ Unix process pid: 9854 ]`, which `trcsess` writes before what it took from that process's trace.
pub(super) fn process_mark(line: &str) -> Option<u64> {
    let inside = line.strip_prefix("*** [")?.trim_end().strip_suffix(']')?;
    inside
        .trim()
        .strip_prefix("Unix process pid:")?
        .trim()
        .parse()
        .ok()
}

impl TraceFile {
    /// Looks for what a header line says; whether it is one.
    pub(super) fn header_line(&mut self, line: &str) -> bool {
        let after = |key: &str| Some(line.strip_prefix(key)?.trim().to_owned());
        if let Some(stars) = line.strip_prefix("*** ") {
            return self.stars(stars);
        }
        if self.product.is_none() && line.starts_with("Oracle") && line.contains("Release ") {
            self.release = release(line);
            self.product = Some(line.trim().to_owned());
        } else if let Some(value) = after("System name:") {
            self.system = Some(value);
        } else if let Some(value) = after("Node name:") {
            self.host = Some(value);
        } else if let Some(value) = after("Instance name:") {
            self.instance = Some(value);
        } else if let Some(value) = after("Unix process pid:") {
            let digits = value.split(|c: char| !c.is_ascii_digit()).next();
            self.process = digits.and_then(|d| d.parse().ok());
        } else if line.starts_with("TNSLSNR") {
            self.net.set_side(Side::Listener);
        } else {
            return line.starts_with("Trace file ");
        }
        true
    }

    /// `*** SESSION ID:(2773.37935) 2023-05-19T05:28:00.339309+02:00`, or only the date.
    fn stars(&mut self, text: &str) -> bool {
        let (key, date) = match text.split_once(":(") {
            Some((key, rest)) if !key.starts_with(|c: char| c.is_ascii_digit()) => {
                // Values may hold parentheses: `(perl@prefect (TNS V1-V3)) 2024-…`.
                let Some((value, date)) = rest.rsplit_once(')') else {
                    return false;
                };
                self.session_fact(key, value);
                (Some(key), date.trim_start())
            }
            _ => (None, text),
        };
        match Stamp::iso(date) {
            Some((stamp, _)) => {
                self.first.get_or_insert(stamp);
                self.last = Some(stamp);
                true
            }
            None => key.is_some() || text.starts_with("TRACE CONTINUED"),
        }
    }

    fn session_fact(&mut self, key: &str, value: &str) {
        let fact = match key {
            "SESSION ID" => {
                self.sessions += u64::from(self.session.as_deref() != Some(value));
                &mut self.session
            }
            "SERVICE NAME" => &mut self.service,
            "MODULE NAME" => &mut self.module,
            "CLIENT DRIVER" => &mut self.driver,
            _ => return,
        };
        if !value.is_empty() {
            *fact = Some(value.to_owned());
        }
    }

    /// The unit that the release has, and whether 1,024 ns are possible too.
    pub(super) fn unit_of_release(&self) -> (i64, bool) {
        match self.release {
            Some((..9, _)) => (10_000_000, false),
            Some((9 | 10, _)) => (1_000, self.system.as_deref() != Some("Windows")),
            _ => (1_000, false),
        }
    }
}

/// `Release 11.2.0.4.0` into 11 and 2.
fn release(line: &str) -> Option<(u32, u32)> {
    let (_, text) = line.split_once("Release ")?;
    let mut numbers = text.split(|c: char| !c.is_ascii_digit()).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// The clock of the trace held against the dates in it.
#[derive(Default)]
pub(super) struct UnitFinder {
    /// A date that no time was seen behind yet.
    date: Option<Stamp>,
    first: Option<(i64, i64)>,
    last: Option<(i64, i64)>,
}

impl UnitFinder {
    pub(super) fn date(&mut self, stamp: Stamp) {
        self.date = Some(stamp);
    }

    /// A `tim` in its own unit: that of the first record behind a date was written with it.
    pub(super) fn tim(&mut self, tim: i64) {
        if let Some(date) = self.date.take() {
            let pair = (date.local_ns, tim);
            self.first.get_or_insert(pair);
            self.last = Some(pair);
        }
    }

    /// Nanoseconds of a unit, if it is 1,000 or 1,024; dates have milliseconds at best.
    pub(super) fn unit_ns(&self) -> Option<i64> {
        const FAR_NS: i64 = 3_000_000_000;
        let ((d0, t0), (d1, t1)) = (self.first?, self.last?);
        let (dates, tims) = (d1.checked_sub(d0)?, t1.checked_sub(t0)?);
        if dates < FAR_NS || tims <= 0 {
            return None;
        }
        let unit = dates as f64 / tims as f64;
        [1_000, 1_024]
            .into_iter()
            .find(|&u| (unit / u as f64 - 1.0).abs() < 0.005)
    }
}
