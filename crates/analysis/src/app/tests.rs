//! Operations and calls made by hand: each rule, its border, and what must not be.

use super::*;
use crate::text::Text;
use crate::trace_join::tests::call;
use model::{Name, Time};
use trace::{Operation, Sample};

mod server;
mod steps;

const MS: i64 = 1_000_000;
const START: i64 = 1_700_000_000_000 * MS;

fn row(from: i64, until: i64) -> Operation {
    Operation {
        start_ns: START + from,
        end_ns: START + until,
        absolute: true,
        kind: OperationKind::Read,
        offset: None,
        size: Some(8_192),
        client: None,
        session: None,
    }
}

/// A READ of 10.0.0.1.
fn read(from: i64, until: i64) -> Call {
    call(1, 0, 8_192, START + from, START + until)
}

fn rows(operations: Vec<Operation>) -> Application {
    Application {
        operations,
        format: "CSV".into(),
        ..Application::default()
    }
}

/// So many operations with a mean, in an interval.
fn sample(from: Option<i64>, until: Option<i64>, count: u64, latency_ns: i64) -> Sample {
    Sample {
        from_ns: from.map(|t| START + t),
        until_ns: until.map(|t| START + t),
        kind: OperationKind::Unsaid,
        count,
        latency_ns,
        client: None,
    }
}

fn samples(samples: Vec<Sample>) -> Application {
    Application {
        samples,
        format: "CSV".into(),
        ..Application::default()
    }
}

/// Against a capture from 0 to 1 s.
fn compared(app: Application, calls: &[Call]) -> (Option<AppFacts>, String) {
    let (compared, notes) = held_against(app, Whose::Application, calls);
    (compared.map(|c| c.facts), notes)
}

fn held_against(app: Application, whose: Whose, calls: &[Call]) -> (Option<Compared>, String) {
    let mut m = RowMatch::new(&Arc::new(app), whose, 2 * MS);
    for (row, c) in (0..).zip(calls) {
        m.call(c, row);
    }
    let capture = CaptureResult {
        first: Some(Time(START)),
        last: Some(Time(START + 1_000 * MS)),
        ..CaptureResult::default()
    };
    let (compared, notes) = m.finish(0, &[capture]);
    (compared, Text::list(notes, " ").to_string())
}

fn used(app: Application, calls: &[Call]) -> AppFacts {
    let (facts, notes) = compared(app, calls);
    facts.unwrap_or_else(|| panic!("{notes}"))
}

fn refused(app: Application, calls: &[Call]) -> String {
    let (facts, notes) = compared(app, calls);
    assert!(facts.is_none(), "{facts:?}");
    notes
}

/// Ten calls of 1 ms, 50 ms apart.
fn calls() -> Vec<Call> {
    (0..10)
        .map(|i| read(i * 50 * MS, (i * 50 + 1) * MS))
        .collect()
}

/// An operation around each of them, with so much before and behind it.
fn around(before: i64, behind: i64) -> Vec<Operation> {
    let of = |i: i64| row(i * 50 * MS - before, (i * 50 + 1) * MS + behind);
    (0..10).map(of).collect()
}

#[test]
fn an_operation_without_an_offset_takes_the_call_that_it_contains() {
    for kind in [OperationKind::Read, OperationKind::Unsaid] {
        let operations = around(4 * MS, MS).into_iter();
        let operations = operations.map(|o| Operation { kind, ..o });
        let facts = used(rows(operations.collect()), &calls());
        assert_eq!((facts.by, facts.matched), (ComparedBy::Time, 10));
        assert_eq!((facts.host_mean_ns, facts.host_total_ns), (5 * MS, 50 * MS));
        assert!(
            facts
                .basis
                .to_string()
                .contains("10 of 10 operations found on the wire by time")
        );
    }
    let writes = around(4 * MS, MS).into_iter();
    let writes = writes
        .map(|o| Operation {
            kind: OperationKind::Write,
            ..o
        })
        .collect();
    assert!(refused(rows(writes), &calls()).contains("holds no WRITE at that time"));
}

/// A queue above the wire: each operation contains many calls, and its own ended last before it did.
#[test]
fn operations_that_contain_many_calls_take_the_nearest_each() {
    let calls: Vec<Call> = (0..100)
        .map(|i| read(i * MS, (i + 1) * MS - i * 1_000))
        .collect();
    let of = |i: i64| row((i - 40) * MS, (i + 1) * MS);
    let facts = used(rows((0..100).map(of).collect()), &calls);
    assert_eq!(facts.matched, 100);
    let took: i64 = (0..100).map(|i| MS - i * 1_000).sum();
    assert_eq!(facts.host_total_ns, 100 * 41 * MS - took);
}

#[test]
fn a_call_is_taken_once_and_only_if_it_is_contained() {
    // Two operations around one call.
    let twice = vec![row(-MS, 3 * MS), row(-MS, 4 * MS)];
    assert_eq!(used(rows(twice), &[read(0, MS)]).matched, 1);
    // At the border of the slack, and beyond it: no shift makes room for a call that is longer.
    let tight = |less| vec![row(less, MS - less)];
    assert_eq!(used(rows(tight(SLACK_NS)), &[read(0, MS)]).matched, 1);
    let notes = refused(rows(tight(SLACK_NS * 2)), &[read(0, MS)]);
    assert!(
        notes.contains("only 0 of 1 rows have one of the 1 calls"),
        "{notes}"
    );
}

/// A log in milliseconds notes ends too early.
#[test]
fn the_grain_of_a_log_is_slack() {
    let early = around(MS, -MS / 2);
    let app = Application {
        grain_ns: MS,
        ..rows(early)
    };
    assert_eq!(
        used(app, &calls())
            .basis
            .to_string()
            .matches("clock")
            .count(),
        0
    );
}

#[test]
fn a_clock_within_a_second_is_found_and_one_beyond_is_not() {
    // At irregular times, so that there is one shift only.
    let begin = |i: i64| (i * 40 + i * i % 23) * MS;
    let calls: Vec<Call> = (0..20).map(|i| read(begin(i), begin(i) + MS)).collect();
    let shifted = |by: i64| {
        let of = |i| row(begin(i) + by - MS / 10, begin(i) + by + MS + MS / 10);
        rows((0..20).map(of).collect())
    };
    for by in [-900 * MS, 333 * MS, 900 * MS] {
        let facts = used(shifted(by), &calls);
        assert_eq!(
            (facts.matched, facts.host_mean_ns),
            (20, MS / 5),
            "{}",
            facts.basis
        );
        assert!(
            facts.basis.to_string().contains("its clock is"),
            "{}",
            facts.basis
        );
    }
    assert!(refused(shifted(1_300 * MS), &calls).contains("only 0 of"));
}

/// Operations of another program at other moments.
#[test]
fn operations_that_contain_no_calls_are_refused_with_their_number() {
    let of = |i: i64| {
        row(
            (i * 50 + 20 + i * i % 17) * MS,
            (i * 50 + 20 + i * i % 17) * MS + MS / 2,
        )
    };
    let notes = refused(rows((0..10).map(of).collect()), &calls());
    assert!(
        notes.contains("only 0 of 10 rows have one of the 10 calls within their time"),
        "{notes}"
    );
}

#[test]
fn rows_of_another_hour_are_refused_with_their_distance() {
    let hour = 3_960_000 * MS;
    let later = around(MS, MS).into_iter().map(|o| Operation {
        start_ns: o.start_ns + hour,
        end_ns: o.end_ns + hour,
        ..o
    });
    assert_eq!(
        refused(rows(later.collect()), &calls()),
        "The application's times were left out: none of 10 rows lies within the capture: they begin 1 h 6 min later than it does."
    );
    // Partly: the rest is used, and counted.
    let mut some = around(MS, MS);
    some.push(row(hour, hour + MS));
    let (facts, notes) = compared(rows(some), &calls());
    assert_eq!(facts.map(|f| (f.operations, f.matched)), Some((10, 10)));
    assert!(
        notes.contains("1 of 11 rows of the application lie outside of the capture"),
        "{notes}"
    );
}

#[test]
fn rows_of_another_host_are_refused_with_its_name() {
    let named = |numbers: &[Option<u16>]| {
        let operations = around(MS, MS).into_iter().zip(numbers.iter().cycle());
        Application {
            clients: vec![[10, 0, 0, 77].into(), [10, 0, 0, 1].into()],
            ..rows(
                operations
                    .map(|(o, n)| Operation { client: *n, ..o })
                    .collect(),
            )
        }
    };
    let mut other = named(&[Some(0)]);
    other.clients.truncate(1);
    assert_eq!(
        refused(other, &calls()),
        "The application's times were left out: the rows are of 10.0.0.77, and the calls of the capture are of 10.0.0.1."
    );
    // Rows of two hosts: each has its own calls. A row that names none may be anybody's.
    let (facts, _) = compared(named(&[Some(0), Some(1)]), &calls());
    assert_eq!(facts.map(|f| f.matched), Some(5));
    let (facts, _) = compared(named(&[Some(0), None]), &calls());
    assert_eq!(facts.map(|f| f.matched), Some(5));
}

#[test]
fn a_list_of_latencies_is_held_against_the_mean_of_the_calls() {
    let list = |ns: &[i64]| samples(ns.iter().map(|&ns| sample(None, None, 1, ns)).collect());
    let facts = used(list(&[4 * MS; 10]), &calls());
    assert_eq!((facts.by, facts.matched), (ComparedBy::Mean, 0));
    assert_eq!((facts.host_mean_ns, facts.host_total_ns), (3 * MS, 30 * MS));
    assert!(facts.basis.to_string().contains("not call by call"));
    // A tenth less may be the same work; more is none, and never a negative time.
    let facts = used(list(&[MS * 9 / 10; 10]), &calls());
    assert_eq!(facts.host_mean_ns, 0);
    let notes = refused(list(&[MS * 9 / 10 - 1; 10]), &calls());
    assert!(notes.contains("they contradict the capture"), "{notes}");
    assert!(
        notes.contains("10 calls take 1.00 ms on average"),
        "{notes}"
    );
}

/// Others' calls make the mean of all small: the application's own may be the slow ones.
#[test]
fn calls_of_others_invent_no_time_above_the_wire() {
    let slow = (0..10).map(|i| read(i * 50 * MS, (i * 50 + 40) * MS));
    let quick = (0..100).map(|i| read(i * MS, i * MS + MS / 10));
    let all: Vec<Call> = slow.chain(quick).collect();
    let list = samples(vec![sample(None, None, 1, 40 * MS); 10]);
    let facts = used(list, &all);
    assert_eq!(facts.host_mean_ns, 0);
    assert!(
        facts.basis.to_string().contains("10 longest of 110 calls"),
        "{}",
        facts.basis
    );
    // As many as there are calls, but for a tenth: all of them.
    let list = samples(vec![sample(None, None, 1, 40 * MS); 100]);
    assert!(
        used(list, &all)
            .basis
            .to_string()
            .contains("mean of the 110 calls")
    );
}

#[test]
fn averages_are_held_against_the_calls_of_the_same_time() {
    // Calls of 1 ms, then of 20 ms.
    let mut all = calls();
    all.extend((10..20).map(|i| read(i * 50 * MS, (i * 50 + 20) * MS)));
    let second_half = vec![
        sample(Some(500 * MS), Some(700 * MS), 4, 22 * MS),
        sample(Some(700 * MS), Some(1_000 * MS), 6, 24 * MS),
    ];
    let facts = used(samples(second_half.clone()), &all);
    assert_eq!(
        (facts.operations, facts.application_mean_ns),
        (10, 23_200_000)
    );
    assert_eq!(facts.host_mean_ns, 3_200_000);
    assert!(
        facts
            .basis
            .to_string()
            .contains("10 calls in the same time"),
        "{}",
        facts.basis
    );
    // Intervals without operations count for nothing, others are counted out.
    let mut more = second_half;
    more.push(sample(Some(800 * MS), Some(900 * MS), 0, 0));
    more.push(sample(Some(90_000 * MS), Some(91_000 * MS), 50, MS));
    let (facts, notes) = compared(samples(more), &all);
    assert_eq!(facts.map(|f| f.host_mean_ns), Some(3_200_000));
    assert!(
        notes.contains("1 of 4 intervals of the application lie outside"),
        "{notes}"
    );
}

#[test]
fn averages_of_another_time_or_of_nothing_are_refused() {
    let later = vec![sample(Some(7_200_000 * MS), Some(7_201_000 * MS), 5, MS)];
    assert!(
        refused(samples(later), &calls())
            .contains("none of 1 intervals lies within the capture: they begin 2 h 0 min later")
    );
    let idle = vec![sample(Some(0), Some(MS), 0, 0)];
    assert!(refused(samples(idle), &calls()).contains("they count no operation"));
    let before = vec![sample(Some(600 * MS), Some(700 * MS), 5, MS)];
    assert!(refused(samples(before), &calls()).contains("holds no call at that time"));
}

/// An hour's average costs no more than what the capture shows of that hour.
#[test]
fn the_cost_of_an_average_is_that_of_the_capture() {
    let hour = samples(vec![sample(
        Some(-1_800_000 * MS),
        Some(1_800_000 * MS),
        36_000,
        4 * MS,
    )]);
    let facts = used(hour, &calls());
    assert_eq!((facts.operations, facts.host_total_ns), (11, 33 * MS));
}

/// A row that says neither read nor write is of a call that is neither; one that says nothing, of data first.
#[test]
fn kinds_choose_the_calls() {
    let mut all = calls();
    for c in &calls() {
        let mut other = c.clone();
        other.op = Name::of("GETATTR");
        other.request_first = other.request_first.map(|m| model::Mark {
            time: m.time + 10 * MS,
            ..m
        });
        other.response_last = other.response_last.map(|m| model::Mark {
            time: m.time + 10 * MS,
            ..m
        });
        all.push(other);
    }
    let of = |kind| {
        let long = around(MS, 14 * MS).into_iter();
        rows(long.map(|o| Operation { kind, ..o }).collect())
    };
    for (kind, basis) in [
        (OperationKind::Other, 10),
        (OperationKind::Unsaid, 10),
        (OperationKind::Read, 10),
    ] {
        assert_eq!(used(of(kind), &all).matched, basis);
    }
    let others: Vec<Call> = all
        .into_iter()
        .filter(|c| c.op.as_str() != "READ")
        .collect();
    assert_eq!(used(of(OperationKind::Unsaid), &others).matched, 10);
    assert!(refused(of(OperationKind::Read), &others).contains("holds no READ"));
}

fn server_used(app: Application, calls: &[Call]) -> Compared {
    let (compared, notes) = held_against(app, Whose::Server, calls);
    compared.unwrap_or_else(|| panic!("{notes}"))
}

fn server_refused(app: Application, calls: &[Call]) -> String {
    let (compared, notes) = held_against(app, Whose::Server, calls);
    assert!(compared.is_none());
    notes
}

/// Ten calls of 10 ms, 50 ms apart, and the operation within each: it begins so late, and lasts so long.
fn served(late: i64, took: i64) -> (Vec<Call>, Vec<Operation>) {
    let calls = |i: i64| read(i * 50 * MS, (i * 50 + 10) * MS);
    let rows = |i: i64| row(i * 50 * MS + late, i * 50 * MS + late + took);
    ((0..10).map(calls).collect(), (0..10).map(rows).collect())
}
