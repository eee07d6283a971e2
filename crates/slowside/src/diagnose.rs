//! One or two captures into a diagnosis: reads them side by side and feeds the analysis.

mod midway;
mod side;

use crate::Error;
use crate::chosen::{Chosen, Rows};
use crate::config::{Captures, Config, Event};
use crate::conns::Gathered;
use crate::judged::AllJudged;
use crate::link::Wanted;
use crate::merge::Answers;
use crate::numbers::{Numbers, Opened};
use crate::run::{self, Selection, Tally};
use crate::stream::{Input, Stream, Times};
use analysis::charts::Charts;
use analysis::compare::Kept;
use analysis::compare::blocks::FIRST_WIDTH_NS;
use analysis::diagnose::Options;
use analysis::diagnosers::Diagnosers;
use analysis::facts::Thresholds;
use analysis::filter::Filter;
use analysis::ledgers::{Judged, Looked};
use analysis::results::{CaptureResult, ConnsResult, Diagnosis, Unpaired, Vantage};
use analysis::tiers::{Followed, Only};
use capture::Capture;
use side::{Side, count, feed, report};
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;

/// Reads one or two captures and says which side is slow.
///
/// Two captures of which nobody said where they were taken may be one: two ports of a tap, a file and
/// its successor, a file and its copy. They are read again as one when that explains them better.
///
/// # Errors
/// When no input of a capture can be read.
pub fn diagnose(
    captures: &Captures,
    config: &Config,
    events: &mut dyn FnMut(Event),
) -> Result<Diagnosis, Error> {
    let read = ReadOptions::new(config);
    Ok(read.by_peers(captures, events)?.diagnosis)
}

/// The same, with what [`compare`](crate::compare()) needs of it.
///
/// # Errors
/// When no input of a capture can be read.
pub fn measure(
    captures: &Captures,
    config: &Config,
    events: &mut dyn FnMut(Event),
) -> Result<(Diagnosis, Kept), Error> {
    let read = ReadOptions {
        measure: true,
        ..ReadOptions::new(config)
    };
    let d = read.by_hops(captures, events)?;
    let lost = || Error::Message("nothing was measured; please report this".into());
    Ok((d.diagnosis, d.kept.ok_or_else(lost)?))
}

/// A diagnosis, and what charts are drawn from.
pub(crate) struct Diagnosed {
    pub(crate) diagnosis: Diagnosis,
    pub(crate) charts: Charts,
    /// What a comparison needs, where that was asked for.
    pub(crate) kept: Option<Kept>,
    /// What was read as what in the end.
    pub(crate) captures: Captures,
    /// Each call's ledger, and its connection's number, where that was asked for.
    pub(crate) judged: Option<AllJudged>,
    /// The connections of the captures, where that was asked for.
    pub(crate) conns: Option<ConnsResult>,
    pub(crate) numbers: Numbers,
}

/// Said where captures are read as if they had been cut.
const NO_CALL_BEGAN: &str = "No call began within the times asked for: what went on within them is told as if the captures had been cut there.";

/// How captures are read.
#[derive(Clone, Copy)]
pub(crate) struct ReadOptions<'a> {
    pub(crate) config: &'a Config,
    /// Whether to gather what charts are drawn from.
    pub(crate) charts: bool,
    /// Whether to gather what comparisons need.
    pub(crate) measure: bool,
    /// Whether to list the connections, each with an account of its time.
    pub(crate) conns: bool,
    /// Whether to keep each call's ledger.
    pub(crate) rows: bool,
    /// What is asked of calls that are all looked at: ledgers are kept of those that pass.
    pub(crate) asked: Option<&'a Filter>,
    /// Where captures are read as if they had been cut to these times.
    pub(crate) times: Times,
    /// Which calls are looked at, where some are made by a host that works for others.
    pub(crate) only: Option<&'a Only>,
    /// Addresses of the host that each capture was taken at, where one is asked at one and asks from another.
    pub(crate) own: Option<&'a [Vec<IpAddr>; 2]>,
    /// Hosts of each capture that work for others with calls of their own, whose waits for these divide the calls to them.
    pub(crate) at_work: Option<&'a [Vec<IpAddr>; 2]>,
}

/// What was made of captures.
struct Made {
    diagnosis: Diagnosis,
    charts: Charts,
    kept: Option<Kept>,
    judged: Option<AllJudged>,
    conns: Option<ConnsResult>,
    chosen: Chosen,
    numbers: Numbers,
}

impl<'a> ReadOptions<'a> {
    pub(crate) fn new(config: &'a Config) -> ReadOptions<'a> {
        ReadOptions {
            config,
            charts: false,
            measure: false,
            conns: false,
            rows: false,
            asked: None,
            times: Times::default(),
            only: None,
            own: None,
            at_work: None,
        }
    }

    /// As two captures or one; where no call began within the times asked for, what goes on throughout is looked at,
    /// a copy or a long statement: of the captures as if they had been cut to these times.
    pub(crate) fn as_is_best(
        &self,
        captures: &Captures,
        events: &mut dyn FnMut(Event),
    ) -> Result<Diagnosed, Error> {
        let d = self.as_one_or_two(captures, events)?;
        let config = self.config;
        let times = Times::new(config.from, config.to);
        let has_calls = |d: &Diagnosed| d.diagnosis.captures.iter().any(|c| c.calls > 0);
        // Where rows are asked for, there are none: those of calls that began within.
        let is_answer = has_calls(&d) || self.rows || captures.are_piped();
        if !times.are_bounded() || is_answer || config.filter.is_some() {
            return Ok(d);
        }
        let all_times = Config {
            from: None,
            to: None,
            ..config.clone()
        };
        let cut = ReadOptions {
            config: &all_times,
            conns: false,
            times,
            ..*self
        };
        // What lies before says where they were taken.
        let as_known = match (captures, d.diagnosis.captures.as_slice()) {
            (Captures::One(a), [one]) => match one.side {
                Some(Vantage::Client) => Captures::Client(a.clone()),
                Some(Vantage::Server) => Captures::Server(a.clone()),
                _ => captures.clone(),
            },
            _ => captures.clone(),
        };
        let mut cut = cut.as_one_or_two(&as_known, events)?;
        let streams = cut.diagnosis.streams_ledger.as_ref();
        if !has_calls(&cut) && streams.is_none_or(|sums| sums.total.hi_ns == Some(0)) {
            return Ok(d);
        }
        for (own, before) in (cut.diagnosis.captures.iter_mut()).zip(&d.diagnosis.captures) {
            if own.side == before.side {
                own.side_from.clone_from(&before.side_from);
            }
        }
        cut.captures = d.captures;
        cut.conns = d.conns;
        cut.diagnosis.notes.push(NO_CALL_BEGAN.into());
        Ok(cut)
    }

    /// As two captures, or as one where that explains them better.
    fn as_one_or_two(
        &self,
        captures: &Captures,
        events: &mut dyn FnMut(Event),
    ) -> Result<Diagnosed, Error> {
        let d = self.read(captures, events)?;
        if let Some(alone) = self.as_clients_alone(&d, captures, events)? {
            return Ok(alone);
        }
        let Captures::Two(a, b) = captures else {
            return Ok(d);
        };
        let Some(why) = same_point(&d.diagnosis) else {
            return Ok(d);
        };
        let all: Vec<PathBuf> = a.iter().chain(b).cloned().collect();
        if captures.are_piped() {
            return Ok(d);
        }
        let copied = why == SamePoint::SameTimes
            && d.diagnosis
                .clock
                .is_some_and(|c| c.offset_ns.abs() > SAME_POINT_NS.max(c.uncertainty_ns));
        if copied {
            // Merged by time, a copy with another clock would double every call.
            let mut one = self.read(&Captures::One(a.clone()), events)?;
            one.diagnosis.notes.push(
                "Both captures hold the same packets with another clock: only the first is read."
                    .into(),
            );
            return Ok(one);
        }
        let mut one = self.read(&Captures::One(all), events)?;
        let better = match why {
            SamePoint::SameTimes => true,
            SamePoint::NothingInCommon => {
                let before: u64 = d.diagnosis.captures.iter().map(complete).sum();
                let after: u64 = one.diagnosis.captures.iter().map(complete).sum();
                let d = &d.diagnosis;
                !taken_at_both_ends(d) && (after > before || follow_each_other(&d.captures))
            }
        };
        if !better {
            return Ok(d);
        }
        one.diagnosis.notes.push(match why {
        SamePoint::SameTimes => "Both captures hold the same calls at the same times: they were taken at the same point and are read as one capture.".into(),
        SamePoint::NothingInCommon => "The two captures have no call in common but continue each other: they are read as one capture.".into(),
    });
        Ok(one)
    }

    /// A capture that is open already.
    pub(crate) fn one(&self, capture: Capture) -> Result<Diagnosis, Error> {
        let made = self.open(
            vec![capture.into()],
            [None, None],
            [None, None],
            None,
            &mut |_| {},
        )?;
        Ok(made.diagnosis)
    }

    /// As two captures, whatever they turn out to be.
    pub(crate) fn read(
        &self,
        captures: &Captures,
        events: &mut dyn FnMut(Event),
    ) -> Result<Diagnosed, Error> {
        let chosen = self.chosen(captures, events)?;
        let made = self.of(captures, chosen, events)?;
        Ok(Diagnosed {
            diagnosis: made.diagnosis,
            charts: made.charts,
            kept: made.kept,
            captures: captures.clone(),
            judged: made.judged,
            conns: made.conns,
            numbers: made.numbers,
        })
    }

    /// Of two captures with `--where`, the rows of each that are looked at.
    fn chosen(
        &self,
        captures: &Captures,
        events: &mut dyn FnMut(Event),
    ) -> Result<[Option<Rows>; 2], Error> {
        let asked = self.config.filter.as_ref();
        if asked.is_none() || !matches!(captures, Captures::Two(..) | Captures::Sides { .. }) {
            return Ok([None, None]);
        }
        crate::spool(captures, events)?;
        let all = Config {
            filter: None,
            ..self.config.unnoted()
        };
        let matching = ReadOptions {
            config: &all,
            charts: false,
            measure: false,
            conns: false,
            asked,
            ..*self
        };
        let made = matching.of(captures, [None, None], events)?;
        let sides = made.diagnosis.captures.iter();
        let client = sides
            .map(|c| c.side)
            .position(|s| s != Some(Vantage::Server));
        Ok(made.chosen.rows(client.unwrap_or(0)).map(Some))
    }

    fn of(
        &self,
        captures: &Captures,
        chosen: [Option<Rows>; 2],
        events: &mut dyn FnMut(Event),
    ) -> Result<Made, Error> {
        let inputs = captures.inputs();
        let count = inputs.len();
        let inputs = inputs.into_iter();
        let opened = inputs.map(|files| run::input(files, self.config, count));
        let opened: Result<Vec<Input>, Error> = opened.collect();
        let list = self.conns.then(|| Gathered::new(captures));
        self.open(opened?, captures.stated(), chosen, list, events)
    }

    fn open(
        &self,
        captures: Vec<Input>,
        stated: [Option<Vantage>; 2],
        chosen: [Option<Rows>; 2],
        mut conns: Option<Gathered>,
        events: &mut dyn FnMut(Event),
    ) -> Result<Made, Error> {
        let mut diagnoser = self.diagnoser(captures.len(), stated);
        // Each end as it would be alone, to be compared with a run that has no other.
        let mut ends = Vec::new();
        if self.measure && captures.len() == 2 {
            ends.resize_with(2, || self.of_one_end());
        }
        let mut sides = self.sides(captures);
        for (side, chosen) in sides.iter_mut().zip(chosen) {
            side.chosen = chosen;
        }
        let mut asked = Chosen::default();
        let mut records = Answers::default();
        let mut opened_at = Opened::default();
        while !sides.iter().all(|s| s.ended) {
            let which = match sides.as_slice() {
                [_] => 0,
                [a, _] if a.ended => 1,
                [_, b] if b.ended => 0,
                _ => diagnoser.next(),
            };
            let side = &mut sides[which];
            side.ended = !side.stream.next(&mut records);
            count(side, &records);
            feed(&mut diagnoser, which, side, &records);
            if let Some(end) = ends.get_mut(which) {
                feed(end, 0, side, &records);
            }
            if let Some(conns) = &mut conns {
                conns.add(which, &records);
            }
            if self.rows {
                records.connections().for_each(|c| opened_at.add(which, c));
            }
            if let Some(filter) = self.asked {
                let rows = side.rows_of(&records);
                for (row, call) in (side.rows..).zip(rows) {
                    asked.asked(which, row, filter.matches(call));
                }
            }
            if self.asked.is_some() || side.chosen.is_some() {
                side.rows += side.rows_of(&records).count() as u64;
            }
            report(&sides, events);
        }
        let (mut results, mut read) = (Vec::new(), Vec::new());
        for mut side in sides {
            let finished = side.stream.take_finished()?;
            results.push(side.tally.result(&finished));
            read.push((finished, side.selection));
        }
        let conns = conns.map(|conns| conns.finish(read).result);
        let as_read = results.clone();
        let mut judged = self.rows.then(AllJudged::default);
        let mut unpaired = Vec::new();
        // Which of two captures is the client's is known when all is judged: too many rather than too few are kept.
        let is_asked = |asked: &Chosen, row| {
            self.asked.is_none() || (0..2).any(|which| asked.passes(which, row))
        };
        let (diagnosis, charts, whole) = match self.rows || self.asked.is_some() {
            false => diagnoser.finish_measured(results),
            true => {
                let mut look = |l: &Looked<'_>| {
                    let server_row = l.server.map(|s| s.row);
                    let Some(all) = &mut judged else {
                        server_row
                            .into_iter()
                            .for_each(|row| asked.matched(l.row, row));
                        return;
                    };
                    if !is_asked(&asked, l.row) {
                        return all.match_only(server_row);
                    }
                    let one = Judged {
                        ledger: l.ledger.clone(),
                        in_diagnosis: l.is_judged,
                        server: l.server.and_then(|s| s.seen),
                        clock_offset_ns: l.clock_offset_ns,
                        application: l.application,
                    };
                    let of = usize::from(l.is_at_server_alone);
                    all.add(of, l.row, &one, server_row);
                };
                let mut list = |one: Unpaired| unpaired.push(one);
                diagnoser.finish_looked_at(results, &mut look, &mut list)
            }
        };
        let mut alone = Vec::new();
        for ((mut end, result), capture) in ends.into_iter().zip(as_read).zip(&diagnosis.captures) {
            if let Some(side) = capture.side {
                end.state(side);
            }
            alone.extend(end.finish_measured(vec![result]).2);
        }
        let kept = whole.map(|whole| Kept {
            whole,
            ends: alone,
            tiers: Vec::new(),
            layers: diagnosis.layers.clone(),
        });
        let of_server = |c: &CaptureResult| c.side == Some(Vantage::Server);
        let is_exchanged = diagnosis.captures.first().is_some_and(of_server);
        let numbers = opened_at.number(is_exchanged);
        for Unpaired { capture, row, why } in unpaired {
            let Some(all) = &mut judged else { continue };
            match why {
                None => all.match_only(Some(row)),
                Some(why) if is_asked(&asked, row) => {
                    all.add_unpaired(capture ^ usize::from(is_exchanged), row, why);
                }
                Some(_) => {}
            }
        }
        Ok(Made {
            numbers,
            diagnosis,
            charts,
            kept,
            judged,
            conns,
            chosen: asked,
        })
    }

    fn options(&self, captures: usize, stated: [Option<Vantage>; 2]) -> Options {
        let config = self.config;
        Options {
            thresholds: Thresholds {
                fast_enough_ns: config.fast_enough_ns,
                tail_ns: config.tail_ns,
            },
            stated,
            clock_offset_ns: config.clock_offset_ns,
            statements_bytes: run::share(config, captures).statements_bytes,
            whole: config.from.is_none() && config.to.is_none() && config.filter.is_none(),
            app: config.app.clone(),
            server_app: config.server_app.clone(),
            hosts: Arc::clone(&config.hosts),
            passes_on: self.only.is_some_and(|only| only.pass_on),
            has_peers: !config.peers.is_empty(),
        }
    }

    /// Of so many captures, with everything that is asked for.
    fn diagnoser(&self, captures: usize, stated: [Option<Vantage>; 2]) -> Diagnosers {
        let mut diagnoser = Diagnosers::new(captures, self.options(captures, stated));
        if self.charts {
            diagnoser = diagnoser.with_charts(captures);
        }
        if self.rows || self.asked.is_some() {
            diagnoser.keep_rows();
        }
        if self.measure {
            diagnoser.measure();
        }
        for (which, own) in self.own.into_iter().flatten().enumerate() {
            diagnoser.own(which, own);
        }
        for (which, hosts) in self.at_work.into_iter().flatten().enumerate() {
            if !hosts.is_empty() {
                let own = self.own.map_or(&[][..], |own| &own[which]);
                diagnoser.follow(which, Followed::new(hosts, own));
            }
        }
        diagnoser
    }

    fn of_one_end(&self) -> Diagnosers {
        let options = Options {
            app: None,
            hosts: Arc::default(),
            ..self.options(1, [None, None])
        };
        let mut end = Diagnosers::new(1, options);
        end.measure();
        end
    }

    fn sides(&self, captures: Vec<Input>) -> Vec<Side<'a>> {
        let wanted = match (self.measure, self.conns) {
            (true, _) => Wanted::Measured(FIRST_WIDTH_NS),
            (false, true) => Wanted::Reported,
            (false, false) => Wanted::Everything,
        };
        let share = run::share(self.config, captures.len());
        let side = |capture| Side {
            stream: Stream::start_within(capture, share, wanted, self.times),
            tally: Tally::default(),
            selection: Selection::new(self.config),
            only: self.only,
            lists_connections: self.conns,
            chosen: None,
            rows: 0,
            ended: false,
        };
        captures.into_iter().map(side).collect()
    }
}

/// Why two captures look like one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SamePoint {
    SameTimes,
    NothingInCommon,
}

/// Copies of one packet differ by less than this between two ports of one host or tap.
pub(crate) const SAME_POINT_NS: i64 = 1_000;

fn same_point(d: &Diagnosis) -> Option<SamePoint> {
    let matched: Vec<_> = d.ops.iter().filter_map(|o| o.matched.as_ref()).collect();
    if matched.is_empty() {
        return Some(SamePoint::NothingInCommon);
    }
    let same = matched.iter().all(|m| {
        m.difference_mean_ns.abs() < SAME_POINT_NS && m.difference_p50_ns.abs() < SAME_POINT_NS
    });
    same.then_some(SamePoint::SameTimes)
}

/// Calls of which a capture holds both halves.
fn complete(c: &CaptureResult) -> u64 {
    c.calls - c.half_calls.iter().map(|(_, n)| n).sum::<u64>()
}

/// Whether the packets themselves say that one was taken at the client and one at the server.
fn taken_at_both_ends(d: &Diagnosis) -> bool {
    let own: Vec<_> = d.captures.iter().map(|c| c.concluded).collect();
    own.contains(&Some(Vantage::Client)) && own.contains(&Some(Vantage::Server))
}

/// Whether one capture begins where the other ends, as files of one rotated set do.
pub(crate) fn follow_each_other(captures: &[CaptureResult]) -> bool {
    const PAUSE_NS: i64 = 60_000_000_000;
    let [a, b] = captures else {
        return false;
    };
    let follows = |x: &CaptureResult, y: &CaptureResult| {
        x.last
            .zip(y.first)
            .is_some_and(|(last, first)| (0..PAUSE_NS).contains(&(first - last)))
    };
    follows(a, b) || follows(b, a)
}
