//! A capture that is being read, batch by batch, into the calls and all else that a diagnosis is fed with.

use crate::chosen::Rows;
use crate::config::Event;
use crate::merge::Answers;
use crate::run::{Selection, Tally};
use crate::stream::Stream;
use analysis::diagnosers::Diagnosers;
use analysis::tiers::Only;
use model::{Call, Endpoint, Episode, Time};

/// One capture being read.
pub(super) struct Side<'a> {
    pub(super) stream: Stream,
    pub(super) tally: Tally,
    pub(super) selection: Selection<'a>,
    pub(super) only: Option<&'a Only>,
    pub(super) lists_connections: bool,
    /// What both captures together say of which calls are looked at, by their row.
    pub(super) chosen: Option<Rows>,
    /// Rows of batches before this one.
    pub(super) rows: u64,
    pub(super) ended: bool,
}

impl Side<'_> {
    /// Whether the calls of this client to this server are looked at.
    fn takes_those_of(&self, client: Endpoint, server: Endpoint) -> bool {
        self.only.is_none_or(|only| only.takes(client, server))
    }

    /// The calls of a batch that rows are counted by, whichever are looked at.
    pub(super) fn rows_of<'b>(&'b self, records: &'b Answers) -> impl Iterator<Item = &'b Call> {
        let calls = records.calls();
        calls.filter(|call| self.selection.takes_time_of(call))
    }

    /// The calls of a batch, and why each is looked at or not.
    pub(super) fn calls<'b>(
        &'b self,
        records: &'b Answers,
    ) -> impl Iterator<Item = (&'b Call, LookedAt)> {
        let mut row = self.rows;
        records.calls().map(move |call| {
            let (is_row, is_chosen) = match &self.chosen {
                None => (self.selection.takes(call), true),
                Some(chosen) => {
                    let is_row = self.selection.takes_time_of(call);
                    row += u64::from(is_row);
                    (is_row, is_row && chosen.has(row - 1))
                }
            };
            let looked_at = match (is_row, self.takes_those_of(call.client, call.server)) {
                (true, true) if is_chosen => LookedAt::Yes,
                (_, true) => LookedAt::No,
                (is_row, false) => LookedAt::Others { is_row },
            };
            (call, looked_at)
        })
    }
}

/// Whether a call is looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum LookedAt {
    Yes,
    /// It is not of the times or of the kind that are asked for.
    No,
    /// It is of clients that are not asked about: a row all the same, within the times asked for.
    Others {
        is_row: bool,
    },
}

/// Counts one batch's calls and connections.
pub(super) fn count(side: &mut Side<'_>, records: &Answers) {
    side.selection.starts_at(side.stream.first_time());
    let mut tally = std::mem::take(&mut side.tally);
    let looked_at = side
        .calls(records)
        .filter(|(_, looked_at)| *looked_at == LookedAt::Yes);
    looked_at.for_each(|(call, _)| tally.call(call));
    side.tally = tally;
    for c in records.connections() {
        side.tally.connection(c);
    }
}

/// Hands one batch's records on, in the order of packets: what a packet completed before what it
/// changed in the number of outstanding calls, so that a call still counts itself, and what held it up
/// before the call.
pub(super) fn feed(diagnoser: &mut Diagnosers, which: usize, side: &Side<'_>, records: &Answers) {
    if let Some(first) = side.stream.first_time() {
        diagnoser.begins(which, first);
    }
    let within = |t: Time| side.selection.covers(t);
    // Calls count that began within the times asked for: what held them may lie behind.
    let not_before = |e: &&Episode| side.selection.begins_before(e.last.time);
    let mut episodes = records.episodes().filter(not_before).peekable();
    // With a filter, only some calls are looked at: how many are outstanding says nothing of them.
    let all = side.selection.takes_all_calls();
    for change in records.changes().filter(|o| within(o.time)) {
        diagnoser.change(which, change);
    }
    let mut changes = records
        .outstanding()
        .filter(|o| all && within(o.time) && side.takes_those_of(o.client, o.server))
        .peekable();
    for knock in records.knocks().filter(|k| within(k.at.time)) {
        diagnoser.knock(which, knock);
    }
    for arp in records.arps().filter(|a| within(a.at.time)) {
        diagnoser.arp(which, arp);
    }
    for notice in records.notices().filter(|n| within(n.at.time)) {
        diagnoser.notice(which, notice);
    }
    // What outside of the times asked for says of names holds within them.
    for said in records.file_names() {
        diagnoser.file_name(which, said);
    }
    if side.only.is_some() {
        follow(diagnoser, which, side, records);
    }
    for (call, looked_at) in side.calls(records) {
        if let LookedAt::Others { is_row } = looked_at {
            diagnoser.pass_over(which, is_row);
            continue;
        }
        while let Some(change) = changes.next_if(|c| c.order < call.order) {
            diagnoser.outstanding(which, change);
        }
        while let Some(e) = episodes.next_if(|e| e.order <= call.order) {
            diagnoser.episode(which, e);
        }
        match looked_at {
            LookedAt::Yes => diagnoser.call(which, call),
            _ => diagnoser.beside(which, call),
        }
    }
    for change in changes {
        diagnoser.outstanding(which, change);
    }
    for e in episodes {
        diagnoser.episode(which, e);
    }
    for c in records
        .connections()
        .filter(|c| side.takes_those_of(c.client, c.server))
    {
        let ended = c.reset.is_none_or(|reset| within(reset.at.time));
        let opened = c.handshake.syn.is_none_or(within);
        // Where connections are listed as well: what its calls tell is not told again by its account.
        let is_told_by_calls = side.lists_connections && c.is_known;
        if ended && opened && !is_told_by_calls {
            diagnoser.connection(which, c);
            continue;
        }
        // What ended it, or how often it had to knock, lies outside of the times asked for; how long the path
        // took then still serves.
        let mut c = c.clone();
        c.accounts = c.accounts.filter(|_| !is_told_by_calls);
        c.reset = c.reset.filter(|_| ended);
        if !opened {
            (c.handshake.syn_retries, c.handshake.syn_ack_retries) = (0, 0);
        }
        diagnoser.connection(which, &c);
    }
    for interval in records.intervals().filter(|i| within(i.start)) {
        diagnoser.interval(which, interval);
    }
    for gap in records.gaps().filter(|gap| within(gap.at.time)) {
        diagnoser.gap(which, gap);
    }
    if let Some(now) = records.reached() {
        diagnoser.reached(which, now);
    }
}

/// All calls of a batch, where only some are looked at: the others are what those wait for.
fn follow(diagnoser: &mut Diagnosers, which: usize, side: &Side<'_>, records: &Answers) {
    let mut row = diagnoser.rows(which);
    for (call, looked_at) in side.calls(records) {
        let is_looked_at = looked_at == LookedAt::Yes;
        diagnoser.followed(which, call, is_looked_at.then_some(row));
        let is_row = is_looked_at || looked_at == LookedAt::Others { is_row: true };
        row += u64::from(is_row);
    }
}

/// How far all of them are.
pub(super) fn report(sides: &[Side<'_>], events: &mut dyn FnMut(Event)) {
    use std::sync::atomic::Ordering::Relaxed;
    let sum = |f: &dyn Fn(&Side<'_>) -> u64| sides.iter().map(f).sum::<u64>();
    let total = sum(&|s| s.stream.progress.total.load(Relaxed));
    let known = sides
        .iter()
        .all(|s| s.stream.progress.total.load(Relaxed) > 0);
    events(Event::Progress {
        read: sum(&|s| s.stream.progress.read.load(Relaxed)),
        total: known.then_some(total),
        packets: sum(&|s| s.stream.progress.packets.load(Relaxed)),
    });
}
