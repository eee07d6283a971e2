//! What is on the screen: the last that was told, and what somebody chose to see of it.

use analysis::live::{ConnectionRow, Found, FoundRow, Moment, SubjectRow};
use analysis::results::Side;
use jiff::tz::TimeZone;
use model::{Time, format_duration};
use slowside::RingFill;
use std::cmp::Reverse;
use std::collections::VecDeque;
use std::sync::Arc;

/// Intervals that the curve of the last minutes has at most.
const HISTORY: usize = 240;

/// Messages that are remembered: files written, thresholds crossed.
const MESSAGES: usize = 50;

/// What the engine tells.
pub(crate) enum Event {
    Moment(Box<Moment>, RingFill),
    Found(Found),
    Message(Message),
    /// The capture has ended, for this reason where it could not go on.
    Ended(Option<String>),
}

/// Something that happened: in few words, and in full.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    pub(crate) at: Option<Time>,
    pub(crate) short: String,
    pub(crate) full: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Pane {
    Operations,
    Connections,
    Findings,
}

impl Pane {
    pub(crate) const ALL: [Pane; 3] = [Pane::Operations, Pane::Connections, Pane::Findings];
}

/// What a pane's rows are sorted by: a column, the greatest first.
pub(crate) const OPERATION_ORDERS: [&str; 5] = ["time", "calls", "p99", "slowest", "errors"];
pub(crate) const CONNECTION_ORDERS: [&str; 5] =
    ["time", "rate", "round trip", "resent", "outstanding"];

/// What is typed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mode {
    Keys,
    /// The text that rows are to contain.
    Filter,
    Help,
}

/// A pane's place in its rows, and their order.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Place {
    pub(crate) first: usize,
    pub(crate) order: usize,
}

/// How the curve of one interval is drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Past {
    pub(crate) calls: u64,
    pub(crate) p99_ns: i64,
}

pub(crate) struct State {
    /// Where packets come from.
    pub(crate) source: String,
    pub(crate) zone: TimeZone,
    pub(crate) colors: bool,
    /// The latest that was told, and what is shown of it: the same unless somebody paused.
    latest: Option<(Arc<Moment>, RingFill)>,
    pub(crate) shown: Option<(Arc<Moment>, RingFill)>,
    latest_found: Found,
    pub(crate) found: Found,
    pub(crate) history: VecDeque<Past>,
    pub(crate) messages: VecDeque<Message>,
    pub(crate) ended: Option<Option<String>>,
    pub(crate) paused: bool,
    pub(crate) pane: Pane,
    pub(crate) statements: bool,
    pub(crate) places: [Place; 3],
    pub(crate) filter: String,
    pub(crate) mode: Mode,
    /// Packets lost by the capturing host in the intervals of the window.
    losses: VecDeque<(Time, u64)>,
}

impl State {
    pub(crate) fn new(source: &str, zone: TimeZone, colors: bool) -> State {
        State {
            source: source.to_owned(),
            zone,
            colors,
            latest: None,
            shown: None,
            latest_found: Found::default(),
            found: Found::default(),
            history: VecDeque::new(),
            messages: VecDeque::new(),
            ended: None,
            paused: false,
            pane: Pane::Operations,
            statements: false,
            places: [Place::default(); 3],
            filter: String::new(),
            mode: Mode::Keys,
            losses: VecDeque::new(),
        }
    }

    pub(crate) fn take(&mut self, event: Event) {
        match event {
            Event::Moment(moment, held) => {
                for _ in 0..moment.intervals.min(HISTORY as u64) {
                    self.history.push_back(Past {
                        calls: moment.all.stats.count,
                        p99_ns: moment.all.stats.p99_ns,
                    });
                    if self.history.len() > HISTORY {
                        self.history.pop_front();
                    }
                }
                let since = moment.start + (moment.width_ns - moment.window_ns);
                self.losses.push_back((moment.start, moment.dropped_now));
                while self.losses.front().is_some_and(|(at, _)| *at < since) {
                    self.losses.pop_front();
                }
                self.latest = Some((Arc::from(moment), held));
            }
            Event::Found(found) => self.latest_found = found,
            Event::Message(message) => {
                let now = self.latest.as_ref().map(|(m, _)| m.start + m.width_ns);
                self.messages.push_back(Message {
                    at: message.at.or(now),
                    ..message
                });
                if self.messages.len() > MESSAGES {
                    self.messages.pop_front();
                }
            }
            Event::Ended(why) => self.ended = Some(why),
        }
        if !self.paused {
            self.show_latest();
        }
    }

    fn show_latest(&mut self) {
        self.shown = self.latest.clone();
        self.found = self.latest_found.clone();
    }

    pub(crate) fn pause(&mut self) {
        self.paused = !self.paused;
        if !self.paused {
            self.show_latest();
        }
    }

    pub(crate) fn place(&mut self) -> &mut Place {
        let [operations, connections, findings] = &mut self.places;
        match self.pane {
            Pane::Operations => operations,
            Pane::Connections => connections,
            Pane::Findings => findings,
        }
    }

    pub(crate) fn next_order(&mut self) {
        let orders = match self.pane {
            Pane::Operations => OPERATION_ORDERS.len(),
            Pane::Connections => CONNECTION_ORDERS.len(),
            Pane::Findings => 1,
        };
        let place = self.place();
        place.order = (place.order + 1) % orders;
        place.first = 0;
    }

    pub(crate) fn scroll(&mut self, by: isize) {
        let rows = match self.pane {
            Pane::Operations => self.operations().len(),
            Pane::Connections => self.connections().len(),
            Pane::Findings => self.found.rows().len() + self.messages.len(),
        };
        let place = self.place();
        place.first = place
            .first
            .saturating_add_signed(by)
            .min(rows.saturating_sub(1));
    }

    fn passes(&self, text: &str) -> bool {
        let wanted = self.filter.to_lowercase();
        wanted.is_empty() || text.to_lowercase().contains(&wanted)
    }

    /// Operations, or statements, that pass the filter, in their order.
    pub(crate) fn operations(&self) -> Vec<&SubjectRow> {
        let Some((moment, _)) = &self.shown else {
            return Vec::new();
        };
        let rows = match self.statements {
            true => &moment.statements,
            false => &moment.operations,
        };
        let mut rows: Vec<&SubjectRow> = rows
            .iter()
            .filter(|r| self.passes(&report::subject_name(r)))
            .collect();
        let [place, ..] = self.places;
        let s = |r: &SubjectRow| r.window.stats;
        match place.order {
            1 => rows.sort_by_key(|r| Reverse(s(r).count)),
            2 => rows.sort_by_key(|r| Reverse(s(r).p99_ns)),
            3 => rows.sort_by_key(|r| Reverse(s(r).max_ns)),
            4 => rows.sort_by_key(|r| Reverse(r.window.errors)),
            // As they come.
            _ => {}
        }
        rows
    }

    pub(crate) fn connections(&self) -> Vec<&ConnectionRow> {
        let Some((moment, _)) = &self.shown else {
            return Vec::new();
        };
        let mut rows: Vec<&ConnectionRow> = moment
            .connections
            .iter()
            .filter(|c| {
                let protocol = c.protocol.map_or("", |p| p.name());
                self.passes(&format!("{} > {} {protocol}", c.client, c.server))
            })
            .collect();
        let [_, place, _] = self.places;
        match place.order {
            1 => rows.sort_by_key(|c| Reverse(c.bps())),
            2 => rows.sort_by_key(|c| Reverse(c.rtt_ns)),
            3 => rows.sort_by_key(|c| Reverse(c.resent().map(|r| (r * 1e6) as u64))),
            4 => rows.sort_by_key(|c| Reverse(c.outstanding_most)),
            _ => {}
        }
        rows
    }

    /// Findings, those that hold now first, then the latest.
    pub(crate) fn findings(&self) -> Vec<&FoundRow> {
        let mut rows: Vec<&FoundRow> = self.found.rows().iter().collect();
        rows.sort_by_key(|f| (!f.now, Reverse(f.cost_ns), Reverse(f.appeared)));
        rows
    }

    /// What is wrong now, and how bad it is.
    pub(crate) fn headline(&self) -> (Mood, String) {
        if let Some(Some(why)) = &self.ended {
            return (Mood::Bad, why.clone());
        }
        let Some((moment, _)) = &self.shown else {
            let text = match self.ended {
                Some(_) => "No packets came.".to_owned(),
                None => format!("Waiting for packets from {} …", self.source),
            };
            return (Mood::Waiting, text);
        };
        if let Some(s) = moment.silence.filter(|_| self.ended.is_none()) {
            let text = format!(
                "No answer from {} for {}: {} outstanding ({} asks).",
                s.server,
                format_duration(s.ns),
                report::counted(s.outstanding, "call"),
                s.client.address,
            );
            return (Mood::Bad, text);
        }
        let Some(verdict) = self.found.verdict() else {
            let text = "Watching; the first diagnosis comes after 3 s of packets.";
            return (Mood::Waiting, text.to_owned());
        };
        let mood = match verdict.side {
            Side::None => Mood::Fine,
            Side::Undetermined => Mood::Waiting,
            _ => Mood::Bad,
        };
        (mood, report::harmless(&verdict.sentence.to_string()))
    }

    /// Packets lost by the capturing host in the window.
    pub(crate) fn lost(&self) -> u64 {
        self.losses.iter().map(|(_, n)| n).sum()
    }
}

/// How bad it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mood {
    Bad,
    Fine,
    /// Not known.
    Waiting,
}
