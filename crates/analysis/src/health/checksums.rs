//! Checksums of each sender into what they mean: finished by a card behind the place of capture, changed
//! after the capture, or damaged on the way.
//!
//! Damage hits few packets of a sender, and its others hold. Where a sender's packets are captured before
//! its card, or its addresses were changed afterwards, most do not hold. What is between says nothing.
//! A receiver drops what is damaged, so TCP sends it again: where nothing is sent again, the packet was
//! whole when it arrived, and was changed by or after the capture.

use super::{LeftOut, SHOWN};
use model::{ChecksumOf, Checksums, ConnectionSummary, Mark, limits};
use pseudonyms::Anonymiser;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// So many right ones for each wrong one, and as many at least, before a wrong one is damage.
const RIGHT_FOR_WRONG: u64 = 10;
/// Of a hundred packets of a sender so many unfinished ones say that its card finishes them.
const UNFINISHED_PER_CENT: u64 = 1;

/// Fewer packets of a sender than these do not say where they were captured: with right checksums, and with such as a card
/// is to finish, which chance makes once in 32,768.
const FEW_RIGHT: u64 = 8;
const FEW_UNFINISHED: u64 = 2;

/// What a sender's checksums mean.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Meaning {
    Right,
    /// Its packets were captured before its card finished them.
    Offload,
    /// A few were changed on the way.
    Damaged,
    /// Of no card's form, and too many to be damage, or not sent again: changed after the capture, or made
    /// up.
    Rewritten,
}

impl Meaning {
    /// A kebab-case word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Meaning::Right => "right",
            Meaning::Offload => "offload",
            Meaning::Damaged => "damaged",
            Meaning::Rewritten => "rewritten",
        }
    }
}

/// A sender's checksums of one kind.
#[derive(Clone, Debug, Default)]
pub struct Verified {
    pub right: u64,
    pub unfinished: u64,
    pub joined: u64,
    pub wrong: u64,
    /// The first wrong ones.
    pub shown: Vec<Mark>,
    pub first_wrong: Option<Mark>,
    pub last_wrong: Option<Mark>,
    /// Packets that the sender sent again; `None` where nobody would.
    pub resent: Option<u64>,
}

impl Verified {
    #[must_use]
    pub fn meaning(&self) -> Meaning {
        let all = self.right + self.unfinished + self.joined + self.wrong;
        let offload = self.unfinished * 100 >= all * UNFINISHED_PER_CENT;
        match self {
            v if v.unfinished + v.wrong + v.joined == 0 => Meaning::Right,
            v if v.unfinished > 0 && offload => Meaning::Offload,
            v if v.wrong == 0 => Meaning::Offload,
            v if v.resent.is_some_and(|resent| resent < v.wrong) => Meaning::Rewritten,
            v if v.right >= RIGHT_FOR_WRONG.max(v.wrong.saturating_mul(RIGHT_FOR_WRONG)) => {
                Meaning::Damaged
            }
            _ => Meaning::Rewritten,
        }
    }

    fn add(&mut self, sums: &Checksums, at: Mark) {
        self.right += sums.right;
        self.unfinished += sums.unfinished;
        self.joined += sums.joined;
        self.wrong += sums.wrong;
        for &mark in sums.shown.iter().flatten() {
            self.first_wrong.get_or_insert(mark);
            self.last_wrong = Some(mark);
            if self.shown.len() < SHOWN {
                self.shown.push(mark);
            }
        }
        if sums.wrong > sums.shown.iter().flatten().count() as u64 {
            self.last_wrong = Some(at);
        }
    }
}

/// The checksums of a capture, by sender.
#[derive(Clone, Debug, Default)]
pub struct SenderChecksums {
    senders: BTreeMap<(ChecksumOf, IpAddr), Verified>,
    /// Packets that senders sent again, over TCP.
    resent: BTreeMap<IpAddr, u64>,
    pub(super) left_out: LeftOut,
}

impl SenderChecksums {
    /// Puts pseudonyms in place of senders.
    pub(super) fn anonymise(&mut self, names: &Anonymiser) {
        let senders = std::mem::take(&mut self.senders).into_iter();
        self.senders = senders
            .map(|((of, sender), v)| ((of, names.address(sender)), v))
            .collect();
        let resent = std::mem::take(&mut self.resent).into_iter();
        self.resent = resent
            .map(|(sender, n)| (names.address(sender), n))
            .collect();
    }

    pub(crate) fn add(&mut self, sums: &Checksums, at: Mark) {
        let key = (sums.of, sums.source);
        if self.senders.len() >= limits::CHECKSUM_SENDERS && !self.senders.contains_key(&key) {
            self.left_out.add(at);
            return;
        }
        self.senders.entry(key).or_default().add(sums, at);
    }

    /// Takes a connection that is over.
    pub(super) fn connection(&mut self, c: &ConnectionSummary) {
        let ends = [c.client, c.server];
        for (end, d) in ends.iter().zip(&c.directions) {
            let handshake = c.handshake.syn_retries + c.handshake.syn_ack_retries;
            let again = d.retransmitted_packets + u64::from(handshake);
            if again > 0
                && (self.resent.len() < limits::CHECKSUM_SENDERS
                    || self.resent.contains_key(&end.address))
            {
                *self.resent.entry(end.address).or_default() += again;
            }
        }
    }

    /// By kind and sender.
    pub fn iter(&self) -> impl Iterator<Item = (ChecksumOf, IpAddr, Verified)> {
        self.senders.iter().map(|((of, ip), v)| {
            let resent = self.resent.get(ip).copied().unwrap_or(0);
            let resent = (*of != ChecksumOf::Udp).then_some(resent);
            let v = Verified {
                resent,
                ..v.clone()
            };
            (*of, *ip, v)
        })
    }

    /// Whether a host's packets were captured before its card, so on it, or behind it; `None` where they do not say.
    #[must_use]
    pub fn is_captured_there(&self, host: IpAddr) -> Option<bool> {
        let of = [ChecksumOf::Tcp, ChecksumOf::Udp].map(|of| self.senders.get(&(of, host)));
        let sums = of.into_iter().flatten();
        let (right, unfinished) = sums.fold((0, 0), |(right, unfinished), v| {
            (right + v.right, unfinished + v.unfinished)
        });
        match (right, unfinished) {
            (FEW_RIGHT.., 0) => Some(false),
            // What is small some cards leave to the system.
            (_, FEW_UNFINISHED..) if unfinished >= right => Some(true),
            _ => None,
        }
    }

    /// All senders together.
    #[must_use]
    pub fn total(&self, of: ChecksumOf) -> Verified {
        let mut total = Verified::default();
        let own = self.senders.iter().filter(|((kind, _), _)| *kind == of);
        for (_, v) in own {
            total.right += v.right;
            total.unfinished += v.unfinished;
            total.joined += v.joined;
            total.wrong += v.wrong;
        }
        total
    }
}
