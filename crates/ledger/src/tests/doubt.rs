//! What is nobody's for certain, or another's than it seems.

use super::*;
use model::InnerTrips;

#[test]
fn what_may_have_been_an_event_passed_at_the_server_and_is_nobodys_for_certain() {
    let mut ledger = Ledger::default();
    ledger.clear(Bounds::exactly(10 * MS));
    let taken = Bounds::between(9 * MS, 10 * MS);
    ledger.charge(Cause::Service, Direction::ToServer, taken);
    ledger.doubt_service(10 * MS);
    assert_eq!(charged(&ledger, Cause::Service), Some(taken));
    ledger.doubt_service(10 * MS - 1);
    assert_eq!(charged(&ledger, Cause::Service), None);
    assert_eq!(charged(&ledger, Cause::Event), Some(taken));
    assert_eq!(
        Cause::Event.of(Direction::ToServer),
        (Place::Server, Place::Unknown)
    );
}

/// A break: the server waited 188 ms until the client confirmed it, and then told the error at once.
#[test]
fn what_a_response_waits_for_its_client_is_not_the_network_s() {
    let call = One {
        wait_ns: 6 * MS,
        response_passing_ns: 189 * MS,
        inner: InnerTrips {
            client_ns: 187 * MS,
            server_ns: 2 * MS,
            of_request: false,
        },
        ..One::default()
    };
    let (near, far) = (Half::Here, Half::Away(Bounds::between(MS / 2, 4 * MS)));
    let at_server = of_one(&call, &one_facts(near, far));
    assert_eq!(
        charged(&at_server, Cause::NotWriting),
        Some(Bounds::between(183 * MS, 187 * MS - MS / 2))
    );
    assert_eq!(
        charged(&at_server, Cause::Service),
        Some(Bounds::exactly(8 * MS))
    );
    assert_eq!(charged(&at_server, Cause::Transfer), None);
    let at_client = of_one(&call, &one_facts(far, near));
    assert_eq!(
        charged(&at_client, Cause::NotWriting),
        Some(Bounds::exactly(187 * MS))
    );
    let both = Both {
        response_ns: 200 * MS,
        service_ns: 6 * MS,
        path_ns: 5 * MS,
        inner_ns: [187 * MS, 2 * MS],
        ..Both::default()
    };
    let both = of_both(&both, &both_facts());
    assert_eq!(
        charged(&both, Cause::NotWriting),
        Some(Bounds::exactly(187 * MS))
    );
    assert_eq!(
        charged(&both, Cause::Service),
        Some(Bounds::exactly(8 * MS))
    );
    assert_eq!(charged(&both, Cause::Path), Some(Bounds::exactly(5 * MS)));
}

/// A logon: the server took 500 ms to ask for a password, and the client 300 to say it.
#[test]
fn what_a_request_waits_for_before_it_goes_on_is_whose_it_is() {
    let call = One {
        request_passing_ns: 800 * MS,
        wait_ns: 6 * MS,
        response_passing_ns: MS,
        inner: InnerTrips {
            of_request: true,
            client_ns: 300 * MS,
            server_ns: 500 * MS,
        },
        ..One::default()
    };
    let (near, far) = (Half::Here, Half::Away(Bounds::between(MS / 2, 4 * MS)));
    let at_client = of_one(&call, &one_facts(far, near));
    assert_eq!(
        charged(&at_client, Cause::NotWriting),
        Some(Bounds::exactly(300 * MS))
    );
    assert_eq!(
        charged(&at_client, Cause::Service),
        Some(Bounds::between(498 * MS, 505 * MS))
    );
    let at_server = of_one(&call, &one_facts(near, far));
    assert_eq!(
        charged(&at_server, Cause::NotWriting),
        Some(Bounds::between(296 * MS, 300 * MS - MS / 2))
    );
    assert_eq!(
        charged(&at_server, Cause::Service),
        Some(Bounds::exactly(506 * MS))
    );
}

#[test]
fn a_silence_that_may_lie_between_messages_is_nobodys_for_certain() {
    let mut call = One {
        response_passing_ns: 500 * MS,
        ..One::default()
    };
    let (d, ns) = (Direction::ToClient, 400 * MS);
    (call.held.passing).add(d, EpisodeKind::SenderSilence, ns);
    let mut facts = one_facts(Half::Here, Half::Here);
    let silent = Some(Bounds::exactly(ns));
    let ledger = of_one(&call, &facts);
    assert_eq!(charged(&ledger, Cause::NotWriting), silent);
    facts.may_idle = [false, true];
    let ledger = of_one(&call, &facts);
    assert_eq!(charged(&ledger, Cause::Idle), silent);
    assert_eq!(charged(&ledger, Cause::NotWriting), None);
}

#[test]
fn what_passed_a_full_line_before_a_call_is_not_its_servers() {
    let call = One {
        request_passing_ns: 5 * MS,
        wait_ns: 10 * MS,
        ..One::default()
    };
    let mut facts = one_facts(Half::Away(Bounds::between(MS, 9 * MS)), Half::Here);
    facts.queued = Queued {
        passing_ns: 3 * MS,
        wait_ns: 7 * MS,
    };
    let ledger = of_one(&call, &facts);
    assert_eq!(
        charged(&ledger, Cause::Bandwidth),
        Some(Bounds::exactly(10 * MS))
    );
    // One of ten is left to the path at least, two to either.
    let served = charged(&ledger, Cause::Service).map(|ns| ns.lo_ns);
    assert_eq!(served, Some(MS));
    let crossed = charged(&ledger, Cause::Path);
    assert_eq!(crossed, Some(Bounds::between(MS, 2 * MS)));
}

#[test]
fn a_call_is_the_sides_that_outweighs_what_may_be_anothers() {
    let mut ledger = Ledger::default();
    ledger.clear(Bounds::exactly(10 * MS));
    assert_eq!(ledger.side(), None);
    let to_server = Direction::ToServer;
    ledger.charge(Cause::Service, to_server, Bounds::between(5 * MS, 9 * MS));
    ledger.charge(Cause::Path, to_server, Bounds::between(MS, 4 * MS));
    assert_eq!(ledger.side(), Some(Place::Server));
    // What nobody knows may be the path's.
    ledger.charge(Cause::Unknown, to_server, Bounds::between(0, MS));
    assert_eq!(ledger.side(), None);

    ledger.clear(Bounds::exactly(10 * MS));
    ledger.charge(Cause::Service, to_server, Bounds::exactly(6 * MS));
    let unbounded = Bounds {
        lo_ns: 0,
        hi_ns: None,
    };
    ledger.charge(Cause::Hidden, to_server, unbounded);
    assert_eq!(ledger.side(), None);
}

#[test]
fn what_the_server_times_itself_is_its_service_and_the_rest_it_waited() {
    let d = Direction::ToServer;
    let of = |charges: &[(Cause, Bounds)], ns: i64| {
        let mut ledger = Ledger::default();
        ledger.clear(Bounds::exactly(100));
        charges.iter().for_each(|(c, ns)| ledger.charge(*c, d, *ns));
        ledger.time_operation(ns);
        let charges = ledger.charges().iter();
        charges
            .map(|c| (c.cause, c.ns.lo_ns, c.ns.hi_ns))
            .collect::<Vec<_>>()
    };
    let service = [
        (Cause::Service, Bounds::exactly(60)),
        (Cause::Path, Bounds::exactly(40)),
    ];
    assert_eq!(
        of(&service, 10),
        [
            (Cause::Path, 40, Some(40)),
            (Cause::Service, 10, Some(10)),
            (Cause::Dispatch, 50, Some(50))
        ]
    );
    // It took all of it, or more by another clock.
    for ns in [60, 70] {
        let whole = [(Cause::Path, 40, Some(40)), (Cause::Service, 60, Some(60))];
        assert_eq!(of(&service, ns), whole);
    }
    // Behind a limited number of workers it is known what it waited for.
    let queued = [
        (Cause::Service, Bounds::exactly(20)),
        (Cause::Queue, Bounds::exactly(40)),
    ];
    assert_eq!(
        of(&queued, 25),
        [(Cause::Service, 25, Some(25)), (Cause::Queue, 35, Some(35))]
    );
    // What may have been a lock's stays as wide as it was.
    let locked = [(Cause::Service, Bounds::between(5, 60))];
    assert_eq!(
        of(&locked, 10),
        [
            (Cause::Service, 5, Some(10)),
            (Cause::Dispatch, 0, Some(50))
        ]
    );
    assert_eq!(of(&[], 10), []);
}

/// 1.8 s in which requests were sent again and again, nothing was acknowledged, and in the end all of them had arrived.
#[test]
fn what_no_host_acknowledged_may_have_been_on_its_way() {
    let call = One {
        wait_ns: 1_800 * MS,
        stall_ns: 1_800 * MS,
        ..One::default()
    };
    let way = Half::Away(Bounds::between(MS / 2, 2 * MS));
    let unheard = |unheard_ns| One { unheard_ns, ..call };
    let heard = of_one(&call, &one_facts(way, Half::Here));
    let stall = Bounds::exactly(1_798 * MS);
    assert_eq!(charged(&heard, Cause::Stall), Some(stall));
    let kept = of_one(&unheard(1_790 * MS), &one_facts(way, Half::Here));
    assert_eq!(charged(&kept, Cause::Stall), Some(Bounds::exactly(8 * MS)));
    let outage = Bounds::between(0, 1_790 * MS);
    assert_eq!(charged(&kept, Cause::Outage), Some(outage));
    let service = charged(&kept, Cause::Service).and_then(|b| b.hi_ns);
    assert!(service > Some(1_790 * MS), "{service:?}");
    // In its own capture the server had them.
    let server = of_one(&unheard(1_790 * MS), &one_facts(Half::Here, way));
    assert_eq!(charged(&server, Cause::Outage), None);
    assert_eq!(
        charged(&server, Cause::Stall),
        Some(Bounds::exactly(1_800 * MS))
    );
}

/// What a server says stands behind what it sends again: whether it had said it by then, nobody sees.
#[test]
fn what_a_server_takes_while_something_is_sent_again_may_be_the_losses() {
    let call = |behind_loss_ns| Both {
        response_ns: 300 * MS,
        service_ns: 300 * MS,
        behind_loss_ns,
        ..Both::default()
    };
    let told = |behind_loss_ns| {
        let ledger = of_both(&call(behind_loss_ns), &both_facts());
        [Cause::Service, Cause::Loss].map(|cause| charged(&ledger, cause))
    };
    let service = |lo| Some(Bounds::between(lo * MS, 300 * MS));
    assert_eq!(told(0), [service(300), None]);
    let loss = |hi| Some(Bounds::between(0, hi * MS));
    assert_eq!(told(200 * MS), [service(100), loss(200)]);
    assert_eq!(told(400 * MS), [service(0), loss(300)]);
}

/// Of the time that a full window held a sender, its receiver's end shows what it did not read for.
#[test]
fn a_full_window_is_unread_for_as_long_as_its_receiver_shows() {
    let held = |small: i64, closing: i64| {
        let mut passing = Held::default();
        passing.add(Direction::ToClient, EpisodeKind::SmallWindow, small * MS);
        passing.add(
            Direction::ToClient,
            EpisodeKind::ClosingWindow,
            closing * MS,
        );
        passing.add(Direction::ToServer, EpisodeKind::SmallWindow, 7 * MS);
        let waiting = Held::default();
        HeldUp { passing, waiting }
    };
    let told = |sender: HeldUp, receiver: HeldUp| {
        let sent = sender.sent(Direction::ToClient, &receiver);
        let of = sent.of(Direction::ToClient);
        assert!(sent.is_free(Direction::ToServer));
        [EpisodeKind::SmallWindow, EpisodeKind::ClosingWindow].map(|kind| of[kind] / MS)
    };
    assert_eq!(told(held(40, 0), held(0, 30)), [10, 30]);
    assert_eq!(told(held(40, 10), held(0, 30)), [20, 30]);
    assert_eq!(told(held(40, 10), held(0, 90)), [0, 50]);
    assert_eq!(told(held(40, 10), held(40, 0)), [40, 10]);
    // What a queue held is the reader's first, and else the line's.
    let queued = |small, ns: i64| {
        let mut held = held(small, 0);
        (held.passing).add(Direction::ToClient, EpisodeKind::QueuedWindow, ns * MS);
        held
    };
    assert_eq!(told(queued(40, 20), held(0, 0)), [40, 0]);
    assert_eq!(told(queued(40, 20), held(0, 15)), [40, 15]);
    assert_eq!(told(queued(40, 20), held(0, 50)), [10, 50]);
}

/// Whether a line or the reader lets no more pass the sender's end does not show.
#[test]
fn a_window_that_fills_a_queue_is_nobody_s_from_its_sender_s_end() {
    let told = |kind| {
        let mut held = Held::default();
        held.add(Direction::ToClient, kind, 40 * MS);
        let call = One {
            wait_ns: 10 * MS,
            response_passing_ns: 100 * MS,
            held: HeldUp {
                passing: held,
                ..HeldUp::default()
            },
            ..One::default()
        };
        let ledger = of_one(&call, &one_facts(Half::Here, Half::ANY));
        [Cause::SmallWindow, Cause::Unknown].map(|cause| charged(&ledger, cause).map(|ns| ns.lo_ns))
    };
    assert_eq!(told(EpisodeKind::SmallWindow)[0], Some(40 * MS));
    assert_eq!(told(EpisodeKind::QueuedWindow), [None, Some(40 * MS)]);
}

/// A server that may not send is silent; and whatever a reply that nobody sees waited for, a client that did not read is no network.
#[test]
fn what_a_client_did_not_read_is_his_though_nobody_sees_where_the_answer_stands() {
    let mut closed = Held::default();
    closed.add(Direction::ToClient, EpisodeKind::ZeroWindow, 30 * MS);
    let call = One {
        wait_ns: 40 * MS,
        stall_ns: 35 * MS,
        held: HeldUp {
            waiting: closed,
            ..HeldUp::default()
        },
        hidden_ns: 100 * MS,
        hidden_unread_ns: 80 * MS,
        ..One::default()
    };
    let (near, far) = (Half::Here, Half::Away(Bounds::between(MS / 2, 4 * MS)));
    let at_server = of_one(&call, &one_facts(near, far));
    let both = Both {
        response_ns: 42 * MS,
        stall_ns: 10 * MS,
        path_ns: 2 * MS,
        held: closed,
        hidden_ns: Some(100 * MS),
        hidden_unread_ns: 80 * MS,
        ..Both::default()
    };
    let both = of_both(&both, &both_facts());
    for ledger in [at_server, both] {
        let unread = Some(Bounds::between(30 * MS, 110 * MS));
        assert_eq!(charged(&ledger, Cause::NotReading), unread);
        let stall = Some(Bounds::exactly(10 * MS));
        assert_eq!(charged(&ledger, Cause::Stall), stall);
        let hidden = Some(Bounds::between(0, 20 * MS));
        assert_eq!(charged(&ledger, Cause::Hidden), hidden);
    }
}

/// What was lost further on was there when its client asked for the next thing, or is beyond the capture.
#[test]
fn who_went_on_had_his_answer() {
    let lost = One {
        wait_ns: 5 * MS,
        lost: Lost::Hidden,
        ..One::default()
    };
    let far = Half::Away(Bounds::between(MS / 2, 4 * MS));
    let most = |call: &One| {
        let ledger = of_one(call, &one_facts(Half::Here, far));
        charged(&ledger, Cause::Unknown).map(|ns| (ns.lo_ns, ns.hi_ns))
    };
    let least = 5 * MS + MS / 2;
    assert_eq!(most(&lost), Some((least, None)));
    let went_on = |ns| One {
        went_on_ns: Some(ns),
        ..lost.clone()
    };
    assert_eq!(most(&went_on(20 * MS)), Some((least, Some(25 * MS))));
    // That had been sent before the answer came.
    assert_eq!(most(&went_on(MS / 4)), Some((least, None)));
    let was_last = One {
        was_last: true,
        ..lost.clone()
    };
    assert_eq!(most(&was_last), Some((least, Some(9 * MS))));
}

#[test]
fn behind_missing_bytes_nobody_knows_since_when_an_answer_was_held() {
    let served = |has_holes| {
        let mut waiting = Held::default();
        waiting.add(Direction::ToClient, EpisodeKind::ZeroWindow, 100 * MS);
        let call = One {
            wait_ns: 1_000 * MS,
            held: HeldUp {
                waiting,
                ..HeldUp::default()
            },
            has_holes,
            ..One::default()
        };
        let near = one_facts(Half::Here, Half::Away(Bounds::exactly(0)));
        let ledger = of_one(&call, &near);
        let not_reading = charged(&ledger, Cause::NotReading);
        assert_eq!(not_reading, Some(Bounds::exactly(100 * MS)));
        [Cause::Service, Cause::Unknown].map(|cause| charged(&ledger, cause))
    };
    assert_eq!(served(false), [Some(Bounds::exactly(900 * MS)), None]);
    let all = Some(Bounds::between(0, 900 * MS));
    assert_eq!(served(true), [all, all]);
}

#[test]
fn when_messages_passed_of_which_the_capture_lacks_bytes_nobody_knows() {
    let mut held = Held::default();
    held.add(Direction::ToClient, EpisodeKind::SenderPause, 200 * MS);
    let one = One {
        wait_ns: MS,
        response_passing_ns: 500 * MS,
        held: HeldUp {
            passing: held,
            ..HeldUp::default()
        },
        has_holes: true,
        ..One::default()
    };
    let both = Both {
        response_ns: 501 * MS,
        service_ns: MS,
        transfer_ns: 300 * MS,
        held,
        has_holes: true,
        ..Both::default()
    };
    let near = one_facts(Half::Here, Half::Away(Bounds::exactly(0)));
    for ledger in [of_one(&one, &near), of_both(&both, &both_facts())] {
        let of = |cause| charged(&ledger, cause);
        assert_eq!(of(Cause::NotWriting), Some(Bounds::exactly(200 * MS)));
        assert_eq!(of(Cause::Transfer), Some(Bounds::between(0, 300 * MS)));
        assert_eq!(of(Cause::Unknown), Some(Bounds::between(0, 300 * MS)));
    }
}

/// 100 ms, of which its server worked for 10; what had come to a host was sent again 60 ms later.
#[test]
fn what_a_host_had_and_did_not_take_is_its_own_unless_it_was_damaged() {
    let call = One {
        request_passing_ns: MS,
        wait_ns: 98 * MS,
        response_passing_ns: MS,
        ..One::default()
    };
    let of = |untaken, here: [Half; 2], [request, answer]: [i64; 2]| {
        let facts = OneFacts {
            request_again_ns: request * MS,
            sent_again_ns: answer * MS,
            untaken,
            ..one_facts(here[0], here[1])
        };
        let ledger = of_one(&call, &facts);
        [Cause::Dropped, Cause::Loss].map(|cause| charged(&ledger, cause))
    };
    let (near, far) = (Half::Here, Half::Away(Bounds::between(MS, 2 * MS)));
    let exactly = Some(Bounds::exactly(60 * MS));
    let perhaps = Some(Bounds::between(0, 60 * MS));
    let (client, server) = ([far, near], [near, far]);
    assert_eq!(of(Untaken::Dropped, client, [0, 60]), [exactly, None]);
    assert_eq!(of(Untaken::Lost, client, [0, 60]), [None, exactly]);
    assert_eq!(of(Untaken::Either, client, [0, 60]), [perhaps, perhaps]);
    assert_eq!(of(Untaken::Dropped, server, [60, 0]), [exactly, None]);
    assert_eq!(of(Untaken::Lost, server, [60, 0]), [None, exactly]);
    // Further on it was lost, and may have been lost again.
    let lost = Some(Bounds {
        lo_ns: 60 * MS,
        hi_ns: None,
    });
    assert_eq!(of(Untaken::Dropped, server, [0, 60]), [None, lost]);
}

/// Both captures have the copies that came first: 70 ms beyond the path.
#[test]
fn what_its_receiver_s_capture_has_too_was_not_lost_between_both() {
    let of = |came_twice, untaken| {
        let call = Both {
            response_ns: 100 * MS,
            service_ns: 20 * MS,
            path_ns: 80 * MS,
            lost: Lost::Segments,
            came_twice,
            ..Both::default()
        };
        let facts = BothFacts {
            usual_path_ns: 10 * MS,
            untaken: [Untaken::Lost, untaken],
            ..both_facts()
        };
        let ledger = of_both(&call, &facts);
        [Cause::Dropped, Cause::Loss].map(|cause| charged(&ledger, cause))
    };
    let exactly = Some(Bounds::exactly(70 * MS));
    assert_eq!(of(None, Untaken::Dropped), [None, exactly]);
    let back = Some(Direction::ToClient);
    assert_eq!(of(back, Untaken::Dropped), [exactly, None]);
    assert_eq!(
        of(Some(Direction::ToServer), Untaken::Dropped),
        [None, exactly]
    );
}
