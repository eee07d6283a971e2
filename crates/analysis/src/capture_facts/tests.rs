use super::*;
use crate::waits::Times;
use model::{HiddenResponse, Mark, Outcome, Reason};
use proptest::prelude::*;

fn episode(kind: EpisodeKind, first: i64, last: i64) -> Episode {
    let mark = |at| Mark {
        time: Time(at),
        packet: PacketRef { file: 0, frame: 1 },
    };
    let end = Endpoint {
        address: [10, 0, 0, 1].into(),
        port: 1,
    };
    Episode {
        order: 0,
        connection: ConnectionId(7),
        client: end,
        server: end,
        kind,
        direction: Direction::ToClient,
        first: mark(first),
        last: mark(last),
        heard: mark(last).time,
        retransmissions: 0,
        timeouts: 0,
        spurious: false,
        duplicates_cut_off: false,
        window: 0,
        resent: Vec::new(),
    }
}

proptest! {
    /// In whatever order stretches are told, and also where the oldest are forgotten or runs are joined.
    #[test]
    fn what_overlaps_is_found(list in prop::collection::vec((0..9_000_000i64, 0..3_000_000i64, any::<bool>()), 0..700), from in 0..9_000_000i64, long in 0..3_000_000i64) {
        let mut facts = CaptureFacts::default();
        for (first, long, joins) in list {
            let kind = if joins { EpisodeKind::SmallWindow } else { EpisodeKind::Recovery };
            facts.episode(&episode(kind, first, first + long));
        }
        let (from, to) = (Time(from), Time(from + long));
        let id = ConnectionId(7);
        let span = |t: &Trouble| (t.first, t.last);
        let found: Vec<_> = facts.troubles.overlapping(id, from, to).map(span).collect();
        let all = facts.troubles.of(id);
        let expected: Vec<_> = all.filter(|t| t.first <= to && t.last >= from).map(span).collect();
        prop_assert_eq!(found, expected);
    }
}

#[test]
fn a_busy_connection_keeps_what_calls_of_seconds_ago_are_held_against() {
    let mut facts = CaptureFacts::default();
    for n in 0..2_000 {
        let first = n * 10_000_000;
        facts.episode(&episode(EpisodeKind::ZeroWindow, first, first + 1_000));
    }
    let id = ConnectionId(7);
    let near = |facts: &CaptureFacts| {
        facts
            .troubles
            .overlapping(id, Time(0), Time(1_000_000))
            .count()
    };
    assert_eq!(near(&facts), 1, "of twenty seconds ago");
    // Where all connections have too many, each keeps the last.
    for n in 0..2 * limits::TROUBLES as i64 {
        let mut e = episode(EpisodeKind::ZeroWindow, n * 1_000, n * 1_000 + 1);
        e.connection = ConnectionId(8 + n as u64 % 16);
        facts.episode(&e);
    }
    let each: Vec<usize> = (7..24)
        .map(|id| facts.troubles.of(ConnectionId(id)).count())
        .collect();
    assert!(each.iter().sum::<usize>() <= limits::TROUBLES, "{each:?}");
    assert!(each.iter().all(|n| *n >= limits::EPISODES), "{each:?}");
}

#[test]
fn what_cuts_a_response_off_may_show_behind_it() {
    const SQL: u64 = 7;
    let mut facts = CaptureFacts::default();
    let id = ConnectionId(7);
    let lacks = |facts: &CaptureFacts, work, is_cut_off| {
        facts.lacks_bytes(work, id, (Time(10), Time(20)), is_cut_off)
    };
    assert!(!lacks(&facts, SQL, true));
    let packet = PacketRef { file: 0, frame: 1 };
    facts.gap(&Gap {
        order: 1,
        at: Mark {
            time: Time(25),
            packet,
        },
        connection: id,
        lacks: Lacks::Bytes(Direction::ToClient),
    });
    assert!(lacks(&facts, SQL, true) && !lacks(&facts, SQL, false));
    assert!(!facts.lacks_bytes(SQL, id, (Time(26), Time(30)), true));
}

#[test]
fn a_capture_that_lacks_much_is_known_to_lack_what_came_last() {
    let mut facts = CaptureFacts::default();
    let at = |n: i64| Mark {
        time: Time(n * 1_000_000),
        packet: PacketRef { file: 0, frame: 1 },
    };
    let id = ConnectionId(7);
    for n in 0..2 * limits::BUSY_EPISODES as i64 {
        facts.gap(&Gap {
            order: n as u64,
            at: at(n),
            connection: id,
            lacks: Lacks::Bytes(Direction::ToClient),
        });
    }
    let last = at(2 * limits::BUSY_EPISODES as i64 - 1).time;
    assert!(facts.holes.lie_within(id, last, last + 1));
    assert!(
        facts
            .holes
            .lie_within(id, last + -10_500_000, last + -9_500_000)
    );
    assert!(!facts.holes.lie_within(id, last + 1, last + 1_000_000));
    assert!(
        !facts.holes.lie_within(id, last + -900_000, last + -100_000),
        "between two"
    );
    assert!(!facts.holes.lie_within(ConnectionId(8), Time(0), last));
}

#[test]
fn how_late_a_message_began_is_known_by_when_it_did() {
    let mut facts = CaptureFacts::default();
    facts.episode(&episode(EpisodeKind::Late, 100, 180));
    facts.episode(&episode(EpisodeKind::Late, 190, 250));
    let late = |d, at| facts.delays.at(ConnectionId(7), d, Time(at));
    assert_eq!(late(Direction::ToClient, 180), 80);
    assert_eq!(late(Direction::ToClient, 250), 60);
    assert_eq!(late(Direction::ToClient, 200), 0, "another packet");
    assert_eq!(late(Direction::ToServer, 180), 0, "the other way");
    assert_eq!(facts.troubles.of(ConnectionId(7)).count(), 0);
}

#[test]
fn bytes_that_are_missing_in_the_middle_of_what_one_side_says_hide_no_other_call() {
    use Direction::{ToClient, ToServer};
    let id = ConnectionId(7);
    let ms = |n: i64| Time(n * 1_000_000);
    // A request from 10 to 20 and its answer from 30 to 40.
    let times = Times {
        request_first: ms(10),
        request_last: ms(20),
        response_first: ms(30),
        response_last: ms(40),
    };
    let hides = |holes: &[(i64, Direction)]| {
        let mut facts = CaptureFacts::default();
        for &(at, d) in holes {
            facts.gap(&Gap {
                order: at as u64,
                at: Mark {
                    time: ms(at),
                    packet: PacketRef { file: 0, frame: 1 },
                },
                connection: id,
                lacks: Lacks::Bytes(d),
            });
        }
        facts.holes.may_hide_another(id, &times)
    };
    for none in [&[][..], &[(9, ToClient)], &[(41, ToServer)]] {
        assert!(!hides(none), "{none:?}");
    }
    // Who says the rest was seen to have heard nothing, and to have been asked nothing.
    assert!(!hides(&[(11, ToServer), (20, ToServer)]));
    assert!(!hides(&[(31, ToClient), (40, ToClient)]));
    // An answer and the next request may be missing.
    assert!(hides(&[(10, ToServer)]) && hides(&[(21, ToServer)]));
    assert!(hides(&[(30, ToClient)]));
    // Of two directions the one that showed first may be told last.
    assert!(hides(&[(40, ToClient), (29, ToClient), (50, ToServer)]));
    assert!(hides(&[(15, ToClient)]) && hides(&[(25, ToClient)]));
    assert!(hides(&[(35, ToServer)]));
    assert!(hides(&[(15, ToServer), (35, ToClient)]));
    assert!(hides(&[(9, ToClient), (15, ToServer), (25, ToServer)]));
}

#[test]
fn what_the_client_sends_again_holds_no_answer_up() {
    let id = ConnectionId(7);
    let mut facts = CaptureFacts::default();
    let asked_again = Episode {
        direction: Direction::ToServer,
        ..episode(EpisodeKind::Recovery, 0, 9)
    };
    facts.episode(&asked_again);
    assert!(facts.troubles.is_quiet(id));
    facts.episode(&episode(EpisodeKind::Recovery, 10, 19));
    assert!(!facts.troubles.is_quiet(id));
}

/// Waits tell of the server where six calls of ten are known: seen whole, or to a tenth of how long they took.
#[test]
fn calls_that_are_known_to_a_tenth_are_as_good_as_whole() {
    let tells = |whole: i64, bounded: i64, longer_ns: i64| {
        let mut facts = CaptureFacts::default();
        for n in 0..100 {
            let mut call =
                crate::trace_join::tests::call(n as u32, 0, 100, n * 1_000, n * 1_000 + 500);
            if n >= whole {
                let earliest = call.response_first.take().unwrap();
                call.response_last = None;
                call.outcome = Outcome::NoResponse(Reason::SnapLength);
                let latest = earliest.time + longer_ns;
                let hidden = HiddenResponse {
                    earliest,
                    latest,
                    held_ns: 0,
                };
                call.hidden = (n < whole + bounded).then_some(hidden);
            }
            facts.call(&call, 0);
        }
        !facts.waits_behind_others()
    };
    assert!(tells(60, 0, 0));
    assert!(!tells(59, 0, 0));
    assert!(tells(1, 59, 50));
    assert!(!tells(1, 58, 50));
    assert!(!tells(1, 59, 51));
}
