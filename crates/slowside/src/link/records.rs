//! What the packets of one batch completed, and in which order records of several threads are merged.

use crate::live::batches::KeptBatch;
use crate::run::CallTally;
use analysis::live::Stretch;
use model::sqlnet::SqlNetPacket;
use model::{
    Arp, Call, ConnectionId, ConnectionSummary, Episode, FileName, Gap, Interval, Knock, Mark,
    Notice, Outstanding, Sight, Time,
};

/// Which records these are: those of all threads that have the same number belong together.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Number {
    Batch(u64),
    /// Connections with names in certain orders, closed by the end of the capture.
    Part(u64),
    Last,
}

/// What the packets of one batch completed, in the order of packets.
#[derive(Debug, Default)]
pub(crate) struct Records {
    pub number: Option<Number>,
    pub calls: Vec<Call>,
    /// Of calls that nobody looks at.
    pub tally: CallTally,
    pub outstanding: Vec<Outstanding>,
    /// What packets said of files' names, where it is wanted.
    pub file_names: Vec<FileName>,
    /// Packets of SQL*Net, where they are wanted.
    pub packets: Vec<SqlNetPacket>,
    pub episodes: Vec<Episode>,
    /// With the order of the packet that ended each.
    pub connections: Vec<(u64, ConnectionSummary)>,
    pub gaps: Vec<Gap>,
    /// What connections did in intervals that are over; in no order.
    pub intervals: Vec<Interval>,
    /// Packets that ask for something before there is a call, and those of ARP, where they are wanted.
    pub knocks: Vec<Knock>,
    pub arps: Vec<Arp>,
    /// Every packet as it was seen, where they are wanted.
    pub sights: Vec<Sight>,
    /// What connections did in intervals, and who they are, where the capture is looked at while it goes
    /// on; in no order.
    pub stretches: Vec<Stretch>,
    /// The packets themselves, and how many came when, where they are wanted.
    pub kept: KeptBatch,
    /// What packets say of the network's health, where it is wanted.
    pub notices: Vec<Notice>,
    /// Time of the batch's last packet.
    pub reached: Option<Time>,
}

/// Calls of a buffer that is used again, at most: what a connection that is given up leaves open is many times what a
/// batch completes, and of all such buffers there are several for each shard.
const SPARE_CALLS: usize = 8_192;

impl Records {
    /// What is used again of it, once its records were taken.
    pub(crate) fn into_spare(mut self) -> Option<Records> {
        self.clear();
        (self.calls.capacity() <= SPARE_CALLS).then_some(self)
    }

    pub(crate) fn clear(&mut self) {
        self.number = None;
        self.calls.clear();
        self.tally = CallTally::default();
        self.outstanding.clear();
        self.file_names.clear();
        self.packets.clear();
        self.episodes.clear();
        self.connections.clear();
        self.gaps.clear();
        self.intervals.clear();
        self.knocks.clear();
        self.arps.clear();
        self.sights.clear();
        self.stretches.clear();
        self.kept = KeptBatch::default();
        self.notices.clear();
        self.reached = None;
    }

    /// Brings what was decided at `order`, behind the packets, into an order that does not depend on
    /// which thread had which connection. What packets completed is in their order already.
    pub(super) fn sort_from(&mut self, order: u64) {
        sort_from(&mut self.calls, order, call_key);
        sort_from(&mut self.outstanding, order, outstanding_key);
        sort_from(&mut self.file_names, order, file_name_key);
        // These are told some packets after they ended.
        self.episodes.sort_by_key(episode_key);
        sort_from(&mut self.connections, order, connection_key);
        sort_from(&mut self.gaps, order, gap_key);
    }
}

fn sort_from<T, K: Ord>(records: &mut [T], order: u64, key: impl Fn(&T) -> (u64, K)) {
    let behind = |record: &T| key(record).0 >= order;
    let packets = records
        .iter()
        .rposition(|r| !behind(r))
        .map_or(0, |i| i + 1);
    if let Some(behind) = records.get_mut(packets..) {
        // By an index: all calls that are open at the end are moved here, and half as many again by
        // sorting them themselves.
        behind.sort_by_cached_key(key);
    }
}

/// What records are merged by: the order of the packet that completed them, then what tells apart
/// those decided behind the packets, which all have the same order. Those that are equal are of one
/// thread, as they are of one connection or of one pair of hosts.
pub(crate) fn call_key(c: &Call) -> (u64, (Option<Mark>, ConnectionId)) {
    (
        c.order,
        (c.request_first.or(c.response_first), c.connection),
    )
}

pub(crate) fn outstanding_key(o: &Outstanding) -> (u64, (Time, ConnectionId)) {
    (o.order, (o.time, o.connection))
}

pub(crate) fn file_name_key(n: &FileName) -> (u64, ConnectionId) {
    (n.order, n.connection)
}

pub(crate) fn episode_key(e: &Episode) -> (u64, (Mark, ConnectionId)) {
    (e.order, (e.last, e.connection))
}

pub(crate) fn connection_key((order, c): &(u64, ConnectionSummary)) -> (u64, ConnectionId) {
    (*order, c.id)
}

pub(crate) fn gap_key(gap: &Gap) -> (u64, Mark) {
    (gap.order, gap.at)
}

/// The order of what only the end of the capture completes: behind every packet.
pub(crate) const END: u64 = u64::MAX;
