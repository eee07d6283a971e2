//! Connections into the numbers that [`conns`](crate::conns()) gives them, so that rows of calls can be joined with its
//! rows. Both ask [`analysis::conns`], of which nothing is needed here but when connections began.

use analysis::connections::Connections;
use analysis::conns;
use analysis::packed::Packed;
use model::{ConnectionId, ConnectionSummary, Transport, limits};
use std::collections::HashMap;

/// The connections of one or two captures, as far as their numbers depend on it.
#[derive(Default)]
pub(crate) struct Opened([Packed<ConnectionSummary>; 2]);

/// By capture, the client's first where there are two.
#[derive(Default)]
pub(crate) struct Numbers([HashMap<ConnectionId, u64>; 2]);

impl Opened {
    /// Takes a connection of capture `which` that is over.
    pub(crate) fn add(&mut self, which: usize, c: &ConnectionSummary) {
        let Some(known) = self.0.get_mut(which) else {
            return;
        };
        if c.transport == Transport::Tcp && known.len() < limits::CONNECTIONS {
            known.push(&ConnectionSummary {
                accounts: None,
                lines: [None, None],
                reset: None,
                directions: Default::default(),
                ..c.clone()
            });
        }
    }

    /// Whether the first capture is the server's of two is known in the end.
    pub(crate) fn number(self, is_exchanged: bool) -> Numbers {
        let [first, second] = self.0;
        let (client, server) = match is_exchanged && !second.is_empty() {
            true => (second, first),
            false => (first, second),
        };
        let all = match server.is_empty() {
            true => conns::of_one(&client),
            false => conns::of_two((0, &client), (1, &server)),
        };
        Numbers::of(&all)
    }
}

impl Numbers {
    fn of(all: &Connections) -> Numbers {
        let mut numbers = Numbers::default();
        for c in all.iter() {
            for ((capture, ..), id) in c.ends.iter().zip(&c.ids) {
                if let Some(of) = numbers.0.get_mut(*capture) {
                    of.insert(*id, c.number);
                }
            }
        }
        numbers
    }

    /// The number of a connection of the client's capture or the only one (0), or of the server's (1).
    pub(crate) fn get(&self, of: usize, connection: ConnectionId) -> Option<u64> {
        self.0.get(of)?.get(&connection).copied()
    }
}
