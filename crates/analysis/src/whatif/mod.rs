//! What would change if the path, the fetch size or the server were different.
//!
//! The model of a statement's time, in nanoseconds:
//!
//! ```text
//! elapsed = round trips × RTT + transfer + service + think
//! ```
//!
//! Each term is measured and replaced by what is asked for. Choices:
//! - Round trips at another fetch size: those that are no fetches stay; each cursor needs its rows
//!   divided by the size, rounded up.
//! - Of a fetch's service nobody can tell from one run how much each row takes and how much each call.
//!   Both ends are computed (all by rows, all by calls), the middle is the answer, and the span is
//!   said.
//! - The client digests rows, not calls: think time stays.
//! - Transfer at another bandwidth is bytes by bandwidth; the SDU adds a header of ten bytes to every
//!   packet (TNS header and data flags) and no round trips, as TCP does not wait for them.
//!
//! [`fit`] is the same model turned round: service from throughputs at several round trip times.

mod fit;

pub use fit::{Fit, Point, fit};

use crate::sql::{SqlResult, StatementResult};
use model::Statement;
use std::sync::Arc;

/// TNS packet header and data flags.
const TNS_HEADER_BYTES: u64 = 10;

/// What is to be different.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct Change {
    pub rtt_ns: Option<i64>,
    /// Rows per fetch.
    pub fetch_size: Option<u64>,
    pub sdu_bytes: Option<u64>,
    pub bandwidth_bps: Option<u64>,
    /// Service takes so many times as long.
    pub server_factor: Option<f64>,
}

impl Change {
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Change::default()
    }
}

/// The terms of one statement.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct Terms {
    pub round_trips: u64,
    pub rtt_ns: i64,
    pub transfer_ns: i64,
    /// Service, if all of it goes by rows, and if all of it goes by calls; in either order.
    pub service_ns: [i64; 2],
    pub think_ns: i64,
}

impl Terms {
    fn network_ns(&self) -> i64 {
        let trips = i64::try_from(self.round_trips).unwrap_or(i64::MAX);
        self.rtt_ns.saturating_mul(trips)
    }

    /// Shortest, likely and longest time.
    #[must_use]
    pub fn elapsed_ns(&self) -> [i64; 3] {
        let [a, b] = self.service_ns;
        let (low, high) = (a.min(b), a.max(b));
        let middle = low + (high - low) / 2;
        let fixed = self
            .network_ns()
            .saturating_add(self.transfer_ns)
            .saturating_add(self.think_ns);
        [low, middle, high].map(|service| fixed.saturating_add(service))
    }
}

/// What the model needs to know of a statement.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct Measured {
    pub round_trips: u64,
    pub fetches: u64,
    pub rows: u64,
    /// Cursors whose rows were fetched.
    pub cursors: u64,
    pub bytes: u64,
    pub network_ns: i64,
    pub service_ns: i64,
    pub transfer_ns: i64,
    pub think_ns: i64,
    /// The session's, where it has one.
    pub sdu_bytes: Option<u64>,
}

impl Measured {
    fn of(s: &StatementResult, sdu_bytes: Option<u64>) -> Measured {
        Measured {
            round_trips: s.round_trips,
            fetches: s.fetches,
            rows: s.rows,
            cursors: s.executions.clamp(1, s.fetches.max(1)),
            bytes: s.request_bytes + s.response_bytes,
            network_ns: s.network_ns.unwrap_or(0),
            service_ns: s.server_ns.unwrap_or_else(|| s.wait_ns()),
            transfer_ns: s.transfer_ns,
            think_ns: s.think_ns,
            sdu_bytes,
        }
    }

    fn rtt_ns(&self) -> i64 {
        let trips = i64::try_from(self.round_trips.max(1)).unwrap_or(i64::MAX);
        self.network_ns / trips
    }

    /// Fetches that its cursors need at this size.
    fn fetches_at(&self, size: u64) -> u64 {
        let cursors = self.cursors.max(1);
        let each = self.rows.div_ceil(cursors).div_ceil(size.max(1));
        cursors.saturating_mul(each.max(1))
    }

    /// The terms with `change` made.
    #[must_use]
    pub fn with(&self, change: &Change) -> Terms {
        let mut terms = Terms {
            round_trips: self.round_trips,
            rtt_ns: change.rtt_ns.unwrap_or_else(|| self.rtt_ns()),
            transfer_ns: self.transfer_ns,
            service_ns: [self.service_ns; 2],
            think_ns: self.think_ns,
        };
        if let Some(size) = change.fetch_size
            && self.fetches > 0
        {
            let others = self.round_trips.saturating_sub(self.fetches);
            terms.round_trips = others + self.fetches_at(size);
            let share = terms.round_trips as f64 / self.round_trips.max(1) as f64;
            terms.service_ns[1] = (self.service_ns as f64 * share) as i64;
        }
        if let Some(factor) = change.server_factor {
            terms.service_ns = terms.service_ns.map(|ns| (ns as f64 * factor) as i64);
        }
        if let Some(bps) = change.bandwidth_bps {
            let ns = u128::from(self.bytes) * 8_000_000_000 / u128::from(bps.max(1));
            terms.transfer_ns = i64::try_from(ns).unwrap_or(i64::MAX);
        }
        if let (Some(new), Some(old)) = (change.sdu_bytes, self.sdu_bytes) {
            let with_headers = |sdu: u64| {
                let body = sdu.saturating_sub(TNS_HEADER_BYTES).max(1);
                self.bytes as f64 * (1.0 + TNS_HEADER_BYTES as f64 / body as f64)
            };
            let factor = with_headers(new) / with_headers(old).max(1.0);
            terms.transfer_ns = (terms.transfer_ns as f64 * factor) as i64;
        }
        terms
    }
}

/// One statement, now and then.
#[derive(Clone, Debug)]
pub struct Prediction {
    pub statement: Option<Arc<Statement>>,
    pub op: Option<String>,
    pub now: Terms,
    pub then: Terms,
}

/// Everything `whatif` says of a capture.
#[derive(Clone, Debug)]
pub struct WhatIf {
    pub change: Change,
    /// Longest time now first.
    pub statements: Vec<Prediction>,
    /// Between statements the client thinks as long then as now.
    pub think_between_ns: i64,
    /// Shortest, likely and longest of all statements and the thinking between them.
    pub now_ns: i64,
    pub then_ns: [i64; 3],
    /// Time that sessions lasted as measured, from their first call to their last; the model's error
    /// is what it gives for the measured run beside this.
    pub measured_ns: i64,
    pub notes: Vec<String>,
}

impl WhatIf {
    /// What the model makes of the measured run, in parts per million of it.
    #[must_use]
    pub fn error_ppm(&self) -> Option<i64> {
        let error = i128::from(self.now_ns) - i128::from(self.measured_ns);
        let whole = i128::from(self.measured_ns);
        (whole > 0).then(|| (error * 1_000_000 / whole) as i64)
    }
}

/// Replays a profile with `change` made.
#[must_use]
pub fn replay(profile: &SqlResult, change: Change) -> WhatIf {
    let sdu = profile.sessions.iter().filter_map(|s| s.session.sdu_bytes);
    let sdu = sdu.max().map(u64::from);
    let mut notes = profile.notes.clone();
    let mut statements: Vec<Prediction> = profile
        .statements
        .iter()
        .map(|s| {
            let measured = Measured::of(s, sdu);
            Prediction {
                statement: s.statement.clone(),
                op: s.op.clone(),
                now: measured.with(&Change::default()),
                then: measured.with(&change),
            }
        })
        .collect();
    let likely = |t: &Terms| t.elapsed_ns()[1];
    // Stable: equal ones stay in the profile's order.
    statements.sort_by_key(|p| std::cmp::Reverse(likely(&p.now)));
    let within = profile.statements.iter().map(|s| s.think_ns);
    let within = within.fold(0, i64::saturating_add);
    let between = profile.totals.think_ns.saturating_sub(within);
    let mut then = [between; 3];
    for p in &statements {
        for (sum, ns) in then.iter_mut().zip(p.then.elapsed_ns()) {
            *sum = sum.saturating_add(ns);
        }
    }
    let now = statements.iter().map(|p| likely(&p.now));
    let lasted = profile.sessions.iter().map(|s| {
        let ends = s.first.zip(s.last);
        ends.map_or(0, |(first, last)| last - first)
    });
    if profile.statements.iter().all(|s| s.network_ns.is_none()) {
        notes.push(
            "The path is not in this capture: now it counts as nothing, and --rtt adds it.".into(),
        );
    }
    if change.sdu_bytes.is_some() && sdu.is_none() {
        notes.push("No session says its SDU: --sdu changes nothing.".into());
    }
    let fetches = profile.statements.iter().any(|s| s.fetches > 0);
    if change.fetch_size.is_some() && !fetches {
        notes.push("No statement fetches: --fetch-size changes nothing.".into());
    }
    WhatIf {
        change,
        now_ns: now.fold(between, i64::saturating_add),
        then_ns: then,
        think_between_ns: between,
        measured_ns: lasted.fold(0, i64::saturating_add),
        statements,
        notes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    /// A statement of 999,001 rows as it was measured at array size 10, with 1 ms of path.
    fn measured() -> Measured {
        Measured {
            round_trips: 99_902,
            fetches: 99_901,
            rows: 999_001,
            cursors: 1,
            bytes: 896_900_000,
            network_ns: 99_902 * MS,
            service_ns: 22_000 * MS,
            transfer_ns: 10_000 * MS,
            think_ns: 0,
            sdu_bytes: Some(8_192),
        }
    }

    /// Published: one statement, 999,001 rows, executed once and fetched with different array sizes.
    #[test]
    fn round_trips_by_array_size_are_the_published_ones() {
        for (size, trips) in [
            (10, 99_902),
            (50, 19_982),
            (100, 9_992),
            (500, 2_000),
            (1_000, 1_001),
            (5_000, 201),
        ] {
            let change = Change {
                fetch_size: Some(size),
                ..Change::default()
            };
            assert_eq!(measured().with(&change).round_trips, trips, "{size}");
        }
    }

    /// Published seconds at array sizes 10 and 5,000: 802.11n 290 and 153, 100 Mbit/s 130 and 85,
    /// 1 Gbit/s 56 and 27, on the server itself 22 and 13. What a round trip costs follows from the
    /// difference; the longer the path, the more a larger array saves, and never more than there was.
    #[test]
    fn elapsed_by_array_size_falls_like_the_published_table() {
        let mut saved_before = f64::INFINITY;
        for (small, large) in [(290.0, 153.0), (130.0, 85.0), (56.0, 27.0), (22.0, 13.0)] {
            let per_trip_ns = (small - large) * 1e9 / f64::from(99_902 - 201);
            let link = Measured {
                network_ns: (per_trip_ns * 99_902.0) as i64,
                service_ns: 0,
                transfer_ns: (small * 1e9 - per_trip_ns * 99_902.0) as i64,
                ..measured()
            };
            let at = |size| {
                let change = Change {
                    fetch_size: Some(size),
                    ..Change::default()
                };
                link.with(&change).elapsed_ns()[1] as f64 / 1e9
            };
            assert!((at(10) - small).abs() < 0.01);
            assert!((at(5_000) - large).abs() < 0.01);
            let curve = [10, 50, 100, 500, 1_000, 5_000].map(at);
            assert!(curve.windows(2).all(|w| w[0] > w[1]), "{curve:?}");
            // Nine tenths of the gain are had at 100 rows.
            assert!((curve[0] - curve[2]) / (curve[0] - curve[5]) > 0.9);
            assert!(small - large < saved_before);
            saved_before = small - large;
        }
    }

    #[test]
    fn each_term_changes_by_itself() {
        let now = measured().with(&Change::default());
        assert_eq!(now.elapsed_ns(), [131_902 * MS; 3]);
        let rtt = measured().with(&Change {
            rtt_ns: Some(MS / 2),
            ..Change::default()
        });
        assert_eq!(rtt.elapsed_ns(), [81_951 * MS; 3]);
        let server = measured().with(&Change {
            server_factor: Some(0.5),
            ..Change::default()
        });
        assert_eq!(server.elapsed_ns(), [120_902 * MS; 3]);
        // 896.9 MB at 1 Gbit/s take 7.1752 s.
        let line = measured().with(&Change {
            bandwidth_bps: Some(1_000_000_000),
            ..Change::default()
        });
        assert_eq!(line.transfer_ns, 7_175_200_000);
        let sdu = measured().with(&Change {
            sdu_bytes: Some(65_535),
            ..Change::default()
        });
        assert!(sdu.transfer_ns < now.transfer_ns);
        assert!(sdu.transfer_ns > now.transfer_ns / 100 * 99);
    }

    #[test]
    fn service_by_rows_and_by_calls_are_the_two_ends() {
        let then = measured().with(&Change {
            fetch_size: Some(1_000),
            ..Change::default()
        });
        let [low, middle, high] = then.elapsed_ns();
        assert_eq!(high, (1_001 + 10_000 + 22_000) * MS);
        assert!(low < middle && middle < high);
        assert!(low > (1_001 + 10_000) * MS);
    }
}
