//! What remains of connections that are over: enough to know a late acknowledgement, a repeated FIN
//! or the data that crossed a reset from the first packet of a new connection.

use super::entry::Last;
use super::sequence::data_position;
use super::{MILLISECOND, SECOND};
use crate::{Connection, Segment};
use hashbrown::HashTable;
use model::{Close, Direction, Endpoint, Time, limits};

/// A SYN like the last one this soon after a reset is the capture's copy; later, it tries again.
const COPY_WITHIN_NS: i64 = 5 * MILLISECOND;

#[derive(Debug)]
struct Tombstone {
    hash: u64,
    client: Endpoint,
    server: Endpoint,
    /// By direction.
    ending: [Last; 2],
    reset: bool,
    at: Time,
}

impl Tombstone {
    fn direction(&self, s: &Segment) -> Option<Direction> {
        if s.source == self.client && s.destination == self.server {
            Some(Direction::ToServer)
        } else if s.source == self.server && s.destination == self.client {
            Some(Direction::ToClient)
        } else {
            None
        }
    }

    /// Whether `s` is of the connection that is over.
    fn is_late(&self, s: &Segment) -> bool {
        let Some(d) = self.direction(s) else {
            return false;
        };
        let age = s.mark.time - self.at;
        let [to_server, to_client] = self.ending;
        let Last { isn, next } = match d {
            Direction::ToServer => to_server,
            Direction::ToClient => to_client,
        };
        if age > limits::CLOSED_NS {
            false
        } else if s.tcp.flags.syn() && !s.tcp.flags.rst() {
            isn == Some(s.tcp.sequence) && (!self.reset || age <= COPY_WITHIN_NS)
        } else {
            // Whoever goes on sending new data long after a reset never took it.
            let goes_on = self.reset
                && age > SECOND
                && s.payload_length > 1
                && data_position(next, s.tcp.sequence) >= next;
            !goes_on
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Tombstones(HashTable<Tombstone>);

impl Tombstones {
    pub(super) fn insert(
        &mut self,
        hash: u64,
        connection: &Connection,
        ending: [Last; 2],
        close: Close,
        at: Time,
    ) {
        let (client, server) = (connection.client, connection.server);
        let tombstone = Tombstone {
            hash,
            client,
            server,
            ending,
            reset: close == Close::Reset,
            at,
        };
        let same = |t: &Tombstone| t.client == client && t.server == server;
        match self.0.find_mut(hash, same) {
            Some(old) => *old = tombstone,
            None => drop(self.0.insert_unique(hash, tombstone, |t| t.hash)),
        }
    }

    /// Whether `s` belongs to a connection that is over; if not, that one is forgotten.
    pub(super) fn absorb(&mut self, s: &Segment) -> bool {
        if self.0.is_empty() {
            return false;
        }
        let Ok(found) = self.0.find_entry(s.flow_hash, |t| t.direction(s).is_some()) else {
            return false;
        };
        let late = found.get().is_late(s);
        if !late {
            found.remove();
        }
        late
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Drops those that are too old to absorb anything, with as much time again for clocks that step back: all of them, and
    /// here alone, so that which other connections there are decides nothing.
    pub(super) fn sweep(&mut self, now: Time) {
        self.0.retain(|t| now - t.at <= 2 * limits::CLOSED_NS);
    }
}
