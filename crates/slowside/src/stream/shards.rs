//! A capture's threads: one that reads gives each batch to all shards, each of which answers with the records of
//! its own connections.

use super::{Connections, Decoded, IN_FLIGHT, Mode, Reader, Shard, inline};
use crate::firsts::ThreadProblems;
use crate::link::{Records, Wanted};
use crate::room::Room;
use crate::run::Share;
use crate::waiting::Waiting;
use crossbeam_channel::{Receiver, Sender, bounded};
use net::Segment;
use std::sync::Arc;

/// One thread that reads, and as many shards as were asked for, or as can be had; without any of them all is done where
/// the records are taken.
pub(super) fn start(reader: Reader, share: Share, wanted: Wanted) -> Mode {
    let shards = share.threads.saturating_sub(1).clamp(1, net::PARTITIONS);
    let reading = Waiting::new(read);
    let waiting = (0..shards).map_while(|_| Waiting::new(move |part: Part| part.work(wanted)));
    let waiting: Vec<_> = waiting.collect();
    let Some(reading) = reading.filter(|_| !waiting.is_empty()) else {
        return inline(reader, share, wanted);
    };
    let (recycle, recycled) = bounded::<Decoded>(IN_FLIGHT + 2);
    let mut to_shards: Vec<Sender<Arc<Decoded>>> = Vec::new();
    let mut from_shards = Vec::new();
    let mut workers = Vec::new();
    let of = waiting.len();
    let room = Room::new(share.connections_bytes, of);
    for (number, worker) in waiting.into_iter().enumerate() {
        let (send, receive) = bounded::<Arc<Decoded>>(IN_FLIGHT);
        let (answer, answers) = bounded::<Records>(IN_FLIGHT);
        let (used, spare) = bounded::<Records>(IN_FLIGHT);
        to_shards.push(send);
        from_shards.push(Shard {
            answers,
            next: None,
            used,
        });
        workers.push(worker.start(Part {
            number,
            of,
            room: Arc::clone(&room),
            channels: Channels {
                batches: receive,
                answers: answer,
                spare,
                recycle: recycle.clone(),
            },
        }));
    }
    Mode::Threads {
        shards: from_shards,
        reader: reading.start((reader, to_shards, recycled)),
        workers,
    }
}

/// Reads to the end, and gives every batch to every shard.
fn read(
    (mut reader, to_shards, recycled): (Reader, Vec<Sender<Arc<Decoded>>>, Receiver<Decoded>),
) -> Reader {
    loop {
        let mut decoded = recycled.try_recv().unwrap_or_default();
        if !reader.next(&mut decoded) {
            break;
        }
        let decoded = Arc::new(decoded);
        // A shard that is gone loses its own connections only; when all are, nobody wants the rest.
        let sent = to_shards
            .iter()
            .filter(|shard| shard.send(Arc::clone(&decoded)).is_ok());
        if sent.count() == 0 {
            break;
        }
    }
    reader
}

/// What a shard has of the whole.
struct Part {
    number: usize,
    of: usize,
    room: Arc<Room>,
    channels: Channels,
}

impl Part {
    fn work(self, wanted: Wanted) -> ThreadProblems {
        let Part {
            number,
            of,
            room,
            channels,
        } = self;
        let owner = |s: &Segment| net::partition(s) * of / net::PARTITIONS;
        let owns = |s: &Segment| of == 1 || owner(s) == number;
        work(
            Connections::new(wanted, &room),
            owns,
            number == 0,
            &channels,
        )
    }
}

/// A shard's ends of its channels: batches, answers, and the ways back for the memory of both.
struct Channels {
    batches: Receiver<Arc<Decoded>>,
    answers: Sender<Records>,
    spare: Receiver<Records>,
    recycle: Sender<Decoded>,
}

/// One shard: its connections of every batch. Ends with more answers, of what was still open.
fn work(
    mut connections: Connections,
    owns: impl Fn(&Segment) -> bool,
    first: bool,
    channels: &Channels,
) -> ThreadProblems {
    for decoded in &channels.batches {
        connections.track(&decoded, &owns);
        let mut records = channels.spare.try_recv().unwrap_or_default();
        connections.take(&decoded, &mut records);
        if first {
            Connections::take_loose(&decoded, &mut records);
        }
        if let Ok(decoded) = Arc::try_unwrap(decoded) {
            // A full recycling channel only means that there are buffers enough.
            let _ = channels.recycle.try_send(decoded);
        }
        if channels.answers.send(records).is_err() {
            // Nobody wants the rest, and no other shard is to wait for what this one would tell.
            return ThreadProblems::default();
        }
    }
    let mut records = Records::default();
    while connections.finish_part(&mut records) {
        if channels.answers.send(std::mem::take(&mut records)).is_err() {
            return ThreadProblems::default();
        }
        records = channels.spare.try_recv().unwrap_or_default();
    }
    let told = connections.finish(&mut records);
    let _ = channels.answers.send(records);
    told
}
