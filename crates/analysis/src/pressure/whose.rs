//! Whose a file is: as it was said, by the host's own addresses, by the file's name, by what only one end has.

use super::Ends;
use crate::results::{Side, SideFrom};
use std::path::Path;
use trace::host::{End, Host, Tool};

pub(super) fn of(host: &Host, ends: &Ends) -> (Option<Side>, SideFrom) {
    if let Some(end) = host.said {
        let side = match end {
            End::Client => Side::Client,
            End::Server => Side::Server,
        };
        return (Some(side), SideFrom::Said);
    }
    let own = host.addresses.iter();
    let [clients, servers] = own.fold([0, 0], |[c, s], a| {
        let [client, server] = ends.are(*a);
        [c + u32::from(client), s + u32::from(server)]
    });
    // A host may be the client of one and the server of another.
    if clients != servers {
        let side = if clients > servers {
            Side::Client
        } else {
            Side::Server
        };
        return (Some(side), SideFrom::Addresses);
    }
    if let Some(side) = by_name(&host.file) {
        return (Some(side), SideFrom::FileName);
    }
    let has = |tool: Tool| host.tools.contains(&tool);
    match (
        has(Tool::Mountstats) || has(Tool::Nfsiostat),
        has(Tool::Nfsd),
    ) {
        (true, false) => (Some(Side::Client), SideFrom::Tool),
        (false, true) => (Some(Side::Server), SideFrom::Tool),
        _ => (None, SideFrom::Nothing),
    }
}

/// `client-vmstat.txt`, `sar.server`.
fn by_name(file: &str) -> Option<Side> {
    let name = Path::new(file)
        .file_name()?
        .to_string_lossy()
        .to_ascii_lowercase();
    let has = |word: &str| {
        name.split(|c: char| !c.is_ascii_alphabetic())
            .any(|p| p == word)
    };
    match (has("client"), has("server")) {
        (true, false) => Some(Side::Client),
        (false, true) => Some(Side::Server),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::IpAddr;

    fn host(file: &str, addresses: &[[u8; 4]]) -> Host {
        Host {
            file: file.into(),
            addresses: addresses.iter().map(|a| IpAddr::from(*a)).collect(),
            ..Host::default()
        }
    }

    #[test]
    fn what_is_said_goes_before_addresses_and_these_before_names() {
        let ends = Ends::between([10, 0, 0, 1], [10, 0, 0, 2]);
        let mut server = host("client.txt", &[[10, 0, 0, 2], [10, 9, 9, 9]]);
        assert_eq!(
            of(&server, &ends),
            (Some(Side::Server), SideFrom::Addresses)
        );
        server.said = Some(End::Client);
        assert_eq!(of(&server, &ends), (Some(Side::Client), SideFrom::Said));
        let named = host("/var/server/vmstat-client.txt", &[]);
        assert_eq!(of(&named, &ends), (Some(Side::Client), SideFrom::FileName));
        assert_eq!(of(&host("a", &[]), &ends), (None, SideFrom::Nothing));
        let both = host("a", &[[10, 0, 0, 1], [10, 0, 0, 2]]);
        assert_eq!(of(&both, &ends), (None, SideFrom::Nothing));
        let mut nfsd = host("a", &[]);
        nfsd.tools.insert(Tool::Nfsd);
        assert_eq!(of(&nfsd, &ends), (Some(Side::Server), SideFrom::Tool));
    }
}
