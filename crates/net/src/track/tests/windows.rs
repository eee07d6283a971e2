//! Windows that are full: small ones, closing ones, and senders that do not fill them.

use super::waits::{FULL, kinds, opened};
use super::*;
use Direction::{ToClient, ToServer};
use model::EpisodeKind;

/// A window of 4,000 bytes that is full each time; it comes back with `offered`, and with all of it
/// 5 ms later.
fn windows(offered: u16) -> Script {
    let mut t = opened();
    t.s(1, 1, b"").tcp.window = 4_000;
    let full = vec![b'x'; FULL];
    let mut seq = 1;
    for _ in 0..4 {
        for _ in 0..4 {
            t.c(seq, 1, &full);
            seq += 1_000;
        }
        t.wait(10 * MS);
        t.s(1, seq, b"").tcp.window = offered;
        if offered < 4_000 {
            t.wait(5 * MS);
            t.s(1, seq, b"").tcp.window = 4_000;
        }
    }
    t
}

#[test]
fn a_window_that_comes_back_whole_is_small_and_one_that_does_not_is_closing() {
    let t = windows(4_000);
    assert_eq!(kinds(&t), [EpisodeKind::SmallWindow; 3]);
    let e = t.one().episodes[0].clone();
    assert_eq!((e.window, (e.last.time - e.first.time) / MS), (4_000, 10));
    assert_eq!(kinds(&windows(900)), [EpisodeKind::ClosingWindow; 3]);
    // Full until it closes, then closed.
    let closed = kinds(&windows(0));
    let (full, closed): (Vec<_>, Vec<_>) = closed
        .into_iter()
        .partition(|kind| *kind == EpisodeKind::ClosingWindow);
    assert_eq!(closed, [EpisodeKind::ZeroWindow; 3]);
    assert_eq!(full.len(), 4);
}

/// The same next to the receiver, of a sender so far away, with windows of so many segments; the receiver keeps each
/// acknowledgement back for so long.
fn windows_at_receiver(sender_ns: i64, kept_ns: i64, segments: u32) -> Script {
    let mut t = Script::new();
    t.send(ToServer, SYN, 0, 0, b"").tcp.mss = Some(1_000);
    t.send(ToClient, SYN | ACK, 0, 1, b"").tcp.mss = Some(1_000);
    t.wait(sender_ns);
    t.send(ToServer, ACK, 1, 1, b"");
    let window = segments as u16 * 1_000;
    t.s(1, 1, b"").tcp.window = window;
    let full = vec![b'x'; FULL];
    let mut seq = 1;
    for kept_ns in [0, kept_ns, kept_ns, kept_ns] {
        t.wait(sender_ns);
        for _ in 0..segments {
            t.c(seq, 1, &full);
            seq += 1_000;
        }
        t.wait(kept_ns);
        t.s(1, seq, b"").tcp.window = window;
    }
    t.wait(sender_ns);
    t.c(seq, 1, &full);
    t
}

#[test]
fn a_receiver_that_keeps_a_full_window_to_itself_does_not_read() {
    for sender_ns in [6 * MS / 10, 5 * MS] {
        let t = windows_at_receiver(sender_ns, 20 * MS, 4);
        let waited = kinds(&t);
        let reads = waited.iter().filter(|k| **k == EpisodeKind::ClosingWindow);
        assert_eq!(reads.count(), 3, "{waited:?}");
    }
    let at_once = kinds(&windows_at_receiver(5 * MS, 0, 4));
    assert_eq!(at_once, [EpisodeKind::SmallWindow; 4]);
    // A timer holds the acknowledgement of one segment back.
    let of_one = kinds(&windows_at_receiver(5 * MS, 20 * MS, 1));
    assert!(!of_one.contains(&EpisodeKind::ClosingWindow), "{of_one:?}");
}

#[test]
fn a_sender_that_does_not_fill_the_window_never_waits_for_it() {
    let mut t = windows(4_000);
    // Everything comes 3 ms after the window did.
    for i in 0..t.segments.len() {
        if t.segments[i].payload_length > 0 {
            t.segments[i].mark.time = t.segments[i].mark.time + 3 * MS;
            t.segments[i].first = t.segments[i].mark;
        }
    }
    assert_eq!(kinds(&t), []);
}

/// A window of eight segments, of which each acknowledgement lets two go, `every` apart: a round trip is four times that. Whether
/// that is all that the path takes, or it takes `least` where nothing waits.
fn clocked(every: i64, least: i64) -> Script {
    let mut t = Script::new();
    t.send(ToServer, SYN, 0, 0, b"").tcp.mss = Some(1_000);
    t.wait(least);
    t.send(ToClient, SYN | ACK, 0, 1, b"").tcp.mss = Some(1_000);
    t.send(ToServer, ACK, 1, 1, b"");
    let full = vec![b'x'; FULL];
    // One alone, which waits for nobody.
    t.c(1, 1, &full);
    t.wait(least);
    t.s(1, 1_001, b"").tcp.window = 8_000;
    let mut seq = 1_001;
    for _ in 0..8 {
        t.c(seq, 1, &full);
        seq += 1_000;
    }
    let mut acknowledged = 1_001;
    t.wait(3 * every);
    for _ in 0..80 {
        t.wait(every);
        acknowledged += 2_000;
        t.s(1, acknowledged, b"").tcp.window = 8_000;
        for _ in 0..2 {
            t.c(seq, 1, &full);
            seq += 1_000;
        }
    }
    t
}

/// How long windows were full in all, of each kind, in ms.
fn full_ms(t: &Script) -> Vec<(EpisodeKind, i64)> {
    let mut all: Vec<(EpisodeKind, i64)> = Vec::new();
    for e in &t.one().episodes {
        let ns = e.last.time - e.first.time;
        match all.iter_mut().find(|(kind, _)| *kind == e.kind) {
            Some((_, sum)) => *sum += ns,
            None => all.push((e.kind, ns)),
        }
    }
    all.into_iter().map(|(kind, ns)| (kind, ns / MS)).collect()
}

#[test]
fn short_waits_for_a_full_window_are_told_together_where_nothing_queues() {
    let every = 7 * MS / 10;
    let all_ms = 83 * every / MS;
    let told = full_ms(&clocked(every, 4 * every));
    let [(EpisodeKind::SmallWindow, ms)] = told[..] else {
        panic!("{told:?}");
    };
    assert!((all_ms - ms).abs() <= 2, "{ms} of {all_ms}");
    // With a queue on the way a larger window would only be fuller: but for the first, which is long by itself.
    let told: i64 = full_ms(&clocked(every, every))
        .iter()
        .map(|(_, ms)| ms)
        .sum();
    assert!(told <= 3, "{told}");
}

#[test]
fn a_window_that_fills_a_queue_is_not_small() {
    let kinds = |least| -> Vec<EpisodeKind> {
        let told = full_ms(&clocked(3 * MS, least));
        told.into_iter().map(|(kind, _)| kind).collect()
    };
    assert_eq!(kinds(12 * MS), [EpisodeKind::SmallWindow]);
    assert_eq!(kinds(7 * MS), [EpisodeKind::SmallWindow]);
    let queued = kinds(2 * MS);
    assert!(queued.contains(&EpisodeKind::QueuedWindow), "{queued:?}");
}
