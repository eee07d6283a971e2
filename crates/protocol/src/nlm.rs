//! NLM, the lock manager beside NFSv2 and v3, programme 100021 (v1 to v3 of X/Open's XNFS, v4 of
//! RFC 1813 appendix II): names, file, offset and outcomes.
//!
//! The file's hash is that of the NFS handle, so locks and reads of a file meet. A length of a lock
//! is no count of bytes moved and is not told. The asynchronous calls (`LOCK_MSG`) carry the
//! arguments of their twin; the status of such a lock is in another call (`LOCK_RES`), not in a
//! reply.

use crate::nfs::handle_hash;
use crate::rpc::program::{Arguments, Program};
use crate::rpc::programs;
use crate::xdr::Xdr;
use model::{Detail, Field, Name, Outcome, Protocol};

#[derive(Clone, Copy, Debug)]
pub struct Nlm;

const PROCEDURES: [Name; 24] = Name::all([
    "NULL",
    "TEST",
    "LOCK",
    "CANCEL",
    "UNLOCK",
    "GRANTED",
    "TEST_MSG",
    "LOCK_MSG",
    "CANCEL_MSG",
    "UNLOCK_MSG",
    "GRANTED_MSG",
    "TEST_RES",
    "LOCK_RES",
    "CANCEL_RES",
    "UNLOCK_RES",
    "GRANTED_RES",
    "", // 16 to 19 are not used
    "",
    "",
    "",
    "SHARE",
    "UNSHARE",
    "NM_LOCK",
    "FREE_ALL",
]);

const NLM: &[(u32, &str)] = &[
    (1, "NLM_DENIED"),
    (2, "NLM_DENIED_NOLOCKS"),
    (3, "NLM_BLOCKED"),
    (4, "NLM_DENIED_GRACE_PERIOD"),
    (5, "NLM_DEADLCK"),
];
const NLM4: &[(u32, &str)] = &[
    (1, "NLM4_DENIED"),
    (2, "NLM4_DENIED_NOLOCKS"),
    (3, "NLM4_BLOCKED"),
    (4, "NLM4_DENIED_GRACE_PERIOD"),
    (5, "NLM4_DEADLCK"),
    (6, "NLM4_ROFS"),
    (7, "NLM4_STALE_FH"),
    (8, "NLM4_FBIG"),
    (9, "NLM4_FAILED"),
];

fn fields(version: u32, procedure: u32, x: &mut Xdr<'_>, detail: &mut Detail) -> Option<()> {
    let (flags, is_lock) = match procedure {
        1 | 5 | 6 | 10 => (4, true),     // TEST, GRANTED: exclusive
        2 | 3 | 7 | 8 | 22 => (8, true), // LOCK, CANCEL: block, exclusive
        4 | 9 => (0, true),              // UNLOCK
        20 | 21 => (0, false),           // SHARE, UNSHARE
        _ => return Some(()),
    };
    x.opaque()?; // cookie
    x.skip(flags)?;
    x.opaque()?; // caller_name
    detail.set(Field::File, handle_hash(x.opaque()?));
    if is_lock {
        x.opaque()?; // oh
        x.skip(4)?; // svid
        let offset = if version >= 4 {
            x.u64()?
        } else {
            x.u32()?.into()
        };
        detail.set(Field::Offset, offset);
    }
    Some(())
}

impl Program for Nlm {
    fn number(&self) -> u32 {
        100_021
    }

    fn read(&self, version: u32, procedure: u32, body: &[u8], a: &mut Arguments) {
        let op = programs::procedure(&PROCEDURES, procedure);
        a.begin(Protocol::Nlm, op);
        let _ = fields(version, procedure, &mut Xdr::new(body), &mut a.detail);
    }

    fn results(
        &self,
        version: u32,
        procedure: u32,
        arguments: &mut Arguments,
        body: &[u8],
    ) -> Outcome {
        if !matches!(procedure, 1..=5 | 20..=22) {
            return Outcome::Ok;
        }
        let mut x = Xdr::new(body);
        let names = if version >= 4 { NLM4 } else { NLM };
        // cookie, stat
        match x.opaque().and_then(|_| x.u32()) {
            Some(status) => programs::outcome(names, 0, status, &mut arguments.detail),
            None => Outcome::Ok,
        }
    }

    fn believes(&self, version: u32, procedure: u32) -> bool {
        match version {
            1 | 2 => procedure <= 15,
            3 | 4 => procedure <= 23,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCK4: [u8; 64] = [
        0, 0, 0, 4, 0, 0, 0, 9, // cookie
        0, 0, 0, 1, // block
        0, 0, 0, 1, // exclusive
        0, 0, 0, 2, b'c', b'1', 0, 0, // caller_name
        0, 0, 0, 4, 0xfe, 0xed, 0xbe, 0xef, // fh
        0, 0, 0, 1, 7, 0, 0, 0, // oh
        0, 0, 0, 42, // svid
        0, 0, 0, 1, 0, 0, 0, 2, // l_offset
        0, 0, 0, 0, 0, 0, 0, 10, // l_len
        0, 0, 0, 0, // reclaim
    ];

    #[test]
    fn a_lock_tells_file_and_offset() {
        let a = Nlm.arguments(4, 2, &LOCK4);
        assert_eq!((a.protocol, a.op.as_str()), (Protocol::Nlm, "LOCK"));
        let file = handle_hash(&[0xfe, 0xed, 0xbe, 0xef]);
        assert_eq!(a.detail.get(Field::File), Some(file));
        assert_eq!(a.detail.get(Field::Offset), Some((1 << 32) + 2));
        // Before version 4 offsets have 32 bits.
        let a = Nlm.arguments(3, 7, &LOCK4);
        assert_eq!(a.op.as_str(), "LOCK_MSG");
        assert_eq!(a.detail.get(Field::Offset), Some(1));
    }

    #[test]
    fn only_granted_is_ok() {
        let mut a = Nlm.arguments(4, 2, &LOCK4);
        let mut reply = [
            0, 0, 0, 4, 0, 0, 0, 9, // cookie
            0, 0, 0, 0, // stat
        ];
        assert_eq!(Nlm.results(4, 2, &mut a, &reply), Outcome::Ok);
        reply[11] = 3;
        assert_eq!(
            Nlm.results(4, 2, &mut a, &reply),
            Outcome::Error("NLM4_BLOCKED")
        );
        reply[11] = 1;
        assert_eq!(
            Nlm.results(1, 2, &mut a, &reply),
            Outcome::Error("NLM_DENIED")
        );
        // LOCK_MSG has no results.
        assert_eq!(Nlm.results(4, 7, &mut a, &reply), Outcome::Ok);
    }
}
