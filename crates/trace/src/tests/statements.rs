//! Logs and sums of statements. Those in `recorded` were written by PostgreSQL 15.20 (psql, pgbench -M extended; pg_stat_statements 1.10) and
//! MariaDB 10.11.19 for these tests; entries of MySQL follow its manual (8.0, 8.4), as it is not in Debian.

use super::{error, read, read_named};
use crate::{Application, OperationKind};

const US: i64 = 1_000;

const M: &str = include_str!("recorded/postgresql-15-m.log");
const T: &str = include_str!("recorded/postgresql-15-t.log");
const N: &str = include_str!("recorded/postgresql-15-n.log");
const CET: &str = include_str!("recorded/postgresql-15-cet.log");
const PLAN: &str = include_str!("recorded/postgresql-15-plan.log");
const CSV: &str = include_str!("recorded/postgresql-15.csv");
const JSON: &str = include_str!("recorded/postgresql-15.json");
const MARIADB: &str = include_str!("recorded/slow-mariadb-10.11.log");

/// Microseconds that statements took.
fn took(application: &Application) -> Vec<i64> {
    let operations = application.operations.iter();
    let samples = application.samples.iter().map(|s| s.latency_ns);
    let all = operations.map(|o| o.end_ns - o.start_ns).chain(samples);
    all.map(|ns| ns / US).collect()
}

/// What pgbench sent three times: parse, bind and execute.
const EXTENDED: [i64; 3] = [658, 95, 46];

#[test]
fn a_line_of_postgresql_is_a_statement_and_a_message_of_the_extended_protocol_one() {
    let found = read(M);
    let mut all = vec![81_204, 828, 2_800, 21_759, 806, 79, 138];
    all.extend(EXTENDED);
    assert_eq!(took(&found), all);
    assert_eq!(
        found.format,
        "PostgreSQL's log, in milliseconds without clients' ports"
    );
    assert_eq!((found.skipped_lines, found.grain_ns), (0, 1_000 * US));
    let sleep = found.samples[3];
    // date -u -d '2026-11-24 13:37:13.209' +%s%N
    assert_eq!(sleep.from_ns, Some(1_795_527_433_209_000_000));
    assert_eq!(sleep.kind, OperationKind::Other);
    assert!(found.clients.is_empty());
}

#[test]
fn its_csv_and_json_say_the_same() {
    for (text, name) in [(CSV, "csv"), (JSON, "json")] {
        let found = read(text);
        let mut all = vec![2_800, 21_759, 806, 79, 138];
        all.extend(EXTENDED);
        all.extend([36_078, 321, 7_316, 22_970, 281]);
        all.extend([6_016, 16_839, 14_625, 306, 6_772, 3_009]);
        assert_eq!(took(&found), all, "{name}");
        assert_eq!(found.skipped_lines, 0, "{name}");
        assert_eq!(
            found.clients,
            ["127.0.0.1".parse::<std::net::IpAddr>().unwrap()]
        );
        assert!(
            found
                .operations
                .iter()
                .all(|o| o.client == Some(0) && o.session.is_some())
        );
        assert_eq!(found.format, "PostgreSQL's log, by connection");
        assert_eq!(
            (found.sessions.len(), found.sessions[0].unwrap().port()),
            (9, 33_132)
        );
        // In its own zone, as it was set in between.
        let last = found.operations.last().unwrap().end_ns;
        assert_eq!(last, 1_795_527_438_294_000_000, "{name}");
    }
}

#[test]
fn prefixes_may_have_other_times_and_zones() {
    let epoch = read(N);
    assert_eq!(took(&epoch), [6_016, 16_839, 14_625, 306]);
    assert_eq!(epoch.samples[0].from_ns, Some(1_795_527_436_733_000_000));
    assert_eq!(epoch.clients.len(), 1);
    let cet = read(CET);
    assert_eq!(took(&cet), [6_772, 3_009]);
    assert_eq!(cet.samples[0].from_ns, Some(1_795_527_438_141_000_000));
    let unknown = CET.replace("CET", "IST");
    let message = error(&unknown);
    assert!(
        message.starts_with("log holds no duration of a statement (log, line 2: the zone IST is not known; set log_timezone = 'UTC', or use %n in log_line_prefix); set log_min_duration_statement = 0"),
        "{message}"
    );
}

#[test]
fn whole_seconds_are_a_mean_of_their_second() {
    let found = read(T);
    assert_eq!(found.format, "PostgreSQL's log, in whole seconds");
    assert!(found.operations.is_empty());
    let all: Vec<_> = found
        .samples
        .iter()
        .map(|s| (s.from_ns, s.latency_ns / US))
        .collect();
    let second = Some(1_795_527_435_000_000_000);
    assert_eq!(all, [(second, 7_316), (second, 22_970), (second, 281)]);
    let mixed = read(&[T, M].concat());
    assert_eq!((mixed.samples.len(), mixed.skipped_lines), (3, 10));
}

#[test]
fn plans_are_statements_where_nothing_else_says_so() {
    assert_eq!(took(&read(PLAN)), [227]);
    assert_eq!(took(&read(&[M, PLAN].concat())), took(&read(M)));
    let message = error(&M.replace("duration: ", "Dauer: "));
    assert!(message.contains("and lc_messages = 'C'"), "{message}");
}

#[test]
fn mariadb_says_the_second_and_mysql_the_microsecond() {
    let found = read(MARIADB);
    assert_eq!(
        found.format,
        "MySQL's log of slow statements, in whole seconds"
    );
    assert_eq!((found.samples.len(), found.skipped_lines), (16, 0));
    let sleep = found.samples[7];
    assert_eq!(sleep.latency_ns, 20_220 * US);
    assert_eq!(sleep.from_ns, Some(1_795_527_449_000_000_000));
    assert_eq!(found.clients.len(), 1);
    assert_eq!((found.samples[0].client, sleep.client), (None, Some(0)));

    let mysql = "/usr/sbin/mysqld, Version: 8.0.40 (MySQL Community Server - GPL). started with:\n\
         Tcp port: 3306  Unix socket: /var/run/mysqld/mysqld.sock\n\
         Time                 Id Command    Argument\n\
         # Time: 2026-11-24T13:37:29.123456Z\n\
         # User@Host: app[app] @ client1 [10.0.0.1]  Id:     8\n\
         # Query_time: 0.020220  Lock_time: 0.000002 Rows_sent: 1  Rows_examined: 0\n\
         SET timestamp=1795527449;\n\
         select sleep(0.02);\n\
         # Time: 2026-11-24T14:37:30.000001+01:00\n\
         # User@Host: app[app] @  [10.0.0.1]  Id:     8\n\
         # Query_time: 0.5  Lock_time: 0.000000 Rows_sent: 1  Rows_examined: 0 Thread_id: 8 Errno: 0 Killed: 0 Start: 2026-11-24T13:37:29.600000Z End: 2026-11-24T13:37:30.100000Z\n\
         select sleep(0.5);\n";
    let found = read(mysql);
    let end = 1_795_527_449_123_456 * US;
    let extra = 1_795_527_450_100_000 * US;
    assert_eq!(
        super::times(&found),
        [(end - 20_220 * US, end), (extra - 500_000 * US, extra)]
    );
    assert_eq!(
        found.clients,
        ["10.0.0.1".parse::<std::net::IpAddr>().unwrap()]
    );
    let broken = mysql.replace("Query_time: 0.020220", "Query_time: soon");
    assert_eq!(
        read(&broken).first_skipped.as_deref(),
        Some("log, line 6: its Query_time is no number of seconds")
    );
}

/// Count and mean in nanoseconds.
fn means(application: &Application) -> Vec<(u64, i64)> {
    let all = application.samples.iter();
    all.map(|s| (s.count, s.latency_ns)).collect()
}

#[test]
fn two_snapshots_of_sums_are_what_passed_between_them() {
    let (first, second) = (
        include_bytes!("recorded/pg_stat_statements-1.csv").as_slice(),
        include_bytes!("recorded/pg_stat_statements-2.csv").as_slice(),
    );
    for files in [[("a", first), ("b", second)], [("a", second), ("b", first)]] {
        let found = read_named(&files, 100).unwrap();
        assert_eq!(
            found.format,
            "pg_stat_statements, difference of 2 snapshots"
        );
        // Thirteen others ran; the three of the first snapshot not again.
        assert_eq!((found.samples.len(), found.skipped_lines), (13, 0));
        assert!(
            means(&found).contains(&(4, 10_126_286)),
            "pg_sleep: {:?}",
            means(&found)
        );
        assert!(
            means(&found).contains(&(1, 389_478)),
            "of two lines: {:?}",
            means(&found)
        );
    }
    let one = read_named(&[("a", first)], 100).unwrap();
    assert!(
        one.format
            .contains("one snapshot: totals since the last reset"),
        "{}",
        one.format
    );
    assert_eq!(one.samples.len(), 3);

    let (first, second) = (
        include_bytes!("recorded/digests-mariadb-10.11-1.tsv").as_slice(),
        include_bytes!("recorded/digests-mariadb-10.11-2.tsv").as_slice(),
    );
    let found = read_named(&[("a", first), ("b", second)], 100).unwrap();
    assert_eq!(
        found.format,
        "performance_schema's digests, difference of 2 snapshots"
    );
    assert_eq!(found.samples.len(), 10);
    assert!(
        means(&found).contains(&(2, 25_341_579)),
        "{:?}",
        means(&found)
    );
    let broken = "queryid,calls,total_exec_time\n1,x,5\n2,1,0.5\n";
    let found = read(broken);
    assert_eq!(means(&found), [(1, 500 * US)]);
    assert_eq!(
        found.first_skipped.as_deref(),
        Some("log, line 2: calls or total_exec_time is no number")
    );
}

/// Recorded with MariaDB 10.11.
#[test]
fn waits_of_performance_schema_are_those_of_disks_for_files_and_no_statements() {
    let (first, second) = (
        include_bytes!("recorded/waits-mariadb-10.11-1.tsv").as_slice(),
        include_bytes!("recorded/waits-mariadb-10.11-2.tsv").as_slice(),
    );
    let found = read_named(&[("a", first), ("b", second)], 100).unwrap();
    assert!(found.is_of_disks_alone());
    let disks = found.disks.expect("the disks'");
    assert_eq!(
        disks.format,
        "performance_schema's waits for files, difference of 2 snapshots"
    );
    let means = means(&disks);
    assert!(means.contains(&(93, 95_851)), "{means:?}");
    // Neither its idling nor what it does with rows: 27 and 39 of Aria, 93 of InnoDB, 76 of others.
    let waits: u64 = means.iter().map(|(count, _)| count).sum();
    assert_eq!(waits, 27 + 39 + 93 + 42 + 12 + 21 + 1);
    // What sums by nothing that is known are no digests.
    let error = read_named(
        &[("a", b"COUNT_STAR\tSUM_TIMER_WAIT\n1\t2\n".as_slice())],
        9,
    );
    assert!(error.is_err());
}
