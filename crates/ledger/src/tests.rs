//! Ledgers of generated calls: lines divide what the client waited, and what one end knows holds what both do.

mod begun;
mod between;
mod doubt;
mod downstream;
mod late;
mod losses;
mod midway;

use super::*;
use model::{EpisodeKind, InnerTrips, Pace, PerClass, TimeClass};
use proptest::prelude::*;

const MS: i64 = 1_000_000;

/// A call as it was: how long its request took to leave, the way there, the server, its response to leave,
/// and the way back.
#[derive(Clone, Copy, Debug)]
struct Truth {
    request: i64,
    out: i64,
    service: i64,
    response: i64,
    back: i64,
}

impl Truth {
    fn both(self) -> Both {
        Both {
            response_ns: self.request + self.out + self.service + self.response + self.back,
            service_ns: self.service,
            transfer_ns: self.request + self.response,
            request_passing_ns: self.request,
            path_ns: self.out + self.back,
            ..Both::default()
        }
    }

    fn at_client(self) -> One {
        One {
            request_passing_ns: self.request,
            wait_ns: self.out + self.service + self.back,
            response_passing_ns: self.response,
            ..One::default()
        }
    }

    fn at_server(self) -> One {
        One {
            request_passing_ns: self.request,
            wait_ns: self.service,
            response_passing_ns: self.response,
            ..One::default()
        }
    }
}

fn both_facts() -> BothFacts<'static> {
    BothFacts {
        to_server: Half::Here,
        to_client: Half::Here,
        usual_path_ns: 0,
        least_path_ns: 0,
        links: &[],
        unloaded_ns: None,
        fragments_ns: 0,
        paced: [None; 2],
        spared: None,
        request_again_ns: 0,
        sent_again_ns: 0,
        untaken: [Untaken::Dropped; 2],
        may_idle: [false; 2],
        classes: None,
    }
}

fn one_facts(to_server: Half, to_client: Half) -> OneFacts {
    OneFacts {
        to_server,
        to_client,
        varies_ns: 0,
        waits_tell: true,
        unloaded_ns: None,
        spared: None,
        fragments_ns: 0,
        may_idle: [false; 2],
        classes: None,
        queued: Queued::default(),
        paced: [None; 2],
        unanswered_ns: 0,
        request_again_ns: 0,
        sent_again_ns: 0,
        untaken: Untaken::Dropped,
    }
}

fn of_both(call: &Both, facts: &BothFacts<'_>) -> Ledger {
    let mut ledger = Ledger::default();
    divide_both(call, facts, &mut ledger);
    ledger
}

fn of_one(call: &One, facts: &OneFacts) -> Ledger {
    let mut ledger = Ledger::default();
    divide_one(call, facts, &mut ledger);
    ledger
}

fn side(ledger: &Ledger, side: Place) -> Bounds {
    let mut sums = Sums::new();
    sums.add(ledger);
    sums.side(side)
}

/// Whether lines have bounds in their order and divide what the client waited.
fn divides(ledger: &Ledger) -> Result<(), TestCaseError> {
    let mut sum = Bounds::exactly(0);
    for line in ledger.lines() {
        prop_assert!(line.ns.lo_ns >= 0, "{line:?}");
        prop_assert!(
            line.ns.hi_ns.is_none_or(|hi| hi >= line.ns.lo_ns),
            "{line:?}"
        );
        sum = sum.plus(line.ns);
    }
    let most = ledger.response.hi_ns.unwrap_or(i64::MAX);
    prop_assert!(sum.lo_ns <= most, "{ledger:?}");
    prop_assert!(
        sum.hi_ns.is_none_or(|hi| hi >= ledger.response.lo_ns),
        "{ledger:?}"
    );
    Ok(())
}

fn contains(less: Bounds, more: Bounds) -> bool {
    let above = match (less.hi_ns, more.hi_ns) {
        (Some(less), Some(more)) => less >= more,
        (None, _) => true,
        (Some(_), None) => false,
    };
    less.lo_ns <= more.lo_ns && above
}

fn truth() -> impl Strategy<Value = Truth> {
    let part = || prop_oneof![Just(0), 0..MS, 0..500 * MS];
    (part(), part(), part(), part(), part()).prop_map(|(request, out, service, response, back)| {
        Truth {
            request,
            out,
            service,
            response,
            back,
        }
    })
}

fn held() -> impl Strategy<Value = Held> {
    let stretches =
        proptest::collection::vec((0..EpisodeKind::COUNT, any::<bool>(), 0..900 * MS), 0..4);
    stretches.prop_map(|list| {
        let mut held = Held::default();
        for (kind, forth, ns) in list {
            let d = match forth {
                true => Direction::ToServer,
                false => Direction::ToClient,
            };
            held.add(d, EpisodeKind::ALL[kind], ns);
        }
        held
    })
}

fn half() -> impl Strategy<Value = Half> {
    prop_oneof![
        Just(Half::Here),
        Just(Half::ANY),
        (0..100 * MS, 0..100 * MS)
            .prop_map(|(lo, more)| Half::Away(Bounds::between(lo, lo + more))),
    ]
}

fn paced() -> impl Strategy<Value = Option<Paced>> {
    let pace = prop_oneof![
        Just(Pace::Unknown),
        Just(Pace::Grows),
        (1..1u32 << 24).prop_map(Pace::Kept)
    ];
    let alone = (1..1_000_000_000i64).prop_map(FullLine::Alone);
    let shared = (1..1_000_000_000i64).prop_map(FullLine::Shared);
    let line = proptest::option::of(prop_oneof![alone, shared]);
    (pace, 0..400 * MS, line, any::<bool>()).prop_map(|(pace, ns, line, is_blind)| match is_blind {
        true => Some(Paced::blind(ns)),
        false => Paced::of(pace, ns, line),
    })
}

fn lost() -> impl Strategy<Value = Lost> {
    prop_oneof![
        Just(Lost::Nothing),
        Just(Lost::Segments),
        Just(Lost::Outage),
        Just(Lost::Hidden),
        Just(Lost::Perhaps),
    ]
}

proptest! {
    #[test]
    fn what_one_end_knows_holds_what_both_do(
        truth in truth(), least in 0..=100i64, more in 0..50 * MS, unloaded in proptest::option::of(0..100 * MS),
    ) {
        let both = of_both(&truth.both(), &both_facts());
        divides(&both)?;
        let path = truth.out + truth.back;
        let way = Half::Away(Bounds::between(path * least / 100, path + more));
        let client = OneFacts { unloaded_ns: unloaded, ..one_facts(way, Half::Here) };
        let server = OneFacts { unloaded_ns: unloaded, ..one_facts(Half::Here, way) };
        for ledger in [of_one(&truth.at_client(), &client), of_one(&truth.at_server(), &server)] {
            divides(&ledger)?;
            for place in [Place::Client, Place::Network, Place::Server] {
                let (less, more) = (side(&ledger, place), side(&both, place));
                prop_assert!(contains(less, more), "{place:?}: {less:?} {more:?}");
            }
            prop_assert!(contains(ledger.response, both.response));
        }
    }

    #[test]
    fn what_was_never_answered_is_the_servers_as_far_as_it_cannot_have_answered(
        truth in truth(), silent_ns in 0..30_000 * MS, unanswered_ns in 0..40_000 * MS,
    ) {
        let way = Half::Away(Bounds::exactly(truth.out + truth.back));
        let waits = |one: One| One { response_passing_ns: 0, silent_ns, ..one };
        let there = of_one(&waits(truth.at_server()), &one_facts(Half::Here, way));
        let here = OneFacts { unanswered_ns, ..one_facts(way, Half::Here) };
        let here = of_one(&waits(truth.at_client()), &here);
        for ledger in [&there, &here] {
            divides(ledger)?;
        }
        let server = |ledger: &Ledger| side(ledger, Place::Server);
        prop_assert!(server(&there).lo_ns >= silent_ns);
        prop_assert!(contains(server(&here), server(&there)));
        prop_assert!(server(&here).lo_ns >= unanswered_ns.min(silent_ns));
        let outage = here.charges().iter().find(|c| c.cause == Cause::Outage);
        prop_assert_eq!(outage.map_or(0, |c| c.ns.lo_ns), 0);
    }

    #[test]
    fn a_hidden_response_takes_an_answer_away_and_gives_none(
        truth in truth(), seen in 0..=100i64, more in 0..50 * MS, may_be_held in any::<bool>(),
    ) {
        let both = of_both(&truth.both(), &both_facts());
        let way = Half::Away(Bounds::exactly(truth.out + truth.back));
        let at = |one: One| {
            let rest = one.wait_ns + one.response_passing_ns;
            let wait_ns = one.wait_ns * seen / 100;
            let hidden_ns = rest - wait_ns + more;
            One { wait_ns, response_passing_ns: 0, hidden_ns, may_be_held, ..one }
        };
        let ledgers = [
            of_one(&at(truth.at_client()), &one_facts(way, Half::Here)),
            of_one(&at(truth.at_server()), &one_facts(Half::Here, way)),
            of_both(&Both {
                response_ns: truth.request + truth.service * seen / 100,
                service_ns: truth.service * seen / 100,
                transfer_ns: 0,
                path_ns: truth.request,
                hidden_ns: Some(truth.both().response_ns - truth.request - truth.service * seen / 100 + more),
                ..Both::default()
            }, &both_facts()),
        ];
        for ledger in &ledgers[..2] {
            divides(ledger)?;
            for place in [Place::Client, Place::Network, Place::Server] {
                let (less, full) = (side(ledger, place), side(&both, place));
                prop_assert!(contains(less, full), "{place:?}: {less:?} {full:?}");
            }
        }
        divides(&ledgers[2])?;
        prop_assert!(contains(side(&ledgers[2], Place::Server), side(&both, Place::Server)));
        for ledger in &ledgers {
            prop_assert!(contains(ledger.response, both.response));
        }
    }

    #[test]
    fn lines_divide_what_the_client_waited_whatever_one_capture_saw(
        truth in truth(), passing in held(), waiting in held(), lost in lost(),
        (to_server, to_client) in (half(), half()), waits_tell in any::<bool>(),
        (stall_ns, unheard_ns, recovery_ns, behind_ns) in (0..900 * MS, 0..900 * MS, 0..900 * MS, 0..900 * MS),
        (request_held_ns, response_held_ns, fragments_ns) in (0..900 * MS, 0..900 * MS, 0..900 * MS),
        spared in proptest::option::of((0..100u64, any::<bool>())), hidden_ns in prop_oneof![Just(0), 0..900 * MS],
        inner in (any::<bool>(), 0..900 * MS, 0..900 * MS), (locked_ns, sure) in (0..900 * MS, 0..=100i64),
        paced in [paced(), paced()], late_ns in [0..900 * MS, 0..900 * MS], varies_ns in 0..200 * MS,
        has_holes in any::<bool>(),
    ) {
        let call = One {
            has_holes,
            inner: InnerTrips { of_request: inner.0, client_ns: inner.1, server_ns: inner.2 },
            late_ns,
            locked_ns,
            lock_ns: locked_ns / 100 * sure,
            stall_ns,
            unheard_ns,
            recovery_ns,
            behind_ns,
            request_held_ns,
            response_held_ns,
            lost,
            held: HeldUp { passing, waiting },
            hidden_ns,
            hidden_unread_ns: hidden_ns / 3,
            may_be_held: hidden_ns > 0,
            ..truth.at_client()
        };
        let share = |(trips, is_sure)| Share { cause: Cause::Chatty, trips, of: 100, is_sure };
        let facts = OneFacts {
            varies_ns,
            waits_tell,
            fragments_ns,
            paced,
            spared: spared.map(share),
            ..one_facts(to_server, to_client)
        };
        divides(&of_one(&call, &facts))?;
    }

    #[test]
    fn with_both_ends_every_nanosecond_has_one_line(
        truth in truth(), usual_path_ns in 0..500 * MS, least_path_ns in 0..500 * MS, lost in lost(),
        fragments_ns in 0..900 * MS, rate_bps in 1_000..1_000_000_000i64, is_busy in any::<bool>(),
        bytes in any::<u32>(), unloaded_ns in proptest::option::of(0..100 * MS), (locked_ns, sure) in (0..900 * MS, prop_oneof![Just(100), 0..=100i64]),
        paced in [paced(), paced()], sending_ns in [0..900 * MS, 0..900 * MS], is_narrow in any::<bool>(),
    ) {
        let locks = Both { locked_ns, lock_ns: if sure == 100 { locked_ns } else { locked_ns / 100 * sure }, ..truth.both() };
        let call = Both { lost, sending_ns, bytes: [bytes.into(), bytes.into()], ..locks };
        let link = |direction| NarrowLink { direction, rate_bps, is_busy, is_never_empty: false, least_ns: None };
        let links = [link(Direction::ToServer), link(Direction::ToClient)];
        let facts = BothFacts {
            usual_path_ns,
            least_path_ns,
            links: if is_narrow { &links } else { &[] },
            paced,
            unloaded_ns,
            fragments_ns,
            ..both_facts()
        };
        let ledger = of_both(&call, &facts);
        divides(&ledger)?;
        let all = ledger.lines().iter().fold(Bounds::exactly(0), |sum, l| sum.plus(l.ns));
        let is_blind = facts.paced.iter().flatten().any(|p| p.cause().is_none() && p.line.is_none());
        match locked_ns == call.lock_ns && !is_blind {
            true => prop_assert_eq!(all, Bounds::exactly(call.response_ns)),
            // What may have been a lock's is the server's at most.
            false => prop_assert!(all.lo_ns <= call.response_ns && all.hi_ns >= Some(call.response_ns)),
        }
    }
}

#[test]
fn what_acknowledgements_let_go_is_a_buffers_slow_starts_or_a_lines() {
    let call = One {
        request_passing_ns: 200 * MS,
        wait_ns: 40 * MS,
        ..One::default()
    };
    let of = |pace, call: &One| {
        let mut facts = one_facts(Half::Away(Bounds::exactly(40 * MS)), Half::Here);
        facts.paced = [Paced::of(pace, 40 * MS, None), None];
        of_one(call, &facts)
    };
    // 14,600 bytes at first, 29,200 then, 58,400 then: the same with any buffer.
    let kept = of(Pace::Kept(60_000), &call);
    assert_eq!(
        charged(&kept, Cause::SendBuffer),
        Some(Bounds::exactly(120 * MS))
    );
    assert_eq!(side(&kept, Place::Client).lo_ns, 120 * MS);
    let grows = of(Pace::Grows, &call);
    assert_eq!(
        charged(&grows, Cause::SlowStart),
        Some(Bounds::exactly(200 * MS))
    );
    // A line of 8 Mbit/s takes 100 ms for 100 kB, and none of what left twice as fast.
    let full = |bytes| {
        let call = One {
            request_bytes: bytes,
            ..call.clone()
        };
        let mut facts = one_facts(Half::Away(Bounds::exactly(40 * MS)), Half::Here);
        facts.paced = [
            Paced::of(Pace::Unknown, 40 * MS, Some(FullLine::Alone(8_000_000))),
            None,
        ];
        charged(&of_one(&call, &facts), Cause::Bandwidth)
    };
    assert_eq!(full(100_000), Some(Bounds::exactly(100 * MS)));
    assert_eq!(full(300_000), Some(Bounds::exactly(200 * MS)));
    assert_eq!(full(500_000), None);
    let mut facts = one_facts(Half::Away(Bounds::exactly(40 * MS)), Half::Here);
    facts.paced = [Some(Paced::blind(40 * MS)), None];
    let blind = of_one(&call, &facts);
    for cause in [Cause::Transfer, Cause::SmallWindow, Cause::SendBuffer] {
        assert_eq!(
            charged(&blind, cause),
            Some(Bounds::between(0, 200 * MS)),
            "{cause:?}"
        );
    }
    // Nothing waits for an acknowledgement that takes less to leave than one takes to come.
    let short = One {
        request_passing_ns: 39 * MS,
        ..call
    };
    assert_eq!(charged(&of(Pace::Grows, &short), Cause::SlowStart), None);
}

#[test]
fn what_waits_behind_a_line_that_is_never_empty_may_wait_for_nothing_else() {
    let truth = Truth {
        request: 0,
        out: 30 * MS,
        service: MS,
        response: 0,
        back: 2 * MS,
    };
    let link = NarrowLink {
        direction: Direction::ToServer,
        rate_bps: 1_000_000_000,
        is_busy: true,
        is_never_empty: false,
        least_ns: None,
    };
    let of = |link: NarrowLink, cause| {
        let facts = BothFacts {
            least_path_ns: 24 * MS,
            links: &[link],
            ..both_facts()
        };
        let mut sums = Sums::new();
        sums.add(&of_both(&truth.both(), &facts));
        sums.of(cause)
    };
    let both = |link| [Cause::Bandwidth, Cause::Path].map(|cause| of(link, cause));
    assert_eq!(both(link), [8, 24].map(|ms| Bounds::exactly(ms * MS)));
    let never_empty = NarrowLink {
        is_never_empty: true,
        ..link
    };
    assert_eq!(
        both(never_empty),
        [(8, 32), (0, 24)].map(|(lo, hi)| Bounds::between(lo * MS, hi * MS))
    );
    // Another connection crossed it when it was empty.
    let crossed = NarrowLink {
        least_ns: Some(5 * MS),
        ..link
    };
    assert_eq!(both(crossed), [27, 5].map(|ms| Bounds::exactly(ms * MS)));
}

#[test]
fn what_is_certain_of_one_side_is_not_left_for_another() {
    let mut ledger = Ledger::default();
    ledger.clear(Bounds::between(10 * MS, 12 * MS));
    ledger.charge(
        Cause::NotWriting,
        Direction::ToServer,
        Bounds::exactly(7 * MS),
    );
    ledger.charge(Cause::Unknown, Direction::ToServer, Bounds::exactly(2 * MS));
    ledger.charge(
        Cause::Service,
        Direction::ToClient,
        Bounds::between(MS, 9 * MS),
    );
    let mut sums = Sums::new();
    sums.add(&ledger);
    let left = |side| sums.left_for_ns(side);
    assert_eq!(left(Place::Server), Some(5 * MS));
    assert_eq!(left(Place::Client), Some(11 * MS));
    assert_eq!(left(Place::Unknown), Some(4 * MS));
    // Where nobody knows how long calls took, as little is known of what is left.
    ledger.response.hi_ns = None;
    sums.add(&ledger);
    assert_eq!(sums.left_for_ns(Place::Server), None);
}

#[test]
fn sums_merge_in_any_order() {
    let [one, other] = [3, 40].map(|ms| {
        let truth = Truth {
            request: MS,
            out: 2 * MS,
            service: ms * MS,
            response: MS,
            back: 2 * MS,
        };
        let mut sums = Sums::new();
        sums.add(&of_both(&truth.both(), &both_facts()));
        sums.add(&of_one(
            &truth.at_client(),
            &one_facts(Half::ANY, Half::Here),
        ));
        sums
    });
    let (mut forth, mut back) = (one.clone(), other.clone());
    forth.merge(&other);
    back.merge(&one);
    assert_eq!(forth, back);
    assert_eq!(
        (forth.calls, forth.total),
        (4, Bounds::exactly(2 * (9 + 46) * MS))
    );
}

#[test]
fn what_larger_writes_spare_a_stream_is_part_of_what_it_took_to_pass() {
    let d = Direction::ToServer;
    let mut classes = Classes::default();
    let mut time = PerClass::default();
    time[TimeClass::Transfer] = 10 * MS;
    time[TimeClass::SenderApplication] = 5 * MS;
    classes.set(d, [time, time]);
    let divided = |lo, hi| {
        let mut ledger = Ledger::default();
        divide_stream(
            d,
            &classes,
            Between::default(),
            Bounds::between(lo, hi),
            &mut ledger,
        );
        let of = |cause| {
            let own = ledger.lines().into_iter().find(|l| l.cause == cause);
            own.map(|l| l.ns)
        };
        assert_eq!(ledger.response, Bounds::exactly(15 * MS));
        [Cause::SmallWrites, Cause::Transfer, Cause::NotWriting].map(of)
    };
    let between = |lo, hi| Some(Bounds::between(lo * MS, hi * MS));
    assert_eq!(divided(0, 0), [None, between(10, 10), between(5, 5)]);
    // It would have paused for as much longer.
    assert_eq!(
        divided(4 * MS, 6 * MS),
        [between(0, 6), between(4, 6), between(5, 9)]
    );
    assert_eq!(
        divided(20 * MS, 30 * MS),
        [between(5, 10), None, between(5, 10)]
    );
}

#[test]
fn what_an_account_cannot_tell_is_not_for_certain_what_a_message_took_to_pass() {
    let call = One {
        request_passing_ns: 500 * MS,
        ..One::default()
    };
    let d = Direction::ToServer;
    let mut time = PerClass::default();
    time[TimeClass::Unknown] = 300 * MS;
    let mut classes = Classes::default();
    classes.set(d, [time, time]);
    let mut facts = one_facts(Half::ANY, Half::Here);
    facts.classes = Some(classes);
    let mut ledger = Ledger::default();
    divide_one(&call, &facts, &mut ledger);
    let transfer = charged(&ledger, Cause::Transfer).unwrap();
    assert!(transfer.lo_ns <= 200 * MS && transfer.hi_ns >= Some(200 * MS));
    let unknown = charged(&ledger, Cause::Unknown).unwrap();
    assert_eq!(unknown.hi_ns, Some(300 * MS));
}

/// What is charged to a cause.
fn charged(ledger: &Ledger, cause: Cause) -> Option<Bounds> {
    let lines = ledger.lines();
    lines.iter().find(|l| l.cause == cause).map(|l| l.ns)
}
