//! Portmap v2 and rpcbind v3 and v4, programme 100000 (RFC 1833): names, and which service is asked
//! for.
//!
//! There is no status: a port of 0 or an empty address says "not registered", and is a good answer.

use crate::rpc::program::{Arguments, Program};
use crate::rpc::programs;
use crate::xdr::Xdr;
use model::{Detail, Field, Name, Outcome, Protocol};

#[derive(Clone, Copy, Debug)]
pub struct Portmap;

const PROCEDURES2: [Name; 6] = Name::all(["NULL", "SET", "UNSET", "GETPORT", "DUMP", "CALLIT"]);
const PROCEDURES3: [Name; 9] = Name::all([
    "NULL",
    "SET",
    "UNSET",
    "GETADDR",
    "DUMP",
    "CALLIT",
    "GETTIME",
    "UADDR2TADDR",
    "TADDR2UADDR",
]);
const PROCEDURES4: [Name; 13] = Name::all([
    "NULL",
    "SET",
    "UNSET",
    "GETADDR",
    "DUMP",
    "BCAST",
    "GETTIME",
    "UADDR2TADDR",
    "TADDR2UADDR",
    "GETVERSADDR",
    "INDIRECT",
    "GETADDRLIST",
    "GETSTAT",
]);

fn procedures(version: u32) -> &'static [Name] {
    match version {
        2 => &PROCEDURES2,
        3 => &PROCEDURES3,
        4 => &PROCEDURES4,
        _ => &[],
    }
}

/// `pmap`, `rpcb` and the arguments of indirect calls begin with programme and version, the last go
/// on with the procedure.
fn service(op: &str, x: &mut Xdr<'_>, detail: &mut Detail) -> Option<()> {
    let is_indirect = matches!(op, "CALLIT" | "BCAST" | "INDIRECT");
    let is_mapping = matches!(
        op,
        "SET" | "UNSET" | "GETPORT" | "GETADDR" | "GETVERSADDR" | "GETADDRLIST"
    );
    if is_indirect || is_mapping {
        detail.set(Field::Program, x.u32()?.into());
        detail.set(Field::Version, x.u32()?.into());
    }
    if is_indirect {
        detail.set(Field::Procedure, x.u32()?.into());
    }
    Some(())
}

impl Program for Portmap {
    fn number(&self) -> u32 {
        100_000
    }

    fn read(&self, version: u32, procedure: u32, body: &[u8], a: &mut Arguments) {
        let op = programs::procedure(procedures(version), procedure);
        a.begin(Protocol::Portmap, op);
        let _ = service(&op, &mut Xdr::new(body), &mut a.detail);
    }

    fn results(&self, _: u32, _: u32, _: &mut Arguments, _: &[u8]) -> Outcome {
        Outcome::Ok
    }

    fn believes(&self, version: u32, procedure: u32) -> bool {
        (procedure as usize) < procedures(version).len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn getport_tells_which_service() {
        let body = [
            0, 1, 0x86, 0xa3, // prog: 100003
            0, 0, 0, 3, // vers
            0, 0, 0, 6, // prot: TCP
            0, 0, 0, 0, // port
        ];
        let mut a = Portmap.arguments(2, 3, &body);
        assert_eq!((a.protocol, a.op.as_str()), (Protocol::Portmap, "GETPORT"));
        assert_eq!(a.detail.get(Field::Program), Some(100_003));
        assert_eq!(a.detail.get(Field::Version), Some(3));
        assert_eq!(a.detail.get(Field::Procedure), None);
        // 2049, and "not registered"
        assert_eq!(Portmap.results(2, 3, &mut a, &[0, 0, 8, 1]), Outcome::Ok);
        assert_eq!(Portmap.results(2, 3, &mut a, &[0, 0, 0, 0]), Outcome::Ok);
    }

    #[test]
    fn callit_tells_which_procedure_and_dump_tells_nothing() {
        let body = [0, 1, 0x86, 0xa5, 0, 0, 0, 3, 0, 0, 0, 5, 0, 0, 0, 0];
        let a = Portmap.arguments(2, 5, &body);
        assert_eq!(a.op.as_str(), "CALLIT");
        assert_eq!(a.detail.get(Field::Program), Some(100_005));
        assert_eq!(a.detail.get(Field::Procedure), Some(5));
        assert!(Portmap.arguments(2, 4, &body).detail.is_empty());
    }

    #[test]
    fn each_version_has_its_own_procedures() {
        assert_eq!(Portmap.arguments(3, 3, &[]).op.as_str(), "GETADDR");
        assert_eq!(Portmap.arguments(4, 11, &[]).op.as_str(), "GETADDRLIST");
        assert_eq!(Portmap.arguments(2, 6, &[]).op.as_str(), "6");
        assert!(Portmap.believes(2, 5) && !Portmap.believes(2, 6));
        assert!(Portmap.believes(4, 12) && !Portmap.believes(1, 0));
    }
}
