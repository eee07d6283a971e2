//! What streams waited for, and what of it nobody can tell.

use super::*;
use crate::findings::testing::{connection, mark};
use ledger::Cause;
use model::RoundTrips;

#[test]
fn what_somebody_who_was_heard_never_had_was_lost() {
    let lost = |heard: Option<bool>| {
        let mut c = connection();
        let sent = &mut c.directions[0];
        sent.counts.payload_bytes = 14_480;
        sent.counts.retransmitted_packets = 6;
        sent.counts.stuck = heard.map(|receiver_heard| Stuck {
            bytes: 1_448,
            times: 6,
            first: mark(0),
            last: mark(900),
            receiver_heard,
            others_arrived: false,
        });
        sent.account.time_ns[TimeClass::LossRecovery] = 1_000;
        let streams = Streams {
            connections: vec![c],
            ..Streams::default()
        };
        streams.sums().of(Cause::Loss).lo_ns
    };
    assert_eq!([Some(true), Some(false), None].map(lost), [1_000, 0, 0]);
}

#[test]
fn one_loss_explains_one_recovery() {
    // Thirty segments were sent again as their acknowledgements were late, and one as it was lost.
    assert_eq!(needless_ns(600, Some(30), 1), 570);
    assert_eq!(needless_ns(600, Some(30), 20), 0);
    assert_eq!(needless_ns(600, Some(30), 19), 30);
    assert_eq!(needless_ns(600, None, 1), 0);
    assert_eq!(needless_ns(600, Some(30), 0), 0, "the other classes tell");
    assert_eq!(needless_ns(i64::MAX, Some(i64::MAX), u64::MAX), 0);
}

#[test]
fn far_from_its_sender_a_silence_may_be_what_the_path_varies() {
    let paused = |taken_at, acknowledged| {
        let mut c = connection();
        c.handshake.seen = true;
        c.ends.truncate(1);
        c.directions[1].counts.payload_bytes = 1_000_000;
        let account = &mut c.directions[1].account;
        account.time_ns[TimeClass::SenderApplication] = 9_000;
        account.stretches[TimeClass::SenderApplication] = 10;
        c.directions[0].account.rtt = acknowledged;
        let streams = Streams {
            connections: vec![c],
            taken_at: Some(taken_at),
            ..Streams::default()
        };
        streams.sums().of(Cause::NotWriting)
    };
    let varying = RoundTrips {
        count: 8,
        min_ns: 200,
        p90_ns: 900,
        ..RoundTrips::default()
    };
    assert_eq!(paused(Vantage::Client, varying).lo_ns, 9_000 - 10 * 700);
    assert_eq!(paused(Vantage::Server, varying).lo_ns, 9_000);
    assert_eq!(paused(Vantage::Client, RoundTrips::default()).lo_ns, 9_000);
}
