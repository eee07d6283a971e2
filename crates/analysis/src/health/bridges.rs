//! Bridge protocol data units (IEEE 802.1D-2004) into changes of a spanning tree: another root, another
//! topology.
//!
//! A capture of several links holds several trees, whose roots differ and change nothing. So the root
//! changed where one port speaks for another root than before, or where another bridge speaks for a new
//! one and the bridge that spoke for the old one never does again, though there was time for it.

use super::{LeftOut, SHOWN};
use crate::neighbours::hardware_text;
use model::{Bpdu, Bridge, Mark, Time, Tree, limits};
use pseudonyms::Anonymiser;
use std::collections::BTreeMap;

/// What is said of a change within this time is said of the same: the root repeats it for as long as
/// addresses are to be forgotten (35 s by default).
const SAME_NS: i64 = 60_000_000_000;

/// Who spoke every so often (2 s by default) and missed three turns is silent.
const TURNS: i64 = 3;

/// A bridge as switches write it: the priority without the number of its VLAN, and the address.
#[must_use]
pub fn bridge_text(bridge: Bridge) -> String {
    let priority = bridge.priority & 0xf000;
    format!("{} (priority {priority})", hardware_text(bridge.hardware))
}

/// Another bridge became the root.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RootChange {
    pub vlan: Option<u16>,
    pub old: Bridge,
    pub new: Bridge,
    /// The last packet that spoke for the old root, and the first for the new.
    pub packets: [Mark; 2],
}

/// Ports began or ceased to forward, and bridges forget where hosts are.
#[derive(Clone, Debug)]
pub struct TopologyChange {
    pub vlan: Option<u16>,
    pub first: Mark,
    pub last: Mark,
    /// The first packets that say so.
    pub shown: Vec<Mark>,
    /// How long a port waits before it forwards, as the packets say; `None` where only notifications
    /// were seen.
    pub forward_delay_ns: Option<i64>,
}

#[derive(Clone, Copy, Debug)]
struct Port {
    root: Bridge,
    last: Mark,
}

/// A new bridge spoke for another root than the port `by` had.
#[derive(Clone, Copy, Debug)]
struct Claim {
    by: ([u8; 6], u16),
    change: RootChange,
    /// How often bridges speak, as the new one says.
    hello_ns: i64,
}

#[derive(Clone, Debug, Default)]
struct Instance {
    ports: BTreeMap<([u8; 6], u16), Port>,
    claims: Vec<Claim>,
    root: Option<Bridge>,
    /// When a bridge spoke last.
    last: Option<Time>,
    /// Its latest change of topology, among all.
    change: Option<usize>,
}

/// The spanning trees of a capture.
#[derive(Clone, Debug, Default)]
pub struct Bridges {
    /// Packets of bridges.
    pub packets: u64,
    trees: BTreeMap<Option<u16>, Instance>,
    /// Of all trees.
    ports: usize,
    roots: Vec<RootChange>,
    changes: Vec<TopologyChange>,
    pub(super) left_out: LeftOut,
}

impl Bridges {
    /// Puts pseudonyms in place of the bridges that are shown.
    pub(super) fn anonymise(&mut self, names: &Anonymiser) {
        let roots = self.trees.values_mut().filter_map(|t| t.root.as_mut());
        let changed = self.roots.iter_mut().flat_map(|c| [&mut c.old, &mut c.new]);
        for bridge in roots.chain(changed) {
            bridge.hardware = names.mac(bridge.hardware);
        }
    }

    pub(super) fn add(&mut self, bpdu: &Bpdu, at: Mark) {
        self.packets += 1;
        match &bpdu.tree {
            None => self.changes(bpdu.vlan, None, at),
            Some(tree) => {
                if tree.changing {
                    self.changes(bpdu.vlan, Some(tree.forward_delay_ns), at);
                }
                self.tree(bpdu.vlan, tree, at);
            }
        }
    }

    fn changes(&mut self, vlan: Option<u16>, forward_delay_ns: Option<i64>, at: Mark) {
        let latest = &mut self.trees.entry(vlan).or_default().change;
        let same = latest.and_then(|n| self.changes.get_mut(n));
        if let Some(change) = same.filter(|c| at.time - c.last.time <= SAME_NS) {
            change.last = at;
            change.forward_delay_ns = change.forward_delay_ns.max(forward_delay_ns);
            if change.shown.len() < SHOWN {
                change.shown.push(at);
            }
        } else if self.changes.len() < limits::TREE_CHANGES {
            *latest = Some(self.changes.len());
            self.changes.push(TopologyChange {
                vlan,
                first: at,
                last: at,
                shown: vec![at],
                forward_delay_ns,
            });
        } else {
            self.left_out.add(at);
        }
    }

    fn tree(&mut self, vlan: Option<u16>, tree: &Tree, at: Mark) {
        let instance = self.trees.entry(vlan).or_default();
        instance.root = Some(tree.root);
        instance.last = instance.last.max(Some(at.time));
        let by = (tree.bridge.hardware, tree.port);
        let change = |old: &Port| RootChange {
            vlan,
            old: old.root,
            new: tree.root,
            packets: [old.last, at],
        };
        let known = instance.ports.get(&by).copied();
        // A bridge that only changes its priority stays the root.
        let other = |p: &Port| p.root.hardware != tree.root.hardware;
        let changed = known.filter(other);
        if known.is_none() {
            if self.ports >= limits::BRIDGE_PORTS {
                self.left_out.add(at);
                return;
            }
            self.ports += 1;
            let others = instance.ports.iter().filter(|(_, p)| other(p));
            if let Some((by, old)) = others.max_by_key(|(by, p)| (p.last.time, **by)) {
                let claim = Claim {
                    by: *by,
                    change: change(old),
                    hello_ns: tree.hello_ns,
                };
                instance.claims.push(claim);
            }
        }
        let port = Port {
            root: tree.root,
            last: at,
        };
        instance.ports.insert(by, port);
        if let Some(old) = changed {
            let change = change(&old);
            if self.roots.len() < limits::TREE_CHANGES {
                self.roots.push(change);
            } else {
                self.left_out.add(at);
            }
        }
    }

    /// Changes of a root, in order of time; what several ports say of one is one.
    #[must_use]
    pub fn root_changes(&self) -> Vec<RootChange> {
        let silent = |instance: &Instance, claim: &Claim| {
            let old = instance.ports.get(&claim.by);
            let [before, at] = claim.change.packets;
            let waited = instance.last.map_or(0, |last| last - before.time);
            old.is_some_and(|p| p.root == claim.change.old && p.last.time <= at.time)
                && at.time - before.time <= SAME_NS
                && waited >= claim.hello_ns.saturating_mul(TURNS)
        };
        let trees = self.trees.values();
        let claims = trees.flat_map(|i| i.claims.iter().filter(|c| silent(i, c)));
        let mut all: Vec<RootChange> = self.roots.clone();
        all.extend(claims.map(|c| c.change));
        all.sort_by_key(|c| (c.packets[1], c.vlan));
        let mut kept: Vec<RootChange> = Vec::new();
        for change in all {
            let same = |c: &&RootChange| {
                (c.vlan, c.old, c.new) == (change.vlan, change.old, change.new)
                    && change.packets[1].time - c.packets[1].time <= SAME_NS
            };
            if kept.iter().rev().find(same).is_none() {
                kept.push(change);
            }
        }
        kept
    }

    /// Changes of the topology, in order of time.
    #[must_use]
    pub fn topology_changes(&self) -> &[TopologyChange] {
        &self.changes
    }

    /// The last root of each tree, with its VLAN where the bridges have one for each.
    pub fn roots(&self) -> impl Iterator<Item = (Option<u16>, Bridge)> {
        self.trees
            .iter()
            .filter_map(|(vlan, i)| Some((*vlan, i.root?)))
    }
}
