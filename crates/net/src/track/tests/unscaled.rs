//! Windows of which the scale is not known, as the capture began behind the handshake.

use super::*;
use model::TimeClass;

const FULL: usize = 1_000;

/// A slow reader offers a segment and seven in turns, and each is filled: whatever its windows are scaled by, no line shows.
#[test]
fn what_fills_windows_of_unknown_scale_in_turns_shows_no_full_line() {
    let bandwidth = |more: u16| {
        let (mut t, full) = (Script::new(), vec![b'x'; FULL]);
        let mut seq = 1;
        for turn in 0..200 {
            let segments = if turn % 2 == 0 { 1 } else { 7 };
            t.wait(if turn < 4 { MS / 2 } else { 5 * MS });
            t.s(1, seq, b"").tcp.window = segments * FULL as u16 + more;
            for _ in 0..segments {
                t.c(seq, 1, &full);
                seq += FULL as u32;
            }
        }
        let seen = t.measured(10_000 * MS);
        let account = &seen.summary().accounts.as_ref().unwrap()[0];
        account.time_ns[TimeClass::Bandwidth] / MS
    };
    assert_eq!(bandwidth(0), 0);
    let unfilled = bandwidth(FULL as u16);
    assert!(unfilled > 500, "{unfilled}");
}

/// All is acknowledged with a window of so much in the packet, which is `more` 100 ms later; the sender goes on at once. What
/// was sent before shows that the scale is 7 at least. How long it waited for its reader, and for its own application, in ms.
fn reopened(left: u16, more: u16) -> [i64; 2] {
    let (mut t, full) = (Script::new(), vec![b'x'; FULL]);
    let mut seq = 1;
    for _ in 0..20 {
        for _ in 0..18 {
            t.c(seq, 1, &full);
            seq += FULL as u32;
        }
        t.wait(5 * MS);
        t.s(1, seq, b"").tcp.window = left;
        t.wait(100 * MS);
        t.s(1, seq, b"").tcp.window = more;
        t.wait(20 * US);
    }
    let seen = t.measured(10_000 * MS);
    let account = &seen.summary().accounts.as_ref().unwrap()[0];
    [TimeClass::ReceiverApplication, TimeClass::SenderApplication].map(|c| account.time_ns[c] / MS)
}

#[test]
fn a_window_that_opens_again_was_waited_for() {
    let [reader, writer] = reopened(7, 143);
    assert!(reader >= 1_700 && writer <= 2 * 105, "{reader} {writer}");
    // There was room for more.
    assert_eq!(reopened(60, 143)[0], 0);
    // It came a little more open.
    assert_eq!(reopened(7, 13)[0], 0);
}
