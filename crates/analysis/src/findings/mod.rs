//! The findings: one file each, one line each in the list of [`Rule`]s. The file's head is its manual page,
//! which `slowside explain` prints; its `check` looks at [`Facts`], decides, and says why as [`Text`].

/// The manual page of a finding: the `//!` lines at the head of its file, of which nothing else is kept in the program.
macro_rules! page {
    ($file:literal) => {{
        const SOURCE: &str = include_str!($file);
        const PAGE: [u8; super::head(SOURCE)] = super::beginning(SOURCE);
        match std::str::from_utf8(&PAGE) {
            Ok(page) => page,
            Err(_) => panic!("it ends with a line"),
        }
    }};
}

mod ack_frequency;
mod arp_storm;
mod broadcast_share;
mod broken_off;
mod capture_incomplete;
mod chatty;
mod checksum_errors;
mod client_concurrency_cap;
mod client_host_slow;
mod client_think;
mod connection_closed;
mod connection_refused;
mod connection_reset;
mod disk_slow;
mod downstream_wait;
mod duplicate_address;
mod duplicate_packets;
pub(crate) mod evidence;
mod fragments_lost;
mod host_cpu;
mod host_drops;
mod host_memory;
mod invalid_arp;
mod large_fetch_client_think;
mod lock_wait;
mod logon_failures;
mod mtu_black_hole;
mod mtu_mismatch;
mod nagle;
mod nagle_delayed_ack;
mod network_bandwidth;
mod network_bufferbloat;
mod network_delay;
mod network_loss;
mod network_outage;
mod network_reordering;
mod nic_drops;
mod owned;
mod plaintext_password;
mod pressed;
mod receive_window_limited;
mod retry_later;
mod sender_application_limited;
mod server_concurrency_cap;
mod server_queue;
mod server_slow;
mod server_stall;
mod silent_peer;
mod slow_connect;
mod slow_start;
mod small_fetch;
mod small_sdu;
mod small_send_buffer;
mod small_window;
mod small_writes;
mod split_writes;
mod stale_connection;
mod stp_topology_change;
mod sureness;
#[cfg(test)]
pub(crate) mod testing;
mod undeliverable;
mod under_way;
mod window_scaling_off;
mod wrong_vlan;

pub(crate) use broken_off::broken_off_ns;
pub(crate) use client_concurrency_cap::client_cap;
pub(crate) use downstream_wait::{meanwhile, tier};
pub use owned::Owners;
pub(crate) use slow_connect::waited_in_vain_ns;
pub use wrong_vlan::hint_text;

use crate::facts::Facts;
use crate::results::{Fact, Finding, Side};
use crate::text::Text;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// What the list knows of a finding; each has its own in its file.
struct Entry {
    code: &'static str,
    /// One line.
    title: &'static str,
    /// Whom it accuses, where that is always the same.
    side: Option<Side>,
    of: Of,
    /// How sure it is with captures of both ends, and with one, where it owns no lines that say so.
    sure: [f64; 2],
    /// Its manual page, as it stands in its file.
    page: &'static str,
    check: fn(&Facts<'_>) -> Option<Finding>,
}

/// What a finding is about, and what its cost is time of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Of {
    Calls,
    /// Bytes under way, of calls or of streams that nobody answers.
    Bytes,
    /// Connections: their opening and their end.
    Connects,
    /// What clients wait, as they were told to, before they ask again.
    Retries,
    /// What applications waited above the wire, or thought between calls.
    Application,
    /// The network's health, or the capture's.
    Network,
}

/// How many bytes of a source are its first `//!` lines.
const fn head(source: &str) -> usize {
    let bytes = source.as_bytes();
    let mut end = 0;
    while end + 2 < bytes.len()
        && bytes[end] == b'/'
        && bytes[end + 1] == b'/'
        && bytes[end + 2] == b'!'
    {
        while bytes[end] != b'\n' {
            end += 1;
        }
        end += 1;
    }
    end
}

/// So many of its first bytes.
const fn beginning<const N: usize>(source: &str) -> [u8; N] {
    let (bytes, mut copy, mut i) = (source.as_bytes(), [0; N], 0);
    while i < N {
        copy[i] = bytes[i];
        i += 1;
    }
    copy
}

macro_rules! rules {
    ($($rule:ident: $file:ident,)+) => {
        /// A finding's name, known here, and as text to its own file alone.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Rule {
            $($rule),+
        }

        impl Rule {
            /// Every finding.
            pub const ALL: &[Rule] = &[$(Rule::$rule),+];

            const fn entry(self) -> &'static Entry {
                match self {
                    $(Rule::$rule => &$file::ENTRY),+
                }
            }
        }
    };
}

rules! {
    AckFrequency: ack_frequency,
    ArpStorm: arp_storm,
    BroadcastShare: broadcast_share,
    BrokenOff: broken_off,
    CaptureIncomplete: capture_incomplete,
    Chatty: chatty,
    ChecksumErrors: checksum_errors,
    ClientConcurrencyCap: client_concurrency_cap,
    ClientHostSlow: client_host_slow,
    ClientThink: client_think,
    ConnectionClosed: connection_closed,
    ConnectionRefused: connection_refused,
    ConnectionReset: connection_reset,
    DiskSlow: disk_slow,
    DownstreamWait: downstream_wait,
    DuplicateAddress: duplicate_address,
    DuplicatePackets: duplicate_packets,
    FragmentsLost: fragments_lost,
    HostCpu: host_cpu,
    HostDrops: host_drops,
    HostMemory: host_memory,
    InvalidArp: invalid_arp,
    LargeFetchClientThink: large_fetch_client_think,
    LockWait: lock_wait,
    LogonFailures: logon_failures,
    MtuBlackHole: mtu_black_hole,
    MtuMismatch: mtu_mismatch,
    Nagle: nagle,
    NagleDelayedAck: nagle_delayed_ack,
    NetworkBandwidth: network_bandwidth,
    NetworkBufferbloat: network_bufferbloat,
    NetworkDelay: network_delay,
    NetworkLoss: network_loss,
    NetworkOutage: network_outage,
    NetworkReordering: network_reordering,
    NicDrops: nic_drops,
    PlaintextPassword: plaintext_password,
    ReceiveWindowLimited: receive_window_limited,
    RetryLater: retry_later,
    SenderApplicationLimited: sender_application_limited,
    ServerConcurrencyCap: server_concurrency_cap,
    ServerQueue: server_queue,
    ServerSlow: server_slow,
    ServerStall: server_stall,
    SilentPeer: silent_peer,
    SlowConnect: slow_connect,
    SlowStart: slow_start,
    SmallFetch: small_fetch,
    SmallSdu: small_sdu,
    SmallSendBuffer: small_send_buffer,
    SmallWindow: small_window,
    SmallWrites: small_writes,
    SplitWrites: split_writes,
    StaleConnection: stale_connection,
    StpTopologyChange: stp_topology_change,
    Undeliverable: undeliverable,
    WindowScalingOff: window_scaling_off,
    WrongVlan: wrong_vlan,
}

impl Rule {
    #[must_use]
    pub fn code(self) -> &'static str {
        self.entry().code
    }

    #[must_use]
    pub fn of_code(code: &str) -> Option<Rule> {
        Rule::ALL.iter().copied().find(|r| r.code() == code)
    }

    /// One line.
    #[must_use]
    pub fn title(self) -> &'static str {
        self.entry().title
    }

    #[must_use]
    pub fn of(self) -> Of {
        self.entry().of
    }

    /// The manual page, as text with `#` headings.
    #[must_use]
    pub fn manual(self) -> String {
        let lines = self.entry().page.lines();
        let text: Vec<&str> = lines
            .map(|l| l.trim_start_matches("//!").strip_prefix(' ').unwrap_or(""))
            .collect();
        text.join("\n")
    }

    /// Whether it only says why a side is slow that the verdict names.
    #[must_use]
    pub fn explains(self) -> bool {
        matches!(
            self,
            Rule::HostCpu
                | Rule::HostMemory
                | Rule::DiskSlow
                | Rule::NicDrops
                | Rule::DownstreamWait
        )
    }

    fn check(self, facts: &Facts<'_>) -> Option<Finding> {
        (self.entry().check)(facts)
    }

    /// One that says nothing yet.
    fn finding(self) -> Finding {
        Finding {
            rule: self,
            title: Text::default(),
            side: self.entry().side.unwrap_or(Side::Undetermined),
            cost_ns: None,
            elapsed_cost_ns: None,
            fatal: false,
            confidence: 0.0,
            first: None,
            last: None,
            facts: Vec::new(),
            evidence: Vec::new(),
            why: Text::default(),
            remedy: Vec::new(),
            places: Vec::new(),
        }
    }
}

/// Its code.
impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.code())
    }
}

/// By its code.
impl Serialize for Rule {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.code())
    }
}

impl<'de> Deserialize<'de> for Rule {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Rule, D::Error> {
        let code = String::deserialize(from)?;
        let unknown = || serde::de::Error::custom(format!("no finding is called {code}"));
        Rule::of_code(&code).ok_or_else(unknown)
    }
}

/// The numbers of a finding, by name.
fn numbers<const N: usize>(named: [(&'static str, i64); N]) -> Vec<Fact> {
    let fact = |(name, value)| Fact { name, value };
    named.map(fact).into()
}

/// A count as a number among others.
fn whole(n: impl TryInto<i64>) -> i64 {
    n.try_into().unwrap_or(i64::MAX)
}

/// Runs every check. What ends the work comes first, the network's health before whom that hits, then by cost,
/// what has no cost last.
#[must_use]
pub fn check(facts: &Facts<'_>) -> Vec<Finding> {
    let rules = Rule::ALL.iter();
    let mut found: Vec<Finding> = rules.filter_map(|rule| rule.check(facts)).collect();
    for finding in &mut found {
        finding.confidence = sureness::of(finding, facts);
    }
    found.sort_by_key(|f| {
        (
            !f.fatal,
            f.fatal && f.rule.of() != Of::Network,
            f.cost_ns.is_none(),
            std::cmp::Reverse(f.cost_ns),
            f.rule.code(),
        )
    });
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Files that are no finding.
    const SHARED: [&str; 8] = [
        "evidence.rs",
        "mod.rs",
        "owned.rs",
        "pressed.rs",
        "sureness.rs",
        "testing",
        "testing.rs",
        "under_way.rs",
    ];

    #[test]
    fn every_file_is_listed_once_and_has_its_headings() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/findings");
        let files = std::fs::read_dir(folder).unwrap().map(|f| f.unwrap());
        let files: Vec<_> = files
            .filter(|f| !SHARED.iter().any(|s| f.file_name() == *s))
            .collect();
        for file in &files {
            let source = std::fs::read_to_string(file.path()).unwrap();
            let listed = Rule::ALL
                .iter()
                .filter(|r| source.starts_with(r.entry().page));
            assert_eq!(listed.count(), 1, "{}", file.path().display());
        }
        assert_eq!(files.len(), Rule::ALL.len());
        for rule in Rule::ALL {
            let manual = rule.manual();
            for heading in [
                "# What it says",
                "# Why it costs time",
                "# How sure",
                "# What to check next",
                "# When it is wrong",
            ] {
                assert!(manual.contains(heading), "{}: no {heading}", rule.code());
            }
            let long = manual.lines().filter(|l| l.chars().count() > 80);
            let long: Vec<&str> = long.collect();
            assert!(
                long.is_empty(),
                "{}: more than 80 characters: {long:#?}",
                rule.code()
            );
        }
    }

    #[test]
    fn codes_are_distinct_and_found_again() {
        for rule in Rule::ALL {
            assert_eq!(Rule::of_code(rule.code()), Some(*rule));
        }
        assert_eq!(Rule::of_code("no-such-finding"), None);
    }
}
