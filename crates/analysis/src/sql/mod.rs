//! Calls of databases into a profile: which statements took the time, and of it what the server, the
//! network, the passing of bytes and the client itself had.
//!
//! [`profile`] takes the calls of one capture, [`split`] says how much of their waits was the path,
//! [`result`] is what comes out, of one capture or of both.

mod follow;
pub mod habits;
mod lane;
mod logons;
mod profile;
pub mod result;
mod sessions;
mod split;

#[cfg(test)]
mod found;
#[cfg(test)]
pub(crate) mod tests;

pub use follow::{Followed, FollowedCall, OneSession};
pub use logons::{Failure, LogonsResult, is_of_logon};
pub use profile::{Profiler, SqlKey};
pub use result::{SessionResult, SqlResult, StatementResult, Totals, of_one, of_two};
