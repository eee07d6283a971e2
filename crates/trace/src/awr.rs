//! Oracle's AWR report as text (`awrrpt.sql`, 10.2 to 19c; Statspack's is of one form) into what it says of operations.
//!
//! - For `--server-app`, of the database's own calls: `DB Time` by `User calls` of the load profile, a mean of all calls of
//!   the snapshots' time. DB time is that of sessions within calls, so that it is what the server takes of one.
//! - For `--app`, of the storage that the database waits for: the histogram of `db file sequential read`, whose waits are
//!   single READs. Steps are shares in tenths of a per cent of a total that may be rounded (`329K`).
//!
//! The report is of the time between two snapshots, mostly an hour, in a zone that it does not say: nothing is placed in
//! time. Written from reports that were published, as no Oracle database was at hand.

use crate::collector::Collector;
use crate::histogram::{Bucket, Histogram};
use crate::lines::Lines;
use crate::number::scaled;
use crate::{Error, OperationKind, Sample};

/// As long as the column of the event.
const EVENT: &str = "db file sequential read";

const MS: i64 = 1_000_000;

/// Whether a line stands in such a report's head.
pub(crate) fn is_head(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("WORKLOAD REPOSITORY report for")
        || line.starts_with("STATSPACK report for")
        || line.starts_with("Load Profile") && line.contains("Per Second")
        || line.starts_with("Wait Event Histogram") && line.contains("DB/Inst")
}

/// What one report says.
#[derive(Default)]
struct Report {
    /// Thousandths of minutes.
    elapsed: Option<i64>,
    db_time: Option<i64>,
    /// Thousandths of calls a second.
    calls: Option<i64>,
    /// Where columns of the histogram end, and their bounds.
    heading: Vec<(usize, Step)>,
    waits: Option<Vec<Bucket>>,
}

type Step = (i64, Option<i64>);

pub(crate) fn read(files: Vec<Lines>, into: &mut Collector) -> Result<(), Error> {
    let first = files.first().map(Lines::name).unwrap_or_default();
    for file in files {
        let mut report = Report::default();
        file.each(into, |into, at, line| {
            if report.line(line).is_none() {
                into.skip(at, "no row of a histogram of waits");
            }
            Ok(())
        })?;
        report.put(into);
    }
    if into.is_empty() && !into.has_histograms() {
        let reason = format!("it has no DB Time with User calls, and no histogram of {EVENT}");
        return Err(Error::Nothing {
            file: first,
            reason,
        });
    }
    match into.is_empty() {
        true => into.of_clients(),
        false => into.of_servers(),
    }
    into.format("Oracle's AWR report".to_owned());
    Ok(())
}

/// The first number behind a name and a colon, in thousandths.
fn value(line: &str, name: &str) -> Option<i64> {
    let (before, behind) = line.split_once(':')?;
    let is_named = before.trim().eq_ignore_ascii_case(name);
    let word = behind.split_whitespace().next().filter(|_| is_named)?;
    scaled(&word.replace(',', ""), 3).filter(|n| *n >= 0)
}

impl Report {
    /// `None` where a row cannot be read.
    fn line(&mut self, line: &str) -> Option<()> {
        for (name, into) in [
            ("Elapsed", &mut self.elapsed),
            ("DB Time", &mut self.db_time),
            ("User calls", &mut self.calls),
        ] {
            *into = into.or_else(|| value(line, name));
        }
        if line.contains(" <1ms ") && line.contains("Waits") {
            self.heading = heading(line);
        } else if line.starts_with("Event ") {
            // Of another table; details of the long ones are one.
            self.heading.clear();
        } else if line.trim_start().starts_with(EVENT)
            && !self.heading.is_empty()
            && self.waits.is_none()
        {
            self.waits = Some(buckets(line, &self.heading)?);
        }
        Some(())
    }

    fn put(self, into: &mut Collector) {
        if let (Some(elapsed), Some(db_time), Some(calls)) =
            (self.elapsed, self.db_time, self.calls)
        {
            // Thousandths of a minute, thousandths a second.
            let count = i128::from(elapsed) * 60 * i128::from(calls) / 1_000_000;
            let total_ns = i128::from(db_time) * 60 * i128::from(MS);
            let mean = total_ns
                .checked_div(count)
                .and_then(|ns| i64::try_from(ns).ok());
            if let (Some(latency_ns), Ok(count)) = (mean, u64::try_from(count)) {
                into.sample(Sample {
                    from_ns: None,
                    until_ns: None,
                    kind: OperationKind::Other,
                    count,
                    latency_ns,
                    client: None,
                });
            }
        }
        if let Some(buckets) = self.waits.filter(|b| !b.is_empty()) {
            into.histograms(vec![Histogram {
                kind: OperationKind::Read,
                buckets,
                total_ns: None,
            }]);
        }
    }
}

/// `Event Waits <1ms <2ms … <=1s >1s`: where each ends, and its bounds.
fn heading(line: &str) -> Vec<(usize, Step)> {
    let mut found = Vec::new();
    let mut from_ns = 0;
    let mut end = 0;
    for word in line.split_inclusive(char::is_whitespace) {
        let text = word.trim();
        let begin = end;
        end += word.len();
        let until_ns = match text {
            "<=1s" => Some(1_024 * MS),
            ">1s" => None,
            other => {
                let ms = other.strip_prefix('<').and_then(|t| t.strip_suffix("ms"));
                let Some(ms) = ms.and_then(|t| t.parse::<i64>().ok()) else {
                    continue;
                };
                Some(ms.saturating_mul(MS))
            }
        };
        found.push((begin + text.len(), (from_ns, until_ns)));
        from_ns = until_ns.unwrap_or(from_ns);
    }
    found
}

/// Shares stand flush with the ends of their columns; an empty one is nothing.
fn buckets(line: &str, heading: &[(usize, Step)]) -> Option<Vec<Bucket>> {
    let behind = line.find(EVENT)? + EVENT.len();
    let mut words = Vec::new();
    let mut end = behind;
    for word in line.get(behind..)?.split_inclusive(char::is_whitespace) {
        let text = word.trim();
        if !text.is_empty() {
            words.push((end + text.len(), text));
        }
        end += word.len();
    }
    let (&(_, total), shares) = words.split_first()?;
    let total = total_of(total)?;
    let mut found = Vec::new();
    for (ends, share) in shares {
        let (_, (from_ns, until_ns)) = heading.iter().find(|(end, _)| end == ends)?;
        let tenths = scaled(share, 1).filter(|n| (0..=1_000).contains(n))?;
        let count = u128::from(total) * u128::try_from(tenths).ok()? / 1_000;
        let count = u64::try_from(count).ok()?;
        if count > 0 {
            found.push(Bucket {
                from_ns: *from_ns,
                until_ns: *until_ns,
                count,
            });
        }
    }
    Some(found)
}

/// `252`, `14.4K`, `329K`, `1.2M`.
fn total_of(text: &str) -> Option<u64> {
    let (number, digits) = match text.strip_suffix(['K', 'M', 'G']) {
        Some(number) if text.ends_with('K') => (number, 3),
        Some(number) if text.ends_with('M') => (number, 6),
        Some(number) => (number, 9),
        None => (text, 0),
    };
    u64::try_from(scaled(&number.replace(',', ""), digits)?).ok()
}
