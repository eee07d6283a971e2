//! What a client can wait for, and how a wait can end.

use crate::text::{Text, Value, text};
use model::{Call, Endpoint, Field, Mark, Outcome, Protocol, sql::op};
use std::sync::Arc;

/// What is waited for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum WaitKind {
    Dns,
    Mdns,
    Llmnr,
    Nbns,
    /// An address of its own.
    Dhcp,
    /// The hardware address of an address on the link.
    Arp,
    /// Something sent to everybody on the link.
    Broadcast,
    /// A UDP datagram of an unknown protocol.
    Datagram,
    /// A TCP connection.
    Connect,
    /// Agreeing on keys.
    Tls,
    /// A database: finding it, agreeing with it, authenticating.
    Logon,
    /// A file server.
    File,
    /// Any other call of a known protocol.
    Call,
    /// A turn of an unknown one.
    Turn,
    /// Nothing that is on the wire: the client itself.
    Client,
}

impl WaitKind {
    /// The name in machine output.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            WaitKind::Dns => "dns",
            WaitKind::Mdns => "mdns",
            WaitKind::Llmnr => "llmnr",
            WaitKind::Nbns => "nbns",
            WaitKind::Dhcp => "dhcp",
            WaitKind::Arp => "arp",
            WaitKind::Broadcast => "broadcast",
            WaitKind::Datagram => "datagram",
            WaitKind::Connect => "connect",
            WaitKind::Tls => "tls",
            WaitKind::Logon => "logon",
            WaitKind::File => "file",
            WaitKind::Call => "call",
            WaitKind::Turn => "turn",
            WaitKind::Client => "client",
        }
    }
}

/// How a wait ended.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Ending {
    Answered,
    /// There is no such name, file or address.
    NotFound,
    /// Any other error.
    Failed,
    /// A reset answered the SYN.
    Refused,
    NoAnswer,
    /// The client went on by itself.
    Itself,
}

impl Ending {
    /// The name in machine output.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Ending::Answered => "answered",
            Ending::NotFound => "not-found",
            Ending::Failed => "failed",
            Ending::Refused => "refused",
            Ending::NoAnswer => "no-answer",
            Ending::Itself => "itself",
        }
    }
}

/// What a client was waiting for, in words that follow a sum of seconds.
#[must_use]
pub fn reason(kind: WaitKind, ending: Ending) -> &'static str {
    use Ending::{Answered, Failed, NoAnswer, NotFound, Refused};
    use WaitKind as K;
    match (kind, ending) {
        (K::Dns, NoAnswer) => "name servers that did not answer",
        (K::Dns, NotFound) => "names that do not exist",
        (K::Dns, Failed) => "name servers that failed",
        (K::Dns, _) => "names that were found",
        (K::Mdns | K::Llmnr | K::Nbns, Answered) => "names asked of everybody on the link",
        (K::Mdns | K::Llmnr | K::Nbns, _) => "names that nobody on the link answered for",
        (K::Dhcp, Answered) => "addresses from DHCP",
        (K::Dhcp, _) => "DHCP without an address",
        (K::Arp, NoAnswer) => "addresses that nobody was seen to answer for",
        (K::Arp, _) => "hardware addresses",
        (K::Broadcast, NoAnswer) => "broadcasts without answer",
        (K::Broadcast, _) => "broadcasts that were answered",
        (K::Datagram, NoAnswer) => "datagrams without answer",
        (K::Datagram, _) => "datagrams that were answered",
        (K::Connect, Refused) => "refused connections",
        (K::Connect, NoAnswer) => "connections without answer",
        (K::Connect, _) => "connections",
        (K::Tls, Answered) => "TLS handshakes",
        (K::Tls, _) => "TLS handshakes that failed",
        (K::Logon, Answered) => "logging on to a database",
        (K::Logon, NoAnswer) => "logons without answer",
        (K::Logon, _) => "failed logons to a database",
        (K::File, NotFound) => "files that are not there",
        (K::File, Failed) => "errors of file servers",
        (K::File, NoAnswer) => "file servers that did not answer",
        (K::File, _) => "file servers",
        (K::Call, NoAnswer) => "calls without answer",
        (K::Call, Failed) => "other calls that failed",
        (K::Call, _) => "other calls",
        (K::Turn, _) => "turns of unknown protocols",
        (K::Client, _) => "the client itself, with nothing on the wire",
    }
}

/// When a wait is over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Until {
    /// With this packet.
    At(Mark),
    /// When the client begins something new.
    NextStep,
    /// With this packet, or when the client tries the same port again, if it does.
    NextAttempt(Mark),
}

/// What is asked: an operation, and the name that it is asked of, where it has one.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Asked {
    pub op: Arc<str>,
    pub name: Option<Arc<str>>,
}

impl Asked {
    pub(super) fn words(&self) -> Text {
        let op = self.op.to_string();
        match &self.name {
            Some(name) => text!("{op} {name}", op = op, name = Value::Host(Arc::clone(name))),
            None => text!("{op}", op = op),
        }
    }
}

impl From<&str> for Asked {
    fn from(op: &str) -> Asked {
        Asked {
            op: op.into(),
            name: None,
        }
    }
}

/// One wait, before it is known what it costs.
#[derive(Clone, Debug)]
pub(super) struct Wait {
    pub kind: WaitKind,
    pub ending: Ending,
    pub server: Endpoint,
    pub what: Asked,
    /// In the protocol's own words.
    pub answer: Text,
    pub begun: Mark,
    pub until: Until,
}

impl Wait {
    /// Which of two waits at the same moment is charged: the lower, then the later.
    pub(super) fn rank(&self) -> u8 {
        match self.kind {
            WaitKind::Broadcast | WaitKind::Datagram => 1,
            WaitKind::Turn => 2,
            _ if self.until == Until::NextStep && self.is_call() => 2,
            _ => 0,
        }
    }

    fn is_call(&self) -> bool {
        matches!(
            self.kind,
            WaitKind::Tls | WaitKind::Logon | WaitKind::File | WaitKind::Call
        )
    }
}

/// What kind of wait a call is.
pub(super) fn kind(call: &Call) -> WaitKind {
    match call.protocol {
        Protocol::Dns => WaitKind::Dns,
        Protocol::Mdns => WaitKind::Mdns,
        Protocol::Llmnr => WaitKind::Llmnr,
        Protocol::Nbns => WaitKind::Nbns,
        Protocol::Dhcp => WaitKind::Dhcp,
        Protocol::Tcp => WaitKind::Turn,
        Protocol::Tls => WaitKind::Tls,
        // Who asks to be told of changes goes on meanwhile.
        Protocol::Smb2 if call.op.as_str() == "CHANGE_NOTIFY" => WaitKind::Turn,
        Protocol::Nfs2
        | Protocol::Nfs3
        | Protocol::Nfs40
        | Protocol::Nfs41
        | Protocol::Nfs42
        | Protocol::NfsAcl
        | Protocol::Mount
        | Protocol::Smb2 => WaitKind::File,
        p if p.is_sql() && [op::CONNECT, op::NEGOTIATE, op::LOGON].contains(&call.op) => {
            WaitKind::Logon
        }
        _ => WaitKind::Call,
    }
}

/// Whether a call stands before the work: finding a name, logging on, looking for what is not there.
pub(crate) fn is_of_startup(call: &Call) -> bool {
    call.protocol.is_lookup() || kind(call) == WaitKind::Logon || ending(call) == Ending::NotFound
}

/// Whether a host tells that a NetBIOS name is its own, or no longer is.
pub(super) fn is_claim(call: &Call) -> bool {
    let op = call.op.as_str();
    call.protocol == Protocol::Nbns && ["REGISTRATION", "REFRESH", "RELEASE"].contains(&op)
}

/// How a call ended. A name without a record of the type asked for is not found either.
pub(super) fn ending(call: &Call) -> Ending {
    const NOT_FOUND: [&str; 7] = [
        "NXDOMAIN",
        "NAM_ERR",
        "OBJECT_NAME_NOT_FOUND",
        "OBJECT_PATH_NOT_FOUND",
        "NO_SUCH_FILE",
        "NOT_FOUND",
        "BAD_NETWORK_NAME",
    ];
    match call.outcome {
        Outcome::NoResponse(_) => Ending::NoAnswer,
        Outcome::Ok if call.protocol.is_lookup() => match call.detail.get(Field::Answers) {
            Some(0) => Ending::NotFound,
            _ => Ending::Answered,
        },
        Outcome::Error(e) if e.ends_with("NOENT") || NOT_FOUND.contains(&e) => Ending::NotFound,
        o if o.is_error() => Ending::Failed,
        _ => Ending::Answered,
    }
}

/// What a call asks: its name where it has one, else its operation. `names`: whether calls to any file server
/// have one in their text.
pub(super) fn what(call: &Call, names: bool) -> Asked {
    let named = call.protocol.has_name() || (names && kind(call) == WaitKind::File);
    match &call.text {
        Some(name) if named => Asked {
            op: call.op.as_str().into(),
            name: Some(Arc::clone(name)),
        },
        _ if call.protocol == Protocol::Tcp => "turn".into(),
        _ => match call.detail.word(Field::Step) {
            Some(step) => (&*format!("{} {} {step}", call.protocol, call.op)).into(),
            None => (&*format!("{} {}", call.protocol, call.op)).into(),
        },
    }
}
