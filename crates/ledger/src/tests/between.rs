//! Silences of streams that may lie between messages, and acknowledgements that a receiver keeps back.

use super::*;
use crate::{Between, FullLine, Paced};
use model::Pace;

/// A stream's stretch: 10 ms pass, its sender does not write for 5 ms.
fn stream(d: Direction, between: Between) -> Ledger {
    let mut classes = Classes::default();
    let mut time = PerClass::default();
    time[TimeClass::Transfer] = 10 * MS;
    time[TimeClass::SenderApplication] = 5 * MS;
    classes.set(d, [time, time]);
    let mut ledger = Ledger::default();
    divide_stream(d, &classes, between, Bounds::exactly(0), &mut ledger);
    ledger
}

fn lines(ledger: &Ledger) -> Vec<(Cause, i64)> {
    let lines = ledger.lines().into_iter();
    let mut lines: Vec<_> = lines.map(|l| (l.cause, l.ns.lo_ns / MS)).collect();
    lines.sort_unstable();
    lines
}

#[test]
fn what_a_client_does_not_write_behind_an_answer_is_nobody_s_and_a_server_s_silence_may_be_an_event()
 {
    let between = Between {
        own_ns: 4 * MS,
        server_ns: 30 * MS,
    };
    let ledger = stream(Direction::ToServer, between);
    assert_eq!(ledger.response, Bounds::exactly(45 * MS));
    let want = [
        (Cause::NotWriting, 1),
        (Cause::Idle, 4),
        (Cause::Event, 30),
        (Cause::Transfer, 10),
    ];
    assert_eq!(lines(&ledger), want);
    let unknown = [Cause::Idle, Cause::Event].map(|c| c.of(Direction::ToServer).1);
    assert_eq!(unknown, [Place::Unknown; 2]);
}

#[test]
fn what_a_server_does_not_write_behind_a_request_may_be_an_event() {
    let between = Between {
        own_ns: 5 * MS,
        server_ns: 0,
    };
    let ledger = stream(Direction::ToClient, between);
    assert_eq!(lines(&ledger), [(Cause::Event, 5), (Cause::Transfer, 10)]);
    let none = stream(Direction::ToClient, Between::default());
    assert_eq!(
        lines(&none),
        [(Cause::NotWriting, 5), (Cause::Transfer, 10)]
    );
}

#[test]
fn what_a_receiver_keeps_back_is_no_line_that_is_full() {
    let line = Some(FullLine::Shared(8_000_000));
    let paced = Paced::of(Pace::Unknown, MS, line).expect("a line");
    // 100 kB took 120 ms to leave.
    let charged = |paced: Paced| {
        let mut ledger = Ledger::default();
        ledger.clear(Bounds::exactly(120 * MS));
        let left = paced.charge(Direction::ToClient, Some(100_000), 120 * MS, &mut ledger);
        let lines = ledger.lines().into_iter().map(|l| (l.cause, l.ns));
        (lines.collect::<Vec<_>>(), left)
    };
    let full = Bounds::exactly(120 * MS);
    assert_eq!(charged(paced), (vec![(Cause::Bandwidth, full)], 0));
    let half = Bounds::between(60 * MS, 120 * MS);
    assert_eq!(
        charged(paced.kept_back()),
        (vec![(Cause::NotReading, half)], 0)
    );
    assert_eq!(paced.kept_back().cause(), Some(Cause::NotReading));
    let (_, reader) = Cause::NotReading.of(Direction::ToClient);
    assert_eq!(reader, Place::Client);
}
