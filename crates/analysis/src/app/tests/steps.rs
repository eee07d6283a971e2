//! Distributions of which only steps are known: what their bounds prove, and what is refused.

use super::*;
use trace::{Bucket, Histogram};

/// So many operations of each step, from and until in milliseconds.
fn steps(steps: &[(i64, i64, u64)]) -> Application {
    let bucket = |&(from, until, count): &(i64, i64, u64)| Bucket {
        from_ns: from * MS,
        until_ns: Some(until * MS),
        count,
    };
    Application {
        histograms: vec![Histogram {
            kind: OperationKind::Read,
            buckets: steps.iter().map(bucket).collect(),
            total_ns: None,
        }],
        format: "DTrace output, 1 distribution".into(),
        ..Application::default()
    }
}

fn bounds(facts: &AppFacts) -> [(i64, Option<i64>); 2] {
    let b = facts.bounds.expect("bounds");
    [b.own, b.between].map(|r| (r.least_ns / MS, r.most_ns.map(|ns| ns / MS)))
}

#[test]
fn what_calls_take_beyond_a_server_s_steps_is_certain_by_its_upper_bounds() {
    // Ten calls of 10 ms.
    let (calls, _) = served(0, 0);
    let c = server_used(steps(&[(1, 2, 9), (2, 4, 1)]), &calls);
    assert_eq!((c.facts.by, c.facts.matched), (ComparedBy::Distribution, 0));
    assert_eq!(bounds(&c.facts), [(1, Some(2)), (7, Some(8))]);
    assert_eq!(c.facts.host_mean_ns, 10 * MS - 22 * MS / 10);
    assert_eq!(c.facts.host_total_ns, 10 * c.facts.host_mean_ns);
    let facts = ServerFacts::of(&c);
    assert_eq!(
        (facts.slow_took_ns, facts.slow_beyond_ns),
        (100 * MS, 78 * MS)
    );
    assert_eq!(
        c.facts.basis.to_string(),
        "DTrace output, 1 distribution: bounds of its 10 operations against mean of the 10 calls, not call by call"
    );
}

#[test]
fn bounds_contradict_the_capture_only_where_all_of_them_do() {
    let (calls, _) = served(0, 0);
    let c = server_used(steps(&[(8, 16, 10)]), &calls);
    assert_eq!(bounds(&c.facts), [(8, Some(16)), (0, Some(2))]);
    let notes = server_refused(steps(&[(16, 32, 10)]), &calls);
    assert!(notes.contains("they contradict the capture"), "{notes}");
    // What waited for calls of 10 ms did not take less than a millisecond.
    let notes = refused(steps(&[(0, 1, 10)]), &calls);
    assert!(notes.contains("they contradict the capture"), "{notes}");
}

#[test]
fn above_the_wire_is_what_the_lower_bounds_leave() {
    let (facts, notes) = compared(steps(&[(8, 16, 10)]), &calls());
    let facts = facts.unwrap_or_else(|| panic!("{notes}"));
    assert_eq!(bounds(&facts), [(8, Some(16)), (7, Some(15))]);
    assert_eq!(
        (facts.host_mean_ns, facts.application_mean_ns),
        (7 * MS, 12 * MS)
    );
    assert!(
        notes.starts_with("The application's operations take 8.00 ms to 16.0 ms, of which 7.00 ms to 15.0 ms are above the wire, on average ("),
        "{notes}"
    );
}

#[test]
fn what_a_file_system_opens_and_synchronises_is_held_against_no_call() {
    let (calls, _) = served(0, 0);
    let mut app = steps(&[(1, 2, 10)]);
    let other = Histogram {
        kind: OperationKind::Other,
        ..steps(&[(512, 1_024, 30)]).histograms.remove(0)
    };
    app.histograms.push(other);
    let c = server_used(app, &calls);
    assert_eq!(c.facts.operations, 10);
    assert_eq!(bounds(&c.facts), [(1, Some(2)), (8, Some(9))]);
}

/// Where others were served too, a server's operations may be those of the shortest calls.
#[test]
fn fewer_operations_than_calls_are_held_against_the_shortest_and_prove_little_of_the_slow() {
    let mut calls = served(0, 0).0;
    calls.extend((10..20).map(|i| read(i * 50 * MS, (i * 50 + 4) * MS)));
    let c = server_used(steps(&[(1, 2, 10)]), &calls);
    assert_eq!(bounds(&c.facts), [(1, Some(2)), (2, Some(3))]);
    let facts = ServerFacts::of(&c);
    assert_eq!(
        (facts.slow_took_ns, facts.slow_beyond_ns),
        (140 * MS, 40 * MS - 20 * MS)
    );
}

#[test]
fn slow_rows_alone_are_no_mean() {
    let (calls, operations) = served(0, 9 * MS);
    let slow = operations.iter().map(|o| Operation {
        absolute: false,
        ..*o
    });
    let slow = Application {
        slower_than_ns: Some(5 * MS),
        ..rows(slow.collect())
    };
    let notes = server_refused(slow, &calls);
    assert!(
        notes.contains("they are only those that took 5.00 ms or longer, and do not name the offsets of most calls"),
        "{notes}"
    );
}

#[test]
fn what_clients_count_is_no_server_s() {
    let app = Application {
        of_clients: true,
        ..steps(&[(1, 2, 10)])
    };
    let notes = server_refused(app.clone(), &served(0, 0).0);
    assert!(notes.contains("is what a client notes"), "{notes}");
    assert!(compared(app, &calls()).0.is_some());
}

#[test]
fn disks_are_not_above_the_wire() {
    let disks = Application {
        disks: Some(Arc::new(steps(&[(1, 2, 9)]))),
        format: "output of a BCC tool".into(),
        ..Application::default()
    };
    let notes = refused(disks.clone(), &calls());
    assert!(
        notes.contains("output of a BCC tool is what disks took; give it to --server-app"),
        "{notes}"
    );
    let both = Application {
        disks: disks.disks,
        ..rows(around(MS, MS))
    };
    let (facts, notes) = compared(both, &calls());
    assert!(
        facts.is_some() && notes.contains("What disks took, given beside CSV, was left out"),
        "{notes}"
    );
}
