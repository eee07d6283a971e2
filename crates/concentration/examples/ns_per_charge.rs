//! What a charge costs, in nanoseconds: `cargo run --release -p concentration --example
//! ns_per_charge`.
#![allow(clippy::print_stdout, reason = "its purpose")]

use concentration::{By, Charge, Concentration};

const CALLS: u64 = 2_000_000;

fn main() {
    for (name, values) in [
        ("few values", 4),
        ("a hundred values", 100),
        ("ten thousand values", 10_000),
    ] {
        for accounts in [1, 8] {
            println!(
                "{name}, {accounts} accounts, 2 of them charged at most: {:.0} ns",
                measure(values, accounts)
            );
        }
    }
}

/// Eight attributes, three of which have so many values; drawn before, fed again and again.
fn measure(values: u64, accounts: usize) -> f64 {
    let mut random: u64 = 0x2545_f491_4f6c_dd1d;
    let drawn: Vec<_> = (0..4_096)
        .map(|_| {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let draw = |shift: u32, n: u64| (random >> shift) % n;
            let cost_ns = draw(20, 1_000_000) as i64;
            let costs = [(0, cost_ns), (draw(33, 7) as usize + 1, cost_ns / 2)];
            let attributes = [
                (By::Client, draw(40, 4)),
                (By::Server, 1),
                (By::User, draw(41, 2)),
                (By::Export, draw(42, 3)),
                (By::Operation, draw(43, 10)),
                (By::File, draw(30, values)),
                (By::Statement, draw(31, values)),
                (By::Connection, draw(32, values)),
            ];
            (costs, attributes, random)
        })
        .collect();
    let mut concentration = Concentration::new(accounts);
    let begin = processor_ns();
    for (call, (costs, attributes, set)) in (0..CALLS).zip(drawn.iter().cycle()) {
        concentration.charge(&Charge {
            at_ns: call as i64 * 10_000,
            response_ns: 1_000_000,
            costs: &costs[..accounts.min(2)],
            attributes,
            set: *set,
        });
    }
    (processor_ns() - begin) / CALLS as f64
}

/// Time on a processor, as others may use it too (Linux).
fn processor_ns() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ')
        .next()
        .and_then(|ns| ns.parse().ok())
        .unwrap_or(0.0)
}
