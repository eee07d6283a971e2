//! The records of one batch from several threads, visited in the order of packets without moving them.

use crate::link::{
    Records, call_key, connection_key, episode_key, file_name_key, gap_key, outstanding_key,
};
use crate::live::batches::KeptBatch;
use analysis::live::Stretch;
use model::{
    Arp, Call, ConnectionSummary, Episode, FileName, Gap, Interval, Knock, Notice, Outstanding,
    Sight, Time,
};

/// One batch's records, by thread.
#[derive(Default, Debug)]
pub(crate) struct Answers {
    pub shards: Vec<Records>,
}

/// Merges slices that are sorted by `key`; equal keys come in the order of slices.
struct Merge<'a, T, K, F> {
    /// The only slice, where there is one: then nothing is compared.
    only: std::slice::Iter<'a, T>,
    /// What is left of others, each with its first and the key of that.
    slices: Vec<(K, &'a T, &'a [T])>,
    key: F,
}

impl<'a, T, K: Ord, F: Fn(&T) -> K> Iterator for Merge<'a, T, K, F> {
    type Item = &'a T;

    #[inline]
    fn next(&mut self) -> Option<&'a T> {
        self.only.next().or_else(|| self.first())
    }
}

impl<'a, T, K: Ord, F: Fn(&T) -> K> Merge<'a, T, K, F> {
    fn of(slices: impl Iterator<Item = &'a [T]>, key: F) -> Merge<'a, T, K, F> {
        let begun = |slice: &'a [T]| {
            let (first, rest) = slice.split_first()?;
            Some((key(first), first, rest))
        };
        let mut filled: Vec<&[T]> = slices.filter(|slice| !slice.is_empty()).collect();
        let only = if filled.len() == 1 {
            filled.pop()
        } else {
            None
        };
        Merge {
            only: only.unwrap_or_default().iter(),
            slices: filled.into_iter().filter_map(begun).collect(),
            key,
        }
    }

    /// The first of all slices' heads.
    fn first(&mut self) -> Option<&'a T> {
        let heads = self.slices.iter().enumerate();
        let (i, _) = heads.min_by(|(_, (a, ..)), (_, (b, ..))| a.cmp(b))?;
        let (key, head, rest) = self.slices.get_mut(i)?;
        let first = *head;
        match rest.split_first() {
            Some((next, behind)) => (*key, *head, *rest) = ((self.key)(next), next, behind),
            None => drop(self.slices.remove(i)),
        }
        Some(first)
    }
}

impl Answers {
    fn merge<'a, T: 'a, K: Ord>(
        &'a self,
        of: impl Fn(&'a Records) -> &'a Vec<T>,
        key: impl Fn(&T) -> K,
    ) -> impl Iterator<Item = &'a T> {
        Merge::of(self.shards.iter().map(|r| of(r).as_slice()), key)
    }

    pub(crate) fn calls(&self) -> impl Iterator<Item = &Call> {
        self.merge(|r| &r.calls, call_key)
    }

    /// Changes in the number of outstanding calls.
    pub(crate) fn outstanding(&self) -> impl Iterator<Item = &Outstanding> {
        self.changes().filter(|o| o.counts())
    }

    /// The same, and names that are looked up.
    pub(crate) fn changes(&self) -> impl Iterator<Item = &Outstanding> {
        self.merge(|r| &r.outstanding, outstanding_key)
    }

    pub(crate) fn file_names(&self) -> impl Iterator<Item = &FileName> {
        self.merge(|r| &r.file_names, file_name_key)
    }

    pub(crate) fn episodes(&self) -> impl Iterator<Item = &Episode> {
        self.merge(|r| &r.episodes, episode_key)
    }

    pub(crate) fn connections(&self) -> impl Iterator<Item = &ConnectionSummary> {
        self.merge(|r| &r.connections, connection_key)
            .map(|(_, c)| c)
    }

    pub(crate) fn gaps(&self) -> impl Iterator<Item = &Gap> {
        self.merge(|r| &r.gaps, gap_key)
    }

    pub(crate) fn knocks(&self) -> impl Iterator<Item = &Knock> {
        self.merge(|r| &r.knocks, |k| k.order)
    }

    pub(crate) fn arps(&self) -> impl Iterator<Item = &Arp> {
        self.merge(|r| &r.arps, |a| a.order)
    }

    pub(crate) fn sights(&self) -> impl Iterator<Item = &Sight> {
        self.merge(|r| &r.sights, |s| s.order)
    }

    pub(crate) fn notices(&self) -> impl Iterator<Item = &Notice> {
        self.merge(|r| &r.notices, |n| n.order)
    }

    /// In the order of threads.
    pub(crate) fn intervals(&self) -> impl Iterator<Item = &Interval> {
        self.shards.iter().flat_map(|r| &r.intervals)
    }

    /// In the order of threads.
    pub(crate) fn stretches(&self) -> impl Iterator<Item = &Stretch> {
        self.shards.iter().flat_map(|r| &r.stretches)
    }

    /// What was kept of the packets themselves: with the records of one thread.
    pub(crate) fn kept(&self) -> impl Iterator<Item = &KeptBatch> {
        self.shards.iter().map(|r| &r.kept)
    }

    /// Time of the batch's last packet.
    pub(crate) fn reached(&self) -> Option<Time> {
        self.shards.iter().filter_map(|r| r.reached).max()
    }
}
