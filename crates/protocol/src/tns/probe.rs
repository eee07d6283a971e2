//! Whether a segment is TNS, for certain: a CONNECT that asks for a session, the answer to one, or in
//! mid-connection a packet that ends where the segment does and holds what only TTC does.

use super::connect::{self, Connect};
use super::packet::{self, Header, kind};
use super::{services, ttc};
use crate::session::ConnectionInfo;
use model::{Direction, Transport};

pub(super) fn is_tns(connection: &ConnectionInfo, _: Direction, bytes: &[u8]) -> bool {
    connection.transport == Transport::Tcp && begins(bytes)
}

fn begins(bytes: &[u8]) -> bool {
    let Some(header) = Header::parse(bytes, None) else {
        return false;
    };
    let ends = header.length == bytes.len() as u64;
    match header.kind {
        kind::CONNECT => Connect::parse(bytes).is_some_and(|c| is_connect(&c, &header, bytes)),
        kind::DATA => is_data(&header, bytes),
        kind::MARKER => {
            packet::starts(bytes, None, bytes.len() as u64, false)
                && matches!(bytes.get(8..11), Some([1, 0, 1..=3]))
        }
        kind::ACCEPT => ends && is_accept(bytes),
        kind::REDIRECT | kind::REFUSE => ends && is_answer(&header, bytes),
        _ => false,
    }
}

/// Versions, and the text where they say it is, or in a packet of its own.
fn is_connect(connect: &Connect, header: &Header, bytes: &[u8]) -> bool {
    let least = bytes
        .get(10..12)
        .and_then(|b| b.first_chunk().copied())
        .map_or(0, u16::from_be_bytes);
    let text_at = connect.text_at as u64;
    let text_bytes = connect.text_bytes as u64;
    let apart = header.length <= text_at + 8 && text_bytes > 200;
    let text = connect.text(bytes).unwrap_or_default();
    let is_text = text.trim_ascii_start().first().is_none_or(|&b| b == b'(');
    header.form == packet::Form::Short
        && packet::is_version(connect.version)
        && (200..=connect.version).contains(&least)
        && (26..=128).contains(&connect.text_at)
        && (text_at + text_bytes == header.length || apart)
        && is_text
        && !connect::is_for_listener(text)
}

fn is_accept(bytes: &[u8]) -> bool {
    let two = |at: usize| {
        let two = bytes.get(at..).and_then(|b| b.first_chunk().copied());
        two.map(u16::from_be_bytes)
    };
    let version = two(8).is_some_and(packet::is_version);
    // One, in the byte order of the server, and where data would be.
    version && matches!(two(16), Some(1 | 0x100)) && matches!(two(20), Some(0x18..=0x80))
}

fn is_answer(header: &Header, bytes: &[u8]) -> bool {
    let text = match header.kind {
        kind::REDIRECT => connect::address(bytes),
        _ => connect::reason(bytes),
    };
    text.starts_with(b"(ADDRESS=") || text.starts_with(b"(DESCRIPTION=")
}

/// In mid-connection: a request, a response, or the negotiation of services.
fn is_data(header: &Header, bytes: &[u8]) -> bool {
    let payload = bytes.get(Header::DATA_BYTES..).unwrap_or_default();
    let sound = packet::starts(bytes, None, bytes.len() as u64, true);
    if payload.starts_with(&services::MAGIC) {
        return header.length >= 31;
    }
    if !sound {
        return false;
    }
    let end = usize::try_from(header.length).unwrap_or(usize::MAX);
    let payload = bytes
        .get(Header::DATA_BYTES..end.min(bytes.len()))
        .unwrap_or_default();
    ttc::is_start(payload) || ttc::find_block(payload, None).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_and_answers_in_mid_connection_are_recognised() {
        // A native fetch, a universal one, a commit, a break.
        for packet in [
            &[
                0, 0x15, 0, 0, 6, 0, 0, 0, 0, 0, 3, 5, 0x3b, 5, 0, 0, 0, 10, 0, 0, 0,
            ][..],
            &[0, 0x11, 0, 0, 6, 0, 0, 0, 0, 0, 3, 5, 0x37, 1, 1, 1, 10],
            &[0, 0x0d, 0, 0, 6, 0, 0, 0, 0, 0, 3, 0x0e, 6],
            &[0, 0x0b, 0, 0, 0x0c, 0, 0, 0, 1, 0, 1],
        ] {
            assert!(begins(packet), "{packet:02x?}");
            for end in 0..packet.len() {
                assert!(!begins(&packet[..end]), "{:02x?}", &packet[..end]);
            }
        }
    }

    #[test]
    fn other_protocols_are_not() {
        for bytes in [
            // NetBIOS over TCP with SMB, PostgreSQL's start, RPC, TPKT, DNS, zeros.
            &b"\0\0\0\x2f\xffSMB\x72\0\0\0\0"[..],
            b"\0\0\0\x08\x04\xd2\x16\x2f",
            b"\x80\0\0\x28\0\0\0\x01\0\0\0\0\0\0\0\x02",
            b"\x03\0\0\x16\x11\xe0\0\0\0\0\0\xc1\x02\x01\0",
            b"\0\x1d\0\x06\x01\0\0\x01\0\0\0\0\0\0\x07example",
            &[0; 32],
        ] {
            assert!(!begins(bytes), "{bytes:02x?}");
        }
    }

    #[test]
    fn the_listener_asked_for_itself_is_no_session() {
        let text = b"(CONNECT_DATA=(COMMAND=status))";
        let mut packet = vec![0, 0, 0, 0, 1, 0, 0, 0, 1, 0x3a, 1, 0x2c];
        packet.resize(58, 0);
        packet[25] = text.len() as u8;
        packet[27] = 58;
        packet.extend(text);
        packet[1] = packet.len() as u8;
        assert!(!begins(&packet));
        let text = b"(CONNECT_DATA=(SID=orcl))";
        packet.truncate(58);
        packet[25] = text.len() as u8;
        packet.extend(text);
        packet[1] = packet.len() as u8;
        assert!(begins(&packet));
    }
}
