//! Byte chunks into calls: one folder per protocol, one line in [`list`]; [`tcp`] is for what none of
//! them speaks.
//!
//! [`Conversation`] finds out what a connection speaks; its [`driver`] owns buffering, holes and the
//! search for the next header; a [`session::Session`] knows the protocol.
#![warn(clippy::indexing_slicing)]

mod asked;
mod connection;
mod copied;
pub mod dhcp;
pub mod dns;
pub mod driver;
#[cfg(test)]
mod kit;
pub mod list;
pub mod mount;
pub mod mysql;
pub mod nbns;
pub mod nfs;
pub mod nlm;
pub mod nsm;
mod output;
pub mod pgsql;
pub mod portmap;
pub mod rpc;
pub mod rquota;
pub mod session;
mod shared;
pub mod smb2;
pub mod sql;
mod tcp;
pub mod template;
pub mod tls;
pub mod tns;
mod unanswered;
pub mod xdr;

pub use connection::{Conversation, Rest};
pub use output::{Output, Wanted};
pub use session::{ConnectionInfo, Context, Kept};
pub use shared::Shared;
pub use unanswered::{Left, left, unanswered};
