//! What packets say of the network's health ([`Notice`]) into facts about one capture: its bridges, what
//! its routers give back, checksums, VLANs, what goes to everybody, broken ARP, fragments.
//!
//! Nothing here judges: findings do, and `info` shows all of it.

mod bridges;
mod checksums;
mod floods;
mod fragments;
mod tags;
mod undelivered;

pub use bridges::{Bridges, RootChange, TopologyChange, bridge_text};
pub use checksums::{Meaning, SenderChecksums, Verified};
pub use floods::{Floods, Sender};
pub use fragments::FragmentFacts;
pub use tags::{Hint, HintKind, Tags};
pub use undelivered::{Concern, Returned, Undelivered};

use crate::neighbours::Neighbours;
use model::{
    Arp, ArpFault, ConnectionSummary, InvalidArp, Mark, Notice, NoticeKind, Problems, Where,
};
use pseudonyms::Anonymiser;
use std::collections::BTreeMap;

/// What a bound left out: how often, and where first.
#[derive(Clone, Copy, Default, Debug)]
pub struct LeftOut(Option<(u64, Mark)>);

impl LeftOut {
    pub(crate) fn add(&mut self, at: Mark) {
        let (count, _) = self.0.get_or_insert((0, at));
        *count += 1;
    }

    /// Notes it, with the place in one of `files`.
    pub(crate) fn note(
        &self,
        kind: &'static str,
        what: &str,
        files: &[String],
        problems: &mut Problems,
    ) {
        let Some((count, at)) = self.0 else {
            return;
        };
        problems.add(kind, false, count, || {
            let file = files.get(usize::from(at.packet.file));
            let place = Where {
                file: file.cloned().unwrap_or_default(),
                frame: Some(at.packet.frame),
                ..Where::default()
            };
            (what.to_owned(), place)
        });
    }
}

/// ARP packets of one fault.
#[derive(Clone, Debug, Default)]
pub struct InvalidArps {
    pub count: u64,
    /// The first of them.
    pub shown: Vec<Mark>,
    /// Who sent the first, by the frame's source.
    pub source: [u8; 6],
}

/// Packets shown of each kind.
pub(crate) const SHOWN: usize = 4;

/// The health of the network as one capture shows it.
#[derive(Clone, Debug, Default)]
pub struct Health {
    pub neighbours: Neighbours,
    pub invalid_arps: BTreeMap<ArpFault, InvalidArps>,
    pub bridges: Bridges,
    pub checksums: SenderChecksums,
    pub undelivered: Undelivered,
    pub tags: Tags,
    pub floods: Floods,
    pub fragments: FragmentFacts,
}

impl Health {
    /// Takes the next notice, in the capture's order.
    pub fn notice(&mut self, n: &Notice) {
        match &n.kind {
            NoticeKind::Bridge(bpdu) => self.bridges.add(bpdu, n.at),
            NoticeKind::InvalidArp(arp) => self.invalid_arp(arp, n.at),
            NoticeKind::Icmp(error) => self.undelivered.add(error, n.at),
            NoticeKind::Checksums(sums) => self.checksums.add(sums, n.at),
            NoticeKind::Fragments(f) => self.fragments.add(f),
            NoticeKind::LostFragments(lost) => self.fragments.lost(lost, n.at),
            NoticeKind::Tagged(tagged) => self.tags.add(tagged, n.at),
            NoticeKind::Flooded(flooded) => self.floods.add(flooded, n.at),
        }
    }

    /// Takes the next ARP packet, in the capture's order.
    pub fn arp(&mut self, arp: &Arp) {
        self.neighbours.arp(arp);
    }

    /// Takes a connection that is over: what routers gave back may be its packets, and what
    /// was damaged is sent again.
    pub fn connection(&mut self, c: &ConnectionSummary) {
        self.undelivered.connection(c);
        self.checksums.connection(c);
    }

    /// With pseudonyms in place of all hosts and hardware that are shown of it, which are none of the
    /// [`Neighbours`].
    #[must_use]
    pub fn anonymised(mut self, names: &Anonymiser) -> Health {
        for arps in self.invalid_arps.values_mut() {
            arps.source = names.mac(arps.source);
        }
        self.bridges.anonymise(names);
        self.checksums.anonymise(names);
        self.undelivered.anonymise(names);
        self.tags.anonymise(names);
        self.floods.anonymise(names);
        self
    }

    fn invalid_arp(&mut self, arp: &InvalidArp, at: Mark) {
        let seen = self.invalid_arps.entry(arp.fault).or_default();
        if seen.count == 0 {
            seen.source = arp.source;
        }
        seen.count += 1;
        if seen.shown.len() < SHOWN {
            seen.shown.push(at);
        }
    }

    /// Which bounds left something out; `files` are those of the capture.
    pub(crate) fn note_bounds(&self, files: &[String], problems: &mut Problems) {
        self.neighbours.note_bounds(files, problems);
        let bounds = [
            (
                &self.bridges.left_out,
                "bridges-left-out",
                "a bridge's port beyond the bound",
            ),
            (
                &self.checksums.left_out,
                "checksum-senders-left-out",
                "a sender beyond the bound",
            ),
            (
                &self.undelivered.left_out,
                "icmp-left-out",
                "packets given back beyond the bound",
            ),
            (
                &self.tags.left_out,
                "vlan-hosts-left-out",
                "hosts of a VLAN beyond the bound",
            ),
            (
                &self.floods.left_out,
                "broadcasters-left-out",
                "a sender of broadcasts beyond the bound",
            ),
            (
                &self.fragments.left_out,
                "lost-fragments-left-out",
                "a lost datagram beyond the bound",
            ),
        ];
        for (left_out, kind, what) in bounds {
            left_out.note(kind, what, files, problems);
        }
    }
}

#[cfg(test)]
mod tests;
