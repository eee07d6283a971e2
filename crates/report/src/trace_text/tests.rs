use super::*;
use crate::samples;
use crate::trace::{trace_csv, trace_json};
use analysis::results::Order;
use analysis::trace_profile::Profiler;
use expect_test::expect;
use serde_json::Value;
use std::io::Cursor;

const TRACE: &str = "Oracle Database 19c Enterprise Edition Release 19.0.0.0.0 - Production
PARSING IN CURSOR #7 len=34 dep=0 uid=1 oct=3 lid=1 tim=1000 hv=4 ad='b3' sqlid='9babjv8yq8ru3'
select a from t where b = 'secret'
END OF STMT
PARSE #7:c=20,e=20,p=0,cr=0,cu=0,mis=1,r=0,dep=0,og=1,plh=7,tim=1000
WAIT #7: nam='db file sequential read' ela= 600 file#=4 block#=20 blocks=1 obj#=1 tim=1900
EXEC #7:c=150,e=1000,p=1,cr=2,cu=0,mis=0,r=0,dep=0,og=1,plh=7,tim=2000
WAIT #7: nam='SQL*Net message from client' ela= 3000 driver id=1 #bytes=1 p3=0 obj#=-1 tim=5020
FETCH #7:c=40,e=50,p=0,cr=3,cu=0,mis=0,r=10,dep=0,og=1,plh=7,tim=5100
WAIT #7: nam='SQL*Net message from client' ela= 1000 driver id=1 #bytes=1 p3=0 obj#=-1 tim=6120
XCTEND rlbk=0, rd_only=0, tim=6130
[03-FEB-2014 10:56:17:936] nttrd: socket 17 had bytes read=60
[03-FEB-2014 10:56:17:936] nsprecv: tlen=60, plen=60, type=6
[03-FEB-2014 10:56:17:937] nsconneg: vsn=314, gbl=0xc41, sdu=8192, tdu=65535
[03-FEB-2014 10:56:17:937] nspsend: plen=32, type=6
[03-FEB-2014 10:56:17:948] nttwr: socket 17 had bytes written=32
EXEC #7:c=150,e=10
";

fn sample() -> TraceResult {
    let mut profiler = Profiler::default();
    let file = trace::oracle::read_from("x.trc".to_owned(), Cursor::new(TRACE), None, &mut |r| {
        profiler.record(&r);
    });
    profiler.file(file.expect("a trace"));
    profiler.finish()
}

fn page(style: TraceStyle) -> String {
    samples::written(|out| trace_text(&sample(), &style, out))
}

const PLAIN: TraceStyle = TraceStyle {
    by: None,
    order: Order {
        by: None,
        top: None,
    },
    show_literals: false,
    all: false,
};

#[test]
fn the_answer_comes_first() {
    expect![[r#"
        4.00 ms of 5.07 ms (79%) are waits for the client and the network between calls:
        2 round trips of 2.00 ms on average. The fastest took 1.00 ms; if that is the
        network, it has 2.00 ms of them and the client the rest.

        Where the 5.07 ms went
          SQL*Net message from client  4.00 ms  79%  ███████████████████████▋
          db file sequential read       600 µs  12%  ███▌
          unaccounted                   260 µs   5%  █▌
          CPU                           210 µs   4%  █▎
          70.0 µs more passed between the first and the last record, of which none says
          anything.

        Waits by event
        event                        share   total  waits    mean     p50  p99     max
        SQL*Net message from client    79%  4.00ms      2  2.00ms  1.00ms    -  3.00ms
        db file sequential read        12%   600µs      1   600µs   600µs    -   600µs

        Database calls (own time: without recursive calls; rest: unaccounted)
        call   count  own time     CPU    rest    mean     p50  p99     max  rows
        PARSE      1    20.0µs  20.0µs     0ns  20.0µs  20.0µs    -  20.0µs     0
        EXEC       1    1.00ms   150µs   250µs  1.00ms  1.00ms    -  1.00ms     0
        FETCH      1    50.0µs  40.0µs  10.0µs  50.0µs  50.0µs    -  50.0µs    10
        At most, a call left 250 µs unaccounted (EXEC).
        1 commit.

        Statements, with the waits for the client between their calls
        1  5.07 ms 100% adb0ddec8c309869 sql_id 9babjv8yq8ru3
           select a from t where b = ?
           1 parse (1 hard), 1 execution, 1 fetch of 10.0 rows on average (p50 10, max
           10), 10 rows, 5 blocks read, 1 from disk
           in calls 1.07 ms: CPU 210 µs, waits 600 µs, unaccounted 260 µs; a call mean
           357µs, p50 50.0µs, p99 -, max 1.00ms; 2 round trips of 4.00 ms: mean 2.00ms,
           p50 1.00ms, p99 -, max 3.00ms; waits: db file sequential read 600 µs (1)

        How blocks were read
        reads         waits  blocks  per wait  total   mean    p50  p99    max
        single block      1       1       1.0  600µs  600µs  600µs    -  600µs

        1 SQL*Net message sent and 1 received by this process. Of the time, 12.0 ms in
        it.

        from message to message  count   total    mean     p50  p99     max
        received to sent: here       1  12.0ms  12.0ms  12.0ms    -  12.0ms
        sent to received: away       0     0ns       -       -    -       -
        The trace has whole milliseconds: what is shorter reads 0.

        packets  sent  bytes  received  bytes
        data        1   32 B         1   60 B
        The largest packet sent had 32 bytes (1 packet), the largest received 60 bytes.

        Traces
          x.trc: 17 lines, Oracle Database 19c Enterprise Edition Release 19.0.0.0.0 -
            Production
            SQL*Net: SDU 8,192 B agreed, TDU 65,535 B agreed, version 314
          Damaged: cut-record, 1: EXEC lacks e (x.trc, line 17, byte offset 1059)
    "#]]
    .assert_eq(&page(PLAIN));
}

#[test]
fn one_table_alone_and_literals_if_asked_for() {
    let events = page(TraceStyle {
        by: Some(TraceBy::Event),
        ..PLAIN
    });
    assert!(
        events.contains("Waits by event") && !events.contains("Statements"),
        "{events}"
    );
    let statements = page(TraceStyle {
        by: Some(TraceBy::Statement),
        show_literals: true,
        ..PLAIN
    });
    assert!(!statements.contains("Waits by event"), "{statements}");
    assert!(statements.contains("b = 'secret'"), "{statements}");
}

#[test]
fn profiles_have_the_keys_of_the_contract() {
    let mut out = Vec::new();
    trace_json(&sample(), &PLAIN, &mut out).expect("memory");
    let json: Value = serde_json::from_slice(&out).expect("JSON");
    assert_eq!(json["schema"], "slowside.trace/1");
    let keys = |value: &Value| {
        let keys = value.as_object().into_iter().flat_map(|o| o.keys());
        keys.cloned().collect::<Vec<_>>().join(" ")
    };
    let d = &json["database"];
    let parts = [
        ("", &json),
        ("files", &json["files"][0]),
        ("files net", &json["files"][0]["net"]),
        ("problems", &json["problems"][0]),
        ("database", d),
        ("events", &d["events"][0]),
        ("statements", &d["statements"][0]),
        ("calls", &d["calls"][0]),
        ("reads", &d["reads"][0]),
        ("net all", &json["net"]["all"]),
        ("packets", &json["net"]["all"]["packets"][0]),
    ];
    let mut text = String::new();
    for (name, value) in parts {
        text.push_str(&wrap(&format!("{name}: "), 2, &keys(value)));
    }
    expect![[r#"
        : schema files problems database net
        files: file lines bytes extended_lines net_lines other_lines product release
          system host instance process session sessions service module driver
          first_local_ns last_local_ns utc_offset_s unit_ns net
        files net: level side proposed_sdu_bytes proposed_tdu_bytes sdu_bytes tdu_bytes
          version descriptor peer nodelay refused redirected errors system_errors
          returned opened opened_ns not_opened not_opened_ns encryption checksum
        problems: kind count damage example file line offset
        database: response_ns span_ns cpu_ns waited_ns unaccounted_ns between_ns
          recursive_ns round_trips rows commits rollbacks read_only_ends errors
          parse_errors binds plan_lines messages_sent bytes_sent messages_received
          bytes_received events statements calls reads decisions
        events: event count total_ns mean_ns min_ns p50_ns p90_ns p95_ns p99_ns p999_ns
          max_ns exact between between_ns
        statements: id sql_id statement depth total_ns own_ns cpu_ns waited_ns
          unaccounted_ns between_ns round_trips parses hard_parses executions fetches
          rows rows_per_fetch_p50 rows_per_fetch_max calls physical_reads
          consistent_reads errors events
        calls: call count total_ns mean_ns min_ns p50_ns p90_ns p95_ns p99_ns p999_ns
          max_ns exact own_ns cpu_ns rows unaccounted
        reads: path event count total_ns mean_ns min_ns p50_ns p90_ns p95_ns p99_ns
          p999_ns max_ns exact blocks
        net all: socket first_local_ns last_local_ns messages_sent messages_received
          largest_sent_bytes largest_sent_count largest_received_bytes milliseconds away
          here packets
        packets: direction type packets bytes
    "#]]
    .assert_eq(&text);
    assert!(!String::from_utf8_lossy(&out).contains("secret"));
}

#[test]
fn csv_has_a_row_per_statement_or_event() {
    let csv = |by| {
        let style = TraceStyle {
            by: Some(by),
            ..PLAIN
        };
        samples::written(|out| trace_csv(&sample(), &style, out))
    };
    expect![[r#"
        event,count,total_ns,mean_ns,min_ns,p50_ns,p90_ns,p95_ns,p99_ns,p999_ns,max_ns,between,between_ns
        SQL*Net message from client,2,4000000,2000000,1000000,1000000,3000000,3000000,3000000,3000000,3000000,2,4000000
        db file sequential read,1,600000,600000,600000,600000,600000,600000,600000,600000,600000,0,0
        id,sql_id,depth,total_ns,own_ns,cpu_ns,waited_ns,unaccounted_ns,between_ns,round_trips,parses,hard_parses,executions,fetches,rows,rows_per_fetch_p50,rows_per_fetch_max,physical_reads,consistent_reads,errors,call_count,call_total_ns,call_mean_ns,call_min_ns,call_p50_ns,call_p90_ns,call_p95_ns,call_p99_ns,call_p999_ns,call_max_ns,statement
        adb0ddec8c309869,9babjv8yq8ru3,0,5070000,1070000,210000,600000,260000,4000000,2,1,1,1,1,10,10,10,1,5,0,3,1070000,356666,20000,50000,1000000,1000000,1000000,1000000,1000000,select a from t where b = ?
    "#]].assert_eq(&(csv(TraceBy::Event) + &csv(TraceBy::Statement)));
}
