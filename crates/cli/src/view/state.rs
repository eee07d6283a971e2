//! What is on the screen: the last that was told, and what somebody chose to see of it.

use super::order::{CONNECTION_ORDERS, OPERATION_ORDERS};
use analysis::live::{
    ConnectionRow, Found, FoundRow, Moment, Opened, Past as PastRows, RowKey, SubjectRow,
};
use analysis::results::Side;
use jiff::tz::TimeZone;
use model::{Time, format_duration, limits};
use pseudonyms::Anonymiser;
use ratatui::layout::Rect;
use report::Anonymise;
use slowside::RingFill;
use std::cmp::Reverse;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// Intervals that the curve of the last minutes has at most.
const HISTORY: usize = limits::LIVE_PAST_INTERVALS;

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
    /// The row that Enter opens; without one, the first.
    pub(crate) chosen: Option<RowKey>,
    /// Of findings, which are longer than a line: the first that is shown.
    pub(crate) first: usize,
    pub(crate) order: usize,
}

/// A row that somebody opened: what it is called, and the first of its calls that is shown.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct OpenRow {
    pub(crate) key: RowKey,
    pub(crate) name: String,
    pub(crate) first: usize,
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
    pub(crate) opened: Option<OpenRow>,
    /// Where it is drawn.
    pub(crate) area: Rect,
    past: Arc<Mutex<PastRows>>,
    names: Option<Anonymiser>,
    /// Packets lost by the capturing host in the intervals of the window.
    losses: VecDeque<(Time, u64)>,
}

impl State {
    /// Rows are opened from what `past` has, with pseudonyms where there are `names`.
    pub(crate) fn new(
        source: &str,
        (zone, colors): (TimeZone, bool),
        past: Arc<Mutex<PastRows>>,
        names: Option<Anonymiser>,
    ) -> State {
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
            opened: None,
            area: Rect::default(),
            past,
            names,
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

    /// Sorts the pane by its next column, or by the one before.
    pub(crate) fn turn_order(&mut self, by: isize) {
        let orders = match self.pane {
            Pane::Operations => OPERATION_ORDERS.len(),
            Pane::Connections => CONNECTION_ORDERS.len(),
            Pane::Findings => 1,
        };
        let order = self.place().order as isize + by;
        self.sort(order.rem_euclid(orders as isize).unsigned_abs());
    }

    /// Sorts the pane, and chooses its first row.
    pub(crate) fn sort(&mut self, order: usize) {
        *self.place() = Place {
            order,
            ..Place::default()
        };
    }

    /// The rows of a pane, in their order.
    fn keys(&self, pane: Pane) -> Vec<RowKey> {
        match pane {
            Pane::Operations => self.operations().iter().map(|r| r.key).collect(),
            Pane::Connections => self.connections().iter().map(|c| connection(c)).collect(),
            Pane::Findings => Vec::new(),
        }
    }

    /// Which row of a pane is chosen. One that is gone leaves the first.
    pub(crate) fn chosen(&self, pane: Pane) -> usize {
        let [operations, connections, _] = &self.places;
        let place = match pane {
            Pane::Operations => operations,
            Pane::Connections => connections,
            Pane::Findings => return 0,
        };
        let of = |key| self.keys(pane).iter().position(|k| *k == key);
        place.chosen.and_then(of).unwrap_or(0)
    }

    /// Chooses a row of the pane; whether it was chosen before.
    pub(crate) fn choose(&mut self, row: usize) -> bool {
        let before = self.chosen(self.pane);
        let keys = self.keys(self.pane);
        let row = row.min(keys.len().saturating_sub(1));
        self.place().chosen = keys.get(row).copied();
        row == before
    }

    /// To further rows: of what is opened, or of the pane.
    pub(crate) fn scroll(&mut self, by: isize) {
        if let Some(opened) = &self.opened {
            let calls = self.past_of(opened.key, HISTORY).slowest().len();
            let last = calls.saturating_sub(1);
            if let Some(opened) = &mut self.opened {
                opened.first = opened.first.saturating_add_signed(by).min(last);
            }
        } else if self.pane == Pane::Findings {
            let rows = self.found.rows().len() + self.messages.len();
            let place = self.place();
            let first = place.first.saturating_add_signed(by);
            place.first = first.min(rows.saturating_sub(1));
        } else {
            let chosen = self.chosen(self.pane);
            self.choose(chosen.saturating_add_signed(by));
        }
    }

    /// Opens the chosen row.
    pub(crate) fn open(&mut self) {
        let chosen = self.chosen(self.pane);
        let row = match self.pane {
            Pane::Operations => {
                let row = self.operations().get(chosen).copied();
                row.map(|r| (r.key, report::subject_name(r)))
            }
            Pane::Connections => {
                let row = self.connections().get(chosen).copied();
                row.map(|c| (connection(c), format!("{} > {}", c.client, c.server)))
            }
            Pane::Findings => None,
        };
        self.opened = row.map(|(key, name)| OpenRow {
            key,
            name,
            first: 0,
        });
    }

    /// What a row did up to what is shown, in so many intervals at most.
    pub(crate) fn past_of(&self, key: RowKey, most: usize) -> Opened {
        let Some((moment, _)) = &self.shown else {
            return Opened::default();
        };
        let past = self.past.lock().unwrap_or_else(PoisonError::into_inner);
        let opened = past.of(key, moment.start + moment.width_ns, most);
        drop(past);
        match &self.names {
            Some(names) => opened.anonymised(names),
            None => opened,
        }
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
        if let Some((_, of)) = OPERATION_ORDERS.get(place.order) {
            rows.sort_by_key(|r| Reverse(of(r)));
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
        if let Some((_, of)) = CONNECTION_ORDERS.get(place.order) {
            rows.sort_by_key(|c| Reverse(of(c)));
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

pub(crate) fn connection(row: &ConnectionRow) -> RowKey {
    RowKey::Connection(row.id)
}

/// How bad it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mood {
    Bad,
    Fine,
    /// Not known.
    Waiting,
}
