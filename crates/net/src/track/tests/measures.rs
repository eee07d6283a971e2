//! What is counted and timed.

use super::*;
use Direction::{ToClient, ToServer};
use model::{DirectionSummary, EpisodeKind};

fn mss(n: u32) -> Vec<u8> {
    vec![b'x'; n as usize]
}

fn held(at: Time) -> Option<HeldSince> {
    Some(HeldSince::troubled(at))
}

#[test]
fn a_copy_made_by_the_capture_counts_as_nothing_else() {
    let mut t = Script::new();
    t.open();
    t.c(1, 1, b"abc");
    t.copy(20 * US);
    t.s(1, 4, b"");
    t.copy(20 * US);
    t.c(4, 1, b"def");
    t.copy(3 * MS);
    let seen = t.one();
    let [to_server, to_client] = seen.summary().directions;
    assert_eq!(
        (to_server.duplicate_packets, to_client.duplicate_packets),
        (2, 1)
    );
    assert_eq!((to_server.packets, to_server.payload_bytes), (4, 6));
    assert_eq!(to_server.retransmitted_packets, 0);
    assert_eq!(to_client.duplicate_acks, 0);
    assert!(seen.episodes.is_empty());
}

#[test]
fn the_same_segment_with_another_identification_was_sent_again() {
    let mut t = Script::new();
    t.open();
    t.c(1, 1, b"abc");
    t.c(1, 1, b"abc");
    let seen = t.one();
    let summary = seen.summary().directions[0];
    assert_eq!(summary.retransmitted_packets, 1);
    assert_eq!(summary.retransmitted_bytes, 3);
    assert_eq!(summary.duplicate_packets, 0);
}

#[test]
fn without_identification_only_the_time_tells_copies() {
    for (after, copies) in [(500 * US, 1), (2 * MS, 0)] {
        let mut t = Script::new();
        t.identified = false;
        t.open();
        t.c(1, 1, b"abc");
        t.copy(after);
        let summary = t.one().summary().directions[0];
        assert_eq!(summary.duplicate_packets, copies);
        assert_eq!(summary.retransmitted_packets, 1 - copies);
    }
}

#[test]
fn a_timeout_is_an_episode_from_the_first_sending_to_the_acknowledgement() {
    let mut t = Script::new();
    t.open();
    t.c(1, 1, b"abc");
    t.wait(250 * MS);
    t.c(1, 1, b"abc");
    t.wait(500 * MS);
    t.c(1, 1, b"abc");
    t.wait(MS);
    t.s(1, 4, b"");
    t.wait(5_000 * MS);
    t.c(4, 1, b"def");
    let seen = t.one();
    assert_eq!(seen.episodes.len(), 1);
    let e = &seen.episodes[0];
    assert_eq!((e.kind, e.direction), (EpisodeKind::Recovery, ToServer));
    assert_eq!((e.retransmissions, e.timeouts, e.spurious), (2, 2, false));
    assert_eq!(
        (e.first.packet.frame, e.last.packet.frame, e.order),
        (4, 7, 6)
    );
}

#[test]
fn what_was_in_flight_when_the_capture_begins_waits_from_then_on() {
    // Who says it first: the sender, whose next byte is behind what is acknowledged, or the receiver.
    for sender_first in [true, false] {
        let mut t = Script::new();
        for says_sender in [sender_first, !sender_first] {
            match says_sender {
                true => t.s(5_793, 101, b""),
                false => t.c(101, 2_897, b"abc"),
            };
            t.wait(MS);
        }
        t.wait(60 * MS);
        t.s(2_897, 104, &mss(1_448));
        t.wait(MS);
        t.c(104, 4_345, b"");
        t.s(4_345, 104, &mss(1_448));
        t.wait(MS);
        t.c(104, 5_793, b"");
        t.s(5_793, 104, b"new");
        let seen = t.one();
        let [_, to_client] = seen.summary().directions;
        assert_eq!(to_client.retransmitted_packets, 2);
        let e = &seen.episodes[0];
        assert_eq!((e.kind, e.direction), (EpisodeKind::Recovery, ToClient));
        // Until the resend no packet shows that any of it was in flight but both of these.
        assert_eq!((e.first.packet.frame, e.last.packet.frame), (2, 6));
    }
}

#[test]
fn duplicate_acknowledgements_and_a_fast_retransmission_are_no_timeout() {
    let mut t = Script::new();
    t.open();
    t.c(1, 1, &mss(1_460));
    // Lost before the point of capture: 1461..2921.
    for i in 2..6 {
        t.c(1 + i * 1_460, 1, &mss(1_460));
    }
    t.wait(10 * MS);
    for _ in 0..5 {
        t.s(1, 1_461, b"");
    }
    t.wait(100 * US);
    t.c(1_461, 1, &mss(1_460));
    t.wait(10 * MS);
    t.s(1, 1 + 6 * 1_460, b"");
    let seen = t.one();
    let [to_server, to_client] = seen.summary().directions;
    assert_eq!(to_client.duplicate_acks, 4);
    assert_eq!(to_server.retransmitted_packets, 1);
    assert_eq!(to_server.out_of_order_packets, 0);
    let e = &seen.episodes[0];
    assert_eq!((e.retransmissions, e.timeouts, e.spurious), (1, 0, false));
    // From when its absence showed.
    assert_eq!(e.first.packet.frame, 5);
    // What filled the hole had been held by recovery; what had waited behind it had not.
    let fill = seen.chunks.iter().find(|c| c.sequence == 2_461).unwrap();
    assert_eq!(fill.held_since, held(e.first.time));
    let behind = seen
        .chunks
        .iter()
        .find(|c| c.sequence == 1_000 + 2_921)
        .unwrap();
    assert_eq!(behind.held_since, None);
    assert_eq!(seen.items(ToServer), data(&mss(6 * 1_460)));
}

/// RFC 7323 section 4.1. Next to the receiver nothing else shows how far away the sender is.
#[test]
fn a_stamp_that_comes_back_with_a_download_took_a_round_trip() {
    for (gap, trip) in [(10, 80 * MS), (40, 0)] {
        let mut t = Script::new();
        t.open();
        t.c(1, 1, b"get").tcp.timestamps = Some((100, 7));
        t.s(1, 4, b"abc").tcp.timestamps = Some((8, 100));
        t.c(4, 4, b"").tcp.timestamps = Some((150, 8));
        let acknowledged = t.now - t.step;
        let mut at = 4;
        for passed in (gap..=80).step_by(gap as usize) {
            t.now = acknowledged + passed * MS;
            let echo = if passed < 80 { 149 } else { 150 };
            t.s(at, 4, b"abc").tcp.timestamps = Some((9 + passed as u32, echo));
            at += 3;
        }
        let seen = t.timed();
        let [asked, said] = &seen.summary().directions;
        assert_eq!((asked.echoed_max_ns, said.echoed_max_ns), (0, trip));
    }
}

#[test]
fn round_trips_are_of_segments_sent_once_and_acknowledged_alone() {
    let mut t = Script::new();
    t.step = 0;
    t.open();
    t.c(1, 1, b"abc");
    t.wait(5 * MS);
    t.s(1, 4, b"");
    t.c(4, 1, b"def");
    t.wait(7 * MS);
    t.s(1, 7, b"");
    // An answer with data, and a segment sent twice: no samples.
    t.c(7, 1, b"ghi");
    t.wait(MS);
    t.s(1, 10, b"answer");
    t.c(10, 7, b"jkl");
    t.wait(300 * MS);
    t.c(10, 7, b"jkl");
    t.wait(MS);
    t.s(7, 13, b"");
    let summary = t.one().summary().directions[0];
    assert_eq!(summary.ack_rtt_count, 2);
    assert_eq!(summary.ack_rtt_min_ns, Some(5 * MS));
    assert_eq!(summary.ack_rtt_sum_ns, 12 * MS);
}

#[test]
fn a_timestamp_tells_which_sending_is_acknowledged() {
    let mut t = Script::new();
    t.step = 0;
    t.open();
    t.c(1, 1, b"abc").tcp.timestamps = Some((100, 50));
    t.wait(250 * MS);
    t.c(1, 1, b"abc").tcp.timestamps = Some((350, 50));
    t.wait(9 * MS);
    t.s(1, 4, b"").tcp.timestamps = Some((60, 350));
    // Both sendings in one tick of a coarse clock.
    t.c(4, 1, b"def").tcp.timestamps = Some((360, 60));
    t.wait(4 * MS);
    t.c(4, 1, b"def").tcp.timestamps = Some((360, 60));
    t.wait(MS);
    t.s(1, 7, b"").tcp.timestamps = Some((70, 360));
    let summary = t.one().summary().directions[0];
    assert_eq!(summary.ack_rtt_count, 1);
    assert_eq!(summary.ack_rtt_sum_ns, 9 * MS);
}

#[test]
fn what_comes_behind_a_hole_is_a_round_trip_when_it_is_selectively_acknowledged() {
    let mut t = Script::new();
    t.step = 0;
    t.open();
    t.c(1, 1, b"abc");
    t.wait(MS);
    t.c(4, 1, b"def");
    t.wait(6 * MS);
    let ack = t.s(1, 1, b"");
    let hole = ack.tcp.acknowledgement;
    (ack.tcp.sack_count, ack.tcp.sack[0]) = (1, (hole + 3, hole + 6));
    t.wait(200 * MS);
    t.c(1, 1, b"abc");
    t.wait(6 * MS);
    // It covers what came first and was there long ago: no round trip of that.
    t.s(1, 7, b"");
    let summary = t.one().summary().directions[0];
    assert_eq!(summary.ack_rtt_count, 1);
    assert_eq!(summary.ack_rtt_sum_ns, 6 * MS);
}

#[test]
fn a_closed_window_is_an_episode_of_the_direction_that_waited() {
    let mut t = Script::new();
    t.open();
    t.c(1, 1, &mss(1_000));
    t.s(1, 1_001, b"").tcp.window = 0;
    t.wait(200 * MS);
    t.send(ToServer, ACK, 1_001, 1, b"p");
    t.s(1, 1_001, b"").tcp.window = 0;
    t.wait(400 * MS);
    t.send(ToServer, ACK, 1_001, 1, b"p");
    t.s(1, 1_001, b"").tcp.window = 0;
    t.wait(100 * MS);
    t.s(1, 1_001, b"");
    t.c(1_001, 1, b"payload");
    t.s(1, 1_008, b"");
    let seen = t.one();
    assert_eq!(seen.episodes.len(), 1, "{:#?}", seen.episodes);
    let e = &seen.episodes[0];
    assert_eq!((e.kind, e.direction), (EpisodeKind::ZeroWindow, ToServer));
    assert_eq!((e.first.packet.frame, e.last.packet.frame), (5, 10));
    let [to_server, to_client] = seen.summary().directions;
    assert_eq!(to_client.zero_windows, 1);
    assert_eq!(to_server.retransmitted_packets, 0);
    let mut stream = mss(1_000);
    stream.extend(b"payload");
    assert_eq!(seen.items(ToServer), data(&stream));
}

#[test]
fn a_window_that_closes_while_nothing_waits_is_no_episode() {
    let mut t = Script::new();
    t.open();
    t.c(1, 1, b"abc");
    t.s(1, 4, b"").tcp.window = 0;
    t.wait(20 * MS);
    t.s(1, 4, b"");
    t.wait(900 * MS);
    t.c(4, 1, b"def");
    let seen = t.one();
    let mut held = seen.episodes.iter();
    assert!(held.all(|e| e.kind == model::EpisodeKind::SenderSilence));
}

#[test]
fn a_segment_that_a_full_window_had_held_says_since_when() {
    let mut t = Script::new();
    for (d, flags) in [(ToServer, SYN), (ToClient, SYN | ACK)] {
        let syn = t.send(d, flags, 0, 1, b"");
        syn.tcp.window_scale = Some(1);
        syn.tcp.mss = Some(1_000);
    }
    // The client is near: its answer follows at once; the server is 10 ms away.
    t.segments[1].mark.time = Time(t.segments[0].mark.time.0 + 10 * MS);
    t.now += 10 * MS;
    t.send(ToServer, ACK, 1, 1, b"");
    t.s(1, 1, b"").tcp.window = 1_000;
    t.c(1, 1, &mss(1_000));
    let full = t.now;
    t.c(1_001, 1, &mss(1_000));
    t.wait(10 * MS);
    t.s(1, 2_001, b"").tcp.window = 1_000;
    t.c(2_001, 1, &mss(1_000));
    t.wait(10 * MS);
    t.s(1, 3_001, b"").tcp.window = 1_000;
    t.wait(5 * MS);
    t.c(3_001, 1, &mss(1_000));
    let since: Vec<_> = t.one().chunks.iter().map(|c| c.held_since).collect();
    assert_eq!(since, [None, None, held(Time(full)), None]);
}

#[test]
fn what_follows_the_end_of_a_message_was_not_held_behind_it() {
    // Answers in one joined segment each, of which the last one is short or full; the next leaves as the client
    // asks again.
    for (bytes, is_held) in [(2_500, false), (3_000, true)] {
        let mut t = Script::new();
        for (d, flags) in [(ToServer, SYN), (ToClient, SYN | ACK)] {
            t.send(d, flags, 0, u32::from(d == ToClient), b"").tcp.mss = Some(1_000);
        }
        t.send(ToServer, ACK, 1, 1, b"");
        let mut answered = 1;
        for i in 0..4 {
            t.c(1 + i * 4, answered, b"ask?");
            t.s(answered, 5 + i * 4, &vec![0; bytes]);
            answered += bytes as u32;
            t.wait(MS);
            t.c(5 + i * 4, answered, b"");
            t.wait(5 * MS);
        }
        let seen = t.one();
        let held = seen.chunks.iter().filter(|c| c.held_since.is_some());
        assert_eq!(held.count() > 0, is_held, "{bytes}");
    }
}

/// A server next to the capture, which has answered a few times; where it stands.
fn near_server(t: &mut Script) -> (u32, u32) {
    t.open();
    for i in 0..4 {
        t.c(1 + i * 4, 1 + i * 4, b"ask?");
        t.s(1 + i * 4, 5 + i * 4, b"told");
        t.wait(MS);
    }
    t.c(17, 17, b"ask?");
    (17, 21)
}

#[test]
fn behind_what_is_not_pushed_more_waits_however_late_it_leaves() {
    for (flags, is_held) in [(ACK, true), (ACK | PSH, false)] {
        let mut t = Script::new();
        let (seq, ack) = near_server(&mut t);
        let left = t.now;
        t.send(ToClient, flags, seq, ack, &mss(500));
        t.wait(15 * MS);
        t.s(seq + 500, ack, b"more");
        let seen = t.one();
        let more = seen.chunks.iter().find(|c| c.data == b"more").unwrap();
        let since = more.held_since.map(|s| s.at);
        assert_eq!(since, is_held.then_some(Time(left)));
    }
}

#[test]
fn behind_what_the_capture_lacks_nothing_is_known_to_wait() {
    let mut t = Script::new();
    let (seq, ack) = near_server(&mut t);
    t.send(ToClient, ACK, seq, ack, &mss(500));
    // Its end, which was pushed, is missing.
    t.wait(15 * MS);
    t.s(seq + 700, ack, b"more");
    assert!(t.one().chunks.iter().all(|c| c.held_since.is_none()));
}

#[test]
fn what_was_acknowledged_keeps_nothing_back() {
    let mut t = Script::new();
    let (seq, ack) = near_server(&mut t);
    t.send(ToClient, ACK, seq, ack, &mss(500));
    t.c(ack, seq + 500, b"");
    t.wait(15 * MS);
    t.s(seq + 500, ack, b"more");
    assert!(t.one().chunks.iter().all(|c| c.held_since.is_none()));
}

#[test]
fn a_segment_is_full_that_its_options_make_shorter() {
    // What leaves as the one before is acknowledged waited behind it, if that was as long as it could be.
    for (options, is_held) in [(12, true), (0, false)] {
        let mut t = Script::new();
        let (seq, ack) = near_server(&mut t);
        let left = t.now;
        let long = t.s(seq, ack, &mss(1_448));
        long.tcp.options_length = options;
        t.wait(5 * MS);
        t.c(ack, seq + 1_448, b"");
        t.s(seq + 1_448, ack, b"more");
        let seen = t.one();
        let more = seen.chunks.iter().find(|c| c.data == b"more").unwrap();
        let since = more.held_since.map(|s| s.at);
        assert_eq!(since, is_held.then_some(Time(left)), "{options}");
    }
}

/// Pairs of small writes: header, then a body which leaves when the header is acknowledged, as the path has it.
fn split_writes(nodelay_every: Option<u32>) -> (Script, i64) {
    let mut t = Script::new();
    t.open();
    let (mut seq, mut ack, mut header) = (1, 1, 0);
    for i in 0..60 {
        header = t.now;
        t.c(seq, ack, b"head");
        if nodelay_every.is_some_and(|n| i % n == 0) {
            t.c(seq + 4, ack, b"body");
            t.wait(5 * MS);
        } else {
            t.wait(5 * MS);
            t.s(ack, seq + 4, b"");
            t.c(seq + 4, ack, b"body");
        }
        t.wait(MS);
        t.s(ack, seq + 8, b"reply");
        (seq, ack) = (seq + 8, ack + 5);
        t.wait(20 * MS);
    }
    (t, header)
}

#[test]
fn a_small_segment_that_nagle_had_held_says_since_when() {
    let (t, header) = split_writes(None);
    let seen = t.one();
    let summary = seen.summary().directions[0];
    assert_eq!(summary.small_released_by_ack, 60);
    assert_eq!(summary.small_while_unacknowledged, 0);
    let bodies: Vec<_> = seen.chunks.iter().filter(|c| c.data == b"body").collect();
    assert_eq!(bodies[5].held_since, None);
    assert_eq!(bodies[59].held_since, held(Time(header)));
    assert!(
        seen.chunks
            .iter()
            .filter(|c| c.data != b"body")
            .all(|c| c.held_since.is_none())
    );
}

#[test]
fn a_sender_without_nagle_is_not_said_to_be_held_by_it() {
    let (t, _) = split_writes(Some(4));
    let seen = t.one();
    assert_eq!(seen.summary().directions[0].small_while_unacknowledged, 15);
    assert!(seen.chunks.iter().all(|c| c.held_since.is_none()));
}

#[test]
fn ping_pong_is_not_taken_for_nagle() {
    let mut t = Script::new();
    t.open();
    for i in 0..100 {
        t.c(1 + i * 4, 1 + i * 4, b"ping");
        t.s(1 + i * 4, 5 + i * 4, b"pong");
    }
    let seen = t.one();
    assert_eq!(seen.summary().directions[0].small_released_by_ack, 0);
    assert!(seen.chunks.iter().all(|c| c.held_since.is_none()));
}

#[test]
fn hops_and_packets_are_counted_per_direction() {
    let mut t = Script::new();
    t.open();
    t.c(1, 1, b"abc").ttl = 60;
    t.s(1, 4, b"").ttl = 250;
    let [to_server, to_client] = t.one().summary().directions;
    assert_eq!(
        (to_server.ttl_min, to_server.ttl_max, to_server.packets),
        (60, 64, 3)
    );
    assert_eq!(
        (to_client.ttl_min, to_client.ttl_max, to_client.packets),
        (64, 250, 2)
    );
}

#[test]
fn times_that_step_back_are_harmless() {
    let mut t = Script::new();
    t.open();
    t.c(1, 1, b"abc");
    t.now -= 10_000 * MS;
    t.s(1, 4, b"fine");
    t.c(4, 5, b"def");
    let seen = t.one();
    assert_eq!(seen.items(ToServer), data(b"abcdef"));
    assert_eq!(seen.summary().directions[0].ack_rtt_count, 0);
}

#[test]
fn an_episode_in_which_time_steps_back_does_not_end_before_it_began() {
    let mut t = Script::new();
    t.open();
    t.c(1, 1, b"abc");
    t.wait(300 * MS).c(1, 1, b"abc");
    t.wait(-10_000 * MS).s(1, 4, b"");
    let seen = t.one();
    assert_eq!(seen.episodes.len(), 1);
    let episode = seen.episodes[0].clone();
    assert_eq!(episode.last, episode.first);
}

#[test]
fn a_recovery_tells_the_packet_that_was_lost_and_the_one_that_replaced_it() {
    let mut t = Script::new();
    t.open();
    t.c(1, 1, b"abc");
    t.wait(300 * MS).c(1, 1, b"abc");
    t.wait(10 * MS).s(1, 4, b"");
    let seen = t.one();
    let [episode] = &seen.episodes[..] else {
        panic!("{:?}", seen.episodes);
    };
    let [resent] = &episode.resent[..] else {
        panic!("{episode:?}");
    };
    assert_eq!(resent.original, Some(episode.first));
    assert!(resent.again.time - episode.first.time >= 300 * MS);
    assert_eq!((resent.bytes, resent.needless), (3, false));
}

#[test]
fn what_was_lost_before_the_capture_is_not_among_its_packets() {
    let mut t = Script::new();
    t.open();
    // The first three bytes never come this far.
    t.c(4, 1, b"def");
    t.s(1, 1, b"");
    t.wait(300 * MS).c(1, 1, b"abc");
    t.wait(10 * MS).s(1, 7, b"");
    let seen = t.one();
    let resent: Vec<_> = seen.episodes.iter().flat_map(|e| &e.resent).collect();
    let [resent] = &resent[..] else {
        panic!("{:?}", seen.episodes);
    };
    assert_eq!(resent.original, None);
    assert_eq!(resent.bytes, 3);
}

/// An answer is lost, and the request sent again, as nothing acknowledged it: what acknowledges it now stands behind the answer.
fn acknowledged_from_behind(later: i64) -> DirectionSummary {
    let mut t = Script::new();
    t.open();
    t.c(1, 1, b"what?");
    t.wait(200 * MS);
    t.c(1, 1, b"what?");
    t.wait(MS);
    t.s(5, 6, b"");
    t.wait(later);
    t.s(1, 6, b"that");
    t.wait(MS);
    t.c(6, 5, b"");
    let seen = t.one();
    let recoveries = seen.episodes.iter().filter(|e| e.direction == ToClient);
    let ns = recoveries.map(|e| e.last.time - e.first.time);
    let [_, summary] = seen.summary().directions;
    let waited = match summary.retransmitted_packets {
        0 => None,
        _ => Some((later + MS) / MS),
    };
    assert_eq!(ns.map(|ns| ns / MS).next(), waited);
    summary
}

#[test]
fn an_acknowledgement_from_behind_bytes_that_have_not_come_shows_that_they_were_sent() {
    assert_eq!(acknowledged_from_behind(150 * MS).retransmitted_packets, 1);
    let overtaken = acknowledged_from_behind(20 * US);
    assert_eq!(overtaken.retransmitted_packets, 0);
    assert_eq!(overtaken.out_of_order_packets, 1);
}
