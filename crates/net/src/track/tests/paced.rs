//! Silences that are no application's: what queues on the way, and what TCP paces.

use super::*;
use Direction::{ToClient, ToServer};
use model::{EpisodeKind, TimeClass};

const FULL: usize = 1_000;

/// Open, with segments of 1,000 bytes, and the server so far from the capture.
fn opened(away: i64) -> Script {
    let mut t = Script::new();
    for (d, flags) in [(ToServer, SYN), (ToClient, SYN | ACK)] {
        let syn = t.send(d, flags, 0, u32::from(d == ToClient), b"");
        syn.tcp.window_scale = Some(0);
        syn.tcp.mss = Some(FULL as u16);
        t.wait(if d == ToServer { away } else { 0 });
    }
    t.send(ToServer, ACK, 1, 1, b"");
    t
}

/// How long the server's application paused, by its account and by what held its bytes up, in ms.
fn paused(t: &Script) -> [i64; 2] {
    let seen = t.measured(10_000 * MS);
    let account = &seen.summary().accounts.as_ref().unwrap()[ToClient.index()];
    let own = |kind: EpisodeKind| kind.class() == TimeClass::SenderApplication;
    let episodes = seen.episodes.iter().filter(|e| own(e.kind));
    let held = episodes.fold(0, |sum, e| sum + (e.last.time - e.first.time));
    [account.time_ns[TimeClass::SenderApplication], held].map(|ns| ns / MS)
}

#[test]
fn what_echoes_an_older_acknowledgement_stood_in_a_queue() {
    // Next to the client a full segment comes each 40 ms, and is acknowledged at once; it echoes the acknowledgement that
    // so many came before.
    let echoing = |bytes: u32, before: u32| {
        let mut t = opened(5 * MS);
        t.c(1, 1, b"get");
        t.wait(5 * MS);
        for i in 0..20 {
            let s = t.s(1 + i * bytes, 4, &vec![b'x'; bytes as usize]);
            s.tcp.flags.0 |= PSH;
            s.tcp.timestamps = Some((1_000 + i, (100 + i).saturating_sub(before)));
            t.c(4, 1 + (i + 1) * bytes, b"").tcp.timestamps = Some((100 + i, 1_000 + i));
            t.wait(40 * MS);
        }
        paused(&t)
    };
    // Its options leave so much room in a segment.
    let full = FULL as u32 - 12;
    for bytes in [full, full - 1] {
        let [account, held] = echoing(bytes, 1);
        assert!(account > 19 * 30 && held > 19 * 30, "{account} {held}");
        assert_eq!(echoing(bytes, 3), [0, 0]);
    }
}

/// How long a server's application paused, as [`paused`] says: next to it, `count` writes of so many bytes that are pushed, each
/// `before + after` behind the last one; between the two all before that of the number that `acknowledged` gives is.
fn written(
    (count, bytes): (u32, usize),
    (before, after): (i64, i64),
    acknowledged: impl Fn(u32) -> Option<u32>,
) -> [i64; 2] {
    let mut t = opened(0);
    t.c(1, 1, b"get");
    let at = |n: u32| 1 + n * bytes as u32;
    for n in 0..count {
        t.s(at(n), 4, &vec![b'x'; bytes]).tcp.flags.0 |= PSH;
        t.wait(before);
        if let Some(next) = acknowledged(n) {
            t.c(4, at(next), b"");
        }
        t.wait(after);
    }
    paused(&t)
}

#[test]
fn behind_a_full_segment_that_was_pushed_more_may_wait_for_its_turn() {
    // A write leaves 15 ms after the last acknowledgement, with so many in flight. Of what Linux gives to its card at once it
    // pushes the last segment, whatever is queued behind that.
    let account = |bytes: usize, in_flight: u32| {
        let oldest = |n: u32| (n + 1).checked_sub(in_flight).filter(|next| *next > 0);
        let [account, _] = written((30, bytes), (5 * MS, 15 * MS), oldest);
        account
    };
    // Before anything is acknowledged nobody knows how long a round trip is.
    assert!(account(2 * FULL, 3) <= 4 * 20);
    assert!(account(2 * FULL - 1, 3) > 20 * 15);
    // With one in flight TCP lets another go.
    assert!(account(2 * FULL, 1) > 20 * 15);
}

#[test]
fn what_leaves_beside_a_little_in_flight_and_nothing_let_go_was_not_written_before() {
    // It writes every 10 ms; of two writes one is acknowledged, so long after it.
    let held = |bytes: usize, late: i64| {
        let second = |n: u32| (n % 2 == 1).then_some(n + 1);
        let [_, held] = written((40, bytes), (late, 10 * MS - late), second);
        held
    };
    // Its first writes show that it is near.
    assert!(held(100, MS) >= 30 * 10);
    // Half were let go by an acknowledgement.
    assert!(held(100, 10 * MS - MS / 20) <= 20 * 10);
    // More may have waited behind a full one.
    assert!(held(FULL, MS) <= 20 * 10);
}
