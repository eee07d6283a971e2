//! The operations of NFSv4.0, 4.1 and 4.2, by number: name and rank; and the two ends of a COMPOUND.

use super::compound::{self, Files, Found, Grammar, Note, Rank};
use super::v4_results::{self, Returned};
use super::{status, v4_arguments};
use crate::rpc::program::Arguments;
use crate::rpc::programs;
use crate::xdr::Xdr;
use model::{Detail, Field, Name, Outcome, Protocol};

const PROCEDURES: [Name; 2] = Name::all(["NULL", "COMPOUND"]);
pub(super) const COMPOUND: u32 = 1;

pub(super) const CREATE: u32 = 6;
pub(super) const GETFH: u32 = 10;
pub(super) const LINK: u32 = 11;
pub(super) const LOOKUP: u32 = 15;
const LOOKUPP: u32 = 16;
pub(super) const OPEN: u32 = 18;
const OPENATTR: u32 = 19;
pub(super) const PUTFH: u32 = 22;
const PUTPUBFH: u32 = 23;
pub(super) const PUTROOTFH: u32 = 24;
pub(super) const READDIR: u32 = 26;
pub(super) const RENAME: u32 = 29;
pub(super) const RESTOREFH: u32 = 31;
pub(super) const SAVEFH: u32 = 32;
const SECINFO: u32 = 33;
const SECINFO_NO_NAME: u32 = 52;
const SEQUENCE: u32 = 53;
const ILLEGAL: u32 = 10044;

/// Operations that may tell names, as [`Arguments::operations`] has them: CREATE, LINK, LOOKUP, OPEN,
/// PUTROOTFH, READDIR, RENAME.
pub(super) const TELL_NAMES: [u8; 7] = [6, 11, 15, 18, 24, 26, 29];

/// Those that leave the current file for one that nobody named, or for none.
pub(super) const LEAVES: [u32; 5] = [LOOKUPP, OPENATTR, PUTPUBFH, SECINFO, SECINFO_NO_NAME];

/// The first operation's number (RFC 7530 section 13.1: 0 to 2 are not used).
const FIRST: u32 = 3;

const OPERATIONS: [(&str, Rank); 73] = [
    // NFSv4.0
    ("ACCESS", Rank::Access),
    ("CLOSE", Rank::Change),
    ("COMMIT", Rank::Companion),
    ("CREATE", Rank::Change),
    ("DELEGPURGE", Rank::Change),
    ("DELEGRETURN", Rank::Change),
    ("GETATTR", Rank::Attributes),
    ("GETFH", Rank::Handle),
    ("LINK", Rank::Change),
    ("LOCK", Rank::Change),
    ("LOCKT", Rank::Change),
    ("LOCKU", Rank::Change),
    ("LOOKUP", Rank::Lookup),
    ("LOOKUPP", Rank::Lookup),
    ("NVERIFY", Rank::Verify),
    ("OPEN", Rank::Change),
    ("OPENATTR", Rank::Lookup),
    ("OPEN_CONFIRM", Rank::Companion),
    ("OPEN_DOWNGRADE", Rank::Change),
    ("PUTFH", Rank::Put),
    ("PUTPUBFH", Rank::Put),
    ("PUTROOTFH", Rank::Put),
    ("READ", Rank::Data),
    ("READDIR", Rank::Data),
    ("READLINK", Rank::Lookup),
    ("REMOVE", Rank::Change),
    ("RENAME", Rank::Change),
    ("RENEW", Rank::Change),
    ("RESTOREFH", Rank::Put),
    ("SAVEFH", Rank::Put),
    ("SECINFO", Rank::Lookup),
    ("SETATTR", Rank::Change),
    ("SETCLIENTID", Rank::Change),
    ("SETCLIENTID_CONFIRM", Rank::Change),
    ("VERIFY", Rank::Verify),
    ("WRITE", Rank::Data),
    ("RELEASE_LOCKOWNER", Rank::Change),
    // NFSv4.1
    ("BACKCHANNEL_CTL", Rank::Change),
    ("BIND_CONN_TO_SESSION", Rank::Change),
    ("EXCHANGE_ID", Rank::Change),
    ("CREATE_SESSION", Rank::Change),
    ("DESTROY_SESSION", Rank::Change),
    ("FREE_STATEID", Rank::Companion),
    ("GET_DIR_DELEGATION", Rank::Companion),
    ("GETDEVICEINFO", Rank::Companion),
    ("GETDEVICELIST", Rank::Companion),
    ("LAYOUTCOMMIT", Rank::Companion),
    ("LAYOUTGET", Rank::Companion),
    ("LAYOUTRETURN", Rank::Companion),
    ("SECINFO_NO_NAME", Rank::Lookup),
    ("SEQUENCE", Rank::Sequence),
    ("SET_SSV", Rank::Change),
    ("TEST_STATEID", Rank::Companion),
    ("WANT_DELEGATION", Rank::Companion),
    ("DESTROY_CLIENTID", Rank::Change),
    ("RECLAIM_COMPLETE", Rank::Change),
    // NFSv4.2
    ("ALLOCATE", Rank::Data),
    ("COPY", Rank::Data),
    ("COPY_NOTIFY", Rank::Change),
    ("DEALLOCATE", Rank::Data),
    ("IO_ADVISE", Rank::Companion),
    ("LAYOUTERROR", Rank::Companion),
    ("LAYOUTSTATS", Rank::Companion),
    ("OFFLOAD_CANCEL", Rank::Change),
    ("OFFLOAD_STATUS", Rank::Change),
    ("READ_PLUS", Rank::Data),
    ("SEEK", Rank::Data),
    ("WRITE_SAME", Rank::Data),
    ("CLONE", Rank::Data),
    // RFC 8276
    ("GETXATTR", Rank::Data),
    ("SETXATTR", Rank::Data),
    ("LISTXATTRS", Rank::Data),
    ("REMOVEXATTR", Rank::Data),
];

fn row(op: u32) -> Option<&'static (&'static str, Rank)> {
    OPERATIONS.get(op.checked_sub(FIRST)? as usize)
}

/// What clients ask of servers.
pub(super) struct Nfs4;

impl Grammar for Nfs4 {
    const COMPOUND: &'static str = "COMPOUND";
    const ILLEGAL: &'static str = "ILLEGAL";

    fn rank(op: u32) -> Rank {
        row(op).map_or(Rank::Data, |row| row.1)
    }

    fn name(op: u32) -> Option<&'static str> {
        match op {
            ILLEGAL => Some(Self::ILLEGAL),
            _ => row(op).map(|row| row.0),
        }
    }

    fn arguments(op: u32, x: &mut Xdr<'_>, found: &mut Found) -> Option<()> {
        v4_arguments::read(op, x, found)
    }

    fn moves(op: u32, found: &Found, files: &mut Files) {
        match op {
            PUTFH => files.current = found.file,
            SAVEFH => files.saved = files.current,
            RESTOREFH => files.current = files.saved,
            // To a handle that only the reply may tell.
            CREATE | LOOKUP | LOOKUPP | OPEN | OPENATTR | PUTPUBFH | PUTROOTFH => {
                files.current = None;
            }
            _ => {}
        }
    }
}

pub(super) fn read(procedure: u32, body: &[u8], a: &mut Arguments) {
    let op = programs::procedure(&PROCEDURES, procedure);
    a.begin(Protocol::Nfs40, op);
    if procedure == COMPOUND {
        let mut x = Xdr::new(body);
        // The tag, which is empty or a few words for people, and the minor version: where it was cut
        // away, 0 is assumed, and what is there of the tag are no operations.
        match x.opaque().and_then(|_| x.u32()) {
            Some(0) => {}
            Some(1) => a.protocol = Protocol::Nfs41,
            Some(_) => a.protocol = Protocol::Nfs42,
            None => x = Xdr::new(&[]),
        }
        compound::read::<Nfs4>(a, &mut x);
    }
}

pub(super) fn results(procedure: u32, a: &mut Arguments, body: &[u8]) -> Outcome {
    let mut x = Xdr::new(body);
    if procedure != COMPOUND {
        return Outcome::Ok;
    }
    let Some(status) = x.u32() else {
        return Outcome::Ok;
    };
    let _ = match Note::of(a).main {
        Some(main) => returned(a, &mut x, main),
        None => recovered(a, &mut x),
    };
    status::outcome4(status, &mut a.detail)
}

/// Walks the results up to those of the main operation.
fn returned(a: &mut Arguments, x: &mut Xdr<'_>, main: u16) -> Option<()> {
    x.opaque()?; // tag
    let count = x.u32()?;
    for index in 0..count {
        let op = x.u32()?;
        let status = x.u32()?;
        let mut returned = Returned::default();
        let passed = match status {
            0 => v4_results::read(op, x, &mut returned),
            _ => None,
        };
        if index == u32::from(main) {
            // Of another operation: this is not the reply to these arguments.
            let asked = a.operations.get(usize::from(main));
            if asked.is_none_or(|&asked| asked == compound::short(op)) {
                tell(returned, &mut a.detail);
            }
            break;
        }
        passed?;
    }
    Some(())
}

/// Walks all results, to name a compound whose own list of operations was cut too early. Results
/// end at the first error, so they tell the main operation only if it was reached.
fn recovered(a: &mut Arguments, x: &mut Xdr<'_>) -> Option<()> {
    x.opaque()?; // tag
    let count = x.u32()?;
    let mut best = Rank::Verify;
    for index in 0..count {
        let op = x.u32()?;
        if index as usize >= a.operations.len() {
            compound::list(a, op);
        }
        if op == SEQUENCE && a.protocol == Protocol::Nfs40 {
            a.protocol = Protocol::Nfs41;
        }
        let is_best = Nfs4::rank(op) < best;
        if is_best {
            best = Nfs4::rank(op);
            a.op = compound::name::<Nfs4>(op);
        }
        if x.u32()? != 0 {
            break;
        }
        let mut returned = Returned::default();
        let passed = v4_results::read(op, x, &mut returned);
        if is_best {
            tell(returned, &mut a.detail);
        }
        passed?;
    }
    Some(())
}

fn tell(returned: Returned, detail: &mut Detail) {
    if let Some(bytes) = returned.bytes {
        detail.set(Field::Returned, bytes);
    }
    if let Some(eof) = returned.eof {
        detail.set(Field::Eof, eof.into());
    }
}
