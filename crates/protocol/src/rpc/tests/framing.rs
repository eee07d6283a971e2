//! Records on the stream: fragments, many to a packet, cut, and hidden.

use super::*;
use model::{Field, Outcome, Protocol, Reason};

#[test]
fn a_call_has_four_times() {
    let mut w = Wire::tcp();
    let (request, response) = (record(&read_call(7, 4096)), record(&read_reply(7, 8192)));
    w.send(UP, 10, &request[..50]);
    w.send(UP, 11, &request[50..]);
    w.send(DOWN, 20, &response[..1000]);
    w.send(DOWN, 23, &response[1000..]);
    let calls = w.end(30);
    let [call] = calls.as_slice() else {
        panic!("{calls:?}")
    };
    assert_eq!(times(call), [Some(10), Some(11), Some(20), Some(23)]);
    assert_eq!((call.protocol, call.op.as_str()), (Protocol::Nfs3, "READ"));
    assert_eq!((call.id, call.outcome), (7, Outcome::Ok));
    assert_eq!(call.request_bytes, request.len() as u64);
    assert_eq!(call.response_bytes, response.len() as u64);
    assert_eq!(call.detail.get(Field::Offset), Some(4096));
    assert_eq!(call.detail.get(Field::Returned), Some(8192));
    assert_eq!(call.client, endpoint(1, 700));
}

#[test]
fn a_record_in_several_fragments_is_one_message() {
    let message = read_call(7, 4096);
    // Fragments of 5, 31 and the rest, the last empty: only its bit ends the record.
    let mut request = Vec::new();
    for part in [&message[..5], &message[5..36], &message[36..]] {
        request.extend(words(&[part.len() as u32]));
        request.extend(part);
    }
    request.extend(words(&[0x8000_0000]));
    request.extend(record(&read_call(8, 0)));
    for border in 1..request.len() {
        let mut w = Wire::tcp();
        w.send(UP, 1, &record(&read_call(6, 0)));
        w.send(UP, 10, &request[..border]);
        w.send(UP, 11, &request[border..]);
        w.send(DOWN, 20, &record(&read_reply(7, 8)));
        w.send(DOWN, 21, &record(&read_reply(8, 8)));
        let calls = w.end(30);
        assert_eq!(ids(&calls), [7, 8, 6], "border at {border}");
        assert_eq!(calls[0].detail.get(Field::Offset), Some(4096));
        assert_eq!(calls[0].request_bytes, message.len() as u64 + 16);
        assert_eq!(times(&calls[0])[0], Some(10));
    }
}

#[test]
fn a_gap_in_a_fragmented_record_does_not_join_it_with_the_next() {
    let message = read_call(7, 4096);
    let mut w = Wire::tcp();
    w.send(UP, 1, &[words(&[20]), message[..20].to_vec()].concat());
    w.gap(UP, 2, 44);
    w.send(UP, 3, &record(&read_call(8, 512)));
    w.send(DOWN, 4, &record(&read_reply(8, 8)));
    let calls = w.end(30);
    assert_eq!(ids(&calls), [8]);
    assert_eq!(calls[0].detail.get(Field::Offset), Some(512));
    assert_eq!(times(&calls[0])[0], Some(3));
}

#[test]
fn many_records_in_one_packet_are_many_calls() {
    let mut w = Wire::tcp();
    let requests: Vec<u8> = (0..40).flat_map(|x| record(&read_call(x, x))).collect();
    let replies: Vec<u8> = (0..40).flat_map(|x| record(&read_reply(x, 16))).collect();
    w.send(UP, 1, &requests);
    w.send(DOWN, 2, &replies);
    let calls = w.end(3);
    assert_eq!(ids(&calls), (0..40).collect::<Vec<_>>());
    assert_eq!(calls[39].outstanding, 40);
}

#[test]
fn replies_cut_by_the_snap_length_are_followed_by_their_length() {
    let mut w = Wire::tcp();
    for x in 0..4 {
        w.send(UP, 10 * x, &record(&read_call(x as u32, 0)));
        let response = record(&read_reply(x as u32, 8192));
        let cut = response.len() as u32 - 60;
        w.packet(0, DOWN, 10 * x + 5, &response[..60], cut);
    }
    let calls = w.end(50);
    assert_eq!(ids(&calls), [0, 1, 2, 3]);
    for c in calls {
        assert_eq!((c.outcome, c.response_bytes), (Outcome::Ok, 4 + 44 + 8192));
    }
}

#[test]
fn a_request_behind_a_cut_is_not_seen_and_its_reply_says_so() {
    let mut w = Wire::tcp();
    let first = record(&read_call(1, 0));
    let hidden = record(&read_call(2, 0)).len() as u32;
    w.packet(0, UP, 1, &first, hidden);
    w.send(DOWN, 2, &record(&read_reply(1, 8)));
    w.send(DOWN, 3, &record(&read_reply(2, 8)));
    w.send(UP, 4, &record(&read_call(3, 0)));
    w.send(DOWN, 5, &record(&read_reply(3, 8)));
    let calls = w.end(6);
    assert_eq!(ids(&calls), [1, 3, 2]);
    assert_eq!(calls[2].outcome, Outcome::NoRequest(Reason::SnapLength));
    assert_eq!(times(&calls[2]), [None, None, Some(3), Some(3)]);
}

#[test]
fn a_capture_that_begins_inside_a_message_finds_the_next() {
    let mut stream = read_reply(1, 8192)[100..].to_vec();
    let start = stream.len();
    stream.extend(record(&read_reply(2, 8)));
    // Wherever the segment's border is, also inside the header.
    for border in start - 40..stream.len() {
        let mut w = Wire::tcp();
        w.send(UP, 1, &record(&read_call(2, 0)));
        w.send(DOWN, 2, &stream[..border]);
        w.send(DOWN, 3, &stream[border..]);
        let calls = w.end(9);
        assert_eq!(ids(&calls), [2], "border at {border}");
        assert_eq!(calls[0].outcome, Outcome::Ok);
        let first = if border > start { 2 } else { 3 };
        assert_eq!(times(&calls[0])[2], Some(first), "border at {border}");
    }
}

#[test]
fn a_program_cut_off_from_its_version_is_enough_of_a_request() {
    let mut w = Wire::tcp();
    let first = record(&read_call(1, 0));
    w.packet(0, UP, 1, &first, 300);
    // In the middle of a segment: record mark, XID, CALL, 2, 100003, and two bytes more.
    let second = record(&read_call(2, 0));
    let segment = [vec![0xee; 80], second[..22].to_vec()].concat();
    w.packet(0, UP, 2, &segment, second.len() as u32 - 22);
    w.send(DOWN, 3, &record(&read_reply(2, 8)));
    let calls = w.end(9);
    assert_eq!(ids(&calls), [2, 1]);
    assert_eq!(calls[0].op.as_str(), "CALL");
}

#[test]
fn an_xid_alone_pairs_where_replies_are_waited_for() {
    let mut w = Wire::tcp();
    for x in 1..4 {
        let (request, response) = (record(&read_call(x, 0)), record(&read_reply(x, 8)));
        w.packet(
            0,
            UP,
            2 * x as i64,
            &request[..10],
            request.len() as u32 - 10,
        );
        w.packet(
            0,
            DOWN,
            2 * x as i64 + 1,
            &response[..10],
            response.len() as u32 - 10,
        );
    }
    let calls = w.end(9);
    assert_eq!(ids(&calls), [1, 2, 3]);
    for c in calls {
        assert_eq!((c.protocol, c.op.as_str()), (Protocol::Rpc, "CALL"));
        assert_eq!(c.outcome, Outcome::Ok);
    }
}

#[test]
fn the_end_of_a_compound_behind_its_data_is_read_in_any_chunks() {
    // NFSv4.0 compound: PUTFH, WRITE of 6000 bytes, GETATTR.
    let mut arguments = words(&[0, 0, 3, 22, 4, 0xfeed, 38, 1, 2, 3, 4, 0, 512, 0, 6000]);
    arguments.resize(arguments.len() + 6000, 0x77);
    arguments.extend(words(&[9, 1, 0x18]));
    let message = [call(5, NFS, 4, 1, &[]), arguments].concat();
    let request = record(&message);
    let response = record(&reply(
        5,
        &[0, 0, 3, 22, 0, 38, 0, 6000, 0, 1, 2, 9, 0, 0, 0],
    ));
    for size in [100, 1448, 5000, 6090, request.len()] {
        let mut w = Wire::tcp();
        w.send(UP, 0, &record(&call(4, NFS, 4, 0, &[])));
        for part in request.chunks(size) {
            w.send(UP, 1, part);
        }
        w.send(DOWN, 2, &response);
        let calls = w.end(9);
        let c = &calls[0];
        assert_eq!((c.id, c.op.as_str()), (5, "WRITE"), "chunks of {size}");
        assert_eq!(c.text.as_deref(), Some("PUTFH,WRITE,GETATTR"));
        assert_eq!(c.detail.get(Field::Count), Some(6000));
    }
}

#[test]
fn mount_on_a_port_of_its_own_is_found_by_its_first_bytes() {
    let mut w = Wire::new();
    w.open(Transport::Tcp, 1023);
    // As a snap length of 96 leaves it: record mark and 26 bytes.
    let request = record(&call(9, 100_005, 3, 1, &[4, 0x2f78_7878]));
    w.packet(0, UP, 1, &request[..30], request.len() as u32 - 30);
    w.send(DOWN, 2, &record(&reply(9, &[0, 4, 0xfeed, 0])));
    let calls = w.end(3);
    assert_eq!(
        (calls[0].protocol, calls[0].op.as_str()),
        (Protocol::Mount, "MNT")
    );
}
