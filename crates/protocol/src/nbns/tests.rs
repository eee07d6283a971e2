//! Literal bytes and conversations.

use super::*;
use crate::kit::{datagrams, down, up};
use model::{Close, Reason};

/// `NB FILESERVER<20>`, broadcast (RFC 1002 section 4.2.12).
fn query() -> Vec<u8> {
    let mut bytes = vec![0x80, 0x01, 0x01, 0x10, 0, 1, 0, 0, 0, 0, 0, 0, 32];
    for b in *b"FILESERVER     \x20" {
        bytes.extend([b'A' + (b >> 4), b'A' + (b & 15)]);
    }
    bytes.extend([0, 0, 32, 0, 1]);
    bytes
}

/// The answer, or a refusal: its record repeats the name.
fn response(rcode: u8) -> Vec<u8> {
    let mut bytes = query();
    bytes[2] = 0x85;
    bytes[3] = rcode;
    (bytes[5], bytes[7]) = (0, 1);
    bytes.extend([0, 0, 0, 60, 0, 6, 0, 0, 192, 0, 2, 7]);
    bytes
}

#[test]
fn a_name_is_sixteen_bytes_in_letters() {
    let packet = parse(&query()).unwrap();
    assert_eq!(text(&packet.name), "FILESERVER<20>");
    assert_eq!((packet.kind, packet.flags), (NB, 0x0110));
    let bytes = query();
    for end in 0..bytes.len() - 2 {
        assert!(parse(&bytes[..end]).is_none(), "{end} bytes");
    }
}

#[test]
fn a_name_is_found_or_not() {
    let query = query();
    for (rcode, outcome) in [(0, Outcome::Ok), (3, Outcome::Error("NAM_ERR"))] {
        let answer = response(rcode);
        let events = [up(&query), down(&answer)];
        let calls = datagrams(137, &events, Close::Expired);
        assert_eq!(calls.len(), 1);
        assert_eq!((calls[0].op.as_str(), calls[0].outcome), ("NB", outcome));
        assert_eq!(calls[0].text.as_deref(), Some("FILESERVER<20>"));
    }
}

#[test]
fn a_name_asked_for_again_and_not_answered_is_one_call() {
    let query = query();
    let events = [up(&query), up(&query)];
    let calls = datagrams(137, &events, Close::Expired);
    assert_eq!(calls.len(), 1);
    assert_eq!(calls[0].retransmits, 1);
    assert_eq!(calls[0].outcome, Outcome::NoResponse(Reason::NoAnswer));
}

#[test]
fn a_claim_to_everybody_that_nobody_disputes_is_no_call() {
    let mut claim = query();
    claim[2] = 0x29;
    let events = [up(&claim)];
    assert!(datagrams(137, &events, Close::Expired).is_empty());
}
