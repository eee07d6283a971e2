//! ARP of a link into who holds which address, and who asks for many of them.
//!
//! An address that moves from one hardware address to another may have been taken over: by the other
//! node of a cluster, a new network card, a new lease. One that comes back to the first while the second
//! is still there is held by both. A host that asks for a hundred addresses within ten seconds looks for
//! who is there; one that asks the same as often goes round in a circle.

use crate::health::LeftOut;
use model::{Arp, Mark, Problems, Time, limits};
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::net::Ipv4Addr;

/// An Ethernet address.
pub type Hardware = [u8; 6];

/// Questions within [`STORM_NS`] that are too many of one host.
pub(crate) const STORM_QUESTIONS: usize = 100;
pub(crate) const STORM_NS: i64 = 10_000_000_000;

/// Two hosts that hold one address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Conflict {
    pub address: Ipv4Addr,
    /// Who had it first, and who came.
    pub holders: [Hardware; 2],
    /// Packets of the first, of the second, and of the first again.
    pub packets: [Mark; 3],
    /// How often it went from one to another.
    pub moves: u64,
    pub last: Time,
}

#[derive(Clone, Copy, Debug)]
struct Claim {
    /// Who has it now, and its last packet; who had it before, with its last one.
    now: (Hardware, Mark),
    before: Option<(Hardware, Mark)>,
    moves: u64,
    conflict: Option<Conflict>,
}

/// A host that asks who has addresses.
#[derive(Clone, Debug)]
pub struct Asker {
    pub hardware: Hardware,
    /// The address that it gives as its own.
    pub address: Ipv4Addr,
    pub questions: u64,
    /// Different addresses that it asked for; at least so many, where the bound was reached.
    targets: BTreeSet<Ipv4Addr>,
    pub first: Mark,
    pub last: Mark,
    recent: VecDeque<Mark>,
    /// The shortest time in which there were [`STORM_QUESTIONS`], with the first and the last of them.
    busiest: Option<(i64, [Mark; 2])>,
    /// Questions for further addresses than are remembered.
    targets_left_out: LeftOut,
}

impl Asker {
    #[must_use]
    pub fn targets(&self) -> usize {
        self.targets.len()
    }

    /// The lowest and the highest address that it asked for.
    #[must_use]
    pub fn range(&self) -> Option<(Ipv4Addr, Ipv4Addr)> {
        Some((*self.targets.first()?, *self.targets.last()?))
    }

    /// Its busiest stretch of [`STORM_QUESTIONS`], if that is a storm: nanoseconds, first and last.
    #[must_use]
    pub fn storm(&self) -> Option<(i64, [Mark; 2])> {
        self.busiest.filter(|(ns, _)| *ns <= STORM_NS)
    }

    fn asks(&mut self, arp: &Arp) {
        self.questions += 1;
        self.last = arp.at;
        if self.targets.len() < limits::ARP_TARGETS {
            self.targets.insert(arp.target);
        } else if !self.targets.contains(&arp.target) {
            self.targets_left_out.add(arp.at);
        }
        self.recent.push_back(arp.at);
        if self.recent.len() > STORM_QUESTIONS {
            self.recent.pop_front();
        }
        if let (STORM_QUESTIONS, Some(&first)) = (self.recent.len(), self.recent.front()) {
            let ns = (arp.at.time - first.time).max(0);
            if self.busiest.is_none_or(|(least, _)| ns < least) {
                self.busiest = Some((ns, [first, arp.at]));
            }
        }
    }
}

/// What the ARP packets of one capture say.
#[derive(Clone, Debug, Default)]
pub struct Neighbours {
    claims: HashMap<Ipv4Addr, Claim>,
    askers: HashMap<Hardware, Asker>,
    /// Packets of hosts that are not remembered.
    hosts_left_out: LeftOut,
}

impl Neighbours {
    /// Takes the next ARP packet, in the capture's order.
    pub fn arp(&mut self, arp: &Arp) {
        let known = self.claims(arp);
        if arp.is_question() && !self.asks(arp) || !known {
            self.hosts_left_out.add(arp.at);
        }
    }

    /// Whether there was room for a question.
    fn asks(&mut self, arp: &Arp) -> bool {
        let full = self.askers.len() >= limits::ARP_HOSTS;
        if full && !self.askers.contains_key(&arp.sender_hardware) {
            return false;
        }
        let asker = self.askers.entry(arp.sender_hardware);
        let asker = asker.or_insert_with(|| Asker {
            hardware: arp.sender_hardware,
            address: arp.sender,
            questions: 0,
            targets: BTreeSet::new(),
            first: arp.at,
            last: arp.at,
            recent: VecDeque::new(),
            busiest: None,
            targets_left_out: LeftOut::default(),
        });
        asker.asks(arp);
        true
    }

    /// Every packet says that its sender has its address, unless it only asks whether anybody has, or
    /// gives a group's address. Returns
    /// whether there was room for what it says.
    fn claims(&mut self, arp: &Arp) -> bool {
        let [first, ..] = arp.sender_hardware;
        if arp.sender.is_unspecified() || arp.sender_hardware == [0; 6] || first & 1 == 1 {
            return true;
        }
        let full = self.claims.len() >= limits::ARP_HOSTS;
        if full && !self.claims.contains_key(&arp.sender) {
            return false;
        }
        let by = (arp.sender_hardware, arp.at);
        let claim = self.claims.entry(arp.sender).or_insert(Claim {
            now: by,
            before: None,
            moves: 0,
            conflict: None,
        });
        if claim.now.0 == by.0 {
            claim.now = by;
            return true;
        }
        claim.moves += 1;
        if let Some(first) = claim.before.filter(|first| first.0 == by.0) {
            let (address, holders) = (arp.sender, [first.0, claim.now.0]);
            let packets = [first.1, claim.now.1, by.1];
            let conflict = claim.conflict.get_or_insert(Conflict {
                address,
                holders,
                packets,
                moves: 0,
                last: by.1.time,
            });
            (conflict.moves, conflict.last) = (claim.moves, by.1.time);
        }
        (claim.before, claim.now) = (Some(claim.now), by);
        true
    }

    /// How many addresses hosts gave as theirs, and how many hosts asked for one.
    #[must_use]
    pub fn hosts(&self) -> (usize, usize) {
        (self.claims.len(), self.askers.len())
    }

    /// Which bounds left something out; `files` are those of the capture.
    pub(crate) fn note_bounds(&self, files: &[String], problems: &mut Problems) {
        let what = "an ARP packet of a host beyond the bound";
        self.hosts_left_out
            .note("arp-hosts-left-out", what, files, problems);
        let mut askers: Vec<&Asker> = self.askers.values().collect();
        askers.sort_by_key(|a| a.first);
        for asker in askers {
            let what = "a question for an address beyond the bound";
            asker
                .targets_left_out
                .note("arp-targets-left-out", what, files, problems);
        }
    }

    /// Addresses that two hosts hold, by address.
    pub(crate) fn conflicts(&self) -> Vec<Conflict> {
        let mut list: Vec<Conflict> = self.claims.values().filter_map(|c| c.conflict).collect();
        list.sort_by_key(|c| c.address);
        list
    }

    /// Hosts that ask too often, those that ask most first.
    pub(crate) fn storms(&self) -> Vec<&Asker> {
        let mut list: Vec<&Asker> = self
            .askers
            .values()
            .filter(|a| a.storm().is_some())
            .collect();
        list.sort_by_key(|a| (std::cmp::Reverse(a.questions), a.hardware));
        list
    }
}

/// `00:07:0d:af:f4:54`.
#[must_use]
pub fn hardware_text(hardware: Hardware) -> String {
    hardware.map(|byte| format!("{byte:02x}")).join(":")
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::PacketRef;

    const A: Hardware = [2, 0, 0, 0, 0, 0xa];
    const B: Hardware = [2, 0, 0, 0, 0, 0xb];
    const C: Hardware = [2, 0, 0, 0, 0, 0xc];

    fn arp(n: u32, ms: i64, operation: u16, sender: (u32, Hardware), target: u32) -> Arp {
        Arp {
            order: n.into(),
            at: Mark {
                time: Time(ms * 1_000_000),
                packet: PacketRef { file: 0, frame: n },
            },
            operation,
            sender: Ipv4Addr::from(sender.0),
            sender_hardware: sender.1,
            target: Ipv4Addr::from(target),
            target_hardware: [0; 6],
        }
    }

    fn answers(holders: &[Hardware]) -> Neighbours {
        let mut n = Neighbours::default();
        for (i, holder) in holders.iter().enumerate() {
            n.arp(&arp(i as u32 + 1, i as i64, 2, (7, *holder), 9));
        }
        n
    }

    #[test]
    fn an_address_that_comes_back_is_held_twice_and_one_that_moves_is_not() {
        for holders in [[A, A, B, B], [A, B, C, C]] {
            assert_eq!(answers(&holders).conflicts(), []);
        }
        let conflicts = answers(&[A, A, B, A, B]).conflicts();
        let [conflict] = conflicts.as_slice() else {
            panic!("{conflicts:?}");
        };
        assert_eq!(conflict.holders, [A, B]);
        assert_eq!(conflict.packets.map(|m| m.packet.frame), [2, 3, 4]);
        assert_eq!(conflict.moves, 3);
    }

    #[test]
    fn who_only_asks_whether_an_address_is_free_has_none() {
        let mut n = Neighbours::default();
        for (i, holder) in [A, B, A, B].into_iter().enumerate() {
            n.arp(&arp(i as u32, 0, 1, (0, holder), 7));
        }
        assert_eq!(n.conflicts(), []);
    }

    #[test]
    fn a_hundred_questions_in_ten_seconds_are_a_storm_and_fewer_are_none() {
        for (apart_ms, storm) in [(100, true), (102, false)] {
            let mut n = Neighbours::default();
            for i in 0..200 {
                n.arp(&arp(i, i64::from(i) * apart_ms, 1, (7, A), 100 + i));
            }
            assert_eq!(n.storms().len(), usize::from(storm), "{apart_ms}");
            if let [asker] = n.storms().as_slice() {
                assert_eq!((asker.questions, asker.targets()), (200, 200));
                assert_eq!(asker.range(), Some((100.into(), 299.into())));
            }
        }
    }

    #[test]
    fn hosts_and_addresses_beyond_the_bounds_are_counted() {
        let mut n = Neighbours::default();
        for i in 0..limits::ARP_TARGETS as u32 + 5 {
            n.arp(&arp(i, 0, 1, (7, A), 100 + i));
        }
        // Asked for again, an address that is remembered is no news.
        n.arp(&arp(9, 0, 1, (7, A), 100));
        for i in 0..limits::ARP_HOSTS as u32 {
            n.arp(&arp(i, 0, 2, (1_000_000 + i, B), 7));
        }
        let mut problems = Problems::default();
        n.note_bounds(&[], &mut problems);
        let counts: Vec<_> = problems.iter().map(|(kind, p)| (kind, p.count)).collect();
        let expected = [("arp-hosts-left-out", 1), ("arp-targets-left-out", 5)];
        assert_eq!(counts, expected);
    }

    #[test]
    fn nobody_holds_an_address_by_a_group_s_hardware_address() {
        let group = [0xff; 6];
        assert_eq!(answers(&[A, group, A, group]).conflicts(), []);
    }
}
