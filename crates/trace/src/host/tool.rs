//! A command, or the first line of what a tool wrote, into the tool.

use super::{stamp, tcpdump};

/// Whose output it is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Tool {
    Ss,
    Pressure,
    Vmstat,
    /// `sar` and `mpstat`, whose tables are of one form.
    Sar,
    Iostat,
    Sadf,
    /// `nstat` and `netstat -s`.
    Nstat,
    Netstat,
    Ethtool,
    Mountstats,
    Nfsiostat,
    Nfsd,
    Tcpretrans,
    Tcplife,
    Tcpconnlat,
    /// `tcpdump`, `dumpcap` and `tshark`, when they end.
    Tcpdump,
}

impl Tool {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Tool::Ss => "ss",
            Tool::Pressure => "/proc/pressure",
            Tool::Vmstat => "vmstat",
            Tool::Sar => "sar",
            Tool::Iostat => "iostat",
            Tool::Sadf => "sadf",
            Tool::Nstat => "nstat",
            Tool::Netstat => "netstat",
            Tool::Ethtool => "ethtool",
            Tool::Mountstats => "mountstats",
            Tool::Nfsiostat => "nfsiostat",
            Tool::Nfsd => "nfsd",
            Tool::Tcpretrans => "tcpretrans",
            Tool::Tcplife => "tcplife",
            Tool::Tcpconnlat => "tcpconnlat",
            Tool::Tcpdump => "tcpdump",
        }
    }

    /// By what was run: its name may have a path, `cat` a file.
    pub(super) fn of_command(command: &str) -> Option<Tool> {
        let mut words = command.split_whitespace();
        let program = words.next()?.rsplit('/').next()?;
        let named = |word: &str| command.split_whitespace().any(|w| w.contains(word));
        Some(
            match program.trim_end_matches(".py").trim_end_matches("-bpfcc") {
                "ss" => Tool::Ss,
                "vmstat" => Tool::Vmstat,
                "sar" | "mpstat" => Tool::Sar,
                "iostat" => Tool::Iostat,
                "sadf" => Tool::Sadf,
                "nstat" => Tool::Nstat,
                "netstat" => Tool::Netstat,
                "ethtool" => Tool::Ethtool,
                "nfsiostat" => Tool::Nfsiostat,
                "tcpretrans" => Tool::Tcpretrans,
                "tcplife" => Tool::Tcplife,
                "tcpconnlat" => Tool::Tcpconnlat,
                "tcpdump" | "dumpcap" | "tshark" => Tool::Tcpdump,
                "cat" | "grep" | "head" | "tail" if named("/proc/pressure") => Tool::Pressure,
                "cat" | "grep" | "head" | "tail" if named("mountstats") => Tool::Mountstats,
                "cat" | "grep" | "head" | "tail" if named("/rpc/nfsd") || named("pool_stats") => {
                    Tool::Nfsd
                }
                _ => return None,
            },
        )
    }

    /// By a line that only stands where its output begins, or where a part of it does.
    pub(super) fn of(line: &str) -> Option<Tool> {
        let text = line.trim();
        let has = |word: &str| text.split_whitespace().any(|w| w == word);
        let begins = |with: &str| text.starts_with(with);
        Some(
            if begins("State ") && has("Recv-Q") || begins("Netid ") && has("Recv-Q") {
                Tool::Ss
            } else if begins("some avg10=") || begins("/proc/pressure/") {
                Tool::Pressure
            } else if begins("procs ---") || begins("r ") && has("swpd") {
                Tool::Vmstat
            } else if begins("avg-cpu:")
                || stamp::is_alone(text)
                || begins("Device") && has("%util")
            {
                Tool::Iostat
            } else if begins("{\"sysstat\"") {
                Tool::Sadf
            } else if begins("#kernel") || begins("#") && text.contains(" sampling_interval=") {
                Tool::Nstat
            } else if text == "Ip:" || text == "Tcp:" {
                Tool::Netstat
            } else if begins("NIC statistics:") {
                Tool::Ethtool
            } else if crate::mountstats::is_header(text) {
                Tool::Mountstats
            } else if crate::nfsiostat::is_header(text) {
                Tool::Nfsiostat
            } else if begins("rc ") && text.split_whitespace().count() >= 4
                || begins("# pool packets-arrived")
            {
                Tool::Nfsd
            } else if has("LADDR:LPORT") && has("RADDR:RPORT") {
                Tool::Tcpretrans
            } else if has("LADDR") && has("RADDR") && has("TX_KB") {
                Tool::Tcplife
            } else if has("SADDR") && has("DADDR") && has("LAT(ms)") {
                Tool::Tcpconnlat
            } else if tcpdump::is_said(text) {
                Tool::Tcpdump
            } else if stamp::clock(text).is_some_and(|(_, rest)| super::table::is_heading(rest)) {
                Tool::Sar
            } else {
                return None;
            },
        )
    }
}
