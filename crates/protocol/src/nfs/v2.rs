//! NFSv2 (RFC 1094): arguments and results into names, fields and outcomes.
//!
//! A WRITE's count is the length of its data: the specification says to ignore `totalcount` and
//! `beginoffset`. There is no end-of-file flag, and a WRITE's reply does not say how much was
//! written.

use super::{handle, status};
use crate::rpc::program::Arguments;
use crate::rpc::programs;
use crate::xdr::Xdr;
use model::{Detail, Field, Name, Outcome, Protocol};

const PROCEDURES: [Name; 18] = Name::all([
    "NULL",
    "GETATTR",
    "SETATTR",
    "ROOT",
    "LOOKUP",
    "READLINK",
    "READ",
    "WRITECACHE",
    "WRITE",
    "CREATE",
    "REMOVE",
    "RENAME",
    "LINK",
    "SYMLINK",
    "MKDIR",
    "RMDIR",
    "READDIR",
    "STATFS",
]);

const NULL: u32 = 0;
const ROOT: u32 = 3;
const READ: u32 = 6;
const WRITECACHE: u32 = 7;
const WRITE: u32 = 8;
const READDIR: u32 = 16;

/// Bytes of `fhandle` (RFC 1094 section 2.3.3).
pub(super) const HANDLE: usize = 32;

/// `fattr` (section 2.3.5): 17 words.
const ATTRIBUTES: usize = 68;

fn is_void(procedure: u32) -> bool {
    matches!(procedure, NULL | ROOT | WRITECACHE) || procedure as usize >= PROCEDURES.len()
}

pub(super) fn read(procedure: u32, body: &[u8], a: &mut Arguments) {
    let op = programs::procedure(&PROCEDURES, procedure);
    a.begin(Protocol::Nfs2, op);
    if !is_void(procedure) {
        let _ = fields(procedure, &mut Xdr::new(body), &mut a.detail);
    }
}

fn fields(procedure: u32, x: &mut Xdr<'_>, detail: &mut Detail) -> Option<()> {
    detail.set(Field::File, handle::hash(x.fixed::<HANDLE>()?));
    match procedure {
        READ => {
            detail.set(Field::Offset, x.u32()?.into());
            detail.set(Field::Count, x.u32()?.into());
        }
        WRITE => {
            x.skip(4)?; // beginoffset
            detail.set(Field::Offset, x.u32()?.into());
            x.skip(4)?; // totalcount
            detail.set(Field::Count, x.u32()?.into());
        }
        READDIR => {
            x.skip(4)?; // cookie
            detail.set(Field::Count, x.u32()?.into());
        }
        _ => {}
    }
    Some(())
}

pub(super) fn results(procedure: u32, detail: &mut Detail, body: &[u8]) -> Outcome {
    let mut x = Xdr::new(body);
    if is_void(procedure) {
        return Outcome::Ok;
    }
    let Some(status) = x.u32() else {
        return Outcome::Ok;
    };
    if procedure == READ
        && status == 0
        && let Some(length) = x.skip(ATTRIBUTES).and_then(|()| x.u32())
    {
        detail.set(Field::Returned, length.into());
    }
    status::outcome2(status, detail)
}
