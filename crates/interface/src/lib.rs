//! A network interface's packets into a stream of pcapng, as `tcpdump -w -` would write it: what reads
//! captures need not know that they are still being taken.
//!
//! On Linux by the kernel's packet socket (packet(7)), without libpcap: the program needs no library to
//! build or to start. Elsewhere everything compiles, and opening says what to do instead.
//!
//! - The link type is that of the interface: Ethernet (loopback too), raw IP for tunnels without a link
//!   header, and Linux's cooked header (SLL2) for `any` and for whatever else there is.
//! - Times are the kernel's, in nanoseconds. A VLAN tag that the kernel took off is put back.
//! - What the kernel dropped stands in interface statistics blocks. One comes at least every
//!   [`HEART_BEAT`], so that a reader of a silent interface returns.
//! - Expressions of tcpdump's filter language are compiled here ([`Expression`]) and judged in the kernel,
//!   before a packet is copied.

#![warn(clippy::indexing_slicing)]

#[cfg(not(target_os = "linux"))]
mod elsewhere;
mod error;
mod filter;
#[cfg(target_os = "linux")]
mod linux;

#[cfg(not(target_os = "linux"))]
pub use elsewhere::Interface;
pub use error::Error;
pub use filter::{Expression, Instruction, Layout, Refused};
#[cfg(target_os = "linux")]
pub use linux::Interface;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The longest that a reader waits for bytes.
pub(crate) const HEART_BEAT: Duration = Duration::from_millis(100);

/// Bytes of a packet that are kept where nothing else is said: as tcpdump, more than any packet has.
pub(crate) const SNAPLEN: u32 = 262_144;

/// Bytes of the kernel's buffer where nothing else is said: a third of a second of a full 1 Gb/s line, as
/// the kernel counts packets with what it needs to manage them.
pub const BUFFER_BYTES: usize = 64 << 20;

/// What to capture.
#[derive(Clone, Debug)]
pub struct Options {
    /// The interface, or `any`.
    pub name: String,
    /// Bytes of each packet that are kept, with its link header.
    pub snaplen: u32,
    /// Whether frames count that are for others. `any` has no such mode.
    pub promiscuous: bool,
    /// Bytes that the kernel may hold until they are read. Without the right to exceed
    /// `net.core.rmem_max` it is that.
    pub buffer: usize,
    /// Which packets; all without one.
    pub filter: Option<Expression>,
    /// When to end by itself, from the opening.
    pub duration: Option<Duration>,
}

impl Options {
    /// All packets of `name`, whole, as tcpdump takes them.
    #[must_use]
    pub fn of(name: &str) -> Options {
        Options {
            name: name.to_owned(),
            snaplen: SNAPLEN,
            promiscuous: true,
            buffer: BUFFER_BYTES,
            filter: None,
            duration: None,
        }
    }
}

/// Ends a capture from another thread: what came until then is still read.
#[derive(Clone, Default, Debug)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    pub fn stop(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// What a signal's handler may set.
    #[must_use]
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0)
    }

    #[cfg(target_os = "linux")]
    fn asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
