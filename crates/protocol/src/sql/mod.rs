//! What the protocols of databases share: the call they make of a request and its response, and the
//! statements of a thread, each brought into its normal form once.

mod begins;
mod exchange;
mod statements;
mod verb;

pub(crate) use begins::begins_like_sql;
pub use exchange::{Exchange, Opaque};
pub(crate) use exchange::{greeted, unasked};
pub use statements::Statements;
pub use verb::operation;
pub(crate) use verb::skip_blank;
