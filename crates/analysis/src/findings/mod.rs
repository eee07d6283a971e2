//! The findings: one file each, one line each in [`RULES`]. The file's head is its manual page, which
//! `slowside explain` prints; its `check` looks at [`Facts`] and decides.

mod ack_frequency;
mod arp_storm;
mod broadcast_share;
mod capture_incomplete;
mod chatty;
mod checksum_errors;
mod client_concurrency_cap;
mod client_host_slow;
mod client_think;
mod connection_refused;
mod connection_reset;
mod duplicate_address;
mod duplicate_packets;
pub(crate) mod evidence;
mod fragments_lost;
mod invalid_arp;
mod large_fetch_client_think;
mod mtu_black_hole;
mod mtu_mismatch;
mod nagle;
mod nagle_delayed_ack;
mod owned;
mod network_bandwidth;
mod network_bufferbloat;
mod network_delay;
mod network_loss;
mod network_outage;
mod network_reordering;
mod plaintext_password;
mod receive_window_limited;
mod sender_application_limited;
mod server_concurrency_cap;
mod server_slow;
mod server_stall;
mod slow_connect;
mod small_fetch;
mod small_sdu;
mod small_window;
mod small_writes;
mod split_writes;
mod stp_topology_change;
mod undeliverable;
mod under_way;
mod window_scaling_off;
mod wrong_vlan;

pub(crate) use client_concurrency_cap::client_cap;
pub use owned::cost_of;
pub use wrong_vlan::hint_text;

use crate::facts::Facts;
use crate::results::Finding;

/// A finding: its name, its manual page and its check.
pub struct Rule {
    pub code: &'static str,
    /// One line.
    pub title: &'static str,
    /// The source of its file, whose `//!` lines are the manual page.
    source: &'static str,
    pub check: fn(&Facts<'_>) -> Option<Finding>,
}

impl Rule {
    /// The manual page, as text with `#` headings.
    #[must_use]
    pub fn manual(&self) -> String {
        let lines = self.source.lines().take_while(|l| l.starts_with("//!"));
        let text: Vec<&str> = lines
            .map(|l| l.trim_start_matches("//!").strip_prefix(' ').unwrap_or(""))
            .collect();
        text.join("\n")
    }
}

/// Every finding.
pub const RULES: &[Rule] = &[
    ack_frequency::RULE,
    arp_storm::RULE,
    broadcast_share::RULE,
    capture_incomplete::RULE,
    chatty::RULE,
    checksum_errors::RULE,
    client_concurrency_cap::RULE,
    client_host_slow::RULE,
    client_think::RULE,
    connection_refused::RULE,
    connection_reset::RULE,
    duplicate_address::RULE,
    duplicate_packets::RULE,
    fragments_lost::RULE,
    invalid_arp::RULE,
    large_fetch_client_think::RULE,
    mtu_black_hole::RULE,
    mtu_mismatch::RULE,
    nagle::RULE,
    nagle_delayed_ack::RULE,
    network_bandwidth::RULE,
    network_bufferbloat::RULE,
    network_delay::RULE,
    network_loss::RULE,
    network_outage::RULE,
    network_reordering::RULE,
    plaintext_password::RULE,
    receive_window_limited::RULE,
    sender_application_limited::RULE,
    server_concurrency_cap::RULE,
    server_slow::RULE,
    server_stall::RULE,
    slow_connect::RULE,
    small_fetch::RULE,
    small_sdu::RULE,
    small_window::RULE,
    small_writes::RULE,
    split_writes::RULE,
    stp_topology_change::RULE,
    undeliverable::RULE,
    window_scaling_off::RULE,
    wrong_vlan::RULE,
];

/// Runs every check. What ends the work comes first, then by cost, what has no cost last.
#[must_use]
pub fn check(facts: &Facts<'_>) -> Vec<Finding> {
    let mut found: Vec<Finding> = RULES
        .iter()
        .filter_map(|rule| (rule.check)(facts))
        .collect();
    found.sort_by_key(|f| {
        (
            !f.fatal,
            f.cost_ns.is_none(),
            std::cmp::Reverse(f.cost_ns),
            f.code,
        )
    });
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Files that are no finding.
    const SHARED: [&str; 4] = ["evidence.rs", "mod.rs", "owned.rs", "under_way.rs"];

    #[test]
    fn every_file_is_listed_under_its_name_and_has_its_headings() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/findings");
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|f| f.unwrap().file_name().into_string().unwrap())
            .filter(|f| !SHARED.contains(&f.as_str()))
            .map(|f| f.trim_end_matches(".rs").replace('_', "-"))
            .collect();
        files.sort();
        let listed: Vec<&str> = RULES.iter().map(|r| r.code).collect();
        assert_eq!(files, listed);
        for rule in RULES {
            let manual = rule.manual();
            for heading in [
                "# What it says",
                "# Why it costs time",
                "# How sure",
                "# What to check next",
                "# When it is wrong",
            ] {
                assert!(manual.contains(heading), "{}: no {heading}", rule.code);
            }
            assert!(
                rule.manual().lines().all(|l| l.chars().count() <= 80),
                "{}",
                rule.code
            );
        }
    }
}
