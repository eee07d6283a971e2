//! A diagnosis for programs: `slowside.diagnosis/1`, field by field.

use crate::{classes, concentrated, hops, hosts, layers, peers, tiers, value};
use analysis::app::{AppFacts, ComparedBy};
use analysis::findings::Rule;
use analysis::hops::within;
use analysis::results::{
    Clock, Diagnosis, Evidence, FileResult, Finding, JoinedRead, Matched, OpResult,
    TraceJoinResult, Unmatched,
};
use analysis::stats::Summary;
use ledger::{Sum, Sums};
use serde_json::{Map, Value, json};
use std::io::{self, Write};

/// Writes `slowside.diagnosis/1`.
///
/// # Errors
/// Those of `out`.
pub fn diagnosis_json(d: &Diagnosis, out: &mut dyn Write) -> io::Result<()> {
    value::write(out, &whole(d))?;
    out.write_all(b"\n")
}

/// The whole of it; what lies beneath a server is a diagnosis of its own.
pub(crate) fn whole(d: &Diagnosis) -> Value {
    let b = &d.budget;
    let known = b.calls > 0;
    json!({
        "schema": "slowside.diagnosis/1",
        "captures": d.captures.iter().map(value::capture).collect::<Vec<_>>(),
        "verdict": {
            "side": d.verdict.side.name(),
            "cause": d.verdict.cause.map(Rule::code),
            "confidence": d.verdict.confidence,
            "sentence": d.verdict.sentence.to_string(),
        },
        "budget": {
            "calls": b.calls,
            "client_host_ns": b.client_host_ns.filter(|_| known),
            "network_out_ns": b.network_out_ns.filter(|_| known),
            "server_ns": b.server_ns.filter(|_| known),
            "network_back_ns": b.network_back_ns.filter(|_| known),
            "server_queue_ns": b.server_queue_ns.filter(|_| known),
            "under_way": b.under_way.iter().filter(|_| known).map(|(d, class, ns)| json!({
                "direction": classes::direction(*d),
                "class": class.name(),
                "ns": ns,
            })).collect::<Vec<_>>(),
        },
        "ops": d.ops.iter().map(op).collect::<Vec<_>>(),
        "clock": d.clock.as_ref().map(clock),
        "findings": d.findings.iter().map(finding(d)).collect::<Vec<_>>(),
        "clocks": d.clocks.iter().map(|(from, c)| {
            let mut of = clock(c);
            of["from_ns"] = from.0.into();
            of
        }).collect::<Vec<_>>(),
        "files": d.files.iter().map(file).collect::<Vec<_>>(),
        "notes": value::texts(&d.notes),
        "call_time_ns": d.call_time_ns,
        "elapsed_ns": d.elapsed_ns,
        "few_long": d.few_long.map(|few| json!({
            "calls": few.count,
            "total_ns": few.total_ns,
            "others": few.others,
            "others_ns": few.others_ns,
        })),
        "app": d.app.as_ref().map(|a| app(a, d)),
        "server_app": d.server_app.as_ref().map(layers::server_app),
        "layers": d.layers.iter().map(|l| layers::layer(l, d)).collect::<Vec<_>>(),
        "hosts": d.hosts.iter().map(hosts::host).collect::<Vec<_>>(),
        "ledger": ledger(&d.ledger),
        "tiers": d.tiers.iter().map(tiers::value).collect::<Vec<_>>(),
        "peers": d.peers.iter().map(peers::value).collect::<Vec<_>>(),
        "hops": d.hops.iter().map(hops::value).collect::<Vec<_>>(),
        "hops_within_ns": within(d).map(|(ns, _)| ns),
        "streams_ledger": d.streams_ledger.as_ref().map(ledger),
    })
}

fn clock(c: &Clock) -> Value {
    json!({
        "basis": c.basis.name(),
        "offset_ns": c.offset_ns,
        "drift_ppm": c.drift_ppm,
        "uncertainty_ns": c.uncertainty_ns,
        "offset_at_ns": c.offset_at.0,
    })
}

/// Sums of ledgers: their lines, the largest by what is certain first.
fn ledger(sums: &Sums) -> Value {
    let lines = sums.lines();
    let line = |s: &Sum| {
        json!({
            "place": s.line.place.name(),
            "side": s.line.side.name(),
            "cause": s.line.cause.name(),
            "lo_ns": s.line.ns.lo_ns,
            "hi_ns": s.line.ns.hi_ns,
            "calls": s.calls,
        })
    };
    json!({
        "calls": sums.calls,
        "total_lo_ns": sums.total.lo_ns,
        "total_hi_ns": sums.total.hi_ns,
        "lines": lines.iter().map(line).collect::<Vec<_>>(),
    })
}

fn stats(summary: Option<&Summary>) -> Value {
    summary.map_or(Value::Null, |s| {
        let mut object = Map::new();
        value::add_stats(&mut object, s);
        Value::Object(object)
    })
}

fn op(o: &OpResult) -> Value {
    json!({
        "protocol": o.protocol.name(),
        "op": o.op,
        "client": stats(o.client.as_ref()),
        "server": stats(o.server.as_ref()),
        "matched": o.matched.as_ref().map(matched),
        "unmatched": unmatched(&o.unmatched),
        "errors": o.errors,
    })
}

/// What the application's own times say; `joined` and what follows only of a database's trace.
fn app(a: &AppFacts, d: &Diagnosis) -> Value {
    let join = a.join.as_ref();
    let list = |of: fn(&TraceJoinResult) -> Vec<Value>| join.map(of);
    json!({
        "basis": a.basis.to_string(),
        "compared_by": compared_by(a.by),
        "operations": a.operations,
        "matched": a.matched,
        "application_mean_ns": a.application_mean_ns,
        "host_mean_ns": a.host_mean_ns,
        "host_total_ns": a.host_total_ns,
        "application_mean_least_ns": a.own().least_ns,
        "application_mean_most_ns": a.own().most_ns,
        "host_mean_most_ns": a.above().most_ns,
        "joined": join.map(|j| j.worst.iter().map(|r| joined(r, d)).collect::<Vec<_>>()),
        "clock": join.map(|j| json!({
            "offset_ns": j.clock.offset_ns,
            "drift_ppm": j.clock.drift * 1e6,
            "uncertainty_ns": j.clock.uncertainty_ns,
            "drift_uncertainty_ppm": j.clock.drift_uncertainty * 1e6,
            "offset_at_ns": j.clock.origin,
            "pairs": j.clock.pairs,
        })),
        "block_bytes": join.map(|j| j.block_bytes),
        "waits": join.map(|j| json!({
            "trace": j.waits,
            "capture": j.during,
            "joined": j.joined,
        })),
        "events": list(|j| j.events.iter().map(|e| json!({
            "event": e.event,
            "waits": e.waits,
            "oracle": stats(Some(&e.oracle)),
            "wire": stats(Some(&e.wire)),
            "server": stats(e.server.as_ref()),
        })).collect()),
        "files": list(|j| j.files.iter().map(|f| json!({
            "file": f.file,
            "handle": f.handle.map(value::file),
            "path": f.path,
            "joined": f.joined,
        })).collect()),
    })
}

fn file(f: &FileResult) -> Value {
    json!({
        "file": value::file(f.file),
        "path": f.path,
        "calls": f.calls,
        "total_ns": f.total_ns,
        "request_bytes": f.request_bytes,
        "response_bytes": f.response_bytes,
    })
}

pub(crate) fn compared_by(by: ComparedBy) -> &'static str {
    match by {
        ComparedBy::Trace => "trace",
        ComparedBy::Offset => "offset",
        ComparedBy::Connection => "connection",
        ComparedBy::Time => "time",
        ComparedBy::Mean => "mean",
        ComparedBy::Distribution => "distribution",
        ComparedBy::Queue => "queue",
    }
}

fn joined(r: &JoinedRead, d: &Diagnosis) -> Value {
    json!({
        "event": r.event,
        "file": r.file,
        "block": r.block,
        "blocks": r.blocks,
        "end_ns": r.end.0,
        "oracle_ns": r.oracle_ns,
        "client_wire_ns": r.wire_ns,
        "server_wire_ns": r.server_ns,
        "reads": r.reads,
        "evidence": r.evidence.iter().map(|e| evidence(e, d)).collect::<Vec<_>>(),
    })
}

fn evidence(e: &Evidence, d: &Diagnosis) -> Value {
    let files = d.captures.get(e.capture).map(|c| &c.files);
    json!({
        "capture": e.capture,
        "file": files.and_then(|f| f.get(e.file)),
        "frames": e.frames,
        "filter": e.filter,
        "shows": e.shows,
    })
}

/// Means of no calls are unknown, not zero.
fn matched(m: &Matched) -> Value {
    let known = |v: i64| (m.count > 0).then_some(v);
    json!({
        "count": m.count,
        "client_mean_ns": known(m.client_mean_ns),
        "server_mean_ns": known(m.server_mean_ns),
        "difference_mean_ns": known(m.difference_mean_ns),
        "client_p50_ns": known(m.client_p50_ns),
        "server_p50_ns": known(m.server_p50_ns),
        "difference_p50_ns": known(m.difference_p50_ns),
        "request_path_mean_ns": m.request_path_mean_ns,
        "reply_path_mean_ns": m.reply_path_mean_ns,
    })
}

fn unmatched(u: &Unmatched) -> Value {
    json!({
        "outside_overlap": u.outside_overlap,
        "not_in_client_capture": u.not_in_client_capture,
        "not_in_server_capture": u.not_in_server_capture,
        "no_response": u.no_response,
        "incomplete": u.incomplete,
        "evicted": u.evicted,
    })
}

fn finding(d: &Diagnosis) -> impl Fn(&Finding) -> Value + '_ {
    |f| {
        let facts: Map<String, Value> = f
            .facts
            .iter()
            .map(|fact| (fact.name.to_owned(), fact.value.into()))
            .collect();
        let evidence: Vec<Value> = f.evidence.iter().map(|e| evidence(e, d)).collect();
        let lines = match f.cost_ns {
            Some(_) => f.lines(d.streams_ledger.as_ref().unwrap_or(&d.ledger)),
            None => Vec::new(),
        };
        json!({
            "code": f.rule.code(),
            "title": f.title.to_string(),
            "side": f.side.name(),
            "cost_ns": f.cost_ns,
            "elapsed_cost_ns": f.elapsed_cost_ns,
            "confidence": f.confidence,
            "first_ns": value::time(f.first),
            "last_ns": value::time(f.last),
            "facts": facts,
            "evidence": evidence,
            "why": f.why.to_string(),
            "remedy": f.remedy.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "fatal": f.fatal,
            "of": f.cost_ns.map(|_| f.cost_of(d).name()),
            "lines": lines.iter().map(|l| json!([l.line.place.name(), l.line.side.name(), l.line.cause.name()])).collect::<Vec<_>>(),
            "where": concentrated::json(f),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    fn json(d: &Diagnosis) -> Value {
        let mut out = Vec::new();
        diagnosis_json(d, &mut out).expect("memory");
        serde_json::from_slice(&out).expect("JSON")
    }

    fn keys(value: &Value) -> Vec<&str> {
        let object = value.as_object().expect("an object");
        object.keys().map(String::as_str).collect()
    }

    #[test]
    fn every_field_of_the_contract_is_there_in_order() {
        let j = json(&samples::diagnosis());
        assert_eq!(j["schema"], "slowside.diagnosis/1");
        let top = [
            "schema", "captures", "verdict", "budget", "ops", "clock", "findings",
        ];
        assert_eq!(keys(&j)[..7], top);
        let capture = [
            "files",
            "side",
            "side_from",
            "packets",
            "bytes",
            "first_ns",
            "last_ns",
            "snaplen",
            "link_types",
            "dropped",
            "problems",
        ];
        assert_eq!(keys(&j["captures"][0])[..11], capture);
        assert_eq!(
            keys(&j["verdict"]),
            ["side", "cause", "confidence", "sentence"]
        );
        assert_eq!(
            keys(&j["budget"])[..5],
            [
                "calls",
                "client_host_ns",
                "network_out_ns",
                "server_ns",
                "network_back_ns"
            ]
        );
        assert_eq!(
            keys(&j["ops"][0]),
            [
                "protocol",
                "op",
                "client",
                "server",
                "matched",
                "unmatched",
                "errors"
            ]
        );
        assert_eq!(keys(&j["ops"][0]["client"])[..10], value::STATS);
        assert_eq!(
            keys(&j["clock"]),
            [
                "basis",
                "offset_ns",
                "drift_ppm",
                "uncertainty_ns",
                "offset_at_ns"
            ]
        );
        let finding = [
            "code",
            "title",
            "side",
            "cost_ns",
            "elapsed_cost_ns",
            "confidence",
            "first_ns",
            "last_ns",
            "facts",
            "evidence",
            "why",
            "remedy",
        ];
        assert_eq!(keys(&j["findings"][0])[..12], finding);
        let evidence = &j["findings"][0]["evidence"][0];
        assert_eq!(keys(evidence)[..4], ["capture", "file", "frames", "filter"]);
        assert_eq!(evidence["file"], "server.pcap");
        assert_eq!(j["findings"][0]["facts"]["cap"], 4);
        assert_eq!(j["captures"][1]["problems"][0]["kind"], "cut-in-mid-record");
    }

    #[test]
    fn what_is_unknown_is_null() {
        let mut d = samples::diagnosis();
        d.clock = None;
        d.verdict.cause = None;
        d.budget.client_host_ns = None;
        d.ops[0].server = None;
        d.ops[0].matched = None;
        d.captures[0].dropped = None;
        d.captures[0].side = None;
        let j = json(&d);
        for path in [
            "/clock",
            "/verdict/cause",
            "/budget/client_host_ns",
            "/ops/0/server",
            "/ops/0/matched",
            "/captures/0/dropped",
            "/app",
        ] {
            assert_eq!(j.pointer(path), Some(&Value::Null), "{path}");
        }
        assert_eq!(j["captures"][0]["side"], "unknown");
    }
}
