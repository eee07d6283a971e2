//! What is said of captures at both ends: what would be done, how far it is, how it ended.

use crate::out::{self, complain};
use collect::{
    Asked, Collected, EndPlan, Ended, Event, GRACE_S, KEEP_S, Plan, RESERVE_BYTES, Side, Watches,
    When, command_line,
};
use indicatif::{BinaryBytes, DecimalBytes, ProgressBar, ProgressStyle};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// The exact commands, and what bounds them.
pub(super) fn plan(plan: &Plan, out: &mut dyn Write) -> io::Result<()> {
    for end in &plan.ends {
        of_end(plan, end, out)?;
    }
    for note in &plan.notes {
        writeln!(
            out,
            "{}",
            report::wrap("Note: ", 0, &format!("{note}.")).trim_end()
        )?;
    }
    writeln!(out, "Nothing was started.")
}

fn of_end(plan: &Plan, end: &EndPlan, out: &mut dyn Write) -> io::Result<()> {
    let address = end.address.map_or_else(String::new, |a| format!(", {a}"));
    writeln!(
        out,
        "{} {}: {} ({}{address}, {})",
        end.side.name(),
        end.place,
        end.host,
        end.system,
        end.interface
    )?;
    // As it can be typed, on one line.
    writeln!(out, "  {:<9}{}", "runs", command_line(&end.capture))?;
    let mut line = |what: &str, text: &str| {
        let text = report::wrap(&format!("  {what:<9}"), 11, text);
        writeln!(out, "{}", text.trim_end())
    };
    let timeout = match end.has_timeout {
        true => ", and by timeout",
        false => "",
    };
    if let Some(when) = plan.when.as_ref().filter(|w| w.side == end.side) {
        let how = match end.watches {
            Watches::There => "by slowside there".to_owned(),
            Watches::Here => format!("here; all that passes comes here, by {}", end.place.by()),
        };
        line("watches", &format!("{}, {how}", conditions(when)))?;
    }
    if let Some(when) = &plan.when {
        line(
            "goes",
            &format!(
                "round: the last {} to {} s are there at any time, of {} each at most",
                when.before_s + when.after_s,
                2 * (when.before_s + when.after_s),
                BinaryBytes(plan.max_bytes)
            ),
        )?;
    }
    line(
        "ends",
        &format!(
            "after {} s when it is told, after {} s by itself{timeout}; at {}; where less than {} of the disk is left",
            plan.seconds,
            plan.seconds + GRACE_S,
            BinaryBytes(plan.max_bytes),
            BinaryBytes(RESERVE_BYTES)
        ),
    )?;
    let free = end.free_bytes.map_or_else(String::new, |free| {
        format!(", where {} are free", BinaryBytes(free))
    });
    line(
        "keeps",
        &format!(
            "all in a folder of its own in {}{free}; it is removed when it is fetched, after {} min by itself",
            end.folder,
            KEEP_S / 60
        ),
    )?;
    let samples = match end.samples.is_empty() {
        true => "none, as no tool is there; /proc where there is one".to_owned(),
        false => format!("{}; /proc where there is one", end.samples.join(", ")),
    };
    line("samples", &samples)?;
    line("fetches", end.through.0)?;
    if let Some(clock) = end.clock {
        let ms = |ns: i64| ns as f64 / 1e6;
        line(
            "clock",
            &format!(
                "{:+.3} ms against this host's, within {:.3} ms",
                ms(clock.ns),
                ms(clock.error_ns)
            ),
        )?;
    }
    writeln!(out)
}

/// What is waited for, as it was given.
fn conditions(when: &When) -> String {
    let words = when.words.iter();
    let given = words.filter_map(|w| w.strip_prefix("--when="));
    given.collect::<Vec<_>>().join(", or ")
}

/// What a run tells while it goes on.
pub(super) struct Watched {
    quiet: bool,
    seconds: u64,
    /// What is waited for, if anything is.
    waits_for: Option<String>,
    /// Who captures.
    who: &'static str,
    /// What each host has so far.
    bytes: BTreeMap<Side, u64>,
    bar: Option<ProgressBar>,
}

impl Watched {
    pub(super) fn new(quiet: bool, asked: &Asked) -> Watched {
        Watched {
            quiet,
            seconds: asked.seconds,
            waits_for: asked.when.as_ref().map(conditions),
            who: match (asked.further.is_empty(), asked.between.is_empty()) {
                (true, true) => "both ends",
                (true, false) => "both ends and who is between them",
                (false, _) => "the server and its clients",
            },
            bytes: BTreeMap::new(),
            bar: None,
        }
    }

    pub(super) fn note(&self, text: &str) {
        match &self.bar {
            _ if self.quiet => {}
            Some(bar) => bar.suspend(|| complain(text)),
            None => complain(text),
        }
    }

    pub(super) fn event(&mut self, event: &Event) {
        match event {
            Event::Reaching(_) | Event::Fetched(_) => {}
            Event::Started => {
                self.note(&match &self.waits_for {
                    None => format!("{} capture, for {} s", self.who, self.seconds),
                    Some(what) => format!(
                        "{} capture, until {what}, for {} s at most",
                        self.who, self.seconds
                    ),
                });
                self.begin();
            }
            Event::Crossed { what, after_s } => self.note(&format!(
                "`{}` is true of {}; {after_s} s more",
                what.when, what.of
            )),
            Event::Progress { side, seconds, bytes } => self.advance(*side, *seconds, *bytes),
            Event::Lost { side, place, ends_within_s } => self.note(&format!(
                "the connection to the {} {place} is lost; its capture goes on, and ends by itself within {ends_within_s} s",
                side.name()
            )),
            Event::Again(side, place) => {
                self.note(&format!("the {} {place} answers again", side.name()));
            }
            Event::Unwatched { side, place, why } => self.note(&format!(
                "nobody looks at what passes at the {} {place} ({why}); it is tried again",
                side.name()
            )),
            Event::Fetching => {
                self.end();
                self.note("fetching");
            }
            // Whoever said --quiet has to know that too.
            Event::Left { side, place, folder, why } => complain(&format!(
                "{folder} may be left at the {} {place} ({why}); it removes itself within {} min",
                side.name(),
                KEEP_S / 60
            )),
        }
    }

    fn begin(&mut self) {
        if self.quiet || !out::complaints_are_seen() {
            return;
        }
        let bar = ProgressBar::new(self.seconds);
        if let Ok(style) = ProgressStyle::with_template("{wide_bar} {pos} of {len} s, {msg}") {
            bar.set_style(style);
        }
        self.bar = Some(bar);
    }

    fn advance(&mut self, side: Side, seconds: u64, bytes: u64) {
        self.bytes.insert(side, bytes);
        if let Some(bar) = &self.bar {
            bar.set_position(seconds.min(self.seconds));
            let each = self.bytes.iter();
            let each =
                each.map(|(side, bytes)| format!("{} {}", side.name(), DecimalBytes(*bytes)));
            bar.set_message(each.collect::<Vec<_>>().join(", "));
        }
    }

    pub(super) fn end(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

/// Says what did not go as it should, and whether all is there.
pub(super) fn tell(collected: &Collected) -> bool {
    let mut whole = true;
    for end in &collected.ends {
        let say = |text: &str| complain(&format!("{} {}: {text}", end.side.name(), end.place));
        match end.ended {
            Ended::Asked | Ended::Unknown => {}
            Ended::Time => say(&format!(
                "nobody told it to stop, so it ended by itself after {} s",
                end.seconds
            )),
            Ended::Size => say(&format!(
                "its capture had as much as it may have after {} s, where both ended; --max-size allows more, --snaplen takes less",
                end.seconds
            )),
            Ended::Disk => say(&format!(
                "its disk was about to be full after {} s, where both ended; --remote-dir names another place",
                end.seconds
            )),
            Ended::Died => say(&format!(
                "its capture ended by itself after {} s: {}",
                end.seconds, end.said
            )),
        }
        let lost = end.counts.lost().unwrap_or(0);
        if lost > 0 {
            let number = |n: Option<u64>| n.map_or_else(|| "?".to_owned(), model::grouped);
            say(&format!(
                "{} packets were dropped before they were captured ({} by the kernel, {} by the interface): take a smaller \
                 --snaplen, or a quieter time",
                model::grouped(lost),
                number(end.counts.dropped),
                number(end.counts.dropped_by_interface)
            ));
        }
        for missing in &end.missing {
            say(missing);
            whole = false;
        }
    }
    whole
}
