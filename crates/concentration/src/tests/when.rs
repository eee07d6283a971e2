//! Streams with a known time.

use super::{MS, Pace, Random, S, has, stream, two_clients};
use crate::{By, Charge, Concentration, Place, Value};

#[test]
fn a_problem_that_begins_or_ends_halfway_says_when() {
    for (slow, named) in [(10..20, "since"), (0..10, "until"), (6..14, "between")] {
        let places = stream(
            20_000,
            Pace::Random(MS),
            8,
            two_clients,
            |at_ns, _, random| {
                let slower = if slow.contains(&(at_ns / S)) {
                    8.0
                } else {
                    1.0
                };
                (slower * random.exponential(1e6)) as i64
            },
        );
        let second = |at_ns: i64| (at_ns - 1_700_000_000 * S) as f64 / S as f64;
        let near = |at_ns: i64, expected: f64| (second(at_ns) - expected).abs() < 0.15;
        let right = match (places[0].value, named) {
            (Value::Since(at), "since") => near(at, 10.0),
            (Value::Until(at), "until") => near(at, 10.0),
            (Value::Between(from, to), "between") => near(from, 6.0) && near(to, 14.0),
            _ => false,
        };
        assert!(right && places.len() == 1, "{named}: {places:?}");
    }
}

#[test]
fn where_those_that_cost_little_are_gone_nothing_has_begun() {
    // Two servers, of which one is slow: always, or from the time on at which the other has nothing to do any more.
    let slow = |begins: bool| {
        stream(
            20_000,
            Pace::Random(MS),
            12,
            |call, random| {
                let server = if call < 6_000 { random.below(2) } else { 1 };
                vec![(By::Server, server)]
            },
            |at_ns, attributes, random| {
                let is_slow = has(attributes, By::Server, 1) && !(begins && at_ns < 6 * S);
                let mean = if is_slow { 30e6 } else { 1e6 };
                random.exponential(mean) as i64
            },
        )
    };
    let is_time = |place: &Place| place.by == By::Time;
    let always = slow(false);
    assert!(always.iter().any(|p| p.value == Value::Of(1)), "{always:?}");
    assert!(!always.iter().any(is_time), "{always:?}");
    assert!(slow(true).iter().any(is_time), "{:?}", slow(true));
}

#[test]
fn a_client_that_waits_for_each_answer_makes_few_calls_while_they_are_slow() {
    let mut random = Random::new(9);
    let mut concentration = Concentration::new(1);
    let mut at_ns = 0;
    while at_ns < 20 * S {
        let mean = if at_ns < 8 * S { 1e6 } else { 1e8 };
        let cost_ns = (random.exponential(mean)) as i64;
        concentration.charge(&Charge {
            at_ns,
            response_ns: cost_ns,
            costs: &[(0, cost_ns)],
            attributes: &[],
            set: 0,
        });
        at_ns += cost_ns;
    }
    let places = concentration.finish(&[0]);
    let [
        Place {
            by: By::Time,
            value: Value::Since(since),
            ..
        },
    ] = places[..]
    else {
        panic!("{places:?}")
    };
    assert!((since - 8 * S).abs() < 200 * MS, "{places:?}");
}

#[test]
fn a_stall_that_comes_back_says_how_often_and_for_how_long() {
    for seconds in [12, 40, 3_600] {
        let places = stream(
            seconds * 200,
            Pace::Random(5 * MS),
            seconds,
            two_clients,
            |at_ns, _, random| {
                // Who asks during the stall waits for its end.
                let into = (at_ns + S) % (2 * S);
                if into < 100 * MS {
                    100 * MS - into
                } else {
                    random.exponential(2e5) as i64
                }
            },
        );
        let [
            Place {
                by: By::Time,
                value:
                    Value::Every {
                        period_ns,
                        for_ns,
                        times,
                    },
                share,
                ..
            },
        ] = places[..]
        else {
            panic!("{places:?}")
        };
        assert!((period_ns - 2 * S).abs() < 20 * MS, "{places:?}");
        assert!((80 * MS..105 * MS).contains(&for_ns), "{places:?}");
        assert!(times.abs_diff(seconds / 2) <= 1, "{places:?}");
        assert!(share > 0.8, "{places:?}");
    }
}

#[test]
fn three_even_gaps_are_a_beat_and_uneven_ones_are_none() {
    let stall = |begins: Vec<i64>| {
        stream(
            4_000,
            Pace::Random(5 * MS),
            11,
            two_clients,
            move |at_ns, _, random| {
                let in_stall = begins
                    .iter()
                    .find(|begin| (**begin..**begin + 100 * MS).contains(&at_ns));
                in_stall.map_or(random.exponential(2e5) as i64, |begin| {
                    begin + 100 * MS - at_ns
                })
            },
        )
    };
    assert_eq!(stall(vec![S, 3 * S, 5 * S + 200 * MS, 7 * S]), []);
    assert_eq!(stall(vec![S, 3 * S, 5 * S]), []);
    assert_eq!(
        stall(
            [10, 14, 33, 71, 76, 95, 120, 122, 150, 188]
                .map(|tenth| tenth * 100 * MS)
                .to_vec()
        ),
        []
    );
    for stalls in [4, 10] {
        let even = stall((1..=stalls).map(|second| second * 2 * S).collect());
        assert!(
            matches!(
                even[..],
                [Place {
                    value: Value::Every { .. },
                    ..
                }]
            ),
            "{even:?}"
        );
    }
}

#[test]
fn who_only_worked_while_all_was_slow_is_not_to_blame() {
    let shift = |call: u64, random: &mut Random| {
        vec![(By::Client, if call < 5_000 { 0 } else { random.below(2) })]
    };
    let places = stream(10_000, Pace::Random(MS), 16, shift, |at_ns, _, random| {
        (if at_ns < 5 * S { 1.0 } else { 30.0 } * random.exponential(1e6)) as i64
    });
    assert!(
        places.iter().all(|place| place.by == By::Time) && !places.is_empty(),
        "{places:?}"
    );
}

#[test]
fn a_client_that_is_slow_since_a_moment_is_told_with_the_moment() {
    let places = stream(
        10_000,
        Pace::Random(MS),
        22,
        two_clients,
        |at_ns, attributes, random| {
            let slower = if at_ns > 6 * S && has(attributes, By::Client, 0) {
                20.0
            } else {
                1.0
            };
            (slower * random.exponential(1e6)) as i64
        },
    );
    assert!(
        matches!(
            places[..],
            [
                Place {
                    by: By::Client,
                    value: Value::Of(0),
                    ..
                },
                Place {
                    by: By::Time,
                    value: Value::Since(_),
                    ..
                }
            ]
        ),
        "{places:?}"
    );
}

#[test]
fn who_asks_at_a_steady_beat_and_always_waits_is_named_without_the_beat() {
    let clients =
        |call: u64, _: &mut Random| vec![(By::Client, u64::from(call.is_multiple_of(25)))];
    let places = stream(
        4_000,
        Pace::Steady(5 * MS),
        23,
        clients,
        |_, attributes, random| match has(attributes, By::Client, 1) {
            true => 20 * MS,
            false => random.exponential(2e5) as i64,
        },
    );
    assert!(
        matches!(
            places[..],
            [Place {
                by: By::Client,
                value: Value::Of(1),
                ..
            }]
        ),
        "{places:?}"
    );
}
