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
//!   Both ends are computed, all by rows and all by calls, and the span is said. Between them: a call
//!   costs either host [`CALL_NS`] whatever it brings, what is beyond goes by rows.
//! - So does a client that digests what it fetched: think time is divided alike.
//! - Responses that grow beyond a segment take time to pass. Where responses of several segments were
//!   measured, bytes pass at that rate; else between at once and two initial windows of TCP a round
//!   trip (what Linux paces at in slow start), with the middle as the answer.
//! - Transfer at another bandwidth is bytes by bandwidth; the SDU adds a header of ten bytes to every
//!   packet (TNS header and data flags) and no round trips, as TCP does not wait for them.
//!
//! [`fit()`] is the same model turned round: service from throughputs at several round trip times.

mod fit;

pub use fit::{Fit, Point, fit};

use crate::results::{Order, Vantage};
use crate::sql::{SqlResult, StatementResult};
use crate::text::{Text, Value, text};
use model::Statement;
use std::sync::Arc;

/// TNS packet header and data flags.
const TNS_HEADER_BYTES: u64 = 10;

/// What a call costs a host by itself: waking up, reading, answering. Measured for PostgreSQL, whose
/// fetches of one row and of a hundred both take 0.11 to 0.13 ms, and psql, which takes 0.08 ms before
/// each next one; the published times of fetches from a local Oracle give 0.09 ms.
const CALL_NS: i64 = 100_000;

/// A path varies by some per cent: one part in so many of the round trip is not the server's.
const VARIATION: i64 = 50;

/// A segment, and the initial window of TCP (RFC 6928).
const SEGMENT_BYTES: u64 = 1_460;
const WINDOW_BYTES: u64 = 10 * SEGMENT_BYTES;

/// What is to be different.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct Change {
    pub rtt_ns: Option<i64>,
    /// Rows per fetch.
    pub fetch_size: Option<u64>,
    /// Rows that each statement that fetches brings in all.
    pub rows: Option<u64>,
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

/// Shortest, likely and longest time, nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Span {
    pub least: i64,
    pub likely: i64,
    pub most: i64,
}

impl Span {
    fn of(ns: i64) -> Span {
        Span {
            least: ns,
            likely: ns,
            most: ns,
        }
    }

    fn map(self, f: impl Fn(i64) -> i64) -> Span {
        Span {
            least: f(self.least),
            likely: f(self.likely),
            most: f(self.most),
        }
    }

    fn plus(self, other: Span) -> Span {
        Span {
            least: self.least.saturating_add(other.least),
            likely: self.likely.saturating_add(other.likely),
            most: self.most.saturating_add(other.most),
        }
    }
}

/// The terms of one statement.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Terms {
    pub round_trips: u64,
    pub rtt_ns: i64,
    pub transfer: Span,
    pub service: Span,
    pub think: Span,
}

impl Terms {
    #[must_use]
    pub fn elapsed(&self) -> Span {
        let trips = i64::try_from(self.round_trips).unwrap_or(i64::MAX);
        let network = Span::of(self.rtt_ns.saturating_mul(trips));
        [self.transfer, self.service, self.think]
            .into_iter()
            .fold(network, Span::plus)
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
    pub request_bytes: u64,
    pub response_bytes: u64,
    pub network_ns: i64,
    pub service_ns: i64,
    /// The server's part of the call in the middle.
    pub service_p50_ns: i64,
    pub transfer_ns: i64,
    pub think_ns: i64,
    pub thinks: u64,
    /// The session's, where it has one.
    pub sdu_bytes: Option<u64>,
}

fn scaled(ns: i64, factor: f64) -> i64 {
    (ns as f64 * factor) as i64
}

impl Measured {
    fn of(s: &StatementResult, sdu_bytes: Option<u64>) -> Measured {
        // What may be either's is counted as service: the path is taken at its shortest.
        let service_ns = s.wait_ns() - s.network_ns.unwrap_or(0);
        let network_ns = s.network_ns.unwrap_or(0);
        Measured {
            round_trips: s.round_trips,
            fetches: s.fetches,
            // A fetch whose end was not captured brought what it asked for, unless it was the last.
            rows: s.rows.saturating_add(s.rows_hidden),
            cursors: s.executions.clamp(1, s.fetches.max(1)),
            request_bytes: s.request_bytes,
            response_bytes: s.response_bytes,
            network_ns,
            service_ns,
            service_p50_ns: (s.waits.p50_ns - s.trip_ns()).max(0),
            transfer_ns: s.transfer_ns,
            think_ns: s.think_ns,
            thinks: s.thinks,
            sdu_bytes,
        }
    }

    fn rtt_ns(&self) -> i64 {
        let trips = i64::try_from(self.round_trips.max(1)).unwrap_or(i64::MAX);
        self.network_ns / trips
    }

    /// Fetches that its cursors need for so many rows at this size.
    fn fetches_for(&self, rows: u64, size: u64) -> u64 {
        let cursors = self.cursors.max(1);
        let each = rows.div_ceil(cursors).div_ceil(size.max(1));
        cursors.saturating_mul(each.max(1))
    }

    /// The terms with `change` made.
    #[must_use]
    pub fn with(&self, change: &Change) -> Terms {
        let mut terms = Terms {
            round_trips: self.round_trips,
            rtt_ns: change.rtt_ns.unwrap_or_else(|| self.rtt_ns()),
            transfer: Span::of(self.transfer_ns),
            service: Span::of(self.service_ns),
            think: Span::of(self.think_ns),
        };
        let mut bytes = self.request_bytes.saturating_add(self.response_bytes) as f64;
        if self.fetches > 0 && self.rows > 0 && (change.fetch_size.or(change.rows)).is_some() {
            let rows = change.rows.unwrap_or(self.rows);
            let size = change
                .fetch_size
                .unwrap_or(self.rows.div_ceil(self.fetches));
            let others = self.round_trips.saturating_sub(self.fetches);
            terms.round_trips = others.saturating_add(self.fetches_for(rows, size));
            let by_rows = rows as f64 / self.rows as f64;
            let by_calls = terms.round_trips as f64 / self.round_trips.max(1) as f64;
            let share = |ns, typical, own| shared(ns, typical, own, by_rows, by_calls);
            let own = CALL_NS + self.rtt_ns() / VARIATION;
            terms.service = share(self.service_ns, self.service_p50_ns, own);
            let thinks = i64::try_from(self.thinks.max(1)).unwrap_or(i64::MAX);
            terms.think = share(self.think_ns, self.think_ns / thinks, CALL_NS);
            terms.transfer = self.transfer(by_rows, by_calls, terms.rtt_ns);
            bytes = self.request_bytes as f64 * by_calls + self.response_bytes as f64 * by_rows;
        }
        if let Some(factor) = change.server_factor {
            terms.service = terms.service.map(|ns| scaled(ns, factor));
        }
        if let Some(bps) = change.bandwidth_bps {
            terms.transfer = Span::of((bytes * 8e9 / bps.max(1) as f64) as i64);
        }
        if let (Some(new), Some(old)) = (change.sdu_bytes, self.sdu_bytes) {
            let with_headers = |sdu: u64| {
                let body = sdu.saturating_sub(TNS_HEADER_BYTES).max(1);
                1.0 + TNS_HEADER_BYTES as f64 / body as f64
            };
            let factor = with_headers(new) / with_headers(old);
            terms.transfer = terms.transfer.map(|ns| scaled(ns, factor));
        }
        terms
    }

    /// The time in which bytes pass, of so many times as many rows in so many times as many calls.
    fn transfer(&self, by_rows: f64, by_calls: f64, rtt_ns: i64) -> Span {
        let trips = self.round_trips.max(1) as f64;
        let each = self.response_bytes as f64 / trips;
        let then = each * by_rows / by_calls.max(f64::MIN_POSITIVE);
        let segment = SEGMENT_BYTES as f64;
        if then <= segment {
            return Span::of(0);
        }
        if each >= 2.0 * segment {
            return Span::of(scaled(self.transfer_ns, by_rows));
        }
        let windows = (then - segment) / WINDOW_BYTES as f64;
        let paced = windows / 2.0 * rtt_ns as f64 * trips * by_calls;
        Span {
            least: 0,
            likely: (paced / 2.0) as i64,
            most: paced as i64,
        }
    }
}

/// What becomes of `ns` with so many times as many rows and calls, when a call typically took
/// `typical_ns`, of which `own_ns` at most are its own whatever it brings.
fn shared(ns: i64, typical_ns: i64, own_ns: i64, by_rows: f64, by_calls: f64) -> Span {
    let ends = [by_rows, by_calls].map(|factor| scaled(ns, factor));
    let own = match typical_ns {
        ..=0 => 1.0,
        typical => own_ns.min(typical) as f64 / typical as f64,
    };
    Span {
        least: ends[0].min(ends[1]),
        likely: scaled(ns, own * by_calls + (1.0 - own) * by_rows),
        most: ends[0].max(ends[1]),
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
    /// All statements and the thinking between them.
    pub now_ns: i64,
    pub then: Span,
    /// Time that sessions lasted as measured, from their first call to their last; the model's error
    /// is what it gives for the measured run beside this.
    pub measured_ns: i64,
    /// How many there are.
    pub sessions: u64,
    pub notes: Vec<Text>,
    /// In which statements are listed, and how many of them.
    pub order: Order,
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
    // Stable: equal ones stay in the profile's order.
    statements.sort_by_key(|p| std::cmp::Reverse(p.now.elapsed().likely));
    let within = profile.statements.iter().map(|s| s.think_ns);
    let within = within.fold(0, i64::saturating_add);
    let between = profile.totals.think_ns.saturating_sub(within);
    let then = statements.iter().map(|p| p.then.elapsed());
    let now = statements.iter().map(|p| p.now.elapsed().likely);
    let lasted = profile.sessions.iter().map(|s| {
        let ends = s.first.zip(s.last);
        ends.map_or(0, |(first, last)| last - first)
    });
    if profile.statements.iter().all(|s| s.network_ns.is_none()) {
        let at_server = profile
            .captures
            .iter()
            .any(|c| c.side == Some(Vantage::Server));
        notes.push(match at_server {
            true => "The path is not in this capture: now it counts as nothing, and --rtt adds it.".into(),
            false => "The path is part of the waits, nobody knows which: they count as service, and --rtt comes on top of it.".into(),
        });
    }
    let unknown_ns = profile.totals.unknown_ns;
    let divided = profile.totals.server_ns.and(profile.totals.network_ns);
    if divided.is_some() && unknown_ns >= profile.totals.response_time_ns / 10 {
        notes.push(text!(
            "{unknown} may be the server's or the network's: they count as service.",
            unknown = Value::Duration(unknown_ns)
        ));
    }
    let locked = profile
        .statements
        .iter()
        .filter(|s| s.two_faces().is_some());
    let locked = locked.count();
    if change.rtt_ns.is_some() && locked > 0 {
        notes.push(text!(
            "{count} statement{count||s} may wait for locks, which stays service here. Who holds a lock over several round trips \
             lets it go sooner after shorter ones: then these waits shrink too, and more is gained.",
            count = locked as u64,
        ));
    }
    if change.sdu_bytes.is_some() && sdu.is_none() {
        notes.push("No session says its SDU: --sdu changes nothing.".into());
    }
    let fetches = profile.statements.iter().any(|s| s.fetches > 0);
    if (change.fetch_size.or(change.rows)).is_some() && !fetches {
        notes.push("No statement fetches: --fetch-size and --rows change nothing.".into());
    }
    if profile.statements.iter().any(|s| s.rows_hidden > 0) {
        notes.push("Rows of some fetches were not captured (snap length): each is taken to have brought what it asked for.".into());
    }
    WhatIf {
        change,
        now_ns: now.fold(between, i64::saturating_add),
        then: then.fold(Span::of(between), Span::plus),
        think_between_ns: between,
        sessions: profile.sessions.len() as u64,
        measured_ns: lasted.fold(0, i64::saturating_add),
        statements,
        notes,
        order: Order::default(),
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
            request_bytes: 0,
            response_bytes: 896_900_000,
            network_ns: 99_902 * MS,
            service_ns: 22_000 * MS,
            service_p50_ns: 220_000,
            transfer_ns: 10_000 * MS,
            think_ns: 0,
            thinks: 0,
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
                link.with(&change).elapsed().likely as f64 / 1e9
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
        assert_eq!(now.elapsed(), Span::of(131_902 * MS));
        let rtt = measured().with(&Change {
            rtt_ns: Some(MS / 2),
            ..Change::default()
        });
        assert_eq!(rtt.elapsed(), Span::of(81_951 * MS));
        let server = measured().with(&Change {
            server_factor: Some(0.5),
            ..Change::default()
        });
        assert_eq!(server.elapsed(), Span::of(120_902 * MS));
        // 896.9 MB at 1 Gbit/s take 7.1752 s.
        let line = measured().with(&Change {
            bandwidth_bps: Some(1_000_000_000),
            ..Change::default()
        });
        assert_eq!(line.transfer, Span::of(7_175_200_000));
        let sdu = measured().with(&Change {
            sdu_bytes: Some(65_535),
            ..Change::default()
        });
        let passing = |t: Terms| t.transfer.likely;
        assert!(passing(sdu) < passing(now));
        assert!(passing(sdu) > passing(now) / 100 * 99);
    }

    /// Published: on the server itself the same statement took 22 s at array size 10 and 13 s at 5,000.
    #[test]
    fn service_goes_partly_by_calls_and_partly_by_rows() {
        let local = Measured {
            network_ns: 0,
            transfer_ns: 0,
            ..measured()
        };
        let then = local.with(&Change {
            fetch_size: Some(5_000),
            ..Change::default()
        });
        let Span {
            least,
            likely,
            most,
        } = then.elapsed();
        assert_eq!(most, 22_000 * MS);
        assert!(least < 50 * MS);
        assert!((11_000 * MS..14_000 * MS).contains(&likely), "{likely}");
    }

    #[test]
    fn responses_that_outgrow_a_segment_take_time_to_pass() {
        // Fetches of one row of 120 bytes, 10 ms away.
        let row_by_row = Measured {
            round_trips: 301,
            fetches: 300,
            rows: 300,
            cursors: 1,
            request_bytes: 12_000,
            response_bytes: 36_120,
            network_ns: 3_010 * MS,
            ..Measured::default()
        };
        let then = row_by_row.with(&Change {
            fetch_size: Some(100),
            rows: Some(20_000),
            ..Change::default()
        });
        assert_eq!(then.round_trips, 201);
        // 12 kB in windows of 14.6 kB, two of which pass in 10 ms.
        assert_eq!(then.transfer.least, 0);
        let each = then.transfer.most / 201;
        assert!((3 * MS..4 * MS).contains(&each), "{each}");
        assert_eq!(then.transfer.likely, then.transfer.most / 2);
    }
}
