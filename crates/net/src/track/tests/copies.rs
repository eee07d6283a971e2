//! Packets that come again with less time to live: copies behind a router, and what goes round.

use super::*;

#[test]
fn what_falls_again_and_again_goes_round() {
    let mut t = Script::new();
    t.open();
    for round in 0..3 {
        t.c(1 + round * 3, 1, b"abc");
        for _ in 0..6 {
            t.copy(300 * US);
            let ttl = t.segments[t.segments.len() - 2].ttl;
            t.segments.last_mut().unwrap().ttl = ttl - 2;
        }
        t.s(1, 4 + round * 3, b"");
    }
    let [to_server, _] = t.one().summary().directions;
    assert_eq!(to_server.duplicate_packets, 18);
    assert_eq!(to_server.duplicates_routed, 18);
    assert_eq!(to_server.looped_packets, 3);
    let frames = to_server.first_duplicate.map(|two| two.map(|p| p.frame));
    assert_eq!(frames, Some([4, 5]));
}

#[test]
fn a_mirror_on_both_sides_of_a_router_is_no_circle() {
    let mut t = Script::new();
    t.open();
    for round in 0..20 {
        t.c(1 + round * 3, 1, b"abc");
        t.copy(30 * US);
        t.segments.last_mut().unwrap().ttl = 63;
    }
    let [to_server, _] = t.one().summary().directions;
    assert_eq!(
        (to_server.duplicates_routed, to_server.looped_packets),
        (20, 0)
    );
}

#[test]
fn copies_come_behind_rows_that_grow() {
    let mut t = Script::new();
    t.step = US;
    t.open();
    let (mut at, mut sent) = (1, 0);
    for row in [10_u32, 20, 40, 80, 160, 320, 640] {
        let first = t.segments.len();
        for _ in 0..row {
            t.c(at, 1, b"abc");
            at += 3;
        }
        for original in first..t.segments.len() {
            let later = MS / 2;
            t.copy_of(t.segments[original], later);
        }
        t.wait(MS);
        t.s(1, at, b"");
        sent += u64::from(row);
    }
    let [to_server, _] = t.one().summary().directions;
    assert_eq!(to_server.duplicate_packets, sent);
    assert_eq!(to_server.retransmitted_packets, 0);
}
