//! The profile of statements for programs: `slowside.sql/1` and its statements as CSV.

use crate::table::rows::csv_field;
use crate::value;
use analysis::results::KeyValue;
use analysis::sql::{SessionResult, SqlResult, StatementResult, Totals};
use model::Found;
use serde_json::{Map, Value, json};
use std::io::{self, Write};

/// Writes `slowside.sql/1`, a statement per line. `literals`: statements also as they were sent.
///
/// # Errors
/// Those of `out`.
pub fn sql_json(result: &SqlResult, literals: bool, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(b"{\"schema\":\"slowside.sql/1\",\"totals\":")?;
    value::write(out, &totals(&result.totals))?;
    out.write_all(b",\"statements\":[")?;
    for (i, s) in result.statements.iter().enumerate() {
        out.write_all(if i == 0 { b"\n" } else { b",\n" })?;
        value::write(out, &statement(i + 1, s, result, literals))?;
    }
    out.write_all(b"\n],\"sessions\":[")?;
    for (i, s) in result.sessions.iter().enumerate() {
        out.write_all(if i == 0 { b"\n" } else { b",\n" })?;
        value::write(out, &session(s))?;
    }
    out.write_all(b"\n],\"hidden\":")?;
    let hidden: Map<String, Value> = result
        .hidden
        .iter()
        .map(|(why, sessions)| (why.name().to_owned(), (*sessions).into()))
        .collect();
    value::write(out, &hidden.into())?;
    out.write_all(b",\"notes\":")?;
    value::write(out, &json!(result.notes))?;
    out.write_all(b",\"captures\":")?;
    let captures: Vec<Value> = result.captures.iter().map(value::capture).collect();
    value::write(out, &captures.into())?;
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
    })
}

fn key(value: &KeyValue) -> Value {
    match value {
        KeyValue::Text(text) => (&**text).into(),
        KeyValue::Number(n) => (*n).into(),
        KeyValue::File(handle) => value::file(*handle).into(),
        KeyValue::Unknown => Value::Null,
    }
}

/// The name of a statement in output.
pub(crate) fn id(s: &StatementResult) -> Option<String> {
    s.statement.as_ref().map(|s| format!("{:016x}", s.id))
}

fn statement(rank: usize, s: &StatementResult, result: &SqlResult, literals: bool) -> Value {
    let mut object = Map::new();
    let mut put = |name: &str, value: Value| object.insert(name.to_owned(), value);
    put("rank", rank.into());
    put("protocol", s.protocol.name().into());
    put("statement", id(s).into());
    put("sql", s.statement.as_ref().map(|s| &*s.normal).into());
    if literals {
        put("text", s.statement.as_ref().map(|s| &*s.text).into());
    }
    put("op", s.op.as_deref().into());
    for (name, value) in &s.keys {
        put(name, key(value));
    }
    value::add_stats(&mut object, &s.times);
    let mut put = |name: &str, value: Value| object.insert(name.to_owned(), value);
    for (name, n) in counts(s) {
        put(name, n.into());
    }
    put("rows_per_fetch", s.rows_per_fetch().into());
    for (name, ns) in parts(s) {
        put(name, ns.into());
    }
    let flags = s.statement.as_ref();
    put("truncated", flags.is_some_and(|s| s.truncated).into());
    let scanned = flags.is_some_and(|s| s.found == Found::Scanned);
    put("scanned", scanned.into());
    put("worst", worst(s, result));
    Value::Object(object)
}

fn worst(s: &StatementResult, result: &SqlResult) -> Value {
    let Some(w) = &s.worst else {
        return Value::Null;
    };
    let files = result.captures.first().map(|c| c.files.as_slice());
    let file = |p: model::PacketRef| files.and_then(|f| f.get(usize::from(p.file)));
    json!({
        "response_time_ns": w.response_time_ns,
        "first_ns": w.first.0,
        "file": file(w.request),
        "frames": [w.request.frame, w.response.frame],
        "filter": filter(s),
    })
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

fn counts(s: &StatementResult) -> [(&'static str, u64); 13] {
    [
        ("calls", s.calls),
        ("executions", s.executions),
        ("fetches", s.fetches),
        ("rows", s.rows),
        ("rows_hidden", s.rows_hidden),
        ("rows_asked", s.rows_asked),
        ("affected", s.affected),
        ("errors", s.errors),
        ("incomplete", s.incomplete),
        ("round_trips", s.round_trips),
        ("request_bytes", s.request_bytes),
        ("response_bytes", s.response_bytes),
        ("full_fetches", s.full_fetches),
    ]
}

fn parts(s: &StatementResult) -> [(&'static str, Option<i64>); 6] {
    [
        ("wait_ns", Some(s.wait_ns())),
        ("server_ns", s.server_ns),
        ("network_ns", s.network_ns),
        ("transfer_ns", Some(s.transfer_ns)),
        ("think_ns", Some(s.think_ns)),
        ("unknown_ns", Some(s.unknown_ns)),
    ]
}

fn session(s: &SessionResult) -> Value {
    let of = &s.session;
    let text = |t: &Option<std::sync::Arc<str>>| Value::from(t.as_deref());
    json!({
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
        "plaintext_password": of.plaintext_password,
        "unproven": of.unproven,
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
    })
}

/// Writes a row per statement: rank, protocol, statement, sql, op, the other keys, `{stats}`, counts
/// and parts.
///
/// # Errors
/// Those of `out`.
pub fn sql_csv(
    result: &SqlResult,
    keys: &[&str],
    literals: bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    let fixed = ["rank", "protocol", "statement", "sql", "op"];
    let (count_names, part_names) = names();
    let mut header: Vec<&str> = fixed.to_vec();
    header.extend(keys);
    header.extend(value::STATS);
    header.extend(count_names);
    header.push("rows_per_fetch");
    header.extend(part_names);
    writeln!(out, "{}", header.join(","))?;
    let mut row = Vec::new();
    for (i, s) in result.statements.iter().enumerate() {
        row.clear();
        write!(row, "{},{},", i + 1, s.protocol)?;
        row.extend_from_slice(id(s).unwrap_or_default().as_bytes());
        let text = s.statement.as_ref().map(|s| match literals {
            true => &*s.text,
            false => &*s.normal,
        });
        for field in [text, s.op.as_deref()] {
            row.push(b',');
            csv_field(field.unwrap_or_default().as_bytes(), &mut row);
        }
        for (_, value) in &s.keys {
            row.push(b',');
            if let KeyValue::Text(text) = value {
                csv_field(text.as_bytes(), &mut row);
            }
        }
        let stats = value::stats_values(&s.times);
        let counts = counts(s).map(|(_, n)| i64::try_from(n).ok());
        for v in stats.into_iter().chain(counts) {
            number(v, &mut row)?;
        }
        row.push(b',');
        if let Some(rows) = s.rows_per_fetch() {
            write!(row, "{rows:.3}")?;
        }
        for (_, v) in parts(s) {
            number(v, &mut row)?;
        }
        row.push(b'\n');
        out.write_all(&row)?;
    }
    Ok(())
}

fn number(value: Option<i64>, row: &mut Vec<u8>) -> io::Result<()> {
    row.push(b',');
    match value {
        Some(v) => write!(row, "{v}"),
        None => Ok(()),
    }
}

/// The columns of [`counts`] and [`parts`].
fn names() -> ([&'static str; 13], [&'static str; 6]) {
    (
        [
            "calls",
            "executions",
            "fetches",
            "rows",
            "rows_hidden",
            "rows_asked",
            "affected",
            "errors",
            "incomplete",
            "round_trips",
            "request_bytes",
            "response_bytes",
            "full_fetches",
        ],
        [
            "wait_ns",
            "server_ns",
            "network_ns",
            "transfer_ns",
            "think_ns",
            "unknown_ns",
        ],
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;
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
            each: rows of a call that brings rows

            Slowest call: 29.0 ms, frames 10 and 13
               tshark -r client.pcap -Y 'frame.number in {10,13}'

            Sessions
            10.0.0.1:700 → [fe80::1]:2049 tns: 3 round trips, 540 B sent, 197 kB received,
               87.0 ms in calls
               user scott, database orcl, SDU 8,192 B
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
        let mut out = Vec::new();
        sql_csv(&samples::profile(), &[], false, &mut out).expect("memory");
        let text = String::from_utf8(out).expect("UTF-8");
        expect![[r#"
            rank,protocol,statement,sql,op,count,total_ns,mean_ns,min_ns,p50_ns,p90_ns,p95_ns,p99_ns,p999_ns,max_ns,calls,executions,fetches,rows,rows_hidden,rows_asked,affected,errors,incomplete,round_trips,request_bytes,response_bytes,full_fetches,rows_per_fetch,wait_ns,server_ns,network_ns,transfer_ns,think_ns,unknown_ns
            1,tns,445299c112c75ebf,select * from t where name = ?,,2,58000000,29000000,29000000,29000000,29000000,29000000,29000000,29000000,29000000,2,1,1,101,0,0,0,0,0,2,360,131400,0,50.500,48000000,40000000,8000000,10000000,1000000,0
            2,tns,,,COMMIT,1,29000000,29000000,29000000,29000000,29000000,29000000,29000000,29000000,29000000,1,1,0,0,0,0,0,0,0,1,180,65700,0,,24000000,20000000,4000000,5000000,0,0
        "#]].assert_eq(&text);
        let mut lines = text.lines().map(|l| l.split(',').count());
        let header = lines.next();
        // No field of the sample holds a comma.
        assert!(lines.all(|n| Some(n) == header), "{text}");
    }
}
