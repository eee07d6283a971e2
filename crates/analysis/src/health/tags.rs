//! VLAN tags of hosts' packets into hints that a host is in the wrong VLAN.
//!
//! Behind a router the same packet carries other hardware addresses, so a mirror that shows both sides of
//! one shows hosts in several VLANs and nothing is wrong. A hint needs the same hardware addresses, each of
//! which speaks for one host alone: a router speaks for many. Nor is it one between routers, which send on
//! what has lived for a while.

use super::LeftOut;
use model::{Mark, Tagged, limits};
use pseudonyms::Anonymiser;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

type Hardware = [u8; 6];
type Vlans = [Option<u16>; 2];

/// What is odd about the tags of two hosts' packets.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum HintKind {
    /// The same packets' way, from one card to the other, leads through several VLANs.
    Several,
    /// The one sends in one VLAN, the other answers in another.
    EachItsOwn,
}

impl HintKind {
    /// A kebab-case word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            HintKind::Several => "several",
            HintKind::EachItsOwn => "each-its-own",
        }
    }
}

/// Two hosts and the VLANs of their packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hint {
    pub kind: HintKind,
    pub hosts: [IpAddr; 2],
    pub hardware: [Hardware; 2],
    /// The VLANs, of [`HintKind::EachItsOwn`] that of each host.
    pub vlans: [u16; 2],
    /// A packet of each.
    pub packets: [Mark; 2],
}

/// The tags of a capture.
#[derive(Clone, Debug, Default)]
pub struct Tags {
    /// By hosts and hardware: the tags, with the first packet of each.
    ways: BTreeMap<([IpAddr; 2], [Hardware; 2]), BTreeMap<Vlans, Mark>>,
    /// The addresses that a card speaks for: two are as good as many.
    speaks_for: BTreeMap<Hardware, BTreeSet<IpAddr>>,
    /// Cards that sent on what others had sent.
    routers: BTreeSet<Hardware>,
    count: usize,
    pub(super) left_out: LeftOut,
}

impl Tags {
    /// Puts pseudonyms in place of hosts and their cards.
    pub(super) fn anonymise(&mut self, names: &Anonymiser) {
        let ways = std::mem::take(&mut self.ways).into_iter();
        self.ways = ways
            .map(|((hosts, cards), tags)| {
                let key = (hosts.map(|h| names.address(h)), cards.map(|c| names.mac(c)));
                (key, tags)
            })
            .collect();
        let speakers = std::mem::take(&mut self.speaks_for).into_iter();
        self.speaks_for = speakers
            .map(|(card, hosts)| {
                let hosts = hosts.into_iter().map(|h| names.address(h));
                (names.mac(card), hosts.collect())
            })
            .collect();
    }

    pub(super) fn add(&mut self, t: &Tagged, at: Mark) {
        let key = (t.hosts, t.hardware);
        let known = self
            .ways
            .get(&key)
            .is_some_and(|w| w.contains_key(&t.vlans));
        if !known && self.count >= limits::TAGGED_WAYS {
            self.left_out.add(at);
            return;
        }
        if t.routed {
            self.routers.insert(t.hardware[0]);
        }
        if known {
            return;
        }
        self.count += 1;
        self.ways.entry(key).or_default().insert(t.vlans, at);
        let [source, destination] = t.hosts;
        for (hardware, host) in t.hardware.into_iter().zip([source, destination]) {
            let hosts = self.speaks_for.entry(hardware).or_default();
            if hosts.len() < 2 {
                hosts.insert(host);
            }
        }
    }

    /// Pairs of hosts that seem to be in the wrong VLAN, by address.
    #[must_use]
    pub fn hints(&self) -> Vec<Hint> {
        let one_host = |h: &Hardware| self.speaks_for.get(h).is_some_and(|hosts| hosts.len() == 1);
        let mut hints = Vec::new();
        for ((hosts, hardware), tags) in &self.ways {
            if !hardware.iter().all(one_host) {
                continue;
            }
            let hint = |kind, (a, first): (u16, Mark), (b, second): (u16, Mark)| Hint {
                kind,
                hosts: *hosts,
                hardware: *hardware,
                vlans: [a, b],
                packets: [first, second],
            };
            let own = numbers(tags);
            let mut vlans = own.iter().map(|(v, m)| (*v, *m));
            if let (Some(a), Some(b)) = (vlans.next(), vlans.next()) {
                // Routers may have several ways between them.
                if self.routers.contains(&hardware[0]) {
                    continue;
                }
                hints.push(hint(HintKind::Several, a, b));
                continue;
            }
            let [source, destination] = *hosts;
            let [from, to] = *hardware;
            let back = self.ways.get(&([destination, source], [to, from]));
            let back = back.map(numbers).unwrap_or_default();
            let mut back = back.into_iter();
            if let (Some(a), Some(b), None) = (own.into_iter().next(), back.next(), back.next())
                && a.0 != b.0
                && source < destination
                && !hardware.iter().all(|h| self.routers.contains(h))
            {
                hints.push(hint(HintKind::EachItsOwn, a, b));
            }
        }
        hints
    }
}

/// The innermost number of each tag: a provider's tag around it changes nothing.
fn numbers(tags: &BTreeMap<Vlans, Mark>) -> BTreeMap<u16, Mark> {
    let mut numbers = BTreeMap::new();
    for (vlans, &at) in tags {
        if let Some(number) = vlans[1].or(vlans[0]) {
            let first = numbers.entry(number).or_insert(at);
            *first = at.min(*first);
        }
    }
    numbers
}
