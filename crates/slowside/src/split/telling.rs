//! A file of what shards told into the records of a [stream](crate::stream), batch by batch, unpacked ahead of whoever takes
//! them.
//!
//! ```text
//! TOLD, then of each batch in order, of each share, what it told
//! ```

use super::piece::{End, Problem};
use super::told::{FIXED, Told, fits};
use crate::Error;
use crate::link::{Records, Wanted};
use crate::merge::Answers;
use crate::stream::Finished;
use crate::waiting::Waiting;
use capture::{CaptureSummary, FileSummary};
use crossbeam_channel::{Receiver, bounded};
use model::{Problems, Time};
use net::Counts;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::PathBuf;

/// How a file of what shards told begins.
pub const TOLD: &[u8; 16] = b"slowside told 1\n";

/// What is unpacked before it is asked for.
const AHEAD: usize = 8;

/// A file of what shards told, being read.
pub(crate) struct Telling {
    reading: Reading,
    /// What comes next.
    next: Option<One>,
    pub(crate) first: Option<Time>,
    pub(crate) files: Vec<String>,
    ends: Vec<End>,
    problems: Problems,
    counts: Counts,
}

/// What one shard told of a batch.
type One = (Told, Records);

enum Reading {
    Here(Source),
    Ahead(Receiver<Result<One, Error>>),
}

struct Source {
    file: BufReader<File>,
    everything: bool,
}

impl Telling {
    /// Opens it, if it is one: of connections that may take up so many bytes.
    ///
    /// # Errors
    /// When it cannot be read, or they take up more.
    pub(crate) fn open(inputs: &[PathBuf], room: u64) -> Result<Option<Telling>, Error> {
        let [path] = inputs else {
            return Ok(None);
        };
        // Whoever reads it as a capture says why it cannot be.
        let Some(file) = File::open(path).ok().filter(|_| path.is_file()) else {
            return Ok(None);
        };
        let mut source = Source {
            file: BufReader::with_capacity(1 << 20, file),
            everything: true,
        };
        let mut head = [0; TOLD.len()];
        if source.file.read_exact(&mut head).is_err() || head != *TOLD {
            return Ok(None);
        }
        source.weigh(room).map_err(unread)??;
        let next = source.read()?;
        let told = next.as_ref().map(|(told, _)| told);
        Ok(Some(Telling {
            first: told.and_then(|told| told.first),
            files: told.map_or_else(Vec::new, |told| told.files.clone()),
            next,
            reading: Reading::Here(source),
            ends: Vec::new(),
            problems: Problems::default(),
            counts: Counts::default(),
        }))
    }

    /// The same, of which nothing but calls is asked, or everything; by so many threads.
    pub(crate) fn wanted(self, wanted: Wanted, threads: usize) -> Telling {
        let reading = match self.reading {
            Reading::Here(source) => {
                let everything = !wanted.is_of_calls_alone();
                Source {
                    everything,
                    ..source
                }
                .ahead(threads)
            }
            ahead => ahead,
        };
        Telling { reading, ..self }
    }

    fn read(&mut self) -> Result<Option<One>, Error> {
        match &mut self.reading {
            Reading::Here(source) => source.read(),
            Reading::Ahead(told) => told.recv().ok().transpose(),
        }
    }

    /// The records of the next batch, of all shards; `false` when there are none.
    pub(crate) fn next(&mut self, into: &mut Answers) -> Result<bool, Error> {
        into.shards.clear();
        while let Some((told, records)) = self.next.take() {
            let of_batch = into.shards.first().map(|first| first.number);
            if of_batch.is_some_and(|number| number != records.number) {
                self.next = Some((told, records));
                break;
            }
            into.shards.push(records);
            self.ends.extend(told.ends);
            Problem::add(&told.problems, &mut self.problems);
            self.counts.not_ip += told.not_ip;
            self.counts.not_tcp_or_udp += told.not_tcp_or_udp;
            self.next = self.read()?;
        }
        Ok(!into.shards.is_empty())
    }

    /// What is known of the capture once all was read.
    pub(crate) fn finish(self) -> Finished {
        let mut problems = self.problems;
        let mut files: Vec<FileSummary> = Vec::new();
        for end in self.ends {
            Problem::add(&end.problems, &mut problems);
            files.extend(end.files);
        }
        Finished {
            summary: CaptureSummary::of(files),
            problems,
            counts: self.counts,
            error: None,
        }
    }
}

impl Source {
    /// Read by a thread of its own, where there may be one.
    fn ahead(self, threads: usize) -> Reading {
        let (tell, told) = bounded(AHEAD);
        let read = move |mut source: Source| {
            while let Some(one) = source.read().transpose() {
                let is_last = one.is_err();
                // Nobody waits for it any more where that fails.
                if tell.send(one).is_err() || is_last {
                    return;
                }
            }
        };
        match (threads > 1).then(|| Waiting::new(read)).flatten() {
            Some(waiting) => {
                waiting.start(self);
                Reading::Ahead(told)
            }
            None => Reading::Here(self),
        }
    }

    /// Whether what all shards had at a time was no more than that.
    fn weigh(&mut self, room: u64) -> io::Result<Result<(), Error>> {
        let (mut at, mut sum) = (0, 0_u64);
        let mut fixed = [0; FIXED];
        while self.file.read_exact(&mut fixed).is_ok() {
            let [length, number, weight] = [0..4, 4..12, 12..20].map(|place| {
                let bytes = fixed.get(place).unwrap_or_default().iter().rev();
                bytes.fold(0, |n: u64, &byte| n << 8 | u64::from(byte))
            });
            sum = weight.saturating_add(if number == at { sum } else { 0 });
            at = number;
            if let Err(e) = fits(sum, room) {
                return Ok(Err(e));
            }
            // Number and weight are behind the length.
            self.file.seek_relative(length as i64 - 16)?;
        }
        self.file.seek(SeekFrom::Start(TOLD.len() as u64))?;
        Ok(Ok(()))
    }

    fn read(&mut self) -> Result<Option<One>, Error> {
        if self.file.fill_buf().map_err(unread)?.is_empty() {
            return Ok(None);
        }
        let mut length = [0; 4];
        self.file.read_exact(&mut length).map_err(unread)?;
        let mut bytes = Vec::new();
        let length = u64::from(u32::from_le_bytes(length));
        let mut part = self.file.by_ref().take(length);
        part.read_to_end(&mut bytes).map_err(unread)?;
        Told::read(&bytes, self.everything).map(Some)
    }
}

fn unread(e: io::Error) -> Error {
    Error::Message(format!("what shards told cannot be read: {e}"))
}
