//! The slowside command.

fn main() {}
