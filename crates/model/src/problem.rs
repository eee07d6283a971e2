//! What was wrong with the input: counted by kind, with the first place of each, never fatal.

use std::collections::BTreeMap;
use std::fmt;

/// The kind of a connection's problem whose protocol is not known because message headers lie behind the snap length.
pub const HEADERS_CUT: &str = "headers-cut";

/// A place in the input.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Where {
    /// The file's name as given; empty when the problem is not in a file.
    pub file: String,
    /// The frame number within it, where one is known.
    pub frame: Option<u32>,
    /// The line number within it, from 1, where the file is text.
    pub line: Option<u64>,
    /// The byte offset within the (uncompressed) file, where it is known.
    pub offset: Option<u64>,
}

impl fmt::Display for Where {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(frame) = self.frame {
            write!(f, ", packet {frame}")?;
        }
        if let Some(line) = self.line {
            write!(f, ", line {line}")?;
        }
        if let Some(offset) = self.offset {
            write!(f, ", byte offset {offset}")?;
        }
        Ok(())
    }
}

/// One kind of problem: how often it occurred, and the first time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    pub count: u64,
    /// Whether it means that input was damaged (exit code 3), or is only worth knowing.
    pub damage: bool,
    /// What was found the first time, in words.
    pub example: String,
    pub first: Where,
}

/// Problems by kind. A kind is a kebab-case word such as `cut-in-mid-record`.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Problems {
    kinds: BTreeMap<&'static str, Problem>,
}

impl Problems {
    /// Counts damage: something could not be read.
    pub fn damage(&mut self, kind: &'static str, example: impl FnOnce() -> (String, Where)) {
        self.add(kind, true, 1, example);
    }

    /// Counts something worth knowing that loses nothing.
    pub fn note(&mut self, kind: &'static str, example: impl FnOnce() -> (String, Where)) {
        self.add(kind, false, 1, example);
    }

    /// Counts `count` occurrences at once; the example is only made for the first of its kind.
    pub fn add(
        &mut self,
        kind: &'static str,
        damage: bool,
        count: u64,
        example: impl FnOnce() -> (String, Where),
    ) {
        if count == 0 {
            return;
        }
        let problem = self.kinds.entry(kind).or_insert_with(|| {
            let (example, first) = example();
            Problem {
                count: 0,
                damage,
                example,
                first,
            }
        });
        problem.count += count;
        problem.damage |= damage;
    }

    /// Adds the counts of `later`, keeping the first examples of `self`.
    pub fn merge(&mut self, later: &Problems) {
        for (kind, p) in &later.kinds {
            self.add(kind, p.damage, p.count, || {
                (p.example.clone(), p.first.clone())
            });
        }
    }

    /// Whether something could not be read that could `before`.
    #[must_use]
    pub fn lacks_more_than(&self, before: &Problems) -> bool {
        let mut both = before.clone();
        both.merge_unread(self);
        both.iter()
            .map(|(_, p)| p.count)
            .ne(before.iter().map(|(_, p)| p.count))
    }

    /// Adds what could not be read when all was read once more, and could before.
    pub fn merge_unread(&mut self, again: &Problems) {
        const UNREAD: [&str; 2] = ["read-error", "unreadable-file"];
        for (kind, p) in again.kinds.iter().filter(|(k, _)| UNREAD.contains(k)) {
            let before = self.kinds.get(kind).map_or(0, |known| known.count);
            self.add(kind, true, p.count.saturating_sub(before), || {
                (p.example.clone(), p.first.clone())
            });
        }
    }

    /// Kind and problem, by kind.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &Problem)> {
        self.kinds.iter().map(|(&k, p)| (k, p))
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.kinds.is_empty()
    }

    /// How many kinds there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.kinds.len()
    }

    /// Whether any input was damaged.
    #[must_use]
    pub fn any_damage(&self) -> bool {
        self.kinds.values().any(|p| p.damage)
    }
}
