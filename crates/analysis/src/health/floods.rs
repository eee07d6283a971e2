//! Frames to everybody and to groups into who sends how many, and how many there are in a second.

use super::LeftOut;
use crate::info::Amount;
use model::{Cast, Flooded, Mark, SightKind, limits};
use pseudonyms::Anonymiser;
use std::collections::BTreeMap;

const SECOND_NS: i64 = 1_000_000_000;

/// Who floods.
#[derive(Clone, Debug)]
pub struct Sender {
    pub hardware: [u8; 6],
    pub broadcast: Amount,
    pub multicast: Amount,
    pub first: Mark,
    pub last: Mark,
    holds: BTreeMap<SightKind, u64>,
}

impl Sender {
    /// What most of its frames hold.
    #[must_use]
    pub fn holds(&self) -> Option<SightKind> {
        let most = self
            .holds
            .iter()
            .max_by_key(|(kind, n)| (**n, std::cmp::Reverse(**kind)));
        most.map(|(kind, _)| *kind)
    }
}

/// What goes to everybody.
#[derive(Clone, Debug, Default)]
pub struct Floods {
    pub broadcast: Amount,
    pub multicast: Amount,
    /// Broadcasts that are ARP.
    pub arp: u64,
    senders: BTreeMap<[u8; 6], Sender>,
    /// The second being counted: its number, its broadcasts, the first of them.
    second: Option<(i64, u64, Mark)>,
    busiest: Option<(u64, [Mark; 2])>,
    pub(super) left_out: LeftOut,
}

impl Floods {
    /// Puts pseudonyms in place of the senders that are shown.
    pub(super) fn anonymise(&mut self, names: &Anonymiser) {
        for sender in self.senders.values_mut() {
            sender.hardware = names.mac(sender.hardware);
        }
    }

    pub(super) fn add(&mut self, f: &Flooded, at: Mark) {
        let bytes = u64::from(f.bytes);
        let broadcast = f.cast == Cast::Broadcast;
        match broadcast {
            true => self.broadcast.count(bytes),
            false => self.multicast.count(bytes),
        }
        if broadcast {
            self.arp += u64::from(f.holds == SightKind::Arp);
            self.second(at);
        }
        if self.senders.len() >= limits::BROADCASTERS && !self.senders.contains_key(&f.source) {
            self.left_out.add(at);
            return;
        }
        let sender = self.senders.entry(f.source).or_insert_with(|| Sender {
            hardware: f.source,
            broadcast: Amount::default(),
            multicast: Amount::default(),
            first: at,
            last: at,
            holds: BTreeMap::new(),
        });
        match broadcast {
            true => sender.broadcast.count(bytes),
            false => sender.multicast.count(bytes),
        }
        sender.last = at;
        *sender.holds.entry(f.holds).or_default() += 1;
    }

    fn second(&mut self, at: Mark) {
        let number = at.time.0.div_euclid(SECOND_NS);
        let counted = match self.second {
            Some((same, n, first)) if same == number => (same, n + 1, first),
            _ => (number, 1, at),
        };
        self.second = Some(counted);
        let (_, n, first) = counted;
        if self.busiest.is_none_or(|(most, _)| n > most) {
            self.busiest = Some((n, [first, at]));
        }
    }

    /// The most broadcasts in a second, with the first and the last of them.
    pub(crate) fn busiest(&self) -> Option<(u64, [Mark; 2])> {
        self.busiest
    }

    /// Those who send most broadcasts first, then by groups.
    #[must_use]
    pub fn senders(&self) -> Vec<&Sender> {
        let mut list: Vec<&Sender> = self.senders.values().collect();
        list.sort_by_key(|s| std::cmp::Reverse((s.broadcast.packets, s.multicast.packets)));
        list
    }
}
