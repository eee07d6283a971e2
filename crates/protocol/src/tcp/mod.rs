//! Turns: requests and responses on a byte stream that no known protocol claims, told by who speaks.
//!
//! The client's bytes until the server answers are a request, the server's bytes until the client
//! speaks again are its response (the rule of Wireshark's TRANSUM). No byte is read, so what is
//! encrypted has turns too. Choices:
//! - Turns are only told where both sides wait for each other. A side that waited acknowledges, with
//!   the first byte it sends, everything that the other had sent
//!   ([`Chunk::heard_all`](model::Chunk::heard_all)); one that does not has spoken while the other
//!   was speaking, which needs no clock and no round trip to prove. Such an overlap spoils the turns
//!   on both sides of it: they are left out and counted as `overlapping-turns`. Where overlaps are
//!   many, the connection is pipelined or multiplexed, and nothing is told of it: `pipelined-turns`.
//! - What was reported cannot be taken back, so the first
//!   [`TURNS_HELD`](model::limits::TURNS_HELD) turns are held back until that many say that the
//!   connection is half-duplex, or it is over. A protocol may claim the connection until then; later
//!   it is not asked any more.
//! - A response has ended when the client speaks and the server answers that. At the end of the
//!   capture only silence can say so.
//! - A turn's id is its request's sequence number, which is the same wherever it is captured.
//! - What a server says once its client has ended (FIN), many times sooner after that than the end came after the
//!   turn's last byte, answers the end and belongs to no turn.
//! - A server that speaks first (a greeting) opens no turn, nor does a TLS alert, which nobody answers.
//! - In mid-connection the first bytes may be the middle of a request: a turn that they begin is incomplete
//!   (`before-capture`), with the times of what was seen of it. Who is the server only the ports can say then; where they do not, nothing
//!   is told: `turns-roles-unknown`.
//! - No [`Outstanding`](model::Outstanding) records are made: a connection has one turn at a time by
//!   construction, so that their number counts connections and says nothing of a limit, and a server
//!   that is asked to wait for an event (long polls) is no server that stands still.
//!
//! It is no entry of the [list](crate::list): it is what remains. [`turns`] follows a connection,
//! [`turn`] is one of them; of RPC that a snap length hides, [`marked`] pairs records.

mod lengths;
mod marked;
mod turn;
mod turns;

#[cfg(test)]
mod tests;

pub(crate) use turn::Part;
pub(crate) use turns::Turns;
