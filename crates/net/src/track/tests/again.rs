//! What is sent again: whether it was lost, or had arrived, and what its receiver says of that.

use super::*;

#[test]
fn a_timestamp_echo_from_before_the_retransmission_shows_that_nothing_was_lost() {
    for (echo, spurious) in [(100, true), (350, false)] {
        let mut t = Script::new();
        t.open();
        t.c(1, 1, b"abc").tcp.timestamps = Some((100, 0));
        t.wait(250 * MS);
        t.c(1, 1, b"abc").tcp.timestamps = Some((350, 0));
        t.wait(MS);
        t.s(1, 4, b"").tcp.timestamps = Some((7, echo));
        let seen = t.one();
        assert_eq!(seen.episodes[0].spurious, spurious, "echo {echo}");
    }
}

#[test]
fn a_duplicate_sack_after_the_episode_shows_that_nothing_was_lost() {
    let mut t = Script::new();
    t.open();
    t.c(1, 1, b"abc");
    t.wait(250 * MS);
    t.c(1, 1, b"abc");
    t.s(1, 4, b"");
    t.wait(MS);
    let duplicate = t.s(1, 4, b"");
    duplicate.tcp.sack[0] = (1_001, 1_004);
    duplicate.tcp.sack_count = 1;
    let seen = t.one();
    assert!(seen.episodes[0].spurious);
    assert_eq!(seen.episodes[0].order, 5);
}

/// What came of a direction is what its receiver says: it lacked what stands between, or had it.
#[test]
fn bytes_that_passed_and_that_their_receiver_lacked_are_counted_and_so_are_those_it_had_twice() {
    let again = |lacked: bool, twice: bool| {
        let mut t = Script::new();
        t.open();
        t.s(1, 1, b"abc");
        t.s(4, 1, b"def");
        let told = t.c(1, 1, b"");
        if lacked {
            told.tcp.sack[0] = (1_000 + SERVER_ISN + 4, 1_000 + SERVER_ISN + 7);
            told.tcp.sack_count = 1;
        }
        t.s(1, 1, b"abc");
        let told = t.c(1, 7, b"");
        if twice {
            told.tcp.sack[0] = (1_000 + SERVER_ISN + 1, 1_000 + SERVER_ISN + 4);
            told.tcp.sack_count = 1;
        }
        let [_, said] = t.one().summary().directions;
        (said.lacked_bytes, said.received_twice_bytes)
    };
    assert_eq!(again(true, false), (3, 0));
    assert_eq!(again(false, false), (0, 0));
    assert_eq!(again(false, true), (0, 3));
    assert_eq!(again(true, true), (3, 3));
}

/// It got through with the same size before, when it was sent again.
#[test]
fn a_segment_that_is_sent_in_vain_is_told_with_whether_others_arrived() {
    let stuck = |first: &[u8]| {
        let mut t = Script::new();
        t.open();
        t.c(1, 1, first);
        t.wait(250 * MS);
        t.c(1, 1, first);
        let next = 1 + first.len() as u32;
        t.s(1, next, b"");
        for _ in 0..5 {
            t.c(next, 1, b"abc");
            t.wait(250 * MS);
        }
        let told = t.one().summary().directions[0]
            .stuck
            .expect("it never arrived");
        (told.times, told.others_arrived)
    };
    assert_eq!(stuck(b"xyz"), (4, true));
    assert_eq!(stuck(b"xy"), (4, false));
}

#[test]
fn bytes_sent_again_after_they_were_acknowledged_were_not_lost() {
    let mut t = Script::new();
    t.open();
    t.c(1, 1, b"abc");
    t.s(1, 4, b"");
    t.wait(250 * MS);
    t.c(1, 1, b"abc");
    let seen = t.one();
    assert_eq!(seen.episodes.len(), 1);
    assert!(seen.episodes[0].spurious);
}

/// The timer ran out, and what had been written meanwhile leaves as the recovery ends; it was not pushed, so there was more.
#[test]
fn what_the_end_of_a_recovery_lets_go_had_stood_behind_it_and_so_had_what_follows() {
    let full = vec![b'x'; 1_448];
    let mut t = Script::new();
    t.step = 10_000;
    t.open();
    t.c(1, 1, b"get");
    t.s(1, 4, b"abc");
    let lost = t.segments.last().unwrap().mark.time;
    t.c(4, 1, b"get");
    t.wait(250 * MS);
    t.s(1, 7, b"abc");
    t.wait(MS);
    t.c(7, 4, b"");
    for n in 0..3 {
        t.s(4 + n * 1_448, 7, &full).tcp.flags = Flags(ACK);
    }
    t.wait(MS);
    t.c(7, 4 + 3 * 1_448, b"");
    t.s(4 + 3 * 1_448, 7, &full);
    let seen = t.one();
    let full_ones = seen.chunks.iter().filter(|c| c.data.len() == 1_448);
    let since: Vec<_> = full_ones.map(|c| c.held_since.map(|h| h.at)).collect();
    assert_eq!(since, [Some(lost); 4]);
}
