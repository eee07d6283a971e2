//! What the host that measures is like, and what it made the measurement wait for: Linux's `/proc`,
//! and nothing where there is none.

use std::fs;
use std::thread;

/// One of the two hosts.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Host {
    /// CPUs that the program may use.
    pub cpus: Option<u32>,
    /// What the first of them calls itself.
    pub cpu_model: Option<String>,
    /// Processes that run or wait for a CPU, average of the last minute, in hundredths.
    pub load_hundredths: Option<u32>,
}

impl Host {
    #[must_use]
    pub fn here() -> Host {
        let cpus = thread::available_parallelism().ok();
        let model = fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| {
            let line = text.lines().find(|l| l.starts_with("model name"))?;
            Some(line.split_once(':')?.1.trim().to_owned())
        });
        Host {
            cpus: cpus.and_then(|n| u32::try_from(n.get()).ok()),
            cpu_model: model,
            load_hundredths: load(),
        }
    }
}

/// The load average in hundredths.
fn load() -> Option<u32> {
    let text = fs::read_to_string("/proc/loadavg").ok()?;
    let load: f64 = text.split_whitespace().next()?.parse().ok()?;
    Some((load * 100.0).round() as u32)
}

/// What the threads that measure had of the CPUs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Cpu {
    /// Time on a CPU, nanoseconds.
    pub used_ns: u64,
    /// Time ready to run, waiting for one: what the measurement owes to this host alone.
    pub waited_ns: u64,
}

impl Cpu {
    /// Of the calling thread since it began (`Documentation/scheduler/sched-stats.rst`).
    pub(crate) fn of_thread() -> Option<Cpu> {
        let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
        let mut numbers = text.split_whitespace().map(str::parse);
        Some(Cpu {
            used_ns: numbers.next()?.ok()?,
            waited_ns: numbers.next()?.ok()?,
        })
    }

    /// Since `before`.
    pub(crate) fn since(before: Option<Cpu>) -> Option<Cpu> {
        let (before, now) = (before?, Cpu::of_thread()?);
        Some(Cpu {
            used_ns: now.used_ns.saturating_sub(before.used_ns),
            waited_ns: now.waited_ns.saturating_sub(before.waited_ns),
        })
    }

    pub(crate) fn plus(self, other: Cpu) -> Cpu {
        Cpu {
            used_ns: self.used_ns + other.used_ns,
            waited_ns: self.waited_ns + other.waited_ns,
        }
    }
}
