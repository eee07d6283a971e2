//! Requests of generated conversations, and what is told of them.

use super::*;
use crate::sql::tests as sql;
use model::{Call, HiddenResponse, Mark, Name};

const MS: i64 = 1_000_000;

/// Requests from one host to another, each from a time to a time.
#[derive(Default)]
struct Asked(Vec<(Time, Outstanding)>);

impl Asked {
    /// Host `client` asks host `server` from `from` to `to`, in milliseconds.
    fn add(&mut self, hosts: [u8; 2], from: i64, to: i64) {
        self.changes(hosts, [(from, Change::Sent), (to, Change::Settled)]);
    }

    fn changes<const N: usize>(&mut self, [client, server]: [u8; 2], told: [(i64, Change); N]) {
        let end = |host, port| Endpoint {
            address: [10, 0, 0, host].into(),
            port,
        };
        let id = self.0.len() as u32;
        for (at, change) in told {
            let time = Time(at * MS);
            let o = Outstanding {
                order: 0,
                time,
                connection: ConnectionId(u64::from(client) << 8 | u64::from(server)),
                client: end(client, 40_000),
                server: end(server, 2_049),
                id,
                change,
            };
            self.0.push((time, o));
        }
    }

    /// In the order of time: what ends at a moment ends before what begins then.
    fn sort(&mut self) {
        use Change::{Asked, Opened, Sent};
        self.0
            .sort_by_key(|(at, o)| (*at, matches!(o.change, Sent | Asked | Opened)));
    }

    fn told(mut self) -> Vec<Tier> {
        self.sort();
        let mut tiers = Tiers::default();
        tiers.begins(Time(0));
        for (_, o) in &self.0 {
            tiers.change(o);
        }
        tiers.told(self.0.last().map(|(at, _)| *at + 100 * MS))
    }
}

/// So many requests, 100 ms apart, each of 50 ms, with calls of the server's own in 40 of them.
fn nested(n: i64) -> Asked {
    let mut asked = Asked::default();
    for i in 0..n {
        let at = 20 + i * 100;
        for j in 0..4 {
            asked.add([2, 3], at + 1 + j * 10, at + 11 + j * 10);
        }
        asked.add([1, 2], at, at + 50);
    }
    asked
}

/// Calls of the server's own at any time.
fn anytime(asked: &mut Asked, n: i64, ms: i64) {
    let mut state = 7_u64;
    for i in 0..n {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let at = i * 37 + (state >> 33) as i64 % 37;
        asked.add([2, 3], at, at + ms);
    }
}

#[test]
fn calls_that_come_as_a_host_is_asked_and_end_as_it_answers_are_for_that() {
    let told = nested(40).told();
    let [tier] = told.as_slice() else {
        panic!("{told:?}");
    };
    assert_eq!((tier.host, tier.below.port), ([10, 0, 0, 2].into(), 2_049));
    assert_eq!((tier.asked, tier.asks, tier.others), (40, 160, 0));
    assert!(!tier.passes_on());
    // The first call of all has not been seen from its beginning on.
    let beneath = 40 * 40 * MS;
    assert_eq!((tier.least_ns, tier.most_ns), (beneath, beneath));
}

#[test]
fn a_few_requests_may_be_chance() {
    assert!(nested(1).told().is_empty());
    assert!(!nested(20).told().is_empty());
}

#[test]
fn calls_at_any_time_are_for_nobody() {
    let mut asked = Asked::default();
    for i in 0..200 {
        asked.add([1, 2], i * 100, i * 100 + 50);
    }
    anytime(&mut asked, 500, 10);
    assert!(asked.told().is_empty());
}

#[test]
fn what_goes_on_anyway_is_not_counted() {
    let mut asked = nested(200);
    anytime(&mut asked, 500, 5);
    let told = asked.told();
    let tier = told.first().expect("its own calls");
    // An eighth of the time lies beneath them anyway: of 50 ms of each at least 40 less 6.
    let each = tier.least_ns / 200;
    assert!((30 * MS..=40 * MS).contains(&each), "{each}");
    assert!(tier.most_ns >= 200 * 40 * MS);
}

#[test]
fn many_requests_in_one_gap_prove_no_more_than_one() {
    let mut asked = Asked::default();
    for i in 0..100 {
        asked.add([1, 2], 900_000 + i, 900_000 + i + 1);
    }
    asked.add([2, 3], 900_101, 900_111);
    assert!(asked.told().is_empty());
}

#[test]
fn of_several_at_a_time_one_waits_at_least_and_all_at_most() {
    let mut asked = nested(40);
    for i in 0..40 {
        asked.add([4, 2], 21 + i * 100, 68 + i * 100);
    }
    let told = asked.told();
    let tier = told.first().expect("its own calls");
    assert_eq!(tier.least_ns, 40 * 40 * MS);
    assert_eq!(tier.most_ns, 2 * 40 * 40 * MS);
}

#[test]
fn callbacks_are_no_calls_of_a_server_s_own() {
    let mut asked = Asked::default();
    for i in 0..40 {
        let at = 20 + i * 100;
        asked.add([1, 2], at, at + 50);
        asked.add([2, 1], at + 1, at + 49);
    }
    assert!(asked.told().is_empty());
}

#[test]
fn a_server_may_wait_for_names() {
    let mut asked = Asked::default();
    for i in 0..40 {
        let at = 20 + i * 100;
        asked.add([1, 2], at, at + 50);
        asked.changes([2, 3], [(at + 1, Change::Asked), (at + 49, Change::Told)]);
    }
    let told = asked.told();
    let tier = told.first().expect("it looks names up");
    assert_eq!((tier.what, tier.calls), (Asks::Names, 0));
    assert_eq!((tier.asked, tier.asks, tier.names), (40, 40, 40));
    assert_eq!(tier.unanswered, 0);
    let beneath = 40 * 48 * MS;
    assert_eq!((tier.least_ns, tier.most_ns), (beneath, beneath));
}

/// Four clients at a time, each of whose requests waits for a call of the host's own of 40 ms, one of them begun 10 ms
/// after the other.
#[test]
fn who_answers_as_its_call_ends_waited_for_it() {
    let mut asked = Asked::default();
    for i in 0..40 {
        for client in 0..4_u8 {
            let at = 20 + i * 100 + 10 * i64::from(client);
            asked.add([10 + client, 2], at, at + 42);
            asked.add([2, 3], at + 1, at + 41);
        }
    }
    let told = asked.told();
    let tier = told.first().expect("its own calls");
    // Every request but those that were there before the host asked anything.
    assert!(
        (159..=160).contains(&(tier.least_ns / (40 * MS))),
        "{tier:?}"
    );
    assert!(tier.most_ns >= 160 * 40 * MS);
}

/// The same, answered at other moments: one of them waits at least, and no more is known.
#[test]
fn who_answers_at_any_time_may_not_have_waited() {
    let mut state = 3_u64;
    let mut asked = Asked::default();
    for i in 0..60 {
        for client in 0..4_u8 {
            state = (state.wrapping_mul(6_364_136_223_846_793_005)).wrapping_add(1);
            let at = 20 + i * 100 + 10 * i64::from(client);
            asked.add([10 + client, 2], at, at + 45 + (state >> 33) as i64 % 20);
            asked.add([2, 3], at + 1, at + 41);
        }
    }
    let told = asked.told();
    let tier = told.first().expect("its own calls");
    // From the first call's beginning to the last one's end.
    assert!(tier.least_ns <= 60 * 70 * MS, "{tier:?}");
}

/// A standby that is a client of the server whose log it copies.
#[test]
fn a_server_may_wait_for_its_standby() {
    let mut asked = Asked::default();
    for i in 0..40 {
        let at = 20 + i * 100;
        asked.add([1, 2], at, at + 50);
        asked.changes(
            [3, 2],
            [(at + 1, Change::Shipped), (at + 49, Change::Confirmed)],
        );
    }
    let told = asked.told();
    let tier = told.first().expect("it waits for a standby");
    assert_eq!(
        (tier.what, tier.below.address),
        (Asks::Copies, [10, 0, 0, 3].into())
    );
    assert_eq!((tier.asked, tier.asks, tier.calls), (40, 40, 0));
    let beneath = 40 * 48 * MS;
    assert_eq!((tier.least_ns, tier.most_ns), (beneath, beneath));
}

/// A standby that copies what was answered long before is waited for by nobody.
#[test]
fn nobody_waits_for_a_copy_that_goes_on_behind_the_answer() {
    let mut asked = Asked::default();
    for i in 0..200 {
        let at = 20 + i * 100;
        asked.add([1, 2], at, at + 50);
        asked.add([4, 2], at + 40, at + 95);
        asked.changes(
            [3, 2],
            [(at + 51, Change::Shipped), (at + 99, Change::Confirmed)],
        );
    }
    let told = asked.told();
    assert!(told.iter().all(|t| t.least_ns == 0), "{told:?}");
}

/// Of two requests at a time each has a name looked up that nobody answers for.
#[test]
fn nobody_waits_for_a_name_when_all_is_answered() {
    let mut asked = Asked::default();
    for i in 0..40 {
        let at = 20 + i * 100;
        for host in [1, 4] {
            asked.add([host, 2], at, at + 50);
        }
        asked.changes([2, 3], [(at + 1, Change::Asked)]);
        asked.changes([2, 3], [(at + 1, Change::Asked)]);
    }
    let told = asked.told();
    let tier = told.first().expect("it looks names up");
    assert_eq!((tier.names, tier.unanswered), (80, 80));
    let beneath = 40 * 49 * MS;
    assert_eq!((tier.least_ns, tier.most_ns), (beneath, 2 * beneath));
}

/// Connections of 100 ms, whose server looks a name up before it speaks.
fn greeted(n: i64, first: Change) -> Asked {
    let mut asked = Asked::default();
    for i in 0..n {
        let at = 20 + i * 150;
        asked.changes([1, 2], [(at, Change::Opened), (at + 100, first)]);
        asked.changes([2, 3], [(at + 1, Change::Asked), (at + 99, Change::Told)]);
        asked.add([1, 2], at + 101, at + 102);
        // Each is a connection of its own.
        let so_far = asked.0.len();
        for (_, o) in asked
            .0
            .iter_mut()
            .skip(so_far - 6)
            .filter(|(_, o)| o.server.port == 2_049)
        {
            o.connection = ConnectionId(
                (1 << 20) | (i as u64 * 4) | u64::from(o.client.address == IpAddr::from(HOST)),
            );
        }
    }
    asked
}

#[test]
fn who_connects_asks_for_a_greeting_where_the_server_gives_one() {
    let told = greeted(40, Change::Greeted).told();
    let tier = told.first().expect("it looks names up");
    // That it greets is known from the end of the first on.
    assert_eq!((tier.asked, tier.asks), (79, 40));
    assert_eq!(tier.least_ns, 39 * 98 * MS);
    assert_eq!(tier.work_ns, (39 * 100 + 40) * MS);
}

#[test]
fn nobody_waits_for_a_greeting_where_the_client_speaks_first() {
    let told = greeted(40, Change::Ungreeted).told();
    assert!(told.iter().all(|t| t.least_ns == 0), "{told:?}");
}

const HOST: [u8; 4] = [10, 0, 0, 2];

/// Host `client` asks host `server` from `from` to `to`, in milliseconds.
fn call([client, server]: [u8; 2], from: i64, to: i64) -> Call {
    let mark = |ms: i64| {
        Some(Mark {
            time: Time(ms * MS),
            ..Mark::default()
        })
    };
    let end = |host, port| Endpoint {
        address: [10, 0, 0, host].into(),
        port,
    };
    Call {
        protocol: Protocol::Nfs3,
        client: end(client, 40_000),
        server: end(server, 2_049),
        request_first: mark(from),
        request_last: mark(from),
        response_first: mark(to),
        response_last: mark(to),
        ..sql::call(Name::of("READ"), &sql::sql("anybody", None), 0, 0, 0)
    }
}

/// What lies beneath each of these that asks host 2.
fn beneath(calls: &[Call]) -> Vec<Beneath> {
    let mut followed = Followed::new(&[HOST.into()], &[]);
    for (number, call) in (0..).zip(calls) {
        followed.call(call, Some(number));
    }
    let mut told = std::collections::BTreeMap::new();
    followed.told(|number, of| {
        told.insert(number, of.whole);
    });
    let is_asked = |n: &u64| calls[*n as usize].server.address == IpAddr::from(HOST);
    assert!(told.keys().all(is_asked));
    told.into_values().collect()
}

fn exactly(ms: i64) -> Beneath {
    between(ms, ms)
}

fn between(lo: i64, hi: i64) -> Beneath {
    Beneath {
        lo_ns: lo * MS,
        hi_ns: hi * MS,
    }
}

#[test]
fn alone_a_request_waits_for_all_calls_of_the_host_s_own() {
    let mut calls = vec![call([1, 2], 0, 50), call([1, 2], 100, 150)];
    calls.extend((0..4).map(|i| call([2, 3], 1 + 10 * i, 11 + 10 * i)));
    assert_eq!(beneath(&calls), [exactly(40), exactly(0)]);
}

#[test]
fn of_two_at_a_time_one_alone_is_exact_and_the_rest_are_bounds() {
    // 10 to 30 for the first alone, up to 50 perhaps; 30 to 50 perhaps for the second, up to 55 alone.
    let asked = [call([1, 2], 0, 50), call([4, 2], 30, 60)];
    // Two of the host's own, of which one overlaps the other.
    let own = [call([2, 3], 10, 40), call([2, 5], 20, 55)];
    let bounds = [between(20, 40), between(5, 25)];
    assert_eq!(beneath(&[&asked[..], &own].concat()), bounds);
    assert_eq!(beneath(&[&own[..], &asked].concat()), bounds);
}

#[test]
fn what_may_have_been_answered_is_for_nobody_for_certain() {
    let hidden = |mut own: Call, earliest, latest| {
        (own.response_first, own.response_last) = (None, None);
        own.hidden = Some(HiddenResponse {
            earliest: Mark {
                time: Time(earliest * MS),
                ..Mark::default()
            },
            latest: Time(latest * MS),
            held_ns: 0,
        });
        own
    };
    let own = hidden(call([2, 3], 10, 10), 20, 40);
    assert_eq!(
        beneath(&[call([1, 2], 0, 50), own.clone()]),
        [between(10, 30)]
    );
    // Whoever may be there as well leaves nobody alone; nothing is told of how long it took itself.
    let other = hidden(call([4, 2], 5, 5), 12, 15);
    assert_eq!(
        beneath(&[call([1, 2], 0, 50), other, own]),
        [between(5, 30)]
    );
}

#[test]
fn a_name_nobody_answers_for_is_waited_for_at_most_until_the_request_is_answered() {
    let lookup = |at, answered| {
        let mut own = Call {
            protocol: Protocol::Dns,
            ..call([2, 3], at, answered)
        };
        if answered == at {
            (own.response_first, own.response_last) = (None, None);
        }
        own
    };
    let asked = [call([1, 2], 0, 50), call([1, 2], 100, 150)];
    assert_eq!(
        beneath(&[&asked[..], &[lookup(10, 40)]].concat()),
        [exactly(30), exactly(0)]
    );
    assert_eq!(
        beneath(&[&asked[..], &[lookup(10, 10), lookup(60, 60)]].concat()),
        [between(0, 40), exactly(0)]
    );
}

#[test]
fn callbacks_and_turns_lie_beneath_nothing() {
    let asked = call([1, 2], 0, 50);
    let of = |protocol| Call {
        protocol,
        ..call([2, 3], 10, 40)
    };
    for own in [
        call([2, 1], 10, 40),
        of(Protocol::Tcp),
        of(Protocol::NfsCallback),
    ] {
        assert_eq!(beneath(&[asked.clone(), own]), [exactly(0)]);
    }
}

#[test]
fn a_host_may_ask_from_another_address() {
    let back = IpAddr::from([10, 0, 0, 9]);
    let mut followed = Followed::new(&[HOST.into()], &[HOST.into(), back]);
    followed.call(&call([1, 2], 0, 50), Some(0));
    followed.call(&call([9, 3], 10, 40), None);
    followed.told(|_, of| assert_eq!(of.whole, exactly(30)));
}

/// Against what is counted millisecond by millisecond.
#[test]
fn bounds_of_each_and_their_sum() {
    let mut state = 11_u64;
    let mut any = |n: i64| {
        state = (state.wrapping_mul(6_364_136_223_846_793_005)).wrapping_add(1);
        (state >> 33) as i64 % n
    };
    for _ in 0..100 {
        let (mut asked, mut own) = (Vec::new(), Vec::new());
        for _ in 0..40 {
            let from = any(600);
            let to = from + any(30);
            match any(2) {
                0 => asked.push(call([10 + any(3) as u8, 2], from, to)),
                _ => own.push(call([2, 3 + any(3) as u8], from, to)),
            }
        }
        let is_there = |c: &Call, ms: i64| {
            let (first, last) = (c.request_first, c.response_last);
            first.is_some_and(|m| m.time.0 <= ms * MS) && last.is_some_and(|m| ms * MS < m.time.0)
        };
        let there = |of: &[Call], ms: i64| of.iter().filter(|c| is_there(c, ms)).count();
        let ns = |of: &dyn Fn(i64) -> bool| (0..700).filter(|ms| of(*ms)).count() as i64 * MS;
        let told = beneath(&[&own[..], &asked].concat());
        assert_eq!(told.len(), asked.len());
        for (c, b) in asked.iter().zip(&told) {
            assert_eq!(b.hi_ns, ns(&|ms| is_there(c, ms) && there(&own, ms) > 0));
            let alone = |ms| is_there(c, ms) && there(&asked, ms) == 1 && there(&own, ms) > 0;
            assert_eq!(b.lo_ns, ns(&alone));
            assert!(b.lo_ns <= b.hi_ns && Some(b.hi_ns) <= c.response_time_ns());
        }
        let lowest: i64 = told.iter().map(|b| b.lo_ns).sum();
        assert_eq!(
            lowest,
            ns(&|ms| there(&asked, ms) == 1 && there(&own, ms) > 0)
        );
    }
}

/// Two sessions that are both worked on for most of the time, each with a connection of its own to what lies beneath.
#[test]
fn what_passes_on_a_session_s_own_connection_is_that_session_s() {
    let on = |id: u64, call: Call| Call {
        connection: ConnectionId(id),
        ..call
    };
    let mut calls = Vec::new();
    for i in 0..40 {
        let (one, other) = (100 * i, 130 * i + 7);
        calls.push(on(1, call([1, 2], one, one + 90)));
        calls.push(on(2, call([1, 2], other, other + 100)));
        calls.push(on(8, call([2, 3], one + 5, one + 85)));
        calls.push(on(9, call([2, 3], other + 5, other + 65)));
    }
    let told = beneath(&calls);
    let count = |ms| told.iter().filter(|b| **b == exactly(ms)).count();
    assert_eq!([told.len(), count(80), count(60)], [80, 40, 40]);
    // By connections that all take in turn it may have been for either.
    let turns = |c: &Call| match c.connection.0 {
        8 | 9 => on(
            8 + (c.request_first.map_or(0, |m| m.time.0) / (100 * MS)) as u64 % 2,
            c.clone(),
        ),
        _ => c.clone(),
    };
    let told = beneath(&calls.iter().map(turns).collect::<Vec<_>>());
    let unsure = told.iter().filter(|b| b.lo_ns < b.hi_ns).count();
    assert!(unsure >= 60, "{told:?}");
}

/// What of it was waited for, at least, in all.
fn waited_for(calls: &[Call]) -> i64 {
    let mut followed = Followed::new(&[HOST.into()], &[]);
    for (number, call) in (0..).zip(calls) {
        followed.call(call, Some(number));
    }
    let mut ns = 0;
    followed.told(|_, of| ns += of.wait.lo_ns);
    ns / MS
}

#[test]
fn of_a_host_that_never_rests_a_session_s_own_connection_still_tells() {
    let on = |id: u64, call: Call| Call {
        connection: ConnectionId(id),
        ..call
    };
    let mut calls = Vec::new();
    // Six sessions, each of another period, so that one of them always asks.
    for session in 0..6 {
        let period = 100 + 13 * session;
        for i in 0..40 {
            let at = i * period + 11 * session;
            let id = session as u64;
            calls.push(on(id, call([1, 2], at, at + period - 10)));
            calls.push(on(10 + id, call([2, 3], at + 5, at + period - 25)));
        }
    }
    let own: i64 = (0..6).map(|session| 40 * (70 + 13 * session)).sum();
    let waited = waited_for(&calls);
    assert!((own * 9 / 10..=own).contains(&waited), "{waited} of {own}");
    // By connections that all take in turn only the last is known to wait, when it is alone.
    for (i, call) in calls.iter_mut().enumerate() {
        if call.connection.0 >= 10 {
            call.connection = ConnectionId(10 + (i as u64 / 2) % 6);
        }
    }
    let waited = waited_for(&calls);
    assert!(waited <= own / 20, "{waited} of {own}");
}
