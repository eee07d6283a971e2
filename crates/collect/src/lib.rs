//! The names of two ends, and of hosts between them, into a folder of evidence from all: captures of the same minute, and
//! counters of their hosts meanwhile. [`look()`] reaches the ends and plans, [`Ready::capture`] does what is planned.
//!
//! It installs nothing, and asks what hosts have: a shell, tcpdump or snoop. What it knows of captures is how they are made,
//! not what is in them.

mod clock;
mod facts;
mod look;
mod manifest;
mod place;
mod plan;
mod quote;
mod reach;
mod run;
mod samples;

pub use clock::Offset;
pub use facts::{is_interface, is_path};
pub use look::{Ready, look};
pub use manifest::Manifest;
pub use place::{End, Place};
pub use plan::{
    Asked, BETWEEN_MOST, CLIENTS_MOST, EndPlan, GRACE_S, KEEP_S, Note, Plan, Problem,
    RESERVE_BYTES, Side, Tool, Watches, When,
};
pub use quote::line as command_line;
pub use run::{Collected, Crossed, EndResult, Ended, Fetched};

use std::sync::mpsc::{Sender, channel};
use std::thread;

/// What happens meanwhile.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    Reaching(Side),
    /// All capture.
    Started,
    Progress {
        side: Side,
        seconds: u64,
        bytes: u64,
    },
    /// Nobody answers there; the capture goes on, and ends by itself.
    Lost {
        side: Side,
        place: String,
        ends_within_s: u64,
    },
    Again(Side, String),
    /// What was waited for has happened: what `live` says of it. Captures go on for so long.
    Crossed {
        what: Crossed,
        after_s: u64,
    },
    /// Who looks for it there ended, and is begun again until it stays.
    Unwatched {
        side: Side,
        place: String,
        why: String,
    },
    Fetching,
    /// A file of it.
    Fetched(Side),
    /// What could not be removed.
    Left {
        side: Side,
        place: String,
        folder: String,
        why: String,
    },
}

/// Why nothing was captured.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Each is a line of its own.
    #[error("{} missing, as said above; nothing was captured, and nothing is left there", things(.0.len()))]
    Missing(Vec<Problem>),
    #[error("stopped before anything was captured")]
    Stopped,
    #[error("it did not become true within {0} s; nothing was fetched, and nothing is left there")]
    Never(u64),
    /// Whoever looks for what is waited for cannot.
    #[error("{}; nothing was fetched, and nothing is left there", .0)]
    Blind(Problem),
    #[error("the system gives no thread: {0}")]
    Thread(std::io::Error),
}

fn things(count: usize) -> String {
    match count {
        1 => "one thing is".to_owned(),
        n => format!("{n} things are"),
    }
}

/// Does the same at all hosts at the same time, and gives what came of it, in their order; what happens is told meanwhile.
fn everywhere<E: Send, T: Send>(
    ends: &mut [E],
    tell: &mut dyn FnMut(Event),
    work: impl Fn(&mut E, &Sender<Event>) -> T + Sync,
) -> Result<Vec<T>, Error> {
    let (send, events) = channel();
    thread::scope(|scope| {
        let work = &work;
        let mut workers = Vec::new();
        for end in ends.iter_mut() {
            let send = send.clone();
            let worker = thread::Builder::new().spawn_scoped(scope, move || work(end, &send));
            workers.push(worker.map_err(Error::Thread)?);
        }
        drop(send);
        events.iter().for_each(tell);
        let lost = || Error::Thread(std::io::Error::other("it ended early"));
        workers
            .into_iter()
            .map(|w| w.join().map_err(|_| lost()))
            .collect()
    })
}
