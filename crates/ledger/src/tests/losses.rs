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
