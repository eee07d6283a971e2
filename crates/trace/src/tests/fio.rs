use super::{error, operation, read, read_named, times};
use crate::OperationKind;

#[test]
fn the_time_of_a_row_is_the_end_of_the_operation() {
    let found = read("5, 2000000, 0, 4096\n7, 1000, 1, 8192\n8, 500, 2, 4096\n");
    assert_eq!(
        times(&found),
        [
            (3_000_000, 5_000_000),
            (6_999_000, 7_000_000),
            (7_999_500, 8_000_000)
        ]
    );
    let kinds: Vec<_> = found.operations.iter().map(|o| o.kind).collect();
    assert_eq!(
        kinds,
        [
            OperationKind::Read,
            OperationKind::Write,
            OperationKind::Other
        ]
    );
    assert_eq!(found.operations[1].size, Some(8192));
    assert!(!found.operations[0].absolute);
    assert!(
        found
            .format
            .starts_with("fio latency log, latencies taken as nanoseconds")
    );
}

#[test]
fn times_of_the_epoch_are_absolute() {
    let found = read("1795166662234, 1000000, 1, 8192, 65536, 0\n");
    let end = 1_795_166_662_234_000_000;
    assert_eq!(
        found.operations,
        [operation(
            end - 1_000_000,
            end,
            OperationKind::Write,
            65_536,
            8192
        )]
    );
}

#[test]
fn a_fifth_column_is_an_offset_unless_it_never_exceeds_one() {
    let offsets = |text: &str| -> Vec<Option<u64>> {
        let found = read(text);
        assert_eq!(found.skipped_lines, 0, "{text}");
        found.operations.iter().map(|o| o.offset).collect()
    };
    assert_eq!(
        offsets("5, 10, 0, 4096, 0\n6, 10, 0, 4096, 1\n"),
        [None, None]
    );
    assert_eq!(offsets("5, 10, 0, 4096, 0x0004\n"), [None]);
    assert_eq!(
        offsets("5, 10, 0, 4096, 0\n6, 10, 0, 4096, 4096\n"),
        [Some(0), Some(4096)]
    );
    assert_eq!(offsets("5, 10, 0, 4096, 0, 0\n"), [Some(0)]);
    assert_eq!(offsets("5, 10, 0, 4096, 12288, 0x2001\n"), [Some(12288)]);
    assert_eq!(
        offsets("5, 10, 0, 4096, 12288, 0, 4990000\n"),
        [Some(12288)]
    );
}

#[test]
fn logs_of_several_jobs_are_put_together_each_with_its_own_columns() {
    let found = read_named(
        &[
            ("run_lat.1.log", b"5, 10, 0, 4096, 0\n"),
            ("run_lat.2.log", b"5, 10, 0, 4096, 8192\n"),
        ],
        10,
    )
    .unwrap();
    let offsets: Vec<_> = found.operations.iter().map(|o| o.offset).collect();
    assert_eq!(offsets, [None, Some(8192)]);
}

#[test]
fn malformed_rows_are_counted() {
    let found = read(
        "5, 10, 0, 4096\n5, 10, 0\nx, 1, 0, 1\n5, -1, 0, 1\n5, 1, 9, 1\n5, 1, 0, 512, y\n9223372036854775807, 1, 0, 1\n",
    );
    assert_eq!(times(&found).len(), 1);
    assert_eq!(found.skipped_lines, 6);
    assert_eq!(
        found.first_skipped.as_deref(),
        Some("log, line 2: a fio log has four columns or more")
    );
}

#[test]
fn averages_are_not_operations() {
    let message = error("500, 2000000, 0, 0\n1000, 2000000, 0, 0\n");
    assert!(
        message.contains("run fio without log_avg_msec"),
        "{message}"
    );
}

#[test]
fn fio_logs_of_something_else_are_refused() {
    let message = read_named(&[("x/run_bw.1.log", b"5, 10, 0, 4096\n")], 10)
        .unwrap_err()
        .to_string();
    assert_eq!(
        message,
        "x/run_bw.1.log is a fio bandwidth log, which holds no latencies of whole operations; give the _lat log of --write_lat_log"
    );
    let found = read_named(&[("run_clat.1.log", b"5, 10, 0, 4096\n")], 10).unwrap();
    assert!(
        found.format.starts_with("fio completion latency log"),
        "{}",
        found.format
    );
}
