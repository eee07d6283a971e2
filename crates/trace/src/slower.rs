//! Rows of BCC's tools (bcc 0.3 to 0.31, and libbpf-tools) into operations: nfsslower, ext4slower and their likes
//! (`TIME COMM PID T BYTES OFF_KB LAT(ms) FILENAME`), and biosnoop (`TIME(s) COMM PID DISK T SECTOR BYTES [QUE(ms)]
//! LAT(ms)`; its columns stand where the head says, counted from the right). What it says of an I/O are letters: bcc R or W,
//! libbpf-tools what the kernel's tracers write (`blk_fill_rwbs`: WS, RA, WFS, D, FF).
//!
//! - Their times are of the wall without a date, or since the first row: operations are joined by their offsets, or mean
//!   against mean. `-j` of the first writes CSV, which is read as such (`csv.rs`).
//! - `OFF_KB` is cut to whole KB. Where a file is read in pieces of other sizes, offsets meet none of the capture's.
//! - Names of commands and files may hold blanks: rows are read around the letter that says the kind.
//! - *slower* tools leave out what was fast, unless they are asked for everything (`nfsslower 0`). The least that is
//!   printed stands above the rows.

use crate::collector::Collector;
use crate::lines::{At, Lines};
use crate::number::scaled;
use crate::{Error, Operation, OperationKind};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Tool {
    Slower,
    Biosnoop,
}

impl Tool {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Tool::Slower => "rows of a BCC tool",
            Tool::Biosnoop => "biosnoop output",
        }
    }

    /// Whose head a line is.
    pub(crate) fn of(line: &str) -> Option<Tool> {
        let has = |name: &str| line.split_whitespace().any(|w| w == name);
        if !has("LAT(ms)") || !has("T") || !has("BYTES") || !has("PID") {
            None
        } else if has("OFF_KB") {
            Some(Tool::Slower)
        } else {
            has("SECTOR").then_some(Tool::Biosnoop)
        }
    }
}

pub(crate) fn read(tool: Tool, files: Vec<Lines>, into: &mut Collector) -> Result<(), Error> {
    for file in files {
        let mut head: Option<Vec<String>> = None;
        file.each(into, |into, at, line| {
            if Tool::of(line).is_some() {
                head = Some(line.split_whitespace().map(str::to_owned).collect());
            } else if line.starts_with("Tracing ") {
                // nfsslower is for clients.
                if line.contains(" NFS ") {
                    into.of_clients();
                }
                if let Some(least) = least_ns(line) {
                    into.slower_than(least);
                }
            } else if let Some(head) = &head {
                row(tool, head, line, into, at);
            }
            Ok(())
        })?;
    }
    into.format(tool.name().to_owned());
    Ok(())
}

/// `Tracing ext4 operations slower than 10 ms`, `Tracing NFS operations that are slower than 10 ms`.
fn least_ns(line: &str) -> Option<i64> {
    let (_, rest) = line.split_once("slower than ")?;
    scaled(rest.strip_suffix(" ms")?.trim(), 6)
}

fn row(tool: Tool, head: &[String], line: &str, into: &mut Collector, at: At<'_>) {
    let words: Vec<&str> = line.split_whitespace().collect();
    let found = match tool {
        Tool::Slower => slower(&words),
        Tool::Biosnoop => biosnoop(head, &words),
    };
    match found {
        Some(operation) => into.operation(operation),
        None => into.skip(at, "not a row of this tool's columns"),
    }
}

/// `[PID, T, BYTES, OFF_KB, LAT]` stand together somewhere.
fn slower(words: &[&str]) -> Option<Operation> {
    words.windows(5).skip(2).find_map(|w| {
        let [pid, letter, bytes, kb, latency] = w else {
            return None;
        };
        pid.parse::<u32>().ok()?;
        let kind = kind(letter)?;
        let offset = kb.parse::<u64>().ok()?.checked_mul(1_024)?;
        let is_placed = matches!(kind, OperationKind::Read | OperationKind::Write);
        Some(Operation {
            kind,
            size: bytes.parse().ok(),
            offset: is_placed.then_some(offset),
            ..lasting(latency)?
        })
    })
}

/// What stands below these names of the head, counted from the right: names of commands may hold blanks.
fn biosnoop(head: &[String], words: &[&str]) -> Option<Operation> {
    let below = |name: &str| {
        let column = head.iter().position(|n| n == name)?;
        let from_right = head.len() - column;
        words.get(words.len().checked_sub(from_right)?).copied()
    };
    below("PID")?.parse::<u32>().ok()?;
    let flags = below("T")?;
    let is_known = flags.bytes().all(|b| b"FDWRNASM".contains(&b));
    let has = |flag| flags.contains(flag);
    let kind = match (has('R'), has('W')) {
        _ if !is_known => return None,
        (true, false) => OperationKind::Read,
        (false, true) => OperationKind::Write,
        // Discards, flushes.
        _ => OperationKind::Other,
    };
    Some(Operation {
        kind,
        size: below("BYTES")?.parse().ok(),
        ..lasting(below("LAT(ms)")?)?
    })
}

/// Nobody knows when.
fn lasting(latency_ms: &str) -> Option<Operation> {
    let end_ns = scaled(latency_ms, 6).filter(|ns| *ns >= 0)?;
    Some(Operation {
        start_ns: 0,
        end_ns,
        absolute: false,
        kind: OperationKind::Unsaid,
        offset: None,
        size: None,
        client: None,
        session: None,
    })
}

fn kind(letter: &str) -> Option<OperationKind> {
    Some(match letter {
        "R" => OperationKind::Read,
        "W" => OperationKind::Write,
        // Open, fsync, getattr, commit.
        "O" | "S" | "F" | "G" | "C" => OperationKind::Other,
        _ => return None,
    })
}
