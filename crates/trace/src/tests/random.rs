//! No input panics, and whatever comes out is sound.

use super::read_named;
use proptest::prelude::*;

fn check(bytes: &[u8]) {
    if let Ok(found) = read_named(&[("a", bytes), ("b", bytes)], 50) {
        assert!(found.operations.len() <= 50);
        assert!(found.operations.iter().all(|o| o.start_ns <= o.end_ns));
        let buckets = || found.histograms.iter().flat_map(|h| &h.buckets);
        assert!(buckets().all(|b| b.count > 0 && b.until_ns.is_none_or(|u| b.from_ns <= u)));
        assert!(!found.format.is_empty());
        assert_eq!(found.skipped_lines > 0, found.first_skipped.is_some());
    }
}

/// Pieces that bring random text past the detection and into the readers.
fn piece() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "start_ns",
        "end_ns",
        "time",
        "latency_us",
        "op",
        "offset",
        "t_enq_ns",
        ",",
        ", ",
        ";",
        "\"",
        "\"\"",
        "\n",
        "\r\n",
        "\n\n",
        "0",
        "1",
        "-1",
        "5",
        "4096",
        "1795166662233654921",
        "9223372036854775807",
        "18446744073709551615",
        "1e18",
        "-1e300",
        "nan",
        "inf",
        ".",
        "0x10",
        "5, 10, 0, 4096\n",
        "5, 10, 0, 4096, 1, 0\n",
        "READ: 1 2 3 4 5 6 7 8 9\n",
        "READ:",
        "age: 7\n",
        "age: -7\n",
        "\tper-op statistics\n",
        "device a:/b mounted on /c with fstype nfs4 statvers=1.1\n",
        "device a:/b mounted on /c with fstype nfs\n",
        "a:/b mounted on /c:\n",
        "read: ",
        "write:\n",
        "avg queue (ms) ",
        "errors\n",
        "(",
        ")",
        "value  ------------- Distribution ------------- count\n",
        " read (us)\n",
        "16 |@@ 50\n",
        "< 0 | 3\n",
        ">= 9 | 3\n",
        "@usecs[read]:\n",
        "[512, 1K) 10 |@|\n",
        "[1E, ...) 10 |@|\n",
        "(..., 0) 10 |@|\n",
        " usecs : count distribution\n",
        " 8 -> 15 : 7107 |***|\n",
        "9223372036854775807 -> 9223372036854775807 : 7 |***|\n",
        "avg = 2 usecs, total: 32 usecs, count: 13\n",
        "TIME COMM PID T BYTES OFF_KB LAT(ms) FILENAME\n",
        "06:35:01 cron 16464 R 1249 0 16.05 common-auth\n",
        "EVENT WAIT_TIME_MILLI WAIT_COUNT\n",
        "db file sequential read 1 9\n",
        "2026-11-24 13:37:13.209 UTC [3] LOG:  duration: 21.759 ms  bind <unnamed>: x\n",
        "2026-11-24 13:37:13.209 UTC [3] LOG:  duration: ",
        " ms  execute a\n",
        "# Time: 2026-11-24T13:37:29.123456Z\n",
        "# User@Host: a[a] @ b [10.0.0.1]\n",
        "# Query_time: 0.5 ",
        "SET timestamp=1795527449;\n",
        "queryid,calls,total_exec_time\n",
        "COUNT_STAR\tSUM_TIMER_WAIT\n",
        "1,2,3.5\n",
        " 1.5 ",
        "\u{feff}",
        "é",
    ]);
    prop_oneof![8 => word.prop_map(str::to_string), 1 => "\\PC{0,8}"]
}

fn beginning() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "",
        "start_ns,end_ns\n",
        "time,latency_ms\n",
        "end_ns,latency_ns\n",
        "5, 10, 0, 4096\n",
        "device a:/b mounted on /c with fstype nfs4 statvers=1.1\n\tage: 5\n\tper-op statistics\n",
        "a:/b mounted on /c:\nread: ",
        "read (us)\nvalue  ------------- Distribution ------------- count\n",
        "@us:\n[1, 2) 1 |@|\n",
        " usecs : count distribution\n",
        "TIME COMM PID T BYTES OFF_KB LAT(ms) FILENAME\n",
        "EVENT WAIT_TIME_MILLI WAIT_COUNT\n",
        "2026-11-24 13:37:13.209 UTC [3] LOG:  duration: 21.759 ms\n",
        "# User@Host: a[a] @ b [10.0.0.1]\n",
        "queryid,calls,total_exec_time\n",
    ])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        check(&bytes);
    }

    #[test]
    fn text_never_panics(start in beginning(), pieces in prop::collection::vec(piece(), 0..80)) {
        check(format!("{start}{}", pieces.concat()).as_bytes());
    }

    #[test]
    fn a_csv_gives_its_rows_back(rows in prop::collection::vec((0..1_i64 << 60, 0..1_i64 << 40), 1..40)) {
        let absolute = rows[0].0 >= 100_000_000_000_000_000;
        let same_clock = |&(start, latency): &(i64, i64)| {
            (start >= 100_000_000_000_000_000) == absolute
                && (start + latency >= 100_000_000_000_000_000) == absolute && start + latency > 0
        };
        let rows: Vec<_> = rows.into_iter().filter(same_clock).collect();
        prop_assume!(!rows.is_empty());
        let mut text = "latency_ns,start_ns\n".to_string();
        for (start, latency) in &rows {
            text.push_str(&format!("{latency},{start}\n"));
        }
        let found = read_named(&[("a", text.as_bytes())], 100).unwrap();
        let ends: Vec<_> = rows.iter().map(|(start, latency)| (*start, start + latency)).collect();
        prop_assert_eq!(super::times(&found), ends);
    }
}
