//! A server's own operations, and which call has which row for certain.

use super::*;
use crate::ledgers::Timed;

#[test]
fn a_server_s_operation_takes_the_call_that_encloses_it() {
    let (calls, operations) = served(8 * MS, MS);
    let c = server_used(rows(operations), &calls);
    assert_eq!((c.facts.by, c.facts.matched), (ComparedBy::Time, 10));
    assert_eq!(
        (c.facts.application_mean_ns, c.facts.host_mean_ns),
        (MS, 9 * MS)
    );
    // Each call has a row and each row a call, and nothing else was under way.
    let first = Timed {
        ns: MS,
        before_ns: Some(8 * MS),
    };
    assert_eq!(c.joined.operations.get(&4), Some(&first));
    assert_eq!(c.joined.operations.len(), 10);
    let facts = ServerFacts::of(&c);
    assert_eq!(
        (facts.before_mean_ns, facts.behind_mean_ns),
        (Some(8 * MS), Some(MS))
    );
    assert_eq!(
        (facts.slow_took_ns, facts.slow_beyond_ns),
        (100 * MS, 90 * MS)
    );
}

#[test]
fn by_time_alone_an_operation_is_one_call_s_where_no_other_may_be() {
    let certain = |calls: &[Call], operations: &[Operation]| {
        server_used(rows(operations.to_vec()), calls)
            .joined
            .operations
            .len()
    };
    let (calls, operations) = served(8 * MS, MS);
    assert_eq!(certain(&calls, &operations), 10);
    // Another call is under way at the same time as the last one, with an operation of its own.
    let (mut two, mut both) = (calls.clone(), operations.clone());
    two.push(read(455 * MS, 470 * MS));
    both.push(row(465 * MS, 466 * MS));
    assert_eq!(certain(&two, &both), 9);
    // The log leaves out what is short, and another client's may stand in its place.
    assert_eq!(certain(&calls, &operations[1..]), 0);
    // An operation that served nobody here: any of the others may be such.
    both = operations.clone();
    both.push(row(120 * MS, 121 * MS));
    assert_eq!(certain(&calls, &both), 0);
    // One from before the capture began is no matter.
    both = operations;
    both.insert(0, row(-20 * MS, -10 * MS));
    assert_eq!(certain(&calls, &both), 10);
}

#[test]
fn what_an_application_waits_before_and_after_its_call_is_told_apart() {
    let calls: Vec<Call> = (0..10)
        .map(|i| read(i * 50 * MS, (i * 50 + 10) * MS))
        .collect();
    let operations = (0..10).map(|i| row(i * 50 * MS - 5 * MS, (i * 50 + 12) * MS));
    let (c, notes) = held_against(rows(operations.collect()), Whose::Application, &calls);
    let c = c.unwrap_or_else(|| panic!("{notes}"));
    let timed = Timed {
        ns: 17 * MS,
        before_ns: Some(5 * MS),
    };
    assert_eq!(c.joined.operations.len(), 10);
    assert_eq!(c.joined.operations.get(&3), Some(&timed));
}

#[test]
fn a_server_s_operation_with_an_offset_is_that_call_s() {
    let (calls, operations) = served(2 * MS, 3 * MS);
    // The offset of `read`.
    let placed = operations.iter().map(|o| Operation {
        offset: Some(0),
        ..*o
    });
    let c = server_used(rows(placed.collect()), &calls);
    assert_eq!((c.facts.by, c.facts.matched), (ComparedBy::Offset, 10));
    assert_eq!(c.joined.operations.get(&4).map(|o| o.ns), Some(3 * MS));
    assert_eq!(c.joined.operations.len(), 10);
    // Of another place it is no call's.
    let elsewhere = operations.iter().map(|o| Operation {
        offset: Some(7),
        ..*o
    });
    let notes = server_refused(rows(elsewhere.collect()), &calls);
    assert!(
        notes.contains("only 0 of 10 rows lie within the time of one of the 10 calls. Is the clock that of the server's host"),
        "{notes}"
    );
}

/// Calls that wait for their turn enclose the operations of others.
#[test]
fn calls_that_enclose_many_operations_take_the_last_of_them() {
    let calls: Vec<Call> = (0..100)
        .map(|i| read((i - 30) * MS, (i + 1) * MS))
        .collect();
    let of = |i: i64| row(i * MS + MS / 10, (i + 1) * MS - MS / 10);
    let c = server_used(rows((0..100).map(of).collect()), &calls);
    assert_eq!(c.facts.matched, 100);
    assert_eq!(c.facts.host_total_ns, 100 * (31 * MS - MS * 8 / 10));
}

/// At the border of what clocks of one host may differ by.
#[test]
fn an_operation_that_no_call_encloses_is_no_call_s() {
    let within = |early: i64| {
        let (calls, operations) = served(0, 10 * MS);
        let earlier = operations.iter().map(|o| Operation {
            start_ns: o.start_ns - early,
            end_ns: o.end_ns - early,
            ..*o
        });
        held_against(rows(earlier.collect()), Whose::Server, &calls).0
    };
    let facts = within(SLACK_NS).expect("within the slack");
    assert_eq!((facts.facts.matched, facts.facts.host_mean_ns), (10, 0));
    // An operation that is longer than its call is not its.
    let (calls, operations) = served(-MS, 12 * MS);
    assert!(server_refused(rows(operations), &calls).contains("only 0 of 10 rows"));
}

#[test]
fn a_server_s_rows_of_another_hour_or_kind_are_refused() {
    let (calls, operations) = served(MS, MS);
    let later = operations.iter().map(|o| Operation {
        start_ns: o.start_ns + 3_600_000 * MS,
        end_ns: o.end_ns + 3_600_000 * MS,
        ..*o
    });
    assert_eq!(
        server_refused(rows(later.collect()), &calls),
        "The server's times were left out: none of 10 rows lies within the capture: they begin 1 h 0 min later than it does."
    );
    let writes = operations.iter().map(|o| Operation {
        kind: OperationKind::Write,
        ..*o
    });
    assert!(server_refused(rows(writes.collect()), &calls).contains("holds no WRITE"));
}

#[test]
fn means_of_a_server_are_held_against_the_shortest_calls_and_never_above_them() {
    let quick = (0..10).map(|i| read(i * 50 * MS, i * 50 * MS + 4 * MS));
    let slow = (0..10).map(|i| read(i * 50 * MS, i * 50 * MS + 40 * MS));
    let all: Vec<Call> = quick.chain(slow).collect();
    let list = |n, ns| samples(vec![sample(None, None, 1, ns); n]);
    let c = server_used(list(10, MS), &all);
    assert_eq!(
        (c.facts.by, c.facts.host_mean_ns),
        (ComparedBy::Mean, 3 * MS)
    );
    assert!(
        c.facts
            .basis
            .to_string()
            .contains("10 shortest of 20 calls"),
        "{}",
        c.facts.basis
    );
    assert_eq!(server_used(list(20, MS), &all).facts.host_mean_ns, 21 * MS);
    let notes = server_refused(list(20, 30 * MS), &all);
    assert!(notes.contains("contradict the capture"), "{notes}");
}

#[test]
fn what_a_client_counts_is_no_server_s() {
    let app = Application {
        format: "nfsiostat".into(),
        ..Application::default()
    };
    let notes = server_refused(app, &calls());
    assert!(
        notes.contains("nfsiostat is what a client notes"),
        "{notes}"
    );
}
