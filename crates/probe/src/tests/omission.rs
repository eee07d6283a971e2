//! Coordinated omission: a listener that stalls once makes one exchange slow, and keeps others from
//! being made at all.

use super::*;
use crate::token::Nonces;
use crate::wire::{Grant, RESPONSE_BYTES, Response, Status};
use std::net::TcpListener;

const STALL: Duration = Duration::from_millis(200);

/// A listener of one session that stalls before its `nth` answer.
fn stalling(listener: &TcpListener, nth: u64) {
    let mut stream = listener.accept().unwrap().0;
    let mut hello = [0; 32];
    stream.read_exact(&mut hello).unwrap();
    let hello = Greeting::decode(&hello, wire::End::Client).unwrap();
    let nonce = [5; 16];
    let challenge = Greeting {
        version: VERSION,
        nonce,
    };
    stream
        .write_all(&challenge.encode(wire::End::Listener))
        .unwrap();
    stream.read_exact(&mut [0; wire::PROOF_BYTES]).unwrap();
    let mut welcome = Welcome {
        status: Status::Go,
        grant: Grant {
            size: 1 << 20,
            rate: 1_000_000,
            duration_ms: 1_000_000,
            ..Grant::default()
        },
        mac: [0; 32],
    };
    let nonces = Nonces {
        client: hello.nonce,
        listener: nonce,
    };
    welcome.mac = token().listener_proof(&nonces, &welcome);
    stream.write_all(&welcome.encode()).unwrap();
    let mut header = [0; 16];
    while stream.read_exact(&mut header).is_ok() {
        let request = Request::decode(&header, 1 << 20).unwrap();
        if request.sequence == nth {
            thread::sleep(STALL);
        }
        let response = Response {
            response_bytes: RESPONSE_BYTES,
            sequence: request.sequence,
            service_ns: 0,
            held_ns: 0,
        };
        if stream.write_all(&response.encode()).is_err() {
            break;
        }
    }
}

fn measured(pacing: Pacing) -> ProbeResult {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = thread::spawn(move || stalling(&listener, 100));
    let work = Work::Exchange {
        mix: Mix::fixed(16, 32),
        pacing,
        outstanding: 1,
    };
    let mut plan = plan(address, work);
    plan.warm_up = Duration::ZERO;
    plan.duration = Duration::from_secs(2);
    let result = run(&plan).unwrap();
    server.join().unwrap();
    result
}

/// How many took longer than half of the stall.
fn slow(latencies: &crate::Latencies) -> u64 {
    let half = u64::try_from(STALL.as_nanos()).unwrap() / 2;
    let points = latencies.points();
    let fast = points.iter().take_while(|p| p.value_ns < half).last();
    latencies.count() - fast.map_or(0, |p| p.count)
}

/// 1,000 exchanges are due in 2 s. The stall makes one of them slow, as the probe counts by itself,
/// but 50 fall due in its first 100 ms, and those were not answered for 100 ms or more.
#[test]
fn at_a_rate_a_stall_counts_for_all_that_were_due_in_it() {
    let r = measured(Pacing::rate(500.0));
    let (uncorrected, corrected) = (slow(&r.uncorrected), slow(&r.corrected));
    assert!(corrected >= 50, "{corrected}");
    // On a busy host others may be slow, too.
    assert!(uncorrected * 5 < corrected, "{uncorrected} {corrected}");
    assert!(r.uncorrected.max_ns() >= 200_000_000);
    assert!(r.corrected.quantile_ns(0.97) >= 100_000_000);
}

/// In a closed loop nothing is due: what others would have seen is estimated.
#[test]
fn in_a_closed_loop_the_stall_is_filled_with_those_that_would_have_been_made() {
    let r = measured(Pacing::Closed);
    let (uncorrected, corrected) = (slow(&r.uncorrected), slow(&r.corrected));
    assert!(
        uncorrected >= 1 && corrected > uncorrected * 20,
        "{uncorrected} {corrected}"
    );
    assert!(r.corrected.quantile_ns(0.95) > r.uncorrected.quantile_ns(0.95));
}
