//! No input panics, and whatever comes out is sound.

use super::read_named;
use proptest::prelude::*;

fn check(bytes: &[u8]) {
    if let Ok(found) = read_named(&[("a", bytes), ("b", bytes)], 50) {
        assert!(found.operations.len() <= 50);
        assert!(found.operations.iter().all(|o| o.start_ns <= o.end_ns));
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
