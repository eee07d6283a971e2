//! Counts into a request of OTLP, OpenTelemetry's protocol: an `ExportMetricsServiceRequest` in protobuf's JSON mapping,
//! as OTLP/HTTP takes it (OTLP 1.9, "JSON Protobuf Encoding").
//!
//! - Families, their names and their labels are those of OpenMetrics, with units in the names and beside them: so two of
//!   one name and two units stay apart, and what receives OTLP for Prometheus, which adds a unit where none is, makes
//!   the same names of them.
//! - Sums are cumulative since counting began: whoever misses one has all of it with the next, so nothing is kept to be
//!   sent again.
//! - 64-bit integers are texts, enumerations numbers, and names lowerCamelCase, as the encoding asks.
//! - Response times of databases are there under OpenTelemetry's own name too, with its attributes and its bounds. NFS
//!   has none: what is defined of it (`nfs.client.…`) are counters of the kernel, and `rpc.client.call.duration` is of
//!   systems that are listed, of which ONC-RPC is none.
//! - Point by point, so that 500 sets of labels are never a tree in memory.

use crate::families::{About, Exposition, Labels, Unit, expose, seconds};
use crate::harmless::harmless;
use analysis::metrics::{BOUNDS_NS, DatabaseRow, MetricsResult, Times};
use model::{Outcome, Protocol};
use serde_json::{Value, json};
use std::io::{self, Write};

/// What is said to whom it is sent over HTTP.
pub const OTLP_TYPE: &str = "application/json";

/// Cumulative: `AggregationTemporality` of the protocol.
const CUMULATIVE: u8 = 2;

/// The bounds of `db.client.operation.duration` that the conventions name. All are among [`BOUNDS_NS`], so that classes
/// are sums of those.
const DATABASE_BOUNDS_NS: [i64; 9] = [
    1_000_000,
    5_000_000,
    10_000_000,
    50_000_000,
    100_000_000,
    500_000_000,
    1_000_000_000,
    5_000_000_000,
    10_000_000_000,
];

const DATABASES: About = About {
    name: "db.client.operation.duration",
    unit: Unit::Seconds,
    help: "Duration of database client operations, where packets were captured.",
};

/// Who sends, and of which time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OtlpSource {
    pub version: &'static str,
    pub host: String,
    /// Which of the host's captures this is: without it those of one host would be one series.
    pub instance: String,
    /// When counting began, and now: nanoseconds since the epoch.
    pub start_ns: i64,
    pub now_ns: i64,
}

/// Writes one request.
///
/// # Errors
/// Those of `out`.
pub fn otlp(result: &MetricsResult, source: &OtlpSource, out: &mut dyn Write) -> io::Result<()> {
    let resource = [
        ("service.name", "slowside"),
        ("service.version", source.version),
        ("service.instance.id", &source.instance),
        ("host.name", &source.host),
    ];
    let resource = resource.map(|(name, text)| (name, harmless(text)));
    write!(
        out,
        "{{\"resourceMetrics\":[{{\"resource\":{},\"scopeMetrics\":[{{\"scope\":{},\"metrics\":[",
        json!({"attributes": attributes(resource.into())}),
        json!({"name": "slowside", "version": source.version}),
    )?;
    let mut metrics = Metrics {
        out,
        start_ns: source.start_ns.to_string(),
        now_ns: source.now_ns.to_string(),
        any: false,
    };
    expose(result, &mut metrics)?;
    metrics.databases(&result.databases)?;
    out.write_all(b"]}]}]}")
}

/// One without text is none.
fn attributes(labels: Labels) -> Vec<Value> {
    let given = labels.into_iter().filter(|(_, text)| !text.is_empty());
    given
        .map(|(name, text)| json!({"key": name, "value": {"stringValue": text}}))
        .collect()
}

struct Metrics<'a> {
    out: &'a mut dyn Write,
    start_ns: String,
    now_ns: String,
    /// Whether a metric stands before this one.
    any: bool,
}

impl Metrics<'_> {
    /// A metric with its points; without any it is left out.
    fn metric(
        &mut self,
        about: About,
        kind: &str,
        points: &mut dyn Iterator<Item = Value>,
    ) -> io::Result<()> {
        let Some(first) = points.next() else {
            return Ok(());
        };
        let (suffix, unit) = match about.unit {
            Unit::None => ("", ""),
            Unit::Seconds => ("_seconds", "s"),
            Unit::Bytes => ("_bytes", "By"),
        };
        let suffix = match about.name {
            // Conventions keep units out of names.
            name if name == DATABASES.name => "",
            _ => suffix,
        };
        let out = &mut *self.out;
        if self.any {
            out.write_all(b",")?;
        }
        self.any = true;
        let name = format!("{}{suffix}", about.name);
        write!(
            out,
            "{{\"name\":{},\"description\":{},\"unit\":{},\"{kind}\":{{",
            json!(name),
            json!(about.help),
            json!(unit)
        )?;
        match kind {
            "sum" => write!(
                out,
                "\"aggregationTemporality\":{CUMULATIVE},\"isMonotonic\":true,"
            )?,
            "histogram" => write!(out, "\"aggregationTemporality\":{CUMULATIVE},")?,
            _ => {}
        }
        out.write_all(b"\"dataPoints\":[")?;
        write!(out, "{first}")?;
        for point in points {
            write!(out, ",{point}")?;
        }
        out.write_all(b"]}}")
    }

    fn sum(
        &mut self,
        about: About,
        rows: &mut dyn Iterator<Item = (Labels, &'static str, Value)>,
    ) -> io::Result<()> {
        let (start, now) = (self.start_ns.clone(), self.now_ns.clone());
        let point = |(labels, as_type, value): (Labels, &'static str, Value)| {
            json!({
                "attributes": attributes(labels), "startTimeUnixNano": start, "timeUnixNano": now, as_type: value,
            })
        };
        self.metric(about, "sum", &mut rows.map(point))
    }

    fn gauge(
        &mut self,
        about: About,
        rows: &mut dyn Iterator<Item = (Labels, &'static str, Value)>,
    ) -> io::Result<()> {
        let now = self.now_ns.clone();
        let point = |(labels, as_type, value): (Labels, &'static str, Value)| json!({"attributes": attributes(labels), "timeUnixNano": now, as_type: value});
        self.metric(about, "gauge", &mut rows.map(point))
    }

    fn times<'a>(
        &mut self,
        about: About,
        bounds_ns: &'static [i64],
        rows: &mut dyn Iterator<Item = (Vec<Value>, &'a Times)>,
    ) -> io::Result<()> {
        let (start, now) = (self.start_ns.clone(), self.now_ns.clone());
        let bounds: Vec<f64> = bounds_ns.iter().map(|ns| seconds(*ns)).collect();
        let point = |(attributes, times): (Vec<Value>, &'a Times)| {
            let counts: Vec<String> = classes(times, bounds_ns).map(|n| n.to_string()).collect();
            json!({
                "attributes": attributes, "startTimeUnixNano": start, "timeUnixNano": now,
                "count": times.count().to_string(), "sum": seconds(times.sum_ns),
                "bucketCounts": counts, "explicitBounds": bounds,
            })
        };
        self.metric(about, "histogram", &mut rows.map(point))
    }

    fn databases(&mut self, rows: &[DatabaseRow]) -> io::Result<()> {
        let mut rows = rows.iter().map(|row| (of_database(row), &row.times));
        self.times(DATABASES, &DATABASE_BOUNDS_NS, &mut rows)
    }
}

/// How many times are in each class of these bounds, which are some of [`BOUNDS_NS`], and beyond the last.
fn classes(times: &Times, bounds_ns: &'static [i64]) -> impl Iterator<Item = u64> {
    let below = |bound: &i64| BOUNDS_NS.partition_point(|known| known <= bound);
    let ends = bounds_ns.iter().map(below).chain([times.counts.len()]);
    let mut begin = 0;
    ends.map(move |end| {
        let class = times.counts.get(begin..end).unwrap_or_default();
        begin = end;
        class.iter().sum()
    })
}

/// As the conventions for calls of databases name it.
fn of_database(row: &DatabaseRow) -> Vec<Value> {
    let system = match row.protocol {
        Protocol::Pgsql => "postgresql",
        Protocol::Mysql => "mysql",
        Protocol::Tns => "oracle.db",
        other => other.name(),
    };
    let mut labels = vec![
        ("db.system.name", system.to_owned()),
        ("db.operation.name", harmless(&row.op)),
    ];
    if let Some(outcome) = row.error {
        let name = harmless(outcome.name());
        if matches!(outcome, Outcome::Code(_)) {
            labels.push(("db.response.status_code", name.clone()));
        }
        labels.push(("error.type", name));
    }
    let port = row.server.map(|server| {
        labels.push(("server.address", server.address.to_string()));
        json!({"key": "server.port", "value": {"intValue": server.port.to_string()}})
    });
    let mut all = attributes(labels);
    all.extend(port);
    all
}

fn whole((labels, n): (Labels, u64)) -> (Labels, &'static str, Value) {
    // The protocol's integers have a sign.
    let n = i64::try_from(n).unwrap_or(i64::MAX);
    (labels, "asInt", json!(n.to_string()))
}

fn of_seconds((labels, ns): (Labels, i64)) -> (Labels, &'static str, Value) {
    (labels, "asDouble", json!(seconds(ns)))
}

impl Exposition for Metrics<'_> {
    type Error = io::Error;

    fn counters(
        &mut self,
        about: About,
        rows: &mut dyn Iterator<Item = (Labels, u64)>,
    ) -> io::Result<()> {
        self.sum(about, &mut rows.map(whole))
    }

    fn durations(
        &mut self,
        about: About,
        rows: &mut dyn Iterator<Item = (Labels, i64)>,
    ) -> io::Result<()> {
        self.sum(about, &mut rows.map(of_seconds))
    }

    fn gauges(
        &mut self,
        about: About,
        rows: &mut dyn Iterator<Item = (Labels, u64)>,
    ) -> io::Result<()> {
        self.gauge(about, &mut rows.map(whole))
    }

    fn moments(
        &mut self,
        about: About,
        rows: &mut dyn Iterator<Item = (Labels, i64)>,
    ) -> io::Result<()> {
        self.gauge(about, &mut rows.map(of_seconds))
    }

    fn histograms(
        &mut self,
        about: About,
        rows: &mut dyn Iterator<Item = (Labels, &Times)>,
    ) -> io::Result<()> {
        let mut rows = rows.map(|(labels, times)| (attributes(labels), times));
        self.times(about, &BOUNDS_NS, &mut rows)
    }
}

#[cfg(test)]
mod tests;
