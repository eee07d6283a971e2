//! Where does a message start? Asked of a connection of unknown protocol, of one that the capture
//! joins in the middle, and behind every hole that hides where the next message starts.
//!
//! A header is believed when chance does not make one: record mark, message type, RPC version and a
//! known programme are four words; a reply has fewer of its own, but its XID is one that is waited
//! for. At the start of a segment, where messages often start, less will do.

use super::header::{self, Header, REPLY, RecordMark, ReplyStatus};
use super::session::Session;
use crate::session::{ConnectionInfo, Context};
use model::{Direction, Transport};

/// Ports on which anything but RPC is unlikely: portmap, NFS, and what NFS servers use for MOUNT, NLM,
/// NSM and rquota by default or habit.
const PORTS: &[u16] = &[
    111, 2049, 20048, 4045, 4046, 635, 32765, 32766, 32767, 32768, 32803, 662, 875, 892,
];

/// Shortest message: an accepted reply without results (RFC 5531 section 9).
const SHORTEST: u32 = 24;

/// A header this long can be told from chance by its own words.
pub(super) const WHOLE_HEADER: usize = 24;

/// A call's header up to its programme number, and a reply's up to its status.
const FOUR_WORDS: usize = 16;
const THREE_WORDS: usize = 12;

/// A request of which only the XID was captured, not the last of its segment, is believed up to this
/// length: larger ones fill segments.
const SMALL_REQUEST: u32 = 1024;

/// From here on Linux chooses ports for clients by default, the first of them one of those.
const CHOSEN: u16 = 32_768;

/// Whether anything but RPC is unlikely on its ports. Where nobody knows who is the server it may be either.
pub(crate) fn is_usual_port(c: &ConnectionInfo) -> bool {
    let client = c.client.port;
    PORTS.contains(&c.server.port) || (!c.roles_known && client < CHOSEN && PORTS.contains(&client))
}

pub(super) fn probe(c: &ConnectionInfo, _d: Direction, bytes: &[u8]) -> bool {
    if is_usual_port(c) {
        return true;
    }
    let message = match c.transport {
        Transport::Udp => bytes,
        Transport::Tcp => match RecordMark::parse(bytes) {
            Some(mark) if mark.is_believable() => {
                bytes.get(RecordMark::BYTES..).unwrap_or_default()
            }
            _ => return false,
        },
    };
    // A reply alone is too little to go by: it says nothing that chance does not.
    matches!(header::parse(message), Some(Header::Call(call))
        if message.len() >= WHOLE_HEADER && header::call_is_believable(&call))
}

/// Searches `bytes` for a message; see [`Session::resync`](crate::session::Session::resync).
pub(super) fn find(
    session: &Session,
    cx: &Context<'_>,
    d: Direction,
    bytes: &[u8],
    at_start: bool,
    wire: u64,
) -> Option<usize> {
    if at_start && starts_record(session, cx, d, bytes, true, wire) {
        return Some(0);
    }
    let mut at = 0;
    // The last byte of the message type is 0 or 1, the three before it are 0: any other byte there
    // rules out the four positions at which it would be one of them.
    while let Some(window) = bytes.get(at..).and_then(|b| b.first_chunk::<12>()) {
        let [mark, .., a, b, c, kind] = *window;
        if u32::from(kind) > REPLY {
            at += 4;
            continue;
        }
        if (mark & 0x80, a, b, c) == (0x80, 0, 0, 0) {
            let rest = bytes.get(at..).unwrap_or_default();
            let wire = wire.saturating_sub(at as u64);
            if starts_record(session, cx, d, rest, false, wire) {
                return Some(at);
            }
        }
        at += 1;
    }
    None
}

/// Whether a record that starts at these bytes is believable, knowing nothing else.
fn starts_record(
    session: &Session,
    cx: &Context<'_>,
    d: Direction,
    bytes: &[u8],
    at_start: bool,
    wire: u64,
) -> bool {
    let Some(mark) = RecordMark::parse(bytes) else {
        return false;
    };
    if !mark.last || !mark.is_believable() || mark.length < SHORTEST {
        return false;
    }
    let whole = bytes.get(RecordMark::BYTES..).unwrap_or_default();
    let message = whole.get(..mark.length as usize).unwrap_or(whole);
    let seen = message.len();
    let Some(header) = header::parse(message) else {
        return false;
    };
    let waited_for = |xid| {
        let shared = &cx.shared.rpc;
        shared.contains((cx.connection.id, d.reverse(), xid))
    };
    let likely = session.confirmed || PORTS.contains(&cx.connection.server.port);
    // Of a segment that was captured whole, more would be there: it is no header, or ends too soon.
    let cut = wire > bytes.len() as u64;
    let fills_segment = u64::from(mark.length) + RecordMark::BYTES as u64 >= wire;
    match header {
        Header::Call(call) if seen >= FOUR_WORDS => header::call_is_believable(&call),
        Header::Call(_) => cut && likely && at_start && d == Direction::ToServer,
        Header::Reply(reply) if seen >= THREE_WORDS && waited_for(reply.xid) => true,
        Header::Reply(reply) if seen >= WHOLE_HEADER => {
            at_start && (reply.body.is_some() || reply.status != ReplyStatus::Success)
        }
        Header::Reply(reply) => cut && at_start && waited_for(reply.xid),
        Header::XidOnly { xid } if cut && seen >= 4 && at_start && likely => match d {
            Direction::ToServer => fills_segment || mark.length < SMALL_REQUEST,
            Direction::ToClient => waited_for(xid),
        },
        Header::XidOnly { .. } => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kit;

    #[test]
    fn a_port_that_a_client_was_given_is_nobody_s() {
        let usual = |roles_known, client, server| {
            let mut c = kit::opened(server);
            (c.client.port, c.roles_known) = (client, roles_known);
            is_usual_port(&c)
        };
        assert!(usual(true, 40_000, 2049) && usual(false, 40_000, 2049));
        // The first that Linux gives is one of those of RPC.
        assert!(!usual(true, 32_768, 3306) && !usual(false, 32_768, 3306));
        // Of a connection whose beginning was not seen either may be the server.
        assert!(usual(false, 2049, 700) && !usual(true, 2049, 700));
    }
}
