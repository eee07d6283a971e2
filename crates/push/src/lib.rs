//! A text that changes, to one who collects such texts over HTTP, again and again: a collector of OpenTelemetry.
//!
//! It runs beside something that may not wait. Each push has [`PUSHING`] for all of it and one is under way at a time; what
//! fails is counted, told once until one is taken again, and tried again with back-off. Nothing is kept to be sent later:
//! the text is made anew each time and says all that was counted, so that whoever misses one has it with the next. When
//! all is over there is one more push, for which the process waits no longer than [`ENDING`].
//!
//! No TLS: it would be larger than all else here. Redirects are not followed, as headers may be secret.

#![warn(clippy::indexing_slicing)]

mod answer;
mod headers;
mod http;
mod schedule;
mod url;

pub use headers::Headers;
pub use url::Url;

use answer::{Verdict, judge};
use jiff::Timestamp;
use schedule::Schedule;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use thiserror::Error;

/// How long a push may take, from the name of the host to the end of the answer.
pub const PUSHING: Duration = Duration::from_secs(5);
/// How long the last one is waited for: that which is under way, and one more; and a little.
pub const ENDING: Duration = Duration::from_secs(11);
/// Threads here need little, but for what makes the text.
const STACK_BYTES: usize = 512 << 10;

/// Why nothing can be pushed, or was not.
#[derive(Debug, Error)]
pub enum PushError {
    #[error("give http://HOST:PORT, such as http://127.0.0.1:4318")]
    NoUrl,
    #[error(
        "TLS is not spoken here; give http:// of a collector on this host, or of a proxy on it that speaks TLS to the one meant"
    )]
    Https,
    #[error(
        "a URL is no place for a secret; put a header into a file, and name that with --otlp-headers"
    )]
    Secret,
    #[error("line {0} is no header; give NAME=VALUE, each on a line of its own")]
    Header(usize),
    #[error("{host} is not known: {error}")]
    Unknown { host: String, error: io::Error },
    #[error("cannot connect: {0}")]
    Connect(io::Error),
    #[error("no answer within {} s", PUSHING.as_secs())]
    Silent,
    #[error("no answer: {0}")]
    Broken(io::Error),
    #[error("no thread is to be had to push with: {0}")]
    Thread(io::Error),
}

/// Where to, and what is said beside the text.
#[derive(Clone, Debug)]
pub struct Target {
    pub url: Url,
    pub headers: Headers,
    pub content_type: &'static str,
}

/// What became of all pushes.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Tally {
    pub pushes: u64,
    pub failed: u64,
    /// Why the last one was not taken, where it was not.
    pub last: Option<String>,
    /// Why one was not, the last time that it happened.
    pub why: Option<String>,
}

/// What the thread and who ends it tell each other. Not two channels: each type of one is kilobytes of code.
#[derive(Default, Debug)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default, Debug)]
struct State {
    is_stopped: bool,
    ended: Option<Tally>,
}

impl Shared {
    /// Changes it, and tells the other.
    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.notify_all();
    }

    /// Waits so long, or until it is what `is_waiting` does not wait for.
    fn wait(
        &self,
        time: Duration,
        is_waiting: impl Fn(&mut State) -> bool,
    ) -> MutexGuard<'_, State> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.changed.wait_timeout_while(state, time, is_waiting);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

/// Pushes in a thread of its own.
#[derive(Debug)]
pub struct Pusher(Arc<Shared>);

impl Pusher {
    /// Pushes what `make` makes, each time that `every` has passed. `tell` is told why a push is not taken, once until one is.
    ///
    /// # Errors
    /// When there is no thread for it.
    pub fn start(
        target: Target,
        every: Duration,
        make: impl Fn() -> Vec<u8> + Send + 'static,
        tell: impl Fn(&str) + Send + 'static,
    ) -> Result<Pusher, PushError> {
        let shared = Arc::new(Shared::default());
        let pusher = Pusher(Arc::clone(&shared));
        let mut pushing = Pushing {
            target,
            make: Box::new(make),
            tell: Box::new(tell),
            tally: Tally::default(),
        };
        let thread = thread::Builder::new()
            .name("push".to_owned())
            .stack_size(STACK_BYTES);
        let spawned = thread.spawn(move || {
            pushing.until_stopped(&shared, every);
            shared.change(|state| state.ended = Some(pushing.tally));
        });
        spawned.map_err(PushError::Thread)?;
        Ok(pusher)
    }

    /// Pushes for the last time. `None`: that did not come to an end in time.
    #[must_use]
    pub fn end(self) -> Option<Tally> {
        let Pusher(shared) = self;
        shared.change(|state| state.is_stopped = true);
        let mut state = shared.wait(ENDING, |state| state.ended.is_none());
        state.ended.take()
    }
}

struct Pushing {
    target: Target,
    make: Box<dyn Fn() -> Vec<u8> + Send>,
    tell: Box<dyn Fn(&str) + Send>,
    tally: Tally,
}

impl Pushing {
    fn until_stopped(&mut self, shared: &Shared, every: Duration) {
        let mut schedule = Schedule::new(every);
        let mut wait = every;
        while !shared.wait(wait, |state| !state.is_stopped).is_stopped {
            let verdict = self.push(Instant::now() + PUSHING);
            wait = schedule.after(&verdict);
        }
        // Whoever asked for a pause has it, if it is over in time; the capture's end is one more reason to try.
        let until = Instant::now() + PUSHING;
        let mut schedule = Schedule::new(every);
        loop {
            let verdict = self.push(until);
            let wait = schedule.after(&verdict);
            let again = matches!(verdict, Verdict::Later { .. }) && Instant::now() + wait < until;
            if !again {
                break;
            }
            thread::sleep(wait);
        }
    }

    fn push(&mut self, until: Instant) -> Verdict {
        let body = (self.make)();
        let Target {
            url,
            headers,
            content_type,
        } = &self.target;
        let verdict = match http::post(url, headers, content_type, &body, until) {
            Ok(answer) => judge(&answer, Timestamp::now()),
            Err(e) => Verdict::Later {
                after: None,
                why: e.to_string(),
            },
        };
        let why = match &verdict {
            Verdict::Taken(why) => why.as_ref(),
            Verdict::Later { why, .. } | Verdict::Refused(why) => Some(why),
        };
        self.tally.pushes += 1;
        if let Some(why) = why {
            self.tally.failed += 1;
            if self.tally.last.is_none() {
                (self.tell)(why);
            }
            self.tally.why = Some(why.clone());
        }
        self.tally.last = why.cloned();
        verdict
    }
}

#[cfg(test)]
mod tests;
