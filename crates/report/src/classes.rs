//! Time classes into words. The names stand in [`TimeClass::name`]; their full explanation is in
//! `docs/glossary.md`.

use model::{Direction, TimeClass};

/// Whose doing a class is, for one direction of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Party {
    Sender,
    Receiver,
    Path,
}

/// What a class says and whose doing it is.
pub(crate) struct Words {
    /// The word of its name that says most, for tables in which the name does not fit.
    pub(crate) short: &'static str,
    /// Goes on after "61 % of it:".
    pub(crate) phrase: &'static str,
    /// What `--fields` says.
    pub(crate) meaning: &'static str,
    pub(crate) party: Party,
}

pub(crate) fn words(class: TimeClass) -> Words {
    let (short, phrase, meaning, party) = match class {
        TimeClass::Handshake => (
            "handshake",
            "connections were being opened",
            "until the connection was open",
            Party::Path,
        ),
        TimeClass::Idle => (
            "idle",
            "there was nothing to send",
            "nothing to send: waiting for the other side's data, or both silent",
            Party::Sender,
        ),
        TimeClass::SenderApplication => (
            "sender",
            "the sender's application did not write",
            "the sender's application did not write, though TCP could have sent",
            Party::Sender,
        ),
        TimeClass::ReceiverApplication => (
            "receiver",
            "the receiver's window was closed",
            "the receiver's application did not read: its window was closed or closing",
            Party::Receiver,
        ),
        TimeClass::SmallWindow => (
            "window",
            "the receiver's window was too small for the path",
            "the receiver reads, but its window is too small for the path",
            Party::Receiver,
        ),
        TimeClass::NagleDelayedAck => (
            "nagle",
            "small segments were held until a delayed acknowledgement came",
            "a small segment was held back (Nagle) until the receiver's delayed acknowledgement",
            Party::Path,
        ),
        TimeClass::LossRecovery => (
            "loss",
            "what was lost was being sent again",
            "something was lost, or taken to be, and was sent again",
            Party::Path,
        ),
        TimeClass::Congestion => (
            "congestion",
            "the congestion window was full",
            "as much was under way as the congestion window allowed; no queue on the path",
            Party::Path,
        ),
        TimeClass::Bandwidth => (
            "bandwidth",
            "the path carried no more",
            "as much was under way as the congestion window allowed; a queue on the path",
            Party::Path,
        ),
        TimeClass::Transfer => (
            "transfer",
            "bytes were on their way",
            "sending, and the last bytes' way to the receiver and back",
            Party::Path,
        ),
        TimeClass::Unknown => (
            "unknown",
            "it is not known what for",
            "what was waited for is not known",
            Party::Path,
        ),
    };
    Words {
        short,
        phrase,
        meaning,
        party,
    }
}

/// `→` from client to server, `←` back.
pub(crate) fn arrow(direction: Direction) -> &'static str {
    match direction {
        Direction::ToServer => "→",
        Direction::ToClient => "←",
    }
}

/// The key in machine output.
pub(crate) fn direction(direction: Direction) -> &'static str {
    match direction {
        Direction::ToServer => "client_to_server",
        Direction::ToClient => "server_to_client",
    }
}
