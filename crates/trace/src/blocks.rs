//! An extended SQL trace of Oracle (event 10046) into its waits for blocks of data files: the evidence that
//! is held against NFS READs; and into its round trips, which are another's.
//!
//! Only waits that name their blocks are taken: `db file parallel read` does not, and control files and
//! logs have blocks of another size. Three parameters follow each event in the same order whatever the
//! release calls them: file, first block, number of blocks.

use crate::Error;
use crate::collector::Collector;
use crate::lines::Lines;
use crate::oracle::{self, Record, Wait};
use crate::round_trips::RoundTrips;
use model::limits::TRACE_BLOCK_WAITS;
use std::sync::Arc;

/// Waits for blocks, in the order of the files.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct BlockWaits {
    pub waits: Vec<BlockWait>,
    /// Waits left out because there were more than [`TRACE_BLOCK_WAITS`].
    pub beyond_limit: u64,
    /// Waits without a moment, as 9i wrote them.
    pub untimed: u64,
    /// Nanoseconds by which times are cut.
    pub unit_ns: i64,
}

/// A wait of a database for blocks that follow each other in a data file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BlockWait {
    /// `tim`: when it ended, nanoseconds on a clock of which neither start nor speed is known.
    pub end_ns: i64,
    /// `ela`.
    pub elapsed_ns: i64,
    /// The database's number of the file.
    pub file: u32,
    /// The first block; block n begins n times the size of a block into the file.
    pub block: u32,
    pub blocks: u32,
    pub event: ReadEvent,
}

/// Wait events that name the blocks they read.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ReadEvent {
    Sequential,
    Scattered,
    Direct,
    DirectTemp,
    DirectLob,
}

impl ReadEvent {
    pub const ALL: [ReadEvent; 5] = [
        ReadEvent::Sequential,
        ReadEvent::Scattered,
        ReadEvent::Direct,
        ReadEvent::DirectTemp,
        ReadEvent::DirectLob,
    ];

    /// As the trace writes it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            ReadEvent::Sequential => "db file sequential read",
            ReadEvent::Scattered => "db file scattered read",
            ReadEvent::Direct => "direct path read",
            ReadEvent::DirectTemp => "direct path read temp",
            ReadEvent::DirectLob => "direct path read (lob)",
        }
    }

    /// Whether the wait lasts from before the first request to behind the last response. Reads past the
    /// buffer cache are under way before they are waited for.
    #[must_use]
    pub fn is_whole(self) -> bool {
        matches!(self, ReadEvent::Sequential | ReadEvent::Scattered)
    }
}

/// Of one wait; larger ones are damage.
const BLOCKS: u32 = 65_536;

/// Whether text begins as a trace does.
pub(crate) fn is_trace(head: &str) -> bool {
    const RECORDS: [&str; 6] = [
        "WAIT #",
        "PARSING IN CURSOR #",
        "PARSE #",
        "EXEC #",
        "FETCH #",
        "*** SESSION ID:(",
    ];
    let first = head.lines().find(|l| !l.trim().is_empty());
    first.is_some_and(|l| l.starts_with("Trace file "))
        || head.lines().any(|line| {
            RECORDS.iter().any(|r| line.starts_with(r))
                || line.starts_with("Oracle") && line.contains(" Release ")
        })
}

pub(crate) fn read(files: Vec<Lines>, into: &mut Collector) -> Result<(), Error> {
    let mut found = BlockWaits::default();
    let several = files.len() > 1;
    let first = files.first().map(Lines::name).unwrap_or_default();
    for file in files {
        let mut trips = RoundTrips::default();
        let mut take = |record: Record<'_>| {
            if let Record::Wait(wait) = record {
                found.take(&wait);
            }
            trips.take(&record);
        };
        let read = match file.path() {
            Some(path) => oracle::read(path, &mut take)?,
            None => {
                let name = file.name();
                oracle::read_from(name, file.into_reader(), None, &mut take)?
            }
        };
        found.unit_ns = found.unit_ns.max(read.unit_ns);
        trips.end(&read, into);
        for (_, p) in read.problems.iter().filter(|(_, p)| p.damage) {
            into.skip_many(p.count, || format!("{}: {}", p.first, p.example));
        }
    }
    into.format(match several {
        true => "Oracle traces".to_owned(),
        false => "Oracle trace".to_owned(),
    });
    if found.waits.is_empty() && into.operations().is_empty() {
        let cure = match found.untimed {
            0 => "trace with waits (level 8 of event 10046, waits => true)",
            _ => "its waits have no tim, as those of 9i: slowside trace reads it alone",
        };
        return Err(Error::NoBlocks { file: first, cure });
    }
    into.blocks(Arc::new(found));
    into.of_servers();
    Ok(())
}

impl BlockWaits {
    fn take(&mut self, wait: &Wait<'_>) {
        let mut events = ReadEvent::ALL.into_iter();
        let Some(event) = events.find(|e| e.name() == wait.event) else {
            return;
        };
        let number = |(_, value): (&str, Option<i64>)| u32::try_from(value?).ok();
        let [file, block, count] = wait.parameters.map(number);
        let (Some(file), Some(block), Some(blocks)) = (file, block, count) else {
            return;
        };
        if !(1..=BLOCKS).contains(&blocks) {
            return;
        }
        let Some(end_ns) = wait.tim_ns else {
            self.untimed += 1;
            return;
        };
        if self.waits.len() >= TRACE_BLOCK_WAITS {
            self.beyond_limit += 1;
            return;
        }
        self.waits.push(BlockWait {
            end_ns,
            elapsed_ns: wait.elapsed_ns,
            file,
            block,
            blocks,
            event,
        });
    }
}
