//! Which segments make a connection, who its client is, and when it is over.

use super::super::PARTITIONS;
use super::*;
use Direction::{ToClient, ToServer};
use model::limits;

fn finish_gracefully(t: &mut Script, client_next: u32, server_next: u32) {
    t.send(ToServer, FIN | ACK, client_next, server_next, b"");
    t.send(ToClient, FIN | ACK, server_next, client_next + 1, b"");
    t.send(ToServer, ACK, client_next + 1, server_next + 1, b"");
}

#[test]
fn a_connection_is_over_when_both_fins_are_acknowledged() {
    let mut t = Script::new();
    t.open();
    t.c(1, 1, b"abc");
    finish_gracefully(&mut t, 4, 1);
    // Late packets of it open nothing.
    t.send(ToClient, FIN | ACK, 1, 5, b"");
    t.send(ToServer, ACK, 5, 2, b"");
    let seen = t.one();
    assert_eq!(seen.close(), Close::Finished);
    assert_eq!(seen.end.as_ref().unwrap().1, 6);
    assert!(seen.connection.roles_known);
}

#[test]
fn a_new_syn_on_the_same_ports_replaces_the_connection() {
    let mut t = Script::new();
    t.open();
    t.c(1, 1, b"old");
    t.isn = 900_000;
    t.open();
    t.c(1, 1, b"new");
    let seen = t.run();
    assert_eq!(seen.len(), 2);
    assert_eq!(seen[0].close(), Close::Replaced);
    assert_eq!(seen[0].items(ToServer), data(b"old"));
    assert_eq!(seen[1].items(ToServer), data(b"new"));
    assert_eq!(seen[1].connection.id.0, 4);
}

#[test]
fn a_port_is_used_again_at_once_after_a_graceful_end() {
    let mut t = Script::new();
    for isn in [1_000, 50_000] {
        t.isn = isn;
        t.open();
        t.c(1, 1, b"abc");
        finish_gracefully(&mut t, 4, 1);
    }
    let closes: Vec<_> = t.run().iter().map(Seen::close).collect();
    assert_eq!(closes, [Close::Finished; 2]);
}

#[test]
fn a_syn_sent_again_is_counted_and_replaces_nothing() {
    let mut t = Script::new();
    t.send(ToServer, SYN, 0, 0, b"");
    t.wait(1_000 * MS);
    let last_syn = t.now;
    t.open();
    let seen = t.one();
    let h = seen.summary().handshake;
    assert_eq!(h.syn_retries, 1);
    assert_eq!(h.syn, Some(Time(last_syn)));
    assert_eq!(h.syn_ack, Some(Time(last_syn + 10 * US)));
    assert_eq!(h.ack, Some(Time(last_syn + 20 * US)));
    assert_eq!((h.client_isn, h.server_isn), (Some(1_000), Some(1_001_000)));
}

#[test]
fn a_server_that_holds_an_earlier_connection_answers_no_syn_and_the_client_resets_only_that() {
    let mut t = Script::new();
    t.send(ToServer, SYN, 0, 0, b"");
    for _ in 0..2 {
        // Its challenge, the client's answer to it, and what was not acknowledged on that connection.
        t.raw(ToClient, ACK, 77_000, 4_000_000_000, b"");
        t.raw(ToServer, RST, 4_000_000_000, 0, b"");
        t.raw(ToClient, ACK, 76_900, 4_000_000_000, b"sent again");
        t.raw(ToServer, RST, 4_000_000_000, 0, b"");
        t.wait(1_000 * MS);
        t.send(ToServer, SYN, 0, 0, b"");
    }
    t.send(ToClient, SYN | ACK, 0, 1, b"");
    t.send(ToServer, ACK, 1, 1, b"");
    t.c(1, 1, b"abc");
    t.s(1, 4, b"xyz");
    let seen = t.one();
    let h = seen.summary().handshake;
    assert_eq!((h.syn_retries, h.challenges, h.challenge_resets), (2, 2, 4));
    assert!(h.syn_ack.is_some() && h.ack.is_some());
    assert_eq!(seen.items(ToServer), data(b"abc"));
    assert_eq!(seen.items(ToClient), data(b"xyz"));
}

#[test]
fn an_answer_whose_syn_ack_is_not_in_the_capture_is_no_challenge() {
    let mut t = Script::new();
    t.send(ToServer, SYN, 0, 0, b"");
    t.c(1, 1, b"abc");
    t.s(1, 4, b"xyz");
    let seen = t.one();
    assert_eq!(seen.summary().handshake.challenges, 0);
    assert_eq!(seen.items(ToClient), data(b"xyz"));
}

#[test]
fn whether_the_first_syn_arrived_shows_in_what_passed_and_in_what_is_echoed() {
    // A SYN, whose answer passes or does not, and another one whose answer echoes one of the two.
    let told = |passes: bool, echo: u32| {
        let mut t = Script::new();
        let syn = |t: &mut Script, stamp| {
            t.send(ToServer, SYN, 0, 0, b"").tcp.timestamps = Some((stamp, 0));
            t.wait(MS);
        };
        let answer = |t: &mut Script, echo| {
            t.send(ToClient, SYN | ACK, 0, 1, b"").tcp.timestamps = Some((7, echo));
            t.wait(1_000 * MS);
        };
        syn(&mut t, 100);
        if passes {
            answer(&mut t, 100);
        }
        syn(&mut t, 1_100);
        answer(&mut t, echo);
        t.send(ToServer, ACK, 1, 1, b"");
        let h = t.one().summary().handshake;
        assert_eq!(h.syn_retries, 1);
        (h.answered_before_retry, h.echoes_first_syn)
    };
    assert_eq!(told(false, 1_100), (false, false));
    assert_eq!(told(false, 100), (false, true));
    assert_eq!(told(true, 100), (true, false));
}

#[test]
fn a_refused_connection_is_reset_and_may_be_tried_again_with_the_same_syn() {
    let mut t = Script::new();
    for _ in 0..2 {
        t.send(ToServer, SYN, 0, 0, b"");
        t.raw(ToClient, RST | ACK, 0, 1_001, b"");
        t.wait(500 * MS);
    }
    t.open();
    t.c(1, 1, b"abc");
    let seen = t.run();
    let closes: Vec<_> = seen.iter().map(Seen::close).collect();
    assert_eq!(closes, [Close::Reset, Close::Reset, Close::EndOfCapture]);
    assert_eq!(seen[2].items(ToServer), data(b"abc"));
}

#[test]
fn a_stale_reset_ends_nothing_and_a_good_one_does() {
    let mut t = Script::new();
    t.open();
    t.c(1, 1, b"abcdef");
    t.s(1, 7, b"");
    t.send(ToServer, RST, 3, 0, b"");
    t.c(7, 1, b"ghi");
    t.send(ToServer, RST, 10, 0, b"");
    t.s(1, 10, b"crossed the reset");
    let (seen, problems) = t.run_with_problems();
    assert_eq!(seen.len(), 1);
    assert_eq!(seen[0].close(), Close::Reset);
    assert_eq!(seen[0].items(ToServer), data(b"abcdefghi"));
    assert_eq!(problems, [("stale-reset", 1)]);
}

#[test]
fn a_reset_by_a_host_that_had_closed_is_told_from_one_that_cuts_off() {
    // Where the capture lacks the end, what acknowledges it shows that there may have been one.
    for (closed, is_captured) in [(false, true), (true, true), (true, false)] {
        let mut t = Script::new();
        t.open();
        t.c(1, 1, b"bye");
        t.s(1, 4, b"bye");
        if closed && is_captured {
            t.send(ToClient, FIN | ACK, 4, 4, b"");
        }
        t.c(4, 4 + u32::from(closed), b"close notify");
        t.send(ToClient, RST, 4 + u32::from(closed), 0, b"");
        let reset = t.one().summary().reset.unwrap();
        assert_eq!((reset.after_fin, reset.refuses), (closed, false));
    }
}

#[test]
fn full_segments_that_the_capture_lacks_before_a_reset_were_no_end() {
    // Of 100 bytes with time stamps, of which a reset has none.
    let after_fin = |lacks: u32| {
        let mut t = Script::new();
        t.open();
        for segment in &mut t.segments {
            segment.tcp.mss = segment.tcp.flags.syn().then_some(112);
        }
        let stamps = Some((1, 1));
        t.c(1, 1, b"ask").tcp.timestamps = stamps;
        t.s(1, 4, &[b'x'; 100]).tcp.timestamps = stamps;
        t.c(4, 101 + lacks, b"").tcp.timestamps = stamps;
        t.send(ToClient, RST, 101 + lacks, 0, b"");
        t.one().summary().reset.unwrap().after_fin
    };
    assert_eq!(
        [0, 100, 200, 1, 101].map(after_fin),
        [false, false, false, true, true]
    );
}

#[test]
fn a_connection_that_goes_on_after_a_reset_is_followed() {
    let mut t = Script::new();
    t.open();
    t.c(1, 1, b"abc");
    t.send(ToServer, RST, 4, 0, b"");
    t.wait(2_000 * MS);
    t.c(4, 1, b"def");
    let seen = t.run();
    assert_eq!(seen.len(), 2);
    assert_eq!(seen[1].items(ToServer), data(b"def"));
}

#[test]
fn both_sides_may_open_at_the_same_time() {
    let mut t = Script::new();
    t.send(ToServer, SYN, 0, 0, b"");
    t.send(ToClient, SYN, 0, 0, b"");
    t.send(ToServer, SYN | ACK, 0, 1, b"");
    t.send(ToClient, SYN | ACK, 0, 1, b"");
    t.c(1, 1, b"abc");
    t.s(1, 4, b"def");
    let seen = t.one();
    assert_eq!(seen.items(ToServer), data(b"abc"));
    assert_eq!(seen.items(ToClient), data(b"def"));
}

#[test]
fn a_syn_ack_alone_tells_the_roles() {
    let mut t = Script::new();
    (t.client, t.server) = (endpoint(1, 2_049), endpoint(2, 700));
    t.send(ToClient, SYN | ACK, 0, 1, b"");
    t.c(1, 1, b"abc");
    let seen = t.one();
    assert_eq!(seen.connection.client, t.client);
    assert!(seen.connection.roles_known);
    assert_eq!(seen.items(ToServer), data(b"abc"));
}

#[test]
fn without_a_syn_ports_tell_the_roles() {
    for (one, other, client) in [
        (2_049, 800, 800),
        (80, 5_000, 5_000),
        (9_000, 40_000, 40_000),
        (40_001, 40_000, 40_001),
        (1_521, 50_000, 50_000),
    ] {
        let mut t = Script::new();
        (t.client, t.server) = (endpoint(1, one), endpoint(2, other));
        t.c(5, 5, b"abc");
        let seen = t.one();
        assert_eq!(seen.connection.client.port, client, "{one} to {other}");
        assert!(!seen.connection.roles_known);
    }
}

#[test]
fn silence_ends_a_connection_the_same_way_with_and_without_sweeps() {
    for sweeps in [false, true] {
        let mut t = Script::new();
        t.open();
        t.c(1, 1, b"abc");
        t.wait(limits::IDLE_NS + MS);
        t.c(4, 1, b"def");
        let mut tracker = Tracker::new(Recorder::default());
        for s in &t.segments {
            if sweeps && s.order == 4 {
                tracker.sweep(3, s.mark.time);
                tracker.sweep(3, s.mark.time);
                assert_eq!(tracker.open_connections(), 0);
            }
            tracker.segment(s, &t.bytes);
        }
        let (recorder, _) = tracker.finish(u64::MAX);
        let seen = &recorder.connections;
        assert_eq!(seen.len(), 2);
        assert_eq!(seen[0].close(), Close::Forgotten);
        assert_eq!(seen[1].items(ToServer), data(b"def"));
    }
}

#[test]
fn many_short_connections_leave_nothing_behind() {
    let mut tracker = Tracker::new(Recorder::default());
    let mut most = 0;
    for i in 0..3_000u32 {
        let mut t = Script::new();
        t.now += i64::from(i) * 100 * MS;
        t.client.port = 20_000 + i as u16;
        t.open();
        // A third is never answered.
        if i % 3 == 0 {
            t.segments.truncate(1);
        } else {
            t.c(1, 1, b"abc");
            finish_gracefully(&mut t, 4, 1);
        }
        for s in &t.segments {
            tracker.segment(s, &t.bytes);
        }
        tracker.sweep(u64::from(i), Time(t.now));
        most = most.max(tracker.open_connections());
    }
    assert!(most < 500, "{most} open at once");
    assert!(tracker.closed.len() < 700, "{}", tracker.closed.len());
}

#[test]
fn whether_a_late_packet_is_known_does_not_depend_on_which_other_connections_there_are() {
    let told = |others: bool| {
        let closed = |port: u16, at: i64| {
            let mut t = Script::new();
            t.now += at;
            t.client.port = port;
            t.open();
            finish_gracefully(&mut t, 1, 1);
            t
        };
        let mut tracker = Tracker::new(Recorder::default());
        let mut track = |t: &Script| t.segments.iter().for_each(|s| tracker.segment(s, &t.bytes));
        track(&closed(2, 0));
        // Another one ends later, by a clock that is then set back.
        if others {
            track(&closed(3, 200_000 * MS));
        }
        tracker.sweep(100, Time(Script::new().now + 10_000 * MS));
        let late = closed(2, 0);
        late.segments[1..]
            .iter()
            .for_each(|s| tracker.segment(s, &late.bytes));
        tracker.open_connections()
    };
    assert_eq!((told(false), told(true)), (0, 0));
}

#[test]
fn the_last_data_is_what_was_not_sent_before() {
    let mut t = Script::new();
    t.open();
    let asks = t.now;
    t.c(1, 1, b"ab");
    t.c(3, 1, b"c");
    let answered = t.now;
    t.s(1, 4, b"xyz");
    t.wait(1_000 * MS);
    // Sent again, and a keep-alive with a byte in it.
    t.c(1, 4, b"abc");
    t.send(ToServer, ACK, 3, 4, b"0");
    t.raw(ToClient, RST, t.isn + SERVER_ISN + 4, 0, b"");
    let seen = t.one();
    let directions = &seen.summary().directions;
    let [asked, said] = directions.each_ref().map(|d| d.last_data);
    assert!(asked < said);
    assert_eq!(said, Some(Time(answered)));
    let first = directions.each_ref().map(|d| d.first_data);
    assert_eq!(first, [Some(Time(asks)), said]);
}

#[test]
fn an_end_that_crosses_a_request_has_not_heard_all() {
    let mut t = Script::new();
    t.open();
    t.c(1, 1, b"abc");
    t.s(1, 4, b"xyz");
    t.c(4, 4, b"more");
    t.send(ToClient, FIN | ACK, 4, 4, b"");
    t.send(ToServer, ACK, 8, 5, b"");
    t.send(ToClient, ACK, 5, 8, b"");
    t.send(ToServer, FIN | ACK, 8, 5, b"");
    let seen = t.one();
    assert!(!seen.summary().directions[1].end_heard_all);
    assert!(seen.summary().directions[0].end_heard_all);
}

#[test]
fn the_end_that_came_before_a_reset_is_told_if_it_was_heard() {
    for (heard, acknowledged) in [(true, 5), (false, 4)] {
        let mut t = Script::new();
        t.open();
        t.c(1, 1, b"abc");
        t.s(1, 4, b"xyz");
        t.send(ToClient, FIN | ACK, 4, 4, b"");
        let heard_at = t.now;
        t.send(ToServer, ACK, 4, acknowledged, b"");
        t.wait(2_000 * MS);
        t.c(4, acknowledged, b"more");
        t.send(ToClient, RST, 5, 0, b"");
        let seen = t.one();
        let reset = seen.summary().reset.expect("a reset");
        assert_eq!(reset.end_heard, heard.then_some(Time(heard_at)));
        assert!(seen.summary().directions[1].end_heard_all);
    }
}

#[test]
fn connections_are_closed_in_the_order_in_which_they_began() {
    let mut tracker = Tracker::new(Recorder::default());
    for i in 0..50u64 {
        let mut t = Script::new();
        t.client.port = 30_000 + (i * 7 % 50) as u16;
        t.c(1, 1, b"abc").order = i;
        tracker.segment(&t.segments[0], &t.bytes);
    }
    let (recorder, _) = tracker.finish(u64::MAX);
    assert_eq!(recorder.closed, (0..50).collect::<Vec<_>>());
}

#[test]
fn datagrams_are_handed_on_one_by_one() {
    let mut t = Script::new();
    t.c(0, 0, b"call").transport = Transport::Udp;
    t.s(0, 0, b"reply").transport = Transport::Udp;
    let seen = t.one();
    assert_eq!(
        seen.datagrams,
        [(ToServer, b"call".to_vec()), (ToClient, b"reply".to_vec())]
    );
    assert_eq!(seen.summary().directions[1].payload_bytes, 5);
}

#[test]
fn tcp_and_udp_between_the_same_ports_are_two_connections() {
    let mut t = Script::new();
    t.c(5, 5, b"stream");
    t.c(0, 0, b"datagram").transport = Transport::Udp;
    assert_eq!(t.run().len(), 2);
}

#[test]
fn where_a_partition_has_too_much_those_silent_for_longest_are_given_up() {
    // Of two pairs of hosts whose partitions differ: eight connections, and one.
    let mut t = Script::new();
    let pairs = [0, 1 << 63];
    let of = |n: u16| pairs[usize::from(n == 8)];
    for n in 0..9 {
        t.client.port = 40_000 + n;
        t.open();
        t.c(1, 1, b"abc");
        // A hole, and what waits behind it.
        t.c(1_004, 1, &[7; 1_000]);
        for s in &mut t.segments {
            if s.source == t.client || s.destination == t.client {
                s.owner_hash = of(n);
            }
        }
    }
    let mut tracker = Tracker::new(Recorder::default());
    t.segments.iter().for_each(|s| tracker.segment(s, &t.bytes));
    let [one, ..] = *tracker.weights();
    let other = tracker.weights()[PARTITIONS / 2];
    assert_eq!(one, 8 * other);
    assert!(other > 1_000);
    let order = t.segments.len() as u64;
    tracker.make_room(one, order, Time(t.now));
    assert_eq!(tracker.open_connections(), 9);
    // Three quarters of what is allowed stay.
    tracker.make_room(one - 1, order, Time(t.now));
    assert_eq!(tracker.open_connections(), 6);
    assert_eq!(tracker.weights()[0], 5 * other);
    assert_eq!(tracker.weights()[PARTITIONS / 2], other);
    let (recorder, _) = tracker.finish(u64::MAX);
    let evicted: Vec<_> = (recorder.connections.iter())
        .filter(|seen| seen.close() == Close::Evicted)
        .map(|seen| (seen.connection.client.port, seen.items(ToServer).to_vec()))
        .collect();
    // With what waited.
    let told = vec![
        Item::Data(b"abc".into()),
        Item::Gap(1_000),
        Item::Data(vec![7; 1_000]),
    ];
    let expected: Vec<_> = (40_000..40_003).map(|port| (port, told.clone())).collect();
    assert_eq!(evicted, expected);
}

#[test]
fn nothing_is_left_of_the_weight_of_connections_that_are_over() {
    let mut t = Script::new();
    t.open();
    t.c(1, 1, b"abc");
    t.send(ToServer, RST, 4, 0, b"");
    let mut tracker = Tracker::new(Recorder::default());
    for s in &t.segments {
        tracker.segment(s, &t.bytes);
    }
    assert_eq!(tracker.open_connections(), 0);
    assert_eq!(*tracker.weights(), [0; PARTITIONS]);
}

#[test]
fn a_reset_that_acknowledges_what_never_came_by_may_stand_behind_an_end() {
    for (acknowledged, ended) in [(4, false), (5, true)] {
        let mut t = Script::new();
        t.open();
        t.c(1, 1, b"abc");
        t.send(ToClient, RST | ACK, 1, acknowledged, b"");
        let reset = t.one().summary().reset.expect("a reset");
        assert_eq!(reset.after_peers_fin, ended);
    }
}
