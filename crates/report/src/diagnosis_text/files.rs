//! The files that took most time, as a table: those that a reader would look for first.

use crate::harmless::harmless;
use crate::page::{self, Tone, columns};
use crate::text::{Grid, Unit, grouped, share};
use crate::value;
use analysis::results::{Diagnosis, FileResult};

/// Files that are listed, and what part of the time of calls one must have taken to be among them.
const LISTED: usize = 5;
const WORTH: i64 = 20;

/// A table of files.
pub(crate) struct FileTable {
    pub(crate) title: String,
    /// The headings, then a file each; its name stands last, as it may be long.
    pub(crate) rows: Vec<Vec<String>>,
}

/// Where something was found, the files that took a good part of the time; nothing where no call is about a
/// file, as most are not.
pub(crate) fn table(d: &Diagnosis) -> Option<FileTable> {
    let all_ns = all_ns(d);
    let worth = |f: &&FileResult| f.total_ns >= all_ns / WORTH && f.total_ns > 0;
    let listed: Vec<&FileResult> = d.files.iter().filter(worth).take(LISTED).collect();
    if listed.is_empty() || d.findings.is_empty() {
        return None;
    }
    let unit = Unit::for_duration(listed.first().map_or(0, |f| mean_ns(f)));
    let heads = ["share", "calls", "mean", "file"].map(str::to_owned);
    let rows = listed.iter().map(|f| {
        vec![
            share(f.total_ns, all_ns),
            grouped(f.calls),
            unit.number(mean_ns(f)),
            name(f),
        ]
    });
    Some(FileTable {
        title: format!("Files that took most time, in {}", unit.name),
        rows: std::iter::once(heads.to_vec()).chain(rows).collect(),
    })
}

/// Response times of all calls that files' calls are among: of one capture, whether or not the other has them.
pub(crate) fn all_ns(d: &Diagnosis) -> i64 {
    let of_ops = d
        .ops
        .iter()
        .map(|o| o.client.or(o.server).map_or(0, |s| s.total_ns));
    let of_files = d.files.iter().map(|f| f.total_ns);
    let sum = |all: i64, ns: i64| all.saturating_add(ns);
    of_ops.fold(0, sum).max(of_files.fold(0, sum))
}

fn mean_ns(f: &FileResult) -> i64 {
    f.total_ns / i64::try_from(f.calls).unwrap_or(i64::MAX).max(1)
}

/// What it is called, or the hash of its handle, by which Wireshark and the other commands know it.
pub(crate) fn name(f: &FileResult) -> String {
    match &f.path {
        Some(path) => harmless(path),
        None => value::file(f.file),
    }
}

/// The end of a path that is too long: its beginning tells least.
fn end_of(path: &str, room: usize) -> String {
    if columns(path) <= room {
        return path.to_owned();
    }
    let starts = path.char_indices().map(|(i, _)| i);
    let mut ends = starts.filter_map(|i| path.get(i..));
    let fits = |end: &&str| columns(end) < room;
    format!("…{}", ends.find(fits).unwrap_or_default())
}

pub(super) fn files(d: &Diagnosis) -> String {
    let Some(FileTable { title, mut rows }) = table(d) else {
        return String::new();
    };
    let names: Vec<String> = rows.iter_mut().filter_map(Vec::pop).collect();
    let grid = Grid::fitting(rows);
    let room = page::width().saturating_sub(grid.width() + 4);
    let lines = grid.lines().into_iter().zip(names);
    let lines = lines.map(|(line, name)| format!("  {line}  {}\n", end_of(&name, room)));
    Tone::Title.paint(&title) + "\n" + &lines.collect::<String>()
}
