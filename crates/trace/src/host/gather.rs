//! The lines of a file to the readers of their tools, and what these find into a [`Host`], within the bound on samples.

use super::stamp::{self, Banner};
use super::tool::Tool;
use super::{Counter, Host, Sample, Series, TcpConnection, TcpSample};
use super::{ethtool, iostat, nfsd, pressure, sadf, sar, snmp, ss, tcp_events, tcpdump, vmstat};
use crate::lines::{At, Lines, Skips};
use crate::{Error, OPERATIONS, mountstats, nfsiostat};
use std::collections::HashMap;
use std::fmt;
use std::io::Cursor;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

/// Counters and devices, connections, and names that are remembered of a file.
const SERIES: usize = 10_000;
const CONNECTIONS: usize = 200_000;
const NAME_BYTES: usize = 64;

/// Of what is read as a whole, bytes that are kept.
const TEXT_BYTES: usize = 32 << 20;

/// What stands above a line: when the sample was taken, by which command.
#[derive(Clone, Copy)]
pub(super) struct Now<'a> {
    pub(super) at: At<'a>,
    pub(super) header_ns: Option<i64>,
    pub(super) command: &'a str,
    pub(super) path: &'a Path,
}

/// The lines of a sample.
pub(super) trait Reader {
    /// A line `# TIME COMMAND` begins another.
    fn begin(&mut self) {}

    fn line(&mut self, line: &str, now: Now<'_>, into: &mut Gather);

    /// There is no line more.
    fn end(&mut self, _into: &mut Gather) {}
}

pub(super) struct Gather {
    host: Host,
    numbers: HashMap<(Counter, Box<str>, bool), usize>,
    connections: HashMap<(SocketAddr, SocketAddr), usize>,
    /// When a counter that grows was taken last, and what it was.
    totals: HashMap<(Tool, Box<str>), (i64, u64)>,
    /// Of tools whose output is read as a whole.
    texts: [(Tool, Vec<u8>); 3],
    banner: Option<Banner>,
    kept: usize,
    limit: usize,
}

impl Skips for Gather {
    fn skip(&mut self, at: At<'_>, reason: impl fmt::Display) {
        self.host.skipped_lines += 1;
        self.host
            .first_skipped
            .get_or_insert_with(|| format!("{}, line {}: {reason}", at.file, at.line));
    }
}

impl Gather {
    pub(super) fn new(limit: usize) -> Gather {
        Gather {
            host: Host::default(),
            numbers: HashMap::new(),
            connections: HashMap::new(),
            totals: HashMap::new(),
            texts: [Tool::Sadf, Tool::Mountstats, Tool::Nfsiostat].map(|t| (t, Vec::new())),
            banner: None,
            kept: 0,
            limit,
        }
    }

    pub(super) fn read(mut self, file: Lines, path: &Path) -> Result<Host, Error> {
        let name = file.name();
        self.host.file.clone_from(&name);
        let mut readers = Readers::default();
        let mut tool = None;
        let mut header_ns = None;
        let mut command = String::new();
        let mut first = None;
        file.each(&mut self, |into, at, line| {
            first.get_or_insert_with(|| (at.line, line.trim().chars().take(60).collect()));
            if let Some((ns, run)) = stamp::header(line) {
                header_ns = Some(ns);
                command = run.chars().take(1_000).collect();
                tool = Tool::of_command(run);
                if let Some(reader) = tool.and_then(|t| readers.of(t)) {
                    reader.begin();
                }
                return Ok(());
            }
            if let Some(found) = stamp::banner(line) {
                into.host.name.get_or_insert_with(|| found.name.clone());
                into.host.processors = into.host.processors.or(found.processors);
                into.banner = Some(found);
                return Ok(());
            }
            tool = Tool::of(line).or(tool);
            let now = Now {
                at,
                header_ns,
                command: &command,
                path,
            };
            into.take(tool, line, now, &mut readers);
            Ok(())
        })?;
        if self.host.tools.is_empty() {
            let (line, text) = first.unwrap_or_default();
            return Err(Error::NoHost {
                file: name,
                line,
                text,
            });
        }
        readers.snmp.end(&mut self);
        self.whole(&name)?;
        self.finish(name)
    }

    fn take(&mut self, tool: Option<Tool>, line: &str, now: Now<'_>, readers: &mut Readers) {
        let Some(tool) = tool else {
            // A date or a command may stand above it.
            return;
        };
        self.host.tools.insert(tool);
        let text = self.texts.iter_mut().find(|(t, _)| *t == tool);
        if let Some((_, text)) = text {
            if text.len().saturating_add(line.len()) < TEXT_BYTES {
                text.extend_from_slice(line.as_bytes());
                text.push(b'\n');
            } else {
                self.skip(
                    now.at,
                    format_args!("more than {TEXT_BYTES} bytes of {}", tool.name()),
                );
            }
        } else if let Some(reader) = readers.of(tool) {
            reader.line(line, now, self);
        }
    }

    /// What is read as a whole.
    fn whole(&mut self, name: &str) -> Result<(), Error> {
        let texts = self
            .texts
            .each_mut()
            .map(|(tool, text)| (*tool, std::mem::take(text)));
        for (tool, text) in texts.into_iter().filter(|(_, t)| !t.is_empty()) {
            if tool == Tool::Sadf {
                sadf::read(name, &text, self);
                continue;
            }
            let lines = Lines::new(name.to_owned(), Cursor::new(text))?;
            let mut into = crate::collector::Collector::new(OPERATIONS);
            match tool {
                Tool::Mountstats => mountstats::read(vec![lines], &mut into)?,
                _ => nfsiostat::read(vec![lines], &mut into)?,
            }
            self.host.sums = Some(Arc::new(into.finish(name.to_owned())?));
        }
        Ok(())
    }

    fn finish(self, file: String) -> Result<Host, Error> {
        let mut host = self.host;
        for series in &mut host.series {
            series.samples.sort_unstable();
            series.samples.dedup();
        }
        let has_series = !host.series.is_empty() || !host.connections.is_empty();
        if has_series || host.sums.is_some() || host.counts.is_some() {
            return Ok(host);
        }
        let reason = match &host.first_skipped {
            Some(first) => format!("check the first line that was left out: {first}"),
            None => {
                "counters that only grow need two samples, with a line # TIME COMMAND above each"
                    .to_owned()
            }
        };
        Err(Error::NoSamples { file, reason })
    }

    pub(super) fn banner(&self) -> Option<&Banner> {
        self.banner.as_ref()
    }

    pub(super) fn host(&mut self) -> &mut Host {
        &mut self.host
    }

    /// What a counter was from then to then.
    pub(super) fn sample(
        &mut self,
        counter: Counter,
        device: &str,
        is_local: bool,
        sample: Sample,
    ) {
        if self.kept >= self.limit {
            self.host.beyond_limit += 1;
            return;
        }
        if sample.until_ns <= sample.from_ns {
            return;
        }
        let device: Box<str> = device.chars().take(NAME_BYTES).collect::<String>().into();
        let key = (counter, device, is_local);
        let number = match self.numbers.get(&key) {
            Some(&number) => number,
            None if self.host.series.len() >= SERIES => {
                self.host.beyond_limit += 1;
                return;
            }
            None => {
                let number = self.host.series.len();
                self.host.series.push(Series {
                    counter,
                    device: key.1.clone(),
                    is_local,
                    samples: Vec::new(),
                });
                self.numbers.insert(key, number);
                number
            }
        };
        if let Some(series) = self.host.series.get_mut(number) {
            series.samples.push(sample);
            self.kept += 1;
        }
    }

    /// How much a counter that only grows has grown since it was taken before, and since when.
    pub(super) fn grown(
        &mut self,
        tool: Tool,
        name: &str,
        at_ns: i64,
        total: u64,
    ) -> Option<(i64, u64)> {
        if self.totals.len() >= SERIES && !self.totals.contains_key(&(tool, name.into())) {
            return None;
        }
        let (before_ns, before) = self.totals.insert((tool, name.into()), (at_ns, total))?;
        let grown = total.checked_sub(before)?;
        (before_ns < at_ns).then_some((before_ns, grown))
    }

    /// The same, as so many a second.
    pub(super) fn rate(
        &mut self,
        tool: Tool,
        (counter, device): (Counter, &str),
        at_ns: i64,
        (name, total): (&str, u64),
    ) {
        if let Some((from_ns, grown)) = self.grown(tool, name, at_ns, total) {
            let milli = i128::from(grown) * 1_000_000_000_000 / i128::from(at_ns - from_ns);
            let sample = Sample {
                from_ns,
                until_ns: at_ns,
                milli: i64::try_from(milli).unwrap_or(i64::MAX),
            };
            self.sample(counter, device, false, sample);
        }
    }

    /// The same, or the larger of those of one interval.
    pub(super) fn most(&mut self, counter: Counter, device: &str, sample: Sample) {
        let key = (
            counter,
            device.chars().take(NAME_BYTES).collect::<String>().into(),
            false,
        );
        let number = self.numbers.get(&key).copied();
        let series = number.and_then(|n| self.host.series.get_mut(n));
        match series.and_then(|s| s.samples.last_mut()) {
            Some(last) if last.until_ns == sample.until_ns => {
                last.milli = last.milli.max(sample.milli)
            }
            _ => self.sample(counter, device, false, sample),
        }
    }

    pub(super) fn connection(&mut self, ends: (SocketAddr, SocketAddr), sample: TcpSample) {
        let number = match self.connections.get(&ends) {
            Some(&number) => number,
            None if self.connections.len() >= CONNECTIONS || self.kept >= self.limit => {
                self.host.beyond_limit += 1;
                return;
            }
            None => {
                let number = self.host.connections.len();
                self.host.connections.push(TcpConnection {
                    local: ends.0,
                    peer: ends.1,
                    samples: Vec::new(),
                });
                self.connections.insert(ends, number);
                number
            }
        };
        self.address(ends.0);
        if let Some(connection) = self.host.connections.get_mut(number) {
            // A sample is several words.
            self.kept += 4;
            connection.samples.push(sample);
        }
    }

    /// An end that is this host's own.
    pub(super) fn address(&mut self, end: SocketAddr) {
        let address = end.ip().to_canonical();
        if !address.is_loopback() && !address.is_unspecified() && self.host.addresses.len() < SERIES
        {
            self.host.addresses.insert(address);
        }
    }
}

#[derive(Default)]
struct Readers {
    ss: ss::Read,
    pressure: pressure::Read,
    vmstat: vmstat::Read,
    sar: sar::Read,
    iostat: iostat::Read,
    snmp: snmp::Read,
    ethtool: ethtool::Read,
    nfsd: nfsd::Read,
    tcp_events: tcp_events::Read,
    tcpdump: tcpdump::Read,
}

impl Readers {
    fn of(&mut self, tool: Tool) -> Option<&mut dyn Reader> {
        Some(match tool {
            Tool::Ss => &mut self.ss,
            Tool::Pressure => &mut self.pressure,
            Tool::Vmstat => &mut self.vmstat,
            Tool::Sar => &mut self.sar,
            Tool::Iostat => &mut self.iostat,
            Tool::Nstat | Tool::Netstat => &mut self.snmp,
            Tool::Ethtool => &mut self.ethtool,
            Tool::Nfsd => &mut self.nfsd,
            Tool::Tcpretrans | Tool::Tcplife | Tool::Tcpconnlat => &mut self.tcp_events,
            Tool::Tcpdump => &mut self.tcpdump,
            Tool::Sadf | Tool::Mountstats | Tool::Nfsiostat => return None,
        })
    }
}
