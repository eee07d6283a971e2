//! ONC-RPC (RFC 5531) over TCP (record marking, section 11) and UDP, and the programmes on it.
//!
//! A call and its reply are paired by connection, direction and XID. What matters beyond that:
//! - A request sent again with the same XID is the same call, timed from the first sending; on a new
//!   connection of the same client to the same server too, where its arguments are the same.
//! - The reply's results can only be read knowing the call, so a call waits in [`Shared`] until its
//!   reply's header has been seen.
//! - Only the start of a message is looked at ([`program::HEAD`]); the rest passes. NFSv4 compounds
//!   are looked at again behind the data of a WRITE.
//! - A message that starts where nothing was captured is not seen. Where it is certain all the same
//!   it makes a call; otherwise its other half is reported with that as the reason.
//!
//! [`session`] cuts the stream into messages, [`resync`] finds where one starts when that is not
//! known, [`body`] has the programmes read them, [`pairing`] makes calls of them, [`pending`] keeps
//! what waits, and [`tls`] times what is encrypted. [`hidden`] finds the messages that start where
//! nothing was captured, by [`positions`] and [`kinds`]; [`infer`] makes calls of them, and [`unseen`] bounds
//! those of which the reply cannot be told, [`asked`] says who waits unseen beside them, and [`adding`] which lengths are so many bytes. Where names of
//! files are wanted, [`walk`] follows what a message does to them.

mod adding;
mod asked;
mod body;
pub mod header;
mod hidden;
mod infer;
mod kinds;
mod pairing;
mod pending;
mod positions;
pub mod program;
pub mod programs;
mod resync;
mod session;
mod tls;
mod unseen;
pub mod walk;

#[cfg(test)]
mod tests;

pub(crate) use body::UNNAMED;
pub use pending::Shared;
pub(crate) use resync::is_usual_port;
pub use session::ENTRY;
