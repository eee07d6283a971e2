//! Which bytes come out, in which order, and with which gaps.

use super::*;
use Direction::{ToClient, ToServer};
use model::limits;

#[test]
fn bytes_of_both_directions_come_in_order_and_without_copies_of_the_handshake() {
    let mut t = Script::new();
    t.open();
    t.c(1, 1, b"hello ");
    t.c(7, 1, b"world");
    t.s(1, 12, b"fine");
    let seen = t.one();
    assert_eq!(seen.items(ToServer), data(b"hello world"));
    assert_eq!(seen.items(ToClient), data(b"fine"));
    assert_eq!(seen.close(), Close::EndOfCapture);
    let second = &seen.chunks[1];
    assert_eq!((second.sequence, second.frame, second.order), (1_007, 5, 4));
}

#[test]
fn a_capture_that_starts_in_mid_connection_starts_with_its_first_segment() {
    let mut t = Script::new();
    t.c(500, 700, b"abc");
    t.s(700, 503, b"xyz");
    t.c(503, 703, b"def");
    let seen = t.one();
    assert_eq!(seen.items(ToServer), data(b"abcdef"));
    assert_eq!(seen.items(ToClient), data(b"xyz"));
}

/// The answer to the first request was lost, or is late: of its sender the capture has an acknowledgement first.
#[test]
fn what_is_waited_for_when_the_capture_begins_is_read_when_it_is_sent_again() {
    for (heard, read) in [
        (700, &b"xyzuvw"[..]),
        // Who had it does not wait for it.
        (703, b"uvw"),
    ] {
        let mut t = Script::new();
        t.c(500, 700, b"abc");
        t.wait(250 * MS);
        t.s(703, 503, b"");
        t.c(503, heard, b"");
        t.s(700, 503, b"xyz");
        t.c(503, 703, b"def");
        t.s(703, 506, b"uvw");
        let seen = t.one();
        assert_eq!(seen.items(ToServer), data(b"abcdef"));
        assert_eq!(seen.items(ToClient), data(read));
    }
}

#[test]
fn one_captured_direction_is_enough() {
    let mut t = Script::new();
    t.c(500, 700, b"abc");
    t.c(503, 700, b"def");
    let seen = t.one();
    assert_eq!(seen.items(ToServer), data(b"abcdef"));
    assert_eq!(seen.items(ToClient), []);
}

#[test]
fn swapped_segments_are_put_right_and_the_overtaken_one_keeps_its_own_packet() {
    let mut t = Script::new();
    t.open();
    t.c(4, 1, b"def").ip_id = Some(101);
    t.c(1, 1, b"abc").ip_id = Some(100);
    let seen = t.one();
    assert_eq!(seen.items(ToServer), data(b"abcdef"));
    let frames: Vec<_> = seen.chunks.iter().map(|c| (c.frame, c.order)).collect();
    assert_eq!(frames, [(5, 4), (4, 4)]);
    let summary = &seen.summary().directions[0];
    assert_eq!(summary.out_of_order_packets, 1);
    assert_eq!(summary.retransmitted_packets, 0);
    assert!(seen.episodes.is_empty());
}

#[test]
fn overlaps_deliver_each_byte_once_and_the_first_copy_wins() {
    let mut t = Script::new();
    t.open();
    t.c(1, 1, b"abcd");
    t.c(3, 1, b"XXef");
    t.c(9, 1, b"ij");
    t.c(7, 1, b"ghYYkl");
    let seen = t.one();
    assert_eq!(seen.items(ToServer), data(b"abcdefghijkl"));
}

#[test]
fn sequence_numbers_wrap() {
    let mut t = Script::new();
    t.isn = u32::MAX - 3;
    t.open();
    t.c(1, 1, b"ab");
    t.c(3, 1, b"cdef");
    t.c(7, 1, b"gh");
    t.s(1, 9, b"ok");
    let seen = t.one();
    assert_eq!(seen.items(ToServer), data(b"abcdefgh"));
    assert_eq!(seen.chunks[2].sequence, 3);
}

#[test]
fn a_segment_cut_by_the_snap_length_says_how_much_is_missing() {
    let mut t = Script::new();
    t.open();
    t.c(1, 1, b"abcdef").payload_captured = 2;
    t.c(7, 1, b"gh");
    // The same bytes again, more of them captured: too late.
    t.c(1, 1, b"abcdef");
    let seen = t.one();
    assert_eq!(
        seen.items(ToServer),
        [
            Item::Data(b"ab".to_vec()),
            Item::Cut(4),
            Item::Data(b"gh".to_vec())
        ]
    );
}

#[test]
fn a_super_segment_passes_whole() {
    let mut t = Script::new();
    t.open();
    let payload: Vec<u8> = (0..65_160u32).map(|i| i as u8).collect();
    t.c(1, 1, &payload);
    t.s(1, 65_161, b"");
    let seen = t.one();
    assert_eq!(seen.items(ToServer), data(&payload));
}

#[test]
fn bytes_that_were_acknowledged_and_never_seen_are_a_gap_before_the_next_ones() {
    let mut t = Script::new();
    t.open();
    t.c(1, 1, b"abc");
    t.s(1, 24, b"answer");
    t.wait(50 * MS);
    t.c(24, 7, b"next");
    let seen = t.one();
    assert_eq!(
        seen.items(ToServer),
        [
            Item::Data(b"abc".to_vec()),
            Item::Gap(20),
            Item::Data(b"next".to_vec())
        ]
    );
    let summary = &seen.summary().directions[0];
    assert_eq!(summary.missing_from_capture_gaps, 1);
    assert_eq!(summary.missing_from_capture_bytes, 20);
    assert_eq!(summary.retransmitted_packets, 0);
    // The gap was known at once.
    assert_eq!(seen.chunks.last().unwrap().order, 5);
}

#[test]
fn an_acknowledgement_a_little_before_its_data_is_not_a_gap() {
    let mut t = Script::new();
    t.open();
    t.s(1, 4, b"");
    t.c(4, 1, b"def");
    t.s(1, 7, b"");
    t.c(1, 1, b"abc");
    t.c(7, 1, b"ghi");
    let seen = t.one();
    assert_eq!(seen.items(ToServer), data(b"abcdefghi"));
    assert_eq!(seen.summary().directions[0].missing_from_capture_gaps, 0);
}

#[test]
fn without_acknowledgements_a_hole_is_given_up_after_64_segments_or_a_second() {
    let mut t = Script::new();
    t.c(1, 1, b"ab");
    for i in 0..70 {
        t.c(5 + i * 2, 1, b"xy");
    }
    let seen = t.one();
    assert_eq!(seen.items(ToServer)[1], Item::Gap(2));
    let at = seen.chunks[1].order;
    assert_eq!(at, 65);
    let mut t = Script::new();
    t.c(1, 1, b"ab");
    t.c(5, 1, b"cd");
    t.wait(1_100 * MS);
    t.c(7, 1, b"ef");
    assert_eq!(t.one().chunks[1].order, 2);
}

/// A question and its answer, four times, each 4 ms after the one before; the capture lacks some.
fn questions(lacks_answer: &[u32], lacks_question: &[u32]) -> Seen {
    let mut t = Script::new();
    for i in 0..6 {
        if !lacks_question.contains(&i) {
            t.c(1 + i * 2, 1 + i * 3, b"qq");
        }
        t.wait(4 * MS);
        if !lacks_answer.contains(&i) {
            t.s(1 + i * 3, 3 + i * 2, b"aaa");
        }
        t.wait(4 * MS);
    }
    t.one()
}

#[test]
fn what_acknowledges_bytes_that_the_capture_lacks_comes_behind_their_gap() {
    for (answers, questions_lacking) in [
        (&[1][..], &[][..]),
        (&[], &[1]),
        (&[1, 3], &[]),
        (&[1], &[3]),
    ] {
        let seen = questions(answers, questions_lacking);
        let frames: Vec<u32> = seen.chunks.iter().map(|c| c.frame).collect();
        assert!(
            frames.is_sorted(),
            "{answers:?} {questions_lacking:?}: {frames:?}"
        );
        let gaps = |d| {
            seen.items(d)
                .iter()
                .filter(|i| matches!(i, Item::Gap(_)))
                .count()
        };
        assert_eq!(
            [gaps(ToClient), gaps(ToServer)],
            [answers.len(), questions_lacking.len()]
        );
    }
}

#[test]
fn many_losses_of_a_one_way_capture_do_not_pile_up() {
    let mut t = Script::new();
    for i in 0..2_000u32 {
        if i % 5 != 3 {
            t.c(1 + i * 2, 1, b"xy");
        }
    }
    let seen = t.one();
    for chunk in &seen.chunks {
        assert!(
            chunk.order < u64::from(chunk.frame) + 64 || chunk.order == u64::MAX,
            "frame {} waited until {}",
            chunk.frame,
            chunk.order
        );
    }
    // Whether the last 16 would still have come nobody can tell.
    assert_eq!(seen.summary().directions[0].missing_from_capture_gaps, 384);
}

#[test]
fn a_hole_nobody_acknowledges_waits_for_the_retransmission() {
    let mut t = Script::new();
    t.open();
    t.c(1, 1, b"abc");
    t.c(7, 1, b"ghi");
    t.s(1, 4, b"");
    t.wait(1_500 * MS);
    t.c(4, 1, b"def");
    let seen = t.one();
    assert_eq!(seen.items(ToServer), data(b"abcdefghi"));
}

#[test]
fn a_hole_that_nothing_fills_is_given_up_after_five_seconds() {
    let mut t = Script::new();
    t.open();
    t.c(1, 1, b"abc");
    t.c(7, 1, b"ghi");
    t.s(1, 4, b"");
    t.wait(limits::REORDER_WAIT_NS + MS);
    t.c(10, 1, b"jkl");
    let seen = t.one();
    assert_eq!(seen.items(ToServer)[1], Item::Gap(3));
    assert_eq!(seen.summary().directions[0].missing_from_capture_gaps, 0);
}

#[test]
fn a_full_buffer_gives_up_the_oldest_hole_and_is_counted() {
    let mut t = Script::new();
    t.step = 100;
    t.open();
    for i in 0..limits::REORDER_SEGMENTS as u32 + 1 {
        t.c(10 + 2 * i, 1, b"x");
    }
    let (seen, problems) = t.run_with_problems();
    assert_eq!(
        seen[0].items(ToServer)[..2],
        [Item::Gap(9), Item::Data(b"x".to_vec())]
    );
    assert!(
        problems.contains(&("reorder-buffer-full", 1)),
        "{problems:?}"
    );
}

#[test]
fn keep_alives_bring_no_data_with_or_without_their_byte() {
    let mut t = Script::new();
    t.open();
    t.c(1, 1, b"abc");
    t.s(1, 4, b"");
    t.wait(10_000 * MS);
    t.send(ToServer, ACK, 3, 1, b"\0");
    t.s(1, 4, b"");
    t.send(ToServer, ACK, 3, 1, b"");
    t.s(1, 4, b"");
    t.c(4, 1, b"def");
    let seen = t.one();
    assert_eq!(seen.items(ToServer), data(b"abcdef"));
    assert_eq!(seen.summary().directions[0].retransmitted_packets, 0);
    assert!(
        seen.episodes
            .iter()
            .all(|e| e.kind == model::EpisodeKind::SenderSilence)
    );
}

#[test]
fn a_keep_alive_as_the_first_packet_leaves_no_hole() {
    for byte in [&b""[..], b"\0"] {
        let mut t = Script::new();
        t.send(ToServer, ACK, 99, 1, byte);
        t.s(1, 100, b"");
        t.c(100, 1, b"abc");
        let seen = t.one();
        assert_eq!(seen.items(ToServer), data(b"abc"), "byte {byte:?}");
    }
}

#[test]
fn a_keep_alive_answered_with_one_byte_more_leaves_no_hole_before_a_fin() {
    let mut t = Script::new();
    t.send(ToServer, ACK, 99, 1, b"");
    t.s(1, 100, b"");
    t.send(ToServer, ACK | FIN, 100, 1, b"");
    t.s(1, 101, b"");
    assert_eq!(t.one().items(ToServer), []);
}

#[test]
fn an_acknowledgement_of_another_age_is_no_gap() {
    let mut t = Script::new();
    t.send(ToServer, SYN, 0, 0, b"");
    // A host in TIME_WAIT answers for the old connection.
    t.send(ToClient, ACK, 5, 1_800_000_000, b"");
    t.c(1, 1, b"abc");
    let (seen, problems) = t.run_with_problems();
    assert_eq!(seen[0].items(ToServer), data(b"abc"));
    assert_eq!(problems, [("odd-acknowledgement", 1)]);
}

#[test]
fn data_on_a_syn_is_delivered() {
    let mut t = Script::new();
    t.send(ToServer, SYN, 0, 0, b"early ");
    t.send(ToClient, SYN | ACK, 0, 7, b"");
    t.c(7, 1, b"late");
    assert_eq!(t.one().items(ToServer), data(b"early late"));
}

#[test]
fn acknowledged_bytes_at_the_end_are_a_gap_but_an_unseen_fin_is_not() {
    for (ack, rest) in [(4, None), (5, None), (9, Some(5))] {
        let mut t = Script::new();
        t.open();
        t.c(1, 1, b"abc");
        t.s(1, ack, b"");
        let items = t.one().items(ToServer).to_vec();
        assert_eq!(items.get(1).cloned(), rest.map(Item::Gap), "ack {ack}");
    }
}

#[test]
fn bytes_after_a_fin_are_garbage() {
    let mut t = Script::new();
    t.open();
    t.send(ToServer, ACK | FIN, 1, 1, b"abc");
    t.c(4, 1, b"garbage");
    let (seen, problems) = t.run_with_problems();
    assert_eq!(seen[0].items(ToServer), data(b"abc"));
    assert_eq!(problems, [("data-after-fin", 1)]);
}

#[test]
fn a_gigabyte_lost_by_the_capture_is_jumped_over() {
    let mut t = Script::new();
    t.open();
    t.c(1, 1, b"abc");
    let far = 3 << 29;
    for i in 0..10 {
        t.c(far + 3 * i, 1, b"def");
        t.s(1, far + 3 * i + 3, b"");
        t.wait(3 * MS);
    }
    let items = t.one().items(ToServer).to_vec();
    assert_eq!(items[1], Item::Gap(u64::from(far) - 4));
    assert_eq!(items[2], Item::Data(b"def".repeat(10)));
}

#[test]
fn one_stray_segment_far_ahead_holds_nothing_up() {
    let mut t = Script::new();
    t.open();
    t.c(2 << 29, 1, b"stray");
    for i in 0..200 {
        t.c(1 + i * 2, 1, b"ab");
        t.s(1, 3 + i * 2, b"");
        t.wait(100 * MS);
    }
    let seen = t.one();
    assert_eq!(seen.items(ToServer)[0], Item::Data(b"ab".repeat(200)));
}

#[test]
fn a_side_that_waited_has_heard_all_that_the_other_said() {
    let mut t = Script::new();
    t.open();
    t.c(1, 1, b"ask");
    t.s(1, 4, b"answer");
    t.c(4, 7, b"again");
    // Sent before the second request came.
    t.s(7, 4, b"more");
    // Sent before that came; a piece that waits for an earlier one keeps what it knew.
    t.c(12, 7, b"too");
    t.c(9, 11, b"one");
    // A FIN is nothing to be heard.
    t.send(ToClient, ACK | FIN, 11, 15, b"");
    t.c(15, 11, b"last");
    let seen = t.one();
    let heard: Vec<_> = seen.chunks.iter().map(|c| c.heard_all).collect();
    assert_eq!(heard, [true, true, true, false, true, false, true]);
}

#[test]
fn who_hears_that_the_other_side_ended_knows_since_when() {
    let mut t = Script::new();
    t.open();
    t.c(1, 1, b"ask");
    t.s(1, 4, b"answer");
    t.send(ToServer, ACK | FIN, 4, 7, b"");
    t.s(7, 4, b"not heard");
    t.s(16, 5, b"heard");
    let seen = t.one();
    let ended: Vec<_> = seen.chunks.iter().map(|c| c.peer_ended.is_some()).collect();
    assert_eq!(ended, [false, false, false, true]);
}

#[test]
fn an_end_that_comes_with_the_last_bytes_is_not_told_from_them() {
    let mut t = Script::new();
    t.open();
    t.wait(60 * MS);
    t.send(ToServer, ACK | FIN, 1, 1, b"all");
    t.wait(60 * MS);
    t.s(1, 5, b"answer");
    let seen = t.one();
    assert!(seen.chunks.iter().all(|c| c.peer_ended.is_none()));
}

#[test]
fn packets_of_the_server_that_its_identifications_skip_are_told_where_they_count() {
    let mut id = 65_530_u16;
    let mut exchange = |t: &mut Script, i: u32, counts: u16| {
        id = id.wrapping_add(counts);
        t.c(1 + 3 * i, 1 + 6 * i, b"ask");
        t.s(1 + 6 * i, 4 + 3 * i, b"answer").ip_id = Some(id);
    };
    let mut t = Script::new();
    t.open();
    // Too few to tell at first: nothing is said of the third.
    for i in 0..30 {
        exchange(&mut t, i, if i == 2 { 2 } else { 1 });
    }
    exchange(&mut t, 30, 3);
    exchange(&mut t, 31, 1);
    assert_eq!(t.one().skips, [t.segments[t.segments.len() - 3].order]);
    // One in five does not fit: this host counts something else.
    let mut t = Script::new();
    t.open();
    for i in 0..60 {
        exchange(&mut t, i, if i % 5 == 0 { 7 } else { 1 });
    }
    assert_eq!(t.one().skips, [0; 0]);
}

#[test]
fn full_segments_of_a_connection_that_had_begun_take_one_identification_each() {
    let mut t = Script::new();
    for i in 0..40 {
        let at = 1 + i * 1_000;
        let stamps = Some((i, 7));
        let data = t.c(at, 1, &[b'x'; 1_000]);
        data.tcp.timestamps = stamps;
        // One before it did not come by.
        data.ip_id = data.ip_id.map(|id| id + u16::from(i >= 30));
        t.s(1, at + 1_000, b"").tcp.timestamps = stamps;
    }
    let seen = t.measured(1_000 * MS);
    let [sent, _] = seen.summary().accounts.as_deref().unwrap();
    assert_eq!(sent.skipped_identifications, Some(1));
}
