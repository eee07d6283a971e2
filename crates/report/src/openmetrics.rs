//! Counts into OpenMetrics text (version 1.0.0), which Prometheus and its like gather. The exposition itself, its order,
//! escapes and numbers, is the Prometheus project's own.
//!
//! Names only ever grow in number. Their units are base units: seconds and bytes.

use crate::harmless::harmless;
use crate::ops::key_text;
use analysis::findings::Rule;
use analysis::metrics::{
    BOUNDS_NS, CallCounts, CallsRow, LiveMetrics, MetricsResult, ServerCounts, Times,
};
use analysis::results::{KeyValue, Side};
use jiff::tz::TimeZone;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{
    DescriptorEncoder, EncodeGaugeValue, MetricEncoder, NoLabelSet, text,
};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::{Registry, Unit};
use std::fmt;
use std::io::{self, Write};

/// What is said to whom it is sent over HTTP.
pub const OPENMETRICS_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Writes OpenMetrics text.
///
/// # Errors
/// Those of `out`.
pub fn openmetrics(result: MetricsResult, out: &mut dyn Write) -> io::Result<()> {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Exposed(result)));
    let mut text = String::new();
    // Nothing fails that writes into memory.
    text::encode(&mut text, &registry).map_err(io::Error::other)?;
    out.write_all(text.as_bytes())
}

type Labels = Vec<(&'static str, String)>;

#[derive(Debug)]
struct Exposed(MetricsResult);

/// A count of calls: its name, its unit, what it is, and where it stands.
type Count = (
    &'static str,
    Option<Unit>,
    &'static str,
    fn(&CallCounts) -> u64,
);

const COUNTS: [Count; 8] = [
    ("slowside_calls", None, "Calls, those in part too.", |c| {
        c.calls
    }),
    (
        "slowside_errors",
        None,
        "Calls that the server answered with an error.",
        |c| c.errors,
    ),
    (
        "slowside_no_response",
        None,
        "Calls without a response.",
        |c| c.no_response,
    ),
    (
        "slowside_no_request",
        None,
        "Responses without a request.",
        |c| c.no_request,
    ),
    (
        "slowside_incomplete",
        None,
        "Calls that the capture cut.",
        |c| c.incomplete,
    ),
    (
        "slowside_retransmits",
        None,
        "Requests that their clients sent again.",
        |c| c.retransmits,
    ),
    (
        "slowside_request",
        Some(Unit::Bytes),
        "Bytes of requests.",
        |c| c.request_bytes,
    ),
    (
        "slowside_response",
        Some(Unit::Bytes),
        "Bytes of responses.",
        |c| c.response_bytes,
    ),
];

/// The same of times.
type Timed = (&'static str, &'static str, fn(&CallCounts) -> &Times);

const TIMED: [Timed; 3] = [
    (
        "slowside_response_time",
        "From a request's first byte to its response's last, where packets were captured.",
        |c| &c.response_times,
    ),
    (
        "slowside_wait",
        "Of the response time, from the request's last byte to the response's first: next to the server, the server's part; elsewhere with the path to it and back.",
        |c| &c.waits,
    ),
    (
        "slowside_transfer",
        "Of the response time, in which request and response passed: the network's part, unless an end wrote or read slowly.",
        |c| &c.transfers,
    ),
];

/// The same of a server's connections, to the server and to its clients.
type ByServer = (
    &'static str,
    Option<Unit>,
    &'static str,
    fn(&ServerCounts) -> [u64; 2],
);

const BY_SERVER: [ByServer; 4] = [
    (
        "slowside_tcp_packets",
        None,
        "Packets of TCP with this server, by whom they go to.",
        |c| c.packets,
    ),
    (
        "slowside_tcp_payload",
        Some(Unit::Bytes),
        "Bytes that TCP carried.",
        |c| c.payload_bytes,
    ),
    (
        "slowside_tcp_retransmitted_packets",
        None,
        "Packets that TCP sent again: lost, or taken to be.",
        |c| c.retransmitted_packets,
    ),
    (
        "slowside_round_trips",
        None,
        "Round trips from the point of capture to the server or to its clients, as acknowledgements show them.",
        |c| c.round_trips,
    ),
];

/// The sides a verdict may name.
const SIDES: [Side; 6] = [
    Side::Client,
    Side::Network,
    Side::Server,
    Side::Mixed,
    Side::None,
    Side::Undetermined,
];

const TO: [&str; 2] = ["server", "client"];

impl Collector for Exposed {
    fn encode(&self, mut to: DescriptorEncoder<'_>) -> fmt::Result {
        let Exposed(result) = self;
        let labels: Vec<Labels> = result.calls.iter().map(labels).collect();
        let rows = || labels.iter().zip(result.calls.iter().map(|r| &r.counts));
        for (name, unit, help, get) in COUNTS {
            let rows = rows().map(|(labels, counts)| (labels.clone(), get(counts)));
            counters(&mut to, (name, unit.as_ref(), help), rows)?;
        }
        let held = rows().map(|(labels, counts)| (labels.clone(), counts.held_ns));
        let help =
            "How long TCP held messages of calls back: for what was lost, a closed window, Nagle.";
        durations(&mut to, ("slowside_held", help), held)?;
        for (name, help, get) in TIMED {
            let unit = Some(&Unit::Seconds);
            let mut family = to.encode_descriptor(name, help, unit, MetricType::Histogram)?;
            for (labels, counts) in rows() {
                histogram(family.encode_family(labels)?, get(counts))?;
            }
        }
        let other = "Calls that count as other, as there are too many labels.";
        single(
            &mut to,
            ("slowside_other_calls", None, other),
            result.other_calls,
        )?;
        packets(&mut to, result)?;
        match &result.live {
            Some(live) => at_present(&mut to, live),
            None => Ok(()),
        }
    }
}

fn labels(row: &CallsRow) -> Labels {
    let mut labels = vec![("protocol", row.protocol.name().to_owned())];
    labels.extend(row.op.map(|op| ("op", harmless(&op))));
    labels.extend(
        row.keys
            .iter()
            .map(|(name, value)| (*name, label(name, value))),
    );
    labels
}

fn label(name: &str, value: &KeyValue) -> String {
    match value {
        KeyValue::Text(text) => harmless(text),
        KeyValue::Number(n) => n.to_string(),
        KeyValue::Address(_) | KeyValue::Connection(..) | KeyValue::File(_) => {
            key_text(name, value, &TimeZone::UTC)
        }
        // As the absence of the label.
        KeyValue::Unknown => String::new(),
    }
}

fn seconds(ns: i64) -> f64 {
    ns as f64 / 1e9
}

/// A family's name, unit and help.
type About<'a> = (&'a str, Option<&'a Unit>, &'a str);

fn counters(
    to: &mut DescriptorEncoder<'_>,
    (name, unit, help): About<'_>,
    rows: impl Iterator<Item = (Labels, u64)>,
) -> fmt::Result {
    let mut family = to.encode_descriptor(name, help, unit, MetricType::Counter)?;
    for (labels, value) in rows {
        let mut one = family.encode_family(&labels)?;
        one.encode_counter::<NoLabelSet, u64, f64>(&value, None)?;
    }
    Ok(())
}

fn durations(
    to: &mut DescriptorEncoder<'_>,
    (name, help): (&str, &str),
    rows: impl Iterator<Item = (Labels, i64)>,
) -> fmt::Result {
    let unit = Some(&Unit::Seconds);
    let mut family = to.encode_descriptor(name, help, unit, MetricType::Counter)?;
    for (labels, ns) in rows {
        let mut one = family.encode_family(&labels)?;
        one.encode_counter::<NoLabelSet, f64, f64>(&seconds(ns), None)?;
    }
    Ok(())
}

fn gauges<V: EncodeGaugeValue>(
    to: &mut DescriptorEncoder<'_>,
    (name, unit, help): About<'_>,
    rows: impl Iterator<Item = (Labels, V)>,
) -> fmt::Result {
    let mut family = to.encode_descriptor(name, help, unit, MetricType::Gauge)?;
    for (labels, value) in rows {
        family.encode_family(&labels)?.encode_gauge(&value)?;
    }
    Ok(())
}

fn single(to: &mut DescriptorEncoder<'_>, about: About<'_>, value: u64) -> fmt::Result {
    counters(to, about, std::iter::once((Labels::new(), value)))
}

fn histogram(mut one: MetricEncoder<'_>, times: &Times) -> fmt::Result {
    let bounds = BOUNDS_NS.iter().map(|ns| seconds(*ns));
    let bounds = bounds.chain([f64::INFINITY]);
    let buckets: Vec<(f64, u64)> = bounds.zip(times.counts).collect();
    one.encode_histogram::<NoLabelSet>(seconds(times.sum_ns), times.count(), &buckets, None)
}

fn packets(to: &mut DescriptorEncoder<'_>, result: &MetricsResult) -> fmt::Result {
    let capture = &result.capture;
    single(
        to,
        (
            "slowside_captured_packets",
            None,
            "Packets that were captured.",
        ),
        capture.packets,
    )?;
    let help = "Bytes of these packets on the wire.";
    single(
        to,
        ("slowside_captured", Some(&Unit::Bytes), help),
        capture.bytes,
    )?;
    if let Some(dropped) = capture.dropped {
        let help = "Packets that the kernel of the capturing host dropped: figures are too low.";
        single(to, ("slowside_dropped_packets", None, help), dropped)?;
    }
    let help =
        "Bytes that their receivers had and the capture lacks, of connections that are over.";
    single(
        to,
        ("slowside_missing", Some(&Unit::Bytes), help),
        capture.missing_bytes,
    )?;
    let help = "Until when packets have been looked at, since the epoch.";
    let last = capture.last.iter().map(|t| (Labels::new(), seconds(t.0)));
    gauges(
        to,
        ("slowside_reached_timestamp", Some(&Unit::Seconds), help),
        last,
    )
}

/// What there is only of a capture that goes on.
fn at_present(to: &mut DescriptorEncoder<'_>, live: &LiveMetrics) -> fmt::Result {
    let outstanding = live.outstanding.iter().map(|(protocol, server, n)| {
        let protocol = ("protocol", protocol.name().to_owned());
        (vec![protocol, ("server", label("server", server))], *n)
    });
    let help = "Calls without their answer yet, when the last interval ended.";
    gauges(to, ("slowside_outstanding", None, help), outstanding)?;
    let labeled = |server: &KeyValue| {
        TO.map(|to| vec![("server", label("server", server)), ("to", to.to_owned())])
    };
    let servers: Vec<([Labels; 2], &ServerCounts)> = live
        .servers
        .iter()
        .map(|(server, counts)| (labeled(server), counts))
        .collect();
    for (name, unit, help, get) in BY_SERVER {
        let rows = servers
            .iter()
            .flat_map(|(labels, c)| labels.clone().into_iter().zip(get(c)));
        counters(to, (name, unit.as_ref(), help), rows)?;
    }
    let of = |(labels, c): &([Labels; 2], &ServerCounts)| {
        labels.clone().into_iter().zip(c.round_trips_ns)
    };
    let help = "The sum of these round trips.";
    durations(
        to,
        ("slowside_round_trips", help),
        servers.iter().flat_map(of),
    )?;
    judged(to, live)
}

fn judged(to: &mut DescriptorEncoder<'_>, live: &LiveMetrics) -> fmt::Result {
    let verdict = live.verdict.iter().flat_map(|now| {
        let row = |side: Side| {
            (
                vec![("side", side.name().to_owned())],
                u32::from(side == *now),
            )
        };
        SIDES.map(row)
    });
    let help =
        "1 for the side that the verdict on the last packets names, none where nothing is wrong.";
    gauges(to, ("slowside_verdict", None, help), verdict)?;
    let findings = live.findings.iter().map(|f| {
        let code = ("code", Rule::code(f.rule).to_owned());
        (
            vec![code, ("side", f.side.name().to_owned())],
            u32::from(f.is_now),
        )
    });
    let help = "1 where the last packets have this finding, 0 where earlier ones had; slowside explain CODE says more.";
    gauges(to, ("slowside_finding", None, help), findings)
}

#[cfg(test)]
mod tests;
