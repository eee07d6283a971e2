//! Profiles of traces for programs: `slowside.trace/1`, and statements or events as CSV.

pub(crate) mod rows;

use crate::packets;
use crate::value;
use analysis::results::Order;
use analysis::stats::Summary;
use analysis::trace_profile::{ConnectionRow, DatabaseTime, NetFacts, StatementRow, TraceResult};
use model::Problems;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::io::{self, Write};

pub(crate) use rows::{events, statements};
pub use rows::{trace_csv, trace_sortable};

/// What a profile of traces is told by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TraceBy {
    Statement,
    Event,
}

/// What is to be shown of it.
#[derive(Clone, Debug)]
pub struct TraceStyle {
    /// One of the tables alone.
    pub by: Option<TraceBy>,
    /// In which order, of events where they are chosen, else of statements, and how many.
    pub order: Order,
    /// Statements as they were written, not in normal form.
    pub show_literals: bool,
    /// All rows, not only the first (text).
    pub all: bool,
}

/// Writes `slowside.trace/1`. Statements are in normal form, or as they were written first.
///
/// # Errors
/// Those of `out`.
pub fn trace_json(result: &TraceResult, style: &TraceStyle, out: &mut dyn Write) -> io::Result<()> {
    let files: Vec<Value> = result
        .files
        .iter()
        .map(|f| {
            json!({
                "file": f.name,
                "lines": f.lines,
                "bytes": f.bytes,
                "extended_lines": f.extended_lines,
                "net_lines": f.net_lines,
                "other_lines": f.other_lines,
                "product": f.product,
                "release": f.release.map(|(major, minor)| format!("{major}.{minor}")),
                "system": f.system,
                "host": f.host,
                "instance": f.instance,
                "process": f.process,
                "session": f.session,
                "sessions": f.sessions,
                "service": f.service,
                "module": f.module,
                "driver": f.driver,
                "first_local_ns": f.first.map(|s| s.local_ns),
                "last_local_ns": f.last.map(|s| s.local_ns),
                "utc_offset_s": f.first.and_then(|s| s.offset_s),
                "unit_ns": f.unit_ns,
                "net": self::net(&f.net),
            })
        })
        .collect();
    out.write_all(b"{\"schema\":\"slowside.trace/1\",\"files\":")?;
    value::write(out, &files.into())?;
    out.write_all(b",\n\"problems\":")?;
    value::write(out, &problems(&result.problems))?;
    out.write_all(b",\n\"database\":")?;
    let database = result.database.as_ref();
    value::write(
        out,
        &database.map_or(Value::Null, |d| self::database(d, style)),
    )?;
    out.write_all(b",\n\"net\":")?;
    let net = result.net.as_ref().map(|net| {
        let connections: Vec<Value> = net.connections.iter().map(connection).collect();
        json!({"all": connection(&net.all), "connections": connections})
    });
    value::write(out, &net.unwrap_or(Value::Null))?;
    if let Some(list) = &result.packets {
        packets::json(list, &packets::of_traces(result), out)?;
    }
    out.write_all(b"}\n")
}

/// What a SQL*Net trace says of its connection.
fn net(net: &NetFacts) -> Value {
    let errors = |errors: &BTreeMap<u32, u64>| -> Value {
        let each = errors.iter();
        each.map(|(code, count)| json!({"code": code, "count": count}))
            .collect()
    };
    json!({
        "level": net.level,
        "side": net.side.map(|s| s.name()),
        "proposed_sdu_bytes": net.proposed_sdu,
        "proposed_tdu_bytes": net.proposed_tdu,
        "sdu_bytes": net.sdu,
        "tdu_bytes": net.tdu,
        "version": net.version,
        "descriptor": net.descriptor,
        "peer": net.peer,
        "nodelay": net.nodelay,
        "refused": net.refused,
        "redirected": net.redirected,
        "errors": errors(&net.errors),
        "system_errors": errors(&net.system_errors),
        "returned": errors(&net.returned),
        "opened": net.opened.count,
        "opened_ns": net.opened.total_ns,
        "not_opened": net.not_opened.count,
        "not_opened_ns": net.not_opened.total_ns,
        "encryption": net.encryption,
        "checksum": net.checksum,
    })
}

fn problems(problems: &Problems) -> Value {
    let rows = problems.iter().map(|(kind, p)| {
        json!({
            "kind": kind,
            "count": p.count,
            "damage": p.damage,
            "example": p.example,
            "file": (!p.first.file.is_empty()).then_some(&p.first.file),
            "line": p.first.line,
            "offset": p.first.offset,
        })
    });
    rows.collect::<Vec<Value>>().into()
}

fn stats(summary: &Summary) -> Value {
    let mut object = Map::new();
    value::add_stats(&mut object, summary);
    Value::Object(object)
}

/// An object of `{stats}` and what else there is.
fn with_stats(summary: &Summary, before: Value, behind: Value) -> Value {
    let mut object = Map::new();
    let entries = |value| match value {
        Value::Object(map) => map,
        _ => Map::new(),
    };
    object.extend(entries(before));
    value::add_stats(&mut object, summary);
    object.extend(entries(behind));
    Value::Object(object)
}

fn database(d: &DatabaseTime, style: &TraceStyle) -> Value {
    let list = |rows: &mut dyn Iterator<Item = Value>| Value::from(rows.collect::<Vec<Value>>());
    json!({
        "response_ns": d.response_ns,
        "span_ns": d.span_ns,
        "cpu_ns": d.cpu_ns,
        "waited_ns": d.waited_ns,
        "unaccounted_ns": d.unaccounted_ns,
        "between_ns": d.between_ns,
        "recursive_ns": d.recursive_ns,
        "round_trips": stats(&d.round_trips),
        "rows": d.rows,
        "commits": d.commits,
        "rollbacks": d.rollbacks,
        "read_only_ends": d.read_only_ends,
        "errors": d.errors,
        "parse_errors": d.parse_errors,
        "binds": d.binds,
        "plan_lines": d.plan_lines,
        "messages_sent": d.sent.0,
        "bytes_sent": d.sent.1,
        "messages_received": d.received.0,
        "bytes_received": d.received.1,
        "events": list(&mut events(d, style).iter().map(|l| l.0).map(|e| with_stats(
            &e.waits,
            json!({"event": e.name}),
            json!({"between": e.between, "between_ns": e.between_ns}),
        ))),
        "statements": list(&mut statements(d, style).iter().map(|l| statement(l.row, style.show_literals))),
        "calls": list(&mut d.calls.iter().map(|c| with_stats(
            &c.elapsed,
            json!({"call": c.kind}),
            json!({"own_ns": c.own_ns, "cpu_ns": c.cpu_ns, "rows": c.rows, "unaccounted": stats(&c.unaccounted)}),
        ))),
        "reads": list(&mut d.reads.iter().map(|r| with_stats(
            &r.waits,
            json!({"path": r.path.name(), "event": r.event}),
            json!({"blocks": r.blocks}),
        ))),
        "decisions": list(&mut d.decisions.iter().map(|c| json!({
            "function": c.function, "direct": c.direct, "reason": c.reason, "count": c.count,
        }))),
    })
}

fn statement(s: &StatementRow, show_literals: bool) -> Value {
    let events: Vec<Value> = s
        .events
        .iter()
        .map(|(name, count, ns)| json!({"event": name, "count": count, "total_ns": ns}))
        .collect();
    json!({
        "id": s.id.map(hex),
        "sql_id": s.sql_id,
        "statement": text(s, show_literals),
        "depth": s.depth,
        "total_ns": s.total_ns,
        "own_ns": s.own_ns,
        "cpu_ns": s.cpu_ns,
        "waited_ns": s.waited_ns,
        "unaccounted_ns": s.unaccounted_ns,
        "between_ns": s.between_ns,
        "round_trips": stats(&s.round_trips),
        "parses": s.parses,
        "hard_parses": s.hard_parses,
        "executions": s.executions,
        "fetches": s.fetches,
        "rows": s.rows,
        "rows_per_fetch_p50": s.rows_per_fetch_p50,
        "rows_per_fetch_max": s.rows_per_fetch_max,
        "calls": stats(&s.elapsed),
        "physical_reads": s.physical_reads,
        "consistent_reads": s.consistent_reads,
        "errors": s.errors,
        "events": events,
    })
}

/// The identity of a statement.
pub(crate) fn hex(id: u64) -> String {
    format!("{id:016x}")
}

/// A statement on one line.
pub(crate) fn text(s: &StatementRow, show_literals: bool) -> String {
    if !show_literals || s.text.is_empty() {
        return s.normal.clone();
    }
    let words: Vec<&str> = s.text.split_whitespace().collect();
    words.join(" ")
}

fn connection(c: &ConnectionRow) -> Value {
    let packets: Vec<Value> = c
        .packets
        .iter()
        .map(|p| {
            let direction = if p.sent { "sent" } else { "received" };
            json!({"direction": direction, "type": &*p.kind, "packets": p.packets, "bytes": p.bytes})
        })
        .collect();
    json!({
        "socket": c.socket,
        "first_local_ns": c.first_local_ns,
        "last_local_ns": c.last_local_ns,
        "messages_sent": c.messages_sent,
        "messages_received": c.messages_received,
        "largest_sent_bytes": c.largest_sent,
        "largest_sent_count": c.largest_sent_count,
        "largest_received_bytes": c.largest_received,
        "milliseconds": c.milliseconds,
        "away": stats(&c.away),
        "here": stats(&c.here),
        "packets": packets,
    })
}
