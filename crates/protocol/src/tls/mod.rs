//! How long TLS took to agree on keys, and with whom: one call `HANDSHAKE` for each connection that begins
//! with it, from the client's first packet to the last of the server's before the client's first
//! application data. Its name is the one that the client asks for (SNI, RFC 6066 section 3).
//!
//! What follows cannot be read. This is no session of its own: it looks on beside whatever else reads the
//! connection, so that databases that go over to TLS keep their phases and other connections their
//! turns. Only who asks what a client waited for has these calls.

mod hello;

use hello::{ClientHello, ServerHello, record};
use model::{
    Call, Chunk, Close, ConnectionId, Detail, Direction, Endpoint, Field, Mark, Name, Outcome,
    Protocol,
};
use std::sync::Arc;

/// Segments of a client that may begin with a hello: what databases say before is shorter.
const SEGMENTS: u8 = 8;

const ALERT: u8 = 21;
const HANDSHAKE: u8 = 22;
const CHANGE_CIPHER_SPEC: u8 = 20;
const APPLICATION_DATA: u8 = 23;

/// Looks on at one connection.
#[derive(Default, Debug)]
pub struct Handshakes {
    seen: u8,
    stage: Stage,
}

#[derive(Default, Debug)]
enum Stage {
    /// No hello yet.
    #[default]
    Before,
    Under(Box<Under>),
    /// Told, or there is none.
    Over,
}

#[derive(Debug)]
struct Under {
    begun: Mark,
    sequence: u32,
    request_bytes: u64,
    name: Option<Arc<str>>,
    /// Of the server.
    first: Option<Mark>,
    last: Option<Mark>,
    response_sequence: u32,
    response_bytes: u64,
    version: Option<u16>,
}

/// Who talks on which connection.
type Between = (ConnectionId, Endpoint, Endpoint);

impl Handshakes {
    /// The next bytes of a direction; a call when the handshake is over.
    pub fn data(&mut self, between: Between, d: Direction, chunk: &Chunk<'_>) -> Option<Call> {
        match (&mut self.stage, d) {
            (Stage::Before, Direction::ToServer) => {
                self.seen += 1;
                if let Some(hello) = ClientHello::parse(chunk.data) {
                    self.stage = Stage::Under(Box::new(Under {
                        begun: chunk.mark,
                        sequence: chunk.sequence,
                        request_bytes: chunk.data.len() as u64 + u64::from(chunk.cut),
                        name: hello.name.map(Into::into),
                        first: None,
                        last: None,
                        response_sequence: 0,
                        response_bytes: 0,
                        version: None,
                    }));
                } else if self.seen >= SEGMENTS {
                    self.stage = Stage::Over;
                }
                None
            }
            (Stage::Under(under), Direction::ToClient) => {
                under.last = Some(chunk.mark);
                under.response_bytes += chunk.data.len() as u64 + u64::from(chunk.cut);
                if under.first.is_none() {
                    under.first = Some(chunk.mark);
                    under.response_sequence = chunk.sequence;
                    under.version = ServerHello::parse(chunk.data).map(|h| h.version);
                }
                match record(chunk.data) {
                    Some((ALERT, _)) => self.over(between, chunk.order, Outcome::Error("alert")),
                    _ => None,
                }
            }
            (Stage::Under(under), Direction::ToServer) => {
                under.first?;
                match record(chunk.data) {
                    // Behind it may stand the end of the handshake, of TLS 1.3 in application data.
                    Some((CHANGE_CIPHER_SPEC, length)) => {
                        let next = chunk.data.get(length..).unwrap_or_default();
                        let last = matches!(record(next), Some((APPLICATION_DATA, _)));
                        last.then(|| self.over(between, chunk.order, Outcome::Ok))?
                    }
                    Some((APPLICATION_DATA, _)) => self.over(between, chunk.order, Outcome::Ok),
                    Some((ALERT, _)) => self.over(between, chunk.order, Outcome::Error("alert")),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// The connection is over.
    pub fn close(&mut self, between: Between, order: u64, why: Close) -> Option<Call> {
        let reason = why.reason();
        let outcome = match &self.stage {
            Stage::Under(under) if under.first.is_some() => Outcome::Incomplete(reason),
            _ => Outcome::NoResponse(reason),
        };
        self.over(between, order, outcome)
    }

    fn over(
        &mut self,
        (connection, client, server): Between,
        order: u64,
        outcome: Outcome,
    ) -> Option<Call> {
        let Stage::Under(under) = std::mem::replace(&mut self.stage, Stage::Over) else {
            return None;
        };
        let mut detail = Detail::default();
        if let Some(version) = under.version {
            detail.set(Field::Version, version.into());
        }
        Some(Call {
            order,
            connection,
            protocol: Protocol::Tls,
            op: Name::of("HANDSHAKE"),
            client,
            server,
            id: 0,
            request_sequence: under.sequence,
            response_sequence: under.response_sequence,
            request_first: Some(under.begun),
            request_last: Some(under.begun),
            response_first: under.first,
            response_last: under.last,
            request_bytes: under.request_bytes,
            response_bytes: under.response_bytes,
            outcome,
            outstanding: 1,
            retransmits: 0,
            request_held_ns: 0,
            response_held_ns: 0,
            inner: None,
            hidden: None,
            detail,
            text: under.name,
            sql: None,
        })
    }
}

#[cfg(test)]
mod tests;
