//! Requests of generated conversations, and what is told of them.

use super::*;

const MS: i64 = 1_000_000;

/// Requests from one host to another, each from a time to a time.
#[derive(Default)]
struct Asked(Vec<(Time, Outstanding)>);

impl Asked {
    /// Host `client` asks host `server` from `from` to `to`, in milliseconds.
    fn add(&mut self, [client, server]: [u8; 2], from: i64, to: i64) {
        let end = |host, port| Endpoint {
            address: [10, 0, 0, host].into(),
            port,
        };
        let id = self.0.len() as u32;
        for (at, change) in [(from, Change::Sent), (to, Change::Settled)] {
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
        self.0
            .sort_by_key(|(at, o)| (*at, o.change == Change::Sent));
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

/// What lies beneath each request to host 2, in the order in which they were answered: from when to when it was there, and
/// how long of that the host's own calls were under way.
fn beneath(mut asked: Asked) -> Vec<([Time; 2], Beneath)> {
    asked.sort();
    let mut tiers = Tiers::default();
    let host = IpAddr::from([10, 0, 0, 2]);
    tiers.follow(&[host]);
    let mut sent = std::collections::BTreeMap::new();
    let mut all = Vec::new();
    for (at, o) in &asked.0 {
        tiers.change(o);
        if o.change == Change::Sent {
            sent.insert(o.id, *at);
            continue;
        }
        let key = (o.connection, o.id);
        let of = tiers.beneath(key);
        assert_eq!(of.is_some(), o.server.address == host);
        all.extend(of.map(|of| ([sent[&o.id], *at], of)));
        assert_eq!(tiers.beneath(key), None, "it is told once");
    }
    all
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
    let each: Vec<Beneath> = beneath(nested(3)).into_iter().map(|(_, b)| b).collect();
    assert_eq!(each, [exactly(40); 3]);
}

#[test]
fn of_two_at_a_time_one_alone_is_exact_and_the_rest_are_bounds() {
    let mut asked = Asked::default();
    asked.add([1, 2], 0, 50);
    asked.add([4, 2], 30, 60);
    // Two of the host's own, of which one overlaps the other.
    asked.add([2, 3], 10, 40);
    asked.add([2, 3], 20, 55);
    let each: Vec<Beneath> = beneath(asked).into_iter().map(|(_, b)| b).collect();
    // 10 to 30 for the first alone, up to 50 perhaps; 30 to 50 perhaps for the second, up to 55 alone.
    assert_eq!(each, [between(20, 40), between(5, 25)]);
}

#[test]
fn before_a_host_has_asked_anything_nothing_lies_beneath() {
    let mut asked = Asked::default();
    asked.add([1, 2], 0, 10);
    asked.add([1, 2], 20, 30);
    asked.add([2, 3], 22, 25);
    let each: Vec<Beneath> = beneath(asked).into_iter().map(|(_, b)| b).collect();
    assert_eq!(each, [exactly(0), exactly(3)]);
}

/// Against what is counted millisecond by millisecond.
#[test]
fn bounds_of_each_and_their_sum() {
    let mut state = 11_u64;
    let mut any = |n: i64| {
        state = (state.wrapping_mul(6_364_136_223_846_793_005)).wrapping_add(1);
        (state >> 33) as i64 % n
    };
    for _ in 0..50 {
        let mut asked = Asked::default();
        let mut spans = [Vec::new(), Vec::new()];
        for _ in 0..40 {
            let own = any(2);
            let from = any(600);
            let to = from + 1 + any(30);
            let ends = match own {
                1 => [2, 3 + any(3) as u8],
                _ => [10 + any(3) as u8, 2],
            };
            asked.add(ends, from, to);
            spans[own as usize].push((from, to));
        }
        let at =
            |of: &[(i64, i64)], ms: i64| of.iter().filter(|(a, b)| *a <= ms && ms < *b).count();
        let told = beneath(asked);
        let mut lowest = 0;
        for ([from, to], b) in &told {
            let ms = |t: &Time| t.0 / MS;
            let called = (ms(from)..ms(to)).filter(|ms| at(&spans[1], *ms) > 0);
            assert_eq!(b.hi_ns, called.count() as i64 * MS);
            assert!(0 <= b.lo_ns && b.lo_ns <= b.hi_ns && b.hi_ns <= *to - *from);
            lowest += b.lo_ns;
        }
        let alone = |ms: &i64| at(&spans[0], *ms) == 1 && at(&spans[1], *ms) > 0;
        assert_eq!(lowest, (0..700).filter(alone).count() as i64 * MS);
    }
}

#[test]
fn what_is_not_asked_about_makes_room() {
    let mut calls = Calls::default();
    let nobody = Endpoint {
        address: [0; 4].into(),
        port: 0,
    };
    let change = |id, change| Outstanding {
        order: 0,
        time: Time(0),
        connection: ConnectionId(1),
        client: nobody,
        server: nobody,
        id,
        change,
    };
    let sums = Beneath::default();
    for id in 0..3 * limits::TIER_CALLS as u32 {
        calls.change(&change(id, Change::Sent), sums);
        calls.change(&change(id, Change::Settled), sums);
    }
    let last = 3 * limits::TIER_CALLS as u32 - 1;
    assert_eq!(calls.take((ConnectionId(1), last)), Some(sums));
    assert_eq!(calls.take((ConnectionId(1), 0)), None);
}
