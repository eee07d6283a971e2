//! Calls of which the second capture was taken on the way.

use super::*;

/// How the capture on the way saw a call, with so many hundredths of the path behind it.
fn midway(truth: Truth, behind: i64) -> Both {
    let beyond = |ns: i64| ns * behind / 100;
    let (out, back) = (beyond(truth.out), beyond(truth.back));
    Both {
        service_ns: truth.service + out + back,
        path_ns: truth.out + truth.back - out - back,
        ..truth.both()
    }
}

proptest! {
    #[test]
    fn what_is_known_on_the_way_holds_what_both_ends_do(
        truth in truth(), behind in 0..=100i64, least in 0..=100i64, more in 0..50 * MS, stretches in held(), lost in lost(),
        usual_path_ns in 0..500 * MS, has_holes in any::<bool>(),
    ) {
        let call = midway(truth, behind);
        let way_ns = call.service_ns - truth.service;
        let way = Half::Away(Bounds::between(way_ns * least / 100, way_ns + more));
        // What TCP held the call up for lies beside what passed.
        let held_ns = stretches.sum(Direction::ToServer) + stretches.sum(Direction::ToClient);
        let with_held = |call: Both| Both {
            response_ns: call.response_ns + held_ns,
            held: stretches,
            lost,
            ..call
        };
        let facts = BothFacts { usual_path_ns, ..both_facts() };
        let whole = of_both(&with_held(truth.both()), &facts);
        let call = Both { has_holes, ..call };
        let part = of_both(&with_held(call), &BothFacts { to_server: way, ..facts });
        divides(&part)?;
        for place in [Place::Client, Place::Network, Place::Server] {
            let (less, more) = (side(&part, place), side(&whole, place));
            prop_assert!(contains(less, more), "{place:?}: {less:?} {more:?}\n{part:?}\n{whole:?}");
        }
    }
}

/// The ledger of a call where so much is known of what lies behind the capture on the way.
fn with_behind(call: &Both, way: Bounds) -> Ledger {
    let facts = BothFacts {
        to_server: Half::Away(way),
        ..both_facts()
    };
    of_both(call, &facts)
}

#[test]
fn a_client_that_does_not_read_is_none_of_the_networks_doing() {
    let mut held = Held::default();
    held.add(Direction::ToClient, EpisodeKind::ZeroWindow, 80 * MS);
    let call = Both {
        response_ns: 100 * MS,
        service_ns: 10 * MS,
        path_ns: 10 * MS,
        held,
        ..Both::default()
    };
    let ledger = with_behind(&call, Bounds::between(2 * MS, 4 * MS));
    assert_eq!(
        charged(&ledger, Cause::NotReading),
        Some(Bounds::exactly(80 * MS))
    );
    assert_eq!(
        charged(&ledger, Cause::Path),
        Some(Bounds::between(12 * MS, 14 * MS))
    );
    assert_eq!(
        charged(&ledger, Cause::Service),
        Some(Bounds::between(6 * MS, 8 * MS))
    );
}

#[test]
fn a_pause_of_the_server_may_be_what_varies_behind_the_capture() {
    let mut held = Held::default();
    held.add(Direction::ToClient, EpisodeKind::SenderSilence, 80 * MS);
    let call = Both {
        response_ns: 90 * MS,
        path_ns: 10 * MS,
        held,
        ..Both::default()
    };
    let of = |way| {
        let ledger = with_behind(&call, way);
        [Cause::NotWriting, Cause::Path].map(|cause| charged(&ledger, cause))
    };
    let between = |lo, hi| Some(Bounds::between(lo * MS, hi * MS));
    assert_eq!(
        of(Bounds::between(2 * MS, 5 * MS)),
        [between(77, 80), between(10, 13)]
    );
    let unknown = Bounds {
        lo_ns: 0,
        hi_ns: None,
    };
    assert_eq!(of(unknown), [between(0, 80), between(10, 90)]);
}

#[test]
fn what_is_hidden_takes_longer_for_nobody_knows_whom() {
    let call = Both {
        response_ns: 30 * MS,
        service_ns: 20 * MS,
        path_ns: 5 * MS,
        hidden_ns: Some(40 * MS),
        ..Both::default()
    };
    let ledger = with_behind(&call, Bounds::between(0, 2 * MS));
    assert_eq!(ledger.response, Bounds::between(30 * MS, 70 * MS));
    assert_eq!(
        charged(&ledger, Cause::Hidden),
        Some(Bounds::between(5 * MS, 45 * MS))
    );
    assert_eq!(
        charged(&ledger, Cause::Path),
        Some(Bounds::between(5 * MS, 7 * MS))
    );
}
