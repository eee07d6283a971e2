//! What was asked, done and fetched, into `manifest.json`: enough to diagnose the folder again without us.

use crate::clock::Offset;
use crate::plan::{EndPlan, Plan, When};
use crate::quote;
use crate::run::{Collected, Crossed, EndResult, Fetched};
use serde::Serialize;
use trace::host::CaptureCounts;

#[derive(Serialize, Debug)]
pub struct Manifest {
    schema: &'static str,
    version: String,
    started_ns: i64,
    ended_ns: i64,
    port: u16,
    for_ns: i64,
    max_bytes: u64,
    /// What was waited for, if anything was.
    when: Option<Waited>,
    /// The server's clock minus the client's.
    clock: Option<Clock>,
    ends: Vec<End>,
    notes: Vec<String>,
    /// What diagnoses it again, in its folder.
    diagnose: Vec<String>,
}

#[derive(Serialize, Debug)]
struct Waited {
    /// Where it was looked for.
    side: &'static str,
    before_ns: u64,
    after_ns: u64,
    crossed: Option<Happened>,
}

#[derive(Serialize, Debug)]
struct Happened {
    /// By the clock of the host that asked.
    at_ns: i64,
    when: String,
    of: String,
}

fn waited(when: &When, crossed: Option<&Crossed>) -> Waited {
    let ns = |seconds: u64| seconds.saturating_mul(1_000_000_000);
    Waited {
        side: when.side.name(),
        before_ns: ns(when.before_s),
        after_ns: ns(when.after_s),
        crossed: crossed.map(|c| Happened {
            at_ns: c.at_ns,
            when: c.when.clone(),
            of: c.of.clone(),
        }),
    }
}

#[derive(Serialize, Debug)]
struct Clock {
    offset_ns: i64,
    error_ns: i64,
}

impl From<Offset> for Clock {
    fn from(offset: Offset) -> Clock {
        Clock {
            offset_ns: offset.ns,
            error_ns: offset.error_ns,
        }
    }
}

#[derive(Serialize, Debug)]
struct End {
    side: &'static str,
    place: String,
    by: &'static str,
    host: String,
    system: String,
    address: Option<String>,
    interface: String,
    filter: String,
    snaplen: u32,
    command: String,
    /// Its clock minus that of the host that asked, before and behind.
    clock_before: Option<Clock>,
    clock_after: Option<Clock>,
    ended: &'static str,
    lasted_ns: u64,
    packets: CaptureCounts,
    said: String,
    capture: Option<File>,
    samples: Vec<File>,
    missing: Vec<String>,
}

#[derive(Serialize, Debug)]
struct File {
    tool: String,
    file: String,
    /// On its host.
    bytes: u64,
}

impl From<&Fetched> for File {
    fn from(fetched: &Fetched) -> File {
        File {
            tool: fetched.tool.clone(),
            file: fetched.file.clone(),
            bytes: fetched.bytes,
        }
    }
}

impl Manifest {
    #[must_use]
    pub fn new(
        plan: &Plan,
        collected: &Collected,
        diagnose: Vec<String>,
        version: &str,
    ) -> Manifest {
        let clocks: Vec<Option<Offset>> = collected.ends.iter().map(EndResult::clock).collect();
        let clock = match clocks.as_slice() {
            [Some(client), Some(server), ..] => Some(server.against(*client).into()),
            _ => None,
        };
        let ends = plan
            .ends
            .iter()
            .zip(&collected.ends)
            .map(|(plan, end)| of(plan, end));
        Manifest {
            schema: "slowside.capture/1",
            version: version.to_owned(),
            started_ns: collected.started_ns,
            ended_ns: collected.ended_ns,
            port: plan.port,
            for_ns: i64::try_from(plan.seconds.saturating_mul(1_000_000_000)).unwrap_or(i64::MAX),
            max_bytes: plan.max_bytes,
            when: plan
                .when
                .as_ref()
                .map(|when| waited(when, collected.crossed.as_ref())),
            clock,
            ends: ends.collect(),
            notes: plan.notes.iter().map(ToString::to_string).collect(),
            diagnose,
        }
    }
}

impl Manifest {
    /// As it stands in `manifest.json`.
    ///
    /// # Errors
    /// None that is known: it is all text and numbers.
    pub fn json(&self) -> std::io::Result<Vec<u8>> {
        let mut text = serde_json::to_vec_pretty(self)?;
        text.push(b'\n');
        Ok(text)
    }
}

impl EndResult {
    /// The better known of both.
    #[must_use]
    pub fn clock(&self) -> Option<Offset> {
        self.clocks
            .iter()
            .flatten()
            .min_by_key(|c| c.error_ns)
            .copied()
    }
}

fn of(plan: &EndPlan, end: &EndResult) -> End {
    let [before, after] = end.clocks;
    End {
        side: end.side.name(),
        place: end.place.clone(),
        by: plan.place.by(),
        host: plan.host.clone(),
        system: plan.system.clone(),
        address: plan.address.map(|a| a.to_string()),
        interface: plan.interface.clone(),
        filter: plan.filter.clone(),
        snaplen: plan.snaplen,
        command: quote::line(&plan.capture),
        clock_before: before.map(Clock::from),
        clock_after: after.map(Clock::from),
        ended: end.ended.name(),
        lasted_ns: end.seconds.saturating_mul(1_000_000_000),
        packets: end.counts,
        said: end.said.clone(),
        capture: end.capture.as_ref().map(File::from),
        samples: end.samples.iter().map(File::from).collect(),
        missing: end.missing.clone(),
    }
}
