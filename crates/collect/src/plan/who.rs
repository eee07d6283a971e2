//! What hosts say of themselves and of their connections, into whose addresses and which port are meant.

use super::{Asked, Found, Note, Problem, Side};
use crate::facts::{Facts, Path};
use std::net::IpAddr;

/// The server's address as the client has it: said, what its name means there, how ssh came to it, its own.
pub(crate) fn server_address(asked: &Asked, client: &Facts, server: &Facts) -> Option<IpAddr> {
    let here = asked.client.place == asked.server.place;
    let fits = |a: &IpAddr| here || !a.is_loopback();
    let name = asked.server.place.host();
    let named = name.and_then(|n| n.parse().ok().or_else(|| client.resolved.get(n).copied()));
    let loopback = here.then_some(IpAddr::from([127, 0, 0, 1]));
    asked
        .server_address
        .or(named.filter(fits))
        .or(server.ssh.filter(fits))
        .or(loopback)
        .or_else(|| server.own().find(|a| a.is_ipv4()))
        .or_else(|| server.own().next())
}

/// The client's address as the server has it, which may be another than it has itself.
pub(crate) fn client_address(asked: &Asked, client: &Facts, path: &Path) -> Option<IpAddr> {
    asked
        .client_address
        .or(path.source)
        .or_else(|| client.own().next())
}

/// Which port: the one that was said, or the only one to which the client has connections.
pub(crate) fn port(
    asked: &Asked,
    client: &Path,
    server: IpAddr,
) -> Result<(u16, Option<Note>), Problem> {
    if let Some(port) = asked.server.port {
        return Ok((port, None));
    }
    let theirs = client.connections.iter().map(|(_, there)| there);
    // That of ssh is ours, or nobody's reason to capture.
    let mut ports: Vec<u16> = theirs
        .filter(|t| t.ip() == server && t.port() != 22)
        .map(|t| t.port())
        .collect();
    ports.sort_unstable();
    ports.dedup();
    if let [port] = ports.as_slice() {
        return Ok((*port, Some(Note::Port(*port))));
    }
    let what = match ports.as_slice() {
        [] => format!("it has no connection to {server} that would tell which port is meant"),
        several => {
            let several: Vec<String> = several.iter().take(8).map(u16::to_string).collect();
            format!(
                "it has connections to ports {} of {server}",
                several.join(", ")
            )
        }
    };
    Err(Problem {
        side: Side::Client,
        place: asked.client.place.to_string(),
        what,
        cure: format!("say the port with --server {}:PORT", asked.server.place),
    })
}

/// Both ends have connections of this port, and none of the server's is from the client.
pub(super) fn is_translated(ends: &[Found], client: IpAddr, port: u16) -> bool {
    let of = |side| {
        ends.iter()
            .find(|e| e.side == side)
            .and_then(|e| e.path.as_ref())
    };
    let (Some(at_client), Some(at_server)) = (of(Side::Client), of(Side::Server)) else {
        return false;
    };
    let asks = at_client
        .connections
        .iter()
        .any(|(_, there)| there.port() == port);
    let mut served = at_server
        .connections
        .iter()
        .filter(|(here, _)| here.port() == port)
        .peekable();
    asks && served.peek().is_some() && served.all(|(_, there)| there.ip() != client)
}
