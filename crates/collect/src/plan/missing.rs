//! What was found on a host, into all that is in the way of a capture there, each with its cure.

use super::{ADDRESSES, Asked, Found, Problem, RESERVE_BYTES, Tool, Watches, of};
use crate::facts::System;
use crate::place::Place;

/// All that an end lacks.
pub(super) fn missing(asked: &Asked, end: &Found) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut add = |what: &str, cure: &str| problems.push(of(asked, end.side, what, cure));
    let facts = &end.facts;
    for tool in ["awk", "df", "mktemp"] {
        if !facts.has(tool) {
            add(
                &format!("{tool} is not there"),
                "install it, or name another host",
            );
        }
    }
    let tool = Tool::of(facts);
    if tool.is_none() {
        add(
            "neither tcpdump nor snoop is there",
            install(asked.place(end.side), facts.system),
        );
    }
    let is_watched = asked.when.as_ref().is_some_and(|w| w.side == end.side);
    if is_watched && tool == Some(Tool::Snoop) && Watches::of(facts) == Watches::Here {
        add(
            "what snoop captures cannot be watched as it passes",
            "install this version of slowside there, or let the other end be watched (--watch)",
        );
    }
    match &end.path {
        None => {}
        Some(path) => {
            if let Some(why) = &path.no_route {
                add(
                    &format!("it knows no way to the other end ({why})"),
                    ADDRESSES,
                );
            } else if path.interface.is_none() && tool.is_some() {
                let cure = format!("name it with {}", end.side.interface_option());
                add("the interface was not found", &cure);
            }
            let no_rights = match (tool, &path.refused) {
                (Some(Tool::Tcpdump), Some(why)) => Some(why.clone()),
                (Some(Tool::Snoop), _) if !path.is_root => Some("snoop needs root".to_owned()),
                _ => None,
            };
            if let Some(why) = no_rights {
                let cure = match asked.sudo || path.is_root {
                    true => "check its name and the rights there",
                    false => "log in as root, or give --sudo where sudo asks for no password",
                };
                add(
                    &format!(
                        "{} may not capture as {} ({})",
                        tool.map_or("", Tool::name),
                        facts.user,
                        why
                    ),
                    cure,
                );
            }
        }
    }
    if facts.folder.is_none() {
        add(
            "there is no folder that may be written to",
            "name one with --remote-dir",
        );
    } else if ["nfs", "cifs", "smb2"]
        .iter()
        .any(|remote| facts.file_system.starts_with(remote))
    {
        add(
            &format!(
                "{} lies on {}, whose traffic the capture would add to",
                facts.folder.as_deref().unwrap_or_default(),
                facts.file_system
            ),
            "name a folder on a local disk with --remote-dir",
        );
    }
    // Of a ring two are there, and for a moment a third.
    let captures = if asked.when.is_some() { 2 } else { 1 };
    let needed = asked
        .max_bytes
        .saturating_mul(captures)
        .saturating_add(RESERVE_BYTES);
    if let (Some(free), Some(folder)) = (facts.free_bytes, &facts.folder)
        && free < needed
    {
        add(
            &format!(
                "{folder} has {} MB free, and {} may be needed",
                free >> 20,
                needed >> 20
            ),
            &match (free.saturating_sub(RESERVE_BYTES)) >> 20 {
                0 => "name another folder with --remote-dir".to_owned(),
                least => {
                    format!("--max-size {least}M takes less, --remote-dir names another folder")
                }
            },
        );
    }
    problems
}

fn install(place: &Place, system: System) -> &'static str {
    match (place, system) {
        (Place::Kubectl { .. }, _) => {
            "add a container that has it (kubectl debug POD --image=… -c shot -- sleep 600) and name it: kubectl:NAMESPACE/POD/shot"
        }
        (Place::Docker { .. }, _) => "install it in the container, or name the container's host",
        (_, System::Linux) => "install it there: apt-get install tcpdump, or dnf install tcpdump",
        _ => "install tcpdump there",
    }
}
