//! Groups of calls: the columns of `slowside ops`, and its formats for programs, `slowside.ops/1` and rows.

use crate::harmless::harmless;
use crate::page::Tone;
use crate::table::rows::{TakeRows, hand_over, integer, json_list};
use crate::table::times::{Timed, times};
use crate::table::{Cell, Column, ColumnKind, Get, Table, columns, order};
use crate::text::{grouped, moment, share};
use crate::tiers::how_long;
use crate::value;
use analysis::results::{GroupResult, KeyValue, OpsResult};
use analysis::stats::Summary;
use jiff::tz::TimeZone;
use model::Time;
use serde_json::Value;
use std::io::{self, Write};

/// The rows of `slowside ops`.
pub(crate) struct Ops;

impl Table for Ops {
    type Row<'a> = GroupRow<'a>;
}

impl Timed for Ops {
    fn times<'a>(row: &'a GroupRow<'a>) -> &'a Summary {
        &row.group.stats
    }
}

#[derive(Clone, Copy)]
pub(crate) struct GroupRow<'a> {
    pub(crate) group: &'a GroupResult,
    /// Response time of all groups together.
    total_ns: i64,
    /// Whether the groups are of several protocols.
    several: bool,
    zone: &'a TimeZone,
}

/// The rows that are listed, with moments in `zone`.
pub(crate) fn rows<'a>(result: &'a OpsResult, zone: &'a TimeZone) -> Vec<GroupRow<'a>> {
    let first = result.groups.first().map(|g| g.protocol);
    let several = result.groups.iter().any(|g| Some(g.protocol) != first);
    let row = |group| GroupRow {
        group,
        total_ns: result.total_ns,
        several,
        zone,
    };
    let rows: Vec<GroupRow<'_>> = result.groups.iter().map(row).collect();
    let places = order::places(&columns(keys(result)), &rows, &result.order);
    order::at(&rows, &places)
}

/// The columns that groups by these keys can be sorted by.
#[must_use]
pub fn ops_sortable(keys: &[&str]) -> Vec<String> {
    order::sortable(&columns(keys.iter().copied()))
}

type C = Column<Ops>;

const SUBJECT: [C; 4] = [
    C::new(
        "protocol",
        ColumnKind::Text,
        "what it carries: nfs3, nfs4.1, tns, pgsql, mysql, tcp, …",
        |r| r.group.protocol.name().into(),
    ),
    C::new(
        "op",
        ColumnKind::Text,
        "the operation; null where groups are not by operation",
        |r| r.group.op.as_deref().into(),
    )
    .or_null(),
    C::people("op", ColumnKind::Text, |r| match &r.group.op {
        Some(op) if r.several => format!("{} {op}", r.group.protocol).into(),
        op => op.as_deref().into(),
    })
    .only_if(|r| r.group.op.is_some()),
    C::people("protocol", ColumnKind::Text, |r| {
        r.group.protocol.name().into()
    })
    .only_if(|r| r.group.op.is_none()),
];

/// The other grouping keys, of which there are those that were asked for.
const KEYS: [C; 7] = [
    key(
        "step",
        ColumnKind::Text,
        "of a logon in several calls, which, with --by step",
    ),
    key(
        "client",
        ColumnKind::Text,
        "address of who asked, with --by client",
    ),
    key(
        "server",
        ColumnKind::Text,
        "address of who answered, with --by server",
    ),
    key(
        "connection",
        ColumnKind::Text,
        "both ends, address:port, with --by connection",
    ),
    key(
        "file",
        ColumnKind::Text,
        "hash of the file handle, 16 hexadecimal digits, with --by file",
    ),
    key(
        "size",
        ColumnKind::Integer,
        "bytes asked for, rounded up to a power of two, with --by size",
    ),
    key(
        "time",
        ColumnKind::Time,
        "start of the interval, ns since the epoch, with --by time=…",
    ),
];

const fn key(name: &'static str, kind: ColumnKind, help: &'static str) -> C {
    C::of(name, kind, help, |r, c| {
        r.key(c.name).map_or(Cell::Unknown, key_cell)
    })
    .or_null()
    .optional()
    .shown(name)
    .seen_as(Get::Of(|r, c| {
        r.key(c.name).map(|k| key_text(c.name, k, r.zone)).into()
    }))
}

/// What people see before the times; programs have it elsewhere.
const NOTED: [C; 2] = [
    C::people("err", ColumnKind::Text, |r| noted(r.group.errors).into())
        .needed_if(|r| r.group.errors > 0),
    C::people("rexmit", ColumnKind::Text, |r| {
        noted(r.group.retransmits).into()
    })
    .needed_if(|r| r.group.retransmits > 0),
];

const SUMS: &[C] = &columns! {
    "errors" Count "calls that the server answered with an error" |r| r.group.errors;
    "retransmits" Count "requests that were sent again" |r| r.group.retransmits;
    "request_bytes" Bytes "bytes of requests" |r| r.group.request_bytes;
    "response_bytes" Bytes "bytes of responses" |r| r.group.response_bytes;
    "no_response" Count "calls without a response: not timed" |r| r.group.no_response;
    "no_request" Count "responses without a request: not timed" |r| r.group.no_request;
    "incomplete" Count "calls that the capture cut: not timed" |r| r.group.incomplete;
};

/// The names of files, at the end of rows by file; people see them beside the file, where there are any.
const PATH: C = C::new(
    "path",
    ColumnKind::Text,
    "path of the file as far as packets name it, with --by file",
    |r| r.group.path.as_deref().into(),
)
.or_null()
.optional();
const PATH_SEEN: C = C::people("path", ColumnKind::Text, |r| {
    r.group
        .path
        .as_deref()
        .map_or_else(|| "-".to_owned(), harmless)
        .into()
})
.needed_if(|r| r.group.path.is_some());

const HISTOGRAM: C = C::json(
    "histogram",
    "array",
    "durations by powers of two",
    histogram,
)
.only_json();

/// What lies beneath a server, at the end of rows; people see it beside the times, where there is any.
const BENEATH: [C; 2] = columns! {
    "beneath_lo_mean_ns" Duration "mean time for which calls of the server's own were under way while it worked on one alone, whatever they were for"
        |r| r.group.beneath.map(|b| b.lo_ns) => or_null;
    "beneath_hi_mean_ns" Duration "the same, also while it worked on others; both are null where a server makes no calls of its own"
        |r| r.group.beneath.map(|b| b.hi_ns) => or_null;
};
const BENEATH_SEEN: C = C::people("own calls", ColumnKind::Text, |r| {
    let ns = r.group.beneath.and_then(how_long);
    ns.map_or_else(
        || "-".to_owned(),
        |ns| ns.replace(" to ", "-").replace(' ', ""),
    )
    .into()
})
.only_if(|r| r.group.beneath.is_some_and(|b| b.hi_ns > 0));

/// All columns, with these grouping keys.
pub(crate) fn columns<'a>(keys: impl IntoIterator<Item = &'a str>) -> Vec<C> {
    let keys = keys.into_iter();
    let keys: Vec<C> = keys
        .filter_map(|name| KEYS.iter().find(|k| k.name == name).cloned())
        .collect();
    let by_file = keys.iter().any(|k| k.name == "file");
    let share = C::people("share", ColumnKind::Text, |r| {
        share(r.group.stats.total_ns, r.total_ns).into()
    });
    let [count, times @ ..] = times();
    let mut columns = SUBJECT.to_vec();
    columns.extend(keys);
    columns.extend(by_file.then_some(PATH_SEEN));
    columns.extend([share, count]);
    columns.extend(NOTED);
    columns.extend(times);
    columns.push(BENEATH_SEEN);
    columns.push(C::people("bytes", ColumnKind::Bytes, |r| {
        (r.group.request_bytes + r.group.response_bytes).into()
    }));
    columns.extend(SUMS);
    columns.extend(by_file.then_some(PATH));
    columns.push(HISTOGRAM);
    columns.extend(BENEATH);
    columns
}

impl GroupRow<'_> {
    fn key(&self, name: &str) -> Option<&KeyValue> {
        let mut keys = self.group.keys.iter();
        keys.find(|(key, _)| *key == name).map(|(_, value)| value)
    }
}

pub(crate) fn key_cell(value: &KeyValue) -> Cell<'_> {
    match value {
        KeyValue::Text(text) => (&**text).into(),
        KeyValue::Address(address) => address.to_string().into(),
        KeyValue::Connection(client, server) => format!("{client} > {server}").into(),
        KeyValue::Number(n) => (*n).into(),
        KeyValue::File(handle) => value::file(*handle).into(),
        KeyValue::Unknown => Cell::Unknown,
    }
}

/// A grouping key as people read it.
pub(crate) fn key_text(name: &str, value: &KeyValue, zone: &TimeZone) -> String {
    match value {
        KeyValue::Text(text) => text.to_string(),
        KeyValue::Address(address) => address.to_string(),
        KeyValue::Connection(client, server) => format!("{client} > {server}"),
        KeyValue::Number(n) if name == "time" => moment(Time(*n), zone),
        KeyValue::Number(n) if name == "size" => match u64::try_from(*n) {
            Ok(n) if n >= 1 << 20 => format!("{}MiB", n >> 20),
            Ok(n) if n >= 1 << 10 => format!("{}KiB", n >> 10),
            _ => format!("{n}B"),
        },
        KeyValue::Number(n) => n.to_string(),
        KeyValue::File(handle) => value::file(*handle),
        KeyValue::Unknown => "-".to_owned(),
    }
}

/// A count of what should not be.
fn noted(n: u64) -> String {
    let text = grouped(n);
    if n == 0 {
        return text;
    }
    Tone::Notable.paint(&text)
}

fn histogram(row: &GroupRow<'_>, out: &mut Vec<u8>) {
    out.push(b'[');
    for (i, (upper, n)) in row.group.histogram.iter().enumerate() {
        out.extend_from_slice(if i == 0 { b"[" } else { b",[" });
        integer(*upper, out);
        out.push(b',');
        integer(*n, out);
        out.push(b']');
    }
    out.push(b']');
}

/// The names of the grouping keys that there are.
pub(crate) fn keys(result: &OpsResult) -> impl Iterator<Item = &'static str> {
    let first = result.groups.first().into_iter();
    first.flat_map(|g| &g.keys).map(|(name, _)| *name)
}

/// Writes `slowside.ops/1`.
///
/// # Errors
/// Those of `out`.
pub fn ops_json(result: &OpsResult, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(b"{\"schema\":\"slowside.ops/1\",\"groups\":")?;
    groups_json(result, out)?;
    write!(out, ",\"total_ns\":{},\"captures\":", result.total_ns)?;
    let captures: Vec<Value> = result.captures.iter().map(value::capture).collect();
    value::write(out, &captures.into())?;
    out.write_all(b"}\n")
}

fn groups_json(result: &OpsResult, out: &mut dyn Write) -> io::Result<()> {
    json_list(&columns(keys(result)), &rows(result, &TimeZone::UTC), out)
}

/// The groups for another output.
pub(crate) fn groups(result: &OpsResult) -> Value {
    let mut list = Vec::new();
    // Neither writing to memory nor reading what was written fails.
    drop(groups_json(result, &mut list));
    serde_json::from_slice(&list).unwrap_or_default()
}

/// Hands over a row per group; `keys` are those that groups are by.
///
/// # Errors
/// Those of `to`.
pub fn ops_rows(result: &OpsResult, keys: &[&str], to: &mut dyn TakeRows) -> io::Result<()> {
    let columns = columns(keys.iter().copied());
    hand_over(&columns, &rows(result, &TimeZone::UTC), to)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;
    use crate::table::schema;
    use expect_test::expect;

    #[test]
    fn the_schemas_describe_the_columns() {
        let all = columns(KEYS.iter().map(|k| k.name));
        schema::assert_described("slowside.ops.1", "/$defs/group", &all);
        schema::assert_described("slowside.live.1", "/$defs/group", &columns([]));
    }

    #[test]
    fn json_holds_groups_with_keys_stats_and_histogram() {
        let mut out = Vec::new();
        ops_json(&samples::ops(), &mut out).expect("memory");
        let json: Value = serde_json::from_slice(&out).expect("JSON");
        assert_eq!(json["schema"], "slowside.ops/1");
        assert_eq!(json["groups"].as_array().map(Vec::len), Some(2));
        expect![[r#"{"protocol":"nfs3","op":"READ","client":"10.0.0.1","count":1834,"total_ns":60870460000,"mean_ns":33190000,"min_ns":4100000,"p50_ns":33130000,"p90_ns":35000000,"p95_ns":36000000,"p99_ns":36650000,"p999_ns":37000000,"max_ns":41000000,"exact":true,"errors":3,"retransmits":1,"request_bytes":330120,"response_bytes":120258048,"no_response":2,"no_request":1,"incomplete":0,"histogram":[[8388608,34],[16777216,0],[33554432,900],[67108864,900]],"beneath_lo_mean_ns":null,"beneath_hi_mean_ns":null}"#]]
        .assert_eq(&json["groups"][0].to_string());
        assert!(json["groups"][1]["client"].is_null());
    }

    #[test]
    fn csv_has_a_column_per_key() {
        let mut out = Vec::new();
        ops_rows(
            &samples::ops(),
            &["op", "client"],
            &mut samples::Csv(&mut out),
        )
        .expect("memory");
        expect![[r#"
            protocol,op,client,count,total_ns,mean_ns,min_ns,p50_ns,p90_ns,p95_ns,p99_ns,p999_ns,max_ns,errors,retransmits,request_bytes,response_bytes,no_response,no_request,incomplete,beneath_lo_mean_ns,beneath_hi_mean_ns
            nfs3,READ,10.0.0.1,1834,60870460000,33190000,4100000,33130000,35000000,36000000,36650000,37000000,41000000,3,1,330120,120258048,2,1,0,,
            nfs3,GETATTR,,20,4000000,200000,100000,190000,300000,310000,320000,320000,320000,0,0,2400,4800,0,0,0,,
        "#]]
        .assert_eq(&String::from_utf8(out).expect("UTF-8"));
    }
}
