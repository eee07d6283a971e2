//! A call of two captures into what may be asked of who else had what it wants.

use super::Unsettled;
use crate::capture_facts::CaptureFacts;
use crate::locks::Locks;
use model::{ConnectionId, Time};

/// So many statements may be longer than are kept.
const FEW: u64 = 8;

/// Whom to ask what held a call up: its server's capture has all of that one's sessions, but where the snap length hides much
/// more of what they ask for than in its client's.
pub(super) struct Asking<'a> {
    pub(super) is_at_client: bool,
    pub(super) locks: &'a Locks,
    pub(super) connection: ConnectionId,
    pub(super) work: u64,
    /// From when its request had come until its answer did.
    pub(super) life: (Time, Time),
}

impl<'a> Asking<'a> {
    pub(super) fn of(
        call: &Unsettled,
        client: &'a CaptureFacts,
        server: &'a CaptureFacts,
    ) -> Asking<'a> {
        let [at_client, at_server] = call.works;
        let (blind, others) = (server.locks.blind(), client.locks.blind());
        let is_blind = blind > FEW + 2 * others;
        let (facts, b, work) = match is_blind {
            true => (client, &call.client, at_client),
            false => (server, &call.server, at_server),
        };
        Asking {
            is_at_client: is_blind,
            locks: &facts.locks,
            connection: b.connection,
            work,
            life: (b.request_last.time, b.response_first.time),
        }
    }
}
