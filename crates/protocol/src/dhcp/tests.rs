//! Literal bytes and conversations.

use super::*;
use crate::kit::{datagrams, down, up};
use model::{Close, Reason};
use proptest::prelude::*;

/// A message of this type (RFC 2131 section 2), xid 0x01020304.
fn message(op: u8, kind: u8, yours: [u8; 4]) -> Vec<u8> {
    let mut bytes = vec![op, 1, 6, 0, 1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0];
    bytes.extend(yours);
    bytes.resize(28, 0);
    bytes.extend([2, 0, 0, 0, 0, 9]);
    bytes.resize(236, 0);
    bytes.extend([99, 130, 83, 99, 0, 53, 1, kind, 255]);
    bytes
}

#[test]
fn a_message_has_a_number_a_type_and_an_address() {
    let packet = Packet::parse(&message(2, OFFER, [10, 0, 0, 5])).unwrap();
    assert_eq!(
        (packet.reply, packet.xid, packet.kind),
        (true, 0x0102_0304, OFFER)
    );
    assert_eq!(packet.name(), "10.0.0.5");
    assert_eq!(
        Packet::parse(&message(1, DISCOVER, [0; 4])).unwrap().name(),
        "02:00:00:00:00:09"
    );
    let bytes = message(1, DISCOVER, [0; 4]);
    for end in 0..bytes.len() - 1 {
        assert!(Packet::parse(&bytes[..end]).is_none(), "{end} bytes");
    }
}

#[test]
fn an_address_is_offered_asked_for_and_given() {
    let discover = message(1, DISCOVER, [0; 4]);
    let (offer, request) = (
        message(2, OFFER, [10, 0, 0, 5]),
        message(1, REQUEST, [0; 4]),
    );
    let ack = message(2, ACK, [10, 0, 0, 5]);
    let calls = datagrams(
        67,
        &[
            up(&discover),
            up(&discover),
            down(&offer),
            up(&request),
            down(&ack),
        ],
        Close::Expired,
    );
    let seen: Vec<_> = calls
        .iter()
        .map(|c| (c.op.as_str(), c.retransmits, c.outcome))
        .collect();
    assert_eq!(
        seen,
        [("DISCOVER", 1, Outcome::Ok), ("REQUEST", 0, Outcome::Ok)]
    );
    assert_eq!(calls[1].text.as_deref(), Some("10.0.0.5"));
}

#[test]
fn a_request_may_be_refused_or_not_answered() {
    let request = message(1, REQUEST, [0; 4]);
    let nak = message(2, NAK, [0; 4]);
    let refused = datagrams(67, &[up(&request), down(&nak)], Close::Expired);
    assert_eq!(refused[0].outcome, Outcome::Error("NAK"));
    let silent = datagrams(67, &[up(&request)], Close::Expired);
    assert_eq!(silent[0].outcome, Outcome::NoResponse(Reason::NoAnswer));
}

proptest! {
    #[test]
    fn damaged_messages_are_survived(at in 0usize..245, value in any::<u8>(), end in 0usize..246) {
        let mut bytes = message(1, DISCOVER, [0; 4]);
        if let Some(byte) = bytes.get_mut(at) {
            *byte = value;
        }
        bytes.truncate(end);
        datagrams(67, &[up(&bytes)], Close::Expired);
    }
}
