//! The ledgers of all calls into one account of where their time went: the sums that findings look at.
//!
//! It is a view of the ledger and adds nothing to it: a finding only decides whether its lines are worth
//! accusing anybody.

use crate::concurrency::ServerCap;
use crate::rounds::Chatter;
use ledger::{Bounds, Cause, Place, Sums};
use model::{Direction, Endpoint, PerClass, TimeClass};
use serde::{Deserialize, Serialize};

/// What the account rests on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Basis {
    /// Calls seen in both captures: every part is measured.
    Matched,
    /// One capture at the server: its own time is exact, the rest is not seen.
    Server,
    /// One capture at the client: server and network together, divided by an estimate.
    Client,
    /// One capture of which nobody knows where it was taken.
    Unknown,
    /// No calls, but streams that nobody answers: elapsed time in which their bytes were under way, as their
    /// connections' accounts have it.
    Streams,
}

/// Where the time went that clients waited for calls: what is certain of each cause.
#[derive(Clone, Debug)]
pub struct Account {
    pub basis: Basis,
    pub calls: u64,
    /// What the clients waited at least.
    pub total_ns: i64,
    /// With what the server may have waited for calls of its own, for this call or for others.
    pub service_ns: i64,
    /// What may have been service, or a wait for an event.
    pub event_ns: i64,
    /// What calls waited at the server for locks that clients held while they thought.
    pub lock_ns: i64,
    pub queue_ns: i64,
    pub stall_ns: i64,
    /// What the server's own times show that calls waited in it, for no reason that is known.
    pub dispatch_ns: i64,
    /// What calls waited in the server for calls of its own that were for them for certain.
    pub downstream_ns: i64,
    pub outage_ns: i64,
    pub loss_ns: i64,
    /// Until what a host's own capture had was sent again, and how many calls waited for that, by direction of the bytes.
    pub dropped: [(i64, u64); 2],
    pub nagle_ns: i64,
    /// Of the path's time, what fewer, larger turns would have spared.
    pub chatty_ns: i64,
    /// The same of what larger fetches would have spared.
    pub small_fetch_ns: i64,
    /// The same of small writes that wait for a confirmation each.
    pub small_writes_ns: i64,
    /// Until datagrams of which fragments were lost were sent again.
    pub fragments_ns: i64,
    pub path_ns: i64,
    /// Messages passing, first byte to last, where nothing above explains it.
    pub transfer_ns: i64,
    /// What no line has for certain.
    pub unknown_ns: i64,
    /// What messages waited for under way, by direction of the bytes.
    pub under_way: [PerClass<i64>; 2],
    /// What acknowledgements let go of messages, as congestion windows begin small, and as buffers hold no more.
    pub slow_start_ns: i64,
    pub send_buffer_ns: [i64; 2],
    /// Of the waits for delayed acknowledgements, those in which nothing small was held back.
    pub delayed_ack_ns: [i64; 2],
    pub cap: Option<(ServerCap, Endpoint)>,
    /// What is asked, and written, in more calls than it needs.
    pub chatter: [Chatter; 2],
    /// The ledgers' sums.
    pub sums: Sums,
}

impl Account {
    #[must_use]
    pub fn of(basis: Basis, sums: Sums) -> Account {
        let sure = |cause| sums.of(cause).lo_ns;
        let mut under_way = [PerClass::default(); 2];
        let mut delayed_ack_ns = [0; 2];
        let mut send_buffer_ns = [0; 2];
        for d in Direction::BOTH {
            let sure = |cause| sums.of_direction(cause, d).lo_ns;
            let line: &mut PerClass<i64> = &mut under_way[d.index()];
            line[TimeClass::ReceiverApplication] = sure(Cause::NotReading);
            line[TimeClass::SmallWindow] = sure(Cause::SmallWindow);
            line[TimeClass::NagleDelayedAck] =
                sure(Cause::NagleDelayedAck) + sure(Cause::DelayedAck);
            line[TimeClass::SenderApplication] = sure(Cause::NotWriting);
            line[TimeClass::Bandwidth] = sure(Cause::Bandwidth);
            line[TimeClass::LossRecovery] = sure(Cause::Loss) + sure(Cause::Outage);
            delayed_ack_ns[d.index()] = sure(Cause::DelayedAck);
            send_buffer_ns[d.index()] = sure(Cause::SendBuffer);
        }
        let known = sums
            .lines()
            .iter()
            .fold(0i64, |sum, s| sum.saturating_add(s.line.ns.lo_ns));
        Account {
            basis,
            calls: sums.calls,
            slow_start_ns: sure(Cause::SlowStart),
            send_buffer_ns,
            total_ns: sums.total.lo_ns,
            service_ns: sure(Cause::Service) + sure(Cause::DownstreamShared),
            event_ns: sure(Cause::Event),
            lock_ns: sure(Cause::Lock),
            queue_ns: sure(Cause::Queue),
            stall_ns: sure(Cause::Stall),
            dispatch_ns: sure(Cause::Dispatch),
            downstream_ns: sure(Cause::Downstream),
            outage_ns: sure(Cause::Outage),
            loss_ns: sure(Cause::Loss),
            dropped: Direction::BOTH.map(|d| {
                let ns = sums.of_direction(Cause::Dropped, d).lo_ns;
                (ns, sums.calls_of(Cause::Dropped, d))
            }),
            nagle_ns: sure(Cause::Nagle),
            chatty_ns: sure(Cause::Chatty),
            small_fetch_ns: sure(Cause::SmallFetch),
            small_writes_ns: sure(Cause::SmallWrites),
            fragments_ns: sure(Cause::Fragments),
            path_ns: sure(Cause::Path),
            transfer_ns: sure(Cause::Transfer),
            unknown_ns: (sums.total.lo_ns - known).max(0),
            under_way,
            delayed_ack_ns,
            cap: None,
            chatter: Default::default(),
            sums,
        }
    }

    /// What calls may have waited of which the snap length hides the response, and nobody knows whose it was.
    pub(crate) fn hidden_ns(&self) -> i64 {
        self.sums.of(Cause::Hidden).hi_ns.unwrap_or(i64::MAX)
    }

    /// What clients waited at most, as far as it passed the captures.
    pub(crate) fn most_ns(&self) -> i64 {
        self.total_ns.saturating_add(self.sums.longer_ns())
    }

    #[must_use]
    pub fn server_ns(&self) -> i64 {
        self.service_ns + self.queue_ns + self.stall_ns + self.dispatch_ns + self.downstream_ns
    }

    /// What the server has at most, whatever of it it waited for an event or a lock; none where nothing bounds that.
    pub(crate) fn answering_ns(&self) -> Option<i64> {
        let own = Cause::OF_SERVER.into_iter();
        let mut most = own.map(|c| self.sums.of(c).hi_ns);
        let elses = self.event_ns.saturating_add(self.lock_ns);
        most.try_fold(elses, |sum, ns| Some(sum.saturating_add(ns?)))
    }

    /// What the path takes, also of what fewer, larger calls would have spared.
    pub(crate) fn path_total_ns(&self) -> i64 {
        self.path_ns + self.chatty_ns + self.small_fetch_ns + self.small_writes_ns
    }

    #[must_use]
    pub fn network_ns(&self) -> i64 {
        self.side(Place::Network).lo_ns
    }

    /// What is certain of a side, and what may be its.
    #[must_use]
    pub fn side(&self, side: Place) -> Bounds {
        self.sums.side(side)
    }
}
