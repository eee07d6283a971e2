//! What senders' time stamps, and acknowledgements that come with answers alone, say of a path.

use super::*;
use model::EpisodeKind;

/// A client that asks each 10 ms, and a server that answers in 1 ms; the answers of some turns come `late` ms later than
/// they left, by its time stamps.
fn asked(turns: u32, late: impl Fn(u32) -> i64) -> Script {
    let mut t = Script::new();
    t.open();
    let stamped = |segment: &mut Segment, at: i64| {
        segment.tcp.timestamps = Some(((at / MS) as u32, 0));
    };
    for turn in 0..turns {
        let begun = t.now;
        stamped(t.c(1 + turn * 10, 1 + turn * 20, b"0123456789"), begun);
        let left = begun + MS;
        t.wait(MS + late(turn) * MS);
        stamped(t.s(1 + turn * 20, 11 + turn * 10, &[b'a'; 20]), left);
        t.wait((10 + i64::from(turn % 3)) * MS);
    }
    t
}

fn told(t: &Script) -> Vec<(EpisodeKind, i64)> {
    let seen = t.timed();
    let own = seen
        .episodes
        .iter()
        .filter(|e| e.kind.is_of_stamps() || e.kind == EpisodeKind::Unheard);
    let each = own.map(|e| (e.kind, (e.last.time - e.first.time) / MS));
    each.collect()
}

#[test]
fn an_answer_that_the_path_kept_came_late_by_its_stamp() {
    let kept = asked(40, |turn| if turn % 20 == 15 { 30 } else { 0 });
    // To a step of two milliseconds, as far as these show.
    assert_eq!(
        told(&kept),
        [(EpisodeKind::Late, 28), (EpisodeKind::Late, 28)]
    );
    assert_eq!(told(&asked(40, |_| 0)), []);
    assert_eq!(
        told(&asked(40, |turn| i64::from(turn % 2))),
        [],
        "less than two ticks"
    );
}

/// A host acknowledges what its application does not answer: Linux after 40 ms.
#[test]
fn a_host_that_acknowledges_nothing_until_it_answers_was_not_heard() {
    let answered = |after: i64, acknowledges: bool| {
        let mut t = Script::new();
        t.open();
        t.c(1, 1, b"what?");
        t.wait(40 * MS);
        if acknowledges {
            t.s(1, 6, b"");
        }
        t.wait(after - 40 * MS);
        t.s(1, 6, b"that");
        told(&t)
    };
    assert_eq!(answered(80 * MS, false), [(EpisodeKind::Unheard, 80)]);
    assert_eq!(answered(80 * MS, true), []);
    assert_eq!(answered(48 * MS, false), []);
}
