//! Hosts that answered matched calls.

use std::net::IpAddr;

/// A few hosts; beyond, any host may be one.
#[derive(Clone, Default, Debug)]
pub struct Servers(Vec<IpAddr>);

impl Servers {
    const FEW: usize = 64;

    pub(super) fn add(&mut self, host: IpAddr) {
        if self.0.last() != Some(&host) && self.0.len() < Self::FEW && !self.0.contains(&host) {
            self.0.push(host);
        }
    }

    #[must_use]
    pub fn may_have(&self, host: IpAddr) -> bool {
        self.0.len() >= Self::FEW || self.0.contains(&host)
    }
}
