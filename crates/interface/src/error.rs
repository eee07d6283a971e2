//! Why an interface cannot be captured from, with the cure.

use crate::filter::Refused;
use std::io;

/// One line each.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(
        "may not capture on {name}: run as root, or allow it once with sudo setcap cap_net_raw,cap_net_admin+ep {program}"
    )]
    NotAllowed { name: String, program: String },
    #[error("there is no interface {name}; there are {}", list(.there))]
    NoSuchInterface { name: String, there: Vec<String> },
    #[error("{name} is down; ip link set {name} up")]
    Down { name: String },
    #[error("the filter: {0}")]
    Filter(#[from] Refused),
    #[error("cannot capture on this system; tcpdump -i {name} -w - | slowside COMMAND - does")]
    NotHere { name: String },
    #[error("-Z: there is no user {0} in /etc/passwd; give another, or a number, as id -u says it")]
    NoSuchUser(String),
    #[error(
        "-Z: cannot become {user}: {error}; run as root, or leave -Z out to go on without capabilities"
    )]
    CannotBecome { user: String, error: io::Error },
    #[error("cannot give up the right to capture: {doing}: {error}; -Z root keeps it")]
    Privileges {
        doing: &'static str,
        error: io::Error,
    },
    #[error("cannot capture on {name}: {doing}: {error}")]
    System {
        name: String,
        doing: &'static str,
        error: io::Error,
    },
}

fn list(names: &[String]) -> String {
    match names {
        [] => "none that can be seen".to_owned(),
        names => names.join(", "),
    }
}
