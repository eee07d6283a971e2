//! Both ends in one process, over the loopback: what is measured, and what a listener survives.

mod hostile;
mod measuring;
mod omission;

use crate::wire::{self, Greeting, Proof, Request, VERSION, Welcome, Wishes};
use crate::{
    Counts, Event, Limits, Listener, Mix, Pacing, Plan, ProbeError, ProbeResult, SocketOptions,
    Token, Work, measure,
};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

const SECRET: &[u8] = b"a token for tests";

pub(super) fn token() -> Token {
    Token::new(SECRET).unwrap()
}

/// Limits that a busy machine keeps, too.
pub(super) fn limits() -> Limits {
    Limits {
        hello: Duration::from_secs(20),
        ..Limits::default()
    }
}

/// Rates that no loopback reaches.
pub(super) fn unlimited() -> Limits {
    Limits {
        rate: 1_000_000_000,
        bandwidth_bps: 1_000_000_000_000_000,
        ..limits()
    }
}

/// A listener as long as `test` runs; what it did, and what it told.
pub(super) fn with_listener(limits: Limits, test: impl FnOnce(SocketAddr)) -> (Counts, Vec<Event>) {
    let listener = Listener::bind("127.0.0.1:0".parse().unwrap(), token(), limits).unwrap();
    let stop = AtomicBool::new(false);
    let events = Mutex::new(Vec::new());
    let note = |event| events.lock().unwrap().push(event);
    let counts = thread::scope(|scope| {
        let run = scope.spawn(|| listener.run(&stop, &note));
        // A test that fails must not leave the listener running, or the scope never ends.
        let tested = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            test(listener.address());
        }));
        stop.store(true, Ordering::Relaxed);
        let counts = run.join().unwrap();
        if let Err(failed) = tested {
            std::panic::resume_unwind(failed);
        }
        counts
    });
    (counts, events.into_inner().unwrap())
}

pub(super) fn plan(target: SocketAddr, work: Work) -> Plan {
    Plan {
        target: target.to_string(),
        token: token(),
        work,
        duration: Duration::from_millis(300),
        warm_up: Duration::from_millis(50),
        interval: Duration::from_millis(100),
        timeout: Duration::from_secs(20),
        options: SocketOptions::default(),
    }
}

pub(super) fn ping_pong(request: u32, response: u32) -> Work {
    Work::Exchange {
        mix: Mix::fixed(request, response),
        pacing: Pacing::Closed,
        outstanding: 1,
    }
}

pub(super) fn run(plan: &Plan) -> Result<ProbeResult, ProbeError> {
    measure(plan, &AtomicBool::new(false), &mut |_| {})
}

/// That the listener still serves.
pub(super) fn still_serves(address: SocketAddr) {
    let result = run(&plan(address, ping_pong(100, 100))).unwrap();
    assert!(!result.uncorrected.is_empty());
}

/// A connection on which the token was shown, and the status that followed.
pub(super) fn admitted(address: SocketAddr) -> (TcpStream, wire::Status) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    let nonce = [7; 16];
    let hello = Greeting {
        version: VERSION,
        nonce,
    };
    stream.write_all(&hello.encode(wire::End::Client)).unwrap();
    let mut challenge = [0; 32];
    stream.read_exact(&mut challenge).unwrap();
    let challenge = Greeting::decode(&challenge, wire::End::Listener).unwrap();
    let nonces = crate::token::Nonces {
        client: nonce,
        listener: challenge.nonce,
    };
    let wishes = Wishes::default();
    let proof = Proof {
        mac: token().client_proof(&nonces, &wishes),
        wishes,
    };
    stream.write_all(&proof.encode()).unwrap();
    let mut welcome = [0; 96];
    stream.read_exact(&mut welcome).unwrap();
    (stream, Welcome::decode(&welcome).unwrap().status)
}

pub(super) fn request(request_bytes: u32, response_bytes: u32) -> [u8; 16] {
    Request {
        request_bytes,
        response_bytes,
        sequence: 0,
    }
    .encode()
}

/// All that comes until the other side ends the connection.
pub(super) fn rest(stream: &mut TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    // A reset is an end, too.
    let _ = stream.read_to_end(&mut bytes);
    bytes
}
