//! Groups of calls for programs: `slowside.ops/1` and the same as CSV.

use crate::table::rows::csv_field;
use crate::value;
use analysis::results::{GroupResult, KeyValue, OpsResult};
use serde_json::{Map, Value, json};
use std::io::{self, Write};

/// Writes `slowside.ops/1`, a group per line: there may be hundreds of thousands.
///
/// # Errors
/// Those of `out`.
pub fn ops_json(result: &OpsResult, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(b"{\"schema\":\"slowside.ops/1\",\"groups\":[")?;
    for (i, g) in result.groups.iter().enumerate() {
        out.write_all(if i == 0 { b"\n" } else { b",\n" })?;
        value::write(out, &group(g))?;
    }
    write!(out, "\n],\"total_ns\":{},\"captures\":", result.total_ns)?;
    let captures: Vec<Value> = result.captures.iter().map(value::capture).collect();
    value::write(out, &captures.into())?;
    out.write_all(b"}\n")
}

pub(crate) fn group(g: &GroupResult) -> Value {
    let mut object = Map::new();
    let mut put = |name: &str, value: Value| object.insert(name.to_owned(), value);
    put("protocol", g.protocol.name().into());
    put("op", g.op.as_deref().into());
    for (name, key) in &g.keys {
        put(
            name,
            match key {
                KeyValue::Text(text) => (&**text).into(),
                KeyValue::Number(n) => (*n).into(),
                KeyValue::File(handle) => value::file(*handle).into(),
                KeyValue::Unknown => Value::Null,
            },
        );
    }
    if g.is_of_a_file() {
        object.insert("path".to_owned(), g.path.as_deref().into());
    }
    value::add_stats(&mut object, &g.stats);
    let mut put = |name: &str, value: Value| object.insert(name.to_owned(), value);
    for (name, count) in counts(g) {
        put(name, count.into());
    }
    let histogram: Vec<Value> = g
        .histogram
        .iter()
        .map(|(upper, n)| json!([upper, n]))
        .collect();
    put("histogram", histogram.into());
    Value::Object(object)
}

fn counts(g: &GroupResult) -> [(&'static str, u64); 7] {
    [
        ("errors", g.errors),
        ("retransmits", g.retransmits),
        ("request_bytes", g.request_bytes),
        ("response_bytes", g.response_bytes),
        ("no_response", g.no_response),
        ("no_request", g.no_request),
        ("incomplete", g.incomplete),
    ]
}

/// Writes a row per group: protocol, op, the grouping keys, `{stats}` and the counts; of files, their path
/// at the end.
///
/// # Errors
/// Those of `out`.
pub fn ops_csv(result: &OpsResult, keys_given: &[&str], out: &mut dyn Write) -> io::Result<()> {
    let mut line = String::from("protocol,op");
    let count_names = [
        "errors",
        "retransmits",
        "request_bytes",
        "response_bytes",
        "no_response",
        "no_request",
        "incomplete",
    ];
    let keys = keys_given.iter().copied().filter(|k| *k != "op");
    for name in keys.chain(value::STATS).chain(count_names) {
        line.push(',');
        line.push_str(name);
    }
    let by_file = keys_given.contains(&"file");
    if by_file {
        line.push_str(",path");
    }
    writeln!(out, "{line}")?;
    let mut row = Vec::new();
    for g in &result.groups {
        row.clear();
        row.extend_from_slice(g.protocol.name().as_bytes());
        row.push(b',');
        csv_field(g.op.as_deref().unwrap_or_default().as_bytes(), &mut row);
        for (_, key) in &g.keys {
            row.push(b',');
            match key {
                KeyValue::Text(text) => csv_field(text.as_bytes(), &mut row),
                KeyValue::Number(n) => write!(row, "{n}")?,
                KeyValue::File(handle) => row.extend_from_slice(value::file(*handle).as_bytes()),
                KeyValue::Unknown => {}
            }
        }
        for v in value::stats_values(&g.stats) {
            row.push(b',');
            if let Some(v) = v {
                write!(row, "{v}")?;
            }
        }
        for (_, count) in counts(g) {
            write!(row, ",{count}")?;
        }
        if by_file {
            row.push(b',');
            csv_field(g.path.as_deref().unwrap_or_default().as_bytes(), &mut row);
        }
        row.push(b'\n');
        out.write_all(&row)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;
    use expect_test::expect;

    #[test]
    fn json_holds_groups_with_keys_stats_and_histogram() {
        let mut out = Vec::new();
        ops_json(&samples::ops(), &mut out).expect("memory");
        let json: Value = serde_json::from_slice(&out).expect("JSON");
        assert_eq!(json["schema"], "slowside.ops/1");
        assert_eq!(json["groups"].as_array().map(Vec::len), Some(2));
        expect![[r#"{"protocol":"nfs3","op":"READ","client":"10.0.0.1","count":1834,"total_ns":60870460000,"mean_ns":33190000,"min_ns":4100000,"p50_ns":33130000,"p90_ns":35000000,"p95_ns":36000000,"p99_ns":36650000,"p999_ns":37000000,"max_ns":41000000,"exact":true,"errors":3,"retransmits":1,"request_bytes":330120,"response_bytes":120258048,"no_response":2,"no_request":1,"incomplete":0,"histogram":[[8388608,34],[16777216,0],[33554432,900],[67108864,900]]}"#]]
        .assert_eq(&json["groups"][0].to_string());
        assert!(json["groups"][1]["client"].is_null());
    }

    #[test]
    fn csv_has_a_column_per_key() {
        let mut out = Vec::new();
        ops_csv(&samples::ops(), &["op", "client"], &mut out).expect("memory");
        expect![[r#"
            protocol,op,client,count,total_ns,mean_ns,min_ns,p50_ns,p90_ns,p95_ns,p99_ns,p999_ns,max_ns,errors,retransmits,request_bytes,response_bytes,no_response,no_request,incomplete
            nfs3,READ,10.0.0.1,1834,60870460000,33190000,4100000,33130000,35000000,36000000,36650000,37000000,41000000,3,1,330120,120258048,2,1,0
            nfs3,GETATTR,,20,4000000,200000,100000,190000,300000,310000,320000,320000,320000,0,0,2400,4800,0,0,0
        "#]]
        .assert_eq(&String::from_utf8(out).expect("UTF-8"));
    }
}
