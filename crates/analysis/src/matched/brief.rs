//! A half of a matched call into its times, and into what its connection went through near them.

use crate::capture_facts::{CaptureFacts, Trouble};
use crate::half::Half;
use crate::ledgers::SeenAtServer;
use crate::waits::Times;

/// What is left to know of a half that is matched.
#[derive(Clone, Copy, Debug)]
pub(super) struct Brief {
    pub(super) connection: model::ConnectionId,
    pub(super) request_first: model::Mark,
    pub(super) request_last: model::Mark,
    pub(super) response_first: model::Mark,
    pub(super) response_last: model::Mark,
    pub(super) inner: model::InnerTrips,
}

impl Brief {
    pub(super) fn of(h: &Half) -> Brief {
        Brief {
            connection: h.connection,
            request_first: h.request_first,
            request_last: h.request_last,
            response_first: h.response_first,
            response_last: h.response_last,
            inner: h.inner(),
        }
    }

    /// Of the server's capture, to who asks for rows; `client` is the half of the client's.
    pub(super) fn at_server(&self, client: &Brief) -> SeenAtServer {
        SeenAtServer {
            marks: [
                self.request_first,
                self.request_last,
                self.response_first,
                self.response_last,
            ],
            inner_ns: self.inner.server_ns_of(client.inner),
        }
    }

    /// How long its request passed, but for what was waited inside it.
    pub(super) fn request_passing_ns(&self) -> i64 {
        let inner_ns = match self.inner.of_request {
            true => self.inner.client_ns + self.inner.server_ns,
            false => 0,
        };
        (self.request_last.time - self.request_first.time - inner_ns).max(0)
    }

    /// What its connection went through near it: searched once, wherever in it is asked for.
    pub(super) fn near<'a>(
        &self,
        facts: &'a CaptureFacts,
    ) -> impl DoubleEndedIterator<Item = &'a Trouble> + Clone + use<'a> {
        let times = [
            self.request_first.time,
            self.request_last.time,
            self.response_first.time,
            self.response_last.time,
        ];
        // Clocks that are set go back.
        let [first, rest @ ..] = times;
        let (from, to) = rest.iter().fold((first, first), |(from, to), at| {
            (from.min(*at), to.max(*at))
        });
        facts.troubles.overlapping(self.connection, from, to)
    }

    /// What of that overlaps it.
    pub(super) fn during<'a, T>(
        &self,
        near: &T,
    ) -> impl DoubleEndedIterator<Item = &'a Trouble> + Clone
    where
        T: DoubleEndedIterator<Item = &'a Trouble> + Clone,
    {
        let (from, to) = (self.request_first.time, self.response_last.time);
        near.clone().filter(move |t| t.overlaps(from, to))
    }

    pub(super) fn times(&self) -> Times {
        Times {
            request_first: self.request_first.time,
            request_last: self.request_last.time,
            response_first: self.response_first.time,
            response_last: self.response_last.time,
        }
    }
}
