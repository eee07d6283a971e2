//! `ethtool -S INTERFACE` (5 to 6) into drops of the interface: names are the driver's own.
//!
//! Read are counters whose name says that packets were dropped for want of room (`rx_dropped`, `rx_missed_errors`,
//! `rx_no_buffer_count`, `rx_out_of_buffer`, `rx_fifo_errors`, `rx_queue_0_drops`, `rx_discards`). A driver counts the same
//! packet under several names, so that of all the one that grew most is taken: at least so many were dropped.

use super::gather::{Gather, Now, Reader};
use super::{Counter, Sample, Tool};
use crate::lines::Skips;

const SAY_DROPPED: [&str; 6] = [
    "drop",
    "missed",
    "no_buf",
    "out_of_buf",
    "fifo_err",
    "discard",
];

#[derive(Default)]
pub(super) struct Read {
    most: Option<Sample>,
    is_told: bool,
}

impl Reader for Read {
    fn begin(&mut self) {
        self.most = None;
    }

    fn line(&mut self, line: &str, now: Now<'_>, into: &mut Gather) {
        let Some((name, total)) = line.trim().rsplit_once(':') else {
            return;
        };
        let lower = name.to_ascii_lowercase();
        // Programs drop what they were written to drop.
        let says = SAY_DROPPED.iter().any(|w| lower.contains(w)) && !lower.contains("xdp");
        let Some(total) = total.trim().parse::<u64>().ok().filter(|_| says) else {
            return;
        };
        let Some(at_ns) = now.header_ns else {
            if !std::mem::replace(&mut self.is_told, true) {
                into.skip(now.at, "a counter without a time; put a line # TIME ethtool -S INTERFACE above each sample");
            }
            return;
        };
        let interface = now.command.split_whitespace().last().unwrap_or_default();
        let key = format!("{interface} {name}");
        let Some((from_ns, grown)) = into.grown(Tool::Ethtool, &key, at_ns, total) else {
            return;
        };
        let milli = i128::from(grown) * 1_000_000_000_000 / i128::from(at_ns - from_ns);
        let sample = Sample {
            from_ns,
            until_ns: at_ns,
            milli: i64::try_from(milli).unwrap_or(i64::MAX),
        };
        if self
            .most
            .is_none_or(|most| most.until_ns != at_ns || most.milli < sample.milli)
        {
            self.most = Some(sample);
            into.most(Counter::NicDrops, interface, sample);
        }
    }
}
