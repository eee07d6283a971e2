//! Stretches of connections into packets that are chosen: with the openings of these connections, which
//! come long before, and how many packets that makes.

use super::place::{self, Placed, Window};
use crate::Error;
use crate::config::Event;
use crate::run::Selection;
use analysis::results::Vantage;
use model::{Packet, PacketRef, Problems, Transport, Where, limits};
use net::{Flow, Outline};
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::net::IpAddr;
use std::path::PathBuf;

/// SYNs, SYN/ACKs and their acknowledgement that are kept of one connection.
const HANDSHAKE: usize = 8;

#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Count {
    pub(super) packets: u64,
    pub(super) chosen: u64,
    pub(super) commented: u64,
}

/// Packets behind a stretch in which its other side is waited for to go on.
const TAIL: usize = 16;

/// Says of each packet of a capture whether it is chosen.
pub(super) struct Chooser<'a> {
    pub(super) inputs: Vec<PathBuf>,
    pub(super) files: Vec<String>,
    pub(super) side: Option<Vantage>,
    pub(super) why: BTreeMap<PacketRef, Vec<String>>,
    frames: Vec<(u16, u32, u32)>,
    windows: HashMap<Flow, Vec<Window>>,
    /// The flows of fragments, which have no ports, and of UDP, whose packets may be fragments.
    by_hosts: HashMap<[IpAddr; 2], Vec<Flow>>,
    times: Selection<'a>,
    time: bool,
    /// Orders of the packets that opened connections which are cut.
    openings: HashSet<u64>,
    /// Orders of the packets before and behind stretches without which these cannot be read.
    beside: HashSet<u64>,
    pub(super) count: Count,
    pub(super) problems: Problems,
    /// What the readings so far could not read.
    unread: Problems,
}

/// Why a packet is chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Choice {
    Itself,
    /// It opened a connection that is cut.
    Opening,
    /// Without it what is chosen before or behind it cannot be read.
    Beside,
}

/// What is waited for behind a stretch: that the side speaks which did not send its last packet.
struct Tail {
    from_first: bool,
    left: usize,
}

/// The opening of a connection, as far as it was read.
#[derive(Default)]
struct Opening {
    packets: Vec<u64>,
    /// Sequence number and direction of its SYN.
    syn: Option<(u32, bool)>,
    /// The handshake is over after so many of them.
    handshake: Option<usize>,
    /// How many of them are chosen already.
    given: usize,
    /// How many packets are needed of it, and just before a stretch, at most.
    most: usize,
    lead: usize,
    /// The last packets of the connection that are not chosen themselves.
    recent: VecDeque<u64>,
}

impl<'a> Chooser<'a> {
    /// Reads the capture for the openings of the connections that are cut, and counts.
    pub(super) fn new(
        placed: Placed<'a>,
        only: bool,
        events: &mut dyn FnMut(Event),
    ) -> Result<Chooser<'a>, Error> {
        let mut by_hosts: HashMap<[IpAddr; 2], Vec<Flow>> = HashMap::new();
        let tcp = |f: &Flow| matches!(f.ports, Some((Transport::Tcp, _)));
        for flow in placed.windows.keys().filter(|f| !tcp(f)) {
            by_hosts.entry(flow.hosts).or_default().push(*flow);
        }
        let mut chooser = Chooser {
            inputs: placed.inputs,
            files: placed.files,
            side: placed.side,
            why: placed.why,
            frames: placed.frames,
            windows: placed.windows,
            by_hosts,
            times: placed.times,
            time: placed.time,
            openings: HashSet::new(),
            beside: HashSet::new(),
            count: Count::default(),
            problems: placed.problems,
            unread: placed.unread,
        };
        chooser.read(only, events)?;
        Ok(chooser)
    }

    fn read(&mut self, only: bool, events: &mut dyn FnMut(Event)) -> Result<(), Error> {
        let inputs = self.inputs.clone();
        let mut openings: HashMap<Flow, Opening> = HashMap::new();
        // Of those, the packets that are chosen anyway.
        let mut counted: HashSet<u64> = HashSet::new();
        let mut count = self.count;
        let mut remembered = 0;
        let mut problems = Problems::default();
        let mut chosen_openings = HashSet::new();
        let mut waiting: HashMap<Flow, Tail> = HashMap::new();
        let mut beside = HashSet::new();
        let capture = super::each_packet(&inputs, events, &mut |_, batch, packet| {
            count.packets += 1;
            self.times.starts_at(Some(packet.time));
            let outline = self.outline(packet, batch.bytes_of(packet));
            let itself = self.choose(packet, outline.as_ref()).is_some();
            count.chosen += u64::from(itself);
            let told = self.why.contains_key(&packet.at) || self.is_named(packet.at);
            count.commented += u64::from(told);
            let Some(outline) = outline.filter(|_| !only) else {
                return Ok(());
            };
            let Some(windows) = self.windows.get(&outline.flow) else {
                return Ok(());
            };
            let opening = openings.entry(outline.flow);
            let opening = opening.or_insert_with(|| Opening::of(windows));
            let room = match remembered < limits::CUT_BEFORE {
                true => opening.most,
                false => 0,
            };
            if opening.take(packet.order, &outline, room) {
                remembered += 1;
                if remembered == limits::CUT_BEFORE {
                    problems.note("starts-of-sessions-left-out", || {
                        ("more packets than are remembered".into(), Where::default())
                    });
                }
                if itself {
                    counted.insert(packet.order);
                }
            }
            let begins = windows.binary_search_by_key(&packet.order, |w| w.first);
            if let Some(window) = begins.ok().and_then(|i| windows.get(i)) {
                let (handshake, others) = opening.give(window.opening);
                chosen_openings.extend(handshake);
                beside.extend(others.iter().filter(|order| !counted.contains(order)));
                beside.extend(opening.recent.iter().rev().take(window.lead));
            }
            if !itself && opening.lead > 0 {
                if opening.recent.len() >= opening.lead {
                    opening.recent.pop_front();
                }
                opening.recent.push_back(packet.order);
            }
            let ends = windows
                .binary_search_by_key(&packet.order, |w| w.last)
                .is_ok();
            if itself {
                waiting.remove(&outline.flow);
            } else if let Some(tail) = waiting.get_mut(&outline.flow) {
                beside.insert(packet.order);
                tail.left -= 1;
                if tail.left == 0 || tail.is_over(&outline) {
                    waiting.remove(&outline.flow);
                }
            }
            if ends && outline.tcp.is_some() {
                let from_first = outline.from_first;
                waiting.insert(
                    outline.flow,
                    Tail {
                        from_first,
                        left: TAIL,
                    },
                );
            }
            Ok(())
        })?;
        let openings = chosen_openings.difference(&counted).count() as u64;
        count.chosen += openings + beside.difference(&chosen_openings).count() as u64;
        count.commented += openings;
        (self.count, self.openings, self.beside) = (count, chosen_openings, beside);
        self.problems.merge(&problems);
        self.problems.merge(capture.problems());
        self.problems.merge_unread(&self.unread);
        Ok(())
    }

    /// The outline of a packet, where it can matter.
    pub(super) fn outline(&self, packet: &Packet, bytes: &[u8]) -> Option<Outline> {
        if self.windows.is_empty() {
            return None;
        }
        Outline::of(packet.link_type, bytes, packet.length)
    }

    /// Whether a packet is chosen, and for what.
    pub(super) fn choose(&self, packet: &Packet, outline: Option<&Outline>) -> Option<Choice> {
        let itself = self.why.contains_key(&packet.at)
            || place::named(&self.frames, packet.at)
            || self.time && self.times.covers(packet.time)
            || outline.is_some_and(|o| self.is_around(&o.flow, packet));
        if itself {
            return Some(Choice::Itself);
        }
        if self.openings.contains(&packet.order) {
            return Some(Choice::Opening);
        }
        let behind = self.beside.contains(&packet.order);
        behind.then_some(Choice::Beside)
    }

    /// Whether a frame was named by its number.
    pub(super) fn is_named(&self, at: PacketRef) -> bool {
        place::named(&self.frames, at)
    }

    /// Whether a packet lies in a stretch of its connection that is chosen.
    fn is_around(&self, flow: &Flow, packet: &Packet) -> bool {
        let within = |flow: &Flow| {
            let windows = self.windows.get(flow).map_or(&[][..], Vec::as_slice);
            let behind = windows.partition_point(|w| w.first <= packet.order);
            let last = behind.checked_sub(1).and_then(|i| windows.get(i));
            last.is_some_and(|w| {
                w.holds(packet.order) && (!w.clip || self.times.covers(packet.time))
            })
        };
        if within(flow) {
            return true;
        }
        let others = self.by_hosts.get(&flow.hosts);
        others.is_some_and(|all| all.iter().any(|f| f.covers(flow) && within(f)))
    }
}

impl Tail {
    fn is_over(&self, outline: &Outline) -> bool {
        let another = outline.tcp.is_some_and(|(flags, _)| flags.syn());
        another || outline.payload && outline.from_first != self.from_first
    }
}

impl Opening {
    /// Of a connection of which these stretches are chosen.
    fn of(windows: &[Window]) -> Opening {
        let largest = |of: fn(&Window) -> usize| windows.iter().map(of).max().unwrap_or(0);
        Opening {
            most: largest(|w| w.opening),
            lead: largest(|w| w.lead),
            ..Opening::default()
        }
    }

    /// Takes a packet of the connection; whether it belongs to its opening.
    fn take(&mut self, order: u64, outline: &Outline, most: usize) -> bool {
        let Some((flags, sequence)) = outline.tcp else {
            return false;
        };
        if flags.syn() && !flags.ack() && self.syn != Some((sequence, outline.from_first)) {
            *self = Opening {
                syn: Some((sequence, outline.from_first)),
                most: self.most,
                lead: self.lead,
                ..Opening::default()
            };
        }
        let Some((_, client_first)) = self.syn else {
            // The capture began in mid-connection.
            self.handshake = Some(0);
            let wanted = most > HANDSHAKE && self.packets.len() < most;
            self.packets.extend(wanted.then_some(order));
            return wanted;
        };
        let wanted = match self.handshake {
            None => self.packets.len() < HANDSHAKE,
            Some(_) => self.packets.len() < most,
        };
        if wanted {
            self.packets.push(order);
            let acknowledged = !flags.syn() && outline.from_first == client_first;
            if self.handshake.is_none() && (acknowledged || self.packets.len() == HANDSHAKE) {
                self.handshake = Some(self.packets.len());
            }
        }
        wanted
    }

    /// The packets of the handshake, and as many behind them as make `most`, each once. None for none.
    fn give(&mut self, most: usize) -> (&[u64], &[u64]) {
        if most == 0 {
            return (&[], &[]);
        }
        let handshake = self.handshake.unwrap_or(self.packets.len());
        let end = self.packets.len().min(handshake.max(most));
        let from = self.given.max(handshake).min(end);
        self.given = end;
        let others = self.packets.get(from..end).unwrap_or_default();
        (self.packets.get(..handshake).unwrap_or_default(), others)
    }
}
