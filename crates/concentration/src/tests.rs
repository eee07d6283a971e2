//! Streams of calls with a known place, and without one.

use crate::course::Cell;
use crate::values::{VALUES, Values};
use crate::{By, Charge, Concentration, Place, Value};

const MS: i64 = 1_000_000;
const S: i64 = 1_000 * MS;

/// Random numbers that are the same on each machine (xorshift64*).
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Random {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        (0..8).for_each(|_| {
            random.next();
        });
        random
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    /// Evenly in (0, 1].
    fn unit(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }

    fn exponential(&mut self, mean: f64) -> f64 {
        -mean * self.unit().ln()
    }

    fn pareto(&mut self, least: f64, alpha: f64) -> f64 {
        least / self.unit().powf(1.0 / alpha)
    }

    fn lognormal(&mut self, median: f64, sigma: f64) -> f64 {
        let angle = std::f64::consts::TAU * self.unit();
        median * (sigma * (-2.0 * self.unit().ln()).sqrt() * angle.cos()).exp()
    }

    /// One of n, of which each is a bit rarer than the one before.
    fn uneven(&mut self, n: u64) -> u64 {
        let drawn = self.unit() * self.unit();
        ((drawn * n as f64) as u64).min(n - 1)
    }
}

/// When the next call comes: after so long, exactly or on the average.
#[derive(Clone, Copy)]
enum Pace {
    Steady(i64),
    Random(i64),
}

/// Calls of which each costs what `cost` says, with `attributes` each.
fn stream(
    calls: u64,
    pace: Pace,
    seed: u64,
    attributes: impl Fn(u64, &mut Random) -> Vec<(By, u64)>,
    mut cost: impl FnMut(i64, &[(By, u64)], &mut Random) -> i64,
) -> Vec<Place> {
    let mut random = Random::new(seed);
    let mut concentration = Concentration::new(1);
    let mut at_ns = 1_700_000_000 * S;
    for call in 0..calls {
        let attributes = attributes(call, &mut random);
        let cost_ns = cost(at_ns - 1_700_000_000 * S, &attributes, &mut random);
        let response_ns = cost_ns + MS / 10;
        concentration.charge(&Charge {
            at_ns,
            response_ns,
            costs: &[(0, cost_ns)],
            attributes: &attributes,
        });
        at_ns += match pace {
            Pace::Steady(gap_ns) => gap_ns,
            Pace::Random(gap_ns) => random.exponential(gap_ns as f64) as i64,
        };
    }
    concentration.finish(&[0])
}

fn has(attributes: &[(By, u64)], by: By, value: u64) -> bool {
    attributes.contains(&(by, value))
}

/// Two clients with a connection each, three operations, files.
fn two_clients(_: u64, random: &mut Random) -> Vec<(By, u64)> {
    let client = random.below(2);
    vec![
        (By::Client, client),
        (By::Connection, 100 + client),
        (By::Server, 1),
        (By::Operation, random.uneven(3)),
        (By::File, random.uneven(40)),
    ]
}

fn who(places: &[Place]) -> Vec<(By, Value)> {
    places.iter().map(|place| (place.by, place.value)).collect()
}

#[test]
fn of_two_clients_the_slow_one_is_named_and_its_connection_is_not_named_again() {
    for (times, least_share) in [(2, 0.6), (20, 0.9)] {
        let places = stream(
            4_000,
            Pace::Random(MS),
            times,
            two_clients,
            |_, attributes, random| {
                let slower = if has(attributes, By::Client, 1) {
                    times as f64
                } else {
                    1.0
                };
                (slower * random.exponential(1e6)) as i64
            },
        );
        assert_eq!(
            who(&places),
            [(By::Client, Value::Of(1))],
            "{times} times as slow"
        );
        assert!(
            places[0].share > least_share && places[0].share < 0.97,
            "{places:?}"
        );
        assert!((1_800..2_200).contains(&places[0].calls), "{places:?}");
        assert!(
            (900_000..1_100_000).contains(&places[0].rest_mean_ns),
            "{places:?}"
        );
    }
}

#[test]
fn two_slow_ones_of_five_clients_are_two_places_the_costlier_first() {
    let attributes = |_: u64, random: &mut Random| vec![(By::Client, random.below(5))];
    let places = stream(
        5_000,
        Pace::Random(MS),
        3,
        attributes,
        |_, attributes, random| {
            let slower = [1.0, 10.0, 1.0, 1.0, 30.0][attributes[0].1 as usize];
            (slower * random.exponential(1e6)) as i64
        },
    );
    assert_eq!(
        who(&places),
        [(By::Client, Value::Of(4)), (By::Client, Value::Of(1))]
    );
    assert!(
        (900_000..1_100_000).contains(&places[0].rest_mean_ns),
        "{places:?}"
    );
}

#[test]
fn one_slow_statement_of_fifty_is_named() {
    let attributes = |_: u64, random: &mut Random| {
        vec![
            (By::Client, random.below(3)),
            (By::Operation, 7),
            (By::Statement, 1_000 + random.below(50)),
        ]
    };
    let places = stream(
        20_000,
        Pace::Random(MS),
        5,
        attributes,
        |_, attributes, random| {
            if has(attributes, By::Statement, 1_013) {
                80 * MS + random.below(40 * MS as u64) as i64
            } else {
                random.exponential(5e5) as i64
            }
        },
    );
    assert_eq!(who(&places), [(By::Statement, Value::Of(1_013))]);
}

#[test]
fn one_slow_file_of_ten_thousand_is_named_although_few_are_remembered() {
    let attributes = |call: u64, random: &mut Random| {
        let file = if call.is_multiple_of(10) {
            77
        } else {
            1_000 + random.below(10_000)
        };
        vec![(By::Server, 1), (By::Export, 2), (By::File, file)]
    };
    let places = stream(
        20_000,
        Pace::Random(MS),
        6,
        attributes,
        |_, attributes, random| {
            let slower = if has(attributes, By::File, 77) {
                25.0
            } else {
                1.0
            };
            (slower * random.exponential(1e6)) as i64
        },
    );
    assert_eq!(who(&places), [(By::File, Value::Of(77))]);
    // Calls from before it was taken in are not counted.
    assert!((1_900..=2_000).contains(&places[0].calls), "{places:?}");
}

#[test]
fn the_one_slow_connection_of_a_client_is_said_rather_than_its_client() {
    let attributes = |_: u64, random: &mut Random| {
        let connection = random.below(8);
        vec![
            (By::Client, connection / 4),
            (By::Server, 1),
            (By::Connection, connection),
        ]
    };
    let places = stream(
        8_000,
        Pace::Random(MS),
        7,
        attributes,
        |_, attributes, random| {
            let slower = if has(attributes, By::Connection, 5) {
                300.0
            } else {
                1.0
            };
            (slower * random.exponential(1e6)) as i64
        },
    );
    assert_eq!(who(&places), [(By::Connection, Value::Of(5))]);
}

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
fn four_stalls_are_not_yet_a_beat_and_uneven_ones_are_none() {
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
    assert_eq!(stall(vec![S, 3 * S, 5 * S, 7 * S]), []);
    assert_eq!(
        stall(
            [10, 14, 33, 71, 76, 95, 120, 122, 150, 188]
                .map(|tenth| tenth * 100 * MS)
                .to_vec()
        ),
        []
    );
    let even = stall((1..10).map(|second| second * 2 * S).collect());
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

#[test]
fn thirty_calls_are_too_few_but_for_what_is_overwhelming() {
    let in_turns = |call: u64, _: &mut Random| vec![(By::Client, u64::from(call % 3 == 1))];
    let of = |times: f64| {
        stream(
            30,
            Pace::Random(MS),
            12,
            in_turns,
            move |_, attributes, random| {
                let slower = if has(attributes, By::Client, 1) {
                    times
                } else {
                    1.0
                };
                (slower * (5e5 + random.unit() * 1e6)) as i64
            },
        )
    };
    assert_eq!(of(2.0), []);
    assert_eq!(who(&of(200.0)), [(By::Client, Value::Of(1))]);
}

#[test]
fn what_all_calls_have_is_no_place() {
    let only = |_: u64, _: &mut Random| vec![(By::Client, 1), (By::Server, 2), (By::Connection, 3)];
    assert_eq!(
        stream(
            5_000,
            Pace::Random(MS),
            13,
            only,
            |_, _, random| random.exponential(1e7) as i64
        ),
        []
    );
    // Nor what all but a handful have.
    let nearly = |call: u64, _: &mut Random| vec![(By::Server, u64::from(call % 900 == 17))];
    assert_eq!(
        stream(5_000, Pace::Random(MS), 13, nearly, |_, attributes, _| MS
            * (1 - attributes[0].1 as i64)),
        []
    );
}

#[test]
fn one_burst_or_one_long_call_proves_nothing_about_whom() {
    let burst = stream(
        4_000,
        Pace::Random(MS),
        14,
        two_clients,
        |at_ns, attributes, _| {
            let hit = (2 * S..2 * S + 60 * MS).contains(&at_ns) && has(attributes, By::Client, 0);
            if hit { 500 * MS } else { MS / 10 }
        },
    );
    assert_eq!(burst, []);
    let mut long = Some(100 * S);
    assert_eq!(
        stream(4_000, Pace::Random(MS), 15, two_clients, |_, _, _| long
            .take()
            .unwrap_or(MS)),
        []
    );
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
fn files_are_held_against_files_not_against_calls_without_any() {
    let attributes = |_: u64, random: &mut Random| match random.below(4) {
        0 => vec![(By::Operation, 1), (By::File, random.uneven(20))],
        operation => vec![(By::Operation, operation + 1)],
    };
    let places = stream(
        8_000,
        Pace::Random(MS),
        21,
        attributes,
        |_, attributes, random| {
            if has(attributes, By::Operation, 1) {
                random.exponential(1e7) as i64
            } else {
                0
            }
        },
    );
    assert_eq!(who(&places), [(By::Operation, Value::Of(1))]);
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
fn accounts_are_added_up_when_asked_for() {
    let mut random = Random::new(17);
    let mut concentration = Concentration::new(3);
    for call in 0..4_000 {
        let client = random.below(2);
        let costs = [
            (0, 5 * MS * client as i64),
            (1, 5 * MS * (1 - client as i64)),
            (9, S),
        ];
        let attributes = [(By::Client, client)];
        concentration.charge(&Charge {
            at_ns: call * MS,
            response_ns: 5 * MS,
            costs: &costs,
            attributes: &attributes,
        });
    }
    assert_eq!(
        who(&concentration.finish(&[0])),
        [(By::Client, Value::Of(1))]
    );
    assert_eq!(
        who(&concentration.finish(&[1])),
        [(By::Client, Value::Of(0))]
    );
    assert_eq!(concentration.finish(&[0, 1]), []);
    assert_eq!(concentration.finish(&[2]), []);
    assert_eq!(concentration.finish(&[]), []);
}

#[test]
fn calls_told_by_their_end_rather_than_their_begin_give_the_same_places() {
    let mut random = Random::new(18);
    let mut calls: Vec<(i64, i64, u64)> = (0..6_000)
        .map(|call| {
            let client = random.below(3);
            (
                call * MS,
                (random.exponential(1e6) * if client == 2 { 40.0 } else { 1.0 }) as i64,
                client,
            )
        })
        .collect();
    let told = |calls: &[(i64, i64, u64)]| {
        let mut concentration = Concentration::new(1);
        for (at_ns, cost_ns, client) in calls {
            let (costs, attributes) = ([(0, *cost_ns)], [(By::Client, *client)]);
            concentration.charge(&Charge {
                at_ns: *at_ns,
                response_ns: *cost_ns,
                costs: &costs,
                attributes: &attributes,
            });
        }
        concentration.finish(&[0])
    };
    let by_begin = told(&calls);
    calls.sort_by_key(|(at_ns, cost_ns, _)| at_ns + cost_ns);
    assert_eq!(who(&by_begin), [(By::Client, Value::Of(2))]);
    assert_eq!(told(&calls), by_begin);
}

/// A healthy stream: traffic and costs of many shapes, none of which knows whom it meets.
fn healthy(seed: u64) -> Vec<Place> {
    let mut random = Random::new(seed + 1_000);
    let calls = [30, 100, 400, 2_000, 8_000, 20_000][random.below(6) as usize];
    let gap_ns = [MS / 20, MS, 20 * MS][random.below(3) as usize];
    let (clients, connections, files) = (
        1 + random.below(6),
        1 + random.below(5),
        [3, 50, 3_000][random.below(3) as usize],
    );
    // A stall that comes once is a place in time; so those streams have many, or none.
    let shape = random.below(if calls < 2_000 { 5 } else { 9 });
    let mut stall = (0, 0, 0);
    let (change, busier) = (random.below(calls), random.below(2) == 0 && shape != 8);
    let attributes = move |call: u64, random: &mut Random| {
        let client = random.uneven(clients);
        // Half of the streams have more clients in one part of their time than in the other.
        let client = if busier && call > change {
            clients
        } else {
            client
        };
        let mut all = vec![
            (By::Client, client),
            (By::Server, random.uneven(2)),
            (By::User, random.uneven(3)),
            (By::Export, random.below(3)),
            (By::Operation, random.uneven(6)),
            (By::File, random.uneven(files)),
            (By::Statement, random.uneven(50)),
            (By::Connection, client * 8 + random.below(connections)),
        ];
        // Not every call has them all.
        all.truncate(5 + random.below(4) as usize);
        all
    };
    let pace = if random.below(2) == 0 {
        Pace::Steady(gap_ns)
    } else {
        Pace::Random(gap_ns)
    };
    stream(
        calls,
        pace,
        seed,
        attributes,
        move |at_ns, attributes, random| {
            if at_ns > stall.1 {
                let from = at_ns + random.exponential(80.0 * gap_ns as f64) as i64;
                let long = random.exponential(10.0 * gap_ns as f64) as i64;
                stall = (from, from + long, random.below(clients));
            }
            let cost = match shape {
                0 => random.exponential(1e6),
                1 => random.pareto(1e5, 1.5),
                2 => random.pareto(1e5, 1.1),
                3 => random.lognormal(3e5, 2.0),
                4 if random.below(50) == 0 => 2e7 + random.exponential(3e7),
                6 => 1e6,
                5 if at_ns >= stall.0 => (stall.1 - at_ns) as f64,
                // A path that is slower and faster in turns, without a beat.
                7 => random.exponential(1e6) * if at_ns >= stall.0 { 4.0 } else { 1.0 },
                // Something that meets one client at a time, whichever it is.
                8 if at_ns >= stall.0 && has(attributes, By::Client, stall.2) => {
                    (stall.1 - at_ns) as f64
                }
                _ => 0.0,
            };
            cost as i64
        },
    )
}

#[test]
fn costs_that_are_spread_evenly_are_no_place() {
    let named: Vec<_> = (0..200)
        .map(|seed| (seed, healthy(seed)))
        .filter(|(_, places)| !places.is_empty())
        .collect();
    assert!(named.is_empty(), "{} of 200: {named:#?}", named.len());
}

#[test]
fn the_costliest_of_any_number_of_values_is_kept_in_bounded_room() {
    let mut values = Values::default();
    let mut random = Random::new(19);
    for call in 0..50_000_u64 {
        let value = if call % 50 == 49 { 7 } else { 1_000 + call };
        let cost_ns = random.exponential(1e6) as i64;
        values.add(
            value,
            cost_ns as u64,
            call as usize / 1_000,
            1,
            &[(0, cost_ns)],
        );
    }
    let kept = values.sorted();
    assert!(kept.len() <= VALUES);
    let heavy = kept
        .iter()
        .find(|(value, _)| *value == 7)
        .map(|(_, course)| Cell::sum(&course.of(1, &[0]).collect::<Vec<_>>()));
    assert_eq!(heavy.map(|sum| sum.calls), Some(1_000));
}

#[test]
fn no_times_and_costs_hurt() {
    let mut random = Random::new(20);
    for accounts in [0, 1, 3] {
        let mut concentration = Concentration::new(accounts);
        let mut fed = 0;
        for _ in 0..3_000 {
            let mut any = || (random.next() as i64) >> random.below(64);
            let costs = [(0, any()), (any() as usize, any()), (usize::MAX, any())];
            let attributes = [
                (By::Client, any() as u64),
                (By::Time, any() as u64),
                (By::Client, 3),
            ];
            concentration.charge(&Charge {
                at_ns: any(),
                response_ns: any(),
                costs: &costs,
                attributes: &attributes,
            });
            fed += 1;
        }
        let places = concentration.finish(&[0, 1, 2, usize::MAX]);
        assert!(
            places
                .iter()
                .all(|place| place.calls <= 2 * fed && (0.0..=1.0).contains(&place.share)),
            "{places:?}"
        );
    }
}
