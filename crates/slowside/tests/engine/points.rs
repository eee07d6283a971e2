//! Two inputs that are one capture: they are read as one, and it is said.

use crate::kit::{EPOCH, Plan, Row, Script, TempFile, Wire, diagnosis, diagnosis_of, rows};
use analysis::results::Diagnosis;
use slowside::Captures;
use testkit::{Frame, Random, TestPacket, faults};

fn script() -> (Script, Vec<TestPacket>) {
    let plan = Plan {
        calls: 60,
        ..Plan::default()
    };
    let script = Script::new(plan, &mut Random::new(11));
    let packets = faults::clock(&script.packets(Wire::default()), EPOCH, 0);
    (script, packets)
}

/// One capture, all calls of it, and a note that says why it is one.
fn assert_is_one(d: &Diagnosis, truth: &[Row]) {
    assert_eq!(d.captures.len(), 1, "{:?}", d.notes);
    assert_eq!(d.captures[0].files.len(), 2);
    assert_eq!(d.captures[0].calls, truth.len() as u64);
    assert_eq!(d.captures[0].half_calls, []);
    let summaries = d.ops.iter().filter_map(|o| o.client.or(o.server));
    let count: u64 = summaries.map(|s| s.count).sum();
    assert_eq!(count, truth.len() as u64);
    assert!(
        d.notes
            .iter()
            .any(|n| n.to_string().contains("one capture")),
        "{:?}",
        d.notes
    );
}

#[test]
fn a_copy_of_a_capture_is_the_same_capture() {
    let (script, packets) = script();
    assert_is_one(&diagnosis_of(&packets, &packets), &script.truth);
}

#[test]
fn a_copy_by_another_clock_is_read_once() {
    let (script, packets) = script();
    for offset in [1_000_000, -20_000_000, -7_000_000_000, 40_000_000_000_000] {
        let copy = faults::clock(&packets, offset, 0);
        for d in [diagnosis_of(&packets, &copy), diagnosis_of(&copy, &packets)] {
            assert_eq!(d.captures.len(), 1, "{:?}", d.notes);
            assert_eq!(d.captures[0].calls, script.truth.len() as u64);
            let said = d
                .notes
                .iter()
                .any(|n| n.to_string().contains("another clock"));
            assert!(said, "{:?}", d.notes);
        }
    }
}

#[test]
fn the_two_files_of_a_rotated_set_are_one_capture() {
    let (script, packets) = script();
    for at in [1, packets.len() / 3, packets.len() / 2, packets.len() - 4] {
        let (first, second) = packets.split_at(at);
        assert_is_one(&diagnosis_of(first, second), &script.truth);
        assert_is_one(&diagnosis_of(second, first), &script.truth);
    }
}

#[test]
fn the_two_directions_of_a_tap_are_one_capture() {
    let (script, packets) = script();
    let from_client = |p: &TestPacket| Frame::read(p).is_some_and(|f| f.source.port() == 1000);
    let (requests, replies): (Vec<_>, Vec<_>) = packets.into_iter().partition(from_client);
    assert_is_one(&diagnosis_of(&requests, &replies), &script.truth);
}

#[test]
fn the_two_ports_of_a_bond_are_one_capture() {
    let (script, packets) = script();
    let mut random = Random::new(12);
    let (one, other): (Vec<_>, Vec<_>) = packets.into_iter().partition(|_| random.chance(500));
    let (one, other) = (TempFile::capture(&one), TempFile::capture(&other));
    // Said to be one capture, as a directory or three files would say it.
    let both = [one.paths(), other.paths()].concat();
    let mut found = rows(&both, 1);
    for time in found.iter_mut().flat_map(|r| r.times.iter_mut().flatten()) {
        *time -= EPOCH;
    }
    assert_eq!(found, script.truth);
    let d = diagnosis(&Captures::One(both));
    assert_eq!(d.captures[0].calls, script.truth.len() as u64);
}
