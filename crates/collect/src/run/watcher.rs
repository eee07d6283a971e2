//! Packets of a host as they pass, into what our own `live` says of them: by ssh, or said there where it has us. A watcher
//! that ends by itself is begun again: a few times where it never stayed, and for as long as it takes where it did, as a
//! connection may be lost for a while at night.

use super::{BETWEEN, TRIES};
use crate::Event;
use crate::clock;
use crate::facts::shown;
use crate::look::Host;
use crate::plan::{EndPlan, Plan, Problem, Watches, When};
use crate::reach::{Failure, apart, start_with};
use serde::Deserialize;
use std::io::{self, BufRead, BufReader, Read};
use std::process::{Child, ChildStdin, Command};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Bytes of a line that are read; one that is longer is none of a crossing.
const LINE: u64 = 1 << 20;

/// Bytes of standard error that are kept.
const SAID: usize = 16 << 10;

/// What is told to end does so within this, or is ended.
const ENDS: Duration = Duration::from_secs(2);

/// Who has watched for so long can.
const LASTING: Duration = Duration::from_secs(5);

/// That what was waited for has happened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Crossed {
    /// By our clock.
    pub at_ns: i64,
    /// What was waited for, as it was given.
    pub when: String,
    /// Of which operation, statement or connection it is true.
    pub of: String,
}

/// A line of `live`, as far as it matters here.
#[derive(Deserialize)]
struct Line {
    kind: String,
    when: Option<String>,
    operation: Option<Operation>,
    connection: Option<Connection>,
}

#[derive(Deserialize)]
struct Operation {
    protocol: String,
    op: Option<String>,
}

#[derive(Deserialize)]
struct Connection {
    client: String,
    server: String,
}

impl Crossed {
    fn read(line: &[u8]) -> Option<Crossed> {
        let line: Line = serde_json::from_slice(line).ok()?;
        let (operation, connection) = (line.operation, line.connection);
        let operation = operation.map(|o| format!("{} {}", o.protocol, o.op.unwrap_or_default()));
        let connection = connection.map(|c| format!("{} to {}", c.client, c.server));
        (line.kind == "crossing").then(|| Crossed {
            at_ns: clock::now_ns(),
            when: shown(&line.when.unwrap_or_default()),
            of: shown(operation.or(connection).unwrap_or_default().trim_end()),
        })
    }
}

/// Who looks.
pub(super) struct Watcher<'p> {
    end: &'p EndPlan,
    plan: &'p Plan,
    when: &'p When,
    running: Option<Running>,
    /// Whether anybody could look.
    has_watched: bool,
    /// How often nobody could since.
    failed: usize,
    next: Instant,
}

struct Running {
    begun: Instant,
    children: Vec<Child>,
    /// What runs on the host ends with it.
    stdin: Option<ChildStdin>,
    crossings: Receiver<Crossed>,
    /// What they say on standard error.
    errors: Arc<Mutex<Vec<u8>>>,
}

impl<'p> Watcher<'p> {
    /// If it is this host whose packets are looked at.
    pub(super) fn of(host: &Host, plan: &'p Plan) -> Option<Watcher<'p>> {
        let when = plan.when.as_ref().filter(|w| w.side == host.side)?;
        Some(Watcher {
            end: plan.ends.iter().find(|e| e.side == host.side)?,
            plan,
            when,
            running: None,
            has_watched: false,
            failed: 0,
            next: Instant::now(),
        })
    }

    /// What has happened, if it has.
    ///
    /// # Errors
    /// When nobody can look.
    pub(super) fn look(
        &mut self,
        host: &Host,
        events: &Sender<Event>,
    ) -> Result<Option<Crossed>, Problem> {
        let Some(running) = &mut self.running else {
            if Instant::now() >= self.next {
                match self.begin(host) {
                    Ok(running) => self.running = Some(running),
                    Err(why) => self.again(host, &why.to_string(), events)?,
                }
            }
            return Ok(None);
        };
        if running.begun.elapsed() >= LASTING {
            (self.has_watched, self.failed) = (true, 0);
        }
        match running.crossings.try_recv() {
            Ok(crossed) => Ok(Some(crossed)),
            Err(TryRecvError::Empty) => Ok(None),
            Err(TryRecvError::Disconnected) => {
                let why = running.said();
                self.running = None;
                self.again(host, &why, events)?;
                Ok(None)
            }
        }
    }

    fn again(&mut self, host: &Host, why: &str, events: &Sender<Event>) -> Result<(), Problem> {
        self.failed += 1;
        self.next = Instant::now() + BETWEEN;
        if self.failed == 1 {
            let _ = events.send(Event::Unwatched {
                side: host.side,
                place: host.place.clone(),
                why: shown(why),
            });
        }
        match self.failed {
            failed if failed < TRIES || self.has_watched => Ok(()),
            _ => Err(Problem {
                side: host.side,
                place: host.place.clone(),
                what: format!("its packets cannot be watched ({})", shown(why)),
                cure: "let the other end be watched (--watch)".to_owned(),
            }),
        }
    }

    fn begin(&self, host: &Host) -> Result<Running, Failure> {
        let mut there = host.reach.stream(&self.end.watcher(self.plan, self.when))?;
        let stdin = there.stdin.take();
        let packets = there.stdout.take();
        let errors = Arc::default();
        overheard(&mut there, &errors);
        let mut children = vec![there];
        let lines: Box<dyn Read + Send> = match (self.end.watches, packets) {
            (Watches::There, Some(lines)) => Box::new(lines),
            (Watches::Here, Some(packets)) => {
                let mut here = Command::new(&self.when.program);
                here.args(["live", "-"]).args(&self.when.words);
                here.stdin(packets);
                apart(&mut here);
                let mut here = start_with(&mut here)?;
                overheard(&mut here, &errors);
                let lines = here.stdout.take();
                children.push(here);
                Box::new(lines.ok_or_else(closed)?)
            }
            (_, None) => return Err(closed()),
        };
        let (send, crossings) = sync_channel(1);
        thread::spawn(move || {
            let mut lines = BufReader::new(lines);
            let mut line = Vec::new();
            while let Ok(1..) = lines.by_ref().take(LINE).read_until(b'\n', &mut line) {
                if let Some(crossed) = Crossed::read(&line)
                    && send.send(crossed).is_err()
                {
                    return;
                }
                line.clear();
            }
        });
        Ok(Running {
            begun: Instant::now(),
            children,
            stdin,
            crossings,
            errors,
        })
    }
}

fn closed() -> Failure {
    Failure::Sink(io::Error::from(io::ErrorKind::BrokenPipe))
}

impl Running {
    /// The last that any of them says was wrong.
    fn said(&mut self) -> String {
        self.end();
        let said = self.errors.lock().unwrap_or_else(PoisonError::into_inner);
        let said = String::from_utf8_lossy(&said);
        let last = said.lines().map(str::trim).rfind(|l| !l.is_empty());
        last.unwrap_or("it ended").to_owned()
    }

    /// What runs on the host ends by itself, and is given time for that.
    fn end(&mut self) {
        self.stdin = None;
        for child in &mut self.children {
            let begun = Instant::now();
            while matches!(child.try_wait(), Ok(None)) && begun.elapsed() < ENDS {
                thread::sleep(Duration::from_millis(10));
            }
            // It may have ended.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
    }
}

/// Keeps what a program says on standard error, as far as it fits; a pipe that nobody reads would hold it up.
fn overheard(child: &mut Child, errors: &Arc<Mutex<Vec<u8>>>) {
    let Some(mut from) = child.stderr.take() else {
        return;
    };
    let errors = Arc::clone(errors);
    thread::spawn(move || {
        let mut piece = [0; 4_096];
        while let Ok(n @ 1..) = from.read(&mut piece) {
            let mut errors = errors.lock().unwrap_or_else(PoisonError::into_inner);
            let room = SAID.saturating_sub(errors.len()).min(n);
            errors.extend(piece.iter().take(room));
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crossing_is_read_from_lines_of_live_and_nothing_else_is() {
        let read = |line: &str| Crossed::read(line.as_bytes()).map(|c| (c.when, c.of));
        let line = r#"{"schema":"slowside.live/1","kind":"crossing","at_ns":1,"when":"p99 > 20ms","operation":{"protocol":"nfs3","op":"READ","calls":7},"connection":null,"file":null}"#;
        let operation = ("p99 > 20ms".to_owned(), "nfs3 READ".to_owned());
        assert_eq!(read(line), Some(operation));
        let line = r#"{"kind":"crossing","when":"rtt > 1ms","operation":null,"connection":{"client":"10.0.0.1:7","server":"10.0.0.2:2049"}}"#;
        let connection = "10.0.0.1:7 to 10.0.0.2:2049".to_owned();
        assert_eq!(read(line), Some(("rtt > 1ms".to_owned(), connection)));
        for line in [
            "",
            "{",
            r#"{"kind":"interval"}"#,
            "slowside: no such device",
        ] {
            assert_eq!(read(line), None, "{line}");
        }
    }
}
