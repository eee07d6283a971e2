//! What the protocols of databases share: the call they make of a request and its response, and the
//! statements of a thread, each brought into its normal form once.

mod exchange;
mod statements;
mod verb;

pub use exchange::{Exchange, Opaque, greeted, unasked};
pub use statements::Statements;
pub use verb::{operation, skip_blank};
