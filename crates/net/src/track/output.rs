//! What a connection's bytes and measurements are handed to, together with whose they are.

use super::recovery::Stretch;
use crate::{Connection, Handler, Segment};
use model::{
    Chunk, Direction, Episode, EpisodeKind, Interval, Mark, PerClass, Plot, Problems, Where,
};

pub(super) struct Output<'a, H: Handler> {
    pub handler: &'a mut H,
    pub connection: &'a Connection,
    pub state: &'a mut H::State,
    pub problems: &'a mut Problems,
}

impl<H: Handler> Output<'_, H> {
    pub(super) fn data(&mut self, d: Direction, chunk: &Chunk<'_>) {
        self.handler.data(self.connection, self.state, d, chunk);
    }

    pub(super) fn datagram(&mut self, d: Direction, chunk: &Chunk<'_>, first: Mark) {
        self.handler
            .datagram(self.connection, self.state, d, chunk, first);
    }

    pub(super) fn gap(&mut self, d: Direction, length: u64, at: Mark, order: u64) {
        self.handler
            .gap(self.connection, self.state, d, length, at, order);
    }

    pub(super) fn skipped(&mut self, at: Mark, order: u64) {
        self.handler.skipped(self.connection, at, order);
    }

    pub(super) fn episode(&mut self, d: Direction, kind: EpisodeKind, stretch: Stretch) {
        // A capture's clock may step back, but no stretch of time ends before it began.
        let last = if stretch.last.time < stretch.first.time {
            stretch.first
        } else {
            stretch.last
        };
        let episode = Episode {
            order: stretch.order,
            connection: self.connection.id,
            client: self.connection.client,
            server: self.connection.server,
            kind,
            direction: d,
            first: stretch.first,
            last,
            heard: stretch.heard.unwrap_or(last.time),
            retransmissions: stretch.retransmissions,
            timeouts: stretch.timeouts,
            spurious: stretch.spurious,
            duplicates_cut_off: stretch.duplicates_cut_off,
            window: stretch.window,
            resent: stretch.resent,
        };
        self.handler.episode(self.connection, self.state, episode);
    }

    pub(super) fn interval(&mut self, interval: Interval, spent: &[PerClass<i64>; 2]) {
        self.handler
            .interval(self.connection, self.state, interval, spent);
    }

    pub(super) fn plot(&mut self, plot: Plot) {
        self.handler.plot(self.connection, self.state, plot);
    }

    pub(super) fn note(&mut self, s: &Segment, kind: &'static str, what: &str) {
        self.problem(s, kind, false, what);
    }

    pub(super) fn damage(&mut self, s: &Segment, kind: &'static str, what: &str) {
        self.problem(s, kind, true, what);
    }

    fn problem(&mut self, s: &Segment, kind: &'static str, damage: bool, what: &str) {
        let connection = self.connection;
        self.problems.add(kind, damage, 1, || {
            let place = Where {
                frame: Some(s.mark.packet.frame),
                ..Where::default()
            };
            let (client, server) = (connection.client, connection.server);
            (format!("{what} ({client} to {server})"), place)
        });
    }
}
