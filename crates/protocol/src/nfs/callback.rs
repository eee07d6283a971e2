//! NFSv4 callbacks (RFC 8881 section 20, CB_OFFLOAD of RFC 7862): what NFS servers ask of NFS
//! clients, into names, slots, files and outcomes.
//!
//! The programme number is the client's choice (`cb_program` of SETCLIENTID and CREATE_SESSION), so
//! [`CALLBACK`] serves a range of numbers: the RPC session asks [`is_cb_compound`] whether a call of
//! a transient number looks like one. Results hold nothing of interest but the status.

use super::compound::{self, Found, Grammar, Rank};
use super::v4_arguments::{attributes, bitmap, name};
use super::{handle, status, v4_results};
use crate::rpc::program::{Arguments, Program};
use crate::rpc::programs;
use crate::xdr::Xdr;
use model::{Name, Outcome, Protocol};

/// The callback programme, of whatever number.
pub const CALLBACK: &dyn Program = &Callback;

const PROCEDURES: [Name; 2] = Name::all(["CB_NULL", "CB_COMPOUND"]);
const COMPOUND: u32 = 1;

const OPERATIONS: [&str; 13] = [
    "CB_GETATTR",
    "CB_RECALL",
    "CB_LAYOUTRECALL",
    "CB_NOTIFY",
    "CB_PUSH_DELEG",
    "CB_RECALL_ANY",
    "CB_RECALLABLE_OBJ_AVAIL",
    "CB_RECALL_SLOT",
    "CB_SEQUENCE",
    "CB_WANTS_CANCELLED",
    "CB_NOTIFY_LOCK",
    "CB_NOTIFY_DEVICEID",
    "CB_OFFLOAD",
];
const FIRST: u32 = 3;
const SEQUENCE: u32 = 11;
const ILLEGAL: u32 = 10044;

/// `stateid4`.
const STATEID: usize = 16;
/// `sessionid4`.
const ID: usize = 16;

/// Whether the arguments of procedure 1 begin like those of CB_COMPOUND: tag, minor version up to 2,
/// callback_ident, and a first operation that exists.
pub(crate) fn is_cb_compound(body: &[u8]) -> bool {
    let mut x = Xdr::new(body);
    let mut looks = || {
        let tag = x.opaque()?.len();
        let minor = x.u32()?;
        x.skip(4)?; // callback_ident
        let count = x.u32()?;
        let op = x.u32()?;
        let known = CbGrammar::name(op).is_some();
        Some(tag <= 255 && minor <= 2 && (1..=64).contains(&count) && known)
    };
    looks().unwrap_or(false)
}

struct Callback;

impl Program for Callback {
    /// The first transient number, which most clients choose.
    fn number(&self) -> u32 {
        0x4000_0000
    }

    fn read(&self, _version: u32, procedure: u32, body: &[u8], a: &mut Arguments) {
        let op = programs::procedure(&PROCEDURES, procedure);
        a.begin(Protocol::NfsCallback, op);
        if procedure == COMPOUND {
            let mut x = Xdr::new(body);
            // Tag, minor version, callback_ident. A cut one leaves no operations to be read.
            if x.opaque().and_then(|_| x.skip(8)).is_none() {
                x = Xdr::new(&[]);
            }
            compound::read::<CbGrammar>(a, &mut x);
        }
    }

    fn results(
        &self,
        _version: u32,
        procedure: u32,
        arguments: &mut Arguments,
        body: &[u8],
    ) -> Outcome {
        match Xdr::new(body).u32() {
            Some(status) if procedure == COMPOUND => {
                status::outcome4(status, &mut arguments.detail)
            }
            _ => Outcome::Ok,
        }
    }

    fn operations_text(&self, operations: &[u8]) -> String {
        compound::text::<CbGrammar>(operations)
    }

    /// RFC 8881 section 20 says version 1; Linux has used 4 too.
    fn believes(&self, version: u32, procedure: u32) -> bool {
        matches!(version, 1 | 4) && procedure <= 1
    }
}

struct CbGrammar;

impl Grammar for CbGrammar {
    const COMPOUND: &'static str = "CB_COMPOUND";
    const ILLEGAL: &'static str = "CB_ILLEGAL";

    fn rank(op: u32) -> Rank {
        match op {
            SEQUENCE => Rank::Sequence,
            _ => Rank::Data,
        }
    }

    fn name(op: u32) -> Option<&'static str> {
        match op {
            ILLEGAL => Some(Self::ILLEGAL),
            _ => OPERATIONS.get(op.checked_sub(FIRST)? as usize).copied(),
        }
    }

    fn arguments(op: u32, x: &mut Xdr<'_>, found: &mut Found) -> Option<()> {
        match op {
            ILLEGAL => Some(()),
            // CB_GETATTR
            3 => {
                file(x, found)?;
                bitmap(x)
            }
            // CB_RECALL
            4 => {
                x.skip(STATEID + 4)?; // truncate
                file(x, found)
            }
            // CB_LAYOUTRECALL
            5 => {
                x.skip(12)?; // layout_type, iomode, changed
                match x.u32()? {
                    // LAYOUTRECALL4_FILE
                    1 => {
                        file(x, found)?;
                        found.offset = Some(x.u64()?);
                        x.skip(8 + STATEID) // length
                    }
                    2 => x.skip(16), // LAYOUTRECALL4_FSID
                    3 => Some(()),   // LAYOUTRECALL4_ALL
                    _ => None,
                }
            }
            // CB_NOTIFY
            6 => {
                x.skip(STATEID)?;
                file(x, found)?;
                x.each(attributes) // a mask and its values, like attributes
            }
            // CB_PUSH_DELEG
            7 => {
                file(x, found)?;
                v4_results::delegation(x)
            }
            // CB_RECALL_ANY, CB_RECALLABLE_OBJ_AVAIL
            8 | 9 => {
                x.skip(4)?; // objects_to_keep
                bitmap(x) // type_mask
            }
            // CB_RECALL_SLOT
            10 => x.skip(4),
            // CB_SEQUENCE
            11 => {
                x.skip(ID + 4)?; // sequence
                found.slot = Some(x.u32()?);
                found.highest_slot = Some(x.u32()?);
                x.skip(4)?; // cachethis
                x.each(|x| {
                    x.skip(ID)?;
                    x.skip_array(8) // referring calls: sequence, slot
                })
            }
            // CB_WANTS_CANCELLED
            12 => x.skip(8),
            // CB_NOTIFY_LOCK
            13 => {
                file(x, found)?;
                x.skip(8)?; // the lock owner's client ID
                name(x)
            }
            // CB_NOTIFY_DEVICEID
            14 => x.each(attributes),
            // CB_OFFLOAD
            15 => {
                file(x, found)?;
                x.skip(STATEID)?;
                match x.u32()? {
                    0 => v4_results::write_response(x, &mut v4_results::Returned::default()),
                    _ => x.skip(8), // bytes_copied
                }
            }
            _ => None,
        }
    }
}

fn file(x: &mut Xdr<'_>, found: &mut Found) -> Option<()> {
    found.file = Some(handle::hash(x.opaque()?));
    Some(())
}
