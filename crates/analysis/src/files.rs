//! Calls into the files they are about: how many, how long they took, how many bytes they moved, and what
//! the files are called as far as names were seen.

use crate::file_names::FileNames;
use hashbrown::HashMap;
use model::{Call, Field, FileName, Problems, Where, limits};
use std::cmp::Reverse;
use std::hash::BuildHasher;

/// Files that a result holds: those that took most time.
const TOLD: usize = 10;

/// A file, and the calls about it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileResult {
    /// The hash of its handle.
    pub file: u64,
    /// As far as it is known, of the names seen in all captures.
    pub path: Option<String>,
    /// Those that were timed, and their response times together.
    pub calls: u64,
    pub total_ns: i64,
    pub request_bytes: u64,
    pub response_bytes: u64,
}

#[derive(Default)]
struct Sum {
    calls: u64,
    total_ns: i64,
    request_bytes: u64,
    response_bytes: u64,
}

/// The files of one capture.
#[derive(Default)]
pub struct Files {
    names: FileNames,
    sums: HashMap<u64, Sum, foldhash::fast::FixedState>,
    problems: Problems,
}

impl Files {
    pub fn name(&mut self, said: &FileName) {
        self.names.learn(said);
    }

    pub fn call(&mut self, call: &Call) {
        let Some(file) = call.detail.get(Field::File) else {
            return;
        };
        if self.sums.len() >= limits::FILES && !self.sums.contains_key(&file) {
            self.problems.note("files-full", || {
                let limit = limits::FILES;
                let text = format!("more than {limit} files; calls of further ones have no part in the sums by file");
                (text, Where::default())
            });
            return;
        }
        let sum = self.sums.entry(file).or_default();
        sum.request_bytes += call.request_bytes;
        sum.response_bytes += call.response_bytes;
        if call.is_timed()
            && let Some(ns) = call.response_time_ns()
        {
            sum.calls += 1;
            sum.total_ns = sum.total_ns.saturating_add(ns);
        }
    }

    /// Adds what bounds left out.
    pub(crate) fn note_bounds(&self, problems: &mut Problems) {
        problems.merge(&self.problems);
        problems.merge(&self.names.problems);
    }
}

/// The path of a file, of the first capture that knows it.
#[must_use]
pub fn path(captures: &[Files], file: u64) -> Option<String> {
    captures.iter().find_map(|c| c.names.path(file))
}

/// Below which export of its server each file lies, as far as names reach up to where the server's paths begin: what
/// was mounted, or the first directory there.
#[derive(Default)]
pub struct Exports {
    /// By a number of theirs, whatever the order in which files were seen.
    paths: HashMap<u64, String, foldhash::fast::FixedState>,
    of: HashMap<u64, u64, foldhash::fast::FixedState>,
}

impl Exports {
    #[must_use]
    pub fn of(captures: &[Files]) -> Exports {
        let mut exports = Exports::default();
        for file in captures.iter().flat_map(|c| c.sums.keys()) {
            let Some(path) = captures.iter().find_map(|c| c.names.export(*file)) else {
                continue;
            };
            let number = foldhash::fast::FixedState::default().hash_one(&path);
            exports.of.insert(*file, number);
            exports.paths.insert(number, path);
        }
        exports
    }

    /// The number of a file's.
    pub(crate) fn number(&self, file: u64) -> Option<u64> {
        self.of.get(&file).copied()
    }

    pub(crate) fn path(&self, number: u64) -> Option<&str> {
        self.paths.get(&number).map(String::as_str)
    }
}

/// The files of capture `which` that took most time.
#[must_use]
pub fn told(captures: &[Files], which: usize) -> Vec<FileResult> {
    let Some(files) = captures.get(which) else {
        return Vec::new();
    };
    let mut all: Vec<(&u64, &Sum)> = files.sums.iter().filter(|(_, s)| s.calls > 0).collect();
    all.sort_unstable_by_key(|(file, s)| (Reverse(s.total_ns), **file));
    all.truncate(TOLD);
    let told = all.into_iter().map(|(file, s)| FileResult {
        file: *file,
        path: path(captures, *file),
        calls: s.calls,
        total_ns: s.total_ns,
        request_bytes: s.request_bytes,
        response_bytes: s.response_bytes,
    });
    told.collect()
}
