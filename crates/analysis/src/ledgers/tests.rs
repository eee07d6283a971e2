//! What the whole of a capture says of its calls' ledgers.

use super::*;
use ledger::{Bounds, Place};

const MS: i64 = 1_000_000;

/// What is certain of the server of a call that waited 10 ms where the way takes 1 to 2 ms, by where that is captured.
fn certain_ms(to_server: Half, may_queue: bool) -> i64 {
    let mut kept = Kept::default();
    kept.push(&One {
        wait_ns: 10 * MS,
        request_bytes: 8_500,
        is_datagram: true,
        may_queue,
        ..One::default()
    });
    let capture = CaptureFacts::new(0);
    let mut whole = OneWhole {
        kept,
        coincidence: Coincidences::default(),
        capture: &capture,
        halves: [to_server, Half::Here],
        further: Further::default(),
        varies: Box::default(),
        waits_tell: true,
        some_began_before: false,
        missing: Missing::default(),
        streams: None,
        doubtful_ns: None,
        operations: None,
    };
    let mut least = i64::MAX;
    whole.each(&Spared::default(), |_, ledger| {
        let own = ledger.charges().iter();
        let own = own.filter(|c| c.cause.of(c.direction).1 == Place::Server);
        least = own.map(|c| c.ns.lo_ns).sum::<i64>() / MS;
    });
    least
}

#[test]
fn large_calls_over_udp_at_a_time_may_wait_for_each_other_in_their_client_s_line() {
    let away = Half::Away(Bounds::between(MS, 2 * MS));
    assert_eq!(certain_ms(away, false), 8);
    assert_eq!(certain_ms(away, true), 0);
    // Beside the server they have come.
    assert_eq!(certain_ms(Half::Here, true), 10);
}
