//! Calls of known protocols and turns of unknown ones, diagnosed apart.
//!
//! What a turn waits for nobody knows: a server that is asked to wait for an event is not slow. So
//! turns are only held against anybody where calls of known protocols are not what the captures are
//! about: some calls beside ten times as many turns, as long as these calls are not slow. Otherwise turns are listed and have no
//! part in the account.
//!
//! Nor is a capture about the lookups of names that stand before calls: they are listed and never judged,
//! as nobody knows who waits for one. `slowside startup` tells what they cost a client.
//!
//! Turns come without [`Outstanding`] records, as a connection has one at a time by construction: how
//! many are under way counts connections, and is neither a client's limit nor a server's queue or
//! stall. So none of the findings about those is ever made of turns.

use crate::charts::Charts;
use crate::compare::Snapshot;
use crate::compare::gather::Wire;
use crate::diagnose::{Diagnoser, Kind, Options};
use crate::facts::FEW_TURNS;
use crate::files::{self, Exports, Files};
use crate::ledgers::{Look, Looked};
use crate::pressure::Ends;
use crate::results::{
    CaptureResult, Diagnosis, OpResult, Side, TierResult, Unpaired, Vantage, What,
};
use crate::startup::{Startup, is_of_startup};
use crate::streams::{Gathered, WORTH_A_LOOK_NS};
use crate::text::{Text, Value, text};
use crate::tiers::{Followed, Tier, Tiers};
use foldhash::fast::FixedState;
use hashbrown::{HashMap, HashSet};
use ledger::Ledger;
use model::{
    Arp, Call, ConnectionSummary, Episode, FileName, Gap, Interval, Knock, Notice, Outstanding,
    Protocol, Time,
};
use std::net::IpAddr;
use std::sync::Arc;

/// Calls of known protocols are what the captures are about unless there are so many times more turns.
const MINORITY: u64 = 10;

/// A diagnosis in the making, of each kind.
pub struct Diagnosers {
    calls: Diagnoser,
    turns: Diagnoser,
    lookups: Diagnoser,
    gathered: Gathered,
    /// Calls seen so far, by capture.
    rows: [u64; 2],
    startups: [Startup; 2],
    files: [Files; 2],
    tiers: [Tiers; 2],
    /// Calls to hosts that work for others with calls of their own, and these, where it is known which hosts do.
    followed: [Option<Followed>; 2],
    /// What connections did over time, where a comparison is wanted.
    wire: Option<Box<[Wire; 2]>>,
    charts: Option<Charts>,
}

impl Diagnosers {
    #[must_use]
    pub fn new(captures: usize, options: Options) -> Diagnosers {
        let ends = Ends::of(&options.hosts);
        Diagnosers {
            calls: Diagnoser::new(captures, options.clone(), Kind::Calls),
            turns: Diagnoser::new(captures, options.clone(), Kind::Turns),
            lookups: Diagnoser::new(
                captures,
                Options {
                    app: None,
                    server_app: None,
                    hosts: Arc::default(),
                    ..options
                },
                Kind::Turns,
            ),
            gathered: Gathered::with(ends),
            rows: [0; 2],
            startups: Default::default(),
            files: Default::default(),
            tiers: Default::default(),
            followed: Default::default(),
            wire: None,
            charts: None,
        }
    }

    /// Keeps what a comparison needs; to be said before the first record.
    pub fn measure(&mut self) {
        self.calls.measure();
        self.turns.measure();
        self.wire = Some(Box::default());
    }

    /// The only capture was taken there, as is known from elsewhere; to be said before the end.
    pub fn state(&mut self, vantage: Vantage) {
        for d in [&mut self.calls, &mut self.turns, &mut self.lookups] {
            d.state(vantage);
        }
    }

    /// Capture `which` begins so.
    pub fn begins(&mut self, which: usize, at: Time) {
        self.calls.begins(which, at);
        self.turns.begins(which, at);
        if let Some(tiers) = self.tiers.get_mut(which) {
            tiers.begins(at);
        }
        if let Some(wire) = self.wire.as_mut().and_then(|w| w.get_mut(which)) {
            wire.begin(at);
        }
    }

    /// What a connection of capture `which` did in an interval.
    pub fn interval(&mut self, which: usize, interval: &Interval) {
        if let Some(wire) = self.wire.as_mut().and_then(|w| w.get_mut(which)) {
            wire.interval(interval);
        }
    }

    /// Gathers what charts are drawn from as well, from here on.
    #[must_use]
    pub fn with_charts(mut self, captures: usize) -> Diagnosers {
        self.charts = Some(Charts::new(captures));
        self.calls.keep_ladders();
        self.turns.keep_ladders();
        self
    }

    /// What a packet of capture `which` said of a file's name; to be told before calls that came later.
    pub fn file_name(&mut self, which: usize, said: &FileName) {
        if let Some(files) = self.files.get_mut(which) {
            files.name(said);
        }
    }

    /// Takes a call of capture `which`.
    pub fn call(&mut self, which: usize, call: &Call) {
        let row = self.rows[which];
        self.rows[which] += 1;
        if let Some(files) = self.files.get_mut(which)
            && !call.protocol.is_callback()
        {
            files.call(call);
        }
        if let Some(startup) = self.startups.get_mut(which)
            && is_of_startup(call)
        {
            startup.call(call);
        }
        if let Some(charts) = &mut self.charts {
            charts.call(which, call);
        }
        match call.protocol {
            Protocol::Tcp => self.turns.call(which, call, row),
            p if p.is_lookup() => self.lookups.call(which, call, row),
            // Who asks to be told of changes waits for somebody to make one.
            Protocol::Smb2 if call.op.as_str() == "CHANGE_NOTIFY" => {
                self.lookups.call(which, call, row);
            }
            _ => self.calls.call(which, call, row),
        }
    }

    /// A call that nobody asked for: what it says of its connection holds all the same.
    pub fn beside(&mut self, which: usize, call: &Call) {
        match call.protocol {
            Protocol::Tcp => self.turns.beside(which, call),
            _ => self.calls.beside(which, call),
        }
    }

    /// A packet that asks for something before there is a call.
    pub fn knock(&mut self, which: usize, knock: &Knock) {
        if let Some(startup) = self.startups.get_mut(which) {
            startup.knock(knock);
        }
    }

    /// An ARP packet of capture `which`.
    pub fn arp(&mut self, which: usize, arp: &Arp) {
        if let Some(health) = self.gathered.health.get_mut(which) {
            health.arp(arp);
        }
        if let Some(startup) = self.startups.get_mut(which) {
            startup.arp(arp);
        }
    }

    /// What a packet of capture `which` says of the network's health.
    pub fn notice(&mut self, which: usize, notice: &Notice) {
        if let Some(health) = self.gathered.health.get_mut(which) {
            health.notice(notice);
        }
    }

    /// These addresses are those of the host that capture `which` was taken at; to be said before the first record.
    pub fn own(&mut self, which: usize, addresses: &[IpAddr]) {
        if let Some(tiers) = self.tiers.get_mut(which) {
            tiers.own(addresses);
        }
    }

    /// What hosts of capture `which` wait for while they work for others divides the calls to them; to be said before the
    /// first record.
    pub fn follow(&mut self, which: usize, followed: Followed) {
        self.followed[which] = Some(followed);
        // The server's capture of two says it.
        self.keep_rows();
    }

    /// The number of the next call of capture `which`.
    #[must_use]
    pub fn rows(&self, which: usize) -> u64 {
        self.rows[which]
    }

    /// A call of capture `which` that nobody asks about, and that is a row all the same.
    pub fn pass_over(&mut self, which: usize, is_row: bool) {
        self.rows[which] += u64::from(is_row);
    }

    /// A call of capture `which`, also one that is not looked at; to be told before those that are.
    pub fn followed(&mut self, which: usize, call: &Call, row: Option<u64>) {
        if let Some(followed) = &mut self.followed[which] {
            followed.call(call, row);
        }
    }

    /// The number of outstanding calls changes in capture `which`, also of those that are not looked at.
    pub fn change(&mut self, which: usize, o: &Outstanding) {
        if let Some(tiers) = self.tiers.get_mut(which) {
            tiers.change(o);
        }
    }

    pub fn outstanding(&mut self, which: usize, o: &Outstanding) {
        self.calls.outstanding(which, o);
        if let Some(charts) = &mut self.charts {
            charts.outstanding(which, o);
        }
    }

    pub fn episode(&mut self, which: usize, e: &Episode) {
        self.calls.episode(which, e);
        self.turns.episode(which, e);
    }

    pub fn connection(&mut self, which: usize, c: &ConnectionSummary) {
        self.calls.connection(which, c);
        self.turns.connection(which, c);
        self.lookups.connection(which, c);
        self.gathered.add(which, c);
        if let Some(tiers) = self.tiers.get_mut(which) {
            tiers.connection(c);
        }
    }

    /// A gap showed in a connection of capture `which`.
    pub fn gap(&mut self, which: usize, gap: &Gap) {
        self.calls.gap(which, gap);
        self.turns.gap(which, gap);
        self.lookups.gap(which, gap);
    }

    /// Capture `which` has come so far.
    pub fn reached(&mut self, which: usize, now: Time) {
        self.calls.reached(which, now);
        self.turns.reached(which, now);
        self.lookups.reached(which, now);
    }

    /// Which of two captures to read on, by what was matched last.
    #[must_use]
    pub fn next(&self) -> usize {
        match self.turns.last_matched() > self.calls.last_matched() {
            true => self.turns.next(),
            false => self.calls.next(),
        }
    }

    /// The diagnosis. `results` say how each capture was read.
    #[must_use]
    pub fn finish(self, results: Vec<CaptureResult>) -> Diagnosis {
        self.finish_with_charts(results).0
    }

    /// The diagnosis, and what charts are drawn from if that was asked for.
    #[must_use]
    pub fn finish_with_charts(self, results: Vec<CaptureResult>) -> (Diagnosis, Charts) {
        let (diagnosis, charts, _) = self.finish_measured(results);
        (diagnosis, charts)
    }

    /// The same, with what a comparison needs if it was [asked for](Diagnosers::measure).
    #[must_use]
    pub fn finish_measured(
        self,
        results: Vec<CaptureResult>,
    ) -> (Diagnosis, Charts, Option<Snapshot>) {
        self.judge(results, None, &mut |_| {})
    }

    /// The same, with a look at each call's ledger, and at those that have no twin where rows are
    /// [kept](Diagnosers::keep_rows).
    #[must_use]
    pub fn finish_looked_at(
        self,
        results: Vec<CaptureResult>,
        look: &mut Look<'_>,
        unpaired: &mut dyn FnMut(Unpaired),
    ) -> (Diagnosis, Charts, Option<Snapshot>) {
        self.judge(results, Some(look), unpaired)
    }

    /// Keeps where the server's capture has each call; to be said before the first record.
    pub fn keep_rows(&mut self) {
        for d in [&mut self.calls, &mut self.turns, &mut self.lookups] {
            d.keep_rows();
        }
    }

    /// The hosts that work for others with calls of their own, of whichever capture shows more of that.
    fn tier_results(&self) -> Vec<TierResult> {
        let all = self.gathered.tiers.iter().enumerate();
        let of = |(capture, tiers): (usize, &Vec<Tier>)| {
            let tiers = tiers.clone().into_iter();
            let result = move |tier: Tier| TierResult {
                capture,
                seen: self.tiers.each_ref().map(|t| t.seen(tier.host)),
                tier,
                below: None,
            };
            tiers.map(result).collect::<Vec<_>>()
        };
        let mut all: Vec<TierResult> = all.flat_map(of).collect();
        all.sort_by_key(|t| (std::cmp::Reverse(t.tier.least_ns), t.tier.host, t.capture));
        let mut told = HashSet::<_, FixedState>::default();
        all.retain(|t| told.insert(t.tier.host));
        all
    }

    /// What captures are about that have so many calls and turns.
    fn subject(&self, calls: u64, turns: u64) -> Subject {
        let took_ns = self.calls.took_ns();
        // A replica asks a few questions before it copies a log, which is what its connection is for.
        let least_ns = took_ns.saturating_mul(MINORITY as i64);
        let about_copies = self.gathered.copied_ns() > least_ns.max(WORTH_A_LOOK_NS);
        // Without any, streams that nobody answers are all there is.
        if turns == 0 && (calls == 0 || about_copies) {
            return Subject::Streams;
        }
        // Calls that are slow are what somebody waits for, however many turns pass beside them; unless these are slow as
        // well, and calls a small part of what is waited.
        let share = match self.turns.are_slow() {
            true => MINORITY,
            false => MINORITY * MINORITY,
        };
        let are_waited_for =
            self.calls.are_slow() && took_ns.saturating_mul(share as i64) >= self.turns.took_ns();
        match calls.saturating_mul(MINORITY) < turns && !are_waited_for {
            true => Subject::Turns,
            false => Subject::Calls,
        }
    }

    fn judge(
        mut self,
        mut results: Vec<CaptureResult>,
        mut look: Option<&mut Look<'_>>,
        unpaired: &mut dyn FnMut(Unpaired),
    ) -> (Diagnosis, Charts, Option<Snapshot>) {
        // What is only listed. Where nobody looks, nothing is divided for it.
        let mut beside = look.as_mut().map(|look| {
            |l: &Looked<'_>| {
                look(&Looked {
                    is_judged: false,
                    ..*l
                });
            }
        });
        for (result, health) in results.iter_mut().zip(&self.gathered.health) {
            health.note_bounds(&result.files, &mut result.problems);
        }
        for (result, files) in results.iter_mut().zip(&self.files) {
            files.note_bounds(&mut result.problems);
        }
        self.gathered.startups = std::mem::take(&mut self.startups).map(Startup::longest);
        self.gathered.exports = Exports::of(&self.files);
        let ended = |which: usize| results.get(which).and_then(|r| r.last);
        for (which, tiers) in self.tiers.iter_mut().enumerate() {
            self.gathered.tiers[which] = tiers.told(ended(which));
        }
        let Gathered { waits, tiers, .. } = &mut self.gathered;
        for ((waits, tiers), followed) in waits.iter_mut().zip(tiers).zip(&mut self.followed) {
            let told = followed.take().map(|followed| {
                followed.told(|row, told| {
                    waits.insert(row, told.wait);
                })
            });
            for (host, calls, waited) in told.unwrap_or_default() {
                // Where both are of the same calls, each bounds the other.
                let same = |t: &&mut Tier| t.host == host && t.asked == calls && t.asks == t.calls;
                for tier in tiers.iter_mut().filter(same) {
                    tier.most_ns = tier.most_ns.min(waited.hi_ns);
                    tier.least_ns = tier.least_ns.max(waited.lo_ns).min(tier.most_ns);
                }
            }
        }
        let (calls, turns) = (self.calls.bounded(&results), self.turns.timed());
        let lookups = self.lookups.timed();
        let looked_up = match lookups {
            0 => Vec::new(),
            _ => {
                self.lookups
                    .finish(results.clone(), &Gathered::default(), looking(&mut beside))
                    .0
                    .ops
            }
        };
        let subject = self.subject(calls, turns);
        let (unjudged, unjudged_ns) = self.turns.longest();
        let are_slow_beside = unjudged >= FEW_TURNS && self.turns.are_slow();
        let (judged, listed) = match subject {
            Subject::Turns | Subject::Streams => (&mut self.turns, &mut self.calls),
            Subject::Calls => (&mut self.calls, &mut self.turns),
        };
        let gathered = &self.gathered;
        let (other, _) = listed.finish(results.clone(), gathered, looking(&mut beside));
        let mut drawn = HashMap::<u64, Ledger, FixedState>::default();
        let (mut d, measured) = match judged.keeps_ladders() {
            true => {
                let mut each = |l: &Looked<'_>| {
                    if l.is_drawn {
                        drawn.insert(l.row, l.ledger.clone());
                    }
                    if let Some(look) = look.as_mut() {
                        look(l);
                    }
                };
                judged.finish(results, gathered, Some(&mut each))
            }
            false => judged.finish(results, gathered, look),
        };
        let mut ladders = judged.ladders();
        for ladder in &mut ladders {
            ladder.ledger = drawn.remove(&ladder.row);
        }
        for of in [&self.calls, &self.turns, &self.lookups] {
            of.unpaired().for_each(&mut *unpaired);
        }
        match subject {
            Subject::Streams if calls > 0 => d.notes.push(text!(
                "Replicas copy a log, which takes most of the time: that is judged; {calls,} call{calls||s} {calls|is|are} listed and not judged.",
                calls = calls
            )),
            Subject::Turns if calls > 0 => {
                d.notes.push(text!(
                    "Connections that speak no known protocol are what is judged; {calls,} call{calls||s} of known ones {calls|is|are} listed and not judged.",
                    calls = calls
                ));
                let (unjudged, unjudged_ns) = self.calls.longest();
                if d.verdict.side == Side::None && self.calls.are_slow() {
                    let what = "of protocols that are known";
                    d.verdict.sentence = said_beside(d.verdict.sentence, ("call", unjudged, what), unjudged_ns);
                }
            }
            Subject::Calls if unjudged > 0 => {
                d.notes.push(text!(
                    "{turns,} turn{turns||s} of connections that speak no known protocol {turns|is|are} listed and not judged; --where protocol=tcp looks at them alone.",
                    turns = unjudged
                ));
                if d.verdict.side == Side::None && are_slow_beside {
                    let what = "of a protocol that is not known";
                    d.verdict.sentence = said_beside(d.verdict.sentence, ("turn", unjudged, what), unjudged_ns);
                }
            }
            _ => {}
        }
        if lookups > 0 {
            d.notes.push(text!(
                "{lookups,} lookups of names and the like are listed and not judged; slowside startup tells what a client waited for.",
                lookups = lookups
            ));
        }
        let sides = d.captures.iter().map(|c| c.side);
        let client = sides.enumerate().find(|(_, s)| *s == Some(Vantage::Client));
        for place in d.findings.iter_mut().flat_map(|f| &mut f.places) {
            if let What::File(handle, path) = &mut place.what {
                *path = files::path(&self.files, *handle);
            }
        }
        d.tiers = self.tier_results();
        d.own = self.tiers.each_ref().map(Tiers::addresses);
        d.both = self.tiers.each_ref().map(Tiers::both);
        d.files = files::told(&self.files, client.map_or(0, |(i, _)| i));
        for file in d
            .app
            .iter_mut()
            .flat_map(|a| &mut a.join)
            .flat_map(|j| &mut j.files)
        {
            file.path = file.handle.and_then(|h| files::path(&self.files, h));
        }
        d.ops.extend(other.ops);
        d.ops.extend(looked_up);
        d.ops.sort_by(OpResult::by_time);
        let wire = self.wire.map(|w| *w).unwrap_or_default();
        let snapshot = measured.map(|m| m.snapshot(&d, wire));
        let mut charts = self.charts.unwrap_or_default();
        charts.load = self.calls.load(&d.findings);
        charts.ladders = ladders;
        (d, charts, snapshot)
    }
}

/// The first sentence of what is not slow, with how long others took that are not judged.
fn said_beside(
    judged: Text,
    (one, count, what): (&'static str, u64, &'static str),
    mean_ns: i64,
) -> Text {
    text!(
        "{judged} Not judged beside them: {count,} {one}{count||s} {what}, {mean} each.",
        judged = judged,
        count = count,
        one = one,
        what = what,
        mean = Value::Duration(mean_ns),
    )
}

/// What captures are about, which is judged; the rest is listed.
#[derive(Clone, Copy)]
enum Subject {
    Calls,
    Turns,
    /// That nobody answers.
    Streams,
}

/// Who looks, if anybody does.
fn looking<'a>(look: &'a mut Option<impl FnMut(&Looked<'_>)>) -> Option<&'a mut Look<'a>> {
    look.as_mut().map(|look| look as &mut Look<'_>)
}

#[cfg(test)]
mod tests;
