//! What the whole of a capture says of its calls' ledgers.

use super::*;
use ledger::{Bounds, Place};

const MS: i64 = 1_000_000;

/// What is certain of the server of a call that waited 10 ms where the way takes 1 to 2 ms, by where that is captured.
fn certain_ms(to_server: Half, may_queue: bool) -> i64 {
    let call = One {
        wait_ns: 10 * MS,
        request_bytes: 8_500,
        is_datagram: true,
        may_queue,
        ..One::default()
    };
    let capture = CaptureFacts::new(0);
    of_server(&mut whole(&capture, to_server, &call)) / MS
}

/// A capture with one call.
fn whole<'a>(capture: &'a CaptureFacts, to_server: Half, call: &One) -> OneWhole<'a> {
    let mut kept = Kept::default();
    kept.push(call);
    OneWhole {
        kept,
        coincidence: Coincidences::default(),
        capture,
        halves: [to_server, Half::Here],
        further: Further::default(),
        varies: Box::default(),
        waits_tell: true,
        some_began_before: false,
        missing: Missing::default(),
        streams: None,
        doubtful_ns: None,
        at_work: AtWork::default(),
    }
}

/// What is certain of its server.
fn of_server(whole: &mut OneWhole<'_>) -> i64 {
    let mut least = i64::MAX;
    whole.each(&Spared::default(), |_, ledger| {
        let own = ledger.charges().iter();
        let own = own.filter(|c| c.cause.of(c.direction).1 == Place::Server);
        least = own.map(|c| c.ns.lo_ns).sum::<i64>();
    });
    least
}

#[test]
fn where_captures_lose_much_a_call_without_an_answer_may_have_had_it_at_once() {
    let certain_ms = |lost: u64| {
        let mut capture = CaptureFacts::new(0);
        capture.unanswered = (2, 900 * MS);
        capture.tcp.missing_packets = lost;
        (capture.tcp.packets, capture.tcp.asked) = (1_000, 100);
        let call = One {
            silent_ns: 900 * MS,
            ..One::default()
        };
        let mut whole = whole(&capture, Half::Here, &call);
        let waited_ns = whole.waited_ns();
        [waited_ns / MS, of_server(&mut whole) / MS]
    };
    assert_eq!(certain_ms(0), [900, 900]);
    // Of a hundred connections three in a thousand packets, or six, may have lost less than two, or more.
    assert_eq!(certain_ms(3), [900, 900]);
    assert_eq!(certain_ms(6), [0, 0]);
}

#[test]
fn large_calls_over_udp_at_a_time_may_wait_for_each_other_in_their_client_s_line() {
    let away = Half::Away(Bounds::between(MS, 2 * MS));
    assert_eq!(certain_ms(away, false), 8);
    assert_eq!(certain_ms(away, true), 0);
    // Beside the server they have come.
    assert_eq!(certain_ms(Half::Here, true), 10);
}
