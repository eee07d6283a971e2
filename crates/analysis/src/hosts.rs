//! Connections into the hosts of a capture, to tell whether two captures have one in common.

use model::limits;
use std::collections::BTreeSet;
use std::net::IpAddr;

/// Those seen first.
#[derive(Clone, Debug, Default)]
pub struct Hosts {
    seen: BTreeSet<IpAddr>,
    are_more: bool,
}

impl Hosts {
    pub fn add(&mut self, host: IpAddr) {
        match self.seen.len() < limits::HOSTS_HELD_AGAINST || self.seen.contains(&host) {
            true => _ = self.seen.insert(host),
            false => self.are_more = true,
        }
    }

    /// Whether for certain no host is in both.
    #[must_use]
    pub fn are_others_than(&self, others: &Hosts) -> bool {
        let known = |h: &Hosts| !h.are_more && !h.seen.is_empty();
        known(self) && known(others) && self.seen.is_disjoint(&others.seen)
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = IpAddr> {
        self.seen.iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    fn hosts(numbers: std::ops::Range<u32>) -> Hosts {
        let mut hosts = Hosts::default();
        numbers.for_each(|n| hosts.add(Ipv4Addr::from(n).into()));
        hosts
    }

    #[test]
    fn only_what_is_known_whole_has_no_host_in_common_with_another() {
        assert!(hosts(1..3).are_others_than(&hosts(3..5)));
        assert!(!hosts(1..4).are_others_than(&hosts(3..5)));
        assert!(!hosts(1..3).are_others_than(&Hosts::default()));
        let many = limits::HOSTS_HELD_AGAINST as u32;
        assert!(hosts(10..10 + many).are_others_than(&hosts(1..3)));
        assert!(!hosts(10..11 + many).are_others_than(&hosts(1..3)));
    }
}
