//! What a client waited for, for programs: `slowside.startup/1`.

use crate::value;
use analysis::startup::{ClientStartup, StartupResult, Sum, Waited, reason};
use model::Endpoint;
use serde_json::{Value, json};
use std::io::{self, Write};

/// Writes `slowside.startup/1`.
///
/// # Errors
/// Those of `out`.
pub fn startup_json(result: &StartupResult, out: &mut dyn Write) -> io::Result<()> {
    let others = result.others.iter();
    let others: Vec<Value> = others
        .map(|(address, ns)| json!({ "address": address.to_string(), "waited_ns": ns }))
        .collect();
    let captures: Vec<Value> = result.captures.iter().map(value::capture).collect();
    let object = json!({
        "schema": "slowside.startup/1",
        "client": result.client.as_ref().map(client),
        "others": others,
        "captures": captures,
    });
    value::write(out, &object)?;
    out.write_all(b"\n")
}

fn client(c: &ClientStartup) -> Value {
    let addresses: Vec<String> = c.addresses.iter().map(ToString::to_string).collect();
    json!({
        "addresses": addresses,
        "first_ns": c.first.0,
        "last_ns": c.last.0,
        "elapsed_ns": c.elapsed_ns(),
        "waited_ns": c.waited_ns(),
        "goes_on": c.goes_on,
        "reasons": c.reasons.iter().map(|s| sum(s, c)).collect::<Vec<_>>(),
        "servers": c.servers.iter().map(|s| sum(s, c)).collect::<Vec<_>>(),
        "waits": c.waits.iter().map(wait).collect::<Vec<_>>(),
    })
}

/// An address has no port where port 0 stands for none.
fn server(end: Option<Endpoint>) -> Option<String> {
    end.map(|end| match end.port {
        0 => end.address.to_string(),
        _ => end.to_string(),
    })
}

fn sum(s: &Sum, c: &ClientStartup) -> Value {
    let worst = c.waits.get(s.worst);
    json!({
        "kind": s.kind.name(),
        "ending": s.ending.name(),
        "reason": reason(s.kind, s.ending),
        "server": server(s.server),
        "count": s.count,
        "cost_ns": s.cost_ns,
        "worst_frame": worst.map(|w| w.begun.frame),
    })
}

/// A display filter that shows the packets that began and ended a wait.
pub(crate) fn filter(w: &Waited) -> String {
    match w.begun == w.ended {
        true => format!("frame.number == {}", w.begun.frame),
        false => format!("frame.number in {{{}, {}}}", w.begun.frame, w.ended.frame),
    }
}

fn wait(w: &Waited) -> Value {
    json!({
        "kind": w.kind.name(),
        "ending": w.ending.name(),
        "server": server(w.server),
        "what": w.what.to_string(),
        "ended_by": w.ended_by.to_string(),
        "first_ns": w.first.0,
        "elapsed_ns": w.elapsed_ns,
        "cost_ns": w.cost_ns,
        "frames": [w.begun.frame, w.ended.frame],
        "filter": filter(w),
    })
}
