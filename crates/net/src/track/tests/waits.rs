//! What holds a direction up: windows and delayed acknowledgements, and what only looks like it.

use super::*;
use Direction::{ToClient, ToServer};
use model::{EpisodeKind, TimeClass};
use std::collections::VecDeque;

pub(super) const FULL: usize = 1_000;

/// Open, with segments of 1,000 bytes.
pub(super) fn opened() -> Script {
    let mut t = Script::new();
    for (d, flags) in [(ToServer, SYN), (ToClient, SYN | ACK)] {
        let syn = t.send(d, flags, 0, u32::from(d == ToClient), b"");
        syn.tcp.window_scale = Some(0);
        syn.tcp.mss = Some(FULL as u16);
    }
    t.send(ToServer, ACK, 1, 1, b"");
    t
}

/// A client that sends three segments at a time: two are acknowledged at once, the third after
/// `late`. It goes on so long after that acknowledgement.
fn threes(tail: usize, late: i64, pause: i64) -> Script {
    let mut t = opened();
    let mut seq = 1;
    let full = vec![b'x'; FULL];
    for _ in 0..12 {
        t.c(seq, 1, &full);
        t.c(seq + 1_000, 1, &full);
        t.wait(MS);
        t.s(1, seq + 2_000, b"");
        t.c(seq + 2_000, 1, &full[..tail]);
        seq += 2_000 + tail as u32;
        t.wait(late);
        t.s(1, seq, b"");
        t.wait(pause);
    }
    t
}

/// What held the client up, in order; its own pauses did not.
pub(super) fn kinds(t: &Script) -> Vec<EpisodeKind> {
    let seen = t.one();
    assert!(seen.episodes.iter().all(|e| e.direction == ToServer));
    let all = seen.episodes.iter().map(|e| e.kind);
    all.filter(|kind| kind.class() != TimeClass::SenderApplication)
        .collect()
}

/// How long the client paused of its own accord, in ms.
fn pauses(t: &Script) -> Vec<i64> {
    let seen = t.one();
    let own = seen.episodes.iter();
    own.filter(|e| e.kind.class() == TimeClass::SenderApplication)
        .map(|e| (e.last.time - e.first.time) / MS)
        .collect()
}

/// A client that writes, is acknowledged after `round_trip`, and writes again so long after that; `between`
/// may come meanwhile.
fn written_twice(round_trip: i64, pause: i64, between: fn(&mut Script)) -> Script {
    let mut t = opened();
    let full = vec![b'x'; FULL];
    t.c(1, 1, &full);
    t.wait(round_trip);
    t.s(1, 1_001, b"");
    between(&mut t);
    t.wait(pause);
    t.c(1_001, 1, &full);
    t
}

#[test]
fn a_silence_with_nothing_in_flight_and_an_open_window_is_the_sender_s() {
    // Since its last byte: nothing was queued behind that, or it had left with the acknowledgement.
    assert_eq!(pauses(&written_twice(MS, 300 * MS, |_| {})), [301]);
    assert_eq!(pauses(&written_twice(MS, 3 * MS, |_| {})), [4]);
    assert_eq!(pauses(&written_twice(MS, MS, |_| {})), []);
    let answered = written_twice(MS, 300 * MS, |t| {
        t.s(1, 1_001, b"news");
    });
    assert_eq!(
        pauses(&answered),
        [],
        "it may have been what was waited for"
    );
    let closed = written_twice(MS, 300 * MS, |t| {
        t.s(1, 1_001, b"").tcp.window = 0;
    });
    assert_eq!(pauses(&closed), []);
    let opened_again = written_twice(MS, 100 * MS, |t| {
        t.s(1, 1_001, b"").tcp.window = 0;
        t.wait(200 * MS);
        t.s(1, 1_001, b"");
    });
    assert_eq!(pauses(&opened_again), [100]);
}

#[test]
fn who_has_had_bytes_that_the_capture_lacks_may_have_waited_for_them() {
    let waited = |acknowledged: u32| {
        let mut t = opened();
        t.c(1, 1, &[b'x'; FULL]);
        t.wait(MS);
        t.s(1, 1_001, b"");
        t.wait(300 * MS);
        t.c(1_001, acknowledged, &[b'x'; FULL]);
        let seen = t.measured(10_000 * MS);
        let of = &seen.summary().accounts.as_ref().unwrap()[0].time_ns;
        let own = [TimeClass::SenderApplication, TimeClass::Unknown];
        (pauses(&t), own.map(|class| of[class] / MS))
    };
    assert_eq!(waited(1), (vec![301], [301, 0]));
    assert_eq!(waited(101), (vec![], [0, 301]));
}

#[test]
fn the_handshake_tells_how_far_a_client_is_though_its_acknowledgement_came_late_or_was_lost() {
    // Captured at the server, 20 ms from a client that fills a window of two segments: of what it sends first the capture has
    // the acknowledgement alone, or all.
    let waited = |has_all: bool| {
        let mut t = opened();
        let offer = 2 * FULL as u16;
        t.segments.pop();
        t.segments[1].tcp.window = offer;
        t.wait(20 * MS);
        if has_all {
            t.c(1, 1, &[b'x'; FULL]);
        }
        t.s(1, 1_001, b"").tcp.window = offer;
        let mut sent = 1_001;
        for _ in 0..10 {
            for _ in 0..2 {
                t.c(sent, 1, &[b'x'; FULL]);
                sent += FULL as u32;
            }
            t.s(1, sent, b"").tcp.window = offer;
            t.wait(20 * MS);
        }
        let seen = t.measured(10_000 * MS);
        let of = &seen.summary().accounts.as_ref().unwrap()[0].time_ns;
        [TimeClass::SenderApplication, TimeClass::SmallWindow].map(|class| of[class] / (20 * MS))
    };
    assert_eq!([waited(true), waited(false)], [[0, 9]; 2]);
}

#[test]
fn who_sends_more_than_a_window_holds_knows_of_one_that_the_capture_lacks() {
    // Two segments every 20 ms, of whose acknowledgements none is captured.
    let of = |window: u16| {
        let mut t = opened();
        t.segments[1].tcp.window = window;
        for n in 0..20 {
            t.c(1 + n * 1_000, 1, &[b'x'; FULL]).tcp.flags.0 |= PSH;
            t.wait(if n % 2 == 1 { 20 * MS } else { 0 });
        }
        let seen = t.measured(10_000 * MS);
        let of = &seen.summary().accounts.as_ref().unwrap()[0].time_ns;
        let all = [TimeClass::SenderApplication, TimeClass::Unknown];
        all.map(|class| (of[class] + MS) / (20 * MS))
    };
    assert_eq!(of(60_000), [9, 0]);
    assert_eq!(of(1_000), [0, 9]);
}

#[test]
fn a_window_is_known_once_it_was_often_filled_to_the_byte() {
    // Four segments are in flight, and the next leaves when one of them is acknowledged.
    let held = |window: u16| {
        let mut t = Script::new();
        let full = vec![b'x'; FULL];
        let at = |n: u32| 1 + n * FULL as u32;
        (0..4).for_each(|n| {
            t.c(at(n), 1, &full);
        });
        for n in 4..40 {
            t.wait(5 * MS);
            t.s(1, at(n - 3), b"").tcp.window = window;
            t.c(at(n), 1, &full);
        }
        let seen = t.measured(0);
        let account = &seen.summary().accounts.as_ref().unwrap()[ToServer.index()];
        account.time_ns[TimeClass::SmallWindow] / MS
    };
    let in_flight = 4 * FULL as u16;
    assert_eq!([held(in_flight), held(in_flight / 4)], [95, 95]);
    assert_eq!([held(in_flight + 1), held(4_096)], [0, 0]);
}

#[test]
fn behind_a_full_segment_a_message_goes_on() {
    let kind = |mut t: Script, size: usize| {
        let mut seq = 1;
        let mut write = |t: &mut Script, size: usize, flags| {
            t.send(ToServer, flags, seq, 1, &vec![b'x'; size]);
            seq += size as u32;
        };
        write(&mut t, FULL, ACK);
        write(&mut t, size, ACK | PSH);
        t.wait(MS);
        t.s(1, 1 + (FULL + size) as u32, b"");
        t.wait(1_500 * MS);
        write(&mut t, size, ACK | PSH);
        t.one().episodes.last().map(|e| e.kind)
    };
    let [goes_on, may_be_over] = [EpisodeKind::SenderPause, EpisodeKind::SenderSilence].map(Some);
    assert_eq!(kind(opened(), FULL), goes_on);
    assert_eq!(kind(opened(), FULL - 1), may_be_over);
    // Without a handshake what was cut shows how large a full one is.
    assert_eq!(kind(Script::new(), FULL), goes_on);
    assert_eq!(kind(Script::new(), FULL + 1), may_be_over);
}

/// Segments, of which all but so many are acknowledged; then the client is silent for so long, and sends so much.
fn behind_in_flight(left: u32, silent_ms: i64, size: usize) -> usize {
    let mut t = opened();
    let full = vec![b'x'; FULL];
    let sent = left + 1;
    for i in 0..sent {
        t.c(1 + 1_000 * i, 1, &full);
    }
    t.wait(MS);
    t.s(1, 1_001, b"");
    t.wait(silent_ms * MS);
    t.c(1 + 1_000 * sent, 1, &vec![b'x'; size]);
    pauses(&t).len()
}

#[test]
fn a_sender_that_has_bytes_in_flight_pauses_where_it_may_send_beside_them() {
    assert_eq!(behind_in_flight(1, 310, FULL), 1);
    // An acknowledgement may wait for a timer; Nagle's algorithm holds a small segment.
    assert_eq!(behind_in_flight(1, 290, FULL), 0);
    assert_eq!(behind_in_flight(1, 310, FULL - 1), 0);
    // So much each sender may have in flight.
    assert_eq!(behind_in_flight(4, 310, FULL), 1);
    assert_eq!(behind_in_flight(5, 310, FULL), 0);
}

/// A client that writes `before` segments, and `again` so many; all are acknowledged one by one, the first of them after
/// 50 ms, the others 2 ms apart and the last by a timer, 40 ms later. Then it is silent, 160 ms after its last byte.
fn bursts(before: u32, again: u32) -> Script {
    let mut t = opened();
    let mut seq = 1;
    for segments in [before, again] {
        let first = seq;
        (0..segments).for_each(|_| {
            t.c(seq, 1, &[b'x'; FULL]).tcp.flags.0 |= PSH;
            seq += FULL as u32;
        });
        t.wait(50 * MS);
        (1..segments).for_each(|n| {
            t.s(1, first + n * FULL as u32, b"");
            t.wait(2 * MS);
        });
        t.wait(40 * MS);
        t.s(1, seq, b"");
        t.wait((70 - 2 * (i64::from(segments) - 1)) * MS);
    }
    t.c(seq, 1, &[b'x'; FULL]);
    t
}

#[test]
fn a_pause_begins_with_the_last_byte_or_with_the_first_acknowledgement_that_let_more_go() {
    // As much was in flight before, and little always may be.
    assert_eq!(pauses(&bursts(8, 8)).last(), Some(&160));
    assert_eq!(pauses(&bursts(2, 4)).last(), Some(&160));
    // More than before: the congestion window may have been full until something was acknowledged.
    assert_eq!(pauses(&bursts(4, 8)).last(), Some(&110));
}

/// What a client's account says of 20 writes, each so long after the one before, which are acknowledged after 4 ms:
/// how much was its own, how often, how much was on its way, and what nobody can tell.
fn writes(mut t: Script, every: i64) -> (i64, u32, i64, i64) {
    for i in 0..20 {
        t.c(1 + i * 1_000, 1, &[b'x'; FULL]).tcp.flags.0 |= PSH;
        t.wait(4 * MS);
        t.s(1, 1_001 + i * 1_000, b"");
        t.wait(every - 4 * MS);
    }
    let seen = t.measured(10_000 * MS);
    let account = &seen.summary().accounts.as_ref().unwrap()[0];
    let of = |class| account.time_ns[class] / MS;
    let own = TimeClass::SenderApplication;
    (
        of(own),
        account.stretches[own],
        of(TimeClass::Transfer),
        of(TimeClass::Unknown),
    )
}

#[test]
fn a_pause_that_outlasts_the_acknowledgement_began_with_the_last_byte() {
    assert_eq!(writes(opened(), 8 * MS), (19 * 8, 19, 4, 0));
    assert_eq!(writes(opened(), 60 * MS), (19 * 60, 19, 4, 0));
    // Nobody knows whether the window was open, nor whether the sender is near.
    let (own, _, passing, untold) = writes(Script::new(), 8 * MS);
    assert_eq!((own, passing, untold), (19 * 4, 4, 19 * 4));
}

#[test]
fn where_more_is_in_flight_than_before_a_pause_is_certain_from_the_acknowledgement_on() {
    let mut t = opened();
    let mut sent = 1;
    for i in 0..20 {
        // One segment more each time; then as many again, of which TCP could have sent more.
        let segments = 8 + i.min(9);
        for k in 0..segments {
            let s = t.c(sent, 1, &[b'x'; FULL]);
            s.tcp.flags.0 |= if k + 1 == segments { PSH } else { 0 };
            sent += FULL as u32;
        }
        t.wait(4 * MS);
        t.s(1, sent, b"");
        t.wait(56 * MS);
    }
    let seen = t.measured(10_000 * MS);
    let account = &seen.summary().accounts.as_ref().unwrap()[0];
    let of = |class| account.time_ns[class] / MS;
    assert_eq!(of(TimeClass::SenderApplication), 10 * 56 + 9 * 60);
    // The handshake was answered at once, so what is on its way is not the application's.
    assert!((44..=46).contains(&of(TimeClass::Transfer)));
}

#[test]
fn what_leaves_behind_an_opened_window_tells_how_far_its_sender_is() {
    // Begun in mid-connection next to the receiver, the sender 5 ms away: of each 46 ms it reads for 40.
    let mut t = Script::new();
    let mut sent = 1;
    for _ in 0..20 {
        t.c(sent, 1, &[b'x'; FULL]).tcp.flags.0 |= PSH;
        sent += FULL as u32;
        t.wait(MS);
        t.s(1, sent, b"").tcp.window = 0;
        t.wait(40 * MS);
        t.s(1, sent, b"");
        t.wait(5 * MS);
    }
    let seen = t.measured(10_000 * MS);
    let account = &seen.summary().accounts.as_ref().unwrap()[0];
    let of = |class| account.time_ns[class] / MS;
    assert_eq!(of(TimeClass::ReceiverApplication), 19 * 46);
    assert_eq!(of(TimeClass::SenderApplication), 0);
}

fn late_acks(t: &Script) -> (u64, u64) {
    let [to_server, _] = t.one().summary().directions;
    (to_server.late_acks_awaited, to_server.late_acks_ignored)
}

#[test]
fn a_sender_that_goes_on_with_each_late_acknowledgement_had_waited_for_it() {
    let t = threes(FULL, 40 * MS, 0);
    assert_eq!(kinds(&t), [EpisodeKind::DelayedAck; 11]);
    assert_eq!(late_acks(&t), (11, 0));
    let first = t.one().episodes[0].clone();
    assert_eq!((first.first.packet.frame, first.last.packet.frame), (7, 9));
    assert_eq!((first.last.time - first.first.time) / MS, 40);
}

#[test]
fn what_a_sender_did_while_the_capture_lost_all_of_it_nobody_knows() {
    let of = |missing: u32| {
        let mut t = opened();
        t.c(1, 1, &[b'x'; FULL]).tcp.flags.0 |= PSH;
        t.wait(MS);
        t.s(1, 1_001, b"");
        t.wait(500 * MS);
        t.c(1_001 + missing, 1, &[b'x'; FULL]);
        let seen = t.measured(10_000 * MS);
        let of = &seen.summary().accounts.as_ref().unwrap()[0].time_ns;
        [TimeClass::SenderApplication, TimeClass::Unknown].map(|class| of[class] / (500 * MS))
    };
    // One segment may have overtaken another.
    assert_eq!(of(1_000), [1, 0]);
    assert_eq!(of(1_000_000), [0, 1]);
}

#[test]
fn no_timer_holds_an_acknowledgement_back_for_longer_than_half_a_second() {
    let waits = |late: i64| {
        let t = threes(FULL, late, 0);
        let seen = t.measured(10_000 * MS);
        let of = &seen.summary().accounts.as_ref().unwrap()[0].time_ns;
        let all = kinds(&t).into_iter();
        let held = all.filter(|kind| *kind == EpisodeKind::DelayedAck).count();
        (held, of[TimeClass::NagleDelayedAck] > 0)
    };
    assert_eq!(waits(400 * MS), (11, true));
    assert_eq!(waits(700 * MS), (0, false));
}

#[test]
fn a_sender_that_goes_on_later_had_not() {
    let t = threes(FULL, 40 * MS, 20 * MS);
    assert_eq!(kinds(&t), []);
    assert_eq!(late_acks(&t), (0, 11));
}

#[test]
fn an_answer_to_the_peer_is_none_to_its_acknowledgement() {
    let mut t = Script::new();
    t.open();
    for i in 0..12 {
        t.s(1 + i * 3, 1 + i * 1_000, b"");
        t.wait(40 * MS);
        t.s(1 + i * 3, 1 + i * 1_000, b"ask");
        t.c(1 + i * 1_000, 4 + i * 3, &vec![b'x'; FULL]);
    }
    assert_eq!(kinds(&t), []);
}

#[test]
fn a_path_that_takes_long_delays_nothing() {
    let t = threes(FULL, 5 * MS, 0);
    assert_eq!(kinds(&t), []);
    // A queue makes all acknowledgements slow, not only those of one segment. While it builds up some
    // look late, fewer than anybody is accused of.
    let mut t = Script::new();
    t.open();
    let full = vec![b'x'; FULL];
    for i in 0..40u32 {
        t.c(1 + i * 2_000, 1, &full);
        t.c(1_001 + i * 2_000, 1, &full);
        t.wait(i64::from(i) * 2 * MS);
        t.s(1, 2_001 + i * 2_000, b"");
    }
    let waits = kinds(&t).len();
    assert!(waits < 10, "{waits}");
}

#[test]
fn a_small_segment_behind_a_small_one_was_held_back() {
    let mut t = Script::new();
    t.open();
    t.c(1, 1, b"quick");
    t.wait(MS);
    t.s(1, 6, b"");
    let mut seq = 6;
    for _ in 0..5 {
        t.c(seq, 1, b"head");
        t.wait(40 * MS);
        t.s(1, seq + 4, b"");
        t.c(seq + 4, 1, b"body");
        t.wait(MS);
        t.s(1, seq + 8, b"");
        t.wait(20 * MS);
        seq += 8;
    }
    assert_eq!(kinds(&t), [EpisodeKind::NagleDelayedAck; 5]);
}

#[test]
fn without_a_handshake_writes_that_tcp_never_cut_may_all_be_small() {
    // The second is the largest that was ever seen.
    let waits = |cut: bool| {
        let mut t = Script::new();
        t.c(1, 1, b"quick");
        t.wait(MS);
        t.s(1, 6, b"go on");
        t.wait(50_000);
        let mut seq = 6;
        for _ in 0..5 {
            let s = t.c(seq, 6, &[b'x'; 560]);
            s.tcp.flags.0 &= if cut { !PSH } else { !0 };
            t.wait(40 * MS);
            t.s(6, seq + 560, b"");
            t.wait(50_000);
            t.c(seq + 560, 6, &[b'x'; 560]);
            t.wait(MS);
            t.s(6, seq + 1_120, b"");
            t.wait(20 * MS);
            seq += 1_120;
        }
        kinds(&t)
    };
    assert_eq!(waits(false), [EpisodeKind::NagleDelayedAck; 5]);
    assert_eq!(waits(true), [EpisodeKind::DelayedAck; 5]);
}

/// Without a handshake nothing says how near a host is but its answers, each of which took it some time.
#[test]
fn what_follows_a_late_acknowledgement_may_be_quicker_than_any_answer_before() {
    let mut t = Script::new();
    let full = [b'x'; FULL];
    let (mut asked, mut said) = (1, 1);
    for _ in 0..6 {
        t.s(asked, said, b"get");
        asked += 3;
        t.wait(80_000);
        t.c(said, asked, &full).tcp.flags.0 &= !PSH;
        t.c(said + FULL as u32, asked, &full);
        t.wait(40 * MS);
        said += 2 * FULL as u32;
        t.s(asked, said, b"");
        t.wait(50_000);
        t.c(said, asked, &full);
        said += FULL as u32;
        t.wait(4 * MS);
    }
    assert_eq!(kinds(&t), [EpisodeKind::DelayedAck; 5]);
}

#[test]
fn what_is_in_flight_passes_a_line_that_was_always_full_at_its_rate() {
    // Begun in mid-connection, with 40 segments under way: from then on 40 to 50, each acknowledged as it comes out of
    // the line, or when it has crossed a long path.
    let time = |acknowledged: fn(Time, Time) -> Time| {
        let (mut t, full) = (Script::new(), vec![b'x'; FULL]);
        let mut under_way: VecDeque<Time> = (1..=40).map(|i| Time(i * MS)).collect();
        let (mut sent, mut heard) = (1 + 40 * FULL as u32, 1);
        for i in 0..800i64 {
            t.now = under_way.pop_front().expect("never empty").0;
            heard += FULL as u32;
            t.s(1, heard, b"");
            while (under_way.len() as i64) < 40 + (i / 8 % 20 - 10).abs() {
                let last = under_way.back().copied().unwrap_or_default();
                under_way.push_back(acknowledged(Time(t.now), last));
                t.c(sent, 1, &full);
                sent += FULL as u32;
            }
        }
        let seen = t.measured(60_000 * MS);
        let account = &seen.summary().accounts.as_ref().unwrap()[0];
        let share = |class| {
            account.time_ns[class] * 100 / account.time_ns.iter().map(|(_, ns)| ns).sum::<i64>()
        };
        (
            share(TimeClass::Bandwidth),
            share(TimeClass::Congestion),
            account.line_is_never_empty,
        )
    };
    let (bandwidth, congestion, never_empty) = time(|sent, last| sent.max(last) + MS);
    assert!(
        bandwidth > 70 && congestion < 25,
        "{bandwidth} {congestion}"
    );
    assert!(never_empty);
    let (bandwidth, congestion, never_empty) = time(|sent, last| (sent + 45 * MS).max(last + 1));
    assert!(
        bandwidth == 0 && congestion > 70,
        "{bandwidth} {congestion}"
    );
    assert!(!never_empty);
}

/// A client that reads what a server sends in windows of ten segments. It acknowledges by a timer, 200 ms
/// late, and asks for more as soon as it has all; `between` comes while the server waits.
fn fetches(between: fn(&mut Script, u32)) -> Script {
    let mut t = opened();
    let full = vec![b'x'; FULL];
    let mut seq = 1;
    for i in 0..12 {
        let asked = 1 + (i + 1) * 3;
        t.c(asked - 3, seq, b"ask");
        t.wait(100 * US);
        for _ in 0..10 {
            t.s(seq, asked, &full);
            seq += FULL as u32;
        }
        between(&mut t, seq);
        t.wait(200 * MS);
        t.c(asked, seq, b"");
        t.wait(100 * US);
        t.s(seq, asked, &full);
        seq += FULL as u32;
        t.wait(MS);
    }
    t
}

/// How often the server waited for a late acknowledgement.
fn waited(t: &Script) -> usize {
    let seen = t.one();
    let late = |e: &&Episode| (e.kind, e.direction) == (EpisodeKind::DelayedAck, ToClient);
    seen.episodes.iter().filter(late).count()
}

#[test]
fn where_every_acknowledgement_is_late_answers_show_how_short_the_way_is() {
    assert_eq!(waited(&fetches(|_, _| {})), 12);
}

#[test]
fn a_probe_of_what_had_arrived_changes_nothing_about_a_late_acknowledgement() {
    let mut t = fetches(|t, seq| {
        t.wait(10 * MS);
        let last = seq - FULL as u32;
        let asked = t.segments.iter().rev().find(|s| s.payload_length == 3);
        let asked = asked.unwrap().tcp.sequence.wrapping_add(3);
        let isn = t.segments[1].tcp.sequence;
        let client = t.segments[0].tcp.sequence;
        let probe = t.s(last, asked.wrapping_sub(client), &[b'x'; FULL]);
        assert_eq!(probe.tcp.sequence, isn.wrapping_add(last));
    });
    // The receiver says that it had it.
    let late: Vec<usize> = (1..t.segments.len())
        .filter(|i| {
            let gap = t.segments[*i].mark.time - t.segments[i - 1].mark.time;
            gap >= 200 * MS && t.segments[*i].payload_length == 0
        })
        .collect();
    assert_eq!(late.len(), 12);
    for i in late {
        let end = t.segments[i].tcp.acknowledgement;
        let tcp = &mut t.segments[i].tcp;
        tcp.sack = [(end.wrapping_sub(FULL as u32), end), (0, 0)];
        tcp.sack_count = 1;
    }
    assert_eq!(waited(&t), 12);
}
