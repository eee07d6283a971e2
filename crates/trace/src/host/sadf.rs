//! `sadf -j` (sysstat 11 to 12) into series: the counters of [`sar`](super::sar), with a date and mostly a zone.
//!
//! `"utc": 1` says that times are of UTC; with `-T` or `-t` they are of the host's own zone, which is not said. Numbers are
//! read as they stand, so that no detour through floating point changes them.

use super::gather::Gather;
use super::stamp::{DAY_NS, SECOND_NS, clock, date};
use super::table::milli;
use super::{Counter, Sample};
use crate::lines::{At, Skips};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

#[derive(Deserialize)]
struct File {
    sysstat: Sysstat,
}

#[derive(Deserialize)]
struct Sysstat {
    hosts: Vec<Of>,
}

#[derive(Deserialize)]
struct Of {
    nodename: Option<String>,
    #[serde(rename = "number-of-cpus")]
    processors: Option<u32>,
    #[serde(default)]
    statistics: Vec<Report>,
}

/// Its own times, and its tables.
#[derive(Deserialize)]
struct Report {
    timestamp: Option<Stamp>,
    #[serde(flatten)]
    tables: BTreeMap<String, Value>,
}

#[derive(Deserialize)]
struct Stamp {
    date: String,
    time: String,
    #[serde(default)]
    utc: u8,
    #[serde(default)]
    interval: i64,
}

impl Stamp {
    /// From when to when, and whether the zone is not said.
    fn span(&self) -> Option<((i64, i64), bool)> {
        let (of_day, _) = clock(&self.time)?;
        let until = date(&self.date)?.checked_add(of_day)?;
        let seconds = (1..=86_400)
            .contains(&self.interval)
            .then_some(self.interval)?;
        debug_assert!(of_day < DAY_NS + SECOND_NS);
        Some(((until - seconds * SECOND_NS, until), self.utc != 1))
    }
}

pub(super) fn read(name: &str, text: &[u8], into: &mut Gather) {
    // A bound on it is that of the text. Lines are lost with what cannot be read.
    let at = At {
        file: name,
        line: 1,
    };
    for found in serde_json::Deserializer::from_slice(text).into_iter::<File>() {
        match found {
            Ok(file) => file
                .sysstat
                .hosts
                .iter()
                .for_each(|host| of_host(host, at, into)),
            Err(error) => return into.skip(at, format_args!("no JSON of sadf -j: {error}")),
        }
    }
}

fn of_host(host: &Of, at: At<'_>, into: &mut Gather) {
    if let Some(name) = &host.nodename {
        let own = || name.chars().take(255).collect();
        into.host().name.get_or_insert_with(own);
    }
    into.host().processors = into.host().processors.or(host.processors);
    for report in &host.statistics {
        let Some(stamp) = &report.timestamp else {
            continue;
        };
        let Some(((from_ns, until_ns), is_local)) = stamp.span() else {
            into.skip(at, "a report whose time or interval cannot be read");
            continue;
        };
        for (table, value) in &report.tables {
            for (counter, device, milli) in counters(table, value) {
                into.sample(
                    counter,
                    device,
                    is_local,
                    Sample {
                        from_ns,
                        until_ns,
                        milli,
                    },
                );
            }
        }
    }
}

fn number(of: &Value, name: &str) -> Option<i64> {
    match of.get(name)? {
        Value::Number(n) => milli(&n.to_string()),
        _ => None,
    }
}

fn sum(of: &Value, names: &[&str]) -> Option<i64> {
    let found = names.iter().filter_map(|n| number(of, n));
    found.fold(None, |sum: Option<i64>, n| {
        Some(sum.unwrap_or(0).saturating_add(n))
    })
}

fn word<'a>(of: &'a Value, name: &str) -> &'a str {
    of.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn counters<'a>(table: &str, value: &'a Value) -> Vec<(Counter, &'a str, i64)> {
    let rows = || value.as_array().into_iter().flatten();
    let mut found: Vec<(Counter, &str, Option<i64>)> = Vec::new();
    match table {
        "cpu-load" | "cpu-load-all" => {
            for row in rows().filter(|r| word(r, "cpu") == "all") {
                let idle = sum(row, &["idle", "iowait"]);
                found.push((Counter::CpuBusy, "", idle.map(|i| (100_000 - i).max(0))));
                found.push((Counter::CpuSteal, "", number(row, "steal")));
            }
        }
        "queue" => {
            found.push((Counter::RunQueue, "", number(value, "runq-sz")));
            found.push((Counter::Blocked, "", number(value, "blocked")));
        }
        "swap-pages" => {
            let pages = sum(value, &["pswpin", "pswpout"]);
            found.push((Counter::Swap, "", pages.map(|p| p.saturating_mul(4))));
        }
        "disk" => {
            for row in rows() {
                let device = word(row, "disk-device");
                let took = number(row, "await").filter(|_| number(row, "tps") != Some(0));
                let queue = number(row, "aqu-sz").or_else(|| number(row, "avgqu-sz"));
                found.push((Counter::DiskOperations, device, number(row, "tps")));
                found.push((Counter::DiskAwait, device, took));
                found.push((
                    Counter::DiskUtilization,
                    device,
                    number(row, "util-percent"),
                ));
                found.push((Counter::DiskQueue, device, queue));
            }
        }
        "network" => {
            let interfaces = value.get("net-edev").and_then(Value::as_array);
            for row in interfaces.into_iter().flatten() {
                let dropped = sum(row, &["rxdrop", "txdrop", "rxfifo", "txfifo"]);
                found.push((Counter::NicDrops, word(row, "iface"), dropped));
            }
            let tcp = value.get("net-etcp");
            found.push((
                Counter::Retransmits,
                "",
                tcp.and_then(|t| number(t, "retrans")),
            ));
        }
        "psi" => {
            for (name, counter) in [
                ("psi-cpu", Counter::CpuPressure),
                ("psi-io", Counter::IoPressure),
                ("psi-mem", Counter::MemoryPressure),
            ] {
                let of = value.get(name);
                found.push((counter, "", of.and_then(|of| number(of, "some_avg"))));
            }
        }
        _ => {}
    }
    let known = found.into_iter();
    known
        .filter_map(|(c, device, milli)| Some((c, device, milli?)))
        .collect()
}
