//! `/proc/self/mountstats` of a Linux NFS client (net/sunrpc/stats.c) into sums per operation kind.
//!
//! An NFS mount's entry ends with a row per operation: `READ: operations, transmissions, major
//! time-outs, bytes sent, bytes received, queue ms, RTT ms, execute ms[, errors]`, all counted since
//! the mount.
//!
//! - Two snapshots or more, in one file or several, in any order: the difference between the
//!   youngest and the oldest, which the age of the mounts tells. A mount whose counters went back
//!   was mounted again in between; all it counted since belongs to the difference.
//! - One snapshot: everything since the mount; `format` says so.
//! - Several NFS mounts are summed. Mount points that share one superblock show the same counters;
//!   they count once.

use crate::collector::Collector;
use crate::lines::{At, Lines};
use crate::number::counted;
use crate::{Error, OperationSummary};
use std::collections::BTreeMap;

/// Mounts of all snapshots together, and operations of a mount, that are believed.
const MOUNTS: usize = 4_096;
const OPERATIONS_PER_MOUNT: usize = 256;

/// Operations to execute ms, and the errors that newer kernels add.
type Counters = [u64; 9];

#[derive(Default)]
struct Mount {
    /// Device and mount point, as the entry's first line has them.
    name: String,
    /// Seconds since the mount.
    age: u64,
    operations: BTreeMap<String, Counters>,
}

impl Mount {
    /// Two mount points of one superblock.
    fn is_same_as(&self, other: &Mount) -> bool {
        self.age == other.age
            && self.operations == other.operations
            && self.operations.values().any(|counters| counters[0] > 0)
    }
}

type Snapshot = Vec<Mount>;

/// Whether a line is the first of a mount's entry.
pub(crate) fn is_header(line: &str) -> bool {
    (line.starts_with("device ") || line.starts_with("no device ")) && line.contains(" mounted on ")
}

/// Whether a line says when, and by what, the snapshot below it was printed: `# 2026-03-01T14:00:00.000Z cat …`.
pub(crate) fn is_time(line: &str) -> bool {
    line.strip_prefix("# ")
        .is_some_and(|when| when.starts_with(|c: char| c.is_ascii_digit()))
}

pub(crate) fn read(files: Vec<Lines>, into: &mut Collector) -> Result<(), Error> {
    let mut snapshots = Vec::new();
    for file in files {
        read_file(file, &mut snapshots, into)?;
    }
    for snapshot in &mut snapshots {
        merge_same(snapshot);
    }
    // The oldest mount of a snapshot tells when it was taken.
    let age = |snapshot: &Snapshot| snapshot.iter().map(|m| m.age).max().unwrap_or(0);
    snapshots.sort_by_key(age);
    let (Some(first), Some(last)) = (snapshots.first(), snapshots.last()) else {
        return Ok(());
    };
    if snapshots.len() > 1 {
        into.summaries(summaries(last, first));
        into.format(format!(
            "difference of {} /proc/self/mountstats snapshots, {} s apart, {}",
            snapshots.len(),
            age(last) - age(first),
            counted(last.len(), "NFS mount")
        ));
    } else {
        into.summaries(summaries(last, &Snapshot::new()));
        into.format(format!(
            "one /proc/self/mountstats snapshot: totals since the mount, {}; \
             take one before and one after the problem",
            counted(last.len(), "NFS mount")
        ));
    }
    Ok(())
}

/// Adds the snapshots of a file. A mount that is listed again with another age starts the next.
fn read_file(
    file: Lines,
    snapshots: &mut Vec<Snapshot>,
    into: &mut Collector,
) -> Result<(), Error> {
    let mut snapshot = Snapshot::new();
    let mut mount: Option<Mount> = None;
    let mut in_operations = false;
    let mut mounts = snapshots.iter().map(Vec::len).sum::<usize>();
    let mut close = |mount: Option<Mount>, snapshot: &mut Snapshot| {
        let Some(mount) = mount else { return };
        let again = |m: &Mount| m.name == mount.name && m.age != mount.age;
        if snapshot.iter().any(again) {
            snapshots.push(std::mem::take(snapshot));
        }
        snapshot.push(mount);
    };
    file.each(into, |into, at, line| {
        let text = line.trim();
        if is_header(line) {
            close(mount.take(), &mut snapshot);
            in_operations = false;
            mount = nfs_mount(text);
            mounts += usize::from(mount.is_some());
            if mounts > MOUNTS {
                mount = None;
                into.skip(at, format_args!("more than {MOUNTS} NFS mounts"));
            }
        } else if is_time(line) {
            // The snapshots' ages tell their order.
            in_operations = false;
        } else if text == "per-op statistics" {
            in_operations = true;
        } else if let Some(mount) = &mut mount {
            if in_operations {
                operation(text, mount, at, into);
            } else if let Some(age) = text.strip_prefix("age:") {
                match age.trim().parse() {
                    Ok(age) => mount.age = age,
                    Err(_) => into.skip(at, "the mount's age is no number of seconds"),
                }
            }
        }
        Ok(())
    })?;
    close(mount, &mut snapshot);
    if !snapshot.is_empty() {
        snapshots.push(snapshot);
    }
    Ok(())
}

/// `device server:/export mounted on /mnt with fstype nfs4 statvers=1.1`
fn nfs_mount(header: &str) -> Option<Mount> {
    let (name, rest) = header.rsplit_once(" with fstype ")?;
    let fstype = rest.split_whitespace().next()?;
    matches!(fstype, "nfs" | "nfs4").then(|| Mount {
        name: name.to_string(),
        ..Mount::default()
    })
}

fn operation(text: &str, mount: &mut Mount, at: At<'_>, into: &mut Collector) {
    let Some((name, values)) = parse(text) else {
        return into.skip(at, "not an operation with eight or nine counters");
    };
    if mount.operations.len() >= OPERATIONS_PER_MOUNT {
        return into.skip(at, "more operations than NFS has");
    }
    mount.operations.insert(name.to_string(), values);
}

fn parse(text: &str) -> Option<(&str, Counters)> {
    let (name, numbers) = text.split_once(':')?;
    let mut counters = Counters::default();
    let mut count = 0;
    let mut slots = counters.iter_mut();
    for number in numbers.split_whitespace() {
        let value = number.parse().ok()?;
        // Kernels may add further columns.
        if let Some(slot) = slots.next() {
            *slot = value;
        }
        count += 1;
    }
    (count >= 8).then_some((name, counters))
}

fn merge_same(snapshot: &mut Snapshot) {
    let mut kept = Snapshot::new();
    for mount in snapshot.drain(..) {
        if !kept.iter().any(|k| k.is_same_as(&mount)) {
            kept.push(mount);
        }
    }
    *snapshot = kept;
}

/// What happened up to `last` and not before `first`, per operation over all mounts.
fn summaries(last: &Snapshot, first: &Snapshot) -> Vec<OperationSummary> {
    let mut sums: BTreeMap<&str, Counters> = BTreeMap::new();
    for mount in last {
        let before = first
            .iter()
            .find(|m| m.name == mount.name)
            .filter(|before| before.age <= mount.age);
        for (name, counters) in &mount.operations {
            let change = before
                .and_then(|before| difference(counters, before.operations.get(name)?))
                .unwrap_or(*counters);
            let sum = sums.entry(name).or_default();
            for (sum, change) in sum.iter_mut().zip(change) {
                *sum = sum.saturating_add(change);
            }
        }
    }
    let ns = |ms: u64| {
        i64::try_from(ms)
            .unwrap_or(i64::MAX)
            .saturating_mul(1_000_000)
    };
    sums.into_iter()
        .filter(|(_, counters)| counters[0] > 0)
        .map(|(name, sum)| {
            let [count, sent, timeouts, _, _, queue, rtt, execute, errors] = sum;
            OperationSummary {
                op: name.to_string(),
                count,
                queue_ns: ns(queue),
                rtt_ns: ns(rtt),
                execute_ns: ns(execute),
                retransmits: sent.saturating_sub(count),
                timeouts,
                errors,
                means_only: false,
            }
        })
        .collect()
}

/// `None` when a counter went back: the mount is a new one.
fn difference(later: &Counters, earlier: &Counters) -> Option<Counters> {
    let mut change = Counters::default();
    for ((change, later), earlier) in change.iter_mut().zip(later).zip(earlier) {
        *change = later.checked_sub(*earlier)?;
    }
    Some(change)
}
