use super::*;
use proptest::prelude::*;
use std::io::Cursor;

fn profile(text: &str) -> TraceResult {
    let mut profiler = Profiler::default();
    let file = Cursor::new(text.to_owned());
    let file = trace::oracle::read_from("t".to_owned(), file, None, &mut |record| {
        profiler.record(&record);
    })
    .unwrap();
    profiler.file(file);
    profiler.finish()
}

fn database(text: &str) -> DatabaseTime {
    profile(text).database.unwrap()
}

fn statement<'a>(d: &'a DatabaseTime, normal: &str) -> &'a StatementRow {
    let found = d.statements.iter().find(|s| s.normal == normal);
    found.unwrap_or_else(|| panic!("{normal} is not in {:#?}", d.statements))
}

fn parsing(cursor: u64, depth: u32, tim: u32, sql: &str) -> String {
    format!(
        "PARSING IN CURSOR #{cursor} len={} dep={depth} uid=1 oct=3 lid=1 tim={tim} hv=4 ad='b3' sqlid='s{cursor}'\n{sql}\nEND OF STMT\n",
        sql.len()
    )
}

fn call(kind: &str, cursor: u64, (c, e): (u32, u32), rows: u32, depth: u32, tim: u32) -> String {
    format!(
        "{kind} #{cursor}:c={c},e={e},p=1,cr=2,cu=0,mis=1,r={rows},dep={depth},og=1,plh=7,tim={tim}\n"
    )
}

fn wait(cursor: u64, event: &str, ela: u32, tim: u32) -> String {
    format!(
        "WAIT #{cursor}: nam='{event}' ela= {ela} file#=4 block#=20 blocks=8 obj#=1 tim={tim}\n"
    )
}

/// An execution of 1,000 µs that asks for something itself, a fetch, and a client that takes its time.
fn session() -> String {
    records().concat()
}

fn records() -> [String; 10] {
    [
        parsing(7, 0, 1_000, "select a from t where b = 'secret'"),
        parsing(8, 1, 1_100, "select c from sys.d where e = :1"),
        wait(8, "db file sequential read", 200, 1_350),
        call("EXEC", 8, (50, 300), 0, 1, 1_400),
        wait(7, "db file scattered read", 100, 1_600),
        call("EXEC", 7, (150, 1_000), 0, 0, 2_000),
        wait(7, "SQL*Net message to client", 5, 2_010),
        wait(7, "SQL*Net message from client", 3_000, 5_020),
        call("FETCH", 7, (40, 50), 10, 0, 5_100),
        wait(7, "SQL*Net message from client", 900, 6_020),
    ]
}

#[test]
fn nothing_is_counted_twice() {
    let d = database(&session());
    // 1,000 and 50 of outermost calls, and 3,905 between them.
    assert_eq!(d.response_ns, 4_955_000);
    assert_eq!(
        (d.cpu_ns, d.waited_ns, d.between_ns),
        (190_000, 300_000, 3_905_000)
    );
    assert_eq!((d.unaccounted_ns, d.recursive_ns), (560_000, 300_000));
    // From 1,000 to 6,020.
    assert_eq!(d.span_ns, 5_020_000);

    let outer = statement(&d, "select a from t where b = ?");
    // 700 of the execution are its own: 100 of CPU, 100 of waits.
    assert_eq!(
        (outer.own_ns, outer.cpu_ns, outer.waited_ns),
        (750_000, 140_000, 100_000)
    );
    assert_eq!(
        (outer.unaccounted_ns, outer.between_ns),
        (510_000, 3_905_000)
    );
    assert_eq!((outer.executions, outer.fetches, outer.rows), (1, 1, 10));
    assert_eq!(
        (outer.rows_per_fetch_p50, outer.round_trips.count),
        (Some(10), 2)
    );
    assert_eq!(
        (outer.sql_id.as_deref(), outer.depth),
        (Some("s7"), Some(0))
    );
    assert_eq!(outer.id, Some(statement::id("select a from t where b = ?")));
    assert_eq!(
        outer.events[0],
        ("SQL*Net message from client".to_owned(), 2, 3_900_000)
    );

    let inner = statement(&d, "select c from sys.d where e = :1");
    assert_eq!(
        (inner.own_ns, inner.waited_ns, inner.unaccounted_ns),
        (300_000, 200_000, 50_000)
    );
    assert_eq!((inner.depth, inner.total_ns), (Some(1), 300_000));
    assert_eq!(d.statements.len(), 2);
}

#[test]
fn reads_are_told_by_their_path() {
    let text = session()
        + &wait(7, "direct path read", 7, 6_050)
        + "NSMTIO: qertbFetch:DirectRead:[OBJECT_SIZE>VLOT]\n\
           NSMTIO: qertbFetch:DirectRead:[OBJECT_SIZE>VLOT]\n\
           NSMTIO: kcbism: islarge 1 next 0 nblks 10617 type 3\n\
           NSMTIO: qertbFetch:NoDirectRead:[- STT < OBJECT_SIZE < MTT]:Obect's size: 9 (blocks)\n";
    let d = database(&text);
    let reads: Vec<_> = d
        .reads
        .iter()
        .map(|r| (r.path, r.waits.count, r.blocks))
        .collect();
    assert_eq!(
        reads,
        [
            (ReadPath::Single, 1, Some(8)),
            (ReadPath::Scattered, 1, Some(8)),
            (ReadPath::Direct, 1, Some(8)),
        ]
    );
    let decisions: Vec<_> = d
        .decisions
        .iter()
        .map(|c| (c.count, c.direct, c.reason.as_str()))
        .collect();
    assert_eq!(
        decisions,
        [
            (2, true, "OBJECT_SIZE>VLOT"),
            (1, false, "- STT < OBJECT_SIZE < MTT")
        ]
    );
}

#[test]
fn numbers_of_cursors_are_used_again() {
    let text = [
        parsing(7, 0, 10, "select 1 from a"),
        call("EXEC", 7, (1, 2), 0, 0, 20),
        "CLOSE #7:c=1,e=1,dep=0,type=0,tim=30\n".to_owned(),
        wait(7, "SQL*Net message from client", 5, 40),
        // Closed: whatever this is, it is not the first statement.
        call("EXEC", 7, (1, 4), 0, 0, 50),
        parsing(7, 0, 60, "select 2 from b"),
        call("EXEC", 7, (1, 8), 0, 0, 70),
        call("EXEC", 9, (1, 16), 0, 0, 90),
        wait(0, "SQL*Net message from client", 32, 130),
    ]
    .concat();
    let d = database(&text);
    assert_eq!(statement(&d, "select ? from a").own_ns, 3_000);
    assert_eq!(statement(&d, "select ? from a").between_ns, 5_000);
    assert_eq!(statement(&d, "select ? from b").own_ns, 8_000);
    let before = statement(&d, "(parsed before the trace began)");
    assert_eq!((before.own_ns, before.id), (20_000, None));
    assert_eq!(statement(&d, "(no statement)").between_ns, 32_000);
}

#[test]
fn statements_that_differ_in_values_are_one() {
    let one = |n: u32| {
        parsing(
            7,
            0,
            10 * n,
            &format!("SELECT a FROM t WHERE b IN ({n}, {n})"),
        ) + &call("EXEC", 7, (1, 2), 0, 0, 10 * n + 5)
    };
    let d = database(&(one(1) + &one(2) + &one(3)));
    assert_eq!(
        statement(&d, "select a from t where b in (?)").executions,
        3
    );
}

#[test]
fn files_are_taken_together_but_their_cursors_apart() {
    let mut profiler = Profiler::default();
    for text in [session(), call("EXEC", 7, (1, 2), 0, 0, 20)] {
        let file = Cursor::new(text);
        let file = trace::oracle::read_from("t".to_owned(), file, None, &mut |record| {
            profiler.record(&record);
        })
        .unwrap();
        profiler.file(file);
    }
    let result = profiler.finish();
    let d = result.database.unwrap();
    assert_eq!(result.files.len(), 2);
    assert_eq!((d.response_ns, d.span_ns), (4_957_000, 5_022_000));
    assert_eq!(
        statement(&d, "(parsed before the trace began)").executions,
        1
    );
}

/// As `trcsess` joins them: in the order of time, before each piece whose it is.
#[test]
fn each_of_several_processes_in_a_file_holds_its_own() {
    let alone = database(&session());
    let (one, other) = (records(), records());
    let both = one.iter().zip(&other).map(|(one, other)| {
        format!("*** [ Unix process pid: 11 ]\n{one}*** [ Unix process pid: 22 ]\n{other}")
    });
    let d = database(&both.collect::<String>());
    assert_eq!(
        [
            d.response_ns,
            d.cpu_ns,
            d.waited_ns,
            d.between_ns,
            d.unaccounted_ns,
            d.recursive_ns
        ],
        [
            alone.response_ns,
            alone.cpu_ns,
            alone.waited_ns,
            alone.between_ns,
            alone.unaccounted_ns,
            alone.recursive_ns
        ]
        .map(|ns| 2 * ns)
    );
    let normal = "select a from t where b = ?";
    let (both, alone) = (statement(&d, normal), statement(&alone, normal));
    assert_eq!((both.executions, both.own_ns), (2, 2 * alone.own_ns));
}

#[test]
fn packets_become_turns_by_connection() {
    let line = |ms: u32, text: &str| format!("[03-FEB-2014 10:56:17:{ms:03}] {text}\n");
    let receive = |ms: u32, socket: u32, kind: u32, bytes: u32| {
        line(
            ms,
            &format!("nttrd: socket {socket} had bytes read={bytes}"),
        ) + &line(
            ms,
            &format!("nsprecv: tlen={bytes}, plen={bytes}, type={kind}"),
        )
    };
    let send = |ms: u32, socket: u32, bytes: u32| {
        line(ms, &format!("nspsend: plen={bytes}, type=6"))
            + &line(
                ms,
                &format!("nttwr: socket {socket} had bytes written={bytes}"),
            )
    };
    let text = [
        receive(100, 5, 1, 200),
        send(130, 5, 30),
        send(140, 5, 31),
        receive(200, 6, 1, 201),
        receive(240, 5, 6, 40),
        send(250, 6, 50),
        send(260, 5, 31),
    ]
    .concat();
    let net = profile(&text).net.unwrap();
    let rows: Vec<_> = net
        .connections
        .iter()
        .map(|c| {
            (
                c.socket,
                c.messages_received,
                c.messages_sent,
                c.here.total_ns,
                c.away.total_ns,
            )
        })
        .collect();
    assert_eq!(
        rows,
        [
            (Some(5), 2, 2, 50_000_000, 100_000_000),
            (Some(6), 1, 1, 50_000_000, 0),
        ]
    );
    assert_eq!((net.all.largest_sent, net.all.largest_received), (50, 201));
    assert!(net.all.milliseconds);
    let told: Vec<_> = net
        .all
        .packets
        .iter()
        .map(|p| (p.sent, p.kind.to_string(), p.packets, p.bytes))
        .collect();
    assert_eq!(
        told,
        [
            (false, "connect".to_owned(), 2, Some(401)),
            (false, "data".to_owned(), 1, Some(40)),
            (true, "data".to_owned(), 4, Some(142)),
        ]
    );
}

/// Lines whose times nest, touch, overlap and go back.
fn line() -> impl Strategy<Value = String> {
    let number = || 0..400_u32;
    let cursor = || 0..4_u64;
    prop_oneof![
        (cursor(), 0..3_u32, number()).prop_map(|(c, d, t)| parsing(c, d, t, "select a from b")),
        (cursor(), number(), number(), 0..3_u32, number()).prop_map(|(c, cpu, e, d, t)| call(
            "EXEC",
            c,
            (cpu, e),
            1,
            d,
            t
        )),
        (cursor(), number(), number(), 0..3_u32, number()).prop_map(|(c, cpu, e, d, t)| call(
            "FETCH",
            c,
            (cpu, e),
            5,
            d,
            t
        )),
        (cursor(), number(), number()).prop_map(|(c, e, t)| wait(c, FROM_CLIENT, e, t)),
        (cursor(), number(), number()).prop_map(|(c, e, t)| wait(c, "latch free", e, t)),
        number().prop_map(|t| format!("LOBREAD: type=X,bytes=9,c=1,e=2,p=0,cr=0,cu=0,tim={t}\n")),
        cursor().prop_map(|c| format!("CLOSE #{c}:c=1,e=1,dep=0,type=0,tim=9\n")),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1000) })]

    #[test]
    fn the_parts_are_the_whole(lines in proptest::collection::vec(line(), 1..40)) {
        let text = lines.concat();
        let Some(d) = profile(&text).database else {
            return Ok(());
        };
        prop_assert_eq!(d.cpu_ns + d.waited_ns + d.unaccounted_ns + d.between_ns, d.response_ns);
        let sum = |of: &dyn Fn(&StatementRow) -> i64| d.statements.iter().map(of).sum::<i64>();
        prop_assert_eq!(sum(&|s| s.total_ns), d.response_ns);
        prop_assert_eq!(sum(&|s| s.unaccounted_ns), d.unaccounted_ns);
        prop_assert_eq!(sum(&|s| s.between_ns), d.between_ns);
        let events: i64 = d.events.iter().map(|e| e.waits.total_ns).sum();
        prop_assert_eq!(events, d.waited_ns + d.between_ns);
        let rest: i64 = d.calls.iter().map(|c| c.unaccounted.total_ns).sum();
        prop_assert_eq!(rest, d.unaccounted_ns);
    }
}
