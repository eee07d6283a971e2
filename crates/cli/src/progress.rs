//! What a run tells while it goes on: a bar on standard error when that is a terminal and the run
//! takes longer than a second, and notes as lines.

use crate::exit::complain;
use indicatif::{ProgressBar, ProgressStyle};
use slowside::Event;
use std::io::{self, IsTerminal};
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
        let free = io::stderr().is_terminal() && !(streaming && io::stdout().is_terminal());
        Progress {
            started: Instant::now(),
            quiet,
            show: free && !quiet,
            bar: None,
        }
    }

    pub(crate) fn event(&mut self, event: Event) {
        match event {
            Event::Progress { read, total, .. } => self.advance(read, total),
            Event::Note(_) if self.quiet => {}
            Event::Note(note) => match &self.bar {
                Some(bar) => bar.suspend(|| complain(&note)),
                None => complain(&note),
            },
        }
    }

    fn advance(&mut self, read: u64, total: Option<u64>) {
        if !self.show || self.started.elapsed() < PATIENCE {
            return;
        }
        let bar = self.bar.get_or_insert_with(|| {
            let bar = total.map_or_else(ProgressBar::new_spinner, ProgressBar::new);
            let template = if total.is_some() {
                "{wide_bar} {decimal_bytes} of {decimal_total_bytes}, \
                 {decimal_bytes_per_sec}, {eta} left"
            } else {
                "{spinner} {decimal_bytes}, {decimal_bytes_per_sec}"
            };
            if let Ok(style) = ProgressStyle::with_template(template) {
                bar.set_style(style);
            }
            bar.with_elapsed(self.started.elapsed())
        });
        if let Some(total) = total {
            bar.set_length(total);
        }
        bar.set_position(read);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
