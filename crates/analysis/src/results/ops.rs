//! What `ops` says of groups of calls.

use super::{CaptureResult, Order};
use crate::stats::{Histogram, Summary};
use crate::tiers::Beneath;
use model::{Endpoint, Protocol};
use std::net::IpAddr;
use std::sync::Arc;

/// The value of one grouping key.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum KeyValue {
    Text(Arc<str>),
    Address(IpAddr),
    /// From the client to the server.
    Connection(Endpoint, Endpoint),
    /// For [`Key::Size`](crate::group::Key) and times.
    Number(i64),
    /// The hash of a file's handle.
    File(u64),
    Unknown,
}

/// One line of `ops`.
#[derive(Clone, Debug)]
pub struct GroupResult {
    pub protocol: Protocol,
    pub op: Option<String>,
    /// Name and value of the other grouping keys, in the order given.
    pub keys: Vec<(&'static str, KeyValue)>,
    /// Of the file by which it is grouped, as far as names were seen.
    pub path: Option<String>,
    pub stats: Summary,
    pub errors: u64,
    pub retransmits: u64,
    pub request_bytes: u64,
    pub response_bytes: u64,
    /// Calls without a response, or whose end the capture lost; not in `stats`.
    pub no_response: u64,
    pub no_request: u64,
    pub incomplete: u64,
    /// The means of how long calls of their server's own were under way, of timed calls, where that makes any.
    pub beneath: Option<Beneath>,
    pub histogram: Histogram,
}

impl GroupResult {
    /// The handle's hash of the file by which it is grouped.
    #[must_use]
    pub fn file(&self) -> Option<u64> {
        self.keys.iter().find_map(|(_, value)| match value {
            KeyValue::File(file) => Some(*file),
            _ => None,
        })
    }
}

/// Everything `ops` says.
#[derive(Clone, Debug)]
pub struct OpsResult {
    pub captures: Vec<CaptureResult>,
    /// Ordered by total time, largest first.
    pub groups: Vec<GroupResult>,
    /// Response time of all calls together.
    pub total_ns: i64,
    /// How groups are listed; sums are of all.
    pub order: Order,
}
