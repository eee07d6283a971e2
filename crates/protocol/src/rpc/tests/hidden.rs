//! Requests and replies that start behind the snap length, in streams where all agrees and in others.

use super::*;
use model::{Field, Outcome, Protocol, Reason, limits};

const WRITE: u32 = 7;
/// Captured bytes of each packet.
const SHOWN: usize = 120;
/// Lengths on the stream of a READ of [`read_call`] and of a WRITE of 8 KiB: record mark, header of 40
/// bytes, then handle, offset and count, for WRITE with stability, length and data.
const READ_BYTES: u64 = 4 + 40 + 20;
const WRITE_BYTES: u64 = 4 + 40 + 28 + 8192;

fn write_call(xid: u32, count: u32) -> Vec<u8> {
    let mut message = call(xid, NFS, 3, WRITE, &[4, 0xfeed, 0, 0, count, 2, count]);
    message.resize(message.len() + count as usize, 0xdd);
    message
}

/// Status, no attributes before and after, count, stability, verifier.
fn write_reply(xid: u32, count: u32) -> Vec<u8> {
    reply(xid, &[0, 0, 0, count, 2, 1, 2])
}

/// The same, cut before the count.
const UNTOLD: usize = 4 + 24 + 12;

impl Wire {
    /// One packet of which the first bytes are captured.
    fn cut(&mut self, d: Direction, ms: i64, data: &[u8], shown: usize) {
        let shown = shown.min(data.len());
        self.packet(0, d, ms, &data[..shown], (data.len() - shown) as u32);
    }

    fn up(&mut self, ms: i64, data: &[u8]) {
        self.cut(UP, ms, data, SHOWN);
    }

    fn down(&mut self, ms: i64, message: &[u8]) {
        self.cut(DOWN, ms, &record(message), SHOWN);
    }

    /// XIDs `first..first + 6`, each in packets of its own: READs, then WRITEs of 8 KiB.
    fn teach(&mut self, ms: i64, first: u32, order: fn(u32) -> u32) {
        for i in 0..6 {
            let xid = order(first + i);
            if i < 3 {
                self.up(ms, &record(&read_call(xid, 0)));
                self.down(ms, &read_reply(xid, 8192));
            } else {
                self.up(ms, &record(&write_call(xid, 8192)));
                self.down(ms, &write_reply(xid, 8192));
            }
        }
    }
}

fn as_it_is(xid: u32) -> u32 {
    xid
}

/// A stream that knows its kinds and has come to XID 16, with what follows in one packet at 20 ms and
/// one at 30 ms: WRITE 16, READ 17, WRITE 18 that goes on in the second packet, READ 19. XID 20
/// follows at 40 ms.
fn mixed(order: fn(u32) -> u32, gap: u64) -> Wire {
    let mut w = Wire::tcp();
    w.teach(1, 10, order);
    let records = [
        record(&write_call(order(16), 8192)),
        record(&read_call(order(17), 0)),
        record(&write_call(order(18), 8192)),
        record(&read_call(order(19), 0)),
    ]
    .concat();
    let (first, second) = records.split_at(9000);
    w.up(20, first);
    if gap > 0 {
        w.gap(UP, 30, gap);
    }
    w.up(30, &second[gap as usize..]);
    w.up(40, &record(&read_call(order(20), 0)));
    w
}

fn answer(w: &mut Wire, order: fn(u32) -> u32) {
    w.down(50, &write_reply(order(16), 8192));
    w.down(51, &write_reply(order(18), 8192));
    w.down(52, &read_reply(order(17), 8192));
    w.down(53, &read_reply(order(19), 100));
    w.down(54, &read_reply(order(20), 8192));
}

fn of(calls: &[Call], xid: u32) -> &Call {
    calls.iter().find(|c| c.id == xid).unwrap()
}

fn inferred(calls: &[Call]) -> Vec<u32> {
    let inferred = |c: &&Call| c.detail.get(Field::Inferred) == Some(1);
    calls.iter().filter(inferred).map(|c| c.id).collect()
}

/// Nothing was inferred; these replies are without a request.
#[track_caller]
fn doubted(calls: &[Call], xids: &[u32]) {
    assert_eq!(inferred(calls), []);
    for &xid in xids {
        assert!(
            matches!(of(calls, xid).outcome, Outcome::NoRequest(_)),
            "{xid}"
        );
    }
}

#[test]
fn kinds_told_by_replies_place_the_requests_between_two_headers() {
    for order in [as_it_is, u32::swap_bytes] {
        let mut w = mixed(order, 0);
        answer(&mut w, order);
        let calls = w.end(60);
        let mut found = inferred(&calls);
        found.sort_by_key(|&xid| order(xid));
        assert_eq!(found, [17, 18, 19].map(order));
        assert!(calls.iter().all(|c| c.outcome == Outcome::Ok));
        let seen = of(&calls, order(16)).request_sequence;
        for (xid, op, bytes, at, t) in [
            (17, "READ", READ_BYTES, WRITE_BYTES, [20, 20, 52, 52]),
            (
                18,
                "WRITE",
                WRITE_BYTES,
                WRITE_BYTES + READ_BYTES,
                [20, 30, 51, 51],
            ),
            (
                19,
                "READ",
                READ_BYTES,
                2 * WRITE_BYTES + READ_BYTES,
                [30, 30, 53, 53],
            ),
        ] {
            let c = of(&calls, order(xid));
            assert_eq!((c.op.as_str(), c.request_bytes), (op, bytes));
            assert_eq!(u64::from(c.request_sequence - seen), at);
            assert_eq!(times(c), t.map(Some));
            assert_eq!(c.outstanding, 0);
        }
        let detail = |xid, field| of(&calls, order(xid)).detail.get(field);
        assert_eq!(detail(18, Field::Count), Some(8192));
        assert_eq!(detail(18, Field::Offset), None);
        assert_eq!(detail(17, Field::Count), None);
        assert_eq!(detail(19, Field::Returned), Some(100));
    }
}

#[test]
fn inferred_calls_do_not_count_as_outstanding() {
    let mut w = mixed(as_it_is, 0);
    answer(&mut w, as_it_is);
    let sent = (w.output.outstanding.iter()).filter(|o| o.change == Change::Sent);
    assert_eq!(sent.map(|o| o.id).max(), Some(20));
    let of_hidden = |o: &&Outstanding| (17..20).contains(&o.id);
    let changes: Vec<_> = w.output.outstanding.iter().filter(of_hidden).collect();
    assert!(changes.iter().all(|o| o.change == Change::Stray));
}

#[test]
fn a_reply_of_another_length_places_nothing() {
    let mut w = mixed(as_it_is, 0);
    w.down(51, &write_reply(18, 8192));
    w.down(52, &reply(17, &[70, 0]));
    w.down(53, &read_reply(19, 100));
    doubted(&w.end(60), &[17, 18, 19]);
}

#[test]
fn a_reply_that_tells_another_count_places_nothing() {
    let mut w = mixed(as_it_is, 0);
    w.down(51, &write_reply(18, 4096));
    w.down(52, &read_reply(17, 8192));
    w.down(53, &read_reply(19, 100));
    doubted(&w.end(60), &[17, 18, 19]);
}

#[test]
fn lengths_that_do_not_add_up_place_nothing() {
    let mut w = mixed(as_it_is, 0);
    w.down(51, &write_reply(18, 8192));
    w.down(52, &write_reply(17, 8192));
    w.down(53, &read_reply(19, 100));
    doubted(&w.end(60), &[17, 18, 19]);
}

#[test]
fn missing_packets_between_two_headers_place_nothing() {
    let mut w = mixed(as_it_is, 1448);
    answer(&mut w, as_it_is);
    doubted(&w.end(60), &[17, 18, 19]);
}

#[test]
fn a_reply_before_its_request_places_nothing() {
    let mut w = mixed(as_it_is, 0);
    // The second packet, which ends WRITE 18, came at 30 ms.
    w.down(25, &write_reply(18, 8192));
    w.down(52, &read_reply(17, 8192));
    w.down(53, &read_reply(19, 100));
    doubted(&w.end(60), &[17, 18, 19]);
}

#[test]
fn xids_that_do_not_count_place_nothing() {
    let scattered: fn(u32) -> u32 = |x| x.wrapping_mul(0x9e37_79b1);
    let mut w = mixed(scattered, 0);
    answer(&mut w, scattered);
    doubted(&w.end(60), &[17, 18, 19].map(scattered));
}

#[test]
fn an_xid_more_than_there_is_room_for_places_nothing() {
    let skipping: fn(u32) -> u32 = |x| if x < 20 { x } else { x + 1 };
    let mut w = mixed(skipping, 0);
    answer(&mut w, skipping);
    doubted(&w.end(60), &[17, 18, 19]);
}

#[test]
fn a_client_that_counts_all_its_connections_together_leaves_xids_out() {
    // Every second XID, so far and in the hidden bytes.
    let doubled: fn(u32) -> u32 = |x| 2 * x;
    let mut w = mixed(doubled, 0);
    answer(&mut w, doubled);
    let mut found = inferred(&w.end(60));
    found.sort_unstable();
    assert_eq!(found, [34, 36, 38]);
}

#[test]
fn replies_that_wait_for_the_next_header_are_kept_beyond_the_early_ones() {
    let mut w = Wire::tcp();
    w.teach(1, 10, as_it_is);
    let n = 4 * limits::EARLY_RESPONSES as u32;
    let writes: Vec<u8> = (16..16 + n)
        .flat_map(|x| record(&write_call(x, 8192)))
        .collect();
    for (i, packet) in writes.chunks(60_000).enumerate() {
        w.up(20 + i as i64, packet);
    }
    for x in 16..16 + n {
        w.down(100, &write_reply(x, 8192));
    }
    w.up(200, &record(&read_call(16 + n, 0)));
    let calls = w.end(300);
    assert!(inferred(&calls).len() > 2 * limits::EARLY_RESPONSES);
    let waiting = calls.iter().filter(|c| c.outcome != Outcome::Ok);
    assert_eq!(waiting.map(|c| c.id).collect::<Vec<_>>(), [16 + n]);
}

#[test]
fn more_replies_than_may_be_kept_are_reported_and_counted() {
    let mut w = Wire::tcp();
    w.teach(1, 10, as_it_is);
    w.up(
        20,
        &[record(&write_call(16, 8192)), record(&write_call(17, 8192))].concat(),
    );
    for x in 0..limits::HIDDEN_CALLS as u32 + 2 {
        w.down(100, &write_reply(5000 + x, 8192));
    }
    assert_eq!(w.problem("hidden-requests-given-up"), 2);
    let lost = Outcome::NoRequest(Reason::SnapLength);
    assert_eq!(
        w.output.calls.iter().filter(|c| c.outcome == lost).count(),
        2
    );
}

/// WRITEs 16 to 18 in one packet, of which only the first is seen, and nothing of the client later.
fn last_packet(more: usize) -> Wire {
    let mut w = Wire::tcp();
    w.teach(1, 10, as_it_is);
    let mut records: Vec<u8> = (16..19)
        .flat_map(|x| record(&write_call(x, 8192)))
        .collect();
    records.resize(records.len() + more, 0);
    w.up(20, &records);
    for x in 16..19 {
        w.down(30, &write_reply(x, 8192));
    }
    w
}

#[test]
fn requests_behind_the_last_header_fill_the_stream_to_its_end() {
    assert_eq!(inferred(&last_packet(0).end(40)), [17, 18]);
    doubted(&last_packet(1000).end(40), &[17, 18]);
}

/// WRITEs of two lengths were seen, and the replies to the hidden ones do not tell their count.
fn two_lengths(hidden: &[u32]) -> Vec<Call> {
    let mut w = Wire::tcp();
    w.teach(1, 10, as_it_is);
    w.up(15, &record(&write_call(16, 4096)));
    w.down(16, &write_reply(16, 4096));
    let writes = std::iter::once(8192).chain(hidden.iter().copied());
    let records: Vec<u8> = (17..)
        .zip(writes)
        .flat_map(|(x, n)| record(&write_call(x, n)))
        .collect();
    w.up(20, &records);
    let next = 18 + hidden.len() as u32;
    w.up(21, &record(&read_call(next, 0)));
    for (x, &n) in (18..).zip(hidden) {
        w.cut(DOWN, 30, &record(&write_reply(x, n)), UNTOLD);
    }
    w.end(40)
}

#[test]
fn lengths_that_replies_do_not_tell_must_be_the_only_ones_that_add_up() {
    assert_eq!(inferred(&two_lengths(&[4096])), [18]);
    assert_eq!(inferred(&two_lengths(&[8192, 8192])), [18, 19]);
    assert_eq!(inferred(&two_lengths(&[4096, 4096])), [18, 19]);
    doubted(&two_lengths(&[4096, 8192]), &[18, 19]);
}

#[test]
fn a_request_without_a_reply_leaves_the_others_certain() {
    let mut w = mixed(as_it_is, 0);
    w.down(51, &write_reply(18, 8192));
    w.down(52, &read_reply(17, 8192));
    let calls = w.end(60);
    assert_eq!(inferred(&calls), [18, 17]);
    assert_eq!(times(of(&calls, 18)), [20, 30, 51, 51].map(Some));
}

#[test]
fn a_request_of_which_only_the_xid_was_captured_is_named_by_its_reply() {
    let mut w = Wire::tcp();
    w.teach(1, 10, as_it_is);
    w.cut(UP, 20, &record(&write_call(16, 8192)), 8);
    w.down(30, &write_reply(16, 8192));
    let calls = w.end(40);
    let c = of(&calls, 16);
    assert_eq!(
        (c.op.as_str(), times(c)),
        ("WRITE", [20, 20, 30, 30].map(Some))
    );
    assert_eq!(inferred(&calls), [16]);
}

/// Eighty WRITEs answered in this order; then the replies to two of them in one packet, of which only
/// the first is seen, and one more.
fn hidden_reply(first: impl IntoIterator<Item = u32>) -> Vec<Call> {
    let mut w = Wire::tcp();
    w.teach(1, 10, as_it_is);
    for x in 16..100 {
        w.up(10, &record(&write_call(x, 8192)));
    }
    for x in first {
        w.down(20, &write_reply(x, 8192));
    }
    let two = [96, 97].map(|x| record(&write_reply(x, 8192))).concat();
    w.cut(DOWN, 30, &two, 56);
    w.down(31, &write_reply(98, 8192));
    w.end(40)
}

#[test]
fn a_reply_hidden_between_two_in_strict_order_is_certain() {
    let calls = hidden_reply(16..96);
    assert_eq!(inferred(&calls), [97]);
    assert_eq!(times(of(&calls, 97)), [10, 10, 30, 30].map(Some));
}

#[test]
fn a_hidden_reply_of_a_server_that_answers_in_any_order_stays_unknown() {
    let calls = hidden_reply((16..80).chain([81, 80]).chain(82..96));
    assert_eq!(inferred(&calls), []);
    assert!(matches!(
        of(&calls, 97).outcome,
        Outcome::NoResponse(Reason::SnapLength)
    ));
}

/// Where the response to a call may lie: from when, and until when.
fn bounds(call: &Call) -> Option<(i64, i64)> {
    let ms = |t: Time| (t - Time(0)) / 1_000_000;
    call.hidden.map(|h| (ms(h.earliest.time), ms(h.latest)))
}

/// Two WRITEs and two READs, answered in packets at 30 and 35 ms that hold several replies, of which only the first's header
/// is seen. The replies behind them are seen at 31 and 36 ms.
fn in_packets(at_30: &[u32], at_35: &[u32]) -> Vec<Call> {
    let mut w = Wire::tcp();
    w.teach(1, 10, as_it_is);
    for x in 16..24 {
        let request = match x % 2 {
            0 => write_call(x, 8192),
            _ => read_call(x, 0),
        };
        w.up(i64::from(x), &record(&request));
    }
    let answer = |x: &u32| match x % 2 {
        0 => record(&write_reply(*x, 8192)),
        _ => record(&read_reply(*x, 8192)),
    };
    for (ms, replies, next) in [(30, at_30, 22), (35, at_35, 23)] {
        let packet: Vec<u8> = replies.iter().flat_map(answer).collect();
        w.cut(DOWN, ms, &packet, UNTOLD + 4);
        w.down(ms + 1, &answer(&next)[4..]);
    }
    w.end(50)
}

#[test]
fn a_call_whose_reply_nobody_saw_has_bounds_where_replies_add_up() {
    // Out of order, so that which is whose is not known; but 21 alone is left for the second packet.
    let calls = in_packets(&[18, 17, 16, 19], &[20, 21]);
    for x in [16, 17, 19] {
        let call = of(&calls, x);
        assert_eq!(call.outcome, Outcome::NoResponse(Reason::SnapLength), "{x}");
        assert_eq!(call.response_last, None);
        assert_eq!(bounds(call), Some((30, 30)), "{x}");
    }
    assert_eq!(bounds(of(&calls, 21)), Some((35, 35)));
    assert!(
        [18, 20, 22, 23]
            .iter()
            .all(|&x| bounds(of(&calls, x)).is_none())
    );
}

#[test]
fn where_replies_do_not_add_up_the_last_hidden_bytes_bound_it() {
    let mut w = Wire::tcp();
    w.teach(1, 10, as_it_is);
    for x in 16..26 {
        w.up(20, &record(&write_call(x, 8192)));
    }
    let failed = reply(17, &[5, 0, 0]);
    let packet = [record(&write_reply(16, 8192)), record(&failed)].concat();
    w.cut(DOWN, 30, &packet, UNTOLD + 4);
    for x in 18..26 {
        w.down(40, &write_reply(x, 8192));
    }
    let calls = w.end(50);
    assert_eq!(bounds(of(&calls, 17)), Some((30, 30)));
    assert!(of(&calls, 17).response_time_ns().is_none());
}

/// Of three WRITEs in one packet the first is seen, and five behind them. The replies come in packets of which only the first
/// is seen: these, until at 36 ms the last.
fn asked_unseen(at_30: &[u32], at_35: &[u32]) -> Vec<Call> {
    let mut w = Wire::tcp();
    w.teach(1, 10, as_it_is);
    let three = [16, 17, 18].map(|x| record(&write_call(x, 8192))).concat();
    w.cut(UP, 20, &three, 60);
    for x in 19..24 {
        w.up(21, &record(&write_call(x, 8192)));
    }
    for (ms, replies) in [(30, at_30), (35, at_35)] {
        let packet: Vec<u8> = replies
            .iter()
            .flat_map(|x| record(&write_reply(*x, 8192)))
            .collect();
        w.cut(DOWN, ms, &packet, 56);
    }
    w.down(36, &write_reply(23, 8192));
    w.end(50)
}

#[test]
fn who_asked_unseen_has_the_reply_before_those_who_asked_later() {
    let calls = asked_unseen(&[16, 17, 18, 19], &[20, 21, 22]);
    assert_eq!(bounds(of(&calls, 19)), Some((30, 30)));
    for x in [21, 22] {
        assert_eq!(bounds(of(&calls, x)), Some((35, 35)), "{x}");
    }
}

#[test]
fn a_reply_that_was_seen_to_a_request_that_was_not_is_not_waited_for() {
    let calls = asked_unseen(&[17, 16, 18, 19], &[20, 21, 22]);
    assert_eq!(bounds(of(&calls, 19)), Some((30, 30)));
    assert_eq!(bounds(of(&calls, 21)), Some((35, 35)));
}

/// Two were answered in the other order, and very many since.
#[test]
fn who_has_been_answered_is_not_waited_for_however_many_have() {
    let mut w = Wire::tcp();
    w.teach(1, 10, as_it_is);
    for x in [16, 17] {
        w.up(2, &record(&write_call(x, 8192)));
    }
    for x in [17, 16] {
        w.down(3, &write_reply(x, 8192));
    }
    for x in 18..400 {
        w.up(4, &record(&write_call(x, 8192)));
        w.down(5, &write_reply(x, 8192));
    }
    for x in 400..404 {
        w.up(20, &record(&write_call(x, 8192)));
    }
    for (ms, two) in [(30, [400, 401]), (40, [403, 402])] {
        let two = two.map(|x| record(&write_reply(x, 8192))).concat();
        w.cut(DOWN, ms, &two, 56);
    }
    let calls = w.end(50);
    assert_eq!(bounds(of(&calls, 401)), Some((30, 30)));
    assert_eq!(bounds(of(&calls, 402)), Some((40, 40)));
}

#[test]
fn replies_behind_the_last_that_was_seen_come_in_their_turn() {
    let mut w = Wire::tcp();
    w.teach(1, 10, as_it_is);
    for x in 16..22 {
        w.up(20, &record(&write_call(x, 8192)));
    }
    for (ms, replies) in [(30, [16, 17]), (35, [18, 19])] {
        let packet = replies.map(|x| record(&write_reply(x, 8192))).concat();
        w.cut(DOWN, ms, &packet, if ms == 30 { 56 } else { 0 });
    }
    // Of the fifth half was sent.
    w.cut(DOWN, 40, &record(&write_reply(20, 8192))[..28], 0);
    let calls = w.end(50);
    assert_eq!(bounds(of(&calls, 17)), Some((30, 30)));
    for x in [18, 19] {
        assert_eq!(bounds(of(&calls, x)), Some((35, 35)), "{x}");
    }
    assert_eq!(bounds(of(&calls, 20)), Some((30, 40)));
}

#[test]
fn where_no_header_is_captured_there_are_turns_and_the_reason() {
    let mut wire = Wire::tcp();
    for i in 0..6 {
        // Behind 68 bytes of Ethernet, IPv4 and TCP with time stamps.
        wire.cut(UP, 20 * i, &read_call(i as u32, 0), 2);
        wire.cut(DOWN, 20 * i + 10, &[0x80; 100], 2);
    }
    assert!(!wire.connections[0].1.is_known());
    wire.close(0, 200, Close::EndOfCapture);
    assert_eq!(wire.problem(model::HEADERS_CUT), 1);
    let turns = wire.end(200);
    assert_eq!(turns.len(), 6);
    assert!(turns.iter().all(|c| c.protocol == Protocol::Rpc));
}
