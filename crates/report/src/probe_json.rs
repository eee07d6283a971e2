//! What a probe measured, for programs: `slowside.probe/1`, and its percentile distribution as
//! HdrHistogram's tools plot it.

use crate::value::add_stats;
use analysis::stats::Summary;
use probe::{
    Correction, Ended, Exchange, Host, IntervalResult, Latencies, Measured, Mix, Pacing,
    ProbeResult, SocketOptions,
};
use serde_json::{Map, Value, json};
use std::io::{self, Write};

/// Writes `slowside.probe/1`.
///
/// # Errors
/// Those of `out`.
pub fn probe_json(r: &ProbeResult, out: &mut dyn Write) -> io::Result<()> {
    let (ended, why) = match r.ended {
        Ended::Done => ("done", None),
        Ended::Stopped => ("stopped", None),
        Ended::Cut(why) => ("cut", Some(why)),
    };
    let (every_ns, expected_ns) = (
        match r.pacing {
            Pacing::Every(ns) => Some(ns),
            Pacing::Closed => None,
        },
        match r.correction {
            Correction::Expected(ns) => Some(ns),
            Correction::Due => None,
        },
    );
    let exchanges = r.measured == Measured::Exchanges;
    let value = json!({
        "schema": "slowside.probe/1",
        "mode": mode(r.measured),
        "target": r.target,
        "client": r.client.to_string(),
        "server": r.server.to_string(),
        "started_ns": r.started.0,
        "warm_up_ns": r.warm_up_ns,
        "duration_ns": r.duration_ns,
        "ended": ended,
        "ended_why": why,
        "connect_ns": r.connect_ns,
        "sizes": (r.measured != Measured::Connects).then(|| sizes(&r.mix, r.cut_sizes)),
        "every_ns": every_ns,
        "outstanding": (r.measured != Measured::Connects).then_some(r.outstanding),
        "uncorrected": stats(&r.uncorrected),
        "corrected": stats(&r.corrected),
        "expected_ns": expected_ns,
        "listener": (!r.service.is_empty()).then(|| stats(&r.service)),
        "late": stats(&r.late),
        "unanswered": exchanges.then_some(r.unanswered),
        "unsent": exchanges.then_some(r.unsent),
        "held": exchanges.then_some(r.held.count),
        "held_ns": exchanges.then_some(r.held.total_ns),
        "refused": r.failures.refused,
        "silent": r.failures.silent,
        "failed": r.failures.other,
        "sent_bytes": r.sent_bytes,
        "received_bytes": r.received_bytes,
        "throughput_bps": r.throughput_bps(),
        "client_host": host(&r.client_host),
        "server_host": r.listener_host.as_ref().map(host),
        "cpu_used_ns": r.cpu.map(|c| c.used_ns),
        "cpu_waited_ns": r.cpu.map(|c| c.waited_ns),
        "client_socket": (r.measured != Measured::Connects).then(|| socket(&r.client_options)),
        "server_socket": r.listener_options.as_ref().map(socket),
        "intervals": r.intervals.iter().map(interval).collect::<Vec<_>>(),
    });
    crate::value::write(out, &value)?;
    out.write_all(b"\n")
}

fn mode(measured: Measured) -> &'static str {
    match measured {
        Measured::Connects => "connect",
        Measured::Exchanges => "exchange",
        Measured::StreamUp => "stream-up",
        Measured::StreamDown => "stream-down",
    }
}

/// `{stats}`, as of calls.
fn stats(l: &Latencies) -> Value {
    let mut object = Map::new();
    add_stats(&mut object, &summary(l));
    Value::Object(object)
}

/// The numbers that every table of response times has.
pub(crate) fn summary(l: &Latencies) -> Summary {
    let ns = |ns: u64| i64::try_from(ns).unwrap_or(i64::MAX);
    Summary {
        count: l.count(),
        total_ns: ns(l.total_ns()),
        mean_ns: ns(l.mean_ns()),
        min_ns: ns(l.min_ns()),
        p50_ns: ns(l.quantile_ns(0.5)),
        p90_ns: ns(l.quantile_ns(0.9)),
        p95_ns: ns(l.quantile_ns(0.95)),
        p99_ns: ns(l.quantile_ns(0.99)),
        p999_ns: ns(l.quantile_ns(0.999)),
        max_ns: ns(l.max_ns()),
        exact: false,
    }
}

fn sizes(mix: &Mix, cut: u64) -> Value {
    let spread = |of: &dyn Fn(&Exchange) -> u64| {
        let values = || mix.exchanges().iter().map(of);
        let count = values().count().max(1) as u64;
        [
            values().min().unwrap_or(0),
            values().fold(0_u64, u64::saturating_add) / count,
            values().max().unwrap_or(0),
        ]
    };
    let [request_min, request_mean, request_max] = spread(&|e| e.request_bytes.into());
    let [response_min, response_mean, response_max] = spread(&|e| e.response_bytes.into());
    let [think_min, think_mean, think_max] = spread(&|e| e.think_ns);
    json!({
        "exchanges": mix.exchanges().len(),
        "calls": (!mix.fixed).then_some(mix.seen),
        "request_min_bytes": request_min,
        "request_mean_bytes": request_mean,
        "request_max_bytes": request_max,
        "response_min_bytes": response_min,
        "response_mean_bytes": response_mean,
        "response_max_bytes": response_max,
        "think_min_ns": think_min,
        "think_mean_ns": think_mean,
        "think_max_ns": think_max,
        "cut": cut,
        "thinks_shortened": mix.shortened,
    })
}

fn host(h: &Host) -> Value {
    json!({
        "cpus": h.cpus,
        "cpu_model": h.cpu_model,
        "load_hundredths": h.load_hundredths,
    })
}

fn socket(o: &SocketOptions) -> Value {
    json!({
        "nodelay": o.nodelay,
        "send_buffer_bytes": o.send_buffer,
        "receive_buffer_bytes": o.receive_buffer,
    })
}

fn interval(i: &IntervalResult) -> Value {
    let known = |ns: u64| (i.count > 0).then_some(ns);
    json!({
        "start_ns": i.start_ns,
        "end_ns": i.end_ns,
        "count": i.count,
        "mean_ns": known(i.mean_ns),
        "p50_ns": known(i.p50_ns),
        "p99_ns": known(i.p99_ns),
        "max_ns": known(i.max_ns),
        "sent_bytes": i.sent_bytes,
        "received_bytes": i.received_bytes,
    })
}

/// Writes the distribution of the corrected times in milliseconds, in the format of HdrHistogram's
/// `outputPercentileDistribution` (`.hgrm`).
///
/// # Errors
/// Those of `out`.
pub fn probe_hgrm(r: &ProbeResult, out: &mut dyn Write) -> io::Result<()> {
    let l = &r.corrected;
    let ms = |ns: u64| ns as f64 / 1e6;
    writeln!(
        out,
        "{:>12} {:>14} {:>10} {:>14}\n",
        "Value", "Percentile", "TotalCount", "1/(1-Percentile)"
    )?;
    for p in l.points() {
        let (value, quantile, count) = (ms(p.value_ns), p.quantile, p.count);
        write!(out, "{value:12.6} {quantile:2.12} {count:10}")?;
        if quantile < 1.0 {
            write!(out, " {:14.2}", 1.0 / (1.0 - quantile))?;
        }
        writeln!(out)?;
    }
    let (mean, deviation) = (ms(l.mean_ns()), l.deviation_ns() / 1e6);
    let (longest, count) = (ms(l.max_ns()), l.count());
    writeln!(
        out,
        "#[Mean    = {mean:12.6}, StdDeviation   = {deviation:12.6}]\n\
         #[Max     = {longest:12.6}, Total count    = {count:12}]\n\
         #[Buckets = {:12}, SubBuckets     = {:12}]",
        32, 2_048
    )
}
