//! Two captures into how far each lies from its host: a mirror port or a firewall is at neither.

use crate::capture_facts::CaptureFacts;
use crate::matched::Servers;
use crate::path::Crossed;
use crate::results::Vantage;
use crate::vantage::conclude;
use ledger::{Bounds, Half};

/// A capture from which it is so far to its host was taken on the way.
const ON_THE_WAY_NS: i64 = 500_000;

/// How far it is from the server's capture of two to the servers of the calls that both have, and from the client's to the
/// clients: they may hold calls of theirs with others. `are_stated` if somebody said whose they are.
pub(super) fn halves_beyond(
    [client, server]: [&CaptureFacts; 2],
    servers: &Servers,
    are_stated: bool,
) -> [Half; 2] {
    // Nor is it further than the soonest answer came from, where acknowledgements come with answers only; or the soonest
    // next request.
    let crossed = |min_ns| Crossed {
        min_ns,
        mean_ns: None,
    };
    let pauses = &client.think.pauses;
    let asked_ns = (pauses.count() > 0).then(|| pauses.quantile(0.0));
    let [to_server, _] = server.ways.near_of(|(_, host)| servers.may_have(host));
    let [_, to_client] = client.ways.near_of(|(_, host)| servers.may_have(host));
    let is_shown_twice = to_client.is_shown_twice();
    let to_server = to_server.half(crossed(server.soonest_answer_ns()));
    let to_client = to_client.half(crossed(asked_ns));
    let is_far = |half: Half| half.bounds().lo_ns >= ON_THE_WAY_NS;
    let [at_client, at_server] = [client, server].map(|c| conclude(&c.tcp).vantage);
    // A server answers a SYN at once, and its packets have not been routed yet. Far from both ends it is of neither, but how
    // far is not certain where a slow host takes as long.
    let to_server = match (at_server, to_server) {
        (Vantage::Client | Vantage::Middle, half) if is_far(half) => half,
        (Vantage::Middle, Half::Away(way)) if !are_stated => Half::Away(Bounds { lo_ns: 0, ..way }),
        _ => Half::Here,
    };
    // A client acknowledges what it is told when it likes, but for the end of a handshake: both have to say so.
    let to_client = match (at_client, to_client) {
        _ if are_stated || !is_shown_twice => Half::Here,
        (Vantage::Server | Vantage::Middle, half) if is_far(half) => half,
        (Vantage::Middle, Half::Away(way)) => Half::Away(Bounds { lo_ns: 0, ..way }),
        _ => Half::Here,
    };
    [to_server, to_client]
}
