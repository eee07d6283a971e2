//! What outstanding calls show of caps: how many a server works on at a time, how many a client has under way at most.

use super::{AtLevel, FEW, Level, Plus, gap_bucket, gap_of};

/// A server that works on a limited number of calls at a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ServerCap {
    pub cap: f64,
    /// Time in the server of calls that found nothing to queue behind.
    pub service_ns: i64,
    /// Time spent queueing, over all calls.
    pub queue_ns: i64,
    pub calls: u64,
    /// Mean outstanding calls and wait in the busy half.
    pub busy_level: f64,
    pub busy_wait_ns: i64,
    /// Whether calls were seen that found the server unloaded; else the rhythm of its replies tells.
    pub sure: bool,
}

/// Unloaded calls needed to know the service time.
const UNLOADED_CALLS: usize = 3;

/// A client that keeps a number of calls outstanding.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClientCap {
    pub cap: usize,
    /// Of the busy time, the share at the top.
    pub share: f64,
    /// Requests that reached the top, and those of them that closely followed a reply.
    pub sent: u64,
    pub released: u64,
}

impl Level {
    /// Whether calls queue in the server behind a limited number of workers: calls that found it idle
    /// took a fraction of what those take that found many before them, the latter all take about the
    /// same, and replies leave steadily. The number of workers is then rate × unloaded service time.
    #[must_use]
    pub fn server_cap(&self) -> Option<ServerCap> {
        let total: u64 = self.waits.values().flatten().map(|a| a.calls).sum();
        let mut levels: Vec<AtLevel> = Vec::new();
        // Rare operations have service times of their own.
        let calls_of = |op: u16| {
            self.waits
                .get(&op)
                .map_or(0, |w| w.iter().map(|a| a.calls).sum())
        };
        let usual = |op: u16| calls_of(op) * 10 >= total;
        for (_, op) in self.waits.iter().filter(|(op, _)| usual(**op)) {
            for (n, a) in op.iter().enumerate() {
                if n >= levels.len() {
                    levels.resize(n + 1, AtLevel::default());
                }
                levels[n].calls += a.calls;
                levels[n].wait_ns += a.wait_ns;
                levels[n].square_us += a.square_us;
            }
        }
        let calls: u64 = levels.iter().map(|a| a.calls).sum();
        if calls < 50 {
            return None;
        }
        let mut seen = 0;
        let high = levels.iter().position(|a| {
            seen += a.calls;
            seen * 2 >= calls
        })?;
        let busy = &levels[high..];
        let n: f64 = busy.iter().map(|a| a.calls as f64).sum();
        let busy_wait = busy.iter().map(|a| a.wait_ns as f64).sum::<f64>() / n;
        let square = busy.iter().map(|a| a.square_us).sum::<f64>() / n;
        let busy_level = busy
            .iter()
            .enumerate()
            .map(|(i, a)| (high + i) as f64 * a.calls as f64)
            .sum::<f64>()
            / n;
        let variation =
            (square - (busy_wait / 1e3).powi(2)).max(0.0).sqrt() / (busy_wait / 1e3).max(1e-9);
        // Waits that scatter as much as they last are services of very different length, not a queue.
        if variation > 0.5 || busy_level < f64::from(2 * FEW) {
            return None;
        }
        let (service, sure) = match self.unloaded_service(busy_wait, usual) {
            Some(service) => (service, true),
            None => (self.rounds(busy_wait)?, false),
        };
        let cap = self.workers(service);
        if service < 1.0 || busy_level < 1.5 * cap || cap < if sure { 0.5 } else { 1.8 } {
            return None;
        }
        // A server that stands still and then answers everything at once is no queue.
        let longest = gap_bucket((4.0 * service) as i64);
        let silent: i64 = self
            .between_replies_ns
            .iter()
            .skip(longest + 1)
            .fold(0, |sum, t| t.plus(sum));
        if silent > self.busy_ns() / 4 {
            return None;
        }
        let queue = levels
            .iter()
            .map(|a| (a.wait_ns - (service * a.calls as f64) as i64).max(0))
            .sum();
        Some(ServerCap {
            cap,
            service_ns: service as i64,
            queue_ns: queue,
            calls,
            busy_level,
            busy_wait_ns: busy_wait as i64,
            sure,
        })
    }

    /// How many calls of `service` a server works on at a time: its rate while all of its workers are busy,
    /// which they are where more calls are outstanding than it has. As how many that is comes out of it, it
    /// is sought from below, where some of them had nothing to do. A server without a bound answers the
    /// faster the more it has, and goes on to the highest number there was.
    pub(super) fn workers(&self, service: f64) -> f64 {
        let at_rate_above = |n: f64| {
            let from = n as usize + 1;
            let replies: u64 = self.replied.iter().skip(from).sum();
            let time_ns = self
                .time_ns
                .iter()
                .skip(from)
                .fold(0, |sum: i64, t| sum.plus(*t));
            service * replies as f64 / time_ns.max(1) as f64
        };
        let mut workers = at_rate_above(0.0);
        loop {
            let more = at_rate_above(workers);
            if more as usize <= workers as usize {
                return workers.max(more);
            }
            workers = more;
        }
    }

    /// How long a call takes that finds nothing to queue behind.
    ///
    /// Requests that leave in one burst hide each other, so most calls that seem to find nothing do
    /// find something; those that did not agree with each other, and are the quickest that do.
    fn unloaded_service(&self, busy_wait: f64, usual: impl Fn(u16) -> bool) -> Option<f64> {
        let quick = self
            .unloaded
            .iter()
            .filter(|(op, w)| usual(*op) && (*w as f64) < busy_wait / 2.0);
        let mut quick: Vec<i64> = quick.map(|(_, w)| *w).collect();
        quick.sort_unstable();
        let agreeing = quick
            .windows(UNLOADED_CALLS)
            .find(|w| w[0] * 6 >= w[UNLOADED_CALLS - 1] * 5)?;
        let limit = agreeing[0] * 6 / 5;
        let cluster: Vec<i64> = quick
            .iter()
            .copied()
            .filter(|w| (agreeing[0]..=limit).contains(w))
            .collect();
        Some(cluster.iter().sum::<i64>() as f64 / cluster.len() as f64)
    }

    /// The service time of a server that is never seen unloaded, where it shows: workers that take
    /// equally long answer in rounds, one round of replies each service time, and calls wait for several
    /// rounds.
    fn rounds(&self, busy_wait: f64) -> Option<f64> {
        let t = &self.between_replies_ns;
        let around = |i: usize| {
            t[i.saturating_sub(1)..(i + 2).min(t.len())]
                .iter()
                .sum::<i64>()
        };
        let mode = (0..t.len()).max_by_key(|&i| (around(i), std::cmp::Reverse(i)))?;
        let share = around(mode) as f64 / self.busy_ns().max(1) as f64;
        // A round is a little longer than the gap between the last reply of one and the first of the
        // next.
        let service = gap_of(mode) * 1.1;
        (share >= 0.3 && busy_wait >= 4.0 * service).then_some(service)
    }

    /// The flat top of a client that keeps N calls outstanding, each new one released by a reply.
    /// `slots` is the protocol's own limit, where it has one.
    #[must_use]
    pub fn client_cap(&self, slots: Option<usize>) -> Option<ClientCap> {
        let busy = self.busy_ns();
        let time = |n: usize| self.time_ns.get(n).copied().unwrap_or(0);
        let hidden = |halves: u64| halves as f64 / (self.replies + halves).max(1) as f64;
        // A hidden reply leaves its call counted for a while, a hidden request leaves it uncounted.
        let above = if self.hidden_replies > 0 { 0.25 } else { 0.001 };
        let top = (2..self.time_ns.len()).find(|&n| {
            let beyond = self.share_from(n + 1);
            time(n) >= busy / 1000 && time(n) > 0 && time(n) >= 3 * time(n + 1) && beyond <= above
        })?;
        let top = slots
            .filter(|&s| s >= 2 && (top..=top + 1).contains(&s))
            .unwrap_or(top);
        let missing = hidden(self.hidden_requests);
        let floor = if missing > 0.0 {
            (top as f64 * (1.0 - 1.5 * missing)).floor().max(2.0) as usize - 1
        } else {
            top
        };
        let share = self.share_from(floor);
        let sum = |v: &[u64]| v.iter().skip(floor).sum::<u64>();
        let (sent, released) = (sum(&self.sent), sum(&self.released));
        let flat = share >= if missing > 0.0 { 0.5 } else { 0.3 };
        (flat && sent >= 100 && released * 10 >= sent * 7).then_some(ClientCap {
            cap: top,
            share,
            sent,
            released,
        })
    }
}
