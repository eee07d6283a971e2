//! Active latency: what two ends that want nothing but to be measured make of a path.
//!
//! The client connects, asks for answers of given sizes at given times and times them; the
//! [`Listener`] answers and nothing else. Both need the same [`Token`]. [`measure_connects`] needs
//! no listener and times the connecting alone, to any port.
//!
//! This crate reads the clock, and of slowside's libraries it alone does: a monotonic one for what
//! it measures, the wall's for when that was. Nothing that it measures depends on a capture, and
//! nothing that is read from captures comes here but sizes and pauses ([`Mix`]).

#![warn(clippy::indexing_slicing)]

mod client;
mod connect;
mod error;
mod exchange;
mod host;
mod input;
mod latencies;
mod listener;
mod results;
mod schedule;
#[cfg(test)]
mod tests;
mod token;
mod wire;

pub use client::{Plan, Work, measure};
pub use connect::{ConnectPlan, measure_connects};
pub use error::ProbeError;
pub use host::{Cpu, Host};
pub use latencies::{Latencies, Point};
pub use listener::{Counts, End, Event, Limits, Listener, Refusal};
pub use results::{
    Correction, Ended, Failures, IntervalResult, Measured, ProbeResult, SocketOptions, Throttled,
};
pub use schedule::{Exchange, Mix, Pacing, RESERVOIR, Reservoir};
pub use token::Token;
pub use wire::read_as_each;
