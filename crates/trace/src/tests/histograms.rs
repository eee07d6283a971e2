//! Distributions of tracers. The examples are of our own making, in the layout of what the tools print: DTrace's
//! `quantize` of nfsv3rwtime.d (DTrace book, illumos), bpftrace 0.9 to 0.21, BCC 0.3 to 0.31 (nfsdist, biolatency,
//! funclatency), sqlplus of Oracle 11.2 and 12.2.

use super::{error, read, read_named};
use crate::{Application, Bucket, Histogram, OperationKind};

const US: i64 = 1_000;
const MS: i64 = 1_000_000;

fn bucket(from_ns: i64, until_ns: impl Into<Option<i64>>, count: u64) -> Bucket {
    Bucket {
        from_ns,
        until_ns: until_ns.into(),
        count,
    }
}

fn of(kind: OperationKind, buckets: Vec<Bucket>) -> Histogram {
    Histogram {
        kind,
        buckets,
        total_ns: None,
    }
}

const DTRACE: &str = "Tracing... Hit Ctrl-C to end.\n^C\n\
NFSv3 read/write distributions (us):\n\n\
\x20 read                                              \n\
\x20          value  ------------- Distribution ------------- count    \n\
\x20              8 |                                         0        \n\
\x20             16 |@@@@@@@@@@@@@@@@@@@@                     50       \n\
\x20             32 |                                         0        \n\
\x20             64 |@@@@@@@@@@@@@@@@@@@@                     49       \n\
\x20            128 |                                         0        \n\n\
\x20 write                                             \n\
\x20          value  ------------- Distribution ------------- count    \n\
\x20             -1 |                                         0        \n\
\x20              0 |@@@@@@                                   3        \n\
\x20              1 |                                         0        \n\
\x20            512 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@       17       \n\
\x20           1024 |                                         0        \n\n";

fn dtrace() -> [Histogram; 2] {
    [
        of(
            OperationKind::Read,
            vec![bucket(16 * US, 32 * US, 50), bucket(64 * US, 128 * US, 49)],
        ),
        of(
            OperationKind::Write,
            vec![bucket(0, US, 3), bucket(512 * US, 1_024 * US, 17)],
        ),
    ]
}

#[test]
fn what_dtrace_counts_is_in_the_unit_of_its_heading_by_operation() {
    let found = read(DTRACE);
    assert_eq!(found.histograms, dtrace());
    assert_eq!(found.format, "DTrace output, 2 distributions");
    assert_eq!(found.skipped_lines, 0);
}

#[test]
fn linear_steps_of_dtrace_have_ends_that_are_open() {
    let found = read(
        "write latency (ms)\n\
         value  ------------- Distribution ------------- count\n\
         < 0 |                                         0\n\
         0 |@@@@@@@@@                                9\n\
         10 |@@@                                      3\n\
         >= 20 |@                                        1\n",
    );
    let buckets = vec![
        bucket(0, 10 * MS, 9),
        bucket(10 * MS, 20 * MS, 3),
        bucket(20 * MS, None, 1),
    ];
    assert_eq!(found.histograms, [of(OperationKind::Write, buckets)]);
}

#[test]
fn prints_that_count_on_are_taken_once_and_others_are_added_up() {
    let print = |counts: [u64; 2]| {
        format!(
            "  read (us)\n  value  ------------- Distribution ------------- count\n  \
             16 |@@@@ {}\n  32 |@@@@ {}\n  64 | 0\n\n",
            counts[0], counts[1]
        )
    };
    let counts = |found: Application| -> Vec<u64> {
        let [h] = found.histograms.as_slice() else {
            panic!("one distribution")
        };
        h.buckets.iter().map(|b| b.count).collect()
    };
    let on = read(&[print([5, 1]), print([9, 1]), print([9, 4])].concat());
    assert_eq!(
        on.format,
        "DTrace output, 1 distribution, the last of 3 prints that count on"
    );
    assert_eq!(counts(on), [9, 4]);
    let anew = read(&[print([5, 1]), print([4, 1]), print([9, 4])].concat());
    assert_eq!(anew.format, "DTrace output, 1 distribution, of 3 prints");
    assert_eq!(counts(anew), [18, 6]);
}

#[test]
fn bpftrace_says_the_unit_in_the_name_of_its_map_and_abbreviates_powers_of_1024() {
    let found = read(
        "Attaching 4 probes...\n^C\n\n\
         @start[4711]: 88123456789\n\n\
         @usecs[nfsd_read]: \n\
         [0]                    1 |@                                                   |\n\
         [2, 4)                 0 |                                                    |\n\
         [512, 1K)             10 |@@@@@@@@@@                                          |\n\
         [1K, 2K)             426 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|\n\
         [1M, 2M)               1 |                                                    |\n\n\
         @ns[nfsd_write]: \n\
         (..., 0)               0 |                                                    |\n\
         [100, 200)             2 |@@@@                                                |\n\
         [10000, ...)           1 |@@                                                  |\n",
    );
    assert_eq!(
        found.histograms,
        [
            of(
                OperationKind::Write,
                vec![bucket(100, 200, 2), bucket(10_000, None, 1)]
            ),
            of(
                OperationKind::Read,
                vec![
                    bucket(0, US, 1),
                    bucket(512 * US, 1_024 * US, 10),
                    bucket(1_024 * US, 2_048 * US, 426),
                    bucket(1_048_576 * US, 2_097_152 * US, 1),
                ]
            ),
        ]
    );
    assert_eq!(found.format, "bpftrace output, 2 distributions");
}

#[test]
fn both_bounds_of_bcc_belong_to_a_row_and_times_between_prints_are_no_titles() {
    let print = |time: &str, n: u64| {
        format!(
            "{time}:\n\noperation = 'read'\n     usecs               : count     distribution\n         \
             0 -> 1          : 4        |                                        |\n         \
             2 -> 3          : 0        |                                        |\n         \
             4 -> 7          : {n}     |**************                          |\n\n"
        )
    };
    let text = format!(
        "Tracing NFS operation latency... Hit Ctrl-C to end.\n\n{}{}",
        print("11:02:39", 71),
        print("11:02:40", 20)
    );
    let found = read(&text);
    assert!(found.of_clients && !read(DTRACE).of_clients);
    let buckets = vec![bucket(0, 2 * US, 8), bucket(4 * US, 8 * US, 91)];
    assert_eq!(found.histograms, [of(OperationKind::Read, buckets)]);
    assert_eq!(
        found.format,
        "output of a BCC tool, 1 distribution, of 2 prints"
    );
}

const FUNCTION: &str = "Tracing 1 functions for \"nfsd_vfs_read\"... Hit Ctrl-C to end.\n^C\n\
     nsecs               : count     distribution\n\
\x20     1024 -> 2047       : 3        |************                            |\n\
\x20     2048 -> 4095       : 10       |****************************************|\n\n";

#[test]
fn the_sum_that_funclatency_says_is_kept_if_it_is_of_this_distribution() {
    let with = |total: &str| {
        let found = read(&format!("{FUNCTION}{total}\nDetaching...\n"));
        found.histograms[0].total_ns
    };
    assert_eq!(
        with("avg = 2500 nsecs, total: 32512 nsecs, count: 13"),
        Some(32_512)
    );
    assert_eq!(
        with("avg = 2 usecs, total: 32 usecs, count: 13"),
        Some(32_000)
    );
    assert_eq!(
        with("avg = 2500 nsecs, total: 32512 nsecs, count: 14"),
        None
    );
    assert_eq!(with(""), None);
    assert_eq!(read(FUNCTION).histograms[0].kind, OperationKind::Read);
}

#[test]
fn what_tells_of_disks_is_kept_apart() {
    let disks = "Tracing block device I/O... Hit Ctrl-C to end.\n^C\n\
         flags = Read\n     usecs           : count     distribution\n       \
         128 -> 255      : 22       |                                      |\n\
         flags = Sync-Write\n     usecs           : count     distribution\n       \
         256 -> 511      : 3        |                                      |\n";
    let both = read_named(&[("d", DTRACE.as_bytes()), ("b", disks.as_bytes())], 9).unwrap();
    assert_eq!(both.histograms, dtrace());
    assert!(!both.is_of_disks_alone());
    let below = both.disks.expect("the disks'");
    assert_eq!(
        below.histograms,
        [
            of(OperationKind::Read, vec![bucket(128 * US, 256 * US, 22)]),
            of(OperationKind::Write, vec![bucket(256 * US, 512 * US, 3)]),
        ]
    );
    assert!(read(disks).is_of_disks_alone());
    let rows = read(
        "TIME(s)     COMM           PID    DISK    T SECTOR     BYTES  QUE(ms) LAT(ms)\n\
         0.000000    kworker/u72:1  13379  nvme1n1 W 1142400    4096      0.01    0.55\n\
         0.000771    Web R Content  22177  nvme1n1 R 41963894   3072      0.11    0.47\n",
    );
    let below = rows.disks.expect("the disks'");
    let told = below.operations.iter().map(|o| (o.kind, o.end_ns, o.size));
    assert_eq!(
        told.collect::<Vec<_>>(),
        [
            (OperationKind::Write, 550 * US, Some(4_096)),
            (OperationKind::Read, 470 * US, Some(3_072))
        ]
    );
}

/// libbpf-tools' (biosnoop.c): flags as the kernel's tracers write them (`blk_fill_rwbs`), and what `-Q` adds.
#[test]
fn flags_of_an_i_o_say_what_it_is() {
    let rows = read(
        "TIME(s)     COMM           PID     DISK    T    SECTOR     BYTES   LAT(ms)\n\
         0.000000    jbd2/nvme0n1p1 449     nvme0n1 WS   43125680   4096      0.25\n\
         0.010000    my prog WS     2210    nvme0n1 RA   2097152    131072    0.50\n\
         0.020000    jbd2/nvme0n1p1 449     nvme0n1 WFS  43125688   4096      1.25\n\
         0.030000    fstrim         99      nvme0n1 D    8192       1048576   2.00\n\
         0.040000    kworker/0:1H   9       nvme0n1 FF   0          0         3.00\n\
         0.050000    odd            9       nvme0n1 X    0          0         4.00\n",
    );
    let below = rows.disks.expect("the disks'");
    let told = below.operations.iter().map(|o| (o.kind, o.end_ns / US));
    assert_eq!(
        told.collect::<Vec<_>>(),
        [
            (OperationKind::Write, 250),
            (OperationKind::Read, 500),
            (OperationKind::Write, 1_250),
            (OperationKind::Other, 2_000),
            (OperationKind::Other, 3_000),
        ]
    );
    assert_eq!(
        below.first_skipped.as_deref(),
        Some("log, line 7: not a row of this tool's columns")
    );
}

#[test]
fn a_distribution_without_a_unit_of_time_is_refused_with_its_line_and_the_cure() {
    let without = DTRACE.replace("(us)", "");
    let message = error(&without);
    assert!(
        message.starts_with("log holds no finished operation; check the first line that could not be read: log, line 6: a distribution whose unit is not said; name it in the title above, as (us)"),
        "{message}"
    );
    let bytes = FUNCTION.replace("nsecs ", "bytes ");
    assert!(error(&bytes).contains("log, line 3: a distribution of something else than time"));
    let back = DTRACE.replace("  16 |", "  40 |");
    let found = read(&back);
    assert_eq!(found.histograms, dtrace()[1..]);
    assert_eq!(
        found.first_skipped.as_deref(),
        Some("log, line 6: the rows of this distribution are not in order")
    );
}

#[test]
fn slow_rows_of_bcc_have_an_offset_and_the_least_that_they_show() {
    let found = read(
        "Tracing ext4 operations slower than 10 ms\n\
         TIME     COMM           PID    T BYTES   OFF_KB   LAT(ms) FILENAME\n\
         06:35:01 cron           16464  R 1249    0          16.05 common-auth\n\
         06:35:02 rs:main Q:Reg  1826   W 8192    60         31.85 a b 7 W 1 2 3 syslog\n\
         06:35:02 dconf-service  2599   S 0       0          22.75 user.BHDKOY\n\
         06:35:03 broken         R\n",
    );
    assert_eq!(found.slower_than_ns, Some(10 * MS));
    let told = found.operations.iter();
    let told = told.map(|o| (o.kind, o.offset, o.size, o.end_ns, o.absolute));
    assert_eq!(
        told.collect::<Vec<_>>(),
        [
            (
                OperationKind::Read,
                Some(0),
                Some(1_249),
                16_050 * US,
                false
            ),
            (
                OperationKind::Write,
                Some(61_440),
                Some(8_192),
                31_850 * US,
                false
            ),
            (OperationKind::Other, None, Some(0), 22_750 * US, false),
        ]
    );
    assert_eq!(
        found.first_skipped.as_deref(),
        Some("log, line 6: not a row of this tool's columns")
    );
}

#[test]
fn rows_between_blanks_and_csv_of_bcc_are_rows() {
    let found = read(
        "Attaching 3 probes...\n\
         start_ns            latency_us op   offset\n\
         1795366702403934341 1500       read 8192\n\
         1795366702404000000 20         write 0\n",
    );
    assert_eq!(
        super::times(&found),
        [
            (1_795_366_702_403_934_341, 1_795_366_702_405_434_341),
            (1_795_366_702_404_000_000, 1_795_366_702_404_020_000)
        ]
    );
    let found = read(
        "ENDTIME_us,TASK,PID,TYPE,BYTES,OFFSET_b,LATENCY_us,FILE\n\
         87054476520,dd,22754,W,1048576,0,425,1.test\n\
         87054512432,cp,22756,R,131072,131072,22,1.test\n",
    );
    let told = found
        .operations
        .iter()
        .map(|o| (o.kind, o.offset, o.end_ns - o.start_ns));
    assert_eq!(
        told.collect::<Vec<_>>(),
        [
            (OperationKind::Write, Some(0), 425 * US),
            (OperationKind::Read, Some(131_072), 22 * US)
        ]
    );
    assert!(!found.operations[0].absolute);
}

fn waits(counts: [u64; 3]) -> String {
    format!(
        "EVENT                     WAIT_TIME_MILLI WAIT_COUNT\n\
         ------------------------- --------------- ----------\n\
         control file sequential read            1        700\n\
         db file sequential read                 1 {:10}\n\
         db file sequential read                 2 {:10}\n\
         db file sequential read                64 {:10}\n\
         db file scattered read                 64         12\n\n6 rows selected.\n\n",
        counts[0], counts[1], counts[2]
    )
}

#[test]
fn waits_of_oracle_are_what_was_counted_between_two_prints() {
    let one = waits([100, 10, 1]);
    let found = read(&one);
    let all = vec![
        bucket(0, MS, 100),
        bucket(MS, 2 * MS, 10),
        bucket(32 * MS, 64 * MS, 1),
    ];
    assert_eq!(found.histograms, [of(OperationKind::Read, all)]);
    assert!(
        found
            .format
            .contains("one print: since the database was started"),
        "{}",
        found.format
    );
    let two = [waits([130, 10, 4]), one].concat();
    let since = vec![bucket(0, MS, 30), bucket(32 * MS, 64 * MS, 3)];
    for text in [
        two.clone(),
        two.replace("WAIT_TIME_MILLI", "wait_time_milli"),
    ] {
        let found = read(&text);
        assert_eq!(found.histograms, [of(OperationKind::Read, since.clone())]);
        assert_eq!(
            found.format,
            "Oracle's event histogram of db file sequential read, difference of 2 prints"
        );
    }
    let micro =
        "\"EVENT\",\"WAIT_TIME_MICRO\",\"WAIT_COUNT\"\n\"db file sequential read\",256,17\n";
    let lowest = vec![bucket(0, 256 * US, 17)];
    assert_eq!(read(micro).histograms, [of(OperationKind::Read, lowest)]);
    let other = waits([1, 1, 1]).replace("db file sequential read", "log file sync");
    assert!(
        error(&other).contains("it has no rows of db file sequential read"),
        "{}",
        error(&other)
    );
}
