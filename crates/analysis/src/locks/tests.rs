//! Sessions of databases that hold locks, turns of what is not known, and clients of SMB that have files.

use super::*;
use crate::capture_facts::CaptureFacts;
use crate::sql::tests::{call, sql};
use model::{Field, Name};

mod broken_off;

const MS: i64 = 1_000_000;
const HOLDER: u64 = 1;
const WAITER: u64 = 2;
const CHANGE: &str = "update stock set n = 1 where id = 7";

/// A call of a connection from `from` on, which the server has from 1 ms later for `wait`.
fn of(connection: u64, op: Name, text: &str, from: i64, wait: i64) -> Call {
    Call {
        connection: ConnectionId(connection),
        ..call(op, &sql("ann", Some(text)), from, wait, 0)
    }
}

/// One session changes a row, thinks from 14 to 100 ms, works from 101 on for `works` more, and commits from
/// 200 ms on for 1 ms; another wants to change `text` from 21 ms on, and has it `until`. Who asks again does so
/// after 6 ms at least.
fn waited(works: i64, text: &str, until: i64) -> i64 {
    waits(works, text, until).map_or(0, |wait| wait.ns / MS)
}

fn waits(works: i64, text: &str, until: i64) -> Option<LockWait> {
    let mut capture = CaptureFacts::default();
    let waits = of(WAITER, op::EXECUTE, text, 20, until - 21);
    for call in [
        of(HOLDER, op::BEGIN, "begin", 0, 1),
        of(HOLDER, op::EXECUTE, CHANGE, 10, 1),
        of(HOLDER, op::EXECUTE, "select 1", 100, 1 + works),
        of(HOLDER, op::COMMIT, "commit", 200, 1),
    ] {
        // Whether or not anybody asked for them: what is asked for may be one client's, or a moment's.
        capture.beside(&call);
    }
    let mut locks = capture.locks;
    locks.call(&waits);
    let at = |ms: i64| Time(ms * MS);
    let wait = locks.waited(
        waits.server,
        waits.connection,
        work_of(&waits),
        (at(21), at(until)),
        &mut Coincidences::default(),
    );
    // The commit's request.
    wait.inspect(|wait| assert_eq!(wait.let_go.unwrap().time.0 / MS, 201))
}

#[test]
fn who_is_answered_as_a_transaction_on_the_same_table_ends_may_have_waited_for_it() {
    assert_eq!(waited(0, CHANGE, 203), 170);
    assert_eq!(waited(0, "delete from stock where id = 8", 203), 170);
}

#[test]
fn what_the_server_works_for_the_holder_is_its_own() {
    assert_eq!(waited(90, CHANGE, 203), 170 - 90);
}

#[test]
fn a_way_on_which_nothing_is_worked_is_a_pause_and_no_thought() {
    // All of it until the commit came: the 182 ms of both pauses are more than that.
    let wait = waits(0, CHANGE, 203).expect("a wait");
    assert_eq!((wait.paused_ns / MS, wait.ns / MS), (180, 170));
    let mut all = LockWaits::default();
    all.add(7, 182 * MS, &wait);
    all.add(0, 182 * MS, &wait);
    assert_eq!((all.calls, all.paused_ns), (1, wait.paused_ns));
}

#[test]
fn other_tables_and_other_moments_are_no_locks() {
    assert_eq!(waited(0, "update bin set n = 1", 203), 0);
    assert_eq!(waited(0, "select n from stock", 203), 0);
    // 204 ms: the commit is answered; 5 ms later who waited for it runs.
    assert_eq!(waited(0, CHANGE, 209), 170);
    assert_eq!(waited(0, CHANGE, 210), 0);
    assert_eq!(waited(0, CHANGE, 190), 0);
}

/// Turns of a protocol that is not known: one session asks on every 100 ms, and another's answers come `later` ms
/// after that, having been asked for 60 ms before. What its waits may have been for, all together in ms.
fn turns(later: impl Fn(i64) -> i64) -> i64 {
    let mut locks = Locks::default();
    let turn = |connection, from, wait| Call {
        protocol: model::Protocol::Tcp,
        sql: None,
        ..of(connection, op::TURN, "", from, wait)
    };
    // Once it asks on at once: so little the path takes.
    locks.call(&turn(HOLDER, -10, 1));
    // Of another session, whose turns are known earlier, and tell nothing.
    for i in 0..40 {
        locks.call(&turn(HOLDER + WAITER, i * 97 + 50, 1));
    }
    for i in 0..40 {
        locks.call(&turn(HOLDER, i * 100, 1));
    }
    let (mut chance, mut waited) = (Coincidences::default(), Vec::new());
    for i in 1..39 {
        let until = i * 100 + 1 + later(i);
        let span = [until - 60, until].map(|ms| Time(ms * MS));
        let (server, waiter) = (turn(WAITER, 0, 1).server, ConnectionId(WAITER));
        let wait = locks.waited(server, waiter, 0, (span[0], span[1]), &mut chance);
        waited.extend(wait.map(|w| w.ns));
    }
    let told = waited.iter().map(|&ns| chance.judged(0, ns, ns).0);
    told.sum::<i64>() / MS
}

#[test]
fn answers_of_an_unknown_protocol_that_come_as_others_ask_on_may_have_waited_for_them() {
    // Each of its 60 ms but for the last three.
    let told = turns(|_| 3);
    assert_eq!(told, 38 * 57);
}

#[test]
fn answers_of_an_unknown_protocol_that_come_at_any_time_have_not() {
    assert_eq!(turns(|i| i * 37 % 97), 0);
    // Nor do a few tell.
    assert_eq!(turns(|i| if i < 8 { 3 } else { 50 }), 0);
}

/// A call of SMB on a file, or on a byte of it, from `from` on for `took` ms; what a server asks back goes the other way.
fn smb(connection: u64, op: &str, from: i64, took: i64) -> Call {
    let op = Name::of(op);
    let base = of(connection, op, "", from, took);
    let (protocol, client, server) = match op.as_str() {
        "OPLOCK_BREAK" => (Protocol::Smb2Callback, base.server, base.client),
        _ => (Protocol::Smb2, base.client, base.server),
    };
    let mut detail = model::Detail::default();
    detail.set(Field::File, 7);
    if op.as_str().ends_with("LOCK") {
        detail.set(Field::Offset, 0);
        detail.set(Field::Count, 1);
    }
    Call {
        protocol,
        client,
        server,
        detail,
        sql: None,
        ..base
    }
}

/// What of a wait from 20 ms on until then was one for a file, behind what others did before; the server had said that
/// it would answer later.
fn file_waits(before: &[Call], op: &str, until: i64) -> Option<(i64, i64)> {
    let mut locks = Locks::default();
    before.iter().for_each(|call| locks.call(call));
    let mut waits = smb(WAITER, op, 20, until - 20);
    waits.detail.set(Field::Pending, 1);
    locks.call(&waits);
    let at = |ms: i64| Time(ms * MS);
    let (mut chance, work) = (Coincidences::default(), work_of(&waits));
    let span = (at(20), at(until));
    let wait = locks.waited(waits.server, waits.connection, work, span, &mut chance)?;
    let (most, sure) = chance.judged(work, wait.ns, wait.chain_ns);
    Some((most / MS, sure / MS))
}

#[test]
fn who_locks_what_another_has_locked_waits_for_that() {
    let held = [
        smb(HOLDER, "CREATE", 0, 1),
        smb(HOLDER, "LOCK", 5, 1),
        smb(HOLDER, "UNLOCK", 100, 1),
    ];
    // From then on until the holder asks to let go.
    assert_eq!(file_waits(&held, "LOCK", 104), Some((84, 81)));
    // Long after that it waited for something else, or for somebody who is not seen.
    assert_eq!(file_waits(&held, "LOCK", 120), Some((100, 0)));
    // What the server works for the holder meanwhile is no thought.
    let busy = [&held[..2], &[smb(HOLDER, "READ", 10, 80)], &held[2..]].concat();
    assert!(file_waits(&busy, "LOCK", 104).is_some_and(|(_, sure)| sure < 15));
    // Closing lets go as well.
    let closed = [&held[..2], &[smb(HOLDER, "CLOSE", 100, 1)]].concat();
    assert_eq!(file_waits(&closed, "LOCK", 104), Some((84, 81)));
}

#[test]
fn who_opens_what_the_server_asks_another_to_give_back_waits_for_that() {
    let asked = [
        smb(HOLDER, "CREATE", 0, 1),
        smb(HOLDER, "QUERY_INFO", 6, 1),
        smb(HOLDER, "OPLOCK_BREAK", 21, 70),
    ];
    // But for 2 ms, in which the holder asked again before: so long its path may take.
    assert_eq!(file_waits(&asked, "CREATE", 95), Some((75, 70)));
    assert_eq!(file_waits(&asked, "CREATE", 100), Some((80, 0)));
    assert_eq!(file_waits(&asked[..2], "CREATE", 95), Some((75, 0)));
    // What it writes back first is the server's work, and how far away it is nobody knows that never asked again.
    let writes = [&asked[..2], &[smb(HOLDER, "WRITE", 25, 60)], &asked[2..]].concat();
    assert!(file_waits(&writes, "CREATE", 95).is_some_and(|(_, sure)| sure < 10));
    let once = [asked[0].clone(), asked[2].clone()];
    assert_eq!(file_waits(&once, "CREATE", 95), Some((75, 0)));
}

#[test]
fn what_was_not_promised_for_later_waited_for_nobody() {
    let held = [
        smb(HOLDER, "CREATE", 0, 1),
        smb(HOLDER, "LOCK", 5, 1),
        smb(HOLDER, "UNLOCK", 100, 1),
    ];
    let mut locks = Locks::default();
    held.iter().for_each(|call| locks.call(call));
    let waits = smb(WAITER, "LOCK", 20, 84);
    let span = (Time(20 * MS), Time(104 * MS));
    let wait = |call: &Call| {
        let chance = &mut Coincidences::default();
        locks.waited(call.server, call.connection, work_of(call), span, chance)
    };
    assert!(wait(&waits).is_none());
    // One that must not wait is refused.
    let refused = Call {
        outcome: model::Outcome::Error("LOCK_NOT_GRANTED"),
        ..waits
    };
    assert_eq!(work_of(&refused), 0);
}

/// Three sessions of which each changes the same row, thinks for 96 ms and commits, `times` times; each asks for it as
/// soon as it can, and has it as the one before lets go. The waits of the last: in all, and what is judged of them.
fn turns_about(times: i64) -> (i64, (i64, i64)) {
    let (mut locks, mut waits) = (Locks::default(), Vec::new());
    for n in 0..3 * times {
        let (session, at) = (1 + n as u64 % 3, n * 100);
        let asked = (at - 199).max(0);
        locks.call(&of(session, op::EXECUTE, CHANGE, asked, at - asked));
        locks.call(&of(session, op::COMMIT, "commit", at + 97, 1));
        waits.push((session, asked + 1, at + 1));
    }
    let known = of(3, op::EXECUTE, CHANGE, 0, 1);
    let mut chance = Coincidences::default();
    let mut last = (0, 0, 0);
    for (session, from, to) in waits.into_iter().skip(2) {
        let at = |ms: i64| Time(ms * MS);
        let connection = ConnectionId(session);
        let work = work_of(&known);
        let span = (at(from), at(to));
        if let Some(wait) = locks.waited(known.server, connection, work, span, &mut chance) {
            last = ((to - from) * MS, wait.ns, wait.chain_ns);
        }
    }
    let (waited, ns, chain_ns) = last;
    let (most, sure) = chance.judged(work_of(&known), ns, chain_ns);
    (waited / MS, (most / MS, sure / MS))
}

#[test]
fn who_lets_go_for_whom_is_followed_back_and_beyond_chance_it_is_certain() {
    let (waited, (most, sure)) = turns_about(8);
    assert_eq!(waited, 199);
    assert!((180..=198).contains(&most) && sure == most, "{most} {sure}");
    // A few may be chance.
    let (_, (most, sure)) = turns_about(3);
    assert!(most > 170 && sure == 0, "{most} {sure}");
}

/// A call that the server breaks off with this code.
fn broken_off(connection: u64, from: i64, wait: i64, code: &str) -> Call {
    Call {
        outcome: model::Outcome::Code(model::Code::public(code)),
        ..of(connection, op::EXECUTE, CHANGE, from, wait)
    }
}

#[test]
fn a_server_that_breaks_a_call_off_for_a_lock_says_that_it_waited_and_not_for_whom() {
    let judged = |calls: &[Call], code: &str| {
        let mut capture = CaptureFacts::default();
        let waits = broken_off(WAITER, 20, 100, code);
        let mut calls: Vec<&Call> = calls.iter().chain([&waits]).collect();
        calls.sort_by_key(|call| call.response_last.unwrap().time);
        calls.iter().for_each(|call| capture.beside(call));
        let span = (Time(21 * MS), Time(121 * MS));
        let chance = &mut Coincidences::default();
        let work = work_of(&waits);
        let wait = (capture.locks).waited(waits.server, waits.connection, work, span, chance);
        wait.map(|wait| chance.judged(work, wait.ns / MS, wait.chain_ns / MS))
    };
    assert_eq!(judged(&[], "55P03"), Some((100, 0)));
    assert_eq!(judged(&[], "40P01"), Some((100, 0)));
    // Whoever is seen to have the table may have other rows.
    let holds = [
        of(HOLDER, op::LOGON, "", 0, 0),
        of(HOLDER, op::BEGIN, "begin", 1, 0),
        of(HOLDER, op::EXECUTE, CHANGE, 8, 0),
        of(HOLDER, op::COMMIT, "commit", 300, 0),
    ];
    assert_eq!(judged(&holds, "ER-1205"), Some((100, 0)));
    // A limit of time is a lock's only where somebody had it.
    assert_eq!(judged(&holds, "57014"), Some((100, 0)));
    assert_eq!(judged(&[], "57014"), None);
}

#[test]
fn who_is_never_answered_may_wait_for_a_transaction_that_is_still_open() {
    let still = |calls: &[Call], text: &str| {
        let mut capture = CaptureFacts::default();
        calls.iter().for_each(|call| capture.beside(call));
        let asked = Call {
            response_first: None,
            response_last: None,
            outcome: model::Outcome::NoResponse(model::Reason::AfterCapture),
            ..of(HOLDER, op::EXECUTE, "select 1", 300, 0)
        };
        let held = |locks: &Locks| {
            let waits = of(WAITER, op::EXECUTE, text, 20, 0);
            let life = (Time(21 * MS), Time(521 * MS));
            locks.still_held_ns(waits.server, waits.connection, work_of(&waits), life) / MS
        };
        // And once its session has asked for something itself.
        let quiet = held(&capture.locks);
        capture.locks.unanswered(&asked);
        [quiet, held(&capture.locks)]
    };
    let holds = [
        of(HOLDER, op::LOGON, "", 0, 0),
        of(HOLDER, op::BEGIN, "begin", 1, 0),
        of(HOLDER, op::EXECUTE, CHANGE, 18, 100),
    ];
    // From 121 ms on.
    assert_eq!(still(&holds, CHANGE), [400, 179]);
    assert_eq!(still(&holds, "update other set n = 2"), [0, 0]);
    let ended = [&holds[..], &[of(HOLDER, op::COMMIT, "commit", 200, 0)]].concat();
    // Until then it was held.
    assert_eq!(still(&ended, CHANGE), [80, 80]);
    // After an error it may go on from a savepoint.
    let failed = [&holds[..], &[broken_off(HOLDER, 130, 1, "23505")]].concat();
    assert_eq!(still(&failed, CHANGE), [400, 179]);
    // Each statement may have been a transaction of its own.
    assert_eq!(still(&[&holds[..1], &holds[2..]].concat(), CHANGE), [0, 0]);
    // But not of a session that ends what it has not begun.
    let by_itself = [
        &holds[..1],
        &[of(HOLDER, op::COMMIT, "commit", 1, 0)],
        &holds[2..],
    ]
    .concat();
    assert_eq!(still(&by_itself, CHANGE), [400, 179]);
    // Who asks later, and is over before, had something else.
    let later = [
        of(HOLDER, op::EXECUTE, CHANGE, 118, 0),
        of(HOLDER, op::COMMIT, "commit", 200, 0),
    ];
    assert_eq!(still(&[&holds[..2], &later].concat(), CHANGE), [0, 0]);
}

/// Who changes what a table is waits for everybody, and everybody for him.
#[test]
fn readers_wait_behind_a_change_of_the_table_for_whoever_has_read_it() {
    const DEFINER: u64 = 3;
    let reads = "select n from stock";
    let alter = of(DEFINER, op::EXECUTE, "alter table stock add c int", 30, 171);
    let reader = of(WAITER, op::EXECUTE, reads, 40, 162);
    let holds = [
        of(HOLDER, op::LOGON, "", 0, 0),
        of(HOLDER, op::BEGIN, "begin", 1, 0),
        of(HOLDER, op::EXECUTE, reads, 8, 0),
        of(HOLDER, op::COMMIT, "commit", 200, 0),
    ];
    let waited = |calls: &[&Call], waits: &Call| {
        let mut capture = CaptureFacts::default();
        let mut calls: Vec<&Call> = calls.to_vec();
        calls.sort_by_key(|call| call.response_last.unwrap().time);
        calls.iter().for_each(|call| capture.beside(call));
        let span = (
            waits.request_last.unwrap().time,
            waits.response_first.unwrap().time,
        );
        let chance = &mut Coincidences::default();
        let work = work_of(waits);
        let wait = (capture.locks).waited(waits.server, waits.connection, work, span, chance);
        wait.map_or(0, |wait| wait.ns / MS)
    };
    let all: Vec<&Call> = holds.iter().chain([&alter, &reader]).collect();
    // The holder thought from 11 to 200 ms; the reader came 41 ms after the beginning, and nobody asks again before 5 ms.
    let both = [waited(&all, &alter), waited(&all, &reader)];
    assert!(
        (155..=170).contains(&both[0]) && (150..=160).contains(&both[1]),
        "{both:?}"
    );
    // Who is answered while that still waits was not behind it.
    let early = of(4, op::EXECUTE, reads, 40, 60);
    let with_early: Vec<&Call> = holds.iter().chain([&alter, &early]).collect();
    assert_eq!(waited(&with_early, &early), 0);
    // Readers do not keep each other away.
    let without: Vec<&Call> = holds.iter().chain([&reader]).collect();
    assert_eq!(waited(&without, &reader), 0);
}

#[test]
fn a_connection_that_is_closed_holds_nothing() {
    let mut capture = CaptureFacts::default();
    for call in [
        of(HOLDER, op::LOGON, "", 0, 0),
        of(HOLDER, op::BEGIN, "begin", 1, 0),
        of(HOLDER, op::EXECUTE, CHANGE, 8, 0),
    ] {
        capture.beside(&call);
    }
    let waits = of(WAITER, op::EXECUTE, CHANGE, 20, 160);
    capture.beside(&waits);
    let mut locks = capture.locks;
    let at = |ms: i64| Time(ms * MS);
    let still = |locks: &Locks| {
        let work = work_of(&waits);
        locks.still_held_ns(waits.server, waits.connection, work, (at(21), at(521))) / MS
    };
    assert_eq!(still(&locks), 500);
    let mut connection = crate::sql::tests::connection();
    (connection.id, connection.last.time) = (ConnectionId(HOLDER), at(180));
    // The end of the capture is none of the connection.
    connection.close = Close::EndOfCapture;
    locks.closed(&connection);
    assert_eq!(still(&locks), 500);
    connection.close = Close::Reset;
    locks.closed(&connection);
    assert_eq!(still(&locks), 159);
    // And who waited for it was let go then.
    let chance = &mut Coincidences::default();
    let life = (at(21), at(181));
    let work = work_of(&waits);
    let wait = locks.waited(waits.server, waits.connection, work, life, chance);
    let wait = wait.unwrap();
    assert_eq!((wait.ns / MS, wait.let_go.unwrap().time), (159, at(180)));
}

#[test]
fn who_is_answered_as_another_is_broken_out_of_a_deadlock_may_have_waited_for_that_as_long() {
    let mut capture = CaptureFacts::default();
    let waits = of(WAITER, op::EXECUTE, CHANGE, 20, 103);
    for call in [
        of(HOLDER, op::LOGON, "", 0, 0),
        of(HOLDER, op::BEGIN, "begin", 1, 0),
        of(HOLDER, op::EXECUTE, CHANGE, 8, 0),
        broken_off(HOLDER, 15, 103, "40P01"),
    ] {
        capture.beside(&call);
    }
    capture.beside(&waits);
    let span = (Time(21 * MS), Time(124 * MS));
    let chance = &mut Coincidences::default();
    let work = work_of(&waits);
    let wait = (capture.locks).waited(waits.server, waits.connection, work, span, chance);
    let wait = wait.unwrap();
    // Its client thought for 4 ms before it waited itself.
    assert_eq!((wait.ns / MS, wait.chain_ns / MS), (98, 4));
}

/// One session asks for a lock by its name at 10 ms, thinks, and from 200 ms on lets go; another asks for it from 20 ms on and
/// has it `until`.
fn waits_for_a_name(first: &[&str], until: i64) -> Option<LockWait> {
    const ASKS: &str = "select pg_advisory_lock(7)";
    let mut locks = Locks::default();
    for (i, text) in first.iter().enumerate() {
        let from = [10, 200, 210][i];
        locks.call(&of(HOLDER, op::EXECUTE, text, from, 1));
    }
    let waits = of(WAITER, op::EXECUTE, ASKS, 20, until - 21);
    locks.call(&waits);
    let life = [21, until].map(|ms| Time(ms * MS));
    let chance = &mut Coincidences::default();
    locks.waited(
        waits.server,
        waits.connection,
        work_of(&waits),
        (life[0], life[1]),
        chance,
    )
}

#[test]
fn who_asks_for_a_lock_by_its_name_waits_for_whoever_has_it_seen_or_not() {
    let told = |first: &[&str], until| {
        let wait = waits_for_a_name(first, until).expect("a wait");
        let at = wait.let_go.map(|mark| mark.time.0 / MS);
        (wait.ns / MS, at)
    };
    let [takes, lets_go] = ["select pg_advisory_lock(7)", "select pg_advisory_unlock(7)"];
    assert_eq!(told(&[takes, lets_go], 203), (182, Some(201)));
    // Of several it is not known of which it lets go.
    assert_eq!(told(&[takes, takes, lets_go], 213), (192, Some(211)));
    // Nobody is seen, or nobody lets go then.
    assert_eq!(told(&[], 203), (182, None));
    assert_eq!(told(&[takes, lets_go], 300), (279, None));
    let mut all = LockWaits::default();
    let work = work_of(&of(WAITER, op::EXECUTE, takes, 20, 1));
    for first in [&[takes, lets_go][..], &[]] {
        all.add(
            work,
            182 * MS,
            &waits_for_a_name(first, 203).expect("a wait"),
        );
    }
    assert_eq!((all.calls, all.asked, all.unseen), (0, 2, 1));
    // What is had at once was nobody's.
    assert!(waits_for_a_name(&[], 21).is_none());
}

#[test]
fn a_lock_of_a_session_outlasts_its_transaction_and_one_of_a_transaction_does_not() {
    let held = |text: &str, ends: &str, wants: &str| {
        let mut locks = Locks::default();
        for (text, op, from) in [
            ("begin", op::BEGIN, 5),
            (text, op::EXECUTE, 10),
            ("commit", op::COMMIT, 100),
            (ends, op::EXECUTE, 200),
        ] {
            locks.call(&of(HOLDER, op, text, from, 1));
        }
        let waits = of(WAITER, op::EXECUTE, wants, 20, 182);
        locks.call(&waits);
        let life = (Time(21 * MS), Time(203 * MS));
        let chance = &mut Coincidences::default();
        let wait = locks.waited(
            waits.server,
            waits.connection,
            work_of(&waits),
            life,
            chance,
        );
        wait.and_then(|wait| Some(wait.let_go?.time.0 / MS))
    };
    let [named, change] = ["select get_lock('a', 9)", "update stock set n = 1"];
    assert_eq!(held(named, "do release_lock('a')", named), Some(201));
    assert_eq!(
        held("lock tables stock write", "unlock tables", change),
        Some(201)
    );
    assert_eq!(
        held("flush tables with read lock", "unlock tables", change),
        Some(201)
    );
    assert_eq!(
        held("flush tables with read lock", "unlock tables", "commit"),
        Some(201)
    );
    // Who only reads goes on, who names a lock, and who keeps all tables from being changed as well.
    let flush = "flush tables with read lock";
    assert_eq!(held(flush, "unlock tables", flush), None);
    let read = "select n from stock";
    assert_eq!(
        held("flush tables with read lock", "unlock tables", read),
        None
    );
    assert_eq!(
        held("flush tables with read lock", "unlock tables", named),
        None
    );
    assert_eq!(held("lock tables bin write", "unlock tables", change), None);
    assert_eq!(
        held("select pg_advisory_xact_lock(7)", "select 1", named),
        None
    );
}
