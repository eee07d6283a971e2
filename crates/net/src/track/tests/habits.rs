//! Why segments were sent again, what the congestion window was, pauses, and explicit congestion
//! notification.

use super::*;
use Direction::{ToClient, ToServer};
use model::{DirectionAccount, Retransmissions, TimeClass};

const WIDTH: i64 = 100 * MS;

fn account(t: &Script) -> DirectionAccount {
    let seen = t.measured(WIDTH);
    seen.summary().accounts.as_ref().unwrap()[0].clone()
}

/// Ten full segments of a client, of which the server has acknowledged none; a round trip takes 20 ms.
fn ten() -> Script {
    let mut t = Script::new();
    t.open();
    for segment in &mut t.segments {
        segment.tcp.mss = segment.tcp.flags.syn().then_some(100);
    }
    t.c(1, 1, b"a").tcp.flags.0 |= PSH;
    t.wait(20 * MS);
    t.s(1, 2, b"");
    for i in 0..10 {
        t.c(2 + i * 100, 1, &[b'x'; 100]);
    }
    t
}

fn again(t: &Script) -> [u64; 4] {
    let Retransmissions {
        fast,
        timeout,
        tail_probe,
        other,
    } = account(t).retransmissions;
    [fast, timeout, tail_probe, other]
}

#[test]
fn duplicate_acknowledgements_ask_for_what_is_missing() {
    let mut t = ten();
    t.wait(20 * MS);
    for _ in 0..4 {
        t.s(1, 2, b"");
    }
    t.c(2, 1, &[b'x'; 100]);
    t.wait(20 * MS);
    // A second one is missing: what follows in the recovery has the same reason.
    t.s(1, 302, b"");
    t.c(302, 1, &[b'x'; 100]);
    t.wait(20 * MS);
    t.s(1, 1002, b"");
    assert_eq!(again(&t), [2, 0, 0, 0]);
}

#[test]
fn selective_acknowledgements_do_too() {
    let mut t = ten();
    t.wait(20 * MS);
    let ack = t.s(1, 2, b"");
    let sacked = ack.tcp.acknowledgement + 900;
    ack.tcp.sack = [(sacked, sacked + 100), (0, 0)];
    ack.tcp.sack_count = 1;
    t.c(2, 1, &[b'x'; 100]);
    t.wait(20 * MS);
    t.s(1, 1002, b"");
    assert_eq!(again(&t), [1, 0, 0, 0]);
}

#[test]
fn the_timer_runs_out_after_silence() {
    let mut t = ten();
    t.wait(230 * MS);
    t.c(2, 1, &[b'x'; 100]);
    t.wait(20 * MS);
    t.s(1, 102, b"");
    t.c(102, 1, &[b'x'; 100]);
    t.wait(20 * MS);
    t.s(1, 1002, b"");
    assert_eq!(again(&t), [0, 2, 0, 0]);
}

#[test]
fn the_last_segment_probes_two_round_trips_later() {
    let mut t = ten();
    t.wait(41 * MS);
    t.c(902, 1, &[b'x'; 100]);
    t.wait(20 * MS);
    t.s(1, 1002, b"");
    assert_eq!(again(&t), [0, 0, 1, 0]);
}

#[test]
fn what_an_acknowledgement_releases_was_held_by_the_congestion_window() {
    let mut t = ten();
    let mut acknowledged = 2;
    for round in 0..5 {
        t.wait(20 * MS);
        for i in 0..10 {
            t.wait(MS);
            acknowledged += 100;
            t.s(1, acknowledged, b"");
            t.c(1002 + (round * 10 + i) * 100, 1, &[b'x'; 100]);
        }
    }
    let account = account(&t);
    let window = account.congestion_window;
    assert_eq!(
        (window.min_bytes, window.max_bytes, window.last_bytes),
        (1000, 1000, 1000)
    );
    assert_eq!((window.count, window.mean_bytes()), (50, Some(1000)));
    assert_eq!(account.pauses.count, 0);
}

#[test]
fn without_anything_outstanding_a_sender_pauses() {
    let mut t = Script::new();
    t.open();
    let mut sent = 1;
    for pause in [5, 300, 0] {
        let data = t.c(sent, 1, b"request");
        data.tcp.flags.0 |= PSH;
        sent += 7;
        t.wait(MS);
        t.s(1, sent, b"");
        t.wait(pause * MS);
    }
    let account = account(&t);
    let step = 10 * US;
    let pauses = account.pauses;
    assert_eq!((pauses.count, pauses.total_ns), (2, 305 * MS + 2 * step));
    let longest = pauses.longest.unwrap();
    assert_eq!(longest.ns, 300 * MS + step);
    assert_eq!(
        (longest.first.packet.frame, longest.last.packet.frame),
        (7, 8)
    );
    assert_eq!(account.congestion_window.count, 0);
}

/// What a client's silence of five seconds between two writes is charged to: the first ends with so many bytes.
fn silence_behind(bytes: usize) -> (i64, i64) {
    let mut t = Script::new();
    for (d, flags) in [(ToServer, SYN), (ToClient, SYN | ACK)] {
        t.send(d, flags, 0, u32::from(d == ToClient), b"").tcp.mss = Some(1_000);
    }
    t.send(ToServer, ACK, 1, 1, b"");
    t.c(1, 1, &vec![0; bytes]).tcp.flags.0 |= PSH;
    let sent = 1 + bytes as u32;
    t.wait(MS);
    t.s(1, sent, b"");
    t.wait(5_000 * MS);
    t.c(sent, 1, &[0; 1_000]).tcp.flags.0 |= PSH;
    let time = account(&t).time_ns;
    let seconds = |class| time[class] / (1_000 * MS);
    (
        seconds(TimeClass::SenderApplication),
        seconds(TimeClass::Idle),
    )
}

#[test]
fn a_silence_behind_a_full_segment_is_in_the_middle_of_a_message() {
    assert_eq!(silence_behind(3_000), (5, 0));
    assert_eq!(
        silence_behind(2_999),
        (0, 5),
        "that may have been all of it"
    );
}

#[test]
fn acknowledgements_of_more_than_two_segments_stretch() {
    let mut t = ten();
    for acknowledged in [102, 302, 602, 1002] {
        t.s(1, acknowledged, b"");
    }
    assert_eq!(account(&t).stretch_acks, 2);
}

#[test]
fn options_of_a_handshake_that_was_not_seen_whole_are_unknown() {
    let agreed = |cut: bool, offered: [bool; 2]| {
        let mut t = Script::new();
        for (d, flags, is) in [
            (ToServer, SYN, offered[0]),
            (ToClient, SYN | ACK, offered[1]),
        ] {
            let syn = t.send(d, flags, 0, u32::from(d == ToClient), b"");
            syn.tcp.sack_permitted = is;
            syn.tcp.timestamps = is.then_some((1, 0));
            syn.tcp.options_cut = cut;
        }
        t.c(1, 1, b"abc");
        let a = account(&t);
        (a.sack, a.timestamps)
    };
    assert_eq!(agreed(false, [true, true]), (Some(true), Some(true)));
    assert_eq!(agreed(false, [true, false]), (Some(false), Some(false)));
    assert_eq!(agreed(true, [true, true]), (Some(true), Some(true)));
    assert_eq!(agreed(true, [true, false]), (None, None));
    let mut t = Script::new();
    t.c(1, 1, b"abc");
    assert_eq!((account(&t).sack, account(&t).timestamps), (None, None));
}

#[test]
fn marks_of_congestion_and_what_is_said_of_them_are_counted() {
    const ECE: u8 = 0x40;
    const CWR: u8 = 0x80;
    for (asked, agreed, negotiated) in [
        (ECE | CWR, ECE, true),
        (ECE | CWR, 0, false),
        (0, 0, false),
        // As a router answers that only mirrors flags.
        (ECE | CWR, ECE | CWR, false),
    ] {
        let mut t = Script::new();
        t.send(ToServer, SYN | asked, 0, 0, b"");
        t.send(ToClient, SYN | ACK | agreed, 0, 1, b"");
        t.c(1, 1, b"");
        for (mark, flags) in [(2, 0), (3, 0), (3, CWR), (0, 0)] {
            let data = t.c(1, 1, b"abc");
            data.ecn = Ecn(mark);
            data.tcp.flags.0 |= flags;
        }
        t.s(1, 4, b"").tcp.flags.0 |= ECE;
        let seen = t.measured(WIDTH);
        let [to_server, to_client] = &**seen.summary().accounts.as_ref().unwrap();
        assert_eq!(to_server.ecn_negotiated, Some(negotiated));
        let marks = to_server.ecn;
        assert_eq!((marks.capable_packets, marks.ce_packets), (3, 2));
        let said = u64::from(negotiated);
        assert_eq!((marks.ece_packets, marks.cwr_packets), (0, said));
        assert_eq!(to_client.ecn.ece_packets, said);
    }
    let mut t = Script::new();
    t.c(1, 1, b"abc").tcp.flags.0 |= ECE;
    let account = account(&t);
    assert_eq!((account.ecn_negotiated, account.ecn.ece_packets), (None, 1));
}

#[test]
fn where_flags_count_marks_they_are_not_taken_for_answers_to_them() {
    const ECE: u8 = 0x40;
    const CWR: u8 = 0x80;
    // RFC 9768 section 3.1.1: what the SYN/ACK answers, AE first; what it mirrors agrees to nothing.
    for (ae, flags, negotiated) in [
        (false, CWR, true),
        (false, CWR | ECE, true),
        (true, 0, true),
        (true, CWR, true),
        (true, CWR | ECE, false),
        (false, 0, false),
    ] {
        let mut t = Script::new();
        t.send(ToServer, SYN | ECE | CWR, 0, 0, b"")
            .tcp
            .accurate_ecn = true;
        t.send(ToClient, SYN | ACK | flags, 0, 1, b"")
            .tcp
            .accurate_ecn = ae;
        t.c(1, 1, b"abc").tcp.flags.0 |= ECE | CWR;
        let account = account(&t);
        assert_eq!(account.ecn_negotiated, Some(negotiated), "{ae} {flags:x}");
        assert_eq!((account.ecn.ece_packets, account.ecn.cwr_packets), (0, 0));
    }
}

#[test]
fn a_sender_that_writes_after_each_answer_had_waited_for_it() {
    let mut t = Script::new();
    t.open();
    let write = [b'x'; 500];
    // Two writes are under way all the time; each is acknowledged, then answered.
    t.c(1, 1, &write);
    t.c(501, 1, &write);
    for i in 0..10u32 {
        t.wait(MS);
        t.s(1 + i * 4, 501 + i * 500, b"");
        t.wait(MS);
        t.s(1 + i * 4, 501 + i * 500, b"done");
        t.c(1_001 + i * 500, 5 + i * 4, &write);
    }
    let answered = account(&t).answered;
    let step = 10 * US;
    assert_eq!(answered.count, 10);
    assert_eq!(answered.waited_ns, 10 * (2 * MS + 2 * step));
    assert_eq!((answered.soonest_ns, answered.unsure_ns), (Some(step), 0));
}
