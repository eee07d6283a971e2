//! Files that are to be one capture, into whether they are one. Captures of both ends of the same
//! connections hold the same packets; read as one, every call would count twice, or with the times of
//! both ends mixed.
//!
//! A sample of each file is held against those of the others: packets that are in both, other than in the
//! very moment in which a copy comes, were seen from two places. Addresses may be translated in between,
//! numbers and timestamps are not; what is sent again has other ones, so files that follow each other
//! share nothing. Clocks play no part, as the samples are the files' beginnings; where a file begins later
//! than another's sample ends, the other is sampled from that moment on, too.

use crate::diagnose;
use crate::run;
use capture::Capture;
use foldhash::fast::FixedState;
use hashbrown::{HashMap, HashSet};
use model::{Batch, Problems, Time, Transport};
use net::{Decoder, Segment};
use std::collections::BTreeMap;
use std::hash::BuildHasher;
use std::path::{Path, PathBuf};

/// Of more files only the beginnings are looked at: to find the moments in which others begin would be
/// half a reading of them all.
const FEW_FILES: usize = 8;

/// Packets of a sample, and of one of many files: a server's is to hold some of each of a few dozen clients.
const SAMPLE: usize = 4_096;
const MANY_FILES: usize = 64;
const SMALL_SAMPLE: usize = 512;

/// So many packets in both are not chance; with so many, offload may hide more.
const FEW: u64 = 2;
const MANY: u64 = 8;

/// Few count where clocks agree by so much: a scripted client may open its connections alike every hour.
const NEAR_NS: i64 = 60_000_000_000;

/// A later file's sample begins so much earlier, as clocks are not quite the same.
const SLACK_NS: i64 = 50_000_000;

/// Bytes of a datagram that tell it from others: more than the ids of RPC and DNS.
const TOLD_APART: usize = 32;

/// What files given as one capture are.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ends {
    /// Nothing says otherwise.
    One,
    /// Two captures of the same connections, and their files.
    Two([Vec<PathBuf>; 2]),
    /// Captures of the same connections at so many places, a file each.
    Several(Vec<PathBuf>),
    /// A capture that has connections in common with each of several others, which have none with each other: a server's
    /// and those of its clients, or a client's and those of its servers.
    Peers {
        of: Vec<PathBuf>,
        each: Vec<Vec<PathBuf>>,
    },
    /// Captures of a chain of hosts, each of which has connections in common with its neighbours: an application's client, the
    /// application, its database, that one's storage. From one end to the other.
    Chain(Vec<Vec<PathBuf>>),
    /// These two files hold the same packets, and which of the others go with which nobody knows.
    Tangled([PathBuf; 2]),
}

/// Whether files, or those of directories, are one capture. What can be read only once is not looked at.
#[must_use]
pub fn ends(inputs: &[PathBuf]) -> Ends {
    let again = |p: &PathBuf| p.is_file() || p.is_dir();
    let single = matches!(inputs, [one] if one.is_file());
    if single || !inputs.iter().all(again) {
        return Ends::One;
    }
    // Whoever reads them says what is wrong with them.
    let Ok(capture) = run::open(inputs) else {
        return Ends::One;
    };
    let files: Vec<PathBuf> = capture.files().iter().map(PathBuf::from).collect();
    if files.len() < 2 || !files.iter().all(|f| f.is_file()) {
        return Ends::One;
    }
    let size = match files.len() {
        ..=MANY_FILES => SAMPLE,
        _ => SMALL_SAMPLE,
    };
    let samples: Vec<Sample> = files.iter().map(|f| Sample::of(f, None, size)).collect();
    let mut pairs = meeting(&samples);
    pairs.retain(|[i, j]| matches!((samples.get(*i), samples.get(*j)), (Some(a), Some(b)) if a.is_elsewhere_in(b)));
    if files.len() <= FEW_FILES {
        for (j, b) in samples.iter().enumerate() {
            for (i, (a, file)) in samples.iter().zip(&files).enumerate().take(j) {
                let missed = !a.whole && a.last < b.first && !pairs.contains(&[i, j]);
                let Some(first) = b.first.filter(|_| missed) else {
                    continue;
                };
                if Sample::of(file, Some(first + -SLACK_NS), size).is_elsewhere_in(b) {
                    pairs.push([i, j]);
                }
            }
        }
    }
    let met = |i: usize| pairs.iter().any(|pair| pair.contains(&i));
    let hosts = samples.iter().enumerate();
    let hosts = hosts.map(|(i, sample)| met(i).then_some(&sample.hosts));
    by_peers(
        divided(&files, &pairs),
        &files,
        &pairs,
        &hosts.collect::<Vec<_>>(),
    )
}

/// Pairs of hosts between which packets passed, by their hashes.
type Hosts = HashSet<u64, FixedState>;

/// Two captures, unless one of them is several: files of other hosts, each with a clock of its own. Those of one rotated
/// set have hosts in common. Of files that share no packet with others the `hosts` say nothing.
fn by_peers(ends: Ends, files: &[PathBuf], pairs: &[[usize; 2]], hosts: &[Option<&Hosts>]) -> Ends {
    let Ends::Two(sides) = &ends else {
        return ends;
    };
    let of = |side: &Vec<PathBuf>| {
        let has = |(file, _): &(&PathBuf, _)| side.contains(file);
        by_hosts(files.iter().zip(hosts.iter().copied()).filter(has))
    };
    let [a, b] = sides.each_ref().map(of);
    let [of_a, of_b] = sides.clone();
    match (a.len(), b.len()) {
        (1, 2..) => Ends::Peers { of: of_a, each: b },
        (2.., 1) => Ends::Peers { of: of_b, each: a },
        (2.., 2..) => match chain([a, b].concat(), files, pairs) {
            Some(chain) => Ends::Chain(chain),
            None => ends,
        },
        _ => ends,
    }
}

/// Captures in a row, if each has packets in common with the one before it and the one behind it, and with no other.
fn chain(
    captures: Vec<Vec<PathBuf>>,
    files: &[PathBuf],
    pairs: &[[usize; 2]],
) -> Option<Vec<Vec<PathBuf>>> {
    let holds = |file: usize| {
        let file = files.get(file)?;
        captures.iter().position(|c| c.contains(file))
    };
    let mut links: Vec<[usize; 2]> = Vec::new();
    for [i, j] in pairs {
        let (a, b) = (holds(*i)?, holds(*j)?);
        let link = [a.min(b), a.max(b)];
        if !links.contains(&link) {
            links.push(link);
        }
    }
    if links.len() + 1 != captures.len() {
        return None;
    }
    let neighbours = |of: usize| links.iter().filter(move |link| link.contains(&of));
    let mut at = (0..captures.len()).find(|i| neighbours(*i).count() == 1)?;
    let mut row = vec![at];
    while let Some([a, b]) = neighbours(at).find(|[a, b]| !(row.contains(a) && row.contains(b))) {
        at = if *a == at { *b } else { *a };
        row.push(at);
    }
    let is_all = row.len() == captures.len();
    is_all.then(|| row.into_iter().map(|i| captures[i].clone()).collect())
}

/// Files with hosts in common together. Those of whose hosts nothing is known go with files that are called alike, or with the
/// first.
fn by_hosts<'a>(side: impl Iterator<Item = (&'a PathBuf, Option<&'a Hosts>)>) -> Vec<Vec<PathBuf>> {
    let mut groups: Vec<(Hosts, Vec<PathBuf>)> = Vec::new();
    let mut unknown = Vec::new();
    for (file, hosts) in side {
        let Some(hosts) = hosts else {
            unknown.push(file);
            continue;
        };
        let mut hosts = hosts.clone();
        let mut together = Vec::new();
        groups.retain_mut(|(others, those)| {
            let apart = others.is_disjoint(&hosts);
            if !apart {
                hosts.extend(others.drain());
                together.append(those);
            }
            apart
        });
        together.push(file.clone());
        groups.push((hosts, together));
    }
    let mut groups: Vec<Vec<PathBuf>> = groups.into_iter().map(|(_, files)| files).collect();
    for file in unknown {
        let is_alike = |files: &Vec<PathBuf>| files.iter().any(|f| stem(f) == stem(file));
        let place = groups.iter().position(is_alike).unwrap_or(0);
        match groups.get_mut(place) {
            Some(files) => files.push(file.clone()),
            None => groups.push(vec![file.clone()]),
        }
    }
    groups
}

/// The pairs of samples that have a few packets in common, without a look at those that have none.
fn meeting(samples: &[Sample]) -> Vec<[usize; 2]> {
    let mut holders: HashMap<u64, Vec<usize>, FixedState> = HashMap::default();
    let mut common: BTreeMap<[usize; 2], u64> = BTreeMap::new();
    for (j, sample) in samples.iter().enumerate() {
        for packet in sample.packets.keys() {
            let holders = holders.entry(*packet).or_default();
            for i in holders.iter() {
                *common.entry([*i, j]).or_default() += 1;
            }
            // Datagrams that are alike for ever are in many files.
            if holders.len() < FEW_FILES {
                holders.push(j);
            }
        }
    }
    common.retain(|_, n| *n >= FEW);
    common.into_keys().collect()
}

/// Some of a file's packets with data, and those that open connections.
#[derive(Default)]
struct Sample {
    /// When each was seen first, and of which connection it is.
    packets: HashMap<u64, (Time, u64), FixedState>,
    hosts: Hosts,
    first: Option<Time>,
    last: Option<Time>,
    /// There are no others.
    whole: bool,
}

impl Sample {
    /// From a moment on, or from the beginning.
    fn of(file: &Path, from: Option<Time>, size: usize) -> Sample {
        let mut sample = Sample::default();
        // Whose captures files are does not hang on one failure of the system's: what is there is looked at again.
        for _ in 0..2 {
            sample = Sample::default();
            if sample.read(file, from, size) {
                break;
            }
        }
        sample
    }

    /// Whether the system could read it.
    fn read(&mut self, file: &Path, from: Option<Time>, size: usize) -> bool {
        let Ok(mut capture) = Capture::open(&[file.to_owned()]) else {
            return false;
        };
        let mut decoder = Decoder::new(capture.files());
        let (mut batch, mut segments) = (Batch::default(), Vec::new());
        let mut taken = 0;
        while taken < size {
            segments.clear();
            // What damage there is, is told by whoever reads on.
            if !matches!(capture.next_batch(&mut batch), Ok(true)) {
                self.whole = from.is_none();
                break;
            }
            decoder.decode(&mut batch, &mut segments);
            let within = |s: &&Segment| from.is_none_or(|t| s.mark.time >= t);
            for s in segments.iter().filter(within).take(size - taken) {
                taken += 1;
                self.add(s, &batch.bytes);
            }
        }
        !capture.problems().lacks_more_than(&Problems::default())
    }

    fn add(&mut self, s: &Segment, bytes: &[u8]) {
        let at = s.mark.time;
        self.first = self.first.or(Some(at));
        self.last = Some(at);
        let hash = FixedState::default();
        let [a, b] = [s.source.address, s.destination.address];
        self.hosts.insert(hash.hash_one((a.min(b), a.max(b))));
        let id = s.ip_id.filter(|id| *id != 0);
        let key = match s.transport {
            // Offload leaves other lengths, and a byte is what keeps a connection alive.
            Transport::Tcp if s.payload_length > 1 || s.tcp.flags.syn() => {
                let stamp = s.tcp.timestamps.map(|(value, _)| value);
                hash.hash_one((id, s.tcp.sequence, s.tcp.acknowledgement, stamp))
            }
            Transport::Tcp => return,
            Transport::Udp => {
                let start = s.payload_start as usize;
                let length = (s.payload_captured as usize).min(TOLD_APART);
                let payload = bytes.get(start..start.saturating_add(length));
                // What is announced again and again is told apart by nothing else.
                let (Some(id), Some(payload)) = (id, payload) else {
                    return;
                };
                hash.hash_one((id, s.payload_length, payload))
            }
        };
        self.packets.entry(key).or_insert((at, s.flow_hash));
    }

    /// Whether a good part of what passed on connections of which both have packets is in both, and not
    /// as copies.
    fn is_elsewhere_in(&self, other: &Sample) -> bool {
        let (mut same, mut near, mut copies) = (0u64, 0u64, 0u64);
        let (mut mine, mut theirs) = (HashSet::default(), HashSet::default());
        for (key, (at, connection)) in &self.packets {
            if let Some((there, same_connection)) = other.packets.get(key) {
                same += 1;
                let apart_ns = (*there - *at).abs();
                near += u64::from(apart_ns < NEAR_NS);
                copies += u64::from(apart_ns < diagnose::SAME_POINT_NS);
                mine.insert(*connection);
                theirs.insert(*same_connection);
            }
        }
        let least = self.packets_of(&mine).min(other.packets_of(&theirs));
        let many = (same >= MANY && same * 4 >= least) || (near >= FEW && near * 2 >= least);
        many && copies * 10 < same * 9
    }

    /// How many packets of the sample these connections have.
    fn packets_of(&self, connections: &HashSet<u64, FixedState>) -> u64 {
        let of = self.packets.values();
        of.filter(|(_, c)| connections.contains(c)).count() as u64
    }
}

/// A file's folder, and its name without what counts in it: the same for the files of a rotated set. In another folder
/// the same name says nothing.
fn stem(file: &Path) -> (Option<&Path>, String) {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let name = name.chars().filter(|c| !c.is_ascii_digit()).collect();
    (file.parent(), name)
}

/// Which files make which of two captures, as two with the same packets are not of the same; where that
/// leaves it open, names say it.
fn divided(files: &[PathBuf], pairs: &[[usize; 2]]) -> Ends {
    let Some([i, j]) = pairs.first() else {
        return Ends::One;
    };
    let tangled = || {
        let name = |i: &usize| files.get(*i).cloned().unwrap_or_default();
        Ends::Tangled([name(i), name(j)])
    };
    if files.len() > 2 && pairs.len() == files.len() * (files.len() - 1) / 2 {
        return Ends::Several(files.to_vec());
    }
    let mut sides: Vec<Option<bool>> = vec![None; files.len()];
    let mut next = Some((*i, false));
    while let Some((file, side)) = next {
        if let Some(slot) = sides.get_mut(file) {
            *slot = Some(side);
        }
        let side = |i: &usize| sides.get(*i).copied().flatten();
        let across = pairs.iter().find_map(|[a, b]| match (side(a), side(b)) {
            (Some(x), None) => Some((*b, !x)),
            (None, Some(x)) => Some((*a, !x)),
            _ => None,
        });
        let named = || {
            let open = sides.iter().enumerate().filter(|(_, s)| s.is_none());
            let mut open = open.filter_map(|(i, _)| Some((i, stem(files.get(i)?))));
            open.find_map(|(i, stem_of)| {
                let known = files.iter().zip(&sides);
                let mut alike = known.filter(|(f, s)| s.is_some() && stem(f) == stem_of);
                alike.next().and_then(|(_, s)| Some((i, (*s)?)))
            })
        };
        next = across.or_else(named);
    }
    let side = |i: &usize| sides.get(*i).copied().flatten();
    let fits = pairs.iter().all(|[a, b]| side(a) != side(b));
    if !fits || sides.contains(&None) {
        return tangled();
    }
    let of = |wanted: bool| {
        let all = files.iter().zip(&sides);
        all.filter(|(_, s)| **s == Some(wanted))
            .map(|(f, _)| f.clone())
            .collect()
    };
    Ends::Two([of(false), of(true)])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn divide(files: &[&str], pairs: &[[usize; 2]]) -> Ends {
        let files: Vec<PathBuf> = files.iter().map(PathBuf::from).collect();
        divided(&files, pairs)
    }

    #[test]
    fn files_with_the_same_packets_are_of_different_captures() {
        let of = |names: &[&str]| names.iter().map(PathBuf::from).collect::<Vec<_>>();
        assert_eq!(divide(&["a", "b"], &[]), Ends::One);
        assert_eq!(
            divide(&["a", "b"], &[[0, 1]]),
            Ends::Two([of(&["a"]), of(&["b"])])
        );
        // Rotated sets: the last of them overlaps nothing that was sampled.
        assert_eq!(
            divide(&["c0", "s0", "c1", "s1", "c2"], &[[0, 1], [1, 2], [2, 3]]),
            Ends::Two([of(&["c0", "c1", "c2"]), of(&["s0", "s1"])])
        );
    }

    /// Files by the numbers of what hosts stand in each, and which of them hold the same packets.
    fn peers(files: &[(&str, &[u64])], pairs: &[[usize; 2]]) -> Ends {
        let (names, hosts): (Vec<&str>, Vec<&[u64]>) = files.iter().copied().unzip();
        let paths: Vec<PathBuf> = names.iter().map(PathBuf::from).collect();
        let hosts: Vec<Hosts> = hosts.iter().map(|h| h.iter().copied().collect()).collect();
        let known = |h: &'_ Hosts| !h.is_empty();
        let hosts: Vec<Option<&Hosts>> = hosts.iter().map(|h| known(h).then_some(h)).collect();
        by_peers(divide(&names, pairs), &paths, pairs, &hosts)
    }

    #[test]
    fn files_of_other_hosts_are_not_one_capture() {
        let of = |names: &[&str]| names.iter().map(PathBuf::from).collect::<Vec<_>>();
        let clients = Ends::Peers {
            of: of(&["server"]),
            each: vec![of(&["app1"]), of(&["app2"])],
        };
        let all = [[0, 1], [1, 2]];
        assert_eq!(
            peers(&[("app1", &[1]), ("server", &[1, 2]), ("app2", &[2])], &all),
            clients
        );
        // Behind one address the server takes them for one.
        assert_eq!(
            peers(&[("app1", &[1]), ("server", &[9]), ("app2", &[2])], &all),
            clients
        );
        let rotated = Ends::Two([of(&["c0", "c1"]), of(&["server"])]);
        // One host, whatever else it speaks with.
        for hosts in [&[1, 2][..], &[2, 3]] {
            assert_eq!(
                peers(&[("c0", &[1, 3]), ("server", &[1, 2]), ("c1", hosts)], &all),
                rotated
            );
        }
        // What has no packet in common with the server's capture is told by its name.
        let files: [(&str, &[u64]); 4] =
            [("a1", &[1]), ("server", &[1]), ("b1", &[2]), ("b2", &[])];
        assert_eq!(
            peers(&files, &all),
            Ends::Peers {
                of: of(&["server"]),
                each: vec![of(&["a1"]), of(&["b1", "b2"])]
            }
        );
    }

    #[test]
    fn hosts_in_a_row_are_no_two_captures() {
        let row = ["client", "app", "database", "storage"];
        let files: [(&str, &[u64]); 4] = [
            ("database", &[2, 3]),
            ("client", &[1]),
            ("storage", &[3]),
            ("app", &[1, 2]),
        ];
        let Ends::Chain(mut found) = peers(&files, &[[0, 2], [0, 3], [1, 3]]) else {
            panic!("no chain");
        };
        if found[0] != [PathBuf::from("client")] {
            found.reverse();
        }
        let names: Vec<PathBuf> = found.concat();
        assert_eq!(names, row.map(PathBuf::from));
        // Two clients of two servers are no row.
        let all = [[0, 1], [0, 3], [1, 2], [2, 3]];
        let files: [(&str, &[u64]); 4] = [
            ("a", &[1, 2]),
            ("b", &[1, 3]),
            ("c", &[3, 4]),
            ("d", &[2, 4]),
        ];
        assert!(!matches!(peers(&files, &all), Ends::Chain(_)));
    }

    #[test]
    fn three_points_are_told_and_strangers_are_not_divided() {
        let several = ["a", "b", "c"].map(PathBuf::from).to_vec();
        assert_eq!(
            divide(&["a", "b", "c"], &[[0, 1], [1, 2], [0, 2]]),
            Ends::Several(several)
        );
        let tangled = Ends::Tangled([PathBuf::from("a"), PathBuf::from("b")]);
        assert_eq!(divide(&["a", "b", "other"], &[[0, 1]]), tangled);
        let elsewhere = divide(&["a1", "b1", "old/a2"], &[[0, 1]]);
        assert_eq!(
            elsewhere,
            Ends::Tangled([PathBuf::from("a1"), PathBuf::from("b1")])
        );
        let circle = [[0, 1], [1, 2], [0, 2]];
        assert_eq!(divide(&["a", "b", "c", "other"], &circle), tangled);
    }
}
