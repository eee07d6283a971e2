//! The command line of `slowside capture`: two ends, how long, how much.

use super::reading::secret;
use crate::moment;
use analysis::filter::LiveFilter;
use clap::Args;
use collect::{End, Side};
use std::net::IpAddr;
use std::path::PathBuf;

/// Capture at both ends at the same time, fetch, and say which side is slow
///
/// An end is [USER@]HOST as ssh knows it (its configuration, agents, jump hosts), `local`, docker:CONTAINER
/// or kubectl:[NAMESPACE/]POD[/CONTAINER]. Nothing is installed there: tcpdump (or snoop) must be there,
/// and the right to use it. Interface and addresses are found by the ways that both ends have to each
/// other. What is missing is said of both ends before anything begins.
///
/// On its host a capture is bounded in time and size, keeps 64 MB of the disk free, and ends by itself if
/// the connection dies. Files lie in a folder that only its owner may read, and are removed once they are
/// fetched; where nobody comes for them they remove themselves after an hour. Ctrl-C ends early, with
/// what there is.
///
/// The folder that it writes has both captures, counters of both hosts (ss, nstat, vmstat, iostat, mpstat,
/// ethtool, pressure, NFS; those that are there), the diagnosis, and manifest.json, which says what was
/// done and how to diagnose it again. It holds names and data of its hosts as they are; --anonymise adds what may be sent on.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  slowside capture --client app1 --server root@array:2049
  slowside capture --client local --server db1:5432 --for 2m -o monday
  slowside capture --client app1 --server array:2049 --dry-run
  slowside capture --client app1 --server array:2049 --also firewall
  slowside capture --client app1 --client app2 --server array:2049
  slowside capture --client app1 --server db1:5432 --beneath 2049
  slowside capture --client app1 --server array:2049 --anonymise -o monday
  slowside capture --client app1 --server array:2049 --when 'p99 > 20ms'
  slowside capture --client kubectl:prod/app-0/shot --server docker:pg:5432")]
pub(crate) struct Capture {
    /// The end that asks; may be given several times
    ///
    /// Each captures what it asks the server, which captures what all of its clients ask by that port. The answer then says
    /// of which of them most is held up, and by what the others are.
    #[arg(long, value_name = "[USER@]HOST", required = true)]
    pub(crate) client: Vec<End>,

    /// The end that answers, and its port
    ///
    /// Without a port it is the only one to which the client has connections there.
    #[arg(long, value_name = "[USER@]HOST[:PORT]")]
    pub(crate) server: End,

    /// A host between both, which what passes between them passes: a firewall, a router; may be given several times
    ///
    /// It captures on the interface of its way to the server. The answer then says how much of the path lies between which
    /// of them.
    #[arg(long, value_name = "[USER@]HOST")]
    pub(crate) also: Vec<End>,

    /// A port by which the server itself asks others, such as 2049 of a database on NFS; may be given several times
    ///
    /// The server captures what passes by it as well, on all its interfaces, where --server-interface names none (Linux has
    /// them in one). The answer then says how much of its time it waits for what lies beneath it.
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) beneath: Vec<u16>,

    /// How long; 30s, if nothing is said. With --when how long that is waited for at most, 24h
    #[arg(long = "for", value_name = "DURATION", value_parser = time)]
    pub(crate) duration: Option<u64>,

    /// Keep the last minutes at all ends until this becomes true, and fetch those; as --when of slowside live
    ///
    /// Such as 'op = READ and p99 > 20ms'; given again, any of them. What passes at one of the ends (--watch) is looked at as
    /// it passes: there, if it has this version of slowside, else here, and then all of it comes through ssh. What is fetched
    /// holds --before and --after of it at least, twice that at most; disk space is needed for two captures of that size.
    #[arg(long, value_name = "EXPR", value_parser = condition)]
    pub(crate) when: Vec<String>,

    /// At which end that is looked for: client (the first), server
    #[arg(long, value_name = "END", value_parser = watched, default_value = "client", requires = "when")]
    pub(crate) watch: Side,

    /// How much of what was before that is kept at least
    #[arg(long, value_name = "DURATION", value_parser = time, default_value = "30s", requires = "when")]
    pub(crate) before: u64,

    /// How long all ends go on behind that
    #[arg(long, value_name = "DURATION", value_parser = time, default_value = "10s", requires = "when")]
    pub(crate) after: u64,

    /// A new folder for what is fetched; slowside-capture- and the time, if none is named
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,

    /// Check both ends and show what would be done there, and do none of it
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Bytes of each packet; 0: all
    ///
    /// Without it 512 for NFS, whose headers these hold, and all of any other.
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u32).range(..=262_144))]
    pub(crate) snaplen: Option<u32>,

    /// The most that each end's capture may have; it ends there
    #[arg(long, value_name = "BYTES", value_parser = size, default_value = "1G")]
    pub(crate) max_size: u64,

    /// Where files lie on the hosts meanwhile; TMPDIR, /var/tmp or /tmp, if none is named
    #[arg(long, value_name = "DIR", value_parser = remote)]
    pub(crate) remote_dir: Option<String>,

    /// The program for ssh, and options for it: 'ssh -J bastion'
    #[arg(long, value_name = "COMMAND", default_value = "ssh")]
    pub(crate) ssh: String,

    /// Become root there by sudo, which may not ask for a password
    #[arg(long)]
    pub(crate) sudo: bool,

    /// The client's address as the server sees it; of several that of the first
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) client_address: Option<IpAddr>,

    /// The server's address as the client sees it
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) server_address: Option<IpAddr>,

    /// The client's interface, instead of that of its way to the server; of several in the order of --client
    #[arg(long, value_name = "NAME", value_parser = interface)]
    pub(crate) client_interface: Vec<String>,

    /// The server's interface, instead of that of its way to the client
    #[arg(long, value_name = "NAME", value_parser = interface)]
    pub(crate) server_interface: Option<String>,

    /// The interface of a host between both, instead of that of its way to the server; in the order of --also
    #[arg(long, value_name = "NAME", value_parser = interface, requires = "also")]
    pub(crate) also_interface: Vec<String>,

    /// Nothing on standard error but errors, and what is missing
    #[arg(short, long)]
    pub(crate) quiet: bool,

    /// What may be sent on, in a folder of its own within that: the same captures and the same answer with pseudonyms in
    /// place of addresses and names
    ///
    /// The folder is called anonymised. Of packets payload becomes zeros, but for what pairs the calls of ONC-RPC; counters of the hosts
    /// and the manifest, which name them, are not in it. KEY makes the same names the same again.
    #[arg(long, value_name = "KEY", num_args = 0..=1, require_equals = true, default_missing_value = "", value_parser = secret)]
    pub(crate) anonymise: Option<String>,
}

/// Whole seconds, from one to a day.
fn time(text: &str) -> Result<u64, String> {
    let ns = moment::positive(text)?.unsigned_abs();
    let seconds = ns.div_ceil(1_000_000_000);
    match (1..=86_400).contains(&seconds) {
        true => Ok(seconds),
        false => Err("from 1s to 24h, such as 30s".to_owned()),
    }
}

fn condition(text: &str) -> Result<String, String> {
    let read = LiveFilter::parse(text).map_err(|e| e.to_string());
    read.map(|_| text.to_owned())
}

fn watched(text: &str) -> Result<Side, String> {
    match text {
        "client" => Ok(Side::Client),
        "server" => Ok(Side::Server),
        _ => Err("client or server".to_owned()),
    }
}

/// From a megabyte to a terabyte; k, M and G are powers of 1024.
fn size(text: &str) -> Result<u64, String> {
    let wrong = || "bytes are a number, perhaps with M or G, from 1M to 1024G: 200M, 1G".to_owned();
    let ends = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(ends).ok_or_else(wrong)?;
    let shift = match unit {
        "" => 0,
        "k" | "K" => 10,
        "m" | "M" => 20,
        "g" | "G" => 30,
        _ => return Err(wrong()),
    };
    let number: u64 = number.parse().map_err(|_| wrong())?;
    let bytes = number.checked_mul(1 << shift).ok_or_else(wrong)?;
    match (1 << 20..=1 << 40).contains(&bytes) {
        true => Ok(bytes),
        false => Err(wrong()),
    }
}

fn remote(text: &str) -> Result<String, String> {
    match collect::is_path(text) && !text.contains(char::is_whitespace) {
        true => Ok(text.to_owned()),
        false => Err("a folder on the hosts begins with / and has no blanks".to_owned()),
    }
}

fn interface(text: &str) -> Result<String, String> {
    match collect::is_interface(text) {
        true => Ok(text.to_owned()),
        false => Err("an interface is called as the host calls it, such as eth0".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_sizes_and_folders_are_read_or_refused() {
        assert_eq!(
            (time("30s"), time("1500ms"), time("2m")),
            (Ok(30), Ok(2), Ok(120))
        );
        assert_eq!((size("1G"), size("1048576")), (Ok(1 << 30), Ok(1 << 20)));
        for text in ["0s", "30", "25h", ""] {
            assert!(time(text).is_err(), "{text}");
        }
        for text in ["", "1k", "1T", "2000G", "-1M", "99999999999999999999G"] {
            assert!(size(text).is_err(), "{text}");
        }
        for text in ["tmp", "/tmp/../etc", "/a b", "/a\nb"] {
            assert!(remote(text).is_err(), "{text}");
        }
        assert!(interface("-w").is_err() && interface("eth0; id").is_err());
        assert_eq!(interface("eth0.7@bond0").as_deref(), Ok("eth0.7@bond0"));
    }
}
