//! What a run tells while it goes on: a bar on standard error when that is a terminal and the run
//! takes longer than a second, with how fast it reads and how long it yet takes; and notes as lines.

use crate::out::{self, complain};
use indicatif::{DecimalBytes, HumanCount, ProgressBar, ProgressStyle};
use slowside::Event;
use std::time::{Duration, Instant};

/// A run that is over before this needs no bar.
const PATIENCE: Duration = Duration::from_secs(1);

pub(crate) struct Progress {
    started: Instant,
    quiet: bool,
    show: bool,
    bar: Option<ProgressBar>,
}

impl Progress {
    /// `streaming` says that output is written while the run goes on: on the same terminal, a bar
    /// would stand in its way.
    pub(crate) fn new(quiet: bool, streaming: bool) -> Progress {
        let free = out::complaints_are_seen() && !(streaming && out::is_terminal());
        Progress {
            started: Instant::now(),
            quiet,
            show: free && !quiet,
            bar: None,
        }
    }

    pub(crate) fn event(&mut self, event: Event) {
        match event {
            Event::Progress {
                read,
                total,
                packets,
            } => self.advance(read, total, packets),
            Event::Note(_) if self.quiet => {}
            Event::Note(note) => match &self.bar {
                Some(bar) => bar.suspend(|| complain(&note)),
                None => complain(&note),
            },
        }
    }

    fn advance(&mut self, read: u64, total: Option<u64>, packets: u64) {
        let elapsed = self.started.elapsed();
        if !self.show || elapsed < PATIENCE {
            return;
        }
        let bar = self.bar.get_or_insert_with(|| {
            let bar = total.map_or_else(ProgressBar::new_spinner, ProgressBar::new);
            let template = match total {
                Some(_) => "{wide_bar} {msg}",
                None => "{spinner} {msg}",
            };
            if let Ok(style) = ProgressStyle::with_template(template) {
                bar.set_style(style);
            }
            bar
        });
        if let Some(total) = total {
            bar.set_length(total);
        }
        bar.set_position(read);
        bar.set_message(said(read, total, packets, elapsed));
    }
}

/// `1.2 GB of 2.7 GB, 310 MB/s, 1,840,000 packets/s, 5 s left`; rates are those of the whole run.
fn said(read: u64, total: Option<u64>, packets: u64, elapsed: Duration) -> String {
    let seconds = elapsed.as_secs_f64().max(0.001);
    let rate = |n: u64| n as f64 / seconds;
    let amount = match total {
        Some(total) => format!("{} of {}", DecimalBytes(read), DecimalBytes(total)),
        None => DecimalBytes(read).to_string(),
    };
    let left = match total {
        Some(total) if read > 0 => {
            let left = total.saturating_sub(read) as f64 / rate(read);
            format!(", {} left", spoken(left.round() as u64))
        }
        _ => String::new(),
    };
    let packets = match packets {
        0 => String::new(),
        n => format!(", {} packets/s", HumanCount(rounded(rate(n) as u64))),
    };
    format!(
        "{amount}, {}/s{packets}{left}",
        DecimalBytes(rate(read) as u64)
    )
}

/// Three digits of a number; the rest would only flicker.
fn rounded(n: u64) -> u64 {
    let unit = 10_u64.pow(n.checked_ilog10().unwrap_or(0).saturating_sub(2));
    n / unit * unit
}

/// `5 s`, `2 min 10 s`, `1 h 5 min`.
fn spoken(seconds: u64) -> String {
    match seconds {
        ..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3_600, seconds / 60 % 60),
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_and_the_time_that_is_left_are_said() {
        let said = |total| said(1_200_000_000, total, 6_543_210, Duration::from_secs(4));
        assert_eq!(
            said(Some(2_700_000_000)),
            "1.20 GB of 2.70 GB, 300.00 MB/s, 1,630,000 packets/s, 5 s left"
        );
        assert_eq!(said(None), "1.20 GB, 300.00 MB/s, 1,630,000 packets/s");
        let trace = super::said(3_000, None, 0, Duration::from_secs(1));
        assert_eq!(trace, "3.00 kB, 3.00 kB/s");
        assert_eq!(spoken(130), "2 min 10 s");
        assert_eq!(spoken(3_900), "1 h 5 min");
        assert_eq!(rounded(7), 7);
    }
}
