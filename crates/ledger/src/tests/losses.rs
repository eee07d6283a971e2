//! Calls that lost something.

use super::*;

/// 5 of 40 ms are the server's, and what is beyond 10 waited for something that was lost, if the captures have all of it.
#[test]
fn of_a_call_of_which_bytes_are_missing_a_loss_explains_nothing_for_certain() {
    let truth = Truth {
        request: 0,
        out: 2 * MS,
        service: 5 * MS,
        response: 30 * MS,
        back: 3 * MS,
    };
    let loss = |has_holes| {
        let call = Both {
            lost: Lost::Segments,
            has_holes,
            ..truth.both()
        };
        let facts = BothFacts {
            usual_path_ns: 10 * MS,
            ..both_facts()
        };
        let mut sums = Sums::new();
        sums.add(&of_both(&call, &facts));
        [Cause::Loss, Cause::Unknown].map(|cause| sums.of(cause))
    };
    assert_eq!(loss(false), [25, 0].map(|ms| Bounds::exactly(ms * MS)));
    // Of what a message takes to leave it is not known either.
    assert_eq!(loss(true), [25, 35].map(|ms| Bounds::between(0, ms * MS)));
}

/// An answer that its sender's TCP held for 30 of 40 ms behind others, at a pace that grows.
#[test]
fn what_stands_behind_others_waits_for_the_congestion_window_unless_something_was_lost() {
    let truth = Truth {
        request: 0,
        out: 0,
        service: 40 * MS,
        response: 0,
        back: 0,
    };
    let causes = |lost| {
        let call = One {
            lost,
            response_held_ns: 30 * MS,
            ..truth.at_server()
        };
        let facts = OneFacts {
            paced: [None, Paced::of(Pace::Grows, 10 * MS, None)],
            ..one_facts(Half::Here, Half::Here)
        };
        let mut sums = Sums::new();
        sums.add(&of_one(&call, &facts));
        [Cause::SlowStart, Cause::Service].map(|cause| sums.of(cause))
    };
    let exactly = |ms: [i64; 2]| ms.map(|ms| Bounds::exactly(ms * MS));
    assert_eq!(causes(Lost::Nothing), exactly([30, 10]));
    assert_eq!(causes(Lost::Segments), exactly([0, 10]));
}
