//! Captures from between both ends: how much of each call lies between which points.

use crate::kit::{root, rows};

const CASES: [(&str, [i64; 2]); 2] = [
    // What was injected there and back, in ms.
    ("k33-three-points", [30, 0]),
    ("k33-three-points-nat", [0, 4]),
];

#[test]
fn the_hops_of_a_call_are_what_it_takes_longer_at_the_client_than_at_the_server() {
    for (case, injected_ms) in CASES {
        let file = |name| format!("{}/tests/field/{case}/{name}.pcap.zst", root().display());
        let files = ["server", "middle", "client"].map(file);
        let (mut calls, mut sums) = (0, [0; 2]);
        for row in rows("calls", files) {
            let ns = |name: &str| row[name].as_i64();
            let (Some(first), Some(last)) =
                (ns("server_request_first_ns"), ns("server_response_last_ns"))
            else {
                continue;
            };
            let hops = row["hops"].as_array().expect("a list");
            let [near, far] = hops.as_slice() else {
                panic!("{case}: {row}");
            };
            assert!(near["to"] == far["from"], "{row}");
            let each = [near, far].map(|hop| hop["ns"].as_i64().expect("nanoseconds"));
            let beyond = ns("response_time_ns").expect("it was answered") - (last - first);
            assert_eq!(each[0] + each[1], beyond, "{case}: {row}");
            calls += 1;
            (0..2).for_each(|i| sums[i] += each[i]);
        }
        assert!(calls > 100, "{case}: {calls}");
        for (sum, ms) in sums.into_iter().zip(injected_ms) {
            let mean_ms = sum / calls / 1_000_000;
            assert!((ms..ms + 2).contains(&mean_ms), "{case}: {mean_ms} of {ms}");
        }
    }
}
