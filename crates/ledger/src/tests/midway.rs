//! Calls of which one of two captures, or both, were taken on the way.

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

proptest! {
    /// The first was taken so many hundredths of the path from the client.
    #[test]
    fn what_is_known_on_the_way_to_the_client_holds_what_both_ends_do(
        truth in truth(), before in 0..=100i64, least in 0..=100i64, more in 0..50 * MS, lost in lost(),
        usual_path_ns in 0..500 * MS,
    ) {
        let whole = Both { lost, ..truth.both() };
        let before_ns = whole.path_ns * before / 100;
        let way = Half::Away(Bounds::between(before_ns * least / 100, before_ns + more));
        let facts = BothFacts { usual_path_ns, ..both_facts() };
        let part = Both {
            response_ns: whole.response_ns - before_ns,
            path_ns: whole.path_ns - before_ns,
            ..whole.clone()
        };
        let (whole, part) = (of_both(&whole, &facts), of_both(&part, &BothFacts { to_client: way, ..facts }));
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

/// It waited 80 of 100 ms at the capture on the way, of which its request was sent again for 60.
#[test]
fn what_is_sent_again_behind_the_capture_is_not_its_servers() {
    let call = |beyond| Both {
        response_ns: 100 * MS,
        service_ns: 80 * MS,
        path_ns: 20 * MS,
        beyond,
        recovery_ns: 60 * MS,
        ..Both::default()
    };
    let of = |beyond| {
        let ledger = with_behind(&call(beyond), Bounds::between(4 * MS, 10 * MS));
        [Cause::Outage, Cause::Service].map(|cause| charged(&ledger, cause))
    };
    let between = |lo, hi| Some(Bounds::between(lo * MS, hi * MS));
    assert_eq!(of(Lost::Outage), [between(56, 80), between(0, 24)]);
    assert_eq!(of(Lost::Nothing), [None, between(70, 76)]);
    // At the server itself it would have been the server's.
    let here = of_both(&call(Lost::Outage), &both_facts());
    assert_eq!(charged(&here, Cause::Service), between(80, 80));
}

/// 10 ms pass between the captures, and 4 to 6 before the first.
#[test]
fn a_client_waits_for_the_way_to_the_first_capture_too() {
    let call = Both {
        response_ns: 30 * MS,
        service_ns: 20 * MS,
        path_ns: 10 * MS,
        ..Both::default()
    };
    let facts = BothFacts {
        to_client: Half::Away(Bounds::between(4 * MS, 6 * MS)),
        ..both_facts()
    };
    let ledger = of_both(&call, &facts);
    assert_eq!(ledger.response, Bounds::between(34 * MS, 36 * MS));
    assert_eq!(
        charged(&ledger, Cause::Path),
        Some(Bounds::between(14 * MS, 16 * MS))
    );
    let lost = Both {
        lost: Lost::Segments,
        ..call
    };
    assert_eq!(of_both(&lost, &facts).response.hi_ns, None);
}
