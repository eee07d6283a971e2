//! Thresholds: which rows cross one now, told once for each crossing.

use super::{ConnectionRow, Moment, RowKey, SubjectRow};
use crate::filter::LiveFilter;
use crate::text::{Text, Value, text};
use hashbrown::HashMap;
use model::{Mark, Problems, Where, limits};

/// Intervals in a row in which a threshold has to hold no more before it can be crossed again.
const QUIET: u64 = 3;

/// A row that crossed a threshold.
#[derive(Clone, Debug)]
pub struct Crossing {
    /// The expression, as it was given.
    pub when: Text,
    /// Who crossed it, with the figures that show it.
    pub row: Crossed,
}

impl Crossing {
    /// What there was of the row's calls then: packets to look at, and what to say of them.
    #[must_use]
    pub fn packets(&self) -> Vec<(Mark, Text)> {
        let Crossed::Subject(row) = &self.row else {
            return Vec::new();
        };
        let Some(worst) = &row.worst else {
            return Vec::new();
        };
        let of = |what| {
            text!(
                "{what} of the slowest {op} ({time}) when `{when}` was crossed",
                what = what,
                op = match row.op.is_empty() {
                    true => "call".to_owned(),
                    false => row.op.to_string(),
                },
                time = Value::Duration(worst.ns),
                when = self.when.clone(),
            )
        };
        vec![
            (worst.request, of("request")),
            (worst.response, of("response")),
        ]
    }
}

/// What crosses thresholds.
#[derive(Clone, Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "few cross at a time, and none are kept"
)]
pub enum Crossed {
    Subject(SubjectRow),
    Connection(ConnectionRow),
}

/// The thresholds of a run.
#[derive(Default)]
pub struct Triggers {
    filters: Vec<LiveFilter>,
    /// Who is beyond each, and for how many intervals no more.
    beyond: Vec<HashMap<RowKey, u64, foldhash::fast::FixedState>>,
    /// Crossings that were not told, as too many are beyond their threshold at a time.
    untold: u64,
}

impl Triggers {
    #[must_use]
    pub fn new(filters: Vec<LiveFilter>) -> Triggers {
        let beyond = filters.iter().map(|_| HashMap::default()).collect();
        Triggers {
            filters,
            beyond,
            untold: 0,
        }
    }

    /// Notes what was left out.
    pub fn note(&self, problems: &mut Problems) {
        if self.untold > 0 {
            problems.add("crossings-untold", false, self.untold, || {
                let what = "more than can be remembered are beyond a threshold";
                (what.to_owned(), Where::default())
            });
        }
    }

    /// Which rows cross which threshold with this interval. One that goes on being beyond it, or comes
    /// back within three intervals, crosses it once.
    pub fn check(&mut self, moment: &Moment) -> Vec<Crossing> {
        let mut crossings = Vec::new();
        let untold = &mut self.untold;
        for (filter, beyond) in self.filters.iter().zip(&mut self.beyond) {
            for quiet in beyond.values_mut() {
                *quiet += moment.intervals;
            }
            let mut cross = |who: RowKey, crossing: &dyn Fn() -> Crossing| {
                let full = beyond.len() >= limits::LIVE_CONNECTIONS;
                match beyond.get_mut(&who) {
                    Some(quiet) => *quiet = 0,
                    None if full => *untold += 1,
                    None => {
                        beyond.insert(who, 0);
                        crossings.push(crossing());
                    }
                }
            };
            let subjects = match filter.is_about_statements() {
                true => &moment.statements,
                false => &moment.operations,
            };
            for row in subjects.iter().filter(|r| filter.matches_subject(r)) {
                cross(row.key, &|| Crossing {
                    when: filter.said().clone(),
                    row: Crossed::Subject(row.clone()),
                });
            }
            for row in &moment.connections {
                if filter.matches_connection(row) {
                    cross(RowKey::Connection(row.id), &|| Crossing {
                        when: filter.said().clone(),
                        row: Crossed::Connection(row.clone()),
                    });
                }
            }
            beyond.retain(|_, quiet| *quiet < QUIET);
        }
        crossings
    }
}
