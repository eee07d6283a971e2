//! What tcpdump (4.9 to 4.99), or dumpcap and tshark, say when they end, into what they captured and lost:
//! `12 packets captured`, `3 packets dropped by kernel`; `Packets received/dropped on interface 'eth0': 12/3 (…)`.

use super::gather::{Gather, Now, Reader};
use crate::lines::Skips;

/// Packets as the program counted them; unknown where it did not say.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, serde::Serialize)]
pub struct CaptureCounts {
    pub captured: Option<u64>,
    pub received: Option<u64>,
    pub dropped: Option<u64>,
    pub dropped_by_interface: Option<u64>,
}

impl CaptureCounts {
    /// Of all that the program said.
    pub fn read<'a>(lines: impl Iterator<Item = &'a str>) -> CaptureCounts {
        let mut counts = CaptureCounts::default();
        lines.for_each(|line| {
            counts.line(line);
        });
        counts
    }

    /// What is missing in the capture; `None` where the program did not say.
    #[must_use]
    pub fn lost(&self) -> Option<u64> {
        match (self.dropped, self.dropped_by_interface) {
            (None, None) => None,
            (a, b) => Some(a.unwrap_or(0).saturating_add(b.unwrap_or(0))),
        }
    }

    /// Takes a line, and says whether it counts something.
    fn line(&mut self, line: &str) -> bool {
        self.tcpdump(line.trim())
            .or_else(|| self.dumpcap(line.trim()))
            .is_some()
    }

    fn tcpdump(&mut self, line: &str) -> Option<()> {
        let (number, what) = line.split_once(' ')?;
        let number = Some(number.parse().ok()?);
        // "1 packet captured" is the singular.
        let what = what
            .strip_prefix("packets ")
            .or_else(|| what.strip_prefix("packet "))?;
        match what {
            "captured" => self.captured = number,
            "received by filter" => self.received = number,
            "dropped by kernel" => self.dropped = number,
            "dropped by interface" => self.dropped_by_interface = number,
            _ => return None,
        }
        Some(())
    }

    /// A line for each interface.
    fn dumpcap(&mut self, line: &str) -> Option<()> {
        if let Some(number) = line.strip_prefix("Packets captured: ") {
            self.captured = Some(number.parse().ok()?);
            return Some(());
        }
        let of = line.strip_prefix("Packets received/dropped on interface ")?;
        let (_, counts) = of.rsplit_once("': ")?;
        let (received, dropped) = counts.split_whitespace().next()?.split_once('/')?;
        let (received, dropped): (u64, u64) = (received.parse().ok()?, dropped.parse().ok()?);
        for (sum, more) in [(&mut self.received, received), (&mut self.dropped, dropped)] {
            *sum = Some(sum.unwrap_or(0).saturating_add(more));
        }
        Some(())
    }
}

/// Whether a line is one that these programs begin or end with.
pub(super) fn is_said(line: &str) -> bool {
    let begins = line.starts_with("tcpdump: ")
        || line.starts_with("listening on ") && line.contains(", link-type ")
        || line.starts_with("Capturing on '");
    begins || CaptureCounts::default().line(line)
}

#[derive(Default)]
pub(super) struct Read {
    counts: CaptureCounts,
    is_told: bool,
}

impl Reader for Read {
    fn line(&mut self, line: &str, now: Now<'_>, into: &mut Gather) {
        // It ends once.
        if self.counts.captured.is_some() && line.trim().ends_with(" captured") {
            if !std::mem::replace(&mut self.is_told, true) {
                into.skip(
                    now.at,
                    "a second end of a capture; give what each said as a file of its own",
                );
            }
            return;
        }
        if self.counts.line(line) {
            into.host().counts = Some(self.counts);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::{Tool, read_bytes};

    #[test]
    fn drops_are_read() {
        let said = "tcpdump: listening on eth0, link-type EN10MB (Ethernet), snapshot length 512 bytes\n\
                    1 packet captured\n12 packets received by filter\n3 packets dropped by kernel\n";
        let counts = CaptureCounts::read(said.lines());
        assert_eq!(
            (counts.captured, counts.received, counts.dropped),
            (Some(1), Some(12), Some(3))
        );
        assert_eq!(
            (counts.dropped_by_interface, counts.lost()),
            (None, Some(3))
        );
        let host = read_bytes("tcpdump.err", said.as_bytes()).unwrap();
        assert_eq!(host.counts, Some(counts));
        assert!(host.tools.contains(&Tool::Tcpdump));
        let nothing = CaptureCounts::read("x packets captured\n".lines());
        assert_eq!((nothing, nothing.lost()), (CaptureCounts::default(), None));
    }

    #[test]
    fn interfaces_of_dumpcap_are_summed() {
        let said = "Capturing on 'eth0' and 'eth1'\nFile: /tmp/a.pcap\nPackets captured: 61\n\
                    Packets received/dropped on interface 'eth0': 51/4 (pcap:4/dumpcap:0/flushed:0/ps_ifdrop:0) (92.7%)\n\
                    Packets received/dropped on interface 'eth1': 10/1 (pcap:1/dumpcap:0/flushed:0/ps_ifdrop:0) (90.9%)\n";
        let host = read_bytes("dumpcap.err", said.as_bytes()).unwrap();
        let counts = host.counts.unwrap();
        assert_eq!(
            (counts.captured, counts.received, counts.lost()),
            (Some(61), Some(61), Some(5))
        );
    }

    #[test]
    fn what_two_captures_said_is_not_mixed() {
        let said = "9 packets captured\n0 packets dropped by kernel\n8 packets captured\n";
        let host = read_bytes("both", said.as_bytes()).unwrap();
        assert_eq!(host.counts.unwrap().captured, Some(9));
        assert_eq!(host.skipped_lines, 1);
    }
}
