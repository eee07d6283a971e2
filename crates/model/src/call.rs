//! The call: one request and its response, with its four times.

use crate::word::Word;
use crate::{ConnectionId, Detail, Endpoint, Name, PacketRef, Sql, Time};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// A byte's packet: when it was captured, and where it stands.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
pub struct Mark {
    pub time: Time,
    pub packet: PacketRef,
}

/// The protocols by the names of the `protocol` column.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Protocol {
    Nfs2,
    Nfs3,
    Nfs40,
    Nfs41,
    Nfs42,
    NfsAcl,
    /// NFSv4 callbacks: the NFS server calls, the NFS client answers.
    NfsCallback,
    Mount,
    Portmap,
    Nlm,
    Nsm,
    Rquota,
    /// An ONC-RPC programme without a name here, or one whose header was not captured.
    Rpc,
    Tns,
    Pgsql,
    Mysql,
    /// The Domain Name System (RFC 1035), asked of a server.
    Dns,
    /// Names asked of everybody on the link (RFC 6762, 4795).
    Mdns,
    Llmnr,
    /// NetBIOS's name service (RFC 1002).
    Nbns,
    /// Addresses of hosts (RFC 2131).
    Dhcp,
    Smb2,
    /// What SMB servers ask back of their clients: oplocks and leases.
    Smb2Callback,
    /// Agreeing on keys (RFC 8446).
    Tls,
    Tcp,
}

impl Protocol {
    pub const ALL: [Protocol; 25] = [
        Protocol::Nfs2,
        Protocol::Nfs3,
        Protocol::Nfs40,
        Protocol::Nfs41,
        Protocol::Nfs42,
        Protocol::NfsAcl,
        Protocol::NfsCallback,
        Protocol::Mount,
        Protocol::Portmap,
        Protocol::Nlm,
        Protocol::Nsm,
        Protocol::Rquota,
        Protocol::Rpc,
        Protocol::Tns,
        Protocol::Pgsql,
        Protocol::Mysql,
        Protocol::Dns,
        Protocol::Mdns,
        Protocol::Llmnr,
        Protocol::Nbns,
        Protocol::Dhcp,
        Protocol::Smb2,
        Protocol::Smb2Callback,
        Protocol::Tls,
        Protocol::Tcp,
    ];

    /// The name in machine output.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Protocol::Nfs2 => "nfs2",
            Protocol::Nfs3 => "nfs3",
            Protocol::Nfs40 => "nfs4.0",
            Protocol::Nfs41 => "nfs4.1",
            Protocol::Nfs42 => "nfs4.2",
            Protocol::NfsAcl => "nfsacl",
            Protocol::NfsCallback => "nfs4.cb",
            Protocol::Mount => "mount",
            Protocol::Portmap => "portmap",
            Protocol::Nlm => "nlm",
            Protocol::Nsm => "nsm",
            Protocol::Rquota => "rquota",
            Protocol::Rpc => "rpc",
            Protocol::Tns => "tns",
            Protocol::Pgsql => "pgsql",
            Protocol::Mysql => "mysql",
            Protocol::Dns => "dns",
            Protocol::Mdns => "mdns",
            Protocol::Llmnr => "llmnr",
            Protocol::Nbns => "nbns",
            Protocol::Dhcp => "dhcp",
            Protocol::Smb2 => "smb2",
            Protocol::Smb2Callback => "smb2.cb",
            Protocol::Tls => "tls",
            Protocol::Tcp => "tcp",
        }
    }
}

impl Protocol {
    /// Whether databases speak it: a session of theirs has one request under way, as a rule.
    #[must_use]
    pub fn is_sql(self) -> bool {
        matches!(self, Protocol::Tns | Protocol::Pgsql | Protocol::Mysql)
    }

    /// Whether it is what a server asks of its client: nobody waits for that alone.
    #[must_use]
    pub fn is_callback(self) -> bool {
        matches!(self, Protocol::NfsCallback | Protocol::Smb2Callback)
    }

    /// Whether the text of a call says what the protocol has words for: a list of operations. That of all
    /// others is somebody's.
    #[must_use]
    pub fn has_public_text(self) -> bool {
        matches!(self, Protocol::Nfs40 | Protocol::Nfs41 | Protocol::Nfs42)
    }

    /// Whether the text of a call is a name: of a host, an address, a file.
    #[must_use]
    pub fn has_name(self) -> bool {
        self.is_lookup() || matches!(self, Protocol::Smb2 | Protocol::Tls)
    }

    /// Whether it finds names or addresses, so that something else can be asked: on its own it is hardly
    /// ever what a capture is about.
    #[must_use]
    pub fn is_lookup(self) -> bool {
        use Protocol::{Dhcp, Dns, Llmnr, Mdns, Nbns};
        matches!(self, Dns | Mdns | Llmnr | Nbns | Dhcp)
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Why half of a call is missing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Reason {
    /// The request was sent before the capture (or this connection's first packet in it).
    BeforeCapture,
    /// The capture ended while the call was outstanding.
    AfterCapture,
    /// Packets that should hold the other half are missing from the capture.
    CaptureGap,
    /// The bytes that should hold the other half were cut off by the snap length.
    SnapLength,
    /// Everything was captured, and no answer came before the connection ended.
    NoAnswer,
    /// More was outstanding than is remembered; see [`limits`](crate::limits).
    Evicted,
    /// Nothing but their order says that the two halves belong together: of several calls the sum of their times is
    /// true, and each one's need not be.
    Order,
}

impl Reason {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Reason::BeforeCapture => "before-capture",
            Reason::AfterCapture => "after-capture",
            Reason::CaptureGap => "capture-gap",
            Reason::SnapLength => "snap-length",
            Reason::NoAnswer => "no-answer",
            Reason::Evicted => "evicted",
            Reason::Order => "paired-in-order",
        }
    }
}

/// An error that has a number or a state and no name: `ORA-00942`, `42P01`, `ER-1146`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Code {
    public: bool,
    length: u8,
    text: [u8; Code::BYTES],
}

impl Code {
    const BYTES: usize = 15;

    /// One that a product has documented, which says nothing of who uses it.
    #[must_use]
    pub fn public(code: &str) -> Code {
        let public = true;
        Code {
            public,
            ..Code::new(code)
        }
    }

    /// Whoever programs a database may have chosen it. Of a longer text the beginning is kept.
    #[must_use]
    pub fn new(code: &str) -> Code {
        let mut end = code.len().min(Code::BYTES);
        while !code.is_char_boundary(end) {
            end -= 1;
        }
        let mut text = [0; Code::BYTES];
        for (to, from) in text.iter_mut().zip(code.bytes().take(end)) {
            *to = from;
        }
        Code {
            public: false,
            length: end as u8,
            text,
        }
    }

    #[must_use]
    pub fn is_public(&self) -> bool {
        self.public
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        let text = self.text.get(..usize::from(self.length));
        std::str::from_utf8(text.unwrap_or_default()).unwrap_or_default()
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.as_str())
    }
}

/// How a call ended.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Outcome {
    Ok,
    /// The protocol's own error, by its RFC name; an unknown number is `error` with
    /// [`Field::Status`](crate::Field) in the detail.
    Error(#[serde(with = "crate::word")] Word),
    /// An error of a database.
    Code(Code),
    /// A request without a response.
    NoResponse(Reason),
    /// A response without a request.
    NoRequest(Reason),
    /// Both were seen, but the end of one of them was lost by the capture.
    Incomplete(Reason),
}

impl Outcome {
    /// The `outcome` column.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Outcome::Ok => "ok",
            Outcome::Error(name) => name,
            Outcome::Code(code) => code.as_str(),
            Outcome::NoResponse(_) => "no-response",
            Outcome::NoRequest(_) => "no-request",
            Outcome::Incomplete(_) => "incomplete",
        }
    }

    /// Whether the server answered that it failed.
    #[must_use]
    pub fn is_error(self) -> bool {
        matches!(self, Outcome::Error(_) | Outcome::Code(_))
    }

    /// Why half of it is missing, where it is.
    #[must_use]
    pub fn reason(self) -> Option<Reason> {
        match self {
            Outcome::Ok | Outcome::Error(_) | Outcome::Code(_) => None,
            Outcome::NoResponse(r) | Outcome::NoRequest(r) | Outcome::Incomplete(r) => Some(r),
        }
    }
}

/// Where a response lies, or its end, that was not seen; of a call that was [never answered](Call::is_unanswered), from
/// when on it may have been sent, and until when nothing had come.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct HiddenResponse {
    /// The first bytes that may hold it: the call waited for so long at least. The request's end, where the capture lacks
    /// bytes behind that.
    pub earliest: Mark,
    /// The last of them, before calls that were sent later had long been answered: for so long at most.
    pub latest: Time,
    /// For how long the server's TCP held back what came first, as far as the capture can tell.
    pub held_ns: i64,
}

impl HiddenResponse {
    /// From the earliest to the latest, in nanoseconds.
    #[must_use]
    pub fn longer_ns(&self) -> i64 {
        (self.latest - self.earliest.time).max(0)
    }
}

/// Round trips inside a call, as they stand in the packets: of a response that a client confirms (a break), or of a request
/// that a server asks for more of (a logon's password, the rows of a COPY). Nanoseconds, parts of the transfer of that message.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct InnerTrips {
    pub of_request: bool,
    /// How long the server waited for its client.
    pub client_ns: i64,
    /// How long the client waited for its server.
    pub server_ns: i64,
}

impl InnerTrips {
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.client_ns == 0 && self.server_ns == 0
    }

    /// How long the server took inside the request, and inside the response, before that went on, if the capture of the other
    /// end shows trips inside the call as well.
    #[must_use]
    pub fn server_ns_of(&self, at_other: InnerTrips) -> [i64; 2] {
        match (at_other.is_none(), self.of_request) {
            (true, _) => [0; 2],
            (false, true) => [self.server_ns, 0],
            (false, false) => [0, self.server_ns],
        }
    }
}

/// One request and its response.
///
/// All four marks are known for a call that is `Ok` or an `Error`.
/// `response_first` is where the response's first byte came, `response_last` is the latest packet
/// that brought any byte of it (retransmitted copies do not count, the first copy of a byte does).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Call {
    /// The order of the packet that completed it (see [`Packet::order`](crate::Packet)).
    pub order: u64,
    pub connection: ConnectionId,
    pub protocol: Protocol,
    pub op: Name,
    /// Who sent the request.
    pub client: Endpoint,
    pub server: Endpoint,
    /// The protocol's own identifier (the RPC XID).
    pub id: u32,
    /// TCP sequence numbers, as they stand in the packets, of the first byte of the request and of
    /// the response; 0 for UDP. They identify the call in another capture, also behind NAT.
    pub request_sequence: u32,
    pub response_sequence: u32,
    pub request_first: Option<Mark>,
    pub request_last: Option<Mark>,
    pub response_first: Option<Mark>,
    pub response_last: Option<Mark>,
    /// Bytes of the message on the stream, protocol headers and record marks included.
    pub request_bytes: u64,
    pub response_bytes: u64,
    pub outcome: Outcome,
    /// Calls sent and not yet answered on this connection when this request was sent, itself
    /// included.
    pub outstanding: u32,
    /// How often the request was sent again (the same request with the same id, not TCP segments).
    pub retransmits: u32,
    /// The part of the request's transfer in which the client's TCP held bytes back (recovery, closed window, Nagle), and the
    /// part of the wait and response transfer in which the server's did (also behind others, which were not acknowledged).
    /// Nanoseconds, 0 where the capture cannot tell.
    pub request_held_ns: i64,
    pub response_held_ns: i64,
    /// Of few calls.
    pub inner: Option<Box<InnerTrips>>,
    /// Where the response, or its end, may lie that was not seen.
    pub hidden: Option<HiddenResponse>,
    pub detail: Detail,
    /// Longer text of the protocol: for NFSv4 the list of operations, comma separated, or, where names are
    /// asked for, what a call of NFS names; of a lookup the
    /// name that is asked about; for SMB2 that of the file, where the call has one.
    pub text: Option<Arc<str>>,
    /// Of a database's call: whose session it belongs to, and which statement. Many calls share one: it is written apart.
    #[serde(skip)]
    pub sql: Option<Arc<Sql>>,
}

impl Call {
    /// Response last byte − request first byte, in nanoseconds.
    #[must_use]
    pub fn response_time_ns(&self) -> Option<i64> {
        Some(self.response_last?.time - self.request_first?.time)
    }

    /// Request last byte − request first byte.
    #[must_use]
    pub fn request_transfer_ns(&self) -> Option<i64> {
        Some(self.request_last?.time - self.request_first?.time)
    }

    /// Response first byte − request last byte; negative where packets stand in the wrong order.
    #[must_use]
    pub fn wait_ns(&self) -> Option<i64> {
        Some(self.response_first?.time - self.request_last?.time)
    }

    /// The same and what its client waited for its server inside its messages: the server's part, as far as this capture tells.
    #[must_use]
    pub fn served_ns(&self) -> Option<i64> {
        Some(self.wait_ns()?.saturating_add(self.inner().server_ns))
    }

    #[must_use]
    pub fn inner(&self) -> InnerTrips {
        self.inner.as_deref().copied().unwrap_or_default()
    }

    /// Response last byte − response first byte.
    #[must_use]
    pub fn response_transfer_ns(&self) -> Option<i64> {
        Some(self.response_last?.time - self.response_first?.time)
    }

    /// Whether both halves were seen to their ends, at times that can be: no part of a call takes less
    /// than no time. Packets of one host may stand a little out of order, so a wait may seem to.
    #[must_use]
    pub fn is_timed(&self) -> bool {
        self.is_complete() && self.has_times()
    }

    /// Whether it has all four times without being complete: it lacks its request's beginning, from before the capture, or
    /// the certainty that its response is its own.
    #[must_use]
    pub fn is_nearly_timed(&self) -> bool {
        let nearly = matches!(
            self.outcome,
            Outcome::Incomplete(Reason::BeforeCapture | Reason::Order)
        );
        nearly && self.has_times()
    }

    fn has_times(&self) -> bool {
        const OUT_OF_ORDER_NS: i64 = 1_000_000;
        let parts = (
            self.request_transfer_ns(),
            self.wait_ns(),
            self.response_transfer_ns(),
        );
        let (Some(request), Some(wait), Some(response)) = parts else {
            return false;
        };
        let possible = request >= 0 && response >= 0 && wait >= -OUT_OF_ORDER_NS;
        possible && self.response_time_ns().is_some_and(|ns| ns >= 0)
    }

    /// Whether it still waited when its connection ended or the capture did, with all seen that came: its
    /// [`hidden`](Call::hidden) says until when nothing can have been sent, and until when nothing had come.
    #[must_use]
    pub fn is_unanswered(&self) -> bool {
        let waits = matches!(
            self.outcome,
            Outcome::NoResponse(Reason::AfterCapture | Reason::NoAnswer)
        );
        waits && self.hidden.is_some()
    }

    /// Whether both halves were seen to their ends.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.outcome == Outcome::Ok || self.outcome.is_error()
    }
}

/// The number of outstanding calls changes: a request was sent, or one was answered or given up.
///
/// These come apart from [`Call`]s so that the calls of a client or server can be counted as they
/// are sent, long before they are complete, and so that calls whose answer the capture hides do not
/// count as outstanding for ever.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Outstanding {
    /// The order of the packet that changed it.
    pub order: u64,
    pub time: Time,
    pub connection: ConnectionId,
    pub client: Endpoint,
    pub server: Endpoint,
    /// The call's own identifier on this connection.
    pub id: u32,
    pub change: Change,
}

impl Outstanding {
    /// Whether it is of a call that counts: not of a name that is looked up, a greeting, or a copy.
    #[must_use]
    pub fn counts(&self) -> bool {
        matches!(
            self.change,
            Change::Sent | Change::Settled | Change::Stray | Change::Spoke | Change::Released
        )
    }
}

/// How the number of outstanding calls changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Change {
    /// A request was sent.
    Sent,
    /// A call was answered, or is no longer waited for.
    Settled,
    /// Nothing changes in the count, but the server answered a request that the capture hides.
    Stray,
    /// Nothing changes in the count, but the server sent something whose header the capture hides.
    Spoke,
    /// The same, and its TCP had held that: whether it was silent before, nothing tells.
    Released,
    /// A name was asked for, or an address. Nobody limits how many are: they do not count.
    Asked,
    /// The answer to that came.
    Told,
    /// A connection is open, on which nobody has said anything yet.
    Opened,
    /// The server was the first to say something on it.
    Greeted,
    /// The client was, or it ended as it was.
    Ungreeted,
    /// The server sent its client, a standby, what that is to confirm.
    Shipped,
    /// The standby did, or does no more.
    Confirmed,
}
