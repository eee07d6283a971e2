//! However a stream is cut, doubled and reordered, its connections' totals stay the same.

use crate::kit::{Plan, Script, Wire, connections_of, shuffle_moments};
use analysis::results::ConnectionResult;
use model::TimeClass;
use testkit::{Random, TestPacket, faults};

fn show(c: &[ConnectionResult]) -> String {
    let mut out = String::new();
    for c in c {
        for d in &c.directions {
            let a = &d.account;
            out += &format!("  life {} payload {} rt {} miss {} flight {} rtt {:?} win {:?} {:?} zw {} dup {} ooo {}\n   ", c.last - c.first,
                d.counts.payload_bytes, d.counts.retransmitted_bytes, d.counts.missing_from_capture_bytes, a.flight_max_bytes, a.rtt, a.window_min_bytes, a.window_max_bytes, d.counts.zero_windows, d.counts.duplicate_packets, d.counts.out_of_order_packets);
            for (class, ns) in a.time_ns.iter() { if *ns != 0 { out += &format!(" {} {ns}", class.name()); } }
            out += "\n";
        }
    }
    out
}

#[test]
fn explore() {
    for seed in 0..6 {
        let mut random = Random::new(seed);
        let plan = Plan { round_trip_ns: (seed as i64) * 1_000_000, ..Plan::default() };
        let script = Script::new(plan, &mut random);
        let base: Vec<TestPacket> = script.packets(Wire::default());
        println!("seed {seed} base\n{}", show(&connections_of(&base)));
        println!("copies\n{}", show(&connections_of(&faults::duplicate(&base, 300, 200_000, &mut random))));
        println!("split 100\n{}", show(&connections_of(&faults::split(&base, 100))));
        println!("merge\n{}", show(&connections_of(&faults::merge(&base, 64_000))));
        println!("shuffle\n{}", show(&connections_of(&shuffle_moments(&base, &mut random))));
    }
    let _ = TimeClass::ALL;
}
