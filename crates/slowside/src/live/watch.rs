//! The last packets, diagnosed again and again: beside the capture, in a thread of its own (where one is to be had),
//! where it goes on meanwhile; one after the other, so that the answer is always the same, where it is read from files.

use super::ring::Snapshot;
use crate::Error;
use crate::config::Config;
use crate::diagnose::ReadOptions;
use crate::waiting::Waiting;
use analysis::results::Diagnosis;
use capture::Capture;
use crossbeam_channel::{Receiver, TryRecvError, bounded};
use model::Time;

/// Packet time from one diagnosis to the next, and before the first.
const EVERY_NS: i64 = 10_000_000_000;
const FIRST_NS: i64 = 3_000_000_000;

pub(super) struct Watch {
    config: Config,
    name: String,
    /// Whether packets come as they are captured.
    beside: bool,
    due: Option<Time>,
    /// The diagnosis that goes on, of packets up to then.
    under_way: Option<(Time, Receiver<Result<Diagnosis, Error>>)>,
    /// Up to where packets were looked at.
    looked: Time,
}

impl Watch {
    pub(super) fn new(config: &Config, name: &str, beside: bool) -> Watch {
        Watch {
            config: Config {
                threads: 1,
                ..config.clone()
            },
            name: name.to_owned(),
            beside,
            due: None,
            under_way: None,
            looked: Time::MIN,
        }
    }

    /// Packets have come up to `now`: a diagnosis that is over, if one is. Another begins when it is time
    /// for one; one that takes longer than the pause lets others wait.
    pub(super) fn look(
        &mut self,
        now: Time,
        snapshot: impl FnOnce() -> Snapshot,
    ) -> Option<(Time, Diagnosis)> {
        if let Some(over) = self.over() {
            return Some(over);
        }
        if self.due.is_some_and(|due| due - now > EVERY_NS) {
            // The clock was set back.
            (self.due, self.looked) = (None, Time::MIN);
        }
        let due = *self.due.get_or_insert(now + FIRST_NS);
        if now < due || self.under_way.is_some() {
            return None;
        }
        self.due = Some(now + EVERY_NS);
        let snapshot = snapshot();
        let newest = snapshot.newest;
        if snapshot.is_empty() || newest <= self.looked {
            return None;
        }
        self.looked = newest;
        let (send, receive) = bounded(1);
        let (config, name) = (self.config.clone(), self.name.clone());
        let beside = self.beside.then(|| {
            Waiting::new(move |snapshot| {
                // Nobody waits for it where the run has ended.
                let _ = send.send(diagnose(&config, &name, snapshot));
            })
        });
        let Some(thread) = beside.flatten() else {
            return Some((newest, diagnose(&self.config, &self.name, snapshot).ok()?));
        };
        thread.start(snapshot);
        self.under_way = Some((newest, receive));
        None
    }

    fn over(&mut self) -> Option<(Time, Diagnosis)> {
        let (at, receive) = self.under_way.as_ref()?;
        let at = *at;
        let answer = receive.try_recv();
        if !matches!(answer, Err(TryRecvError::Empty)) {
            self.under_way = None;
        }
        Some((at, answer.ok()?.ok()?))
    }

    /// The capture is over: looks at what was not looked at.
    pub(super) fn last(&mut self, snapshot: Snapshot) -> Vec<(Time, Diagnosis)> {
        let mut all = Vec::new();
        if let Some((at, receive)) = self.under_way.take()
            && let Ok(Ok(diagnosis)) = receive.recv()
        {
            all.push((at, diagnosis));
        }
        let newest = snapshot.newest;
        if !snapshot.is_empty()
            && newest > self.looked
            && let Ok(diagnosis) = diagnose(&self.config, &self.name, snapshot)
        {
            all.push((newest, diagnosis));
        }
        all
    }
}

fn diagnose(config: &Config, name: &str, snapshot: Snapshot) -> Result<Diagnosis, Error> {
    let reader = Box::new(snapshot.into_reader(name));
    let capture = Capture::from_reader(name, reader).map_err(|e| Error::Message(e.to_string()))?;
    let read = ReadOptions::new(config);
    read.one(capture)
}
