//! What NFS-Ganesha counts: recorded with 4.3 (Debian 12), `ganesha_stats v3_full`, `iov3` and `v4_full` before and after a
//! load.

use super::{read, read_named};
use crate::OperationKind;

/// Number and mean of each kind, which is there once, but for others.
fn means(first: &str, second: &str, kind: OperationKind) -> Vec<(u64, i64)> {
    let files = [("a", first.as_bytes()), ("b", second.as_bytes())];
    let found = read_named(&files, 100).unwrap();
    assert_eq!(
        found.format,
        "NFS-Ganesha's statistics, difference of 2 snapshots"
    );
    assert!(found.of_servers);
    assert_eq!(found.skipped_lines, 0, "{:?}", found.first_skipped);
    let of = found.samples.iter().filter(|s| s.kind == kind);
    of.map(|s| (s.count, s.latency_ns)).collect()
}

const FULL: [&str; 2] = [
    include_str!("recorded/ganesha-4.3-v3-1.txt"),
    include_str!("recorded/ganesha-4.3-v3-2.txt"),
];
const EXPORTS: [&str; 2] = [
    include_str!("recorded/ganesha-4.3-iov3-1.txt"),
    include_str!("recorded/ganesha-4.3-iov3-2.txt"),
];
const VERSION_4: [&str; 2] = [
    include_str!("recorded/ganesha-4.3-v4-1.txt"),
    include_str!("recorded/ganesha-4.3-v4-2.txt"),
];

#[test]
fn two_prints_are_what_passed_between_them() {
    let [a, b] = FULL;
    // 775 READs of 19.917 us less 286 of 14.535 us.
    assert_eq!(means(a, b, OperationKind::Read), [(489, 23_064)]);
    assert_eq!(means(a, b, OperationKind::Write), [(211, 49_750)]);
    // GETATTR, LOOKUP, ACCESS, FSINFO and COMMIT once each.
    let others = means(a, b, OperationKind::Other);
    assert_eq!(others.iter().map(|(n, _)| n).sum::<u64>(), 5);
    // In one file as well, and the later one first.
    let both = read(&format!("{b}\n{a}"));
    assert!(
        both.samples
            .iter()
            .any(|s| (s.count, s.latency_ns) == (489, 23_064))
    );
}

#[test]
fn exports_tell_the_same_in_nanoseconds() {
    let [a, b] = EXPORTS;
    assert_eq!(
        means(a, b, OperationKind::Read),
        [(489, (15_435_812 - 4_157_030) / 489)]
    );
    assert_eq!(
        means(a, b, OperationKind::Write),
        [(211, (13_978_795 - 3_481_585) / 211)]
    );
}

#[test]
fn version_4_has_no_duplicates_and_operations_of_compounds() {
    let [a, b] = VERSION_4;
    let reads = means(a, b, OperationKind::Read);
    assert_eq!((reads.len(), reads[0].0), (1, 341));
    assert!(means(a, b, OperationKind::Other).len() > 3);
}

#[test]
fn one_print_says_that_it_is_one_and_damage_is_counted() {
    let one = read(FULL[0]);
    assert!(one.format.contains("one snapshot"), "{}", one.format);
    let broken = FULL[0].replace("READ              286", "READ              x86");
    let found = read(&broken);
    assert_eq!(
        found.first_skipped.as_deref(),
        Some("log, line 11: a count or a mean is no number")
    );
    let found = read(&EXPORTS[0].replace("READv3: \t 2342912", "READv3: \t 23x"));
    assert_eq!((found.skipped_lines, found.samples.len()), (1, 1));
}

#[test]
fn prints_of_two_versions_are_two() {
    let [a, b] = [0, 1].map(|i| format!("{}\n{}", FULL[i], VERSION_4[i]));
    let found = read_named(&[("a", a.as_bytes()), ("b", b.as_bytes())], 100).unwrap();
    assert_eq!(
        found.format,
        "NFS-Ganesha's statistics, difference of 2 snapshots, and difference of 2 snapshots"
    );
    let of = |kind| found.samples.iter().filter(move |s| s.kind == kind);
    let reads: u64 = of(OperationKind::Read).map(|s| s.count).sum();
    assert_eq!(reads, 489 + 341);
    // Exports tell the same once more.
    let all = format!("{}\n{}", FULL[0], EXPORTS[0]);
    assert_eq!(
        read(&all)
            .samples
            .iter()
            .filter(|s| s.kind == OperationKind::Read)
            .count(),
        1
    );
}

#[test]
fn what_rounding_may_have_made_is_left_out() {
    let print = |count, mean| {
        format!(
            "NFSv3 Detailed statistics\nGETATTR {count} 0 0 | {mean} 0.0 1.0\nREAD {count} 0 0 | 1.0 0.0 2.0\n"
        )
    };
    let found = read(&(print(100_000_000, "0.003501") + &print(100_001_000, "0.003500")));
    assert_eq!(
        found.format,
        "NFS-Ganesha's statistics, difference of 2 snapshots; 1 left out whose times are rounded to more than they changed by"
    );
    let told: Vec<(u64, i64)> = found
        .samples
        .iter()
        .map(|s| (s.count, s.latency_ns))
        .collect();
    assert_eq!(told, [(1_000, 1_000_000)]);
}
