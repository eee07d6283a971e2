//! ONC-RPC (RFC 5531) over TCP (record marking, section 11) and UDP.

pub mod program;
