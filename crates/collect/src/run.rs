//! A plan, into files of both ends: a folder of its own on each host, captures begun at the same time, watched, ended,
//! fetched, and all of it removed, whatever happens in between.
//!
//! What runs on a host ends and removes itself ([`EndPlan::runners`]); so whoever is cut off loses nothing but what he
//! cannot fetch.

mod watcher;

use crate::clock::{self, Offset};
use crate::facts::{self, is_path, lines, shown};
use crate::look::{Host, Ready};
use crate::plan::{EndPlan, GRACE_S, Plan, Problem, Side, Tool};
use crate::quote;
use crate::reach::Failure;
use crate::samples;
use crate::{Error, Event, everywhere};
use std::io::{self, Seek, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::thread;
use std::time::{Duration, Instant};
use trace::host::CaptureCounts;
pub use watcher::Crossed;
use watcher::Watcher;

/// How long what is asked of a host may take.
const SOON: Duration = Duration::from_secs(60);

/// How long a capture may come, which is less than hosts keep it.
const FETCH: Duration = Duration::from_secs(2_700);

/// A host that cannot be reached any more is tried so often, with so much between.
const TRIES: usize = 3;
const BETWEEN: Duration = Duration::from_secs(3);

/// The most that is fetched of samples.
const SAMPLE_BYTES: u64 = 1 << 30;

/// Why a capture ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    /// It was told to.
    Asked,
    /// Nobody told it to, and its time was over.
    Time,
    /// It had as much as it may have.
    Size,
    /// The disk was about to be full.
    Disk,
    /// The program ended by itself.
    Died,
    Unknown,
}

impl Ended {
    fn read(word: &str) -> Ended {
        match word {
            "stopped" => Ended::Asked,
            "time" => Ended::Time,
            "size" => Ended::Size,
            "disk" => Ended::Disk,
            "died" => Ended::Died,
            _ => Ended::Unknown,
        }
    }

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Ended::Asked => "asked",
            Ended::Time => "time",
            Ended::Size => "size",
            Ended::Disk => "disk",
            Ended::Died => "died",
            Ended::Unknown => "unknown",
        }
    }
}

/// A file that was fetched: what it is of, and its path in the folder.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fetched {
    pub tool: String,
    pub file: String,
    pub bytes: u64,
}

/// What came of an end.
#[derive(Clone, Debug)]
pub struct EndResult {
    pub side: Side,
    pub place: String,
    pub ended: Ended,
    pub seconds: u64,
    pub counts: CaptureCounts,
    /// What the program said last.
    pub said: String,
    pub capture: Option<Fetched>,
    pub samples: Vec<Fetched>,
    /// Its clock against ours, before and behind.
    pub clocks: [Option<Offset>; 2],
    /// Why something of it is missing.
    pub missing: Vec<String>,
}

/// What came of both.
#[derive(Clone, Debug)]
pub struct Collected {
    pub started_ns: i64,
    pub ended_ns: i64,
    /// What was waited for, once it happened.
    pub crossed: Option<Crossed>,
    pub ends: Vec<EndResult>,
}

impl Ready {
    /// Captures, and fetches into `output`, a folder that is there.
    ///
    /// # Errors
    /// When an end cannot begin; then nothing is left there. What cannot be fetched is no error, but said in the result.
    pub fn capture(
        &mut self,
        output: &Path,
        stop: &AtomicBool,
        tell: &mut dyn FnMut(Event),
    ) -> Result<Collected, Error> {
        let plan = self.plan.clone();
        let result = self.captured(&plan, output, stop, tell);
        // Also where something failed.
        let left = everywhere(&mut self.hosts, tell, |host, _| remove(host))?;
        for (host, left) in self.hosts.iter_mut().zip(left) {
            if let Err(why) = left {
                tell(Event::Left {
                    side: host.side,
                    place: host.place.clone(),
                    folder: host.folder.clone().unwrap_or_default(),
                    why: why.to_string(),
                });
            }
            host.folder = None;
        }
        result
    }

    fn captured(
        &mut self,
        plan: &Plan,
        output: &Path,
        stop: &AtomicBool,
        tell: &mut dyn FnMut(Event),
    ) -> Result<Collected, Error> {
        let hosts = &mut self.hosts;
        let ready = everywhere(hosts, tell, |host, _| prepare(host, plan))?;
        all(
            hosts,
            ready,
            "no folder could be made there",
            "name another with --remote-dir",
        )?;
        if stop.load(Ordering::Relaxed) {
            return Err(Error::Stopped);
        }
        let started = everywhere(hosts, tell, |host, _| start(host))?;
        all(
            hosts,
            started,
            "the capture did not begin",
            "try its command there, which --dry-run shows",
        )?;
        let started_ns = clock::now_ns();
        tell(Event::Started);
        // When one end has ended, more of the other is of no use.
        let enough = AtomicBool::new(false);
        let watched = everywhere(hosts, tell, |host, events| {
            watch(host, plan, stop, &enough, events)
        })?;
        let ended_ns = clock::now_ns();
        let crossed = watched.into_iter().collect::<Result<Vec<_>, _>>();
        let crossed = crossed.map_err(Error::Blind)?.into_iter().flatten().next();
        if plan.when.is_some() && crossed.is_none() && !stop.load(Ordering::Relaxed) {
            return Err(Error::Never(plan.seconds));
        }
        tell(Event::Fetching);
        let ends = everywhere(hosts, tell, |host, events| {
            fetched(host, plan, output, events)
        })?;
        Ok(Collected {
            started_ns,
            ended_ns,
            crossed,
            ends,
        })
    }
}

/// All that failed, if something did.
fn all(
    hosts: &[Host],
    results: Vec<Result<(), Failure>>,
    what: &str,
    cure: &str,
) -> Result<(), Error> {
    let problem = |(host, result): (&Host, Result<(), Failure>)| {
        let why = shown(&result.err()?.to_string());
        Some(Problem {
            side: host.side,
            place: host.place.clone(),
            what: format!("{what} ({why})"),
            cure: cure.to_owned(),
        })
    };
    let problems: Vec<Problem> = hosts.iter().zip(results).filter_map(problem).collect();
    match problems.is_empty() {
        true => Ok(()),
        false => Err(Error::Missing(problems)),
    }
}

fn end_plan<'a>(host: &Host, plan: &'a Plan) -> Result<&'a EndPlan, Failure> {
    plan.ends
        .iter()
        .find(|e| e.side == host.side)
        .ok_or_else(|| refused("nothing is planned for it"))
}

fn refused(why: &str) -> Failure {
    Failure::Failed {
        code: None,
        said: why.to_owned(),
    }
}

fn script(host: &Host, body: &str) -> String {
    let folder = host.folder.as_deref().unwrap_or_default();
    quote::script(&[("folder", folder)], &format!("{}{body}", facts::COMMON))
}

/// A folder of its own there, and in it what runs.
fn prepare(host: &mut Host, plan: &Plan) -> Result<(), Failure> {
    let end = end_plan(host, plan)?;
    let begin = format!("{}/slowside.", end.folder.trim_end_matches('/'));
    let script = format!(
        "umask 077; mktemp -d {}",
        quote::word(&format!("{begin}XXXXXX"))
    );
    let said = host.reach.run(&script, SOON)?;
    let folder = said.trim();
    // It is removed later, with all that is in it.
    let is_ours = folder
        .strip_prefix(&begin)
        .is_some_and(|end| !end.is_empty() && !end.contains('/'));
    if !is_path(folder) || !is_ours {
        return Err(refused("mktemp says no folder of that name"));
    }
    host.folder = Some(folder.to_owned());
    for (name, runner) in end.runners(plan, folder) {
        let path = format!("{folder}/{name}");
        host.reach.put(runner.as_bytes(), &path, SOON)?;
    }
    Ok(())
}

fn start(host: &mut Host) -> Result<(), Failure> {
    let said = host
        .reach
        .run(&script(host, include_str!("scripts/start.sh")), SOON)?;
    match said.trim() {
        "runs" => Ok(()),
        other => Err(refused(other)),
    }
}

/// Until its time is over, it ended by itself, what is waited for has happened here, or somebody has enough of it. A
/// connection that is lost is tried again.
fn watch(
    host: &mut Host,
    plan: &Plan,
    stop: &AtomicBool,
    enough: &AtomicBool,
    events: &Sender<Event>,
) -> Result<Option<Crossed>, Problem> {
    let begun = Instant::now();
    let mut over = Duration::from_secs(plan.seconds);
    let state = format!("state {}", host.folder.as_deref().unwrap_or_default());
    let (mut lost, mut next) = (false, begun);
    let mut watcher = Watcher::of(host, plan);
    let mut crossed = None;
    loop {
        let is_over = begun.elapsed() >= over;
        if stop.load(Ordering::Relaxed) || enough.load(Ordering::Relaxed) || is_over {
            // Of all the others nobody watches.
            if crossed.is_some() {
                enough.store(true, Ordering::Relaxed);
            }
            return Ok(crossed);
        }
        if let Some((watching, when)) = watcher.as_mut().zip(plan.when.as_ref()) {
            match watching.look(host, events) {
                Ok(None) => {}
                Ok(Some(what)) => {
                    watcher = None;
                    over = begun.elapsed() + Duration::from_secs(when.after_s);
                    let after_s = when.after_s;
                    crossed = Some(what.clone());
                    let _ = events.send(Event::Crossed { what, after_s });
                }
                Err(why) => {
                    enough.store(true, Ordering::Relaxed);
                    return Err(why);
                }
            }
        }
        if Instant::now() < next {
            thread::sleep(Duration::from_millis(50));
            continue;
        }
        next = Instant::now() + Duration::from_secs(1);
        match host.ask(&state, Duration::from_secs(5)) {
            Ok(said) => {
                if std::mem::take(&mut lost) {
                    let _ = events.send(Event::Again(host.side, host.place.clone()));
                }
                if progress(host.side, &said, events) {
                    enough.store(true, Ordering::Relaxed);
                }
            }
            Err(_) if lost => {}
            Err(_) => {
                lost = true;
                let left = over.saturating_sub(begun.elapsed()).as_secs() + GRACE_S;
                let _ = events.send(Event::Lost {
                    side: host.side,
                    place: host.place.clone(),
                    ends_within_s: left,
                });
            }
        }
    }
}

/// Tells how far a capture is, by its host's line, and gives whether it is over.
fn progress(side: Side, said: &str, events: &Sender<Event>) -> bool {
    let mut words = said.split(' ');
    let is_over = words.next() == Some("ended");
    let mut number = || {
        let word = words.next().and_then(|w| w.parse::<u64>().ok());
        word.unwrap_or(0)
    };
    let _ = events.send(Event::Progress {
        side,
        seconds: number(),
        bytes: number().saturating_mul(1_024),
    });
    is_over
}

/// Ends it, and brings home what it has.
fn fetched(host: &mut Host, plan: &Plan, output: &Path, events: &Sender<Event>) -> EndResult {
    let mut result = EndResult {
        side: host.side,
        place: host.place.clone(),
        ended: Ended::Unknown,
        seconds: 0,
        counts: CaptureCounts::default(),
        said: String::new(),
        capture: None,
        samples: Vec::new(),
        clocks: [host.found.clock, None],
        missing: Vec::new(),
    };
    let finish = script(host, include_str!("scripts/finish.sh"));
    let said = match again(|| host.reach.run(&finish, SOON)) {
        Ok(said) => said,
        Err(why) => {
            result.missing.push(format!(
                "it cannot be reached any more ({why}): its capture ended by itself, and what it has in {} removes itself",
                host.folder.as_deref().unwrap_or_default()
            ));
            // There is nobody who could remove it.
            host.folder = None;
            return result;
        }
    };
    let mut words = Vec::new();
    let mut capture_bytes = 0;
    for (name, value) in lines(&said) {
        match name {
            "ended" => {
                let mut parts = value.split(' ');
                result.ended = Ended::read(parts.next().unwrap_or_default());
                result.seconds = parts.nth(1).and_then(|s| s.parse().ok()).unwrap_or(0);
            }
            "said" => words.push(value),
            "capture" => capture_bytes = value.parse().unwrap_or(0),
            _ => {}
        }
    }
    result.counts = CaptureCounts::read(words.iter().copied());
    result.said = words
        .iter()
        .rfind(|w| !w.contains(" packet"))
        .map_or_else(String::new, |w| shown(w));
    result.clocks[1] = host.clock();
    let Ok(end) = end_plan(host, plan) else {
        return result;
    };
    if capture_bytes == 0 {
        result.missing.push("it has no capture".to_owned());
    } else {
        match again(|| capture(host, end, plan, output, capture_bytes)) {
            Ok(fetched) => result.capture = Some(fetched),
            Err(why) => result.missing.push(not_fetched("its capture", &why)),
        }
    }
    let _ = events.send(Event::Fetched(host.side));
    match again(|| samples(host, output)) {
        Ok(fetched) => result.samples = fetched,
        Err(why) => result.missing.push(not_fetched("its counters", &why)),
    }
    // Of rings each piece counts by itself.
    if plan.when.is_none() && result.counts.captured.is_some() {
        match samples::keep(output, host.side.name(), end.tool.name(), &words.join("\n")) {
            Ok(kept) => result.samples.push(kept),
            Err(why) => result.missing.push(format!(
                "what its {} counted could not be kept: {why}",
                end.tool.name()
            )),
        }
    }
    result
}

fn not_fetched(what: &str, why: &Failure) -> String {
    format!("{what} could not be fetched ({})", shown(&why.to_string()))
}

/// Its capture, into a file that is there whole, or not at all.
fn capture(
    host: &Host,
    end: &EndPlan,
    plan: &Plan,
    output: &Path,
    bytes: u64,
) -> Result<Fetched, Failure> {
    let (through, ending) = end.through;
    let form = match end.tool {
        Tool::Snoop => "snoop",
        Tool::Tcpdump => "pcap",
    };
    let name = format!("{}.{form}{ending}", host.side.name());
    let from = format!(
        "{}/capture.pcap",
        host.folder.as_deref().unwrap_or_default()
    );
    let script = format!("exec {through} <{}", quote::word(&from));
    let most = plan.max_bytes.saturating_mul(2).saturating_add(128 << 20);
    let mut file = tempfile::NamedTempFile::new_in(output).map_err(Failure::Sink)?;
    let mut out = io::BufWriter::new(&mut file);
    host.reach.get(&script, most, FETCH, &mut out)?;
    out.flush().map_err(Failure::Sink)?;
    drop(out);
    let to = output.join(&name);
    let _ = file
        .persist_noclobber(to)
        .map_err(|e| Failure::Sink(e.error))?;
    Ok(Fetched {
        tool: end.tool.name().to_owned(),
        file: name,
        bytes,
    })
}

/// What it sampled.
fn samples(host: &Host, output: &Path) -> Result<Vec<Fetched>, Failure> {
    let from = format!("{}/samples", host.folder.as_deref().unwrap_or_default());
    let script = format!("cd {} && {}", quote::word(&from), samples::STREAM);
    let mut file = tempfile::tempfile_in(output).map_err(Failure::Sink)?;
    let mut out = io::BufWriter::new(&mut file);
    host.reach.get(&script, SAMPLE_BYTES, FETCH, &mut out)?;
    out.flush().map_err(Failure::Sink)?;
    drop(out);
    file.rewind().map_err(Failure::Sink)?;
    samples::unpack(file, output, host.side.name()).map_err(Failure::Sink)
}

/// Where the way there failed it may be there again.
fn again<T>(mut what: impl FnMut() -> Result<T, Failure>) -> Result<T, Failure> {
    let mut tries = 1;
    loop {
        match what() {
            Err(why) if why.is_of_the_way() && tries < TRIES => {
                tries += 1;
                thread::sleep(BETWEEN);
            }
            done => return done,
        }
    }
}

/// Ends what runs there, and leaves nothing.
fn remove(host: &mut Host) -> Result<(), Failure> {
    host.talk = None;
    match &host.folder {
        Some(_) => again(|| {
            host.reach
                .run(&script(host, include_str!("scripts/remove.sh")), SOON)
        })
        .map(|_| ()),
        None => Ok(()),
    }
}

#[cfg(unix)]
#[cfg(test)]
mod tests;
