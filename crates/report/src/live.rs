//! A capture that goes on, for programs: `slowside.live/1`, a line of JSON for each thing that happens.

use crate::classes;
use crate::ops;
use crate::value;
use analysis::findings::Rule;
use analysis::live::{
    ConnectionRow, Crossed, Crossing, Figures, FoundRow, Limit, LiveResult, Moment, SlowestCall,
    StatementTotal, SubjectRow,
};
use analysis::results::{ConnectionResult, Verdict};
use model::{Statement, Time};
use serde_json::{Map, Value, json};
use std::io::{self, Write};

/// What is kept of the last packets.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct LiveKept {
    pub packets: u64,
    pub bytes: u64,
    pub ns: i64,
    /// Less than was asked for, as the bytes did not suffice.
    pub short: bool,
}

/// A file of packets that was written, or why it could not be.
pub type LiveFile<'a> = Result<(&'a str, u64, i64), &'a str>;

fn line(kind: &str, rest: Value, out: &mut dyn Write) -> io::Result<()> {
    let mut object = Map::new();
    object.insert("schema".to_owned(), "slowside.live/1".into());
    object.insert("kind".to_owned(), kind.into());
    if let Value::Object(rest) = rest {
        object.extend(rest);
    }
    value::write(out, &Value::Object(object))?;
    out.write_all(b"\n")
}

/// Writes an interval, with at most `top` operations, statements and connections.
///
/// # Errors
/// Those of `out`.
pub fn live_moment_json(
    m: &Moment,
    kept: LiveKept,
    top: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    let subjects =
        |rows: &[SubjectRow]| -> Vec<Value> { rows.iter().take(top).map(subject).collect() };
    let connections = m.connections.iter().take(top).map(connection);
    let rest = json!({
        "start_ns": m.start.0,
        "width_ns": m.width_ns,
        "window_ns": m.window_ns,
        "packets": m.traffic.packets,
        "bytes": m.traffic.bytes,
        "dropped": m.dropped_now,
        "dropped_in_all": m.dropped,
        "outstanding": m.outstanding,
        "now": figures(&m.all),
        "window": figures(&m.all_window),
        "operations_in_all": m.operations.len(),
        "operations": subjects(&m.operations),
        "statements_in_all": m.statements.len(),
        "statements": subjects(&m.statements),
        "connections_in_all": m.connections.len(),
        "connections": connections.collect::<Vec<_>>(),
        "silence": m.silence.map(|s| json!({
            "client": s.client.to_string(),
            "server": s.server.to_string(),
            "outstanding": s.outstanding,
            "silent_ns": s.ns,
        })),
        "kept": {
            "packets": kept.packets,
            "memory_bytes": kept.bytes,
            "lasts_ns": kept.ns,
            "short": kept.short,
        },
    });
    line("interval", rest, out)
}

fn figures(f: &Figures) -> Value {
    let mut object = Map::new();
    value::add_stats(&mut object, &f.stats);
    object.insert("errors".to_owned(), f.errors.into());
    object.insert("half_calls".to_owned(), f.half_calls.into());
    object.insert("calls_per_second".to_owned(), value::decimal(f.rate()));
    object.insert(
        "outstanding_mean".to_owned(),
        value::decimal(f.outstanding()),
    );
    Value::Object(object)
}

fn add_statement(object: &mut Map<String, Value>, s: Option<&Statement>) {
    let id = s.map(|s| format!("{:016x}", s.id));
    object.insert("statement".to_owned(), id.into());
    object.insert("sql".to_owned(), s.map(|s| &*s.normal).into());
}

fn subject(r: &SubjectRow) -> Value {
    let mut object = Map::new();
    object.insert("protocol".to_owned(), r.protocol.name().into());
    let op = (!r.op.is_empty()).then_some(&*r.op);
    object.insert("op".to_owned(), op.into());
    add_statement(&mut object, r.statement.as_deref());
    object.insert("now".to_owned(), figures(&r.now));
    object.insert("window".to_owned(), figures(&r.window));
    object.insert("slowest".to_owned(), r.worst.as_ref().map(worst).into());
    Value::Object(object)
}

fn worst(w: &SlowestCall) -> Value {
    json!({
        "response_time_ns": w.ns,
        "start_ns": w.request.time.0,
        "client": w.client.to_string(),
        "server": w.server.to_string(),
    })
}

fn connection(c: &ConnectionRow) -> Value {
    let limit = |l: Limit| {
        json!({
            "direction": classes::direction(l.direction),
            "class": l.class.name(),
            "share_ppm": (l.share * 1e6).round() as u64,
        })
    };
    let [out_packets, back_packets] = c.packets;
    let [out_bytes, back_bytes] = c.bytes;
    let [out_again, back_again] = c.retransmitted;
    json!({
        "client": c.client.to_string(),
        "server": c.server.to_string(),
        "protocol": c.protocol.map(|p| p.name()),
        "to_server_packets": out_packets,
        "to_client_packets": back_packets,
        "to_server_bytes": out_bytes,
        "to_client_bytes": back_bytes,
        "to_server_retransmitted_packets": out_again,
        "to_client_retransmitted_packets": back_again,
        "rate_bps": c.bps(),
        "rtt_ns": c.rtt_ns,
        "calls": c.calls,
        "errors": c.errors,
        "total_ns": c.total_ns,
        "max_ns": c.max_ns,
        "outstanding": c.outstanding,
        "outstanding_most": c.outstanding_most,
        "silent_ns": c.silent_ns,
        "limit": c.limit.map(limit),
    })
}

/// Writes a finding that appeared at `at`, and what the verdict is with it.
///
/// # Errors
/// Those of `out`.
pub fn live_finding_json(
    f: &FoundRow,
    verdict: Option<&Verdict>,
    at: Time,
    out: &mut dyn Write,
) -> io::Result<()> {
    let rest = json!({
        "at_ns": at.0,
        "finding": finding(f),
        "verdict": verdict.map(judged),
    });
    line("finding", rest, out)
}

fn finding(f: &FoundRow) -> Value {
    json!({
        "code": f.rule.code(),
        "side": f.side.name(),
        "cost_ns": f.cost_ns,
        "appeared_ns": f.appeared.0,
        "last_ns": f.last.0,
        "now": f.now,
        "why": f.why.to_string(),
        "remedy": f.remedy.as_ref().map(ToString::to_string),
    })
}

fn judged(v: &Verdict) -> Value {
    json!({
        "side": v.side.name(),
        "cause": v.cause.map(Rule::code),
        "confidence": value::decimal(v.confidence),
        "sentence": v.sentence.to_string(),
    })
}

fn file(of: LiveFile<'_>) -> Value {
    match of {
        Ok((path, packets, ns)) => json!({
            "path": path,
            "packets": packets,
            "lasts_ns": ns,
            "error": null,
        }),
        Err(why) => json!({"path": null, "packets": 0, "lasts_ns": 0, "error": why}),
    }
}

/// Writes that a threshold was crossed, and into which file the packets went.
///
/// # Errors
/// Those of `out`.
pub fn live_crossing_json(
    crossing: &Crossing,
    written: Option<LiveFile<'_>>,
    at: Time,
    out: &mut dyn Write,
) -> io::Result<()> {
    let (operation, of_connection) = match &crossing.row {
        Crossed::Subject(r) => (Some(subject(r)), None),
        Crossed::Connection(c) => (None, Some(connection(c))),
    };
    let rest = json!({
        "at_ns": at.0,
        "when": crossing.when.to_string(),
        "operation": operation,
        "connection": of_connection,
        "file": written.map(file),
    });
    line("crossing", rest, out)
}

/// Writes that packets were written because somebody asked for them.
///
/// # Errors
/// Those of `out`.
pub fn live_written_json(written: LiveFile<'_>, out: &mut dyn Write) -> io::Result<()> {
    line("written", json!({"file": file(written)}), out)
}

/// Writes the totals, the last line.
///
/// # Errors
/// Those of `out`.
pub fn live_total_json(result: &LiveResult, out: &mut dyn Write) -> io::Result<()> {
    let statements: Vec<Value> = result.statements.iter().map(statement).collect();
    let connections: Vec<Value> = result
        .conns
        .connections
        .iter()
        .map(|c| listed(&c))
        .collect();
    let rest = json!({
        "capture": result.ops.captures.first().map(value::capture),
        "groups": ops::groups(&result.ops),
        "total_ns": result.ops.total_ns,
        "statements": statements,
        "connections": connections,
        "connections_left_out": result.conns.left_out,
        "findings": result.findings.iter().map(finding).collect::<Vec<_>>(),
        "verdict": result.verdict.as_ref().map(judged),
        "crossings": result.crossings,
        "written": result.written,
    });
    line("total", rest, out)
}

fn statement(s: &StatementTotal) -> Value {
    let mut object = Map::new();
    object.insert("protocol".to_owned(), s.protocol.name().into());
    add_statement(&mut object, s.statement.as_deref());
    value::add_stats(&mut object, &s.figures.stats);
    object.insert("errors".to_owned(), s.figures.errors.into());
    object.insert("half_calls".to_owned(), s.figures.half_calls.into());
    Value::Object(object)
}

fn listed(c: &ConnectionResult) -> Value {
    let [out, back] = &c.directions;
    json!({
        "number": c.number,
        "client": c.client.to_string(),
        "server": c.server.to_string(),
        "protocol": c.protocol.map(|p| p.name()),
        "first_ns": c.first.0,
        "last_ns": c.last.0,
        "to_server_packets": out.counts.packets,
        "to_client_packets": back.counts.packets,
        "to_server_bytes": out.counts.payload_bytes,
        "to_client_bytes": back.counts.payload_bytes,
        "to_server_retransmitted_packets": out.counts.retransmitted_packets,
        "to_client_retransmitted_packets": back.counts.retransmitted_packets,
        "at_stake_ns": c.at_stake_ns,
        "top": c.top.map(|(d, class, ns)| json!({
            "direction": classes::direction(d),
            "class": class.name(),
            "time_ns": ns,
        })),
    })
}
