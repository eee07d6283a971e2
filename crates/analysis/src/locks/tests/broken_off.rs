//! Calls that a database broke off without saying that they waited.

use super::*;

/// One session changes a row and ends its transaction at `ended`, if ever; another wants to change `text` from 21 ms on, and is
/// broken off with this code after 300 ms.
fn broken_off(code: &str, text: &str, ended: Option<i64>) -> Option<LockWait> {
    let mut locks = Locks::default();
    let waits = of_code(code, text);
    locks.call(&of(HOLDER, op::BEGIN, "begin", 0, 1));
    locks.call(&of(HOLDER, op::EXECUTE, CHANGE, 10, 1));
    if let Some(ended) = ended {
        locks.call(&of(HOLDER, op::COMMIT, "commit", ended - 1, 1));
    }
    locks.call(&waits);
    let at = |ms: i64| Time(ms * MS);
    locks.waited(
        waits.server,
        waits.connection,
        work_of(&waits),
        (at(21), at(321)),
        &mut Coincidences::default(),
    )
}

#[test]
fn who_is_broken_off_may_have_waited_for_who_had_not_let_go() {
    let ns = |wait: Option<LockWait>| wait.map(|wait| (wait.ns / MS, wait.chain_ns));
    assert_eq!(ns(broken_off("57014", CHANGE, None)), Some((300, 0)));
    assert_eq!(ns(broken_off("57014", CHANGE, Some(900))), Some((300, 0)));
    // For as long as the other one had it.
    assert_eq!(ns(broken_off("57014", CHANGE, Some(121))), Some((100, 0)));
    assert_eq!(ns(broken_off("57014", "select n from bin", None)), None);
    assert_eq!(ns(broken_off("57014", CHANGE, Some(19))), None);
    // Another error is an answer as any other.
    assert_eq!(ns(broken_off("23505", CHANGE, None)), None);
    let mut all = LockWaits::default();
    let wait = broken_off("57014", CHANGE, None).unwrap();
    all.add(work_of(&of_code("57014", CHANGE)), 300 * MS, &wait);
    assert_eq!((all.cut_short, all.calls), (1, 0));
}

fn of_code(code: &str, text: &str) -> Call {
    Call {
        outcome: model::Outcome::Code(model::Code::public(code)),
        ..of(WAITER, op::EXECUTE, text, 20, 300)
    }
}
