//! A Linux NFS server's counters into rates: `/proc/net/rpc/nfsd` (2.6 to 6.18: net/sunrpc/stats.c, fs/nfsd/stats.c) and
//! `/proc/fs/nfsd/pool_stats` (Documentation/filesystems/nfs/knfsd-stats.rst).
//!
//! `rpc CALLS BAD …` and `th THREADS …` of the first; of the second how often a connection with a request waited as no thread
//! was free. Until 3.18 that is `sockets-enqueued`: either a thread is woken or the connection waits. Since then each
//! connection with a request is queued, and what woke no thread waited: more is queued and woken together than arrived
//! (net/sunrpc/svc_xprt.c, svc_xprt_enqueue; the document still says the former). Kernels from 6.10 on call the column
//! `transports-queued`, or leave it out. Written from the kernel's sources, as this reader was made where no NFS server of
//! the kernel runs.

use super::gather::{Gather, Now, Reader};
use super::table::Heading;
use super::{Counter, Sample, Tool};
use crate::lines::Skips;

#[derive(Default)]
pub(super) struct Read {
    pools: Heading,
    before_ns: Option<i64>,
}

impl Reader for Read {
    fn line(&mut self, line: &str, now: Now<'_>, into: &mut Gather) {
        let text = line.trim();
        if let Some(names) = text.strip_prefix("# ") {
            self.pools = Heading::new(names);
            return;
        }
        let mut words = text.split_whitespace();
        let first = words.next().unwrap_or_default();
        let value = words.next().and_then(|n| n.parse::<u64>().ok());
        let is_pool = first.bytes().all(|b| b.is_ascii_digit()) && !first.is_empty();
        if !is_pool && !matches!(first, "rpc" | "th") {
            return;
        }
        let (Some(at_ns), Some(value)) = (now.header_ns, value) else {
            return into.skip(now.at, "a counter without a time; put a line # TIME cat /proc/net/rpc/nfsd above each sample");
        };
        match first {
            "rpc" => into.rate(Tool::Nfsd, (Counter::NfsdCalls, ""), at_ns, ("rpc", value)),
            "th" => {
                if let Some(from_ns) = self.before_ns.replace(at_ns) {
                    let milli = i64::try_from(value)
                        .unwrap_or(i64::MAX)
                        .saturating_mul(1_000);
                    into.sample(
                        Counter::NfsdThreads,
                        "",
                        false,
                        Sample {
                            from_ns,
                            until_ns: at_ns,
                            milli,
                        },
                    );
                }
            }
            pool => {
                let Some(row) = self.pools.row(text) else {
                    return;
                };
                let mut grown = |names: &[&str]| {
                    let word = names.iter().find_map(|name| row.word(name))?;
                    let total = word.parse::<u64>().ok()?;
                    let name = format!("pool {pool} {}", names.first()?);
                    into.grown(Tool::Nfsd, &name, at_ns, total)
                };
                let queued = grown(&["sockets-enqueued", "transports-queued"]);
                let woken = grown(&["threads-woken"]).map_or(0, |(_, n)| n);
                let arrived = grown(&["packets-arrived", "messages-arrived"]).map(|(_, n)| n);
                let Some((from_ns, queued)) = queued else {
                    return;
                };
                let both = queued.saturating_add(woken);
                let waited = match arrived.is_some_and(|arrived| both <= arrived) {
                    true => queued,
                    false => queued.saturating_sub(woken),
                };
                let milli = i128::from(waited) * 1_000_000_000_000 / i128::from(at_ns - from_ns);
                let sample = Sample {
                    from_ns,
                    until_ns: at_ns,
                    milli: i64::try_from(milli).unwrap_or(i64::MAX),
                };
                into.sample(Counter::NfsdQueued, pool, false, sample);
            }
        }
    }
}
