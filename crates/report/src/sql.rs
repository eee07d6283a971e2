//! The profile of statements: its columns, and its formats for programs, `slowside.sql/1` and rows.

use crate::followed;
use crate::harmless::write_json;
use crate::ops::key_cell;
use crate::packets;
use crate::sql_text::{self, rows_each, rows_of};
use crate::table::rows::{TakeRows, hand_over, json_list};
use crate::table::times::{Timed, times};
use crate::table::{Cell, Column, ColumnKind, Get, Table, columns, order};
use crate::text::share;
use crate::value;
use analysis::sql::{LogonsResult, SessionResult, SqlResult, StatementResult, Totals};
use analysis::stats::Summary;
use model::{Found, Outcome};
use serde_json::{Map, Value, json};
use std::io::{self, Write};

/// The rows of `slowside sql`.
pub(crate) struct Statements;

impl Table for Statements {
    type Row<'a> = StatementRow<'a>;
}

impl Timed for Statements {
    fn times<'a>(row: &'a StatementRow<'a>) -> &'a Summary {
        &row.s.times
    }
}

#[derive(Clone, Copy)]
pub(crate) struct StatementRow<'a> {
    pub(crate) s: &'a StatementResult,
    result: &'a SqlResult,
    /// Its place by time, from 1.
    rank: i64,
    /// Whether the server's part is known of any, and the network's.
    divided: bool,
    network: bool,
}

/// The rows that are listed.
pub(crate) fn rows(result: &SqlResult) -> Vec<StatementRow<'_>> {
    let divided = result.statements.iter().any(|s| s.server_ns.is_some());
    let network = result.statements.iter().any(|s| s.network_ns.is_some());
    let row = |(s, rank)| StatementRow {
        s,
        result,
        rank,
        divided,
        network,
    };
    let rows: Vec<StatementRow<'_>> = result.statements.iter().zip(1..).map(row).collect();
    let places = order::places(&columns(&keys(result), false), &rows, &result.order);
    order::at(&rows, &places)
}

/// The grouping keys that there are.
fn keys(result: &SqlResult) -> Vec<&'static str> {
    let first = result.statements.first().into_iter();
    first.flat_map(|s| &s.keys).map(|(name, _)| *name).collect()
}

/// The columns that statements by these keys can be sorted by.
#[must_use]
pub fn sql_sortable(keys: &[&str]) -> Vec<String> {
    order::sortable(&columns(keys, false))
}

type C = Column<Statements>;

/// What `--show-literals` adds.
const TEXT: C = C::new(
    "text",
    ColumnKind::Text,
    "as it was first sent, with --show-literals",
    |r| r.s.statement.as_ref().map(|s| &*s.text).into(),
)
.or_null();

const SQL: C = C::new(
    "sql",
    ColumnKind::Text,
    "its normal form, without literals",
    |r| r.s.statement.as_ref().map(|s| &*s.normal).into(),
)
.or_null();

/// The other grouping keys, of which there are those that were asked for.
const KEYS: [C; 5] = [
    key("client", "address, with --by client"),
    key("program", "the client's program, with --by program"),
    key("user", "with --by user"),
    key("service", "service or database, with --by service"),
    key("connection", "both ends, with --by connection"),
];

const fn key(name: &'static str, help: &'static str) -> C {
    C::of(name, ColumnKind::Text, help, |r, c| {
        let mut keys = r.s.keys.iter();
        let key = keys.find(|(key, _)| *key == c.name);
        key.map_or(Cell::Unknown, |(_, value)| key_cell(value))
    })
    .or_null()
    .optional()
}

const COUNTS: &[C] = &columns! {
    "calls" Count "calls, timed or not" |r| r.s.calls;
    "executions" Count "executions" |r| r.s.executions;
    "fetches" Count "calls that only fetched" |r| r.s.fetches;
    "rows" Count "rows that came back"
        |r| r.s.rows => shown("rows") seen_as(Get::Cell(|r| rows_of(r.s).into()));
    "rows_hidden" Count "rows at most in what was not captured" |r| r.s.rows_hidden;
    "rows_asked" Count "rows asked for a fetch, the most" |r| r.s.rows_asked;
    "affected" Count "rows inserted, changed or deleted" |r| r.s.affected;
    "errors" Count "calls that failed" |r| r.s.errors;
    "incomplete" Count "calls that could not be timed" |r| r.s.incomplete;
    "round_trips" Count "round trips" |r| r.s.round_trips;
    "request_bytes" Bytes "bytes of requests" |r| r.s.request_bytes;
    "response_bytes" Bytes "bytes of responses" |r| r.s.response_bytes;
    "full_fetches" Count "fetches that brought as many rows as were asked for" |r| r.s.full_fetches;
};

const PER_FETCH: [C; 2] = [
    C::new(
        "rows_per_fetch",
        ColumnKind::Number,
        "rows for each call that brought rows",
        |r| r.s.rows_per_fetch().into(),
    )
    .or_null()
    .only_json(),
    C::new("rows_per_fetch", ColumnKind::Number, "", |r| {
        r.s.rows_per_fetch().map(|rows| format!("{rows:.3}")).into()
    })
    .only_csv()
    .shown("each")
    .seen_as(Get::Cell(|r| {
        let each = r.s.rows_per_fetch().filter(|_| r.s.rows_hidden == 0);
        each.map(rows_each).into()
    })),
];

const PARTS: &[C] = &columns! {
    "wait_ns" Duration "from the last byte of requests to the first of responses, and inside calls from what the client confirmed until the server went on"
        |r| r.s.wait_ns() => shown("wait") only_if(|r| !r.divided);
    "server_ns" Duration "of it the server's; null where that is not known"
        |r| r.s.server_ns => or_null shown("server") only_if(|r| r.divided);
    "network_ns" Duration "of it the network's"
        |r| r.s.network_ns => or_null shown("network") only_if(|r| r.network);
    "transfer_ns" Duration "bytes of requests and responses passing"
        |r| r.s.transfer_ns => shown("transfer");
    "think_ns" Duration "what the client took before it asked for more"
        |r| r.s.think_ns => shown("think");
    "unknown_ns" Duration "of the waits, what is the server's or the network's, nobody knows whose, ns; with the known ones of server_ns and network_ns and with transfer_ns and client_ns it makes the response time"
        |r| r.s.unknown_ns;
};

const REST: [C; 6] = [
    C::json(
        "error_codes",
        "array",
        "errors by code, the most frequent first: code, count",
        error_codes,
    )
    .only_json(),
    C::new("error_codes", ColumnKind::Text, "", |r| {
        sql_text::codes(&r.s.codes).into()
    })
    .only_csv(),
    C::new(
        "truncated",
        ColumnKind::Flag,
        "whether the statement's end was not captured",
        |r| r.s.statement.as_ref().is_some_and(|s| s.truncated).into(),
    )
    .only_json(),
    C::new(
        "scanned",
        ColumnKind::Flag,
        "whether it was found by looking for SQL, not by the protocol's layout",
        |r| {
            let found = r.s.statement.as_ref().map(|s| s.found);
            (found == Some(Found::Scanned)).into()
        },
    )
    .only_json(),
    C::json("worst", "object", "the slowest call", worst)
        .or_null()
        .only_json(),
    C::new(
        "client_ns",
        ColumnKind::Duration,
        "inside calls, from what the server asked the client to confirm (a break) to the confirmation",
        |r| r.s.client_ns.into(),
    ),
];

/// All columns, with these grouping keys.
pub(crate) fn columns(keys: &[&str], literals: bool) -> Vec<C> {
    let mut columns =
        vec![
        C::new("rank", ColumnKind::Integer, "place by time, from 1", |r| {
            r.rank.into()
        })
        .shown("#"),
        C::new("protocol", ColumnKind::Text, "what the session speaks", |r| {
            r.s.protocol.name().into()
        }),
        C::new(
            "statement",
            ColumnKind::Text,
            "hash of its normal form, 16 hexadecimal digits; null for calls without a statement",
            |r| id(r.s).into(),
        )
        .or_null(),
    ];
    columns.extend(match literals {
        // In CSV one takes the place of the other.
        true => vec![
            SQL.only_json(),
            TEXT.only_json().optional(),
            C {
                name: "sql",
                ..TEXT
            }
            .only_csv(),
        ],
        false => vec![SQL],
    });
    columns.push(
        C::new(
            "op",
            ColumnKind::Text,
            "what the calls are, where they have no statement",
            |r| r.s.op.as_deref().into(),
        )
        .or_null(),
    );
    let keys = keys.iter();
    columns.extend(keys.filter_map(|name| KEYS.iter().find(|k| k.name == *name)));
    columns.extend([
        C::people("share", ColumnKind::Text, |r| {
            share(r.s.times.total_ns, r.result.totals.response_time_ns).into()
        }),
        C::people("calls", ColumnKind::Count, |r| r.s.calls.into()),
        C::people("mean", ColumnKind::Duration, |r| r.s.times.mean_ns.into()),
    ]);
    let times = times::<Statements>();
    columns.extend(times.map(|c| if c.name == "p99_ns" { c } else { c.hidden() }));
    columns.extend(COUNTS);
    columns.extend(PER_FETCH);
    columns.extend(PARTS);
    columns.extend(REST);
    columns
}

fn codes(codes: &[(Outcome, u64)]) -> Value {
    let codes = codes.iter();
    codes
        .map(|(code, n)| json!({"code": code.name(), "count": n}))
        .collect()
}

fn error_codes(r: &StatementRow<'_>, out: &mut Vec<u8>) {
    // Writing to memory cannot fail.
    drop(write_json(out, &codes(&r.s.codes)));
}

fn worst(r: &StatementRow<'_>, out: &mut Vec<u8>) {
    let files = r.result.captures.first().map(|c| c.files.as_slice());
    let file = |p: model::PacketRef| files.and_then(|f| f.get(usize::from(p.file)));
    let worst = r.s.worst.map(|w| {
        json!({
            "response_time_ns": w.response_time_ns,
            "first_ns": w.first.0,
            "file": file(w.request),
            "frames": [w.request.frame, w.response.frame],
            "filter": filter(r.s),
        })
    });
    // Writing to memory cannot fail.
    drop(write_json(out, &worst));
}

/// Writes `slowside.sql/1`, a statement per line. `literals`: statements also as they were sent.
///
/// # Errors
/// Those of `out`.
pub fn sql_json(result: &SqlResult, literals: bool, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(b"{\"schema\":\"slowside.sql/1\",\"totals\":")?;
    value::write(out, &totals(&result.totals))?;
    out.write_all(b",\"statements\":")?;
    json_list(&columns(&keys(result), literals), &rows(result), out)?;
    out.write_all(b",\"sessions\":[")?;
    for (i, s) in result.sessions.iter().enumerate() {
        out.write_all(if i == 0 { b"\n" } else { b",\n" })?;
        value::write(out, &session(s))?;
    }
    out.write_all(b"\n],\"logons\":")?;
    let logons: Vec<Value> = result.logons.iter().map(logons).collect();
    value::write(out, &logons.into())?;
    out.write_all(b",\"hidden\":")?;
    let hidden: Map<String, Value> = result
        .hidden
        .iter()
        .map(|(why, sessions)| (why.name().to_owned(), (*sessions).into()))
        .collect();
    value::write(out, &hidden.into())?;
    out.write_all(b",\"notes\":")?;
    value::write(out, &json!(value::texts(&result.notes)))?;
    out.write_all(b",\"captures\":")?;
    let captures: Vec<Value> = result.captures.iter().map(value::capture).collect();
    value::write(out, &captures.into())?;
    if result.followed.is_some() {
        out.write_all(b",\"followed\":")?;
        json_list(followed::COLUMNS, &followed::rows(result), out)?;
    }
    if let Some(list) = &result.packets {
        packets::json(list, &packets::of_session(result), out)?;
    }
    out.write_all(b"}\n")
}

fn totals(t: &Totals) -> Value {
    json!({
        "calls": t.calls,
        "executions": t.executions,
        "fetches": t.fetches,
        "rows": t.rows,
        "errors": t.errors,
        "round_trips": t.round_trips,
        "request_bytes": t.request_bytes,
        "response_bytes": t.response_bytes,
        "response_time_ns": t.response_time_ns,
        "server_ns": t.server_ns,
        "network_ns": t.network_ns,
        "unknown_ns": t.unknown_ns,
        "transfer_ns": t.transfer_ns,
        "think_ns": t.think_ns,
        "elapsed_ns": t.elapsed_ns,
        "client_ns": t.client_ns,
    })
}

/// The name of a statement in output.
pub(crate) fn id(s: &StatementResult) -> Option<String> {
    s.statement.as_ref().map(|s| format!("{:016x}", s.id))
}

/// A Wireshark filter for the worst call's packets, in the file of its request.
pub(crate) fn filter(s: &StatementResult) -> Option<String> {
    let w = s.worst?;
    let (a, b) = (w.request, w.response);
    Some(if a.file != b.file || a.frame == b.frame {
        format!("frame.number=={}", a.frame)
    } else {
        format!("frame.number in {{{},{}}}", a.frame, b.frame)
    })
}

fn logons(l: &LogonsResult) -> Value {
    let failures = l
        .failures
        .iter()
        .map(|f| json!({"code": f.code.name(), "user": f.user.as_deref(), "count": f.count}));
    json!({
        "protocol": l.protocol.name(),
        "client": l.client.to_string(),
        "server": l.server.to_string(),
        "succeeded": l.succeeded,
        "failed": l.failed,
        "failed_ns": l.failed_ns,
        "burst": l.burst,
        "first_ns": value::time(l.first),
        "last_ns": value::time(l.last),
        "codes": codes(&l.codes()),
        "failures": failures.collect::<Vec<Value>>(),
    })
}

fn session(s: &SessionResult) -> Value {
    let of = &s.session;
    let text = |t: &Option<std::sync::Arc<str>>| Value::from(t.as_deref());
    let who = json!({
        "protocol": s.protocol.name(),
        "client": s.client.to_string(),
        "server": s.server.to_string(),
        "user": text(&of.user),
        "database": text(&of.database),
        "program": text(&of.program),
        "client_host": text(&of.client_host),
        "client_user": text(&of.client_user),
        "server_version": text(&of.server_version),
        "sdu_bytes": of.sdu_bytes,
        "tdu_bytes": of.tdu_bytes,
        "sdu_offered_bytes": of.sdu_offered_bytes,
        "tdu_offered_bytes": of.tdu_offered_bytes,
        "hidden": of.hidden.map(|h| h.name()),
        "purpose": of.purpose.map(|p| p.name()),
        "cipher": of.cipher,
        "checksum": of.checksum,
        "plaintext_password": of.plaintext_password,
        "unproven": of.unproven,
        "big_endian": of.big_endian,
    });
    let took = json!({
        "first_ns": value::time(s.first),
        "last_ns": value::time(s.last),
        "calls": s.calls,
        "round_trips": s.round_trips,
        "sent_bytes": s.sent_bytes,
        "received_bytes": s.received_bytes,
        "largest_response_bytes": s.largest_response_bytes,
        "rows": s.rows,
        "errors": s.errors,
        "response_time_ns": s.response_time_ns,
        "think_ns": s.think_ns,
        "tcp_ns": s.tcp_ns,
        "tls_ns": s.tls_ns,
        "connect_ns": s.connect_ns,
        "negotiate_ns": s.negotiate_ns,
        "logon_ns": s.logon_ns,
        "number": s.number,
        "span_ns": s.span_ns(),
        "before_ns": s.before_ns,
        "work_ns": s.work_ns(),
        "untold_ns": s.untold_ns(),
        "logons": s.logons,
        "failed_logons": s.failed_logons,
        "largest_packet_bytes": s.largest_packet_bytes,
        "overlap_ns": s.overlap_ns,
    });
    let [who, took] = [who, took].map(|part| part.as_object().cloned().unwrap_or_default());
    who.into_iter().chain(took).collect()
}

/// Hands over a row per statement; `keys` are those that they are by, beside the statement.
///
/// # Errors
/// Those of `to`.
pub fn sql_rows(
    result: &SqlResult,
    keys: &[&str],
    literals: bool,
    to: &mut dyn TakeRows,
) -> io::Result<()> {
    hand_over(&columns(keys, literals), &rows(result), to)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;
    use crate::table::schema;
    use crate::{SqlStyle, sql_text};
    use expect_test::expect;

    fn text(literals: bool) -> String {
        let mut out = Vec::new();
        let style = SqlStyle {
            all: false,
            literals,
        };
        sql_text(&samples::profile(), style, &mut out).expect("memory");
        String::from_utf8(out).expect("UTF-8")
    }

    #[test]
    fn the_schema_describes_the_columns() {
        let keys = KEYS.map(|k| k.name);
        schema::assert_described("slowside.sql.1", "/$defs/statement", &columns(&keys, true));
    }

    #[test]
    fn a_page_says_where_the_time_went_and_shows_no_literal() {
        let page = text(false);
        expect![[r#"
            87.0 ms of call time in 3 calls (3 round trips), 1 statement: the server 69%,
            the network 14%, bytes passing 17%. Between calls the client took 2.00 ms.

            #  share  calls    mean  p99  rows  each  server  network  transfer   think
            1    67%      2  29.0ms    -   101  50.5  40.0ms   8.00ms    10.0ms  1.00ms
               select * from t where name = ?
               id 445299c112c75ebf · 1 execution, 1 fetch
            2    33%      1  29.0ms    -     0     -  20.0ms   4.00ms    5.00ms     0ns
               (COMMIT, no statement)
            mean and p99: of one call; each: rows of a call that brings rows; all else: of
            all calls together

            Slowest call: 29.0 ms, frames 10 and 13
               tshark -r client.pcap -Y 'frame.number in {10,13}'

            Sessions
            1. 10.0.0.1:700 → [fe80::1]:2049 tns: 3 round trips, 540 B sent, 197 kB
               received; 89.0 ms: work 87.0 ms, client 2.00 ms
               user scott, database orcl, SDU 8,192 B
            --session N --follow shows one call by call
        "#]]
        .assert_eq(&page);
        assert!(page.lines().all(|l| l.chars().count() <= 80), "{page}");
        assert!(!page.contains("secret"), "{page}");
        assert!(text(true).contains("secret"));
    }

    #[test]
    fn json_has_the_keys_of_the_contract() {
        let mut out = Vec::new();
        sql_json(&samples::profile(), false, &mut out).expect("memory");
        let json: Value = serde_json::from_slice(&out).expect("JSON");
        assert_eq!(json["schema"], "slowside.sql/1");
        let totals = &json["totals"];
        let sum: i64 = ["server_ns", "network_ns", "transfer_ns"]
            .iter()
            .filter_map(|k| totals[k].as_i64())
            .sum();
        assert_eq!(Some(sum), totals["response_time_ns"].as_i64());
        let first = &json["statements"][0];
        assert_eq!(first["sql"], "select * from t where name = ?");
        assert_eq!(first["worst"]["frames"], json!([10, 13]));
        assert!(first.get("text").is_none());
        assert!(!String::from_utf8_lossy(&out).contains("secret"));
    }

    #[test]
    fn rows_of_csv_have_the_columns_of_its_header() {
        let text = samples::written(|out| {
            sql_rows(&samples::profile(), &[], false, &mut samples::Csv(out))
        });
        expect![[r#"
            rank,protocol,statement,sql,op,count,total_ns,mean_ns,min_ns,p50_ns,p90_ns,p95_ns,p99_ns,p999_ns,max_ns,calls,executions,fetches,rows,rows_hidden,rows_asked,affected,errors,incomplete,round_trips,request_bytes,response_bytes,full_fetches,rows_per_fetch,wait_ns,server_ns,network_ns,transfer_ns,think_ns,unknown_ns,error_codes,client_ns
            1,tns,445299c112c75ebf,select * from t where name = ?,,2,58000000,29000000,29000000,29000000,29000000,29000000,29000000,29000000,29000000,2,1,1,101,0,0,0,0,0,2,360,131400,0,50.500,48000000,40000000,8000000,10000000,1000000,0,,0
            2,tns,,,COMMIT,1,29000000,29000000,29000000,29000000,29000000,29000000,29000000,29000000,29000000,1,1,0,0,0,0,0,0,0,1,180,65700,0,,24000000,20000000,4000000,5000000,0,0,,0
        "#]].assert_eq(&text);
        let mut lines = text.lines().map(|l| l.split(',').count());
        let header = lines.next();
        // No field of the sample holds a comma.
        assert!(lines.all(|n| Some(n) == header), "{text}");
    }
}
