//! NFSv3 (RFC 1813): arguments and results into names, fields and outcomes.
//!
//! The file is the first handle of the arguments: the directory, for an operation on a name in it.
//! Count is what READ, WRITE and COMMIT name so, and the limit on the reply of READDIR and
//! READDIRPLUS.

use super::{handle, status};
use crate::rpc::program::Arguments;
use crate::rpc::programs;
use crate::xdr::Xdr;
use model::{Detail, Field, Name, Outcome, Protocol};

const PROCEDURES: [Name; 22] = Name::all([
    "NULL",
    "GETATTR",
    "SETATTR",
    "LOOKUP",
    "ACCESS",
    "READLINK",
    "READ",
    "WRITE",
    "CREATE",
    "MKDIR",
    "SYMLINK",
    "MKNOD",
    "REMOVE",
    "RMDIR",
    "RENAME",
    "LINK",
    "READDIR",
    "READDIRPLUS",
    "FSSTAT",
    "FSINFO",
    "PATHCONF",
    "COMMIT",
]);

const NULL: u32 = 0;
const READ: u32 = 6;
const WRITE: u32 = 7;
const READDIR: u32 = 16;
pub(super) const READDIRPLUS: u32 = 17;
const COMMIT: u32 = 21;

/// `fattr3` (section 2.6).
const ATTRIBUTES: usize = 84;
/// `wcc_attr` (section 2.6).
const WCC_ATTRIBUTES: usize = 24;

fn is_void(procedure: u32) -> bool {
    procedure == NULL || procedure as usize >= PROCEDURES.len()
}

pub(super) fn read(procedure: u32, body: &[u8], a: &mut Arguments) {
    let op = programs::procedure(&PROCEDURES, procedure);
    a.begin(Protocol::Nfs3, op);
    if !is_void(procedure) {
        let _ = fields(procedure, &mut Xdr::new(body), &mut a.detail);
    }
}

fn fields(procedure: u32, x: &mut Xdr<'_>, detail: &mut Detail) -> Option<()> {
    detail.set(Field::File, handle::hash(x.opaque()?));
    match procedure {
        READ | WRITE | COMMIT => {
            detail.set(Field::Offset, x.u64()?);
            detail.set(Field::Count, x.u32()?.into());
            if procedure == WRITE {
                set_stable(x.u32()?, detail);
            }
        }
        READDIR => {
            x.skip(8 + 8)?; // cookie, cookieverf
            detail.set(Field::Count, x.u32()?.into());
        }
        READDIRPLUS => {
            x.skip(8 + 8 + 4)?; // cookie, cookieverf, dircount
            detail.set(Field::Count, x.u32()?.into());
        }
        _ => {}
    }
    Some(())
}

/// Sets [`Field::Stable`], whose words end at `FILE_SYNC` (2); other numbers mean nothing.
pub(super) fn set_stable(stable: u32, detail: &mut Detail) {
    if stable <= 2 {
        detail.set(Field::Stable, stable.into());
    }
}

pub(super) fn results(procedure: u32, detail: &mut Detail, body: &[u8]) -> Outcome {
    let mut x = Xdr::new(body);
    if is_void(procedure) {
        return Outcome::Ok;
    }
    let Some(status) = x.u32() else {
        return Outcome::Ok;
    };
    if status == 0 {
        let _ = returned(procedure, &mut x, detail);
    }
    status::outcome3(status, detail)
}

fn returned(procedure: u32, x: &mut Xdr<'_>, detail: &mut Detail) -> Option<()> {
    match procedure {
        READ => {
            x.optional(ATTRIBUTES)?;
            detail.set(Field::Returned, x.u32()?.into());
            detail.set(Field::Eof, u64::from(x.u32()? != 0));
        }
        WRITE => {
            x.optional(WCC_ATTRIBUTES)?;
            x.optional(ATTRIBUTES)?;
            detail.set(Field::Returned, x.u32()?.into());
        }
        _ => {}
    }
    Some(())
}
