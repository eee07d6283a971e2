//! Who talks: an address and a port, and the connection between two of them.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::net::IpAddr;

/// One end of a connection. Shown as `address:port`, IPv6 as `[address]:port`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Endpoint {
    pub address: IpAddr,
    pub port: u16,
}

impl Hash for Endpoint {
    /// By words: as a slice of bytes the address takes 50 instructions more, and both ends of a
    /// connection are hashed several times a call.
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self.address {
            IpAddr::V4(a) => state.write_u64(u64::from(a.to_bits()) << 16 | u64::from(self.port)),
            IpAddr::V6(a) => {
                state.write_u128(a.to_bits());
                state.write_u16(self.port);
            }
        }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.address {
            IpAddr::V4(a) => write!(f, "{a}:{}", self.port),
            IpAddr::V6(a) => write!(f, "[{a}]:{}", self.port),
        }
    }
}

/// What carries a connection's bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Transport {
    Tcp,
    Udp,
}

/// Names one connection of a capture: the order (see [`Packet::order`](crate::Packet)) of its first
/// packet, so that the name is the same for any number of threads.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct ConnectionId(pub u64);
