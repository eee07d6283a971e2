//! What the protocols of databases share: the call they make of a request and its response, and the
//! statements of a thread, each brought into its normal form once.

mod exchange;
mod statements;

pub use exchange::{Exchange, Opaque};
pub use statements::Statements;
