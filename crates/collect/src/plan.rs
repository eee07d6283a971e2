//! What was asked for and what was found on the hosts, into what is done there: the exact commands and their bounds, or all
//! that is missing, each with its cure. Nothing here touches a host.

mod missing;
mod note;
mod when;
mod who;

use crate::clock::Offset;
use crate::facts::{self, Facts, Path, System};
use crate::place::{End, Place};
use crate::quote;
use missing::missing;
pub use note::Note;
use std::fmt;
use std::net::IpAddr;
use std::sync::LazyLock;
pub use when::{Watches, When};
use who::is_translated;
pub(crate) use who::{client_address, port, server_address};

/// What a host's disk keeps free, whatever a capture has.
pub const RESERVE_BYTES: u64 = 64 << 20;

/// What is captured waits here for the disk: half a second of a full link of a gigabit, several of most.
const BUFFER_KB: u32 = 64 << 10;

/// Whole packets, as tcpdump counts them.
const WHOLE: u32 = 262_144;

/// Seconds for which a host goes on behind the time that was asked for, if nobody tells it to stop.
pub const GRACE_S: u64 = 10;

/// Seconds after which a host removes what nobody fetched.
pub const KEEP_S: u64 = 3_600;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Side {
    Client,
    Server,
    /// Another client of the same server; by number, in the order in which they were named.
    Further(u8),
    /// A host that what passes between both passes too, such as a firewall; by number, in the order in which they were named.
    Between(u8),
}

/// So many clients at most: of each the server's capture is read once.
pub const CLIENTS_MOST: usize = 250;

/// Further clients, as files are called.
static FURTHER: LazyLock<Vec<String>> =
    LazyLock::new(|| (2..=CLIENTS_MOST).map(|n| format!("client-{n}")).collect());

/// Hosts between both ends, as files are called.
const BETWEEN: [&str; 8] = [
    "between-1",
    "between-2",
    "between-3",
    "between-4",
    "between-5",
    "between-6",
    "between-7",
    "between-8",
];

/// So many of them at most.
pub const BETWEEN_MOST: usize = BETWEEN.len();

impl Side {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Side::Client => "client",
            Side::Server => "server",
            Side::Further(number) => FURTHER
                .get(usize::from(number))
                .map_or("client", String::as_str),
            Side::Between(number) => BETWEEN.get(usize::from(number)).unwrap_or(&"between"),
        }
    }

    /// The option that names its interface.
    pub(crate) fn interface_option(self) -> &'static str {
        match self {
            Side::Client | Side::Further(_) => "--client-interface",
            Side::Server => "--server-interface",
            Side::Between(_) => "--also-interface",
        }
    }
}

/// What somebody asks for.
#[derive(Clone, Debug)]
pub struct Asked {
    pub client: End,
    pub server: End,
    /// Other clients of it, one less than [`CLIENTS_MOST`] at most.
    pub further: Vec<Place>,
    /// Hosts between both, [`BETWEEN_MOST`] at most.
    pub between: Vec<Place>,
    /// Ports by which the server itself asks others: what lies beneath it.
    pub beneath: Vec<u16>,
    /// How long, or at most, until what is waited for happens.
    pub seconds: u64,
    pub when: Option<When>,
    /// The most that each end's capture may have.
    pub max_bytes: u64,
    pub snaplen: Option<u32>,
    /// Where files go on the hosts.
    pub folder: Option<String>,
    /// ssh and its options.
    pub ssh: Vec<String>,
    pub sudo: bool,
    /// As the other end has them, where they are not found by themselves.
    pub client_address: Option<IpAddr>,
    pub server_address: Option<IpAddr>,
    /// Of clients, as far as they are said.
    pub client_interfaces: Vec<String>,
    pub server_interface: Option<String>,
    /// Of hosts between both, as far as they are said.
    pub between_interfaces: Vec<String>,
}

impl Asked {
    /// The client, the server, other clients, and who is between them.
    pub(crate) fn sides(&self) -> impl Iterator<Item = Side> + use<> {
        let further = self.further.len().min(FURTHER.len()) as u8;
        let between = self.between.len().min(BETWEEN_MOST) as u8;
        let ends = [Side::Client, Side::Server].into_iter();
        ends.chain((0..further).map(Side::Further))
            .chain((0..between).map(Side::Between))
    }

    pub(crate) fn place(&self, side: Side) -> &Place {
        match side {
            Side::Client => &self.client.place,
            Side::Server => &self.server.place,
            Side::Further(number) => {
                let place = self.further.get(usize::from(number));
                place.unwrap_or(&self.client.place)
            }
            Side::Between(number) => {
                let place = self.between.get(usize::from(number));
                place.unwrap_or(&self.server.place)
            }
        }
    }

    pub(crate) fn interface(&self, side: Side) -> Option<&str> {
        let name = match side {
            Side::Client => self.client_interfaces.first(),
            Side::Server => self.server_interface.as_ref(),
            Side::Further(number) => self.client_interfaces.get(1 + usize::from(number)),
            Side::Between(number) => self.between_interfaces.get(usize::from(number)),
        };
        name.map(String::as_str)
    }
}

/// What was found on a host.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) side: Side,
    pub(crate) facts: Facts,
    pub(crate) path: Option<Path>,
    /// Its clock against ours.
    pub(crate) clock: Option<Offset>,
}

/// What is missing, and what helps.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    pub side: Side,
    pub place: String,
    pub what: String,
    pub cure: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} {}: {}; {}",
            self.side.name(),
            self.place,
            self.what,
            self.cure
        )
    }
}

/// What is captured with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tool {
    Tcpdump,
    Snoop,
}

impl Tool {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Tool::Tcpdump => "tcpdump",
            Tool::Snoop => "snoop",
        }
    }

    /// What a host has of them.
    pub(crate) fn of(facts: &Facts) -> Option<Tool> {
        let all = match facts.system {
            System::SunOs => [Tool::Snoop, Tool::Tcpdump],
            _ => [Tool::Tcpdump, Tool::Snoop],
        };
        all.into_iter().find(|t| facts.has(t.name()))
    }
}

/// What is done at an end.
#[derive(Clone, Debug)]
pub struct EndPlan {
    pub side: Side,
    pub place: Place,
    pub system: String,
    pub host: String,
    pub address: Option<IpAddr>,
    pub interface: String,
    /// The interface of its way to the other end, whose counters are sampled.
    pub device: String,
    pub tool: Tool,
    pub filter: String,
    /// The program and its words.
    pub capture: Vec<String>,
    /// Where its own folder is made.
    pub folder: String,
    pub free_bytes: Option<u64>,
    pub snaplen: u32,
    /// Whether `timeout` bounds the program too.
    pub has_timeout: bool,
    /// Counters that are sampled.
    pub samples: Vec<&'static str>,
    /// What files go through on their way: a program, and how their names end.
    pub through: (&'static str, &'static str),
    pub clock: Option<Offset>,
    pub is_root: bool,
    pub watches: Watches,
}

/// What is done.
#[derive(Clone, Debug)]
pub struct Plan {
    pub port: u16,
    pub seconds: u64,
    pub when: Option<When>,
    pub max_bytes: u64,
    pub ends: Vec<EndPlan>,
    pub notes: Vec<Note>,
}

/// Clocks that differ by less are told nobody.
const CLOCKS_AGREE_NS: i64 = 100_000_000;

/// Bytes of each packet: of NFS what its headers have, of statements all.
pub(crate) fn snaplen(asked: &Asked, port: u16) -> u32 {
    match (asked.snaplen, port) {
        (Some(0), _) => WHOLE,
        (Some(given), _) => given,
        // NFS, portmapper, mountd.
        (None, 111 | 2_049 | 20_048) => 512,
        (None, _) => WHOLE,
    }
}

pub(crate) fn filter(peer: IpAddr, port: u16) -> String {
    match port {
        0 => format!("host {peer}"),
        port => format!("host {peer} and port {port}"),
    }
}

/// What asks for a [`Path`] to `peer`.
pub(crate) fn path_script(
    asked: &Asked,
    side: Side,
    facts: &Facts,
    peer: IpAddr,
    port: u16,
) -> String {
    let tool = Tool::of(facts).map_or("", Tool::name);
    let body = format!("{}{}", facts::COMMON, include_str!("scripts/path.sh"));
    quote::script(
        &[
            ("peer", &peer.to_string()),
            ("interface", asked.interface(side).unwrap_or_default()),
            ("port", &port.to_string()),
            ("tool", tool),
            ("snaplen", &snaplen(asked, port).to_string()),
            ("buffer_kb", &BUFFER_KB.to_string()),
            ("filter", &filter(peer, port)),
        ],
        &body,
    )
}

/// Who is who, as far as it was found.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Addresses {
    pub(crate) client: Option<IpAddr>,
    pub(crate) server: Option<IpAddr>,
    pub(crate) port: Option<u16>,
}

/// What is done, or all that is in its way.
pub(crate) fn plan(
    asked: &Asked,
    mut ends: Vec<Found>,
    addresses: Addresses,
    mut notes: Vec<Note>,
) -> Result<Plan, Vec<Problem>> {
    let port = addresses.port.unwrap_or(0);
    let translated = addresses
        .client
        .filter(|&client| asked.client_address.is_none() && is_translated(&ends, client, port));
    if let Some(client) = translated {
        notes.push(Note::Translated { client, port });
        let server = ends.iter_mut().find(|e| e.side == Side::Server);
        for path in server.into_iter().filter_map(|s| s.path.as_mut()) {
            // Its way to an address that it never meets says nothing.
            path.no_route = None;
            path.interface = asked
                .server_interface
                .clone()
                .or_else(|| Some("any".to_owned()));
        }
    }
    let mut problems: Vec<Problem> = ends.iter().flat_map(|end| missing(asked, end)).collect();
    let mut plans = Vec::new();
    let is_virtual = ends.iter().any(|end| is_virtual(end, addresses));
    for end in &ends {
        // Between both, either may have another address.
        let by_port = match end.side {
            Side::Client | Side::Further(_) => false,
            Side::Server => translated.is_some() || !asked.further.is_empty(),
            Side::Between(_) => translated.is_some() || is_virtual,
        };
        match end_plan(asked, end, addresses, port, by_port, &mut notes) {
            Some(plan) => plans.push(plan),
            // A reason is among those found above, or this one.
            None if problems.is_empty() => problems.push(of(
                asked,
                end.side,
                "no address of the other end is known",
                ADDRESSES,
            )),
            None => {}
        }
    }
    if let [client, server, ..] = ends.as_slice()
        && let Some((client, server)) = client.clock.zip(server.clock)
    {
        let offset = server.against(client);
        if offset.ns.abs() > offset.error_ns.saturating_add(CLOCKS_AGREE_NS) {
            notes.push(Note::ClocksDiffer(offset));
        }
    }
    match problems.is_empty() {
        true => Ok(Plan {
            port,
            seconds: asked.seconds,
            when: asked.when.clone(),
            max_bytes: asked.max_bytes,
            ends: plans,
            notes,
        }),
        false => Err(problems),
    }
}

const ADDRESSES: &str = "say them with --client-address and --server-address";

pub(crate) fn of(asked: &Asked, side: Side, what: &str, cure: &str) -> Problem {
    Problem {
        side,
        place: asked.place(side).to_string(),
        what: what.to_owned(),
        cure: cure.to_owned(),
    }
}

/// What is sampled where the tool is there.
const SAMPLES: [&str; 7] = [
    "ss", "nstat", "netstat", "vmstat", "iostat", "mpstat", "ethtool",
];

/// Whether the server does not have the address to which the client sends.
fn is_virtual(end: &Found, addresses: Addresses) -> bool {
    let own = &end.facts.addresses;
    let is_another = |a: IpAddr| !a.is_loopback() && !own.is_empty() && !own.contains(&a);
    end.side == Side::Server && addresses.server.is_some_and(is_another)
}

fn end_plan(
    asked: &Asked,
    end: &Found,
    addresses: Addresses,
    port: u16,
    by_port: bool,
    notes: &mut Vec<Note>,
) -> Option<EndPlan> {
    let path = end.path.as_ref()?;
    let (own, peer) = match end.side {
        Side::Client => (Some(addresses.client?), addresses.server?),
        Side::Server => (Some(addresses.server?), addresses.client?),
        Side::Further(_) | Side::Between(_) => (None, addresses.server?),
    };
    let mut filter = match by_port {
        true if port > 0 => format!("port {port}"),
        _ => filter(peer, port),
    };
    let has_beneath = end.side == Side::Server && !asked.beneath.is_empty();
    if has_beneath {
        let beneath = asked.beneath.iter().map(|port| format!(" or port {port}"));
        filter = format!("( {filter} ){}", beneath.collect::<String>());
    }
    if is_virtual(end, addresses)
        && let Some(server) = own
    {
        notes.push(Note::Virtual { server });
    }
    let snaplen = snaplen(asked, port);
    if snaplen < WHOLE && !path.offload.is_empty() {
        notes.push(Note::Offload {
            side: end.side,
            snaplen,
        });
    }
    let device = path.interface.clone()?;
    let mut interface = device.clone();
    let tool = Tool::of(&end.facts)?;
    if has_beneath && asked.server_interface.is_none() {
        // Its way to what it asks may leave by another one.
        match (end.facts.system, tool) {
            (System::Linux, Tool::Tcpdump) => "any".clone_into(&mut interface),
            _ => notes.push(Note::OneInterface {
                interface: interface.clone(),
            }),
        }
    }
    let has = |tool: &&str| end.facts.has(tool);
    let samples = SAMPLES.into_iter().filter(has);
    Some(EndPlan {
        side: end.side,
        place: asked.place(end.side).clone(),
        system: end.facts.shown.clone(),
        host: end.facts.host.clone(),
        address: own,
        capture: capture(tool, &interface, snaplen, path.nanoseconds, &filter),
        interface,
        device,
        tool,
        filter,
        folder: end.facts.folder.clone()?,
        free_bytes: end.facts.free_bytes,
        snaplen,
        has_timeout: end.facts.has("timeout"),
        samples: samples
            .filter(|s| *s != "netstat" || !end.facts.has("nstat"))
            .collect(),
        through: through(&end.facts),
        clock: end.clock,
        is_root: path.is_root,
        watches: Watches::of(&end.facts),
    })
}

fn capture(
    tool: Tool,
    interface: &str,
    snaplen: u32,
    nanoseconds: bool,
    filter: &str,
) -> Vec<String> {
    let words: Vec<String> = match tool {
        Tool::Tcpdump => {
            let (snaplen, buffer) = (snaplen.to_string(), BUFFER_KB.to_string());
            let mut words = vec![
                "tcpdump", "-p", "-n", "-i", interface, "-s", &snaplen, "-B", &buffer,
            ];
            if nanoseconds {
                words.push("--time-stamp-precision=nano");
            }
            // Its file is open before it gives up its rights.
            words.extend(["-w", "-", filter]);
            words.into_iter().map(str::to_owned).collect()
        }
        Tool::Snoop => {
            let mut words = vec!["snoop".to_owned()];
            words.extend(["-q", "-r", "-P", "-d", interface].map(str::to_owned));
            if snaplen < WHOLE {
                words.extend(["-s".to_owned(), snaplen.to_string()]);
            }
            words.extend(["-o", "capture.pcap"].map(str::to_owned));
            words.extend(filter.split(' ').map(str::to_owned));
            words
        }
    };
    words
}

fn through(facts: &Facts) -> (&'static str, &'static str) {
    match (facts.has("zstd"), facts.has("gzip"), facts.has("nice")) {
        (true, _, true) => ("nice -n 19 zstd -q -c", ".zst"),
        (true, _, false) => ("zstd -q -c", ".zst"),
        (false, true, true) => ("nice -n 19 gzip -1 -c", ".gz"),
        (false, true, false) => ("gzip -1 -c", ".gz"),
        (false, false, _) => ("cat", ""),
    }
}

impl EndPlan {
    /// What the host runs by itself, in a folder of its own there: `run.sh`, and what that needs.
    pub(crate) fn runners(&self, plan: &Plan, folder: &str) -> Vec<(&'static str, String)> {
        let common = concat!(
            include_str!("scripts/common.sh"),
            include_str!("scripts/bounds.sh")
        );
        let output = match self.tool {
            Tool::Tcpdump => "capture.pcap",
            Tool::Snoop => "/dev/null",
        };
        let over = plan.seconds + GRACE_S;
        let ring_s = plan.when.as_ref().map(When::ring_s);
        // Of a ring, the older of two lasts twice as long as is kept.
        let seconds = ring_s.map_or(over, |ring| 2 * ring + GRACE_S).to_string();
        let one = [
            ("folder", folder),
            ("seconds", &seconds),
            ("max_kb", &(plan.max_bytes / 1_024).to_string()),
            ("reserve_kb", &(RESERVE_BYTES / 1_024).to_string()),
            ("keep_s", &KEEP_S.to_string()),
            ("capture", &quote::line(&self.capture)),
            ("output", output),
            ("port", &plan.port.to_string()),
            ("interface", &self.device),
        ];
        let runner = include_str!("scripts/runner.sh");
        let Some(ring_s) = ring_s else {
            return vec![("run.sh", quote::script(&one, &format!("{common}{runner}")))];
        };
        let ring = [
            ("folder", folder),
            ("seconds", &over.to_string()),
            ("ring_s", &ring_s.to_string()),
            ("max_kb", &(plan.max_bytes / 1_024).to_string()),
            ("keep_s", &KEEP_S.to_string()),
        ];
        let one = quote::script(&one, &format!("folder=$1\n{common}{runner}"));
        let ring = quote::script(
            &ring,
            &format!("{common}{}", include_str!("scripts/ring.sh")),
        );
        vec![("one.sh", one), ("run.sh", ring)]
    }
}

#[cfg(test)]
mod tests;
