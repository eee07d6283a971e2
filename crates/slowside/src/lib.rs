//! The engine: wires captures, connections, protocols and analysis together and owns the threads.
//!
//! Nothing in here prints; what is worth telling while it runs leaves as [`Event`]s.

mod beneath;
mod calls;
mod chosen;
mod compare;
mod config;
mod conns;
mod cut;
mod diagnose;
mod dumps;
mod ends;
mod firsts;
mod flows;
mod hops;
mod judged;
mod link;
mod live;
mod merge;
mod numbers;
mod packets;
mod peers;
mod plots;
mod report;
mod room;
mod run;
mod series;
mod sort;
mod span;
pub mod split;
mod spool;
mod sql;
mod sqlnet;
mod startup;
mod stream;
mod sweeps;
mod tiers;
mod trace;
mod waiting;

/// Whether two names are those of one file.
pub use capture::same_file;

pub use calls::{CallSeen, CallSink, calls};
pub use compare::{Run, compare, saved};
pub use config::{Captures, Config, Event, Moment, Source};
pub use conns::{conns, series};
pub use cut::{CutCapture, CutRequest, CutResult, Frames, Open, WhichFinding, cut, is_cut};
pub use diagnose::{diagnose, measure};
pub use ends::{Ends, ends};
pub use live::{Control, Keep, LiveEvent, LiveOptions, RingFill, Unwritten, Written, live};
pub use packets::{info, stat};
pub use plots::{plots, points_within};
pub use report::{ReportOptions, report};
pub use run::Sink;
pub use series::RowSink;
pub use sort::{Key as SortKey, Sorter};
pub use spool::spool;
pub use sql::sql;
pub use startup::startup;
pub use trace::trace;

use analysis::file_names::FileNames;
use analysis::group::{Groups, Key};
use analysis::metrics::{Metrics, MetricsResult, PacketCounts};
use analysis::results::{CaptureResult, OpsResult, Order};
use analysis::tiers::Followed;
use link::Wanted;
use model::Call;
use std::path::PathBuf;

/// Why a run could not be done.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// One line, with the cure.
    #[error("{0}")]
    Message(String),
    /// What takes the calls failed.
    #[error("could not write: {0}")]
    Output(#[from] std::io::Error),
}

/// Reads one capture and hands every call to `sink`, in order of completion, as soon as it is over and
/// without its ledger. The second argument of `sink` names the capture's files.
///
/// # Errors
/// When no input can be read, or `sink` fails.
pub fn each_call(
    inputs: &[PathBuf],
    config: &Config,
    sink: &mut dyn FnMut(&Call, &[String]) -> std::io::Result<()>,
    events: &mut dyn FnMut(Event),
) -> Result<CaptureResult, Error> {
    run::read(inputs, config, sink, events)
}

/// Reads one capture and groups its calls.
///
/// # Errors
/// When no input can be read.
pub fn ops(
    inputs: &[PathBuf],
    config: &Config,
    keys: &[Key],
    events: &mut dyn FnMut(Event),
) -> Result<OpsResult, Error> {
    let mut groups = Groups::new(keys.to_vec());
    let mut add = |call: &Call, _: &FileNames, _: &[String]| {
        groups.add(call);
        Ok(())
    };
    // Nobody else asks how files are called.
    let wanted = match keys.contains(&Key::File) {
        true => Wanted::Named,
        false => Wanted::Grouped,
    };
    let read = run::read_wanted(inputs, config, wanted, &mut add, events)?;
    let (mut capture, names) = (read.result, read.names);
    let hosts = read.met.both();
    if !hosts.is_empty() && !Captures::One(inputs.to_vec()).are_piped() {
        let followed = Followed::new(&hosts, &read.met.addresses());
        let number = |call: &Call| groups.number(call);
        let followed = beneath::read(followed, inputs, config, number, events)?;
        followed.told(|number, of| groups.beneath(number, of.whole));
    }
    capture.problems.merge(&groups.problems);
    let mut groups = groups.finish();
    for group in groups.iter_mut() {
        group.path = group.file().and_then(|file| names.path(file));
    }
    let total_ns = groups.iter().map(|g| g.stats.total_ns).sum();
    Ok(OpsResult {
        captures: vec![capture],
        groups,
        total_ns,
        order: Order::default(),
    })
}

/// Reads one capture and counts its calls by protocol and these keys, as [`live()`] does.
///
/// # Errors
/// When no input can be read.
pub fn metrics(
    inputs: &[PathBuf],
    config: &Config,
    keys: &[Key],
    events: &mut dyn FnMut(Event),
) -> Result<(MetricsResult, CaptureResult), Error> {
    let mut metrics = Metrics::new(keys);
    let mut add = |call: &Call, _: &FileNames, _: &[String]| {
        metrics.call(call);
        Ok(())
    };
    // How long TCP held calls back is among them.
    let capture = run::read_wanted(inputs, config, Wanted::Calls, &mut add, events)?.result;
    Ok((metrics.of(PacketCounts::of(&capture)), capture))
}
