//! Which reply belongs to which request.

use super::*;
use model::{Field, Outcome, Protocol, Reason};

#[test]
fn a_request_sent_again_is_one_call_from_its_first_sending() {
    let mut w = Wire::tcp();
    w.send(UP, 1, &record(&read_call(7, 0)));
    w.send(UP, 60, &record(&read_call(7, 0)));
    w.send(UP, 90, &record(&read_call(7, 0)));
    w.send(DOWN, 100, &record(&read_reply(7, 8)));
    let calls = w.end(200);
    assert_eq!(calls.len(), 1);
    assert_eq!(calls[0].retransmits, 2);
    assert_eq!(times(&calls[0]), [Some(1), Some(1), Some(100), Some(100)]);
}

#[test]
fn a_request_sent_again_on_a_new_connection_is_timed_from_the_first() {
    let mut w = Wire::tcp();
    w.send(UP, 1, &record(&read_call(7, 0)));
    w.send(UP, 2, &record(&read_call(8, 0)));
    w.close(0, 50, Close::Reset);
    let again = w.open(Transport::Tcp, 2049);
    w.packet(again, UP, 60, &record(&read_call(7, 0)), 0);
    w.packet(again, DOWN, 70, &record(&read_reply(7, 8)), 0);
    let calls = w.end(200);
    assert_eq!(ids(&calls), [7, 8]);
    assert_eq!(times(&calls[0]), [Some(1), Some(60), Some(70), Some(70)]);
    assert_eq!((calls[0].retransmits, calls[0].connection.0), (1, 1));
    assert_eq!(calls[0].outstanding, 1);
    // The other one was never sent again.
    assert_eq!(calls[1].outcome, Outcome::NoResponse(Reason::NoAnswer));
    assert_eq!(calls[1].client, endpoint(1, 700));
}

#[test]
fn a_call_that_moves_to_another_open_connection_leaves_the_first() {
    let mut w = Wire::tcp();
    w.send(UP, 1, &record(&read_call(7, 0)));
    let other = w.open(Transport::Tcp, 2049);
    w.packet(other, UP, 60, &record(&read_call(7, 0)), 0);
    w.packet(other, DOWN, 70, &record(&read_reply(7, 8)), 0);
    w.send(UP, 80, &record(&read_call(9, 0)));
    w.send(DOWN, 90, &record(&read_reply(9, 8)));
    let changes: i64 = (w.output.outstanding.iter()).map(weight).sum();
    assert_eq!(changes, 0);
    let calls = w.end(100);
    assert_eq!(ids(&calls), [7, 9]);
    assert_eq!((calls[0].retransmits, calls[1].outstanding), (1, 1));
}

#[test]
fn another_request_with_the_same_xid_on_a_new_connection_is_another_call() {
    let mut w = Wire::tcp();
    w.send(UP, 1, &record(&read_call(7, 0)));
    w.close(0, 50, Close::Reset);
    let again = w.open(Transport::Tcp, 2049);
    w.packet(again, UP, 60, &record(&read_call(7, 4096)), 0);
    w.packet(again, DOWN, 70, &record(&read_reply(7, 8)), 0);
    let calls = w.end(200);
    assert_eq!(calls.len(), 2);
    assert_eq!((calls[0].retransmits, times(&calls[0])[0]), (0, Some(60)));
    assert_eq!(calls[1].outcome, Outcome::NoResponse(Reason::NoAnswer));
}

#[test]
fn an_xid_used_again_before_its_answer_ends_the_first_call() {
    let mut w = Wire::tcp();
    w.send(UP, 1, &record(&read_call(7, 0)));
    w.send(UP, 2, &record(&read_call(7, 4096)));
    w.send(DOWN, 3, &record(&read_reply(7, 8)));
    assert_eq!(w.problem("xid-reused"), 1);
    let calls = w.end(200);
    assert_eq!(calls[0].outcome, Outcome::NoResponse(Reason::NoAnswer));
    assert_eq!(calls[1].outcome, Outcome::Ok);
    assert_eq!(calls[1].detail.get(Field::Offset), Some(4096));
    assert_eq!(calls[1].outstanding, 1);
}

#[test]
fn an_xid_used_again_after_its_answer_is_a_new_call() {
    let mut w = Wire::tcp();
    for ms in [1, 5] {
        w.send(UP, ms, &record(&read_call(7, 0)));
        w.send(DOWN, ms + 1, &record(&read_reply(7, 8)));
    }
    let calls = w.end(200);
    assert_eq!(calls.len(), 2);
    assert_eq!(times(&calls[1])[0], Some(5));
}

#[test]
fn a_reply_before_its_request_in_the_file_is_paired_when_its_time_is_later() {
    let mut w = Wire::tcp();
    w.send(UP, 0, &record(&read_call(1, 0)));
    w.send(DOWN, 12, &record(&read_reply(7, 8)));
    w.send(UP, 10, &record(&read_call(7, 0)));
    // This reply is older than the request with its XID.
    w.send(DOWN, 3, &record(&read_reply(8, 8)));
    w.send(UP, 14, &record(&read_call(8, 0)));
    let calls = w.end(20);
    assert_eq!(calls[0].id, 7);
    assert_eq!(times(&calls[0]), [Some(10), Some(10), Some(12), Some(12)]);
    assert_eq!(calls[0].detail.get(Field::Returned), Some(8));
    let of_8: Vec<Outcome> = calls
        .iter()
        .filter(|c| c.id == 8)
        .map(|c| c.outcome)
        .collect();
    assert_eq!(
        of_8,
        [
            Outcome::NoRequest(Reason::BeforeCapture),
            Outcome::NoResponse(Reason::AfterCapture)
        ]
    );
}

#[test]
fn a_second_reply_is_counted_and_no_call() {
    let mut w = Wire::tcp();
    w.send(UP, 1, &record(&read_call(7, 0)));
    w.send(DOWN, 2, &record(&read_reply(7, 8)));
    w.send(DOWN, 3, &record(&read_reply(7, 8)));
    assert_eq!(w.problem("duplicate-reply"), 1);
    assert_eq!(w.end(4).len(), 1);
}

#[test]
fn over_udp_a_request_sent_again_after_its_reply_is_no_call() {
    let mut w = Wire::new();
    w.open(Transport::Udp, 2049);
    w.send(UP, 1, &read_call(7, 0));
    w.send(UP, 2, &read_call(7, 0));
    w.send(DOWN, 3, &read_reply(7, 8));
    w.send(UP, 4, &read_call(7, 0));
    w.send(DOWN, 5, &read_reply(7, 8));
    assert_eq!(w.problem("request-after-reply"), 1);
    assert_eq!(w.problem("duplicate-reply"), 1);
    let calls = w.end(6);
    assert_eq!(calls.len(), 1);
    assert_eq!((calls[0].retransmits, times(&calls[0])[3]), (1, Some(3)));
}

#[test]
fn callbacks_go_the_other_way_with_xids_of_their_own() {
    // CB_COMPOUND of one CB_RECALL, programme 0x40000000.
    let callback = [0, 1, 1, 1, 4, 1, 2, 3, 4, 0, 4, 0xfeed];
    let mut w = Wire::tcp();
    w.send(UP, 1, &record(&read_call(7, 0)));
    w.send(DOWN, 2, &record(&call(7, 0x4000_0000, 1, 1, &callback)));
    w.send(UP, 3, &record(&reply(7, &[0, 0, 1, 4, 0])));
    w.send(DOWN, 4, &record(&read_reply(7, 8)));
    let calls = w.end(5);
    let [back, read] = calls.as_slice() else {
        panic!("{calls:?}")
    };
    assert_eq!(
        (back.protocol, back.op.as_str()),
        (Protocol::NfsCallback, "CB_RECALL")
    );
    assert_eq!(back.client, endpoint(2, 2049));
    assert_eq!(back.text.as_deref(), Some("CB_RECALL"));
    assert_eq!((back.outstanding, times(back)[0]), (1, Some(2)));
    assert_eq!((read.op.as_str(), read.outcome), ("READ", Outcome::Ok));
}

#[test]
fn operation_lists_with_equal_numbers_are_not_mixed_up() {
    let mut w = Wire::tcp();
    // Operation 4 is CLOSE to a server and CB_RECALL to a client.
    let close = [0, 0, 1, 4, 1, 1, 2, 3, 4];
    let recall = [0, 1, 1, 1, 4, 1, 2, 3, 4, 0, 4, 0xfeed];
    w.send(UP, 1, &record(&call(1, NFS, 4, 1, &close)));
    w.send(DOWN, 2, &record(&call(2, 0x4000_0000, 1, 1, &recall)));
    w.send(UP, 3, &record(&reply(2, &[0, 0, 1, 4, 0])));
    w.send(DOWN, 4, &record(&reply(1, &[0, 0, 1, 4, 0, 1, 2, 3, 4])));
    let calls = w.end(5);
    let texts: Vec<_> = calls.iter().filter_map(|c| c.text.as_deref()).collect();
    assert_eq!(texts, ["CB_RECALL", "CLOSE"]);
}

#[test]
fn a_transient_programme_without_a_callback_in_it_has_no_name() {
    let mut w = Wire::tcp();
    w.send(UP, 1, &record(&read_call(1, 0)));
    w.send(UP, 1, &record(&call(2, 0x4000_0000, 1, 1, &[1, 2, 3])));
    w.send(DOWN, 2, &record(&reply(2, &[])));
    let calls = w.end(5);
    assert_eq!(
        (calls[0].protocol, calls[0].op.as_str()),
        (Protocol::Rpc, "1073741824.1")
    );
    assert_eq!(calls[0].detail.get(Field::Program), Some(0x4000_0000));
}
