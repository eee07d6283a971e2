//! What is waited for while captures go round, into what looks for it: a shell's line on the host where it is looked for.

use super::{EndPlan, GRACE_S, Plan, Side};
use crate::facts::Facts;
use crate::quote;
use std::path::PathBuf;

/// What is waited for, while captures go round.
#[derive(Clone, Debug)]
pub struct When {
    /// Where it is looked for.
    pub side: Side,
    /// The words of `live` that say what, and that it says so in JSON.
    pub words: Vec<String>,
    /// Ourselves.
    pub program: PathBuf,
    /// How much before it is kept, and how much more behind.
    pub before_s: u64,
    pub after_s: u64,
}

impl When {
    /// Seconds that are there at any time: when all is over, what was before it is as well.
    pub(super) fn ring_s(&self) -> u64 {
        self.before_s + self.after_s
    }
}

/// Where what is waited for is looked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Watches {
    /// On the host, which has this version of us.
    There,
    /// By us, whom packets are sent as they pass.
    Here,
}

impl Watches {
    pub(super) fn of(facts: &Facts) -> Watches {
        match facts.slowside.as_deref() == Some(env!("CARGO_PKG_VERSION")) {
            true => Watches::There,
            false => Watches::Here,
        }
    }
}

impl EndPlan {
    /// What a shell there runs while somebody waits: packets as they pass to standard output, or, where it has this version
    /// of us, what our own `live` says of them. It ends with its standard input.
    pub(crate) fn watcher(&self, plan: &Plan, when: &When) -> String {
        let (snaplen, seconds) = (self.snaplen.to_string(), plan.seconds + GRACE_S);
        let interface = self.interface.as_str();
        let mut words: Vec<&str> = match self.watches {
            Watches::There => vec![
                "slowside",
                "live",
                "-i",
                interface,
                "--filter",
                &self.filter,
            ],
            Watches::Here => vec![
                "tcpdump",
                "-U",
                "-p",
                "-n",
                "-i",
                interface,
                "-s",
                &snaplen,
                "-w",
                "-",
                &self.filter,
            ],
        };
        if self.watches == Watches::There {
            words.extend(when.words.iter().map(String::as_str));
        }
        let bounded = match self.has_timeout {
            true => format!("timeout {seconds} "),
            false => String::new(),
        };
        format!(
            "PATH=$PATH:/usr/sbin:/sbin:/usr/local/sbin; {bounded}{} </dev/null & p=$!; exec >/dev/null; cat; kill $p",
            quote::line(words)
        )
    }
}
