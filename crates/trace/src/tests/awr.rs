//! Reports as Oracle prints them.

use super::{error, read};
use crate::{Bucket, OperationKind};

const REPORT: &str = "\
WORKLOAD REPOSITORY report for

DB Name         DB Id    Instance     Inst Num Startup Time    Release     RAC
------------ ----------- ------------ -------- --------------- ----------- ---
ORCL          1460768431 orcl                1 10-Nov-26 08:00 12.1.0.2.0  NO

              Snap Id      Snap Time      Sessions Curs/Sess
            --------- ------------------- -------- ---------
Begin Snap:        37 24-Nov-26 12:00:00        25       1.6
  End Snap:        38 24-Nov-26 13:00:00        27       2.1
   Elapsed:               60.00 (mins)
   DB Time:              120.50 (mins)

Load Profile              Per Second    Per Transaction   Per Exec   Per Call
~~~~~~~~~~~~         ---------------    --------------- ---------- ----------
      DB Time(s):                2.0                0.1       0.01       0.04
      User calls:            1,050.5                8.2
";

const HISTOGRAM: &str = "\
Wait Event Histogram                         DB/Inst: ORCL/orcl  Snaps: 37-38

                                                    % of Waits
                                 -----------------------------------------------
                           Total
Event                      Waits  <1ms  <2ms  <4ms  <8ms <16ms <32ms  <=1s   >1s
-------------------------- ----- ----- ----- ----- ----- ----- ----- ----- -----
db file scattered read     14.4K  54.3   8.5   6.1  16.6  11.5   2.6    .4
db file sequential read     329K  88.5                    10.0         1.5    .0

Wait Event Histogram Detail (64 msec to 2 sec)DB/Inst: ORCL/orcl  Snaps: 37-38
                           Waits
                           64ms
Event                      to 2s <32ms <64ms <1/8s <1/4s <1/2s   <1s   <2s  >=2s
db file sequential read      495  10.0
";

#[test]
fn a_call_takes_the_database_s_time_by_the_number_of_calls() {
    let found = read(REPORT);
    let [sample] = found.samples.as_slice() else {
        panic!("{found:?}")
    };
    // 7,230 s of 3,781,800 calls.
    assert_eq!(
        (sample.count, sample.latency_ns, sample.kind),
        (3_781_800, 1_911_788, OperationKind::Other)
    );
    assert_eq!(found.format, "Oracle's AWR report");
}

#[test]
fn waits_stand_in_the_columns_of_their_steps() {
    let found = read(&format!("{REPORT}{HISTOGRAM}"));
    let [histogram] = found.histograms.as_slice() else {
        panic!("{found:?}")
    };
    let bucket = |from_ms: i64, until_ms: i64, count| Bucket {
        from_ns: from_ms * 1_000_000,
        until_ns: Some(until_ms * 1_000_000),
        count,
    };
    assert_eq!(
        histogram.buckets,
        [
            bucket(0, 1, 291_165),
            bucket(8, 16, 32_900),
            bucket(32, 1_024, 4_935)
        ]
    );
    assert_eq!((found.samples.len(), found.skipped_lines), (1, 0));
}

#[test]
fn a_row_that_fits_no_column_is_counted_and_a_report_without_either_is_refused() {
    let found = read(&format!(
        "{REPORT}{}",
        HISTOGRAM.replace("10.0         1.5", "10.0        1.5 ")
    ));
    assert_eq!((found.histograms.len(), found.skipped_lines), (0, 1));
    assert!(error("WORKLOAD REPOSITORY report for\n").contains("no DB Time with User calls"));
}
