//! The seam between ONC-RPC and the programmes it carries (NFS, MOUNT, …): a programme reads the
//! arguments of a call and the results of a reply, both without the RPC header, both possibly cut.

use super::walk::{Listing, Walk};
use arrayvec::ArrayVec;
use model::{Detail, Name, Naming, Outcome, Protocol};

/// What a programme read from a call's arguments.
#[derive(Clone, Debug)]
pub struct Arguments {
    pub protocol: Protocol,
    pub op: Name,
    pub detail: Detail,
    /// For compounds, the operations in order, as the programme numbers them; empty otherwise.
    pub operations: ArrayVec<u8, 32>,
    /// Where, in bytes from the start of the arguments, the programme wants to read on after bulk
    /// data that it does not want to see (a WRITE in the middle of a compound).
    pub tail_at: Option<u64>,
    /// The programme's own note to itself for [`Program::results`] and [`Program::arguments_tail`].
    pub note: u32,
}

impl Arguments {
    /// Arguments of which nothing is known but the operation.
    #[must_use]
    pub fn new(protocol: Protocol, op: Name) -> Arguments {
        Arguments {
            protocol,
            op,
            detail: Detail::default(),
            operations: ArrayVec::new(),
            tail_at: None,
            note: 0,
        }
    }

    /// Forgets all and begins with the operation.
    #[inline]
    pub(crate) fn begin(&mut self, protocol: Protocol, op: Name) {
        *self = Arguments::new(protocol, op);
    }
}

/// One ONC-RPC programme.
///
/// The bytes given are a prefix of the arguments or results: the capture's snap length, a gap or
/// [`HEAD`] may have cut them anywhere. What can be read is read, the rest stays unset.
pub trait Program: Sync {
    /// The programme number (RFC 5531 section 13, IANA's list).
    fn number(&self) -> u32;

    /// Reads the arguments of a call of version `version` and procedure `procedure` into `arguments`,
    /// whatever they were before: they stay where they are read, as there may be a million in a second.
    fn read(&self, version: u32, procedure: u32, body: &[u8], arguments: &mut Arguments);

    /// The arguments of a call, as [`Program::read`] reads them.
    fn arguments(&self, version: u32, procedure: u32, body: &[u8]) -> Arguments {
        let mut arguments = Arguments::new(Protocol::Rpc, Name::default());
        self.read(version, procedure, body, &mut arguments);
        arguments
    }

    /// Reads on at [`Arguments::tail_at`].
    fn arguments_tail(&self, _arguments: &mut Arguments, _body: &[u8]) {}

    /// Reads the results of an accepted and successful reply, and adds what they say to
    /// `arguments.detail`. Results too short to hold a status are [`Outcome::Ok`].
    fn results(
        &self,
        version: u32,
        procedure: u32,
        arguments: &mut Arguments,
        body: &[u8],
    ) -> Outcome;

    /// The operations of a compound by name, comma separated.
    fn operations_text(&self, _operations: &[u8]) -> String {
        String::new()
    }

    /// The name that arguments carry, of a file for example.
    fn name(&self, _version: u32, _procedure: u32, _body: &[u8]) -> Option<String> {
        None
    }

    /// What a call does to handles and names, if its reply may say how files are called.
    fn walk(&self, _version: u32, _procedure: u32, _a: &Arguments, _body: &[u8]) -> Option<Walk> {
        None
    }

    /// Tells what the results of such a call say, successful or not. The entries of a directory, which may
    /// be many, are read later from where the answer says.
    fn walked(
        &self,
        _version: u32,
        _procedure: u32,
        _walk: &Walk,
        _results: &[u8],
        _tell: &mut dyn FnMut(Naming),
    ) -> Option<Listing> {
        None
    }

    /// Highest version and procedure that exist, to tell a believable header from chance.
    fn believes(&self, version: u32, procedure: u32) -> bool;
}

/// How many bytes of a message, from the start of its RPC header, are collected before it is read.
/// Credentials are at most 400 bytes, a READ's or WRITE's own fields 150; compounds with long paths
/// may need more, and lose the end of their operation list.
pub const HEAD: usize = 1024;
