use super::{error, operation, read, read_named, times};
use crate::OperationKind;

/// 2026-11-20, in nanoseconds.
const T: i64 = 1_795_166_662_233_654_921;

#[test]
fn the_earliest_stage_is_the_start() {
    let found = read(
        "id,op,offset,len,t_enq_ns,t_issue_ns,t_done_ns,status\n\
         0,WRITE,37167104,8192,1795166662233654921,1795166662233710693,1795166662240235155,8192\n\
         1,READ,33062912,4096,1795166662233654922,1795166662233717914,1795166662240220213,4096\n",
    );
    assert_eq!(
        found.operations,
        [
            operation(
                T,
                1_795_166_662_240_235_155,
                OperationKind::Write,
                37_167_104,
                8192
            ),
            operation(
                T + 1,
                1_795_166_662_240_220_213,
                OperationKind::Read,
                33_062_912,
                4096
            ),
        ]
    );
    assert_eq!(found.format, "CSV, t_enq_ns to t_done_ns, since 1970");
    assert_eq!(found.skipped_lines, 0);

    let found = read("end_ns,start_ns,t_issue_ns\n30,20,10\n");
    assert_eq!(times(&found), [(10, 30)]);
    assert!(!found.operations[0].absolute);
    assert_eq!(
        found.format,
        "CSV, t_issue_ns to end_ns, since an unknown start"
    );
}

#[test]
fn a_server_s_log_is_read_as_well() {
    let found = read(
        "op,offset,len,t_start_ns,t_end_ns,tid,rc\n\
         FSYNC,0,0,1795166662233654921,1795166662240235155,12937,0\n\
         READ,33062912,4096,1795166662233654922,1795166662233717914,12951,4096\n",
    );
    let first = operation(T, 1_795_166_662_240_235_155, OperationKind::Other, 0, 0);
    let end = 1_795_166_662_233_717_914;
    let second = operation(T + 1, end, OperationKind::Read, 33_062_912, 4096);
    assert_eq!(found.operations, [first, second]);
    assert_eq!(found.format, "CSV, t_start_ns to t_end_ns, since 1970");
}

#[test]
fn rows_without_an_end_are_unfinished() {
    let found = read("start_ns,end_ns\n1,0\n2,\n3\n4,9\n");
    assert_eq!(times(&found), [(4, 9)]);
    assert_eq!((found.unfinished, found.skipped_lines), (3, 0));
    assert_eq!(
        error("start_ns,end_ns\n1,0\n2,\n"),
        "log holds no finished operation; all 2 are without an end; let the application finish them"
    );
}

#[test]
fn the_unit_of_time_is_told_from_its_size() {
    for (time, unit, start) in [
        ("1795166662.233654921", "seconds since 1970", T),
        ("1795166662233.654921", "milliseconds since 1970", T),
        ("1795166662233654.921", "microseconds since 1970", T),
        ("1795166662233654921", "nanoseconds since 1970", T),
        ("12.5", "seconds since an unknown start", 12_500_000_000),
        ("0", "seconds since an unknown start", 0),
    ] {
        for (column, latency) in [
            ("latency_ns", "2500000"),
            ("latency_us", "2500"),
            ("latency_ms", "2.5"),
        ] {
            let found = read(&format!("{column},time\n{latency},{time}\n"));
            assert_eq!(
                times(&found),
                [(start, start + 2_500_000)],
                "{time} {column}"
            );
            assert_eq!(
                found.format,
                format!("CSV, time ({unit}, taken as the start) and {column}")
            );
        }
    }
}

#[test]
fn a_start_or_an_end_may_stand_with_a_latency() {
    assert_eq!(
        times(&read("start_ns,latency_us\n1000,3\n")),
        [(1000, 4000)]
    );
    assert_eq!(times(&read("end_ns,latency_us\n9000,3\n")), [(6000, 9000)]);
}

#[test]
fn quotes_separators_and_line_ends_are_those_of_spreadsheets() {
    let expected = [(5, 7)];
    for text in [
        "\u{feff}op,start_ns,end_ns\r\n\"a,b \"\"c\"\"\",5,7\r\n",
        "op;start_ns;end_ns\n\"READ\";\"5\";7",
        "op\tstart_ns\tend_ns\n\nREAD\t 5\t7\n\n",
        "# op, Start_NS , END_NS\nREAD, 5, 7\n",
    ] {
        let found = read(text);
        assert_eq!(times(&found), expected, "{text}");
        assert_eq!(found.skipped_lines, 0, "{text}");
    }
    assert_eq!(
        read("op;start_ns;end_ns\n\"Read\";\"5\";7").operations[0].kind,
        OperationKind::Read
    );
}

#[test]
fn malformed_rows_are_counted_and_the_first_is_kept() {
    let found = read(
        "start_ns,end_ns\n1,2\nx,3\n9,4\n\"5,6\n1795166662233654921,1795166662233654999\n7,1795166662233654999\n,8\n",
    );
    assert_eq!(times(&found), [(1, 2)]);
    assert_eq!(found.skipped_lines, 6);
    assert_eq!(
        found.first_skipped.as_deref(),
        Some("log, line 3: start_ns is \"x\", which is no number or too large")
    );
}

#[test]
fn a_first_row_that_fails_does_not_set_the_clock() {
    let found = read("time,latency_us\n0,\n0,x\n1795166662,1000\n");
    assert_eq!(
        times(&found),
        [(1_795_166_662_000_000_000, 1_795_166_662_001_000_000)]
    );
    assert_eq!((found.unfinished, found.skipped_lines), (1, 1));
}

#[test]
fn files_are_put_together_and_their_repeated_headers_pass() {
    let found = read_named(
        &[
            ("a", b"start_ns,end_ns\n1,2\nstart_ns,end_ns\n3,4\n"),
            ("b", b"end_ns,start_ns\n6,5\n"),
        ],
        10,
    )
    .unwrap();
    assert_eq!(times(&found), [(1, 2), (3, 4), (5, 6)]);
    assert_eq!(found.skipped_lines, 0);
}

#[test]
fn operations_beyond_the_limit_are_counted() {
    let found = read_named(&[("a", b"start_ns,end_ns\n1,2\n3,4\n5,6\n")], 2).unwrap();
    assert_eq!(times(&found), [(1, 2), (3, 4)]);
    assert_eq!(found.beyond_limit, 1);
}

#[test]
fn a_header_with_half_of_what_is_needed_says_what_to_add() {
    assert_eq!(
        error("op,start_ns\nREAD,5\n"),
        "log, line 1: the CSV header has a start but no end; add end_ns or latency_us"
    );
    assert_eq!(
        error("op,end_ns\nREAD,5\n"),
        "log, line 1: the CSV header has no start; add start_ns, or time in seconds since 1970"
    );
}

fn spans(text: &str) -> Vec<(Option<i64>, Option<i64>, u64, i64)> {
    let found = read(text);
    assert_eq!(
        (found.operations.len(), found.skipped_lines),
        (0, 0),
        "{text}"
    );
    let samples = found.samples.iter();
    let span = |s: &crate::Sample| (s.from_ns, s.until_ns, s.count, s.latency_ns);
    samples.map(span).collect()
}

#[test]
fn a_count_beside_a_latency_makes_averages_of_intervals() {
    // The shortest distance between two rows is what an interval lasts, also where nothing ended in one.
    let (a, b) = (T / 1_000_000_000 * 1_000_000_000, 1_000_000_000);
    let times = [0, 1, 2, 5].map(|s| (a + s * b) / 1_000_000_000);
    let [t0, t1, t2, t5] = times;
    let rows = format!("time,count,latency_ms\n{t0},3,1.5\n{t1},0,\n{t2},4,2\n{t5},1,0.5\n");
    let known = |from: i64, n, ns| (Some(from), Some(from + b), n, ns);
    assert_eq!(
        spans(&rows),
        [
            known(a, 3, 1_500_000),
            known(a + b, 0, 0),
            known(a + 2 * b, 4, 2_000_000),
            known(a + 5 * b, 1, 500_000)
        ]
    );
    assert_eq!(
        spans(&format!(
            "start_ns,end_ns,operations,latency_us\n{a},{},7,9\n",
            a + b
        )),
        [(Some(a), Some(a + b), 7, 9_000)]
    );
    // A lone end, and times of an unknown clock.
    assert_eq!(
        spans(&format!("end_ns,count,latency_us\n{a},7,9\n")),
        [(None, Some(a), 7, 9_000)]
    );
    assert_eq!(
        spans("time,count,latency_us\n0,7,9\n60,7,9\n"),
        [(None, None, 7, 9_000); 2]
    );
    assert_eq!(
        read("time,count,latency_us\n0,7,9\n").format,
        "CSV, averages of intervals (count, latency_us), since an unknown start"
    );
}

/// The bytes that an operation asked for are no number of operations.
#[test]
fn a_count_beside_an_offset_is_none_of_operations() {
    let found = read("time,latency_us,offset,count\n5,3,0,8192\n");
    assert_eq!((found.operations.len(), found.samples.len()), (1, 0));
}

#[test]
fn averages_that_cannot_be_are_counted() {
    let found = read("time,count,latency_us\n1,-1,5\n1,x,5\n1,2,\n1,2,-3\n1,2,3\n");
    assert_eq!((found.samples.len(), found.skipped_lines), (1, 4));
}

#[test]
fn a_latency_alone_is_a_list() {
    assert_eq!(
        spans("latency_ms\n5.037\n\n0.5\n"),
        [(None, None, 1, 5_037_000), (None, None, 1, 500_000)]
    );
    let found = read("op,latency_us\nREAD,1\nw,2\n,3\n");
    let kinds: Vec<_> = found.samples.iter().map(|s| s.kind).collect();
    assert_eq!(
        kinds,
        [
            OperationKind::Read,
            OperationKind::Write,
            OperationKind::Unsaid
        ]
    );
    assert_eq!(found.format, "CSV, latency_us without times");
}

#[test]
fn rows_may_name_the_host_whose_they_are() {
    let found = read(
        "client,start_ns,end_ns\n10.0.0.1,1,2\n10.0.0.2:700,1,2\n10.0.0.1,1,2\ndb01,1,2\n[2001:db8::1]:7,1,2\n",
    );
    let numbers: Vec<_> = found.operations.iter().map(|o| o.client).collect();
    assert_eq!(numbers, [Some(0), Some(1), Some(0), None, Some(2)]);
    let names: Vec<String> = found.clients.iter().map(ToString::to_string).collect();
    assert_eq!(names, ["10.0.0.1", "10.0.0.2", "2001:db8::1"]);
}
