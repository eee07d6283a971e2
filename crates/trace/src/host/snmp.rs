//! `nstat -as` (iproute2 4 to 6) and `netstat -s` (net-tools 1.6 to 2.10) of Linux into rates: retransmits, and what was
//! dropped although it had arrived.
//!
//! Both count since the system was started, and two samples are subtracted. `nstat` does not print what is zero: what a
//! sample lacks is that. Without `-a` it prints what came since it was run before: its samples count by themselves, as its
//! command says.

use super::gather::{Gather, Now, Reader};
use super::{Counter, Sample, Tool};
use crate::lines::Skips;

/// What is called so by the kernel (nstat; netstat with a colon), and by net-tools in words.
const NAMES: [(&str, &str, Counter); 9] = [
    (
        "TcpRetransSegs",
        "segments retransmitted",
        Counter::Retransmits,
    ),
    (
        "TcpRetransSegs",
        "segments retransmited",
        Counter::Retransmits,
    ),
    (
        "TcpExtListenOverflows",
        "times the listen queue of a socket overflowed",
        Counter::SocketDrops,
    ),
    (
        "TcpExtListenDrops",
        "SYNs to LISTEN sockets dropped",
        Counter::SocketDrops,
    ),
    (
        "TcpExtTCPBacklogDrop",
        "TCPBacklogDrop",
        Counter::SocketDrops,
    ),
    ("TcpExtTCPRcvQDrop", "TCPRcvQDrop", Counter::SocketDrops),
    (
        "TcpExtPruneCalled",
        "packets pruned from receive queue because of socket buffer overrun",
        Counter::SocketDrops,
    ),
    (
        "UdpRcvbufErrors",
        "receive buffer errors",
        Counter::SocketDrops,
    ),
    (
        "IpInDiscards",
        "incoming packets discarded",
        Counter::SocketDrops,
    ),
];

#[derive(Default)]
pub(super) struct Read {
    before_ns: Option<i64>,
    at_ns: Option<i64>,
    /// Of `netstat -s`: words are the same for UDP and UDPLite.
    section: String,
    /// The sample of `nstat -a` that is being read: its time, and what it has.
    whole: Option<(i64, Vec<&'static str>)>,
}

impl Reader for Read {
    fn line(&mut self, line: &str, now: Now<'_>, into: &mut Gather) {
        let text = line.trim();
        let command = Command::of(now.command);
        if self.whole.as_ref().map(|(at_ns, _)| *at_ns) != now.header_ns {
            self.end(into);
            let at_ns = now.header_ns.filter(|_| command == Command::NstatWhole);
            self.whole = at_ns.map(|at_ns| (at_ns, Vec::new()));
        }
        if text.starts_with('#') {
            return;
        }
        if !line.starts_with(' ') && text.ends_with(':') {
            self.section = text.trim_end_matches(':').chars().take(32).collect();
            return;
        }
        let Some((name, total, counter)) = self.named(text) else {
            return;
        };
        let Some(at_ns) = now.header_ns else {
            return into.skip(
                now.at,
                "a counter without a time; put a line # TIME nstat -as above each sample",
            );
        };
        if self.at_ns != Some(at_ns) {
            self.before_ns = self.at_ns.replace(at_ns);
        }
        let device = device(name, counter);
        if let Some((_, has)) = &mut self.whole {
            has.push(name);
        }
        if command == Command::NstatSince {
            // Since it was run before.
            if let Some(from_ns) = self.before_ns.filter(|from| *from < at_ns) {
                let milli = i128::from(total) * 1_000_000_000_000 / i128::from(at_ns - from_ns);
                let milli = i64::try_from(milli).unwrap_or(i64::MAX);
                into.sample(
                    counter,
                    device,
                    false,
                    Sample {
                        from_ns,
                        until_ns: at_ns,
                        milli,
                    },
                );
            }
            return;
        }
        let tool = match command {
            Command::Netstat => Tool::Netstat,
            Command::NstatWhole | Command::NstatSince => Tool::Nstat,
        };
        into.rate(tool, (counter, device), at_ns, (name, total));
    }

    /// What it did not print is zero.
    fn end(&mut self, into: &mut Gather) {
        let Some((at_ns, has)) = self.whole.take() else {
            return;
        };
        for (name, words, counter) in &NAMES {
            // One of them has two spellings.
            if !has.contains(name) && *words != "segments retransmited" {
                let device = device(name, *counter);
                into.rate(Tool::Nstat, (*counter, device), at_ns, (name, 0));
            }
        }
    }
}

/// What was run, as far as it says how its counters count.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Command {
    /// Since the system was started, what is not zero.
    NstatWhole,
    /// Since it was run before.
    NstatSince,
    /// Since the system was started.
    Netstat,
}

impl Command {
    fn of(text: &str) -> Command {
        let mut words = text.split_whitespace();
        match words.next() {
            Some(program) if program.ends_with("nstat") => {
                match words.any(|w| w.starts_with('-') && w.contains('a')) {
                    true => Command::NstatWhole,
                    false => Command::NstatSince,
                }
            }
            _ => Command::Netstat,
        }
    }
}

fn device(name: &'static str, counter: Counter) -> &'static str {
    match counter {
        Counter::Retransmits => "",
        _ => name,
    }
}

impl Read {
    fn named(&self, text: &str) -> Option<(&'static str, u64, Counter)> {
        let (first, rest) = text.split_once(char::is_whitespace)?;
        let rest = rest.trim();
        let found = NAMES.iter().find(|(kernel, words, _)| {
            let bare = kernel.strip_prefix("TcpExt").unwrap_or(kernel);
            let said = rest == *words && (!rest.contains("buffer errors") || self.section == "Udp");
            first == *kernel || first.strip_suffix(':') == Some(bare) || said
        });
        let (name, _, counter) = found?;
        let number = match first.parse::<u64>() {
            Ok(number) => number,
            Err(_) => rest.split_whitespace().next()?.parse().ok()?,
        };
        Some((name, number, *counter))
    }
}
