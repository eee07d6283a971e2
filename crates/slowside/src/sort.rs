//! Rows by a number: sorted in memory while they are few, else in runs on disk that are merged. Where only the first
//! are wanted, those that cannot be among them are forgotten before any go to disk.
//!
//! Memory is bounded by one run; the file is unlinked as soon as it is open, so that nothing stays
//! behind however the run ends.

use capture::unlinked_file;
use model::limits;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};

/// What rows are sorted by: a time, and what tells apart those of the same. Rows with the same key stay
/// in the order in which they came.
pub type Key = (i64, u64);

/// Bytes of each run read at once while merging.
const READ_BYTES: u64 = 1 << 16;

/// Rows that are kept at least before some are forgotten.
const SOME_ROWS: usize = 1_000;

/// Sorts rows that may be more than memory holds.
pub struct Sorter {
    run_bytes: usize,
    /// How many are wanted.
    first: usize,
    /// So many have this key or a lower one.
    beyond: Option<Key>,
    /// What to do where there is no room on disk.
    cure: &'static str,
    rows: Vec<u8>,
    /// Key, start and length of each row in `rows`.
    index: Vec<(Key, usize, usize)>,
    spilled: Option<File>,
    /// Where each run starts and ends in the file.
    runs: Vec<(u64, u64)>,
}

impl Sorter {
    /// `cure` says what to do, beside making room, where rows have to go to disk and cannot.
    #[must_use]
    pub fn new(cure: &'static str) -> Sorter {
        Sorter::with_run_bytes(limits::SORT_BYTES, cure)
    }

    fn with_run_bytes(run_bytes: usize, cure: &'static str) -> Sorter {
        Sorter {
            run_bytes,
            first: usize::MAX,
            beyond: None,
            cure,
            rows: Vec::new(),
            index: Vec::new(),
            spilled: None,
            runs: Vec::new(),
        }
    }

    /// Gives the first `n` rows only.
    #[must_use]
    pub fn first(self, n: usize) -> Sorter {
        Sorter { first: n, ..self }
    }

    /// Adds a row.
    ///
    /// # Errors
    /// When rows have to go to disk and cannot.
    pub fn push(&mut self, key: Key, row: &[u8]) -> io::Result<()> {
        if self.beyond.is_some_and(|beyond| key >= beyond) {
            return Ok(());
        }
        let is_full = self.rows.len() + row.len() > self.run_bytes;
        if is_full || self.index.len() / 2 > self.first.saturating_add(SOME_ROWS) {
            self.forget();
        }
        // What is left shall not be looked through again for every row.
        if is_full && self.rows.len() > self.run_bytes / 2 {
            self.spill().map_err(|e| told(&e, self.cure))?;
        }
        self.index.push((key, self.rows.len(), row.len()));
        self.rows.extend_from_slice(row);
        Ok(())
    }

    /// Forgets rows in memory that are not among the first.
    fn forget(&mut self) {
        if self.index.len() <= self.first {
            return;
        }
        self.index.sort_unstable();
        self.index.truncate(self.first);
        self.beyond = self.index.last().map(|&(key, ..)| key);
        let mut kept = Vec::new();
        for (_, start, length) in &mut self.index {
            let row = self.rows.get(*start..*start + *length);
            *start = kept.len();
            kept.extend_from_slice(row.unwrap_or_default());
        }
        self.rows = kept;
    }

    /// The rows in memory, in order.
    fn sorted(&mut self) -> impl Iterator<Item = (Key, &[u8])> {
        self.index.sort_unstable();
        let rows = &self.rows;
        self.index
            .iter()
            .map(|&(key, start, length)| (key, rows.get(start..start + length).unwrap_or_default()))
    }

    /// Writes the rows in memory as one run.
    fn spill(&mut self) -> io::Result<()> {
        let mut file = match self.spilled.take() {
            Some(file) => file,
            None => unlinked_file()?,
        };
        let start = file.seek(SeekFrom::End(0))?;
        let mut out = BufWriter::with_capacity(1 << 20, &file);
        for ((time, order), row) in self.sorted() {
            out.write_all(&time.to_le_bytes())?;
            out.write_all(&order.to_le_bytes())?;
            out.write_all(&(row.len() as u64).to_le_bytes())?;
            out.write_all(row)?;
        }
        out.flush()?;
        drop(out);
        let end = file.stream_position()?;
        self.runs.push((start, end));
        self.spilled = Some(file);
        self.rows.clear();
        self.index.clear();
        Ok(())
    }

    /// Gives the rows in order.
    ///
    /// # Errors
    /// Those of `each` and of the file.
    pub fn finish(mut self, each: &mut dyn FnMut(Key, &[u8]) -> io::Result<()>) -> io::Result<()> {
        let Some(mut file) = self.spilled.take() else {
            let first = self.first;
            let mut rows = self.sorted().take(first);
            return rows.try_for_each(|(key, row)| each(key, row));
        };
        // What is left in memory is the last run: it needs no detour over the disk.
        let mut runs: Vec<Run> = self
            .runs
            .iter()
            .map(|&(next, end)| Run {
                next,
                end,
                buffer: Vec::new(),
                at: 0,
                row: Vec::new(),
            })
            .collect();
        let mut heap = BinaryHeap::new();
        for (i, run) in runs.iter_mut().enumerate() {
            if let Some(key) = run.advance(&mut file)? {
                heap.push(Reverse((key, i)));
            }
        }
        let first = self.first;
        let mut rest = self.sorted().peekable();
        for _ in 0..first {
            let spilled = heap.peek().map(|Reverse((key, _))| *key);
            let kept = rest.peek().map(|(key, _)| *key);
            match (spilled, kept) {
                (None, None) => break,
                (Some(key), kept) if kept.is_none_or(|k| key <= k) => {
                    let Some(Reverse((_, i))) = heap.pop() else {
                        continue;
                    };
                    if let Some(run) = runs.get_mut(i) {
                        each(key, &run.row)?;
                        if let Some(key) = run.advance(&mut file)? {
                            heap.push(Reverse((key, i)));
                        }
                    }
                }
                _ => {
                    if let Some((key, row)) = rest.next() {
                        each(key, row)?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// One run while it is merged: its current row, and the part of the file read ahead.
struct Run {
    next: u64,
    end: u64,
    buffer: Vec<u8>,
    at: usize,
    row: Vec<u8>,
}

impl Run {
    /// Makes the next row the current one, and tells its key; `None` at the end.
    fn advance(&mut self, file: &mut File) -> io::Result<Option<Key>> {
        if self.at == self.buffer.len() && self.next == self.end {
            return Ok(None);
        }
        let mut number = || self.take(file, 8).map(|b| number_of(&b));
        let (time, order, length) = (number()?, number()?, number()?);
        let length = usize::try_from(length).map_err(io::Error::other)?;
        self.row = self.take(file, length)?;
        Ok(Some((time as i64, order)))
    }

    fn take(&mut self, file: &mut File, mut wanted: usize) -> io::Result<Vec<u8>> {
        let mut out = std::mem::take(&mut self.row);
        out.clear();
        while wanted > 0 {
            if self.at == self.buffer.len() {
                self.fill(file)?;
            }
            let ready = self.buffer.get(self.at..).unwrap_or_default();
            let part = ready.get(..wanted.min(ready.len())).unwrap_or_default();
            out.extend_from_slice(part);
            self.at += part.len();
            wanted -= part.len();
        }
        Ok(out)
    }

    fn fill(&mut self, file: &mut File) -> io::Result<()> {
        let size = READ_BYTES.min(self.end - self.next);
        if size == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.buffer.resize(size as usize, 0);
        file.seek(SeekFrom::Start(self.next))?;
        file.read_exact(&mut self.buffer)?;
        self.next += size;
        self.at = 0;
        Ok(())
    }
}

fn number_of(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |n, &b| n << 8 | u64::from(b))
}

fn told(error: &io::Error, cure: &str) -> io::Error {
    let folder = std::env::temp_dir();
    let folder = folder.display();
    let text =
        format!("cannot sort in {folder}: {error}; set TMPDIR to a folder with room, or {cure}");
    io::Error::new(error.kind(), text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sorted(rows: &[(i64, String)], run_bytes: usize) -> String {
        written(rows, Sorter::with_run_bytes(run_bytes, ""))
    }

    fn written(rows: &[(i64, String)], mut sorter: Sorter) -> String {
        for (order, (time, row)) in rows.iter().enumerate() {
            sorter
                .push((*time, order as u64 / 2), row.as_bytes())
                .expect("a folder for temporary files");
        }
        let mut out = Vec::new();
        let mut write = |_: Key, row: &[u8]| out.write_all(row);
        sorter.finish(&mut write).expect("memory");
        String::from_utf8(out).expect("UTF-8")
    }

    #[test]
    fn of_many_rows_only_the_first_stay_in_memory() {
        let mut sorter = Sorter::new("").first(10);
        for n in (0..100_000).rev() {
            sorter.push((n, 0), b"a row\n").expect("memory");
            assert!(sorter.rows.len() < 6 * 3 * SOME_ROWS, "{n}");
        }
        assert!(sorter.spilled.is_none());
    }

    #[test]
    fn rows_longer_than_what_is_read_at_once_survive() {
        let long = "x".repeat(READ_BYTES as usize * 2 + 7);
        let rows = [(2, long.clone()), (1, "a".into()), (0, "b".into())];
        assert_eq!(sorted(&rows, 1), format!("ba{long}"));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn runs_on_disk_give_the_order_of_memory(
            rows in prop::collection::vec((-50i64..50, "[a-z]{0,12}\n"), 0..200),
            run_bytes in 1usize..400,
        ) {
            let mut expected = rows.clone();
            expected.sort_by_key(|(time, _)| *time);
            let expected: String = expected.into_iter().map(|(_, row)| row).collect();
            prop_assert_eq!(&sorted(&rows, run_bytes), &expected);
            prop_assert_eq!(&sorted(&rows, limits::SORT_BYTES), &expected);
        }

        #[test]
        fn the_first_are_those_of_all_in_order(
            rows in prop::collection::vec((-9i64..9, "[a-z]{0,12}\n"), 0..200),
            first in 0usize..220,
            run_bytes in 1usize..2_000,
        ) {
            let mut expected = rows.clone();
            expected.sort_by_key(|(time, _)| *time);
            let expected: String = expected.into_iter().take(first).map(|(_, row)| row).collect();
            let sorter = Sorter::with_run_bytes(run_bytes, "").first(first);
            prop_assert_eq!(&written(&rows, sorter), &expected);
        }
    }
}
