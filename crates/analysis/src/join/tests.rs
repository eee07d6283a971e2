//! Connections that are matched by their addresses, by their numbers, or not.

use super::*;
use crate::trace_join::tests;
use proptest::prelude::*;

/// A datagram's call that began at this time.
fn datagram(id: u32, request: i64) -> Half {
    let call = tests::call(id, 0, 8_192, request, request + 1_000);
    let half = Half::of(&call, 0, 0, 0).expect("it has a request");
    Half {
        request_sequence: 0,
        ..half
    }
}

/// The only call of a connection from this port, whose hosts begin with these numbers.
fn only(port: u16, numbers: [u32; 2]) -> Half {
    let call = tests::call(0, 0, 8_192, 10, 20);
    let half = Half::of(&call, 0, 0, 0).expect("it has a request");
    let client = Endpoint {
        port,
        ..half.client
    };
    Half {
        client,
        request_sequence: numbers[0],
        response_sequence: Some(numbers[1]),
        ..half
    }
}

/// Connections of one call each, read in these turns, and how many of their calls
/// are matched before the captures are over, and then.
fn matched(captures: [&[Half]; 2], turns: &[usize]) -> [usize; 2] {
    let (mut join, mut pairs) = (Join::default(), Vec::new());
    let mut left = captures.map(<[Half]>::iter);
    for &side in turns {
        if let Some(call) = left[side].next() {
            join.add(side, call.clone(), &mut pairs);
            join.closed(side, (call.client, call.server), &mut pairs);
        }
    }
    let before = pairs.len();
    join.finish(&mut pairs);
    [before, pairs.len()]
}

#[test]
fn one_call_with_both_numbers_is_a_connection_behind_translation() {
    let (there, here) = (only(700, [5, 9]), only(1_024, [5, 9]));
    assert_eq!(matched([&[there], &[here]], &[0, 1]), [1, 1]);
}

#[test]
fn a_translated_port_that_is_used_again_is_another_connection() {
    let (mut join, mut pairs) = (Join::default(), Vec::new());
    let mut seen = |side, port, numbers| {
        let call = only(port, numbers);
        join.add(side, call.clone(), &mut pairs);
        join.closed(side, (call.client, call.server), &mut pairs);
        (
            pairs.len(),
            join.sides.each_ref().map(|s| s.connections.len()),
        )
    };
    for (n, port) in [(1, 700), (2, 701), (3, 702)] {
        let numbers = [100 * n, 100 * n + 9];
        assert_eq!(seen(0, port, numbers), (n as usize - 1, [1, 0]));
        // Of what is over in both nothing is kept.
        assert_eq!(seen(1, 1_024, numbers), (n as usize, [0, 0]));
    }
}

#[test]
fn a_connection_of_which_nothing_waits_any_more_is_forgotten() {
    let (mut join, mut pairs) = (Join::default(), Vec::new());
    for port in 0..2 * limits::LOOK_BACK_CALLS {
        let call = Half {
            id: port as u32,
            client: Endpoint {
                address: std::net::Ipv4Addr::from_bits(port as u32 >> 8).into(),
                port: port as u16 & 0xff,
            },
            ..only(1, [port as u32, 9])
        };
        join.add(0, call.clone(), &mut pairs);
        join.closed(0, (call.client, call.server), &mut pairs);
    }
    assert_eq!(join.sides[0].connections.len(), limits::LOOK_BACK_CALLS);
}

#[test]
fn a_capture_behind_translation_may_begin_late() {
    let (mut join, mut pairs) = (Join::default(), Vec::new());
    let call = |port, id: u32| Half {
        id,
        response_sequence: None,
        ..only(port, [1_000 + id, 0])
    };
    for id in 0..500 {
        join.add(0, call(700, id), &mut pairs);
    }
    for id in 400..410 {
        join.add(1, call(1_024, id), &mut pairs);
    }
    let mut ids: Vec<_> = pairs.iter().map(|[a, b]| (a.id, b.id)).collect();
    ids.sort_unstable();
    assert_eq!(ids, (400..410).map(|id| (id, id)).collect::<Vec<_>>());
    let left = join.finish(&mut pairs).map(|left| left.len());
    assert_eq!(left, [490, 0]);
}

#[test]
fn one_number_alone_may_be_chance() {
    let (there, here) = (only(700, [5, 9]), only(1_024, [5, 8]));
    assert_eq!(matched([&[there], &[here]], &[0, 1]), [0, 0]);
    let unanswered = [700, 1_024].map(|port| Half {
        response_sequence: None,
        ..only(port, [5, 9])
    });
    let [there, here] = unanswered.map(|half| [half]);
    assert_eq!(matched([&there, &here], &[0, 1]), [0, 0]);
}

#[test]
fn addresses_have_the_first_word() {
    // A capture at the translating host has the connection under both names.
    let both = [only(700, [5, 9]), only(1_024, [5, 9])];
    let server = [only(1_024, [5, 9])];
    for turns in [[0, 0, 1], [0, 1, 0], [1, 0, 0]] {
        let (mut join, mut pairs) = (Join::default(), Vec::new());
        let mut left = [both.iter(), server.iter()];
        for side in turns {
            let call = left[side].next().expect("one for each turn");
            join.add(side, call.clone(), &mut pairs);
        }
        join.finish(&mut pairs);
        let ports: Vec<_> = pairs
            .iter()
            .map(|p| [0, 1].map(|i| p[i].client.port))
            .collect();
        assert_eq!(ports, [[1_024, 1_024]], "{turns:?}");
    }
}

proptest! {
    /// A server got a request again and did it again, whatever is read first.
    #[test]
    fn calls_of_one_id_are_matched_in_their_order(first in 0..=3usize, then in 0..=3usize) {
        let calls = [[1, 4, 7].map(|at| datagram(7, at)), [2, 3, 8].map(|at| datagram(7, at))];
        let (mut join, mut pairs) = (Join::default(), Vec::new());
        let mut done = [0, 0];
        for (side, until) in [(0, first), (1, then), (0, 3), (1, 3)] {
            while done[side] < until {
                join.add(side, calls[side][done[side]].clone(), &mut pairs);
                done[side] += 1;
            }
        }
        let times: Vec<_> = pairs.iter().map(|p| [0, 1].map(|i| p[i].request_first.time.0)).collect();
        prop_assert_eq!(times, [[1, 2], [4, 3], [7, 8]]);
    }
}

/// Calls of a connection from this port at irregular times, its numbers from `number` on; `later_ns` by this clock.
fn passed(port: u16, number: u32, later_ns: i64) -> Vec<Half> {
    let call = |i: u32| {
        let at = i64::from(i * i % 37 + 40 * i) * 1_000_000 + later_ns;
        let call = tests::call(
            number + 100 * i,
            0,
            4_096,
            at,
            at + 9_000_000 - later_ns / 1_000,
        );
        let half = Half::of(&call, 0, 0, 0).expect("it has a request");
        let client = Endpoint {
            port,
            ..half.client
        };
        Half { client, ..half }
    };
    (0..40).map(call).collect()
}

#[test]
fn a_proxy_is_looked_for_where_nothing_is_in_both_captures() {
    let (client, server) = (passed(700, 5_000, 0), passed(1_024, 77, 600_000));
    let joined = |first: &[Half], second: &[Half]| {
        let (mut join, mut pairs) = (Join::default(), Vec::new());
        for (side, calls) in [(0, first), (1, second)] {
            for call in calls {
                join.add(side, call.clone(), &mut pairs);
            }
        }
        let left = join.finish(&mut pairs).map(|left| left.len());
        (pairs.len(), join.proxied, left)
    };
    assert_eq!(joined(&client, &server), (40, 1, [0, 0]));
    // What comes behind it is found by what is known of it then, as what came before.
    assert_eq!(joined(&client[9..], &server), (31, 1, [0, 9]));
    let direct = passed(701, 9_000, 0);
    let [client, server] = [client, server].map(|calls| [calls, direct.clone()].concat());
    assert_eq!(joined(&client, &server), (40, 0, [40, 40]));
}
