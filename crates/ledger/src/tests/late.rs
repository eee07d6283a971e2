//! Calls whose messages were kept on their way, told from their senders' time stamps at one end.

use super::*;

proptest! {
    #[test]
    fn what_a_stamp_tells_of_one_end_holds_what_both_know(
        truth in truth(), late in [0..200 * MS, 0..200 * MS], told in [50..=100i64, 50..=100],
        least in 0..=100i64, more in 0..50 * MS,
    ) {
        let [out, back] = late;
        let usual = truth.out + truth.back;
        let kept = Truth { out: truth.out + out, back: truth.back + back, ..truth };
        let both = of_both(&kept.both(), &both_facts());
        let tell = |ns: i64, way: usize| ns * told[way] / 100;
        // A capture sees the way to it: of the other it has bounds.
        let way = |unseen: i64| Half::Away(Bounds::between(usual * least / 100, usual + unseen + more));
        let at_client = One { late_ns: [0, tell(back, 1)], ..kept.at_client() };
        let at_server = One { late_ns: [tell(out, 0), 0], ..kept.at_server() };
        let client = of_one(&at_client, &one_facts(way(out), Half::Here));
        let server = of_one(&at_server, &one_facts(Half::Here, way(back)));
        for ledger in [&client, &server] {
            divides(ledger)?;
            for place in [Place::Client, Place::Network, Place::Server] {
                let (less, full) = (side(ledger, place), side(&both, place));
                prop_assert!(contains(less, full), "{place:?}: {less:?} {full:?}");
            }
            prop_assert!(contains(ledger.response, both.response));
        }
        prop_assert!(side(&client, Place::Network).lo_ns >= tell(back, 1));
        prop_assert!(side(&server, Place::Network).lo_ns >= tell(out, 0));
    }
}

/// An answer that was under way for 80 ms was not worked on for as long; a request may have been, too, where answers were.
#[test]
fn a_late_answer_is_the_paths_and_a_long_wait_may_be() {
    let way = Half::Away(Bounds::between(0, MS));
    let wait = |answer: i64| One {
        wait_ns: 81 * MS,
        late_ns: [0, answer],
        ..One::default()
    };
    let facts = one_facts(way, Half::Here);
    let server = |call: &One, facts: &OneFacts| side(&of_one(call, facts), Place::Server);
    assert_eq!(server(&wait(0), &facts), Bounds::between(80 * MS, 81 * MS));
    assert_eq!(server(&wait(80 * MS), &facts), Bounds::between(0, MS));
    let varied = OneFacts {
        varies_ns: 80 * MS,
        ..facts
    };
    assert_eq!(server(&wait(0), &varied), Bounds::between(0, 81 * MS));
    // Sent again, it came when it did for another reason.
    let lost = One {
        lost: Lost::Segments,
        ..wait(80 * MS)
    };
    assert_eq!(server(&lost, &facts).hi_ns, Some(81 * MS));
    // Next to its sender nothing is late.
    let here = of_one(&wait(80 * MS), &one_facts(Half::Here, way));
    assert_eq!(side(&here, Place::Server), Bounds::exactly(81 * MS));
}
