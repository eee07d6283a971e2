//! Streams without a place, or with too few calls to tell, and what must not hurt.

use super::{MS, Pace, Random, S, has, set_of, stream, two_clients, who};
use crate::alike::Alike;
use crate::course::Cell;
use crate::values::{VALUES, Values};
use crate::{By, Charge, Concentration, Place, Value};

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
        let one = Alike {
            block: call as usize / 1_000,
            calls: 1,
            costs: vec![cost_ns.unsigned_abs()],
            ..Alike::default()
        };
        values.add(value, &one, 1);
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
                set: set_of(&attributes),
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
