//! Streams of calls with a known place.

mod healthy;
mod when;

use crate::{By, Charge, Concentration, Place, Value};
use std::hash::BuildHasher;

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
            set: set_of(&attributes),
        });
        at_ns += match pace {
            Pace::Steady(gap_ns) => gap_ns,
            Pace::Random(gap_ns) => random.exponential(gap_ns as f64) as i64,
        };
    }
    concentration.finish(&[0])
}

/// A number for attributes.
fn set_of(attributes: &[(By, u64)]) -> u64 {
    foldhash::fast::FixedState::default().hash_one(attributes)
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
fn more_calls_or_a_greater_difference_name_the_client_more_often_and_never_another() {
    let named = |calls: u64, times: f64| {
        let places = (0..40).map(|seed| {
            stream(
                calls,
                Pace::Random(MS),
                500 + seed,
                two_clients,
                |_, attributes, random| {
                    let slower = if has(attributes, By::Client, 1) {
                        times
                    } else {
                        1.0
                    };
                    (slower * random.exponential(1e6)) as i64
                },
            )
        });
        let all: Vec<_> = places.flatten().collect();
        assert!(
            all.iter()
                .all(|place| (place.by, place.value) == (By::Client, Value::Of(1))),
            "{all:?}"
        );
        all.len()
    };
    let often =
        [100, 300, 1_000, 3_000].map(|calls| [2.0, 4.0, 20.0].map(|times| named(calls, times)));
    assert_eq!(often, [[0, 13, 33], [12, 40, 40], [40; 3], [40; 3]]);
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
            set: set_of(&attributes),
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
                set: set_of(&attributes),
            });
        }
        concentration.finish(&[0])
    };
    let by_begin = told(&calls);
    calls.sort_by_key(|(at_ns, cost_ns, _)| at_ns + cost_ns);
    assert_eq!(who(&by_begin), [(By::Client, Value::Of(2))]);
    assert_eq!(told(&calls), by_begin);
}
