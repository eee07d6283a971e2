//! Calls that had begun before their capture did.

use super::*;

/// Its request may have been with its server when the capture began, and its answer have been lost since.
#[test]
fn what_had_begun_before_the_capture_crossed_nothing_for_certain() {
    let way = Half::Away(Bounds::between(2 * MS, 5 * MS));
    let begun = One {
        wait_ns: 300 * MS,
        began_before: true,
        lost: Lost::Perhaps,
        ..One::default()
    };
    let divided = |halves: [Half; 2]| {
        let [to_server, to_client] = begun.halves(halves);
        let mut ledger = Ledger::default();
        divide_one(
            &begun,
            &OneFacts::of(to_server, to_client, true),
            &mut ledger,
        );
        let of = |cause| {
            ledger
                .lines()
                .into_iter()
                .find(|l| l.cause == cause)
                .map(|l| l.ns)
        };
        [Cause::Service, Cause::Loss, Cause::Path].map(of)
    };
    assert_eq!(
        divided([Half::Here, way]),
        [
            Some(Bounds::exactly(300 * MS)),
            None,
            Some(Bounds::between(0, 5 * MS))
        ]
    );
    let either = Some(Bounds::between(0, 300 * MS));
    assert_eq!(divided([way, Half::Here]), [either, either, None]);
    let other = One {
        began_before: false,
        ..begun.clone()
    };
    assert_eq!(other.halves([way; 2]), [way; 2]);
}
