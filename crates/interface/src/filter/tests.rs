//! What is taken, what is refused and where, and that programs choose what tcpdump's do.

mod machine;
mod parsing;
mod tcpdump;
