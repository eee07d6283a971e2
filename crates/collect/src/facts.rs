//! What a host says of itself, lines of a name and a value, into typed facts. Hosts may say anything: what is not understood
//! is left out, and what goes on into a script is of a kind that cannot be more than it is.

use crate::quote;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};

pub(crate) const COMMON: &str = include_str!("scripts/common.sh");

/// Addresses and connections of a host that are remembered.
const MOST: usize = 1_000;

/// Letters of a name or a message.
const LETTERS: usize = 300;

/// The operating system, as far as it matters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum System {
    Linux,
    /// Solaris and illumos.
    SunOs,
    Aix,
    Other,
}

/// What a host is and has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Facts {
    pub(crate) system: System,
    /// As `uname` says it: `Linux 6.1.0 x86_64`.
    pub(crate) shown: String,
    pub(crate) host: String,
    pub(crate) user: String,
    pub(crate) tools: BTreeSet<String>,
    /// Its version, where slowside itself is there.
    pub(crate) slowside: Option<String>,
    pub(crate) addresses: Vec<IpAddr>,
    /// Its own address, as ssh came to it.
    pub(crate) ssh: Option<IpAddr>,
    /// What names of others mean there.
    pub(crate) resolved: BTreeMap<String, IpAddr>,
    /// Where files may go.
    pub(crate) folder: Option<String>,
    pub(crate) free_bytes: Option<u64>,
    pub(crate) file_system: String,
}

/// How a host reaches its peer, and what it may do there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Path {
    pub(crate) interface: Option<String>,
    pub(crate) source: Option<IpAddr>,
    /// Why there is no way.
    pub(crate) no_route: Option<String>,
    pub(crate) is_root: bool,
    /// Connections that are open: this end, the other.
    pub(crate) connections: Vec<(SocketAddr, SocketAddr)>,
    pub(crate) offload: Vec<String>,
    pub(crate) nanoseconds: bool,
    /// Why it may not capture.
    pub(crate) refused: Option<String>,
}

/// Lines of a name and a value; a line without a value has an empty one.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.lines().map(|line| {
        let (name, value) = line.split_once(' ').unwrap_or((line, ""));
        (name, value.trim())
    })
}

/// What is shown of what a host says.
pub(crate) fn shown(text: &str) -> String {
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    text.chars().take(LETTERS).map(plain).collect()
}

/// What asks for [`Facts`].
pub(crate) fn facts_script(names: &[&str], folder: Option<&str>) -> String {
    let names = names.join(" ");
    let body = format!("{COMMON}{}", include_str!("scripts/facts.sh"));
    quote::script(
        &[("names", &names), ("dir", folder.unwrap_or_default())],
        &body,
    )
}

impl Facts {
    pub(crate) fn read(text: &str) -> Facts {
        let mut said: BTreeMap<&str, String> = BTreeMap::new();
        let mut facts = Facts {
            system: System::Other,
            shown: String::new(),
            host: String::new(),
            user: String::new(),
            tools: BTreeSet::new(),
            slowside: None,
            addresses: Vec::new(),
            ssh: None,
            resolved: BTreeMap::new(),
            folder: None,
            free_bytes: None,
            file_system: String::new(),
        };
        for (name, value) in lines(text).take(10 * MOST) {
            match name {
                "tool" => {
                    facts.tools.insert(shown(value));
                }
                "slowside" => facts.slowside = Some(shown(value)),
                "address" if facts.addresses.len() < MOST => {
                    facts.addresses.extend(value.parse::<IpAddr>())
                }
                // client's address and port, server's address and port
                "ssh" => facts.ssh = value.split(' ').nth(2).and_then(|a| a.parse().ok()),
                "resolved" => {
                    if let Some((name, Ok(address))) =
                        value.split_once(' ').map(|(n, a)| (n, a.parse()))
                    {
                        facts.resolved.insert(shown(name), address);
                    }
                }
                "folder" => facts.folder = Some(value.to_owned()).filter(|f| is_path(f)),
                "free_kb" => {
                    facts.free_bytes = value.parse().ok().and_then(|kb: u64| kb.checked_mul(1_024))
                }
                "file_system" => facts.file_system = shown(value),
                "system" | "release" | "machine" | "host" | "user" => {
                    said.insert(name, shown(value));
                }
                _ => {}
            }
        }
        let mut take = |name| said.remove(name).unwrap_or_default();
        let system = take("system");
        facts.system = match system.as_str() {
            "Linux" => System::Linux,
            "SunOS" => System::SunOs,
            "AIX" => System::Aix,
            _ => System::Other,
        };
        facts.shown = format!("{system} {} {}", take("release"), take("machine"));
        facts.host = take("host");
        facts.user = take("user");
        facts
    }

    #[must_use]
    pub(crate) fn has(&self, tool: &str) -> bool {
        self.tools.contains(tool)
    }

    /// Addresses by which others may reach it, those of its interfaces.
    pub(crate) fn own(&self) -> impl Iterator<Item = IpAddr> {
        self.addresses
            .iter()
            .copied()
            .filter(|a| !a.is_loopback() && !is_link_local(*a))
    }
}

fn is_link_local(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(a) => a.is_link_local(),
        IpAddr::V6(a) => (a.segments().first().copied().unwrap_or(0) & 0xffc0) == 0xfe80,
    }
}

/// A path of which nothing else can be meant, also where it is removed.
#[must_use]
pub fn is_path(path: &str) -> bool {
    path.starts_with('/')
        && path.len() < 1_000
        && !path.contains("/..")
        && !path.chars().any(char::is_control)
}

impl Path {
    pub(crate) fn read(text: &str) -> Path {
        let mut path = Path {
            interface: None,
            source: None,
            no_route: None,
            is_root: false,
            connections: Vec::new(),
            offload: Vec::new(),
            nanoseconds: false,
            refused: None,
        };
        for (name, value) in lines(text).take(10 * MOST) {
            match name {
                "uid" => path.is_root = value == "0",
                "interface" => path.interface = Some(value.to_owned()).filter(|i| is_interface(i)),
                "source" => path.source = value.parse().ok(),
                "no_route" => path.no_route = Some(shown(value)),
                "connection" if path.connections.len() < MOST => {
                    let ends = value
                        .split_once(' ')
                        .and_then(|(a, b)| socket(a).zip(socket(b)));
                    path.connections.extend(ends);
                }
                "offload" if path.offload.len() < 8 => path.offload.push(shown(value)),
                "precision" => path.nanoseconds = value == "nano",
                "refused" => path.refused = Some(shown(value)),
                _ => {}
            }
        }
        path
    }
}

/// What `ss` says of an end: `10.0.0.1:2049`, `[::1]:2049`, `[fe80::1]%eth0:2049`, `[::ffff:10.0.0.1]:2049`.
fn socket(text: &str) -> Option<SocketAddr> {
    let (host, port) = text.rsplit_once(':')?;
    let host = host.trim_start_matches('[');
    let host = host.split([']', '%']).next()?;
    let address: IpAddr = host.parse().ok()?;
    Some(SocketAddr::new(address.to_canonical(), port.parse().ok()?))
}

/// Whether an interface may be called so.
#[must_use]
pub fn is_interface(name: &str) -> bool {
    let fine = |c: char| c.is_ascii_alphanumeric() || "._-:@".contains(c);
    !name.is_empty() && name.len() < 64 && !name.starts_with('-') && name.chars().all(fine)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_host_says_is_read() {
        let facts = Facts::read(
            "system Linux\nrelease 6.1.0\nmachine x86_64\nhost db1\nuser root\ntool tcpdump\ntool ss\naddress 127.0.0.1\n\
             address 10.0.0.5\naddress fe80::1\nssh 10.0.0.9 50000 10.0.0.5 22\nresolved db2 10.0.0.6\nresolved db3 \n\
             folder /var/tmp\nfree_kb 2048\nfile_system ext2/ext3\nnonsense\n",
        );
        assert_eq!(facts.system, System::Linux);
        assert_eq!(facts.shown, "Linux 6.1.0 x86_64");
        assert!(facts.has("tcpdump") && !facts.has("snoop"));
        assert_eq!(
            facts.own().map(|a| a.to_string()).collect::<Vec<_>>(),
            ["10.0.0.5"]
        );
        assert_eq!(facts.ssh, "10.0.0.5".parse().ok());
        assert_eq!(facts.resolved.len(), 1);
        assert_eq!(
            (facts.folder.as_deref(), facts.free_bytes),
            (Some("/var/tmp"), Some(2 << 20))
        );
    }

    #[test]
    fn what_a_host_makes_up_goes_nowhere() {
        let facts = Facts::read(
            "folder ../etc\nfree_kb 99999999999999999999\nhost a\u{1b}[2J\naddress x\n",
        );
        assert_eq!((facts.folder, facts.free_bytes), (None, None));
        assert_eq!(facts.host, "a [2J");
        for text in [
            "interface -w/etc/passwd",
            "interface a b",
            "interface $(id)",
            "source x",
            "connection a b",
        ] {
            let path = Path::read(text);
            assert_eq!(
                (path.interface, path.source, path.connections.len()),
                (None, None, 0),
                "{text}"
            );
        }
    }

    #[test]
    fn ways_rights_and_connections_are_read() {
        let path = Path::read(
            "uid 0\ninterface eth0\nsource 10.0.0.1\nconnection 10.0.0.1:700 10.0.0.5:2049\n\
             connection [::ffff:10.0.0.1]:701 [::ffff:10.0.0.5]:2049\noffload generic-receive-offload\nprecision nano\n",
        );
        assert!(path.is_root && path.nanoseconds && path.refused.is_none());
        assert_eq!(
            path.connections[1].1,
            "10.0.0.5:2049".parse().expect("an address")
        );
        assert_eq!(socket("[fe80::1]%eth0:22").map(|s| s.port()), Some(22));
    }
}
