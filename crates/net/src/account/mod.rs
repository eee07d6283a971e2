//! A connection's segments into an account of its time: for each direction, every nanosecond from the
//! first packet to the last in one class ([`TimeClass`]).
//!
//! The rule is causal: a wait belongs to what ended it. A sender that sends the moment its window
//! opens had waited for the window; one that sends when nothing changed had waited for its
//! application. So time is looked at in gaps between transmissions, and a gap is judged when the next
//! transmission ends it ([`sender`]).
//!
//! What a sender does is judged by what *it* knew: an acknowledgement counts from the moment at which
//! its effects can be seen at the point of capture, one round trip from there to the sender later.
//! Where the capture stands at the sender that is at once; where it stands at the receiver, spacing
//! by the path hides some causes, and a capture of the other end knows more.

mod identifications;
mod ledger;
mod round_trips;
mod sender;
mod writes;

pub(crate) use sender::{Acknowledgement, Kind, Transmission};

use model::{Direction, DirectionAccount, Mark, Time, TimeClass};
use sender::Sender;

/// Both directions of a connection.
#[derive(Debug)]
pub(crate) struct Meter {
    /// Whether a SYN was seen, and nothing yet after the handshake.
    opening: bool,
    senders: [Sender; 2],
}

impl Meter {
    /// Of a connection whose first packet is `first`.
    pub(crate) fn new(first: Mark, opening: bool) -> Meter {
        Meter {
            opening,
            senders: [Sender::new(first), Sender::new(first)],
        }
    }

    /// The handshake is over, as this packet shows.
    pub(crate) fn opened(&mut self, at: Mark) {
        if self.opening {
            self.opening = false;
            for sender in &mut self.senders {
                sender.charge(TimeClass::Handshake, at);
            }
        }
    }

    pub(crate) fn is_opening(&self) -> bool {
        self.opening
    }

    /// How long it takes from the point of capture to this direction's sender and back.
    pub(crate) fn sender_is_away(&mut self, d: Direction, ns: i64) {
        self.sender(d).is_away(ns);
    }

    /// A packet of direction `d`.
    pub(crate) fn identified(&mut self, d: Direction, id: u16, payload: u64, full_sized: u64) {
        self.sender(d).identified(id, payload, full_sized);
    }

    /// Data of direction `d` was acknowledged, or its window changed.
    pub(crate) fn acknowledged(&mut self, d: Direction, ack: Acknowledgement) {
        self.sender(d).acknowledged(ack);
    }

    /// Direction `d` sent data, or its end.
    pub(crate) fn sent(&mut self, d: Direction, s: Transmission) {
        self.sender(d).sent(&s);
        self.sender(d.reverse()).peer_sent(s.mark);
    }

    /// Direction `d`'s sender probed a window that is shut.
    pub(crate) fn probed(&mut self, d: Direction) {
        self.sender(d).probed();
    }

    /// A round trip of direction `d`'s data, and whether the acknowledgement told of one segment only.
    pub(crate) fn round_trip(&mut self, d: Direction, ns: i64, one_segment: bool) {
        self.sender(d).round_trip(ns, one_segment);
    }

    /// Direction `d`'s receiver said that it had these bytes already.
    pub(crate) fn received_twice(&mut self, d: Direction) {
        self.sender(d).received_twice();
    }

    fn sender(&mut self, d: Direction) -> &mut Sender {
        let [to_server, to_client] = &mut self.senders;
        match d {
            Direction::ToServer => to_server,
            Direction::ToClient => to_client,
        }
    }

    /// The account, with the connection's last packet.
    pub(crate) fn finish(self, last: Mark) -> Box<[DirectionAccount; 2]> {
        let opening = self.opening;
        Box::new(self.senders.map(|mut sender| {
            if opening {
                sender.charge(TimeClass::Handshake, last);
            }
            sender.finish(last)
        }))
    }
}

/// How many segments so many bytes take. Most take one, and a division costs as much as twenty other
/// instructions.
fn segments(bytes: u64, full_sized: u64) -> u64 {
    if bytes <= full_sized {
        1
    } else {
        bytes.div_ceil(full_sized.max(1))
    }
}

/// Time does not run backwards in an account; clocks of captures do.
fn span(from: Time, to: Time) -> i64 {
    (to - from).max(0)
}
