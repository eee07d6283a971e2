use super::{error, read, read_named};
use crate::OperationSummary;

fn summary(op: &str, count: u64, queue_ms: i64, rtt_ms: i64, execute_ms: i64) -> OperationSummary {
    OperationSummary {
        op: op.to_string(),
        count,
        queue_ns: queue_ms * 1_000_000,
        rtt_ns: rtt_ms * 1_000_000,
        execute_ns: execute_ms * 1_000_000,
        retransmits: 0,
        timeouts: 0,
        errors: 0,
        means_only: false,
    }
}

fn mountstats(age: u64, read: &str, write: &str) -> String {
    format!(
        "device rootfs mounted on / with fstype rootfs\n\
         device proc mounted on /proc with fstype proc\n\
         device fs1:/data mounted on /data with fstype nfs4 statvers=1.1\n\
         \topts:\trw,vers=4.1,rsize=1048576\n\
         \tage:\t{age}\n\
         \tsec:\tflavor=1,pseudoflavor=1\n\
         \tevents:\t1 2 3\n\
         \tRPC iostats version: 1.1  p/v: 100003/4 (nfs)\n\
         \txprt:\ttcp 0 1 2 0 11 2563 2563 0 3221 0\n\
         \tper-op statistics\n\
         \t        NULL: 1 1 0 44 24 0 0 0 0\n\
         \t        READ: {read}\n\
         \t       WRITE: {write}\n\
         \n"
    )
}

#[test]
fn two_snapshots_are_subtracted_whatever_their_order() {
    let before = mountstats(100, "1000 1000 0 1 1 50 900 1000 0", "10 10 0 1 1 0 5 5 0");
    let after = mountstats(
        160,
        "1600 1603 1 1 1 29050 4900 34000 2",
        "10 10 0 1 1 0 5 5 0",
    );
    let expected = OperationSummary {
        retransmits: 3,
        timeouts: 1,
        errors: 2,
        ..summary("READ", 600, 29_000, 4_000, 33_000)
    };
    for files in [[&before, &after], [&after, &before]] {
        let files = files.map(|text| ("stats", text.as_bytes()));
        let found = read_named(&files, 10).unwrap();
        assert_eq!(found.summaries, std::slice::from_ref(&expected));
        assert_eq!(
            found.format,
            "difference of 2 /proc/self/mountstats snapshots, 60 s apart, 1 NFS mount"
        );
        assert_eq!(found.skipped_lines, 0);
    }
    let both = format!("{before}{after}");
    assert_eq!(read(&both).summaries, [expected]);
}

#[test]
fn a_line_above_each_snapshot_may_say_when_it_was_taken() {
    let stamp = "# 2026-03-01T14:00:00.000Z cat /proc/self/mountstats\n";
    let before = mountstats(100, "10 10 0 1 1 5 9 10 0", "1 1 0 1 1 0 5 5 0");
    let after = mountstats(104, "16 16 0 1 1 11 15 16 0", "1 1 0 1 1 0 5 5 0");
    let found = read(&format!("{stamp}{before}{stamp}{after}"));
    assert_eq!(found.summaries, [summary("READ", 6, 6, 6, 6)]);
    assert_eq!(found.skipped_lines, 0);
}

#[test]
fn one_snapshot_is_everything_since_the_mount() {
    let found = read(&mountstats(100, "4 4 0 1 1 1 6 8", "0 0 0 0 0 0 0 0"));
    assert_eq!(
        found.summaries,
        [summary("NULL", 1, 0, 0, 0), summary("READ", 4, 1, 6, 8)]
    );
    assert!(
        found.format.contains("totals since the mount"),
        "{}",
        found.format
    );
}

#[test]
fn mounts_are_summed_and_shared_superblocks_count_once() {
    let first = mountstats(100, "4 4 0 1 1 1 6 8 0", "2 2 0 1 1 1 1 2 0");
    let same = first.replace("mounted on /data", "mounted on /also");
    let other = mountstats(90, "6 6 0 1 1 2 3 5 0", "0 0 0 0 0 0 0 0 0")
        .replace("fs1:/data mounted on /data", "fs2:/log mounted on /log");
    let found = read(&format!("{first}{same}{other}"));
    assert_eq!(
        found.summaries,
        [
            summary("NULL", 2, 0, 0, 0),
            summary("READ", 10, 3, 9, 13),
            summary("WRITE", 2, 1, 1, 2)
        ]
    );
}

#[test]
fn a_mount_that_is_new_in_the_second_snapshot_counts_whole() {
    let before = mountstats(100, "1000 1000 0 1 1 50 900 1000 0", "0 0 0 0 0 0 0 0 0");
    let other = mountstats(500, "7 7 0 1 1 1 1 1 0", "0 0 0 0 0 0 0 0 0")
        .replace("fs1:/data mounted on /data", "fs2:/log mounted on /log");
    let again = mountstats(20, "5 5 0 1 1 1 2 3 0", "0 0 0 0 0 0 0 0 0");
    let other_later = other.replace("\t500", "\t560");
    let files = [format!("{before}{other}"), format!("{again}{other_later}")];
    let files = [&files[0], &files[1]].map(|text| ("stats", text.as_bytes()));
    let found = read_named(&files, 10).unwrap();
    assert_eq!(
        found.summaries,
        [summary("NULL", 1, 0, 0, 0), summary("READ", 5, 1, 2, 3)]
    );
}

#[test]
fn malformed_counters_are_counted() {
    let found = read(&mountstats(100, "4 4 0 1 1 1 6 8 0", "4 4 0 x 1 1 6 8 0"));
    assert_eq!(found.skipped_lines, 1);
    assert_eq!(
        found.first_skipped.as_deref(),
        Some("log, line 13: not an operation with eight or nine counters")
    );
    assert!(
        error("device proc mounted on /proc with fstype proc\n")
            .starts_with("log holds no finished operation; ")
    );
}

const HEADINGS: &str = "            ops/s            kB/s           kB/op         retrans    avg RTT (ms)    avg exe (ms)  avg queue (ms)          errors";

fn mean(op: &str, queue_us: i64, rtt_us: i64, execute_us: i64) -> OperationSummary {
    OperationSummary {
        op: op.to_string(),
        count: 1,
        queue_ns: queue_us * 1000,
        rtt_ns: rtt_us * 1000,
        execute_ns: execute_us * 1000,
        retransmits: 0,
        timeouts: 0,
        errors: 0,
        means_only: true,
    }
}

#[test]
fn nfsiostat_gives_means_of_read_and_write() {
    let found = read(&format!(
        "\nfs1:/data mounted on /data:\n\n           ops/s       rpc bklog\n          13.841           0.000\n\n\
         read:  {HEADINGS}\n                  13.069         207.339          15.866        1 (0.5%)           4.536          33.595          29.032        2 (1.0%)\n\
         write: {HEADINGS}\n                   0.000           0.000           0.000        0 (0.0%)           0.000           0.000           0.000        0 (0.0%)\n"
    ));
    assert_eq!(
        found.summaries,
        [OperationSummary {
            retransmits: 1,
            errors: 2,
            ..mean("READ", 29_032, 4_536, 33_595)
        }]
    );
    assert_eq!(
        found.format,
        "nfsiostat output, 1 report: means weighted by ops/s, number of operations unknown"
    );
    assert_eq!(found.skipped_lines, 0);
}

#[test]
fn the_old_layout_of_nfsiostat_has_a_figure_per_line() {
    let found = read(
        "fs1:/data mounted on /data:\n\n   op/s\t\trpc bklog\n 262.16 \n\t   0.00\n\
         read:\n ops/s\t kB/s\t kB/op\t retrans\t avg RTT (ms)\t avg exe (ms)\n\
         \t 11.557 \n\t356.081 \n\t 30.812 \n\t      0 (0.0%) \n\t  5.167 \n\t  5.239\n\
         write:\n ops/s\t kB/s\t kB/op\t retrans\t avg RTT (ms)\t avg exe (ms)\n\
         \t  3.620 \n\t105.680 \n\t 29.190 \n\t      0 (0.0%) \n\t 16.032 \n\t331.458\n",
    );
    assert_eq!(
        found.summaries,
        [
            mean("READ", 72, 5_167, 5_239),
            mean("WRITE", 315_426, 16_032, 331_458)
        ]
    );
}

#[test]
fn reports_of_intervals_replace_the_one_since_the_mount_and_weigh_by_rate() {
    let report = |rate: &str, rtt: &str, execute: &str| {
        format!(
            "Fri Nov 20 10:53:56 UTC 2026\nfs1:/data mounted on /data:\nread: ops/s kB/s kB/op retrans avg RTT (ms) avg exe (ms)\n {rate} 1 1 0 (0.0%) {rtt} {execute}\n"
        )
    };
    let found = read(&format!(
        "{}{}{}",
        report("999", "999", "999"),
        report("10.0", "1.0", "2.0"),
        report("30.0", "5.0", "10.0")
    ));
    assert_eq!(found.summaries, [mean("READ", 4_000, 4_000, 8_000)]);
    assert!(found.format.contains("3 reports"), "{}", found.format);
}

#[test]
fn nfsiostat_blocks_that_end_early_or_hold_no_figures_are_counted() {
    let found = read(&format!(
        "fs1:/data mounted on /data:\nread: {HEADINGS}\n 1 1 1\nwrite: {HEADINGS}\n 1 1 1 0 (0%) 1 2 nan 0 (0%)\nread: {HEADINGS}\n 1 1 1 0 (0%) 1 2 1 0 (0%)\n"
    ));
    assert_eq!(found.skipped_lines, 2);
    assert_eq!(found.summaries, [mean("READ", 1_000, 1_000, 2_000)]);
}
